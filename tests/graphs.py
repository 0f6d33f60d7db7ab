"""The graph behind a tensor, read through what both libraries offer: `grad_fn`, `next_functions` and `name()`.

Nothing here imports a library, so the same lines read a graph of autograd_lab and one of PyTorch.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np


def tensors_in(value: Any) -> Iterator[Any]:
    """All tensors in nested tuples, lists and dicts, and the parameters of modules in them."""
    if hasattr(type(value), "grad_fn"):
        yield value
    elif isinstance(value, dict):
        yield from (t for part in value.values() for t in tensors_in(part))
    elif isinstance(value, list | tuple):
        yield from (t for part in value for t in tensors_in(part))
    elif hasattr(type(value), "named_parameters"):
        yield from value.parameters()


def nodes_behind(*starts: Any) -> list[Any]:
    """Every node that these nodes lead to, themselves included, once each; a start may be None."""
    found: dict[Any, None] = {}
    stack = list(starts)
    while stack:
        node = stack.pop()
        if node is not None and node not in found:
            found[node] = None
            stack += [fn for fn, _ in node.next_functions]
    return list(found)


def listed(start: Any) -> str:
    """The graph behind a node as text, however deep: its nodes by number, each with the outputs that its edges lead to."""
    nodes = nodes_behind(start)
    numbers = {node: k for k, node in enumerate(nodes)}
    return "; ".join(
        f"{node.name()}({', '.join(f'{numbers.get(fn)}.{nr}' for fn, nr in node.next_functions)})"
        for node in nodes
    )


def nested(start: Any) -> str:
    """The graph behind a node as a formula: `MulBackward0(leaf, #0)`, where #0 is a node met before.

    For graphs that are read, as those in recordings; a chain of hundreds is listed().
    """
    seen: dict[Any, int] = {}

    def told(fn: Any) -> str:
        if fn is None:
            return "-"
        if fn in seen:
            return f"#{seen[fn]}"
        seen[fn] = len(seen)
        name = fn.name()
        if name.endswith("AccumulateGrad"):
            return "leaf"
        ways = [told(f) + (f".{nr}" if nr else "") for f, nr in fn.next_functions]
        return f"{name}({', '.join(ways)})"

    return told(start)


def bits(t: Any) -> Any:
    """The numbers of a tensor, to the bit: type, shape and bytes."""
    data = t.detach()
    if "sparse" in str(getattr(data, "layout", "")):
        data = data.to_dense()
    if hasattr(data, "_is_zerotensor") and data._is_zerotensor():
        data = data + 0
    if getattr(data, "is_quantized", False):
        data = data.int_repr()
    if getattr(data, "is_nested", False):
        return [bits(x) for x in data.unbind()]
    if str(data.dtype).endswith("bfloat16"):
        data = data.float()
    if hasattr(data, "resolve_conj"):
        data = data.resolve_conj().resolve_neg()
    array = np.asarray(data.numpy())
    return array.tolist() if array.dtype == object else (array.dtype.str, array.shape, array.tobytes())
