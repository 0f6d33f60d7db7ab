"""Layers that find out the size of their input: until then, at that moment, and afterwards."""

import copy
import pickle

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import nn
from autograd_lab.nn.lazy import LazyModuleMixin
from autograd_lab.nn.parameter import is_lazy

LAYERS = {
    "linear": ("Linear", (5,), {}, (3, 4)),
    "linear of sequences": ("Linear", (5,), {"bias": False}, (2, 3, 4)),
    "conv1d": ("Conv1d", (6, 2), {"groups": 2}, (2, 4, 5)),
    "conv2d": ("Conv2d", (3, (2, 3), 2, 1), {}, (2, 4, 5, 6)),
    "conv2d of one image": ("Conv2d", (3, 2), {"padding_mode": "reflect", "padding": 1}, (4, 5, 6)),
    "conv3d": ("Conv3d", (3, 2), {"bias": False}, (2, 4, 3, 3, 3)),
    "transposed 1d": ("ConvTranspose1d", (4, 3, 2), {"output_padding": 1}, (2, 6, 5)),
    "transposed 2d": ("ConvTranspose2d", (4, 3), {"groups": 2, "dilation": 2}, (2, 6, 5, 5)),
    "batch norm": ("BatchNorm1d", (), {"momentum": 0.3}, (5, 4)),
    "batch norm 2d": ("BatchNorm2d", (), {"bias": False}, (5, 4, 2, 2)),
    "batch norm 3d": ("BatchNorm3d", (), {"track_running_stats": False}, (5, 4, 2, 2, 2)),
    "instance norm": ("InstanceNorm1d", (), {}, (2, 4, 5)),
    "instance norm 2d": ("InstanceNorm2d", (), {"affine": False}, (2, 4, 5, 2)),
    "instance norm 3d": ("InstanceNorm3d", (), {}, (2, 4, 3, 2, 2)),
}


def numbers(*shape):
    return np.random.default_rng(len(shape)).uniform(-1, 1, shape).astype(np.float32)


def pair(lib, name):
    """A lazy layer that has seen an input, the ordinary one that it becomes, what each gave, and the input."""
    kind, args, settings, shape = LAYERS[name]
    x = lib.tensor(numbers(*shape))
    lib.manual_seed(4)
    lazy = getattr(lib.nn, "Lazy" + kind)(*args, **settings)
    said = repr(lazy)
    out = lazy(x)
    size = {"Linear": shape[-1]}.get(kind, shape[0] if "one" in name else shape[1])
    if "InstanceNorm" in kind:
        settings = {
            "affine": True,
            "track_running_stats": True,
            **settings,
        }  # the lazy ones' defaults, also PyTorch's
    lib.manual_seed(4)
    plain = getattr(lib.nn, kind)(size, *args, **settings)
    return lazy, plain, out, plain(x), said


@pytest.mark.parametrize("name", LAYERS)
def test_a_lazy_layer_becomes_the_ordinary_one_with_the_same_numbers(name):
    lazy, plain, out, want, said = pair(torch, name)
    assert said.startswith(f"Lazy{LAYERS[name][0]}(")
    assert type(lazy) is type(plain)
    assert repr(lazy) == repr(plain)
    assert out.tolist() == want.tolist()
    state, wanted = lazy.state_dict(), plain.state_dict()
    assert {k: v.tolist() for k, v in state.items()} == {k: v.tolist() for k, v in wanted.items()}
    assert all(type(p) is nn.Parameter and p.requires_grad and p.is_leaf for p in lazy.parameters())
    assert not lazy._forward_pre_hooks
    assert not lazy._load_state_dict_pre_hooks
    if out.requires_grad:
        out.sum().backward()
    assert all(p.grad is not None for p in lazy.parameters())


@pytest.mark.parametrize("name", LAYERS)
def test_it_prints_and_computes_as_in_pytorch(name):
    reference = pytest.importorskip("torch")
    _, _, out, _, said = pair(torch, name)
    lazy, _, want, _, wanted = pair(reference, name)
    assert said == wanted
    assert repr(pair(torch, name)[0]) == repr(lazy)
    np.testing.assert_allclose(out.detach().numpy(), want.detach().numpy(), atol=2e-6)


def small():
    return nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))


def test_before_the_first_call_there_is_nothing_to_compute_with():
    net = small()
    weight = net[0].weight
    assert repr(list(net.parameters())) == "[" + ", ".join(["<UninitializedParameter>"] * 4) + "]"
    assert (weight.dtype, weight.requires_grad, weight.is_leaf, weight.grad) == (
        torch.float32,
        True,
        True,
        None,
    )
    for use in (lambda: weight + 1, weight.sum, weight.numel, lambda: len(weight), weight.backward):
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter"):
            use()
    with pytest.raises(RuntimeError, match="Can't access the shape of an uninitialized parameter"):
        _ = weight.shape
    net.zero_grad()
    assert net.double()[0].weight.dtype == torch.float64
    assert is_lazy(net[0].weight)
    x = torch.tensor(numbers(3, 5), dtype=torch.float64)
    assert net(x).dtype == torch.float64


def test_an_optimizer_made_before_the_first_call_trains_what_comes_of_it():
    net = small()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    x = torch.tensor(numbers(3, 5))
    net(x).sum().backward()
    before = net[2].bias.tolist()
    optimizer.step()
    assert net[2].bias.tolist() == pytest.approx([b - 0.3 for b in before])


def test_states_of_lazy_and_of_ordinary_networks():
    x = torch.tensor(numbers(3, 5))
    seen, fresh = small(), small()
    want = seen(x)
    state = seen.state_dict()
    assert fresh.load_state_dict(state).missing_keys == []
    assert fresh[0].weight.tolist() == seen[0].weight.tolist()
    assert type(fresh[0]) is nn.LazyLinear  # until it is called
    assert fresh(x).tolist() == want.tolist()
    assert type(fresh[0]) is nn.Linear
    assert fresh[0].in_features == 5
    lazy = small().state_dict()
    assert all(is_lazy(value) for value in lazy.values())
    assert small().load_state_dict(lazy).unexpected_keys == []
    with pytest.raises(RuntimeError, match="Can't access the shape"):
        seen.load_state_dict(lazy)
    conv, image = nn.LazyConv2d(2, 1), torch.tensor(numbers(1, 3, 2, 2))
    conv.load_state_dict(nn.Conv2d(3, 2, 1).state_dict())
    assert conv(image).shape == (1, 2, 2, 2)
    assert repr(conv) == "Conv2d(0, 2, kernel_size=(1, 1), stride=(1, 1))"  # as PyTorch leaves it
    norm = nn.LazyBatchNorm1d()
    norm.load_state_dict(nn.BatchNorm1d(3).state_dict())
    assert not norm.state_dict()["weight"].requires_grad
    assert norm.state_dict(keep_vars=True)["weight"].requires_grad


def test_copies_before_the_first_call_are_their_own():
    net = small()
    x = torch.tensor(numbers(3, 5))
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert other(x).shape == (3, 2)
    assert is_lazy(net[0].weight)
    assert pickle.loads(pickle.dumps(net[0].weight)).dtype == torch.float32


def test_the_handle_of_a_hook_is_copied_with_its_module():
    net = nn.Linear(2, 2)
    net.handle = net.register_forward_pre_hook(print, with_kwargs=True)
    other = copy.deepcopy(net)
    again = pickle.loads(pickle.dumps(net))
    assert again.register_forward_pre_hook(print).id not in net._forward_pre_hooks
    for copied in (other, again):
        copied.handle.remove()
        assert len(copied._forward_pre_hooks) == (copied is again)
        assert not copied._forward_pre_hooks_with_kwargs
    assert len(net._forward_pre_hooks) == len(net._forward_pre_hooks_with_kwargs) == 1
    net.handle.remove()
    assert not net._forward_pre_hooks_with_kwargs
    copy.deepcopy(net.handle).remove()
    t = torch.ones(2, requires_grad=True)
    copy.deepcopy(torch.autograd.graph.register_multi_grad_hook((t,), print)).remove()


def test_what_does_not_fit_is_said():
    with pytest.raises(
        RuntimeError, match=r"Expected 3D \(unbatched\) or 4D \(batched\) input to LazyConv2d"
    ):
        nn.LazyConv2d(3, 2)(torch.ones(4, 5))
    with pytest.raises(ValueError, match="in_channels must be divisible by groups"):
        nn.LazyConv2d(4, 1, groups=2)(torch.ones(1, 3, 2, 2))
    loaded = nn.LazyLinear(2)
    loaded.load_state_dict(nn.Linear(3, 2).state_dict())
    with pytest.raises(AssertionError, match="inferred from input: 4 is not equal"):
        loaded(torch.ones(1, 4))


def test_a_lazy_layer_of_ones_own():
    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.factor = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            with torch.no_grad():
                self.factor.materialize(x.shape[1:])
                self.factor.fill_(2.0)

        def forward(self, x):
            return x * self.factor

    scale = Scale()
    assert scale(torch.ones(2, 3)).tolist() == [[2, 2, 2]] * 2
    assert type(scale) is Scale
    assert type(scale.factor) is nn.Parameter

    class Unfinished(LazyModuleMixin, nn.Linear):
        def initialize_parameters(self, x):
            pass

    net = Unfinished(1, 1)
    net.weight = nn.UninitializedParameter()
    with pytest.raises(RuntimeError, match="Unfinished has not been fully initialized"):
        net(torch.ones(1, 1))

    class Silent(LazyModuleMixin, nn.Linear):
        pass

    with pytest.raises(NotImplementedError, match="initialize_parameters is not implemented for Silent"):
        Silent(1, 1)(torch.ones(1, 1))


def test_a_lazy_network_compiles_once_it_has_seen_an_input():
    net = small()
    x = torch.tensor(numbers(3, 5))
    want = net(x)
    compiled = torch.compile(net, fullgraph=True)
    assert compiled(x).tolist() == want.tolist()
    assert len(compiled.entries) == 1


@pytest.mark.parametrize(
    "name", ["ZeroPad3d", "ReflectionPad3d", "ReplicationPad3d", "CircularPad3d", "ConstantPad3d"]
)
def test_borders_of_volumes(name):
    x = numbers(2, 3, 4, 4, 4)
    more = (0.5,) if name == "ConstantPad3d" else ()
    layer = getattr(nn, name)((1, 0, 2, 1, 0, 1), *more)
    out = layer(torch.tensor(x))
    assert out.shape == (2, 3, 5, 7, 5)
    assert out[:, :, :4, 2:6, 1:].tolist() == x.tolist()
    assert getattr(nn, name)(1, *more)(torch.tensor(x)).shape == (2, 3, 6, 6, 6)
    reference = pytest.importorskip("torch")
    theirs = getattr(reference.nn, name)((1, 0, 2, 1, 0, 1), *more)
    assert repr(layer) == repr(theirs)
    assert out.tolist() == theirs(reference.tensor(x)).tolist()
