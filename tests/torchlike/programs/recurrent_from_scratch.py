"""Cells unrolled by hand: RNN, LSTM and GRU equations against the library, truncated backpropagation."""

import torch
import torch.nn as nn

torch.manual_seed(44)
T, B, I, H = 6, 2, 3, 4
x = torch.randn(T, B, I)
lstm, cell = nn.LSTM(I, H), nn.LSTMCell(I, H)
cell.load_state_dict({k.replace("_l0", ""): v for k, v in lstm.state_dict().items()})
h = c = torch.zeros(B, H)
outs = []
for t in range(T):
    h, c = cell(x[t], (h, c))
    outs.append(h)
whole, (hn, cn) = lstm(x)
print(torch.allclose(torch.stack(outs), whole, atol=1e-6), torch.allclose(c, cn[0], atol=1e-6))
gates = x[0] @ lstm.weight_ih_l0.t() + lstm.bias_ih_l0 + lstm.bias_hh_l0
i, f, g, o = gates.chunk(4, 1)
print(torch.allclose(outs[0], torch.sigmoid(o) * torch.tanh(torch.sigmoid(i) * torch.tanh(g)), atol=1e-6))
W, U = torch.randn(H, I, requires_grad=True), torch.nn.init.orthogonal_(torch.empty(H, H)).requires_grad_()
state = torch.zeros(B, H)
losses = []
for t in range(T):
    state = torch.tanh(x[t] @ W.T + state @ U.T)
    losses.append(state.pow(2).mean())
    if (t + 1) % 3 == 0:
        torch.stack(losses).sum().backward()
        print(t, W.grad.norm(), U.grad.norm())
        losses, state = [], state.detach()
gru = nn.GRU(I, H, num_layers=2, dropout=0.5, batch_first=True)
out, hn = gru(x.transpose(0, 1))
out.sum().backward()
print(out.shape, hn.shape, gru.weight_hh_l1.grad.norm())
rnn = nn.RNN(I, H, nonlinearity="relu")
print(rnn(x[:, 0])[0].shape, rnn, [n for n, _ in rnn.named_parameters()])
lstm.flatten_parameters()
