"""`lab.draw` of large graphs: folded by module, or some nodes at a time; never refused."""

import gc
import random
import re
import weakref
from functools import cache

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets import drawing


def blocks(n=60):
    return torch.nn.Sequential(
        *[
            torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Tanh(), torch.nn.Linear(4, 4))
            for _ in range(n)
        ]
    )


def chain(n=1500):
    x = torch.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(n):
        y = y * 1.001
    return y


def tangle(n=600):
    """Each node uses two earlier ones: a wide and deep graph in which parts are not separate."""
    pick = random.Random(0)
    made = [torch.tensor(0.1 * i, requires_grad=True) for i in range(8)]
    for _ in range(n):
        made.append(pick.choice(made[-30:]) * 0.5 + pick.choice(made))
    return made[-1]


def wide(n=400):
    leaves = [torch.tensor(float(i), requires_grad=True) for i in range(n)]
    return torch.stack(leaves).sum()


def recorded(run):
    with lab.record() as trace:
        run()
    return lab.draw(trace)


def loop(n=400):
    """Iterations that are groups, and too many for a picture."""
    x = torch.tensor(1.0, requires_grad=True)
    for _ in range(n):
        x = (x * 1.001).sin().cos().exp() - 1


def long_loop_of_few(n=400):
    x = torch.tensor(1.0, requires_grad=True)
    for _ in range(n):
        x = x * 1.001
    blocks(2)(torch.ones(3, 4)).sum().backward()


def written_out():
    """No loop, and one module in between."""
    x = torch.tensor(1.0, requires_grad=True)
    exec("\n".join(["x = x * 1.001"] * 400), {"x": x})
    blocks(2)(torch.ones(3, 4)).sum()


def training(n=80):
    model = torch.nn.Sequential(torch.nn.Linear(2, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    opt = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 2), torch.randn(8, 1)
    for _ in range(n):
        opt.zero_grad()
        ((model(x) - y) ** 2).mean().backward()
        opt.step()


GRAPHS = {
    "recorded: a loop": lambda: recorded(loop),
    "recorded: a loop of single operations": lambda: recorded(long_loop_of_few),
    "recorded: no loop": lambda: recorded(written_out),
    "recorded: many iterations of training": lambda: recorded(lambda: training(310)),
    "recorded: constants without history": lambda: recorded(lambda: [torch.ones(1) * i for i in range(400)]),
    "modules": lambda: (model := blocks(), lab.draw(model(torch.ones(3, 4)).sum(), params=dict(model.named_parameters())))[1],
    "modules without names": lambda: lab.draw(blocks()(torch.ones(3, 4)).sum()),
    "a chain": lambda: lab.draw(chain()),
    "a tangle": lambda: lab.draw(tangle()),
    "one node of many leaves": lambda: lab.draw(wide()),
}  # fmt: skip


@cache
def svg_of(name):
    """The picture of one of them, which several tests look at."""
    return GRAPHS[name]().svg


@pytest.mark.parametrize("name", GRAPHS)
def test_a_large_graph_is_folded(name):
    svg = svg_of(name)
    assert "too many" not in svg
    assert (
        1 <= len(re.findall(r">\d+ (?:nodes|tensors)<|>\d+/\d+ done<", svg)) <= 300
    )  # closed groups, which say how much is in them
    width, height = (int(x) for x in re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    assert width < 4000
    assert height < 20_000


def test_the_groups_have_the_modules_names():
    model = blocks()
    svg = lab.draw(model(torch.ones(3, 4)).sum(), params=dict(model.named_parameters())).svg
    names = re.findall(r">(\d+)</text>", svg)
    assert sorted(map(int, names)) == list(range(60))
    assert svg.count(">9 nodes<") == 60  # five operations and four parameters each


def test_the_variables_of_the_caller_name_the_leaves_and_the_modules():
    """Where `params` says no other name; a box around the whole model would be all of the picture."""
    model, w = torch.nn.Linear(2, 3), torch.tensor(2.0, requires_grad=True)
    loss = (model(torch.ones(2)) * w).sum()
    shown = re.findall(r">([^<]+)</text>", lab.draw(loss, params={"scale": w}).svg)
    assert {"model.weight", "model.bias", "scale", "loss"} <= set(shown)
    assert not {"w", "model"} & set(shown)
    assert "loss" not in drawing.draw(loss).svg  # without a frame
    net, cell = blocks(), torch.nn.Linear(4, 4)
    boxes = re.findall(r">(net[^<]*)</text>", lab.draw(net(torch.ones(3, 4)).sum()).svg)
    assert sorted(boxes) == sorted(f"net.{i}" for i in range(60))
    x = torch.ones(4)
    for _ in range(400):
        x = cell(x)
    shown = re.findall(r">([^<]+)</text>", lab.draw(x).svg)  # one module, 400 times, parts nothing
    assert "nodes 1 to 133" in shown


@pytest.mark.parametrize("leaves", ["one", "two", "one each", "every third", "of two parts"])
def test_a_part_without_a_module_counts_as_many_nodes_as_its_heading(leaves):
    """Leaves that one part alone uses are drawn in it, and count."""
    one, other = torch.tensor(0.5, requires_grad=True), torch.tensor(0.25, requires_grad=True)
    y = one
    for i in range(400):
        y = y.sin()
        if leaves == "one each" or (leaves == "every third" and not i % 3):
            y = y * torch.tensor(1.5, requires_grad=True)
        if (leaves == "two" and i == 200) or (leaves == "of two parts" and i in (100, 300)):
            y = y + other
    shown = re.findall(r">([^<]+)</text>", lab.draw(y).svg)
    counted = re.findall(r"nodes (\d+) to (\d+)\n(\d+) nodes?", "\n".join(shown))
    assert len(counted) >= 12
    assert all(int(last) - int(first) + 1 == int(inside) for first, last, inside in counted), counted
    assert [int(first) for first, _, _ in counted] == [1, *(int(last) + 1 for _, last, _ in counted[:-1])]


def test_iterations_are_bundled_by_their_numbers():
    names = re.findall(r">(iterations \d+ to \d+)<", svg_of("recorded: a loop"))
    assert names[0] == "iterations 1 to 34"
    assert names[-1].endswith("to 400")
    assert len(names) == 12
    svg = svg_of("recorded: many iterations of training")
    assert len(re.findall(r">iterations \d+ to \d+<", svg)) == 12
    assert svg.count(">leaf<") == 4  # the parameters stay beside them


def test_a_small_graph_is_whole():
    model = blocks(3)
    svg = lab.draw(model(torch.ones(3, 4)).sum(), params=dict(model.named_parameters())).svg
    assert svg.count("AddmmBackward0") == 6


def test_a_drawing_keeps_no_graph_alive():
    def node_drawn():  # a function of its own: its variables were looked at, and end with it
        y = torch.tensor(2.0, requires_grad=True) * 3
        lab.draw(y)
        return weakref.ref(y.grad_fn)

    node = node_drawn()
    gc.collect()
    assert node() is None
