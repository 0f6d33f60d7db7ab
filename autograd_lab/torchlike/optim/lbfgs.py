"""L-BFGS: quasi-Newton steps from the last few changes of the gradient, with a line search if asked for."""

import math

import numpy as np

from ..autograd.modes import WATCHERS, enable_grad, no_grad, watcher
from ..autograd.record import write
from ..autograd.variable import Variable, wrap
from .optimizer import Optimizer, check_rate, require, scalar


class LBFGS(Optimizer):
    """Limited-memory BFGS: `step(closure)` runs up to max_iter iterations, each along d = -H g (torch.optim.LBFGS).

    H is the inverse Hessian that the last history_size pairs (s: change of x, y: change of g) suggest.   line_search_fn:
    None (steps of length lr) or "strong_wolfe".   The closure clears the gradients, computes the loss, calls backward and
    returns the loss; max_eval (by default 5/4 of max_iter) bounds how often it is called.
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        check_rate(lr)
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        require(len(self.param_groups) == 1, "LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def __setstate__(self, state):
        super().__setstate__(state)
        self._params = self.param_groups[0]["params"]

    def step(self, closure):
        """Iterate until the gradient or the changes are small, or max_iter or max_eval is reached; returns the first loss."""
        with no_grad():
            return self._iterate(enable_grad()(closure))

    def _iterate(self, closure):
        group = self.param_groups[0]
        lr, small, smallest = scalar(group["lr"]), group["tolerance_grad"], group["tolerance_change"]
        search = group["line_search_fn"]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        loss, g = float(first_loss), self._gradient()
        calls = 1
        state["func_evals"] += 1
        if np.abs(g).max() <= small:
            return first_loss
        pairs = _Pairs(state, group["history_size"])
        d, t = _plain(state.get("d")), state.get("t")
        before, loss_before = _plain(state.get("prev_flat_grad")), state.get("prev_loss")
        for turn in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            if state["n_iter"] == 1:
                d = -g
            else:
                pairs.add(g - before, d * _like(t, d))
                d, shares = pairs.direction(g)
                kept = state.setdefault("al", [None] * group["history_size"])
                kept[: len(shares)] = [wrap(share) for share in shares]
            before, loss_before = g.copy(), loss
            total = float(np.abs(g).sum())
            t = lr if state["n_iter"] > 1 or not total else min(1.0, 1.0 / total) * lr
            slope = g.dot(d)
            if slope > -smallest:
                break
            new_calls = 0
            if search is not None:
                if search != "strong_wolfe":
                    raise RuntimeError("only 'strong_wolfe' is supported")
                start = [np.array(p._data) for p in self._params]

                def try_step(t, start=start, d=d):
                    self._move(t, d)
                    found = float(closure()), self._gradient()
                    for p, x in zip(self._params, start, strict=True):
                        _write(p, x)
                    return found

                left = group["max_eval"] - calls
                loss, g, t, new_calls = strong_wolfe(try_step, t, d, loss, g, slope, smallest, most=left)
                self._move(t, d)
            else:
                self._move(t, d)
                if turn != group["max_iter"]:
                    loss, new_calls = float(closure()), 1
                    g = self._gradient()
            calls += new_calls
            state["func_evals"] += new_calls
            if (
                calls >= group["max_eval"]
                or (new_calls and np.abs(g).max() <= small)
                or np.abs(d * _like(t, d)).max() <= smallest
                or abs(loss - loss_before) < smallest
            ):
                break
        state["d"], state["t"] = wrap(d), t
        pairs.store(state)
        state["prev_flat_grad"], state["prev_loss"] = wrap(before), loss_before
        return first_loss

    def _gradient(self):
        """All gradients as one vector, zeros where there is none."""
        return np.concatenate(
            [
                np.zeros(p._data.size, p._data.dtype) if p.grad is None else p.grad._data.reshape(-1)
                for p in self._params
            ]
        )

    def _move(self, t, d):
        """Go t times d: x <- x + t d."""
        start = 0
        for p in self._params:
            x = p._array()
            part = d[start : start + x.size].reshape(x.shape)
            _write(p, x + part * _like(t, part))
            start += x.size


class _Pairs:
    """The last changes of the gradient (y) and of the point (s), 1 / y.s of each, and the scale of the first guess of H."""

    def __init__(self, state, size):
        self.size = size
        self.y = [_plain(y) for y in state.get("old_dirs") or []]
        self.s = [_plain(s) for s in state.get("old_stps") or []]
        self.weights = [_plain(w) for w in state.get("ro") or []]
        self.scale = _plain(state.get("H_diag", 1))

    def add(self, y, s):
        """Take in one more pair, unless the curvature along it is not positive; the oldest goes if there are too many."""
        curvature = y.dot(s)
        if not curvature > 1e-10:
            return
        for kept, new in ((self.y, y), (self.s, s), (self.weights, y.dtype.type(1) / curvature)):
            if len(kept) == self.size:
                kept.pop(0)
            kept.append(new)
        self.scale = curvature / y.dot(y)

    def direction(self, g):
        """-H g by the two loops, through the pairs from the newest to the oldest and back, and the share of each pair."""
        q, shares = -g, []
        for y, s, weight in zip(self.y[::-1], self.s[::-1], self.weights[::-1], strict=True):
            shares.append(s.dot(q) * weight)
            q = q - y * shares[-1]
        d = q * self.scale
        for y, s, weight, share in zip(self.y, self.s, self.weights, shares[::-1], strict=True):
            d = d + s * (share - y.dot(d) * weight)
        return d, shares[::-1]

    def store(self, state):
        """Leave everything in the optimizer's state, as tensors."""
        state["old_dirs"], state["old_stps"] = [wrap(y) for y in self.y], [wrap(s) for s in self.s]
        state["ro"] = [wrap(w) for w in self.weights]
        state["H_diag"] = wrap(self.scale) if isinstance(self.scale, np.generic) else self.scale


def _plain(value):
    """A tensor's array; anything else as it is."""
    return value._data if isinstance(value, Variable) else value


def _like(number, array):
    """A number in the type of an array."""
    return array.dtype.type(number)


def cubic_minimum(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two points with these slopes is least, held within bounds (the points, if not given)."""
    low, high = bounds or (min(x1, x2), max(x1, x2))
    if x1 > x2:
        (x1, f1, g1), (x2, f2, g2) = (x2, f2, g2), (x1, f1, g1)
    d1 = float(g1 + g2 - 3 * (f1 - f2) / (x1 - x2))
    square = d1**2 - float(g1) * float(g2)
    if square < 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    bottom = float(g2 - g1 + 2 * d2)
    if bottom == 0:
        return low
    return min(max(x2 - (x2 - x1) * (float(g2) + d2 - d1) / bottom, low), high)


def strong_wolfe(try_step, t, d, f, g, slope, smallest, c1=1e-4, c2=0.9, most=25):
    """A step length along d with enough decrease (c1) and a slope that is flat enough (c2): bracket it, then zoom in.

    try_step(t) gives loss and gradient at the point t d away. Returns loss, gradient, step length and the number of calls.
    Source: Nocedal and Wright, Numerical Optimization, algorithms 3.5 and 3.6.
    """
    width = float(np.abs(d).max())
    f_new, g_new = try_step(t)
    calls, slope_new = 1, g_new.dot(d)
    last = (0, f, g, slope)
    ends, done = None, False
    for turn in range(most):
        here = (t, f_new, g_new, slope_new)
        if f_new > f + c1 * t * slope or (turn > 1 and f_new >= last[1]):
            ends = [last, here]
        elif abs(slope_new) <= -c2 * slope:
            ends, done = [here], True
        elif slope_new >= 0:
            ends = [last, here]
        if ends:
            break
        bounds = (t + 0.01 * (t - last[0]), t * 10)
        t = cubic_minimum(last[0], last[1], last[3], t, f_new, slope_new, bounds)
        last = here
        f_new, g_new = try_step(t)
        calls, slope_new = calls + 1, g_new.dot(d)
    turn = calls - 1
    if not ends:
        ends = [(0, f, g, slope), (t, f_new, g_new, slope_new)]
    low, high = (0, 1) if ends[0][1] <= ends[-1][1] else (1, 0)
    stuck = False
    while not done and turn < most and abs(ends[1][0] - ends[0][0]) * width >= smallest:
        (a, fa, _, sa), (b, fb, _, sb) = ends
        t = cubic_minimum(a, fa, sa, b, fb, sb)
        left, right = min(a, b), max(a, b)
        margin = 0.1 * (right - left)
        if (
            min(right - t, t - left) < margin
        ):  # too near an end: twice in a row, or at the end, it is moved inward
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        f_new, g_new = try_step(t)
        calls, turn, slope_new = calls + 1, turn + 1, g_new.dot(d)
        here = (t, f_new, g_new, slope_new)
        if f_new > f + c1 * t * slope or f_new >= ends[low][1]:
            ends[high] = here
            low, high = (0, 1) if ends[0][1] <= ends[1][1] else (1, 0)
        else:
            if abs(slope_new) <= -c2 * slope:
                done = True
            elif slope_new * (ends[high][0] - ends[low][0]) >= 0:
                ends[high] = ends[low]
            ends[low] = here
    t, f_new, g_new, _ = ends[low]
    return f_new, g_new, t, calls


def _write(p, x):
    """Put the numbers x into a parameter."""
    write(p, x)
    if WATCHERS:
        watcher().written(None, (p,), p, None, "LBFGS")


__all__ = ["LBFGS"]
