"""A GRU that sums a padded batch: packed sequences, two layers, both directions."""

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(5)
sequences = [torch.rand(n, 2) for n in (5, 3, 2, 4)]
lengths = torch.tensor([len(s) for s in sequences])
targets = torch.stack([s.sum() for s in sequences])
padded = pad_sequence(sequences, batch_first=True)
print(padded.shape, padded[2, 2:].abs().sum())
gru = nn.GRU(2, 6, num_layers=2, batch_first=True, bidirectional=True)
head = nn.Linear(12, 1)
params = list(gru.parameters()) + list(head.parameters())
optimizer = torch.optim.RMSprop(params, lr=0.01)
for step in range(5):
    packed = pack_padded_sequence(padded, lengths, batch_first=True, enforce_sorted=False)
    output, h = gru(packed)
    unpacked, sizes = pad_packed_sequence(output, batch_first=True)
    last = torch.cat([h[-2], h[-1]], dim=1)
    loss = ((head(last).squeeze(1) - targets) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}", tuple(unpacked.shape), sizes.tolist())
print(gru.weight_ih_l0.grad.norm(), gru.weight_hh_l1_reverse.grad.norm())
