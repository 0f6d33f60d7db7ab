"""One tab of Chromium for the tests that need no Jupyter: a context of its own takes each of them a second, a used tab a tenth."""

from __future__ import annotations

import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Locator, Page, Request, Route


def walk(button: Locator, steps: int, look: str, *, drawn: bool = True) -> list[Any]:
    """Press a button so many times; what a function of the page returns after each time, when it is drawn.

    In one call of the page: to ask for each step from here takes longer than the step. The first is a click with the
    mouse, for which Playwright sees that nothing lies over the button. A picture takes ten times as long as a step: not
    `drawn`, the function looks at once, and what it measures is laid out for it.
    """
    button.click()
    return [button.evaluate(look), *_repeat(button, list(range(1, steps)), "e.click()", look, drawn)]


def scrub(slider: Locator, places: list[int], look: str, *, drawn: bool = True) -> list[Any]:
    """Move a slider to these places; what a function of the page returns at each, as in `walk`."""
    slider.fill(str(places[0]))
    move = "e.value = k; e.dispatchEvent(new Event('input', { bubbles: true }))"
    return [slider.evaluate(look), *_repeat(slider, places[1:], move, look, drawn)]


def _repeat(element: Locator, places: list[int], act: str, look: str, drawn: bool) -> list[Any]:
    wait = "await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));"
    return element.evaluate(
        f"""async (e, places) => {{
             const look = {look}, seen = [];
             for (const k of places) {{
               {act};
               {wait if drawn else ""}
               seen.push(look());
             }}
             return seen;
           }}""",
        places,
    )  # type: ignore[no-any-return]


def violations(page: Page) -> list[dict[str, Any]]:
    """What axe-core finds wrong in a page."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    # nothing is preloaded: that is for audio. What is right is a long list; it stays there.
    return page.evaluate(
        "axe.run({ resultTypes: ['violations'], preload: false }).then((found) => found.violations)"
    )  # type: ignore[no-any-return]


NETWORK = re.compile("^(?!file:|data:|blob:|about:)")


def elsewhere(context: BrowserContext, home: str) -> list[str]:
    """The addresses that are asked for, from now on, from anywhere but a server of the test's.

    Nothing is held up for it: a request that a test may answer comes here and back first, and is never met from a cache.
    """
    asked: list[str] = []

    def note(request: Request) -> None:
        if NETWORK.match(request.url) and not request.url.startswith(home):
            asked.append(request.url)

    context.on("request", note)
    return asked


class Tab:
    """A page without a network, and what went wrong in it since a test has it."""

    def __init__(self, browser: Browser, **context: Any) -> None:
        self.page: Page = browser.new_context(offline=True, **context).new_page()
        self.page.set_default_timeout(60_000)
        self._forget()
        self.page.on("pageerror", lambda error: self._note(self.errors, str(error)))
        self.page.on(
            "console", lambda said: said.type in ("error", "warning") and self.noted.append(said.text)
        )
        self.page.context.route(NETWORK, self._refuse)

    def _forget(self) -> None:
        self.errors: list[str] = []
        """Exceptions that nothing caught."""
        self.asked: list[str] = []
        """Addresses that were asked for from the network."""
        self.noted: list[str] = []
        """Both, and the console's errors and warnings."""

    def _note(self, where: list[str], what: str) -> None:
        where.append(what)
        self.noted.append(what)

    def _refuse(self, route: Route) -> None:
        self._note(self.asked, route.request.url)
        route.abort()

    def clear(
        self,
        size: tuple[int, int] = (1280, 800),
        *,
        color_scheme: Any = "light",
        reduced_motion: Any = "no-preference",
        forced_colors: Any = "none",
    ) -> Page:
        """Leave what was shown, with all that it remembers, and look like a new tab of this size."""
        if self.page.url.startswith("file:"):
            self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.mouse.move(0, 0)
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.emulate_media(
            media="null",
            color_scheme=color_scheme,
            reduced_motion=reduced_motion,
            forced_colors=forced_colors,
        )
        self._forget()  # in new lists: a test may keep the old ones
        return self.page


class Tabs:
    """Hands out the tabs of a browser, one for each set of options that only a new context can have."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.open: dict[str, Tab] = {}

    def get(
        self, size: tuple[int, int] = (1280, 800), *, context: dict[str, Any] | None = None, **media: Any
    ) -> Tab:
        """The tab, cleared. What an earlier call got with the same `context` is the same tab, and is shown no longer."""
        tab = self.open.get(repr(context)) or self.open.setdefault(
            repr(context), Tab(self.browser, **context or {})
        )
        tab.clear(size, **media)
        return tab

    def close(self) -> None:
        """Close all of them; new ones are made when they are asked for."""
        for tab in self.open.values():
            tab.page.context.close()
        self.open.clear()
