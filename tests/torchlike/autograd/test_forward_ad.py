"""Dual numbers. Expectations from PyTorch 2.13.0; each rule's tangent is also checked against differences."""

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab.autograd import Function, forward_ad
from autograd_lab.autograd.forward_ad import dual_level, make_dual, unpack_dual

X, V = torch.tensor([1.0, 2.0]), torch.tensor([1.0, -1.0])


def tangent(y):
    value = unpack_dual(y).tangent
    return None if value is None else value.tolist()


def test_a_dual_number():
    x = X.clone().requires_grad_()
    with dual_level() as level:
        d = make_dual(x, V)
        assert (level, forward_ad._current_level) == (0, 0)
        assert (d.requires_grad, type(d.grad_fn).__name__, d._is_view(), d._base is x) == (
            True,
            "ViewBackward0",
            True,
            True,
        )
        pair = unpack_dual(d)
        assert pair._fields == ("primal", "tangent")
        assert pair.tangent is V
        assert (pair.primal.tolist(), pair.primal.grad_fn.name()) == ([1.0, 2.0], "torch::autograd::Identity")
        assert tangent(d.detach()) is None
        assert tangent(x) is None
    assert unpack_dual(d) == (d, None)
    assert forward_ad._current_level == -1


def test_as_a_decorator():
    @dual_level()
    def f():
        return tangent(make_dual(X, V) * 2)

    assert f() == [2.0, -2.0]


def in_level(call):
    def inside():
        with dual_level():
            call()

    return inside


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: make_dual(X, V), RuntimeError, "Trying to create a dual Tensor for forward AD but no level exists"),
        (lambda: forward_ad.exit_dual_level(), RuntimeError, "Dual level must be a positive number."),
        (in_level(lambda: forward_ad.enter_dual_level()), RuntimeError, "Nested forward mode AD is not supported at the moment"),
        (in_level(lambda: forward_ad.exit_dual_level(level=3)), RuntimeError, "Trying to exit a forward AD level that was not the last"),
        (in_level(lambda: make_dual(X, torch.ones(3))), RuntimeError, "Trying to set a forward gradient that has a different size than that of"),
        (in_level(lambda: make_dual(torch.tensor([1]), V)), ValueError, "Expected primal to be floating point or complex, but got: torch.int64"),
        (in_level(lambda: make_dual(X, torch.tensor([1, 2]))), ValueError, "Expected tangent to be floating point or complex, but got: torch.int64"),
        (in_level(lambda: make_dual(make_dual(X, V), V)), RuntimeError, "Making a dual Tensor based on a Tensor that already has a forward gradient"),
        (in_level(lambda: make_dual(X, make_dual(X, V))), RuntimeError, "Setting a forward grad that itself has a forward gradient"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_a_level_ends_after_an_error():
    with pytest.raises(ZeroDivisionError), dual_level():
        1 / 0  # noqa: B018
    assert forward_ad._current_level == -1


# -- in place -----------------------------------------------------------------------------------------


def test_writing_to_a_dual_writes_to_the_tangent_given():
    v = V.clone()
    with dual_level():
        d = make_dual(X.clone(), v)
        d.mul_(2)
        assert tangent(d) == [2.0, -2.0]
    assert v.tolist() == [2.0, -2.0]


def test_writing_to_a_copy_does_not():
    with dual_level():
        c = make_dual(X, V).clone()
        c.mul_(2)
        assert (tangent(c), V.tolist()) == ([2.0, -2.0], [1.0, -1.0])


def test_families_of_views():
    with dual_level():
        base = make_dual(X, V).clone()
        first, second = base[:1], base[1:]
        first.mul_(10)
        assert (tangent(base), tangent(first), tangent(second)) == ([10.0, -1.0], [10.0], [-1.0])
        base.mul_(2)
        assert (tangent(first), tangent(second)) == ([20.0], [-2.0])


def test_a_plain_tensor_becomes_dual_by_writing():
    with dual_level():
        plain = torch.zeros(3)
        left, right = plain[:2], plain[1:]
        left.copy_(make_dual(X, V))
        assert (tangent(plain), tangent(right)) == ([1.0, -1.0, 0.0], [-1.0, 0.0])
        plain[2] = make_dual(X, V)[0]
        assert tangent(plain) == [1.0, -1.0, 1.0]
        plain.zero_()
        assert tangent(plain) == [0.0, 0.0, 0.0]


# -- with the other mode ------------------------------------------------------------------------------


def test_reverse_over_forward():
    x = X.clone().requires_grad_()
    with dual_level():
        y = (make_dual(x, V) ** 3).sum()
        push = unpack_dual(y).tangent
    assert push.item() == -9.0
    assert torch.autograd.grad(push, x)[0].tolist() == [6.0, -12.0]


@pytest.mark.parametrize("create_graph", [True, False])
@pytest.mark.parametrize(("f", "hv"), [(lambda x: x**3, [6.0, -12.0]), (torch.exp, [2.718282, -7.389056])])
def test_forward_over_reverse(f, hv, create_graph):
    x = X.clone().requires_grad_()
    with dual_level():
        d = make_dual(x, V)
        (g,) = torch.autograd.grad(f(d).sum(), d, create_graph=create_graph)
        assert tangent(g) == pytest.approx(hv, rel=1e-5)


def test_modes():
    with dual_level():
        d = make_dual(X, V)
        with torch.no_grad():
            assert tangent(d * d) == [2.0, -4.0]
        with torch.inference_mode():
            assert tangent(d * d) is None
        assert tangent(d > 1) is None


# -- custom functions ---------------------------------------------------------------------------------


def make(forward, jvp):
    return type("F", (Function,), {"forward": staticmethod(forward), "jvp": staticmethod(jvp)})


def test_a_custom_jvp():
    seen = []

    def forward(ctx, x, k, c):
        ctx.save_for_forward(x)
        ctx.save_for_backward(c)
        ctx.k = k
        return x * x * k + c, x.long()

    def jvp(ctx, v, k, w):
        seen.append((k, w.tolist()))
        return 2 * ctx.saved_tensors[0] * v * ctx.k, None

    with dual_level():
        y, _ = make(forward, jvp).apply(make_dual(X, V), 3.0, torch.ones(2))
        assert tangent(y) == [6.0, -12.0]
    assert seen == [(None, [0.0, 0.0])]


@pytest.mark.parametrize(
    ("forward", "jvp", "text"),
    [
        (lambda ctx, x: (x * 2, x * 3), lambda ctx, v: v, r"returned an invalid number of forward gradients \(expected 2 but got 1\)"),
        (lambda ctx, x: x * 2, lambda ctx, v: 3.0, r"expected Variable or None \(got float\) for grad output 0."),
        (lambda ctx, x: x * 2, lambda ctx, v: torch.ones(3), "Trying to set a forward gradient that has a different size"),
        (lambda ctx, x: x, lambda ctx, v: v, "forward is returning a view .or an input as-is. but the jvp is not returning a view."),
        (lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, v: v * 2, "is not modifying the forward mode gradients inplace."),
    ],
)  # fmt: skip
def test_errors_of_a_custom_jvp(forward, jvp, text):
    with dual_level(), pytest.raises(RuntimeError, match=text):
        make(forward, jvp).apply(make_dual(X, V) * 1)


def test_a_missing_jvp_matters_only_with_duals():
    F = type("F", (Function,), {"forward": staticmethod(lambda ctx, x: x * 2)})
    with dual_level():
        assert tangent(F.apply(X)) is None
        with pytest.raises(
            NotImplementedError, match="You must implement the jvp function for custom autograd.Function"
        ):
            F.apply(make_dual(X, V))


def test_in_place_and_view_jvps():
    with dual_level():
        d = make_dual(X, V) * 1
        make(lambda ctx, x: (ctx.mark_dirty(x), x.mul_(2))[1], lambda ctx, v: v.mul_(2)).apply(d)
        assert tangent(d) == [2.0, -2.0]
        assert tangent(make(lambda ctx, x: x[:1], lambda ctx, v: v[:1]).apply(d)) == [2.0]


# -- every kind of rule -------------------------------------------------------------------------------

F = torch.nn.functional


def written(a, b):
    out = a.clone()
    out[1:, :2].mul_(b[1:, :2])
    out[0] = b[0]
    out[torch.tensor([0, 2])] = b[:2]
    return out


OPERATIONS = {
    "pointwise": lambda a, b: (a * b).sin() / (a + 1) - a**b + 2**a,
    "broadcast": lambda a, b: a * b[0] + a[:, :1],
    "reductions": lambda a, b: torch.stack([a.sum(), a.mean(), a.var(), a.norm(), a.prod(), a.amax(), a.logsumexp((0, 1))]),
    "dims": lambda a, b: a.sum(0) * a.std(0) * a.cumsum(0)[1] * b.cumprod(0)[2],
    "products": lambda a, b: a @ b.t() + torch.einsum("ij,kj->ki", a, b),
    "shapes": lambda a, b: torch.cat([a.t().reshape(3, 4), b.unsqueeze(0)[0]], 1).roll(1, 0).flip(0).permute(1, 0),
    "indexing": lambda a, b: a[torch.tensor([0, 0, 2])] * b[:, 1:2] + a.gather(1, torch.tensor([[0], [1], [2]])),
    "masks": lambda a, b: torch.where(a > b, a * 2, b).masked_fill(a > 0.8, 0.0)[a > 0.3],
    "selection": lambda a, b: a.sort(1).values * b.topk(4, 1).values + a.max(0).values,
    "activations": lambda a, b: F.gelu(a) + F.softplus(b) + torch.sigmoid(a) * F.relu(b - 0.5) + F.silu(a),
    "softmax": lambda a, b: a.softmax(1) * b.log_softmax(0),
    "losses": lambda a, b: F.mse_loss(a, b) + F.cross_entropy(a, torch.tensor([0, 1, 2])),
    "normalization": lambda a, b: F.layer_norm(a, (4,)) * b,
    "in place": written,
    "several": lambda a, b: a.unbind(1)[0] + b.split(2, 1)[1][:, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
def test_tangents_agree_with_differences(name):
    rng = np.random.default_rng(3)
    a, b, v, w = (torch.tensor(rng.uniform(0.2, 0.9, (3, 4))) for _ in range(4))
    f = OPERATIONS[name]
    h = 1e-6
    want = (np.asarray(f(a + h * v, b + h * w).tolist()) - np.asarray(f(a - h * v, b - h * w).tolist())) / (
        2 * h
    )
    with dual_level():
        got = np.asarray(tangent(f(make_dual(a, v), make_dual(b, w))))
        only_a = np.asarray(tangent(f(make_dual(a, v), b)))
        only_b = np.asarray(tangent(f(a, make_dual(b, w))) or np.zeros_like(got))
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        only_a + only_b, got, rtol=1e-9, atol=1e-12
    )  # the derivative is linear in the direction


TURNED = {
    "t_": ((2, 3), lambda y: y.t_()),
    "transpose_": ((2, 1, 3), lambda y: y.transpose_(0, 2)),
    "swapaxes_": ((2, 1, 3), lambda y: y.swapaxes_(0, 1)),
    "squeeze_": ((2, 1, 3), lambda y: y.squeeze_()),
    "squeeze_ dim": ((2, 1, 3), lambda y: y.squeeze_(1)),
    "unsqueeze_": ((2, 3), lambda y: y.unsqueeze_(1)),
    "two": ((2, 1, 3), lambda y: y.squeeze_(1).t_()),
}


@pytest.mark.parametrize("name", TURNED)
@pytest.mark.parametrize("start", ["dual", "computed", "view"])
def test_a_tensor_that_takes_another_shape_takes_its_tangent_along(name, start):
    """Written to afterwards, whole or in part, the tangent follows in the new shape."""
    shape, turn = TURNED[name]
    x = torch.arange(6.0).reshape(shape)
    with dual_level():
        y = make_dual(x, x * 10)
        y = {"dual": y, "computed": y.clone(), "view": y.view(shape)}[start]
        z = turn(y)
        assert z is y
        assert tangent(z) == (z * 10).tolist()
        z.mul_(2)
        z[0].add_(1)
        assert (
            tangent(z * z)
            == (z * 20 * (z - torch.zeros_like(z).index_fill_(0, torch.tensor([0]), 1.0))).tolist()
        )
