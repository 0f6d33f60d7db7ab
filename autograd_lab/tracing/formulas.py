"""The language of the rules' texts, such as "Math: y = a * b.   VJP: to a: g * b; to b: g * a".

A text is a list of equations and of clauses "to a: ...", separated by semicolons. Their right sides are Python expressions with
torch's names for functions. They are parsed by `ast` and walked, never executed. CONTRIBUTING.md has the rules for writing them;
tests/trace/test_rule_texts.py evaluates each text and compares it with what the engine computes and sends.
"""

from __future__ import annotations

import ast
import contextlib
import math
import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

Formula = ast.expr | str  # a string: words instead of a formula, shown as they are

_CLAUSE = re.compile(r"to ([\w, ]+):\s*(.+)", re.DOTALL)
_EQUATION = re.compile(r"([A-Za-z_]\w*)\s*=(?!=)\s*(.+)", re.DOTALL)
_CONSTANTS = {"pi": math.pi, "inf": math.inf, "nan": math.nan}
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda x, all: x in all,
}


LISTS = ("operands", "indices", "gs")
"""Names in the texts that stand for several tensors."""


@dataclass(frozen=True)
class Text:
    """One parsed text: what it claims of each result or operand, and the names it defines."""

    claims: tuple[tuple[str, Formula], ...]
    definitions: Mapping[str, ast.expr]


@lru_cache(4096)
def read(text: str) -> Text:
    """Parse a Math or VJP text. "to a, b: g" claims the same of both; a clause without "to" is about the only operand, a."""
    claims: list[tuple[str, Formula]] = []
    definitions = {}
    for part in filter(None, (part.strip() for part in text.strip().removesuffix(".").split(";"))):
        clause, equation = _CLAUSE.fullmatch(part), _EQUATION.fullmatch(part)
        if clause:
            claims += [(name.strip(), parsed(clause[2])) for name in clause[1].split(",")]
        elif equation and not re.fullmatch(r"y(\d*|k)", equation[1]):
            right = parsed(equation[2])
            if isinstance(right, ast.expr):
                definitions[equation[1]] = right
        elif equation:
            claims.append((equation[1], parsed(equation[2])))
        else:
            claims.append(("a", parsed(part)))
    return Text(tuple(claims), definitions)


@lru_cache(4096)
def parsed(text: str) -> Formula:
    """The expression `text`, or the text itself if it is not an expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return text.strip()


def simplified(
    formula: ast.expr,
    known: Mapping[str, Any],
    shapes: Mapping[str, Sequence[int]],
    absent: Collection[str] = (),
) -> ast.expr:
    """The formula of one call: parameters `known` substituted, sizes computed, conditions on them decided, factors of 1 dropped.

    shapes   those of operands and results, by their letters
    absent   the letters of operands that are None
    """
    return _Simplifier({**known, **dict.fromkeys(absent)}, shapes).visit(_copied(formula))


def inlined(formula: ast.expr, definitions: Mapping[str, ast.expr]) -> tuple[ast.expr, dict[str, ast.expr]]:
    """The formula with each definition that it uses once substituted, and the other definitions that it needs."""
    if not definitions:
        return formula, {}
    needed: dict[str, ast.expr] = {}
    while True:
        uses = [x.id for part in (formula, *needed.values()) for x in _nodes(part) if isinstance(x, ast.Name)]
        for name, right in definitions.items():
            if name in uses and name not in needed:
                needed[name] = right
                break
        else:
            break
    for name in list(needed):
        right = needed[name]
        uses = [x.id for part in (formula, *needed.values()) for x in _nodes(part) if isinstance(x, ast.Name)]
        if uses.count(name) == 1 or isinstance(right, ast.Constant | ast.Name):
            del needed[name]
            put = _Simplifier({}, {}).visit
            formula = put(replaced(formula, {name: right}))
            needed = {other: put(replaced(part, {name: right})) for other, part in needed.items()}
    return formula, needed


def replaced(formula: ast.expr, parts: Mapping[str, ast.expr]) -> ast.expr:
    """The formula with expressions substituted for names: a copy in all its parts."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return _copied(parts[node.id]) if node.id in parts else node

    return Put().visit(_copied(formula))


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a formula, in any order: in a third of the time that ast.walk takes."""
    waiting = [tree]
    while waiting:
        here = waiting.pop()
        yield here
        # Not all attributes: IPython notes parents on nodes, also on those that all trees share.
        for name in here._fields:
            part = getattr(here, name, None)
            if isinstance(part, ast.AST):
                waiting.append(part)
            elif type(part) is list:
                waiting += [one for one in part if isinstance(one, ast.AST)]


def _copied(tree: Any) -> Any:
    """A copy of a formula, for a visitor that changes what it visits."""
    kind = type(tree)
    copy = ast.AST.__new__(kind)  # not kind(): since Python 3.13 that asks for all fields
    for field in tree._fields:
        part = getattr(tree, field, None)
        if isinstance(part, list):
            part = [_copied(one) if isinstance(one, ast.AST) else one for one in part]
        elif isinstance(part, ast.AST):
            part = _copied(part)
        vars(copy)[field] = part
    return copy


def names_in(formula: Formula) -> set[str]:
    """The names in a formula, without those of functions."""
    if isinstance(formula, str):
        return set()
    called = {id(x.func) for x in _nodes(formula) if isinstance(x, ast.Call)}
    found = {x.id for x in _nodes(formula) if isinstance(x, ast.Name) and id(x) not in called}
    return found - set(_CONSTANTS)


def written(formula: Formula, names: Mapping[str, str] = {}) -> str:
    """The formula as text, with other names; a name of several words gets parentheses."""
    return filled(template(formula), names)


_HOLE = re.compile("\ue000([^\ue001\ue002]+)([\ue001\ue002])")


def filled(text: str, names: Mapping[str, str]) -> str:
    """A template with names in its holes."""

    def put(hole: re.Match[str]) -> str:
        shown = names.get(hole[1], hole[1])
        closed = hole[2] == "\ue001" or hole[1] in LISTS or _ONE_WORD.fullmatch(shown)
        return shown if closed else f"({shown})"

    return _HOLE.sub(put, text)


def holes(text: str) -> list[str]:
    """The names to be filled into a template."""
    return [hole for hole, _ in _HOLE.findall(text)]


_ONE_WORD = re.compile(r"[^\s\-+*/]+|\[.*\]")


def template(formula: Formula) -> str:
    """The formula as text with holes for its names; a hole knows whether a name of several words needs parentheses there."""
    if isinstance(formula, str):
        return formula

    class Hole(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return node if node.id in _CONSTANTS else ast.Name(f"\ue000{node.id}\ue002")

        def visit_Constant(self, node: ast.Constant) -> ast.expr:
            return ast.Name(number(node.value)) if isinstance(node.value, float) else node

        def visit_Call(self, node: ast.Call) -> ast.expr:
            args = [self.alone(x) for x in node.args]
            return ast.Call(node.func, args, [ast.keyword(k.arg, self.alone(k.value)) for k in node.keywords])

        def alone(self, node: ast.expr) -> ast.expr:
            return ast.Name(f"\ue000{node.id}\ue001") if isinstance(node, ast.Name) else self.visit(node)

    text = ast.unparse(Hole().alone(_copied(formula)))
    return re.sub(r"(?<=[*/+@] |- )(-[\w.]+)", r"(\1)", text)


def evaluate(formula: ast.expr, names: Mapping[str, Any], functions: Mapping[str, Callable[..., Any]]) -> Any:
    """The value of a formula. Raises KeyError for a name or function that is not there."""
    walk = partial(evaluate, names=names, functions=functions)
    match formula:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name] if name in names else _CONSTANTS[name]
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](walk(left), walk(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -walk(operand)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return walk(operand) == False  # noqa: E712 - element by element
        case ast.BoolOp(op=op, values=values):
            join = operator.and_ if isinstance(op, ast.And) else operator.or_
            found = walk(values[0])
            for x in values[1:]:
                found = join(found, walk(x))
            return found
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [walk(left), *map(walk, others)]
            found = _BINARY[type(ops[0])](sides[0], sides[1])
            for k, sign in enumerate(ops[1:], 1):
                found = found & _BINARY[type(sign)](sides[k], sides[k + 1])
            return found
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return walk(body) if walk(test) else walk(orelse)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return [walk(x) for x in parts] if isinstance(formula, ast.List) else tuple(map(walk, parts))
        case ast.Attribute(value=value, attr="T"):
            return functions["T"](walk(value))
        case ast.Subscript(value=value, slice=index):
            return walk(value)[walk(index)]
        case ast.Slice(lower, upper, step):
            return slice(*[x if x is None else walk(x) for x in (lower, upper, step)])
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords):
            return functions[name](*map(walk, args), **{str(k.arg): walk(k.value) for k in keywords})
    raise KeyError(ast.unparse(formula))


SIZES: dict[str, Callable[..., Any]] = {
    "numel": lambda shape: math.prod(shape),
    "shape": tuple,
    "ndim": len,
    "before": lambda shapes, k, dim: sum(shape[dim] for shape in shapes[:k] if shape != (0,)),
    "size": lambda shape, dim=None: math.prod(
        shape
        if dim is None or dim == ()
        else [shape[d] for d in ([dim] if isinstance(dim, int) else dim)]
        if shape
        else ()
    ),
}
"""Functions that depend only on the shapes of operands."""

ORDERS: dict[str, Callable[..., Any]] = {
    "inverse_order": lambda dims: tuple(sorted(range(len(dims)), key=lambda i: dims[i] % len(dims))),
    "negative": lambda numbers: tuple(-x for x in numbers),
    "last_dims": lambda shape: tuple(range(-len(shape), 0)),
    "all_but": lambda dim, ndim: tuple(d for d in range(ndim) if d != dim % ndim),
    "abs": abs,
    "min": min,
    "max": max,
    "len": len,
    "product": math.prod,
}
"""Functions of parameters."""


class _Simplifier(ast.NodeTransformer):
    def __init__(self, known: Mapping[str, Any], shapes: Mapping[str, Sequence[int]]):
        self.known, self.shapes = known, shapes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return literal(self.known[node.id]) if node.id in self.known else node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        test = self.visit(node.test)
        if is_constant(test):
            return self.visit(node.body if _value(test) else node.orelse)
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.generic_visit(node)
        left, op = node.left, node.ops[0]
        if isinstance(op, ast.Is | ast.IsNot) and isinstance(left, ast.Name) and left.id in self.shapes:
            return ast.Constant(isinstance(op, ast.IsNot))  # an operand that was given
        return _folded(node, left, *node.comparators)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        stops = isinstance(node.op, ast.Or)
        parts = []
        for x in map(self.visit, node.values):
            if not is_constant(x):
                parts.append(x)
            elif bool(_value(x)) is stops:
                return ast.Constant(stops)
        if len(parts) < 2:
            return parts[0] if parts else ast.Constant(not stops)
        return ast.BoolOp(node.op, parts)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.generic_visit(node)
        inner = node.operand
        if (
            isinstance(node.op, ast.USub)
            and isinstance(inner, ast.UnaryOp)
            and isinstance(inner.op, ast.USub)
        ):
            return inner.operand
        return node if isinstance(node.op, ast.USub) else _folded(node, inner)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, op, right = node.left, node.op, node.right
        unit = 0 if isinstance(op, ast.Add | ast.Sub) else 1
        if isinstance(op, ast.Add | ast.Sub | ast.Mult | ast.Div | ast.Pow) and _is(right, unit):
            return left
        if isinstance(op, ast.Add | ast.Mult) and _is(left, unit):
            return right
        if isinstance(op, ast.Mult) and _is(left, -1):
            return ast.UnaryOp(ast.USub(), right)
        return _folded(node, left, right)

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        at = node.slice
        return _folded(node, node.value, *(ast.iter_child_nodes(at) if isinstance(at, ast.Slice) else [at]))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        args = [self.visit(x) for x in node.args]
        keywords = [ast.keyword(k.arg, self.visit(k.value)) for k in node.keywords]
        for k in keywords:
            if k.arg == "dim" and isinstance(k.value, ast.Tuple) and len(k.value.elts) < 2:
                k.value = k.value.elts[0] if k.value.elts else ast.Constant(None)  # () means all
        name = getattr(node.func, "id", "")
        found = self.spelled_out(name, args, {str(k.arg): k.value for k in keywords})
        if found is not None:
            return found
        if name == "where" and is_constant(args[0]):
            return args[1] if _value(args[0]) else args[2]
        if name in SIZES and isinstance(args[0], ast.Name) and args[0].id in self.shapes:
            rest = [*args[1:], *[k.value for k in keywords]]
            if all(map(is_constant, rest)):
                with contextlib.suppress(IndexError):  # a dim that exists only in calls with more of them
                    return literal(SIZES[name](self.shapes[args[0].id], *map(_value, rest)))
        if name == "expand" and isinstance(args[0], ast.Name) and is_constant(args[1]):
            own = self.shapes.get(args[0].id)
            if own is not None and tuple(own) == _value(args[1]):
                return args[0]
        if name in ORDERS and all(map(is_constant, args)):
            return literal(ORDERS[name](*map(_value, args)))
        keywords = [
            k
            for k in keywords
            if not (isinstance(k.value, ast.Constant) and k.value.value is False)
            and not (is_constant(k.value) and _is_default(name, str(k.arg), _value(k.value)))
        ]
        if name in ("conv", "conv_input", "conv_weight"):
            sizes = self.span(args[1] if name == "conv_weight" else args[0])
            if sizes is not None:
                return ast.Call(ast.Name(name.replace("conv", f"conv{len(sizes) - 2}d")), args, keywords)
        return ast.Call(node.func, args, keywords)

    def span(self, part: ast.expr) -> Sequence[int] | None:
        """The shape of a tensor, or a shape that is written out; None if it is not known."""
        if isinstance(part, ast.Name):
            return self.shapes.get(part.id)
        return _value(part) if isinstance(part, ast.Tuple) and is_constant(part) else None

    def spelled_out(self, name: str, args: list[ast.expr], more: Mapping[str, ast.expr]) -> ast.expr | None:
        """A word of the texts, which are for any shape, in PyTorch's functions for these shapes; None for other words."""
        span = self.span(args[0]) if name in ("spread", "slice") else None
        named = [*args[1:], *[more[key] for key in ("dim", "start", "end", "step") if key in more]]
        if span is None or not all(map(is_constant, named[name == "spread" :])):
            return None
        if name == "slice":
            dim, *bounds = map(_value, named)
            given = zip(("start", "end", "step"), bounds, strict=True)
            part = ast.Slice(*[None if _is_default(name, key, x) else literal(x) for key, x in given])
            before: list[ast.expr] = [ast.Slice() for _ in range(dim % len(span))]
            return ast.Subscript(args[0], ast.Tuple([*before, part]) if before else part)
        whole = self.span(args[1])
        if whole is None:
            return None
        found = args[0]
        if not span:
            return found  # a single number applies to every element
        if len(span) < len(whole):
            gone = _value(named[1])
            for dim in sorted(d % len(whole) for d in ([gone] if isinstance(gone, int) else gone)):
                found = ast.Call(ast.Name("unsqueeze"), [found, ast.Constant(dim)], [])
        kept = math.prod(span) == math.prod(whole)
        return found if kept else ast.Call(ast.Name("expand"), [found, literal(tuple(whole))], [])


def literal(value: Any) -> ast.expr:
    """A parameter's value as an expression."""
    if isinstance(value, tuple | list):
        parts = [literal(x) for x in value]
        return ast.Tuple(parts)
    if isinstance(value, float) and not math.isfinite(value):
        name = ast.Name("nan" if value != value else "inf")
        return ast.UnaryOp(ast.USub(), name) if value < 0 else name
    if isinstance(value, int | float) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


def is_constant(tree: ast.AST) -> bool:
    """Whether an expression contains no value that is known only at run time."""
    return all(
        isinstance(x, ast.Constant | ast.UnaryOp | ast.USub | ast.Tuple | ast.List | ast.Load)
        or (isinstance(x, ast.Name) and x.id in _CONSTANTS)
        for x in _nodes(tree)
    )


def _value(tree: ast.expr) -> Any:
    return evaluate(tree, {}, {})


_CONV = {"stride": 1, "padding": 0, "dilation": 1, "groups": 1}
_SLICE = {"start": 0, "end": 2**63 - 1, "step": 1}
_POOL = {"padding": 0, "dilation": 1}
_DEFAULTS: dict[str, dict[str, int]] = {
    **dict.fromkeys(("conv", "conv_input", "conv_weight"), _CONV),
    **dict.fromkeys(("slice", "slice_scatter"), _SLICE),
    **dict.fromkeys(("max_pool", "max_pool_winners"), _POOL),
}


def _is_default(name: str, key: str, value: Any) -> bool:
    """Whether an argument of a function is what it is if nobody gives it, and need not be shown."""
    usual = _DEFAULTS.get(name, {}).get(key)
    return value is None or (
        usual is not None and all(x == usual for x in (value if isinstance(value, tuple) else (value,)))
    )


def _is(tree: ast.expr, unit: int) -> bool:
    value = _value(tree) if is_constant(tree) else None
    return isinstance(value, int | float) and not isinstance(value, bool) and value == unit


def _folded(node: ast.expr, *parts: ast.expr) -> ast.expr:
    """`node`, or its value if its parts are constants and the value is short to write."""
    if not all(map(is_constant, parts)):
        return node
    try:
        value = _value(node)
    except (ArithmeticError, TypeError, LookupError):
        return node
    if isinstance(value, float) and math.isfinite(value) and float(number(value)) != value:
        return node
    return literal(value)


@lru_cache(10_000, typed=True)
def number(x: Any) -> str:
    """A number as the stepper writes it: four significant digits, no trailing zeros."""
    if isinstance(x, bool | str):
        return str(x)
    if x == 0 or math.isnan(x) or math.isinf(x):
        return f"{x:g}".replace("-0", "0")
    if abs(x) >= 1e6 or abs(x) < 1e-4:
        mantissa, exponent = f"{x:.3e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if x == int(x):
        return str(int(x))
    return f"{x:.4g}" if abs(x) < 1000 else f"{x:.1f}".removesuffix(".0")
