"""A missing second derivative, though the first was computed with create_graph=True: the first one is constant."""

from __future__ import annotations

from .answer import Why
from .facts import Pass
from .question import Question


def constant_derivative(q: Question) -> Why | None:
    """The answer if the tensor differentiated last was computed from a derivative that does not depend on the tensor asked about."""
    facts = q.facts
    root, until, k = _root(q)
    if root is None or q.t == root:
        return None
    behind = [root, *facts.ancestors(root)]
    for run in reversed(facts.passes):
        if run.failed or run.start >= until or not run.event.get("create_graph") or not q.reaches(run):
            continue
        first = next((a for a in behind if facts.trace.tensors[a].get("grad_of") is not None), None)
        if first is None or _has_function(q, run) or not _only_cut_inside(q, root, until, run):
            continue
        return _answer(q, run, root, first, k)
    return None


def _root(q: Question) -> tuple[int | None, int, int]:
    """The tensor that backward was called on last, if it gave the tensor asked about no gradient; the event of the call."""
    facts = q.facts
    error = next((k for k in reversed(range(len(facts.events))) if facts.events[k]["k"] == "error"), None)
    if error is not None:
        e = facts.events[error]
        if "does not require grad and" in e["message"] and e.get("of"):
            return int(e["of"][0]), error, error
        return None, 0, 0
    runs = [run for run in q.passes() if run.fills and not run.failed]
    if not runs or q.reaches(runs[-1]):
        return None, 0, 0
    return facts.root_of(runs[-1]), runs[-1].start, runs[-1].start


def _has_function(q: Question, run: Pass) -> bool:
    """Whether a custom Function is in between: what its backward leaves out of the graph is unknown."""
    nodes = q.facts.behind(run.event["roots"]) & q.facts.leading_to(q.facts.node_of(q.t))
    return any(q.facts.trace.nodes[n]["kind"] == "function" for n in nodes)


def _only_cut_inside(q: Question, root: int, until: int, run: Pass) -> bool:
    """Whether the program itself did not cut the path: the pass computed what is cut."""
    hops = q.facts.way(q.t, root, until) or []
    return all(q.facts.inside[hop.k] == run.p for hop in hops if hop.cut)


def _answer(q: Question, run: Pass, root: int, first: int, k: int) -> Why:
    facts = q.facts
    of = facts.trace.tensors[first]["grad_of"]
    value = facts.say(facts.trace.tensors[first]["value"])
    name = facts.name(first)
    root_name = facts.name(start) if (start := facts.root_of(run)) is not None else "the result"
    called = "" if name == f"{facts.name(of)}.grad" or not facts.named(first) else f"{name}, "
    return q.answer(
        "constant-derivative",
        f"The first derivative, {called}that of {root_name} with respect to {facts.name(of)}, is {value} and does not change with "
        f"{q.name}: its own derivative with respect to {q.name} is 0, so the graph of {facts.name(root)} does not lead to {q.name}.",
        "create_graph=True was given; it is the function that has no second derivative here.",
        lines=facts.at(run.start, "the first derivative") + facts.at(k, "differentiated again here"),
        fix="this is right: what is linear, or made of straight pieces (relu, abs, a bias), has the second derivative 0. Is a curved "
        "function (x ** 2, tanh, softplus) what was meant?",
        k=k,
    )  # fmt: skip
