"""Links to the playground: program and step are in the address, behind #; and the traces with which it opens programs at once."""

from __future__ import annotations

import base64
import hashlib
import sys
import zlib
from typing import Any

import autograd_lab
from autograd_lab.widgets import export, program

from .pages import Site

PAGE = "play/index.html"
TRACES = "gallery/traces/"
"""The folder of the site with traces of programs, by `digest`; a link to one of them opens with its stepper, before Python is there."""
FILE = "program.py"


def address(source: str, step: int = 0) -> str:
    """What stands behind the playground's path in a link to a program, at a step: `f"play/index.html{address(source)}"`."""
    packed = base64.urlsafe_b64encode(zlib.compress(source.encode(), 9)).decode().rstrip("=")
    return f"#p={packed}" + (f"&s={step}" if step else "")


def digest(source: str) -> str:
    """The name of a program's trace: what the playground knows the program by, to the byte."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def add_trace(site: Site, source: str) -> None:
    """Put the trace of a program into the site: links to it open in the playground with its stepper, before Python is there."""
    site.add(f"{TRACES}{digest(source)}.json", export.as_json(traced(source)))


def traced(source: str) -> dict[str, Any]:
    """{"traits": what its stepper asks for, "why": what `lab.why` says about each variable} of a program, which runs here and now.

    `import torch` is this package in it, other parts of PyTorch are not to be had. Raises ValueError if the program fails before
    it has done anything with a tensor.
    """
    before = sys.modules.get("torch")
    sys.modules["torch"] = autograd_lab
    state = autograd_lab.get_rng_state()
    try:
        shown = program.run(source, lambda text: None, FILE).shown()
    finally:
        autograd_lab.set_rng_state(state)
        del sys.modules["torch"]
        if before is not None:
            sys.modules["torch"] = before
    if shown["traits"] is None:
        raise ValueError(f"this program has nothing to step through: {shown['error']}\n{source}")
    return {"traits": shown["traits"] | {"position": 0}, "why": shown["why"]}
