"""What tensors are called, while what the user's variables hold is changing."""

from __future__ import annotations

import gc
import linecache
import re
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.tracing.names import Names, all_parts_of, leads_to
from autograd_lab.tracing.sources import keep_source
from autograd_lab.widgets.program import recorded


def leaf(x: float = 1.0):
    return torch.tensor(x, requires_grad=True)


def test_parts_of_long_lists_and_dicts_have_names():
    params = [leaf() for _ in range(300)]
    named = {f"p{i}": leaf() for i in range(300)}
    names, frame = Names(), sys._getframe()
    for i in (0, 5, 299):
        assert names.name(frame, params[i]) == f"params[{i}]"
        assert names.name(frame, named[f"p{i}"]) == f"named['p{i}']"


def test_long_lists_of_other_things_are_not_looked_through():
    numbers = [0.5] * 1000
    numbers.append(w := leaf())
    del w
    assert Names().name(sys._getframe(), numbers[-1]) == ""


def test_a_table_that_holds_what_is_sought_is_never_passed_over():
    """Most tables hold none of it, and need no names for all their parts."""
    t, layer = leaf(), nn.Linear(1, 1)
    own = type("Net", (), {"__module__": "__main__"})()
    own.w = t
    row = [0.5, "x", None]
    for what, parts in {
        "a tensor": [[t], (t, 1), {"k": t}, [[t]], [{"k": (t,)}], {"k": [row, [t]]}],
        "an object": [own, [own], {"k": own}],
        "a module": [layer, [row, layer], {"k": [layer]}],
    }.items():
        for held in parts:
            found = {id(part) for _, part in all_parts_of("held", held)}
            sought = {id(part) for part in (t, layer.weight, layer.bias)} & found
            assert sought, (what, held)
            assert all(leads_to(held, {one}) for one in sought), (what, held)
    for held in ([], row, [row, row], {"k": row}, {1: [row]}, [np.ones(3), len]):
        assert not leads_to(held, {id(t)})


def test_a_list_that_changes():
    params, names, frame = [leaf() for _ in range(5)], Names(), sys._getframe()
    assert names.name(frame, params[3]) == "params[3]"
    params.append(leaf())
    assert names.name(frame, params[5]) == "params[5]"
    params.insert(0, leaf())
    for i in range(7):
        assert names.name(frame, params[i]) == f"params[{i}]"
    gone = params.pop(2)
    assert names.name(frame, params[2]) == "params[2]"
    params[4] = leaf()
    assert names.name(frame, params[4]) == "params[4]"
    params.reverse()
    for i in range(6):
        assert names.name(frame, params[i]) == f"params[{i}]"
    assert names.name(frame, gone) == "gone"


def test_a_global_that_changes():
    space = {"torch": torch, "names": Names(), "_found": []}
    lines = [
        "_found.append(names.name(frame(), w))",
        "v = w; del w; _found.append(names.name(frame(), v))",
        "w = v; v = leaf(); _found.append(names.name(frame(), w)); _found.append(names.name(frame(), v))",
        "u, v = v, leaf(); _found.append(names.name(frame(), u)); _found.append(names.name(frame(), v))",
        "for v in [leaf(), leaf(), leaf()]: _found.append(names.name(frame(), v))",
    ]
    space.update(frame=lambda: sys._getframe(1), leaf=leaf, w=leaf())
    for line in lines:
        exec(line, space)
    assert space["_found"] == ["w", "v", "w", "v", "u", "v", "v", "v", "v"]


def test_a_new_tensor_at_the_address_of_an_old_one():
    """Python gives the id of what is gone to what comes next."""
    names, frame, found = Names(), sys._getframe(), set()
    for _ in range(50):
        a, b = leaf(), leaf()
        held = [leaf(), leaf()]
        # no comprehension, whose variable is one of this frame's from Python 3.12 on
        found |= set(zip(map(partial(names.name, frame), (a, b, *held)), range(4), strict=True))
        del a, b, held
        gc.collect(0)
    assert found == {("a", 0), ("b", 1), ("held[0]", 2), ("held[1]", 3)}


def test_a_module_that_changes():
    net, names, frame = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)), Names(), sys._getframe()
    weight = net[0].weight
    assert names.name(frame, net[1].bias) == "net.1.bias"
    net.append(nn.Linear(2, 2))
    assert names.name(frame, net[2].bias) == "net.2.bias"
    net[0] = nn.Linear(2, 2)
    assert names.name(frame, net[0].weight) == "net.0.weight"
    assert names.name(frame, weight) == "weight"
    hidden = [weight]
    del weight
    assert names.name(frame, hidden[0]) == "hidden[0]"
    net[2] = net[1]
    del net[1]
    assert names.name(frame, net[1].bias) == "net.1.bias"
    net[1].bias, net[1].other = nn.Parameter(torch.zeros(2)), net[1].bias
    assert names.name(frame, net[1].other) == "net.1.other"
    assert names.name(frame, net[1].bias) == "net.1.bias"


def test_a_module_in_several_variables():
    layer = nn.Linear(2, 2)
    net, frame = nn.Sequential(layer, nn.Tanh(), layer), sys._getframe()
    assert Names().name(frame, layer.weight) == "layer.weight"
    del layer
    names = Names()
    assert names.name(frame, net[0].weight) == "net.0.weight"
    again = net
    assert names.name(frame, again[2].bias) == "net.0.bias"  # the first of its names
    net = nn.Sequential(again[2])
    assert names.name(frame, net[0].bias) == "net.0.bias"
    del net
    assert names.name(frame, again[0].bias) == "again.0.bias"


def test_a_parameter_that_two_modules_share():
    net = nn.Module()
    net.encode, net.decode = nn.Linear(2, 2), nn.Linear(2, 2)
    net.decode.weight = net.encode.weight
    names, frame = Names(), sys._getframe()
    assert names.name(frame, net.decode.weight) == "net.encode.weight"
    net.encode = nn.Linear(2, 2)
    assert names.name(frame, net.decode.weight) == "net.decode.weight"
    assert names.name(frame, net.encode.weight) == "net.encode.weight"


def test_names_are_right_whatever_is_remembered():
    import random

    draw = random.Random(0)
    names, frame = Names(), sys._getframe()
    params, named, net = [leaf() for _ in range(4)], {}, nn.ModuleDict()
    w = leaf()
    for turn in range(400):
        match draw.randrange(8):
            case 0:
                params.append(leaf())
            case 1:
                params.insert(draw.randrange(len(params)), w)
            case 2:
                params[draw.randrange(len(params))] = leaf()
            case 3:
                w = leaf()
            case 4:
                named[f"k{draw.randrange(6)}"] = draw.choice(params)
            case 5:
                net[f"m{draw.randrange(4)}"] = nn.Linear(1, 1)
            case 6:
                named.pop(next(iter(named), ""), None)
            case _:
                del params[draw.randrange(len(params)) :]
                params += [leaf(), leaf()]
        _held = [draw.choice([w, *params, *named.values(), *net.parameters()])]
        found = names.name(frame, _held[0])
        here = {"w": w} | {f"params[{i}]": p for i, p in enumerate(params)}
        here |= {f"named[{key!r}]": p for key, p in named.items()}
        here |= {f"net.{name}": p for name, p in net.named_parameters()}
        assert here[found] is _held[0], (turn, found)
        here.clear()


def test_names_in_a_recording_follow_the_program():
    params = [leaf(2.0)]
    with lab.record() as trace:
        y = params[0] * 2
        for _ in range(3):
            params.append(leaf(3.0))
            y = y * params[-1]
        params[1] = leaf(4.0)
        (y * params[1]).backward()
    named = [t["name"] for t in trace.tensors if t["leaf"] and t["requires_grad"]]
    assert named == ["params[0]", "params[1]", "params[2]", "params[3]", "params[1]"]


def test_a_loop_variable_names_no_parameter_that_a_list_holds():
    """The next turn of the loop calls another one so: then two leaves of the table had one name, and their neighbors others."""
    space = {"torch": torch, "lab": lab}
    source = """
ps = [torch.tensor(float(k), requires_grad=True) for k in range(3)]
held = {"w": torch.tensor(1.0, requires_grad=True), "b": torch.tensor(2.0, requires_grad=True)}
w, b = torch.tensor(1.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
xs = [torch.tensor(1.0), torch.tensor(2.0)]

def inside(parameters):
    total = 0
    for i, p in enumerate(parameters):
        total = total + p * p
    return total

with lab.record() as loop:
    total = 0
    for p in ps:
        total = total + p * p
    total.backward()
with lab.record() as function:
    inside(ps).backward()
with lab.record() as entries:
    sum(v * 2 for k, v in held.items()).backward()
with lab.record() as named:
    for q in (w, b):
        (q * 2).backward()
with lab.record() as nowhere:
    for q in [torch.tensor(1.0, requires_grad=True)]:
        (q * 2).backward()
async def later(tensors):
    for t in tensors:
        yield t
async def waits(parameters):
    with lab.record() as trace:
        async for p in later(parameters):
            (p * p).backward()
    return trace
try:
    waits(ps).send(None)
except StopIteration as done:
    waited = done.value
with lab.record() as data:
    for x in xs:
        (w * x).backward()
"""
    file = "loop variables"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec"), space)

    def leaves(name, wanted=True):
        return [t["name"] for t in space[name].tensors if t["leaf"] and t["requires_grad"] is wanted]

    assert leaves("loop") == ["ps[0]", "ps[1]", "ps[2]"]
    assert leaves("function") == ["parameters[0]", "parameters[1]", "parameters[2]"]
    assert leaves("waited") == ["parameters[0]", "parameters[1]", "parameters[2]"]
    assert leaves("entries") == ["held['w']", "held['b']"]
    assert leaves("named") == ["w", "b"]
    assert leaves("nowhere") == ["q"]
    assert leaves("data", False) == ["x", "x"]  # as the code says


def test_the_loops_of_another_function_say_nothing_of_a_name():
    """`x` is a loop's in one function, and an argument in the next; both are in this file."""

    def passes(tensors):
        with lab.record() as trace:
            for x in tensors:
                (x * x).backward()
        return trace

    def takes(x, y):
        h = x
        with lab.record() as trace:
            (h * y).sum().backward()
        return trace

    def leaves(trace):
        return [t["name"] for t in trace.tensors if t["leaf"]]

    pair = [torch.tensor(1.0, requires_grad=True) for _ in range(2)]
    assert leaves(takes(*pair)) == ["x", "y"]
    assert leaves(passes(pair)) == ["tensors[0]", "tensors[1]"]


def test_a_source_that_is_not_there_is_not_looked_for_again(monkeypatch):
    """Python looks through the whole import path each time: in a loop without a source, that was a third of the time of recording."""
    text = "def step(ps):\n    for p in ps:\n        (p * p).backward()\n        p.grad = None\n"
    program = {}
    exec(compile(text, "nowhere.py", "exec"), program)
    looked, update = [], linecache.updatecache
    monkeypatch.setattr(
        linecache, "updatecache", lambda file, *more: looked.append(file) or update(file, *more)
    )

    def record():
        with lab.record():
            program["step"]([leaf() for _ in range(10)])
        return looked.count("nowhere.py")

    first = record()
    assert [record() for _ in range(5)] == [first] * 5


def test_sources_are_kept_in_one_place():
    """Who cuts a text into lines in another way has other lines than Python."""
    package = Path(lab.__file__).parent
    keepers = [
        file.relative_to(package).as_posix()
        for file in package.rglob("*.py")
        if re.search(r"linecache\.cache\[[^]]+\] = ", file.read_text(encoding="utf-8"))
    ]
    assert keepers == ["tracing/sources.py"]


NEURONS = """
class Neuron:
    def __init__(self, n):
        self.w = [torch.tensor(0.5, requires_grad=True) for _ in range(n)]
        self.b = torch.tensor(0.0, requires_grad=True)

    def __call__(self, x):
        return torch.tanh(sum((w * xi for w, xi in zip(self.w, x)), self.b))

class Layer:
    def __init__(self, a, b):
        self.neurons = [Neuron(a) for _ in range(b)]
        self.of = self.neurons  # a name for the same

net = [Layer(2, 2), Layer(2, 1)]
x = [1.0, -2.0]
for layer in net:
    x = [neuron(x) for neuron in layer.neurons]
x[0].backward()
"""


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
def test_what_objects_in_lists_hold_is_told_apart(library):
    """Six leaves were called `w` and three `b`: a loop's variable, and the attribute alone."""
    lib = pytest.importorskip(library, exc_type=ImportError)
    keep_source("<neurons>", NEURONS)
    with (lab.record if lib is torch else lab.record_torch)() as trace:
        exec(compile(NEURONS, "<neurons>", "exec"), {"torch": lib, "__name__": "__main__"})
    assert len({t["name"] for t in trace.tensors if t["leaf"] and t["requires_grad"]}) == 9


@pytest.mark.parametrize("ends", ["", "1 / 0"])
def test_a_program_that_we_run_is_searched_and_not_the_call_that_runs_it(ends):
    """A layer that was made inside was called namespace['model'].0.weight, after a variable of ours."""
    source = f"model = torch.nn.Sequential(torch.nn.Linear(2, 1))\ny = model(torch.ones(2))\n{ends}"
    trace, _ = recorded([compile(source, "<program>", "exec")], {"torch": torch}, lab.record())
    assert [t["name"] for t in trace.tensors if t["requires_grad"] and t["leaf"]] == [
        "model.0.weight",
        "model.0.bias",
    ]
