"""The film as a still picture: one SVG text, the same bytes for the same film, for viewers that run no widget.

It draws what the stepper draws, from the same positions, in the colors of one theme; themed.py puts both into one picture.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from html import escape
from math import floor
from pathlib import Path
from typing import Any

from .frames import LEVELS, STRIP, at, drawn_name, has_strip, text_width
from .frames import brief as brief_text
from .groups import visible
from .scene import scene

Record = dict[str, Any]

#: A picture with more boxes than this is large and illegible.
MOST_UNITS = 300
_FONT = "Inter, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', sans-serif"


_DARK: ContextVar[bool] = ContextVar("dark", default=False)


@contextmanager
def in_the_dark() -> Iterator[None]:
    """A context manager: pictures drawn inside have the colors of the dark theme."""
    before = _DARK.set(True)
    try:
        yield
    finally:
        _DARK.reset(before)


def palette(dark: bool | None = None) -> dict[str, str]:
    """The stepper's colors by name, those of the light theme unless told otherwise."""
    return _palette(_DARK.get() if dark is None else dark)


@cache
def _palette(dark: bool) -> dict[str, str]:
    """Read from its style sheet, so that there is one list."""
    css = (Path(__file__).parent / "assets" / "stepper.css").read_text(encoding="utf-8")
    found = re.findall(r"--agl-([\w-]+): light-dark\((#\w+), (#\w+)\)", css)
    return {name: dark_color if dark else light for name, light, dark_color in found}


def svg(film: Record, k: int | None = None, where: Record | None = None) -> str:
    """The picture at step `k` (the last one if not given); `where` is a scene made before, for several pictures of one film."""
    k = film["steps"] if k is None else k
    color = palette()
    where = seen(film) if where is None else where
    if where is None:
        return _note(f"{len(film['nodes'])} nodes: too many for a still picture")
    w, h = (size + 32 for size in where["size"])
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="-16 -16 {w} {h}" role="img" '
        f'aria-label="{escape(_label(film), quote=True)}">',
        f"<style>text{{font:12px {_FONT};text-anchor:middle;fill:{color['fg']}}}.s{{font-size:9.5px;"
        f"fill:{color['dim']}}}.l{{text-anchor:start}}.b{{font-weight:600}}.g{{font-size:11px}}"
        f".f{{fill:none;stroke:{color['outline']};stroke-width:1.3;stroke-dasharray:5 4}}"
        f".n{{stroke-dasharray:1.2 4;stroke-linecap:round}}.e{{fill:none;stroke:{color['outline']};"
        f"stroke-width:1.5}}.z{{stroke-dasharray:6 3}}.d{{fill:{color['dim']}}}"
        f".t{{font-size:10px;font-weight:600}}.i{{font:italic 600 11px serif}}"
        f".r{{fill:none;stroke:{color['outline']}}}</style>",
        f'<rect x="-16" y="-16" width="{w}" height="{h}" fill="{color["bg"]}"/>',
    ]
    for group in where["groups"]:
        parts += _group(film, k, *group)
    begun = _begun(film, k)
    for bundle in where["forward"]:
        lines = [line for i in bundle["lines"] if (line := film["forward"][i])["k"] <= k]
        if lines:
            free = all(line["free"] for line in lines)
            drawn = _path(bundle["p"], 4, "f n" if free else "f", color["outline"])
            parts.append(_faint(drawn) if min(line["k"] for line in lines) < begun else drawn)
            if any(line["cut"] for line in lines):
                parts.append(f'<path d="{cut(bundle["p"])}" stroke="{color["bad"]}" stroke-width="2.2"/>')
    for u, x, y in where["units"]:
        if film["units"][u]["since"] <= k:
            parts += _unit(film, film["units"][u], x, y, k)
    gradients = [_gradient(film, bundle, k, begun) for bundle in where["backward"]]
    parts += [line for line, *_ in filter(None, gradients)]
    parts += [part for _, *label in filter(None, gradients) for part in label]  # no line passes over a label
    return "".join([*parts, *_legend(film, k, h - 25), "</svg>"])


def _legend(film: Record, k: int, y: float) -> list[str]:
    """In the lower margin: what the width of a gradient's line means, if one has been sent."""
    if not film["scale"] or not any(
        film["states"][i][0] == "sent" for line in film["backward"] if (i := at(line["tl"], k)) is not None
    ):
        return []
    low, high = (f"1e{power}" if abs(power) > 2 else f"{10.0**power:g}" for power in film["scale"])
    shades = "".join(
        f'<path d="M{6 * i - 10} {y}h6" stroke="{shade}" stroke-width="{_n(width)}"/>'
        for i, (shade, width) in enumerate(map(_weight, range(LEVELS + 1)))
    )
    x = 6 * (LEVELS + 1) - 4
    return [shades, f'<text x="{x}" y="{y + 3.5}" class="s l">|gradient| {low} to {high}</text>']


def _weight(level: int) -> tuple[str, float]:
    """Color and width of the line of a gradient, as large as this."""
    color = palette()
    if level > LEVELS:
        return color["bad"], 1 + 0.65 * LEVELS
    part = max(level, 0) / LEVELS
    return mixed(color["deep"], color["faint"], part), 1 + 0.65 * max(level, 0)


def cut(p: list[int]) -> str:
    """Two strokes across the first piece of a line, in its middle (assets/core.js has the same)."""
    x, y = (p[0] + p[2]) / 2, (p[1] + p[3]) / 2
    return f"M{_n(x - 8)} {_n(y + 1)}l16 -7m-16 12l16 -7"


def seen(film: Record) -> Record | None:
    """The initial scene of a film; None if it is too large for a picture."""
    boxes = visible(film["groups"], [unit["group"] for unit in film["units"]], film["open"])
    return scene(film) if boxes <= MOST_UNITS else None


def _census(film: Record, g: int, k: int) -> str:
    """The progress of the nodes in a group, in a few words (assets/groups.js has the same)."""
    first, last, nodes = film["groups"][g].get("pass", (0, 0, None))
    if nodes is not None and k < first:
        return ""
    if nodes is not None and k >= last and film["kinds"][film["kind"][last]] != "error":
        return f"{len(nodes)}/{len(nodes)} done"
    if nodes is None:
        inside = {g}
        for child, group in enumerate(film["groups"]):
            if group["parent"] in inside:
                inside.add(child)
        nodes = [unit["node"] for unit in film["units"] if unit["group"] in inside and unit["node"] >= 0]
    if not nodes:
        return f"{film['groups'][g]['units']} tensors"
    states = (film["states"][i][0] for n in nodes if (i := at(film["nodes"][n]["tl"], k)) is not None)
    count, of = Counter(states), len(nodes)
    made, done = count["made"], f"{count['done']}/{of} done"
    if count["error"]:
        return f"failed inside, {done}"
    if made < count.total():
        for status, word in (("active", "at work"), ("ready", "ready")):
            if count[status]:
                return f"{done} \N{MIDDLE DOT} {count[status]} {word}"
        return done if count["done"] else f"{count['waiting']} of {of} waiting"
    return f"{made} of {of} nodes made" if 0 < made < of else f"{of} node{'s' if of > 1 else ''}"


def _group(film: Record, k: int, g: int, x: float, y: float, w: float, h: float, is_open: int) -> list[str]:
    color, group = palette(), film["groups"][g]
    if is_open:
        return [
            f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="7" fill="none" stroke="{color["hair"]}"/>',
            f'<text x="{x + 10}" y="{y + 17}" class="b l">{escape(group["name"])}</text>',
        ]
    return [
        _rect(x + 4, y - 4, w, h, 7, color["bg"], color["outline"]),
        _rect(x, y, w, h, 7, color["soft"], color["outline"]),
        _text(x + w / 2, y + 21, group["name"], "b"),
        *[_text(x + w / 2, y + 38, said, "s") for said in filter(None, [_census(film, g, k)])],
    ]


def _unit(film: Record, unit: Record, cx: float, cy: float, k: int) -> list[str]:
    color, parts = palette(), []
    backward = at(film["phase"], k, 3)[0] == "backward"
    for box, (t, x, y, w, h) in enumerate(moved(unit, cx, cy)):
        tensor = film["tensors"][t]
        index = at(tensor["tl"], min(k, unit["until"]))
        if index is None:
            continue
        value, version, grad, retains = film["states"][index]
        ignored = not tensor["grad"]
        parts.append(_rect(x, y, w, h, 4, color["zero" if ignored else "soft"], color["outline"]))
        if backward and box in unit["ignored"]:
            parts.append(_text(x + w / 2 + 6, y + h + 12, "ignored", "s l"))
        if at(unit["hooks"][box], k):
            parts.append(_hook(x, y))
        pictured = has_strip(film["values"][value])
        middle = x + (w - 28 if pictured else w) / 2
        if pictured:
            parts += _strip(film["values"][value], x + w - 35, y + 6, 28, 28)
        if unit["why"]:
            if box == len(unit["boxes"]) - 1:
                parts.append(
                    f'<text x="{_n(x + w + 5)}" y="{_n(y + h / 2 + 3.5)}" class="s l b" style="fill:{color["bad"]}">'
                    f"{film['captions'][unit['why']]}</text>"
                )
        elif tensor["leaf"] and not unit["fed"]:
            caption = "leaf" if tensor["grad"] else "data"
            parts.append(_text(x + (10 if unit["hooks"][box] else 1), y - 4, caption, "s l"))
        if version:
            halo = f"paint-order:stroke;stroke:{color['bg']};stroke-width:3px;text-anchor:end"  # lines pass behind it
            right, base = (x - 5, y + h / 2 + 3) if unit["fed"] else (x + w - 1, y - 4)
            parts.append(
                f'<text x="{_n(right)}" y="{_n(base)}" class="s" style="{halo}">version {version}</text>'
            )
        if tensor["name"]:
            parts.append(_text(middle, y + 17, drawn_name(tensor["name"]), "b d" if ignored else "b"))
        parts.append(
            _text(middle, y + (32 if tensor["name"] else 24.5), brief(film, value), "d" if ignored else "")
        )
        if h > 50 and (tensor["leaf"] or retains):
            parts.append(f'<path d="M{x} {y + 40}h{w}" stroke="{color["hair"]}"/>')
            fill = f' style="fill:{color["verm"]}"' if grad >= 0 else ""
            pictured = grad >= 0 and has_strip(film["values"][grad])
            middle = x + (w - STRIP - 5 if pictured else w) / 2
            if pictured:
                parts += _strip(film["values"][grad], x + w - STRIP - 7, y + 42.5, STRIP, 12)
            shown = brief(film, grad)
            parts.append(f'<text x="{_n(middle)}" y="{y + 52}" class="g"{fill}>.grad {escape(shown)}</text>')
    return parts + _node(film, unit, cx, cy, k)


def _node(film: Record, unit: Record, cx: float, cy: float, k: int) -> list[str]:
    """The shape of a unit's node and what stands at it."""
    color, parts = palette(), []
    if unit["node"] < 0 or at(film["nodes"][unit["node"]]["tl"], k) is None:
        return []
    node = film["nodes"][unit["node"]]
    x, y, rx, ry = unit["shape"]
    x, y = x + cx, y + cy
    status, arrived, of = film["states"][at(node["tl"], k)]
    whole = (
        k == film["steps"] and film["kinds"][film["kind"][k]] != "error"
    )  # it shows the whole, not a moment
    fill, edge, width = "bg", *({} if whole else _EDGES).get(status, ("outline", 1.2))
    if not whole and film["focus"][k] == unit["node"] and status != "error":
        edge, width = "blue" if at(film["phase"], k, 3)[0] == "forward" else "verm", 2.8
        fill = f"{edge}-tint"
    stroke = f'fill="{color[fill]}" stroke="{color[edge]}" stroke-width="{width}"'
    if node["kind"] == "accumulate":
        for _, bx, by, bw, bh in moved(unit, cx, cy)[-1:]:
            if bh > 50:
                parts.append(_joined(x - rx, y, bx + bw, by + 48.5))
        parts.append(f'<path d="M{x} {y - ry}L{x + rx} {y}L{x} {y + ry}L{x - rx} {y}z" {stroke}/>')
        parts.append(_text(x, y + 4.5, "+=", "b"))
        parts.append(_text(x, y - ry - 5, "AccumulateGrad", "s"))
        badge, corner = (x + rx + 4, y + (17 if unit["heap"] else 0)), (x + rx * 0.55, y - ry * 0.55)
    else:
        if unit["boxes"]:
            _, bx, _, bw, _ = moved(unit, cx, cy)[-1]
            parts.append(
                f'<path d="M{bx + bw} {y}H{x - rx}" stroke="{color["outline"]}" stroke-width="1.2"/>'
            )
        parts.append(f'<ellipse cx="{x}" cy="{y}" rx="{rx}" ry="{ry}" {stroke}/>')
        if node["pass"]:
            parts.append(f'<ellipse cx="{x}" cy="{y}" rx="{rx - 3.5}" ry="{ry - 3.5}" class="r"/>')
        parts.append(_text(x, y + 4, node["label"]))
        for i, (_, timeline) in enumerate(node["dead"]):
            index = at(timeline, k)
            pruned = index is not None and film["states"][index][0] == "pruned"
            parts += _dead_end(x - rx * 0.82 + 15 * i, y, ry, pruned)
        if node["saved"]:
            index = at(node["panel"], k)
            parts.append(
                _kept(x - rx * 0.74, y + ry * 0.66, index is None or film["states"][index].get("saved") != 0)
            )
        if node["kind"] == "function":
            parts += _own(x + rx * 0.8, y + ry * 0.9)
        badge, corner = (x + rx * 0.74, y - ry * 0.98), (x - rx, y)
    if at(node["hooks"], k):
        parts.append(_hook(*corner))
    said = {
        "waiting": f"{arrived} of {of}" if of else "",
        "ready": "ready",
        "done": "\N{CHECK MARK}",
        "error": "!",
    }.get(status)
    if said and not whole:
        parts += _badge(*badge, said, *_EDGES.get(status, ("outline", 0)), node["kind"] == "accumulate")
    return parts + _beside(film, unit, cx, cy, k)


#: The outline of a node in a pass, by its status.
_EDGES = {"ready": ("amber", 1.8), "active": ("verm", 2.8), "done": ("green", 1.6), "error": ("bad", 3)}


def _badge(x: float, y: float, text: str, edge: str, _width: float, beside: bool) -> list[str]:
    """How far a node is, at its corner or beside it."""
    color, w = palette(), max(15, 8 + 5.4 * len(text))
    left = x if beside else x - w / 2
    return [
        _rect(left, y - 7.5, w, 15, 7.5, color["amber-tint" if edge == "amber" else "bg"], color[edge]),
        f'<text x="{_n(left + w / 2)}" y="{_n(y + 3.5)}" class="t">{text}</text>',
    ]


def _kept(x: float, y: float, held: bool) -> str:
    """The mark of saved values, empty once they are freed."""
    color = palette()
    fill = color["outline"] if held else f'{color["bg"]}" stroke-dasharray="2 1.5'
    return f'<path d="M{_n(x - 4)} {_n(y - 3)}h8v8h-8z" fill="{fill}" stroke="{color["outline"]}"/>'


def _own(x: float, y: float) -> list[str]:
    """The mark of a Function of the user's own."""
    color = palette()
    return [
        f'<circle cx="{_n(x)}" cy="{_n(y)}" r="7.5" fill="{color["bg"]}" stroke="{color["outline"]}"/>',
        f'<text x="{_n(x)}" y="{_n(y + 3.5)}" class="i">\N{LATIN SMALL LETTER F WITH HOOK}</text>',
    ]


def _beside(film: Record, unit: Record, cx: float, cy: float, k: int) -> list[str]:
    """The labels beside a node: the sum that lies there, and the gradient that a pass starts with."""
    color, parts = palette(), []
    for part in ("heap", "seed"):
        index = at(film["nodes"][unit["node"]][part], k)
        if index is None or index < 0:
            continue
        text, strip, *_ = film["states"][index]
        x, y, w = unit[part]
        x, y = x + cx, y + cy
        if part == "seed":
            left = x - w / 2
            parts.append(
                f'<path d="M{_n(left)} {y}h-18" class="e" style="stroke:{color["verm"]}"/>'
                f'<path d="M{_n(left - 25)} {y}l9 -4.5v9z" fill="{color["verm"]}"/>'
            )
            parts.append(_text(x, y - 13, "seed", "s"))
        pictured = strip >= 0 and has_strip(film["values"][strip])
        parts += _pill(x, y, w, film["strings"][text], film["values"][strip] if pictured else None, True)
        if part == "heap":
            parts.append(_text(x + w / 2 + 4, y + 3.5, "sum", "s l"))
    return parts


def _joined(x0: float, y0: float, x1: float, y1: float) -> str:
    """From a diamond to the .grad of its leaf, where it adds."""
    color, middle = palette(), (x0 + x1) / 2
    return (
        f'<path d="M{_n(x0)} {_n(y0)}C{_n(middle)} {_n(y0)} {_n(middle)} {_n(y1)} {_n(x1 + 5)} {_n(y1)}" class="e"/>'
        f'<path d="M{_n(x1)} {_n(y1)}l7 -3.5v7z" fill="{color["outline"]}"/>'
    )


def _dead_end(x: float, y: float, ry: float, pruned: bool) -> list[str]:
    """A stub with a stop sign: an operand that gets no gradient; full once the pass has come there."""
    color = palette()
    sign, bar = ("bad", "bg") if pruned else ("bg", "bad")
    top = y - ry - 7
    return [
        f'<path d="M{_n(x)} {_n(y - ry * 0.55)}V{_n(top)}" class="e"/>',
        f'<path d="M{_n(x - 2)} {_n(top - 5)}h4l3 3v4l-3 3h-4l-3 -3v-4z" fill="{color[sign]}" stroke="{color["bad"]}" stroke-width="1.4"/>'
        f'<path d="M{_n(x - 2.5)} {_n(top)}h5" stroke="{color[bar]}" stroke-width="1.6"/>',
    ]


def _hook(x: float, y: float) -> str:
    """The mark of a hook at the corner of a box."""
    color = palette()
    return (
        f'<circle cx="{_n(x)}" cy="{_n(y)}" r="7" fill="{color["bg"]}" stroke="{color["verm"]}" stroke-width="1.2"/>'
        f'<path d="M{_n(x + 1)} {_n(y - 4)}v4.5c0 2.6 -4 2.6 -4 0" fill="none" stroke="{color["verm"]}" stroke-width="1.5"/>'
    )


def moved(unit: Record, cx: float, cy: float) -> list[list[float]]:
    """A unit's boxes at their positions in the picture: [tensor, x, y, width, height]."""
    return [[t, x + cx, y + cy, w, h] for t, x, y, w, h in unit["boxes"]]


def _begun(film: Record, k: int) -> int:
    """The step at which the iteration of a training loop began; what earlier ones made is drawn faintly (assets/graph.js does the same)."""
    return max((turn for turn in film["turns"] if turn <= k), default=0) if film["curves"] else 0


def _faint(lines: str) -> str:
    return f'<g opacity=".25">{lines}</g>'


def _gradient(film: Record, bundle: Record, k: int, begun: int) -> list[str]:
    timelines = [film["backward"][line]["tl"] for line in bundle["lines"]]
    found = [film["states"][i] for timeline in timelines if (i := at(timeline, k)) is not None]
    if not found:
        return []
    color, p = palette(), bundle["p"]
    sent = [(value, after) for status, value, after in found if status == "sent"]
    if not sent:
        pruned = all(status == "pruned" for status, *_ in found)
        line = _path(p, 7, "e n" if pruned else "e", color["outline"])
        return [_faint(line) if min(timeline[0] for timeline in timelines if timeline) < begun else line]
    one = len(bundle["lines"]) == 1
    value, after = sent[0]
    text = brief(film, value) if one else f"{len(sent)}/{len(bundle['lines'])}"
    if one and after >= 0:
        text, value = f"{text} \N{RIGHTWARDS ARROW} {brief(film, after)}", after
    x, y, room = bundle["pill"]
    pictured = one and has_strip(film["values"][value])
    level = max(film["levels"][after if after >= 0 else v] for v, after in sent)
    shade, width = _weight(level)
    line = _path(p, 7, "e z" if level < 0 else "e", shade)
    line = line.replace("/>", f' style="stroke:{shade};stroke-width:{_n(width)}"/>', 1)
    w = text_width(text, 11, True) + 14 + (STRIP + 5 if pictured else 0) if one else room
    return [line, *_pill(x, y, w, text, film["values"][value] if pictured else None)]


def _pill(x: float, y: float, w: float, text: str, item: Any = None, square: bool = False) -> list[str]:
    """A label around its text; of an `item` of many numbers the heat strip too. What lies at a node is square."""
    color, extra = palette(), 0 if item is None else STRIP + 5
    parts = [
        _rect(x - w / 2, y - 9.5, w, 19, 3 if square else 9.5, color["verm-tint"], color["verm"]),
        f'<text x="{_n(x - extra / 2)}" y="{_n(y + 4)}" class="g b">{escape(text)}</text>',
    ]
    return parts if item is None else parts + _strip(item, x + w / 2 - STRIP - 7, y - 6, STRIP, 12)


def _strip(item: Record, x: float, y: float, w: float, h: float) -> list[str]:
    """A small picture of an array, as assets/dom.js draws it, with one path for all numbers of one color."""
    rows = _rows(item["data"])
    rows = [row[: 6 if len(rows) > 1 else 12] for row in rows[:6]]
    cw, ch = min(w / max(len(rows[0]), 1), 9), min(h / len(rows), 9)
    x0, y0 = x + (w - cw * len(rows[0])) / 2, y + (h - ch * len(rows)) / 2
    top = max((abs(v) for row in rows for v in row if not isinstance(v, str)), default=0)
    cells: dict[str, str] = {}
    for j, row in enumerate(rows):
        for i, v in enumerate(row):
            d = f"M{_n(x0 + i * cw)} {_n(y0 + j * ch)}h{_n(cw)}v{_n(ch)}h{_n(-cw)}z"
            shade = _shade(v, top)
            cells[shade] = cells.get(shade, "") + d
    return [f'<path d="{d}" fill="{shade}"/>' for shade, d in cells.items()]


def _rows(data: Any) -> list[list[Any]]:
    """The rows of a picture of an array: more than two dimensions are stacked."""
    if not isinstance(data, list):
        return [[data]]
    if not data or not isinstance(data[0], list):
        return [data]
    deep = data[0] and isinstance(data[0][0], list)
    return [row for part in data for row in _rows(part)] if deep else data


def _shade(x: Any, top: float) -> str:
    """A number's color: orange above zero, blue below, paler the nearer, in eight steps."""
    color = palette()
    if isinstance(x, str):
        return color["bad"]
    return mixed(
        color["neg" if x < 0 else "pos"], color["zero"], floor(8 * abs(x) / top + 0.5) / 8 if top else 0
    )


def mixed(one: str, other: str, part: float) -> str:
    """A color between two: so much of the one."""
    pairs = ((int(one[i : i + 2], 16), int(other[i : i + 2], 16)) for i in (1, 3, 5))
    return "#" + "".join(f"{floor(a * part + b * (1 - part) + 0.5):02x}" for a, b in pairs)


def brief(film: Record, v: int) -> str:
    """A value of the film, by its number, in a few characters."""
    return brief_text(film["values"][v]) if v >= 0 else "None"


def _label(film: Record) -> str:
    return f"Computation graph of {film['title'] or 'a trace'}: {len(film['nodes'])} nodes"


def _path(p: list[int], short: int, kind: str, color: str) -> str:
    """A line and its arrow head, as core.js draws them."""
    up = p[-1] < p[-3]
    d = f"M{p[0]} {p[1]}"
    for i in range(2, len(p), 2):
        y = p[i + 1] + ((short if up else -short) if i == len(p) - 2 else 0)
        middle = (p[i - 1] + y) / 2
        d += f"C{p[i - 2]} {_n(middle)} {p[i]} {_n(middle)} {p[i]} {y}"
    size = 4 if short == 4 else 5
    tip = f"M{p[-2]} {p[-1]}l{_n(-size * 0.8)} {_n((1 if up else -1) * size * 1.7)}h{_n(size * 1.6)}z"
    return f'<path d="{d}" class="{kind}"/><path d="{tip}" fill="{color}"/>'


def _rect(x: float, y: float, w: float, h: float, rx: float, fill: str, stroke: str) -> str:
    return (
        f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(w)}" height="{_n(h)}" rx="{_n(rx)}" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.2"/>'
    )


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    kind = f' class="{kind}"' if kind else ""
    return f'<text x="{_n(x)}" y="{_n(y)}"{kind}>{escape(text)}</text>'


def _note(text: str) -> str:
    color = palette()
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" width="420" height="48" role="img">'
        f'<rect width="420" height="48" fill="{color["soft"]}"/>'
        f'<text x="16" y="29" style="font:14px {_FONT};fill:{color["fg"]}">{escape(text)}</text></svg>'
    )


def _n(x: float) -> str:
    """A coordinate in as few bytes as possible."""
    return f"{x:.2f}".rstrip("0").rstrip(".")
