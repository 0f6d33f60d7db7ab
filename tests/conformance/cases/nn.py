# [group] parameters

# [case] registration | attributes that are Parameters or Modules are registered, tensors are not
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))
        self.t = torch.ones(2)
        self.sub = torch.nn.Linear(2, 1)
        self.register_buffer("b", torch.zeros(1))
        self.register_parameter("n", None)
m = Net()
out = dict(names=[n for n, _ in m.named_parameters()], bufs=[n for n, _ in m.named_buffers()], children=[n for n, _ in m.named_children()], mods=[n for n, _ in m.named_modules()], none=m.n, keys=list(m.state_dict()), count=sum(p.numel() for p in m.parameters()))

# [case] replacing_and_deleting | replacing a Parameter, setting None, deleting
m = torch.nn.Module()
m.w = torch.nn.Parameter(torch.ones(1))
m.w = torch.nn.Parameter(torch.zeros(2))
out = dict(first=[tuple(p.shape) for p in m.parameters()])
m.w = None
out["none"] = (m.w, list(m.parameters()))
m.w = torch.nn.Parameter(torch.ones(3))
del m.w
out["gone"] = hasattr(m, "w")

# [case] register_errors | bad names and non-parameters
m = torch.nn.Module()
out = {}
for name, f in dict(leaf=lambda: m.register_parameter("p", torch.ones(1)), nonleaf=lambda: m.register_parameter("p", torch.nn.Parameter(torch.ones(1)) * 2), dot=lambda: m.register_parameter("a.b", torch.nn.Parameter(torch.ones(1))), empty=lambda: m.register_buffer("", torch.ones(1)), text=lambda: m.register_parameter("p", "x"), exists=lambda: m.register_buffer("training", torch.ones(1)), mod=lambda: m.add_module("x", 3), bufno=lambda: m.register_buffer("q", 3)).items():
    try:
        f()
    except (TypeError, KeyError, ValueError) as e:
        out[name] = e

# [case] parameter_lists | ParameterList, ModuleList, ModuleDict
pl = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(1)), torch.nn.Parameter(torch.zeros(2))])
ml = torch.nn.ModuleList([torch.nn.Linear(1, 1), torch.nn.ReLU()])
ml.append(torch.nn.Tanh())
md = torch.nn.ModuleDict({"a": torch.nn.Linear(1, 2), "b": torch.nn.ReLU()})
out = dict(pl=[n for n, _ in pl.named_parameters()], n=len(ml), ml=[type(x).__name__ for x in ml], neg=type(ml[-1]).__name__, md=list(md.keys()), mdp=[n for n, _ in md.named_parameters()], has="a" in md, sl=len(ml[:2]))

# [case] parameter_arithmetic | Parameters in expressions; data and grad
p = torch.nn.Parameter(torch.tensor([1.0, -2.0]))
(p.abs().sum() * 3).backward()
with torch.no_grad():
    p -= 0.1 * p.grad
out = dict(p=p, g=p.grad, kind=type(p).__name__, cl=type(p.clone()).__name__, sh=repr(p))

# [case] missing_forward | calling a module without forward
m = torch.nn.Module()
out = {}
try:
    m(1)
except NotImplementedError as e:
    out["error"] = e

# [group] layers

# [case] sequential_forms | Sequential by position, by OrderedDict, indexing and slices
from collections import OrderedDict
s = torch.nn.Sequential(OrderedDict([("a", torch.nn.Linear(1, 2)), ("b", torch.nn.ReLU())]))
t = torch.nn.Sequential(torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.Identity())
x = torch.tensor([[0.5]])
out = dict(names=[n for n, _ in s.named_parameters()], a=type(s.a).__name__, i=type(s[1]).__name__, n=len(t), sl=type(t[1:]).__name__, y=t(x), last=type(t[-1]).__name__, it=[type(m).__name__ for m in t], keys=list(s.state_dict()))

# [case] activation_modules | modules of activations equal the functions
x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
mods = dict(relu=torch.nn.ReLU(), leaky=torch.nn.LeakyReLU(0.2), elu=torch.nn.ELU(), gelu=torch.nn.GELU(), silu=torch.nn.SiLU(), tanh=torch.nn.Tanh(), sig=torch.nn.Sigmoid(), soft=torch.nn.Softmax(dim=0), ls=torch.nn.LogSoftmax(dim=0), sp=torch.nn.Softplus(), ht=torch.nn.Hardtanh(), ident=torch.nn.Identity(), r6=torch.nn.ReLU6(), mish=torch.nn.Mish(), prelu=torch.nn.PReLU())
out = {}
for k, m in mods.items():
    y = m(x)
    out[k] = (y.detach(), torch.autograd.grad(y[0] + y[2] * 10, x, allow_unused=True)[0])

# [case] embedding_layer | Embedding looks up rows; padding_idx gets no gradient
e = torch.nn.Embedding(3, 2, padding_idx=0)
with torch.no_grad():
    e.weight.copy_(torch.tensor([[0.0, 0.0], [1.0, 2.0], [3.0, 4.0]]))
y = e(torch.tensor([[0, 1], [2, 2]]))
(y * torch.tensor([1.0, 10.0])).sum().backward()
out = dict(y=y, g=e.weight.grad, pad=e.padding_idx, rep=repr(e), f=torch.nn.Embedding.from_pretrained(torch.ones(2, 2)).weight.requires_grad)

# [case] layer_norm_module | LayerNorm with its affine parameters
ln = torch.nn.LayerNorm(3)
with torch.no_grad():
    ln.weight.copy_(torch.tensor([1.0, 2.0, 0.5])); ln.bias.fill_(0.1)
x = torch.tensor([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0]], requires_grad=True)
y = ln(x)
(y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
out = dict(y=y, x=x.grad, w=ln.weight.grad, b=ln.bias.grad, rep=repr(ln), keys=list(ln.state_dict()))

# [case] batch_norm_module | BatchNorm1d in training and in evaluation
bn = torch.nn.BatchNorm1d(2).double()
x = torch.tensor([[1.0, 2.0], [3.0, 6.0], [5.0, 1.0]], dtype=torch.float64, requires_grad=True)
y = bn(x)
(y ** 3).sum().backward()
state = {k: v.clone() for k, v in bn.state_dict().items()}
bn.eval()
z = bn(x.detach())
out = dict(y=y.detach(), g=x.grad, w=bn.weight.grad, state=state, z=z, bufs=[n for n, _ in bn.named_buffers()], rep=repr(bn))

# [case] dropout_and_flatten | layers without parameters, in evaluation mode
d = torch.nn.Dropout(0.5).eval()
x = torch.arange(8.0).reshape(2, 2, 2)
out = dict(same=torch.equal(d(x), x), fl=torch.nn.Flatten()(x).shape, fl0=torch.nn.Flatten(0)(x).shape, un=torch.nn.Unflatten(1, (1, 2))(x).shape, p0=torch.nn.Dropout(0.0)(x), p1=torch.nn.functional.dropout(x, 1.0), rep=repr(torch.nn.Dropout(0.1)))
try:
    torch.nn.Dropout(1.5)
except ValueError as e:
    out["error"] = e

# [case] conv_module | Conv2d's weights, output and gradients
c = torch.nn.Conv2d(1, 2, 2, padding=1, bias=True)
with torch.no_grad():
    c.weight.copy_(torch.arange(8.0).reshape(2, 1, 2, 2)); c.bias.copy_(torch.tensor([1.0, -1.0]))
x = torch.arange(4.0).reshape(1, 1, 2, 2).requires_grad_()
y = c(x)
y.sum().backward()
out = dict(y=y.detach(), w=c.weight.grad, b=c.bias.grad, x=x.grad, shape=c.weight.shape, rep=repr(c), pool=torch.nn.MaxPool2d(2)(x.detach()), avg=torch.nn.AvgPool2d(2)(x.detach()))

# [case] linear_shapes_and_errors | Linear on vectors and stacks; wrong sizes
lin = torch.nn.Linear(3, 2)
out = dict(v=lin(torch.ones(3)).shape, b=lin(torch.ones(4, 5, 3)).shape, e=lin(torch.ones(0, 3)).shape, attrs=(lin.in_features, lin.out_features), names=[n for n, _ in lin.named_parameters()])
try:
    lin(torch.ones(2, 2))
except RuntimeError as e:
    out["error"] = e

# [case] rnn_by_hand | a weight shared over time through a module
cell = torch.nn.Linear(2, 2)
with torch.no_grad():
    cell.weight.copy_(torch.tensor([[0.5, 0.1], [-0.2, 0.3]])); cell.bias.fill_(0.1)
h = torch.zeros(2)
for t in range(3):
    h = torch.tanh(cell(h) + t)
h.sum().backward()
out = dict(h=h.detach(), w=cell.weight.grad, b=cell.bias.grad)

# [group] state

# [case] load_errors | missing, unexpected and misshapen entries
lin = torch.nn.Linear(2, 1)
out = {}
for name, sd in dict(missing={"weight": torch.ones(1, 2)}, unexpected={"weight": torch.ones(1, 2), "bias": torch.ones(1), "extra": torch.ones(1)}, shape={"weight": torch.ones(2, 2), "bias": torch.ones(1)}).items():
    try:
        lin.load_state_dict(sd)
    except RuntimeError as e:
        out[name] = e
r = lin.load_state_dict({"weight": torch.ones(1, 2), "other": torch.ones(1)}, strict=False)
out["loose"] = (r.missing_keys, r.unexpected_keys)

# [case] buffers_in_state | buffers are saved unless not persistent, and moved by dtype changes
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.ones(2))
        self.register_buffer("b", torch.zeros(1), persistent=False)
        self.register_buffer("c", None)
        self.register_buffer("n", torch.tensor(3))
m = M()
m.a = m.a * 5
m.double()
out = dict(keys=list(m.state_dict()), a=m.a, b=m.b.dtype, n=m.n, names=[n for n, _ in m.named_buffers()], req=m.a.requires_grad)

# [case] zero_grad_module | zero_grad sets gradients to None, or to zeros
lin = torch.nn.Linear(1, 1)
lin(torch.ones(1, 1)).backward()
had = lin.weight.grad is not None
lin.zero_grad()
after = lin.weight.grad
lin(torch.ones(1, 1)).backward()
lin.zero_grad(set_to_none=False)
out = dict(had=had, after=after, zeros=lin.weight.grad)

# [case] state_dict_prefix_and_copy | nested names; a clone is independent
import copy
net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Sequential(torch.nn.Linear(1, 1)))
twin = copy.deepcopy(net)
with torch.no_grad():
    net[0].weight.fill_(7.0)
out = dict(keys=list(net.state_dict()), pre=list(net[0].state_dict(prefix="x."))[:1], indep=twin[0].weight.item() != 7.0, leaf=twin[0].weight.is_leaf, req=twin[0].weight.requires_grad, kinds=type(net.state_dict()).__name__)

# [case] submodule_access | get_submodule, get_parameter, modules, children
net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Linear(1, 2)))
out = dict(sub=type(net.get_submodule("1.0")).__name__, par=net.get_parameter("1.1.weight").shape, mods=[type(m).__name__ for m in net.modules()], names=[n for n, _ in net.named_modules()], kids=len(list(net.children())), shallow=[n for n, _ in net.named_parameters(recurse=False)])
try:
    net.get_submodule("5")
except AttributeError as e:
    out["error"] = e

# [case] training_flag_recursive | train(False), eval on part, requires_grad of parts
net = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Dropout(), torch.nn.BatchNorm1d(1))
net[2].eval()
a = [m.training for m in net.modules()]
net.train(False)
b = [m.training for m in net.modules()]
net[0].weight.requires_grad = False
out = dict(a=a, b=b, req=[p.requires_grad for p in net.parameters()])
try:
    net.train("yes")
except ValueError as e:
    out["error"] = e

# [group] hooks_and_apply

# [case] forward_hooks | pre-hooks change inputs, hooks change outputs
lin = torch.nn.Identity()
log = []
h1 = lin.register_forward_pre_hook(lambda m, args: (args[0] * 2,))
h2 = lin.register_forward_hook(lambda m, args, y: log.append((args[0].item(), y.item())))
h3 = lin.register_forward_hook(lambda m, args, y: y + 1)
x = torch.tensor([3.0], requires_grad=True)
y = lin(x)
h3.remove()
h1.remove()
z = lin(x)
out = dict(y=y, z=z, log=log)

# [case] full_backward_hook | a full backward hook sees gradients of inputs and outputs, and may replace them
lin = torch.nn.Linear(1, 1, bias=False)
with torch.no_grad():
    lin.weight.fill_(3.0)
log = []
def hook(m, gi, go):
    log.append((type(m).__name__, gi[0].item(), go[0].item()))
    return (gi[0] * 10,)
lin.register_full_backward_hook(hook)
x = torch.tensor([[2.0]], requires_grad=True)
y = lin(x)
(y * 5).backward()
out = dict(log=log, x=x.grad, w=lin.weight.grad, name=y.grad_fn.name())

# [case] hook_with_kwargs | forward hooks that see keywords
class M(torch.nn.Module):
    def forward(self, x, k=1):
        return x * k
m = M()
seen = []
m.register_forward_hook(lambda mod, args, kwargs, y: seen.append((args[0].item(), kwargs, y.item())), with_kwargs=True)
y = m(torch.tensor(2.0), k=5)
out = dict(seen=seen, y=y)

# [case] apply_initializes | apply with an initializer; nn.init functions
net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
def init(m):
    if isinstance(m, torch.nn.Linear):
        torch.nn.init.constant_(m.weight, 0.5)
        torch.nn.init.zeros_(m.bias)
r = net.apply(init)
w = torch.empty(2, 3)
out = dict(same=r is net, y=net(torch.ones(1, 2)), eye=torch.nn.init.eye_(torch.empty(2, 2)), ones=torch.nn.init.ones_(w) is w, g=torch.nn.init.calculate_gain("relu"))

# [case] more_reprs | what containers and custom modules print
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 1)
        self.act = torch.nn.LeakyReLU(0.1)
    def forward(self, x):
        return self.act(self.fc(x))
class Extra(torch.nn.Module):
    def extra_repr(self):
        return "k=3"
out = dict(net=repr(Net()), empty=repr(torch.nn.Module()), extra=repr(Extra()), ml=repr(torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.ReLU(inplace=True)])), seq=repr(torch.nn.Sequential()), mse=repr(torch.nn.MSELoss()), sm=repr(torch.nn.Softmax(dim=1)), rep3=repr(torch.nn.ModuleList([torch.nn.Tanh() for _ in range(3)])), nested=repr(torch.nn.Sequential(torch.nn.Sequential(torch.nn.Tanh()))), gelu=repr(torch.nn.GELU()), fl=repr(torch.nn.Flatten()), mp=repr(torch.nn.MaxPool2d(2)))

# [case] parameter_utilities | clip_grad_norm_, clip_grad_value_, parameters_to_vector
a = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
b = torch.nn.Parameter(torch.tensor([3.0]))
a.grad, b.grad = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
n = torch.nn.utils.clip_grad_norm_([a, b], 1.0)
first = (a.grad.clone(), b.grad.clone())
torch.nn.utils.clip_grad_value_([a, b], 0.7)
v = torch.nn.utils.parameters_to_vector([a, b])
torch.nn.utils.vector_to_parameters(torch.tensor([7.0, 8.0, 9.0]), [a, b])
out = dict(n=n, first=first, ag=a.grad, bg=b.grad, v=v, a=a, b=b)

# [case] to_and_float | to(dtype), float, half on modules with integer buffers
m = torch.nn.BatchNorm1d(1)
m.to(torch.float64)
a = [(k, str(v.dtype)) for k, v in m.state_dict().items()]
m.half()
lin = torch.nn.Linear(1, 1)
lin(torch.ones(1, 1)).sum().backward()
lin.double()
out = dict(a=a, w=m.weight.dtype, g=lin.weight.grad.dtype, nb=m.num_batches_tracked)

# [case] backward_hook_returns | what a full backward hook and a pre-hook may return
def through(ret, pre=False):
    m = torch.nn.Linear(3, 1)
    torch.nn.init.ones_(m.weight)
    if pre:
        m.register_full_backward_pre_hook(lambda m, go: ret(go))
    else:
        m.register_full_backward_hook(lambda m, gi, go: ret(gi))
    x = torch.tensor([[1.0, 2.0, 3.0], [1.0, 1.0, 1.0]], requires_grad=True)
    m(x).sum().backward()
    return x.grad
out = {}
for name, f in dict(number=lambda g: 5, tensor=lambda g: g[0] * 2, pair=lambda g: (g[0], g[0]), listed=lambda g: [g[0] * 2], right=lambda g: (g[0] * 3,), other=lambda g: (3,)).items():
    for pre in (False, True):
        try:
            out[name, pre] = through(f, pre)
        except (RuntimeError, TypeError) as e:
            out[name, pre] = e

# [case] refused_settings | settings and arguments that layers and their functions refuse
F = torch.nn.functional
x = torch.arange(6.0).reshape(2, 3)
class Bare(torch.nn.Module):
    def __init__(self):
        self.x = 3
out = {}
for name, f in dict(hardtanh=lambda: torch.nn.Hardtanh(2, 1), gelu=lambda: F.gelu(x, "tanh"), word=lambda: F.gelu(x, approximate="tanh"), layer=lambda: F.layer_norm(x, 3), resize=lambda: F.interpolate(x), bare=lambda: Bare()(x)).items():
    try:
        out[name] = f()
    except Exception as e:
        out[name] = e
out["limit"] = (torch.nn.ReLU6()(x.requires_grad_()).grad_fn._saved_max_val, F.relu6(x).grad_fn._saved_max_val)
