"""From the notes of a recording of PyTorch to the lists of a trace: tensors, nodes and values are PyTorch's."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import torch

from ..autograd.node import AccumulateGrad
from ..autograd.views import CopySlices
from ..ops.rule import RULES
from . import jacobian
from .builder import MOST_ENTRIES, Builder, encode, rule_texts
from .trace import Record

TEXTS: dict[str, type] = RULES | {"AccumulateGrad": AccumulateGrad, "CopySlices": CopySlices}
"""What our own nodes of the same names say about themselves."""


class TorchBuilder(Builder):
    """Plays the notes of one recording of PyTorch in order; values are encoded when they are noted."""

    def __init__(self, names: dict[int, str], grads: dict[int, tuple[Any, Any]] | None = None):
        super().__init__(names, grads)
        self.kept: list[Any] = []
        self.rows: dict[int, Any] = {}  # of nodes by id: the rows of their Jacobians

    def _operand(self, t, src) -> int:
        if not isinstance(t, torch.Tensor):
            return self._number(t, src)
        i = self.tensor_ids[id(t)]
        if self.tensors[i].pop("unseen", False):
            self._event("leaf", src, t=i)
        return i

    def _tensor(self, t, data, name, leaf, requires_grad) -> int:
        known = self.tensor_ids.get(id(t))
        if known is not None:
            return known
        i = self.tensor_ids[id(t)] = len(self.tensors)
        self.tensors.append({
            "name": self.names.get(id(t)) or name, "shape": list(t.shape), "dtype": data["dtype"],
            "requires_grad": requires_grad, "leaf": leaf, "value": self._value(data),
            "base": self.tensor_ids.get(id(t._base)), "node": None, "output_nr": 0,
        })  # fmt: skip
        return i

    def written_through_view(self, inputs, data, version, fn, name, place, whole) -> None:
        """The operation's own node is hidden inside the base's CopySlices; what the view has is a new node of its own."""
        src, _ = self._where(place)
        ins = [self._operand(t, src) for t in inputs]
        self._through_view(src, ins, data, version, name, fn, place, whole, [])

    def _overwritten(self, target, data) -> None:
        return None

    def asked_itself(self, node, rows) -> None:
        """What `node` answered when it was asked for its Jacobian, row by row."""
        self.rows[id(node)] = rows

    def _jacobian(self, node, n, saved, versions, outputs, data, before=None) -> None:
        record, rule = self.nodes[n], RULES.get(node_name(node))
        operands = [self.tensors[t]["shape"] for t in record["inputs"]]
        if rule is None or not rule.plain or len(operands) < len(node.next_functions):
            return
        rows = self.rows.get(id(node)) if self.entries < MOST_ENTRIES else None
        wanted = [i for i, (fn, _) in enumerate(node.next_functions) if fn is not None]
        numbers = rows or [None] * len(node.next_functions)
        self._put_jacobian(record, jacobian.described(rule, wanted, numbers, operands, data["shape"]))

    def _saved(self, node, ins, outs, saved, versions) -> list[list[Any]]:
        return [
            [name, ins[t] if isinstance(t, int) else self.tensor_ids.get(id(t)), version]
            for name, t, version in saved or ()
        ]

    def _new_node(self, node, src) -> None:
        self.kept.append(node)  # PyTorch makes a new Python object for a node whose last one was dropped
        name = node_name(node)
        rule = TEXTS.get(name)
        math, vjp = rule_texts(rule) if rule is not None else ("", "")
        leaf = node.variable if is_accumulator(node) else None
        if leaf is not None and id(leaf) not in self.tensor_ids:
            self._tensor(leaf, encode_tensor(leaf), "", True, True)
        kind = "accumulate" if leaf is not None else "function" if is_function(node) else "op"
        self.node_ids[id(node)] = len(self.nodes)
        self.nodes.append({
            "name": name, "op": op_name(name, rule), "kind": kind, "seq": node._sequence_nr(), "inputs": [], "outputs": [],
            "edges": [None if fn is None else [self.node_ids[id(fn)], nr] for fn, nr in node.next_functions],
            "saved": [], "params": params(node), "src": src, "tensor": None if leaf is None else self.tensor_ids[id(leaf)],
            "math": math, "vjp": vjp, "made_in": self.pass_now, "scope": "",
        })  # fmt: skip

    def _value(self, data) -> int | None:
        if not isinstance(data, dict):
            return super()._value(data)
        key = repr(data)
        v = self.value_ids.get(key)
        if v is None:
            v = self.value_ids[key] = len(self.values)
            self.values.append(data)
        return v


def node_name(node) -> str:
    """The name of a node as its type has it, such as "MulBackward0" or "AccumulateGrad"."""
    name = type(node).__name__
    return node.name().rpartition("::")[2] if name == "CppFunction" else name


def op_name(name: str, rule: type | None) -> str:
    """The operation behind a node: what our rule book calls it, else what its name says."""
    found = getattr(rule, "op", "") if rule is not None else ""
    return found or re.sub(r"Backward\w*$", "", name).lower()


def params(node) -> Record:
    """The plain values a node keeps, by the names PyTorch gives them."""
    found = {}
    rule = RULES.get(node_name(node))
    for name in saved_names(node):
        if "_raw_saved_" + name in dir(node) or (rule is not None and name not in rule.keeps):
            continue
        found[name] = _plain(getattr(node, "_saved_" + name))
    return found


def _plain(value):
    if isinstance(value, int) and not isinstance(value, bool) and value >= 2**63:
        return value - 2**64  # PyTorch keeps dims unsigned
    if isinstance(value, float):
        return encode(np.float64(value))["data"]
    if isinstance(value, (bool, int, str, type(None))):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(v) for v in value]
    return str(value).removeprefix("torch.") if isinstance(value, torch.dtype) else type(value).__name__


def saved_names(node) -> list[str]:
    """What a node keeps, tensors and plain values, in the order of our rule book."""
    rule = RULES.get(node_name(node))
    names = [name.removeprefix("_saved_") for name in dir(node) if name.startswith("_saved_")]
    order = {name: i for i, name in enumerate((*rule.saves, *rule.keeps))} if rule is not None else {}
    return sorted(names, key=lambda name: order.get(name, len(order)))


def rows_of(node, operands, results) -> list[list[Any] | None] | None:
    """For each operand the rows of its Jacobian, from `node` itself; None where it sends nothing, and if there are many.

    The node is called with g = 1 in one place and 0 elsewhere, which leaves it as it was. It must just have been made.
    """
    shape, size = results[0].shape, results[0].numel()
    wanted = [i for i, (fn, _) in enumerate(node.next_functions) if fn is not None]
    raw = [getattr(node, name) for name in dir(node) if name.startswith("_raw_saved_")]
    packed = any(
        one.unpack_hook is not None
        for several in raw
        for one in (several if isinstance(several, (tuple, list)) else (several,))
    )
    if (
        len(results) != 1
        or not 0 < size <= jacobian.MOST
        or packed
        or len(operands) < len(node.next_functions)
    ):
        return None
    if sum(operands[i].numel() for i in wanted) > 64 * jacobian.MOST:
        return None
    found: list[list[Any] | None] = [[] if i in wanted else None for i in range(len(node.next_functions))]
    basis = torch.eye(size, dtype=results[0].dtype, device=results[0].device)
    try:
        for g in basis:
            grads = node(g.reshape(shape))
            for i, one in enumerate(grads if isinstance(grads, tuple) else (grads,)):
                column = found[i]
                if one is None:
                    found[i] = None
                elif column is not None:
                    column.append(one.sum_to_size(operands[i].shape).reshape(-1).double().numpy())
    except (NotImplementedError, RuntimeError):
        return None  # no derivative, or what it needs has been written over
    return found


def is_accumulator(node) -> bool:
    """Whether this is the node that adds to the `.grad` of a leaf."""
    return type(node).__name__ == "AccumulateGrad"


def is_function(node) -> bool:
    """Whether this is the node of a custom Function."""
    return isinstance(node, torch.autograd.function.BackwardCFunction)


def count_results(node, results) -> int:
    """How many of the results are the user's: others are only there to be saved, such as the mean of a batch norm."""
    rule = RULES.get(node_name(node))
    if rule is not None:
        return len(results) - getattr(rule, "extras", 0) if len(results) > 1 else 1
    saved = {name for name in saved_names(node) if re.fullmatch(r"result[1-9]", name)}
    return len(results) - len(saved) if len(results) > len(saved) else len(results)


def encode_tensor(t) -> Record | None:
    """What the trace keeps of a tensor's numbers."""
    if t is None:
        return None
    data = t.detach()
    if data.layout is not torch.strided:
        data = data.to_dense()
    data = data.resolve_conj().resolve_neg().cpu()
    if data.is_complex():
        data = torch.view_as_real(data)  # JSON knows no complex numbers: pairs along a last dim
    record = encode((data.float() if data.dtype is torch.bfloat16 else data).numpy())
    record["dtype"] = str(t.dtype).removeprefix("torch.")
    return record


__all__ = [
    "TorchBuilder", "count_results", "encode_tensor", "is_accumulator", "is_function", "node_name", "params", "rows_of",
    "saved_names",
]  # fmt: skip
