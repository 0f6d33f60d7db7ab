"""The answer to "why is this gradient so?": a cause, sentences, the lines of the user's code, and what to do."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from html import escape
from typing import Any, NamedTuple

from ..trace import Record

#: Every cause that can be named, and what it means in a few words.
CAUSES = {
    # .grad is None: the tensor itself
    "integer-tensor": "integers have no gradient",
    "requires-grad-never-set": "nothing asked for a gradient: requires_grad was not set",
    "requires-grad-too-late": "its requires_grad was set after it was used",
    "frozen": "its requires_grad was switched off",
    "not-leaf": "a computed tensor keeps its gradient only if asked",
    "retain-too-late": "the call of retain_grad came after the backward pass",
    "overwritten": "the name now stands for a computed tensor",
    "overwritten-no-grad": "the name now stands for a new tensor without requires_grad",
    "leaf-without-name": "the leaf is a nameless operand of this tensor",
    "new-leaf": "the tensor was made after the pass",
    "gradient-without-graph": "a gradient computed without create_graph has no history",
    # .grad is None: the way from the loss
    "detached": "the way was cut by detach",
    "detached-in-place": "the way was cut by detach_",
    "data": "the way was cut by .data",
    "no-grad": "the way was cut by no_grad",
    "inference-mode": "the way was cut by inference mode",
    "copied": "only the numbers were copied, by tensor()",
    "item": "the numbers left the graph as Python numbers",
    "numpy": "the numbers left the graph as a NumPy array",
    "no-derivative": "an operation without a derivative stands in the way",
    "unused": "the tensor was not used",
    "not-connected": "the loss was not computed from the tensor",
    # .grad is None: the backward pass
    "backward-never-called": "no backward pass ran",
    "autograd-grad": "it was autograd.grad, which does not fill .grad",
    "inputs-left-out": "it was left out of backward(inputs=...)",
    "cleared": "it was cleared after the pass",
    "function-none": "a custom Function returned None",
    # the pass failed
    "freed-graph": "the saved values of the graph were already freed",
    "carried-over": "a tensor carried the old graph into the new one",
    "inplace-saved": "a saved value was overwritten in place",
    "optimizer-too-early": "the optimizer's step overwrote a saved value",
    "inplace-leaf": "a leaf that requires grad was written in place",
    "loss-not-scalar": "backward started from more than one number",
    "failed": "the program stopped with an error",
    # nan and inf
    "nan-input": "the data had nan or inf in it",
    "nan-forward": "the forward pass gave nan or inf",
    "nan-backward": "the backward pass gave nan or inf",
    "nan-where": "the branch that where() hides gave 0 * inf",
    "nan-hook": "a hook put nan or inf in",
    "nan-seed": "the pass was started with nan or inf",
    "overflow": "the gradient grew until it overflowed",
    "diverged": "an update made the tensor itself nan or inf",
    # zero
    "dead-relu": "the input of relu is not above 0",
    "saturated": "the activation is flat there",
    "clamped": "the value was clamped",
    "flat-function": "the function is a staircase: its derivative is 0",
    "multiplied-by-zero": "the way leads through a multiplication with 0",
    "not-chosen": "the operation chose other elements",
    "replaced": "the value was overwritten by a constant",
    "flat-here": "the derivative is 0 at this point",
    "cancellation": "several contributions add up to 0",
    "function-zero": "a custom Function returned zeros",
    "hook-changed": "a hook changed the gradient",
    "zero-seed": "the pass was started with zeros",
    # a number, but perhaps not the one that was expected
    "accumulated": "several passes were added up",
    "stale": "the last pass did not touch it",
    "grad-edited": "it was changed after the pass",
    "data-write": "a saved value was changed through .data, unnoticed",
    "not-in-optimizer": "the optimizer does not know the tensor",
    "as-computed": "it is the derivative; nothing stands out",
    # without a recording
    "needs-no-grad": "the tensor does not require grad",
    "loss-needs-no-grad": "the loss does not require grad",
    "unknown": "the tensors alone do not tell",
}


class Line(NamedTuple):
    """A line of the user's code, and what happened there."""

    source: str
    number: int
    text: str
    what: str = ""


@dataclass(frozen=True)
class Why:
    """Why a gradient is what it is.

    cause      an id, one of CAUSES
    question   what was asked, such as "Why is w.grad None?"
    sentences  the answer in plain words
    lines      the lines of code it is about: (source, number, text, what happened there)
    fix        what to do
    step       the step of the trace that shows it, for `stepper.goto`; None without a recording
    """

    cause: str
    question: str
    sentences: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    fix: str = ""
    step: int | None = None
    hint: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.cause not in CAUSES:
            raise ValueError(f"unknown cause {self.cause!r}; known causes: {', '.join(CAUSES)}")

    def to_dict(self) -> Record:
        """The answer as plain data."""
        return {
            "cause": self.cause,
            "question": self.question,
            "sentences": list(self.sentences),
            "lines": [line._asdict() for line in self.lines],
            "fix": self.fix,
            "step": self.step,
        }

    def __repr__(self) -> str:
        parts = [f"{self.question} {_capital(CAUSES[self.cause])}. [{self.cause}]"]
        parts += [f"  {sentence}" for sentence in self.sentences]
        where = [f"{line.source}, line {line.number}" for line in self.lines]
        wide = max(map(len, where), default=0)
        code = max((len(line.text) for line in self.lines), default=0)
        for place, line in zip(where, self.lines, strict=True):
            note = f"  <- {line.what}" if line.what else ""
            parts.append(f"    {place:<{wide}} | {line.text:<{code}}{note}".rstrip())
        if self.fix:
            parts.append(f"  To do: {self.fix}")
        if self.hint:
            parts.append(f"  {self.hint}")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """The answer for a notebook; colors are the page's own, so it reads in both themes."""
        rows = "".join(
            f'<tr><td style="{_CELL}">{escape(f"{line.source}, line {line.number}")}</td>'
            f'<td style="{_CELL}"><code>{escape(line.text)}</code></td>'
            f'<td style="{_CELL}">{escape(line.what)}</td></tr>'
            for line in self.lines
        )
        table = (
            f'<table style="border-collapse:collapse;margin:0.4em 0"><thead><tr>'
            f'<th scope="col" style="{_CELL}">where</th><th scope="col" style="{_CELL}">code</th>'
            f'<th scope="col" style="{_CELL}">what happened</th></tr></thead><tbody>{rows}</tbody></table>'
            if rows
            else ""
        )
        text = "".join(f'<p style="margin:0.3em 0">{_prose(s)}</p>' for s in self.sentences)
        fix = f'<p style="margin:0.3em 0"><strong>To do:</strong> {_prose(self.fix)}</p>' if self.fix else ""
        hint = f'<p style="margin:0.3em 0"><em>{_prose(self.hint)}</em></p>' if self.hint else ""
        return (
            '<div style="border-left:3px solid #888;padding:0.2em 0.8em;max-width:60em">'
            f'<p style="margin:0.3em 0"><strong>{escape(self.question)} {escape(_capital(CAUSES[self.cause]))}.</strong>'
            f" <small>({self.cause})</small></p>{text}{table}{fix}{hint}</div>"
        )


_CELL = "text-align:left;padding:2px 10px;border:1px solid #888"


def _prose(text: str) -> str:
    """A sentence as HTML; what stands in backticks is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


#: What a tensor without a name is called. A sentence that begins with one gets a capital; one that begins with a name never does.
DESCRIPTIONS = ("a tensor without a name", "the result of ", "the tensor")


def sentence(text: str) -> str:
    """A sentence with its first letter large, unless it begins with a name of the user's: `a` must not become `A`."""
    return _capital(text) if text.startswith(DESCRIPTIONS) else text


def listed(items: list[Any], most: int = 4) -> str:
    """Things joined as in a sentence."""
    words = [str(item) for item in items]
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
