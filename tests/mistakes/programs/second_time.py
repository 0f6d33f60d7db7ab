"""A second pass through a graph whose saved values are gone: which cure is right depends on why it came to that."""

# %% rows-one-by-one | freed-graph | lab.why(x) | template: row-by-row
# says: y
# grad: x.grad == [2.0, 4.0, 6.0]
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x ** 2
for i in range(3):
    y[i].backward()

# %% rows-of-a-jacobian | freed-graph | lab.why(x) | template: row-by-row
# says: out
# grad: rows[1].tolist() == [6.0, 2.0]
x = torch.tensor([1.0, 3.0], requires_grad=True)
out = torch.stack([x[0] ** 3, x.prod() * 2])
rows = []
for i in range(2):
    (row,) = torch.autograd.grad(out[i], x)
    rows.append(row)

# %% each-loss-of-a-batch | freed-graph | lab.why(model.weight) | template: row-by-row
# says: losses
# grad: model.weight.grad == [[4.0, 6.0]]
model = nn.Linear(2, 1)
batch = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
losses = model(batch).squeeze(1)
for loss in losses:
    loss.backward()

# %% two-losses-on-shared-features | freed-graph | lab.why(w) | template: two-losses
# says: h
# grad: w.grad == [13.0, 31.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
h = w ** 2 * torch.tensor([1.0, 2.0])
first = (h * 2).sum()
second = (h ** 2 * 0.5).sum() * 0 + h.sum() * 2 + (w * torch.tensor([5.0, -1.0])).sum()
first.backward()
second.backward()

# %% two-losses-second-built-later | freed-graph | lab.why(w) | template: two-losses
# says: h
# grad: w.grad == [8.0]
w = torch.tensor([2.0], requires_grad=True)
h = w * w
task_a = (h * 1.5).sum()
task_a.backward()
task_b = (h * 0.5).sum()
task_b.backward()

# %% two-heads-of-an-encoder | freed-graph | lab.why(encoder.weight) | template: two-losses
# says: features
encoder = nn.Linear(2, 3)
head_a, head_b = nn.Linear(3, 1), nn.Linear(3, 1)
data = torch.tensor([[1.0, -1.0]])
features = torch.tanh(encoder(data))
head_a(features).sum().backward()
head_b(features).sum().backward()
# %% cure
# grad: encoder.weight.grad == (((head_a.weight + head_b.weight) * (1 - features ** 2)).T @ data).tolist()
encoder = nn.Linear(2, 3)
head_a, head_b = nn.Linear(3, 1), nn.Linear(3, 1)
data = torch.tensor([[1.0, -1.0]])
features = torch.tanh(encoder(data))
head_a(features).sum().backward(retain_graph=True)
head_b(features).sum().backward()

# %% backward-called-twice | freed-graph | lab.why(a) | template: twice
# says: loss
a = torch.tensor([1.0, 2.0], requires_grad=True)
loss = (a * a).sum()
loss.backward()
print(a.grad)
loss.backward()

# %% backward-in-helper-too | freed-graph | lab.why(net.bias) | template: twice
# says: loss
def training_step(net, x, t):
    loss = ((net(x) - t) ** 2).mean()
    loss.backward()
    return loss

net = nn.Linear(2, 1)
loss = training_step(net, torch.ones(4, 2), torch.zeros(4, 1))
loss.backward()

# %% forward-before-the-loop | computed-once | lab.why(W) | template: forward-outside
# says: loss
# grad: W.grad == (xs.T @ (torch.softmax(xs @ former, 1) - torch.tensor([[0.0, 1.0]]))).tolist()
W = torch.tensor([[1.0, -1.0], [0.5, 2.0]], requires_grad=True)
xs = torch.tensor([[1.0, 2.0]])
probs = (xs @ W).softmax(1)
loss = -probs[0, 1].log()
for step in range(3):
    W.grad = None
    loss.backward()
    former = W.detach().clone()
    with torch.no_grad():
        W -= 0.1 * W.grad

# %% prediction-before-the-loop | computed-once | lab.why(lin.weight) | template: forward-outside
# says: pred
lin = nn.Linear(1, 1)
sgd = torch.optim.SGD(lin.parameters(), lr=0.05)
xs, ts = torch.tensor([[1.0], [2.0]]), torch.tensor([[2.0], [4.0]])
pred = lin(xs)
for epoch in range(2):
    sgd.zero_grad()
    mse = F.mse_loss(pred, ts)
    mse.backward()
    sgd.step()

# %% penalty-before-the-loop | computed-once | lab.why(w) | template: part-outside
# says: penalty
# grad: w.grad == (2 * (former @ x - 1) * x + 0.2 * former).tolist()
w = torch.tensor([1.0, -2.0], requires_grad=True)
opt = torch.optim.SGD([w], lr=0.01)
penalty = 0.1 * w.square().sum()
for x in torch.tensor([[1.0, 2.0], [3.0, 4.0]]):
    opt.zero_grad()
    loss = (w @ x - 1) ** 2 + penalty
    loss.backward()
    former = w.detach().clone()
    opt.step()

# %% sigma-before-the-loop | computed-once | lab.why(log_sigma) | template: part-outside
# says: sigma
# grad: log_sigma.grad == (1 - (o / former.exp()) ** 2).tolist()
log_sigma = torch.tensor(0.0, requires_grad=True)
adam = torch.optim.Adam([log_sigma], lr=0.1)
sigma = log_sigma.exp()
obs = [0.5, -0.2, 1.1]
for o in obs:
    adam.zero_grad()
    nll = torch.log(sigma) + 0.5 * (o / sigma) ** 2
    nll.backward()
    former = log_sigma.detach().clone()
    adam.step()

# %% embedding-before-the-loop | computed-once | lab.why(emb.weight) | template: part-outside
# says: vectors
emb = nn.Embedding(5, 3)
head = nn.Linear(3, 2)
opt = torch.optim.SGD([*emb.parameters(), *head.parameters()], lr=0.1)
words = torch.tensor([1, 4])
vectors = emb(words)
for epoch in range(3):
    opt.zero_grad()
    loss = F.cross_entropy(head(torch.tanh(vectors)), torch.tensor([0, 1]))
    loss.backward()
    opt.step()

# %% hidden-state-by-hand | carried-over | lab.why(u) | template: hidden-by-hand
# says: state
# grad: u.grad is None == False
u = torch.tensor(0.5, requires_grad=True)
opt = torch.optim.SGD([u], lr=0.1)
state = torch.tensor(1.0)
for t in range(3):
    state = torch.tanh(state * u + 0.3)
    loss = (state - 0.5) ** 2
    opt.zero_grad()
    loss.backward()
    opt.step()

# %% hidden-state-of-a-gru | carried-over | lab.why(gru.weight_hh_l0) | template: recurrent-layer
# says: h
# grad: gru.weight_hh_l0.grad is None == False
gru = nn.GRU(2, 3)
h = torch.zeros(1, 1, 3)
optimizer = torch.optim.SGD(gru.parameters(), lr=0.1)
for chunk in torch.ones(3, 4, 1, 2):
    optimizer.zero_grad()
    out, h = gru(chunk, h)
    loss = out.pow(2).mean()
    loss.backward()
    optimizer.step()

# %% hidden-state-of-an-lstm | carried-over | lab.why(lstm.weight_ih_l0) | template: recurrent-layer
# says: h
# grad: lstm.weight_ih_l0.grad is None == False
lstm = nn.LSTM(2, 3)
h, c = torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)
for piece in torch.ones(2, 4, 1, 2):
    y, (h, c) = lstm(piece, (h, c))
    loss = y.sum()
    loss.backward()

# %% hidden-state-in-one-name | carried-over | lab.why(cell.weight_hh) | template: recurrent-layer
# says: hidden
# grad: cell.weight_hh.grad is None == False
cell = nn.LSTMCell(2, 3)
hidden = (torch.zeros(1, 3), torch.zeros(1, 3))
opt = torch.optim.Adam(cell.parameters())
for x in torch.ones(4, 1, 2):
    opt.zero_grad()
    hidden = cell(x, hidden)
    loss = hidden[0].sum()
    loss.backward()
    opt.step()

# %% hidden-state-kept-in-the-module | carried-over | lab.why(model.rec.weight) | template: stateful-module
# says: self.h
# grad: model.rec.weight.grad is None == False
class Stateful(nn.Module):
    def __init__(self):
        super().__init__()
        self.rec = nn.Linear(2, 2)
        self.h = torch.zeros(1, 2)

    def forward(self, x):
        self.h = torch.tanh(self.rec(self.h) + x)
        return self.h

model = Stateful()
opt = torch.optim.SGD(model.parameters(), lr=0.1)
for x in [torch.ones(1, 2), torch.zeros(1, 2)]:
    loss = model(x).pow(2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()

# %% running-mean-with-history | carried-over | lab.why(w) | template: stateful-module
# says: running
# grad: w.grad is None == False
w = torch.tensor([0.3, 0.7], requires_grad=True)
running = torch.zeros(())
for x in torch.tensor([[1.0, 2.0], [0.0, 1.0], [2.0, 2.0]]):
    score = (w * x).sum() ** 2
    running = 0.9 * running + 0.1 * score
    loss = (score - running) ** 2
    w.grad = None
    loss.backward()

# %% total-loss-grows | running-total | lab.why(w) | template: total
# says: total
# grad: w.grad == [4.0]
w = torch.tensor([1.0], requires_grad=True)
total = 0
for x in [1.0, 2.0]:
    w.grad = None
    loss = (w * x).pow(2).sum() * 0.5
    total = total + loss
    total.backward()

# %% epoch-loss-in-place | running-total | lab.why(net.weight) | template: total
# says: epoch_loss
net = nn.Linear(2, 1)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
epoch_loss = 0.0
for x, t in [(torch.ones(1, 2), 1.0), (torch.zeros(1, 2), 0.0)]:
    opt.zero_grad()
    batch_loss = (net(x) - t).pow(2).mean()
    epoch_loss += batch_loss
    epoch_loss.backward()
    opt.step()

# %% list-of-losses-grows | running-total | lab.why(w) | template: total
# says: losses
w = torch.tensor(1.5, requires_grad=True)
losses = []
for x in (1.0, 2.0, 3.0):
    losses.append((w * x - 1) ** 2)
    sum(losses).backward()

# %% episode-log-probs-kept | running-total | lab.why(policy.weight) | template: reinforce
# says: log_probs
policy = nn.Linear(2, 2)
optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
log_probs = []
for episode in range(2):
    for t in range(2):
        logits = policy(torch.ones(1, 2) * t)
        log_probs.append(F.log_softmax(logits, dim=1)[0, 0])
    optimizer.zero_grad()
    loss = -torch.stack(log_probs).sum()
    loss.backward()
    optimizer.step()

# %% gan-without-detach | not-detached | lab.why(G.weight) | template: gan
# says: fake
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
noise = torch.ones(1, 2)
fake = torch.tanh(G(noise))
d_loss = D(fake).mean()
opt_d.zero_grad()
d_loss.backward()
opt_d.step()
opt_g.zero_grad()
g_loss = -D(fake).mean()
g_loss.backward()
# %% cure
# grad: G.weight.grad == ((-D.weight * (1 - fake ** 2)).T @ noise).tolist()
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
opt_d = torch.optim.SGD(D.parameters(), lr=0.1)
opt_g = torch.optim.SGD(G.parameters(), lr=0.1)
noise = torch.ones(1, 2)
fake = torch.tanh(G(noise))
d_loss = D(fake.detach()).mean()
opt_d.zero_grad()
d_loss.backward()
opt_d.step()
opt_g.zero_grad()
g_loss = -D(fake).mean()
g_loss.backward()

# %% actor-critic-without-detach | freed-graph | lab.why(body.weight) | template: actor-critic
# says: z
body, actor, critic = nn.Linear(2, 4), nn.Linear(4, 2), nn.Linear(4, 1)
obs = torch.tensor([[0.2, 0.8]])
z = torch.relu(body(obs))
value = critic(z)
advantage = 1.0 - value
critic_loss = advantage.pow(2).mean()
critic_loss.backward()
actor_loss = -(F.log_softmax(actor(z), 1)[0, 0] * advantage.detach()).mean()
actor_loss.backward()

# %% gradient-first-then-backward | freed-graph | lab.why(x) | template: grad-then-backward
# says: energy
# grad: x.grad == [2.0, 16.0]
x = torch.tensor([1.0, 2.0], requires_grad=True)
energy = (x ** 2 * torch.tensor([1.0, 4.0])).sum()
(force,) = torch.autograd.grad(energy, x)
energy.backward()

# %% gradient-penalty-frees | freed-graph | lab.why(critic.weight) | template: grad-then-backward
# says: score
critic = nn.Linear(2, 1)
point = torch.tensor([[1.0, 2.0]], requires_grad=True)
score = torch.tanh(critic(point)).sum()
(slope,) = torch.autograd.grad(score, point)
loss = score + (slope.norm() - 1) ** 2
loss.backward()

# %% elbo-terms-one-after-another | freed-graph | lab.why(enc.weight) | template: vae
# says: z
enc, dec = nn.Linear(3, 2), nn.Linear(2, 3)
x = torch.tensor([[0.5, 0.1, 0.9]])
z = torch.tanh(enc(x))
kl = (z * z).mean()
kl.backward()
recon = F.mse_loss(dec(z), x)
recon.backward()

# %% average-that-begins-as-a-result | carried-over | lab.why(net.weight) | template: average-with-none
# says: ema was computed before the first pass
# grad: net.weight.grad is None == False
net = nn.Linear(2, 1)
ema = None
opt = torch.optim.SGD(net.parameters(), lr=0.1)
for i in range(3):
    w = net.weight * 1.0
    ema = w if ema is None else 0.9 * ema + 0.1 * w
    loss = net(torch.ones(1, 2)).pow(2).sum() + ((net.weight - ema) ** 2).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()

# %% previous-result-by-a-second-name | carried-over | lab.why(w) | template: previous-result
# says: prev keeps cur of the round before
# grad: w.grad is None == False
w = torch.tensor([1.0, 2.0], requires_grad=True)
prev = w * 0
for i in range(3):
    cur = torch.tanh(w * (i + 1))
    smooth = ((cur - prev) ** 2).sum() + cur.sum()
    smooth.backward()
    prev = cur

# %% last-features-in-an-object | carried-over | lab.why(m.net.weight) | template: previous-result
# says: self.last keeps z of the round before
# grad: m.net.weight.grad is None == False
class Tracker:
    def __init__(self):
        self.net = nn.Linear(2, 2)
        self.last = None

    def loss(self, x):
        z = torch.tanh(self.net(x))
        out = z.sum() if self.last is None else ((z - self.last) ** 2).sum() + z.sum()
        self.last = z
        return out

m = Tracker()
for x in torch.randn(3, 1, 2):
    m.net.zero_grad()
    m.loss(x).backward()

# %% rounds-cut-apart-as-they-should-be | as-computed | lab.why(gru.weight_hh_l0) | template: cut-apart
# says: It is the derivative of loss
gru = nn.GRU(2, 3, batch_first=True)
hidden = torch.zeros(1, 1, 3)
for _ in range(2):
    out, hidden = gru(torch.ones(1, 4, 2), hidden)
    loss = out[:, -1].pow(2).mean()
    gru.zero_grad()
    loss.backward()
    hidden = hidden.detach()
