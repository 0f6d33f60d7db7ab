"""x[...], x[...] = v, gather and scatter, masks: values, nodes and gradients as NumPy's and PyTorch's."""

import numpy as np
import pytest
from helpers import Op, check_differences, check_like_pytorch
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab
from tests.each import each


def long(torch, values):
    return torch.tensor(values, dtype=torch.int64)


def set_item(torch, x, index, value):
    """What an assignment into a copy of x leaves."""
    y = x * 1
    y[index(torch)] = value
    return y


INDEX = {
    "int": lambda torch: 1,
    "negative": lambda torch: -1,
    "slice": lambda torch: slice(0, 2),
    "full slice": lambda torch: slice(None),
    "step": lambda torch: slice(None, None, 2),
    "none": lambda torch: None,
    "ellipsis": lambda torch: ...,
    "empty tuple": lambda torch: (),
    "last of all": lambda torch: (..., 0),
    "mixed basic": lambda torch: (0, None, slice(1, 3), -1),
    "true": lambda torch: True,
    "false": lambda torch: False,
    "0-d tensor": lambda torch: torch.tensor(1),
    "list": lambda torch: [0, 1, 1],
    "array": lambda torch: np.array([[1, 0], [0, 0]]),
    "int32 tensor": lambda torch: torch.tensor([1, 0], dtype=torch.int32),
    "pairs": lambda torch: ([0, 1, 0], [2, 0, 2]),
    "broadcast": lambda torch: (long(torch, [[0], [1]]), long(torch, [2, 0])),
    "in the middle": lambda torch: (slice(None), [2, 0, 2]),
    "apart": lambda torch: ([0, 1], slice(None), [3, 0]),
    "after an int": lambda torch: (0, slice(None), [1, 1]),
    "with a new dim": lambda torch: (None, [1, 0], ..., [0, 2]),
    "mask": lambda torch: torch.tensor([[True, False, True], [False, True, False]]),
    "mask of a dim": lambda torch: (slice(None), torch.tensor([True, False, True])),
    "mask and index": lambda torch: (torch.tensor([True, True]), [0, 2]),
    "mask list": lambda torch: [False, True],
    "empty list": lambda torch: [],
    "a list of lists": lambda torch: [[0, 1], [2, 0]],
    "negative list": lambda torch: [-1, -2],
}

OPS = [
    *[Op(f"get {name}", lambda torch, x, i=i: x[i(torch)], [(2, 3, 4)]) for name, i in INDEX.items()],
    *[Op(f"set {name}", lambda torch, x, v, i=i: set_item(torch, x, i, v), [(2, 3, 4), ()])
      for name, i in INDEX.items() if "list of" not in name],
    Op("set a row", lambda torch, x, v: set_item(torch, x, lambda torch: 0, v), [(2, 3), (3,)]),
    Op("set rows", lambda torch, x, v: set_item(torch, x, lambda torch: slice(0, 2), v), [(3, 2), (1, 1, 2)]),
    Op("set by list", lambda torch, x, v: set_item(torch, x, lambda torch: [2, 0], v), [(3, 2), (2,)]),
    Op("set under a mask", lambda torch, x, v: set_item(torch, x, lambda torch: torch.tensor([True, False, True]), v),
       [(3, 2), (2, 2)]),
    Op("set in a view", lambda torch, x, v: (b := x * 1, b.t()[0].__setitem__(slice(0, 2), v), b)[2], [(3, 2), (2,)]),
    Op("chained", lambda torch, x: x[1][:, 0][..., None], [(2, 3, 4)]),
    Op("index_put", lambda torch, x, v: torch.index_put(x, (long(torch, [2, 0]),), v), [(3, 2), (2, 2)]),
    Op("index_put adds", lambda torch, x, v: x.index_put((long(torch, [2, 2, 0]),), v, accumulate=True),
       [(3, 2), (2,)]),
    Op("index_put_", lambda torch, x, v: (x * 1).index_put_((long(torch, [2, 0]), long(torch, [0, 1])), v),
       [(3, 2), ()]),
    Op("index_select", lambda torch, x: x.index_select(1, long(torch, [2, 0, 2])), [(2, 3)]),
    Op("index_select 0-d", lambda torch, x: torch.index_select(x, 0, torch.tensor(0)), [()]),
    Op("index_add", lambda torch, x, v: x.index_add(0, long(torch, [1, 1]), v, alpha=2), [(3, 2), (2, 2)]),
    Op("index_add_", lambda torch, x, v: (x * 1).index_add_(1, long(torch, [1, 0]), v), [(3, 2), (3, 2)]),
    Op("index_fill", lambda torch, x: x.index_fill(1, long(torch, [0, 2]), 3.0), [(2, 3)]),
    Op("index_fill tensor", lambda torch, x, v: x.index_fill(1, long(torch, [0, 2]), v), [(2, 3), ()]),
    Op("index_fill_", lambda torch, x: (x * 1).index_fill_(0, long(torch, [1]), 3.0), [(2, 3)]),
    Op("index_copy", lambda torch, x, v: torch.index_copy(x, 1, long(torch, [2, 0]), v), [(2, 3), (2, 2)]),
    Op("gather", lambda torch, x: x.gather(1, long(torch, [[0, 0], [2, 1]])), [(3, 3)]),
    Op("gather dim 0", lambda torch, x: torch.gather(x, 0, long(torch, [[1, 0, 1]])), [(2, 3)]),
    Op("gather 0-d", lambda torch, x: x.gather(0, torch.tensor(0)), [()]),
    Op("take_along_dim", lambda torch, x: x.take_along_dim(long(torch, [[0], [2]]), 1), [(2, 3)]),
    Op("take_along_dim flat", lambda torch, x: torch.take_along_dim(x, long(torch, [0, 5, 5])), [(2, 3)]),
    Op("scatter", lambda torch, x, v: x.scatter(1, long(torch, [[0, 2], [1, 0]]), v), [(2, 3), (2, 2)]),
    Op("scatter number", lambda torch, x: torch.scatter(x, 0, long(torch, [[1, 0, 1]]), 2.0), [(2, 3)]),
    Op("scatter_", lambda torch, x, v: (x * 1).scatter_(1, long(torch, [[0], [1]]), v), [(2, 3), (2, 1)]),
    Op("scatter_add", lambda torch, x, v: x.scatter_add(0, long(torch, [[1, 0, 1], [1, 1, 1]]), v), [(2, 3), (2, 3)]),
    Op("scatter_add_", lambda torch, x, v: (x * 1).scatter_add_(0, long(torch, [[1, 0, 1]]), v), [(2, 3), (1, 3)]),
    *[Op(f"scatter_reduce {reduce} {keep}", lambda torch, x, v, reduce=reduce, keep=keep:
         x.scatter_reduce(1, long(torch, [[0, 0, 2], [1, 0, 1]]), v, reduce, include_self=keep),
         [(2, 4), (2, 3)], second=reduce not in ("amax", "amin"))
      for reduce in ("sum", "prod", "mean", "amax", "amin") for keep in (True, False)],
    Op("index_reduce mean", lambda torch, x, v: x.index_reduce(0, long(torch, [1, 1, 0]), v, "mean"),
       [(2, 3), (3, 3)]),
    Op("take", lambda torch, x: x.take(long(torch, [[0, 5], [5, -1]])), [(2, 3)]),
    Op("put", lambda torch, x, v: x.put(long(torch, [0, 5]), v), [(2, 3), (2,)]),
    Op("put adds", lambda torch, x, v: x.put(long(torch, [0, 0]), v, accumulate=True), [(2, 3), (2,)]),
    Op("masked_fill", lambda torch, x: x.masked_fill(torch.tensor([True, False, True]), 2.0), [(2, 3)]),
    Op("masked_fill broadcasts", lambda torch, x: x.masked_fill(torch.tensor([[True], [False]]), 2.0), [(3,)]),
    Op("masked_fill tensor", lambda torch, x, v: x.masked_fill(torch.tensor([True, False, True]), v), [(2, 3), ()]),
    Op("masked_fill_", lambda torch, x: (x * 1).masked_fill_(torch.tensor([True, False, True]), 2.0), [(2, 3)]),
    Op("masked_select", lambda torch, x: x.masked_select(torch.tensor([[True, False, True], [False, True, True]])),
       [(2, 3)]),
    Op("masked_select broadcasts", lambda torch, x: torch.masked_select(x,
       torch.tensor([[True, False, True], [False, True, True]])),
       [(3,)]),
    Op("masked_scatter", lambda torch, x, v: x.masked_scatter(torch.tensor([True, False, True]), v), [(2, 3), (6,)]),
    Op("select_scatter", lambda torch, x, v: torch.select_scatter(x, v, 1, -1), [(2, 3), (2,)]),
    Op("slice_scatter", lambda torch, x, v: torch.slice_scatter(x, v, 1, 0, 3, 2), [(2, 4), (2, 2)]),
    Op("diagonal_scatter", lambda torch, x, v: x.diagonal_scatter(v, 1), [(2, 3), (2,)]),
]  # fmt: skip

# Where an index names a place twice, one of the values is lost, but (as in PyTorch) each gets that place's gradient.
TWICE = ("set list", "set array", "set pairs", "set in the middle", "set after an int")
ONCE = [op for op in OPS if op.name not in TWICE]


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_derivatives_agree_with_central_differences():
    each(ONCE, check_differences)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_live_pytorch_does_the_same():
    each(OPS, check_like_pytorch, pytest.importorskip("torch"))


# -- index expressions, at random ---------------------------------------------------------------------


@st.composite
def index_into(draw, shape, advanced=True):
    """An index of `shape`, as plain data: ints, slices as tuples, None, '...', lists and masks."""
    items, d = [], 0
    length = draw(st.sampled_from([1, 2, 3]))
    used_ellipsis = False
    while d < len(shape) and draw(st.integers(0, 5)):
        n = shape[d]
        kinds = ["slice", "slice", "none"] + (["int", "int"] if n else [])
        kinds += ["list", "mask"] if advanced else []
        kinds += [] if used_ellipsis else ["ellipsis"]
        kind = draw(st.sampled_from(kinds))
        if kind == "none":
            items.append(None)
            continue
        if kind == "ellipsis":
            items.append("...")
            used_ellipsis = True
            skip = draw(st.integers(0, len(shape) - d))
            rest = len(shape) - d - skip
            d += skip
            for _ in range(rest):  # exactly the dims that are left must follow
                items.append(
                    ("slice", None, None, None)
                    if not shape[d] or draw(st.booleans())
                    else draw(st.integers(-shape[d], shape[d] - 1))
                )
                d += 1
            break
        if kind == "int":
            items.append(draw(st.integers(-n, n - 1)))
        elif kind == "slice":
            bound = st.none() | st.integers(-5, 5)
            items.append(("slice", draw(bound), draw(bound), draw(st.none() | st.integers(1, 3))))
        elif kind == "list" and n:
            items.append(("list", draw(st.lists(st.integers(-n, n - 1), min_size=length, max_size=length))))
        else:
            if any(isinstance(i, tuple) and i[0] in ("list", "mask") for i in items):
                continue  # a mask must pick as many as the lists beside it have
            items.append(("mask", draw(st.lists(st.booleans(), min_size=n, max_size=n))))
            advanced = False
        d += 1
    return tuple(items)


def built(index, make):
    """The index for one library, whose arrays `make` makes."""
    out = []
    for i in index:
        if i == "...":
            out.append(...)
        elif isinstance(i, tuple) and i[0] == "slice":
            out.append(slice(*i[1:]))
        elif isinstance(i, tuple):
            out.append(make(i[1], i[0] == "mask"))
        else:
            out.append(i)
    return tuple(out)


def by_numpy(numbers, index):
    """numbers[index] the way PyTorch means it: ints first, as NumPy's basic indexing, then the lists."""
    basic = tuple(slice(None) if isinstance(i, np.ndarray) else i for i in index)
    arrays, out = [], []
    for i in index:  # an Ellipsis stands for as many dims as are left
        if i is Ellipsis:
            consumed = sum(1 for j in index if j is not None and j is not Ellipsis)
            out += [slice(None)] * (numbers.ndim - consumed)
        else:
            out.append(i)
    for i in out:
        if isinstance(i, np.ndarray):
            arrays.append(i)
        elif not isinstance(i, int):
            arrays.append(slice(None))
    return numbers[basic][tuple(arrays)]


def tensor_maker(torch):
    return lambda values, mask: torch.tensor(values, dtype=torch.bool if mask else torch.int64)


SHAPES = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_index_picks_what_numpy_picks_and_sends_gradients_back_there(data):
    torch = autograd_lab
    shape = data.draw(SHAPES)
    index = data.draw(index_into(shape))
    numbers = np.arange(float(np.prod(shape))).reshape(shape)
    expected = by_numpy(numbers, built(index, lambda v, mask: np.array(v, bool if mask else np.int64)))
    x = torch.tensor(numbers, requires_grad=True)
    y = x[built(index, tensor_maker(torch))]
    assert tuple(y.shape) == expected.shape
    np.testing.assert_array_equal(y.detach().numpy(), expected)
    (g,) = torch.autograd.grad(y.sum(), x)
    counts = np.zeros(numbers.size)
    np.add.at(counts, expected.reshape(-1).astype(int), 1.0)
    np.testing.assert_array_equal(g.numpy().reshape(-1), counts)


def history(y):
    """The nodes of a result from the newest to the oldest, along the first edges, with what each saved of its index."""
    names, node = [], y.grad_fn
    while node is not None:
        saved = [
            (k, getattr(node, k))
            for k in ("_saved_dim", "_saved_index", "_saved_start", "_saved_end", "_saved_step")
            if k in dir(node)
        ]
        names.append((node.name(), saved))
        node = node.next_functions[0][0] if node.next_functions else None
    return names


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_any_index_is_recorded_as_live_pytorch_records_it(data):
    torch = pytest.importorskip("torch")
    shape = data.draw(SHAPES)
    index = data.draw(index_into(shape))
    results = []
    for library in (autograd_lab, torch):
        x = library.arange(float(np.prod(shape)), dtype=library.float64).reshape(shape).requires_grad_()
        y = x[built(index, tensor_maker(library))]
        results.append((y.tolist(), tuple(y.shape), history(y), y._is_view(), y.is_contiguous()))
    assert results[0] == results[1]


@given(st.data(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_any_assignment_is_that_of_live_pytorch(data, a_number):
    torch = pytest.importorskip("torch")
    shape = data.draw(SHAPES)
    index = data.draw(index_into(shape))
    picked = by_numpy(np.zeros(shape), built(index, lambda v, mask: np.array(v, bool if mask else np.int64)))
    cut = data.draw(st.integers(0, picked.ndim))
    results = []
    for library in (autograd_lab, torch):
        x = library.arange(float(np.prod(shape)), dtype=library.float64).reshape(shape).requires_grad_()
        n = int(np.prod(picked.shape[cut:]))
        v = (
            (library.arange(float(n), dtype=library.float64) + 100)
            .reshape(picked.shape[cut:])
            .requires_grad_()
        )
        b = x * 1
        key = built(index, tensor_maker(library))
        duplicates = any(
            isinstance(i, tuple) and i[0] == "list" and len({k % 5 for k in i[1]}) < len(i[1]) for i in index
        )
        try:
            b[key] = 7.0 if a_number or duplicates else v
        except (RuntimeError, IndexError) as error:
            results.append((type(error).__name__, str(error)[:40]))
            continue
        weights = library.arange(float(b.numel()), dtype=library.float64).reshape(shape) + 1
        grads = library.autograd.grad((b * weights).sum(), [x, v], allow_unused=True)
        results.append(
            (b.tolist(), b.grad_fn.name(), b._version, [g is not None and g.tolist() for g in grads])
        )
    if not any("list" in (i[0] if isinstance(i, tuple) else "") for i in index):
        assert results[0] == results[1]
    else:  # where a list names a place twice, which value wins is not said
        assert results[0][1:3] == results[1][1:3]


# -- what is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("index", "kind", "text"),
    [
        (5, IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        ((0, -4), IndexError, "index -4 is out of bounds for dimension 1 with size 3"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (slice(None, None, -1), ValueError, "step must be greater than zero"),
        (
            1.0,
            IndexError,
            "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are",
        ),
        ("a", TypeError, "new(): invalid data type 'str'"),
        ([0, 5], IndexError, "index 5 is out of bounds for dimension 0 with size 2"),
        (
            ([0, 1], [0, 1, 2]),
            IndexError,
            "shape mismatch: indexing tensors could not be broadcast together with shapes [2], [3]",
        ),
        (
            [True, False, True],
            IndexError,
            "The shape of the mask [3] at index 0 does not match the shape of the indexed tensor",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Using a non-tuple sequence")
def test_indices_that_do_not_fit(index, kind, text):
    with pytest.raises(kind) as caught:
        autograd_lab.zeros(2, 3, 4)[index]
    assert str(caught.value).startswith(text)


def test_values_that_do_not_fit():
    torch = autograd_lab
    b = torch.zeros(2, 3)
    for index, value, kind, text in [
        (
            0,
            torch.ones(4),
            RuntimeError,
            r"The expanded size of the tensor \(3\) must match the existing size \(4\)",
        ),
        (
            [0],
            torch.ones(4),
            RuntimeError,
            r"shape mismatch: value tensor of shape \[4\] cannot be broadcast",
        ),
        (
            [0],
            torch.ones(3, dtype=torch.float64),
            RuntimeError,
            "Index put requires the source and destination dtypes match",
        ),
        (0, "a", TypeError, "can't assign a str to a torch.FloatTensor"),
        (0, [1, 2, 3], TypeError, "can't assign a list to a torch.FloatTensor"),
    ]:
        with pytest.raises(kind, match=text):
            b[index] = value
    assert b.tolist() == [[0.0] * 3] * 2
    assert b._version == 0


def test_a_leaf_that_requires_grad_is_not_written_to():
    torch = autograd_lab
    x = torch.ones(3, requires_grad=True)
    for index in (0, [0], torch.tensor([True, False, False])):
        with pytest.raises(
            RuntimeError, match="leaf Variable that requires grad is being used in an in-place operation"
        ):
            x[index] = 2.0
    with torch.no_grad():
        x[0] = 2.0
    assert x.tolist() == [2.0, 1.0, 1.0]


def test_an_index_that_was_written_to_is_noticed():
    torch = autograd_lab
    x, i = torch.ones(3, requires_grad=True), torch.tensor([0, 1])
    y = x[i]
    i += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_indexed_gradients_cannot_be_sent_twice_but_sliced_ones_can():
    torch = autograd_lab
    x = torch.ones(3, requires_grad=True)
    y = x[0:2]
    y.sum().backward()
    y.sum().backward()
    z = x[[0, 1]]
    z.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        z.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0, 0.0]


def test_duplicate_places_add_up():
    torch = autograd_lab
    x = torch.zeros(3, requires_grad=True)
    (x[[0, 0, 2]] * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [11.0, 0.0, 100.0]
    q = torch.zeros(3).index_put_((torch.tensor([1, 1]),), torch.tensor([2.0, 3.0]), accumulate=True)
    assert q.tolist() == [0.0, 5.0, 0.0]


def test_scatter_that_reduces_the_old_way_has_no_derivative():
    torch = autograd_lab
    x = torch.ones(2, 2, requires_grad=True)
    y = x.scatter(0, torch.tensor([[0, 1]]), 3.0, reduce="add")
    assert y.tolist() == [[4.0, 1.0], [1.0, 4.0]]
    with pytest.raises(RuntimeError, match="derivative for aten::scatter is not implemented"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda torch, x: x.index_select(0, torch.tensor([9])), IndexError, "index out of range in self"),
        (
            lambda torch, x: x.gather(0, torch.tensor([0])),
            RuntimeError,
            "Index tensor must have the same number of dimensions",
        ),
        (
            lambda torch, x: x.gather(1, torch.tensor([[7]])),
            RuntimeError,
            "index 7 is out of bounds for dimension 1 with size 3",
        ),
        (
            lambda torch, x: x.gather(0, torch.tensor([[0.0]])),
            RuntimeError,
            "gather(): Expected dtype int32/int64 for index",
        ),
        (
            lambda torch, x: x.scatter(0, torch.tensor([[0, 0]]), torch.ones(1, 1)),
            RuntimeError,
            "Expected index [1, 2] to be no larger",
        ),
        (
            lambda torch, x: x.take(torch.tensor([6])),
            IndexError,
            "out of range: tried to access index 6 on a tensor of 6 elements.",
        ),
        (
            lambda torch, x: x.masked_fill(torch.ones(2, dtype=torch.bool), 0),
            RuntimeError,
            "The size of tensor a (2) must match",
        ),
        (lambda torch, x: x.masked_select(x), RuntimeError, "masked_select: expected BoolTensor for mask"),
        (
            lambda torch, x: x.masked_scatter(x == x, torch.ones(2)),
            RuntimeError,
            "Number of elements of source < number of ones in mask",
        ),
        (
            lambda torch, x: x.index_add(0, torch.tensor([0]), torch.ones(2, 3)),
            RuntimeError,
            "index_add_(): Number of indices (1)",
        ),
        (
            lambda torch, x: x.index_fill(0, torch.tensor([0]), torch.ones(2)),
            RuntimeError,
            "index_fill_ only supports a 0-dimensional",
        ),
    ],
)
def test_errors_say_what_pytorch_says(call, kind, text):
    with pytest.raises(kind) as caught:
        call(autograd_lab, autograd_lab.ones(2, 3))
    assert str(caught.value).startswith(text)


def test_nonzero_and_argwhere():
    torch = autograd_lab
    x = torch.tensor([[0, 3], [5, 0]])
    assert x.nonzero().tolist() == torch.argwhere(x).tolist() == [[0, 1], [1, 0]]
    assert [t.tolist() for t in torch.nonzero(x, as_tuple=True)] == [[0, 1], [1, 0]]
    assert [t.tolist() for t in torch.unravel_index(torch.tensor([5, 1]), (2, 3))] == [[1, 0], [2, 1]]


FILLS = {
    "masked_fill_": lambda torch, x: x.masked_fill_(
        torch.tensor([[True, False, True], [False, True, False]]), 5.0
    ),
    "masked_fill_ tensor": lambda torch, x: x.masked_fill_(
        torch.tensor([True, False, False]), torch.tensor(5.0)
    ),
    "index_fill_": lambda torch, x: x.index_fill_(0, torch.tensor([0]), 5.0),
    "index_put_": lambda torch, x: x.index_put_((torch.tensor([0]),), torch.tensor(5.0)),
}


@pytest.mark.parametrize("name", FILLS)
@pytest.mark.parametrize("which", ["autograd_lab", "torch"])
def test_filling_an_expanded_tensor_warns_and_what_is_filled_wins(name, which):
    """Rows that share memory: an element filled through any of them is filled; the way back is refused."""
    torch = pytest.importorskip(which)
    x = torch.zeros(3).expand(2, 3)
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        FILLS[name](torch, x)
    want = [5.0, 0.0, 0.0] if name == "masked_fill_ tensor" else [5.0, 5.0, 5.0]
    assert x.tolist() == [want, want]
    leaf = torch.ones(3, requires_grad=True)
    y = (leaf * 2).expand(2, 3)
    with pytest.warns(UserWarning, match="on expanded tensors is deprecated"):
        FILLS[name](torch, y)
    assert y.grad_fn.name() == "AsStridedBackward0"
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory"
    ):
        y.sum().backward()


@pytest.mark.filterwarnings("ignore:index_reduce")  # in beta, says the first call of a process
def test_a_product_of_several_zeros_has_no_second_derivative():
    torch = autograd_lab
    x, zeros = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    index = torch.tensor([0, 0])
    for name in ("scatter_reduce", "index_reduce"):
        y = getattr(x, name)(0, index, zeros, "prod")
        (g,) = torch.autograd.grad(y.sum(), zeros, create_graph=True)
        assert g.tolist() == [0, 0]
        with pytest.raises(RuntimeError, match=rf"{name}\(\): Double backward is unsupported"):
            torch.autograd.grad(g.sum(), zeros)
