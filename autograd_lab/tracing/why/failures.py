"""The pass, or the program, stopped with an error: which lines brought it about."""

from __future__ import annotations

from .answer import Why
from .facts import Pass
from .missing import _MEND, between, cut_lines, cut_words, needs_none
from .question import Question
from .writes import inference_tensor, no_return, reentrant


def failure(q: Question) -> Why | None:
    """Why the recording ended in an error, or None if it did not (or if the gradient came after it)."""
    facts = q.facts
    k = next((k for k in reversed(range(len(facts.events))) if facts.events[k]["k"] == "error"), None)
    if k is None or any(i > k for i in facts.grads.get(q.t, ())):
        return None
    if any(run.start > k and not run.failed for run in facts.passes):
        return None
    e = facts.events[k]
    if facts.grad_now(q.t) is not None and e["n"] is None and not e.get("of"):
        return None  # the program stopped later, somewhere else
    text = e["message"]
    run = next((r for r in facts.passes if r.end == k), None)
    if "a second time" in text and run is not None:
        return _freed(q, k, run)
    if "modified by an inplace operation" in text and run is not None:
        return _overwritten(q, k, run)
    if "leaf Variable" in text and "in-place" in text:
        return q.answer(
            "inplace-leaf",
            "A leaf that requires grad may not be written in place while operations are recorded: its old value would be lost, "
            "and it would no longer be a leaf.",
            lines=facts.at(k, "the write"),
            fix="write under no_grad (`with torch.no_grad(): w -= ...`), or compute a new tensor.",
            k=k,
        )
    if "object has no attribute 'backward'" in text:
        read = next((i for i in reversed(range(k)) if facts.events[i]["k"] == "read"), None)
        if read is not None:
            return q.answer(
                "item",
                f"backward() was called on a Python number. It came out of {facts.name(facts.events[read]['t'])} by "
                f".{facts.events[read].get('how', 'item')}(), and a number has no graph behind it.",
                lines=facts.at(read, "becomes a Python number here") + facts.at(k, "backward is called here"),
                fix="keep the tensor for backward(), and use .item() only to print or log.",
                k=read,
            )
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
            f"backward() was called on a tensor of shape {shape}. The gradient starts with 1 only for a single number.",
            lines=facts.at(k, "backward of several numbers"),
            fix="reduce it to one number (.sum() or .mean()), or say what to start with: backward(gradient=...).",
            k=k,
        )
    if "does not require grad and" in text and e.get("of"):
        return _root_needs_none(q, k)
    if "not have been used in the graph" in text and facts.passes:
        run = facts.passes[-1]
        end = facts.root_of(run)
        if end is not None and not q.reaches(run):
            return between(q, end, run.start, run)
    return q.answer(
        "failed",
        f"The program stopped with a {e['type']}: {text}",
        lines=facts.at(k, "stopped here")
        + (facts.made(e["n"], "the node that failed was made here") if e["n"] is not None else []),
        fix="the message says what was wrong; the gradient was not computed.",
        k=k,
    )


def _too_few(q: Question, k: int) -> Why:
    """The backward of a custom Function returned another number of gradients than forward has inputs."""
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
    """The loss does not require grad."""
    facts = q.facts
    root = facts.events[k]["of"][0]
    target = facts.name(root)
    here = facts.at(k, "backward is called here")
    gradient = next(
        (a for a in [root, *facts.ancestors(root)] if facts.trace.tensors[a].get("grad_of") is not None), None
    )
    if gradient is not None:
        run = next((r for r in reversed(facts.passes) if r.start < k), None)
        return q.answer(
            "gradient-without-graph",
            (target if gradient == root else f"{target} was computed from {facts.name(gradient)}, which")
            + " is a gradient that was computed without create_graph=True: plain numbers without history. It cannot be "
            "differentiated again.",
            lines=(facts.at(run.start, "this pass was not recorded") if run else []) + here,
            fix="compute the first gradient with torch.autograd.grad(y, x, create_graph=True).",
            k=k,
        )
    if facts.needs(q.t) and facts.way(q.t, root, k) and q.t != root:
        return between(q, root, k, None)
    hop = facts.cut_before(root)
    if hop is not None:
        return q.answer(
            hop.cut,
            f"{target} does not require grad, so backward has nowhere to go: {cut_words(q, hop)}.",
            lines=cut_lines(q, hop) + here,
            fix=_MEND[hop.cut],
            k=hop.k,
        )
    if facts.needs(q.t) and q.t != root:
        return between(q, root, k, None)
    return needs_none(q)


def _freed(q: Question, k: int, run: Pass) -> Why:
    facts, e = q.facts, q.facts.events[k]
    node = e["n"]
    freed = next(
        (
            i
            for i in reversed(range(run.start))
            if facts.events[i]["k"] == "free" and facts.events[i]["n"] == node
        ),
        None,
    )
    first = next((r for r in facts.passes if freed is not None and r.start <= freed <= r.end), None)
    lines = facts.made(node, f"{facts.words.nodes[node]} is made here")
    if first is not None:
        lines += facts.at(first.start, "the first pass freed what it saved")
    lines += facts.at(run.start, "this pass needs it again")
    begin = "before the recording" if first is None else "in the first pass"
    if first is not None and _new_since(q, run, first):
        carried = _carrier(q, run, first)
        what = facts.name(carried) if carried is not None else "a tensor"
        if carried is not None:
            lines = facts.at(facts.maker.get(carried), f"{what} is made here, with its history") + lines
        return q.answer(
            "carried-over",
            f"{what} was computed before the first pass and used again after it: the new graph continues into the old one, whose "
            "saved values are gone.",
            lines=lines,
            fix=f"detach what is carried on to the next round: {what} = {what}.detach().",
            k=k,
        )
    return q.answer(
        "freed-graph",
        f"The graph was used {begin}, which freed the saved values that {facts.words.nodes[node]} needs. A second pass through "
        "the same nodes is not possible.",
        lines=lines,
        fix="compute the loss again before the second backward(); or keep the values with backward(retain_graph=True) the first time.",
        k=k,
    )


def _new_since(q: Question, run: Pass, first: Pass) -> bool:
    """Whether the graph of `run` has nodes made after the pass `first`."""
    return any(q.facts.node_event.get(n, -1) > first.end for n in run.event["roots"])


def _carrier(q: Question, run: Pass, first: Pass) -> int | None:
    """The tensor made before the pass `first` that a node made after it used."""
    facts = q.facts
    for n in sorted(facts.behind(run.event["roots"])):
        if facts.node_event.get(n, -1) > first.end:
            for t in facts.trace.nodes[n]["inputs"]:
                if 0 <= facts.maker.get(t, -1) < first.start and facts.needs(t):
                    return t
    return None


def _overwritten(q: Question, k: int, run: Pass) -> Why:
    facts = q.facts
    node = facts.events[k]["n"]
    label = facts.words.nodes[node]
    for _, t, *version in facts.trace.nodes[node]["saved"]:
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
        op = facts.events[w]["op"]
        name = facts.name(t)
        saved = facts.made(node, f"{label} saves {name} here")
        if not op.endswith("_"):
            return q.answer(
                "optimizer-too-early",
                f"{label} saved {name} for its backward. Then the optimizer ({op}) changed {name} in place, before the backward pass "
                "could use the old value.",
                lines=saved
                + facts.at(w, f"{name} is updated here")
                + facts.at(run.start, "backward needs the old value"),
                fix="call backward() for every loss first, and step() after that.",
                k=k,
            )
        return q.answer(
            "inplace-saved",
            f"{label} saved {name} for its backward at version {since}. Then {op} wrote over it in place, so the value the rule "
            "needs is gone.",
            lines=saved
            + facts.at(w, f"{op} overwrites {name} here")
            + facts.at(run.start, "backward needs the old value"),
            fix=f"write the result into a new tensor ({_plain(op, name)}), or give the operation a copy: {name}.clone().",
            k=k,
        )
    return q.answer(
        "inplace-saved",
        f"{label} saved a value that was overwritten in place before its backward ran.",
        lines=facts.made(node, "saved here") + facts.at(run.start, "backward needs the old value"),
        fix="replace the in-place operation by one that makes a new tensor.",
        k=k,
    )


def _plain(op: str, name: str) -> str:
    """The same operation without writing in place, as a learner would spell it."""
    signs = {"add_": "+", "sub_": "-", "mul_": "*", "div_": "/"}
    return f"{name} = {name} {signs[op]} ..." if op in signs else f"{op.rstrip('_')} instead of {op}"
