"""autograd.graph: edges, hooks on several gradients, hooks on saved tensors, writing to them. Expectations from PyTorch 2.13.0."""

import gc
import weakref

import pytest

import autograd_lab as torch
from autograd_lab.autograd import graph


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


# -- edges --------------------------------------------------------------------------------------------


def test_an_edge_stands_for_its_tensor():
    x = leaf(1.0, 2.0)
    h = x * 2
    edge = graph.get_gradient_edge(h)
    assert (edge.node is h.grad_fn, edge.output_nr, edge.ownership_token) == (True, 0, None)
    loss = (h * h).sum()
    assert torch.autograd.grad(loss, edge, retain_graph=True)[0].tolist() == [4.0, 8.0]
    loss.backward(inputs=[graph.get_gradient_edge(x)])
    assert x.grad.tolist() == [8.0, 16.0]


def test_an_edge_can_be_a_root():
    x = leaf(1.0, 2.0)
    assert torch.autograd.grad(graph.get_gradient_edge((x * x).sum()), x)[0].tolist() == [2.0, 4.0]
    assert torch.autograd.grad(graph.get_gradient_edge(x * x), x, torch.ones(2))[0].tolist() == [2.0, 4.0]
    torch.autograd.backward(graph.get_gradient_edge((x * 3).sum()))
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs"):
        torch.autograd.grad(graph.get_gradient_edge(x * x), x)
    with pytest.raises(
        RuntimeError, match=r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[3\]\)"
    ):
        torch.autograd.grad(graph.get_gradient_edge(x * x), x, torch.ones(3))


def test_edges_of_leaves_and_constants():
    x = leaf(1.0)
    assert graph.get_gradient_edge(x) == graph.get_gradient_edge(x)
    assert [graph.get_gradient_edge(t).output_nr for t in leaf(1.0, 2.0).unbind()] == [0, 1]
    with pytest.raises(
        RuntimeError,
        match="It is not possible to get the gradient edge for a Tensor that does not require gradients",
    ):
        graph.get_gradient_edge(torch.ones(1))


# -- several gradients --------------------------------------------------------------------------------


def collect(tensors, mode="all"):
    log = []

    def all_of(gs):
        log.append([None if g is None else g.tolist() for g in gs])

    handle = graph.register_multi_grad_hook(
        tensors, all_of if mode == "all" else lambda g: log.append(g.tolist()), mode=mode
    )
    return log, handle


def test_all_waits_for_what_the_pass_computes():
    x, z = leaf(1.0), leaf(3.0)
    log, handle = collect([x, z])
    (x * x).backward()
    (x * z).backward()
    (x * z).backward(inputs=[z])
    handle.remove()
    (x * z).backward()
    assert log == [[[2.0], None], [[3.0], [1.0]], [None, [1.0]]]


def test_any_fires_once_a_pass():
    x, z = leaf(1.0), leaf(3.0)
    log, _ = collect([x, z, torch.ones(1)], "any")
    (x * z).backward()
    (x * z).backward()
    assert log == [[3.0], [3.0]]


def test_several_gradients_of_computed_tensors():
    x = leaf(1.0)
    a, b = x * 2, x * 3
    log, _ = collect([a, b])
    torch.autograd.grad(a + b, a, retain_graph=True)
    torch.autograd.grad(a + b, x)
    assert log == [[[1.0], None], [[1.0], [1.0]]]


def test_the_lone_root_is_not_waited_for():
    """Its gradient is given, not computed: PyTorch never calls the hook for it alone."""
    x = leaf(1.0)
    y = x * 2
    log, _ = collect([y])
    y.backward()
    assert log == []


def test_a_pass_inside_a_pass_is_another_pass():
    x = leaf(1.0)
    a, b = x * 2, x * 3
    log, _ = collect([a, b])

    def inner(g):
        with torch.enable_grad():
            q = leaf(1.0)
            (q * 2).backward()

    a.register_hook(inner)
    (a + b).backward()
    assert log == [[[1.0], [1.0]]]


def test_errors_of_multi_grad_hooks():
    x = leaf(1.0)
    with pytest.raises(ValueError, match=r"Expects mode to be one of \('all', 'any'\) but got some"):
        graph.register_multi_grad_hook([x], print, mode="some")
    with pytest.raises(AssertionError, match="Expected gradient function to be set"):
        graph.register_multi_grad_hook([torch.ones(1)], print)
    collect([x])
    with pytest.raises(
        RuntimeError, match="A leaf node was passed to _will_engine_execute_node but we are currently running"
    ):
        torch.autograd.grad(x * x, x)


# -- hooks on saved tensors ---------------------------------------------------------------------------


def test_pack_and_unpack():
    log = []
    x, w = leaf(1.0), leaf(3.0)
    with graph.saved_tensors_hooks(
        lambda t: log.append(("pack", t.tolist())) or t, lambda t: log.append(("unpack", t.tolist())) or t
    ):
        y = (x * w).exp()
    y.backward()
    e = y.tolist()
    assert log == [
        ("pack", [3.0]),
        ("pack", [1.0]),
        ("pack", e),
        ("unpack", e),
        ("unpack", [3.0]),
        ("unpack", [1.0]),
    ]


def test_the_edge_is_kept_whatever_the_hook_makes_of_the_numbers():
    x = leaf(1.0, 2.0)
    with graph.saved_tensors_hooks(lambda t: t.detach() * 2, lambda t: t):
        y = x * x
    assert (y.grad_fn._saved_self.tolist(), y.grad_fn._saved_self.is_leaf) == ([2.0, 4.0], True)
    (g,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    assert torch.autograd.grad(g.sum(), x)[0].tolist() == [2.0, 2.0]


def test_what_pack_is_given():
    x = leaf(1.0)
    seen = []
    with graph.saved_tensors_hooks(
        lambda t: seen.append((t is x, t.requires_grad, t.grad_fn is None)) or t.detach(), lambda t: t
    ):
        x.sin().exp()
    assert seen == [(True, True, True), (False, True, False)]


def test_hooks_take_the_place_of_the_version_check():
    h = leaf(1.0) * 1
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = h * h
    h.add_(1)
    y.backward()


def test_innermost_pair_only_and_errors():
    log = []
    x = leaf(1.0)
    outer = graph.saved_tensors_hooks(lambda t: log.append("outer") or t, lambda t: t)
    inner = graph.saved_tensors_hooks(lambda t: log.append("inner") or t, lambda t: t)
    with outer, inner:
        x.exp()
    assert log == ["inner"]
    with graph.saved_tensors_hooks(lambda t: 3, lambda t: t):
        y = x * x
    with pytest.raises(
        TypeError,
        match="Output of saved tensor unpack_hook expected to be a Tensor but got result of type int",
    ):
        y.backward()
    writing = graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t)
    with (
        pytest.raises(RuntimeError, match="A saved tensor pack hook is modifying its input in place."),
        writing,
    ):
        x.exp()


def test_disabling():
    with graph.disable_saved_tensors_hooks("outer"):
        with graph.disable_saved_tensors_hooks("inner"), pytest.raises(RuntimeError, match="inner"):
            graph.saved_tensors_hooks(id, id).__enter__()
        with pytest.raises(RuntimeError, match="outer"):
            graph.save_on_cpu().__enter__()
    with graph.saved_tensors_hooks(id, id), pytest.raises(RuntimeError, match="no"):
        graph.disable_saved_tensors_hooks("no").__enter__()
    graph.disable_saved_tensors_hooks("dropped at once").__enter__()
    with graph.save_on_cpu():
        y = leaf(2.0) ** 2
    y.backward()


def test_raw_saved_tensors():
    log = []
    x = leaf(3.0)
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(
        lambda t: log.append("pack") or t, lambda t: log.append("unpack") or t
    )
    with pytest.raises(
        RuntimeError, match="Calling register_hooks on a saved tensor whose hooks have already been set."
    ):
        y.grad_fn._raw_saved_self.register_hooks(id, id)
    with pytest.raises(TypeError, match=r"register_hooks\(\): incompatible function arguments."):
        y.grad_fn._raw_saved_other.register_hooks(1, 2)
    with pytest.raises(
        RuntimeError, match="Calling register_hooks on a saved tensor with value None is forbidden"
    ):
        (x * torch.ones(1)).grad_fn._raw_saved_self.register_hooks(id, id)
    y.backward()
    assert log == ["pack", "unpack"]
    with pytest.raises(
        RuntimeError, match="Calling register_hooks on a saved tensor after it has been freed."
    ):
        y.grad_fn._raw_saved_self.register_hooks(id, id)


# -- writing to saved tensors -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "write",
    [
        lambda t: t.mul_(5), lambda t: t.zero_(), lambda t: t.copy_(torch.ones(2)), lambda t: t[:1].add_(1), lambda t: t.exp_(),
        lambda t: t.__setitem__(0, 7.0), lambda t: t.__setitem__(torch.tensor([0, 1]), 7.0), lambda t: t.detach().fill_(9),
        lambda t: t.masked_fill_(t > 0, 3.0),
    ],
)  # fmt: skip
def test_mutation_of_saved_tensors(write):
    x = leaf(1.0, 2.0)
    with graph.allow_mutation_on_saved_tensors():
        h = x * 1
        y = h * h
        write(h)
        assert torch.autograd.grad(y.sum(), x, retain_graph=True)[0].tolist() == [2.0, 4.0]
        write(h)
        assert torch.autograd.grad(y.sum(), x)[0].tolist() == [2.0, 4.0]


def test_mutation_needs_its_context():
    x = leaf(1.0)
    with graph.allow_mutation_on_saved_tensors() as context:
        y = x * x
        with pytest.raises(RuntimeError, match="allow_mutation_on_saved_tensors contexts cannot be nested"):
            graph.allow_mutation_on_saved_tensors().__enter__()
    assert len(context.original) == 0
    with pytest.raises(
        AssertionError, match="Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
    ):
        y.backward()


def test_increment_version():
    t = torch.ones(1)
    graph.increment_version(t)
    graph.increment_version([t, t])
    assert t._version == 3
    with pytest.raises(RuntimeError, match="increment_version expect"):
        graph.increment_version(3)
    with pytest.raises(
        RuntimeError, match="increment_version expects each element of the iterable to be a tensor"
    ):
        graph.increment_version([3])
    h = leaf(1.0) * 1
    y = h * h
    graph.increment_version(h)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


# -- nodes --------------------------------------------------------------------------------------------


def test_a_node_called_by_hand():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gx, gw = (x * w).grad_fn(torch.tensor([1.0, 10.0]))
    assert (gx.tolist(), gw.tolist(), gx.requires_grad) == ([3.0, 40.0], [1.0, 20.0], True)
    assert [g if g is None else g.tolist() for g in (x + 1).grad_fn(torch.ones(2))] == [[1.0, 1.0], None]
    assert x.grad is None


def test_node_creation_hooks():
    """From PyTorch 2.14, whose contract is kept: complete nodes, outermost hook first, none made inside a hook."""
    log = []
    x = leaf(1.0)
    with graph.node_creation_hook(lambda n: log.append(("outer", n.name(), len(n.next_functions)))):
        with graph.node_creation_hook(lambda n: log.append(("inner", n.name(), n._saved_self is x))):
            x * x
        torch.autograd.grad(x.exp(), x, create_graph=True)
    assert log[:2] == [("outer", "MulBackward0", 2), ("inner", "MulBackward0", True)]
    assert [entry[1] for entry in log[2:]] == ["ExpBackward0", "MulBackward0"]
    making = graph.node_creation_hook(lambda n: x * 2)
    with pytest.raises(RuntimeError, match="A node was created inside of a node_creation_hook"), making:
        x * 3


def test_multi_grad_hooks_do_not_keep_a_pass_alive():
    gc.disable()
    try:
        x = leaf(1.0)
        a = x * 2
        collect([a, x * 3])  # the second never gets a gradient, so the hook waits for ever
        loss = a * 5
        node = weakref.ref(loss.grad_fn)
        loss.backward()
        del loss
        assert node() is None
    finally:
        gc.enable()


def test_multi_output_nodes_have_slots_only_for_what_is_differentiable():
    values, _ = leaf(3.0, 1.0).sort()
    log = []
    values.grad_fn.register_prehook(lambda gs: log.append(len(gs)))
    values.sum().backward()
    assert log == [1]
