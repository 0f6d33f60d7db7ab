"""Programs that run unchanged on PyTorch and on autograd_lab: each is given the library under the name `torch`.

Numbers are written down or computed, never drawn, so that both libraries compute with the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(fn: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[fn.__name__] = fn
    return fn


def wave(torch, *shape, start=0.3, grad=False):
    """A tensor of numbers between -1 and 1, without two alike."""
    n = math.prod(shape)
    t = torch.tensor([math.sin(start + 1.7 * i) for i in range(n)]).reshape(shape)
    return t.requires_grad_() if grad else t


def fill(torch, model):
    """Give every parameter of a model numbers of its own."""
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(wave(torch, *p.shape, start=i + 0.1) / 2)
    return model


@program
def expression(torch):
    """A value used at two depths: its messages are added up."""
    a = torch.tensor(2.0, requires_grad=True)
    yield
    b = a * a
    c = b * 3
    d = b * c
    d.backward()


@program
def arithmetic(torch):
    """Numbers on either side, powers, division, broadcasting."""
    x = wave(torch, 2, 3, grad=True)
    b = wave(torch, 3, start=2.0, grad=True)
    yield
    y = (2.0 - x) * b + x / 3
    z = (y**2 + 1).sqrt() - b.exp()
    loss = (z.abs() + 1).log().mean()
    loss.backward()


@program
def mlp(torch):
    """Two linear layers, and a second pass that adds to what the first left."""
    model = fill(torch, torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)))
    x, target = wave(torch, 5, 3), torch.tensor([0, 1, 1, 0, 1])
    yield
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(model(x), target)
        loss.backward()


@program
def convolution(torch):
    """Convolution, batch norm, relu, pooling, a linear head."""
    nn = torch.nn
    model = fill(
        torch,
        nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 2)
        ),
    )
    x, target = wave(torch, 2, 1, 6, 6), wave(torch, 2, 2, start=1.0)
    yield
    loss = nn.functional.mse_loss(model(x), target)
    loss.backward()


@program
def attention(torch):
    """One head of attention, written out, with a causal mask and layer norm."""
    x = wave(torch, 4, 3)
    wq, wk, wv = (wave(torch, 3, 3, start=s, grad=True) for s in (1.0, 2.0, 3.0))
    gain = wave(torch, 3, start=4.0, grad=True)
    mask = torch.tensor([[j > i for j in range(4)] for i in range(4)])
    yield
    q, k, v = x @ wq, x @ wk, x @ wv
    scores = (q @ k.T / 3**0.5).masked_fill(mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    out = torch.nn.functional.layer_norm(weights @ v, (3,), gain)
    loss = out.pow(2).sum()
    loss.backward()


@program
def recurrent(torch):
    """A loop that uses the same weights at each step, and stacks what it makes."""
    w, u = wave(torch, 2, 2, grad=True), wave(torch, 2, 2, start=1.0, grad=True)
    xs = wave(torch, 3, 1, 2)
    h0 = torch.zeros(1, 2)
    yield
    h, out = h0, []
    for x in xs.unbind(0):
        h = torch.tanh(x @ w + h @ u)
        out.append(h)
    loss = torch.cat(out).sum()
    loss.backward()


@program
def in_place(torch):
    """Writes into a result, with and without a gradient for what is written."""
    x, w = wave(torch, 4, grad=True), wave(torch, 4, start=1.0, grad=True)
    yield
    y = x * 2
    y += w
    y.mul_(3)
    y.clamp_(min=-1.0)
    loss = y.sum()
    loss.backward()


@program
def views(torch):
    """A write into a view changes its base: the base's history becomes CopySlices."""
    x, w = wave(torch, 3, 2, grad=True), wave(torch, 2, start=1.0, grad=True)
    yield
    y = x * 1.5
    row = y[1]
    row.mul_(w)
    z = y.t().reshape(6)
    loss = (z * z).sum()
    loss.backward()


@program
def function_that_saves(torch):
    """A custom Function that saves an operand and something made in its forward."""

    class Gauss(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            square = a * a
            ctx.save_for_backward(a, square)
            return b * (-square).exp()

        @staticmethod
        def backward(ctx, g):
            a, _ = ctx.saved_tensors
            return -2 * a * g, a * g

    x, w = wave(torch, 3, grad=True), wave(torch, 3, grad=True)
    yield
    y = Gauss.apply(x, w)
    y.sum().backward()


@program
def custom_function(torch):
    """A user's own Function, used twice."""

    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g

    x = wave(torch, 3, grad=True)
    yield
    y = Cube.apply(x)
    z = Cube.apply(y) + y
    loss = z.sum()
    loss.backward()


@program
def hooks(torch):
    """Every kind of hook, some of which change what they see; retained gradients."""
    x, w = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)
    x.register_hook(lambda g: g * 2)
    w.register_post_accumulate_grad_hook(lambda p: None)
    yield
    y = x * w
    y.register_hook(lambda g: g + 1)
    y.retain_grad()
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 0.5,))
    y.grad_fn.register_hook(lambda grads, given: (grads[0] * 10, grads[1]))
    z = y.exp()
    z.register_hook(lambda g: None)
    z.sum().backward()


@program
def no_grad_and_detach(torch):
    """Where no history is made, and why."""
    x, w = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)
    yield
    with torch.no_grad():
        scale = x.abs().max()
        with torch.enable_grad():
            inner = x * 2
    y = x / scale
    target = y.detach() * 2
    loss = ((y * w - target) ** 2).mean() + inner.sum()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad


@program
def double_backward(torch):
    """The gradient of a gradient: the first pass makes nodes of its own."""
    x = wave(torch, 3, grad=True)
    yield
    y = (x.sin() + x.exp()).sum()
    (g,) = torch.autograd.grad(y, x, create_graph=True)
    penalty = (g * g).sum()
    penalty.backward()


@program
def wanted_gradients(torch):
    """autograd.grad asks for some gradients only; the rest of the graph is left out."""
    a, b, c = (wave(torch, 2, start=s, grad=True) for s in (0.0, 1.0, 2.0))
    yield
    h = a * b
    loss = (h * c).exp().sum()
    torch.autograd.grad(loss, [h, b], retain_graph=True)
    loss.backward(inputs=[c])


@program
def checkpointed(torch):
    """Saved tensors are thrown away and computed again in the backward pass."""
    x, w = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)

    def block(x):
        return torch.tanh(x * w)

    yield
    y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=False)
    y.sum().backward()


@program
def checkpointed_by_a_pass_inside(torch):
    """The older form of checkpointing runs a backward pass within the backward pass."""
    x, w = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)

    def block(x):
        return torch.tanh(x * w)

    yield
    y = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=True)
    (y * w).sum().backward()


@program
def embedding(torch):
    """Rows of a table, one of them twice; indexing and joining."""
    table = wave(torch, 4, 3, grad=True)
    words = torch.tensor([1, 3, 1])
    yield
    e = torch.nn.functional.embedding(words, table)
    first, rest = e[0], e[1:]
    loss = torch.stack([first, rest[0], rest[1]]).logsumexp(dim=1).sum()
    loss.backward()


@program
def overwritten(torch):
    """A saved tensor is overwritten: the pass fails where it is needed."""
    x = wave(torch, 3, grad=True)
    yield
    y = x.exp()
    z = y * y
    y += 1
    z.sum().backward()


@program
def twice(torch):
    """A second pass over a graph that is freed."""
    x = wave(torch, 3, grad=True)
    yield
    y = (x * x).sum()
    y.backward()
    y.backward()


@program
def unused_input(torch):
    """A gradient is asked for that the result does not depend on: the pass ends, and then the call fails."""
    x, w = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)
    yield
    y = (x * x).sum()
    torch.autograd.grad(y, [x, w])


@program
def not_a_scalar(torch):
    """backward() of several numbers needs to be told with what to begin."""
    x = wave(torch, 3, grad=True)
    yield
    y = x * 2
    y.backward()


@program
def no_gradient_for_an_operand(torch):
    """A custom Function that sends None: the message counts, and carries nothing."""

    class First(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * b

        @staticmethod
        def backward(ctx, g):
            return g, None

    a, b = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)
    yield
    y, z = a * 1.5, b.exp()
    First.apply(y, z).sum().backward()


@program
def training(torch):
    """Two steps of stochastic gradient descent."""
    model = fill(torch, torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, target = wave(torch, 4, 2), wave(torch, 4, 1, start=1.0)
    yield
    for _ in range(2):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()


@program
def training_with_a_state(torch):
    """What optimizers keep and compute for themselves is not told, nor the mode in which they do it; a closure is."""
    w, frozen = wave(torch, 3, grad=True), wave(torch, 2)
    optim = torch.optim
    optimizers = [
        optim.SGD([w, frozen], lr=0.1, momentum=0.9, weight_decay=0.1), optim.Adam([w], lr=0.1, foreach=True, amsgrad=True),
        optim.AdamW([w], lr=0.1), optim.RMSprop([w], momentum=0.5), optim.Adagrad([w]), optim.Adadelta([w]), optim.Adamax([w]),
        optim.NAdam([w]), optim.RAdam([w]), optim.Rprop([w]), optim.ASGD([w]), optim.Adafactor([w], lr=0.1),
    ]  # fmt: skip

    def closure():
        optimizer.zero_grad()
        with torch.no_grad():
            w * 2
        loss = ((w - 3) ** 2).sum()
        loss.backward()
        return loss

    yield
    for optimizer in optimizers:
        for _ in range(2):
            optimizer.step(closure)
        optimizer.zero_grad()
        optimizer.step()


@program
def choosing(torch):
    """Indices and masks have no edge, wherever they stand among the operands: what goes to whom is said of the others."""
    x, y, first = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True), torch.tensor([0, 1])
    yield
    picked = torch.where(x > 0.5, x * 3, y)
    picked = torch.where(y > 0.9, 2.0, picked).index_add(0, first, y[:2]).index_copy(0, first, x[1:])
    picked = picked.masked_fill(x > 0.7, y[0]).scatter(0, first, x[:2]).masked_scatter(x > 0.2, y)
    picked.index_add_(0, first, x[:2])
    picked.sum().backward()


@program
def left_out(torch):
    """An operand in the middle that was not given: what goes to whom is said of the others."""
    x, shift, F = wave(torch, 2, 3, grad=True), wave(torch, 3, start=1.0, grad=True), torch.nn.functional
    yield
    y = F.layer_norm(x, [3], None, shift) + F.batch_norm(x, None, None, None, shift.detach(), training=True)
    y.sum().backward()


REFUSED = (
    "a @ b", "a + w", "w += 1", "w.add_(1)", "a.view(5)", "a[7]", "a[7] = 1", "torch.cat([a, w])", "torch.matmul(a, b)", "layer(a)",
    "layers(a)", "w.item()", "w.numpy()", "bool(w)", "F.linear(a, w)", "torch.tensor([[1], [2, 3]])", "w.sum(dim=5)", "a < w",
    "torch.stack([a, w])", "len(w[0])", "y.requires_grad_(False)", "y.backward()", "torch.zeros(2).backward()", "a.expand(3, 3)",
    "F.cross_entropy(a, torch.tensor([5, 1]))",
)  # fmt: skip
"""What both libraries refuse, before they compute anything."""


@program
def refused(torch):
    """Calls that fail, and a program that goes on: each is told, and at the end those that nothing caught."""
    a, b, w = wave(torch, 2, 3, grad=True), wave(torch, 2, 3), wave(torch, 2, grad=True)
    layer, F = fill(torch, torch.nn.Linear(2, 1)), torch.nn.functional
    layers = torch.nn.Sequential(layer)
    known = {"torch": torch, "a": a, "b": b, "w": w, "layer": layer, "layers": layers, "F": F}
    programs = [compile(text, "refused", "exec") for text in REFUSED]
    yield
    known["y"] = w * 2

    def look(g):
        try:
            g.view(7)
        except RuntimeError:
            return g * 2

    known["y"].register_hook(look)
    for program in programs:
        try:
            exec(program, known)
        except Exception:
            continue
    known["y"].sum().backward()
    w.view(7)


@program
def hooks_that_write(torch):
    """Hooks write into what they are handed; what `a + b` sends is one array for both operands."""
    a, b = wave(torch, 3, grad=True), wave(torch, 3, start=1.0, grad=True)
    v = wave(torch, 3, start=2.0)
    a.register_hook(scaled(2.0))
    b.register_post_accumulate_grad_hook(cleared)
    yield
    y = a + b
    y.backward(v)
    with torch.no_grad():
        a.grad *= 0.5


def scaled(factor):
    """A hook that writes into the gradient and returns nothing."""

    def hook(g):
        g.mul_(factor)

    return hook


def cleared(p):
    """A hook after accumulation that takes `.grad` away."""
    p.grad = None


@program
def function_that_writes(torch):
    """A custom Function whose backward writes into its input and returns that."""

    class Halve(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 0.5

        @staticmethod
        def backward(ctx, g):
            return g.mul_(0.5)

    x = wave(torch, 3, grad=True)
    v = wave(torch, 3, start=2.0)
    yield
    y = Halve.apply(x * 3) + x
    y.backward(v)


@program
def pass_within_a_hook(torch):
    """A hook runs another pass, to the same leaf: the messages of the two are counted apart."""
    x = wave(torch, 3, grad=True)

    def hook(g):
        with torch.enable_grad():
            (x * x).sum().backward()

    yield
    h = x * 2
    h.register_hook(hook)
    (h * h + h + x).sum().backward()


@program
def kept_gradients(torch):
    """What retain_grad and autograd.grad gave is written when the pass is over, and added to in the next."""
    x = wave(torch, 3, grad=True)
    yield
    h = x.exp()
    h.retain_grad()
    for _ in range(2):
        (h * h).sum().backward(retain_graph=True)
        with torch.no_grad():
            h.grad *= 0.5
    (g,) = torch.autograd.grad(h.sum(), [x])
    g.zero_()
