"""A recorded program does what it does unrecorded: hundreds of operations and whole programs, on both libraries.

Each is run twice, with and without a recorder, and what it leaves is compared to the bit (unchanged.py). A recorder that shows
nothing changes nothing either: so the nodes of its trace are counted against the graph that the program built.
"""

import ast
import importlib
import re
import sys
import threading
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
from unchanged import differences, lost, missing, outcome
from whole_programs import PROGRAMS

import autograd_lab
from autograd_lab import lab
from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator, fill
from tests.operations import CALLS

pytestmark = pytest.mark.slow  # hundreds of programs, each run with and without a recorder on two libraries

LIBRARIES = ("autograd_lab", "torch")

BACKWARD = """
results = [r for r in (result if isinstance(result, (list, tuple)) else [result]) if isinstance(r, torch.Tensor) and r.requires_grad]
if results:
    sum((r * r).sum() for r in results).backward()
"""

MOST_LOST = 5  # of all operations


@pytest.fixture(params=LIBRARIES)
def library(request, monkeypatch):
    """A library and its recorder, which notes its own failures as it does for users."""
    monkeypatch.delenv("AUTOGRAD_LAB_STRICT")
    if request.param == "autograd_lab":
        for (
            name
        ) in modules_of_torch():  # else a program finds parts of the real one where ours are not loaded yet
            monkeypatch.delitem(sys.modules, name)
        yield request.getfixturevalue("standing_in"), lab.record
        for name in modules_of_torch():  # a program may have imported more
            del sys.modules[name]
        return
    torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    for name in ("checkpoint",):
        importlib.import_module(f"torch.utils.{name}")
    for name in ("parametrize", "prune", "parametrizations"):
        importlib.import_module(f"torch.nn.utils.{name}")
    yield torch, lab.record_torch


def modules_of_torch():
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "torch"}


OTHERWISE = {
    "packed sequences": r"variables.padded.version: 3 became 2",
    "every kind of hook": r"seen\[\d+\]\[1\]\.version: 0 became 1|.*\.grad\.version: 0 became 1",
    "custom Functions": r".*\.grad\.version: 1 became 2",
    "custom_functions": r"variables.x\.grad\.version: 0 became 1",
    "feature_hooks": r"variables.x\.grad\.version: 0 became 1",
    "implicit_and_bilevel": r"variables.[Wx]\.grad\.version: 0 became 1",
    "gru_many_to_one": r"variables.padded.version: 5 became 4",
    "a Function with setup_context, vmap and jvp": r".*\.grad\.version: 0 became 1",
    "compiled, aot_eager backend": r".*\.grad\.version: 1 became 2",
    "CrossMapLRN2dBackward": r"variables\.x\.grad\.version: \d+ became 1",
    "IndexPutImplBackward0: torch.autograd.grad": r".*IndexPutImplBackward0.* became .*|.*\.version: 1 became 0",
}
"""What is not the same in PyTorch when it is recorded, by program; tracing/README.md says why.

A gradient that code of the user's computed in a pass is held by the recorder, so that the accumulator copies it: one more version.
PyTorch unpads sequences, and computes the second derivative of `a[I]`, otherwise under any dispatch mode.
"""


LEAST_SQUARES = "LinalgLstsqBackward0"
"""Its last bits depend on where the memory lies that LAPACK works in: they vary from call to call, recorded or not."""


def last_bits_only(difference):
    """Whether a difference is one of numbers that are as good as equal."""
    found = re.fullmatch(r".*\.bits: (\('<f8', .*\)) became (\('<f8', .*\))", difference, re.DOTALL)
    if not found:
        return False
    (_, shape, a), (_, other, b) = (ast.literal_eval(text) for text in found.groups())
    return shape == other and np.allclose(np.frombuffer(a), np.frombuffer(b), rtol=1e-12, atol=1e-13)


def differing(name, torch, plain, recorded, every=True):
    """Where two outcomes differ, but for what is listed above; and (`every`) what is listed without need."""
    if torch is autograd_lab:
        return differences(plain, recorded)
    found = [] if repr(plain) == repr(recorded) else differences(viewed(plain), viewed(recorded))
    if name.startswith(LEAST_SQUARES):
        found = [d for d in found if not last_bits_only(d)]
    known = next((known for begin, known in OTHERWISE.items() if name.startswith(begin)), None)
    if known is None:
        return found
    rest = [d for d in found if not re.fullmatch(known, d, re.DOTALL)]
    return rest if found or not every else ["it is the same, and need not be listed"]


def viewed(left):
    """With a view for each alias: `reshape` makes the one where PyTorch is not recorded, and the other under any dispatch mode."""
    if isinstance(left, dict):
        if isinstance(left, Counter):
            left = Counter({k: n for k, n in left.items() if k != ALIAS} | {VIEW: left[VIEW] + left[ALIAS]})
        return {k: viewed(x) for k, x in left.items()}
    if isinstance(left, list):
        return [viewed(x) for x in left]
    return left.replace(ALIAS, VIEW) if isinstance(left, str) else left


ALIAS, VIEW = "ReshapeAliasBackward0", "ViewBackward0"


def compared(name, source, torch, recorder, **more):
    """(what changed when the program was recorded, what it left, the trace)."""
    plain, _ = outcome(name, source, torch, None, **more)
    if plain["warnings"]:  # some are given once in a process
        plain, _ = outcome(name, source, torch, None, **more)
    found, trace = outcome(name, source, torch, recorder, **more)
    return differing(name, torch, plain, found), found, trace


def as_program(call):
    """A call of the table as a program that goes on with a backward pass."""
    *steps, last = [ast.unparse(step) for step in ast.parse(call.text).body]
    return "\n".join(["globals().update(call.tensors(torch))", *steps, f"result = {last}"]) + BACKWARD


def test_operations(library):
    """Every call of the table, with the backward pass from it."""
    torch, recorder = library
    assert len({call.rule for call in CALLS}) >= 300
    changed, silent, failed = {}, {}, set()
    for call in CALLS:
        found, left, trace = compared(call.name, as_program(call), torch, recorder, call=call)
        if found:
            changed[call.name] = found[:2]
        if left["error"] is None and (absent := missing(left, trace)):
            silent[call.name] = absent
        if lost(trace):
            failed.add(call.name)
    assert not changed
    assert not silent
    assert len(failed) <= MOST_LOST, failed


def programs_for(library):
    return {name: p for name, p in PROGRAMS.items() if p.only in ("", library[0].__name__)}


def ran_as_told(program, left):
    """Whether the program ended as the table says."""
    error = left["error"]
    return error is None if not program.raises else error is not None and error[0].endswith(program.raises)


SCRIPTS = sorted((Path(__file__).parents[1] / "torchlike" / "programs").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts(library, script):
    """The scripts in tests/torchlike/programs print and leave the same."""
    torch, recorder = library
    found, left, trace = compared(script.stem, script.read_text(encoding="utf-8"), torch, recorder)
    assert not found
    assert left["error"] is None
    assert not lost(trace)
    assert not missing(left, trace)


ASIDE = {"torch.func.jvp(torch.sin, (x,), (x,))", "forward over reverse"}
"""Programs whose tangents have a graph, too: our engine computes those aside, and shows nobody how."""


def test_whole_programs(library):
    """Every whole program ends as it is meant to, and leaves the same when it is recorded; its trace can be shown."""
    torch, recorder = library
    wrong = {}
    for name, program in programs_for(library).items():
        found, left, trace = compared(name, program.source, torch, recorder)
        if not ran_as_told(program, left):
            found.insert(0, f"ended with {left['error']}")
        if not (name in ASIDE and torch is autograd_lab):
            found += [f"not in the trace: {node}" for node in missing(left, trace)]
        found += lost(trace)
        found += in_place(torch)
        if found:
            wrong[name] = found[:3]
        shown(trace)
    assert not wrong


def shown(trace):
    """A trace survives JSON and has a sentence for every event, and a state at its end."""
    again = Trace.from_json(trace.to_json())
    narrator = Narrator(again)
    for k in range(len(again) + 1):
        assert fill(narrator.phrase(k))
    assert state(again, len(again)).k == len(again)


def in_place(torch):
    """What a recording left in PyTorch: nothing may be."""
    if torch is autograd_lab:
        return [f"{watcher} still watches" for watcher in autograd_lab.autograd.modes.WATCHERS]
    left = {
        "function modes": torch.overrides._get_current_function_mode_stack(),
        "dispatch modes": torch.utils._python_dispatch._get_current_dispatch_mode_stack(),
        "an engine": torch.autograd._engine_run_backward is not torch.autograd.graph._engine_run_backward,
        "a call of modules": torch.nn.Module.__call__ is not torch.nn.Module._wrapped_call_impl,
    }
    return [f"{what} left in PyTorch: {found}" for what, found in left.items() if found]


# -- when the recorder fails --------------------------------------------------------------------------

FAILING = [
    "training with SGD(m.parameters(), lr=.1)", "every kind of hook", "custom Functions", "double backward",
    "row of a result, made in no mode, written in no_grad", "LSTM(2, 3)", "checkpoint", "a hook raises", "grad mode as a switch and as a decorator",
]  # fmt: skip


class Failing(list):
    """Notes that cannot be taken: the one at place `at` (counting what was tried) raises."""

    def __init__(self, at):
        super().__init__()
        self.left = at

    def append(self, note):
        self.left -= 1
        if self.left == 0 and note[0] != "unrecorded":
            raise LookupError("a fault of the recorder")
        super().append(note)


def made_failing(recorder, at):
    """A recorder whose note number `at` raises."""

    def start():
        recording = recorder()
        recording._recorder.notes = Failing(at)
        return recording

    return start


@pytest.mark.parametrize("name", FAILING)
def test_a_recorder_that_fails_lets_the_program_go_on(library, name):
    """Whichever note it is that cannot be taken: the program does not notice, and the trace says that something is missing."""
    torch, recorder = library
    source = PROGRAMS[name].source
    plain, _ = outcome(name, source, torch, None)
    at, step = 0, 1
    while True:
        at += step
        step = 1 + at // 15
        left, trace = outcome(name, source, torch, made_failing(recorder, at))
        assert not (found := differing(name, torch, plain, left, every=False)), f"note {at}: {found}"
        assert not in_place(torch)
        shown(trace)
        if not lost(trace):
            break
        assert "a fault of the recorder" in lost(trace)[0]
    assert at > 20, "faults were injected"


@pytest.mark.parametrize(
    "kind",
    ["met", "operation", "written", "popped", "applied", "pass_started", "accumulated", "hooked", "_where"],
)
def test_a_builder_that_fails_leaves_a_gap(library, monkeypatch, kind):
    """What cannot be built is said to be missing; the rest of the trace is there, and can be shown."""
    torch, recorder = library
    builder = recorder()._recorder.builder

    def fail(*args, **kwargs):
        raise LookupError("a fault of the builder")

    monkeypatch.setattr(builder, kind, fail)
    _, trace = outcome("hooks", PROGRAMS["every kind of hook"].source, torch, recorder)
    assert lost(trace)
    shown(trace)


def test_a_failure_raises_where_it_is_asked_for(library, monkeypatch):
    """The project's tests run with this switch."""
    torch, recorder = library
    monkeypatch.setenv("AUTOGRAD_LAB_STRICT", "1")
    with pytest.raises(LookupError, match="a fault"), made_failing(recorder, 2)():
        torch.ones(3, requires_grad=True) * 2 + 1


def test_the_sentence_of_a_gap(library):
    """The event tells the operation, the line and the error."""
    torch, recorder = library
    with made_failing(recorder, 4)() as trace:
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.exp()
        y.sin()
    (k,) = (k for k, event in enumerate(trace.events) if event["k"] == "unrecorded")
    event = trace.events[k]
    line = trace.sources[event["src"][0]]["lines"][str(event["src"][1])]
    assert (event["op"], event["type"], event["message"]) == ("exp", "LookupError", "a fault of the recorder")
    assert line.strip() == "y.exp()"
    assert narrate(trace, k + 1) == (
        "A step is missing here: the recorder failed to write down exp (LookupError: a fault of the recorder). "
        "Your program went on as if nobody recorded it."
    )


def test_misuse_still_raises(library):
    torch, recorder = library
    with recorder(), pytest.raises(RuntimeError, match="already running"), recorder():
        pass
    with pytest.raises(TypeError):
        recorder(lambda: 1) if torch is autograd_lab else recorder(3)
    assert not in_place(torch)


def test_an_interrupt_passes_through(library):
    torch, recorder = library

    def interrupt(g):
        raise KeyboardInterrupt

    x = torch.ones(3, requires_grad=True)
    y = x * 2
    y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt), recorder():
        y.sum().backward()
    assert not in_place(torch)


def test_threads_record_by_themselves(library):
    """Each thread's recording sees its own program, whichever ends first; a thread that does not record is not seen."""
    torch, recorder = library
    traces, both = {}, threading.Barrier(3)

    def work(name, recording):
        x = torch.ones(3, requires_grad=True)
        with recording if recording is not None else nullcontext() as traces[name]:
            both.wait()
            y = x.sin() if name == "first" else x.cos()
            y.sum().backward()
            both.wait()
            if name == "second":
                (x * 2).sum().backward()

    threads = [
        threading.Thread(target=work, args=(name, recorder() if name != "third" else None))
        for name in ("first", "second", "third")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = {
        name: sorted({node["op"] for node in trace.nodes} - {"accumulate"})
        for name, trace in traces.items()
        if trace is not None
    }
    passes = {name: sum(e["k"] == "done" for e in t.events) for name, t in traces.items() if t is not None}
    assert {name: [op for op in ops if op in ("sin", "cos", "mul")] for name, ops in made.items()} == {
        "first": ["sin"],
        "second": ["cos", "mul"],
    }
    assert passes == {"first": 1, "second": 2}
    assert not in_place(torch)


def test_the_comparison_notices(library):
    """What is compared is seen: a recorder that touches any of it is found out."""
    torch, _ = library

    class Clumsy:
        def __init__(self, touch):
            self.touch = touch

        def __enter__(self):
            self.touch()

        def __exit__(self, *args):
            pass

    x = torch.ones(3, requires_grad=True)
    touches = {
        "generators[0]": lambda: torch.rand(2),
        "generators[2]": lambda: __import__("random").random(),
        "warnings": lambda: __import__("warnings").warn("clumsy", stacklevel=1),
        "modes[0]": lambda: torch.set_grad_enabled(False),
        "variables.y": lambda: x.data.add_(1),
        "error": lambda: 1 / 0,
        "variables.y.graph": lambda: x.requires_grad_(False),
    }
    source = "y = x * 2"
    for what, touch in touches.items():
        plain, _ = outcome("touch", source, torch, None, x=x)
        touched, _ = outcome("touch", source, torch, lambda touch=touch: Clumsy(touch), x=x)
        torch.set_grad_enabled(True)
        assert any(d.startswith(what) for d in differences(plain, touched)), what
