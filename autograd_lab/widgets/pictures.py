"""Steps as pictures and runs as animations, for slides and handouts.

s.save_svg(path)    one step, as in a notebook
s.save_png(path)    the same as pixels, with the sentence of the step below it
s.save_gif(path)    a run
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from autograd_lab.tracing import Trace

from .export import destination
from .svg import seen, svg
from .themed import themed

if TYPE_CHECKING:
    from PIL.Image import Image

#: At most so many pictures are in a GIF; no program plays more without stuttering.
MOST_FRAMES = 1000


class Pictures:
    """The methods of a stepper that write pictures."""

    trace: Trace
    position: int
    _shown: int
    if TYPE_CHECKING:

        @property
        def film(self) -> dict[str, Any]:
            """Everything that is drawn."""

    def save_svg(self, path: str | os.PathLike[str], step: int | None = None) -> None:
        """Write the graph after `step` events as SVG; by default the step that is shown, or from 0 the last."""
        target = destination(path, "save_svg", ".svg")
        target.write_text(themed(self.film, self._pictured(step)), encoding="utf-8")

    def save_png(
        self, path: str | os.PathLike[str], step: int | None = None, *, scale: float = 2, caption: bool = True
    ) -> None:
        """Write the graph after `step` events as PNG; by default the step that is shown, or from 0 the last.

        `scale` is pixels per point of the drawing, `caption` whether the sentence of the step is printed below.
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
        seconds  the duration of each picture; the last lasts three times as long

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
