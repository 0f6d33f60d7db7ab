"""The parts of a reading page: formulas, links, what waits for an answer. Whole pages are tested in tests/browser."""

import base64
import json
import re
from pathlib import Path

import nbformat
import pytest
import samples

from autograd_lab import lab
from autograd_lab.course import build as course
from autograd_lab.site import in_kernel, live, reading, search, tex
from autograd_lab.site.pages import CannotBuildError, Site
from autograd_lab.widgets import export

ROOT = Path(__file__).parents[2]


def site(*places: str) -> Site:
    made = Site({"index.html": "Start", reading.INDEX: "Notebooks", **{place: place for place in places}})
    made.add_frame()
    live.add_front_end(made)
    made.page("index.html", "Start", "")
    return made


def shown(mime: str, **data) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("display_data", {mime: data, "text/plain": ""})


def card(ask: str) -> nbformat.NotebookNode:
    return shown(in_kernel.CARD, ask=ask, html="<div class='agl-guess'></div>")


def printed(text: str) -> nbformat.NotebookNode:
    return nbformat.v4.new_output("stream", text=text)


def stepper(trace=None) -> nbformat.NotebookNode:
    s = lab.step(trace or samples.scalar())
    return shown(in_kernel.STEPPER, traits=export.traits(s), still=s.still(), label="a <stepper>")


def pages(made: Site, tmp_path: Path, *cells) -> str:
    """The page of a notebook with these cells: texts, or code with its outputs."""
    source = tmp_path / "90_short.py"
    book = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_markdown_cell(cell) if isinstance(cell, str) else nbformat.v4.new_code_cell(cell[0], outputs=[*cell[1:]])
            for cell in ("# 90 · A *short* one\n\nFirst words.", *cells)
        ]
    )  # fmt: skip
    reading.add_pages(made, {source: nbformat.writes(book)})
    return made.files["notebooks/90_short.html"].decode()


def test_what_waits_for_an_answer_is_sealed(tmp_path):
    made = site()
    seal = shown(in_kernel.SEAL, ask="90.a")
    text = pages(
        made,
        tmp_path,
        ("ask()", card("90.a"), printed("seen\n"), seal, printed("told\n"), seal, stepper()),
        ("if answered: nothing()", seal),
    )
    assert "seen" in text
    assert "told" not in text
    assert 'class="site-live"' not in text
    assert (
        (tmp_path / "90_short.py").stem in made.files[search.PATH].decode()
        if search.PATH in made.files
        else True
    )
    (asks, packed) = re.search(r'data-asks="([^"]+)" data-sealed="([^"]+)"', text).groups()
    inside = base64.b64decode(packed).decode()
    assert asks == "90.a"
    assert "told" in inside
    assert inside.count('class="site-live"') == 1
    assert "<!--" not in inside
    assert text.count("data-sealed=") == 1  # nothing waits in the second cell
    assert 'href="#question-90-a"' in text
    assert made.broken_links() == []
    search.add(made)
    assert "told" not in made.files[search.PATH].decode()


def test_what_a_student_does_not_get_is_not_on_the_page(tmp_path):
    note = nbformat.v4.new_markdown_cell("Ask them.", metadata={"tags": ["instructor"]})
    source = tmp_path / "90_short.py"
    code = nbformat.v4.new_code_cell("x = 4\nassert x == 4", outputs=[printed("4\n")])
    alone = nbformat.v4.new_code_cell("assert x == 4")
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# T"), note, code, alone])
    made = site()
    reading.add_pages(made, {source: nbformat.writes(book)})
    text = made.files["notebooks/90_short.html"].decode()
    assert "Ask them" not in text
    assert "assert" not in text
    assert text.count('class="book-code"') == 1


def test_links_to_notebooks_and_exercises(tmp_path):
    cell = "[Ex](../exercises/90_short.ipynb) and [next](90_short.ipynb)"
    without = pages(site(), tmp_path, cell)
    assert "Ex, in the lab, when it is installed" in without
    assert 'href="90_short.html"' in without
    made = site("lab/index.html")
    made.page("lab/index.html", "Lab", "")
    text = pages(made, tmp_path, cell)
    assert 'href="../lab/index.html?path=exercises/exercise_90_short.ipynb"' in text
    assert 'href="../lab/index.html?path=notebooks/90_short.ipynb"' in text
    assert made.broken_links() == []


def test_sections_have_ids_of_their_own(tmp_path):
    text = pages(site(), tmp_path, "## What `x` is\n\none", "## What x is\n\ntwo")
    assert re.findall(r'<h2 id="([^"]+)"', text) == ["what-x-is", "what-x-is-2"]
    assert '<a href="#what-x-is-2">What x is</a>' in text


def test_formulas_of_all_notebooks_are_set():
    formulas: list[str] = []
    for source in sorted((ROOT / "notebooks").glob("*.py")):
        for cell in course.read_source(source).cells:
            if cell.cell_type == "markdown":
                assert "$" not in re.sub(
                    r"```.*?```|`[^`]*`", "", tex.taken_out(cell.source, formulas), flags=re.S
                )
    assert len(formulas) > 10


@pytest.mark.parametrize(
    ("formula", "markup"),
    [
        ("x^2", "<msup><mi>x</mi><mn>2</mn></msup>"),
        ("f'(a)", "<msup><mi>f</mi><mo>\u2032</mo></msup><mrow><mo>(</mo><mrow><mi>a</mi></mrow><mo>)</mo></mrow>"),
        (r"\frac{1}{2\sqrt{2}}", "<mfrac><mrow><mn>1</mn></mrow><mrow><mn>2</mn><msqrt><mrow><mn>2</mn></mrow></msqrt></mrow></mfrac>"),
        ("(2 + h)^3", "<msup><mrow><mo>(</mo><mrow><mn>2</mn><mo>+</mo><mi>h</mi></mrow><mo>)</mo></mrow><mn>3</mn></msup>"),
        (r"-g / b", "<mo>\u2212</mo><mi>g</mi><mo>/</mo><mi>b</mi>"),
    ],
)  # fmt: skip
def test_a_formula(formula, markup):
    assert tex.mathml(formula) == f"<math><mrow>{markup}</mrow></math>"


@pytest.mark.parametrize("formula", [r"\foo", "a}", "{a", "(a", "x^", "a & b"])
def test_a_formula_that_is_not_known_is_named(formula):
    with pytest.raises(CannotBuildError, match=re.escape(f"${formula}$")):
        tex.mathml(formula)


def test_code_is_no_formula():
    found: list[str] = []
    assert tex.taken_out("`$a$` and\n```\n$b$\n```\n", found) == "`$a$` and\n```\n$b$\n```\n"
    assert found == []


def test_the_index_holds_what_a_reader_sees(tmp_path):
    made = site()
    pages(
        made,
        tmp_path,
        "## Leaves\n\nA *leaf* has one mailbox.",
        ("lab.step(trace)", stepper(), printed("printed\n")),
    )
    search.add(made)
    index = json.loads(made.files[search.PATH])
    titles = {path: title for path, title in index["pages"]}
    assert titles["notebooks/90_short.html"] == "90 · A short one"
    found = {
        (index["pages"][page][0], anchor): (heading, text) for page, anchor, heading, text in index["places"]
    }
    assert found["notebooks/90_short.html", "leaves"] == (
        "Leaves",
        "A leaf has one mailbox.",
    )
    assert "what happens" not in str(found)  # the steps of the still picture
    assert "First words." in found["notebooks/90_short.html", ""][1]


def test_a_link_beside_a_heading_is_not_in_its_words():
    made = site()
    made.page(
        "rules.html",
        "R",
        '<h2 id="mul">Mul<code>Backward0</code> <a href="#mul">Step through it</a></h2>Words.',
    )
    search.add(made)
    assert '"mul","MulBackward0","Words."' in made.files[search.PATH].decode()


def test_a_heading_without_an_id_is_text():
    """It leads nowhere."""
    made = site()
    made.page(
        "rules.html",
        "R",
        '<h2 id="mul">Mul</h2>Words.<details><summary><h3>Step</h3></summary>More.</details>',
    )
    search.add(made)
    assert '"mul","Mul","Words. Step More."' in made.files[search.PATH].decode()


def test_two_builds_give_the_same_bytes(tmp_path):
    """From what has run; that a run gives the same outputs twice is what nbval and `autograd-lab build --check` test."""
    stored = (ROOT / "notebooks/11_write_your_own_op.ipynb").read_text(encoding="utf-8")  # with a plot
    both = [site(), site()]
    for made in both:
        reading.add_pages(made, {ROOT / "notebooks/11_write_your_own_op.py": stored})
        search.add(made)
    assert both[0].files == both[1].files
    assert any(path.endswith(".png") for path in both[0].files)


def test_a_cell_that_does_not_run_is_named(tmp_path):
    source = tmp_path / "90_short.py"
    source.write_text("# %% [markdown]\n# # T\n\n# %%\n1 / 0\n", encoding="utf-8")
    with pytest.raises(CannotBuildError, match=r"90_short.py: a cell did not run(.|\n)*ZeroDivisionError"):
        reading.executed(source, ROOT)
