"""What a program does around its pass: modes left on, gradients cleared or edited, passes outside of the recording."""

# %% grad-switched-off-for-evaluation | grad-left-off | lab.why(w) | template: left off
# says: torch.set_grad_enabled(False)
w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.set_grad_enabled(False)
print("start:", (w * w).sum())
loss = (w * w).sum()
loss.backward()
# %% cure
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
torch.set_grad_enabled(False)
print("start:", (w * w).sum())
torch.set_grad_enabled(True)
loss = (w * w).sum()
loss.backward()

# %% validation-leaves-grad-off | grad-left-off | lab.why(model.weight) | template: left off
# says: torch.set_grad_enabled(False)
def validate(model, x, y):
    torch.set_grad_enabled(False)
    return F.mse_loss(model(x), y).item()


model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.ones(3, 2), torch.zeros(3, 1)
validate(model, x, y)
opt.zero_grad()
loss = F.mse_loss(model(x), y)
loss.backward()
opt.step()
# %% cure
# grad: model.weight.grad == [[-0.415904, -0.415904]]
def validate(model, x, y):
    torch.set_grad_enabled(False)
    found = F.mse_loss(model(x), y).item()
    torch.set_grad_enabled(True)
    return found


model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
x, y = torch.ones(3, 2), torch.zeros(3, 1)
validate(model, x, y)
opt.zero_grad()
loss = F.mse_loss(model(x), y)
loss.backward()
opt.step()

# %% validation-raises-before-switching-on | grad-left-off | lab.why(net.weight) | template: left off
# says: torch.set_grad_enabled(False)
net = nn.Linear(2, 1)


def evaluate(batch):
    torch.set_grad_enabled(False)
    out = net(batch)
    torch.set_grad_enabled(True)
    return out


try:
    evaluate(torch.ones(1, 3))
except RuntimeError:
    print("skipped a batch of the wrong size")
loss = net(torch.ones(1, 2)).sum()
loss.backward()
# %% cure
# grad: net.weight.grad == [[1.0, 1.0]]
net = nn.Linear(2, 1)


def evaluate(batch):
    with torch.no_grad():
        return net(batch)


try:
    evaluate(torch.ones(1, 3))
except RuntimeError:
    print("skipped a batch of the wrong size")
loss = net(torch.ones(1, 2)).sum()
loss.backward()

# %% no-grad-entered-by-hand | grad-left-off | lab.why(w) | template: entered by hand
# says: guard.__enter__()
w = torch.tensor(3.0, requires_grad=True)
guard = torch.no_grad()
guard.__enter__()
start = w * 2
loss = w * w
loss.backward()
# %% cure
# grad: w.grad == 6.0
w = torch.tensor(3.0, requires_grad=True)
guard = torch.no_grad()
guard.__enter__()
start = w * 2
guard.__exit__(None, None, None)
loss = w * w
loss.backward()

# %% inference-mode-entered-by-hand | grad-left-off | lab.why(layer.weight) | template: entered by hand
# says: mode.__enter__()
layer = nn.Linear(3, 1)
mode = torch.inference_mode()
mode.__enter__()
print(layer(torch.ones(1, 3)))
out = layer(torch.ones(2, 3)).mean()
try:
    out.backward()
finally:
    mode.__exit__(None, None, None)
# %% cure
# grad: layer.weight.grad == [[1.0, 1.0, 1.0]]
layer = nn.Linear(3, 1)
with torch.no_grad():
    print(layer(torch.ones(1, 3)))
out = layer(torch.ones(2, 3)).mean()
out.backward()

# %% generator-yields-inside-no-grad | grad-left-off | lab.why(net.weight) | template: generator
# says: with torch.no_grad():
def batches(n):
    with torch.no_grad():
        for i in range(n):
            yield torch.full((2, 2), float(i)) / n


net = nn.Linear(2, 1)
for x in batches(3):
    loss = net(x).pow(2).mean()
    loss.backward()
# %% cure
# grad: net.weight.grad == [[-0.748374, -0.748374]]
def batches(n):
    for i in range(n):
        with torch.no_grad():
            x = torch.full((2, 2), float(i)) / n
        yield x


net = nn.Linear(2, 1)
for x in batches(3):
    loss = net(x).pow(2).mean()
    loss.backward()

# %% setup-of-a-class-switches-off | grad-left-off | lab.why(w) | template: setup
# says: torch.set_grad_enabled(False)
class Metrics:
    def __init__(self):
        torch.set_grad_enabled(False)
        self.total = torch.zeros(1)

    def add(self, value):
        self.total += value


metrics = Metrics()
w = nn.Parameter(torch.ones(2))
for step in range(2):
    loss = (w * 3).sum()
    metrics.add(loss)
    loss.backward()
# %% cure
# grad: w.grad == [6.0, 6.0]
class Metrics:
    def __init__(self):
        self.total = torch.zeros(1)

    def add(self, value):
        with torch.no_grad():
            self.total += value


metrics = Metrics()
w = nn.Parameter(torch.ones(2))
for step in range(2):
    loss = (w * 3).sum()
    metrics.add(loss)
    loss.backward()

# %% training-function-decorated | no-grad | lab.why(w) | template: decorated
# says: under no_grad
@torch.no_grad()
def predict(w, x):
    return (w * x).sum()


w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (predict(w, torch.tensor([3.0, 4.0])) - 1) ** 2
loss.backward()
# %% cure
# grad: w.grad == [60.0, 80.0]
def predict(w, x):
    return (w * x).sum()


w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (predict(w, torch.tensor([3.0, 4.0])) - 1) ** 2
loss.backward()

# %% forward-decorated-with-inference-mode | inference-mode | lab.why(e.layer.weight) | template: decorated
# says: in inference mode
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    @torch.inference_mode()
    def forward(self, x):
        return self.layer(x)


e = Encoder()
e(torch.ones(1, 2)).sum().backward()
# %% cure
# grad: e.layer.weight.grad == [[1.0, 1.0], [1.0, 1.0]]
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


e = Encoder()
e(torch.ones(1, 2)).sum().backward()

# %% features-made-in-inference-mode | inference-tensor | lab.why(head.weight) | template: inference tensor
# says: features
backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
with torch.inference_mode():
    features = torch.relu(backbone(torch.ones(2, 3)))
loss = head(features).mean()
loss.backward()
# %% cure
# grad: head.weight.grad == [[0.0, 0.0, 0.157102, 0.0]]
backbone, head = nn.Linear(3, 4), nn.Linear(4, 1)
with torch.no_grad():
    features = torch.relu(backbone(torch.ones(2, 3)))
loss = head(features).mean()
loss.backward()

# %% targets-loaded-in-inference-mode | inference-tensor | lab.why(w) | template: inference tensor
# says: data
def load():
    with torch.inference_mode():
        return torch.tensor([1.0, 2.0]) * 2


w = torch.tensor([1.0, 1.0], requires_grad=True)
data = load()
loss = (w * data).sum()
loss.backward()
# %% cure
# grad: w.grad == [2.0, 4.0]
def load():
    with torch.no_grad():
        return torch.tensor([1.0, 2.0]) * 2


w = torch.tensor([1.0, 1.0], requires_grad=True)
data = load()
loss = (w * data).sum()
loss.backward()

# %% inference-tensor-updated | inference-tensor | lab.why(w) | template: inference update
# says: running
w = torch.tensor([1.0, 1.0], requires_grad=True)
with torch.inference_mode():
    running = torch.zeros(2) + 1
y = w * 2
running.add_(y.detach())
y.sum().backward()
# %% cure
# grad: w.grad == [2.0, 2.0]
w = torch.tensor([1.0, 1.0], requires_grad=True)
with torch.no_grad():
    running = torch.zeros(2) + 1
y = w * 2
running.add_(y.detach())
y.sum().backward()

# %% parameter-of-a-product | parameter-copy | lab.why(src) | template: parameter of
# says: nn.Parameter(src * 2)
src = torch.tensor([1.0, 2.0], requires_grad=True)
p = nn.Parameter(src * 2)
loss = (p ** 2).sum()
loss.backward()
# %% cure
# grad: src.grad == [8.0, 16.0]
src = torch.tensor([1.0, 2.0], requires_grad=True)
p = src * 2
loss = (p ** 2).sum()
loss.backward()

# %% parameter-of-a-weight | parameter-copy | lab.why(base.weight) | template: parameter of
# says: nn.Parameter(base.weight)
class Tied(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.weight = nn.Parameter(base.weight)

    def forward(self, x):
        return x @ self.weight.t()


base = nn.Linear(2, 2)
tied = Tied(base)
tied(torch.ones(1, 2)).sum().backward()
# %% cure
# grad: base.weight.grad == [[1.0, 1.0], [1.0, 1.0]]
class Tied(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.weight = base.weight

    def forward(self, x):
        return x @ self.weight.t()


base = nn.Linear(2, 2)
tied = Tied(base)
tied(torch.ones(1, 2)).sum().backward()

# %% weight-generated-by-a-network | parameter-copy | lab.why(hyper.weight) | template: parameter of
# says: nn.Parameter(generated)
hyper = nn.Linear(1, 2)
target = nn.Linear(2, 1, bias=False)


def generate(z):
    generated = hyper(z).view(1, 2)
    target.weight = nn.Parameter(generated)


generate(torch.ones(1))
target(torch.tensor([[1.0, 2.0]])).sum().backward()
# %% cure
# grad: hyper.weight.grad == [[1.0], [2.0]]
hyper = nn.Linear(1, 2)
def generate(z):
    generated = hyper(z).view(1, 2)
    return generated


F.linear(torch.tensor([[1.0, 2.0]]), generate(torch.ones(1))).sum().backward()

# %% tensor-of-a-tensor | copied | lab.why(w) | template: tensor of tensor
# says: torch.tensor(...) copied the numbers of w
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor(w, requires_grad=True)
(v * v).sum().backward()
# %% cure
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = w
(v * v).sum().backward()

# %% cloned-and-detached-parameter | detached | lab.why(net.weight) | template: clone detach
# says: detach() handed on the numbers
net = nn.Linear(2, 1)
fast = net.weight.clone().detach().requires_grad_()
loss = (fast * torch.tensor([[2.0, 3.0]])).sum()
loss.backward()
# %% cure
# grad: net.weight.grad == [[2.0, 3.0]]
net = nn.Linear(2, 1)
fast = net.weight.clone()
loss = (fast * torch.tensor([[2.0, 3.0]])).sum()
loss.backward()

# %% model-deep-copied-for-training | deep-copy | lab.why(model.weight) | template: deep copy
# says: copy.deepcopy(model)
import copy

model = nn.Linear(2, 1)
worker = copy.deepcopy(model)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = worker(torch.ones(3, 2)).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()
# %% cure
# grad: model.weight.grad == [[-0.415904, -0.415904]]
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.ones(3, 2)).pow(2).mean()
opt.zero_grad()
loss.backward()
opt.step()

# %% tensor-deep-copied-in-a-loop | deep-copy | lab.why(w) | template: deep copy
# says: copy.deepcopy(w)
import copy


def losses(w):
    total = 0
    for i in range(2):
        mine = copy.deepcopy(w)
        total = total + (mine * i).sum()
    return total


w = torch.tensor([1.0, 2.0], requires_grad=True)
losses(w).backward()
# %% cure
# grad: w.grad == [1.0, 1.0]
import copy


def losses(w):
    total = 0
    for i in range(2):
        mine = w
        total = total + (mine * i).sum()
    return total


w = torch.tensor([1.0, 2.0], requires_grad=True)
losses(w).backward()

# %% backward-without-return | no-return | lab.why(x) | template: no return
# says: def backward(ctx, grad)
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        result = grad * 2


x = torch.tensor([1.0, 2.0], requires_grad=True)
Double.apply(x).sum().backward()
# %% cure
# grad: x.grad == [2.0, 2.0]
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        result = grad * 2
        return result


x = torch.tensor([1.0, 2.0], requires_grad=True)
Double.apply(x).sum().backward()

# %% module-with-a-function-that-forgets | no-return | lab.why(block.weight) | template: no return
# says: def backward(ctx, grad_output)
class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        gx, gw = grad_output @ w.t(), x.t() @ grad_output


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))

    def forward(self, x):
        return Mix.apply(x, self.weight)


block = Block()
block(torch.ones(1, 2)).sum().backward()
# %% cure
# grad: block.weight.grad == [[1.0, 1.0], [1.0, 1.0]]
class Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x @ w

    @staticmethod
    def backward(ctx, grad_output):
        x, w = ctx.saved_tensors
        gx, gw = grad_output @ w.t(), x.t() @ grad_output
        return gx, gw


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 2))

    def forward(self, x):
        return Mix.apply(x, self.weight)


block = Block()
block(torch.ones(1, 2)).sum().backward()

# %% returns-only-in-one-branch | function-count | lab.why(x) | template: branch without return
# says: The backward of GateBackward returned a wrong number of gradients (expected 2, got 1)
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, on):
        ctx.on = on
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if ctx.on:
            return g, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Gate.apply(x * 1, False)
y.sum().backward()
# %% cure
# grad: x.grad == [1.0, 1.0]
class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, on):
        ctx.on = on
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        return g, None


x = torch.tensor([1.0, 2.0], requires_grad=True)
y = Gate.apply(x * 1, False)
y.sum().backward()

# %% post-accumulate-hook-clears | hook-cleared | lab.why(w) | template: clearing hook
# says: p.grad = None
w = torch.tensor([1.0, 2.0], requires_grad=True)
seen = []


def update(p):
    seen.append(p.grad.sum())
    p.grad = None


w.register_post_accumulate_grad_hook(update)
(w * w).sum().backward()
# %% cure
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
seen = []


def update(p):
    seen.append(p.grad.sum())


w.register_post_accumulate_grad_hook(update)
(w * w).sum().backward()

# %% optimizer-in-the-backward-pass | hook-cleared | lab.why(model[0].weight) | template: clearing hook
# says: optimizers[p].zero_grad()
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}


def step(p):
    optimizers[p].step()
    optimizers[p].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step)
model(torch.ones(1, 2)).sum().backward()
# %% cure
# grad: model[0].weight.grad == [[-0.01401, -0.01401], [0.560658, 0.560658]]
model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in model.parameters()}


def step(p):
    optimizers[p].step()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(step)
model(torch.ones(1, 2)).sum().backward()

# %% post-accumulate-hook-zeroes | hook-cleared | lab.why(layer.weight) | template: clearing hook
# says: param.grad.zero_()
layer = nn.Linear(2, 1, bias=False)


def log_and_clear(param):
    print(param.grad.norm())
    param.grad.zero_()


layer.weight.register_post_accumulate_grad_hook(log_and_clear)
layer(torch.ones(1, 2)).sum().backward()
# %% cure
# grad: layer.weight.grad == [[1.0, 1.0]]
layer = nn.Linear(2, 1, bias=False)


def log_and_clear(param):
    print(param.grad.norm())


layer.weight.register_post_accumulate_grad_hook(log_and_clear)
layer(torch.ones(1, 2)).sum().backward()

# %% closure-clears-after-backward | cleared | lab.why(w) | template: closure
# says: opt.zero_grad()
w = nn.Parameter(torch.tensor([1.0, 2.0]))
opt = torch.optim.SGD([w], lr=0.1)


def closure():
    loss = (w ** 2).sum()
    loss.backward()
    opt.zero_grad()
    return loss


opt.step(closure)
# %% cure
# grad: w.grad == [2.0, 4.0]
w = nn.Parameter(torch.tensor([1.0, 2.0]))
opt = torch.optim.SGD([w], lr=0.1)


def closure():
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    return loss


opt.step(closure)

# %% zero-grad-set-to-zero-after-backward | cleared | lab.why(net.bias) | template: zero grad after
# says: zero_grad
net = nn.Linear(2, 2)
opt = torch.optim.Adam(net.parameters())
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.zero_grad(set_to_none=False)
opt.step()
# %% cure
# grad: net.bias.grad == [1.0, 1.0]
net = nn.Linear(2, 2)
opt = torch.optim.Adam(net.parameters())
loss = net(torch.ones(1, 2)).sum()
loss.backward()
opt.step()

# %% extra-parameter-adds-up | not-in-optimizer | lab.why(scale) | template: adds up
# says: opt.zero_grad()
net = nn.Linear(2, 1)
scale = torch.tensor(2.0, requires_grad=True)
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(3):
    opt.zero_grad()
    loss = (net(torch.ones(1, 2)) * scale).sum()
    loss.backward()
    opt.step()
# %% cure
# grad: scale.grad == -0.328014
net = nn.Linear(2, 1)
scale = torch.tensor(2.0, requires_grad=True)
opt = torch.optim.SGD([*net.parameters(), scale], lr=0.01)
for step in range(3):
    opt.zero_grad()
    loss = (net(torch.ones(1, 2)) * scale).sum()
    loss.backward()
    opt.step()

# %% layer-added-after-the-optimizer | not-in-optimizer | lab.why(model.head.weight) | template: adds up
# says: optimizer.zero_grad()
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).pow(2).mean().backward()
        optimizer.step()


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model.head = nn.Linear(2, 1)
train(model, optimizer, 2)
# %% cure
# grad: model.head.weight.grad == [[-0.0533253, 0.395919]]
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)

    def forward(self, x):
        return self.head(self.body(x))


def train(model, optimizer, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(torch.ones(4, 2)).pow(2).mean().backward()
        optimizer.step()


model = Model()
model.head = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
train(model, optimizer, 2)

# %% only-layer-replaced-after-the-optimizer | not-in-optimizer | lab.why(model.fc.weight) | template: replaced
# says: opt.step()
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 10)

    def forward(self, x):
        return self.fc(x)


model = Probe()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
model.fc = nn.Linear(3, 2)
for i in range(3):
    opt.zero_grad()
    loss = F.cross_entropy(model(torch.ones(2, 3)), torch.tensor([0, 1]))
    loss.backward()
    opt.step()
# %% cure
# grad: model.fc.weight.grad == [[0.17686, 0.17686, 0.17686], [-0.17686, -0.17686, -0.17686]]
class Probe(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 10)

    def forward(self, x):
        return self.fc(x)


model = Probe()
model.fc = nn.Linear(3, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(3):
    opt.zero_grad()
    loss = F.cross_entropy(model(torch.ones(2, 3)), torch.tensor([0, 1]))
    loss.backward()
    opt.step()

# %% parameter-frozen-when-the-optimizer-was-made | not-in-optimizer | lab.why(enc.weight) | template: unfrozen later
# says: opt.zero_grad()
enc, dec = nn.Linear(2, 2), nn.Linear(2, 1)
for p in enc.parameters():
    p.requires_grad_(False)
opt = torch.optim.SGD([p for p in (*enc.parameters(), *dec.parameters()) if p.requires_grad], lr=0.1)
for p in enc.parameters():
    p.requires_grad_(True)
for _ in range(2):
    opt.zero_grad()
    dec(enc(torch.ones(1, 2))).sum().backward()
    opt.step()

# %% parameter-outside-the-module | zero-grad-missed | lab.why(temperature) | template: module zero_grad
# says: model.zero_grad()
model = nn.Linear(2, 2)
temperature = torch.tensor(1.0, requires_grad=True)
for _ in range(2):
    model.zero_grad()
    (model(torch.ones(1, 2)) / temperature).sum().backward()
# %% cure
# grad: temperature.grad == 0.811069
model = nn.Linear(2, 2)
temperature = torch.tensor(1.0, requires_grad=True)
for _ in range(2):
    model.zero_grad()
    temperature.grad = None
    (model(torch.ones(1, 2)) / temperature).sum().backward()

# %% backward-after-the-recording | outside-recording | lab.why(w) | template: outside
# says: after the recorded block
w = torch.tensor([1.0, 2.0], requires_grad=True)
with record() as trace:
    loss = (w * w).sum()
loss.backward()
# %% cure
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
with record() as trace:
    loss = (w * w).sum()
    loss.backward()

# %% backward-before-the-recording | outside-recording | lab.why(model.weight) | template: outside
# says: before the recorded block
model = nn.Linear(2, 1)
F.mse_loss(model(torch.ones(2, 2)), torch.zeros(2, 1)).backward()
with record() as trace:
    out = model(torch.ones(1, 2))

# %% second-backward-after-the-recording | outside-recording | lab.why(net.weight) | template: outside
# says: after the recorded block
net = nn.Linear(2, 1)


def loss_of(net):
    return net(torch.ones(2, 2)).sum()


with record() as trace:
    loss_of(net).backward()
loss_of(net).backward()

# %% gradient-clamped | grad-edited | lab.why(w) | template: clipping
# says: w.grad.clamp_(-1, 1)
w = torch.tensor([1.0, 5.0], requires_grad=True)
(w * w).sum().backward()
w.grad.clamp_(-1, 1)
# %% cure
# grad: w.grad == [2.0, 10.0]
w = torch.tensor([1.0, 5.0], requires_grad=True)
(w * w).sum().backward()

# %% gradient-norm-clipped | grad-edited | lab.why(net.weight) | template: clipping
# says: clip_grad_norm_
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.tensor([[30.0, 40.0]])).sum().backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    opt.step()

# %% gradient-values-clipped-in-a-function | grad-edited | lab.why(v) | template: clipping
# says: clip_grad_value_
def safe_backward(loss, params):
    loss.backward()
    torch.nn.utils.clip_grad_value_(params, 0.5)


v = torch.tensor([1.0, 2.0], requires_grad=True)
safe_backward((v * 3).sum(), [v])

# %% gradient-scaled-by-hand | grad-edited | lab.why(p) | template: scaled by hand
# says: p.grad *= 0.1
p = nn.Parameter(torch.tensor([1.0, 2.0]))
(p * 4).sum().backward()
p.grad *= 0.1
# %% cure
# grad: p.grad == [4.0, 4.0]
p = nn.Parameter(torch.tensor([1.0, 2.0]))
(p * 4).sum().backward()

# %% gradient-data-clamped | grad-edited | lab.why(m.weight) | template: scaled by hand
# says: q.grad.data.clamp_(-0.5, 0.5)
m = nn.Linear(2, 1)
m(torch.tensor([[3.0, -4.0]])).sum().backward()
for q in m.parameters():
    q.grad.data.clamp_(-0.5, 0.5)

# %% gradient-row-masked | grad-edited | lab.why(emb) | template: scaled by hand
# says: emb.grad[0] = 0
emb = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
(emb * emb).sum().backward()
emb.grad[0] = 0
# %% cure
# grad: emb.grad == [[2.0, 4.0], [6.0, 8.0]]
emb = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
(emb * emb).sum().backward()

# %% reentrant-checkpoint-without-gradient-input | reentrant-checkpoint | lab.why(block.weight) | template: reentrant
# says: checkpoint(block, x, use_reentrant=True)
from importlib import import_module

checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
block, head = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.ones(3, 2)
h = checkpoint(block, x, use_reentrant=True)
head(h).sum().backward()
# %% cure
# grad: block.weight.grad == [[-0.0420301, -0.0420301], [1.68197, 1.68197]]
from importlib import import_module

checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
block, head = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.ones(3, 2)
h = checkpoint(block, x, use_reentrant=False)
head(h).sum().backward()

# %% whole-model-checkpointed | reentrant-checkpoint | lab.why(w) | template: reentrant
# says: checkpoint(forward, x, use_reentrant=True)
from importlib import import_module

checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
w = torch.tensor([1.0, 2.0], requires_grad=True)


def forward(x):
    return (w * x).sum()


x = torch.tensor([3.0, 4.0])
loss = checkpoint(forward, x, use_reentrant=True)
loss.backward()
# %% cure
# grad: w.grad == [3.0, 4.0]
from importlib import import_module

checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
w = torch.tensor([1.0, 2.0], requires_grad=True)


def forward(x):
    return (w * x).sum()


x = torch.tensor([3.0, 4.0])
loss = checkpoint(forward, x, use_reentrant=False)
loss.backward()

# %% reentrant-checkpoint-and-grad | reentrant-checkpoint | lab.why(x) | template: reentrant and grad
# says: checkpoint(torch.sin, x, use_reentrant=True)
from importlib import import_module

checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = checkpoint(torch.sin, x, use_reentrant=True)
(g,) = torch.autograd.grad(y.sum(), x)
# %% cure
# grad: g == [0.540302, -0.416147]
from importlib import import_module

checkpoint = import_module(torch.__name__ + ".utils.checkpoint").checkpoint
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = checkpoint(torch.sin, x, use_reentrant=False)
(g,) = torch.autograd.grad(y.sum(), x)

# %% no-grad-entered-and-forgotten | grad-left-off | lab.why(w) | template: entered by hand
# says: torch.no_grad().__enter__()
w = torch.ones(2, requires_grad=True)
torch.no_grad().__enter__()
loss = (w * 2).sum()
loss.backward()
# %% cure
# grad: w.grad == [2.0, 2.0]
w = torch.ones(2, requires_grad=True)
loss = (w * 2).sum()
loss.backward()

# %% training-flag-switches-grad-off | grad-left-off | lab.why(net.weight) | template: flag
# says: torch.set_grad_enabled(training)
net = nn.Linear(2, 1)
def run(training):
    torch.set_grad_enabled(training)
    return net(torch.ones(1, 2)).sum()
run(True)
run(False)
loss = net(torch.ones(1, 2)).sum()
loss.backward()
# %% cure
# grad: net.weight.grad == [[1.0, 1.0]]
net = nn.Linear(2, 1)
def run(training):
    with torch.set_grad_enabled(training):
        return net(torch.ones(1, 2)).sum()
run(True)
run(False)
loss = net(torch.ones(1, 2)).sum()
loss.backward()

# %% next-of-a-generator-under-no-grad | grad-left-off | lab.why(w) | template: generator
# says: with torch.no_grad():
def stream():
    with torch.no_grad():
        yield torch.ones(2)
        yield torch.ones(2) * 2
s = stream()
x = next(s)
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()
loss.backward()
# %% cure
# grad: w.grad == [1.0, 1.0]
def stream():
    yield torch.ones(2)
    yield torch.ones(2) * 2
s = stream()
x = next(s)
w = torch.ones(2, requires_grad=True)
loss = (w * x).sum()
loss.backward()

# %% parameter-of-detached-product | detached | lab.why(w) | template: parameter of detached
# says: detach() handed on
w = torch.ones(2, requires_grad=True)
p = nn.Parameter(w.detach() * 1)
(p * 2).sum().backward()
# %% cure
# grad: w.grad == [2.0, 2.0]
w = torch.ones(2, requires_grad=True)
p = w * 1
(p * 2).sum().backward()

# %% layer-gets-the-data-of-another | data | lab.why(lin.weight) | template: parameter of detached
# says: .data handed on
lin = nn.Linear(2, 2)
other = nn.Linear(2, 2)
other.weight = nn.Parameter(lin.weight.data)
other(torch.ones(1, 2)).sum().backward()
# %% cure
# grad: lin.weight.grad == [[1.0, 1.0], [1.0, 1.0]]
lin = nn.Linear(2, 2)
other = nn.Linear(2, 2)
other.weight = lin.weight
other(torch.ones(1, 2)).sum().backward()

# %% parameter-made-under-no-grad | no-grad | lab.why(w) | template: parameter under no_grad
# says: under no_grad
w = torch.ones(2, requires_grad=True)
with torch.no_grad():
    p = nn.Parameter(w * 2)
(p * 2).sum().backward()

# %% gradient-zeroed-through-data | cleared | lab.why(w) | template: zero grad after
# says: w.grad.data.zero_()
w = torch.ones(2, requires_grad=True)
(w * 2).sum().backward()
w.grad.data.zero_()

# %% gradient-masked-where-large | grad-edited | lab.why(w) | template: gradient masked
# says: w.grad[w.grad > 1] = 1
w = torch.tensor([1.0, 5.0], requires_grad=True)
(w * w / 4).sum().backward()
w.grad[w.grad > 1] = 1

# %% gradients-divided-by-batches | grad-edited | lab.why(net.weight) | template: gradient masked
# says: p.grad.div_(4)
net = nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
for p in net.parameters():
    p.grad.div_(4)

# %% gradient-entry-cleared-in-numpy | grad-edited | lab.why(net.weight) | template: gradient in numpy
# says: net.weight.grad.numpy()[0, 1] = 0
net = nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
net.weight.grad.numpy()[0, 1] = 0
opt = torch.optim.SGD(net.parameters(), lr=0.1)
opt.step()

# %% requires-grad-on-an-inference-tensor | inference-tensor | lab.why(x) | template: inference flag
# says: x was made in inference mode
with torch.inference_mode():
    x = torch.ones(2) * 3
x.requires_grad_()
(x * 2).sum().backward()
# %% cure
# grad: x.grad == [2.0, 2.0]
with torch.no_grad():
    x = torch.ones(2) * 3
x.requires_grad_()
(x * 2).sum().backward()

# %% acting-method-decorated | no-grad | lab.why(a.w) | template: decorated
# says: under no_grad
class Agent:
    def __init__(self):
        self.w = torch.ones(2, requires_grad=True)
    @torch.no_grad()
    def act(self, x):
        return self.w * x
    def loss(self, x):
        return self.act(x).sum() * 2
a = Agent()
a.loss(torch.ones(2)).backward()

# %% phase-misspelled | no-grad | lab.why(net.weight) | template: phase
# says: had switched recording off
net = nn.Linear(2, 1)
phase = "Train"
with torch.set_grad_enabled(phase == "train"):
    loss = net(torch.ones(1, 2)).sum()
loss.backward()

# %% optimizer-of-a-copy | not-in-optimizer | lab.why(net.weight) | template: optimizer of a copy
# says: opt.step()
import copy
net = nn.Linear(2, 1)
opt = torch.optim.Adam(copy.deepcopy(net).parameters())
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
# %% cure
# grad: net.weight.grad == [[1.0, 1.0]]
import copy
net = nn.Linear(2, 1)
opt = torch.optim.Adam(net.parameters())
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()

# %% optimizer-of-the-first-layer-only | not-in-optimizer | lab.why(net[2].weight) | template: part of the model
# says: opt.zero_grad()
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
params = list(net[0].parameters())
opt = torch.optim.SGD(params, lr=0.1)
for _ in range(3):
    opt.zero_grad()
    (net(torch.ones(1, 2)) + 1).sum().backward()
    opt.step()
# %% cure
# grad: net[2].weight.grad == [[0.11314, 0.0]]
net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
params = list(net.parameters())
opt = torch.optim.SGD(params, lr=0.1)
for _ in range(3):
    opt.zero_grad()
    (net(torch.ones(1, 2)) + 1).sum().backward()
    opt.step()

# %% layers-in-a-python-list | not-in-optimizer | lab.why(m.blocks[0].weight) | template: part of the model
# says: optimizer.zero_grad()
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [nn.Linear(2, 2), nn.Linear(2, 2)]
        self.out = nn.Linear(2, 1)
    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.out(x)
m = M()
optimizer = torch.optim.Adam(m.parameters(), lr=0.1)
def epoch():
    for _ in range(2):
        optimizer.zero_grad()
        loss = m(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
epoch()
# %% cure
# grad: m.blocks[0].weight.grad == [[0.0147958, 0.0147958], [0.0695694, 0.0695694]]
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.out = nn.Linear(2, 1)
    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return self.out(x)
m = M()
optimizer = torch.optim.Adam(m.parameters(), lr=0.1)
def epoch():
    for _ in range(2):
        optimizer.zero_grad()
        loss = m(torch.ones(3, 2)).pow(2).mean()
        loss.backward()
        optimizer.step()
epoch()

# %% bias-not-given-to-the-optimizer | not-in-optimizer | lab.why(b) | template: part of the model
# says: opt.step()
w, b = torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = ((w * 2).sum() + b).pow(2).sum()
loss.backward()
opt.step()
# %% cure
# grad: b.grad == [8.0]
w, b = torch.ones(2, requires_grad=True), torch.zeros(1, requires_grad=True)
opt = torch.optim.SGD([w, b], lr=0.1)
loss = ((w * 2).sum() + b).pow(2).sum()
loss.backward()
opt.step()

# %% one-gradient-for-two-inputs | function-count | lab.why(a) | template: too few
# says: expected 2, got 1
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Mul.apply(a, b).sum().backward()
# %% cure
# grad: a.grad == [1.0, 1.0]
class Mul(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b
    @staticmethod
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, g * a
a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
Mul.apply(a, b).sum().backward()

# %% once-differentiable-without-return | no-return | lab.why(a) | template: no return
# says: def backward(ctx, g)
from importlib import import_module
once_differentiable = import_module(torch.__name__ + ".autograd.function").once_differentiable
class Neg(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return -a
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        out = -g
a = torch.ones(2, requires_grad=True)
Neg.apply(a).sum().backward()
# %% cure
# grad: a.grad == [-1.0, -1.0]
from importlib import import_module
once_differentiable = import_module(torch.__name__ + ".autograd.function").once_differentiable
class Neg(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        return -a
    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return -g
a = torch.ones(2, requires_grad=True)
Neg.apply(a).sum().backward()

# %% reentrant-checkpoint-in-a-module | reentrant-checkpoint | lab.why(net.a.weight) | template: reentrant
# says: h = cp.checkpoint(self.a, x, use_reentrant=True)
from importlib import import_module
cp = import_module(torch.__name__ + ".utils.checkpoint")
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 1)
    def forward(self, x):
        h = cp.checkpoint(self.a, x, use_reentrant=True)
        return self.b(h)
net = N()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()
# %% cure
# grad: net.a.weight.grad == [[-0.0241784, -0.0241784], [0.651933, 0.651933]]
from importlib import import_module
cp = import_module(torch.__name__ + ".utils.checkpoint")
class N(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 1)
    def forward(self, x):
        h = cp.checkpoint(self.a, x, use_reentrant=False)
        return self.b(h)
net = N()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(2):
    opt.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    opt.step()

# %% discriminator-gets-the-generators-pass | accumulated | lab.why(d.weight) | template: gan
# says: 2 backward passes ran, nothing cleared
g, d = nn.Linear(1, 2), nn.Linear(2, 1)
og, od = torch.optim.SGD(g.parameters(), lr=.1), torch.optim.SGD(d.parameters(), lr=.1)
z = torch.ones(2, 1)
od.zero_grad()
d(g(z).detach()).mean().backward()
od.step()
og.zero_grad()
(-d(g(z)).mean()).backward()
og.step()
# %% cure
# grad: d.weight.grad == [[0.830532, 0.199495]]
g, d = nn.Linear(1, 2), nn.Linear(2, 1)
og, od = torch.optim.SGD(g.parameters(), lr=.1), torch.optim.SGD(d.parameters(), lr=.1)
z = torch.ones(2, 1)
od.zero_grad()
d(g(z).detach()).mean().backward()
od.step()
og.zero_grad()
od.zero_grad()
(-d(g(z)).mean()).backward()
og.step()

