"""Keeping what a stepper shows: a web page that steps by itself, an embedded one, and pictures for slides.

s.save_html("demo.html")        one file: opens from disk, needs no kernel and no network
save_html("demo.html", s, t)    several steppers in one file
s.embed()                       the same as the output of a cell: it steps wherever the notebook is trusted
s.save_svg(path), .save_png     one step as a picture
s.save_gif(path)                a run as a moving picture
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import still
from .svg import seen, svg

if TYPE_CHECKING:
    from PIL.Image import Image

    from .stepper import Stepper

_ASSETS = Path(__file__).parent / "assets"
#: Pictures a GIF may have at most; one of 2,000 is shown by no program without stuttering.
MOST_FRAMES = 1000
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
@container (min-width: 701px) { .agl { height: 100vh; } }"""


class Keeping:
    """The methods of a stepper that write what it shows into a file, or into the notebook for good."""

    trace: Any
    film: dict[str, Any]
    position: int
    question: str
    _shown: int

    def save_html(self, path: str | os.PathLike[str], title: str | None = None) -> None:
        """Write a web page that steps with no kernel and no network; what the file held before is replaced.

        It begins at the step that is shown now. `title` is the page's heading, if not the trace's. The theme is the
        reader's choice (light or dark). Raises ValueError if `path` does not end in .html or .htm, FileNotFoundError
        if its folder does not exist.
        """
        save_html(path, self, title=title)  # type: ignore[arg-type]

    def embed(self, height: int = 640) -> Embedded:
        """The stepper as a page inside the page, `height` pixels high, that needs no kernel.

        As the last expression of a cell it is stored in the notebook and steps when that is opened again, in what
        nbconvert makes of it, and offline. A notebook from somebody else shows the picture and the table of steps until
        it is trusted ("Trust Notebook").
        """
        return Embedded(self, height)  # type: ignore[arg-type]

    def save_svg(self, path: str | os.PathLike[str], step: int | None = None) -> None:
        """Write the graph after `step` events as SVG; by default the step that is shown, or from 0 the last."""
        target = destination(path, "save_svg", ".svg")
        target.write_text(svg(self.film, self._pictured(step)), encoding="utf-8")

    def save_png(
        self, path: str | os.PathLike[str], step: int | None = None, *, scale: float = 2, caption: bool = True
    ) -> None:
        """Write the graph after `step` events as PNG; by default the step that is shown, or from 0 the last.

        `scale` is pixels per point of the drawing, `caption` whether the sentence of the step stands below.
        """
        target = destination(path, "save_png", ".png")
        (frame,) = self._pictures([self._pictured(step)], scale, caption)
        frame.save(target, optimize=True)

    def save_gif(
        self,
        path: str | os.PathLike[str],
        steps: str | Iterable[int] = "node",
        seconds: float = 1.2,
        *,
        scale: float = 1.5,
        caption: bool = True,
    ) -> None:
        """Write a run as a GIF that repeats, for slides.

        steps    "node": one picture for each node made and each node that did its work; "event": one for each
                 event; or the numbers of the steps
        seconds  how long each picture stands; the last stands three times as long

        Raises ValueError for a step that the trace does not have, and for more than 1,000 pictures.
        """
        from PIL.Image import Dither

        target = destination(path, "save_gif", ".gif")
        if not seconds > 0:
            raise ValueError(f"seconds is how long a picture stands, more than 0, not {seconds}")
        frames = list(self._pictures(self._gif_steps(steps), scale, caption))
        shown = [round(1000 * seconds)] * (len(frames) - 1) + [round(3000 * seconds)]
        frames = [frame.quantize(128, dither=Dither.NONE) for frame in frames]
        frames[0].save(target, save_all=True, append_images=frames[1:], duration=shown, loop=0)

    def _pictured(self, step: int | None) -> int:
        if step is None:
            return self.position or self._shown
        return self._checked(step)

    def _checked(self, step: Any) -> int:
        if isinstance(step, bool) or not hasattr(step, "__index__"):
            raise TypeError(f"a step is a whole number of events, not {type(step).__name__}")
        if not 0 <= step <= len(self.trace):
            raise ValueError(
                f"there is no step {step}: this trace has steps 0 (before the first event) to {len(self.trace)}"
            )
        return int(step)

    def _gif_steps(self, steps: str | Iterable[int]) -> list[int]:
        if steps == "node":
            found = sorted({0, *self.film["stops"], len(self.trace)})
        elif steps == "event":
            found = list(range(len(self.trace) + 1))
        elif isinstance(steps, str):
            raise ValueError(f'steps is "node", "event" or the numbers of the steps, not "{steps}"')
        else:
            found = [self._checked(step) for step in steps]
        if not found:
            raise ValueError("steps is empty: a GIF needs at least one picture")
        if len(found) > MOST_FRAMES:
            raise ValueError(
                f"that would be a GIF of {len(found)} pictures, {MOST_FRAMES} at most: "
                "name fewer with steps=range(...), or use save_html"
            )
        return found

    def _pictures(self, steps: list[int], scale: float, caption: bool) -> Iterable[Image]:
        from autograd_lab.tracing import narrate

        from .raster import Raster

        raster = Raster(scale)
        words = [narrate(self.trace, k) if caption else "" for k in steps]
        counts = [f"{k} / {len(self.trace)}" if caption else "" for k in steps]
        where = seen(self.film)
        width = (where["size"][0] if where else 388) + 32
        lines = max(len(raster.lines(width, *pair)) for pair in zip(words, counts, strict=True))
        for k, sentence, count in zip(steps, words, counts, strict=True):
            yield raster.picture(svg(self.film, k, where), sentence, count, lines)


class Embedded:
    """A stepper as HTML for a notebook: an iframe that holds all it needs, and a still picture for where it may not run."""

    def __init__(self, stepper: Stepper, height: int = 640) -> None:
        self.stepper, self.height = stepper, height

    def __repr__(self) -> str:
        return f"Embedded({still.summary(self.stepper.trace)})"

    def _repr_html_(self) -> str:
        trace = self.stepper.trace
        inside = page([self.stepper], "Autograd stepper", embedded=True)
        label = escape(f"Autograd stepper: {still.summary(trace)}", quote=True)
        return (
            # where a notebook is not trusted, style and iframe are dropped and the picture is seen
            "<style>.agl-embed:has(iframe) .agl-still img{display:none}"
            ".agl-embed iframe{width:100%;border:0;display:block;margin-bottom:4px}</style>"
            '<div class="agl-embed">'
            f'<iframe sandbox="allow-scripts" allow="fullscreen" title="{label}" height="{self.height}" '
            f'srcdoc="{escape(inside, quote=True)}"></iframe>'
            f"{_still(self.stepper)}</div>"
        )


def save_html(path: str | os.PathLike[str], *steppers: Stepper, title: str | None = None) -> None:
    """Write steppers, one below the other, as one web page that needs no kernel and no network.

    Raises TypeError for what is no stepper, ValueError if `path` does not end in .html or .htm or there are no
    steppers, FileNotFoundError if its folder does not exist.
    """
    target = destination(path, "save_html", ".html", ".htm")
    if not steppers:
        raise ValueError("save_html() needs a stepper to write: save_html(path, lab.step(trace))")
    for stepper in steppers:
        if not isinstance(stepper, Keeping):
            raise TypeError(
                f"save_html() writes steppers, not {type(stepper).__name__}: make one with lab.step(...)"
            )
    title = title or next((s.trace.title for s in steppers if s.trace.title), "") or "Autograd, step by step"
    target.write_text(page(list(steppers), title), encoding="utf-8")


def page(steppers: list[Stepper], title: str, embedded: bool = False) -> str:
    """The text of a web page with these steppers."""
    parts = [] if embedded else [f"<h1>{escape(title)}</h1>"]
    for stepper in steppers:
        data = json.dumps(_traits(stepper), separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")
        parts.append(f'<script type="application/json">{data}</script>')
        parts.append(f"<noscript>{_still(stepper)}</noscript>")
    layout = _EMBEDDED if embedded else _LAYOUT + (_ALONE if len(steppers) == 1 else "")
    from .stepper import style

    return _PAGE.format(
        title=escape(title), css=style(), layout=layout, body="\n".join(parts), script=_script()
    )


def _still(stepper: Stepper) -> str:
    return still.html(stepper.trace, stepper.film, stepper._shown, stepper.question)


@cache
def _script() -> str:
    """The stepper's module and the model it talks to; a page's script may not hold the text "</script"."""
    from .stepper import front_end

    shim = (_ASSETS / "shim.js").read_text(encoding="utf-8")
    script = re.sub(r"^export default", "const WIDGET =", front_end(), flags=re.M) + shim
    return re.sub(r"</(?=script)", r"<\\/", script, flags=re.I)


def _traits(stepper: Stepper) -> dict[str, Any]:
    """What the stepper's front end may ask for: its own traits, not those of every widget."""
    from anywidget import AnyWidget

    stepper._carry_quiz()
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
