"""`lab.reveal(prediction, truth)`: the student commits first, then sees what happened."""

import math
from typing import Any


def reveal(prediction: Any, truth: Any) -> None:
    """Print the prediction beside what happened; print neither while any of it is still `...`.

    Parameters
    ----------
    prediction
        What the student wrote: `...` (nothing yet), a number, a word, True or False, a list of these.
    truth
        What the code gave. A tensor or array counts as its number, or as the list of its numbers.

    >>> reveal(..., 96.0)
    No prediction yet. Put your answer in place of the dots, then run again.
    >>> reveal(48, 96.0)
    You said 48. It is 96. Where do the two part?
    >>> reveal(96, 96.0)
    You said 96, and it is 96. Say in one sentence why.
    >>> reveal([None, float("nan")], ["None", "nan"])
    You said [None, nan], and it is ['None', 'nan']. Say in one sentence why.
    """
    if open_(prediction):
        print("No prediction yet. Put your answer in place of the dots, then run again.")
        return
    said, is_ = plain(prediction), plain(truth)
    if same(said, is_):
        print(f"You said {show(said)}, and it is {show(is_)}. Say in one sentence why.")
    else:
        print(f"You said {show(said)}. It is {show(is_)}. Where do the two part?")


def open_(prediction: Any) -> bool:
    """Whether some part is still `...`."""
    parts = prediction if isinstance(prediction, list | tuple) else [prediction]
    return any(part is ... for part in parts)


def plain(value: Any) -> Any:
    """A tensor or array becomes its number or its list of numbers, text is stripped; other values are unchanged."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        numbers = value.tolist()
        while isinstance(numbers, list) and len(numbers) == 1:
            numbers = numbers[0]
        return numbers
    return value


def same(said: Any, is_: Any) -> bool:
    """Equality: numbers to a relative 1e-4, words regardless of case, None and nan also as words. True is not 1."""
    if isinstance(said, str) != isinstance(is_, str):
        said, is_ = (
            str(x) if x is None or (isinstance(x, float) and not math.isfinite(x)) else x for x in (said, is_)
        )
    if isinstance(said, bool) or isinstance(is_, bool):
        return said is is_
    if isinstance(said, list) and isinstance(is_, list):
        return len(said) == len(is_) and all(same(a, b) for a, b in zip(said, is_, strict=True))
    if isinstance(said, str) and isinstance(is_, str):
        return said.casefold() == is_.casefold()
    if isinstance(said, int | float) and isinstance(is_, int | float):
        return math.isclose(said, is_, rel_tol=1e-4, abs_tol=1e-9)
    return bool(said == is_)


def show(value: Any) -> str:
    """A number without trailing zeros, a word in quotes, several of them in brackets."""
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)
