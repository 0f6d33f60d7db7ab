"""Web pages on which widgets step by themselves: one file, which opens from disk and needs no kernel and no network."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, Protocol

from .front import ASSETS, front_end, joined, style

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


MOST = 999_000
"""Bytes of a page with sliders, but for a few sentences."""


class OnPage(Protocol):
    """What a page can show; a Shown is one."""

    def still(self) -> str:
        """What is shown, as HTML that neither moves nor needs anything."""

    def before_keeping(self) -> None:
        """Load what a page without a kernel could not ask for later."""

    def traits(self, **metadata: Any) -> dict[str, Any]:
        """What travels to the browser."""


def page(
    steppers: Sequence[OnPage], title: str, embedded: bool = False, more: Sequence[dict[str, Any]] = ()
) -> str:
    """The text of a web page with these steppers; `more` has further traits for each, or is empty."""
    parts = [] if embedded else [f"<h1>{escape(title)}</h1>"]
    for i, stepper in enumerate(steppers):
        parts.append(data_block(stepper, more[i] if more else {}))
        parts.append(f"<noscript>{stepper.still()}</noscript>")
    layout = _EMBEDDED if embedded else _LAYOUT + (_ALONE if len(steppers) == 1 else "")
    own = any("_own" in stepper.traits(sync=True) for stepper in steppers)
    return _PAGE.format(
        title=escape(title), css=style(), layout=layout, body="\n".join(parts), script=script(own)
    )


def data_block(stepper: OnPage, more: dict[str, Any] | None = None) -> str:
    """A stepper, with `more` traits, as data in a page: where it stands, the page's script opens it (inside a fold, when that is unfolded)."""
    return f'<script type="application/json">{as_json(traits(stepper) | (more or {}))}</script>'


def as_json(data: dict[str, Any]) -> str:
    """Traits as JSON that may stand in a page's script element."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


@cache
def widget() -> str:
    """The front end as the constant WIDGET, and the class Model: what it asks for its traits where there is no kernel."""
    return re.sub(r"^export default", "const WIDGET =", front_end(), flags=re.M) + joined(("model.js",))


@cache
def script(own: bool = False) -> str:
    """The stepper's module and the model it talks to; a page's script may not hold the text "</script".

    With `own` also the module that steps through a function of one's own.
    """
    shim = (ASSETS / "shim.js").read_text(encoding="utf-8")
    module = re.sub(r"^export default", "const OWN =", joined(("own.js",)), flags=re.M) if own else ""
    return re.sub(r"</(?=script)", r"<\\/", widget() + module + shim, flags=re.I)


def traits(stepper: OnPage) -> dict[str, Any]:
    """What the stepper's front end may ask for: its own traits, not those of every widget."""
    from anywidget import AnyWidget

    stepper.before_keeping()
    own = set(stepper.traits(sync=True)) - set(AnyWidget.class_traits(sync=True))
    kept = {
        name: getattr(stepper, name)
        for name in sorted(
            own - {"_esm", "_css", "_anywidget_id", "_can_measure", "_change", "_measure", "_measured"}
        )
    }
    return kept | {"_kernel": False}


def destination(path: str | os.PathLike[str], caller: str, *suffixes: str) -> Path:
    """The path that `caller` writes to: with one of the suffixes, in an existing folder."""
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


def close(shown: OnPage) -> None:
    """Close a widget when what it shows has been written: closed as Python ends, it may ask for a kernel."""
    from ipywidgets import Widget

    for widget in (shown, getattr(shown, "layout", None)):
        if isinstance(widget, Widget):
            widget.close()
