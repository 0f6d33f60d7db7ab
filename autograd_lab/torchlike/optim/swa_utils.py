"""Averages of weights: AveragedModel keeps a running mean (or an exponential one) of a model's parameters."""

import itertools
import math
from copy import deepcopy

from ..autograd import no_grad
from ..creation import tensor
from ..dtypes import int64
from ..nn.module import Module
from ..nn.modules import _BatchNorm
from .lr_scheduler import LRScheduler


def get_ema_avg_fn(decay=0.999):
    """A rule for AveragedModel: average <- decay average + (1 - decay) new."""
    _check_decay(decay)

    def ema_update(averaged, current, num_averaged):
        return decay * averaged + (1 - decay) * current

    return no_grad()(ema_update)


def get_swa_avg_fn():
    """A rule for AveragedModel: the mean of all so far."""

    def swa_update(averaged, current, num_averaged):
        return averaged + (current - averaged) / (num_averaged + 1)

    return no_grad()(swa_update)


def get_ema_multi_avg_fn(decay=0.999):
    """The exponential rule for whole lists of parameters, in place."""
    _check_decay(decay)

    def ema_update(averaged, current, num_averaged):
        for a, c in zip(averaged, current, strict=True):
            a.lerp_(c, 1 - decay) if a.is_floating_point() else a.copy_(a * decay + c * (1 - decay))

    return no_grad()(ema_update)


def get_swa_multi_avg_fn():
    """The mean's rule for whole lists of parameters, in place."""

    def swa_update(averaged, current, num_averaged):
        for a, c in zip(averaged, current, strict=True):
            a.add_((c - a) / (num_averaged + 1))

    return no_grad()(swa_update)


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


class AveragedModel(Module):
    """A copy of `model` whose parameters follow it: after each update_parameters(model) they are the mean of all seen.

    avg_fn(averaged, current, n) or multi_avg_fn(list, list, n) say otherwise; use_buffers averages the buffers too, which
    are copied if not (torch.optim.swa_utils.AveragedModel).
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def update_parameters(self, model):
        """Take the model's present parameters into the average."""

        def values(m):
            both = itertools.chain(m.parameters(), m.buffers()) if self.use_buffers else m.parameters()
            return [t.detach() for t in both]

        mine, new = values(self.module), values(model)
        with no_grad():
            if self.n_averaged == 0:
                for a, c in zip(mine, new, strict=True):
                    a.copy_(c)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(mine, new, self.n_averaged)
            else:
                rule = self.avg_fn or get_swa_avg_fn()
                for a, c in zip(mine, new, strict=True):
                    a.copy_(rule(a, c, self.n_averaged))
            if not self.use_buffers:
                for a, c in zip(self.module.buffers(), model.buffers(), strict=True):
                    a.detach().copy_(c.detach())
            self.n_averaged += 1


@no_grad()
def update_bn(loader, model, device=None):
    """Compute the running statistics of all batch-norm layers anew, in one pass over the loader (inputs, or tuples of them)."""
    layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not layers:
        return
    momenta, training = [m.momentum for m in layers], model.training
    model.train()
    for m in layers:
        m.reset_running_stats()
        m.momentum = None
    for batch in loader:
        batch = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(batch if device is None else batch.to(device))
    for m, momentum in zip(layers, momenta, strict=True):
        m.momentum = momentum
    model.train(training)


class SWALR(LRScheduler):
    """From each group's rate to `swa_lr`, over anneal_epochs epochs, by a cosine or a line; then constant."""

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        rates = swa_lr if isinstance(swa_lr, (list, tuple)) else [swa_lr] * len(optimizer.param_groups)
        if len(rates) != len(optimizer.param_groups):
            raise ValueError(
                f"swa_lr must have the same length as optimizer.param_groups. swa_lr has {len(rates)} values, "
                f"param_groups has {len(optimizer.param_groups)}."
            )
        for rate, group in zip(rates, optimizer.param_groups, strict=True):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy, self.anneal_epochs = anneal_strategy, anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _part(self, step):
        t = max(0, min(1, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        """The rates of this epoch."""
        self._warn_direct_call()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._part(step - 1), self._part(step)
        rates = []
        for group in self.optimizer.param_groups:
            goal = group["swa_lr"]
            start = goal if before == 1 else (group["lr"] - before * goal) / (1 - before)
            rates.append(goal * now + start * (1 - now))
        return rates


__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]
