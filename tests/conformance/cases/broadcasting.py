# [group] rows_and_columns

# [case] column_against_row | a column and a row make a matrix; each gradient is summed back
c = torch.tensor([[1.0], [2.0], [3.0]], requires_grad=True)
r = torch.tensor([[10.0, 20.0]], requires_grad=True)
y = c * r
y.backward(torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]]))
out = dict(y=y.detach(), c=c.grad, r=r.grad)

# [case] vector_against_batch | a vector against three leading dims
v = torch.tensor([1.0, 2.0], requires_grad=True)
m = torch.arange(12.0).reshape(2, 3, 2)
y = m / v - v
y.sum().backward()
out = dict(shape=y.shape, v=v.grad)

# [case] size_one_both_sides | both operands grow
a = torch.tensor([[[1.0], [2.0]]], requires_grad=True)
b = torch.tensor([[[3.0, 4.0]], [[5.0, 6.0]]], requires_grad=True)
y = a ** b
y.sum().backward()
out = dict(shape=y.shape, a=a.grad, b=b.grad)

# [case] bias_added_to_batch | the everyday case, subtraction form
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
b = torch.tensor([0.5, -0.5], requires_grad=True)
((x - b) ** 2).sum().backward()
out = dict(b=b.grad)

# [case] empty_broadcast | a size-one dim can shrink to nothing
a = torch.ones(1, 3, requires_grad=True)
b = torch.ones(0, 3, requires_grad=True)
y = a * b
y.sum().backward()
out = dict(shape=y.shape, a=a.grad, b=b.grad)

# [group] scalars

# [case] python_scalar_sides | numbers on either side
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (2 - x) * 3 / (1 + x) + 2 ** x + x ** 2 - (6 / x)
y.sum().backward()
out = dict(y=y, g=x.grad)

# [case] one_element_vector | a vector of one is not a scalar: its gradient keeps its shape
s = torch.tensor([2.0], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x * s
y.sum().backward()
out = dict(s=s.grad, x=x.grad)

# [case] zero_dim_in_comparison | comparisons broadcast and are constant
x = torch.tensor([[1.0, 5.0], [3.0, 2.0]], requires_grad=True)
t = torch.tensor(2.5)
out = dict(gt=x > t, le=x <= torch.tensor([[1.0], [2.0]]), eq=x == torch.tensor([1.0, 2.0]))

# [case] numpy_scalar | a NumPy number and array as an operand
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * np.float64(2.5)
z = x + np.float32(1.0)
y.sum().backward()
out = dict(y=y, z=z, g=x.grad)

# [group] other_ops

# [case] clamp_with_tensors | clamp bounds broadcast and get gradients
x = torch.tensor([[0.0, 2.0, 5.0], [-1.0, 1.0, 3.0]], requires_grad=True)
lo = torch.tensor([[0.5], [0.0]], requires_grad=True)
hi = torch.tensor([4.0, 1.5, 4.0], requires_grad=True)
y = torch.clamp(x, lo, hi)
y.sum().backward()
out = dict(y=y, x=x.grad, lo=lo.grad, hi=hi.grad)

# [case] lerp_and_addcmul | three operands of different shapes
a = torch.tensor([[1.0], [2.0]], requires_grad=True)
b = torch.tensor([3.0, 4.0, 5.0], requires_grad=True)
w = torch.tensor(0.25, requires_grad=True)
y = torch.lerp(a, b, w)
z = torch.addcmul(w, a, b, value=2)
(y.sum() + z.sum()).backward()
out = dict(y=y.detach(), z=z.detach(), a=a.grad, b=b.grad, w=w.grad)

# [case] where_scalar_branch | a number as a branch, a condition that grows
x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
y = torch.where(x > 0, x, 0.0)
z = torch.where(torch.tensor([[True], [False]]), 1.0, x)
(y.sum() + z.sum() * 10).backward()
out = dict(y=y, z=z, g=x.grad)

# [case] minimum_and_fmax | minimum, fmax, fmin against a row
x = torch.tensor([[1.0, 4.0], [3.0, 2.0]], requires_grad=True)
r = torch.tensor([2.0, 3.0], requires_grad=True)
y = torch.minimum(x, r) + torch.fmax(x, r) * 10 + torch.fmin(x, r) * 100
y.sum().backward()
out = dict(y=y.detach(), x=x.grad, r=r.grad)

# [case] mse_broadcast_warns | a loss warns when target and input differ in size
F = torch.nn.functional
x = torch.tensor([[1.0], [2.0]], requires_grad=True)
loss = F.mse_loss(x, torch.tensor([1.0, 3.0]))
loss.backward()
out = dict(loss=loss, g=x.grad)

# [group] explicit

# [case] broadcast_tensors_and_to | broadcast_to, broadcast_tensors, broadcast_shapes
a = torch.tensor([[1.0], [2.0]], requires_grad=True)
b = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
p, q = torch.broadcast_tensors(a, b)
(p * q).sum().backward()
r = torch.broadcast_to(b, (2, 3))
out = dict(p=p.detach(), name=r.grad_fn.name(), a=a.grad, b=b.grad, shape=torch.broadcast_shapes((2, 1), (3,), (1, 1, 1)), stride=p.stride())

# [case] expand_errors | expand needs matching sizes and enough dims
a = torch.ones(2, 3)
out = {}
for name, f in dict(size=lambda: a.expand(4, 3), few=lambda: a.expand(3), lead=lambda: a.expand(-1, 2, 3),
                    shapes=lambda: torch.broadcast_shapes((2,), (3,)), to=lambda: torch.broadcast_to(a, (3, 2))).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] errors_name_the_dim | the message counts dims from the front of the broadcast shape
a = torch.ones(2, 3, 4)
out = {}
for name, f in dict(mul=lambda: a * torch.ones(3, 3), sub=lambda: a - torch.ones(5, 1, 4), gt=lambda: a > torch.ones(2),
                    where=lambda: torch.where(a > 0, a, torch.ones(3)), max=lambda: torch.maximum(a, torch.ones(2, 1, 1, 3))).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] expand_as_and_sum_to_size | expand_as and its reverse
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
y = x.expand_as(torch.zeros(3, 2))
s = (y * torch.tensor([[1.0], [2.0], [3.0]])).sum_to_size(1, 2)
s.backward(torch.tensor([[1.0, 10.0]]))
out = dict(y=y, s=s, g=x.grad)

# [case] inplace_with_smaller_operand | x += row, x *= column
t = torch.ones(2, 3, requires_grad=True)
r = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
c = torch.tensor([[2.0], [3.0]], requires_grad=True)
y = t * 2
y += r
y *= c
y -= 1
y /= r
y.sum().backward()
out = dict(y=y, t=t.grad, r=r.grad, c=c.grad)
