# [group] gradients

# [case] parameters_in_closure | weights reached through a closure get gradients as well
C = torch.utils.checkpoint.checkpoint
w = torch.tensor([2.0, 3.0], requires_grad=True)
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(lambda t: (t * w).exp().sum(), x, use_reentrant=False)
y.backward()
out = dict(x=x.grad, w=w.grad)

# [case] constant_input_trained_weight | no input requires grad, only a captured weight
C = torch.utils.checkpoint.checkpoint
w = torch.tensor([2.0, 3.0], requires_grad=True)
y = C(lambda t: (t * w).sin().sum(), torch.tensor([1.0, 2.0]), use_reentrant=False)
y.backward()
out = dict(req=y.requires_grad, w=w.grad)

# [case] several_outputs | a checkpointed function may return a tuple
C = torch.utils.checkpoint.checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
a, b, c = C(lambda t: (t.exp(), t * t, 3), x, use_reentrant=False)
(a.sum() + (b * 10).sum()).backward()
out = dict(a=a.detach(), b=b.detach(), c=c, g=x.grad)

# [case] module_checkpointed | a module under a checkpoint
C = torch.utils.checkpoint.checkpoint
lin = torch.nn.Linear(2, 1)
with torch.no_grad():
    lin.weight.copy_(torch.tensor([[1.0, -2.0]])); lin.bias.fill_(0.5)
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
C(lambda t: lin(t).tanh(), x, use_reentrant=False).sum().backward()
out = dict(w=lin.weight.grad, b=lin.bias.grad, x=x.grad)

# [case] nested_checkpoints | a checkpoint inside a checkpoint
C = torch.utils.checkpoint.checkpoint
log = []
def inner(t):
    log.append("inner")
    return t.sin().exp()
def outer(t):
    log.append("outer")
    return C(inner, t * 2, use_reentrant=False).tanh()
x = torch.tensor([0.5, -0.5], requires_grad=True)
C(outer, x, use_reentrant=False).sum().backward()
out = dict(log=log, g=x.grad)

# [case] sequential_segments | checkpoint_sequential over a list of functions
fs = [torch.nn.Tanh(), torch.nn.Sigmoid(), torch.nn.Tanh(), torch.nn.ReLU()]
x = torch.tensor([0.5, -0.5], requires_grad=True)
y = torch.utils.checkpoint.checkpoint_sequential(fs, 2, x, use_reentrant=False)
y.sum().backward()
out = dict(y=y.detach(), g=x.grad)

# [group] recomputation

# [case] forward_runs_twice | the function runs again in backward
C = torch.utils.checkpoint.checkpoint
log = []
def f(t):
    log.append(torch.is_grad_enabled())
    return (t * t).sum()
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(f, x, use_reentrant=False)
log.append("backward")
y.backward()
out = dict(log=log, g=x.grad)

# [case] retain_graph_recomputes_again | with retain_graph every pass recomputes
C = torch.utils.checkpoint.checkpoint
log = []
def f(t):
    log.append("run")
    return t.exp().sum()
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(f, x, use_reentrant=False)
y.backward(retain_graph=True)
y.backward()
out = dict(log=log, g=x.grad)

# [case] once_for_several_saved | one recomputation serves every saved value
C = torch.utils.checkpoint.checkpoint
log = []
def f(t):
    log.append("run")
    return t.exp() * t.sin() + t.tanh()
x = torch.tensor([1.0, 2.0], requires_grad=True)
C(f, x, use_reentrant=False).sum().backward()
out = dict(log=log, g=x.grad)

# [case] saves_nothing_no_rerun | a function that saves nothing is never recomputed
C = torch.utils.checkpoint.checkpoint
log = []
def f(t):
    log.append("run")
    return (t + 1).sum()
x = torch.tensor([1.0, 2.0], requires_grad=True)
C(f, x, use_reentrant=False).backward()
out = dict(log=log, g=x.grad)

# [case] grad_fn_is_the_functions | the graph seen from outside is the function's own
C = torch.utils.checkpoint.checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(lambda t: (t * 2).exp(), x, use_reentrant=False)
out = dict(y=y, below=y.grad_fn.next_functions[0][0].name())

# [group] arguments

# [case] keyword_and_none_arguments | keywords, None and numbers are passed through
C = torch.utils.checkpoint.checkpoint
def f(a, n, k=1.0, m=None):
    return (a * n * k + (0 if m is None else m)).exp().sum()
x = torch.tensor([0.1, 0.2], requires_grad=True)
m = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(f, x, 2, k=0.5, m=m, use_reentrant=False)
y.backward()
out = dict(y=y.detach(), x=x.grad, m=m.grad)

# [case] use_reentrant_missing | leaving use_reentrant out
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
try:
    y = torch.utils.checkpoint.checkpoint(lambda t: t.exp().sum(), x)
    y.backward()
except Exception as e:
    out["error"] = e
out["g"] = x.grad

# [case] unexpected_keyword_reentrant | the reentrant form takes no keywords
x = torch.tensor([1.0], requires_grad=True)
out = {}
try:
    torch.utils.checkpoint.checkpoint(lambda t, k=1: t * k, x, k=2, use_reentrant=True)
except ValueError as e:
    out["error"] = e

# [case] reentrant_form | the reentrant form: its node, its gradient
C = torch.utils.checkpoint.checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(lambda t: (t * t).exp(), x, use_reentrant=True)
name = y.grad_fn.name()
y.sum().backward()
out = dict(name=name, g=x.grad)

# [case] reentrant_autograd_grad | the reentrant form does not work with autograd.grad
C = torch.utils.checkpoint.checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(lambda t: (t * t).sum(), x, use_reentrant=True)
out = {}
try:
    torch.autograd.grad(y, x)
except RuntimeError as e:
    out["error"] = e

# [case] second_order | the gradient of a gradient through a checkpoint
C = torch.utils.checkpoint.checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad(C(lambda t: t.sin().sum(), x, use_reentrant=False), x, create_graph=True)
(g ** 2).sum().backward()
out = dict(g=g.detach(), gg=x.grad)

# [group] mismatch

# [case] different_shape | a recomputed value of another shape
C = torch.utils.checkpoint.checkpoint
runs = []
def f(x):
    runs.append(1)
    return (x if len(runs) == 1 else x.repeat(2)).exp()
x = torch.tensor([1.0], requires_grad=True)
out = {}
try:
    C(f, x, use_reentrant=False).sum().backward()
except RuntimeError as e:
    out["error"] = e

# [case] more_saved_tensors | a recomputation that saves more, without early stop
C = torch.utils.checkpoint.checkpoint
runs = []
def f(x):
    runs.append(1)
    y = x.exp()
    return y if len(runs) == 1 else y.exp()
x = torch.tensor([1.0], requires_grad=True)
out = {}
try:
    with torch.utils.checkpoint.set_checkpoint_early_stop(False):
        y = C(f, x, use_reentrant=False)
    y.sum().backward()
except RuntimeError as e:
    out["error"] = e
out["n"] = len(runs)

# [case] check_switched_off | determinism_check none, and another value on the second run
C = torch.utils.checkpoint.checkpoint
runs = []
def f(x):
    runs.append(1)
    return x.exp() if len(runs) == 1 else (x + 1).exp()
x = torch.tensor([1.0], requires_grad=True)
C(f, x, use_reentrant=False, determinism_check="none").sum().backward()
out = dict(g=x.grad, n=len(runs))

# [case] no_early_stop | with early stop off the recomputation runs to the end
C = torch.utils.checkpoint.checkpoint
log = []
def f(x):
    y = x.exp()
    log.append("end")
    return y + 1
x = torch.tensor([1.0], requires_grad=True)
with torch.utils.checkpoint.set_checkpoint_early_stop(False):
    y = C(f, x, use_reentrant=False)
log.append("backward")
y.sum().backward()
out = dict(log=log)

# [case] changed_closure_value | a changed closure makes a silently different gradient
C = torch.utils.checkpoint.checkpoint
k = [2.0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = C(lambda t: (t * k[0]).exp().sum(), x, use_reentrant=False)
k[0] = 0.0
y.backward()
out = dict(y=y.detach(), g=x.grad)

# [case] nested_with_writes | a checkpoint in a checkpoint, with views, writes in place and second derivatives
C = torch.utils.checkpoint.checkpoint
log = []
def inner(t):
    log.append("inner")
    u = t * 1
    u[0] = t[1]
    return u.mul_(t).exp()
def outer(t):
    log.append("outer")
    return torch.cat([C(inner, t[:2], use_reentrant=False), t[1:] * 2])
x = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
y = C(outer, x, use_reentrant=False)
y.register_hook(lambda g: g * 2)
(g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
(h,) = torch.autograd.grad(g.sum(), x)
out = dict(y=y, g=g.detach(), h=h, log=list(log))
