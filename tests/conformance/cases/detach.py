# [group] cutting

# [case] only_the_other_path | a detached factor is a constant
x = torch.tensor([1.0, 2.0], requires_grad=True)
(x * x.detach()).sum().backward()
out = dict(g=x.grad)

# [case] detach_of_constant | detach of a constant is a new object too
c = torch.tensor([1.0, 2.0])
d = c.detach()
out = dict(d=d, same=d is c, ptr=d.data_ptr() == c.data_ptr(), view=d._is_view())

# [case] backward_from_detached | nothing can be done from a detached result
x = torch.tensor(2.0, requires_grad=True)
out = {}
try:
    (x * x).detach().backward()
except RuntimeError as e:
    out["error"] = e
out["fn"] = (x * x).detach().grad_fn

# [case] detach_then_require | a detached tensor can start a graph of its own
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
d = h.detach().requires_grad_()
(d * d).sum().backward()
h.backward(d.grad)
out = dict(d=d.grad, x=x.grad)

# [case] stop_gradient_in_loss | a target network: detach one side of a loss
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 5.0], requires_grad=True)
loss = ((a - b.detach()) ** 2).mean()
loss.backward()
out = dict(loss=loss, a=a.grad, b=b.grad)

# [case] tensor_detach_function | torch.detach is the same as the method
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(d=torch.detach(x), n=torch.detach(x * 2))

# [group] shared_memory

# [case] source_writes_show | writes to the source are seen in the detached tensor
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 1
d = y.detach()
y.mul_(10)
with torch.no_grad():
    x[0] = -1.0
out = dict(d=d, y=y, x=x, xd=x.detach())

# [case] detach_of_view | detach of a slice shares the slice's memory
b = torch.arange(6.0).reshape(2, 3)
b.requires_grad_()
d = (b * 1)[1].detach()
e = b.detach()[1]
e[0] = 100.0
out = dict(d=d, b=b, stride=b.detach().t().stride(), offset=e.storage_offset())

# [case] clone_keeps_history | clone alone is part of the graph
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = x.clone()
c.detach().mul_(100)
(c * 3).sum().backward()
out = dict(c=c, x=x, g=x.grad)

# [case] numpy_shares_memory | numpy() of a detached tensor is the same memory, unseen by the counter
x = torch.tensor([1.0, 2.0], requires_grad=True)
a = x.detach().numpy()
a[0] = 9.0
out = dict(x=x, version=x._version, array=a)

# [case] from_numpy_shares | from_numpy and as_tensor share, tensor() copies
a = np.array([1.0, 2.0])
s, t, c = torch.from_numpy(a), torch.as_tensor(a), torch.tensor(a)
a[0] = 9.0
s[1] = -1.0
out = dict(s=s, t=t, c=c, a=a)

# [group] version_counter

# [case] detached_write_is_noticed | writing through detach() is noticed
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
x.detach().mul_(10)
out = dict(version=x._version)
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] versions_of_aliases | detach shares the counter, data starts at zero, clone too
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 1
h.add_(1)
d, p, c = h.detach(), h.data, h.clone()
first = (h._version, d._version, p._version, c._version)
d.add_(1)
p.add_(1)
out = dict(first=first, then=(h._version, d._version, p._version, c._version), h=h)

# [case] data_setter | assigning .data swaps the memory under the leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
x.data = torch.tensor([5.0, 6.0])
y.backward()
out = dict(x=x, version=x._version, g=x.grad)

# [case] no_grad_write_counts | a write under no_grad counts
x = torch.tensor([1.0, 2.0], requires_grad=True)
with torch.no_grad():
    x.add_(1)
    x[0] = 5.0
out = dict(version=x._version, x=x)

# [group] data_attribute

# [case] data_after_graph | an update through .data between forward and backward gives a wrong gradient
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (w * w).sum()
w.data -= 0.5
y.backward()
out = dict(w=w, g=w.grad)

# [case] data_type_errors | .data takes tensors of a compatible kind
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
try:
    x.data = 3.0
except TypeError as e:
    out["number"] = e
x.data = torch.ones(3)
out["shape"] = x.shape
out["x"] = x

# [case] data_of_parameter | .data of a Parameter is a plain tensor
p = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
p.data.fill_(7.0)
out = dict(kind=type(p.data).__name__, p=p.detach(), req=p.data.requires_grad, version=p._version)

# [group] in_place

# [case] detach_in_place | detach_ turns the tensor itself into a leaf
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 2
r = y.detach_()
out = dict(y=y, same=r is y)
z = (y * x).sum()
z.backward()
out["g"] = x.grad

# [case] detach_in_place_after_use | a saved tensor detached in place cannot be used any more
x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x * 2
y = (h * h).sum()
h.detach_()
out = dict(h=h)
try:
    y.backward()
except RuntimeError as e:
    out["error"] = e

# [case] detach_leaf_in_place | detach_ of a leaf clears its flag
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.detach_()
out = dict(x=x, y=x * 2)

# [case] detached_counter_matters_for_result | exp's result changed through its detached alias
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.exp()
y.detach().zero_()
out = {}
try:
    y.sum().backward()
except RuntimeError as e:
    out["error"] = e

# [case] data_then_views | .data, detach and views of views over one memory
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = x * 1
d, e = y.detach()[0], y.data[:, 1]
d.mul_(10)
e.add_(1)
out = dict(y=y, versions=(y._version, d._version, e._version), base=(d._is_view(), d._base is None, e._is_view()))
(y * y).sum().backward()
out["g"] = x.grad
