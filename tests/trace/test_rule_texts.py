"""Every rule's text is true: Math gives the result and VJP what is sent, for each node that the table of calls makes."""

import contextlib
import functools
import math
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
import structures

import autograd_lab as torch
from autograd_lab.autograd.metadata import unbroadcast
from autograd_lab.autograd.modes import THREAD
from autograd_lab.autograd.saved import FREED
from autograd_lab.autograd.variable import NO_EDGE, Variable
from autograd_lab.ops.rule import RULES
from autograd_lab.tracing import formulas, jacobian, rules
from autograd_lab.tracing.builder import _further

sys.path.insert(0, str(Path(__file__).parents[1]))
from formulas import VOCABULARY
from operations import CALLS

pytestmark = pytest.mark.slow  # the texts of all rules are evaluated for every call in operations.py

UNEVALUATED = {
    "CtcLossBackward0": "a sum over all paths, which the rule counts step by step",
    "LinalgHouseholderProductBackward0": "a loop over the reflections, each of which changes what the next one sees",
    "NotImplemented": "the name that all operations without a derivative share: nothing is shown",
    "MultilabelMarginLossBackward0": "all pairs of classes, listed in rows that end at their first -1",
}
"""Rules whose text is words and cannot be evaluated, and why. No notebook runs one of them."""

rng = np.random.default_rng(7)


class Watcher:
    """Stands in the recorder's place and holds each node against the text of its rule when it is made."""

    def __init__(self):
        self.seen = {}  # rule -> how many claims about results and operands were compared
        self.wrong = {}  # rule -> what did not agree
        self.known = {}
        self.kinds = {}  # the words said of Jacobians, and how often they were compared
        self.call = ""

    def __getattr__(self, name):
        return lambda *args, **kwargs: None

    def operation(self, rule, inputs, outputs, node, args):
        if node is not None:
            self.compare(
                rule, inputs, outputs, node, [t._data if isinstance(t, Variable) else t for t in inputs]
            )
        for t in (*inputs, *outputs):
            if isinstance(t, Variable):
                self.known[id(t)] = t, np.array(t._data)

    def writing(self, target, *_):
        self.known[id(target)] = target, np.array(target._data)

    def written(self, rule, inputs, target, node, name, args):
        arrays = [t._data if isinstance(t, Variable) else t for t in inputs]
        if id(target) in self.known:
            arrays[0] = self.known[id(target)][1]
        else:
            arrays[0] = np.full(arrays[0].shape, np.nan, arrays[0].dtype)  # what it held is not known
        if node is not None:
            self.compare(rule, inputs, (target,), node, arrays)
        self.known[id(target)] = target, np.array(target._data)

    def compare(self, rule, inputs, outputs, node, arrays):
        state = THREAD.state
        grad, watch = state.grad, state.watch
        state.grad, state.watch = False, None
        state.refresh()
        try:
            with np.errstate(all="ignore"):
                self._compare(type(node), outputs, node, arrays)
        finally:
            state.grad, state.watch = grad, watch
            state.refresh()

    def _compare(self, rule, outputs, node, arrays):
        name = rule.__name__
        if node.kind != "op" or not hasattr(rule, "inputs"):
            return
        count = self.seen.setdefault(name, [0, 0])
        extras = getattr(rule, "extras", 0)
        given = arrays[: len(arrays) - extras]
        saved = (
            dict(zip(rule.inputs[len(rule.inputs) - extras :], arrays[len(arrays) - extras :], strict=True))
            if extras
            else {}
        )
        values = (
            [t._data if isinstance(t, Variable) else t for t in node.saved] if node.saved is not FREED else []
        )
        saved |= {n: x for n, x in zip(node.saves, values, strict=False) if n not in saved and x is not None}
        params, rest = {}, {}
        for key, x in zip((*node.keeps, *_further(rule)), node.args, strict=False):
            plain = isinstance(x, bool | int | float | str | None) or (
                isinstance(x, tuple | list) and all(isinstance(y, bool | int | float | str | None) for y in x)
            )
            params[key] = x if plain else f"<{type(x).__name__}>"
            if not plain:
                rest[key] = x
        call = rules.bound(
            rule, rules.rule_texts(rule), given, [t._data for t in outputs], saved, params, np.shape
        )
        gs = [
            rng.normal(size=t._data.shape).astype(t._data.dtype)
            if t._data.dtype.kind == "f" and (node.plain or t._data.size)  # an empty result was not asked for
            else None
            for t in outputs
        ]
        for left, right in call.maths:
            if left in call.things and np.size(call.things[left]) == 0 and not node.plain:
                continue
            if np.size(given[0]) and np.isnan(given[0]).all() and "a" in formulas.names_in(right):
                continue
            self.claim(name, call, left, right, call.things.get(left), rest, count, 0)
        for nr in range(len(outputs)):
            left = "y" if len(outputs) == 1 else f"y{nr}"
            if gs[nr] is not None and not any(call.things.get(k) is call.things[left] for k, _ in call.maths):
                self.fault(name, f"no Math for {left}")
        try:
            sent = node.vjp(gs[0] if node.plain else gs[: node.n_outputs], *values)
        except (NotImplementedError, RuntimeError) as error:  # PyTorch has no derivative either
            if "implemented" not in str(error):
                return  # the gradient cannot be sent: there is none to compare with
            sent = (None,) * len(node._edges)
        self.structures(node, values, given, outputs[0]._data)
        sent = sent if isinstance(sent, tuple) else (sent,)
        if node.broadcast is not None:
            sent = unbroadcast(node, sent)
        rest |= {"g": gs[0]} | {f"g{k}": 0.0 if g is None else g for k, g in enumerate(gs)}
        rest["gs"] = [np.zeros(t._data.shape) if g is None else g for t, g in zip(outputs, gs, strict=True)]
        for i, (edge, g) in enumerate(zip(node._edges, sent, strict=False)):
            if edge is NO_EDGE:
                continue
            letter, formula = call.sends[i] if i < len(call.sends) else ("", "")
            if isinstance(formula, formulas.ast.Name) and formula.id == "nothing":
                count[1] += 1
                if g is not None:
                    self.fault(name, f"operand {i} is sent {g}, not nothing")
                continue
            g = g._data if isinstance(g, Variable) else g
            if g is None:
                g = np.zeros(np.shape(given[i]))  # nothing is sent where the formula is zero
            self.claim(name, call, f"to {letter or i}", formula, g, rest, count, 1, given[i])

    def structures(self, node, values, given, out):
        """Hold the words about each local Jacobian against its numbers: those of a small one, and those known without them."""
        shapes = [np.shape(x) for x in given[: len(node._edges)]]
        if not node.plain or not 0 < out.size <= 40 or any(math.prod(s) > 40 for s in shapes):
            return
        try:
            found = jacobian.rows_of(node, values, out.shape, out.dtype)
        except (NotImplementedError, RuntimeError, np.linalg.LinAlgError):  # nothing is said of it then
            return
        wanted = [i for i, edge in enumerate(node._edges) if edge is not NO_EDGE and found[i]]
        dim = node.args[node.keeps.index("dim")] if "dim" in node.keeps else None
        params = dict(zip(node.keeps, node.args, strict=False))
        records = jacobian.described(type(node), wanted, found, shapes, out.shape, params)
        for i, record in zip(wanted, records, strict=True):
            matrix = np.array(found[i])
            said = {(record.get("structure"), record.get("formula", ""))}
            if np.isfinite(matrix).all():
                said.add(jacobian.declared(type(node), i, shapes, out.shape, params))
            for kind, formula in said:
                if kind and not structures.holds(kind, formula, matrix, given, out.shape, i, dim):
                    self.fault(
                        "Jacobian",
                        f"{type(node).__name__} operand {i}: {kind} {formula}: {matrix.tolist()}"[:400],
                    )
                self.kinds[kind] = self.kinds.get(kind, 0) + 1

    def claim(self, name, call, what, formula, right, rest, count, kind, operand=None):
        """Compare one claim with the value that the engine has for it."""
        count[kind] += 1
        if isinstance(formula, str):
            self.fault(name, f"{what}: {formula!r} is no formula")
            return
        names = {**{k: v for k, v in call.things.items() if v is not None}, **rest}
        try:
            formula, needed = formulas.inlined(formula, call.definitions)
            for _ in needed:
                for key, part in needed.items():
                    if key not in names and formulas.names_in(part) <= names.keys():
                        names[key] = formulas.evaluate(part, names, VOCABULARY)
            found = np.asarray(formulas.evaluate(formula, names, VOCABULARY))
        except Exception as error:  # whatever is wrong with a text is reported with its rule
            self.fault(name, f"{what}: {formulas.written(formula)}: {type(error).__name__}: {error}")
            return
        right = np.asarray(right)
        if formulas.is_constant(formula):
            found = np.broadcast_to(found, right.shape)  # a number is meant for every element
        if operand is not None and found.shape != right.shape:
            if not found.ndim:
                found = np.broadcast_to(found, right.shape)
            elif _spans(found.shape, right.shape):
                found = VOCABULARY["sum_to_size"](found, right.shape)
        loose = 2e-2 if right.dtype.itemsize == 2 else 1e-4 if right.dtype.itemsize == 4 else 1e-7
        if found.shape != right.shape or not np.allclose(
            found.astype(float),
            right.astype(float),
            loose,
            loose * (1 + np.abs(right[np.isfinite(right)]).max(initial=0)) * 0.1,
            True,
        ):
            self.fault(
                name, f"{what}: {formulas.written(formula)} is {found.tolist()}, not {right.tolist()}"[:600]
            )

    def fault(self, name, text):
        self.wrong.setdefault(name, []).append(f"[{self.call}] {text}")


def _spans(large, small):
    """Whether broadcasting makes the shape `large` of `small`."""
    pairs = zip(small[::-1], large[::-1], strict=False)
    return len(small) <= len(large) and all(n in (1, m) for n, m in pairs)


def tensors_in(result):
    """The tensors of a result, which may be a tuple of tuples."""
    if isinstance(result, tuple | list):
        return [t for part in result for t in tensors_in(part)]
    return [result] if isinstance(result, Variable) else []


@functools.cache
def run():
    """All calls of the table, forward and backward, under one watcher."""
    watcher = Watcher()
    state = THREAD.state
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for call in CALLS:
            watcher.call = call.name
            state.watch = watcher
            state.refresh()
            try:
                try:
                    result = call.run(torch, call.tensors(torch))
                except (RuntimeError, TypeError, ValueError, IndexError) as error:
                    watcher.fault(call.rule, f"the call fails: {error}")
                    continue
                outs = [t for t in tensors_in(result) if t.requires_grad]
                if outs:
                    gs = [
                        torch.tensor(rng.normal(size=tuple(t.shape)), dtype=t.dtype, requires_grad=True)
                        for t in outs
                    ]
                    with contextlib.suppress(NotImplementedError, RuntimeError):
                        torch.autograd.backward(outs, gs, create_graph=True)
            finally:
                state.watch = None
                state.refresh()
    return watcher


NO_NODES = {
    *[
        "GeneralRule",
        "Flat",
        "Gate",
        "Reduction",
        "Selection",
        "ShapeRule",
        "TwoMatrices",
        "DrawRule",
        "Ordering",
        "Adjoint",
    ],
    *[
        "_Unpadded",
        "_ByPlace",
        "_Resized",
        "_NearestGradient",
        "_Pointwise",
        "_Gradient",
        "_Factored",
        "_Winners",
    ],
    *["UpsampleNearestBackward0", "UpsampleLinearBackward0", "UpsampleLinearBackwardBackward0"],
    *[
        "_bitwise_and",
        "_bitwise_or",
        "_bitwise_xor",
        "_bitwise_left_shift",
        "_bitwise_right_shift",
        "_bitwise_not",
    ],
    *["_logical_and", "_logical_or", "_logical_xor", "_logical_not"],
}
"""Rules that never become nodes: base classes of others, and operations on integers and booleans, written in place."""


@pytest.mark.parametrize("name", sorted(RULES.keys() - NO_NODES))
def test_the_text_is_true(name):
    watcher = run()
    assert name in watcher.seen, "no call in tests/operations.py makes this node"
    assert all(rules.rule_texts(RULES[name])) or name == "NotImplemented"
    if name not in UNEVALUATED:
        assert not watcher.wrong.get(name), "\n".join(watcher.wrong[name][:4])
        assert all(watcher.seen[name])


def test_what_is_said_of_local_jacobians_is_true():
    watcher = run()
    assert not watcher.wrong.get("Jacobian"), "\n".join(watcher.wrong["Jacobian"][:9])
    assert sum(watcher.kinds.values()) > 3000
    panel = (Path(torch.__file__).parent / "widgets/assets/panels.js").read_text(encoding="utf-8")
    words = re.search(r"const STRUCTURES = {\n(.*?)};", panel, re.DOTALL)[1]
    assert set(re.findall(r'^ *"?([\w ]+?)"?: "', words, re.MULTILINE)) == watcher.kinds.keys() - {
        "number",
        "",
        None,
    }


def test_few_texts_are_words():
    assert len(UNEVALUATED) <= 15
    assert all(run().wrong[name] for name in UNEVALUATED)  # a text that is a formula now needs no excuse
    assert not NO_NODES & run().seen.keys()


if __name__ == "__main__":  # a table of what is wrong: python tests/trace/test_rule_texts.py [page]
    watcher = run()
    pages = sys.argv[1:]
    bad = unseen = 0
    for name, rule in RULES.items():
        page = rule.__module__.rpartition(".")[2]
        if (pages and page not in pages and name not in pages) or name in NO_NODES:
            continue
        if name not in watcher.seen:
            unseen += 1
            print(f"{page}: {name}: no call")
        elif name in watcher.wrong:
            bad += 1
            print(
                f"{page}: {name}: {len(watcher.wrong[name])} wrong\n    "
                + "\n    ".join(w[:230] for w in watcher.wrong[name][:3])
            )
    print("\n".join(watcher.wrong.get("Jacobian", [])), watcher.kinds)
    print(f"{bad} wrong, {unseen} without a call")
