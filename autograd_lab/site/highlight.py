"""Python with colors, for the pages of the site: Pygments finds the words, and the colors are those of the stepper's code."""

from __future__ import annotations

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

_COLORS = {
    "#8a3ffc|#c8a4ff": ("k", "kc", "kn", "ow", "nd"),
    "#0b6e4f|#7ed6a5": ("s", "sa", "s1", "s2", "sd", "se", "si", "sf"),
    "#5a6672|#9aa6b2": ("c", "c1", "ch"),
    "#a04100|#f5b078": ("m", "mi", "mf", "mh"),
    "#0b57d0|#8ab4f8": ("nf", "nc", "fm", "nb", "bp"),
}
"""The color of each class of words, in light and in dark."""


def python(text: str) -> str:
    """A program as HTML for a `<pre class="code">`."""
    return str(highlight(text, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True))).rstrip("\n")


def colors() -> str:
    """The style sheet of `pre.code`."""
    rules = []
    for pair, classes in _COLORS.items():
        light, dark = pair.split("|")
        rules.append(
            f".code :is({', '.join(f'.{name}' for name in classes)}) {{ color: light-dark({light}, {dark}); }}"
        )
    return "\n".join(rules) + "\n"
