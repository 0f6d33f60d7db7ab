"""Optimizers and schedulers: 20 steps each, and every number as PyTorch's.

To record: `python -m tests.record optim`.
"""

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

OPTIMIZERS = [
    "SGD(ps, lr=0.1)", "SGD(ps, lr=0.1, momentum=0.9)", "SGD(ps, lr=0.1, momentum=0.9, dampening=0.3, weight_decay=0.05)", "SGD(ps, lr=0.1, momentum=0.9, nesterov=True)",
    "SGD(ps, lr=0.1, weight_decay=0.1, maximize=True)", "SGD(ps, lr=0.1, momentum=0.5, nesterov=True, weight_decay=0.01, maximize=True)", "Adam(ps, lr=0.1)", "Adam(ps)",
    "Adam(ps, lr=0.1, betas=(0.4, 0.7), eps=1e-3, weight_decay=0.05)", "Adam(ps, lr=0.1, amsgrad=True)", "Adam(ps, lr=0.1, maximize=True)", "Adam(ps, lr=0.1, decoupled_weight_decay=True, weight_decay=0.1)",
    "AdamW(ps, lr=0.1)", "AdamW(ps, lr=0.1, weight_decay=0.3, amsgrad=True)", "RMSprop(ps, lr=0.1)", "RMSprop(ps, lr=0.1, alpha=0.8, momentum=0.9, weight_decay=0.01)", "RMSprop(ps, lr=0.1, centered=True)",
    "RMSprop(ps, lr=0.1, centered=True, momentum=0.3, maximize=True)", "Adagrad(ps, lr=0.1)", "Adagrad(ps, lr=0.5, lr_decay=0.1, weight_decay=0.02, initial_accumulator_value=0.3)", "Adadelta(ps)",
    "Adadelta(ps, lr=0.5, rho=0.7, weight_decay=0.1)", "Adamax(ps, lr=0.1)", "Adamax(ps, lr=0.1, betas=(0.5, 0.6), weight_decay=0.1)",
    "NAdam(ps, lr=0.1)", "NAdam(ps, lr=0.1, betas=(0.4, 0.7), weight_decay=0.1, momentum_decay=0.1)", "NAdam(ps, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True, maximize=True)",
    "RAdam(ps, lr=0.1)", "RAdam(ps, lr=0.1, betas=(0.5, 0.9), weight_decay=0.1)", "RAdam(ps, lr=0.1, weight_decay=0.1, decoupled_weight_decay=True)", "Rprop(ps, lr=0.1)", "Rprop(ps, lr=0.1, etas=(0.3, 1.5), step_sizes=(0.01, 0.2))",
    "ASGD(ps, lr=0.05)", "ASGD(ps, lr=0.05, lambd=0.1, alpha=0.5, t0=5, weight_decay=0.02)", "Adafactor(ps, lr=0.1)", "Adafactor(ps, lr=0.5, beta2_decay=-0.5, eps=(1e-6, 1e-2), d=2.0, weight_decay=0.1)",
]  # fmt: skip

RUN = """
for dtype in (torch.float32, torch.float64):
    a = torch.tensor([1.0, -2.0, 0.5], dtype=dtype, requires_grad=True)
    b = torch.tensor([[0.3], [-0.7]], dtype=dtype, requires_grad=True)
    c = torch.tensor(0.4, dtype=dtype, requires_grad=True)
    ps = [a, b, c]
    opt = torch.optim.{make}
    seen = []
    for k in range(20):
        opt.zero_grad()
        loss = (a ** 4).sum() + ((b @ a[None, :2]) ** 2).sum() * 0.5 + (c - a[0]) ** 2 * (1 + k % 3)
        loss.backward()
        opt.step()
        seen.append([p.tolist() for p in ps])
    out[str(dtype)] = seen[9::5], [p._version for p in ps], [p.requires_grad and p.is_leaf for p in ps]
    out['state ' + str(dtype)] = opt.state_dict()
    out['versions ' + str(dtype)] = [{{k: v._version for k, v in opt.state[p].items()}} for p in ps]
out['repr'] = repr(opt)
"""

SCHEDULERS = [
    "StepLR(opt, 3)", "StepLR(opt, 2, gamma=0.5)", "MultiStepLR(opt, [2, 5, 5, 9], gamma=0.5)", "ExponentialLR(opt, 0.9)", "CosineAnnealingLR(opt, 5)", "CosineAnnealingLR(opt, 4, eta_min=0.01)",
    "LambdaLR(opt, lambda e: 1 / (e + 1))", "LambdaLR(opt, [lambda e: 0.9 ** e, lambda e: 1.0])", "MultiplicativeLR(opt, lambda e: 0.8)", "LinearLR(opt)", "LinearLR(opt, 0.2, 0.7, 8)", "ConstantLR(opt, 0.5, 4)",
    "PolynomialLR(opt, 6, 2.0)", "CosineAnnealingWarmRestarts(opt, 3)", "CosineAnnealingWarmRestarts(opt, 2, T_mult=2, eta_min=0.01)", "OneCycleLR(opt, 1.0, total_steps=13)",
    "CyclicLR(opt, 0.01, 0.5, 3, cycle_momentum=False)", "CyclicLR(opt, [0.01, 0.1], 0.5, 2, 4, mode='triangular2', cycle_momentum=False)", "CyclicLR(opt, 0.01, 0.5, 3, mode='exp_range', gamma=0.9)", "CyclicLR(opt, 0.01, 0.5, 2, scale_fn=lambda x: 0.5 ** x, scale_mode='iterations', base_momentum=0.5, max_momentum=0.7)",
    "OneCycleLR(opt, [1.0, 2.0], total_steps=14, pct_start=0.4, anneal_strategy='linear', three_phase=True)",
    "SequentialLR(opt, [S.ConstantLR(opt, 0.1, 3), S.ExponentialLR(opt, 0.9)], milestones=[4])", "ChainedScheduler([S.ConstantLR(opt, 0.1, 3), S.ExponentialLR(opt, 0.9)])",
]  # fmt: skip

SCHEDULE = """
S = torch.optim.lr_scheduler
a, b = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
opt = torch.optim.SGD([{{'params': [a]}}, {{'params': [b], 'lr': 0.5}}], lr=0.1, momentum=0.9)
s = S.{make}
seen = []
for _ in range(12):
    seen.append([g['lr'] for g in opt.param_groups] + [g['momentum'] for g in opt.param_groups])
    a.grad, b.grad = torch.ones(1), torch.ones(1)
    opt.step()
    s.step()
out['lrs'], out['last'], out['a'] = seen, s.get_last_lr(), a
"""

ATTEMPT = """
def attempt(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).split('. Did you mean')[0][:60]}"
o = lambda: torch.ones(2, requires_grad=True)
"""

RECORDED_STEPS = [
    "SGD([p], lr=rate, differentiable=True)", "SGD([p], lr=0.1, momentum=0.9, weight_decay=0.1, differentiable=True)", "SGD([p], momentum=0.9, nesterov=True, maximize=True, differentiable=True)",
    "Adam([p], lr=0.1, weight_decay=0.1, differentiable=True)", "Adam([p], lr=rate, differentiable=True)", "AdamW([p], lr=rate, maximize=True, differentiable=True)", "Adagrad([p], weight_decay=0.1, differentiable=True)",
    "Adadelta([p], differentiable=True)", "ASGD([p], lr=0.1, differentiable=True)", "NAdam([p], differentiable=True)", "RAdam([p], lr=0.1, weight_decay=0.1, differentiable=True)", "RMSprop([p], momentum=0.9, differentiable=True)",
    "Adamax([p], differentiable=True)", "Rprop([p], differentiable=True)", "Adam([p], foreach=True, differentiable=True)", "SGD([p], fused=True, differentiable=True)",
]  # fmt: skip

STEPS_BEHIND_A_LOSS = """
def trained():
    w = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    rate = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
    p = w.clone()
    opt = torch.optim.{make}
    for _ in range(3):
        p.grad, = torch.autograd.grad((p * p * torch.tensor([1.0, 2, 3], dtype=torch.float64)).sum(), p, create_graph=True)
        opt.step()
    found = torch.autograd.grad((p ** 2).sum(), [w, rate], allow_unused=True)
    return p.tolist(), [g if g is None else g.tolist() for g in found]
out['r'] = attempt(trained)
"""

GIVEN_STATES = """
def leaf(*values):
    return torch.tensor(values if len(values) > 1 else values[0], dtype=torch.float64, requires_grad=True)
def fixed(value):
    return torch.tensor(value, dtype=torch.float64)
def moments(second='exp_avg_sq', **more):
    return {'exp_avg': leaf(.1, .4, -.2), second: leaf(.5, .1, .3), 'step': fixed(10.0), **more}
def slopes(opt_class, states, steps, **settings):
    start, given = leaf(.2, -.6, .9), leaf(.3, .7, -.4)
    p = start.clone()
    p.grad = given
    opt = opt_class([p], differentiable=True, **settings)
    opt.state[p].update({name: t.clone() for name, t in states.items()})
    for _ in range(steps):
        opt.step()
        p.grad = p.grad * 2 - p * .3
    outputs = [p, *[v for v in opt.state[p].values() if isinstance(v, torch.Tensor) and v.requires_grad]]
    loss = sum((k + 1) * (y.reshape(-1) * torch.arange(1, 1 + y.numel(), dtype=torch.float64)).sum() for k, y in enumerate(outputs))
    leaves = [start, given, *[t for t in states.values() if t.requires_grad]]
    return loss.item(), [g if g is None else g.tolist() for g in torch.autograd.grad(loss, leaves, allow_unused=True)]
t = torch.optim
peak = dict(max_exp_avg_sq=leaf(.1, .6, .2))
ten = dict(step=fixed(10.0))
out['SGD'] = [slopes(t.SGD, dict(momentum_buffer=leaf(.3, .2, .6)), 2, momentum=0.9, weight_decay=0.1, nesterov=n) for n in (False, True)]
out['Adam'] = [slopes(t.Adam, moments(**peak), 2 - a, lr=9.0, betas=(0.9, 0.99999), amsgrad=a) for a in (False, True)]
out['AdamW'] = slopes(t.AdamW, moments(**peak), 1, lr=0.9, amsgrad=True, maximize=True)
out['NAdam'] = [slopes(t.NAdam, moments(mu_product=leaf(.7)), 1, lr=0.9, weight_decay=0.1, decoupled_weight_decay=d) for d in (False, True)]
out['RAdam'] = slopes(t.RAdam, moments(), 2, lr=0.9)
out['Adamax'] = slopes(t.Adamax, moments('exp_inf'), 1, lr=0.9)
out['Adadelta'] = slopes(t.Adadelta, dict(square_avg=leaf(.5, .1, .3), acc_delta=leaf(.2, .1, .4), **ten), 2, lr=0.9)
out['Adagrad'] = slopes(t.Adagrad, dict(sum=leaf(.5, .1, .3), **ten), 2, lr=0.9)
out['RMSprop'] = slopes(t.RMSprop, dict(square_avg=leaf(.5, .4, .3), momentum_buffer=leaf(.2, .1, .4), grad_avg=leaf(.1, .2, .3), **ten), 1, momentum=0.9, centered=True)
out['ASGD'] = slopes(t.ASGD, dict(ax=leaf(.5, .4, .3), eta=fixed(.9), mu=fixed(1.0), **ten), 1, lr=0.9)
out['Rprop'] = slopes(t.Rprop, dict(prev=leaf(.5, -.4, .3), step_size=leaf(.2, .1, .4), **ten), 1, lr=0.9)
"""

WRAPPED = """
class Wraps(torch.optim.Optimizer):
    def __init__(self, inner):
        self.inner, self.steps = inner, 0
    state = property(lambda self: self.inner.state)
    param_groups = property(lambda self: self.inner.param_groups)
    defaults = property(lambda self: self.inner.defaults)
    def zero_grad(self, set_to_none=True):
        self.inner.zero_grad(set_to_none)
    def step(self, closure=None):
        self.steps += 1
        return self.inner.step(closure)
p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
opt = Wraps(torch.optim.SGD([p], lr=0.5))
plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda epoch: 1 / (1 + epoch))
calls = []
removes = [opt.inner.register_step_pre_hook(lambda *a: calls.append("inner"))]
for _ in range(3):
    opt.zero_grad()
    (p**2).sum().backward()
    opt.step()
    plan.step()
out["r"] = p.tolist(), opt.steps, calls, plan.get_last_lr(), isinstance(opt, torch.optim.Optimizer)
"""

SETTINGS_AS_TENSORS = (
    ATTEMPT
    + """
def stepped(**settings):
    p = torch.tensor([1.0, -2.0], requires_grad=True)
    opt = getattr(torch.optim, name)([p], **settings)
    for _ in range(3):
        p.grad = torch.full_like(p, 0.5)
        opt.step()
    return p, opt.param_groups[0][list(settings)[0]]
t = torch.tensor
for name in ('SGD', 'Adagrad', 'Adam', 'AdamW', 'Adadelta', 'Adamax', 'ASGD', 'NAdam', 'RAdam', 'RMSprop', 'Adafactor', 'Rprop'):
    tries = dict(weight_decay=t(0.1)), dict(lr=t(0.1)), dict(lr=t([0.1])), dict(lr=t([0.1, 0.2])), dict(lr=float('nan')), dict(betas=(t(0.9), t(0.99))), dict(momentum=t(0.5)), dict(eps=t(1e-3)), dict(capturable=True), dict(fused=True, foreach=True)
    out[name] = [attempt(lambda: stepped(**settings)) for settings in tries]
wide = torch.ones(1).expand(3).detach().requires_grad_()
wide.grad = torch.ones(3)
out['one place three times'] = attempt(lambda: torch.optim.SGD([wide], lr=0.1).step())
w = o()
w.grad = torch.ones(2)
out['no rule'] = attempt(lambda: torch.optim.Optimizer([w], {}).step())
"""
)

RESUMED = """
S = torch.optim.lr_scheduler
def make():
    p = torch.ones(1, requires_grad=True)
    p.grad = torch.ones(1)
    opt = torch.optim.SGD([p], lr=1.0, momentum=0.5)
    return opt, S.{make}
opt, s = make()
for _ in range(4):
    opt.step()
    s.step()
again, resumed = make()
again.load_state_dict(opt.state_dict())
state = s.state_dict()
out['state'] = {{k: v if isinstance(v, (int, float, list, tuple, str, bool)) else None for k, v in state.items()}}
resumed.load_state_dict(state)
seen = []
for _ in range(5):
    again.step()
    resumed.step()
    seen.append(again.param_groups[0]['lr'])
out['seen'], out['left alone'], out['last'] = seen, opt.param_groups[0]['lr'], resumed.get_last_lr()
"""

PROGRAMS = (
    {
        f"steps that are recorded, {make}": ATTEMPT + STEPS_BEHIND_A_LOSS.format(make=make)
        for make in RECORDED_STEPS
    }
    | {
        f"resumed {make}": ATTEMPT + RESUMED.format(make=make)
        for make in SCHEDULERS
        if "lambda" not in make and "[1.0, 2.0]" not in make and "[0.01" not in make
    }
    | {"recorded steps from given states": GIVEN_STATES}
    | {"one optimizer around another": WRAPPED}
    | {"settings as tensors, and those the CPU has not": SETTINGS_AS_TENSORS}
    | {f"20 steps of {make}": RUN.format(make=make) for make in OPTIMIZERS}
    | {f"schedule {make}": SCHEDULE.format(make=make) for make in SCHEDULERS}
    | {
        "settings refused": ATTEMPT
        + """
for name, settings in dict(SGD=[dict(lr=-1), dict(momentum=-1), dict(weight_decay=-1), dict(nesterov=True)], Adam=[dict(lr=-1), dict(eps=-1), dict(betas=(1.0, 0.9)), dict(betas=(0.1, 1.9)), dict(weight_decay=-1)],
                           RMSprop=[dict(lr=-1), dict(eps=-1), dict(momentum=-1), dict(alpha=-1)], Adagrad=[dict(lr=-1), dict(lr_decay=-1), dict(initial_accumulator_value=-1)]).items():
    out[name] = [attempt(lambda: getattr(torch.optim, name)([o()], **s)) for s in settings]
t = torch.optim
w = o()
out['params'] = [attempt(lambda: t.SGD([])), attempt(lambda: t.SGD(o())), attempt(lambda: t.SGD([o() * 2])), attempt(lambda: t.SGD([1])), attempt(lambda: t.SGD([{'params': [1]}])), attempt(lambda: t.SGD([{'p': 1}])),
                 attempt(lambda: t.SGD({o()})), attempt(lambda: t.SGD([{'params': [w]}, {'params': [w]}])), attempt(lambda: t.SGD([w]).add_param_group(3)), attempt(lambda: t.SGD([w]).load_state_dict({}))]
S = t.lr_scheduler
opt = t.SGD([w], lr=0.1)
out['schedulers'] = [attempt(lambda: S.StepLR(3, 2)), attempt(lambda: S.LambdaLR(opt, [abs, abs])), attempt(lambda: S.LinearLR(opt, 2)), attempt(lambda: S.ReduceLROnPlateau(opt, factor=2)),
                     attempt(lambda: S.ReduceLROnPlateau(opt, mode='x')), attempt(lambda: S.StepLR(t.SGD([w], lr=1.0), 2, last_epoch=3)), attempt(lambda: S.OneCycleLR(opt, 0.1))]
""",
        "groups, names and defaults": """
a, b, c = (torch.ones(1, requires_grad=True) for _ in range(3))
opt = torch.optim.SGD([{'params': [a]}, {'params': b, 'lr': 1.0, 'momentum': 0.5}], lr=0.1)
opt.add_param_group({'params': iter([c]), 'weight_decay': 0.5})
for p in (a, b, c):
    p.grad = torch.full((1,), 2.0)
opt.step()
opt.param_groups[0]['lr'] = 0.01
opt.step()
out['values'], out['groups'] = [a, b, c], [{k: v for k, v in g.items() if k != 'params'} for g in opt.param_groups]
out['repr'], out['defaults'] = repr(opt), opt.defaults
named = torch.optim.Adam([('x', a), ('y', b)])
out['names'] = named.param_groups[0]['param_names'], named.state_dict()['param_groups']
out['adam'] = repr(torch.optim.AdamW([a]))
twice = torch.optim.SGD([a, a], lr=0.1)
out['twice'] = len(twice.param_groups[0]['params'])
""",
        "a missing gradient is skipped": """
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
opt = torch.optim.Adam([a, b], lr=0.1, weight_decay=0.5)
(b * 2).sum().backward()
opt.step()
out['a'], out['b'], out['states'], out['version'] = a, b, len(opt.state), (a._version, b._version)
opt.zero_grad()
out['none'] = b.grad
(b * 2).sum().backward()
g = b.grad
opt.zero_grad(set_to_none=False)
out['zero'] = b.grad, b.grad is g
""",
        "closures, hooks and modes": """
w = torch.tensor([2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
def closure():
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    return loss
out['loss'] = opt.step(closure)
log = []
opt.register_step_pre_hook(lambda o, args, kwargs: log.append(('pre', len(args))))
h = opt.register_step_post_hook(lambda o, args, kwargs: log.append('post'))
opt.step()
h.remove()
opt.step(closure)
out['log'] = [str(x) for x in log]
with torch.no_grad():
    opt.step(closure)
out['w'], out['grad mode'] = w, torch.is_grad_enabled()
y = (w * w).sum()
opt.step()
try:
    y.backward()
except RuntimeError as e:
    out['noticed'] = str(e)[:60]
""",
        "state_dict": """
def make():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    return w, torch.optim.Adam([w], lr=0.1)
w, opt = make()
def train(w, opt, n):
    for _ in range(n):
        opt.zero_grad()
        (w ** 3).sum().backward()
        opt.step()
train(w, opt, 3)
sd = opt.state_dict()
out['keys'], out['groups'] = {k: list(v) for k, v in sd['state'].items()}, sd['param_groups']
w2, opt2 = make()
w2.data.copy_(w)
opt2.load_state_dict(sd)
out['shared'] = opt2.state[w2]['exp_avg'] is opt.state[w]['exp_avg']
train(w, opt, 2)
w3, opt3 = make()
import copy
w3d = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
opt3 = torch.optim.Adam([w3d], lr=0.1)
opt3.load_state_dict(copy.deepcopy(sd))
out['cast'] = opt3.state[w3d]['exp_avg'].dtype, opt3.state[w3d]['step'].dtype
out['w'], out['step'] = w, opt.state[w]['step']
bad = []
for other in (torch.optim.SGD([{'params': [w]}, {'params': [w3]}], lr=0.1), torch.optim.Adam([w, w3])):
    try:
        other.load_state_dict(sd)
    except ValueError as e:
        bad.append(str(e)[:60])
out['bad'] = bad
log = []
opt.register_state_dict_post_hook(lambda o, s: log.append('post'))
opt.register_load_state_dict_pre_hook(lambda o, s: log.append('pre'))
opt.register_load_state_dict_post_hook(lambda o: log.append('loaded'))
opt.load_state_dict(opt.state_dict())
out['log'] = log
""",
        "plateau": """
w = torch.ones(1, requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
s = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1, cooldown=1, min_lr=0.1)
seen = []
for metric in (3.0, 2.0, 2.0, 2.0, 2.5, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0):
    s.step(metric)
    seen.append([opt.param_groups[0]['lr'], s.num_bad_epochs, s.cooldown_counter, s.best])
out['seen'], out['state'] = seen, s.state_dict()
m = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, mode='max', threshold_mode='abs', patience=0)
m.step(1.0)
m.step(torch.tensor(0.5))
out['max'] = opt.param_groups[0]['lr'], s.get_last_lr(), m.get_last_lr()
""",
        "scheduler states and warnings": """
S = torch.optim.lr_scheduler
w = torch.ones(1, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
s = S.StepLR(opt, 2)
out['state'] = s.state_dict()
s.step()
w.grad = torch.ones(1)
opt2 = torch.optim.SGD([w], lr=0.1)
s2 = S.StepLR(opt2, 2)
s2.load_state_dict({'last_epoch': 3, 'gamma': 0.5})
opt2.step()
s2.step()
out['loaded'] = s2.last_epoch, s2.get_last_lr(), opt2.param_groups[0]['initial_lr']
out['cos'] = S.CosineAnnealingLR(opt2, 3).state_dict()
s3 = S.ExponentialLR(torch.optim.SGD([w], lr=1.0), 0.5)
out['direct'] = s3.get_lr()
opt4 = torch.optim.SGD([w], lr=torch.tensor(0.5))
s4 = S.ExponentialLR(opt4, 0.5)
opt4.step()
s4.step()
out['tensor lr'] = opt4.param_groups[0]['lr'], w
""",
        "a line search that may not evaluate for ever": """
x = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
opt = torch.optim.LBFGS([x], lr=1e-3, line_search_fn='strong_wolfe')
seen = []
def closure():
    opt.zero_grad()
    loss = (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    loss.backward()
    seen.append(loss.item())
    return loss
opt.step(closure)
out['seen'], out['x'] = seen, x
""",
        "a state that was cleared, and rates that were noted": """
p = torch.ones(2, requires_grad=True)
opt = torch.optim.Adagrad([p], lr=0.1, initial_accumulator_value=0.5)
p.grad = torch.ones(2)
opt.step()
opt.state.clear()
opt.step()
out['p'], out['state'] = p, opt.state[p]
opt = torch.optim.SGD([p], lr=torch.tensor(0.5))
s = torch.optim.lr_scheduler.ExponentialLR(opt, 0.5)
noted = []
for _ in range(3):
    noted += s.get_last_lr()
    opt.step()
    s.step()
out['noted'] = noted
out['collated'] = torch.utils.data.default_collate([1, 2.5]), torch.utils.data.default_collate([1, 2]), torch.utils.data.default_collate([True, False])
""",
        "what users keep in the groups is left alone": """
p = torch.ones(2, requires_grad=True)
p.grad = torch.ones(2)
opt = torch.optim.Adam([{'params': [p], 'prior': torch.zeros(3, 2), 'names': ('a', 'b'), 'rate': torch.tensor(2.0)}], lr=0.1)
opt.step()
group = opt.param_groups[0]
out['p'], out['kept'] = p, [group[k] for k in ('prior', 'names', 'rate')]
""",
        "schedulers made of schedulers, refused": ATTEMPT
        + """
S = torch.optim.lr_scheduler
make = lambda: torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
a, b = make(), make()
parts = dict(none=[], other=[S.ExponentialLR(a, 0.9), S.ExponentialLR(b, 0.9)], number=[3], plateau=[S.ConstantLR(a), S.ReduceLROnPlateau(a)])
for name, schedulers in parts.items():
    out[name] = attempt(lambda: S.ChainedScheduler(schedulers, optimizer=a)), attempt(lambda: S.SequentialLR(a, schedulers, [2][:len(schedulers) - 1]))
once = S.OneCycleLR(a, max_lr=1.0, total_steps=5, cycle_momentum=False)
out['too often'] = attempt(lambda: [once.step() for _ in range(7)])
out['averages'] = attempt(lambda: torch.optim.swa_utils.SWALR(torch.optim.SGD([{'params': [torch.ones(1)]}, {'params': [torch.ones(1)]}], lr=1.0), swa_lr=[1]))
cyclic = S.CyclicLR(torch.optim.SGD([torch.ones(1)], lr=1.0, momentum=0.9), 0.1, 1.0)
out['cyclic'] = cyclic.base_momentums, cyclic.max_momentums
""",
        "a leaf that is an integer view or zero-dim": """
c = torch.tensor(2.0, requires_grad=True)
opt = torch.optim.SGD([c], lr=0.25, momentum=0.5)
for _ in range(3):
    opt.zero_grad()
    (c * c).backward()
    opt.step()
out['c'], out['buffer'] = c, opt.state[c]['momentum_buffer']
x = torch.ones(4, requires_grad=True)
with torch.no_grad():
    v = x[1:3]
p = torch.ones(3, 2, requires_grad=True)
q = torch.nn.Parameter(torch.ones(2, 3).t())
q.grad = torch.arange(6.0).reshape(3, 2)
o = torch.optim.Adam([q], lr=0.1)
o.step()
out['strided'] = q, q.is_contiguous()
""",
    }
)

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_pytorch_2_13_left(name):
    assert not differences(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


def test_older_optimizers_say_which_settings_must_be_given():
    from autograd_lab.optim.optimizer import Optimizer, required

    class Old(Optimizer):
        def __init__(self, params, lr=required):
            super().__init__(params, {"lr": lr})

    w = autograd_lab.ones(1)
    assert (
        Old([w], lr=1.0).param_groups[0]["lr"]
        == Old([{"params": [w], "lr": 1.0}]).param_groups[0]["lr"]
        == 1.0
    )
    with pytest.raises(
        ValueError, match="parameter group didn't specify a value of required optimization parameter lr"
    ):
        Old([w])
