"""What stands around a program: questions about the machine, amp, comparisons in tests; as PyTorch answered, recorded and live.

To record: `python -m tests.record around`.
"""

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

TRY = """
def told(fn, length=300):
    try:
        value = fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:length]}"
    return value if isinstance(value, (bool, int, float, str, list, tuple, type(None))) else type(value).__name__
"""

QUESTIONS = {
    "cuda": """is_available() device_count() is_initialized() empty_cache() manual_seed(1) manual_seed_all(1) seed() seed_all() synchronize()
        current_device() get_device_name() get_device_properties(0) get_device_capability() memory_allocated() max_memory_allocated()
        memory_reserved() max_memory_reserved() initial_seed() get_rng_state() get_rng_state_all() current_stream() default_stream() init()
        ipc_collect() mem_get_info() device(0).__enter__() Stream() Event() is_bf16_supported() is_tf32_supported() get_arch_list()""",
    "mps": "is_available() device_count() manual_seed(1) synchronize() empty_cache() seed()",
    "xpu": "is_available() device_count() empty_cache() manual_seed(1) manual_seed_all(1) synchronize()",
    "accelerator": """is_available() device_count() current_accelerator() current_device_index() synchronize() set_device_index(0)
        device_index(0).__enter__() empty_cache() memory_allocated()""",
    "cpu": "is_available() device_count() synchronize() current_device()",
    "backends": """cuda.is_built() mps.is_available() mps.is_built() cudnn.is_available() cudnn.version() cudnn.enabled cudnn.benchmark
        cudnn.deterministic cuda.matmul.allow_tf32 cuda.flash_sdp_enabled() cuda.enable_flash_sdp(True) cuda.math_sdp_enabled()""",
    "version": "cuda hip xpu debug",
}

CLOSE = """
T([1.,2.]),T([1.,2.])
T([1.,2.]),T([1.,3.])
T([1.,2.]),T([1.,2.+1e-7])
T([[1.,2.],[3.,4.]]),T([[1.,2.5],[3.,9.]])
T(1.),T(2.)
T([1,2]),T([1,3])
T([True,False]),T([True,True])
T([1.]),T([1.],dtype=torch.float64)
T([1.]),T([1,])
T([1.,2.]),T([[1.,2.]])
T([nan]),T([nan])
T([nan]),T([nan]),{'equal_nan':True}
T([inf,1.]),T([inf,1.])
T([inf,1.]),T([-inf,1.])
T([inf,1.]),T([1.,1.])
T([0.]),T([0.1])
T([0.1]),T([0.])
1.0,1.0
1.0,2.0
1,2
1,1.0
True,False
'a','a'
None,None
None,1
[1.,T([1.])],[1.,T([1.])]
[1.,T([1.])],[1.,T([2.])]
[1.],[1.,2.]
{'a':T([1.])},{'a':T([1.1])}
{'a':1},{'b':1}
{'a':[T([1.]),T([2.])]},{'a':[T([1.]),T([3.])]}
(1,2),[1,2]
(1,2),(1,3)
np.array([1.,2.]),np.array([1.,3.])
T([1.]),T([1.1]),{'rtol':0.2,'atol':0.}
T([1.]),T([1.1]),{'rtol':0.01,'atol':0.01}
T([1.]),T([1.1]),{'rtol':0.2}
T([1.]),T([1.1]),{'atol':0.2}
T([1.]),T([1.1]),{'msg':'hello'}
T([1.]),T([1.1]),{'msg':lambda m:'X '+m}
T([1.]),T([1.],dtype=torch.float64),{'check_dtype':False}
T([1.]),T([1.00001],dtype=torch.float64),{'check_dtype':False}
T([1]),T([1.]),{'check_dtype':False}
torch.ones(2,3),torch.ones(3,2).t()
torch.ones(2,3),torch.ones(3,2).t(),{'check_stride':True}
torch.empty(0),torch.empty(0)
torch.nn.Parameter(T([1.])),T([1.])
T([1.],requires_grad=True),T([2.])
torch.arange(10.),torch.arange(10.)+torch.tensor([0,0,1,0,0,3,0,0,0,.5])
torch.zeros(2,dtype=torch.float16),torch.ones(2,dtype=torch.float16)
nan,nan
nan,nan,{'equal_nan':True}
inf,inf
0.0,1.0
5,8
object(),object()
[],[]
{},{}
T([3,1],dtype=torch.uint8),T([1,3],dtype=torch.uint8)
T(5),T(8)
T([1.,nan]),T([1.,2.])
T([[1.,2.]]),T([[1.,nan]])
[object()],[object()]
[1.0,object()],[2.0,object()]
{'a':[1,'x']},{'a':[1,'x']}
[torch.ones(2),1],[torch.ones(2),'a']
"""

PROGRAMS = {
    **{
        f"torch.{module}": TRY + f"import warnings; warnings.simplefilter('ignore')\nM = torch.{module}\n"
        + "out['told'] = {q: told(lambda q=q: eval('M.' + q)) for q in " + repr(questions.split()) + "}"
        for module, questions in QUESTIONS.items()
    },
    "the usual lines that choose a device": """
device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
found = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
torch.backends.cudnn.benchmark = True
out["device"] = device, str(found), torch.ones(1, device=found), torch.backends.cudnn.benchmark
with torch.cuda.stream(None), torch.cuda.device(-1), torch.cuda.device_of(torch.ones(1)), torch.accelerator.device_index(None):
    out["inside"] = torch.ones(1)
torch.backends.cudnn.benchmark = False
""",
    "settings": TRY + """
out["before"] = torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled()
torch.set_float32_matmul_precision("high"); torch.use_deterministic_algorithms(True)
out["after"] = torch.get_float32_matmul_precision(), torch.are_deterministic_algorithms_enabled()
torch.set_float32_matmul_precision("highest"); torch.use_deterministic_algorithms(False)
out["module"] = [torch.get_device_module().__name__.split(".")[-1], torch.get_device_module("cpu") is torch.cpu, told(lambda: torch.get_device_module("foo"), 15)]
out["names"] = torch.typename(torch.ones(1)), torch.typename(torch.ones(1, dtype=torch.int64)), torch.typename(""), torch.typename(3)
out["compiling"] = torch.compiler.is_compiling()
""",
    "a setting that is none": "torch.set_float32_matmul_precision('x')",
    "autocast without a device": """
out["r"] = []
for kwargs in ({"device_type": "cuda"}, {"device_type": "cuda", "enabled": False}, {"device_type": "cpu", "enabled": False}, {"device_type": "mps"}):
    with torch.autocast(**kwargs) as inside:
        out["r"].append((torch.is_autocast_enabled(), torch.ones(2) @ torch.ones(2), inside is None))

@torch.autocast("cuda")
def f(x):
    return x * 2

out["f"] = f(torch.ones(1))
""",
    "autocast of a type it has not": "with torch.autocast('cpu', dtype=torch.float32): out['r'] = torch.ones(2, 2) @ torch.ones(2, 2)",
    "autocast refuses": TRY + """
out["r"] = told(lambda: torch.autocast("foo"), 40), told(lambda: torch.autocast(3))
out["available"] = [torch.amp.is_autocast_available(d) for d in ("cpu", "cuda", "mps")]
""",
    "the older names": """
with torch.cuda.amp.autocast():
    out["x"] = torch.ones(1)
out["scaler"] = torch.cuda.amp.GradScaler().is_enabled(), torch.cuda.amp.GradScaler(enabled=False).state_dict()
""",
    "functions under amp": """
class Twice(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x):
        return x * 2

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, g):
        return g * 2

x = torch.ones(1, requires_grad=True)
Twice.apply(x).backward()
out["grad"] = x.grad
""",
    **{
        f"GradScaler({arguments})": f"""
import warnings; warnings.simplefilter('ignore')
torch.manual_seed(0)
model = nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scaler = torch.amp.GradScaler({arguments})
out["steps"] = []
for i in range(6):
    optimizer.zero_grad()
    loss = model(torch.randn(4, 3)).square().mean() * (float("inf") if i == 2 else 1)
    scaler.scale(loss).backward()
    if i == 3:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    scaler.step(optimizer)
    scaler.update()
    out["steps"].append((scaler.get_scale(), scaler._get_growth_tracker(), [p.detach().sum() for p in model.parameters()]))
out["state"] = scaler.state_dict(), scaler.is_enabled(), scaler.scale([torch.ones(2), torch.ones(1)]), list(scaler.scale(iter([torch.ones(1)])))
"""
        for arguments in ("'cpu', growth_interval=2", "'cuda'", "'cpu', enabled=False", "'cpu', init_scale=4.0, backoff_factor=0.25")
    },
    "GradScaler used wrongly": TRY + """
model = nn.Linear(1, 1)
o = torch.optim.SGD(model.parameters(), lr=0.1)
s = torch.amp.GradScaler("cpu", init_scale=4.0)
out["r"] = r = [told(s.update), told(lambda: s.step(o)), told(lambda: s.unscale_(o))]
s.scale(model(torch.ones(1, 1)).sum()).backward()
s.unscale_(o)
r.append(told(lambda: s.unscale_(o)))
s.step(o)
r += [told(lambda: s.step(o)), told(lambda: s.unscale_(o))]
s.update()
r.append(told(s.update))
o.zero_grad()
r += [told(lambda: s.step(o)), told(lambda: s.step(o, closure=int)), told(lambda: s.scale(3)), told(lambda: s.load_state_dict({}))]
r += [told(lambda: torch.amp.GradScaler("cpu", growth_factor=1.0)), told(lambda: torch.amp.GradScaler("cpu", backoff_factor=1.0))]
s.load_state_dict({"scale": 8.0, "growth_factor": 3.0, "backoff_factor": 0.1, "growth_interval": 7, "_growth_tracker": 1})
r += [s.state_dict(), s.get_growth_factor(), s.get_backoff_factor(), s.get_growth_interval()]
s.update(2.0)
s.set_growth_factor(5.0); s.set_backoff_factor(0.3); s.set_growth_interval(9)
r += [s.state_dict(), s.get_scale()]
""",
    **{
        f"assert_close({case})": TRY + f"""
T, nan, inf = torch.tensor, float("nan"), float("inf")
given = [{case}]
kwargs = given.pop() if len(given) == 3 else {{}}
out["r"] = told(lambda: torch.testing.assert_close(*given, **kwargs), 1000)
"""
        for case in CLOSE.strip().splitlines()
    },
    "conditions": TRY + """
T, says = torch.tensor, lambda: "as said"
out["r"] = [
    told(lambda: check(*args))
    for check in (torch._check, torch._check_index, torch._check_value, torch._check_type, torch._check_not_implemented)
    for args in ((True,), (False,), (False, says), (False, "text"), (False, lambda: 3))
]
out["tensors"] = [
    told(lambda: check(*args))
    for check in (torch._check_tensor_all, lambda *args: torch._check_tensor_all_with(KeyError, *args))
    for args in ((T([True, True]),), (T([True, False]),), (T([[False]]), says), (T([1]),), (T([], dtype=torch.bool),), (True,))
]
out["with"] = [told(lambda: torch._check_with(kind, False, says)) for kind in (OSError, UserWarning)]
out["wrong"] = told(lambda: torch._check(1)), told(lambda: torch._check(None))
out["a tensor"] = told(lambda: torch._check(T(True)))
out["size"] = [told(lambda: torch._check_is_size(*args, max=most)) for args in ((0,), (-1,), (-1, says)) for most in (None, 5)]
out["too long"] = told(lambda: torch._check_is_size(6, max=5))
out["assert"] = told(lambda: torch._assert(T(True), "x")), told(lambda: torch._assert(T(0), "said")), told(lambda: torch._assert([], None))
""",
    "traced functions": """
import warnings
warnings.filterwarnings("ignore", category=torch.jit.TracerWarning)
warnings.simplefilter("ignore", DeprecationWarning)
calls = []

def f(x, y):
    calls.append(1)
    return x * torch.rand(2) + y

f.__module__ = "program"
torch.manual_seed(0)
x = torch.ones(2, requires_grad=True)
traced = torch.jit.trace(f, (x, x), check_trace=False)
out["traced"] = len(calls), torch.rand(1)
y = traced(x, torch.zeros(2))
y.sum().backward()
out["called"] = y, x.grad
layer = nn.BatchNorm1d(2)
out["layer"] = torch.jit.trace(layer, torch.randn(3, 2), check_trace=False)(torch.eye(2)), layer.num_batches_tracked
layer = fill(nn.Linear(2, 2))
out["by name"] = torch.jit.trace(layer, example_kwarg_inputs={"input": torch.ones(1, 2)})(torch.eye(2))
""",
    "a model that is built before its numbers are loaded": """
torch.manual_seed(0)
with torch.device("meta"):
    layer = nn.Linear(2, 2)
    said = [t.device.type for t in (layer.weight, torch.empty(2), torch.tensor([1.0]), torch.arange(3))]
    out["inside"] = said, torch.get_default_device().type
    with torch.device("meta"):
        torch.rand(3)
    nn.Linear(3, 3)
out["outside"] = torch.ones(1).device.type, torch.get_default_device().type, torch.rand(2)
layer.load_state_dict({"weight": torch.ones(2, 2), "bias": torch.zeros(2)}, assign=True)
out["loaded"] = layer(torch.eye(2)), layer.weight.device.type
""",
    "the bytes of a file": TRY + """
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "numbers")
    np.arange(6, dtype="f4").tofile(path)
    memory = torch.UntypedStorage.from_file(path, False, 24)
    part = memory[4:16].untyped()
    x = torch.asarray(part, dtype=torch.uint8).view(torch.float32)
    x.add_(1)
    out["r"] = len(memory), len(part), memory[4:8].tolist(), x, len(memory[20:100]), len(memory[5:5]), x.untyped_storage().nbytes()
    out["last"] = torch.asarray(memory[-4:], dtype=torch.float32)
    out["file"] = np.fromfile(path, "f4").tolist()
    out["steps"] = told(lambda: memory[0:8:2])
    del memory, part, x
y = torch.arange(4.0)
part = y.untyped_storage()[4:8]
part[3] = 65
out["shared"] = y, torch.asarray(part, dtype=torch.float32)
""",
    "deterministic algorithms": TRY + """
def state():
    return (
        torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled(),
        torch.get_deterministic_debug_mode(),
    )

out["r"] = r = [state()]
for mode in (0, 1, 2, "default", "warn", "error", 0):
    torch.set_deterministic_debug_mode(mode)
    r.append(state())
for mode in (True, False):
    for warn_only in (True, False):
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
        r.append(state())
out["wrong"] = [told(lambda: torch.set_deterministic_debug_mode(mode)) for mode in (3, "off", 1.5)]
out["left"] = state()
""",
    "a class of tensors without functions of its own": """
class Index(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl

x = torch.ones(2)
out["r"] = Index.__torch_function__(torch.add, (), (x, x), {"alpha": 3}), Index.__torch_function__(torch.neg, (), (x,))
out["export"] = torch.onnx.is_in_onnx_export()
""",
    "names that packages ask for when they are imported": """
from torch.utils.data._utils.collate import np_str_obj_array_pattern
from torch.utils.data.dataloader import _collate_fn_t, _worker_init_fn_t
flat, keys = torch.utils._pytree._dict_flatten({"b": 1, "a": 2})
out["r"] = flat, keys, torch.utils._pytree._dict_unflatten(flat, keys), torch.serialization.DEFAULT_PROTOCOL, np_str_obj_array_pattern.pattern
out["kinds"] = torch.distributed.ReduceOp.SUM.name, torch.distributed.ReduceOp.MAX.name, callable(torch.jit.interface)
out["streams"] = isinstance(torch.Stream(), torch.Stream), isinstance(torch.Event(), torch.Event)
out["format"] = torch.legacy_contiguous_format is torch.contiguous_format, torch.ones(2, 2).t().contiguous(memory_format=torch.legacy_contiguous_format).stride()
out["functions"] = _collate_fn_t.__args__ != (), _worker_init_fn_t.__args__[0] is int
""",
    "what stands for a tensor's address": """
x = torch.ones(2)
same = [x][0]
out["r"] = x._cdata == same._cdata, x._cdata == x[:]._cdata, type(x._cdata) is int
layer = nn.Linear(1, 1)
out["parameters"] = [p._cdata == q._cdata for p in layer.parameters() for q in layer.parameters()]
""",
    "Variable, the old name": TRY + """
V = torch.autograd.Variable
x = torch.ones(2, requires_grad=True) * 2
v = V(x)
out["v"] = v, v.is_leaf, v.data_ptr() == x.data_ptr(), V(x, requires_grad=True), V(torch.ones(2), True), V(None), isinstance(x, V), type(v) is torch.Tensor
y = torch.ones(2); w = V(y); w.add_(1)
out["y"] = y, y._version, w._version
out["refused"] = told(lambda: V([1, 2]))
out["volatile"] = V(torch.ones(1), volatile=True)
""",
}  # fmt: skip

STORED = stored(__file__)
OF_THE_BUILD = ("torch.cuda", "torch.accelerator", "torch.backends", "torch.version")


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    assert not differences(run(PROGRAMS[name], standing_in), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS, of_the_build=OF_THE_BUILD)


def test_autocast_on_the_cpu_says_why_not():
    with pytest.raises(RuntimeError, match="Pass enabled=False, or leave the autocast out"):
        autograd_lab.autocast("cpu")


def test_negative_tolerances_are_refused():
    with pytest.raises(ValueError, match="must not be negative, but got rtol=-1"):
        autograd_lab.testing.assert_close(1.0, 1.0, rtol=-1.0, atol=0.0)


def test_a_captured_function_knows_that_it_is_being_captured():
    def f(x):
        return x * 2 if autograd_lab.compiler.is_compiling() else x

    one = autograd_lab.ones(1)
    assert (f(one).item(), autograd_lab.compile(f)(one).item(), f(one).item()) == (1.0, 2.0, 1.0)
