"""The rule book and the gallery in real Chromium: steppers, filter, narrow windows, dark, and no barriers."""

from __future__ import annotations

import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tabs import violations

from autograd_lab.site import gallery, live, rulebook
from autograd_lab.site.options import Options
from autograd_lab.site.pages import Site

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the site is served."""
    site = Site({"rules/index.html": "Rules", gallery.INDEX: "Gallery"})
    site.add_frame()
    live.add_front_end(site)
    rulebook.add(site, Options(ROOT))
    gallery.add(site, Options(ROOT))
    site.add("assets/search.json", '{"pages": [], "places": []}')
    folder = tmp_path_factory.mktemp("site")
    site.write(folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A tab; whatever its console complains about fails the test."""
    tab = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
    wrong: list[str] = []
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    tab.on("console", lambda said: wrong.append(said.text) if said.type in ("error", "warning") else None)
    tab.on("response", lambda got: wrong.append(f"{got.status} {got.url}") if got.status >= 400 else None)
    yield tab
    tab.close()
    assert wrong == []


def sound(page: Page) -> None:
    """The page is as wide as its window, and axe finds nothing wrong, neither in dark nor in light."""
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert [(one["id"], one["nodes"][0]["html"]) for one in violations(page)] == []


def test_the_index_of_the_rules_finds_by_name_function_and_word(page: Page, address: str) -> None:
    page.goto(f"{address}rules/index.html")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    field, shown = page.get_by_label("Find a rule"), page.locator(".list li:visible")
    for asked, first in (
        ("nll_loss", "NllLossBackward0"),
        ("Elementwise product", "MulBackward0"),
        ("mvback", "MvBackward0"),
    ):
        field.fill(asked)
        expect(shown.first).to_contain_text(first)
        expect(page.locator("#count")).to_contain_text(asked)
        assert shown.count() < 12
    sound(page)  # of some rules: axe needs a minute for all of them
    field.fill("no such rule")
    expect(page.locator("#count")).to_have_text("No rules with “no such rule”")
    page.goto(f"{address}rules/index.html#filter=softmax")
    page.reload()
    expect(field).to_have_value("softmax")
    shown.first.get_by_role("link").click()
    expect(page.locator("h2:target")).to_be_visible()


def test_a_family_has_formulas_and_its_rules_can_be_stepped_through(page: Page, address: str) -> None:
    page.goto(f"{address}rules/matrices.html#MmBackward0")
    entry = page.locator("section.rule").filter(has=page.locator("h2#MmBackward0"))
    assert entry.locator("math").count() >= 3
    assert page.locator(".agl-root").count() == 0  # steppers wait until they are asked for
    entry.get_by_text("Step through it").click()
    entry.locator(".agl-root").get_by_role("button", name="Step", exact=True).click()
    expect(entry.locator(".agl-root")).to_contain_text("1 / ")
    entry.get_by_text("Source:").click()
    expect(entry.locator("pre.code")).to_contain_text("class MmBackward0")
    sound(page)


def test_what_is_wider_than_a_narrow_window_can_be_scrolled_with_the_keyboard(
    page: Page, address: str
) -> None:
    page.goto(f"{address}rules/normalization.html")
    wide = page.locator(".formula[tabindex]")
    assert wide.count() > 3
    wide.first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.activeElement.scrollLeft > 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_index_of_the_gallery(page: Page, address: str) -> None:
    page.goto(f"{address}{gallery.INDEX}")
    expect(page.locator(".card")).to_have_count(len(gallery.examples()))
    page.wait_for_function("document.images[0].complete && document.images[0].naturalWidth > 100")
    sound(page)


def test_a_program_stands_at_its_lesson(page: Page, address: str) -> None:
    (example,) = (one for one in gallery.examples() if one.name.endswith("in_place_on_a_saved_value"))
    page.goto(f"{address}{example.path}")
    stepper = page.locator(".agl-root")
    total = len(example.trace)
    expect(stepper).to_contain_text(f"{example.position} / {total}")
    expect(stepper).to_contain_text("modified by an inplace operation")
    stepper.get_by_role("button", name="Step back").click()
    expect(stepper).to_contain_text(f"{example.position - 1} / {total}")
    expect(page.get_by_role("heading", name="Why is x.grad None?")).to_be_visible()
    sound(page)
    page.get_by_role("navigation", name="Programs").get_by_role("link").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("In place on a leaf")
