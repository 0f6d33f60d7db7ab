"""The card of `lab.practice`: in JupyterLab, where Python sends the next question, and on a page that has a pack of them."""

import base64
import json
from pathlib import Path

import pytest
from labserver import Notebook, eventually
from playwright.sync_api import expect
from tabs import violations

from autograd_lab import lab as ours
from autograd_lab.course.practice import pack, proof, session
from autograd_lab.site import reading
from autograd_lab.site.pages import Site
from autograd_lab.widgets.practice import on_page, plain

CELL = """from autograd_lab import lab
p = lab.practice("04", seed=7)
p"""
OUTPUTS = "JSON.stringify([...window.jupyterapp.shell.currentWidget.content.model.cells].map((c) => c.outputs?.toJSON()))"


def written(value):
    return ", ".join(map(str, value)) if isinstance(value, list) and len(value) > 1 else str(value)


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_by_keyboard_with_a_kernel(browser, lab, theme):
    """Answer, Enter for the next question, and on; Python keeps the count, and nothing of it changes what is stored."""
    mine = ours.practice("04", seed=7)
    notebook = Notebook.open(browser, lab, [CELL], theme=theme)
    notebook.run()
    page = notebook.page
    card = page.get_by_role("group", name="Practice 04")
    expect(card.get_by_text("Level 1 of 5")).to_be_visible()
    expect(page.locator(".agl-still")).to_be_hidden()  # the card is there in its place
    before = page.evaluate(OUTPUTS)
    assert mine.question.parts[0].why.split(".")[0] not in before
    for right in (True, True, False):
        question = mine.question
        for i, part in enumerate(question.parts):
            card.get_by_label(part.label, exact=True).focus()
            page.keyboard.type(written(part.truth if right else part.mistakes[0].value))
            page.keyboard.press("Enter")
            status = card.locator(".agl-guess-part").nth(i).get_by_role("status")
            expect(status).to_contain_text("\u2713 You said" if right else "\u2717 You said")
            if not right:
                expect(status).to_contain_text(part.mistakes[0].says.replace("`", ""))
        following = card.get_by_role("button", name="Next question")
        expect(following).to_be_focused()
        page.keyboard.press("d")
        page.keyboard.press("d")  # in JupyterLab that deletes a cell
        mine.note(right)
        page.keyboard.press("Enter")
        expect(card.locator("pre")).to_have_text(mine.question.program.code)
        expect(card.get_by_text(f"Level {mine.level} of 5")).to_be_visible()
        expect(card.get_by_text(f"{mine.right} of {mine.n} right")).to_be_visible()
    eventually(lambda: notebook.evaluate("print(p.n, p.level, p.right, p.streak)"), "3 1 2 0")
    assert notebook.cells() == 1
    assert page.evaluate(OUTPUTS) == before
    color = card.evaluate("e => getComputedStyle(e).backgroundColor")
    assert color == {"Light": "rgb(255, 255, 255)", "Dark": "rgb(27, 30, 35)"}[theme]
    notebook.close()


@pytest.fixture(scope="module")
def front():
    """Script and style sheet of the reading pages, without the steppers."""
    site = Site({"index.html": "Start"})
    reading.add_front_end(site)
    script = site.files["assets/reading.js"].decode().replace('import { openAll } from "./stepper.js";', "")
    return script, site.files["assets/reading.css"].decode()


@pytest.fixture
def shown(front, visit, tmp_path):
    """Opens a page with the pack of a notebook; beside it the practice that goes the same way."""

    def open_(number, seed=1, **options):
        script, style = front
        mine = ours.practice(number, seed=seed)
        body = on_page(mine, pack.packed(mine))
        path = Path(tmp_path) / f"{number}.html"
        path.write_text(
            f"<!doctype html><html lang=en><meta charset=utf-8><meta name=color-scheme content='light dark'><title>Practice</title>"
            f"<style>{style}</style><main class='book'><h1>Practice</h1><div class='book-out'>{body}</div></main><script type=module>{script}</script>",
            encoding="utf-8",
        )
        page, noted = visit(path, **options)
        card = page.get_by_role("group", name=f"Practice {number}")
        expect(card.get_by_role("button", name="Show me")).to_be_visible()
        return page, card, noted

    return open_


def test_a_page_without_a_kernel_goes_on_for_ever(shown):
    """All thirty questions by asking to be shown; then they begin again, and the page says so."""
    _, card, noted = shown("08")
    seen = []
    for n in range(31):
        seen.append(card.locator("pre").inner_text() + card.locator(".agl-practice-ask").inner_text())
        expect(card.locator(".agl-guess-part[data-v=open]").first).to_be_visible()
        card.get_by_role("button", name="Show me").click()
        expect(card.locator(".agl-guess-part[data-v=open]")).to_have_count(0)
        card.get_by_role("button", name="Next question").click()
        expect(card.get_by_text(f"0 of {n + 1} right")).to_be_visible()
    assert len(set(seen[:30])) > 24
    assert seen[30] == seen[0]
    expect(card.get_by_text("You have seen all questions of this page")).to_be_visible()
    assert not noted


def test_the_first_answer_counts(shown):
    """What is answered again is judged again, and changes neither count nor level."""
    page, card, _ = shown("04", seed=2)
    question = pack.packed(ours.practice("04", seed=2))[0][0]
    first, *others = question.parts

    def answer(part, value):
        card.get_by_label(part.label, exact=True).fill(written(value))
        page.keyboard.press("Enter")

    answer(first, first.mistakes[0].value)
    answer(first, first.truth)
    expect(card.get_by_role("status").first).to_contain_text("\u2713 You said")
    for part in others:
        answer(part, part.truth)
    answer(first, first.truth)
    card.get_by_role("button", name="Next question").click()
    expect(card.get_by_text("0 of 1 right")).to_be_visible()


def test_an_order_is_clicked_or_typed(shown):
    page, card, _ = shown("04", seed=2)
    row = card.get_by_role("group", name="the names, to click in order")
    while not row.count():
        card.get_by_role("button", name="Show me").click()
        card.get_by_role("button", name="Next question").click()
    names = row.get_by_role("button").all_inner_texts()
    row.get_by_role("button", name="loss").click()
    field = card.get_by_label("order", exact=True)
    expect(field).to_have_value("loss")
    field.fill("")
    expect(row.get_by_role("button", name="loss")).to_have_attribute("aria-pressed", "false")
    for name in reversed(names):
        row.get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press("Enter")
    expect(card.get_by_role("status").first).to_contain_text(f"You said {', '.join(reversed(names))}")


def test_the_page_judges_practice_as_python_does(shown):
    """Right answers and known mistakes of some questions of every kind, typed as they are shown: the same verdict and sentence."""
    page, _, _ = shown("00")
    asked = [
        session.draw(kind, f"{number} {seed} page", level)
        for number in session.NOTEBOOKS
        for kind in session.kinds(number)
        for seed, level in ((1, 1), (2, 3), (3, 5))
    ]
    questions, wanted = [], []
    for one in asked:
        assert proof.judged(one)[0]
        answers = [[written(v) for v in [p.truth, *(m.value for m in p.mistakes)]] for p in one.parts]  # fmt: skip
        questions.append([plain(one)["parts"], answers])
        wanted += [["right" if i == 0 else "wrong", says] for part in one.parts for i, says in enumerate([part.why, *(m.says for m in part.mistakes)])]  # fmt: skip
    found = page.evaluate(
        """(questions) => questions.flatMap(([parts, answers]) => parts.flatMap((part, p) => answers[p].map((answer) => {
             const place = document.createElement("div"), { make, wait } = window.aglGuess;
             place.append(make("b", {}, part.label));
             document.body.append(place);
             wait(place, part, () => {});
             const field = place.querySelector("input");
             field.value = answer;
             field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
             const told = [place.dataset.v, place.querySelector("[role=status]").lastChild.textContent];
             place.remove();
             return told;
           })))""",
        questions,
    )
    assert [[verdict, says.replace("`", "")] for verdict, says in wanted] == found
    assert len(wanted) > 400


@pytest.mark.parametrize("options", [{}, {"color_scheme": "dark"}, {"size": (512, 350)}, {"forced_colors": "active"}], ids=str)  # fmt: skip
def test_it_is_seen_and_reached_everywhere(shown, options):
    page, card, noted = shown("04", seed=1, **options)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    picture = card.locator("img")
    expect(picture).to_have_attribute("alt", "The graph: " + picture.get_attribute("alt").removeprefix("The graph: "))  # fmt: skip
    assert picture.evaluate("e => e.complete && e.naturalWidth > 100")
    for one in (
        [card] if "size" in options else [card, card.locator("pre")]
    ):  # in a narrow card a long line of code scrolls
        assert one.evaluate("e => e.scrollWidth <= e.clientWidth")
    card.get_by_role("button", name="Show me").click()
    expect(card.get_by_role("button", name="Next question")).to_be_focused()
    found = [(one["id"], [node["target"] for node in one["nodes"]][:3]) for one in violations(page) if one["impact"] in ("serious", "critical")]  # fmt: skip
    assert found == []
    page.emulate_media(media="print")
    expect(card.get_by_role("button", name="Next question")).to_be_hidden()
    expect(picture).to_be_visible()
    page.emulate_media(media="null")
    assert not noted


def test_nothing_is_told_before_the_answer(shown):
    page, card, _ = shown("06", seed=1)
    page_text = page.content()
    first = pack.packed(ours.practice("06", seed=1))[0][0]
    why = first.parts[0].why.replace("`", "")
    assert why not in page_text
    assert base64.b64encode(why.encode()).decode()[:24] not in page_text
    assert json.dumps(first.parts[0].why)[1:-1] not in page_text
    card.get_by_role("button", name="Show me").click()
    expect(card.get_by_role("status").first).to_contain_text(why)
