"""What an answer keeps from one call to the next without meaning to: `remark` says so, from the text of its cell alone.

Notebook and grader have that text, so both say the same. A name is mentioned only if it is certain that what a call puts into it
is there at the next: it is made once, it is changed, and nothing makes it anew. Whether that is why a case failed is left open.
"""

import ast
import linecache
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import FunctionType
from typing import Any

from .items import Item

_MADE_BY = {"list", "dict", "set", "defaultdict", "Counter", "OrderedDict", "deque"}
_GROWS = {"append", "appendleft", "add", "update", "extend", "insert", "setdefault"}
_Function = ast.FunctionDef | ast.AsyncFunctionDef
MOST = 20_000
"""Longer cells, in characters, are not read: the grader reads those of strangers."""


def first(sources: Iterable[str], item: Item) -> str:
    """The first `remark` on some cells of an answer to an item; "" if there is none."""
    checks = tuple(probe.source for probe in item.probes if not probe.hidden)  # a notebook has no others
    return next((said for source in sources if (said := remark(source, checks))), "")


def of(answer: Any, item: Item) -> str:
    """`first` on the cells that made a function or class, or several of them."""
    return first(map(_cell_of, answer if isinstance(answer, list | tuple) else [answer]), item)


def _cell_of(answer: Any) -> str:
    functions = [answer, *vars(answer).values()] if isinstance(answer, type) else [answer]
    code = next((one.__code__ for one in functions if isinstance(one, FunctionType)), None)
    return "".join(linecache.getlines(code.co_filename)) if code else ""


@lru_cache(256)
def remark(source: str, checks: tuple[str, ...] = ()) -> str:
    """A sentence on the first such name in a cell's source; "" if there is none, or if it cannot be parsed.

    checks  the sources of what calls the answer's functions, by their names
    """
    if len(source) > MOST:
        return ""
    try:
        return next(_remarks(ast.parse(source).body, [ast.parse(check) for check in checks]), "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _remarks(body: list[ast.stmt], checks: list[ast.Module]) -> Iterator[str]:
    functions = [one for one in body if isinstance(one, _Function)]
    outside = {
        target.id
        for one in body
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None and _is_container(one.value)
        for target in (one.targets if isinstance(one, ast.Assign) else [one.target])
        if isinstance(target, ast.Name)
    }
    outside -= {name for one in functions for name in _made_anew(one)}  # one may make it anew for another
    calls: dict[str, list[ast.Call]] = {}
    for one in (*body, *checks):
        for call in ast.walk(one):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                own = call.func.id == getattr(one, "name", "")
                calls.setdefault(call.func.id, []).extend([] if own else [call])
    for one in body:
        if isinstance(one, _Function):
            yield from _of_function(one, outside, calls.get(one.name, []))
        elif isinstance(one, ast.ClassDef):
            yield from _of_class(one, outside)


def _of_function(function: _Function, outside: set[str], calls: list[ast.Call]) -> Iterator[str]:
    """What a function keeps. A default is used only if one of the `calls` leaves it out."""
    changed, anew = _changed(function), _made_anew(function)
    places = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
    for name in sorted(_defaults(function)):
        place = places.index(name) if name in places else len(places)
        left_out = any(
            len(call.args) <= place and all(key.arg not in (name, None) for key in call.keywords)
            for call in calls
            if not any(isinstance(one, ast.Starred) for one in call.args)
        )
        if name in changed and name not in anew and left_out:
            yield (
                f"`{name}` is made only once, when Python reads `def {function.name}`: what one call puts into it is still there "
                f"at the next. Make it in the first line of the function."
            )
    parameters = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    for name in sorted(outside - parameters):
        if name in changed:
            yield (
                f"`{name}` is made only once, outside of `{function.name}`: what one call puts into it is still there at the next. "
                f"Make it in the first line of the function."
            )


def _of_class(made: ast.ClassDef, outside: set[str]) -> Iterator[str]:
    methods = [one for one in made.body if isinstance(one, _Function)]
    for method in methods:
        if not _defaults(method):  # what is given for these is not known
            yield from _of_function(method, outside, [])
    shared = {
        target.id
        for one in made.body
        if isinstance(one, ast.Assign) and _is_container(one.value)
        for target in one.targets
        if isinstance(target, ast.Name)
    }
    changed = {name for one in methods for name in _changed(one)}
    anew = {name for one in methods for name in _made_anew(one)}
    for name in sorted(shared):
        ways = {f"self.{name}", f"cls.{name}", f"{made.name}.{name}"}
        if ways & changed and not ways & anew:
            yield (
                f"`{name}` is made only once, for the class `{made.name}`: all its objects share it. "
                f"Make it in `__init__`, as `self.{name}`."
            )


def _is_container(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in _MADE_BY
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _defaults(function: _Function) -> set[str]:
    """The parameters with a container as default."""
    given = function.args
    places = [*given.posonlyargs, *given.args]
    pairs = [
        *zip(places[len(places) - len(given.defaults) :], given.defaults, strict=True),
        *zip(given.kwonlyargs, given.kw_defaults, strict=True),
    ]
    return {one.arg for one, default in pairs if default is not None and _is_container(default)}


def _changed(function: _Function) -> set[str]:
    """What it puts something into: names, and attributes as they are written."""
    found: list[ast.expr] = []
    for one in ast.walk(function):
        if isinstance(one, ast.Assign | ast.AugAssign | ast.AnnAssign):
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            found += [target.value for target in targets if isinstance(target, ast.Subscript)]
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _GROWS:
            found.append(one.func.value)
        elif isinstance(one, ast.Call) and one.args and ast.unparse(one.func).endswith("heappush"):
            found.append(one.args[0])
    return {ast.unparse(one) for one in found if isinstance(one, ast.Name | ast.Attribute)}


def _made_anew(function: _Function) -> set[str]:
    """What it assigns or empties, or what another function in it calls so."""
    found = set()
    for one in ast.walk(function):
        if isinstance(one, ast.Name | ast.Attribute) and isinstance(one.ctx, ast.Store | ast.Del):
            found.add(ast.unparse(one))
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr == "clear":
            found.add(ast.unparse(one.func.value))
        elif isinstance(one, _Function | ast.Lambda) and one is not function:
            found |= {each.arg for each in ast.walk(one.args) if isinstance(each, ast.arg)}
    return found
