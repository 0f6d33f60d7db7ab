"""`.grad` is a number: accumulated over several passes, left from an earlier one, changed by hand, or simply right."""

from __future__ import annotations

from . import cures
from .answer import Why, added_up, listed
from .facts import Hop, Pass
from .missing import between, cut_lines, cut_words, in_a_library
from .question import Question
from .writes import not_given, steps, writer

HOOK_FIX = (
    "what a hook returns takes the place of the gradient, and what it writes into the gradient in place stays there. Is it meant to change "
    "the gradient? If not, let it return nothing and write nothing."
)


def number(q: Question) -> Why:
    """The history of `.grad`."""
    return (
        _edited(q)
        or _of_another(q)
        or _stale(q)
        or _accumulated(q)
        or _hooked(q)
        or _no_optimizer(q)
        or _old_graph(q)
        or _partly_cut(q)
        or _all_pairs(q)
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
        f"{writer(q, k)} changed {q.name}.grad after the pass: it is now {facts.say(e['v'])}.{before}",
        lines=facts.at(run.start if run else None, "this pass filled it")
        + facts.at(k, f"changed by {how} here"),
        fix="was that meant (clipping, for example)? Then there is nothing to do.",
        k=k,
    )


def _of_another(q: Question) -> Why | None:
    """The loss that was named had no part in it."""
    facts = q.facts
    filled = [k for k in facts.grads[q.t] if facts.events[k]["k"] != "grad"]
    runs = [run for run in (_run_at(q, k) for k in filled) if run is not None]
    if q.loss is None or not runs:
        return None
    own, node = q.passes(), facts.trace.tensors[q.loss]["node"]
    if any(run in own or node in facts.behind(run.event["roots"]) for run in runs):
        return None
    loss, root = facts.name(q.loss), facts.root_of(runs[-1])
    began = f", which began at {facts.name(root)}" if root is not None else ""
    connected = node is not None and facts.node_of(q.t) in facts.behind([node])
    end = own[-1].start if own else len(facts.events) - 1
    reason = None if connected else between(q, q.loss, end, own[-1] if own else None)
    return q.answer(
        "another-loss",
        f"{q.name}.grad is from another pass{began}: {loss} has no part in it.",
        f"{loss} was computed from {q.name}, but no backward pass began at {loss}."
        if connected and not own
        else "",
        f"The reason: {reason.sentences[0]}" if reason else "",
        lines=facts.at(runs[-1].start, "this pass filled it")
        + (facts.at(own[-1].start, "this one did not touch it") if own else [])
        + list(reason.lines if reason else ()),
        fix=f"call {loss}.backward()." if connected and not own else reason.fix if reason else "",
        edits=reason.edits if reason and own else (),
        k=runs[-1].start,
    )


def _stale(q: Question) -> Why | None:
    """A later pass did not reach it."""
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
        edits=reason.edits if reason else (),
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
    missed = not_given(q, runs, added) if len(runs) > 1 else None
    if missed is not None:
        return missed
    uncalled, called = cures.uncalled(q, "zero_grad")
    without = f" (`{uncalled}` without parentheses does not call it)" if uncalled else ""
    sentence = (
        f"{len(runs)} backward passes ran, nothing cleared {q.name}.grad in between{without}, and backward adds to .grad: {added_up(parts)} "
        f"= {facts.say(facts.grad_now(q.t))}."
        if len(runs) > 1
        else f"{q.name}.grad already held {facts.say(first['old'] if first else None)} when the recording began; the pass added "
        f"{listed(parts)} to it."
    )
    return q.answer(
        "accumulated",
        sentence,
        lines=[line for i, run in enumerate(runs, 1) for line in facts.at(run.start, f"pass {i} adds here")],
        fix="was the sum wanted? If not, clear .grad before each backward(), with the optimizer's zero_grad() or .grad = None.",
        edits=called or (cures.cleared_first(q, runs) if runs else ()),
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
                f"A hook on {facts.hook_place(e)} changed the gradient from {facts.say(before)} to {facts.say(after)} on its way.",
                lines=where + facts.at(run.start if run else None, "during this pass"),
                fix=HOOK_FIX,
                k=k,
            )
    return None


def _no_optimizer(q: Question) -> Why | None:
    """The optimizer changed other tensors but not this one."""
    facts = q.facts
    k = facts.grads[q.t][-1]
    run = _run_at(q, k)
    if run is None or not facts.leaf(q.t):
        return None
    moves = [i for i in steps(q) if i > k]
    idle = next((i for i in range(k, len(facts.events)) if facts.events[i]["k"] == "idle"), None)
    if idle is not None and not moves:
        return q.answer(
            "not-in-optimizer",
            f"The gradient is there, but {facts.statement(idle)} changed nothing: none of the parameters that the optimizer was given has "
            f"a gradient, so {q.name} is not one of them.",
            lines=facts.at(run.start, f"{q.name} gets its gradient here") + facts.at(idle, "changes nothing"),
            fix=f"make the optimizer after the model is complete, so that it is given {q.name}.",
            k=idle,
        )
    if not moves or any(i > k for i in facts.writes.get(q.t, ())):
        return None
    moved = listed([facts.name(facts.events[i]["t"]) for i in moves])
    return q.answer(
        "not-in-optimizer",
        f"The gradient is there, but {facts.statement(moves[0])} changed {moved} and not {q.name}: it was not given {q.name}.",
        lines=facts.at(run.start, f"{q.name} gets its gradient here")
        + facts.at(moves[0], f"the step changes only {moved}"),
        fix=f"give {q.name} to the optimizer: make it an nn.Parameter of the model, or add it to the list of parameters.",
        k=moves[0],
    )


def _old_graph(q: Question) -> Why | None:
    """The pass went through the kept graph of an earlier one, but the weights that it was computed with have changed since."""
    facts = q.facts
    run = _run_at(q, facts.grads[q.t][-1])
    first = next(
        (r for r in reversed(facts.passes) if run is not None and r.end < run.start and r.event.get("keep")),
        None,
    )
    if run is None or first is None:
        return None
    on_the_way = facts.leading_to(facts.node_of(q.t))
    both = facts.behind(first.event["roots"]) & facts.behind(run.event["roots"]) & on_the_way
    old = [
        n for n in both if facts.trace.nodes[n]["kind"] != "accumulate" and facts.trace.nodes[n]["outputs"]
    ]
    changed = [
        t
        for t, n in facts.accumulator.items()
        if n in facts.behind(old) and any(first.start < w < run.start for w in facts.writes.get(t, ()))
    ]
    if not changed:
        return None
    last = max(old, key=lambda n: facts.node_event.get(n, -1))
    result = facts.trace.nodes[last]["outputs"][0]
    return q.answer(
        "computed-once",
        f"{facts.name(result)} was computed once, and {facts.name(changed[0])} has changed since: the pass went through the old graph "
        "again, which retain_graph=True had kept, so this is the derivative at the old numbers.",
        lines=facts.made(last, "computed once, here")
        + facts.at(
            next(w for w in facts.writes[changed[0]] if w > first.start),
            f"{facts.name(changed[0])} changes here",
        )
        + facts.at(run.start, "the pass"),
        fix="compute it again before each backward(), and leave retain_graph=True out.",
        edits=cures.moved_into_loop(q, run),
        k=run.start,
    )


def _used_up(q: Question, hop: Hop, run: Pass) -> bool:
    """Whether an earlier pass has freed what is behind a cut: a state that is detached between iterations, as it should be."""
    facts = q.facts
    node = facts.trace.tensors[hop.a]["node"]
    if node is None:
        return False
    history = {n for n in facts.behind([node]) if facts.trace.nodes[n]["kind"] != "accumulate"}
    return any(
        history & facts.behind(r.event["roots"])
        for r in facts.passes
        if r.end < run.start and not r.event.get("keep")
    )


def _depends(q: Question, inner: Pass, from_it: set[int]) -> bool:
    """Whether a pass's gradient depends on the tensor: a rule on the path saved something computed from it."""
    trace = q.facts.trace
    nodes = q.facts.behind(inner.event["roots"])
    return q.reaches(inner) and any(t in from_it for n in nodes for _, t, *_ in trace.nodes[n]["saved"])


def _partly_cut(q: Question) -> Why | None:
    """One more path leads from the tensor to the loss, beside those of the gradient; it is cut."""
    facts = q.facts
    run = _run_at(q, facts.grads[q.t][-1])
    root = facts.root_of(run) if run else None
    if run is None or root is None:
        return None
    own = {q.t, *facts.memory(q.t)}
    from_it = own | set(facts.hops(q.t, run.start))
    to_it = {root, *facts.ancestors(root)}
    for a in sorted(to_it):
        of = facts.trace.tensors[a].get("grad_of")
        if of is None or facts.needs(a):
            continue
        inner = next(
            (
                r
                for r in facts.passes
                if not r.fills and of in (r.event.get("inputs") or ()) and r.end < run.start
            ),
            None,
        )
        if inner is not None and _depends(q, inner, from_it):
            return q.answer(
                "partly-cut",
                f"{facts.name(root)} was computed from {facts.name(a)}, a gradient that depends on {q.name} but was computed without "
                f"create_graph=True: it counts as a constant, and that part of the derivative is missing from {q.name}.grad.",
                lines=facts.at(inner.start, "computed without a graph here")
                + facts.at(run.start, "the pass"),
                fix=f"was {facts.name(a)} meant to be a constant? If not, compute it with create_graph=True.",
                edits=cures.retained(q, inner, "create_graph=True"),
                k=inner.start,
            )
    cuts = [
        hop
        for hop in facts.cuts(from_it, run.start)
        if hop.b in to_it
        and hop.b != q.t
        and hop.cut in ("detached", "data", "copied", "item", "numpy")
        and not in_a_library(q, hop)
        and not _used_up(q, hop, run)
        and not cures.is_straight_through(q, hop.k)
    ]
    if not cuts:
        return None
    hop = cuts[-1]
    return q.answer(
        "partly-cut",
        f"{q.name}.grad is the derivative by the ways that are recorded, but another way from {q.name} to {facts.name(root)} is cut: "
        f"{cut_words(q, hop)}. There {facts.name(root)} counts as not depending on {q.name}.",
        lines=cut_lines(q, hop) + facts.at(run.start, "the pass"),
        fix="was that meant, as a constant? If not, mend that line.",
        edits=cures.mended(q, [hop]),
        k=hop.k,
    )


#: Operations that compare two tensors elementwise.
_COMPARE = {"sub", "rsub", "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"}


def _all_pairs(q: Question) -> Why | None:
    """A prediction of shape [n, 1] and a target of shape [n] were compared: each with every other."""
    facts = q.facts
    run = _run_at(q, facts.grads[q.t][-1])
    if run is None:
        return None
    for n in sorted(facts.behind(run.event["roots"]) & facts.leading_to(facts.node_of(q.t))):
        node = facts.trace.nodes[n]
        if node["op"] not in _COMPARE or len(node["inputs"]) < 2:
            continue
        column, row = sorted((_unexpanded(q, t, n) for t in node["inputs"][:2]), key=lambda t: -_dims(q, t))
        size = facts.trace.tensors[row]["shape"]
        if len(size) != 1 or size[0] < 2 or facts.trace.tensors[column]["shape"] != [size[0], 1]:
            continue
        a, b, count = facts.name(column), facts.name(row), size[0]
        k = facts.node_event.get(n)
        return q.answer(
            "all-pairs",
            f"{a} has the shape [{count}, 1] and {b} the shape [{count}], so broadcasting compares every number of {a} with every number "
            f"of {b}: {count} x {count} pairs instead of {count}.",
            f"{q.name}.grad is the derivative of that.",
            lines=facts.made(n, f"[{count}, 1] and [{count}] become [{count}, {count}] here")
            + facts.at(run.start, "the pass"),
            fix=f"were all pairs meant? If not, give both the same shape: {b}.unsqueeze(1)."
            if facts.named(row)
            else "were all pairs meant? If not, give both the same shape, with unsqueeze(1) or squeeze(1).",
            edits=cures.made_a_column(q, k, b) if facts.named(row) else (),
            k=k,
        )
    return None


def _dims(q: Question, t: int) -> int:
    return len(q.facts.trace.tensors[t]["shape"])


def _unexpanded(q: Question, t: int, n: int) -> int:
    """The operand of node n before its own line expanded it to t."""
    facts = q.facts
    k = facts.maker.get(t)
    e = facts.events[k] if k is not None else {}
    op = facts.trace.nodes[e["n"]]["op"] if e.get("n") is not None else e.get("op", "")
    inputs = facts.inputs(e) if e else []
    same = e.get("src") == facts.trace.nodes[n].get("src")
    return inputs[0] if op in ("expand", "broadcast_to") and same and inputs else t


def _computed(q: Question) -> Why:
    """Nothing is wrong: say what the gradient consists of."""
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
