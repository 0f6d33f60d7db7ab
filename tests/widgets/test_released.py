"""A recording, and all that is made from it, dies with its last reference: nothing waits for the garbage collector.

It holds the program's tensors and their graph. In a notebook each run of a cell makes another.
"""

import gc
from copy import copy, deepcopy

import pytest

import autograd_lab
from autograd_lab import lab
from autograd_lab.course.practice.question import Program
from autograd_lab.tracing import Trace, narrate, state
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.widgets.frames import Film


def forward(torch):
    x = torch.ones(3, requires_grad=True)
    return x, ((x * 2) ** 2).sum()


def once(torch):
    _, loss = forward(torch)
    loss.backward()


def twice(torch):
    _, loss = forward(torch)
    loss.backward()
    loss.backward()  # raises


def with_a_hook(torch):
    x, loss = forward(torch)
    x.register_hook(lambda g: g * 2)
    loss.backward()


def shared_with_numpy(torch):
    x = torch.ones(3)
    x.numpy()[0] = 2
    y = torch.ones(3, requires_grad=True)
    (x * y).sum().backward()


def written_beneath(torch):
    x = torch.ones(3, requires_grad=True) * 2
    x[1:].detach().fill_(7.0)


PROGRAMS = [once, twice, with_a_hook, shared_with_numpy, written_beneath]


def recorded(torch, recorder, program):
    try:
        with recorder() as trace:
            program(torch)
    except RuntimeError:
        assert program is twice
    return trace


def told(trace):
    assert narrate(trace, len(trace))
    assert list(map(Narrator(trace).sentence, range(len(trace) + 1)))
    assert state(trace, len(trace))


def filmed(trace):
    assert Film(trace).document()


CLOSURE = {"function", "cell", "tuple"}
"""What is left of a function inside another that calls itself, such as Python's own `ast.fix_missing_locations` has."""


def left_by(make):
    """What only the garbage collector can find, once the result of `make` is let go: the names of its types."""
    for _ in range(2):  # what is made once is kept, and takes the place of what earlier tests have kept
        make()
    for _ in range(9):  # what earlier tests have left in PyTorch's memory is found bit by bit
        if not gc.collect():
            break
    gc.freeze()  # out of the collector's sight: each look would take a second, and there are dozens
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        make()
        gc.collect()
        return sorted({type(x).__name__ for x in gc.garbage} - CLOSURE)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("use", [len, told, filmed], ids=lambda use: use.__name__)
@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_a_recording_and_what_is_made_from_it(library, use, program):
    if library == "torch":
        torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
        assert left_by(lambda: use(recorded(torch, lab.record_torch, program))) == []
    else:
        assert left_by(lambda: use(recorded(autograd_lab, lab.record, program))) == []


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_a_trace_that_has_been_read_keeps_none_of_the_tensors(library, program):
    torch, recorder = autograd_lab, lab.record
    if library == "torch":
        torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
        recorder = lab.record_torch

    def alive():
        return [x for x in gc.get_objects() if isinstance(x, torch.Tensor)]

    told(recorded(torch, recorder, program))  # what is made once is kept
    gc.collect()
    before = set(map(id, alive()))
    trace = recorded(torch, recorder, program)
    told(trace)
    gc.collect()
    assert [x for x in alive() if id(x) not in before] == []
    assert len(trace)


def test_a_question_of_practice():
    assert left_by(lambda: Program("x = torch.tensor(2.0, requires_grad=True)", "y = x * 3", "y.backward()").trace) == []  # fmt: skip


def test_a_copy_of_a_trace_outlives_it():
    def texts(trace):
        return list(map(Narrator(trace).sentence, range(len(trace) + 1)))

    trace = Trace.from_json(recorded(autograd_lab, lab.record, once).to_json())
    expected = texts(trace)
    copies = copy(trace), deepcopy(trace)
    del trace
    assert [texts(one) for one in copies] == [expected, expected]
