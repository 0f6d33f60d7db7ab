"""A real Chromium for the tests in this folder.

It is looked for in $CHROMIUM, then on the PATH, then among Playwright's own downloads. On Debian and Ubuntu:

    apt-get install chromium-headless-shell fonts-dejavu-core libatomic1

The whole browser does as well: `apt-get install chromium`.

Without one the tests here are skipped, and say so; under CI they fail.
"""

import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import labserver
import pytest
from bare import Bare
from labserver import Lab
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tabs import Tab, Tabs

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))  # the samples

expect.set_options(
    timeout=60_000
)  # not Playwright's 5 s: what is waited for comes on a slow machine too, only later

HERE = Path(__file__).parent

NAMES = (
    "chromium-headless-shell", "chrome-headless-shell",  # a fifth less work than the whole browser without its window
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
)  # fmt: skip

# Parts of Chromium that no test needs. The switch counts once: the first lines are what Playwright switches off with it.
OFF = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "LensOverlay",
    "MediaRouter", "PaintHolding", "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "TcpPortRandomizationWin",
    "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",  # two pages for the address bar, loaded for every context: half of what it costs
    "SpareRendererForSitePerProcess",  # a process in store, in case a page wants one
)  # fmt: skip

FLAGS = [
    f"--disable-features={','.join(OFF)}",
    "--no-sandbox",  # containers run as root, where Chromium's sandbox cannot start
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    # what Chromium would ask the network for by itself, none of it ours:
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # the same text on every machine, for what is compared in screenshots:
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
]


def find_chromium(own: str) -> str | None:
    """Path of a Chromium; `own` is where Playwright would have put its download."""
    candidates = [os.environ.get("CHROMIUM"), *(shutil.which(name) for name in NAMES), own]
    return next((path for path in candidates if path and Path(path).exists()), None)


class Running:
    """What the tests of this folder share while they follow each other; and what ends it."""

    browser: Browser | None = None
    tabs: Tabs | None = None
    lab: Lab | None = None
    ends = ExitStack()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> Iterator[None]:
    """End it after the last test of this folder.

    While Playwright is open an event loop runs in this thread, and no other test could use `asyncio.run`.
    """
    try:
        return (yield)
    finally:
        if nextitem is None or not nextitem.path.is_relative_to(HERE):
            Running.browser = Running.tabs = Running.lab = None
            Running.ends.close()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """A headless Chromium. The fixture `tab` has a page in it; a context of one's own is for what that one cannot do."""
    if Running.browser is None:
        playwright = Running.ends.enter_context(sync_playwright())
        path = find_chromium(playwright.chromium.executable_path)
        if path is None:
            message = "no Chromium found: apt-get install chromium, or set CHROMIUM to its path"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=180_000)
        Running.ends.callback(chromium.close)
        Running.browser = chromium
    return Running.browser


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    """A running JupyterLab."""
    if Running.lab is None:
        Running.lab = Running.ends.enter_context(labserver.serve(tmp_path_factory.mktemp("lab")))
    return Running.lab


@pytest.fixture
def tab(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Tab]]:
    """Makes the tab that the tests share like a new one; at the end of the test nothing may have failed in it."""
    if Running.tabs is None:
        Running.tabs = Tabs(browser)
    noted: list[list[str]] = []
    failed = request.session.testsfailed

    def get(*args: Any, **options: Any) -> Tab:
        one = Running.tabs.get(*args, **options)
        noted.append(one.errors)
        return one

    yield get
    errors = [error for one in noted for error in one]
    if request.session.testsfailed > failed:
        Running.tabs.close()  # the next test does not begin where this one broke off
    assert not errors


@pytest.fixture
def visit(tab: Callable[..., Tab]) -> Callable[..., tuple[Page, list[str]]]:
    """Opens a page from disk, with the network cut off; beside it the list that its errors and requests are noted in."""

    def visit(path: Path, *args: Any, **options: Any) -> tuple[Page, list[str]]:
        one = tab(*args, **options)
        one.page.goto(path.as_uri())
        return one.page, one.noted

    return visit


@pytest.fixture
def bare(tab: Callable[..., Tab]) -> Callable[..., Bare]:
    """Makes a page without Jupyter for a widget."""
    return lambda size=(1280, 800), dark=False: Bare(tab(size).page, dark)
