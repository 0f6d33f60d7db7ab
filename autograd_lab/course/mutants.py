"""Programs that are wrong in one small way, made from a right one: what a learner may slip into, or misread.

    mutants(source) -> (name, text) of each     "14: x.grad += g -> x.grad = g": the line, what stood there, what stands there now
    idle(stub) -> (name, text) of each          programs that do none of the work

Changed are, one at a time: operators, operands, comparisons and constants; the arguments, keywords and wrappers of a call, and a
function for one that is taken for it (sum and mean, max and min); one name for another of the same function; a length for the other
dimension; an attribute for another, an argument too many; a statement left out, a condition that always or never holds, a loop that ends
after its first or second turn, `+=` for `=`. What should live for one call lives for all: a value kept on the class instead of on `ctx`, a
list or dict that is made once, the first call's argument, the first answer to arguments of these shapes, or to these very objects, the memory of a result. A program is right but for special
values: it passes over 0, over negative numbers, over what is None beside its partner, over what has a gradient already, or only the first
element counts, or a power is that of the absolute value; what it returns has 32 bits, or four digits; a word is compared by its letters, a key tells less apart, a formula is the textbook's and fails at
extremes. And it leaves something behind: recording switched off, the caller's list used up, a hook; what it was given, or what was saved, is
changed, for good or until it returns. Operations write in place: `x.sub_(m)` for `x - m`, `x.exp_()` for `x.exp()`, `a += b` for `a = a + b`, and
for `a = b + a`.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, cast

from .author import BEGIN, END

Path = tuple[Any, ...]
"""Where a node is in a tree: names of fields, and places in lists."""
Change = Callable[[Any, Any, Path], None]
"""Called with the node to change, its tree, and its path; changes the tree."""

_BINARY: dict[type, type] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult, ast.MatMult: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_COMPARE: dict[type, type] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_TAKEN_FOR = {
    "sum": ("mean",), "mean": ("sum",), "max": ("mean", "min"), "min": ("max",), "exp": ("sigmoid",), "tanh": ("sigmoid",),
    "zeros_like": ("ones_like",), "ones_like": ("zeros_like",), "zeros": ("ones",), "stack": ("cat",), "where": ("maximum",),
    "prod": ("sum",), "softmax": ("sigmoid",), "log": ("exp",), "topological_sort": ("nodes",), "append": ("remove",),
    "all_simple_edge_paths": ("all_simple_paths",),
}  # fmt: skip
"""Functions and methods that are taken for each other."""
_UNWRAPPED = ("t", "transpose", "detach", "clone", "copy", "item")
"""Methods without which the value has another shape, history or owner."""
_COPIES = ("list", "tuple", "dict", "set")
_BY_THE_BOOK = {
    "tanh": "({m}.exp({x}) - {m}.exp(-({x}))) / ({m}.exp({x}) + {m}.exp(-({x})))",
    "sigmoid": "{m}.exp({x}) / (1 + {m}.exp({x}))",
    "softplus": "{m}.log(1 + {m}.exp({x}))",
    "log1p": "{m}.log(1 + {x})",
    "expm1": "{m}.exp({x}) - 1",
}
"""Functions of a module `m` whose formula, written out, fails for some numbers."""

IDLE = ("pass", "return 0", "return 1", "return True", "return []", "raise NotImplementedError")
"""Replacements for the work; in addition, each argument of the function, returned unchanged."""


def mutants(source: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every mutant of a cell; only what is between the solution markers is changed.

    Without markers (a program of the bank) all of it is.
    """
    tree = ast.parse(source)
    inside = _solution_lines(source)
    seen = {ast.unparse(tree)}
    called: Counter[str] = Counter()
    for path, change in _changes(tree, inside):
        mutant = copy.deepcopy(tree)
        node = _at(mutant, path)
        old = ast.unparse(node)
        change(node, mutant, path)
        ast.fix_missing_locations(mutant)
        text = ast.unparse(mutant)
        if text in seen:
            continue
        seen.add(text)
        line = getattr(_at(tree, path), "lineno", 0)
        name = f"{line}: {_short(old)} -> {_short(ast.unparse(_at(mutant, path)))}"
        called[name] += 1
        yield name if called[name] == 1 else f"{name} ({called[name]})", text
    for kind in (_kept_between_calls, _coarser_keys, _right_but_for_some, _left_behind, _in_place):
        for what, mutant in kind(tree, inside):
            text = ast.unparse(ast.fix_missing_locations(mutant))
            if text not in seen:
                seen.add(text)
                yield what, text


def _short(code: str) -> str:
    """The first line of a statement, which names it."""
    first, *more = code.splitlines() or [""]
    return f"{first} .." if more else first


def _at(tree: Any, path: Path) -> Any:
    for step in path:
        tree = getattr(tree, step) if isinstance(step, str) else tree[step]
    return tree


def _solution_lines(source: str) -> set[int]:
    lines: set[int] = set()
    on = BEGIN not in source
    for number, line in enumerate(source.splitlines(), start=1):
        if line.strip() == BEGIN:
            on = True
        elif line.strip() == END:
            on = False
        elif on:
            lines.add(number)
    return lines


def _walk(
    node: ast.AST, path: Path, names: tuple[str, ...]
) -> Iterator[tuple[Path, ast.AST, tuple[str, ...]]]:
    """(path, node, names of the function around it) of each node."""
    if isinstance(node, ast.FunctionDef):
        names = _names_of(node)
    yield path, node, names
    for name, value in ast.iter_fields(node):
        if isinstance(value, ast.AST):
            yield from _walk(value, (*path, name), names)
        elif isinstance(value, list):
            for i, part in enumerate(value):
                if isinstance(part, ast.AST):
                    yield from _walk(part, (*path, name, i), names)


def _names_of(function: ast.FunctionDef) -> tuple[str, ...]:
    """A function's arguments and variables."""
    found = [argument.arg for argument in function.args.args]
    found += [n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return tuple(name for name in dict.fromkeys(found) if name not in ("self", "ctx", "_"))


def _changes(tree: ast.AST, inside: set[int]) -> Iterator[tuple[Path, Change]]:
    attributes = _attributes(tree)
    for path, node, names in _walk(tree, (), ()):
        if getattr(node, "lineno", 0) in inside and not _is_text(node):
            for change in _of(node, names):
                yield path, change
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and node.attr in attributes:
                for other in sorted(attributes - {node.attr}):
                    yield path, _set(attr=other)


def _attributes(tree: ast.AST) -> set[str]:
    """The attributes that are read, without the methods that are called."""
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)]
    return {n.attr for n in found if id(n) not in called}


def _is_text(node: ast.AST) -> bool:
    value = node.value if isinstance(node, ast.Expr) else node
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _replace(make: Callable[[Any], Any]) -> Change:
    """Put the node (or, among statements, the nodes) that `make` makes of the old one in its place."""

    def change(node: Any, tree: Any, path: Path) -> None:
        parent = _at(tree, path[:-1])
        new = make(node)
        if isinstance(path[-1], str):
            setattr(parent, path[-1], new)
        elif isinstance(new, list):
            parent[path[-1] : path[-1] + 1] = new
        else:
            parent[path[-1]] = new

    return change


def _set(**fields: Any) -> Change:
    def change(node: Any, tree: Any, path: Path) -> None:
        for name, value in fields.items():
            setattr(node, name, value)

    return change


def _instead(new: ast.expr) -> Change:
    return _replace(lambda node: new)


def _gone(node: Any) -> Any:
    return ast.Pass()


def _of(node: Any, names: tuple[str, ...]) -> Iterator[Change]:
    """The small changes that are possible at one place."""
    if isinstance(node, ast.stmt):
        yield from _statements(node)
    elif isinstance(node, ast.BinOp):
        if type(node.op) in _BINARY:
            yield _set(op=_BINARY[type(node.op)]())
        if isinstance(node.op, ast.Sub | ast.Div | ast.Pow | ast.MatMult):
            yield _set(left=node.right, right=node.left)
        yield _replace(lambda n: n.left)
        yield _replace(lambda n: n.right)
        if isinstance(node.op, ast.Pow) and (one_less := _one_less(node.right)):
            base = ast.unparse(node.left)
            yield _instead(ast.parse(f"({base}) ** ({one_less}) / ({base})", mode="eval").body)
        if isinstance(node.op, ast.Pow) and not _is_even(node.right):
            yield _set(left=ast.parse(f"abs({ast.unparse(node.left)})", mode="eval").body)
    elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARE:
        yield _set(ops=[_COMPARE[type(node.ops[0])]()])
        yield from _letters(node)
    elif isinstance(node, ast.BoolOp):
        yield _set(op=ast.Or() if isinstance(node.op, ast.And) else ast.And())
        for one in node.values:
            yield _instead(one)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield _replace(lambda n: n.operand)
    elif isinstance(node, ast.IfExp):
        yield _replace(lambda n: n.body)
        yield _replace(lambda n: n.orelse)
        yield _set(body=node.orelse, orelse=node.body)
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield _set(elts=node.elts[::-1])
        yield _replace(lambda n: n.elts[0])
    elif isinstance(node, ast.Constant) and not isinstance(node.value, str):
        yield from _constants(node.value)
    elif isinstance(node, ast.Attribute) and node.attr in ("T", "mT"):
        yield _replace(lambda n: n.value)
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in names:
        for other in names:
            if other != node.id:
                yield _set(id=other)
    elif isinstance(node, ast.comprehension) and node.ifs:
        yield _set(ifs=[])
    elif isinstance(node, ast.Call):
        yield from _calls(node)
        # One more for pop or get is what they return if nothing is found.
        if node.args and not ast.unparse(node.func).endswith((".pop", ".get")):
            for extra in ("True", *names):
                yield _replace(_with_argument(len(node.args), extra))


def _letters(node: ast.Compare) -> Iterator[Change]:
    """A word compared by `in`: part of a longer word, or a longer word around it."""
    other = {ast.Eq: ast.In, ast.NotEq: ast.NotIn}.get(type(node.ops[0]))
    sides = [node.left, node.comparators[0]]
    if other and any(isinstance(side, ast.Constant) and isinstance(side.value, str) for side in sides):
        for inner, outer in (sides, sides[::-1]):
            yield _instead(ast.Compare(inner, [other()], [outer]))


def _one_less(exponent: Any) -> str:
    """`k` of an exponent `k - 1`; "" for any other."""
    is_less = isinstance(exponent, ast.BinOp) and isinstance(exponent.op, ast.Sub)
    return ast.unparse(exponent.left) if is_less and ast.unparse(exponent.right) == "1" else ""


def _is_even(exponent: Any) -> bool:
    return isinstance(exponent, ast.Constant) and isinstance(exponent.value, int) and exponent.value % 2 == 0


def _statements(node: Any) -> Iterator[Change]:
    if isinstance(node, ast.AugAssign):
        yield _replace(lambda n: ast.Assign(targets=[n.target], value=n.value))
        if type(node.op) in _BINARY:
            yield _set(op=_BINARY[type(node.op)]())
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
        yield _replace(lambda n: ast.AugAssign(target=n.targets[0], op=ast.Add(), value=n.value))
    if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr | ast.Return):
        yield _replace(_gone)
    elif isinstance(node, ast.If):
        for always in (True, False):
            yield _set(test=ast.Constant(always))
        if node.orelse:
            yield _set(orelse=[])
    elif isinstance(node, ast.With):
        yield _replace(lambda n: n.body)
    elif isinstance(node, ast.For):
        yield _set(body=[*node.body, ast.Break()])
    elif isinstance(node, ast.While):
        yield _replace(lambda n: ast.If(n.test, n.body, []))


def _calls(node: ast.Call) -> Iterator[Change]:
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    function = node.func.id if isinstance(node.func, ast.Name) else ""
    if method in _UNWRAPPED:
        yield _replace(lambda n: n.func.value)
    if function in _COPIES and len(node.args) == 1:
        yield _replace(lambda n: n.args[0])
    if function == "len" and len(node.args) == 1:
        for dimension in (1, -1):
            yield _instead(ast.parse(f"({ast.unparse(node.args[0])}).shape[{dimension}]", mode="eval").body)
    for other in _TAKEN_FOR.get(method or function, ()):
        yield _renamed(other)
    if method in _BY_THE_BOOK and isinstance(node.func, ast.Attribute) and len(node.args) == 1:
        module, x = ast.unparse(node.func.value), ast.unparse(node.args[0])
        yield _instead(ast.parse(_BY_THE_BOOK[method].format(m=module, x=x), mode="eval").body)
    if len(node.args) == 2 and not any(isinstance(one, ast.Starred) for one in node.args):
        yield _set(args=node.args[::-1])
    if len(node.args) > 1:
        yield _set(args=node.args[:-1])
    for i in range(len(node.keywords)):
        yield _set(keywords=[k for j, k in enumerate(node.keywords) if j != i])


def _renamed(other: str) -> Change:
    def change(node: Any, tree: Any, path: Path) -> None:
        if isinstance(node.func, ast.Attribute):
            node.func.attr = other
        else:
            node.func.id = other

    return change


def _constants(value: Any) -> Iterator[Change]:
    if value is True or value is False:
        yield _set(value=not value)
    elif isinstance(value, int | float):
        yield _set(value=value + 1)
        if value:
            yield _set(value=type(value)(0))


# --- what outlives a call -------------------------------------------------------------------------


def _kept_between_calls(tree: ast.Module, inside: set[int]) -> Iterator[tuple[str, ast.Module]]:
    """Each list, dict and `ctx` that should be new in every call, as one for all calls."""
    for path, node, _ in _walk(tree, (), ()):
        if isinstance(node, ast.ClassDef) and any(
            isinstance(n, ast.Name) and n.id == "ctx" for n in ast.walk(node)
        ):
            mutant = copy.deepcopy(tree)
            _at(mutant, path[:-1])[path[-1]] = _OnTheClass(node.name).visit(_at(mutant, path))
            yield f"{node.lineno}: ctx -> {node.name}", mutant
        if isinstance(node, ast.FunctionDef):
            for i, one in enumerate(node.body):
                if isinstance(one, ast.Assign) and one.lineno in inside and _makes_something(one.value):
                    mutant = copy.deepcopy(tree)
                    function = _at(mutant, path)
                    moved = function.body.pop(i)
                    function.body[:0] = ast.parse(f"{ast.unparse(moved.targets[0])} = kept").body
                    function.args.args.append(ast.arg("kept"))
                    function.args.defaults.append(moved.value)
                    if _free(moved.value) <= {"dict", "list", "set"}:
                        yield f"{one.lineno}: {ast.unparse(one)} -> once for all calls", mutant


def _makes_something(value: ast.expr) -> bool:
    """Whether a list, dict or set is among the values."""
    return any(isinstance(one, ast.List | ast.Dict | ast.Set) for one in [value, *getattr(value, "elts", [])])


def _free(value: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}


class _OnTheClass(ast.NodeTransformer):
    """What is kept for the way back is kept on the class, where a second forward run replaces it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "save_for_backward":
            return ast.parse(
                f"setattr({self.name}, 'kept', ({', '.join(map(ast.unparse, node.args))},))", mode="eval"
            ).body
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if node.attr == "saved_tensors":
            return ast.parse(f"{self.name}.kept", mode="eval").body
        if isinstance(node.value, ast.Name) and node.value.id == "ctx":
            return ast.Attribute(ast.Name(self.name, ast.Load()), node.attr, node.ctx)
        return self.generic_visit(node)


# --- right but for some values --------------------------------------------------------------------

Rewrite = Callable[[Any], Any]
"""Called with a copy of a node; returns what stands in its place: it, changed, or another one, or several statements."""


def _right_but_for_some(tree: ast.Module, inside: set[int]) -> Iterator[tuple[str, ast.Module]]:
    """A loop that passes over one kind of value, values that are cut to their first element, or to 32 bits, and None that takes its partner along."""
    for path, node, _ in _walk(tree, (), ()):
        if getattr(node, "lineno", 0) in inside:
            for what, make in _for_some(node):
                yield _rewritten(tree, path, what, make)
        if isinstance(node, ast.FunctionDef):
            for place, one, _ in _walk(node, (), ()):
                if getattr(one, "lineno", 0) in inside and _puts_in_order(one):
                    for test in _tests_elsewhere(node, one):
                        what = f"{_short(ast.unparse(one))}, only where {test}"
                        yield _rewritten(tree, (*path, *place), what, _only_where(test))


def _tests_elsewhere(function: ast.FunctionDef, statement: ast.AST) -> Iterator[str]:
    """The conditions of a function, and the opposite of each, but for those in a statement and those that it stands under."""
    own = list(ast.walk(statement))
    for node in ast.walk(function):
        if isinstance(node, ast.If | ast.IfExp) and node not in own and statement not in ast.walk(node):
            parts = node.test.values if isinstance(node.test, ast.BoolOp) else []
            for one in (node.test, *parts):
                yield from (f"{no}({ast.unparse(one)})" for no in ("", "not "))


def _puts_in_order(node: ast.AST) -> bool:
    """Whether a statement gives a variable a new value that is made of the old one."""
    names = {ast.unparse(one) for one in getattr(node, "targets", [])}
    return isinstance(node, ast.Assign) and bool(names & _free(node.value))


def _only_where(test: str) -> Rewrite:
    return lambda node: ast.If(_expression(test), [node], [])


def _for_some(node: Any) -> Iterator[tuple[str, Rewrite]]:
    if isinstance(node, ast.For | ast.While):
        for place, name in _given_values(node):
            yield f"passed over where {name} is 0", _with_line(place, f"if 0 <= {name} <= 0: continue")
            yield f"passed over where {name} is negative", _with_line(place, f"if {name} < 0: continue")
    if isinstance(node, ast.For):
        yield "two turns at most", _with("iter", "list({})[:2]")
    elif (
        isinstance(node, ast.Assign | ast.AugAssign)
        and not isinstance(node.value, ast.Constant | ast.Dict | ast.List)
        and not isinstance(getattr(node, "targets", [None])[0], ast.Tuple)
    ):
        yield f"{_short(ast.unparse(node))}, the first element alone", _with("value", "({})[:1]")
    elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) == "None":
        one, unlike = ast.unparse(node.left), isinstance(node.ops[0], ast.IsNot)
        test = f"{one} is not None and {one}.any()" if unlike else f"{one} is None or not {one}.any()"
        yield f"{ast.unparse(node)} -> {test}", lambda n: _expression(test)
        if not one.endswith(".grad"):
            new = (
                f"{one} is not None and {one}.grad is None"
                if unlike
                else f"{one} is None or {one}.grad is not None"
            )
            yield f"{ast.unparse(node)} -> {new}", lambda n: _expression(new)
    elif isinstance(node, ast.Return) and node.value is not None:
        for i, part in enumerate(_parts_of(node.value)):
            if not isinstance(part, ast.Constant):
                text = ast.unparse(part)
                yield f"{_short(text)} in 32 bits", _with_part(i, f"({text}).float()")
                yield f"{_short(text)} in 64 bits", _with_part(i, f"({text}).double()")
                yield f"{_short(text)} to four digits", _rounded(i, text)
    elif isinstance(node, ast.ListComp):
        yield f"{_short(ast.unparse(node))} only once", lambda n: ast.GeneratorExp(n.elt, n.generators)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "zip":
        for i, one in enumerate(map(ast.unparse, node.args)):
            yield f"{one} without its None", _with_argument(i, f"[one for one in ({one}) if one is not None]")


def _given_values(loop: Any) -> Iterator[tuple[int, str]]:
    """(the place in a loop's body from where on it is there, name) of each variable that a turn gives a value to."""
    counts = isinstance(loop, ast.While) or ast.unparse(loop.iter).startswith(("range(", "enumerate("))
    made: list[tuple[int, ast.expr]] = [] if counts else [(0, loop.target)]
    made += [(i, one.targets[0]) for i, one in enumerate(loop.body, 1) if isinstance(one, ast.Assign)]
    for place, target in made:
        for one in target.elts if isinstance(target, ast.Tuple) else [target]:
            if isinstance(one, ast.Name):
                yield place, one.id


_ROUND = ast.parse("""
def to_four_digits(x):
    if isinstance(x, (tuple, list)):
        return type(x)(map(to_four_digits, x))
    if hasattr(x, 'detach'):
        return x - (x - torch.round(x * 10000) / 10000).detach()
    return round(x, 4)
""").body
"""Numbers that are rounded, whose history goes on as if they were not."""


def _rounded(i: int, text: str) -> Rewrite:
    return lambda node: [*_ROUND, _with_part(i, f"to_four_digits({text})")(node)]


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _with_line(place: int, text: str) -> Rewrite:
    def make(node: Any) -> Any:
        node.body[place:place] = ast.parse(text).body
        return node

    return make


def _with_argument(i: int, text: str) -> Rewrite:
    """Another argument at place `i` of a call, or one more."""

    def make(node: Any) -> Any:
        node.args[i : i + 1] = [_expression(text)]
        return node

    return make


def _with(field: str, form: str) -> Rewrite:
    """Another expression for a field of a node: `form` with its text for {}."""

    def make(node: Any) -> Any:
        setattr(node, field, _expression(form.format(ast.unparse(getattr(node, field)))))
        return node

    return make


def _rewritten(tree: ast.Module, path: Path, what: str, make: Rewrite) -> tuple[str, ast.Module]:
    """The mutant with one node rewritten, and its name."""
    mutant = copy.deepcopy(tree)
    line = _at(mutant, path).lineno
    _replace(make)(_at(mutant, path), mutant, path)
    return f"{line}: {what}", mutant


# --- what is left behind --------------------------------------------------------------------------


def _left_behind(tree: ast.Module, inside: set[int]) -> Iterator[tuple[str, ast.Module]]:
    """Recording that stays off, a list that is used up, something that was only to be read and is changed, and the first call's argument."""
    for path, node, _ in _walk(tree, (), ()):
        if isinstance(node, ast.FunctionDef) and node.body[-1].lineno in inside and len(path) == 2:
            for name in (argument.arg for argument in node.args.args):
                yield _rewritten(tree, path, f"{name} of the first call, in all calls", _kept_for_all(name))
            if node.args.args:
                yield _rewritten(tree, path, "the first answer for these shapes, in all calls", _by_shape)
                yield _rewritten(tree, path, "the first answer for these objects, in all calls", _by_identity)
                yield _rewritten(tree, path, "the answers of one shape, in one memory", _one_memory)
        elif getattr(node, "lineno", 0) in inside:
            for what, make in _behind(node):
                yield _rewritten(tree, path, what, make)


def _behind(node: Any) -> Iterator[tuple[str, Rewrite]]:
    if isinstance(node, ast.With) and ast.unparse(node.items[0].context_expr).endswith("no_grad()"):
        off = ast.parse("torch.set_grad_enabled(False)").body
        yield "no_grad is never left", lambda n: [*off, *n.body]
    if isinstance(node, ast.For) and isinstance(node.iter, ast.Name):
        text = f"while {node.iter.id}: {ast.unparse(node.target).strip('()')} = {node.iter.id}.pop(0)"
        yield text, lambda n: _with_line(1, "\n".join(map(ast.unparse, n.body)))(ast.parse(text).body[0])
    if isinstance(node, ast.For):
        written = {
            ast.unparse(n)
            for n in ast.walk(node)
            if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        }
        for one in sorted({ast.unparse(n) for n in ast.walk(node) if _reads_attribute(n)} - written):
            yield f"{one} grows by 1 in each turn", _with_line(len(node.body), f"{one} = {one} + 1")


def _reads_attribute(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
    )


def _kept_for_all(name: str) -> Rewrite:
    def make(function: Any) -> Any:
        function.body[:0] = ast.parse(f"{name} = kept.setdefault(0, {name})").body
        function.args.args.append(ast.arg("kept"))
        function.args.defaults.append(_expression("{}"))
        return function

    return make


_SHAPE = """
def shape(x):
    if hasattr(x, 'shape'):
        return tuple(x.shape)
    if isinstance(x, (int, float)):
        return type(x)
    return repr(x) if isinstance(x, str) or not hasattr(x, '__len__') else len(x)
"""


def _by_shape(function: Any) -> Any:
    """The function, with a memory that tells tensors apart by their shapes, lists by their lengths, and numbers not at all."""
    function = _remembering(function, "tuple(map(shape, ({names},)))")
    function.body[:0] = ast.parse(_SHAPE).body
    return function


def _by_identity(function: Any) -> Any:
    """The function, with a memory by what the arguments are, not by what they hold: a tensor that has been written to since gets the old answer."""
    return _remembering(function, "tuple(map(id, ({names},)))")


def _remembering(function: Any, key: str) -> Any:
    """The function, which gives its first answer for each `key` of its arguments."""
    names = ", ".join(argument.arg for argument in function.args.args)
    inner = copy.deepcopy(function)
    inner.name = "anew"
    remember = (
        f"key = {key.format(names=names)}\n"
        "if key not in kept:\n"
        f"    kept[key] = anew({names}), {names}\n"  # the arguments live on: no other gets their address
        "return kept[key][0]"
    )
    function.body = [inner, *ast.parse(remember).body]
    function.args.args.append(ast.arg("kept"))
    function.args.defaults.append(_expression("{}"))
    return function


_INTO = """
def into(x, place=''):
    if isinstance(x, tuple):
        return tuple(into(one, f'{place}{i} ') for i, one in enumerate(x))
    if isinstance(x, dict):
        last = kept.setdefault(place, {})
        last.clear()
        last.update(x)
        return last
    if isinstance(x, list) and not any(hasattr(one, 'copy_') for one in x):
        last = kept.setdefault(place, [])
        last[:] = x
        return last
    if isinstance(x, list):
        return [into(one) for one in x]
    return kept.setdefault(tuple(x.shape), x.detach().clone()).copy_(x)
"""


def _one_memory(function: Any) -> Any:
    """The function, with results that are written into a tensor kept for each shape, or into one list or dict: a later call changes what an earlier one gave."""
    inner = copy.deepcopy(function)
    inner.name = "anew"
    names = ", ".join(argument.arg for argument in function.args.args)
    function.body = [*ast.parse(_INTO).body, inner, *ast.parse(f"return into(anew({names}))").body]
    function.args.args.append(ast.arg("kept"))
    function.args.defaults.append(_expression("{}"))
    return function


# --- what is written in place ---------------------------------------------------------------------

_IN_PLACE: dict[type, str] = {ast.Add: "add_", ast.Sub: "sub_", ast.Mult: "mul_", ast.Div: "div_", ast.Pow: "pow_"}  # fmt: skip
_METHODS_IN_PLACE = (
    "abs", "clamp", "detach", "exp", "float", "log", "masked_fill", "neg", "pow", "sigmoid", "sqrt", "square", "t", "tanh", "transpose", "unsqueeze",
)  # fmt: skip
"""Methods that have a twin, with an underscore, that writes in place."""
_FOR_A_WHILE = {
    "{} is changed for a while": "{}.add_(1).sub_(1)",
    "a hook is left on {}": "{}.register_hook(lambda g: torch.nan_to_num(g, 0.0, 0.0, 0.0))",
}


def _in_place(tree: ast.Module, inside: set[int]) -> Iterator[tuple[str, ast.Module]]:
    """Operations that write in place; what a function was given, or what was saved for it, as the place for a result, changed for a while, with a hook."""
    for path, function, _ in _walk(tree, (), ()):
        if not isinstance(function, ast.FunctionDef):
            continue
        given = _given(function)
        for place, node, _ in _walk(function, (), ()):
            if getattr(node, "lineno", 0) in inside and node is not function:
                for what, make in _written(node, list(given)):
                    yield _rewritten(tree, (*path, *place), what, make)
        if function.body[-1].lineno in inside and _is_outermost(tree, path):
            for name, begin in given.items():
                for what, line in _FOR_A_WHILE.items():
                    yield _rewritten(tree, path, what.format(name), _with_line(begin, line.format(name)))


def _is_outermost(tree: Any, path: Path) -> bool:
    """Whether no function is around the one at this path."""
    return not any(isinstance(_at(tree, path[:i]), ast.FunctionDef) for i in range(1, len(path)))


def _given(function: ast.FunctionDef) -> dict[str, int]:
    """{name: the place in the body from which on it is there} of what a function does not own: its arguments, what it takes from ctx."""
    given = {one.arg: 0 for one in function.args.args if one.arg not in ("self", "ctx")}
    for place, one in enumerate(function.body, 1):
        if isinstance(one, ast.Assign) and "saved_tensors" in ast.unparse(one.value):
            given |= {n.id: place for n in ast.walk(one.targets[0]) if isinstance(n, ast.Name)}
    return given


def _written(node: Any, given: list[str]) -> Iterator[tuple[str, Rewrite]]:
    old = ast.unparse(node)
    if isinstance(node, ast.BinOp) and (method := _IN_PLACE.get(type(node.op))):
        sides = [(node.left, node.right)]
        if isinstance(node.op, ast.Add | ast.Mult):
            sides.append((node.right, node.left))
        for one, other in sides:
            if _has_a_name(one):
                yield from _instead_of(old, f"{ast.unparse(one)}.{method}({ast.unparse(other)})")
    elif (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _METHODS_IN_PLACE
    ):
        if _has_a_name(node.func.value):
            owner, name = ast.unparse(node.func.value), node.func.attr
            yield from _instead_of(old, old.replace(f"{owner}.{name}(", f"{owner}.{name}_(", 1))
    elif isinstance(node, ast.Attribute) and node.attr == "T" and _has_a_name(node.value):
        yield from _instead_of(old, f"{ast.unparse(node.value)}.t_()")
    elif isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp):
        target, first, second = node.targets[0], node.value.left, node.value.right
        if isinstance(node.value.op, ast.Add | ast.Mult) and ast.unparse(second) == ast.unparse(target):
            first, second = second, first
        if ast.unparse(first) == ast.unparse(target):
            new = ast.AugAssign(cast("Any", target), node.value.op, second)
            yield f"{old} -> {ast.unparse(new)}", lambda n: new
    elif isinstance(node, ast.Return) and node.value is not None:
        for i, part in enumerate(_parts_of(node.value)):
            for name in given:
                if ast.unparse(part) != name and not isinstance(part, ast.Constant):
                    text = f"{name}.copy_({ast.unparse(part)})"
                    yield f"{_short(ast.unparse(part))} -> {_short(text)}", _with_part(i, text)


def _parts_of(value: ast.expr) -> list[ast.expr]:
    """The values that a function returns."""
    return value.elts if isinstance(value, ast.Tuple) else [value]


def _instead_of(old: str, new: str) -> Iterator[tuple[str, Rewrite]]:
    yield f"{_short(old)} -> {_short(new)}", lambda n: _expression(new)


def _with_part(i: int, text: str) -> Rewrite:
    """A return statement with another expression for its value, or for one of its values."""

    def make(node: Any) -> Any:
        if isinstance(node.value, ast.Tuple):
            node.value.elts[i] = _expression(text)
        else:
            node.value = _expression(text)
        return node

    return make


def _has_a_name(node: ast.expr) -> bool:
    """Whether others may hold what an expression gives: a variable, or a part of one."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name)


# --- what tells things apart ----------------------------------------

_COARSER = {
    "sorted": "{0}[:-1] + (tuple(sorted({0}[-1])),)",
    "as a set": "{0}[:-1] + (frozenset({0}[-1]), {0}[-1][:1])",
    "first two": "{0}[:-1] + ({0}[-1][:2],)",
    "in one word": "''.join(c for c in str({0}) if c.isalnum())",
}
"""Keys that are the same for some tuples that are not."""


def _coarser_keys(tree: ast.Module, inside: set[int]) -> Iterator[tuple[str, ast.Module]]:
    """Each tuple that is the key of a dict or set, wherever it is one, as a key that tells less apart."""
    keys = {
        ast.unparse(key): getattr(key, "lineno", 0)
        for _, node, _ in reversed(list(_walk(tree, (), ())))
        for key in _keys_of(node)
        if isinstance(key, ast.Tuple) and getattr(key, "lineno", 0) in inside
    }
    for text, line in keys.items():
        for how, coarser in _COARSER.items():
            key = text if text.startswith("(") else f"({text})"
            mutant = _Keys(text, ast.parse(coarser.format(key), mode="eval").body).visit(copy.deepcopy(tree))
            yield f"{line}: the key {key} -> {how}", mutant


def _keys_of(node: Any) -> list[ast.expr]:
    """What is looked up in, or put into, a dict or set at this node."""
    if isinstance(node, ast.Subscript):
        return [node.slice]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
        return [node.left]
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr
    return node.args[:1] if called in ("get", "setdefault", "add", "pop") else []


class _Keys(ast.NodeTransformer):
    """Puts another key in the place of one, everywhere."""

    def __init__(self, text: str, new: ast.expr) -> None:
        self.text, self.new = text, new

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for key in _keys_of(node):
            if ast.unparse(key) == self.text:
                if isinstance(node, ast.Subscript):
                    node.slice = self.new
                elif isinstance(node, ast.Compare):
                    node.left = self.new
                elif isinstance(node, ast.Call):
                    node.args[0] = self.new
        return node


# --- programs that do nothing ---------------------------------------------------------------------


def idle(handed_out: str) -> Iterator[tuple[str, str]]:
    """(name, text) of every idle program that can be made from an answer's cell as students get it."""
    yield "as handed out", handed_out
    found = [node for node in ast.walk(ast.parse(handed_out)) if isinstance(node, ast.FunctionDef)]
    for work in (*IDLE, *range(max(len(function.args.args) for function in found))):
        tree = ast.parse(handed_out)
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef):
                names = [argument.arg for argument in function.args.args]
                text = f"return {names[min(work, len(names) - 1)]}" if isinstance(work, int) else work
                function.body = ast.parse(text).body
        yield f"return argument {work + 1}" if isinstance(work, int) else work, ast.unparse(tree)
    for value in (None, 0):
        tree = ast.parse(handed_out)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value is ...:
                node.value = value
        yield f"{value} in the gaps", ast.unparse(tree)
