"""As they are asked: whole training programs, classes and helper functions, with one thing wrong."""

# %% train-function-without-backward | backward-never-called | lab.why(model.weight) | template: train-function
# says: nobody called backward()
def train(model, opt, x, y):
    opt.zero_grad()
    loss = F.mse_loss(model(x), y)
    opt.step()
    return loss

model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    train(model, opt, torch.ones(3, 2), torch.zeros(3, 1))

# %% trainer-class-keeps-history | running-total | lab.why(trainer.model.weight) | template: trainer
# says: self.total
class Trainer:
    def __init__(self):
        self.model = nn.Linear(2, 1)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.total = 0.0

    def fit(self, batches):
        for x in batches:
            loss = self.model(x).pow(2).mean()
            self.total = self.total + loss
            self.opt.zero_grad()
            self.total.backward()
            self.opt.step()

trainer = Trainer()
trainer.fit(torch.ones(3, 4, 2))

# %% update-loop-variable | overwritten-no-grad | lab.why(p) | template: update-loop-variable
# says: p
net = nn.Linear(2, 1)
net(torch.ones(1, 2)).sum().backward()
with torch.no_grad():
    for p in net.parameters():
        p = p - 0.1 * p.grad

# %% update-loop-in-place | inplace-leaf | lab.why(net.weight) | template: update-loop-variable
# says: A leaf
net = nn.Linear(2, 1)
for epoch in range(2):
    net.zero_grad()
    net(torch.ones(1, 2)).sum().backward()
    for p in net.parameters():
        p -= 0.1 * p.grad

# %% parameter-to-double | leaf-without-name | lab.why(m.w) | template: parameter-converted
# says: not a leaf
class Gain(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.ones(2, requires_grad=True) * 0.5

    def forward(self, x):
        return (x * self.w).sum()

m = Gain()
m(torch.ones(2)).backward()

# %% weights-in-a-list-forgotten | requires-grad-never-set | lab.why(weights[0]) | template: weights-in-a-list
# says: does not require a gradient
weights = [torch.ones(2, 2) for _ in range(2)]
x = torch.ones(1, 2, requires_grad=True)
for w in weights:
    x_next = torch.tanh(x @ w)
    x = x_next
x.sum().backward()

# %% hidden-state-through-a-function | carried-over | lab.why(wh) | template: state-through-function
# says: state
wh = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)

def cell(inp, h):
    return torch.tanh(inp + h @ wh)

opt = torch.optim.SGD([wh], lr=0.1)
state = torch.zeros(1, 2)
for t in range(3):
    state = cell(torch.ones(1, 2), state)
    loss = state.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()

# %% states-in-a-list | carried-over | lab.why(lin.weight) | template: state-in-container
# says: states
lin = nn.Linear(2, 2)
states = [torch.zeros(1, 2)]
for t in range(3):
    states[0] = torch.tanh(lin(states[0]))
    loss = states[0].pow(2).sum()
    lin.zero_grad()
    loss.backward()

# %% memory-in-a-dict | carried-over | lab.why(lin.weight) | template: state-in-container
# says: memory
lin = nn.Linear(2, 2)
memory = {"h": torch.ones(1, 2)}
for t in range(2):
    memory["h"] = torch.sigmoid(lin(memory["h"]))
    lin.zero_grad()
    memory["h"].mean().backward()

# %% moving-average-of-the-features | carried-over | lab.why(enc.weight) | template: moving-average
# says: center
enc = nn.Linear(2, 2)
opt = torch.optim.SGD(enc.parameters(), lr=0.1)
center = torch.zeros(2)
for batch in torch.ones(3, 4, 2):
    z = enc(batch)
    center = 0.9 * center + 0.1 * z.mean(0)
    loss = ((z - center) ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()

# %% loss-on-top-of-loss | freed-graph | lab.why(w) | template: loss-on-loss
# says: data_loss
# grad: w.grad == [16.0]
w = torch.tensor([2.0], requires_grad=True)
data_loss = (w ** 2).sum()
data_loss.backward()
total = data_loss * 2 + (w ** 2).sum()
total.backward()

# %% mask-set-in-place | inplace-saved | lab.why(w) | template: mask-in-place
# says: saved
# grad: w.grad is None == False
w = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
probs = torch.softmax(w, 0)
probs[probs < 0.1] = 0.0
loss = probs.pow(2).sum()
loss.backward()

# %% residual-added-in-place | inplace-saved | lab.why(conv.weight) | template: residual
# says: saved
# grad: conv.weight.grad is None == False
conv = nn.Linear(2, 2)
x = torch.ones(1, 2)
out = torch.relu(conv(x))
out += x
out.sum().backward()

# %% helper-divides-in-place | inplace-leaf | lab.why(v) | template: helper-in-place
# says: A leaf
def normalize(u):
    u /= u.norm()
    return u

v = torch.tensor([3.0, 4.0], requires_grad=True)
n = normalize(v)
n.sum().backward()

# %% list-of-items-as-loss | item | lab.why(net.weight) | template: sum-of-items
# says: Python number
net = nn.Linear(2, 1)
losses = []
for x in torch.ones(2, 1, 2):
    losses.append(net(x).pow(2).sum().item())
loss = sum(losses) / len(losses)
loss.backward()

# %% numpy-mean-as-loss | item | lab.why(net.weight) | template: sum-of-items
# says: number
net = nn.Linear(2, 1)
values = [net(x).sum().item() for x in torch.ones(3, 1, 2)]
loss = np.mean(values)
loss.backward()

# %% predictions-collected-as-floats | item | lab.why(net.weight) | template: collected
# says: left the graph by .item()
net = nn.Linear(2, 1)
preds = []
for row in torch.tensor([[1.0, 2.0], [3.0, 4.0]]):
    preds.append(net(row).item())
loss = F.mse_loss(torch.tensor(preds, requires_grad=True), torch.zeros(2))
loss.backward()

# %% loss-from-a-list-of-tensors | copied | lab.why(w) | template: collected
# says: copied the numbers
w = torch.tensor(1.0, requires_grad=True)
terms = []
for k in (1.0, 2.0, 3.0):
    terms.append(w * k)
loss = torch.tensor(terms, requires_grad=True).sum()
loss.backward()

# %% loss-as-variable | detached | lab.why(net.weight) | template: variable
# says: without their history
net = nn.Linear(1, 1)
out = net(torch.ones(3, 1)).mean()
loss = torch.autograd.Variable(out.detach(), requires_grad=True)
loss.backward()

# %% integers-asked-for-grad | integer-tensor | lab.why(x) | template: integers-arange
# says: int64
x = torch.arange(3)
y = (x * 2).sum()
x.requires_grad_()
y.backward()

# %% unused-head-in-grad | unused | lab.why(head_b.weight) | template: grad-of-unused
# says: head_b.weight was not used
body, head_a, head_b = nn.Linear(2, 2), nn.Linear(2, 1), nn.Linear(2, 1)
loss = head_a(body(torch.ones(1, 2))).sum()
grads = torch.autograd.grad(loss, [body.weight, head_a.weight, head_b.weight])

# %% eval-helper-used-for-training | no-grad | lab.why(clf.weight) | template: eval-helper
# says: under no_grad
clf = nn.Linear(2, 2)

@torch.no_grad()
def forward_pass(x):
    logits = clf(x)
    return logits

loss = F.cross_entropy(forward_pass(torch.ones(2, 2)), torch.tensor([0, 1]))
loss.backward()

# %% validation-switches-off-training | no-grad | lab.why(lin.weight) | template: validate
# says: under no_grad
lin = nn.Linear(2, 1)
x = torch.ones(4, 2)
with torch.no_grad():
    for phase in ("val", "train"):
        loss = lin(x).pow(2).mean()
        if phase == "train":
            loss.backward()

# %% top-k-indices-as-output | no-derivative | lab.why(scores) | template: indices
# says: has no derivative
scores = torch.tensor([0.1, 0.9, 0.4], requires_grad=True)
scale = torch.tensor(2.0, requires_grad=True)
best = torch.topk(scores, 2)[1]
loss = (best.float() * scale).sum()
loss.backward()

# %% sort-order-as-loss | no-derivative | lab.why(s) | template: indices
# says: has no derivative
s = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
ranks = s.argsort().float()
target = torch.tensor([0.0, 1.0, 2.0])
loss = ((ranks - target) ** 2).sum()
loss.backward()

# %% image-clamped-every-step | overwritten | lab.why(img) | template: image
# says: The name img was first a leaf
net = nn.Linear(4, 2)
img = torch.rand(1, 4, requires_grad=True)
for step in range(2):
    score = net(img)[0, 1]
    score.backward()
    img = torch.clamp(img, 0, 1)

# %% image-updated-and-detached | overwritten-no-grad | lab.why(img) | template: image
# says: img
net = nn.Linear(4, 2)
img = torch.zeros(1, 4, requires_grad=True)
for step in range(2):
    net(img)[0, 0].backward()
    img = img.detach() + 0.1 * img.grad.sign()

# %% copy-of-the-model-trained | not-in-optimizer | lab.why(model.weight) | template: copied-model
# says: opt.step()
import copy
model = nn.Linear(2, 1)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
old = model
model = copy.deepcopy(model)
for epoch in range(2):
    opt.zero_grad()
    model.zero_grad()
    loss = model(torch.ones(1, 2)).sum() + old(torch.ones(1, 2)).sum() * 0
    loss.backward()
    opt.step()

# %% advantage-not-detached-twice | freed-graph | lab.why(critic.weight) | template: advantage
# says: value
actor, critic = nn.Linear(2, 2), nn.Linear(2, 1)
obs = torch.tensor([[0.5, -0.5]])
value = torch.tanh(critic(obs))
advantage = 2.0 - value
actor_loss = (F.log_softmax(actor(obs), 1)[0, 0] * advantage).sum()
actor_loss.backward()
critic_loss = advantage.pow(2).sum()
critic_loss.backward()

# %% try-again-after-the-error | freed-graph | lab.why(w) | template: try-again
# says: loss
w = torch.tensor([1.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()
w.grad = None
try:
    loss.backward()
except RuntimeError as error:
    print("again:", error)

# %% error-caught-then-fine | as-computed | lab.why(w) | template: error-caught
# says: derivative of loss
w = torch.tensor([1.0, 2.0], requires_grad=True)
try:
    (w * 2).backward()
except RuntimeError:
    pass
loss = (w * 2).sum()
loss.backward()

# %% print-of-none-grad | backward-never-called | lab.why(w) | template: looked-early
# says: nobody called backward()
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
print(w.grad.norm())
loss.backward()

# %% grad-of-the-loss | not-leaf | lab.why(loss) | template: grad-of-loss
# says: loss is not a leaf
w = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (w * w).sum()
loss.backward()

# %% grad-of-the-output | not-leaf | lab.why(out) | template: grad-of-loss
# says: out is not a leaf
# grad: out.grad == [[2.0], [2.0]]
net = nn.Linear(2, 1)
x = torch.ones(2, 2)
out = net(x)
out.mul(2).sum().backward()

# %% bias-in-a-tuple | accumulated | lab.why(params[1]) | template: params-tuple
# says: 2 backward passes
params = (torch.tensor([1.0], requires_grad=True), torch.tensor([0.0], requires_grad=True))
for x in (1.0, 2.0):
    y = params[0] * x + params[1]
    y.sum().backward()

# %% second-optimizer-never-cleared | not-in-optimizer | lab.why(disc.weight) | template: two-optimizers
# says: opt_g.zero_grad()
gen, disc = nn.Linear(1, 1), nn.Linear(1, 1)
opt_g = torch.optim.SGD(gen.parameters(), lr=0.1)
for step in range(2):
    opt_g.zero_grad()
    loss = disc(gen(torch.ones(1, 1))).sum()
    loss.backward()
    opt_g.step()

# %% frozen-backbone-by-mistake | frozen | lab.why(model.head.weight) | template: frozen-module
# says: model.head.weight does not require a gradient
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.head = nn.Linear(2, 1)
        for p in self.parameters():
            p.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.relu(self.body(x)))

model = Model()
x = torch.ones(1, 2, requires_grad=True)
model(x).sum().backward()

# %% ema-weights-in-the-graph | carried-over | lab.why(w) | template: ema
# says: ema
w = torch.tensor([1.0, 2.0], requires_grad=True)
ema = torch.zeros(2)
for step in range(2):
    ema = 0.9 * ema + 0.1 * w ** 2
    loss = ((w - ema) ** 2).sum()
    w.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad

# %% truncated-too-late | carried-over | lab.why(rnn.weight_ih_l0) | template: rnn-outputs
# says: h
rnn = nn.RNN(1, 2)
h = torch.zeros(1, 1, 2)
for chunk in torch.ones(2, 3, 1, 1):
    out, h_new = rnn(chunk, h)
    loss = out.sum()
    rnn.zero_grad()
    loss.backward()
    h = h_new

# %% penalty-added-by-item | partly-cut | lab.why(w) | template: penalty
# says: another way
w = torch.tensor([1.0, -1.0], requires_grad=True)
data = (w * torch.tensor([2.0, 3.0])).sum()
l2 = (w * w).sum()
loss = data + l2.data
loss.backward()

# %% attention-weights-detached | partly-cut | lab.why(q) | template: attention
# says: another way
q = torch.tensor([[1.0, 0.0]], requires_grad=True)
k = torch.tensor([[1.0, 2.0], [0.5, 1.0]])
att = torch.softmax(q @ k.T, -1)
loss = (att.detach() @ k).sum() + q.sum()
loss.backward()

# %% column-minus-row | all-pairs | lab.why(net.weight) | template: column-and-row
# says: pred has the shape [4, 1] and y the shape [4], so broadcasting compares every number of pred with every number of y
# grad: net.weight.grad == [[-15.0]]
net = nn.Linear(1, 1, bias=False)
nn.init.constant_(net.weight, 1.0)
x = torch.tensor([[1.0], [2.0], [3.0], [4.0]])
y = torch.tensor([2.0, 4.0, 6.0, 8.0])
pred = net(x)
loss = ((pred - y) ** 2).mean()
loss.backward()

# %% loss-of-a-column-and-a-row | all-pairs | lab.why(model.lin.weight) | template: column-and-row
# says: 8 x 8 pairs instead of 8
# grad: model.lin.weight.grad is None == False
class Reg(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 1)

    def forward(self, x):
        return self.lin(x)

model = Reg()
X, Y = torch.randn(8, 2), torch.randn(8)
crit = nn.L1Loss()
loss = crit(model(X), Y)
loss.backward()

# %% row-of-one-minus-row | as-computed | lab.why(w) | template: column-and-row
# says: It is the derivative of
w = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
b = torch.tensor([1.0, 2.0, 4.0])
((w - b) ** 2 + w).sum().backward()
