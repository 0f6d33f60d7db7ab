"""Next-character prediction with an LSTM; hidden state carried and detached; sampling by multinomial."""

import torch
import torch.nn as nn

torch.manual_seed(3)
text = "the cat sat on the mat and the rat sat on the hat "
chars = sorted(set(text))
index = {c: i for i, c in enumerate(chars)}
data = torch.tensor([index[c] for c in text])


class CharRNN(nn.Module):
    def __init__(self, vocab, embed=8, hidden=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, embed)
        self.rnn = nn.LSTM(embed, hidden, num_layers=1, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        h, state = self.rnn(self.embed(x), state)
        return self.out(h), state


model = CharRNN(len(chars))
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(3):
    state = None
    for start in range(0, 40, 10):
        x = data[start : start + 10].unsqueeze(0)
        y = data[start + 1 : start + 11].unsqueeze(0)
        logits, state = model(x, state)
        state = tuple(s.detach() for s in state)
        loss = loss_fn(logits.view(-1, len(chars)), y.view(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    print(f"{epoch} {loss.item():.4f}")
model.eval()
with torch.no_grad():
    letter, state, written = data[:1].view(1, 1), None, ""
    for _ in range(12):
        logits, state = model(letter, state)
        probabilities = torch.softmax(logits[0, -1] / 0.8, dim=-1)
        letter = torch.multinomial(probabilities, 1).view(1, 1)
        written += chars[letter.item()]
print(repr(written))
