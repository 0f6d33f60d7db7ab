"""lab.why on what learners write: for each cause its id, its key words, and the exact lines it points at."""

import ast
import contextlib
import inspect
import linecache
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.autograd import Function
from autograd_lab.tracing import Trace, recorder
from autograd_lab.tracing.why import CAUSES, Why


def leaf(*values):
    return torch.tensor(values[0] if len(values) == 1 else list(values), requires_grad=True)


def check(answer, cause, *lines, words=()):
    """The answer names this cause, these lines in this order, and says these words."""
    assert answer.cause == cause, answer
    assert [line.text for line in answer.lines] == list(lines), answer
    for line in answer.lines:
        assert line.source == "test_why.py"
        assert linecache.getline(__file__, line.number).strip() == line.text
    caller = inspect.stack()[1]
    first = caller.frame.f_code.co_firstlineno
    assert all(first <= line.number <= caller.lineno for line in answer.lines), "lines of another test"
    text = " ".join((*answer.sentences, answer.fix))
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
    assert answer.question in repr(answer)


# -- the tensor itself --------------------------------------------------------------------------------


def test_requires_grad_never_set():
    w = torch.zeros(2)  # what w was before is not what is asked about
    with lab.record():
        w = torch.tensor([1.0, 2.0])
        x = leaf(3.0, 4.0)
        loss = (w * x).sum()
        loss.backward()
    check(
        lab.why(w), "requires-grad-never-set", "w = torch.tensor([1.0, 2.0])", "loss = (w * x).sum()",
        words=["w does not require a gradient", "w.requires_grad_()"],
    )  # fmt: skip


def test_requires_grad_never_set_of_anything():
    with pytest.raises(RuntimeError, match="does not require grad"), lab.record():
        w = torch.ones(2)
        loss = (w * 2).sum()
        loss.backward()
    check(
        lab.why(loss),
        "requires-grad-never-set",
        "loss = (w * 2).sum()",
        words=["none of that requires a gradient"],
    )


def test_requires_grad_too_late():
    x = torch.tensor(3.0)
    with pytest.raises(RuntimeError, match="does not require grad"), lab.record():
        y = x * x
        x.requires_grad_()
        y.backward()
    check(
        lab.why(x),
        "requires-grad-too-late",
        "y = x * x",
        "x.requires_grad_()",
        words=["used before it required grad"],
    )


def test_integers():
    with lab.record():
        n = torch.tensor([1, 2, 3])
        w = leaf(1.0, 1.0, 1.0)
        (n * w).sum().backward()
    check(lab.why(n), "integer-tensor", "n = torch.tensor([1, 2, 3])", words=["int64", "n.float()"])


def test_frozen():
    model = torch.nn.Linear(2, 1)
    with lab.record():
        out = model(torch.ones(1, 2))
        model.weight.requires_grad_(False)
        model(out.expand(1, 2)).sum().backward()
    check(
        lab.why("model.weight"),
        "frozen",
        "model.weight.requires_grad_(False)",
        words=["since `model.weight.requires_grad_(False)` switched that off"],
    )


def test_not_a_leaf():
    x = leaf(3.0)
    with lab.record():
        y = x * x
        z = y + 1
        z.backward()
    check(lab.why(y), "not-leaf", "y = x * x", words=["not a leaf", "y.retain_grad()", "passed through it"])


def test_retain_grad_too_late():
    x = leaf(3.0)
    with lab.record():
        y = x * x
        z = y + 1
        z.backward()
        y.retain_grad()
    check(lab.why(y), "retain-too-late", "z.backward()", "y.retain_grad()", words=["before backward()"])


def test_the_name_was_given_to_a_computed_tensor():
    w = leaf(3.0)
    lr = 0.1
    with lab.record():
        for _ in range(2):
            loss = w * w
            loss.backward()
            if w.is_leaf:
                w = w - lr * w.grad
    check(
        lab.why(w),
        "overwritten",
        "w = leaf(3.0)",
        "w = w - lr * w.grad",
        words=["not a leaf", "no_grad", "w -= lr"],
    )


def test_a_conversion_made_another_tensor():
    with lab.record():
        w = torch.ones(2, requires_grad=True)
        x = torch.ones(2) * w
        w = w.double()
        (w * 2).sum().backward()
    assert x.requires_grad
    check(
        lab.why(w),
        "overwritten",
        "w = torch.ones(2, requires_grad=True)",
        "w = w.double()",
        words=["new tensor"],
    )


def test_an_update_under_no_grad_made_another_tensor():
    w = leaf(3.0)
    with lab.record():
        loss = w * w
        loss.backward()
        with torch.no_grad():
            w = w - 0.1 * w.grad
    check(
        lab.why(w), "overwritten-no-grad", "w = leaf(3.0)", "with torch.no_grad():", "w = w - 0.1 * w.grad",
        words=["does not require a gradient", "in place"],
    )  # fmt: skip


def test_the_leaf_has_no_name():
    with lab.record():
        w = torch.ones(3, requires_grad=True) * 0.1
        loss = (w * w).sum()
        loss.backward()
    check(
        lab.why(w),
        "leaf-without-name",
        "w = torch.ones(3, requires_grad=True) * 0.1",
        words=["leaf has no name"],
    )


def test_a_gradient_without_create_graph():
    x = leaf(2.0)
    with pytest.raises(RuntimeError, match="does not require grad"), lab.record():
        y = x**3
        (dy,) = torch.autograd.grad(y, x)
        dy.backward()
    check(
        lab.why(x), "gradient-without-graph", "(dy,) = torch.autograd.grad(y, x)", "dy.backward()",
        words=["create_graph=True", "dy"],
    )  # fmt: skip


def test_a_new_leaf_of_the_same_name():
    w = leaf(3.0)
    with lab.record():
        loss = w * w
        loss.backward()
        w = (w - 0.1 * w.grad).detach()
        w.requires_grad_()
    check(
        lab.why(w), "new-leaf", "loss.backward()", "w = (w - 0.1 * w.grad).detach()", words=["made after the pass", "had been there before"]
    )  # fmt: skip


def test_frozen_in_a_loop_before_it_was_used():
    model = torch.nn.Linear(2, 1)
    with lab.record():
        for parameter in model.parameters():
            parameter.requires_grad = False
        x = torch.ones(1, 2, requires_grad=True)
        model(x).sum().backward()
    check(lab.why(model.weight), "frozen", "parameter.requires_grad = False")


# -- the way from the loss ----------------------------------------------------------------------------


def test_detached():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x * x
        h = h.detach()
        loss = h * w
        loss.backward()
    check(
        lab.why(x),
        "detached",
        "h = h.detach()",
        "loss.backward()",
        words=["loss was computed from x", "history"],
    )


def test_detached_in_place():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x * x
        h.detach_()
        loss = h * w
        loss.backward()
    check(lab.why(x), "detached-in-place", "h.detach_()", "loss.backward()", words=["detach_()"])


def test_data():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x * x
        loss = h.data * w
        loss.backward()
    check(lab.why(x), "data", "loss = h.data * w", "loss.backward()", words=[".data"])


def test_no_grad():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        with torch.no_grad():
            h = x * x
        loss = h * w
        loss.backward()
    check(lab.why(x), "no-grad", "with torch.no_grad():", "h = x * x", "loss.backward()", words=["no_grad"])


def test_no_grad_around_everything():
    x = leaf(2.0)
    with pytest.raises(RuntimeError, match="does not require grad"), lab.record():
        with torch.no_grad():
            loss = x * x
        loss.backward()
    check(lab.why(x), "no-grad", "with torch.no_grad():", "loss = x * x", words=["move the line out"])


def test_inference_mode():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        with torch.inference_mode():
            h = x * x
        loss = h + w
        loss.backward()
    check(
        lab.why(x), "inference-mode", "with torch.inference_mode():", "h = x * x", "loss.backward()", words=["inference mode"]
    )  # fmt: skip


def test_copied_by_tensor():
    a, b, w = leaf(2.0), leaf(3.0), leaf(1.0, 1.0)
    with warnings.catch_warnings(), lab.record():
        warnings.simplefilter("ignore")
        pair = torch.tensor([a * 2, b * 2])
        loss = (pair * w).sum()
        loss.backward()
    check(lab.why(a), "copied", "pair = torch.tensor([a * 2, b * 2])", "loss.backward()", words=["stack"])


def test_item():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        scale = (x * 3.5).item()
        loss = w * scale
        loss.backward()
    check(
        lab.why(x), "item", "scale = (x * 3.5).item()", "loss = w * scale", "loss.backward()",
        words=["plain number", "only to print"],
    )  # fmt: skip


def test_item_and_then_python():
    """What Python makes of the number is not seen, so only where it left is said."""
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        y = x * 3.5
        scale = y.item() ** 2 + 1
        loss = w * scale
        loss.backward()
    check(lab.why(x), "item", "scale = y.item() ** 2 + 1", "loss.backward()", words=["does not contain x"])


def test_numpy():
    x, w = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with lab.record():
        y = (x * 2).detach()
        z = torch.from_numpy(np.exp(y.numpy()))
        loss = (z * w).sum()
        loss.backward()
    check(lab.why(x), "numpy", "z = torch.from_numpy(np.exp(y.numpy()))", "loss.backward()", words=["NumPy"])


def test_argmax():
    scores, w = leaf(1.0, 5.0, 2.0), leaf(1.0)
    with lab.record():
        best = scores.argmax()
        loss = best * w
        loss.backward()
    check(lab.why(scores), "no-derivative", "best = scores.argmax()", "loss.backward()", words=["softmax"])


def test_an_error_that_was_caught_is_still_the_reason():
    scores = leaf(1.0, 5.0, 2.0)
    with lab.record():
        best = scores.argmax()
        loss = (best.float() - 2) ** 2
        with contextlib.suppress(RuntimeError):
            loss.backward()
    check(lab.why(scores), "no-derivative", "best = scores.argmax()", words=["argmax", "int64"])


def test_a_comparison():
    x, w = leaf(1.0, 5.0), leaf(1.0, 1.0)
    with lab.record():
        right = (x > 2).float()
        loss = (right * w).mean()
        loss.backward()
    check(
        lab.why(x),
        "no-derivative",
        "right = (x > 2).float()",
        "loss.backward()",
        words=["no derivative", "sigmoid"],
    )


def test_backward_of_a_python_number():
    w = leaf(3.0)
    with pytest.raises(AttributeError), lab.record():
        y = w * 3
        loss = y.item()
        loss.backward()
    check(lab.why(w), "item", "loss = y.item()", "loss.backward()", words=["out of y", "no graph behind it"])


def test_a_layer_that_was_never_called():
    used, forgotten = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
    with lab.record():
        used(torch.ones(1, 2)).sum().backward()
    answer = lab.why(forgotten.weight)
    check(
        answer, "unused", "used(torch.ones(1, 2)).sum().backward()", words=["forgotten.weight does not occur"]
    )


def test_unused():
    w = leaf(1.0)
    with lab.record():
        b = torch.zeros(1, requires_grad=True)
        loss = w * 2
        loss.backward()
        b + 1
    check(
        lab.why(b),
        "unused",
        "b = torch.zeros(1, requires_grad=True)",
        "loss.backward()",
        words=["None, not zero"],
    )


def test_another_graph():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x * x
        g = w * w
        loss = g + 1
        loss.backward()
    assert h.requires_grad
    check(
        lab.why(x),
        "not-connected",
        "h = x * x",
        "loss = g + 1",
        "loss.backward()",
        words=["different graphs"],
    )


def test_two_cuts():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x.detach().requires_grad_()
        with torch.no_grad():
            k = h * 2
        loss = k * w
        loss.backward()
    check(
        lab.why(x), "detached", "h = x.detach().requires_grad_()", "with torch.no_grad():", "k = h * 2", "loss.backward()",
        words=["cut 2 times"],
    )  # fmt: skip


def test_the_way_with_the_fewest_cuts_is_shown():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        a = x.detach().requires_grad_()
        b = a.detach()
        c = x.data
        loss = (b + c) * w
        loss.backward()
    check(lab.why(x), "data", "c = x.data", "loss.backward()")


# -- the backward pass --------------------------------------------------------------------------------


def test_a_chain_of_computed_tensors_of_one_name_has_no_leaf_to_blame():
    x = leaf(2.0)
    with lab.record():
        h = x * 1
        for _ in range(3):
            h = h * 2
        h.backward()
    check(lab.why(h), "not-leaf", "h = h * 2", words=["h is not a leaf"])


def test_backward_never_called():
    x = leaf(2.0)
    with lab.record():
        loss = x * x
    check(lab.why(x), "backward-never-called", "loss = x * x", words=["nobody called backward()"])
    assert "loss.backward()" in lab.why(x, loss).fix


def test_autograd_grad():
    x = leaf(2.0)
    with lab.record():
        loss = x * x
        torch.autograd.grad(loss, x)
    check(lab.why(x), "autograd-grad", "torch.autograd.grad(loss, x)", words=["returns the gradients"])


def test_inputs_left_out():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        loss = x * w
        loss.backward(inputs=[w])
    check(lab.why(x), "inputs-left-out", "loss.backward(inputs=[w])", words=["add x to inputs"])


def test_cleared_by_zero_grad():
    w = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with lab.record():
        loss = (w * w).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    check(
        lab.why(w),
        "cleared",
        "loss.backward()",
        "optimizer.zero_grad()",
        words=["set to None by zero_grad", "[2, 4]"],
    )


def test_set_to_zero():
    w = leaf(1.0, 2.0)
    with lab.record():
        loss = (w * w).sum()
        loss.backward()
        w.grad.zero_()
    check(lab.why(w), "cleared", "loss.backward()", "w.grad.zero_()", words=["set to zero by zero_"])


class Forgetful(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return None


def test_a_function_that_returns_none():
    x = leaf(2.0)
    with lab.record():
        y = Forgetful.apply(x)
        y.backward()
    check(lab.why(x), "function-none", "y = Forgetful.apply(x)", words=["returned None for x"])


def test_a_function_that_returns_none_though_asked_for():
    x = leaf(2.0)
    with lab.record():
        y = Forgetful.apply(x)
        y.backward(inputs=[x])
    check(lab.why(x), "function-none", "y = Forgetful.apply(x)")


# -- the pass failed ----------------------------------------------------------------------------------


def test_freed_graph():
    x = leaf(2.0)
    with pytest.raises(RuntimeError, match="second time"), lab.record():
        loss = x * x
        loss.backward()
        x.grad = None
        loss.backward()
    answer = lab.why(x)
    check(
        answer,
        "freed-graph",
        "loss = x * x",
        "loss.backward()",
        "loss.backward()",
        words=["retain_graph=True"],
    )
    assert answer.lines[1].number < answer.lines[2].number


def test_hidden_state_carried_over():
    w = leaf(0.5)
    h = torch.tensor(1.0)
    with pytest.raises(RuntimeError, match="second time"), lab.record():
        for _ in range(2):
            h = h * w
            loss = h * h
            loss.backward()
    answer = lab.why(w)
    check(answer, "carried-over", "h = h * w", "loss.backward()", words=["h = h.detach()", "old one"])


def test_an_in_place_write_names_both_lines():
    x = leaf(2.0)
    with pytest.raises(RuntimeError, match="inplace"), lab.record():
        y = x.exp()
        y += 1
        y.backward()
    check(
        lab.why(x), "inplace-saved", "y = x.exp()", "y += 1", "y.backward()",
        words=["saved y", "add_ wrote over it", "y = y + ...", "version 0"],
    )  # fmt: skip


def test_an_in_place_write_through_a_view():
    x = leaf(2.0, 3.0)
    with pytest.raises(RuntimeError, match="inplace"), lab.record():
        y = x * 1
        z = y * y
        first = y[0]
        first.mul_(10)
        first.add_(1)
        z.sum().backward()
    check(lab.why(x), "inplace-saved", "z = y * y", "first.mul_(10)", "z.sum().backward()", words=["mul_"])


def test_the_optimizer_stepped_too_early():
    w = torch.nn.Parameter(torch.tensor(2.0))
    optimizer = torch.optim.SGD([w], lr=0.1)
    with pytest.raises(RuntimeError, match="inplace"), lab.record():
        first = w * w
        second = w * w * w
        first.backward()
        optimizer.step()
        optimizer.zero_grad()
        second.backward()
    check(
        lab.why(w), "optimizer-too-early", "second = w * w * w", "optimizer.step()", "second.backward()", words=["SGD", "step()"]
    )  # fmt: skip


def test_a_leaf_written_in_place():
    w = leaf(2.0)
    with pytest.raises(RuntimeError, match="in-place"), lab.record():
        loss = w * w
        loss.backward()
        w.grad = None
        w -= 0.1
    check(lab.why(w), "inplace-leaf", "w -= 0.1", words=["torch.no_grad()"])


def test_backward_of_several_numbers():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="scalar"), lab.record():
        y = x * x
        y.backward()
    check(lab.why(x), "loss-not-scalar", "y.backward()", words=["[2]", ".sum()"])


def test_any_other_error():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError), lab.record():
        y = x * 2
        z = y @ torch.ones(3)
        z.backward()
    check(lab.why(x), "failed", "z = y @ torch.ones(3)", words=["RuntimeError"])


# -- nan and inf --------------------------------------------------------------------------------------


def test_nan_in_the_data():
    w = leaf(1.0, 1.0)
    with lab.record():
        x = torch.tensor([1.0, float("nan")])
        loss = (w * x).sum()
        loss.backward()
    check(
        lab.why(w),
        "nan-input",
        'x = torch.tensor([1.0, float("nan")])',
        "loss = (w * x).sum()",
        words=["x came in with nan"],
    )


def test_nan_born_forward():
    w = leaf(1.0, -1.0)
    with lab.record():
        y = w.log()
        loss = y.sum()
        loss.backward()
        w.grad += float("nan")
    check(lab.why(w), "grad-edited", "loss.backward()", 'w.grad += float("nan")')
    w.grad = None
    with lab.record():
        p = w * 2
        q = (p - p) / (p - p)
        loss = q.sum()
        loss.backward()
    check(
        lab.why(w), "nan-forward", "q = (p - p) / (p - p)", "loss.backward()", words=["0 / 0 is nan", "div"]
    )


def test_nan_born_backward():
    x = leaf(0.0, 0.0)
    with lab.record():
        squares = (x * x).sum()
        length = squares.sqrt()
        length.backward()
    check(
        lab.why(x), "nan-backward", "squares = (x * x).sum()", "length = squares.sqrt()",
        words=["SqrtBackward0", "infinite at x = 0", "multiplies inf by 0", "loss is finite"],
    )  # fmt: skip


def test_inf_born_backward():
    x = leaf(0.0)
    with lab.record():
        y = x.sqrt()
        y.backward()
    answer = lab.why(x)
    check(answer, "nan-backward", "y = x.sqrt()", words=["into inf"])
    assert answer.question == "Why is x.grad inf?"


def test_where_does_not_protect():
    x = leaf(0.0, 4.0)
    with lab.record():
        root = x.sqrt()
        safe = torch.where(x > 0, root, 0.0)
        loss = safe.sum()
        loss.backward()
    check(
        lab.why(x), "nan-where", "root = x.sqrt()", "safe = torch.where(x > 0, root, 0.0)", words=["0 * inf is nan", "before the operation"]
    )  # fmt: skip


def test_nothing_is_hidden_where_a_root_is_squared():
    x = leaf(0.0, 4.0)
    with lab.record():
        root = x.sqrt()
        double = root * 2
        loss = (double * double).sum()
        loss.backward()
    check(lab.why(x), "nan-backward", "root = x.sqrt()", words=["infinite at x = 0"])


@pytest.mark.parametrize("hide", [lambda y, x: y[x > 0], lambda y, x: y * torch.tensor([0.0, 1.0])])
def test_an_index_or_a_mask_does_not_protect_either(hide):
    x = leaf(0.0, 4.0)
    with lab.record():
        root = x.sqrt()
        loss = hide(root, x).sum()
        loss.backward()
    answer = lab.why(x)
    assert answer.cause == "nan-where"
    assert answer.lines[-1].text == "root = x.sqrt()"


def test_a_hook_that_divides_by_zero():
    x = leaf(2.0)
    with lab.record():
        y = x * 3
        y.register_hook(lambda g: g / 0)
        z = y * 1
        z.backward()
    check(lab.why(x), "nan-hook", "y = x * 3", words=["A hook on y turned the gradient 1 into inf"])


def test_started_with_nan():
    x = leaf(2.0)
    with lab.record():
        y = x * 3
        y.backward(torch.tensor(float("nan")))
    check(lab.why(x), "nan-seed", 'y.backward(torch.tensor(float("nan")))', words=["nan"])


def test_overflow():
    w = leaf(1e-30)
    with lab.record():
        h = w
        for _ in range(4):
            h = h * 1e12
        loss = h * 1e-18
        loss = loss * 1e10
        loss.backward()
    check(lab.why(w), "overflow", "h = h * 1e12", words=["grew on its way"])


def test_a_learning_rate_that_is_too_high():
    w = leaf(3.0)
    with lab.record():
        for _ in range(5):
            w.grad = None
            loss = w**4
            loss.backward()
            with torch.no_grad():
                w -= 1e3 * w.grad
    check(
        lab.why(w),
        "diverged",
        "loss.backward()",
        "w -= 1e3 * w.grad",
        words=["before the update", "learning rate"],
    )


def test_log_of_a_negative_number():
    w = leaf(1.0, -1.0)
    with lab.record():
        y = w.log().sqrt()
        y.sum().backward()
    check(
        lab.why(w), "outside-domain", "y = w.log().sqrt()", "y.sum().backward()", words=["w[1] = -1", "log of a negative number"]
    )  # fmt: skip


def test_log_of_zero():
    p = leaf(0.0, 1.0)
    with lab.record():
        loss = (p * p.log()).sum()
        loss.backward()
    check(
        lab.why(p), "log-of-zero", "loss = (p * p.log()).sum()", "loss.backward()",
        words=["log gave [-inf, 0]", "p[0] = 0", "Log of 0 is -inf"],
    )  # fmt: skip


def test_a_row_that_is_all_masked():
    values = leaf([[1.0], [2.0]])
    mask = torch.tensor([[False, False], [True, True]])
    with lab.record():
        scores = torch.zeros(2, 2).masked_fill(mask, -float("inf"))
        weights = torch.softmax(scores, 1)
        (weights @ values).sum().backward()
    check(
        lab.why(values),
        "masked-row",
        'scores = torch.zeros(2, 2).masked_fill(mask, -float("inf"))',
        "weights = torch.softmax(scores, 1)",
        words=["row 1 of scores", "nothing but -inf"],
    )


def test_inf_minus_inf():
    w = leaf(1.0)
    with lab.record():
        top = torch.tensor(float("inf"))
        gap = (top - top) * w
        gap.backward()
    check(
        lab.why(w),
        "inf-minus-inf",
        'top = torch.tensor(float("inf"))',
        "gap = (top - top) * w",
        words=["inf - inf is nan"],
    )


def test_zero_times_inf():
    w = leaf(1.0)
    with lab.record():
        top = torch.tensor(float("inf"))
        off = (top * 0.0) * w
        off.backward()
    check(
        lab.why(w),
        "zero-times-inf",
        'top = torch.tensor(float("inf"))',
        "off = (top * 0.0) * w",
        words=["0 * inf is nan"],
    )


def test_overflow_in_the_forward_pass():
    x = leaf(1.0, 100.0)
    with lab.record():
        y = (1 + x.exp()).log()
        y.sum().backward()
    check(
        lab.why(x), "overflow-forward", "y = (1 + x.exp()).log()", "y.sum().backward()", words=["exp gave", "3.4028e+38", "float32"]
    )  # fmt: skip


def test_the_spread_of_one_value():
    x = leaf([2.0])
    with warnings.catch_warnings(), lab.record():
        warnings.simplefilter("ignore")
        s = x.std()
        s.backward()
    check(lab.why(x), "one-value", "s = x.std()", "s.backward()", words=["n - 1 = 0", "correction=0"])


def test_nan_written_into_a_tensor():
    w = leaf(1.0, 2.0)
    with lab.record():
        x = torch.ones(2) * 1
        x[0] = float("nan")
        (x * w).sum().backward()
    check(lab.why(w), "nan-written", 'x[0] = float("nan")', words=["wrote nan"])


# -- zero ---------------------------------------------------------------------------------------------


def test_dead_relu():
    w = leaf(-1.0, -2.0)
    with lab.record():
        a = w * 3
        h = a.relu()
        loss = h.sum()
        loss.backward()
    check(lab.why(w), "dead-relu", "h = a.relu()", words=["nowhere above 0", "[-3, -6]", "leaky_relu"])


def test_saturated():
    w = leaf(50.0)
    with lab.record():
        p = torch.tanh(w * 2)
        p.backward()
    check(lab.why(w), "saturated", "p = torch.tanh(w * 2)", words=["so flat"])


def test_clamped():
    w = leaf(5.0)
    with lab.record():
        y = w.clamp(0, 1)
        y.backward()
    check(lab.why(w), "clamped", "y = w.clamp(0, 1)", words=["outside of the limits"])


def test_rounded():
    w = leaf(2.4)
    with lab.record():
        y = (w * 2).round()
        y.backward()
    check(lab.why(w), "flat-function", "y = (w * 2).round()", words=["staircase", "straight through"])


def test_multiplied_by_zero():
    w = leaf(2.0, 3.0)
    mask = torch.zeros(2)
    with lab.record():
        y = w * mask
        loss = y.sum()
        loss.backward()
    check(lab.why(w), "multiplied-by-zero", "y = w * mask", words=["multiplies by mask"])


def test_the_zero_is_the_other_factor():
    w = leaf(0.0)
    off = torch.tensor(0.0)
    with lab.record():
        y = w * off
        y.backward()
    check(lab.why(w), "multiplied-by-zero", "y = w * off", words=["multiplies by off = 0"])


def test_the_next_layer_is_all_zeros():
    w = torch.ones(2, 2, requires_grad=True)
    last = torch.zeros(2, 1, requires_grad=True)
    with lab.record():
        h = torch.ones(1, 2) @ w
        loss = (h @ last).sum()
        loss.backward()
    check(
        lab.why(w),
        "multiplied-by-zero",
        "loss = (h @ last).sum()",
        words=["multiplies by last", "initialized to zeros"],
    )


def test_max_chose_another():
    a, b = leaf(1.0), leaf(2.0)
    with lab.record():
        m = torch.maximum(a * 1, b)
        m.backward()
    check(lab.why(a), "not-chosen", "m = torch.maximum(a * 1, b)", words=["took other elements", "softmax"])


def test_replaced():
    x = leaf(1.0, 2.0)
    with lab.record():
        y = x * 3
        y.zero_()
        y.sum().backward()
    check(lab.why(x), "replaced", "y.zero_()", words=["overwritten"])


def test_flat_here():
    x = leaf(0.0)
    with lab.record():
        y = x**2
        y.backward()
    check(lab.why(x), "flat-here", "y = x**2", words=["derivative of pow is 0"])


def test_cancellation():
    x = leaf(2.0)
    with lab.record():
        up = x * 3
        down = x * -3
        loss = up + down
        loss.backward()
    check(lab.why(x), "cancellation", "up = x * 3", "down = x * -3", words=["add up to 0", "3", "-3"])


class Zeros(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 0


def test_a_function_that_returns_zeros():
    x = leaf(2.0)
    with lab.record():
        y = Zeros.apply(x)
        y.backward()
    check(lab.why(x), "function-zero", "y = Zeros.apply(x)", words=["its backward returned"])


def test_a_hook_that_returns_zeros():
    x = leaf(2.0)
    with lab.record():
        y = x * 3
        y.register_hook(lambda g: g * 0)
        z = y * 1
        z.backward()
    check(lab.why(x), "hook-changed", "y = x * 3", "z.backward()", words=["from 1 to 0"])


def test_started_with_zeros():
    x = leaf(2.0, 3.0)
    with lab.record():
        y = x * 3
        y.backward(torch.zeros(2))
    check(lab.why(x), "zero-seed", "y.backward(torch.zeros(2))", words=["started with"])


def test_a_sum_that_is_always_the_same():
    s = leaf(1.0, 2.0, 4.0)
    with lab.record():
        p = torch.softmax(s, 0)
        p.sum().backward()
    check(lab.why(s), "constant-sum", "p = torch.softmax(s, 0)", words=["always add up to 1", "p does"])


def test_a_bias_before_a_centered_value():
    b = leaf(1.0)
    x = torch.tensor([1.0, 2.0, 6.0])
    with lab.record():
        h = x + b
        loss = (h * torch.tensor([1.0, 1.0, -2.0])).sum()
        loss.backward()
    check(
        lab.why(b),
        "broadcast-cancels",
        "h = x + b",
        words=["used 3 times by broadcasting", "1, 1 and -2 add up to 0"],
    )


def test_underflow():
    h = leaf(0.659)
    with lab.record():
        out = h
        for _ in range(100):
            out = torch.sigmoid(out)
        out.backward()
    answer = lab.why(h)
    check(
        answer, "underflow", "out = torch.sigmoid(out)", words=["69 x sigmoid with 0.2247 each", "1.401e-45 * 0.2247 = 3.149e-46", "smallest number of float32, 1.401e-45"]
    )  # fmt: skip


def test_vanishing():
    h = leaf(0.5)
    with lab.record():
        out = h
        for _ in range(20):
            out = torch.sigmoid(out)
        out.backward()
    check(
        lab.why(h), "vanishing", "out = torch.sigmoid(out)",
        words=["20 factors (20 x sigmoid with", "leaves h = 0.5 as it is in float32"],
    )  # fmt: skip


def test_a_constant_first_derivative():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="does not require grad"), lab.record():
        y = (3 * x).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
        g.sum().backward()
    check(
        lab.why(x),
        "constant-derivative",
        "(g,) = torch.autograd.grad(y, x, create_graph=True)",
        "g.sum().backward()",
        words=["g, that of y with respect to x, is [3, 3]", "create_graph=True was given"],
    )


def test_nothing_counted():
    logits = leaf([[1.0, 2.0], [0.5, 0.1]])
    with lab.record():
        labels = torch.tensor([-100, -100])
        loss = torch.nn.functional.cross_entropy(logits, labels)
        loss.backward()
    check(
        lab.why(logits), "nothing-counted", "loss = torch.nn.functional.cross_entropy(logits, labels)",
        words=["all 2 targets in labels are -100, the ignore_index", "The loss itself is nan"],
    )  # fmt: skip


def test_some_elements_are_zero():
    w = leaf([[1.0, 2.0], [-3.0, -1.0]])
    with lab.record():
        h = torch.relu(w @ torch.tensor([1.0, 0.5]))
        h.sum().backward()
    check(
        lab.why(w), "dead-relu", "h = torch.relu(w @ torch.tensor([1.0, 0.5]))", words=["2 of the 4 elements of w.grad are 0: row 1"]
    )  # fmt: skip


def test_rows_of_a_large_table_that_were_not_looked_up():
    table = torch.nn.Embedding(50, 16)
    words = torch.tensor([3, 1, 3])
    with lab.record():
        loss = table(words).sum()
        loss.backward()
    check(
        lab.why(table.weight), "not-chosen", "loss = table(words).sum()",
        words=["48 of the 50 rows of table.weight.grad are 0", "words = [3, 1, 3]"],
    )  # fmt: skip
    assert int((table.weight.grad == 0).all(1).sum()) == 48


# -- a number, but not the one that was expected ------------------------------------------------------


def test_accumulated():
    w = leaf(3.0)
    with lab.record():
        first = w * w
        first.backward()
        second = w * 2
        second.backward()
    check(
        lab.why(w), "accumulated", "first.backward()", "second.backward()", words=["6 + 2 = 8", "zero_grad"]
    )


def test_not_accumulated_after_zero_grad():
    w = leaf(3.0)
    with lab.record():
        first = w * w
        first.backward()
        w.grad = None
        second = w * 2
        second.backward()
    check(lab.why(w), "as-computed", "second = w * 2", "second.backward()", words=["2 from MulBackward0"])


def test_accumulated_in_a_loop():
    w = leaf(3.0)
    with lab.record():
        for _ in range(3):
            (w * 2).backward()
    check(lab.why(w), "accumulated", "(w * 2).backward()", words=["3 backward passes", "2 + 2 + 2 = 6"])


def test_accumulated_since_before_the_recording():
    w = leaf(3.0)
    (w * 5).backward()
    with lab.record():
        (w * 2).backward()
    check(lab.why(w), "accumulated", "(w * 2).backward()", words=["already held 5"])


def test_stale():
    w, v = leaf(3.0), leaf(4.0)
    with lab.record():
        first = w * v
        first.backward()
        second = w.detach() * v
        second.backward()
    check(
        lab.why(w), "stale", "first.backward()", "second = w.detach() * v", "second.backward()", words=["earlier pass", "history"]
    )  # fmt: skip


def test_the_gradient_of_another_loss():
    """It was said to be the derivative of the loss that was named, which has no part in it."""
    w, v = leaf(3.0), leaf(4.0)
    with lab.record():
        first = w * v
        first.backward()
        second = v * v
        third = w.detach() * v
        third.backward()
        fourth = w * w
    check(
        lab.why(w, second), "another-loss", "first.backward()", "second = v * v", "fourth = w * w",
        words=["began at first: second has no part in it", "second was not computed from"],
    )  # fmt: skip
    check(
        lab.why(w, third), "another-loss", "first.backward()", "third = w.detach() * v", "third.backward()",
        words=["began at first: third has no part in it", "without their history"],
    )  # fmt: skip
    check(
        lab.why(w, fourth), "another-loss", "first.backward()",
        words=["fourth was computed from w, but no backward pass began at fourth", "call fourth.backward()"],
    )  # fmt: skip
    check(
        lab.why(w, first), "as-computed", "first = w * v", "first.backward()", words=["derivative of first"]
    )
    with lab.record():
        h = w * v
        end = h * 2
        w.grad = None
        end.backward()
    assert lab.why(w, h).cause == "as-computed"  # it lies on the way


def test_grad_edited():
    w = leaf(3.0, 4.0)
    with lab.record():
        loss = (w * w).sum()
        loss.backward()
        torch.nn.utils.clip_grad_norm_([w], 1.0)
    check(
        lab.why(w),
        "grad-edited",
        "loss.backward()",
        "torch.nn.utils.clip_grad_norm_([w], 1.0)",
        words=["had left [6, 8]"],
    )


def test_a_hook_that_doubles():
    w = leaf(3.0)
    w.register_hook(lambda g: g * 2)
    with lab.record():
        loss = w * 5
        loss.backward()
    check(lab.why(w), "hook-changed", "w = leaf(3.0)", "loss.backward()", words=["from 5 to 10"])


def test_a_write_through_data():
    w = leaf(3.0)
    with lab.record():
        loss = w * w
        w.data.mul_(100)
        loss.backward()
    check(
        lab.why(w), "data-write", "loss = w * w", "w.data.mul_(100)", "loss.backward()", words=["wrong, without an error", "saved w"]
    )  # fmt: skip


def test_a_write_through_data_before_the_forward_pass_does_no_harm():
    w = leaf(3.0)
    with lab.record():
        w.data.mul_(100)
        loss = w * w
        loss.backward()
    check(lab.why(w), "as-computed", "loss = w * w", "loss.backward()", words=["the sum of 300 from"])


def test_not_in_the_optimizer():
    w, b = leaf(3.0), leaf(1.0)
    optimizer = torch.optim.SGD([w], lr=0.1)
    with lab.record():
        loss = w * 2 + b
        loss.backward()
        optimizer.step()
    check(
        lab.why(b), "not-in-optimizer", "loss.backward()", "optimizer.step()", words=["changed w and not b"]
    )
    assert lab.why(w).cause == "as-computed"


def test_nothing_stands_out():
    a = leaf(2.0)
    with lab.record():
        b = a * 3
        c = a * b
        c.backward()
    check(
        lab.why(a), "as-computed", "b = a * 3", "c = a * b", "c.backward()", words=["the sum of 6", "and 6"]
    )


# -- how it is asked ----------------------------------------------------------------------------------


def test_asked_by_name_of_the_trace_or_of_plain_data():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record() as trace:
        h = x.detach()
        loss = h * w
        loss.backward()
    answers = [
        lab.why(x),
        lab.why("x"),
        trace.why("x"),
        trace.why(x),
        lab.why(x, trace=trace),
        trace.why("x", "loss"),
    ]
    answers.append(Trace.from_json(trace.to_json()).why("x"))
    assert len({repr(answer) for answer in answers}) == 1
    assert isinstance(answers[0], Why)
    step = answers[0].step
    assert trace.events[step - 1]["k"] == "detach"
    with pytest.raises(KeyError, match=r"no tensor called 'v' .* it has h, loss, w, x"):
        trace.why("v")
    with pytest.raises(KeyError, match="plain data"):
        Trace.from_json(trace.to_json()).why(x)


def test_asked_inside_the_block():
    x = leaf(2.0)
    with lab.record() as trace:
        loss = x * x
        early = lab.why(x)
        loss.backward()
        later = lab.why(x)
    assert early.cause == "backward-never-called"
    assert [line.text for line in early.lines] == ["loss = x * x"]
    assert later.cause == lab.why(x).cause == "as-computed"
    assert all(count > 0 for e in trace.events if e["k"] == "counts" for _, count in e["deps"])
    assert sum(e["k"] == "backward" for e in trace.events) == 1


def test_what_happened_after_the_recording_is_not_blamed_on_it():
    x = leaf(2.0)
    with lab.record():
        loss = x * x
        loss.backward()
    x.grad = None
    assert lab.why(x).cause == "unknown"
    assert lab.why(x, loss).cause == "cleared"
    assert "lab.record()" in repr(lab.why(x))


def test_a_tensor_is_told_from_another_that_got_its_id():
    x, other = leaf(2.0), leaf(3.0)
    with lab.record() as trace:
        x * x
    assert trace.why(x).cause == "backward-never-called"
    numbers = trace._recorder._numbers
    numbers[id(other)] = numbers[id(x)]
    with pytest.raises(KeyError, match="not used in the recording"):
        trace.why(other)


def test_asked_about_a_gradient_it_answers_about_its_tensor():
    w = leaf(3.0)
    with lab.record():
        (w * 2).backward()
        inside = lab.why(w.grad)
        (slope,) = torch.autograd.grad(w * w, w)
        slope * 2
    assert repr(lab.why(w.grad)) == repr(lab.why(w))
    assert inside.question == lab.why(w.grad).question == "Why is w.grad 2?"
    assert lab.why(slope).cause == "gradient-without-graph"


def test_parts_of_a_module_are_called_by_their_places():
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [torch.nn.Linear(2, 2)]
            self.scale = torch.ones(2)

        def forward(self, x):
            return (self.layers[0](x) * self.scale).sum()

    with lab.record():
        net = Net()
        net(torch.ones(1, 2)).backward()
    assert lab.why(net.layers[0].bias).question.startswith("Why is net.layers[0].bias.grad")
    answer = lab.why(net.scale)
    assert answer.question == "Why is net.scale.grad None?"
    assert [edit.text.strip() for edit in answer.edits] == ["self.scale = torch.nn.Parameter(torch.ones(2))"]


def test_changes_of_lines_are_shown_and_escaped():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x.detach() if 1 < 2 else x
        loss = h * w
        loss.backward()
    answer = lab.why(x)
    assert repr(answer).splitlines()[-1].strip() == "h = x if 1 < 2 else x"
    assert "<pre>h = x if 1 &lt; 2 else x</pre>" in answer._repr_html_()


def test_text_html_and_data():
    x, w = leaf(2.0), leaf(3.0)
    with lab.record():
        h = x.detach()
        loss = h * w
        loss.backward()
    answer = lab.why(x)
    number = answer.lines[0].number
    text = repr(answer)
    assert text.splitlines()[0] == "Why is x.grad None? The way was cut by detach. [detached]"
    assert f"test_why.py, line {number} " in text
    assert "| h = x.detach()" in text
    assert "To do: leave the detach() out" in text
    page = answer._repr_html_()
    assert page.count("<tr>") == 1 + len(answer.lines)
    assert "<code>h = x.detach()</code>" in page
    assert "inside <code>with lab.record():</code>" in lab.why(torch.tensor(1))._repr_html_()
    assert "color:" not in page  # the page's own colors, in both themes
    data = answer.to_dict()
    assert data["lines"][0] == {
        "source": "test_why.py",
        "number": number,
        "text": "h = x.detach()",
        "what": "detached here",
    }
    assert set(data) == {"cause", "question", "sentences", "lines", "fix", "edits", "step"}
    assert data["edits"] == [{"source": "test_why.py", "number": number, "text": "        h = x"}]


def test_code_is_escaped_in_html():
    x = leaf(2.0)
    with lab.record():
        loss = x * (3 if 1 < 2 else 4)
    assert "if 1 &lt; 2 else" in lab.why(x, loss)._repr_html_()


def test_bad_questions():
    with pytest.raises(
        TypeError, match="about a tensor or the name of one, not about list. Ask about one of the tensors"
    ):
        lab.why([1.0])
    with pytest.raises(
        TypeError, match=r"not about None. If that was `w.grad`, ask about the tensor: lab.why\(w\)"
    ):
        lab.why(leaf(1.0).grad)
    with pytest.raises(
        TypeError, match="not about a module: Linear. Ask about a parameter of it, such as its weight"
    ):
        lab.why(torch.nn.Linear(2, 1))
    with pytest.raises(TypeError, match="not about float$"):
        lab.why(2.0)
    with pytest.raises(ValueError, match="unknown cause 'magic'"):
        Why("magic", "Why?", ())


# -- without a recording ------------------------------------------------------------------------------


def live(library, case):
    """The causes that the tensors of either library give by themselves."""
    x = library.tensor(2.0, requires_grad=True)
    w = library.tensor(3.0, requires_grad=True)
    loss = x * x
    if case == "integer-tensor":
        return lab.why(library.tensor(3))
    if case == "inference-mode":
        with library.inference_mode():
            y = x * 2
        return lab.why(y)
    if case == "needs-no-grad":
        return lab.why(x.detach())
    if case == "not-leaf":
        return lab.why(loss)
    if case == "unknown":
        return lab.why(x)
    if case == "loss-needs-no-grad":
        return lab.why(x, loss.detach())
    if case == "not-connected":
        return lab.why(w, loss)
    if case == "cleared":
        loss.backward()
        x.grad = None
        return lab.why(x, loss)
    return lab.why(x, loss)


LIVE = [
    "integer-tensor", "inference-mode", "needs-no-grad", "not-leaf", "unknown", "loss-needs-no-grad", "not-connected", "cleared",
    "backward-never-called",
]  # fmt: skip


@pytest.fixture
def nothing_recorded(monkeypatch):
    """lab.why looks into the last recording of the thread, which may be another test's."""
    monkeypatch.setattr(recorder._LAST, "recording", None)


@pytest.mark.usefixtures("nothing_recorded")
@pytest.mark.parametrize("case", LIVE)
def test_without_a_recording(case):
    answer = live(torch, case)
    assert (answer.cause, answer.lines) == (case, ())
    assert "lab.record()" in repr(answer)


@pytest.mark.usefixtures("nothing_recorded")
@pytest.mark.parametrize("case", LIVE)
def test_real_pytorch_tensors(case):
    real = pytest.importorskip("torch", reason="asks tensors of a real PyTorch")
    assert live(real, case).cause == case


@pytest.mark.usefixtures("nothing_recorded")
@pytest.mark.parametrize(("g", "state"), [(float("nan"), "nan"), (0.0, "zero"), (1.0, "what it is")])
def test_a_gradient_without_a_recording(g, state):
    x = leaf(2.0)
    x.grad = torch.tensor(g)
    assert lab.why(x).question == f"Why is x.grad {state}?"
    assert lab.why(leaf(1.0)).question == "Why is this gradient None?"


def test_every_cause_has_a_test():
    """Each cause of the catalog is asserted by a call of `check` above, by a case without recording, or in the bank of mistakes."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    calls = [
        n
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == "check"
    ]
    programs = Path(__file__).parents[1] / "mistakes" / "programs"
    bank = " ".join(path.read_text("utf-8") for path in programs.glob("*.py"))
    named = (
        {call.args[1].value for call in calls}
        | set(LIVE)
        | set(re.findall(r"^# %% [\w-]+ \| ([\w-]+) \|", bank, re.M))
    )
    assert set(CAUSES) == named, f"without a test: {sorted(set(CAUSES) - named)}"


@pytest.mark.parametrize("name", ["a", "the", "it", "w"])
def test_a_sentence_that_begins_with_a_name_keeps_its_letters(name):
    """A variable called `a` is never called A."""
    scope = {"torch": torch, "lab": lab}
    exec(f"{name} = torch.tensor(2.0, requires_grad=True)\nu = torch.tensor(1.0, requires_grad=True)", scope)
    for program in (
        f"({name} * 2).detach(); (u * 1).backward()",
        f"{name}.detach() * u",
        f"u.backward(); y = {name} * 3",
    ):
        with lab.record():
            exec(program, scope)
        answer = eval(f"lab.why({name})", scope)
        words = " ".join(answer.sentences).replace(",", " ").split()
        assert name in words, answer
        assert answer.sentences[0].split()[0] != name.capitalize(), answer


def test_a_sentence_that_begins_with_no_name_has_a_capital():
    x = leaf(1.0)
    with lab.record() as trace:
        (x.detach() * 2).sum()
    nameless = [t for t, tensor in enumerate(trace.tensors) if not tensor["name"]]
    assert nameless
    for t in nameless:
        assert trace.why(t).sentences[0][0].isupper()
