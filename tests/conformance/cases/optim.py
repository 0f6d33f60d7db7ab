# [group] sgd

# [case] momentum | the velocity gathers past gradients
w = torch.tensor([1.0, -2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
seen = []
for _ in range(3):
    opt.zero_grad()
    (w ** 2).sum().backward()
    opt.step()
    seen.append(w.detach().clone())
out = dict(seen=seen, buf=opt.state[w]["momentum_buffer"], keys=list(opt.state[w]))

# [case] weight_decay_and_maximize | weight decay, and going uphill
def run(**kw):
    w = torch.tensor([2.0, -1.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1, **kw)
    for _ in range(3):
        opt.zero_grad()
        (w * torch.tensor([1.0, 2.0], dtype=torch.float64)).sum().backward()
        opt.step()
    return w.detach()
out = dict(wd=run(weight_decay=0.5), up=run(maximize=True), both=run(weight_decay=0.1, momentum=0.5, maximize=True), foreach=run(foreach=True), damp=run(momentum=0.9, dampening=0.5, weight_decay=0.1))

# [case] sgd_repr_and_defaults | what the optimizer prints and keeps
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1, momentum=0.9)
d = dict(opt.defaults)
out = dict(rep=repr(opt), lr=d["lr"], keys=sorted(k for k in opt.param_groups[0]), n=len(opt.param_groups), state=len(opt.state), default=torch.optim.SGD([w]).defaults["lr"])

# [case] nesterov_by_hand | nesterov against a hand computation
w = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1, momentum=0.5, nesterov=True)
v, buf, same = 1.0, None, []
for k in range(3):
    opt.zero_grad()
    (w ** 2).backward()
    opt.step()
    g = 2 * v
    buf = g if buf is None else 0.5 * buf + g
    v -= 0.1 * (g + 0.5 * buf)
    same.append(abs(v - w.item()) < 1e-12)
out = dict(same=same, w=w)

# [group] adam

# [case] adam_options | betas, eps, weight decay, amsgrad, maximize
def run(cls, **kw):
    w = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    opt = cls([w], lr=0.1, **kw)
    for k in range(4):
        opt.zero_grad()
        ((w - 0.5 * k) ** 2).sum().backward()
        opt.step()
    return w.detach()
A, W = torch.optim.Adam, torch.optim.AdamW
out = dict(plain=run(A), betas=run(A, betas=(0.5, 0.9)), eps=run(A, eps=1.0), wd=run(A, weight_decay=0.1), ams=run(A, amsgrad=True), up=run(A, maximize=True), w=run(W), wwd=run(W, weight_decay=0.3, amsgrad=True), dec=run(A, weight_decay=0.1, decoupled_weight_decay=True))

# [case] adam_state | the state: step, averages
w = torch.tensor([1.0, -2.0], requires_grad=True)
opt = torch.optim.Adam([w], lr=0.1)
for _ in range(2):
    opt.zero_grad()
    (w ** 2).sum().backward()
    opt.step()
s = opt.state[w]
out = dict(keys=list(s), step=s["step"], avg=s["exp_avg"], sq=s["exp_avg_sq"], defaults={k: opt.defaults[k] for k in ("lr", "betas", "eps", "weight_decay", "amsgrad")})

# [case] adam_errors | values out of range
w = torch.tensor([1.0], requires_grad=True)
out = {}
for name, kw in dict(lr=dict(lr=-1.0), b1=dict(betas=(1.0, 0.9)), b2=dict(betas=(0.9, -0.1)), eps=dict(eps=-1.0), wd=dict(weight_decay=-0.1)).items():
    try:
        torch.optim.Adam([w], **kw)
    except ValueError as e:
        out[name] = e
for name, kw in dict(mom=dict(lr=0.1, momentum=-0.5), wd=dict(lr=0.1, weight_decay=-1.0), nest=dict(lr=0.1, nesterov=True, momentum=0.9, dampening=0.1)).items():
    try:
        torch.optim.SGD([w], **kw)
    except ValueError as e:
        out["sgd_" + name] = e

# [case] other_optimizers | RMSprop and Adagrad, if they are there
def run(cls, **kw):
    w = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    opt = cls([w], lr=0.1, **kw)
    for _ in range(3):
        opt.zero_grad()
        (w ** 2).sum().backward()
        opt.step()
    return w.detach()
O = torch.optim
out = dict(rms=run(O.RMSprop), rmsm=run(O.RMSprop, momentum=0.5, centered=True), ada=run(O.Adagrad), adad=run(O.Adagrad, lr_decay=0.1, weight_decay=0.1))

# [group] gradients

# [case] zero_grad_forms | zero_grad to None and to zeros
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w, v], lr=0.1)
(w ** 2).sum().backward()
held = w.grad
opt.zero_grad(set_to_none=False)
out = dict(zeros=w.grad, same=w.grad is held, none=v.grad)
opt.zero_grad()
out["gone"] = w.grad
out["held"] = held

# [case] accumulate_two_batches | gradients of two batches in one step
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.5)
for k in (1.0, 2.0):
    (w * k).sum().backward()
opt.step()
out = dict(w=w, g=w.grad, version=w._version)

# [case] step_does_not_record | a step leaves a leaf and works inside any mode
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.Adam([w], lr=0.1)
(w * 2).backward()
with torch.no_grad():
    opt.step()
out = dict(leaf=w.is_leaf, req=w.requires_grad, w=w, on=torch.is_grad_enabled())

# [case] frozen_parameters | parameters that need no gradient are accepted and skipped
w = torch.tensor([1.0], requires_grad=True)
c = torch.tensor([5.0])
opt = torch.optim.SGD([w, c], lr=0.1)
(w * c).backward()
opt.step()
out = dict(w=w, c=c)

# [case] step_after_graph | a step between forward and backward is noticed
w = torch.tensor([2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
y = w * w
w.grad = torch.tensor([1.0])
opt.step()
out = {}
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] clipping | clip_grad_norm_ before a step
w = torch.tensor([3.0, 4.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
(w ** 2).sum().backward()
n = torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
opt.step()
out = dict(n=n, g=w.grad, w=w, inf=torch.nn.utils.clip_grad_norm_([w], 10.0, norm_type=float("inf")))

# [group] groups_and_closure

# [case] closure | step with a closure returns the loss and runs it with grad
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
seen = []
def closure():
    seen.append(torch.is_grad_enabled())
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    return loss
with torch.no_grad():
    r = opt.step(closure)
out = dict(r=r, w=w, seen=seen, none=opt.step())

# [case] add_param_group | groups added later take the defaults
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([a], lr=0.1, momentum=0.9)
opt.add_param_group({"params": b, "lr": 1.0})
(a * 2 + b * 2).sum().backward()
opt.step()
out = dict(a=a, b=b, mom=[g["momentum"] for g in opt.param_groups], lr=[g["lr"] for g in opt.param_groups])
for name, f in dict(dup=lambda: opt.add_param_group({"params": [a]}), typ=lambda: opt.add_param_group([b])).items():
    try:
        f()
    except (ValueError, TypeError) as e:
        out[name] = e

# [case] refused_more | what else the constructor refuses
w = torch.tensor([1.0], requires_grad=True)
out = {}
for name, f in dict(text=lambda: torch.optim.SGD(["w"], lr=0.1), same=lambda: torch.optim.SGD([w, w], lr=0.1), nolr=lambda: torch.optim.SGD([{"params": [w], "lr": -1}], lr=0.1), gen=lambda: torch.optim.SGD(iter([]), lr=0.1), num=lambda: torch.optim.Adam(3, lr=0.1), params=lambda: torch.optim.SGD([{"lr": 0.1}], lr=0.1)).items():
    try:
        f()
        out[name] = "ok"
    except Exception as e:
        out[name] = e

# [case] optimizer_state_dict | the state dict and loading it
def make():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    return w, torch.optim.SGD([w], lr=0.1, momentum=0.9)
w, opt = make()
(w ** 2).sum().backward()
opt.step()
sd = opt.state_dict()
v, other = make()
other.load_state_dict(sd)
(v ** 2).sum().backward()
other.step()
out = dict(keys=list(sd), params=sd["param_groups"][0]["params"], state=list(sd["state"]), buf=sd["state"][0]["momentum_buffer"], v=v, lr=other.param_groups[0]["lr"])
try:
    torch.optim.SGD([w, v], lr=0.1).load_state_dict(sd)
except ValueError as e:
    out["error"] = e

# [case] schedulers | the learning rates of some schedulers
def rates(make, n=5):
    w = torch.tensor([1.0], requires_grad=True)
    opt = torch.optim.SGD([w], lr=1.0)
    s = make(opt)
    seen = []
    for _ in range(n):
        seen.append(opt.param_groups[0]["lr"])
        opt.step()
        s.step()
    return seen
L = torch.optim.lr_scheduler
out = dict(step=rates(lambda o: L.StepLR(o, 2, gamma=0.5)), exp=rates(lambda o: L.ExponentialLR(o, 0.9)), lam=rates(lambda o: L.LambdaLR(o, lambda e: 1 / (e + 1))), cos=rates(lambda o: L.CosineAnnealingLR(o, 4)), multi=rates(lambda o: L.MultiStepLR(o, [1, 3], gamma=0.1)), lin=rates(lambda o: L.LinearLR(o, 0.5, total_iters=2)))

# [case] scheduler_last_lr | get_last_lr, and the warning about the order of steps
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=1.0)
s = torch.optim.lr_scheduler.StepLR(opt, 1, gamma=0.5)
first = s.get_last_lr()
s.step()
out = dict(first=first, then=s.get_last_lr(), epoch=s.last_epoch)

# [case] logistic_regression | a small classifier, trained to the end
F = torch.nn.functional
x = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 0.5]], dtype=torch.float64)
t = torch.tensor([0, 1, 1, 0])
w = torch.zeros(2, 2, dtype=torch.float64, requires_grad=True)
b = torch.zeros(2, dtype=torch.float64, requires_grad=True)
opt = torch.optim.Adam([w, b], lr=0.1)
losses = []
for _ in range(10):
    opt.zero_grad()
    loss = F.cross_entropy(x @ w + b, t)
    loss.backward()
    opt.step()
    losses.append(loss.item())
out = dict(losses=losses, w=w.detach(), acc=((x @ w + b).argmax(1) == t).float().mean())

# [case] settings_of_the_wrong_kind | settings that are no numbers, and a hook that returns none of what it may
out = {}
p = torch.tensor([1.0], requires_grad=True)
O = torch.optim
for name, f in dict(sgd=lambda: O.SGD([p], lr="a"), adam=lambda: O.Adam([p], lr=None), betas=lambda: O.Adam([p], betas=0.9)).items():
    try:
        f()
    except TypeError as e:
        out[name] = e
o = O.SGD([p], lr=0.1)
o.register_step_pre_hook(lambda opt, args, kwargs: 5)
try:
    o.step()
except RuntimeError as e:
    out["hook"] = e
