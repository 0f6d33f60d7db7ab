"""A batch, one entry after the other: what PyTorch does to all entries at once (vmap) is a loop here.

The results are the same as long as each entry is treated like any other. So a Batch looks on, in the place of a recorder, and
keeps to what can be done at once. It notes which tensors depend on the entry, and refuses what one of them would decide for all:
a branch, a number for Python, a write into a tensor that all entries share. What does not depend on the entry happens once
in PyTorch; here it happens in each turn, and what a turn wrote is put back before the next.
"""

from collections.abc import Iterator

import numpy as np

from .modes import THREAD, WATCHERS, watcher
from .variable import Variable
from .watch import Both, Watch

MARK, HOME = "_depends_on", "_made_in"
"""The attributes of a tensor that hold the batches on whose entry it depends, and the one in a turn of which its memory was made."""


class RefusedError(RuntimeError):
    """What cannot be done to all entries at once: a RuntimeError whatever the arguments were."""


RefusedError.__name__ = RefusedError.__qualname__ = "RuntimeError"
RefusedError.__module__ = "builtins"


class Batch(Watch):
    """One loop over the entries of a batch; see the module's page.

    size        how many entries there are
    randomness  what a random number is: an "error", "same" for all entries, or "different"
    by_hand     whether it is the batch of gradients of autograd.grad, for which PyTorch has an older vmap with other messages
    """

    outer = beyond = None

    def __init__(self, size, randomness="error", by_hand=False):
        self.size, self.randomness, self.by_hand = size, randomness, by_hand
        self.open = False
        self._log = []  # (tensor, batches that need not undo it, data, a copy of it, box, version, edge, tangents) before each write
        self._starts = {}  # by id of the memory of the batch: where the entry of this turn begins in it
        self._drawn = False  # whether numbers were drawn that the next new tensor holds
        self._pass = frozenset()  # the batches on which the outputs depend that were asked for gradients

    def __enter__(self):
        state = THREAD.state
        self._before = watch = state.watch
        self.outer = watcher().batch
        self.beyond = watch if self.outer is None else self.outer.beyond  # a recorder, if there is one
        self.batch = self
        self.level = 1 if self.outer is None else self.outer.level + 1
        self.open = True
        state.watch = self
        if self.beyond is not None:
            state.watch = Both(self, self.beyond)
        state.refresh()
        WATCHERS.append(self)
        return self

    def __exit__(self, *exc):
        WATCHERS.remove(self)
        self.open = False
        if self.outer is not None:
            self.outer._log += self._log
        self._log = []
        state = THREAD.state
        state.watch = self._before
        state.refresh()

    def turns(self) -> Iterator[int]:
        """0 to size - 1. Each turn finds what the entries share as the first one found it, and the last leaves it so."""
        from ..random import get_rng_state, set_rng_state

        state = THREAD.state
        again = state.again
        start = get_rng_state() if self.randomness == "same" else None
        try:
            for i in range(max(self.size, 1)):
                state.again = again or i < self.size - 1
                if i:
                    self._put_back()
                    if start is not None:
                        set_rng_state(start)
                yield i
        finally:
            state.again = again

    # -- who depends on the entry ---------------------------------------------------------------------

    def entry(self, t, start=0):
        """Note that `t` is an entry of the batch, and return it; `start`: of a view, how far behind the first entry it begins."""
        _mark(t, {self})
        if start:
            self._starts[id(_owner(t))] = start
        return t

    def start_of(self, t):
        """How far the memory that `t` sees of a whole batch is behind that of the first entry: in PyTorch they begin together."""
        return sum(batch._starts.get(id(_owner(t)), 0) for batch in batches_of((t,)))

    def holds(self, t):
        """Whether `t` depends on the entry of this batch, or of one around it."""
        return self in t.__dict__.get(MARK, ()) or bool(batches_of((t,)))

    def operation(self, rule, inputs, outputs, node, args):
        """What is computed of a tensor that depends on the entry depends on it."""
        on = batches_of(inputs)
        if on and not THREAD.state.formula:  # formulas know what they do
            name = _name(rule)
            if not self.by_hand and name in COUNTED and batches_of(inputs[1:] or inputs):
                raise RefusedError(f"vmap: {COUNTED[name]}")
            if name in INDEXED and _by_mask(inputs):
                raise RefusedError(_MASKED)
        if self._drawn:
            on, self._drawn = on | {self}, False
        extras = getattr(rule, "extras", 0)  # what came out beside the result stands behind the operands
        if extras and len(inputs) == len(rule.inputs):
            outputs = (*outputs, *inputs[-extras:])
        _mark_all(outputs, on)
        self._own(outputs)
        dual = THREAD.state.dual
        if dual is not None:
            moves = on | batches_of(v for t in inputs if isinstance(t, Variable) for v in dual.tangents(t))
            if moves:
                _mark_all([v for out in outputs for v in dual.tangents(out)], moves)

    def detached(self, source, out, how):
        """detach() and .data."""
        on = batches_of((source,))
        if on and self.by_hand:
            raise RefusedError(_NO_DETACH)
        if on and how == "data":
            raise RefusedError("accessing `data` under vmap transform is not allowed")
        _mark_all((out,), on)
        self._same_home(source, out)

    def made(self, t):
        """A tensor was made, of numbers just drawn or of nothing."""
        t.__dict__[HOME] = self
        if self._drawn:
            self._drawn = False
            _mark(t, {self})

    def followed(self, out, sources):
        """A tensor was made of others by no operation, or in their likeness."""
        _mark_all((out,), batches_of(sources))
        for t in sources:
            if isinstance(t, Variable) and np.may_share_memory(t._data, out._data):
                return self._same_home(t, out)
        out.__dict__[HOME] = self

    def copied(self, data, out):
        """tensor(data)."""
        if isinstance(data, (list, tuple)):
            for part in data:
                self.read(part, "item") if isinstance(part, Variable) else self.copied(part, out)
        elif batches_of((data,)):
            raise RefusedError(
                "Can't detach views in-place. Use detach() instead: torch.tensor() reads the numbers of a tensor, of which under "
                "vmap there are some for each entry. x.clone() copies it."
            )

    # -- what cannot be done for all entries at once --------------------------------------------------

    def read(self, t, how):
        """The numbers of a tensor are wanted: by item(), numpy() or tolist()."""
        if THREAD.state.formula or not batches_of((t,)):
            return
        if self.by_hand and how == "numpy":
            raise RefusedError(_NO_DETACH)
        if how != "item":
            raise RefusedError("Cannot access data pointer of Tensor that doesn't have storage")
        raise RefusedError(_no_rule("item") if self.by_hand else _either(_ITEM))

    def looked(self, t, how):
        """Something is decided by the numbers of a tensor."""
        if THREAD.state.formula or not batches_of((t,)):
            return
        text = (BY_HAND if self.by_hand else LOOKS).get(how)
        if text is not None:
            raise RefusedError(_either(text) if text in (_ITEM, _BRANCH) else text)

    def drawing(self, generator):
        """Random numbers are drawn."""
        if self.by_hand:
            raise RefusedError(
                "vmap: We do not yet support calling random operations inside of vmap. Please perform random operations outside of "
                "vmap as a workaround"
            )
        if self.randomness == "error":
            raise RefusedError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                "randomness flags on vmap or perform the randomness operation out of vmap"
            )
        self._drawn = self.randomness == "different"

    def at_rest(self, fn):
        """`fn`, during the call of which nothing is refused."""

        def call(*args, **kwargs):
            around = self.around()
            for batch in around:
                batch.open = False
            try:
                return fn(*args, **kwargs)
            finally:
                for batch in around:
                    batch.open = True

        return call

    # -- writes ---------------------------------------------------------------------------------------

    def writing(self, t):
        """Memory is about to be written: what stands there is kept, unless it is each entry's own or was made in this turn."""
        home = _home(t)
        fine = batches_of((t,)).union(() if home is None else home.around())
        if not fine.issuperset(self.around()):
            for target in (t, t._base):
                if target is not None:
                    box = target._box
                    data = target._data
                    kept = data.copy() if isinstance(data, np.ndarray) else data
                    dual = THREAD.state.dual
                    tangents = None if dual is None else dual.kept(target)
                    self._log.append((target, fine, data, kept, box, box and box[0], target._edge, tangents))

    def written(self, rule, inputs, target, node, name, args=()):
        """A tensor was written: it cannot depend on the entry if it did not before."""
        on, marks = batches_of(inputs), batches_of((target,))
        drawn, self._drawn = self._drawn, False
        if THREAD.state.formula:  # into what the formula itself has made
            return _mark_all((target,), on)
        by_mask = _name(rule) in INDEXED and _by_mask(inputs)
        if on <= marks and not by_mask and not (drawn and self not in marks):
            return
        if self._log and (self._log[-1][0] is target or self._log[-1][0] is target._base):
            self._put_back_newest(target)
        if by_mask:
            raise RefusedError(_MASKED)
        if drawn and self not in marks:
            raise RefusedError(
                "vmap: Cannot ask for different inplace randomness on an unbatched tensor. This will appear like same randomness. "
                "If this is necessary for your usage, please file an issue with functorch."
            )
        raise RefusedError(self._shared(name, target, next(t for t in inputs if batches_of((t,)) - marks)))

    def moving(self, target, name, inputs, args, data):
        """The running statistics of a batch norm are about to be written."""
        if batches_of(inputs) - batches_of((target,)):
            raise RefusedError(
                "Batch norm got a batched tensor as input while the running_mean or running_var, which will be updated in place, "
                "were not batched."
            )
        self.writing(target)

    def _shared(self, name, target, other):
        """The error of writing something of one entry into a tensor that all entries share."""
        if not self.by_hand and name in BROADCAST:
            marks = batches_of((target,))
            sizes = [
                (b.size, b in marks)
                for b in reversed(self.around())
                if b in marks or b in batches_of((other,))
            ]
            whole = [size for size, _ in sizes] + list(
                np.broadcast_shapes(target._data.shape, other._data.shape)
            )
            while sizes and not sizes[0][1]:
                sizes = sizes[1:]
            own = [size if has else 1 for size, has in sizes] + list(target._data.shape)
            return f"output with shape {own} doesn't match the broadcast shape {whole}"
        kind = ARITHMETIC if name in ARITHMETIC_NAMES else name if name in NAMED else f"aten::{name}"
        where = "in a vmap"
        if self.by_hand or kind.startswith("aten"):
            kind, where = f"aten::{name}", f"at level {self.level}"
        return (
            f"vmap: {kind}(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has more "
            f"elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over {where}. "
            f"Please try to use out-of-place operators instead of {kind}. If said operator is being called inside the PyTorch "
            "framework, please file a bug report instead."
        )

    def _own(self, tensors):
        """Note that the memory of these tensors was made in this turn, unless they are views."""
        for t in tensors:
            if t is not None and t._base is None:
                t.__dict__.setdefault(HOME, self)

    @staticmethod
    def _same_home(source, out):
        """Note that `out` has the memory of `source`."""
        home = _home(source)
        if home is not None:
            out.__dict__[HOME] = home

    def around(self):
        """The batch itself and those around it, innermost first."""
        found, batch = [], self
        while batch is not None:
            found.append(batch)
            batch = batch.outer
        return found

    def _put_back(self):
        """Undo what this turn wrote into tensors that do not depend on the entry."""
        kept = []
        for entry in reversed(self._log):
            if self in entry[1]:
                kept.append(entry)
            else:
                _restore(*entry)
        self._log = kept[::-1]

    def _put_back_newest(self, target):
        for _ in range(1 if target._base is None else 2):
            _restore(*self._log.pop())

    # -- gradients ------------------------------------------------------------------------------------

    def asked(self, outputs, inputs):
        """Gradients of `outputs` are wanted."""
        self._pass = batches_of(outputs)

    def sent(self, gradients):
        """These are the gradients of the outputs."""
        self._pass |= batches_of(gradients)

    def pass_started(self, run, roots, call):
        """What a pass brings to the user's own backward and hooks are tensors, so that it is known on what they depend."""
        on = self._pass | ({self} if self.by_hand else set())
        if run.tensors or any(node.kind == "function" or node.hooks is not None for node in run.deps):
            from .hooks import as_tensor

            run.tensors = True
            for i, (edge, g) in enumerate(roots):
                g = as_tensor(g)
                _mark_all((g,), on)
                roots[i] = edge, g

    def granted(self, inputs, results):
        """These are the gradients."""
        _mark_all(results, self._pass | ({self} if self.by_hand else set()))
        self._own(results)


def batches_of(tensors):
    """The batches on whose entry these tensors (or None, or numbers) depend, of those that are running."""
    found = NONE
    for t in tensors:
        if isinstance(t, Variable):
            marks = t.__dict__.get(MARK)
            if marks is not None and marks is not found:
                found = found | marks if found else marks
    for batch in found:
        if not batch.open:
            return frozenset([batch for batch in found if batch.open])
    return found


NONE = frozenset()


def _mark(t, batches):
    t.__dict__[MARK] = t.__dict__.get(MARK, frozenset()) | batches


def _mark_all(tensors, batches):
    if batches:
        for t in tensors:
            if isinstance(t, Variable):
                _mark(t, batches)


def _name(rule):
    return rule if isinstance(rule, str) or rule is None else rule.__name__


def _by_mask(inputs):
    """Whether the operands of an indexing are a mask for each entry, which choose how many elements there are."""
    return batches_of(t for t in inputs[1:] if isinstance(t, Variable) and t._data.dtype.kind == "b")


def _owner(t):
    """The array whose memory `t` is, or sees a part of."""
    array = t._data
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def start_of(t):
    """How far behind the first entry of a batch the entry of this turn begins in the memory that `t` sees a part of; 0 outside."""
    batch = watcher().batch
    return 0 if batch is None else batch.start_of(t)


def _home(t):
    """The batch in a turn of which the memory of `t` was made, if it was in one that is running."""
    home = (t if t._base is None else t._base).__dict__.get(HOME)
    return home if home is not None and home.open else None


def _restore(target, fine, data, kept, box, version, edge, tangents):
    """Make `target` what it was before it was written."""
    if isinstance(data, np.ndarray):
        data[...] = kept
    target._data, target._edge = data, edge
    if box is not None:
        box[0] = version
    elif target._box is not None:
        target._box[0] = 0
    if tangents is not None:
        tangents()


def _no_rule(name):
    return f"Batching rule not implemented for aten::{name}. We could not generate a fallback."


def _dynamic(name):
    return (
        f"vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten::{name}. Please file "
        "an issue at https://github.com/pytorch/pytorch/issues if you need this feature."
    )


_NO_DETACH = (
    "Batching rule not implemented for aten::detach; the fallback path doesn't work on out= or view ops."
)
_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a Tensor, please try to "
    "rewrite what you're doing with other operations. If error is occurring somewhere inside PyTorch internals, please file a bug "
    "report."
)
_BRANCH = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't support that yet, please "
    "file an issue at https://github.com/pytorch/pytorch/issues ."
)

_MASKED = "vmap: We do not support batching operators that can support dynamic shape. Attempting to batch over indexing with a boolean mask."

_EITHER = (
    "vmap: It looks like you're either (1) calling .item() on a Tensor or (2) attempting to use a Tensor in some data-dependent control "
    "flow or (3) encountering this error in PyTorch internals. For all entries at once neither can be done: please try to rewrite what "
    "you're doing with other operations."
)


def _either(text):
    """What PyTorch says if there is another transform inside of the vmap, which does not know what was called."""
    inside = THREAD.state.transforms[-1:]
    return text if not inside or inside == ("vmap",) else _EITHER


LOOKS = {
    "bool": _BRANCH, "int": _ITEM, "nonzero": _dynamic("nonzero"), "where": _dynamic("where"), "equal": _no_rule("equal"),
    "allclose": "vmap over torch.allclose isn't supported yet. Please file an issue at https://github.com/pytorch/pytorch/issues if you "
    "need this feature.",
    "one_hot": "When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.",
}  # fmt: skip
"""What PyTorch says of a look at the numbers of a tensor that depends on the entry."""

BY_HAND = {
    "bool": _no_rule("is_nonzero"), "int": _no_rule("item"), "where": _no_rule("where"), "equal": _no_rule("equal"),
    "allclose": _no_rule("allclose"),
}  # fmt: skip
"""The same of its older vmap, which calls the other functions once for each entry."""

COUNTED = {
    "MaskedSelectBackward0": "Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each "
    "batch this would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if you need "
    "this feature.",
    "Unique2Backward0": _dynamic("_unique2").removeprefix("vmap: "),
    "UniqueConsecutiveBackward0": _dynamic("unique_consecutive").removeprefix("vmap: "),
    "UniqueDimBackward0": _dynamic("unique_dim").removeprefix("vmap: "),
}
"""Rules whose results have a shape that only the numbers tell."""

INDEXED = frozenset(["IndexBackward0", "IndexPutBackward0"])
"""The same, if a mask is among their operands."""

ARITHMETIC = "inplace arithmetic"
ARITHMETIC_NAMES = frozenset([
    "clamp_max_", "clamp_min_", "copy_", "div_", "divide_", "logical_and_", "logical_or_", "logical_xor_", "masked_fill_", "mul_",
    "multiply_", "sub_", "true_divide_",
])  # fmt: skip
NAMED = frozenset(["fill_", "index_add_", "index_fill_", "index_put_", "scatter_add_", "scatter_reduce_"])
BROADCAST = frozenset([
    "add_", "arctan2_", "atan2_", "bitwise_and_", "bitwise_left_shift_", "bitwise_or_", "bitwise_right_shift_", "bitwise_xor_",
    "copysign_", "gcd_", "lcm_",
])  # fmt: skip
"""Writes by what PyTorch calls them when it refuses them."""

__all__ = ["Batch", "RefusedError", "batches_of", "start_of"]
