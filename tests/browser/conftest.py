"""A real Chromium for the tests in this folder.

It is looked for in $CHROMIUM, then on the PATH, then among Playwright's own downloads. On Debian and Ubuntu:

    apt-get install chromium fonts-dejavu-core libatomic1

Without one the tests here are skipped, and say so; under CI they fail.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "trace"))  # the samples

expect.set_options(
    timeout=60_000
)  # not Playwright's 5 s: what is waited for comes on a slow machine too, only later

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


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A headless Chromium, one for a file of tests; make a new context for each test.

    Not one for the whole run: while Playwright is open an event loop runs in this thread, and no other test could
    use `asyncio.run`.
    """
    with sync_playwright() as playwright:
        path = find_chromium(playwright.chromium.executable_path)
        if path is None:
            message = "no Chromium found: apt-get install chromium, or set CHROMIUM to its path"
            if os.environ.get("CI"):
                pytest.fail(message)
            pytest.skip(message)
        chromium = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=180_000)
        yield chromium
        chromium.close()
