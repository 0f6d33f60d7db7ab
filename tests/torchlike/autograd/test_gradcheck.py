"""gradcheck and gradgradcheck: what passes, what fails, and why. Expectations from PyTorch 2.13.0."""

import pytest

import autograd_lab as torch
from autograd_lab.autograd import Function, gradcheck, gradgradcheck
from autograd_lab.autograd.function import once_differentiable
from autograd_lab.autograd.gradcheck import GradcheckError


def double(*values):
    return torch.tensor(list(values), dtype=torch.float64, requires_grad=True)


def make(forward, backward):
    return type(
        "F", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    ).apply


X = double(0.5, 2.0)
tripled = make(
    lambda ctx, x: (ctx.save_for_backward(x), x * x)[1], lambda ctx, g: 3 * ctx.saved_tensors[0] * g
)


@pytest.mark.parametrize(
    "options", [{}, {"fast_mode": True}, {"check_forward_ad": True}, {"check_batched_grad": True}]
)
def test_right_gradients_pass(options):
    assert gradcheck(
        lambda a, b, k: ((a * b).sin() @ a, a.cumsum(0) * k), (X, double(1.0, -1.0), 3), **options
    )
    assert gradgradcheck(lambda a: a.exp() * a, (X,))


def test_kinds_of_inputs():
    assert gradcheck(torch.sin, X)
    assert gradcheck(torch.mul, [X, X.detach().clone()])
    assert gradcheck(lambda x: x**3, (torch.tensor(2.0, dtype=torch.float64, requires_grad=True),))
    assert gradcheck(lambda x: x * 2, (torch.zeros(0, dtype=torch.float64, requires_grad=True),))
    assert gradcheck(lambda x: x.t() * 2, (torch.ones(2, 3, dtype=torch.float64, requires_grad=True).t(),))
    assert gradcheck(lambda x: (x * 2, x.detach() * 0), (X,))
    assert X.grad is None
    assert X.tolist() == [0.5, 2.0]


def test_the_message_shows_both_jacobians():
    with pytest.raises(GradcheckError) as error:
        gradcheck(tripled, (X,))
    assert isinstance(error.value, RuntimeError)
    assert str(error.value) == (
        "Jacobian mismatch for output 0 with respect to input 0,\n"
        "numerical:tensor([[1.0000, 0.0000],\n        [0.0000, 4.0000]], dtype=torch.float64)\n"
        "analytical:tensor([[1.5000, 0.0000],\n        [0.0000, 6.0000]], dtype=torch.float64)\n"
    )
    assert not gradcheck(tripled, (X,), raise_exception=False)


def test_fast_mode_fails_with_more_to_say():
    with pytest.raises(
        GradcheckError,
        match="(?s)Jacobian mismatch for output 0.*we recompute numerical and analytical jacobians in slow mode",
    ):
        gradcheck(tripled, (X,), fast_mode=True)


def test_which_output_and_input_are_wrong():
    f = make(lambda ctx, a, b: (a * 2, b * 3), lambda ctx, g, h: (g * 2, h))
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 1 with respect to input 1"):
        gradcheck(f, (double(1.0), double(1.0)))


def test_a_wrong_tangent():
    F = type(
        "F",
        (Function,),
        {
            "forward": staticmethod(lambda ctx, x: x * 2),
            "backward": staticmethod(lambda ctx, g: g * 2),
            "jvp": staticmethod(lambda ctx, v: v),
        },
    )
    assert gradcheck(F.apply, (X,))
    with pytest.raises(GradcheckError, match="Jacobian computed with forward mode mismatch for output 0"):
        gradcheck(F.apply, (X,), check_forward_ad=True)
    assert not gradcheck(F.apply, (X,), check_forward_ad=True, check_backward_ad=False, raise_exception=False)


def test_a_missing_dependence():
    for options in ({}, {"fast_mode": True}):
        with pytest.raises(GradcheckError, match="Numerical gradient for function expected to be zero"):
            gradcheck(lambda x: x.detach() * 2, (X,), **options)
    assert gradcheck(lambda x: torch.ones(2, dtype=torch.float64), (X,))


def test_backward_that_differs_from_run_to_run():
    runs = []
    flaky = make(lambda ctx, x: x * 1, lambda ctx, g: (runs.append(1), g * (1 + 1e-4 * len(runs)))[1])
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(flaky, (X,), atol=1.0)
    assert gradcheck(flaky, (X,), atol=1.0, nondet_tol=1.0)


def test_backward_must_scale_with_what_comes_in():
    constant = make(lambda ctx, x: x * 1, lambda ctx, g: torch.ones_like(g) if g.sum() == 0 else g)
    with pytest.raises(GradcheckError, match="backward not multiplied by grad_output"):
        gradcheck(constant, (double(1.0),))


def test_undefined_gradients():
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 1

    careless = make(forward, lambda ctx, g: torch.ones(2, dtype=torch.float64) if g is None else g)
    with (
        pytest.warns(UserWarning, match="New undefined gradient support checking"),
        pytest.raises(GradcheckError, match="Expected all input grads to be undefined or zero"),
    ):
        gradcheck(careless, (X,))
    assert gradcheck(careless, (X,), check_undefined_grad=False)


def test_dtypes_of_gradients():
    wrong = make(lambda ctx, x: x * 1, lambda ctx, g: g)
    assert gradcheck(wrong, (X,), check_grad_dtypes=True)


def test_inputs_that_make_no_sense():
    with pytest.raises(
        ValueError,
        match="gradcheck expects at least one input tensor to require gradient, but none of them have",
    ):
        gradcheck(torch.sin, (torch.ones(2, dtype=torch.float64),), raise_exception=False)
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0."):
        gradcheck(torch.sin, (torch.ones(1, dtype=torch.float64).expand(3).requires_grad_(),))
    with pytest.warns(
        UserWarning, match="Input #0 requires gradient and is not a double precision floating point"
    ):
        assert not gradcheck(torch.exp, (torch.tensor([1.0], requires_grad=True),), raise_exception=False)
    with pytest.raises(
        AssertionError, match="Expected at least one of check_forward_ad or check_backward_ad to be True"
    ):
        gradcheck(torch.sin, (X,), check_backward_ad=False)


def test_kinks():
    assert not gradcheck(torch.relu, (double(0.0),), raise_exception=False)
    assert gradcheck(torch.abs, (double(0.0),))  # both sides happen to say 0
    assert gradcheck(torch.square, (double(0.0),))


def test_gradgradcheck_finds_a_cut():
    f = make(
        lambda ctx, x: (ctx.save_for_backward(x), x**2)[1],
        lambda ctx, g: g * 2 * ctx.saved_tensors[0].detach(),
    )
    assert gradcheck(f, (X,))
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradgradcheck(f, (X,))
    once = make(
        lambda ctx, x: (ctx.save_for_backward(x), x**2)[1],
        once_differentiable(lambda ctx, g: g * 2 * ctx.saved_tensors[0]),
    )
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(once, (X,))


def test_gradgradcheck_arguments():
    assert gradgradcheck(torch.sin, (X,), (double(1.0, 0.5),))
    assert gradgradcheck(torch.sin, (X,), gen_non_contig_grad_outputs=True)
    assert gradgradcheck(torch.exp, (X,), check_fwd_over_rev=True)
