"""The programs of notebooks 02-06 and 10, as far as the core alone runs them: without lab, nn, optim and comparisons.

Each is a piece of Python that finds `torch`, and shows what it has with `seen`.
"""

RECORDED_PASSES = ("06 create_graph",)
"""Programs that go back through a recorded pass: PyTorch records other steps than the formulas', so nodes differ, and numbers do not."""

PROGRAMS = {
    "02 a product and a constant": """
a = torch.tensor(3.0, requires_grad=True)
k = torch.tensor(5.0)
b = a * a
c = b * k
d = c + a
seen(d.grad_fn.name(), [node and node.name() for node, _ in d.grad_fn.next_functions])
seen(c.grad_fn.next_functions[1], (b + 3).grad_fn.next_functions[1])
d.backward()
seen(a.grad, k.grad)
""",
    "02 asked for too late": """
x = torch.tensor(4.0)
y = x * x
x.requires_grad_()
seen(y.requires_grad, y.grad_fn, (x * x).requires_grad, x.is_leaf)
try:
    torch.tensor([1, 2], requires_grad=True)
except RuntimeError as error:
    seen(str(error))
""",
    "02 Python's own loop": """
x = torch.tensor(2.0, requires_grad=True)
y = x
while y.item() < 50:
    y = y * 3
y.backward()
seen(y.item(), x.grad)
""",
    "02 a chain of squares": """
x = torch.tensor(3.0, requires_grad=True)
y = (2 * x + 1) ** 2
y.backward()
seen(y.grad_fn.name(), x.grad)
""",
    "03 nodes called by hand": """
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
for result in (a + b, a - b, a * b, a / b, torch.maximum(a, b), a**3, -a, 7 - a, 1 / b):
    seen(result.grad_fn.name(), result.grad_fn(torch.tensor(6.0)))
for fn in (torch.exp, torch.log, torch.tanh, torch.sigmoid, torch.relu, torch.reciprocal):
    y = fn(a)
    seen(y.grad_fn.name(), y.grad_fn(torch.tensor(4.0)))
seen(torch.tanh(a).grad_fn._saved_result, (a * b).grad_fn._saved_self)
""",
    "03 a rule at its kinks": """
for at in (3.0, -3.0, 0.0):
    x = torch.tensor(at, requires_grad=True)
    seen(torch.relu(x).grad_fn(torch.tensor(4.0)))
x = torch.tensor([1.0, 1.0, 2.0], requires_grad=True)
y = torch.tensor([1.0, 2.0, 1.0], requires_grad=True)
torch.maximum(x, y).sum().backward()
seen(x.grad, y.grad)
""",
    "03 backward with a gradient": """
a, b = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
(a * b + a).backward(torch.tensor(7.0))
seen(a.grad, b.grad)
""",
    "04 two paths": """
a = torch.tensor(2.0, requires_grad=True)
b = a * a
c = b * 3
loss = b * c
loss.backward()
seen(a.grad)
a = torch.tensor(3.0, requires_grad=True)
u = a * 5
s = u + a
(s * u).backward()
seen(a.grad)
""",
    "04 half a million paths": """
x = torch.tensor(1.0, requires_grad=True)
y = x
for _ in range(20):
    y = y * y
y.backward()
seen(x.grad)
""",
    "04 a small network": """
W1 = torch.tensor([[0.5, -1.0, 0.25], [1.0, 0.5, -0.5]], requires_grad=True)
b1 = torch.tensor([0.1, 0.2, -0.3], requires_grad=True)
W2 = torch.tensor([[1.0], [-1.0], [0.5]], requires_grad=True)
b2 = torch.tensor([0.25], requires_grad=True)
x = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.5, 0.5]])
for _ in range(2):
    loss = ((torch.relu(x @ W1 + b1) @ W2 + b2) ** 2).mean()
    loss.backward()
    seen(W1.grad, b1.grad, W2.grad, b2.grad)
    with torch.no_grad():
        for parameter in (W1, b1, W2, b2):
            parameter -= parameter.grad * 0.5
            parameter.grad = None
seen(loss)
""",
    "05 who keeps a gradient": """
import warnings
x = torch.tensor(3.0, requires_grad=True)
h = x * 2
h.retain_grad()
h.register_hook(lambda g: seen("passing h", g))
loss = h * h
loss.backward()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    seen(h.grad, h.is_leaf, h.retains_grad, loss.grad, x.grad)
seen((x * 1).is_leaf, x.detach().is_leaf, x.detach().requires_grad)
""",
    "05 hooks that change": """
x = torch.tensor([1.0, 2.0], requires_grad=True)
handle = x.register_hook(lambda g: g * 10)
y = x * 3
y.register_hook(lambda g: g + 1)
y.sum().backward()
seen(x.grad)
handle.remove()
(x * 3).sum().backward()
seen(x.grad)
""",
    "05 backward adds": """
x = torch.tensor(3.0, requires_grad=True)
for _ in range(2):
    (x * x).backward()
    seen(x.grad.item())
a, b, c = (torch.tensor(v, requires_grad=True) for v in (1.0, 2.0, 3.0))
(a * 4 + b * 0).backward()
seen(a.grad, b.grad, c.grad)
""",
    "06 a second backward": """
a = torch.tensor(3.0, requires_grad=True)
for y in (a + a, a * a, torch.exp(a)):
    y.backward()
    try:
        y.backward()
        seen("again")
    except RuntimeError as error:
        seen(str(error))
    try:
        seen(y.grad_fn._saved_self)
    except (RuntimeError, AttributeError) as error:
        seen(str(error))
seen(a.grad)
""",
    "06 what is saved": """
x = torch.tensor([[1.0] * 4] * 3)
w = torch.tensor([[0.5, 0.5]] * 4, requires_grad=True)
b = torch.tensor([0.0, 0.0], requires_grad=True)
p = x @ w
s = p + b
r = torch.relu(s)
e = torch.exp(r)
m = e * 3
for y in (p, s, r, e, m):
    seen(y.grad_fn.name(), [None if t is None else t for t in y.grad_fn.saved])
""",
    "06 retain_graph": """
a = torch.tensor(2.0, requires_grad=True)
h = a * a
first, second = h * 3, h * 5
first.backward(retain_graph=True)
second.backward()
seen(a.grad)
w = torch.tensor(0.9, requires_grad=True)
h = torch.tensor(1.0)
for _ in range(4):
    h = h.detach() * w
    h.backward(retain_graph=True)
seen(w.grad)
""",
    "06 create_graph": """
x = torch.tensor(3.0, requires_grad=True)
y = x**3 + torch.exp(x) * x
(first,) = torch.grad(y, x, create_graph=True)
(second,) = torch.grad(first, x, create_graph=True)
second.backward()
seen(first, second, x.grad)
v = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.grad((v * v * v).sum(), v, create_graph=True)
g.sum().backward()
seen(v.grad)
""",
    "10 a saved value overwritten": """
x = torch.tensor(3.0, requires_grad=True)
y = x * 2
z = y * y
y += 1
seen(y._version)
try:
    z.backward()
except RuntimeError as error:
    seen(str(error).split(" Hint")[0])
for make in (lambda y: y + 5, lambda y: torch.exp(y)):
    y = x * 2
    z = make(y)
    y += 1
    z.backward()
    seen(x.grad)
z = torch.exp(x * 2)
z += 1
try:
    z.backward()
except RuntimeError as error:
    seen(str(error).split(" Hint")[0])
""",
    "10 data and detach": """
x = torch.tensor(3.0, requires_grad=True)
y = x * x
x.data.fill_(100.0)
y.backward()
seen(x.grad, x._version)
x = torch.tensor(3.0, requires_grad=True)
y = x * x
x.detach().fill_(100.0)
try:
    y.backward()
except RuntimeError as error:
    seen(x._version, str(error).split(" Hint")[0])
""",
    "10 a view is written": """
a = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
b = a * 5
v = b[0]
v *= 3
b.sum().backward()
seen(b.tolist(), b.grad_fn.name(), v.grad_fn.name(), b._version, v._version, a.grad)
c = a * 5
copy = c[0].clone()
copy *= 3
c.sum().backward()
seen(a.grad)
""",
    "10 setting elements": """
a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
b = a * 4
b[1] = 0
b[1:3] *= 2
b.sum().backward()
seen(b, a.grad)
""",
    "10 leaves may not be written": """
a = torch.tensor([1.0, 2.0], requires_grad=True)
for write in (lambda: a.mul_(2.0), lambda: a[0].mul_(2.0), lambda: a.zero_()):
    try:
        write()
    except RuntimeError as error:
        seen(str(error))
with torch.no_grad():
    a *= 3
seen(a, a._version, a.is_leaf)
""",
}
