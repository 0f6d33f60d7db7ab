"""The pass itself, and what was done with .grad: accumulation, clearing, optimizers, hooks, Functions."""

# %% no-zero-grad-in-a-loop | accumulated | lab.why(w) | template: accumulate
# says: 3 backward passes
# grad: w.grad == [5.0]
w = torch.tensor([1.0], requires_grad=True)
for x in (3.0, 4.0, 5.0):
    loss = (w * x).sum()
    loss.backward()

# %% no-zero-grad-with-optimizer | accumulated | lab.why(lin.bias) | template: accumulate
# says: 2 backward passes
# grad: lin.bias.grad == [3.0]
lin = nn.Linear(2, 1)
opt = torch.optim.SGD(lin.parameters(), lr=0.1)
for epoch in range(2):
    out = lin(torch.ones(3, 2)).sum()
    out.backward()
    opt.step()

# %% two-cells-accumulate | accumulated | lab.why(p) | template: accumulate
# says: 2 backward passes
p = torch.tensor(2.0, requires_grad=True)
q = p ** 2
q.backward()
r = p ** 3
r.backward()

# %% zero-grad-of-another-optimizer | zero-grad-missed | lab.why(b) | template: accumulate-partly
# says: `opt.zero_grad()`
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([a], lr=0.1)
for x in (1.0, 2.0):
    opt.zero_grad()
    loss = (a * b * x).sum()
    loss.backward()
# %% cure
# grad: b.grad == [2.0]
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([a], lr=0.1)
for x in (1.0, 2.0):
    opt.zero_grad()
    b.grad = None
    loss = (a * b * x).sum()
    loss.backward()

# %% zero-grad-before-asking | cleared | lab.why(model.weight) | template: cleared
# says: set to None by zero_grad
# grad: model.weight.grad == [[1.0, 2.0]]
model = nn.Linear(2, 1)
model(torch.tensor([[1.0, 2.0]])).sum().backward()
model.zero_grad()

# %% zero-grad-between-backward-and-step | cleared | lab.why(w) | template: cleared
# says: set to None by zero_grad
# grad: w.grad == [4.0]
w = torch.tensor([2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w * w).sum()
loss.backward()
opt.zero_grad()
opt.step()

# %% grad-set-to-none-by-hand | cleared | lab.why(w) | template: cleared
# says: set to None by an assignment
# grad: w.grad == [1.0]
w = torch.tensor([2.0], requires_grad=True)
w.sum().backward()
w.grad = None

# %% autograd-grad-fills-nothing | autograd-grad | lab.why(x) | template: autograd-grad
# says: leaves every .grad as it is
# grad: x.grad == [2.0, 4.0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
torch.autograd.grad(y, x)

# %% forgot-backward | backward-never-called | lab.why(net.weight) | template: forgot-backward
# says: nobody called backward()
# grad: net.weight.grad == [[1.0, 1.0]]
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).sum()
opt.step()

# %% forgot-the-parentheses | backward-never-called | lab.why(w) | template: forgot-backward
# says: nobody called backward()
# grad: w.grad == [3.0]
w = torch.tensor([1.0], requires_grad=True)
loss = (w * 3).sum()
loss.backward

# %% inputs-forgets-one | inputs-left-out | lab.why(b) | template: inputs
# says: inputs=[a]
# grad: b.grad == 2.0
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(3.0, requires_grad=True)
loss = a * b
loss.backward(inputs=[a])

# %% function-returns-none | function-none | lab.why(x) | template: function-none
# says: returned None for x
class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, grad_output):
        return None

x = torch.tensor([1.0, 2.0], requires_grad=True)
Shift.apply(x).sum().backward()
# %% cure
# grad: x.grad == [1.0, 1.0]
class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output

x = torch.tensor([1.0, 2.0], requires_grad=True)
Shift.apply(x).sum().backward()

# %% function-returns-in-the-wrong-place | function-none | lab.why(w) | template: function-none
# says: returned None for w
class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        return x * w

    @staticmethod
    def backward(ctx, g):
        x, w = ctx.saved_tensors
        return g * w, None

x = torch.tensor([1.0, 2.0])
w = torch.tensor([3.0, 4.0], requires_grad=True)
Scaled.apply(x, w).sum().backward()

# %% hook-that-replaces | hook-changed | lab.why(w) | template: hook-scales
# says: hook
w = torch.tensor([1.0, 2.0], requires_grad=True)
w.register_hook(lambda g: g * 0.1)
(w * 2).sum().backward()

# %% clipped | grad-edited | lab.why(lin.weight) | template: edited
# says: clip_grad_norm_
lin = nn.Linear(2, 1)
lin(torch.tensor([[3.0, 4.0]])).sum().backward()
nn.utils.clip_grad_norm_(lin.parameters(), 0.5)

# %% scaled-by-hand | grad-edited | lab.why(w) | template: edited
# says: `w.grad /= 2`
w = torch.tensor([1.0], requires_grad=True)
(w * 4).sum().backward()
w.grad /= 2

# %% stale-after-freezing | stale | lab.why(a) | template: stale
# says: an earlier pass
# grad: a.grad == [3.0]
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([1.0], requires_grad=True)
(a * b).sum().backward()
(a.detach() * b * 2).sum().backward()

# %% asked-about-a-loss-without-a-pass | another-loss | lab.why(w, penalty) | template: another-loss
# says: penalty has no part in it
w = torch.tensor([1.0], requires_grad=True)
loss = (w * 3).sum()
loss.backward()
penalty = (w ** 2).sum()
# %% cure
# grad: w.grad == [5.0]
w = torch.tensor([1.0], requires_grad=True)
loss = (w * 3).sum()
loss.backward()
penalty = (w ** 2).sum()
penalty.backward()

# %% asked-about-a-loss-that-is-cut | another-loss | lab.why(w, second) | template: another-loss
# says: second has no part in it
# grad: w.grad == [5.0]
w = torch.tensor([1.0], requires_grad=True)
v = torch.tensor([2.0], requires_grad=True)
first = (w * 3).sum()
first.backward()
second = (w.detach() * v).sum()
second.backward()

# %% layers-in-a-list | not-in-optimizer | lab.why(net.layers[0].weight) | template: plain-list
# says: net.layers[0].weight
class Stack(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(2, 2), nn.Linear(2, 2)]
        self.out = nn.Linear(2, 1)

    def forward(self, x):
        for layer in self.layers:
            x = torch.tanh(layer(x))
        return self.out(x)

net = Stack()
opt = torch.optim.SGD(net.parameters(), lr=0.1)
loss = net(torch.ones(1, 2)).sum()
opt.zero_grad()
loss.backward()
opt.step()

# %% only-one-net-given | not-in-optimizer | lab.why(enc.weight) | template: only-one
# says: enc.weight
enc, dec = nn.Linear(2, 2), nn.Linear(2, 2)
opt = torch.optim.Adam(dec.parameters(), lr=0.1)
loss = F.mse_loss(dec(enc(torch.ones(1, 2))), torch.zeros(1, 2))
loss.backward()
opt.step()

# %% everything-right | as-computed | lab.why(w) | template: right
# says: It is the derivative of loss
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()

# %% everything-right-with-training | as-computed | lab.why(net[0].weight) | template: right
# says: derivative of loss
net = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    opt.zero_grad()
    loss = (net(torch.ones(5, 2)) - 1).pow(2).mean()
    loss.backward()
    opt.step()

# %% zero-grad-without-parentheses | accumulated | lab.why(w) | template: without-parentheses
# says: `opt.zero_grad` without parentheses does not call it
# grad: w.grad == [1.6]
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for _ in range(2):
    opt.zero_grad
    loss = (w ** 2).sum()
    loss.backward()
    opt.step()

# %% backward-and-step-without-parentheses | backward-never-called | lab.why(w) | template: without-parentheses
# says: `loss.backward` without parentheses names the method and does not call it
# grad: w.grad == [2.0]
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
loss = (w ** 2).sum()
opt.zero_grad
loss.backward
opt.step

# %% model-replaced-by-its-copy | not-in-optimizer | lab.why(model.weight) | template: model-replaced
# says: so model.weight is not one of them
import copy
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(2):
    opt.zero_grad()
    loss = model(torch.ones(1, 2)).pow(2).sum()
    loss.backward()
    opt.step()
    if i == 0:
        model = copy.deepcopy(model)

# %% zero-grad-of-a-copy | accumulated | lab.why(net.weight) | template: model-replaced
# says: nothing cleared net.weight.grad in between
# grad: net.weight.grad == [[1.0, 1.0]]
import copy
net = nn.Linear(2, 1)
shadow = copy.deepcopy(net)
for _ in range(2):
    shadow.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
