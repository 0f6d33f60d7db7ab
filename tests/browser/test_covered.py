"""What stays in view while a page scrolls covers nothing that is needed: each notebook's first question, in windows of many sizes."""

from __future__ import annotations

import contextlib
import io
import linecache
import re
from pathlib import Path
from typing import Any

from bare import Bare

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.stepper import Stepper
from autograd_lab.widgets.wire import decode

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
SIZES = ((1440, 900), (1024, 700), (1280, 560), (853, 533), (720, 450), (480, 600))
QUESTION = ".agl-ask :is(label, input, button)"
COVERED = """async ([question, primary]) => {
  const stage = document.querySelector(".agl"), ask = stage.querySelector(".agl-ask");
  async function covered(names) {
    const found = [];
    document.body.style.padding = `${innerHeight}px 8px`;
    await new Promise((done) => setTimeout(done, 30)); // the stage takes its size
    const { top, height } = stage.getBoundingClientRect(), from = top + scrollY, parts = [...stage.querySelectorAll(names)];
    let met = 0;
    for (let y = from - innerHeight; y < from + height; y += 17) { // the stage comes up from below the window until it has gone
      scrollTo(0, y);
      for (const e of parts) {
        const box = e.getBoundingClientRect(), middle = (box.left + box.right) / 2;
        if (!box.height || box.top < 0 || box.bottom > innerHeight) continue; // it is scrolled to
        met++;
        for (const at of [box.top + 4, box.bottom - 4]) {
          const on = document.elementFromPoint(middle, at);
          if (!e.contains(on)) found.push([Math.round(from - y), e.textContent || e.className, on?.className]);
        }
      }
    }
    return [met, found];
  }
  [...ask.querySelectorAll("input, button")].find((e) => e.getClientRects().length).focus();
  const focused = await covered(`${question}, ${primary}`);
  document.activeElement.blur();
  const blurred = await covered(question);
  scrollTo(0, stage.getBoundingClientRect().top + scrollY - innerHeight / 3);
  return [focused, blurred, ask.getBoundingClientRect().bottom <= innerHeight];
}"""


def first_question(notebook: Path, monkeypatch: Any) -> Stepper:
    """The first stepper of a notebook that asks for predictions."""
    asked: list[Stepper] = []

    def step(*args: Any, **options: Any) -> Stepper:
        stepper = real(*args, **options)
        asked.extend([stepper] if options.get("predict") else [])
        return stepper

    real, names = lab.step, {"__name__": "__main__"}
    with monkeypatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        patch.setattr(lab, "step", step)
        for nr, cell in enumerate(re.split("^# %%", notebook.read_text("utf-8"), flags=re.M)[1:]):
            head, _, code = cell.partition("\n")
            if "[markdown]" not in head and not asked:
                exec(compile(code, f"{notebook.name}, cell {nr}", "exec"), names)
    return asked[0]


def test_nothing_covers_a_question(bare, monkeypatch):
    notebooks = [path for path in sorted(NOTEBOOKS.glob("*.py")) if "predict=" in path.read_text("utf-8")]
    assert len(notebooks) >= 12
    one = bare()
    for notebook in notebooks:
        page = one.show(first_question(notebook, monkeypatch))
        page.get_by_role("button", name="Last").click()
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            *both, seen = page.evaluate(COVERED, [QUESTION, ".agl-controls .agl-primary"])
            for (met, covered), focus in zip(both, (True, False), strict=True):
                assert met > 20
                assert covered == [], (notebook.name, width, height, focus)
            # else it stands at the top: with the stage's head in view, the question is
            assert seen or width <= 760


SEEN = """async (what) => {
  const svg = document.querySelector(".agl-svg"), missed = [];
  document.body.style.padding = `${innerHeight}px 8px`;
  await new Promise((done) => setTimeout(done, 30));
  const from = svg.getBoundingClientRect().top + scrollY;
  const box0 = svg.clientHeight;
  let met = 0;
  for (let y = from - innerHeight + 120; y < from + box0; y += 37) { // the picture comes up from below the window
    scrollTo(0, y);
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done))); // the page hears of it, and the camera moves, in this frame
    const box = svg.getBoundingClientRect(), end = Math.min(box.bottom, innerHeight, ...[...document.querySelectorAll(".agl-ask, .agl-controls")].map((e) => e.getBoundingClientRect()).filter((r) => r.height && r.bottom > box.top + 1).map((r) => r.top));
    const about = document.querySelector(what);
    const top = Math.max(box.top, 0);
    if (end - top < 70 || !about) continue;
    met++;
    const at = about.querySelector(".agl-node").getBoundingClientRect(), inside = at.top >= top && at.bottom <= end && at.left >= box.left && at.right <= box.right;
    if (!inside) missed.push([Math.round(y), Math.round(at.top), Math.round(at.bottom), Math.round(end)]);
  }
  return [met, missed];
}"""


def test_what_a_question_is_about_is_never_covered(tab, monkeypatch):
    """The camera goes out of the way, and the page stays where it is."""
    page, met = tab((1024, 700), reduced_motion="reduce").page, 0
    for name in ("04_backward_node_by_node.py", "06_what_the_graph_remembers.py"):
        stepper = first_question(NOTEBOOKS / name, monkeypatch)
        nodes = {q["ask"]: q["node"] for q in decode(stepper._quiz)["questions"] if q["type"] != "node"}
        units = [node["unit"] for node in film(stepper.trace)["nodes"]]
        Bare(page).show(stepper)
        page.get_by_role("button", name="Last").click()
        onward = page.get_by_role("button", name="Next question", exact=True)
        for _ in range(4):
            unit = units[node] if (node := nodes.get(page.locator(".agl-q").text_content(), -1)) >= 0 else -1
            for width, height in ((1440, 640), (1024, 560), (720, 450)) if unit >= 0 else ():
                page.set_viewport_size({"width": width, "height": height})
                found, missed = page.evaluate(SEEN, f"[data-thing='{unit}'] .agl-grad-fn")
                assert missed == [], (name, width, height, unit)
                met += found
            page.get_by_role("button", name="Show me", exact=True).click()
            if not onward.is_visible():
                break
            onward.click()
    assert met > 20, met


LOOP = """
def price(rate, years):
    total = torch.tensor(100.0)
    for _ in range(3):
        total = total * (1 + rate) ** years
    return torch.log(total) - torch.exp(-rate)
"""
ROOM = """() => {
  const of = (name) => document.querySelector(name).getBoundingClientRect(), cut = (e) => {
    const pen = document.createElement("canvas").getContext("2d"), style = getComputedStyle(e);
    pen.font = style.font;
    return pen.measureText(e.placeholder).width > e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  };
  return { controls: of(".agl-controls").height < 60, finder: of(".agl-bar").height < 40, term: of(".agl-rule .agl-term").bottom <= of(".agl-rule").bottom,
    placeholders: ![...document.querySelectorAll("input[placeholder]")].some((e) => e.getClientRects().length && cut(e)) };
}"""


def test_the_sliders_of_a_loop_leave_room_for_everything(bare):
    """In a small window of JupyterLab: the stage has 844 pixels there."""
    names: dict[str, Any] = {"torch": torch}
    linecache.cache["<loop>"] = len(LOOP), None, LOOP.splitlines(keepends=True), "<loop>"
    exec(compile(LOOP, "<loop>", "exec"), names)
    inputs = [torch.tensor(x, requires_grad=True, dtype=torch.float64) for x in (0.05, 2.0)]
    stepper = lab.step(names["price"], *inputs)
    page = bare().show(stepper.goto(60))
    for size in ((860, 700), (1024, 700), (1440, 900)):
        page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
        for _ in range(2):  # without the nudge, and with it
            assert page.evaluate(ROOM) == dict.fromkeys(
                ("controls", "finder", "term", "placeholders"), True
            ), size
            page.get_by_role("button", name="Nudge").click()
