# [group] basics

# [case] without_it_nothing | without retain_grad an intermediate keeps nothing
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
h.sum().backward()
import warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    g = h.grad
out = dict(h=g, x=x.grad, flag=h.retains_grad)

# [case] returns_none_and_flag | it returns None; the flag tells; constants refuse
x = torch.tensor([1.0], requires_grad=True)
h = x * 1
out = dict(r=h.retain_grad(), flag=h.retains_grad, leaf=x.retains_grad, const=torch.ones(1).retains_grad)
for name, t in dict(const=torch.ones(1), detached=h.detach()).items():
    try:
        t.retain_grad()
    except RuntimeError as e:
        out[name + "_error"] = e

# [case] chain_of_three | gradients of every intermediate of a chain
x = torch.tensor([2.0], requires_grad=True)
a = x ** 2
b = a * 3
c = b.exp() * 1e-4
for t in (a, b, c):
    t.retain_grad()
c.backward()
out = dict(gs=[t.grad for t in (a, b, c)], x=x.grad, plain=[(t.grad.requires_grad, t.grad.is_leaf) for t in (a, b)])

# [case] root_retains | the root itself keeps its gradient
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * 2).sum()
y.retain_grad()
y.backward()
out = dict(y=y.grad)

# [case] grad_of_nonleaf_is_fresh | the kept gradient is a plain tensor of its own
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
h.retain_grad()
h.sum().backward()
h.grad.mul_(100)
out = dict(h=h.grad, x=x.grad)

# [group] warning

# [case] nonleaf_grad_warns | reading .grad of an intermediate warns
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.sum().backward()
out = dict(g=h.grad)

# [case] no_warning_when_retained | no warning once it is retained, not even before backward
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.retain_grad()
out = dict(before=h.grad)
h.sum().backward()
out["after"] = h.grad

# [case] assigned_grad_of_nonleaf | a gradient assigned to an intermediate
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.retain_grad()
h.grad = torch.tensor([5.0, 5.0])
h.sum().backward()
out = dict(h=h.grad)

# [group] repeats

# [case] accumulates_over_passes | a retained gradient adds up over passes, in new tensors
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
h.retain_grad()
h.sum().backward(retain_graph=True)
first = h.grad
h.sum().backward()
out = dict(first=first, then=h.grad, same=first is h.grad, x=x.grad)

# [case] reset_between_passes | set to None between passes
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
h.retain_grad()
h.sum().backward(retain_graph=True)
h.grad = None
(h * 2).sum().backward()
out = dict(h=h.grad, x=x.grad)

# [case] after_in_place | retained before an in-place op: the newest value's gradient
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.retain_grad()
h.mul_(10)
(h * torch.tensor([1.0, 3.0])).sum().backward()
out = dict(h=h.grad, x=x.grad, flag=h.retains_grad)

# [case] retain_after_backward | asked for too late
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.sum().backward(retain_graph=True)
h.retain_grad()
out = dict(none=h.grad)
h.sum().backward()
out["then"] = h.grad

# [group] interplay

# [case] retain_with_create_graph | with create_graph the kept gradient has history
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * x
h.retain_grad()
(g,) = torch.autograd.grad((h ** 2).sum(), x, create_graph=True)
out = dict(h=h.grad)
h.grad.sum().backward()
out["x"] = x.grad

# [case] retained_and_input | a retained tensor that is also an input of autograd.grad
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.retain_grad()
(g,) = torch.autograd.grad((h * h).sum(), h)
out = dict(g=g, h=h.grad, x=x.grad)

# [case] not_on_the_path | a retained tensor that takes no part
x = torch.tensor([1.0], requires_grad=True)
h, k = x * 2, x * 3
h.retain_grad()
k.retain_grad()
h.backward()
out = dict(h=h.grad, k=k.grad)

# [case] several_outputs | outputs of unbind retain separately
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
a, b = x.unbind()
a.retain_grad()
b.retain_grad()
(a * 2).sum().backward()
out = dict(a=a.grad, b=b.grad, x=x.grad)

# [case] hook_sees_then_retain | a node pre-hook comes after the capture
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
h.retain_grad()
h.grad_fn.register_prehook(lambda go: (go[0] * 2,))
h.register_hook(lambda g: g * 3)
h.sum().backward()
out = dict(h=h.grad, x=x.grad)

# [case] restricted_backward | backward(inputs=...) and a retained tensor on the way
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
h = x * w
h.retain_grad()
(h * 2).sum().backward(inputs=[w])
out = dict(h=h.grad, x=x.grad, w=w.grad)

# [case] detached_copy_does_not | clones and detached aliases do not inherit it
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
h.retain_grad()
c = h.clone()
out = dict(c=c.retains_grad, v=h.view(2, 1).retains_grad, d=h.detach().retains_grad)

# [case] view_kept_then_written | a view that keeps its gradient, and a copy of it scaled
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x.sin()
y.retain_grad()
v = y[:2]
v.retain_grad()
w = y * v.sum()
w.retain_grad()
w.sum().backward()
out = dict(y=y.grad, v=v.grad, w=w.grad, x=x.grad)
