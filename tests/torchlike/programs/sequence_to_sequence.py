"""Encoder and decoder with additive attention and teacher forcing; masked loss."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(101)
random.seed(101)
PAD, SOS, EOS = 0, 1, 2


class Encoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, hidden, padding_idx=PAD)
        self.gru = nn.GRU(hidden, hidden, batch_first=True)

    def forward(self, x):
        return self.gru(self.embedding(x))


class Attention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.W, self.U, self.v = (nn.Linear(hidden, hidden), nn.Linear(hidden, hidden), nn.Linear(hidden, 1))

    def forward(self, query, keys, mask):
        scores = self.v(torch.tanh(self.W(query) + self.U(keys))).squeeze(2)
        weights = F.softmax(scores.masked_fill(mask, -1e9), dim=-1)
        return torch.bmm(weights.unsqueeze(1), keys), weights


class Decoder(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embedding, self.attention = nn.Embedding(vocab, hidden, PAD), Attention(hidden)
        self.gru, self.out = nn.GRUCell(2 * hidden, hidden), nn.Linear(hidden, vocab)

    def forward(self, keys, h, mask, target):
        token, logits = torch.full((keys.size(0),), SOS), []
        for t in range(target.size(1)):
            context, _ = self.attention(h.unsqueeze(1), keys, mask)
            h = self.gru(torch.cat([self.embedding(token), context.squeeze(1)], 1), h)
            logits.append(self.out(h))
            token = target[:, t] if random.random() < 0.5 else logits[-1].argmax(1).detach()
        return torch.stack(logits, 1)


source = torch.tensor([[3, 4, 5, 2, 0], [6, 7, 2, 0, 0], [5, 3, 7, 4, 2]])
target = torch.tensor([[5, 4, 3, 2, 0], [7, 6, 2, 0, 0], [4, 7, 3, 5, 2]])
encoder, decoder = Encoder(8, 10), Decoder(8, 10)
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=0.02)
criterion = nn.CrossEntropyLoss(ignore_index=PAD)
for step in range(4):
    keys, h = encoder(source)
    logits = decoder(keys, h[0], source == PAD, target)
    loss = criterion(logits.reshape(-1, 8), target.reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(
        step,
        f"{loss.item():.4f}",
        encoder.embedding.weight.grad[PAD].abs().sum(),
        f"{decoder.attention.v.weight.grad.norm():.4f}",
    )
