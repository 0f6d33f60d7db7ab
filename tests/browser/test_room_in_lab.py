"""What has to be in view at once is, in a small window of JupyterLab with its sidebar open, and in front of a class."""

from __future__ import annotations

import pytest
from labserver import Notebook, eventually
from playwright.sync_api import expect

PROGRAM = """import autograd_lab as torch
from autograd_lab import lab
lab.level("{level}")
def run(cut=False):
    with lab.record() as trace:
        x = torch.tensor(3.0, requires_grad=True)
        a = x * x
        b = a.detach() if cut else a
        y = b * x + a
        y.backward()
    return trace"""
IN_VIEW = """(names) => names.map((name) => {
  const panel = document.querySelector(".jp-WindowedPanel-outer").getBoundingClientRect();
  const found = [...document.querySelectorAll(name)].filter((e) => e.checkVisibility()).map((e) => e.getBoundingClientRect());
  return found.length > 0 && found.every((box) => box.height > 20 && box.top >= panel.top - 2 && box.bottom <= Math.min(panel.bottom, innerHeight) + 2);
})"""


def open_(browser, lab, last, size, level="all"):
    notebook = Notebook.open(browser, lab, [PROGRAM.format(level=level), last], size=size)
    notebook.page.evaluate("window.jupyterapp.shell.expandLeft()")
    notebook.run()
    notebook.page.wait_for_selector(".agl .agl-primary", state="attached")
    notebook.page.evaluate("document.querySelector('.agl').scrollIntoView({ block: 'start' })")
    return notebook


def seen(notebook, *names):
    eventually(lambda: notebook.page.evaluate(IN_VIEW, list(names)), [True] * len(names), 20)


@pytest.mark.parametrize("level", ["simple", "all"])
def test_the_controls_are_in_view_with_the_sidebar_open(browser, lab, level):
    notebook = open_(browser, lab, "lab.step(run(), position=14)", (1024, 700), level)
    parts = [".agl-controls", ".agl-say", ".agl-graph"]
    seen(notebook, *parts, *([".agl-code"] if level == "simple" else []))
    if level == "all":  # further down, too: they stick to the window
        notebook.page.evaluate("document.querySelector('.agl-rule').scrollIntoView({ block: 'center' })")
        seen(notebook, ".agl-controls", ".agl-controls .agl-primary")
    notebook.page.evaluate("window.jupyterapp.shell.collapseLeft()")
    notebook.close()


def test_a_comparison_fits_a_laptop(browser, lab):
    notebook = open_(browser, lab, "lab.compare(run(), run(True))", (1440, 900))
    expect(notebook.page.locator(".agl-compare")).to_be_visible()
    seen(
        notebook,
        ".agl-compare .agl-frame",
        ".agl-half .agl-graph",
        ".agl-half .agl-code",
        ".agl-list",
        ".agl-compare .agl-primary",
    )
    lines = notebook.page.locator(".agl-half .agl-code").first.evaluate(
        "e => e.clientHeight / e.querySelector('.agl-line').offsetHeight"
    )
    assert lines > 3
    notebook.page.evaluate("window.jupyterapp.shell.collapseLeft()")
    notebook.close()


TWELVE_LINES = """%%step
w1 = torch.tensor([[0.4, -0.3], [0.1, 0.9]], requires_grad=True)
b1 = torch.tensor([0.1, -0.2], requires_grad=True)
w2 = torch.tensor([0.7, -0.2], requires_grad=True)
b2 = torch.tensor(0.05, requires_grad=True)
x = torch.tensor([0.5, -1.0])
target = torch.tensor(1.0)
z = x @ w1 + b1
h = torch.tanh(z)
y = (h * w2).sum() + b2
error = y - target
loss = error ** 2
loss.backward()
"""


@pytest.mark.parametrize(
    "cell", ["lab.step(run(), position=14)", TWELVE_LINES], ids=["short", "twelve lines"]
)
def test_the_presenter_shows_code_and_leaf_table_whole(browser, lab, cell):
    notebook = open_(browser, lab, cell, (1024, 768))
    if cell is TWELVE_LINES:  # with all leaves in the table
        notebook.stage.get_by_role("button", name="Last").click()
    notebook.stage.get_by_role("button", name="Present").click()
    notebook.page.wait_for_function("document.fullscreenElement")
    for pane in (".agl-code", ".agl-leaves"):
        whole = f"(() => {{ const e = document.querySelector('{pane}'); return e.clientHeight > 50 && e.scrollHeight <= e.clientHeight + 1 && e.scrollWidth <= e.clientWidth + 1; }})()"
        eventually(lambda whole=whole: notebook.page.evaluate(whole), True, 20)
    notebook.page.keyboard.press("Escape")
    notebook.page.evaluate("window.jupyterapp.shell.collapseLeft()")
    notebook.close()
