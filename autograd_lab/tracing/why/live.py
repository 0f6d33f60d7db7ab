"""Without a recording: what tensors and their graph reveal by themselves. Reads public attributes only, so it works on tensors of
real PyTorch as well.
"""

from __future__ import annotations

import warnings
from typing import Any

from ..rules import describe
from .answer import Why, sentence
from .facts import Facts

_NONE = "Why is this gradient None?"
_RECORD = "To see the lines, run the computation again inside `with lab.record():` and ask once more."


def absent(recording: Any, x: Any, name: str) -> Why | None:
    """The answer about a leaf that the last recording never met although passes ran in it; None for any other tensor."""
    if (
        recording.running
        or not x.requires_grad
        or not x.is_leaf
        or _grad(x) is not None
        or recording.knows(x)
    ):
        return None
    facts = Facts(recording)
    runs = [run for run in facts.passes if run.fills and not run.failed]
    if not runs:
        return None
    if any(record["name"] == name != "" and record["requires_grad"] for record in facts.trace.tensors):
        return Why(
            "new-leaf",
            f"Why is {name}.grad None?",
            (f"{name} was made after the pass. The gradient went to the tensor that had this name before.",),
            tuple(facts.at(runs[-1].start, "this pass filled the one before")),
            f"was {name} meant to be made anew? If it was to be updated, write into it in place.",
            runs[-1].start + 1,
        )
    made = _made_anew(facts, x, name)
    if made is not None:
        return Why(
            "new-leaf",
            f"Why is {name}.grad None?",
            (f"{name} was made anew by {facts.statement(made)}, and nothing was computed from it since.",),
            tuple(facts.at(made, "made anew here") + facts.at(runs[-1].start, "the pass")),
            f"was {name} meant to be made anew? If it was to be updated, write into it in place, under torch.no_grad(); if not, make it before "
            "it is used.",
            made + 1,
        )
    called = name or "the tensor"
    return Why(
        "unused",
        f"Why is {called}.grad None?" if name else _NONE,
        (f"{called} does not occur in the last recording at all: nothing there was computed from it.",),
        tuple(facts.at(runs[-1].start, "this pass did not find it")),
        f"if {called} was used outside of that recording, run it again inside `with lab.record():` and ask once more; if not, use it, "
        "and check that the layer it belongs to is called.",
        runs[-1].start + 1,
    )


def _made_anew(facts: Facts, x: Any, name: str) -> int | None:
    """The event at which the program made a new parameter and gave it this name, after the name had been used."""
    last = name.rpartition(".")[2]
    for k, e in enumerate(facts.events):
        where = facts.place(k)
        if (
            where is not None
            and e["k"] == "detach"
            and e.get("how") == "Parameter"
            and not facts.uses.get(e["t"])
            and facts.trace.tensors[e["t"]]["shape"] == list(x.shape)
            and last in [target.rpartition(".")[2] for target in where[0].targets(where[1])]
        ):
            return k
    return None


def outside(recording: Any, x: Any, name: str) -> Why | None:
    """The answer about a tensor that the last recording met and whose `.grad` has changed since; None for any other tensor."""
    grad = _grad(x) if recording.knows(x) else None
    if recording.running or grad is None:
        return None
    facts = Facts(recording)
    t = recording.number_of(x)
    if name:
        facts.rename(t, name)
    called = facts.name(t)
    before, left = facts.trace.tensors[t].get("grad"), facts.grad_now(t)
    now = describe(recording.grad_of(x))
    where = facts.at(facts.uses[t][-1], f"{called} is used last here") if facts.uses.get(t) else []
    if not facts.grads.get(t) and before is not None and facts.trace.values[before] == recording.grad_of(x):
        said = f"{called}.grad was already {now} when the recorded block met {called}: the pass that filled it ran before the recorded block."
    elif left is None and before is None:
        said = f"{called}.grad is {now}, and nothing in the recording filled it: the pass ran after the recorded block, or it was set there."
    else:
        said = (
            f"{called}.grad is {now}, but the recording left it at {facts.say(left if left is not None else before)}: what changed it "
            "ran after the recorded block."
        )
    return Why(
        "outside-recording",
        f"Why is {called}.grad {now}?",
        (sentence(said),),
        tuple(where),
        "put backward() into the block, too: its steps and its lines are known then.",
    )


def live_why(x: Any, loss: Any = None, name: str = "") -> Why:
    """Why `x.grad` is what it is, from the tensors alone: a cause, but no lines."""
    called = name or "the tensor"
    grad = _grad(x)
    if grad is not None:
        state = _state(grad)
        return _answer(
            "unknown",
            f"Why is {name or 'this'}{'.' if name else ' '}grad {state}?",
            f"A pass ran and left {state} here. The tensors alone do not tell at which node that began.",
            "" if state != "what it is" else "It holds the sum of all passes since it was last cleared.",
        )
    question = f"Why is {name}.grad None?" if name else _NONE
    if not x.dtype.is_floating_point:
        return _answer(
            "integer-tensor", question, f"{called} holds {x.dtype} numbers; integers have no gradient.",
            fix="make it floating point before asking for a gradient.",
        )  # fmt: skip
    if x.is_inference():
        return _answer(
            "inference-mode", question, f"{called} was made in inference mode; nothing computed there has a history.",
            fix="compute it outside of inference_mode, or clone it outside first.",
        )  # fmt: skip
    if not x.requires_grad:
        return _answer(
            "needs-no-grad",
            question,
            f"{called} does not require a gradient: the flag was never set, or the tensor came out of detach(), no_grad or an update like "
            "w = w - ... under no_grad.",
            fix="set requires_grad=True on the leaf before it is used, and do not give its name to something else.",
        )
    if not x.is_leaf and not x.retains_grad:
        return _answer(
            "not-leaf",
            question,
            f"{called} is not a leaf: {x.grad_fn.name()} computed it, and computed tensors keep no gradient unless asked. If it once "
            "was a leaf, its name was given to the result of a computation.",
            fix="call retain_grad() before backward(), or look at the .grad of the leaf.",
        )
    if loss is None:
        return _answer(
            "unknown",
            question,
            f"{called} is a leaf that requires a gradient. So either backward() was not called, or on a loss that was not computed from it, "
            "or .grad was cleared since.",
            fix="ask lab.why(x, loss) to follow the way from the loss.",
        )
    if not loss.requires_grad:
        return _answer(
            "loss-needs-no-grad",
            question,
            "The loss does not require a gradient: somewhere on the way it was detached, computed under no_grad, made of integers or "
            "rebuilt from plain numbers.",
            fix="follow requires_grad from the tensor to the loss, line by line.",
        )
    return _follow(x, loss, question, called)


def _follow(x: Any, loss: Any, question: str, called: str) -> Why:
    """Look for x in the graph behind the loss."""
    seen = {loss.grad_fn}
    stack = [loss.grad_fn] if loss.grad_fn is not None else []
    found, freed = x is loss, False
    while stack:
        node = stack.pop()
        freed = freed or _freed(node)
        found = found or getattr(node, "variable", None) is x or node is x.grad_fn
        for fn, _ in node.next_functions:
            if fn is not None and fn not in seen:
                seen.add(fn)
                stack.append(fn)
    if not found:
        return _answer(
            "not-connected",
            question,
            f"The graph behind the loss ({len(seen)} nodes) does not contain {called}: it was not used, or the way was cut.",
            fix="look for detach(), no_grad, .item(), argmax or torch.tensor([...]) between the two.",
        )
    if freed:
        return _answer(
            "cleared",
            question,
            "A pass already went through the graph (its saved values are freed), so .grad was cleared since; or the pass was "
            "autograd.grad, or backward(inputs=...), which do not fill it.",
            fix="look at .grad between backward() and zero_grad().",
        )
    return _answer(
        "backward-never-called",
        question,
        f"{called} is connected to the loss and nothing on the way was used up: no pass ran yet.",
        fix="call loss.backward().",
    )


def _answer(cause: str, question: str, *sentences: str, fix: str = "") -> Why:
    return Why(
        cause,
        question,
        tuple(sentence(s) for s in sentences if s),
        (),
        fix,
        hint=_RECORD,
    )


def _grad(x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # reading .grad of a non-leaf is intended here
        return x.grad


def _state(grad: Any) -> str:
    if bool((grad != grad).any()):
        return "nan"
    return "zero" if not bool((grad != 0).any()) else "what it is"


def _freed(node: Any) -> bool:
    """Whether the node's saved values are gone."""
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                getattr(node, name)
            except RuntimeError:
                return True
    return False
