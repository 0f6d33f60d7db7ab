"""Parameters have their names however a program ends, and whichever call holds them."""

import itertools
import linecache
import re
from contextlib import nullcontext

import pytest

import autograd_lab
from autograd_lab import lab

NUMBERS = itertools.count()
NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.blocks = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])
        self.scale = nn.Parameter(torch.ones({}))

    def forward(self, x):
        h = torch.relu(self.first(x))
        for block in self.blocks:
            h = block(h)
        return h * self.scale
"""
PROGRAMS = {
    "at the top": "net = Net()\nnet(torch.ones(2))\n",
    "in a function": "def main():\n    net = Net()\n    return net(torch.ones(2)).sum()\nmain()\n",
    "in a function of a function": "def use(model):\n    return model(torch.ones(2))\ndef main():\n    net = Net()\n    use(net)\nmain()\n",
    "in an object": "class Trainer:\n    def __init__(self):\n        self.net = Net()\n    def run(self):\n        self.net(torch.ones(2))\n"
    "Trainer().run()\n",
    "in a list": "nets = [Net()]\nnets[0](torch.ones(2))\n",
    "in a loop": "for turn in range(2):\n    net = Net()\n    net(torch.ones(2))\n",
    "under no_grad": "def main():\n    net = Net()\n    with torch.no_grad():\n        net(torch.ones(2))\nmain()\n",
}


@pytest.mark.parametrize("library", ["autograd_lab", "torch"])
@pytest.mark.parametrize("size", [3, 4], ids=["ends well", "raises"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_parameters_have_names_however_a_program_ends(program, size, library):
    torch = pytest.importorskip(library, exc_type=ImportError)
    record = lab.record if torch is autograd_lab else lab.record_torch
    file = f"<ends {next(NUMBERS)}>"
    source = NET.format(size) + "with record() as trace:\n    " + PROGRAMS[program].replace("\n", "\n    ")
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"__name__": "__main__", "torch": torch, "nn": torch.nn, "record": record}
    with nullcontext() if size == 3 else pytest.raises(RuntimeError):
        exec(compile(source, file, "exec"), space)
    names = [t["name"] for t in space["trace"].tensors if t["leaf"] and t["requires_grad"]]
    if program == "in a loop" and size == 3:
        del names[:7]  # those of the first turn are nobody's any more
    assert len(names) >= 6
    for name in names:
        # forward itself calls it scale
        assert re.fullmatch(
            r"(net|nets\[0\])\.(first|blocks\.[01])\.(weight|bias)|((net|nets\[0\])\.)?scale", name
        ), names
