"""`.grad` is a number: added up over several passes, left from an earlier one, changed by hand, or simply right."""

from __future__ import annotations

from .answer import Why, listed
from .facts import Pass
from .missing import between
from .question import Question


def number(q: Question) -> Why:
    """How `.grad` came to be what it is."""
    return (
        _edited(q)
        or _stale(q)
        or _accumulated(q)
        or _hooked(q)
        or _behind_the_back(q)
        or _no_optimizer(q)
        or _computed(q)
    )


def _run_at(q: Question, k: int) -> Pass | None:
    return next((run for run in q.facts.passes if run.start <= k <= run.end), None)


def _edited(q: Question) -> Why | None:
    facts = q.facts
    k = q.facts.grads[q.t][-1]
    e = facts.events[k]
    if e["k"] != "grad":
        return None
    filled = next((i for i in reversed(facts.grads[q.t]) if facts.events[i]["k"] != "grad"), None)
    run = None if filled is None else _run_at(q, filled)
    before = (
        f" The pass had left {facts.say(facts.events[filled].get('new', facts.events[filled].get('v')))}."
        if filled is not None
        else ""
    )
    how = "an assignment" if e.get("how") == "assigned" else e.get("how")
    return q.answer(
        "grad-edited",
        f"{q.name}.grad was changed by {how} and is now {facts.say(e['v'])}.{before}",
        lines=facts.at(run.start if run else None, "this pass filled it")
        + facts.at(k, f"changed by {how} here"),
        fix="nothing, if it was meant so (clipping, for example).",
        k=k,
    )


def _stale(q: Question) -> Why | None:
    """A later pass went by without touching it."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    later = [run for run in facts.passes if run.start > k and run.fills and not run.failed]
    if not later or q.loss is not None:
        return None
    run, former = later[-1], _run_at(q, k)
    end = facts.root_of(run)
    reason = between(q, end, run.start, run) if end is not None and not q.reaches(run) else None
    return q.answer(
        "stale",
        f"{q.name}.grad still holds what an earlier pass left there: the last pass did not reach {q.name}.",
        f"The reason: {reason.sentences[0]}" if reason else "",
        lines=facts.at(former.start if former else None, "this pass filled it")
        + facts.at(run.start, "this one did not touch it")
        + list(reason.lines if reason else ()),
        fix=(f"{reason.fix} " if reason and reason.fix else "")
        + "Call zero_grad() before each pass, so that nothing old is left.",
        k=run.start,
    )


def _accumulated(q: Question) -> Why | None:
    facts = q.facts
    added: list[int] = []
    for k in facts.grads[q.t]:
        e = facts.events[k]
        if e["k"] == "grad":
            added = [] if e["v"] is None or facts.zero(e["v"]) else added
        else:
            added.append(k)
    first = facts.events[added[0]] if added else None
    older = (
        first is not None
        and first["k"] == "accumulate"
        and first["old"] is not None
        and not facts.zero(first["old"])
    )
    from_before = older and facts.grads[q.t][0] == added[0]
    if len(added) < 2 and not from_before:
        return None
    parts = [facts.say(facts.events[k]["add"]) for k in added if facts.events[k]["k"] == "accumulate"]
    runs = [run for run in (_run_at(q, k) for k in added) if run is not None]
    sentence = (
        f"{len(runs)} backward passes went by without zero_grad in between, and backward adds to .grad: {' + '.join(parts)} "
        f"= {facts.say(facts.grad_now(q.t))}."
        if len(runs) > 1
        else f"{q.name}.grad already held {facts.say(first['old'] if first else None)} when the recording began; the pass added "
        f"{listed(parts)} to it."
    )
    return q.answer(
        "accumulated",
        sentence,
        lines=[line for i, run in enumerate(runs, 1) for line in facts.at(run.start, f"pass {i} adds here")],
        fix="call optimizer.zero_grad() (or set .grad = None) before each backward(), unless the sum is what you want.",
        k=added[-1],
    )


def _hooked(q: Question) -> Why | None:
    facts = q.facts
    run = _run_at(q, facts.grads[q.t][-1])
    goal = facts.node_of(q.t)
    for k, e in facts.during(run, "hook") if run else ():
        edges = facts.trace.nodes[e["n"]]["edges"] if e["stage"] == "post" else ()
        changed = [
            (b, a)
            for i, (b, a) in enumerate(zip(e["before"], e["after"], strict=False))
            if b != a
            and b is not None
            and not (edges and (edges[i] is None or edges[i][0] not in facts.leading_to(goal)))
        ]
        if changed and e["stage"] in ("tensor", "pre", "post", "shared") and e["n"] in facts.leading_to(goal):
            before, after = changed[0]
            where = facts.made(e["n"], "the hook runs on the gradient of this line") or facts.assignment(q.t)
            return q.answer(
                "hook-changed",
                f"A hook on {facts.words.nodes[e['n']]} changed the gradient from {facts.say(before)} to {facts.say(after)} on its way.",
                lines=where + facts.at(run.start if run else None, "during this pass"),
                fix="nothing, if the hook is meant to; else remove it with handle.remove().",
                k=k,
            )
    return None


def _behind_the_back(q: Question) -> Why | None:
    """A saved value was changed through .data between forward and backward: nobody counts that."""
    facts = q.facts
    run = _run_at(q, facts.grads[q.t][-1])
    if run is None:
        return None
    goal = facts.node_of(q.t)
    aliases: dict[int, list[int]] = {}
    for e in facts.events:
        if e["k"] == "detach" and e.get("how") == "data":
            aliases.setdefault(e["from"], []).append(e["t"])
    for n in sorted(facts.behind(run.event["roots"])):
        made = facts.node_event.get(n)
        if made is None or n not in facts.leading_to(goal):
            continue
        for _, t, *_version in facts.trace.nodes[n]["saved"]:
            for shared in facts.memory(t) if t is not None else ():
                for alias in aliases.get(shared, ()):
                    for w in facts.writes.get(alias, ()):
                        if made < w < run.start:
                            name = facts.name(t)
                            return q.answer(
                                "data-write",
                                f"{facts.words.nodes[n]} saved {name}. Then {name} was changed through .data, which does not count as a "
                                "write, so the pass used the new value with the old formula: the gradient is wrong, without an error.",
                                lines=facts.made(n, f"{name} is saved here")
                                + facts.at(w, "changed through .data here")
                                + facts.at(run.start, "the pass uses the changed value"),
                                fix="do not write through .data; under no_grad, an in-place write is counted and reported.",
                                k=w,
                            )
    return None


def _no_optimizer(q: Question) -> Why | None:
    """The optimizer changed other tensors but not this one."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = _run_at(q, k)
    if run is None or not facts.leaf(q.t):
        return None
    steps = [
        i
        for i, e in enumerate(facts.events)
        if i > k and e["k"] == "inplace" and not e["op"].endswith(("_", "="))
    ]
    if not steps or any(i > k for i in facts.writes.get(q.t, ())):
        return None
    moved = listed([facts.name(facts.events[i]["t"]) for i in steps])
    return q.answer(
        "not-in-optimizer",
        f"The gradient is there, but the optimizer's step changed {moved} and not {q.name}: it was not given {q.name}.",
        lines=facts.at(run.start, f"{q.name} gets its gradient here")
        + facts.at(steps[0], f"the step changes only {moved}"),
        fix=f"give {q.name} to the optimizer: make it an nn.Parameter of the model, or add it to the list of parameters.",
        k=steps[0],
    )


def _computed(q: Question) -> Why:
    """Nothing stands out: say what the gradient is made of."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = _run_at(q, k)
    node = facts.events[k]["n"]
    sent = [(i, e) for i, e in facts.during(run, "deliver") if e["to"] == node] if run else []
    parts = [f"{facts.say(e['v'])} from {facts.words.nodes[e['n']]}" for _, e in sent]
    end = facts.root_of(run) if run else None
    target = facts.name(end) if end is not None else "the loss"
    return q.answer(
        "as-computed",
        f"It is the derivative of {target} with respect to {q.name}: "
        + (
            f"the sum of {listed(parts)}."
            if len(parts) > 1
            else f"{listed(parts) or 'what the pass was started with'}."
        ),
        lines=[line for _, e in sent for line in facts.made(e["n"], f"sends {facts.say(e['v'])}")]
        + facts.at(run.start if run else None, "the pass"),
        k=k,
    )
