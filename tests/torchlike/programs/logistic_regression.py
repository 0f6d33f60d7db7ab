"""Two classes: nn.Linear, SGD with momentum, accuracy and a decision threshold."""

import torch
import torch.nn as nn

torch.manual_seed(1)
n = 60
points = torch.randn(n, 2) + torch.where(torch.arange(n) % 2 == 0, 1.0, -1.0).unsqueeze(1)
labels = (torch.arange(n) % 2 == 0).float()
model = nn.Linear(2, 1)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, weight_decay=1e-3)
for epoch in range(10):
    optimizer.zero_grad()
    loss = criterion(model(points).squeeze(-1), labels)
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch}: loss {loss:.4f}, gradient norm {model.weight.grad.norm():.4f}")
with torch.no_grad():
    predicted = torch.sigmoid(model(points)).squeeze() > 0.5
print("accuracy:", (predicted == labels.bool()).float().mean().item())
print(model, list(model.state_dict()))
