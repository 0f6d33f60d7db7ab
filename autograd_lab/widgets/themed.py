"""A picture of a graph in the colors of the page's theme: light ones, and dark ones where the page is dark.

An image follows the `color-scheme` of the element that shows it: JupyterLab's theme, the reader's choice on GitHub, the system's
elsewhere. Pixels (PNG, GIF) are light.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from autograd_lab.tracing.trace import Record

from .svg import in_the_dark, svg

_COLOR = re.compile(r"#[0-9a-f]{6}\b")


def themed(
    film: Record, k: int | None = None, where: Record | None = None, draw: Callable[..., str] = svg
) -> str:
    """`draw(film, k, where)`, a picture, with its dark colors as a second style sheet."""
    light = draw(film, k, where)
    with in_the_dark():
        dark = draw(film, k, where)
    pairs = dict(reversed(list(zip(_COLOR.findall(light), _COLOR.findall(dark), strict=True))))
    rules = []
    for part in (
        "fill",
        "stroke",
    ):  # of no weight, so that the rules of classes and texts stand above them, as in light
        for one in sorted(set(re.findall(rf'{part}="(#[0-9a-f]{{6}})"', light))):
            rules.append(f':where(:not(text)[{part}="{one}"]){{{part}:{pairs[one]}}}')
        for one in sorted(set(re.findall(rf'style="[^"]*?{part}:(#[0-9a-f]{{6}})', light))):
            rules.append(f'[style*="{part}:{one}"]{{{part}:{pairs[one]}!important}}')
    sheet = re.search(r"<style>(.*?)</style>", dark)
    media = (
        f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}{sheet[1] if sheet else ''}}}</style>"
    )
    return light.removesuffix("</svg>") + media + "</svg>"
