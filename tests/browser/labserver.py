"""A JupyterLab of the tests' own, and the few things a test does in it.

with serve(folder) as lab:                a server with settings of its own, no token, on a free port
    nb = Notebook.open(browser, lab, [cell, ...], theme="Dark")
    nb.run()                              runs all cells; waits for the kernel first (else Lab asks for one)
    nb.stage                              the stepper on the page
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
from playwright.sync_api import Browser, Locator, Page, expect

REPO = Path(__file__).resolve().parents[2]
SAMPLES = REPO / "tests" / "trace"
sys.path.insert(0, str(SAMPLES))


LIGHT = {"Light": "true", "Dark": "false"}

FORKING = """
import sys
if sys.platform == "linux":
    from jupyter_client.provisioning import local_provisioner
    from tests.kernels import launch, started
    local_provisioner.launch_kernel = launch
    started()
"""
"""The server's settings: its kernels are forked as those of other tests are, by a process that gets ready while the page loads."""

POLLED = 20  # ms between two looks: Playwright would look at every frame, and have the page draw one for it

AS_NEW = """
from ipywidgets import Widget
Widget.close_all()
get_ipython().reset(new_session=True)
"""
"""What makes a kernel forget a notebook. Its libraries stay imported, which saves the next one two seconds."""


@dataclass
class Lab:
    """A running server, and the pages (by host, see `Notebook.open`) and kernels that no test uses at the moment."""

    url: str
    folder: Path
    idle: dict[str, list[Page]] = field(default_factory=lambda: {"lab": [], "notebook": []})
    kernels: list[str] = field(default_factory=list)


@contextmanager
def serve(folder: Path) -> Iterator[Lab]:
    """Run a server over `folder` until the block ends; it serves JupyterLab, and Notebook 7 where that is installed."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    own = folder / ".jupyter"
    settings = own / "settings" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"fetchNews": "false", "checkForUpdates": False}))
    enabled = own / "config" / "jupyter_server_config.d"  # as an installation enables it
    enabled.mkdir(parents=True)
    shutil.copy(REPO / "autograd_lab" / "course" / "server_extension.json", enabled / "autograd_lab.json")
    (own / "config" / "jupyter_server_config.py").write_text(FORKING)
    work = folder / "work"
    work.mkdir()
    env = os.environ | {
        "JUPYTER_CONFIG_DIR": str(own / "config"),
        "JUPYTER_DATA_DIR": str(own / "data"),
        "JUPYTER_RUNTIME_DIR": str(own / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(own / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(own / "workspaces"),
        "IPYTHONDIR": str(own / "ipython"),
        "PYTHONPATH": os.pathsep.join([str(REPO), str(SAMPLES)]),
    }
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--expose-app-in-browser", "--allow-root",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--IdentityProvider.token=",
        f"--ServerApp.root_dir={work}", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(command, env=env, stdout=log, stderr=subprocess.STDOUT, cwd=work)
        try:
            _wait_for(url + "/api/status", server, folder / "server.log")
            yield Lab(url, work)
        finally:
            server.terminate()
            try:
                server.wait(10)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()


def _wait_for(url: str, server: subprocess.Popen, log: Path, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            raise RuntimeError(f"JupyterLab ended at once:\n{log.read_text()[-3000:]}")
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                answer.read()
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not answer within {seconds:.0f} s:\n{log.read_text()[-3000:]}")


def eventually(read: Callable[[], Any], wanted: Any, seconds: float = 60) -> None:
    """Read something until it is as wanted, for what happens a moment later: a move reaches the kernel, a window its size."""
    end = time.monotonic() + seconds
    while (got := read()) != wanted and time.monotonic() < end:
        time.sleep(0.05)
    assert got == wanted


class Notebook:
    """One notebook open in one page."""

    def __init__(self, page: Page, lab: Lab, path: Path) -> None:
        self.page, self.lab, self.path = page, lab, path
        self.host, self.reusable = "lab", True

    @classmethod
    def open(
        cls,
        browser: Browser,
        lab: Lab,
        cells: list[str],
        *,
        name: str = "",
        theme: str = "Light",
        size: tuple[int, int] = (1280, 800),
        host: str = "lab",
        **context: Any,
    ) -> Notebook:
        """Write a notebook of code cells, open it in a page of its own and wait until its kernel is idle.

        host: "lab" for JupyterLab, "notebook" for Notebook 7
        """
        path = lab.folder / (name or f"test{len(list(lab.folder.glob('*.ipynb')))}.ipynb")
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
        book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(book, path)
        return cls.open_file(
            browser, lab, path, theme=theme, size=size, host=host, new_kernel=False, **context
        )

    @classmethod
    def open_file(
        cls,
        browser: Browser,
        lab: Lab,
        path: Path,
        *,
        theme: str = "Light",
        size: tuple[int, int] = (1280, 800),
        host: str = "lab",
        new_kernel: bool = True,
        **context: Any,
    ) -> Notebook:
        """Open a notebook that lies in the lab's folder, in a page that another test has left: to load JupyterLab takes seconds.

        new_kernel: False also for a kernel that another test has left
        """
        reusable = context.keys() <= {"reduced_motion"}
        idle = [page for page in lab.idle[host] if not page.is_closed()] if reusable else []
        if idle:
            page = idle[0]
            lab.idle[host].remove(page)
            page.set_viewport_size({"width": size[0], "height": size[1]})
            page.emulate_media(reduced_motion=context.get("reduced_motion", "no-preference"))
        else:
            page = browser.new_context(viewport={"width": size[0], "height": size[1]}, **context).new_page()
            page.set_default_timeout(90_000)
        self = cls(page, lab, path)
        self.host, self.reusable = host, reusable
        beside = bool(idle) and host == "lab"
        if beside:
            kernel = lab.kernels.pop() if lab.kernels and not new_kernel else None
            page.evaluate(
                """async ({ path, kernel }) => {
                     const { shell, commands } = window.jupyterapp;
                     const opened = await commands.execute("docmanager:open", kernel ? { path, kernel: { id: kernel } } : { path });
                     for (const other of [...shell.widgets("main")]) if (other !== opened) other.dispose();
                     shell.activateById(opened.id);
                   }""",
                {"path": path.relative_to(lab.folder).as_posix(), "kernel": kernel},
            )
        else:
            place = {"lab": "lab/tree/{}?reset", "notebook": "notebooks/{}"}[host]
            page.goto(
                f"{lab.url}/{place.format(path.relative_to(lab.folder))}", wait_until="domcontentloaded"
            )
            page.wait_for_function(
                "window.jupyterapp?.shell?.currentWidget?.sessionContext", timeout=240_000, polling=POLLED
            )
            page.evaluate("window.jupyterapp.shell.collapseLeft?.()")
        if not beside or self.page.evaluate("document.body.dataset.jpThemeLight") != LIGHT[theme]:
            self.theme(theme)  # the server remembers the last one
        self._wait_for_kernel()
        if beside:
            self._wait_for_widgets()
        return self

    def _wait_for_kernel(self) -> None:
        self.page.wait_for_function(
            """() => { const s = window.jupyterapp.shell.currentWidget?.sessionContext;
                       return s?.isReady && s.session?.kernel?.status === "idle"; }""",
            timeout=240_000,
            polling=POLLED,
        )

    def _wait_for_widgets(self) -> None:
        """Until JupyterLab has asked a kernel that ran before for its widgets: it would miss those made meanwhile."""
        self.page.wait_for_function(
            """async () => {
                 const { rendermime } = window.jupyterapp.shell.currentWidget.content;
                 const renderer = rendermime.createRenderer("application/vnd.jupyter.widget-view+json");
                 const manager = await renderer._manager.promise;
                 renderer.dispose();
                 return manager.restoredStatus && manager.kernel?.handleComms;
               }""",
            timeout=240_000,
            polling=POLLED,
        )

    def run(self) -> None:
        """Run all cells and wait until the kernel is idle again."""
        self.page.evaluate("window.jupyterapp.commands.execute('notebook:run-all-cells')")
        self.page.wait_for_function(
            """() => { const w = window.jupyterapp.shell.currentWidget, c = w.content.widgets;
                       return w.sessionContext.session.kernel.status === "idle"
                         && c.filter((x) => x.model.type === "code" && x.model.sharedModel.getSource())
                             .every((x) => x.model.executionCount); }""",
            timeout=240_000,
            polling=POLLED,
        )

    def theme(self, name: str) -> None:
        """Change JupyterLab's theme to "Light" or "Dark"."""
        self.page.evaluate(
            f"window.jupyterapp.commands.execute('apputils:change-theme', {{theme: 'JupyterLab {name}'}})"
        )
        self.page.wait_for_selector(f"body[data-jp-theme-light={LIGHT[name]}]", state="attached")

    def evaluate(self, code: str) -> str:
        """Run code in the notebook's kernel and return what it prints."""
        return self.page.evaluate(
            """async (code) => {
                 const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
                 const future = kernel.requestExecute({code, store_history: false});
                 let out = "";
                 future.onIOPub = (m) => {
                   if (m.header.msg_type === "stream") out += m.content.text;
                   if (m.header.msg_type === "error") out += m.content.traceback.join("\\n");
                 };
                 await future.done;
                 return out.trim();
               }""",
            code,
        )

    @property
    def stage(self) -> Locator:
        """The first stepper on the page."""
        return self.page.get_by_role("group", name="Autograd stepper").first

    def button(self, name: str) -> Locator:
        """A button of the stepper, by its whole accessible name."""
        return self.stage.get_by_role("button", name=name, exact=True)

    @property
    def narration(self) -> str:
        """The sentence on screen."""
        return self.stage.get_by_role("status").inner_text()

    def cells(self) -> int:
        """How many cells the notebook has."""
        return int(self.page.evaluate("window.jupyterapp.shell.currentWidget.content.widgets.length"))

    def wait_for_stage(self) -> None:
        """Until the stepper is drawn."""
        expect(self.stage).to_be_visible()
        expect(self.stage.get_by_role("status")).not_to_be_empty()

    def close(self) -> None:
        """Close the notebook; in a page and a kernel that serve the next one, nothing of ours may be left."""
        if not self.reusable:
            self._shut_down()
            self.page.context.close()
            return
        kernel = self.page.evaluate(
            "window.jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.id"
        )
        wanted = self.host == "lab" and self.path.parent == self.lab.folder and not self.lab.kernels
        if wanted and kernel and not self.evaluate(AS_NEW):
            self.lab.kernels.append(kernel)
        else:  # it has been shut down, or has something to say of what a test left, such as a task that was interrupted
            self._shut_down()
        if self.host == "lab":
            self.page.evaluate(
                """async (elsewhere) => {
                     const { shell, commands } = window.jupyterapp;
                     for (const w of [...shell.widgets("main")]) w.dispose();
                     // the list of files follows the notebook, and would complain when a test removes the folder
                     if (elsewhere) await commands.execute("filebrowser:go-to-path", { path: "/", dontShowBrowser: true });
                   }""",
                self.path.parent != self.lab.folder,
            )
            expect(self.page.locator(".agl")).to_have_count(0)
        else:  # the next one loads its page anyway, and this one would be busy until then
            self.page.goto("about:blank")
        self.lab.idle[self.host].append(self.page)

    def _shut_down(self) -> None:
        self.page.evaluate("window.jupyterapp.shell.currentWidget?.sessionContext?.shutdown()")
