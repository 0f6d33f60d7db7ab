"""The answer to "why is this gradient so?": a cause, sentences, the lines of the user's code, and what to do."""

from __future__ import annotations

import re
import textwrap
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
    "new-leaf": "the tensor is newer than the graph of the pass",
    "gradient-without-graph": "a gradient computed without create_graph has no history",
    # .grad is None: the path from the loss
    "detached": "the way was cut by detach",
    "detached-in-place": "the way was cut by detach_",
    "data": "the way was cut by .data",
    "no-grad": "the way was cut by no_grad",
    "inference-mode": "the way was cut by inference mode",
    "copied": "only the numbers were copied, into a new tensor",
    "item": "the numbers left the graph as Python numbers",
    "numpy": "the numbers left the graph as a NumPy array",
    "no-derivative": "an operation without a derivative stands in the way",
    "sampled": "a random draw does not pass a gradient on",
    "unused": "the tensor was not used",
    "not-connected": "the loss was not computed from the tensor",
    "grad-left-off": "recording was switched off and not on again",
    "reentrant-checkpoint": "a reentrant checkpoint needs an input that requires a gradient, and backward()",
    "parameter-copy": "nn.Parameter made a new leaf of the numbers",
    "deep-copy": "copy.deepcopy made tensors of their own",
    "numbers-copied": "a call copied the numbers into other tensors",
    # .grad is None: the backward pass
    "backward-never-called": "no backward pass ran",
    "autograd-grad": "it was autograd.grad, which does not fill .grad",
    "inputs-left-out": "it was left out of backward(inputs=...)",
    "cleared": "it was cleared after the pass",
    "function-none": "a custom Function returned None",
    "no-return": "the backward of a custom Function has no return",
    "hook-cleared": "a hook cleared the gradient during the pass",
    # the pass failed
    "freed-graph": "the saved values of the graph were already freed",
    "carried-over": "a tensor carried the old graph into the new one",
    "running-total": "a sum of losses, or a list of results, keeps the graphs of earlier rounds",
    "computed-once": "a part of the graph was computed only once, but its weights have changed since",
    "not-detached": "a loss went through a part of the graph where it should have stopped",
    "inplace-saved": "a saved value was overwritten in place",
    "optimizer-too-early": "the optimizer's step overwrote a saved value",
    "inplace-leaf": "a leaf that requires a gradient was written in place",
    "loss-not-scalar": "backward started from more than one number",
    "numpy-refused": "the program stopped: NumPy takes no tensor that requires a gradient",
    "inference-tensor": "a tensor made in inference mode cannot be part of a graph",
    "inplace-view": "a view was written in place that may not be",
    "function-count": "a custom Function returned a wrong number of gradients",
    "function-shape": "a custom Function returned something that is not a gradient of its input",
    "once-differentiable": "a backward that cannot be differentiated again was differentiated again",
    "hook-refused": "a hook returned something that is not a gradient",
    "seed-mismatch": "backward was given something to start with that does not fit",
    "anomaly": "the anomaly mode stopped the pass at the first nan",
    "refused": "the program stopped: autograd refused a call",
    "failed": "the program stopped with an error",
    # nan and inf
    "nan-input": "the data had nan or inf in it",
    "nan-forward": "the forward pass gave nan or inf",
    "nan-backward": "the backward pass gave nan or inf",
    "nan-where": "a branch that where() or a mask hides came back as nan in the backward pass",
    "nan-hook": "a hook put nan or inf in",
    "nan-seed": "the pass was started with nan or inf",
    "overflow": "the gradient grew until it overflowed",
    "diverged": "an update made the tensor itself nan or inf",
    "outside-domain": "an operation got a number for which it is not defined",
    "log-of-zero": "the log of 0 is -inf",
    "masked-row": "a softmax ran over nothing but -inf",
    "inf-minus-inf": "two infinities met, and inf - inf is nan",
    "zero-times-inf": "0 * inf is nan",
    "overflow-forward": "a number of the forward pass grew too large for its dtype",
    "one-value": "a spread was computed from a single value",
    "nan-written": "nan or inf was written into a tensor",
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
    "constant-sum": "the result adds up to a constant",
    "broadcast-cancels": "what comes back to a value that was broadcast adds up to 0",
    "underflow": "the gradient became too small for its dtype on its way",
    "vanishing": "the gradient is so small that nothing moves",
    "constant-derivative": "the first derivative is constant, so the next one is 0",
    "nothing-counted": "nothing was counted: everything is ignored, padding, or empty",
    # a number, but perhaps not the one that was expected
    "accumulated": "several passes were added up",
    "stale": "the last pass did not touch it",
    "another-loss": "it came from another loss",
    "grad-edited": "it was changed after the pass",
    "data-write": "a saved value was changed through .data, unnoticed",
    "data-replaced": "`.data =` gave a tensor other numbers, unnoticed",
    "numpy-write": "NumPy wrote into memory that a tensor shares, unnoticed",
    "ctx-overwritten": "what ctx kept as an attribute was written over",
    "zero-grad-missed": "zero_grad was called on something that does not have the tensor",
    "not-in-optimizer": "the optimizer does not know the tensor",
    "partly-cut": "a part of the way to the loss was cut",
    "all-pairs": "a column and a row were broadcast to all pairs",
    "as-computed": "it is the derivative; nothing stands out",
    # without a recording, or beside it
    "outside-recording": "the backward pass ran outside of the recorded block",
    "needs-no-grad": "the tensor does not require a gradient",
    "loss-needs-no-grad": "the loss does not require a gradient",
    "unknown": "the tensors alone do not tell",
}


class Line(NamedTuple):
    """A line of the user's code, and what happened there."""

    source: str
    number: int
    text: str
    what: str = ""


class Edit(NamedTuple):
    """A change that fixes the program: line `number` of a source becomes `text`, which may be several lines, or '' to delete it."""

    source: str
    number: int
    text: str


@dataclass(frozen=True)
class Why:
    """Why a gradient is what it is.

    cause      an id, one of CAUSES
    question   the question, such as "Why is w.grad None?"
    sentences  the answer in plain words
    lines      the relevant lines of code: (source, number, text, what happened there)
    fix        what to do; a question if that depends on the intention
    edits      the same as edits of lines, if it is certain
    step       the step of the trace that shows it, for `stepper.goto`; None without a recording
    """

    cause: str
    question: str
    sentences: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    fix: str = ""
    step: int | None = None
    hint: str = field(default="", compare=False)
    edits: tuple[Edit, ...] = ()

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
            "edits": [edit._asdict() for edit in self.edits],
            "step": self.step,
        }

    def __repr__(self) -> str:
        parts = [f"{self.question} {caption(self.cause)}. [{self.cause}]"]
        parts += [f"  {sentence}" for sentence in self.sentences]
        where = [f"{line.source}, line {line.number}" for line in self.lines]
        wide = max(map(len, where), default=0)
        code = max((len(line.text) for line in self.lines), default=0)
        for place, line in zip(where, self.lines, strict=True):
            note = f"  <- {line.what}" if line.what else ""
            parts.append(f"    {place:<{wide}} | {line.text:<{code}}{note}".rstrip())
        if self.fix:
            parts.append(f"  To do: {self.fix}")
        for edit in self.edits:
            parts += [
                f"    {edit.source}, line {edit.number}, becomes",
                *(f"        {x}" for x in _shown(edit)),
            ]
        if self.hint:
            parts.append(f"  {self.hint}")
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        """The answer for a notebook, in the page's own colors, so that it reads in both themes."""
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
        for edit in self.edits:
            new = escape("\n".join(_shown(edit)))
            fix += f'<p style="margin:0.3em 0">{escape(edit.source)}, line {edit.number}, becomes</p><pre>{new}</pre>'
        hint = f'<p style="margin:0.3em 0"><em>{_prose(self.hint)}</em></p>' if self.hint else ""
        return (
            '<div style="border-left:3px solid #888;padding:0.2em 0.8em;max-width:60em">'
            f'<p style="margin:0.3em 0"><strong>{escape(self.question)} {escape(caption(self.cause))}.</strong>'
            f" <small>({self.cause})</small></p>{text}{table}{fix}{hint}</div>"
        )


_CELL = "text-align:left;padding:2px 10px;border:1px solid #888"


def _shown(edit: Edit) -> list[str]:
    """The new lines of a change, without the indentation they have in common."""
    return textwrap.dedent(edit.text).splitlines() or ["(the line goes)"]


def _prose(text: str) -> str:
    """A sentence as HTML; text in backticks becomes code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text))


def caption(cause: str) -> str:
    """What a cause means, as shown after the question: capitalized, unless it begins with code."""
    text = CAUSES[cause]
    return text if re.match(r"[\w.]*[._(]", text) else _capital(text)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


#: Phrases for a tensor without a name. A sentence that begins with one is capitalized; one that begins with a name never is.
DESCRIPTIONS = (
    "a tensor without a name", "a tensor in ", "the result of ", "the tensor", "a part of the loss", "a result of the round before",
)  # fmt: skip


def sentence(text: str) -> str:
    """A sentence with its first letter large, unless it begins with a name of the user's: `a` must not become `A`."""
    return _capital(text) if text.startswith(DESCRIPTIONS) else text


MOST_NOTES = 4
"""What is said of one line at most."""


def added_up(parts: list[str], most: int = 4) -> str:
    """The terms of a sum, of a long one the first."""
    return " + ".join([*parts[:most], "..."] if len(parts) > most else parts)


def noted(notes: list[str]) -> str:
    """What happened on a line; of what happened often the first times and the last one."""
    if len(notes) > MOST_NOTES:
        notes = [*notes[: MOST_NOTES - 2], f"{len(notes) - MOST_NOTES + 1} more", notes[-1]]
    return "; ".join(notes)


def listed(items: list[Any], most: int = 4) -> str:
    """Items joined as in a sentence."""
    words = [str(item) for item in items]
    if len(words) > most:
        words = [*words[:most], f"{len(words) - most} more"]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}" if words else ""
