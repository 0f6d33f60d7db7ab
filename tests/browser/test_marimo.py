"""In marimo everything that `lab` shows is in the output of its cell: in `marimo edit`, and in `marimo run`, which shows nothing else."""

import os
import socket
import subprocess
import sys
import textwrap
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from autograd_lab import lab

FIRST = """
import autograd_lab as torch
from autograd_lab import lab
with lab.record() as trace:
    w = torch.tensor(3.0, requires_grad=True)
    x = torch.tensor(2.0)
    y = w * x
    loss = (y - 1) ** 2
    loss.backward(retain_graph=True)
def softmax(x):
    y = x.exp()
    y /= y.sum()
    return y
"""

CELLS = {
    "step": ("lab.step(trace)", "Nothing has run yet. Press Step to see the first of 30 events."),
    "step, a function": ("lab.step(lambda a: a**3, torch.tensor(2.0, requires_grad=True))", "[aria-label='Value of a']"),
    "check": ('lab.check("10.3", softmax)', "10.3: not right yet"),
    "check, unknown": ('lab.check("10.9", 1)', "10.9"),
    "hint": ('lab.hint("10.3")', "10.3, hint 1 of 3"),
    "reveal": ('if lab.reveal(..., 96.0, "04.c"):\n    pass', "Answer here, or put your answer"),
    "reveal, the last value": ("lab.reveal(48, 95.0)", "You said 48. It is 95."),
    "why": ("lab.why(x)", "Why is x.grad None?"),
    "draw": ("lab.draw(loss)", "img[alt^='Drawing(3 nodes, 1 leaf']"),
    "compare": ('lab.compare(trace, trace, ("this one", "that one"))', "that one"),
    "compare_static": ("lab.compare_static(lambda a: (a * a).sum(), w)", "Define by run"),
    "step_code": ("lab.step_code(softmax, x)", "[aria-label='Stepper of your code']"),
    "practice": ('lab.practice("04", seed=7)', "[aria-label='Practice 04']"),
    "progress": ("lab.progress()", "Start here"),
    "classroom": ('lab.classroom("M06")', "[aria-label='Question M06']"),
    "classroom, all": ("lab.classroom()", "what students may believe"),
    "source": ("lab.source(y)", "class MulBackward0(Rule):"),
    "expect": ('with lab.expect(ZeroDivisionError, "zero"):\n    1 / 0', "ZeroDivisionError: division by zero"),
    "graph": ("lab.graph(loss)", "MultiDiGraph"),
    "statement": ('lab.statement("04.1")', "In each graph"),
    "cost": ("lab.cost(trace)", "Saved values hold at most 4 bytes"),
    "narrate": ("lab.narrate(trace, 3)", "It makes the node MulBackward0"),
    "state": ("lab.state(trace, 3)", "State(k=3"),
    "wrong_order": ("lab.wrong_order(lambda: w * w)", "visit-once: a faulty engine"),
    "embed": ("lab.step(trace).embed()", "iframe[title^='Autograd stepper: 30 steps']"),
}  # fmt: skip
"""{what is shown: the cell, and a text or element of what it shows}"""

SHOWS_NOTHING = {
    "Trace",
    "Why",
    "engine_so_far",
    "fast",
    "level",
    "record",
    "record_torch",
    "save_html",
    "scope",
    "stand_in",
    "variant",
}
"""Names of `lab` that return or write something to be used elsewhere."""


def test_every_name_of_lab_is_here():
    assert {name.partition(",")[0] for name in CELLS} - {"embed"} | SHOWS_NOTHING == set(lab.__all__)


def app(cells: list[str]) -> str:
    bodies = [f"@app.cell\ndef _():\n{textwrap.indent(cell.strip(), '    ')}\n" for cell in cells]
    return "import marimo\n\napp = marimo.App()\n\n\n" + "\n\n".join(bodies)


class Servers:
    """One server for each way to open an app; both start at once."""

    def __init__(self, folder: Path) -> None:
        (folder / "marimo").mkdir()
        (folder / "marimo" / "marimo.toml").write_text(
            '[runtime]\nauto_instantiate = true\n[display]\ntheme = "dark"\n'
        )
        settings = {"XDG_CONFIG_HOME": str(folder), "XDG_STATE_HOME": str(folder), "MPLBACKEND": "Agg"}
        self.ends = ExitStack()
        self.urls = {}
        for way in ("run", "edit"):
            place = folder / way
            place.mkdir()
            (place / "app.py").write_text(app([FIRST, *(code for code, _ in CELLS.values())]))
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                port = free.getsockname()[1]
            command = [sys.executable, "-m", "marimo", way, "app.py", "--headless", "--no-token", "--port", str(port)]  # fmt: skip
            log = self.ends.enter_context((folder / f"{way}.log").open("w"))
            server = subprocess.Popen(
                command,
                cwd=place,
                env=os.environ | settings,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
            self.ends.callback(server.wait, 60)
            self.ends.callback(server.terminate)
            self.urls[way] = f"http://127.0.0.1:{port}"

    def wait(self, way: str) -> str:
        """Its address, once it answers."""
        deadline = time.monotonic() + 120
        while True:
            try:
                urllib.request.urlopen(f"{self.urls[way]}/health", timeout=10).close()
            except OSError:
                assert time.monotonic() < deadline, "marimo's server does not answer"
                time.sleep(0.1)
            else:
                return self.urls[way]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    made = Servers(tmp_path_factory.mktemp("marimo"))
    with made.ends:
        yield made


@pytest.fixture(scope="module", params=["run", "edit"])
def page(request: pytest.FixtureRequest, browser: Browser, servers: Servers) -> Iterator[Page]:
    """The app as a page: its column is narrow. marimo's theme is dark, the system's light."""
    context = browser.new_context(viewport={"width": 1000, "height": 900}, color_scheme="light")
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(servers.wait(request.param), wait_until="domcontentloaded")
    yield page
    context.close()
    assert errors == []


def shown(page: Page, what: str) -> Locator:
    """What a cell shows, in its output: not beside it, where a cell in the editor shows what is printed."""
    mark = CELLS[what][1]
    output = page.locator(".output-area")
    return (output.locator(mark) if "[" in mark else output.get_by_text(mark)).first


def test_it_is_in_the_output(page):
    for what in CELLS:
        expect(shown(page, what), what).to_be_visible()
    expect(page.get_by_text("ZeroDivisionError: division by zero")).to_have_count(1)


def test_the_stepper_steps(page):
    stage = page.get_by_role("group", name="Autograd stepper").first
    stage.get_by_role("button", name="Step", exact=True).click()
    expect(stage.get_by_role("status")).to_contain_text("w is a leaf")


def test_a_slider_moves_the_graph(page):
    shown(page, "step, a function").fill("25")
    stage = page.get_by_role("group", name="Autograd stepper").filter(has=page.get_by_label("Value of a"))
    expect(stage.locator(".agl-leaves tbody tr")).to_contain_text("3")
    stage.get_by_role("button", name="Nudge").click()
    expect(stage.locator(".agl-nudge")).to_contain_text("gradient 27")


def test_an_answer_can_be_clicked_in_the_card(page):
    card = page.locator(".agl-guess").first
    card.get_by_role("button", name="96").click()
    expect(card.get_by_role("status")).to_contain_text("You said 96, and it is 96.")


def test_python_sends_the_next_question(page):
    card = page.get_by_role("group", name="Practice 04")
    card.get_by_role("button", name="Show me").click()
    card.get_by_role("button", name="Next question").click()
    expect(card.get_by_text("0 of 1 right")).to_be_visible()


def test_the_failed_case_opens_below_the_verdict(page):
    page.get_by_text("Step through this case").click()
    expect(page.get_by_text("10.3: The values for (0, 1, 3)").first).to_be_visible()


CUT = """(stage) => [...stage.querySelectorAll("button, select, input")].filter((one) => {
  if (!one.checkVisibility()) return false;
  const its = one.getBoundingClientRect(), all = stage.getBoundingClientRect();
  if (its.left < all.left || its.right > all.right + 0.5) return true;
  if (one.tagName !== "SELECT") return false;
  const free = one.cloneNode(true);
  free.style.cssText = "position: absolute; flex: none; width: auto; min-width: 0; max-width: none";
  one.after(free);
  const wanted = free.getBoundingClientRect().width;
  free.remove();
  return its.width < wanted - 0.5;
}).map((one) => one.getAttribute("aria-label") ?? one.textContent)"""


def test_nothing_is_cut_in_the_narrow_column(page):
    """No control is outside, and each list has room for its longest entry."""
    for stage in page.locator(".agl").all():
        assert stage.evaluate(CUT) == []


def test_the_colors_are_those_of_marimos_theme(page):
    """Which may be another than the system's."""
    for part in (".agl-root", ".agl-guess"):
        for one in page.locator(part).all():
            assert one.evaluate("(one) => getComputedStyle(one).colorScheme") == "dark"
