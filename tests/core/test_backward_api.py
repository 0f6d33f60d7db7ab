"""backward() and grad(): arguments, errors and warnings. Expectations from PyTorch 2.13.0."""

import gc
import weakref

import pytest

import autograd_lab as torch
from autograd_lab.autograd import backward, grad


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


# -- gradients given ----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_one_element_needs_no_gradient(shape):
    x = torch.ones(shape, requires_grad=True)
    (x * 2).backward()
    assert x.grad.sum().item() == 2.0


def test_a_given_gradient_is_converted_but_not_reshaped():
    x = leaf(1.0, 2.0)
    for dtype in (torch.float64, torch.int64, torch.bool):
        assert grad(x * 3, x, torch.ones(2, dtype=dtype))[0].tolist() == [3.0, 3.0]
    with pytest.raises(
        RuntimeError,
        match=r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[1, 2\]\) and output\[0\]",
    ):
        (x * 3).backward(torch.ones(1, 2))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: (x * 2).backward(), RuntimeError, "grad can be implicitly created only for scalar outputs"),
        (lambda x: x.sum().backward(1.0), TypeError, "'float' object is not iterable"),
        (lambda x: x.sum().backward([1.0]), TypeError, "gradients can be either Tensors or None, but got float"),
        (lambda x: backward([x.sum(), x.sum()], [None]), RuntimeError, "got 2 tensors and 1 gradients"),
        (lambda x: torch.ones(1).backward(), RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn"),
        (lambda x: backward([x.sum(), torch.ones(1)]), RuntimeError, "element 1 of tensors does not require grad"),
        (lambda x: backward([3]), AssertionError, "Expected output to be a torch.Tensor"),
        (lambda x: backward(3), TypeError, "'int' object is not iterable"),
        (lambda x: grad(x * 2, x, 1.0), TypeError, "'float' object is not iterable"),
        (lambda x: x.sum().backward(inputs=[]), RuntimeError, r"`inputs` argument to `backward\(\)` cannot be empty."),
        (lambda x: grad(x.sum(), []), RuntimeError, r"`inputs` argument to `grad\(\)` cannot be empty."),
        (lambda x: grad(x.sum(), [3]), RuntimeError, "all inputs have to be Tensors or GradientEdges, but got int"),
        (lambda x: x.sum().backward(inputs=[torch.ones(1)]), RuntimeError, "can't retain_grad on Tensor that has requires_grad=False"),
        (lambda x: grad(x.sum(), torch.ones(1)), RuntimeError, "One of the differentiated Tensors does not require grad"),
        (lambda x: grad(x.sum(), [x, leaf(1.0)]), RuntimeError, "The differentiated Tensor at index 1 appears to not have been used in the graph."),
        (lambda x: grad(x.sum(), x, materialize_grads=True, allow_unused=False), ValueError, "Expected allow_unused to be True or not passed"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call(leaf(1.0, 2.0))


def test_deprecated_arguments():
    x = leaf(1.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated."):
        backward(x * 2, grad_variables=torch.ones(1))
    with (
        pytest.warns(FutureWarning, match="`grad_variables` is deprecated."),
        pytest.raises(RuntimeError, match="both passed"),
    ):
        backward(x * 2, torch.ones(1), grad_variables=torch.ones(1))
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        grad(x * 2, x, only_inputs=False)


# -- inputs -------------------------------------------------------------------------------------------


def test_inputs_restrict_who_accumulates():
    a, b = leaf(1.0), leaf(2.0)
    (a * b).backward(inputs=b)
    assert (a.grad, b.grad.tolist()) == (None, [1.0])
    (a * b).backward(inputs={"a": a})
    assert a.grad.tolist() == [2.0]
    (a * 2).backward(inputs=[b])  # unreachable: silently nothing
    assert b.grad.tolist() == [1.0]


def test_a_computed_input_retains_its_gradient_and_its_node_runs():
    x = leaf(1.0)
    h = x * 2
    ran = []
    h.grad_fn.register_hook(lambda gi, go: ran.append(gi))
    (h * 3).backward(inputs=[h])
    assert (h.grad.tolist(), h.retains_grad, x.grad) == ([3.0], True, None)
    assert ran == [(None, None)]


def test_grad_as_a_dict_and_twice():
    x = leaf(1.0, 2.0)
    assert {k: g.tolist() for k, g in grad((x * x).sum(), {"x": x}).items()} == {"x": [2.0, 4.0]}
    first, second = grad((x * x).sum(), [x, x])
    assert first is second


def test_grad_of_the_root_itself():
    x = leaf(1.0)
    assert grad(x, x)[0].tolist() == [1.0]
    y = x * 2
    assert grad(y, y)[0].tolist() == [1.0]
    x.backward()
    assert x.grad.tolist() == [1.0]


def test_unused():
    x, z = leaf(1.0), leaf(2.0)
    assert grad(x * 2, [x, z], allow_unused=True)[1] is None
    assert grad(x * 2, z, materialize_grads=True)[0].tolist() == [0.0]
    assert grad(x * 2, z, materialize_grads=True, create_graph=True)[0].requires_grad


# -- batches ------------------------------------------------------------------------------------------


def test_batched():
    x, z = leaf(1.0, 2.0), leaf(3.0)
    rows = torch.eye(2)
    g, unused = grad(x * x, [x, z], rows, is_grads_batched=True, allow_unused=True)
    assert (g.tolist(), unused) == ([[2.0, 0.0], [0.0, 4.0]], None)
    assert grad(x * x, [x, z], rows, is_grads_batched=True, materialize_grads=True)[1].tolist() == [0.0]
    (g,) = grad(x * x, x, rows, is_grads_batched=True, create_graph=True)
    assert grad(g.sum(), x)[0].tolist() == [2.0, 2.0]
    with pytest.raises(
        RuntimeError, match="If `is_grads_batched=True`, we interpret the first dimension of each grad_output"
    ):
        grad(x * x, x, torch.ones(2, 3), is_grads_batched=True)


# -- graphs kept, freed, recorded ---------------------------------------------------------------------


def test_freed_graphs():
    x = leaf(2.0)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()
    y = x + 1
    y.backward()
    y.backward()  # nothing was saved


def test_create_graph_warns_and_replaces():
    x = leaf(2.0)
    x.grad = torch.ones(1)
    before = x.grad
    with pytest.warns(
        UserWarning, match=r"Using backward\(\) with create_graph=True will create a reference cycle"
    ):
        (x**3).backward(create_graph=True)
    assert (before.tolist(), x.grad.tolist(), type(x.grad.grad_fn).__name__) == (
        [1.0],
        [13.0],
        "AddBackward0",
    )
    assert grad(x.grad, x)[0].tolist() == [12.0]
    x.grad = None


def test_accumulation_is_in_place():
    x = leaf(1.0)
    mine = x.grad = torch.ones(1)
    (x * 2).backward()
    assert x.grad is mine
    assert (mine.tolist(), mine._version) == ([3.0], 1)


def test_a_leaf_that_no_longer_asks_gets_nothing():
    x = leaf(1.0)
    y = x * 2
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None


def test_create_graph_leaves_no_garbage_in_grad():
    """autograd.grad with create_graph makes no cycle: the gradient's graph dies with the gradient."""
    gc.disable()
    try:
        x = leaf(2.0)
        (g,) = grad((x * x).exp(), x, create_graph=True)
        node = weakref.ref(g.grad_fn)
        del g
        assert node() is None
    finally:
        gc.enable()


def test_second_derivative_without_create_graph():
    x = leaf(2.0)
    (g,) = grad(x**3, x)
    with pytest.raises(
        RuntimeError, match="element 0 of tensors does not require grad and does not have a grad_fn"
    ):
        grad(g, x)


def test_the_history_of_an_input_is_renewed():
    base = torch.zeros(2)
    part = base[:1]
    base.mul_(leaf(1.0))  # only now does `part` have a history
    (base * 2).sum().backward(inputs=[part])
    assert (part.retains_grad, part.grad) == (True, None)


def test_a_node_without_a_gradient_still_looks_at_what_it_saved():
    class Nothing(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            return None

    y = Nothing.apply(leaf(1.0).exp())
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


def test_reading_what_is_written():
    x = torch.arange(6.0)
    for write in (
        lambda: x[:3].add_(x[1:4]),
        lambda: x.add_(x[0]),
        lambda: x.view(1, 6).add_(x),
        lambda: x.view(2, 3).t().copy_(x.view(3, 2)),
    ):
        with pytest.raises(
            RuntimeError,
            match="some elements of the input tensor and the written-to tensor refer to a single",
        ):
            write()
    x[:3].add_(x[3:])
    x.view(2, 3).add_(x.view(2, 3))
    x[::2].add_(x[1::2])  # gaps: not looked at
    assert x.tolist() == [16.0, 10.0, 20.0, 6.0, 18.0, 10.0]
    with pytest.raises(
        RuntimeError,
        match="more than one element of the written-to tensor refers to a single memory location",
    ):
        torch.ones(1).expand(3).add_(1)


def test_a_result_is_never_the_operand():
    x = torch.tensor(3.0)
    values, _ = x.sort()
    values.add_(1)
    assert x.item() == 3.0


def test_without_recording_nobody_asks_for_history():
    h = leaf(1.0, 2.0) * 1
    a, _ = h.split(1)
    h.add_(1)
    with torch.no_grad():
        assert (a * 2).tolist() == [4.0]
    with pytest.raises(
        RuntimeError,
        match="Output 0 of Split is a view and its base or another view of its base has been modified",
    ):
        a * 2


def test_gradients_of_integers_are_refused():
    """PyTorch breaks off with a failed assertion of its own."""
    x = leaf(1.0, 2.0)
    x.grad_dtype = torch.int64
    with pytest.raises(RuntimeError, match="a gradient cannot be of type int64"):
        x.sum().backward()
    assert x.grad is None
