"""A node's rule with its numbers substituted: "g * b" becomes "24 * 3", if that really gives what was sent.

The engine writes each rule once, as text ("to a: g * b; to b: g * a"; see formulas.py). This module reads that text for one call:
the parameters become numbers, the letters become the names of the user's tensors, or of what made them ("result of mul"), and
never a name that the program uses for something else. A substitution whose result differs from the recorded value is
dropped: the screen then shows the rule in symbols, never a wrong sum.
"""

from __future__ import annotations

import ast
import math
import re
import weakref
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Mapping
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain, count
from typing import Any

import numpy as np

from ..torchlike.ops.rule import RULES
from . import formulas
from .called import called_in, numbered, reads_as_number
from .called import is_number as is_number
from .formulas import Formula
from .formulas import number as number
from .trace import Record, Trace

_POSITIONS = "abcdef"  # the texts' letters for operands
_NO_CODE = re.compile(r"""(["']).*?\1|#.*""")
_WILD = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}  # as in JSON
_REDUCTIONS = ("none", "mean", "sum")  # of a loss, by PyTorch's numbers
_FUNCTIONS: dict[str, Callable[..., float]] = {
    "exp": math.exp,
    "log": math.log,
    "log2": math.log2,
    "log10": math.log10,
    "log1p": math.log1p,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "sin": math.sin,
    "cos": math.cos,
    "tan": math.tan,
    "asin": math.asin,
    "acos": math.acos,
    "atan": math.atan,
    "erf": math.erf,
    "abs": abs,
    "floor": math.floor,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "where": lambda condition, x, y: x if condition else y,
    "maximum": max,
    "minimum": min,
}
"""The functions of numbers, all of which also work elementwise on arrays."""


@dataclass(frozen=True)
class Term:
    """What a node sends to one operand: `rule` in symbols, `numbers` substituted ("" if they are not scalars)."""

    operand: int
    to: str
    rule: str
    numbers: str
    value: int | None


class _Kept:
    """What is kept with a trace and refers to it: weakly, so that both die with the last reference to the trace."""

    _trace: weakref.ref[Trace]

    @property
    def trace(self) -> Trace:
        found = self._trace()
        assert found is not None
        return found

    @trace.setter
    def trace(self, trace: Trace) -> None:
        self._trace = weakref.ref(trace)


class Names(_Kept):
    """The names of one trace's tensors in formulas, and the values that they had when an operation read them."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        lines = [_NO_CODE.sub("", line) for source in trace.sources for line in source["lines"].values()]
        words = {word for line in lines for word in re.findall(r"[^\W\d]\w*", line)}
        for tensor in trace.tensors:
            words.update(re.findall(r"[^\W\d]\w*", tensor["name"]))
        self.taken = words
        for g in chain(("g", "grad", "grad_out"), (f"g{'_' * n}" for n in count(1))):
            if words.isdisjoint(
                [g, *(f"{g}{nr}" for nr in range(10))]
            ):  # g0, g1, ... belong to several results
                self.gradient = g
                break
        self.tensors = called_in(trace)
        self._written = {event["t"] for event in trace.events if event["k"] == "inplace"}
        makers: dict[int, str] = {}
        total, seen = Counter(node["name"] for node in trace.nodes), Counter[str]()
        self.made: list[str] = []  # what each node made, such as "result of mul #2"
        for node in trace.nodes:
            seen[node["name"]] += 1
            nr = f" #{seen[node['name']]}" if total[node["name"]] > 1 else ""  # counted as the narrator does
            by_module = "passed on by a module" if node["name"] in OF_MODULES else ""
            self.made.append((by_module or f"result of {as_in_code(node)}") + nr)
            for i, t in enumerate(node["outputs"], 1):
                which = f"result {i}" if len(node["outputs"]) > 1 else "result"
                makers.setdefault(t, self.made[-1].replace("result", which, 1))
        for event in trace.events:
            if event["k"] == "const":
                for t in event["t"]:
                    makers.setdefault(t, f"result of {_plain_name(event['op'])}")
        for t, name in enumerate(self.tensors):
            if not name:
                plain = not trace.tensors[t]["requires_grad"] and t not in makers
                own = plain and self._own_numbers(t, trace)
                self.tensors[t] = own or makers.get(t) or _by_its_part(trace.tensors[t], self.tensors)
        self.calls: dict[int, _Shown] = {}
        self._follow()

    def hold_for(self, trace: Trace) -> bool:
        """Whether they are the names in the trace of another run, which took the same path with other numbers; it is given them, if so."""
        for t, (tensor, label) in enumerate(zip(trace.tensors, self.tensors, strict=True)):
            if not tensor["name"] and label == self._own_numbers(t, self.trace) != self._own_numbers(
                t, trace
            ):
                return False
        if any(_parameters(a) != _parameters(b) for a, b in zip(self.trace.nodes, trace.nodes, strict=True)):
            return False
        found = copy(self)
        found.trace, found.calls = trace, {n: shown.on(trace) for n, shown in self.calls.items()}
        found._follow()
        vars(trace)["_names"] = found
        return True

    def _own_numbers(self, t: int, trace: Trace) -> str:
        """A tensor without a name called by its numbers, "" if they are many, or changed later."""
        v = trace.tensors[t]["value"]
        value = None if v is None else trace.values[v]
        if value is None or "data" not in value or t in self._written or len(_flatten(value["data"])) > 4:
            return ""
        return _nested(value["data"])

    def of(self, n: int) -> _Shown:
        """The texts of node `n` as shown; computed once."""
        node = self.trace.nodes[n]
        found = self.calls.get(n)
        if found is None or found.told != (node.get("math"), node.get("vjp")):
            found = self.calls[n] = _Shown(self.trace, n)
        return found

    def read(self, n: int, t: int) -> int | None:
        """The value that tensor `t` had when node `n` was made: what it came with, unless something wrote into it before."""
        came_with: int | None = self.trace.tensors[t]["value"]
        return self.then.get((n, t), came_with)

    def written(self, n: int) -> int | None:
        """The value of the first result of node `n` when it was made: an operation may have written it into a tensor that is older."""
        came_with: int | None = self.trace.tensors[self.trace.nodes[n]["outputs"][0]]["value"]
        return self.after.get(n, came_with)

    def free(self, name: str, others: Collection[str] = ()) -> str:
        """The name, with underscores appended until it is neither taken nor among the `others`."""
        while name in self.taken or name in others:
            name += "_"
        return name

    def _follow(self) -> None:
        """For each node with a write in between, note the values of its operands and its result."""
        self.then: dict[tuple[int, int], int | None] = {}  # (node, operand) -> value
        self.after: dict[int, int | None] = {}  # node -> value of the tensor that it wrote into
        now: dict[int, int | None] = {}
        family: dict[int, list[int]] = {}
        for t, tensor in enumerate(self.trace.tensors):
            if tensor.get("base") is not None:
                family.setdefault(tensor["base"], []).append(t)
        if not any(event["k"] == "inplace" for event in self.trace.events):
            return
        for event in self.trace.events:
            if event["k"] in ("node", "inplace") and event.get("n") is not None:
                for t in self.trace.nodes[event["n"]]["inputs"]:
                    if t in now:
                        self.then[event["n"], t] = now[t]
            if event["k"] == "inplace":
                t, base = event["t"], event.get("base")
                root = base[0] if base is not None else t
                if self.trace.tensors[t].get("base") is not None:
                    root = self.trace.tensors[t]["base"]
                for other in (root, *family.get(root, ())):
                    now[other] = None
                if base is not None:
                    now[base[0]] = base[1]
                now[t] = event.get("v")
                if event.get("n") is not None:
                    self.after[event["n"]] = event.get("v")


def _by_its_part(tensor: Record, names: list[str]) -> str:
    """What a tensor that no variable holds is called by what it is for."""
    if tensor.get("part"):
        return str(tensor["part"]).removeprefix("the ")
    if tensor.get("grad_of") is not None:
        return f"gradient of {names[tensor['grad_of']]}"
    return "seed" if tensor.get("seed") is not None else "tensor without a name"


PARAMETERS = "params", "settings"
"""What a node notes of its call beside the operands."""


def _parameters(node: Record) -> list[Any]:
    """What stands in the formulas of a node beside its operands."""
    return [one.get(key) for one in (node, node.get("inner") or {}) for key in PARAMETERS]


def names_of(trace: Trace) -> Names:
    """The names of a trace's tensors in formulas; computed once, and kept with the trace."""
    kept = vars(trace)
    if "_names" not in kept:
        kept["_names"] = Names(trace)
    return kept["_names"]


OF_MODULES = ("BackwardHookFunctionBackward", "BackwardHookFunction")
"""The nodes by which a module with hooks sees its gradients; they pass on what they are given."""


def as_in_code(node: Record) -> str:
    """The name of a node's operation as in a program: split_with_sizes, where its node is SplitWithSizesBackward0; a Function's own."""
    if node["kind"] == "function" and not node.get("compiled") and node["name"] not in OF_MODULES:
        return str(node["name"]).removesuffix("Backward")
    op = _plain_name(node["op"])
    words = re.sub(r"Backward\w*$", "", node["name"])
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=\dD)(?=[A-Z])|(?<=L1)(?=L)", "_", words).lower()
    return CONVERSIONS.get(node["op"]) or (words if words.replace("_", "") == op else op)


CONVERSIONS = {"tocopy": "to", "to_copy": "to", "_to_copy": "to"}
"""PyTorch's own names for what programs call to()."""


def _plain_name(op: str) -> str:
    return op.strip("_") or op


@dataclass
class Call:
    """The texts of one call: parameters substituted, letters bound.

    things   what the letters stand for: ids of tensors in a trace, arrays in the tests
    maths    (letter of a result, what it is)
    sends    for each operand its letter and what it is sent; ("", "") if the text does not say
    """

    things: dict[str, Any]
    maths: list[tuple[str, Formula]]
    sends: list[tuple[str, Formula]]
    definitions: dict[str, ast.expr]
    shapes: dict[str, tuple[int, ...]]


def bound(
    rule: Any,
    text: tuple[str, str],
    given: list[Any],
    results: list[Any],
    saved: Mapping[str, Any],
    params: Mapping[str, Any],
    shape: Callable[[Any], tuple[int, ...] | None],
) -> Call:
    """The Math and VJP texts of one call of `rule`, with `given` operands (None for an absent one) and `results`.

    An operand is named by its position (a, b, c, ...) and by its name in `rule.inputs`, a result y (y0, y1, ...) and by the name
    under which it is saved. `shape` returns the shape of an operand or a result, None if it is not known.
    """
    names = [] if rule is None else list(rule.inputs)
    several = names == ["tensors"]
    things: dict[str, Any] = dict(zip(_POSITIONS, given, strict=False))
    places = dict(zip(things, range(len(given)), strict=False))
    for i, name in enumerate([] if several else names[: len(given)]):
        if name not in ("g", "y"):
            things[name], places[name] = given[i], i
    if given and not several:
        gone = len(names) - getattr(rule, "extras", 0)
        things |= {name: None for name in names[len(given) : gone] if name not in saved}
    if len(results) == 1:
        things["y"] = results[0]
    things |= {f"y{nr}": result for nr, result in enumerate(results)}
    named = getattr(rule, "results", ())
    for name in named:
        nr = named[name] if isinstance(named, dict) else 0
        if nr < len(results):
            things.setdefault(name, results[nr])
    for name, thing in saved.items():
        things.setdefault(name, thing)
    known: dict[str, Any] = {
        name: _WILD.get(x, x) if isinstance(x, str) else x for name, x in params.items() if _is_plain(x)
    }
    if isinstance(known.get("reduction"), int):
        known["reduction"] = _REDUCTIONS[known["reduction"]]
    math, vjp = map(formulas.read, text)
    definitions = {**math.definitions, **vjp.definitions}
    for name in definitions.keys() & things.keys():
        del things[name]  # d may be the fourth operand, but not where a text defines it
    for name in known.keys() & things.keys():
        if name in _POSITIONS:
            del things[name]
        else:
            del known[name]
    shapes: dict[str, Any] = {}
    for name, thing in things.items():
        span = None if thing is None else shape(thing)
        if span is not None:
            shapes[name] = span
    for nr, result in enumerate(results):  # a gradient has the shape of its result
        span = shape(result)
        if span is not None:
            shapes |= {f"g{nr}": span} if nr else {"g0": span, "g": span}
    absent = [name for name, thing in things.items() if thing is None]
    if several:
        spans = [shape(thing) for thing in given]
        if None not in spans:
            shapes["operands"] = tuple(spans)
        things["operands"] = given
    if getattr(rule, "saves_rest", False):  # the index tensors, with gaps where a dim is not indexed
        rest = iter(given[len(names) - 1 :])
        things[names[-1]] = tuple(next(rest) if here else slice(None) for here in known.get("pattern", ()))
        shapes.pop(names[-1], None)

    def put(formula: Formula) -> Formula:
        return formula if isinstance(formula, str) else formulas.simplified(formula, known, shapes, absent)

    sends: list[tuple[str, Formula]] = [("", "")] * len(given)
    for letter, formula in vjp.claims:
        if letter == "each":
            for k in range(len(given)):
                mine = f"a{k}"
                things[mine], span = given[k], shape(given[k])
                if span is not None:
                    shapes[mine] = span
                if isinstance(formula, ast.expr):
                    own = formulas.replaced(formula, {"a": ast.Name(mine), "k": ast.Constant(k)})
                    sends[k] = mine, put(own)
        elif letter in places:
            sends[places[letter]] = letter, put(formula)
    maths = [(left, put(right)) for left, right in math.claims if re.fullmatch(r"y\d*", left)]
    for _, formula in [claim for claim in math.claims if claim[0] == "yk" and isinstance(claim[1], ast.expr)]:
        for nr in range(len(results)):
            maths.append((f"y{nr}", put(formulas.replaced(formula, {"k": ast.Constant(nr)}))))  # type: ignore[arg-type]
    return Call(
        things,
        maths,
        sends,
        {name: put(right) for name, right in definitions.items()},  # type: ignore[misc]
        shapes,
    )


def _is_plain(x: Any) -> bool:
    """Whether a parameter can be written: an array or a function was noted as the name of its type, "<ndarray>"."""
    return (
        all(map(_is_plain, x))
        if isinstance(x, list | tuple)
        else not (isinstance(x, str) and x.startswith("<"))
    )


def operands(node: Record) -> list[int | None]:
    """The tensors of a node in the order of its edges: None for an operand that was not given."""
    found: list[int | None] = node.get("operands") or node["inputs"]
    return found


@dataclass
class _Stated:
    """The texts of all calls of one rule with the same shapes and parameters. Its things are numbers of positions: operands from 0,
    results from RESULTS, what was saved in addition from SAVED.
    """

    call: Call
    letters: frozenset[str]

    def __post_init__(self) -> None:
        self._texts: dict[tuple[str, int], tuple[ast.expr, str, list[tuple[str, ast.expr, str]], str]] = {}

    def text(self, part: str, i: int) -> tuple[ast.expr, str, list[tuple[str, ast.expr, str]], str]:
        """For one formula of `maths` or `sends`: itself, its template, the definitions that it needs, and words to follow it."""
        found = self._texts.get((part, i))
        if found is None:
            letter, formula = getattr(self.call, part)[i]
            assert isinstance(formula, ast.expr)
            formula, needed = formulas.inlined(formula, self.call.definitions)
            parts = [(name, right, formulas.template(right)) for name, right in needed.items()]
            after = self._after(letter, formula) if part == "sends" else ""
            found = self._texts[part, i] = formula, formulas.template(formula), parts, after
        return found

    def _after(self, letter: str, formula: ast.expr) -> str:
        """How broadcasting changes what an operand is sent: the sum over its copies, or one number for all of its elements."""
        own = self.call.shapes.get(letter)
        result = self.call.shapes.get("y0", ())
        spans = _span(formula, {"g": result, "g0": result} | self.call.shapes)
        if (
            own is None
            or spans is None
            or math.prod(spans) == math.prod(own)
            or formulas.is_constant(formula)
        ):
            return ""
        return " to every element" if spans == () else " summed to its shape"


_RESULTS, _SAVED = 1000, 2000
_UNKNOWN = "?"


@lru_cache(4096)
def _stated(rule: Any, text: tuple[str, str], given: Any, results: Any, saved: Any, params: Any) -> _Stated:
    """`given`, `results` and `saved`: the shapes, None for an absent operand, "?" for an unknown one."""
    spans = {
        **dict(enumerate(given)),
        **{_RESULTS + i: span for i, span in enumerate(results)},
        **{_SAVED + i: span for i, (_, span) in enumerate(saved)},
    }
    call = bound(
        rule, text, [None if span is None else i for i, span in enumerate(given)], [_RESULTS + i for i in range(len(results))],
        {name: _SAVED + i for i, (name, _) in enumerate(saved)}, dict(params),
        lambda thing: None if spans[thing] == _UNKNOWN else spans[thing],
    )  # fmt: skip
    letters = set(call.definitions)
    for right in (*[right for _, right in (*call.maths, *call.sends)], *call.definitions.values()):
        letters |= formulas.names_in(right)
    return _Stated(call, frozenset(letters))


def _frozen(x: Any) -> Any:
    return tuple(map(_frozen, x)) if isinstance(x, list | tuple) else x


@cache
def _result_names(rule: Any) -> frozenset[str]:
    saves, plan = getattr(rule, "saves", ()), getattr(rule, "save_plan", ())
    return frozenset(name for name, (_where, nr, _users) in zip(saves, plan, strict=False) if nr is not None)


class _Shown(_Kept):
    """The texts of node `n` of a trace, as they are shown."""

    def __init__(self, trace: Trace, n: int) -> None:
        self.trace, self.n, self.node = trace, n, trace.nodes[n]
        node, ins, outs = self.node, operands(self.node), self.node["outputs"]
        self.told = node.get("math"), node.get("vjp")
        inner = node.get("inner")
        self.inner = inner is not None
        if (
            inner is not None
        ):  # the rule inside a CopySlices: its first operand is the view, and so is its result
            ins, outs = [inner["view"], *node["inputs"][1:]], [inner["view"]]
        told = node if inner is None else inner
        rule = RULES.get(told.get("name", ""))
        text = told.get("math") or "", told.get("vjp") or ""
        if rule is not None and not _readable(text):  # from a trace older than the texts as formulas
            text = rule_texts(rule)
        tensors = trace.tensors
        given: tuple[Any, ...]
        results: tuple[Any, ...]
        if ins or outs:
            given = tuple([None if t is None else tuple(tensors[t]["shape"]) for t in ins])
            results = tuple([tuple(tensors[t]["shape"]) for t in outs])
        else:  # the node is older than the recording: its operands are known by their letters only
            given, results = (_UNKNOWN,) * len(node["edges"]), (_UNKNOWN,)
        kept = [(name, t) for name, t, *_ in node.get("saved") or () if t is not None]
        saved = tuple([(name, tuple(tensors[t]["shape"])) for name, t in kept])
        params = (told.get("settings") or {}) | (told.get("params") or {})
        self.stated = _stated(
            rule, text, given, results, saved, tuple([(k, _frozen(x)) for k, x in params.items()])
        )
        self.call = self.stated.call
        self.results = _result_names(rule)
        self.operands = given
        self.written_into = bool(outs) and bool(ins) and outs[0] == ins[0]
        self.lists = {
            letter: thing for letter, thing in self.call.things.items() if isinstance(thing, list | tuple)
        }
        self.places = {
            **dict(enumerate(ins)),
            **{_RESULTS + i: t for i, t in enumerate(outs)},
            **{_SAVED + i: t for i, (_, t) in enumerate(kept)},
        }
        self.tensors: dict[str, int] = {  # by their letters
            letter: self.places[i]
            for letter, i in self.call.things.items()
            if isinstance(i, int) and self.places.get(i) is not None
        }
        self.names = self._names(ins, outs)
        self._texts: dict[tuple[str, int], str] = {}
        self._reads = [(letter, t, self._is_result(letter)) for letter, t in self.tensors.items()]

    def on(self, trace: Trace) -> _Shown:
        """The texts of this node in the trace of another run of the same path."""
        found = copy(self)
        found.trace, found.node = trace, trace.nodes[self.n]
        return found

    def _is_result(self, letter: str) -> bool:
        return (letter[0] == "y" and (len(letter) == 1 or letter[1:].isdigit())) or letter in self.results

    def _names(self, ins: list[int | None], outs: list[int]) -> dict[str, str]:
        """The name of each letter: unique, and never one that the program uses for something else."""
        called = names_of(self.trace)
        after = self.written_into and not self.inner
        # Operands first, then results; a tensor written in place has its old and its new value.
        things = list(dict.fromkeys([(t, False) for t in ins if t is not None] + [(t, after) for t in outs]))
        labels = [called.tensors[t] for t, _ in things]
        if self.inner and not self.trace.tensors[outs[0]]["name"]:
            labels[0] = f"{called.tensors[self.node['inputs'][0]]}[slice]"
        own = {}
        for i, (thing, label) in enumerate(zip(things, labels, strict=True)):
            again = labels.count(label) > 1 and not is_literal(label)
            own[thing] = numbered(label, labels[:i].count(label) + 1) if again else label
        names = {
            letter: own.get((t, after and self._is_result(letter)), called.tensors[t])
            for letter, t in self.tensors.items()
        }
        for letter, several in self.lists.items():
            shown = ", ".join(
                own.get((ins[i], False), "...") if isinstance(i, int) and i < len(ins) else ":"
                for i in several
            )
            shown = shown or "..."  # PyTorch's node does not tell which places of an index have a tensor
            names[letter] = f"[{shown}]" if letter == "operands" else shown
        gradients = [f"{called.gradient}{nr}" for nr in range(len(outs))]
        names |= {f"g{nr}": g for nr, g in enumerate(gradients)} | {"g": called.gradient}
        names["gs"] = (
            f"[{', '.join(gradients if len(gradients) < 5 else [*gradients[:2], '...', gradients[-1]])}]"
        )
        for letter in sorted(self.stated.letters - names.keys()):
            names[letter] = called.free(letter, {*names.values(), *self.stated.letters} - {letter})
        return names

    def text(self, part: str, i: int, names: Mapping[str, str] = {}) -> str:
        """A formula of `maths` or `sends` in the user's names, followed by the definitions it needs."""
        if names:
            return self._text(part, i, names)
        found = self._texts.get((part, i))
        if found is None:
            found = self._texts[part, i] = self._text(part, i, names)
        return found

    def _text(self, part: str, i: int, names: Mapping[str, str]) -> str:
        formula = getattr(self.call, part)[i][1]
        if isinstance(formula, str):
            return formula
        formula, text, needed, after = self.stated.text(part, i)
        names = {**self.names, **names}
        shown = formulas.filled(text, names)
        if after:
            shown = (
                f"({shown}){after}"
                if not isinstance(formula, ast.Name) and "summed" in after
                else shown + after
            )
        parts = [f"{names.get(name, name)} = {formulas.filled(right, names)}" for name, _, right in needed]
        return f"{shown} with {', '.join(parts)}" if parts else shown

    def sent(self, i: int, names: Mapping[str, str] = {}) -> str:
        """What operand `i` is sent."""
        return self.text("sends", i, names) if i < len(self.call.sends) else ""

    def values(self, incoming: list[int | None]) -> dict[str, float]:
        """The scalars among what the letters stand for, rounded to four digits."""
        seen, found = names_of(self.trace), {}
        for letter, t, is_result in self._reads:
            v = self.trace.tensors[t]["value"]
            if not is_result:
                v = seen.then.get((self.n, t), v)
            elif self.written_into:
                v = seen.after.get(self.n)
            found[letter] = _scalar_at(self.trace, v)
        for k, v in enumerate(incoming):
            found[f"g{k}"] = _scalar_at(self.trace, v)
        if len(incoming) == 1:
            found["g"] = found["g0"]
        return {letter: _rounded(x) for letter, x in found.items() if x is not None}

    def numbers(self, part: str, i: int, values: dict[str, float], result: float) -> str:
        """The formula with numbers in it; "" if a name has none or the value differs from `result`."""
        if i >= len(getattr(self.call, part)) or isinstance(getattr(self.call, part)[i][1], str):
            return ""
        formula, text, needed, _ = self.stated.text(part, i)
        known = ChainMap({}, values)  # a list has thousands of operands, and a formula for each
        for _ in needed:
            for name, right, _ in needed:
                found = _number(right, known)
                if found is not None:
                    known[name] = _rounded(found)
        computed = _number(formula, known)
        if computed is None or "\ue000" not in text or not _agrees(computed, result):
            return ""
        used = {name: number(known[name]) for name in formulas.holes(text) if name in known}
        return formulas.filled(text, used)


def terms(trace: Trace, n: int, incoming: list[int | None], outgoing: list[int | None]) -> list[Term]:
    """What node `n` sends to each operand, for the gradients it got and gave (both as ids of values)."""
    node = trace.nodes[n]
    if "inner" in node:
        sent = zip(_slice_sends(trace, n), outgoing, strict=False)
        return [Term(i, to, rule, "", v) for i, ((to, rule), v) in enumerate(sent)]
    shown = names_of(trace).of(n)
    values = shown.values(incoming)
    found = []
    for i, v in enumerate(outgoing):
        result = _scalar_at(trace, v)
        numbers = "" if result is None else shown.numbers("sends", i, values, result)
        found.append(Term(i, operand_name(trace, n, i), shown.sent(i), numbers, v))
    return found


def operand_name(trace: Trace, n: int, i: int) -> str:
    """What formulas call operand `i` of node `n`: as its tensor, or what made it; "" if it is from before the recording and gets nothing.

    Of an operand that was not given it is the name of the parameter.
    """
    node, called = trace.nodes[n], names_of(trace)
    shown, ins = called.of(n), operands(node)
    t = ins[i] if i < len(ins) else None
    letter = shown.call.sends[i][0] if i < len(shown.call.sends) else ""
    if letter in shown.names and not shown.inner:
        return shown.names[letter]
    if t is not None:
        return called.tensors[t]
    edge = node["edges"][i] if i < len(node["edges"]) else None
    if edge is not None:
        leaf = trace.nodes[edge[0]].get("tensor")
        return called.made[edge[0]] if leaf is None else called.tensors[leaf]
    names = getattr(RULES.get(node["name"]), "inputs", ()) if ins else ()
    return names[i] if i < len(names) else ""


def forward(trace: Trace, n: int) -> tuple[str, str]:
    """What node `n` computed: the maths in the user's names, and in numbers ("" where not scalars)."""
    node = trace.nodes[n]
    shown = names_of(trace).of(n)
    maths = shown.call.maths
    if "inner" in node:
        told = maths and isinstance(maths[0][1], ast.expr)
        return (
            f"{names_of(trace).tensors[node['inputs'][0]]}[slice] = {shown.text('maths', 0)}" if told else ""
        ), ""
    if not maths or not node["outputs"]:
        return "", ""
    equations = "; ".join(
        f"{shown.names.get(left, left)} = {shown.text('maths', i)}" for i, (left, _) in enumerate(maths)
    )
    values, numbers = shown.values([]), ""
    result = values.get(maths[0][0])
    if result is not None:
        values = {letter: x for letter, x in values.items() if not shown._is_result(letter)}
        numbers = shown.numbers("maths", 0, values, result)
        numbers = f"{number(result)} = {numbers}" if numbers else ""
    return equations, numbers


def sends(trace: Trace, n: int) -> list[tuple[str, str]]:
    """What node `n` will send, and to which tensors, in the user's names: [("x", "g * w"), ("w", "g * x")].

    The rule is "" where nothing will be sent, because that operand needs no gradient; so is the name of one that was not given.
    """
    node = trace.nodes[n]
    wanted = [edge is not None for edge in node["edges"]]
    if "inner" in node:
        found = _slice_sends(trace, n)
    else:
        shown = names_of(trace).of(n)
        found = [
            ("", "") if t is None else (operand_name(trace, n, i), shown.sent(i))
            for i, t in enumerate(shown.operands)
            if i < len(wanted)
        ]
        if not any(rule for _, rule in found):
            return []
    return [(to, rule if i >= len(wanted) or wanted[i] else "") for i, (to, rule) in enumerate(found)]


def renamed(trace: Trace, n: int, formula: str) -> str:
    """The formula of a Jacobian, such as "I_2 kron b^T", with the user's names for the letters of the rule."""
    names = names_of(trace).of(n).names if formula else {}
    return re.sub(r"(?<![\w^])[abc]\b", lambda letter: names.get(letter[0], letter[0]), formula)


def _slice_sends(trace: Trace, n: int) -> list[tuple[str, str]]:
    """What a CopySlices sends: to the old base g, with its slice sent back through the rule inside; to the other operands their share."""
    node, shown = trace.nodes[n], names_of(trace).of(n)
    g = names_of(trace).gradient
    found = []
    for i, t in enumerate(node["inputs"]):
        formula = shown.call.sends[i][1] if i < len(shown.call.sends) else ""
        told = isinstance(formula, ast.expr)
        if i == 0:
            rule = shown.sent(i)
            through = f"{rule} in its slice" if told else f"its slice sent back through {node['op']}"
            rule = g if rule == g else f"{g}, with {through}"
        else:
            rule = shown.sent(i, {"g": f"{g}[slice]"}) if told else f"what {node['op']} sends for the slice"
        found.append((names_of(trace).tensors[t], rule))
    return found


def _span(formula: ast.AST, shapes: Mapping[str, tuple[int, ...]]) -> tuple[int, ...] | None:
    """The shape of an elementwise formula, None for any other."""
    match formula:
        case ast.Name(id=name):
            return shapes.get(name)
        case ast.Constant():
            return ()
        case ast.Call(func=ast.Name(id=name), args=parts) if name in _FUNCTIONS:
            pass
        case ast.BinOp(left=left, op=op, right=right) if not isinstance(op, ast.MatMult):
            parts = [left, right]
        case ast.UnaryOp(operand=operand):
            parts = [operand]
        case ast.BoolOp(values=parts):
            pass
        case ast.Compare(left=left, comparators=others):
            parts = [left, *others]
        case _:
            return None
    spans = [_span(part, shapes) for part in parts]
    try:
        return None if None in spans else np.broadcast_shapes(*[span for span in spans if span is not None])
    except ValueError:
        return None


def _readable(text: tuple[str, str]) -> bool:
    return not any(isinstance(formula, str) for part in text for _, formula in formulas.read(part).claims)


_TEXTS = re.compile(
    r"Math:\s*(?P<math>.*?)\s*(?:VJP:\s*(?P<vjp>.*?)\s*)?(?=Shapes:|Saves:|PyTorch:|\n\s*\n|\Z)", re.DOTALL
)
_REMARK = re.compile(r"\.\s+(?=[A-Z]).*", re.DOTALL)


@lru_cache(maxsize=1000)
def rule_texts(rule: type) -> tuple[str, str]:
    """The Math and VJP formulas of a rule's docstring, without remarks; inherited from its nearest base class if it has none."""
    for cls in rule.__mro__:
        found = _TEXTS.search(cls.__dict__.get("__doc__") or "")
        if found:
            math, vjp = (
                re.sub(r"\s+", " ", _REMARK.sub("", found[part] or "")).strip(" .")
                for part in ("math", "vjp")
            )
            return math, vjp
    return "", ""


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
        if flat and all(isinstance(x, bool) for x in flat):
            return f"{'x'.join(map(str, shape))} values, {sum(flat) or 'none'} of them True"
        finite = [x for x in flat if math.isfinite(x)]
        wild = len(flat) - len(finite)
        low, high = min(finite, default=None), max(finite, default=None)
    else:
        low, high = _float(value.get("min")), _float(value.get("max"))
    size = "1 value" if math.prod(shape) == 1 else "x".join(map(str, shape)) + " values"
    if value.get("unwritten"):
        return f"{size}, not {'all ' if value['unwritten'] == 'part' else ''}written yet"
    if low is not None and high is not None:
        size += f", all {number(low)}" if low == high else f" from {number(low)} to {number(high)}"
    return f"{size}, {wild} of them nan or inf" if wild else size


def is_literal(label: str) -> bool:
    """Whether a label is made of numbers: equal ones mean the same then, and need not be told apart."""
    return label.startswith("[") or reads_as_number(label)


def _scalar_at(trace: Trace, v: int | None) -> float | None:
    return None if v is None else scalar(trace.values[v])


def _rounded(x: float) -> float:
    """A number to four digits, an integral one as an integer."""
    shown = float(number(x))
    return int(shown) if math.isfinite(shown) and shown == int(shown) and abs(shown) < 1e6 else shown


def _agrees(computed: float, result: float) -> bool:
    if math.isnan(result) or math.isinf(result):
        return repr(computed) == repr(result)
    return math.isclose(computed, result, rel_tol=5e-3, abs_tol=1e-6)  # the text has four digits


def _number(formula: ast.expr, known: Mapping[str, float]) -> float | None:
    """The value of a formula of numbers, None if it has none."""
    try:
        return float(formulas.evaluate(formula, known, _FUNCTIONS))
    except (KeyError, ValueError, TypeError, ArithmeticError):
        return None


def _float(x: Any) -> Any:
    return float(x) if isinstance(x, str) else x


def _flatten(data: Any) -> list[Any]:
    if not isinstance(data, list):
        return [data]
    if not any(isinstance(part, list) for part in data):  # most numbers are in rows: avoids one call for each
        return data
    return [x for part in data for x in _flatten(part)]


def _nested(data: Any) -> str:
    return f"[{', '.join(map(_nested, data))}]" if isinstance(data, list) else number(_float(data))
