"""Showns as web pages that step by themselves.

s.save_html("demo.html")        one file: opens from disk, needs no kernel and no network
save_html("demo.html", s, t)    several steppers, or comparisons, in one file
s.embed()                       the same as the output of a cell: it steps wherever the notebook is trusted
"""

from __future__ import annotations

import json
import os
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .shown import Shown

_ASSETS = Path(__file__).parent / "assets"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data:">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{css}
body {{ margin: 0; background: light-dark(#fff, #14171b); color: light-dark(#1c2127, #e8ebee); font: 15px/1.4 Inter, \
"Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif; }}
{layout}
</style>
</head>
<body>
<main>
{body}
</main>
<script type="module">
{script}
</script>
</body>
</html>
"""
_LAYOUT = """main { max-width: 1900px; margin: 0 auto; padding: 12px 16px 16px; }
h1 { font-size: 20px; font-weight: 600; margin: 2px 0 8px; }
.agl-root { margin: 0 0 20px; }
.agl-still img { max-width: 100%; background: #fff; }"""
_ALONE = "@container (min-width: 701px) { .agl { height: max(480px, calc(100vh - 72px)); } }"
_EMBEDDED = """.agl-root { margin: 0; }
@container (min-width: 701px) { .agl, .agl[data-quiz], .agl-static .agl { height: 100vh; } }"""


class Embedded:
    """A stepper as HTML for a notebook: an iframe that holds all it needs, and a still picture for where it may not run."""

    def __init__(self, stepper: Shown, height: int = 640) -> None:
        self.stepper, self.height = stepper, height

    def __repr__(self) -> str:
        return f"Embedded({self.stepper.summary()})"

    def _repr_html_(self) -> str:
        inside = page([self.stepper], "Autograd stepper", embedded=True)
        label = escape(f"Autograd stepper: {self.stepper.summary()}", quote=True)
        return (
            # where a notebook is not trusted, style and iframe are dropped and the picture is seen
            "<style>.agl-embed:has(iframe) .agl-still img{display:none}"
            ".agl-embed iframe{width:100%;border:0;display:block;margin-bottom:4px}</style>"
            '<div class="agl-embed">'
            f'<iframe sandbox="allow-scripts" allow="fullscreen" title="{label}" height="{self.height}" '
            f'srcdoc="{escape(inside, quote=True)}"></iframe>'
            f"{self.stepper.still()}</div>"
        )


def save_html(path: str | os.PathLike[str], *steppers: Shown, title: str | None = None) -> None:
    """Write steppers, one below the other, as one web page that needs no kernel and no network.

    Raises TypeError for what is no stepper, ValueError if `path` does not end in .html or .htm or there are no
    steppers, FileNotFoundError if its folder does not exist.
    """
    target = destination(path, "save_html", ".html", ".htm")
    if not steppers:
        raise ValueError("save_html() needs a stepper to write: save_html(path, lab.step(trace))")
    from .shown import Shown

    for stepper in steppers:
        if not isinstance(stepper, Shown):
            raise TypeError(
                f"save_html() writes steppers, not {type(stepper).__name__}: make one with lab.step(...)"
            )
    title = title or next((s.heading for s in steppers if s.heading), "") or "Autograd, step by step"
    target.write_text(page(list(steppers), title), encoding="utf-8")


def page(steppers: list[Shown], title: str, embedded: bool = False) -> str:
    """The text of a web page with these steppers."""
    parts = [] if embedded else [f"<h1>{escape(title)}</h1>"]
    for stepper in steppers:
        parts.append(data_block(stepper))
        parts.append(f"<noscript>{stepper.still()}</noscript>")
    layout = _EMBEDDED if embedded else _LAYOUT + (_ALONE if len(steppers) == 1 else "")
    from .stepper import style

    return _PAGE.format(
        title=escape(title), css=style(), layout=layout, body="\n".join(parts), script=script()
    )


def data_block(stepper: Shown) -> str:
    """A stepper as data in a page: where it stands, the page's script opens it (inside a fold, when that is unfolded)."""
    data = json.dumps(_traits(stepper), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
    return f'<script type="application/json">{data}</script>'


@cache
def script() -> str:
    """The stepper's module and the model it talks to; a page's script may not hold the text "</script"."""
    from .stepper import front_end

    shim = (_ASSETS / "shim.js").read_text(encoding="utf-8")
    joined = re.sub(r"^export default", "const WIDGET =", front_end(), flags=re.M) + shim
    return re.sub(r"</(?=script)", r"<\\/", joined, flags=re.I)


def _traits(stepper: Shown) -> dict[str, Any]:
    """What the stepper's front end may ask for: its own traits, not those of every widget."""
    from anywidget import AnyWidget

    stepper.before_keeping()
    own = set(stepper.traits(sync=True)) - set(AnyWidget.class_traits(sync=True))
    traits = {name: getattr(stepper, name) for name in sorted(own - {"_esm", "_css", "_anywidget_id"})}
    return traits | {"_kernel": False}


def destination(path: str | os.PathLike[str], caller: str, *suffixes: str) -> Path:
    """Where `caller` shall write: a path with one of the suffixes, in a folder that exists."""
    try:
        target = Path(path).expanduser()
    except TypeError:
        raise TypeError(
            f"{caller}() writes to a path, such as 'graph{suffixes[0]}', not {type(path).__name__}"
        ) from None
    if target.is_dir():
        raise IsADirectoryError(f"{caller}() needs a file to write, but {str(path)!r} is a folder")
    if target.suffix.lower() not in suffixes:
        raise ValueError(
            f"{caller}() writes {' or '.join(suffixes)} files, and {str(path)!r} does not end so: "
            f"use {str(target.with_suffix(suffixes[0]))!r}"
        )
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"there is no folder {str(target.parent)!r} to write {target.name!r} into: make it first"
        )
    return target
