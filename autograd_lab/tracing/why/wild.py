"""`.grad` holds nan or inf: at which operation, forward or backward, the first one was born."""

from __future__ import annotations

import math

from .answer import Why, listed
from .facts import Pass
from .question import Question

_HUGE = 1e19  # its square no longer fits into float32

#: What makes an operation give nan or inf, in the forward pass.
_FORWARD = {
    "log": "log of 0 is -inf, and of a negative number nan",
    "log2": "log2 of 0 is -inf, and of a negative number nan",
    "log10": "log10 of 0 is -inf, and of a negative number nan",
    "log1p": "log1p of -1 is -inf, and of less nan",
    "div": "a number divided by 0 is inf, and 0 / 0 is nan",
    "reciprocal": "1 / 0 is inf",
    "sqrt": "the square root of a negative number is nan",
    "rsqrt": "1 / sqrt(0) is inf, and the root of a negative number nan",
    "exp": "exp of more than 88 is too large for float32: inf",
    "pow": "a power may be too large for float32, or the root of a negative number",
    "mul": "0 * inf is nan, and a product may be too large for float32",
    "sub": "inf - inf is nan",
    "add": "inf + -inf is nan, and a sum may be too large for float32",
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
    "acos": "the derivative of acos is infinite at -1 and 1",
    "asin": "the derivative of asin is infinite at -1 and 1",
    "std": "the derivative of a standard deviation divides by it, and it is 0",
    "exp": "the derivative of exp(x) is exp(x), which is inf here: 0 * inf is nan",
}
_SAFE = {
    "sqrt": "add a small number inside: sqrt(x + 1e-12), or clamp x from below.",
    "norm": "add a small number inside: (x.square().sum() + 1e-12).sqrt().",
    "linalg_vector_norm": "add a small number inside: (x.square().sum() + 1e-12).sqrt().",
    "log": "keep x away from 0: log(x + 1e-12), x.clamp(min=1e-12), or a loss that takes logits.",
    "div": "keep the denominator away from 0, or add a small number to it.",
    "exp": "use a stable form: log_softmax, logsumexp, softplus, or subtract the maximum first.",
    "std": "add a small number before the root, or use var.",
}


def wild(q: Question) -> Why:
    """Why `.grad` is nan or inf."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = next((r for r in reversed(facts.passes) if r.start <= k <= r.end), None)
    if run is None:
        last = next((r for r in reversed(facts.passes) if r.end < k), None)
        return q.answer(
            "grad-edited",
            f"{q.name}.grad was changed by the program itself after the pass.",
            lines=facts.at(last.start if last else None, "the pass") + facts.at(k, "changed here"),
            fix="look at what is written into .grad.",
            k=k,
        )
    goal = facts.node_of(q.t)
    return _forward(q, run) or _backward(q, run, facts.leading_to(goal))


def _forward(q: Question, run: Pass) -> Why | None:
    """The loss itself is nan or inf: find where that began."""
    facts = q.facts
    root = facts.root_of(run)
    if root is None or not facts.wild(_value(q, root, run.start)):
        return None
    line = {root, *facts.ancestors(root)}
    for t in line:
        if t not in facts.maker and facts.wild(facts.trace.tensors[t]["value"]):
            used = [k for k in facts.uses.get(t, ()) if k < run.start]
            return q.answer(
                "nan-input",
                f"{facts.name(t)} came in with {_kind(q, facts.trace.tensors[t]['value'])} in it. Everything computed from that is "
                "spoiled, the gradients too.",
                lines=facts.assignment(t) + facts.at(used[0] if used else None, "first used here"),
                fix=f"clean the data first: torch.isfinite({facts.name(t)}).all() should hold.",
                k=used[0] if used else None,
            )
    for k in range(run.start):
        e = facts.events[k]
        made = facts.outputs(e) or ([e["t"]] if e["k"] == "inplace" else [])
        values = [e["v"]] if e["k"] == "inplace" else [facts.trace.tensors[t]["value"] for t in made]
        if not any(t in line for t in made) or not any(facts.wild(v) for v in values):
            continue
        if e["k"] == "inplace" and facts.leaf(e["t"]) and facts.needs(e["t"], k):
            return _diverged(q, k)
        if any(facts.wild(_value(q, a, k)) for a in facts.inputs(e)):
            continue
        node = facts.trace.nodes[e["n"]] if e.get("n") is not None else None
        op = (node["op"] if node else e.get("op", "")).strip("_")
        given = [
            f"{facts.name(a)} = {facts.say(_value(q, a, k))}"
            for a in facts.inputs(e)
            if not facts.is_constant(a)
        ]
        bad = next(v for v in values if facts.wild(v))
        return q.answer(
            "nan-forward",
            f"The loss was not finite before the backward pass began: {op} gave {facts.say(bad)}"
            + (f" from {listed(given)}." if given else "."),
            f"{_FORWARD[op][:1].upper()}{_FORWARD[op][1:]}." if op in _FORWARD else "",
            lines=facts.at(k, f"{op} gives {_kind(q, bad)} here")
            + facts.at(run.start, "backward starts from it"),
            fix=_SAFE.get(op, "look at the numbers that go into this line."),
            k=k,
        )
    return None


def _diverged(q: Question, k: int) -> Why:
    """An update of a leaf gave nan or inf."""
    facts, e = q.facts, q.facts.events[k]
    name = facts.name(e["t"])
    spoiled = next((a for a in facts.inputs(e) if a != e["t"] and facts.wild(_value(q, a, k))), None)
    before = next((run for run in reversed(facts.passes) if run.end < k), None)
    what = (
        f"{facts.name(spoiled)} was {facts.say(_value(q, spoiled, k))}"
        if spoiled is not None
        else "the step was too large"
    )
    return q.answer(
        "diverged",
        f"{name} was {facts.say(_value(q, e['t'], k))} before the update and {facts.say(e['v'])} after it: {what}. Every pass after "
        "that can only give nan or inf.",
        lines=facts.at(before.start if before else None, "the pass before the update")
        + facts.at(k, f"{name} becomes {_kind(q, e['v'])} here"),
        fix="lower the learning rate, or clip the gradients; look at the first step at which the loss grows.",
        k=k,
    )


def _given(q: Question, inputs: list[int], k: int) -> list[str]:
    """The operands with their values, each once."""
    facts = q.facts
    words = [f"{facts.name(a)} = {facts.say(_value(q, a, k))}" for a in inputs if not facts.is_constant(a)]
    return list(dict.fromkeys(words))


def _backward(q: Question, run: Pass, graph: set[int]) -> Why:
    """The loss is finite: find the first rule that made nan or inf out of finite numbers."""
    facts = q.facts
    first_inf: tuple[int, int] | None = None
    for k, e in facts.during(run, "seed", "hook", "vjp"):
        if e["n"] not in graph:
            continue
        if e["k"] == "seed":
            if facts.wild(e["v"]):
                return q.answer(
                    "nan-seed",
                    f"The gradient given to backward was {facts.say(e['v'])}.",
                    lines=facts.at(run.start, "the pass starts here"),
                    fix="give backward a finite gradient.",
                    k=k,
                )
            continue
        before, after = (e["before"], e["after"]) if e["k"] == "hook" else (e["in"], e["out"])
        if any(facts.wild(v) for v in before if v is not None) or not any(facts.wild(v) for v in after):
            continue
        if e["k"] == "hook":
            return q.answer(
                "nan-hook",
                f"A hook turned the gradient {facts.say(before[0])} into {facts.say(after[0])}.",
                lines=facts.made(e["n"], "the hook runs on the gradient of this line"),
                fix="look into the hook.",
                k=k,
            )
        node = facts.trace.nodes[e["n"]]
        bad = [
            v
            for i, v in enumerate(e["out"])
            if facts.wild(v) and node["edges"][i] is not None and node["edges"][i][0] in graph
        ]
        if bad:
            first_inf = (k, bad[0])
            break
    if first_inf is None:
        return q.answer(
            "nan-backward",
            "The number was there before this recording began, or came in by a way that it did not see.",
            fix="record the whole computation.",
            k=run.start,
        )
    return _born(q, run, *first_inf)


def _born(q: Question, run: Pass, k: int, bad: int) -> Why:
    facts, e = q.facts, q.facts.events[k]
    n = e["n"]
    node = facts.trace.nodes[n]
    op = node["op"].strip("_")
    incoming = next((v for v in e["in"] if v is not None), None)
    label = facts.words.nodes[n]
    given = [
        f"{facts.name(a)} = {facts.say(_value(q, a, k))}" for a in node["inputs"] if not facts.is_constant(a)
    ]
    lines = facts.made(n, f"{_kind(q, bad)} is born in the backward of this line")
    reason = f"{_BACKWARD[op][:1].upper()}{_BACKWARD[op][1:]}." if op in _BACKWARD else ""
    hider = _hider(q, run, n)
    if hider is not None and any(x == 0 for x in facts.numbers(incoming)):
        return q.answer(
            "nan-where",
            f"{facts.name(node['outputs'][0])} is not chosen where its derivative is infinite, so the loss is fine. But "
            "backward still goes through all of it: "
            f"{facts.words.nodes[hider]} sends it a gradient of 0 there, and {label} multiplies that by an infinite derivative: "
            f"0 * inf is nan.",
            reason,
            lines=lines + facts.made(hider, "this hides the value, not the derivative"),
            fix="make the input safe before the operation: safe = torch.where(mask, x, 1.0), compute with safe, then choose.",
            k=k,
        )
    sizes = [abs(x) for v in e["in"] for x in facts.numbers(v) if math.isfinite(x)]
    if not facts.nan(bad) and max(sizes, default=0) > _HUGE:
        steps = len([1 for _ in facts.during(run, "vjp")])
        return q.answer(
            "overflow",
            f"The gradient grew on its way through {steps} nodes until it no longer fitted: {label} turned {facts.say(incoming)} into "
            f"{facts.say(bad)}.",
            lines=lines,
            fix="scale the weights or the learning rate down, normalize, or clip the gradient norm.",
            k=k,
        )
    later = ""
    if not facts.nan(bad) and facts.nan(facts.grad_now(q.t)):
        turned = next(
            (
                i
                for i, f in facts.during(run, "vjp")
                if i > k and not any(facts.nan(v) for v in f["in"]) and any(facts.nan(v) for v in f["out"])
            ),
            None,
        )
        if turned is not None:
            m = facts.events[turned]["n"]
            later = f"{facts.words.nodes[m]} then multiplies inf by 0, which is nan."
            lines += facts.made(m, "inf * 0 becomes nan in the backward of this line")
    return q.answer(
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


def _hider(q: Question, run: Pass, n: int) -> int | None:
    """A node between the loss and n that passes on only some elements: where, masked_fill, an index."""
    facts = q.facts
    hiders = ("where", "masked_fill", "index", "masked_select", "select", "slice", "mul")
    candidates = []
    for m in facts.leading_to(n) & facts.behind(run.event["roots"]):
        op = facts.trace.nodes[m]["op"].strip("_")
        if m != n and op in hiders and (op != "mul" or _masks(q, m, n)):
            candidates.append((hiders.index(op), m))
    return min(candidates)[1] if candidates else None


def _masks(q: Question, m: int, n: int) -> bool:
    """Whether the product m multiplies what came from n by something else that holds zeros."""
    facts, node = q.facts, q.facts.trace.nodes[m]
    for t, edge in zip(node["inputs"], node["edges"], strict=False):
        apart = edge is None or n not in facts.behind([edge[0]])
        if apart and any(x == 0 for x in facts.numbers(facts.trace.tensors[t]["value"])):
            return True
    return False


def _value(q: Question, t: int, k: int) -> int | None:
    """The value a tensor had just before event k."""
    found: int | None = q.facts.trace.tensors[t]["value"]
    for w in q.facts.writes.get(t, ()):
        if w < k:
            found = q.facts.events[w]["v"]
    return found


def _kind(q: Question, v: int | None) -> str:
    return "nan" if q.facts.nan(v) else "inf"
