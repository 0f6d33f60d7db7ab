"""The slider on a page that was saved: one input, its values computed beforehand, without a kernel."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect
from tabs import violations

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.rules import number


def cube(x, w):
    if x > 0:
        return x**3 * w
    return -x if x != -1 else 1 // 0


def deep(x):
    for _ in range(14):
        x = torch.tanh(x) * 1.5
    return x


def leaf(x):
    return torch.tensor(x, requires_grad=True, dtype=torch.float64)


def test_a_saved_page_has_one_slider_that_works(tmp_path, visit):
    s = lab.step(cube, leaf(2.0), torch.tensor(1.0)).goto(20)
    s.save_html(tmp_path / "s.html")
    assert s.inputs["x"].item() == 2  # as it was
    page, noted = visit(tmp_path / "s.html", size=(1024, 700))
    slider, note = page.get_by_role("slider", name="Value of x"), page.locator(".agl-slide-note")
    leaves, count = page.locator(".agl-leaves tbody tr").first, page.locator(".agl-count")
    expect(slider).to_have_attribute("aria-valuetext", "x = 2")
    expect(page.get_by_label("Input of the slider")).to_be_hidden()  # the other input has none
    expect(note).to_have_text("This page moves x alone: w would need a kernel.")
    slider.fill("25")
    expect(leaves).to_contain_text("3")
    expect(page.locator(".agl-svg")).to_contain_text("27")
    expect(count).to_have_text(f"20 / {len(s.trace)}")
    page.get_by_role("button", name="Nudge").click()
    expect(page.locator(".agl-nudge")).to_contain_text("gradient 27")
    expect(page.locator(".agl-nudge")).to_contain_text("/ h = 27.009001")
    expect(page.locator(".agl-nudge circle")).to_have_count(15)
    assert [one for one in violations(page) if one["impact"] in ("serious", "critical")] == []
    slider.focus()
    page.keyboard.press("Home")
    expect(note).to_have_text(re.compile("^The program takes another path here: "))
    expect(slider).to_be_focused()
    steps = int(count.inner_text().split(" / ")[1])
    assert steps != len(s.trace)
    slider.fill("5")
    expect(note).to_have_text(
        re.compile(
            r"^With this value the function raises ZeroDivisionError: .*The picture stays at x = -2\.$"
        )
    )
    slider.fill("20")
    expect(leaves).to_contain_text("2")
    expect(note).to_have_text(re.compile("another path here: 26 steps"))
    assert noted == []


def test_30_nodes_with_41_values_are_less_than_a_megabyte(tmp_path, visit):
    s = lab.step(deep, leaf(0.7)).last()
    s.save_html(tmp_path / "s.html")
    assert (tmp_path / "s.html").stat().st_size < 600_000
    page, noted = visit(tmp_path / "s.html")
    slider = page.get_by_role("slider", name="Value of x")
    expect(slider).to_have_attribute("max", "40")
    for stop, x in (("0", -0.9), ("40", 2.3), ("21", 0.78)):
        slider.fill(stop)
        own = leaf(x)
        deep(own).backward()
        cells = page.locator(".agl-leaves tbody tr").first.locator("td")
        expect(cells.nth(1)).to_have_text(number(own.grad.item()))
        expect(slider).to_have_attribute("aria-valuetext", f"x = {x}")
    assert noted == []


WRITTEN_AGAIN = """() => {
  window.again = [];
  window.written = 0;
  new MutationObserver((records) => {
    for (const { type, target, attributeName: name, oldValue, removedNodes: [out], addedNodes: [into] } of records) {
      const same = type === "attributes" ? target.getAttribute(name) === oldValue : out?.nodeType === 3 && out.data === into?.data;
      window.written++;
      if (same && !target.closest(".agl-edit")) window.again.push(`${target.tagName} ${target.className.baseVal ?? target.className} ${name ?? out.data}`);
    }
  }).observe(document.querySelector(".agl"), { subtree: true, childList: true, attributes: true, attributeOldValue: true });
}"""
"""Notes what is written into the page and was there already."""


def test_what_stays_the_same_is_not_written_again(tmp_path, visit):
    """A browser would lay it out anew, which takes longer than all else that an update does. Only the cell that can be edited is made anew."""

    def far(x):
        others = [leaf(float(i)) for i in range(6)]
        return deep(x) + sum(w * 2 for w in others)

    lab.step(far, leaf(0.7)).last().save_html(tmp_path / "s.html")
    page, noted = visit(tmp_path / "s.html")
    slider = page.get_by_role("slider", name="Value of x")
    slider.fill("21")
    expect(slider).to_have_attribute("aria-valuetext", "x = 0.78")
    page.evaluate(WRITTEN_AGAIN)
    slider.fill("22")
    expect(slider).to_have_attribute("aria-valuetext", "x = 0.86")
    assert page.evaluate("window.written") > 5
    assert page.evaluate("window.again") == []
    assert noted == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"slider": False}, "The slider needs a kernel, and this is a saved copy."),
        ({"slider": True}, "The slider needs a kernel: this page leaves it out, since 41 runs of a graph of 29 nodes are too large for it."),
        ({"slider": True}, "This page has room for 11 places of the slider."),
    ],
    ids=["left out", "too large", "fewer"],
)  # fmt: skip
def test_what_a_page_leaves_out_it_says(tmp_path, visit, monkeypatch, options, said):
    s = lab.step(deep, leaf(0.7)).last()
    s.save_html(tmp_path / "s.html", slider=False)
    size = (tmp_path / "s.html").stat().st_size
    room = 40_000 if "room for" in said else 30_000
    monkeypatch.setattr("autograd_lab.widgets.shown.MOST", size + room)
    s.save_html(tmp_path / "s.html", **options)
    assert (tmp_path / "s.html").stat().st_size < size + room
    page, _ = visit(tmp_path / "s.html")
    expect(page.locator(".agl-slide-note")).to_have_text(said)
    slider = page.get_by_role("slider", name="Value of x")
    if "room for" in said:
        expect(slider).to_have_attribute("max", "10")
        slider.fill("10")
        expect(slider).to_have_attribute("aria-valuetext", "x = 2.3")
        expect(page.locator(".agl-leaves tbody tr").first).to_contain_text("2.3")
    else:
        expect(slider).to_be_disabled()
        expect(page.get_by_role("button", name="Nudge")).to_be_disabled()


def test_the_input_of_the_slider_can_be_chosen(tmp_path):
    s = lab.step(lambda a, b: a * b, leaf(2.0), leaf(3.0))
    assert [one["name"] for one in s.carried(None, 10**6)["_inputs"] if one["stops"]] == ["a"]
    assert [one["name"] for one in s.carried("b", 10**6)["_inputs"] if one["stops"]] == ["b"]
    with pytest.raises(ValueError, match="no slider for 'c': the inputs that are one number are a, b"):
        s.save_html(tmp_path / "s.html", slider="c")
