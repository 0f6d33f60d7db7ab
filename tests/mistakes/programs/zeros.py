"""A gradient is zero, in places or everywhere, or next to zero."""

# %% softmax-summed | constant-sum | lab.why(s) | template: sum-of-softmax
# says: always add up to 1
s = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
p = torch.softmax(s, dim=0)
total = p.sum()
total.backward()
# %% cure
# grad: s.grad == [0.04201, 0.1142, -0.15621]
s = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
p = torch.softmax(s, dim=0)
total = -p.log()[2]
total.backward()

# %% classifier-mean-of-probabilities | constant-sum | lab.why(model[0].weight) | template: sum-of-softmax
# says: always add up to 1
torch.manual_seed(1)
model = nn.Sequential(nn.Linear(3, 4), nn.Softmax(dim=1))
x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]])
loss = model(x).mean()
loss.backward()

# %% one-logit-cross-entropy | constant-sum | lab.why(net.weight) | template: one-class
# says: softmax of a single number is always 1
net = nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
y = torch.tensor([0, 0, 0])
criterion = nn.CrossEntropyLoss()
for epoch in range(2):
    net.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
# %% cure
# grad: net.weight.grad == [[0.92331, -0.12524]]
net = nn.Linear(2, 1)
with torch.no_grad():
    net.weight.copy_(torch.tensor([[0.5, -0.5]]))
    net.bias.zero_()
x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
y = torch.tensor([[0.0], [0.0], [1.0]])
criterion = nn.BCEWithLogitsLoss()
loss = criterion(net(x), y)
loss.backward()

# %% softmax-over-the-wrong-dim | constant-sum | lab.why(w) | template: one-class
# says: softmax of a single number is always 1
w = torch.tensor([0.3, -0.2, 0.8], requires_grad=True)
x = torch.tensor([1.0, 2.0, 3.0])
logits = (w * x).unsqueeze(1)
probs = torch.softmax(logits, dim=1)
loss = ((probs - 0.5) ** 2).sum()
loss.backward()

# %% layer-norm-summed | constant-sum | lab.why(h) | template: sum-of-normalized
# says: mean of 0 whatever the input is
h = torch.tensor([[1.0, 2.0, 4.0], [0.0, -1.0, 3.0]], requires_grad=True)
norm = nn.LayerNorm(3)
out = norm(h)
out.sum().backward()

# %% batch-norm-mean | constant-sum | lab.why(x) | template: sum-of-normalized
# says: mean of 0 whatever the input is
x = torch.tensor([[1.0], [2.0], [4.0], [9.0]], requires_grad=True)
bn = nn.BatchNorm1d(1)
loss = bn(x).mean()
loss.backward()

# %% centered-by-hand | constant-sum | lab.why(x) | template: normalize-by-hand
# says: minus its own mean
x = torch.tensor([3.0, 5.0, 10.0], requires_grad=True)
centered = x - x.mean()
loss = centered.sum()
loss.backward()

# %% softmax-by-hand | constant-sum | lab.why(z) | template: normalize-by-hand
# says: divided by its own sum
z = torch.tensor([0.5, 1.5, -1.0], requires_grad=True)
e = z.exp()
probs = e / e.sum()
out = probs.sum()
out.backward()

# %% up-and-down | cancellation | lab.why(w) | template: messages
# says: messages arrive at
w = torch.tensor([1.0, -3.0], requires_grad=True)
gain = (w * 2).sum()
penalty = (2 * w).sum()
loss = gain - penalty
loss.backward()
# %% cure
# grad: w.grad == [4.0, 4.0]
w = torch.tensor([1.0, -3.0], requires_grad=True)
gain = (w * 2).sum()
penalty = (2 * w).sum()
loss = gain + penalty
loss.backward()

# %% siamese-difference | cancellation | lab.why(embed) | template: messages
# says: messages arrive at
embed = torch.tensor([[0.5, 0.25], [1.0, -1.0]], requires_grad=True)
x = torch.tensor([1.0, 2.0])
left = x @ embed
right = x @ embed
loss = (left - right).sum()
loss.backward()

# %% shared-bias-in-a-difference | broadcast-cancels | lab.why(b) | template: broadcast
# says: used 4 times by broadcasting
scores = torch.tensor([1.0, 4.0, 2.0, 3.0])
b = torch.tensor(0.5, requires_grad=True)
shifted = scores + b
contrast = torch.tensor([1.0, -1.0, 1.0, -1.0])
loss = (shifted * contrast).sum()
loss.backward()

# %% bias-before-batch-norm | broadcast-cancels | lab.why(fc.bias) | template: broadcast
# says: is the sum of what comes back
torch.manual_seed(3)
fc = nn.Linear(2, 3)
bn = nn.BatchNorm1d(3)
x = torch.tensor([[1.0, 0.5], [0.3, -1.0], [2.0, 1.0], [-1.0, 0.7]])
target = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.5], [0.3, 0.2, 0.1]])
loss = F.mse_loss(bn(fc(x)), target)
loss.backward()

# %% regression-on-balanced-labels | cancellation | lab.why(w) | template: matmul-cancels
# says: each number it sends is a sum
x = torch.tensor([[1.0, 2.0], [1.0, 2.0]])
y = torch.tensor([[1.0], [-1.0]])
w = torch.zeros(2, 1, requires_grad=True)
loss = ((x @ w - y) ** 2).mean()
loss.backward()

# %% hundred-sigmoids | underflow | lab.why(h) | template: deep-chain
# says: x sigmoid
h = torch.tensor(0.659, requires_grad=True)
out = h
for _ in range(100):
    out = torch.sigmoid(out)
out.backward()

# %% scaled-down-again-and-again | underflow | lab.why(w) | template: deep-chain
# says: smallest number of float32
w = torch.tensor([2.0, 3.0], requires_grad=True)
y = w
for step in range(20):
    y = y * 0.001
loss = y.sum()
loss.backward()

# %% half-precision-loss | underflow | lab.why(w) | template: half
# says: smallest number of float16
w = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
x = torch.tensor([0.001, 0.0005], dtype=torch.float16)
loss = (w * x).sum()
loss.backward(torch.tensor(1e-5, dtype=torch.float16))
# %% cure
# grad: w.grad.float() / 1024 == [1e-8, 5e-9]
w = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
x = torch.tensor([0.001, 0.0005], dtype=torch.float16)
loss = (w * x).sum()
loss.backward(torch.tensor(1e-5 * 1024, dtype=torch.float16))

# %% vanishing-rnn | vanishing | lab.why(w_in) | template: vanish
# says: The gradient is not 0, but at most
w_in = torch.tensor(0.5, requires_grad=True)
w_rec = torch.tensor(0.1)
h = w_in * 1.0
for t in range(25):
    h = torch.tanh(w_rec * h)
loss = h ** 1
loss.backward()
# %% cure
# grad: w_in.grad == 1.0
w_in = torch.tensor(0.5, requires_grad=True)
w_rec = torch.tensor(1.0)
h = w_in * 1.0
for t in range(25):
    h = torch.relu(w_rec * h)
loss = h ** 1
loss.backward()

# %% deep-sigmoid-net | vanishing | lab.why(layers[0].weight) | template: vanish
# says: x sigmoid
torch.manual_seed(0)
layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(30)])
h = torch.tensor([[1.0, -1.0, 0.5, 2.0]])
for layer in layers:
    h = torch.sigmoid(layer(h))
loss = h.sum()
loss.backward()

# %% dead-hidden-layer | dead-relu | lab.why(net[0].weight) | template: dead-relu-net
# says: nowhere above 0
net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
with torch.no_grad():
    net[0].bias.fill_(-10.0)
x = torch.tensor([[0.5, 0.1], [1.0, -0.3], [0.2, 0.9]])
loss = net(x).pow(2).mean()
loss.backward()
# %% cure
# grad: (net[0].weight.grad != 0).any().float() == 1.0
net = nn.Sequential(nn.Linear(2, 3), nn.LeakyReLU(), nn.Linear(3, 1))
with torch.no_grad():
    net[0].bias.fill_(-10.0)
x = torch.tensor([[0.5, 0.1], [1.0, -0.3], [0.2, 0.9]])
loss = net(x).pow(2).mean()
loss.backward()

# %% relu-on-the-output | dead-relu | lab.why(theta) | template: dead-relu-net
# says: nowhere above 0
theta = torch.tensor([-1.0, -2.0], requires_grad=True)
features = torch.tensor([[1.0, 1.0], [2.0, 0.5]])
pred = F.relu(features @ theta)
target = torch.tensor([1.0, 2.0])
loss = ((pred - target) ** 2).mean()
loss.backward()

# %% one-dead-unit | dead-relu | lab.why(W) | template: partly-dead
# says: 2 of the 4 elements of W.grad are 0: row 1
W = torch.tensor([[1.0, 2.0], [-3.0, -1.0]], requires_grad=True)
x = torch.tensor([1.0, 0.5])
h = torch.relu(W @ x)
loss = h.sum()
loss.backward()

# %% sigmoid-of-raw-pixels | saturated | lab.why(w) | template: saturated
# says: sigmoid is so flat
w = torch.tensor([1.0, 2.0], requires_grad=True)
pixels = torch.tensor([200.0, 255.0])
p = torch.sigmoid((w * pixels).sum())
loss = (p - 0.0) ** 2
loss.backward()
# %% cure
# grad: (w.grad != 0).all().float() == 1.0
w = torch.tensor([1.0, 2.0], requires_grad=True)
pixels = torch.tensor([200.0, 255.0]) / 255
p = torch.sigmoid((w * pixels).sum())
loss = (p - 0.0) ** 2
loss.backward()

# %% softmax-twice-saturated | saturated | lab.why(logits) | template: saturated
# says: the softmax is exactly 0 or 1 in float32
logits = torch.tensor([[200.0, 0.0, -200.0]], requires_grad=True)
probs = F.softmax(logits, dim=1)
loss = F.cross_entropy(probs, torch.tensor([1]))
loss.backward()

# %% reward-clamped | clamped | lab.why(action) | template: clamp
# says: lies outside of the limits
action = torch.tensor([1.7, -2.2], requires_grad=True)
bounded = action.clamp(-1, 1)
cost = (bounded ** 2).sum()
cost.backward()
# %% cure
# grad: action.grad == [0.23387, -0.09353]
action = torch.tensor([1.7, -2.2], requires_grad=True)
bounded = torch.tanh(action)
cost = (bounded ** 2).sum()
cost.backward()

# %% hinge-loss-satisfied | clamped | lab.why(w) | template: clamp
# says: lies outside of the limits
w = torch.tensor([2.0, -1.0], requires_grad=True)
x = torch.tensor([[1.0, 0.0], [0.5, -3.0]])
y = torch.tensor([1.0, 1.0])
margins = 1 - y * (x @ w)
loss = margins.clamp(min=0).mean()
loss.backward()

# %% accuracy-as-a-loss | flat-function | lab.why(w) | template: staircase
# says: is a staircase
w = torch.tensor([0.4, -0.3], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [3.0, 1.0]])
pred = torch.round(torch.sigmoid(x @ w))
loss = (pred - torch.tensor([1.0, 0.0])).abs().mean()
loss.backward()
# %% cure
# grad: (w.grad != 0).all().float() == 1.0
w = torch.tensor([0.4, -0.3], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [3.0, 1.0]])
soft = torch.sigmoid(x @ w)
pred = soft + (soft.round() - soft).detach()
loss = (pred - torch.tensor([1.0, 0.0])).abs().mean()
loss.backward()

# %% quantized-weights | flat-function | lab.why(weight) | template: staircase
# says: is a staircase
weight = torch.tensor([0.12, -0.57, 1.4], requires_grad=True)
quantized = torch.floor(weight * 4) / 4
loss = (quantized * torch.tensor([1.0, 2.0, 3.0])).sum()
loss.backward()

# %% sign-network | flat-function | lab.why(w) | template: staircase
# says: is a staircase
w = torch.tensor([0.5, -1.5], requires_grad=True)
binary = torch.sign(w)
out = (binary * torch.tensor([2.0, 3.0])).sum()
out.backward()

# %% zero-initialized-net | multiplied-by-zero | lab.why(fc1.weight) | template: zero-init
# says: it multiplies by
fc1, fc2 = nn.Linear(2, 3), nn.Linear(3, 1)
for layer in (fc1, fc2):
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
x = torch.tensor([[1.0, 2.0], [0.5, -1.0]])
loss = (fc2(torch.tanh(fc1(x))) - 1).pow(2).mean()
loss.backward()
# %% cure
# grad: (fc1.weight.grad != 0).any().float() == 1.0
fc1, fc2 = nn.Linear(2, 3), nn.Linear(3, 1)
x = torch.tensor([[1.0, 2.0], [0.5, -1.0]])
loss = (fc2(torch.tanh(fc1(x))) - 1).pow(2).mean()
loss.backward()

# %% gate-at-zero | multiplied-by-zero | lab.why(body) | template: zero-init
# says: it multiplies by alpha
alpha = torch.tensor(0.0, requires_grad=True)
body = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
x = torch.tensor([1.0, -1.0])
out = x + alpha * (body @ x)
out.sum().backward()

# %% padding-mask-all-zero | multiplied-by-zero | lab.why(scores) | template: mask
# says: it multiplies by mask
scores = torch.tensor([0.3, 0.9, -0.4], requires_grad=True)
mask = torch.zeros(3)
loss = (scores * mask).sum()
loss.backward()

# %% dropout-of-everything | multiplied-by-zero | lab.why(w) | template: mask
# says: sent 0 to
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
h = F.dropout(w * 2, p=1.0, training=True)
h.sum().backward()

# %% masked-positions | multiplied-by-zero | lab.why(x) | template: partly-masked
# says: 2 of the 4 elements of x.grad are 0: [1] and [3]
x = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
keep = torch.tensor([1.0, 0.0, 1.0, 0.0])
((x * keep) ** 2).sum().backward()

# %% all-targets-ignored | nothing-counted | lab.why(head.weight) | template: ignored
# says: the ignore_index
head = nn.Linear(3, 4)
tokens = torch.tensor([[0.1, 0.2, 0.3], [0.5, 0.4, 0.6]])
labels = torch.tensor([-100, -100])
loss = F.cross_entropy(head(tokens), labels)
loss.backward()

# %% padding-labels-only | nothing-counted | lab.why(logits) | template: ignored
# says: are 0, the ignore_index
PAD = 0
logits = torch.tensor([[1.0, 2.0, 0.5], [0.3, 0.1, 0.2]], requires_grad=True)
targets = torch.full((2,), PAD)
criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")
criterion(logits, targets).backward()

# %% class-weights-of-zero | nothing-counted | lab.why(logits) | template: ignored
# says: all have the weight 0
logits = torch.tensor([[1.0, 2.0], [0.3, 0.1]], requires_grad=True)
weights = torch.tensor([0.0, 1.0])
target = torch.tensor([0, 0])
loss = F.cross_entropy(logits, target, weight=weights, reduction="sum")
loss.backward()

# %% only-padding-in-the-batch | nothing-counted | lab.why(emb.weight) | template: padding
# says: the padding_idx
emb = nn.Embedding(5, 3, padding_idx=0)
batch = torch.tensor([[0, 0], [0, 0]])
emb(batch).sum().backward()
# %% cure
# grad: emb.weight.grad[2] == [1.0, 1.0, 1.0]
emb = nn.Embedding(5, 3, padding_idx=0)
batch = torch.tensor([[2, 0], [0, 0]])
emb(batch).sum().backward()

# %% padding-row-learns-nothing | nothing-counted | lab.why(table.weight) | template: padding
# says: row 0
table = nn.Embedding(3, 2, padding_idx=0)
sentence = torch.tensor([1, 2, 0, 0])
loss = (table(sentence) ** 2 + table(sentence)).sum()
loss.backward()

# %% empty-selection | nothing-counted | lab.why(x) | template: empty
# says: has no elements
x = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
chosen = x[x > 5.0]
loss = chosen.sum()
loss.backward()

# %% words-that-did-not-occur | not-chosen | lab.why(emb.weight) | template: partly-chosen
# says: embedding took other elements
emb = nn.Embedding(4, 2)
words = torch.tensor([1, 1, 3])
emb(words).sum().backward()

# %% max-pooling-loser | not-chosen | lab.why(b) | template: choice
# says: took other elements
a = torch.tensor([1.0, 5.0], requires_grad=True)
b = torch.tensor([0.5, 2.0], requires_grad=True)
best = torch.maximum(a, b)
best.sum().backward()
# %% cure
# grad: b.grad == [0.377541, 0.047426]
a = torch.tensor([1.0, 5.0], requires_grad=True)
b = torch.tensor([0.5, 2.0], requires_grad=True)
best = torch.logsumexp(torch.stack([a, b]), dim=0)
best.sum().backward()

# %% where-takes-the-other-branch | not-chosen | lab.why(slow) | template: choice
# says: where took other elements
fast = torch.tensor([2.0, 3.0], requires_grad=True)
slow = torch.tensor([1.0, 1.0], requires_grad=True)
speed = torch.tensor([10.0, 20.0])
out = torch.where(speed > 5, fast * 2, slow * 3)
out.sum().backward()

# %% last-time-step-only | not-chosen | lab.why(frames) | template: choice
# says: elements of frames.grad are 0
frames = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], requires_grad=True)
last = frames[-1]
(last ** 2).sum().backward()

# %% buffer-overwritten | replaced | lab.why(w) | template: replaced
# says: was overwritten here
w = torch.tensor([1.0, 2.0], requires_grad=True)
buffer = w * 3
buffer.fill_(1.0)
loss = (buffer ** 2).sum()
loss.backward()
# %% cure
# grad: w.grad == [18.0, 36.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
buffer = w * 3
ones = torch.ones(2)
loss = (buffer ** 2).sum() + ones.sum()
loss.backward()

# %% at-the-minimum | flat-here | lab.why(w) | template: stationary
# says: the derivative of
w = torch.tensor(2.0, requires_grad=True)
target = torch.tensor(2.0)
loss = F.mse_loss(w, target)
loss.backward()

# %% square-at-zero | flat-here | lab.why(theta) | template: stationary
# says: the derivative of pow is 0 at theta = 0
theta = torch.tensor(0.0, requires_grad=True)
loss = theta ** 2 + 1
loss.backward()

# %% cosine-at-zero | flat-here | lab.why(angle) | template: stationary
# says: the derivative of cos is 0 at angle = 0
angle = torch.tensor(0.0, requires_grad=True)
height = torch.cos(angle)
height.backward()

# %% kink-of-abs | flat-here | lab.why(error) | template: kink
# says: has a kink at
error = torch.tensor([0.0, 0.0], requires_grad=True)
loss = error.abs().sum()
loss.backward()
# %% cure
# grad: error.grad == (error / (error ** 2 + 1.0).sqrt()).tolist()
error = torch.tensor([0.5, -0.5], requires_grad=True)
loss = (error ** 2 + 1.0).sqrt().sum()
loss.backward()

# %% gradient-of-ones-forgotten | zero-seed | lab.why(x) | template: seed
# says: was started with is zero
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
y.backward(torch.zeros_like(y))
# %% cure
# grad: x.grad == [3.0, 3.0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
y.backward(torch.ones_like(y))

# %% clipping-hook | hook-changed | lab.why(w) | template: hook
# says: changed the gradient from
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.register_hook(lambda g: torch.clamp(g, -0.0, 0.0))
h.sum().backward()
# %% cure
# grad: w.grad == [2.0, 2.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 2
h.register_hook(lambda g: torch.clamp(g, -1.0, 1.0))
h.sum().backward()

# %% function-backward-of-zeros | function-zero | lab.why(x) | template: function
# says: what its backward returned
class Threshold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        return torch.zeros_like(g)


x = torch.tensor([1.0, -1.0], requires_grad=True)
Threshold.apply(x).sum().backward()
# %% cure
# grad: x.grad == [1.0, 1.0]
class Threshold(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return (x > 0).float()

    @staticmethod
    def backward(ctx, g):
        return g


x = torch.tensor([1.0, -1.0], requires_grad=True)
Threshold.apply(x).sum().backward()

# %% second-derivative-of-a-line | constant-derivative | lab.why(x) | template: second
# says: first derivative
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (3 * x).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
g.sum().backward()

# %% penalty-on-a-linear-critic | constant-derivative | lab.why(critic.bias) | template: second
# says: first derivative
critic = nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
score = critic(x).sum()
(grad_x,) = torch.autograd.grad(score, x, create_graph=True)
penalty = (grad_x.norm() - 1) ** 2
penalty.backward()

# %% curvature-of-abs | constant-derivative | lab.why(x) | template: second
# says: derivative is a constant
x = torch.tensor(1.5, requires_grad=True)
(slope,) = torch.autograd.grad(x.abs(), x, create_graph=True)
slope.backward()

# %% likelihood-as-a-product | underflow | lab.why(net.weight) | template: long-product
# says: none of them is 0, but the product became 0
net = nn.Linear(1, 1)
with torch.no_grad():
    net.weight.fill_(0.1)
    net.bias.fill_(-3.0)
x = torch.ones(200, 1)
p = torch.sigmoid(net(x))
likelihood = p.prod()
likelihood.backward()

# %% likelihood-in-a-loop | underflow | lab.why(theta) | template: long-product
# says: prob, which became 0 in the forward pass
theta = torch.tensor(-3.0, requires_grad=True)
prob = 1.0
for d in torch.zeros(50):
    p = torch.sigmoid(theta)
    prob = prob * p
nll = -prob
nll.backward()

# %% gate-at-zero-times-five | multiplied-by-zero | lab.why(w) | template: gate
# says: it multiplies by g2 = 0
w = torch.tensor([2.0, 3.0], requires_grad=True)
gate = torch.tensor(0.0, requires_grad=True)
g2 = gate * 5
(w * g2).sum().backward()

# %% straight-through-without-detach | cancellation | lab.why(w) | template: straight-through-forgotten
# says: They add up to 0
w = torch.tensor([0.2, 0.8], requires_grad=True)
q = w + (torch.round(w) - w)
(q * torch.tensor([1.0, 2.0])).sum().backward()
# %% cure
# grad: w.grad == [1.0, 2.0]
w = torch.tensor([0.2, 0.8], requires_grad=True)
q = w + (torch.round(w) - w).detach()
(q * torch.tensor([1.0, 2.0])).sum().backward()

# %% padding-among-other-rows | not-chosen | lab.why(emb.weight) | template: padding-row
# says: row 0 is the padding_idx, which gets no gradient though it was looked up
emb = nn.Embedding(4, 2, padding_idx=0)
ids = torch.tensor([0, 0, 2])
emb(ids).sum().backward()

# %% cumulative-product-with-a-zero | multiplied-by-zero | lab.why(alphas) | template: cumprod
# says: other elements of alphas are 0 there
alphas = torch.tensor([0.5, 0.0, 0.3, 0.2], requires_grad=True)
T = torch.cumprod(alphas, 0)
T[-1].backward()

# %% mean-of-one-softmax | constant-sum | lab.why(s) | template: softmax-mean
# says: The probabilities of a softmax always add up to 1, so a change of s changes nothing
s = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
score = torch.softmax(s, 0).mean()
score.backward()

# %% huge-logits-in-cross-entropy | saturated | lab.why(net.weight) | template: huge-logits
# says: the softmax is exactly 0 or 1 in float32
net = nn.Linear(2, 3)
with torch.no_grad():
    net.weight.copy_(torch.tensor([[500.0, 500.0], [0.0, 0.0], [-500.0, -500.0]]))
    net.bias.zero_()
F.cross_entropy(net(torch.ones(2, 2)), torch.tensor([0, 0])).backward()

# %% second-derivative-of-a-relu | constant-derivative | lab.why(x) | template: second-of-relu
# says: this node is part of the derivative of relu, which is made of straight pieces
x = torch.tensor([0.5, 1.5], requires_grad=True)
y = torch.relu(2 * x).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
g.sum().backward()
