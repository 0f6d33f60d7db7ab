"""How far a function moves when one of its inputs is nudged: (f(x + h) - f(x)) / h, for many sizes of h, beside the gradient.

Each takes runs of the function of their own, unrecorded, in the dtype of the input and with the random numbers of the recorded run. In
the forward difference two errors meet: a large h measures along a bend, a small one loses the digits in which f(x + h) and f(x) differ.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from autograd_lab.tracing.trace import Record

from .runs import is_tensor, number_in, with_number

if TYPE_CHECKING:
    from .runs import Run

SIZES = tuple(float(f"1e-{k}") for k in range(1, 16))
"""Sizes of a nudge, from 1e-1 to 1e-15."""


def quotients(run: Run, name: str, first: float | None = None, seconds: float = math.inf) -> Record:
    """The difference quotient of the last run's function, by nudges of its input `name`, one number.

    first     a size that is measured before the others: the others only while `seconds` have not passed
    returns   "gradient": what the run added to `.grad`, or None; "h": sizes; "q": the quotient for each, None where the function
              raises or gives no finite number; "dtype" of the input; "plain": whether it is no tensor, and so has no gradient;
              "why": why there are no quotients, or ""
    """  # fmt: skip
    i = run.index(name)
    x = run.now[i]
    plain = not is_tensor(x)
    dtype = np.asarray(x).dtype if plain else x.dtype
    found = {"name": name, "gradient": run.gradient(i), "dtype": str(dtype).split(".")[-1], "plain": plain}
    if isinstance(number_in(x), int):
        return found | {
            "h": [],
            "q": [],
            "why": f"{name} holds whole numbers: a small nudge needs others between them.",
        }

    def after(value: float | None) -> Any:
        return run.plainly(
            run.now if value is None else [*run.now[:i], with_number(x, value), *run.now[i + 1 :]]
        )

    return measured(found, float(x if plain else x.item()), after, first, seconds)


def measured(
    found: Record, here: float, after: Callable[[float | None], Any], first: float | None, seconds: float
) -> Record:
    """`found` with "h", "q" and "why": `after(value)` is what comes out for a value, `after(None)` at `here`."""
    end = time.perf_counter() + seconds
    found |= {"gradient": _finite(found["gradient"]), "h": [], "q": [], "why": ""}
    before = _number(after(None))
    if isinstance(before, str):
        return found | {"why": before}
    for h in ((first,) if first is not None else ()) + tuple(h for h in SIZES if h != first):
        if found["h"] and time.perf_counter() > end:
            break
        try:
            moved = _number(after(here + h))
        except (Exception, SystemExit):  # of the user's code: x + h may lie where it does not compute
            moved = ""
        found["h"].append(h)
        found["q"].append(None if isinstance(moved, str) else _finite((moved - before) / h))
    return found


def _number(result: Any) -> float | str:
    """What a function returned as a number, or why it is none."""
    shape = getattr(result, "shape", None)
    if shape is None and isinstance(result, int | float):
        return float(result)
    if shape is None:
        return f"The function returns {_article(type(result).__name__)}: the quotient needs one number."
    if math.prod(shape) != 1:
        return f"The result has shape {list(shape)}: the quotient needs one number."
    value = result.item()
    if isinstance(value, complex):
        return "The result is complex: the quotient needs a real number."
    return float(value)


def _article(word: str) -> str:
    return "None" if word == "NoneType" else f"{'an' if word[0] in 'aeiou' else 'a'} {word}"


def _finite(x: float | None) -> float | None:
    return x if x is not None and math.isfinite(x) else None
