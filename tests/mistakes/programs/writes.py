"""Numbers that were written over while nobody noticed: through .data, NumPy, `.data =`, or on ctx."""

# %% data-scaled-before-backward | data-write | lab.why(w) | template: write between loss and backward
# says: w.data.mul_(10)
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
w.data.mul_(10)
loss.backward()
# %% cure
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
w.data.mul_(10)

# %% data-item-assigned | data-write | lab.why(weights) | template: write between loss and backward
# says: weights.data[0] = 0.0
inputs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
weights = torch.tensor([0.5, -0.5], requires_grad=True)
scores = (inputs * weights).pow(2).sum(dim=1)
loss = scores.mean() + (weights * weights).sum()
weights.data[0] = 0.0
loss.backward()
# %% cure
# grad: weights.grad == [6.0, -11.0]
inputs = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
weights = torch.tensor([0.5, -0.5], requires_grad=True)
scores = (inputs * weights).pow(2).sum(dim=1)
loss = scores.mean() + (weights * weights).sum()
loss.backward()
weights.data[0] = 0.0

# %% data-step-before-backward | data-write | lab.why(model[0].weight) | template: update too early
# says: p.data -= 0.1
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
y = torch.tensor([[1.0], [0.0]])
loss = F.mse_loss(model(x), y)
for p in model.parameters():
    p.data -= 0.1
loss.backward()
# %% cure
# grad: model[0].weight.grad == [[-0.556085, 0.144363], [0.0490863, -0.00212539], [-0.30014, 0.00628945]]
torch.manual_seed(3)
model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
x = torch.tensor([[1.0, -1.0], [0.5, 2.0]])
y = torch.tensor([[1.0], [0.0]])
before = torch.autograd.grad(F.mse_loss(model(x), y), model[0].weight)[0]
loss = F.mse_loss(model(x), y)
loss.backward()
for p in model.parameters():
    p.data -= 0.1

# %% clamp-of-hidden-data-in-forward | data-write | lab.why(net.inner.weight) | template: clamp hidden
# says: h.data.clamp_(max=0.1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2, bias=False)
        self.outer = nn.Linear(2, 1, bias=False)
        with torch.no_grad():
            self.inner.weight.copy_(torch.tensor([[0.5, 0.2], [0.1, 0.3]]))
            self.outer.weight.copy_(torch.tensor([[1.0, 2.0]]))

    def forward(self, x):
        h = torch.sigmoid(self.inner(x))
        h.data.clamp_(max=0.1)
        return self.outer(h)


net = Net()
net(torch.tensor([[1.0, 2.0]])).sum().backward()
# %% cure
# grad: net.inner.weight.grad == [[0.2055, 0.411001], [0.443426, 0.886851]]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2, bias=False)
        self.outer = nn.Linear(2, 1, bias=False)
        with torch.no_grad():
            self.inner.weight.copy_(torch.tensor([[0.5, 0.2], [0.1, 0.3]]))
            self.outer.weight.copy_(torch.tensor([[1.0, 2.0]]))

    def forward(self, x):
        h = torch.sigmoid(self.inner(x))
        h = h.clamp(max=0.9)
        return self.outer(h)


net = Net()
net(torch.tensor([[1.0, 2.0]])).sum().backward()

# %% data-alias-kept-in-a-variable | data-write | lab.why(k) | template: alias kept
# says: raw.add_(1)
def attention(k, q):
    s = torch.exp(k * q)
    raw = s.data
    raw.add_(1)
    return s.sum()


k = torch.tensor([0.0, 1.0], requires_grad=True)
q = torch.tensor([1.0, 1.0])
attention(k, q).backward()
# %% cure
# grad: k.grad == [1.0, 2.71828]
def attention(k, q):
    s = torch.exp(k * q)
    raw = s.data.clone()
    raw.add_(1)
    return s.sum()


k = torch.tensor([0.0, 1.0], requires_grad=True)
q = torch.tensor([1.0, 1.0])
attention(k, q).backward()

# %% view-of-data-written | data-write | lab.why(table) | template: view of data
# says: row.zero_()
table = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
loss = (table ** 3).sum()
row = table.data[1]
row.zero_()
loss.backward()
# %% cure
# grad: table.grad == [[3.0, 12.0], [27.0, 48.0]]
table = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
loss = (table ** 3).sum()
loss.backward()
row = table.data[1]
row.zero_()

# %% data-copied-over | data-write | lab.why(a) | template: copy over
# says: b.data.copy_(torch.ones(2))
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
out = a * b
b.data.copy_(torch.ones(2))
out.sum().backward()
# %% cure
# grad: a.grad == [3.0, 4.0]
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
out = a * b
out.sum().backward()
b.data.copy_(torch.ones(2))

# %% write-through-detach | inplace-saved | lab.why(w) | template: write through detach
# says: mul_ wrote over it in place
w = torch.tensor([2.0, 3.0], requires_grad=True)
loss = (w ** 2).sum()
w.detach().mul_(0.5)
loss.backward()
# %% cure
# grad: w.grad == [4.0, 6.0]
w = torch.tensor([2.0, 3.0], requires_grad=True)
loss = (w ** 2).sum()
w.detach().clone().mul_(0.5)
loss.backward()

# %% write-through-detach-in-a-module | inplace-saved | lab.why(m.lin.weight) | template: write through detach
# says: zero_ wrote over it in place
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        g = torch.sigmoid(self.lin(x))
        logged = g.detach()
        out = (g * x).sum()
        logged.zero_()
        return out


m = Gate()
m(torch.ones(2, 3)).backward()
# %% cure
# grad: m.lin.weight.grad == [[0.499964, 0.499964, 0.499964], [0.448277, 0.448277, 0.448277], [0.490216, 0.490216, 0.490216]]
class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x):
        g = torch.sigmoid(self.lin(x))
        logged = g.detach().clone()
        out = (g * x).sum()
        logged.zero_()
        return out


m = Gate()
m(torch.ones(2, 3)).backward()

# %% numpy-augmented-between | numpy-write | lab.why(w) | template: shared array scaled
# says: a *= 2
a = np.array([1.0, 2.0, 3.0], dtype=np.float32)
x = torch.from_numpy(a)
w = torch.tensor([0.5, 0.5, 0.5], requires_grad=True)
loss = (w * x).sum()
a *= 2
loss.backward()
# %% cure
# grad: w.grad == [1.0, 2.0, 3.0]
a = np.array([1.0, 2.0, 3.0], dtype=np.float32)
x = torch.tensor(a)
w = torch.tensor([0.5, 0.5, 0.5], requires_grad=True)
loss = (w * x).sum()
a *= 2
loss.backward()

# %% numpy-batch-buffer-refilled | numpy-write | lab.why(net.weight) | template: buffer refilled
# says: buffer[:] = data[i]
data = np.arange(8, dtype=np.float32).reshape(4, 1, 2)
buffer = np.zeros((1, 2), dtype=np.float32)
net = nn.Linear(2, 1)
total = 0
for i in range(4):
    buffer[:] = data[i]
    batch = torch.from_numpy(buffer)
    total = total + net(batch).sum()
total.backward()
# %% cure
# grad: net.weight.grad == [[12.0, 16.0]]
data = np.arange(8, dtype=np.float32).reshape(4, 1, 2)
buffer = np.zeros((1, 2), dtype=np.float32)
net = nn.Linear(2, 1)
total = 0
for i in range(4):
    buffer[:] = data[i]
    batch = torch.from_numpy(buffer).clone()
    total = total + net(batch).sum()
total.backward()

# %% numpy-of-a-weight-zeroed | numpy-write | lab.why(w) | template: shared array scaled
# says: w.detach().numpy()[0] = 100.0
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 3).sum()
w.detach().numpy()[0] = 100.0
loss.backward()
# %% cure
# grad: w.grad == [3.0, 12.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 3).sum()
w.detach().numpy().copy()[0] = 100.0
loss.backward()

# %% numpy-normalized-for-a-plot | numpy-write | lab.why(model.weight) | template: plotted
# says: h -= h.mean()
torch.manual_seed(0)
model = nn.Linear(2, 3)
readout = torch.tensor([1.0, -1.0, 2.0])


def show(activation):
    h = activation.detach().numpy()
    h -= h.mean()
    return h.max()


hidden = torch.tanh(model(torch.tensor([[1.0, 2.0]])))
loss = (hidden * readout).sum()
show(hidden)
loss.backward()
# %% cure
# grad: model.weight.grad == [[0.604677, 1.20935], [-0.381472, -0.762944], [1.99611, 3.99222]]
torch.manual_seed(0)
model = nn.Linear(2, 3)
readout = torch.tensor([1.0, -1.0, 2.0])


def show(activation):
    h = activation.detach().numpy().copy()
    h -= h.mean()
    return h.max()


hidden = torch.tanh(model(torch.tensor([[1.0, 2.0]])))
loss = (hidden * readout).sum()
show(hidden)
loss.backward()

# %% numpy-asarray-sorted | numpy-write | lab.why(v) | template: asarray sorted
# says: view.sort()
def loss_of(v, target):
    err = v - target
    loss = (err ** 2).sum()
    view = np.asarray(err.detach())
    view.sort()
    return loss, np.median(view)


v = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
loss, median = loss_of(v, torch.tensor([0.0, 0.0, 0.0]))
loss.backward()
# %% cure
# grad: v.grad == [6.0, 2.0, 4.0]
def loss_of(v, target):
    err = v - target
    loss = (err ** 2).sum()
    view = np.array(err.detach())
    view.sort()
    return loss, np.median(view)


v = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
loss, median = loss_of(v, torch.tensor([0.0, 0.0, 0.0]))
loss.backward()

# %% numpy-helper-writes-into-its-argument | numpy-write | lab.why(w) | template: helper writes
# says: values -= values.mean(axis=0)
def standardize(values):
    values -= values.mean(axis=0)
    values /= 2


raw = np.array([[1.0, 10.0], [3.0, 30.0]], dtype=np.float32)
x = torch.as_tensor(raw)
w = torch.tensor([1.0, 1.0], requires_grad=True)
pred = x @ w
loss = (pred ** 2).mean()
standardize(raw)
loss.backward()
# %% cure
# grad: w.grad == [110.0, 1100.0]
def standardize(values):
    values -= values.mean(axis=0)
    values /= 2


raw = np.array([[1.0, 10.0], [3.0, 30.0]], dtype=np.float32)
x = torch.tensor(raw)
w = torch.tensor([1.0, 1.0], requires_grad=True)
pred = x @ w
loss = (pred ** 2).mean()
standardize(raw)
loss.backward()

# %% numpy-copyto-in-a-class | numpy-write | lab.why(t.w) | template: trainer
# says: np.copyto(self.store, 0.0)
class Trainer:
    def __init__(self):
        self.store = np.ones((2, 2), dtype=np.float32)
        self.x = torch.from_numpy(self.store)
        self.w = torch.tensor([[1.0], [2.0]], requires_grad=True)

    def forward(self):
        self.loss = (self.x @ self.w).sum()

    def clear(self):
        np.copyto(self.store, 0.0)

    def backward(self):
        self.loss.backward()


t = Trainer()
t.forward()
t.clear()
t.backward()
# %% cure
# grad: t.w.grad == [[2.0], [2.0]]
class Trainer:
    def __init__(self):
        self.store = np.ones((2, 2), dtype=np.float32)
        self.x = torch.tensor(self.store)
        self.w = torch.tensor([[1.0], [2.0]], requires_grad=True)

    def forward(self):
        self.loss = (self.x @ self.w).sum()

    def clear(self):
        np.copyto(self.store, 0.0)

    def backward(self):
        self.loss.backward()


t = Trainer()
t.forward()
t.clear()
t.backward()

# %% gradient-scaled-in-numpy | grad-edited | lab.why(w) | template: gradient in numpy
# says: g /= 10
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
g = w.grad.numpy()
g /= 10
# %% cure
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * w).sum().backward()
g = w.grad.numpy().copy()
g /= 10

# %% weights-loaded-by-data-assignment | data-replaced | lab.why(w) | template: data assigned
# says: w.data = torch.tensor([10.0, 10.0])
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
w.data = torch.tensor([10.0, 10.0])
loss.backward()
# %% cure
# grad: w.grad == [20.0, 20.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.data = torch.tensor([10.0, 10.0])
loss = (w * w).sum()
loss.backward()

# %% parameters-swapped-before-backward | data-replaced | lab.why(net[0].weight) | template: swap weights
# says: p.data = q.data
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
average = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
x = torch.tensor([[1.0, 2.0], [2.0, -1.0], [0.3, 0.4]])
loss = net(x).pow(2).mean() + sum((p ** 2).sum() for p in net.parameters())
for p, q in zip(net.parameters(), average.parameters()):
    p.data = q.data
loss.backward()
# %% cure
# grad: net[0].weight.grad == [[0.720209, -0.619962], [-0.148141, 0.902216]]
torch.manual_seed(1)
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
average = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
x = torch.tensor([[1.0, 2.0], [2.0, -1.0], [0.3, 0.4]])
loss = net(x).pow(2).mean() + sum((p ** 2).sum() for p in net.parameters())
loss.backward()
for p, q in zip(net.parameters(), average.parameters()):
    p.data = q.data

# %% quantized-in-a-function-before-backward | data-replaced | lab.why(layer.weight) | template: quantize
# says: module.weight.data = module.weight.data.round()
def quantize(module):
    module.weight.data = module.weight.data.round()


layer = nn.Linear(2, 1, bias=False)
layer.weight.data = torch.tensor([[0.4, 1.6]])
out = (layer.weight ** 2).sum() + layer(torch.tensor([[1.0, 1.0]])).sum()
quantize(layer)
out.backward()
# %% cure
# grad: layer.weight.grad == [[1.8, 4.2]]
def quantize(module):
    module.weight.data = module.weight.data.round()


layer = nn.Linear(2, 1, bias=False)
layer.weight.data = torch.tensor([[0.4, 1.6]])
out = (layer.weight ** 2).sum() + layer(torch.tensor([[1.0, 1.0]])).sum()
out.backward()
quantize(layer)

# %% ctx-attribute-overwritten | ctx-overwritten | lab.why(x) | template: ctx
# says: h.mul_(3)
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g


x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x + 0
y = Square.apply(h)
with torch.no_grad():
    h.mul_(3)
y.sum().backward()
# %% cure
# grad: x.grad == [2.0, 4.0]
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x * x

    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.x * g


x = torch.tensor([1.0, 2.0], requires_grad=True)
h = x + 0
y = Square.apply(h)
with torch.no_grad():
    h = h * 3
y.sum().backward()

# %% ctx-weight-updated-by-optimizer | ctx-overwritten | lab.why(inp) | template: ctx
# says: opt.step()
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inp, weight):
        ctx.weight = weight
        ctx.inp = inp
        return inp * weight

    @staticmethod
    def backward(ctx, g):
        return g * ctx.weight, g * ctx.inp


weight = nn.Parameter(torch.tensor([1.0, 1.0]))
opt = torch.optim.SGD([weight], lr=1.0)
inp = torch.tensor([3.0, 4.0], requires_grad=True)
out = Scale.apply(inp, weight)
(weight * 2).sum().backward()
opt.step()
out.sum().backward()
# %% cure
# grad: inp.grad == [1.0, 1.0]
class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, inp, weight):
        ctx.weight = weight
        ctx.inp = inp
        return inp * weight

    @staticmethod
    def backward(ctx, g):
        return g * ctx.weight, g * ctx.inp


weight = nn.Parameter(torch.tensor([1.0, 1.0]))
opt = torch.optim.SGD([weight], lr=1.0)
inp = torch.tensor([3.0, 4.0], requires_grad=True)
out = Scale.apply(inp, weight)
(weight * 2).sum().backward()
out.sum().backward()
opt.step()

# %% ctx-mask-reused | ctx-overwritten | lab.why(layer.weight) | template: ctx mask
# says: self.mask.zero_()
class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.mask = mask
        return x * mask

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.mask, None


class Drop(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(3))

    def forward(self, x):
        self.mask.zero_()
        self.mask[1] = 1.0
        return Masked.apply(x, self.mask)

    def reset(self):
        self.mask.zero_()


layer, drop = nn.Linear(2, 3), Drop()
loss = drop(layer(torch.ones(1, 2))).sum()
drop.reset()
loss.backward()
# %% cure
# grad: layer.weight.grad == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]
class Masked(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, mask):
        ctx.mask = mask
        return x * mask

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.mask, None


class Drop(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(3))

    def forward(self, x):
        self.mask.zero_()
        self.mask[1] = 1.0
        return Masked.apply(x, self.mask)

    def reset(self):
        self.mask.zero_()


layer, drop = nn.Linear(2, 3), Drop()
loss = drop(layer(torch.ones(1, 2))).sum()
loss.backward()
drop.reset()

# %% numpy-out-argument | numpy-write | lab.why(w) | template: numpy function
# says: np.add(a, 1, out=a)
a = np.ones(2, dtype=np.float32)
x = torch.from_numpy(a)
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()
np.add(a, 1, out=a)
loss.backward()
# %% cure
# grad: w.grad == [1.0, 1.0]
a = np.ones(2, dtype=np.float32)
x = torch.from_numpy(a).clone()
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()
np.add(a, 1, out=a)
loss.backward()

# %% numpy-array-in-a-dict | numpy-write | lab.why(w) | template: array elsewhere
# says: d["x"].fill(7)
d = {"x": np.ones(2, dtype=np.float32)}
w = torch.ones(2, requires_grad=True)
x = torch.as_tensor(d["x"])
loss = (w * x).sum()
d["x"].fill(7)
loss.backward()
# %% cure
# grad: w.grad == [1.0, 1.0]
d = {"x": np.ones(2, dtype=np.float32)}
w = torch.ones(2, requires_grad=True)
x = torch.tensor(d["x"])
loss = (w * x).sum()
d["x"].fill(7)
loss.backward()

# %% numpy-global-changed-in-a-function | numpy-write | lab.why(w) | template: array elsewhere
# says: data *= 3
data = np.ones((3, 2), dtype=np.float32)
def augment():
    global data
    data *= 3
w = torch.ones(2, requires_grad=True)
def loss_fn():
    return (torch.from_numpy(data) @ w).sum()
loss = loss_fn()
augment()
loss.backward()
# %% cure
# grad: w.grad == [3.0, 3.0]
data = np.ones((3, 2), dtype=np.float32)
def augment():
    global data
    data *= 3
w = torch.ones(2, requires_grad=True)
def loss_fn():
    return (torch.tensor(data) @ w).sum()
loss = loss_fn()
augment()
loss.backward()

# %% numpy-view-changed | numpy-write | lab.why(w) | template: array elsewhere
# says: tail += 1
a = np.ones(4, dtype=np.float32)
tail = a[2:]
x = torch.from_numpy(a)
w = torch.ones(4, requires_grad=True)
loss = (w * x).sum()
tail += 1
loss.backward()
# %% cure
# grad: w.grad == [1.0, 1.0, 1.0, 1.0]
a = np.ones(4, dtype=np.float32)
tail = a[2:]
x = torch.tensor(a)
w = torch.ones(4, requires_grad=True)
loss = (w * x).sum()
tail += 1
loss.backward()

# %% numpy-rows-cleared-in-a-loop | numpy-write | lab.why(net.weight) | template: loop over rows
# says: a[i] = 0
a = np.ones((2, 3), dtype=np.float32)
net = nn.Linear(3, 1)
out = net(torch.from_numpy(a)).sum()
for i in range(len(a)):
    a[i] = 0
out.backward()
# %% cure
# grad: net.weight.grad == [[2.0, 2.0, 2.0]]
a = np.ones((2, 3), dtype=np.float32)
net = nn.Linear(3, 1)
out = net(torch.tensor(a)).sum()
for i in range(len(a)):
    a[i] = 0
out.backward()

# %% numpy-shuffled-before-backward | numpy-write | lab.why(w) | template: numpy function
# says: rng.shuffle(a)
rng = np.random.default_rng(0)
a = np.arange(6, dtype=np.float32)
w = torch.ones(6, requires_grad=True)
x = torch.from_numpy(a)
loss = (w * w * x).sum()
rng.shuffle(a)
loss.backward()
# %% cure
# grad: w.grad == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
rng = np.random.default_rng(0)
a = np.arange(6, dtype=np.float32)
w = torch.ones(6, requires_grad=True)
x = torch.tensor(a)
loss = (w * w * x).sum()
rng.shuffle(a)
loss.backward()

# %% numpy-masked-for-a-plot | numpy-write | lab.why(lin.weight) | template: plotted
# says: arr[arr < 0] = 0
def plot(t):
    arr = t.detach().cpu().numpy()
    arr[arr < 0] = 0
    return arr
lin = nn.Linear(2, 2)
h = torch.tanh(lin(torch.tensor([[1.0, -2.0]])))
loss = (h * h).sum()
plot(h)
loss.backward()
# %% cure
# grad: lin.weight.grad == [[-0.61675, 1.2335], [0.769643, -1.53929]]
def plot(t):
    arr = t.detach().cpu().numpy().copy()
    arr[arr < 0] = 0
    return arr
lin = nn.Linear(2, 2)
h = torch.tanh(lin(torch.tensor([[1.0, -2.0]])))
loss = (h * h).sum()
plot(h)
loss.backward()

# %% numpy-micro-batches-in-one-buffer | numpy-write | lab.why(m.weight) | template: buffer refilled
# says: batch[...] = i
def fill(batch, i):
    batch[...] = i
m = nn.Linear(2, 1)
batch = np.empty((1, 2), dtype=np.float32)
losses = []
for i in range(3):
    fill(batch, i)
    losses.append(m(torch.from_numpy(batch)).pow(2).mean())
sum(losses).backward()
# %% cure
# grad: m.weight.grad == [[0.248404, 0.248404]]
def fill(batch, i):
    batch[...] = i
m = nn.Linear(2, 1)
batch = np.empty((1, 2), dtype=np.float32)
losses = []
for i in range(3):
    fill(batch, i)
    losses.append(m(torch.from_numpy(batch).clone()).pow(2).mean())
sum(losses).backward()

# %% numpy-target-cleared | numpy-write | lab.why(p) | template: target
# says: target[:] = 0
target = np.array([1.0, 2.0])
p = nn.Parameter(torch.tensor([0.5, 0.5], dtype=torch.float64))
def criterion(p):
    return ((p * torch.asarray(target)) ** 2).sum()
loss = criterion(p)
target[:] = 0
loss.backward()
# %% cure
# grad: p.grad == [1.0, 4.0]
target = np.array([1.0, 2.0])
p = nn.Parameter(torch.tensor([0.5, 0.5], dtype=torch.float64))
def criterion(p):
    return ((p * torch.tensor(target)) ** 2).sum()
loss = criterion(p)
target[:] = 0
loss.backward()

# %% numpy-shared-before-the-recording | numpy-write | lab.why(w) | template: shared before
# says: a *= 2
a = np.ones(3, dtype=np.float32)
x = torch.from_numpy(a)
w = torch.ones(3, requires_grad=True)
with record() as trace:
    loss = (w * x).sum()
    a *= 2
    loss.backward()

# %% numpy-view-taken-before-the-recording | numpy-write | lab.why(w) | template: shared before
# says: arr[0] = 9
w = torch.ones(3, requires_grad=True)
arr = w.detach().numpy()[1:]
with record() as trace:
    loss = (w * w).sum()
    arr[0] = 9
    loss.backward()

# %% weights-clipped-before-backward | data-write | lab.why(D[0].weight) | template: update too early
# says: p.data.clamp_(-0.01, 0.01)
D = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.RMSprop(D.parameters(), lr=0.01)
opt.zero_grad()
loss = D(torch.ones(3, 2)).mean()
for p in D.parameters():
    p.data.clamp_(-0.01, 0.01)
loss.backward()
opt.step()
# %% cure
# grad: D[0].weight.grad == [[-0.01401, -0.01401], [0.560658, 0.560658]]
D = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
opt = torch.optim.RMSprop(D.parameters(), lr=0.01)
opt.zero_grad()
loss = D(torch.ones(3, 2)).mean()
loss.backward()
for p in D.parameters():
    p.data.clamp_(-0.01, 0.01)
opt.step()

# %% ctx-keeps-a-detached-buffer | ctx-overwritten | lab.why(net.weight) | template: ctx mask
# says: buf.zero_()
class Use(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, buf):
        ctx.buf = buf.detach()
        return a * ctx.buf
    @staticmethod
    def backward(ctx, g):
        return g * ctx.buf, None
net, buf = nn.Linear(2, 2), torch.ones(2)
out = Use.apply(net(torch.ones(1, 2)), buf).sum()
buf.zero_()
out.backward()
# %% cure
# grad: net.weight.grad == [[1.0, 1.0], [1.0, 1.0]]
class Use(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, buf):
        ctx.buf = buf.detach()
        return a * ctx.buf
    @staticmethod
    def backward(ctx, g):
        return g * ctx.buf, None
net, buf = nn.Linear(2, 2), torch.ones(2)
out = Use.apply(net(torch.ones(1, 2)), buf).sum()
out.backward()
buf.zero_()

# %% ctx-keeps-a-numpy-array | ctx-overwritten | lab.why(a) | template: ctx array
# says: scale *= 0
class S(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, scale):
        ctx.scale = scale
        return a * torch.from_numpy(scale)
    @staticmethod
    def backward(ctx, g):
        return g * torch.from_numpy(ctx.scale), None
a, scale = torch.ones(2, requires_grad=True), np.ones(2, dtype=np.float32)
y = S.apply(a, scale).sum()
scale *= 0
y.backward()
# %% cure
# grad: a.grad == [1.0, 1.0]
class S(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, scale):
        ctx.scale = scale
        return a * torch.from_numpy(scale)
    @staticmethod
    def backward(ctx, g):
        return g * torch.from_numpy(ctx.scale), None
a, scale = torch.ones(2, requires_grad=True), np.ones(2, dtype=np.float32)
y = S.apply(a, scale).sum()
y.backward()
scale *= 0

