"""torch.compile: captures a function once, and from then on runs the generated code.

    f = torch.compile(fn)
    y = f(x)               # the first call runs fn, watches it, and builds a graph
    y = f(x2)              # later calls check the guards and run two NumPy functions, forward and backward
    y.grad_fn              # <CompiledFunctionBackward>: one node for all of it

Where capture is impossible, the function runs as it would without `compile`, and `f.breaks` says why.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import math
import random
import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from threading import get_ident
from time import perf_counter
from typing import Any

import numpy as np

from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.variable import INFERENCE, Registry, Variable
from ..torchlike.autograd.views import DEFAULT as DEFAULT_VIEW
from ..torchlike.autograd.views import NO_GRAD as NO_GRAD_VIEW
from ..torchlike.autograd.views import as_strided_node, make_view
from ..torchlike.layout import order_of, ordered
from ..torchlike.random import DEFAULT
from . import guards, passes
from .capture import RANDOM, Break, Tape, alike, history, hooks_on, placement, users_line, users_own
from .effects import Effects, Rewind, grad_of, set_grads, writes_into
from .emit import Writer
from .entry import Entry
from .export import save
from .graph import Graph, NotAsCaptured, Step, Value, placed
from .inside import CallWatcher
from .joint import UnsupportedError, _same_tapes, backward_of
from .module import OptimizedModule
from .partition import RECOMPUTE_FROM, split

LIMIT = 8
"""How many graphs one function may have before it runs uncompiled (PyTorch's recompile limit)."""


STAGES = (*[title for title, _ in passes.PASSES], "compute again", "fuse", "write over")
"""What happens to a captured graph, in this order: the passes, rematerialization, fusion, reuse of buffers."""


_CAPTURING = threading.RLock()
_BORROWING: list[int] = []
"""The thread whose second run gives tensors other numbers; see `_second_run`."""

PATIENCE = 10.0
"""Seconds that a thread waits for another one that captures: this one may wait for the first, where the captured function uses threads."""


@contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Capture inside: a capture borrows the tensors, Tensor itself and `print`, which no other capture may have borrowed."""
    alone = _CAPTURING.acquire(timeout=PATIENCE)
    try:
        yield
    finally:
        if alone:
            _CAPTURING.release()


class GraphBreakError(RuntimeError):
    """Raised under `fullgraph=True` for a function that is not one graph."""


class Compiled:
    """A function that captures itself: what `torch.compile` returns."""

    def __init__(
        self,
        fn: Callable[..., Any],
        *,
        fullgraph: bool = False,
        passes: bool = True,
        without: Iterable[str] = (),
    ) -> None:
        """`passes`: whether to optimize the graph at all; `without`: names of STAGES to leave out, to see what each one gains."""
        functools.update_wrapper(self, fn, updated=())
        self.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.fn = fn
        self.fullgraph = fullgraph
        self.entries: list[Entry] = []
        self.breaks: list[Break] = []
        """Why calls ran uncompiled, with the lines."""
        self.misses: list[str] = []
        """For each capture after the first, the guard that had failed."""
        self._eager = False
        self._passes = passes
        self._without = frozenset(without)
        unknown = self._without - set(STAGES)
        if unknown:
            raise ValueError(f"no such pass: {', '.join(sorted(unknown))}; there are {', '.join(STAGES)}")
        call = fn.forward if hasattr(fn, "_parameters") else fn
        try:
            self._names = [
                p.name
                for p in inspect.signature(call).parameters.values()
                if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
            ]
        except (TypeError, ValueError):
            self._names = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the graph whose guards hold; capture one if there is none."""
        if _BORROWING and _BORROWING[-1] != get_ident():
            with _one_at_a_time():
                pass  # the numbers are those of the program again
        known = len(self.entries)
        for entry in self.entries:
            tensors = entry.check(args, kwargs, self.fn)
            if tensors is not None:
                state = THREAD.state
                if state.special and (
                    state.dual is not None
                    or state.saved_hooks
                    or state.saved_hooks_disabled
                    or (state.anomaly and entry.effects.passes)
                ):
                    return self.fn(*args, **kwargs)  # anomaly mode and hooks need to see the inside
                try:
                    return entry.rebuild(entry.call(tensors))
                except NotAsCaptured:
                    return self.fn(*args, **kwargs)
        if self._eager:
            return self.fn(*args, **kwargs)
        with _one_at_a_time():
            if self._eager or len(self.entries) > known:  # another thread was faster
                return self(*args, **kwargs)
            return self._capture(args, kwargs)

    # -- what there is to read -------------------------------------------------------------------------

    @property
    def entry(self) -> Entry:
        """The newest graph. Raises RuntimeError if there is none yet."""
        if not self.entries:
            why = f": {self.breaks[-1]}" if self.breaks else "; call the function first"
            raise RuntimeError(f"{self.__name__} has no graph{why}")
        return self.entries[-1]

    @property
    def graph(self) -> Graph:
        """The joint forward and backward graph, after the passes."""
        return self.entry.joint

    @property
    def forward_source(self) -> str:
        """The NumPy source of the forward."""
        return self.entry.forward.source

    @property
    def backward_source(self) -> str:
        """The NumPy source of the backward."""
        backward = self.entry.backward
        return backward.source if backward is not None else ""

    @property
    def guard_source(self) -> str:
        """The guards of the newest graph as Python source."""
        return self.entry.guard_source

    def save(self, path: Any) -> None:
        """Write the newest graph as JSON, for `compiler.load` (see export.py)."""
        save(self, path)

    def to_onnx(self, path: Any) -> None:
        """Write the forward of the newest graph as an ONNX model (see onnx.py); needs the package onnx."""
        from .onnx import save_onnx  # most programs never need it

        save_onnx(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy captures again: graphs belong to the objects that they were captured with."""
        made = functools.partial(
            type(self), fullgraph=self.fullgraph, passes=self._passes, without=sorted(self._without)
        )
        return made, (self.fn,)

    def __repr__(self) -> str:
        state = f"{len(self.entries)} graphs" if len(self.entries) != 1 else "1 graph"
        return f"<compiled {self.__name__}: {state}{', runs as it is' if self._eager else ''}>"

    # -- capturing -------------------------------------------------------------------------------------

    def _capture(self, args: tuple, kwargs: dict) -> Any:
        start = perf_counter()
        if self.entries:
            worlds = [entry.world for entry in reversed(self.entries)]
            self.misses.append(guards.nearest_miss(worlds, args, kwargs, self.fn))
            if len(self.entries) >= LIMIT:
                self._give_up(
                    Break(f"captured {LIMIT} times already; the last guard to fail was: {self.misses[-1]}")
                )
                return self.fn(*args, **kwargs)
        try:
            world = guards.world_of(self.fn, args, kwargs, self._names)
        except guards.UnguardedError as problem:
            self._give_up(Break(str(problem)))
            return self.fn(*args, **kwargs)
        left_out = self._without if self._passes else frozenset(STAGES)
        watch = THREAD.state.watch
        rewind = Rewind(watch if watch is not None and watch.rewinds else None)
        result, found = capture(self.fn, args, kwargs, world, left_out, rewind)
        if isinstance(found, Break):
            self._give_up(found)
            return result
        found.seconds = perf_counter() - start
        self.entries.append(found)
        tensors = found.check(args, kwargs, self.fn)
        state = THREAD.state
        if tensors is None or state.dual is not None or state.saved_hooks or state.saved_hooks_disabled:
            return result
        rewind.back()
        try:
            return found.rebuild(found.call(tensors))  # as later calls do, and PyTorch
        except NotAsCaptured:
            rewind.forth()
            return result

    def _give_up(self, why: Break) -> None:
        self.breaks.append(why)
        if self.fullgraph:
            raise GraphBreakError(
                f"{self.__name__} is not one graph: {why}. What to do: take that out of the function, or leave out fullgraph=True."
            )
        if not self._eager:
            warnings.warn(f"{self.__name__} runs as it is, uncompiled: {why}", stacklevel=4)
        self._eager = True


def capture(
    fn: Callable[..., Any],
    args: tuple,
    kwargs: dict,
    world: guards.World,
    left_out: frozenset[str] = frozenset(),
    rewind: Rewind | None = None,
) -> tuple[Any, Entry | Break]:
    """Run `fn` once and make a graph of it. Returns (its result, the graph or the reason why there is none).

    The result is always that of the ordinary run, so that nothing happens twice if the function stays uncompiled.
    `rewind` undoes the run if the graph then runs in its place.
    """
    rewind = rewind or Rewind()
    inputs = [
        Value(np.shape(t._data), np.asarray(t._data).dtype, f"x{i}") for i, (_, t) in enumerate(world.tensors)
    ]
    tensors = [t for _, t in world.tensors]
    names = {id(t): v for t, v in zip(tensors, inputs, strict=True)}
    heard: list[Break] = []
    drawn = _drawn(world)
    writable = writable_of(world)
    hooks = [hooks_on(t) for t in tensors]
    grads = [(t, grad_of(t)) for t in tensors]
    watcher = CallWatcher(names, tensors, writable, rewind.recorder)
    with _listening(heard, watcher), watcher:
        result = fn(*args, **kwargs)
    tape = watcher.tape
    written = list(tape.written.values())
    rewind.ran(written)
    if tape.breaks or heard:
        return result, (tape.breaks or heard)[0]
    if _drawn(world) != drawn:
        return result, Break(RANDOM, tape.drawn_at)
    if not all(world.snapshot(args, kwargs, fn)):
        i = world.snapshot(args, kwargs, fn).index(False)
        return result, Break(
            f"the call changes something outside itself: no longer true that {world.conditions[i].says}"
        )
    if not world.same_tensors(args, kwargs, fn):
        return result, Break("the call puts another tensor where there was one")
    if tape.foreign:
        return result, Break("it uses a tensor that requires a gradient and that no guard can find")
    inside = [history(t) for t in tape.keep if id(t) not in names]
    if [hooks_on(t) for t in tensors] != hooks or any(
        getattr(node, "hooks", None) is not None for node in [*tape.nodes.values(), *inside]
    ):
        return result, Break("it registers hooks")
    outs, rebuild = _flatten(result)
    if rebuild is None:
        return result, Break("it returns something that is neither a tensor nor a constant nor made of these")
    if not THREAD.state.grad and any(t.requires_grad for t in outs):
        return result, Break("called without recording, it switches recording on for a result")
    if any(t.requires_grad and not any(t is root for root in tape.roots) for t in outs):
        if tape.roots or tape.grads:
            return result, Break(
                "it runs a backward pass, and returns something whose history is still to be used"
            )
        if any(w.tensor.requires_grad for w in written):
            return result, Break("it writes into a leaf, and returns something with a history")
    collected = [grad for grad in tape.left.values() if grad is not None]
    if any(
        (t is not u and np.may_share_memory(t._data, u._data)) or t is u
        for i, t in enumerate(collected)
        for u in [*outs, *collected[:i]]
    ):
        return result, Break("a .grad shares its memory with a result, or with another .grad")
    grown = _grown_from(outs, tape, watcher)
    problem = _aliases(outs, tensors, tape, grown is not None)
    if problem is not None:
        return result, problem
    again = _second_run(fn, args, kwargs, names, world, grads)
    if isinstance(again, Break):
        return result, again
    second, others = again
    if any(a is b for (_, a), (_, b) in zip(tape.strangers, second.strangers, strict=False)):
        return result, Break("it uses a tensor that was there before the call and that no guard can find")
    if not _same_tapes(tape, second) or not _same_effects(tape, second):
        return result, Break(
            "on other numbers it does something else: a step takes a number that was computed beside the operations"
        )
    outputs: list[Value] = []
    for t in outs:
        if tape.value_of(t) is None:
            return result, Break("a result was not computed by operations")
        outputs.append(watcher.value(t))  # type: ignore[arg-type]
    if len(outputs) != len(others) or not all(map(_same_constant, outputs, others)):
        return result, Break("on other numbers it does something else: it returns something else")
    if grown is not None:
        outs, plan = grown
        outputs = [watcher.value(t) for t in outs]  # type: ignore[misc]
        rebuild = _regrown(outs, plan, rebuild)
    try:
        place = {id(t): i for i, t in enumerate(tensors)}
        effects = Effects([(place[id(w.tensor)], w.counted) for w in written], tape.draws)
        outputs += [tape.values[id(w.tensor)] for w in written]
        for i, t in enumerate(tensors):
            if id(t) in tape.grads:
                grad = tape.left[id(t)]
                if grad is not None:
                    outputs.append(watcher.value(grad))  # type: ignore[arg-type]
                if grad is not None or id(t) not in tape.empty:
                    effects.grads.append((i, None if grad is None else writes_into(grad)))
        effects.spent = [i for i, t in enumerate(outs) if any(t is root for root in tape.roots)]
        effects.passes = bool(tape.roots)
        world.conditions += guards.gradients(world, tape.grads, tape.empty)
        effects.views = grown is not None
        if tape.draws:  # random numbers are drawn in the order in which an array lies in memory
            world.conditions += guards.layouts(world)
        entry = build(tape, inputs, outputs, outs, tensors, world, rebuild, left_out, effects)
    except UnsupportedError as error:
        return result, Break(str(error), error.line)
    return result, entry


def build(
    tape: Tape, inputs: list[Value], outputs: list[Value], outs: list[Any], tensors: list[Any],
    world: guards.World, rebuild: Callable[..., Any], left_out: frozenset[str], effects: Effects,
) -> Entry:  # fmt: skip
    """From a tape to an entry: joint graph, passes, split, code. `outputs` are the `outs`, then what is written back."""
    differentiable = [i for i, t in enumerate(outs) if t.requires_grad and i not in effects.spent]
    wanted = (
        [i for i, t in enumerate(tensors) if t.requires_grad] if THREAD.state.grad and differentiable else []
    )
    given, back, grads = backward_of(tape, [outputs[i] for i in differentiable], [inputs[i] for i in wanted])
    looks = _looks(tape, [*inputs, *outputs])
    for i, _ in effects.writes:
        inputs[i].written = True
    for step in tape.steps:
        if step.how in ("view", "views") and any(v.written for v in step.values()):
            for out in step.outs:
                out.written = True
    joint = Graph([*inputs, *given], [*tape.steps, *back], [*outputs, *grads])
    history = [("captured", joint)]
    for title, change in passes.PASSES:
        if title not in left_out:
            joint = change(joint)
            history.append((title, joint))
    joint = passes.separate(joint, len(inputs), len(outputs)).named()
    forward_graph, backward_graph, kept = split(
        joint,
        len(inputs),
        len(outputs),
        recompute_from=math.inf if "compute again" in left_out else RECOMPUTE_FROM,
    )
    outputs = joint.outputs[: len(outputs)]  # type: ignore[assignment]
    kept_inputs = [i for i, v in enumerate(inputs) if v in kept]
    kept_outputs = [i for i, v in enumerate(outputs) if v in kept and v not in inputs]
    rest = [v for v in kept if v not in inputs and v not in outputs]
    order = [*[inputs[i] for i in kept_inputs], *[outputs[i] for i in kept_outputs], *rest]
    forward_graph = Graph(forward_graph.inputs, forward_graph.steps, [*outputs, *rest])
    backward_graph = Graph(
        [*order, *given], backward_graph.steps, _one_per_input(wanted, backward_graph.outputs, len(inputs))
    )
    gives = [i for i, g in enumerate(backward_graph.outputs) if g is not None]
    if "fuse" not in left_out:
        forward_graph, backward_graph = passes.fuse(forward_graph), passes.fuse(backward_graph)
        history.append(("fuse: forward", forward_graph))
        history.append(("fuse: backward", backward_graph))
    into = {} if wanted else effects.replaced(len(outputs), tensors)
    writer = Writer(forward_graph, "forward", inplace="write over" not in left_out, into=into)
    forward = writer.emitted()
    effects.direct = frozenset(into[k] for k in writer.direct)
    way_back = bool(wanted)  # even if no gradient depends on anything: the results still require a gradient
    backward = (
        Writer(backward_graph, "backward", inplace="write over" not in left_out).emitted()
        if way_back
        else None
    )
    check, source = guards.guard_function(world)
    return Entry(
        world, check, source, joint, forward_graph, backward_graph if way_back else None, forward, backward, rebuild,
        len(outputs), differentiable, [i for i in range(len(outputs)) if i not in differentiable],
        kept_inputs, kept_outputs, gives, len(inputs), history, effects=effects, looks=looks,
    )  # fmt: skip


def _looks(tape: Tape, ends: list[Value]) -> dict[int, int]:
    """{index in `ends`: when the backward of the tape first reads that value, or a view of it}."""
    root: dict[Value | None, Value | None] = {}
    for step in tape.steps:
        if step.how in ("view", "views"):
            root.update(dict.fromkeys(step.outs, root.get(step.inputs[0], step.inputs[0])))
    place: dict[Value | None, int] = {}
    for i, end in enumerate(ends):
        place.setdefault(end, i)
    found: dict[int, int] = {}
    for when, value in enumerate(tape.saved):
        for looked in (value, root.get(value)):
            if looked in place:
                found.setdefault(place[looked], when)
    return found


def writable_of(world: guards.World) -> list[Any]:
    """The tensors that a call may write: buffers of modules and tensors in the function's closure and globals, but not its arguments."""
    return [t for i, (path, t) in enumerate(world.tensors) if i >= world.explicit or "._buffers[" in path]


def _one_per_input(wanted: list[int], grads: list[Value | None], n: int) -> list[Value | None]:
    """The gradients by input, None for every input that needs none."""
    found: list[Value | None] = [None] * n
    for i, g in zip(wanted, grads, strict=True):
        found[i] = g
    return found


def _same_constant(one: Value, other: Value | None) -> bool:
    if other is None or one.constant != other.constant:
        return False
    return not one.constant or alike(one.array, other.array)


def _same_effects(one: Tape, other: Tape) -> bool:
    """Whether two runs wrote the same tensors equally often, with results of the same steps."""

    def told(tape: Tape) -> list[tuple[int, int, int]]:
        place = {v: i for i, v in enumerate(v for step in tape.steps for v in step.outs)}
        return [
            (i, w.counted, place.get(tape.values[i], -1))  # type: ignore[call-overload]
            for i, w in tape.written.items()
        ]

    return told(one) == told(other) and _gradients(one) == _gradients(other)


def _gradients(tape: Tape) -> list[Any]:
    """The tensors whose `.grad` a run has set, whether it was None before, and its value at the end."""
    place = {v: i for i, v in enumerate(v for step in tape.steps for v in step.outs)}
    return [
        (i, i in tape.empty, None if grad is None else place.get(tape.values[id(grad)]))
        for i, grad in tape.left.items()
    ]


def _second_run(
    fn: Callable[..., Any],
    args: tuple,
    kwargs: dict,
    names: dict[int, Value],
    world: guards.World,
    grads: list[tuple[Any, Any]],
) -> tuple[Tape, list[Any]] | Break:
    """(tape, results) of the same function on other numbers: the tensors keep their identity and borrow other memory meanwhile.

    `grads` are their gradients before the first run.
    First on numbers of the opposite sign; if the function raises, it runs again on the same numbers in another order.
    """
    tensors = [t for _, t in world.tensors]
    left = [(t, grad_of(t)) for t in tensors]
    before = [(t._data, t._box, None if t._box is None else t._box[0]) for t in tensors]
    generators = [(g, g.rng, g.rng.bit_generator.state, g._seed) for g in (DEFAULT, *world.generators)]
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - what is drawn now is drawn for nobody
    found: Break = Break("")
    for other in (_turned, _stirred):
        rng = np.random.default_rng(1)
        _BORROWING.append(get_ident())
        try:
            for t, (data, _, _) in zip(tensors, before, strict=True):
                t._data = other(data, rng)
            set_grads(grads)
            watcher = CallWatcher(names, tensors, writable_of(world))
            with _listening([], watcher), watcher:
                result = fn(*args, **kwargs)
        except Exception as error:
            found = Break(f"on other numbers it raises {type(error).__name__}: {error}")
        else:
            tape = watcher.tape
            values = [None if tape.value_of(t) is None else watcher.value(t) for t in _flatten(result)[0]]
            return watcher.tape.breaks[0] if watcher.tape.breaks else (watcher.tape, values)
        finally:
            for t, (data, box, version) in zip(tensors, before, strict=True):
                t._data, t._box = data, box
                if box is not None and box is not INFERENCE:
                    box[0] = version
            set_grads(left)
            for g, numpys, state, seed in generators:
                g.rng, g._seed = numpys, seed
                g.rng.bit_generator.state = state
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002 - the same
            _BORROWING.pop()
    return found


def _drawn(world: guards.World) -> Any:
    """The states of the random generators that a function can reach."""
    numpy = np.random.get_state(legacy=False)["state"]  # noqa: NPY002 - what the function may draw from
    return (
        random.getstate(),
        [(k, np.array(v).tolist()) for k, v in numpy.items()],
        [g.rng.bit_generator.state for g in world.generators if g is not DEFAULT],
    )


def _turned(data: Any, rng: np.random.Generator) -> Any:
    """Floats permuted, negated and perturbed, some of them zero; other integers from the same range."""
    array = np.asarray(data)
    if array.dtype.kind == "f":
        moved = np.where(rng.random(array.shape) < 0.2, 0, -np.asarray(_stirred(data, rng)))
    elif array.dtype.kind == "b":
        moved = rng.random(array.shape) < 0.5
    elif array.size:
        low, high = int(array.min()), int(array.max())
        moved = rng.integers(min(low, 0) if low < 0 else 0, max(high, 1), array.shape, endpoint=True)
    else:
        moved = array
    return _laid_as(data, moved)


def _laid_as(data: Any, moved: Any) -> Any:
    """The numbers `moved` in the type and the memory layout of `data`, an array or a scalar."""
    if not isinstance(data, np.ndarray):
        return np.asarray(moved).astype(data.dtype)[()]
    extent = sum((n - 1) * s for n, s in zip(data.shape, data.strides, strict=True)) if data.size else 0
    memory = np.empty(extent // data.itemsize + 1, data.dtype)
    out = np.lib.stride_tricks.as_strided(memory, data.shape, data.strides)
    out[...] = moved
    return out


def _stirred(data: Any, rng: np.random.Generator) -> Any:
    """The same numbers in another order; floats are also perturbed."""
    array = np.asarray(data)
    moved = rng.permutation(array.reshape(-1)).reshape(array.shape)
    if np.array_equal(moved, array):
        moved = moved[::-1] if array.ndim else moved
    if array.dtype.kind == "f":
        moved = moved * (1 + 0.01 * rng.standard_normal(array.shape)) + 1e-3 * (moved == 0)
    return _laid_as(data, moved)


STATE_OF_A_TENSOR = (
    "grad", "grad_fn", "is_leaf", "output_nr", "retains_grad", "_version", "_base", "is_contiguous", "stride", "storage_offset",
    "data_ptr", "is_inference", "_is_view", "untyped_storage", "is_set_to",
)  # fmt: skip
"""Attributes of a tensor that are neither its numbers nor guarded: a program that reads them may behave differently next time."""


class _listening:  # noqa: N801 - reads as a statement
    """Notes calls of print, and lines of user code that read a tensor's history or its address in memory."""

    def __init__(self, heard: list[Break], watcher: CallWatcher) -> None:
        self.heard = heard
        self._watcher = watcher

    def __enter__(self) -> None:
        self._print = builtins.print
        self._thread = THREAD.state

        def print(*args: Any, **kwargs: Any) -> None:
            if THREAD.state is self._thread:
                self.heard.append(Break("print() would be silent from the second call on", users_line()))
            self._print(*args, **kwargs)

        builtins.print = print
        cls = Registry.tensor
        self._attributes = {name: vars(cls)[name] for name in STATE_OF_A_TENSOR if name in vars(cls)}
        for name, attribute in self._attributes.items():
            setattr(cls, name, self._noting(name, attribute))

    def _noting(self, name: str, attribute: Any) -> property:
        def ask(t: Any) -> Any:
            known = name == "grad" and self._watcher.knows_grad(t)
            if THREAD.state is self._thread and users_own(sys._getframe(1)) and not known:
                self.heard.append(
                    Break(f"it asks a tensor for {name}, which no guard compares", users_line())
                )
            return attribute.__get__(t, type(t))

        if isinstance(attribute, property):
            return property(ask, attribute.fset, attribute.fdel, attribute.__doc__)
        return property(ask)

    def __exit__(self, *exc: object) -> None:
        builtins.print = self._print
        for name, attribute in self._attributes.items():
            setattr(Registry.tensor, name, attribute)


def _flatten(result: Any) -> tuple[list[Any], Any]:
    """(the tensors in a result, a function that replaces them by others), or ([], None)."""
    found: list[Any] = []

    def plan(x: Any) -> Any:
        if isinstance(x, Variable):
            for i, known in enumerate(found):
                if known is x:
                    return lambda ts: ts[i]
            found.append(x)
            n = len(found) - 1
            return lambda ts: ts[n]
        if isinstance(x, guards.CONSTANTS):
            return lambda ts: x
        if type(x) in (tuple, list) or (isinstance(x, tuple) and hasattr(type(x), "_make")):
            parts, kind = [plan(y) for y in x], getattr(type(x), "_make", type(x))
            return None if None in parts else lambda ts: kind([p(ts) for p in parts])
        if type(x) is dict:
            items = {k: plan(y) for k, y in x.items()}
            return None if None in items.values() else lambda ts: {k: p(ts) for k, p in items.items()}
        return None

    made = plan(result)
    if isinstance(result, Variable):
        return found, lambda ts: ts[0]
    return found, made


def _grown_from(
    outs: list[Any], tape: Tape, watcher: CallWatcher
) -> tuple[list[Any], list[tuple[int, Any]]] | None:
    """How results share memory: (the tensors that the graph returns, and for each result (which of them, the view of it)).

    The graph returns the base of a family even if that is not a result, and its views are taken after the call, so a write into one shows
    in the others, as without compiling. None if no two results share memory, or if this is impossible.
    """
    shared = [any(t is not u and np.may_share_memory(t._data, u._data) for u in outs) for t in outs]
    if not any(shared):
        return None
    creation = DEFAULT_VIEW if THREAD.state.grad else NO_GRAD_VIEW
    given: list[Any] = []
    plan: list[tuple[int, Any]] = []
    for t, with_others in zip(outs, shared, strict=True):
        base = watcher._base_of(t) if with_others else t
        kind = None
        if base is not t:
            kind = placement(base._data, t._data, Step("view", "", []))
            if (
                kind is None
                or kind[0] not in ("same", "reshape", "transpose", "slice")
                or t._meta.creation is not creation
                or id(base) in watcher._inputs
                or tape.value_of(base) is None
            ):
                return None
        elif with_others and id(t) in watcher._aliased:
            return None
        place = next((i for i, known in enumerate(given) if known is base), len(given))
        if place == len(given):
            given.append(base)
        plan.append((place, kind))
    if any(np.may_share_memory(t._data, u._data) for i, t in enumerate(given) for u in given[:i]):
        return None
    return given, plan


def _regrown(
    given: list[Any], plan: list[tuple[int, Any]], rebuild: Callable[..., Any]
) -> Callable[[list[Any]], Any]:
    """`rebuild` for results some of which are views of what the graph returns (`given` at the capture)."""
    orders = {place: order_of(given[place]._array()) for place, kind in plan if kind is not None}

    def again(outputs: list[Any]) -> Any:
        for place, order in orders.items():
            base = outputs[place]
            if order_of(base._array()) != order:  # otherwise a reshape of it would be a copy
                base._data = ordered(base._array(), order)
        results = []
        for place, kind in plan:
            t = base = outputs[place]
            if kind is not None:
                how, what = kind
                if how == "slice":
                    what = (*what, ...)  # a single element stays a view
                t = make_view(base, placed(how, what)(base._array()))
                if THREAD.state.grad and base.requires_grad:
                    t._meta.edge = as_strided_node(t, base)
            results.append(t)
        return rebuild(results)

    return again


def _aliases(outs: list[Any], tensors: list[Any], tape: Tape, grown: bool) -> Break | None:
    """Why results cannot get separate memory, with the line that made the result in question."""
    for i, t in enumerate(outs):
        value = tape.value_of(t)
        line = value.step.line if value is not None and value.step is not None else ""
        for other in tensors:
            if t is other or np.may_share_memory(t._data, other._data):
                text = "it returns an argument, or a view of one: that must stay the caller's own memory"
                return Break(text, line)
        for other in outs[:i]:
            if not grown and np.may_share_memory(t._data, other._data):
                return Break("two results share their memory: return a clone() of one", line)
    return None


def compile(
    model: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool | None = None,
    backend: str = "numpy", mode: str | None = None, options: dict | None = None, disable: bool = False,
) -> Any:  # fmt: skip
    """Compile a function or module: it is captured at the first call and runs generated NumPy from then on (torch.compile).

    fullgraph   raise GraphBreakError if the function is not one graph, instead of running it uncompiled
    disable     return the function unchanged
    backend, mode, options, dynamic are accepted for compatibility; there is one backend, and shapes are always guarded.

    A capture runs the function a second time, on other numbers in the same tensors. Compiled functions in other threads wait for its end;
    what uses these tensors there without being compiled does not, and must wait by itself.
    """
    if model is None:
        return functools.partial(compile, fullgraph=fullgraph, dynamic=dynamic, disable=disable)
    if disable:
        return model
    if not callable(model):
        raise TypeError(f"torch.compile takes a function or a module, not a {type(model).__name__}")
    compiled = Compiled(model, fullgraph=fullgraph)
    return OptimizedModule(compiled) if hasattr(model, "_parameters") else compiled


__all__ = ["Compiled", "GraphBreakError", "compile"]
