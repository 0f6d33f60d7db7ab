"""The program stopped with an error: what had made it, not what the message says."""

# %% grad-none-times-lr | backward-never-called | lab.why(w) | template: grad-is-none
# says: nobody called backward()
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w ** 2).sum()
with torch.no_grad():
    w -= 0.1 * w.grad

# %% grad-none-data | detached | lab.why(w) | template: grad-is-none
# says: detach() handed on
# grad: w.grad == [3.0]
w = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([0.0], requires_grad=True)
y = (w * 3).detach() + b
y.sum().backward()
print(w.grad.data.norm())

# %% grad-none-of-another | unused | lab.why(v) | template: grad-is-none
# says: v was not used
w = torch.tensor([1.0], requires_grad=True)
v = torch.tensor([2.0], requires_grad=True)
loss = (w * 3).sum()
loss.backward()
for p in [w, v]:
    print(p.grad.abs().mean())

# %% shapes-do-not-match | failed | lab.why(w) | template: shapes
# says: before backward() was called
w = torch.ones(3, 2, requires_grad=True)
x = torch.ones(4, 2)
loss = (x @ w).sum()
loss.backward()
# %% cure
# grad: w.grad == [[4.0, 4.0], [4.0, 4.0], [4.0, 4.0]]
w = torch.ones(3, 2, requires_grad=True)
x = torch.ones(4, 2)
loss = (x @ w.T).sum()
loss.backward()

# %% dtype-of-targets | failed | lab.why(net.weight) | template: shapes
# says: before backward() was called
net = nn.Linear(2, 3)
logits = net(torch.ones(2, 2))
loss = F.cross_entropy(logits, torch.tensor([5, 1]))
loss.backward()

# %% typo-in-a-name | failed | lab.why(w) | template: typo
# says: NameError
w = torch.tensor([1.0], requires_grad=True)
y = w * 2
los = y.sum()
loss.backward()

# %% typo-after-the-first-round | failed | lab.why(w) | template: typo
# says: AttributeError
w = torch.tensor([1.0], requires_grad=True)
out = w.relux()
out.sum().backward()

# %% plot-before-backward | numpy-refused | lab.why(w) | template: plot
# says: before backward() was called
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w ** 2
curve = y.numpy()
y.sum().backward()

# %% plot-the-weights | numpy-refused | lab.why(net.bias) | template: plot
# says: numpy()
# grad: net.bias.grad == [4.0]
net = nn.Linear(1, 1)
line = net(torch.arange(4.0).reshape(4, 1))
ys = line.squeeze().numpy()
line.sum().backward()

# %% leaf-written-in-place | inplace-leaf | lab.why(w) | template: in-place-update
# says: A leaf
# grad: w.grad == [2.0, 2.0]
w = torch.ones(2, requires_grad=True)
loss = (w * 2).sum()
loss.backward()
w -= 0.5 * w.grad

# %% leaf-initialized-in-place | inplace-leaf | lab.why(W) | template: in-place-init
# says: A leaf
# grad: W.grad == [[1.0, 1.0], [1.0, 1.0]]
W = torch.zeros(2, 2, requires_grad=True)
W[0, 0] = 1.0
(W * torch.ones(2, 2)).sum().backward()

# %% leaf-normal-in-place | inplace-leaf | lab.why(W) | template: in-place-init
# says: A leaf
# grad: W.grad == [1.0, 1.0, 1.0]
W = torch.empty(3, requires_grad=True)
W.fill_(0.5)
loss = W.sum()
loss.backward()

# %% vector-loss | loss-not-scalar | lab.why(w) | template: not-scalar
# says: shape [2]
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = w ** 2
loss.backward()

# %% loss-without-reduction | loss-not-scalar | lab.why(net.weight) | template: not-scalar
# says: shape
net = nn.Linear(2, 1)
criterion = nn.MSELoss(reduction="none")
loss = criterion(net(torch.ones(3, 2)), torch.zeros(3, 1))
loss.backward()

# %% grad-of-a-vector | loss-not-scalar | lab.why(x) | template: not-scalar
# says: shape [3]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x.sin()
(dy,) = torch.autograd.grad(y, x)

# %% result-of-exp-overwritten | inplace-saved | lab.why(x) | template: overwrite-result
# says: saved y
# grad: x.grad == torch.exp(x).tolist()
x = torch.tensor([0.0, 1.0], requires_grad=True)
y = x.exp()
y += 1
y.sum().backward()

# %% sigmoid-then-in-place | inplace-saved | lab.why(lin.weight) | template: overwrite-result
# says: saved gate
lin = nn.Linear(2, 2)
gate = torch.sigmoid(lin(torch.ones(1, 2)))
gate.mul_(2)
gate.sum().backward()

# %% relu-in-place-after-tanh | inplace-saved | lab.why(net[0].weight) | template: inplace-module
# says: TanhBackward0 saved
# grad: net[0].weight.grad is None == False
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.ReLU(inplace=True))
net(torch.ones(1, 2)).sum().backward()

# %% factor-overwritten | inplace-saved | lab.why(w) | template: overwrite-operand
# says: saved x
# grad: w.grad == [1.0, 2.0]
w = torch.tensor([3.0, 4.0], requires_grad=True)
x = torch.tensor([1.0, 2.0])
y = w * x
x += 1
y.sum().backward()

# %% buffer-filled-step-by-step | inplace-saved | lab.why(a) | template: buffer
# says: saved
# grad: a.grad is None == False
a = torch.tensor(0.9, requires_grad=True)
path = torch.zeros(4)
path[0] = 1.0
for t in range(3):
    path[t + 1] = a * path[t]
path.sum().backward()

# %% row-scaled-through-a-view | inplace-saved | lab.why(w) | template: overwrite-operand
# says: saved m
# grad: w.grad == [[2.0, 4.0], [6.0, 8.0]]
w = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
m = w * 1
sq = m * m
row = m[0]
row *= 10
sq.sum().backward()

# %% optimizer-between-two-losses | optimizer-too-early | lab.why(model.weight) | template: step-too-early
# says: the optimizer
model = nn.Linear(2, 2)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
out = model(model(torch.ones(1, 2)))
loss_a, loss_b = out.sum(), out.pow(2).sum()
loss_a.backward(retain_graph=True)
opt.step()
loss_b.backward()

# %% two-optimizers-of-a-gan | optimizer-too-early | lab.why(G.weight) | template: step-too-early
# says: the optimizer
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.1), torch.optim.SGD(D.parameters(), lr=0.1)
fake = G(torch.ones(1, 2))
loss_d = D(fake.detach()).sum()
loss_g = -D(fake).sum()
opt_d.zero_grad()
loss_d.backward()
opt_d.step()
opt_g.zero_grad()
loss_g.backward()
# %% cure
# grad: G.weight.grad == (-D.weight.T @ torch.ones(1, 2)).tolist()
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_g, opt_d = torch.optim.SGD(G.parameters(), lr=0.0), torch.optim.SGD(D.parameters(), lr=0.0)
fake = G(torch.ones(1, 2))
loss_d = D(fake.detach()).sum()
loss_g = -D(fake).sum()
opt_d.zero_grad()
loss_d.backward()
opt_g.zero_grad()
loss_g.backward()
opt_d.step()

# %% update-by-hand-between | optimizer-too-early | lab.why(w) | template: step-too-early
# says: w
w = torch.tensor([2.0], requires_grad=True)
one = (w * w).sum()
two = (w ** 3).sum()
one.backward()
with torch.no_grad():
    w -= 0.1 * w.grad
two.backward()

# %% optimizer-of-a-non-leaf | overwritten | lab.why(w) | template: optimizer-non-leaf
# says: The name w was first a leaf
w = torch.ones(2, requires_grad=True)
u = w * 1
w = u.view(1, 2)
opt = torch.optim.SGD([w], lr=0.1)

# %% backward-on-a-list | failed | lab.why(w) | template: backward-of-other
# says: AttributeError
w = torch.tensor(2.0, requires_grad=True)
losses = [w * 1.0, w * 2.0]
losses.backward()

# %% loss-does-not-require-grad | requires-grad-never-set | lab.why(loss) | template: loss-without
# says: loss was computed from
x = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0])
loss = (w * x).sum()
loss.backward()

# %% second-derivative-without-graph | gradient-without-graph | lab.why(x) | template: second-derivative
# says: without create_graph=True
# grad: x.grad == 12.0
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
(dy,) = torch.autograd.grad(y, x)
dy.backward()

# %% second-derivative-of-dot-grad | gradient-without-graph | lab.why(x) | template: second-derivative
# says: without create_graph=True
x = torch.tensor(2.0, requires_grad=True)
y = x ** 4
y.backward()
g = x.grad
(g * 2).backward()

# %% gradient-penalty-not-differentiable | partly-cut | lab.why(net.weight) | template: gradient-penalty
# says: create_graph=True
net = nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
out = (net(x) ** 2).sum()
(slope,) = torch.autograd.grad(out, x, retain_graph=True)
loss = out + slope.pow(2).sum()
loss.backward()

# %% part-of-the-loss-detached | partly-cut | lab.why(w) | template: partly
# says: another way
w = torch.tensor([1.0, 2.0], requires_grad=True)
fit = (w * 3).sum()
reg = (w ** 2).sum()
loss = fit + reg.detach()
loss.backward()

# %% part-of-the-loss-as-item | partly-cut | lab.why(w) | template: partly
# says: another way
w = torch.tensor([1.0, 2.0], requires_grad=True)
fit = (w * 3).sum()
reg = (w ** 2).sum().item()
loss = fit + reg
loss.backward()

# %% changed-flag-of-computed | not-leaf | lab.why(h) | template: flag-of-computed
# says: h is not a leaf
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.requires_grad = False
h.sum().backward()

# %% inner-step-of-first-order | partly-cut | lab.why(theta) | template: inner-step
# says: g, a gradient that depends on theta but was computed without create_graph=True
# grad: theta.grad == [0.56, -0.32]
theta = torch.tensor([1.0, 2.0], requires_grad=True)
inner = (theta ** 3).sum()
(g,) = torch.autograd.grad(inner, theta)
fast = theta - 0.1 * g
outer = (fast ** 2).sum()
outer.backward()

# %% inner-step-of-a-module | partly-cut | lab.why(net.weight) | template: inner-step
# says: gw, a gradient that depends on net.weight
# grad: net.weight.grad is None == False
net = nn.Linear(1, 1)
x, y = torch.ones(3, 1), torch.zeros(3, 1)
gw, gb = torch.autograd.grad(F.mse_loss(net(x), y), [net.weight, net.bias])
F.mse_loss(F.linear(x, net.weight - 0.1 * gw, net.bias - 0.1 * gb), y).backward()

# %% gradient-of-a-straight-line-as-factor | as-computed | lab.why(w) | template: inner-step
# says: It is the derivative of
w = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad((3 * w).sum(), w)
(w * g).sum().backward()

# %% second-derivative-of-x-grad | gradient-without-graph | lab.why(x) | template: second-derivative
# says: x.grad is the gradient with respect to x, computed without create_graph=True
# grad: x.grad == 48.0
x = torch.tensor(2.0, requires_grad=True)
y = x ** 4
y.backward()
x.grad.backward()

# %% penalty-on-x-grad | gradient-without-graph | lab.why(net.weight) | template: penalty-after-the-loss
# says: x.grad, which is the gradient with respect to x
# grad: net.weight.grad == [[4.8, 9.6]]
net = nn.Linear(2, 1, bias=False)
nn.init.constant_(net.weight, 1.2)
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
net(x).sum().backward()
(x.grad.pow(2) * torch.tensor([1.583333, 3.166667])).sum().backward()

# %% own-copy-as-a-factor | partly-cut | lab.why(w) | template: partly-own
# says: detach() handed on the numbers of w
# grad: w.grad == [0.8, 3.2]
w = torch.tensor([0.2, 0.8], requires_grad=True)
loss = (w ** 2).sum() + (w * w.detach()).sum()
loss.backward()
