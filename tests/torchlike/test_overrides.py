"""Tensors of a class of one's own, and arguments that are no Tensors: who is asked, of what, and what comes out.

Recorded on PyTorch and compared live. The log holds what `__torch_function__` was told: the function, the classes of the arguments.

To record: `python -m tests.record overrides`.
"""

import copy
import pickle
import subprocess
import sys

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab as torch
from autograd_lab import lab

START = """
from torch.overrides import (
    get_default_nowrap_functions, handle_torch_function, has_torch_function, is_tensor_like, is_tensor_method_or_property,
    resolve_name, wrap_torch_function,
)
log = []

def told(fn):
    try:
        result = fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:230]}"
    return kinds(result)

def kinds(result):
    if isinstance(result, torch.Tensor):
        return [type(result).__name__, result.tolist(), result.requires_grad]
    if isinstance(result, (tuple, list)):
        return [type(result).__name__, *map(kinds, result)]
    return result if isinstance(result, (str, int, float, bool, type(None))) else type(result).__name__

class Mine(torch.Tensor):
    pass

class Other(torch.Tensor):
    pass

class More(Mine):
    pass

class Silent(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl

class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append([resolve_name(func) or func.__name__, [type(a).__name__ for a in args], [t.__name__ for t in types]])
        return super().__torch_function__(func, types, args, kwargs)

class Own(torch.Tensor):
    def sum(self, *args, **kwargs):
        return super().sum(*args, **kwargs) * 2

class Duck:
    def __init__(self, n):
        self.n = n
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in KNOWN:
            return KNOWN[func](*args, **kwargs or {})
        return NotImplemented

class Plainly:
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func.__name__

KNOWN = {
    torch.mean: lambda input: input.n / 2, torch.add: lambda a, b: "added", torch.cat: lambda all: len(all),
    F.relu: lambda input, inplace=False: "relu", torch.Tensor.mul: lambda a, b: "product", F.linear: lambda *a: "linear",
}
plain, leaf = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0], requires_grad=True)
mine, more, other = plain.as_subclass(Mine), (plain + 1).as_subclass(More), plain.as_subclass(Other)
silent = plain.as_subclass(Silent)
x, i = torch.tensor([1.0, 2.0]).as_subclass(Logged), torch.tensor([1, 2]).as_subclass(Logged)
m = torch.tensor([[1.0, 2.0], [3.0, 5.0]]).as_subclass(Logged)
duck = Duck(6)
"""

LINES = """
Mine([1.0, 2.0])
Mine(plain)
mine + 1
(1 + mine, plain + mine, mine + plain, plain - mine, plain / mine, 2 ** mine, plain @ mine, plain == mine, plain < mine)
(mine[0], mine[:1], mine.view(1, 2).T, mine.data, mine.detach(), mine.clone(), mine.view(2, 1), mine.sum(), mine.max(), -mine, abs(mine))
(mine.max(0), mine.sort(), mine.split(1), mine.unbind(), [*mine], mine.topk(1))
(torch.add(mine, 1), torch.add(plain, mine), torch.cat([plain, mine]), torch.stack((mine, mine)), torch.where(plain > 1, mine, plain))
(F.relu(mine), F.softmax(mine, dim=0), F.linear(plain, torch.ones(3, 2).as_subclass(Mine)), F.mse_loss(mine, plain))
(torch.ones_like(mine), torch.zeros_like(mine, dtype=torch.int64), torch.rand_like(mine).shape, mine.new_ones(2), mine.new_tensor([1]))
(torch.tensor(mine), torch.as_tensor(mine), torch.asarray(mine), torch.from_numpy(mine.numpy()), mine.tolist(), mine.numpy().shape)
(torch.linalg.norm(mine), torch.special.expit(mine), torch.einsum("i,i->", mine, plain), torch.nn.Linear(2, 1)(mine).shape)
(mine.shape, mine.dtype, mine.size(), len(mine), mine.dim(), bool(mine[0]), float(mine[1]), 1.0 in mine, mine.is_contiguous())
(torch.zeros(2).add_(mine), mine.clone().mul_(2), torch.add(mine, 1, out=torch.empty(2)), torch.exp(plain, out=mine.clone()))
(mine + more, more + mine, torch.add(mine, more), torch.cat([mine, more]))
mine + other
torch.add(mine, other)
(silent + 1, torch.add(silent, 1), silent.sum(), silent + mine, mine + silent)
Own([1.0, 2.0]).sum()
(mine.as_subclass(torch.Tensor), plain.as_subclass(Mine), mine.as_subclass(Other), plain.as_subclass(Mine)._is_view())
(torch.Tensor._make_subclass(Mine, plain), torch.Tensor._make_subclass(Mine, plain, True), Mine._make_subclass(Mine, mine))
torch.Tensor._make_subclass(Mine, torch.ones(2, dtype=torch.int64), True)
torch.Tensor._make_subclass(int, plain)
torch.Tensor._make_subclass(Mine, 3)
torch.Tensor._make_subclass(3, plain)
plain.as_subclass(int)
plain.as_subclass(3)
(str(mine), repr(torch.nn.Parameter(mine)), type(torch.nn.Parameter(mine)).__name__, isinstance(torch.nn.Parameter(mine), torch.nn.Parameter))
(torch.mean(duck), torch.add(duck, 1), torch.add(plain, duck), torch.cat([duck, plain]), torch.cat((plain, duck)), F.relu(duck), F.linear(plain, duck))
(torch.nn.Linear(2, 2)(duck), torch.nn.ReLU()(duck), mine * duck)
torch.exp(duck)
torch.relu(duck)
torch.einsum("i", duck)
torch.split(duck, 1)
torch.stack([duck])
torch.zeros_like(duck)
torch.linalg.det(duck)
torch.special.erf(duck)
F.gelu(duck)
F.softmax(duck, 0)
F.max_pool2d(duck, 2)
F.conv2d(duck, plain)
plain.add(duck)
plain.add(other=duck)
plain + duck
mine + duck
mine.__radd__()
torch.tensor(duck)
torch.as_tensor(duck)
torch.add(mine, duck, alpha=2)
torch.mul(duck, 2, out=plain)
(has_torch_function([mine]), has_torch_function((plain, duck)), has_torch_function((plain, 3)), has_torch_function((leaf, torch.nn.Parameter(plain))))
(is_tensor_like(mine), is_tensor_like(duck), is_tensor_like(plain), is_tensor_like(3))
(resolve_name(torch.add), resolve_name(F.relu), resolve_name(torch.Tensor.add), resolve_name(torch.Tensor.T.__get__), resolve_name(3))
(is_tensor_method_or_property(torch.Tensor.add), is_tensor_method_or_property(torch.Tensor.grad.__get__), is_tensor_method_or_property(torch.add))
(torch.Tensor.grad.__get__ in get_default_nowrap_functions(), torch.Tensor.add in get_default_nowrap_functions())
torch.Tensor.__torch_function__(torch.add, (Mine,), (mine, 1))
(torch.Tensor.__torch_function__(torch.add, (torch.Tensor,), (plain, 1)), Mine.__torch_function__(torch.add, (Mine,), (plain, 1), {"alpha": 3}))
handle_torch_function(torch.exp, (duck,), duck)
handle_torch_function(torch.add, (duck, plain), duck, 1)
""".strip().splitlines()

ASKED = """
x+1; 1+x; plain+x; x-1; 1-x; plain-x; x*2; 2*x; plain*x; x/2; 2/x; plain/x; x//2; 2//x; x%2; 2%x; x**2; 2**x; plain**x; x@x; plain@x
-x; +x; abs(x); ~i; i&1; 1&i; i|1; 1|i; i^1; 1^i; i<<1; 1<<i; i>>1; 1>>i
x==1; x!=1; x<1; x<=1; x>1; x>=1; plain==x; plain<x; plain!=x
x[0]; x[0:1]; bool(x[0]); int(x[0]); float(x[0]); len(x); [*x]; 1.0 in x; repr(x); str(x); reversed(x)
m.T; m.mT; x.real; x.data; x.grad; x.shape; x.dtype; x.requires_grad; x.is_leaf; x.grad_fn; x.device; x.ndim; x.nbytes
x.numpy(); x.tolist(); x.sum().item(); x.size(); x.dim(); x.numel(); x.stride(); x.type(); x.is_floating_point(); x.detach(); x.clone()
x.new_ones(2); x.to(torch.float64); x.float(); x.expand(2, 2); x.split(1); x.norm(); x.max(0); x.sort(); x.topk(1); x.absolute(); x.negative()
torch.add(x, 1); torch.add(1, x); torch.cat([x, x]); torch.cat((plain, x)); torch.stack([plain, x]); torch.where(x > 1, x, plain); torch.allclose(x, x)
torch.is_tensor(x); torch.numel(x); torch.ones_like(x); torch.tensor(x); torch.as_tensor(x); torch.max(x, 0); torch.sum(x, dim=0)
torch.einsum("i,i->", x, plain); torch.meshgrid(x, x, indexing="ij"); torch.split(x, 1); torch.norm(x); torch.linalg.norm(x); torch.special.expit(x)
F.relu(x); F.linear(plain, m); F.softmax(x, dim=0); F.cross_entropy(x, x); F.one_hot(i); F.mse_loss(x, plain); fill(torch.nn.Linear(2, 1))(x)
x.mul_(2); x.add_(plain); plain.add(x); plain.mul_(x); plain.clone().copy_(x); torch.exp(plain, out=x); plain.where(x > 1, x); plain.dot(x)
""".strip().splitlines()

WRITES = ["x += 1", "x -= 1", "x *= 2", "x /= 2", "x **= 2", "x //= 1", "x %= 2", "x[0] = 1", "x.grad = plain", "x.data = plain",
          "x.requires_grad = True", "i &= 1", "i |= 1", "i ^= 1", "i <<= 1", "x.tag = 1", "plain += x", "plain[0] = x[0]"]  # fmt: skip

BLOCKS = {
    "a gradient through a subclass": """
y = (leaf.as_subclass(Mine) * 2).exp()
out["graph"] = graph(y.grad_fn)
y.sum().backward()
out["grad"] = [type(leaf.grad).__name__, leaf.grad]
w = torch.Tensor._make_subclass(Mine, plain, True)
(w * w).sum().backward()
out["of the subclass"] = [type(w.grad).__name__, w.grad, w.is_leaf]
""",
    "training a parameter of a subclass": """
layer = fill(torch.nn.Linear(2, 1, bias=False))
layer.weight = torch.nn.Parameter(torch.tensor([[0.5, -1.0]]).as_subclass(Mine))
sgd = torch.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
for _ in range(3):
    sgd.zero_grad()
    loss = layer(plain).pow(2).sum()
    loss.backward()
    sgd.step()
out["kinds"] = [type(layer.weight).__name__, type(loss).__name__, type(layer.weight.grad).__name__, len(list(layer.parameters()))]
out["weight"] = layer.weight.detach().as_subclass(torch.Tensor)
""",
    "nobody is asked in the block": """
with torch._C.DisableTorchFunctionSubclass():
    out["off"] = [type(r).__name__ for r in (x + 1, 1 - x, torch.add(x, 1), m.T, F.relu(x), plain + x, torch.cat([x, x]), x.sum())]
    out["raises"] = told(lambda: torch.mean(duck))[:40]
out["log"] = list(log)
out["on"] = type(x + 1).__name__
""",
    "the same call before and in the block": """
for _ in range(2):
    with torch._C.DisableTorchFunctionSubclass():
        out["off"] = [type(r).__name__ for r in (torch.add(mine, 2), torch.add(plain, mine), torch.sum(mine, 0), plain.add(mine), torch.stack([mine]))]
    out["on"] = [type(r).__name__ for r in (torch.add(mine, 2), torch.add(plain, mine), torch.sum(mine, 0), plain.add(mine), torch.stack([mine]))]
""",
    "a plain method": """
out["r"] = [torch.add(Plainly(), 1), F.relu(Plainly())]
""",
    "subclasses first": """
class Below(Logged):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        log.append(["below", [t.__name__ for t in types]])
        return NotImplemented
low = plain.as_subclass(Below)
out["r"] = [told(lambda: torch.add(x, low)), told(lambda: low + 1)]
out["log"] = log
""",
    "functions of one's own": """
def double(value):
    if has_torch_function((value,)):
        return handle_torch_function(double, (value,), value)
    return value * 2

@wrap_torch_function(lambda a, b=None: (a, b))
def joined(a, b=None):
    return "joined"

KNOWN[double], KNOWN[joined] = (lambda v: v.n * 2), (lambda a, b=None: "asked")
out["r"] = [double(4), double(duck), kinds(double(mine)), joined(1), joined(duck), joined(plain, b=duck)]
""",
    "data beside the numbers": """
class Tagged(torch.Tensor):
    @staticmethod
    def __new__(cls, data, tag, *args, **kwargs):
        return super().__new__(cls, data, *args, **kwargs)
    def __init__(self, data, tag):
        self.tag = tag
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        tags = [a.tag for a in args if hasattr(a, "tag")]
        result = super().__torch_function__(func, types, args, kwargs)
        if isinstance(result, cls):
            result.tag = "+".join(tags)
        return result
a, b = Tagged([1.0, 2.0], "a"), Tagged([3.0, 4.0], "b")
c = a * b
out["tags"] = [c.tag, (c + 1).tag, torch.add(c, a).tag, type(c).__name__, c.sum().tag]
out["c"] = c.as_subclass(torch.Tensor)
""",
}

PROGRAMS = {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES}
PROGRAMS |= {
    line: START + f"out['r'] = told(lambda: ({line}))\nout['log'] = log"
    for row in ASKED
    for line in row.split("; ")
}
PROGRAMS |= {line: START + f"{line}\nout['log'], out['kind'] = log, type(x).__name__" for line in WRITES}
PROGRAMS |= {name: START + block for name, block in BLOCKS.items()}
PROGRAMS["x.grad_fn of what is asked"] = START + "out['r'] = str((leaf.as_subclass(Mine) * 2))"

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_who_is_asked_as_in_pytorch(name, standing_in):
    mine, theirs = run(PROGRAMS[name], standing_in), STORED["results"][name]
    assert not differences(mine, theirs)


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


class Kept(torch.Tensor):
    """At the top of a module, so that it can be pickled."""


def test_a_subclass_is_copied_and_saved(tmp_path):
    t = Kept([1.0, 2.0])
    t.note = "kept"
    torch.save(t, tmp_path / "t.pt")
    for other in (
        copy.copy(t),
        copy.deepcopy(t),
        pickle.loads(pickle.dumps(t)),
        torch.load(tmp_path / "t.pt", weights_only=False),
    ):
        assert type(other) is Kept
        assert other.tolist() == [1.0, 2.0]
        assert other.note == "kept"


def test_a_subclass_is_recorded():
    t = Kept([1.0, 2.0]).requires_grad_()
    with lab.record() as trace:
        (t * t).sum().backward()
    assert t.grad.tolist() == [2.0, 4.0]
    names = [node["name"] for node in trace.nodes]
    assert names == ["AccumulateGrad", "MulBackward0", "AliasBackward0", "SumBackward0", "AliasBackward0"]


def test_without_subclasses_everything_is_as_it_was():
    """Plain tensors pay nothing: no base between is made, no function looks closer, until the first subclass."""
    code = """
import autograd_lab as torch
from autograd_lab import add, overrides
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return "asked"
plus = torch.Tensor.__iadd__
x = torch.ones(2, requires_grad=True)
torch.nn.Linear(2, 2)(torch.cat([x.exp(), x])[:2]).sum().backward()
assert add(x, Duck()) == torch.cat([Duck()]) == "asked"
assert not overrides.base_of_subclasses.cache_info().currsize
assert torch.Tensor.__iadd__ is plus
class Mine(torch.Tensor):
    pass
assert type(add(x, Mine([1.0, 2.0]))) is Mine, "a function that was imported before"
assert type(torch.add(x, x)) is torch.Tensor
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_function_of_pytorchs_own_refuses_a_tensor_of_this_library():
    """PyTorch asks whatever has `__torch_function__`, and a tensor of ours knows nothing of its functions."""
    theirs = pytest.importorskip("torch", reason="needs PyTorch: pip install torch==2.13.0")
    for t in (torch.ones(2), Kept([1.0, 2.0]), torch.nn.Parameter(torch.ones(2))):
        for call in (theirs.exp, theirs.nn.functional.relu, lambda t: theirs.cat([t])):
            with pytest.raises(
                RuntimeError, match="A tensor of PyTorch and one of autograd_lab cannot be used together"
            ):
                call(t)
    assert type(Kept([1.0]) + 1) is Kept
