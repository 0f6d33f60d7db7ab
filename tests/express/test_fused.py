"""Nodes that stand for two until somebody looks: nothing that a program can see tells, as PyTorch left it, recorded and live.

To record: `python -m tests.record fused`.
"""

import gc
import textwrap
import weakref

import numpy as np
import pytest
from recorded import check_live, differences, run, stored

import autograd_lab as lab
from autograd_lab.express.fused import Fused
from autograd_lab.express.layers import CrossEntropy, Layer


@pytest.fixture(autouse=True)
def with_express(monkeypatch):
    monkeypatch.setenv("AUTOGRAD_LAB_EXPRESS", "1")
    lab.lab.fast()


SETTING = """
x = torch.arange(6.0).reshape(2, 3) / 7
w = (torch.arange(12.0).reshape(4, 3) / 9).requires_grad_()
b, t = torch.ones(4, requires_grad=True), torch.tensor([1, 3])
def loss(y, **how):
    return F.cross_entropy(y, t, **how)
def grads(*more):
    return [None if p.grad is None else p.grad.tolist() for p in (w, b, *more)]
"""

BODIES = {
    "graph": "out['r'] = graph(loss(F.linear(x, w, b)).grad_fn)",
    "graph_of_a_bias_that_is_frozen": """
b.requires_grad_(False)
l = loss(F.linear(x, w, b))
l.backward()
out['r'] = graph(l.grad_fn), grads()
""",
    "graph_after_backward": """
l = loss(F.linear(x, w, b))
l.backward()
out['r'] = graph(l.grad_fn), grads()
""",
    "gradient_edge": """
node = torch.autograd.graph.get_gradient_edge(loss(F.linear(x, w, b))).node
out['r'] = graph(node)
""",
    "numbers_of_the_nodes": """
y = F.linear(x, w, b)
nll = loss(y).grad_fn
first = nll.next_functions[0][0]
layer = first.next_functions[0][0]
numbers = [n._sequence_nr() for n in (nll, first, layer, layer.next_functions[2][0])]
out['r'] = [n - numbers[-1] for n in numbers], layer is y.grad_fn
""",
    "saved_of_the_loss": """
l = loss(F.linear(x, w, b))
n = l.grad_fn
m = n.next_functions[0][0]
out['r'] = (str(n._saved_self), n._saved_target.tolist(), n._saved_weight, n._saved_total_weight.item(), n._saved_reduction,
            n._saved_ignore_index, str(m._saved_result), m._saved_dim)
""",
    "saved_of_the_layer": """
n = F.linear(x, w, b).grad_fn
out['r'] = (n._saved_mat1.shape, n._saved_mat2, n._saved_alpha, n._saved_beta, n._saved_mat1_sym_sizes, n._saved_mat1_sym_strides,
            n._saved_mat2_sym_sizes, n._saved_mat2_sym_strides)
""",
    "saved_of_a_layer_between": """
x.requires_grad_()
n = F.linear(x, w, b).grad_fn
m = n._saved_mat2
out['r'] = str(m), m.grad_fn is n.next_functions[2][0], m._base is w, m._version
""",
    "saved_when_nothing_is_recorded_any_more": """
x.requires_grad_()
y = F.linear(x, w, b)
with torch.no_grad():
    m = y.grad_fn._saved_mat2
    out['r'] = m.requires_grad, graph(m.grad_fn)
y.sum().backward()
out['grads'] = grads(x)
""",
    "weight_overwritten": """
x.requires_grad_()
l = loss(F.linear(x, w, b))
with torch.no_grad():
    w += 1
l.backward()
""",
    "input_overwritten": "l = loss(F.linear(x, w, b)); x += 1; l.backward()",
    "input_overwritten_before": "x += 1; l = loss(F.linear(x, w, b)); l.backward(); out['r'] = grads()",
    "target_overwritten": "l = loss(F.linear(x, w, b)); t += 1; t %= 4; l.backward()",
    "target_overwritten_before": "t += 1; t %= 4; l = loss(F.linear(x, w, b)); l.backward(); out['r'] = grads()",
    "backward_twice": "l = loss(F.linear(x, w, b)); l.backward(); l.backward()",
    "backward_twice_retained": "l = loss(F.linear(x, w, b)); l.backward(retain_graph=True); l.backward(); out['r'] = grads()",
    "saved_freed": "n = loss(F.linear(x, w, b)); m = n.grad_fn; m._saved_self; n.backward(); m._saved_self",
    "saved_freed_unfolded_late": "l = loss(F.linear(x, w, b)); l.backward(); l.grad_fn.next_functions[0][0]._saved_result",
    "input_of_inference_mode": """
with torch.inference_mode():
    z = torch.ones(2, 3)
F.linear(z, w, b)
""",
    "target_of_inference_mode": """
with torch.inference_mode():
    t = torch.tensor([0, 1])
loss(F.linear(x, w, b))
""",
    "a_hook_walks_the_graph": """
seen = []
y = F.linear(x, w, b)
l = loss(y)
def walk(g):
    seen.extend([graph(l.grad_fn), graph(y.grad_fn)])
b.register_hook(walk)
y.register_hook(walk)
l.backward()
out['r'] = seen, grads()
""",
    "a_hook_walks_to_what_has_not_run": """
seen = []
h = F.linear(x, w, b)
v, c = torch.ones(5, 4, requires_grad=True), torch.zeros(5, requires_grad=True)
l = loss(F.linear(F.relu(h), v, c))
c.register_hook(lambda g: seen.append(graph(h.grad_fn)))
l.backward()
out['r'] = seen, grads(v, c)
""",
    "order_of_the_leaves": """
seen = []
h = F.linear(x, w, b)
v, c = torch.ones(5, 4, requires_grad=True), torch.zeros(5, requires_grad=True)
for name, p in dict(w=w, b=b, v=v, c=c).items():
    p.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
loss(F.linear(F.relu(h), v, c)).backward()
out['r'] = seen, grads(v, c)
""",
    "order_of_the_leaves_with_x": """
seen = []
x.requires_grad_()
for name, p in dict(w=w, b=b, x=x).items():
    p.register_post_accumulate_grad_hook(lambda p, name=name: seen.append(name))
loss(F.linear(x, w, b)).backward()
out['r'] = seen, grads(x)
""",
    "one_weight_twice": "h = F.linear(x, w, b); g = F.linear(2 * x, w, b); (loss(h) + loss(g * 2)).backward(); out['r'] = grads()",
    "bias_of_the_weight": "y = F.linear(x, w, w[:, 0]); loss(y).backward(); out['r'] = grads()",
    "bias_of_one": """
b = torch.ones(1, requires_grad=True)
y = F.linear(x, w, b)
loss(y).backward()
out['r'] = graph(y.grad_fn), grads()
""",
    "bias_that_does_not_fit": "F.linear(x, w, torch.ones(3, requires_grad=True))",
    "weight_that_does_not_fit": "F.linear(x, torch.ones(4, 5, requires_grad=True), b)",
    "input_of_another_type": "F.linear(x.double(), w, b)",
    "weight_replaced": """
x.requires_grad_()
l = loss(F.linear(x, w, b))
w.data = torch.zeros(4, 3)
l.backward()
out['r'] = grads(x)
""",
    "weight_detached": "x.requires_grad_(); y = F.linear(x, w, b); w.detach_(); y.sum().backward(); out['r'] = grads(x)",
    "result_written": "y = F.linear(x, w, b); y[0] = 0; l = loss(y); l.backward(); out['r'] = graph(l.grad_fn), grads()",
    "result_retained": """
y = F.linear(x, w, b)
y.retain_grad()
loss(y).backward()
out['r'] = y.grad.tolist(), y.grad.stride(), w.grad.stride(), grads()
""",
    "sum_and_a_gradient": "l = loss(F.linear(x, w, b), reduction='sum'); l.backward(torch.tensor(2.0)); out['r'] = l.item(), grads()",
    "weight_that_lies_by_columns": """
w = (torch.arange(12.0).reshape(3, 4).t() / 9).requires_grad_()
y = F.linear(x, w, b)
loss(y).backward()
out['r'] = graph(y.grad_fn), w.grad.stride(), grads()
""",
    "input_that_lies_by_columns": "x = x.t().contiguous().t(); loss(F.linear(x, w, b)).backward(); out['r'] = w.grad.stride(), grads()",
    "gradients_of_gradients": """
x.requires_grad_()
g = torch.autograd.grad(loss(F.linear(x, w, b)), [x, w, b], create_graph=True)
out['graphs'] = [graph(one.grad_fn) for one in g]
(g[0].sum() + (g[1] ** 2).sum()).backward()
out['r'] = grads(x)
""",
    "grad_of_parts": """
y = F.linear(x, w, b)
out['r'] = torch.autograd.grad(y.sum(), [w], retain_graph=True)[0].tolist(), torch.autograd.grad(y, [b], torch.ones_like(y))[0].tolist()
""",
    "backward_to_some_leaves": "x.requires_grad_(); loss(F.linear(x, w, b)).backward(inputs=[x, b]); out['r'] = grads(x)",
    "a_gradient_is_added_to": "w.grad = torch.ones(4, 3); loss(F.linear(x, w, b)).backward(); out['r'] = grads()",
    "a_gradient_is_nobody_elses": """
b.requires_grad_(False)
c = torch.zeros(4, requires_grad=True)
y = F.linear(x, w, c)
kept = []
c.register_hook(lambda g: kept.append(g))
loss(y).backward()
with torch.no_grad():
    w.grad.mul_(0)
    c.grad.mul_(0)
out['r'] = kept[0].tolist(), grads(c)
""",
    "anomaly_mode_looks_at_a_pass": """
l = loss(F.linear(x, w, b))
with torch.autograd.set_detect_anomaly(True):
    l.backward()
out['r'] = grads()
""",
    "saved_hooks_see_both": """
seen = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(tuple(t.shape)), t)[1], lambda t: t):
    l = loss(F.linear(x.requires_grad_(), w, b))
l.backward()
out['r'] = seen, grads(x)
""",
    "the_other_ways_of_a_layer": """
for shape in ((3,), (2, 3), (2, 2, 3), (0, 3)):
    for bias in (torch.ones(4), torch.ones(4, 3)[:, 0], torch.ones(1), torch.ones(1).expand(4)):
        for apart in (False, True):
            x = torch.ones(*shape, 2)[..., 0] if apart else torch.ones(*shape)
            for tracked in (False, True):
                y = F.linear(x.requires_grad_(tracked), w, bias)
                with torch.no_grad():
                    z = F.linear(x, w, bias)
                name = f"{shape} {tuple(bias.shape)} {bias.is_contiguous()} {apart} {tracked}"
                out[name] = graph(y.grad_fn), y._version, y._is_view(), y.stride(), z._version, z._is_view()
""",
    "a_weight_without_rows_and_a_bias_too_many": "F.linear(x[0], w[0], torch.ones(2, 4))",
    "a_hook_of_a_leaf_that_is_none_any_more": """
seen = []
s = torch.ones((), requires_grad=True)
s.register_hook(lambda g: seen.append(g.item()))
y = s + s
s.detach_()
s[...] = y.clone()
try:
    y.sum().backward()
except RuntimeError as error:
    out['refused'] = str(error)
out['r'] = seen
""",
    "a_class_that_there_is_not": "loss(F.linear(x, w, b) * 1, ignore_index=-1); t[0] = 4; loss(F.linear(x, w, b))",
    "a_negative_class": "t[0] = -3; loss(F.linear(x, w, b))",
    "a_class_that_is_ignored": "t[0] = -100; l = loss(F.linear(x, w, b)); l.backward(); out['r'] = l.item(), grads()",
    "no_rows": "t = t[:0]; l = loss(F.linear(x[:0], w, b), reduction='sum'); l.backward(); out['r'] = l.item(), grads()",
    "infinite_logits": """
y = torch.tensor([[0.0, float('-inf'), 1.0, 2.0], [3.0, 1.0, float('inf'), 0.0]], requires_grad=True)
l = loss(y)
l.backward()
out['r'] = l.item(), y.grad.tolist()
""",
}  # fmt: skip

CAUGHT = """
except Exception as error:
    out["error"] = f"{type(error).__name__}: {error}"[:300]
"""
PROGRAMS = {
    name: SETTING + "try:\n" + textwrap.indent(body.strip(), "    ") + CAUGHT for name, body in BODIES.items()
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name):
    assert not differences(run(PROGRAMS[name], lab), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


def setting(rows=32, features=7, classes=5, kind=np.float32):
    rng = np.random.default_rng(0)
    x = lab.tensor(rng.standard_normal((rows, features)).astype(kind))
    w = lab.tensor(rng.standard_normal((classes, features)).astype(kind), requires_grad=True)
    b = lab.tensor(rng.standard_normal(classes).astype(kind), requires_grad=True)
    return x, w, b, lab.tensor(rng.integers(0, classes, rows))


def loss_of(x, w, b, t):
    return lab.nn.functional.cross_entropy(lab.nn.functional.linear(x, w, b), t)


def test_a_plain_step_is_made_of_folded_nodes():
    """Or nothing in this file would test what it says."""
    x, w, b, t = setting()
    y = lab.nn.functional.linear(x, w, b)
    loss = lab.nn.functional.cross_entropy(y, t)
    assert type(y._edge) is Layer
    assert type(loss._edge) is CrossEntropy
    loss.backward()
    assert type(y._edge) is Layer, "an ordinary pass does not unfold them"
    assert not isinstance(y.grad_fn, Fused)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize(("rows", "classes"), [(1, 5), (32, 5), (8, 24), (30, 25), (200, 3), (5000, 4)])
def test_looking_changes_no_bit(rows, classes, kind):
    """Numbers are the same whether the nodes were unfolded, whether a recorder looks on, and which way the pass goes."""

    def gradients(how):
        x, w, b, t = setting(rows, 7, classes, kind)
        x.requires_grad_()
        if how == "recorded":
            with lab.lab.record():
                loss_of(x, w, b, t).backward()
        elif how == "grad":
            return [g.numpy() for g in lab.autograd.grad(loss_of(x, w, b, t), (x, w, b))]
        else:
            loss = loss_of(x, w, b, t)
            if how == "looked at":
                assert loss.grad_fn.next_functions[0][0].next_functions[0][0].name() == "AddmmBackward0"
            loss.backward()
        return [p.grad.numpy() for p in (x, w, b)]

    plain = gradients("plain")
    for how in ("looked at", "recorded", "grad"):
        for one, other in zip(plain, gradients(how), strict=True):
            np.testing.assert_array_equal(one, other, err_msg=how)


def test_they_die_without_the_collector():
    gc.disable()
    try:
        for look in (False, True):
            x, w, b, t = setting()
            loss = loss_of(x, w, b, t)
            if look:
                assert loss.grad_fn.next_functions[0][0].next_functions[0][0]._saved_mat1 is x
            nodes = [weakref.ref(loss._edge), weakref.ref(w._meta.accumulator())]
            del loss
            assert [node() for node in nodes] == [None, None]
    finally:
        gc.enable()


def test_what_is_freed_is_freed():
    """After backward the node of a loss that is kept, say in a list, holds none of the arrays."""
    x, w, b, t = setting()
    h = x * 1
    y = lab.nn.functional.linear(h, w, b)
    loss = lab.nn.functional.cross_entropy(y, t)
    held = [weakref.ref(h), weakref.ref(y)]
    del h, y
    assert held[0]() is not None
    loss.backward()
    assert [ref() for ref in held] == [None, None]
    assert loss.grad_fn.name() == "NllLossBackward0"


def test_a_recorder_is_told_of_both():
    x, w, b, t = setting()
    with lab.lab.record() as trace:
        loss_of(x, w, b, t).backward()
    made = [trace.nodes[e["n"]]["name"] for e in trace.events if e["k"] == "node"]
    assert made == ["TBackward0", "AddmmBackward0", "LogSoftmaxBackward0", "NllLossBackward0"]
    ran = [trace.nodes[e["n"]]["name"] for e in trace.events if e["k"] == "vjp"]
    assert ran == ["NllLossBackward0", "LogSoftmaxBackward0", "AddmmBackward0", "TBackward0"]
