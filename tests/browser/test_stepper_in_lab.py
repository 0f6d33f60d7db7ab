"""The stepper in real JupyterLab: what is on screen is what the trace says, whichever way one moves."""

from __future__ import annotations

import json
import re

import pytest
import samples
from labserver import Lab, Notebook, eventually
from playwright.sync_api import Browser, expect
from tabs import scrub, walk

from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.rules import number
from autograd_lab.widgets.engine_source import listing, rows

HAND_MADE = "import samples\nfrom autograd_lab.widgets import step\ns = step(samples.{}())\ns"
REAL = """import numpy as np
import autograd_lab as torch
from autograd_lab import lab
rng = np.random.default_rng(0)
x = torch.tensor(rng.normal(size=(4, 3)))
w1 = torch.tensor(rng.normal(size=(3, 5)), requires_grad=True)
w2 = torch.tensor(rng.normal(size=(5, 2)), requires_grad=True)
with lab.record(title="two layers") as trace:
    h = (x @ w1).tanh()
    loss = ((h @ w2) ** 2).mean()
    loss.backward()
s = lab.step(trace)
s"""

SCREEN = """() => {
  const stage = document.querySelector(".agl");
  const all = (selector) => [...stage.querySelectorAll(selector)];
  const text = (selector) => all(selector).map((e) => e.textContent);
  const row = (r) => [r.children[0].textContent, r.children[2].textContent];
  return {
    narration: stage.querySelector("[role=status]").textContent,
    count: stage.querySelector(".agl-count").textContent,
    nodes: text(".agl-grad-fn:not([data-s~=ghost]) .agl-label:not(.agl-plus)").sort(),
    accumulators: text(".agl-grad-fn:not([data-s~=ghost]) .agl-plus").length,
    gradients: all(".agl-pill").filter((e) => e.style.display !== "none").map((e) => e.textContent).sort(),
    values: text(".agl-tensor .agl-val").filter(Boolean).sort(),
    leaves: Object.fromEntries(all(".agl-leaves tbody tr").map(row)),
    line: text(".agl-line[data-lit=now] code")[0] ?? null,
  };
}"""


def show(browser: Browser, lab: Lab, code: str, **options) -> Notebook:
    notebook = Notebook.open(browser, lab, [code], **options)
    notebook.run()
    notebook.wait_for_stage()
    return notebook


def expected(trace: Trace, k: int) -> dict:
    """What the screen must show after k events of a trace whose values are scalars."""
    now, names = state(trace, k), Narrator(trace).nodes

    def text(v):
        return "None" if v is None else number(trace.values[v]["data"])

    made = [n for n in now.nodes if trace.nodes[n]["kind"] != "accumulate"]
    line = trace.sources[now.line[0]]["lines"][str(now.line[1])] if now.line else None
    return {
        "narration": narrate(trace, k),
        "count": f"{k} / {len(trace)}",
        "nodes": sorted(names[n] for n in made),
        "accumulators": len(now.nodes) - len(made),
        "gradients": sorted(text(edge.value) for edge in now.edges.values() if edge.status == "sent"),
        "values": sorted(text(t.value) for t in now.tensors.values()),
        "leaves": {
            t["name"]: "" if i not in now.tensors else text(now.tensors[i].grad) if t["requires_grad"] else "\u2013"
            for i, t in enumerate(trace.tensors) if t["leaf"]
        },
        "line": line,
    }  # fmt: skip


@pytest.mark.parametrize("name", ["diamond", "twice"])
@pytest.mark.parametrize("theme", ["Light", "Dark"])  # each once: to change it costs as much as ten steps
def test_through_the_whole_trace_and_back(browser, lab, theme, name):
    """Press Step to the end and Step back to the start: at every step the screen is the trace's."""
    trace = samples.SMALL[name]()
    notebook = show(browser, lab, HAND_MADE.format(name), theme=theme)
    assert notebook.page.evaluate(SCREEN) == expected(trace, 0)
    for k, screen in enumerate(walk(notebook.button("Step"), len(trace), SCREEN, drawn=theme == "Light"), 1):
        assert screen == expected(trace, k)
    back = walk(notebook.button("Step back"), len(trace), SCREEN, drawn=False)
    for k, screen in zip(range(len(trace) - 1, -1, -1), back, strict=True):
        assert screen == expected(trace, k)
    background = notebook.stage.evaluate("e => getComputedStyle(e).backgroundColor")
    dark = sum(int(part) for part in background.strip("rgb()").split(",")[:3]) < 380
    assert dark == (theme == "Dark")
    notebook.close()


def test_a_real_trace_of_arrays(browser, lab):
    """What the engine recorded in the kernel is what is told and lit on screen, node by node."""
    notebook = show(browser, lab, REAL)
    trace = Trace.from_json(notebook.evaluate("print(trace.to_json())"))
    names = Narrator(trace).nodes
    seen = set()
    look = """() => {
      const stage = document.querySelector(".agl"), texts = (what) => [...stage.querySelectorAll(what)].map((e) => e.textContent);
      return [stage.querySelector("[role=status]").innerText, texts(".agl-rule-head b"), texts(".agl-grad-fn[data-s~=active] .agl-label")];
    }"""
    seen_at = walk(notebook.button("Step"), len(trace), look, drawn=False)
    for k, (narration, head, lit) in enumerate(seen_at, 1):
        assert narration == narrate(trace, k)
        if trace.events[k - 1]["k"] == "vjp":
            assert head == lit == [names[trace.events[k - 1]["n"]]]
            seen |= {*head}
    assert {"MeanBackward0", "PowBackward0", "TanhBackward0"} <= seen
    expect(notebook.stage.locator(".agl-heat").first).to_be_attached() if notebook.stage.locator(
        ".agl-heat"
    ).count() else None
    grads = notebook.page.evaluate(SCREEN)["leaves"]
    assert grads == {"w1": "3\u00d75", "w2": "5\u00d72", "x": "\u2013"}
    notebook.close()


ENGINE = """import autograd_lab as torch
from autograd_lab import lab
w, b = torch.tensor(3.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
with lab.record() as trace:
    y = w * 2.0 + b
    loss = y * y
    loss.backward()
s = lab.step(trace)
s"""


BESIDE = """() => {
  const code = document.querySelector(".agl .agl-code"), where = code.querySelector(".agl-where");
  const box = (e) => e?.getBoundingClientRect().toJSON(), lit = [...code.querySelectorAll("[data-lit=now]")];
  return {
    lit: lit.map((e) => e.querySelector("code").innerText), where: where.innerText, line: box(lit[0]), pane: box(code),
    head: box(code.querySelector(".agl-listings")), whole: [code, where].every((e) => e.scrollWidth <= e.clientWidth),
  };
}"""


@pytest.mark.parametrize(
    ("host", "theme", "size"),
    [("lab", "Dark", (1440, 900)), ("lab", "Light", (1024, 700)), ("notebook", "Light", (1440, 900))],
)
def test_the_engine_beside_the_code(browser, lab, host, theme, size):
    """The tab "engine" in JupyterLab and in Notebook 7: at each step the line that ran, in its function, can be read."""
    notebook = show(browser, lab, ENGINE, host=host, theme=theme, size=size)
    events = json.loads(notebook.evaluate("import json; print(json.dumps([e['k'] for e in trace]))"))
    notebook.button("engine").click()
    pages, at = listing()["pages"], listing()["at"]
    for kind, look in zip(events, walk(notebook.button("Step"), len(events), BESIDE), strict=True):
        if kind not in at:  # a leaf that is used for the first time runs no line of the engine
            assert look["lit"] == []
            assert look["where"] == ""
            continue
        page, row = at[kind]
        above = [text for number, text in rows(pages[page])[: row + 1] if number and text.startswith("def ")]
        name = above[-1].removeprefix("def ").partition("(")[0]
        assert [text.strip() for text in look["lit"]] == [rows(pages[page])[row][1].strip()]
        assert re.fullmatch(rf"{name} in core/\w+\.py", look["where"])
        assert look["whole"]  # nothing is cut off at the right
        head, line, pane = look["head"], look["line"], look["pane"]
        assert head["bottom"] <= line["top"] + 1
        assert line["bottom"] <= pane["bottom"] + 1
        assert pane["height"] - head["height"] >= 100  # room for five lines
    assert {"node", "pop", "vjp", "deliver", "accumulate", "done"} <= set(events)
    notebook.close()


def test_keyboard_alone(browser, lab):
    trace = samples.diamond()
    notebook = show(browser, lab, HAND_MADE.format("diamond"))
    page, total = notebook.page, len(trace)
    notebook.stage.locator(".agl-svg").focus()

    def at(k):
        expect(notebook.stage.locator(".agl-count")).to_have_text(f"{k} / {total}")
        assert notebook.narration == narrate(trace, k)

    for k in range(1, total + 1):
        page.keyboard.press("ArrowRight")
        at(k)
    page.keyboard.press("ArrowLeft")
    at(total - 1)
    page.keyboard.press("Home")
    at(0)
    page.keyboard.press("PageDown")
    at(2)
    page.keyboard.press("PageDown")
    at(6)
    page.keyboard.press("PageUp")
    at(2)
    page.keyboard.press("End")
    at(total)
    page.keyboard.press("Home")
    page.keyboard.press("Space")
    expect(notebook.button("Pause")).to_be_visible()
    # It runs by itself, at its own pace: where it is when that is seen, and when it is stopped, depends on the machine.
    expect(notebook.stage.locator(".agl-count")).to_have_text(re.compile(rf"^([2-9]|\d\d) / {total}$"))
    page.keyboard.press("Space")
    expect(notebook.button("Play")).to_be_visible()
    stopped = notebook.stage.locator(".agl-count").text_content()
    page.wait_for_timeout(1500)  # longer than it stays at one step
    expect(notebook.stage.locator(".agl-count")).to_have_text(stopped)
    page.keyboard.press("Home")
    for _ in range(40):  # Tab reaches Step, Enter presses it
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.getAttribute('aria-label')") == "Step":
            break
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    at(1)
    page.keyboard.press("Space")  # on a button Space presses the button
    at(2)
    assert notebook.cells() == 1
    notebook.close()


def test_buttons_scrubber_and_python_move_the_same_thing(browser, lab):
    trace = samples.diamond()
    notebook = show(browser, lab, HAND_MADE.format("diamond"))
    notebook.button("Last").click()
    assert notebook.narration == narrate(trace, len(trace))
    notebook.button("First").click()
    assert notebook.narration == narrate(trace, 0)
    notebook.stage.get_by_role("slider", name="Position").fill("16")
    assert notebook.narration == narrate(trace, 16)
    # moves are sent to the kernel a moment later, together
    eventually(lambda: notebook.evaluate("print(s)"), "Stepper(backward 16/35: MulBackward0 #3)")
    notebook.evaluate("s.step(8)")
    expect(notebook.stage.get_by_role("status")).to_have_text(narrate(trace, 24))
    notebook.button("Next event of this kind").click()
    assert notebook.narration == narrate(trace, 30)
    notebook.button("Next node").click()
    assert notebook.narration == narrate(trace, 34)
    notebook.stage.get_by_label("Step by").select_option("node")
    notebook.button("Step back").click()
    assert notebook.narration == narrate(trace, 28)
    notebook.close()


def test_play_runs_to_the_end_and_stops(browser, lab):
    trace = samples.scalar()
    notebook = show(browser, lab, HAND_MADE.format("scalar"), reduced_motion="reduce")
    notebook.stage.get_by_label("Speed").select_option("10")
    notebook.button("Play").click()
    expect(notebook.stage.get_by_role("status")).to_have_text(narrate(trace, len(trace)))
    expect(notebook.button("Play")).to_be_visible()
    notebook.close()


# Two frames later everything that watches sizes has been told, and has drawn itself.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

FITS = """() => {
  const bad = [], slack = 1.5, stage = document.querySelector(".agl");
  const check = (text, frame) => {
    const a = text.getBoundingClientRect(), b = frame.getBoundingClientRect();
    if (a.width && (a.left < b.left - slack || a.right > b.right + slack
        || a.top < b.top - slack || a.bottom > b.bottom + slack))
      bad.push(text.textContent);
  };
  for (const e of stage.querySelectorAll(".agl-tensor"))
    for (const text of e.querySelectorAll(".agl-name, .agl-val, .agl-grad")) check(text, e.querySelector("rect"));
  for (const e of stage.querySelectorAll(".agl-grad-fn"))
    check(e.querySelector(".agl-label"), e.querySelector(".agl-node"));
  for (const e of stage.querySelectorAll(".agl-pill")) check(e.querySelector("text"), e.querySelector("rect"));
  for (const e of stage.querySelectorAll(".agl-head, .agl-controls, .agl-say"))
    if (e.scrollWidth > e.clientWidth + 1) bad.push(e.className);
  if (stage.scrollHeight > stage.clientHeight + 1) bad.push("the stage");
  return bad;
}"""


@pytest.mark.parametrize("name", ["diamond", "mlp"])
def test_nothing_is_cut_off(browser, lab, name):
    """Every text is inside its box, every bar inside the stage, and the stage leaves room for the cell above it."""
    notebook = show(browser, lab, HAND_MADE.format(name), reduced_motion="reduce")
    scrubber = notebook.stage.get_by_role("slider", name="Position")
    for width, height in [(1024, 768), (1280, 800), (1920, 1080)]:
        notebook.page.set_viewport_size({"width": width, "height": height})
        eventually(lambda: notebook.page.evaluate("[innerWidth, innerHeight]"), [width, height])
        notebook.page.evaluate(DRAWN)
        places = list(range(0, len(samples.SMALL[name]()) + 1, 3))
        for k, bad in zip(places, scrub(scrubber, places, FITS), strict=True):
            assert bad == [], (width, k)
        assert notebook.stage.bounding_box()["height"] <= max(560, 0.8 * height)
    notebook.close()


LONG = """import autograd_lab as torch
from autograd_lab import lab
def f(x):
    y = x
    for _ in range(900):
        y = y * 1.001
    return y"""
BUSY = """import pathlib, time
end = time.time() + 60
while not pathlib.Path("seen").exists() and time.time() < end:
    time.sleep(0.01)"""


def test_a_long_trace_is_there_at_once_and_whole_while_other_cells_run(browser: Browser, lab: Lab):
    """Under "Run All": the beginning is drawn while the cell works out the rest, which then can be stepped through, asked about and changed."""
    notebook = Notebook.open(
        browser, lab, [LONG, "s = lab.step(f, torch.tensor(2.0, requires_grad=True))\ns", BUSY]
    )
    page = notebook.page
    page.evaluate(
        """() => {
          window.seen = [];
          window.told = [];  // how far the film was when the kernel was told a place in it
          const send = WebSocket.prototype.send;
          WebSocket.prototype.send = function (data) {
            const text = typeof data === "string" ? data : new TextDecoder().decode(data);
            if (text.includes('"position":')) window.told.push(window.seen.at(-1));
            return send.call(this, data);
          };
          const look = () => {
            const stage = document.querySelector(".agl");
            if (stage?.querySelector(".agl-units > *, .agl-groups > *")) {
              const last = window.seen.at(-1), busy = stage.getAttribute("aria-busy");
              if (last !== busy) {
                window.seen.push(busy);
                if (busy === "true") stage.querySelector('button[aria-label="Last"]').click();
              }
            }
            requestAnimationFrame(look);
          };
          look();
        }"""
    )
    # Not waited for: what the command promises is there when the last cell has ended.
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.wait_for_function("window.seen.at(-1) === 'false'")
    assert page.evaluate("window.seen") == ["true", "false"]
    prompt = "window.jupyterapp.shell.currentWidget.content.widgets[2].promptNode.textContent"
    assert page.evaluate(prompt) == "[*]:"  # the last cell waits for its turn, or runs
    expect(notebook.stage.locator(".agl-count")).to_have_text(
        re.compile(r"^(\d+) / \1$")
    )  # what Last asked for
    eventually(lambda: "false" in page.evaluate("window.told"), True)
    assert "true" not in page.evaluate("window.told")  # too early: the page may not know its own thread yet
    notebook.stage.get_by_role("combobox", name="Mode").select_option("predict")
    expect(notebook.stage.get_by_role("group", name="Question")).to_be_visible()
    notebook.stage.get_by_role("combobox", name="Mode").select_option("watch")
    notebook.stage.get_by_role("button", name="Change x, now 2").click()
    page.keyboard.type("3")
    page.keyboard.press("Enter")
    expect(notebook.stage.get_by_role("button", name="Change x, now 3")).to_be_visible()
    assert page.evaluate(prompt) == "[*]:"
    (lab.folder / "seen").touch()
    eventually(lambda: page.evaluate(prompt), "[3]:")
    outputs = page.evaluate(
        "window.jupyterapp.shell.currentWidget.content.widgets[1].model.outputs.toJSON().map((o) => o.data)"
    )
    assert "agl-still" in outputs[0]["text/html"]
    assert outputs[0]["text/plain"].startswith("Stepper(")
    expect(page.locator(".agl-still")).to_be_hidden()
    notebook.close()
