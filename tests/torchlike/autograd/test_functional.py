"""autograd.functional. Expectations from PyTorch 2.13.0."""

import pytest

import autograd_lab as torch
from autograd_lab.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

t = torch.tensor


def values(x):
    return tuple(values(e) for e in x) if isinstance(x, tuple) else x.tolist()


def cubes(x):
    return x**3


def mixed(a, b):
    return (a * b).sum() + (a**3).sum()


A, B = t([1.0, 2.0]), t([3.0, 4.0])
E0, E1 = t([1.0, 0.0]), t([0.0, 1.0])


def test_vjp():
    assert values(vjp(cubes, A, E1)) == ([1.0, 8.0], [0.0, 12.0])
    assert values(vjp(lambda x: x.sum(), A)) == (3.0, [1.0, 1.0])
    assert values(vjp(lambda a, b: (a * b, a + b), (A, B), (E0, E1))) == (
        ([3.0, 8.0], [4.0, 6.0]),
        ([3.0, 1.0], [1.0, 1.0]),
    )


def test_jvp():
    assert values(jvp(cubes, A, E1)) == ([1.0, 8.0], [0.0, 12.0])
    assert values(jvp(lambda x: x**2, t(3.0))) == (9.0, 6.0)
    assert values(jvp(lambda a, b: a * b, (A, B), (E0, E1))) == ([3.0, 8.0], [3.0, 2.0])


def test_products_with_the_hessian():
    for product in (hvp, vhp):
        value, result = product(mixed, (A, B), (E0, E1))
        assert (value.item(), values(result)) == (20.0, ([6.0, 1.0], [1.0, 0.0]))
        assert values(product(lambda x: x**4, t(2.0))) == (16.0, 48.0)


def test_jacobian_shapes():
    assert values(jacobian(cubes, A)) == [[3.0, 0.0], [0.0, 12.0]]
    x = torch.ones(2, 3)
    assert jacobian(lambda x: x.t() * 2, x).shape == (3, 2, 2, 3)
    assert jacobian(lambda x: x.sum(), x).shape == (2, 3)
    assert jacobian(lambda x: x**2, t(3.0)).shape == ()
    (row,) = jacobian(lambda a, b: (a * b,), (A, B))
    assert values(row) == ([[3.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 2.0]])
    assert values(jacobian(lambda a: (a**2, a.sum()), A)) == ([[2.0, 0.0], [0.0, 4.0]], [1.0, 1.0])


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "strategy": "forward-mode"}]
)
def test_ways_to_compute_a_jacobian(options):
    def f(a, b):
        return torch.stack([a[0] * b[1], (a * b).sum(), b[0].exp() * a[1]])

    da, db = jacobian(f, (A, B), **options)
    assert da.tolist() == [[4.0, 0.0], [3.0, 4.0], [0.0, pytest.approx(20.085537)]]
    assert db.tolist() == [[0.0, 1.0], [1.0, 2.0], [pytest.approx(40.171074), 0.0]]


@pytest.mark.parametrize(
    "options", [{}, {"vectorize": True}, {"vectorize": True, "outer_jacobian_strategy": "forward-mode"}]
)
def test_ways_to_compute_a_hessian(options):
    def f(x):
        return x[0] ** 2 * x[1] + x[1].exp()

    assert hessian(f, A, **options).tolist() == [[4.0, 2.0], [2.0, pytest.approx(7.389056)]]


def test_hessian_blocks():
    assert values(hessian(mixed, (A, B))) == (
        ([[6.0, 0.0], [0.0, 12.0]], [[1.0, 0.0], [0.0, 1.0]]),
        ([[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]),
    )
    assert hessian(lambda x: (x * 3).sum(), A).tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    "transform", [lambda f, x, **k: vjp(f, x, E0, **k)[1], lambda f, x, **k: jvp(f, x, E0, **k)[1], jacobian]
)
def test_create_graph(transform):
    x = A.clone().requires_grad_()
    assert not transform(cubes, x).requires_grad
    transform(cubes, x, create_graph=True).sum().backward()
    assert x.grad[0].item() == 6.0


def test_second_order_create_graph():
    x = A.clone().requires_grad_()
    hessian(lambda x: (x**4).sum(), x, create_graph=True).sum().backward()
    assert x.grad.tolist() == [24.0, 48.0]


def test_inputs_are_left_alone():
    c = t([1.0])
    seen = []
    vjp(lambda x: seen.append((x is c, x.requires_grad)) or x * 2, c, torch.ones(1))
    assert (seen, c.requires_grad, c.grad) == ([(False, True)], False, None)


CONSTANT = "Output 0 of the user-provided function does not require gradients."


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: vjp(cubes, A), RuntimeError, "The vector v can only be None if the user-provided function returns a single Tensor"),
        (lambda: jvp(cubes, A), RuntimeError, "The vector v can only be None if the input to the user-provided function is a single"),
        (lambda: vjp(cubes, A, torch.ones(3)), RuntimeError, r"v has invalid size: should be torch.Size\(\[2\]\) but got torch.Size\(\[3\]\)."),
        (lambda: jvp(mixed, (A, B), (A, torch.ones(3))), RuntimeError, "Entry 1 in v has invalid size"),
        (lambda: jvp(cubes, A, (A, A)), RuntimeError, "The given v should contain a single Tensor."),
        (lambda: jvp(mixed, (A, B), (A,)), RuntimeError, "v is a tuple of invalid length: should be 2 but got 1."),
        (lambda: vjp(lambda x: 3.0, A, A), TypeError, "The outputs of the user-provided function given to vjp must be either a Tensor"),
        (lambda: jacobian(cubes, [1.0]), TypeError, "The inputs given to jacobian must be either a Tensor or a tuple of Tensors but the given inputs"),
        (lambda: jacobian(lambda x: (x, 2), A), TypeError, "but the value at index 1 has type"),
        (lambda: hvp(cubes, A, A), RuntimeError, "The Tensor returned by the function given to hvp should contain a single element"),
        (lambda: hessian(lambda x: (x.sum(), x.sum()), A), RuntimeError, "The function given to hessian should return a single Tensor"),
        (lambda: hessian(cubes, A), RuntimeError, "The Tensor returned by the function given to hessian should contain a single element"),
        (lambda: jacobian(cubes, A, strategy="sideways"), AssertionError, 'Expected strategy to be either "forward-mode" or "reverse-mode"'),
        (lambda: jacobian(cubes, A, strategy="forward-mode"), NotImplementedError, "Computing Jacobian using forward-AD"),
        (lambda: jacobian(cubes, A, strategy="forward-mode", create_graph=True), NotImplementedError, "`create_graph=True`"),
        (lambda: jacobian(cubes, A, strict=True, vectorize=True), RuntimeError, "`strict=True` and `vectorized=True` are not supported"),
        (lambda: jacobian(lambda x: torch.ones(2), A, strict=True), RuntimeError, CONSTANT),
        (lambda: vjp(lambda x: torch.ones(2), A, A, strict=True), RuntimeError, CONSTANT),
        (lambda: jvp(lambda x: torch.ones(2), A, A, strict=True), RuntimeError, CONSTANT),
        (lambda: jacobian(lambda a, b: a * 2, (A, B), strict=True), RuntimeError, "Output 0 of the user-provided function is independent of input 1."),
        (lambda: vjp(lambda a, b: a * 2, (A, B), A, strict=True), RuntimeError, "The output of the user-provided function is independent of input 1."),
        (lambda: hessian(lambda x: (3 * x).sum(), A, strict=True), RuntimeError, "found that the jacobian of the user-provided function with respect to input 0 is independent"),
        (lambda: hvp(lambda x: (3 * x).sum(), A, A, strict=True), RuntimeError, "found that the jacobian of the user-provided function with respect to input 0"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_captured_input_is_another_variable():
    """What the function reaches on its own is a constant, even if it is the very tensor that was given."""
    x = torch.tensor([5.0], requires_grad=True)
    assert vjp(lambda t: t * x, x, torch.ones(1), create_graph=True)[1].tolist() == [5.0]
