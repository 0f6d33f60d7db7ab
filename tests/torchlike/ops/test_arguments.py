"""Calls with arguments that do not fit, and `out`: what is raised, and its first words, as in PyTorch."""

import itertools
import warnings

import numpy as np
import pytest

import autograd_lab
from autograd_lab.ops import forms
from tests.each import each

WRONG = {
    "list": lambda torch: [1.0, 2.0], "text": lambda torch: "a", "none": lambda torch: None, "object": lambda torch: object,
    "array": lambda torch: np.ones(2), "number": lambda torch: 2, "half": lambda torch: 1.5,
    "x": lambda torch: torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "i": lambda torch: torch.tensor([0, 1]),
}  # fmt: skip
CALLS = [
    "", "list", "text", "none", "array", "object", "x axs=number", "x bogus=x", "x text", "x list", "x none", "x array", "x x text", "x number text",
    "x x x x x x x x x x x x", "x number x", "x list x", "x dim=text", "x dim=half", "x dim=x", "x dtype=text", "x keepdim=text", "x number axs=number",
    "x x alpha=text", "list x", "input=list", "x i bogus=number",
]  # fmt: skip

# These take something that PyTorch refuses, or are plain Python here.
LENIENT = ["Tensor.copy_", "Tensor.new", "promote_types", "result_type"]

# These refuse the same, in other words.
OTHER_WORDS = ["Tensor.add_", "Tensor.cpu", "Tensor.nonzero", "Tensor.sub_", "Tensor.type", "lstm"]


def arguments_of(torch, call):
    args = [WRONG[word](torch) for word in call.split() if "=" not in word]
    pairs = [word.split("=") for word in call.split() if "=" in word]
    return args, {name: WRONG[value](torch) for name, value in pairs}


def attempt(torch, key, call):
    """The type and the first words of what a call raises; None if it returns."""
    place, _, name = key.rpartition(".")
    owner = {"": torch, "F": torch.nn.functional, "Tensor": torch.ones(2, 2)}.get(place)
    fn = getattr(owner if owner is not None else getattr(torch, place), name)
    args, kwargs = arguments_of(torch, call)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fn(*args, **kwargs)
    except Exception as error:
        return type(error).__name__, str(error)[:60]
    return None


KEYS = sorted(
    k for k in forms.known() if not k.startswith("nn.") and (not k.endswith("_") or k.startswith("Tensor."))
)


def test_what_fits_no_form_is_refused_in_the_words_of_live_pytorch():
    torch = pytest.importorskip("torch")
    each(
        # some are a class here, an instance there
        [key for key in KEYS if hasattr(torch, key.split(".")[0].replace("F", "nn"))],
        refused_alike,
        torch,
    )


def refused_alike(key, torch):
    for call in CALLS:
        theirs = attempt(torch, key, call)
        if theirs is None or theirs[0] != "TypeError" or key in LENIENT:
            continue
        ours = attempt(autograd_lab, key, call)
        if key in OTHER_WORDS or "takes no" in theirs[1]:
            theirs, ours = theirs[0], ours and ours[0]
        assert ours == theirs, f"{key}({call})"


def test_the_forms_are_those_of_live_pytorch():
    torch = pytest.importorskip("torch")
    import signatures

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = signatures.recorded(torch, autograd_lab)
    assert signatures.text(found, "2.13.0") == signatures.TARGET.read_text(encoding="utf-8")


MESSAGES = {
    "t.flip(x, axis=0)": 'flip() missing 1 required positional arguments: "dims"',
    "t.flip(x)": 'flip() missing 1 required positional arguments: "dims"',
    "t.sin([1.0])": "sin(): argument 'input' (position 1) must be Tensor, not list",
    "t.sin(n)": "sin(): argument 'input' (position 1) must be Tensor, not numpy.ndarray",
    "t.sin(x, x)": "sin() takes 1 positional argument but 2 were given",
    "t.sin(x, bogus=1)": "sin() got an unexpected keyword argument 'bogus'",
    "t.sin(x, input=x)": "sin() got multiple values for argument 'input'",
    "t.mm(x)": 'mm() received an invalid combination of arguments - got (Tensor), but expected one of:',
    "t.softmax(x)": 'softmax() missing 1 required positional arguments: "dim"',
    "t.sum(x, 'a')": "sum() received an invalid combination of arguments - got (Tensor, str), but expected one of:",
    "t.sum(x, dim=[0.5])": "sum() received an invalid combination of arguments - got (Tensor, dim=list), but expected one of:",
    "x.sum('a')": "sum() received an invalid combination of arguments - got (str), but expected one of:",
    "x.mul('a')": "mul(): argument 'other' (position 1) must be Tensor, not str",
    "x.add([1])": "add(): argument 'other' (position 1) must be Tensor, not list",
    "t.add(input=[1.0])": "add() received an invalid combination of arguments - got unrecognized keyword arguments: input",
    "t.add(x, x, beta=2)": "add() got an unexpected keyword argument 'beta'",
    "t.cat(x)": "cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor",
    "t.cat([x, 1])": "expected Tensor as element 1 in argument 0, but got int",
    "x.reshape([1.0])": "reshape(): argument 'shape' (position 1) must be tuple of ints, but found element of type float at pos 0",
    "x.view('a')": "view() received an invalid combination of arguments - got (str), but expected one of:",
    "t.zeros('a')": "zeros(): argument 'size' (position 1) must be tuple of ints, not str",
    "t.matmul(x, n)": "matmul(): argument 'other' (position 2) must be Tensor, not numpy.ndarray",
    "t.linalg.inv(1)": "linalg_inv(): argument 'A' (position 1) must be Tensor, not int",
    "t.special.entr('a')": "special_entr(): argument 'input' (position 1) must be Tensor, not str",
    "t.nn.functional.gelu([1])": "gelu(): argument 'input' (position 1) must be Tensor, not list",
    "t.nn.functional.relu([1])": "relu(): argument 'input' (position 1) must be Tensor, not list",
    "t.flip(x, (0,), out=x)": "flip() got an unexpected keyword argument 'out'",
    "t.add(x, x, out='a')": "add(): argument 'out' must be Tensor, not str",
}  # fmt: skip


@pytest.mark.parametrize("code", MESSAGES)
@pytest.mark.parametrize("which", ["autograd_lab", "torch"])
def test_a_wrong_call_is_a_type_error(code, which):
    torch = pytest.importorskip(which)
    with pytest.raises(TypeError) as raised:
        eval(code, {"t": torch, "x": torch.ones(2, 2), "n": np.ones(2)})
    assert str(raised.value).startswith(MESSAGES[code])


def test_numpys_names_of_parameters_are_understood():
    x = autograd_lab.ones(1, 3)
    assert x.sum(axis=1, keepdims=True).shape == (1, 1)
    assert autograd_lab.unsqueeze(x, axis=0).shape == (1, 1, 3)
    assert x.squeeze(axis=0).shape == (3,)


def test_an_error_of_the_operation_itself_is_left_alone():
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        autograd_lab.mm(autograd_lab.ones(2, 3), autograd_lab.ones(2, 3))
    with pytest.raises(IndexError, match="Dimension out of range"):
        autograd_lab.ones(2).sum(3)


# -- out ----------------------------------------------------------------------------------------------

OUTS = {
    "sum": "t.sum(x, 0, out=o)", "mean": "t.mean(x, 1, out=o)", "prod": "t.prod(x, 0, out=o)", "std": "t.std(x, 0, out=o)",
    "amax": "t.amax(x, 0, out=o)", "norm": "t.linalg.vector_norm(x, 2, 0, out=o)", "cumsum": "t.cumsum(x, 0, out=o)",
    "softmax": "t.softmax(x, 0, out=o)", "matmul": "t.matmul(x, x, out=o)", "cat": "t.cat([x, x], out=o)", "exp": "t.exp(x, out=o)",
    "add": "t.add(x, x, out=o)", "where": "t.where(x > 1, x, -x, out=o)", "gather": "t.gather(x, 0, i, out=o)", "eq": "t.eq(x, x, out=o)",
    "arange": "t.arange(3, out=o)", "zeros": "t.zeros(2, out=o)", "stack": "t.stack([x, x], out=o)", "clamp": "t.clamp(x, 0, 2, out=o)",
    "index_select": "t.index_select(x, 0, i[0], out=o)", "tril": "t.tril(x, out=o)", "logsumexp": "t.logsumexp(x, 1, out=o)",
}  # fmt: skip


def try_out(torch, code, out, grad):
    """What a call with `out` leaves or raises."""
    x = torch.tensor(
        [[1.0, 2.0], [3.0, 5.0]], requires_grad=grad and "softmax" not in code
    )  # there PyTorch forgets to ask
    o = getattr(torch, out[0])(*out[1:])
    names = {"t": torch, "x": x, "i": torch.tensor([[0, 1], [1, 0]]), "o": o}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            same = eval(code, names) is o
        except NameError:
            raise  # a slip in the table would be the same in both
        except Exception as error:
            return type(error).__name__, str(error)[:60]
    told = [str(w.message)[:60] for w in caught]
    return same, (o * 1000).round().tolist(), str(o.dtype), o._version > 0, o.requires_grad, told


def test_out_is_written_resized_and_returned_as_by_live_pytorch():
    torch = pytest.importorskip("torch")

    def check(case):
        assert try_out(autograd_lab, *case) == try_out(torch, *case)

    outs = [("zeros", 2), ("zeros", 2, 2), ("empty", 0)]
    each(itertools.product(OUTS.values(), outs, [False, True]), check)


def test_out_of_several_results_is_a_tuple():
    torch = autograd_lab
    values, indices = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    result = torch.max(torch.tensor([[1.0, 5.0], [3.0, 2.0]]), 0, out=(values, indices))
    assert (values.tolist(), indices.tolist()) == ([3.0, 5.0], [1, 0])
    assert result.values is values
    assert result.indices is indices


def test_out_does_not_record():
    torch = autograd_lab
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="functions with out=... arguments don't support automatic differentiation"
    ):
        torch.sum(x, 0, out=torch.zeros(()))
    with torch.no_grad():
        assert torch.sum(x, 0, out=torch.zeros(())).item() == 2.0
    assert torch.eq(x, x, out=torch.zeros(2)).tolist() == [1.0, 1.0]


def test_out_must_be_able_to_hold_the_result():
    torch = autograd_lab
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output type Long"):
        torch.exp(torch.ones(2), out=torch.zeros(2, dtype=torch.int64))
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single memory"
    ):
        torch.exp(torch.ones(2), out=torch.zeros(1).expand(2))


def test_a_warning_points_at_the_users_line():
    torch = autograd_lab
    with pytest.warns(UserWarning, match="An output with one or more elements was resized") as caught:
        torch.exp(torch.ones(2), out=torch.zeros(3))
    assert caught[0].filename == __file__
