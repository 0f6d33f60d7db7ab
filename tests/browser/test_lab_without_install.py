"""The site's lab, JupyterLite, in Chromium: the course in a page, from an address below others, with no network but this machine.

Needs Pyodide (tests/webassembly/pyodide.txt), and JupyterLite of the version that goes with it (`.ci/run` installs both).
"""

import importlib.util
import io
import json
import os
import re
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Browser, Page, expect
from ran import bytecode
from tabs import elsewhere

from autograd_lab.site import build, lab, pyodide

ROOT = Path(__file__).parents[2]
PYODIDE = os.environ.get("PYODIDE_FOLDER")
LACKING = [name for name in lab.NEEDED if importlib.util.find_spec(name) is None]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,  # a minute: the lab is put together, and Python starts in it twice
    pytest.mark.skipif(
        PYODIDE is None,
        reason="needs Pyodide: set PYODIDE_FOLDER to it; tests/webassembly/pyodide.txt says where to get it",
    ),
    pytest.mark.skipif(bool(LACKING), reason=f"needs {', '.join(LACKING)}: pip install 'jupyterlite-core==0.6.4' 'jupyterlite-pyodide-kernel==0.6.1'"),
]  # fmt: skip

READY = """() => { const s = window.jupyterapp?.shell.currentWidget?.sessionContext;
                   return s?.isReady && s.session?.kernel?.status === "idle"; }"""

STILL = """addEventListener("DOMContentLoaded", () => document.head.append(Object.assign(document.createElement("style"),
    { textContent: ".jp-KernelStatus-spinner { animation: none !important }" })))"""
"""What JupyterLab turns while Python starts would be drawn all that time, which Python needs."""


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """The address of a site with the lab alone."""
    folder = tmp_path_factory.mktemp("host")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "PARTS", {lab.HOME: build.PARTS[lab.HOME]})
        patch.setattr(pyodide, "TIGHT", 1)
        patch.setattr(
            pyodide.Pyodide,
            "_bytecode",
            lambda self, files: bytecode(self, files) if "autograd_lab/__init__.py" in files else {},
        )  # for the rest of the course it takes as long as two starts without it
        assert build.main([str(folder / "some/where"), "--root", str(ROOT), "--pyodide", PYODIDE]) == 0
    settings = folder / "some/where/lab/jupyter-lite.json"
    content = json.loads(settings.read_text("utf-8"))
    content["jupyter-config-data"]["exposeAppInBrowser"] = True  # for these tests
    settings.write_text(json.dumps(content), "utf-8")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/some/where/lab/"
        server.shutdown()


@pytest.fixture
def visitor(browser: Browser, address):
    """A function that opens a page as somebody who was never here."""
    contexts, asked, errors = [], [], []

    def visit() -> Page:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        contexts.append(context)
        asked.append(elsewhere(context, address.partition("some/")[0]))
        context.add_init_script(STILL)
        page = context.new_page()
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [url for one in asked for url in one] == []
    assert errors == []


def answered(page: Page, script: str, given: object = None) -> object:
    """What a function in the page gives, which may take four minutes; Playwright itself would wait for ever."""
    late = "new Promise((_, fail) => setTimeout(() => fail(new Error('no answer in 4 minutes')), 240000))"
    return page.evaluate(f"(given) => Promise.race([({script})(given), {late}])", given)


def run(page: Page, *sources: str) -> list[str]:
    """Put cells below all others, run them, and give the text of what each one shows; an error is its name and its traceback."""
    return answered(
        page,
        """async (sources) => {
             const { commands, shell } = window.jupyterapp, { content, sessionContext } = shell.currentWidget, shown = [];
             for (const source of sources) {
               content.activeCellIndex = content.widgets.length - 1;
               await commands.execute("notebook:insert-cell-below");
               content.activeCell.model.sharedModel.setSource(source);
               await commands.execute("notebook:run-cell");
               shown.push(content.activeCell.model.outputs.toJSON().map((o) =>
                 [o.ename, o.traceback?.join("\\n"), o.text, o.data?.["text/plain"]].flat().filter(Boolean).join("\\n")).join("\\n"));
             }
             return shown;
           }""",
        sources,
    )  # fmt: skip


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def saved(page: Page) -> None:
    answered(page, "() => window.jupyterapp.commands.execute('docmanager:save-all')")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty", polling=50)


def download(page: Page) -> bytes:
    with page.expect_download() as begun:
        page.get_by_role("button", name="Download my work").click()
    assert re.fullmatch(r"autograd-lab-work-\d{4}-\d\d-\d\d\.zip", begun.value.suggested_filename)
    return begun.value.path().read_bytes()


def upload(page: Page, data: bytes, name: str = "work.zip") -> None:
    with page.expect_file_chooser() as asked:
        page.get_by_role("button", name="Upload work").click()
    asked.value.set_files([{"name": name, "mimeType": "application/zip", "buffer": data}])


def dialog(page: Page, title: str, button: str) -> str:
    """The text of a dialog, which is then answered."""
    expect(page.locator(".jp-Dialog-header", has_text=title)).to_be_visible()
    said = page.locator(".jp-Dialog-body").inner_text()
    page.locator(".jp-Dialog button", has_text=button).click()
    # not that there is no dialog at all: the next may be there at once
    expect(page.locator(".jp-Dialog-header", has_text=title)).to_have_count(0)
    return said


def unpacked(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def archived(files: dict[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def book(source: str) -> bytes:
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])).encode()


COURSE = {
    "lab.check('04.3', [*'DBAECF'])": "04.3: passed",
    "lab.check('04.3', [*'DAECFB'])": "04.3: not right yet",
    "%%step\nu = torch.tensor(2.0, requires_grad=True)\n(u * u).backward()": "",
    "lab.draw(u * 3)": "MulBackward0",
    "v = u * 3\nlab.why(v)": "retain_grad",
    "lab.practice('06', seed=2)": "Practice 06",
    "lab.step(lambda x: x * x + x, u)": "Stepper",
    "lab.reveal(..., 96.0, '04.c')": "",
}
"""What a student runs, and what is shown for it; a stepper and a card are the last."""

NOT_HERE = {
    "!ls": "a browser has none",
    "%pip install torch": "installs nothing",
    "import torch": "import autograd_lab as torch",
    "import subprocess\nsubprocess.run(['ls'])": "starts no other programs",
    "import threading\nthreading.Thread(target=print).start()": "no threads in a browser",
    "from multiprocessing import Pool\nPool(2)": "starts no other",
    "from urllib.request import urlopen\nurlopen('https://example.org')": "opens no address",
}
"""What a browser cannot do, and a part of what is said."""


def test_a_student_works_leaves_and_comes_back(visitor, address):
    page = visitor()
    page.goto(address)
    page.get_by_label("Theme").select_option("Dark")
    page.get_by_role("link", name="Open the lab").click()
    told = page.locator(".autograd-lab-bar").get_by_role("status")
    expect(told).to_contain_text("Python starts in this browser")
    expect(page.locator(".lm-DockPanel .lm-TabBar-tab.jp-mod-current")).to_have_text("00_start_here.ipynb")
    page.wait_for_function(READY, polling=200)
    expect(told).to_be_empty()
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "false")
    light = "() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Light' })"
    answered(page, light)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true")
    assert page.locator(".jp-mod-dirty").count() == 0
    page.get_by_role("button", name="Download my work").click()
    dialog(page, "Nothing to download yet", "Ok")

    answered(page, "() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    shown = page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.widgets.flatMap((c) => c.model.outputs?.toJSON() ?? [])"
    )
    assert [o for o in shown if o["output_type"] == "error" or o.get("name") == "stderr"] == []
    assert sum("image/png" in o.get("data", {}) for o in shown) == 2, "matplotlib draws"
    texts = dict(zip(COURSE, run(page, *COURSE), strict=True))
    assert {
        source: text for source, text in texts.items() if COURSE[source] not in text or "Traceback" in text
    } == {}

    stage = page.get_by_role("group", name="Autograd stepper").last
    before = stage.get_by_role("status").inner_text()
    stage.get_by_role("button", name="Step", exact=True).click()
    expect(stage.get_by_role("status")).not_to_have_text(before)
    card = page.locator(".agl-guess").last
    card.get_by_role("button", name="48").click()
    expect(card.get_by_role("status")).to_contain_text("You said 48. It is 96.")

    practice = page.get_by_role("group", name="Practice 06")
    practice.get_by_role("button", name="Show me").click()
    practice.get_by_role("button", name="Next question").click()  # Python, in this page, makes it
    expect(practice.get_by_text("0 of 1 right")).to_be_visible()

    texts = dict(zip(NOT_HERE, map(plain, run(page, *NOT_HERE)), strict=True))
    assert {source: text for source, text in texts.items() if NOT_HERE[source] not in text} == {}

    saved(page)
    page.reload()
    page.wait_for_function(READY, polling=200)
    # what was chosen in the lab stays
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", "true")
    assert "1 of " in run(page, "from autograd_lab import lab\nlab.progress()")[0]
    run(page, "open('mine.txt', 'w').write('notes')")
    data = download(page)
    files = unpacked(data)
    assert [*files] == [".autograd_lab/progress.json", "notebooks/00_start_here.ipynb", "notebooks/mine.txt"]
    assert files["notebooks/mine.txt"] == b"notes"
    assert "".join(json.loads(files["notebooks/00_start_here.ipynb"])["cells"][-1]["source"]).startswith(
        "open("
    )
    page.context.close()

    other = visitor()
    other.goto(address + "?path=exercises/README.md")
    expect(other.locator(".lm-DockPanel .lm-TabBar-tab.jp-mod-current")).to_have_text("README.md")
    upload(other, b"no archive")
    assert "It is no zip archive" in dialog(other, "was not uploaded", "Ok")
    upload(other, data)
    assert "3 files written" in dialog(other, "was uploaded", "Ok")
    assert unpacked(download(other)) == unpacked(data)
    upload(other, data)
    assert "3 files already here" in dialog(other, "was uploaded", "Ok")

    changed = archived(
        {
            "handed/notebooks/00_start_here.ipynb": book("1 + 1"),
            "handed/notebooks/mine.txt": b"other notes",
            "handed/data.v1/Makefile": bytes(range(256)),
        }
    )
    upload(other, changed)
    assert "notebooks/mine.txt" in dialog(other, "2 files are different here", "Cancel")
    assert unpacked(download(other)) == unpacked(data)
    upload(other, changed)
    dialog(other, "2 files are different here", "Keep both")
    dialog(other, "was uploaded", "Ok")
    both = unpacked(download(other))
    assert both["notebooks/mine (uploaded).txt"] == b"other notes"
    assert both["data.v1/Makefile"] == bytes(range(256))
    assert both.items() >= unpacked(data).items()
    assert len(both) == 6
    assert other.locator(".lm-DockPanel .lm-TabBar-tab").count() == 1, "nothing else was opened"
    upload(other, changed)
    dialog(other, "2 files are different here", "Replace")
    dialog(other, "was uploaded", "Ok")
    assert unpacked(download(other))["notebooks/mine.txt"] == b"other notes"
