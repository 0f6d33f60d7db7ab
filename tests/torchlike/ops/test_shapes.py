"""Views, joins and copies: derivatives, nodes, saved values, strides and sharing of memory as PyTorch's."""

import warnings

import numpy as np
import pytest
from helpers import Op, check_differences, check_like_pytorch
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab
from tests.each import each

# One line for each way to rearrange elements.
OPS = [
    Op("view", lambda torch, x: x.view(4, 6), [(2, 3, 4)]),
    Op("view -1", lambda torch, x: x.view(-1), [(2, 3)]),
    Op("view 0-d", lambda torch, x: x.view(1, 1), [()]),
    Op("view empty", lambda torch, x: x.view(3, 0, 2), [(0, 6)]),
    Op("view_as", lambda torch, x, y: x.view_as(y) * y, [(6,), (2, 3)]),
    Op("reshape", lambda torch, x: x.reshape(3, 2), [(2, 3)]),
    Op("reshape copies", lambda torch, x: x.t().reshape(-1), [(2, 3)]),
    Op("reshape_as", lambda torch, x, y: x.reshape_as(y) * y, [(6,), (2, 3)]),
    Op("flatten", lambda torch, x: torch.flatten(x, 1), [(2, 3, 4)]),
    Op("flatten 0-d", lambda torch, x: torch.flatten(x), [()]),
    Op("unflatten", lambda torch, x: x.unflatten(1, (3, -1)), [(2, 6)]),
    Op("ravel", lambda torch, x: x.transpose(0, 1).ravel(), [(2, 3)]),
    Op("squeeze", lambda torch, x: x.squeeze(), [(1, 3, 1)]),
    Op("squeeze dim", lambda torch, x: x.squeeze(-1), [(1, 3, 1)]),
    Op("squeeze keeps", lambda torch, x: x.squeeze(1), [(1, 3, 1)]),
    Op("squeeze dims", lambda torch, x: x.squeeze((0, 2)), [(1, 3, 1)]),
    Op("unsqueeze", lambda torch, x: x.unsqueeze(1), [(2, 3)]),
    Op("unsqueeze -1", lambda torch, x: x.unsqueeze(-1), [(2, 3)]),
    Op("transpose", lambda torch, x: x.transpose(0, -1), [(2, 3, 4)]),
    Op("transpose 0-d", lambda torch, x: x.transpose(0, -1), [()]),
    Op("t", lambda torch, x: x.t(), [(2, 3)]),
    Op("T", lambda torch, x: x.T, [(2, 3)]),
    Op("mT", lambda torch, x: x.mT, [(2, 3, 4)]),
    Op("H", lambda torch, x: x.H, [(2, 3)]),
    Op("adjoint", lambda torch, x: x.adjoint(), [(2, 3, 4)]),
    Op("permute", lambda torch, x: x.permute(2, 0, 1), [(2, 3, 4)]),
    Op("permute negative", lambda torch, x: torch.permute(x, (-1, 0, 1)), [(2, 3, 4)]),
    Op("movedim", lambda torch, x: x.movedim((0, 1), (2, 0)), [(2, 3, 4)]),
    Op("moveaxis", lambda torch, x: torch.moveaxis(x, 0, -1), [(2, 3, 4)]),
    Op("expand", lambda torch, x: x.expand(4, 2, 3), [(2, 1)]),
    Op("expand 0-d", lambda torch, x: x.expand(2, 3), [()]),
    Op("expand -1", lambda torch, x: x.expand(2, -1), [(1, 3)]),
    Op("broadcast_to", lambda torch, x: torch.broadcast_to(x, (2, 3)), [(3,)]),
    Op("broadcast_tensors", lambda torch, x, y: torch.broadcast_tensors(x, y), [(3, 1), (2,)]),
    Op("narrow", lambda torch, x: x.narrow(1, 1, 2), [(2, 4)]),
    Op("narrow negative", lambda torch, x: x.narrow(-1, -2, 2), [(2, 4)]),
    Op("select", lambda torch, x: x.select(1, -1), [(2, 3, 4)]),
    Op("diagonal", lambda torch, x: x.diagonal(), [(3, 4)]),
    Op("diagonal below", lambda torch, x: x.diagonal(-1, 2, 0), [(2, 3, 4)]),
    Op("diagonal outside", lambda torch, x: x.diagonal(7), [(3, 4)]),
    Op("diag of a matrix", lambda torch, x: torch.diag(x, 1), [(3, 4)]),
    Op("diag of a vector", lambda torch, x: x.diag(-1), [(3,)]),
    Op("diag_embed", lambda torch, x: torch.diag_embed(x, 1, 0, 2), [(2, 3)]),
    Op("diagflat", lambda torch, x: torch.diagflat(x), [(2, 2)]),
    Op("unfold", lambda torch, x: x.unfold(1, 3, 2), [(2, 7)]),
    Op("unsafe_split", lambda torch, x: torch.unsafe_split(x, 2, 1), [(3, 5)]), Op("unsafe_chunk", lambda torch, x: x.unsafe_chunk(3), [(7, 2)]),
    Op("unfold overlaps", lambda torch, x: x.unfold(0, 2, 1), [(4, 2)]),
    Op("as_strided", lambda torch, x: x.as_strided((2, 2), (1, 2), 1), [(2, 3)]),
    Op("as_strided overlaps", lambda torch, x: torch.as_strided(x, (3, 2), (1, 1)), [(6,)]),
    # PyTorch sends all of g to the tensor that is overwritten in part; central differences say otherwise.
    Op("as_strided_scatter", lambda torch, x, y: torch.as_strided_scatter(x, y, (2, 2), (1, 2)), [(2, 3), (2, 2)],
       skip=("grads", "second", "moves")),
    Op("unbind", lambda torch, x: x.unbind(1), [(2, 3)]),
    Op("unbind one used", lambda torch, x: x.unbind(-1)[1], [(2, 3)]),
    Op("iteration", lambda torch, x: list(x), [(2, 3)]),
    Op("split", lambda torch, x: x.split(2, 1), [(2, 5)]),
    Op("split one used", lambda torch, x: x.split(2, 1)[2], [(2, 5)]),
    Op("split sizes", lambda torch, x: torch.split(x, [1, 3, 1], -1), [(2, 5)]),
    Op("split sizes one used", lambda torch, x: torch.split(x, [1, 3, 1], -1)[1], [(2, 5)]),
    Op("chunk", lambda torch, x: x.chunk(3, 1), [(2, 5)]),
    Op("tensor_split", lambda torch, x: x.tensor_split(3, 1), [(2, 5)]),
    Op("tensor_split at", lambda torch, x: torch.tensor_split(x, (1, 4), 1), [(2, 5)]),
    Op("hsplit", lambda torch, x: torch.hsplit(x, 2), [(3, 4)]),
    Op("vsplit", lambda torch, x: torch.vsplit(x, [1]), [(3, 4)]),
    Op("dsplit", lambda torch, x: torch.dsplit(x, 2), [(3, 2, 4)]),
    Op("cat", lambda torch, x, y: torch.cat([x, y], 1), [(2, 3), (2, 1)]),
    Op("cat with itself", lambda torch, x: torch.cat([x, x * 2, x], -1), [(2, 3)]),
    Op("cat with legacy empty", lambda torch, x, y: torch.cat([x, y]), [(2, 3), (0,)]),
    Op("stack", lambda torch, x, y: torch.stack([x, y], 1), [(2, 3), (2, 3)]),
    Op("stack 0-d", lambda torch, x, y: torch.stack([x, y], -1), [(), ()]),
    Op("hstack", lambda torch, x, y: torch.hstack([x, y]), [(2, 3), (2, 1)]),
    Op("hstack vectors", lambda torch, x, y: torch.hstack([x, y]), [(2,), ()]),
    Op("vstack", lambda torch, x, y: torch.vstack([x, y]), [(3,), (2, 3)]),
    Op("dstack", lambda torch, x, y: torch.dstack([x, y]), [(3,), (1, 3, 2)]),
    Op("column_stack", lambda torch, x, y: torch.column_stack([x, y]), [(3,), (3, 2)]),
    Op("block_diag", lambda torch, x, y, z: torch.block_diag(x, y, z), [(2, 3), (2,), ()]),
    Op("meshgrid ij", lambda torch, x, y: torch.meshgrid(x, y, indexing="ij"), [(2,), (3,)]),
    Op("meshgrid xy", lambda torch, x, y, z: torch.meshgrid(x, y, z, indexing="xy"), [(2,), (3,), ()]),
    Op("cartesian_prod", lambda torch, x, y: torch.cartesian_prod(x, y), [(2,), (3,)]),
    Op("combinations", lambda torch, x: torch.combinations(x, 2), [(4,)]),
    Op("atleast_1d", lambda torch, x, y: torch.atleast_1d(x, y), [(), (2,)]),
    Op("atleast_2d", lambda torch, x: torch.atleast_2d(x), [(3,)]),
    Op("atleast_3d", lambda torch, x: torch.atleast_3d(x), [(2, 3)]),
    Op("repeat", lambda torch, x: x.repeat(2, 1, 3), [(2, 3)]),
    Op("repeat never", lambda torch, x: x.repeat(2, 0), [(2, 3)]),
    Op("tile", lambda torch, x: torch.tile(x, (2,)), [(2, 3)]),
    Op("repeat_interleave", lambda torch, x: x.repeat_interleave(2, 1), [(2, 3)]),
    Op("repeat_interleave flat", lambda torch, x: x.repeat_interleave(3), [(2, 2)]),
    Op("repeat_interleave each", lambda torch, x: x.repeat_interleave(torch.tensor([1, 0, 2]), 1), [(2, 3)]),
    Op("flip", lambda torch, x: x.flip(0, -1), [(2, 3, 2)]),
    Op("fliplr", lambda torch, x: torch.fliplr(x), [(2, 3)]),
    Op("flipud", lambda torch, x: torch.flipud(x), [(3,)]),
    Op("roll", lambda torch, x: x.roll((1, -2), (0, 1)), [(2, 3)]),
    Op("roll flat", lambda torch, x: torch.roll(x, 2), [(2, 3)]),
    *[Op(f"rot90 {k}", lambda torch, x, k=k: x.rot90(k), [(2, 3)]) for k in (-1, 0, 1, 2, 3)],
    Op("rot90 plane", lambda torch, x: torch.rot90(x, 1, (-1, 0)), [(2, 3, 4)]),
    Op("tril", lambda torch, x: x.tril(-1), [(2, 3, 4)]),
    Op("triu", lambda torch, x: torch.triu(x, 1), [(3, 4)]),
    Op("tril_", lambda torch, x: (x * 1).tril_(), [(3, 3)]),
    Op("clone", lambda torch, x: x.clone(), [(2, 3)]),
    Op("contiguous", lambda torch, x: x.t().contiguous(), [(2, 3)]),
    Op("to", lambda torch, x: x.to(torch.float32).double(), [(2, 3)], second=False, tolerance=1e-6),
    Op("to copy", lambda torch, x: x.to(torch.float64, copy=True), [(2, 3)]),
    Op("type_as", lambda torch, x: x.type_as(torch.ones(1)), [(2, 3)], second=False, tolerance=1e-6),
    Op("copy_", lambda torch, x, y: (x * 1).copy_(y), [(2, 3), (3,)]),
    Op("copy_ into a constant", lambda torch, x: torch.zeros(2, 3, dtype=torch.float64).copy_(x), [(3,)]),
    Op("copy_ into a slice", lambda torch, x, y: (x * 1, (z := x * 2)[0].copy_(y), z)[2], [(2, 3), (3,)]),
    Op("fill", lambda torch, x: torch.fill(x, 2.0), [(2, 3)]),
    Op("fill a tensor", lambda torch, x, y: torch.fill(x, y), [(2, 3), ()]),
    Op("fill_", lambda torch, x: (x * 1).fill_(2.0), [(2, 3)]),
    Op("fill_ a tensor", lambda torch, x, y: (x * 1).fill_(y), [(2, 3), ()]),
    Op("zero_", lambda torch, x: (x * 1).zero_(), [(2, 3)]),
    Op("squeeze_", lambda torch, x: (x * 1).squeeze_(), [(1, 3)]),
    Op("squeeze_ dim", lambda torch, x: (x * 1).squeeze_(0), [(1, 3)]),
    Op("unsqueeze_", lambda torch, x: (x * 1).unsqueeze_(1), [(2, 3)]),
    Op("transpose_", lambda torch, x: (x * 1).transpose_(0, 2), [(2, 3, 4)]),
    Op("t_", lambda torch, x: (x * 1).t_(), [(2, 3)]),
]  # fmt: skip


def rounded(op):
    """Rounding to float32 makes central differences of step 1e-6 meaningless."""
    return "float32" in op.name or op.name in ("to", "type_as")


def test_derivatives_agree_with_central_differences():
    each([op for op in OPS if not rounded(op)], check_differences)


def test_live_pytorch_does_the_same():
    each(OPS, check_like_pytorch, pytest.importorskip("torch"))


# -- chains of views, at random -----------------------------------------------------------------------


@st.composite
def view_chain(draw):
    """A shape, and some steps each of which turns one view into the next: (method, arguments)."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))
    first, steps = shape, []
    for _ in range(draw(st.integers(1, 5))):
        n = len(shape)
        kinds = ["unsqueeze"] + (
            ["permute", "slice", "select", "squeeze", "transpose", "flatten", "expand"] if n else []
        )
        kind = draw(st.sampled_from(kinds))
        d = draw(st.integers(0, max(n - 1, 0)))
        if kind == "permute":
            order = draw(st.permutations(range(n)))
            steps.append(("permute", (tuple(order),)))
            shape = tuple(shape[k] for k in order)
        elif kind == "transpose":
            e = draw(st.integers(0, n - 1))
            steps.append(("transpose", (d, e)))
            shape = list(shape)
            shape[d], shape[e] = shape[e], shape[d]
            shape = tuple(shape)
        elif kind == "slice":
            start, stop, step = draw(st.integers(-4, 4)), draw(st.integers(-4, 5)), draw(st.integers(1, 2))
            steps.append(("__getitem__", ((slice(None),) * d + (slice(start, stop, step),),)))
            shape = (*shape[:d], len(range(*slice(start, stop, step).indices(shape[d]))), *shape[d + 1 :])
        elif kind == "select" and shape[d]:
            steps.append(("select", (d, draw(st.integers(-shape[d], shape[d] - 1)))))
            shape = (*shape[:d], *shape[d + 1 :])
        elif kind == "squeeze":
            steps.append(("squeeze", (d,)))
            shape = (*shape[:d], *shape[d + 1 :]) if shape[d] == 1 else shape
        elif kind == "flatten" and n > 1:
            steps.append(("reshape", (-1,) if 0 not in shape else (0,)))
            shape = (int(np.prod(shape)),)
        elif kind == "expand" and shape[d] == 1:
            steps.append(("expand", ((*shape[:d], 3, *shape[d + 1 :]),)))
            shape = (*shape[:d], 3, *shape[d + 1 :])
        elif kind == "unsqueeze":
            steps.append(("unsqueeze", (d,)))
            shape = (*shape[:d], 1, *shape[d:])
    return first, steps


def walked(torch, shape, steps):
    """The leaf and the result of a chain, as (values, strides, nodes, gradient)."""
    x = torch.arange(float(np.prod(shape)), dtype=torch.float64).reshape(shape).requires_grad_()
    y = x
    for name, args in steps:
        y = getattr(y, name)(*args)
    nodes, node = [], y.grad_fn
    while node is not None:
        nodes.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    weights = torch.arange(float(y.numel()), dtype=torch.float64).reshape(tuple(y.shape)) + 1
    (g,) = torch.autograd.grad((y * weights).sum(), x, allow_unused=True)
    return x, y, nodes, g


@given(view_chain())
@settings(max_examples=150, deadline=None)
def test_a_chain_of_views_and_its_gradient_match_numpy(chain):
    shape, steps = chain
    _x, y, _nodes, g = walked(autograd_lab, shape, steps)
    numbers = np.arange(float(np.prod(shape))).reshape(shape)
    for name, args in steps:
        if name == "permute":
            numbers = numbers.transpose(*args)
        elif name == "transpose":
            numbers = numbers.swapaxes(*args)
        elif name == "__getitem__":
            numbers = numbers[args[0]]
        elif name == "select":
            numbers = np.take(numbers, args[1], axis=args[0])
        elif name == "squeeze":
            numbers = numbers.squeeze(args[0]) if numbers.shape[args[0]] == 1 else numbers
        elif name == "unsqueeze":
            numbers = np.expand_dims(numbers, args[0])
        elif name == "expand":
            numbers = np.broadcast_to(numbers, args[0])
        else:
            numbers = numbers.reshape(args)
    np.testing.assert_array_equal(y.detach().numpy(), numbers)
    # The elements are their own positions, so the oracle only has to add the weights where they came from.
    expected = np.zeros(int(np.prod(shape)))
    np.add.at(expected, numbers.reshape(-1).astype(int), np.arange(numbers.size) + 1.0)
    np.testing.assert_array_equal(g.numpy().reshape(-1), expected)


@given(view_chain())
@settings(max_examples=150, deadline=None)
def test_a_chain_of_views_is_that_of_live_pytorch(chain):
    torch = pytest.importorskip("torch")
    _, ours, nodes, g = walked(autograd_lab, *chain)
    _, theirs, their_nodes, their_g = walked(torch, *chain)
    assert nodes == their_nodes
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours._is_view() == theirs._is_view()
    assert ours.is_contiguous() == theirs.is_contiguous()
    assert ours.tolist() == theirs.tolist()
    assert g.tolist() == their_g.tolist()


@given(view_chain(), st.booleans())
@settings(max_examples=100, deadline=None)
def test_writing_through_a_chain_of_views_reaches_the_base(chain, square):
    torch = pytest.importorskip("torch")

    def run(torch):
        shape, steps = chain
        x = torch.arange(float(np.prod(shape)), dtype=torch.float64).reshape(shape).requires_grad_()
        base = x * 2
        y = base
        for name, args in steps:
            y = getattr(y, name)(*args)
        try:
            y.pow_(2) if square else y.mul_(3)
        except RuntimeError as error:
            return str(error)[:60]
        (g,) = torch.autograd.grad((base * base).sum() + y.sum(), x)
        return base.tolist(), g.tolist(), base._version, y.grad_fn and y.grad_fn.name(), base.grad_fn.name()

    assert run(autograd_lab) == run(torch)


# -- what shares memory, and what it looks like -------------------------------------------------------


def test_views_share_memory_and_copies_do_not():
    torch = autograd_lab
    b = torch.arange(8.0).reshape(2, 4)
    views = [
        b.view(8),
        b.t(),
        b[0],
        b[:, 1:],
        b.unsqueeze(0),
        b.expand(3, 2, 4),
        b.diagonal(),
        b.unfold(1, 2, 1),
        b.as_strided((2,), (3,)),
        b.detach(),
        b.data,
    ]
    copies = [
        b.clone(),
        b.t().reshape(-1),
        b[[0, 1]],
        b.flip(0),
        b.to(torch.float64),
        torch.cat([b]),
        b.tril(),
        b.repeat(1, 1),
        b.diag() if False else torch.diag(b),
    ]
    for v in views:
        assert np.shares_memory(v.numpy(), b.numpy())
        assert v.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    for c in copies:
        assert not np.shares_memory(c.numpy(), b.numpy())


def test_a_scalar_gets_memory_when_a_view_of_it_is_taken():
    torch = autograd_lab
    s = torch.tensor(2.0)
    s.view(1)[0] = 5.0
    assert s.item() == 5.0


def test_an_expanded_tensor_may_be_read_and_filled_but_not_written_element_by_element():
    torch = autograd_lab
    e = torch.zeros(3, 1).expand(3, 2)
    assert e.stride() == (1, 0)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        e.add_(1)
    e.fill_(4.0)
    assert e.tolist() == [[4.0, 4.0]] * 3


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda x: x.view(5), RuntimeError, "shape '[5]' is invalid for input of size 6"),
        (lambda x: x.view(-1, -1), RuntimeError, "only one dimension can be inferred"),
        (
            lambda x: x.t().view(-1),
            RuntimeError,
            "view size is not compatible with input tensor's size and stride",
        ),
        (
            lambda x: x.transpose(0, 2),
            IndexError,
            "Dimension out of range (expected to be in range of [-2, 1], but got 2)",
        ),
        (
            lambda x: x.permute(0),
            RuntimeError,
            "permute(sparse_coo): number of dimensions in the tensor input",
        ),
        (
            lambda x: x.expand(3),
            RuntimeError,
            "expand(torch.FloatTensor{[2, 3]}, size=[3]): the number of sizes",
        ),
        (
            lambda x: x.expand(4, 3),
            RuntimeError,
            "The expanded size of the tensor (4) must match the existing size (2)",
        ),
        (lambda x: x.narrow(0, 1, 5), RuntimeError, "start (1) + length (5) exceeds dimension size (2)."),
        (
            lambda x: autograd_lab.cat([x, x[0]]),
            RuntimeError,
            "Tensors must have same number of dimensions: got 2 and 1",
        ),
        (
            lambda x: autograd_lab.cat([x, x[:, :1]]),
            RuntimeError,
            "Sizes of tensors must match except in dimension 0.",
        ),
        (lambda x: autograd_lab.stack([x, x[0]]), RuntimeError, "stack expects each tensor to be equal size"),
        (lambda x: x.split(0), RuntimeError, "split_size can only be 0 if dimension size is 0"),
        (
            lambda x: x.unfold(0, 3, 1),
            RuntimeError,
            "maximum size for tensor at dimension 0 is 2 but size is 3",
        ),
        (lambda x: x.to("cuda"), AssertionError, "Torch not compiled with CUDA enabled"),
        (lambda x: x.to("meta"), RuntimeError, "autograd_lab computes on the CPU only"),
        (lambda x: iter(x[0, 0]), TypeError, "iteration over a 0-d tensor"),
    ],
)
def test_errors_say_what_pytorch_says(call, kind, text):
    with pytest.raises(kind) as caught:
        call(autograd_lab.ones(2, 3))
    assert str(caught.value).startswith(text)


def test_nothing_is_recorded_when_nothing_changes():
    torch = autograd_lab
    x = torch.ones(2, 3, requires_grad=True)
    assert x.to(torch.float32) is x
    assert x.float() is x
    assert x.contiguous() is x
    assert x.flatten(1, 1) is x
    assert x.cpu() is x
    assert not x.long().requires_grad


def test_warnings_that_come_once():
    torch = autograd_lab
    torch.set_warn_always(True)
    try:
        with pytest.warns(UserWarning, match=r"The use of `x.T` on tensors of dimension other than 2"):
            _ = torch.ones(2, 3, 4).T
        with pytest.warns(UserWarning, match="it will be required to pass the indexing argument"):
            torch.meshgrid(torch.ones(2))
    finally:
        torch.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ = torch.ones(2, 3, 4).T


VIEWS = {
    "t": (lambda x: x.t(), "which is output 0 of AsStrided, is at version 1; expected version 0 instead"),
    "select": (lambda x: x[0], "which is output 0 of AsStrided, is at version 1; expected version 0 instead"),
    "two views": (lambda x: x.view(6)[:2], "which is output 0 of AsStrided, is at version 1; expected version 0 instead"),
    "unbind": (lambda x: x.unbind()[0], "Output 0 of Unbind is a view and its base or another view of its base has been modified inplace."),
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("which", ["autograd_lab", "torch"])
def test_a_saved_view_whose_leaf_was_overwritten_is_named_by_its_new_history(name, which):
    torch = pytest.importorskip(which)
    view, text = VIEWS[name]
    x = torch.ones(2, 3, requires_grad=True)
    v = view(x)
    y = v * v
    with torch.no_grad():
        x.mul_(2)
    with pytest.raises(RuntimeError) as raised:
        y.sum().backward()
    assert text in str(raised.value)


def test_what_is_joined_or_filled_lies_in_order_whatever_the_operands_do():
    """NumPy keeps the order of transposed operands; PyTorch does not here, so that `view` works on the result."""
    t = autograd_lab.arange(6.0).reshape(2, 3).t()
    assert autograd_lab.cat([t, t], 1).view(-1).tolist() == [0, 3, 0, 3, 1, 4, 1, 4, 2, 5, 2, 5]
    assert autograd_lab.stack([t, t]).stride() == (6, 2, 1)
    assert autograd_lab.stack([t, t], 2).stride() == (4, 2, 1)
    assert t.masked_fill(t > 2, 0.0).stride() == (2, 1)
    assert t.masked_fill(t > 2, autograd_lab.tensor(0.0)).stride() == (2, 1)
    assert (t * 2).stride() == (1, 3)
