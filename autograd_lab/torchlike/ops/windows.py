"""Windows: weights that rise from a border to the middle and fall again, made of numbers alone (torch.hann_window and others).

`periodic`: the first `window_length` of a window with one weight more, so that repeated windows join.
"""

import math

import numpy as np

from ..creation import leaf
from ..dtypes import Defaults, to_dtype
from ..world.device import on_cpu
from . import numerics
from .rule import FUNCTIONS


def _window(name, parameters, fn):
    """Make a window function: `fn(k, n, *settings)` gives the weights at the places `k` of `n`, which are at least two.

    parameters  {name of a setting: its default}, given after `periodic`
    """

    def made(
        window_length,
        periodic=True,
        *settings,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        **named,
    ):
        on_cpu(device)
        kind = Defaults.np if dtype is None else to_dtype(dtype).np
        if kind.kind != "f":
            raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
        if window_length < 0:
            raise RuntimeError(
                f"{name} requires non-negative window_length, got window_length={window_length}"
            )
        if window_length < 2:
            return leaf(np.ones(window_length, kind), requires_grad)
        values = parameters | dict(zip(parameters, settings, strict=False)) | named
        n = window_length + bool(periodic)
        weights = fn(np.arange(n, dtype=kind), n, *values.values())
        return leaf(weights[:window_length].astype(kind, copy=False), requires_grad)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"The {name.removesuffix('_window').capitalize()} window (torch.{name})."
    FUNCTIONS[name] = made


def _cosine(k, n, alpha, beta):
    return np.cos(k * (2 * math.pi / (n - 1))) * -beta + alpha


def _blackman(k, n):
    turn = k * (math.pi / (n - 1))
    return np.cos(turn * 4) * 0.08 - np.cos(turn * 2) * 0.5 + 0.42


def _bartlett(k, n):
    rising = k * (2 / (n - 1))
    return np.where(k <= (n - 1) // 2, rising, 2 - rising)


def _kaiser(k, n, beta):
    away = (k - (n - 1) / 2) / ((n - 1) / 2)
    height = numerics.bessel(np.sqrt(np.maximum(1 - away * away, 0)) * beta, 0)
    return height / numerics.bessel(np.asarray(beta, height.dtype), 0)


_window("hann_window", {}, lambda k, n: _cosine(k, n, 0.5, 0.5))
_window("hamming_window", {"alpha": 0.54, "beta": 0.46}, _cosine)
_window("blackman_window", {}, _blackman)
_window("bartlett_window", {}, _bartlett)
_window("kaiser_window", {"beta": 12.0}, _kaiser)
