"""The slider of an input, in real JupyterLab: values and gradients follow, and the page stays where it is."""

from __future__ import annotations

import json
import re

from labserver import Notebook, eventually
from playwright.sync_api import expect

CELL = """import time
import autograd_lab as torch
from autograd_lab import lab
runs, pause = [], [0.15]  # slower than a hand
def f(x, w):
    runs.append(x.item())
    if len(runs) > 1:
        time.sleep(pause[0])
    if x > 0:
        return x**3 * w
    return -x if x != -1 else 1 // 0
s = lab.step(f, torch.tensor(2.0, requires_grad=True, dtype=torch.float64), torch.tensor(1.0), position=11)
s"""

DRAG = """async (e) => {
  for (let i = 0; i < 50; i++) {
    e.value = 20 + (i % 19);
    e.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((done) => setTimeout(done, 4));
  }
  e.value = 30;
  for (const kind of ["input", "change"]) e.dispatchEvent(new Event(kind, { bubbles: true }));
}"""


def test_values_and_gradients_follow_the_slider(browser, lab):
    notebook = Notebook.open(browser, lab, [CELL])
    notebook.run()
    stage, page = notebook.stage, notebook.page
    slider, note = stage.get_by_role("slider", name="Value of x"), stage.locator(".agl-slide-note")
    expect(slider).to_have_attribute("aria-valuetext", "x = 2")
    expect(stage.get_by_label("Input of the slider").locator("option")).to_have_text(["x", "w"])
    # of 50 places only the newest is asked for when an answer has come, and the last one wins
    slider.evaluate(DRAG)
    expect(stage.locator(".agl-leaves tbody tr").first).to_contain_text("4")
    expect(slider).to_have_attribute("aria-valuetext", "x = 4")
    eventually(lambda: notebook.evaluate("print(runs[-1], s.inputs['x'].item())"), "4.0 4.0")
    assert int(notebook.evaluate("print(len(runs))")) <= 8
    expect(stage.locator(".agl-count")).to_have_text("11 / 27")
    expect(stage.locator(".agl-unit").first).to_contain_text("4")
    # where the numbers have room, only texts change: the same boxes are in the page
    slider.fill("29")
    expect(stage.locator(".agl-unit").first).to_contain_text("3.8")
    page.evaluate(
        "[window.box, window.slider] = ['.agl-unit', '.agl-slide input'].map((one) => document.querySelector(one))"
    )
    slider.fill("30")
    expect(stage.locator(".agl-unit").first).to_contain_text("4")
    assert page.evaluate("window.box === document.querySelector('.agl-unit')")

    # the nudge beside it
    notebook.evaluate("pause[0] = 0")
    assert "PowBackward0" in stage.locator(".agl-svg").text_content()
    stage.get_by_role("button", name="Nudge").click()
    nudge = stage.locator(".agl-nudge")
    expect(nudge).to_contain_text("gradient 48")
    expect(nudge).to_contain_text("/ h = 48.012001")
    expect(nudge).to_contain_text("difference 0.012")
    expect(nudge.locator("circle")).to_have_count(15)
    sizes = stage.get_by_role("slider", name="Size h of the nudge")
    sizes.focus()
    page.keyboard.press("Home")
    expect(sizes).to_have_attribute("aria-valuetext", re.compile("^h = 1e-15: quotient "))
    runs = notebook.evaluate("print(len(runs))")
    page.keyboard.press("ArrowRight")
    expect(sizes).to_have_attribute("aria-valuetext", re.compile("^h = 1e-14: quotient "))
    assert notebook.evaluate("print(len(runs))") == runs  # all sizes were measured
    expect(stage.locator(".agl-count")).to_have_text("11 / 27")  # the arrows are the slider's
    stage.get_by_role("button", name="Nudge").click()
    expect(nudge).to_be_hidden()

    # another branch: another graph, laid out anew around the slider, which keeps the focus
    slider.focus()
    page.keyboard.press("Home")
    expect(note).to_have_text(re.compile(r"^The program takes another path here: \d+ steps, not 27\.$"))
    expect(stage.locator(".agl-svg")).to_contain_text("NegBackward0")
    expect(slider).to_be_focused()
    assert page.evaluate("window.slider === document.activeElement")
    # where the function fails, the last picture stays
    slider.fill("5")
    expect(note).to_have_text(
        re.compile(
            r"^With this value the function raises ZeroDivisionError: .* The picture stays at x = -2\.$"
        )
    )
    expect(stage.locator(".agl-svg")).to_contain_text("NegBackward0")
    stage.get_by_role("button", name="Reset inputs").click()
    expect(slider).to_have_attribute("aria-valuetext", "x = 2")
    expect(note).to_have_text(re.compile("another path"))

    # while one is asked, it would tell
    stage.get_by_label("Mode").select_option("predict")
    expect(slider).to_be_hidden()
    expect(note).to_have_text("No slider in this mode: it would give the answers away.")
    stage.get_by_label("Mode").select_option("watch")
    expect(slider).to_be_visible()
    notebook.close()


def test_numbers_that_are_no_tensors_have_a_slider_too(browser, lab):
    code = """import autograd_lab as torch
from autograd_lab import lab
v = torch.tensor([3.0], requires_grad=True)
s = lab.step(lambda c, v: (c * v * v).sum(), 2.0, v, position=12)
s"""
    notebook = Notebook.open(browser, lab, [code], size=(1024, 700))
    notebook.run()
    stage, page = notebook.stage, notebook.page
    which, nudge = stage.get_by_label("Input of the slider"), stage.locator(".agl-nudge")
    expect(which.locator("option")).to_have_text(["v", "c"])  # first what wants a gradient
    slider = stage.get_by_role("slider", name="Value of v")
    expect(slider).to_have_attribute("aria-valuetext", "v = [3]")
    slider.fill("30")
    expect(slider).to_have_attribute("aria-valuetext", "v = [6]")
    expect(stage.locator(".agl-leaves tbody tr").first).to_contain_text("[6]")
    stage.get_by_role("button", name="Nudge").click()
    expect(nudge).to_contain_text("gradient 24")
    which.select_option("c")
    slider = stage.get_by_role("slider", name="Value of c")
    slider.fill("25")
    expect(slider).to_have_attribute("aria-valuetext", "c = 3")
    expect(nudge).to_contain_text("/ h = 36")
    expect(nudge).to_contain_text("no gradient: c is a plain number, not a tensor")
    assert notebook.evaluate("print(s.inputs['c'], s.inputs['v'].tolist())") == "3.0 [6.0]"
    stage.get_by_role("button", name="Reset inputs").click()
    expect(slider).to_have_attribute("aria-valuetext", "c = 2")
    expect(page.locator(".jp-OutputArea-output").first).not_to_contain_text("Traceback")
    notebook.close()


TRUE = """import autograd_lab as torch
from autograd_lab import lab
def f(x):
    y = x * x
    if x > 2:
        x.detach() + 1
    return y * 1
s = lab.step(f, torch.tensor(1.0, requires_grad=True, dtype=torch.float64)).last()
s"""

WATCH = """(stage) => {
  const text = (what) => stage.querySelector(what).textContent, cell = (i) => stage.querySelectorAll(".agl-leaves tbody td")[i].textContent;
  window.seen = new Set();
  const look = () => window.seen.add(JSON.stringify([text(".agl-slide-x > b:last-of-type"), cell(0), cell(1), text(".agl-svg .agl-val"), text(".agl-count")]));
  new MutationObserver(look).observe(stage, { subtree: true, childList: true, characterData: true });
  const frame = () => { look(); requestAnimationFrame(frame); };
  frame();
}"""


def test_what_is_shown_while_it_is_dragged_is_one_run(browser, lab):
    """The number beside the slider, the value of the leaf, its gradient and the picture belong together whenever one looks, on both paths."""
    notebook = Notebook.open(browser, lab, [TRUE])
    notebook.run()
    stage, page = notebook.stage, notebook.page
    slider, steps = stage.get_by_role("slider", name="Value of x"), {}
    expect(slider).to_have_attribute("aria-valuetext", "x = 1")
    slider.scroll_into_view_if_needed()
    stage.evaluate(WATCH)
    box = slider.bounding_box()
    y, left, wide = box["y"] + box["height"] / 2, box["x"] + 8, box["width"] - 16
    page.mouse.move(left + wide / 2, y)
    page.mouse.down()
    for i in range(120):
        page.mouse.move(left + wide * (0.5 + 0.5 * abs(i % 40 - 20) / 20), y)
        page.wait_for_timeout(15)
    page.mouse.move(left + wide * 0.75, y)
    page.mouse.up()
    expect(slider).to_have_attribute("aria-valuetext", "x = 2")
    seen = [json.loads(one) for one in page.evaluate("[...window.seen]")]
    values = {float(number) for number, *_ in seen}
    assert len(values) > 8
    assert min(values) < 2 < max(values)  # both paths
    for number, value, grad, drawn, count in seen:
        x = float(number)
        assert float(value.strip("\u270e")) == float(drawn) == x, seen
        assert grad == "None" or abs(float(grad) - 2 * x) < 1e-3, (
            seen
        )  # the same step of a longer path comes before its end
        assert steps.setdefault(x > 2, count.split(" / ")[1]) == count.split(" / ")[1]
    notebook.close()
