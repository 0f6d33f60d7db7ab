"""A gradient holds nan or inf: where the first one was born."""

# %% attention-row-all-masked | masked-row | lab.why(values) | template: masked-attention
# says: row 1 of
scores = torch.tensor([[0.1, 0.5], [0.3, 0.2]])
mask = torch.tensor([[False, True], [True, True]])
weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
values = torch.tensor([[1.0], [2.0]], requires_grad=True)
out = (weights @ values).sum()
out.backward()
# %% cure
# grad: values.grad == [[1.52498], [0.47502]]
scores = torch.tensor([[0.1, 0.5], [0.3, 0.2]])
mask = torch.tensor([[False, True], [False, False]])
weights = torch.softmax(scores.masked_fill(mask, float("-inf")), dim=-1)
values = torch.tensor([[1.0], [2.0]], requires_grad=True)
out = (weights @ values).sum()
out.backward()

# %% self-attention-of-padding | masked-row | lab.why(q_proj.weight) | template: masked-attention
# says: which hold nothing but -inf
torch.manual_seed(0)
q_proj, k_proj = nn.Linear(2, 2), nn.Linear(2, 2)
tokens = torch.tensor([[1.0, 0.5], [0.2, 0.1], [0.0, 0.0]])
padding = torch.tensor([True, True, True])
att = q_proj(tokens) @ k_proj(tokens).T / math.sqrt(2)
att = att + torch.where(padding, float("-inf"), 0.0)
probs = F.softmax(att, dim=-1)
(probs @ tokens).sum().backward()

# %% log-softmax-over-forbidden-actions | masked-row | lab.why(logits) | template: masked-attention
# says: row 0 of
logits = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
legal = torch.tensor([[False, False, False]])
forbidden = torch.zeros(1, 3).masked_fill(~legal, float("-inf"))
logp = F.log_softmax(logits + forbidden, dim=1)
loss = -logp[0, 2]
loss.backward()

# %% nan-in-a-feature | nan-input | lab.why(model.weight) | template: data
# says: came in with nan in it (x[1, 0] = nan)
model = nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0], [float("nan"), 0.5]])
y = torch.tensor([[1.0], [0.0]])
loss = F.mse_loss(model(x), y)
loss.backward()
# %% cure
# grad: model.weight.grad.isfinite().all().float() == 1.0
model = nn.Linear(2, 1)
x = torch.tensor([[1.0, 2.0], [float("nan"), 0.5]])
y = torch.tensor([[1.0], [0.0]])
fine = torch.isfinite(x).all(dim=1)
loss = F.mse_loss(model(x[fine]), y[fine])
loss.backward()

# %% column-of-constants-standardized-in-numpy | nan-input | lab.why(w) | template: data
# says: came in with nan in it
raw = np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]], dtype=np.float32)
scaled = (raw - raw.mean(0)) / raw.std(0)
features = torch.tensor(scaled)
w = torch.zeros(2, requires_grad=True)
loss = ((features @ w - 1.0) ** 2).mean()
loss.backward()

# %% infinite-target | nan-input | lab.why(w) | template: data
# says: target came in with inf in it
w = torch.tensor([1.0, 2.0], requires_grad=True)
target = torch.tensor([float("inf"), 1.0])
loss = ((w - target) ** 2).mean()
loss.backward()

# %% distance-to-itself | nan-backward | lab.why(points) | template: distance
# says: The loss is finite, but the rule of SqrtBackward0
points = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
diff = points.unsqueeze(0) - points.unsqueeze(1)
dist = (diff ** 2).sum(-1).sqrt()
dist.sum().backward()
# %% cure
# grad: points.grad == [[-1.41421, -1.41421], [1.41421, 1.41421]]
points = torch.tensor([[0.0, 1.0], [2.0, 3.0]], requires_grad=True)
diff = points.unsqueeze(0) - points.unsqueeze(1)
dist = ((diff ** 2).sum(-1) + 1e-12).sqrt()
dist.sum().backward()

# %% unit-vector-of-zero | nan-backward | lab.why(v) | template: distance
# says: turned the incoming
v = torch.tensor([0.0, 0.0], requires_grad=True)
length = torch.sqrt(torch.sum(v * v))
length.backward()

# %% root-mean-square-at-start | nan-backward | lab.why(w) | template: distance
# says: turned the incoming
w = torch.zeros(3, requires_grad=True)
rmse = torch.sqrt(F.mse_loss(w, torch.zeros(3)))
rmse.backward()

# %% square-root-as-a-power | nan-backward | lab.why(area) | template: power
# says: PowBackward0 turned the incoming
area = torch.tensor([0.0, 4.0], requires_grad=True)
side = area ** 0.5
side.sum().backward()

# %% angle-of-parallel-vectors | nan-backward | lab.why(a) | template: acos
# says: AcosBackward0 turned the incoming
a = torch.tensor([1.0, 0.0], requires_grad=True)
b = torch.tensor([2.0, 0.0])
cosine = (a * b).sum() / 2.0
angle = torch.acos(cosine)
angle.backward()
# %% cure
# grad: a.grad.isfinite().all().float() == 1.0
a = torch.tensor([1.0, 0.0], requires_grad=True)
b = torch.tensor([2.0, 0.0])
cosine = (a * b).sum() / 2.0
angle = torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
angle.backward()

# %% log-of-negative-ratio | outside-domain | lab.why(w) | template: domain
# says: a[1] = -2
w = torch.tensor([1.0, -1.0], requires_grad=True)
a = w * 2
root = a.log().sqrt()
root.sum().backward()
# %% cure
# grad: w.grad == (1 / (2 * w * (w * 2).log().sqrt())).tolist()
w = torch.tensor([1.0, 3.0], requires_grad=True)
a = w * 2
root = a.log().sqrt()
root.sum().backward()

# %% volatility-of-negative-variance | outside-domain | lab.why(beta) | template: domain
# says: sqrt gave nan from variance
beta = torch.tensor(-0.5, requires_grad=True)
variance = 1.0 + 4.0 * beta
sigma = variance.sqrt()
loss = (sigma - 0.2) ** 2
loss.backward()
# %% cure
# grad: beta.grad.isfinite().float() == 1.0
beta = torch.tensor(-0.5, requires_grad=True)
variance = (1.0 + 4.0 * beta).clamp(min=1e-6)
sigma = variance.sqrt()
loss = (sigma - 0.2) ** 2
loss.backward()

# %% cube-root-of-negative | outside-domain | lab.why(x) | template: domain
# says: x[1] = -8
x = torch.tensor([8.0, -8.0], requires_grad=True)
y = x ** (1 / 3)
y.sum().backward()

# %% cosine-a-bit-above-one | outside-domain | lab.why(u) | template: acos
# says: acos gave nan
u = torch.tensor([1.0, 1.0], requires_grad=True)
cos = (u * u).sum() * 0.50001
angle = torch.acos(cos)
angle.backward()

# %% log-of-a-probability-of-zero | log-of-zero | lab.why(p) | template: entropy
# says: p[0] = 0
p = torch.tensor([0.0, 0.4, 0.6], requires_grad=True)
entropy = -(p * torch.log(p)).sum()
entropy.backward()
# %% cure
# grad: p.grad == [27.6310, -0.083709, -0.489174]
p = torch.tensor([0.0, 0.4, 0.6], requires_grad=True)
entropy = -(p * torch.log(p + 1e-12)).sum()
entropy.backward()

# %% cross-entropy-by-hand | log-of-zero | lab.why(z) | template: entropy
# says: log gave
z = torch.tensor([[200.0, 0.0]], requires_grad=True)
probs = z.softmax(dim=1)
onehot = torch.tensor([[1.0, 0.0]])
loss = -(onehot * probs.log()).sum()
loss.backward()

# %% policy-gradient-log-prob | log-of-zero | lab.why(theta) | template: entropy
# says: log gave -inf
theta = torch.tensor(-120.0, requires_grad=True)
prob = torch.sigmoid(theta)
loss = -torch.log(prob) * 1.5
loss.backward()

# %% mean-over-an-empty-mask | nothing-counted | lab.why(pred) | template: masked-mean
# says: div gave nan
pred = torch.tensor([0.5, 0.7], requires_grad=True)
target = torch.tensor([1.0, 0.0])
mask = torch.tensor([0.0, 0.0])
loss = ((pred - target) ** 2 * mask).sum() / mask.sum()
loss.backward()
# %% cure
# grad: pred.grad == [0.0, 0.0]
pred = torch.tensor([0.5, 0.7], requires_grad=True)
target = torch.tensor([1.0, 0.0])
mask = torch.tensor([0.0, 0.0])
loss = ((pred - target) ** 2 * mask).sum() / mask.sum().clamp(min=1)
loss.backward()

# %% normalized-by-a-range-of-zero | nan-forward | lab.why(x) | template: division
# says: div gave
x = torch.tensor([2.0, 2.0], requires_grad=True)
scaled = (x - x.min()) / (x.max() - x.min())
scaled.sum().backward()
# %% cure
# grad: x.grad.isfinite().all().float() == 1.0
x = torch.tensor([2.0, 2.0], requires_grad=True)
scaled = (x - x.min()) / (x.max() - x.min() + 1e-6)
scaled.sum().backward()

# %% inverse-of-a-zero-weight | nan-forward | lab.why(r) | template: division
# says: reciprocal gave
r = torch.tensor([0.0, 2.0], requires_grad=True)
conductance = r.reciprocal()
power = (conductance * 0.0).sum()
power.backward()

# %% standardize-a-constant-feature | nan-forward | lab.why(x) | template: division
# says: div gave [nan, nan, nan]
x = torch.tensor([3.0, 3.0, 3.0], requires_grad=True)
z = (x - x.mean()) / x.std()
(z * torch.tensor([1.0, 2.0, 3.0])).sum().backward()

# %% std-of-a-batch-of-one | one-value | lab.why(h) | template: spread
# says: std gave nan from
h = torch.tensor([1.5], requires_grad=True)
spread = h.std()
spread.backward()
# %% cure
# grad: h.grad == [0.0]
h = torch.tensor([1.5], requires_grad=True)
spread = h.var(correction=0)
spread.backward()

# %% where-hides-the-root | nan-where | lab.why(x) | template: where
# says: 0 * inf is nan
x = torch.tensor([0.0, 9.0], requires_grad=True)
y = torch.where(x > 0, torch.sqrt(x), torch.zeros_like(x))
y.sum().backward()
# %% cure
# grad: x.grad == [0.0, 0.166667]
x = torch.tensor([0.0, 9.0], requires_grad=True)
safe = torch.where(x > 0, x, torch.ones_like(x))
y = torch.where(x > 0, torch.sqrt(safe), torch.zeros_like(x))
y.sum().backward()

# %% where-hides-the-log | nan-where | lab.why(t) | template: where
# says: x[0] = 0
t = torch.tensor([0.0, 1.0], requires_grad=True)
x = t * 2
logs = torch.where(x > 0, x.log(), torch.tensor(0.0))
logs.sum().backward()

# %% indexing-hides-a-negative-root | nan-where | lab.why(x) | template: where
# says: x[1] = -4
x = torch.tensor([4.0, -4.0], requires_grad=True)
roots = x.sqrt()
good = roots[x > 0]
good.sum().backward()

# %% softplus-by-hand | overflow-forward | lab.why(x) | template: exp
# says: exp gave
x = torch.tensor([1.0, 100.0], requires_grad=True)
y = torch.log(1 + torch.exp(x))
y.sum().backward()
# %% cure
# grad: x.grad == [0.731059, 1.0]
x = torch.tensor([1.0, 100.0], requires_grad=True)
y = F.softplus(x)
y.sum().backward()

# %% softmax-by-hand-overflows | overflow-forward | lab.why(logits) | template: exp
# says: exp gave
logits = torch.tensor([10.0, 90.0], requires_grad=True)
e = logits.exp()
probs = e / e.sum()
loss = -torch.log(probs[1])
loss.backward()

# %% vae-logvar-explodes | overflow-forward | lab.why(enc.weight) | template: exp
# says: exp gave
enc = nn.Linear(1, 2)
with torch.no_grad():
    enc.weight.copy_(torch.tensor([[0.1], [200.0]]))
    enc.bias.zero_()
mu, logvar = enc(torch.tensor([[1.0]])).chunk(2, dim=1)
kl = -0.5 * (1 + logvar - mu ** 2 - logvar.exp()).sum()
kl.backward()

# %% half-precision-exp | overflow-forward | lab.why(w) | template: half
# says: exp gave [inf, 2.719]
w = torch.tensor([12.0, 1.0], dtype=torch.float16, requires_grad=True)
loss = torch.exp(w).sum()
loss.backward()

# %% exploding-learning-rate | diverged | lab.why(w) | template: learning-rate
# says: w was
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=1e25)
for step in range(4):
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    opt.step()
# %% cure
# grad: w.grad == [1.024]
w = torch.tensor([1.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for step in range(4):
    opt.zero_grad()
    loss = (w ** 2).sum()
    loss.backward()
    opt.step()

# %% cubic-loss-runs-away | diverged | lab.why(model.weight) | template: learning-rate
# says: larger and larger
model = nn.Linear(1, 1, bias=False)
with torch.no_grad():
    model.weight.fill_(2.0)
opt = torch.optim.SGD(model.parameters(), lr=10.0)
x = torch.tensor([[3.0]])
for epoch in range(3):
    opt.zero_grad()
    loss = model(x).pow(4).sum()
    loss.backward()
    opt.step()
opt.zero_grad()
loss = model(x).pow(4).sum()
loss.backward()

# %% nan-from-an-earlier-step | nan-backward | lab.why(w) | template: carried
# says: SqrtBackward0 #1 turned the incoming
w = torch.tensor([0.0, 0.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    opt.zero_grad()
    loss = (w * w).sum().sqrt()
    loss.backward()
    opt.step()

# %% accumulated-nan | nan-backward | lab.why(x) | template: carried
# says: turned the incoming
x = torch.tensor([0.0, 1.0], requires_grad=True)
x.sqrt().sum().backward()
(x * 2).sum().backward()

# %% normalizing-hook | nan-hook | lab.why(w) | template: hook
# says: A hook on h turned the gradient
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 0.0
h.register_hook(lambda g: g / g.norm())
(h ** 2).sum().backward()
# %% cure
# grad: w.grad == [0.0, 0.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w * 0.0
h.register_hook(lambda g: g / (g.norm() + 1e-12))
(h ** 2).sum().backward()

# %% seed-divided-by-zero | nan-seed | lab.why(x) | template: seed
# says: The gradient given to backward was
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 2
count = torch.tensor(0.0)
y.backward(torch.ones(2) / count)
# %% cure
# grad: x.grad == [2.0, 4.0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 2
count = torch.tensor(0.0)
y.backward(torch.ones(2) / count.clamp(min=1))

# %% chain-of-large-weights | overflow | lab.why(x) | template: exploding-chain
# says: The gradient grew on its way
x = torch.tensor([1e-30], requires_grad=True)
h = x
for _ in range(14):
    h = h * 1000.0
loss = (h * 1e-8).sum()
loss.backward(torch.tensor(1e6))
# %% cure
# grad: x.grad == [0.01]
x = torch.tensor([1e-30], requires_grad=True)
h = x
for _ in range(14):
    h = h * 1.0
loss = (h * 1e-8).sum()
loss.backward(torch.tensor(1e6))

# %% masked-by-multiplication | zero-times-inf | lab.why(w) | template: mask-inf
# says: 0 * inf is nan
w = torch.tensor([1.0, 2.0], requires_grad=True)
penalty = torch.tensor([0.0, 1.0]).masked_fill(torch.tensor([True, False]), float("inf"))
keep = torch.tensor([0.0, 1.0])
loss = (w * (penalty * keep)).sum()
loss.backward()
# %% cure
# grad: w.grad == [0.0, 1.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
penalty = torch.tensor([0.0, 1.0]).masked_fill(torch.tensor([True, False]), float("inf"))
keep = torch.tensor([0.0, 1.0])
loss = (w * penalty.masked_fill(keep == 0, 0.0)).sum()
loss.backward()

# %% difference-of-infinities | inf-minus-inf | lab.why(w) | template: inf
# says: inf - inf is nan
w = torch.tensor([1.0, 2.0], requires_grad=True)
upper = torch.full((2,), float("inf"))
lower = torch.full((2,), float("inf"))
width = (upper - lower) * w
width.sum().backward()
# %% cure
# grad: w.grad == [0.0, 0.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
upper = torch.full((2,), 1e30)
lower = torch.full((2,), 1e30)
width = (upper - lower) * w
width.sum().backward()

# %% missing-marked-with-nan | nan-written | lab.why(w) | template: written
# says: wrote
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
batch = x * 1.0
batch[1] = float("nan")
loss = (w * batch).sum()
loss.backward()
# %% cure
# grad: w.grad == [3.0, 4.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
x = torch.tensor([3.0, 4.0])
batch = x * 1.0
marked = batch.clone()
marked[1] = float("nan")
loss = (w * batch).sum()
loss.backward()

# %% parameter-reset-to-nan | nan-written | lab.why(net.weight) | template: written
# says: wrote
net = nn.Linear(2, 1)
with torch.no_grad():
    net.weight.fill_(float("nan"))
loss = net(torch.tensor([[1.0, 2.0]])).pow(2).sum()
loss.backward()

# %% gradient-divided-by-zero | grad-edited | lab.why(w) | template: edited
# says: was changed by the program itself
w = torch.tensor([1.0, 2.0], requires_grad=True)
(w * 0.0).sum().backward()
w.grad /= w.grad.norm()

# %% initialized-through-data | nan-written | lab.why(w) | template: written
# says: w was finite until
w = torch.ones(2, requires_grad=True)
w.data[0] = float("nan")
(w * 2).pow(2).sum().backward()

# %% log-sum-over-nothing | masked-row | lab.why(bias) | template: logsumexp
# says: nothing but -inf
energies = torch.full((3,), -math.inf)
bias = torch.zeros(3, requires_grad=True)
free_energy = torch.logsumexp(energies + bias, dim=0)
torch.exp(free_energy).backward()

# %% mean-of-an-empty-selection | nothing-counted | lab.why(scores) | template: masked-mean
# says: mean gave nan
scores = torch.tensor([0.2, 0.4], requires_grad=True)
hard = scores[scores > 0.9].mean()
loss = scores.sum() * hard
loss.backward()

# %% scale-computed-in-python | nan-input | lab.why(w) | template: data-from-python
# says: came out of plain Python
w = torch.tensor([1.0, 2.0], requires_grad=True)
low, high = math.inf, math.inf
scale = high - low
(w * scale).sum().backward()

# %% log-determinant-of-a-singular-matrix | log-of-zero | lab.why(cov) | template: logdet
# says: gave -inf
cov = torch.ones(2, 2, requires_grad=True)
torch.logdet(cov).backward()

# %% log-of-a-clipped-difference | outside-domain | lab.why(w) | template: nan-to-num
# says: log gave [nan, nan]
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.log(w - 3)
torch.nan_to_num(y).sum().backward()

# %% root-times-a-log-that-is-zero | nan-backward | lab.why(w) | template: focal
# says: the rule of PowBackward0 turned the incoming [0] into [nan]
w = torch.tensor([40.0], requires_grad=True)
p = torch.sigmoid(w)
loss = (-(1 - p) ** 0.5 * torch.log(p)).sum()
loss.backward()

# %% root-times-a-mask | nan-where | lab.why(x) | template: focal
# says: The result of sqrt is multiplied by 0 where its derivative is infinite (x[0] = 0)
x = torch.tensor([0.0, 4.0], requires_grad=True)
mask = (x > 0).float()
y = torch.sqrt(x) * mask
y.sum().backward()

# %% padded-queries-of-an-attention | masked-row | lab.why(emb.weight) | template: padded-attention
# says: softmax got rows [1, 0] and [1, 1] of the result of maskedfill, which hold nothing but -inf
emb = nn.Embedding(3, 4)
tok = torch.tensor([[1, 2], [0, 0]])
x = emb(tok)
mask = tok == 0
att = (x @ x.transpose(1, 2)).masked_fill(mask[:, None, :], -torch.inf).softmax(-1)
(att @ x).sum().backward()
