"""More optimizers, written as those of optimizers.py: NAdam, RAdam, Rprop, ASGD, Adafactor."""

import numpy as np

from ..autograd.variable import bump_version, wrap
from ..ops import array_or_tensor as both
from ..tensor import Tensor
from .optimizer import Optimizer, check_rate, chosen, count, counter, require, scalar, zeros_for
from .optimizers import check_adam, decayed, lerp, moments, running, written_again


class NAdam(Optimizer):
    """Adam with Nesterov's look-ahead: x <- x - lr ((1 - mu) g / (1 - M) + mu' m / (1 - M mu')) / (sqrt(v / c2) + eps).

    mu = beta1 (1 - 0.96^(t decay) / 2) is this step's momentum, mu' the next one's, M the product of all so far.
    PyTorch: torch.optim.NAdam
    """

    captured = "params, mu_products and state_steps"

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        require(momentum_decay >= 0.0, f"Invalid momentum_decay value: {momentum_decay}")
        settings = (
            "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize "
            "foreach capturable differentiable"
        )
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"], state["mu_product"] = counter(), counter(1.0)
            state["exp_avg"], state["exp_avg_sq"] = zeros_for(p), zeros_for(p)
        lr, (beta1, beta2), slowing = group["lr"], group["betas"], group["momentum_decay"]
        t = count(state["step"])
        g = decayed(group, p, x, g, lr)
        now = beta1 * (1 - 0.5 * 0.96 ** (t * slowing))
        later = beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * slowing))
        so_far = running(state["mu_product"], 1)
        so_far *= now
        if not isinstance(so_far, Tensor):
            so_far = float(so_far)
        m, v = moments(state, g, beta1, beta2)
        denominator = both.sqrt(v / (1 - beta2**t)) + group["eps"]
        x += g * (-lr * (1 - now) / (1 - so_far)) / denominator
        x += m * (-lr * later / (1 - so_far * later)) / denominator
        written_again(p)


class RAdam(Optimizer):
    """Rectified Adam: while the second moment rests on too few gradients, x <- x - lr m / c1; then Adam's step, rectified.

    rho = rho_inf - 2 t beta2^t / c2 says how many gradients the mean of g^2 rests on; above 5 the step is Adam's times
    sqrt((rho - 4)(rho - 2) rho_inf / ((rho_inf - 4)(rho_inf - 2) rho)).   PyTorch: torch.optim.RAdam
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        settings = (
            "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay differentiable"
        )
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"], state["exp_avg"], state["exp_avg_sq"] = counter(), zeros_for(p), zeros_for(p)
        lr, (beta1, beta2) = group["lr"], group["betas"]
        t = count(state["step"])
        g = decayed(group, p, x, g, lr)
        m, v = moments(state, g, beta1, beta2)
        c1, c2 = 1 - beta1**t, 1 - beta2**t
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / c2
        step = m / c1 * lr
        if length > 5.0:
            step = step * (c2**0.5 / (both.sqrt(v) + group["eps"]))
            step = (
                step
                * ((length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)) ** 0.5
            )
        x -= step


class Rprop(Optimizer):
    """Resilient backpropagation: only the gradient's sign counts, and every element has a step size of its own.

    The step size grows by etas[1] while the sign stays, shrinks by etas[0] where it turned (and that element waits one turn).
    PyTorch: torch.optim.Rprop
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_rate(lr)
        require(0.0 < etas[0] < 1.0 < etas[1], f"Invalid eta values: {etas[0]}, {etas[1]}")
        settings = "lr etas step_sizes foreach maximize differentiable capturable"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"], state["prev"] = counter(), zeros_for(p)
            state["step_size"] = wrap(np.full_like(both.array_of(x), scalar(group["lr"])))
        count(state["step"])
        shrink, grow = group["etas"]
        before, sizes = running(state["prev"], 1), running(state["step_size"], 2)
        agreement = np.sign(both.array_of(g) * both.array_of(before))
        kind = both.array_of(x).dtype
        factors = np.where(agreement > 0, grow, np.where(agreement < 0, shrink, 1)).astype(kind)
        sizes[...] = (sizes * both.constant(factors, x)).clip(*group["step_sizes"])
        g = both.masked(g, ~(agreement < 0))
        x -= both.sign(g) * sizes
        before[...] = g


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: plain steps whose rate falls, and the mean of the weights, in state["ax"].

    x <- (1 - lambd eta) x - eta g with eta = lr / (1 + lambd lr t)^alpha; averaging starts after t0 steps.
    PyTorch: torch.optim.ASGD
    """

    captured = "params, mus, etas, and state_steps"

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_rate(lr)
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        settings = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state, lr = self.state[p], group["lr"]
        if not state:
            state["step"], state["eta"], state["mu"] = counter(), counter(lr), counter(1.0)
            state["ax"] = zeros_for(p)
        t = count(state["step"])
        if group["weight_decay"] != 0:
            g = g + x * group["weight_decay"]
        eta, mu = float(state["eta"]._data), float(state["mu"]._data)
        x *= 1 - group["lambd"] * eta
        x -= g * eta
        written_again(p)
        mean = running(state["ax"], 1)
        if mu != 1:
            mean += (x - mean) * mu
        else:
            mean[...] = x
        for name, value in (
            ("eta", lr / (1 + group["lambd"] * lr * t) ** group["alpha"]),
            ("mu", 1 / max(1, t - group["t0"])),
        ):
            state[name]._data = state[name]._data.dtype.type(
                np.float32(value)
            )  # PyTorch rounds it on the way
            bump_version(state[name])


class Adafactor(Optimizer):
    """Adam's idea with little memory: of a matrix's mean g^2 only the rows' and the columns' means are kept.

    The step is relative to the parameter's own size, and its root mean square is held to `d`.   PyTorch: torch.optim.Adafactor
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        if isinstance(lr, Tensor):
            require(lr.numel() == 1, "Tensor lr must be 1-element")
        require(lr >= 0.0, f"Learning rate should be >= 0 but is: {lr}")
        require(beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}")
        require(eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}")
        require(eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}")
        require(d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}")
        require(weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}")
        settings = "lr beta2_decay eps d weight_decay foreach maximize"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"] = counter()
            if g.ndim > 1:
                state["row_var"] = wrap(np.zeros_like(g, shape=(*g.shape[:-1], 1)))
                state["col_var"] = wrap(np.zeros_like(g, shape=(*g.shape[:-2], 1, g.shape[-1])))
            else:
                state["variance"] = zeros_for(p)
        lr, (least, least_size) = group["lr"], group["eps"]
        least = float(np.finfo(x.dtype).eps) if least is None else least
        t = count(state["step"])
        part = t ** group["beta2_decay"]
        size = max(least_size, float(np.linalg.norm(x)) / x.size**0.5) * min(lr, 1 / t**0.5)
        if group["weight_decay"] != 0:
            x *= 1 - lr * group["weight_decay"]
            bump_version(p)
        if g.ndim > 1:
            rows, columns = running(state["row_var"], 1), running(state["col_var"], 1)
            lerp(rows, (g * g).mean(-1, keepdims=True), part)
            lerp(columns, (g * g).mean(-2, keepdims=True), part)
            v = rows @ columns / np.maximum(rows.mean(-2, keepdims=True), least)
        else:
            v = running(state["variance"], 1)
            lerp(v, g * g, part)
        step = g / np.sqrt(np.maximum(v, least * least))
        step_size = max(1.0, float(np.linalg.norm(step)) / (step.size**0.5 * group["d"]))
        x += step * (-size / step_size)


__all__ = ["ASGD", "Adafactor", "NAdam", "RAdam", "Rprop"]
