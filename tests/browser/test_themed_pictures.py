"""Still pictures in a light and in a dark page: each has the pixels of the picture that is drawn in that theme's colors alone."""

from __future__ import annotations

import base64

import labserver  # noqa: F401 - puts the hand-made traces on the path
import pytest
import samples
from labserver import Notebook
from playwright.sync_api import Browser

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets import static
from autograd_lab.widgets.svg import in_the_dark, svg
from autograd_lab.widgets.themed import themed


def data(picture: str) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(picture.encode()).decode()


def hooks_and_arrays():
    with lab.record() as trace:
        x = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)
        k = (x * 2).detach()
        y = (x @ x).relu() * k
        y.register_hook(lambda g: g * 2)
        y.sum().backward()
        with torch.no_grad():
            x -= 0.1 * x.grad
    return trace


PICTURES = {**samples.SMALL, "hooks and arrays": hooks_and_arrays}


@pytest.mark.parametrize("system", ["light", "dark"])
def test_a_picture_has_the_colors_of_its_page(tab, system):
    page = tab((1000, 1200), color_scheme=system).page

    def pixels(picture: str, scheme: str) -> bytes:
        page.set_content(
            f'<body style="margin:0"><img style="display:block;color-scheme:{scheme}" src="{data(picture)}">'
        )
        page.wait_for_function("document.images[0].complete")
        return page.locator("img").screenshot()

    for name, make in PICTURES.items():
        film = lab.step(make()).film
        light = svg(film)
        with in_the_dark():
            dark = svg(film)
        assert light != dark
        whole = themed(film)
        assert pixels(whole, "light") == pixels(light, "light"), name
        assert pixels(whole, "dark") == pixels(dark, "dark"), name
    captured = lab.compare_static(lambda x: (x * 2).sin() + x, torch.ones(2))._data["graphs"][0]["picture"]
    with in_the_dark():
        dark = static.svg(captured)
    whole = themed(captured, draw=lambda picture, *_: static.svg(picture))
    assert (
        pixels(whole, "light")
        == pixels(static.svg(captured), "light")
        != pixels(dark, "dark")
        == pixels(whole, "dark")
    )


def test_it_follows_the_theme_of_jupyterlab(browser: Browser, lab):
    code = (
        "import os; os.environ['AUTOGRAD_LAB_STATIC'] = '1'\nimport autograd_lab as torch\nfrom autograd_lab import lab\n"
        "x = torch.tensor(3.0, requires_grad=True)\nlab.draw(x * x)"
    )
    notebook = Notebook.open(browser, lab, [code])
    notebook.run()
    picture = notebook.page.locator(".jp-OutputArea-output img").first
    shown = [picture.screenshot()]
    notebook.theme("Dark")
    notebook.page.wait_for_function(
        "getComputedStyle(document.querySelector('.jp-OutputArea-output img')).colorScheme === 'dark'"
    )
    shown.append(picture.screenshot())
    assert shown[0] != shown[1]
    notebook.theme("Light")
    notebook.evaluate("del os.environ['AUTOGRAD_LAB_STATIC']")  # the kernel serves other tests
    notebook.close()
