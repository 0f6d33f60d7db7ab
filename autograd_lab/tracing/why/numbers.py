"""What the numbers of a trace say: values at an event, elementwise local derivatives, the limits of a dtype."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from .facts import Facts


class Limits(NamedTuple):
    """The limits of a dtype: the smallest number above 0, the largest, and the relative rounding."""

    tiny: float
    most: float
    eps: float


LIMITS = {
    "float16": Limits(2.0**-24, 65504.0, 2.0**-10),
    "bfloat16": Limits(2.0**-133, 3.3895e38, 2.0**-7),
    "float32": Limits(2.0**-149, 3.4028e38, 2.0**-23),
    "float64": Limits(2.0**-1074, 1.7976e308, 2.0**-52),
}

MOST = 64  # for larger values the trace has only a summary

#: Operations with one result for each element of their operand.
POINTWISE = {
    "relu", "relu6", "threshold", "hardtanh", "hardswish", "hardsigmoid", "hardshrink", "softshrink", "leaky_relu", "elu", "celu",
    "selu", "clamp", "clamp_min", "clamp_max", "round", "floor", "ceil", "trunc", "sign", "sgn", "frac", "sigmoid", "tanh",
    "logsigmoid", "softplus", "erf", "exp", "gelu", "silu", "mish", "sin", "cos", "abs", "pow", "sqrt", "log", "log1p", "expm1",
    "maximum", "minimum", "where", "masked_fill", "fmod", "remainder", "cosh", "sinh", "atan", "mul", "div", "erfc", "square",
}  # fmt: skip
SOFTMAX = {"softmax", "safe_softmax", "log_softmax"}
#: Normalizations: the mean of their results is always 0, before their own scale.
NORMALIZED = {
    "native_layer_norm", "layer_norm", "native_batch_norm", "batch_norm", "native_group_norm", "group_norm", "instance_norm",
    "cudnn_batch_norm",
}  # fmt: skip
_RESHAPED = {
    "view", "unsafeview", "unsafe_view", "reshapealias", "reshape", "squeeze", "unsqueeze", "alias", "clone", "tocopy", "contiguous",
}  # fmt: skip

_SHARED = {("add", 0), ("add", 1), ("sub", 0), ("sub", 1), ("expand", 0), ("addmm", 0), ("convolution", 2)}
_BY_LETTERS = {
    name.replace("_", ""): name
    for name in (
        "masked_fill", "masked_select", "index_select", "index_put", "log_softmax", "safe_softmax", "nll_loss", "nll_loss2d",
        "native_layer_norm", "native_batch_norm", "native_group_norm", "max_pool2d_with_indices", "native_dropout", "clamp_min",
        "clamp_max", "linalg_vector_norm", "floor_divide", "select_scatter", "slice_scatter", "constant_pad_nd", "as_strided",
        "embedding_bag", "unsafe_view", "std_mean", "var_mean", "linalg_eigh", "linalg_svd", "leaky_relu", "masked_scatter",
        "split_with_sizes", "nan_to_num", "smooth_l1_loss", "huber_loss", "multi_margin_loss",
    )
}  # fmt: skip

#: (element of the result, its derivative by one element of the operand), where that is not 0.
Column = list[tuple[int, float]]


class Numbers:
    """Look-ups of numbers in one trace."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.trace = facts.trace
        self._columns: dict[tuple[int, int, int], dict[int, Column] | None] = {}
        self._held = self._writes()

    def _writes(self) -> dict[int, list[tuple[int, int, int]]]:
        """For each written tensor: (event, the value since then, the tensor that the event wrote), also through views and aliases."""
        same: dict[int, set[int]] = {}  # tensors of one shape that share their memory
        for e in self.facts.events:
            if (
                e["k"] == "detach"
                and self.trace.tensors[e["t"]]["shape"] == self.trace.tensors[e["from"]]["shape"]
            ):
                group = same.setdefault(e["from"], {e["from"]})
                group.add(e["t"])
                same[e["t"]] = group
        held: dict[int, list[tuple[int, int, int]]] = {}
        for t in list(self.facts.writes):
            for k in self.facts.writes[t]:
                e = self.facts.events[k]
                base = e.get("base")
                for owner, v in (
                    (t, e["v"]),
                    *([tuple(base)] if base is not None and base[1] is not None else ()),
                ):
                    for a in same.get(owner, {owner}):
                        held.setdefault(a, []).append((k, v, t))
        return {t: sorted(found) for t, found in held.items()}

    # -- values ---------------------------------------------------------------------------------------

    def array(self, v: int | None) -> np.ndarray | None:
        """The numbers of a value as an array of float64, None if the trace has only a summary of them."""
        if v is None or "data" not in self.trace.values[v]:
            return None
        return np.array(self.facts.numbers(v), dtype=np.float64).reshape(self.trace.values[v]["shape"])

    def flat(self, v: int | None) -> np.ndarray | None:
        """Those numbers, flattened."""
        found = self.array(v)
        return None if found is None else found.reshape(-1)

    def value(self, t: int, k: int) -> int | None:
        """The value of tensor `t` just before event k; that of a `.grad` comes from its tensor's events."""
        facts = self.facts
        owner = self.trace.tensors[t].get("grad_of")
        if owner is not None:
            for at in reversed(facts.grads.get(owner, ())):
                if at < k:
                    e = facts.events[at]
                    found: int | None = e["new"] if e["k"] == "accumulate" else e["v"]
                    if found is not None:
                        return found
        found = self.trace.tensors[t]["value"]
        for w, v, _ in self._held.get(t, ()):
            if w < k:
                found = v
        return found

    def written(self, t: int) -> list[tuple[int, int, int]]:
        """The writes to what t holds, in order: (event, the value since then, the tensor that was written)."""
        return self._held.get(t, [])

    def largest(self, v: int | None) -> float:
        """The largest absolute value of the finite numbers, 0 if there are none."""
        return max((abs(x) for x in self.facts.numbers(v) if np.isfinite(x)), default=0.0)

    def empty(self, t: int) -> bool:
        """Whether a tensor has no elements."""
        return prod(self.trace.tensors[t]["shape"]) == 0

    def limits(self, v: int | None) -> Limits:
        """The limits of a value's dtype."""
        dtype = "" if v is None else self.trace.values[v]["dtype"]
        return LIMITS.get(dtype, LIMITS["float32"])

    def op(self, n: int) -> str:
        """The name of a node's operation, without the underscores of its in-place or internal form."""
        return plain_op(self.trace.nodes[n]["op"])

    def operand(self, n: int, i: int) -> int | None:
        """The index, among the inputs of node `n`, of the one that edge `i` leads to: PyTorch's nodes omit a condition."""
        node = self.trace.nodes[n]
        inputs, edges = node["inputs"], node["edges"]
        if i < len(edges) and edges[i] is not None and len(edges) != len(inputs):
            to = edges[i][0]
            fits = [
                j
                for j, t in enumerate(inputs)
                if self.trace.tensors[t]["node"] == to or self.trace.nodes[to].get("tensor") == t
            ]
            if fits and i not in fits:
                return fits[0]
        return i if i < len(inputs) else None

    def shared(self, n: int, i: int) -> int:
        """How often node `n` uses each number of its operand `i` by broadcasting it: a bias, a scalar that is added; 1 without broadcasting."""
        op, node = self.op(n), self.trace.nodes[n]
        place = self.operand(n, i)
        if place is None or (op, i) not in _SHARED or not node["outputs"]:
            return 1
        shape = self.trace.tensors[node["inputs"][place]]["shape"]
        out = self.trace.tensors[node["outputs"][0]]["shape"]
        return prod(out) // max(1, prod(shape))

    def factor(self, n: int, i: int) -> float:
        """The largest factor of node `n` for operand `i`; 0 if it is not known."""
        op, inputs = self.op(n), self.trace.nodes[n]["inputs"]
        if op in ("mul", "mm", "bmm", "addmm", "mv") and len(inputs) > 1:
            others = [t for j, t in enumerate(inputs) if j != i and not (op == "addmm" and j == 0)]
            return max(self.largest(self.value(t, self.facts.node_event.get(n, 0))) for t in others[:1])
        if op in ("sigmoid", "tanh"):
            x = self.largest(self.value(inputs[0], self.facts.node_event.get(n, 0)))
            return (0.25 if op == "sigmoid" else 1.0) if x < 8 else 0.0
        return 0.0

    # -- local derivatives ----------------------------------------------------------------------------

    def column(self, n: int, i: int, c: int, k: int) -> Column | None:
        """The derivatives of the results of node `n` by element `c` of operand `i`, None where they are not known.

        k   the event "vjp" of the node: its messages give the derivatives of a pointwise operation
        """
        key = (n, i, k)
        if key not in self._columns:
            self._columns[key] = self._recorded(n, i) or self._by_rule(n, i, k)
        columns = self._columns[key]
        return None if columns is None else columns.get(c, [])

    def _recorded(self, n: int, i: int) -> dict[int, Column] | None:
        for record in self.trace.nodes[n].get("jacobian") or ():
            if record["operand"] == i and "entries" in record:
                columns: dict[int, Column] = {c: [] for c in range(record["columns"])}
                row = iter(record["entries"])
                for r, c, x in zip(row, row, row, strict=True):
                    columns[c].append((r, float(x)))
                return columns
        return None

    def _by_rule(self, n: int, i: int, k: int) -> dict[int, Column] | None:
        """The derivatives computed here, for the rules that a larger network consists of."""
        node = self.trace.nodes[n]
        if node["kind"] != "op" or i >= len(node["inputs"]) or len(node["outputs"]) != 1:
            return None
        shape = self.trace.tensors[node["inputs"][i]]["shape"]
        out = self.trace.tensors[node["outputs"][0]]["shape"]
        if max(prod(shape), prod(out)) > MOST:
            return None
        pairs = self._pairs(n, i, shape, out)
        if pairs is None:
            return self._seen(n, i, k, shape, out)
        columns: dict[int, Column] = {c: [] for c in range(prod(shape))}
        for r, c, x in pairs:
            if x != 0:
                columns[int(c)].append((int(r), float(x)))
        return columns

    def _pairs(self, n: int, i: int, shape: list[int], out: list[int]) -> Any:
        """Triples (element of the result, element of the operand, derivative), None for a rule that is not known here."""
        node, op, made = self.trace.nodes[n], self.op(n), self.facts.node_event.get(n, 0)
        params = node.get("params") or {}
        source = np.arange(prod(shape)).reshape(shape)
        results = np.arange(prod(out))
        others = [self.array(self.value(t, made)) for t in node["inputs"]]
        moved = None
        if op == "t":
            moved = source.T
        elif op == "transpose" and {"dim0", "dim1"} <= set(params):
            moved = source.swapaxes(params["dim0"], params["dim1"])
        elif op == "permute" and "dims" in params:
            moved = source.transpose(params["dims"])
        elif op in _RESHAPED and prod(shape) == prod(out):
            moved = source.reshape(out)
        elif op in ("expand", "add", "sub") and i < 2:
            moved = np.broadcast_to(source, out)
        if moved is not None:
            sign = params.get("alpha", 1) * (-1 if op == "sub" else 1) if i == 1 else 1
            return zip(results, moved.reshape(-1), [sign] * prod(out), strict=True)
        if op in ("sum", "mean") and i == 0:
            dims = params.get("dim")
            dims = list(range(len(shape))) if dims is None else dims if isinstance(dims, list) else [dims]
            axes = {d % len(shape) for d in dims} if shape else set()
            kept = [1 if d in axes else size for d, size in enumerate(shape)]
            share = 1 / max(1, prod(shape) // max(1, prod(out))) if op == "mean" else 1
            if prod(kept) == prod(out):
                rows = np.broadcast_to(results.reshape(kept), shape).reshape(-1)
                return zip(rows, source.reshape(-1), [share] * prod(shape), strict=True)
        if op == "mul":
            factor = others[1 - i] if len(others) == 2 else params.get("other")
            if factor is not None:
                return self._scaled(source, factor, results, out)
        if op == "div" and i == 0 and len(others) == 2 and others[1] is not None:
            with np.errstate(all="ignore"):
                return self._scaled(source, 1 / others[1], results, out)
        if op == "relu" and others[0] is not None:
            return self._scaled(source, (others[0] > 0).astype(float), results, out)
        if op == "native_layer_norm" and i == 0 and others[0] is not None and params.get("normalized_shape"):
            return self._normalizing(others, prod(params["normalized_shape"]))
        if op in ("addmm", "mm"):
            bias = int(op == "addmm")
            if i < bias:
                return zip(results, np.broadcast_to(source, out).reshape(-1), [1.0] * prod(out), strict=True)
            other = others[2 * bias + 1 - i]
            if other is None or len(out) != 2:
                return None
            rows = results.reshape(out)
            if i == bias:
                return (
                    (rows[a, j], source[a, b], other[b, j])
                    for a, b in np.ndindex(*shape)
                    for j in range(out[1])
                )
            return (
                (rows[j, b], source[a, b], other[j, a]) for a, b in np.ndindex(*shape) for j in range(out[0])
            )
        return None

    @staticmethod
    def _normalizing(others: list[Any], size: int) -> Any:
        """The derivatives of a layer norm: of each group of `size` numbers, less their mean, over their spread, times a scale."""
        x = others[0].reshape(-1, size)
        scale = others[1].reshape(-1) if len(others) > 1 and others[1] is not None else np.ones(size)
        spread = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        # The numbers in the trace are rounded, and its eps may be another.
        rounding = np.minimum(1e-6 + 1e-5 / spread**2, 1e-3)
        y = (x - x.mean(axis=1, keepdims=True)) / spread
        for row in range(len(x)):
            for r, c in np.ndindex(size, size):
                slope = (r == c) - (1 + y[row, r] * y[row, c]) / size
                if abs(slope) > rounding[row, 0]:
                    yield row * size + r, row * size + c, slope / spread[row, 0] * scale[r]

    @staticmethod
    def _scaled(source: np.ndarray, factor: Any, results: np.ndarray, out: list[int]) -> Any:
        spread = np.broadcast_to(source, out).reshape(-1)
        return zip(results, spread, np.broadcast_to(factor, out).reshape(-1), strict=True)

    def _seen(self, n: int, i: int, k: int, shape: list[int], out: list[int]) -> dict[int, Column] | None:
        """For a pointwise operation: the outgoing gradient divided by the incoming one, where that is not 0."""
        e = self.facts.events[k]
        known = {r.get("structure") for r in self.trace.nodes[n].get("jacobian") or () if r["operand"] == i}
        if shape != out or not (self.op(n) in POINTWISE or known & {"diagonal", "identity"}):
            return None
        g = self.flat(e["in"][0])
        sent = self.flat(e["out"][i]) if i < len(e["out"]) else None
        if g is None or sent is None:
            return None
        columns: dict[int, Column] = {}
        for c, (came, went) in enumerate(zip(g, sent, strict=True)):
            slope = went / came if came else 1.0  # if nothing came in, the cause is elsewhere
            columns[c] = [(c, slope)] if slope else []
        return columns

    # -- words ----------------------------------------------------------------------------------------

    def element(self, t: int, c: int) -> str:
        """The name of element `c` of a tensor, such as "w[0, 2]"."""
        name, shape = self.facts.name(t), self.trace.tensors[t]["shape"]
        return element(name, shape, c)


def plain_op(op: str) -> str:
    """The name of an operation as the user knows it; one derived from a node's name ("maskedfill") gets its underscores back."""
    return _BY_LETTERS.get(op.replace("_", ""), op.strip("_"))


def element(name: str, shape: list[int], c: int) -> str:
    """The name of element `c` of a value of a shape, such as "w[0, 2]"."""
    if not shape:
        return name
    place = ", ".join(str(int(j)) for j in np.unravel_index(c, shape))
    return f"{name}[{place}]" if name.replace(".", "").isidentifier() else f"element [{place}] of {name}"
