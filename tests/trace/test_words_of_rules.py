"""Each function in a rule's text can be looked up in PyTorch, or is explained in plain words beside it."""

import ast
import re
from pathlib import Path

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.ops.rule import RULES
from autograd_lab.tracing import formulas, rules
from autograd_lab.tracing.builder import _further
from autograd_lab.tracing.narrate import narrate
from autograd_lab.tracing.words import NAMES, WORDS, explained
from autograd_lab.widgets.frames import film

from test_rule_texts import NO_NODES, UNEVALUATED  # isort: skip

PLACES = (torch, torch.Tensor, torch.nn.functional, torch.nn.grad, torch.linalg, torch.special)
ATTRIBUTES = {"shape", "ndim"}


def can_be_looked_up(word):
    """Whether PyTorch has a function or a method of that name, or Tensor an attribute. Public names are PyTorch's, as tests/torchlike records."""
    return word in ATTRIBUTES or any(callable(getattr(place, word, None)) for place in PLACES)


def parts(name):
    """The formulas of a rule, those of its definitions among them."""
    for text in map(formulas.read, rules.rule_texts(RULES[name])):
        yield from (formula for _, formula in text.claims)
        yield from text.definitions.values()


def called(name):
    calls = [x for formula in parts(name) if isinstance(formula, ast.expr) for x in ast.walk(formula)]
    return {ast.unparse(x.func) for x in calls if isinstance(x, ast.Call)}


def test_every_function_in_a_text_can_be_looked_up_or_is_explained():
    unknown = {
        name: {w for w in called(name) if w not in WORDS and not can_be_looked_up(w)} for name in RULES
    }
    assert not {name: words for name, words in unknown.items() if words}
    assert not [word for word in WORDS if can_be_looked_up(word)], "explained, though PyTorch has it"
    assert not WORDS.keys() - {word for name in RULES for word in called(name)}, "in no text any more"
    assert can_be_looked_up("scatter_add")
    assert not can_be_looked_up("random")


def test_every_argument_in_a_text_is_pytorch_s_or_is_explained():
    """What PyTorch's node keeps has PyTorch's name for it; so have the operands. The other arguments are in its call, or in NAMES."""
    signatures = Path(torch.__file__).parent / "torchlike/interface/signatures.txt"
    in_calls = set(re.findall(r"\w+", signatures.read_text(encoding="utf-8").lower())) - NAMES.keys()
    used = {name: set().union(*map(formulas.names_in, parts(name))) for name in RULES}
    ours = {name: used[name] & {*_further(RULES[name])} - NAMES.keys() for name in RULES}
    unknown = {name: {word for word in words if word.lower() not in in_calls} for name, words in ours.items()}
    assert not {name: words for name, words in unknown.items() if words}
    assert not NAMES.keys() - set().union(*used.values())
    for name in RULES.keys() - NO_NODES:
        rule, texts = RULES[name], list(map(formulas.read, rules.rule_texts(RULES[name])))
        known = {
            *rule.inputs,
            *rule.keeps,
            *rule.saves,
            *getattr(rule, "results", ()),
            *_further(rule),
            *"abcdefgyk",
        }
        known |= {"nothing", *formulas.LISTS}.union(*(text.definitions for text in texts))
        assert not {word for word in used[name] - known if not re.fullmatch(r"[gy]\d", word)}, name


def test_remarks_in_words_are_no_part_of_a_formula():
    """A sentence that begins with a small letter is taken for the end of the last formula, which then cannot be read."""
    for name in RULES.keys() - UNEVALUATED.keys():
        for text in rules.rule_texts(RULES[name]):
            read, equations = formulas.read(text), re.findall(r"(?:^|; )(\w+) =", text)
            lost = {
                left for left in equations if not re.fullmatch(r"y(\d*|k)", left)
            } - read.definitions.keys()
            assert not lost, f"{name}: {lost} of {text}"
            assert not [formula for _, formula in read.claims if isinstance(formula, str)], f"{name}: {text}"


@pytest.mark.parametrize(
    ("line", "sent"),
    [
        ("x.sum(1)", "expand(unsqueeze(g, 1), (2, 3))"),
        ("x.sum((0, 1))", "g to every element"),
        ("x.mean(0, keepdim=True)", "expand(g, (2, 3)) / 2"),
        ("x.amax()", "g * hit / sum(hit, keepdim=True) with hit = x == y"),
        ("x.max(1)[0]", "scatter(zeros_like(x), 1, unsqueeze(result 2 of max, 1), unsqueeze(g0, 1))"),
        ("x.cumsum(0)", "flip(cumsum(flip(g, 0), 0), 0)"),
        ("x[1:]", "slice_scatter(zeros_like(x), g, dim=0, start=1)"),
        ("x[:, :2]", "slice_scatter(zeros_like(x), g, dim=1, end=2)"),
        ("torch.conv1d(x[None], w)", "conv1d_weight(result of unsqueeze, (1, 2, 2), g)"),
    ],
)  # fmt: skip
def test_words_for_any_shape_are_pytorch_s_functions_in_a_call(line, sent):
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(1, 2, 2, requires_grad=True)
    with lab.record() as trace:
        y = eval(line, {"torch": torch, "x": x, "w": w})
    assert y.requires_grad
    assert rules.sends(trace, len(trace.nodes) - 1)[-1 if "w" not in line else 1][1] == sent
    assert not film(trace)["words"]


def test_slices_are_written_as_in_a_program():
    x = torch.ones(4, 3, requires_grad=True)
    with lab.record() as trace:
        for y in (x[1:3], x[:, 1:], x[..., ::2], (x * 2)[-2:, :]):
            assert y.requires_grad
    shown = [rules.forward(trace, n)[0] for n, node in enumerate(trace.nodes) if node["op"] == "slice"]
    shown = [text.partition(" = ")[2] for text in shown]
    assert shown == ["x[1:3]", "x[:, 1:]", "x[:, ::2]", "(result of mul)[-2:]"]


def test_a_word_is_explained_where_its_formula_is_shown():
    x = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    with lab.record() as trace:
        x.prod(1).backward()
    assert film(trace)["words"] == {"product_of_others(": WORDS["product_of_others"]}
    told = next(narrate(trace, k) for k, e in enumerate(trace.events, 1) if e["k"] == "vjp")
    assert told.endswith(f"Here product_of_others is {WORDS['product_of_others']}.")
    assert explained(["block(g, [a, b], 0) + x.slice(3) + near + winners"], {"winners"}) == {
        "block(": WORDS["block"]
    }
    assert explained(["winners_ * winners + local"], {"winners"}) == {
        "winners_": NAMES["winners"],
        "local": NAMES["local"],
    }
