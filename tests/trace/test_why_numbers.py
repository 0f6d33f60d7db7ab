"""What lab.why says about zeros and nans is true: random programs at special points against an oracle of their own.

A program is a chain of lines, `h1 = ...(h0)`, `h2 = ...(h1)`, each also written in NumPy with float64. The oracle knows nothing of the
engine: local derivatives are differences of the NumPy functions from both sides, gradients are products of them.
"""

import linecache
import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import autograd_lab
from autograd_lab import lab

pytestmark = pytest.mark.slow  # hundreds of random programs, on two libraries

try:
    import torch as pytorch
except ImportError:
    pytorch = None

ENGINES = {"autograd_lab": (autograd_lab, lab.record)} | (
    {} if pytorch is None else {"torch": (pytorch, lab.record_torch)}
)
C = np.array([0.5, 0.0, -1.0])
M = np.array([[1.0, -1.0, 0.5], [2.0, 0.0, 1.0], [0.0, 1.0, -1.5]])


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def normalize(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


def clamped(x):
    return np.clip(x, -1, 1)


#: A line of a program, and what it computes. Each takes 3 numbers and gives 3.
LINES = {
    "torch.relu({h})": lambda x: np.where(x > 0, x, 0 * x),
    "torch.sigmoid({h})": lambda x: 1 / (1 + np.exp(-x)),
    "torch.tanh({h})": np.tanh,
    "{h}.clamp(-1, 1)": clamped,
    "torch.round({h})": np.round,
    "torch.floor({h} * 2)": lambda x: np.floor(x * 2),
    "{h} ** 2": lambda x: x**2,
    "{h} ** 3": lambda x: x**3,
    "torch.cos({h})": np.cos,
    "{h} * mask": lambda x: x * np.array([1.0, 0.0, 1.0]),
    "{h} * 0.0": lambda x: x * 0.0,
    "{h} * 1e-12": lambda x: x * 1e-12,
    "{h} * 1000.0": lambda x: x * 1000.0,
    "-{h}": lambda x: -x,
    "{h} + c": lambda x: x + C,
    "{h} - c": lambda x: x - C,
    "m @ {h}": lambda x: M @ x,
    "{h} - {h}.mean()": lambda x: x - x.mean(),
    "{h} / {h}.sum()": lambda x: x / x.sum(),
    "{h} - 2 * {h}": lambda x: -x,
    "torch.softmax({h}, 0)": softmax,
    "torch.log_softmax({h}, 0)": lambda x: x - x.max() - np.log(np.exp(x - x.max()).sum()),
    "F.layer_norm({h}, (3,))": normalize,
    "torch.maximum({h}, c)": lambda x: np.maximum(x, C),
    "torch.where(c > 0, {h}, c)": lambda x: np.where(C > 0, x, C),
    "{h}[torch.tensor([0, 0, 2])]": lambda x: x[[0, 0, 2]],
    "{h}[0] + c": lambda x: x[0] + C,
    "{h}.sqrt()": np.sqrt,
    "{h}.log()": np.log,
    "1 / {h}": lambda x: 1 / x,
    "{h}.exp()": np.exp,
    "{h}.abs()": np.abs,
    "c / {h}": lambda x: C / x,
    "torch.acos({h})": np.arccos,
    "{h} ** 0.5": lambda x: x**0.5,
}
ENDS = {"{h}.sum()": lambda x: x.sum()[None], "{h}.mean()": lambda x: x.mean()[None], "({h} * c).sum()": lambda x: (x * C).sum()[None],
        "{h}.max()": lambda x: x.max()[None], "{h}[0]": lambda x: x[:1]}  # fmt: skip
POINTS = st.sampled_from([0.0, 1.0, -1.0, 2.0, -3.0, 0.5, 40.0, -120.0, 1e-3])


@st.composite
def programs(draw):
    """(the three numbers it starts from, its lines)."""
    x = draw(st.lists(POINTS, min_size=3, max_size=3))
    lines = draw(st.lists(st.sampled_from(list(LINES)), min_size=1, max_size=4))
    if draw(st.integers(0, 3)) == 0:
        lines = lines[:1] * draw(st.integers(5, 60))
    return x, [*lines, draw(st.sampled_from(list(ENDS)))]


def run(engine, x, lines):
    """Run a program under a recorder; returns its namespace, with the recording as `trace`."""
    torch, record = ENGINES[engine]
    body = [f"h{i + 1} = {line.format(h=f'h{i}')}" for i, line in enumerate(lines)]
    source = "\n".join([
        f"h0 = torch.tensor({x}, requires_grad=True)", "c, m, mask = constants",
        "with record() as trace:", *(f"    {line}" for line in body), f"    h{len(body)}.backward()",
    ]) + "\n"  # fmt: skip
    name = "<chain>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    constants = [torch.tensor(a.tolist()) for a in (C, M, np.array([1.0, 0.0, 1.0]))]
    scope = {"torch": torch, "F": torch.nn.functional, "record": record, "constants": constants}
    exec(compile(source, name, "exec"), scope)
    return scope


FIRST = 4  # the line of the source on which h1 is made


class Oracle:
    """The same program in float64, by differences."""

    def __init__(self, x, lines):
        self.fns = [(LINES | ENDS)[line] for line in lines]
        self.h = [np.array(x)]
        for fn in self.fns:
            self.h.append(np.atleast_1d(fn(self.h[-1])))
        self.slopes = [
            self.jacobians(fn, np.nan_to_num(h, nan=1.0)) for fn, h in zip(self.fns, self.h, strict=False)
        ]
        self.g = [np.ones(1)]
        for (left, right), _ in zip(reversed(self.slopes), lines, strict=True):
            self.g.insert(0, ((left + right) / 2).T @ self.g[0])

    @staticmethod
    def jacobians(fn, x):
        """The derivatives from the left and from the right."""
        columns = []
        for sign in (-1, 1):
            found = []
            for i in range(len(x)):
                step = sign * 1e-6 * max(1.0, abs(x[i])) * np.eye(len(x))[i]
                found.append(np.atleast_1d((fn(x + step) - fn(x)) / step[i]))
            columns.append(np.array(found).T)
        return columns

    def has_a_say(self, scope, i):
        """Whether differences in float64 can tell about line i: float32 computed about the same, and nothing is extreme or a near tie."""
        values = [scope[f"h{j}"].detach().numpy().reshape(-1) for j in range(len(self.h))]
        same = all(np.allclose(v, h, rtol=1e-3, atol=1e-6) for v, h in zip(values, self.h, strict=False))
        tie = any(0 < abs(a - b) < 1e-5 for a in self.h[-2] for b in self.h[-2])
        steep = any(abs(j).max() > 100 for j in self.slopes[i]) or np.ptp(self.h[i]) > 15
        return (
            same
            and not tie
            and not steep
            and bool(np.isfinite(self.g[i + 1]).all())
            and abs(self.g[i + 1]).max() > 1e-5
        )

    def flat(self, i, passed=False):
        """Whether line i has an element whose derivatives are 0: from one side at least, or in the middle of a kink.

        passed  only of the results for which a gradient comes in
        """
        if abs(np.nan_to_num(self.h[i])).max() > 1e5:
            return True  # too coarse a step to tell
        left, right = (np.nan_to_num(j, nan=0.0) for j in self.slopes[i])
        scale = 1e-5
        zero = (abs(left) < scale) | (abs(right) < scale) | (abs(left + right) < scale)
        if passed:
            zero |= self.g[i + 1][:, None] == 0
        return bool(zero.all(axis=0).any())

    def summed(self, i):
        """Whether line i has an element with derivatives that are not 0, and terms that cancel."""
        left, right = self.slopes[i]
        terms = (left + right) / 2 * self.g[i + 1][:, None]
        size = abs(terms).sum(axis=0)
        return bool(((size > 0) & (abs(terms.sum(axis=0)) <= 1e-4 * size)).any())

    def constant(self, i):
        """Whether the result of line i, or of the line after it, weighted by its gradient, is the same for quite other numbers."""
        points = [self.h[i] + d for d in np.random.default_rng(0).normal(size=(5, len(self.h[i])))]
        for fn, g in zip(self.fns[i : i + 2], self.g[i + 1 : i + 3], strict=False):
            points = [np.atleast_1d(fn(x)) for x in points]
            if np.ptp([g @ x for x in points]) <= 1e-6 * max(1e-300, abs(g).max()):
                return True
        return False


FLAT = {
    "dead-relu", "clamped", "flat-function", "flat-here", "saturated", "not-chosen", "multiplied-by-zero", "replaced",
}  # fmt: skip
SUMS = {"cancellation", "broadcast-cancels"}
SMALL = {"underflow", "vanishing"}
FORWARD = {
    "outside-domain", "log-of-zero", "nan-forward", "overflow-forward", "inf-minus-inf", "zero-times-inf", "masked-row",
}  # fmt: skip


def expected(oracle, scope):
    """The causes there can be by the oracle: flat or a sum, if all that came to one line ended there; None if it does not tell."""
    for i in reversed(range(len(oracle.fns))):
        if not oracle.has_a_say(scope, i):
            return None
        left, right = oracle.slopes[i]
        terms = (left + right) / 2 * oracle.g[i + 1][:, None]
        size = abs(terms).sum(axis=0)
        if (
            np.allclose(left, right, atol=1e-5)
            and (abs(terms.sum(axis=0)) <= 1e-7 * abs(oracle.g[i + 1]).max()).all()
        ):
            if (size > 1e-3 * abs(oracle.g[i + 1]).max()).all():
                return (
                    SUMS | {"constant-sum"} | FLAT
                )  # something flat further on may have swallowed the rounding that was left
            return FLAT | SMALL if not size.any() else None
    return None


def named_line(answer, lines):
    """The place in the chain of the line that the answer is about."""
    places = [line.number - FIRST for line in answer.lines if 0 <= line.number - FIRST < len(lines)]
    assert places, answer
    return places


NUMBER = r"-?(?:\d+\.?\d*(?:e[+-]?\d+)?|inf|nan)"


def check_prose(answer, scope):
    """The numbers in the sentences are those of the tensors, and its sums and products are right."""
    text = " ".join(answer.sentences)
    for name, place, value in re.findall(rf"\b(h\d+|c|m|mask)\[([\d, ]+)\] = ({NUMBER})", text):
        if name in scope:
            found = scope[name].detach().numpy()[tuple(int(i) for i in place.split(","))]
            assert np.isclose(float(found), float(value), rtol=1e-3, atol=1e-30, equal_nan=True), answer
    for a, b, product in re.findall(rf"({NUMBER}) \* ({NUMBER}) = ({NUMBER})", text):
        assert math.isclose(float(a) * float(b), float(product), rel_tol=1e-2, abs_tol=0.0), answer
    for terms, left in re.findall(rf"the terms ([^:;]*?) add up to ({NUMBER})", text):
        numbers = [float(t) for t in re.findall(NUMBER, re.sub(r"\d+ more", "", terms))]
        if "more" not in terms:
            assert len(numbers) > 1, answer
            assert all(numbers), answer
            assert abs(sum(numbers)) <= 2e-3 * sum(map(abs, numbers)), answer
            assert abs(float(left)) <= 1e-4 * sum(map(abs, numbers)), answer
    for k, n, name, be in re.findall(r"(\d+) of the (\d+) elements of (\w+)\.grad (is|are) 0", text):
        assert be == ("is" if k == "1" else "are"), text
        grad = scope[name].grad
        assert (int(k), int(n)) == (int((grad == 0).sum()), grad.numel()), answer


def check_answer(answer, x, lines, scope):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        oracle = Oracle(x, lines)
        grad = scope["h0"].grad.numpy()
        check_prose(answer, scope)
        possible = expected(oracle, scope) if np.isfinite(grad).all() else None
        assert possible is None or answer.cause in possible, answer
        if answer.cause in FLAT:
            assert any(oracle.flat(i) for i in named_line(answer, lines)), answer
        elif answer.cause in SUMS:
            # Of a line that uses its operand twice, two messages may cancel.
            several = [i for i in named_line(answer, lines) if lines[i].count("{h}") > 1]
            told = [oracle.summed(i) or not oracle.has_a_say(scope, i) for i in named_line(answer, lines)]
            assert any(told) or any(oracle.flat(i, passed=True) for i in several), answer
        elif answer.cause == "constant-sum":
            assert any(
                oracle.constant(i) or not oracle.has_a_say(scope, i) for i in named_line(answer, lines)
            ), answer
        elif answer.cause in SMALL:
            w = scope["h0"].detach().numpy()
            assert abs(grad).max() < 1e-12 or (w - grad == w).all(), answer
            # Differences are too coarse for numbers as small as these.
            rough = min(abs(h[h != 0]).min(initial=1.0) for h in oracle.h) < 1e-4
            assert (
                answer.cause != "underflow"
                or rough
                or np.nanmin(np.where(grad == 0, abs(oracle.g[0]), 1.0)) < 1e-37
            ), answer
        elif answer.cause in FORWARD | {"nan-backward", "nan-where", "overflow"}:
            check_birth(answer, lines, scope, grad)
        elif answer.cause == "unknown":
            assert not any(oracle.has_a_say(scope, i) for i in named_line(answer, lines)), answer
        else:
            assert answer.cause == "as-computed", answer
            assert np.isfinite(grad).all(), answer
            assert (grad != 0).any(), answer
    return answer.cause


def check_birth(answer, lines, scope, grad):
    """Nothing before the line that is named was nan or inf; that line, or its derivative, is."""
    assert not np.isfinite(grad).all() or answer.cause in FORWARD, answer
    values = [scope[f"h{i}"].detach().numpy() for i in range(len(lines) + 1)]
    i = min(named_line(answer, lines))
    assert np.isfinite(values[i]).all(), answer
    if answer.cause in FORWARD:
        assert not np.isfinite(values[i + 1]).all(), answer
    elif answer.cause != "nan-where":
        assert np.isfinite(values[i + 1]).all(), answer


@pytest.mark.parametrize("engine", list(ENGINES))
@settings(max_examples=200, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs())
@example(([1.0, 2.0, 4.0], ["torch.softmax({h}, 0)", "{h}.sum()"]))
@example(([1.0, 2.0, 4.0], ["{h} - {h}.mean()", "{h}.mean()"]))
@example(([1.0, 2.0, 4.0], ["{h}[0] + c", "{h} - {h}.mean()", "({h} * c).sum()"]))
@example(([1.0, 2.0, 4.0], ["torch.sigmoid({h})"] * 70 + ["{h}.mean()"]))
@example(([2.0, 3.0, -4.0], ["{h}.sqrt()", "{h} + c", "{h}.exp()", "{h}.sqrt()", "{h}.sum()"]))
@example(([0.0, 0.0, 0.0], ["1 / {h}", "1 / {h}", "{h}.sqrt()", "{h}.sum()"]))
def test_the_cause_of_a_zero_or_a_nan_is_the_oracles(engine, program):
    x, lines = program
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scope = run(engine, x, lines)
        answer = scope["trace"].why(scope["h0"])
    check_answer(answer, x, lines, scope)
