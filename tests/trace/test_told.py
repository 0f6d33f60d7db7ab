"""What ran before each event: a marked statement of the core, or code that a sentence names. Seen from outside, by the calls that were under way."""

import copy
import re
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import compare_checkouts
import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.tracing.builder import Builder
from autograd_lab.tracing.guard import STRICT
from autograd_lab.tracing.told import IN_THE_PASS, TELLERS, told
from autograd_lab.tracing.trace import EVENT_FIELDS
from autograd_lab.widgets.engine_source import listing

PACKAGE = f"{Path(torch.__file__).parent}/"
IN_THE_CORE = {
    "const": "core/record.py record",
    "const view": "core/record.py apply_view",
    "inplace recorded": "torchlike/autograd/record.py overwrite",
    "edge CopySlices": "torchlike/autograd/record.py overwrite",
    "mode": "core/modes.py set_grad",
    "flag": "core/tensor.py _set_requires_grad",
    "flag retain_grad": "core/hooks.py retain_grad",
    "detach": "core/tensor.py detach",
    "read": "core/tensor.py item",
    "read tolist": "core/tensor.py tolist",
}
"""The function whose statement bears the mark is under way when its events are told; of the other marks see tests/widgets/test_engine_source.py."""
WRITERS = {  # they call `write` of torchlike/autograd/record.py, and tell of it when that has returned
    "torchlike/autograd/record.py overwrite", "torchlike/nn/init.py _filled", "torchlike/optim/lbfgs.py _set", "torchlike/nn/utils/__init__.py clip_grads_with_norm_",
    "torchlike/nn/utils/__init__.py clip_grad_value_", "torchlike/amp.py unscale_",
}  # fmt: skip


class Notes(list):
    """The notes of a recorder, and for each the functions of the package that were under way, innermost first."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def append(self, note):
        super().append(note)
        frame, calls = sys._getframe(1), []
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(PACKAGE + "tracing"):
                pass
            elif code.co_filename.startswith(PACKAGE):
                calls.append(f"{code.co_filename.removeprefix(PACKAGE)} {code.co_name}")
            elif calls:
                break  # what lies further out is the user's
            frame = frame.f_back
        self.calls.append(calls)


class Counted(Builder):
    """A builder that knows which note each event comes from."""

    def replay(self, notes):
        type(self).note_of = self.note_of = []

        def counted():
            for self.note, note in enumerate(notes):
                yield note

        return super().replay(counted())

    def _event(self, kind, src, **fields):
        super()._event(kind, src, **fields)
        self.note_of.append(self.note)


def recorded(program):
    """(event, the functions that were under way, mark, sentence) of all events of a program, which may end with an error."""
    torch.manual_seed(0)
    np.random.seed(0)  # noqa: NPY002 - the programs use it
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            with lab.record() as trace:
                notes = trace._recorder.notes = Notes()
                trace._recorder.builder = Counted
                program(torch)
        except Exception as error:  # told of as well
            print(f"ended with {error!r}")
        finally:
            torch.set_grad_enabled(True)
    if trace._recorder.notes is not notes:
        return []  # taken back by torch.compile
    events = trace.events
    return [
        (e, notes.calls[note], *by) for e, note, by in zip(events, Counted.note_of, told(trace), strict=True)
    ]


def check(e, calls, mark, sentence):
    assert mark or sentence
    if mark:
        assert mark in listing()["at"]
        if mark in IN_THE_CORE:
            assert IN_THE_CORE[mark] in calls
        elif mark == "inplace":
            assert WRITERS & set(calls[:2])
    elif file := re.search(r"\(([\w/]+\.py)\)", sentence):
        assert any(call.startswith(file[1] + " ") for call in calls)
    else:
        by_record = e["k"] == "const" and "core/record.py record" in calls[:2]
        assert not by_record or e["op"] == "to" or "inference" in sentence


def chosen():
    """The banks whole, of the other programs every twentieth."""
    for number, (name, program) in enumerate(compare_checkouts.programs()):
        if name.startswith(("public: ", "own: ")) or number % 20 == 0:
            yield name, program


def test_what_is_said_to_have_run_was_under_way(monkeypatch):
    monkeypatch.delenv(
        STRICT
    )  # of a Function without a tensor among its results the recorder knows nothing, and says so
    wrong, marks = [], set()
    for name, program in chosen():
        for e, calls, mark, sentence in recorded(program):
            marks.add(mark)
            try:
                check(e, calls, mark, sentence)
            except AssertionError:
                wrong.append((name, e["k"], e.get("op"), mark, sentence, calls[:3]))
    assert wrong == []
    assert marks == {"", *listing()["at"]}


# -- each kind ----------------------------------------------------------------------------------------------


class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def leaf():
    return torch.tensor([1.0, 2.0], requires_grad=True)


def all_of_a_pass():
    w, k = leaf(), torch.ones(2)
    y = w * k
    y.register_hook(lambda g: g)
    y.retain_grad()
    ((y * y) + k).sum().backward()


def numpy_writes():
    x = torch.ones(2)
    x * 2
    x.numpy()[0] = 3
    x * 2


def asked_for_a_gradient():
    x = torch.ones(2)
    x * 2
    x.requires_grad_()


def overwritten():
    w = leaf()
    y = w.exp()
    y.mul_(2)
    y.sum().backward()


def refused():
    with suppress(RuntimeError):
        leaf() @ torch.ones(5)


def in_inference_mode():
    with torch.inference_mode():
        torch.ones(2)[0] * 2


def stepped_without_gradients():
    torch.optim.SGD([leaf()], lr=0.1).step()


def stepped():
    w = leaf()
    w.sum().backward()
    torch.optim.SGD([w], lr=0.1).step()


KINDS = {
    "leaf": {"": [lambda: leaf() * 2]},
    "node": {"node": [lambda: leaf() * 2, lambda: leaf()[0], lambda: leaf().sort()], "": [lambda: Twice.apply(leaf())]},
    "edge": {
        "edge": [lambda: leaf() * 2, lambda: leaf().clone().t_()],
        "edge CopySlices": [lambda: leaf().clone()[0].mul_(2)],
        "": [lambda: Twice.apply(leaf())],
    },
    "const": {
        "const": [lambda: torch.ones(2) * 2, lambda: torch.where(torch.ones(2) > 0, torch.ones(2), torch.ones(2))],
        "const view": [lambda: torch.ones(2)[0]],
        "": [
            lambda: torch.ones(2).sort(), lambda: torch.ones(2) > 0, lambda: Twice.apply(torch.ones(2)),
            lambda: torch.tensor(leaf()), lambda: leaf().long(), in_inference_mode,
        ],
    },
    "inplace": {
        "inplace": [lambda: torch.ones(2).mul_(2), lambda: nn.init.zeros_(torch.ones(2))],
        "inplace recorded": [lambda: leaf().clone().mul_(2), lambda: leaf().clone()[0].mul_(2)],
        "": [numpy_writes, stepped, lambda: leaf().clone().t_(), lambda: setattr(leaf(), "data", torch.ones(2))],
    },
    "mode": {"mode": [lambda: torch.no_grad().__enter__()]},
    "idle": {"": [stepped_without_gradients]},
    "detach": {"detach": [lambda: leaf().detach()], "": [lambda: leaf().data, lambda: copy.deepcopy(leaf())]},
    "read": {"read": [lambda: leaf()[0].item()], "read tolist": [lambda: leaf().tolist()], "": [numpy_writes]},
    "flag": {
        "flag": [asked_for_a_gradient],
        "flag retain_grad": [lambda: (leaf() * 2).retain_grad()],
        "": [lambda: (leaf() * 2).detach_()],
    },
    "grad": {
        "": [lambda: setattr(leaf(), "grad", torch.ones(2))],
        "inplace": [lambda: [w := leaf(), w.sum().backward(), w.grad.mul_(2)]],
    },
    "error": {"pop": [overwritten], "": [lambda: leaf().backward()]},
    "refused": {"": [refused]},
    "unrecorded": {"": []},  # only where the recorder fails: see test_recorder.py
    **{kind: {kind: [all_of_a_pass]} for kind in IN_THE_PASS},
}  # fmt: skip
"""Of each kind of event, the marks and ("") the sentences it can have, and programs that lead to them."""


def test_each_kind_has_a_statement_or_a_sentence():
    assert set(KINDS) == set(EVENT_FIELDS) == {*IN_THE_PASS, *TELLERS}


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_told_as_said(kind):
    assert kind in listing()["at"] or kind in TELLERS
    for mark, programs in KINDS[kind].items():
        for program in programs:
            seen = [one for one in recorded(lambda _, run=program: run()) if one[0]["k"] == kind]
            assert mark in {one[2] for one in seen}, f"{kind} {mark}"
            for one in seen:
                check(*one)
