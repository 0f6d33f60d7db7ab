"""The still picture as pixels, without a browser: svg.py's output, drawn by matplotlib's renderer.

This does not read arbitrary SVG: it knows the elements, path commands and style rules that svg.py writes, and raises
on others. So there is one drawing, and PNG and GIF cannot differ from it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.colors import to_rgb
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.path import Path as Curve
from matplotlib.transforms import Affine2D
from PIL import Image

from .svg import palette

_TOKEN = re.compile(r"[A-Za-z]|-?\d*\.?\d+(?:e-?\d+)?")
_QUARTER = 0.5523  # the length of the handles of a Bezier curve that approximates a quarter of a circle
_MARGIN, _SIZE, _LEADING = 16, 14, 20  # the caption below: space around it, font size, line height
_LEAST_WIDTH = 460  # keeps a sentence below a narrow graph from getting as tall as the graph

Style = dict[str, str]


class Raster:
    """Draws pictures; `scale` is pixels per unit of the drawing."""

    def __init__(self, scale: float = 2) -> None:
        if not 0 < scale <= 10:
            raise ValueError(f"scale is pixels per point of the drawing, from 0 to 10, not {scale}")
        self.scale = scale
        self._measure = RendererAgg(1, 1, 72)
        self._widths: dict[tuple[str, float, bool], float] = {}

    def picture(self, drawing: str, caption: str = "", count: str = "", lines: int = 0) -> Image.Image:
        """The drawing; below it, if there is a caption, room for `lines` lines and a counter."""
        root = ElementTree.fromstring(drawing)
        box = root.get("viewBox", f"0 0 {root.get('width')} {root.get('height')}")
        left, top, width, height = _numbers(box)
        rules = _rules(drawing)
        full = max(width, _LEAST_WIDTH) if caption else width
        below = _LEADING * max(lines, 1) + 2 * _MARGIN if caption else 0
        across, down = round(full * self.scale), round((height + below) * self.scale)
        self.renderer = RendererAgg(across, down, 72)
        self.renderer.clear()
        self.down = down
        self.origin = (left - (full - width) / 2, top)
        back = {"fill": palette()["bg"]}
        self._fill([self.origin[0], top, full, height + below], back)
        for element in root:
            self._element(element, rules)
        if caption:
            self._caption(caption, count, top + height, full)
        pixels = np.asarray(self.renderer.buffer_rgba())
        return Image.fromarray(pixels, "RGBA").convert("RGB")

    def lines(self, width: float, caption: str, count: str) -> list[str]:
        """The caption broken into lines that leave room for the counter."""
        room = max(width, _LEAST_WIDTH) - 3 * _MARGIN - self._width(count, _SIZE)
        found = [""]
        for word in caption.split():
            longer = f"{found[-1]} {word}".strip()
            if found[-1] and self._width(longer, _SIZE) > room:
                found.append(word)
            else:
                found[-1] = longer
        return found

    # What svg.py writes.

    def _element(self, element: ElementTree.Element, rules: list[tuple[str, Style]]) -> None:
        tag = element.tag.rsplit("}", 1)[-1]
        style = _style(element, tag, rules)

        def get(name: str) -> float:
            return float(element.get(name, 0))

        if tag == "rect":
            self._path(_rectangle(get("x"), get("y"), get("width"), get("height"), get("rx")), style)
        elif tag in ("ellipse", "circle"):
            rx, ry = (get("r"), get("r")) if tag == "circle" else (get("rx"), get("ry"))
            x, y = get("cx") - rx, get("cy") - ry
            self._path(_rectangle(x, y, 2 * rx, 2 * ry, rx, ry), style)
        elif tag == "path":
            self._path(_path(element.get("d", "")), style)
        elif tag == "text":
            self._text("".join(element.itertext()), get("x"), get("y"), style)
        elif tag == "g" and element.get("transform") is None:
            for child in element:
                self._element(child, rules)
        elif tag not in ("style", "title", "desc", "defs"):
            raise ValueError(f"raster.py does not know how to draw <{tag}> as svg.py writes it: teach it")

    def _context(self, style: Style, part: str) -> Any:
        context = self.renderer.new_gc()
        context.set_foreground(to_rgb(style[part]))
        context.set_alpha(float(style.get("opacity", 1)))
        return context

    def _fill(self, box: list[float], style: Style) -> None:
        self._path(_rectangle(*box), style)

    def _path(self, curve: Curve, style: Style) -> None:
        scale, (x, y) = self.scale, self.origin
        place = Affine2D().translate(-x, -y).scale(scale, -scale).translate(0, self.down)
        fill, stroke = style.get("fill", "#000"), style.get("stroke", "none")
        if fill == stroke == "none":
            return
        context = self._context({"fill": fill, **style}, "fill" if stroke == "none" else "stroke")
        context.set_linewidth(float(style.get("stroke-width", 1)) * scale if stroke != "none" else 0)
        context.set_capstyle(style.get("stroke-linecap", "butt"))
        dashes = style.get("stroke-dasharray", "none")
        if dashes != "none":
            context.set_dashes(0, [n * scale for n in _numbers(dashes)])
        self.renderer.draw_path(context, curve, place, None if fill == "none" else (*to_rgb(fill), 1.0))

    def _text(self, words: str, x: float, y: float, style: Style) -> None:
        size = float(style.get("font-size", "12px").removesuffix("px"))
        bold = style.get("font-weight", "400") >= "600"
        width = self._width(words, size, bold)
        x -= {"start": 0, "middle": width / 2, "end": width}[style.get("text-anchor", "start")]
        place = (x - self.origin[0]) * self.scale, (y - self.origin[1]) * self.scale
        context = self._context({"fill": "#000", **style}, "fill")
        self.renderer.draw_text(context, *place, words, _font(size * self.scale, bold), 0)

    def _width(self, words: str, size: float, bold: bool = False) -> float:
        font = _font(size * self.scale, bold)
        if (words, size, bold) not in self._widths:
            width = self._measure.get_text_width_height_descent(words, font, False)[0]
            self._widths[words, size, bold] = width / self.scale
        return self._widths[words, size, bold]

    def _caption(self, caption: str, count: str, top: float, width: float) -> None:
        color, left = palette(), self.origin[0]
        self._fill([left, top, width, 1], {"fill": color["hair"]})
        style = {"fill": color["fg"], "font-size": f"{_SIZE}px"}
        first = top + _MARGIN + _SIZE
        for i, line in enumerate(self.lines(width, caption, count)):
            self._text(line, left + _MARGIN, first + i * _LEADING, style)
        style |= {"text-anchor": "end", "fill": color["dim"]}
        self._text(count, left + width - _MARGIN, first, style)


@cache
def _family() -> str:
    """The first font of the drawing's list that is installed; matplotlib ships DejaVu Sans."""
    wanted = ["Inter", "Segoe UI", "Roboto", "Helvetica Neue", "Arial", "Liberation Sans"]
    known = {font.name for font in fontManager.ttflist}
    return next((name for name in wanted if name in known), "DejaVu Sans")


@cache
def _font(size: float, bold: bool) -> FontProperties:
    family = _family()
    if family == "DejaVu Sans":
        size *= 0.88  # its letters are wider, and the boxes are made for the others
    return FontProperties(family=[family, "DejaVu Sans"], size=size, weight="bold" if bold else "normal")


def _numbers(text: str) -> list[float]:
    return [float(n) for n in text.replace(",", " ").split()]


def _rules(drawing: str) -> list[tuple[str, Style]]:
    """The style sheet: (selector, declarations), those for elements before those for classes."""
    sheet = re.search(r"<style>(.*?)</style>", drawing, re.S)
    rules = re.findall(r"([^{}]+)\{([^{}]*)\}", sheet[1]) if sheet else []
    return sorted(((s.strip(), _declarations(d)) for s, d in rules), key=lambda rule: rule[0].startswith("."))


def _declarations(text: str) -> Style:
    pairs = (part.split(":", 1) for part in text.split(";") if ":" in part)
    style = {name.strip(): value.strip() for name, value in pairs}
    font = style.pop("font", "")
    if font:
        style |= {"font-size": re.search(r"[\d.]+px", font)[0]}  # type: ignore[index]
        if weight := re.match(r"\d+(?= )", font):
            style["font-weight"] = weight[0]
    return style


def _style(element: ElementTree.Element, tag: str, rules: list[tuple[str, Style]]) -> Style:
    style = dict(element.attrib)
    classes = set(element.get("class", "").split())
    for selector, declarations in rules:
        if selector == tag or (selector.startswith(".") and set(selector[1:].split(".")) <= classes):
            style |= declarations
    return style | _declarations(element.get("style", ""))


def _rectangle(x: float, y: float, w: float, h: float, rx: float = 0, ry: float | None = None) -> Curve:
    rx, ry = min(rx, w / 2), min(rx if ry is None else ry, h / 2)
    if not rx:
        return _path(f"M{x} {y}h{w}v{h}h{-w}z")
    a, b = rx * (1 - _QUARTER), ry * (1 - _QUARTER)
    right, low = x + w, y + h
    return _path(
        f"M{x + rx} {y}L{right - rx} {y}C{right - a} {y} {right} {y + b} {right} {y + ry}"
        f"L{right} {low - ry}C{right} {low - b} {right - a} {low} {right - rx} {low}"
        f"L{x + rx} {low}C{x + a} {low} {x} {low - b} {x} {low - ry}"
        f"L{x} {y + ry}C{x} {y + b} {x + a} {y} {x + rx} {y}z"
    )


def _path(d: str) -> Curve:
    """A path's `d` as a curve: M, L, H, V, C and z, absolute or relative."""
    points: list[tuple[float, float]] = []
    codes: list[Any] = []
    x = y = 0.0
    start = (0.0, 0.0)
    tokens = _TOKEN.findall(d)
    command, i = "", 0
    while i < len(tokens):
        if tokens[i].isalpha():
            command, i = tokens[i], i + 1
            if command in "zZ":
                points.append(start)
                codes.append(Curve.CLOSEPOLY)
                x, y = start
                continue
        dx, dy = (x, y) if command.islower() else (0.0, 0.0)
        kind = command.upper()
        need = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6}.get(kind)
        if need is None:
            raise ValueError(f"raster.py does not know the path command {command!r}: teach it")
        numbers = [float(n) for n in tokens[i : i + need]]
        i += need
        if kind == "H":
            numbers = [numbers[0], y - dy]
        elif kind == "V":
            numbers = [x - dx, numbers[0]]
        pairs = [(a + dx, b + dy) for a, b in zip(numbers[::2], numbers[1::2], strict=True)]
        points += pairs
        codes += [Curve.MOVETO if kind == "M" else Curve.CURVE4 if kind == "C" else Curve.LINETO] * len(pairs)
        x, y = pairs[-1]
        if kind == "M":
            start = (x, y)
            command = "l" if command == "m" else "L"
    return Curve(points, codes)
