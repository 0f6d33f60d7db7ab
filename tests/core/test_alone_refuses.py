"""The core alone refuses what it does not have, before it gives a wrong number or a wrong gradient."""

import numpy as np
import pytest

REFUSED = {  # code: the type of the error, and how its text begins
    "x.expand(2, 5)": (ValueError, "operands could not be broadcast together"),
    "x.expand(3)": (ValueError, "input operand has more dimensions than allowed"),
    "x.sum(2)": (IndexError, "axis 2 is out of bounds for array of dimension 2"),
    "x.sum((0, -3))": (IndexError, "axis -3 is out of bounds for array of dimension 2"),
    "torch.select(x, 2, 0)": (IndexError, "source: axis 2 is out of bounds for array of dimension 2"),
    "torch.select(x, 0, 2)": (IndexError, "index 2 is out of bounds for axis 0 with size 2"),
    "x[0, 0, 0]": (IndexError, "source: axis 0 is out of bounds for array of dimension 0"),
    "x[[0, 0]]": (TypeError, "'list' object cannot be interpreted as an integer"),
    "x[None]": (TypeError, "'NoneType' object cannot be interpreted as an integer"),
    "x[np.array([True, False])]": (TypeError, "only integer"),
    "x[torch.tensor(1)]": (TypeError, "'Tensor' object cannot be interpreted as an integer"),
    "x[::-1]": (ValueError, "step must be greater than zero"),
    "torch.tensor('1')": (TypeError, "a tensor holds numbers, or lists of them, not what NumPy calls <U1"),
    "torch.tensor([x, x])": (
        TypeError,
        "a tensor holds numbers, or lists of them, not what NumPy calls object",
    ),
    "torch.tensor(1j)": (
        TypeError,
        "a tensor holds numbers, or lists of them, not what NumPy calls complex128",
    ),
    "torch.tensor([[1.0], [1.0, 2.0]])": (ValueError, "setting an array element with a sequence"),
    "x.sum().backward(torch.tensor([1.0, 2.0]))": (
        RuntimeError,
        "Mismatch in shape: the tensor has (), its gradient (2,)",
    ),
    "torch.tensor([1.0, 2.0]).backward()": (RuntimeError, "element 0 of tensors does not require grad"),
    "(x * 2).backward()": (RuntimeError, "grad can be implicitly created only for scalar outputs"),
    "torch.grad(x.sum(), torch.tensor(1.0))": (RuntimeError, "One of the differentiated Tensors"),
}


@pytest.mark.parametrize("code", REFUSED)
def test_it_refuses(alone, code):
    kind, text = REFUSED[code]
    x = alone.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    with pytest.raises(kind) as caught:
        eval(code, {"torch": alone, "x": x, "np": np})
    assert str(caught.value).startswith(text)
    assert x.grad is None


NUMBERS = np.arange(24.0).reshape(2, 3, 4)
INDICES = [
    ...,
    (..., 0),
    (0, ...),
    (1, ..., 2),
    (..., slice(1, 3)),
    (slice(0, 1), ..., 1),
    (0, 1, 2, ...),
    (..., -1, 0),
]


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_an_ellipsis_stands_for_the_dims_between(alone, index):
    x = alone.tensor(NUMBERS, requires_grad=True)
    y = x[index]
    assert y.tolist() == NUMBERS[index].tolist()
    y.sum().backward()
    expected = np.zeros_like(NUMBERS)
    expected[index] = 1
    assert x.grad.tolist() == expected.tolist()


@pytest.mark.parametrize(("kind", "name"), [(np.float32, "Float"), (np.float64, "Double")])
def test_it_says_which_saved_value_was_overwritten(alone, kind, name):
    x = alone.tensor(np.array([1.0, 2.0], kind), requires_grad=True)
    y = alone.exp(x)
    total = y.sum()
    y.mul_(2.0)
    with pytest.raises(RuntimeError) as caught:
        total.backward()
    assert str(caught.value).endswith(
        f"[torch.{name}Tensor [2]], which is output 0 of Exp, is at version 1; expected version 0 instead."
    )


def test_numpy_warns_in_neither_pass(alone):
    """A warning would be an error here."""
    x = alone.tensor([0.0, 1.0], requires_grad=True)
    y = alone.log(x)
    assert y.tolist() == [-np.inf, 0.0]
    y.sum().backward()
    assert x.grad.tolist() == [np.inf, 1.0]
