"""What ordinary programs do besides training: each of these stopped a published program once. Recorded and live.

To record: `python -m tests.record ordinary_code`.
"""

import importlib

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

START = """
import collections, warnings
warnings.simplefilter("ignore")
torch.manual_seed(0)

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:140]}"

one, T = torch.ones(1), torch.tensor

def where():
    with torch.device("cpu"):
        return torch.ones(2)

def masked(shape):
    x, m, p = torch.zeros(2, 4, 6), torch.zeros(2, 4).bool(), torch.ones(shape, requires_grad=True)
    m[0, 1] = m[1, 2] = True
    x[m] = p
    x.sum().backward()
    return p.grad

def filled(shape):
    x, p = torch.zeros(2, 4, 6), torch.ones(shape, requires_grad=True)
    x[T([0, 1])] = p
    (x * torch.arange(48.0).view(2, 4, 6)).sum().backward()
    return p.grad

def unsolvable():
    try:
        torch.linalg.solve(torch.zeros(2, 2), torch.ones(2))
    except torch._C._LinAlgError:
        return "caught"

"""

LINES = """
f"{T(3)} {T(2.5, requires_grad=True)} {T(True)} {T(0.1)} {T(0.1, dtype=torch.float64)} {T(float('nan'))}"
f"{T(1.5):.3f} {T(3):5d} {T(2):>4} {T([1.0])} {T([1.0, 2.0])}", "%s %s" % (T(3), T([1.0])), f"{T(2.5)!r} {T(2.5)!s}"
f"{T([1.0, 2.0]):.1f}"
f"{nn.Parameter(T(1.5)):.2f}"
f"{nn.Parameter(T(1.5))}"
str(nn.Linear(T(4), 5))
one.real + 1, torch.ones(2, requires_grad=True).real, torch.real(one)
one.imag
[getattr(one, f"is_{k}") for k in "cpu cuda ipu meta mkldnn mps nested quantized sparse sparse_csr vulkan xpu".split()]
one.is_shared(), one.share_memory_(), one.to_dense()
torch.float32 in [torch.float32, torch.bfloat16], one.dtype == torch.bfloat16, str(torch.bfloat16), str(torch.complex64), torch.bfloat16.itemsize
one.dtype in (torch.complex64, torch.complex128), torch.complex64.is_complex, torch.bfloat16.is_floating_point, isinstance(torch.bfloat16, torch.dtype)
[(str(d), d.is_floating_point, d.is_complex, d.is_signed, d.itemsize, d.is_floating_point and str(torch.finfo(d))) for d in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.float8_e8m0fnu, torch.bfloat16, torch.complex64, torch.float16, torch.float32, torch.float64)]
[(str(d), d.is_floating_point, d.is_complex, d.is_signed, d.itemsize, str(torch.iinfo(d)), torch.iinfo(d).max, torch.iinfo(d).bits) for d in (torch.uint16, torch.uint32, torch.uint64, torch.uint8, torch.int8, torch.int64)]
[str(l) for l in (torch.sparse_coo, torch.sparse_csr, torch._mkldnn, torch.jagged)], one.layout == torch.sparse_coo, isinstance(3, torch.types.Number), torch.types._float, torch.types._int
torch.iinfo(torch.bool)
torch.iinfo(torch.bfloat16)
torch.finfo(torch.uint16)
[vars(torch.compiler)[k]() for k in ("is_compiling", "is_dynamo_compiling", "is_exporting")], type(torch.__config__.show()).__name__, isinstance(one.untyped_storage(), torch.UntypedStorage)
where()
torch.ones(3, 3).triu(T(1))
F.pad(torch.zeros(2), (0, T(5)))
F.adaptive_avg_pool2d(torch.zeros(1, 1, 8, 8), (T(4), 4))
torch.arange(9).kthvalue(T(5))[0]
torch.linspace(0, 1, T(3)), torch.logspace(0, 1, T(3)), torch.linspace(T(0.0), T(1.0), 3)
F.interpolate(torch.zeros(1, 1, 2, 2), size=(T(4), 4))
F.conv1d(torch.zeros(1, 1, 4), torch.zeros(1, 1, 1), padding=T(1))
F.max_pool1d(torch.ones(1, 1, 4), T(2))
torch.zeros(2, 3).sum(T(0)), torch.ones(3).mean(T(0)), torch.arange(3).cumsum(T(0)), torch.arange(3).argmax(T(0))
torch.ones(2, 3).gather(T(0), T([[0]])), torch.zeros(6).view(T(2), -1), torch.zeros(6).reshape((T(2), 3))
torch.full((2,), T(2.0))
torch.full((2,), T(2.0, requires_grad=True))
torch.zeros(2, 3).sum(T(0.5))
torch.zeros(2, 3).sum(T([0, 1]))
nn.Conv2d(4, 0, 1)(torch.zeros(1, 4, 2, 2))
[masked(s) for s in ((1, 1, 6), (1, 1, 1), (6,), (1, 6), (1,), (1, 1, 1, 6), (2, 6), (1, 2, 6))]
[filled(s) for s in ((1, 1, 1, 6), (1, 1, 6), (2, 4, 6), (1, 2, 4, 6), (1, 1, 4, 1))]
unsolvable()
torch.spmm(torch.eye(2), torch.ones(2, 2))
str(nn.Linear(1, 1).share_memory())
str(nn.DataParallel(nn.Linear(2, 1))), list(nn.DataParallel(nn.Linear(2, 1)).state_dict()), nn.DataParallel(nn.Linear(2, 1))(torch.ones(2, 2)).shape
nn.parallel.data_parallel(nn.Linear(2, 1), torch.ones(2, 2)).shape
nn.modules.linear.Linear.__name__, nn.modules.linear.NonDynamicallyQuantizableLinear.__name__
torch.ones(1, 2, 3, 3).to(memory_format=torch.channels_last).stride(), torch.empty(1, 2, 3, 3, memory_format=torch.channels_last).stride()
torch.ones(1, 2, 3, 3).contiguous(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
torch.ones(1, 2, 3, 3).clone(memory_format=torch.channels_last).stride(), torch.ones(2, 3).t().clone(memory_format=torch.contiguous_format).stride()
torch.ones(2, 3).t().clone().stride(), torch.ones(2, 3).t().clone(memory_format=torch.preserve_format).stride()
torch.zeros_like(torch.ones(2, 3).t(), memory_format=torch.contiguous_format).stride(), torch.ones_like(torch.ones(1, 2, 3, 3), memory_format=torch.channels_last).stride()
torch.ones(2, 2).to(memory_format=torch.channels_last)
torch.ones(1, 2, 3, 3, 3).contiguous(memory_format=torch.channels_last_3d).stride()
nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last).weight.stride(), nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last).bias.stride()
[str(m) for m in (torch.channels_last, torch.contiguous_format, torch.preserve_format)], isinstance(torch.channels_last, torch.memory_format)
torch.jit.is_scripting(), [mark(lambda x: x + 1)(1) for mark in (torch.jit.ignore, torch.jit.unused, torch.jit.export)]
torch.distributed.is_initialized()
[getattr(F, f"dropout{d}d")(torch.ones([2] * n), 0.5).shape for d in (2, 3) for n in (2, 3, 4, 5, 6)]
F.dropout2d(torch.ones(3))
F.dropout3d(torch.ones(()))
F.dropout1d(torch.ones(3))
"""

PROGRAMS = {
    **{line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES.strip().splitlines()},
    "numbers of tensors warn once, and not where nothing is recorded": """
import math, warnings
y = torch.ones(1, requires_grad=True).sum()

def warnings_of(fn):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fn()
    return len(found)

calls = [lambda: float(y), lambda: int(y), lambda: math.sqrt(y), lambda: torch.tensor([1.0, y]), lambda: bool(y), lambda: y.item(), lambda: f"{y}"]
with torch.no_grad():
    out["quiet"] = [warnings_of(call) for call in calls]
torch.set_warn_always(True)
out["always"] = [warnings_of(call) for call in calls]
torch.set_warn_always(False)
""",
    "the warnings of channel dropout": "torch.manual_seed(0)\nout['r'] = [F.dropout2d(torch.ones(2, 3), 0.5), F.dropout3d(torch.ones(2, 3, 2), 0.5)]",
    "nested values": START + """
from torch.utils import _pytree as P
Pair = collections.namedtuple("Pair", "a b")
tree = {"a": [1, (2, 3)], "b": Pair(4, [5]), "c": collections.OrderedDict(x=6), "d": None, "e": collections.deque([7]), "f": collections.defaultdict(list, y=[8])}
leaves, spec = P.tree_flatten(tree)
out["leaves"] = leaves, P.tree_unflatten(leaves, spec) == tree, type(spec.unflatten(leaves)["f"]).__name__, spec.num_leaves, spec == P.tree_structure(tree)
out["map"] = P.tree_map(lambda a, b: a + b, [1, (2,)], [3, (4,)]), P.tree_map_only(int, lambda x: x + 1, [1, "a", (2.0, 3)]), P.tree_leaves(tree)
out["all"] = P.tree_all(lambda x: x > 0, [1, 2]), P.tree_any(lambda x: x > 1, [1, 2]), P.tree_leaves([1, (2,)], is_leaf=lambda x: isinstance(x, tuple))
out["refused"] = told(lambda: P.tree_unflatten([1], spec))
""",
    "the older weight_norm": START + """
from torch.nn.utils import weight_norm, remove_weight_norm
m = weight_norm(fill(nn.Linear(3, 2)))
out["made"] = list(m.state_dict()), type(m.weight) is torch.Tensor, m.weight.requires_grad, m.weight_g.shape, str(m)
m(torch.ones(1, 3)).sum().backward()
out["grads"] = m.weight_g.grad, m.weight_v.grad
with torch.no_grad():
    m.weight_g.mul_(2)
out["follows"] = m(torch.ones(1, 3)).detach(), m.weight.detach()
remove_weight_norm(m)
out["removed"] = list(m.state_dict()), type(m.weight).__name__, m.weight, m(torch.ones(1, 3))
c = weight_norm(fill(nn.Conv1d(2, 3, 2)), dim=None)
out["whole"] = c.weight_g, c(torch.ones(1, 2, 4)).detach()
out["refused"] = told(lambda: weight_norm(weight_norm(nn.Linear(2, 2)))), told(lambda: remove_weight_norm(nn.Linear(2, 2)))
r = weight_norm(fill(nn.LSTM(2, 3)), "weight_hh_l0")
out["lstm"] = r(torch.ones(2, 1, 2))[0].detach()
""",
    "the older spectral_norm": START + """
from torch.nn.utils import spectral_norm, remove_spectral_norm
s = spectral_norm(fill(nn.Linear(3, 2)))
out["made"] = list(s.state_dict()), s(torch.ones(1, 3)).detach(), s(torch.ones(1, 3)).detach()
s.eval()
out["eval"] = s(torch.ones(1, 3)).detach(), s.weight.detach(), s.weight_u, s.weight_v
s.train()
s(torch.ones(1, 3)).sum().backward()
out["grad"] = s.weight_orig.grad
remove_spectral_norm(s)
out["removed"] = list(s.state_dict()), s.weight, s.training
d = spectral_norm(fill(nn.Linear(3, 2)))
(d(torch.ones(1, 3)) + d(2 * torch.ones(1, 3))).sum().backward()
out["twice"] = d.weight_orig.grad
c = spectral_norm(fill(nn.ConvTranspose2d(2, 3, 2)), n_power_iterations=2)
out["conv"] = c.weight_u.shape, c(torch.ones(1, 2, 2, 2)).detach()
out["refused"] = told(lambda: remove_spectral_norm(nn.Linear(2, 2))), told(lambda: spectral_norm(nn.Linear(2, 2), n_power_iterations=0)), told(lambda: spectral_norm(s and spectral_norm(nn.Linear(2, 2))))
""",
    "ways to attend": START + """
from torch.nn.attention import SDPBackend, sdpa_kernel
q = torch.arange(12.0).view(1, 3, 4) / 10
with sdpa_kernel([SDPBackend.MATH]):
    out["r"] = F.scaled_dot_product_attention(q, q, q)
with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
    out["values"] = [int(getattr(SDPBackend, name)) for name in ("MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION")]
out["refused"] = told(lambda: sdpa_kernel(3).__enter__())
""",
}  # fmt: skip

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, monkeypatch):
    modules = __import__("sys").modules
    for path in ("utils", "nn.utils", "nn.attention"):
        monkeypatch.setitem(modules, f"torch.{path}", importlib.import_module(f"autograd_lab.{path}"))
    mine, theirs = run(PROGRAMS[name], autograd_lab), STORED["results"][name]
    assert not differences(mine, theirs)


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


def test_no_tensor_is_sparse():
    x = autograd_lab.ones(2)
    for use in (autograd_lab.zeros, autograd_lab.rand, autograd_lab.empty, x.new_zeros):
        with pytest.raises(NotImplementedError, match="no tensors of layout torch.sparse_coo here"):
            use(2, layout=autograd_lab.sparse_coo)
        assert use(2, layout=autograd_lab.strided).shape == (2,)
    assert x.layout != autograd_lab.sparse_coo


def test_a_type_that_numpy_has_not_cannot_be_computed_in():
    for use in (
        lambda: autograd_lab.ones(2).to(autograd_lab.bfloat16),
        lambda: autograd_lab.zeros(2, dtype=autograd_lab.bfloat16),
        lambda: autograd_lab.nn.Linear(2, 2).to(autograd_lab.bfloat16),
        lambda: autograd_lab.tensor([1.0], dtype=autograd_lab.bfloat16),
    ):
        with pytest.raises(
            TypeError, match="there are no tensors of torch.bfloat16 here: NumPy has no bfloat16"
        ):
            use()
    with pytest.raises(
        TypeError, match="no tensors of torch.complex64 here: autograd_lab has no complex numbers"
    ):
        autograd_lab.ones(2, dtype=autograd_lab.complex64)


def test_a_whole_module_is_loaded_from_a_file_if_its_classes_are_named(tmp_path):
    nn, trusted = autograd_lab.nn, autograd_lab.serialization
    autograd_lab.save(nn.ReLU(), tmp_path / "m")
    with pytest.raises(Exception, match="name it to torch.serialization.add_safe_globals"):
        autograd_lab.load(tmp_path / "m")
    with trusted.safe_globals([nn.ReLU]):
        assert trusted.get_safe_globals() == [nn.ReLU]
        assert isinstance(autograd_lab.load(tmp_path / "m"), nn.ReLU)
    assert trusted.get_safe_globals() == []
    trusted.add_safe_globals([(nn.ReLU, "autograd_lab.nn.activation.ReLU")])
    assert isinstance(autograd_lab.load(tmp_path / "m"), nn.ReLU)
    trusted.clear_safe_globals()
    with pytest.raises(Exception, match=r"nn\.activation\.ReLU"):
        autograd_lab.load(tmp_path / "m")
