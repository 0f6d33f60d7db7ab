"""PyTorch's switches beyond those of core/modes.py: inference mode, anomaly mode, hooks on saved tensors, and more."""

import contextvars
import functools
import inspect
import warnings

import numpy as np

from ...core import modes as core
from ...core.modes import THREAD, WATCHERS, watcher
from ...core.seams import CLASSES
from . import collector


class State(core.State):
    """The switches of one thread."""

    __slots__ = (
        "again",
        "anomaly",
        "asked",
        "calling",
        "check_nan",
        "creation_hooks",
        "dual",
        "in_creation_hook",
        "inference",
        "mutation",
        "quiet",
        "running",
        "saved_hooks",
        "saved_hooks_disabled",
        "transforms",
    )

    def __init__(self):
        super().__init__()
        self.asked = False  # what is_grad_enabled returns in inference mode, where nothing is recorded anyway
        self.inference = False
        self.calling = False  # whether the user calls a node: see Node.__call__
        self.saved_hooks = []  # pairs (pack, unpack), innermost last
        self.saved_hooks_disabled = []  # the messages of disable_saved_tensors_hooks
        self.creation_hooks = []
        self.in_creation_hook = False
        self.anomaly = False
        self.check_nan = True
        self.dual = None  # the open level of forward_ad
        self.again = False  # whether the current code will run again on the same graph, as under vmap: passes retain it
        self.running = None  # the running backward pass
        self.transforms = ()  # the transforms of torch.func that are running, outermost first
        self.mutation = (
            None  # the active allow_mutation_on_saved_tensors, which is told before memory is written
        )
        (self.quiet,) = self.run(
            contextvars.copy_context
        ).items()  # NumPy's context variable for warnings, and its value in `run`

    def refresh(self):
        """Recompute `special` after a change."""
        self.special = bool(
            self.saved_hooks
            or self.saved_hooks_disabled
            or self.creation_hooks
            or self.in_creation_hook
            or self.anomaly
            or self.inference
            or self.dual is not None
            or self.mutation is not None
            or self.watch is not None
        )

    def enabled(self):
        """Whether recording is switched on."""
        return self.asked if self.inference else self.grad

    def set_grad(self, on):
        """Switch recording on or off, telling the recorder if there is one."""
        if self.inference:
            self.asked = on
        else:
            super().set_grad(on)


CLASSES["State"] = State
THREAD.state = State()  # the core's State is not in use yet


def as_now():
    """A function that puts the switches of this thread, and who watches, back as they are now.

    For code that is stopped between any two instructions: its `finally` and `with` blocks may not have run to their ends.
    """
    state = THREAD.state
    switches = {name: getattr(state, name) for name in (*core.State.__slots__, *State.__slots__)}
    lists = [(held, list(held)) for held in (*switches.values(), WATCHERS) if type(held) is list]
    errors, collect_as_now = np.geterr(), collector.as_now()

    def put_back():
        for name, value in switches.items():
            setattr(state, name, value)
        for held, before in lists:
            held[:] = before
        np.seterr(**errors)
        collect_as_now()

    return put_back


def is_grad_enabled():
    """Whether operations are recorded in this thread (torch.is_grad_enabled)."""
    return THREAD.state.enabled()


def is_inference_mode_enabled():
    """Whether this thread is inside `inference_mode` (torch.is_inference_mode_enabled)."""
    return THREAD.state.inference


class _Switch:
    """A mode that works as `with mode():` and as `@mode()`, on functions and generators.

    A decorated generator has the mode only while it runs, not while its consumer does. A decorated coroutine never has it, as in PyTorch:
    calling it only creates the coroutine, which is awaited outside.
    """

    def clone(self):
        """A fresh switch of the same kind, for each call of a decorated function."""
        return type(self)()

    def __call__(self, function):
        if inspect.isclass(function):
            warnings.warn(
                "Decorating classes is deprecated and will be disabled in future versions. You should only decorate functions "
                "or methods. To preserve the current behavior of class decoration, you can directly decorate the `__init__` "
                "method and nothing else.",
                FutureWarning,
                stacklevel=2,
            )
            made = function
            function = functools.wraps(made)(lambda *args, **kwargs: made(*args, **kwargs))
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self.clone():
                return function(*args, **kwargs)

        return call

    def _wrap_generator(self, function):
        @functools.wraps(function)
        def generate(*args, **kwargs):
            generator = function(*args, **kwargs)
            try:
                with self.clone():
                    item = next(generator)
                while True:
                    try:
                        sent = yield item
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        with self.clone():
                            item = generator.throw(error)
                    else:
                        with self.clone():
                            item = generator.send(sent)
            except StopIteration as stop:
                return stop.value

        return generate


class _NoArgSwitch(_Switch):
    """Adds the bare form: `@no_grad` without parentheses."""

    on = _before = True

    def __new__(cls, orig_func=None):
        switch = object.__new__(cls)
        return switch if orig_func is None else switch(orig_func)

    def __enter__(self):
        state = THREAD.state
        self._before = state.enabled()
        if state.special:
            state.set_grad(self.on)
        else:
            state.grad = self.on

    def __exit__(self, *exc):
        state = THREAD.state
        if state.special:
            state.set_grad(self._before)
        else:
            state.grad = self._before


class no_grad(_NoArgSwitch):  # noqa: N801 - PyTorch's name
    """Record nothing inside: results are constants (torch.no_grad). A context manager and a decorator."""

    on = False


class enable_grad(_NoArgSwitch):  # noqa: N801 - PyTorch's name
    """Record again, inside a `no_grad` (torch.enable_grad). A context manager and a decorator."""


class set_grad_enabled(_Switch):  # noqa: N801 - PyTorch's name
    """Switch recording to `mode` at once; as a context manager, restore the former mode on leaving.

    As a decorator it restores the mode at definition and applies itself during each call (torch.set_grad_enabled).
    """

    def __init__(self, mode):
        if not isinstance(mode, (bool, np.bool_)):
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        state = THREAD.state
        self.prev = self._before = state.enabled()
        self.mode = bool(mode)
        state.set_grad(self.mode)

    def clone(self):
        return set_grad_enabled(self.mode)

    def __call__(self, function):
        THREAD.state.set_grad(self._before)
        return super().__call__(function)

    def __enter__(self):
        THREAD.state.set_grad(self.mode)

    def __exit__(self, *exc):
        THREAD.state.set_grad(self._before)

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__


class set_multithreading_enabled:  # noqa: N801 - PyTorch's name
    """Has no effect: here a backward pass runs in one thread (torch.autograd.set_multithreading_enabled)."""

    def __init__(self, mode):
        self.mode = bool(mode)

    def __enter__(self):
        pass

    def __exit__(self, *exc):
        pass


class inference_mode(_Switch):  # noqa: N801 - PyTorch's name
    """Like `no_grad`; tensors made inside have no version counter and may never enter a graph (torch.inference_mode)."""

    def __new__(cls, mode=True):
        switch = object.__new__(cls)
        if callable(mode):
            switch.__init__()
            return switch(mode)
        return switch

    def __init__(self, mode=True):
        self.mode = bool(mode)
        self._before = False, True

    def clone(self):
        return inference_mode(self.mode)

    def __enter__(self):
        state = THREAD.state
        self._before = state.inference, state.enabled()
        self._switch(state, self.mode, not self.mode)

    def _switch(self, state, inference, grad):
        state.inference = False
        state.set_grad(grad and not inference)
        state.inference, state.asked = inference, grad
        state.refresh()

    def __exit__(self, *exc):
        self._switch(THREAD.state, *self._before)


__all__ = [
    "THREAD", "WATCHERS", "State", "enable_grad", "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "no_grad",
    "set_grad_enabled", "set_multithreading_enabled", "watcher",
]  # fmt: skip
