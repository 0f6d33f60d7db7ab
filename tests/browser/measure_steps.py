"""How long a step takes in Chromium, inside real JupyterLab: `python tests/browser/measure_steps.py [nodes ...]`.

Networks: `flat` (a number a tensor, no groups), `neurons` (the same with groups) and `blocks` (deep, arrays, groups); the
last two as they open and with all groups open. Times in milliseconds; `film` and `encode` are the kernel's, `seen` runs
from the running of the cell that shows the stepper to the first picture, kernel included; `paint` is the browser's part of
that, from the message's coming to the picture. Steps, half of them forward, half in the backward pass, some to and fro:
`work` is the script's own time with style and layout forced; `frame` is from the click to after the next painted frame,
which cannot be less than one frame of the screen (16.7 ms at 60 Hz); `idle` is such a frame with nothing to do.
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
  const stage = document.querySelector(".agl"), range = stage.querySelector(".agl-range");
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


FAMILIES = {
    "flat": "samples.big",
    "neurons": "networks.neurons",
    "neurons open": "networks.neurons",
    "blocks": "networks.blocks",
    "blocks open": "networks.blocks",
}
PREPARE = """import samples, networks, time
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.stepper import Stepper
from autograd_lab.widgets.wire import encode
t = {make}({nodes}); len(t)
a = time.perf_counter(); f = film(t); b = time.perf_counter(); encode(f); c = time.perf_counter()"""
SHOW = """async () => {
  window.jupyterapp.commands.execute("notebook:run-cell");
  const start = performance.now(), decode = DecompressionStream;
  let came = 0;
  window.DecompressionStream = function (...args) { came ||= performance.now(); return new decode(...args); };
  while (!document.querySelector(".agl .agl-units > *, .agl .agl-groups > *")) await new Promise(requestAnimationFrame);
  await new Promise(requestAnimationFrame);
  window.DecompressionStream = decode;
  return [performance.now() - start, performance.now() - came];
}"""


def main(sizes: list[int]) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium found: apt-get install chromium")
    print(
        f"{'network':<13}{'nodes':>6}{'events':>7}{'KB':>6}{'B/event':>8}{'film':>6}{'encode':>7}{'seen':>6}{'paint':>6}",
        "".join(f"{name + ' p50/p95':>16}" for name in ("work", "frame", "idle", "jump")),
        " elements",
    )
    folder = Path(tempfile.mkdtemp())
    with sync_playwright() as playwright, serve(folder) as lab:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for nodes, (family, make) in ((n, f) for n in sizes for f in FAMILIES.items()):
            code = [PREPARE.format(make=make, nodes=nodes), "s = Stepper(t)\ns"]
            notebook = Notebook.open(browser, lab, code, name=f"{family.replace(' ', '')}{nodes}.ipynb")
            numbers = "print(len(t.nodes), len(t), 1000 * (b - a), 1000 * (c - b), len(encode(f)))"
            notebook.page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")
            real, events, film, encode, size = map(float, notebook.evaluate(numbers).split())
            seen, paint = notebook.page.evaluate(SHOW)
            notebook.wait_for_stage()
            if family.endswith("open"):
                notebook.page.get_by_role("button", name="Open all groups").click()
            half = (
                notebook.page.evaluate(MEASURE, [events // 5, 60]),
                notebook.page.evaluate(MEASURE, [events * 3 // 5, 60]),
            )
            times = {key: half[0][key] + half[1][key] for key in ("work", "frame", "idle", "jump")}
            cells = [f"{quantile(times[key], 0.5):6.1f} / {quantile(times[key], 0.95):6.1f}" for key in times]
            print(
                f"{family:<13}{real:6.0f}{events:7.0f}{size / 1000:6.0f}{size / events:8.1f}{film:6.0f}{encode:7.0f}{seen:6.0f}{paint:6.0f}",
                f" {'  '.join(cells)}  {half[1]['elements']:8}",
                flush=True,
            )
            notebook.close()
        browser.close()


if __name__ == "__main__":
    main([int(arg) for arg in sys.argv[1:]] or [50, 500, 2000, 10000])
