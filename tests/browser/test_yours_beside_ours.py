"""A piece of a student's engine beside the lab's own: in a saved page, and as a student writes it in JupyterLab."""

from __future__ import annotations

import json

import pytest
from labserver import Lab, Notebook, eventually
from playwright.sync_api import Browser, expect
from tabs import violations, walk

from autograd_lab import lab as teaching
from autograd_lab.course import growing, own_engine
from autograd_lab.widgets.engine_source import rows

LOOK = """() => {
  const stage = document.querySelector("[aria-label='Stepper of your code']");
  return Object.fromEntries(["Your code", "The lab's own"].map((name) => {
    const pane = stage.querySelector(`[aria-label="${name}"]`), lit = pane.querySelector("[data-lit]");
    const [inside, line] = [pane, lit].map((e) => e?.getBoundingClientRect());
    return [name, {
      lit: lit && [lit.dataset.lit, lit.querySelector("code").innerText], count: pane.querySelectorAll("[data-lit]").length,
      seen: !line || (line.top >= inside.top - 1 && line.bottom <= inside.bottom + 1), fits: pane.scrollWidth <= pane.clientWidth,
      width: inside.width, top: inside.top, left: inside.left, height: inside.height,
    }];
  }).concat([["says", stage.querySelector("[role=status]").innerText]]));
}"""
SIZES = [((1440, 900), "light"), ((1024, 700), "dark"), ((640, 900), "light")]


def pieces():
    return {step: getattr(own_engine, growing.FUNCTIONS[step]) for step in growing.ITEMS}


@pytest.mark.parametrize("step", list(growing.ITEMS))
def test_a_saved_page_lights_both_lines(visit, tmp_path, step):
    stepper = teaching.step_code(pieces()[step], beside=step)
    stepper.save_html(tmp_path / "page.html")
    ran = json.loads(stepper._own)
    yours, theirs = rows(ran["parts"]), rows(ran["beside"]["parts"])
    page, noted = visit(tmp_path / "page.html", (1440, 900))
    button = page.get_by_role("button", name="Step", exact=True)
    for (row, _, _, at, did), look in zip(ran["steps"], walk(button, len(ran["steps"]), LOOK), strict=True):
        mine, labs = look["Your code"], look["The lab's own"]
        assert mine["lit"][1].strip() == yours[row][1].strip()
        assert mine["seen"]
        if at < 0:
            assert labs["lit"] is None
            continue
        number, text = theirs[ran["beside"]["steps"][at][0]]
        assert labs["lit"] == ["now" if did else "made", text]
        assert (labs["count"], labs["seen"]) == (1, True)
        assert (f"the lab's line {number}." in look["says"]) is bool(did)
        assert did.lower() in look["says"].lower()
    assert not noted


@pytest.mark.parametrize(("size", "scheme"), SIZES)
def test_both_are_to_be_read_side_by_side_or_one_below_the_other(visit, tmp_path, size, scheme):
    teaching.step_code(own_engine.deliver, beside="deliver").save_html(tmp_path / "page.html")
    page, noted = visit(tmp_path / "page.html", size, color_scheme=scheme)
    page.get_by_role("region", name="Your code").press("End")
    look = page.evaluate(LOOK)
    mine, labs = look["Your code"], look["The lab's own"]
    if size[0] > 800:
        assert mine["top"] == labs["top"]
        assert mine["left"] + mine["width"] <= labs["left"] + 1
    else:
        assert mine["left"] == labs["left"]
        assert mine["top"] + mine["height"] <= labs["top"] + 1
    for one in (mine, labs):
        assert one["seen"]
        assert one["fits"]
        assert one["height"] > 120
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for name in ("Your code", "Variables", "The lab's own", "Variables of The lab's own"):
        expect(page.get_by_role("region", name=name, exact=True)).to_be_visible()
    assert [found["id"] for found in violations(page) if found["impact"] in {"serious", "critical"}] == []
    assert not noted


TAB = """() => {
  const code = document.querySelector(".agl-code"), lit = [...code.querySelectorAll("[data-lit]")], head = code.querySelector(".agl-listings");
  const inside = code.getBoundingClientRect(), line = lit[0]?.getBoundingClientRect();
  return {
    lit: lit.map((one) => [one.dataset.lit, one.querySelector("code").innerText]), says: code.querySelector(".agl-variables p")?.innerText ?? "",
    held: [...code.querySelectorAll(".agl-variables code")].map((one) => one.innerText.split(" = ")), where: code.querySelector(".agl-where").innerText,
    seen: !line || (line.top >= head.getBoundingClientRect().bottom - 1 && line.bottom <= inside.bottom + 1), fits: code.scrollWidth <= code.clientWidth,
  };
}"""


@pytest.mark.parametrize(("size", "scheme"), SIZES)
def test_ones_own_engine_has_a_tab_in_the_stepper(visit, tmp_path, size, scheme):
    stepper = teaching.step(own_engine.backward, beside="accumulate")
    stepper.save_html(tmp_path / "page.html")
    yours = stepper.film["yours"]
    lines = rows(yours["pages"][3])
    page, noted = visit(tmp_path / "page.html", size, color_scheme=scheme)
    tab = page.get_by_role("button", name="your engine", exact=True)
    expect(tab).to_have_attribute("aria-pressed", "true")
    button = page.get_by_role("button", name="Step", exact=True)
    for (_, row, sentence, held, now), look in zip(
        yours["steps"][1:], walk(button, len(stepper.trace), TAB), strict=True
    ):
        assert look["lit"] == ([] if row is None else [["now" if now else "made", lines[row][1] or " "]])
        assert look["says"] == sentence
        assert look["held"] == held
        assert (look["seen"], look["fits"]) == (True, True)
        assert bool(look["where"]) == bool(now)
    assert look["where"] == "backward in your code"
    page.get_by_role("button", name="engine", exact=True).click()
    assert page.evaluate(TAB)["lit"] == [["now", "    while ready and limit:"]]
    tab.click()
    assert page.evaluate(TAB)["lit"][0][1].strip() == "while ready:"
    assert [found["id"] for found in violations(page) if found["impact"] in {"serious", "critical"}] == []
    assert not noted


def test_one_function_alone_is_saved_too(visit, tmp_path):
    a = own_engine.Value(2.0, requires_grad=True)
    y = own_engine.mul(a, own_engine.Value(3.0))
    stepper = teaching.step_code(own_engine.backward, y.grad_fn)
    teaching.save_html(tmp_path / "page.html", stepper, teaching.step(lambda x: x * 2, teaching_tensor()))
    page, noted = visit(tmp_path / "page.html", (1440, 900))
    stage = page.get_by_role("group", name="Stepper of your code")
    stage.get_by_role("region", name="Your code").press("End")
    expect(stage.get_by_role("status")).to_contain_text("backward has returned.")
    expect(stage.get_by_role("region")).to_have_count(2)
    assert "undefined" not in stage.inner_text()
    expect(page.locator(".agl-graph")).to_be_visible()  # the other one
    assert not noted


def teaching_tensor():
    import autograd_lab as torch

    return torch.tensor(1.0, requires_grad=True)


WRONG = "def pop(ready):\n    return ready.pop()"
RIGHT = """def pop(ready):
    ready.sort(key=lambda node: (node.variable is not None, node.number))  # mine
    return ready.pop()"""


def test_a_student_writes_a_piece_sees_it_beside_and_goes_on(browser: Browser, lab: Lab):
    cells = [
        "from autograd_lab import lab",
        WRONG,
        'lab.check("04.5", pop)',
        's = lab.step_code(pop, beside="pop")\ns',
    ]
    notebook = Notebook.open(browser, lab, cells, theme="Dark", size=(1440, 900))
    notebook.run()
    page = notebook.page
    expect(
        page.get_by_text("it was the last to become ready, which is not the last to be made")
    ).to_be_visible()
    stage = page.get_by_role("group", name="Stepper of your code")
    stage.get_by_role("button", name="To the end", exact=True).click()
    expect(stage.get_by_role("status")).to_contain_text("Pop a: the lab's line")
    expect(
        stage.get_by_role("region", name="The lab's own", exact=True).locator("[data-lit=now]")
    ).to_contain_text("heappop")
    eventually(lambda: notebook.evaluate("print(s.position == len(s.lines))"), "True")
    still = page.locator(".agl-still")
    expect(still).to_be_hidden()
    notebook.close()

    cells[1] = RIGHT
    notebook = Notebook.open(browser, lab, cells[:3])
    notebook.run()
    expect(notebook.page.get_by_text("04.5: passed")).to_be_visible()
    notebook.close()

    notebook = Notebook.open(
        browser, lab, ["from autograd_lab import lab", 'engine = lab.engine_so_far("deliver")\nengine']
    )
    notebook.run()
    shown = notebook.page.locator(".jp-OutputArea-output", has_text="# pop: yours, from 04.5")
    expect(shown).to_contain_text("# mine")
    expect(shown).to_contain_text("# record: the course's, 02.7 is still open")
    notebook.close()
    (lab.folder / ".autograd_lab" / "engine.json").unlink()
