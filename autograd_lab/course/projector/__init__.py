"""Changes to lab's functions while a notebook's cells run for the projector; `autograd-lab slides` calls `begin` in their kernel."""

from textwrap import fill
from typing import Any

from autograd_lab.course.foreseen import question
from autograd_lab.course.reveal import plain, show

COLUMNS = 74  # of text that a slide shows in a line, see CODE_WIDTH in slides.py


def begin(lab: Any) -> None:
    """From now on `lab.reveal` shows the truth without a prediction, and a stepper is a page that steps by itself.

    `lab` is the module autograd_lab.lab, which is above this one. On a slide the output is covered until the class
    has answered, so that answers need not be typed in.
    """
    from IPython.display import display
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    from autograd_lab.widgets.shown import Embedded, Shown

    def show_as_page(shown: Shown, **_: Any) -> None:
        display({"text/plain": repr(shown), "text/html": Embedded(shown)._repr_html_()}, raw=True)

    set_matplotlib_formats("svg")  # sharp at any size
    lab.reveal = tell
    setattr(Shown, "_ipython_display_", show_as_page)  # noqa: B010  # mypy refuses to assign to a method


def tell(prediction: Any, truth: Any, ask: str = "") -> bool:
    """Print the truth and what is said after it, regardless of the prediction; what is shown to those who have answered follows."""
    parts = (
        [f"{name}: {show(plain(part))}" for name, part in truth.items()]
        if isinstance(truth, dict)
        else [f"It is {show(plain(truth))}."]
    )
    asked = question(ask)
    after = [fill(words.replace("**", ""), COLUMNS) for words in (asked.after if asked else ())]
    print(*parts, *after, sep="\n")
    return True
