"""A formula on the screen uses a variable's name for that variable only, whatever the program's variables are called."""

import ast
import linecache
import random
import re
from dataclasses import replace

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace, formulas, rules

LETTERS = [
    *"abcdefghikmnpqrstuvwxyz",
    *[
        "y_",
        "d_",
        "g_",
        "y0",
        "y1",
        "g0",
        "g1",
        "dim",
        "beta",
        "alpha",
        "other",
        "number",
        "index",
        "value",
        "grad",
        "grad_out",
    ],
    *["hit", "low", "high", "nothing", "operands", "indices", "gs", "mean", "result"],
]
LINES = [
    "{0} = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True)",
    "{1} = torch.tensor([[2.0, 1.0], [1.0, -1.0]], requires_grad=True)",
    "{2} = ({0} * 2 + {1}) ** 2",
    "{3} = torch.sigmoid({2} @ {1})",
    "{4} = 3; {5} = 1",
    "{6} = torch.nn.functional.layer_norm({3} / {4}, (2,))",
    "{7} = torch.amax({6} * {2}.sum({5}, keepdim=True), {5})",
    "{3} = torch.softmax({3}, {5}) - {4}",
    "{3}.mul_({1})",
    "{8} = torch.cat([{3}, {6}, {3}], {5})[:, 1:]",
    "{9} = {0}.max({5})[0] - {8}.var() + torch.nn.functional.mse_loss({7}, torch.ones(2), reduction='sum')",
    "({9}.mean() + {8}.sum()).backward()",
]
PHRASES = re.compile(
    r"\b(?:result (?:\d+ )?of \w+(?: #\d+)?|tensor without a name|summed to its shape|to every element|with|if|else|and|or|not|is|None)\b"
)
CONSTANTS = {"pi", "inf", "nan", "True", "False", "nothing"}


def program(seed):
    """Source code with variables in roles drawn by lot, and their names."""
    names = random.Random(seed).sample(LETTERS, 10)
    return "\n".join(line.format(*names) for line in LINES), names


def words(text):
    """The names in a formula: no functions, no names of arguments, no phrases."""
    text = PHRASES.sub(" ", text)
    return set(re.findall(r"(?<![\w.])[A-Za-z_]\w*(?![\w(]| *=(?!=))(?!\w*\()", text))


@pytest.mark.parametrize("seed", range(80))
def test_a_name_means_the_variable_that_has_it(seed):
    source, variables = program(seed)
    code = compile(source, f"<program {seed}>", "exec")
    linecache.cache[f"<program {seed}>"] = (len(source), None, source.splitlines(True), f"<program {seed}>")
    with lab.record() as trace:
        exec(code, {"torch": torch})
    checked = 0
    events = {e["n"]: e for e in trace.events if e["k"] == "vjp"}
    for n, node in enumerate(trace.nodes):
        math, _ = rules.forward(trace, n)
        sent = rules.sends(trace, n)
        own = {trace.tensors[t]["name"] for t in (*node["inputs"], *node["outputs"])}
        texts = [math, *[rule for _, rule in sent]]
        if n in events:
            texts += [term.rule for term in rules.terms(trace, n, events[n]["in"], events[n]["out"])]
        for text in filter(None, texts):
            right = re.sub(r"^[^=]* = ", "", text) if text == math else text
            defined = set(re.findall(r"(?:with |, )(\w+) = ", text))
            assert not defined & set(variables), text
            for word in words(right):
                checked += 1
                base = re.sub("[₀-₉]", "", word)
                if base in variables:
                    assert base in own, f"{node['name']}: {text} says {base}, which is another variable"
                else:
                    letters = {trace.names.gradient + nr for nr in ("", "0", "1")}
                    assert base in own | defined | letters | CONSTANTS, f"{node['name']}: {text}: {word}"
        labels = [to for to, _ in sent if to]
        ids = [t for t, (to, _) in zip(node["inputs"], sent, strict=False) if to]
        assert len(set(zip(labels, ids, strict=False))) == max(len(set(labels)), len(set(ids))), sent
    assert checked > 40


def test_names_are_worked_out_once_for_each_trace():
    with lab.record() as trace:
        torch.tensor(1.0, requires_grad=True).exp().backward()
    other = replace(Trace.from_json(trace.to_json()), title="another")
    assert trace.names is trace.names is rules.names_of(trace)
    assert other.names is not trace.names
    assert other.names.tensors == trace.names.tensors


def test_what_others_note_on_a_formulas_nodes_is_not_followed():
    """IPython's tracebacks note the parent of each node; the one of `ast.Load` is in all trees, until Python 3.13."""
    tree = ast.parse("a * exp(b)", mode="eval").body
    marked = [(node, child) for node in ast.walk(tree) for child in ast.iter_child_nodes(node)]
    for node, child in marked:
        child.parent = node
    try:
        assert formulas.names_in(tree) == {"a", "b"}
    finally:
        for _, child in marked:
            vars(child).pop("parent", None)
