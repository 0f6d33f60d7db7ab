"""What draws a trace: the stepper and the static graph. Needs anywidget only when a stepper is made.

step(trace)              a Stepper for a recorded trace
level(name)              how much the steppers of a notebook show
step(fn, *inputs)        records fn(*inputs) and its backward pass, and steps through them
draw(loss, params={})    the graph behind a tensor, as a picture
compare(a, b)            two traces side by side, in lockstep
compare_static(fn, *x)   a function as it runs, beside the graph that torch.compile captured of it
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from autograd_lab.tracing import Trace

from . import export
from .drawing import Drawing, draw
from .levels import level

if TYPE_CHECKING:
    from .comparison import Comparison
    from .static import StaticComparison
    from .stepper import Stepper

__all__ = [
    "Comparison",
    "Drawing",
    "StaticComparison",
    "Stepper",
    "compare",
    "compare_static",
    "draw",
    "level",
    "step",
]


def step(what: Trace | Callable[..., Any], *inputs: Any, **options: Any) -> Stepper:
    """Step through a recorded trace, or through `what(*inputs)` and the backward pass of its result.

    A stepper made from a function can change its inputs and run it again, in the leaf table or by `s.edit(name, value)`.

    predict   True, or some of the kinds "value", "grad", "shape", "next-node", "error": ask before showing
    mode      "watch" (the default), "predict", or "engine": you choose the next node and send the messages
              (then `engine_answer` is what you did, for `lab.check`)
    position  the step to begin at
    level     how much is shown beside graph, code and sentence: see `level`
    """
    from .stepper import Stepper

    if isinstance(what, Trace):
        if inputs:
            raise TypeError("step(trace) takes no inputs: the trace already holds what happened")
        return Stepper(what, **options)
    if not callable(what):
        raise TypeError(
            f"step() takes a trace or a function, not {type(what).__name__}: "
            "run the code inside `with lab.record() as trace:`, then lab.step(trace)"
        )
    from .runs import Run

    Stepper.refuse(options, of_function=True)
    run = Run(what, inputs)
    trace = run.record()
    if run.returned and not any(e["k"] == "backward" for e in trace.events):
        warnings.warn(
            f"there is no backward pass to step through: the function returned {run.returned}, and the pass starts from what it "
            "returns. What to do: return the loss, a tensor.",
            stacklevel=3,
        )
    return Stepper(trace, run=run, **options)


def compare(a: Any, b: Any, labels: tuple[str, str] = ("trace a", "trace b")) -> Comparison:
    """Two traces (or steppers) side by side, in lockstep; `labels` are their titles."""
    from .comparison import Comparison

    return Comparison(a, b, labels)


def compare_static(fn: Callable[..., Any], *inputs: Any, **kwargs: Any) -> StaticComparison:
    """The dynamic graph beside the captured one: `fn(*inputs)` as it runs, its captured graph, and what each pass did."""
    from .static import StaticComparison

    return StaticComparison(fn, *inputs, **kwargs)


def __getattr__(name: str) -> Any:
    if name == "StaticComparison":
        from .static import StaticComparison

        return StaticComparison
    if name == "Comparison":
        from .comparison import Comparison

        return Comparison
    if name == "Stepper":
        from .stepper import Stepper

        return Stepper
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _once_in_export(name: str) -> Any:
    """`widgets.export.save_html` and `Embedded`, which are in shown.py now."""
    if name not in ("Embedded", "save_html"):
        raise AttributeError(f"module {export.__name__!r} has no attribute {name!r}")
    from . import shown

    return getattr(shown, name)


# Here, since export.py may not import shown.py, which imports it.
vars(export)["__getattr__"] = _once_in_export
