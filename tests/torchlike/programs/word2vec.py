"""Skip-gram with negative sampling: embeddings, bmm, logsigmoid, nearest words."""

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(13)
corpus = "king queen man woman king man queen woman apple orange fruit apple fruit orange".split()
vocab = {w: i for i, w in enumerate(dict.fromkeys(corpus))}
ids = [vocab[w] for w in corpus]
pairs = torch.tensor([(ids[i], ids[j]) for i in range(len(ids)) for j in (i - 1, i + 1) if 0 <= j < len(ids)])
counts = torch.bincount(torch.tensor(ids)).float() ** 0.75


class SkipGram(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.center, self.context = nn.Embedding(n, dim), nn.Embedding(n, dim)
        self.context.weight.data.uniform_(-0.5 / dim, 0.5 / dim)

    def forward(self, c, o, negatives):
        v = self.center(c)
        positive = F.logsigmoid((v * self.context(o)).sum(1))
        negative = F.logsigmoid(-torch.bmm(self.context(negatives), v.unsqueeze(2)).squeeze(2)).sum(1)
        return -(positive + negative).mean()


model = SkipGram(len(vocab), 5)
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.3)
for epoch in range(6):
    negatives = torch.multinomial(counts, len(pairs) * 3, replacement=True).view(-1, 3)
    loss = model(pairs[:, 0], pairs[:, 1], negatives)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(epoch, f"{loss.item():.4f}")
unit = F.normalize(model.center.weight.detach(), dim=1)
similarity = unit @ unit.t()
similarity.fill_diagonal_(-1)
values, nearest = similarity.topk(2, dim=1)
names = list(vocab)
for i in range(len(names)):
    print(names[i], [names[j] for j in nearest[i].tolist()], values[i])
