"""A button that opens a stepper below itself: shown by `lab.check` under a verdict whose failed case can be stepped through.

The case is recorded when the button is pressed, not before: a verdict appears at once and stores nothing large in the notebook.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

_ASSETS = Path(__file__).parent / "assets"
_VIEW = "application/vnd.jupyter.widget-view+json"

# In a reopened notebook there is no kernel behind the button; JupyterLab would print "model not found".
_HIDDEN_WITHOUT_KERNEL = (
    "<style>.jp-OutputArea-child:has(.agl-above-opener)+.jp-OutputArea-child:has(>.jp-OutputArea-output.lm-Panel)"
    ":not(:has(>.jp-OutputArea-output.lm-Panel *)){display:none}</style>"
)


class Opener(anywidget.AnyWidget):
    """The button; pressing it toggles `opened`."""

    _esm = (_ASSETS / "opener.js").read_text(encoding="utf-8")
    _css = (_ASSETS / "opener.css").read_text(encoding="utf-8")
    label = traitlets.Unicode(help="what it says").tag(sync=True)
    opened = traitlets.Bool(False, help="whether the stepper is shown").tag(sync=True)
    problem = traitlets.Unicode(help="why it could not be shown").tag(sync=True)


def with_button(html: str) -> str:
    """`html` as the output before the button's."""
    return f'{_HIDDEN_WITHOUT_KERNEL}<div class="agl-above-opener">{html}</div>'


def opener(make: Callable[[], Any], label: str) -> ipywidgets.VBox:
    """The button `label` above an empty area; pressing it shows what `make()` returns there, or clears it again.

    A ValueError of `make` is shown as a sentence beside the button.
    """
    button, place = Opener(label=label), ipywidgets.Output()

    def turn(change: dict[str, Any]) -> None:
        from IPython.display import display

        place.clear_output()
        button.problem = ""
        if not change["new"]:
            return
        try:
            shown = make()
        except ValueError as error:
            button.problem = str(error)
            return
        with place:
            display(shown)

    button.observe(turn, "opened")
    return ipywidgets.VBox([button, place])


def show(make: Callable[[], Any], label: str) -> None:
    """Display the button as an output of the running cell; nothing if AUTOGRAD_LAB_STATIC is 1."""
    from IPython.display import display

    if os.environ.get("AUTOGRAD_LAB_STATIC") == "1":
        return
    view = opener(make, label)._repr_mimebundle_()
    # empty, in the formats that nbconvert asks for: otherwise it warns that it cannot represent the widget
    display({_VIEW: view[_VIEW], "text/html": "", "text/plain": ""}, raw=True)
