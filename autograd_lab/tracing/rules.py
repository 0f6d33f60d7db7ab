"""A node's rule with the numbers put in: "g * b" becomes "24 * 3", if that really gives what was sent.

The engine writes each rule once, as text ("to a: g * b; to b: g * a"). This module reads that text, calls the
operands by their names in the user's code and substitutes scalar values. A substitution whose result is not
the value the engine recorded is dropped: the screen then shows the rule in symbols, never a wrong sum.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from .trace import Record, Trace

_NAME = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?![\w(])")
_WORDS = re.compile(r"[a-z]{2,} [a-z]{2,}|\bg [a-z]{2,}")  # "g in the old shape": a sentence, not a formula
_PROSE = re.compile(
    r"(,\s+(?=[a-z]{2,}\s|0 )|\s+\((?=[a-z]{2,} [a-z]{2,})).*$"
)  # ", zero where b = 0" and the like
_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
}
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sin": math.sin,
    "cos": math.cos,
    "abs": abs,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
}


@dataclass(frozen=True)
class Term:
    """What a node sends to one operand: `rule` in symbols, `numbers` substituted ("" where not scalars)."""

    operand: int
    to: str
    rule: str
    numbers: str
    value: int | None


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


def scalar(value: Record | None) -> float | None:
    """The number in a 0-d value, None for anything else."""
    if value is None or value["shape"] or "data" not in value:
        return None
    return float(value["data"])


def describe(value: Record | None) -> str:
    """A value in a sentence: "24", "[1, 2, 3]", "8x4 values from -1.6 to 0.95"."""
    if value is None:
        return "None"
    shape, wild = value["shape"], value.get("nan", 0) + value.get("inf", 0)
    if "data" in value:
        if not shape:
            return number(_float(value["data"]))
        flat = [float(x) if isinstance(x, str) else x for x in _flatten(value["data"])]
        if 0 < len(flat) <= 4:
            return _nested(value["data"])
        finite = [x for x in flat if math.isfinite(x)]
        wild = len(flat) - len(finite)
        low, high = min(finite, default=None), max(finite, default=None)
    else:
        low, high = _float(value.get("min")), _float(value.get("max"))
    size = "x".join(map(str, shape)) + " values"
    if low is not None and high is not None:
        size += f", all {number(low)}" if low == high else f" from {number(low)} to {number(high)}"
    return f"{size}, {wild} of them nan or inf" if wild else size


def terms(trace: Trace, n: int, incoming: list[int | None], outgoing: list[int | None]) -> list[Term]:
    """What node `n` sends to each operand, for the gradients it got and gave (both as ids of values)."""
    node = trace.nodes[n]
    if "inner" in node:
        sent = zip(_slice_sends(trace, node), outgoing, strict=False)
        return [Term(i, to, rule, "", v) for i, ((to, rule), v) in enumerate(sent)]
    clauses = split(node.get("vjp") or "")
    names = symbols(trace, n)
    values = {**_scalars(trace, n), "g": _scalar_at(trace, incoming[0] if len(incoming) == 1 else None)}
    found = []
    for i, v in enumerate(outgoing):
        formal, rule = clauses[i] if i < len(clauses) else ("", "")
        rule = _plain(rule, node)
        if rule == "g" and v is not None and _shape(trace, v) != _shape(trace, incoming[0]):
            rule = "g summed to its shape"  # what broadcasting copied is added up again
        numbers, result = "", _scalar_at(trace, v)
        if rule and result is not None:
            numbers = substitute(rule, values)
            if numbers and not _agrees(numbers, result):
                numbers = ""
        found.append(
            Term(i, names.get(formal, formal) or _operand(trace, node, i), rename(rule, names), numbers, v)
        )
    return found


def _operand(trace: Trace, node: Record, i: int) -> str:
    """What to call operand `i` of a node whose rule has no names; of a compiled function it is an argument."""
    name = trace.tensors[node["inputs"][i]]["name"] if node.get("compiled") else ""
    return name or f"operand {i}"


def forward(trace: Trace, n: int) -> tuple[str, str]:
    """What node `n` computed: the maths in the user's names, and in numbers ("" where not scalars)."""
    node = trace.nodes[n]
    if "inner" in node:
        return _slice_forward(trace, node), ""
    left, equals, right = _plain(node.get("math") or "", node).rstrip(".").partition("=")
    if not equals or not node["outputs"]:
        return "", ""
    left, right = left.strip(), _PROSE.sub("", right.strip())
    numbers, result = "", _scalar_at(trace, trace.tensors[node["outputs"][0]]["value"])
    if result is not None:
        values = _scalars(trace, n)
        values.pop(left, None)
        numbers = substitute(right, values)
        numbers = f"{number(result)} = {numbers}" if numbers and _agrees(numbers, result) else ""
    return rename(f"{left} = {right}", symbols(trace, n)), numbers


def sends(trace: Trace, n: int) -> list[tuple[str, str]]:
    """What node `n` will send to whom, in the user's names: [("x", "g * w"), ("w", "g * x")].

    The rule is "" where nothing will be sent, because that operand needs no gradient.
    """
    node, names = trace.nodes[n], symbols(trace, n)
    wanted = [edge is not None for edge in node["edges"]]
    if "inner" in node:
        clauses = _slice_sends(trace, node)
    else:
        clauses = [
            (names.get(to, to), rename(_plain(rule, node), names))
            for to, rule in split(node.get("vjp") or "")
        ]
    return [(to, rule if i >= len(wanted) or wanted[i] else "") for i, (to, rule) in enumerate(clauses)]


def _slice_names(trace: Trace, node: Record) -> dict[str, str]:
    """The letters of the rule inside a CopySlices: its first operand is the view, and so is its result."""
    inner = node["inner"]
    base, *others = [trace.tensors[t]["name"] for t in node["inputs"]]
    view = trace.tensors[inner["view"]]["name"] or f"{base or 'base'}[slice]"
    formal = [letter for letter, _ in split(inner.get("vjp") or "")]
    result = (inner.get("math") or "").partition("=")[0].strip()
    return {result: view} | {
        letter: name or letter for letter, name in zip(formal, [view, *others], strict=False)
    }


def _slice_sends(trace: Trace, node: Record) -> list[tuple[str, str]]:
    """What a CopySlices sends: to the old base g, with its slice sent back through the rule inside; to the other operands their share."""
    inner, names = node["inner"], _slice_names(trace, node)
    clauses = split(inner.get("vjp") or "")
    found = []
    for i, t in enumerate(node["inputs"]):
        rule = _plain(clauses[i][1], inner) if i < len(clauses) else ""
        told = rule and not _WORDS.search(rule)
        if i == 0:
            through = (
                f"{rename(rule, names)} in its slice" if told else f"its slice sent back through {node['op']}"
            )
            rule = "g" if rule == "g" else f"g, with {through}"
        else:
            rule = (
                rename(rule, {**names, "g": "g[slice]"}) if told else f"what {node['op']} sends for the slice"
            )
        found.append((trace.tensors[t]["name"] or f"operand {i}", rule))
    return found


def _slice_forward(trace: Trace, node: Record) -> str:
    """What a CopySlices did, as a formula: "b[slice] = v * 3"; "" where the rule inside says it in words."""
    inner = node["inner"]
    _, equals, right = _plain(inner.get("math") or "", inner).rstrip(".").partition("=")
    right = _PROSE.sub("", right.strip())
    if not equals or _WORDS.search(right):
        return ""
    return f"{trace.tensors[node['inputs'][0]]['name'] or 'base'}[slice] = {rename(right, _slice_names(trace, node))}"


@lru_cache(4096)
def split(vjp: str) -> list[tuple[str, str]]:
    """The rule's text as (operand, expression) pairs: "to a: g * b; to b: g * a (the factors swap)".

    Words around the expressions are dropped; a rule that names no operand ("-g") speaks of its only one, a.
    """
    clauses = [clause.strip().rstrip(".") for clause in vjp.split(";")]
    pairs = []
    for clause in clauses:
        head, colon, expression = clause.partition(":")
        if colon and head.startswith("to "):
            for name in re.split(r",\s*|\s+and\s+", head[3:].strip()):
                pairs.append((name, _PROSE.sub("", expression.strip())))
    if not pairs and clauses[0]:
        pairs.append(("a", _PROSE.sub("", clauses[0])))
    return pairs


def is_number(tensor: Record) -> bool:
    """Whether a tensor is a number the user wrote: in `2 * x` the recorder calls one operand "2".

    A parameter may be called "0" or "0.weight" as well, after its place in a module.
    """
    if tensor["requires_grad"] or tensor["shape"]:
        return False
    try:
        float(tensor["name"])
    except ValueError:
        return False
    return True


def symbols(trace: Trace, n: int) -> dict[str, str]:
    """The rule's own letters and the user's names for them: {"a": "x", "b": "w", "y": "loss"}."""
    node = trace.nodes[n]
    formal = [name for name, _ in split(node.get("vjp") or "")]
    owners: dict[str, int] = dict(zip(formal, node["inputs"], strict=False))
    result = (node.get("math") or "").partition("=")[0].strip()
    if result.isidentifier() and len(node["outputs"]) == 1:
        owners[result] = node["outputs"][0]
    names = {letter: trace.tensors[t]["name"] or letter for letter, t in owners.items()}
    meant: dict[str, set[int | str]] = {"g": {"g"}}  # never two things under one letter
    for letter, t in owners.items():
        meant.setdefault(names[letter], set()).add(t if trace.tensors[t]["name"] else letter)
    return names if all(len(things) == 1 for things in meant.values()) else {}


def rename(expression: str, names: Mapping[str, str]) -> str:
    """The expression in the user's names; words are left as they are."""
    if _WORDS.search(expression):
        return expression
    return _NAME.sub(lambda m: names.get(m[0], m[0]), expression)


def substitute(expression: str, values: Mapping[str, float | None]) -> str:
    """The expression with numbers for names, "" when a name in it has no scalar value."""
    wanted = set(_NAME.findall(expression))
    if not wanted or _WORDS.search(expression) or any(values.get(name) is None for name in wanted):
        return ""

    def put(match: re.Match[str]) -> str:
        text = number(values[match[0]])
        power = expression[match.end() :].startswith(" **")
        return f"({text})" if text.startswith("-") and (match.start() or power) else text

    text = _NAME.sub(put, expression)
    return text if _evaluate(text) is not None else ""


def _scalars(trace: Trace, n: int) -> dict[str, float | None]:
    """The scalar values of the rule's letters: operands, result, numeric parameters."""
    node = trace.nodes[n]
    values: dict[str, float | None] = {}
    for name, x in (node.get("params") or {}).items():
        if isinstance(x, int | float) and not isinstance(x, bool):
            values[name] = float(x)
    for (letter, _), t in zip(split(node.get("vjp") or ""), node["inputs"], strict=False):
        values[letter] = _scalar_at(trace, trace.tensors[t]["value"])
    result = (node.get("math") or "").partition("=")[0].strip()
    if node["outputs"]:
        values[result] = _scalar_at(trace, trace.tensors[node["outputs"][0]]["value"])
    return values


def _plain(expression: str, node: Record) -> str:
    """The expression with the node's own numbers: no factor alpha = 1, and an exponent n or a constant c as such."""
    params = node.get("params") or {}
    if params.get("alpha", 1) == 1:
        expression = expression.replace("alpha * ", "")
    for name in ("exponent", "self", "other"):  # the rules call an exponent n and a constant c
        x = params.get(name)
        if isinstance(x, int | float) and not isinstance(x, bool) and x >= 0:
            expression = rename(expression, {"n": number(x), "c": number(x)})
            expression = re.sub(rf"\({re.escape(number(x))} - 1\)", number(x - 1), expression)
    return re.sub(r" \*\* 1(?![\w.])", "", expression)


def _scalar_at(trace: Trace, v: int | None) -> float | None:
    return None if v is None else scalar(trace.values[v])


def _shape(trace: Trace, v: int | None) -> list[int] | None:
    return None if v is None else trace.values[v]["shape"]


def _agrees(text: str, result: float) -> bool:
    computed = _evaluate(text)
    if computed is None:
        return False
    if math.isnan(result) or math.isinf(result):
        return repr(computed) == repr(result)
    return math.isclose(computed, result, rel_tol=5e-3, abs_tol=1e-6)  # the text has four digits


@lru_cache(1000)
def _evaluate(text: str) -> float | None:
    """The value of plain arithmetic, None for anything else (a tree walk, nothing is executed)."""
    try:
        return float(_walk(ast.parse(text, mode="eval").body))
    except (SyntaxError, ValueError, TypeError, KeyError, ArithmeticError):
        return None


def _walk(tree: ast.AST) -> Any:
    match tree:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.BinOp(left, op, right):
            return _BINARY[type(op)](_walk(left), _walk(right))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_walk(operand)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _BINARY[type(op)](_walk(left), _walk(right))
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return _FUNCTIONS[name](*map(_walk, args))
    raise ValueError


def _float(x: Any) -> Any:
    return float(x) if isinstance(x, str) else x


def _flatten(data: Any) -> list[Any]:
    if not isinstance(data, list):
        return [data]
    if not any(isinstance(part, list) for part in data):  # most numbers stand in rows: not one call for each
        return data
    return [x for part in data for x in _flatten(part)]


def _nested(data: Any) -> str:
    return f"[{', '.join(map(_nested, data))}]" if isinstance(data, list) else number(_float(data))
