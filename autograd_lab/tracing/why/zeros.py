"""`.grad` is zero: which node was sent something and passed on nothing."""

from __future__ import annotations

from .answer import Why, listed
from .facts import Pass
from .question import Question

_RELU = {"relu", "relu6", "threshold", "hardtanh", "hardswish", "hardsigmoid"}
_CLAMP = {"clamp", "clamp_min", "clamp_max", "clip"}
_FLAT = {"round", "floor", "ceil", "trunc", "sign", "frac", "heaviside", "fmod", "floor_divide"}
_SQUASH = {
    "sigmoid",
    "tanh",
    "softmax",
    "log_softmax",
    "logsigmoid",
    "softplus",
    "erf",
    "exp",
    "gelu",
    "silu",
    "celu",
    "elu",
}
_PRODUCT = {"mul", "mm", "bmm", "matmul", "addmm", "mv", "dot", "prod", "linear", "baddbmm", "addmv", "div"}
_PICK = {
    "max", "min", "amax", "amin", "maximum", "minimum", "sort", "topk", "select", "slice", "index", "gather", "index_select",
    "masked_select", "where", "median", "max_pool2d_with_indices", "max_pool2d", "embedding", "narrow", "unbind", "split",
    "fmax", "fmin", "cummax", "nll_loss", "masked_fill", "take", "diagonal", "tril", "triu",
}  # fmt: skip
_KINK = {"norm", "linalg_vector_norm", "std", "abs"}
_REPLACE = {"zero", "fill", "copy"}


def zero(q: Question) -> Why:
    """Why `.grad` is zero everywhere."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = next((r for r in reversed(facts.passes) if r.start <= k <= r.end), None)
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
    node = facts.events[k]["n"]
    hooked = _hook(q, run, node)
    if hooked is not None:
        return hooked
    sent = [(i, e) for i, e in facts.during(run, "deliver") if e["to"] == node]
    if not facts.leaf(q.t):
        slot = facts.trace.tensors[q.t].get("output_nr", 0)
        sent = [(i, e) for i, e in sent if e.get("slot", 0) == slot]
    return _trace_back(q, run, sent, k)


def _trace_back(q: Question, run: Pass, sent: list, k: int) -> Why:
    """Go back along messages of zeros to the nodes that were sent something."""
    facts = q.facts
    applied = {v["n"]: (i, v) for i, v in facts.during(run, "vjp")}
    messages: dict[int, list] = {}
    for i, d in facts.during(run, "deliver"):
        messages.setdefault(d["to"], []).append((i, d))
    seen: set[int] = set()
    births: list[tuple[int, int]] = []
    row = sent
    while row:
        alive = [(i, e) for i, e in row if not facts.zero(e["v"])]
        if alive:
            return _cancelled(q, alive)
        further = []
        for _, e in row:
            n = e["n"]
            if n in seen:
                continue
            seen.add(n)
            hooked = _hook(q, run, n)
            if hooked is not None:
                return hooked
            at, vjp = applied[n]
            if any(v is not None and not facts.zero(v) for v in vjp["in"]):
                births.append((at, e["i"]))
            else:
                further += messages.get(n, [])
        row = further
    if births:
        return _born(q, *births[0], others=len(births) - 1)
    return q.answer(
        "zero-seed",
        "The gradient that backward was started with is zero, so every gradient is.",
        lines=facts.at(run.start, "the pass starts here"),
        fix="start with ones, or leave the gradient argument out.",
        k=run.start,
    )


def _hook(q: Question, run: Pass, n: int) -> Why | None:
    facts = q.facts
    for k, e in facts.hooks(run):
        if e["n"] != n or e["stage"] == "post_accumulate":
            continue
        pairs = list(zip(e["before"], e["after"], strict=False))
        if any(b is not None and not facts.zero(b) and facts.zero(a) for b, a in pairs):
            before, after = next(
                (b, a) for b, a in pairs if b is not None and not facts.zero(b) and facts.zero(a)
            )
            return q.answer(
                "hook-changed",
                f"A hook on {facts.words.nodes[n]} changed the gradient from {facts.say(before)} to {facts.say(after)}.",
                lines=(facts.made(n, "the hook runs on the gradient of this line") or facts.assignment(q.t))
                + facts.at(run.start, "during this pass"),
                fix="look into the hook: what it returns takes the place of the gradient.",
                k=k,
            )
    return None


def _cancelled(q: Question, alive: list) -> Why:
    facts = q.facts
    nodes = [e["n"] for _, e in alive]
    parts = [f"{facts.say(e['v'])} from {facts.words.nodes[e['n']]}" for _, e in alive]
    to = facts.words.nodes[alive[0][1]["to"]]
    return q.answer(
        "cancellation",
        f"{len(alive)} messages arrive at {to}: {listed(parts)}. They add up to 0.",
        lines=[
            line
            for n, (_, e) in zip(nodes, alive, strict=True)
            for line in facts.made(n, f"sends {facts.say(e['v'])}")
        ],
        fix="this is the true derivative: the two effects of a change cancel. Check the signs if it should not be so.",
        k=alive[-1][0],
    )


def _born(q: Question, k: int, operand: int, others: int) -> Why:
    """Classify the node that was sent something and sent zeros to its operand."""
    facts, e = q.facts, q.facts.events[k]
    n = e["n"]
    node = facts.trace.nodes[n]
    op = node["op"].strip("_")
    label = facts.words.nodes[n]
    inputs = node["inputs"]
    own = inputs[operand] if operand < len(inputs) else q.t
    x = facts.name(own)
    value = facts.say(facts.trace.tensors[own]["value"])
    incoming = facts.say(next((v for v in e["in"] if v is not None), None))
    start = f"{label} got the gradient {incoming} and sent 0 to {x}: "
    more = f"{others} more such node{'s' if others > 1 else ''} on the other ways." if others else ""

    def found(cause: str, sentence: str, fix: str, what: str) -> Why:
        return q.answer(cause, start + sentence, more, lines=facts.made(n, what), fix=fix, k=k)

    if node["kind"] == "function":
        return found(
            "function-zero", "that is what its backward returned.", "look into its backward.", "applied here"
        )
    if op in _RELU:
        return found(
            "dead-relu",
            f"its input {x} = {value} is nowhere above 0 (or in the flat part), where {op} is constant.",
            "check the scale and sign of what goes in; a leaky_relu passes something everywhere.",
            f"{op} is flat here",
        )
    if op in _CLAMP:
        return found(
            "clamped",
            f"{x} = {value} lies outside of the limits, where the result no longer depends on it.",
            "clamp only what is logged, or use a smooth limit such as tanh.",
            "clamped here",
        )
    if op in _FLAT:
        return found(
            "flat-function",
            f"{op} is a staircase, and its derivative is 0 wherever it has one.",
            "use a smooth function, or pass the gradient straight through: x + (x.round() - x).detach().",
            f"{op} here",
        )
    if op in _REPLACE or op == "copyslices":
        return found(
            "replaced",
            f"what {x} held was overwritten here, so the result does not depend on it.",
            "write into a new tensor, or only where the old value is not needed.",
            "overwritten here",
        )
    if op in _PICK:
        return found(
            "not-chosen",
            f"{op} took other elements; a small change of {x} = {value} does not change the result.",
            "this is the true derivative. A soft choice (softmax, logsumexp, a weighted mean) reaches every element.",
            f"{op} chooses here",
        )
    if op in _PRODUCT:
        zeros = [
            a for i, a in enumerate(inputs) if i != operand and facts.zero(facts.trace.tensors[a]["value"])
        ]
        factor = zeros[0] if zeros else own
        if zeros or facts.zero(facts.trace.tensors[own]["value"]) or op == "mul":
            what = facts.say(facts.trace.tensors[factor]["value"])
            if facts.named(factor) and not facts.is_constant(factor):
                what = f"{facts.name(factor)} = {what}"
            return found(
                "multiplied-by-zero",
                f"it multiplies by {what}.",
                "check why that factor is 0: a mask, a weight initialized to zeros, an input that is off.",
                f"multiplied by {what} here",
            )
    if op in _SQUASH:
        return found(
            "saturated",
            f"at {x} = {value} {op} is so flat that its derivative is 0 in {facts.trace.tensors[own]['dtype']}.",
            "keep the input small: smaller weights, normalization, or a loss that takes logits.",
            f"{op} is saturated here",
        )
    if op in _KINK:
        return found(
            "flat-here",
            f"{op} has a kink at {x} = {value}. There is no derivative there; 0 is the convention.",
            "start somewhere else, or add a small number inside if something should flow.",
            f"{op} has a kink here",
        )
    return found(
        "flat-here",
        f"the derivative of {op} is 0 at {x} = {value}.",
        "this is the true derivative at this point; start somewhere else if it should move.",
        f"the derivative of {op} is 0 here",
    )
