"""A stepper's life in JupyterLab 4 and Notebook 7: keys, several of them, the end of the kernel, the notebook opened again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
import samples
from labserver import Lab, Notebook, eventually
from playwright.sync_api import Browser, Page, expect

from autograd_lab.tracing import narrate
from autograd_lab.widgets import step

HOSTS = ["lab", "notebook"]
SHOW = "import samples\nfrom autograd_lab.widgets import step\ns = step(samples.diamond())\ns"
TRACE = samples.diamond()
NOT_FOUND = "Error displaying widget"


def show(browser: Browser, lab: Lab, *cells: str, **options) -> Notebook:
    notebook = Notebook.open(browser, lab, list(cells) or [SHOW], **options)
    notebook.run()
    expect(notebook.stage).to_be_visible()
    expect(notebook.stage.get_by_role("status").first).not_to_be_empty()
    return notebook


def lies_still(place) -> bool:
    """Whether it has not moved on the page for a moment: a click at something inside a frame that moves may miss it."""
    before = place.bounding_box()
    place.page.wait_for_timeout(300)
    return before is not None and before == place.bounding_box()


def count(stage) -> str:
    return stage.locator(".agl-count").inner_text()


@pytest.fixture(scope="module", params=["lab", "notebook"])
def live(request: pytest.FixtureRequest, browser: Browser, lab: Lab) -> Iterator[Notebook]:
    """One notebook for the tests that leave it as it was: a stepper `s`, then two more in one cell, then a plain cell."""
    two = "from IPython.display import display\ndisplay(step(samples.diamond()), step(samples.scalar()))"
    notebook = show(browser, lab, SHOW, two, "1 + 1", host=request.param, size=(1280, 2400))
    expect(notebook.page.get_by_role("group", name="Autograd stepper")).to_have_count(3)
    yield notebook
    notebook.close()


def test_every_control(live):
    """Each button, the scrubber and both menus, and what they are called."""
    stage, total = live.stage, len(TRACE)
    stage.get_by_label("Step by").select_option("event")
    stage.get_by_role("slider", name="Position").fill("0")

    def at(k):
        expect(stage.locator(".agl-count")).to_have_text(f"{k} / {total}")
        assert live.narration == narrate(TRACE, k)

    for name, k in [("Step", 1), ("Step", 2), ("Step back", 1), ("Next node", 2), ("Next node", 6), ("Previous node", 2),
                    ("Next event of this kind", 6), ("Last", total), ("First", 0)]:  # fmt: skip
        live.button(name).click()
        at(k)
    stage.get_by_role("slider", name="Position").fill("16")
    at(16)
    stage.get_by_label("Step by").select_option("node")
    live.button("Step").click()
    at(step(TRACE, position=16).next_node().position)
    stage.get_by_label("Step by").select_option("event")
    stage.get_by_label("Speed").select_option("10")
    live.button("Play").click()
    expect(stage.locator(".agl-count")).to_have_text(f"{total} / {total}")
    small = stage.get_by_role("button").evaluate_all(
        """all => all.map((e) => [e.getAttribute("aria-label") || e.innerText, ...[e.getBoundingClientRect()].flatMap((box) => [box.width, box.height])])
                  .filter(([, width, height]) => width && Math.min(width, height) < 24)"""
    )
    assert not small
    eventually(lambda: live.evaluate("print(s.position)"), str(total))  # a move is sent a moment later
    live.evaluate("s.goto(9)")
    at(9)


def test_the_page_unpacks_the_front_end_once(live):
    assert live.page.evaluate("Object.keys(autogradLabFrontEnds).length") == 1  # for three steppers


def test_several_steppers_do_not_disturb_each_other(live):
    first, second, third = live.page.get_by_role("group", name="Autograd stepper").all()
    first.get_by_role("slider", name="Position").fill("0")
    first.get_by_role("button", name="Last", exact=True).click()
    third.get_by_role("button", name="Step", exact=True).click()
    for stage in (first, second, third):
        expect(stage.locator(".agl-count")).not_to_have_text("")
    assert [count(stage) for stage in (first, second, third)] == ["35 / 35", "0 / 35", "1 / 32"]
    assert visible_pictures(live.page) == 0  # each stepper stands in the place of its own


def test_no_key_typed_in_the_stepper_changes_the_notebook(live):
    """The notebook's own keys are in its command mode: d d deletes, a and b insert, x cuts, Enter edits, Shift+Enter runs."""
    page, stage = live.page, live.stage
    cells = """() => window.jupyterapp.shell.currentWidget.content.widgets.map((cell) =>
        [cell.model.id, cell.model.type, cell.model.sharedModel.getSource(), cell.model.executionCount])"""
    before = page.evaluate(cells)
    places = stage.locator("button, select, input, textarea, summary, a[href], [tabindex]")
    assert places.count() >= 15
    for place in places.element_handles():
        assert place.get_attribute("data-lm-suppress-shortcuts") == "true", place.evaluate(
            "e => e.outerHTML"
        )[:200]
        if place.is_visible():
            place.focus()
            page.keyboard.type("ddabxzjkmyc1")
    for place in (stage.locator(".agl-svg"), live.button("Step")):
        place.focus()
        for key in ["Enter", "Shift+Enter", "Control+Enter", "ArrowDown", "ArrowUp", "Delete", "Backspace"]:
            page.keyboard.press(key)
    page.wait_for_timeout(300)
    assert page.evaluate(cells) == before
    expect(stage).to_be_visible()
    stage.locator(".agl-svg").focus()
    page.keyboard.press("Home")
    for k in (1, 2, 3):  # and the stepper's own keys arrive, in Notebook 7 too
        page.keyboard.press("ArrowRight")
        assert live.narration == narrate(TRACE, k)
    page.keyboard.press("Escape")  # back to the notebook, whose keys work again
    page.keyboard.press("b")
    page.wait_for_function(
        f"window.jupyterapp.shell.currentWidget.content.widgets.length === {len(before) + 1}"
    )


def test_two_views_of_one_stepper_keep_in_step(browser, lab):
    notebook = show(browser, lab)
    page = notebook.page
    page.evaluate("window.jupyterapp.commands.execute('notebook:create-output-view')")
    views = page.get_by_role("group", name="Autograd stepper")
    expect(views).to_have_count(2)
    one, other = views.all()
    one.get_by_role("button", name="Next node", exact=True).click()
    expect(other.locator(".agl-count")).to_have_text("2 / 35")
    other.get_by_role("button", name="Last", exact=True).click()
    expect(one.locator(".agl-count")).to_have_text("35 / 35")
    expect(one.get_by_role("status").first).to_have_text(narrate(TRACE, 35))
    assert visible_pictures(page) == 0
    notebook.close()


def test_when_the_kernel_is_gone_stepping_goes_on(live):
    live.stage.get_by_label("Step by").select_option("event")
    live.stage.get_by_role("slider", name="Position").fill("0")
    live.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    live.page.wait_for_timeout(500)
    for k in (1, 2, 3):
        live.button("Step").click()
        assert live.narration == narrate(TRACE, k)
    assert visible_pictures(live.page) == 0


# What is left in the file.


def visible_pictures(page: Page) -> int:
    """How many still pictures one sees."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".jp-OutputArea img")]
                 .filter((e) => e.naturalWidth && e.getClientRects().length && e.offsetHeight > 50).length"""
    )


@pytest.fixture(scope="module")
def saved(browser: Browser, lab: Lab) -> Path:
    """A notebook with a stepper and an embedded one, run and saved by JupyterLab, which thereby trusts it."""
    notebook = show(browser, lab, SHOW, "s.embed()", name="saved.ipynb")
    notebook.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    notebook.page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty", polling=50)
    notebook.close()
    return notebook.path


@pytest.mark.parametrize("trusted", [True, False])
def test_opened_again_and_not_run(browser, lab, saved, trusted):
    """The picture and the table are there, and no word of a missing model; trusted, the embedded stepper steps."""
    path = saved
    if not trusted:
        book = nbformat.read(saved, 4)
        book.cells[0].source += "  # changed outside"
        for cell in book.cells:
            cell.metadata.pop("trusted", None)
        path = saved.with_name("received.ipynb")
        nbformat.write(book, path)
    notebooks = [Notebook.open_file(browser, lab, path, host=host, size=(1280, 2000)) for host in HOSTS]
    notebooks[0].page.wait_for_timeout(2500)  # Jupyter looks for the model for two seconds, in both
    for notebook in notebooks:
        page = notebook.page
        assert page.get_by_text(NOT_FOUND).filter(visible=True).count() == 0
        assert notebook.stage.count() == 0
        outputs = page.locator(".jp-Cell-outputWrapper, .jp-OutputArea").filter(has=page.locator("details"))
        still, embedded = outputs.first, outputs.last
        picture = still.locator("img")
        expect(picture).to_be_visible()
        assert "35 steps" in picture.get_attribute("alt")
        # beside an embedded stepper that runs it is not needed
        eventually(lambda page=page: visible_pictures(page), 1 if trusted else 2)
        still.locator("summary").click()
        expect(still.get_by_role("cell", name=narrate(TRACE, 35))).to_be_visible()
        if trusted:
            inside, frame = embedded.frame_locator("iframe"), embedded.locator("iframe")
            expect(inside.locator(".agl-count")).to_have_text("0 / 35")
            eventually(lambda frame=frame: lies_still(frame), True)  # the opened table pushes it down
            inside.get_by_role("button", name="Last", exact=True).click()
            expect(inside.get_by_role("status").first).to_have_text(narrate(TRACE, 35))
        else:
            assert page.locator(".jp-OutputArea iframe").count() == 0
            expect(embedded.locator("img")).to_be_visible()
        notebook.close()


def test_as_a_page_of_nbconvert(visit, saved, tmp_path):
    """Offline: the picture and table of the stepper, and the embedded one steps."""
    from nbconvert import HTMLExporter

    body, _ = HTMLExporter().from_filename(str(saved))
    (tmp_path / "page.html").write_text(body, encoding="utf-8")
    page, _ = visit(tmp_path / "page.html", (1280, 2000))
    pictures = page.locator(".jp-OutputArea img")
    expect(pictures.first).to_be_visible()
    assert pictures.first.evaluate("e => e.naturalWidth") > 0
    # the picture waits for a live stepper, then takes its place and pushes the embedded one down, under the pointer
    page.wait_for_function(
        """() => document.querySelector(".jp-OutputArea img").getBoundingClientRect().bottom
                 < document.querySelector("iframe").getBoundingClientRect().top"""
    )
    inside = page.frame_locator("iframe")
    inside.get_by_role("button", name="Last", exact=True).click()
    expect(inside.locator(".agl-count")).to_have_text("35 / 35")
