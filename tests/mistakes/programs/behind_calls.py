# %% target-net-by-state-dict | numbers-copied | lab.why(online.weight) | template: load-state-dict
# says: `target.load_state_dict(online.state_dict())` copied the numbers of online.weight
online, target = nn.Linear(1, 1), nn.Linear(1, 1)
target.load_state_dict(online.state_dict())
error = (target(torch.ones(4, 1)) - 3) ** 2
error.mean().backward()
# %% cure
# grad: online.bias.grad is None == False
online, target = nn.Linear(1, 1), nn.Linear(1, 1)
target.load_state_dict(online.state_dict())
error = (online(torch.ones(4, 1)) - 3) ** 2
error.mean().backward()

# %% one-vector-for-all-weights | numbers-copied | lab.why(theta) | template: vector-to-parameters
# says: what was computed from theta
net = nn.Linear(2, 1)
theta = torch.zeros(3, requires_grad=True)
torch.nn.utils.vector_to_parameters(theta, net.parameters())
loss = net(torch.ones(1, 2)).sum()
loss.backward()

# %% wrapped-in-a-variable | numbers-copied | lab.why(net.bias) | template: variable
# says: copied the numbers of out
net = nn.Linear(1, 1)
out = net(torch.ones(3, 1)).mean()
loss = torch.autograd.Variable(out, requires_grad=True)
loss.backward()

# %% soft-update-through-data | data | lab.why(net.weight) | template: soft-update
# says: .data
net, slow = nn.Linear(2, 1), nn.Linear(2, 1)
for p, s in zip(net.parameters(), slow.parameters()):
    s.data.copy_(0.1 * p.data + 0.9 * s.data)
slow(torch.ones(1, 2)).sum().backward()

# %% hypernetwork-into-data | data | lab.why(hyper.weight) | template: data-assigned
# says: .data handed on the numbers
hyper = nn.Linear(1, 2)
main = nn.Linear(2, 1, bias=False)
main.weight.data = hyper(torch.ones(1, 1))
main(torch.ones(1, 2)).sum().backward()

# %% hard-gumbel-is-whole | as-computed | lab.why(logits) | template: gumbel
# says: It is the derivative
logits = torch.tensor([0.1, 0.5, -0.3], requires_grad=True)
choice = F.gumbel_softmax(logits, hard=True)
(choice * torch.tensor([1.0, 2.0, 3.0])).sum().backward()

# %% initialized-after-the-forward-pass | inplace-saved | lab.why(lin.weight) | template: init-late
# says: `nn.init.ones_(lin.weight)` wrote other numbers
lin = nn.Linear(2, 2)
y = torch.tanh(lin(torch.ones(1, 2)))
z = lin(y)
nn.init.ones_(lin.weight)
z.sum().backward()

# %% latent-drawn-by-normal | sampled | lab.why(enc.weight) | template: draw
# says: normal draws at random
enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.rand(3, 4)
mu = enc(x)
z = torch.normal(mu, torch.ones_like(mu))
((dec(z) - x) ** 2).mean().backward()
# %% cure
# grad: bool((enc.weight.grad != 0).any()) == True
enc, dec = nn.Linear(4, 2), nn.Linear(2, 4)
x = torch.rand(3, 4)
mu = enc(x)
z = mu + torch.randn_like(mu)
((dec(z) - x) ** 2).mean().backward()

# %% action-drawn-by-multinomial | sampled | lab.why(policy.weight) | template: draw
# says: multinomial draws at random
policy = nn.Linear(3, 2)
probs = torch.softmax(policy(torch.rand(1, 3)), -1)
action = torch.multinomial(probs, 1)
(-action.float().mean()).backward()

# %% sample-of-a-distribution | sampled | lab.why(loc) | template: draw
# says: sample() draws at random
loc = torch.tensor([0.5, 1.5], requires_grad=True)
noise = torch.distributions.Normal(loc, 1.0)
z = noise.sample()
loss = (z ** 2).sum().requires_grad_()
loss.backward()

# %% floats-by-the-old-constructor | copied | lab.why(a) | template: old-constructor, ours: PyTorch reads each number by itself
# says: `v = torch.FloatTensor([a * 2, b])` copied the numbers
a = torch.tensor(1.0, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
v = torch.FloatTensor([a * 2, b])
v.requires_grad_()
v.sum().backward()

# %% items-averaged-by-tensor | item | lab.why(net.weight) | template: items-in-a-list
# says: left the graph by .item()
# grad: net.bias.grad == [1.0]
net = nn.Linear(2, 1)
history = []
for _ in range(3):
    history.append(net(torch.ones(1, 2)).item())
loss = torch.tensor(history).mean()
loss.requires_grad = True
loss.backward()

# %% total-of-floats | item | lab.why(w) | template: items-in-a-list
# says: left the graph by float()
# grad: w.grad == [2.0, 2.0]
w = torch.tensor([1.0, 2.0], requires_grad=True)
total = 0.0
for v in w:
    total += float(v * 2)
loss = torch.tensor(total, requires_grad=True)
loss.backward()

# %% listed-losses-in-tensor | copied | lab.why(w) | template: list-in-tensor
# says: copied the numbers
# grad: w.grad == [3.0, 3.0]
w = torch.ones(2, requires_grad=True)
losses = [(w * k).sum() for k in range(3)]
total = torch.tensor(losses, requires_grad=True).sum()
total.backward()

# %% fake-detached-for-both | detached | lab.why(G.weight) | template: detached-for-both
# says: detach()
# grad: G.weight.grad is None == False
G, D = nn.Linear(2, 2), nn.Linear(2, 1)
fake = G(torch.randn(5, 2)).detach()
d_loss = D(fake).mean()
d_loss.backward()
g_loss = -D(fake).mean()
g_loss.backward()

# %% evaluated-and-silenced | no-grad | lab.why(net.weight) | template: silenced
# says: under no_grad
# grad: net.bias.grad == [1.0]
net = nn.Linear(2, 1)
with torch.no_grad():
    out = net(torch.ones(1, 2))
out.requires_grad = True
out.sum().backward()

# %% counting-numbers-in-the-graph | integer-tensor | lab.why(n) | template: counting
# says: int64
# grad: n.grad == [2.0, 2.0, 2.0]
n = torch.tensor([1, 2, 3])
y = (n * 2.0).sum()
y.backward()

# %% one-class-and-a-square | constant-sum | lab.why(net.weight) | template: one-class
# says: The softmax of a single number is always 1
net = nn.Linear(3, 1)
p = torch.softmax(net(torch.randn(4, 3)), dim=1)
loss = ((p - 1) ** 2).mean()
loss.backward()

# %% masked-out-row | masked-row | lab.why(q) | template: masked-row-fill
# says: nothing but -inf
q = torch.randn(2, 3, requires_grad=True)
mask = torch.tensor([[True, False, True], [True, True, True]])
weights = torch.softmax(q.masked_fill(mask, float("-inf")), dim=-1)
weights.sum().backward()

# %% half-that-overflows | overflow-forward | lab.why(w) | template: half
# says: pow gave [inf] from w = [300]
w = torch.tensor([300.0], dtype=torch.float16, requires_grad=True)
(w ** 2).sum().backward()

# %% averaged-model-in-the-loss | numbers-copied | lab.why(net.weight) | template: averaged-model
# says: `avg = torch.optim.swa_utils.AveragedModel(net)` copied the numbers of net.weight
net = nn.Linear(1, 1)
avg = torch.optim.swa_utils.AveragedModel(net)
avg.update_parameters(net)
avg(torch.ones(1, 1)).sum().backward()

# %% rounds-cut-as-they-should-be | as-computed | lab.why(cell.bias_hh) | template: rounds-cut
# says: It is the derivative
cell = nn.RNNCell(1, 1)
h = torch.zeros(1, 1)
for t in range(3):
    cell.zero_grad()
    h = h.detach()
    h = cell(torch.ones(1, 1), h)
    h.sum().backward()

# %% scale-kept-in-a-buffer | requires-grad-never-set | lab.why(model.scale) | template: buffer
# says: model.scale does not require a gradient
class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(2))
        self.lin = nn.Linear(2, 1)
    def forward(self, x):
        return self.lin(x * self.scale)
model = Scaled()
model(torch.ones(1, 2)).sum().backward()

# %% averages-of-weights-beside-training | as-computed | lab.why(net.weight) | template: averaged-model
# says: It is the derivative
net, ema = nn.Linear(1, 1), nn.Linear(1, 1)
ema.load_state_dict(net.state_dict())
loss = net(torch.ones(1, 1)).sum()
loss.backward()
with torch.no_grad():
    for a, b in zip(ema.parameters(), net.parameters()):
        a.lerp_(b, 0.1)

# %% weights-functionally-replaced | as-computed | lab.why(w) | template: functional-call
# says: It is the derivative
net = nn.Linear(2, 1, bias=False)
w = torch.ones(1, 2, requires_grad=True)
out = torch.func.functional_call(net, {"weight": w}, (torch.ones(1, 2),))
out.sum().backward()

# %% places-from-a-condition | no-derivative | lab.why(w) | template: where-alone
# says: gt has no derivative
w = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
places = torch.where(w * 1.5 > 2)[0]
loss = places.float().sum()
loss.backward()

# %% classes-made-one-hot | no-derivative | lab.why(net.bias) | template: one-hot
# says: no gradient can come back
net = nn.Linear(2, 3)
classes = F.one_hot(net(torch.ones(4, 2)).argmax(1), 3).float()
((classes - 1) ** 2).mean().backward()
