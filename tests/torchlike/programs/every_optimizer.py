"""The same little problem for every optimizer."""

import torch

A = torch.tensor([[3.0, 1.0], [1.0, 2.0]])
b = torch.tensor([1.0, -2.0])
makers = {
    "SGD": lambda p: torch.optim.SGD(p, lr=0.05),
    "Momentum": lambda p: torch.optim.SGD(p, lr=0.05, momentum=0.9, dampening=0.1),
    "Adam": lambda p: torch.optim.Adam(p, lr=0.1, amsgrad=True),
    "AdamW": lambda p: torch.optim.AdamW(p, lr=0.1),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.1, weight_decay=0.01),
    "RAdam": lambda p: torch.optim.RAdam(p, lr=0.1),
    "Adamax": lambda p: torch.optim.Adamax(p, lr=0.1),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.5, lr_decay=0.01),
    "Adadelta": lambda p: torch.optim.Adadelta(p, lr=1.0),
    "RMSprop": lambda p: torch.optim.RMSprop(p, lr=0.05, centered=True, momentum=0.5),
    "Rprop": lambda p: torch.optim.Rprop(p, lr=0.1),
    "ASGD": lambda p: torch.optim.ASGD(p, lr=0.05, t0=2),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.1),
}
for name, make in makers.items():
    w = torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    W = torch.nn.Parameter(torch.arange(6.0).view(2, 3) / 6)
    optimizer = make([w, W])
    for _ in range(12):
        optimizer.zero_grad()
        loss = 0.5 * w @ A @ w - b @ w + (W @ W.t()).pow(2).sum()
        loss.backward()
        optimizer.step()
    print(name, f"{loss.item():.5f}", w.data, W.data[0], sorted(optimizer.state_dict()["state"].get(0, {})))
print("solution", torch.linalg.solve(A, b))
