"""How tensors, modules, sizes and types print."""

import torch

torch.manual_seed(80)
print(torch.tensor(3), torch.tensor(2.5), torch.tensor([True, False]), torch.empty(0), torch.empty(2, 0))
print(
    torch.tensor([1.0, 2.0]),
    torch.tensor([1e-5, 1.0, 1e5]),
    torch.tensor([1e10, 1.0]),
    torch.tensor([float("nan"), float("inf"), -1]),
)
print(torch.randn(3, 4))
print(torch.arange(24).view(2, 3, 4))
print(torch.arange(2000.0).view(40, 50))
print(
    torch.ones(2, 2, requires_grad=True) * 2,
    torch.ones(1, dtype=torch.float16),
    torch.ones(2, dtype=torch.int32),
)
x = torch.randn(2, requires_grad=True)
print(x, x.exp(), x.detach(), x.sum().backward(), x.grad)
print(
    x.shape,
    x.size(),
    x.dtype,
    x.device,
    x.layout,
    x.type(),
    x.stride(),
    x.numel(),
    x.dim(),
    torch.Size([2, 3]) + (4,),
)
print(f"{x[0]:.3f} {x.sum().item():8.2f} {torch.tensor(7):03d} {torch.pi:.3f}")
print(torch.nn.Parameter(torch.zeros(2)), torch.max(torch.tensor([[1, 5], [7, 2]]), dim=1))
print(torch.sort(torch.tensor([3, 1, 2])), torch.float64, torch.device("cpu"), torch.finfo(torch.float32).eps)
print(
    str(torch.zeros(2, 3).t()),
    repr(torch.tensor([[0.1, -20.0]])),
    torch.tensor([0.1234567]).tolist()[0] > 0.12,
)
with torch.no_grad():
    print(x * 2, (x * 2).requires_grad, torch.is_grad_enabled())
torch.set_printoptions(precision=2, linewidth=60, threshold=20, edgeitems=2)
print(torch.linspace(0, 1, 30), torch.tensor([1.23456, 123.4]))
torch.set_printoptions(profile="default")
print(
    torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Dropout(0.1)]))
)
print(torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1))
print(
    list(torch.arange(3)),
    [t.item() for t in torch.arange(3)],
    {"a": torch.tensor(1)},
    bool(torch.tensor([1])),
)
