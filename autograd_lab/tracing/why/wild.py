"""`.grad` contains nan or inf: the first event, forward before backward, that produced one.

The search follows messages with nan (or inf) from the gradient back through the pass, to the rule that made it from finite ones. If
that rule computed with a nan or an inf of the forward pass, the search goes on from there, through operations, writes and updates,
if necessary into an earlier pass. It ends at the origin.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..trace import Record
from .answer import Why, listed
from .births import Births
from .facts import Pass
from .numbers import LIMITS, Numbers, plain_op
from .question import Question

Test = Callable[[int | None], bool]

_HUGE = 1e19  # its square no longer fits into float32

#: Where an operation is not defined, and the numbers it is not defined for.
_DOMAIN = {
    "log": ("the log of a negative number", lambda x: x < 0),
    "log2": ("the log of a negative number", lambda x: x < 0),
    "log10": ("the log of a negative number", lambda x: x < 0),
    "log1p": ("log1p of a number below -1, a log of a negative number,", lambda x: x < -1),
    "sqrt": ("the square root of a negative number", lambda x: x < 0),
    "rsqrt": ("the square root of a negative number", lambda x: x < 0),
    "acos": ("acos of a number outside of -1 to 1", lambda x: abs(x) > 1),
    "asin": ("asin of a number outside of -1 to 1", lambda x: abs(x) > 1),
    "atanh": ("atanh of a number outside of -1 to 1", lambda x: abs(x) > 1),
    "acosh": ("acosh of a number below 1", lambda x: x < 1),
    "logit": ("logit of a number outside of 0 to 1", lambda x: (x < 0) | (x > 1)),
    "pow": ("a negative number to a power that is not whole", lambda x: x < 0),
    "erfinv": ("erfinv of a number outside of -1 to 1", lambda x: abs(x) > 1),
    "lgamma": ("lgamma of a number where it is not defined", lambda x: x <= 0),
}
#: Where an operation is infinite, as text.
_POLE = {
    "log": ("log of 0 is -inf", lambda x: x == 0),
    "log2": ("log2 of 0 is -inf", lambda x: x == 0),
    "log10": ("log10 of 0 is -inf", lambda x: x == 0),
    "log1p": ("log1p of -1 is log of 0, which is -inf", lambda x: x == -1),
    "xlogy": ("log of 0 is -inf", lambda x: x == 0),
    "logit": ("logit of 0 or 1 is a log of 0, which is not finite", lambda x: (x == 0) | (x == 1)),
}
_DIVIDES = {
    "div": "a number divided by 0 is inf, and 0 / 0 is nan",
    "reciprocal": "1 / 0 is inf",
    "rsqrt": "1 / sqrt(0) is inf",
    "pow": "0 to a negative power is 1 / 0, inf",
    "fmod": "there is no remainder of a division by 0",
    "remainder": "there is no remainder of a division by 0",
    "atanh": "atanh of -1 and 1 is infinite",
    "tan": "tan is infinite there",
    "mean": "the mean of no numbers is 0 / 0",
}
#: What makes a rule give nan or inf, in the backward pass.
_BACKWARD = {
    "sqrt": "the derivative of sqrt(x), 1 / (2 sqrt(x)), is infinite at x = 0",
    "rsqrt": "the derivative of 1 / sqrt(x) is infinite at x = 0",
    "pow": "the derivative of x ** n with n < 1 is infinite at x = 0",
    "log": "the derivative of log(x), 1 / x, is infinite at x = 0",
    "div": "the derivative divides by the denominator, which is 0",
    "reciprocal": "the derivative of 1 / x is infinite at x = 0",
    "norm": "the derivative of a norm divides by the norm, which is 0",
    "linalg_vector_norm": "the derivative of a norm divides by the norm, which is 0",
    "hypot": "the derivative of a hypotenuse divides by it, and it is 0",
    "atan2": "the derivative of atan2 divides by x * x + y * y, which is 0",
    "acos": "the derivative of acos is infinite at -1 and 1",
    "asin": "the derivative of asin is infinite at -1 and 1",
    "atanh": "the derivative of atanh is infinite at -1 and 1",
    "acosh": "the derivative of acosh is infinite at 1",
    "std": "the derivative of a standard deviation divides by it, and it is 0",
    "std_mean": "the derivative of a standard deviation divides by it, and it is 0",
    "exp": "the derivative of exp(x) is exp(x), which is inf here: 0 * inf is nan",
    "linalg_eigh": "the derivative divides by differences of eigenvalues, and two of them are equal",
    "linalg_svd": "the derivative divides by differences of singular values, and two of them are equal",
}
#: Where a derivative is infinite: (number of the operand, test of its elements).
_STEEP = {
    "sqrt": lambda x: x == 0,
    "rsqrt": lambda x: x == 0,
    "log": lambda x: x == 0,
    "reciprocal": lambda x: x == 0,
    "pow": lambda x: x == 0,
    "acos": lambda x: abs(x) == 1,
    "asin": lambda x: abs(x) == 1,
    "atanh": lambda x: abs(x) == 1,
    "acosh": lambda x: x == 1,
}
_SAFE = {
    "sqrt": "add a small number inside: sqrt(x + 1e-12), or clamp x from below.",
    "norm": "add a small number inside: (x.square().sum() + 1e-12).sqrt().",
    "linalg_vector_norm": "add a small number inside: (x.square().sum() + 1e-12).sqrt().",
    "log": "keep x away from 0: log(x + 1e-12), x.clamp(min=1e-12), or a loss that takes logits.",
    "div": "keep the denominator away from 0, or add a small number to it.",
    "reciprocal": "keep the denominator away from 0, or add a small number to it.",
    "exp": "use a stable form: log_softmax, logsumexp, softplus, or subtract the maximum first.",
    "std": "add a small number before the root, or use var.",
    "acos": "keep x inside: x.clamp(-1 + 1e-6, 1 - 1e-6).",
    "asin": "keep x inside: x.clamp(-1 + 1e-6, 1 - 1e-6).",
}
#: Operations whose result can be larger than any of their operands.
_GROWS = {
    "exp", "expm1", "exp2", "cosh", "sinh", "pow", "square", "mul", "add", "sub", "rsub", "div", "reciprocal", "mm", "addmm", "bmm",
    "baddbmm", "mv", "dot", "sum", "prod", "cumsum", "cumprod", "addcmul", "addcdiv", "convolution", "mse_loss", "norm", "var", "std",
    "linalg_vector_norm", "softplus", "log_sigmoid_forward", "logaddexp",
}  # fmt: skip
_SOFTMAX = {"softmax", "safe_softmax", "log_softmax", "logsumexp"}
#: Operations that write what the user chose: a nan or inf that they write is on purpose.
_CHOSEN = {
    "masked_fill", "where", "fill", "full_like", "copy", "triu", "tril", "tensor",
}  # fmt: skip
_SPREAD = {"std", "var", "std_mean", "var_mean"}
_SELECTS = (
    "where",
    "masked_fill",
    "index",
    "masked_select",
    "select",
    "slice",
    "nan_to_num",
    "mul",
    "max",
    "min",
    "amax",
    "amin",
)


class Born(NamedTuple):
    """The origin of a nan or inf in the forward pass.

    k       the event that made it; for a tensor from outside the event of its first use, or None
    t       the tensor that has it
    v       the value with it
    kind    "nan" or "inf"
    inputs  the operands of event k, with their values
    """

    k: int | None
    t: int
    v: int | None
    kind: str
    inputs: tuple[tuple[int, int | None], ...] = ()
    outside: bool = False


def wild(q: Question) -> Why:
    """Why `.grad` is nan or inf."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = next((r for r in reversed(facts.passes) if r.start <= k <= r.end), None)
    if run is None or facts.events[k]["k"] == "grad":
        last = next((r for r in reversed(facts.passes) if r.end < k), None)
        before = [i for i in facts.grads[q.t] if i < k and facts.events[i]["k"] != "grad"]
        if not before or not facts.wild(_gradient(facts.events[before[-1]])):
            return q.answer(
                "grad-edited",
                f"{q.name}.grad was changed by the program itself after the pass.",
                lines=facts.at(last.start if last else None, "the pass") + facts.at(k, "changed here"),
                fix="look at what is written into .grad.",
                k=k,
            )
        k = before[-1]
    return _Wild(q).of(q.t, k + 1)


def birth_of(q: Question, run: Pass, t: int, until: int) -> Why:
    """The origin of the nan or inf that tensor t held before event `until`, for a gradient that it did not reach."""
    search = _Wild(q)
    kind = "nan" if q.facts.nan(search.numbers.value(t, until)) else "inf"
    return search.forward(run, search.origin(t, until, kind))


def _gradient(e: Record) -> int | None:
    found: int | None = e["new"] if e["k"] == "accumulate" else e["v"]
    return found


class _Wild:
    """The search for one origin."""

    def __init__(self, q: Question) -> None:
        self.q, self.facts = q, q.facts
        self.numbers = Numbers(q.facts)
        self.updates: list[int] = []  # the updates through which the search went back to an earlier pass

    # -- the pass -------------------------------------------------------------------------------------

    def of(self, t: int, until: int) -> Why:
        """The origin of the nan or inf in `.grad` of t, as it was just before event `until`."""
        facts = self.facts
        changes = [k for k in facts.grads[t] if k < until]
        k = changes[-1]
        while True:  # the first pass that contained it
            older = changes[changes.index(k) - 1] if changes.index(k) else None
            e = facts.events[k]
            added = e["k"] == "accumulate" and e["old"] is not None and facts.wild(e["old"])
            if not added or older is None:
                break
            k = older
        e = facts.events[k]
        run = next((r for r in facts.passes if r.start <= k <= r.end), None)
        if run is None or e["k"] == "grad" or not facts.wild(e.get("add", e.get("v"))):
            return self._before()
        slot = 0 if facts.leaf(t) else facts.trace.tensors[t].get("output_nr", 0)
        return self._follow(run, e["n"], slot, "nan" if facts.nan(e.get("add", e.get("v"))) else "inf")

    def _before(self) -> Why:
        return self.q.answer(
            "nan-backward",
            "The number was there before this recording began, or came in by a way that it did not see.",
            fix="record the whole computation.",
        )

    def _follow(self, run: Pass, n: int, slot: int, kind: str) -> Why:
        facts = self.facts
        births = Births(facts, self.numbers, run)
        turned: int | None = None  # the node at which inf became nan

        def has(v: int | None) -> bool:
            return facts.nan(v) if kind == "nan" else facts.wild(v)

        while True:
            for k, e in births.hooks.get(n, ()):
                if e["stage"] in ("tensor", "pre") and _changed(e, has):
                    return self._hook(k, e)
            arrived = births.messages.get((n, slot), [])
            bad = [(k, e) for k, e in arrived if has(e["v"])]
            if not bad and kind == "nan" and any(facts.wild(e["v"]) for _, e in arrived):
                kind, turned = "inf", n
                continue
            if not bad:
                seed = births.seeds.get((n, slot))
                if seed is not None and facts.wild(seed[1]["v"]):
                    return self._seed(run, *seed)
                if arrived:
                    return self._grew(
                        run, births, arrived[-1][0], arrived[-1][1]["n"], arrived[-1][1]["sum"], None
                    )
                return self._before()
            _, e = bad[0]
            n, i = e["n"], e["i"]
            if n not in births.applied:
                return self._before()
            k, vjp = births.applied[n]
            if i < len(vjp["out"]) and not has(vjp["out"][i]):
                for at, hook in births.hooks.get(n, ()):
                    if hook["stage"] == "post" and _changed(hook, has):
                        return self._hook(at, hook)
            came = [s for s, v in enumerate(vjp["in"]) if has(v)]
            if came:
                slot = came[0]
                continue
            if kind == "nan":
                infinite = [s for s, v in enumerate(vjp["in"]) if facts.wild(v)]
                if infinite:
                    kind, slot, turned = "inf", infinite[0], n
                    continue
            return self._at_rule(run, births, k, n, i, vjp, turned)

    def _seed(self, run: Pass, k: int, e: Record) -> Why:
        facts = self.facts
        return self.q.answer(
            "nan-seed",
            f"The gradient given to backward was {facts.say(e['v'])}.",
            lines=facts.at(run.start, "the pass starts here"),
            fix="give backward a finite gradient.",
            k=k,
        )

    def _hook(self, k: int, e: Record) -> Why:
        facts = self.facts
        before, after = next(
            (b, a)
            for b, a in zip(e["before"], e["after"], strict=False)
            if not facts.wild(b) and facts.wild(a)
        )
        return self.q.answer(
            "nan-hook",
            f"A hook on {facts.hook_place(e)} turned the gradient {facts.say(before)} into {facts.say(after)}.",
            lines=facts.made(e["n"], "the hook runs on the gradient of this line")
            or facts.assignment(self.q.t),
            fix="look into the hook.",
            k=k,
        )

    # -- one rule: finite in, not finite out ----------------------------------------------------------

    def _at_rule(
        self, run: Pass, births: Births, k: int, n: int, i: int, vjp: Record, turned: int | None
    ) -> Why:
        facts = self.facts
        node = facts.trace.nodes[n]
        made = facts.node_event.get(n, run.start)
        bad = vjp["out"][i]
        hider = self._hider(births, run, n, vjp, bad)
        used = [*node["inputs"], *node["outputs"], *(t for _, t, *_ in node["saved"] if t is not None)]
        values = {t: self._then(t, made, node) for t in used}
        for kind in ("nan", "inf"):
            test = facts.nan if kind == "nan" else facts.wild
            for t in dict.fromkeys(used):
                if test(values[t]):
                    born = self.origin(t, made + (t in node["outputs"]), kind)
                    if hider is not None:
                        return self._hidden(run, n, vjp, bad, hider, born, i)
                    if kind == "inf" and self.numbers.op(n) == "logsumexp" and t == node["inputs"][0]:
                        at = Born(made, node["outputs"][0], bad, "nan", ((t, values[t]),))
                        return self._of_infinities(run, at, [(t, values[t])])
                    return self.forward(run, born)
        late = self._written_since(node, made, k)
        if late is not None:
            return late
        if hider is not None:
            return self._hidden(run, n, vjp, bad, hider, None, i)
        vanished = self._turned_finite(node, made)
        if vanished is not None:
            answer = self.forward(run, vanished)
            then = f"Later {facts.words.nodes[n]} made {facts.say(bad)} of the incoming {facts.say(vjp['in'][0])}."
            return self.q.answer(
                answer.cause, *answer.sentences, then, fix=answer.fix, k=None if answer.step is None else answer.step - 1,
                lines=[*answer.lines, *facts.made(n, f"{self._kind(bad)} is born in the backward of this line")],
            )  # fmt: skip
        sizes = [abs(x) for v in vjp["in"] for x in facts.numbers(v) if math.isfinite(x)]
        limits = self.numbers.limits(bad)
        if (
            not facts.nan(bad)
            and max(sizes, default=0) > min(_HUGE, math.sqrt(limits.most))
            and not self._steep(n, i, bad)
        ):
            return self._grew(run, births, k, n, bad, vjp)
        return self._infinite_slope(k, n, i, vjp, bad, turned)

    def _turned_finite(self, node: Record, made: int) -> Born | None:
        """An inf on the path to a node that an operation made finite again, as 1 / inf is 0; not one that was only left out."""
        facts = self.facts
        row = list(node["inputs"])
        for t in row:
            k = facts.maker.get(t)
            if k is None or k >= made or self._op(Born(k, t, None, "")) in set(_SELECTS) - {"mul"}:
                continue
            for a in facts.inputs(facts.events[k]):
                if facts.wild(self.numbers.value(a, k)):
                    born = self.origin(a, k, "nan" if facts.nan(self.numbers.value(a, k)) else "inf")
                    if not born.outside and self._op(born) not in _CHOSEN and born.inputs:
                        return born
                elif a not in row:
                    row.append(a)
        return None

    def _then(self, t: int, made: int, node: Record) -> int | None:
        """The value of a tensor as the node met it."""
        if t in node["outputs"] and t not in node["inputs"]:
            return self.numbers.value(t, made + 1)
        return self.numbers.value(t, made)

    def _written_since(self, node: Record, made: int, k: int) -> Why | None:
        """A write after the node was made put nan or inf into a saved tensor."""
        for t in dict.fromkeys([*node["inputs"], *node["outputs"]]):
            for w, v, _ in self.numbers.written(t):
                if made < w < k and self.facts.wild(v):
                    return self._written(w, t)
        return None

    def _written(self, w: int, t: int) -> Why:
        facts, e = self.facts, self.facts.events[w]
        base = facts.trace.tensors[t]["base"]
        if base is not None and not facts.named(t):
            t = int(base)
        if not facts.named(t) and t in facts.maker:  # an alias, such as w.data
            t = int(facts.events[facts.maker[t]].get("from", t))
        return self.q.answer(
            "nan-written",
            f"{facts.name(t)} was finite until {e['op']} wrote {self._say(e['v'])} into it.",
            lines=facts.at(w, f"{self._kind(e['v'])} is written here"),
            fix="do not write it, or write it into a copy made with clone().",
            k=w,
        )

    def _steep(self, n: int, i: int, bad: int | None) -> str:
        """The numbers of the operand for which the derivative of node n is infinite, as text; '' if it has none."""
        facts, op = self.facts, self.numbers.op(n)
        node = facts.trace.nodes[n]
        test = _STEEP.get(op)
        j = 1 if op == "div" and len(node["inputs"]) > 1 else i
        if op == "div":
            test = _STEEP["log"]
        if j >= len(node["inputs"]):
            return ""
        t = node["inputs"][j]
        x = self.numbers.flat(self.numbers.value(t, facts.node_event.get(n, 0)))
        if test is None or x is None:
            return ""
        found = [c for c in range(len(x)) if bool(test(x[c]))]
        return self._elements(t, found, x) if found else ""

    def _elements(self, t: int, cs: list[int], x: np.ndarray) -> str:
        return listed([f"{self.numbers.element(t, c)} = {x[c]:.6g}" for c in cs], 3)

    def _infinite_slope(self, k: int, n: int, i: int, vjp: Record, bad: int, turned: int | None) -> Why:
        facts, op = self.facts, self.numbers.op(n)
        node = facts.trace.nodes[n]
        made = facts.node_event.get(n, 0)
        incoming = next((v for v in vjp["in"] if v is not None), None)
        label = facts.words.nodes[n]
        given = list(dict.fromkeys(
            f"{facts.name(a)} = {facts.say(self.numbers.value(a, made))}" for a in node["inputs"] if not facts.is_constant(a)
        ))  # fmt: skip
        lines = facts.made(n, f"{self._kind(bad)} is born in the backward of this line")
        where = self._steep(n, i, bad)
        why = _BACKWARD.get(op, "")
        reason = f"{why[:1].upper()}{why[1:]}." if why and (where or op not in _STEEP) else ""
        if where and len(given) == 1 and facts.trace.tensors[node["inputs"][0]]["shape"]:
            given = [*given, f"here {where}"]
        later = ""
        if turned is not None:
            then = (
                "then adds inf and -inf, which is nan."
                if turned == n
                else "then multiplies inf by 0, which is nan."
            )
            later = f"{facts.words.nodes[turned]} {then}"
            lines += facts.made(turned, "inf * 0 becomes nan in the backward of this line")
        return self.q.answer(
            "nan-backward",
            f"The loss is finite, but the rule of {label} turned the incoming {facts.say(incoming)} into {facts.say(bad)}"
            + (f", with {listed(given)}." if given else "."),
            reason,
            later,
            lines=lines,
            fix=_SAFE.get(
                op, "keep the input of this line away from the point where its derivative is not finite."
            ),
            k=k,
        )

    def _grew(self, run: Pass, births: Births, k: int, n: int, bad: int | None, vjp: Record | None) -> Why:
        """Finite numbers became too large for the dtype in the backward pass."""
        facts = self.facts
        node = facts.trace.nodes[n]
        for t in node["inputs"]:
            diverged = self._grown(t, run.start)
            if diverged is not None:
                return diverged
        if vjp is None:
            before = "messages that are finite"
        else:
            before = facts.say(next((v for v in vjp["in"] if v is not None), None))
        steps = sum(1 for at, _ in facts.during(run, "vjp") if at <= k)
        return self.q.answer(
            "overflow",
            f"The gradient grew on its way through {steps} nodes until it no longer fitted: {facts.words.nodes[n]} turned {before} into "
            f"{facts.say(bad)}.",
            lines=facts.made(n, f"{self._kind(bad)} is born in the backward of this line"),
            fix="scale the weights or the learning rate down, normalize, or clip the gradient norm.",
            k=k,
        )

    # -- hidden in the forward pass -------------------------------------------------------------------

    def _hider(self, births: Births, run: Pass, n: int, vjp: Record, bad: int | None) -> int | None:
        """A node between the loss and n that passes only some elements on, if the loss is finite and 0 came in where nan went out."""
        facts = self.facts
        root = facts.root_of(run)
        incoming = next((v for v in vjp["in"] if v is not None), None)
        if root is None or facts.wild(self.numbers.value(root, run.start)) or not facts.nan(bad):
            return None
        g, out = self.numbers.flat(incoming), self.numbers.flat(bad)
        if g is not None and out is not None and len(g) == len(out):
            if not any(a == 0 and math.isnan(b) for a, b in zip(g, out, strict=True)):
                return None
        elif not any(x == 0 for x in facts.numbers(incoming)):
            return None
        candidates = []
        for m in facts.leading_to(n) & facts.behind(run.event["roots"]):
            op = self.numbers.op(m)
            if m != n and op in _SELECTS and (op != "mul" or self._masks(m, n)):
                candidates.append((_SELECTS.index(op), m))
        return min(candidates)[1] if candidates else None

    def _masks(self, m: int, n: int) -> bool:
        """Whether the product m multiplies what came from n by a constant that holds zeros."""
        facts, node = self.facts, self.facts.trace.nodes[m]
        return any(
            edge is None and any(x == 0 for x in facts.numbers(facts.trace.names.read(m, t)))
            for t, edge in zip(node["inputs"], node["edges"], strict=False)
        )

    def _hidden(self, run: Pass, n: int, vjp: Record, bad: int, hider: int, born: Born | None, i: int) -> Why:
        facts = self.facts
        node, op = facts.trace.nodes[n], self.numbers.op(n)
        label, hides = facts.words.nodes[n], facts.words.nodes[hider]
        lines = facts.made(n, f"{self._kind(bad)} is born in the backward of this line")
        lines += facts.made(hider, "this hides the value, not the derivative")
        made = node["outputs"][0]
        fix = "make the input safe before the operation: safe = torch.where(mask, x, 1.0), compute with safe, then choose."
        if born is not None and born.k is not None:
            born = self._of_inf_before(born)
            return self.q.answer(
                "nan-where",
                f"{self._sentence(born)} {hides} hides that from the loss, but backward still goes through all of it: it sends a gradient of "
                f"0 there, and {label} makes nan of it.",
                lines=facts.at(born.k, f"{born.kind} is born here") + lines,
                fix=fix,
                k=born.k,
            )
        where = self._steep(n, i, bad)
        why = _BACKWARD.get(op, "")
        return self.q.answer(
            "nan-where",
            f"{facts.name(made)} is {'multiplied by 0' if self.numbers.op(hider) == 'mul' else 'not chosen'} where its derivative is infinite"
            + (f" ({where})" if where else "")
            + f", so the loss is fine. But backward still goes through all of it: {hides} sends it a gradient of 0 there, and {label} "
            "multiplies that by an infinite derivative: 0 * inf is nan.",
            f"{why[:1].upper()}{why[1:]}." if why else "",
            lines=lines,
            fix=fix,
            k=facts.node_event.get(n),
        )

    def _of_inf_before(self, born: Born) -> Born:
        """If a nan was made from an earlier operation's inf, that inf came first."""
        for t, v in born.inputs if born.kind == "nan" else ():
            if self.facts.wild(v):
                first = self.origin(t, born.k or 0, "inf")
                if not first.outside and self._op(first) not in _CHOSEN and first.inputs:
                    return first
        return born

    # -- the forward pass -----------------------------------------------------------------------------

    def origin(self, t: int, until: int, kind: str) -> Born:
        """The origin of the nan (or inf) in tensor t, looking back from event `until`."""
        facts = self.facts
        test = facts.nan if kind == "nan" else facts.wild
        for _ in range(len(facts.events) + 1):
            owner = facts.trace.tensors[t].get("grad_of")
            if owner is not None:
                return Born(until, t, self.numbers.value(t, until), kind, outside=True)
            event = self._maker(t, until, test)
            if event is None:
                used = [k for k in facts.uses.get(t, ())]
                return Born(used[0] if used else None, t, self.numbers.value(t, until), kind, outside=True)
            k, source = event
            e = facts.events[k]
            inputs = tuple((a, self.numbers.value(a, k)) for a in facts.inputs(e))
            if (
                e["k"] == "inplace"
                and facts.nan(self.numbers.value(source, k)) == facts.nan(e["v"])
                and test(self.numbers.value(source, k))
            ):
                inputs = ((source, self.numbers.value(source, k)), *inputs)
            bad = [a for a, v in inputs if test(v)]
            if not bad:
                v = e["v"] if e["k"] == "inplace" else self.numbers.value(source, k + 1)
                return Born(k, source, v, kind, inputs)
            if e["k"] == "inplace" and all(self._literal(a) for a in bad):
                return Born(k, source, e["v"], kind, ())
            if e["k"] == "inplace" and facts.leaf(source) and facts.needs(source, k):
                self.updates.append(k)
            t, until = bad[0], k
        return Born(None, t, None, kind, outside=True)

    def _literal(self, t: int) -> bool:
        """Whether a tensor is a nan or inf that the user wrote."""
        tensor = self.facts.trace.tensors[t]
        return (
            not tensor["shape"] and t not in self.facts.maker and tensor["name"] in ("", "nan", "inf", "-inf")
        )

    def _maker(self, t: int, until: int, test: Test) -> tuple[int, int] | None:
        """The event before `until` that gave t its value, and the tensor that it wrote or made: a write through a view or alias counts."""
        facts = self.facts
        writes = [(w, a) for w, v, a in self.numbers.written(t) if w < until and test(v)]
        made = facts.maker.get(t)
        if writes:
            w, a = min(writes) if made is None or made < min(writes)[0] else max(writes)
            return w, a
        return (made, t) if made is not None and made < until else None

    def forward(self, run: Pass, born: Born) -> Why:
        """The answer for a nan or inf from the forward pass."""
        facts = self.facts
        if born.k is not None and facts.events[born.k]["k"] == "inplace":
            born = self._of_inf_before(born)
            former = next((t for t, v in born.inputs if t == born.t and facts.wild(v)), None)
            if former is not None:  # its inf came from an earlier update
                return self.forward(run, self.origin(former, born.k or 0, "inf"))
        if born.k is not None and not born.outside:
            grown = self._update_of(born)
            if grown is not None:
                return grown
        owner = facts.trace.tensors[born.t].get("grad_of")
        if owner is not None and any(k < (born.k or 0) for k in facts.grads.get(owner, ())):
            return self._after_update(self.of(owner, born.k or 0), owner)
        if born.outside:
            return self._from_outside(born)
        if born.kind == "nan":
            infinite = [(a, v) for a, v in born.inputs if facts.wild(v)]
            if infinite:
                return self._of_infinities(run, born, infinite)
        return self._by_operation(run, born)

    def _after_update(self, answer: Why, owner: int) -> Why:
        """The nan came with the gradient of an earlier pass, through an update."""
        facts = self.facts
        if not self.updates:
            return answer
        update, name = self.updates[-1], facts.name(owner)
        became = self._kind(facts.events[update]["v"])
        return self.q.answer(
            answer.cause,
            *answer.sentences,
            f"That was in an earlier pass: the update after it made {name} itself {became}, and no pass since then can give anything but "
            "nan or inf.",
            lines=[*answer.lines, *facts.at(update, f"{name} becomes {became} here")],
            fix=answer.fix,
            k=None if answer.step is None else answer.step - 1,
        )

    def _update_of(self, born: Born) -> Why | None:
        """An update of a leaf turned finite numbers into nan or inf."""
        facts = self.facts
        e = facts.events[born.k or 0]
        if e["k"] != "inplace" or e.get("n") is not None or not born.inputs:
            return None
        if not any(run.end < (born.k or 0) for run in facts.passes):
            return None  # no gradient to update with yet
        targets = [a for a in facts.memory(born.t) | {born.t} if facts.leaf(a) and facts.needs(a, born.k)]
        targets += [
            f["from"]
            for f in facts.events
            if f["k"] == "detach" and f["t"] == born.t and facts.needs(f["from"], born.k)
        ]
        if not targets:
            return None
        steps = [a for a in facts.inputs(e) if a not in targets and a != born.t]
        if not steps and e["op"].endswith(("_", "=")):
            return None
        return self._diverged(born.k or 0, targets[0], e["v"])

    def _grown(self, t: int, until: int) -> Why | None:
        """Whether t, or a leaf it was computed from, had been growing from update to update."""
        facts = self.facts
        row = [t, *facts.ancestors(t)]
        for leaf in sorted(row, key=lambda a: a != self.q.t):
            if not facts.needs(leaf, until) or not facts.leaf(leaf):
                continue
            filled = min(
                (k for k in facts.grads.get(leaf, ()) if facts.events[k]["k"] != "grad"), default=until
            )
            updates = [
                w
                for w in facts.writes.get(leaf, ())
                if filled < w < until and facts.events[w].get("n") is None
            ]
            first = self.numbers.largest(self.numbers.value(leaf, filled))
            if updates and self.numbers.largest(facts.events[updates[-1]]["v"]) > 100 * max(first, 1e-3):
                return self._diverged(updates[0], leaf, None)
            former = self._namesakes(leaf)
            now = self.numbers.largest(facts.trace.tensors[leaf]["value"])
            if len(former) > 1 and now > 100 * max(self.numbers.largest(former[0]), 1e-3):
                made = next((k for a in row if (k := facts.maker.get(a)) is not None), until)
                return self._diverged(made, leaf, None, former)
        return None

    def _namesakes(self, leaf: int) -> list[int | None]:
        """The successive values of the leaves of this name, up to this one."""
        tensors, name = self.facts.trace.tensors, self.facts.trace.tensors[leaf]["name"]
        found = [
            a
            for a in range(leaf + 1)
            if name and tensors[a]["name"] == name and tensors[a]["shape"] == tensors[leaf]["shape"]
        ]
        return [tensors[a]["value"] for a in found if self.facts.leaf(a) and self.facts.needs(a)]

    def _diverged(self, k: int, t: int, v: int | None, sizes: list[int | None] | None = None) -> Why:
        facts = self.facts
        name = facts.name(t)
        e = facts.events[k]
        before = next((run for run in reversed(facts.passes) if run.end < k), None)
        if v is None:  # it grew until something else no longer fitted
            sizes = sizes or [self.numbers.value(t, k)] + [
                facts.events[w]["v"] for w in facts.writes.get(t, ()) if w >= k
            ]
            finite = [facts.say(s) for s in sizes if not facts.wild(s)]
            shown = finite if len(finite) < 5 else [*finite[:3], "...", finite[-1]]
            return self.q.answer(
                "diverged",
                f"{name} was {shown[0]} before the updates, and they made it larger and larger, {', '.join(shown[1:])}, until a number "
                "computed from it no longer fitted.",
                lines=facts.at(before.start if before else None, "the pass before the update")
                + facts.at(k, f"{name} jumps here"),
                fix="lower the learning rate, or clip the gradients; look at the first step at which the loss grows.",
                k=k,
            )
        return self.q.answer(
            "diverged",
            f"{name} was {facts.say(self.numbers.value(t, k))} before the update and {facts.say(v)} after it: the step was too large. Every "
            "pass after that can only give nan or inf.",
            lines=facts.at(before.start if before else None, "the pass before the update")
            + facts.at(k, f"{name} becomes {self._kind(e['v'])} here"),
            fix="lower the learning rate, or clip the gradients; look at the first step at which the loss grows.",
            k=k,
        )

    def _from_outside(self, born: Born) -> Why:
        facts = self.facts
        name = facts.name(born.t)
        if self._literal(born.t):
            return self.q.answer(
                "nan-input",
                f"The program computed with the number {self._say(born.v)}, which came out of plain Python. Everything computed from that is "
                "spoiled, the gradients too.",
                lines=facts.at(born.k, "used here"),
                fix="look at where that number was computed: math.isfinite should hold.",
                k=born.k,
            )
        where = self._where(born.t, born.v)
        return self.q.answer(
            "nan-input",
            f"{name} came in with {born.kind} in it{where}. Everything computed from that is spoiled, the gradients too.",
            lines=facts.assignment(born.t) + facts.at(born.k, "first used here"),
            fix=f"clean the data first: torch.isfinite({name if facts.named(born.t) else '...'}).all() should hold.",
            k=born.k,
        )

    def _where(self, t: int, v: int | None) -> str:
        x = self.numbers.flat(v)
        if x is None or not self.facts.trace.tensors[t]["shape"]:
            return ""
        bad = [c for c in range(len(x)) if not math.isfinite(x[c])]
        if not bad:
            return ""
        places = self._elements(t, bad, x)
        return f" ({places if self.facts.named(t) else places.replace(f' of {self.facts.name(t)}', '')})"

    def _of_infinities(self, run: Pass, born: Born, infinite: list[tuple[int, int | None]]) -> Why:
        """A nan made from inf: if that inf arose in the recording, not chosen by the user, it is the first event."""
        facts = self.facts
        op = self._op(born)
        t, v = infinite[0]
        origin = self.origin(t, born.k or 0, "inf")
        owner = facts.trace.tensors[origin.t].get("grad_of")
        if owner is not None and any(k < (born.k or 0) for k in facts.grads.get(owner, ())):
            return self.of(owner, born.k or 0)
        chosen = origin.outside or self._op(origin) in _CHOSEN
        if not chosen:
            first = self._by_operation(run, origin)
            turns = f"{op} then makes nan of it: {_of_inf(op)}."
            return self.q.answer(
                first.cause, *first.sentences, turns, lines=[*first.lines, *facts.at(born.k, "inf becomes nan here")], fix=first.fix,
                k=None if first.step is None else first.step - 1,
            )  # fmt: skip
        lines = (
            facts.at(origin.k, "inf comes in here") if not origin.outside else facts.assignment(t)
        ) + facts.at(born.k, "inf becomes nan here")
        name = facts.name(t)
        if op in _SOFTMAX or op in ("native_multi_head_attention", "scaled_dot_product_attention"):
            row = self._masked_row(born, v)
            return self.q.answer(
                "masked-row" if row is not None else "inf-minus-inf",
                f"{op} got {row} of {name}, {'which hold' if str(row).startswith('rows') else 'which holds'} nothing but -inf: every exp is 0, and 0 / 0 is nan."
                if row is not None
                else f"{op} got inf in {name}{self._where(t, v)}: it subtracts the maximum first, and inf - inf is nan.",
                lines=lines,
                fix="leave at least one place of every row unmasked (rows that are all padding too), or mask with a large negative number "
                "such as -1e9 instead of -inf and ignore those rows in the loss."
                if row is not None
                else "keep the logits finite.",
                k=born.k,
            )
        cause = (
            "zero-times-inf"
            if op in ("mul", "mm", "addmm", "bmm", "mv", "dot", "addcmul")
            else "inf-minus-inf"
        )
        if op == "div":
            cause = "nan-forward"
        given = [f"{facts.name(a)} = {facts.say(x)}" for a, x in born.inputs]
        return self.q.answer(
            cause,
            f"{op} gave nan from {listed(list(dict.fromkeys(given)))}: {_of_inf(op)}.",
            lines=lines,
            fix="choose with torch.where or masked_fill instead of multiplying by a mask; put inf only where nothing is computed with it."
            if cause == "zero-times-inf"
            else "keep the numbers of this line finite.",
            k=born.k,
        )

    def _masked_row(self, born: Born, v: int | None) -> str | None:
        """The row of a softmax's operand that consists of -inf only; None if there is none."""
        x = self.numbers.array(v)
        if x is None:
            return "a row" if not any(math.isinf(y) and y > 0 for y in self.facts.numbers(v)[:2]) else None
        e = self.facts.events[born.k or 0]
        params = (self.facts.trace.nodes[e["n"]].get("params") or {}) if e.get("n") is not None else {}
        dim = params.get("dim", -1)
        dim = dim[0] if isinstance(dim, list) and dim else dim if isinstance(dim, int) else -1
        if not x.ndim:
            return None
        rows = (x == -math.inf).all(axis=dim)
        if not rows.any():
            return None
        if rows.ndim == 0:
            return "all"
        places = np.argwhere(rows).tolist()
        word = "rows" if len(places) > 1 else "row"
        return f"{word} {listed([place[0] if len(place) == 1 else str(place) for place in places])}"

    def _op(self, born: Born) -> str:
        if born.k is None:
            return ""
        e = self.facts.events[born.k]
        node = self.facts.trace.nodes[e["n"]] if e.get("n") is not None else None
        return plain_op(node["op"] if node else e.get("op", ""))

    def _by_operation(self, run: Pass, born: Born) -> Why:
        """Finite numbers went in and nan or inf came out."""
        facts, op = self.facts, self._op(born)
        if (
            op in ("fill", "copy", "=", "setitem", "masked_fill", "index_put", "zero", "full")
            and born.k is not None
        ):
            return self._written(born.k, born.t)
        cause, reason, cure = self._reason(born, op)
        if cause == "overflow-forward":
            grown = self._grown(born.t, born.k or 0)
            if grown is not None:
                return grown
        ends = facts.at(run.start, "backward starts from it") if facts.wild(self._root_value(run)) else []
        first = "The loss was not finite before the backward pass began: " if ends else ""
        return self.q.answer(
            cause,
            first + self._sentence(born),
            f"{reason[:1].upper()}{reason[1:]}." if reason else "",
            lines=facts.at(born.k, f"{op} gives {born.kind} here") + ends,
            fix=cure,
            k=born.k,
        )

    def _root_value(self, run: Pass) -> int | None:
        root = self.facts.root_of(run)
        return None if root is None else self.numbers.value(root, run.start)

    def _sentence(self, born: Born) -> str:
        """The result of the operation, and the numbers that led to it."""
        facts, op = self.facts, self._op(born)
        given = [f"{facts.name(a)} = {facts.say(v)}" for a, v in born.inputs if not facts.is_constant(a)]
        which = self._culprits(born, op)
        return (
            f"{op} gave {self._say(born.v)}"
            + (f" from {listed(list(dict.fromkeys(given)))}" if given else "")
            + (f", because {which}" if which else "")
            + "."
        )

    def _culprits(self, born: Born, op: str) -> str:
        """The operand's responsible numbers with their places, if they can be determined."""
        for j, (t, v) in enumerate(born.inputs):
            x = self.numbers.flat(v)
            tests = [table[op][1] for table in (_DOMAIN, _POLE) if op in table]
            if op in ("div", "reciprocal", "rsqrt", "fmod", "remainder") or (
                op == "pow" and born.kind == "inf"
            ):
                tests = [lambda y: y == 0]
                if op in ("div", "fmod", "remainder") and j == 0 and len(born.inputs) > 1:
                    continue
                if op == "rsqrt" and born.kind == "nan":
                    tests = [_DOMAIN["rsqrt"][1]]
            if x is None or not self.facts.trace.tensors[t]["shape"]:
                continue
            found = [c for c in range(len(x)) if any(bool(test(x[c])) for test in tests)]
            if found and len(x) > 1:
                return self._elements(t, found, x)
        return ""

    def _reason(self, born: Born, op: str) -> tuple[str, str, str]:
        """(cause, in words, what to do) for an operation that made nan or inf from finite numbers."""
        fix = _SAFE.get(op, "look at the numbers that go into this line.")
        values = [v for _, v in born.inputs]
        if any(v is not None and 0 in self.facts.trace.values[v]["shape"] for v in values):
            return (
                "nothing-counted",
                "the mean of no numbers is 0 / 0",
                "skip a batch in which nothing is left.",
            )
        if op in ("nll_loss", "nll_loss2d"):
            return (
                "nothing-counted",
                "the mean over targets that are all ignored, or weigh 0, is 0 / 0",
                "skip a batch in which no target counts.",
            )
        if op in _DOMAIN and born.kind == "nan" and self._any(values, _DOMAIN[op][1]):
            words = _DOMAIN[op][0]
            return (
                "outside-domain",
                f"{words} is nan",
                f"keep the input of {op} in its domain: clamp it, or check how it was computed.",
            )
        if op == "linalg_slogdet":
            return (
                "log-of-zero",
                "the determinant of a singular matrix is 0, and log of 0 is -inf",
                "add a small number to the diagonal.",
            )
        if op in _POLE and self._any(values, _POLE[op][1]):
            return "log-of-zero", _POLE[op][0], fix
        if op in ("div", "mean") and born.kind == "nan" and self._counted_nothing(born):
            return (
                "nothing-counted",
                "the mask counts nothing, and 0 / 0 is nan",
                "divide by mask.sum().clamp(min=1).",
            )
        if op in _DIVIDES and (op == "mean" or self._any(values, lambda x: x == 0) or op in ("atanh", "tan")):
            return "nan-forward", _DIVIDES[op], fix
        if op in _SPREAD:
            return (
                "one-value",
                f"the {op} of one number divides by n - 1 = 0",
                "use correction=0 (unbiased=False), or more than one value.",
            )
        limits = self.numbers.limits(born.v)
        if born.kind == "inf":
            dtype = self.facts.trace.values[born.v]["dtype"] if born.v is not None else "float32"
            if dtype in LIMITS and op in _GROWS:
                return (
                    "overflow-forward",
                    f"a result above {limits.most:.5g} does not fit into {dtype}",
                    _SAFE.get(op, _GROWTH),
                )
        return "nan-forward", "", fix

    def _any(self, values: list[int | None], test: Callable[[Any], Any]) -> bool:
        return any(test(np.array(x)) for v in values for x in self.facts.numbers(v))

    def _counted_nothing(self, born: Born) -> bool:
        """Whether a quotient divides by the sum of a mask that is 0 everywhere."""
        facts = self.facts
        for t, v in born.inputs[1:]:
            k = facts.maker.get(t)
            if k is not None and born.inputs[0][0] in facts.inputs(facts.events[k]):
                continue
            if k is not None and facts.zero(v) and self._op(Born(k, t, v, "")) in ("sum", "count_nonzero"):
                return all(facts.zero(self.numbers.value(a, k)) for a in facts.inputs(facts.events[k]))
        return False

    def _kind(self, v: int | None) -> str:
        return "nan" if self.facts.nan(v) else "inf"

    def _say(self, v: int | None) -> str:
        return self.facts.say(v)


_GROWTH = "keep the numbers small: scale the input, subtract the maximum, or use a stable form (log_softmax, logsumexp)."


def _of_inf(op: str) -> str:
    """How an operation makes nan from inf in its operands."""
    if op in ("mul", "addcmul"):
        return "0 * inf is nan"
    if op in ("mm", "addmm", "bmm", "mv", "dot"):
        return "a product 0 * inf, or a sum inf - inf, is nan"
    if op == "div":
        return "inf / inf is nan"
    if op in _SOFTMAX:
        return "it subtracts the maximum, and inf - inf is nan"
    return "inf - inf is nan"


def _changed(e: Record, has: Test) -> bool:
    return any(has(a) and not has(b) for b, a in zip(e["before"], e["after"], strict=False) if b is not None)
