"""Ordinary programs that write, and do so rightly: nothing is to be accused."""

# %% training-loop-with-sgd | as-computed | lab.why(net[0].weight) | template: training loop
# says: It is the derivative of loss
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x, y = torch.tensor([[1.0, 2.0], [0.0, 1.0]]), torch.tensor([[1.0], [0.0]])
for epoch in range(3):
    opt.zero_grad()
    loss = F.mse_loss(net(x), y)
    loss.backward()
    opt.step()

# %% average-of-weights-under-no-grad | as-computed | lab.why(net.weight) | template: training loop
# says: It is the derivative of loss
net, average = nn.Linear(2, 1), nn.Linear(2, 1)
opt = torch.optim.AdamW(net.parameters(), lr=0.1)
for epoch in range(2):
    loss = net(torch.tensor([[1.0, -1.0]])).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.no_grad():
        for a, p in zip(average.parameters(), net.parameters()):
            a.mul_(0.9).add_(p, alpha=0.1)

# %% weights-initialized-through-data | as-computed | lab.why(layer.weight) | template: initialized
# says: It is the derivative of loss
layer = nn.Linear(3, 2)
layer.weight.data.normal_(0.0, 0.02)
layer.bias.data.zero_()
nn.init.xavier_uniform_(layer.weight)
loss = layer(torch.tensor([[1.0, 2.0, 3.0]])).pow(2).sum()
loss.backward()

# %% update-through-data-after-backward | as-computed | lab.why(w) | template: update by data
# says: It is the derivative of loss
w = torch.tensor([1.0, 2.0], requires_grad=True)
for _ in range(3):
    loss = (w ** 2).sum()
    w.grad = None
    loss.backward()
    w.data -= 0.1 * w.grad

# %% update-by-data-assignment-after-backward | as-computed | lab.why(lin.weight) | template: update by data
# says: It is the derivative of loss
lin = nn.Linear(2, 1)
for _ in range(2):
    loss = lin(torch.tensor([[1.0, 2.0]])).pow(2).sum()
    lin.zero_grad()
    loss.backward()
    for p in lin.parameters():
        p.data = p.data - 0.01 * p.grad

# %% batch-norm-moves-its-statistics | as-computed | lab.why(net[0].weight) | template: batch norm
# says: It is the derivative of loss
net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 1))
x = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0], [-1.0, 1.0]])
for _ in range(2):
    net.zero_grad()
    loss = net(x).pow(2).mean()
    loss.backward()

# %% clipping-that-clips-nothing | as-computed | lab.why(w) | template: no clipping
# says: It is the derivative of loss
w = nn.Parameter(torch.tensor([0.1, 0.2]))
opt = torch.optim.SGD([w], lr=0.1)
loss = (w ** 2).sum()
loss.backward()
nn.utils.clip_grad_norm_([w], 100.0)
opt.step()

# %% numpy-only-read | as-computed | lab.why(net.weight) | template: numpy read
# says: It is the derivative of loss
data = np.arange(6, dtype=np.float32).reshape(3, 2)
x = torch.from_numpy(data)
net = nn.Linear(2, 1)
history = []
for _ in range(2):
    net.zero_grad()
    out = net(x)
    history.append(out.detach().numpy())
    loss = out.pow(2).mean()
    loss.backward()
print(data.mean(), max(h.max() for h in history))

# %% numpy-buffer-refilled-after-each-pass | as-computed | lab.why(net.weight) | template: numpy buffer
# says: It is the derivative of loss
buffer = np.zeros((1, 2), dtype=np.float32)
x = torch.from_numpy(buffer)
net = nn.Linear(2, 1)
for i in range(3):
    buffer[:] = i + 1
    net.zero_grad()
    loss = net(x).sum()
    loss.backward()

# %% numpy-copy-changed | as-computed | lab.why(w) | template: numpy copy
# says: It is the derivative of loss
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
snapshot = w.detach().numpy().copy()
snapshot *= 0
loss.backward()

# %% data-of-something-that-is-not-saved | as-computed | lab.why(w) | template: not saved
# says: It is the derivative of loss
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
h = w + x
loss = (h * 2).sum()
h.data.zero_()
loss.backward()

# %% evaluation-under-no-grad | as-computed | lab.why(model.weight) | template: evaluated
# says: It is the derivative of loss
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)


@torch.no_grad()
def evaluate():
    return model(torch.ones(1, 2)).item()


for epoch in range(2):
    with torch.set_grad_enabled(True):
        loss = model(torch.ones(4, 2)).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    with torch.set_grad_enabled(False):
        model(torch.ones(1, 2))
    evaluate()

# %% reused-buffer-in-ctx | as-computed | lab.why(x) | template: ctx kept
# says: It is the derivative of y
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        return 3 * ctx.x ** 2 * g


x = torch.tensor(2.0, requires_grad=True)
y = Cube.apply(x)
y.backward()
with torch.no_grad():
    x -= 0.1 * x.grad

# %% target-network-copied | as-computed | lab.why(q.weight) | template: target network
# says: It is the derivative of loss
import copy

q = nn.Linear(2, 1)
target = copy.deepcopy(q)
for p in target.parameters():
    p.requires_grad_(False)
loss = F.mse_loss(q(torch.ones(1, 2)), target(torch.zeros(1, 2)))
loss.backward()
target.load_state_dict(q.state_dict())

# %% dead-weights-set-by-numpy | numpy-write | lab.why(w) | template: shared array scaled
# says: view[:] = 0
w = torch.tensor([1.0, 2.0], requires_grad=True)
view = w.detach().numpy()
y = w * 3
view[:] = 0
loss = (w * w).sum()
loss.backward()

# %% own-factor-changed-through-data | as-computed | lab.why(w) | template: own factor
# says: It is the derivative of
w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
y = w * v
w.data.mul_(5)
y.sum().backward()

# %% target-updated-through-data | as-computed | lab.why(q.weight) | template: target network
# says: It is the derivative of
q, t = nn.Linear(2, 1), nn.Linear(2, 1)
for _ in range(2):
    q.zero_grad()
    with torch.no_grad():
        goal = t(torch.ones(1, 2))
    F.mse_loss(q(torch.ones(1, 2)), goal).backward()
    for a, b in zip(t.parameters(), q.parameters()):
        a.data.copy_(0.9 * a.data + 0.1 * b.data)

# %% generator-decorated-with-no-grad | as-computed | lab.why(w) | template: generator
# says: It is the derivative of
w = torch.ones(2, requires_grad=True)
@torch.no_grad()
def gen():
    for i in range(2):
        yield torch.ones(2) * i
total = 0
for x in gen():
    total = total + (w * x).sum()
total.backward()

# %% enabled-inside-of-off | as-computed | lab.why(w) | template: enabled again
# says: It is the derivative of
w = torch.ones(2, requires_grad=True)
torch.set_grad_enabled(False)
with torch.enable_grad():
    loss = (w * 2).sum()
loss.backward()

# %% no-grad-on-an-exit-stack | no-grad | lab.why(w) | template: managed
# says: under no_grad
from contextlib import ExitStack
w = torch.ones(2, requires_grad=True)
with ExitStack() as stack:
    stack.enter_context(torch.no_grad())
    loss = (w * 2).sum()
loss.backward()

# %% no-grad-in-a-contextmanager | no-grad | lab.why(w) | template: managed
# says: under no_grad
from contextlib import contextmanager
@contextmanager
def frozen():
    with torch.no_grad():
        yield
w = torch.ones(2, requires_grad=True)
with frozen():
    loss = (w * 2).sum()
loss.backward()

# %% no-grad-in-a-manager-class | no-grad | lab.why(w) | template: managed
# says: under no_grad
class eval_mode:
    def __enter__(self):
        self.before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
    def __exit__(self, *exc):
        torch.set_grad_enabled(self.before)
w = torch.ones(2, requires_grad=True)
with eval_mode():
    loss = (w * 2).sum()
loss.backward()

# %% phases-with-set-grad-enabled | as-computed | lab.why(net.weight) | template: phase
# says: It is the derivative of
net = nn.Linear(2, 1)
for phase in ("val", "train"):
    net.zero_grad()
    with torch.set_grad_enabled(phase == "train"):
        loss = net(torch.ones(1, 2)).sum()
        if phase == "train":
            loss.backward()

# %% batch-changed-after-the-step | as-computed | lab.why(net.weight) | template: numpy buffer
# says: It is the derivative of
data = np.arange(8, dtype=np.float32).reshape(4, 2)
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(2):
    for i in range(0, 4, 2):
        x = torch.from_numpy(data[i:i + 2])
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()
        data[i:i + 2] += 0.1

# %% other-rows-of-the-array-changed | as-computed | lab.why(w) | template: numpy rows
# says: It is the derivative of
data = np.ones((4, 2), dtype=np.float32)
x = torch.from_numpy(data[:2])
w = torch.ones(2, requires_grad=True)
loss = (x * w).sum()
data[2:] = 7
loss.backward()

# %% weights-loaded-from-numpy | as-computed | lab.why(w) | template: initialized
# says: It is the derivative of
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.detach().numpy()[:] = [3.0, 4.0]
(w * w).sum().backward()

# %% numpy-average-of-weights | as-computed | lab.why(net.weight) | template: numpy copy
# says: It is the derivative of
net = nn.Linear(2, 1)
ema = net.weight.detach().numpy().copy()
for _ in range(2):
    net.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    with torch.no_grad():
        net.weight -= 0.1 * net.weight.grad
    ema *= 0.9
    ema += 0.1 * net.weight.detach().numpy()

# %% losses-kept-in-numpy | as-computed | lab.why(w) | template: numpy read
# says: It is the derivative of
w = torch.ones(2, requires_grad=True)
hist = np.zeros(3)
for i in range(3):
    w.grad = None
    loss = (w * w).sum()
    hist[i] = loss.detach().numpy()
    loss.backward()
    w.data -= 0.1 * w.grad

# %% weights-clipped-after-the-step | as-computed | lab.why(D.weight) | template: update by data
# says: It is the derivative of
D = nn.Linear(2, 1)
opt = torch.optim.RMSprop(D.parameters(), lr=0.01)
for _ in range(2):
    opt.zero_grad()
    loss = D(torch.ones(3, 2)).mean()
    loss.backward()
    opt.step()
    for p in D.parameters():
        p.data.clamp_(-0.01, 0.01)

# %% weights-normalized-before | as-computed | lab.why(v) | template: initialized
# says: It is the derivative of
v = nn.Parameter(torch.tensor([3.0, 4.0]))
v.data /= v.data.norm()
loss = (v * torch.tensor([1.0, 2.0])).sum()
loss.backward()

# %% data-replaced-after-backward | as-computed | lab.why(v) | template: replaced later
# says: It is the derivative of
v = nn.Parameter(torch.tensor([3.0, 4.0]))
loss = (v * v).sum()
loss.backward()
v.data = torch.zeros(2)

# %% statistics-read-through-numpy | as-computed | lab.why(net[0].weight) | template: batch norm
# says: It is the derivative of
net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
stats = net[1].running_mean.numpy()
x = torch.tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]])
for _ in range(2):
    net.zero_grad()
    net(x).pow(2).sum().backward()
print(stats)
net.eval()
net.zero_grad()
net(x).pow(2).sum().backward()

# %% two-optimizers-in-turn | as-computed | lab.why(g.weight) | template: training loop
# says: It is the derivative of
g, d = nn.Linear(1, 2), nn.Linear(2, 1)
og, od = torch.optim.Adam(g.parameters()), torch.optim.Adam(d.parameters())
z = torch.ones(2, 1)
for _ in range(2):
    od.zero_grad()
    d(g(z).detach()).mean().backward()
    od.step()
    og.zero_grad()
    (-d(g(z)).mean()).backward()
    og.step()

# %% reentrant-checkpoint-used-rightly | as-computed | lab.why(net[0].weight) | template: checkpoint
# says: It is the derivative of
from importlib import import_module
cp = import_module(torch.__name__ + ".utils.checkpoint")
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh())
x = torch.ones(1, 2, requires_grad=True)
cp.checkpoint(net, x, use_reentrant=True).sum().backward()

# %% mask-made-in-forward | as-computed | lab.why(a) | template: ctx kept
# says: It is the derivative of
class Keep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        ctx.mask = (a > 0).float()
        return a * ctx.mask
    @staticmethod
    def backward(ctx, g):
        return g * ctx.mask
a = torch.tensor([1.0, 1.0], requires_grad=True)
Keep.apply(a).sum().backward()

# %% hook-clears-before-the-gradient-comes | as-computed | lab.why(w) | template: hook
# says: It is the derivative of
w = torch.ones(2, requires_grad=True)
def hook(g):
    w.grad = None
w.register_hook(hook)
(w * 2).sum().backward()
