"""A real Chromium for the tests in this folder.

It is looked for in $CHROMIUM, then on the PATH, then among Playwright's own downloads. On Debian and Ubuntu:

    apt-get install chromium fonts-dejavu-core libatomic1

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
from playwright.sync_api import Browser, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))  # the samples

expect.set_options(
    timeout=60_000
)  # not Playwright's 5 s: what is waited for comes on a slow machine too, only later

HERE = Path(__file__).parent

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

FLAGS = [
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
            Running.browser = Running.lab = None
            Running.ends.close()


@pytest.fixture(scope="module")
def browser() -> Browser:
    """A headless Chromium; make a new context for each test."""
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
def bare(browser: Browser) -> Iterator[Callable[..., Bare]]:
    made: list[Bare] = []

    def make(**options: Any) -> Bare:
        made.append(Bare(browser, **options))
        return made[-1]

    yield make
    for one in made:
        errors = list(one.errors)
        one.context.close()
        assert not errors
