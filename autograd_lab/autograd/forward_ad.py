"""Forward mode: dual numbers carry a direction along with each value (torch.autograd.forward_ad).

    with dual_level():
        d = make_dual(x, v)                 # x, and the direction v in which it moves
        value, jvp = unpack_dual(f(d))      # f(x), and how fast f(x) moves

Few rules have a forward formula (see Rule.linear). A vjp is linear in the gradient u that comes in, u -> u @ J; so the derivative of
(u @ J) . v by u, which is one backward pass through the recorded vjp, is J @ v. Custom Functions bring their own `jvp`.
"""

import weakref
from collections import namedtuple
from contextlib import contextmanager

import numpy as np

from .memory import copied, place_in, put
from .metadata import cast, sum_to
from .modes import THREAD, _Switch
from .node import Node
from .record import apply, copy_of, edges_of, make_node, node_for, wanted
from .variable import NO_EDGE, Variable, alias, edge_of, wrap
from .views import make_view

UnpackedDualTensor = namedtuple("UnpackedDualTensor", ["primal", "tangent"])
"""What unpack_dual returns: the value, and its tangent or None."""


def __getattr__(name):
    if name == "_current_level":
        return -1 if THREAD.state.dual is None else 0
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def enter_dual_level():
    """Open a level, and return its number. Raises RuntimeError if one is open: they do not nest."""
    state = THREAD.state
    if state.dual is not None:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    state.dual = Level()
    state.refresh()
    return 0


def exit_dual_level(*, level=None):
    """Close the level; all tangents are gone."""
    state = THREAD.state
    now = -1 if state.dual is None else 0
    if level is not None and level != now:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is not supported."
        )
    if now < 0:
        raise RuntimeError("Dual level must be a positive number.")
    state.dual = None
    state.refresh()


class dual_level(_Switch):  # noqa: N801 - PyTorch's name
    """A level as a `with` block, or around each call of a decorated function."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """`tensor` as a dual number with the given `tangent`: a view of it, so it may be differentiated backward as well."""
    state = THREAD.state
    if state.dual is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not t.is_floating_point():
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    dual = state.dual
    if dual.tangent(tensor) is not None:
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    out = tensor.view_as(tensor)
    dual.give(out, tangent)
    return out


def unpack_dual(tensor, *, level=None):
    """The value and the tangent of `tensor`; the tangent is None if it has none, or if no level is open."""
    dual = THREAD.state.dual
    if dual is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    tangent = dual.tangent(tensor)
    edge = NO_EDGE
    if THREAD.state.grad and edge_of(tensor) is not NO_EDGE:
        edge = make_node(Identity, (edge_of(tensor),))
    primal = make_view(tensor, tensor._array(), edge)
    dual.store(primal, None, None)  # it does not move, though the memory is that of a tensor that does
    return UnpackedDualTensor(primal, tangent)


class Identity(Node):
    """The value of a dual number, without its tangent.

    Math: y = a.   VJP: g.   PyTorch: torch::autograd::Identity
    """

    __slots__ = ()

    def name(self):
        return "torch::autograd::Identity"

    def vjp(self, g):
        return g


Identity.__name__ = Identity.__qualname__ = "CppFunction"


class _Tangent:
    """The tangent of one tensor; of a view, also the base it is to be looked up in once the memory was written."""

    __slots__ = ("base", "owner", "value", "version")

    def __init__(self, owner, value, base, version):
        self.owner, self.value, self.base, self.version = owner, value, base, version


class Level:
    """An open level: who has a tangent. Operations call it while it is open (State.dual)."""

    def __init__(self):
        self.entries = {}
        self.results = {}  # (id of a node, output number) -> the tangent of a result that the node saved

    # -- the table of tangents ------------------------------------------------------------------------

    def tangent(self, t):
        """The tangent of `t`, or None."""
        entry = self.entries.get(id(t))
        base = entry.base if entry is not None else t._base
        if base is None or (entry is not None and entry.version == t._box[0]):
            return None if entry is None else entry.value
        whole = self.tangent(base)
        if whole is None:
            return None if entry is None else entry.value
        with _aside():
            _, part = copied(whole, *place_in(base, t))
        self.store(t, part, base)
        return part

    def give(self, t, value):
        """Make `value` the tangent of `t`. Raises RuntimeError if it does not fit."""
        if self.tangent(value) is not None:
            raise RuntimeError(
                "Setting a forward grad that itself has a forward gradient at the same level0 is not supported."
            )
        if value._data.shape != t._data.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
                f"supported. Tensor is of size {list(t._data.shape)} while the given forward gradient is of size "
                f"{list(value._data.shape)}."
            )
        self.store(t, value, None)

    def store(self, t, value, base):
        key = id(t)
        entries = self.entries
        entry = entries.get(key)
        if entry is None:
            owner = weakref.ref(t, lambda _: entries.pop(key, None))
        else:
            owner = entry.owner
        entries[key] = _Tangent(owner, value, base, t._shared_box()[0])

    def forget(self, t):
        """`t` has no tangent any more."""
        self.entries.pop(id(t), None)

    def _base_of(self, t):
        """The tensor whose tangent holds that of `t`, if `t` is a view of a dual number or of a plain tensor."""
        entry = self.entries.get(id(t))
        return entry.base if entry is not None else t._base

    def restored(self, t, node, nr):
        """`t` was made of a saved result of `node`, and has its tangent."""
        value = self.results.get((id(node), nr))
        if value is not None:
            self.store(t, value, None)

    # -- operations -----------------------------------------------------------------------------------

    def propagate(self, rule, inputs, outputs, node, args):
        """After an operation: the tangents of its outputs."""
        if THREAD.state.inference or isinstance(rule, str):
            return
        tangents = self._push(rule, inputs, outputs, args)
        if tangents is None:
            still = self.entries.get(id(inputs[0])) if inputs else None
            for out in outputs:
                if still is not None and still.value is None and isinstance(out, Variable) and out._is_view():
                    self.store(out, None, None)
            return
        for out, value in zip(outputs, tangents, strict=True):
            if value is not None:
                base = None
                if out._is_view():
                    source = inputs[0]
                    base = self._base_of(source)
                    base = source if base is None else base
                self.store(out, value, base)
        self._keep_results(node, tangents)

    def _keep_results(self, node, tangents):
        """A result that `node` has saved moves as the result does."""
        if node is not None and type(node).result_names:
            weakref.finalize(node, self._forget, id(node), len(tangents))
            for nr, value in enumerate(tangents):
                self.results[id(node), nr] = value

    def _forget(self, node, count):
        for nr in range(count):
            self.results.pop((node, nr), None)

    def before_write(self, rule, inputs, data, args):
        """Before `data` is written into the first input: the tangent that it will then have, or None."""
        if THREAD.state.inference:
            return None
        if data.dtype.kind != "f":  # of a comparison, say, written over its operand: it does not move
            known = [t for t in inputs if isinstance(t, Variable) and self.tangent(t) is not None]
            if inputs[0]._data.dtype.kind != "f":
                return None
            return wrap(np.zeros(inputs[0]._data.shape, inputs[0]._data.dtype)) if known else None
        out = wrap(data)
        if THREAD.state.grad:
            inputs, out = self._beside(rule, inputs, out, args)
        tangents = self._push(rule, inputs, (out,), args)
        return None if tangents is None else tangents[0]

    def _beside(self, rule, inputs, out, args):
        """The operation as if it were not in place, with its history: the tangent may be differentiated, and depends on both."""
        edges = edges_of(inputs[: rule.operands])
        if not wanted(edges):
            return inputs, out
        target = inputs[0]
        copy = copy_of(target, edges[0])
        inputs = (copy, *[copy if t is target else t for t in inputs[1:]])
        node = node_for(rule, edges, inputs, (out,), args)
        arrays = [t._data for t in inputs[: rule.operands]]
        if any(x.shape != out._data.shape or x.dtype is not out._data.dtype for x in arrays):
            node.fold = tuple([(x.shape, x.dtype) for x in arrays])
        out._edge = node
        return inputs, out

    def copied(self, copy, t):
        """`copy` holds the value of `t`, which is about to be overwritten: it moves as `t` did."""
        value = self.tangent(t)
        if value is not None:
            with _aside():
                self.store(copy, value.clone(), None)

    def written(self, target, value, node):
        """After it was written: `target`, and the tensor it is a view of, have a new tangent.

        A write that is not recorded does not change the history of the tangent either: it is written to.
        """
        old = self.entries.get(id(target))
        base = self._base_of(target)
        unrecorded = not THREAD.state.grad
        with _aside():
            if value._data.shape != target._data.shape or value._data.dtype != target._data.dtype:
                value = cast(value.expand(target.shape), target._data.dtype)
            if base is not None:
                before = self.tangent(base)
                if before is None:
                    before = wrap(np.zeros(base._data.shape, base._data.dtype))
                place = place_in(base, target)
                whole, part = copied(before, *place)
                last, newest = part, value
                for d, (n, step) in enumerate(zip(*place[2][:2], strict=True)):
                    if n > 1 and step == 0:  # of elements that share a place the last one counts
                        last, newest = last.narrow(d, n - 1, 1), newest.narrow(d, n - 1, 1)
                put(last, newest)
                if unrecorded and before.requires_grad:
                    whole, value = before.copy_(whole), part.clone()
                self.store(base, whole, self._base_of(base))
            elif old is not None and old.value is not None:
                if old.value.requires_grad:
                    value = old.value.copy_(value) if unrecorded else value
                elif not value.requires_grad:
                    old.value._array()[...] = value._data
                    value = old.value
        self.store(target, value, base)
        self._keep_results(node, [value])

    def reshaped(self, t, value):
        """After `t` itself took another shape, as by t_(): `value` is its tangent in that shape."""
        self.store(t, value, self._base_of(t))

    def _push(self, rule, inputs, outputs, args):
        """The tangents of `outputs`, None for one that has none; or None if no input has one."""
        tangents = [self.tangent(t) if isinstance(t, Variable) else None for t in inputs]
        if all(t is None for t in tangents):
            return None
        rule.refuse_jvp(args)
        several = [t for t in (*inputs, *tangents) if isinstance(t, Variable)]
        recorded = THREAD.state.grad and any(t.requires_grad for t in several)
        with _aside(grad=True):
            return _jvp(rule, inputs, outputs, args, tangents, recorded)

    # -- custom functions -----------------------------------------------------------------------------

    def function(self, ctx, args, outputs, dirty, constant=()):
        """After the forward of a custom Function: its jvp."""
        tangents = [self.tangent(a) if isinstance(a, Variable) else None for a in args]
        if all(t is None for t in tangents) or THREAD.state.inference:
            return
        given = list(tangents)
        for i, a in enumerate(args):
            if (
                given[i] is None
                and isinstance(a, Variable)
                and ctx._materialize
                and a._data.dtype.kind == "f"
            ):
                given[i] = wrap(np.zeros(a._data.shape, a._data.dtype))
        versions = [None if t is None else t._version for t in given]
        with _aside(quiet=False):
            results = ctx.apply_jvp(*given)
        if not isinstance(results, tuple):
            results = (results,)
        for i, value in enumerate(results):
            if value is not None and not isinstance(value, Variable):
                raise RuntimeError(
                    f"expected Variable or None (got {type(value).__name__}) for grad output {i}."
                )
        if len(results) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(results)})"
            )
        for i, (out, value) in enumerate(zip(outputs, results, strict=True)):
            if value is None:
                continue
            if (
                not isinstance(out, Variable)
                or out._data.dtype.kind != "f"
                or any(out is c for c in constant)
            ):
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
                    "differentiable Tensor.You should return None at that position instead."
                )
            place = next((k for k, a in enumerate(args) if a is out), None)
            if place is not None and any(out is t for t in dirty):
                self._rewritten(out, given[place], versions[place], value)
                continue
            if out._is_view() and not value._is_view():
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
                )
            if out._is_view():
                self._check_same_view(out, value, args, given)
            self.give(out, value)

    def _check_same_view(self, out, value, args, given):
        """The tangent of a view must be that view of the tangent that was given."""
        for a, tangent in zip(args, given, strict=True):
            if not isinstance(a, Variable) or tangent is None:
                continue
            if out._base is (a if a._base is None else a._base) and value._base is not tangent:
                entry = self.entries.get(id(a))
                same = "same base as the " if entry is not None and entry.base is not None else ""
                raise RuntimeError(
                    f"A custom Function is returning a view but the jvp is not returning a view of the {same}given grad input."
                )

    def _rewritten(self, out, given, version, value):
        text = "An inplace custom Function is not {} the forward mode gradients {}. If the forward is modifying an input inplace, "
        if given is None or given._version == version:
            raise RuntimeError(
                text.format("modifying", "inplace")
                + "then the jvp function must modify the corresponding gradient inplace."
            )
        if value is not given:
            raise RuntimeError(
                text.format("returning", "as-is")
                + "then the jvp function must modify the gradient inplace and return it as-is."
            )
        self.store(out, value, self._base_of(out))


def _jvp(rule, inputs, outputs, args, tangents, recorded):
    """J @ v for one operation, by differentiating its vjp with respect to the gradient it is given."""
    from . import grad

    if not outputs:  # x.unbind() of a dim without entries
        return []
    if rule.tangent is not None:
        return [rule.tangent(inputs[0] if recorded else alias(inputs[0]), tangents[0], *args)]
    if rule.linear(args):
        moved = [
            t if v is None and t._data.dtype.kind != "f" else wrap(np.zeros_like(t._data)) if v is None else v
            for t, v in zip(inputs, tangents, strict=True)
        ]
        return [apply(rule, tuple(moved), *args)]
    if not recorded:
        inputs = [alias(t) if isinstance(t, Variable) else t for t in inputs]
        outputs = [alias(t) for t in outputs]
    count = len(inputs) if rule.operands is None else rule.operands
    edges = tuple([NO_EDGE if v is None else _SINK for v in tangents[:count]])
    node = node_for(rule, edges, tuple(inputs), tuple(outputs), args)
    saved = []
    for i, t in enumerate(node.saved):
        nr = node.result_number(i) if isinstance(t, Variable) else None
        saved.append(t if nr is None else alias(outputs[nr], edge_of(outputs[nr])))
    dummies = [
        wrap(np.zeros(y._data.shape, y._data.dtype))._require_grad() if y._data.dtype.kind == "f" else None
        for y in outputs
    ]
    grads = node.vjp(dummies[0] if rule.plain else dummies, *saved)
    if not isinstance(grads, tuple):
        grads = (grads,)
    roots, directions = [], []
    for x, g, v in zip(inputs, grads, tangents, strict=False):
        if v is not None and g is not None:
            if g._data.shape != x._data.shape:
                g = sum_to(g, x._data.shape)
            g = cast(g, x._data.dtype)
            if g.requires_grad:
                roots.append(g)
                directions.append(v)
    wanted = [u for u in dummies if u is not None]
    found = iter(
        grad(roots, wanted, directions, create_graph=recorded, allow_unused=True)
        if roots
        else [None] * len(wanted)
    )
    results = []
    for u in dummies:
        value = None if u is None else next(found)
        if u is not None and value is None:
            value = wrap(np.zeros(u._data.shape, u._data.dtype))
        elif u is not None and not value.requires_grad:
            value = wrap(
                np.array(value._data)
            )  # it may be the very tangent that came in, which is not ours to write to
        results.append(value)
    return results


_SINK = Node()
"""Where the gradients of a vjp that is only differentiated would go."""


@contextmanager
def _aside(grad=None, quiet=True):
    """Compute with tangents: these have none themselves, and nobody is told of the operations."""
    state = THREAD.state
    before = state.grad, state.dual, state.watch, state.saved_hooks, state.creation_hooks, state.anomaly
    state.dual = None
    if grad is not None:
        state.grad = grad
    if quiet:
        state.watch, state.saved_hooks, state.creation_hooks, state.anomaly = None, [], [], False
    state.refresh()
    try:
        yield
    finally:
        state.grad, state.dual, state.watch, state.saved_hooks, state.creation_hooks, state.anomaly = before
        state.refresh()


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
