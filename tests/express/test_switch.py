"""Express on and off: the same numbers, graphs and messages; and off, what runs unwatched is what runs watched."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import random_programs as programs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.express import VARIABLE, is_on
from autograd_lab.express.fused import Fused
from autograd_lab.nn.functional import cross_entropy, linear

PACKAGE = Path(torch.__file__).parent
TRAIN = """
import autograd_lab as torch
from autograd_lab import nn
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
x, t = torch.randn(5, 3), torch.tensor([0, 1, 1, 0, 1])
for _ in range(3):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(net(x), t)
    loss.backward()
    optimizer.step()
print([p.tolist() for p in net.parameters()], loss.item())
"""


def python(text, folder=PACKAGE.parent, **environment):
    """What a program prints in a process of its own."""
    known = {k: v for k, v in os.environ.items() if k != VARIABLE}
    run = subprocess.run(
        [sys.executable, "-c", text], env={**known, "PYTHONPATH": str(folder), **environment}, cwd=folder, capture_output=True, text=True, check=True
    )  # fmt: skip
    return run.stdout.strip()


@pytest.fixture(autouse=True)
def not_fixed_by_the_environment(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)
    lab.fast()
    yield
    monkeypatch.undo()
    lab.fast()


# -- when it is on ------------------------------------------------------------------------------------

STATE = "from autograd_lab.express import is_on; print(is_on())"


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("import autograd_lab", None, True),
        ("from autograd_lab import lab", None, False),
        ("import autograd_lab; from autograd_lab import lab; lab.fast()", None, True),
        ("from autograd_lab import lab; lab.fast(); lab.fast(False)", None, False),
        ("import autograd_lab", "0", False),
        ("from autograd_lab import lab; lab.fast()", "0", False),
        ("from autograd_lab import lab; lab.fast(False)", "1", True),
    ],
)
def test_scripts_have_it_lab_switches_it_off_and_the_environment_wins(text, value, expected):
    environment = {} if value is None else {VARIABLE: value}
    assert python(f"{text}; {STATE}", **environment) == str(expected)


def test_a_program_that_is_run_in_place_of_pytorch_has_it(tmp_path):
    (tmp_path / "program.py").write_text(f"import torch; {STATE}")
    (tmp_path / "run.py").write_text(
        f"import sys; from autograd_lab.cli import main; sys.exit(main(['run', {str(tmp_path / 'program.py')!r}]))"
    )
    assert python((tmp_path / "run.py").read_text()) == "True"


def layer():
    w, b = torch.ones(2, 3, requires_grad=True), torch.ones(2, requires_grad=True)
    return linear(torch.ones(4, 3), w, b)


def test_it_governs_names_that_were_imported_before():
    assert isinstance(layer()._edge, Fused)
    assert lab.fast(False) is is_on() is False
    assert not isinstance(layer()._edge, Fused)
    target = torch.tensor([0, 1, 0, 1])
    assert not isinstance(cross_entropy(layer(), target)._edge, Fused)
    assert lab.fast() is is_on() is True
    assert isinstance(cross_entropy(layer(), target)._edge, Fused)


def switch_to(on):
    def hook(g):
        lab.fast(on)

    return hook


def test_a_pass_ends_as_it_began():
    x = torch.tensor(2.0, requires_grad=True)
    for begin in (True, False):
        lab.fast(begin)
        y = x * 3
        z = y * y
        y.register_hook(switch_to(not begin))
        x.grad = None
        z.backward()
        assert x.grad == 36
        assert is_on() is not begin


# -- without it ---------------------------------------------------------------------------------------


def test_a_package_without_the_folder_computes_the_same(tmp_path):
    shutil.copytree(
        PACKAGE, tmp_path / "autograd_lab", ignore=shutil.ignore_patterns("express", "__pycache__", "_course")
    )
    without = "import sys; assert 'autograd_lab.express' not in sys.modules"
    assert python(TRAIN + without, tmp_path) == python(TRAIN)
    assert python("from autograd_lab import lab; print(lab.fast())", tmp_path) == "False"


# -- on and off ---------------------------------------------------------------------------------------

number = st.integers(0, 11)
PROGRAM = st.tuples(
    st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 5)), min_size=1, max_size=3),
    st.lists(
        st.tuples(st.sampled_from(sorted(programs.STEPS)), number, number, number), min_size=1, max_size=12
    ),
)
RANDOM = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)


@settings(RANDOM, max_examples=300)
@given(PROGRAM)
def test_random_programs_leave_the_same_to_the_bit(program):
    lab.fast()
    on = programs.run(torch, program)
    lab.fast(False)
    assert repr(programs.run(torch, program)) == repr(on)


@settings(RANDOM, max_examples=100)
@given(PROGRAM)
def test_their_messages_are_the_same(program):
    told = []
    for on in (True, False):
        lab.fast(on)
        with lab.record() as trace:
            programs.run(torch, program)
        told.append((trace.events, trace.values))
    assert told[0] == told[1]


LAYERS = [
    lambda i, o: torch.nn.Linear(i, o),
    lambda i, o: torch.nn.Linear(i, o, bias=False),
    lambda i, o: torch.nn.Sequential(torch.nn.Linear(i, o), torch.nn.LayerNorm(o)),
]
BETWEEN = [torch.tanh, torch.relu, torch.sigmoid, lambda h: h * h, lambda h: h + h, lambda h: h]
LOSSES = [
    lambda y: torch.nn.functional.cross_entropy(y, torch.arange(len(y)) % y.shape[1]),
    lambda y: (y * y).mean(),
    lambda y: y.softmax(1).log().sum(),
]
NETWORKS = st.tuples(
    st.lists(
        st.tuples(st.integers(1, 4), st.sampled_from(LAYERS), st.sampled_from(BETWEEN)),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from(LOSSES),
)


def rules_that_ran(network):
    """The code of each VJP that a step of the network runs, in order."""
    layers, loss = network
    sizes = [3, *(size for size, _, _ in layers)]
    torch.manual_seed(0)
    h = torch.rand(2, 3)
    for (size, make, between), before in zip(layers, sizes, strict=False):
        h = between(make(before, size)(h))
    ran = []

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_name == "vjp":
            ran.append(frame.f_code)

    result = loss(h)
    sys.setprofile(note)
    try:
        result.backward()
    finally:
        sys.setprofile(None)
    return ran


@settings(RANDOM, max_examples=300)
@given(NETWORKS)
def test_off_the_rules_that_run_unwatched_are_those_that_run_watched(network):
    lab.fast(False)
    unwatched = rules_that_ran(network)
    with lab.record():
        watched = rules_that_ran(network)
    assert unwatched == watched
    assert unwatched


def test_on_they_are_not():
    """So that the test above can fail."""
    network = [(4, LAYERS[0], torch.tanh)], LOSSES[0]
    with lab.record():
        watched = rules_that_ran(network)
    assert rules_that_ran(network) != watched
