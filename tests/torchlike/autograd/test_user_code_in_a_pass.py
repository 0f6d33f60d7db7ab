"""User code that runs inside of a reverse pass may switch modes; the nodes after it run as if it had not. Recorded and live.

The table: each place where user code runs, times each switch it can leave on. What the next user code sees is what is recorded.

To record: `python -m tests.record user_code_in_a_pass`.
"""

import pytest
from recorded import check_live, differences, run, stored

PLACES = {
    "hook of a tensor": "h.register_hook(switch)",
    "hook before a node": "h.grad_fn.register_prehook(switch)",
    "hook after a node": "h.grad_fn.register_hook(lambda sent, came: switch(sent))",
    "hook after a leaf": "w.register_post_accumulate_grad_hook(switch)",
    "backward of a Function": "",
    "unpack hook": "",
}
SWITCHES = {
    "recording on": "torch.set_grad_enabled(True)",
    "recording off": "torch.set_grad_enabled(False)",
    "anomaly on": "torch.autograd.set_detect_anomaly(True)",
    "hooks on saved tensors": "torch.autograd.graph.saved_tensors_hooks(lambda t: (packed.append(1), t)[1], lambda t: t).__enter__()",
}
PROGRAM = """
import warnings
warnings.simplefilter("ignore")  # PyTorch warns of create_graph once
packed, seen = [], []

def switch(*came):
    {switch}

class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        {in_function}
        return g * 2

class Look(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        seen.append([torch.is_grad_enabled(), len(packed)])
        return g

def unpack(t):
    {in_unpack}
    return t

x, w = torch.tensor([0.5, 1.0], requires_grad=True), torch.tensor([0.25, 0.5], requires_grad=True)
first = Look.apply(x.exp())
first.register_hook(lambda g: seen.append([torch.is_grad_enabled(), len(packed), {create_graph} and g.requires_grad]))
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
    h = Look.apply(first) * w
h = Twice.apply(h)
{register}
loss = (h * h.detach().exp()).sum()
try:
    loss.backward(create_graph={create_graph})
    out["grads"] = [x.grad.detach(), w.grad.detach()]
    (x * x).sum().backward()
except RuntimeError as error:
    out["error"] = str(error)[:40]
finally:
    torch.autograd.set_detect_anomaly(False)
    out["after"] = torch.is_grad_enabled(), bool(torch.is_anomaly_enabled())
    torch.set_grad_enabled(True)
out["seen"] = seen
"""


def program(place, switch, create_graph):
    return PROGRAM.format(
        switch=SWITCHES[switch],
        in_function="switch()" if place == "backward of a Function" else "pass",
        in_unpack="switch()" if place == "unpack hook" else "pass",
        register=PLACES[place],
        create_graph=create_graph,
    )


PROGRAMS = {
    f"{place}, {switch}, {'recorded' if create_graph else 'plain'}": program(place, switch, create_graph)
    for place in PLACES
    for switch in SWITCHES
    for create_graph in (False, True)
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_pass_keeps_its_modes(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_does():
    check_live(STORED, PROGRAMS)
