"""lab.classroom in Chromium: by keyboard alone, on a projector, for everyone; and in real JupyterLab, where Python sees the votes."""

from __future__ import annotations

import json
import re

import pytest
from labserver import Notebook, eventually
from playwright.sync_api import expect
from test_pages import CLIPPED, barriers

from autograd_lab import lab as ours

pytestmark = pytest.mark.browser
SIZES = [(1024, 768), (1280, 800), (1920, 1080)]


def saved(tmp_path, question="M06", **votes):
    """The question as a page without a kernel. first=, second=: hands as tallied before; revealed=True."""
    room = ours.classroom(question)
    if "first" in votes:
        room.tally(**votes["first"])
    if "second" in votes:
        room.vote_again().tally(**votes["second"])
    if votes.get("revealed"):
        room.reveal()
    path = tmp_path / "room.html"
    room.save_html(path)
    return path


@pytest.fixture
def open_page(visit):
    """Opens a question."""

    def there(path, *args, **options):
        page, noted = visit(path, *args, **options)
        expect(page.get_by_role("group", name=re.compile("^Question"))).to_be_visible()
        return page, noted

    return there


def hands(page):
    return [field.input_value() for field in page.locator(".agl-room-hands").all()]


def bars(page):
    """What is written beside the bars that are seen."""
    return [text.inner_text() for text in page.locator(".agl-room-number").all() if text.is_visible()]


def test_a_vote_a_second_vote_the_truth_and_the_stepper_by_keyboard_alone(open_page, tmp_path):
    page, noted = open_page(saved(tmp_path))
    status = page.locator(".agl-room-said")
    expect(status).to_have_text("The truth and the stepper open when hands have been counted.")
    page.keyboard.press("Tab")  # into the question
    for key in "tvs":
        page.keyboard.press(key)  # all under lock
    expect(page.get_by_role("group", name="Autograd stepper")).to_have_count(0)
    expect(page.get_by_role("button", name="First vote")).to_have_attribute("aria-pressed", "true")

    page.keyboard.press("b")
    page.keyboard.type("12x")
    page.keyboard.press("Enter")
    page.keyboard.type("3")
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("d")
    page.keyboard.press("ArrowUp")
    assert hands(page) == ["", "12", "5", "1"]
    expect(status).to_have_text("First vote: 18 hands.")
    assert bars(page) == []  # nobody is to follow the majority
    page.keyboard.press("g")
    assert bars(page) == ["0 \u00b7 0 %", "12 \u00b7 67 %", "5 \u00b7 28 %", "1 \u00b7 6 %"]
    page.keyboard.press("g")

    page.keyboard.press("v")
    assert hands(page) == [""] * 4
    page.keyboard.press("c")
    page.keyboard.type("18")
    expect(status).to_have_text("Second vote: 18 hands. In the first there were 18.")
    assert bars(page) == []
    expect(page.get_by_text("the truth", exact=False).filter(visible=True)).to_have_count(1)  # the button
    page.keyboard.press("t")
    expect(status).to_have_text("The answer is C: 96.")
    assert bars(page)[:4] == ["0 \u00b7 0 %", "0 \u00b7 0 %", "12 \u00b7 67 %", "0 \u00b7 0 %"]
    assert bars(page)[4:6] == ["5 \u00b7 28 %", "18 \u00b7 100 %"]
    expect(page.locator(".agl-room-answer", has_text="\u2713 the truth").locator("code")).to_have_text("96")
    expect(
        page.locator(".agl-room-answer", has_text="\u2717 what M06 leads to").locator("code")
    ).to_have_text("48")
    expect(page.get_by_text("You may think")).to_be_visible()

    page.keyboard.press("s")
    for _ in range(35):
        page.keyboard.press("ArrowRight")
    expect(page.locator(".agl-count")).to_have_text("35 / 35")
    assert not noted


def test_after_the_truth_the_vote_is_closed(open_page, tmp_path):
    page, _ = open_page(saved(tmp_path, first={"A": 2, "B": 3}, revealed=True))
    page.locator(".agl-room-code").focus()
    for key in ("a", "ArrowUp", "v", "t"):
        page.keyboard.press(key)
    assert [text for text in bars(page)] == ["2 \u00b7 40 %", "3 \u00b7 60 %", "0 \u00b7 0 %", "0 \u00b7 0 %"]


def test_votes_differ_by_more_than_colour(open_page, tmp_path):
    page, _ = open_page(saved(tmp_path, first={"A": 2}, second={"C": 2}, revealed=True))
    pictures = page.locator(".agl-room-bar").evaluate_all(
        "bars => bars.map((b) => getComputedStyle(b).backgroundImage)"
    )
    assert {picture.startswith("repeating-linear-gradient") for picture in pictures[::2]} == {True}
    assert set(pictures[1::2]) == {"none"}
    assert page.locator(".agl-room-vote").all_inner_texts() == ["1st", "2nd"] * 4


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(open_page, tmp_path, scheme):
    for votes in ({}, {"first": {"A": 3, "C": 2}}, {"first": {"A": 3}, "second": {"C": 3}, "revealed": True}):
        page, _ = open_page(saved(tmp_path, **votes), color_scheme=scheme, reduced_motion="reduce")
        page.evaluate("document.querySelector('meta[http-equiv]').remove()")
        page.keyboard.press("Tab")
        page.keyboard.press("g")
        assert barriers(page) == [], votes


BROKEN = """() => {
  const code = document.querySelector(".agl-room-code"), bad = [];
  if (code.scrollWidth > code.clientWidth) bad.push("the program scrolls sideways");
  for (const answer of document.querySelectorAll(".agl-room-what code"))
    if (!/\\s/.test(answer.textContent) && answer.getClientRects().length > 1) bad.push(`${answer.textContent} is broken`);
  return bad;
}"""


@pytest.mark.parametrize("question", ["M02", "M04", "M09", "M21", "M24", "M26"])
def test_programs_and_names_are_in_one_piece_on_a_small_screen(open_page, tmp_path, question):
    """In a cell of JupyterLab on 1024x768, which is 827 px wide, and presented there and at 150 % zoom on 1280x800."""
    path = saved(tmp_path, question)
    for size, present in (((827, 768), False), ((1024, 768), True), ((853, 533), True)):
        page, _ = open_page(path, size)
        room = page.get_by_role("group", name=f"Question {question}")
        expect(room).to_be_visible()
        if present:
            room.get_by_role("button", name="Present", exact=True).click()
            expect(page.locator(".agl[data-present]")).to_be_visible()
        assert page.evaluate(BROKEN) == [], (size, present)


@pytest.mark.parametrize("size", [*SIZES, (512, 384), (320, 640)])
@pytest.mark.parametrize("revealed", [False, True])
def test_no_control_is_cut_off(open_page, tmp_path, size, revealed):
    page, _ = open_page(saved(tmp_path, first={"A": 3, "C": 2}, revealed=revealed), size)
    found = page.evaluate(CLIPPED)
    assert [bad for bad in found if "stage" not in bad] == []


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("question", ["M06", "M15", "M21", "M30"])
def test_a_question_fits_on_the_projector(open_page, tmp_path, size, question):
    """The longest ones: full screen, before the vote nothing has to be scrolled for and text is 20 px or more."""
    path = saved(tmp_path, question)
    page, _ = open_page(path, size)
    page.get_by_role("button", name="Present").click()
    frame = page.locator(".agl-room[data-present]")
    expect(frame).to_be_visible()
    assert frame.evaluate("e => [e.scrollHeight - e.clientHeight, e.clientHeight]") == [0, size[1]]
    code = page.locator(".agl-room-code")
    assert code.evaluate("e => e.scrollWidth - e.clientWidth") == 0
    sizes = page.locator(
        ".agl-room :is(.agl-room-ask, .agl-room-what code, .agl-room-said, button)"
    ).evaluate_all(
        "all => all.filter((e) => e.checkVisibility()).map((e) => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 20
    page.keyboard.press("Escape")
    expect(page.locator(".agl-room[data-present]")).to_have_count(0)


def test_from_the_full_screen_question_to_the_full_screen_stepper_and_back(open_page, tmp_path):
    page, noted = open_page(saved(tmp_path))
    for key in ("Tab", "p", "a", "ArrowUp", "PageDown"):
        page.keyboard.press(key)
    expect(page.locator(".agl-room[data-present]")).to_be_visible()
    expect(page.locator(".agl-room-said")).to_have_text("The answer is C: 96.")
    page.keyboard.press("PageDown")
    stage = page.get_by_role("group", name="Autograd stepper")
    expect(stage).to_have_attribute("data-present", "1")
    expect(page.locator("[data-present]:focus-within")).not_to_have_count(0)  # keys go there from now on
    page.keyboard.press("PageDown")
    expect(page.locator(".agl-count")).not_to_have_text("0 / 35")
    page.keyboard.press("Escape")
    expect(page.locator("[data-present]")).to_have_count(0)
    expect(page.get_by_role("group", name="Question M06")).to_be_visible()
    assert not noted


CELL = """from autograd_lab import lab
c = lab.classroom("M06")
c"""


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_in_jupyterlab_screen_and_python_show_the_same_votes(browser, lab, theme):
    notebook = Notebook.open(browser, lab, [CELL, "1 + 1"], theme=theme)
    notebook.run()
    page = notebook.page
    question = page.get_by_role("group", name="Question M06")
    expect(question).to_be_visible()
    expect(page.locator(".agl-still").first).to_be_hidden()
    page.locator(".agl-room-hands").nth(0).click()
    page.keyboard.type("7")
    page.keyboard.press("c")
    page.keyboard.type("2")
    for key in "dd":
        page.keyboard.press(key)
    assert notebook.cells() == 2
    eventually(
        lambda: json.loads(notebook.evaluate("import json; print(json.dumps(c.votes))")),
        [[7, 0, 2, 0], [0] * 4],
    )
    notebook.evaluate("c.vote_again().tally(C=9)")
    expect(page.locator(".agl-room-hands").nth(2)).to_have_value("9")
    expect(page.get_by_role("button", name="Second vote")).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="Show the truth").click()
    notebook.wait_for_stage()
    eventually(
        lambda: notebook.evaluate("print(c)"),
        "Classroom(M06: first vote 7, 0, 2, 0; second vote 0, 0, 9, 0; revealed)",
    )
    notebook.button("Next node").click()
    eventually(lambda: int(notebook.evaluate("print(c.position)")) > 0, True)
    notebook.close()
