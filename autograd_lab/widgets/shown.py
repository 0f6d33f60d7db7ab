"""How a widget is displayed and kept as a page: the same for a stepper and for a comparison.

Two outputs: a still picture with text, and the widget, which hides the picture. One output with both forms would not do:
in a trusted notebook without a kernel JupyterLab prints "model not found" for it, whatever else it holds.

s.save_html("demo.html")        one file: opens from disk, needs no kernel and no network
save_html("demo.html", s, t)    several steppers, or comparisons, in one file
s.embed()                       the same as the output of a cell: it steps wherever the notebook is trusted
"""

from __future__ import annotations

import os
from html import escape
from typing import Any

import traitlets

from autograd_lab.tracing.trace import Record

from .export import MOST, destination, page

_VIEW = "application/vnd.jupyter.widget-view+json"


class Displayed(traitlets.HasTraits):
    """What a widget needs to be displayed; it says itself how it looks still and as text."""

    _still = traitlets.Unicode(help="which still picture it replaces").tag(sync=True)

    def to_text(self) -> str:
        """What is shown, as lines of text."""
        raise NotImplementedError

    def to_html(self) -> str:
        """The still form, as it stands before the widget in a notebook; sanitizing leaves it alone."""
        raise NotImplementedError

    def open(self) -> None:
        """Connect the widget with its page."""
        super().open()
        # JupyterLab asks for a thread beside the one that runs cells, so that "Run All" does not hold back what is clicked
        # meanwhile. ipykernel 7.4 hands it to the thread that sent something last instead, which is the one that runs cells.
        if hasattr(self.comm, "_reply_subshell_for"):
            self.comm._reply_subshell_for = lambda data, asked_for: asked_for

    is_complete = True  # whether the browser has all there is to show

    def complete(self) -> None:
        """Send the browser what it does not have yet."""

    def _ipython_display_(self, **kwargs: Any) -> None:
        from IPython.core.getipython import get_ipython
        from IPython.display import display

        if getattr(get_ipython(), "kernel", None) is None:  # a terminal
            print(self.to_text())
            return
        if self.is_complete:
            display({"text/plain": self.to_text(), "text/html": self.to_html()}, raw=True)
            self._display_view()
            return
        place = display({"text/plain": "", "text/html": ""}, raw=True, display_id=True)
        self._display_view()
        self.complete()
        place.update({"text/plain": self.to_text(), "text/html": self.to_html()}, raw=True)

    def _display_view(self) -> None:
        from IPython.display import display

        view = self._view()
        if view:
            # nothing, in the forms that nbconvert asks for: else it warns that it cannot represent the widget
            display({_VIEW: view[_VIEW], "text/html": "", "text/plain": ""}, raw=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[Record, Record]:
        return {**self._view(**kwargs), "text/plain": self.to_text(), "text/html": self.to_html()}, {}

    def _view(self, **kwargs: Any) -> Record:
        if os.environ.get("AUTOGRAD_LAB_STATIC") == "1":
            return {}
        view = super()._repr_mimebundle_(**kwargs)
        return {} if view is None else view[0]


class Shown(Displayed):
    """What a widget needs to be displayed, saved and embedded."""

    @property
    def heading(self) -> str:
        """The title of a saved page, or ''."""
        raise NotImplementedError

    def summary(self) -> str:
        """One line that says what is shown."""
        raise NotImplementedError

    def still(self, note: str = "", beside_widget: bool = False) -> str:
        """What is shown, as HTML that neither moves nor needs anything; see widgets/still.py."""
        raise NotImplementedError

    def before_keeping(self) -> None:
        """Load what a page without a kernel could not ask for later."""

    def to_html(self) -> str:
        """The still form, as it stands before the widget in a notebook; sanitizing leaves it alone."""
        return self.still(". Run the cell to step through them.", beside_widget=True)

    def save_html(
        self, path: str | os.PathLike[str], title: str | None = None, slider: str | bool = True
    ) -> None:
        """Write a web page that steps with no kernel and no network; what the file held before is replaced.

        It begins at the step that is shown now. `title` is the page's heading, if not the trace's. The theme is the
        reader's choice (light or dark). The page of `lab.step(fn, *inputs)` has one slider that works: for the first input that
        is one number and wants a gradient, or for `slider="x"`. Its 41 values are computed now, so `fn` runs 41 times, and unrecorded
        for the nudges; `slider=False` leaves it out, and so does a page that would be larger than 1 MB with it, or a slow function.
        Raises ValueError if `path` does not end in .html or .htm or there is no such input, FileNotFoundError if its folder does not exist.
        """
        save_html(path, self, title=title, slider=slider)

    def embed(self, height: int = 640) -> Embedded:
        """The same as a page inside the page, `height` pixels high, that needs no kernel.

        As the last expression of a cell it is stored in the notebook and steps when that is opened again, in what
        nbconvert makes of it, and offline. A notebook from somebody else shows the still form until it is trusted
        ("Trust Notebook").
        """
        return Embedded(self, height)


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


def save_html(
    path: str | os.PathLike[str], *steppers: Shown, title: str | None = None, slider: str | bool = True
) -> None:
    """Write steppers, one below the other, as one web page that needs no kernel and no network; `slider` as in `Stepper.save_html`.

    Raises TypeError if one of them is not a stepper, ValueError if `path` does not end in .html or .htm or there are no steppers,
    FileNotFoundError if its folder does not exist.
    """
    from .rerun import Rerun

    target = destination(path, "save_html", ".html", ".htm")
    if not steppers:
        raise ValueError("save_html() needs a stepper to write: save_html(path, lab.step(trace))")
    for stepper in steppers:
        if not isinstance(stepper, Shown):
            raise TypeError(
                f"save_html() writes steppers, not {type(stepper).__name__}: make one with lab.step(...)"
            )
    title = title or next((s.heading for s in steppers if s.heading), "") or "Autograd, step by step"
    text = page(list(steppers), title)
    if slider:
        name = slider if isinstance(slider, str) else None
        more, left = [], MOST - len(text.encode())
        for i, stepper in enumerate(steppers):
            room = max(left, 0) // (len(steppers) - i)
            more.append(stepper.carried(name, room) if isinstance(stepper, Rerun) else {})
            left -= len(more[-1].get("_slides", ""))
        if any(more):
            text = page(list(steppers), title, more=more)
    target.write_text(text, encoding="utf-8")
