"""How a notebook's cells answer when they run for the projector; `autograd-lab slides` calls `begin` in their kernel."""

from typing import Any

from autograd_lab import lab
from autograd_lab.course import reveal


def begin() -> None:
    """From now on `lab.reveal` tells the truth without a prediction, and a stepper is a page that steps by itself.

    On a slide the output is covered until the class has answered, so nobody's answer has to be typed in.
    """
    from IPython import get_ipython

    from autograd_lab.widgets.export import Embedded
    from autograd_lab.widgets.shown import Shown

    lab.reveal = tell
    shell: Any = get_ipython()
    as_html = shell.display_formatter.formatters["text/html"]
    as_html.for_type(Shown, lambda stepper: Embedded(stepper)._repr_html_())


def tell(prediction: Any, truth: Any) -> None:
    """Print what happened, whatever was predicted."""
    print(f"It is {reveal.show(reveal.plain(truth))}.")
