"""LBFGS, with a closure and with the strong Wolfe line search."""

import torch

torch.manual_seed(0)
x = torch.linspace(0, 3, 20)
y = 2.5 * torch.exp(-1.3 * x) + 0.5
for search in (None, "strong_wolfe"):
    theta = torch.tensor([1.0, 1.0, 0.0], requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [theta], lr=0.5 if search is None else 1, max_iter=5, history_size=4, line_search_fn=search
    )

    def closure():
        optimizer.zero_grad()
        a, b, c = theta
        loss = torch.mean((a * torch.exp(-b * x) + c - y) ** 2)
        loss.backward()
        return loss

    for step in range(4):
        loss = optimizer.step(closure)
        print(search, step, f"{loss.item():.6f}")
    print(theta)
    state = optimizer.state_dict()["state"][0]
    print(state["func_evals"], state["n_iter"], len(state["old_dirs"]))
