"""Forward mode: dual numbers carry a tangent along with each value (torch.autograd.forward_ad).

    with dual_level():
        d = make_dual(x, v)                 # x with the tangent v
        value, jvp = unpack_dual(f(d))      # f(x) and its tangent, J @ v

Few rules have a forward formula (see Rule.linear). A vjp is linear in its incoming gradient, u -> u @ J; so the derivative of (u @ J) . v
with respect to u, one backward pass through the recorded vjp, is J @ v. Custom Functions have their own `jvp`.

torch.func's forward mode (jvp, jacfwd, linearize) opens a Level for each call. Levels nest: outer levels see what an inner level computes
with tangents, so tangents have tangents. A level may hold several directions at once, as in jacfwd.
"""

import weakref
from collections import namedtuple
from contextlib import contextmanager

import numpy as np

from .errors import type_name
from .formulas import in_formula
from .handed import recorded_vjp
from .memory import copied, geometry, place_in, put, shares_places
from .metadata import cast, sum_to
from .modes import THREAD, _Switch
from .node import Node
from .record import apply, copy_of, edges_of, make_node, node_for, wanted
from .variable import NO_EDGE, Variable, alias, edge_of, new, pair_of, wrap
from .views import make_view

UnpackedDualTensor = namedtuple("UnpackedDualTensor", ["primal", "tangent"])
"""What unpack_dual returns: the value, and its tangent or None."""


NESTED = "Nested forward mode AD is not supported at the moment"


def __getattr__(name):
    if name == "_current_level":
        return -1 if THREAD.state.dual is None else 0
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def enter_dual_level():
    """Open a level, and return its number. Raises RuntimeError if one is open: they do not nest."""
    state = THREAD.state
    if state.dual is not None:
        raise RuntimeError(NESTED)
    state.dual = Level()
    state.refresh()
    return 0


@contextmanager
def transform_level(directions=1, linear=False):
    """The level of a transform of torch.func, inside those of the enclosing transforms.

    Raises RuntimeError inside a level that the user opened.
    """
    state = THREAD.state
    outer = state.dual
    if outer is not None and not outer.of_transform:
        raise RuntimeError(NESTED)
    state.dual = level = Level(directions, outer, of_transform=True, linear=linear)
    state.refresh()
    try:
        yield level
    finally:
        level.close()
        state.dual = outer
        state.refresh()


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
    state.dual.close()
    state.dual = None
    state.refresh()


class dual_level(_Switch):  # noqa: N801 - PyTorch's name
    """A level as a `with` block, or around each call of a decorated function."""

    def __enter__(self):
        return enter_dual_level()

    def __exit__(self, *exc):
        exit_dual_level()


def make_dual(tensor, tangent, *, level=None):
    """`tensor` as a dual number with the given `tangent`: a view of it, so it can also be differentiated in reverse mode."""
    state = THREAD.state
    if state.dual is None or (level is not None and level < 0):
        raise RuntimeError(
            "Trying to create a dual Tensor for forward AD but no level exists, make sure to enter_dual_level() first."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not t.is_floating_point():
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")
    directions = state.dual.directions
    if any(direction.tangent(tensor) is not None for direction in directions):
        raise RuntimeError(
            "Making a dual Tensor based on a Tensor that already has a forward gradient at the same level 0 is not supported."
        )
    out = tensor.view_as(tensor)
    for direction in directions:
        direction.give(out, tangent)
    return out


def unpack_dual(tensor, *, level=None):
    """The value and the tangent of `tensor`; the tangent is None if it has none, or if no level is open."""
    dual = THREAD.state.dual
    if dual is None or (level is not None and level < 0):
        return UnpackedDualTensor(tensor, None)
    if not isinstance(tensor, Variable):
        raise TypeError(
            f"_unpack_dual(): argument 'dual' (position 1) must be Tensor, not {type_name(tensor)}"
        )
    if len(dual.directions) != 1:
        raise NotImplementedError(
            "unpack_dual inside of jacfwd is not supported: a tensor has many tangents there"
        )
    tangent = dual.tangent(tensor)
    edge = NO_EDGE
    if THREAD.state.grad and edge_of(tensor) is not NO_EDGE:
        edge = make_node(Identity, (edge_of(tensor),))
    primal = make_view(tensor, tensor._array(), edge)
    # It has no tangent, though it shares the memory of a tensor that has one.
    dual.directions[0].store(primal, None, None)
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


class Level:
    """An open level: the tangents of its dual numbers. Operations call it while it is open (State.dual).

    directions    one table of tangents for each
    outer         the enclosing level, or None: it is told of each operation first, and sees what is computed with tangents here
    of_transform  whether torch.func opened it
    linear        whether tangents are recorded even under no_grad, to be differentiated with respect to the given ones
    """

    def __init__(self, directions=1, outer=None, of_transform=False, linear=False):
        self.outer, self.of_transform, self.linear = outer, of_transform, linear
        self.directions = [Direction(self) for _ in range(directions)]
        # node -> for each direction, the tangents of its results, which it may have saved
        self.results = weakref.WeakKeyDictionary()

    def close(self):
        """Forget all tangents: otherwise they and their tensors would keep each other alive."""
        for direction in self.directions:
            direction.entries.clear()
        self.directions = []
        self.results.clear()

    def tangent(self, t):
        """The tangent of `t` in this level, or None."""
        return self.directions[0].tangent(t) if self.directions else None

    def tangents(self, t):
        """All tangents of `t`, including those in enclosing levels, and their tangents."""
        found = [] if self.outer is None else self.outer.tangents(t)
        for direction in self.directions:
            value = direction.tangent(t)
            if value is not None:
                found.append(value)
                found += [] if self.outer is None else self.outer.tangents(value)
        return found

    def forget(self, t):
        """Remove the tangent of `t` from this level."""
        for direction in self.directions:
            direction.entries.pop(id(t), None)

    def alike(self, out, t, made=None):
        """Give `out` the tangents of `t` in all levels; it shares the memory of `t`, so writes to either affect both.

        With `made`, it will outlive `t`: it gets made(tangent) for each tangent.
        """
        if self.outer is not None:
            self.outer.alike(out, t, made)
        with self.aside():
            for direction in self.directions:
                value = direction.tangent(t)
                if value is not None and made is not None:
                    direction.store(out, made(value), None)
                elif value is not None:
                    base = direction.base_of(t)
                    direction.store(out, value, t if base is None else base)

    def kept(self, t):
        """A function that restores the current tangents, with their numbers, of `t` and of its base.

        By then a level may be closed: its tangents are no longer asked for, but what was recorded from them still needs their numbers.
        """
        outer, undo = self.outer, []
        around = None if outer is None else outer.kept(t)
        for direction in self.directions:
            one = t
            while one is not None:
                value = direction.tangent(one)
                if value is not None and outer is not None:
                    undo.append(outer.kept(value))
                undo.append(direction.kept(one))
                one = direction.base_of(one)

        def put_back():
            if around is not None:
                around()
            for fn in undo if self.directions else ():
                fn()

        return put_back

    def restored(self, t, node, nr):
        """`t` was unpacked from a saved result of `node`: give it the result's tangents."""
        if self.outer is not None:
            self.outer.restored(t, node, nr)
        moves = self.results.get(node)
        if moves is not None:
            for direction, tangents in zip(self.directions, moves, strict=True):
                if tangents is not None and tangents[nr] is not None:
                    direction.store(t, tangents[nr], None)

    def _keep_results(self, node, moves):
        """Keep the tangents of results that `node` has saved; `moves`: for each direction the tangents of the results."""
        if node is None or all(tangents is None for tangents in moves):
            return
        rule = type(node)  # the attributes of a custom Function's node belong to the user
        if rule.kind == "function" or any(nr is not None for _where, nr, _users in rule.save_plan):
            self.results[node] = moves

    # -- operations -----------------------------------------------------------------------------------

    def propagate(self, rule, inputs, outputs, node, args):
        """After an operation: compute the tangents of its outputs. In inference mode only views have one: a view of their base's."""
        if isinstance(rule, str) or (THREAD.state.inference and not outputs[0]._is_view()):
            return
        if self.outer is not None:
            self.outer.propagate(rule, inputs, outputs, node, args)
        moves = self._push(rule, inputs, outputs, args, THREAD.state.grad)
        for direction, tangents in zip(self.directions, moves, strict=True):
            direction.passed(inputs, outputs, tangents)
        self._keep_results(node, moves)

    def before_write(self, rule, inputs, data, args):
        """Before `data` is written into the first input: the tangents that it will have (for the outer level, for each direction), or
        None.
        """
        if THREAD.state.inference:
            return None
        around = None if self.outer is None else self.outer.before_write(rule, inputs, data, args)
        if data.dtype.kind != "f":  # for example a comparison written over its operand: it has no tangent
            moves = [direction.stopped(inputs) for direction in self.directions]
        else:
            out = wrap(data)
            if THREAD.state.grad:
                inputs, out = self._beside(rule, inputs, out, args)
            if around is not None:
                self.outer.foreseen(out, around)
            # A tensor that changes its shape keeps its history, recorded or not, and so does its tangent.
            grad = THREAD.state.grad or np.may_share_memory(data, inputs[0]._data)
            moves = self._push(rule, inputs, (out,), args, grad)
            moves = [None if tangents is None else tangents[0] for tangents in moves]
        return None if around is None and all(value is None for value in moves) else (around, moves)

    def _beside(self, rule, inputs, out, args):
        """The operation as if it were out of place, with history: the tangent may be differentiated, and depends on both operands."""
        edges = edges_of(inputs[: rule.operands])
        with_history = wanted(edges)
        tangents = [v for t in inputs if isinstance(t, Variable) for v in self.tangents(t)]
        if not with_history and not any(v.requires_grad for v in tangents):
            return inputs, out
        target = inputs[0]
        copy = copy_of(target, edges[0])
        inputs = (copy, *[copy if t is target else t for t in inputs[1:]])
        if not with_history:
            return inputs, out
        node = node_for(rule, edges, inputs, (out,), args)
        arrays = [t._data for t in inputs[: rule.operands]]
        if any(x.shape != out._data.shape or x.dtype is not out._data.dtype for x in arrays):
            node.broadcast = tuple([(x.shape, x.dtype) for x in arrays])
        out._edge = node
        return inputs, out

    def foreseen(self, out, values):
        """`out` holds what is about to be written: give it the tangents from before_write."""
        around, moves = values
        if around is not None:
            self.outer.foreseen(out, around)
        for direction, value in zip(self.directions, moves, strict=True):
            if value is not None:
                direction.store(out, value, None)
        self._keep_results(pair_of(out._edge)[0], [None if value is None else [value] for value in moves])

    def written(self, target, values, node):
        """After the write: `target` and its base have a new tangent; `values` are the result of before_write."""
        around, moves = values
        if around is not None:
            self.outer.written(target, around, node)
        for direction, value in zip(self.directions, moves, strict=True):
            if value is not None:
                direction.written(target, value)
        self._keep_results(node, [None if value is None else [value] for value in moves])

    def reshaped(self, t, values):
        """After `t` itself changed its shape, as in t_(): `values` are its tangents in the new shape."""
        around, moves = values
        if around is not None:
            self.outer.reshaped(t, around)
        for direction, value in zip(self.directions, moves, strict=True):
            if value is not None:
                direction.store(t, value, direction.base_of(t))

    def copied(self, copy, t):
        """`copy` holds the value of `t`, which is about to be overwritten: give it the tangents of `t`."""
        if self.outer is not None:
            self.outer.copied(copy, t)
        for direction in self.directions:
            value = direction.tangent(t)
            if value is not None:
                with self.aside():
                    direction.store(copy, value.clone(), None)

    def function(self, ctx, args, raw, outputs, dirty, constant=()):
        """After the forward of a custom Function, which returned `raw`: run its jvp."""
        if THREAD.state.inference:
            return
        if self.outer is not None:
            self.outer.function(ctx, args, raw, outputs, dirty, constant)
        moves = [
            direction.function(ctx, args, raw, outputs, dirty, constant) for direction in self.directions
        ]
        self._keep_results(ctx, moves)

    # -- computing with tangents ----------------------------------------------------------------------

    def _push(self, rule, inputs, outputs, args, grad):
        """For each direction the tangents of `outputs` (None for an output without one); or None if no input has a tangent.

        `grad`: whether to record them, if something they depend on is recorded.
        """
        moving = [direction.tangents(inputs) for direction in self.directions]
        if all(tangents is None for tangents in moving):
            return moving
        rule.refuse_jvp(args)
        with self.aside(grad=True):
            operation = _Operation(self, rule, inputs, outputs, args, grad)
            return [None if tangents is None else operation.push(tangents) for tangents in moving]

    @contextmanager
    def aside(self, grad=False, quiet=True):
        """Compute with tangents: the enclosing levels are told of the operations and, unless `quiet`, a recorder and hooks too."""
        state = THREAD.state
        before = state.grad, state.dual, state.watch, state.saved_hooks, state.creation_hooks, state.anomaly
        state.dual = self.outer
        if grad or self.linear:
            state.grad = True
        if quiet:
            state.watch, state.saved_hooks, state.creation_hooks, state.anomaly = None, [], [], False
        state.refresh()
        try:
            yield
        finally:
            state.grad, state.dual, state.watch, state.saved_hooks, state.creation_hooks, state.anomaly = (
                before
            )
            state.refresh()


def without_history(t):
    """The numbers of `t` without history, with its tangents."""
    out = alias(t)
    dual = THREAD.state.dual
    if dual is not None:
        dual.alike(out, t, without_history)
    return out


def _again(t):
    """A second tensor with the history and tangents of `t`: what is made from it does not keep `t` itself alive."""
    out = alias(t, edge_of(t))
    dual = THREAD.state.dual
    if dual is not None:
        dual.alike(out, t)
    return out


def _place(t):
    """The geometry of `t` in its memory, and the size of that memory."""
    data = t._data
    while isinstance(data.base, np.ndarray):
        data = data.base
    _, strides, offset = geometry(t)
    return [step for step, n in zip(strides, t._data.shape, strict=True) if n > 1], offset, data.size


def _laid_out_like(t, value):
    """A copy of the tangent `value` in the memory layout of `t`, so that whatever can be a view of `t` can be a view of it."""
    if shares_places(t):
        return value.clone()
    return value.new_empty_strided(t.shape, t.stride()).copy_(value)


class _Tangent:
    """The tangent of one tensor; for a view, also the base whose tangent to look in once the memory was written."""

    __slots__ = ("base", "owner", "value", "version")

    def __init__(self, owner, value, base, version):
        self.owner, self.value, self.base, self.version = owner, value, base, version


class Direction:
    """One direction of a level: a table of tangents."""

    def __init__(self, level):
        self.level = level
        self.entries = {}

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
        with self.level.aside(grad=True):
            _, part = copied(whole, *place_in(base, t))
        self.store(t, part, base)
        return part

    def give(self, t, value):
        """Set the tangent of `t`. Raises RuntimeError if it does not fit."""
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
        if _place(value) != _place(t):
            value = _laid_out_like(t, value)  # otherwise a write to `t` would write to it too
        self.store(t, value, None)

    def store(self, t, value, base):
        """Store the tangent of `t`, or None for no tangent."""
        key = id(t)
        entries = self.entries
        entry = entries.get(key)
        if entry is None:
            owner = weakref.ref(t, lambda _: entries.pop(key, None))
        else:
            owner = entry.owner
        entries[key] = _Tangent(owner, value, base, t._shared_box()[0])

    def kept(self, t):
        """A function that restores the current tangent of `t`: the same tensor, since others may share its memory."""
        entry = self.entries.get(id(t))
        value = None if entry is None else entry.value
        if value is not None:
            data, box = value._array(), value._shared_box()
            numbers, version = data.copy(), box[0]

        def put_back():
            if entry is None:
                self.entries.pop(id(t), None)
                return
            if value is not None:
                data[...] = numbers
                value._data, box[0] = data, version
            self.store(t, value, entry.base)

        return put_back

    def base_of(self, t):
        """The tensor whose tangent contains that of `t`, if `t` is a view of a dual number or of a plain tensor."""
        entry = self.entries.get(id(t))
        return entry.base if entry is not None else t._base

    # -- operations -----------------------------------------------------------------------------------

    def tangents(self, tensors):
        """The tangent of each tensor, or None if none has one."""
        found = [self.tangent(t) if isinstance(t, Variable) else None for t in tensors]
        return None if all(t is None for t in found) else found

    def passed(self, inputs, outputs, tangents):
        """After an operation: give its outputs their tangents, if an input had one."""
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
                    base = self.base_of(source)
                    base = source if base is None else base
                elif value._data.strides != out._data.strides:
                    with self.level.aside(grad=True):
                        value = _laid_out_like(out, value)
                self.store(out, value, base)

    def stopped(self, inputs):
        """The tangent of a value that a constant overwrites, if an input has one."""
        if inputs[0]._data.dtype.kind != "f" or not any(
            isinstance(t, Variable) and self.tangent(t) is not None for t in inputs
        ):
            return None
        return wrap(np.zeros(inputs[0]._data.shape, inputs[0]._data.dtype))

    def written(self, target, value):
        """After the write: `target` and its base have a new tangent.

        A write that is not recorded does not change the history of the tangent either, only its numbers.
        """
        old = self.entries.get(id(target))
        base = self.base_of(target)
        unrecorded = not (THREAD.state.grad or self.level.linear)
        with self.level.aside():
            if value._data.shape != target._data.shape or value._data.dtype != target._data.dtype:
                value = cast(value.expand(target.shape), target._data.dtype)
            if base is not None:
                before = known = self.tangent(base)
                if known is None:
                    before = wrap(np.zeros(base._data.shape, base._data.dtype))
                place = place_in(base, target)
                whole, part = copied(before, *place)
                last, newest = part, value
                for d, (n, step) in enumerate(zip(*place[2][:2], strict=True)):
                    if n > 1 and step == 0:  # of elements that share memory, the last one counts
                        last, newest = last.narrow(d, n - 1, 1), newest.narrow(d, n - 1, 1)
                put(last, newest)
                if known is not None and not whole.requires_grad:
                    whole = before.copy_(whole)
                    with self.level.aside(grad=True):
                        _, value = copied(whole, *place)
                self.store(base, whole, self.base_of(base))
            elif (
                old is not None
                and old.value is not None
                and (unrecorded or not (old.value.requires_grad or value.requires_grad))
            ):
                value = old.value.copy_(value)
        self.store(target, value, base)

    # -- custom functions -----------------------------------------------------------------------------

    def function(self, ctx, args, raw, outputs, dirty, constant=()):
        """Give the outputs of a custom Function the tangents from its jvp, and return these; None if no argument has one."""
        given = self.tangents(args)
        if given is None:
            return None
        for i, a in enumerate(args):
            if (
                given[i] is None
                and isinstance(a, Variable)
                and ctx._materialize
                and a._data.dtype.kind == "f"
            ):
                given[i] = wrap(np.zeros(a._data.shape, a._data.dtype))
        versions = [None if t is None else t._version for t in given]
        with self.level.aside(quiet=False):
            results = ctx.apply_jvp(*given)
        if not isinstance(results, tuple):
            results = (results,)
        for i, value in enumerate(results):
            if value is not None and not isinstance(value, Variable):
                raise RuntimeError(f"expected Variable or None (got {type_name(value)}) for grad output {i}.")
        if len(results) != len(outputs):
            raise RuntimeError(
                f"Function's jvp returned an invalid number of forward gradients (expected {len(outputs)} but got "
                f"{len(results)})"
            )
        for i, (own, out, value) in enumerate(zip(raw, outputs, results, strict=True)):
            if value is None:
                continue
            if (
                not isinstance(out, Variable)
                or out._data.dtype.kind != "f"
                or any(own is c for c in constant)
            ):
                raise RuntimeError(
                    f"Function's jvp returned a gradient at position {i}, but  the corresponding forward output is not a "
                    "differentiable Tensor.You should return None at that position instead."
                )
            place = next((k for k, a in enumerate(args) if a is own), None)
            if place is not None and any(own is t for t in dirty):
                self._rewritten(own, given[place], versions[place], value)
                if own._is_view():
                    self.written(own, value)
                continue
            if out._is_view() and not (value._is_view() or self._of_view(value, args, given)):
                raise RuntimeError(
                    "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
                )
            self.give(out, value)
            if out._is_view():
                base = self._same_view(out, value, args, given)
                self.store(out, self.entries[id(out)].value, base)
        return results

    def _of_view(self, value, args, given):
        """Whether `value` is the given tangent of a view: the same view of its base's tangent."""
        of = next((self.entries.get(id(a)) for a, t in zip(args, given, strict=True) if t is value), None)
        return of is not None and of.base is not None

    def _same_view(self, out, value, args, given):
        """The tensor whose tangent contains that of the view `out`, if one of `args` is it or a view of it.

        Raises RuntimeError if `value`, the tangent of the view, is not a view of the given tangent.
        """
        base = None
        for a, tangent in zip(args, given, strict=True):
            if not isinstance(a, Variable) or tangent is None:
                continue
            if out._base is not (a if a._base is None else a._base):
                continue
            base = self.base_of(a)
            base = a if base is None else base
            if value is not tangent and value._base is not (
                tangent if tangent._base is None else tangent._base
            ):
                same = (
                    "same base as the " if tangent._is_view() or self._of_view(tangent, args, given) else ""
                )
                raise RuntimeError(
                    f"A custom Function is returning a view but the jvp is not returning a view of the {same}given grad input."
                )
        return base

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
        self.store(out, value, self.base_of(out))


class _Operation:
    """Pushes tangents through one operation: J @ v, for one direction after the other."""

    def __init__(self, level, rule, inputs, outputs, args, grad):
        self.level, self.rule, self.args, self.grad = level, rule, args, grad
        self.inputs, self.outputs, self._constant = inputs, outputs, None
        # In an outer level these may have tangents with history, so they count as having history themselves.
        self.recorded = level.linear or (
            grad
            and (level.outer is not None or any(isinstance(t, Variable) and t.requires_grad for t in inputs))
        )
        self.vjps = {}  # by which operands have tangents

    def push(self, tangents):
        """The tangents of the outputs; None for an output without one."""
        if not self.outputs:  # x.unbind() along an empty dim
            return []
        recorded = self.recorded or (self.grad and any(t is not None and t.requires_grad for t in tangents))
        if not recorded:
            tangents = [None if t is None else without_history(t) for t in tangents]
        rule, (inputs, outputs) = self.rule, self._operands(recorded)
        if rule.tangent is not None:
            return [rule.tangent(inputs[0], tangents[0], *self.args)]
        if rule.linear(self.args):
            moved = [
                t
                if v is None and t._data.dtype.kind != "f"
                else wrap(np.zeros_like(t._data))
                if v is None
                else v
                for t, v in zip(inputs, tangents, strict=True)
            ]
            return [apply(rule, tuple(moved), *self.args)]
        if rule.elementwise:
            return [self._scaled(inputs, outputs[0], tangents)]
        which = tuple([v is not None for v in tangents])
        if which not in self.vjps:
            self.vjps[which] = _RecordedVJP(rule, inputs, outputs, self.args, which)
        results = self.vjps[which].product(tangents, recorded)
        return [self._own(value, out, tangents) for value, out in zip(results, self.outputs, strict=True)]

    def _operands(self, recorded):
        """The inputs and outputs, with their history if the tangents depend on it."""
        if recorded and self.grad and not self.level.linear:
            return self.inputs, self.outputs
        if self._constant is None:
            inputs, outputs = self.inputs, self.outputs
            if not (recorded and self.grad):
                inputs = [without_history(t) if isinstance(t, Variable) else t for t in inputs]
                outputs = [without_history(t) for t in outputs]
            if self.level.linear:  # differentiated later, when the operands may have been overwritten
                inputs = [t.clone() if isinstance(t, Variable) else t for t in inputs]
                outputs = [t.clone() for t in outputs]
            self._constant = inputs, outputs
        return self._constant

    def _scaled(self, inputs, out, tangents):
        """For an elementwise operation: J is diagonal, so the VJP is the JVP."""
        shape, dtype = out._data.shape, out._data.dtype
        if dtype.kind != "f":
            return None
        total = None
        for i, v in enumerate(tangents):
            if v is None:
                continue
            if i not in self.vjps:
                node = _node_of(self.rule, inputs, (out,), self.args, [k == i for k in range(len(inputs))])
                self.vjps[i] = node, _saved_by(node, (out,))
            node, saved = self.vjps[i]
            value = recorded_vjp(self.rule)(
                node, cast(v if v._data.shape == shape else v.expand(shape), dtype), *saved
            )
            value = value[i] if isinstance(value, tuple) else value
            if value is not None:
                total = value if total is None else total + value
        return wrap(np.zeros(shape, dtype)) if total is None else self._own(total, self.outputs[0], tangents)

    def _own(self, value, out, tangents):
        """A tangent for `out` that may be written to: a copy if it is an incoming tangent or a part of one."""
        if value is None or out._is_view():  # a write to a view writes to its base's tangent
            return value
        if value.requires_grad:
            return value.clone() if value._is_view() or any(value is t for t in tangents) else value
        return wrap(np.array(value._data)) if self.level.outer is None else value.clone()


def _node_of(rule, inputs, outputs, args, which):
    """A node of the operation that computes gradients for the operands that have tangents."""
    count = len(inputs) if rule.operands is None else rule.operands
    edges = tuple([_SINK if moves else NO_EDGE for moves in which[:count]])
    return node_for(rule, edges, tuple(inputs), tuple(outputs), args)


def _saved_by(node, outputs):
    """What `node` saved; results come with their history and their tangents in outer levels."""
    saved = []
    for i, t in enumerate(node.saved):
        nr = node.result_number(i) if isinstance(t, Variable) else None
        saved.append(t if nr is None else _again(outputs[nr]))
    return saved


_SINK = new(Node)
_SINK._next = _SINK.args = _SINK.saved = ()
_SINK.broadcast = _SINK.hooks = _SINK.versions = None
_SINK.priority = 0
"""Where the gradients of a vjp would go that is only differentiated. It has no creation number: importing this page makes no node."""


class _Slot(Node):
    """The leaf u of a recorded u @ J: what a pass sends here is J @ v."""

    __slots__ = ()


class _RecordedVJP:
    """The recorded u @ J of one operation. Its own VJP, for any u, is J @ v.

    `which` says for each operand whether it has a tangent: for the others nothing is computed.
    """

    def __init__(self, rule, inputs, outputs, args, which):
        node = _node_of(rule, inputs, outputs, args, which)
        self._outputs = [(y._data.shape, y._data.dtype) for y in outputs]
        # An output without elements may mean that no gradient is wanted, unless the inputs are empty too.
        empty = any(0 in x._data.shape for x, moves in zip(inputs, which, strict=True) if moves)
        self._slots = [
            make_node(_Slot, ()) if dtype.kind == "f" and (0 not in shape or rule.plain or empty) else None
            for shape, dtype in self._outputs
        ]
        us = [
            None if slot is None else wrap(np.zeros(*kind), slot)
            for slot, kind in zip(self._slots, self._outputs, strict=True)
        ]
        sent = recorded_vjp(rule)(node, us[0] if rule.plain else us, *_saved_by(node, outputs))
        self._roots = []
        for i, (x, g) in enumerate(zip(inputs, sent if isinstance(sent, tuple) else (sent,), strict=False)):
            if which[i] and g is not None:
                if g._data.shape != x._data.shape:
                    g = sum_to(g, x._data.shape)
                g = cast(g, x._data.dtype)
                if g.requires_grad:
                    self._roots.append((*pair_of(edge_of(g)), i, g._data.dtype))
        self._plan()

    def _plan(self):
        """Order the nodes between the roots and the slots, each with its receivers: only these run, nothing older."""
        start = max([slot.priority for slot in self._slots if slot is not None], default=0)
        users, stack = {}, []

        def met(node, user):
            if node not in users:
                users[node] = []
                stack.append(node)
            if user is not None:
                users[node].append(user)

        for root, *_ in self._roots:
            met(root, None)
        while stack:
            node = stack.pop()
            for fn, _ in node.next_functions:
                if fn is not None and type(fn).kind != "accumulate" and fn.priority <= start:
                    met(fn, node)
        awaits, stack = {}, [slot for slot in self._slots if slot in users]
        while stack:
            node = stack.pop()
            if node not in awaits:
                awaits[node] = len(users[node])
                stack += users[node]
        self._order, ready = [], [node for node, count in awaits.items() if not count]
        while ready:
            node = ready.pop()
            to = [(k, fn, nr) for k, (fn, nr) in enumerate(node.next_functions) if fn in awaits]
            self._order.append((node, to))
            for _, fn, _ in to:
                awaits[fn] -= 1
                if not awaits[fn]:
                    ready.append(fn)

    def product(self, tangents, recorded):
        """J @ v for each output; None for integer outputs."""
        state = THREAD.state
        before, state.grad = state.grad, recorded
        arrived = {}
        try:
            for node, nr, i, dtype in self._roots:
                _add(arrived, node, nr, cast(tangents[i], dtype))
            for node, to in self._order:
                if to and node in arrived:
                    sent = _run(node, arrived.pop(node))
                    for k, fn, nr in to:
                        if sent[k] is not None:
                            _add(arrived, fn, nr, sent[k])
        finally:
            state.grad = before
        results = []
        for slot, (shape, dtype) in zip(self._slots, self._outputs, strict=True):
            value = arrived[slot][0] if slot in arrived else None
            results.append(wrap(np.zeros(shape, dtype)) if value is None and dtype.kind == "f" else value)
        return results


def _add(arrived, node, nr, g):
    """Add the gradient `g` to an output of `node`."""
    slots = arrived.get(node)
    if slots is None:
        slots = arrived[node] = [None] * (1 if node.plain else node.n_outputs)
    slots[nr] = g if slots[nr] is None else slots[nr] + g


def _run(node, slots):
    """Run `node`; returns what it sends on."""
    from .metadata import unbroadcast

    rule = type(node)
    sent = in_formula(
        rule, recorded_vjp(rule), node, slots[0] if node.plain else slots, *rule.unpack(node, True)
    )
    sent = sent if isinstance(sent, tuple) else (sent,)
    return sent if node.broadcast is None else unbroadcast(node, sent)


__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]
