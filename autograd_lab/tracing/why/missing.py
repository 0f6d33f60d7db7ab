"""`.grad` is None: because of the tensor itself, the path from the loss, or the backward pass."""

from __future__ import annotations

import ast
import re
from dataclasses import replace

from ..rules import operand_name
from . import cures
from .answer import Line, Why, listed
from .facts import Hop, Pass
from .question import Question
from .refusals import refused
from .writes import no_return


def missing(q: Question) -> Why:
    """Why `.grad` is None."""
    facts, t = q.facts, q.t
    if not facts.floating(t):
        return _integers(q)
    changes = facts.grads.get(t, [])
    runs = q.passes()
    last_change = facts.events[changes[-1]] if changes else None
    filled = any(facts.events[k]["k"] != "grad" for k in changes)
    later = (
        q.stopped is not None and q.stopped > changes[-1] and not cures.reads_none(q, q.stopped)
        if changes
        else False
    )
    if (
        last_change
        and last_change["k"] == "grad"
        and filled
        and not later
        and not any(run.end > changes[-1] for run in runs)
    ):
        return _cleared(q, changes)
    if not facts.needs(t):
        return needs_none(q)
    if not facts.leaf(t):
        found = _computed(q, runs)
        if found is not None:
            return found
    return _leaf(q, [run for run in runs if not changes or run.end > changes[-1]])


def _cleared(q: Question, changes: list[int]) -> Why:
    facts, k = q.facts, changes[-1]
    how = facts.events[k].get("how", "")
    filled = next((i for i in reversed(changes) if facts.events[i]["k"] != "grad"), None)
    by = "zero_grad" if how == "zero_grad" else "an assignment"
    lines = facts.at(_start_of(q, filled), "this pass filled it") if filled is not None else []
    had = facts.events[filled] if filled is not None else None
    value = (
        ""
        if had is None
        else f" It was {facts.say(had['new'] if had['k'] == 'accumulate' else had['v'])} before."
    )
    return q.answer(
        "cleared",
        f"{q.name}.grad was set to None by {by} after the backward pass, in {facts.statement(k)}.{value}",
        lines=lines + facts.at(k, f"{by} clears it"),
        fix="look at .grad between backward() and the line that clears it"
        + ("; an optimizer's step() belongs there as well." if how == "zero_grad" else ".")
        + " Clear before backward() instead.",
        edits=cures.cleared_before(q, k, _start_of(q, filled)) if filled is not None else (),
        k=k,
    )


def _start_of(q: Question, k: int) -> int:
    """The event that began the pass event k belongs to."""
    p = q.facts.inside[k]
    return next((run.start for run in q.facts.passes if run.p == p), k)


# -- the tensor needs no gradient ---------------------------------------------------------------------


def needs_none(q: Question) -> Why:
    """Why the tensor does not require a gradient."""
    facts, t, name = q.facts, q.t, q.name
    if not facts.floating(t):
        return _integers(q)
    off = [(k, how) for k, on, how in facts.flags.get(t, ()) if not on]
    if off:
        k, how = off[-1]
        if how == "detach_":
            return q.answer(
                "detached-in-place",
                f"{name} does not require a gradient since detach_() was called on it.",
                lines=facts.at(k, "detach_() here"),
                fix="leave that out.",
                edits=cures.left_out(q, k),
                k=k,
            )
        return _frozen(q, k)
    found = _overwritten(q, t)
    if found is not None:
        return found
    if facts.trace.tensors[t].get("grad_of") is not None:
        return without_graph(q, t, t)
    hop = facts.cut_before(t)
    if hop is not None:
        return cut_answer(
            q, f"{name} does not require a gradient: it was computed from {facts.name(hop.a)}, but", [hop]
        )
    gradient = next(
        (a for a in facts.ancestors(t) if facts.trace.tensors[a].get("grad_of") is not None), None
    )
    if gradient is not None:
        return without_graph(q, gradient, t)
    if t in facts.maker:
        k = facts.maker[t]
        sources = [facts.name(a) for a in facts.inputs(facts.events[k]) if not facts.is_constant(a)]
        return q.answer(
            "requires-grad-never-set",
            f"{name} was computed from {listed(sources) or 'constants'}, and none of that requires a gradient.",
            lines=facts.at(k, f"{name} is made here"),
            fix="which tensor do you want the gradient of? Set requires_grad=True on it before it is used.",
            k=k,
        )
    lines = facts.assignment(t)
    used = facts.uses.get(t)
    idle = _without_effect(q)
    if idle is not None:
        return idle
    return q.answer(
        "requires-grad-never-set",
        f"{name} does not require a gradient, so operations on it are not recorded and no gradient comes back to it.",
        lines=lines + (facts.at(used[0], "used here as plain data") if used else []),
        fix=_make_it_require(q),
        edits=cures.assigned_anew(q, t, ".requires_grad_()"),
        k=used[0] if used else None,
    )


def _make_it_require(q: Question) -> str:
    """What to do about a leaf whose flag was never set."""
    name = q.name
    if not q.facts.named(q.t):
        return "make it with requires_grad=True, before it is used."
    call = f"call {name}.requires_grad_() before it is used."
    if cures.pretrained(q):
        return f"from_pretrained() freezes the weights it is given: call it with freeze=False, or {call}"
    return f"make it with requires_grad=True, or {call}" + (
        " In a module, make it an nn.Parameter." if "." in name else ""
    )


def _without_effect(q: Question) -> Why | None:
    """The program tried to set the flag, without effect; or a call returned a frozen tensor."""
    facts, name = q.facts, q.name
    for source, s in cures.idle_flags(q):
        text = source.lines[s.lineno].strip()
        return q.answer(
            "requires-grad-never-set",
            f"{name} does not require a gradient: `{text}` has no effect, {_idle_why(s)}.",
            lines=[*facts.assignment(q.t), Line(source.name, s.lineno, text, "has no effect")],
            fix=f"write `{cures.working_flag(s)}` there, before {name} is used.",
            edits=cures.flag_switched_on(source, s),
        )
    uncalled, edits = cures.uncalled(q, "requires_grad_")
    if uncalled == f"{name}.requires_grad_":
        return q.answer(
            "requires-grad-never-set",
            f"{name} does not require a gradient: `{uncalled}` without parentheses names the method and does not call it.",
            lines=facts.assignment(q.t) + [Line(e.source, e.number, uncalled, "not called") for e in edits],
            fix=f"write `{uncalled}()`.",
            edits=edits,
        )
    return None


def _idle_why(s: ast.Assign) -> str:
    attribute = ast.unparse(s.targets[0]).rpartition(".")[2]
    if attribute == "requires_grad":
        return "because it sets an attribute of the module, not of its parameters"
    return f"because the flag is not called {attribute}"


def _frozen(q: Question, k: int) -> Why:
    """Its flag was switched off at event k; an attempt to switch it on again may have had no effect."""
    facts, name = q.facts, q.name
    since = f"{name} does not require a gradient since {facts.statement(k)} switched that off"
    off = facts.at(k, "switched off here")
    for source, s in cures.idle_flags(q):
        text = source.lines[s.lineno].strip()
        right = cures.working_flag(s)
        return q.answer(
            "frozen",
            f"{since}, and `{text}` does not switch it on again, {_idle_why(s)}.",
            lines=[*off, Line(source.name, s.lineno, text, "has no effect")],
            fix=f"write `{right}` there.",
            edits=cures.flag_switched_on(source, s),
            k=k,
        )
    return q.answer(
        "frozen",
        f"{since}.",
        lines=off,
        fix=f"was {name} meant to stay as it is? If not, leave that line out, or switch the flag on again after it.",
        edits=cures.left_out(q, k),
        k=k,
    )


#: Operations that select elements by integers.
_TAKE_INDICES = {
    "nll_loss", "nll_loss2d", "nll_loss_nd", "cross_entropy", "cross_entropy_loss", "embedding", "embedding_bag", "index", "index_select",
    "gather", "scatter", "scatter_add", "take", "one_hot", "index_put", "index_add", "take_along_dim",
}  # fmt: skip


def _op_of(q: Question, k: int) -> str:
    """The operation of an event."""
    e = q.facts.events[k]
    op = q.facts.trace.nodes[e["n"]]["op"] if e.get("n") is not None else e.get("op", "")
    return str(op).strip("_")


def _integers(q: Question) -> Why:
    facts, t, name = q.facts, q.t, q.name
    kind = facts.trace.tensors[t]["dtype"]
    chooses = [k for k in facts.uses.get(t, ()) if _op_of(q, k) in _TAKE_INDICES]
    if chooses:
        return q.answer(
            "integer-tensor",
            f"{name} holds {kind} numbers, which choose classes or elements. A derivative asks what a small change does, and integers have "
            "no small changes.",
            lines=(facts.at(facts.maker.get(t), f"{name} is made here") or facts.assignment(t))
            + facts.at(chooses[0], f"{name} is used to choose here"),
            fix=f"this is right: {name} has to hold integers here. Was the gradient of something else meant?",
            k=chooses[0],
        )
    return q.answer(
        "integer-tensor",
        f"{name} holds {kind} numbers. A derivative asks what a small change does, and integers have no small changes.",
        lines=facts.at(facts.maker.get(t), f"{name} is made here") or facts.assignment(t),
        fix=f"make it floating point, with torch.tensor([1., 2.]) or {name}.float(), and have it require a gradient.",
        edits=cures.assigned_anew(q, t, ".float().requires_grad_()"),
        k=facts.maker.get(t),
    )


def without_graph(q: Question, g: int, asked: int, k: int | None = None) -> Why:
    """The tensor asked about is, or was computed from, the gradient g, which has no history; `k`: where backward refused it."""
    facts = q.facts
    of = facts.trace.tensors[g]["grad_of"]
    before = len(facts.events) if k is None else k
    run = next((r for r in reversed(facts.passes) if r.start < before and not r.failed), None)
    what = facts.name(g)
    return q.answer(
        "gradient-without-graph",
        (f"{what} is" if g == asked else f"{facts.name(asked)} was computed from {what}, which is")
        + f" the gradient with respect to {facts.name(of)}, computed without create_graph=True: plain numbers without history. "
        "It cannot be differentiated again.",
        lines=(facts.at(run.start, "this pass was not recorded") if run else [])
        + (facts.at(k, "backward is called here") if k is not None else []),
        fix="compute the first gradient with torch.autograd.grad(..., create_graph=True).",
        edits=cures.first_derivative(q, run, of) if run else (),
        k=before - 1 if k is None else k,
    )


def _overwritten(q: Question, t: int) -> Why | None:
    """The name was given to another tensor: `w = w - lr * w.grad`, `w = w.double()`."""
    facts = q.facts
    own = facts.trace.tensors[t]["name"]
    k = facts.maker.get(t)
    if k is None:
        return None
    older = [
        a
        for a in facts.ancestors(t)
        if facts.trace.tensors[a]["name"] == own != "" and facts.leaf(a) and facts.needs(a, k)
    ]
    if older:
        return _renamed(q, older[-1], t, k)
    former = _updated_from(q, t)
    return None if former is None else _renamed(q, former, t, k)


def _updated_from(q: Question, t: int) -> int | None:
    """The leaf that `self.w = self.w - lr * self.w.grad` computed t from: the line uses a `.grad`, and the leaf, directly."""
    facts = q.facts
    k = facts.maker.get(t)
    where = facts.place(k)
    if k is None or where is None or not where[0].updated(where[1]):
        return None
    src = facts.events[k].get("src")
    row = [t]
    for b in row:
        made = facts.maker.get(b)
        if made is None or facts.events[made].get("src") != src:
            continue
        for a in facts.inputs(facts.events[made]):
            if facts.leaf(a) and facts.needs(a, made) and facts.trace.tensors[a].get("grad_of") is None:
                return a
            row.append(a)
    return None


def _place_of(q: Question, t: int, k: int) -> str:
    """The program's name for where t was stored at event k: its name, or what the line reads the `.grad` of."""
    facts = q.facts
    where = facts.place(k)
    read = where[0].updated(where[1]) if where is not None else []
    own = [x for x in read if where is not None and x in where[0].targets(where[1])]
    name = facts.name(t)
    return (
        name
        if facts.named(t) and (not own or name in own or len(own) > 1)
        else own[0]
        if own
        else read[0]
        if read
        else name
    )


def _follows(q: Question, former: int, a: int, t: int) -> bool:
    """Whether a, which t was computed from, is an update of the leaf `former` and took its name from it."""
    facts = q.facts
    own = facts.trace.tensors[former]["name"]
    return (
        facts.trace.tensors[a]["name"] == facts.trace.tensors[t]["name"] == own != ""
        and (where := facts.place(facts.maker.get(a))) is not None
        and bool(where[0].updated(where[1]))
        and former in facts.ancestors(a)
    )


def _renamed(q: Question, former: int, t: int, k: int) -> Why:
    """Since event k, or since an update before it, the name of the leaf `former` means t."""
    facts = q.facts
    first = next((a for a in reversed(facts.ancestors(t)) if _follows(q, former, a, t)), t)
    if first != t:
        return _renamed(q, former, first, facts.maker[first])
    own = _place_of(q, t, k)
    lines = facts.assignment(former) + facts.at(k, f"{own} is another tensor from here on")
    in_place = cures.in_place(q, own, k)
    here = [edit for edit in in_place if (place := facts.place(k)) and edit.number == place[1]]
    text = "; ".join(line.strip() for edit in here for line in edit.text.splitlines())
    written = "write the new numbers into the old tensor, in place and under no_grad" + (
        f": `{text}`." if text else "."
    )
    if facts.needs(t):
        where = facts.place(k)
        update = where is not None and bool(where[0].updated(where[1]))
        again = (
            sum(facts.trace.tensors[t]["node"] in facts.behind(run.event["roots"]) for run in facts.passes)
            > 1
        )
        return q.answer(
            "overwritten",
            f"The name {own} was first a leaf that collects its gradient in .grad. This line computes a new tensor from it and "
            f"gives that the name {own}: a computed tensor, not a leaf, so its .grad is not filled.",
            lines=lines,
            fix=written
            if update
            else f"make {own} a leaf again on this line, or give the new tensor a name of its own."
            if again
            else f"give the new tensor a name of its own; to see the gradient of the new one, call {own}.retain_grad() on it.",
            edits=in_place
            if update
            else cures.leaf_again(q, own, k)
            if again
            else cures.keep_gradient(q, own, k),
            k=k,
        )
    hop = facts.cut_before(t)
    by = {"no-grad": " under no_grad", "detached": " with detach()", "data": " from .data"}.get(
        hop.cut if hop else "", ""
    )
    return q.answer(
        "overwritten-no-grad",
        f"The name {own} was first a leaf that requires a gradient. This line makes a new tensor{by} and gives it the name {own}: "
        "a tensor that does not require a gradient.",
        lines=lines + (facts.switched_off(k) if by == " under no_grad" else []),
        fix=written,
        edits=in_place,
        k=k,
    )


def _takes_the_name(q: Question, hop: Hop, until: int) -> int | None:
    """The tensor that took over the name of the leaf hop.a at this cut, if that is what the cut is about."""
    facts = q.facts
    own = facts.trace.tensors[hop.a]["name"]
    if not facts.leaf(hop.a):
        return None
    src = facts.events[hop.k].get("src")
    later = [
        t
        for t, k in facts.maker.items()
        if t != hop.a and hop.k <= k < until and (t == hop.b or hop.b in facts.ancestors(t))
    ]
    named = [t for t in later if facts.trace.tensors[t]["name"] == own != "" and own.isidentifier()]
    if named:
        return min(named, key=lambda t: facts.maker[t])
    here = [t for t in later if facts.events[facts.maker[t]].get("src") == src]
    last = max(here, key=lambda t: facts.maker[t], default=None)
    return last if last is not None and _updated_from(q, last) == hop.a else None


# -- a computed tensor --------------------------------------------------------------------------------


def _computed(q: Question, runs: list[Pass]) -> Why | None:
    facts, t, name = q.facts, q.t, q.name
    asked = facts.retain_asked(t)
    reached = [run for run in runs if q.reaches(run)]
    if asked is not None:
        early = [run for run in reached if run.start < asked]
        if early:
            return q.answer(
                "retain-too-late",
                f"{name}.retain_grad() was called after the backward pass. It only works for later passes.",
                lines=facts.at(early[-1].start, "the pass ran here")
                + facts.at(asked, "retain_grad only here"),
                fix=f"call {name}.retain_grad() before backward().",
                edits=cures.moved_up(q, asked, facts.maker.get(t), behind=True),
                k=asked,
            )
        return None
    found = no_longer_a_leaf(q) or _asked_before(q)
    if found is not None:
        return found
    k = facts.maker.get(t)
    made = facts.at(k, f"{name} is computed here") if k is not None else []
    saw = "The gradient passed through it, but was not kept. " if any(not r.failed for r in reached) else ""
    return q.answer(
        "not-leaf",
        f"{name} is not a leaf: it was computed. {saw}Only leaves keep their gradient in .grad, to save memory.",
        lines=made,
        fix=(f"call {name}.retain_grad()" if facts.named(t) else "call retain_grad() on it")
        + " before backward().",
        edits=cures.keep_gradient(q, name, k)
        if facts.named(t) and (q.stopped is None or cures.reads_none(q, q.stopped))
        else (),  # the program would stop in any case
        k=k,
    )


def _asked_before(q: Question) -> Why | None:
    """retain_grad was called on the tensor that had the name before."""
    facts, t, name = q.facts, q.t, q.name
    own, k = facts.trace.tensors[t]["name"], facts.maker.get(t)
    former = [
        a
        for a in range(t)
        if facts.trace.tensors[a]["name"] == own != "" and facts.retain_asked(a) is not None
    ]
    if not former or k is None:
        return None
    asked = facts.retain_asked(former[-1])
    return q.answer(
        "overwritten",
        f"{name}.retain_grad() was called on the tensor that was called {name} before. This line gives the name {name} to a new tensor, "
        "which was not asked to keep its gradient.",
        lines=facts.at(asked, "retain_grad is called here")
        + facts.at(k, f"{name} is another tensor from here on"),
        fix=f"call {name}.retain_grad() after this line, or give the new tensor a name of its own.",
        edits=cures.keep_gradient(q, name, k),
        k=k,
    )


def no_longer_a_leaf(q: Question) -> Why | None:
    """A computed tensor that the learner mistakes for a leaf: it has the name of one, or was computed from one on the line that made it."""
    facts, t, name = q.facts, q.t, q.name
    found = _overwritten(q, t)
    if found is not None:
        return found
    if facts.named(t) and has_nameless_leaf(q, t):
        k = facts.maker[t]
        return q.answer(
            "leaf-without-name",
            f"{name} is computed from a leaf that requires a gradient, in the same line: the leaf has no name, and {name} is not a leaf. "
            "The gradient is collected in the leaf.",
            lines=facts.at(k, f"{name} is the result, not the leaf"),
            fix=flag_last(q, t, name),
            edits=cures.flag_last(q, k),
            k=k,
        )
    return None


def has_nameless_leaf(q: Question, t: int) -> bool:
    """Whether the line that made t also made the leaf it was computed from: `W = nn.Parameter(...) * 0.1`."""
    facts = q.facts
    k = facts.maker.get(t)
    leaves = [] if k is None else [a for a in facts.inputs(facts.events[k]) if facts.leaf(a)]
    return (
        any(facts.needs(a) and not facts.trace.tensors[a]["name"] for a in leaves)
        and re.search(r"requires_grad|Parameter\(", facts.text(k)) is not None
    )


def flag_last(q: Question, t: int, name: str) -> str:
    """What to do about a leaf without a name, from which `name` was computed."""
    if "Parameter(" in q.facts.text(q.facts.maker[t]):
        return f"compute the numbers first and make the parameter last: {name} = nn.Parameter(...)."
    return f"make the numbers first and set the flag last: {name} = (...).requires_grad_()."


# -- a leaf, or a tensor with retain_grad() -----------------------------------------------------------


def _leaf(q: Question, runs: list[Pass]) -> Why:
    facts, t, name = q.facts, q.t, q.name
    reached = [run for run in runs if q.reaches(run)]
    for run in reversed(reached):
        if run.fills and not run.failed:
            found = _left_out(q, run) or _lost(q, run)
            if found is not None:
                return found
    only = [run for run in reached if not run.fills]
    end = facts.root_of(runs[-1]) if runs else None
    later = end is not None and runs[-1].fills and facts.way(t, end, runs[-1].start) is not None
    if only and not later:
        run = only[-1]
        return q.answer(
            "autograd-grad",
            "torch.autograd.grad returns the gradients as its result and leaves every .grad as it is.",
            lines=facts.at(run.start, "grad is called here"),
            fix=f"use what it returns, or call backward() to fill {name}.grad.",
            edits=cures.backward_instead(q, run.start),
            k=run.start,
        )
    late = _too_late(q)
    if late is not None:
        return late
    if end is not None:
        return between(q, end, runs[-1].start, runs[-1])
    if q.loss is not None:
        way = facts.way(t, q.loss)
        if way is None or any(hop.cut for hop in way):
            return between(q, q.loss, len(facts.events), None)
    if q.stopped is not None:
        return _stopped(q, q.stopped)
    used = facts.uses.get(t, [])
    uncalled, edits = cures.uncalled(q, "backward")
    if uncalled:
        return q.answer(
            "backward-never-called",
            f"{name} is a leaf that requires a gradient, and nobody called backward() in this recording: `{uncalled}` without parentheses names "
            "the method and does not call it.",
            lines=[Line(e.source, e.number, uncalled, "not called") for e in edits],
            fix=f"write `{uncalled}()`.",
            edits=edits,
            k=used[-1] if used else None,
        )
    return q.answer(
        "backward-never-called",
        f"{name} is a leaf that requires a gradient, and nobody called backward() in this recording"
        + (f" on {facts.name(q.loss)}." if q.loss is not None else ".")
        + " The forward pass only builds the graph; gradients come with the backward pass.",
        lines=facts.at(used[-1], "used last here") if used else [],
        fix="call backward() on the loss"
        + (f": {facts.name(q.loss)}.backward()." if q.loss is not None else "."),
        edits=cures.backward_called(q),
        k=used[-1] if used else None,
    )


def _an(name: str) -> str:
    return f"{'an' if name[:1] in 'AEIO' else 'a'} {name}"


def _stopped(q: Question, k: int) -> Why:
    """The program stopped with an error before any pass, and nothing else is wrong with the tensor."""
    facts, e = q.facts, q.facts.events[k]
    text = e["message"]
    lines = facts.at(k, "stopped here")
    if "an't call numpy() on Tensor that requires grad" in text:
        return q.answer(
            "numpy-refused",
            "The program stopped before backward() was called: numpy() refuses a tensor that requires a gradient, because NumPy would compute "
            "with it unrecorded.",
            lines=lines,
            fix="for a plot or a print, take the numbers without their history: .detach().numpy().",
            edits=cures.detached_for_numpy(q, k),
            k=k,
        )
    if cures.reads_none(q, k):
        return q.answer(
            "backward-never-called",
            f"{q.name} is a leaf that requires a gradient, and nobody called backward() in this recording before this line used its .grad.",
            lines=facts.at(k, ".grad is still None here"),
            fix="call backward() on the loss before its gradients are used.",
            edits=cures.backward_called(q, k),
            k=k,
        )
    return refused(q, k) or q.answer(
        "failed",
        f"The program stopped with {_an(e['type'])} before backward() was called, so there is no gradient yet: {text}",
        lines=lines,
        fix="mend that line first; the error is not about gradients.",
        k=k,
    )


def _left_out(q: Question, run: Pass) -> Why | None:
    wanted = run.event.get("inputs")
    if not wanted or q.t in wanted:
        return None
    names = listed([q.facts.name(t) for t in wanted])
    return q.answer(
        "inputs-left-out",
        f"backward was called with inputs=[{names}]: only these get a gradient, and {q.name} is not one of them.",
        lines=q.facts.at(run.start, "inputs= stands here"),
        fix=f"add {q.name} to inputs, or leave inputs out.",
        edits=cures.added_to_inputs(q, run.start),
        k=run.start,
    )


def _lost(q: Question, run: Pass) -> Why | None:
    """A node on the path got a gradient and sent None."""
    facts = q.facts
    goal = facts.node_of(q.t)
    for k, e in facts.during(run, "vjp"):
        node = facts.trace.nodes[e["n"]]
        if all(v is None for v in e["in"]):
            continue
        for i, v in enumerate(e["out"]):
            edge = node["edges"][i] if i < len(node["edges"]) else None
            if v is None and edge is not None and edge[0] in facts.leading_to(goal):
                forgotten = no_return(q, e["n"], k)
                if forgotten is not None:
                    return forgotten
                met = i < len(node["inputs"])
                to = facts.name(node["inputs"][i]) if met else operand_name(facts.trace, e["n"], i)
                return q.answer(
                    "function-none",
                    f"The backward of {facts.words.nodes[e['n']]} returned None for {to}: that says "
                    '"no gradient here", so nothing was sent on.',
                    lines=facts.made(e["n"], "applied here"),
                    fix="return a gradient for every input that requires a gradient, in the order of forward's arguments.",
                    k=k,
                )
    return None


def _too_late(q: Question) -> Why | None:
    facts, t, name = q.facts, q.t, q.name
    switched = next((k for k, on, how in facts.flags.get(t, ()) if on and how == "requires_grad_"), None)
    before = [k for k in facts.uses.get(t, ()) if switched is not None and k < switched]
    if switched is None or not before or any(k > switched for k in facts.uses.get(t, ())):
        return None
    return q.answer(
        "requires-grad-too-late",
        f"{name} was used before it required grad. Whether an operation is recorded is decided when it runs; the flag has no "
        "effect on what ran before.",
        lines=facts.at(before[0], f"{name} is used here, unrecorded")
        + facts.at(switched, "the flag is set only here"),
        fix="set requires_grad before the computation.",
        edits=cures.moved_up(q, switched, before[0]),
        k=before[0],
    )


# -- the path from the tensor to the loss -------------------------------------------------------------

#: Operations that draw at random with their operands as probabilities or parameters.
DRAWS = {"normal", "bernoulli", "poisson", "multinomial", "binomial", "standard_gamma", "sample_dirichlet"}
SAMPLED_FIX = (
    "draw something that does not depend on the parameters and compute with it (mean + std * torch.randn_like(std), which is rsample() of "
    "a distribution), or let the loss use log_prob of what was drawn."
)

_CUT = {
    "detached": "detach() handed on the numbers of {a} without their history",
    "detached-in-place": "detach_() made {b} forget how it was computed",
    "data": ".data handed on the numbers of {a} without their history",
    "no-grad": "{b} was computed from {a} under no_grad, so nothing was recorded",
    "inference-mode": "{b} was computed from {a} in inference mode, so nothing was recorded",
    "copied": "{copier} copied the numbers of {a} into new data, without their history",
    "item": "the number in {a} was taken out of the graph and came back as a plain number",
    "numpy": "the numbers of {a} went through NumPy, which records nothing",
    "grad-left-off": "{off} had switched recording off, and nothing had switched it on again when {b} was computed",
    "reentrant-checkpoint": "{off} ran its function without recording, because none of the inputs of the checkpoint requires a gradient",
    "inference-tensor": "{a} was made in inference mode, so {op} of it was not recorded",
    "parameter-copy": "{line} made a new leaf of the numbers of {a}, without their history",
    "deep-copy": "{line} made a copy of {a} that is a leaf of its own",
    "no-derivative": "{op} has no derivative: it gives {kind}, and a small change of {a} does not change them smoothly",
    "sampled": "{op} draws at random: what it gives does not depend smoothly on {a}, which only says how likely each draw is",
}


def _as_written(q: Question, hop: Hop) -> Hop:
    """The cut in terms of the student's call: a draw, or a copy, whatever its implementation does."""
    if _drawn(q, hop):
        return replace(hop, cut="sampled")
    copies = hop.cut == "detached" and in_a_library(q, hop)
    if copies and re.search(r"\b(new_tensor|asarray|\w*Tensor)\(", q.facts.text(hop.k)):
        return replace(hop, cut="copied")
    return hop


def _drawn(q: Question, hop: Hop) -> bool:
    """Whether the cut is that of a random draw: an operation that draws, or sample() of a distribution."""
    facts, e = q.facts, q.facts.events[hop.k]
    op = (facts.trace.nodes[e["n"]]["op"] if e.get("n") is not None else e.get("op", "")).strip("_")
    by_draw = hop.cut == "no-derivative" and op in DRAWS
    by_library = hop.cut in ("no-derivative", "no-grad", "grad-left-off", "detached") and not re.search(
        r"\bno_grad\b", facts.text(hop.k)
    )
    return by_draw or (by_library and re.search(r"\.sample\(", facts.text(hop.k)) is not None)


def _by_condition(q: Question, hop: Hop) -> bool:
    """Whether recording is off in a block `with set_grad_enabled(...):`, which may be on or off."""
    return re.match(r"\s*with\b.*\bset_grad_enabled\(", q.facts.text(q.facts.off_at(hop.k))) is not None


def cut_words(q: Question, hop: Hop) -> str:
    """What happened at a cut, as a clause."""
    facts, e = q.facts, q.facts.events[hop.k]
    op = (facts.trace.nodes[e["n"]]["op"] if e.get("n") is not None else e.get("op", "")).strip("_")
    dtype = facts.trace.tensors[hop.b]["dtype"]
    kind = (
        "numbers that jump"
        if facts.floating(hop.b)
        else f"{dtype} numbers"
        if dtype != "bool"
        else "yes or no"
    )
    line = facts.text(hop.k)
    if op in ("to", "to_copy"):
        converts = re.search(r"\.(long|int|short|bool|byte|char|to|type|double|float|half)\(", line)
        op = "the conversion" if converts else facts.statement(hop.k)
    off = (
        facts.quoted(e.get("checkpoint"))
        if hop.cut == "reentrant-checkpoint"
        else facts.statement(facts.off_at(hop.k))
    )
    if hop.cut == "sampled" and op not in DRAWS:
        op = "sample()"
    form = _CUT[hop.cut]
    if hop.cut == "no-grad" and _by_condition(q, hop):
        form = "{b} was computed from {a} while {off} had switched recording off"
    return form.format(
        a=facts.name(hop.a),
        b=facts.name(hop.b),
        op=op,
        kind=kind,
        off=off,
        line=facts.statement(hop.k),
        copier="torch.tensor(...)" if re.search(r"\btensor\(", line) else facts.statement(hop.k),
    )


_MEND = {
    "detached": "leave the detach() out where the gradient should pass; keep it only for what is logged or stored.",
    "detached-in-place": "leave the detach_() out.",
    "data": "use the tensor itself instead of .data.",
    "no-grad": "move the line out of the no_grad block.",
    "inference-mode": "move the line out of the inference_mode block.",
    "copied": "build it with torch.stack([...]) or torch.cat([...]), which are recorded.",
    "item": "compute with the tensor itself; call .item() only to print or log.",
    "numpy": "use the same function of torch instead of NumPy's.",
    "no-derivative": "was a gradient meant to pass here? Then use something smooth: softmax for argmax, sigmoid for a comparison, or a "
    "loss that takes the scores.",
    "grad-left-off": "write `with torch.no_grad():` around the lines that need no graph; it ends by itself, after an error, too. A generator "
    "has to `yield` outside of that block.",
    "reentrant-checkpoint": "use checkpoint(..., use_reentrant=False).",
    "inference-tensor": "make it outside of torch.inference_mode(), or use torch.no_grad() there.",
    "parameter-copy": "compute with the tensor itself instead of making an nn.Parameter of it.",
    "deep-copy": "compute with the original, or look at the .grad of the copy.",
    "sampled": SAMPLED_FIX,
}


def _copies(text: str) -> bool:
    """Whether a line passes tensors to `torch.Tensor([...])` or a similar function, which copies their numbers."""
    return re.search(r"\b(\w*Tensor|tensor|as_tensor)\(", text) is not None and not re.search(
        r"\.item\(|\.tolist\(|\b(float|int)\(", text
    )


def _left_by(q: Question, k: int) -> str:
    """How numbers left the graph at event k, in terms of the student's call."""
    text, how = q.facts.text(k), q.facts.events[k].get("how", "item")
    if f".{how}(" in text:
        return f"by .{how}()"
    called = re.search(r"\b(float|int|math\.\w+|round|range|np\.\w+)\(", text)
    if called is not None:
        return f"by {called[1]}()"
    return "as a NumPy array" if how == "numpy" else "as Python numbers"


def _item_fix(q: Question, reads: list[int]) -> str:
    """What to do about a number that left the graph."""
    function = cures.number_wanted(q, reads)
    if any(re.search(r"\b(int|range|round)\(", q.facts.text(k)) for k in reads):
        return (
            "a whole or rounded number, such as an index or a count, has no derivative: a small change does not change it. Is there a smooth "
            "way, such as weights from a softmax instead of an index?"
        )
    if not function:
        by_math = next((m for k in reads if (m := re.search(r"\bmath\.(\w+)\(", q.facts.text(k)))), None)
        if by_math is not None and by_math[1] in cures.IN_TORCH:
            return f"use torch.{by_math[1]} instead of math.{by_math[1]}: it takes the tensor itself, and is recorded."
        return _MEND["item"]
    filled = function in ("torch.full", "torch.full_like")
    such = f", here {q.name} * torch.ones(...)" if filled and q.facts.named(q.t) else ""
    return (
        f"{function} takes a plain number there, so no gradient can pass through it. Write what it does with operations on the "
        f"tensor itself{such}."
    )


_HERE = {
    "detached": "detached here",
    "detached-in-place": "detached in place here",
    "data": ".data is taken here",
    "no-grad": "computed under no_grad here",
    "inference-mode": "computed in inference mode here",
    "copied": "copied here",
    "item": "becomes a Python number here",
    "numpy": "becomes a NumPy array here",
    "grad-left-off": "computed without recording here",
    "reentrant-checkpoint": "computed without recording here",
    "inference-tensor": "not recorded here",
    "parameter-copy": "becomes a new leaf here",
    "deep-copy": "copied here",
    "no-derivative": "no derivative here",
    "sampled": "drawn here",
}


def cut_answer(
    q: Question, begin: str, cuts: list[Hop], here: list[Line] | None = None, until: int | None = None
) -> Why:
    """The answer that names the first of some cuts; `begin` says what it leads to."""
    cuts = [_as_written(q, hop) for hop in cuts]
    hop = cuts[0]
    until = len(q.facts.events) if until is None else until
    library = next((cut for cut in cuts if in_a_library(q, cut)), None)
    if library is not None:
        return _copied_by_a_call(q, begin, library, here or [])
    t = _takes_the_name(q, hop, until)
    if t is not None:
        return _renamed(q, hop.a, t, q.facts.maker[t])
    edits = cures.mended(q, cuts)
    fix = _item_fix(q, [hop.k]) if hop.cut == "item" else _MEND[hop.cut]
    if hop.cut == "no-grad" and _by_condition(q, hop):
        fix = "was recording meant to be off here? If not, look at what set_grad_enabled was given, or move the line out of its block."
    if hop.cut == "detached" and any(".detach()" in edit.text for edit in edits):
        fix = "detach only what is to count as a constant, and let the gradient pass through the rest."
    return q.answer(
        hop.cut,
        f"{begin} {cut_words(q, hop)}.",
        f"The way is cut {len(cuts)} times; each has to be mended." if len(cuts) > 1 else "",
        lines=[line for hop in cuts for line in cut_lines(q, hop)] + (here or []),
        fix=fix,
        edits=edits,
        k=hop.k,
    )


def in_a_library(q: Question, hop: Hop) -> bool:
    """Whether library code behind a call such as load_state_dict() cut the path here, not the student's code."""
    facts = q.facts
    if hop.cut == "detached":
        return bool(facts.text(hop.k)) and "detach" not in facts.text(hop.k)
    if hop.cut in ("deep-copy", "parameter-copy"):
        word = "deepcopy" if hop.cut == "deep-copy" else "Parameter"
        return bool(facts.text(hop.k)) and word not in facts.text(hop.k)
    if hop.cut == "data":
        return bool(facts.text(hop.k)) and ".data" not in facts.text(hop.k)
    if hop.cut in ("no-grad", "inference-mode", "grad-left-off"):
        off, here = facts.place(facts.off_at(hop.k)), facts.place(hop.k)
        spoken_of = any(_MODES.search(line) for source in facts.code for line in source.lines.values())
        return not spoken_of or (off == here and _COPIES.search(facts.text(hop.k)) is not None)
    return False


_MODES = re.compile(r"no_grad|inference_mode|grad_enabled|grad_mode")
_COPIES = re.compile(
    r"load_state_dict\(|\binit\.|nn\.utils\.|vector_to_parameters\(|update_parameters\(|\.step\("
)


def _source_of(q: Question, hop: Hop) -> str:
    """The source of the copied numbers: its name, or what it was computed from."""
    facts = q.facts
    if facts.named(hop.a) or q.t not in facts.ancestors(hop.a):
        return facts.name(hop.a)
    return f"what was computed from {q.name}"


def _copied_by_a_call(q: Question, begin: str, hop: Hop, here: list[Line]) -> Why:
    facts = q.facts
    run = next((r for r in facts.passes if r.start <= hop.k <= r.end), None)
    function = next(
        (n for n in sorted(facts.behind(run.event["roots"])) if facts.trace.nodes[n]["kind"] == "function"), None
    ) if run is not None and run.event.get("create_graph") else None  # fmt: skip
    if function is not None:
        label = facts.words.nodes[function]
        return q.answer(
            "once-differentiable",
            f"The pass was recorded with create_graph=True, but not the backward of {label}: it switches recording off "
            "(once_differentiable), so what it computed cannot be differentiated again.",
            lines=facts.made(function, "applied here") + facts.at(hop.k, "not recorded here") + here,
            fix="leave @once_differentiable out; compute in backward with operations that have a derivative.",
            k=hop.k,
        )
    return q.answer(
        "numbers-copied",
        f"{begin} {facts.statement(hop.k)} copied the numbers of {_source_of(q, hop)}, without their history.",
        lines=facts.at(hop.k, "copied here") + here,
        fix=("compute with it" if "computed from" in (what := _source_of(q, hop)) else f"compute with {what}")
        + " itself"
        + (", or look at the .grad of what the numbers were copied into." if facts.leaf(hop.a) else "."),
        k=hop.k,
    )


def cut_lines(q: Question, hop: Hop) -> list[Line]:
    """The line of a cut, and the one that switched recording off or where the number came back."""
    off = hop.cut == "no-grad" and _by_condition(q, hop)
    lines = q.facts.at(hop.k, _HERE["grad-left-off" if off else hop.cut])
    if hop.cut == "reentrant-checkpoint":
        lines = (
            q.facts.line(
                q.facts.events[hop.k]["checkpoint"], "no input of the checkpoint requires a gradient"
            )
            + lines
        )
    if hop.cut in ("no-grad", "inference-mode", "grad-left-off"):
        lines = q.facts.switched_off(hop.k) + lines
    if hop.also is not None:
        lines += q.facts.at(hop.also, "comes back here as plain data")
    return lines


def _choice(q: Question, end: int, until: int) -> Hop | None:
    """Where integers or booleans were computed from the tensor and then selected an element, or a branch, on the path to `end`."""
    facts = q.facts
    parts = {b for a in (end, *facts.ancestors(end)) for b in facts.memory(a)}
    made = [facts.place(k) for a in sorted(parts) for k in (facts.maker.get(a), *facts.writes.get(a, ()))]
    for hop in facts.hops(q.t, until).values():
        where = facts.place(hop.k)
        if hop.cut != "no-derivative" or facts.floating(hop.b) or where is None:
            continue
        source, n = where
        names = set(source.targets(n))
        lines = [m for other, m in filter(None, made) if other is source]
        if any(m == n or names & set(source.read_on(m)) or source.decides(n, names, m) for m in lines):
            return hop
    return None


def between(q: Question, end: int, until: int, run: Pass | None) -> Why:
    """Why no gradient flows from tensor `end` to the tensor asked about: where the path was cut."""
    facts, t, name = q.facts, q.t, q.name
    target = facts.name(end)
    here = facts.at(run.start, "the pass starts here") if run else []
    hops = facts.way(t, end, until)
    cuts = [hop for hop in hops or () if hop.cut]
    if cuts:
        return cut_answer(
            q, f"{target} was computed from {name}, but no gradient can come back:", cuts, here, until
        )
    late = _too_late(q)
    if late is not None:
        return late
    reads = (
        [
            k
            for k, e in enumerate(facts.events[:until])
            if e["k"] == "read" and (e["t"] == t or e["t"] in facts.hops(t, k))
        ]
        if hops is None
        else []
    )
    if reads:
        cause = "numpy" if facts.events[reads[-1]].get("how") == "numpy" else "item"
        if cause == "item" and _copies(facts.text(reads[-1])):
            return q.answer(
                "copied",
                f"The graph behind {target} does not contain {name}: {facts.statement(reads[-1])} copied only its numbers, without their "
                "history.",
                lines=[line for k in reads for line in facts.at(k, _HERE["copied"])] + here,
                fix=_MEND["copied"],
                edits=cures.kept_as_tensor(q, reads),
                k=reads[-1],
            )
        return q.answer(
            cause,
            f"The graph behind {target} does not contain {name}. Its numbers left the graph {_left_by(q, reads[-1])}; what Python or "
            "NumPy computes with them is not recorded.",
            lines=[line for k in reads for line in facts.at(k, _HERE[cause])] + here,
            fix=_item_fix(q, reads) if cause == "item" else _MEND[cause],
            edits=(cures.kept_as_tensor(q, reads) or cures.computed_by_torch(q, reads))
            if cause == "item"
            else (),
            k=reads[-1],
        )
    used = facts.used(t, until)
    k = facts.born(t)
    if run is not None and k is not None and k > until:
        return q.answer(
            "new-leaf",
            f"{name} was made after the pass. The gradient went to the tensor that had been there before.",
            lines=here + facts.at(k, f"{name} is another tensor from here on"),
            fix=f"was {name} meant to be made anew? If it was to be updated, write into it in place.",
            k=k,
        )
    former = [
        a
        for a in range(t)
        if facts.trace.tensors[a]["name"] == facts.trace.tensors[t]["name"] != "" and facts.leaf(a)
    ]
    if (
        run is not None
        and not used
        and any(facts.node_of(a) in facts.behind(run.event["roots"]) for a in former)
    ):
        return q.answer(
            "new-leaf",
            f"{name} was made after the pass. The gradient went to the tensor that had this name before.",
            lines=here,
            fix=f"was {name} meant to be made anew? If it was to be updated, write into it in place.",
            k=run.start,
        )
    if not used:
        return q.answer(
            "unused",
            f"{name} was not used in any operation before the pass, so {target} does not depend on it. The gradient of an unused "
            "tensor is None, not zero.",
            lines=facts.assignment(t) + here,
            fix=f"was {name} meant to be used? Then use it where {target} is computed.",
            k=run.start if run else None,
        )
    choice = _choice(q, end, until)
    if choice is not None:
        return q.answer(
            "no-derivative",
            f"{target} depends on {name} only by a choice, and no gradient can come back: {cut_words(q, choice)}.",
            lines=facts.at(choice.k, _HERE["no-derivative"]) + here,
            fix=_MEND["no-derivative"],
            k=choice.k,
        )
    return q.answer(
        "not-connected",
        f"{name} was used, but {target} was not computed from that result: the two are in different graphs.",
        lines=facts.at(used[-1], f"{name} is used last here")
        + facts.at(facts.maker.get(end), f"{target} is made here")
        + here,
        fix=f"was {target} meant to depend on {name}? Then build it from the result that does.",
        k=used[-1],
    )
