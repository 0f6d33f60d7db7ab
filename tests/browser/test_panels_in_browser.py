"""The panels beside the graph in real Chromium: the lit lines, what is chosen in the graph, and how much is shown."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import math
import re

import networks
import pytest
from playwright.sync_api import expect
from tabs import scrub
from test_views_in_browser import find, layers

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace
from autograd_lab.utils.checkpoint import checkpoint
from autograd_lab.widgets.levels import LEVELS


def three_operations() -> Trace:
    with lab.record() as trace:
        x = torch.tensor(3.0, requires_grad=True)
        y = (2 * x + 1) ** 2
        y.backward()
    return trace


def diamond() -> Trace:
    with lab.record() as trace:
        x = torch.tensor([1.0, 2.0], requires_grad=True)
        a = x * 3
        b = a.sin()
        c = a * b
        c.sum().backward()
    return trace


def long_program() -> Trace:
    space = {"torch": torch, "lab": lab}
    lines = ["with lab.record() as trace:", "    x = torch.tensor(3.0, requires_grad=True)", "    y = x * x"]
    lines += [f"    number_{i} = {i}" for i in range(60)] + ["    y.backward()"]
    program, file = "\n".join(lines) + "\n", "/panels/long.py"
    linecache.cache[file] = len(program), None, program.splitlines(keepends=True), file
    exec(compile(program, file, "exec"), space)
    return space["trace"]  # type: ignore[no-any-return]


def made(x):
    return x * x


def test_a_word_that_nobody_can_look_up_is_explained_below_the_rule(bare):
    """At the node, before and after its rule has run, and at an edge, and nowhere else."""
    with lab.record() as trace:
        x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
        block = x * 2  # the name of a function in another rule's text
        (block * x).prod(1).backward()
    words = "product_of_others:the product of all other elements (along the dim), for each element"
    node = next(
        k for k, e in enumerate(trace.events, 1) if e["k"] == "node" and trace.nodes[e["n"]]["op"] == "prod"
    )
    page = bare().show(lab.step(trace, position=node))
    shown = page.locator(".agl-words")
    expect(shown).to_have_text(words)
    page.locator(".agl-range").fill(str(find(trace, "vjp")))
    expect(shown).to_have_text(words)
    page.locator(".agl-range").fill(str(find(trace, "deliver")))
    page.locator(".agl-b[data-s~=sent] .agl-pill").first.click()
    expect(page.locator(".agl-rule-head")).to_contain_text("\N{RIGHTWARDS ARROW}")
    expect(shown).to_have_text(words)
    page.locator(".agl-range").fill(str(len(trace)))
    expect(shown).to_have_count(0)


def test_both_lit_lines_are_in_view(bare):
    """Also where they are far from each other, and where they stand in two listings."""
    for size in [(1024, 700), (1440, 900)]:
        trace = long_program()
        page = bare(size=size).show(lab.step(trace, position=find(trace, "vjp")))
        code = page.locator(".agl-code")
        for lit, text in (("made", "y = x * x"), ("now", "y.backward()")):
            seen = page.evaluate(
                """([lit, text]) => {
                    const pane = document.querySelector(".agl-code").getBoundingClientRect();
                    const row = [...document.querySelectorAll(`.agl-code [data-lit="${lit}"]`)].find((one) => {
                        const box = one.getBoundingClientRect();
                        return box.height > 8 && box.top >= pane.top - 1 && box.bottom <= pane.bottom + 1;
                    });
                    return row?.textContent.includes(text) ?? false;
                }""",
                [lit, text],
            )
            assert seen, (size, lit)
        expect(code.locator(".agl-elsewhere")).to_be_visible()


def test_a_line_of_another_listing_is_repeated(bare):
    file = "/panels/other.py"
    program = "y.backward()\n"
    linecache.cache[file] = len(program), None, [program], file
    with lab.record() as trace:
        y = made(torch.tensor(3.0, requires_grad=True))
        exec(compile(program, file, "exec"), {"y": y})
    page = bare().show(lab.step(trace, position=find(trace, "vjp")))
    expect(page.locator(".agl-code > .agl-line[data-lit=now]")).to_contain_text("y.backward()")
    expect(page.locator(".agl-elsewhere")).to_contain_text("return x * x")


def test_the_code_takes_the_height_that_it_needs(bare):
    page = bare(size=(1440, 900)).show(lab.step(long_program()))
    tall = page.evaluate("document.querySelector('.agl-code').clientHeight")
    side = page.evaluate("document.querySelector('.agl-side').clientHeight")
    assert tall > 0.5 * side
    page = bare(size=(1440, 900)).show(lab.step(diamond()))
    code = page.evaluate(
        "(() => { const c = document.querySelector('.agl-code'); return [c.clientHeight, c.scrollHeight]; })()"
    )
    assert code[0] == code[1]  # all of a short program


def test_a_chosen_node_is_shown_in_full(bare):
    """Its rule with numbers, saved values, line, what it waits for and who waits for it; a step goes on."""
    trace = diamond()
    k = find(trace, "vjp", "mul")
    page = bare().show(lab.step(trace, position=k))
    rule = page.locator(".agl-rule")
    node = page.locator(".agl-unit", has=page.locator(".agl-label", has_text="MulBackward0 #1"))
    node.locator(".agl-node").click()
    expect(rule).to_contain_text("MulBackward0 #1")
    expect(rule).to_contain_text(re.compile(r"Made at line \d+: a = x \* 3"))
    expect(rule).to_contain_text("Saved")
    waits = rule.locator(".agl-waiting")
    expect(waits.nth(0)).to_have_text(re.compile("Waits for.*SinBackward0"))
    expect(waits.nth(1)).to_have_text(re.compile("Waiting for it.*AccumulateGrad of x"))
    waits.nth(0).get_by_role("button").first.click()  # and from there along an edge
    expect(rule.locator(".agl-rule-head")).to_contain_text("\N{RIGHTWARDS ARROW}")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".agl-count")).to_have_text(f"{k + 1} / {len(trace)}")
    expect(rule.locator(".agl-picked")).to_have_count(0)


def test_a_chosen_edge_says_what_it_carries(bare):
    trace = diamond()
    page = bare().show(lab.step(trace).last())
    page.locator(".agl-b[data-s~=sent] .agl-pill").first.click()
    rule = page.locator(".agl-rule")
    expect(rule.locator(".agl-rule-head")).to_contain_text("\N{RIGHTWARDS ARROW}")
    expect(rule.locator(".agl-flow")).to_be_visible()
    rule.get_by_role("button", name=re.compile("Close")).click()
    expect(rule.locator(".agl-picked")).to_have_count(0)


def test_choosing_by_keyboard(bare):
    page = bare().show(lab.step(diamond()).last())
    page.locator(".agl-svg").focus()
    page.keyboard.press("]")
    expect(page.locator(".agl-picked")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".agl-picked")).to_have_count(0)


PANELS = {
    "simple": [],
    "rules": [".agl-rule", ".agl-leaves"],
    "queue": [".agl-rule", ".agl-leaves", ".agl-engine"],
    "saved": [".agl-rule", ".agl-leaves", ".agl-engine", ".agl-saved", ".agl-svg .agl-kept"],
    "all": [
        ".agl-rule",
        ".agl-leaves",
        ".agl-engine",
        ".agl-saved",
        ".agl-svg .agl-kept",
        ".agl-saved small",
    ],
}


@pytest.mark.parametrize("size", [(1024, 700), (1440, 900)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_panels_join_level_by_level(bare, size):
    trace = layers()
    page = bare(size=size).show(lab.step(trace, position=find(trace, "node", "tanh"), level="simple"))
    control = page.get_by_label("How much to show")
    everything = PANELS["all"]
    for level, shown in PANELS.items():
        control.select_option(level)
        for panel in (".agl-graph", ".agl-code", ".agl-say"):
            expect(page.locator(panel)).to_be_visible()
        for panel in everything:
            if panel in shown:
                expect(page.locator(panel).first).to_be_visible()
            else:
                assert not page.locator(panel).first.is_visible(), (level, panel)
        assert page.evaluate("document.querySelector('.agl-code').scrollWidth") > 0


def test_a_level_changes_neither_model_nor_position(bare):
    trace = layers()
    page = bare().show(lab.step(trace, position=20, level="saved"))
    before = page.evaluate("JSON.stringify(window.data)")
    words = page.locator(".agl-say").inner_text()
    for level in PANELS:
        page.get_by_label("How much to show").select_option(level)
    assert page.evaluate("JSON.stringify(window.data)") == before
    assert page.locator(".agl-say").inner_text() == words


def test_in_the_simple_level_a_step_is_a_node(bare):
    """Three operations, there and back, in at most twelve steps."""
    trace = three_operations()
    page = bare().show(lab.step(trace, level="simple"))
    steps = 0
    while page.get_by_role("button", name="Step", exact=True).get_attribute("aria-disabled") != "true":
        page.get_by_role("button", name="Step", exact=True).click()
        steps += 1
    assert 6 <= steps <= 12
    expect(page.locator(".agl-count")).to_have_text(f"{len(trace)} / {len(trace)}")


def test_an_input_stays_in_reach_in_the_simple_level(bare):
    page = bare().show(lab.step(made, torch.tensor(3.0, requires_grad=True), level="simple"))
    expect(page.get_by_role("button", name=re.compile("Change x"))).to_be_visible()


def test_the_notebook_says_the_level_and_the_reader_decides():
    """`lab.level` is for the steppers made afterwards; stored outputs are the same bytes at every level."""
    trace = three_operations()
    stored = []
    try:
        for name in LEVELS:
            lab.level(name)
            stepper = lab.step(trace)
            assert stepper.level == name
            stored.append((stepper.to_text(), stepper.to_html(), stepper.film))
    finally:
        lab.level("all")
    assert all(one == stored[0] for one in stored)
    with pytest.raises(ValueError, match="one of simple, rules"):
        lab.level("easy")


def test_the_choice_is_kept_in_the_browser(visit, tmp_path):
    lab.step(three_operations(), level="simple").save_html(tmp_path / "steps.html")
    tab, _ = visit(tmp_path / "steps.html")
    control = tab.get_by_label("How much to show")
    expect(control).to_have_value("simple")
    control.select_option("all")
    tab.reload()
    expect(control).to_have_value("all")
    control.select_option("simple")  # as the notebook has it: nothing to remember
    assert tab.evaluate("localStorage.length") == 0


def wrong_shape():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x @ torch.ones(3)


def no_leaf():
    x = torch.tensor([1.0, 2.0])
    (x * 2).sum().backward()


def not_one_number():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    (x * 2).backward()


def no_gradient_yet():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    x.grad.zero_()
    return y


def another_error():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    return x.sum() / nowhere  # noqa: F821


STOPPED = {
    wrong_shape: ("RuntimeError", "mend that line first"),
    no_leaf: ("RuntimeError", "Set requires_grad=True"),
    not_one_number: ("RuntimeError", "reduce it to one number"),
    no_gradient_yet: ("AttributeError", "call backward()"),
    another_error: ("NameError", "mend that line first"),
}


@pytest.mark.parametrize("level", ["simple", "all"])
@pytest.mark.parametrize("program", STOPPED, ids=lambda f: f.__name__)
def test_a_program_that_stops_before_backward_is_an_error_with_advice(bare, program, level):
    with contextlib.suppress(Exception), lab.record() as trace:
        program()
    page = bare(size=(1024, 700)).show(lab.step(trace, level=level).last())
    kind, advice = STOPPED[program]
    expect(page.locator(".agl")).to_have_attribute("data-stopped", "")
    expect(page.locator(".agl-say")).to_contain_text(kind)
    rule = page.locator(".agl-rule")
    expect(rule).to_contain_text("Your program stops here")
    expect(rule.locator(".agl-advice")).to_contain_text(advice)
    expect(rule.locator(".agl-advice")).to_be_in_viewport()
    page.get_by_role("button", name="Step back").click()
    assert page.locator(".agl").get_attribute("data-stopped") is None


def training(turns: int = 4) -> Trace:
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 2), torch.randn(16, 1)
    with lab.record() as trace:
        for _ in range(turns):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
    return trace


@pytest.mark.parametrize("size", [(1024, 700), (1440, 900)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_a_training_loop_is_watched_by_iterations(bare, size):
    stepper = lab.step(training())
    begins = stepper.film["turns"]
    page = bare(size=size).show(stepper.goto(begins[0]))
    after = page.get_by_role("button", name="Next iteration")
    losses = []
    for begin in begins[1:]:
        after.click()
        expect(page.locator(".agl-count")).to_have_text(f"{begin} / {len(stepper.trace)}")
        losses.append(page.locator(".agl-plot").first.locator(".agl-curve-says").inner_text())
    assert losses == [f"{x:.4g}" for x in stepper.film["curves"]["loss"][: len(losses)]]
    marks = page.locator(".agl-curve-now").first
    before = marks.get_attribute("d")
    page.locator(".agl-svg").focus()
    page.keyboard.press("Shift+PageUp")
    assert marks.get_attribute("d") != before
    page.get_by_label("Step by").select_option("iteration")
    page.get_by_role("button", name="Step", exact=True).click()
    expect(page.locator(".agl-count")).to_have_text(f"{begins[-1]} / {len(stepper.trace)}")
    assert page.locator(".agl-range").bounding_box()["width"] >= 60


def test_the_map_covers_nothing_and_fit_can_be_read(bare):
    page = bare(size=(1024, 700)).show(lab.step(training(), position=60))
    graph, small = page.locator(".agl-svg").bounding_box(), page.locator(".agl-map").bounding_box()
    assert small["y"] >= graph["y"] + graph["height"] - 1
    page.get_by_role("button", name="Open all groups").click()
    page.get_by_role("button", name="Fit graph").click()
    page.wait_for_timeout(400)
    scale = float(re.search(r"scale\(([\d.]+)\)", page.locator(".agl-svg > g").get_attribute("transform"))[1])
    assert scale >= 0.4


def test_all_of_a_long_loop_fits_and_the_iteration_that_runs_stands_out(bare):
    stepper = lab.step(training(30))
    k = stepper.film["turns"][15] + 60
    page = bare(size=(1440, 900)).show(stepper.goto(k))
    page.get_by_role("button", name="Fit graph").click()
    page.wait_for_timeout(400)
    pane = page.locator(".agl-svg").bounding_box()
    for iteration in (1, 16, 30):
        box = page.locator(".agl-folded", has_text=f"iteration {iteration} of 30").bounding_box()
        assert pane["x"] <= box["x"], iteration
        assert box["x"] + box["width"] <= pane["x"] + pane["width"], iteration
        assert pane["y"] <= box["y"] < pane["y"] + pane["height"], iteration
    lines = "() => [...document.querySelectorAll('.agl-f, .agl-b')].map((e) => Number(getComputedStyle(e.querySelector('.agl-past') ?? e).opacity))"
    assert set(page.evaluate(lines)) == {0.25, 1}
    page.get_by_label("Position").fill(
        str(stepper.film["turns"][0] + 30)
    )  # in the first iteration nothing is past
    page.wait_for_timeout(200)
    assert set(page.evaluate(lines)) == {1}


def long_names() -> Trace:
    the_weight_of_the_first_layer_of_my_net_a = torch.tensor(2.0, requires_grad=True)
    the_weight_of_the_first_layer_of_my_net_b = torch.tensor([3.0] * 8, requires_grad=True)
    with lab.record() as trace:
        the_product_of_both_the_weights_of_my_net = the_weight_of_the_first_layer_of_my_net_a * the_weight_of_the_first_layer_of_my_net_b  # fmt: skip
        (the_product_of_both_the_weights_of_my_net.tanh().exp() + the_product_of_both_the_weights_of_my_net).sum().backward()  # fmt: skip
    return trace


CUT = """() => {
  const scroll = [...document.querySelectorAll(".agl-rule *")].filter((e) => e.scrollWidth > e.clientWidth && /auto/.test(getComputedStyle(e).overflowX));
  return [...document.querySelectorAll(".agl-rule :is(b, em, math, .agl-card-label, .agl-term, .agl-card)")].filter((e) => {
    const around = e.closest(".agl-term, .agl-card") ?? e, pane = e.closest(".agl-rule").getBoundingClientRect(), r = e.getBoundingClientRect();
    return r.width && !scroll.some((one) => one.contains(e)) && (r.right > around.getBoundingClientRect().right + 1 || r.right > pane.right + 1);
  }).map((e) => e.outerHTML.slice(0, 120));
}"""
UNSCROLLED = "() => [...document.querySelectorAll('.agl-rule :is(.agl-card-label, .agl-term)')].every((e) => e.scrollWidth <= e.clientWidth + 1)"


@pytest.mark.parametrize("size", [(1440, 900), (1024, 700), (720, 450)], ids=str)
def test_nothing_in_the_rule_pane_is_cut(bare, size):
    """Not even with names of 40 letters: what a node sends is read there. Ordinary formulas need no scrolling either."""
    one = bare(size=size)
    for name, trace in (("long names", long_names()), ("a loop", training(2))):
        page = one.show(lab.step(trace))
        places = list(range(1, len(trace), 3))
        look = f"() => [({CUT})(), ({UNSCROLLED})()]"
        seen = scrub(page.get_by_label("Position"), places, look, drawn=False)
        for k, (found, unscrolled) in zip(places, seen, strict=True):
            assert found == [], (name, k)
            assert name == "long names" or unscrolled, k


def test_what_checkpoint_runs_again_is_not_called_the_engines(bare):
    w = torch.tensor(0.5, requires_grad=True)
    with lab.record() as trace:
        x = torch.tensor(2.0, requires_grad=True)
        checkpoint(lambda x: (x * w).tanh(), x, use_reentrant=False).backward()
    film = lab.step(trace).film
    again = next(n for n, node in enumerate(film["nodes"]) if node.get("aside"))
    page = bare(size=(1440, 900)).show(lab.step(trace, position=film["focus"].index(again)))
    expect(page.locator(".agl-rule")).to_contain_text("in a forward that checkpoint runs again")
    expect(page.locator(".agl-rule")).not_to_contain_text("create_graph")
    expect(page.locator(".agl-rule")).not_to_contain_text("4 bytes")


def test_long_names_are_cut_at_their_front(bare):
    """`model.2.bias` and `model.4.bias` differ at their ends, in the leaf table and in the table of all values."""
    page = bare(size=(1024, 700)).show(lab.step(training(2)).last())
    page.get_by_role("tab", name="Table").click()
    for name in ("model.2.bias", "model.4.bias"):
        cell = page.locator(".agl-table [role=rowheader]", has_text=re.compile(f"^{name}$")).first
        seen = cell.evaluate(
            """(e) => { const text = e.querySelector("bdi").firstChild, range = document.createRange(), box = e.getBoundingClientRect();
                 range.setStart(text, text.length - 6); range.setEnd(text, text.length);
                 const end = range.getBoundingClientRect(); return end.left >= box.left - 1 && end.right <= box.right + 1; }"""
        )
        assert seen, name


def test_what_is_not_made_yet_tells_nothing(bare):
    """Its numbers may be what is asked; its place may be known."""
    trace = three_operations()
    page = bare().show(lab.step(trace, position=2))
    last = page.locator(".agl-unit[data-s=ghost]").last
    last.evaluate(
        "(e) => e.querySelector('.agl-node, .agl-box').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true, pointerId: 1 }))"
    )
    page.locator(".agl-svg").evaluate(
        "(e) => e.dispatchEvent(new PointerEvent('pointerup', { bubbles: true, pointerId: 1 }))"
    )
    rule = page.locator(".agl-picked")
    expect(rule).to_contain_text("Not made yet")
    assert not re.search(r"\d", rule.inner_text().replace("PowBackward0", ""))


REACH = """() => {
  const found = [], pen = document.createElement("canvas").getContext("2d");
  for (const e of document.querySelectorAll(".agl-root :is(button, select, input, .agl-count, .agl-say)")) {
    const r = e.getBoundingClientRect(), name = e.getAttribute("aria-label") ?? e.className;
    if (!e.checkVisibility({ visibilityProperty: true }) || !r.width || e.closest(".agl-rule, .agl-engine, .agl-differences")) continue; // panes that scroll
    if (r.left < 0 || r.right > innerWidth) found.push([name, "outside", r.left, r.right]);
    pen.font = getComputedStyle(e).font;
    const text = e.tagName === "SELECT" ? pen.measureText(e.selectedOptions[0].text).width + 28 : e.tagName === "BUTTON" ? e.scrollWidth - 1 : 0;
    if (text > e.clientWidth) found.push([name, "cut", text, e.clientWidth]);
    const over = document.elementFromPoint((r.left + r.right) / 2, (r.top + r.bottom) / 2);
    if (r.bottom < innerHeight && over && !e.contains(over) && !over.closest(".agl-controls")) found.push([name, "covered"]);
  }
  return found;
}"""


SEEN = """(e) => {
  const { left, right, top, bottom } = e.getBoundingClientRect(), at = (y) => document.elementFromPoint((left + right) / 2, y);
  return e.contains(at(top + 3)) && e.contains(at(bottom - 3));
}"""


@pytest.mark.parametrize("size", [(720, 450), (1024, 768), (1024, 700), (800, 600), (480, 600)], ids=str)
def test_nothing_is_cut_or_out_of_reach(bare, size):
    """Every level, a training loop, a question, the presenter and a comparison; what is further down is scrolled to."""
    one = bare(size=size)
    trace, loop = diamond(), training()
    steppers = {
        **{level: lab.step(trace, level=level, position=18) for level in LEVELS},
        "loop": lab.step(loop, position=94),
        "question": lab.step(trace, predict=True),
        "comparison": lab.compare(trace, three_operations()),
        "presenter": lab.step(trace, position=18),
        "presenter of a loop": lab.step(training(12)).goto(1000),
    }
    for name, widget in steppers.items():
        page = one.show(widget)
        if name == "question":
            page.get_by_role("button", name="Last").click()
        if name.startswith("presenter"):
            page.get_by_role("button", name="Present").click()
        assert page.evaluate(REACH) == [], name
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        if name != "comparison":  # which has two sentences
            assert page.locator(".agl-say").evaluate(SEEN), name


@pytest.mark.parametrize("size", [(1280, 800), (900, 700), (600, 700)], ids=str)
def test_no_formula_is_wider_than_its_pane(bare, size):
    """A line is broken, but no fraction and no root: those that are long stand on the line."""
    x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    learned_temperature = torch.tensor(2.5, requires_grad=True)
    with lab.record() as trace:
        s = torch.nn.functional.layer_norm(x, [4]) * torch.nn.functional.gelu(x)
        c = torch.nn.functional.cosine_similarity(x * learned_temperature, s, dim=0)
        c.backward()
    page = bare(size=size).show(lab.step(trace, level="all"))
    wide = """() => [...document.querySelectorAll(".agl-rule, .agl-rule *")]
      .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflowX !== "visible").map((e) => e.textContent)"""
    places = list(range(len(trace) + 1))
    for k, found in zip(places, scrub(page.locator(".agl-range"), places, wide, drawn=False), strict=True):
        assert found == [], k


def test_the_leaf_table_fits_and_asks_who_retains_only_where_one_does(bare):
    def adversaries(retain):
        a, b = (torch.full((2, 2), -0.000123456, requires_grad=True) for _ in range(2))
        with lab.record(names={"D.10.weight": a, "G.10.weight": b}) as trace:
            for _ in range(3):
                d_loss = (a * a).sum()
                d_loss.backward()
                g_loss = (a * b).sin().sum()
                if retain:
                    g_loss.retain_grad()
                g_loss.backward()
        return lab.step(trace, level="all", position=len(trace))

    for retain in (True, False):
        page = bare(size=(1440, 900)).show(adversaries(retain))
        table = page.get_by_role("region", name="Leaf table")
        assert ("retains grad" in table.inner_text()) is retain
        assert retain or table.evaluate("e => e.scrollWidth <= e.clientWidth")
        assert table.locator("tbody tr").first.locator("td").count() == 4 + retain
        plots = page.locator(".agl-plot")
        assert [plots.nth(i).inner_text().split()[0] for i in range(2)] == ["g_loss", "d_loss"]
        page.locator(".agl-range").fill("25")  # between the first two passes: only the first has begun
        assert [plots.nth(i).locator("circle").is_visible() for i in range(2)] == [False, True]


def test_what_the_simple_level_leaves_out(bare):
    """Step by step through a training loop; and a comparison shows everything, without a choice."""
    one = bare()
    stepper = lab.step(training(), position=94)
    page = one.show(stepper)
    curves = stepper.film["curves"]
    for k, pass_nr in ((curves["steps"][1] - 1, 0), (curves["steps"][1], 1), (curves["steps"][0], 0)):
        page.locator(".agl-range").fill(str(k))
        loss = float(page.locator(".agl-plot").first.inner_text().split()[1])
        assert loss == pytest.approx(curves["loss"][pass_nr], rel=1e-3), k
    sizes = [[math.log10(size) for size in layer] for layer in curves["grads"].values()]
    low, high = min(map(min, sizes)), max(map(max, sizes))
    drawn = page.locator(".agl-plot").last
    for path, dot, layer in zip(
        drawn.locator(".agl-curve").all(), drawn.locator("circle").all(), sizes, strict=True
    ):
        points = [tuple(map(float, point.split())) for point in re.split("[ML]", path.get_attribute("d"))[1:]]
        assert [y for _, y in points] == pytest.approx(
            [40 - 36 * (x - low) / (high - low) for x in layer], abs=0.1
        )
        assert (float(dot.get_attribute("cx")), float(dot.get_attribute("cy"))) == pytest.approx(
            points[0], abs=0.1
        )
        assert dot.is_visible()
    names = [
        text.split()
        for text in drawn.locator(".agl-curve-name").evaluate_all(
            "all => all.map((e) => [...e.childNodes].slice(1).map((part) => part.textContent).join(''))"
        )
    ]
    assert {name: float(size) for name, size in names} == pytest.approx(
        {name: layer[0] for name, layer in curves["grads"].items()}, rel=1e-3
    )
    ends = [float(path.get_attribute("d").rpartition(" ")[2]) for path in drawn.locator(".agl-curve").all()]
    assert [name for name, _ in names] == [
        name for _, name in sorted(zip(ends, curves["grads"], strict=True))
    ]
    rows = [name.bounding_box() for name in drawn.locator(".agl-curve-name").all()]
    assert all(a["y"] + 9 <= b["y"] for a, b in itertools.pairwise(rows))
    page.locator(".agl-range").fill(str(curves["steps"][0] - 1))
    assert not any(dot.is_visible() for dot in drawn.locator("circle").all())
    page.evaluate("window.heard = 0; document.addEventListener('autograd-lab-level', () => window.heard++)")
    select = page.get_by_role("combobox", name="How much to show")
    parts = {part: page.locator(part).first for part in (".agl-modes", ".agl-tabs", ".agl-controls [aria-label='Step by']", ".agl-curves", ".agl-set + .agl-set")}  # fmt: skip
    column = page.locator(".agl-leaves th:nth-child(4)").first
    assert all(part.is_visible() for part in parts.values())
    page.get_by_role("tab", name="Table").click()
    select.select_option("simple")
    assert page.evaluate("heard") == 1  # other steppers of the page follow
    assert page.locator(".agl-svg").is_visible()
    assert [name for name, part in parts.items() if part.is_visible()] == []
    for level, seen in (("rules", False), ("queue", True)):
        select.select_option(level)
        assert column.is_visible() == seen, level
    page = one.show(lab.compare(diamond(), three_operations()))
    assert not any(one.is_visible() for one in page.get_by_role("combobox", name="How much to show").all())


@pytest.mark.parametrize(("button", "step"), [("Step", 1), ("Last", 2)])
def test_a_move_that_came_before_the_questions_is_made_when_they_are_here(bare, button, step):
    """A busy kernel or a slow page sends them late: the press is not lost, and the field to answer in has the focus."""
    stepper = lab.step(three_operations(), predict=True)
    page = bare().show(stepper)
    ask = page.locator(".agl-ask")
    expect(ask).to_contain_text("The next question comes")
    page.evaluate("data.late = data._quiz; data._quiz = ''; heard['change:_quiz'].forEach((f) => f())")
    expect(ask).to_contain_text("The questions are on their way from the kernel.")
    page.get_by_role("button", name=button, exact=True).click()
    expect(page.locator(".agl-count")).to_contain_text("0 /")
    page.evaluate("data._quiz = data.late; heard['change:_quiz'].forEach((f) => f())")
    expect(page.locator(".agl-count")).to_contain_text(f"{step} /")
    asked = page.locator(".agl-q").inner_text()
    if button == "Last":
        expect(page.locator(".agl-answer")).to_be_focused()
        assert page.locator(".agl-answer").get_attribute("aria-label") == asked


def test_lines_pass_under_the_title_of_a_group(bare):
    page = bare().show(lab.step(networks.neurons(50)))
    page.get_by_role("button", name="Open all groups").click()
    layers = page.evaluate(
        "[...document.querySelector('.agl-svg > g').children].map((e) => e.getAttribute('class'))"
    )
    assert layers.index("agl-labels") > max(layers.index("agl-forward"), layers.index("agl-backward"))
    assert page.locator(".agl-labels > .agl-frame-head").count() == page.locator(".agl-frame").count() > 0
    page.get_by_role("button", name="Close all groups").click()
    expect(page.locator(".agl-frame-head")).to_have_count(0)
