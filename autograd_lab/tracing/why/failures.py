"""The program stopped with one of autograd's errors: the lines that led to it.

An error is never the cause itself. One that follows from an earlier mistake (such as an AttributeError because .grad is None) is
skipped here: then the answer is what made .grad None.
"""

from __future__ import annotations

import ast
import re

from . import cures
from .answer import Line, Why, listed
from .facts import Pass
from .missing import (
    between,
    cut_answer,
    flag_last,
    has_nameless_leaf,
    needs_none,
    no_longer_a_leaf,
    without_graph,
)
from .question import Question
from .refusals import refused
from .source import Source
from .writes import inference_tensor, no_return, reentrant


def failure(q: Question) -> Why | None:
    """Why the recording ended in an error; None if it did not, or if the error does not explain this gradient."""
    facts = q.facts
    k = q.stopped
    if k is None or any(i > k for i in facts.grads.get(q.t, ())):
        return None
    e = facts.events[k]
    text = e["message"]
    run = next((r for r in facts.passes if r.end == k), None)
    if run is not None and not facts.leaf(q.t) and facts.needs(q.t) and facts.retain_asked(q.t) is None:
        found = no_longer_a_leaf(q)
        if found is not None:
            return found  # it would have no .grad even without the error
    if run is not None and "a second time" in text:
        return _second_time(q, k, run)
    if run is not None and "modified by an inplace operation" in text:
        return _overwritten(q, k, run)
    if "leaf Variable" in text and "in-place" in text:
        return _leaf_written(q, k)
    if "object has no attribute 'backward'" in text:
        return _of_a_number(q, k)
    if "Inference tensors cannot be saved" in text or "outside InferenceMode" in text:
        return inference_tensor(q, k)
    if "incompatible with .grad()" in text and "use_reentrant" in text:
        return reentrant(q, k)
    if "returned an incorrect number of gradients" in text and e["n"] is not None:
        return no_return(q, e["n"], k) or _too_few(q, k)
    if "only for scalar outputs" in text:
        shape = facts.trace.tensors[e["of"][0]]["shape"] if e.get("of") else "more than one element"
        return q.answer(
            "loss-not-scalar",
            f"{'grad()' if 'grad(' in facts.text(k) else 'backward()'} was called on a tensor of shape {shape}. The gradient starts with 1 only for a single number.",
            lines=facts.at(k, "backward of several numbers"),
            fix="reduce it to one number (.sum() or .mean()), or say what to start with: backward(gradient=...).",
            edits=cures.reduced(q, k),
            k=k,
        )
    if "does not require grad and" in text and e.get("of"):
        return _root_needs_none(q, k)
    if "not have been used in the graph" in text and facts.passes:
        run = facts.passes[-1]
        end = facts.root_of(run)
        if end is not None and not q.reaches(run):
            return between(q, end, run.start, run)
    if run is not None and q.reaches(run):
        return refused(q, k) or q.answer(
            "failed",
            f"The backward pass stopped with a {e['type']}: {text}",
            lines=facts.at(k, "stopped here")
            + (facts.made(e["n"], "the node that failed was made here") if e["n"] is not None else []),
            fix="the message says what was wrong; the gradient was not computed.",
            k=k,
        )
    return None


def _leaf_written(q: Question, k: int) -> Why | None:
    """A leaf was written; None if it was another leaf, unrelated to this tensor."""
    facts = q.facts
    where = facts.place(k)
    if facts.grad_now(q.t) is not None and where is not None and not _speaks_of(q, *where):
        return None
    return q.answer(
        "inplace-leaf",
        "A leaf that requires a gradient may not be written in place while operations are recorded: its old value would be lost, "
        "and it would no longer be a leaf.",
        "" if facts.grad_now(q.t) is None else f"{q.name}.grad is what the pass before has computed.",
        lines=facts.at(k, "the write"),
        fix="write under torch.no_grad(), where nothing is recorded.",
        edits=cures.under_no_grad(q, k),
        k=k,
    )


def _speaks_of(q: Question, source: Source, n: int) -> bool:
    """Whether a line reads the tensor by its name, or as the variable of a loop, which may stand for it."""
    loops = {ast.unparse(node.target) for node in source.around(n, ast.For) if isinstance(node, ast.For)}
    return bool({q.name, *loops} & set(source.read_on(n)))


def _of_a_number(q: Question, k: int) -> Why | None:
    facts = q.facts
    read = next((i for i in reversed(range(k)) if facts.events[i]["k"] == "read"), None)
    if read is None or not re.match(r"'(int|float|complex|bool|numpy\.\w+)'", facts.events[k]["message"]):
        return None
    return q.answer(
        "item",
        f"backward() was called on a Python number. It came out of {facts.name(facts.events[read]['t'])} by "
        f".{facts.events[read].get('how', 'item')}(), and a number has no graph behind it.",
        lines=facts.at(read, "becomes a Python number here") + facts.at(k, "backward is called here"),
        fix="keep the tensor for backward(), and use .item() only to print or log.",
        edits=cures.kept_as_tensor(q, [read]),
        k=read,
    )


def _too_few(q: Question, k: int) -> Why:
    """The backward of a custom Function returned more or fewer gradients than forward has inputs."""
    facts, e = q.facts, q.facts.events[k]
    counts = e["message"].rpartition("(")[2].rstrip(")")
    return q.answer(
        "function-count",
        f"The backward of {facts.words.nodes[e['n']]} returned a wrong number of gradients ({counts}): it has to return one for each input "
        "of forward.",
        lines=facts.made(e["n"], "applied here") + facts.at(k, "stopped here"),
        fix="return a gradient for every argument of forward, in the same order, and None for one that needs none.",
        k=k,
    )


def _root_needs_none(q: Question, k: int) -> Why:
    """The loss does not require a gradient."""
    facts = q.facts
    root = facts.events[k]["of"][0]
    target = facts.name(root)
    here = facts.at(k, "backward is called here")
    if not facts.needs(q.t) and (q.t == root or facts.way(q.t, root, k) is not None):
        return needs_none(q)
    if facts.needs(q.t) and q.t != root and facts.way(q.t, root, k):
        return between(q, root, k, None)
    hop = facts.cut_before(root)
    if hop is not None:
        return cut_answer(
            q, f"{target} does not require a gradient, so backward has nowhere to go:", [hop], here
        )
    gradient = next(
        (a for a in [root, *facts.ancestors(root)] if facts.trace.tensors[a].get("grad_of") is not None), None
    )
    if gradient is not None:
        return without_graph(q, gradient, root, k)
    if facts.needs(q.t) and q.t != root:
        return between(q, root, k, None)
    return needs_none(q)


# -- a second pass through what the first one freed ---------------------------------------------------


def _second_time(q: Question, k: int, run: Pass) -> Why:
    """Which tensor leads back into a freed graph, and the right fix, by the kind of tensor.

    state     each iteration computes it from the previous one: detach it between iterations
    total     the loss itself is such a state, or a list of old losses: each iteration needs only its own loss
    once      it was computed before the loop, and the weights behind it have changed since: compute it inside the loop
    fake      between the passes one part was updated, and the gradients of the other were discarded: stop the first loss there
    shared    two losses share a part of the graph: keep its saved values for the second
    """
    facts = q.facts
    node = facts.events[k]["n"]
    freed = next(
        (
            i
            for i in reversed(range(run.start))
            if facts.events[i]["k"] == "free" and facts.events[i]["n"] == node
        ),
        None,
    )
    first = next((r for r in facts.passes if freed is not None and r.start <= freed <= r.end), None)
    needs_again = facts.at(run.start, "this pass needs it again")
    if first is None:
        return q.answer(
            "freed-graph",
            f"The graph was used before the recording, which freed the saved values that {facts.words.nodes[node]} needs. A second "
            "pass through the same nodes is not possible.",
            lines=facts.made(node, f"{facts.words.nodes[node]} is made here") + needs_again,
            fix="compute the loss again inside the recording.",
            k=k,
        )
    gone = {e["n"] for _, e in facts.during(first, "free")}
    found = _goes_back(
        q,
        k,
        run,
        first,
        gone,
        "gone",
        [*facts.at(first.start, "the first pass freed what it saved"), *needs_again],
    )
    if found is not None:
        return found
    lines = [*facts.at(first.start, "the first pass freed what it saved"), *needs_again]
    carriers = _carriers(q, _newer(q, run, first), gone, first)
    shared = carriers or [t for t in [_common(q, first, run)] if t is not None]
    changed = _changed_between(q, shared, node, first, run)
    if changed:
        return _computed_once(q, k, run, first, shared, changed, "gone", lines)
    if carriers and _stops_here(q, carriers[0], first, run):
        return _not_detached(q, k, first, run, carriers[0], lines)
    return _shared(q, k, first, run, shared, node, lines)


def _adds(q: Question, root: int, total: int) -> bool:
    """Whether the loss was made by adding to the previous iteration's total."""
    facts = q.facts
    e = facts.events[_last_maker(q, root) or 0]
    op = facts.trace.nodes[e["n"]]["op"] if e.get("n") is not None else e.get("op", "")
    return op.strip("_") == "add" and (root == total or total in facts.inputs(e))


def _newer(q: Question, run: Pass, first: Pass) -> set[int]:
    """The nodes of the graph of a pass that were made after the pass `first`."""
    facts = q.facts
    return {n for n in facts.behind(run.event["roots"]) if facts.node_event.get(n, -1) > first.end}


def _goes_back(
    q: Question, k: int, run: Pass, first: Pass, gone: set[int], lost: str, lines: list[Line]
) -> Why | None:
    """A state, sum or list that is carried over from one iteration leads back to the nodes `gone`, whose saved values are `lost`."""
    facts = q.facts
    new = _newer(q, run, first)
    carriers = _carriers(q, new, gone, first)
    again = {c: _made_anew(q, c, first, run) for c in carriers}
    states = [c for c in carriers if any(c in facts.ancestors(b) or c == b for b in again[c])]
    roots = set(run.event.get("of") or [facts.root_of(run)])
    total = [c for c in states if any(_adds(q, root, c) for root in roots & {c, *again[c]})]
    if total:
        return _running_total(q, k, run, total[0], lost, lines)
    if states:
        return _carried(q, k, run, states, again, new, lost, lines)
    kept = [c for c in carriers if again[c]]
    if not kept:
        return None
    user = _user_of(q, kept[0], new)
    where = facts.place(user)
    own = [name for name in where[0].targets(where[1]) if name in where[0].read_on(where[1])] if where else []
    if own and not cures.collection(q, user):  # `mean = 0.9 * mean + 0.1 * x`
        return _carried(q, k, run, kept[:1], again, new, lost, lines, own)
    given = cures.given_on(q, kept[0], user)
    if given is not None:  # `prev = out`
        return _given_on(q, k, given, kept[0], lost, lines)
    return _kept_in_list(q, k, run, kept[0], user, lost, lines)


def _carriers(q: Question, new: set[int], gone: set[int], first: Pass) -> list[int]:
    """The tensors made before the end of the first pass that newer nodes use, and that lead to freed nodes."""
    facts = q.facts
    found: dict[int, None] = {}
    for n in sorted(new):
        for t in facts.trace.nodes[n]["inputs"]:
            made = facts.maker.get(t)
            old = facts.trace.tensors[t]["node"]
            rewritten = (
                old in new and old is not None
            )  # an in-place write of the new iteration: its history continues into the old one
            before = made is not None and made < first.end and old is not None
            if before and (rewritten or gone & facts.behind([old])):
                found[t] = None
    return list(found)


def _made_anew(q: Question, t: int, first: Pass, run: Pass) -> list[int]:
    """The tensors that the line that made t made again after the first pass; t itself if it was written in place since."""
    facts = q.facts
    src = facts.events[facts.maker[t]].get("src")
    name = facts.trace.tensors[t]["name"]
    found = []
    for k in range(first.end, run.start):
        e = facts.events[k]
        if e["k"] == "inplace" and e["t"] == t and e.get("n") is not None:
            found.append(t)
        for b in facts.outputs(e):
            same = facts.trace.tensors[b]["name"] == name and name.isidentifier()
            if same or (
                e.get("src") == src and facts.trace.tensors[b]["shape"] == facts.trace.tensors[t]["shape"]
            ):
                found.append(b)
    return found


def _common(q: Question, first: Pass, run: Pass) -> int | None:
    """The newest tensor in the graphs of both passes, preferably one with a name."""
    facts = q.facts
    both = facts.behind(first.event["roots"]) & facts.behind(run.event["roots"])
    ends = set() if _same_loss(first, run) else {t for r in (first, run) for t in r.event.get("of") or ()}
    made = [
        t
        for n in both
        for t in facts.trace.nodes[n]["outputs"]
        if facts.maker.get(t) is not None and not (ends & set(facts.trace.nodes[n]["outputs"]))
    ]
    named = [t for t in made if facts.named(t)]
    return max(named or made, key=lambda t: facts.maker[t], default=None)


def _same_loss(first: Pass, run: Pass) -> bool:
    """Whether two passes began at the same tensors."""
    return all(first.event.get(name) == run.event.get(name) for name in ("of", "roots"))


def _assigned_to(q: Question, t: int) -> str:
    """The program's name for t: its own, or the target that its line assigns, such as `self.W`; '' if there is none."""
    facts = q.facts
    if facts.named(t):
        return facts.name(t)
    k = facts.maker.get(t)
    where = facts.place(k)
    if k is None or where is None:
        return ""
    src = facts.events[k].get("src")
    after = next((i for i in range(k, len(facts.events)) if facts.events[i].get("src") != src), k + 1)
    made = [b for e in facts.events[k:after] for b in facts.outputs(e)]
    names = where[0].targets(where[1])
    return names[0] if made[-1:] == [t] and len(names) == 1 else ""


def _changed_between(q: Question, shared: list[int], node: int, first: Pass, run: Pass) -> list[int]:
    """The leaves behind shared tensors that were written between the two passes."""
    facts = q.facts
    graph = facts.behind(
        [facts.trace.tensors[t]["node"] for t in shared if facts.trace.tensors[t]["node"] is not None]
        or [node]
    )
    return [
        t
        for t, n in facts.accumulator.items()
        if n in graph and any(first.start < w < run.start for w in facts.writes.get(t, ()))
    ]


def _stops_here(q: Question, t: int, first: Pass, run: Pass) -> bool:
    """Whether the first pass was for the part after t only: that part was updated, and the gradients behind t were discarded."""
    facts = q.facts
    behind = facts.behind([facts.trace.tensors[t]["node"]])
    whole = facts.behind(first.event["roots"])
    leaves = [(leaf, n in behind) for leaf, n in facts.accumulator.items() if n in whole]
    between_passes = range(first.end, run.start)
    written = any(
        not inside and any(w in between_passes for w in facts.writes.get(leaf, ())) for leaf, inside in leaves
    )
    cleared = all(
        any(g in between_passes and facts.events[g]["k"] == "grad" for g in facts.grads.get(leaf, ()))
        for leaf, inside in leaves
        if inside
    )
    return written and cleared and any(inside for _, inside in leaves)


def _running_total(q: Question, k: int, run: Pass, total: int, lost: str, lines: list[Line]) -> Why:
    facts = q.facts
    root = (run.event.get("of") or [total])[0]
    name = facts.name(root) if facts.named(root) else cures.root_text(q, run) or facts.name(root)
    parts = [facts.name(t) for t in _summands(q, root, total) if facts.named(t)]
    of = f" For the pass of one round {listed(parts)} is enough." if parts else ""
    return q.answer(
        "running-total",
        f"{name} is a sum that grows from round to round, and it keeps the graphs of all rounds: backward on it goes into those of "
        f"earlier rounds again, whose saved values are {lost}.{of}",
        lines=facts.at(_last_maker(q, root), "the sum with its history") + lines,
        fix="call backward() on the loss of this round, and add only its number to the sum.",
        edits=cures.total(q, run, root, name, parts),
        k=k,
    )


def _last_maker(q: Question, t: int) -> int | None:
    writes = q.facts.writes.get(t)
    return writes[-1] if writes else q.facts.maker.get(t)


def _summands(q: Question, root: int, total: int) -> list[int]:
    """The term that the last addition added to the total."""
    facts = q.facts
    k = _last_maker(q, root)
    return (
        []
        if k is None
        else [t for t in facts.inputs(facts.events[k]) if t not in (root, total) and facts.needs(t)]
    )


def _kept_in_list(
    q: Question, k: int, run: Pass, old: int, user: int | None, lost: str, lines: list[Line]
) -> Why:
    """Results of earlier iterations were kept and are part of the new loss."""
    facts = q.facts
    kept = cures.collection(q, user)
    return q.answer(
        "running-total",
        (
            f"{kept} still holds results of earlier rounds, and the loss is made of all of them:"
            if kept
            else "The loss still uses results of earlier rounds:"
        )
        + f" backward goes into the graphs of those rounds again, whose saved values are {lost}.",
        lines=facts.at(facts.maker.get(old), "a result of an earlier round")
        + facts.at(user, "used together with the new ones")
        + lines,
        fix=f"begin each round with {kept} empty." if kept else "keep only what belongs to this round.",
        edits=cures.emptied(q, run, kept),
        k=k,
    )


def _user_of(q: Question, t: int, new: set[int]) -> int | None:
    """The first event of the newer graph that used t."""
    return next((k for k in q.facts.uses.get(t, ()) if q.facts.events[k].get("n") in new), None)


def _carried(
    q: Question,
    k: int,
    run: Pass,
    states: list[int],
    again: dict[int, list[int]],
    new: set[int],
    lost: str,
    lines: list[Line],
    known: list[str] | None = None,
) -> Why:
    facts = q.facts
    user = min((u for u in (_user_of(q, t, new) for t in states) if u is not None), default=None)
    names = known or cures.state_names(q, states, again, user)
    what = listed(names) if names else "a result of the round before"
    was = "were" if len(names) > 1 else "was"
    return q.answer(
        "carried-over",
        f"{what} {was} computed before the first pass and used again after it: the new graph continues into the old one, whose saved "
        f"values are {lost}.",
        lines=facts.at(
            facts.maker.get(states[0]),
            f"{what} {was} made here, with its history" if names else "made here, with its history",
        )
        + lines,
        fix="cut the rounds apart: carry over the numbers only, without their history"
        + (f" ({cures.detached(q, names, len(states))})." if names else "."),
        edits=cures.cut_apart(q, run, states, names, user),
        k=k,
    )


def _given_on(
    q: Question, k: int, given: tuple[Source, ast.Assign], old: int, lost: str, lines: list[Line]
) -> Why:
    """A second name keeps the result of an iteration for the next one."""
    facts = q.facts
    source, s = given
    name, value = ast.unparse(s.targets[0]), ast.unparse(s.value)
    return q.answer(
        "carried-over",
        f"{name} keeps {value} of the round before, with its history: the new graph continues into the old one, whose saved values "
        f"are {lost}.",
        lines=[
            *facts.at(facts.maker.get(old), f"{value} is made here, with its history"),
            Line(
                source.name, s.lineno, source.lines[s.lineno].strip(), f"{name} keeps it for the next round"
            ),
            *lines,
        ],
        fix=f"cut the rounds apart: keep the numbers only ({name} = {value}.detach()).",
        edits=cures.kept_without_history(source, s),
        k=k,
    )


def _computed_once(
    q: Question,
    k: int,
    run: Pass,
    first: Pass,
    shared: list[int],
    changed: list[int],
    lost: str,
    lines: list[Line],
) -> Why:
    facts = q.facts
    names = [name for t in shared if (name := _assigned_to(q, t))] or ["a part of the loss"]
    moved = listed([facts.name(t) for t in changed])
    has = "have" if len(changed) > 1 else "has"
    edits = cures.moved_into_loop(q, run)
    fix = "compute it again before each backward(): move the line into the loop."
    if not edits:
        w = next(w for w in facts.writes[changed[0]] if w > first.start)
        edits = cures.updated_last(q, w, first, run)
        fix = "compute it again before the second backward(); or keep the values the first time, with retain_graph=True, and update last."
        if any(cures.stands_in(q, facts.maker.get(t), "__init__") for t in shared):
            fix = "compute it in forward(), which runs for every loss; __init__ runs only once."
    return q.answer(
        "computed-once",
        f"{listed(names)} {'were' if len(names) > 1 else 'was'} computed once, and every pass needs it. What the first pass used is "
        f"{lost}: {moved} {has} changed since.",
        lines=[line for t in shared for line in facts.at(facts.maker.get(t), "computed once, here")] + lines,
        fix=fix,
        edits=edits,
        k=k,
    )


def _not_detached(q: Question, k: int, first: Pass, run: Pass, t: int, lines: list[Line]) -> Why:
    facts = q.facts
    name = facts.name(t)
    user = next(
        (
            i
            for i in facts.uses.get(t, ())
            if i < first.start and facts.events[i].get("n") in facts.behind(first.event["roots"])
        ),
        None,
    )
    return q.answer(
        "not-detached",
        f"The first loss went through {name} and freed the graph behind it, though that pass was only for what comes after {name}: the "
        "gradients that it left behind it were thrown away. The second loss needs that graph.",
        lines=facts.at(facts.maker.get(t), f"{name} is made here")
        + facts.at(user, f"the first loss should stop at {name}")
        + lines,
        fix=f"let the first loss use {name} without its history."
        if facts.named(t)
        else "let the first loss use it without its history.",
        edits=cures.detached_there(q, user, name) if facts.named(t) else (),
        k=k,
    )


def _shared(
    q: Question, k: int, first: Pass, run: Pass, shared: list[int], node: int, lines: list[Line]
) -> Why:
    facts = q.facts
    t = shared[0] if shared else None
    name = "the loss" if t is None else _assigned_to(q, t) or facts.name(t)
    if _same_loss(first, run):
        what = (
            f"Backward went through {name} twice. The first time it freed the values that were saved for it"
        )
    else:
        what = f"Both passes go through {name}, and the first one freed the values that were saved for it"
    create = _needed_later(q, first, run)
    call = "create_graph=True" if create else "retain_graph=True"
    why_so = (
        " The gradient that it gives is part of the loss, so its own history is needed as well."
        if create
        else ""
    )
    if t is not None and has_nameless_leaf(q, t):  # it was meant to be a leaf, which passes do not free
        made = facts.maker[t]
        return q.answer(
            "freed-graph",
            f"{what}.",
            f"Was {name} meant to be a leaf? It was computed from one, in the line that made it.",
            lines=facts.at(made, f"{name} is the result, not the leaf") + lines,
            fix=flag_last(q, t, name),
            edits=cures.flag_last(q, made),
            k=k,
        )
    return q.answer(
        "freed-graph",
        f"{what}.",
        lines=(
            facts.at(facts.maker.get(t), f"{name} is made here")
            if t is not None
            else facts.made(node, "made here")
        )
        + lines,
        fix=f"keep them the first time, with {call}.{why_so}"
        + (
            ""
            if create or first.event.get("call") == "grad"
            else " Or add the losses up and call backward() once."
        ),
        edits=cures.retained(q, first, call),
        k=k,
    )


def _needed_later(q: Question, first: Pass, run: Pass) -> bool:
    """Whether the gradient that the first pass returned went into the second pass's loss."""
    facts = q.facts
    root = facts.root_of(run)
    return (
        not first.fills
        and root is not None
        and any(facts.trace.tensors[a].get("grad_of") is not None for a in facts.ancestors(root))
    )


# -- a saved value was overwritten --------------------------------------------------------------------


def _overwritten(q: Question, k: int, run: Pass) -> Why:
    facts = q.facts
    node = facts.events[k]["n"]
    label = facts.words.nodes[node]
    for how, t, *version in facts.trace.nodes[node]["saved"]:
        if t is None:
            continue
        since = version[0] if version else 0
        writes = [
            w
            for other in facts.memory(t)
            for w in facts.writes.get(other, ())
            if w < run.start and facts.events[w]["version"] > since and facts.events[w]["op"] != "data ="
        ]
        if not writes:
            continue
        w = min(writes)
        op, written = facts.events[w]["op"], facts.events[w]["t"]
        name = facts.name(t if facts.named(t) else written)
        saved = facts.made(node, f"{label} saves {name} here")
        needed = facts.at(run.start, "backward needs the old value")
        fresh = re.search(r"\binit\.|load_state_dict\(", facts.text(w)) is not None
        update = facts.leaf(written) and facts.needs(written, w) and not fresh
        if facts.stepped(w) or update:
            found = _retained(q, k, run, node, w)
            if found is not None:
                return found
            by = f"the optimizer ({op})" if facts.stepped(w) else "the update"
            return q.answer(
                "optimizer-too-early",
                f"{label} saved {name} for its backward. Then {by} changed {name} in place, before the backward pass could use the old "
                "value.",
                lines=saved + facts.at(w, f"{name} is updated here") + needed,
                fix="call backward() for every loss first, and step() after that."
                if facts.stepped(w)
                else "call backward() for every loss first, and update after that.",
                edits=cures.moved_after(q, w, run),
                k=k,
            )
        edits = cures.not_overwritten(
            q,
            w,
            node,
            t,
            name,
            written in facts.trace.nodes[node]["outputs"] or how in ("result", "out", "output"),
        )
        if fresh:
            return q.answer(
                "inplace-saved",
                f"{label} saved {name} for its backward at version {since}. Then {facts.statement(w)} wrote other numbers into it, so the "
                "value the rule needs is gone.",
                lines=saved + facts.at(w, f"{name} is overwritten here") + needed,
                fix="initialize or load the numbers before the forward pass, or after backward().",
                edits=cures.moved_after(q, w, run),
                k=k,
            )
        module = any("inplace=False" in edit.text for edit in edits)
        return q.answer(
            "inplace-saved",
            f"{label} saved {name} for its backward at version {since}. Then {op} wrote over it in place, so the value the rule "
            "needs is gone.",
            lines=saved + facts.at(w, f"{op} overwrites {name} here") + needed,
            fix="switch inplace off."
            if module
            else f"write the result into a new tensor{_plain(op, name)}, or give the operation a copy that nobody writes to (clone()).",
            edits=edits,
            k=k,
        )
    return q.answer(
        "inplace-saved",
        f"{label} saved a value that was overwritten in place before its backward ran.",
        lines=facts.made(node, "saved here") + facts.at(run.start, "backward needs the old value"),
        fix="replace the in-place operation by one that makes a new tensor.",
        k=k,
    )


def _retained(q: Question, k: int, run: Pass, node: int, w: int) -> Why | None:
    """An earlier pass already went through the node, with retain_graph=True, and the update w came after it: that hid the mistake."""
    facts = q.facts
    first = next(
        (r for r in reversed(facts.passes) if r.end < w and node in facts.behind(r.event["roots"])), None
    )
    if first is None:
        return None
    gone = {n for n in facts.behind(first.event["roots"]) if facts.trace.nodes[n]["kind"] != "accumulate"}
    lines = [
        *facts.at(first.start, "the first pass kept the graph"),
        *facts.at(w, "updated here"),
        *facts.at(run.start, "this pass goes through it again"),
    ]
    found = _goes_back(q, k, run, first, gone, "overwritten", lines)
    if found is not None or not cures.moved_into_loop(q, run):
        return found
    shared = _carriers(q, _newer(q, run, first), gone, first) or [
        t for t in [_common(q, first, run)] if t is not None
    ]
    return _computed_once(q, k, run, first, shared, [facts.events[w]["t"]], "overwritten", lines)


def _plain(op: str, name: str) -> str:
    """The same operation out of place, as a learner would write it, if it has an operator."""
    signs = {"add_": "+", "sub_": "-", "mul_": "*", "div_": "/"}
    return f" ({name} = {name} {signs[op]} ...)" if op in signs else ""
