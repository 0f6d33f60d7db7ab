# [group] sum_of_paths

# [case] same_operand_twice | x * x sums both slots of one node
x = torch.tensor([3.0, -2.0], requires_grad=True)
y = x * x + x
y.sum().backward()
out = dict(y=y, g=x.grad)

# [case] fan_out_of_one_node | three consumers of one intermediate
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x.exp()
(h.sum() + (h * 2).sum() + h[0] * 5).backward()
out = dict(g=x.grad)

# [case] shared_weight_in_a_loop | a weight reused at every step collects every step
w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(1.0)
for k in range(4):
    h = torch.tanh(w * h + k)
h.backward()
out = dict(h=h, g=w.grad)

# [case] order_of_arrival | the engine takes ready nodes by the latest creation
x = torch.tensor([1.0], requires_grad=True)
log = []
def tap(t, name):
    t.register_hook(lambda g: log.append((name, g.item())))
    return t
a = tap(x * 2, "a")
b = tap(a * 3, "b")
c = tap(a * 4, "c")
d = tap(c + b, "d")
d.backward()
out = dict(log=log, g=x.grad)

# [case] leaf_is_filled_as_soon_as_ready | an accumulator runs before older nodes
log = []
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([2.0], requires_grad=True)
h = x.exp()
h.register_hook(lambda g: log.append("h"))
w.register_post_accumulate_grad_hook(lambda p: log.append("w"))
x.register_post_accumulate_grad_hook(lambda p: log.append("x"))
(h * w).backward()
out = dict(log=log, x=x.grad, w=w.grad)

# [group] repeated_backward

# [case] three_passes_add | every backward of a fresh graph adds once more
w = torch.tensor([1.0, -1.0], requires_grad=True)
seen = []
for k in (1, 2, 3):
    (w * k).sum().backward()
    seen.append(w.grad.clone())
out = dict(seen=seen)

# [case] grad_object_stays | .grad is added to in place and keeps its identity
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
held, version = x.grad, x.grad._version
(x * 5).sum().backward()
out = dict(same=held is x.grad, held=held, bumps=x.grad._version - version)

# [case] create_graph_replaces | with create_graph the sum is a new tensor with history
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
held = x.grad
(x ** 2).sum().backward(create_graph=True)
out = dict(same=held is x.grad, held=held, g=x.grad, name=x.grad.grad_fn.name())

# [case] preset_grad_dtype_shape | wrong shapes and self-assignment are refused
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, g in dict(shape=torch.ones(3), scalar=torch.tensor(1.0), ints=torch.tensor([1, 2]), itself=x).items():
    try:
        x.grad = g
    except (RuntimeError, TypeError) as e:
        out[name] = e
out["grad"] = x.grad

# [group] aliasing

# [case] grads_of_sum_are_separate | two leaves of one sum do not share their gradients' memory
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
(a + b).sum().backward()
a.grad[0] = 7.0
out = dict(a=a.grad, b=b.grad)

# [case] gradient_argument_is_not_changed | accumulation leaves the gradient passed in alone
x = torch.tensor([1.0, 2.0], requires_grad=True)
go = torch.tensor([1.0, 1.0])
(x * 1).backward(go)
(x * 3).backward(go)
out = dict(go=go, g=x.grad)

# [case] grad_of_view_of_leaf | a gradient through an expanded view is dense and writable
x = torch.tensor([1.0], requires_grad=True)
x.expand(3).sum().backward()
x.grad.mul_(2)
out = dict(g=x.grad, contiguous=x.grad.is_contiguous(), stride=x.grad.stride())

# [case] gradient_argument_shared | whether .grad is the very memory of the gradient passed in
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor([1.0, 2.0], requires_grad=True)
gx, gy = torch.tensor([1.0, 3.0]), torch.tensor([1.0, 3.0])
x.backward(gx)
(y * 1).view_as(y).backward(gy)
out = dict(same=(x.grad is gx, y.grad is gy))
x.grad.mul_(10)
y.grad.mul_(10)
out.update(x=x.grad, y=y.grad, gy=gy)

# [group] restricted_inputs

# [case] inputs_single_tensor | inputs= takes one tensor too, and leaves the others alone
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
(a * b).backward(inputs=a)
out = dict(a=a.grad, b=b.grad)

# [case] inputs_nonleaf | a computed tensor among inputs= keeps its gradient; the leaf below is not reached
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 3
(h * h).sum().backward(inputs=[h])
out = dict(h=h.grad, x=x.grad, flag=h.retains_grad)

# [case] inputs_empty_and_foreign | an empty list is an error, an unreachable input stays None
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([1.0], requires_grad=True)
y = (x * 2).sum()
out = {}
try:
    y.backward(inputs=[])
except RuntimeError as e:
    out["empty"] = e
try:
    y.backward(inputs=[w])
except RuntimeError as e:
    out["foreign"] = e
out.update(w=w.grad, x=x.grad)

# [group] roots

# [case] two_roots | several roots are one pass
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
calls = []
h.register_hook(lambda g: calls.append(g.clone()))
torch.autograd.backward([(h * 3).sum(), h], [None, torch.tensor([10.0, 20.0])])
out = dict(calls=calls, g=x.grad)

# [case] root_and_its_ancestor | a root that lies below another root
x = torch.tensor(2.0, requires_grad=True)
h = x * x
y = h * 5
torch.autograd.backward([y, h])
out = dict(g=x.grad)

# [case] roots_in_a_tuple | roots and gradients may be tuples; a lone tensor stands for a list
x = torch.tensor([1.0, 2.0], requires_grad=True)
torch.autograd.backward((x * 2, x * 3), (torch.ones(2), torch.tensor([1.0, 0.0])))
torch.autograd.backward(x * 100, torch.ones(2))
out = dict(g=x.grad)

# [case] no_roots | nothing to do
torch.autograd.backward([])
out = {}
try:
    torch.autograd.backward([torch.tensor(1.0)])
except RuntimeError as e:
    out["error"] = e

# [group] size

# [case] wide_fan_in | 500 branches of one leaf
x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
y = sum(x * k for k in range(500))
y.backward()
out = dict(y=y, g=x.grad)

# [case] deep_diamonds | doubling 30 times takes 30 steps, not 2 ** 30
x = torch.tensor(1.0, requires_grad=True)
y = x
for _ in range(30):
    y = y + y
y.backward()
out = dict(y=y, g=x.grad)

# [case] half_leaf | a half-precision leaf has a half-precision gradient
h = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
f = torch.tensor([3.0, 4.0], requires_grad=True)
y = h * f
y.sum().backward()
out = dict(y=y, h=h.grad, f=f.grad)

# [case] empty_leaf | a leaf with no elements has an empty gradient
x = torch.zeros(0, 3, requires_grad=True)
y = (x * 2).sum()
y.backward()
out = dict(y=y, g=x.grad)

# [case] layout_contract | a .grad that lies in memory otherwise than its leaf is added to, with a warning
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
x.grad = torch.ones(2, 2).t()
(x * x).sum().backward()
out = dict(g=x.grad, stride=x.grad.stride())

# [case] layout_kept | no warning for a leaf and a .grad of the same strides, nor for dims of one entry
x = torch.ones(2, 3).t().requires_grad_()
v = torch.ones(1, 3).requires_grad_()
v.grad = torch.ones(3, 1).t()
for t in (x, v):
    (t * 2).sum().backward()
    (t * 3).sum().backward()
out = dict(x=(x.grad, x.grad.stride()), v=(v.grad, v.grad.stride()))
