"""`lab.reveal(prediction, truth, "04.b")`: the student commits first, then sees what happened, and what the answer tells.

What is said to each answer is in predictions/; the card that a notebook shows is drawn by widgets/guess.py.
"""

import ast
import math
from typing import Any

from .foreseen import Part, question
from .outputs import marimo


class Revealed:
    """What `lab.reveal` returns: true if there was a prediction. A notebook shows nothing for it, the card is there."""

    def __init__(self, answered: bool, card: Any = None) -> None:
        self.answered = answered
        self._card = card

    def __bool__(self) -> bool:
        return self.answered

    def __repr__(self) -> str:
        return ""

    def _ipython_display_(self) -> None:
        pass

    def _display_(self) -> Any:
        """The card again: marimo shows a cell's last value in place of what was there before."""
        return self._card


def reveal(prediction: Any, truth: Any, ask: str = "") -> Revealed:
    """Show the prediction beside what happened; neither while any of it is still `...`.

    Parameters
    ----------
    prediction
        What the student wrote: `...` (nothing yet), a number, a word, True or False, a list or dict of these.
    truth
        What the code gave. A tensor or array counts as its number, or as the list of its numbers.
    ask
        The question's id, under which the answers that are foreseen are found.

    In a notebook it is a card, where the answer can be given by a click too. Returns whether there is a prediction: what would
    give the answer away is shown below `if lab.reveal(...):`.

    >>> shown = reveal(..., 96.0)
    No prediction yet. Put your answer in place of the dots, then run again.
    >>> shown = reveal(48, 96.0)
    ✗ You said 48. It is 96.
    >>> shown = reveal(96, 96.0)
    ✓ You said 96, and it is 96. Say in one sentence why.
    >>> shown = reveal([None, float("nan")], ["None", "nan"])
    ✓ You said [None, nan], and it is ['None', 'nan']. Say in one sentence why.
    """
    card = judged(prediction, truth, ask)
    if (module := marimo()) is not None:
        from autograd_lab.widgets.guess_card import Card

        widget = Card(card, text(card))
        module.output.append(widget)
        return Revealed(card["answered"], widget)
    if not _display(card, ask):
        print(text(card))
    return Revealed(card["answered"])


def judged(prediction: Any, truth: Any, ask: str = "") -> dict[str, Any]:
    """The card as plain data: for each part its verdict, what was said, what it is, and what is said to every answer."""
    known = question(ask) if ask else None
    parts = _split(prediction, truth, known.parts if known else [])
    answered = not any(open_(said) for _, said, _ in parts)
    return {
        "answered": answered,
        "more": bool(known and known.more),
        "after": [*known.after] if known else [],
        "parts": [asked(part, said, is_, answered) for part, said, is_ in parts],
    }


def _split(prediction: Any, truth: Any, parts: list[Part]) -> list[tuple[Part, Any, Any]]:
    """Each part of a question with what was said to it and what it is."""
    if isinstance(prediction, dict):
        known = {part.label: part for part in parts}
        return [(known.get(k, Part(k, False, [])), said, truth[k]) for k, said in prediction.items()]
    if len(parts) > 1:
        told = [*truth]
        said = [*prediction] if isinstance(prediction, list | tuple) else [prediction] * len(parts)
        said += [...] * (len(parts) - len(said))
        return [*zip(parts, said, told, strict=False)]
    return [(parts[0] if parts else Part("", False, []), prediction, truth)]


def asked(part: Part, said: Any, is_: Any, answered: bool) -> dict[str, Any]:
    """One part of a card: its verdict, if it is answered, and what it needs to give one."""
    said, is_ = plain(said), plain(is_)
    right, why = judge(part, said, is_)
    verdict = {"said": show(said), "right": right, "why": why} if answered else {}
    # not what this machine computed, if it is as good: an open card is the same bytes everywhere
    key = next((a.value for a in part.answers if a.right and judge(part, plain(a.value), is_)[0]), is_)
    return verdict | {
        "label": part.label, "offered": part.offered, "truth": show(is_), "key": bare(plain(key)), "within": part.within,
        "answers": [(bare(plain(a.value)), judge(part, plain(a.value), plain(key))[1]) for a in part.answers],
        "default": judge(part, Never, plain(key))[1],
    }  # fmt: skip


Never = object()
"""An answer that nobody gives."""


def judge(part: Part, said: Any, is_: Any) -> tuple[bool, str]:
    """Whether an answer is right, and what is said to it."""
    right = same(said, is_) or _near(said, is_, part.within)
    if isinstance(is_, tuple) and len(is_) == 1 and same(said, is_[0]):
        return True, f"A shape is a tuple, even of one number: Python writes it {show(is_)}, with the comma."
    if isinstance(said, str) and not isinstance(is_, str) and same(_read(said), is_):
        return False, "That would be right without the quotes: with them it is a word."
    for answer in part.answers:
        if same(said, plain(answer.value)) or (right and answer.right):
            return right, answer.why
    if right:
        return True, "Say in one sentence why."
    return False, next((answer.why for answer in part.answers if answer.right), "")


def _read(text: str) -> Any:
    """What a text means to Python, itself if nothing."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _near(said: Any, is_: Any, within: float) -> bool:
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in (said, is_))
    return bool(within) and numbers and abs(said - is_) <= within


OPEN = "No prediction yet. Put your answer in place of the dots, then run again."
MORE = "What comes after it is shown then."


def text(card: dict[str, Any]) -> str:
    """The card as lines of text."""
    if not card["answered"]:
        return f"{OPEN} {MORE}" if card["more"] else OPEN
    lines = [line(part, len(card["parts"]) > 1) for part in card["parts"]]
    return "\n".join(lines + [words.replace("**", "") for words in card["after"]])


def line(part: dict[str, Any], labelled: bool) -> str:
    """Verdict, what was said, what it is, and why."""
    mark, told = ("\u2713", ", and it is") if part["right"] else ("\u2717", ". It is")
    you = f"{part['label']}: you" if labelled else "You"
    return f"{mark} {you} said {part['said']}{told} {part['truth']}. {part['why']}".rstrip()


def _display(card: dict[str, Any], ask: str) -> bool:
    """Show the card, if a notebook runs."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return False
    shell = get_ipython()
    if shell is None or getattr(shell, "kernel", None) is None:
        return False
    from IPython.display import display

    from autograd_lab.widgets.guess import shown

    display({"text/plain": text(card), "text/html": shown(card, text(card), ask, shell.user_ns)}, raw=True)
    return True


def open_(prediction: Any) -> bool:
    """Whether some part is still `...`."""
    parts = prediction if isinstance(prediction, list | tuple) else [prediction]
    return any(part is ... for part in parts)


def plain(value: Any) -> Any:
    """A tensor or array becomes its number or its list of numbers, text is stripped; other values are unchanged."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(map(plain, value))
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
    if isinstance(said, list | tuple) and isinstance(is_, list | tuple):
        return len(said) == len(is_) and all(same(a, b) for a, b in zip(said, is_, strict=True))
    if isinstance(said, str) and isinstance(is_, str):
        return said.casefold() == is_.casefold()
    if isinstance(said, int | float) and isinstance(is_, int | float):
        return math.isclose(
            said, is_, rel_tol=1e-4, abs_tol=0 if said and is_ else 1e-9
        )  # 1e-12 is not 1e-16
    return bool(said == is_)


def bare(value: Any) -> str:
    """As `show`, but a word without quotes."""
    return value if isinstance(value, str) else show(value)


def show(value: Any) -> str:
    """A number without trailing zeros, a word in quotes, several of them in brackets."""
    if isinstance(value, list):
        return "[" + ", ".join(map(show, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(show, value)) + (",)" if len(value) == 1 else ")")
    if isinstance(value, float):
        return f"{value:.6g}"
    return repr(value)
