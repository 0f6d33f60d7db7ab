"""The grader's pages in a browser: a stepper opens in its place, print has the still picture, nothing of a student's runs."""

import json
import re
from pathlib import Path

import pytest
import samples
from playwright.sync_api import expect
from tabs import violations

from autograd_lab.grade import feedback, report, run
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import Cell, Job, Result, Run

BOOK = "08_shapes"
EVIL = '<script>window.taken = 1</script><img src=x onerror="window.taken = 1">'


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> Path:
    """A folder with a student's page (one stepper of their own code, one of a misconception) and a class report."""
    folder = tmp_path_factory.mktemp("results")
    course = run.load_course()
    items = course.items[BOOK]
    states = ["wrong", "wrong", "wrong", "not attempted"]
    beliefs = ["M18", "M19", "", ""]
    name = f"Ada {EVIL}"
    results = [
        Result(name, BOOK, item.id, 0, item.points, state, f"Not so. {EVIL}", belief, got=EVIL)
        for item, state, belief in zip(items, states, beliefs, strict=False)
    ]
    results[2].probe, results[2].case = items[2].probes[0].name, 0
    cells = tuple(Cell(item.id, f"# {EVIL}\n" + "a_long_name_" * 200, "answer", item.id) for item in items)
    with Gradebook(folder / NAME, create=True) as book:
        book.record(name, BOOK, results, {}, job=Job(name, BOOK, cells), run=Run("ok"), notes=[EVIL])
        report.write(book, course, folder)
        sheet = feedback.Sheet(book.entries())
        sheet.jobs[BOOK], sheet.runs[BOOK] = book.stored_run(name, BOOK)
    record = samples.diamond().to_dict()
    record["tensors"][0]["name"] = EVIL
    sheet.steppers[items[2].id] = feedback.draw(f"08.3 {EVIL}", json.dumps(record))
    page = feedback.page(sheet, course, feedback.Prompts(course), feedback.Ballots())
    (folder / "student.html").write_text(page, encoding="utf-8")
    return folder


def test_steppers_open_in_their_places_and_step(visit, pages):
    page, noted = visit(pages / "student.html")
    folds = page.locator("details.live")
    assert folds.count() == 3
    assert page.locator(".agl").count() == 0
    for i in range(3):
        folds.nth(i).locator("summary").first.click()
        stepper = folds.nth(i).locator(".agl")
        expect(stepper).to_be_visible()
        assert stepper.bounding_box()["width"] > 600
        stepper.get_by_role("button", name="Step", exact=True).click()
        assert stepper.locator(".agl-count").inner_text().startswith("1 /")
    assert page.locator("article").count() == 4
    assert all(article.is_visible() for article in page.locator("article").all())
    assert page.title().startswith("Feedback for Ada <script>")
    assert not noted


def test_in_print_the_picture_stands_for_the_stepper(visit, pages):
    page, _ = visit(pages / "student.html")
    assert not page.locator(".still").first.is_visible()
    page.emulate_media(media="print")
    assert page.locator(".still img").first.is_visible()
    assert not page.locator("details.live").first.is_visible()
    assert page.evaluate(
        "dispatchEvent(new Event('beforeprint')), [...document.querySelectorAll('details.print')].every(d => d.open)"
    )


def test_without_scripts_the_pictures_are_there(visit, pages):
    page, _ = visit(pages / "student.html", context={"java_script_enabled": False})
    expect(page.locator(".still img").first).to_be_visible()
    assert not page.locator("details.live").first.is_visible()


@pytest.mark.parametrize("name", ["student.html", "report.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_bars_a_reader(visit, pages, name, scheme):
    page, noted = visit(pages / name, size=(800, 900), color_scheme=scheme)
    assert not [
        (one["id"], one["nodes"][0]["html"][:200])
        for one in violations(page)
        if one["impact"] in ("serious", "critical")
    ]
    assert page.evaluate("document.documentElement.scrollWidth") <= 800
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(int(part) for part in re.findall(r"\d+", background)[:3]) < 380) == (scheme == "dark")
    assert page.evaluate("window.taken") is None
    assert not noted
