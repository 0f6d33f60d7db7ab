"""How much the steppers of a notebook show: what it has taught so far. Readers may choose another level in each stepper."""

from __future__ import annotations

LEVELS = "simple", "rules", "queue", "saved", "all"
_now = ["all"]


def level(name: str) -> None:
    """Let the steppers made from now on show as much as level `name` says; readers may choose another in each stepper.

    "simple" is the graph, the code and the sentence, node by node; "rules" adds the rule of the node and the leaf table, "queue" the
    ready queue and the engine's source, "saved" the saved values, "all" versions and the rest. What is stored in the notebook is the
    same at each level. Raises ValueError for another name.
    """
    if name not in LEVELS:
        raise ValueError(f"level() takes one of {', '.join(LEVELS)}, not {name!r}")
    _now[0] = name


def now() -> str:
    """The level of a stepper that is made now."""
    return _now[0]
