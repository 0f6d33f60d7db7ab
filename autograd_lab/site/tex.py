r"""The formulas of the notebooks, `$3 \cdot 2^2$`, as MathML, which every browser sets by itself: the part of TeX that they use."""

from __future__ import annotations

import re
from html import escape

from .pages import CannotBuildError

_FORMULA = re.compile(r"(```.*?```|`[^`\n]*`)|\$([^$\n]+)\$", re.S)
_TOKEN = re.compile(r"\\[a-zA-Z]+|\d+(?:\.\d+)?|[a-zA-Z]|'|[-+*/=()<>,.\[\]{}^_]|\s+")
_SIGNS = {
    "\\cdot": "·", "\\times": "\u00d7", "\\approx": "≈", "\\le": "≤", "\\ge": "≥", "\\ne": "≠", "\\partial": "∂", "\\sum": "∑", "-": "\u2212", "*": "\u2217",
}  # fmt: skip


def taken_out(markdown: str, formulas: list[str]) -> str:
    """A text with a mark in the place of each formula, which is appended to `formulas`: Markdown would change it."""

    def take(found: re.Match[str]) -> str:
        if found[1]:
            return found[1]
        formulas.append(mathml(found[2]))
        return f"FORMULA{len(formulas) - 1}END"

    return _FORMULA.sub(take, markdown)


def put_back(html: str, formulas: list[str]) -> str:
    """The formulas in the place of their marks."""
    return re.sub(r"FORMULA(\d+)END", lambda found: formulas[int(found[1])], html)


def mathml(formula: str) -> str:
    """A formula as a `<math>` element. Raises CannotBuildError for TeX that the notebooks have not used so far."""
    tokens = _TOKEN.findall(formula)
    if "".join(tokens) != formula:
        raise CannotBuildError(
            f"the formula ${formula}$ has a sign that site/tex.py does not know: add it there"
        )
    left = [token for token in tokens if not token.isspace()]
    row = _row(left, formula)
    if left:
        raise CannotBuildError(f"the formula ${formula}$ has a brace too many")
    return f"<math>{row}</math>"


def _row(left: list[str], formula: str) -> str:
    """All up to the end, or to the closing brace, which is taken too."""
    parts: list[str] = []
    while left and left[0] != "}":
        if left[0] in ("^", "_"):
            tag = "msup" if left.pop(0) == "^" else "msub"
            base = parts.pop() if parts else "<mrow></mrow>"
            parts.append(f"<{tag}>{base}{_one(left, formula)}</{tag}>")
        elif left[0] == "'":
            left.pop(0)
            parts.append(f"<msup>{parts.pop() if parts else '<mrow></mrow>'}<mo>\u2032</mo></msup>")
        elif left[0] == "(":
            left.pop(0)
            parts.append(_closed(left, formula))
        else:
            parts.append(_one(left, formula))
    return f"<mrow>{''.join(parts)}</mrow>"


def _closed(left: list[str], formula: str) -> str:
    """What stands in parentheses, as one: a power belongs to all of it."""
    depth = 1
    inside: list[str] = []
    while left:
        token = left.pop(0)
        depth += (token == "(") - (token == ")")
        if not depth:
            return f"<mrow><mo>(</mo>{_row(inside, formula)}<mo>)</mo></mrow>"
        inside.append(token)
    raise CannotBuildError(f"the formula ${formula}$ has a parenthesis that is not closed")


def _one(left: list[str], formula: str) -> str:
    """The next sign, group or command."""
    if not left:
        raise CannotBuildError(f"the formula ${formula}$ ends too early")
    token = left.pop(0)
    if token == "{":
        row = _row(left, formula)
        if not left:
            raise CannotBuildError(f"the formula ${formula}$ has a brace that is not closed")
        left.pop(0)
        return row
    if token == "\\frac":
        return f"<mfrac>{_one(left, formula)}{_one(left, formula)}</mfrac>"
    if token == "\\sqrt":
        return f"<msqrt>{_one(left, formula)}</msqrt>"
    if token in _SIGNS or not token[0].isalnum():
        if token.startswith("\\") and token not in _SIGNS:
            raise CannotBuildError(
                f"the formula ${formula}$ has {token}, which site/tex.py does not know: add it there"
            )
        return f"<mo>{escape(_SIGNS.get(token, token))}</mo>"
    return f"<mn>{token}</mn>" if token[0].isdigit() else f"<mi>{token}</mi>"
