"""How tensors print: texts recorded on PyTorch 2.13.0, and live PyTorch on random tensors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch

INF, NAN = float("inf"), float("nan")

RECORDED = {
    "tensor(2.)": lambda torch: torch.tensor(2.0),
    "tensor(2.5000)": lambda torch: torch.tensor(2.5),
    "tensor([1., 2.])": lambda torch: torch.tensor([1.0, 2.0]),
    "tensor([1.5000, 2.0000])": lambda torch: torch.tensor([1.5, 2.0]),
    "tensor([  1,  20, -30])": lambda torch: torch.tensor([1, 20, -30]),
    "tensor([ True, False])": lambda torch: torch.tensor([True, False]),
    "tensor([1.0000e-01, 1.0000e+03])": lambda torch: torch.tensor([0.1, 1000.0]),
    "tensor([1.0000e+09])": lambda torch: torch.tensor([1e9]),
    "tensor([1.0000e-05])": lambda torch: torch.tensor([1e-5]),
    "tensor([1., nan, inf, -inf])": lambda torch: torch.tensor([1.0, NAN, INF, -INF]),
    "tensor([-0., 0.])": lambda torch: torch.tensor([-0.0, 0.0]),
    "tensor([nan])": lambda torch: torch.tensor([NAN]),
    "tensor([])": lambda torch: torch.tensor([]),
    "tensor([], size=(0, 3))": lambda torch: torch.zeros(0, 3),
    "tensor([], dtype=torch.int64)": lambda torch: torch.zeros(0, dtype=torch.int64),
    "tensor([1.], dtype=torch.float64)": lambda torch: torch.ones(1, dtype=torch.float64),
    "tensor(7, dtype=torch.uint8)": lambda torch: torch.tensor(7, dtype=torch.uint8),
    "tensor([1.], requires_grad=True)": lambda torch: torch.ones(1, requires_grad=True),
    "tensor([2.], grad_fn=<MulBackward0>)": lambda torch: torch.ones(1, requires_grad=True) * 2,
    "tensor([1.], grad_fn=<CopySlices>)": lambda torch: copied(torch),
    "tensor([[1., 2.],\n        [3., 4.]])": lambda torch: torch.tensor([[1.0, 2.0], [3.0, 4.0]]),
    "tensor([[[0],\n         [1]],\n\n        [[2],\n         [3]]])": lambda torch: torch.arange(4).reshape(
        2, 2, 1
    ),
    "tensor([0.0000e+00, 1.0000e+00, 2.0000e+00,  ..., 1.9970e+03, 1.9980e+03,\n        1.9990e+03])": lambda torch: (
        torch.arange(2000.0)
    ),
    "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])": lambda torch: torch.arange(2000),
}


def copied(torch):
    y = torch.zeros(2, requires_grad=True)[:1] * 1
    y[0] = 1.0
    return y


@pytest.mark.parametrize("text", RECORDED, ids=range(len(RECORDED)))
def test_texts_recorded_from_pytorch(text):
    assert repr(RECORDED[text](torch)) == text


def test_the_recorded_texts_are_live_pytorchs():
    live = pytest.importorskip("torch")
    assert [repr(make(live)) for make in RECORDED.values()] == list(RECORDED)


floats = st.floats(width=32) | st.integers(-3000, 3000).map(float) | st.floats(-10, 10, width=32)
DTYPES = ["float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]


def prints(library, array, requires_grad, **options):
    """What `library` prints for an array under some options."""
    try:
        library.set_printoptions(profile="default")
        if options:
            library.set_printoptions(**options)
        t = library.tensor(array)
        if requires_grad and t.is_floating_point():
            t = t.requires_grad_() * 1
        return repr(t)
    finally:
        library.set_printoptions(profile="default")


@given(
    st.lists(st.integers(0, 5), max_size=4).flatmap(
        lambda shape: st.lists(floats, min_size=int(np.prod(shape)), max_size=int(np.prod(shape))).map(
            lambda v: np.array(v, np.float64).reshape(shape)
        )
    ),
    st.sampled_from(DTYPES),
    st.booleans(),
)
@settings(max_examples=400, deadline=None)
def test_any_tensor_prints_as_in_live_pytorch(array, dtype, requires_grad):
    live = pytest.importorskip("torch")
    with np.errstate(all="ignore"):
        array = (
            np.nan_to_num(array, posinf=3, neginf=-3).astype(dtype)
            if dtype[0] in "iu"
            else array.astype(dtype)
        )
    assert prints(torch, array, requires_grad) == prints(live, array, requires_grad)


@pytest.mark.parametrize(
    "options",
    [
        {"precision": 2},
        {"sci_mode": True},
        {"sci_mode": False},
        {"threshold": 5},
        {"threshold": 5, "edgeitems": 1},
        {"threshold": 5, "edgeitems": 0},
        {"linewidth": 40},
        {"profile": "short"},
        {"profile": "full"},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "shape", [(), (7,), (40,), (9, 8), (3, 7, 8), (1100,), (40, 40), (8, 2, 9, 9)], ids=str
)
def test_options_work_as_in_live_pytorch(options, shape):
    live = pytest.importorskip("torch")
    array = np.random.default_rng(0).normal(size=shape).astype(np.float32) * 100
    for x in (array, np.asarray(array).astype(np.int64)):
        assert prints(torch, x, True, **options) == prints(live, x, True, **options)


def test_options_can_be_read_and_put_back():
    before = torch.get_printoptions()
    assert before == {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}
    torch.set_printoptions(precision=1, sci_mode=True)
    assert repr(torch.tensor([1.5])) == "tensor([1.5e+00])"
    torch.set_printoptions(**before)
    assert repr(torch.tensor([1.5])) == "tensor([1.5000])"


def test_the_default_dtype_is_not_printed():
    torch.set_default_dtype(torch.float64)
    try:
        assert repr(torch.tensor([1.0])) == "tensor([1.])"
        assert repr(torch.tensor([1.0], dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    finally:
        torch.set_default_dtype(torch.float32)


def test_the_widest_range_prints_without_a_warning():
    """The largest number divided by the smallest is inf. A warning would be an error here."""
    for dtype, text in (
        (np.float64, "tensor([4.9407e-324, 1.0000e+308], dtype=torch.float64)"),
        (np.float32, "tensor([1.4013e-45, 1.0000e+38])"),
    ):
        numbers = np.array([5e-324, 1e308] if dtype is np.float64 else [1e-45, 1e38], dtype)
        assert repr(torch.tensor(numbers)) == text


def test_long_suffixes_go_to_a_new_line():
    x = torch.full((6,), 1.23456, requires_grad=True, dtype=torch.float64) * 1
    assert repr(x) == (
        "tensor([1.2346, 1.2346, 1.2346, 1.2346, 1.2346, 1.2346], dtype=torch.float64,\n       grad_fn=<MulBackward0>)"
    )


def test_named_results_print_their_names():
    assert repr(torch.return_types.max((torch.tensor(1.0), torch.tensor(0)))) == (
        "torch.return_types.max(\nvalues=tensor(1.),\nindices=tensor(0))"
    )
