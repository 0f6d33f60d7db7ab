"""A captured graph, ready to be called, and the node that a call records: CompiledFunctionBackward."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Protocol

import numpy as np

from ..torchlike.autograd.errors import FREED_TEXT, overwritten_text
from ..torchlike.autograd.function import BackwardCFunction, Function
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import AccumulateGrad, count_down, new
from ..torchlike.autograd.record import finish
from ..torchlike.autograd.variable import NO_EDGE, Variable, find_edge, wrap
from . import guards
from .effects import Effects, with_effects
from .emit import Emitted
from .graph import Graph

_KEPT = ("kept",)
"""Not empty, so that the engine frees the node after a pass; what is freed is in `kept`."""


class CompiledFunctionBackward(BackwardCFunction):
    """The node of a compiled graph: like that of a custom Function whose backward the compiler wrote.

    entry    the captured graph
    kept     the arrays that its backward takes, in order; None once freed
    watched  (tensor, version) for those in the caller's memory, which must not be written until then
    results  the same for results, as aliases without history
    """

    __slots__ = ("entry", "kept", "results", "watched")
    __setattr__ = object.__setattr__
    _compiled = True

    @property
    def saved_tensors(self) -> Any:
        """What is saved for the backward pass. Raises RuntimeError if it was freed, or overwritten since."""
        return tuple(wrap(x) for x in self._arrays())

    def unpack(self, tensors) -> list:
        """Nothing: `vjp` reads `kept` itself."""
        return []

    def release(self):
        """Free what is kept."""
        self.kept = self.watched = self.results = None

    def _arrays(self) -> Any:
        kept = self.kept
        if kept is None:
            raise RuntimeError(FREED_TEXT)
        for t, version in self.watched:
            box = t._box
            if box is not None and box[0] != version:
                raise RuntimeError(self._overwritten())
        for t, _ in self.results:
            if t._box[0]:
                raise RuntimeError(self._overwritten())
        return kept

    def _overwritten(self) -> str:
        """The error of the plain backward: it names the first overwritten tensor in the order in which that backward reads them."""
        found = {
            i: overwritten_text(t, None, None, version)
            for i, (t, version) in zip(self.entry.kept_inputs, self.watched, strict=True)
            if t._box is not None and t._box[0] != version
        }
        found.update(
            (self.entry.n_inputs + nr, overwritten_text(t, self, nr, 0))
            for t, nr in self.results
            if t._box[0]
        )
        return found[min(found, key=lambda place: self.entry.looks.get(place, math.inf))]

    def vjp(self, g):
        """Run the compiled backward; under create_graph the gradients get a node that raises when differentiated."""
        entry = self.entry
        if self.plain and not isinstance(g, Variable):  # the usual case: one gradient, and no history wanted
            return THREAD.state.run(entry.backward.function, *self._arrays(), g)
        slots = (g,) if self.plain else g
        given = []
        recorded = False
        for i in entry.differentiable:
            one = slots[i]
            if one is None:
                value = entry.joint.outputs[i]
                one = np.zeros(value.shape, value.dtype)[()]
            elif isinstance(one, Variable):
                recorded = True
                one = one._data
            given.append(one)
        arrays = THREAD.state.run(entry.backward.function, *self._arrays(), *given)
        return self._with_history(arrays, slots) if recorded else arrays

    def _with_history(self, arrays, slots):
        made = [None if x is None else wrap(x) for x in arrays]
        roots = [*slots, *[t for t, _ in self.watched]]
        roots = [t for t in roots if isinstance(t, Variable) and t.requires_grad]
        if not THREAD.state.grad or not roots:
            return tuple(made)
        there = [t for t in made if t is not None]
        recorded = iter(CompiledFunctionBackwardFn.apply(len(there), *there, *roots))
        return tuple([None if t is None else next(recorded) for t in made])


class CompiledFunctionBackwardOfOne(CompiledFunctionBackward):
    """The same with one output, for which the engine has a faster path."""

    __slots__ = ()
    plain = True

    def whole_pass(self, g, keep_graph):
        """Send `g` straight to the leaves if this node and plain leaves are the whole graph; returns whether it did."""
        state = THREAD.state
        leaves = [fn for fn in self._next if fn is not NO_EDGE]
        if state.special or self.hooks is not None or len(set(leaves)) < len(leaves):
            return False
        for leaf in leaves:
            if type(leaf) is not AccumulateGrad or leaf.hooks is not None:
                return False
        recording, state.grad = state.grad, False
        try:
            grads = self.vjp(g)
            if not keep_graph:
                self.release()
            for fn, grad in zip(self._next, grads, strict=True):
                if fn is not NO_EDGE:
                    state.run(fn.vjp, grad)
        finally:
            state.grad = recording
        return True


class UsedUp(CompiledFunctionBackwardOfOne):
    """The node of a result from which a backward pass was run inside the compiled function: its graph is used up.

    leaves  the indices of the call's inputs to which it led
    """

    __slots__ = ("leaves",)
    broadcast = versions = kept = watched = results = None  # type: ignore[assignment]
    args, saved, n_outputs = (), _KEPT, 1  # type: ignore[assignment]

    @property
    def _next(self):  # type: ignore[override]
        edges = [NO_EDGE] * self.entry.n_inputs
        for i, t in zip(self.entry.leaves, self.leaves, strict=True):
            edges[i] = t._edge or find_edge(t)
        return tuple(edges)

    def vjp(self, g):
        """Always raises: the graph was freed."""
        raise RuntimeError(FREED_TEXT)


for _cls in (CompiledFunctionBackward, CompiledFunctionBackwardOfOne, UsedUp):
    _cls.__name__ = _cls.__qualname__ = "CompiledFunctionBackward"


class CompiledFunctionBackwardFn(Function):
    """The node of gradients of a compiled function under create_graph: they cannot be differentiated again."""

    @staticmethod
    def forward(ctx, n, *tensors):
        """Returns the first n tensors; the others are what they depend on."""
        return tuple(t.clone() for t in tensors[:n])

    @staticmethod
    def backward(ctx, *grads):
        """Raises PyTorch's error."""
        raise RuntimeError("torch.compile with aot_autograd does not currently support double backward")


CompiledFunctionBackwardFn._backward_cls.__name__ = "CompiledFunctionBackwardBackward"


def caller(entry: Entry) -> Callable[[tuple], Any]:
    """A function that runs a captured graph on tensors that pass its guards, and returns the output tensors.

    With effects, it returns (output tensors, arrays for the effects).
    Everything that is the same for each call is looked up here, once. The function may raise NotAsCaptured.
    """
    forward, rule, effects = entry.forward.function, entry.rule, bool(entry.effects)
    n, end = entry.n_outputs - entry.effects.outputs, entry.n_outputs
    kept_inputs, kept_outputs = _picker(entry.kept_inputs), entry.kept_outputs
    kept_results = _picker([*entry.kept_outputs, *range(entry.n_outputs, len(entry.forward_graph.outputs))])
    kept_outputs = [i for i in kept_outputs if i < n]
    differentiable = frozenset(entry.differentiable)
    has_backward = entry.backward is not None
    spent, leaves = entry.effects.spent, _picker(entry.leaves)

    def call(tensors: tuple) -> Any:
        state = THREAD.state
        arrays = [t._data for t in tensors]
        results = state.run(forward, *arrays)
        if has_backward:
            node = new(rule)
            node._next = tuple([t._edge or find_edge(t) for t in tensors])
            node.priority = count_down()
            node.hooks = node.broadcast = node.versions = None
            node.args = ()
            node.saved = _KEPT
            node.n_outputs = n
            node.entry = entry
            node.watched = [(t, 0 if t._box is None else t._box[0]) for t in kept_inputs(tensors)]
            node.results = ()
            node.kept = kept_inputs(arrays) + kept_results(results)
            if n == 1:
                outputs = [wrap(results[0], node)]
            else:
                outputs = [
                    wrap(x, (node, i) if i in differentiable else NO_EDGE) for i, x in enumerate(results[:n])
                ]
            if kept_outputs:
                node.results = [
                    (wrap(results[i], NO_EDGE, outputs[i]._shared_box()), i) for i in kept_outputs
                ]
        else:
            node = None
            outputs = [wrap(x) for x in results[:n]]
            for i in spent:
                node = outputs[i]._edge = used_up(entry, leaves(tensors))
        if state.special:
            finish(state, "CompiledFunction", tensors, tuple(outputs), node, ())
        return (outputs, results[n:end]) if effects else outputs

    return call


def used_up(entry: Entry, leaves: tuple) -> UsedUp:
    """The node of a result from which a backward pass was run inside."""
    node = new(UsedUp)
    node.leaves = leaves
    node.priority = count_down()
    node.hooks, node.entry = None, entry
    return node


def _picker(places: list[int]) -> Callable[[Any], tuple]:
    """A function that returns the elements of a sequence at `places`, as a tuple."""
    if len(places) > 1:
        return itemgetter(*places)
    if places:
        only = places[0]
        return lambda sequence: (sequence[only],)
    return lambda sequence: ()


@dataclass
class Entry:
    """One captured graph with its guards and code."""

    world: guards.World
    check: Callable[..., Any]
    guard_source: str
    joint: Graph
    forward_graph: Graph
    backward_graph: Graph | None
    forward: Emitted
    backward: Emitted | None
    rebuild: Callable[[list[Any]], Any]
    """From the output tensors to what the function returns."""
    n_outputs: int
    differentiable: list[int]
    """The outputs that receive a gradient."""
    constant_outputs: list[int]
    kept_inputs: list[int]
    kept_outputs: list[int]
    """What the backward takes first: these inputs, then these outputs, then the extra values that the forward returns."""
    gives: list[int]
    """The inputs that get a gradient; for the others, the backward returns None."""
    n_inputs: int
    history: list[tuple[str, Graph]] = field(default_factory=list)
    """The joint graph after each pass."""
    seconds: float = 0.0
    effects: Effects = field(default_factory=Effects)
    """The side effects of a call."""
    looks: dict[int, int] = field(default_factory=dict)
    """When the plain backward reads a saved input or output (outputs follow inputs)."""

    def __post_init__(self) -> None:
        self.leaves = [i for i, (_, t) in enumerate(self.world.tensors) if t.requires_grad]
        one = self.n_outputs - self.effects.outputs == 1
        self.rule = CompiledFunctionBackwardOfOne if one else CompiledFunctionBackward
        self.call = caller(self)
        if self.effects:
            self.call = with_effects(self.call, self.effects)


class Captured(Protocol):
    """A compiled function as the code that reads its graph sees it, such as compiled.Compiled."""

    __name__: str
    fn: Callable[..., Any]
    _names: list[str]
    """The names of the positional parameters."""
    _passes: bool
    """Whether the graph was optimized."""

    @property
    def entry(self) -> Entry:
        """The newest graph. Raises RuntimeError if there is none yet."""


__all__ = ["Captured", "CompiledFunctionBackward", "Entry", "UsedUp"]
