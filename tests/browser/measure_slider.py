"""How often the slider of an input updates in Chromium, inside real JupyterLab: `python tests/browser/measure_slider.py [program ...]`.

The mouse drags the slider to and fro for some seconds. `per second` are the updates that reached the leaf table, the rest is what one
of them costs: `kernel`, `server` and `page` in milliseconds of CPU time (`page` is the thread that runs scripts, styles, layout and
paint; `script` and `layout` are parts of it), `kB` what comes from the kernel. Each program has 30 nodes and is shown at its end and in the
middle of its backward pass.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from labserver import Notebook, serve
from playwright.sync_api import sync_playwright

PROGRAMS = {
    "chain": """
def f(x):
    for _ in range(14):
        x = torch.tanh(x) * 1.5
    return x * 1.0
""",
    "net": """
def f(x):
    torch.manual_seed(0)
    y = 0 * x
    for _ in range(5):
        w = torch.rand(3, dtype=torch.float64, requires_grad=True)
        y = y + torch.tanh(w * x).sum()
    return (y - x) ** 2 * 1.0
""",
}
CELL = """import os, time, autograd_lab as torch
from autograd_lab import lab
{program}
s = lab.step(f, torch.tensor(0.7, requires_grad=True, dtype=torch.float64))
s.goto({at})
"""
COUNT = """(pane) => {
  window.seen = 0;
  let was = pane.textContent;
  window.counting?.disconnect();
  window.counting = new MutationObserver(() => { const now = pane.textContent; if (now !== was) window.seen++; was = now; });
  window.counting.observe(pane, { childList: true, characterData: true, subtree: true });
}"""
SECONDS = 4.0
COLUMNS = ("kernel", "server", "page", "script", "layout")


def ticks(pid: int) -> float:
    """CPU time of a process and its threads, in milliseconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drag(page, slider) -> float:
    """Drag with the mouse for some seconds; how long it took."""
    box = slider.bounding_box()
    y, left, wide = box["y"] + box["height"] / 2, box["x"] + 8, box["width"] - 16
    page.mouse.move(left + wide / 2, y)
    page.mouse.down()
    begun, i = time.monotonic(), 0
    while time.monotonic() < begun + SECONDS:
        i += 1
        turn = (i / 40) % 2
        page.mouse.move(left + wide * (turn if turn < 1 else 2 - turn), y)
        # A mouse tells of a move once a frame; the page may have taken longer over the last one.
        time.sleep(max(0.0, begun + i / 60 - time.monotonic()))
    took = time.monotonic() - begun
    page.mouse.up()
    return took


class Costs:
    """What a notebook's kernel, server and page have spent, in milliseconds, and the bytes that came."""

    def __init__(self, notebook: Notebook) -> None:
        self.tell = notebook.page.context.new_cdp_session(notebook.page)
        self.tell.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.tell.send("Network.enable")
        self.tell.on("Network.webSocketFrameReceived", self.came)
        self.bytes = 0
        self.kernel, self.server = map(int, notebook.evaluate("print(os.getpid(), os.getppid())").split())

    def came(self, event) -> None:
        self.bytes += len(event["response"]["payloadData"])

    def now(self) -> dict[str, float]:
        found = {m["name"]: 1000 * m["value"] for m in self.tell.send("Performance.getMetrics")["metrics"]}
        layout = found["LayoutDuration"] + found["RecalcStyleDuration"]
        spent = (
            ticks(self.kernel),
            ticks(self.server),
            found["TaskDuration"],
            found["ScriptDuration"],
            layout,
        )
        return dict(zip(COLUMNS, spent, strict=True)) | {"kB": self.bytes / 1000}


def measure(notebook: Notebook, name: str) -> None:
    """Drag without and with the nudge, and print a line for each."""
    page, stage, costs = notebook.page, notebook.stage, Costs(notebook)
    numbers = notebook.evaluate("print(len(s.trace.nodes), len(s.trace), s.position)").split()
    slider = stage.get_by_role("slider", name="Value of x")
    slider.scroll_into_view_if_needed()
    for nudge in ("no", "yes"):
        if nudge == "yes":
            stage.get_by_role("button", name="Nudge").click()
            page.wait_for_timeout(500)
        stage.locator(".agl-leaves").evaluate(COUNT)
        before = costs.now()
        took = drag(page, slider)
        page.wait_for_timeout(300)
        after, seen = costs.now(), page.evaluate("window.seen")
        each = "".join(f"{(after[key] - before[key]) / max(seen, 1):>8.1f}" for key in after)
        print(
            f"{name:<8}{''.join(f'{x:>7}' for x in numbers)}{nudge:>7}{seen / took:>12.1f}{each}", flush=True
        )


def main(wanted: list[str]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium found: apt-get install chromium")
    heads = "".join(f"{key:>8}" for key in (*COLUMNS, "kB"))
    print(f"{'program':<8}{'nodes':>7}{'events':>7}{'at':>7}{'nudge':>7}{'per second':>12}{heads}")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright, serve(Path(folder)) as lab:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for name in wanted or PROGRAMS:
            for at in ("len(s.trace)", "int(0.7 * len(s.trace))"):
                notebook = Notebook.open(browser, lab, [CELL.format(program=PROGRAMS[name], at=at)])
                notebook.run()
                notebook.wait_for_stage()
                measure(notebook, name)
                notebook.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
