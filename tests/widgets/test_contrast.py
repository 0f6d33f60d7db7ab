"""WCAG 2.2: text 4.5:1, outlines 3:1, in both themes, computed from the style sheet."""

import itertools
import re
from pathlib import Path

import pytest

import autograd_lab
from autograd_lab.widgets.frames import LEVELS
from autograd_lab.widgets.svg import mixed, palette


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


BACKGROUNDS = ["bg", "soft", "blue-tint", "verm-tint", "amber-tint"]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("background", BACKGROUNDS)
def test_text(dark, background):
    colors = palette(dark)
    assert contrast(colors["fg"], colors[background]) >= 7
    assert contrast(colors["dim"], colors[background]) >= 4.5
    for name in ("verm", "green", "bad", "amber"):
        if background in ("bg", "soft"):
            assert contrast(colors[name], colors[background]) >= 4.5, name


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["outline", "blue", "verm", "amber", "green", "bad", "pos", "neg"])
def test_outlines(dark, name):
    colors = palette(dark)
    for background in ("bg", "soft"):
        assert contrast(colors[name], colors[background]) >= 3


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_gradients_of_every_size_are_seen(dark):
    colors = palette(dark)
    shades = [mixed(colors["deep"], colors["faint"], level / LEVELS) for level in range(LEVELS + 1)]
    for background in ("bg", "soft"):
        found = [contrast(shade, colors[background]) for shade in shades]
        assert min(found) >= 3
        assert found == sorted(found)  # the larger, the deeper
    assert contrast(colors["dim"], colors["zero"]) >= 4.5  # what is written in a greyed box


def test_the_primary_button_can_be_read():
    assert contrast("#ffffff", palette(False)["blue"]) >= 4.5
    assert contrast("#0b1620", palette(True)["blue"]) >= 4.5


def test_no_view_styles_a_class_of_another_view():
    """All sheets are one page: a class that two views use for different things gets the padding and lines of both."""
    assets = Path(autograd_lab.__file__).parent / "widgets" / "assets"

    def styled(*names):
        text = "".join((assets / name).read_text(encoding="utf-8") for name in names)
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        selectors = [s for found in re.findall(r"([^{}]+)\{", text) for s in found.split(",")]
        return {c for s in selectors for c in re.findall(r"\.(agl-[\w-]+)[^\s>+~]*\s*$", s)}

    common = styled("stepper.css", "views.css", "graph.css")
    views = {name: styled(name) - common for name in ("quiz.css", "classroom.css", "static.css")}
    for one, other in itertools.combinations(views, 2):
        assert not views[one] & views[other], f"{one} and {other}: {views[one] & views[other]}"
