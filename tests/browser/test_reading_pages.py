"""The reading pages in Chromium: all notebooks, run once. Nothing comes from a network but from the server on this machine."""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect
from ran import ROOT, SOURCES, ran
from tabs import elsewhere, violations

from autograd_lab.course.practice import NOTEBOOKS
from autograd_lab.site import live, reading, search, start
from autograd_lab.site.in_kernel import CARD, OPEN, PRACTICE, SEAL, STEPPER
from autograd_lab.site.pages import Site

NAMES = [source.stem for source in SOURCES]


class Quiet(SimpleHTTPRequestHandler):
    """As `python -m http.server`, without a line for each file."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def books() -> dict[Path, str]:
    return ran()


@pytest.fixture(scope="module")
def site(books: dict[Path, str]) -> Site:
    made = Site({"index.html": "Start", reading.INDEX: "Notebooks"})
    made.add_frame()
    live.add_front_end(made)
    start.add_pages(made, ROOT)
    reading.add_pages(made, books)
    search.add(made)
    return made


@pytest.fixture(scope="module")
def served(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    site.write(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def reader(browser, served) -> Iterator[tuple[Page, list[str]]]:
    """A page that reaches this machine's server alone, and the list that errors and other requests are noted in."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    page.set_default_timeout(60_000)
    noted: list[str] = []
    page.on("pageerror", lambda error: noted.append(str(error)))
    page.on("console", lambda said: noted.append(said.text) if said.type in ("error", "warning") else None)
    asked = elsewhere(context, served)
    yield page, noted
    assert asked == []
    context.close()


def visible(outputs: list[Any]) -> tuple[str, list[str]]:
    """What a reader sees of a cell before any answer: the printed text, and the rest by its kind or words."""
    text, rest, waits = "", [], False
    for output in outputs:
        data = output.get("data", {})
        if SEAL in data or OPEN in data:
            waits = SEAL in data
        elif waits:
            continue
        elif output.output_type == "stream":
            text += output.text
        elif CARD in data or "agl-guess" in data.get("text/html", ""):
            rest.append("a card")
        elif PRACTICE in data or "lab.practice(" in data.get("text/html", ""):
            rest.append("practice")
        elif STEPPER in data or "agl-still" in data.get("text/html", ""):
            rest.append("a stepper")
        elif "image/png" in data:
            rest.append("a plot")
        elif words := data.get("text/html") or data.get("text/plain"):
            rest.append(words)
    return text, rest


def test_before_an_answer_a_page_shows_what_the_notebook_shows(books):
    """So what test_predictions.py and test_told_too_early.py say of the notebooks holds for the pages."""
    differ = []
    for source, text in books.items():
        stored = nbformat.read(source.with_suffix(".ipynb"), as_version=4)
        for ran_cell, cell in zip(nbformat.reads(text, as_version=4).cells, stored.cells, strict=True):
            if cell.cell_type == "code" and visible(ran_cell.outputs) != visible(cell.outputs):
                differ.append((cell.id, visible(ran_cell.outputs), visible(cell.outputs)))
    assert differ == []


def test_a_slider_moves_in_a_page_and_its_values_come_when_it_is_moved(reader, served):
    page, noted = reader
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}notebooks/01_nudge_and_measure.html")
    slider = page.get_by_role("slider", name="Value of x")
    for live_one in page.locator(".site-live").all():  # they open when they come near
        live_one.scroll_into_view_if_needed()
    expect(slider).to_have_attribute("aria-valuetext", "x = 2")
    assert not [url for url in asked if url.endswith(".txt")]
    slider.fill("25")
    stage = page.locator(".agl").filter(has=slider)
    expect(stage.locator(".agl-leaves tbody tr")).to_contain_text("3")
    expect(slider).to_have_attribute("aria-valuetext", "x = 3")
    assert len([url for url in asked if url.endswith(".txt")]) == 1
    stage.get_by_role("button", name="Nudge").click()
    expect(stage.locator(".agl-nudge")).to_contain_text("gradient 27")
    assert noted == []


def test_all_links_lead_somewhere(site):
    assert site.broken_links() == []


def test_a_page_and_its_first_stepper_are_light(site):
    """All that is loaded before the first stepper can step, pictures not counted, as `python -m http.server` sends it."""
    shared = sum(len(site.files[path]) for path in (
        "assets/site.css", "assets/site.js", "assets/stepper.js", "assets/stepper.css", "assets/reading.js", "assets/reading.css",
    ))  # fmt: skip
    for path in ["index.html", *map(reading.place, NAMES)]:
        text = site.files[path].decode()
        first = re.search(r'class="site-live"(?: data-stepper="\.\./([^"]+)")?', text)
        assert first, path
        weight = len(text) + shared + (len(site.files[first[1]]) if first[1] else 0)
        assert weight < 600_000, (path, weight)


LOOK = """async () => {
  const wide = document.documentElement.scrollWidth, all = [...document.querySelectorAll(".site-live")];
  for (const live of all) {
    live.scrollIntoView();
    for (let i = 0; i < 400 && !live.stepper; i++) await new Promise((done) => setTimeout(done, 25));
  }
  const cards = [...document.querySelectorAll(".book-card")];
  return {
    wide, wider: document.documentElement.scrollWidth, steppers: all.length, open: all.filter((live) => live.stepper).length,
    cards: cards.length, ready: cards.filter((card) => card.querySelector("button, input") || !card.querySelector("[data-v=open]")).length,
    sealed: document.querySelectorAll(".book-sealed[data-sealed]").length, words: document.querySelector("article").innerText,
  };
}"""


@pytest.mark.parametrize("name", NAMES)
def test_every_page_opens_on_a_phone_with_all_its_steppers(reader, served, name):
    page, noted = reader
    noted.clear()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{served}notebooks/{name}.html")
    seen = page.evaluate(LOOK)
    assert seen["wide"] <= 390
    assert seen["wider"] <= 390
    assert seen["steppers"] > 0
    assert seen["open"] == seen["steppers"]
    assert seen["cards"] > 0
    assert seen["ready"] == seen["cards"]
    assert "For the instructor" not in seen["words"]
    assert not noted


@pytest.mark.parametrize("name", [NAMES[4], NAMES[14]])
def test_every_stepper_steps(reader, served, name):
    page, noted = reader
    noted.clear()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{served}notebooks/{name}.html")
    page.evaluate(LOOK)
    for live_one in page.locator(".site-live").all():
        button = live_one.get_by_role("button", name="Step", exact=True).first
        said = live_one.locator("[role=status], .agl-count")
        before = said.all_inner_texts()
        if button.get_attribute("aria-disabled") == "true":  # it shows the end
            button = live_one.get_by_role("button", name="Step back").first
        button.click()
        page.wait_for_function(
            "([live, before]) => JSON.stringify([...live.querySelectorAll('[role=status], .agl-count')].map((e) => e.innerText)) !== JSON.stringify(before)",
            arg=[live_one.element_handle(), before],
        )
    assert not noted


def test_an_answer_opens_what_waits_for_it(reader, served, books):
    page, _ = reader
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto(f"{served}notebooks/{NAMES[2]}.html")
    card = page.locator("#question-02-c")
    waiting = page.locator('.book-sealed[data-asks="02.c"]')
    expect(waiting).to_contain_text("This opens when you have answered the question above")
    card.get_by_role("button", name="MulBackward0").click()
    expect(card).to_contain_text("You said MulBackward0, and it is MulBackward0")
    expect(waiting.locator("svg, img").first).to_be_visible()
    expect(waiting).not_to_contain_text("This opens")
    assert page.locator('.book-sealed[data-asks="02.h"][data-sealed]').count() == 1  # another question


def test_a_page_has_the_practice_of_its_notebook(reader, served, site):
    """In its place, open, and without a request: the pack is in the page."""
    page, noted = reader
    has = [name for name in NAMES if 'class="book-practice"' in site.files[reading.place(name)].decode()]
    assert [name[:2] for name in has] == [*NOTEBOOKS]
    for name in (has[4], has[-1]):
        noted.clear()
        page.goto(f"{served}notebooks/{name}.html")
        card = page.get_by_role("group", name=f"Practice {name[:2]}")
        expect(card.get_by_text("Level 1 of 5")).to_be_visible()
        code = card.locator("pre").inner_text()
        card.get_by_role("button", name="Show me").click()
        card.get_by_role("button", name="Next question").click()
        expect(card.get_by_text("0 of 1 right")).to_be_visible()
        assert card.locator("pre").inner_text() != code
        assert not noted


def test_the_search_finds_by_beginnings_and_by_keys(reader, served):
    page, noted = reader
    noted.clear()
    page.set_viewport_size({"width": 1280, "height": 800})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}notebooks/{NAMES[0]}.html")
    assert not [url for url in asked if "search.json" in url]  # not before it is used
    page.keyboard.press("/")
    page.keyboard.type("leaves no rec")
    first = page.locator("#site-found [role=option]").first
    expect(first).to_contain_text("What leaves no record")
    expect(first).to_contain_text("02")
    page.keyboard.press("ArrowDown")
    assert (
        page.get_by_role("combobox", name="Search").get_attribute("aria-activedescendant") == "site-found-0"
    )
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"02_forward_builds_the_graph\.html#what-leaves-no-record"))
    page.get_by_role("combobox", name="Search").fill("why is my gradient zzz?")
    expect(page.locator("#site-found [role=option]").last).to_contain_text("No place has all")
    told = page.locator("#site-found [role=option]").all_inner_texts()
    assert "gradient" in " ".join(told[:-1])
    assert told[-1] == "No place has all of these words: these have the most."
    page.get_by_role("combobox", name="Search").fill("zzz zzzz")
    expect(page.locator("#site-found [role=option]")).to_have_text(
        "Nothing has words that begin with zzz and zzzz."
    )
    page.get_by_role("combobox", name="Search").fill("zzz")
    expect(page.locator("#site-found [role=option]")).to_have_text("Nothing has words that begin with zzz.")
    assert not noted


def test_the_theme_is_remembered_and_is_the_steppers_too(reader, served):
    page, _ = reader
    page.emulate_media(color_scheme="light")
    page.goto(f"{served}notebooks/{NAMES[2]}.html")
    page.get_by_role("combobox", name="Theme").select_option("dark")
    page.goto(f"{served}notebooks/{NAMES[3]}.html")
    page.wait_for_selector(".agl")
    colors = "() => ['body', '.agl', '.agl-guess'].map((e) => getComputedStyle(document.querySelector(e)).backgroundColor)"
    assert page.evaluate(colors) == ["rgb(20, 23, 27)", "rgb(27, 30, 35)", "rgb(27, 30, 35)"]
    page.get_by_role("combobox", name="Theme").select_option("")
    assert page.evaluate(colors) == ["rgb(255, 255, 255)"] * 3


def test_on_paper_there_are_stills_and_no_controls(reader, served):
    page, _ = reader
    page.goto(f"{served}notebooks/{NAMES[2]}.html")
    page.wait_for_selector(".agl")
    page.emulate_media(media="print", color_scheme="dark")
    shown = page.evaluate(
        """() => { const seen = (e) => [...document.querySelectorAll(e)].filter((one) => one.checkVisibility()).length;
             return [seen(".site-live-still img"), seen(".agl"), seen("header, .site-tools, input, select"), getComputedStyle(document.body).color]; }"""
    )
    assert shown[0] >= 1
    assert shown[1:3] == [0, 0]
    assert shown[3] == "rgb(28, 33, 39)"  # ink, whatever the theme
    page.emulate_media(media="null", color_scheme="light")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(reader, served, scheme):
    page, _ = reader
    page.set_viewport_size({"width": 1280, "height": 800})
    page.emulate_media(color_scheme=scheme)
    found = []
    for path in ("index.html", "notebooks/index.html", f"notebooks/{NAMES[2]}.html"):
        page.goto(served + path)
        if path != "notebooks/index.html":
            page.wait_for_selector(".agl")
        found += [
            (path, one["id"], [node["target"] for node in one["nodes"]][:3])
            for one in violations(page)
            if one["impact"] in ("serious", "critical")
        ]
    page.emulate_media(color_scheme="light")
    assert found == []
