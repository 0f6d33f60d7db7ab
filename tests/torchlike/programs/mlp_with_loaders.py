"""The usual training loop: random_split, DataLoader, train and eval modes, Adam."""

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(42)
X = torch.randn(120, 6)
Y = (X[:, 0] * X[:, 1] > 0).long() + (X[:, 2] > 1).long()
train_set, test_set = random_split(TensorDataset(X, Y), [100, 20])
train_loader = DataLoader(train_set, batch_size=25, shuffle=True, num_workers=0, pin_memory=False)
test_loader = DataLoader(test_set, batch_size=10)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Net(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(0.2))
        self.head = nn.Linear(hidden, 3)

    def forward(self, x):
        return self.head(self.body(x))


model = Net().to(device)
print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
optimizer = optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(4):
    model.train()
    running = 0.0
    for inputs, targets in train_loader:
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.cross_entropy(model(inputs), targets)
        loss.backward()
        optimizer.step()
        running += loss.item() * inputs.size(0)
    model.eval()
    correct = 0
    with torch.inference_mode():
        for inputs, targets in test_loader:
            correct += (model(inputs).argmax(dim=1) == targets).sum().item()
    print(
        f"epoch {epoch + 1}: train loss {running / len(train_set):.4f}, test about {correct / len(test_set):.0f}"
    )
