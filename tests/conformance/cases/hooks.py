# [group] tensor_hooks

# [case] observe_only | a hook that returns None only observes
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
seen = []
handle = h.register_hook(lambda g: seen.append(g.clone()))
(h * h).sum().backward()
out = dict(seen=seen, g=x.grad, kind=type(handle).__name__)

# [case] leaf_hook_changes_grad | a leaf's hook changes what is accumulated
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.register_hook(lambda g: g.clamp(max=1.5))
(x * torch.tensor([1.0, 5.0])).sum().backward()
out = dict(g=x.grad)

# [case] hook_and_autograd_grad | hooks act on what autograd.grad returns
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
h.register_hook(lambda g: g * 10)
x.register_hook(lambda g: g + 1)
out = dict(both=torch.autograd.grad(h.sum(), [x, h]), x=x.grad)

# [case] capture_and_hook | a requested intermediate is captured after its hooks, unless its node runs as well
def graph():
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    h = x * 3
    h.register_hook(lambda g: g * 10)
    return x, h
out = {}
x, h = graph()
out["alone"] = torch.autograd.grad((h * 2).sum(), h)
x, h = graph()
out["with_leaf"] = torch.autograd.grad((h * 2).sum(), [h, x])
x, h = graph()
(h * 2).sum().backward(inputs=[x, h])
out["backward"] = (h.grad, x.grad)

# [case] hook_not_called | a hook on a branch that is not part of the pass
x = torch.tensor([1.0], requires_grad=True)
a, b = x * 2, x * 3
calls = []
a.register_hook(lambda g: calls.append("a"))
b.register_hook(lambda g: calls.append("b"))
b.backward()
out = dict(calls=calls)

# [case] hook_on_root | a hook on the root sees the gradient passed in
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
y.register_hook(lambda g: g * 100)
y.backward(torch.tensor([1.0, 0.5]))
out = dict(g=x.grad)

# [case] in_place_on_gradient | a hook that changes the gradient in place
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
def double(g):
    g.mul_(2)
h.register_hook(double)
(h * 3).sum().backward()
out = dict(g=x.grad)

# [case] hook_before_in_place | a hook registered before an in-place op stays with the old value
x = torch.tensor([1.0], requires_grad=True)
h = x * 2
seen = []
h.register_hook(lambda g: seen.append(("old", g.item())))
h.mul_(5)
h.register_hook(lambda g: seen.append(("new", g.item())))
h.backward()
out = dict(seen=seen, g=x.grad)

# [case] hook_with_create_graph | a hook's work becomes part of the second-order graph
x = torch.tensor([2.0], requires_grad=True)
h = x * x
h.register_hook(lambda g: g * x)
(g,) = torch.autograd.grad(h, x, create_graph=True)
out = dict(g=g, gg=torch.autograd.grad(g, x))

# [group] order_and_removal

# [case] registration_order | hooks run in the order of registration, each seeing the last result
x = torch.tensor([1.0], requires_grad=True)
h = x * 1
h.register_hook(lambda g: g + 1)
h.register_hook(lambda g: g * 10)
h.register_hook(lambda g: None)
h.backward()
out = dict(g=x.grad)

# [case] all_kinds_in_order | tensor, retain, pre, node and post hooks in one pass
x = torch.tensor([1.0], requires_grad=True)
log = []
h = x * 2
h.grad_fn.register_hook(lambda gi, go: log.append("node"))
h.grad_fn.register_prehook(lambda go: log.append("pre"))
h.register_hook(lambda g: log.append("tensor"))
acc = h.grad_fn.next_functions[0][0]
acc.register_hook(lambda gi, go: log.append("acc post"))
acc.register_prehook(lambda go: log.append("acc pre"))
x.register_post_accumulate_grad_hook(lambda p: log.append("leaf post"))
x.register_hook(lambda g: log.append("leaf"))
h.backward()
out = dict(log=log)

# [case] removed_inside_hook | a hook that removes itself
x = torch.tensor([1.0], requires_grad=True)
h = x * 2
log = []
def once(g):
    log.append("once")
    handle.remove()
handle = h.register_hook(once)
h.backward(retain_graph=True)
h.backward(retain_graph=True)
out = dict(log=log)

# [case] same_function_twice | the same function registered twice runs twice
x = torch.tensor([1.0], requires_grad=True)
h = x * 1
f = lambda g: g * 3
a = h.register_hook(f)
b = h.register_hook(f)
h.backward(retain_graph=True)
first = x.grad.clone()
a.remove()
h.backward()
out = dict(first=first, both=x.grad)

# [group] refused

# [case] constant_and_nonleaf | hooks on constants, post hooks on non-leaves
x = torch.tensor([1.0], requires_grad=True)
out = {}
for name, f in dict(const=lambda: torch.ones(1).register_hook(print), nonleaf=lambda: (x * 2).register_post_accumulate_grad_hook(print), pconst=lambda: torch.ones(1).register_post_accumulate_grad_hook(print)).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] returns_not_a_tensor | a hook that returns a number or another dtype
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(number=lambda g: 3, text=lambda g: "x", double=lambda g: g.double()).items():
    h = x * 2
    h.register_hook(f)
    try:
        h.sum().backward()
        out[name] = x.grad
    except (RuntimeError, TypeError) as e:
        out[name] = e

# [case] post_hook_returns_value | a post-accumulate hook must return None
w = torch.tensor([1.0], requires_grad=True)
w.register_post_accumulate_grad_hook(lambda p: p.grad * 2)
out = {}
try:
    (w * 3).backward()
except RuntimeError as e:
    out["error"] = e
out["g"] = w.grad

# [case] exception_in_post_hook | an exception in a post-accumulate hook; the gradient is there already
w = torch.tensor([1.0], requires_grad=True)
def bad(p):
    raise ValueError("after")
w.register_post_accumulate_grad_hook(bad)
out = {}
try:
    (w * 3).backward()
except ValueError as e:
    out["error"] = e
out["g"] = w.grad

# [case] node_hook_wrong_count | a node hook must return as many values as there are inputs
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.grad_fn.register_hook(lambda gi, go: (gi[0], gi[0], gi[0]))
out = {}
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [group] post_accumulate

# [case] optimizer_in_backward | the step taken inside backward
w = torch.tensor([1.0, 2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
def step(p):
    opt.step()
    opt.zero_grad()
w.register_post_accumulate_grad_hook(step)
for _ in range(2):
    (w ** 2).sum().backward()
out = dict(w=w, g=w.grad)

# [case] once_per_pass | called once although the leaf is used three times
w = torch.tensor([1.0], requires_grad=True)
n = []
w.register_post_accumulate_grad_hook(lambda p: n.append(p.grad.item()))
(w * 2 + w * 3 + w).backward()
out = dict(n=n)

# [case] several_post_hooks | several post hooks in order; removal
w = torch.tensor([1.0], requires_grad=True)
log = []
a = w.register_post_accumulate_grad_hook(lambda p: log.append("a"))
b = w.register_post_accumulate_grad_hook(lambda p: log.append("b"))
(w * 2).backward()
a.remove()
(w * 2).backward()
out = dict(log=log)

# [group] node_hooks

# [case] prehook_changes_outputs | a node pre-hook replaces the incoming gradients
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
seen = []
y.grad_fn.register_prehook(lambda go: (seen.append(len(go)), (go[0] * 2,))[1])
y.sum().backward()
out = dict(seen=seen, g=x.grad)

# [case] hook_sees_both_sides | a node hook sees gradients of inputs and outputs, None for constants
x = torch.tensor([1.0, 2.0], requires_grad=True)
k = torch.tensor([3.0, 4.0])
y = x * k
seen = []
handle = y.grad_fn.register_hook(lambda gi, go: seen.append((gi, go)))
y.sum().backward(retain_graph=True)
handle.remove()
y.sum().backward()
out = dict(seen=seen, g=x.grad)

# [case] node_hook_under_grad | a requested tensor's own node does not run in autograd.grad
x = torch.tensor([1.0], requires_grad=True)
h = x * 2
log = []
h.grad_fn.register_hook(lambda gi, go: log.append("node"))
h.register_hook(lambda g: log.append("tensor"))
torch.autograd.grad(h * 3, h)
log.append("-")
torch.autograd.grad(h * 3, [h, x])
out = dict(log=log)

# [case] unbind_node_hook | the hooks of a node with several outputs
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
a, b = x.unbind()
seen = []
a.grad_fn.register_prehook(lambda go: seen.append([None if g is None else g.clone() for g in go]))
b.register_hook(lambda g: g * 10)
b.sum().backward()
out = dict(seen=seen, g=x.grad)

# [case] custom_function_node_hook | hooks on a custom function's node
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        log.append(("backward", g.item()))
        return g * 2
log = []
x = torch.tensor([1.0], requires_grad=True)
y = F.apply(x)
y.grad_fn.register_prehook(lambda go: (go[0] * 5,))
y.grad_fn.register_hook(lambda gi, go: log.append(("hook", gi[0].item(), go[0].item())))
y.backward()
out = dict(log=log, g=x.grad)

# [group] versions_and_groups

# [case] multi_hook_waits_for_used | the group fires once all that take part have arrived
x = torch.tensor([1.0], requires_grad=True)
y = torch.tensor([2.0], requires_grad=True)
log = []
h = x * 2
torch.autograd.graph.register_multi_grad_hook((h, y), lambda gs: log.append([g.item() for g in gs]))
(h * y).backward()
(x * 5).backward()
out = dict(log=log)

# [case] multi_hook_errors | an unknown mode, a tensor without gradient
x = torch.tensor([1.0], requires_grad=True)
out = {}
for name, f in dict(mode=lambda: torch.autograd.graph.register_multi_grad_hook((x,), lambda g: None, mode="some"), const=lambda: torch.autograd.graph.register_multi_grad_hook((x, torch.ones(1)), lambda g: None)).items():
    try:
        f()
        out[name] = "ok"
    except (ValueError, RuntimeError, AssertionError) as e:
        out[name] = e

# [case] hook_after_in_place_on_view | hooks on a base before and after a view is written
x = torch.tensor([1.0, 2.0], requires_grad=True)
b = x * 1
seen = []
b.register_hook(lambda g: seen.append(("before", g.tolist())))
b[0].mul_(10)
b.register_hook(lambda g: seen.append(("after", g.tolist())))
b.sum().backward()
out = dict(seen=seen, g=x.grad)

# [case] hook_kept_by_leaf_update | a leaf's hook survives in-place updates under no_grad
w = torch.tensor([1.0], requires_grad=True)
seen = []
w.register_hook(lambda g: seen.append(g.item()))
with torch.no_grad():
    w.add_(1)
(w * w).backward()
w.data.mul_(10)
(w * w).backward()
out = dict(seen=seen, g=w.grad)

# [case] hook_follows_requires_grad | a leaf hook after switching requires_grad off and on
w = torch.tensor([1.0], requires_grad=True)
seen = []
w.register_hook(lambda g: seen.append(g.item()))
w.requires_grad_(False)
w.requires_grad_(True)
(w * 3).backward()
out = dict(seen=seen, g=w.grad)

# [case] numpy_for_a_gradient | what returns NumPy's arrays or numbers where a Tensor is wanted is told so by their full name
x = torch.ones(2, requires_grad=True)
def told(fn):
    try:
        fn()
    except Exception as e:
        return type(e).__name__, str(e)[-60:]
def hooked(register, value):
    y = x * 2
    register(y)(lambda *a: value)
    return told(lambda: y.sum().backward())
class Array(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, save):
        if save is not None:
            ctx.save_for_backward(save)
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return np.ones(2), None
out = {}
for name, value in dict(array=np.ones(2), number=np.float32(2), plain=2.0).items():
    out[name] = [hooked(lambda y: y.register_hook, value), hooked(lambda y: y.grad_fn.register_hook, value), hooked(lambda y: y.grad_fn.register_prehook, (value,)), told(lambda: setattr(x, "grad", value)), told(lambda: setattr(x, "data", value)), told(lambda: Array.apply(x, value))]
out["backward"] = told(lambda: Array.apply(x, None).sum().backward())
