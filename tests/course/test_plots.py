"""The plots of the notebooks: each draws what it is given, and opens no window."""

import matplotlib as mpl
import numpy as np
import pytest

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
