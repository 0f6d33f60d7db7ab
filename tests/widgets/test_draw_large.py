"""`lab.draw` of large graphs: folded by module, or some nodes at a time; never refused."""

import random
import re

import pytest

import autograd_lab as torch
from autograd_lab import lab


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


GRAPHS = {
    "modules": lambda: (model := blocks(), lab.draw(model(torch.ones(3, 4)).sum(), params=dict(model.named_parameters())))[1],
    "modules without names": lambda: lab.draw(blocks()(torch.ones(3, 4)).sum()),
    "a chain": lambda: lab.draw(chain()),
    "a tangle": lambda: lab.draw(tangle()),
    "one node of many leaves": lambda: lab.draw(wide()),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_a_large_graph_is_folded(name):
    svg = GRAPHS[name]().svg
    assert "too many" not in svg
    assert 1 <= svg.count("nodes</text>") <= 300  # closed groups, which say how much is in them
    width, height = (int(x) for x in re.search(r'width="(\d+)" height="(\d+)"', svg).groups())
    assert width < 4000
    assert height < 20_000


def test_the_groups_have_the_modules_names():
    model = blocks()
    svg = lab.draw(model(torch.ones(3, 4)).sum(), params=dict(model.named_parameters())).svg
    names = re.findall(r">(\d+)</text>", svg)
    assert sorted(map(int, names)) == list(range(60))
    assert svg.count(">9 nodes<") == 60  # five operations and four parameters each


def test_a_small_graph_is_whole():
    model = blocks(3)
    svg = lab.draw(model(torch.ones(3, 4)).sum(), params=dict(model.named_parameters())).svg
    assert svg.count("AddmmBackward0") == 6
