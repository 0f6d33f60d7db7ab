"""Guards: what a captured graph takes for granted, as one Python function that checks it before each call.

A capture saw one run: these shapes, these number types, this value of `scale`, this side of the `if`. So it holds for calls
in which all that is the same. The walk below finds what the function can reach (its arguments, its closure, the globals it
names, the attributes of modules), and for each thing one condition: a tensor's shape, type and whether it requires grad, a
constant's value, an object's identity.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..autograd.modes import THREAD
from ..autograd.variable import NO_EDGE, Variable

CONSTANTS = (int, float, complex, str, bytes, bool, type(None), type(...))
MOST = 3000
"""The most things that one function may reach."""
LIBRARY = __name__.split(".")[0]


class UnguardedError(Exception):
    """Something that the function can reach and that no condition describes."""


@dataclass
class Condition:
    """One thing that must be as it was."""

    text: str
    """A Python expression over `args`, `kwargs`, `fn` and what `space` holds."""
    says: str
    """What it means: "the shape of x is (2, 3)"."""


@dataclass
class World:
    """What a function can reach: the tensors, with the expressions that find them again, and the conditions."""

    conditions: list[Condition] = field(default_factory=list)
    tensors: list[tuple[str, Any]] = field(default_factory=list)
    """(expression, tensor), each tensor once: arguments first."""
    explicit: int = 0
    """How many of these are arguments."""
    space: dict[str, Any] = field(default_factory=dict)

    def bind(self, thing: Any) -> str:
        """A name for `thing` in the guard's own namespace."""
        for name, known in self.space.items():
            if known is thing:
                return name
        name = f"_{len(self.space)}"
        self.space[name] = thing
        return name

    def snapshot(self, args: tuple, kwargs: dict, fn: Any) -> list[bool]:
        """Which conditions hold now."""
        return [
            bool(eval(c.text, {**self.space, "args": args, "kwargs": kwargs, "fn": fn}))
            for c in self.conditions
        ]


class _Walk:
    def __init__(self) -> None:
        self.world = World()
        self.paths: dict[int, str] = {}  # id -> the expression under which it was found first
        self.keep: list[Any] = []

    def visit(self, thing: Any, path: str, name: str) -> None:
        """Note the conditions of `thing`, which `path` leads to and which people call `name`."""
        world = self.world
        if isinstance(thing, CONSTANTS):
            self._constant(thing, path, name)
            return
        if len(world.conditions) > MOST:
            raise UnguardedError(f"the function can reach more than {MOST:,} things")
        if id(thing) in self.paths:
            if self.paths[id(thing)] != path:
                self._is(thing, path, name)
            return
        self.paths[id(thing)] = path
        self.keep.append(thing)
        if isinstance(thing, Variable):
            self._tensor(thing, path, name)
        elif isinstance(thing, tuple | list):
            self._type(thing, path, name)
            self._say(f"len({path}) == {len(thing)}", f"{name} has {len(thing)} elements")
            for i, item in enumerate(thing):
                self.visit(item, f"{path}[{i}]", f"{name}[{i}]")
        elif isinstance(thing, dict):
            self._dict(thing, path, name)
        elif isinstance(thing, types.FunctionType):
            self._is(thing, path, name)
            self._function(thing, path, name)
        elif isinstance(thing, types.MethodType):
            self.visit(thing.__func__, f"{path}.__func__", name)
            self.visit(thing.__self__, f"{path}.__self__", f"{name}'s object")
        elif _fixed(thing):
            self._is(thing, path, name)
        elif isinstance(thing, np.ndarray | np.generic):
            raise UnguardedError(
                f"{name} is a NumPy array: its numbers may change without a sign; make it a tensor"
            )
        elif hasattr(thing, "__dict__"):
            self._is(thing, path, name)
            self._object(thing, path, name)
        else:
            self._is(thing, path, name)

    def _say(self, text: str, says: str) -> None:
        self.world.conditions.append(Condition(text, says))

    def _is(self, thing: Any, path: str, name: str) -> None:
        self._say(f"{path} is {self.world.bind(thing)}", f"{name} is the same {type(thing).__name__}")

    def _type(self, thing: Any, path: str, name: str) -> None:
        kind = self.world.bind(type(thing))
        self._say(f"{path}.__class__ is {kind}", f"{name} is a {type(thing).__name__}")

    def _constant(self, thing: Any, path: str, name: str) -> None:
        if thing is None or isinstance(thing, bool) or thing is ...:
            self._say(
                f"{path} is {thing!r}" if thing is not ... else f"{path} is ...", f"{name} is {thing!r}"
            )
        elif thing != thing:
            self._is(thing, path, name)
        else:
            kind = self.world.bind(type(thing))
            value = (
                repr(thing)
                if type(thing) in (int, float, str)
                and np.all(np.isfinite(thing) if not isinstance(thing, str) else True)
                else self.world.bind(thing)
            )
            self._say(f"{path} == {value} and {path}.__class__ is {kind}", f"{name} is {thing!r}")

    def _tensor(self, t: Any, path: str, name: str) -> None:
        data = t._data
        kind = self.world.bind(type(t))
        dtype = self.world.bind(np.asarray(data).dtype)
        self._say(f"{path}.__class__ is {kind}", f"{name} is a {type(t).__name__}")
        self._say(f"{path}._data.shape == {np.shape(data)}", f"the shape of {name} is {list(np.shape(data))}")
        self._say(f"{path}._data.dtype == {dtype}", f"{name} is {np.asarray(data).dtype.name}")
        if np.ndim(data) == 0:
            array = self.world.bind(np.ndarray)
            inner = "is" if isinstance(data, np.ndarray) else "is not"
            self._say(f"{path}._data.__class__ {inner} {array}", f"{name} is kept as it was")
        none = self.world.bind(NO_EDGE)
        if t.requires_grad:
            self._say(
                f"{path}._edge is not {none} and ({path}._edge is not None or {path}._meta.base is None or {path}.requires_grad)",
                f"{name} requires grad",
            )
        else:
            self._say(
                f"({path}._edge is {none} or not {path}.requires_grad)", f"{name} does not require grad"
            )
        self.world.tensors.append((path, t))

    def _dict(self, thing: dict, path: str, name: str) -> None:
        self._type(thing, path, name)
        if not all(isinstance(key, CONSTANTS) for key in thing):
            raise UnguardedError(f"{name} is a dict whose keys are no constants")
        keys = self.world.bind(tuple(thing))
        self._say(f"tuple({path}) == {keys}", f"the keys of {name} are {', '.join(map(repr, thing))}")
        for key, item in thing.items():
            self.visit(item, f"{path}[{key!r}]", f"{name}[{key!r}]")

    def _object(self, thing: Any, path: str, name: str) -> None:
        module = hasattr(thing, "_parameters") and hasattr(thing, "_modules")
        for key, item in vars(thing).items():
            if module and key in ("_parameters", "_buffers", "_modules"):
                if not item:
                    self._say(f"not {path}.{key}", f"{name} has no {key[1:]}")
                else:
                    self._dict(item, f"{path}.{key}", name)
            elif module and "hook" in key:
                if item:
                    raise UnguardedError(f"{name} has hooks")
                self._say(f"not {path}.{key}", f"{name} has no hooks")
            else:
                self.visit(item, f"{path}.__dict__[{key!r}]", f"{name}.{key}")
        method = getattr(type(thing), "forward", None) if module else vars(type(thing)).get("__call__")
        if isinstance(method, types.FunctionType) and not _ours(method.__module__):
            self._function(method, self.world.bind(method), f"{type(thing).__name__}.{method.__name__}")

    def _function(self, fn: types.FunctionType, path: str, name: str) -> None:
        if _ours(fn.__module__):
            return
        for i, cell in enumerate(fn.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            self.visit(content, f"{path}.__closure__[{i}].cell_contents", fn.__code__.co_freevars[i])
        if fn.__defaults__:
            self.visit(fn.__defaults__, f"{path}.__defaults__", f"{name}'s defaults")
        for key in _names(fn.__code__):
            if key in fn.__globals__:
                self.visit(fn.__globals__[key], f"{path}.__globals__[{key!r}]", key)


def _names(code: types.CodeType) -> list[str]:
    """The global names and attributes that a function's code, and the functions defined in it, speak of."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(_names(constant)))
    return list(found)


def _ours(module: str | None) -> bool:
    return (module or "").split(".")[0] in (LIBRARY, "numpy", "builtins")


def _fixed(thing: Any) -> bool:
    """Things that stay what they are: modules, classes, built-in functions, number types."""
    return (
        isinstance(thing, types.ModuleType | type | types.BuiltinFunctionType | np.ufunc | np.dtype)
        or (type(thing).__module__.split(".")[0] == LIBRARY and not hasattr(thing, "_parameters"))
        or (callable(thing) and _ours(getattr(thing, "__module__", "")) and not hasattr(thing, "_parameters"))
    )


def world_of(fn: Any, args: tuple, kwargs: dict, names: list[str]) -> World:
    """All that a call `fn(*args, **kwargs)` can reach. Raises UnguardedError."""
    walk = _Walk()
    for i, arg in enumerate(args):
        walk.visit(arg, f"args[{i}]", names[i] if i < len(names) else f"argument {i + 1}")
    for key, arg in kwargs.items():
        walk.visit(arg, f"kwargs[{key!r}]", key)
    walk.world.explicit = len(walk.world.tensors)
    walk.world.conditions.insert(
        0, Condition(f"len(args) == {len(args)}", f"{len(args)} positional arguments")
    )
    walk.world.conditions.insert(
        1,
        Condition(
            f"tuple(kwargs) == {tuple(kwargs)!r}" if kwargs else "not kwargs", "the same keyword arguments"
        ),
    )
    if isinstance(fn, types.FunctionType):
        walk._function(fn, "fn", getattr(fn, "__name__", "fn"))
    else:
        walk.visit(fn, "fn", getattr(fn, "__name__", type(fn).__name__))
    state = THREAD.state
    walk.world.space["_state"] = THREAD
    walk.world.conditions.append(
        Condition(f"_state.state.grad is {state.grad}", f"grad mode is {'on' if state.grad else 'off'}")
    )
    return walk.world


def guard_function(world: World) -> tuple[Callable[..., Any], str]:
    """(check, source): `check(args, kwargs, fn)` gives the tensors if all conditions hold, else None."""
    tests = "\n        and ".join(condition.text for condition in world.conditions)
    tensors = ", ".join(path for path, _ in world.tensors)
    source = (
        "def check(args, kwargs, fn):\n"
        "    try:\n"
        f"        if not (\n            {tests}\n        ):\n"
        "            return None\n"
        f"        return ({tensors}{',' if len(world.tensors) == 1 else ''})\n"
        "    except (AttributeError, KeyError, IndexError, TypeError, ValueError):\n"
        "        return None\n"
    )
    space = dict(world.space)
    exec(compile(source, "<guards>", "exec"), space)
    return space["check"], source


def first_broken(world: World, args: tuple, kwargs: dict, fn: Any) -> str:
    """Which condition does not hold for a call, in words."""
    for condition in world.conditions:
        try:
            holds = eval(condition.text, {**world.space, "args": args, "kwargs": kwargs, "fn": fn})
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            holds = False
        if not holds:
            return condition.says
    return ""
