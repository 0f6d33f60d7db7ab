"""What the tensors of a trace are called on the screen: as the program calls them, told apart where it gives a name twice.

After `w = w - 0.1 * w.grad` the old and the new tensor are both the program's w. Where both are told of, they are w₁ and w₂, and the
old one's gradient is w₁.grad. A trace keeps the program's own names: which of them come twice is known when it is whole.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

from .trace import Record, Trace

SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")  # not part of any Python name


def numbered(name: str, nr: int) -> str:
    """A name with a number of its own: "w₂"; one that has a number already gets a prime for each that came before."""
    return name + ("\N{PRIME}" * (nr - 1) if name[-1:] in "₀₁₂₃₄₅₆₇₈₉" else str(nr).translate(SUBSCRIPTS))


def called_in(trace: Trace) -> list[str]:
    """The name of each tensor on the screen, "" for one without a name."""
    names: list[str] = [tensor["name"] for tensor in trace.tensors]
    total = Counter(name for t, name in enumerate(names) if _is_variable(trace, t))
    seen: Counter[str] = Counter()
    found = list(names)
    for t, name in enumerate(names):
        if _is_variable(trace, t):
            seen[name] += 1
            if total[name] > 1:
                found[t] = numbered(name, seen[name])
    for t in range(len(names)):
        if (owner := _owner(trace, t)) is not None:
            found[t] = f"{found[owner]}.grad"
    return found


def _is_variable(trace: Trace, t: int) -> bool:
    tensor = trace.tensors[t]
    return bool(tensor["name"]) and not is_number(tensor) and _owner(trace, t) is None


def _owner(trace: Trace, t: int) -> int | None:
    """The tensor whose `.grad` a tensor is by its name."""
    tensor = trace.tensors[t]
    owner = tensor.get("grad_of")
    if owner is None or tensor["name"] != f"{trace.tensors[owner]['name']}.grad":
        return None
    return int(owner)


def is_number(tensor: Record) -> bool:
    """Whether a tensor is a number the user wrote: in `2 * x` the recorder calls one operand "2".

    A parameter may be called "0" or "0.weight" as well, after its place in a module.
    """
    return not (tensor["requires_grad"] or tensor["shape"]) and reads_as_number(tensor["name"])


@lru_cache(4096)
def reads_as_number(name: str) -> bool:
    """Whether a name is a number as Python writes it."""
    try:
        float(name)
    except ValueError:
        return False
    return True
