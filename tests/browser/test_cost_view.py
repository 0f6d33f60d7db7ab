"""The stepper's view "Cost" in real Chromium: the curve, the bars at the nodes, the table, and times on request."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Page, expect
from tabs import violations, walk

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.cost import DROPPED, Cost, size
from autograd_lab.utils.checkpoint import checkpoint


def network(x, *weights):
    for w in weights:
        x = torch.tanh(x @ w)
    return (x * x).mean()


def saving(x, *weights):
    for w in weights:
        x = checkpoint(lambda x, w: torch.tanh(x @ w).exp(), x, w, use_reentrant=False)
    return (x * x).mean()


def inputs():
    torch.manual_seed(0)
    return torch.randn(4, 8, requires_grad=True), *(torch.randn(8, 8, requires_grad=True) for _ in range(3))


def opened(page: Page) -> Page:
    page.get_by_role("tab", name="Cost").click()
    expect(page.get_by_role("region", name="Cost")).to_be_visible()
    return page


LOOK = """() => ({
  count: document.querySelector(".agl-count").textContent, says: document.querySelector(".agl-cost p").textContent,
  mark: document.querySelector(".agl-cost-now").getAttribute("d"),
  held: [...document.querySelectorAll(".agl-cost tr[data-on='1'] th")].map((e) => e.textContent),
  bars: [...document.querySelectorAll(".agl-bar-holds[data-on='1']")].filter((e) => e.getBoundingClientRect().width > 0).length,
})"""


def held_at(cost: Cost, k: int) -> list[str]:
    return [one.label for one in cost.nodes if one.holds(k)]


@pytest.mark.parametrize("program", [network, saving])
def test_the_view_follows_every_step(bare, program):
    stepper = lab.step(program, *inputs())
    cost = lab.cost(stepper.trace)
    page = opened(bare(size=(1440, 900)).show(stepper))
    marks = []
    for k, seen in enumerate(
        walk(page.get_by_role("button", name="Step", exact=True), len(stepper.trace), LOOK, drawn=False), 1
    ):
        assert seen["count"].startswith(f"{k} /")
        assert seen["says"].startswith(
            f"Saved values hold {size(cost.held[k])} at step {k}. Most: {size(cost.peak)}, at step {cost.peak_at}."
        )
        assert ("which live anyway" in seen["says"]) == (cost.leaves[k] > 0)
        assert sorted(seen["held"]) == sorted(held_at(cost, k))
        marks.append(seen["mark"])
    assert len(set(marks)) == len(marks)


def test_the_bars_stand_at_the_nodes_that_hold_something(bare):
    stepper = lab.step(network, *inputs())
    cost = lab.cost(stepper.trace)
    page = bare(size=(1440, 900)).show(stepper)
    assert not page.locator(".agl-bar-holds:visible").count()  # in this view alone
    opened(page)
    page.get_by_role("button", name="Go to the peak").click()
    page.get_by_role("button", name="Fit").click()
    seen = page.evaluate(LOOK)
    assert seen["bars"] == len(
        [one for one in cost.nodes if one.bytes and one.label in held_at(cost, cost.peak_at)]
    )
    widths = page.evaluate(
        "[...document.querySelectorAll('.agl-bar-holds')].map((e) => Number(e.getAttribute('width')))"
    )
    assert sum(w > 0 for w in widths) == len([one for one in cost.nodes if one.bytes])


def test_the_curve_leads_to_its_steps_and_the_table_sorts_by_keyboard(bare):
    stepper = lab.step(saving, *inputs())
    cost = lab.cost(stepper.trace)
    page = opened(bare(size=(1024, 700)).show(stepper))
    curve = page.locator(".agl-cost-curve")
    box = curve.bounding_box()
    curve.click(position={"x": box["width"] / 2, "y": 20})
    k = int(page.locator(".agl-count").inner_text().split(" /")[0])
    assert abs(k - len(stepper.trace) / 2) <= 1
    assert curve.get_attribute("aria-label").startswith(
        f"Bytes held by saved values over {len(stepper.trace)} steps: most, {size(cost.peak)}"
    )

    def column(i: int) -> list[str]:
        return page.locator(f".agl-cost tbody tr > :nth-child({i})").all_inner_texts()

    assert column(3) == [size(one.bytes) for one in cost.nodes]
    sort = page.get_by_role("columnheader", name="from step").get_by_role("button")
    sort.focus()
    page.keyboard.press("Enter")
    assert [int(x) for x in column(5)] == sorted(one.since for one in cost.nodes)
    expect(page.get_by_role("columnheader", name="from step")).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")  # it kept the focus
    assert [int(x) for x in column(5)] == sorted((one.since for one in cost.nodes), reverse=True)
    row = page.locator(".agl-cost tbody th button").first
    row.focus()
    page.keyboard.press("Enter")
    assert page.locator(".agl-count").inner_text().startswith(f"{max(one.since for one in cost.nodes)} /")


def test_it_says_what_counts_to_the_end(bare):
    """A graph without a backward pass: nobody knows when it is dropped."""
    kept = lab.step(lab.cost(lambda x, w: torch.tanh(x @ w).detach(), *inputs()[:2]).trace)
    assert lab.cost(kept.trace).held[-1]
    page = opened(bare().show(kept))
    expect(page.locator(".agl-cost > small")).to_contain_text(DROPPED)
    page = opened(bare().show(lab.step(network, *inputs())))
    expect(page.locator(".agl-cost > small")).not_to_contain_text(DROPPED)


def test_it_comes_with_saved_values_and_goes_with_them(bare):
    stepper = lab.step(network, *inputs(), level="queue")
    page = bare().show(stepper)
    expect(page.get_by_role("tab", name="Cost")).to_be_hidden()
    page.get_by_label("How much to show").select_option("all")
    opened(page)
    page.get_by_label("How much to show").select_option("queue")
    expect(page.get_by_role("region", name="Cost")).to_be_hidden()
    expect(page.get_by_role("tab", name="Graph")).to_have_attribute("aria-selected", "true")


def test_a_flat_curve_says_zero(bare):
    with lab.record() as trace, torch.no_grad():
        network(*inputs())
    page = opened(bare().show(lab.step(trace, position=len(trace))))
    expect(page.locator(".agl-cost p")).to_have_text(
        f"Saved values hold 0 bytes at step {len(trace)}. Most: 0 bytes, at step 0."
    )
    assert page.locator(".agl-cost tbody tr").count() == 0


def test_times_are_measured_on_request_alone(bare):
    stepper = lab.step(network, *inputs())
    page = opened(bare(size=(1440, 900)).show(stepper))
    assert page.get_by_role("columnheader", name="forward").count() == 0
    page.get_by_role("button", name="Measure times").click()
    expect(page.locator(".agl-cost-do")).to_contain_text("Measuring")
    stepper._measure = page.evaluate("data._measure")
    page.evaluate(
        f"data._measured = {json.dumps(stepper._measured)}; heard['change:_measured'].forEach((f) => f())"
    )
    expect(page.get_by_role("columnheader", name="forward")).to_be_visible()
    cells = page.locator(".agl-cost tbody td:last-child").all_inner_texts()
    assert len(cells) == len(stepper.trace.nodes)
    assert all(float(x) > 0 for x in cells)
    assert page.evaluate(
        "[...document.querySelectorAll('.agl-bar-takes')].some((e) => e.getAttribute('width') > 0)"
    )


def test_the_runs_for_the_times_also_show_when_the_program_lets_go(bare):
    """A loss that a loop binds again: its curve goes to the end at first, and then it is that of lab.cost(fn)."""

    def rebound(x, *weights):
        for w in weights:
            loss = torch.tanh(x @ w).exp().mean()
        return loss

    given = inputs()
    stepper, cost = lab.step(rebound, *given), lab.cost(rebound, *given)
    page = opened(bare(size=(1440, 900)).show(stepper))
    page.get_by_role("button", name="Last").click()
    says, curve = page.locator(".agl-cost p"), page.locator(".agl-cost-curve")
    held = lab.cost(stepper.trace).held
    assert held[-1] > cost.held[-1] == 0
    expect(says).to_contain_text(
        f"Saved values hold {size(held[-1])} at step {len(held) - 1}. Most: {size(max(held))}"
    )
    expect(page.locator(".agl-cost > small")).to_contain_text(DROPPED)
    page.get_by_role("button", name="Measure times").click()
    stepper._measure = page.evaluate("data._measure")
    page.evaluate(
        f"data._measured = {json.dumps(stepper._measured)}; heard['change:_measured'].forEach((f) => f())"
    )
    expect(says).to_contain_text(
        f"Saved values hold 0 bytes at step {len(held) - 1}. Most: {size(cost.peak)}, at step {cost.peak_at}."
    )
    expect(page.locator(".agl-cost > small")).not_to_contain_text(DROPPED)
    expect(curve).to_have_count(1)
    expect(curve).to_have_attribute("aria-label", re.compile(r"; 0 bytes at the end$"))
    until = page.locator(".agl-cost tbody td:nth-of-type(5)").all_inner_texts()
    assert {x for x in until if x != "\u2013"} == {str(one.until) for one in cost.nodes}
    curve.click(position={"x": 2, "y": 20})
    expect(page.locator(".agl-count")).to_have_text(f"0 / {len(stepper.trace)}")


@pytest.mark.parametrize(
    ("stepper", "why"),
    [
        (lambda: lab.step(lab.step(network, *inputs()).trace), "Times need a function to run again: lab.step(fn, *inputs)."),
        (lambda: lab.step(network, *inputs()), "Times need a kernel, and this is a saved copy."),
    ],
)  # fmt: skip
def test_where_nothing_can_be_measured_the_button_says_why(bare, stepper, why):
    made = stepper()
    if "kernel" in why:
        made._kernel = False
    page = opened(bare().show(made))
    button = page.get_by_role("button", name="Measure times")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(page.locator(".agl-cost-do")).to_contain_text(why)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (1024, 700), (390, 800)], ids=lambda s: f"{s[0]}x{s[1]}")
def test_it_fits_and_is_accessible(bare, size, dark):
    page = opened(bare(size=size, dark=dark).show(lab.step(saving, *inputs())))
    page.get_by_role("button", name="Go to the peak").click()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert [
        one["id"]
        for one in violations(page)
        if one["id"]
        not in ("region", "page-has-heading-one", "document-title", "html-has-lang", "landmark-one-main")
    ] == []


CUT = """() => [...document.querySelectorAll(".agl-cost :is(th, td)")].filter((cell) => {
  const e = cell.getBoundingClientRect(), pane = document.querySelector(".agl-cost").getBoundingClientRect();
  return !e.width || e.right > pane.right || e.bottom > pane.bottom + 1;
}).map((cell) => cell.textContent)"""
EDGES = """() => [...document.querySelectorAll(".agl-cost tbody tr")].map((row) =>
  [row.dataset.on, getComputedStyle(row.firstChild).borderLeftColor, getComputedStyle(row.firstChild).borderLeftWidth])"""


@pytest.mark.parametrize("width", [718, 794, 1000])
def test_on_paper_nothing_is_cut_off(bare, width):
    page = opened(bare(size=(width, 1000)).show(lab.step(saving, *inputs())))
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    assert page.locator(".agl-svg").first.bounding_box()["height"] > 300
    assert page.get_by_role("button", name="Measure times").is_hidden()


@pytest.mark.parametrize("colors", ["none", "active"])
def test_what_is_held_now_has_an_edge_not_a_tint_alone(bare, colors):
    stepper = lab.step(network, *inputs())
    page = opened(bare(size=(1024, 700)).show(stepper))
    page.emulate_media(forced_colors=colors)
    cost = lab.cost(stepper.trace)
    half = (cost.peak_at + len(stepper.trace)) // 2  # some have let go
    page.get_by_role("slider", name="Position").fill(str(half))
    edges = page.evaluate(EDGES)
    held, others = ({color for on, color, _ in edges if on == which} for which in "10")
    assert {width for *_, width in edges} == {"3px"}
    assert len(held) == len(others) == 1
    assert held != others
