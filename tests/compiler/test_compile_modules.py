"""A compiled module is a module: what is expected of it in the names and shapes of PyTorch's OptimizedModule."""

import copy
import pickle

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import compiler, lab, nn
from autograd_lab.nn.module import register_module_forward_hook

X = torch.tensor(np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3))


def compiled(*layers):
    return torch.compile(nn.Sequential(*layers), fullgraph=True)


@pytest.fixture
def net():
    return compiled(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))


def test_it_has_the_parameters_of_the_module_it_was_made_from(net):
    assert isinstance(net, nn.Module)
    assert [name for name, _ in net.named_parameters()] == [
        "_orig_mod.0.weight", "_orig_mod.0.bias", "_orig_mod.2.weight", "_orig_mod.2.bias"
    ]  # fmt: skip
    assert list(net.state_dict()) == [name for name, _ in net.named_parameters()]
    assert list(net.children()) == [net._orig_mod]
    assert repr(net).startswith("OptimizedModule(\n  (_orig_mod): Sequential(\n    (0): Linear")
    outer = nn.Sequential(nn.ReLU(), net)
    assert next(name for name, _ in outer.named_parameters()) == "1._orig_mod.0.weight"
    assert str(net.load_state_dict(net.state_dict())) == "<All keys matched successfully>"


def test_it_trains_as_the_plain_module_does(net):
    plain = copy.deepcopy(net._orig_mod)
    losses = []
    for model in (plain, net):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(5):
            optimizer.zero_grad()
            loss = (model(X) - 1.0).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    assert np.isclose(*losses, rtol=1e-5)
    assert type(net(X).grad_fn).__name__ == "CompiledFunctionBackward"
    assert len(net.entries) == 1


class Noisy(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return nn.functional.dropout(x, self.p, self.training) * 1.0


def test_its_mode_and_attributes_are_the_modules_own():
    net = torch.compile(Noisy(1.0), fullgraph=True)
    assert net.training
    assert net.eval() is net
    assert not net._orig_mod.training
    assert net(X).tolist() == X.tolist()
    net._orig_mod.train()
    assert net.training
    assert net(X).tolist() == [[0.0] * 3] * 2
    net.p = 0.0
    assert net._orig_mod.p == 0.0
    assert net(X).tolist() == X.tolist()
    del net._orig_mod.p
    with pytest.raises(AttributeError, match="'Noisy' object has no attribute 'p'"):
        net.p  # noqa: B018 - the reading is the test
    with pytest.raises(AttributeError, match="no attribute 'q'"):
        del net.q


def test_parts_can_be_replaced_through_it(net):
    net.extra = nn.Linear(1, 1)
    assert [name for name, _ in net._orig_mod.named_children()] == ["0", "1", "2", "extra"]
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net._orig_mod.parameters())
    assert net.to(torch.float64)(X.double()).dtype is torch.float64
    del net.extra
    assert len(net._orig_mod) == 3


def test_its_length_and_truth_are_the_modules():
    assert len(compiled(nn.ReLU(), nn.ReLU())) == 2
    assert torch.compile(nn.ReLU())
    assert not compiled()
    with pytest.raises(TypeError, match=r"ReLU does not support len\(\)"):
        len(torch.compile(nn.ReLU()))


def test_hooks_on_it_run_around_the_compiled_code(net):
    before = net(X)
    seen = []
    handles = [
        net.register_forward_pre_hook(lambda m, args: (args[0] * 1.0,)),
        net.register_forward_hook(lambda m, args, out: out + 100.0),
        net.register_full_backward_hook(lambda m, gave, got: seen.append(got[0].tolist())),
    ]
    out = net(X.clone().requires_grad_())
    assert out.tolist() == (before + 100.0).tolist()
    out.sum().backward()
    assert seen == [[[1.0], [1.0]]]
    for handle in handles:
        handle.remove()
    assert net(X).tolist() == before.tolist()
    assert not net.breaks


def test_hooks_of_all_modules_run_for_it_too(net):
    before = net(X)
    handle = register_module_forward_hook(lambda m, args, out: out * 2.0 if m is net else None)
    try:
        assert net(X).tolist() == (before * 2.0).tolist()
    finally:
        handle.remove()


@pytest.mark.parametrize("way", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))])
def test_a_copy_captures_anew(net, way):
    out = net(X).tolist()
    other = way(net)
    assert other.entries == []
    assert other(X).tolist() == out
    assert other.fullgraph
    with torch.no_grad():
        for p in net.parameters():
            p.zero_()
    assert net(X).tolist() == [[0.0], [0.0]]
    assert other(X).tolist() == out


def test_a_compiled_function_can_be_copied_and_pickled():
    for other in (copy.deepcopy(DOUBLED), pickle.loads(pickle.dumps(DOUBLED))):
        assert other(X).tolist() == (X * 2).tolist()


def doubled(x):
    return x * 2


DOUBLED = torch.compile(doubled)


def test_a_module_compiled_in_place(net):
    plain = net._orig_mod
    out = plain(X)
    plain.compile(fullgraph=True)
    assert plain(X).tolist() == out.tolist()
    assert type(plain(X).grad_fn).__name__ == "CompiledFunctionBackward"
    assert next(iter(plain.state_dict())) == "0.weight"
    other = copy.deepcopy(plain)
    with torch.no_grad():
        plain[0].weight.zero_()
        plain[2].weight.zero_()
    assert plain(X).tolist() == [[plain[2].bias.item()]] * 2
    assert other(X).tolist() == out.tolist()


def test_what_a_compiled_function_shows_it_shows_as_well(net, tmp_path):
    with lab.record() as trace:
        net(X).sum().backward()
    assert "CompiledFunctionBackward" in [node["name"] for node in trace.nodes]
    assert {t["name"] for t in trace.tensors} >= {"net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"}
    assert "np.tanh" in net.forward_source
    assert "weight" in net.guard_source
    assert "def backward" in net.backward_source
    assert str(net.graph)
    assert not net.misses
    assert {"graph", "state_dict", "entry"} <= set(dir(net))
    for n, save in enumerate((lambda path: net.save(path), lambda path: compiler.save(net, path))):
        path = tmp_path / f"{n}.json"
        save(path)
        assert compiler.load(path)(X).tolist() == net(X).tolist()
    assert lab.compare_static(net, X).fn is net._orig_mod


class Saved(nn.Linear):
    """A module with names of its own that the compiled code has as well."""

    def __init__(self):
        super().__init__(3, 1)
        self.fn = self.graph = self.entry = "mine"

    def save(self):
        return "saved"


def test_a_name_that_the_module_has_itself_is_the_modules(tmp_path):
    net = torch.compile(Saved(), fullgraph=True)
    out = net(X).tolist()
    assert (net.fn, net.graph, net.entry, net.save()) == ("mine", "mine", "mine", "saved")
    compiler.save(net, tmp_path / "net.json")
    assert compiler.load(tmp_path / "net.json")(X).tolist() == out
    assert lab.compare_static(net, X).fn is net._orig_mod
