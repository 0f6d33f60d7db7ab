"""The samples that PyTorch keeps to test its layers and optimizers, run through both libraries. Needs PyTorch and expecttest."""

import importlib.util
import warnings
from functools import cache
from unittest import mock

import numpy as np
import pytest
from graphs import nested
from recorded import PREFIX
from test_pytorchs_samples import (
    NEEDED,
    Call,
    UntranslatedError,
    assert_close,
    compare_derivatives,
    database,
    found,
    outcome,
    tensors,
    translated,
)

import autograd_lab
from tests.each import each

torch = pytest.importorskip("torch", reason="PyTorch is not installed: its samples are not there")

pytestmark = pytest.mark.skipif(importlib.util.find_spec("expecttest") is None, reason=NEEDED)

MANY = 24
"""So many samples of each layer are run, spread over all of them."""


@cache
def databases():
    """PyTorch's layers and optimizers: ({name: layer}, {name: optimizer})."""
    database()  # which makes PyTorch's samples quick
    with warnings.catch_warnings(), mock.patch("torch.backends.disable_global_flags"):
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_modules import module_db
        from torch.testing._internal.common_optimizers import optim_db
    return {m.name: m for m in module_db}, {o.optim_cls.__name__: o for o in optim_db}


def layers():
    """Those that are here."""
    return {
        name: m
        for name, m in databases()[0].items()
        if found(autograd_lab, "nn." + m.module_cls.__name__) is not None
    }


def optimizers():
    """Those that are here."""
    return {name: o for name, o in databases()[1].items() if hasattr(autograd_lab.optim, name)}


def test_all_of_pytorchs_layers_and_optimizers_are_among_them():
    assert layers().keys() == databases()[0].keys()
    assert databases()[1].keys() - optimizers().keys() == {"SparseAdam"}


def both_made(theirs, ours, made_with):
    """The layers that a sample's arguments make, in the same state; None if it has arguments that are not here.

    If they are refused, the errors instead.
    """
    known = {}
    try:
        args, kwargs = translated(made_with.args, known), translated(dict(made_with.kwargs), known)
    except UntranslatedError:
        return None
    if kwargs.pop("options", None) is not None or any(
        hasattr(a, "__module__") and a.__module__ is None for a in args
    ):
        return None  # of linear_cross_entropy; and an activation given as one of PyTorch's functions
    a, refused = outcome(theirs, *made_with.args, **made_with.kwargs)
    b, error = outcome(ours, *args, **kwargs)
    return a or refused, b or error


def same_state(a, b):
    """Give layer `b` the numbers of layer `a`."""
    for (name, x), (own, y) in zip(a.state_dict().items(), b.state_dict().items(), strict=True):
        assert name == own
        y.data.copy_(autograd_lab.tensor(x.detach().numpy().copy()))


def assert_same_errors(error, refused):
    assert type(error).__name__ == type(refused).__name__, f"PyTorch: {refused}"
    assert str(error)[:PREFIX] == str(refused)[:PREFIX]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("training", [True, False])
def test_layers(training):
    each(layers(), check_layer, training)


def check_layer(name, training):
    info = layers()[name]
    samples = info.module_inputs_func(
        info, device="cpu", dtype=torch.float64, requires_grad=True, training=training
    )
    compared = 0
    for sample in samples[:: -(-len(samples) // MANY)]:
        made = both_made(
            info.module_cls, found(autograd_lab, "nn." + info.module_cls.__name__), sample.constructor_input
        )
        given = sample.forward_input
        try:
            call = Call(given.args, given.kwargs)
        except UntranslatedError:
            continue
        if made is None:
            continue
        compared += 1
        a, b = made[0].double().train(training), made[1].double().train(training)
        if "Lazy" in name:  # there is no state before the first call
            assert repr(a) == repr(b)
            first = Call(given.args, given.kwargs)
            (_, refused), (_, error) = first.outcomes(a, b)
            assert refused is error is None
        same_state(a, b)
        assert repr(a) == repr(b)
        (theirs, refused), (ours, error) = call.outcomes(a, b)
        if refused is not None:
            assert_same_errors(error, refused)
            continue
        if error is not None:
            raise error
        theirs, ours = tensors(theirs), tensors(ours)
        assert len(theirs) == len(ours)
        for x, y in zip(theirs, ours, strict=True):
            assert_close(x, y, "result")
            assert x.requires_grad == y.requires_grad
            assert x.stride() == y.stride()
            assert nested(x.grad_fn) == nested(y.grad_fn)
        inputs = [*call.moving, *a.parameters()], [*call.own_moving, *b.parameters()]
        compare_derivatives(theirs, ours, *inputs, {"second", "steps"})
        for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True):
            assert_close(x, y, "state")
    assert compared, "nothing is compared"


@pytest.mark.filterwarnings("ignore")
def test_errors_of_layers():
    each([name for name, m in layers().items() if m.module_error_inputs_func], check_errors_of_layer)


def check_errors_of_layer(name):
    info = layers()[name]
    for case in info.module_error_inputs_func(
        info, device="cpu", dtype=torch.float32, requires_grad=False, training=False
    ):
        sample, known = case.module_error_input, {}
        made = both_made(
            info.module_cls, found(autograd_lab, "nn." + info.module_cls.__name__), sample.constructor_input
        )
        if made is None:
            continue
        a, b = made
        if not isinstance(a, Exception):
            given = sample.forward_input
            own = translated(given.args, known), translated(dict(given.kwargs), known)
            a, b = outcome(a, *given.args, **given.kwargs)[1], outcome(b, *own[0], **own[1])[1]
        assert_same_errors(b, a)


@pytest.mark.filterwarnings("ignore")
def test_optimizers():
    each(optimizers(), check_optimizer)


def check_optimizer(name):
    info = optimizers()[name]
    for sample in info.optim_inputs_func(device="cpu"):
        kwargs = dict(sample.kwargs)
        numbers = np.random.default_rng(0)
        starts = [numbers.standard_normal(shape) for shape in ((3, 4), (4,))]
        theirs = [torch.tensor(p, requires_grad=True) for p in starts]
        ours = [autograd_lab.tensor(p, requires_grad=True) for p in starts]
        a, refused = outcome(info.optim_cls, theirs, **kwargs)
        b, error = outcome(getattr(autograd_lab.optim, name), ours, **translated(kwargs, {}))
        if refused is not None:
            assert_same_errors(error, refused)
            continue
        assert str(a) == str(b)
        for _step in range(6):
            for p, q in zip(theirs, ours, strict=True):
                g = numbers.standard_normal(tuple(p.shape))
                p.grad, q.grad = torch.tensor(g), autograd_lab.tensor(g)
            for optimizer, params in ((a, theirs), (b, ours)):
                if info.step_requires_closure:
                    optimizer.step(lambda params=params: params[0].sum() + params[1].sum())
                else:
                    optimizer.step()
            for p, q in zip(theirs, ours, strict=True):
                assert_close(p, q, "parameter")
        for g, h in zip(a.state_dict()["param_groups"], b.state_dict()["param_groups"], strict=True):
            assert list(g) == list(h)
        own_state = b.state_dict()["state"]
        for key, state in a.state_dict()["state"].items():
            assert list(state) == list(own_state[key])
            for x, y in zip(state.values(), own_state[key].values(), strict=True):
                if isinstance(x, torch.Tensor) and isinstance(
                    y, autograd_lab.Tensor
                ):  # a step size may be a number here
                    assert_close(x, y, "state")


@pytest.mark.filterwarnings("ignore")
def test_errors_of_optimizers():
    each(optimizers(), check_errors_of_optimizer)


def check_errors_of_optimizer(name):
    info = optimizers()[name]
    for case in info.optim_error_inputs_func("cpu", torch.float32):
        sample, known = case.optimizer_error_input, {}
        _, refused = outcome(info.optim_cls, sample.params, **sample.kwargs)
        try:
            own = translated(sample.params, known), translated(dict(sample.kwargs), known)
        except UntranslatedError:
            continue
        _, error = outcome(getattr(autograd_lab.optim, name), own[0], **own[1])
        if refused is not None:  # one is a warning in this release
            assert_same_errors(error, refused)
