"""The local Jacobian of a node: its numbers while it is small, its structure in words when it is not.

The engine never builds this matrix: a rule computes the product J^T g directly. Here the rule yields it one row at a time:
with g = 1 in one place and 0 elsewhere, J^T g is a row of J. That happens when a recording is turned into a trace, so that
recording itself does not pay for it.

For an output with m elements and an operand with n, the Jacobian has m rows and n columns, both in row-major order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from ..torchlike.autograd.metadata import unbroadcast
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import Node
from ..torchlike.autograd.saved import FREED, Packed
from ..torchlike.autograd.variable import Variable
from ..torchlike.ops.rule import Rule

MOST = 16  # the numbers are computed up to this many rows and columns
_ELEMENTWISE = {"pointwise", "activations", "arithmetic", "scalars", "broadcasting", "convert", "copies"}
_SAME_ORDER = ("View", "UnsafeView", "ReshapeAlias", "Squeeze", "Unsqueeze", "Alias", "Clone", "ToCopy")
_MOVED = ("T", "Transpose", "Permute", "Flip", "Roll", "Rot90")
_PICKED = ("Select", "Slice", "Diagonal", "AsStrided", "Index", "IndexSelect", "Gather", "Take", "MaskedSelect", "Embedding",
           "Unfold", "Repeat", "Expand")  # fmt: skip
_ADDED = ("Sum", "Nansum")
_GROUPS = ("Mean", "Prod", "Amax", "Amin", "Logsumexp", "LinalgVectorNorm", "Std", "Var")
_PLAIN = (
    "zero",
    "number",
    "identity",
    "diagonal",
    "permutation",
    "selection",
)  # say more than the known structure of the rule
_PROBABILITIES = ("Softmax", "LogSoftmax")


def rows_of(node: Node, values: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> list[list[Any] | None]:
    """For each operand the rows of its Jacobian, from the rule of `node`; None if the rule sends it nothing.

    `values` are the saved arrays, `shape` and `dtype` those of the output. Raises what the rule raises.
    """
    size = prod(shape)
    found: list[list[Any] | None] = [[] for _ in node.next_functions]
    for grads in sent(node, np.eye(size, dtype=dtype).reshape(size, *shape), values):
        for i, one in enumerate(grads):
            column = found[i]
            if one is None:
                found[i] = None
            elif column is not None:
                column.append(np.asarray(one).reshape(-1))
    return found


def sent(node: Node, gradients: Iterable[Any], values: Sequence[Any]) -> list[list[Any]]:
    """What the rule of `node` sends for each of some gradients: one array per operand, None where nothing goes.

    `values` are the saved arrays. Nothing of it is recorded or watched. Raises what the rule raises.
    """
    wanted = [fn is not None for fn, _ in node.next_functions]
    found = []
    state = THREAD.state
    grad, watch = state.grad, state.watch
    state.grad, state.watch = False, None
    state.refresh()
    try:
        with np.errstate(all="ignore"):
            for g in gradients:
                grads = node.vjp(g, *values)
                grads = grads if isinstance(grads, tuple) else (grads,)
                if node.broadcast is not None:
                    grads = unbroadcast(node, grads)
                found.append([one if goes else None for goes, one in zip(wanted, grads, strict=False)])
    finally:
        state.grad, state.watch = grad, watch
        state.refresh()
    return found


def askable(node: Node, saved: Sequence[Any] | None, shape: Sequence[int]) -> bool:
    """Whether the rule of `node` may be run again for its Jacobian: a rule of the package, never the user's code."""
    return (
        isinstance(node, Rule)
        and node.plain
        and saved is not None
        and saved is not FREED
        and 0 < prod(shape) <= MOST
        and not any(isinstance(t, Packed) for t in saved)
        and sum(t._data.size for t in saved if isinstance(t, Variable)) <= 64 * MOST
    )


def pattern(matrix: np.ndarray) -> str:
    """The structure of a small Jacobian, read off its numbers: a word that describes them, "" if none does."""
    rows, columns = matrix.shape
    filled = matrix != 0  # a nan counts
    if not filled.any():
        return "zero"
    if rows == columns == 1:
        return "number"
    one = bool((matrix[filled] == 1).all())
    per_row, per_column = filled.sum(1), filled.sum(0)
    if rows == columns and not filled[~np.eye(rows, dtype=bool)].any():
        return "identity" if one and filled.diagonal().all() else "diagonal"
    if one and (per_row <= 1).all() and (per_column <= 1).all():
        return "permutation" if (per_column == 1).all() and (per_row == 1).all() else "selection"
    if one and (per_column <= 1).all():
        return "sum"
    if rows == 1 or columns == 1:
        return "row" if rows == 1 else "column"
    if (per_column <= 1).all():
        return "groups"
    if (per_row <= 1).all():
        return "copies"
    if blocks(filled) > 1:
        return "blocks"
    if rows == columns and not (np.triu(filled, 1).any() and np.tril(filled, -1).any()):
        return "triangular"
    return "full" if filled.all() else ""


def blocks(filled: np.ndarray) -> int:
    """The number of equal diagonal blocks that the matrix consists of."""
    rows, columns = filled.shape
    for count in range(min(rows, columns), 1, -1):
        if rows % count or columns % count:
            continue
        if not filled[_between(count, rows // count, columns // count)].any():
            return count
    return 1


@lru_cache(1000)
def _between(count: int, rows: int, columns: int) -> np.ndarray:
    """The places outside of the `count` diagonal blocks of this size."""
    return ~np.kron(np.eye(count, dtype=bool), np.ones((rows, columns), bool))


def declared(
    node: type, i: int, operands: Sequence[Sequence[int]], out: Sequence[int], params: Mapping[str, Any]
) -> tuple[str, str]:
    """(structure, formula) of the Jacobian of operand `i`, known from the rule and the shapes; ("", "") where it is not.

    The letters of the formula are those of the rule's text. tests/trace/test_jacobian.py compares the result with the numbers,
    for every rule.
    """
    shape, out = list(operands[i]), list(out)
    name, _, rest = node.__name__.partition("Backward")
    if "Backward" in rest:  # a rule for the derivative of another
        name = ""
    family = node.__module__.rpartition(".")[2]
    rows, columns = prod(out), prod(shape)
    if name == "Mm":
        a, b = operands[0], operands[1]
        return "Kronecker product", f"I_{a[0]} kron b^T" if i == 0 else f"a kron I_{b[1]}"
    if name == "Addmm" and i and params.get("alpha") == 1:
        b, c = operands[1], operands[2]
        if i == 1:
            return "Kronecker product", f"I_{b[0]} kron c^T"
        return "Kronecker product", f"b kron I_{c[1]}"
    if name == "Mv":
        return ("Kronecker product", f"I_{shape[0]} kron b^T") if i == 0 else ("matrix", "a")
    if name == "Bmm":
        return "blocks", ""
    if node.__name__.startswith("Glu"):  # an element depends on its gate, too
        return "", ""
    if rows == 1:
        return "row", ""
    if name.startswith(_SAME_ORDER) and rows == columns:
        return "identity", ""
    if name in _MOVED:
        return "permutation", ""
    if name in _PICKED:
        return ("selection" if name in ("Select", "Slice", "Diagonal") else "copies"), ""
    if name in _ADDED:
        return "sum", ""
    if name in _GROUPS:
        return "groups", ""
    if name in _PROBABILITIES:
        return "blocks along dim", ""
    if name in ("Cat", "Stack"):
        return "pieces", ""
    if (family in _ELEMENTWISE or name == "Addmm") and len(shape) <= len(out):
        if shape == out:
            return ("identity" if name == "Add" and i == 0 else "diagonal"), ""
        if all(x in (1, y) for x, y in zip(shape[::-1], out[::-1], strict=False)):
            return "copies", ""
    return "", ""


def records(
    node: Node,
    values: Sequence[Any] | None,
    operands: Sequence[Sequence[int]],
    out: Sequence[int],
    dtype: Any,
) -> list[dict[str, Any]]:
    """The Jacobians of one node as the trace stores them, one record for each operand that gets a gradient.

    `values` are the saved arrays as they were when the node was made, None if they are no longer available.
    """
    wanted = [i for i, (fn, _) in enumerate(node.next_functions) if fn is not None and i < len(operands)]
    small = [i for i in wanted if prod(operands[i]) <= MOST]
    numbers: list[list[Any] | None] = [None] * len(node.next_functions)
    if values is not None and small and sum(prod(operands[i]) for i in wanted) <= 64 * MOST:
        with suppress(NotImplementedError, RuntimeError, np.linalg.LinAlgError):  # a rule that cannot be run
            numbers = rows_of(node, values, tuple(out), dtype)
    kept: Any = node
    params: dict[str, Any] = dict(zip(kept.keeps, kept.args, strict=False))
    return described(type(node), wanted, numbers, operands, out, params)


def described(
    rule: type,
    wanted: Sequence[int],
    numbers: Sequence[list[Any] | None],
    operands: Sequence[Sequence[int]],
    out: Sequence[int],
    params: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The records of the operands `wanted`: with entries if there are numbers (rows as from `rows_of`), and few of them."""
    found: list[dict[str, Any]] = []
    for i in wanted:
        record: dict[str, Any] = {"operand": i, "rows": prod(out), "columns": prod(operands[i])}
        rows = numbers[i]
        if rows is not None and record["rows"] == record["columns"] == 1:  # most nodes of a scalar network
            x = rows[0].item()
            found.append(record | {"structure": "number" if x else "zero", "entries": [0, 0, x] if x else []})
            continue
        kind, formula = declared(rule, i, operands, out, params)
        if rows is not None and record["columns"] <= MOST:
            matrix = np.array(rows)
            seen = pattern(matrix)
            if (
                seen not in _PLAIN and kind and np.isfinite(matrix).all()
            ):  # 0 * inf is nan where there should be 0
                seen = kind
            kind, formula = seen, formula if seen == kind else ""
            r, c = np.nonzero(matrix)
            places = zip(r.tolist(), c.tolist(), matrix[r, c].tolist(), strict=True)
            record["entries"] = [*chain.from_iterable(places)]
        if kind:
            record["structure"] = kind
        if formula:
            record["formula"] = formula
        found.append(record)
    return found
