"""The views beside the graph in real Chromium, on a bare page: formulas, larger views, the table, two traces compared."""

from __future__ import annotations

import labserver  # noqa: F401 - puts the hand-made traces on the path
import pytest
import samples
from playwright.sync_api import expect
from tabs import scrub, walk

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.rules import number

SIZES = [(1024, 768), (1280, 800), (1920, 1080)]


def layers() -> Trace:
    x = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]])
    w = torch.tensor(
        [[1.0, -0.5, 0.3, 0.7], [0.2, 0.4, -1.0, 0.1], [-0.6, 0.8, 0.9, -0.2]], requires_grad=True
    )
    b = torch.zeros(4, requires_grad=True)
    with lab.record(title="one layer") as trace:
        y = torch.tanh(x @ w + b)
        (y**2).mean().backward()
    return trace


def find(trace: Trace, kind: str, name: str = "") -> int:
    return next(
        k
        for k, e in enumerate(trace.events, 1)
        if e["k"] == kind and (not name or trace.nodes[e["n"]]["op"] == name)
    )


def test_rules_are_mathml(bare):
    trace = layers()
    page = bare().show(lab.step(trace, position=find(trace, "vjp", "tanh")))
    rule = page.locator(".agl-rule")
    expect(rule.locator("math msup").first).to_be_visible()
    assert page.evaluate("document.querySelector('.agl-rule math').namespaceURI").endswith("MathML")
    tall = page.evaluate("document.querySelector('.agl-rule math msup').getBoundingClientRect().height")
    assert tall > 8  # it is laid out as mathematics
    expect(rule).to_contain_text("Local Jacobian")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_the_larger_view_by_keyboard(bare, size, dark):
    """Enter on a value opens it with all its numbers; the stepper stands still; Escape goes back to the value."""
    trace = layers()
    k = find(trace, "vjp", "mm")
    page = bare(size=size, dark=dark).show(lab.step(trace, position=k))
    sent = page.locator(".agl-sends .agl-open").first
    sent.focus()
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    v = next(v for v in trace.events[k - 1]["out"] if v is not None)
    cells = dialog.locator("tbody td").all_inner_texts()
    flat = [number(float(f"{x:.4g}")) for row in trace.values[v]["data"] for x in row]
    assert cells == flat
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.querySelector('[role=dialog]').contains(document.activeElement)")
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert page.evaluate("document.activeElement.matches('.agl-open')")
    expect(page.locator(".agl-count")).to_have_text(f"{k} / {len(trace)}")
    page.keyboard.press("ArrowRight")  # what had the focus is replaced, and the keys go on working
    page.keyboard.press("ArrowRight")
    expect(page.locator(".agl-count")).to_have_text(f"{k + 2} / {len(trace)}")


def test_the_jacobian_in_numbers(bare):
    trace = layers()
    k = find(trace, "vjp", "tanh")
    page = bare().show(lab.step(trace, position=k))
    page.locator(".agl-jac").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("diagonal: each element depends on its own alone")
    feet = dialog.locator("tfoot td").all_inner_texts()
    sent = [
        number(float(f"{x:.4g}")) for row in trace.values[trace.events[k - 1]["out"][0]]["data"] for x in row
    ]
    assert feet == sent
    assert dialog.locator(".agl-written li").count() == 8


@pytest.mark.parametrize("name", ["diamond", "twice"])
def test_the_table_follows_every_step(bare, name):
    trace = samples.SMALL[name]()
    page = bare().show(lab.step(trace))
    page.get_by_role("tab", name="Table").click()
    last_pass = 0
    look = """() => [...document.querySelectorAll(".agl-tbody .agl-tr")].map((row) => [
      row.querySelector("[role=rowheader]").innerText,
      [...row.querySelectorAll("[role=gridcell]")].map((cell) => ["b", "small"].map((what) => [...cell.querySelectorAll(what)].map((e) => e.innerText)))])"""
    seen = walk(page.get_by_role("button", name="Step", exact=True), len(trace), look, drawn=False)
    for event, rows in zip(trace.events, seen, strict=True):
        last_pass = event["p"] if event["k"] == "backward" else last_pass
        if event["k"] != "deliver":
            continue
        node = trace.nodes[event["to"]]
        t = node["tensor"] if node["kind"] == "accumulate" else node["outputs"][0]
        (cells,) = (cells for name, cells in rows if name == trace.tensors[t]["name"])
        adjoint, parts = cells[2 + last_pass]
        assert adjoint == [number(trace.values[event["sum"]]["data"])]
        assert len(parts) == (event["arrived"] > 1)
    assert page.locator(".agl-tr[data-s~=later]").count() == 0


def test_the_table_by_keyboard(bare):
    trace = samples.diamond()
    page = bare().show(lab.step(trace, position=len(trace)))
    page.get_by_role("tab", name="Table").click()
    grid = page.get_by_role("grid")
    grid.focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    selected = page.locator(".agl-tr[aria-selected=true]")
    expect(selected.locator("[role=rowheader]")).to_have_text("b")
    assert grid.get_attribute("aria-activedescendant") == selected.get_attribute("id")
    expect(page.locator(".agl-count")).to_have_text(f"{len(trace)} / {len(trace)}")  # only looking
    page.keyboard.press("Enter")
    k = int(page.locator(".agl-count").inner_text().split(" / ")[0])
    assert trace.events[k - 1]["k"] == "deliver"
    assert state(trace, k).nodes[trace.events[k - 1]["to"]].arrived == 2
    page.keyboard.press("Enter")
    k = int(page.locator(".agl-count").inner_text().split(" / ")[0])
    assert trace.events[k - 1]["k"] == "node"
    page.keyboard.press("ArrowRight")  # the stepper's own keys still work
    expect(page.locator(".agl-count")).to_have_text(f"{k + 1} / {len(trace)}")


def test_the_table_is_there_on_a_narrow_page(bare):
    """A projector at 150 % zoom: nothing gave the table a height there, so it had none."""
    page = bare(size=(690, 900)).show(lab.step(samples.diamond()).last())
    page.get_by_role("tab", name="Table").click()
    assert page.get_by_role("grid").bounding_box()["height"] > 200
    expect(page.get_by_role("rowheader", name="a", exact=True).first).to_be_in_viewport()


def test_presenting_on_a_small_page_leaves_room_for_the_rule(bare):
    """A projector of 1280x800 at 150 % zoom: with 20 px text on top of that, nothing was left for the rule."""
    trace = layers()
    page = bare(size=(853, 533)).show(lab.step(trace, position=find(trace, "vjp", "tanh")))
    page.get_by_role("button", name="Present").click()
    page.wait_for_function("document.fullscreenElement")
    assert page.locator(".agl-rule").bounding_box()["height"] > 60
    for part in (".agl-head", ".agl-controls", ".agl-say"):
        box = page.locator(part).bounding_box()
        assert box["x"] + box["width"] <= 854, part
        assert box["y"] + box["height"] <= 534, part
    assert page.locator(".agl-head").evaluate("e => e.scrollWidth <= e.clientWidth")


@pytest.mark.parametrize(
    ("size", "present"), [((1280, 800), False), ((1280, 800), True), ((853, 533), True)], ids=str
)
def test_the_graph_follows_the_pointer(bare, size, present):
    """In large type it ran ahead: the drawing is magnified, and on a small page the page is not."""
    page = bare(size=size).show(lab.step(samples.mlp(), position=30))
    if present:
        page.get_by_role("button", name="Present").click()
        page.wait_for_function("document.fullscreenElement")
    node = page.locator(".agl-svg .agl-node").locator("visible=true").first.element_handle()
    before, pane = node.bounding_box(), page.locator(".agl-svg").bounding_box()
    x, y = pane["x"] + pane["width"] / 2, pane["y"] + pane["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 12, steps=3)
    page.mouse.up()
    after = node.bounding_box()
    assert [round(after[side] - before[side]) for side in "xy"] == [30, 12]


def test_a_table_of_thousands_holds_a_screenful(bare):
    trace = samples.big(2000)
    page = bare().show(lab.step(trace))
    page.get_by_role("tab", name="Table").click()
    grid = page.get_by_role("grid")
    rows = int(grid.get_attribute("aria-rowcount"))
    assert rows > 2000
    assert page.locator(".agl-tbody .agl-tr").count() < 60
    grid.focus()
    page.keyboard.press("End")
    expect(page.locator(".agl-tr[aria-selected=true]")).to_have_attribute("aria-rowindex", str(rows))
    expect(page.locator(".agl-tr[aria-selected=true]")).to_be_in_viewport()
    page.get_by_role("button", name="Last", exact=True).click()
    for _ in range(5):
        page.get_by_role("button", name="Previous node", exact=True).click()
        expect(page.locator(".agl-tr[data-s~=now]")).to_be_in_viewport()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_nothing_runs_over_its_edge(bare, size, dark):
    """Cards, tags, chips' rows, table cells and the dialog stay inside their panes at every size."""
    trace = layers()
    page = bare(size=size, dark=dark).show(lab.step(trace))
    places = range(0, len(trace) + 1, 3)
    wide = """() => ["agl-rule", "agl-leaves", "agl-say", "agl-head", "agl-controls"].filter((name) => {
      const e = document.querySelector("." + name); return e.scrollWidth > e.clientWidth + 1; })"""
    seen = scrub(page.locator(".agl-range"), list(places), wide, drawn=not dark)
    for k, found in zip(places, seen, strict=True):
        assert found == [], k
    page.get_by_role("tab", name="Table").click()
    assert page.evaluate(
        "(() => { const e = document.querySelector('.agl-table'); return e.scrollWidth <= e.clientWidth + 1; })()"
    )


def test_a_long_name_of_a_leaf_shows_its_end(bare):
    """Parameters of one model differ where their names end."""
    perceptron = torch.nn.Sequential(torch.nn.Sequential(torch.nn.Sequential(torch.nn.Linear(2, 1))))
    with lab.record() as trace:
        perceptron(torch.ones(1, 2)).sum().backward()
    page = bare().show(lab.step(trace))
    for row, end in enumerate(["weight", "bias"]):
        cell = page.locator(".agl-leaves tbody th").nth(row)
        expect(cell).to_have_attribute("title", f"perceptron.0.0.0.{end}")
        inside, name = cell.bounding_box(), cell.locator("bdi").bounding_box()
        assert name["x"] + name["width"] <= inside["x"] + inside["width"]
    assert name["x"] < inside["x"], "too short a name for this test"


def test_failing_checks_hooks_and_boundaries_are_told(bare):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x * 2
        z = y * y
        cut = z.detach()
        with torch.no_grad():
            cut * 2
        y.mul_(10)
        with pytest.raises(RuntimeError, match="inplace"):
            z.sum().backward()
    page = bare().show(lab.step(trace, position=find(trace, "inplace")))
    rule = page.locator(".agl-rule")
    expect(rule).to_contain_text("version 0 \u2192 1")
    expect(rule).to_contain_text("MulBackward0 #1 \u2192 MulBackward0 #3")
    expect(rule).to_contain_text("saved for MulBackward0 #2")
    assert set(page.locator(".agl-mark").all_inner_texts()) == {"detached", "no_grad"}
    assert set(page.locator(".agl-why").all_text_contents()) == {"detached", "no_grad"}
    page.get_by_role("button", name="Last", exact=True).click()
    fault = page.locator(".agl-fault")
    expect(fault).to_contain_text("y as saved: v0")
    expect(fault).to_contain_text("z = y * y")
    expect(fault).to_contain_text("y.mul_(10)")


def test_hooks_second_order_and_functions_are_marked(bare):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = Double.apply(x) ** 3
        y.register_hook(lambda g: g * 10)
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.backward()
    page = bare().show(lab.step(trace, position=find(trace, "hook")))
    rule = page.locator(".agl-rule")
    expect(rule).to_contain_text("Tensor hook")
    expect(rule).to_contain_text("hook changed it")
    expect(page.locator(".agl-own").first).to_be_attached()
    made = next(
        k for k, e in enumerate(trace.events, 1) if e["k"] == "node" and trace.nodes[e["n"]]["made_in"]
    )
    page.locator(".agl-range").fill(str(made))
    expect(rule).to_contain_text("made in backward pass 1")
    expect(page.locator(".agl-ring").first).to_be_attached()


def test_grad_set_and_cleared_and_errors_of_the_program(bare):
    x = torch.tensor(3.0, requires_grad=True)

    def program():
        (x * x).backward()
        x.grad = None
        return 1 // 0

    with pytest.raises(ZeroDivisionError), lab.record() as trace:
        program()
    page = bare().show(lab.step(trace, position=find(trace, "grad")))
    cards = page.locator(".agl-rule .agl-card b").all_inner_texts()
    assert cards == ["3", "6", "None"]  # the value, .grad before and after
    page.get_by_role("button", name="Last", exact=True).click()
    expect(page.locator(".agl-rule .agl-error")).to_contain_text("ZeroDivisionError")


def diamond(a):
    b = a * a
    c = b * 3
    return b * c


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_two_traces_in_lockstep(bare, size, dark):
    a = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        diamond(a).backward()
    comparison = lab.compare(
        trace, lab.wrong_order(diamond, a, order="breadth-first"), labels=("right", "wrong")
    )
    page = bare(size=size, dark=dark).show(comparison)
    says = page.locator(".agl-half .agl-say")

    def at(p):
        expect(page.locator(".agl-frame > .agl-controls .agl-count")).to_have_text(
            f"{p} / {len(comparison.pairs) - 1}"
        )
        for side, (one, k) in enumerate(zip(comparison.traces, comparison.pairs[p], strict=True)):
            expect(says.nth(side)).to_have_text(narrate(one, k))

    at(0)
    together = page.locator(".agl-frame > .agl-controls").get_by_role("button", name="Step", exact=True)
    last = len(comparison.pairs) - 1
    look = """() => [".agl-frame > .agl-controls .agl-count", ".agl-half .agl-say"].flatMap(
      (what) => [...document.querySelectorAll(what)].map((e) => e.textContent.trim()))"""
    for p, seen in enumerate(walk(together, last, look, drawn=False), 1):
        told = [narrate(one, k) for one, k in zip(comparison.traces, comparison.pairs[p], strict=True)]
        assert seen == [f"{p} / {last}", *told]
    page.locator(".agl-difference").nth(1).click()
    at(comparison.differences[1].position)
    expect(page.locator(".agl-half[data-waits=true]")).to_have_count(1)
    expect(page.locator(".agl-difference[aria-current=step]")).to_have_count(1)
    page.keyboard.press("Home")
    at(0)
    page.locator(".agl-half .agl-svg").first.focus()
    page.keyboard.press("ArrowRight")
    at(1)
    page.get_by_role("button", name="Move both sides together").click()
    page.locator(".agl-half .agl-svg").nth(1).focus()
    page.keyboard.press("ArrowRight")
    expect(says.nth(0)).to_have_text(narrate(comparison.traces[0], 1))
    expect(says.nth(1)).to_have_text(narrate(comparison.traces[1], 2))
    page.get_by_role("button", name="Move both sides together").click()
    at(2)
    over = page.evaluate(
        "[...document.querySelectorAll('.agl-half .agl-head, .agl-controls')].filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1).length"
    )
    assert over == 0


@pytest.mark.parametrize("size", [(500, 800), (853, 533), (1024, 768)], ids=str)
def test_a_comparison_has_all_its_buttons_on_a_small_page(bare, size):
    page = bare(size=size).show(lab.compare(samples.diamond(), samples.twice()))
    shown = page.get_by_role("button").or_(page.get_by_role("tab")).locator("visible=true")
    ends = shown.evaluate_all("all => all.map((e) => [e.innerText, e.getBoundingClientRect().right])")
    assert len(ends) > 20
    assert [name for name, right in ends if right > size[0]] == []
    heads = page.locator(".agl-half .agl-head")
    assert heads.evaluate_all("all => all.map((e) => e.scrollWidth <= e.clientWidth)") == [True, True]


def test_what_is_written_in_place_stays_in_its_older_box(bare):
    """And on the projector nothing is cut off, code is wrapped, and the line that runs is in sight."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        b = w * 3
        total_of_both_elements_times_a_hundred = w.sum() * 100
        b[0] = total_of_both_elements_times_a_hundred * 1.0 + total_of_both_elements_times_a_hundred * 2.0
        (b * b).sum().backward()
    page = bare(size=(1024, 768)).show(lab.step(trace))
    page.locator(".agl-range").fill(str(len(trace)))
    page.get_by_role("button", name="Fit").click()  # what is out of sight is not drawn
    boxes = page.locator(".agl-tensor", has=page.locator("text.agl-name:text-is('b')"))

    def shown():
        versions = boxes.locator("text.agl-right").all_text_contents()
        return list(zip(versions, boxes.locator(".agl-val").all_text_contents(), strict=True))

    older, newer = shown()
    assert (older[0], newer[0]) == ("", "version 1")
    assert (older[1], newer[1]) == ("[3, 6]", "[900, 6]")
    before = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "inplace") - 1
    page.locator(".agl-range").fill(str(before))
    assert shown() == [older, ("", "")]
    page.locator(".agl-range").fill(str(before + 2))  # the panel has moved on to the node
    expect(page.locator(".agl-rule-head b")).to_have_text("CopySlices")
    cards = page.locator(".agl-rule .agl-flow .agl-card").all_inner_texts()
    assert (cards[0].split()[:3], cards[-1].split()[:3]) == (["b", "3", "6"], ["b", "900", "6"])
    page.get_by_role("button", name="Present").click()
    page.locator(".agl-range").fill(str(len(trace)))
    pane, line = page.locator(".agl-code"), page.locator(".agl-line[data-lit=now]")
    for part in (pane, page.locator(".agl-phases")):
        assert part.evaluate("(x) => x.scrollWidth <= x.clientWidth")
    box, seen = pane.bounding_box(), line.bounding_box()
    assert box["y"] <= seen["y"]
    assert seen["y"] + seen["height"] <= box["y"] + box["height"]


def test_no_arrow_ends_on_a_version(bare):
    """The caption of a box that lines enter stands on its left, and nothing else stands there."""
    x, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, -1.0], requires_grad=True)
    with lab.record() as trace:
        y = x * w
        y.mul_(w)
        z = y + x
        y.add_(1)
        (y * z.sum()).sum().backward()
        with torch.no_grad():
            w.mul_(2)
    page = bare(size=(1280, 900)).show(lab.step(trace))
    page.locator(".agl-range").fill(str(len(trace)))
    page.get_by_role("button", name="Fit").click()
    touched = page.evaluate("""() => {
      const parts = (what) => [...document.querySelectorAll(what)].filter((e) => e.getClientRects().length && (e.tagName !== "text" || e.textContent));
      const own = (e) => e.getBoundingClientRect(), met = [];
      const captions = parts(".agl-svg .agl-cap.agl-right");
      for (const c of captions) for (const o of parts(".agl-fhead, .agl-bhead, .agl-box, .agl-node, .agl-cap.agl-left")) {
        const [a, b] = [own(c), own(o)];
        if (a.left < b.right && b.left < a.right && a.top + 1 < b.bottom && b.top < a.bottom - 1) met.push(`${c.textContent} ${o.getAttribute("class")}`);
      }
      return [captions.map((c) => c.textContent), met];
    }""")
    assert touched == [["version 1", "version 1", "version 2"], []]


def test_both_sides_of_a_comparison_are_in_view_beside_a_sidebar(bare):
    """JupyterLab in a window of 1024 x 700 leaves 592 x 579 pixels to an output: all controls and both sentences are seen at once."""

    def program(cut):
        w = torch.tensor(3.0, requires_grad=True)
        with lab.record() as trace:
            x = w * w
            y = x - 4
            loss = y * (x.detach() if cut else x)
            loss.backward()
        return trace

    pair = lab.compare(program(False), program(True), ("x", "x.detach()"))
    page = bare(size=(592, 700)).show(pair)
    page.add_style_tag(content="body, main { margin: 0 !important; padding: 0 !important; }")
    pair_of = page.locator(".agl-half")
    assert page.locator(".agl-compare").evaluate("e => e.clientHeight") <= 579
    for part in (".agl-say", ".agl-head", ".agl-graph"):
        tops = [one.bounding_box()["y"] for one in pair_of.locator(part).all()]
        assert len(tops) == 2, part
        assert tops[0] == tops[1], part
    cut = """() => [...document.querySelectorAll(".agl-compare button, .agl-compare select, .agl-say")].filter((e) => {
      if (!e.checkVisibility() || e.closest(".agl-differences, .agl-rule")) return false;
      const box = e.getBoundingClientRect(), clip = e.scrollHeight > e.clientHeight + 1 || e.scrollWidth > e.clientWidth + 1;
      return clip || box.left < 0 || box.right > 592 || box.bottom > 579;
    }).map((e) => [e.className, e.textContent])"""
    for position in range(len(pair.pairs)):
        page.locator(".agl-compare > .agl > .agl-controls .agl-range").fill(str(position))
        assert page.evaluate(cut) == [], position
