"""Who switches recording off is said: a mode that the library needs for its own work is no mode of the program's."""

from itertools import pairwise

import pytest
from each import each
from library_calls import CALLS, recorded

import autograd_lab
from autograd_lab import lab
from autograd_lab.tracing import narrate

OWN = [call for call in CALLS if "grad_enabled" not in call and "no_grad" not in call]


def modes_of(trace):
    return [k for k, e in enumerate(trace.events) if e["k"] == "mode"]


def check_call(call, torch, record):
    trace, _ = recorded(torch, record, f"X = {call}\n")
    modes = modes_of(trace)
    for k, e in enumerate(trace.events):
        if e["k"] not in ("mode", "detach", "flag", "read") or (e["k"] != "mode" and not e.get("inside")):
            continue
        who = e["inside"]
        assert who.replace(".", "").isidentifier(), who
        assert not who.split(".")[-1].startswith("_")
        assert who in narrate(trace, k + 1) or trace.tensors[e["t"]]["name"]
    for k in modes:
        who = trace.events[k]["inside"]
        assert narrate(trace, k + 1).startswith(f"{who} switches recording ")
    for before, after in pairwise(modes):
        if not trace.events[before]["grad"]:
            between = {e["k"] for e in trace.events[before + 1 : after]}
            assert between - {"leaf", "inplace", "grad"}, f"only writes: {between}"


def test_the_library_switches_modes_by_its_name_and_for_results_only():
    each(OWN, check_call, autograd_lab, lab.record)


def test_so_does_pytorch():
    torch = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    each(OWN, check_call, torch, lab.record_torch)


BY_THE_LIBRARY = [
    "torch.autograd.functional.jacobian(lambda t: t * t, torch.ones(2))\n",
    "torch.autograd.functional.vjp(lambda t: t * t, torch.ones(1))\n",
]
BY_THE_PROGRAM = [
    "X = torch.ones(2)\nw[0, :2] * X\nX.requires_grad_()\n",
    "X = torch.ones(2)\nw[0, :2] * X\nX.requires_grad = True\n",
    "X = nn.Linear(2, 2)\nX.requires_grad_(False)\n",
    "X = nn.Linear(2, 2)\nX.weight.requires_grad_(False)\n",
    "X = w * 2\nX.retain_grad()\n",
    "X = w * 2\nX.detach_()\n",
]


READ = [
    "w.sum().item()",
    "float(w.sum())",
    "w.tolist()",
    "w.detach().numpy()",
    "if w.sum() > 0: pass",
    "f'{w.sum():.2f}'",
]


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_who_reads_a_number_is_said(library):
    torch = pytest.importorskip(library, exc_type=ImportError)
    record = lab.record if torch is autograd_lab else lab.record_torch
    program = "".join(f"{line}\n" for line in READ) + "lbfgs.step(closure)\n"
    trace, _ = recorded(torch, record, program)
    told = [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == "read"]
    whose = [text.startswith("LBFGS.step reads ") for text in told]
    assert whose == [False] * (len(whose) - 2) + [True, True], told
    assert len(told) > len(READ) - 1


@pytest.mark.parametrize("program", BY_THE_LIBRARY + BY_THE_PROGRAM)
@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_who_sets_requires_grad_is_said(program, library):
    torch = pytest.importorskip(library, exc_type=ImportError)
    trace, _ = recorded(torch, lab.record if torch is autograd_lab else lab.record_torch, program)
    told = [narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == "flag"]
    assert told
    assert all(("sets that for its work" in text) is (program in BY_THE_LIBRARY) for text in told), told


@pytest.mark.parametrize(
    "program",
    [
        "with torch.no_grad():\n    w * 2\n",
        "torch.set_grad_enabled(False)\nw * 2\ntorch.set_grad_enabled(True)\n",
        "@torch.no_grad()\ndef call(): return w * 2\ncall()\n",
        "with torch.inference_mode():\n    w * 2\n",
        "with torch.no_grad():\n    w.zero_()\n",
        "with torch.no_grad():\n    nn.Linear(2, 2)\n",
        "with torch.no_grad():\n    pass\n",
        "with contextlib.ExitStack() as stack:\n    stack.enter_context(torch.no_grad())\n    w * 2\n",
    ],
)
@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_the_programs_own_modes_are_the_programs(program, library):
    torch = pytest.importorskip(library, exc_type=ImportError)
    record = lab.record if torch is autograd_lab else lab.record_torch
    trace, _ = recorded(torch, record, "import contextlib\n" + program)
    off, on = modes_of(trace)
    assert narrate(trace, off + 1) == "Recording is off: operations run, but make no nodes."
    assert narrate(trace, on + 1) == "Recording is on again: operations make nodes."
