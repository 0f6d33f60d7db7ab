import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import rules


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("to a: g * b; to b: g * a (the factors swap)", [("a", "g * b"), ("b", "g * a")]),
        ("g * n * a ** (n - 1); zero for n = 0, also at a = 0.", [("a", "g * n * a ** (n - 1)")]),
        (
            "to a: g * b * a ** (b - 1), zero where b = 0;  to b: g * y * log(a), zero where a = 0",
            [("a", "g * b * a ** (b - 1)"), ("b", "g * y * log(a)")],
        ),
        ("to a, b: g", [("a", "g"), ("b", "g")]),
        ("g / (2 * y), which is inf at 0", [("a", "g / (2 * y)")]),
        ("g * sign(a), 0 at 0", [("a", "g * sign(a)")]),
        ("", []),
    ],
)
def test_rules_are_read(text, pairs):
    assert rules.split(text) == pairs


@pytest.mark.parametrize(
    ("rule", "values", "text"),
    [
        ("g * b", {"g": 24.0, "b": -3.0}, "24 * (-3)"),
        ("a ** 2", {"a": -2.0}, "(-2) ** 2"),
        ("g * (1 - y ** 2)", {"g": 1.0, "y": 0.5}, "1 * (1 - 0.5 ** 2)"),
        ("g * cos(a)", {"g": 1.0, "a": 0.0}, "1 * cos(0)"),
        ("g * b", {"g": 24.0, "b": None}, ""),
        ("g in the old shape", {"g": 24.0}, ""),
        ("exit(g)", {"g": 1.0}, ""),
    ],
)
def test_numbers_are_put_in(rule, values, text):
    assert rules.substitute(rule, values) == text


def test_a_sum_that_does_not_give_the_value_is_not_shown():
    trace = samples.scalar()
    n = next(i for i, node in enumerate(trace.nodes) if node["op"] == "pow")
    vjp = next(e for e in trace.events if e["k"] == "vjp" and e["n"] == n)
    assert [t.numbers for t in rules.terms(trace, n, vjp["in"], vjp["out"])] == ["1 * 2 * 7"]
    trace.nodes[n]["vjp"] = "to a: g * 3 * a"
    assert [t.numbers for t in rules.terms(trace, n, vjp["in"], vjp["out"])] == [""]


def test_two_tensors_of_one_name_keep_the_rule_in_its_own_letters():
    """`h = tanh(h)`: both are called h, so the rule must not say "h = tanh(h)"."""
    trace = samples.mlp()
    n = next(i for i, node in enumerate(trace.nodes) if node["op"] == "tanh")
    assert rules.forward(trace, n)[0] == "y = tanh(a)"
    assert rules.sends(trace, n) == [("a", "g * (1 - y ** 2)")]


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"), (-0.0, "0"), (2.0, "2"), (1 / 3, "0.3333"), (1234.56, "1234.6"), (1e7, "1e7"),
        (4.156e-5, "4.156e-5"),
        (float("nan"), "nan"), (float("-inf"), "-inf"), (True, "True"),
    ],
)  # fmt: skip
def test_numbers_have_four_digits(x, text):
    assert rules.number(x) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"shape": [2], "data": [1.0, -2.5]}, "[1, -2.5]"),
        ({"shape": [2, 3], "data": [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]}, "2x3 values from 1 to 6"),
        ({"shape": [9], "data": [1.0] * 9}, "9 values, all 1"),
        ({"shape": [9, 9], "corner": [[0.0]], "min": -1.0, "max": 1.0}, "9x9 values from -1 to 1"),
        ({"shape": [5], "data": ["nan", 1.0, 2.0, 3.0, "inf"]}, "5 values from 1 to 3, 2 of them nan or inf"),
        ({"shape": [0, 3], "data": []}, "0x3 values"),
        (None, "None"),
    ],
)
def test_values_in_words(value, text):
    assert rules.describe(value) == text


def test_what_was_broadcast_is_said_to_be_summed():
    trace = samples.mlp()
    n = next(i for i, node in enumerate(trace.nodes) if node["op"] == "add")
    vjp = next(e for e in trace.events if e["k"] == "vjp" and e["n"] == n)
    small = len(trace.values)
    trace.values.append({"shape": [5], "dtype": "float32", "data": [0.0] * 5})
    found = rules.terms(trace, n, vjp["in"], [vjp["out"][0], small])
    assert [term.rule for term in found] == ["g", "g summed to its shape"]


@pytest.mark.parametrize(
    ("write", "math", "sends"),
    [
        ("v.mul_(w)", "b[slice] = v * w", [("b", "g, with g * w in its slice"), ("w", "g[slice] * v")]),
        ("v.mul_(10)", "b[slice] = v * 10", [("b", "g, with g * 10 in its slice"), ("10", "")]),
        ("v.add_(w)", "b[slice] = v + w", [("b", "g"), ("w", "g[slice]")]),
        ("v.exp_()", "b[slice] = exp(v)", [("b", "g, with g * v in its slice")]),
        ("v.zero_()", "b[slice] = 0", [("b", "g, with zero in its slice")]),
        ("b[0] = w", "b[slice] = w", [("b", "g, with zero in its slice"), ("w", "g[slice]")]),
        ("b[:1] = w", "", [("b", "g, with its slice sent back through fill_"), ("w", "what fill_ sends for the slice")]),
        ("b[0].mul_(w)", "b[slice] = b[slice] * w", [("b", "g, with g * w in its slice"), ("w", "g[slice] * b[slice]")]),
    ],
)  # fmt: skip
def test_what_copy_slices_sends_is_told_by_the_rule_inside(write, math, sends):
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor(4.0, requires_grad=True)
    with lab.record() as trace:
        b = a * 1
        v = b[0]
        exec(write, {"b": b, "v": v, "w": w})
    n = next(n for n, node in enumerate(trace.nodes) if node["name"] == "CopySlices")
    assert rules.sends(trace, n) == sends
    assert rules.forward(trace, n) == (math, "")


def test_a_copy_slices_from_before_the_recording_is_told_in_words():
    b = torch.tensor([1.0, 2.0], requires_grad=True) * 2
    b[0].mul_(3)
    with lab.record() as trace:
        b.sum().backward()
    n = next(n for n, node in enumerate(trace.nodes) if node["name"] == "CopySlices")
    assert rules.sends(trace, n) == [
        ("a", "g whose slice has gone back through the operation inside"),
        ("the others", ""),
    ]
