"""The rules' formulas as MathML: every one of them, and a table of those in which a wrong form would mean something else."""

import xml.etree.ElementTree as ElementTree

import pytest
from each import each

from autograd_lab.ops.rule import RULES
from autograd_lab.site.mathml import typeset
from autograd_lab.tracing import formulas, rules

# As a line of text: (a)/(b) is a fraction, a^(b) a power, [value, when; ...] cases.
TRICKY = {
    "a * b / 2": "(a⋅b)/(2)",
    "a / b ** 2": "(a)/(b^(2))",
    "(a / b) ** 2": "((a)/(b))^(2)",
    "a - (b - c)": "a−(b−c)",
    "a - b + c": "a−b+c",
    "a * (b + c)": "a⋅(b+c)",
    "a / (b * c) * d": "(a)/(b⋅c)⋅d",
    "-a * b": "−a⋅b",
    "a * -b": "a⋅(−b)",
    "-(a + b)": "−(a+b)",
    "(-a) ** 2": "(−a)^(2)",
    "-a ** 2": "−a^(2)",
    "2 ** (a + b)": "2^(a+b)",
    "a ** b ** c": "a^(b^(c))",
    "(a ** b) ** c": "(a^(b))^(c)",
    "a * b ** -c": "a⋅b^(−c)",
    "a @ (b + c) @ d.T": "a@(b+c)@d^(T)",
    "(a @ b).T": "(a@b)^(T)",
    "a @ (b * c)": "a@(b⋅c)",
    "g * sum(a, dim=dim, keepdim=True)": "g⋅(∑_(dim)a)",
    "g - sum(a + b, dim=1)": "g−∑_(dim=1)(a+b)",
    "sum(a) / n": "(∑a)/(n)",
    "sum(a * b)": "∑a⋅b",
    "sum(a) * b": "(∑a)⋅b",
    "mean(a, dim=dim, keepdim=True)": "mean_(dim)(a)",
    "sum(a, -1)": "∑_(dim=−1)a",
    "norm(a, p=p, dim=dim)": "norm_(dim)(a,p)",
    "norm(a, 2, -1)": "norm(a,2,−1)",
    "exp(a - b)": "e^(a−b)",
    "exp(a) ** 2": "(e^(a))^(2)",
    "log(sum(exp(a)))": "log(∑e^(a))",
    "sqrt(a) * abs(b)": "√(a)⋅|b|",
    "floor(a / b)": "⌊(a)/(b)⌋",
    "where(a > 0, g, 0)": "[g, if a>0; 0, otherwise]",
    "where(a > 0, g, where(a < 0, b, c))": "[g, if a>0; b, if a<0; c, otherwise]",
    "g * where(a > 0, 1, 2)": "g⋅([1, if a>0; 2, otherwise])",
    "g / 2 if reduction == 'mean' else g": "[(g)/(2), if reduction=“mean”; g, otherwise]",
    "where((a > 0) and (b > 0), g, 0) if p is not None else nothing": (
        "[[g, if a>0 and b>0; 0, otherwise], if p is given; nothing, otherwise]"
    ),
    "(a if p else b) + c": "([a, if p; b, otherwise])+c",
    "not (a and b) or c": "not (a and b) or c",
    "min_val < a <= max_val": "min_val<a≤max_val",
    "(a > 0) * b": "(a>0)⋅b",
    "y_ ** 2": "(y^(′))^(2)",
    "y0 + alpha * Phi(x)": "y_(0)+α⋅Φ(x)",
    "a[i, 1:] + chunk(a, 2, dim)[0]": "a[i,1:]+chunk(a,2,dim)[0]",
    "g[..., 0]": "g[…,0]",
    "inverse(A + B) @ C": "(A+B)^(−1)@C",
    "cat([a, b], dim=dim)": "cat([a,b],dim)",
    "reshape(a, (2, -1))": "reshape(a,(2,−1))",
    "C * H // group": "⌊(C⋅H)/(group)⌋",
    "a * (b % c)": "a⋅(b mod c)",
}


def line(element):
    """MathML as a line of text."""
    inside = [line(child) for child in element]
    match element.tag:
        case "mfrac":
            return f"({inside[0]})/({inside[1]})"
        case "msup":
            return f"{inside[0]}^({inside[1]})"
        case "msub" | "munder":
            return f"{inside[0]}_({inside[1]})"
        case "msqrt":
            return f"√({''.join(inside)})"
        case "mtable":
            return f"[{'; '.join(inside)}]"
        case "mtr":
            return ", ".join(inside)
    return (element.text or "").replace("\N{NO-BREAK SPACE}", " ") + "".join(inside)


def test_tricky_formulas():
    def check(text):
        assert line(ElementTree.fromstring(typeset(formulas.parsed(text)))) == TRICKY[text]

    each(TRICKY, check)


def test_a_name_and_its_formula():
    shown = typeset(formulas.parsed("a == b"), "hit")
    assert line(ElementTree.fromstring(shown)) == "hit=[1, if a=b; 0, otherwise]"
    assert line(ElementTree.fromstring(typeset("in < words", "y"))) == "y=in < words"


def test_an_expression_that_the_language_lacks_is_refused():
    with pytest.raises(ValueError, match="lambda"):
        typeset(formulas.parsed("lambda x: x"))


def test_every_formula_of_every_rule():
    def check(name):
        for text in rules.rule_texts(RULES[name]):
            read = formulas.read(text)
            for left, right in (*read.claims, *read.definitions.items()):
                root = ElementTree.fromstring(typeset(right, left))
                assert root.tag == "math"
                if not isinstance(right, str):
                    shown = line(root)
                    words = {x for x in formulas.names_in(right) if len(x) > 3 and x.isalpha()} - OTHERWISE
                    assert not {x for x in words if x not in shown}, shown

    each(list(RULES), check)


OTHERWISE = {"alpha", "beta", "delta", "sigma", "theta", "lambd", "keepdim"}
"""Names that are set as another letter, or left out."""
