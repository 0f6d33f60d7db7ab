"""Which line of the user's code is running, and what the user calls a tensor.

Python 3.11 knows the expression that an instruction belongs to, so `y = x * w` reveals that the product is called y before it
is assigned; the names of leaves are looked up in the frame that uses them.
"""

from __future__ import annotations

import ast
import weakref
from collections import deque
from collections.abc import Collection, Iterator, Set
from functools import lru_cache, partial
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from .sources import from_source


class Places:
    """Lines and names of instructions; each code object is parsed once, each of its places resolved once."""

    def __init__(self) -> None:
        # by the ids of code objects, which are kept alive: hashing one takes linear time
        self._codes: dict[int, tuple[CodeType, list[Any]]] = {}
        self._found: dict[tuple[int, int], tuple[int, str]] = {}

    def line_of(self, code: CodeType, instruction: int) -> tuple[int, str]:
        """(line, name) of the instruction at offset `instruction`: its line, and the variable its value is assigned to or ''."""
        found = self._found.get((id(code), instruction))
        if found is None:
            if id(code) not in self._codes:
                self._codes[id(code)] = code, list(code.co_positions())
            positions = self._codes[id(code)][1][instruction // 2]
            found = self._found[id(code), instruction] = _line_of(code, *positions)
        return found


def variables_of(code: CodeType, instruction: int) -> tuple[str, tuple[str, ...]]:
    """The variable that the value of an instruction is assigned to, or '', and others that its statement assigns.

    `x = (x - g / h).detach().requires_grad_()` and `q, k = x.chunk(2)`: x, q and k are others. Worked out once for a code object.
    """
    known = _VARIABLES.get(id(code))
    if known is None:
        forget = partial(_VARIABLES.pop, id(code))
        known = _VARIABLES[id(code)] = weakref.ref(code, forget), list(code.co_positions()), {}
    _, positions, names = known
    name = names.get(instruction)
    if name is None:
        line, end_line, column, end_column = positions[instruction // 2]
        whole = _line_of(code, line, end_line, column, end_column)[1]
        parts: tuple[str, ...] = ()
        if line is not None and column is not None:
            for begin, end, targets in _source(code.co_filename).statements.get(line, ()):
                if begin <= (line, column) and (end_line, end_column) <= end:
                    parts = targets
        name = names[instruction] = whole, tuple(x for x in parts if x != whole)
    return name


# {id of a code object: (a weak reference to it, where its instructions are, what `variables_of` returned)}
_VARIABLES: dict[int, tuple[Any, list[Any], dict[int, tuple[str, tuple[str, ...]]]]] = {}


def _line_of(
    code: CodeType, line: int | None, end_line: int | None, column: int | None, end_column: int | None
) -> tuple[int, str]:
    if line is None:
        return code.co_firstlineno, ""
    if column is None or end_column is None or end_line is None:
        return line, ""
    return line, _assigned(code.co_filename, line, end_line, column, end_column)


def is_in_with(code: CodeType, instruction: int) -> bool:
    """Whether the instruction enters a `with`, or is part of the expression that it enters: `no_grad()` in `with torch.no_grad():`."""
    line, end_line, column, end_column = next(islice(code.co_positions(), instruction // 2, None))
    if line is None or column is None or end_line is None or end_column is None:
        return True  # unknown: assume the usual case
    begin, end = (line, column), (end_line, end_column)
    for node, entered in _source(code.co_filename).withs:
        if (begin, end) == _range(node) or any(
            _range(e)[0] <= begin and end <= _range(e)[1] for e in entered
        ):
            return True
    return False


def _range(node: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)


def _assigned(file: str, line: int, end_line: int, column: int, end_column: int) -> str:
    for target, value in _source(file).assignments.get(line, ()):
        if (value.lineno, value.end_lineno, value.col_offset, value.end_col_offset) == (
            line,
            end_line,
            column,
            end_column,
        ):
            return target
    return ""


class _Read:
    """What a source says of names, found in one walk through it.

    statements   (begin, end, variables) of the statements that assign, for each of their lines
    assignments  every `name = expression`, by the line the expression begins on
    withs        the `with` statements, each with the expressions that it enters
    loops        {(name of a code object, its first line): the names that its loops give}
    """

    def __init__(self, tree: ast.Module) -> None:
        self.statements: dict[int, list[tuple[tuple[int, int], tuple[int, int], tuple[str, ...]]]] = {}
        self.assignments: dict[int, list[tuple[str, ast.expr]]] = {}
        self.withs: list[tuple[ast.stmt, list[ast.expr]]] = []
        self.loops: dict[tuple[str, int], set[str]] = {}
        todo: deque[tuple[Any, tuple[str, int]]] = deque([(tree, _MODULE)])
        while todo:
            node, scope = todo.popleft()
            kind = type(node)
            inner = scope
            if kind in _ASSIGNING:
                self._assignment(node)
            elif kind is ast.With or kind is ast.AsyncWith:
                self.withs.append((node, [item.context_expr for item in node.items]))
            elif kind in _CALLED:
                inner = (node.name, min(one.lineno for one in (node, *node.decorator_list)))
            elif kind is ast.Lambda:
                inner = ("<lambda>", node.lineno)
            elif kind in _LOOPING:
                self._loop(node, scope)
            for field in node._fields:
                part = getattr(node, field, None)
                if type(part) is list:
                    todo.extend([(x, inner) for x in part if isinstance(x, ast.AST)])
                elif isinstance(part, ast.AST) and part._fields:
                    todo.append((part, inner))

    def _assignment(self, node: Any) -> None:
        if node.value is None:  # `x: int` assigns nothing
            return
        targets = getattr(node, "targets", None) or [node.target]
        if (
            isinstance(node, ast.Assign | ast.NamedExpr)
            and len(targets) == 1
            and isinstance(targets[0], ast.Name)
            and targets[0].id != _UNWANTED
        ):
            self.assignments.setdefault(node.value.lineno, []).append((targets[0].id, node.value))
        if isinstance(node, ast.NamedExpr):
            return
        names = [
            x.id
            for target in targets
            for x in (target.elts if isinstance(target, ast.Tuple | ast.List) else [target])
            if isinstance(x, ast.Name) and x.id != _UNWANTED
        ]
        begin, end = _range(node)
        for line in range(begin[0], end[0] + 1) if names else ():
            self.statements.setdefault(line, []).append((begin, end, tuple(names)))

    def _loop(self, node: Any, scope: tuple[str, int]) -> None:
        loops = getattr(node, "generators", [node])
        names = {name.id for loop in loops for name in ast.walk(loop.target) if isinstance(name, ast.Name)}
        if names:
            self.loops.setdefault(scope, set()).update(names)
            if type(node) in _COMPREHENSIONS:  # which Python 3.11 runs as a function
                self.loops.setdefault((_COMPREHENSIONS[type(node)], node.lineno), set()).update(names)


_UNWANTED = "_"  # which is no name: `values, _ = x.max(0)`
_ASSIGNING = frozenset((ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr))
_CALLED = frozenset((ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
_COMPREHENSIONS: dict[type, str] = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
_LOOPING = frozenset((ast.For, ast.AsyncFor, *_COMPREHENSIONS))


@from_source
def _source(tree: ast.Module) -> _Read:
    """What the source of a file says of names; nothing if there is no source, or it is not Python's."""
    return _Read(tree)


def loop_variables(frame: FrameType) -> tuple[Collection[str], Collection[str]]:
    """The names that some `for` in the source of a frame's code gives to one thing after another, and those of its module's own loops.

    Worked out once for a code object: Python looks through the whole import path each time for a source that it does not find.
    """
    code = frame.f_code
    known = _LOOPS.get(id(code))
    if known is None:
        loops = _source(code.co_filename).loops
        shared = loops.get(_MODULE, _NONE)
        is_module = code.co_name == "<module>"
        own = shared if is_module else loops.get((code.co_name, code.co_firstlineno), _NONE)
        forget = partial(_forget, id(code))
        known = _LOOPS[id(code)] = weakref.ref(code, forget), own, shared
    return known[1], known[2]


def passed_on_by(code: CodeType) -> Collection[str]:
    """The names that the loops of a module's code give to one thing after another."""
    loops = _source(code.co_filename).loops
    return loops.get(_MODULE, _NONE) if code.co_name == "<module>" else _NONE


# {id of a code object: (a weak reference to it, what `loop_variables` returns)}; to hash one takes linear time
_LOOPS: dict[int, tuple[Any, Collection[str], Collection[str]]] = {}


def _forget(key: int, _: Any) -> None:
    _LOOPS.pop(key, None)


_MODULE = "<module>", 0
_NONE: frozenset[str] = frozenset()


def name_in(frame: FrameType, value: Any, deep: bool = True) -> str:
    """What `value` is called in this frame, looked up once; see Names.name."""
    return Names().name(frame, value, deep)


class Names:
    """Looks up the names of tensors, many in a row.

    The places of earlier finds are cached, and each is checked against what is there now; what is not found is searched again
    where something changed. So a name is never stale, and many lookups together walk everything once.
    """

    def __init__(self) -> None:
        self.passing = False  # whether the last name found is a loop's, which will soon be another tensor's
        self._tables: dict[int, _Table] = {}  # by the id of a namespace, list, tuple or dict
        self._modules = Modules()

    def name(self, frame: FrameType, value: Any, deep: bool = True) -> str:
        """The name of `value` in this frame: a local or global variable or, if `deep`, part of what a variable holds.

        A `deep` search also continues in the callers of the frame; it is meant for parameters, not for every intermediate. A parameter
        that a loop takes out of a list, `for p in params:`, is params[3]: the next turn of the loop calls another one p.
        """
        here: FrameType | None = frame
        self.passing = False
        while here is not None:
            variables, shared = here.f_locals, here.f_globals
            wanted = deep and getattr(value, "requires_grad", False)
            passing, common_passing = loop_variables(here) if wanted else (_NONE, _NONE)
            only = ""  # a name that will soon be another's
            if variables is not shared:
                for name, held in variables.items():
                    if held is value and not name.startswith(_HIDDEN):
                        if name not in passing:
                            return name
                        only = only or name
            own = _holders(variables) if deep and variables is not shared else []
            # What is still in its old place is found without a new search.
            for thorough in (False, True):
                found = self._table(shared).find(shared, value, thorough=thorough or not deep)
                if found is not None and (found.startswith(_HIDDEN) or found in common_passing):
                    names = [name for name, held in dict(shared).items() if held is value]
                    names = [name for name in names if not name.startswith(_HIDDEN)]
                    only = only or next(iter(names), "")
                    found = next((name for name in names if name not in common_passing), None)
                if found is not None:
                    return str(found)
                if not deep:
                    return ""
                common = self._table(shared).holders(shared)
                for name, held in own + common if thorough else own + _still_there(common, shared):
                    if inner := self._inside(name, held, value, thorough):
                        return inner
            if only:
                self.passing = True
                return only
            here = None if here.f_code.co_name == "<module>" else here.f_back
        return ""

    def _table(self, held: Any) -> _Table:
        table = self._tables.get(id(held))
        if table is None:
            table = self._tables[id(held)] = _Table()
        return table

    def _inside(self, name: str, held: Any, value: Any, thorough: bool) -> str:
        """The dotted or indexed name of `value` in a module, list, tuple or dict called `name`, or ''."""
        if type(held) not in (list, tuple, dict):
            inner = self._modules.path(held, value, thorough).replace(
                "_orig_mod.", ""
            )  # a compiled module has its module's parts as its own
            return inner if name == "self" or not inner else f"{name}.{inner}"
        if len(held) > _MANY and not _holds_tensors(held):
            return ""
        place = self._table(held).find(held, value, thorough)
        return f"{name}[{place!r}]" if isinstance(place, str if type(held) is dict else int) else ""


_HIDDEN = ("_", "@")  # prefixes of names that are not the user's
_MANY = 100  # longer lists and dicts are searched only if they begin with a tensor: others are data


def _holders(variables: dict[str, Any]) -> list[tuple[str, Any]]:
    """The variables that may contain a tensor."""
    return [
        (name, held)
        for name, held in dict(variables).items()
        if _can_hold(type(held)) and not name.startswith(_HIDDEN)  # type: ignore[arg-type]
    ]


def _still_there(holders: list[tuple[str, Any]], namespace: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, held) for name, held in holders if namespace.get(name) is held]


@lru_cache(maxsize=10_000)  # mypy considers no class hashable: hence the comment at its calls
def _can_hold(kind: type) -> bool:
    return kind in (list, tuple, dict) or hasattr(kind, "named_parameters")


def _holds_tensors(held: Any) -> bool:
    first = next(iter(held.values() if type(held) is dict else held), None)
    return hasattr(type(first), "requires_grad")


class _Table:
    """The keys or indices of the values in one dict, list or tuple, by the ids of the values."""

    __slots__ = ("_held_by", "_ids", "_places")

    def __init__(self) -> None:
        self._ids: list[int] = []
        self._places: dict[int, Any] = {}
        self._held_by: list[tuple[str, Any]] | None = None

    def find(self, held: Any, value: Any, thorough: bool) -> Any:
        """The place of `value`, None if it is not there. Unless `thorough`, it may be missed where something changed."""
        wanted, known = id(value), len(self._ids)
        place = self._places.get(wanted)
        if place is not None and _at(held, place) is value:
            return place
        if len(held) > known:
            self._take_in(held, known)
            place = self._places.get(wanted)
            if place is not None and _at(held, place) is value:
                return place
        if not thorough:
            return None
        things = list(held.values() if isinstance(held, dict) else held)
        ids = list(map(id, things))
        if ids != self._ids:
            self._ids, self._held_by = ids, None
            places = list(held) if isinstance(held, dict) else range(len(ids))
            self._places = dict(zip(reversed(ids), reversed(places), strict=False))
            place = self._places.get(wanted)
            if place is not None and _at(held, place) is value:
                return place
        return None

    def _take_in(self, held: Any, known: int) -> None:
        """Index what was added at the end."""
        if isinstance(held, dict):
            new = list(islice(reversed(held.items()), len(held) - known))[::-1]
        else:
            new = list(enumerate(held[known:], known))
        self._held_by = None
        for place, thing in new:
            self._ids.append(id(thing))
            self._places.setdefault(id(thing), place)

    def holders(self, held: dict[str, Any]) -> list[tuple[str, Any]]:
        """The variables of a namespace just searched that may contain a tensor, or contained one in the last thorough search."""
        if self._held_by is None:
            self._held_by = _holders(held)
        return list(self._held_by)


def _at(held: Any, place: Any) -> Any:
    """What is at a place now, None if there is no such place."""
    if isinstance(held, dict):
        return held.get(place)
    return held[place] if isinstance(place, int) and place < len(held) else None


class Modules:
    """The dotted names of parameters and modules in modules, found from the inside out: the owners of each part are indexed once."""

    def __init__(self) -> None:
        self._known: dict[int, Any] = {}  # modules by id, whose parts are all indexed
        self._above: dict[
            int, list[tuple[Any, str]]
        ] = {}  # id of a part -> the modules that hold it, and as what
        self._shared: dict[int, dict[int, str]] = {}  # id of a module -> names of all its parts, by their ids

    def path(self, root: Any, part: Any, thorough: bool = False) -> str:
        """The name of a parameter or module in the module `root`: the first that `named_parameters` or `named_modules` has.

        "" if it is not there. Unless `thorough`, the part may be missed if `root` changed since it was first seen.
        """
        found = self._climb(root, part)
        if not found and (thorough or id(root) not in self._known):
            if id(root) in self._known:
                self.__init__()  # type: ignore[misc]
            self._note(root)
            found = self._climb(root, part)
        return found

    def _note(self, root: Any) -> None:
        waiting = [root]
        while waiting:
            module = waiting.pop()
            if id(module) in self._known:
                continue
            self._known[id(module)] = module
            for key, part in (*module._parameters.items(), *module._modules.items()):
                if part is not None:
                    self._above.setdefault(id(part), []).append((module, key))
            waiting += [child for child in module._modules.values() if child is not None]

    def _climb(self, root: Any, part: Any) -> str:
        """The name of `part`, from itself up to `root`; each step is checked. "" if there is no path."""
        keys: list[str] = []
        here = part
        while here is not root:
            places = self._above.get(id(here), ())
            if len(places) != 1 or len(keys) > len(self._known):
                return self._name_of_shared(root, part) if places else ""
            ((module, key),) = places
            if module._parameters.get(key) is not here and module._modules.get(key) is not here:
                return ""
            keys.append(key)
            here = module
        return ".".join(reversed(keys))

    def _name_of_shared(self, root: Any, part: Any) -> str:
        """The name of a part with several paths: the first of them in the order of `named_modules`."""
        for _ in range(2):
            names = self._shared.get(id(root))
            if names is not None:
                name = names.get(id(part), "")
                if name and _resolved(root, name) is part:
                    return name
                if not name and id(root) in self._known:
                    return ""
            self._shared[id(root)] = _listed(root)
        return self._shared[id(root)].get(id(part), "")


def _listed(root: Any) -> dict[int, str]:
    """The names of all parts of a module, by their ids."""
    found: dict[int, str] = {}
    for own in ("_parameters", "_modules"):
        for name, part in parts(root, own):
            found.setdefault(id(part), name)
    return found


def _resolved(root: Any, name: str) -> Any:
    """The part of a module that has this name now, or None."""
    *outer, last = name.split(".")
    for key in outer:
        root = root._modules.get(key)
        if root is None:
            return None
    return root._parameters.get(last, root._modules.get(last))


_PRIVATE = ("_", "@")
_PLAIN = frozenset((bool, int, float, complex, str, bytes, type(None)))  # of which tables have thousands
_TABLES = frozenset((list, tuple, dict))


def part_in(frame: FrameType, value: Any) -> str:
    """The name of `value` as a part of something that a variable of this frame holds, or ''."""
    for scope in (frame.f_locals, frame.f_globals):
        for name, held in dict(scope).items():
            if not name.startswith(_PRIVATE):
                for inner, part in all_parts_of(name, held):
                    if part is value:
                        return inner
    return ""


def may_hold_parts(kind: type) -> bool:
    """Whether `all_parts_of` may find something in what is of this type."""
    return _can_hold(kind) or kind.__module__ == "__main__"


def leads_to(held: Any, wanted: Set[int], deep: int = 3) -> bool:
    """Whether `all_parts_of` may find one of the `wanted` ids; it also gives all parts their names, which takes longer."""
    if type(held) not in _TABLES:
        return True
    if len(held) > 100:
        return False
    for part in list(held.values()) if type(held) is dict else held:
        kind = type(part)
        if kind in _PLAIN:
            continue
        if id(part) in wanted:
            return True
        if kind in _TABLES:
            if deep > 1 and leads_to(part, wanted, deep - 1):
                return True
        elif may_hold_parts(kind):
            return True
    return False


def all_parts_of(
    name: str, held: Any, deep: int = 6, seen: set[int] | None = None
) -> Iterator[tuple[str, Any]]:
    """The same as `parts_of`, and what objects of the program's own classes hold, also those in lists: net.layers[0].w."""
    yield from parts_of(name, held)
    seen = set() if seen is None else seen
    if not deep or id(held) in seen:  # objects may hold each other
        return
    seen.add(id(held))
    if _is_own(held):
        for key, part in list(getattr(held, "__dict__", {}).items()):
            inner = key if name == "self" else f"{name}.{key}"
            yield inner, part
            yield from all_parts_of(inner, part, deep - 1, seen)
    elif type(held) in (list, tuple, dict) and len(held) <= 100:
        for key, item in list(held.items()) if type(held) is dict else enumerate(held):
            if _is_own(item) and isinstance(key, str | int):
                yield from all_parts_of(f"{name}[{key!r}]", item, deep - 1, seen)


def _is_own(held: Any) -> bool:
    """Whether this is an object of a class of the program's own, and no module."""
    return type(held).__module__ == "__main__" and not hasattr(type(held), "named_parameters")


def parts_of(name: str, held: Any, deep: int = 2) -> Iterator[tuple[str, Any]]:
    """(name, value) for the tensors that a module called `name` holds, and for what lists and dicts hold, but plain data; each is visited once.

    Reads the dicts in which modules keep their parts: asking them for their parameters might run user code.
    """
    if hasattr(type(held), "named_parameters"):
        waiting, seen = [("" if name == "self" else f"{name}.", held)], {id(held)}
        while waiting:
            path, here = waiting.pop()
            own = getattr(here, "__dict__", {})
            for inner, thing in (*_items(own, "_parameters"), *_items(own, "_buffers"), *list(own.items())):
                if inner.startswith(_PRIVATE):
                    continue
                if hasattr(type(thing), "requires_grad"):
                    yield f"{path}{inner}", thing
                elif deep and type(thing) in (list, tuple, dict):
                    yield from parts_of(f"{path}{inner}", thing, deep - 1)
            for inner, module in reversed(own.get("_modules", {}).items()):
                if module is not None and id(module) not in seen:
                    seen.add(id(module))
                    waiting.append((path if inner == "_orig_mod" else f"{path}{inner}.", module))
    elif type(held) in (list, tuple) and len(held) <= 100:
        for i, item in enumerate(held):
            if type(item) not in _PLAIN:
                yield f"{name}[{i}]", item
                yield from parts_of(f"{name}[{i}]", item, deep - 1) if deep else ()
    elif type(held) is dict and len(held) <= 100:
        for key, item in list(held.items()):
            if isinstance(key, str) and type(item) not in _PLAIN:
                yield f"{name}[{key!r}]", item
                yield from parts_of(f"{name}[{key!r}]", item, deep - 1) if deep else ()


def _items(own: dict[str, Any], kind: str) -> list[tuple[str, Any]]:
    return list(own.get(kind, {}).items())


def parts(module: Any, own: str) -> Iterator[tuple[str, Any]]:
    """The parts that a module and its submodules keep in `own`, "_parameters" or "_modules", by their dotted names.

    Reads the modules' own dicts: `named_parameters()` might run user code.
    """
    waiting, seen = [("", module)], set()
    while waiting:
        path, here = waiting.pop()
        if here is None or id(here) in seen:
            continue
        seen.add(id(here))
        held = vars(here)
        yield from ((path + name, part) for name, part in held.get(own, {}).items() if part is not None)
        waiting += [(f"{path}{name}.", inner) for name, inner in reversed(held.get("_modules", {}).items())]
