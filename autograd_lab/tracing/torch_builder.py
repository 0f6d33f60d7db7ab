"""From the notes of a recording of PyTorch to the lists of a trace: tensors, nodes and values are PyTorch's."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from ..torchlike.autograd.node import AccumulateGrad
from ..torchlike.autograd.views import CopySlices
from ..torchlike.ops.rule import RULES
from . import jacobian
from .builder import FULL, MOST_ENTRIES, Builder, _digits, encode, rule_texts
from .held import Held
from .trace import Record

TEXTS: dict[str, type] = RULES | {"AccumulateGrad": AccumulateGrad, "CopySlices": CopySlices}
"""The rule texts of our own nodes of the same names."""


class TorchHeld(Held):
    """PyTorch's nodes do not tell what they keep besides operands and results; what hooks packed is noted when they have done it."""

    def __init__(self, builder: Any) -> None:
        super().__init__(builder)
        # id of a node that is about to be noted -> (tensor whose memory it is, or None; bytes; the tensor that hooks packed)
        self.packed: dict[int, list[tuple[Any, int, Any]]] = {}
        self.holders: dict[int, list[Any]] = {}  # likewise -> references to what checkpoints have packed
        self.unmet: dict[
            int, list[list[Any]]
        ] = {}  # address of memory that no tensor was met in -> records about it

    def home(self, t: Any, i: int) -> int:
        """A saved result is unpacked as a new tensor; what else shares memory without being a view is not known."""
        record = self.builder.tensors[i]
        made = [] if record["node"] is None else self.builder.nodes[record["node"]]["outputs"]
        return int(made[record["output_nr"]]) if record["output_nr"] < len(made) else i

    def lies_in(self, t: Any, i: int) -> bool:
        """True, as in `home`: what comes in as the result of a node is its saved result."""
        return True

    def saved(self, node: Any, record: Record, saved: Any, owner: Any = None) -> None:
        """A node was made; what hooks packed for it, it holds from here on."""
        for holder in self.holders.pop(id(node), ()):
            self.owners[id(holder)] = id(node), record
        for memory in self.packed.pop(id(node), ()):
            self.open.setdefault(id(node), []).append(self._add(record, None, memory))

    def recomputed(self, holder: Any, t: Any) -> None:
        """A checkpoint has computed again what `holder` refers to; `t` is its memory."""
        key, record = self.owners.get(id(holder), (None, None))
        if key is not None and record is not None:
            self.again.setdefault(key, []).append(self._add(record, None, t))

    def _add(self, record: Record, i: int | None, t: Any) -> list[Any]:
        near, nbytes, content = t
        i = None if near is None else self.builder.tensor_ids.get(id(near))
        one = [None if i is None else self.home(near, i), nbytes, len(self.builder.events) + 1, None]
        record.setdefault("holds", []).append(one)
        if i is None:
            self.unmet.setdefault(content.untyped_storage().data_ptr(), []).append(one)
        return one

    def meet(self, t: Any, i: int) -> None:
        """Tensor number `i` is new: memory that nothing was known of may be its."""
        if self.unmet and type(t) in (torch.Tensor, torch.nn.Parameter):
            for one in self.unmet.pop(t.untyped_storage().data_ptr(), ()):
                one[0] = i


class TorchBuilder(Builder):
    """Replays the notes of one recording of PyTorch in order; values are encoded when they are noted."""

    def __init__(self, *tensors: Any):
        super().__init__(*tensors)
        self.held = TorchHeld(self)
        self.kept: list[Any] = []
        self.rows: dict[int, Any] = {}  # id of a node -> the rows of its Jacobians

    def packed(self, node, held, holders) -> None:
        """Hooks have packed what `node`, which is about to be noted, has saved."""
        self.held.packed.setdefault(id(node), []).extend(held)
        self.held.holders.setdefault(id(node), []).extend(holders)

    def _operand(self, t, src) -> int:
        if not isinstance(t, torch.Tensor):
            return self._number(t, src)
        i = self.tensor_ids.get(id(t))
        if i is None:  # a result of code that was not recorded
            i = self._tensor(t, encode_tensor(t), "", True, t.requires_grad)
            self.tensors[i]["unseen"] = True
        if self.tensors[i].pop("unseen", False):
            self._event("leaf", src, t=i)
        return i

    def _tensor(self, t, data, name, leaf, requires_grad) -> int:
        known = self.tensor_ids.get(id(t))
        if known is not None:
            return known
        i = self.tensor_ids[id(t)] = len(self.tensors)
        self.tensors.append({
            "name": self.names.get(id(t)) or name, "shape": shape_of(t), "dtype": data["dtype"],
            "requires_grad": requires_grad, "leaf": leaf, "value": self._value(data),
            "base": self.tensor_ids.get(id(t._base)), "node": None, "output_nr": 0,
        })  # fmt: skip
        self.held.meet(t, i)
        return i

    def written_through_view(self, inputs, data, version, fn, name, place, whole) -> None:
        """The operation's own node is hidden inside the base's CopySlices; the view gets a new node."""
        src, _ = self._where(place)
        ins = [self._operand(t, src) for t in inputs]
        self._through_view(src, ins, data, version, name, fn, place, whole, [])

    def _overwritten(self, target, data) -> None:
        return None

    def asked_itself(self, node, rows) -> None:
        """The Jacobian that `node` computed, row by row."""
        self.rows[id(node)] = rows

    def _jacobian(self, node, n, saved, versions, outputs, data, before=None) -> None:
        record, rule = self.nodes[n], RULES.get(node_name(node))
        operands = [self.tensors[t]["shape"] for t in record["inputs"]]
        if rule is None or not rule.plain or len(operands) < len(node.next_functions):
            return
        rows = self.rows.get(id(node)) if self.entries < MOST_ENTRIES else None
        wanted = [i for i, (fn, _) in enumerate(node.next_functions) if fn is not None]
        numbers = rows or [None] * len(node.next_functions)
        self._put_jacobian(
            record, jacobian.described(rule, wanted, numbers, operands, data["shape"], record["params"])
        )

    def _saved(self, node, ins, outs, saved, versions) -> list[list[Any]]:
        return [
            [name, ins[t] if isinstance(t, int) else self.tensor_ids.get(id(t)), version]
            for name, t, version in saved or ()
        ]

    def _new_node(self, node, src) -> None:
        self.kept.append(node)  # PyTorch creates a new Python object if the last was dropped
        name = node_name(node)
        rule = TEXTS.get(name)
        math, vjp = rule_texts(rule) if rule is not None else ("", "")
        leaf = node.variable if is_accumulator(node) else None
        if leaf is not None and id(leaf) not in self.tensor_ids:
            self._tensor(leaf, encode_tensor(leaf), "", True, True)
        kind = "accumulate" if leaf is not None else "function" if is_function(node) else "op"
        self.node_ids[id(node)] = len(self.nodes)
        self.nodes.append({
            "name": name, "op": op_name(name, rule, kind), "kind": kind, "seq": node._sequence_nr(), "inputs": [], "outputs": [],
            "edges": [None if fn is None else [self.node_ids[id(fn)], nr] for fn, nr in node.next_functions],
            "saved": [], "params": params(node), "src": src, "tensor": None if leaf is None else self.tensor_ids[id(leaf)],
            "math": math, "vjp": vjp, "made_in": self.pass_now, "scope": "",
        })  # fmt: skip
        self._say_if_nothing_returns(node)

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
    """The name of a node by its type, such as "MulBackward0" or "AccumulateGrad"."""
    name = type(node).__name__
    return node.name().rpartition("::")[2] if name == "CppFunction" else name


def op_name(name: str, rule: type | None, kind: str) -> str:
    """The operation behind a node: its name in our rule book, otherwise derived from the node's name; a Function's is its class's."""
    if kind == "function":
        return name.removesuffix("Backward")
    found = getattr(rule, "op", "") if rule is not None else ""
    return found or re.sub(r"Backward\w*$", "", name).lower()


def params(node) -> Record:
    """The plain values that a node keeps, by PyTorch's names."""
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
    """For each operand the rows of its Jacobian, from `node` itself; None if it sends nothing, or if there are too many.

    Calls the node with g = 1 in one place and 0 elsewhere, which does not change it. The node must be new.
    """
    if (
        len(results) != 1 or len(node._input_metadata) != 1
    ):  # a rule that is called with several gradients has several Jacobians
        return None
    if len(operands) < len(node.next_functions) or torch.are_deterministic_algorithms_enabled():
        return None  # the latter warns, or raises, when rules run
    tensors = [t for t in (*operands, *results) if isinstance(t, torch.Tensor)]
    if not all(has_numbers(t) and t.layout is torch.strided and not t.is_complex() for t in tensors):
        return None
    shape, size = results[0].shape, results[0].numel()
    wanted = [i for i, (fn, _) in enumerate(node.next_functions) if fn is not None]
    if not 0 < size <= jacobian.MOST or sum(operands[i].numel() for i in wanted) > 64 * jacobian.MOST:
        return None
    if is_packed(node):
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
        return None  # no derivative, or what it needs was overwritten
    return found


def is_packed(node) -> bool:
    """Whether the user's hooks have packed what a node saves: its rule then runs their code."""
    for name in _saved_attributes(type(node)):  # type: ignore[arg-type]  # no class is hashable for mypy
        kept = getattr(node, name)
        if any(one.unpack_hook is not None for one in (kept if isinstance(kept, (tuple, list)) else (kept,))):
            return True
    return False


@lru_cache(maxsize=1000)
def _saved_attributes(kind: type) -> tuple[str, ...]:
    return tuple(name for name in dir(kind) if name.startswith("_raw_saved_"))


def is_accumulator(node) -> bool:
    """Whether this is the node that adds to the `.grad` of a leaf."""
    return type(node).__name__ == "AccumulateGrad"


def is_function(node) -> bool:
    """Whether this is the node of a custom Function."""
    return isinstance(node, torch.autograd.function.BackwardCFunction)


def count_results(node, results) -> int:
    """How many of the results are the user's: others exist only to be saved, such as the mean of batch norm."""
    rule = RULES.get(node_name(node))
    if rule is not None:
        return len(results) - getattr(rule, "extras", 0) if len(results) > 1 else 1
    saved = {name for name in saved_names(node) if re.fullmatch(r"result[1-9]", name)}
    users = len(results) - len(saved) if len(results) > len(saved) else len(results)
    # What an LSTM saves of its results is also handed out: those have a history.
    return max(users, *(i for i, t in enumerate(results, 1) if t.grad_fn is node), 1)


def is_wrapped(t) -> bool:
    """Whether this is a tensor of torch.func: it has no numbers of its own, and a graph that others cannot use."""
    if not isinstance(t, torch.Tensor):
        return False
    functorch = torch._C._functorch
    return (
        functorch.is_functorch_wrapped_tensor(t)
        or functorch.is_legacy_batchedtensor(t)
        or torch._is_functional_tensor(t)
    )


def has_numbers(t) -> bool:
    """Whether the numbers of a tensor can be read without running user code."""
    usual = type(t).__torch_dispatch__ is torch._C._disabled_torch_dispatch_impl
    return usual and t.device.type != "meta" and not t.is_nested and not is_wrapped(t)


def version_of(t) -> int:
    """The version of a tensor; 0 of an inference tensor, which has none."""
    return 0 if t.is_inference() else t._version


def gradient_of(t) -> Any:
    """`.grad` of a tensor; not read if it has none, because PyTorch would warn."""
    return t.grad if t.retains_grad or (t.requires_grad and t.is_leaf) or not t.requires_grad else None


def without_numbers(t) -> Record:
    """What the trace keeps of a tensor whose numbers are not to be read."""
    none = dict.fromkeys(("min", "max", "mean", "norm"))
    return {"shape": shape_of(t), "dtype": dtype_name(t), "corner": [], **none, "nan": 0, "inf": 0}


def encode_tensor(t) -> Record | None:
    """What the trace keeps of a tensor's numbers; if it has none, or too many, only its shape and dtype."""
    if t is None:
        return None
    if not has_numbers(t) or (t.layout is not torch.strided and t.numel() > MOST_FILLED):
        return without_numbers(t)
    data = t.detach()
    if (
        data.dtype in _AS_LISTS
        and data.layout is torch.strided
        and data.numel() <= FULL
        and not data._is_zerotensor()
    ):
        # Nearly every value of a trace: what the steps below come to, in a third of the time.
        return {"shape": list(data.shape), "dtype": dtype_name(data), "data": _digits(data.tolist())}
    if data.layout is not torch.strided:
        data = data.to_dense()
    if data._is_zerotensor():
        data = torch.zeros(data.shape, dtype=data.dtype)
    if data.is_quantized:
        data = data.dequantize()
    data = data.resolve_conj().resolve_neg().cpu()
    if data.is_complex():
        data = torch.view_as_real(data)  # JSON knows no complex numbers: pairs along a last dim
    if data.is_floating_point() and data.dtype not in _OF_NUMPY:
        data = data.float()
    record = encode(data.clone().numpy())  # PyTorch no longer resizes memory that NumPy shares
    record["dtype"] = dtype_name(t)
    return record


_OF_NUMPY = torch.float16, torch.float32, torch.float64
_AS_LISTS = torch.float32, torch.float64, torch.int64, torch.bool
MOST_FILLED = 1 << 20  # a sparse tensor with more places is not written out


def shape_of(t) -> list[int]:
    """The shape of a tensor; [] for a nested one, which has several. A symbolic size is -1: reading its number would specialize it."""
    if t.is_nested:
        return []
    return [size if type(size) is int else -1 for size in t.shape]


def dtype_name(t) -> str:
    return str(t.dtype).removeprefix("torch.")


__all__ = [
    "TorchBuilder", "count_results", "encode_tensor", "gradient_of", "has_numbers", "is_accumulator", "is_function", "is_packed", "is_wrapped", "node_name", "params", "rows_of",
    "saved_names", "shape_of", "version_of",
]  # fmt: skip
