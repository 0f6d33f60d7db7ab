"""A Kalman filter as matrices, its noise learned by differentiating the likelihood."""

import torch

torch.manual_seed(30)
torch.set_printoptions(sci_mode=False, precision=4)
F_ = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
H = torch.tensor([[1.0, 0.0]])
truth = torch.cumsum(torch.cumsum(0.1 * torch.randn(15), 0) + 0.5, 0)
seen = truth + 0.5 * torch.randn(15)
log_q = torch.tensor(-2.0, requires_grad=True)
log_r = torch.tensor(0.0, requires_grad=True)


def filter_(seen, log_q, log_r):
    Q, R = log_q.exp() * torch.eye(2), log_r.exp() * torch.eye(1)
    m, P = torch.zeros(2, 1), 10 * torch.eye(2)
    total, path = torch.zeros(()), []
    for z in seen:
        m, P = F_ @ m, F_ @ P @ F_.mT + Q
        S = H @ P @ H.T + R
        residual = z - H @ m
        K = P @ H.T @ torch.linalg.inv(S)
        m = m + K @ residual
        P = (torch.eye(2) - K @ H) @ P
        total = (
            total
            - 0.5 * (residual.T @ torch.linalg.solve(S, residual) + torch.logdet(2 * torch.pi * S)).squeeze()
        )
        path.append(m[0, 0])
    return total, torch.stack(path), P


optimizer = torch.optim.Adam([log_q, log_r], lr=0.2)
for step in range(6):
    optimizer.zero_grad()
    likelihood, path, P = filter_(seen, log_q, log_r)
    (-likelihood).backward()
    optimizer.step()
    print(step, f"{likelihood.item():.4f} {log_q.grad.item():.4f} {log_r.grad.item():.4f}")
print(path[-3:], P)
print(torch.linalg.cholesky(P).diagonal(), torch.trace(P), torch.det(P))
torch.set_printoptions(profile="default")
