"""Anomaly mode: the first nan stops the pass, and every error says where its node was made. As PyTorch 2.13.0."""

import pytest

import autograd_lab as torch
from autograd_lab.autograd import Function, detect_anomaly, set_detect_anomaly


def leaf(*values):
    return torch.tensor(list(values), requires_grad=True)


def test_the_first_nan_stops_the_pass():
    x = leaf(0.0, 1.0)
    with set_detect_anomaly(True):
        y = x.sqrt() * 0
        with (
            pytest.warns(
                UserWarning,
                match=r"(?s)Error detected in SqrtBackward0. Traceback of forward call.*y = x.sqrt\(\) \* 0\n$",
            ),
            pytest.raises(
                RuntimeError, match="Function 'SqrtBackward0' returned nan values in its 0th output."
            ),
        ):
            y.sum().backward()
    assert x.grad is None


def test_a_forward_outside_the_mode():
    y = leaf(0.0).sqrt() * 0
    with (
        set_detect_anomaly(True),
        pytest.warns(
            UserWarning, match="Error detected in SqrtBackward0. No forward pass information available."
        ),
        pytest.raises(RuntimeError, match="returned nan values"),
    ):
        y.backward()


def test_infinities_and_unwanted_gradients_pass():
    x = leaf(0.0)
    with set_detect_anomaly(True):
        x.log().backward()
        ((x * 1) / torch.zeros(1)).backward()  # nan only for the constant
    assert x.grad.tolist() == [float("inf")]


def test_check_nan_off_still_explains_errors():
    class F(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("mine")

    with set_detect_anomaly(True, check_nan=False):
        (leaf(0.0).sqrt() * 0).backward()
        with (
            pytest.warns(UserWarning, match="Error detected in FBackward."),
            pytest.raises(ValueError, match="mine"),
        ):
            F.apply(leaf(1.0)).backward()


def test_hooks_are_part_of_their_node():
    with set_detect_anomaly(True):
        y = leaf(1.0) * 2
        y.grad_fn.register_hook(lambda gi, go: (gi[0] * float("nan"), None))
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(RuntimeError, match="'MulBackward0' returned nan"),
        ):
            y.backward()
        y = leaf(1.0) * 2
        y.register_hook(lambda g: 1 / 0)
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(ZeroDivisionError),
        ):
            y.backward()


def test_second_order_names_both_places():
    x = leaf(0.0, 1.0)
    with set_detect_anomaly(True):
        (g,) = torch.autograd.grad((x**1.5).sum(), x, create_graph=True)
        with (
            pytest.warns(
                UserWarning,
                match="\n\nPrevious calculation was induced by PowBackward0. Traceback of forward call that induced",
            ),
            pytest.warns(UserWarning, match="Error detected in PowBackward0."),
            pytest.raises(RuntimeError, match="returned nan"),
        ):
            torch.autograd.grad((g * torch.tensor([0.0, 1.0])).sum(), x, create_graph=True)


def test_the_hint_of_in_place_errors_changes():
    with set_detect_anomaly(True):
        h = leaf(1.0) * 1
        y = h * h
        h.add_(1)
        with (
            pytest.warns(UserWarning, match="Error detected in MulBackward0"),
            pytest.raises(RuntimeError, match="Good luck!"),
        ):
            y.backward()


def test_switching():
    with pytest.warns(UserWarning, match="Anomaly Detection has been enabled."):
        mode = detect_anomaly(check_nan=False)
    with mode:
        assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (True, False)
        with set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    assert (torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()) == (False, True)


def test_metadata():
    with set_detect_anomaly(True):
        fn = (leaf(1.0) * 2).grad_fn
    assert list(fn.metadata) == ["traceback_"]
    assert "fn = (leaf(1.0) * 2).grad_fn" in fn.metadata["traceback_"][-1]
    assert "traceback_" in fn.next_functions[0][0].metadata
