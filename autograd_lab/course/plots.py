"""The plots of the notebooks, so that a cell shows its lesson and not how a figure is laid out.

    from autograd_lab.course import plots

    plots.images(*pixels, titles=[...])     8 by 8 pixels, or their gradients, as pictures side by side
    plots.signed(*tables, titles=[...])     numbers around zero: red above, blue below
    plots.tables(*values, titles=[...])     tables of positive numbers side by side
    plots.curves({name: ys}, ...)           curves with a legend, on logarithmic scales where asked
    plots.memory({name: bytes})             what saved values hold, step by step
    plots.bars({name: number}, ...)         horizontal bars, the first one on top
    plots.uncovered(table)                  a table that is uncovered row by row and column by column

They draw and return nothing; matplotlib is loaded when one is called.

A picture in a notebook is pixels, which no theme can change, so it has no background, and its lines and letters are of a tone between: they
can be seen on white and in the dark.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from io import BytesIO
from typing import Any

import numpy as np

BETWEEN = "#797979"  # as far from white as from the black of JupyterLab's dark theme
LINES = ("#2b83ce", "#c9621a", "#2e9c6a", "#b565a7", "#8a8a00")


def _readable(draw: Callable[..., None]) -> Callable[..., None]:
    """A drawing that can be seen in light and dark pages, and is shown when it is complete."""

    @wraps(draw)
    def drawn(*args: Any, **options: Any) -> None:
        plt = _pyplot()
        parts = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")
        see_through = ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor")
        look = dict.fromkeys(parts, BETWEEN) | dict.fromkeys(see_through, "none")
        with plt.rc_context(look | {"axes.prop_cycle": plt.cycler(color=LINES), "lines.linewidth": 1.8}):
            draw(*args, **options)
            if "inline" in plt.get_backend().lower():
                _show(plt)
            else:
                plt.show()

    return drawn


def _show(plt: Any) -> None:
    """Show a figure in a notebook. IPython's way would tell JupyterLab to put white behind one that has no background."""
    from IPython.display import display

    figure, data = plt.gcf(), BytesIO()
    figure.savefig(data, format="png", bbox_inches="tight", dpi=figure.dpi)
    plt.close(figure)
    display({"image/png": base64.b64encode(data.getvalue()).decode(), "text/plain": repr(figure)}, raw=True)


@_readable
def images(*pixels: Any, titles: Sequence[str] = ()) -> None:
    """Handwritten digits, or anything of their shape, side by side: 0 is white, 1 is black. Gradients are red above zero, blue below."""
    plt = _pyplot()
    _, places = plt.subplots(1, len(pixels), figsize=(2.2 * len(pixels), 2.6), squeeze=False)
    for place, values, title in zip(places[0], pixels, [*titles, *[""] * len(pixels)], strict=False):
        square = _square(values)
        most = _most(square)
        if square.min() < 0:
            place.imshow(square, cmap="RdBu_r", vmin=-most, vmax=most)
        else:
            place.imshow(square, cmap="gray_r", vmin=0, vmax=max(1, most))
        place.set_title(title, fontsize=12 if "\n" not in title else 9)
        place.axis("off")


@_readable
def signed(*tables: Any, titles: Sequence[str] = (), columns: str = "") -> None:
    """Tables of numbers below each other, in the colors of their signs."""
    plt = _pyplot()
    drawn = [np.atleast_2d(_array(t)) for t in tables]
    most = max(map(_most, drawn))
    heights = [len(t) for t in drawn]
    _, places = plt.subplots(
        len(drawn), 1, figsize=(6, 1.4 + sum(heights) / 4),
        height_ratios=heights, layout="constrained", squeeze=False,
    )  # fmt: skip
    for place, table, title in zip(places[:, 0], drawn, [*titles, *[""] * len(drawn)], strict=False):
        place.imshow(table, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto")
        place.set_title(title, fontsize=10)
        place.set(xticks=[], yticks=[])
    places[-1, 0].set_xlabel(columns)


@_readable
def tables(*values: Any, titles: Sequence[str] = (), rows: str = "", columns: str = "") -> None:
    """Tables of positive numbers side by side: the larger, the brighter."""
    plt = _pyplot()
    drawn = [_array(v) for v in values]
    _, places = plt.subplots(1, len(drawn), figsize=(3.5 * len(drawn), 3), squeeze=False)
    for place, table, title in zip(places[0], drawn, [*titles, *[""] * len(drawn)], strict=False):
        place.imshow(table, vmin=0, vmax=max(map(_most, drawn)))
        place.set(
            title=title,
            xlabel=columns,
            ylabel=rows,
            xticks=range(table.shape[1]),
            yticks=range(table.shape[0]),
        )


@_readable
def curves(ys: Mapping[str, Sequence[float]], x: Sequence[float] | None = None, xlabel: str = "", ylabel: str = "",
           log: str = "", dotted: Sequence[str] = ()) -> None:  # fmt: skip
    """One curve for each name. `log` names the axes with a logarithmic scale: "", "y" or "xy"; many points are drawn without marks."""
    plt = _pyplot()
    plt.figure(figsize=(6, 3.5))
    for (name, values), mark in zip(ys.items(), "os^vD" * len(ys), strict=False):
        points = range(1, len(values) + 1) if x is None else x
        style = {"marker": mark} if len(values) <= 50 else {}
        plt.plot(points, values, ls=":" if name in dotted else "-", label=name, **style)
    plt.gca().set(
        xlabel=xlabel,
        ylabel=ylabel,
        xscale="log" if "x" in log else "linear",
        yscale="log" if "y" in log else "linear",
    )
    if len(ys) > 1:
        _legend(plt)


@_readable
def memory(held: Mapping[str, Sequence[int]]) -> None:
    """The bytes that saved values hold after each step, for each name; no marks, since a trace has many steps."""
    plt = _pyplot()
    plt.figure(figsize=(6, 3.5))
    for (name, values), style in zip(held.items(), ["-", "--", "-."] * len(held), strict=False):
        plt.step(range(len(values)), values, where="post", ls=style, label=name)
    plt.gca().set(xlabel="step", ylabel="bytes held by saved values")
    if len(held) > 1:
        _legend(plt)


@_readable
def bars(lengths: Mapping[str, float], xlabel: str = "") -> None:
    """A bar for each name, without a scale: what counts is which is longer."""
    plt = _pyplot()
    plt.figure(figsize=(6, 3), layout="constrained")
    plt.barh([*lengths], [*lengths.values()])
    plt.gca().set(xticks=[], xlabel=xlabel, ylim=(len(lengths), -1))


@_readable
def uncovered(table: Any) -> None:
    """A table, uncovered row by row (above) and column by column (below); gray is what is still covered."""
    plt = _pyplot()
    numbers = _array(table)
    ways = zip(("backward", "forward"), np.indices(numbers.shape), strict=True)
    most = max(numbers.shape)
    _, places = plt.subplots(2, most, figsize=(7, 3.6), layout="constrained")
    for line, (way, turn) in zip(places, ways, strict=True):
        for n, place in enumerate(line, 1):
            place.imshow(
                np.where(turn < n, numbers, np.nan), cmap="YlOrBr", vmin=0, vmax=1.7 * _most(numbers)
            )
            place.set(title=f"{way} passes: {min(n, turn.max() + 1)}", facecolor="0.8", xticks=[], yticks=[])
            for i, k in np.argwhere(turn < n):
                place.text(k, i, f"{numbers[i, k]:g}", ha="center", va="center", fontsize=12, color="black")


def _legend(plt: Any) -> None:
    """Beside the curves: there is no background that would keep them from its words."""
    plt.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)


def _array(values: Any) -> Any:
    """An array of what may be a tensor."""
    return np.asarray(values.detach().numpy() if hasattr(values, "detach") else values)


def _square(values: Any) -> Any:
    """The 64 numbers of a digit as 8 by 8; another row of numbers as a table with one row."""
    array = _array(values)
    return array.reshape(8, 8) if array.size == 64 else np.atleast_2d(array)


def _most(values: Any) -> float:
    return float(np.abs(_array(values)).max())


def _pyplot() -> Any:
    import matplotlib.pyplot as plt

    return plt
