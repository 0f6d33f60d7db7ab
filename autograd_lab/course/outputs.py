"""Where a cell shows something before it ends: a notebook of Jupyter's, one of marimo's, or a terminal.

marimo is not IPython. It shows the last value of a cell, and what `marimo.output` was given where that value is None; what
is printed comes below the cell while a notebook is edited, and reaches the server's console alone once it is run as an app.
"""

from __future__ import annotations

import sys
from html import escape
from typing import Any


def marimo() -> Any:
    """The module marimo, if a notebook of its own is running this; otherwise None."""
    module = sys.modules.get("marimo")
    return module if module is not None and module.running_in_notebook() else None


def say(text: str) -> None:
    """Print lines of text, or put them into the output of marimo's cell."""
    module = marimo()
    if module is None:
        print(text)
    else:
        module.output.append(module.Html(f"<pre style='white-space:pre-wrap'>{escape(text)}</pre>"))
