"""An exercise in real JupyterLab: the verdict on a wrong program, and the button that opens its counter-example."""

from __future__ import annotations

from labserver import Lab, Notebook
from playwright.sync_api import Browser, Page, expect

IMPORTS = "import autograd_lab as torch\nfrom autograd_lab import lab"
NO_DIVISION = "def central_difference(f, x, h=1e-6):\n    return [0.0] * len(x)"
SWAPPED = "def build(a, b):\n    return a + a * torch.exp(b)"
BUTTON = "Step through this case"


def button(page: Page):
    return page.get_by_role("button", name=BUTTON)


def test_a_button_opens_the_failed_case_and_closes_it(browser: Browser, lab: Lab):
    notebook = Notebook.open(browser, lab, [IMPORTS, SWAPPED, 'lab.check("02.4", build)'], theme="Dark")
    notebook.run()
    page = notebook.page
    expect(page.locator("code", has_text='lab.check("02.4", build).step()')).to_be_visible()
    assert button(page).get_attribute("aria-expanded") == "false"
    button(page).click()
    notebook.wait_for_stage()
    assert button(page).get_attribute("aria-expanded") == "true"
    notebook.button("Last").click()
    expect(notebook.stage.get_by_text("AddBackward0").first).to_be_visible()

    before = notebook.cells()
    button(page).focus()
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert notebook.cells() == before, "the keys of a cell reach through the button"

    button(page).click()
    expect(notebook.stage).to_have_count(0)
    notebook.close()


def test_a_verdict_read_again_later_has_no_dead_button(browser: Browser, lab: Lab):
    notebook = Notebook.open(browser, lab, [IMPORTS, SWAPPED, 'lab.check("02.4", build)'])
    notebook.run()
    expect(button(notebook.page)).to_be_visible()
    notebook.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
    notebook.page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty", polling=50)
    notebook.close()
    again = Notebook.open_file(browser, lab, notebook.path)
    expect(again.page.get_by_text("02.4: not right yet")).to_be_visible()
    again.page.wait_for_timeout(1500)  # the widget manager has looked for its model by now
    expect(again.page.get_by_text("model not found").locator("visible=true")).to_have_count(0)
    again.close()


def test_a_case_without_tensors_has_no_button(browser: Browser, lab: Lab):
    notebook = Notebook.open(browser, lab, [IMPORTS, NO_DIVISION, 'lab.check("01.3", central_difference)'])
    notebook.run()
    expect(notebook.page.get_by_text("01.3: not right yet")).to_be_visible()
    expect(button(notebook.page)).to_have_count(0)
    notebook.close()
