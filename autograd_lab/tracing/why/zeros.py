"""`.grad` is zero, wholly or partly, or close to zero: which arithmetic of the pass made it so.

births.py traces the gradient back to the nodes where a zero arose. Here each such place becomes an answer, which says nothing
about a node that its numbers do not prove: "flat" if its derivatives are 0, "adds up to a constant" if they are not and their terms
cancel, "underflow" if a product of nonzero numbers is below the smallest number of the dtype.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from math import prod

from . import cures
from .answer import Line, Why, listed
from .births import Birth, Births, Factor
from .facts import Facts, Pass
from .history import HOOK_FIX
from .missing import DRAWS, SAMPLED_FIX
from .numbers import MOST, NORMALIZED, POINTWISE, SOFTMAX, Numbers
from .question import Question
from .wild import birth_of

_BENT = {"threshold", "hardswish", "hardsigmoid", "hardshrink", "softshrink"}
_CLAMP = {"clamp", "clamp_min", "clamp_max", "clip", "hardtanh", "relu6"}
#: The derivatives of piecewise linear functions, as operations of their own, and the names of those functions.
_STRAIGHT = {
    "threshold_backward": "relu", "leaky_relu_backward": "leaky_relu", "hardtanh_backward": "hardtanh",
    "hardsigmoid_backward": "hardsigmoid",
}  # fmt: skip
_FLAT = {"round", "floor", "ceil", "trunc", "sign", "sgn", "heaviside", "floor_divide"}
_SQUASH = {
    "sigmoid", "tanh", "softmax", "safe_softmax", "log_softmax", "logsigmoid", "softplus", "erf", "erfc", "exp", "gelu", "silu",
    "mish", "celu", "elu", "selu", "log_sigmoid_forward", "binary_cross_entropy_with_logits",
}  # fmt: skip
_PRODUCT = {
    "mul", "mm", "bmm", "matmul", "addmm", "mv", "dot", "prod", "cumprod", "linear", "baddbmm", "addmv", "div", "addcmul", "convolution",
    "native_dropout", "lerp",
}  # fmt: skip
_PICK = {
    "max", "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "select", "slice", "index", "gather", "index_select",
    "masked_select", "where", "median", "max_pool2d_with_indices", "max_pool2d", "embedding", "narrow", "unbind", "split",
    "fmax", "fmin", "cummax", "cummin", "nll_loss", "nll_loss2d", "masked_fill", "take", "diagonal", "tril", "triu", "nanmedian",
    "kthvalue", "mode", "aminmax", "max_pool1d", "adaptive_max_pool2d", "scatter", "unfold", "split_with_sizes", "index_put",
    "as_strided", "constant_pad_nd", "embedding_bag", "slice_scatter", "select_scatter", "multi_margin_loss",
}  # fmt: skip
_KINK = {"norm", "linalg_vector_norm", "abs", "atan2", "cdist", "pairwise_distance"}
_REPLACE = {"zero", "fill", "copy"}
_ADDED = {
    "add", "sub", "expand", "addmm", "convolution", "repeat", "mul", "div", "rsub", "addmv", "baddbmm", "where",
}  # fmt: skip
_SOFT = (
    "this is the true derivative. A soft choice (softmax, logsumexp, a weighted mean) reaches every element."
)


def zero(q: Question) -> Why:
    """Why `.grad` is zero everywhere."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = _run_at(facts, k)
    if run is None or facts.events[k]["k"] == "grad":
        how = facts.events[k].get("how", "an assignment")
        filled = next((i for i in reversed(facts.grads[q.t]) if facts.events[i]["k"] != "grad"), None)
        lines = []
        if filled is not None:
            start = next((r.start for r in facts.passes if r.start <= filled <= r.end), filled)
            lines = facts.at(start, "this pass filled it")
        return q.answer(
            "cleared",
            f"{q.name}.grad was set to zero by {how} after the backward pass, in {facts.statement(k)}.",
            lines=lines + facts.at(k, "set to zero here"),
            fix="look at .grad between backward() and the line that clears it.",
            k=k,
        )
    return although_nan(q, _Zeros(q, run, k).all())


def although_nan(q: Question, answer: Why) -> Why:
    """The same answer; if the loss is nan or inf, that comes first, whatever the gradient is."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = _run_at(facts, k)
    nan = None if run is None or facts.events[k]["k"] == "grad" else _Zeros(q, run, k).nan_loss()
    if nan is None or answer.cause == "nothing-counted":
        return answer
    state = "zero" if facts.zero(facts.grad_now(q.t)) else "finite"
    return q.answer(
        nan.cause,
        *nan.sentences,
        f"{q.name}.grad is {state} all the same: {answer.sentences[0]}",
        lines=list(nan.lines),
        fix=nan.fix,
        edits=nan.edits,
        k=(nan.step or 0) - 1,
    )


def partly_zero(q: Question) -> Why | None:
    """Why some elements of `.grad` are zero, or all are too small to have an effect; None if neither holds."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = _run_at(facts, k)
    if run is None or facts.events[k]["k"] == "grad":
        return None
    found = _Zeros(q, run, k)
    return found.tiny() or found.some()


def _run_at(facts: Facts, k: int) -> Pass | None:
    return next((r for r in reversed(facts.passes) if r.start <= k <= r.end), None)


_ONE_NUMBER = (
    "a single output needs a sigmoid and binary_cross_entropy_with_logits; softmax and cross_entropy need one number for each class, "
    "along dim."
)


class _Zeros:
    """The answers about the zeros of one gradient."""

    def __init__(self, q: Question, run: Pass, k: int) -> None:
        self.q, self.facts, self.run, self.k = q, q.facts, run, k
        self.numbers = Numbers(q.facts)
        self.births = Births(q.facts, self.numbers, run)
        e = q.facts.events[k]
        self.v = e["add"] if e["k"] == "accumulate" else e["v"]
        self.node = e["n"]
        self.slot = 0 if q.facts.leaf(q.t) else q.facts.trace.tensors[q.t].get("output_nr", 0)

    def all(self) -> Why:
        """The gradient is zero everywhere."""
        array = self.numbers.flat(self.v)
        if array is None or not len(array):
            found = [self.births.of(self.node, self.slot, None)]
        else:
            found = [self.births.of(self.node, self.slot, c) for c in range(len(array))]
        groups = self._groups(found)
        if not groups:
            empty = prod(self.facts.trace.tensors[self.q.t]["shape"]) == 0
            return self._nothing_counted(self.q.t) if empty else self._unseen()
        first, members = groups[0]
        one = self._one_number(first.n)
        if one is not None:
            return one
        others = sum(1 for _ in {(b.n, b.i) for one in found for b in one} - {(b.n, b.i) for b in members})
        more = f"{others} more such node{'s' if others > 1 else ''} on the other ways." if others else ""
        return self._told(first, members, "", more)

    def some(self) -> Why | None:
        """Some elements are zero: which, and why."""
        facts = self.facts
        array = self.numbers.flat(self.v)
        if array is None:
            return self._rows_left_out()
        if len(array) < 2 or not (array == 0).any() or not (array != 0).any():
            return None
        zeros = [c for c in range(len(array)) if array[c] == 0]
        found = [self.births.of(self.node, self.slot, c) for c in zeros]
        groups = self._groups(found)
        if not groups:
            return None
        first, members = groups[0]
        op = self.numbers.op(first.n) if first.kind == "whole" else ""
        if op and not (op in _PICK and 0 not in facts.numbers(facts.events[first.k]["in"][0])):
            return None  # the numbers do not prove more
        mine = [c for c, one in zip(zeros, found, strict=True) if one and _key(one[0]) == _key(first)]
        where = _places(self.facts.trace.tensors[self.q.t]["shape"], mine)
        rest = len(zeros) - len(mine)
        be = "is" if len(zeros) == 1 else "are"
        start = f"{len(zeros)} of the {len(array)} elements of {self.q.name}.grad {be} 0: {where}" + (
            f" and {rest} more" if rest else ""
        )
        return self._told(first, members, start + ". ", "")

    def _rows_left_out(self) -> Why | None:
        """For a large embedding table: the rows that were not looked up."""
        facts = self.facts
        arrived = [e for _, e in self.births.messages.get((self.node, self.slot), ())]
        if not arrived or any(self.numbers.op(e["n"]) != "embedding" for e in arrived):
            return None
        tables = [facts.trace.nodes[e["n"]]["inputs"][1] for e in arrived]
        asked = [self.numbers.flat(self._value(t, e["n"])) for t, e in zip(tables, arrived, strict=True)]
        if any(indices is None for indices in asked):
            return None
        count = facts.trace.tensors[self.q.t]["shape"][0]
        found = {int(i) for indices in asked if indices is not None for i in indices}
        rest = count - len(found)
        if not rest:
            return None
        said = listed(
            [
                f"{facts.name(t)} = {facts.say(self._value(t, e['n']))}"
                for t, e in zip(tables, arrived, strict=True)
            ]
        )
        return self.q.answer(
            "not-chosen",
            f"{rest} of the {count} rows of {self.q.name}.grad are 0: embedding took only the rows in {said}.",
            lines=[line for e in arrived for line in facts.made(e["n"], "embedding chooses here")],
            fix="nothing: a row learns in the batches in which it is looked up.",
            k=self.k,
        )

    def tiny(self) -> Why | None:
        """The gradient is not zero, but consists of rounding errors, or has no effect."""
        numbers = self.numbers
        largest = numbers.largest(self.v)
        seeds = [numbers.largest(e["v"]) for _, e in self.births.seeds.values()]
        if not largest or largest > 1e-3 * max([1.0, *seeds]):
            return None
        array = numbers.flat(self.v)
        places = [None] if array is None else [c for c in range(len(array)) if array[c] != 0]
        followed = [self.births.followed(self.node, self.slot, c) for c in places]
        born = [one for one, _ in followed if one is not None]
        if born and len(born) == len(followed):
            groups = self._groups([[one] for one in born])
            return self._told(*groups[0], "", "What is left of it is rounding.", residue=largest)
        if largest >= 1e-12 and not self._moves_nothing():
            return None
        strongest = None if array is None else int(abs(array).argmax())
        _, factors = self.births.followed(self.node, self.slot, strongest, birth=False)
        return self._vanished(largest, factors)

    def _moves_nothing(self) -> bool:
        """Whether subtracting the gradient would leave every number of the tensor unchanged, by rounding."""
        w, g = self.numbers.flat(self.numbers.value(self.q.t, self.run.start)), self.numbers.flat(self.v)
        eps = self.numbers.limits(self.v).eps
        return (
            w is not None and g is not None and len(w) == len(g) and bool((abs(g) < eps / 4 * abs(w)).all())
        )

    # -- which answer ---------------------------------------------------------------------------------

    def _groups(self, found: list[list[Birth]]) -> list[tuple[Birth, list[Birth]]]:
        """Births of one kind at one place, with the one that explains most elements first."""
        count: Counter[tuple] = Counter()
        members: dict[tuple, list[Birth]] = {}
        for one in found:
            for j, birth in enumerate(one):
                key = _key(birth)
                members.setdefault(key, []).append(birth)
                count[key] += not j
        order = sorted(members, key=lambda key: -count[key])
        return [(members[key][0], list(dict.fromkeys(members[key]))) for key in order]

    def _told(self, birth: Birth, members: list[Birth], start: str, more: str, residue: float = 0.0) -> Why:
        if residue and birth.kind == "sum" and birth.c is not None:
            left = self.numbers.flat(self.facts.events[birth.k]["out"][birth.i])
            residue = residue if left is None else float(left[birth.c])
        match birth.kind:
            case "seed":
                return self._seed(start)
            case "hook":
                return self._hook(birth, start)
            case "messages":
                return self._messages(birth, start, more, residue)
            case "empty":
                return self._nothing_counted(self.facts.trace.nodes[birth.n]["outputs"][0], birth)
            case "underflow":
                return self._underflow(birth, members, start)
            case "sum" if not self._keeps_its_sum(birth):
                return self._sum(birth, members, start, more, residue)
            case "function":
                text = "that is what its backward returned."
                return self._found(
                    birth,
                    "function-zero",
                    start,
                    text,
                    more,
                    "should its backward return other numbers than zeros?",
                    "applied here",
                )
        if self._keeps_its_sum(birth):
            return self._constant_sum(birth, self._constant(birth), start, more, residue)
        if birth.kind == "whole":
            summed = self._whole_sum(birth, start, more, residue)
            if summed is not None:
                return summed
        return self._flat(birth, members, start, more)

    def _found(self, birth: Birth, cause: str, start: str, text: str, more: str, fix: str, what: str) -> Why:
        facts = self.facts
        e = facts.events[birth.k]
        incoming = facts.say(next((v for v in e["in"] if v is not None), None))
        own = self._operand(birth)
        target = facts.name(own) if birth.c is None or not start else self.numbers.element(own, birth.c)
        head = f"{facts.words.nodes[birth.n]} got the gradient {incoming} and sent 0 to {target}: "
        return self.q.answer(
            cause,
            start + head + text,
            more,
            self._loss_too(),
            lines=facts.made(birth.n, what),
            fix=fix,
            k=birth.k,
        )

    def _operand(self, birth: Birth) -> int:
        place = self.numbers.operand(birth.n, birth.i)
        return self.q.t if place is None else int(self.facts.trace.nodes[birth.n]["inputs"][place])

    def _value(self, t: int, n: int) -> int | None:
        """The value of a tensor when node n was made."""
        return self.numbers.value(t, self.facts.node_event.get(n, 0))

    def nan_loss(self) -> Why | None:
        """The answer about a loss that is nan or inf, though the gradient is zero."""
        root = self.facts.root_of(self.run)
        if root is None or not self.facts.wild(self.numbers.value(root, self.run.start)):
            return None
        return birth_of(self.q, self.run, root, self.run.start)

    def _loss_too(self) -> str:
        """A nan loss is mentioned even if the gradient is zero."""
        first = self.nan_loss()
        root = self.facts.root_of(self.run)
        if first is None or root is None:
            return ""
        return f"The loss itself is {self.facts.say(self.numbers.value(root, self.run.start))}: {first.sentences[0]}"

    def _one_number(self, born: int) -> Why | None:
        """A softmax of a single number on every path from a zero at node `born` to the tensor: no gradient passes it."""
        facts = self.facts
        goal = facts.leading_to(self.node)
        for n in sorted((facts.behind([born]) & goal) - {born}, reverse=True):
            if self.numbers.op(n) not in SOFTMAX or self._classes(n) != 1:
                continue
            if self.node in facts.behind([born], without=n):
                continue
            k = self.births.applied[n][0] if n in self.births.applied else self.k
            own = facts.name(facts.trace.nodes[n]["inputs"][0])
            log = ", and its log 0" if self.numbers.op(n) == "log_softmax" else ""
            return self.q.answer(
                "constant-sum",
                f"The softmax of a single number is always 1{log}, so a change of {own} changes nothing.",
                lines=facts.made(n, "one number only"),
                fix=_ONE_NUMBER,
                k=k,
            )
        return None

    # -- what user code did ---------------------------------------------------------------------------

    def _seed(self, start: str) -> Why:
        return self.q.answer(
            "zero-seed",
            start + "The gradient that backward was started with is zero"
            + (" there." if start else ", so every gradient is zero."),
            lines=self.facts.at(self.run.start, "the pass starts here"),
            fix="start with ones, or leave the gradient argument out.",
            k=self.run.start,
        )  # fmt: skip

    def _hook(self, birth: Birth, start: str) -> Why:
        facts, e = self.facts, self.facts.events[birth.k]
        j = next(j for j, (b, a) in enumerate(zip(e["before"], e["after"], strict=False)) if b != a)
        return self.q.answer(
            "hook-changed",
            f"{start}A hook on {facts.hook_place(e)} changed the gradient from {facts.say(e['before'][j])} to "
            f"{facts.say(e['after'][j])}.",
            lines=(
                facts.made(birth.n, "the hook runs on the gradient of this line")
                or facts.assignment(self.q.t)
            )
            + facts.at(self.run.start, "during this pass"),
            fix=HOOK_FIX,
            k=birth.k,
        )

    # -- sums -----------------------------------------------------------------------------------------

    def _messages(self, birth: Birth, start: str, more: str, residue: float) -> Why:
        """Several messages for one tensor cancel."""
        facts = self.facts
        arrived = [
            e for _, e in self.births.messages[birth.n, birth.i] if not self.births._is_zero(e["v"], birth.c)
        ]
        shares = self._own_share(arrived)
        parts = [f"{facts.say(e['v'])} from {facts.words.nodes[e['n']]}" for e in arrived]
        lines = [line for e in arrived for line in facts.made(e["n"], f"sends {facts.say(e['v'])}")]
        ends = "They add up to 0." if not residue else f"All that is left of their sum is {_short(residue)}."
        at = (
            ""
            if birth.c is None or not start or shares is not None
            else f" For element {birth.c} they are {listed([_short(x) for x in birth.terms])}."
        )
        if shares is not None:
            whole, always = shares
            return self.q.answer(
                "constant-sum",
                f"{start}{always}, whatever {facts.name(whole)} is: {len(parts)} messages arrive there, {listed(parts)}. {ends}",
                more,
                lines=lines,
                fix="use the single values (one of them, their logs, a weighted sum), not their plain sum.",
                k=birth.k,
            )
        return self.q.answer(
            "cancellation",
            f"{start}{len(arrived)} messages arrive at {facts.words.nodes[birth.n]}: {listed(parts)}.{at} {ends}",
            more,
            lines=lines,
            fix="was the gradient meant to pass straight through? Then detach the difference: x + (r - x).detach()."
            if any(cures.adds_back(self.q, facts.node_event.get(e["n"])) for e in arrived)
            else "this is the true derivative: the two effects of a change cancel. Should they have these signs?",
            k=birth.k,
        )

    def _own_share(self, arrived: list) -> tuple[int, str] | None:
        """Whether what cancels is x and x's own sum or mean, as in e / e.sum() and x - x.mean()."""
        facts, trace = self.facts, self.facts.trace
        nodes = {e["n"]: e["i"] for e in arrived}
        for n, i in nodes.items():
            if (
                n not in self.births.applied
                or i != 0
                or self.numbers.op(n) not in ("div", "sub")
                or len(trace.nodes[n]["inputs"]) < 2
            ):
                continue
            x, other = trace.nodes[n]["inputs"][:2]
            result = trace.nodes[n]["outputs"][0]
            m = trace.tensors[other].get("node")
            while (
                m is not None
                and m not in nodes
                and self.numbers.op(m) in ("expand", "clamp_min", "view", "unsqueeze")
            ):
                m = trace.tensors[trace.nodes[m]["inputs"][0]].get("node")
            if m not in nodes or trace.nodes[m]["inputs"][:1] != [x]:
                continue
            g, ops = self.births.applied[n][1]["in"][0], (self.numbers.op(n), self.numbers.op(m))
            name = f"{facts.name(result)} is {facts.name(x)}"
            if ops == ("div", "sum") and self.births.even(g):
                return x, f"{name} divided by its own sum and always adds up to 1"
            if ops == ("sub", "mean") and self.births.even(g):
                return x, f"{name} minus its own mean and always adds up to 0"
            if (
                ops[0] == "div"
                and ops[1] in ("norm", "linalg_vector_norm")
                and self._parallel(g, self._made(result, n))
            ):
                return x, f"{name} divided by its own norm and always has the same length"
        return None

    def _made(self, t: int, n: int) -> int | None:
        """The value of a result of node n."""
        return self.numbers.value(t, self.facts.node_event.get(n, 0) + 1)

    def _parallel(self, v: int | None, w: int | None) -> bool:
        """Whether two values are proportional."""
        a, b = self.numbers.flat(v), self.numbers.flat(w)
        if a is None or b is None or len(a) != len(b):
            return False
        size = math.sqrt(float(a @ a) * float(b @ b))
        return size > 0 and abs(float(a @ b)) >= (1 - 1e-6) * size

    def _sum(self, birth: Birth, members: list[Birth], start: str, more: str, residue: float) -> Why:
        """Inside one node, terms that are not 0 add up to 0."""
        constant = self._constant(birth)
        if constant:
            return self._constant_sum(birth, constant, start, more, residue)
        facts, op = self.facts, self.numbers.op(birth.n)
        own = self._operand(birth)
        shape = facts.trace.tensors[own]["shape"]
        out = facts.trace.tensors[facts.trace.nodes[birth.n]["outputs"][0]]["shape"]
        example = self.numbers.element(own, birth.c or 0)
        numbers = f"for {example} the terms {listed([_short(x) for x in birth.terms])} add up to " + (
            _short(residue) + ", which is rounding" if residue else "0"
        )
        spread = (
            op in _ADDED
            and prod(shape) < prod(out)
            and (op not in ("addmm", "mul", "div", "convolution") or shape != out)
        )
        if op == "addmm" and birth.i != 0:
            spread = False
        if spread:
            copies = prod(out) // max(1, prod(shape))
            return self._found_sum(
                birth, "broadcast-cancels", start,
                f"{facts.name(own)} is used {copies} times by broadcasting, so its gradient is the sum of what comes back from all of "
                f"them, and {numbers}.",
                more,
                _BROADCAST,
            )  # fmt: skip
        return self._found_sum(
            birth, "cancellation", start, f"each number it sends is a sum, and {numbers}.", more,
            "this is the true derivative at this point: what one part gains another loses. Should they have these signs?",
        )  # fmt: skip

    def _found_sum(self, birth: Birth, cause: str, start: str, text: str, more: str, fix: str) -> Why:
        facts = self.facts
        e = facts.events[birth.k]
        incoming = facts.say(next((v for v in e["in"] if v is not None), None))
        head = f"{facts.words.nodes[birth.n]} got the gradient {incoming}: "
        return self.q.answer(
            cause,
            start + head + text,
            more,
            self._loss_too(),
            lines=facts.made(birth.n, "the terms cancel here"),
            fix=fix,
            k=birth.k,
        )

    def _constant(self, birth: Birth) -> str:
        """Why the elements of a node's result that the incoming gradient weighs add up to a constant; '' if they do not."""
        numbers, facts = self.numbers, self.facts
        node, op = facts.trace.nodes[birth.n], numbers.op(birth.n)
        e = facts.events[birth.k]
        result = node["outputs"][0]
        name = facts.name(result)
        name = "they" if name.startswith("the result of") else name
        if op in SOFTMAX and self._classes(birth.n) == 1:
            log = ", and its log 0" if op == "log_softmax" else ""
            return f"the softmax of a single number is always 1{log}"
        g = e["in"][0]
        if op in ("softmax", "safe_softmax") and self._even_along(g, birth.n):
            if len(facts.trace.tensors[result]["shape"]) > 1:
                which = f" (each row{'' if name == 'they' else f' of {name}'} does)"
            else:
                which = "" if name == "they" else f" ({name} does)"
            return f"the probabilities of a softmax always add up to 1{which}"
        senders = [e["n"] for _, e in self.births.messages.get((birth.n, 0), ())]
        if op == "log_softmax" and senders and all(self._sums_exp(n) for n in senders):
            return "the exp of a log_softmax is a softmax, whose probabilities always add up to 1"
        if op in NORMALIZED and birth.i == 0:
            if self.births.even(g):
                return "normalized values have a mean of 0 whatever the input is"
            if self.numbers.largest(e["out"][0]) <= 1e-5 * self.numbers.largest(g):
                return "normalized values have the same mean and spread whatever the input is, and this gradient asks for nothing else"
        return ""

    def _sums_exp(self, n: int) -> bool:
        """Whether node n is an exp whose results all get the same gradient."""
        return self.numbers.op(n) == "exp" and self.births.even(self.births.applied[n][1]["in"][0])

    def _classes(self, n: int) -> int:
        """The number of elements that a softmax normalizes."""
        node = self.facts.trace.nodes[n]
        shape = self.facts.trace.tensors[node["inputs"][0]]["shape"]
        dim = (node.get("params") or {}).get("dim", -1)
        return int(shape[dim]) if shape and isinstance(dim, int) else 1

    def _even_along(self, v: int | None, n: int) -> bool:
        """Whether the gradient of a softmax is the same for all the probabilities of a row."""
        array = self.numbers.array(v)
        if array is None:
            return self.births.even(v)
        dim = (self.facts.trace.nodes[n].get("params") or {}).get("dim", -1)
        if not array.ndim:
            return True
        return bool((array.max(dim) - array.min(dim) <= 1e-6 * abs(array).max(dim)).all())

    def _whole_sum(self, birth: Birth, start: str, more: str, residue: float) -> Why | None:
        """The same for a node without known elementwise derivatives."""
        numbers, op = self.numbers, self.numbers.op(birth.n)
        if op in SOFTMAX and birth.kind == "flat":
            constant = self._constant(birth)
            if constant:
                return self._constant_sum(birth, constant, start, more, residue)
        own = self._operand(birth)
        copies = numbers.shared(birth.n, birth.i)
        biggest = numbers.largest(self.facts.events[birth.k]["in"][0])
        if copies > 1:
            left = f"at most {_short(residue)}, which is rounding" if residue else "0"
            return self._found_sum(
                birth, "broadcast-cancels", start,
                f"{self.facts.name(own)} is used {copies} times by broadcasting, so its gradient is the sum of what comes back from all of "
                f"them, numbers of up to {_short(biggest)}, and that is {left}.",
                more, _BROADCAST,
            )  # fmt: skip
        if (
            op in ("mm", "addmm", "bmm", "mv")
            and not start
            and self._zero_factor(birth) is None
            and self._no_zeros(birth)
        ):
            return self._found_sum(
                birth, "cancellation", start,
                f"each number it sends to {self.facts.name(own)} is a sum of products that are not 0, and every one of these sums is 0.",
                more, "this is the true derivative at this point: what one part gains another loses. Should they have these signs?",
            )  # fmt: skip
        return None

    def _no_zeros(self, birth: Birth) -> bool:
        """Whether neither the gradient that came in nor the other factor of a product holds a 0."""
        facts, node = self.facts, self.facts.trace.nodes[birth.n]
        others = [
            self._value(t, birth.n)
            for j, t in enumerate(node["inputs"])
            if j != birth.i and not (self.numbers.op(birth.n) == "addmm" and j == 0)
        ]
        values = [facts.events[birth.k]["in"][0], *others]
        return all(min(x) > 0 or max(x) < 0 for v in values if (x := facts.numbers(v)))

    def _keeps_its_sum(self, birth: Birth) -> bool:
        """Whether a normalization got the same gradient everywhere: the mean of its results is always 0."""
        if self.numbers.op(birth.n) not in NORMALIZED or birth.i != 0:
            return False
        return self._even_scaled(birth.n, self.facts.events[birth.k]["in"][0])

    def _even_scaled(self, n: int, g: int | None) -> bool:
        """Whether a normalization without a scale of its own gets the same gradient everywhere."""
        inputs = self.facts.trace.nodes[n]["inputs"]
        scale = self._value(inputs[1], n) if len(inputs) > 1 else None
        return self.births.even(g) and (scale is None or self.births.even(scale))

    def _constant_sum(self, birth: Birth, constant: str, start: str, more: str, residue: float) -> Why:
        facts = self.facts
        e = facts.events[birth.k]
        own = facts.name(self._operand(birth))
        terms = ""
        if birth.terms and birth.c is not None:
            left = _short(residue) if residue else "0"
            example = self.numbers.element(self._operand(birth), birth.c)
            terms = f" For {example} the terms {listed([_short(x) for x in birth.terms])} add up to {left}."
        one = "single number" in constant
        fix = (
            _ONE_NUMBER
            if one
            else "use the single values (one of them, their logs, a weighted sum), not their plain sum or mean."
        )
        return self.q.answer(
            "constant-sum",
            f"{start}{constant[:1].upper()}{constant[1:]}, so a change of {own} changes nothing: {facts.words.nodes[birth.n]} got the "
            f"gradient {facts.say(e['in'][0])} and sent {'0' if not residue else 'next to nothing'}.{terms}",
            more,
            lines=facts.made(birth.n, "always adds up to the same" if not one else "one number only"),
            fix=fix,
            k=birth.k,
        )

    # -- products that are too small ------------------------------------------------------------------

    def _chain(self, factors: list[Factor]) -> tuple[str, list[Line], int]:
        """The factors on a path in words, by operation, the smallest first."""
        ratios: dict[str, list[tuple[float, int]]] = {}
        for f in factors:
            if abs(f.by - 1) > 1e-6:
                ratios.setdefault(self.numbers.op(f.n), []).append((f.by, f.n))
        order = sorted(ratios, key=lambda op: sum(math.log(max(r, 1e-300)) for r, _ in ratios[op]))
        words, lines = [], []
        for op in order[:3]:
            found = [r for r, _ in ratios[op]]
            low, high = _short(min(found)), _short(max(found))
            size = low if low == high else f"{low} to {high}"
            words.append(f"{len(found)} x {op} with {size}" + (" each" if len(found) > 1 else ""))
            smallest = min(ratios[op])[1]
            lines += self.facts.made(smallest, f"{op}: times {size}")
        return listed(words), lines, sum(len(found) for found in ratios.values())

    def _underflow(self, birth: Birth, members: list[Birth], start: str) -> Why:
        facts = self.facts
        e = facts.events[birth.k]
        limits = self.numbers.limits(e["out"][birth.i])
        dtype = facts.trace.values[e["out"][birth.i]]["dtype"]
        g = self.numbers.flat(e["in"][0])
        r: int | None = None
        if birth.c is None or g is None:
            came, x = self.numbers.largest(e["in"][0]), self.numbers.factor(birth.n, birth.i)
        else:
            column = self.numbers.column(birth.n, birth.i, birth.c, birth.k) or []
            r, x = max(column, key=lambda pair: abs(pair[1] * g[pair[0]]))
            came = float(g[r])
        _, factors = self.births.followed(birth.n, 0, r, birth=False)
        words, lines, count = self._chain(factors)
        way = f"The gradient was multiplied by {count} factor{'s' if count > 1 else ''} on its way ({words}) and was down to {_short(came)} when it came to" if words else \
            f"The gradient was only {_short(came)} when it came to"  # fmt: skip
        return self.q.answer(
            "underflow",
            f"{start}{way} {facts.words.nodes[birth.n]}: {_short(came)} * {_short(x)} = {_short(came * x)} is below half of the smallest "
            f"number of {dtype}, {_short(limits.tiny)}, and becomes 0.",
            lines=lines + facts.made(birth.n, "the product becomes 0 here"),
            fix=_SHRINKING if dtype != "float16" else "scale the loss up before backward() and the gradients down again (torch.amp.GradScaler), or "
            "use bfloat16 or float32.",
            k=birth.k,
        )  # fmt: skip

    def _vanished(self, largest: float, factors: list[Factor]) -> Why | None:
        words, lines, count = self._chain(factors)
        if not words:
            return None
        dtype = self.facts.trace.values[self.v]["dtype"]
        moves = ""
        if self._moves_nothing():
            now = self.facts.say(self.numbers.value(self.q.t, self.run.start))
            moves = f"Even a step with lr = 1 leaves {self.q.name} = {now} as it is in {dtype}."
        return self.q.answer(
            "vanishing",
            f"The gradient is not 0, but at most {_short(largest)}: on its way it was multiplied by {count} "
            f"factor{'s' if count > 1 else ''} ({words}).",
            moves,
            lines=lines,
            fix=_SHRINKING,
            k=self.k,
        )

    # -- the derivative itself is 0 -------------------------------------------------------------------

    def _nothing_counted(self, t: int, birth: Birth | None = None) -> Why:
        facts = self.facts
        shape = facts.trace.tensors[t]["shape"]
        return self.q.answer(
            "nothing-counted",
            f"{facts.name(t)} has no elements (shape {shape}), so the loss counts nothing.",
            self._loss_too(),
            lines=facts.at(facts.maker.get(t), "nothing is left here") or facts.assignment(t),
            fix="check what the mask or the slice lets through; skip a batch in which nothing counts.",
            k=birth.k if birth else self.k,
        )

    def _unseen(self) -> Why:
        """The search ended before an origin was found."""
        facts = self.facts
        return self.q.answer(
            "unknown",
            f"Only zeros arrived at {facts.words.nodes[self.node]}, and this recording does not tell where they began.",
            lines=facts.at(self.run.start, "during this pass"),
            fix="record the whole computation.",
            k=self.k,
        )

    def _zero_factor(self, birth: Birth) -> int | None:
        """Another operand of a product that is zero everywhere."""
        for j, t in enumerate(self.facts.trace.nodes[birth.n]["inputs"]):
            bias = self.numbers.op(birth.n) == "addmm" and j == 0
            if j != birth.i and not bias and self.facts.zero(self._value(t, birth.n)):
                return int(t)
        return None

    def _flat(self, birth: Birth, members: list[Birth], start: str, more: str) -> Why:
        """The derivative of the node is 0 there, because of what it computes."""
        facts, numbers = self.facts, self.numbers
        node, op = facts.trace.nodes[birth.n], numbers.op(birth.n)
        own = self._operand(birth)
        v = self._value(own, birth.n)
        values = numbers.flat(v)
        cs = sorted({b.c for b in members if b.c is not None})
        at = f"{facts.name(own)} = {facts.say(v)}"
        if values is not None and 0 < len(cs) < len(values):
            at = listed([f"{numbers.element(own, c)} = {_short(float(values[c]))}" for c in cs])

        def found(cause: str, text: str, fix: str, what: str) -> Why:
            return self._found(birth, cause, start, text, more, fix, what)

        if op in DRAWS:
            text = f"{op} draws at random: what it gives does not depend smoothly on {facts.name(own)}."
            return found("sampled", text, SAMPLED_FIX, "drawn here")

        if values is not None and op not in _PICK | _PRODUCT | _REPLACE:
            nan = [c for c in (cs or range(len(values))) if math.isnan(values[c])]
            if nan:
                first = birth_of(self.q, self.run, own, facts.node_event.get(birth.n, 0))
                then = f"{facts.words.nodes[birth.n]} sent 0 where its input is nan ({listed([numbers.element(own, c) for c in nan])})."
                return self.q.answer(
                    first.cause, start + first.sentences[0], *first.sentences[1:], then, more, fix=first.fix, k=birth.k,
                    lines=[*first.lines, *facts.made(birth.n, "nan in, 0 out in the backward")],
                )  # fmt: skip
        constant = op in SOFTMAX and self._constant(birth)
        if constant and "single number" in constant:
            return self._constant_sum(birth, constant, start, more, 0.0)
        if node.get("made_in") and op in _STRAIGHT:
            return found(
                "constant-derivative",
                f"this node is part of the derivative of {_STRAIGHT[op]}, which is made of straight pieces: along each of them the "
                "derivative is constant, so the next derivative is 0.",
                "this is the true derivative. A function with a curved graph (x ** 2, softplus, tanh) has another one.",
                "the derivative is constant here",
            )
        if node.get("made_in") and (op in _FLAT or self._power_of_nothing(birth.n)):
            return found(
                "constant-derivative",
                "this node is part of a derivative, and that derivative is a constant: it does not change with "
                f"{facts.name(own)}, so the next derivative is 0.",
                "this is the true derivative. A function with a curved graph (x ** 2, softplus, tanh) has another one.",
                "the derivative is constant here",
            )
        if self._power_of_nothing(birth.n):
            return found(
                "flat-here", f"{facts.name(own)} ** 0 is always 1, so its derivative is 0.", "check the exponent.", "always 1",
            )  # fmt: skip
        if op == "relu":
            dead = values is None or all(values[c] <= 0 for c in (cs or range(len(values))))
            text = f"its input {at} is nowhere above 0, where relu is constant."
            if not dead or (values is None and max(facts.numbers(v)) > 0):
                text = "wherever something came in, its input is not above 0, and there relu is constant."
            return found(
                "dead-relu", text, "check the scale and sign of what goes in; a leaky_relu passes something everywhere.",
                f"{op} is flat here",
            )  # fmt: skip
        if op in _BENT:
            return found(
                "saturated", f"{at} is in the part where {op} is constant.", "keep the input in the part where the activation is not flat.",
                f"{op} is flat here",
            )  # fmt: skip
        if op in _CLAMP:
            return found(
                "clamped",
                f"{at} lies outside of the limits, where the result no longer depends on it.",
                "nothing comes back from beyond a limit. Was that meant, as in a hinge or a relu? If not, use a smooth limit such as tanh or "
                "softplus, or clamp only what is logged.",
                "clamped here",
            )
        if op in _FLAT:
            return found(
                "flat-function",
                f"{op} is a staircase, and its derivative is 0 wherever it has one.",
                "use a smooth function, or pass the gradient straight through: x + (x.round() - x).detach().",
                f"{op} here",
            )
        ignored = self._ignored(birth.n, op, birth, cs)
        if ignored:
            return found(
                "nothing-counted", ignored, "check the targets (or indices) of this batch; skip it if nothing in it counts.",
                "nothing is counted here",
            )  # fmt: skip
        if op in _REPLACE or op == "copyslices" or node["name"].startswith("CopySlices"):
            return found(
                "replaced",
                f"what {facts.name(own)} held was overwritten here, so the result does not depend on it.",
                "write into a new tensor, or only where the old value is not needed.",
                "overwritten here",
            )
        padding = (node.get("params") or {}).get("padding_idx", -1)
        if (
            op == "embedding"
            and padding in (rows := self._rows(own, cs))
            and padding in self._looked_up(birth.n)
        ):
            rest = [row for row in rows if row != padding]
            return found(
                "not-chosen",
                f"row {padding} is the padding_idx, which gets no gradient though it was looked up, and embedding did not look up "
                f"row{'s' if len(rest) > 1 else ''} {listed(rest)}.",
                "nothing: a row learns in the batches in which it is looked up.",
                "embedding chooses here",
            )
        if op in _PICK:
            return found(
                "not-chosen",
                f"{op} took other elements; a small change of {at} does not change the result.",
                _SOFT,
                f"{op} chooses here",
            )
        if op == "prod" and self._too_small_a_product(birth):
            return found(
                "underflow",
                f"the product of the numbers in {facts.name(own)} = {facts.say(v)} is too small for "
                f"{facts.trace.tensors[own]['dtype']}: none of them is 0, but the product became 0, and so did its derivatives.",
                "add up their logs instead of multiplying: torch.log(x).sum(), or a log_softmax or logsigmoid.",
                "the product becomes 0 here",
            )
        if op in _PRODUCT:
            answer = self._by_zero(birth, found)
            if answer is not None:
                return answer
        if op in SOFTMAX and birth.kind == "flat":
            return found(
                "saturated",
                f"at {at} the softmax is exactly 0 or 1 in {facts.trace.tensors[own]['dtype']}, and a small change does not change that.",
                "keep what goes into the softmax small: smaller weights, normalization, smaller steps.",
                f"{op} is saturated here",
            )
        if op in _SQUASH:
            return found(
                "saturated",
                f"at {at} {op} is so flat that its derivative is 0 in {facts.trace.tensors[own]['dtype']}.",
                "keep the input small: smaller weights, normalization, or a loss that takes logits.",
                f"{op} is saturated here",
            )
        if op in ("std", "std_mean") and self.births.even(v):
            return found(
                "flat-here", f"{op} has a kink where all numbers are equal, {at}. There is no derivative there; 0 is the convention.",
                "start somewhere else, or use var.", f"{op} has a kink here",
            )  # fmt: skip
        if op in _KINK and values is not None and all(values[c] == 0 for c in (cs or range(len(values)))):
            return found(
                "flat-here",
                f"{op} has a kink at {at}. There is no derivative there; 0 is the convention.",
                "start somewhere else, or add a small number inside if something should flow.",
                f"{op} has a kink here",
            )
        if birth.kind == "whole" and op not in POINTWISE:
            return self._unproven(birth, start, more)
        others = [t for j, t in enumerate(node["inputs"]) if t != own and not facts.is_constant(t)]
        beside = (
            f" and {listed([f'{facts.name(t)} = {facts.say(self._value(t, birth.n))}' for t in others])}"
            if others
            else ""
        )
        return found(
            "flat-here",
            f"the derivative of {op} is 0 at {at}{beside}.",
            "this is the true derivative at this point. Should it start somewhere else?",
            f"the derivative of {op} is 0 here",
        )

    def _unproven(self, birth: Birth, start: str, more: str) -> Why:
        """All that the numbers prove: this node received something and passed on zeros."""
        op = self.numbers.op(birth.n)
        return self._found(
            birth, "unknown", start, f"either the derivatives of {op} are 0 there or what it adds up cancels; the recording does not have "
            "them one by one.",
            more, "what are the numbers that go into this line? With few of them the recording tells more.", f"{op} sends 0 here",
        )  # fmt: skip

    def _power_of_nothing(self, n: int) -> bool:
        params = self.facts.trace.nodes[n].get("params") or {}
        return self.numbers.op(n) == "pow" and params.get("exponent") == 0

    def _ignored(self, n: int, op: str, birth: Birth, cs: list[int]) -> str:
        """Why nothing was counted: all targets are ignored or have weight 0, or the rows are padding."""
        facts, node = self.facts, self.facts.trace.nodes[n]
        params = node.get("params") or {}
        inputs = node["inputs"]
        if op in ("nll_loss", "nll_loss2d", "nll_loss_nd") and len(inputs) > 1:
            targets, ignored = facts.numbers(self._value(inputs[1], n)), params.get("ignore_index", -100)
            name = facts.name(inputs[1])
            if targets and all(t == ignored for t in targets):
                return f"all {prod(facts.trace.tensors[inputs[1]]['shape'])} targets in {name} are {ignored}, the ignore_index, so nothing was counted."
            weights = self.numbers.flat(self._value(inputs[2], n)) if len(inputs) > 2 else None
            if targets and weights is not None and prod(facts.trace.tensors[inputs[1]]["shape"]) <= MOST:
                counted = [t for t in targets if t != ignored]
                if counted and all(0 <= t < len(weights) and weights[int(t)] == 0 for t in counted):
                    return f"the classes in {name} all have the weight 0, so nothing was counted."
        if op == "embedding" and len(inputs) > 1:
            asked, padding = self._looked_up(n), params.get("padding_idx", -1)
            if padding is not None and padding >= 0 and asked:
                if all(i == padding for i in asked):
                    return f"all indices in {facts.name(inputs[1])} are {padding}, the padding_idx, whose row gets no gradient."
                if self._rows(inputs[0], cs) == [padding] and padding in asked:
                    return (
                        f"row {padding} is the padding_idx, which gets no gradient though it was looked up."
                    )
        return ""

    def _rows(self, table: int, cs: list[int]) -> list[int]:
        """The rows of a table that contain the elements."""
        width = self.facts.trace.tensors[table]["shape"][-1]
        return sorted({c // width for c in cs}) if width else []

    def _looked_up(self, n: int) -> list[float]:
        """The indices that an embedding was given, as far as they are known."""
        inputs = self.facts.trace.nodes[n]["inputs"]
        return self.facts.numbers(self._value(inputs[1], n)) if len(inputs) > 1 else []

    def _too_small_a_product(self, birth: Birth) -> bool:
        """Whether a product became 0 although no factor is."""
        facts = self.facts
        own, result = self._operand(birth), facts.trace.nodes[birth.n]["outputs"][0]
        factors = facts.numbers(self._value(own, birth.n))
        return (
            facts.zero(self._made(result, birth.n))
            and bool(factors)
            and (
                all(x > 0 for x in factors)
                or (0 not in factors and self.numbers.flat(self._value(own, birth.n)) is not None)
            )
        )

    def _shrunk(self, t: int, n: int) -> int | None:
        """The multiplication that made the zeros of t, which node n uses, from nonzero factors; None if there is none."""
        facts = self.facts
        while (k := facts.maker.get(t)) is not None and facts.zero(self._value(t, n)):
            made = facts.events[k].get("n")
            if made is None or self.numbers.op(made) not in ("mul", "prod"):
                return None
            node = facts.trace.nodes[made]
            zero = [a for a in node["inputs"] if 0 in (facts.numbers(self._value(a, made)) or [0])]
            if not zero:
                return None if (node.get("params") or {}).get("other") == 0 else made
            t, n = zero[0], made
        return None

    def _shrunk_product(self, birth: Birth, factor: int, shrunk: int) -> Why:
        """A factor underflowed to 0 in the forward pass."""
        facts, node = self.facts, self.facts.trace.nodes[shrunk]
        factors = [facts.say(self._value(a, shrunk)) for a in node["inputs"]]
        if len(factors) == 1:
            factors += [
                f"{x:.4g}" for x in [(node.get("params") or {}).get("other")] if isinstance(x, float | int)
            ]
        dtype = facts.trace.tensors[factor]["dtype"]
        return self.q.answer(
            "underflow",
            f"{facts.words.nodes[birth.n]} multiplies the gradient by {facts.name(factor)}, which became 0 in the forward pass: "
            f"{' * '.join(factors)} is too small for {dtype}.",
            lines=facts.made(shrunk, "the product becomes 0 here")
            + facts.made(birth.n, "multiplied by it here"),
            fix="add up logs instead of multiplying many numbers: the log of a product is the sum of the logs.",
            k=birth.k,
        )

    def _by_zero(self, birth: Birth, found: Callable[[str, str, str, str], Why]) -> Why | None:
        """A product: the factor that is 0."""
        facts, n = self.facts, birth.n
        inputs, op = facts.trace.nodes[n]["inputs"], self.numbers.op(birth.n)
        factor = self._zero_factor(birth)
        params = facts.trace.nodes[n].get("params") or {}
        fix = "why is that factor 0: a mask, a weight initialized to zeros, an input that is off?"
        if factor is None and params.get("other") == 0 and op == "mul":
            return found("multiplied-by-zero", "it multiplies by 0.", fix, "multiplied by 0 here")
        if factor is None and op in (
            "mul",
            "mm",
            "addmm",
            "bmm",
            "mv",
            "dot",
            "prod",
            "cumprod",
            "convolution",
            "native_dropout",
        ):
            other = next(
                (t for j, t in enumerate(inputs) if j != birth.i and not (op == "addmm" and j == 0)), None
            )
            own = self._operand(birth)
            if other is None:
                other = own
            if op == "cumprod" and 0 not in facts.numbers(self._value(own, n)):
                return None
            if birth.kind == "flat" or (op == "mul" and birth.kind == "whole"):
                what = (
                    f"the elements of {facts.name(other)} that it multiplies by"
                    if other != own or op == "mul"
                    else f"other elements of {facts.name(own)}"
                )
                return found(
                    "multiplied-by-zero",
                    f"{what} are 0 there ({facts.name(other)} = {facts.say(self._value(other, n))}).", fix, "multiplied by 0 here",
                )  # fmt: skip
            return None
        if factor is None:
            return None
        shrunk = self._shrunk(factor, n)
        if shrunk is not None:
            return self._shrunk_product(birth, factor, shrunk)
        what = facts.say(self._value(factor, n))
        if facts.named(factor) and not facts.is_constant(factor):
            what = f"{facts.name(factor)} = {what}"
        return found("multiplied-by-zero", f"it multiplies by {what}.", fix, f"multiplied by {what} here")


_SHRINKING = "make the factors larger or fewer: relu instead of sigmoid or tanh, a larger initialization, residual connections, normalization."


_BROADCAST = (
    "this is the true derivative: something further on (a batch norm, a mean that is subtracted, weights that add up to 0) does not see a "
    "shift that all share. A bias there does nothing; leave it out."
)


def _key(birth: Birth) -> tuple:
    return birth.kind, birth.n, birth.i


def _short(x: float) -> str:
    """A number with four digits, even a very small one."""
    return f"{x:.4g}"


def _places(shape: list[int], cs: list[int]) -> str:
    """Elements as text; whole rows as such."""
    width = prod(shape[1:]) if len(shape) > 1 else 0
    if width > 1:
        rows = sorted({c // width for c in cs})
        if len(cs) == len(rows) * width:
            return f"row{'s' if len(rows) > 1 else ''} {listed(rows)}"
    words = []
    for c in cs:
        place, rest = [], c
        for size in reversed(shape):
            place.append(rest % size)
            rest //= size
        words.append(f"[{', '.join(map(str, place[::-1]))}]")
    return listed(words)
