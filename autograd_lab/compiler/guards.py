"""Guards: the assumptions of a captured graph, as one Python function that checks them before each call.

A capture saw one run: these shapes, these number types, this value of `scale`, this side of the `if`. So it is valid for calls in which all
of these are the same. The walk below visits everything the function can reach (its arguments, its closure, the globals it names, the
attributes of modules), and makes one condition for each: a tensor's shape, type and whether it requires a gradient, a constant's value, an
object's identity.
"""

from __future__ import annotations

import dis
import functools
import math
import re
import sys
import types
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.node import AccumulateGrad
from ..torchlike.autograd.variable import NO_EDGE, Variable
from ..torchlike.dtypes import Defaults
from ..torchlike.random import Generator

CONSTANTS = (int, float, complex, str, bytes, bool, type(None), type(...))
MOST = 3000
"""The maximum number of objects that one function may reach."""
LIBRARY = __name__.split(".")[0]


class UnguardedError(Exception):
    """The function can reach something that no condition describes."""


@dataclass
class Condition:
    """One thing that must not have changed."""

    text: str
    """A Python expression over `args`, `kwargs`, `fn` and the names in `space`."""
    says: str
    """What it means: "the shape of x is (2, 3)"."""


@dataclass
class World:
    """What a function can reach: the tensors, with the expressions that lead to them, and the conditions."""

    conditions: list[Condition] = field(default_factory=list)
    tensors: list[tuple[str, Any]] = field(default_factory=list)
    """(expression, tensor), each tensor once: arguments first."""
    explicit: int = 0
    """How many of them are arguments."""
    space: dict[str, Any] = field(default_factory=dict)
    generators: list[Any] = field(default_factory=list)
    """The generators of random numbers that the function can reach."""

    names: dict[int, str] = field(default_factory=dict)
    """The names in `space`, by the id of what they stand for."""

    def bind(self, thing: Any) -> str:
        """A name for `thing` in the guard's own namespace."""
        name = self.names.setdefault(id(thing), f"_{len(self.space)}")
        self.space[name] = thing
        return name

    def snapshot(self, args: tuple, kwargs: dict, fn: Any) -> list[bool]:
        """Which conditions hold now."""
        space = {**self.space, "args": args, "kwargs": kwargs, "fn": fn}
        return [bool(eval(c.text, space)) for c in self.conditions]

    def same_tensors(self, args: tuple, kwargs: dict, fn: Any) -> bool:
        """Whether each expression still leads to the same tensor."""
        space = {**self.space, "args": args, "kwargs": kwargs, "fn": fn}
        return all(eval(path, space) is t for path, t in self.tensors)


class _Walk:
    def __init__(self) -> None:
        self.world = World()
        self.paths: dict[int, str] = {}  # id -> the expression under which it was found first
        self.keep: list[Any] = []
        self.modules: list[tuple[types.ModuleType, str, str]] = []
        self.optimizers: list[tuple[Any, str, str]] = []  # and schedulers of learning rates
        self.read: set[int] = set()  # ids of the code objects visited
        self.spoken: set[str] = set()  # the global names and attributes that the visited code mentions

    def visit(self, thing: Any, path: str, name: str) -> None:
        """Add the conditions for `thing`, which `path` leads to and which messages call `name`."""
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
        elif isinstance(thing, Generator):
            self._is(thing, path, name)
            world.generators.append(thing)
        elif isinstance(thing, type) and _users(thing.__module__):
            self._is(thing, path, name)
            self._class(thing, self.world.bind(thing), name)
        elif isinstance(thing, types.ModuleType) and (_users(thing.__name__) or _library(thing.__name__)):
            self._is(thing, path, name)
            self.modules.append((thing, path, name))
        elif isinstance(thing, functools.partial):
            self._is(thing, path, name)
            self.visit(thing.func, f"{path}.func", name)
            self.visit(thing.args, f"{path}.args", f"{name}'s arguments")
            self.visit(thing.keywords, f"{path}.keywords", f"{name}'s arguments")
        elif _fixed(thing):
            self._is(thing, path, name)
            if type(thing).__module__.startswith(f"{LIBRARY}.optim"):
                self.optimizers.append((thing, path, name))
        elif hasattr(thing, "__next__"):
            raise UnguardedError(f"{name} is an iterator, which moves on with each call")
        elif isinstance(thing, np.ndarray | np.generic):
            raise UnguardedError(
                f"{name} is a NumPy array: its numbers may change without a sign; make it a tensor"
            )
        elif hasattr(thing, "__dict__"):
            self._is(thing, path, name)
            self._object(thing, path, name)
        else:
            self._is(thing, path, name)
            self._slots(thing, path, name)
            if isinstance(thing, set | frozenset):
                self._say(f"{path} == {self.world.bind(frozenset(thing))}", f"{name} has these elements")
            elif hasattr(thing, "__len__"):
                self._say(f"len({path}) == {len(thing)}", f"{name} has {len(thing)} elements")

    def finish(self) -> None:
        """Visit what the code mentions in the user's modules, which may reveal more code."""
        done: set[tuple[int, str]] = set()
        while True:
            open_ = [
                (module, path, name, key)
                for module, path, name in self.modules
                for key in sorted(self.spoken & vars(module).keys())
                if (id(module), key) not in done
            ]
            if not open_ and not self.optimizers:
                return
            while self.optimizers:
                self._optimizer(*self.optimizers.pop())
            for module, path, name, key in open_:
                done.add((id(module), key))
                self.visit(vars(module)[key], f"{path}.__dict__[{key!r}]", f"{name}.{key}")

    def _optimizer(self, thing: Any, path: str, name: str) -> None:
        """What the code can read from an optimizer: its settings. A scheduler changes them each time."""
        if hasattr(thing, "param_groups"):
            if "param_groups" in self.spoken:
                self.visit(thing.param_groups, f"{path}.param_groups", f"{name}.param_groups")
        elif {"get_last_lr", "get_lr", "last_epoch"} & self.spoken:
            raise UnguardedError(f"{name} says another learning rate each time: pass it as a tensor")

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
            plain = type(thing) in (int, float) and bool(np.isfinite(thing))
            plain |= type(thing) is str and not set("[.") & set(
                thing
            )  # otherwise it could look like one of the paths
            value = repr(thing) if plain else self.world.bind(thing)
            sign = ""
            if type(thing) is float and thing == 0:
                sign = f" and {self.world.bind(math.copysign)}(1.0, {path}) == {math.copysign(1.0, thing)}"
            self._say(f"{path} == {value} and {path}.__class__ is {kind}{sign}", f"{name} is {thing!r}")

    def _tensor(self, t: Any, path: str, name: str) -> None:
        data = t._data
        kind = self.world.bind(type(t))
        dtype = self.world.bind(np.asarray(data).dtype)
        self._say(f"{path}.__class__ is {kind}", f"{name} is a {type(t).__name__}")
        self._say(f"{path}._data.shape == {np.shape(data)}", f"the shape of {name} is {list(np.shape(data))}")
        self._say(f"{path}._data.dtype == {dtype}", f"{name} is {np.asarray(data).dtype.name}")
        none = self.world.bind(NO_EDGE)
        if t.requires_grad:
            self._say(
                f"{path}._edge is not {none} and ({path}._edge is not None or {path}._meta.base is None or {path}.requires_grad)",
                f"{name} requires a gradient",
            )
        else:
            self._say(
                f"({path}._edge is {none} or not {path}.requires_grad)", f"{name} does not require a gradient"
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
        self._say(f"len({path}.__dict__) == {len(vars(thing))}", f"{name} has the attributes it had")
        self._slots(thing, path, name)
        for key, item in list(vars(thing).items()):
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
        for cls in type(thing).__mro__:
            if _users(cls.__module__) and id(cls) not in self.paths:
                self.paths[id(cls)] = path
                self.keep.append(cls)
                self._class(cls, self.world.bind(cls), cls.__name__)

    def _class(self, cls: type, path: str, name: str) -> None:
        """The attributes of a user's class, and what its methods mention."""
        for key, item in list(vars(cls).items()):
            where = f"{path}.__dict__[{key!r}]"
            if key in ("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__"):
                continue
            if isinstance(item, staticmethod | classmethod):
                self._is(item, where, f"{name}.{key}")
                item = item.__func__
            elif isinstance(item, property):
                self._is(item, where, f"{name}.{key}")
                item = item.fget
            if isinstance(item, types.FunctionType):
                if item is vars(cls)[key]:
                    self._is(item, where, f"{name}.{key}")
                self._function(item, self.world.bind(item), f"{name}.{key}")
            elif isinstance(item, (Variable, *CONSTANTS, tuple, list, dict)) and key[:2] != "__":
                self.visit(item, where, f"{name}.{key}")

    def _slots(self, thing: Any, path: str, name: str) -> None:
        for cls in type(thing).__mro__:
            slots = vars(cls).get("__slots__", ()) if _users(cls.__module__) else ()
            for key in (slots,) if isinstance(slots, str) else slots:
                if key not in ("__dict__", "__weakref__") and hasattr(thing, key):
                    self.visit(getattr(thing, key), f"{path}.{key}", f"{name}.{key}")

    def _function(self, fn: types.FunctionType, path: str, name: str) -> None:
        if _ours(fn.__module__) or id(fn.__code__) in self.read:
            return
        self.read.add(id(fn.__code__))
        self._say(f"{path}.__code__ is {self.world.bind(fn.__code__)}", f"the code of {name} is the same")
        names = _names(fn.__code__)
        self.spoken.update(names)
        written = _written(fn.__code__)
        if written:
            raise UnguardedError(f"{name} assigns the global {written[0]}")
        for i, cell in enumerate(fn.__closure__ or ()):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            self.visit(content, f"{path}.__closure__[{i}].cell_contents", fn.__code__.co_freevars[i])
        if fn.__defaults__:
            self.visit(fn.__defaults__, f"{path}.__defaults__", f"{name}'s defaults")
        if fn.__kwdefaults__:
            self.visit(fn.__kwdefaults__, f"{path}.__kwdefaults__", f"{name}'s defaults")
        if fn.__dict__:
            self.visit(fn.__dict__, f"{path}.__dict__", f"{name}'s attributes")
        for key in names:
            if key in fn.__globals__:
                self.visit(fn.__globals__[key], f"{path}.__globals__[{key!r}]", key)


def _names(code: types.CodeType) -> list[str]:
    """The global names and attributes that a function's code mentions, including nested functions."""
    found = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found.update(dict.fromkeys(_names(constant)))
    return list(found)


_WRITES = {dis.opmap[name] for name in ("STORE_GLOBAL", "DELETE_GLOBAL")}


def _written(code: types.CodeType) -> list[str]:
    """The globals that a function's code assigns or deletes, including nested functions."""
    found = []
    if not _WRITES.isdisjoint(code.co_code[::2]):  # else it need not be disassembled, which takes long
        found = [str(step.argval) for step in dis.get_instructions(code) if step.opcode in _WRITES]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found += _written(constant)
    return found


def _users(module: str | None) -> bool:
    """Whether a module is the user's: neither ours nor Python's nor NumPy's."""
    top = (module or "").split(".")[0]
    return bool(top) and not _ours(top) and (top == "__main__" or top not in sys.stdlib_module_names)


def _ours(module: str | None) -> bool:
    return (module or "").split(".")[0] in (LIBRARY, "numpy", "builtins")


def _library(module: str | None) -> bool:
    return (module or "").split(".")[0] == LIBRARY


def _fixed(thing: Any) -> bool:
    """Immutable things: modules, classes, built-in functions, number types."""
    return (
        isinstance(thing, types.ModuleType | type | types.BuiltinFunctionType | np.ufunc | np.dtype)
        or (type(thing).__module__.split(".")[0] == LIBRARY and not hasattr(thing, "_parameters"))
        or (callable(thing) and _ours(getattr(thing, "__module__", "")) and not hasattr(thing, "_parameters"))
    )


def world_of(fn: Any, args: tuple, kwargs: dict, names: list[str]) -> World:
    """Everything that a call `fn(*args, **kwargs)` can reach. Raises UnguardedError."""
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
    walk.finish()
    state = THREAD.state
    walk.world.space["_state"] = THREAD
    walk.world.conditions.append(
        Condition(f"_state.state.grad is {state.grad}", f"grad mode is {'on' if state.grad else 'off'}")
    )
    walk.world.space["_defaults"] = Defaults
    walk.world.conditions.append(
        Condition(
            f"_defaults.np is {walk.world.bind(Defaults.np)}", f"the default dtype is {Defaults.np.name}"
        )
    )
    return walk.world


def waits_for_gradient(t: Any, empty: bool) -> bool:
    """Whether a leaf takes a gradient without hooks and, if asked, has no gradient yet."""
    meta, edge = t._meta, t._edge
    if meta is None:
        return True
    if edge is None:
        node = meta.accumulator and meta.accumulator()
        leaf = meta.base is None
    else:
        node, leaf = edge, type(edge) is AccumulateGrad
    return (
        leaf
        and not (empty and meta.grad is not None)
        and not meta.hooks
        and not meta.post_accumulate_hooks
        and (node is None or node.hooks is None)
    )


def gradients(world: World, filled: Container[int], empty: Container[int]) -> list[Condition]:
    """The conditions on tensors (by id) whose `.grad` a backward pass inside fills: that it may, and that it is None where it must be."""
    check = world.bind(waits_for_gradient)
    return [
        Condition(
            f"{check}({path}, {id(t) in empty})",
            f"{path} is a leaf without hooks" + (" whose .grad is None" if id(t) in empty else ""),
        )
        for path, t in world.tensors
        if id(t) in filled
    ]


def layouts(world: World) -> list[Condition]:
    """The conditions that each tensor has the same memory layout."""
    return [
        Condition(
            f"{path}._data.strides == {t._data.strides}", f"the strides of {path} are {t._data.strides} bytes"
        )
        for path, t in world.tensors
    ]


def guard_function(world: World) -> tuple[Callable[..., Any], str]:
    """(check, source): `check(args, kwargs, fn)` returns the tensors if all conditions hold, otherwise None."""
    names = {path: f"x{i}" for i, (path, _) in enumerate(world.tensors)}
    tests = "\n            and ".join(condition.text for condition in world.conditions)
    if names:  # each is looked up once
        longest_first = sorted(names, key=len, reverse=True)
        found = re.compile(rf"(?<![\w.])(?:{'|'.join(map(re.escape, longest_first))})(?![\w\[])")
        tests = found.sub(lambda match: names[match[0]], tests)
    looked_up = "".join(f"        {name} = {path}\n" for path, name in names.items())
    source = (
        "def check(args, kwargs, fn):\n"
        "    try:\n"
        f"{looked_up}"
        f"        if not (\n            {tests}\n        ):\n"
        "            return None\n"
        f"        return ({', '.join(names.values())}{',' if len(names) == 1 else ''})\n"
        "    except (AttributeError, KeyError, IndexError, TypeError, ValueError):\n"
        "        return None\n"
    )
    space = dict(world.space)
    exec(compile(source, "<guards>", "exec"), space)
    return space["check"], source


def broken(world: World, args: tuple, kwargs: dict, fn: Any) -> list[str]:
    """The failed conditions of a call, in words."""
    found = []
    for condition in world.conditions:
        try:
            holds = eval(condition.text, {**world.space, "args": args, "kwargs": kwargs, "fn": fn})
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            holds = False
        if not holds:
            found.append(condition.says)
    return found


def nearest_miss(worlds: Iterable[World], args: tuple, kwargs: dict, fn: Any) -> str:
    """How a call differs from the closest capture: the first condition of it that fails, in words."""
    found = min((broken(world, args, kwargs, fn) for world in worlds), key=len)
    return found[0] if found else ""
