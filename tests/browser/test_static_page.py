"""Define-by-run beside captured, and a compiled node opened, in real Chromium as saved pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import labserver  # noqa: F401 - the hand-made traces
import pytest
from playwright.sync_api import Page, expect
from tabs import violations

import autograd_lab as torch
from autograd_lab import lab

SIZES = [(1024, 768), (1280, 800)]


@pytest.fixture
def opened(visit: Any, tmp_path: Path) -> Any:
    """Opens a widget as a saved page."""

    def show(widget: Any, size: tuple[int, int] = (1280, 800), scheme: str = "light") -> Page:
        path = tmp_path / "page.html"
        widget.save_html(path)
        page, _ = visit(path, size, color_scheme=scheme)
        page.wait_for_selector(".agl-root")
        return page

    return show


def layers(x: Any, w: Any, n: int) -> Any:
    h = x
    for _ in range(n):
        h = torch.tanh(h * w)
    return (h * h + h * h).sum()


def compared() -> Any:
    x, w = torch.full((2, 3), 0.5, requires_grad=True), torch.full((3,), 0.3, requires_grad=True)
    return lab.compare_static(layers, x, w, 3).again(x, w, 2)


@pytest.mark.parametrize(
    ("view", "parts"),
    [("run", ["agl-operations", "agl-drawing"]), ("passes", ["agl-rows"]), ("source", ["agl-sources"])],
)
def test_every_view_is_there_on_a_narrow_page(opened: Any, view: str, parts: list[str]) -> None:
    """A projector at 150 % zoom: what shares out a height elsewhere had none there, and could not be seen."""
    page = opened(compared().show(view), size=(690, 900))
    for part in parts:
        for i in range(page.locator(f".{part}").count()):
            assert page.locator(f".{part}").nth(i).bounding_box()["height"] > 100, (part, i)


def test_the_dynamic_graph_grows_while_the_captured_one_stands(opened: Any) -> None:
    c = compared()
    c.run, c.position = 0, 0
    page = opened(c)
    dynamic, captured = (page.locator(f".agl-drawing >> nth={i}") for i in (0, 1))
    seen = ".agl-op:not([data-state='future'])"
    expect(dynamic.locator(seen)).to_have_count(0)
    expect(captured.locator(seen)).to_have_count(10)
    page.get_by_role("button", name="Step", exact=True).click()
    page.get_by_role("button", name="Step", exact=True).press("ArrowRight")
    expect(dynamic.locator(seen)).to_have_count(2)
    expect(captured.locator(".agl-op[data-state='now']")).to_have_text("tanh2\N{MULTIPLICATION SIGN}3")
    expect(page.locator(".agl-line[data-lit]")).to_contain_text("h = torch.tanh(h * w)1 of 3 turns")
    page.get_by_label("Run", exact=True).select_option("1")
    expect(page.locator(".agl-held")).to_contain_text("A guard is missed; at the capture it was: n is 3.")
    expect(captured.locator(".agl-op")).to_have_count(8)


def test_the_passes_are_stepped_change_by_change(opened: Any) -> None:
    page = opened(compared().show("passes"))
    page.get_by_role("button", name="3. share").click()
    said = page.locator(".agl-said")
    expect(said).to_have_text("4 changes: step through them.")
    page.keyboard.press("ArrowRight")
    expect(said).to_contain_text("1 of 4, merged: v1 is the same computation as v9")
    before, after = (page.locator(f".agl-rows >> nth={i}") for i in (0, 1))
    expect(before.locator("[data-here='true']")).to_have_count(1)
    expect(before.locator("[data-gone='true']")).to_have_count(4)
    expect(after.locator("[data-here='true'] .agl-word")).to_have_text("stands for both")
    page.keyboard.press("PageDown")
    expect(page.locator(".agl-count")).to_have_text("pass 4 of 8")


@pytest.mark.parametrize(("size", "scheme"), [(SIZES[0], "light"), (SIZES[1], "dark")])
def test_nothing_is_cut_off_and_nobody_meets_a_barrier(
    opened: Any, size: tuple[int, int], scheme: str
) -> None:
    for view in ("run", "passes", "source"):
        page = opened(compared().show(view), size, scheme)
        wide = page.evaluate(
            "[...document.querySelectorAll('.agl, .agl-controls, .agl-head')].filter((e) => e.scrollWidth > e.clientWidth + 1).length"
        )
        assert not wide
        assert violations(page) == []


def test_a_compiled_node_opens_line_by_line(opened: Any) -> None:
    fn = torch.compile(lambda x: (torch.tanh(x) * x).sum())
    x = torch.full((3,), 0.5, requires_grad=True)
    with lab.record() as trace:
        fn(x).backward()
    s = lab.step(trace)
    while "runs its compiled backward" not in s.narration:
        s.step()
    page = opened(s)
    page.get_by_role("button", name="Open the backward").click()
    rows = page.locator(".agl-lines tbody tr")
    count = rows.count()
    assert count == len(s.opened().splitlines()) // 3
    expect(page.locator(".agl-opened .agl-count")).to_have_text(f"{count} of {count} lines have run")
    page.get_by_role("button", name="Before the first line").click()
    expect(page.locator(".agl-lines tr[data-ran='true']")).to_have_count(0)
    page.get_by_role("button", name="Run one line").click()
    expect(page.locator(".agl-lines tr[aria-current='step']")).to_have_count(1)
    expect(rows.first.locator("td").nth(3)).to_contain_text("the rule of SumBackward0")
    page.keyboard.press("Escape")
    expect(page.locator(".agl-zoom-veil")).to_be_hidden()
