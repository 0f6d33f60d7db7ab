"""The optimizers: one rule each for moving a parameter by its gradient, in PyTorch's order of operations.

x is the parameter's array, changed in place; g its gradient. Everything runs unrecorded; versions count as
PyTorch's do, so a graph that saved the old value notices. With differentiable=True the same formulas run on Tensors and
are recorded.
"""

import numpy as np

from ..autograd.modes import THREAD
from ..autograd.variable import bump_version, wrap
from ..ops import array_or_tensor as both
from ..ops.rule import FUNCTIONS
from ..tensor import Tensor
from .optimizer import Optimizer, check_rate, chosen, count, counter, require, zeros_for


class SGD(Optimizer):
    """Stochastic gradient descent: x <- x - lr g, or with momentum m: b <- m b + (1 - dampening) g, x <- x - lr b.

    Nesterov: x <- x - lr (g + m b).   Weight decay: g <- g + decay x first.   PyTorch: torch.optim.SGD
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        if isinstance(lr, Tensor):
            check_rate(lr)
        require(not lr < 0.0, f"Invalid learning rate: {lr}")  # so that nan passes, as in PyTorch
        require(not momentum < 0.0, f"Invalid momentum value: {momentum}")
        require(not weight_decay < 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(
            not (nesterov and (momentum <= 0 or dampening != 0)),
            "Nesterov momentum requires a momentum and zero dampening",
        )
        settings = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        decay, momentum, lr = group["weight_decay"], group["momentum"], group["lr"]
        if decay != 0:
            g = g + x * decay
        if momentum != 0:
            state = self.state[p]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                b = g.detach().clone() if isinstance(g, Tensor) else np.array(g)
                state["momentum_buffer"] = b if isinstance(b, Tensor) else wrap(b)
            else:
                b = running(buffer, 2)
                b *= momentum
                b += g * (1 - group["dampening"])
            g = g + b * momentum if group["nesterov"] else b
        x -= g * lr


class Adam(Optimizer):
    """Adaptive moments: m and v are running means of g and g^2; x <- x - lr (m / c1) / (sqrt(v / c2) + eps).

    c1 = 1 - beta1^t and c2 = 1 - beta2^t make up for starting at zero.   amsgrad: v never falls.   Weight
    decay: g <- g + decay x, or decoupled: x <- x - lr decay x.   PyTorch: torch.optim.Adam
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        _check_tensors(lr, betas, foreach and not capturable)
        check_adam(lr, betas, eps, weight_decay)
        settings = (
            "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable "
            "fused decoupled_weight_decay"
        )
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"] = counter()
            state["exp_avg"], state["exp_avg_sq"] = zeros_for(p), zeros_for(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = zeros_for(p)
        lr, (beta1, beta2) = group["lr"], group["betas"]
        count(state["step"])
        g = decayed(group, p, x, g, lr)
        m, v = moments(state, g, beta1, beta2)
        if group["amsgrad"]:
            peak = running(state["max_exp_avg_sq"], 1)
            peak[...] = larger(peak, v)
            v = peak
        denominator = both.sqrt(v) / correction(beta2, state["step"]) ** 0.5 + group["eps"]
        x += m * (-(lr / correction(beta1, state["step"]))) / denominator


class AdamW(Adam):
    """Adam with decoupled weight decay, 0.01 unless told otherwise.

    PyTorch: torch.optim.AdamW
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class RMSprop(Optimizer):
    """The gradient over the root of its running mean square: x <- x - lr g / (sqrt(v) + eps).

    centered: the variance instead of the mean square.   momentum m: b <- m b + g / ..., x <- x - lr b.
    PyTorch: torch.optim.RMSprop
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        check_rate(lr)
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        require(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(alpha >= 0.0, f"Invalid alpha value: {alpha}")
        settings = "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"], state["square_avg"] = counter(), zeros_for(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = zeros_for(p)
            if group["centered"]:
                state["grad_avg"] = zeros_for(p)
        lr, alpha = group["lr"], group["alpha"]
        count(state["step"])
        if group["weight_decay"] != 0:
            g = g + x * group["weight_decay"]
        v = running(state["square_avg"], 2)
        v *= alpha
        v += g * (1 - alpha) * g
        if group["centered"]:
            mean = running(state["grad_avg"], 1)
            lerp(mean, g, 1 - alpha)
            v = v - mean * mean
        root = both.sqrt(v) + group["eps"]
        if group["momentum"] > 0:
            b = running(state["momentum_buffer"], 2)
            b *= group["momentum"]
            b += g / root
            x -= b * lr
        else:
            x += g * -lr / root


class Adagrad(Optimizer):
    """The gradient over the root of the sum of all its squares so far: x <- x - lr g / (sqrt(s) + eps).

    PyTorch: torch.optim.Adagrad
    """

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        check_rate(lr)
        require(lr_decay >= 0.0, f"Invalid lr_decay value: {lr_decay}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        require(
            initial_accumulator_value >= 0.0,
            f"Invalid initial_accumulator_value value: {initial_accumulator_value}",
        )
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        settings = (
            "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable fused"
        )
        super().__init__(params, chosen(settings, locals()))
        for group in self.param_groups:
            for p in group["params"]:
                self._begin(group, p)

    def _begin(self, group, p):
        sum_ = zeros_for(p)
        sum_._array()[...] = group["initial_accumulator_value"]
        self.state[p].update(step=counter(), sum=sum_)

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            self._begin(group, p)
        t = count(state["step"])
        if group["weight_decay"] != 0:
            g = g + x * group["weight_decay"]
        lr = group["lr"] / (1 + (t - 1) * group["lr_decay"])
        s = running(state["sum"], 1)
        s += g * g
        x += g * -lr / (both.sqrt(s) + group["eps"])


class Adadelta(Optimizer):
    """Steps as large as past steps were, by running means of both: d = sqrt(u + eps) / sqrt(v + eps) g, x <-
    x - lr d.

    PyTorch: torch.optim.Adadelta
    """

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        check_rate(lr)
        require(0.0 <= rho <= 1.0, f"Invalid rho value: {rho}")
        require(eps >= 0.0, f"Invalid epsilon value: {eps}")
        require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        settings = "lr rho eps weight_decay maximize capturable foreach differentiable"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"], state["square_avg"], state["acc_delta"] = counter(), zeros_for(p), zeros_for(p)
        rho, eps = group["rho"], group["eps"]
        count(state["step"])
        if group["weight_decay"] != 0:
            g = g + x * group["weight_decay"]
        v, u = running(state["square_avg"], 2), running(state["acc_delta"], 2)
        v *= rho
        v += g * (1 - rho) * g
        d = both.sqrt(u + eps) / both.sqrt(v + eps) * g
        u *= rho
        u += d * (1 - rho) * d
        x -= d * group["lr"]


class Adamax(Optimizer):
    """Adam with the largest decayed gradient in place of the mean square: x <- x - lr / c1 m / u.

    PyTorch: torch.optim.Adamax
    """

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        check_adam(lr, betas, eps, weight_decay)
        settings = "lr betas eps weight_decay foreach maximize differentiable capturable"
        super().__init__(params, chosen(settings, locals()))

    def update(self, group, p, x, g):
        """One step of this rule."""
        state = self.state[p]
        if not state:
            state["step"], state["exp_avg"], state["exp_inf"] = counter(), zeros_for(p), zeros_for(p)
        beta1, beta2 = group["betas"]
        t = count(state["step"])
        if group["weight_decay"] != 0:
            g = g + x * group["weight_decay"]
        m, u = running(state["exp_avg"], 1), running(state["exp_inf"], 2)
        lerp(m, g, 1 - beta1)
        u *= beta2
        u[...] = larger(u, both.abs_(g) + group["eps"])
        x += m * -(group["lr"] / (1 - beta1**t)) / u


def _check_tensors(lr, betas, plain_foreach):
    """Raise ValueError for tensors among Adam's settings where PyTorch has no code for them."""
    text = "{} as a Tensor is not supported for capturable=False and foreach=True"
    require(not (plain_foreach and isinstance(lr, Tensor)), text.format("lr"))
    kinds = [isinstance(betas[i], Tensor) for i in (0, 1)]
    require(kinds[0] == kinds[1], "betas must be either both floats or both Tensors")
    for i, tensor in enumerate(kinds):
        require(not (plain_foreach and tensor), text.format(f"betas[{i}]"))


def check_adam(lr, betas, eps, weight_decay):
    """Raise ValueError, in PyTorch's words, for a setting that Adam and its kin cannot have."""
    check_rate(lr)
    require(eps >= 0.0, f"Invalid epsilon value: {eps}")
    require(0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}")
    require(0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}")
    require(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")


def decayed(group, p, x, g, lr):
    """The gradient with weight decay in it, or (decoupled) unchanged, the weights having decayed."""
    decay = group["weight_decay"]
    if decay == 0:
        return g
    if not group["decoupled_weight_decay"]:
        return g + x * decay
    x *= 1 - lr * decay
    written_again(p)
    return g


def correction(beta, step):
    """1 - beta^t after t steps, in a recorded step in the precision of the tensor that counts them."""
    t = step._data
    if THREAD.state.grad and not isinstance(beta, Tensor):
        return float(1 - t.dtype.type(beta) ** t)
    return 1 - beta ** float(t)


def moments(state, g, beta1, beta2):
    """The running means of g and of g^2, with this `g` in them."""
    m, v = running(state["exp_avg"], 1), running(state["exp_avg_sq"], 2)
    lerp(m, g, 1 - beta1)
    v *= beta2
    v += g * (1 - beta2) * g
    if isinstance(m, Tensor):
        m = m.clone()  # the next step writes to m, which this one may save
    return m, v


def running(t, writes):
    """The array of a state tensor that is about to be written `writes` times; in a recorded step the tensor itself."""
    if THREAD.state.grad:
        return t
    for _ in range(writes):
        bump_version(t)
    return t._array()


def written_again(p):
    """Count a write to the array of `p` beside the one that every step counts; recorded writes count themselves."""
    if not THREAD.state.grad:
        bump_version(p)


def larger(a, b):
    """The elementwise maximum of two arrays or Tensors, in memory of its own."""
    return FUNCTIONS["maximum"](a.clone(), b) if isinstance(a, Tensor) else np.maximum(a, b)


def lerp(start, end, weight):
    """Start <- start + weight (end - start), in place, from the nearer side as PyTorch computes it."""
    if abs(weight) < 0.5:
        start += (end - start) * weight
    else:
        start[...] = end - (end - start) * (1 - weight)


__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "RMSprop"]
