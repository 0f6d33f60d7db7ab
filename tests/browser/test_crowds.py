"""However large the graph, a step does, draws and touches no more: lines in crowds share a path, in Chromium.

Counted, not timed: tests/browser/measure_steps.py measures times.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from statistics import median

import bare as bare_pages
import networks
import pytest
import samples
from playwright.sync_api import Page, expect

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.trace import Trace
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.front import front_end
from autograd_lab.widgets.stepper import Stepper
from autograd_lab.widgets.svg import svg


@cache
def stepper(make: Callable[[int], Trace], size: int) -> Stepper:
    """Of a graph of this size, made once: several tests look at the same."""
    return lab.step(make(size))


def loop(turns: int) -> Trace:
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(5, 2), torch.randn(5, 1)
    with lab.record(f"a training loop of {turns} iterations") as trace:
        for _ in range(turns):
            opt.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            opt.step()
    return trace


COUNT = """async ([from, steps]) => {
  const stage = document.querySelector(".agl"), range = stage.querySelector(".agl-range"), found = [0, 0];
  const seen = new MutationObserver(() => {});
  const many = (nodes) => [...nodes].reduce((sum, node) => sum + 1 + (node.querySelectorAll?.("*").length ?? 0), 0);
  range.value = from;
  range.dispatchEvent(new Event("input"));
  seen.observe(stage.querySelector(".agl-svg"), { subtree: true, childList: true, attributes: true, characterData: true });
  for (let i = 0; i < steps; i++) {
    stage.querySelector('button[aria-label="Step"]').click();
    const records = seen.takeRecords(), touched = new Set(records.map((one) => one.target)).size;
    const changed = records.reduce((sum, one) => sum + many(one.addedNodes) + many(one.removedNodes), touched);
    found[0] = Math.max(found[0], stage.querySelectorAll(".agl-svg *").length);
    found[1] = Math.max(found[1], changed);
  }
  return found;
}"""


@pytest.mark.parametrize(
    ("make", "sizes", "view"),
    [
        (samples.chain, (60, 120), None),
        (loop, (30, 60), None),
        (networks.neurons, (250, 500), "Open all groups"),
        (networks.neurons, (500, 1000), "Fit graph"),
    ],
    ids=["chain", "loop", "neurons", "neurons far away"],
)
def test_a_step_of_a_large_graph_touches_no_more_than_one_of_a_small_one(bare, make, sizes, view):
    counts = []
    for size in sizes:
        page = bare(size=(1280, 800)).show(stepper(make, size))
        trace = stepper(make, size).trace
        if view:
            page.get_by_role("button", name="Open all groups").click()
        if view == "Fit graph":
            for _ in range(2):
                page.get_by_role("button", name=view).click()
            assert page.locator(".agl-svg[data-far='1']").count() == 1
        parts = [
            page.evaluate(COUNT, [part, 12])
            for part in (len(trace) // 5, len(trace) * 3 // 5, len(trace) - 14)
        ]
        counts.append([max(found) for found in zip(*parts, strict=True)])
    (drawn, changed), (most_drawn, most_changed) = counts
    assert most_drawn <= 1.5 * drawn, counts
    assert most_changed <= 1.5 * changed, counts


def whole(page: Page) -> None:
    """Show all of the graph, however small it becomes."""
    for name in ("Follow the active node", "Fit graph", "Fit graph"):
        page.get_by_role("button", name=name).click()


STARTS = re.compile(
    r"^\s*(?!if |switch |catch |constructor)(?:\} )?(?:(?:export |get )*(?:function )?\w+ ?\(.*\) \{|.*=> \{)$",
    re.M,
)
WORK = """([from, steps]) => {
  const stage = document.querySelector(".agl"), range = stage.querySelector(".agl-range"), found = [];
  range.value = from;
  range.dispatchEvent(new Event("input"));
  for (let i = 0; i < steps; i++) {
    globalThis.work = 0;
    stage.querySelector('button[aria-label="Step"]').click();
    stage.querySelector(".agl-svg").getBoundingClientRect();
    found.push(work);
  }
  return found;
}"""


STEPS = 20


def like(small: Trace, k: int, large: Trace) -> int:
    """Where in the larger trace the same happens as in the steps after `k`: one node has more to show than another."""

    def told(trace: Trace) -> list[tuple[str, str]]:
        names = [node["name"] for node in trace.nodes]
        return [(e["k"], names[e["n"]] if e.get("n") is not None else "") for e in trace.events]

    wanted, events = told(small)[k : k + STEPS], told(large)
    about = len(large) * k // len(small)
    return min(
        (at for at in range(len(large)) if events[at : at + STEPS] == wanted),
        key=lambda at: abs(at - about),
    )


@pytest.mark.parametrize(
    ("make", "sizes", "view"),
    [
        (loop, (30, 60), None),
        (loop, (30, 60), "far away"),
        (networks.neurons, (500, 1000), None),
        (networks.neurons, (500, 1000), "far away"),
        (networks.blocks, (500, 1000), None),
    ],
    ids=["loop", "loop far away", "neurons", "neurons far away", "blocks"],
)
def test_a_step_looks_at_what_it_changes_alone(tab, monkeypatch, make, sizes, view):
    """Functions called and turns of loops: each function and each loop of the front end counts."""
    counted, many = STARTS.subn(r"\g<0> globalThis.work++;", front_end())
    assert many > 500
    monkeypatch.setattr(bare_pages, "front_end", lambda: counted)
    page = tab((1280, 800), reduced_motion="reduce").page
    counts = []
    small, large = (stepper(make, size).trace for size in sizes)
    first = [len(small) * part // 10 for part in (3, 6, 8)]
    places = first, [like(small, k, large) for k in first]
    for size, starts in zip(sizes, places, strict=True):
        bare_pages.Bare(page).show(stepper(make, size))
        if view:
            page.get_by_role("button", name="Open all groups").click()
            whole(page)
        counts.append([median(page.evaluate(WORK, [k, STEPS])) for k in starts])
    assert all(b <= 1.6 * a for a, b in zip(*counts, strict=True)), counts


WALK = """() => {
  const press = (name, times) => { for (let i = 0; i < times; i++) document.querySelector(`.agl button[aria-label="${name}"]`).click(); };
  press("Step", 31);
  press("Step back", 25);
  press("Step", 3);
}"""
PICTURE = """() => {
  const found = [];
  for (const g of document.querySelectorAll(".agl-svg > g > g > *")) {
    const marks = [g, ...g.querySelectorAll("[data-s]")].map((e) => `${e.getAttribute("class")} ${e.getAttribute("data-s")} ${e.getAttribute("style")}`).join();
    const pieces = [...g.querySelectorAll("path")].map((e) => (e.getAttribute("d").match(/M[^M]*/g) ?? []).sort().join(""));
    found.push([marks, g.textContent, ...pieces].join("|"));
  }
  return found.sort();
}"""


@pytest.mark.parametrize(
    ("make", "size", "groups"),
    [(loop, 30, "Open"), (loop, 30, "Close"), (networks.neurons, 300, "Open"), (networks.neurons, 300, "Close")],
)  # fmt: skip
def test_what_steps_have_changed_is_what_a_fresh_look_shows(tab, make, size, groups):
    trace = stepper(make, size).trace
    page = bare_pages.Bare(tab((3000, 1000), reduced_motion="reduce").page).show(stepper(make, size))
    again = page.get_by_role("button", name=f"{groups} all groups")
    again.click()
    whole(page)
    slider = page.get_by_role("slider", name="Position")
    for part in (1, 5, 8):
        k = len(trace) * part // 10
        slider.fill(str(k))
        page.evaluate(WALK)
        walked = page.evaluate(PICTURE)
        again.click()  # everything is drawn anew
        whole(page)
        for to in ((k + 600) % len(trace), k + 9):  # and counted anew
            slider.fill(str(to))
        assert page.evaluate(PICTURE) == walked, part


@pytest.mark.parametrize("turns", [4, 6])
@pytest.mark.parametrize("size", [(1280, 800), (600, 700)], ids=["wide", "beside a sidebar"])
def test_fit_shows_all_of_a_short_loop(bare, turns, size):
    page = bare(size=size).show(stepper(loop, turns))
    page.get_by_role("slider", name="Position").fill("9999")
    page.get_by_role("button", name="Fit graph").click()
    page.wait_for_timeout(500)
    pane = page.locator(".agl-svg").bounding_box()
    titles = page.locator(".agl-svg text", has_text=re.compile(rf"iteration \d of {turns}|weight$|bias$"))
    found = [titles.nth(i).bounding_box() for i in range(titles.count())]
    assert len(found) == turns + 4
    for box in found:
        assert pane["x"] <= box["x"] <= box["x"] + box["width"] <= pane["x"] + pane["width"]
        assert pane["y"] <= box["y"] <= box["y"] + box["height"] <= pane["y"] + pane["height"]
        assert box["height"] >= 5  # as the least that can be read


def crowd(bare) -> tuple[Page, Trace]:
    """A loop of 30 iterations, wholly in view: more lines than are drawn alone."""
    trace = stepper(loop, 30).trace
    page = bare(size=(7000, 1000)).show(stepper(loop, 30))
    page.get_by_role("button", name="Fit").click()
    page.get_by_role("slider", name="Position").fill(str(len(trace)))
    return page, trace


def test_a_bundle_holds_the_lines_that_are_drawn_in_a_still(bare):
    page, trace = crowd(bare)
    doc = film(trace)
    widths = {}
    for k in (len(trace) // 3, len(trace) // 2, len(trace) * 2 // 3, len(trace)):
        page.get_by_role("slider", name="Position").fill(str(k))
        assert page.locator(".agl-svg [pointer-events=none]").count() > 4
        still = svg(doc, k)
        for layer, head in (("f", "h6.4z"), ("b", "h8z")):
            drawn = page.locator(f".agl-{layer} .agl-{layer}head").evaluate_all(
                "all => all.map((e) => e.getAttribute('d')).join('')"
            )
            assert drawn.count(head) == still.count(head), (k, layer)
            assert sorted(re.findall(r"M(\S+ \S+?)l", drawn)) == sorted(
                re.findall(rf"M(\S+ \S+?)l[^\"]*{head}", still)
            ), (k, layer)
        found = page.locator(".agl-b:has(> .agl-bhead)").evaluate_all(
            "all => all.flatMap((g) => Array(g.querySelector('.agl-bhead').getAttribute('d').split('z').length - 1).fill(parseFloat(getComputedStyle(g.querySelector('.agl-bline')).strokeWidth)))"
        )
        weights = [float(w) for w in re.findall(r'stroke-width:([\d.]+)"/><path[^>]*h8z"', still)]
        assert sorted(w for w in found if w != 1.5) == sorted(weights), k  # 1.5: nothing was sent yet
        widths[k] = sorted(found)
    assert len({str(found) for found in widths.values()}) == 4


def test_a_line_leaves_its_bundle_when_the_pointer_comes(bare):
    page, _ = crowd(bare)
    line, alone = (
        page.locator(".agl-b[pointer-events=none] .agl-bline").first,
        page.locator("[data-line]:hover"),
    )
    # The view may still glide: the line is out of sight, or elsewhere when the pointer comes.
    for _ in range(30):
        place = line.evaluate("""(path) => {
          const length = path.getTotalLength(), m = path.getScreenCTM();
          for (let t = 0.02; t < 1; t += 0.01) {
            const p = path.getPointAtLength(t * length).matrixTransform(m), at = document.elementFromPoint(p.x, p.y);
            if (at?.closest(".agl-svg") && !at.closest("[data-thing], [data-line]")) return [p.x, p.y];
          } }""")
        if place:
            page.mouse.move(place[0] + 40, place[1] - 300)
            page.mouse.move(*place)
            page.mouse.move(place[0] + 0.5, place[1])
        page.wait_for_timeout(100)
        if place and alone.count():
            break
    assert place
    expect(alone).to_have_count(1)
    expect(alone.locator("title")).to_have_text(re.compile("edges? from|gradient|goes into"))
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".agl-graph .agl-hidden")).to_have_text(alone.locator("title").text_content())


def test_a_box_far_away_can_be_chosen(bare):
    trace = stepper(networks.neurons, 300).trace
    page = bare(size=(1280, 800)).show(stepper(networks.neurons, 300))
    page.get_by_role("button", name="Open all groups").click()
    for _ in range(2):
        page.get_by_role("button", name="Fit graph").click()
    page.get_by_role("slider", name="Position").fill(str(len(trace)))
    assert page.locator(".agl-svg[data-far='1']").count() == 1
    drawn = page.locator(".agl-grad-fn[data-s=done] path.agl-node").evaluate_all(
        "all => all.map((e) => e.getAttribute('d')).join('')"
    )
    assert drawn.count("M") == sum(unit["node"] >= 0 for unit in film(trace)["units"])
    x, y = page.locator(".agl-grad-fn[data-s=done] .agl-node").first.evaluate("""(path) => {
      const [, x, y, rx] = path.getAttribute("d").match(/^M(\\S+) (\\S+?)[al](\\S+) /).map(Number);
      const p = new DOMPoint(x + rx, y).matrixTransform(path.getScreenCTM()); return [p.x, p.y]; }""")
    page.mouse.move(x + 100, y)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.up()
    expect(page.locator(".agl-graph .agl-hidden")).to_have_text(re.compile("Backward0|Accumulate"))


def test_a_square_of_a_heat_map_says_its_number(bare):
    page = bare().show(stepper(loop, 2))
    page.get_by_role("slider", name="Position").fill("9")
    heat = page.locator(".agl-rule .agl-heat").first
    box, cell = heat.bounding_box(), float(heat.get_attribute("data-cell"))
    numbers = [row.split(",") for row in heat.get_attribute("data-rows").split(";")]
    for j, i in ((0, 0), (len(numbers) - 1, len(numbers[0]) - 1)):
        page.mouse.move(box["x"] + (i + 0.5) * cell, box["y"] + (j + 0.5) * cell)
        expect(heat.locator("title")).to_have_text(f"[{j}, {i}]: {numbers[j][i]}")
