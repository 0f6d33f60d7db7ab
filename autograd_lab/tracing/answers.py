"""Reading and judging what a student answers: numbers, vectors, shapes, nodes, yes or no.

`judge` compares an answer with one question of `questions.py`. The browser does the same without a kernel
(widgets/assets/answers.js, tested to agree with this file), so both are kept small: the question stores what is right, and
which wrong number belongs to which misconception.

A number is right within half a percent; a decimal written with two digits or more is right if the true value rounds
to it ("0.33" for a third). Plain arithmetic is read too, so "1/3", "24 * 3" and "-2e-3" are numbers, and "[1, 2]",
"1, 2" and "tensor([1., 2.])" are the same vector.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from .trace import Record

RELATIVE = 5e-3
ABSOLUTE = 1e-6

_NONE = re.compile(r"none|null|nothing", re.IGNORECASE)
_CALL = re.compile(r"(?:torch\.)?(?:tensor|size|array)\((.*)\)", re.IGNORECASE | re.DOTALL)
_TOKEN = re.compile(r"\s*((?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\*\*|[-+*/()\[\],]|nan|inf(?:inity)?)", re.I)
_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/"})
_COMMA = re.compile(r"([-+]?\d+),(\d+)")
_SHAPE = re.compile(r"[\[(]?\s*(\d+(?:\s*[x*,\s]\s*\d+)*)?\s*,?\s*[\])]?", re.IGNORECASE)


class AnswerError(ValueError):
    """The text is not an answer of the required kind; the message says what would be."""


@dataclass(frozen=True)
class Number:
    """A number as it was written: `slack` is the distance that its last digit allows from the true value."""

    x: float
    slack: float = 0.0


def read(text: str) -> Any:
    """Parse a text: None, a `Number`, or nested lists of them."""
    text = text.strip().translate(_SIGNS).replace("^", "**")
    if _NONE.fullmatch(text):
        return None
    called = _CALL.fullmatch(text)
    reader = _Reader(called[1] if called else text)
    return reader.everything()


def read_one(text: str) -> Any:
    """Parse a text that should be one number: `AnswerError` for "0,5", which would be two."""
    comma = _COMMA.fullmatch(text.strip().translate(_SIGNS))
    if comma:
        raise AnswerError(
            f"The question asks for one number, and a comma stands between two: write {comma[1]}.{comma[2]} with a point."
        )
    return read(text)


def read_shape(text: str) -> list[int]:
    """The sizes in "(2, 3)", "[2, 3]", "2x3", "2 3"; "()", "[]" and "scalar" have none."""
    text = text.strip().translate(_SIGNS)
    called = _CALL.fullmatch(text)
    text = (called[1] if called else text).strip()
    if text.lower() in ("scalar", "()", "[]"):
        return []
    found = _SHAPE.fullmatch(text)
    if not found or not found[1]:
        raise AnswerError("Write a shape like 2x3, [2, 3] or (), please.")
    return [int(size) for size in re.findall(r"\d+", found[1])]


def same(given: Any, right: Any) -> bool:
    """Whether a parsed answer equals `right`: a number, nested lists of numbers, or None."""
    if given is None or right is None:
        return given is None and right is None
    if isinstance(given, list) != isinstance(right, list):  # [24] and 24 are the same number
        given, right = flat(given), flat(right)
        return len(given) == len(right) == 1 and _agree(given, right)
    return _agree(given, right)


def _agree(given: Any, right: Any) -> bool:
    if isinstance(right, list):
        return isinstance(given, list) and len(given) == len(right) and all(map(_agree, given, right))
    if isinstance(given, list):
        return False
    wanted = float(right)
    if math.isnan(wanted) or math.isinf(wanted):
        return repr(given.x) == repr(wanted)
    # The last digit of a decimal may stand for anything that rounds to it.
    return bool(abs(given.x - wanted) <= max(RELATIVE * abs(wanted), given.slack * (1 + 1e-9), ABSOLUTE))


def flat(data: Any) -> list[Any]:
    """The numbers of nested lists in one list."""
    return [x for part in data for x in flat(part)] if isinstance(data, list) else [data]


def judge(question: Record, given: str | int) -> Record:
    """Judge an answer: `{"verdict", "misconception", "note"}`.

    The verdict is "right", "wrong", or "ready" (a node that could as well be next, but is not the engine's choice).
    Raises `AnswerError` if the text does not answer this kind of question.
    """
    kind = question["type"]
    if kind == "node":
        for n, verdict, misconception, note in question["options"]:
            if n == given:
                return _verdict(verdict, misconception, note)
        raise KeyError(given)  # the text about any other node depends on the state: see `standing`
    if kind == "choice":
        word = str(given).strip().lower()
        chosen = [option for option in question["options"] if word and option.lower().startswith(word)]
        if len(chosen) != 1:
            raise AnswerError(f"Answer one of: {', '.join(question['options'])}.")
        answer: Any = chosen[0]
        right = answer == question["answer"]
        wrongs = [(m, note) for m, value, note in question["wrong"] if value == answer]
    elif kind == "shape":
        answer = read_shape(str(given))
        right = answer == question["answer"]
        wrongs = [(m, note) for m, value, note in question["wrong"] if value == answer]
    else:
        answer = (read if isinstance(question["answer"], list) else read_one)(str(given))
        right = same(answer, question["answer"])
        wrongs = [(m, note) for m, value, note in question["wrong"] if same(answer, value)]
        numbers = answer is not None and question["answer"] is not None
        if not right and not wrongs and numbers and _agree(flat(answer), flat(question["answer"])):
            wrongs = [("shape", f"These are the right numbers, in another shape: it is {question['shown']}.")]
    if right:
        return _verdict("right", "", "")
    return _verdict("wrong", *(wrongs[0] if wrongs else ("", "")))


def _verdict(verdict: str, misconception: str, note: str) -> Record:
    return {"verdict": verdict, "misconception": misconception, "note": note}


class _Reader:
    """A reader of arithmetic and lists: numbers, + - * / **, parentheses, brackets."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, bool, bool]] = []  # token, space before it, space after it
        at = 0
        text = text.strip()
        while at < len(text):
            found = _TOKEN.match(text, at)
            if not found:
                raise AnswerError("Write a number, please, like 24, -0.5, 1/3 or [1, 2].")
            after = found.end() < len(text) and text[found.end()].isspace()
            self.tokens.append((found[1].lower(), found[0][:1].isspace(), after))
            at = found.end()
        self.at = 0
        self.depth = 0

    def everything(self) -> Any:
        items = self._items("")
        if not items:
            raise AnswerError("Write a number, please, like 24, -0.5, 1/3 or [1, 2].")
        return items[0] if len(items) == 1 else items

    def _items(self, end: str) -> list[Any]:
        """Values up to `end`, separated by commas or spaces."""
        items = []
        while (token := self._peek()) != end:
            if token == "":
                raise AnswerError("A bracket is not closed.")
            items.append(self._value())
            if self._peek() == ",":
                self._take()
        if end:
            self._take()
        return items

    def _value(self) -> Any:
        if self._peek() != "[":
            return self._sum()
        self._take()
        self.depth += 1
        items = self._items("]")
        self.depth -= 1
        return items

    def _sum(self) -> Number:
        value = self._product()
        while self._peek() in ("+", "-") and not self._starts_item():
            sign = self._take()
            other = self._product()
            value = _number(value.x + other.x if sign == "+" else value.x - other.x)
        return value

    def _starts_item(self) -> bool:
        """In a list, "3 -2" are two numbers, as NumPy prints them."""
        _, before, after = self.tokens[self.at]
        return self.depth > 0 and before and not after

    def _product(self) -> Number:
        value = self._signed()
        while self._peek() in ("*", "/"):
            sign = self._take()
            other = self._signed()
            if sign == "/" and other.x == 0:
                raise AnswerError("That divides by zero.")
            value = _number(value.x * other.x if sign == "*" else value.x / other.x)
        return value

    def _signed(self) -> Number:
        if self._peek() in ("+", "-"):
            sign = self._take()
            value = self._signed()
            return Number(-value.x, value.slack) if sign == "-" else value
        value = self._atom()
        if self._peek() == "**":
            self._take()
            power = self._signed()
            if (
                (value.x == 0 and power.x < 0)
                or (value.x < 0 and power.x != int(power.x))
                or abs(power.x) > 99
            ):
                raise AnswerError("That power is not a number.")
            try:
                value = _number(value.x**power.x)
            except OverflowError:
                raise AnswerError("That number is too large.") from None
        return value

    def _atom(self) -> Number:
        token = self._take()
        if token == "(":
            value = self._sum()
            if self._take() != ")":
                raise AnswerError("A parenthesis is not closed.")
            return Number(value.x)
        if token in ("nan", "inf", "infinity"):
            return Number(float(token))
        if not token[:1].isdigit() and token[:1] != ".":
            raise AnswerError("Write a number, please, like 24, -0.5, 1/3 or [1, 2].")
        digits, _, exponent = token.partition("e")
        whole, _, decimals = digits.partition(".")
        exact = len((whole + decimals).lstrip("0")) < 2 or not decimals
        return Number(float(token), 0.0 if exact else 0.5 * 10.0 ** (int(exponent or 0) - len(decimals)))

    def _peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self.at += 1
        return token


def _number(x: float) -> Number:
    if math.isinf(x):
        raise AnswerError("That number is too large.")
    return Number(x)
