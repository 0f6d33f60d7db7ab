"""The teaching side: record, step, draw, why, check, expect. `from autograd_lab import lab`."""

import inspect
import sys
import textwrap
from typing import TYPE_CHECKING, Any

from .course.classroom import classroom
from .course.expect import expect
from .course.feedback import check, hint
from .course.outputs import say
from .course.reveal import reveal
from .course.scores import progress
from .torchlike.autograd.node import Node
from .tracing import Trace, narrate, state
from .tracing.names import name_in, part_in
from .tracing.recorder import last_recording, record, scope
from .tracing.wrong_order import wrong_order

if TYPE_CHECKING:
    from .tracing.why import Why

_express: Any = sys.modules.get("autograd_lab.express")
if _express is not None:
    _express.off()


def fast(on: bool = True) -> bool:
    """Switch express on or off: it fuses steps that are not being recorded, with equal results. Returns whether it is on now.

    Importing `lab` switches express off, so that the nodes you see are the nodes that compute. With the environment variable
    AUTOGRAD_LAB_EXPRESS set to 0 or 1 it stays off or on, and this call has no effect.
    """
    if _express is None:
        return False
    return bool(_express.on() if on else _express.off())


def step(what: Any, *inputs: Any, **options: Any) -> Any:
    """Open the stepper on a trace, or record `what(*inputs)` and open it (see widgets).

    beside   a step of the engine that grows in exercises 02 to 06, such as "pop": then `what` is your function for it. The stepper opens on
             a small graph of the course's, and its tab "your engine" has your pieces so far, at work on the same numbers.
             Raises ValueError for another name.
    """
    if "beside" in options:
        from .course.in_stepper import EngineStepper

        return EngineStepper(options.pop("beside"), what, *inputs, **options)
    from . import widgets

    return widgets.step(what, *inputs, **options)


def level(name: str) -> None:
    """How much the steppers made from now on show: "simple", "rules", "queue", "saved" or "all" (see widgets)."""
    from . import widgets

    widgets.level(name)


def step_code(call: Any, *inputs: Any, beside: str | None = None) -> Any:
    """Run a function of yours and step through it line by line, with its variables: `lab.step_code(y.backward)`.

    It runs once, now; what it changes is changed. Recorded are at most 2,000 lines, of the function and of those defined inside it:
    then it is stopped, as one that never ends. An error is shown at its line, and not raised. Returns the stepper, whose `lines`,
    `result` and `end` say the same. Raises TypeError if `call` is no function or method written in Python.

    beside   a step of the engine that grows in exercises 02 to 06, such as "pop": then `call` is your function for it. It runs, without
             `inputs`, on a small graph of the course's, beside the lab's own code for that step. Raises ValueError for another name.
    """
    if beside is not None:
        from .course.beside import step_beside

        return step_beside(beside, call)
    from .widgets.own_code import CodeStepper

    return CodeStepper(call, *inputs)


def engine_so_far(step: str | None = None) -> Any:
    """The engine that grows in exercises 02 to 06: its pieces before `step`, yours where they have passed (see course/growing.py)."""
    from .course import growing

    return growing.engine_so_far(step)


def record_torch(fn: Any = None, *inputs: Any, **options: Any) -> Any:
    """Record real PyTorch: `with lab.record_torch() as trace: ...`, or `lab.record_torch(fn, *inputs)` (see tracing)."""
    from .tracing.torch_adapter import record_torch

    return record_torch(fn, *inputs, **options)


def draw(what: Any, **options: Any) -> Any:
    """A static picture of the graph behind a loss, or of a trace (see widgets)."""
    from . import widgets

    return widgets.draw(what, frame=sys._getframe(1), **options)


def graph(what: Any) -> Any:
    """The graph behind a tensor, or that of a trace, for networkx: an `nx.MultiDiGraph` from each result to its operands.

    what   a tensor that was computed from tensors that require a gradient (no recording is needed), or a trace

    An edge has the local derivative of the result by the operand as its `derivative`, where both are one number (else None), and
    the number of the operand as its key. A node has `name`, `label`, `kind` ("leaf", "operation" or "Function"), `root`, `tensor`
    (the variable's name), `value`, `shape`, `gradient` and `line`; a line is known in a trace only.

    The `backward` of a custom Function runs once for it, with the message 1. Of a tensor of PyTorch's the derivatives are None. A hook
    is no derivative: what it does to a gradient is in `gradient` and in no edge. Raises TypeError if `what` is neither a tensor nor a trace, ValueError if there
    is no graph behind the tensor, RuntimeError if its saved values were freed by a backward pass or overwritten.
    """
    from .tracing.networks import of_tensor

    return what.to_networkx() if isinstance(what, Trace) else of_tensor(what, sys._getframe(1))


def cost(what: Any, *inputs: Any) -> Any:
    """What a pass costs: the bytes that saved values hold at each step, and how many of them each node holds.

    what   a trace or a stepper; or a function, which is recorded on `inputs`, with the backward pass of its result

    Returns a `Cost`. Its text says what is held at the peak, at which step and line, and lists the nodes, the largest first; `held`
    has the bytes at every step. Of a function, `.times()` measures how long each node takes, in runs that are not recorded. A graph
    that your program lets go of without a backward pass counts to the end in a trace, which does not see that; a function runs once more
    if something is left, unrecorded, to see when it goes (not if it trains, or writes into other tensors than its own). What a Function keeps as an attribute of `ctx` is not saved, and not counted.
    Raises TypeError for anything else.
    """
    from .tracing.cost import cost

    trace = getattr(what, "trace", what)
    if isinstance(trace, Trace):
        if inputs:
            raise TypeError("lab.cost(trace) takes no inputs: the trace already holds what happened")
        run = getattr(what, "run", None)
        return cost(trace, None if run is None else run.unrecorded)
    if not callable(what):
        raise TypeError(
            f"lab.cost() takes a trace, a stepper or a function, not {type(what).__name__}. What to do: run the code inside "
            "`with lab.record() as trace:`, then lab.cost(trace)"
        )
    from .widgets.runs import Run

    run = Run(what, inputs)
    return cost(run.record(), run.unrecorded)


def why(x: Any, loss: Any = None, *, trace: Trace | None = None) -> "Why":
    """Why is `x.grad` None, zero, nan, or not what was expected? Names the cause and the lines of your code.

    x      a tensor, or its name in the last recording or in `trace`; `w.grad` gives the same answer as `w`;
           or the error with which the recording ended
    loss   the tensor that the gradient should come from, or its name (default: the tensor of the last call of backward)
    trace  the recording to use (default: the current or last one in this thread)

    Without a recording of the tensor, the answer comes from the tensors themselves: a cause, but no lines. Raises KeyError
    for a name that is not in the trace, TypeError if `x` is none of these.
    """
    from .tracing.why.live import absent, live_why, outside

    if isinstance(x, BaseException):
        return _why_stopped(x, last_recording() if trace is None else trace)
    if trace is not None:
        return trace.why(x, loss)
    last = last_recording()
    if isinstance(x, str):
        if last is None:
            raise KeyError(
                f"there is no recording to look {x!r} up in: run the code inside `with lab.record():` first"
            )
        return last.why(x, loss)
    if not hasattr(x, "requires_grad"):
        raise TypeError(f"why() asks about a tensor or the name of one, not about {_no_tensor(x)}")
    if isinstance(loss, str):
        if last is None:
            raise KeyError(f"there is no recording to look {loss!r} up in: give the tensor itself")
        return last.why(x, loss)
    if not hasattr(loss, "requires_grad") and loss is not None:
        raise TypeError(
            f"the loss that why() is given is a tensor or the name of one, not {_no_tensor(loss)}"
        )
    owner = None if last is None else last.owner_of(x)
    if owner is not None:
        x = owner
    frame = sys._getframe(1)
    name = name_in(frame, x) or part_in(frame, x)
    if last is not None and last.up_to_date(x, loss):
        return last.why(x, loss, name)
    if last is not None and loss is None and (found := outside(last, x, name)) is not None:
        return found
    return (absent(last, x, name) if last is not None and loss is None else None) or live_why(x, loss, name)


def _why_stopped(error: BaseException, trace: Any) -> "Why":
    """Why a recording ended with this error."""
    from .tracing.guard import text_of
    from .tracing.why import why_stopped

    ended = trace.events[-1] if trace is not None and len(trace) else {}
    if (ended.get("type"), ended.get("message")) == (type(error).__name__, text_of(error)):
        answer = why_stopped(trace)
        if answer is not None:
            return answer
        raise ValueError(f"why() knows no more about this {type(error).__name__} than its text says")
    raise ValueError(
        f"the last recording did not end with this {type(error).__name__}. What to do: run the code that raises it inside "
        "`with lab.record():`, and ask again"
    )


def _no_tensor(x: Any) -> str:
    """The message for a call of why() with something that is not a tensor."""
    if x is None:
        return "None. If that was `w.grad`, ask about the tensor: lab.why(w)"
    if hasattr(type(x), "named_parameters"):
        first = next((name for name, _ in x.named_parameters()), None)
        return f"a module: {type(x).__name__}" + (
            f". Ask about a parameter of it, such as its {first}" if first else ""
        )
    if isinstance(x, (list, tuple, dict)):
        return f"{type(x).__name__}. Ask about one of the tensors in it"
    return type(x).__name__


def compare(a: Any, b: Any, labels: tuple[str, str] = ("trace a", "trace b")) -> Any:
    """Two traces (or steppers) side by side, in lockstep; `.differences` lists what differs (see widgets/comparison.py)."""
    from . import widgets

    return widgets.compare(a, b, labels)


def compare_static(fn: Any, *inputs: Any, **kwargs: Any) -> Any:
    """The dynamic graph beside the captured one: `fn(*inputs)` as it runs, the graph that torch.compile captures of it, and what each pass did.

    `.again(*inputs)` runs it on other data: the dynamic graph is built again, the captured one is reused or says which guard failed
    (see widgets/static.py).
    """
    from . import widgets

    return widgets.compare_static(fn, *inputs, **kwargs)


def practice(notebook: str, seed: int | None = None) -> Any:
    """Ever new small questions of a notebook's kind: `lab.practice("04")`. They get harder after right answers, and easier after wrong ones.

    notebook   its number in quotes, "00" to "10" or "12"
    seed       a whole number: the same questions again, for the same answers. Without it they are new ones

    A notebook shows a card. Elsewhere the question is text, and `.answer(...)` gives the verdict: a known mistake is named as
    `lab.check` names it. `.show_me()` tells the answer, `.step()` opens the stepper on the last program. Raises ValueError for a notebook
    without practice, TypeError for a number without quotes.
    """
    from .course.practice import practice as begin

    return begin(notebook, seed)


def stand_in() -> Any:
    """Make `import torch` import autograd_lab from now on, so that a program written for PyTorch runs unchanged (see world/standin.py).

    Returns the module. Raises ImportError if PyTorch itself has been imported in this process.
    """
    from .torchlike.world import standin

    return standin.stand_in()


def source(node: Any) -> None:
    """Show the source of a node's rule: how it was computed and how it sends its gradient on.

    node   a node, such as `y.grad_fn`, or a tensor that has one

    Raises TypeError if it is neither, or if it is a node of PyTorch's, whose rules are C++.
    """
    rule = getattr(node, "grad_fn", node)
    if not isinstance(rule, Node):
        what = "a leaf, which no node made" if getattr(node, "is_leaf", False) else f"a {type(node).__name__}"
        if hasattr(rule, "next_functions"):
            what = "a PyTorch node, whose rules are C++"
        raise TypeError(
            f"lab.source() takes a node of autograd_lab's graph, but this is {what}. What to do: `lab.source(y.grad_fn)` for a `y` "
            "that was computed from tensors that require a gradient"
        )
    rule = rule.unfold()
    text, line = inspect.getsourcelines(type(rule))
    file = inspect.getsourcefile(type(rule)) or ""
    place = file.rpartition("autograd_lab/")
    say(
        f"# {place[1] + place[2] if place[1] else file}, line {line}\n{textwrap.dedent(''.join(text)).rstrip()}"
    )


def save_html(path: Any, *steppers: Any, title: str | None = None) -> None:
    """Write steppers as one web page that needs no kernel and no network (see widgets/shown.py)."""
    from .widgets import shown

    shown.save_html(path, *steppers, title=title)


def variant(seed: int) -> None:
    """Give the exercises your own numbers: those of your copy of the notebook, whose first cell calls this.

    seed   the number in your copy

    From now on `lab.statement`, `lab.check` and `lab.hint` have these numbers. Raises ValueError if it is not a whole number from 0 on.
    """
    from .course.items import choose

    choose(seed)


def statement(item_id: str) -> Any:
    """The question of an exercise, with the numbers that `lab.variant` has chosen (without it, those of the course).

    Raises LookupError for an unknown id, ValueError for an exercise that has the same numbers for everybody.
    """
    from .course.variants import statement

    return statement(item_id)


__all__ = [
    "Trace", "Why", "check", "classroom", "compare", "compare_static", "cost", "draw", "engine_so_far", "expect", "fast", "graph", "hint", "level", "narrate", "practice", "progress", "record", "record_torch", "reveal",
    "save_html", "scope", "source", "stand_in", "state", "statement", "step", "step_code", "variant", "why", "wrong_order",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`Why`, which is loaded when somebody asks why."""
    if name != "Why":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .tracing.why import Why

    return globals().setdefault(name, Why)


def __dir__() -> list[str]:
    return sorted({*globals(), "Why"})


def _offer_magic() -> None:
    """Register `%%step` if a notebook or IPython is running; load nothing otherwise."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is not None:
        from .widgets.magic import load_ipython_extension

        load_ipython_extension(shell)


_offer_magic()
