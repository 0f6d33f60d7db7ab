"""Newton's method with the full Hessian, and with conjugate gradients that only need products with it."""

import torch
from torch.autograd.functional import hessian, hvp, jacobian

torch.set_printoptions(precision=6)


def rosenbrock(p):
    x, y = p
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


p = torch.tensor([-1.2, 1.0], dtype=torch.float64)
for step in range(5):
    g, H = jacobian(rosenbrock, p), hessian(rosenbrock, p)
    p = p - torch.linalg.solve(H, g)
    print(step, p, rosenbrock(p).item())

torch.manual_seed(0)
A = torch.randn(12, 5, dtype=torch.float64)
b = torch.randn(12, dtype=torch.float64)


def f(w):
    return torch.log1p(torch.exp(A @ w)).sum() + 0.5 * w @ w - (b @ A) @ w


def conjugate_gradient(apply, rhs, steps=5):
    x = torch.zeros_like(rhs)
    r = rhs.clone()
    d = r.clone()
    for _ in range(steps):
        if r.norm() < 1e-10:
            break
        Hd = apply(d)
        alpha = r.dot(r) / d.dot(Hd)
        x = x + alpha * d
        new = r - alpha * Hd
        d = new + new.dot(new) / r.dot(r) * d
        r = new
    return x


w = torch.zeros(5, dtype=torch.float64, requires_grad=True)
for step in range(4):
    (g,) = torch.autograd.grad(f(w), w, create_graph=True)

    def product(v):
        return torch.autograd.grad(g, w, v, retain_graph=True)[0]

    direction = conjugate_gradient(product, g.detach())
    with torch.no_grad():
        w -= direction
    print(step, g.norm().item())
value, Hv = hvp(f, w.detach(), torch.ones(5, dtype=torch.float64))
print(value, Hv)
torch.set_printoptions(profile="default")
