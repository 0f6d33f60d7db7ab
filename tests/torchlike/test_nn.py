"""Modules: what is registered, called, saved, converted and printed, as PyTorch does it.

To record: `python -m tests.record nn`.
"""

import pickle

import numpy as np
import pytest
from recorded import check_live, differences, fill, run, stored

import autograd_lab

ATTEMPT = """
def attempt(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:60]}"
"""

LAYERS = {
    "Linear(2, 3)": (4, 2), "Linear(2, 3, bias=False)": (4, 2), "Linear(2, 1)": (2,), "Bilinear(2, 3, 4)": None, "Conv1d(3, 4, 2)": (2, 3, 5),
    "Conv2d(3, 4, 2)": (2, 3, 5, 4), "Conv2d(4, 6, (3, 2), stride=2, padding=1, dilation=(1, 2), groups=2)": (2, 4, 5, 6),
    "Conv2d(3, 4, 3, padding='same')": (2, 3, 5, 4), "Conv2d(3, 4, 3, padding=1, padding_mode='reflect')": (2, 3, 5, 4),
    "Conv2d(3, 4, 3, padding=1, padding_mode='circular', bias=False)": (2, 3, 5, 4), "Conv2d(3, 4, 3, padding=2, padding_mode='replicate')": (2, 3, 5, 4),
    "ConvTranspose1d(3, 4, 3, stride=2)": (2, 3, 4), "ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)": (2, 3, 4, 3), "Conv3d(2, 3, 2)": (1, 2, 3, 3, 3),
    "BatchNorm1d(3)": (4, 3), "BatchNorm1d(3, eps=0.1, momentum=None)": (4, 3, 2), "BatchNorm2d(3, affine=False)": (2, 3, 2, 2), "BatchNorm1d(3, track_running_stats=False)": (4, 3),
    "LayerNorm(3)": (2, 3), "LayerNorm((2, 3), eps=0.1, elementwise_affine=False)": (4, 2, 3), "LayerNorm(3, bias=False)": (2, 3), "GroupNorm(2, 4)": (2, 4, 3), "RMSNorm(3)": (2, 3),
    "InstanceNorm1d(3)": (2, 3, 4), "InstanceNorm2d(3, affine=True, track_running_stats=True)": (2, 3, 4, 2), "LocalResponseNorm(2)": (2, 3, 4),
    "MaxPool1d(2)": (2, 3, 5), "MaxPool2d(2)": (2, 3, 5, 4), "MaxPool2d(3, stride=1, padding=1, ceil_mode=True)": (2, 3, 5, 4), "AvgPool1d(2)": (2, 3, 5), "AvgPool2d(2)": (2, 3, 5, 4),
    "AvgPool2d((3, 2), stride=2, padding=1)": (2, 3, 5, 4), "AdaptiveAvgPool1d(2)": (2, 3, 5), "AdaptiveAvgPool2d((2, 3))": (2, 3, 5, 4), "AdaptiveAvgPool2d(1)": (2, 3, 5, 4),
    "AdaptiveMaxPool2d(2)": (2, 3, 5, 4), "Flatten()": (2, 3, 4), "Flatten(0, 1)": (2, 3, 4), "Unflatten(1, (2, 3))": (2, 6), "Identity(3, x=4)": (2, 3), "Unfold(2)": (2, 3, 5, 4),
    "Fold((5, 4), 2)": (2, 12, 12), "ZeroPad2d(1)": (2, 3, 5, 4), "ReflectionPad1d(2)": (2, 3, 5), "ReplicationPad2d((1, 2, 0, 1))": (2, 3, 5, 4), "ConstantPad1d((1, 2), 3.5)": (2, 3, 5),
    "ReLU()": (2, 3), "ReLU6()": (2, 3), "LeakyReLU(0.2)": (2, 3), "ELU(1.5)": (2, 3), "SELU()": (2, 3), "CELU(0.7)": (2, 3), "GELU()": (2, 3), "GELU(approximate='tanh')": (2, 3), "SiLU()": (2, 3),
    "Mish()": (2, 3), "Tanh()": (2, 3), "Sigmoid()": (2, 3), "LogSigmoid()": (2, 3), "Softplus()": (2, 3), "Softplus(2.0, 1.0)": (2, 3), "Softsign()": (2, 3), "Tanhshrink()": (2, 3),
    "Hardtanh()": (2, 3), "Hardtanh(-0.2, 0.3)": (2, 3), "Hardsigmoid()": (2, 3), "Hardswish()": (2, 3), "Hardshrink()": (2, 3), "Softshrink(0.2)": (2, 3), "Threshold(0.1, 20)": (2, 3),
    "PReLU()": (2, 3), "PReLU(3)": (2, 3), "RReLU().eval()": (2, 3), "GLU()": (2, 4), "Softmax(dim=1)": (2, 3), "Softmax()": (2, 3), "Softmin(dim=0)": (2, 3), "LogSoftmax(dim=-1)": (2, 3), "Softmax2d()": (2, 3, 2, 2),
    "Dropout(0.3).eval()": (2, 3), "Dropout2d().eval()": (2, 3, 2, 2), "AlphaDropout(0.2).eval()": (2, 3), "CosineSimilarity()": None, "PairwiseDistance()": None, "PixelShuffle(2)": (1, 4, 2, 2),
    "ReLU(inplace=True)": None, "SELU(inplace=True)": None, "LeakyReLU(0.1, True)": None, "Embedding(4, 3)": None, "Embedding(4, 3, padding_idx=1, max_norm=2.0)": None, "Dropout(0.5, inplace=True)": None,
    "MSELoss()": None, "CrossEntropyLoss()": None, "HuberLoss(delta=0.3)": None, "RNNCell(3, 2)": (4, 3), "GRUCell(3, 2)": (4, 3), "RNNCell(3, 2, nonlinearity='relu', bias=False)": (3,),
    "Upsample(scale_factor=2)": (2, 3, 5, 4), "Upsample(size=(7, 3), mode='bilinear')": (2, 3, 5, 4), "Upsample(scale_factor=1.7, mode='bilinear', align_corners=True)": (2, 3, 5, 4),
    "Upsample(scale_factor=(0.6, 2.5), mode='bicubic')": (2, 3, 5, 4), "Upsample(size=9, mode='linear')": (2, 3, 5), "Upsample(scale_factor=1.5, mode='trilinear')": (1, 2, 3, 4, 2),
    "Upsample(size=(3, 3), mode='area')": (2, 3, 5, 4), "Upsample(scale_factor=1.7, mode='nearest-exact')": (2, 3, 5, 4), "UpsamplingBilinear2d(scale_factor=2)": (2, 3, 5, 4), "UpsamplingNearest2d(size=3)": (2, 3, 5, 4),
}  # fmt: skip


def layer_program(make, shape):
    lines = [
        f"m = fill(nn.{make})",
        "out['repr'] = repr(m)",
        "out['state'] = [(k, tuple(v.shape)) for k, v in m.state_dict().items()]",
    ]
    if shape is not None:
        lines += [
            f"x = torch.tensor((np.cos(np.arange(np.prod({shape})) * 0.7) * 1.5).astype('float32').reshape({shape}), requires_grad=True)",
            "y = m(x * 1)", "(y * y).sum().backward()",
            "out['y'], out['x'], out['grads'], out['after'] = y, x.grad, [p.grad for p in m.parameters()], dict(m.named_buffers())",
        ]  # fmt: skip
    return "\n".join(lines)


PROGRAMS = {f"layer {make}": layer_program(make, shape) for make, shape in LAYERS.items()} | {
    "registration": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer('seen', torch.zeros(1))
        self.register_buffer('scratch', torch.zeros(1), persistent=False)
        self.b = nn.Sequential(nn.Linear(2, 1), self.a)
        self.none = None
        self.register_parameter('nothing', None)
        self.plain = torch.ones(1)
n = Net()
out['params'] = [k for k, _ in n.named_parameters()]
out['all'] = [k for k, _ in n.named_parameters(remove_duplicate=False)]
out['own'] = [k for k, _ in n.named_parameters(recurse=False)]
out['buffers'] = [k for k, _ in n.named_buffers()]
out['modules'] = [k for k, _ in n.named_modules()]
out['children'] = [k for k, _ in n.named_children()]
out['state'] = list(n.state_dict())
out['metadata'] = dict(n.state_dict()._metadata)
out['repr'] = repr(n)
out['missing'] = n.nothing
out['same'] = n.get_submodule('b.1') is n.a, n.get_parameter('b.0.weight') is n.b[0].weight, n.get_buffer('seen') is n.seen
del n.w
out['after'] = [k for k, _ in n.named_parameters()]
n.a = None
out['gone'] = [k for k, _ in n.named_modules()], [k for k, _ in n.named_children()]
n.seen = None
out['no_buffer'] = list(n.state_dict())
n.seen = torch.ones(3)
n.plain = nn.Parameter(torch.ones(1))
out['promoted'] = [k for k, _ in n.named_parameters()], 'plain' in n.__dict__, n.state_dict()['seen']
n.b = nn.ReLU()
out['replaced'] = repr(n)
""",
    "setattr errors": ATTEMPT + """
m = nn.Linear(2, 2)
out['param'] = attempt(lambda: setattr(m, 'weight', torch.ones(2, 2)))
out['module'] = attempt(lambda: setattr(nn.Sequential(nn.ReLU()), '0', 3))
b = nn.BatchNorm1d(2)
out['buffer'] = attempt(lambda: setattr(b, 'running_mean', 3))
out['missing'] = attempt(lambda: m.foo)
out['delete'] = attempt(lambda: delattr(m, 'foo'))
class Early(nn.Module):
    def __init__(self, what):
        self.x = what
out['early'] = [attempt(lambda: Early(w)) for w in (nn.Parameter(torch.ones(1)), nn.ReLU())]
class Buffered(nn.Module):
    def __init__(self):
        self.register_buffer('b', torch.ones(1))
out['early_buffer'] = attempt(Buffered)
for name in ('', 'a.b', 'training', 3):
    k = nn.Module()
    out[f'names {name}'] = [attempt(lambda: k.register_parameter(name, None)), attempt(lambda: k.register_buffer(name, None)), attempt(lambda: k.add_module(name, None))]
k = nn.Module()
out['types'] = [attempt(lambda: k.register_parameter('p', torch.ones(1))), attempt(lambda: k.register_buffer('p', 3)), attempt(lambda: k.add_module('p', 3)),
                attempt(lambda: k.register_parameter('p', nn.Parameter(torch.ones(1)) * 2))]
out['call'] = attempt(lambda: nn.Module()(1))
out['init'] = [attempt(lambda: nn.Module(1)), attempt(lambda: nn.Module(a=1))]
out['train'] = attempt(lambda: m.train(2))
out['paths'] = [attempt(lambda: m.get_submodule('a.b')), attempt(lambda: m.get_parameter('x')), attempt(lambda: m.get_parameter('weight.x')), attempt(lambda: m.get_buffer('weight'))]
out['to'] = [attempt(lambda: m.to(torch.int64)), attempt(lambda: m.to('x'))]
""",
    "parameter": """
t = torch.ones(2)
p = nn.Parameter(t)
out['repr'] = repr(p), repr(nn.Parameter(torch.ones(1), requires_grad=False))
out['flags'] = p.requires_grad, p.is_leaf, isinstance(p, torch.Tensor), isinstance(p, nn.Parameter), isinstance(t, nn.Parameter), type(p * 2).__name__
p.data[0] = 5.0
out['shared'] = t
q = nn.Parameter(p)
out['again'] = q, q is p
import copy
(p * p).sum().backward()
c = copy.deepcopy(p)
out['copy'] = c, type(c).__name__, c.grad
with torch.no_grad():
    r = nn.Parameter(torch.ones(1))
out['in no_grad'] = r.requires_grad
out['empty'] = nn.Parameter().shape
b = nn.Buffer(torch.ones(2), persistent=False)
out['buffer'] = isinstance(b, nn.Buffer), type(b).__name__, b.persistent, isinstance(t, nn.Buffer)
m = nn.Module()
m.b = b
m.c = nn.Buffer(torch.zeros(1))
out['registered'] = [k for k, _ in m.named_buffers()], list(m.state_dict())
t2 = torch.ones(2)
p2 = nn.Parameter(t2)
t2.add_(1)
out['version'] = p2._version
""",
    "state_dict": ATTEMPT + """
a = fill(nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)))
b = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
sd = a.state_dict()
out['keys'] = list(sd)
out['shares'] = sd['0.weight'].data_ptr() == a[0].weight.data_ptr(), sd['0.weight'].requires_grad
out['vars'] = a.state_dict(keep_vars=True)['0.weight'] is a[0].weight
out['prefixed'] = list(a.state_dict(prefix='net.'))
r = b.load_state_dict(sd)
out['ok'] = repr(r), b[0].weight, b[0].weight.data_ptr() != a[0].weight.data_ptr(), b[0].weight._version
out['errors'] = [attempt(lambda: b.load_state_dict({})), attempt(lambda: b.load_state_dict(3)),
                 attempt(lambda: nn.Linear(2, 1).load_state_dict({'weight': torch.ones(1, 3), 'bias': torch.ones(1), 'x': 1})),
                 attempt(lambda: nn.Linear(2, 1).load_state_dict({'weight': 3, 'bias': torch.ones(1)}))]
out['loose'] = repr(nn.Linear(2, 1).load_state_dict({'weight': torch.ones(1, 2), 'x': torch.ones(1)}, strict=False))
l = nn.Linear(2, 1)
w = torch.full((1, 2), 7.0)
l.load_state_dict({'weight': w, 'bias': torch.ones(1)}, assign=True)
out['assigned'] = l.weight, type(l.weight).__name__, l.weight.data_ptr() == w.data_ptr()
d = nn.Linear(2, 1).double()
d.load_state_dict({'weight': torch.ones(1, 2), 'bias': torch.ones(1)})
out['cast'] = d.weight
log = []
h = nn.Linear(1, 1)
h.register_state_dict_pre_hook(lambda m, prefix, keep: log.append('pre'))
h.register_state_dict_post_hook(lambda m, s, prefix, meta: log.append('post'))
h.register_load_state_dict_pre_hook(lambda m, s, *a: log.append('load pre'))
h.register_load_state_dict_post_hook(lambda m, keys: log.append('load post'))
h.load_state_dict(h.state_dict())
out['log'] = log
class Extra(nn.Module):
    def get_extra_state(self):
        return {'n': 3}
    def set_extra_state(self, state):
        self.n = state['n']
e = Extra()
s = e.state_dict()
e.load_state_dict(s)
out['extra'] = list(s), e.n
""",
    "modes and conversions": """
net = fill(nn.Sequential(nn.Linear(2, 2), nn.Dropout(), nn.BatchNorm1d(2)))
net.eval()
out['eval'] = [m.training for m in net.modules()]
net.train()
out['train'] = [m.training for m in net.modules()]
net.requires_grad_(False)
out['frozen'] = [p.requires_grad for p in net.parameters()]
net.requires_grad_()
(net[0](torch.ones(1, 2)) ** 2).sum().backward()
w = net[0].weight
net.double()
out['double'] = [p.dtype for p in net.parameters()], [b.dtype for b in net.buffers()], net[0].weight is w, w.grad
net.to(torch.float32)
out['float'] = w, w.grad, w._version
net.half()
out['half'] = w.dtype, net[2].num_batches_tracked.dtype
net.float()
net.zero_grad()
out['none'] = w.grad
(net[0](torch.ones(1, 2)) ** 2).sum().backward()
g = w.grad
net.zero_grad(set_to_none=False)
out['zero'] = w.grad, w.grad is g
seen = []
out['apply'] = net.apply(lambda m: seen.append(type(m).__name__)) is net, seen
""",
    "forward hooks": """
m = fill(nn.Linear(2, 2))
log = []
h1 = m.register_forward_pre_hook(lambda mod, args: log.append(('pre', len(args))))
h2 = m.register_forward_hook(lambda mod, args, y: log.append(('post', y)))
x = torch.ones(1, 2)
m(x)
h1.remove()
h2.remove()
m(x)
out['log'] = log
m.register_forward_pre_hook(lambda mod, args: (args[0] * 2,))
m.register_forward_hook(lambda mod, args, y: y + 1)
out['changed'] = m(x)
k = fill(nn.Linear(2, 2))
k.register_forward_pre_hook(lambda mod, args, kwargs: (args, {'input': kwargs['input'] * 3}), with_kwargs=True)
k.register_forward_hook(lambda mod, args, kwargs, y: log.append(sorted(kwargs)), with_kwargs=True)
out['kwargs'] = k(input=x)
order = []
j = nn.ReLU()
for i in range(3):
    j.register_forward_hook(lambda mod, a, y, i=i: order.append(i), prepend=i == 2)
j(x)
out['order'] = order
class Bad(nn.Module):
    def forward(self, x):
        raise ValueError('no')
b = Bad()
b.register_forward_hook(lambda mod, a, y: order.append('always'), always_call=True)
b.register_forward_hook(lambda mod, a, y: order.append('never'))
try:
    b(x)
except ValueError:
    pass
out['always'] = order
""",
    "backward hooks": """
m = fill(nn.Sequential(nn.Linear(2, 2), nn.Tanh()))
log = []
m[0].register_full_backward_pre_hook(lambda mod, g: log.append(['pre', list(g)]))
m[0].register_full_backward_hook(lambda mod, gi, go: log.append(['full', list(gi), list(go)]))
x = torch.ones(1, 2, requires_grad=True)
y = m(x)
y.sum().backward()
out['log'], out['x'], out['node'] = log, x.grad, m[0](x).grad_fn.name()
k = fill(nn.Linear(2, 2))
k.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 10,))
z = torch.ones(1, 2, requires_grad=True)
k(z).sum().backward()
out['changed'] = z.grad
p = fill(nn.Linear(2, 2))
p.register_full_backward_pre_hook(lambda mod, g: (g[0] * 3,))
z2 = torch.ones(1, 2, requires_grad=True)
p(z2).sum().backward()
out['pre changed'] = z2.grad, p.bias.grad
q = fill(nn.Linear(2, 2))
seen = []
q.register_full_backward_hook(lambda mod, gi, go: seen.append([list(gi), list(go)]))
q(torch.ones(1, 2)).sum().backward()
out['constant input'] = seen, q.weight.grad
class Two(nn.Module):
    def forward(self, a, k, b):
        return a * k, b + 1
t = Two()
got = []
t.register_full_backward_hook(lambda mod, gi, go: got.append([list(gi), list(go)]))
a, b = torch.ones(1, requires_grad=True), torch.ones(1)
u, v = t(a, 3, b)
(u * 2).backward()
out['several'] = got, a.grad
""",
    "containers": ATTEMPT + """
s = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
out['seq'] = len(s), [type(m).__name__ for m in s], type(s[-1]).__name__, repr(s[:2]), attempt(lambda: s[5]), attempt(lambda: s['a'])
s[1] = nn.Tanh()
del s[0]
s.append(nn.ReLU())
s.insert(0, nn.Identity())
s.extend([nn.GELU()])
out['changed'] = repr(s), repr(s.pop(1)), len(s)
from collections import OrderedDict
o = nn.Sequential(OrderedDict([('first', nn.Linear(1, 1)), ('second', nn.ReLU())]))
out['named'] = repr(o), list(o.state_dict()), type(o.first).__name__
out['sum'] = repr(nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh()))
l = nn.ModuleList([nn.Linear(1, 1), nn.Linear(1, 1), nn.ReLU()])
l.append(nn.ReLU())
l += [nn.Tanh()]
l.insert(1, nn.Identity())
out['list'] = repr(l), len(l), [k for k, _ in l.named_parameters()], attempt(lambda: l[9]), repr(l[1:3]), attempt(lambda: nn.ModuleList([1]))
del l[0]
out['list2'] = repr(l), [k for k, _ in l.named_parameters()], repr(nn.ModuleList())
d = nn.ModuleDict({'a': nn.Linear(1, 1), 'b': nn.ReLU()})
d['c'] = nn.Tanh()
d.update([['d', nn.GELU()]])
out['dict'] = repr(d), list(d), 'a' in d, len(d), repr(d.pop('a')), list(d.keys()), attempt(lambda: d['z']), attempt(lambda: nn.ModuleDict([1]))
p = nn.ParameterList([torch.ones(2), nn.Parameter(torch.zeros(1, 2)), 3])
p.append(torch.ones(1))
out['plist'] = repr(p), len(p), [k for k, _ in p.named_parameters()], type(p[0]).__name__, [type(v).__name__ for v in p]
q = nn.ParameterDict({'a': torch.ones(2), 'n': 5})
q['b'] = nn.Parameter(torch.zeros(1))
out['pdict'] = repr(q), list(q.keys()), 'a' in q, len(q), [k for k, _ in q.named_parameters()], attempt(lambda: q['z'])
""",
    "repr": """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(inplace=True), nn.Sequential(nn.Dropout(), nn.Flatten()))
        self.head = nn.ModuleDict({'x': nn.Linear(1, 1)})
    def extra_repr(self):
        return 'size=3'
out['net'] = repr(Net()), str(nn.Module())
class Lines(nn.Module):
    def extra_repr(self):
        return 'a=1\\nb=2'
out['lines'] = repr(Lines())
""",
    "losses": """
x = torch.tensor([[0.2, -0.4, 1.0], [0.5, 0.1, -0.3]], requires_grad=True)
y = torch.tensor([[0.0, 1.0, 0.5], [1.0, 0.2, 0.9]])
t = torch.tensor([2, 0])
w = torch.tensor([0.5, 2.0, 1.0])
cases = dict(mse=nn.MSELoss()(x, y), l1=nn.L1Loss(reduction='sum')(x, y), smooth=nn.SmoothL1Loss(beta=0.5)(x, y), huber=nn.HuberLoss(delta=0.3)(x, y), ce=nn.CrossEntropyLoss()(x, t),
             ce_w=nn.CrossEntropyLoss(weight=w, label_smoothing=0.1)(x, t), nll=nn.NLLLoss(weight=w, ignore_index=0)(x.log_softmax(1), t), bce=nn.BCELoss()(x.sigmoid(), y),
             bcel=nn.BCEWithLogitsLoss(pos_weight=w)(x, y), kl=nn.KLDivLoss(reduction='batchmean')(x.log_softmax(1), y), cos=nn.CosineEmbeddingLoss()(x, y, torch.tensor([1, -1])),
             margin=nn.MarginRankingLoss()(x[0], x[1], torch.ones(3)), hinge=nn.HingeEmbeddingLoss()(x, torch.tensor([[1, -1, 1], [1, 1, -1]])), soft=nn.SoftMarginLoss()(x, torch.ones(2, 3)),
             multi=nn.MultiMarginLoss()(x, t), label=nn.MultiLabelSoftMarginLoss()(x, (y > 0.3).float()), triplet=nn.TripletMarginLoss()(x, y, y.flip(0)), gauss=nn.GaussianNLLLoss()(x, y, torch.ones(2, 3)),
             poisson=nn.PoissonNLLLoss()(x, y), none=nn.CrossEntropyLoss(reduction='none')(x, t))
for name, loss in cases.items():
    out[name] = loss, torch.autograd.grad(loss.sum(), x)[0]
out['buffers'] = list(nn.CrossEntropyLoss(weight=w).state_dict()), list(nn.MSELoss().state_dict())
out['legacy'] = nn.MSELoss(size_average=False)(x, y)
""",
    "utils": ATTEMPT + """
a, b = nn.Parameter(torch.tensor([3.0, 4.0])), nn.Parameter(torch.tensor([[1.0], [2.0]]))
a.grad, b.grad = torch.tensor([3.0, 4.0]), torch.tensor([[0.0], [12.0]])
out['norm'] = nn.utils.clip_grad_norm_([a, b], 6.5), a.grad, b.grad, a.grad._version
out['small'] = nn.utils.clip_grad_norm_([a, b], 100.0), a.grad
out['inf'] = nn.utils.clip_grad_norm_([a, b], 1.0, norm_type=float('inf')), b.grad
nn.utils.clip_grad_value_([a, b], 0.5)
out['value'] = a.grad, b.grad
a.grad = torch.tensor([float('nan'), 1.0])
out['nan'] = nn.utils.clip_grad_norm_([a], 1.0), a.grad, attempt(lambda: nn.utils.clip_grad_norm_([a], 1.0, error_if_nonfinite=True))
out['nothing'] = nn.utils.clip_grad_norm_([nn.Parameter(torch.ones(1))], 1.0)
v = nn.utils.parameters_to_vector([a, b])
out['vector'] = v
nn.utils.vector_to_parameters(torch.tensor([9.0, 8.0, 7.0, 6.0]), [a, b])
out['back'] = a, b
""",
    "init formulas": ATTEMPT + """
t = torch.empty(200, 100)
def spread(fn):
    fn()
    return round(float(t.std()), 2), bool(t.min() < 0)
out['gains'] = [nn.init.calculate_gain(n) for n in ('linear', 'conv2d', 'sigmoid', 'tanh', 'relu', 'selu')], nn.init.calculate_gain('leaky_relu', 0.2), attempt(lambda: nn.init.calculate_gain('x'))
out['kaiming'] = spread(lambda: nn.init.kaiming_uniform_(t, nonlinearity='relu')), spread(lambda: nn.init.kaiming_normal_(t, mode='fan_out', nonlinearity='relu'))
out['xavier'] = spread(lambda: nn.init.xavier_uniform_(t, gain=2.0)), spread(lambda: nn.init.xavier_normal_(t))
out['fixed'] = nn.init.constant_(torch.empty(2), 3.0), nn.init.ones_(torch.empty(2)), nn.init.zeros_(torch.empty(2)), nn.init.eye_(torch.empty(2, 3)), nn.init.dirac_(torch.empty(2, 2, 3))
q = nn.init.orthogonal_(torch.empty(3, 5))
out['orthogonal'] = bool(((q @ q.T - torch.eye(3)).abs() < 1e-5).all())
out['trunc'] = bool((nn.init.trunc_normal_(torch.empty(1000), std=2.0, a=-1.0, b=1.0).abs() <= 1).all())
l = nn.Linear(100, 50)
out['linear'] = bool(l.weight.abs().max() <= 0.1 + 1e-6), bool(l.bias.abs().max() <= 0.1 + 1e-6), l.weight._version, l.bias._version
out['errors'] = [attempt(lambda: nn.init.xavier_uniform_(torch.ones(2))), attempt(lambda: nn.init.eye_(torch.ones(2))), attempt(lambda: nn.init.kaiming_normal_(torch.ones(2, 2), mode='x'))]
p = nn.Parameter(torch.ones(2))
nn.init.zeros_(p)
out['recorded'] = p, p.is_leaf
""",
    "embedding": """
e = fill(nn.Embedding(4, 3, padding_idx=1))
y = e(torch.tensor([[0, 1], [3, 0]]))
(y * y).sum().backward()
out['y'], out['grad'] = y, e.weight.grad
f = nn.Embedding.from_pretrained(torch.ones(2, 2))
out['frozen'] = f.weight.requires_grad, repr(f)
m = nn.Embedding(3, 2, max_norm=1.0)
with torch.no_grad():
    m.weight.fill_(3.0)
out['max_norm'] = m(torch.tensor([0, 2])), m.weight
""",
    "recurrent cells": """
l = fill(nn.LSTMCell(3, 2))
h, c = l(torch.ones(4, 3))
h2, c2 = l(torch.ones(4, 3), (h, c))
(h2.sum() + c2.sum()).backward()
out['lstm'] = h2, c2, [p.grad for p in l.parameters()], repr(l)
g = fill(nn.GRUCell(3, 2))
h = g(torch.ones(3))
out['gru'] = h, g(torch.ones(3), h)
""",
    "attention": """
def leaf(*shape, k=1.0):
    return torch.tensor(np.cos(np.arange(np.prod(shape)) * 0.7 * k).reshape(shape).astype('float32'), requires_grad=True)
def nodes(t):
    found, fn = [], t.grad_fn
    while fn is not None:
        found.append(fn.name())
        fn = next((f for f, _ in fn.next_functions[found[-1] == 'AddmmBackward0':] if f is not None), None)
    return found
def use(m, *args, **kwargs):
    fill(m)
    y, w = m(*args, **kwargs)
    (y * y).sum().backward()
    grads = [(p.grad * p.grad).sum() for p in m.parameters()] + [a.grad for a in dict.fromkeys(args)]
    for a in args:
        a.grad = None
    return y, w, nodes(y), grads
x, y, z = leaf(4, 3, 6), leaf(5, 3, 6, k=0.3), leaf(5, 3, 6, k=0.2)
late = torch.tensor(np.triu(np.ones((4, 4), bool), 1))
pad = torch.tensor([[False, False, False, True], [True, False, False, False], [False] * 4])
for first in (False, True):
    for weights in (False, True):
        out[f'self {first} {weights}'] = use(nn.MultiheadAttention(6, 2, batch_first=first), x, x, x, need_weights=weights)
        out[f'memory {first} {weights}'] = use(nn.MultiheadAttention(6, 2, bias=first), x, y, y, need_weights=weights, average_attn_weights=first)
for weights in (False, True):
    out[f'three {weights}'] = use(nn.MultiheadAttention(6, 2), x, y, z, need_weights=weights)
    out[f'extra {weights}'] = use(nn.MultiheadAttention(6, 2, add_bias_kv=True, add_zero_attn=True), x, y, z, need_weights=weights)
    out[f'dims {weights}'] = use(nn.MultiheadAttention(6, 2, kdim=5, vdim=4), x, leaf(5, 3, 5), leaf(5, 3, 4), need_weights=weights)
    out[f'masks {weights}'] = use(nn.MultiheadAttention(6, 2), x, x, x, need_weights=weights, attn_mask=late, key_padding_mask=pad)
    out[f'causal {weights}'] = use(nn.MultiheadAttention(6, 2), x, x, x, need_weights=weights, attn_mask=late, is_causal=True)
    out[f'one {weights}'] = use(nn.MultiheadAttention(6, 2), leaf(4, 6), leaf(5, 6), leaf(5, 6, k=2.0), need_weights=weights)
m = nn.MultiheadAttention(6, 2, kdim=3, add_bias_kv=True)
out['state'] = repr(m), [(k, tuple(v.shape)) for k, v in m.state_dict().items()], list(nn.MultiheadAttention(4, 1).state_dict())
""",
    "transformer": """
def leaf(*shape, k=1.0):
    return torch.tensor(np.cos(np.arange(np.prod(shape)) * 0.7 * k).reshape(shape).astype('float32'), requires_grad=True)
for first in (False, True):
    m = fill(nn.Transformer(6, 2, 2, 1, 8, 0.0, norm_first=first))
    x, y = leaf(4, 3, 6), leaf(5, 3, 6, k=0.2)
    mask = m.generate_square_subsequent_mask(5)
    z = m(x, y, tgt_mask=mask)
    (z * z).sum().backward()
    out[f'y {first}'], out[f'x {first}'] = z, (x.grad, y.grad)
    out[f'grads {first}'] = {k: p.grad.sum() for k, p in m.named_parameters()}
out['mask'], out['repr'] = mask, repr(m)
layer = fill(nn.TransformerEncoderLayer(6, 2, 8, 0.0, 'gelu', batch_first=True, bias=False))
z = layer(x, src_mask=torch.tensor(np.triu(np.ones((3, 3), bool), 1)), src_key_padding_mask=torch.zeros(4, 3, dtype=torch.bool))
out['layer'], out['state'] = z, list(layer.state_dict())
""",
    "embedding bags": """
m = fill(nn.EmbeddingBag(5, 3, mode='sum', padding_idx=1))
y = m(torch.tensor([[0, 1, 3], [4, 4, 1]]), per_sample_weights=torch.tensor([[1.0, 2.0, 3.0], [0.5, 0.25, 1.0]]))
(y * y).sum().backward()
out['y'], out['grad'], out['reprs'] = y, m.weight.grad, [repr(m), repr(nn.EmbeddingBag(4, 2, max_norm=2.0, norm_type=1.0, scale_grad_by_freq=True))]
f = nn.EmbeddingBag.from_pretrained(torch.ones(2, 2))
out['frozen'] = f.weight.requires_grad, f(torch.tensor([0, 1]), torch.tensor([0]))
with torch.no_grad():
    out['tuple'] = torch.embedding_bag(m.weight, torch.tensor([0, 2, 2]), torch.tensor([0, 1]), False, 2)
""",
    "recurrent layers": ATTEMPT + """
def leaf(*shape, k=1.0):
    return torch.tensor(np.cos(np.arange(np.prod(shape)) * 0.7 * k).reshape(shape).astype('float32'), requires_grad=True)
def use(m, x, *state):
    fill(m)
    y, last = m(x, *state)
    last = last if isinstance(last, tuple) else (last,)
    ((y * y).sum() + sum((s * 3).sum() for s in last)).backward()
    return y.tolist(), [s.tolist() for s in last], x.grad, [(p.grad * p.grad).sum() for p in m.parameters()], repr(m), list(m.state_dict())
for kind in ('RNN', 'GRU', 'LSTM'):
    make = getattr(nn, kind)
    h = leaf(1, 2, 4, k=0.3)
    state = (h, leaf(1, 2, 4)) if kind == 'LSTM' else h
    out[kind] = use(make(3, 4), leaf(5, 2, 3)), h.grad
    out[kind + ' state'] = use(make(3, 4), leaf(5, 2, 3), state), h.grad
    out[kind + ' both ways'] = use(make(3, 4, 2, bias=False, batch_first=True, bidirectional=True), leaf(2, 5, 3)) if kind != 'RNN' else None
    out[kind + ' one'] = use(make(3, 4), leaf(5, 3))
    out[kind + ' errors'] = [attempt(lambda: make(3, 4)(torch.ones(s))) for s in ((2,), (2, 2, 5), (0, 2, 3))] + [
        attempt(lambda: make(3, 4)(torch.ones(2, 2, 3, dtype=torch.float64))), attempt(lambda: make(3, 0)), attempt(lambda: make(3, 4, proj_size=5)), attempt(lambda: make(3, 4, dropout=2.0))]
out['relu'] = use(nn.RNN(3, 4, nonlinearity='relu'), leaf(5, 2, 3))
""",
    "training": """
net = fill(nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.LayerNorm(5), nn.Linear(5, 4)))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x = torch.tensor(np.sin(np.arange(24)).reshape(8, 3).astype('float32'))
t = torch.tensor(np.arange(8) % 4)
losses = []
for _ in range(20):
    opt.zero_grad()
    loss = F.cross_entropy(net(x), t)
    loss.backward()
    opt.step()
    losses.append(loss.item())
out['losses'], out['state'] = losses, net.state_dict()
""",
}  # fmt: skip

STORED = stored(__file__)

# Where PyTorch's text depends on the order of a set, or names its own module paths.
LOOSE: dict[str, str] = {}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_pytorch_2_13_left(name):
    assert not differences(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


def test_a_net_can_be_pickled_and_copied():
    import copy

    nn = autograd_lab.nn
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    x = autograd_lab.tensor([[1.0, 2.0], [3.0, 5.0]])
    for other in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert repr(other) == repr(net)
        assert other.eval()(x).tolist() == net.eval()(x).tolist()
        assert all(
            (a.numpy(force=True) == b.numpy(force=True)).all()
            for a, b in zip(net.parameters(), other.parameters(), strict=True)
        )
        assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in other.parameters())
        assert not {id(p) for p in net.parameters()} & {id(p) for p in other.parameters()}


def test_dropout_uses_the_default_generator():
    torch = autograd_lab
    layer = torch.nn.Dropout(0.5)
    torch.manual_seed(3)
    first = layer(torch.ones(20)).tolist()
    torch.manual_seed(3)
    assert layer(torch.ones(20)).tolist() == first
    assert layer(torch.ones(20)).tolist() != first


@pytest.mark.parametrize(
    ("kind", "settings"),
    [("RNN", {}), ("GRU", {"num_layers": 2}), ("LSTM", {"proj_size": 2, "bidirectional": True})],
)
def test_the_derivatives_through_time_are_right(kind, settings):
    """First and second order, with respect to the input, the first state and the weights."""
    torch = autograd_lab
    layer = fill(getattr(torch.nn, kind)(2, 3, dtype=torch.float64, **settings))
    rng = np.random.default_rng(1)

    def leaf(*shape):
        return torch.tensor(rng.standard_normal(shape), requires_grad=True)

    out, last = layer(leaf(3, 2, 2))
    first = [leaf(*s.shape) for s in (last if kind == "LSTM" else (last,))]

    def run(x, *states):
        y, last = layer(x, states if kind == "LSTM" else states[0])
        return y, *(last if kind == "LSTM" else (last,))

    x = leaf(3, 2, 2)
    assert torch.autograd.gradcheck(run, (x, *first))
    assert torch.autograd.gradgradcheck(run, (x, *first))
    assert out.shape == run(x, *first)[0].shape


def test_what_pytorch_has_in_both_places_is_in_both_places_here():
    """`torch.conv2d` is `torch.nn.functional.conv2d`."""
    reference = pytest.importorskip("torch")
    ours, theirs = autograd_lab.nn.functional, reference.nn.functional
    both = [
        name for name, fn in vars(theirs).items()
        if name[0] != "_" and callable(fn) and getattr(reference, name, None) is fn and name in vars(ours)
    ]  # fmt: skip
    assert len(both) > 15
    assert [name for name in both if not hasattr(autograd_lab, name)] == []


def test_layers_as_functions_of_torch():
    """The ones whose first parameters are those of nn.functional."""
    x = autograd_lab.arange(24.0).reshape(1, 2, 3, 4)
    for name, *more in (("group_norm", 2), ("max_pool2d", (2, 1), 1), ("max_pool3d", 2)):
        got = getattr(autograd_lab, name)(x, *more)
        assert got.tolist() == getattr(autograd_lab.nn.functional, name)(x, *more).tolist()
