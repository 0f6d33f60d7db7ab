"""What autograd's own error messages mean: a table of them, and the answer to a program that stopped with one."""

from __future__ import annotations

import re
from typing import NamedTuple

from .answer import Why
from .question import Question


class Refusal(NamedTuple):
    """One message, as a pattern, and its explanation for a learner; {1}, {2}: groups of the pattern; {line}: the line that stopped."""

    pattern: str
    cause: str
    says: str
    fix: str


_HOOK_FIX = "return a tensor of the shape and type of the gradient that the hook was given, or None to leave it as it is."
_FUNCTION_FIX = "return a tensor for every input of forward that is a tensor, in its shape, and None for every other argument."
_VIEW = "writes in place into a view that was made {}: autograd cannot tell whether the graph should know of that write, so it refuses it."

REFUSALS = (
    Refusal(
        r"Output \d+ of (\w+) is a view and (?:is being|its base or another view of its base has been) modified inplace\. This view is "
        r"the output of a function that returns multiple views",
        "inplace-view",
        "{line} writes in place into one of several views that one call gave ({1}): each gets its gradient from that one node, which a "
        "write into one of them would leave out of date, so autograd refuses it.",
        "compute a new tensor instead of writing in place (name = name * 3, not name *= 3), or write into a copy, made with clone().",
    ),
    Refusal(
        r"view was created (?:in|inside|under) (no_grad|inference) mode",
        "inplace-view",
        "{line} " + _VIEW.format("in {1} mode"),
        "take the view outside of that block, or write inside of it, too.",
    ),
    Refusal(
        r"is a view and (?:is being|its base or another view of its base has been) modified inplace",
        "inplace-view",
        "{line} " + _VIEW.format("by a custom Function or under no_grad"),
        "write into a copy: clone().",
    ),
    Refusal(
        r"hook '.*' has changed the (size|type|device) of value",
        "hook-refused",
        "A hook returned a gradient of another {1} than the one it was given, and the pass stopped.",
        _HOOK_FIX,
    ),
    Refusal(
        r"expected (?:Variable|Tensor), but hook returned '(.*)'",
        "hook-refused",
        "A hook returned something of the type {1}, which is not a gradient, and the pass stopped.",
        _HOOK_FIX,
    ),
    Refusal(
        r"hooks? '?.*'?\s?has returned an incorrect number of values|can't replace a None gradient",
        "hook-refused",
        "A hook returned gradients that the node cannot pass on, and the pass stopped.",
        _HOOK_FIX,
    ),
    Refusal(
        r"post accumulate grad hooks should return None",
        "hook-refused",
        "A post-accumulate hook returned something; it has to return None, and the pass stopped.",
        "change .grad in place in that hook, and return nothing.",
    ),
    Refusal(
        r"unction (\w+) returned an invalid gradient at index (\d+) - got (\[.*?\]) but expected shape compatible with (\[.*?\])",
        "function-shape",
        "The backward of {1} returned a gradient of shape {3} for an input of shape {4}.",
        "a gradient has the shape of its input: return one number for each number of the input.",
    ),
    Refusal(
        r"expected (?:Variable|Tensor) or None \(got (.*)\)",
        "function-shape",
        "The backward of a custom Function returned something of the type {1}, which is not a gradient.",
        _FUNCTION_FIX,
    ),
    Refusal(
        r"function (\w+) returned a gradient different than None at position (\d+)",
        "function-shape",
        "The backward of {1} returned a gradient for argument {2} of forward, which is not a tensor.",
        _FUNCTION_FIX,
    ),
    Refusal(
        r"marked with @once_differentiable",
        "once-differentiable",
        "The backward of a custom Function is marked with once_differentiable, so what it computed cannot be differentiated again.",
        "leave @once_differentiable out; compute in backward with operations that have a derivative.",
    ),
    Refusal(
        r"Mismatch in shape: grad_output\[\d+\] has a shape of torch.Size\((\[.*?\])\) and output\[\d+\] has a shape of "
        r"torch.Size\((\[.*?\])\)",
        "seed-mismatch",
        "{line} gives backward a gradient of shape {1} to start with, for a tensor of shape {2}.",
        "give one number for each number of the tensor: torch.ones_like(it), for example.",
    ),
    Refusal(
        r"got (\d+) tensors and (\d+) gradients",
        "seed-mismatch",
        "{line} starts from {1} tensors and gives {2} gradients to start with.",
        "give a gradient for each of the tensors, or None for one of a single number.",
    ),
    Refusal(
        r"Function '(\w+)' returned nan values in its (\d+)th output",
        "anomaly",
        "Anomaly mode stopped the pass when the rule of {1} gave nan.",
        "leave set_detect_anomaly out and ask once more: the pass then goes to its end, and the answer tells where the nan began.",
    ),
    Refusal(
        r"detached in-place, i.e. with .detach_",
        "detached-in-place",
        "A tensor that the backward pass needs was detached in place after it was saved.",
        "use detach() instead of detach_().",
    ),
    Refusal(
        r"leaf variable has been moved into the graph interior",
        "inplace-leaf",
        "A leaf was written in place after the graph was built, so it is no longer a leaf.",
        "write under torch.no_grad(), where nothing is recorded.",
    ),
    Refusal(
        r"[Oo]nly Tensors of floating point.* can require gradients",
        "refused",
        "{line} asks that a tensor of integers require a gradient; integers have no gradient.",
        "make the tensor of floats: torch.tensor([1., 2.]), or .float().",
    ),
    Refusal(
        r"only change requires_grad flags of leaf variables",
        "refused",
        "{line} changes requires_grad of a computed tensor, and only that of a leaf can be changed.",
        "use .detach() for a tensor without history; set requires_grad where the leaf is made.",
    ),
    Refusal(
        r"One of the differentiated Tensors does not require grad",
        "refused",
        "{line} asks for the gradient with respect to a tensor that does not require a gradient.",
        "set requires_grad=True on it before it is used.",
    ),
    Refusal(
        r"can't retain_grad on Tensor that has requires_grad=False|cannot register a hook on a tensor that doesn't require gradient",
        "refused",
        "{line} asks for the gradient of a tensor that does not require a gradient: it will never have one.",
        "was it meant to require a gradient? Then set the flag before this line.",
    ),
    Refusal(
        r"post accumulate grad hooks cannot be registered on non-leaf",
        "refused",
        "{line} asks for a post-accumulate hook on a computed tensor; only leaves accumulate.",
        "use register_hook on a computed tensor.",
    ),
    Refusal(
        r"assign a gradient of size '(\[.*?\])' to a tensor of size '(\[.*?\])'",
        "refused",
        "{line} puts a gradient of shape {1} into the .grad of a tensor of shape {2}.",
        "a gradient has the shape of its tensor.",
    ),
    Refusal(
        r"cannot resize variables that require grad",
        "refused",
        "{line} resizes a tensor that requires a gradient, and its history would not fit any more.",
        "use reshape, view or slicing, which make a new tensor.",
    ),
    Refusal(
        r"functions with out=\.\.\. arguments don't support automatic differentiation",
        "refused",
        "{line} writes its result into out=, and such a call cannot be recorded.",
        "leave out= away and take the result of the call.",
    ),
    Refusal(
        r"graph leaves\) support the deepcopy protocol",
        "refused",
        "{line} copies a computed tensor with copy.deepcopy, which can copy leaves only.",
        "use .detach().clone(), or .clone() to stay in the graph.",
    ),
    Refusal(
        r"save_for_backward can only save",
        "refused",
        "{line} gives save_for_backward something that is not a tensor.",
        "keep what is not a tensor as an attribute: ctx.factor = factor.",
    ),
    Refusal(
        r"Legacy autograd function",
        "refused",
        "{line} calls an object of a custom Function; a Function is applied without making one.",
        "write Name.apply(x).",
    ),
    Refusal(
        r"must implement either the backward or vjp",
        "refused",
        "The pass came to a custom Function that has no backward.",
        "give it a static method backward(ctx, g).",
    ),
    Refusal(
        r"functorch",
        "refused",
        "{line} calls autograd inside of a function that torch.func transforms.",
        "let torch.func.grad (or vjp) take the derivative there; call backward() outside.",
    ),
)

#: Words by which an unknown message is recognized as one about gradients.
_ABOUT_GRADIENTS = re.compile(
    r"\bgrad|gradient|backward|autograd|\bleaf\b|in-?place|\bviews?\b|\bgraph|\bhooks?\b|saved|inference|differentia|derivative|"
    r"\bversion|\bctx\b|mark_dirty|\bFunction\b|forward AD|forward method|setup_context|[Dd]ual|tangent|Final callbacks|"
    r"GradientEdge|Autograd|`inputs` argument|\bvmap\b|strict mode|user-provided function|increment_version|node_creation_hook",
)  # fmt: skip


def about_gradients(message: str) -> bool:
    """Whether an error message is one of autograd's, rather than about shapes or plain Python."""
    return refusal(message) is not None or _ABOUT_GRADIENTS.search(message) is not None


def refusal(message: str) -> tuple[Refusal, re.Match[str]] | None:
    """The row of the table for a message, and the match."""
    for row in REFUSALS:
        found = re.search(row.pattern, message)
        if found:
            return row, found
    return None


def refused(q: Question, k: int) -> Why | None:
    """The answer to a program that stopped at event k with a message of autograd's; None for any other error."""
    facts, e = q.facts, q.facts.events[k]
    text = e["message"]
    made = facts.made(e["n"], "the node that failed was made here") if e.get("n") is not None else []
    known = refusal(text)
    if known is not None:
        row, found = known
        says = row.says.format("", *(group or "" for group in found.groups()), line=facts.statement(k))
        return q.answer(
            row.cause,
            says,
            ""
            if facts.grad_now(q.t) is not None
            else f"{q.name}.grad is None because the program went no further.",
            lines=facts.at(k, "stopped here") + made,
            fix=row.fix,
            k=k,
        )
    if e["type"] in ("RuntimeError", "NotImplementedError") and about_gradients(text):
        return q.answer(
            "refused",
            f"{facts.statement(k)} stopped with an error of autograd: {text}",
            lines=facts.at(k, "stopped here") + made,
            fix="the message says what was wrong; mend that line first.",
            k=k,
        )
    return None
