"""The plots of the notebooks: each draws what it is given, and opens no window."""

import base64
import io

import IPython.display
import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import autograd_lab as torch
from autograd_lab.course import plots


@pytest.fixture
def drawn(monkeypatch):
    """The figure that a call leaves."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.setattr(plt, "show", lambda: None)
    yield lambda: plt.gcf().axes
    plt.close("all")


def test_digits_and_their_gradients_stand_side_by_side(drawn):
    plots.images(np.zeros(64), torch.arange(64.0) - 9, titles=["a digit", "its gradient"])
    digit, gradient = drawn()
    assert [place.get_title() for place in (digit, gradient)] == ["a digit", "its gradient"]
    assert digit.images[0].get_array().shape == (8, 8)
    assert gradient.images[0].get_clim() == (-54, 54), "white is zero"


def test_signed_tables_share_their_colors(drawn):
    plots.signed(
        torch.tensor([[1.0, -2.0], [0.0, 1.0]]), torch.tensor([1.0, -4.0]), titles=["a", "b"], columns="c"
    )
    upper, lower = drawn()
    assert upper.images[0].get_clim() == lower.images[0].get_clim() == (-4, 4)
    assert lower.get_xlabel() == "c"


def test_tables_of_positive_numbers(drawn):
    plots.tables(np.eye(3), np.ones((3, 2)), titles=["x", "y"], rows="r", columns="c")
    assert [place.get_ylabel() for place in drawn()] == ["r", "r"]


def test_curves_have_names_and_the_scales_that_are_asked_for(drawn):
    plots.curves({"one": [1, 2], "two": [3, 4]}, x=[0.1, 0.2], log="xy", dotted=["two"])
    (place,) = drawn()
    assert (place.get_xscale(), place.get_yscale()) == ("log", "log")
    assert [line.get_linestyle() for line in place.lines] == ["-", ":"]
    assert [text.get_text() for text in place.get_legend().get_texts()] == ["one", "two"]


def test_bars_begin_on_top(drawn):
    plots.bars({"first": 2, "second": 1})
    (place,) = drawn()
    low, high = place.get_ylim()
    assert low > high
    assert len(place.patches) == 2


def test_a_table_is_uncovered_row_by_row_and_column_by_column(drawn):
    plots.uncovered([[1, 2, 3], [4, 5, 6]])
    titles = [place.get_title() for place in drawn()]
    assert titles == [
        f"{way} passes: {n}" for way, ns in (("backward", (1, 2, 2)), ("forward", (1, 2, 3))) for n in ns
    ]


def test_memory_is_a_staircase_that_begins_before_the_first_step(drawn):
    plots.memory({"one": [0, 8, 8, 0], "two": [0, 0]})
    (place,) = drawn()
    assert [list(line.get_xdata()) for line in place.lines] == [[0, 1, 2, 3], [0, 1]]
    assert [line.get_drawstyle() for line in place.lines] == ["steps-post"] * 2
    assert [text.get_text() for text in place.get_legend().texts] == ["one", "two"]
    assert place.get_ylabel() == "bytes held by saved values"


ALL = {
    "images": lambda: plots.images(torch.arange(64.0) - 9, titles=["a gradient"]),
    "signed": lambda: plots.signed([[1.0, -2.0]], titles=["a"], columns="c"),
    "tables": lambda: plots.tables(np.eye(3), titles=["x"], rows="r", columns="c"),
    "curves": lambda: plots.curves({str(n): [n, n + 1] for n in range(5)}, xlabel="x", ylabel="y"),
    "memory": lambda: plots.memory({"one": [0, 8, 0], "two": [0, 0]}),
    "bars": lambda: plots.bars({"first": 2, "second": 1}, xlabel="x"),
    "uncovered": lambda: plots.uncovered([[1, 2, 3], [4, 5, 6]]),
}


def _contrast(one, other):
    def luminance(color):
        return sum(w * (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4)
                   for w, x in zip((0.2126, 0.7152, 0.0722), to_rgb(color), strict=True))  # fmt: skip

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("name", ALL)
def test_a_plot_can_be_seen_in_a_light_and_in_a_dark_page(drawn, name):
    """The pixels are the same in both: nothing lies behind them, and no letter or line is near to white or to black."""
    ALL[name]()
    places = drawn()
    figure = places[0].figure
    assert figure.get_facecolor()[3] == 0
    inside = {text for place in places for text in place.texts}  # on tiles of their own color
    for place in places:
        seen = [t.get_color() for t in place.findobj(mpl.text.Text) if t.get_text() and t not in inside]
        seen += [line.get_color() for line in place.lines] + [
            patch.get_facecolor() for patch in place.patches
        ]
        seen += [spine.get_edgecolor() for spine in place.spines.values()]
        for page in ("white", "#111111"):  # of JupyterLab's themes
            assert min(_contrast(color, page) for color in seen) > 3
            assert _contrast(plots.BETWEEN, page) > 4.3
        assert place.images or place.get_facecolor()[3] == 0
        assert all(text.get_color() == "black" for text in place.texts)


def test_a_notebook_is_not_told_to_put_white_behind_it(drawn, monkeypatch):
    """IPython asks JupyterLab for that where a figure has no background and all its letters are of one lightness."""
    import matplotlib.pyplot as plt

    shown = []
    monkeypatch.setattr(plt, "get_backend", lambda: "module://matplotlib_inline.backend_inline")
    monkeypatch.setattr(IPython.display, "display", lambda *args, **options: shown.append((args, options)))
    plots.bars({"first": 2, "second": 1}, xlabel="time")
    (((data,), options),) = shown
    assert options == {"raw": True}
    assert data["text/plain"] == "<Figure size 600x300 with 1 Axes>"
    assert not plt.get_fignums()
    picture = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert picture.getpixel((0, 0))[3] == 0
