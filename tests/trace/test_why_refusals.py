"""What autograd's error messages mean, and how captions are written."""

import ast
import re
from pathlib import Path

import pytest

import autograd_lab
import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing.why import CAUSES
from autograd_lab.tracing.why.answer import caption
from autograd_lab.tracing.why.refusals import REFUSALS, about_gradients, refusal

PACKAGE = Path(autograd_lab.__file__).parent
SOURCES = [*sorted((PACKAGE / "torchlike/autograd").glob("*.py")), PACKAGE / "torchlike/tensor.py"]
#: Messages of these files that are about shapes, numbers and the profiler, not about gradients.
OF_PLAIN_ARRAYS = re.compile(
    r"doesn't match the broadcast shape|can't be cast to the desired output type|invalid storage offset|out of bounds for storage|"
    r"cannot be converted to Scalar|Boolean value of Tensor|only one element tensors|expected scalar type|"
    r"should return a single Tensor|should contain|invalid length|invalid size|setStorage|view_as|requires_grad must be|"
    r"only integer tensors of a single element|deprecated|expected a .* but got|Deleting tensor data|numpy|"
    r"single memory location|only supports Tensor or scalar|^Profiler ",
)  # fmt: skip


def messages():
    """The text of each RuntimeError that the sources raise, with {} where something is put in."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "RuntimeError" and node.args:
                text = spelled(node.args[0])
                if text:
                    yield path.name, node.lineno, text


def spelled(node):
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(spelled(p) or "{}" for p in parts)
        case ast.BinOp(left=left, right=right):
            return (spelled(left) or "{}") + (spelled(right) or "{}")
    return ""


@pytest.mark.parametrize(
    ("file", "line", "text"), [pytest.param(*m, id=f"{m[0]}:{m[1]}") for m in messages()]
)
def test_no_message_of_autograd_is_taken_for_a_plain_error(file, line, text):
    assert about_gradients(text) or OF_PLAIN_ARRAYS.search(text), text


def test_the_table_is_read_from_the_top_and_its_texts_can_be_filled():
    for row in REFUSALS:
        groups = re.compile(row.pattern).groups
        assert row.cause in CAUSES
        assert row.says.format("", *["x"] * groups, line="`y`")
        assert not row.fix.endswith("..")


@pytest.mark.parametrize(
    "text", ["mat1 and mat2 shapes cannot be multiplied (2x3 and 2x3)", "name 'x' is not defined"]
)
def test_a_plain_error_is_none_of_them(text):
    assert refusal(text) is None
    assert not about_gradients(text)


def test_an_unknown_message_of_autograd_is_quoted_and_not_called_foreign():
    w = torch.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError), lab.record():
        (w * 2).sum().backward(inputs=[])
    answer = lab.why(w)
    assert answer.cause == "refused"
    assert "cannot be empty" in answer.sentences[0]
    assert "not about gradients" not in answer.fix


CODE = re.compile(r"[a-z]\w*\.\w|\w+_\w|\w+\(")


@pytest.mark.parametrize("cause", sorted(CAUSES))
def test_a_caption_begins_with_a_capital_or_with_code(cause):
    first = CAUSES[cause].split()[0]
    assert caption(cause)[1:] == CAUSES[cause][1:]
    assert caption(cause)[0] == (
        first[0] if CODE.match(first) or not first[0].isalpha() else first[0].upper()
    )
