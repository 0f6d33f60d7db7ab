"""What a trace shows of each rule is true of the numbers in the trace: the operands are those of the texts, by their real names."""

import ast
import contextlib
import math
import re
import warnings

import numpy as np
import pytest
from formulas import VOCABULARY
from operations import CALLS
from test_rule_texts import UNEVALUATED, tensors_in
from test_words_of_rules import can_be_looked_up

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.ops.rule import RULES
from autograd_lab.tracing import formulas, rules
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.words import NAMES, WORDS


def recorded(call):
    """The trace of a call and of a backward pass from all its results."""
    tensors = call.tensors(torch)
    with warnings.catch_warnings(), lab.record() as trace:
        warnings.simplefilter("ignore")
        outs = [t for t in tensors_in(call.run(torch, tensors)) if t.requires_grad]
        seeds = [torch.tensor(np.linspace(-1, 2, t.numel()), dtype=t.dtype).reshape(t.shape) for t in outs]
        with contextlib.suppress(RuntimeError, NotImplementedError):  # as in PyTorch, see test_operations.py
            torch.autograd.backward(outs, seeds)
    return trace


def array(trace, v):
    """Value `v` of a trace as an array; None if there is none, or only its outline."""
    value = None if v is None else trace.values[v]
    if value is None or "data" not in value:
        return None
    kind = value["dtype"] if value["dtype"] in ("int64", "int32", "bool") else "float64"
    return np.array(value["data"], kind).reshape(value["shape"])


def unexplained(trace):
    """What the formulas and sentences of a trace name, and nobody can look up or find among the tensors."""
    for n in range(len(trace.nodes)):
        shown = trace.names.of(n)
        texts = [rules.forward(trace, n)[0], *[part for sent in rules.sends(trace, n) for part in sent]]
        called = {word for text in texts for word in re.findall(r"(?<![\w.])(\w+)\(", text)}
        yield from (word for word in called - WORDS.keys() if not can_be_looked_up(word))
        yield from (found for text in texts for found in re.findall(r"\bif\b.+\belse\b.*", text))  # undecided
        known = {*shown.tensors, *shown.lists, *shown.call.definitions, *NAMES, "nothing", "g", "gs"}
        yield from (name for name in shown.stated.letters - known if not re.fullmatch(r"g\d+", name))
    say = Narrator(trace).sentence
    for k in range(len(trace) + 1):
        yield from re.findall(r"operand \d.*", say(k))


@pytest.fixture(autouse=True)
def _nearly_equal(monkeypatch):
    """A trace has six digits of each number, so that equal ones need not be quite equal any more."""
    monkeypatch.setitem(
        formulas._BINARY, ast.Eq, lambda a, b: np.isclose(a, b) if isinstance(a, np.ndarray) else a == b
    )


def faults(call):
    """(how many claims were compared, those that are false)."""
    trace, compared = recorded(call), 0
    wrong = [f"{call.name}: {word} is not explained" for word in unexplained(trace)]
    for event in trace.events:
        if event["k"] != "vjp" or trace.nodes[event["n"]]["name"] != call.rule:
            continue
        n = event["n"]
        shown = trace.names.of(n)
        inner = trace.nodes[n].get("inner")
        things = {}
        for letter, t in shown.tensors.items():
            v = trace.tensors[t]["value"]
            if shown.written_into and shown._is_result(letter):
                v = trace.names.after.get(n)
            elif not shown._is_result(letter):
                v = trace.names.then.get((n, t), v)
            things[letter] = array(trace, v)
        for letter, several in shown.lists.items():
            things[letter] = tuple(
                array(trace, trace.tensors[shown.places[i]]["value"]) if isinstance(i, int) else i
                for i in several
            )
        incoming = [
            np.zeros(trace.tensors[t]["shape"] if 0 not in trace.tensors[t]["shape"] else ())
            if v is None
            else array(trace, v)
            for t, v in zip(trace.nodes[n]["outputs"], event["in"], strict=False)
        ]
        things |= {"g": incoming[0], "gs": incoming} | {f"g{k}": g for k, g in enumerate(incoming)}
        names = {k: x for k, x in things.items() if x is not None}
        for i, v in enumerate(event["out"]):
            sent = array(trace, v)
            letter, formula = shown.call.sends[i] if i < len(shown.call.sends) else ("", "")
            if sent is None or inner is not None:
                continue
            try:
                whole, needed = formulas.inlined(formula, shown.call.definitions)
                with np.errstate(all="ignore"):
                    for _ in needed:
                        for name, part in needed.items():
                            if name not in names and formulas.names_in(part) <= names.keys():
                                names[name] = formulas.evaluate(part, names, VOCABULARY)
                    found = np.asarray(formulas.evaluate(whole, names, VOCABULARY), float)
            except KeyError:  # a value that the trace has no room for, or a parameter that is an array
                continue
            if found.shape != sent.shape and math.prod(found.shape) != math.prod(sent.shape):
                found = (
                    np.broadcast_to(found, sent.shape)
                    if found.ndim == 0
                    else VOCABULARY["sum_to_size"](found, sent.shape)
                )
            compared += 1
            if not np.allclose(found, sent, 1e-4, 1e-4, equal_nan=True):
                wrong.append(
                    f"{call.name}: to {letter}: {shown.sent(i)} is {found.tolist()}, not {sent.tolist()}"
                )
    return compared, wrong


@pytest.mark.parametrize("rule", sorted({call.rule for call in CALLS} & RULES.keys() - UNEVALUATED.keys()))
def test_what_a_trace_shows_is_what_was_sent(rule):
    wrong = [fault for call in CALLS if call.rule == rule for fault in faults(call)[1]]
    assert not wrong, "\n".join(wrong[:4])


@pytest.mark.parametrize(
    "write",
    ["v.mul_(w)", "v.div_(w)", "v.sub_(w, alpha=2)", "v.exp_()", "v.pow_(3)", "v.zero_()", "v.copy_(w)", "v.fill_(w[0])", "v.clamp_(max=2.5)",
     "v.addcmul_(w, w)", "v.masked_fill_(v > 2, 0.0)", "b[1:] = w", "b[1:].mul_(w)", "b[1:].sigmoid_()"],
)  # fmt: skip
def test_what_copy_slices_shows_is_what_it_sends(write):
    """The base gets g, its slice by the rule inside; the other operands are sent the rule's share for the slice."""
    a = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    w = torch.tensor([4.0, 0.5], requires_grad=True)
    with lab.record() as trace:
        b = a * 1
        v = b[1:]
        old = v.detach().clone().numpy()
        exec(write, {"b": b, "v": v, "w": w})
        new = b.detach()[1:].clone().numpy()
        b.backward(torch.tensor([5.0, 7.0, -3.0]))
    event = next(e for e in trace.events if e["k"] == "vjp" and trace.nodes[e["n"]]["name"] == "CopySlices")
    shown = trace.names.of(event["n"])
    things = {"g": np.array([7.0, -3.0]), "a": old, "y": new}
    for letter in shown.tensors:
        things.setdefault(letter, new if shown._is_result(letter) else old if letter == "self" else None)
    for i, t in enumerate(trace.nodes[event["n"]]["inputs"][1:], 1):
        things["abc"[i]] = array(trace, trace.tensors[t]["value"])
    things |= {name: things["a"] > 2 for name in ("mask",) if name in things}
    for i, v in enumerate(event["out"]):
        if v is None:
            continue
        formula, needed = formulas.inlined(shown.call.sends[i][1], shown.call.definitions)
        assert not needed
        found = np.asarray(formulas.evaluate(formula, things, VOCABULARY), float)
        sent = array(trace, v)
        whole = (
            np.concatenate([[5.0], np.broadcast_to(found, 2)])
            if i == 0
            else VOCABULARY["sum_to_size"](found, sent.shape)
        )
        assert np.allclose(whole, sent, 1e-4), (rules.sends(trace, event["n"])[i], whole, sent)
        text = rules.sends(trace, event["n"])[i][1]
        assert text == "g" or (i == 0) == text.startswith("g, with "), text


def test_most_claims_can_be_compared():
    compared = sum(bool(faults(call)[0]) for call in CALLS[::40])
    assert compared > 0.6 * len(CALLS[::40])
