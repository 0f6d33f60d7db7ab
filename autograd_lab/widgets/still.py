"""The form of a stepper for viewers without widgets: a still picture and the steps as a table.

nbval compares both, so they are the same bytes for the same trace. The HTML uses only what JupyterLab's sanitizer
keeps in an untrusted notebook, and GitHub in any notebook: data URLs of images, tables, <details>.
"""

from __future__ import annotations

import base64
import zlib
from html import escape

from autograd_lab.tracing import Trace
from autograd_lab.tracing.narrate import Narrator, fill
from autograd_lab.tracing.trace import Record

from .svg import moved, palette, seen, svg
from .themed import themed

#: Rows of the table; longer traces are truncated, the stepper shows them all.
MOST_ROWS = 200
_INSIDE = "\n        "  # before a line that a compiled node ran

# Dropped in an untrusted notebook, needed in a trusted one. A stepper hides the picture (assets/host.js), so the
# picture waits a moment for it; and where JupyterLab has no kernel to make a stepper with, it would print "model
# not found" below the picture: a widget output that holds nothing but such a text is left out.
_BESIDE_A_WIDGET = (
    "<style>@media screen{@keyframes agl-wait{from{max-height:0;overflow:hidden}}"
    ".agl-still{animation:agl-wait .01s .8s backwards}}"
    ".jp-OutputArea-child:has(.agl-still)+.jp-OutputArea-child:has(>.jp-OutputArea-output.lm-Panel)"
    ":not(:has(>.jp-OutputArea-output.lm-Panel *)){display:none}</style>"
)


def summary(trace: Trace) -> str:
    """One line: the numbers of steps, passes and nodes."""
    backward = sum(p["k"] == "backward" for p in trace)
    passes = {0: "forward only", 1: "forward and backward"}.get(
        backward, f"forward and {backward} backward passes"
    )
    title = f"{trace.title}: " if trace.title else ""
    return f"{title}{_count(len(trace), 'step')}, {passes}, {_count(len(trace.nodes), 'node')}"


def _count(n: int, word: str) -> str:
    return f"{n} {word}" if n == 1 else f"{n} {word}s"


def text(trace: Trace, head: str, shown: int | None = None, question: str = "") -> str:
    """The steps as lines of text, below the line `head`; see html."""
    width = len(str(len(trace)))
    lines = [head, summary(trace)]
    lines += [f"{k:>{width}}  {sentence}" for k, sentence in _rows(trace, shown)]
    return "\n".join([*lines, *_rest(trace, question)])


def html(
    trace: Trace,
    film: Record,
    shown: int | None = None,
    question: str = "",
    note: str = "",
    beside_widget: bool = False,
) -> str:
    """The last step as a picture and all steps as a table.

    shown          the last step that may be shown, when there are questions about the next
    question       the question after it
    note           an addition to the line between picture and table
    beside_widget  whether a stepper follows
    """
    picture = base64.b64encode(themed(film, shown, draw=_drawn).encode()).decode("ascii")
    rows = "".join(
        f"<tr><td>{k}</td><td>{escape(sentence).replace(_INSIDE, '<br>')}</td></tr>"
        for k, sentence in _rows(trace, shown)
    )
    rest = "".join(f"<p>{escape(line)}</p>" for line in _rest(trace, question))
    line = escape(summary(trace))
    alt = escape(f"Computation graph. {summary(trace)}", quote=True)
    inside = (
        f'<img alt="{alt}" style="max-width:100%" src="data:image/svg+xml;base64,{picture}">'
        f"<details><summary>{line}{escape(note)}</summary>"
        f"<table><tr><th>step</th><th>what happens</th></tr>{rows}</table>{rest}</details>"
    )
    return framed(inside, key(text(trace, "")), beside_widget)


def _drawn(film: Record, k: int | None, where: Record | None) -> str:
    """The picture at step `k`, and what is not made yet as outlines."""
    drawn = svg(film, k, where)
    return drawn if k is None or k >= film["steps"] else drawn.replace("</svg>", _ghosts(film, k) + "</svg>")


def _ghosts(film: Record, shown: int) -> str:
    """What a question keeps back, as empty outlines: the stepper draws it so too. Before the first step, how to see it."""
    where, color, parts = seen(film), palette(), []
    if where is None:
        return ""
    for u, cx, cy in where["units"]:
        unit = film["units"][u]
        if unit["since"] <= shown:
            continue
        parts += [
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="4"/>'
            for _, x, y, w, h in moved(unit, cx, cy)
        ]
        if unit["node"] >= 0:
            x, y, rx, ry = unit["shape"]
            x, y = x + cx, y + cy
            diamond = film["nodes"][unit["node"]]["kind"] == "accumulate"
            parts.append(
                f'<path d="M{x} {y - ry}L{x + rx} {y}L{x} {y + ry}L{x - rx} {y}z"/>'
                if diamond
                else f'<ellipse cx="{x}" cy="{y}" rx="{rx}" ry="{ry}"/>'
            )
    outlines = f'<g fill="none" stroke="{color["outline"]}" stroke-opacity="0.45" stroke-dasharray="3 3">{"".join(parts)}</g>'
    if shown:
        return outlines
    x, y = (size / 2 for size in where["size"])
    return (
        f'{outlines}<rect x="{x - 58}" y="{y - 16}" width="116" height="32" rx="16" fill="{color["bg"]}" stroke="{color["blue"]}"/>'
        f'<text x="{x}" y="{y + 4.5}" class="b">Run to step</text>'
    )


def framed(inside: str, name: str, beside_widget: bool) -> str:
    """HTML as the still form of the widget that knows it by `name`."""
    style = _BESIDE_A_WIDGET if beside_widget else ""
    return f'{style}<div class="agl-still" data-agl="{name}">{inside}</div>'


def key(what: str) -> str:
    """A short name by which a widget finds its still form: the same for the same text."""
    return f"{zlib.crc32(what.encode()):08x}"


def _rows(trace: Trace, shown: int | None) -> list[tuple[int, str]]:
    narrator = Narrator(trace)
    last = len(trace) if shown is None else shown
    return [(k, fill(narrator.phrase(k)) + _inside(trace, k)) for k in range(1, min(last, MOST_ROWS) + 1)]


def _inside(trace: Trace, k: int) -> str:
    """The lines of NumPy that a compiled node ran at step k, or ''."""
    event = trace.events[k - 1]
    part = {"node": "forward", "vjp": "backward"}.get(event["k"])
    lines = trace.nodes[event["n"]].get("compiled", {}).get(part, []) if part else []
    return "".join(_INSIDE + line["text"].replace("\n", _INSIDE) for line in lines)


def _rest(trace: Trace, question: str) -> list[str]:
    if question:
        return [f"What comes next is asked first: {question}"]
    left = len(trace) - MOST_ROWS
    return [f"... and {left} more steps"] if left > 0 else []
