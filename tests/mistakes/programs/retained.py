"""retain_graph=True as a remedy that hides the mistake: the error comes later, and elsewhere."""

# %% rnn-with-retained-graph | carried-over | lab.why(wh) | template: retained-state
# says: h
# grad: wh.grad is None == False
wh = torch.tensor([[0.1, 0.2], [0.3, 0.4]], requires_grad=True)
opt = torch.optim.SGD([wh], lr=0.1)
h = torch.ones(1, 2)
for t in range(3):
    h = torch.tanh(h @ wh)
    loss = h.pow(2).sum()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()

# %% gru-with-retained-graph | carried-over | lab.why(gru.weight_hh_l0) | template: retained-state
# says: hidden
# grad: gru.weight_hh_l0.grad is None == False
gru = nn.GRU(1, 2)
opt = torch.optim.Adam(gru.parameters(), lr=0.1)
hidden = torch.zeros(1, 1, 2)
for seq in torch.ones(3, 4, 1, 1):
    out, hidden = gru(seq, hidden)
    loss = out.mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()

# %% total-with-retained-graph | running-total | lab.why(net[0].weight) | template: retained-total
# says: total_loss
net = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
total_loss = 0
for batch in torch.ones(3, 4, 2):
    loss = net(batch).pow(2).mean()
    total_loss = total_loss + loss
    opt.zero_grad()
    total_loss.backward(retain_graph=True)
    opt.step()

# %% forward-outside-with-retained-graph | computed-once | lab.why(lin.weight) | template: retained-once
# says: features
lin, head = nn.Linear(2, 2), nn.Linear(2, 1)
opt = torch.optim.SGD([*lin.parameters(), *head.parameters()], lr=0.1)
features = torch.tanh(lin(torch.ones(3, 2)))
for epoch in range(3):
    loss = head(features).pow(2).mean()
    opt.zero_grad()
    loss.backward(retain_graph=True)
    opt.step()

# %% loss-outside-with-retained-graph | computed-once | lab.why(w) | template: retained-once
# says: cost
# grad: w.grad == (2.5 * w).tolist()
w = torch.tensor([1.0, 3.0], requires_grad=True)
cost = (w ** 2).sum()
for i in range(3):
    w.grad = None
    cost.backward(retain_graph=True)
    with torch.no_grad():
        w -= 0.1 * w.grad

# %% step-between-two-losses-of-one-round | computed-once | lab.why(enc.weight) | template: step-between
# says: z
# grad: enc.weight.grad is None == False
enc = nn.Linear(2, 2)
opt = torch.optim.SGD(enc.parameters(), lr=0.1)
for x in torch.ones(2, 1, 2):
    opt.zero_grad()
    z = torch.tanh(enc(x))
    first = z.sum()
    first.backward()
    opt.step()
    second = z.pow(2).sum()
    second.backward()

# %% three-losses-on-one-trunk | freed-graph | lab.why(trunk.weight) | template: trunk
# says: h
# grad: trunk.weight.grad is None == False
trunk = nn.Linear(2, 3)
opt = torch.optim.SGD(trunk.parameters(), lr=0.1)
for x in torch.ones(2, 1, 2):
    opt.zero_grad()
    h = torch.sigmoid(trunk(x))
    for k in range(3):
        loss = (h[0, k] - 1) ** 2
        loss.backward()
    opt.step()

# %% penalty-on-the-input-gradient | gradient-without-graph | lab.why(D.weight) | template: penalty-only
# says: create_graph=True
D = nn.Linear(2, 1)
x_hat = torch.tensor([[1.0, 2.0]], requires_grad=True)
score = torch.tanh(D(x_hat)).sum()
grad_x = torch.autograd.grad(score, x_hat)[0]
penalty = (grad_x.norm() - 1) ** 2
penalty.backward()

# %% jacobian-row-by-row-with-clearing | freed-graph | lab.why(x) | template: jacobian
# says: y
# grad: rows == [[2.0, 0.0], [0.0, 4.0]]
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x ** 2
rows = []
for i in range(2):
    x.grad = None
    y[i].backward()
    rows.append(x.grad.tolist())

# %% hidden-list-of-all-steps | running-total | lab.why(cell.weight) | template: outputs-kept
# says: outputs
cell = nn.Linear(2, 2)
outputs = []
for x in torch.ones(2, 1, 2):
    outputs.append(torch.tanh(cell(x)))
    loss = torch.cat(outputs).sum()
    cell.zero_grad()
    loss.backward()
