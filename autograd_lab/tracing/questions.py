"""Questions about what comes next, with answers from the trace, so that every recorded program is a quiz.

`questions(trace)` walks through the events once. Before an event whose outcome a learner can predict it asks for
that outcome, and computes which wrong numbers well-known misconceptions lead to, each with one sentence that refutes
it with the numbers of the case. A question is plain data:

    k            the event that answers it: it is asked at step k - 1
    kind         "value", "grad", "shape", "next-node" or "error"
    type         how it is answered: "number", "shape", "choice" or "node"
    ask          the question
    answer       the right answer: a number, nested lists, None, a shape, an option or a node
    shown        the right answer as text
    wrong        [misconception, wrong answer, refutation] each
    options      for "choice" the words; for "node" [node, verdict, misconception, sentence] each
    node         the node it is about, -1 for none
    level        1: part of every quiz, 2: only if its kind was requested, 4: part of playing the engine; summed
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable
from typing import Any

import numpy as np

from . import rules
from .answers import flat, read, same
from .narrate import Narrator
from .state import State
from .trace import Record, Trace

KINDS = ("value", "grad", "shape", "next-node", "error")
ALWAYS, ASKED, ENGINE = 1, 2, 4

MOST_NUMBERS = 4  # for longer arrays it asks for the shape
MOST_QUESTIONS = 600
_AHEAD = 24  # events in which the operations that follow are looked for
_CANDIDATES = 6  # most nodes offered as the next one
_MOST_FORMER = 16  # values that a name had at other times, used as wrong answers

#: The text about a node that cannot be next, by its status; {0} its name, {1} of {2} messages.
STANDING = {
    "waiting": (
        "still-waiting",
        "{0} still waits: {1} of {2} messages have arrived, so its gradient is not complete yet.",
    ),
    "done": ("already-done", "{0} has done its work: a node runs once, when all its messages are in."),
    "made": ("not-reached", "This pass does not reach {0}: no message is on its way there."),
}

# Elementwise rules, so that outgoing / incoming is the local derivative.
_ELEMENTWISE = {
    "add", "sub", "rsub", "mul", "div", "pow", "neg", "exp", "log", "sqrt", "tanh", "sigmoid", "relu", "sin", "cos", "abs",
    "square", "reciprocal", "exp2", "log2", "log10", "log1p", "expm1", "sinh", "cosh", "tan", "rsqrt", "silu", "gelu", "softplus",
}  # fmt: skip
Array = np.ndarray[Any, Any]


def questions(trace: Trace) -> list[Record]:
    """Every question the trace can answer, in order; at most `MOST_QUESTIONS`."""
    with np.errstate(all="ignore"):  # the program may divide by zero, and so may a misconception about it
        return _Asker(trace).all()


def standing(name: str, status: str, arrived: int, of: int) -> tuple[str, str]:
    """Why a node that is not ready cannot be next: the misconception and the sentence."""
    misconception, sentence = STANDING.get(status, STANDING["made"])
    return misconception, sentence.format(name, arrived, of)


class _Wrong:
    """The wrong numbers of one question; a number belongs to the first misconception that leads to it."""

    def __init__(self, right: Any) -> None:
        self.right = right
        self.items: list[list[Any]] = []

    def add(self, misconception: str, value: Any, why: str) -> None:
        """Add a wrong answer, unless it is right, cannot be written down, or is already there."""
        if isinstance(value, np.ndarray | np.generic | float | int):
            value = np.asarray(value, float)
            if value.size > MOST_NUMBERS or not np.isfinite(value).all():
                return
            value = value.tolist()
        typed = value if value is None or isinstance(value, str) else read(_text(value))
        if any(_alike(value, typed, other) for other in (self.right, *(item[1] for item in self.items))):
            return
        self.items.append([misconception, _digits(value), why])


class _Asker:
    """One walk through a trace."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.narrator = Narrator(trace)
        self.state = State(trace)
        self.found: list[Record] = []
        self.latest: dict[str, list[int]] = {}  # name -> the tensors that had it, sorted
        self.met: set[int] = set()  # the tensors in those lists
        self.popped: set[int] = set()
        self.senders: dict[tuple[int, int], int] = {}  # (node, slot) -> the sender of what is there
        self.freed: set[int] = set()
        self.written = False
        self.told_none = False
        self.k = 0

    def all(self) -> list[Record]:
        for k, event in enumerate(self.trace.events, 1):
            self.k = k
            if len(self.found) >= MOST_QUESTIONS:
                break
            ask = getattr(self, "_" + event["k"], None)
            if ask is not None:
                ask(event)
            self.state.advance()
            self._note(event)
        return self.found

    def _note(self, e: Record) -> None:
        """Keep what later questions need and the state does not contain."""
        tensors = e.get("t")
        for t in tensors if isinstance(tensors, list) else [tensors]:
            if t is None:
                continue
            tensor = self.trace.tensors[t]
            name = tensor["name"]
            if name and not rules.is_number(tensor) and t not in self.met:
                self.met.add(t)
                insort(self.latest.setdefault(name, []), t)
        if e["k"] == "deliver":
            self.senders[e["to"], e.get("slot", 0)] = e["n"]
        elif e["k"] == "pop":
            self.popped.add(e["n"])
        elif e["k"] == "inplace":
            self.written = True
        elif e["k"] == "free":
            self.freed.add(e["n"])

    # ---- asking ---------------------------------------------------------------------------------------

    def _put(
        self, kind: str, type_: str, ask: str, answer: Any, shown: str, wrong: Iterable[Any] = (), node: int = -1,
        level: int = ALWAYS | ASKED, options: Any = None,
    ) -> None:  # fmt: skip
        question: Record = {
            "k": self.k, "kind": kind, "type": type_, "ask": ask, "answer": answer, "shown": shown, "wrong": list(wrong),
            "node": node, "level": level,
        }  # fmt: skip
        if options is not None:
            question["options"] = options
        self.found.append(question)

    def _number(self, kind: str, ask: str, value: Array, wrong: _Wrong, node: int, level: int) -> None:
        self._put(kind, "number", ask, _digits(value.tolist()), _show(value), wrong.items, node, level)

    # ---- the forward pass -----------------------------------------------------------------------------

    def _node(self, e: Record) -> None:
        node = self.trace.nodes[e["n"]]
        if len(e["t"]) == 1:
            self._result(
                node["op"], node["inputs"], e["t"][0], e["n"], node.get("params") or {}, ALWAYS | ASKED
            )

    def _const(self, e: Record) -> None:
        if len(e["t"]) == 1:
            self._result(e["op"], e["in"], e["t"][0], -1, {}, ASKED)

    def _result(self, op: str, inputs: list[int], t: int, n: int, params: Record, level: int) -> None:
        if self.state.running:  # results under create_graph are asked as gradients
            return
        tensor, op = self.trace.tensors[t], op.removeprefix("_")
        value = self._array(tensor["value"])
        listed = [self._operand(i) for i in inputs[:3]]
        if isinstance(params.get("exponent"), int | float):
            listed.append(rules.number(params["exponent"]))
        operands = " and ".join(listed)
        runs = f"Next, {op} runs on {operands}." if operands else f"Next, {op} runs."
        name = self.narrator.called[t] or "the result"
        small = value is not None and 0 < value.size <= MOST_NUMBERS
        if small:
            assert value is not None
            wrong = _Wrong(value.tolist())
            self._forward_wrongs(op, inputs, value, params, wrong)
            self._too_far(t, op, value, wrong)
            self._number("value", f"{runs} What is {name}?", value, wrong, n, level)
        if tensor["shape"]:
            right = list(tensor["shape"])
            shapes = _Wrong(right)
            for i in inputs:
                shape = list(self.trace.tensors[i]["shape"])
                label = self.narrator.called[i] or "that operand"
                shapes.add(
                    "operand-shape",
                    shape,
                    f"{_shape(shape)} is the shape of {label}; {op} makes {_shape(right)} here.",
                )
            shapes.add(
                "transposed", right[::-1], f"Rows and columns the other way round: it is {_shape(right)}."
            )
            self._put(
                "shape", "shape", f"{runs} What shape does {name} have?", right, _shape(right), shapes.items, n,
                ASKED if small else level,
            )  # fmt: skip

    def _forward_wrongs(
        self, op: str, inputs: list[int], right: Array, params: Record, wrong: _Wrong
    ) -> None:
        """The results that other operations on the same operands would have."""
        values = [self._now(t) for t in inputs]
        if not values or any(v is None for v in values):
            return
        a = values[0]
        assert a is not None
        y = _show(right)
        if len(values) == 2 and values[1] is not None and op in _BINARY:
            b = values[1]
            swapped = _try(_BINARY[op], b, a)
            if op in ("sub", "div", "pow"):
                wrong.add(
                    "swapped-operands", swapped, f"The order matters: {_show(a)} comes first, so it is {y}."
                )
            for other, name in (
                ("add", "sum"),
                ("mul", "product"),
                ("sub", "difference"),
                ("div", "quotient"),
            ):
                if other != op:
                    number = _try(_BINARY[other], a, b)
                    wrong.add(
                        "wrong-operation",
                        number,
                        f"{_show(number)} is the {name} of the two; this is {op}, which gives {y}.",
                    )
            for i, t in enumerate(inputs):
                for former in self._former(t):
                    pair = [former if i == 0 else a, former if i == 1 else b]
                    label = self.trace.tensors[t]["name"]
                    wrong.add(
                        "old-value",
                        _try(_BINARY[op], *pair),
                        f"{label} was {_show(former)} once, but the name now stands for {_show(values[i])}: it is {y}.",
                    )
        if op == "pow" and isinstance(params.get("exponent"), int | float):
            n = params["exponent"]
            wrong.add("wrong-operation", a * n, f"{_show(a * n)} is {n} times the base; the power is {y}.")
        if op in ("sum", "mean") and a.size:
            other = a.mean() if op == "sum" else a.sum()
            name = "mean" if op == "sum" else "sum"
            wrong.add("mean-is-sum", other, f"{_show(other)} is the {name}; the {op} is {y}.")
        if op == "relu":
            wrong.add("dead-gate", a, f"relu lets nothing below zero through, so it is {y}.")
            wrong.add("wrong-operation", abs(a), f"relu cuts off what is negative, it does not flip it: {y}.")
        if op in ("dot", "mv", "mm", "matmul") and len(values) == 2 and values[1] is not None:
            product = _try(_BINARY["mul"], a, values[1])
            wrong.add(
                "wrong-operation",
                product,
                f"Those are the products element by element; {op} adds them up along the shared dimension: {y}.",
            )
        wrong.add("sign", -right, f"The sign is the other way round: it is {y}.")

    def _too_far(self, t: int, op: str, right: Array, wrong: _Wrong) -> None:
        """The results of the next operations on this one: whoever computes the whole formula at once gives one of them."""
        made, ran = {t}, []
        for e in self.trace.events[self.k : self.k + _AHEAD]:
            if e["k"] == "backward":
                return
            node = self.trace.nodes[e["n"]] if e["k"] == "node" else e
            if e["k"] not in ("node", "const") or made.isdisjoint(
                node["inputs" if e["k"] == "node" else "in"]
            ):
                continue
            made.update(e["t"])
            ran.append(node["op"].removeprefix("_"))
            value = self._array(self.trace.tensors[e["t"][0]]["value"])
            if value is not None and value.shape == right.shape:
                others = (
                    f"{ran[0]} has"
                    if len(ran) == 1
                    else f"{' and '.join(ran[:2]) if len(ran) == 2 else 'others'} have"
                )
                wrong.add(
                    "too-far", value,
                    f"{_show(value)} comes later, when {others} run too. Python works from the inside out: this is {op} alone, "
                    f"and gives {_show(right)}.",
                )  # fmt: skip

    def _inplace(self, e: Record) -> None:
        value, before = self._array(e.get("v")), self._now(e["t"])
        if value is None or before is None or not 0 < value.size <= MOST_NUMBERS:
            return
        name, op = self.narrator.tensors[e["t"]], e.get("op", "an operation")
        others = [self._operand(i) for i in (e.get("in") or [])[1:3]]
        given = f" with {' and '.join(others)}" if others else ""
        wrong = _Wrong(value.tolist())
        wrong.add(
            "inplace-copies",
            before,
            f"{op} works in place: it writes into {name} itself, which is {_show(value)} from now on.",
        )
        if before.shape == value.shape:
            wrong.add("sign", 2 * before - value, f"The change goes the other way: it is {_show(value)}.")
        self._number(
            "value", f"Next, {op} changes {name} = {_show(before)} in place{given}. What is {name} then?", value, wrong, -1,
            ASKED if self.state.running else ALWAYS | ASKED,
        )  # fmt: skip

    # ---- gradients through one node -------------------------------------------------------------------

    def _vjp(self, e: Record) -> None:
        n, node = e["n"], self.trace.nodes[e["n"]]
        name = self.narrator.nodes[n]
        terms = self.narrator.terms(e)
        g = self._array(e["in"][0]) if len(e["in"]) == 1 else None
        came = (
            f"{name} got {rules.names_of(self.trace).gradient} = {_show(g)}."
            if g is not None
            else f"{name} got its gradient."
        )
        targets = [self.narrator._operand(node, term) for term in terms]
        for i, term in enumerate(terms):
            if term.value is None:
                self._nothing(e, i, targets[i], g)
                continue
            target = targets[i]
            if targets.count(target) > 1:
                place = ["first", "second", "third"][min(targets[:i].count(target), 2)]
                target += f", its {place} operand"
            value = self._array(term.value)
            small = value is not None and 0 < value.size <= MOST_NUMBERS
            if small:
                assert value is not None
                wrong = _Wrong(value.tolist())
                if g is not None:
                    self._grad_wrongs(e, i, g, value, term, wrong)
                wrong.add("none-sent", None, f"{target} needs a gradient, so it is sent one: {_show(value)}.")
                ask = f"{came} What does it send to {target}?"
                if self._is_hooked_after():
                    ask = f"{came} What does its rule give for {target}, before a post-hook sees it?"
                self._number("grad", ask, value, wrong, n, ALWAYS | ASKED | ENGINE)
            shape = list(self.trace.values[term.value]["shape"])
            if shape:
                self._grad_shape(e, n, target, shape, i, ASKED if small else ALWAYS | ASKED | ENGINE)

    def _is_hooked_after(self) -> bool:
        """Whether a post-hook runs between this event's rule and the messages."""
        for event in self.trace.events[self.k :]:
            if event["k"] == "hook" and event["stage"] == "post":
                return True
            if event["k"] in ("deliver", "pruned", "pop", "done", "error"):
                break
        return False

    def _nothing(self, e: Record, i: int, target: str, g: Array | None) -> None:
        """Ask about an operand that needs no gradient: once, since the answer is always the same."""
        n, node = e["n"], self.trace.nodes[e["n"]]
        if (
            self.told_none
            or i >= len(node["edges"])
            or node["edges"][i] is not None
            or i >= len(node["inputs"])
        ):
            return
        self.told_none = True
        label = self._operand(node["inputs"][i])
        wrong = _Wrong(None)
        why = f"{label} does not require a gradient, so there is no edge to it: nothing is computed and nothing is sent."
        local = self._message(n, i, g) if g is not None else None
        wrong.add("constant-grad", local, why)
        wrong.add("zero-for-none", 0, f"Not even a zero: {why}")
        if g is not None:
            wrong.add("constant-grad", g, why)
        self._put(
            "grad", "number", f"{self.narrator.nodes[n]} has the operand {label}. What does it send there?", None, "None",
            wrong.items, n,
        )  # fmt: skip

    def _grad_shape(self, e: Record, n: int, target: str, shape: list[int], i: int, level: int) -> None:
        node = self.trace.nodes[n]
        came = list(self.trace.values[e["in"][0]]["shape"]) if e["in"] and e["in"][0] is not None else []
        wrong = _Wrong(shape)
        why = f"A gradient has the shape of the tensor it belongs to: {_shape(shape)}."
        wrong.add("output-shape", came, f"{_shape(came)} is the shape of what came in. {why}")
        wrong.add(
            "jacobian-shape", came + shape, f"That would be the whole Jacobian, which is never built. {why}"
        )
        wrong.add(
            "jacobian-shape", shape + came, f"That would be the whole Jacobian, which is never built. {why}"
        )
        wrong.add("transposed", shape[::-1], f"Rows and columns the other way round. {why}")
        for t in node["inputs"]:
            wrong.add(
                "operand-shape",
                list(self.trace.tensors[t]["shape"]),
                f"That is another operand's shape. {why}",
            )
        self._put(
            "shape", "shape", f"{self.narrator.nodes[n]} got {rules.names_of(self.trace).gradient} of shape {_shape(came)}. What shape is sent to {target}?",
            shape, _shape(shape), wrong.items, n, level,
        )  # fmt: skip

    def _grad_wrongs(
        self, e: Record, i: int, g: Array, right: Array, term: rules.Term, wrong: _Wrong
    ) -> None:
        n, node = e["n"], self.trace.nodes[e["n"]]
        name, op, params = self.narrator.nodes[n], node["op"].removeprefix("_"), node.get("params") or {}
        values = [self._saved(n, t) for t in node["inputs"]]
        y = self._array(rules.names_of(self.trace).written(n)) if len(node["outputs"]) == 1 else None
        mine = values[i] if i < len(values) else None
        r, formula = _show(right), _formula(term.rule, _show(right))
        two = len(values) == 2 and values[0] is not None and values[1] is not None
        # a product, a difference, a quotient
        if op in ("sub", "neg", "rsub"):
            wrong.add("sign", -right, f"Mind the sign: the rule is {formula}.")
        if two and node["inputs"][0] == node["inputs"][1] and op in ("mul", "add"):
            wrong.add(
                "both-uses",
                2 * right,
                f"{_show(2 * right)} counts both uses at once; each use sends its own message, {r}, and they are added "
                "where they meet.",
            )
        elif op == "mul" and two:
            other = self._message(n, 1 - i, g)
            wrong.add(
                "swapped",
                other if other is not None and other.shape == right.shape else None,
                f"The factors swap: what is sent to this operand contains the other one, so {formula}.",
            )
        elif op == "div" and two:
            for j in (0, 1):
                other = self._message(n, j, g)
                if j != i and other is not None:
                    wrong.add("swapped", other, f"That goes to the other operand; here it is {formula}.")
        # broadcasting
        full = self._message(n, i, g, summed=False)
        if full is not None and full.shape != right.shape:
            total = f"{_show(full)} has the shape that broadcasting made; the operand was copied, so its copies' gradients are "
            wrong.add("no-broadcast-sum", full, total + f"added up: {r}.")
            if right.size and full.size > right.size:
                wrong.add(
                    "mean-of-broadcast",
                    right * right.size / full.size,
                    f"The gradients of the copies are added, not averaged: {r}.",
                )
                wrong.add(
                    "no-broadcast-sum", full.flat[0], f"That is the gradient of one copy; all are added: {r}."
                )
        # one operand
        if op == "pow" and isinstance(params.get("exponent"), int | float) and mine is not None:
            p = params["exponent"]
            wrong.add("exponent-kept", g * p * mine**p, f"The exponent goes down by one: {formula}.")
            wrong.add(
                "exponent-forgotten",
                g * mine ** (p - 1.0),
                f"The exponent {p} comes down as a factor: {formula}.",
            )
        if mine is not None and y is not None and mine.shape == g.shape:
            if op == "tanh":
                wrong.add(
                    "input-for-output", g * (1 - mine**2), f"The rule uses the result {_show(y)}: {formula}."
                )
            if op == "sigmoid":
                wrong.add(
                    "input-for-output",
                    g * mine * (1 - mine),
                    f"The rule uses the result {_show(y)}: {formula}.",
                )
            if op == "exp":
                wrong.add(
                    "input-for-output",
                    g * mine,
                    f"The derivative of exp is its result {_show(y)}: {formula}.",
                )
            if op == "relu":
                wrong.add(
                    "dead-gate",
                    g,
                    f"Where the operand is not above zero, relu lets no gradient through: {r}.",
                )
        if op == "mean" and g.shape == ():
            wrong.add(
                "mean-is-sum",
                np.broadcast_to(g, right.shape),
                f"A mean shares its gradient out, 1/n to each: {r}.",
            )
        if op == "sum" and g.shape == () and right.size:
            wrong.add(
                "mean-is-sum",
                np.full(right.shape, g / right.size),
                f"A sum gives its whole gradient to each: {r}.",
            )
        # the chain rule
        smooth = op in _ELEMENTWISE and right.shape == g.shape and bool((g != 0).all())
        if smooth:
            local = right / g
            gs, ls = _show(g), _show(local)
            wrong.add(
                "local-only",
                local,
                f"{ls} is only the derivative of {name} itself; the incoming gradient {gs} multiplies it: {r}.",
            )
            if op not in ("add", "sub", "rsub", "neg", "relu"):
                wrong.add(
                    "added-for-multiplied",
                    g + local,
                    f"Along a path derivatives are multiplied, not added: {gs} times {ls} is {r}.",
                )
        if op not in ("add", "sub"):
            wrong.add("unchanged", g, f"{name} does not pass on what it got: {formula}.")
        for t, value in zip(node["inputs"], values, strict=False):
            label = self.trace.tensors[t]["name"]
            for later in self._later(t, value):
                for j in range(len(values)):
                    if values[j] is not None and (t == node["inputs"][j] or values[j] is value):
                        wrong.add(
                            "new-value",
                            self._message(n, i, g, {j: later}),
                            f"{label} is {_show(later)} now, but the node saved {_show(value)} when it ran: {formula}.",
                        )
        for t, value in [*zip(node["inputs"], values, strict=False), *((t, y) for t in node["outputs"][:1])]:
            if value is not None and self.trace.tensors[t]["name"]:
                wrong.add(
                    "forward-value",
                    value,
                    f"{_show(value)} is the value of {self._label(t)} from the forward pass; what is sent here is {formula}.",
                )
        wrong.add("sign", -right, f"The sign is the other way round: {formula}.")
        if right.ndim == 2:
            wrong.add("transposed", right.T.copy(), f"Rows and columns the other way round: {r}.")

    def _message(
        self, n: int, i: int, g: Array | None, put: dict[int, Array] | None = None, summed: bool = True
    ) -> Array | None:
        """What a node with a simple rule would send to operand `i` for these operands; None for other rules."""
        node = self.trace.nodes[n]
        values = [self._saved(n, t) for t in node["inputs"]]
        for j, value in (put or {}).items():
            values[j] = value
        if g is None or i >= len(values) or any(v is None for v in values):
            return None
        op, a, params = node["op"].removeprefix("_"), values[0], node.get("params") or {}
        assert a is not None
        b = values[1] if len(values) > 1 else None
        alpha = params.get("alpha", 1)
        if op == "pow" and b is None and isinstance(params.get("exponent"), int | float):
            message = g * params["exponent"] * a ** (params["exponent"] - 1.0)
        elif b is None:
            return None
        elif op == "mul":
            message = g * (b if i == 0 else a)
        elif op in ("add", "sub"):
            message = g * 1.0 if i == 0 else g * float(alpha) * (1 if op == "add" else -1)
        elif op == "div":
            message = g / b if i == 0 else -g * a / b**2
        else:
            return None
        own = values[i]
        assert own is not None
        return _unbroadcast(np.asarray(message), own.shape) if summed else np.asarray(message)

    # ---- adding up ------------------------------------------------------------------------------------

    def _deliver(self, e: Record) -> None:
        old, v, total = self._array(e.get("old")), self._array(e["v"]), self._array(e["sum"])
        if old is None or v is None or total is None or not 0 < total.size <= MOST_NUMBERS:
            return
        to = self.narrator.nodes[e["to"]]
        wrong = _Wrong(total.tolist())
        o, m, s = _show(old), _show(v), _show(total)
        if self.senders.get((e["to"], e.get("slot", 0))) == e["n"]:
            why = f"{m} is one use only; the tensor is used twice, each use sends a message, and they are added: {s}."
            wrong.add("one-use", v, why)
        wrong.add(
            "last-message",
            v,
            f"Messages are added, not overwritten: {o} lies there already, so {o} + {m} = {s}.",
        )
        wrong.add("first-message", old, f"The second message counts as well: {o} + {m} = {s}.")
        wrong.add("multiplied-for-added", old * v, f"Messages from two paths are added, not multiplied: {s}.")
        wrong.add("averaged", total / 2, f"Messages are added, not averaged: {s}.")
        ask = f"{m} arrives at {to}, where {o} already lies. What is there then?"
        self._number("grad", ask, total, wrong, e["to"], ALWAYS | ASKED | ENGINE)

    def _accumulate(self, e: Record) -> None:
        old, add, new = self._array(e["old"]), self._array(e["add"]), self._array(e["new"])
        if add is None or new is None or not 0 < new.size <= MOST_NUMBERS:
            return
        t = e["t"]
        name, a, s = self._label(t), _show(add), _show(new)
        value = self._now(t)
        wrong = _Wrong(new.tolist())
        was = "None" if old is None else _show(old)
        if old is not None:
            wrong.add(
                "overwrote-grad", add, f"backward() adds to .grad and does not replace it: {was} + {a} = {s}."
            )
            wrong.add("kept-grad", old, f"What arrives is added to the {was} that is there: {s}.")
            wrong.add("sign", old - add, f"Gradients are added to .grad: {was} + {a} = {s}.")
        wrong.add(
            "none-for-zero", None, f"A message has arrived, so .grad is a number, even if that is 0: {s}."
        )
        if value is not None:
            wrong.add(
                "forward-value",
                value,
                f"{_show(value)} is the value of {name}; {name}.grad is what arrived: {s}.",
            )
        wrong.add("sign", -new, f"The sign stays as it arrived: {s}.")
        ask = f"{name}.grad is {was} and {a} arrives. What is {name}.grad then?"
        level = ALWAYS | ASKED | ENGINE if old is not None or not add.any() else ASKED | ENGINE
        self._number("grad", ask, new, wrong, e["n"], level)

    def _done(self, e: Record) -> None:
        """After a pass: which tensors have no `.grad`."""
        events = self.trace.events
        backward = next(events[i] for i in range(self.k - 1, -1, -1) if events[i]["k"] == "backward")
        if backward.get("call", "backward") != "backward" or e["p"] > 1:
            return
        seen = self.state.tensors
        reached = {x["t"] for x in self.trace.events[: self.k] if x["k"] in ("accumulate", "retain")}
        named = [t for t in seen if self.trace.tensors[t]["name"] and self.trace.tensors[t]["requires_grad"]]
        for t in named:
            tensor = self.trace.tensors[t]
            if not tensor["leaf"] or t in reached or seen[t].grad is not None:
                continue
            name, wrong = self.narrator.called[t], _Wrong(None)
            why = f"No path leads from the result back to {name}, so nothing arrived and {name}.grad stays None."
            wrong.add("zero-for-none", 0, f"Zero would be a message that says 0. {why}")
            if tensor["shape"]:
                wrong.add(
                    "zero-for-none", np.zeros(tensor["shape"]), f"Zeros would be a message that says 0. {why}"
                )
            self._put(
                "grad", "number", f"The pass is complete. What is {name}.grad?", None, "None", wrong.items
            )
            break
        inner = [t for t in named if not self.trace.tensors[t]["leaf"] and t not in reached]
        arrived = self._arrived()
        for t in inner[:1]:
            tensor, wrong = self.trace.tensors[t], _Wrong(None)
            name = self.narrator.called[t]
            why = f"{name} is not a leaf: its gradient passed through and was not kept. {name}.retain_grad() would keep it."
            g = arrived.get(tensor["node"]) or [None]
            nr = tensor.get("output_nr") or 0
            passed = self._array(g[nr]) if nr < len(g) else None
            if passed is not None:
                wrong.add("non-leaf-grad", passed, why)
            wrong.add("zero-for-none", 0, f"Nothing was written there, not even a zero. {why}")
            self._put(
                "grad", "number", f"The pass is complete. What is {name}.grad?", None, "None", wrong.items
            )

    def _arrived(self) -> dict[int, list[Any]]:
        """{node: the gradients that it got last, after hooks}."""
        found: dict[int, list[Any]] = {}
        for e in self.trace.events[: self.k]:
            if e["k"] == "pop":
                found[e["n"]] = list(e["g"])
            elif e["k"] == "hook" and e["stage"] in ("tensor", "pre") and e.get("after"):
                first = e.get("slot", 0)
                found[e["n"]][first : first + len(e["after"])] = e["after"]
        return found

    # ---- the order of the pass ------------------------------------------------------------------------

    def _pop(self, e: Record) -> None:
        state, names, right = self.state, self.narrator.nodes, e["n"]
        ready = [right, *(n for n in e["queue"] if n != right)]
        partly = [
            n
            for n, s in state.nodes.items()
            if s.status == "waiting" and 0 < s.arrived < s.of and n not in ready
        ]
        later = [
            n for n, s in state.nodes.items() if s.status == "waiting" and s.arrived == 0 and n not in ready
        ]
        options = []
        for n in ready[:_CANDIDATES]:
            if n == right:
                options.append([n, "right", "", ""])
                continue
            if self.trace.nodes[right]["kind"] == "accumulate":
                reason = "accumulators go before everything else"
            else:
                reason = "of the nodes that are ready it was made last"
            options.append([
                n, "ready", "ready-not-first",
                f"{names[n]} is ready too, and taking it would lead to the same gradients; the engine takes {names[right]}: "
                f"{reason}.",
            ])  # fmt: skip
        room = max(_CANDIDATES - len(options), 2)
        done = [n for n, s in state.nodes.items() if s.status in ("active", "done")]
        for n in [*partly, *later, *done[-1:]][:room]:
            s = state.nodes[n]
            status = "waiting" if s.status == "waiting" else "done"
            options.append([n, "wrong", *standing(names[n], status, s.arrived, s.of)])
        options.sort(key=lambda option: option[0])  # their order must not reveal the answer
        level = ENGINE | (ALWAYS | ASKED if len(ready) > 1 or partly else 0)
        self._put(
            "next-node",
            "node",
            "Which node does the engine take next?",
            right,
            names[right],
            (),
            right,
            level,
            options,
        )

    # ---- errors ---------------------------------------------------------------------------------------

    def _backward(self, e: Record) -> None:
        events = self.trace.events
        ahead = range(self.k, len(events))
        outcome = next((events[i] for i in ahead if events[i]["k"] in ("error", "done")), None)
        if outcome is None:
            return
        fails = outcome["k"] == "error"
        reached = self._behind(e["roots"])
        again = e["p"] > 1 and not reached.isdisjoint(self.popped)
        level = ALWAYS | ASKED if fails or again or self.written else ASKED
        if fails:
            answer, other = "yes", "no"
            misconception = (
                "backward-twice-works" if again else "inplace-works" if self.written else "always-works"
            )
            why = f"It does, with {_a(outcome['type'])}: {_first(outcome['message'])}"
        else:
            answer, other = "no", "yes"
            misconception = "backward-twice-fails" if again else "inplace-fails" if self.written else ""
            if again and not reached & self.freed:
                why = "It works: a second pass fails only where values were saved and have been freed, and none were."
            elif self.written:
                why = "It works: a write in place breaks a pass only if a value that a node had saved was overwritten."
            else:
                why = "It works: every node finds what it needs."
        call = "backward pass" if e.get("call", "backward") == "backward" else "call of grad()"
        self._put(
            "error", "choice", f"The next line starts a {call}. Does it raise an error?", answer,
            f"{answer}: {outcome['type']}" if fails else answer, [[misconception, other, why]], -1, level, ["yes", "no"],
        )  # fmt: skip

    def _error(self, e: Record) -> None:
        if self.state.running:
            return  # asked when the pass began
        why = f"It does, with {_a(e['type'])}: {_first(e['message'])}"
        self._put(
            "error", "choice", "The program goes on. Does its next step raise an error?", "yes", f"yes: {e['type']}",
            [["always-works", "no", why]], -1, ALWAYS | ASKED, ["yes", "no"],
        )  # fmt: skip

    def _behind(self, roots: list[int]) -> set[int]:
        """The nodes a pass from these roots can reach."""
        found: set[int] = set()
        stack = list(roots)
        while stack:
            n = stack.pop()
            if n not in found:
                found.add(n)
                stack += [edge[0] for edge in self.trace.nodes[n]["edges"] if edge is not None]
        return found

    # ---- values ---------------------------------------------------------------------------------------

    def _array(self, v: int | None) -> Array | None:
        """A value as an array, None if the trace holds only its summary."""
        if v is None or "data" not in self.trace.values[v]:
            return None
        data = np.asarray(_floats(self.trace.values[v]["data"]), float)
        return data.reshape(self.trace.values[v]["shape"])

    def _now(self, t: int) -> Array | None:
        """The value of a tensor at this step."""
        known = self.state.tensors.get(t)
        return self._array(known.value if known else self.trace.tensors[t]["value"])

    def _saved(self, n: int, t: int) -> Array | None:
        """The value of an operand as node `n` saved it, otherwise as it read it."""
        for _, saved, *version in self.trace.nodes[n].get("saved") or []:
            if saved == t:
                return self._array(self.narrator.value_at(t, version[0] if version else 0, n))
        return self._array(rules.names_of(self.trace).read(n, t))

    def _former(self, t: int) -> list[Array]:
        """Values that other tensors of the same name had before; of many, the last ones."""
        same_name = self.latest.get(self.trace.tensors[t]["name"], [])
        before = bisect_left(same_name, t)
        found = [self._now(other) for other in same_name[max(before - _MOST_FORMER, 0) : before]]
        return [value for value in found if value is not None]

    def _later(self, t: int, value: Array | None) -> list[Array]:
        """Values that this name, or this tensor, has had since; of many, the first ones."""
        if value is None:
            return []
        same_name = self.latest.get(self.trace.tensors[t]["name"], [])
        after = bisect_right(same_name, t)
        found = [self._now(other) for other in [t, *same_name[after : after + _MOST_FORMER]]]
        return [v for v in found if v is not None and v.shape == value.shape and not np.array_equal(v, value)]

    def _label(self, t: int) -> str:
        return self.narrator.tensors[t]

    def _operand(self, t: int) -> str:
        """An operand in a question: "a = 2", "3", "w (3x5)"."""
        tensor = self.trace.tensors[t]
        name, value = self.narrator.called[t], self._now(t)
        if value is not None and value.size <= MOST_NUMBERS:
            return f"{name} = {_show(value)}" if name and not rules.is_number(tensor) else _show(value)
        shape = _shape(tensor["shape"])
        return f"{name} ({shape})" if name else f"a tensor of shape {shape}"


_BINARY = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "pow": np.power}


def _try(operation: Any, a: Array, b: Array) -> Any:
    """The result of the operation, None if the shapes do not fit."""
    try:
        return operation(a, b)
    except ValueError:
        return None


def _unbroadcast(g: Array, shape: tuple[int, ...]) -> Array:
    """The gradient of an operand of this shape: summed over what broadcasting copied."""
    try:
        if np.broadcast_shapes(g.shape, shape) != g.shape:
            return np.broadcast_to(g, shape)
    except ValueError:
        return g
    g = g.sum(axis=tuple(range(g.ndim - len(shape))))
    axes = tuple(i for i, size in enumerate(shape) if size == 1 and g.shape[i] != 1)
    return np.asarray(g.sum(axis=axes, keepdims=True))


def _alike(a: Any, typed: Any, b: Any) -> bool:
    """Whether two answers are indistinguishable when typed; `typed`: what typing `a` parses to."""
    if a is None or b is None or isinstance(a, str) or isinstance(b, str):
        return bool(a == b)
    return same(typed, b)


def _text(data: Any) -> str:
    return f"[{', '.join(map(_text, data))}]" if isinstance(data, list) else repr(float(data))


def _show(value: Any) -> str:
    """Numbers as the stepper writes them."""
    if value is None:
        return "None"
    data = np.asarray(value, float).tolist()
    return _nested(data) if len(flat(data)) <= MOST_NUMBERS else f"{_shape(list(np.shape(value)))} values"


def _nested(data: Any) -> str:
    return f"[{', '.join(map(_nested, data))}]" if isinstance(data, list) else rules.number(data)


def _shape(shape: Iterable[int]) -> str:
    """A shape in words: "2x3", "[3]", "()" for a scalar."""
    sizes = list(map(str, shape))
    return "x".join(sizes) if len(sizes) > 1 else f"[{sizes[0]}]" if sizes else "()"


def _digits(data: Any) -> Any:
    """Numbers as JSON can hold them, six digits each."""
    if isinstance(data, list):
        return [_digits(x) for x in data]
    if not isinstance(data, float):
        return data
    if math.isnan(data) or math.isinf(data):
        return repr(data)
    return float(f"{data:.6g}")


def _floats(data: Any) -> Any:
    return [_floats(x) for x in data] if isinstance(data, list) else float(data)


def _formula(rule: str, result: str) -> str:
    """The rule and its value: "g * b = 12", "g to every element, that is [2, 2]"."""
    if not rule:
        return result
    return f"{rule}, that is {result}" if " " in re.sub(r" [-+*/@]+ ", "", rule) else f"{rule} = {result}"


def _first(message: str) -> str:
    """The first sentence of an error message."""
    line = message.strip().split("\n")[0]
    return line.split(". ")[0].rstrip(".") + "."


def _a(noun: str) -> str:
    return f"an {noun}" if noun[:1] in "AEIOU" else f"a {noun}"
