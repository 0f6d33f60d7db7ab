# [group] vectors

# [case] dot_products | dot, inner, @ and vdot of vectors
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 5.0], requires_grad=True)
y = a @ b + torch.dot(a, a) * 10
y.backward()
out = dict(y=y.detach(), a=a.grad, b=b.grad, inner=torch.inner(a, b), vdot=torch.vdot(a, b), shape=(a @ b).shape)

# [case] vector_errors | dot of unequal sizes, outer and dot of matrices
a, m = torch.ones(2), torch.ones(2, 2)
out = {}
for name, f in dict(dot=lambda: torch.dot(a, torch.ones(3)), at=lambda: a @ torch.ones(3), dotm=lambda: torch.dot(m, a), outer=lambda: torch.outer(m, a), scalar=lambda: torch.tensor(1.0) @ a, num=lambda: a @ 2.0).items():
    try:
        f()
    except (RuntimeError, TypeError) as e:
        out[name] = e

# [case] cross_product | the vector product and its gradient
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = torch.tensor([4.0, 5.0, 7.0], requires_grad=True)
y = torch.linalg.cross(a, b)
y.backward(torch.tensor([1.0, 10.0, 100.0]))
out = dict(y=y.detach(), a=a.grad, b=b.grad)

# [group] matrices

# [case] matrix_product | mm, matmul and @ are one; gradients
a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
b = torch.tensor([[1.0, 0.0], [2.0, -1.0], [0.5, 3.0]], requires_grad=True)
y = a @ b
(y * torch.tensor([[1.0, 2.0], [3.0, 4.0]])).sum().backward()
out = dict(y=y, same=torch.equal(y, torch.mm(a, b)) and torch.equal(y, a.matmul(b)), a=a.grad, b=b.grad)

# [case] transposed_operands | products with transposes, itself, and powers
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
y = a @ a.t() + a.T @ a
y[0, 1].backward()
out = dict(y=y.detach(), g=a.grad, p=torch.matrix_power(a.detach(), 3), p0=torch.matrix_power(a.detach(), 0), tr=torch.trace(a).detach())

# [case] more_errors | wrong dims and sizes of mm, mv, bmm, addmm
m = torch.ones(2, 3)
out = {}
for name, f in dict(mm=lambda: torch.mm(m, m), mv=lambda: torch.mv(m, torch.ones(2)), mvd=lambda: torch.mv(torch.ones(3), m), bmm=lambda: torch.bmm(torch.ones(2, 2, 3), torch.ones(2, 2, 3)), bmmd=lambda: torch.bmm(m, m), batch=lambda: torch.ones(2, 2, 3) @ torch.ones(3, 3, 2), vm=lambda: torch.ones(3) @ m, addmm=lambda: torch.addmm(torch.ones(3), m, m), b0=lambda: torch.bmm(torch.ones(2, 2, 3), torch.ones(3, 3, 2))).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] empty_products | products with inner and outer sizes of zero
a = torch.zeros(2, 0, requires_grad=True)
b = torch.zeros(0, 3, requires_grad=True)
y = a @ b
y.sum().backward()
out = dict(y=y, a=a.grad, b=b.grad, e=(torch.zeros(0, 2) @ torch.ones(2, 3)).shape, dot=torch.dot(torch.zeros(0), torch.zeros(0)))

# [group] batches

# [case] bmm_gradients | a batch against a batch
a = torch.arange(8.0).reshape(2, 2, 2).requires_grad_()
b = torch.arange(8.0, 0.0, -1.0).reshape(2, 2, 2).requires_grad_()
y = torch.bmm(a, b)
(y * torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])).sum().backward()
out = dict(y=y, a=a.grad, b=b.grad)

# [case] batch_and_vector | a batch times a vector, a vector times a batch
a = torch.arange(12.0).reshape(2, 2, 3).requires_grad_()
v = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
u = torch.tensor([1.0, -1.0], requires_grad=True)
y, z = a @ v, u @ a
(y.sum() + z.sum() * 10).backward()
out = dict(y=y.detach(), z=z.detach(), a=a.grad, v=v.grad, u=u.grad)

# [case] batch_broadcast_both | leading dims that broadcast on both sides
a = torch.ones(3, 1, 2, 2, requires_grad=True)
b = torch.arange(8.0).reshape(2, 2, 2).requires_grad_()
y = a @ b
y.sum().backward()
out = dict(shape=y.shape, a=a.grad[0], b=b.grad)

# [case] attention_scores | a small attention: scaled scores, softmax, mix
F = torch.nn.functional
q = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]], requires_grad=True)
k = torch.tensor([[[1.0, 1.0], [0.5, -1.0]]], requires_grad=True)
v = torch.tensor([[[1.0, 2.0], [3.0, 4.0]]], requires_grad=True)
y = (q @ k.transpose(-2, -1) / 2 ** 0.5).softmax(-1) @ v
y.sum().backward()
out = dict(y=y.detach(), q=q.grad, k=k.grad, v=v.grad)

# [group] fused

# [case] addmm_forms | addmm with beta and alpha, addmv, addbmm-free
c = torch.tensor([[1.0, 1.0], [2.0, 2.0]], requires_grad=True)
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
b = torch.tensor([[0.5, 1.0], [1.5, 2.0]], requires_grad=True)
y = torch.addmm(c, a, b, beta=2.0, alpha=0.5)
z = torch.addmv(c[0], a, b[0], beta=0.0)
w = torch.addr(c, a[0], b[0], alpha=3)
(y.sum() + z.sum() * 10 + w.sum() * 100).backward()
out = dict(y=y.detach(), z=z.detach(), w=w.detach(), c=c.grad, a=a.grad, b=b.grad)

# [case] linear_errors | F.linear with sizes that do not fit
F = torch.nn.functional
out = {}
for name, f in dict(inner=lambda: F.linear(torch.ones(2, 3), torch.ones(4, 2)), bias=lambda: F.linear(torch.ones(2, 3), torch.ones(4, 3), torch.ones(3)), vec=lambda: F.linear(torch.ones(3), torch.ones(4, 2))).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e
out["vecweight"] = F.linear(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))

# [case] baddbmm_and_bilinear | the batched fused product, and a bilinear form
F = torch.nn.functional
c = torch.ones(2, 2, 2, requires_grad=True)
a = torch.arange(8.0).reshape(2, 2, 2).requires_grad_()
y = torch.baddbmm(c, a, a, beta=3, alpha=0.5)
w = torch.arange(4.0).reshape(1, 2, 2).requires_grad_()
z = F.bilinear(torch.tensor([[1.0, 2.0]]), torch.tensor([[3.0, 4.0]]), w)
(y.sum() + z.sum()).backward()
out = dict(y=y.detach(), z=z.detach(), c=c.grad, a=a.grad, w=w.grad)

# [case] convolutions | conv1d and conv2d with stride, padding, groups and bias
F = torch.nn.functional
x = torch.arange(16.0).reshape(1, 1, 4, 4).requires_grad_()
w = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]], requires_grad=True)
b = torch.tensor([0.5], requires_grad=True)
y = F.conv2d(x, w, b, stride=2, padding=1)
y.sum().backward()
c = F.conv1d(torch.arange(6.0).reshape(1, 2, 3), torch.ones(2, 1, 2), groups=2)
d = F.conv1d(torch.arange(5.0).reshape(1, 1, 5), torch.tensor([[[1.0, -1.0]]]), dilation=2)
out = dict(y=y.detach(), x=x.grad, w=w.grad, b=b.grad, c=c, d=d)

# [case] pooling | max and average pooling
F = torch.nn.functional
x = torch.tensor([[[[1.0, 2.0, 5.0], [4.0, 3.0, 0.0], [7.0, 8.0, 9.0]]]], requires_grad=True)
m = F.max_pool2d(x, 2, stride=1)
a = F.avg_pool2d(x, 2, stride=1)
g = F.adaptive_avg_pool2d(x, 1)
(m.sum() + a.sum() * 10 + g.sum() * 100).backward()
out = dict(m=m.detach(), a=a.detach(), g=g.detach(), x=x.grad, m1=F.max_pool1d(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]), 2), mi=F.max_pool2d(x.detach(), 2, return_indices=True)[1])

# [group] einsum

# [case] einsum_traces | diagonals, traces, transposes and sums of one operand
a = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
d, t, p, s, r = torch.einsum("ii->i", a), torch.einsum("ii", a), torch.einsum("ij->ji", a), torch.einsum("ij->", a), torch.einsum("ij->i", a)
(d[0] + t * 10 + p[0, 1] * 100 + s * 1000 + r[0] * 10000).backward()
out = dict(d=d.detach(), t=t.detach(), p=p.detach(), s=s.detach(), r=r.detach(), g=a.grad)

# [case] einsum_batches | batches, ellipsis, implicit output, list of operands
a = torch.arange(8.0).reshape(2, 2, 2).requires_grad_()
b = torch.arange(4.0).reshape(2, 2).requires_grad_()
y = torch.einsum("bij,jk->bik", a, b)
z = torch.einsum("...ij,ij->...", a, b)
w = torch.einsum("bij,bkj", a, a)
(y.sum() + z[0] + w[0, 1]).backward()
out = dict(y=y.detach(), z=z.detach(), shape=w.shape, a=a.grad, b=b.grad, lst=torch.einsum("i,i->i", [b[0], b[1]]).detach())

# [case] einsum_errors | subscripts that do not fit
a = torch.ones(2, 3)
out = {}
for name, f in dict(sizes=lambda: torch.einsum("ij,jk->ik", a, a), count=lambda: torch.einsum("ij,jk", a), dims=lambda: torch.einsum("ijk->i", a), out=lambda: torch.einsum("ij->ik", a), char=lambda: torch.einsum("i1->i", a), rep=lambda: torch.einsum("ij->ii", a)).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] tensordot_and_kron | contraction over several dims, Kronecker product, multi_dot
a = torch.arange(6.0).reshape(2, 3).requires_grad_()
b = torch.arange(6.0).reshape(3, 2).requires_grad_()
t, u = torch.tensordot(a, b, dims=1), torch.tensordot(a, b, dims=([0, 1], [1, 0]))
k = torch.kron(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
c = torch.linalg.multi_dot([a, b, a])
(t.sum() + u * 10 + c[0, 0]).backward()
out = dict(t=t.detach(), u=u.detach(), k=k, c=c.detach(), a=a.grad, b=b.grad)

# [group] linear_algebra

# [case] solve_forms | solve with vectors, matrices and batches
a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
b = torch.tensor([[1.0, 0.0, 2.0], [2.0, 1.0, 0.0]], dtype=torch.float64, requires_grad=True)
x = torch.linalg.solve(a, b)
x[0].sum().backward()
out = dict(x=x.detach(), a=a.grad, b=b.grad, inv=torch.inverse(a).detach())

# [case] determinants | det, slogdet and logdet, also of a singular matrix
a = torch.tensor([[2.0, 1.0], [1.0, 3.0]], dtype=torch.float64, requires_grad=True)
s, l = torch.linalg.slogdet(a)
(torch.det(a) + l * 10 + torch.logdet(a) * 100).backward()
z = torch.tensor([[1.0, 2.0], [2.0, 4.0]], dtype=torch.float64)
out = dict(s=s, l=l.detach(), g=a.grad, z=torch.det(z), sz=torch.slogdet(z), det3=torch.det(torch.eye(3) * 2))

# [case] singular_errors | inverses of singular and non-square matrices
z = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
out = {}
for name, f in dict(inv=lambda: torch.linalg.inv(z), inverse=lambda: torch.inverse(z), solve=lambda: torch.linalg.solve(z, torch.ones(2)), square=lambda: torch.inverse(torch.ones(2, 3)), det=lambda: torch.det(torch.ones(2, 3)), ints=lambda: torch.inverse(torch.ones(2, 2, dtype=torch.int64)), chol=lambda: torch.linalg.cholesky(-torch.eye(2))).items():
    try:
        f()
    except Exception as e:
        out[name] = e

# [case] cholesky_and_norms | cholesky, matrix norms and the trace
a = torch.tensor([[4.0, 2.0], [2.0, 3.0]], dtype=torch.float64, requires_grad=True)
l = torch.linalg.cholesky(a)
n = torch.linalg.matrix_norm(a)
(l[1, 0] + n * 10 + a.trace() * 100).backward()
out = dict(l=l.detach(), n=n.detach(), g=a.grad, v=torch.linalg.vector_norm(a.detach(), ord=1), one=torch.linalg.norm(a.detach(), 1), inf=torch.linalg.norm(a.detach(), float("inf")))

# [case] batched_inverse | inverses and determinants of batches
a = torch.tensor([[[2.0, 0.0], [0.0, 4.0]], [[1.0, 1.0], [0.0, 1.0]]], dtype=torch.float64, requires_grad=True)
i, d = torch.linalg.inv(a), torch.linalg.det(a)
(i[:, 0, 0].sum() + (d * torch.tensor([1.0, 10.0])).sum()).backward()
out = dict(i=i.detach(), d=d.detach(), g=a.grad)
