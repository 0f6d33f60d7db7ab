"""The lit line: at each step the line of the user's program that Python was executing, for every program that is put together here.

What Python executes is asked of Python itself, by sys.setprofile, while the recorder takes its notes.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

import pytest
from each import each
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.builder import Builder, source_name
from autograd_lab.tracing.recorder import Recorder
from autograd_lab.widgets import magic
from autograd_lab.widgets.frames import at, film

# Where y is computed from x and w, called in the line `y = make(x, w)`.
FORWARD = {
    "a function": """
        def make(x, w):
            h = x * w
            return (
                h.sin()
                + x
            )
    """,
    "a lambda": "make = lambda x, w: (x * w).exp()",
    "functions in a function": """
        def make(x, w):
            def inner(a):
                b = a * 2
                return b.tanh()
            c = inner(x)
            return inner(c * w) + c
    """,
    "a module": """
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.first = torch.nn.Linear(1, 1)
            def forward(self, x, w):
                h = self.first(x.reshape(1))
                h = torch.relu(h)
                return (h * w).sum()
        make = Net()
    """,
    "a loop": """
        def make(x, w):
            for i in range(3):
                if i % 2:
                    x = x * w
                else:
                    x = x + w
            return sum(x * i for i in range(3))
    """,
    "a Function": """
        class Square(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x
            @staticmethod
            def backward(ctx, g):
                x, = ctx.saved_tensors
                twice = g * 2
                return twice * x
        def make(x, w):
            y = Square.apply(x)
            return y * w
    """,
    "a Function without operations": """
        class Straight(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x.clone()
            @staticmethod
            def backward(ctx, g):
                if g is None:
                    return None
                return g
        def make(x, w):
            return Straight.apply(x * w) * w
    """,
    "a write": """
        def make(x, w):
            y = x * w
            y.mul_(2)
            return y * 1
    """,
    "no history": """
        def make(x, w):
            with torch.no_grad():
                k = w * 2
            return x * k.detach() + w
    """,
}  # fmt: skip

# What is attached to y, and to the leaf x, before the pass.
HOOKS = {
    "none": "",
    "a lambda": "y.register_hook(lambda g: g * 2)",
    "a function that only looks": """
        def look(g):
            seen = []
            if g is not None:
                seen.append(1)
            return None
        y.register_hook(look)
        x.register_hook(look)
    """,
    "a function that computes": """
        def helper(g):
            return g + 1
        def change(g):
            g = helper(g)
            return g * 2
        y.register_hook(change)
    """,
    "a function that returns from several lines": """
        def change(g):
            if g.sum().item() > 100:
                return g / 2
            for _ in range(2):
                g = g * 1
            return g
        x.register_hook(change)
        w.register_hook(change)
    """,
    "a method of a list": "y.register_hook([].append)",
    "hooks of the node": """
        def before(grads):
            return tuple(
                g * 1 for g in grads
            )
        def after(sent, got):
            n = len(sent)
        y.grad_fn.register_prehook(before)
        y.grad_fn.register_hook(after)
    """,
    "after accumulation": """
        def shrink(leaf):
            leaf.grad.mul_(0.5)
        def nothing(leaf):
            pass
        x.register_post_accumulate_grad_hook(shrink)
        w.register_post_accumulate_grad_hook(nothing)
    """,
    "a hook, then another": """
        y.register_hook(lambda g: None)
        x.register_hook(lambda g: g)
        y.retain_grad()
    """,
    "a pass in a hook": """
        def again(g):
            with torch.enable_grad():
                z = w * 3
                z.register_hook(lambda g: g)
                z.backward()
            h = g * 1
            return h
        y.register_hook(again)
    """,
    "a hook that fails": """
        def fail(g):
            h = g * 2
            raise ValueError("no")
        x.register_hook(fail)
    """,
}  # fmt: skip

PASSES = {
    "backward": "y.backward()",
    "a function": """
        def run(loss):
            loss = loss * 1
            loss.backward(
                retain_graph=True,
            )
            loss.backward()
        run(y)
    """,
    "grad": "g, = torch.autograd.grad(y, [x], allow_unused=True)",
    "twice": """
        g, = torch.autograd.grad(y, [x], create_graph=True)
        if g.requires_grad:
            (g * x).backward()
    """,
}


@dataclass
class Ran:
    """A program that ran while `Truth` watched: its file, its trace, and for each event what Python executed."""

    file: str
    trace: Any
    lines: list[set[int]]


class Truth:
    """Which line of a file Python executes when the recorder takes a note, and from which it has come back since the last note."""

    def __init__(self, file: str, monkeypatch: Any) -> None:
        self.file, self.back, truth = file, [], self
        made: list[Any] = []

        class Notes(list):  # type: ignore[type-arg]
            def append(self, note: Any) -> None:
                made.append((note[0], truth.now(), list(truth.back)))
                truth.back.clear()
                super().append(note)

        class Watched(Recorder):
            def __init__(self, *args: Any) -> None:
                super().__init__(*args)
                self.notes = Notes()
                made.clear()

        class Marking(Builder):
            def replay(self, notes: Any) -> Any:
                self.marks: list[int] = []
                truth.builder = self

                def each_note() -> Any:
                    for self.index, note in enumerate(notes):
                        yield note

                return super().replay(each_note())

            def _event(self, kind: str, src: Any, **fields: Any) -> None:
                super()._event(kind, src, **fields)
                self.marks.append(self.index)

        Watched.builder = Marking
        monkeypatch.setattr("autograd_lab.tracing.recorder.Recorder", Watched)
        self.made = made
        self.builder: Any = None

    def now(self) -> int:
        frame: Any = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        return 0 if frame is None else frame.f_lineno

    def profile(self, frame: Any, event: str, what: Any) -> None:
        if event == "return" and frame.f_code.co_filename == self.file:
            self.back.append(frame.f_lineno)

    def of_events(self, trace: Any) -> list[set[int]]:
        """For each event the lines of which one is right."""
        found = []
        for e, mark in zip(trace.events, self.builder.marks, strict=True):
            note, now, back = self.made[mark]
            users = note == "hooked" or (note == "applied" and trace.nodes[e["n"]]["kind"] == "function")
            if note == "failed" and back:
                found.append(set(back))
            else:
                found.append({back[-1] if users and back else now})
        return found


_count = itertools.count()


def run(program: str, monkeypatch: Any) -> tuple[Ran, dict[str, Any]]:
    """Run a program that leaves a recording in `trace`, or a stepper in `s`."""
    file = f"/lit/program_{next(_count)}.py"
    linecache.cache[file] = len(program), None, program.splitlines(keepends=True), file
    space: dict[str, Any] = {"torch": torch, "lab": lab}
    truth = Truth(file, monkeypatch)
    before = sys.getprofile()
    sys.setprofile(truth.profile)
    try:
        exec(compile(program, file, "exec"), space)
    finally:
        sys.setprofile(before)
    trace = space["s"].trace if "s" in space else space["trace"]
    len(trace.events)
    return Ran(file, trace, truth.of_events(trace)), space


def lit(trace: Any, shown: dict[str, Any], k: int) -> tuple[str, int]:
    source, line = at(shown["line"], k) or (-1, 0)
    return (shown["sources"][source]["name"], line) if source >= 0 else ("", 0)


def check(ran: Ran, allowed: dict[int, set[int]] | None = None) -> None:
    """Every event lights the line that Python executed; `allowed`: instead of a line, one of others."""
    shown = film(ran.trace)  # what `lab.step` shows of it
    name = source_name(ran.file)
    for k, lines in enumerate(ran.lines, 1):
        right = {other for line in lines for other in (allowed or {}).get(line, {line})}
        got = lit(ran.trace, shown, k)
        assert got[0] == name, f"step {k}, {ran.trace.events[k - 1]}: {got}"
        assert got[1] in right, f"step {k}, {ran.trace.events[k - 1]}: line {got[1]}, not {right}"


def put_together(
    forward: str, hooks: str, backward: str, recording: str = "with lab.record() as trace:"
) -> str:
    parts = [textwrap.dedent(part).strip("\n") for part in (forward, hooks, backward)]
    inside = "\n".join(["y = make(x, w)", *parts[1:], "z = x * 2"])
    return (
        f"{parts[0]}\nx = torch.tensor(0.5, requires_grad=True)\nw = torch.tensor(2.0, requires_grad=True)\n"
        f"try:\n    {recording}\n{textwrap.indent(inside, ' ' * 8)}\nexcept (ValueError, RuntimeError, AttributeError):\n    pass\n"
    )


@pytest.mark.parametrize("hooks", HOOKS)
def test_every_step_lights_the_line_that_ran(hooks, monkeypatch):
    def one(case: tuple[str, str]) -> None:
        ran, _ = run(put_together(FORWARD[case[0]], HOOKS[hooks], PASSES[case[1]]), monkeypatch)
        check(ran)

    each(itertools.product(FORWARD, PASSES), one)


@pytest.fixture(scope="module")
def shell() -> Any:
    """IPython, in this process: where `%%step` runs a cell."""
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    magic.load_ipython_extension(shell)
    shell.user_ns.update(torch=torch, lab=lab)
    return shell


def run_cell(shell: Any, program: str, monkeypatch: Any) -> Ran:
    """Run a program as a cell with `%%step`; the lines of a cell are numbered with that one."""
    truth = Truth("", monkeypatch)
    compiled = magic._compiled

    def noted(*args: Any) -> Any:
        parts, truth.file = compiled(*args)
        return parts, truth.file

    before = sys.getprofile()
    with monkeypatch.context() as patch:
        patch.setattr(magic, "_compiled", noted)
        sys.setprofile(truth.profile)
        try:
            shell.run_cell(f"%%step s\n{program}")
        finally:
            sys.setprofile(before)
    trace = shell.user_ns.pop("s").trace
    len(trace.events)
    for number, text in trace.sources[0]["lines"].items():
        assert text == ["%%step s", *program.splitlines()][int(number) - 1].replace("%%step", "# %%step")
    return Ran(truth.file, trace, truth.of_events(trace))


def test_every_step_of_a_cell_lights_the_line_that_ran(shell, monkeypatch, capsys):
    """Every way forward with some hooks, every hook with some of those; and a cell that ends with the error."""
    passes = itertools.cycle(PASSES)

    def one(case: tuple[str, str]) -> None:
        program = put_together(FORWARD[case[0]], HOOKS[case[1]], PASSES[next(passes)], recording="if True:")
        check(run_cell(shell, program, monkeypatch))

    pairs = [
        (f, h)
        for (i, f), (j, h) in itertools.product(enumerate(FORWARD), enumerate(HOOKS))
        if (i + j) % 3 == 0
    ]
    assert {f for f, _ in pairs} == set(FORWARD)
    assert {h for _, h in pairs} == set(HOOKS)
    each(pairs, one)
    failing = textwrap.dedent(HOOKS["a hook that fails"])
    check(
        run_cell(
            shell,
            f"x = torch.tensor(0.5, requires_grad=True)\ny = x * x\n{failing}\ny.backward()",
            monkeypatch,
        )
    )
    assert "ValueError" in capsys.readouterr().out


# A function that lab.step runs: it starts the backward pass itself, so that no line of the program does.


def of_function(program: str) -> tuple[set[int], dict[int, set[int]]]:
    """The lines of the function that lab.step is given, and what is allowed in place of the line that calls lab.step."""
    tree = ast.parse(program)
    call = next(n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "lab.step")
    given = call.args[0]
    if isinstance(given, ast.Name):
        given = next(  # type: ignore[assignment]
            n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef) and n.name == given.id
        )
    mine = set(range(given.lineno, (given.end_lineno or 0) + 1))
    return mine, {line: mine for line in (*range(call.lineno, (call.end_lineno or 0) + 1), 0)}


@pytest.mark.parametrize("edited", [False, True], ids=["first run", "edited"])
@pytest.mark.parametrize("between", ["", "\n" * 30], ids=["beside the call", "far from it"])
def test_a_function_lights_its_own_lines(edited, between, monkeypatch):
    def one(forward: str) -> None:
        head = textwrap.dedent(FORWARD[forward]).strip()
        program = f"{head}\n{between}\nx = torch.tensor(0.5, requires_grad=True)\nw = torch.tensor(2.0, requires_grad=True)\n"
        program += "s = lab.step(make, x, w)\n"
        ran, space = run(program, monkeypatch)
        mine = set(range(1, head.count("\n") + 2))
        if edited:
            truth = Truth(ran.file, monkeypatch)
            space["s"].edit("x", 1.5)
            ran = Ran(ran.file, space["s"].trace, truth.of_events(space["s"].trace))
        calls = program.splitlines().index("s = lab.step(make, x, w)") + 1
        check(ran, {calls: mine, 0: mine})
        for k, e in enumerate(ran.trace.events, 1):
            if e["k"] == "backward":
                root = ran.trace.nodes[e["roots"][0]]
                assert e["src"] == root["src"], k

    each(FORWARD, one)


def test_a_hook_in_the_function(monkeypatch):
    program = textwrap.dedent(
        """
        def f(x):
            y = x * x
            y.register_hook(lambda g: g * 2)
            return y + x

        s = lab.step(
            f,
            torch.tensor(3.0, requires_grad=True),
        )
        """
    )
    ran, space = run(program, monkeypatch)
    _, allowed = of_function(program)
    check(ran, allowed)
    film = space["s"].film
    hook = next(k for k, e in enumerate(ran.trace.events, 1) if e["k"] == "hook")
    assert lit(ran.trace, film, hook)[1] == 4
    assert (
        lit(ran.trace, film, hook + 1)[1] == 5
    )  # where the result was made, for lab.step itself began the pass


def test_nobody_else_is_disturbed():
    """A debugger that traces stays; what a hook raises leaves no trace function behind."""
    x = torch.tensor(3.0, requires_grad=True)

    def fail(g):
        raise ValueError("no")

    def debugger(frame, event, what):
        return None

    for mine in (None, debugger):
        before = sys.gettrace()
        sys.settrace(mine)
        try:
            with lab.record():
                y = x * x
                y.register_hook(lambda g: g)
                y.backward()
                z = x * x
                z.register_hook(fail)
                with pytest.raises(ValueError, match="no"):
                    z.backward()
            now = sys.gettrace()
        finally:
            sys.settrace(before)
        assert now is mine
