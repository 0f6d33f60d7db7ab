"""The card of `lab.reveal`, in real JupyterLab and in the pages that have no kernel."""

import json

import nbformat
import pytest
from labserver import Notebook
from nbconvert import HTMLExporter
from playwright.sync_api import expect

from autograd_lab.course import build
from autograd_lab.course.foreseen import FOLDER, questions
from autograd_lab.course.reveal import judge, judged, plain, text
from autograd_lab.widgets.guess import html

CELL = """from autograd_lab import lab
prediction = ...
lab.reveal(prediction, 96.0, "04.c")"""
FREE = """from autograd_lab import lab
y_at_4, times_as_far = ..., ...
lab.reveal([y_at_4, times_as_far], [81.0, 36.0], "00.c")"""
OUTPUTS = "JSON.stringify([...window.jupyterapp.shell.currentWidget.content.model.cells].map((c) => c.outputs?.toJSON()))"


def show(browser, lab, *cells, **options):
    notebook = Notebook.open(browser, lab, list(cells), **options)
    notebook.run()
    card = notebook.page.locator(".agl-guess").first
    expect(card).to_be_visible()
    return notebook, card


def stored(*cards):
    """A notebook as it is stored after it was run."""
    book = nbformat.v4.new_notebook(metadata=build.NOTEBOOK_METADATA)
    for source, card in cards:
        data = {"text/plain": text(card), "text/html": html(card, text(card))}
        outputs = [nbformat.v4.new_output("display_data", data)]
        book.cells.append(nbformat.v4.new_code_cell(source, execution_count=1, outputs=outputs))
    return book


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_a_choice_by_keyboard(browser, lab, theme):
    notebook, card = show(browser, lab, CELL, theme=theme)
    page = notebook.page
    before = page.evaluate(OUTPUTS)
    buttons = card.get_by_role("button")
    expect(buttons).to_have_text(["0", "48", "96", "144"])
    assert "The node of" not in card.evaluate("e => e.outerHTML")
    buttons.first.focus()
    page.keyboard.press("d")
    page.keyboard.press("d")  # in JupyterLab that deletes a cell
    page.keyboard.press("ArrowRight")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("Enter")
    expect(card.get_by_role("status")).to_contain_text("\u2717 You said 48. It is 96.")
    expect(card.get_by_role("status")).to_contain_text("ran at the first message, 12")
    expect(buttons).to_have_text(["0", "48 \u2717", "96 \u2713", "144"])
    expect(buttons.nth(1)).to_have_attribute("aria-pressed", "true")
    expect(buttons.nth(1)).to_be_focused()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")
    expect(card.get_by_role("status")).to_contain_text("The first 12 was sent on twice")
    assert notebook.cells() == 1
    assert page.evaluate(OUTPUTS) == before, "a click has changed what is stored"
    notebook.close()


def test_a_number_is_typed(browser, lab):
    notebook, card = show(browser, lab, FREE)
    first, second = card.get_by_label("y at 4"), card.get_by_label("times as far")
    first.fill("49")
    notebook.page.keyboard.press("Enter")
    expect(card.get_by_role("status").first).to_contain_text("You said 49. It is 81.")
    expect(card.get_by_role("status").first).to_contain_text("That is y at 3.")
    expect(card).not_to_contain_text("36")  # the other part is still open
    second.fill("36.0")
    notebook.page.keyboard.press("Enter")
    expect(card.get_by_role("status").last).to_contain_text("\u2713 You said 36.0, and it is 36.")
    expect(card).to_contain_text("Now put it in place of the dots and run again")
    assert notebook.cells() == 1
    notebook.close()


def test_an_answer_in_the_cell_is_plain(browser, lab):
    notebook, card = show(browser, lab, CELL.replace("...", "144"))
    expect(card).to_contain_text("\u2717 You said 144. It is 96.")
    expect(card).to_contain_text("The first 12 was sent on twice")
    expect(card.get_by_role("button")).to_have_count(0)
    card.get_by_text("The other answers").click()
    expect(card.locator("dd")).to_have_count(2)  # neither what was said nor what is right
    notebook.close()


def test_a_notebook_that_is_not_trusted_offers_the_choices_as_text(browser, lab):
    path = lab.folder / "untrusted_guess.ipynb"
    nbformat.write(stored((CELL, judged(..., 96.0, "04.c"))), path)
    notebook = Notebook.open_file(browser, lab, path)
    output = notebook.page.locator(".jp-RenderedHTML").first
    expect(output).to_contain_text("a.grad 0 \u00b7 48 \u00b7 96 \u00b7 144")
    expect(output).to_contain_text("Put your answer in place of the dots, then run again.")
    expect(output.get_by_role("button")).to_have_count(0)
    notebook.close()


def test_a_reopened_notebook_needs_no_kernel(browser, lab):
    """Nor does its second card, which lets the first one carry the script and the style sheet."""
    notebook, card = show(browser, lab, CELL, FREE)
    card.get_by_role("button", name="144").click()
    page = notebook.page
    carry = [json.dumps(outputs).count("agl-guess-style") for outputs in json.loads(page.evaluate(OUTPUTS))]
    assert [count > 0 for count in carry] == [True, False]
    expect(page.get_by_label("y at 4")).to_have_css("border-radius", "5px")
    page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty", polling=50)
    notebook.close()
    again = Notebook.open_file(browser, lab, notebook.path)
    again.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    card = again.page.locator(".agl-guess").first
    expect(card.get_by_role("button")).to_have_text(["0", "48", "96", "144"])  # as if nobody had clicked
    card.get_by_role("button", name="0", exact=True).click()
    expect(card.get_by_role("status")).to_contain_text("You said 0. It is 96.")
    expect(card.locator(".agl-guess-after")).to_contain_text("The node of b has two users")
    again.page.evaluate("window.jupyterapp.shell.currentWidget.content.model.cells.get(0).outputs?.clear()")
    field = again.page.get_by_label("y at 4")  # the other card goes on without the first
    expect(field).to_have_css("border-radius", "5px")
    field.fill("81")
    again.page.keyboard.press("Enter")
    expect(again.page.get_by_role("status").filter(has_text="You said 81, and it is 81")).to_be_visible()
    again.close()


def test_a_page_of_nbconvert_needs_no_kernel(visit, tmp_path):
    book = stored((CELL, judged(..., 96.0, "04.c")), ("", judged([81, 18], [81.0, 36.0], "00.c")))
    assert "The node of" not in json.dumps(book.cells[0].outputs)
    body, _ = HTMLExporter().from_notebook_node(book)
    (tmp_path / "page.html").write_text(body, encoding="utf-8")
    page, _ = visit(tmp_path / "page.html")
    first, second = page.locator(".agl-guess").first, page.locator(".agl-guess").last
    first.get_by_role("button", name="96").click()
    expect(first.get_by_role("status")).to_contain_text("\u2713 You said 96, and it is 96.")
    expect(second).to_contain_text("times as far: you said 18. It is 36.")
    expect(second).to_contain_text("That is the slope of the square")


def test_the_page_judges_as_python_does(visit, tmp_path):
    """Every answer that is offered or foreseen, clicked or typed as it is written in Python: the same verdict, the same sentence."""
    asked = [question for path in sorted(FOLDER.iterdir()) for question in questions(path.stem).values()]
    cards, wanted = [], []
    for question in asked:
        truths = [plain(next(a.value for a in part.answers if a.right)) for part in question.parts]
        card = judged(..., truths if len(truths) > 1 else truths[0], question.id)
        cards.append(html(card, text(card)))
        for part, truth in zip(question.parts, truths, strict=True):
            for answer in part.answers:
                right, why = judge(part, plain(answer.value), truth)
                wanted.append(
                    [
                        question.id,
                        part.label,
                        repr(answer.value),
                        "right" if right else "wrong",
                        why.replace("`", ""),
                    ]
                )
    (tmp_path / "page.html").write_text(
        f"<!doctype html><meta charset=utf-8>{''.join(cards)}", encoding="utf-8"
    )
    page, _ = visit(tmp_path / "page.html")
    answers = [[[repr(a.value) for a in part.answers] for part in question.parts] for question in asked]
    found = page.evaluate(
        """(answers) => [...document.querySelectorAll(".agl-guess")].flatMap((card, c) =>
             [...card.querySelectorAll(".agl-guess-part")].flatMap((part, p) => answers[c][p].map((answer, a) => {
               const field = part.querySelector("input");
               if (field) {
                 field.value = answer;
                 field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
               } else part.querySelectorAll("button")[a].click();
               return [part.dataset.v, part.querySelector("[role=status]").lastChild.textContent];
             })))""",
        answers,
    )
    assert {field.get_attribute("placeholder") for field in page.locator(".agl-guess input").all()} == {
        "your answer, then Enter", "numbers like [1, 2], then Enter", 'names like ["a", "b"], then Enter', "a shape like (2, 3), then Enter",
    }  # fmt: skip
    assert [[*row[:3], *told] for row, told in zip(wanted, found, strict=True)] == wanted
    assert len(wanted) > 600
