"""Uncounted writes: numbers, gradients and modes that changed without a new version.

A write through .data or by NumPy, `.data =`, and a write into what ctx keeps as an attribute change no version: the
pass then uses other numbers than the forward pass did, without an error. Every answer here quotes the line that did it.
"""

from __future__ import annotations

from typing import NamedTuple

from .answer import Line, Why, added_up, listed
from .facts import Pass
from .question import Question

_PRODUCT = {"mul", "mm", "bmm", "matmul", "addmm", "mv", "dot", "linear", "baddbmm", "addmv", "convolution"}


class Write(NamedTuple):
    """A write that no version counter shows: its event, the tensors whose numbers it changed, and how it wrote."""

    k: int
    changed: set[int]
    by: str  # "data", "numpy" or "data ="


def overwritten(q: Question) -> Why | None:
    """A value that a node had saved was changed between forward and backward, without a new version."""
    facts = q.facts
    changes = facts.grads.get(q.t)
    if not changes or facts.events[changes[-1]]["k"] == "grad":
        return None
    run = next((r for r in facts.passes if r.start <= changes[-1] <= r.end), None)
    if run is None:
        return None
    writes = _unnoticed(q, run)
    on_the_way = facts.leading_to(facts.node_of(q.t))
    for n in sorted(facts.behind(run.event["roots"]) & on_the_way):
        made = facts.node_event.get(n)
        if made is None:
            continue
        found = _on_ctx(q, run, n, made)
        if found is not None:
            return found
        for _, t, *_version in facts.trace.nodes[n]["saved"]:
            for write in writes:
                if t in write.changed and write.k > made and _matters(q, n, t, write, on_the_way):
                    return _changed(q, run, n, t, write)
    return _before_use(q, run, writes, on_the_way)


def _unnoticed(q: Question, run: Pass) -> list[Write]:
    """The writes before a pass that no version counter shows."""
    facts = q.facts
    found = []
    for k in range(run.start):
        e = facts.events[k]
        if e["k"] != "inplace":
            continue
        t = e["t"]
        if e.get("unnoticed") == "numpy":
            found.append(Write(k, {t}, "numpy"))
        elif e.get("op") == "data =":
            found.append(Write(k, {t}, "data ="))
        elif "unnoticed" not in e:
            changed = facts.memory(t, uncounted=True) - facts.memory(t)
            if changed:
                found.append(Write(k, changed, "data"))
    return found


def _matters(q: Question, n: int, t: int, write: Write, on_the_way: set[int]) -> bool:
    """Whether what node n saved as `t` is used for a gradient that goes on to the tensor asked about."""
    node = q.facts.trace.nodes[n]
    if write.by == "data =" and t in node["outputs"]:
        return False  # for its own result a node saves the memory, not the tensor
    product = node["op"].strip("_") in _PRODUCT
    return any(
        edge is not None and edge[0] in on_the_way and not (product and i < len(node["inputs"]) and node["inputs"][i] == t
                                                            and node["inputs"].count(t) == 1)
        for i, edge in enumerate(node["edges"])
    )  # fmt: skip


def _called(q: Question, t: int) -> str:
    """The name of a tensor, or of one whose memory it shares."""
    facts = q.facts
    named = [other for other in (t, *sorted(facts.memory(t))) if facts.named(other)]
    return facts.name(named[0] if named else t)


def writer(q: Question, k: int) -> str:
    """The statement that wrote, as the subject of a sentence."""
    facts, e = q.facts, q.facts.events[k]
    if e.get("how") == "NumPy" and not facts.at(k):
        return "A line of NumPy, which shares the memory,"
    if e.get("unnoticed") != "numpy" or e.get("sure", True):
        return facts.statement(k)
    since, until = (facts.line(src) for src in e["between"])
    if not until:
        return f"a line of NumPy after `{since[0].text}`" if since else "a line of NumPy"
    if not since or since == until:
        return f"a line of NumPy before `{until[0].text}`"
    return f"a line between `{since[0].text}` and `{until[0].text}`"


_HOW = {
    "data": "changed it through .data",
    "numpy": "changed it (a NumPy array shares its memory)",
    "data =": "gave it other numbers",
}
_CAUSE = {"data": "data-write", "numpy": "numpy-write", "data =": "data-replaced"}


def _changed(q: Question, run: Pass, n: int, t: int, write: Write) -> Why:
    facts = q.facts
    label, x = facts.words.nodes[n], _called(q, t)
    fixes = {
        "data": "move this line after backward(). Should the change be part of the computation? Then compute a new tensor "
        "instead of writing through .data.",
        "numpy": f"give the computation numbers of its own: make {x} with torch.tensor(...) or .clone(), or write into a copy of the "
        "array: .numpy().copy().",
        "data =": "move this line before the forward pass, or after backward().",
    }
    return q.answer(
        _CAUSE[write.by],
        f"{label} had saved {x} when {writer(q, write.k)} {_HOW[write.by]}, and nobody counts that: the pass used the new numbers"
        f"{_numbers(q, t, write)}.",
        f"So the gradient of {q.name} is wrong, without an error.",
        lines=facts.made(n, f"{x} is saved here")
        + facts.at(write.k, f"{x} is changed here, unnoticed")
        + facts.at(run.start, "the pass uses the changed numbers"),
        fix=fixes[write.by],
        k=write.k,
    )


def _numbers(q: Question, t: int, write: Write) -> str:
    """The numbers that the pass used, and those that the forward pass had, if both are known."""
    facts = q.facts
    before, after = facts.trace.tensors[t]["value"], facts.events[write.k].get("v")
    values = facts.trace.values
    if before is None or after is None or values[before]["shape"] != values[after]["shape"]:
        return ""
    old, new = facts.say(before), facts.say(after)
    return "" if old == new else f", {new}, where the forward pass had {old}"


def _on_ctx(q: Question, run: Pass, n: int, made: int) -> Why | None:
    """What a custom Function keeps as an attribute of ctx was overwritten."""
    facts = q.facts
    for name, t, _version in facts.trace.nodes[n].get("kept", ()):
        memory = facts.memory(t, uncounted=True)
        writes = [w for other in memory for w in facts.writes.get(other, ()) if made < w < run.start]
        if not writes:
            continue
        k = min(writes)
        label, x = facts.words.nodes[n], _called(q, t)
        return q.answer(
            "ctx-overwritten",
            f"{facts.statement(k)} changed {x} after the forward of {label} had kept it as ctx.{name}: its backward used the new "
            f"numbers{_numbers(q, t, Write(k, {t}, ''))}.",
            "An attribute of ctx is not checked as a saved tensor is, so there was no error.",
            lines=facts.made(n, f"{x} is kept as ctx.{name}")
            + facts.at(k, f"{x} is changed here")
            + facts.at(run.start, "the pass uses the changed numbers"),
            fix=f"move this line after backward(), or let it make a new tensor. With ctx.save_for_backward({x}) such a write is "
            "reported as an error.",
            k=k,
        )
    return None


def _before_use(q: Question, run: Pass, writes: list[Write], on_the_way: set[int]) -> Why | None:
    """The gradient is zero or not finite because NumPy put such numbers into a tensor before it was used."""
    facts = q.facts
    v = facts.grad_now(q.t)
    bad = facts.zero if facts.zero(v) else facts.wild if facts.wild(v) else None
    if bad is None:
        return None
    for write in writes:
        (t, *_), e = sorted(write.changed), facts.events[write.k]
        used = [
            n
            for n in facts.behind(run.event["roots"]) & on_the_way
            if t in facts.trace.nodes[n]["inputs"] and facts.node_event.get(n, -1) > write.k
        ]
        if write.by == "numpy" and used and bad(e.get("v")):
            return q.answer(
                "numpy-write",
                f"{writer(q, write.k)} changed {_called(q, t)}, whose memory a NumPy array shares: it is {facts.say(e['v'])} since then.",
                lines=facts.at(write.k, f"{_called(q, t)} is changed here, unnoticed")
                + facts.made(min(used), "used here"),
                fix=f"is {_called(q, t)} meant to change with the array? If not, give the array numbers of its own: .numpy().copy().",
                k=write.k,
            )
    return None


# -- .grad ------------------------------------------------------------------------------------------------


def cleared_by_hook(q: Question) -> Why | None:
    """A hook cleared `.grad` in the same pass that filled it."""
    facts = q.facts
    changes = facts.grads.get(q.t, [])
    if not changes:
        return None
    k = changes[-1]
    e = facts.events[k]
    run = next((r for r in facts.passes if r.start <= k <= r.end), None)
    if (
        e["k"] != "grad"
        or e.get("how") == "backward"
        or run is None
        or not (e["v"] is None or facts.zero(e["v"]))
    ):
        return None
    filled = [i for i in changes if run.start <= i < k and facts.events[i]["k"] == "accumulate"]
    had = f" It had just become {facts.say(facts.events[filled[-1]]['new'])}." if filled else ""
    return q.answer(
        "hook-cleared",
        f"{facts.statement(k)} runs in a hook, during the pass, and {'cleared' if e['v'] is None else 'zeroed'} {q.name}.grad.{had}",
        lines=facts.at(run.start, "the hook runs in this pass") + facts.at(k, "cleared here"),
        fix=f"leave this line out of the hook to keep {q.name}.grad after the pass.",
        k=k,
    )


def not_given(q: Question, runs: list[Pass], added: list[int]) -> Why | None:
    """Several passes accumulated although zero_grad was called: on an object without the tensor."""
    facts = q.facts
    between = range(runs[0].start, runs[-1].end)
    clears = [
        k for k in between if facts.events[k]["k"] == "grad" and facts.events[k].get("how") == "zero_grad"
    ]
    idle = [k for k in between if facts.events[k]["k"] == "idle"]
    if not clears and not idle:
        return None
    parts = [facts.say(facts.events[k]["add"]) for k in added if facts.events[k]["k"] == "accumulate"]
    total = f"{added_up(parts)} = {facts.say(facts.grad_now(q.t))}"
    lines = [line for i, run in enumerate(runs, 1) for line in facts.at(run.start, f"pass {i} adds here")]
    stepped = [k for k in [*steps(q), *idle] if k > runs[0].start]
    if not clears:
        k = idle[-1]
        return q.answer(
            "not-in-optimizer",
            f"{facts.statement(k)} changed nothing: none of the parameters that the optimizer was given has a gradient, so {q.name} is "
            f"not one of them. Its zero_grad() does not reach {q.name} either, and {len(runs)} passes added up.",
            f"They are {total}.",
            lines=lines + facts.at(k, "changes nothing"),
            fix=_GIVE.format(name=q.name),
            k=k,
        )
    k = clears[-1]
    others = listed(list(dict.fromkeys(f"{facts.name(facts.events[i]['t'])}.grad" for i in clears)), 3)
    said = f"{facts.statement(k)} cleared {others}, but not {q.name}.grad, so {len(runs)} passes added up: {total}."
    lines += facts.at(k, f"does not clear {q.name}.grad")
    if stepped and not any(facts.events[i].get("t") == q.t for i in stepped):
        return q.answer(
            "not-in-optimizer", said, f"The optimizer was not given {q.name}: its step does not change it either.", lines=lines,
            fix=_GIVE.format(name=q.name), k=k,
        )  # fmt: skip
    return q.answer(
        "zero-grad-missed", said, lines=lines,
        fix=f"clear {q.name}.grad as well before each pass: {q.name}.grad = None.", k=k,
    )  # fmt: skip


_GIVE = "make the optimizer after the model is complete, and give it {name}, too: opt = torch.optim.SGD([..., {name}], lr=...)."


def steps(q: Question) -> list[int]:
    """The writes of optimizers."""
    facts = q.facts
    return [
        k
        for k, e in enumerate(facts.events)
        if e["k"] == "inplace" and (not e["op"].endswith(("_", "=")) or ".step(" in facts.statement(k))
    ]


# -- errors -----------------------------------------------------------------------------------------------


def inference_tensor(q: Question, k: int) -> Why:
    """A tensor that was made in inference mode met the graph."""
    facts = q.facts
    tensors = facts.trace.tensors
    made = [
        t
        for t, record in enumerate(tensors)
        if facts.floating(t)
        and (record.get("inference") or facts.events[facts.maker.get(t, 0)].get("why") == "inference_mode")
    ]
    line = facts.at(k)
    here = [t for t in made if line and facts.named(t) and facts.mentions(line[0].text, t)]
    found = (here or [t for t in made if facts.named(t)] or made)[-1:]
    x = facts.name(found[0]) if found else "a tensor"
    maker = facts.maker.get(found[0]) if found else None
    born = f" ({facts.statement(maker)})" if maker is not None else ""
    return q.answer(
        "inference-tensor",
        f"{x} was made in inference mode{born}, and no graph may save or change such a tensor: {facts.statement(k)} stopped with a "
        f"{facts.events[k]['type']}.",
        lines=facts.at(maker, f"{x} is made in inference mode") + facts.at(k, "stopped here"),
        fix=f"use torch.no_grad() instead of torch.inference_mode() where {x} is made, or take {x}.clone() outside of it.",
        k=k,
    )


def no_return(q: Question, n: int, k: int) -> Why | None:
    """The backward of a custom Function has no `return`."""
    facts = q.facts
    src = facts.trace.nodes[n].get("no_return")
    if src is None:
        return None
    begin: list[Line] = facts.line(src, "no line of it returns a gradient")
    text = begin[0].text.rstrip(":") if begin else "its backward"
    return q.answer(
        "no-return",
        f"`{text}` of {facts.words.nodes[n].removesuffix('Backward')} has no `return` with a gradient, so Python returns None: nothing "
        "was sent on.",
        lines=begin + facts.made(n, "applied here"),
        fix="end it with `return` and the gradients: one for each input of forward, in the same order.",
        k=k,
    )


def reentrant(q: Question, k: int) -> Why:
    """A reentrant checkpoint was reached by something other than backward()."""
    facts = q.facts
    node = facts.events[k]["n"]
    made = facts.made(node, "checkpointed here") if node is not None else []
    quoted = f"`{made[0].text}`" if made else "a checkpoint"
    return q.answer(
        "reentrant-checkpoint",
        f"{quoted} runs its function again in a pass of its own, which fills every .grad: that works with backward() only, not with "
        "autograd.grad or backward(inputs=...).",
        lines=made + facts.at(k, "this pass asks for some gradients only"),
        fix="use checkpoint(..., use_reentrant=False).",
        k=k,
    )
