"""Groups, search and map of a large graph, in Chromium, from a saved page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networks
import pytest
from playwright.sync_api import Page, expect

from autograd_lab.widgets import step
from autograd_lab.widgets.stepper import Stepper


@pytest.fixture(scope="module")
def stepper() -> Stepper:
    return step(networks.neurons(300))


@pytest.fixture(scope="module")
def saved(stepper: Stepper, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.html"
    stepper.save_html(path)
    return path


@pytest.fixture
def page(visit: Any, saved: Path) -> Page:
    page, _ = visit(saved, reduced_motion="reduce")
    page.wait_for_selector(".agl .agl-svg [data-thing]")
    return page


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def go(page: Page, k: int) -> None:
    page.get_by_role("slider", name="Position").fill(str(k))


def closed(page: Page) -> list[str]:
    """The names of the closed groups in view."""
    return page.locator(".agl-folded .agl-name").all_text_contents()


def status(page: Page, name: str) -> str:
    """What a closed group says about its inside."""
    box = page.locator(".agl-folded[data-thing]", has=page.get_by_text(name, exact=True))
    return box.locator(".agl-grad").text_content() or ""


def test_a_closed_group_counts_what_is_inside(page: Page, stepper: Stepper):
    press(page, "Close all groups")
    press(page, "Fit graph")
    assert "MLP()" in closed(page)
    inside = sum(node["scope"].startswith("MLP()") and node["kind"] == "op" for node in stepper.trace.nodes)
    leaves = sum(node["kind"] == "accumulate" for node in stepper.trace.nodes)
    assert status(page, "MLP()") == f"{inside + leaves} nodes"
    go(page, len(stepper.trace))
    assert status(page, "MLP()") == f"{inside + leaves}/{inside + leaves} done"
    k = next(
        k for k, e in enumerate(stepper.trace, 1) if e["k"] == "pop" and stepper.trace.nodes[e["n"]]["scope"]
    )
    go(page, k)
    assert status(page, "MLP()") == f"0/{inside + leaves} done \u00b7 1 at work"
    assert closed(page) == ["MLP()"]  # stepping opens nothing


def test_groups_open_and_close_by_click(page: Page):
    press(page, "Close all groups")
    press(page, "Fit graph")
    page.locator(".agl-folded", has_text="MLP()").click()
    press(page, "Fit graph")
    assert {"Layer() #1", "Layer() #2"} <= set(closed(page))
    page.locator(".agl-frame-head", has_text="MLP()").click()
    press(page, "Fit graph")
    assert closed(page) == ["MLP()"]


def test_groups_open_and_close_by_keyboard(page: Page):
    press(page, "Close all groups")
    svg = page.locator(".agl-svg")
    svg.focus()
    page.keyboard.press("]")
    spoken = page.locator(".agl-hidden")
    expect(spoken).to_have_text("1, not made yet")
    page.keyboard.press("]")
    expect(spoken).to_contain_text("group MLP(), closed")
    page.keyboard.press("ArrowDown")
    expect(spoken).to_contain_text("SubBackward0")
    page.keyboard.press("]")
    expect(spoken).to_contain_text("PowBackward0")
    for _ in range(2):
        page.keyboard.press("[")
    expect(spoken).to_contain_text("group MLP(), closed")
    page.keyboard.press("Enter")
    expect(spoken).to_contain_text("group MLP(), open")
    page.keyboard.press("-")
    expect(spoken).to_contain_text("group MLP(), closed")
    page.keyboard.press("+")
    expect(spoken).to_contain_text("group MLP(), open")


def test_what_is_at_work_opens_and_closes(page: Page, stepper: Stepper):
    press(page, "Close all groups")
    press(page, "Open what is at work, close it when done")
    pops = [(k, e["n"]) for k, e in enumerate(stepper.trace, 1) if e["k"] == "pop"]
    pops = [(k, n) for k, n in pops if stepper.trace.nodes[n]["scope"]]
    for k, n in pops[:: len(pops) // 9]:
        go(page, k)
        assert page.locator(".agl-grad-fn[data-s~=now]").count() == 1, (k, stepper.trace.nodes[n]["scope"])
        depth = len(stepper.trace.nodes[n]["scope"].split(" / "))
        assert page.locator(".agl-frame").count() <= depth


def test_find(page: Page, stepper: Stepper):
    find = page.get_by_role("searchbox")
    find.fill("tanh")
    count = sum(node["name"] == "TanhBackward0" for node in stepper.trace.nodes)
    found = page.locator(".agl-found")
    expect(found).to_have_text(f"1 of {count}")
    spoken = page.locator(".agl-hidden")
    expect(spoken).to_contain_text("TanhBackward0 #1,")
    find.press("Enter")
    expect(found).to_have_text(f"2 of {count}")
    expect(spoken).to_contain_text("TanhBackward0 #2,")
    find.press("Shift+Enter")
    find.press("Shift+Enter")
    expect(found).to_have_text(f"{count} of {count}")
    press(page, "Next match")
    expect(found).to_have_text(f"1 of {count}")
    assert page.locator(".agl-unit", has_text="TanhBackward0 #1").count() >= 1  # its groups are open now
    page.locator(".agl-svg").focus()
    page.keyboard.press("n")
    expect(found).to_have_text(f"2 of {count}")
    line = networks.Neuron.__call__.__code__.co_firstlineno + 4
    find.fill(f"line {line}")
    expect(found).to_have_text(f"1 of {count}")
    press(page, "Go to the line and step that made it")
    expect(page.locator(".agl-line[data-lit=now] code")).to_have_text("        return torch.tanh(total)")
    find.fill("no such thing")
    expect(found).to_have_text("none")
    find.press("Escape")
    expect(find).to_have_value("")


def test_the_map_moves_the_view(page: Page):
    press(page, "Open all groups")
    press(page, "Follow the active node")
    chart = page.get_by_role("group", name="Map of the graph")
    view = page.locator(".agl-map-view")
    box = chart.bounding_box()
    places = []
    for part in (0.2, 0.8):
        page.mouse.click(box["x"] + part * box["width"], box["y"] + part * box["height"])
        places.append(view.bounding_box())
    assert places[1]["x"] > places[0]["x"]
    assert places[1]["y"] > places[0]["y"]
    chart.focus()
    page.keyboard.press("ArrowUp")
    assert view.bounding_box()["y"] < places[1]["y"]
    assert page.locator(".agl-svg [data-thing]").count() < 400  # only what is in view is in the page


def test_something_is_in_view_before_the_first_step(page: Page):
    press(page, "Open all groups")
    press(page, "Follow the active node")
    assert page.locator(".agl-unit[data-thing]").count() > 0


def test_small_graphs_have_neither_bar_nor_map(visit: Any, tmp_path: Path):
    import samples

    step(samples.diamond()).save_html(tmp_path / "small.html")
    page, _ = visit(tmp_path / "small.html")
    page.wait_for_selector(".agl .agl-svg [data-thing]")
    assert page.locator(".agl-bar, .agl-map").count() == 0
