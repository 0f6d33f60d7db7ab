"""What people run into: a second backward, a non-scalar loss, a nan found by anomaly mode, in-place damage."""

import warnings

import torch


def attempt(name, fn):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            print(name, "->", fn())
    except Exception as error:
        print(name, "->", type(error).__name__, str(error).splitlines()[0][:100])


x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)


def twice():
    y = (x**2).sum()
    y.backward()
    y.backward()


def nan_found():
    with torch.autograd.set_detect_anomaly(True):
        y = torch.sqrt(torch.tensor([-1.0, 4.0], requires_grad=True))
        y.sum().backward()


def damaged():
    y = x * 2
    z = y**2
    y += 1
    z.sum().backward()


attempt("twice", twice)
attempt("vector", lambda: (x * 2).backward())
attempt("constant", lambda: torch.ones(2).sum().backward())
attempt("leaf", lambda: x.add_(1))
attempt("numpy", lambda: x.numpy())
attempt("deepcopy", lambda: __import__("copy").deepcopy(x * 2))
attempt("nan", nan_found)
attempt("damaged", damaged)
attempt("int", lambda: torch.tensor([1, 2], requires_grad=True))
attempt("shapes", lambda: torch.ones(2, 3) @ torch.ones(2, 3))
attempt("broadcast", lambda: torch.ones(2, 3) + torch.ones(2))
attempt("linear", lambda: torch.nn.Linear(3, 2)(torch.ones(4, 5)))
attempt("classes", lambda: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0, 5])))
attempt("long", lambda: torch.nn.functional.cross_entropy(torch.zeros(2, 3), torch.tensor([0.0, 1.0])))
attempt("index", lambda: x[5])
attempt("view", lambda: torch.ones(2, 3).t().view(6))
attempt("unused", lambda: torch.autograd.grad(x.sum(), torch.ones(1, requires_grad=True)))
attempt("inference", lambda: torch.inference_mode()(lambda: x * 2)().requires_grad)
attempt("attribute", lambda: torch.nn.Linear(1, 1).wieght)
attempt("item", lambda: x.item())
attempt("bool", lambda: bool(x > 1))
attempt("cat", lambda: torch.cat([torch.ones(2, 2), torch.ones(2, 3)]))
attempt("conv", lambda: torch.nn.Conv2d(3, 2, 3)(torch.ones(1, 1, 5, 5)))
attempt("backward grad", lambda: (x * 2).backward(torch.ones(2)))
