"""What the command was told; each part of the site gets it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .pyodide import Pyodide


@dataclass(frozen=True)
class Options:
    """What the command was told."""

    root: Path
    """The checkout: the folder that holds notebooks/."""
    pyodide: Pyodide | None = None
    """Python for pages that run programs; None if the command was told of none."""
