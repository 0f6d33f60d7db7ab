"""An engine of one's own in JupyterLab, stepped by `lab.step_code`: the line that is lit has just run, its variables stand above."""

from __future__ import annotations

import json

import pytest
from labserver import Lab, Notebook, eventually
from playwright.sync_api import Browser, Locator, expect
from tabs import walk

ENGINE = '''from autograd_lab import lab

class Value:
    """A number that records how it was made."""

    def __init__(self, data, inputs=(), slopes=()):
        self.data, self.inputs, self.slopes, self.grad = data, inputs, slopes, 0.0

    def __mul__(self, other):
        return Value(self.data * other.data, (self, other), (other.data, self.data))

    def backward(self):
        """Sends slopes times sums, from the result to the leaves; a long line, so that it has to wrap somewhere in the pane."""
        waiting, stack = {self: 0}, [self]
        while stack:
            for x in stack.pop().inputs:
                if x not in waiting:
                    waiting[x] = 0
                    stack.append(x)
                waiting[x] += 1
        total, ready = {self: 1.0}, [self]
        while ready:
            node = ready.pop()
            if not node.inputs:
                node.grad += total[node]
            for x, slope in zip(node.inputs, node.slopes):
                total[x] = total.get(x, 0.0) + slope * total[node]
                waiting[x] -= 1
                if waiting[x] == 0:
                    ready.append(x)

a, b = Value(2.0), Value(3.0)
y = (a * b) * a
s = lab.step_code(y.backward)
s'''


LOOK = """() => {
  const stage = document.querySelector("[aria-label='Stepper of your code']"), code = stage.querySelector("[aria-label='Your code']");
  const box = (e) => e.getBoundingClientRect().toJSON(), lit = code.querySelector("[data-lit=now]");
  return {
    lit: lit.querySelector("code").innerText, line: box(lit), pane: box(code), whole: code.scrollWidth <= code.clientWidth,
    variables: [...stage.querySelectorAll("[aria-label=Variables] code")].map((e) => e.innerText),
    count: stage.querySelector(".agl-count").innerText,
  };
}"""


def opened(browser: Browser, lab: Lab, code: str, theme: str = "Light") -> tuple[Notebook, Locator]:
    notebook = Notebook.open(browser, lab, [code], theme=theme, size=(1440, 900))
    notebook.run()
    stage = notebook.page.get_by_role("group", name="Stepper of your code")
    expect(stage.get_by_role("status")).not_to_be_empty()
    return notebook, stage


def lines(notebook: Notebook) -> list:
    return json.loads(
        notebook.evaluate(
            "import json, linecache, sys; print(json.dumps([[linecache.getline(Value.backward.__code__.co_filename, l.number).strip(), "
            "l.variables, l.error] for l in s.lines]))"
        )
    )


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_an_engine_of_ones_own(browser: Browser, lab: Lab, theme):
    notebook, stage = opened(browser, lab, ENGINE, theme)
    status = stage.get_by_role("status")
    expect(status).to_have_text("backward is about to run.")
    ran = lines(notebook)
    assert len(ran) > 50
    step = stage.get_by_role("button", name="Step", exact=True)
    looks = walk(step, len(ran), LOOK, drawn=theme == "Light")
    for number, ((line, wanted, _), look) in enumerate(zip(ran, looks, strict=True), 1):
        assert look["lit"].strip() == line
        assert dict(text.split(" = ", 1) for text in look["variables"]) == wanted
        pane, lit = look["pane"], look["line"]
        assert pane["top"] <= lit["top"] + 1
        assert lit["bottom"] <= pane["bottom"] + 1
        assert pane["height"] > 200
        assert look["whole"]
        assert look["count"] == f"{number} / {len(ran)}"
    expect(status).to_contain_text("backward has returned.")
    eventually(lambda: notebook.evaluate("print(s.position)"), str(len(ran)))
    stage.press("Home")
    expect(status).to_have_text("backward is about to run.")
    eventually(lambda: notebook.evaluate("print(s.position)"), "0")
    notebook.evaluate("s.position = 3")
    expect(stage.locator(".agl-count")).to_have_text(f"3 / {len(ran)}")
    notebook.close()


def test_a_wrong_line_is_marked_and_an_endless_loop_ended(browser: Browser, lab: Lab):
    notebook, stage = opened(browser, lab, ENGINE.replace("waiting[x] -= 1", "waiting[y0] -= 1"))
    stage.get_by_role("button", name="To the end", exact=True).click()
    code, status = stage.get_by_role("region", name="Your code"), stage.get_by_role("status")
    assert code.locator("[data-failed] code").all_inner_texts()[0].strip() == "waiting[y0] -= 1"
    expect(status).to_contain_text("backward ended with NameError: name 'y0' is not defined")
    notebook.close()
    notebook, stage = opened(browser, lab, ENGINE.replace("node = ready.pop()", "node = ready[0]"))
    stage.get_by_role("button", name="To the end", exact=True).click()
    expect(stage.locator(".agl-count")).to_have_text("2000 / 2000")
    expect(stage.get_by_role("status")).to_contain_text(
        "Stopped after 2,000 lines, before backward returned."
    )
    notebook.close()
