"""A small program for each rule of the course: the rule book steps through it.

The numbers differ, so that each gradient tells where it came from. Each program ends with a backward pass.
"""

EXAMPLES = {
    "AccumulateGrad": """
x = torch.tensor(3.0, requires_grad=True)
y = 2 * x + 5 * x
y.backward()
""",
    "AddBackward0": """
a = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
y = a + b
y.backward()
""",
    "AddmmBackward0": """
x = torch.tensor([[1.0, 2.0]])
w = torch.tensor([[3.0, -1.0], [0.5, 4.0]], requires_grad=True)
b = torch.tensor([0.25, -2.0], requires_grad=True)
y = torch.addmm(b, x, w)
y.backward(torch.tensor([[1.0, 10.0]]))
""",
    "AsStridedBackward0": """
x = torch.tensor([2.0, 3.0, 5.0], requires_grad=True)
y = x.as_strided((2, 2), (1, 1))
y.sum().backward()
""",
    "CopySlices": """
x = torch.tensor([2.0, 3.0, 5.0], requires_grad=True)
y = x * 4
y[0] = 7.0
y.sum().backward()
""",
    "DivBackward0": """
a = torch.tensor(6.0, requires_grad=True)
b = torch.tensor(2.0, requires_grad=True)
y = a / b
y.backward()
""",
    "ExpBackward0": """
x = torch.tensor(1.5, requires_grad=True)
y = x.exp()
y.backward()
""",
    "LogSoftmaxBackward0": """
x = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
y = torch.log_softmax(x, dim=0)
y[0].backward()
""",
    "MmBackward0": """
a = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
b = torch.tensor([[4.0, 0.5], [-1.0, 2.0], [0.0, 7.0]], requires_grad=True)
y = a @ b
y.backward(torch.tensor([[1.0, 10.0]]))
""",
    "MulBackward0": """
a = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
y = a * b
y.backward()
""",
    "MulBackward1": """
x = torch.tensor(3.0, requires_grad=True)
slope, = torch.autograd.grad(x ** 3, x, create_graph=True)
slope.backward()
""",
    "MvBackward0": """
a = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
v = torch.tensor([2.0, -1.0, 0.5], requires_grad=True)
y = a @ v
y.backward(torch.tensor([1.0, 10.0]))
""",
    "NllLossBackward0": """
log_p = torch.tensor([[-0.5, -1.5, -2.0], [-3.0, -0.25, -1.0]], requires_grad=True)
right = torch.tensor([0, 2])
y = torch.nn.functional.nll_loss(log_p, right)
y.backward()
""",
    "PowBackward0": """
x = torch.tensor(3.0, requires_grad=True)
y = x ** 2
y.backward()
""",
    "ReluBackward0": """
x = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
y = x.relu()
y.backward(torch.tensor([1.0, 10.0, 100.0]))
""",
    "RoundBackward0": """
x = torch.tensor(2.6, requires_grad=True)
y = x.round()
y.backward()
""",
    "SelectBackward0": """
x = torch.tensor([2.0, 3.0, 5.0], requires_grad=True)
y = x[1] * 10
y.backward()
""",
    "SelectBackwardBackward0": """
x = torch.tensor([2.0, 3.0], requires_grad=True)
slope, = torch.autograd.grad(x[1] ** 3, x, create_graph=True)
slope.sum().backward()
""",
    "SinBackward0": """
x = torch.tensor(0.5, requires_grad=True)
y = x.sin()
y.backward()
""",
    "SliceBackward0": """
x = torch.tensor([2.0, 3.0, 5.0, 7.0], requires_grad=True)
y = x[1:3]
y.backward(torch.tensor([1.0, 10.0]))
""",
    "SqrtBackward0": """
x = torch.tensor(9.0, requires_grad=True)
y = x.sqrt()
y.backward()
""",
    "SubBackward0": """
a = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
y = a - b
y.backward()
""",
    "SumBackward0": """
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.sum() * 10
y.backward()
""",
    "TBackward0": """
x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
y = x.t()
y.backward(torch.tensor([[1.0, 2.0], [10.0, 20.0], [100.0, 200.0]]))
""",
    "TanhBackward0": """
x = torch.tensor(0.5, requires_grad=True)
y = x.tanh()
y.backward()
""",
    "WhereBackward0": """
x = torch.tensor([-2.0, 3.0], requires_grad=True)
y = torch.where(x > 0, x * 5, x * 0.1)
y.backward(torch.tensor([1.0, 10.0]))
""",
}
"""{rule: the lines of its program after `import torch`}"""
