"""Whole programs, as text, that are run recorded and unrecorded (test_recording_changes_nothing.py).

They run on both libraries but where `only` says "torch". `raises` is the error that a program ends with. Tools: see unchanged.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import dedent


@dataclass(frozen=True)
class Program:
    """A program, the only library it runs on if it is one, and the error it ends with."""

    source: str
    only: str = ""
    raises: str = ""


PROGRAMS: dict[str, Program] = {}


def program(name: str, source: str, only: str = "", raises: str = "") -> None:
    assert name not in PROGRAMS
    PROGRAMS[name] = Program(dedent(source).strip() + "\n", only, raises)


# -- modules and optimizers ---------------------------------------------------------------------------

for optimizer in (
    "SGD(m.parameters(), lr=.1)", "SGD(m.parameters(), lr=.1, momentum=.9, nesterov=True, weight_decay=.01)",
    "Adam(m.parameters(), lr=.1)", "AdamW(m.parameters(), lr=.1, amsgrad=True)", "RMSprop(m.parameters(), momentum=.5)",
    "Adagrad(m.parameters())", "Adadelta(m.parameters())", "Adamax(m.parameters())", "NAdam(m.parameters())",
    "RAdam(m.parameters())", "Rprop(m.parameters())", "ASGD(m.parameters())",
):  # fmt: skip
    program(f"training with {optimizer}", f"""
        m = fill(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
        optimizer = torch.optim.{optimizer}
        x, target = wave(5, 3), torch.tensor([0, 1, 1, 0, 1])
        for step in range(3):
            optimizer.zero_grad(set_to_none=step != 1)
            loss = F.cross_entropy(m(x), target)
            loss.backward()
            optimizer.step()
    """)  # fmt: skip

program("L-BFGS with a closure", """
    w = wave(3, grad=True)
    optimizer = torch.optim.LBFGS([w], max_iter=5, line_search_fn="strong_wolfe")
    def closure():
        optimizer.zero_grad()
        loss = ((w - 1) ** 4).sum()
        loss.backward()
        return loss
    losses = [optimizer.step(closure).item() for _ in range(2)]
""")  # fmt: skip
program("an optimizer by hand", """
    w, b = wave(2, 3, grad=True), torch.zeros(3, requires_grad=True)
    for _ in range(3):
        loss = ((wave(4, 2) @ w + b) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (w, b):
                p -= 0.1 * p.grad
                p.grad.zero_()
""")  # fmt: skip
program("clipping, a scheduler, averaging", """
    m = fill(nn.Linear(3, 2))
    average = [p.detach().clone() for p in m.parameters()]
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(3):
        optimizer.zero_grad()
        m(wave(4, 3)).pow(2).sum().backward()
        norm = nn.utils.clip_grad_norm_(m.parameters(), 0.5)
        nn.utils.clip_grad_value_(m.parameters(), 0.2)
        optimizer.step()
        scheduler.step()
        with torch.no_grad():
            for a, p in zip(average, m.parameters()):
                a.mul_(0.9).add_(p, alpha=0.1)
""")  # fmt: skip
program("a scheduler stepped too early warns", """
    m = fill(nn.Linear(3, 2))
    optimizer = torch.optim.SGD(m.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    scheduler.step()
    m(wave(4, 3)).sum().backward()
    optimizer.step()
""")  # fmt: skip
for init in (
    "uniform_", "normal_", "ones_", "zeros_", "eye_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_",
    "orthogonal_", "trunc_normal_",
):  # fmt: skip
    program(f"initializer {init}", f"""
        w = nn.Parameter(torch.empty(3, 4))
        nn.init.{init}(w)
        b = nn.Parameter(torch.empty(4))
        nn.init.constant_(b, 0.5)
        (wave(2, 3) @ w + b).tanh().sum().backward()
        more = torch.rand(2)
    """)  # fmt: skip
program("layers initialize themselves", """
    layers = nn.ModuleList([nn.Linear(3, 2), nn.Conv2d(1, 2, 2), nn.Embedding(4, 3, padding_idx=1), nn.LSTM(2, 3), nn.BatchNorm1d(2),
                            nn.LayerNorm(3), nn.MultiheadAttention(4, 2), nn.Bilinear(2, 2, 2)])
    numbers = torch.randn(3)
""")  # fmt: skip
program("reset_parameters", """
    m = nn.Linear(3, 2)
    m(wave(1, 3)).sum().backward()
    m.reset_parameters()
    m.apply(lambda part: nn.init.zeros_(part.bias))
""")  # fmt: skip
program("convolutions, batch norm and pooling, then eval", """
    m = fill(nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(2, 3, 2),
                           nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 2)))
    x = wave(2, 1, 6, 6)
    m(x).sum().backward()
    m.eval()
    y = m(x)
    y.sum().backward()
""")  # fmt: skip
program("dropout draws the same", """
    m = fill(nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 2), nn.Dropout(0.1)))
    y = m(wave(4, 3))
    y.sum().backward()
    z = F.dropout(wave(5, grad=True), 0.3)
    r = torch.randn(3) + torch.rand(3) + torch.randperm(3)
    b = torch.bernoulli(torch.full((4,), 0.5))
""")  # fmt: skip
for norm in (
    "BatchNorm1d(4)",
    "LayerNorm(4)",
    "GroupNorm(2, 4)",
    "InstanceNorm1d(4, affine=True)",
    "RMSNorm(4)",
    "LocalResponseNorm(2)",
):
    program(f"normalization {norm}", f"""
        m = fill(nn.{norm})
        x = wave(*{(3, 4, 5) if "Instance" in norm or "Local" in norm else (3, 4)}, grad=True)
        y = m(x)
        (y * wave(*y.shape)).sum().backward()
        m.eval()
        z = m(x * 2)
    """)  # fmt: skip
for cell in ("RNN", "LSTM", "GRU"):
    for options in (
        "",
        ", num_layers=2",
        ", bidirectional=True",
        ", batch_first=True, dropout=0.5, num_layers=2",
    ):
        program(f"{cell}(2, 3{options})", f"""
            m = fill(nn.{cell}(2, 3{options}))
            out, state = m(wave(4, 1, 2))
            out.sum().backward()
            out, state = m(wave(4, 1, 2, grad=True))
            (state[0] if isinstance(state, tuple) else state).pow(2).sum().backward()
        """)  # fmt: skip
program("cells of recurrent networks", """
    lstm, gru, rnn = fill(nn.LSTMCell(2, 3)), fill(nn.GRUCell(3, 3)), fill(nn.RNNCell(3, 2))
    h, c = torch.zeros(1, 3), torch.zeros(1, 3)
    for x in wave(3, 1, 2).unbind(0):
        h, c = lstm(x, (h, c))
        h = gru(h, h)
    rnn(h).sum().backward()
""")  # fmt: skip
program("packed sequences", """
    m = fill(nn.GRU(2, 3))
    x = [wave(3, 2), wave(1, 2)]
    packed = nn.utils.rnn.pack_padded_sequence(nn.utils.rnn.pad_sequence(x), [3, 1])
    out, h = m(packed)
    padded, lengths = nn.utils.rnn.pad_packed_sequence(out)
    padded.sum().backward()
""")  # fmt: skip
program("multi-head attention", """
    m = fill(nn.MultiheadAttention(4, 2, batch_first=True))
    x = wave(2, 3, 4, grad=True)
    y, weights = m(x, x, x)
    y.sum().backward()
    z, _ = m(x, x, x, need_weights=False, attn_mask=torch.tensor([[j > i for j in range(3)] for i in range(3)]))
    z.pow(2).sum().backward()
""")  # fmt: skip
program("scaled dot product attention", """
    q, k, v = (wave(1, 2, 3, 4, start=s, grad=True) for s in (0.0, 1.0, 2.0))
    F.scaled_dot_product_attention(q, k, v, is_causal=True).sum().backward()
    y = F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)
    y.sum().backward()
""")  # fmt: skip
program("a transformer encoder layer", """
    m = fill(nn.TransformerEncoderLayer(4, 2, 8, dropout=0.1))
    m(wave(3, 2, 4)).sum().backward()
    m.eval()
    with torch.no_grad():
        y = m(wave(3, 2, 4))
""")  # fmt: skip
program("embeddings", """
    table, bag = fill(nn.Embedding(5, 3, padding_idx=0)), fill(nn.EmbeddingBag(5, 3))
    words = torch.tensor([[1, 2, 0], [4, 1, 1]])
    (table(words).sum() + bag(words).pow(2).sum()).backward()
""")  # fmt: skip
program("an embedding that keeps norms small writes its table", """
    table = nn.Embedding(3, 2, max_norm=0.5)
    with torch.no_grad():
        table.weight.copy_(wave(3, 2) * 3)
    table(torch.tensor([0, 2, 0])).sum().backward()
""")  # fmt: skip
program("spectral and weight normalization", """
    a = nn.utils.parametrizations.weight_norm(fill(nn.Linear(3, 3)))
    b = nn.utils.parametrizations.spectral_norm(fill(nn.Linear(3, 2)))
    for _ in range(2):
        b(a(wave(2, 3))).sum().backward()
""")  # fmt: skip
program("a parametrization", """
    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).T
    m = fill(nn.Linear(3, 3))
    nn.utils.parametrize.register_parametrization(m, "weight", Symmetric())
    m(wave(2, 3)).sum().backward()
    with nn.utils.parametrize.cached():
        y = m(wave(2, 3)) + m(wave(2, 3))
    nn.utils.parametrize.remove_parametrizations(m, "weight")
""")  # fmt: skip
program("pruning", """
    m = fill(nn.Linear(3, 2))
    nn.utils.prune.l1_unstructured(m, "weight", amount=2)
    m(wave(2, 3)).sum().backward()
    nn.utils.prune.remove(m, "weight")
""")  # fmt: skip
program("parameters as a vector", """
    m = fill(nn.Linear(3, 2))
    vector = nn.utils.parameters_to_vector(m.parameters())
    nn.utils.vector_to_parameters(vector * 2, m.parameters())
    y = m(wave(1, 3)).sum()
""")  # fmt: skip
program("a lazy module", """
    m = nn.Sequential(nn.LazyLinear(3), nn.Tanh(), nn.LazyLinear(2))
    m(wave(2, 4)).sum().backward()
""")  # fmt: skip
program("freezing and thawing", """
    m = fill(nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2)))
    m[0].requires_grad_(False)
    m(wave(2, 3)).sum().backward()
    m[0].weight.requires_grad = True
    m(wave(2, 3)).sum().backward()
""")  # fmt: skip

# -- writing through views under every grad mode ------------------------------------------------------

MODES = {
    "": "if True:", "enable_grad": "with torch.enable_grad():", "no_grad": "with torch.no_grad():",
    "inference_mode": "with torch.inference_mode():", "set_grad_enabled(False)": "with torch.set_grad_enabled(False):",
}  # fmt: skip
VIEWS = {
    "row": "base[0]", "slice": "base[:, 1:]", "transposed": "base.t()", "flat": "base.view(-1)", "diagonal": "base.diagonal()",
    "detached": "base.detach()", "data": "base.data", "one of unbind": "base.unbind(0)[1]", "view of a view": "base[0][1:]",
    "expanded": "base[:1].expand(1, 3)",
}  # fmt: skip
for made, make in MODES.items():
    for written, write in MODES.items():
        for view, text in VIEWS.items():
            for leaf in ("leaf", "result", "constant"):
                base = {"leaf": "w", "result": "w * 1", "constant": "torch.ones(3, 3)"}[leaf]
                program(f"{view} of a {leaf}, made in {made or 'no mode'}, written in {written or 'no mode'}", f"""
                    w = nn.Parameter(wave(3, 3))
                    base = {base}
                    try:
                        {make}
                            view = {text}
                            other = {text}
                        {write}
                            view += 1
                            view[0] = 5.0
                            view.mul_(w.sum())
                    except RuntimeError as error:
                        note(str(error))
                    graphs = []
                    for t in (base, view, other):
                        try:
                            graphs.append(t.grad_fn.name() if t.grad_fn is not None else None)
                            (t * w.sum()).sum().backward()
                        except RuntimeError as error:
                            note(str(error))
                """)  # fmt: skip
program("a parameter written in a no_grad block, and then used", """
    w = nn.Parameter(torch.zeros(3, 3))
    with torch.no_grad():
        w[0] += 1
    y = (w * 2).sum()
    y.backward()
""")  # fmt: skip
program("views are read late", """
    w = wave(4, grad=True)
    base = w * 2
    first, rest = base[:2], base[2:]
    base.mul_(3)
    a = w.sin()
    b = first.exp()
    base.add_(1)
    with torch.no_grad():
        c = rest + 1
    d = w.cos()
    e = rest.sum() + first.sum() + a.sum() + b.sum() + d.sum()
    e.backward()
""")  # fmt: skip
program("grad mode as a switch and as a decorator", """
    w = wave(3, grad=True)
    torch.set_grad_enabled(False)
    view = w[:2]
    view.zero_()
    torch.set_grad_enabled(True)
    @torch.no_grad()
    def step():
        w[1:] *= 2
        return w[0]
    y = step()
    z = (w * 3).sum()
    z.backward()
    @torch.inference_mode()
    def predict():
        return w * 2
    p = predict()
""")  # fmt: skip
program("inference tensors", """
    w = wave(3, grad=True)
    with torch.inference_mode():
        a = w * 2
        a += 1
        view = a[:2]
        view.mul_(3)
        b = torch.ones(3)
        b[0] = a.sum()
    c = b + 1
    try:
        w * b
    except RuntimeError as error:
        note(str(error))
    try:
        b.add_(1)
    except RuntimeError as error:
        note(str(error))
    d = b.clone() * w
    d.sum().backward()
""")  # fmt: skip
program("a normal tensor in inference mode", """
    w = wave(3, grad=True)
    base = w * 2
    with torch.inference_mode():
        view = base[1:]
        base.mul_(2)
    y = base.sum()
    y.backward()
""")  # fmt: skip
program("written between forward and backward", """
    x = wave(3, grad=True)
    y = x.exp()
    z = y * y
    with torch.no_grad():
        y += 1
    z.sum().backward()
""", raises="RuntimeError")  # fmt: skip
program("a leaf is written in place", """
    x = wave(3, grad=True)
    x += 1
""", raises="RuntimeError")  # fmt: skip
program("out= arguments", """
    x, out = wave(3), torch.empty(3)
    torch.add(x, 1, out=out)
    version = out._version
    torch.exp(x, out=out[1:].new_empty(3))
    with torch.no_grad():
        torch.mul(wave(3, grad=True), 2, out=out)
    torch.mul(wave(3, grad=True), 2, out=out)
""", raises="RuntimeError")  # fmt: skip
program("index_put, masked writes, scatter", """
    w = wave(4, grad=True)
    y = torch.zeros(3, 4)
    y[1] = w
    y[:, 2] = w[0]
    y[y > 0.5] = 0.0
    y[torch.tensor([0, 2]), torch.tensor([1, 1])] = w[:2]
    y.scatter_(1, torch.tensor([[0], [1], [2]]), 2.0)
    y.index_add_(0, torch.tensor([1]), w[None])
    y.masked_fill_(y == 2, 1.0)
    y.sum().backward()
""")  # fmt: skip
program("set data and detach_", """
    w = nn.Parameter(wave(3))
    y = w * 2
    w.data = wave(3, start=1.0)
    w.data.mul_(2)
    v = (w * 1).detach_()
    w.grad = torch.ones(3)
    w.grad.data.zero_()
    (w * 2).sum().backward()
    w.grad = None
""")  # fmt: skip
program("memory shared with NumPy", """
    a = np.ones(3, dtype=np.float32)
    t = torch.from_numpy(a)
    w = wave(3, grad=True)
    y = t * w
    a[0] = 5
    y.sum().backward()
    b = w.detach().numpy()
    b[1] = 7
    z = w.sum()
""")  # fmt: skip

# -- passes, hooks, Functions ---------------------------------------------------------------------------

program("every kind of hook", """
    m = fill(nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)))
    m.register_forward_pre_hook(lambda m, args: note("pre", args[0]))
    m[1].register_forward_hook(lambda m, args, out: (note("forward", out), out * 2)[1])
    m[0].register_full_backward_hook(lambda m, grads, outs: note("backward", grads, outs))
    m[2].register_full_backward_pre_hook(lambda m, outs: note("backward pre", outs))
    x = wave(2, 3, grad=True)
    x.register_hook(lambda g: (note("x", g), g * 2)[1])
    for k, p in m.named_parameters():
        p.register_hook(lambda g, k=k: note("grad of", k, g))
        p.register_post_accumulate_grad_hook(lambda p: note("after", p.grad))
    y = m(x)
    y.retain_grad()
    y.register_hook(lambda g: note("y", g))
    y.grad_fn.register_prehook(lambda grads: note("prehook", grads))
    y.grad_fn.register_hook(lambda ins, outs: note("hook", ins, outs))
    y.sum().backward()
""")  # fmt: skip
program("hooks are removed, and added while a pass runs", """
    x = wave(3, grad=True)
    y = x * 2
    handles = [y.register_hook(lambda g, i=i: note(i, g)) for i in range(3)]
    handles[1].remove()
    x.register_hook(lambda g: x.register_hook(lambda g: note("late", g)) and None)
    z = y.exp().sum()
    z.backward(retain_graph=True)
    z.backward()
""")  # fmt: skip
program("global module hooks", """
    module = torch.nn.modules.module
    handles = [module.register_module_forward_hook(lambda m, args, out: note("out", out)),
               module.register_module_forward_pre_hook(lambda m, args: note("in", args[0]))]
    try:
        fill(nn.Sequential(nn.Linear(2, 2), nn.ReLU()))(wave(1, 2)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
""")  # fmt: skip
program("a hook writes into a gradient", """
    x, w = wave(3, grad=True), wave(3, grad=True)
    w.register_hook(lambda g: g.clamp_(-0.5, 0.5))
    x.register_hook(lambda g: g.mul_(2))
    y = w * 3
    y.register_hook(lambda g: g.clone().zero_())
    (y * x).sum().backward()
""")  # fmt: skip
program("a hook raises", """
    x = wave(3, grad=True)
    def refuse(g):
        raise KeyError("on purpose")
    y = x * 2
    y.register_hook(refuse)
    y.exp().sum().backward()
""", raises="KeyError")  # fmt: skip
program("a module hook raises", """
    m = fill(nn.Linear(2, 2))
    def refuse(m, args, out):
        raise ValueError("on purpose")
    m.register_forward_hook(refuse)
    try:
        m(wave(1, 2))
    except ValueError as error:
        note(str(error))
    m.register_full_backward_hook(lambda *args: 1 / 0)
    m._forward_hooks.clear()
    m(wave(1, 2)).sum().backward()
""", raises="ZeroDivisionError")  # fmt: skip
program("a post-accumulate hook raises, and clears", """
    x, w = wave(3, grad=True), wave(3, grad=True)
    def clear(p):
        p.grad = None
    x.register_post_accumulate_grad_hook(clear)
    (x * w).sum().backward()
    w.register_post_accumulate_grad_hook(lambda p: 1 / 0)
    (x * w).sum().backward()
""", raises="ZeroDivisionError")  # fmt: skip
program("an optimizer that steps in the pass", """
    m = fill(nn.Linear(2, 2))
    optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in m.parameters()}
    def step(p):
        optimizers[p].step()
        optimizers[p].zero_grad()
    for p in m.parameters():
        p.register_post_accumulate_grad_hook(step)
    for _ in range(2):
        m(wave(3, 2)).pow(2).sum().backward()
    del optimizers
""")  # fmt: skip
program("custom Functions", """
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            ctx.save_for_backward(x)
            ctx.scale = scale
            return x ** 3 * scale
        @staticmethod
        def backward(ctx, g):
            x, = ctx.saved_tensors
            note("backward", g)
            return 3 * x ** 2 * g * ctx.scale, None
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.set_materialize_grads(False)
            return a + b, a * 2
        @staticmethod
        def backward(ctx, g, h):
            note(g is None, h is None)
            return g if h is None else h * 2, g
    class Written(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)
        @staticmethod
        def backward(ctx, g):
            return g * 2
    x, w = wave(3, grad=True), wave(3, grad=True)
    y = Cube.apply(x, 2.0)
    a, b = Two.apply(y, w)
    c = Written.apply(x * 1)
    a.sum().backward(retain_graph=True)
    (b * c).sum().backward()
""")  # fmt: skip
program("a Function whose backward raises", """
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2
        @staticmethod
        def backward(ctx, g):
            raise ArithmeticError("on purpose")
    x = wave(3, grad=True)
    Fails.apply(x * 2).sum().backward()
""", raises="ArithmeticError")  # fmt: skip
program("a Function whose forward raises", """
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            raise ArithmeticError("on purpose")
        @staticmethod
        def backward(ctx, g):
            return g
    x = wave(3, grad=True)
    try:
        Fails.apply(x)
    except ArithmeticError as error:
        note(str(error))
    y = x * 2
    y.sum().backward()
""")  # fmt: skip
program("a Function with setup_context, vmap and jvp", """
    class Sin(torch.autograd.Function):
        generate_vmap_rule = True
        @staticmethod
        def forward(x):
            return x.sin()
        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
        @staticmethod
        def backward(ctx, g):
            return ctx.saved_tensors[0].cos() * g
    x = wave(3, grad=True)
    Sin.apply(x).sum().backward()
    y = torch.func.vmap(torch.func.grad(Sin.apply))(wave(3))
""")  # fmt: skip
program("double backward", """
    x = wave(3, grad=True)
    y = (x.sin() * x.exp()).sum()
    g, = torch.autograd.grad(y, x, create_graph=True)
    h, = torch.autograd.grad((g * g).sum(), x, create_graph=True)
    h.sum().backward()
""")  # fmt: skip
program("a gradient penalty", """
    m = fill(nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 1)))
    x = wave(3, 2, grad=True)
    g, = torch.autograd.grad(m(x).sum(), x, create_graph=True)
    ((g.norm(dim=1) - 1) ** 2).mean().backward()
""")  # fmt: skip
program("grad with unused inputs, is_grads_batched, functional derivatives", """
    x, w = wave(3, grad=True), wave(3, grad=True)
    y = x * 2
    grads = torch.autograd.grad(y.sum(), [x, w], allow_unused=True, retain_graph=True)
    batched = torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    jacobian = torch.autograd.functional.jacobian(lambda x: x ** 2, wave(3))
    hessian = torch.autograd.functional.hessian(lambda x: (x ** 3).sum(), wave(3))
    value, product = torch.autograd.functional.vjp(lambda x: x.exp(), wave(3), torch.ones(3))
    value, product = torch.autograd.functional.jvp(lambda x: x.exp(), wave(3), torch.ones(3))
""")  # fmt: skip
for call in (
    "torch.autograd.grad(y.sum(), [x, w])", "y.backward()", "y.sum().backward(torch.ones(2))", "torch.autograd.grad(x.detach(), x)",
    "(y.sum().backward(), y.sum().backward())", "torch.ones(3).sum().backward()", "y @ wave(2)", "y.view(2, 2)", "y[5]",
    "y.backward(gradient=torch.ones(3), inputs=[])", "torch.autograd.grad(y, x, None)", "nn.Linear(2, 2)(y)", "torch.stack([y, wave(2)])",
    "y.item()", "y.numpy()", "bool(y)", "F.cross_entropy(y[None], torch.tensor([7]))", "y.nothing", "torch.softmax(y, dim=3)",
):  # fmt: skip
    program(f"an error: {call}", f"""
        x, w = wave(3, grad=True), wave(3, grad=True)
        y = x * 2
        {call}
    """, raises="Error")  # fmt: skip
program("anomaly mode", """
    x = wave(3, grad=True)
    with torch.autograd.detect_anomaly(check_nan=False):
        (x * 2).sum().backward()
    with torch.autograd.set_detect_anomaly(True):
        y = (x - x).sqrt() * 0
        y.sum().backward()
""", raises="RuntimeError")  # fmt: skip
program("saved tensor hooks", """
    x, w = wave(3, grad=True), wave(3, grad=True)
    def pack(t):
        note("pack", t)
        return t.detach().numpy().copy()
    def unpack(kept):
        note("unpack", kept)
        return torch.tensor(kept)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = (x * w).exp()
    z = y.sum()
    z.backward()
    with torch.autograd.graph.save_on_cpu():
        (x * w).sum().backward()
""")  # fmt: skip
program("checkpoint", """
    m = fill(nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Dropout(0.5), nn.Linear(3, 2)))
    x = wave(2, 3, grad=True)
    y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=False)
    y.sum().backward()
    y = torch.utils.checkpoint.checkpoint(m, x, use_reentrant=True)
    (y * y).sum().backward()
    z = torch.utils.checkpoint.checkpoint_sequential(m, 2, x, use_reentrant=False)
    z.sum().backward()
""")  # fmt: skip
program("what a node says of itself", """
    x = wave(3, grad=True)
    y = (x * 2).exp()
    node = y.grad_fn
    node.metadata["mine"] = 1
    names = [node.name(), node.next_functions[0][0].name(), node._sequence_nr() >= 0]
    direct = node(torch.ones(3))
    saved = node._saved_result
    del node
    y.sum().backward()
    try:
        y.grad_fn._saved_result
    except RuntimeError as error:
        note(str(error))
""")  # fmt: skip
program("nodes with several outputs", """
    x = wave(4, 4, grad=True)
    total = 0.0
    for parts in (x.unbind(0), x.split(2), x.chunk(2, 1), torch.tensor_split(x, 3), torch.linalg.svd(x @ x.T + torch.eye(4)),
                  torch.linalg.eigh(x + x.T), torch.linalg.qr(x), x.max(dim=1), x.sort(dim=0), x.topk(2), x.std_mean() if hasattr(x, "std_mean") else torch.std_mean(x),
                  torch.linalg.slogdet(x + 5 * torch.eye(4)), x.aminmax(), torch.frexp(x)[:1], x.median(dim=0), x.cummax(0)):
        total = total + parts[0].sum()
    total.backward()
""")  # fmt: skip
program("a pass in another thread", """
    import threading
    x = wave(3, grad=True)
    y = (x * 2).sum()
    thread = threading.Thread(target=lambda: y.backward(retain_graph=True))
    thread.start()
    thread.join()
    def work(k):
        z = (x * k).exp()
        results[k] = torch.autograd.grad(z.sum(), x)[0]
    results = {}
    threads = [threading.Thread(target=work, args=(k,)) for k in (1, 2, 3)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    results = [results[k] for k in (1, 2, 3)]
    y.backward()
    del thread, threads
""")  # fmt: skip
program("a pass within a hook", """
    x, w = wave(3, grad=True), wave(3, grad=True)
    inner = (w * w).sum()
    def hook(g):
        inner.backward()
        note(w.grad)
    y = x * w
    y.register_hook(hook)
    y.sum().backward()
""")  # fmt: skip
program("an exception is handled and the program goes on", """
    x = wave(3, grad=True)
    y = (x * x).sum()
    y.backward()
    try:
        y.backward()
    except RuntimeError as error:
        note(str(error))
    (x * 3).sum().backward()
""")  # fmt: skip
program("graph tools", """
    x, w = wave(3, grad=True), wave(3, grad=True)
    a = x * w
    torch.autograd.graph.register_multi_grad_hook([x, w], lambda grads: note("multi", [g is not None for g in grads]))
    edge = torch.autograd.graph.get_gradient_edge(a)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        b = w.exp()
        c = b * b
        b.sin_()
        c.sum().backward()
    b = w.exp()
    grads = torch.autograd.grad((a * b).sum(), edge)
""")  # fmt: skip
program("deepcopy, pickle, save and load", """
    import copy, io, pickle
    m = fill(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)))
    m(wave(3, 2)).sum().backward()
    twin = copy.deepcopy(m)
    again = pickle.loads(pickle.dumps(twin.state_dict()))
    file = io.BytesIO()
    torch.save(m.state_dict(), file)
    file.seek(0)
    m.load_state_dict(torch.load(file))
    y = twin(wave(3, 2)).sum()
    y.backward()
    try:
        copy.deepcopy(y)
    except RuntimeError as error:
        note(str(error)[:40])
    del file
""")  # fmt: skip
program("printing", """
    x = wave(3, 3, grad=True)
    y = x * 2
    texts = [repr(x), str(y), f"{y.sum():.3f}", repr(y.sum()), str(nn.Linear(2, 2)), str(x.grad)]
    y.sum().backward()
    texts.append(repr(x.grad))
""")  # fmt: skip
program("a value decides how it goes on", """
    x = wave(3, grad=True)
    y = x * 2
    while y.norm() < 10:
        y = y * 2
    if (y > 0).any():
        y = y + 1
    n = int(y.sum())
    numbers = [y.sum().item(), y.tolist(), float(y[0]), len(y), list(y.shape)]
    for row in y:
        row.detach()
    y.sum().backward()
""")  # fmt: skip
program("warnings", """
    x = wave(3, grad=True)
    y = x * 2
    y.grad
    y.grad
    F.mse_loss(y, wave(3, 1))
    F.softmax(wave(2, 2))
    torch.tensor(x)
    x.detach().requires_grad_().sum().backward(create_graph=True)
""")  # fmt: skip

# -- torch.func, forward mode -----------------------------------------------------------------------------

for call in (
    "grad(lambda x: (x ** 3).sum())(x)", "vmap(lambda x: x.sin() * 2)(x)", "vmap(grad(lambda x: x ** 3))(x)", "jacrev(lambda x: x ** 2)(x)",
    "jacfwd(lambda x: x.exp())(x)", "hessian(lambda x: (x ** 3).sum())(x)", "grad(grad(lambda x: x ** 4))(x[0])", "vjp(torch.sin, x)[0]",
    "vjp(torch.sin, x)[1](x)", "jvp(torch.sin, (x,), (x,))", "vmap(lambda a, b: a @ b, in_dims=(0, None))(x[:, None], x[:1])",
    "grad_and_value(lambda x: x.prod())(x)", "functionalize(lambda x: x.clone().mul_(2))(x)", "linearize(torch.exp, x)[0]",
    "vmap(lambda x: x + torch.rand(()), randomness='different')(x)", "jacrev(jacrev(lambda x: x.sum() ** 3))(x)",
    "grad(lambda x: torch.where(x > 0, x, x * 2).sum())(x)", "vmap(lambda x: x.item())(x)",
):  # fmt: skip
    program(f"torch.func.{call}", f"""
        from torch.func import *
        x = wave(4, grad=True)
        w = wave(4, grad=True)
        result = {call}
        (x * w).sum().backward()
    """, only="torch" if "linearize" in call or "functionalize" in call else "", raises="RuntimeError" if "item" in call else "")  # fmt: skip
program("functional_call and per-sample gradients", """
    m = fill(nn.Linear(3, 2))
    params = dict(m.named_parameters())
    def loss(params, x):
        return torch.func.functional_call(m, params, (x[None],)).pow(2).sum()
    each = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))({k: p.detach() for k, p in params.items()}, wave(4, 3))
    loss(params, wave(3)).backward()
""")  # fmt: skip
program("forward mode", """
    import torch.autograd.forward_ad as fwAD
    with fwAD.dual_level():
        dual = fwAD.make_dual(wave(3), torch.ones(3))
        y = dual.sin() * dual
        y2 = y.clone()
        y2.mul_(2)
        parts = [fwAD.unpack_dual(y).tangent, fwAD.unpack_dual(y2).tangent, fwAD.unpack_dual(y).primal]
    del dual, y, y2
""")  # fmt: skip
program("forward over reverse", """
    import torch.autograd.forward_ad as fwAD
    x = wave(3, grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, torch.ones(3))
        y = (dual ** 3).sum()
        g, = torch.autograd.grad(y, x, create_graph=True)
        t = fwAD.unpack_dual(y).tangent
        h = fwAD.unpack_dual(g).tangent
    del dual, y, g
""")  # fmt: skip
program("gradcheck", """
    x = wave(3, grad=True, dtype=torch.float64)
    fine = torch.autograd.gradcheck(lambda x: x.sin() * x, (x,))
    too = torch.autograd.gradgradcheck(lambda x: x.exp() * x, (x,))
""")  # fmt: skip

# -- what a tensor may be besides -----------------------------------------------------------------------

program("autocast", """
    m = fill(nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 2)))
    w = wave(3, 3, grad=True)
    before = wave(2, 3) @ w
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = m(wave(2, 3))
        z = wave(2, 3) @ w
        with torch.autocast("cpu", enabled=False):
            u = wave(2, 3) @ w
        loss = y.float().sum() + z.float().sum() + u.sum() + before.sum()
    loss.backward()
""", only="torch")  # fmt: skip
program("half precision, bfloat16 and double", """
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        x = wave(3, dtype=dtype, grad=True)
        y = (x * 2 + x.float()).sum()
        y.backward()
        z = x.to(torch.float32).sum()
        z.backward()
""", only="torch")  # fmt: skip
program("complex numbers", """
    x = torch.complex(wave(3), wave(3, start=1.0)).requires_grad_()
    y = x * x.conj() + x.real
    z = y.abs().sum() + torch.view_as_real(x).sum() + x.angle().sum()
    z.backward()
    w = torch.fft.fft(wave(4, grad=True))
    w.abs().sum().backward()
    w.imag[0]
    with torch.no_grad():
        x[0] += 1j
        x.imag.zero_()
        lazily = x.conj()
        negative = x.conj().imag
""", only="torch")  # fmt: skip
program("sparse tensors", """
    v = wave(3, grad=True)
    s = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1], [2, 0, 2]]), v, (2, 3))
    d = torch.sparse.mm(s, wave(3, 2, grad=True))
    (d.sum() + torch.sparse.sum(s)).backward(retain_graph=True)
    e = nn.Embedding(5, 2, sparse=True)
    optimizer = torch.optim.SparseAdam(e.parameters())
    e(torch.tensor([1, 3, 1])).sum().backward()
    optimizer.step()
    c = torch.eye(3).to_sparse_csr()
    y = c @ wave(3, 1)
    dense = s.coalesce().values().sum()
    dense.backward()
""", only="torch")  # fmt: skip
program("quantized tensors", """
    q = torch.quantize_per_tensor(wave(4), 0.1, 0, torch.qint8)
    d = q.dequantize() * wave(4, grad=True)
    d.sum().backward()
    m = torch.ao.nn.quantized.FloatFunctional()
    f = torch.fake_quantize_per_tensor_affine(wave(4, grad=True), 0.1, 0, -128, 127)
    f.sum().backward()
    v = q[1:]
""", only="torch")  # fmt: skip
program("nested tensors", """
    a, b = wave(2, 3, grad=True), wave(4, 3, grad=True)
    n = torch.nested.as_nested_tensor([a, b])
    y = n * 2
    torch.nested.to_padded_tensor(y, 0.0).sum().backward()
    j = torch.nested.as_nested_tensor([a, b], layout=torch.jagged)
    (j.sin() * 2).values().sum().backward()
    del n, y, j
""", only="torch")  # fmt: skip
program("meta tensors", """
    m = nn.Linear(3, 2, device="meta")
    y = m(torch.empty(4, 3, device="meta"))
    y.sum().backward()
    with torch.device("meta"):
        n = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
        z = n(torch.rand(2, 3))
    n = n.to_empty(device="cpu")
    n.load_state_dict({k: torch.ones_like(v) for k, v in n.state_dict().items()})
    with torch.no_grad():
        m.weight[0] += 1
""", only="torch")  # fmt: skip
program("fake tensors", """
    from torch._subclasses.fake_tensor import FakeTensorMode
    m = fill(nn.Linear(3, 2))
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        x = torch.ones(4, 3, requires_grad=True)
        y = torch.sin(x).sum()
        y.backward()
        shape = list(x.grad.shape)
        z = m(torch.ones(1, 3))
    m(wave(1, 3)).sum().backward()
    del mode, x, y, z
""", only="torch")  # fmt: skip
program("a subclass that sees functions", """
    class Logged(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            note(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})
    x = wave(3).as_subclass(Logged).requires_grad_()
    y = (x * 2).exp()
    y[0].sum()
    y.sum().backward()
    with torch.no_grad():
        x += 1
""")  # fmt: skip
program("a subclass that sees operations", """
    from torch.utils._pytree import tree_map
    class Wrapped(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype, requires_grad=inner.requires_grad)
        def __init__(self, inner):
            self.inner = inner
        def __repr__(self):
            return "Wrapped"
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            note(str(func))
            inside = tree_map(lambda t: t.inner if isinstance(t, Wrapped) else t, (args, kwargs or {}))
            return tree_map(lambda t: Wrapped(t) if isinstance(t, torch.Tensor) else t, func(*inside[0], **inside[1]))
    x = Wrapped(wave(3)).requires_grad_()
    y = (x * 2).exp()
    y.sum().backward()
    z = y.detach()
    numbers = [x.grad.inner, y.inner]
    del x, y, z
""", only="torch")  # fmt: skip
program("modes of the user", """
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    class Functions(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            note("function", getattr(func, "__name__", str(func)))
            return func(*args, **(kwargs or {}))
    class Operations(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            note("operation", str(func))
            return func(*args, **(kwargs or {}))
    x = wave(3, grad=True)
    w = wave(3, grad=True)
    with Functions():
        y = (x * 2).sum()
        y.backward()
    with Operations():
        z = (x * w).exp().sum()
        z.backward()
        with torch.no_grad():
            x += 1
    v = torch.linspace(0, 1, 3) * w
""", only="torch")  # fmt: skip
program("counting operations", """
    from torch.utils.flop_counter import FlopCounterMode
    m = fill(nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2)))
    counter = FlopCounterMode(display=False)
    with counter:
        m(wave(2, 3)).sum().backward()
    flops = counter.get_total_flops()
    del counter
""", only="torch")  # fmt: skip
program("a Parameter subclass, ParameterList, buffers", """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.list = nn.ParameterList([wave(2), wave(2, start=1.0)])
            self.named = nn.ParameterDict({"a": nn.Parameter(wave(2))})
            self.register_buffer("count", torch.zeros(()))
        def forward(self, x):
            self.count += 1
            return x * self.list[0] + self.list[1] * self.named["a"]
    net = Net()
    net(wave(2)).sum().backward()
""")  # fmt: skip
program("compiled, eager backend", """
    def f(x, w):
        y = torch.tanh(x * w)
        return y.sum() + (y * y).mean()
    g = torch.compile(f, backend="eager")
    x, w = wave(3, grad=True), wave(3, grad=True)
    for _ in range(2):
        loss = g(x, w)
        loss.backward()
    del g
""")  # fmt: skip
program("compiled, aot_eager backend", """
    m = fill(nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 1)))
    g = torch.compile(m, backend="aot_eager")
    x = wave(2, 3, grad=True)
    for _ in range(2):
        loss = g(x).sum()
        loss.backward()
    del g
""")  # fmt: skip
program("compiled with a break", """
    @torch.compile(backend="eager")
    def f(x):
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        y.add_(1)
        return y
    x = wave(3, grad=True)
    f(x).sum().backward()
    with torch.no_grad():
        z = f(x)
    del f
""")  # fmt: skip
program("scripted", """
    @torch.jit.script
    def f(x):
        return x.sin() * 2
    x = wave(3, grad=True)
    f(x).sum().backward()
    del f
""", only="torch")  # fmt: skip
program("an exported graph", """
    m = fill(nn.Linear(3, 2))
    graph = torch.fx.symbolic_trace(m)
    graph(wave(1, 3)).sum().backward()
    from torch.fx.experimental.proxy_tensor import make_fx
    made = make_fx(lambda x: x.sin() * 2)(wave(3))
    names = [node.name for node in made.graph.nodes]
    del graph, made
""", only="torch")  # fmt: skip
program("a profiler", """
    x = wave(3, grad=True)
    with torch.autograd.profiler.profile() as profile:
        (x * 2).sum().backward()
    names = sorted({e.name for e in profile.function_events if e.name.startswith("aten::mul")})
    del profile
""", only="torch")  # fmt: skip
program("foreach and fused", """
    ps = [wave(2, grad=True), wave(3, grad=True)]
    for optimizer in (torch.optim.SGD(ps, lr=0.1, foreach=True), torch.optim.Adam(ps, foreach=True), torch.optim.AdamW(ps, fused=True)):
        optimizer.zero_grad()
        sum((p ** 2).sum() for p in ps).backward()
        optimizer.step()
    with torch.no_grad():
        torch._foreach_mul_(ps, 0.5)
        torch._foreach_add_([p.grad for p in ps], 1.0)
    y = torch._foreach_exp(ps)
    y[0].sum().backward()
""", only="torch")  # fmt: skip
program("CTC, transposed convolution, interpolation", """
    x = wave(5, 1, 4, grad=True)
    F.ctc_loss(x.log_softmax(-1), torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])).backward()
    c = fill(nn.ConvTranspose2d(1, 2, 2))
    y = F.interpolate(c(wave(1, 1, 3, 3)), scale_factor=2.0, mode="bilinear", align_corners=False)
    y.sum().backward()
""")  # fmt: skip
program("distributions", """
    mean = wave(3, grad=True)
    from torch import distributions
    d = distributions.Normal(mean, mean.exp())
    sample = d.rsample()
    loss = -d.log_prob(sample.detach()).sum() + distributions.kl_divergence(d, distributions.Normal(0.0, 1.0)).sum() + sample.sum()
    loss.backward()
    c = distributions.Categorical(logits=wave(3, grad=True)).sample()
    g = distributions.Gamma(mean.exp(), torch.ones(3)).rsample().sum()
    g.backward()
""")  # fmt: skip
program("a generator of one's own", """
    g = torch.Generator().manual_seed(4)
    a = torch.rand(3, generator=g)
    state = torch.get_rng_state()
    b = torch.randn(2)
    torch.set_rng_state(state)
    c = torch.randn(2)
    with torch.random.fork_rng():
        d = torch.rand(2)
    same = bool((b == c).all())
    after = g.get_state().sum().item()
    noise = np.random.rand(2).tolist() + [random.random()]
    del g, state
""")  # fmt: skip
program("data loaders", """
    from torch.utils.data import DataLoader, TensorDataset
    m = fill(nn.Linear(2, 1))
    data = DataLoader(TensorDataset(wave(6, 2), wave(6, 1)), batch_size=2, shuffle=True)
    for x, target in data:
        F.mse_loss(m(x), target).backward()
    del data
""")  # fmt: skip
program("an object that looks at its own references", """
    import weakref, gc
    x = wave(3, grad=True)
    class Box:
        def __eq__(self, other):
            note("compared")
            return False
        def __getattr__(self, name):
            note("asked for " + name)
            raise AttributeError(name)
        __hash__ = object.__hash__
    box, boxes = Box(), [Box()]
    y = (x * 2).sum()
    y.backward()
    del box, boxes
""")  # fmt: skip
program("a module that logs who asks", """
    class Asked(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = fill(nn.Linear(2, 2))
        def named_parameters(self, *args, **kwargs):
            note("named_parameters")
            return super().named_parameters(*args, **kwargs)
        def named_modules(self, *args, **kwargs):
            note("named_modules")
            return super().named_modules(*args, **kwargs)
        def forward(self, x):
            return self.inner(x)
    m = Asked()
    m(wave(1, 2)).sum().backward()
    del m
""")  # fmt: skip
