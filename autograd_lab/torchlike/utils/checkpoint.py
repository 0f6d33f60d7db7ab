"""Checkpointing: drop what a part of the forward pass saved, and recompute it when backward needs it (torch.utils.checkpoint).

The non-reentrant variant uses saved-tensor hooks. In the forward pass each tensor to be saved is replaced by an empty Holder. When backward
unpacks the first of them, the function runs again under other hooks, which fill the holders that are still needed, in the same order, and
stop the run as soon as the last one is full. Nested checkpoints need nothing more: the inner inputs are saved tensors of the outer
checkpoint, which therefore runs first.

The older variant (use_reentrant=True) is a custom Function whose backward runs its own backward pass.
"""

import contextlib
import itertools
import warnings
import weakref

from ..autograd import backward
from ..autograd.function import Function, Kept
from ..autograd.graph import node_creation_hook, saved_tensors_hooks
from ..autograd.modes import THREAD, WATCHERS, enable_grad, no_grad, watcher
from ..autograd.variable import Variable
from ..random import get_rng_state, set_rng_state


def noop_context_fn():
    """Two contexts that do nothing: for the forward run and for the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def checkpoint(
    function, *args, use_reentrant=None, context_fn=noop_context_fn, determinism_check="default", debug=False,
    early_stop=True, **kwargs,
):  # fmt: skip
    """Call function(*args, **kwargs) and keep only the arguments; backward recomputes what it needs.

    use_reentrant       False is recommended; True is the older variant, for backward() only; the default is True, with a warning
    preserve_rng_state  whether the second run draws the same random numbers (default True)
    context_fn          returns two context managers, for the first and the second run
    determinism_check   "default" compares shapes and dtypes of the tensors saved in both runs, "none" does not
    debug               whether a mismatch lists the operations of both runs
    early_stop          whether the second run ends once it has what is needed

    Raises CheckpointError (from backward) if the two runs differ in what they save.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch 2.9, calling "
            "checkpoint without use_reentrant will raise an exception. use_reentrant=False is recommended, but if you need to "
            "preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
            "differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    logs = None
    if _debug if _debug is not None else debug:
        if context_fn is not noop_context_fn:
            raise ValueError("debug=True is incompatible with non-default context_fn")
        logs = _Log(), _Log()
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    first_context, second_context = logs or context_fn()
    random_state = get_rng_state() if preserve else None

    def again(*args):
        with _same_random_numbers(random_state), second_context:
            function(*args, **kwargs)

    if not THREAD.state.grad:
        return function(*args, **kwargs)
    early = _early_stop if _early_stop is not None else early_stop
    frame = _Frame(again, args, early, _CHECKS[determinism_check], logs)
    done = False
    with _first_run(frame), first_context:
        result = function(*args, **kwargs)
        done = True
    if not done:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
            "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    frame.first_run_done = True
    return result


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """Call `functions` (a list, or a Sequential) one after the other in `segments` pieces, all but the last checkpointed."""
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. In version "
            "2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is recommended, but if you "
            "need to preserve the current default behavior, you can pass use_reentrant=True. Refer to docs for more details "
            "on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def piece(start, stop):
        def run(x):
            for fn in functions[start:stop]:
                x = fn(x)
            return x

        return run

    size = len(functions) // segments
    stop = 0
    for start in range(0, size * (segments - 1), size):
        stop = start + size
        input = checkpoint(
            piece(start, stop), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return piece(stop, len(functions))(input)


class CheckpointError(RuntimeError):
    """The second run of a checkpointed function saved different tensors than the first."""


# -- settings -----------------------------------------------------------------------------------------

_early_stop = None
_debug = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Context manager that overrides `early_stop` of checkpoints made inside."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Context manager that overrides `debug` of checkpoints made inside (None: no override)."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


# -- without reentry ----------------------------------------------------------------------------------


_elsewhere = itertools.count(-1, -1)  # ids for reads of saved values outside of any backward pass


class _Handle:
    """The key of one recomputed tensor; dropping it drops the tensor."""


class _Holder:
    """Replaces a saved tensor in the graph: its frame and, for each backward pass, the handle of its recomputed value."""

    def __init__(self, frame):
        self.frame = frame
        self.handles = {}


class _Frame:
    """One checkpointed call."""

    def __init__(self, again, args, early_stop, describe, logs):
        self.again, self.early_stop, self.describe, self.logs = again, early_stop, describe, logs
        # A saved tensor like any other: inside another checkpoint it is dropped too, and recomputed first.
        self.args = [Kept(None, a, None) if isinstance(a, Variable) else a for a in args]
        self.holders = []  # weak references: a holder whose node is gone needs no value
        self.descriptions = []
        self.recomputed = {}  # id of the backward pass -> {handle: tensor}, weak in the handles
        self.counts = {}
        self.ran = set()
        self.first_run_done = False
        self.ignore_mismatch = False

    def values(self, run):
        """The values recomputed for the backward pass `run`."""
        return self.recomputed.setdefault(run, weakref.WeakKeyDictionary())

    def recompute(self, run):
        """The second run."""
        args = [a.unpack(None) if isinstance(a, Kept) else a for a in self.args]
        with contextlib.suppress(_StopRecomputation), _second_run(self, run), enable_grad():
            self.again(*args)
        self.ran.add(run)
        self.compare(run)

    def compare(self, run):
        """Raise CheckpointError if the two runs saved different tensors."""
        if self.ignore_mismatch:
            return
        count = self.counts.get(run, 0)
        if len(self.holders) != count:
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\n"
                f"Number of tensors saved during recomputation: {count}.\n{_TIP}"
            )
        different = ""
        for i, ref in enumerate(self.holders):
            holder = ref()
            if holder is not None:
                now = self.describe(self.values(run)[holder.handles[run]])
                if now != self.descriptions[i]:
                    different += f"tensor at position {i}:\nsaved metadata: {self.descriptions[i]}\nrecomputed metadata: {now}\n"
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\n{different}.\n{_TIP}"
            )


class _StopRecomputation(Exception):  # noqa: N818 - it is no error
    """Raised when the second run has everything that is needed."""


def _first_run(frame):
    """The hooks of the first run: save a Holder instead of the tensor, and recompute on demand."""

    def pack(t):
        holder = _Holder(frame)
        frame.holders.append(weakref.ref(holder))
        frame.descriptions.append(frame.describe(t))
        return holder

    def unpack(holder):
        try:
            running = THREAD.state.running
            return _value(frame, holder, running.id if running is not None else next(_elsewhere))
        except CheckpointError as error:
            if frame.logs is None:
                raise
            raise CheckpointError(_report(*frame.logs)) from error

    return saved_tensors_hooks(pack, unpack)


def _value(frame, holder, run):
    if run not in frame.ran:
        frame.recompute(run)
    handle = holder.handles[run]
    if handle is None:
        raise CheckpointError(
            "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are "
            "calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an issue with "
            "details on your use case."
        )
    value = frame.values(run)[handle]
    holder.handles[run] = None
    return value


def _second_run(frame, run):
    """The hooks of the second run: fill the holders with what is saved."""

    def pack(t):
        t = t.detach() if t.requires_grad else t
        i = frame.counts[run] = frame.counts.get(run, 0) + 1
        if i > len(frame.holders):
            if not frame.first_run_done:
                # backward was called inside the function, and early stop is off
                frame.ignore_mismatch = True
                return t
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                f"pass.\n{_TIP}"
            )
        holder = frame.holders[i - 1]()
        if holder is not None:
            handle = holder.handles[run] = _Handle()
            frame.values(run)[handle] = t
            if WATCHERS:
                watcher().recomputed(holder, t)
        if frame.early_stop and i == len(frame.holders):
            raise _StopRecomputation
        return t

    return saved_tensors_hooks(pack, _as_recomputed)


def _as_recomputed(t):
    """The unpack hook of the second run, whose graph goes as soon as the run ends."""
    return t


_CHECKS = {
    "default": lambda t: {"shape": t.shape, "dtype": t.dtype, "device": t.device},
    "none": lambda t: None,
}

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint\N{NON-BREAKING HYPHEN}debug mode globally.
"""


class _Log:
    """A context manager that notes the nodes made inside, and where."""

    def __init__(self):
        self.lines, self.places = [], []
        self.hook = node_creation_hook(self.note)

    def note(self, node):
        import traceback

        shapes = ", ".join(
            "leaf" if fn is None or not fn.next_functions else type(fn).__name__
            for fn, _ in node.next_functions
        )
        self.lines.append(f"{type(node).__name__}({shapes})")
        self.places.append("".join(traceback.format_stack(limit=8)[:-3]))

    def __enter__(self):
        self.hook.__enter__()

    def __exit__(self, *exc):
        self.hook.__exit__()


def _report(first, second):
    def stacks(log, label):
        count = len(log.lines)
        return "".join(
            f"{line}   ({i} of {count} in {label})\n\n{place}\n"
            for i, (line, place) in enumerate(zip(log.lines, log.places, strict=True), 1)
        )

    return f""" \
An error happened while unpacking tensors; dumping logs of latest computation
because you passed `debug=True` to `torch.utils.checkpoint.checkpoint()`.
Scroll all the way down for guidance on how to navigate these logs.

1. Stack traces of the operators that ran in the original forward

{stacks(first, "original")}
2. Stack traces of the operators that ran during recomputation

{stacks(second, "recompute")}
3. Log of operators in the original forward and recomputation

Operations executed during the original forward:

{chr(10).join(first.lines)}

Operations executed during recomputation:

{chr(10).join(second.lines)}

 ERROR: Detected non-determinism while running activation checkpointing

 You are seeing this error because you passed `debug=True` to checkpoint and
 tensors to be saved during the original forward and differ between those saved
 during recomputation. This can happen if different operators were ran in the
 original forward and in the recomputation.
"""


# -- random numbers -----------------------------------------------------------------------------------


def get_device_states(*args):
    """The non-CPU devices of the tensors in `args` and the states of their generators: always empty."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    """Restore the result of `get_device_states`."""


@contextlib.contextmanager
def _same_random_numbers(state):
    """Inside, the default generator continues from `state`; afterwards its own state is restored."""
    if state is None:
        yield
        return
    before = get_rng_state()
    set_rng_state(state)
    try:
        yield
    finally:
        set_rng_state(before)


# -- the reentrant form -------------------------------------------------------------------------------


def detach_variable(inputs):
    """The tensors of a tuple as detached leaves, other values unchanged."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(
        [i.detach().requires_grad_(i.requires_grad) if isinstance(i, Variable) else i for i in inputs]
    )


def check_backward_validity(inputs):
    """Warn if no tensor among `inputs` requires a gradient."""
    if not any(i.requires_grad for i in inputs if isinstance(i, Variable)):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2)


class CheckpointFunction(Function):
    """Runs a function without recording; its backward runs it again with recording, then that graph backward."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = get_rng_state() if preserve_rng_state else None
        ctx.inputs = [None if isinstance(a, Variable) else a for a in args]
        ctx.tensor_indices = [i for i, a in enumerate(args) if isinstance(a, Variable)]
        ctx.save_for_backward(*[a for a in args if isinstance(a, Variable)])
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if THREAD.state.running is None or THREAD.state.running.needed is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` parameter "
                "to .backward(). To resolve this error, you can either set use_reentrant=False, or call .backward() without "
                "passing the `inputs` argument."
            )
        inputs = list(ctx.inputs)
        for i, t in zip(ctx.tensor_indices, ctx.saved_tensors, strict=True):
            inputs[i] = t
        detached = detach_variable(tuple(inputs))
        with _same_random_numbers(ctx.random_state), enable_grad():
            outputs = ctx.run_function(*detached)
        if isinstance(outputs, Variable):
            outputs = (outputs,)
        wanted = [
            (y, g) for y, g in zip(outputs, grads, strict=True) if isinstance(y, Variable) and y.requires_grad
        ]
        if not wanted:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        backward([y for y, _ in wanted], [g for _, g in wanted])
        return (None, None, *[i.grad if isinstance(i, Variable) else None for i in detached])


__all__ = [
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint", "checkpoint_sequential",
    "detach_variable", "get_device_states", "noop_context_fn", "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip
