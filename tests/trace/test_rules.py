import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import formulas, rules
from autograd_lab.tracing.trace import Trace


def read(text):
    return [(name, formulas.written(formula)) for name, formula in formulas.read(text).claims]


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("to a: g * b; to b: g * a", [("a", "g * b"), ("b", "g * a")]),
        ("g * n * a ** (n - 1) if n != 0 else 0.", [("a", "g * n * a ** (n - 1) if n != 0 else 0")]),
        ("to a, b: g", [("a", "g"), ("b", "g")]),
        ("to a: d; to b: -d; d = g * s; s = sign(a - b)", [("a", "d"), ("b", "-d")]),
        ("to a: g in the old shape", [("a", "g in the old shape")]),
        ("g / (2 * y)", [("a", "g / (2 * y)")]),
        ("y0 = amin(a); y1 = amax(a)", [("y0", "amin(a)"), ("y1", "amax(a)")]),
        ("", []),
    ],
)
def test_rules_are_read(text, pairs):
    assert read(text) == pairs


@pytest.mark.parametrize(
    ("text", "known", "simple"),
    [
        ("g / n if reduction == 'mean' else g", {"reduction": "sum"}, "g"),
        ("g / numel(a) if reduction == 'mean' else g", {"reduction": "mean"}, "g / 6"),
        ("alpha * g", {"alpha": 1}, "g"),
        ("-alpha * g", {"alpha": 1}, "-g"),
        ("-alpha * g", {"alpha": 2.5}, "-2.5 * g"),
        ("g * n * a ** (n - 1)", {"n": 2}, "g * 2 * a"),
        ("g * n * a ** (n - 1)", {"n": -1}, "g * (-1) * a ** (-2)"),
        ("sum(g, dim=dim, keepdim=keepdim)", {"dim": 0, "keepdim": False}, "sum(g, dim=0)"),
        ("sum(g, dim=dim)", {"dim": None}, "sum(g)"),
        ("g / size(a, dim)", {"dim": (0, 1)}, "g / 6"),
        ("g * w if w is not None else g", {}, "g"),
        ("where(a > low, g, 0)", {"low": -0.5}, "where(a > -0.5, g, 0)"),
        ("low <= a and (b or False)", {"low": 0}, "0 <= a and b"),
    ],
)
def test_parameters_are_put_in(text, known, simple):
    formula = formulas.simplified(formulas.parsed(text), known, {"a": (2, 3)}, ["w"])
    assert formulas.written(formula) == simple


def test_what_a_text_says_is_never_executed():
    for text in ("exit(g)", "g.real", "(lambda: g)()", "[x for x in g]"):
        with pytest.raises(KeyError):
            formulas.evaluate(formulas.parsed(text), {"g": 1}, {})


def test_a_sum_that_does_not_give_the_value_is_not_shown():
    trace = samples.scalar()
    n = next(i for i, node in enumerate(trace.nodes) if node["op"] == "pow")
    vjp = next(e for e in trace.events if e["k"] == "vjp" and e["n"] == n)
    assert [t.numbers for t in rules.terms(trace, n, vjp["in"], vjp["out"])] == ["1 * 2 * 7"]
    trace.nodes[n]["vjp"] = "to a: g * 3 * a"
    assert [t.numbers for t in rules.terms(trace, n, vjp["in"], vjp["out"])] == [""]


def test_two_tensors_of_one_name_are_told_apart():
    """`h = tanh(h)`: both are called h, so the rule must not say "h = tanh(h)"."""
    trace = samples.mlp()
    n = next(i for i, node in enumerate(trace.nodes) if node["op"] == "tanh")
    assert rules.forward(trace, n)[0] == "h₂ = tanh(h₁)"
    assert rules.sends(trace, n) == [("h₁", "g * (1 - h₂ ** 2)")]


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
    x, w = torch.ones(2, 3, requires_grad=True), torch.ones(3, requires_grad=True)
    with lab.record() as trace:
        z = x + w
        z = z * w
        z.sum().backward()
    found = [rules.terms(trace, e["n"], e["in"], e["out"]) for e in trace.events if e["k"] == "vjp"]
    assert [[term.rule for term in terms] for terms in found] == [
        ["g to every element"],
        ["g * w", "(g * z₁) summed to its shape"],
        ["g", "g summed to its shape"],
    ]


@pytest.mark.parametrize(
    ("write", "math", "sends"),
    [
        ("v.mul_(w)", "b[slice] = v * w", [("b", "g, with g * w in its slice"), ("w", "g[slice] * v")]),
        ("v.mul_(10)", "b[slice] = v * 10", [("b", "g, with g * 10 in its slice"), ("10", "")]),
        ("v.add_(w)", "b[slice] = v + w", [("b", "g"), ("w", "g[slice]")]),
        ("v.exp_()", "b[slice] = exp(v)", [("b", "g, with g * v in its slice")]),
        ("v.zero_()", "b[slice] = 0", [("b", "g, with 0 in its slice")]),
        ("b[0] = w", "b[slice] = w", [("b", "g, with 0 in its slice"), ("w", "g[slice]")]),
        ("b[:1] = w", "b[slice] = expand(w, (1,))", [("b", "g, with 0 in its slice"), ("w", "sum(g[slice])")]),
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
        ("result of mul", "g whose slice has gone back through the operation inside"),
        ("", ""),
    ]


def test_an_old_trace_is_shown_with_today_s_texts():
    """Before there were formulas, a trace held sentences, some of them false."""
    x = torch.tensor([2.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = x.amax()
        y.backward()
    document = trace.to_dict()
    node = next(node for node in document["nodes"] if node["op"] == "amax")
    node.update(math="y = max of a over dims", vjp="g, shared evenly by the largest")
    old = Trace.from_dict(document)
    n = document["nodes"].index(node)
    assert rules.sends(old, n) == [("x", "g * hit / sum(hit, keepdim=True) with hit = x == y")]


def test_operands_that_were_not_given_keep_the_others_in_their_places():
    x, bias = torch.randn(2, 3, requires_grad=True), torch.zeros(3, requires_grad=True)
    with lab.record() as trace:
        y = torch.nn.functional.layer_norm(x, (3,), None, bias)
        y.sum().backward()
    n = next(n for n, node in enumerate(trace.nodes) if node["op"] == "native_layer_norm")
    assert [to for to, _ in rules.sends(trace, n)] == ["x", "", "bias"]
    assert rules.sends(trace, n)[2] == ("bias", "g summed to its shape")


@pytest.mark.parametrize(
    ("reduction", "rule"),
    [("sum", "g * 2 * (p - t)"), ("mean", "g * 2 * (p - t) / 3"), ("none", "g * 2 * (p - t)")],
)
def test_the_text_is_that_of_the_call(reduction, rule):
    p, t = torch.tensor([1.0, 2.0, 4.0], requires_grad=True), torch.zeros(3)
    with lab.record() as trace:
        torch.nn.functional.mse_loss(p, t, reduction=reduction)
    assert rules.sends(trace, len(trace.nodes) - 1)[0] == ("p", rule)


def test_an_expression_s_inner_nodes_do_not_borrow_the_result_s_name():
    x = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        y = (2 * x + 1) ** 2
        y.backward()
    shown = [
        (*rules.forward(trace, n), *rules.sends(trace, n))
        for n, node in enumerate(trace.nodes)
        if node["outputs"]
    ]
    assert shown == [
        ("result of mul = x * 2", "6 = 3 * 2", ("x", "g * 2"), ("2", "")),
        ("result of add = (result of mul) + 1", "7 = 6 + 1", ("result of mul", "g"), ("1", "")),
        ("y = (result of add) ** 2", "49 = 7 ** 2", ("result of add", "g * 2 * (result of add)")),
    ]


def test_numbers_are_those_of_the_time():
    """A number written over later is not the one that the rule read."""
    x, w = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0)
    with lab.record() as trace:
        w.mul(2.0).add(x)
        w += 1
        x * w
        w.add_(5)
        u = x * 1
        u.mul_(u.detach())
    shown = {
        node["op"] + str(n): rules.forward(trace, n)[1]
        for n, node in enumerate(trace.nodes)
        if node["outputs"]
    }
    assert "8 = 2 * 4" in shown.values()
    assert all("9" not in text for text in shown.values())
