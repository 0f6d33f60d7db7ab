"""Number types: what comes out of each operation for each type, or pair of types, and which are refused."""

import numpy as np
import pytest

import autograd_lab

TYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
FIRST, SECOND = [3, 1, 2, 0, 1], [1, 2, 1, 1, 2]

UNARY = [
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "sqrt",
    "rsqrt",
    "square",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "asinh",
    "acosh",
    "atanh",
    "sigmoid",
    "erf",
    "erfc",
    "erfinv",
    "lgamma",
    "digamma",
    "abs",
    "sign",
    "sgn",
    "floor",
    "ceil",
    "round",
    "trunc",
    "frac",
    "neg",
    "positive",
    "reciprocal",
    "logit",
    "deg2rad",
    "rad2deg",
    "nan_to_num",
    "isnan",
    "isinf",
    "isfinite",
    "isposinf",
    "isneginf",
    "signbit",
    "logical_not",
    "bitwise_not",
    "relu",
    "sum",
    "mean",
    "prod",
    "var",
    "std",
    "max",
    "min",
    "amax",
    "amin",
    "aminmax",
    "argmax",
    "argmin",
    "mode",
    "nansum",
    "nanmean",
    "any",
    "all",
    "count_nonzero",
    "norm",
    "sort",
    "argsort",
    "msort",
    "unique",
    "hardshrink",
    "selu",
    "celu",
    "i0",
]
ALONG = [
    "cumsum",
    "cumprod",
    "cummax",
    "cummin",
    "logcumsumexp",
    "softmax",
    "log_softmax",
    "sum",
    "prod",
    "max",
    "min",
    "any",
    "all",
    "median",
]
BINARY = [
    "add",
    "sub",
    "mul",
    "div",
    "pow",
    "maximum",
    "minimum",
    "fmax",
    "fmin",
    "atan2",
    "hypot",
    "remainder",
    "fmod",
    "floor_divide",
    "true_divide",
    "xlogy",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "heaviside",
    "nextafter",
    "float_power",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_xor",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "isclose",
    "clamp_min",
    "clamp_max",
    "clamp",
]

KNOWN = {
    # autograd_lab computes these, PyTorch has no kernel for booleans
    "clamp bool True", "clamp_min bool True", "clamp_max bool True", "median bool 0",
    # True is a number here; PyTorch refuses to subtract it
    *(f"sub {t} True" for t in TYPES),
}  # fmt: skip


def outcome(torch, fn, *operands):
    """The types, shapes and values of the results, or the error's type and first words."""
    try:
        results = fn(torch, *[make(torch) for make in operands])
    except Exception as error:
        return type(error).__name__, str(error)[:60]
    results = list(results) if isinstance(results, (tuple, list)) else [results]
    return [(str(t.dtype).split(".")[-1], tuple(t.shape), t.numpy().astype(np.float64)) for t in results]


def same(ours, theirs):
    if isinstance(ours, tuple) or isinstance(theirs, tuple):
        return ours == theirs
    return len(ours) == len(theirs) and all(
        a[:2] == b[:2]
        and np.allclose(a[2], b[2], rtol=2e-3 if a[0] == "float16" else 1e-5, atol=1e-6, equal_nan=True)
        for a, b in zip(ours, theirs, strict=True)
    )


def tensor(numbers, name):
    return lambda torch: torch.tensor(numbers, dtype=getattr(torch, name))


def number(value):
    return lambda torch: value


def calls():
    """(name, function, operands) for every operation with every type or pair of types."""
    for name in UNARY:
        for t in TYPES:
            yield f"{name} {t}", lambda torch, x, n=name: getattr(torch, n)(x), [tensor(FIRST, t)]
            if name not in ("positive", "round") and hasattr(autograd_lab.Tensor, name + "_"):
                yield f"{name}_ {t}", lambda torch, x, n=name: getattr(x, n + "_")(), [tensor(FIRST, t)]
    for name in ALONG:
        for t in TYPES:
            yield f"{name} {t} 0", lambda torch, x, n=name: getattr(torch, n)(x, 0), [tensor(FIRST, t)]
    for name in BINARY:
        for t in TYPES:
            for u in TYPES:
                yield (
                    f"{name} {t} {u}",
                    lambda torch, x, y, n=name: getattr(torch, n)(x, y),
                    [tensor(FIRST, t), tensor(SECOND, u)],
                )
                if hasattr(autograd_lab.Tensor, name + "_"):
                    yield (
                        f"{name}_ {t} {u}",
                        lambda torch, x, y, n=name: getattr(x, n + "_")(y),
                        [tensor(FIRST, t), tensor(SECOND, u)],
                    )
                yield (
                    f"{name} {t} 0-d {u}",
                    lambda torch, x, y, n=name: getattr(torch, n)(x, y),
                    [tensor(FIRST, t), tensor(1, u)],
                )
            for value in (2, 1.5, True):
                yield (
                    f"{name} {t} {value}",
                    lambda torch, x, y, n=name: getattr(torch, n)(x, y),
                    [tensor(FIRST, t), number(value)],
                )


def test_every_type_gives_what_it_gives_in_live_pytorch():
    """About 12,000 calls in one test: the complaints name those that differ."""
    torch = pytest.importorskip("torch")
    complaints = []
    for name, fn, operands in calls():
        ours, theirs = outcome(autograd_lab, fn, *operands), outcome(torch, fn, *operands)
        if not same(ours, theirs) and name not in KNOWN:
            complaints.append(f"{name}: {ours} instead of {theirs}")
    assert not complaints


@pytest.mark.parametrize(
    ("a", "b", "result"),
    [
        ("float32", "float64", "float64"),
        ("float16", "int64", "float16"),
        ("int32", "int64", "int64"),
        ("uint8", "int8", "int16"),
        ("bool", "uint8", "uint8"),
        ("bool", "bool", "bool"),
    ],
)
def test_two_types_meet(a, b, result):
    torch = autograd_lab
    x, y = tensor(FIRST, a)(torch), tensor(SECOND, b)(torch)
    assert (x + y).dtype is (y * x).dtype is torch.maximum(x, y).dtype is getattr(torch, result)
    assert (x == y).dtype is torch.bool


def test_numbers_and_zero_dim_tensors_give_only_their_kind():
    torch = autograd_lab
    assert (torch.tensor([1.0]) * torch.tensor(2.0, dtype=torch.float64)).dtype is torch.float32
    assert (torch.tensor([1]) * 2.5).dtype is torch.float32
    assert (torch.tensor([1], dtype=torch.uint8) + 300).tolist() == [45]
    assert torch.clamp(torch.tensor([1, 5]), 0.5, 2.5).tolist() == [1.0, 2.5]
    assert torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), 0.5).dtype is torch.float32


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: t.ones(2, 3).sum(2), IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"),
        (lambda t: t.ones(2).sum((0, 0)), RuntimeError, "dim 0 appears multiple times in the list of dims"),
        (lambda t: t.ones(0).max(), RuntimeError, r"max\(\): Expected reduction dim to be specified for input.numel\(\) == 0"),
        (lambda t: t.ones(0, 3).argmax(0), IndexError, r"argmax\(\): Expected reduction dim 0 to have non-zero size."),
        (lambda t: t.tensor([1, 2]).mean(), RuntimeError, r"mean\(\): could not infer output dtype."),
        (lambda t: t.ones(3).topk(4), RuntimeError, "selected index k out of range"),
        (lambda t: t.maximum(t.ones(1), 2.0), TypeError, r"maximum\(\): argument 'other' \(position 2\) must be Tensor, not float"),
        (lambda t: t.clamp(t.ones(1)), RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"),
        (lambda t: t.tensor([5]) % 0, RuntimeError, "ZeroDivisionError"),
        (lambda t: t.tensor([True]) - t.tensor([True]), RuntimeError, "Subtraction, the `-` operator, with two bool tensors"),
        (lambda t: ~t.ones(1), TypeError, r"~ \(operator.invert\) is only implemented on integer and Boolean-type tensors"),
        (lambda t: t.where(t.ones(1), t.ones(1), t.ones(1)), RuntimeError, "where expected condition to be a boolean tensor"),
        (lambda t: t.ones(2).quantile(2.0), RuntimeError, r"quantile\(\) q must be in the range \[0, 1\] but got 2"),
        (lambda t: t.ones(2) + t.ones(3), RuntimeError, r"The size of tensor a \(2\) must match the size of tensor b \(3\)"),
        (lambda t: t.ones(2) < "a", TypeError, "'<' not supported between instances of 'Tensor' and 'str'"),
    ],
)  # fmt: skip
def test_errors_speak_pytorchs_words(call, error, text):
    with pytest.raises(error, match=text):
        call(autograd_lab)


def test_operations_without_a_derivative_fail_only_when_it_is_asked_for():
    torch = autograd_lab
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="derivative for aten::floor_divide is not implemented"):
        (x // 2).sum().backward()
    with pytest.raises(NotImplementedError, match="the derivative for '_unique2' is not implemented"):
        torch.unique(x).sum().backward()


def test_too_few_degrees_of_freedom_warn():
    torch = autograd_lab
    with pytest.warns(UserWarning, match=r"std\(\): degrees of freedom is <= 0."):
        assert torch.ones(1).std().isnan()


def test_what_reductions_of_nothing_give():
    torch = autograd_lab
    none = torch.zeros(0)
    assert (none.sum().item(), none.prod().item(), none.all().item(), none.any().item()) == (
        0.0,
        1.0,
        True,
        False,
    )
    assert none.mean().isnan()
    assert none.logsumexp(0).item() == -np.inf
    assert torch.zeros(2, 0).sum(1).tolist() == [0.0, 0.0]
