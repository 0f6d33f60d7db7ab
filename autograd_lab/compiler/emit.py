"""Turns a graph into readable NumPy source.

A step becomes an expression (`x @ w`, `np.maximum(z, 0)`) if there is one that reproduces the bits of its rule, which is tested on numbers;
every other step calls its rule. A result is written over an operand of the same size that is no longer read, so that a chain of pointwise
steps works in one buffer.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..torchlike.dtypes import NARROW, as_places
from ..torchlike.ops.rule import KERNELS, RULES
from ..torchlike.ops.slicing import at
from ..torchlike.random import DEFAULT, rng_of
from . import graph as ir
from .capture import near
from .graph import Graph, NotAsCaptured, Step, Value
from .passes import LARGE, pointwise

Expression = Callable[..., str | None]
Constant = Callable[[str, np.ndarray], str]

BINARY = {"AddBackward0": "+", "SubBackward0": "-", "MulBackward0": "*", "DivBackward0": "/"}
COMPARISONS = {"gt": ">", "lt": "<", "ge": ">=", "le": "<=", "eq": "==", "ne": "!="}
UFUNCS = {
    "ExpBackward0": "exp", "LogBackward0": "log", "TanhBackward0": "tanh", "SinBackward0": "sin", "CosBackward0": "cos",
    "SqrtBackward0": "sqrt", "AbsBackward0": "abs", "Expm1Backward0": "expm1", "Log1PBackward0": "log1p",
    "SinhBackward0": "sinh", "CoshBackward0": "cosh", "SgnBackward0": "sign",
}  # fmt: skip


def expression(step: Step, names: list[str]) -> str | None:
    """A NumPy expression for a step whose operands have these names, or None if its rule should be called."""
    rule, args = step.rule, step.args
    if step.how == "view":
        return _view(args, names[0])
    if step.how == "cast":
        return f"{names[0]}.astype(np.{np.dtype(args[0]).name})"
    if step.how == "fold":
        return _fold(step, names[0])
    if step.how == "named":
        return f"{names[0]} {COMPARISONS[rule]} {names[1]}" if rule in COMPARISONS and not args else None
    if step.how == "draw":
        return DRAWN[rule](*args) if rule in DRAWN else None
    if step.how == "kernel":
        return inlined(step, names, KERNELS[rule])
    if step.how != "call":
        return None
    if step.casts:
        names = [
            n if d is None else f"{n}.astype(np.{np.dtype(d).name})"
            for n, d in zip(names, step.casts, strict=True)
        ]
    if rule in BINARY:
        a, b = names
        if rule[:3] in ("Add", "Sub") and args and args[0] != 1:
            return f"{a} {BINARY[rule]} {b} * {args[0]!r}"
        return f"{a} {BINARY[rule]} {b}"
    if rule in UFUNCS:
        return f"np.{UFUNCS[rule]}({names[0]})"
    if rule in EXPRESSIONS:
        return EXPRESSIONS[rule](step, *names)
    return inlined(step, names)


def inlined(step: Step, names: list[str], forward: Any = None) -> str | None:
    """The expression that the rule's `forward` returns, with the operands' names substituted, if `forward` does nothing else."""
    forward = forward or RULES[step.rule].forward
    if step.rule in ir.INDEXED_ALONG:
        return None  # it is called, so that it checks the indices
    if isinstance(forward, np.ufunc):
        return f"np.{forward.__name__}({', '.join(names)})" if not step.args else None
    parameters, returned = _returned(forward)
    if not returned:
        return None
    given = [*names, *(repr(a) for a in step.args)]
    if len(given) > len(parameters):
        return None
    try:
        words = {p: ast.parse(g, mode="eval").body for p, g in zip(parameters, given, strict=False)}
    except SyntaxError:
        return None
    value = ast.parse(returned, mode="eval").body
    free = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
    if not free <= {*words, "np"} or any(
        isinstance(n, ast.Lambda | ast.comprehension) for n in ast.walk(value)
    ):
        return None
    often = [p for p in words if sum(isinstance(n, ast.Name) and n.id == p for n in ast.walk(value)) > 1]
    if any(not isinstance(words[p], ast.Name | ast.Constant) for p in often):
        return None

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.AST:
            return words.get(node.id, node)

    return ast.unparse(ast.fix_missing_locations(Put().visit(value)))


@lru_cache(maxsize=1000)
def _returned(forward: Any) -> tuple[list[str], str]:
    """The parameters of a function that only returns something, and that expression; "" of any other function."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(forward))).body[0]
    except (OSError, TypeError, SyntaxError, IndexError):
        return [], ""
    if not isinstance(tree, ast.FunctionDef) or tree.args.vararg:
        return [], ""
    body = [
        line
        for line in tree.body
        if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
    ]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or body[0].value is None:
        return [], ""
    return [a.arg for a in tree.args.args], ast.unparse(body[0].value)


def _coins(shape: tuple, p: float) -> str:
    return f"(rng().random({shape}) < {1 - p!r})"


DRAWN: dict[str, Callable[..., str]] = {
    "kept": lambda shape, p, dtype: f"{_coins(shape, p)}.astype(np.{dtype.name})",
    "dropout_mask": lambda shape, p, dtype: f"{_coins(shape, p)} / np.{dtype.name}({1 - p!r})",
}
"""The arguments with which random numbers are drawn."""


def _view(args: tuple, x: str) -> str | None:
    kind, what = args
    if kind == "same":
        return x
    if kind == "reshape":
        return f"{x}.reshape({', '.join(map(str, what)) or '()'})"
    if kind == "transpose":
        return f"{x}.T" if what == tuple(reversed(range(len(what)))) else f"{x}.transpose{what}"
    if kind == "broadcast":
        return f"np.broadcast_to({x}, {what})"
    if kind == "slice":
        return f"{x}[{', '.join(map(_index, what)) or '()'}]"
    return None


def _index(i: Any) -> str:
    if not isinstance(i, slice):
        return str(i)
    text = f"{'' if i.start is None else i.start}:{'' if i.stop is None else i.stop}"
    return text if i.step is None else f"{text}:{i.step}"


def _fold(step: Step, g: str) -> str | None:
    have, (want,) = step.inputs[0].shape, step.args  # type: ignore[union-attr]
    lead = len(have) - len(want)
    if lead >= 0 and have[lead:] == want:
        axes = tuple(range(lead))
        return f"np.add.reduce({g}, {axes[0] if len(axes) == 1 else axes})"
    if lead == 0:
        axes = tuple(d for d, n in enumerate(want) if n == 1 and have[d] != 1)
        return f"np.add.reduce({g}, {axes[0] if len(axes) == 1 else axes}, keepdims=True)"
    return None


def _product(operands: Sequence[Value | None], x: str, y: str) -> str:
    """A matrix product; for vectors and matrices the method `dot`, the fastest way into BLAS."""
    small = all(v is not None and len(v.shape) in (1, 2) for v in operands)
    return f"{x}.dot({y})" if small else f"{x} @ {y}"


def _addmm(step: Step, c: str, a: str, b: str) -> str | None:
    if tuple(step.args[:2]) not in ((), (1, 1)):
        return None
    return f"{_product(step.inputs[1:3], a, b)} + {c}"


def _reduce(step: Step, x: str) -> str | None:
    dims, keep = (*step.args, None, None)[:2]
    if dims is None or dims == ():
        return f"np.add.reduce({x}, None)"
    dims = dims[0] if isinstance(dims, tuple) and len(dims) == 1 else dims
    return f"np.add.reduce({x}, {dims}{', keepdims=True' if keep else ''})"


def _sums_rows(step: Step) -> int:
    """The number of rows that a step sums, if it only sums the rows of a float matrix: then ones @ matrix is faster."""
    x = step.inputs[0] if step.inputs else None
    if x is None or len(x.shape) != 2 or x.dtype.itemsize not in (4, 8) or x.dtype.kind != "f":
        return 0
    sums = step.how == "call" and step.rule == "SumBackward1" and step.args in (((0,),), ((0,), False))
    folds = step.how == "fold" and step.args == ((x.shape[1],),)
    return x.shape[0] if (sums or folds) and 0 < x.shape[0] <= 4096 else 0


EXPRESSIONS: dict[str, Expression] = {
    "NegBackward0": lambda step, a: f"-{a}",
    "CloneBackward0": lambda step, a: f"{a}.copy()",
    "ReluBackward0": lambda step, a: f"np.maximum({a}, 0)",
    "ReciprocalBackward0": lambda step, a: f"1 / {a}",
    "PowBackward0": lambda step, a, *b: f"{a} ** {step.args[0]!r}" if not b and step.args else None,
    "MmBackward0": lambda step, a, b: _product(step.inputs[:2], a, b),
    "BmmBackward0": lambda step, a, b: f"{a} @ {b}",
    "MvBackward0": lambda step, a, b: _product(step.inputs[:2], a, b),
    "DotBackward0": lambda step, a, b: _product(step.inputs[:2], a, b),
    "AddmmBackward0": _addmm,
    "SumBackward0": lambda step, a: f"np.add.reduce({a}, None)",
    "SumBackward1": _reduce,
    "GtBackward0": lambda step, a, b: f"{a} > {b}",
}
"""Expressions for rules that have a NumPy equivalent. One that does not reproduce the rule's bits is not used."""


def statements(
    step: Step, names: list[str], outs: list[str], dead: set[str], constant: Constant
) -> list[str] | None:
    """Several lines for a step that is more than one expression, or None. `dead` operands may be written over.

    `outs` are the names of the results; one that is written over an operand takes the operand's name.
    `constant(name, array)` passes an array to the code and returns its name there.
    """
    if [part.rule for part in step.body] == ["NllLossBackward0", "LogSoftmaxBackwardDataBackward0"]:
        return _softmax_minus_one(step, dict(zip(step.inputs, names, strict=True)), outs[0], constant)
    if step.how == "vjp" and step.rule == "NllLossBackward0":
        return _nll_vjp(step, names, outs[0], constant)
    if step.how == "put":
        return _put(step, names, outs, dead, constant)
    if step.how == "view" and step.args[0] == "take":
        return [f"{outs[0]} = {names[0]}.take({constant(f'at_{outs[0]}', as_places(step.args[1]))})"]
    if step.rule in PUT_INTO_ZEROS and step.how == "call":
        where = PUT_INTO_ZEROS[step.rule](*step.args)[:-1]  # without the dots that keep it a view
        return [
            f"{outs[0]} = np.zeros({step.outs[0].shape}, np.{step.outs[0].dtype.name})",
            f"{outs[0]}[{', '.join(map(_index, where))}] = {names[0]}",
        ]
    rows = _sums_rows(step)
    if rows:
        return [f"{outs[0]} = {_ones(rows, step.outs[0].dtype, constant)}.dot({names[0]})"]
    if step.how != "call" or step.casts:
        return None
    if step.rule == "AddmmBackward0" and tuple(step.args[:2]) in ((), (1, 1)):
        return [f"{outs[0]} = {_product(step.inputs[1:3], names[1], names[2])}", f"{outs[0]} += {names[0]}"]
    if step.rule == "LogSoftmaxBackward0" and step.inputs[0].shape:  # type: ignore[union-attr]
        return _log_softmax(step, names[0], outs, dead, constant)
    if step.rule == "ThresholdBackwardBackward0" and step.outs[0].shape and names[0] in dead:
        outs[0] = names[0]
        return [f"np.putmask({names[0]}, {names[1]} <= {step.args[0]!r}, 0)"]
    if step.rule == "NllLossBackward0":
        return _nll(step, names, outs, constant)
    return None


def _put(step: Step, names: list[str], outs: list[str], dead: set[str], constant: Constant) -> list[str]:
    """A copy, or zeros, or an array that is no longer read, with some elements replaced."""
    kind, what, shape = step.args
    base, piece = names
    out = outs[0]
    where = f"at_{out}"
    lines = [f"{out} = {base}.copy()"]
    if step.inputs[0] is None:
        lines = [f"{out} = np.zeros({shape}, np.{step.outs[0].dtype.name})"]
    elif base in dead:
        outs[0] = out = base
        lines = []
    if kind == "take":
        return [*lines, f"{out}.put({constant(where, what)}, {piece})"]
    return [*lines, f"{out}[{', '.join(map(_index, what)) or '...'}] = {piece}"]


PUT_INTO_ZEROS: dict[str, Callable[..., tuple]] = {
    "SelectBackwardBackward0": lambda dim, index, shape: at(len(shape), dim, index),
    "SliceBackwardBackward0": lambda dim, start, end, step, shape: at(
        len(shape), dim, slice(start, end, None if step == 1 else step)
    ),
}
"""Rules that put an array into zeros, and where they do."""


def _ones(n: int, dtype: np.dtype, constant: Constant) -> str:
    return constant(f"ones{n}" if dtype == np.float32 else f"ones{n}_{dtype.name}", np.ones(n, dtype))


def _log_softmax(step: Step, x: str, outs: list[str], dead: set[str], constant: Constant) -> list[str]:
    """The logits minus their maximum, minus the log of the sum of exp: nothing overflows."""
    dim, value = step.args[0], step.outs[0]
    outs[0] = y = x if x in dead else outs[0]
    rows = len(value.shape) == 2 and dim in (1, -1) and value.dtype in (np.float32, np.float64)
    largest = f"np.maximum.reduce({x}, {dim}, keepdims=True)"
    first = f"{x} -= {largest}" if x == y else f"{y} = {x} - {largest}"
    if rows:
        total = f"np.log(np.exp({y}).dot({_ones(value.shape[1], value.dtype, constant)}))[:, None]"
    else:
        total = f"np.log(np.add.reduce(np.exp({y}), {dim}, keepdims=True))"
    return [first, f"{y} -= {total}"]


def _plain_nll(step: Step) -> bool:
    """The usual case: no weights, class scores in rows, and a scalar loss."""
    x, target, weight = step.inputs[:3]
    reduction, ignored = step.args[:2]
    return (
        weight is None
        and x is not None
        and target is not None
        and len(x.shape) == 2
        and len(target.shape) == 1
        and x.shape[0] > 0
        and x.dtype in (np.float32, np.float64)
        and target.dtype == np.int64
        and reduction in (1, 2)
        and not 0 <= ignored < x.shape[1]
    )


def _places(step: Step, target: str, constant: Constant) -> str:
    """The line that computes the flat positions of the target classes in the matrix."""
    n, classes = step.inputs[0].shape  # type: ignore[union-attr]
    places = f"{target} + {constant(f'starts{n}_{classes}', np.arange(n) * classes)}"
    return f"places = ({places}).astype(np.intp)" if NARROW else f"places = {places}"


def _nll(step: Step, names: list[str], outs: list[str], constant: Constant) -> list[str] | None:
    if not _plain_nll(step):
        return None
    n, classes = step.inputs[0].shape  # type: ignore[union-attr]
    x, target = names[0], names[1]
    dtype = step.outs[0].dtype
    mean = f" / {n}" if step.args[0] == 1 else ""
    return [
        f"if np.maximum.reduce({target}.view(np.uint64)) >= {classes}:  # as unsigned, a negative class is huge",
        f'    raise NotAsCaptured("a target is not one of the {classes} classes")',
        _places(step, target, constant),
        f"{outs[0]} = -{x}.take(places).dot({_ones(n, dtype, constant)}){mean}",
        f"{outs[1]} = np.{dtype.name}({n})",
    ]


def _nll_vjp(step: Step, names: list[str], out: str, constant: Constant) -> list[str] | None:
    if not _plain_nll(step) or len(step.outs) != 1:
        return None
    n, classes = step.inputs[0].shape  # type: ignore[union-attr]
    return [
        _places(step, names[1], constant),
        f"{out} = np.zeros(({n}, {classes}), np.{step.outs[0].dtype.name})",
        f"{out}.put(places, -{names[4]}{f' / {n}' if step.args[0] == 1 else ''})",
    ]


MATRIX = frozenset(("MmBackward0", "AddmmBackward0", "BmmBackward0", "SumBackward1"))
"""Rules that are not pointwise and always allocate their result."""


def _softmax_minus_one(
    step: Step, word: dict[Value | None, str], out: str, constant: Constant
) -> list[str] | None:
    first = step.body[0]
    if not _plain_nll(first) or step.body[1].args != (1,):
        return None
    n = first.inputs[0].shape[0]  # type: ignore[union-attr]
    logp, target, g = (word[first.inputs[i]] for i in (0, 1, 4))
    return [
        _places(first, target, constant),
        f"{out} = np.exp({logp})",
        f"{out}.put(places, {out}.take(places) - 1)",
        f"{out} *= {g}{f' / {n}' if first.args[0] == 1 else ''}",
    ]


class Emitted:
    """The source of one function, and the function."""

    def __init__(self, name: str, source: str, space: dict[str, Any], statements: int) -> None:
        self.source = source
        self.statements = statements
        exec(compile(source, f"<compiled {name}>", "exec"), space)
        self.function: Callable[..., Any] = space[name]


class Writer:
    """Writes one graph as one function.

    into    {place of an output: place of the input that it replaces}: if it is computed last, it is written over the input and not
            returned; `direct` lists these
    """

    def __init__(
        self, graph: Graph, name: str, *, inplace: bool = True, into: dict[int, int] | None = None
    ) -> None:
        self.graph, self.name, self.inplace = graph.named(), name, inplace
        self.into = {self.graph.outputs[k]: self.graph.inputs[i] for k, i in (into or {}).items()}
        self.direct: list[int] = []
        self.placed: tuple[str, Value | None] | None = (
            None  # the last line that computed positions of target classes, and for which tensor
        )
        self.space: dict[str, Any] = {"np": np, "NotAsCaptured": NotAsCaptured, "rng": rng_of}
        self.names: dict[Value, str] = {}
        self.lines: list[str] = []
        self.fresh: set[Value] = set()  # arrays allocated here that nothing else shares
        self.last: dict[Value, float] = {}
        self.rng = np.random.default_rng(0)
        for i, step in enumerate(graph.steps):
            for value in step.values():
                self.last[value] = i
        for out in graph.outputs:
            if out is not None:
                self.last[out] = len(graph.steps)
        self.base: dict[Value, Value] = {}  # a view, and the array it is a view of

    def emitted(self) -> Emitted:
        """The function."""
        for value in self.graph.inputs:
            self.names[value] = value.name
        for value in self.graph.constants():
            self.names[value] = self._constant(value)
        tail = self._tail() if self.inplace else []
        for i, step in enumerate(self.graph.steps):
            if step in tail:
                self._write_over_input(i, step)
            else:
                self._write(i, step)
            if self.inplace:
                self._forget(i)
        replaced = {step.outs[0] for step in tail}
        self.direct = [k for k, v in enumerate(self.graph.outputs) if v in replaced]
        results = [
            self.names[v] if v is not None else "None" for v in self.graph.outputs if v not in replaced
        ]
        head = f"def {self.name}({', '.join(v.name for v in self.graph.inputs)}):"
        end = f"    return ({', '.join(results)}{',' if len(results) == 1 else ''})"
        body = [f"    {line}" for line in self.lines]
        return Emitted(self.name, "\n".join([head, *body, end]) + "\n", self.space, len(self.lines))

    def _tail(self) -> list[Step]:
        """The final steps whose results each replace an input that no later step reads."""
        root: dict[Value | None, Value | None] = {}
        for step in self.graph.steps:
            if step.how in ("view", "views"):
                root.update(dict.fromkeys(step.outs, root.get(step.inputs[0], step.inputs[0])))
        users = self.graph.users()
        found: list[Step] = []
        read: set[Value | None] = set()
        for step in reversed(self.graph.steps):
            target = self.into.get(step.outs[0])
            plain = all(map(pointwise, step.body or [step]))
            if target is None or target in read or users.get(step.outs[0]) != 1 or not plain:
                break
            found.append(step)
            read.update(root.get(v, v) for v in step.values())
        return found

    def _write_over_input(self, i: int, step: Step) -> None:
        """A step of the tail, part by part: the input that its result replaces may be overwritten once its last part reads it."""
        out, parts = step.outs[0], step.body or [step]
        target = self.into[out]
        own = {v for v in step.values() if v is target or self.last[v] == i} | {
            v for part in parts for v in part.outs
        }
        for k, part in enumerate(parts):
            self.last.update((v, i + k / len(parts)) for v in part.values() if v in own)
        self.fresh.add(target)
        for k, part in enumerate(parts):
            self._write(i + k / len(parts), part)
        self.fresh.discard(target)
        self.last.update((v, i) for v in own if i < self.last.get(v, i) < i + 1)
        if self.names[out] != self.names[target]:
            self.lines.append(f"{self.names[target]}[...] = {self.names[out]}")
            self.names[out] = self.names[target]

    def _forget(self, i: int) -> None:
        """Delete the names of large arrays that are not read after step i, which frees their memory."""
        gone = []
        for step in self.graph.steps[: i + 1]:
            for value in step.outs:
                if value.bytes < LARGE or self.last.get(value, i) > i or value not in self.names:
                    continue
                name = self.names.pop(value)
                if name not in self.names.values():  # otherwise another array was written over it
                    gone.append(name)
        if gone:
            self.lines.append(f"del {', '.join(dict.fromkeys(gone))}")

    def _constant(self, value: Value) -> str:
        array = value.array
        if (
            np.ndim(array) == 0
            and isinstance(array, float | int | np.floating | np.integer)
            and not isinstance(array, bool)
        ):
            number = array.item() if isinstance(array, np.generic) else array
            if isinstance(number, int) or np.isfinite(number):
                self._numbers[value] = repr(number)
        self.space[value.name] = array
        return value.name

    @property
    def _numbers(self) -> dict[Value, str]:
        return self.__dict__.setdefault("_known_numbers", {})

    def _write(self, i: float, step: Step) -> None:
        several = self._several(i, step)
        if several is not None:
            lines, names = several
            for line in lines:
                placed = (line, (step.body or [step])[0].inputs[1]) if line.startswith("places = ") else None
                if placed is None or placed != self.placed:
                    self.lines.append(line)
                self.placed = placed or self.placed
            self.names.update(zip(step.outs, names, strict=True))
            self.fresh.update(v for v in step.outs if v.shape)
            return
        parts = step.body or [step]
        if not all(part.single for part in parts[:-1]):
            for part in parts:
                self._write(i, part)
            return
        text: dict[Value, str] = {}
        for part in parts[:-1]:
            text[part.outs[0]] = "(" + self._one(part, text) + ")"
        final = parts[-1]
        target = final.outs[0].name
        over = self._over(i, step, final) if len(parts) == 1 else None
        if over is not None:
            self.lines.append(over)
            return
        right = self._one(final, text)
        names = [v.name for v in final.outs]
        left = target if final.single else ", ".join(names) + ("," if len(names) == 1 else "")
        self.lines.append(f"{left} = {_without_needless_parentheses(right)}")
        for v in final.outs:
            self.names[v] = v.name
        if final.how in ("view", "views"):
            source = final.inputs[0]
            self.base.update(dict.fromkeys(final.outs, self.base.get(source, source)))  # type: ignore[arg-type]
        elif final.outs[0].shape and final.single and self._makes(final, step):
            self.fresh.update(v for v in final.outs if v.shape)

    def _makes(self, final: Step, step: Step) -> bool:
        """Whether the result of a step is certainly a new array."""
        if final.how in ("kernel", "draw"):
            return True
        if final.how == "call":
            return bool(step.body) or pointwise(final) or final.rule in MATRIX
        return final.how == "fold" and final.inputs[0].shape != final.outs[0].shape  # type: ignore[union-attr]

    def _dead(self, i: float, step: Step) -> list[Value]:
        """The operands that were allocated here, are not read from here on, and have no views."""
        return [
            v
            for v in step.values()
            if v in self.fresh
            and self.last[v] == i
            and not any(base is v and self.last.get(view, -1) > i for view, base in self.base.items())
        ]

    def _known(self, name: str, array: np.ndarray) -> str:
        self.space[name] = array
        return name

    def _several(self, i: float, step: Step) -> tuple[list[str], list[str]] | None:
        """(the lines of a step, the names of its results), if it has a multi-line form that reproduces the rule's numbers."""
        names = ["None" if v is None else self.names[v] for v in step.inputs]
        if step.how == "put":  # a number is written as it is
            names = [
                self._numbers.get(v, n) if v is not None else n
                for v, n in zip(step.inputs, names, strict=True)
            ]
        dead = {self.names[v] for v in self._dead(i, step)} if self.inplace else set()
        outs = [v.name for v in step.outs]
        lines = statements(step, names, outs, dead, self._known)
        if lines is None:
            return None
        return (lines, outs) if all(self._fits(step, lines, names, outs, kind) for kind in KINDS) else None

    def _fits(self, step: Step, lines: list[str], names: list[str], outs: list[str], kind: str) -> bool:
        """Whether the lines reproduce the rules' results, on numbers of one kind."""
        known = {v: v.array if v.constant else sample(v, self.rng, kind) for v in step.values()}
        for part in step.body or [step]:
            if (
                part.how == "vjp" and part.rule == "NllLossBackward0"
            ):  # the sum of the weights comes from its forward
                total: Value = part.inputs[3]  # type: ignore[assignment]
                known[total] = total.dtype.type(part.inputs[0].shape[0])  # type: ignore[union-attr]
            if part.rule == "LogSoftmaxBackwardDataBackward0" and part is not step:
                log_softmax, logp = ir.RULES["LogSoftmaxBackward0"].forward, part.inputs[1]
                assert logp is not None
                known[logp] = ir.quietly(log_softmax, known[logp], *part.args)
        arrays = [None if v is None else known[v] for v in step.inputs]
        space = {
            **self.space,
            **{n: np.array(x)[()] for n, x in zip(names, arrays, strict=True) if x is not None},
        }
        try:
            want = ir.perform(step, arrays)
            ir.quietly(exec, "\n".join(lines), space)
        except Exception:  # the lines do not fit this step
            return False
        return all(near(space[name], x) for name, x in zip(outs, want, strict=True))

    def _one(self, step: Step, text: dict[Value, str]) -> str:
        """The right-hand side of a step."""
        names = [
            "None" if v is None else text.get(v) or self._numbers.get(v) or self.names[v] for v in step.inputs
        ]
        exact = [("None" if v is None else text.get(v) or self.names[v]) for v in step.inputs]
        places = [f"_{j}" if v in text else None for j, v in enumerate(step.inputs)]
        for words in (names, exact):
            candidate = expression(step, words)
            probe = expression(step, [p or w for p, w in zip(places, words, strict=True)])
            if candidate is not None and probe is not None and self._right(step, probe, text):
                return candidate
        function = step.op if step.op.isidentifier() else "rule"
        key = self._bind(function, step)
        return f"{key}({', '.join(exact)})"

    def _bind(self, name: str, step: Step) -> str:
        key, n = name, 2
        while key in self.space or key in {v.name for v in self.graph.inputs}:
            key, n = f"{name}_{n}", n + 1
        self.space[key] = ir.function_of(step)
        return key

    def _right(self, step: Step, candidate: str, text: dict[Value, str]) -> bool:
        """Whether the expression reproduces the rule's bits, tested on numbers of each kind; operand j of `text` is called _j."""
        return all(self._agrees(step, candidate, text, kind) for kind in KINDS)

    def _agrees(self, step: Step, candidate: str, text: dict[Value, str], kind: str) -> bool:
        arrays: list[Any] = []
        numbers: dict[Value, Any] = {}
        space: dict[str, Any] = {
            "np": np,
            "rng": rng_of,
            **{self.names[v]: v.array for v in self.graph.constants()},
        }
        for j, v in enumerate(step.inputs):
            if v is None:
                arrays.append(None)
                continue
            x = v.array if v.constant else numbers.setdefault(v, sample(v, self.rng, kind))
            arrays.append(x)
            space[f"_{j}" if v in text else self.names[v]] = x
        state = DEFAULT.rng.bit_generator.state
        try:
            want = ir.perform(step, arrays)
            if step.how == "draw":
                DEFAULT.rng.bit_generator.state = state
            got = ir.quietly(eval, candidate, space)
        except Exception:  # the expression does not fit this step
            return False
        finally:
            if step.how == "draw":
                DEFAULT.rng.bit_generator.state = state
        return len(want) == 1 and near(got, want[0]) and type(got) is type(want[0])

    def _over(self, i: float, step: Step, final: Step) -> str | None:
        """The step, written over an operand that is no longer read."""
        if not self.inplace or final.how != "call" or not final.single or any(final.casts):
            return None
        out = final.outs[0]
        dead = [v for v in self._dead(i, final) if v.shape == out.shape and v.dtype == out.dtype]
        if not dead:
            return None
        value = dead[0]
        names = ["None" if v is None else self._numbers.get(v) or self.names[v] for v in final.inputs]
        line = None
        if final.rule in BINARY and final.inputs[0] is value and not (final.args and final.args[0] != 1):
            line = f"{names[0]} {BINARY[final.rule]}= {names[1]}"
        elif (
            final.rule in ("MulBackward0", "AddBackward0")
            and final.inputs[1] is value
            and not (final.args and final.args[0] != 1)
        ):
            line = f"{names[1]} {BINARY[final.rule]}= {names[0]}"
        elif final.rule in UFUNCS:
            line = f"np.{UFUNCS[final.rule]}({names[0]}, out={names[0]})"
        elif final.rule == "ReluBackward0":
            line = f"np.maximum({names[0]}, 0, out={names[0]})"
        elif final.rule == "NegBackward0":
            line = f"np.negative({names[0]}, out={names[0]})"
        if line is None or not self._right(final, expression(final, names) or "", {}):
            return None
        self.names[out] = self.names[value]
        self.fresh.add(out)
        return line


def _without_needless_parentheses(text: str) -> str:
    return ast.unparse(ast.parse(text, mode="eval"))


KINDS = ("usual", "edges")
"""The kinds of numbers on which code is tested."""

EDGES = (-1.5, 0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, 0.5, -30.0, 30.0)


def sample(value: Value, rng: np.random.Generator, kind: str = "usual") -> Any:
    """Some numbers in the shape and type of a value; "edges" are those at which rules tend to differ."""
    shape, dtype = value.shape, value.dtype
    if dtype.kind == "f":
        usual = rng.uniform(0.2, 1.8, shape)
        made = (
            usual
            if kind == "usual" or not shape
            else np.where(rng.random(shape) < 0.7, rng.choice(EDGES, shape), usual)
        )
        return made.astype(dtype) if shape else dtype.type(made)
    if dtype.kind == "b":
        return (rng.random(shape) < 0.5) if shape else np.bool_(True)
    return rng.integers(0, 2, shape).astype(dtype) if shape else dtype.type(1)


__all__ = ["RULES", "Emitted", "Writer", "expression", "sample"]
