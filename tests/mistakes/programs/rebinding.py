"""The name stands for another tensor than the learner means: updates by hand, conversions, models made anew."""

# %% update-rebinds-then-zero | overwritten-no-grad | lab.why(w) | template: update-by-hand
# says: the name w
# grad: w.grad == (2 * X.T @ (X @ w - y) / 3).tolist()
X = torch.tensor([[1.0, 2.0], [0.5, -1.0], [3.0, 1.0]])
y = torch.tensor([1.0, 0.0, 2.0])
w = torch.tensor([0.2, -0.4], requires_grad=True)
lr = 0.0
for epoch in range(3):
    loss = ((X @ w - y) ** 2).mean()
    if w.grad is not None:
        w.grad.zero_()
    loss.backward()
    with torch.no_grad():
        w = w - lr * w.grad
    w.grad.zero_()
    loss = ((X @ w - y) ** 2).mean()
    loss.backward()

# %% update-rebinds-no-zero | overwritten-no-grad | lab.why(theta) | template: update-by-hand
# says: theta
# grad: theta.grad == [-6.0]
theta = torch.tensor([1.0], requires_grad=True)
step_size = 0.5
target = torch.tensor([3.0])
for i in range(2):
    error = (theta * 2 - target * 0.5)
    cost = (error * error).sum()
    cost.backward()
    with torch.no_grad():
        theta = theta - step_size * theta.grad

# %% update-rebinds-asked-in-words | overwritten-no-grad | lab.why("weights") | template: update-by-hand
# says: weights
weights = torch.ones(3, requires_grad=True)
inputs = torch.tensor([1.0, 2.0, 3.0])
for _ in range(4):
    out = (weights * inputs).sum()
    out.backward()
    with torch.no_grad():
        new = weights - 0.01 * weights.grad
        weights = new
    weights.grad = None

# %% update-of-two-with-function | overwritten-no-grad | lab.why(a) | template: update-in-helper
# says: a
def loss_of(a, b):
    return (a * 3 - b) ** 2

a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
for t in range(5):
    value = loss_of(a, b)
    value.backward()
    with torch.no_grad():
        a, b = a - 0.1 * a.grad, b - 0.1 * b.grad
        a.grad.zero_()
        b.grad.zero_()

# %% rebinds-without-no-grad | overwritten | lab.why(w) | template: update-recorded
# says: The name w was first a leaf
# grad: w.grad == (2.5 * w).tolist()
w = torch.tensor([2.0, 4.0], requires_grad=True)
for step in range(3):
    loss = (w * w).sum()
    loss.backward()
    w = w - 0.1 * w.grad

# %% rebinds-through-data | overwritten-no-grad | lab.why(w) | template: update-through-data
# says: the name w
w = torch.tensor([2.0, 4.0], requires_grad=True)
for step in range(3):
    loss = (w ** 2).sum()
    loss.backward()
    w = w.data - 0.1 * w.grad.data
    w.grad.data.zero_()

# %% rebinds-through-detach | overwritten-no-grad | lab.why(k) | template: update-through-data
# says: the name k
k = torch.full((2,), 3.0, requires_grad=True)
for step in range(3):
    loss = (k ** 3).sum()
    loss.backward()
    k = (k - 0.1 * k.grad).detach()

# %% list-of-parameters-rebound | overwritten-no-grad | lab.why(W1) | template: list-of-parameters
# says: W1
W1 = torch.tensor([[0.5, -0.5]], requires_grad=True)
W2 = torch.tensor([[1.0], [2.0]], requires_grad=True)
x = torch.tensor([[1.0], [1.0]])
for epoch in range(2):
    hidden = torch.relu(x @ W1)
    out = hidden @ W2
    loss = out.pow(2).mean()
    loss.backward()
    with torch.no_grad():
        W1 = W1 - 1e-2 * W1.grad
        W2 = W2 - 1e-2 * W2.grad
        W1.grad.zero_()
        W2.grad.zero_()

# %% made-double | overwritten | lab.why(x) | template: conversion
# says: The name x was first a leaf
# grad: x.grad == [2.0, 4.0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
x = x.double()
loss = (x * x).sum()
loss.backward()

# %% moved-to-dtype-at-once | leaf-without-name | lab.why(x) | template: conversion
# says: the leaf has no name
# grad: x.grad == [3.0, 12.0]
x = torch.tensor([1.0, 2.0], requires_grad=True).to(torch.float64)
loss = (x ** 3).sum()
loss.backward()

# %% scaled-at-once | leaf-without-name | lab.why(weight) | template: init-expression
# says: the leaf has no name
# grad: weight.grad == [1.0, 1.0, 1.0]
weight = torch.ones(3, requires_grad=True) * 0.01
score = (weight * torch.ones(3)).sum()
score.backward()

# %% reshaped | overwritten | lab.why(bias) | template: conversion
# says: The name bias was first a leaf
bias = torch.zeros(4, requires_grad=True)
bias = bias.reshape(2, 2)
(bias * torch.arange(4.0).reshape(2, 2)).sum().backward()

# %% input-normalized | overwritten | lab.why(image) | template: saliency
# says: The name image was first a leaf
image = torch.rand(1, 6)
image.requires_grad_()
image = (image - 0.5) / 0.25
net = nn.Linear(6, 3)
scores = net(image)
scores[0, 1].backward()

# %% unsqueezed-for-the-net | overwritten | lab.why(x) | template: saliency
# says: The name x was first a leaf
# grad: x.grad == [lin.weight[0].tolist()]
lin = nn.Linear(3, 2)
x = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
x = x.unsqueeze(0)
lin(x)[0, 0].backward()

# %% assigned-result-of-a-function | not-leaf | lab.why(z) | template: helper
# says: z is not a leaf
# grad: z.grad == [2.0, 2.0]
def double(v):
    return v * 2

v = torch.tensor([1.0, -1.0], requires_grad=True)
z = double(v)
out = (z * 2).sum()
out.backward()

# %% plus-equals-makes-a-computed-one | inplace-leaf | lab.why(w) | template: in-place-update
# says: A leaf
# grad: w.grad == [2.0]
w = torch.tensor([1.0], requires_grad=True)
for _ in range(2):
    loss = (w * 2).sum()
    w.grad = None
    loss.backward()
    w -= 0.1 * w.grad

# %% new-model-after-training | new-leaf | lab.why(net.weight) | template: model-made-anew
# says: net.weight was made after the pass
net = nn.Linear(2, 1)
net(torch.ones(3, 2)).sum().backward()
net = nn.Linear(2, 1)

# %% parameter-replaced-after-optimizer | not-in-optimizer | lab.why(layer.weight) | template: optimizer-keeps-the-old
# says: layer.weight
layer = nn.Linear(2, 2, bias=True)
opt = torch.optim.SGD(layer.parameters(), lr=0.1)
layer.weight = nn.Parameter(torch.eye(2))
loss = layer(torch.ones(1, 2)).sum()
opt.zero_grad()
loss.backward()
opt.step()

# %% last-layer-replaced-after-optimizer | not-in-optimizer | lab.why(model[2].weight) | template: optimizer-keeps-the-old
# says: `optimizer.step()`
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
optimizer = torch.optim.Adam(model.parameters())
model[2] = nn.Linear(4, 5)
loss = F.cross_entropy(model(torch.ones(2, 3)), torch.tensor([0, 4]))
loss.backward()
optimizer.step()

# %% tensor-made-anew-in-the-loop | stale | lab.why(w) | template: tensor-made-anew
# says: w
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * 3).sum()
loss.backward()
v = torch.tensor(w.tolist(), requires_grad=True)
loss = (v * v).sum()
loss.backward()

# %% normalized-in-place-of-the-name | overwritten | lab.why(direction) | template: normalize
# says: The name direction was first a leaf
direction = torch.tensor([3.0, 4.0], requires_grad=True)
for i in range(2):
    direction = direction / direction.norm()
    objective = direction[0] * 2 + direction[1]
    objective.backward(retain_graph=True)

# %% fgsm-adversarial | overwritten-no-grad | lab.why(x) | template: adversarial
# says: the name x
clf = nn.Linear(2, 2)
x = torch.tensor([[0.3, -0.7]], requires_grad=True)
label = torch.tensor([1])
for step in range(3):
    loss = F.cross_entropy(clf(x), label)
    loss.backward()
    with torch.no_grad():
        x = torch.clamp(x + 0.1 * x.grad.sign(), -1, 1)
    clf.zero_grad()

# %% meta-learning-fast-weights | not-leaf | lab.why(fast) | template: maml
# says: fast is not a leaf
slow = torch.tensor([1.0, 1.0], requires_grad=True)
inner = (slow ** 2).sum()
(g,) = torch.autograd.grad(inner, slow, create_graph=True)
fast = slow - 0.1 * g
outer = (fast ** 3).sum()
outer.backward()

# %% parameter-of-a-computed-one | not-leaf | lab.why(p) | template: maml
# says: p is not a leaf
base = torch.tensor([1.0, 2.0], requires_grad=True)
p = base.exp()
loss = (p * p).sum()
loss.backward()

# %% attribute-rebound-in-a-method | overwritten-no-grad | lab.why(reg.w) | template: rebound-place
# says: self.w
# grad: reg.w.grad is None == False
class Regression:
    def __init__(self):
        self.w = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(self):
        with torch.no_grad():
            self.w = self.w - 0.1 * self.w.grad

reg = Regression()
for _ in range(2):
    loss = (reg.w ** 2).sum()
    loss.backward()
    reg.step()

# %% list-of-parameters-made-anew | overwritten-no-grad | lab.why(params[0]) | template: rebound-place
# says: params[0]
params = [torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)]
for _ in range(2):
    loss = (params[0].sum() + params[1]).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        params = [p - 0.1 * p.grad for p in params]

# %% entry-of-a-dict-rebound | overwritten-no-grad | lab.why(theta["w"]) | template: rebound-place
# says: theta['w']
# grad: theta["w"].grad == [1.6, 1.6]
theta = {"w": torch.ones(2, requires_grad=True)}
for _ in range(2):
    loss = (theta["w"] ** 2).sum()
    loss.backward()
    with torch.no_grad():
        theta["w"] = theta["w"] - 0.1 * theta["w"].grad

# %% entry-of-a-list-rebound-recorded | overwritten | lab.why(layers[0]) | template: rebound-entry
# says: layers[i]
layers = [torch.ones(2, requires_grad=True)]
for _ in range(2):
    loss = (layers[0] ** 2).sum()
    loss.backward()
    for i in range(len(layers)):
        layers[i] = layers[i] - 0.1 * layers[i].grad

# %% returned-by-the-update | overwritten-no-grad | lab.why(w) | template: returned-update
# says: the name w
def sgd(w, lr):
    with torch.no_grad():
        return w - lr * w.grad

w = torch.ones(2, requires_grad=True)
for _ in range(2):
    loss = (w * w).sum()
    loss.backward()
    w = sgd(w, 0.1)

# %% weight-of-a-layer-replaced | new-leaf | lab.why(net.weight) | template: weight-replaced
# says: net.weight was made after the pass
net = nn.Linear(2, 1)
for _ in range(2):
    loss = net(torch.ones(1, 2)).sum()
    net.zero_grad()
    loss.backward()
    with torch.no_grad():
        net.weight = nn.Parameter(net.weight - 0.1 * net.weight.grad)

# %% state-of-a-global-function | carried-over | lab.why(w) | template: global-state
# says: mem
# grad: w.grad is None == False
w = torch.tensor(0.5, requires_grad=True)
mem = torch.tensor(1.0)

def advance(x):
    global mem
    mem = torch.sigmoid(mem * w + x)
    return mem

for x in (1.0, 2.0):
    out = advance(x)
    w.grad = None
    out.backward()

# %% parameter-scaled-in-init | leaf-without-name | lab.why(layer.W) | template: parameter-in-init
# says: layer.W is computed from a leaf
# grad: layer.W.grad == [[1.0, 1.0], [1.0, 1.0]]
class MyLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.W = nn.Parameter(torch.randn(i, o)) * 0.1
        self.b = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return x @ self.W + self.b

layer = MyLinear(2, 2)
opt = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    layer(torch.ones(1, 2)).sum().backward()
    opt.step()

# %% beside-a-parameter-scaled-in-init | freed-graph | lab.why(layer.b) | template: parameter-in-init
# says: Both passes go through self.W
# grad: layer.b.grad == [2.0, 2.0]
class MyLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.W = nn.Parameter(torch.randn(i, o)) * 0.1
        self.b = nn.Parameter(torch.zeros(o))

    def forward(self, x):
        return x @ self.W + self.b

layer = MyLinear(2, 2)
for _ in range(2):
    layer(torch.ones(1, 2)).sum().backward()

# %% sigma-computed-in-init | computed-once | lab.why(g.log_sigma) | template: parameter-in-init
# says: self.sigma was computed once
class Gauss(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_sigma = nn.Parameter(torch.zeros(2))
        self.sigma = self.log_sigma.exp()

    def forward(self, x):
        return (x / self.sigma).pow(2).sum() + self.log_sigma.sum()

g = Gauss()
opt = torch.optim.SGD(g.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    g(torch.ones(2)).backward()
    opt.step()

# %% perturbation-stepped-and-clamped | overwritten | lab.why(delta) | template: step-and-project
# says: The name delta was first a leaf
# grad: delta.grad.tolist() == [[0.226611, 0.286696, -0.339458]]
model = nn.Linear(3, 2)
x, y = torch.rand(1, 3), torch.tensor([1])
delta = torch.zeros_like(x, requires_grad=True)
for i in range(3):
    loss = F.cross_entropy(model(x + delta), y)
    loss.backward()
    delta = delta + 0.1 * delta.grad.sign()
    delta = delta.clamp(-0.3, 0.3)

# %% weights-stepped-and-clamped | overwritten-no-grad | lab.why(w) | template: step-and-project
# says: a new tensor under no_grad
# grad: w.grad == [-4.0, -6.4]
w = torch.tensor([1.0, -2.0], requires_grad=True)
for step in range(3):
    loss = ((w - 3) ** 2).sum()
    loss.backward()
    with torch.no_grad():
        w = w - 0.1 * w.grad
        w = w.clamp(-1, 1)

# %% list-updated-by-index | overwritten-no-grad | lab.why(layers[0]) | template: container-updated
# says: layers[i]
# grad: layers[0].grad == [[0.06559973955154419, 0.06559973955154419], [0.06559973955154419, 0.06559973955154419]]
layers = [torch.ones(2, 2, requires_grad=True), torch.ones(2, 1, requires_grad=True)]
x = torch.ones(1, 2)
for epoch in range(2):
    loss = (torch.tanh(x @ layers[0]) @ layers[1]).sum()
    loss.backward()
    with torch.no_grad():
        for i in range(len(layers)):
            layers[i] = layers[i] - 0.1 * layers[i].grad

# %% dict-updated-by-key | overwritten-no-grad | lab.why(params["W"]) | template: container-updated
# says: params[k]
# grad: params["W"].grad == [[2.0], [4.0]]
params = {"W": torch.ones(2, 1, requires_grad=True), "b": torch.zeros(1, requires_grad=True)}
X = torch.tensor([[1.0, 2.0]])
for epoch in range(2):
    loss = (X @ params["W"] + params["b"]).sum() * 2
    loss.backward()
    with torch.no_grad():
        for k in params:
            params[k] = params[k] - 0.1 * params[k].grad

# %% retain-grad-of-the-tensor-before | overwritten | lab.why(h) | template: retain-then-rename
# says: h.retain_grad() was called on the tensor that was called h before
# grad: h.grad == [1.0, 1.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.retain_grad()
h = h + 1
h.sum().backward()

# %% parameter-made-anew-before-the-pass | new-leaf | lab.why(net.weight) | template: parameter-anew
# says: net.weight was made anew by `net.weight = nn.Parameter(net.weight * 2)`
net = nn.Linear(2, 1)
x = torch.ones(1, 2)
loss = net(x).pow(2).sum()
net.weight = nn.Parameter(net.weight * 2)
loss.backward()
