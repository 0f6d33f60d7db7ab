"""Predicting, being the engine, changing inputs and presenting, in real JupyterLab."""

from __future__ import annotations

import json
import re

import pytest
from labserver import Lab, Notebook, eventually
from playwright.sync_api import Browser, expect

from autograd_lab.tracing import Trace
from autograd_lab.tracing.questions import ALWAYS, ENGINE, questions

CELL = """import autograd_lab as torch
from autograd_lab import lab
def f(a, k):
    b = a * a
    c = b * k
    return b * c
s = lab.step(f, torch.tensor(1.7, requires_grad=True), torch.tensor(3.1), {})
s"""


def show(browser: Browser, lab: Lab, *cells: str, **options) -> Notebook:
    notebook = Notebook.open(browser, lab, list(cells), **options)
    notebook.run()
    expect(notebook.stage.first).to_be_visible()
    expect(notebook.stage.first.get_by_role("status")).not_to_be_empty()
    return notebook


def quiz(notebook: Notebook, level: int) -> list[dict]:
    return [
        q
        for q in questions(Trace.from_json(notebook.evaluate("print(s.trace.to_json())")))
        if q["level"] & level
    ]


def everything(notebook: Notebook) -> str:
    """All the browser knows of the stepper: text, attributes, values of fields, and what is read aloud."""
    stage = notebook.stage.first
    fields = stage.evaluate("e => [...e.querySelectorAll('input')].map((i) => i.value).join(' ')")
    return stage.evaluate("e => e.outerHTML") + fields + stage.aria_snapshot()


def records(notebook: Notebook, questions: int, name: str = "predictions") -> list[dict]:
    """What Python has of the answers, once those to so many questions have arrived."""

    def read():
        return json.loads(notebook.evaluate(f"import json; print(json.dumps(s.{name}))"))

    eventually(lambda: len({record["id"] for record in read()}) >= questions, True)
    return read()


def test_nothing_tells_before_the_answer_is_committed(browser, lab):
    """Through a whole trace by keyboard: each answer is nowhere in the page until it is given, then beside the given one."""
    notebook = show(browser, lab, CELL.format("predict=True"))
    asked = quiz(notebook, ALWAYS)
    page, stage = notebook.page, notebook.stage
    known: set[str] = set()
    stage.locator(".agl-svg").focus()
    page.keyboard.press("End")  # as far as it goes: to the question
    for i, q in enumerate(asked):
        expect(stage.locator(".agl-q")).to_have_text(q["ask"])
        assert stage.locator(".agl-count").inner_text().startswith(f"{q['k'] - 1} /")
        page.keyboard.press("Escape") if i == 3 else None
        stage.get_by_role("group", name="Question").locator("input, .agl-choice").locator(
            "visible=true"
        ).first.focus()
        if q["type"] == "node":
            engine = stage.get_by_role("region", name="Engine").inner_text()
            assert q["shown"] not in engine.split("Saved")[0]
            assert "ready" not in notebook.narration.replace("Is a node ready now?", "")
            stage.locator(".agl-svg").focus()
            for _ in range(4):  # a walk over the graph is read aloud
                page.keyboard.press("ArrowDown")
                spoken = stage.locator(".agl-graph > .agl-hidden").inner_text()
                assert spoken
                assert "ready" not in spoken
                assert "are here" not in spoken
            stage.locator(".agl-choice").first.focus()
            options = stage.locator(".agl-choice").all_inner_texts()
            page.keyboard.press(str(1 + next(j for j, text in enumerate(options) if q["shown"] in text)))
        else:
            if "What does it send" in q["ask"]:  # the local derivative would tell
                expect(stage.locator(".agl-jacobian")).to_have_count(0)
            if q["shown"] not in known and q["shown"] not in q["ask"] and "." in q["shown"]:
                assert q["shown"] not in everything(notebook)
            page.keyboard.type("999" if i % 3 == 1 else q["shown"])
            page.keyboard.press("Enter")
        known.add(q["shown"])
        note = stage.locator(".agl-note")
        expect(note).to_contain_text(q["shown"])
        expect(note).to_contain_text("Wrong" if i % 3 == 1 and q["type"] != "node" else "Right")
        page.keyboard.press("Enter")
    expect(stage.locator(".agl-count")).to_have_text("35 / 35")
    found = records(notebook, len(asked))
    assert [r["correct"] for r in found] == [i % 3 != 1 or q["type"] == "node" for i, q in enumerate(asked)]
    assert [r["question"] for r in found] == [q["ask"] for q in asked]
    eventually(lambda: notebook.evaluate("print(repr(s.question), s.score['open'])"), "'' 0")
    assert notebook.cells() == 1
    notebook.close()


def test_no_way_leads_over_an_open_question(browser, lab):
    notebook = show(browser, lab, CELL.format("predict=True"))
    stage = notebook.stage
    for name in ("Step", *["Step: Answer, or Show me"] * 2):
        notebook.button(name).click()
    expect(stage.locator(".agl-count")).to_have_text("1 / 35")
    for name in ("Last: Answer, or Show me", "Next node", "Next event of this kind", "Play"):
        notebook.button(name).click()
        notebook.page.wait_for_timeout(150)
        expect(stage.locator(".agl-count")).to_have_text("1 / 35")
    stage.get_by_role("slider", name="Position").fill("30")
    expect(stage.locator(".agl-count")).to_have_text("1 / 35")
    stage.get_by_role("tab", name="Table").click()
    stage.locator(".agl-table .agl-tr[data-i]").last.click()
    expect(stage.locator(".agl-count")).to_have_text("1 / 35")
    assert "2.89" not in everything(notebook)
    notebook.button("Show me").click()
    expect(stage.locator(".agl-note")).to_contain_text("Not answered")
    expect(stage.locator(".agl-note")).to_contain_text("2.89")
    expect(stage.locator(".agl-count")).to_have_text("2 / 35")
    (record,) = records(notebook, 1)
    assert (record["given"], record["correct"], record["verdict"]) == (None, None, "shown")
    notebook.close()


def test_a_known_mistake_is_named_and_an_unreadable_answer_is_not_counted(browser, lab):
    notebook = show(browser, lab, CELL.format('predict=["grad"]'))
    stage, page = notebook.stage, notebook.page
    notebook.button("Last").click()
    field = stage.locator(".agl-answer")
    expect(field).to_be_focused()
    page.keyboard.type("four")
    page.keyboard.press("Enter")
    expect(stage.locator(".agl-note")).to_have_text("Write a number, please, like 24, -0.5, 1/3 or [1, 2].")
    expect(field).to_be_focused()
    field.fill("2.89")
    page.keyboard.press("Enter")
    expect(stage.locator(".agl-note")).to_contain_text("The factors swap")
    expect(notebook.button("Next question")).to_be_focused()
    (record,) = records(notebook, 1)
    assert record["misconception"] == "swapped"
    assert record["note"] == json.loads(notebook.evaluate("print(json.dumps(s.predictions[0]['note']))"))
    notebook.close()


SCROLLED = "() => [...document.querySelectorAll('.jp-WindowedPanel-outer, .jp-Notebook')].reduce((sum, e) => sum + e.scrollTop, 0)"
"""How far the notebook is scrolled."""

AT_REST = f"""async () => {{
  const scrolled = {SCROLLED};
  let before = scrolled(), since = performance.now();
  while (performance.now() < since + 1500) {{
    await new Promise((done) => setTimeout(done, 20));
    const now = scrolled();
    if (now !== before) [before, since] = [now, performance.now()];
  }}
  return before;
}}"""
"""The same once JupyterLab, which measures cells late after a run, has left it in place for a second and a half."""


@pytest.mark.parametrize("key", [" ", "ArrowRight"])
def test_one_key_leads_on_after_an_answer_and_the_notebook_stays(browser, lab, key):
    """From the first question to the end with Enter and this key; nothing else ever has the focus than a part of the stepper."""
    notebook = show(browser, lab, CELL.format("predict=True"), *["1"] * 30, size=(1024, 700))
    stage, page = notebook.stage, notebook.page
    page.evaluate(AT_REST)  # JupyterLab goes to the last cell that ran, sometimes late
    notebook.button("Last").click()
    expect(stage.locator(".agl-answer")).to_be_focused()
    stage.locator(".agl-answer").scroll_into_view_if_needed()
    before = page.evaluate(AT_REST)
    for q in quiz(notebook, ALWAYS):
        while stage.locator(".agl-q").inner_text() != q["ask"]:
            page.keyboard.press(key)
            assert stage.evaluate("e => e.contains(document.activeElement)")
        if q["type"] == "node":
            stage.locator(".agl-choice").first.press("1")
        else:
            page.keyboard.type("1")
            page.keyboard.press("Enter")
        expect(notebook.button("Next question").or_(notebook.button("To the end"))).to_be_focused()
        page.keyboard.press(key)
        assert stage.evaluate("e => e.contains(document.activeElement)")
        assert page.evaluate(SCROLLED) == before
    eventually(lambda: notebook.evaluate("print(s.score['open'])"), "0")
    notebook.close()


def test_step_and_last_say_what_they_wait_for(browser, lab):
    notebook = show(browser, lab, CELL.format("predict=True"))
    stage = notebook.stage
    expect(notebook.button("Step")).to_have_attribute("title", "Step")
    notebook.button("Last").click()
    for name in ("Step", "Last"):
        held = notebook.button(f"{name}: Answer, or Show me")
        expect(held).to_have_text("Answer, or Show me")
        assert held.evaluate("e => e.scrollWidth <= e.clientWidth")
        stage.locator(".agl-answer").fill("5")
        held.click()
        expect(stage.locator(".agl-note")).to_have_text("Answer, or Show me.")
        expect(stage.locator(".agl-answer")).to_be_focused()
    notebook.button("Show me").click()
    for name, word in (("Step", "Step"), ("Last", "")):
        expect(notebook.button(name)).to_have_attribute("title", name)
        expect(notebook.button(name)).to_have_text(word)
    notebook.button("Step").click()
    stage.get_by_role("combobox", name="Mode").select_option("watch")
    expect(notebook.button("Step")).to_have_attribute("title", "Step")
    notebook.close()


def test_the_field_says_what_is_wanted(browser, lab):
    cell = """import autograd_lab as torch
from autograd_lab import lab
def f(a, k):
    b = a * k
    return b.sum()
s = lab.step(f, torch.tensor([1.5, 2.5], requires_grad=True), torch.tensor([3.0, 4.0]), predict=True)
s"""
    notebook = show(browser, lab, cell)
    field = notebook.stage.locator(".agl-answer")
    notebook.button("Last").click()
    seen = {}
    for _ in range(4):
        seen[notebook.stage.locator(".agl-q").inner_text()] = field.get_attribute("placeholder")
        notebook.button("Show me").click()
        notebook.button("Next question").or_(notebook.button("To the end")).click()
    assert seen == {
        "Next, mul runs on a = [1.5, 2.5] and k = [3, 4]. What is b?": "numbers like [1, 2]",
        "Next, sum runs on b = [4.5, 10]. What is the result?": "a number",
        "SumBackward0 got g = 1. What does it send to b?": "numbers like [1, 2], or None",
        "MulBackward0 got g = [1, 1]. What does it send to a?": "numbers like [1, 2], or None",
    }
    notebook.close()


def test_two_views_of_one_stepper_stay_in_step(browser, lab):
    notebook = show(browser, lab, CELL.format("predict=True"), "s")
    views = notebook.page.get_by_role("group", name="Autograd stepper")
    expect(views).to_have_count(2)
    first, second = views.nth(0), views.nth(1)
    first.get_by_role("button", name="Last").click()
    for view in (first, second):
        expect(view.locator(".agl-q")).to_contain_text("What is b?")
    first.locator(".agl-answer").fill("2.89")
    first.get_by_role("button", name="Commit").click()
    for view in (first, second):
        expect(view.locator(".agl-note")).to_contain_text("Right")
        expect(view.locator(".agl-score")).to_have_text("1 of 13 right")
    second.get_by_role("button", name="Next question").click()
    expect(first.locator(".agl-q")).to_contain_text("What is c?")
    notebook.evaluate("s.predict('1')")
    for view in (first, second):
        expect(view.locator(".agl-note")).to_contain_text("Wrong")
        expect(view.locator(".agl-note")).to_contain_text("8.959")
    assert len(records(notebook, 2)) == 2
    notebook.close()


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_being_the_engine_with_the_keyboard_alone(browser, lab, theme):
    notebook = show(browser, lab, CELL.format('mode="engine"'), theme=theme, reduced_motion="reduce")
    page, stage = notebook.page, notebook.stage
    stage.locator(".agl-svg").focus()
    page.keyboard.press("End")
    expect(stage.locator(".agl-q")).to_have_text("Which node does the engine take next?")
    assert page.evaluate("document.activeElement.className") == "agl-choice"
    asked = quiz(notebook, ENGINE)
    for q in asked:
        expect(stage.locator(".agl-q")).to_have_text(q["ask"])
        if q["type"] == "node":
            options = [
                option.split("\\n")[-1].lstrip("123456789").strip()
                for option in stage.locator(".agl-choice").all_inner_texts()
            ]
            wrong = [
                n for n, verdict, _, note in q["options"] if verdict == "wrong" and "1 of 2 messages" in note
            ]
            if wrong:
                page.keyboard.press(str(1 + [n for n, *_ in q["options"]].index(wrong[0])))
                expect(stage.locator(".agl-note")).to_contain_text(
                    "still waits: 1 of 2 messages have arrived"
                )
                expect(stage.locator(".agl-count")).to_have_text(f"{q['k'] - 1} / 35")
            page.keyboard.press(str(1 + options.index(q["shown"])))
        else:
            if q["shown"] == "17.92":
                page.keyboard.type("0.5")
                page.keyboard.press("Enter")
                expect(stage.locator(".agl-note")).to_contain_text("try again")
                expect(stage.locator(".agl-answer")).to_be_focused()
                expect(stage.locator(".agl-note")).not_to_contain_text("17.92")
            page.keyboard.type(q["shown"])
            page.keyboard.press("Enter")
    expect(stage.locator(".agl-count")).to_have_text("35 / 35")
    log = records(notebook, len(asked), "engine_log")
    assert [r["verdict"] for r in log].count("wrong") == sum(r["attempt"] > 1 for r in log)
    assert len({r["id"] for r in log}) == len(asked)
    assert (
        notebook.evaluate("print(s.score['right'] + s.score['wrong'], s.score['of'])")
        == f"{len(asked)} {len(asked)}"
    )
    played = json.loads(
        notebook.evaluate("import json; p = s.engine_answer; print(json.dumps([p.clicked, p.slip, p]))")
    )
    assert played[0] is True
    assert "still waits: 1 of 2 messages" in played[1]
    names, gradients = zip(
        *played[2], strict=True
    )  # b twice: refused, and then with the 0.5 of the first try
    assert names == ("MulBackward0 #3", "b", "c", "b", "a")
    assert gradients == (1, 8.959, 2.89, 0.5, 60.92)
    assert notebook.cells() == 1
    notebook.close()


def test_a_node_is_chosen_by_a_click_on_the_graph(browser, lab):
    # without motion: a node that glides is not where it was when it is clicked
    notebook = show(browser, lab, CELL.format('mode="engine"'), reduced_motion="reduce")
    stage = notebook.stage
    notebook.button("Go to the question").click()
    stage.evaluate(
        "e => e.scrollIntoView({ block: 'end' })"
    )  # else the question, which sticks to the window, lies over the last node
    stage.locator(".agl-grad-fn", has_text="MulBackward0 #1").click()  # once it stands still
    expect(stage.locator(".agl-note")).to_contain_text("MulBackward0 #1 still waits: 0 of 2")
    stage.locator(".agl-grad-fn", has_text="MulBackward0 #3").click()
    expect(stage.locator(".agl-q")).to_contain_text("MulBackward0 #3 got g = 1.")
    expect(stage.locator(".agl-note")).to_contain_text("Before: Which node does the engine take next?")
    expect(stage.locator(".agl-answer")).to_be_visible()
    eventually(lambda: [r["verdict"] for r in records(notebook, 1, "engine_log")], ["wrong", "right"])
    notebook.close()


def test_the_modes_are_switched_in_the_widget(browser, lab):
    notebook = show(browser, lab, CELL.format("position=35"))
    stage = notebook.stage
    expect(stage.locator(".agl-ask")).to_be_hidden()
    mode = stage.get_by_role("combobox", name="Mode")
    mode.select_option("predict")
    expect(stage.locator(".agl-count")).to_have_text("0 / 35")  # all had been seen: from the start
    expect(stage.locator(".agl-q")).to_have_text("The next question comes before step 2.")
    eventually(
        lambda: notebook.evaluate("print(s.mode, s.position, s.question)"),
        "predict 0 Next, mul runs on a = 1.7 and a = 1.7. What is b?",
    )
    mode.select_option("watch")
    expect(stage.locator(".agl-ask")).to_be_hidden()
    notebook.button("Last").click()
    expect(stage.locator(".agl-count")).to_have_text("35 / 35")
    notebook.close()


def test_an_input_is_changed_in_the_leaf_table(browser, lab):
    notebook = show(browser, lab, CELL.format("position=20"))
    stage, page = notebook.stage, notebook.page
    stage.get_by_role("button", name="Change a, now 1.7").focus()
    page.keyboard.press("Enter")
    field = stage.get_by_role("textbox", name="New value of a")
    expect(field).to_be_focused()
    expect(field).to_have_value("1.7")
    field.fill("two")
    page.keyboard.press("Enter")
    expect(stage.get_by_role("alert")).to_have_text(
        "Write a number, please, like 24, -0.5, 1/3 or [1, 2]. a stays as it is."
    )
    expect(field).to_be_focused()
    field.fill("2")
    page.keyboard.press("Enter")
    expect(stage.get_by_role("button", name="Change a, now 2")).to_be_focused()
    expect(stage.locator(".agl-count")).to_have_text("20 / 35")
    expect(stage.get_by_role("alert")).to_be_hidden()
    notebook.button("Last").click()
    expect(stage.locator(".agl-leaves tbody tr").first).to_contain_text("99.2")
    assert notebook.evaluate("print(s.inputs['a'].item(), s.position)").startswith("2.0")
    assert "def f(a, k):" in stage.get_by_role("region", name="Code").inner_text()
    notebook.button("Reset inputs").click()
    expect(stage.get_by_role("button", name="Change a, now 1.7")).to_be_visible()
    expect(stage.get_by_role("button", name="Reset inputs")).to_be_hidden()
    stage.get_by_role("button", name="Change a, now 1.7").click()
    page.keyboard.press("Escape")
    expect(stage.get_by_role("button", name="Change a, now 1.7")).to_be_focused()
    assert notebook.cells() == 1
    notebook.close()


def test_a_changed_input_stays_in_sight(browser, lab):
    """The last of six rows, in a table that shows two: the new film's table was at its top again."""
    cell = (
        "import autograd_lab as torch\nfrom autograd_lab import lab\n"
        "def f(a, b, c, d, e, g):\n    return a + b + c + d + e + g\n"
        "s = lab.step(f, *[torch.tensor(float(n), requires_grad=True) for n in range(6)]).last()\ns"
    )
    notebook = show(browser, lab, cell)
    stage, page = notebook.stage, notebook.page
    edit = stage.get_by_role("button", name=re.compile("^Change "))
    edit.last.click()
    page.keyboard.type("7")
    page.keyboard.press("Enter")
    expect(edit.last).to_have_accessible_name(re.compile("now 7$"))
    expect(edit.last).to_be_focused()
    inside = """(b) => { const r = b.getBoundingClientRect(), p = b.closest(".agl-leaves").getBoundingClientRect();
                        return r.top >= p.top && r.bottom <= p.bottom; }"""
    assert edit.last.evaluate(inside)
    assert not edit.first.evaluate(inside)  # else nothing was tested
    notebook.close()


@pytest.mark.parametrize("size", [(1024, 768), (1920, 1080)], ids=str)
def test_presenting(browser, lab, size):
    notebook = show(browser, lab, CELL.format("position=20"), size=size)
    stage, page = notebook.stage, notebook.page
    stage.locator(".agl-svg").focus()
    page.keyboard.press("p")
    expect(notebook.button("Present")).to_have_attribute("aria-pressed", "true")
    box = stage.bounding_box
    eventually(
        lambda: [abs(box()[side] - most) <= 2 for side, most in zip(("width", "height"), size, strict=True)],
        [True, True],
    )
    small = stage.evaluate(
        """e => [...e.querySelectorAll("*")].filter((x) => x.checkVisibility() && !x.closest("svg.agl-heat, .agl-live, .agl-cap")
             && [...x.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim())
             && x.getBoundingClientRect().width > 1)
           .map((x) => { const m = x.getScreenCTM?.(); return [x.textContent.slice(0, 30), x.getAttribute("class") ?? x.tagName, parseFloat(getComputedStyle(x).fontSize) * (m ? m.a : 1)]; })
           .filter(([, , size]) => size < 19.9)"""
    )
    assert small == []
    heights = stage.evaluate(
        "e => [...e.querySelectorAll('button, select')].filter((x) => x.checkVisibility()).map((x) => x.offsetHeight)"
    )
    assert min(heights) >= 44
    for key, step in (("PageDown", 22), ("PageUp", 16), ("ArrowRight", 17)):
        page.keyboard.press(key)
        expect(stage.locator(".agl-count")).to_have_text(f"{step} / 35")
    page.keyboard.press("b")
    expect(stage.get_by_text("The numbers are behind the curtain.")).to_be_visible()
    assert not stage.get_by_role("status").is_visible()
    assert "8.959" not in stage.inner_text()
    assert "8.959" not in stage.aria_snapshot()
    page.keyboard.press("c")
    expect(stage.get_by_role("status")).to_be_visible()
    page.keyboard.press("?")
    expect(stage.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(stage.get_by_role("dialog", name="Keys")).to_be_hidden()
    page.keyboard.press("f")
    expect(notebook.button("Present")).to_have_attribute("aria-pressed", "false")
    eventually(lambda: box()["height"] < size[1], True)
    assert notebook.cells() == 1
    notebook.close()


def test_a_clicker_shows_the_answer_to_a_class(browser, lab):
    """In front of a class nobody types: the next press on an open question shows its answer."""
    notebook = show(browser, lab, CELL.format('predict=["value"]'))
    stage, page = notebook.stage, notebook.page
    stage.locator(".agl-svg").focus()
    page.keyboard.press("p")
    page.keyboard.press("PageDown")
    expect(stage.locator(".agl-q")).to_contain_text("What is b?")
    stage.locator(".agl-svg").focus()
    page.keyboard.press("PageDown")
    expect(stage.locator(".agl-note")).to_contain_text("2.89")
    page.keyboard.press("Escape")
    notebook.close()
