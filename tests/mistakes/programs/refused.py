# %% write-into-a-part-of-split | inplace-view | lab.why(x) | template: several-views
# says: one of several views
x = torch.ones(4, requires_grad=True)
y = x * 2
left, right = y.split(2)
left += 1
(left.sum() + right.sum()).backward()
# %% cure
# grad: x.grad == [2.0, 2.0, 2.0, 2.0]
x = torch.ones(4, requires_grad=True)
y = x * 2
left, right = y.split(2)
left = left + 1
(left.sum() + right.sum()).backward()

# %% scaled-rows-in-a-loop | inplace-view | lab.why(table) | template: several-views
# says: `row.mul_(0.5)` writes in place
table = nn.Parameter(torch.ones(3, 2))
scores = torch.tanh(table)
for row in scores.unbind(0):
    row.mul_(0.5)
scores.sum().backward()

# %% view-of-a-no-grad-block | inplace-view | lab.why(w) | template: view-of-a-block
# says: made in no_grad mode
w = torch.ones(3, requires_grad=True)
hidden = w * 2
with torch.no_grad():
    head = hidden[:2]
head += w[:2]
hidden.sum().backward()

# %% hook-sums-the-gradient | hook-refused | lab.why(weight) | template: hook-of-other-shape
# says: of another size
weight = torch.ones(3, requires_grad=True)
weight.register_hook(lambda g: g.sum())
(weight * 2).sum().backward()
# %% cure
# grad: weight.grad == [6.0, 6.0, 6.0]
weight = torch.ones(3, requires_grad=True)
weight.register_hook(lambda g: g.sum().expand_as(g))
(weight * 2).sum().backward()

# %% hook-returns-the-norm | hook-refused | lab.why(layer.weight) | template: hook-of-other-shape
# says: the type float
layer = nn.Linear(2, 1)
norms = []
def remember(g):
    norms.append(g.norm().item())
    return norms[-1]
layer.weight.register_hook(remember)
layer(torch.ones(1, 2)).sum().backward()

# %% backward-of-the-wrong-shape | function-shape | lab.why(x) | template: function-shape
# says: shape [6] for an input of shape [2, 3]
class SumRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a.sum(0)
    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, g])
x = torch.ones(2, 3, requires_grad=True)
SumRows.apply(x).sum().backward()
# %% cure
# grad: x.grad == [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
class SumRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a.sum(0)
    @staticmethod
    def backward(ctx, g):
        return torch.stack([g, g])
x = torch.ones(2, 3, requires_grad=True)
SumRows.apply(x).sum().backward()

# %% backward-returns-a-float | function-shape | lab.why(x) | template: function-shape
# says: the type float
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return 2.0
x = torch.ones(2, requires_grad=True)
Double.apply(x).sum().backward()

# %% gradient-for-the-power | function-shape | lab.why(x) | template: function-shape
# says: argument 2 of forward
class Power(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, n):
        ctx.save_for_backward(a)
        ctx.n = n
        return a ** n
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return g * ctx.n * a ** (ctx.n - 1), g
x = torch.tensor([1.0, 2.0], requires_grad=True)
Power.apply(x, 3).sum().backward()

# %% curvature-of-a-function-once | once-differentiable | lab.why(x) | template: once
# says: not the backward of SquareBackward
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return 2 * a * g
x = torch.tensor([1.0, 2.0], requires_grad=True)
slope, = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
slope.sum().backward()
# %% cure
# grad: x.grad == [2.0, 2.0]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.save_for_backward(a)
        return a * a
    @staticmethod
    def backward(ctx, g):
        a, = ctx.saved_tensors
        return 2 * a * g
x = torch.tensor([1.0, 2.0], requires_grad=True)
slope, = torch.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
slope.sum().backward()

# %% start-of-another-shape | seed-mismatch | lab.why(x) | template: start-of-backward
# says: a gradient of shape [2] to start with, for a tensor of shape [3]
x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward(torch.ones(2))
# %% cure
# grad: x.grad == [2.0, 2.0, 2.0]
x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward(torch.ones_like(y))

# %% two-losses-one-start | seed-mismatch | lab.why(w) | template: start-of-backward
# says: starts from 2 tensors
w = torch.ones(3, requires_grad=True)
first, second = (w * 2).sum(), (w * 3).sum()
torch.autograd.backward([first, second], [torch.ones(())])

# %% anomaly-finds-a-nan | anomaly | lab.why(x) | template: anomaly
# says: Anomaly mode stopped the pass
x = torch.tensor([0.0, 1.0], requires_grad=True)
with torch.autograd.set_detect_anomaly(True):
    distance = (x * 0).pow(2).sum().sqrt()
    distance.backward()
# %% cure
# grad: x.grad[1] == 0.0
x = torch.tensor([0.0, 1.0], requires_grad=True)
distance = ((x * 0).pow(2).sum() + 1e-12).sqrt()
distance.backward()

# %% result-into-a-buffer | refused | lab.why(x) | template: refused
# says: writes its result into out=
x = torch.ones(3, requires_grad=True)
buffer = torch.empty(3)
torch.mul(x, 2, out=buffer)
buffer.sum().backward()
# %% cure
# grad: x.grad == [2.0, 2.0, 2.0]
x = torch.ones(3, requires_grad=True)
buffer = torch.mul(x, 2)
buffer.sum().backward()

# %% gradient-for-the-data | refused | lab.why(w) | template: refused
# says: a tensor that does not require a gradient
w = torch.ones(3, requires_grad=True)
data = torch.arange(3.0)
sensitivity, = torch.autograd.grad((w * data).sum(), data)

# %% function-made-into-an-object | refused | lab.why(x) | template: refused
# says: an object of a custom Function
class Twice(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return a * 2
    @staticmethod
    def backward(ctx, g):
        return g * 2
x = torch.ones(3, requires_grad=True)
twice = Twice()
twice(x).sum().backward()
