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
