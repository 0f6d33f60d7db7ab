"""The way from the loss to the tensor is cut."""

# %% cut-by-detach | detached | lab.why(w) | template: detach-in-the-middle
# says: detach() handed on the numbers of h without their history
w = torch.tensor([1.0, -2.0], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
h = w * 3
y = h.detach() + b
loss = (y * y).sum()
loss.backward()
# %% cure
# grad: w.grad == [21.0, -33.0]
w = torch.tensor([1.0, -2.0], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
h = w * 3
y = h + b
loss = (y * y).sum()
loss.backward()

# %% detached-between-two-nets | detached | lab.why(first.weight) | template: detach-in-the-middle
# says: detach() handed on the numbers of code
# grad: first.weight.grad == (second.weight.T @ x).tolist()
first, second = nn.Linear(2, 3, bias=False), nn.Linear(3, 1)
x = torch.tensor([[1.0, 2.0]])
code = first(x)
code = code.detach()
second(code).sum().backward()

# %% detached-inside-forward | detached | lab.why(net.inner.weight) | template: detach-in-a-module
# says: detach() handed on the numbers of
# grad: net.inner.weight.grad == [[2.0, 4.0]]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 1)

    def forward(self, x):
        z = self.inner(x)
        return z.detach() * 2

net = Net()
extra = torch.zeros(1, requires_grad=True)
loss = (net(torch.tensor([[1.0, 2.0]])) + extra).sum()
loss.backward()

# %% loss-of-detached-copy-made-a-leaf | detached | lab.why(a) | template: detach-requires-grad
# says: detach() handed on the numbers of out
a = torch.tensor([2.0, 3.0], requires_grad=True)
out = a ** 2
pred = out.detach().requires_grad_(True)
loss = pred.sum()
loss.backward()

# %% detach-in-place-of-activations | detached-in-place | lab.why(w) | template: detach-in-place
# says: detach_() made h forget
# grad: w.grad == [2.0, 6.0]
w = torch.tensor([1.0, 3.0], requires_grad=True)
h = w * w
h.detach_()
bias = torch.zeros(2, requires_grad=True)
(h + bias).sum().backward()

# %% activations-by-data | data | lab.why(w) | template: data-attribute
# says: .data handed on the numbers of act
# grad: w.grad == [2.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
gain = torch.ones(2, requires_grad=True)
act = w.square()
loss = (act.data * gain).sum()
loss.backward()

# %% loss-data-made-a-variable | data | lab.why(model.weight) | template: data-attribute
# says: .data handed on the numbers of
model = nn.Linear(2, 1)
pred = model(torch.ones(2, 2))
loss = (pred.data - 1).pow(2).sum()
loss = loss.requires_grad_()
loss.backward()

# %% features-under-no-grad | no-grad | lab.why(backbone.weight) | template: no-grad-block
# says: under no_grad
# grad: backbone.weight.grad == [[2.0, 3.0], [2.0, 3.0]]
backbone = nn.Linear(2, 2)
scale = torch.ones(2, requires_grad=True)
batch = torch.tensor([[2.0, 3.0]])
with torch.no_grad():
    feats = backbone(batch)
loss = (feats * scale).sum()
loss.backward()

# %% loss-under-no-grad | no-grad | lab.why(w) | template: no-grad-block
# says: under no_grad
# grad: w.grad == [4.0]
w = torch.tensor([2.0], requires_grad=True)
for epoch in range(1):
    with torch.no_grad():
        pred = w * 1.0
        loss = (pred ** 2).sum()
    loss.backward()

# %% predict-decorated-with-no-grad | no-grad | lab.why(lin.weight) | template: no-grad-decorator
# says: under no_grad
# grad: lin.weight.grad == [[1.0, 2.0]]
lin = nn.Linear(2, 1)

@torch.no_grad()
def predict(inputs):
    return lin(inputs)

loss = predict(torch.tensor([[1.0, 2.0]])).sum()
loss.backward()

# %% grad-disabled-with-a-flag | no-grad | lab.why(w) | template: no-grad-block
# says: had switched recording off
w = torch.tensor([2.0], requires_grad=True)
training = False
with torch.set_grad_enabled(training):
    out = (w * 5).sum()
out.backward()

# %% trained-in-inference-mode | inference-mode | lab.why(m.weight) | template: inference
# says: inference mode
# grad: m.weight.grad == [[1.0, 2.0], [1.0, 2.0]]
m = nn.Linear(2, 2)
with torch.inference_mode():
    z = m(torch.tensor([[1.0, 2.0]]))
z.sum().backward()

# %% stacked-by-tensor | copied | lab.why(p) | template: tensor-of-tensors
# says: copied the numbers
# grad: p.grad == 2.0
p = torch.tensor(2.0, requires_grad=True)
q = torch.tensor(3.0, requires_grad=True)
both = torch.tensor([p * 2, q * 3])
loss = both.sum()
loss.requires_grad_()
loss.backward()

# %% rotation-matrix-by-tensor | copied | lab.why(angle) | template: tensor-of-tensors
# says: copied the numbers
angle = torch.tensor(0.3, requires_grad=True)
shift = torch.zeros(2, requires_grad=True)
rot = torch.tensor([[angle.cos(), -angle.sin()], [angle.sin(), angle.cos()]])
moved = rot @ torch.tensor([1.0, 0.0]) + shift
moved.sum().backward()

# %% loss-rewrapped | copied | lab.why(net.weight) | template: rewrapped-loss
# says: copied the numbers of
# grad: net.weight.grad == [[1.0, 1.0]]
net = nn.Linear(2, 1)
out = net(torch.ones(1, 2)).sum()
loss = torch.tensor(out, requires_grad=True)
loss.backward()

# %% loss-from-item | item | lab.why(w) | template: rewrapped-loss
# says: left the graph by .item()
# grad: w.grad == 6.0
w = torch.tensor(3.0, requires_grad=True)
loss = torch.tensor((w * w).item(), requires_grad=True)
loss.backward()

# %% item-in-the-middle | item | lab.why(k) | template: item
# says: out of the graph
k = torch.tensor(3.0, requires_grad=True)
c = torch.tensor(1.0, requires_grad=True)
factor = k.item()
loss = c * factor
loss.backward()

# %% backward-of-item | item | lab.why(model.weight) | template: item
# says: backward() was called on a Python number
# grad: model.weight.grad == [[2.0, 2.0, 2.0]]
model = nn.Linear(3, 1)
loss = model(torch.ones(2, 3)).sum().item()
loss.backward()

# %% float-of-a-tensor | item | lab.why(t) | template: item
# says: left the graph by float()
t = torch.tensor(2.0, requires_grad=True)
one = torch.tensor(1.0, requires_grad=True)
area = math.pi * float(t) ** 2
loss = one * area
loss.backward()

# %% through-numpy | numpy | lab.why(x) | template: numpy
# says: NumPy
x = torch.tensor([0.0, 1.0], requires_grad=True)
s = np.sin(x.detach().numpy())
loss = torch.tensor(s, requires_grad=True).sum()
loss.backward()
# %% cure
# grad: x.grad == torch.cos(x).tolist()
x = torch.tensor([0.0, 1.0], requires_grad=True)
s = torch.sin(x)
loss = s.sum()
loss.backward()

# %% metric-of-numpy-as-loss | numpy | lab.why(net.weight) | template: numpy
# says: NumPy
net = nn.Linear(2, 1)
pred = net(torch.ones(3, 2))
err = np.mean((pred.detach().numpy() - 1.0) ** 2)
loss = torch.tensor(float(err), requires_grad=True)
loss.backward()

# %% accuracy-as-loss | no-derivative | lab.why(net.weight) | template: argmax
# says: argmax has no derivative
net = nn.Linear(3, 3)
logits = net(torch.eye(3))
guess = logits.argmax(dim=1)
loss = (guess == torch.tensor([0, 1, 2])).float().mean()
loss.backward()

# %% hard-labels-into-the-loss | no-derivative | lab.why(net.weight) | template: argmax
# says: argmax has no derivative
net = nn.Linear(4, 3)
probs = torch.softmax(net(torch.ones(2, 4)), dim=1)
labels = probs.argmax(dim=1).float()
loss = F.mse_loss(labels, torch.tensor([0.0, 2.0]))
loss.backward()

# %% threshold-the-prediction | no-derivative | lab.why(w) | template: comparison
# says: has no derivative
w = torch.tensor([0.2, 0.9], requires_grad=True)
hits = (w > 0.5).float()
weight = torch.ones(2, requires_grad=True)
loss = (hits * weight).sum()
loss.backward()

# %% index-from-a-parameter | no-derivative | lab.why(pos) | template: cast-to-int
# says: no derivative
pos = torch.tensor([1.3], requires_grad=True)
table = torch.tensor([10.0, 20.0, 30.0], requires_grad=True)
picked = table[pos.long()]
picked.sum().backward()

# %% a-layer-not-used | unused | lab.why(b.weight) | template: unused
# says: b.weight
a, b = nn.Linear(2, 2), nn.Linear(2, 2)
out = a(torch.ones(1, 2))
out.sum().backward()

# %% one-of-the-model-s-layers-not-used | unused | lab.why(m.extra.weight) | template: unused
# says: m.extra.weight
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.main = nn.Linear(2, 1)
        self.extra = nn.Linear(2, 1)

    def forward(self, x):
        return self.main(x)

m = Two()
m(torch.ones(1, 2)).sum().backward()

# %% unused-in-autograd-grad | unused | lab.why(v) | template: unused
# says: v was not used
u = torch.tensor(1.0, requires_grad=True)
v = torch.tensor(2.0, requires_grad=True)
y = u * 3
du, dv = torch.autograd.grad(y, [u, v])

# %% the-other-loss | not-connected | lab.why(w) | template: other-graph
# says: different graphs
w = torch.tensor([1.0], requires_grad=True)
v = torch.tensor([2.0], requires_grad=True)
regularizer = (w ** 2).sum()
loss = (v * 3).sum()
loss.backward()

# %% frozen-embedding-forgotten | frozen | lab.why(net.weight) | template: freeze
# says: net.weight does not require a gradient since
# grad: net.weight.grad == [[1.0, 1.0]]
net = nn.Linear(2, 1)
net.weight.requires_grad_(False)
net(torch.ones(1, 2)).sum().backward()

# %% all-frozen-new-head-forgotten | frozen | lab.why(net[1].weight) | template: freeze
# says: does not require a gradient since
net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
for p in net.parameters():
    p.requires_grad = False
loss = net(torch.ones(3, 2)).mean()
loss.backward()

# %% spelled-wrong | requires-grad-never-set | lab.why(w) | template: never-set
# says: w does not require a gradient
# grad: w.grad == [1.0, 2.0]
w = torch.zeros(2)
w.require_grad = True
loss = (w * torch.tensor([1.0, 2.0])).sum()
loss.backward()

# %% inputs-do-not-require-grad | requires-grad-never-set | lab.why(x) | template: never-set
# says: x does not require a gradient
# grad: x.grad == net.weight.tolist()
net = nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0]])
y = net(x).sum()
y.backward()

# %% plain-tensor-in-a-module | requires-grad-never-set | lab.why(layer.scale) | template: never-set
# says: does not require a gradient
class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.ones(2)

    def forward(self, x):
        return x * self.scale

layer = Scale()
out = layer(torch.ones(3, 2)).sum()
out.backward()

# %% flag-set-after-use | requires-grad-too-late | lab.why(x) | template: too-late
# says: x was used before it required grad
# grad: x.grad == [2.0, 4.0]
x = torch.tensor([1.0, 2.0])
y = (x * x).sum()
x.requires_grad_()
y.backward()

# %% flag-set-on-the-loss | requires-grad-never-set | lab.why(w) | template: flag-on-loss
# says: w does not require a gradient
# grad: w.grad == [3.0]
w = torch.tensor([1.0])
loss = (w * 3).sum()
loss.requires_grad = True
loss.backward()

# %% integers-asked | integer-tensor | lab.why(n) | template: integers
# says: int64
# grad: n.grad == [1.0, 1.0, 1.0]
n = torch.tensor([1, 2, 3])
w = torch.ones(3, requires_grad=True)
(w * n).sum().backward()

# %% cast-to-int | no-derivative | lab.why(x) | template: cast-to-int
# says: no derivative
x = torch.tensor([1.5, 2.5], requires_grad=True)
pixels = x.int()
loss = pixels.float().sum()
loss.backward()

# %% non-leaf-asked | not-leaf | lab.why(hidden) | template: non-leaf
# says: hidden is not a leaf
# grad: hidden.grad == [[1.0, 1.0, 1.0]]
enc = nn.Linear(2, 3)
hidden = enc(torch.ones(1, 2))
hidden.sum().backward()

# %% non-leaf-retained-too-late | retain-too-late | lab.why(mid) | template: retain-late
# says: retain_grad() was called after
# grad: mid.grad == [2.0]
x = torch.tensor([1.0], requires_grad=True)
mid = x * 3
out = (mid * 2).sum()
out.backward()
mid.retain_grad()

# %% temperature-as-a-float | item | lab.why(temp) | template: item-beside-a-target
# says: the number in temp was taken out of the graph
# grad: float(temp.grad) == 0.2602884
temp = nn.Parameter(torch.tensor(1.5))
logits = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
scaled = logits / float(temp)
loss = F.cross_entropy(scaled.unsqueeze(0), torch.tensor([2]))
loss.backward()

# %% margin-as-a-float-beside-labels | item | lab.why(margin) | template: item-beside-a-target
# says: left the graph by .item()
# grad: float(margin.grad) == 1.0
margin = torch.tensor(0.5, requires_grad=True)
scores = torch.tensor([0.2, 0.9], requires_grad=True)
m = margin.item()
gap = m - scores * torch.tensor([1.0, -1.0])
loss = (gap.clamp(min=0) * torch.tensor([1.0, 0.0])).sum()
loss.backward()

# %% fast-weights-from-data | data | lab.why(model.weight) | template: inner-step-cut
# says: .data handed on the numbers of model.weight
model = nn.Linear(2, 1)
x = torch.ones(3, 2)
loss = model(x).pow(2).mean()
grads = torch.autograd.grad(loss, list(model.parameters()), create_graph=True)
fast = [p.data - 0.1 * g.data for p, g in zip(model.parameters(), grads)]
meta = (x @ fast[0].t() + fast[1]).pow(2).mean()
meta.requires_grad_()
meta.backward()

# %% fast-weights-detached | detached | lab.why(theta) | template: inner-step-cut
# says: detach() handed on the numbers of
theta = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad((theta ** 2).sum(), theta, create_graph=True)
fast = (theta - 0.1 * g).detach().requires_grad_()
(fast ** 2).sum().backward()

# %% unfrozen-as-a-module | frozen | lab.why(model.head.weight) | template: unfreeze
# says: `model.head.requires_grad = True` does not switch it on again
# grad: model.backbone.weight.grad is None and model.head.weight.grad is not None == True
class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(2, 3)
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        return self.head(torch.relu(self.backbone(x)))

model = Clf()
for p in model.parameters():
    p.requires_grad = False
model.head.requires_grad = True
loss = F.cross_entropy(model(torch.ones(2, 2)), torch.tensor([0, 1]))
loss.backward()

# %% unfrozen-in-init | frozen | lab.why(model.head.weight) | template: unfreeze
# says: `self.head.requires_grad = True` does not switch it on again
# grad: model.backbone.weight.grad is None and model.head.weight.grad is not None == True
class Clf(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(2, 3)
        self.head = nn.Linear(3, 2)
        for p in self.parameters():
            p.requires_grad_(False)
        self.head.requires_grad = True

    def forward(self, x):
        return self.head(torch.relu(self.backbone(x)))

model = Clf()
loss = F.cross_entropy(model(torch.ones(2, 2)), torch.tensor([0, 1]))
loss.backward()

# %% unfrozen-with-a-misspelled-flag | frozen | lab.why(net[2].weight) | template: unfreeze
# says: because the flag is not called require_grad
# grad: net[0].weight.grad is None and net[2].weight.grad is not None == True
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
for p in net.parameters():
    p.requires_grad = False
for p in net[2].parameters():
    p.require_grad = True
net(torch.ones(1, 2)).sum().backward()

# %% constant-filled-with-item | item | lab.why(c) | template: number-wanted
# says: left the graph by .item()
c = torch.tensor(2.0, requires_grad=True)
v = torch.full((3,), c.item())
(v * torch.ones(3, requires_grad=True)).sum().backward()
# %% cure
# grad: c.grad == 3.0
c = torch.tensor(2.0, requires_grad=True)
v = c * torch.ones(3)
(v * torch.ones(3, requires_grad=True)).sum().backward()

# %% learned-slope-of-a-relu | item | lab.why(slope) | template: number-wanted
# says: left the graph by float()
slope = torch.tensor(0.2, requires_grad=True)
x = torch.tensor([-1.0, 2.0], requires_grad=True)
y = F.leaky_relu(x, negative_slope=float(slope))
y.sum().backward()
# %% cure
# grad: slope.grad == -1.0
slope = torch.tensor(0.2, requires_grad=True)
x = torch.tensor([-1.0, 2.0], requires_grad=True)
y = torch.where(x > 0, x, slope * x)
y.sum().backward()

# %% learned-alpha-of-elu | item | lab.why(s) | template: number-wanted
# says: left the graph by .item()
s = torch.tensor(3.0, requires_grad=True)
alpha = s.item()
x = torch.ones(3, requires_grad=True)
y = F.elu(x - 2, alpha=alpha)
y.sum().backward()

# %% straight-through-all-detached | detached | lab.why(w) | template: straight-through
# says: detach() handed on the numbers of
# grad: w.grad == [1.0, 2.0]
w = torch.tensor([0.2, 0.8], requires_grad=True)
q = (w + (torch.round(w) - w)).detach()
loss = (q * torch.tensor([1.0, 2.0], requires_grad=True)).sum()
loss.backward()

# %% hard-gate-all-detached | detached | lab.why(w) | template: straight-through
# says: detach() handed on the numbers of
# grad: w.grad == [3.0, 4.0]
w = torch.tensor([0.2, 0.8], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
hard = ((w > 0.5).float() - w + w).detach()
(hard * b).sum().backward()

# %% straight-through-as-it-should-be | as-computed | lab.why(w) | template: straight-through
# says: It is the derivative of
w = torch.tensor([0.2, 0.8], requires_grad=True)
q = w + (torch.round(w) - w).detach()
(q * torch.tensor([1.0, 2.0])).sum().backward()

# %% flag-set-inside-no-grad | no-grad | lab.why(w) | template: flag-under-no-grad
# says: y was computed from w under no_grad
# grad: w.grad == [6.0]
w = torch.tensor([1.0], requires_grad=True)
with torch.no_grad():
    y = w * 3
    y.requires_grad_()
    z = (y * 2).sum()
z.backward()

# %% one-hot-written-by-argmax | no-derivative | lab.why(logits) | template: choice-by-number
# says: only by a choice, and no gradient can come back: argmax has no derivative
logits = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = F.softmax(logits, dim=0)
hard = torch.zeros(3)
hard[y.argmax()] = 1.0
cost = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(hard * cost).sum().backward()

# %% element-at-the-argmax | no-derivative | lab.why(scores) | template: choice-by-number
# says: y depends on scores only by a choice
scores = torch.tensor([0.1, 0.7, 0.2], requires_grad=True)
x = torch.ones(3, requires_grad=True)
i = scores.argmax()
y = x[i] * 2
y.backward()

# %% branch-by-a-comparison | no-derivative | lab.why(scores) | template: choice-by-number
# says: only by a choice, and no gradient can come back: gt has no derivative
scores = torch.tensor([0.1, 0.7, 0.2], requires_grad=True)
x = torch.ones(3, requires_grad=True)
if scores.max() > 0.5:
    y = x * 2
else:
    y = x * 3
y.sum().backward()

# %% accuracy-of-another-net | not-connected | lab.why(net_b.weight) | template: other-net
# says: net_b.weight was used, but loss was not computed from that result
net_a, net_b = nn.Linear(2, 2), nn.Linear(2, 2)
x = torch.ones(3, 2)
acc = (net_b(x).argmax(1) == 0).float().mean()
loss = net_a(x).sum()
loss.backward()

# %% labels-asked-for-a-gradient | integer-tensor | lab.why(labels) | template: labels
# says: labels holds int64 numbers, which choose classes or elements
labels = torch.tensor([0, 1])
logits = torch.zeros(2, 2, requires_grad=True)
loss = F.cross_entropy(logits, labels)
loss.backward()

# %% exp-of-math | item | lab.why(log_scale) | template: math-function
# says: left the graph by math.exp()
# grad: float(log_scale.grad) == 2.6997176
log_scale = torch.tensor(0.3, requires_grad=True)
scale = math.exp(log_scale)
x = torch.ones(2, requires_grad=True)
(x * scale).sum().backward()

# %% losses-given-to-a-tensor-class | copied | lab.why(m.weight) | template: tensor-class
# says: copied
# grad: m.weight.grad == [[6.0, 6.0]]
m = nn.Linear(2, 1, bias=False)
nn.init.constant_(m.weight, 0.5)
losses = []
for x in torch.ones(3, 2):
    losses.append(m(x).pow(2).sum())
total = torch.Tensor(losses).sum()
total.requires_grad = True
total.backward()

# %% flag-misspelled | requires-grad-never-set | lab.why(w) | template: flag-without-effect
# says: `w.require_grad = True` has no effect, because the flag is not called require_grad
# grad: w.grad == [1.0, 1.0, 1.0]
w = torch.ones(3)
w.require_grad = True
x = torch.ones(3, requires_grad=True)
(w * x).sum().backward()

# %% flag-method-not-called | requires-grad-never-set | lab.why(w) | template: flag-without-effect
# says: `w.requires_grad_` without parentheses names the method and does not call it
# grad: w.grad == [1.0, 1.0, 1.0]
w = torch.ones(3)
w.requires_grad_
x = torch.ones(3, requires_grad=True)
(w * x).sum().backward()

# %% parameter-with-the-flag-off | requires-grad-never-set | lab.why(m.w) | template: flag-without-effect
# says: m.w does not require a gradient
# grad: m.w.grad == [1.0, 1.0]
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2), requires_grad=False)
        self.b = nn.Parameter(torch.zeros(2))

    def forward(self, x):
        return (x * self.w + self.b).sum()

m = M()
m(torch.ones(2)).backward()

# %% embedding-frozen-by-from-pretrained | requires-grad-never-set | lab.why(emb.weight) | template: pretrained
# says: emb.weight does not require a gradient
emb = nn.Embedding.from_pretrained(torch.ones(4, 2))
head = nn.Linear(2, 1)
head(emb(torch.tensor([0, 1]))).sum().backward()
# %% cure
# grad: emb.weight.grad is None == False
emb = nn.Embedding.from_pretrained(torch.ones(4, 2), freeze=False)
head = nn.Linear(2, 1)
head(emb(torch.tensor([0, 1]))).sum().backward()

# %% list-given-to-as-tensor | copied | lab.why(a) | template: tensor-class
# says: `v = torch.as_tensor([a, b])` copied the numbers of a
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
v = torch.as_tensor([a, b])
u = torch.tensor([1.0, 1.0], requires_grad=True)
(v * u).sum().backward()
