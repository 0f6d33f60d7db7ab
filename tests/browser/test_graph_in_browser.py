"""The drawn graph in real Chromium: that every step changes something, and that each thing that happens is seen."""

from __future__ import annotations

import contextlib
import re
from html import unescape

import pytest
import samples
from bare import Bare
from playwright.sync_api import Page, expect
from tabs import scrub

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.svg import palette, svg

tensor = torch.tensor


def first_pass() -> Trace:
    w, x, b = tensor(2.0, requires_grad=True), tensor(3.0), tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        y = w * x + b
        y.backward()
    return trace


def diamond() -> Trace:
    a = tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        b = a + 1
        d = b * b * b
        d.backward()
    return trace


def vectors() -> Trace:
    w = tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        z = w * tensor([3.0, 4.0])
        z.backward(tensor([1.0, 0.5]))
    return trace


def matrices() -> Trace:
    w, x = torch.full((3, 4), 0.5, requires_grad=True), torch.ones(4, 2)
    with lab.record() as trace:
        loss = torch.tanh(w @ x).sum()
        loss.backward()
    return trace


def cut() -> Trace:
    w, u = tensor(2.0, requires_grad=True), tensor(5.0, requires_grad=True)
    with lab.record() as trace:
        y = w * 3
        z = y.detach()
        with torch.no_grad():
            s = w * w
        (z * u + s * u + y).backward()
    return trace


def hooked() -> Trace:
    w = tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = w * 3
        y.register_hook(lambda g: g * 10)
        y.retain_grad()
        z = y * y
        z.register_hook(lambda g: g * 2)
        w.register_hook(lambda g: g - 1)
        z.backward()
    return trace


def written() -> Trace:
    a, w = tensor([1.0, 2.0], requires_grad=True), tensor(4.0, requires_grad=True)
    with lab.record() as trace:
        y = a * 2.0
        y += 1.0
        b = y.clone()
        b[0] *= w
        b.sum().backward()
    return trace


def again() -> Trace:
    x = tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = x * x
        z = y + y * x
        z.backward(retain_graph=True)
        z.backward()
    return trace


def some_inputs() -> Trace:
    w, b = tensor(2.0, requires_grad=True), tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        y = w * 3 + b
        y.backward(inputs=[b])
    return trace


def higher() -> Trace:
    x = tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        (g,) = torch.autograd.grad(x**3, x, create_graph=True)
        g.backward()
    return trace


def failing() -> Trace:
    x = tensor(2.0, requires_grad=True)
    y = x * x
    with lab.record() as trace:
        y.backward()
        with pytest.raises(RuntimeError):
            y.backward()
    return trace


def failing_in_view() -> Trace:
    x = tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = x * x
        y.backward()
        with contextlib.suppress(RuntimeError):
            y.backward()
    return trace


def trained() -> Trace:
    w = tensor(2.0, requires_grad=True)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with lab.record() as trace:
        for _ in range(2):
            optimizer.zero_grad()
            (w * w).backward()
            optimizer.step()
    return trace


def several_results() -> Trace:
    w = tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    with lab.record() as trace:
        a, b = w.split(2)
        (a * b).sum().backward()
    return trace


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        return g * 3 * ctx.saved_tensors[0] ** 2


def marked() -> Trace:
    """Whatever a node may be marked with."""
    w = tensor([2.0, 3.0], requires_grad=True)
    with lab.record() as trace:
        y = Cube.apply(w)
        hook = y.grad_fn.register_prehook(lambda grads: None)
        torch.autograd.graph.get_gradient_edge(w).node.register_hook(lambda grads, _: None)
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            z = y * y
        z.sum().backward()
        hook.remove()
        z = w * w
    return trace


def without_history() -> Trace:
    """For every reason; and a leaf that the recording meets when its gradient is added."""
    w, v = tensor([2.0, 3.0], requires_grad=True), tensor([1.0, 1.0], requires_grad=True)
    old, c = v * 2, tensor(4.0) * 2
    with lab.record() as trace:
        y = w.data * old
        with pytest.warns(UserWarning, match="to a scalar"):
            copied = tensor([w[0], w[1]])
        with torch.inference_mode():
            i = c * 3
        with torch.no_grad():
            n = w * copied
        y = y + c * i + n + w.detach()
        y.sum().backward()
    return trace


def of_pytorch() -> Trace:
    real = pytest.importorskip("torch")
    with lab.record_torch() as trace:
        w = real.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = (w * 2).detach()
        z = w * y
        z.register_hook(lambda g: g * 2)
        z.sum().backward()
    return trace


PROGRAMS = (
    first_pass, diamond, vectors, matrices, cut, hooked, written, again, some_inputs, higher, failing, failing_in_view, trained, several_results,
    marked, without_history, of_pytorch,
)  # fmt: skip

MARKS = {
    ".agl-hook": r'<circle [^>]*r="7"',
    ".agl-kept:not([data-freed='1'])": rf'h8v8h-8z" fill="{palette()["outline"]}"',
    ".agl-kept[data-freed='1']": r'h8v8h-8z[^>]*stroke-dasharray="2 1.5"',
    ".agl-own": r'class="i"',
    ".agl-ring": r'class="r"',
    ".agl-cut": r"l16 -7m-16 12l16 -7",
    ".agl-dead[data-s='pruned'] .agl-stop": rf'h4l3 3v4l-3 3h-4l-3 -3v-4z" fill="{palette()["bad"]}"',
    ".agl-dead:not([data-s='pruned']) .agl-stop": rf'h4l3 3v4l-3 3h-4l-3 -3v-4z" fill="{palette()["bg"]}"',
    ".agl-joined path:first-child": r'class="e"/><path d="M[^"]*l7 -3.5v7z"',
    ".agl-fhead": r"h6.4z",
    ".agl-b:not([data-s~='ghost']) .agl-bhead": r"h8z",
    ".agl-seed-head": r"l9 -4.5v9z",
    ".agl-link": r'H[^"]*" stroke=',
    ".agl-grad-fn:not([data-s~='ghost']) .agl-node": r'<ellipse [^>]*fill="[^n]|L[^"]*L[^"]*L[^"]*z"',
    ".agl-unit:not([data-s='ghost']) .agl-box": r'<rect [^>]*rx="4"',
    ".agl-unit:not([data-s='ghost']) .agl-rule-line": rf'<path d="M[^"]*h[\d.]+" stroke="{palette()["hair"]}"',
    ".agl-pill > rect, .agl-at > rect": r'<rect [^>]*rx="(?:9.5|3)"',
    ".agl-badge rect": r'rx="7.5"',
    ":is(.agl-f.agl-past, .agl-b:has(> .agl-bline)[data-s~='past'])": r'<g opacity="',
}
"""Marks of the live graph -> the same in a still picture. Texts are compared one by one."""

OTHERS = {
    *(f"agl-{layer}" for layer in ("frames", "forward", "groups", "units", "backward", "labels")), "agl-f", "agl-tensor", "agl-at", "agl-heap", "agl-seed",
    *("agl-hit", "agl-cursor"),  # what is pointed at
    *("agl-fline", "agl-free", "agl-bline", "agl-seed-line", "agl-pill"),  # a line has a head, counted above, and a label its box
    *("agl-frame", "agl-frame-box", "agl-frame-head"),  # a group has its name,
    *(f"agl-{part}" for part in ("folded", "folded-box", "behind", "plus-sign", "pass", "part", "part-done", "part-busy")),  # and a closed one its words
    "agl-thumb",  # heat strips: tests/widgets/test_graph_tells.py
    "agl-off-grad",  # greyed; the same
}  # fmt: skip
"""And what else the live graph is made of."""

STEPS = """() => {
  const range = document.querySelector(".agl-range"), last = Number(range.max), found = [];
  const drawn = () => [...document.querySelectorAll(".agl-svg > g > g")].map((e) => e.outerHTML).join("");
  const hidden = new Map(), svg = document.querySelector(".agl-svg");
  const seen = (e) => { // for each element of the graph once a step
    if (e === svg) return true;
    if (!hidden.has(e)) { const { display, opacity } = getComputedStyle(e); hidden.set(e, display !== "none" && opacity !== "0" && seen(e.parentElement)); }
    return hidden.get(e);
  };
  const count = (selector) => [...document.querySelectorAll(`.agl-svg ${selector}`)].filter(seen).length;
  const shown = () => ({ text: [...document.querySelectorAll(".agl-svg text")].filter((e) => seen(e) && e.textContent).map((e) => e.textContent),
    classes: [...new Set([...document.querySelectorAll(".agl-svg [class]:not(text, tspan)")].flatMap((e) => [...e.classList]))],
    strips: [...document.querySelectorAll(".agl-leaves td")].map((cell) => [cell.textContent, Boolean(cell.querySelector(".agl-mini path"))]),
    ...Object.fromEntries(MARKS.map((selector) => [selector, count(selector)])) });
  const beside = () => [".agl-mode", ".agl-phases", ".agl-leaves", ".agl-code"].map((c) => document.querySelector(c).innerHTML).join("");
  for (let k = 0; k <= last; k++) {
    range.value = k;
    range.dispatchEvent(new Event("input"));
    hidden.clear();
    found.push([drawn(), beside(), shown()]);
  }
  return found.map(([a, b, c], k) => [k && a === found[k - 1][0], k && b === found[k - 1][1], c]);
}"""


BESIDE = {
    "backward": "the graph was made before the recording, and is drawn when its messages are counted",
    "mode": "the line above the graph says that recording is off",
}
"""Steps after which the graph may look as before, and why; the lit line or the phase has changed even then."""


def fitted(one: Bare, trace: Trace) -> Page:
    """The stepper with the whole graph in view."""
    page = one.show(lab.step(trace))
    page.get_by_role("button", name="Fit").click()
    return page


@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_every_step_changes_what_is_drawn(bare, make):
    trace = make()
    page = fitted(bare(size=(1800, 1800)), trace)
    kinds = ["start", *(e["k"] for e in trace.events)]
    doc = film(trace)
    for k, (graph, beside, shown) in enumerate(page.evaluate(STEPS.replace("MARKS", str(list(MARKS))))):
        assert not graph or (kinds[k] in BESIDE and not beside), f"step {k}, {kinds[k]}, changes nothing"
        still = svg(doc, k)
        texts = [unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", still)]
        found = {mark: len(re.findall(form, still)) for mark, form in MARKS.items()}
        found["text"] = sorted(text for text in texts if not text.startswith("|gradient|"))
        whole = k == len(trace) and kinds[k] != "error"  # shows no moment: not which nodes are done
        if whole:
            shown[".agl-badge rect"] -= shown["text"].count("\N{CHECK MARK}")
        for text, strip in shown.pop("strips"):
            assert strip == bool(re.search("numbers|\N{MULTIPLICATION SIGN}", text)), text
        shown["text"] = sorted(text for text in shown["text"] if text != "\N{CHECK MARK}" or not whole)
        assert (
            set(shown.pop("classes"))
            <= {name for mark in MARKS for name in re.findall(r"agl-[\w-]+", mark)} | OTHERS
        )
        assert shown == found, f"step {k}, {kinds[k]}"


def go(page: Page, k: int) -> None:
    page.locator(".agl-range").fill(str(k))


def step_of(trace: Trace, kind: str, nr: int = 0) -> int:
    return [k for k, e in enumerate(trace.events, 1) if e["k"] == kind][nr]


def visible(page: Page, selector: str) -> list[str]:
    """The texts of the labels that are shown."""
    return [text for text in page.locator(selector).locator("visible=true").all_text_contents() if text]


def test_the_seed_is_seen_to_arrive(bare):
    trace = first_pass()
    page = fitted(bare(), trace)
    k = step_of(trace, "seed")
    go(page, k - 1)
    assert visible(page, ".agl-seed .agl-num") == []
    go(page, k)
    assert visible(page, ".agl-seed .agl-num") == ["1"]
    assert (
        page.evaluate("""() => {
      const seed = document.querySelector(".agl-seed"), node = seed.closest(".agl-unit").querySelector(".agl-node").getBoundingClientRect();
      return Math.abs(seed.querySelector(".agl-seed-head").getBoundingClientRect().left - node.right); }""")
        < 4
    )


def test_the_sum_stands_at_the_node_that_waits(bare):
    trace = diamond()
    page = fitted(bare(), trace)
    first, second = (
        k for k, e in enumerate(trace.events, 1) if e["k"] == "deliver" and e["of"] == 3 and e["arrived"] < 3
    )
    for k, sum_, waiting in ((first, "16", "1 of 3"), (second, "32", "2 of 3")):
        go(page, k)
        assert visible(page, ".agl-heap .agl-num") == [sum_]
        assert waiting in visible(page, ".agl-badge")
    go(page, len(trace))
    assert visible(page, ".agl-heap .agl-num") == ["48"]


def test_a_label_stays_at_its_place_when_the_sum_grows(bare):
    """Numbers and heat strips lie inside their labels, at every step."""
    outside = """() => [...document.querySelectorAll(".agl-pill, .agl-at, .agl-tensor")].filter((g) => {
      if (g.getBoundingClientRect().width === 0) return false;
      const box = g.querySelector("rect").getBoundingClientRect();
      return [...g.querySelectorAll(".agl-num, .agl-val, .agl-name, .agl-grad, .agl-thumb path")].some((e) => {
        const r = e.getBoundingClientRect();
        return r.width && (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1); });
    }).map((g) => g.textContent)"""
    page = bare(size=(1440, 1000))
    for trace in (vectors(), matrices(), hooked(), written(), several_results()):
        shown = fitted(page, trace)
        places = range(len(trace) + 1)
        slider = shown.locator(".agl-range")
        for k, found in zip(places, scrub(slider, list(places), outside, drawn=False), strict=True):
            assert found == [], k


def test_lines_get_wider_and_deeper_with_their_gradient(bare):
    x = tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        y = x
        for _ in range(8):
            y = torch.sigmoid(y)
        y.backward()
    page = fitted(bare(size=(1800, 1800)), trace)
    go(page, len(trace))
    lines = page.locator(".agl-b .agl-bline").evaluate_all(
        "all => all.map((e) => [e.getBoundingClientRect().top, parseFloat(getComputedStyle(e).strokeWidth), getComputedStyle(e).stroke]).sort((a, b) => b[0] - a[0])"
    )
    widths = [width for _, width, _ in lines]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 2.5 * widths[-1]
    assert len({color for *_, color in lines}) >= 6
    expect(page.locator(".agl-legend")).to_contain_text("its size: 1e-6 to 1")


def test_what_is_cut_ignored_or_hooked_is_marked(bare):
    trace = cut()
    page = fitted(bare(size=(1440, 1000)), trace)
    go(page, step_of(trace, "backward") - 1)
    assert visible(page, ".agl-ignored") == []
    go(page, len(trace))
    assert visible(page, ".agl-ignored") == ["ignored"] * 3
    assert page.locator(".agl-f .agl-cut").count() == 1
    assert page.locator(".agl-dead[data-s=pruned] .agl-stop").count() == 3
    grey = page.locator(".agl-off-grad .agl-box").evaluate_all(
        "all => new Set(all.map((e) => getComputedStyle(e).fill)).size"
    )
    assert grey == 1
    assert page.locator(".agl-off-grad").count() == 3
    trace = hooked()
    page = fitted(bare(), trace)
    k = step_of(trace, "hook")
    go(page, k - 1)
    assert "1" in visible(page, ".agl-seed .agl-num")
    go(page, k)
    assert page.locator(".agl-hook[data-s=now]").count() == 1
    assert visible(page, ".agl-seed .agl-num") == ["1 \u2192 2"]


def test_the_hook_that_runs_is_lit_at_what_it_was_registered_on(bare):
    """One of two results, not both; a tensor, not the node that made it; and the panel is headed by the same name."""
    w = tensor([2.0, 3.0], requires_grad=True)
    with lab.record() as trace:
        left, right = w.unbind()
        right.register_hook(lambda g: g * 10)
        left.register_hook(lambda g: g * 2)
        right.grad_fn.register_prehook(lambda grads: None)
        (left * right).backward()
    page = bare().show(lab.step(trace))
    lit = page.locator(".agl-hook[data-s=now]")
    steps = [k for k, e in enumerate(trace.events, 1) if e["k"] == "hook"]
    for k, name in zip(steps, ["right", "left", "UnbindBackward0"], strict=True):
        page.locator(".agl-range").fill(str(k))
        expect(page.locator(".agl-rule-head b")).to_have_text(name)
        expect(lit).to_have_count(1)
        beside = ".agl-name" if name != "UnbindBackward0" else ".agl-label"
        expect(lit.locator("xpath=..").locator(beside)).to_have_text(name)


def test_the_diamond_is_joined_to_grad_and_lights_when_it_adds(bare):
    trace = first_pass()
    page = fitted(bare(), trace)
    k = step_of(trace, "accumulate")
    wide = "all => all.map((e) => parseFloat(getComputedStyle(e).strokeWidth))"
    go(page, k - 1)
    before = page.locator(".agl-joined path:first-child").evaluate_all(wide)
    go(page, k)
    now = page.locator(".agl-joined path:first-child").evaluate_all(wide)
    assert len(now) == 2
    assert [b > a for a, b in zip(before, now, strict=True)].count(True) == 1
    apart = page.evaluate("""() => [...document.querySelectorAll(".agl-unit:has(.agl-joined)")].map((unit) => {
      const [line, box, grad, node] = [".agl-joined", ".agl-box", ".agl-grad", ".agl-node"].map((s) => unit.querySelector(s).getBoundingClientRect());
      return [line.left - box.right, line.right - node.left, Math.max(0, grad.top - line.bottom, line.bottom - grad.bottom)].map(Math.abs); })""")
    assert max(max(one) for one in apart) < 3  # from the diamond to the line of .grad


def test_what_gets_no_gradient_can_be_hidden(bare):
    trace = cut()
    page = fitted(bare(size=(1800, 1800)), trace)
    go(page, len(trace))
    before, text = page.locator(".agl-tensor").count(), page.get_by_role("status").inner_text()
    toggle = page.get_by_role("button", name="Hide what gets no gradient")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    toggle.press("Enter")
    expect(toggle).to_have_attribute("aria-pressed", "true")
    assert page.locator(".agl-tensor").count() == before - 3
    assert page.locator(".agl-off-grad").count() == 0
    # and the steps that are about a hidden one are shown
    scrub(page.locator(".agl-range"), list(range(len(trace) + 1)), "() => 0", drawn=False)
    assert page.get_by_role("status").inner_text() == text
    toggle.click()
    assert page.locator(".agl-tensor").count() == before
    page = fitted(bare(), chain_without_constants())
    assert page.get_by_role("button", name="Hide what gets no gradient").count() == 0


def chain_without_constants() -> Trace:
    x = tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        torch.sigmoid(x).backward()
    return trace


def test_every_node_and_edge_says_a_line_when_pointed_at(bare):
    trace = diamond()
    page = fitted(bare(), trace)
    go(page, len(trace))
    said = page.evaluate("""() => [...document.querySelectorAll(".agl-unit, .agl-f, .agl-b")].map((g) => {
      (g.querySelector(".agl-hit, .agl-box") ?? g).dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
      return g.querySelector("title")?.textContent; })""")
    assert all(said)
    assert "gradient 16 from MulBackward0 #2 to MulBackward0 #1" not in said  # of 4: b * b is 16, so c gets 4
    assert "gradient 4 from MulBackward0 #2 to MulBackward0 #1" in said
    assert "b goes into MulBackward0 #1" in said
    assert "1 goes into AddBackward0; no gradient comes back this way" in said
    assert any(text.startswith("AddBackward0, done, b, value 4") for text in said)


def test_edges_are_reached_by_keyboard_and_told_to_the_panels(bare):
    trace = diamond()
    page = fitted(bare(), trace)
    go(page, len(trace))
    page.locator(".agl-svg").focus()
    page.keyboard.press("]")
    page.keyboard.press("e")
    spoken, ring = page.locator(".agl-graph .agl-hidden"), page.locator(".agl-cursor")
    expect(spoken).to_have_text("gradient 48 from AddBackward0 to AccumulateGrad of a")
    expect(ring).to_be_visible()
    page.keyboard.press("e")
    expect(spoken).to_have_text("a goes into AddBackward0")
    expect(page.locator(".agl-picked")).to_contain_text("Local derivatives")  # of the node that uses the data
    page.keyboard.press("E")
    expect(spoken).to_have_text("gradient 48 from AddBackward0 to AccumulateGrad of a")
    page.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text("AddBackward0, done")
    hit = page.locator(".agl-b", has_text="48").locator(".agl-pill rect")
    hit.click()
    expect(spoken).to_have_text("gradient 48 from AddBackward0 to AccumulateGrad of a")


def test_saved_values_are_marked_until_they_are_freed(bare):
    trace = diamond()
    page = fitted(bare(), trace)
    k = step_of(trace, "free")
    go(page, k - 1)
    assert page.locator(".agl-unit .agl-kept[data-freed='0']").count() == 2
    go(page, k)
    assert page.locator(".agl-unit .agl-kept[data-freed='1']").count() == 1
    go(page, len(trace))
    assert page.locator(".agl-unit .agl-kept[data-freed='1']").count() == 2


@pytest.mark.parametrize("tall", [False, True], ids=["wide", "tall"])
def test_the_map_is_never_over_the_graph(bare, tall):
    x = tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        if tall:
            y = x
            for _ in range(30):
                y = y * 3
        else:
            y = sum(x * i for i in range(30))
        y.backward()
    page = bare(size=(1024, 700)).show(lab.step(trace))
    go(page, len(trace) // 2)
    apart = page.evaluate("""() => { const [map, svg] = [".agl-map", ".agl-svg"].map((s) => document.querySelector(s).getBoundingClientRect());
      return map.width > 0 && (map.left >= svg.right || map.top >= svg.bottom); }""")
    assert apart
    for k in (1, len(trace)):  # what the step is about is wholly in view
        go(page, k)
        page.wait_for_function("""() => { const svg = document.querySelector(".agl-svg").getBoundingClientRect();
          const now = document.querySelector('.agl-tensor[data-now="1"], .agl-grad-fn[data-s~=now]')?.getBoundingClientRect();
          return !now || (now.left >= svg.left && now.right <= svg.right && now.top >= svg.top && now.bottom <= svg.bottom); }""")


def scale(page):
    return float(re.search(r"scale\((.*?)\)", page.locator(".agl-svg > g").get_attribute("transform"))[1])


def test_names_can_be_read_in_a_window_that_became_smaller(tab):
    """Unless all of the graph was asked for."""
    page = Bare(tab((1440, 900), reduced_motion="reduce").page).show(lab.step(samples.diamond()))
    for asked in (False, True):
        page.set_viewport_size({"width": 1440, "height": 1200})
        if asked:
            for _ in range(2):
                page.get_by_role("button", name="Fit graph").click()
        page.set_viewport_size({"width": 700, "height": 460})
        page.wait_for_function("document.querySelector('.agl-svg').getBoundingClientRect().width < 700")
        page.wait_for_timeout(100)
        assert (scale(page) >= 0.72) is not asked


def test_the_slider_goes_back_to_an_open_question(bare):
    page = bare().show(lab.step(samples.diamond(), predict=True))
    slider = page.get_by_role("slider", name="Position")
    page.get_by_role("button", name="Last").click()
    held = slider.input_value()
    slider.fill(slider.get_attribute("max"))
    assert slider.input_value() == held
    assert page.locator(".agl-count").first.text_content().startswith(f"{held} /")


def test_two_passes_have_no_curves_before_they_are_taught(bare):
    for level, shown in (("saved", False), ("all", True)):
        page = bare().show(lab.step(samples.twice(), level=level))
        assert page.locator(".agl-curves").is_visible() is shown


def of_two() -> Trace:
    a, b = tensor(1.5, requires_grad=True), tensor(-0.7, requires_grad=True)
    with lab.record() as trace:
        u = a * b
        v = torch.sin(u) + a**3
        (v * u).backward()
    return trace


def far_below() -> Trace:
    leaves = [tensor(float(i), requires_grad=True) for i in range(9)]
    with lab.record() as trace:
        y = leaves[8] * 2
        for leaf in reversed(leaves):
            y = (y * leaf).sin()
        y.backward()
    return trace


@pytest.mark.parametrize("made", [of_two, far_below, matrices])
@pytest.mark.parametrize("size", [(1000, 800), (700, 800), (500, 800)])
def test_before_the_first_step_it_stands_where_the_graph_begins(bare, made, size):
    """In a window that was wider before, too: whole is what comes first, and, where that has room, all beside it."""
    shown = bare(size=(1440, 1000)).show(lab.step(made()))
    shown.set_viewport_size({"width": size[0], "height": size[1]})
    shown.wait_for_timeout(200)  # for the camera
    first, cut, room = shown.locator(".agl-svg").evaluate("""(svg) => {
        const pane = svg.getBoundingClientRect(), box = (e) => e.getBoundingClientRect();
        const units = [...svg.querySelectorAll(".agl-unit")].map((e) => [e.dataset.thing, box(e)]), first = units.find(([thing]) => thing === "0")[1];
        const within = ({ left, top, right, bottom }) => left >= pane.left && right <= pane.right && top >= pane.top && bottom <= pane.bottom;
        const ends = units.map(([, one]) => one.left);
        return [within(first), Math.min(...ends) < pane.left - 1, first.right - Math.min(...ends) < pane.width - 60];
    }""")
    assert first
    assert not (cut and room)
