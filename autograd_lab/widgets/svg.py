"""The film as a still picture: one SVG text, the same bytes for the same film, for viewers that run no widget.

It draws what the stepper draws, from the same positions, in the colors of one theme; themed.py puts both into one picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from .frames import at, drawn_name, shape_text, text_width
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
        f"stroke-width:1.5}}.v{{stroke:{color['verm']};stroke-width:2}}</style>",
        f'<rect x="-16" y="-16" width="{w}" height="{h}" fill="{color["bg"]}"/>',
    ]
    for group in where["groups"]:
        parts += _group(film, k, *group)
    for bundle in where["forward"]:
        lines = [line for i in bundle["lines"] if (line := film["forward"][i])["k"] <= k]
        if lines:
            free = all(line["free"] for line in lines)
            parts.append(_path(bundle["p"], 4, "f n" if free else "f", color["outline"]))
    for u, x, y in where["units"]:
        if film["units"][u]["since"] <= k:
            parts += _unit(film, film["units"][u], x, y, k)
    for bundle in where["backward"]:
        parts += _gradient(film, bundle, k)
    return "".join([*parts, "</svg>"])


def seen(film: Record) -> Record | None:
    """The initial scene of a film; None if it is too large for a picture."""
    opened = set(film["open"])
    boxes = sum(group["parent"] in opened or group["parent"] < 0 for group in film["groups"])
    boxes += sum(unit["group"] in opened or unit["group"] < 0 for unit in film["units"])
    return scene(film) if boxes <= MOST_UNITS else None


def _census(film: Record, g: int, k: int) -> str:
    """The progress of the nodes in a group, in a few words; assets/groups.js says a little more."""
    inside = {g}
    for child, group in enumerate(film["groups"]):
        if group["parent"] in inside:
            inside.add(child)
    nodes = [unit["node"] for unit in film["units"] if unit["group"] in inside and unit["node"] >= 0]
    if not nodes:
        return f"{film['groups'][g]['units']} tensors"
    states = [film["states"][i] for n in nodes if (i := at(film["nodes"][n]["tl"], k)) is not None]
    if any(status != "made" for status, *_ in states):
        return f"{sum(status == 'done' for status, *_ in states)}/{len(nodes)} done"
    if 0 < len(states) < len(nodes):
        return f"{len(states)} of {len(nodes)} nodes made"
    return f"{len(nodes)} node{'s' if len(nodes) > 1 else ''}"


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
        _text(x + w / 2, y + 38, _census(film, g, k), "s"),
    ]


def _unit(film: Record, unit: Record, cx: float, cy: float, k: int) -> list[str]:
    color, parts = palette(), []
    for t, x, y, w, h in moved(unit, cx, cy):
        tensor = film["tensors"][t]
        index = at(tensor["tl"], min(k, unit["until"]))
        if index is None:
            continue
        value, version, grad, retains = film["states"][index]
        parts.append(_rect(x, y, w, h, 4, color["soft"], color["outline"]))
        middle = x + w / 2
        if tensor["leaf"] and not unit["fed"]:
            parts.append(
                f'<text x="{x + 1}" y="{y - 4}" class="s l">{"leaf" if tensor["grad"] else "data"}</text>'
            )
        if version:
            halo = f"paint-order:stroke;stroke:{color['bg']};stroke-width:3px;text-anchor:end"  # lines pass behind it
            right, base = (x - 5, y + h / 2 + 3) if unit["fed"] else (x + w - 1, y - 4)
            parts.append(
                f'<text x="{_n(right)}" y="{_n(base)}" class="s" style="{halo}">version {version}</text>'
            )
        if tensor["name"]:
            parts.append(_text(middle, y + 17, drawn_name(tensor["name"]), "b"))
        parts.append(_text(middle, y + (32 if tensor["name"] else 24.5), brief(film, value)))
        if h > 50 and (tensor["leaf"] or retains):
            parts.append(f'<path d="M{x} {y + 40}h{w}" stroke="{color["hair"]}"/>')
            fill = f' style="fill:{color["verm"]}"' if grad >= 0 else ""
            shown = brief(film, grad)
            parts.append(f'<text x="{_n(middle)}" y="{y + 52}" class="g"{fill}>.grad {escape(shown)}</text>')
    if unit["node"] < 0:
        return parts
    node = film["nodes"][unit["node"]]
    if at(node["tl"], k) is None:
        return parts
    x, y, rx, ry = unit["shape"]
    x, y = x + cx, y + cy
    stroke = f'fill="{color["bg"]}" stroke="{color["outline"]}" stroke-width="1.2"'
    if k < film["steps"] and film["focus"][k] == unit["node"]:  # the last step shows the whole, not a moment
        name = "blue" if at(film["phase"], k, 3)[0] == "forward" else "verm"
        stroke = f'fill="{color[name + "-tint"]}" stroke="{color[name]}" stroke-width="2.8"'
    if node["kind"] == "accumulate":
        parts.append(f'<path d="M{x} {y - ry}L{x + rx} {y}L{x} {y + ry}L{x - rx} {y}z" {stroke}/>')
        parts.append(_text(x, y + 4.5, "+=", "b"))
        parts.append(_text(x, y - ry - 5, "AccumulateGrad", "s"))
    else:
        if unit["boxes"]:
            _, bx, _, bw, _ = moved(unit, cx, cy)[-1]
            parts.append(
                f'<path d="M{bx + bw} {y}H{x - rx}" stroke="{color["outline"]}" stroke-width="1.2"/>'
            )
        parts.append(f'<ellipse cx="{x}" cy="{y}" rx="{rx}" ry="{ry}" {stroke}/>')
        parts.append(_text(x, y + 4, node["label"]))
    return parts


def moved(unit: Record, cx: float, cy: float) -> list[list[float]]:
    """A unit's boxes at their positions in the picture: [tensor, x, y, width, height]."""
    return [[t, x + cx, y + cy, w, h] for t, x, y, w, h in unit["boxes"]]


def _gradient(film: Record, bundle: Record, k: int) -> list[str]:
    found = [
        film["states"][i]
        for line in bundle["lines"]
        if (i := at(film["backward"][line]["tl"], k)) is not None
    ]
    if not found:
        return []
    color, p = palette(), bundle["p"]
    sent = [value for status, value in found if status == "sent"]
    if not sent:
        pruned = all(status == "pruned" for status, _ in found)
        return [_path(p, 7, "e n" if pruned else "e", color["outline"])]
    one = len(bundle["lines"]) == 1
    text = brief(film, sent[0]) if one else f"{len(sent)}/{len(bundle['lines'])}"
    x, y, room = bundle["pill"]
    w = text_width(text, 11, True) + 14 if one else room
    return [
        _path(p, 7, "e v", color["verm"]),
        _rect(x - w / 2, y - 9.5, w, 19, 9.5, color["verm-tint"], color["verm"]),
        f'<text x="{x}" y="{y + 4}" class="g b">{escape(text)}</text>',
    ]


def brief(film: Record, v: int) -> str:
    """A value in a few characters: the number, or the shape."""
    item = film["values"][v] if v >= 0 else "None"
    return item if isinstance(item, str) else shape_text(item["shape"])


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
