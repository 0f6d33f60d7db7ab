"""How long a step takes in Chromium, inside real JupyterLab: `python tests/browser/measure_steps.py [nodes ...]`.

Two times in milliseconds per step, half of the steps forward, half in the backward pass, some to and fro:
`work` is the script's own time with style and layout forced; `frame` is from the click to after the next painted
frame, which cannot be less than one frame of the screen (16.7 ms at 60 Hz).
"""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from labserver import Notebook, serve
from playwright.sync_api import sync_playwright

MEASURE = """async ([from, steps]) => {
  const stage = document.querySelector(".agl"), range = stage.querySelector("input[type=range]");
  const button = (name) => stage.querySelector(`button[aria-label="${name}"]`);
  const painted = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
  range.value = from;
  range.dispatchEvent(new Event("input"));
  await new Promise((r) => setTimeout(r, 400));
  const work = [], frame = [], idle = [];
  for (let i = 0; i < steps; i++) {
    await new Promise((r) => setTimeout(r, 30));
    await painted();
    let start = performance.now();
    await painted();
    idle.push(performance.now() - start);
    start = performance.now();
    button(i % 5 === 4 ? "Step back" : "Step").click();
    stage.getBoundingClientRect();
    work.push(performance.now() - start);
    await painted();
    frame.push(performance.now() - start);
  }
  const jump = [];
  for (let i = 0; i < 12; i++) {
    await painted();
    const start = performance.now();
    range.value = Math.floor(Number(range.max) * ((i * 0.381966) % 1));
    range.dispatchEvent(new Event("input"));
    await painted();
    jump.push(performance.now() - start);
  }
  return { work, frame, idle, jump, elements: stage.querySelectorAll("*").length };
}"""


def quantile(times: list[float], q: float) -> float:
    return statistics.quantiles(times, n=100, method="inclusive")[round(q * 100) - 1]


def main(sizes: list[int]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium found: apt-get install chromium")
    heads = ["nodes", "  events", " film KB", "  run->seen"]
    print(
        " ".join(heads),
        "".join(f"{name + ' p50/p95':>17}" for name in ("work", "frame", "idle", "jump")),
        " elements",
    )
    folder = Path(tempfile.mkdtemp())
    with sync_playwright() as playwright, serve(folder) as lab:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for nodes in sizes:
            code = [
                f"import samples, time\nfrom autograd_lab.widgets import step\nt = samples.big({nodes})",
                "s = step(t)\ns",
            ]
            notebook = Notebook.open(browser, lab, code, name=f"{nodes}.ipynb")
            seen = notebook.page.evaluate(
                """async () => {
                     const cell = window.jupyterapp.commands;
                     cell.execute("notebook:run-all-cells");
                     const start = performance.now();
                     while (!document.querySelector(".agl")) await new Promise(requestAnimationFrame);
                     return performance.now() - start;
                   }"""
            )
            notebook.wait_for_stage()
            events = int(notebook.evaluate("print(len(t))"))
            size = int(notebook.evaluate("print(len(s._film))")) / 1000
            half = (
                notebook.page.evaluate(MEASURE, [events // 5, 60]),
                notebook.page.evaluate(MEASURE, [events * 3 // 5, 60]),
            )
            times = {key: half[0][key] + half[1][key] for key in ("work", "frame", "idle", "jump")}
            cells = [f"{quantile(times[key], 0.5):6.1f} / {quantile(times[key], 0.95):5.1f}" for key in times]
            print(
                f"{nodes:5} {events:8} {size:8.0f} {seen:8.0f} ms  {'  '.join(cells)}  {half[1]['elements']:8}",
                flush=True,
            )
            notebook.close()
        browser.close()


if __name__ == "__main__":
    main([int(arg) for arg in sys.argv[1:]] or [50, 500, 2000])
