"""Recurrent layers: one cell used at every step of a sequence, its state handed on, layers on top of each other.

The graph is that of the loop: every step's nodes are there to be stepped through.
"""

import math
import numbers
import warnings

from ..creation import FACTORIES
from ..ops.recurrent import GATES, Weights, packed_sweep, run_layers, whole_sweep
from ..ops.rule import FUNCTIONS
from . import init
from .module import Module
from .parameter import Parameter
from .utils.rnn import PackedSequence

empty, zeros = FACTORIES["empty"], FACTORIES["zeros"]
stack = FUNCTIONS["stack"]

_NAMES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")


class RNNBase(Module):
    """What RNN, GRU and LSTM share (torch.nn.RNNBase).

    Input (steps, n, input_size), or (n, steps, ...) with `batch_first`, or (steps, ...) for one sequence. Returns the
    last layer's state at every step, and the last state of every layer and direction (layers * directions, n, hidden).
    """

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode, self.input_size, self.hidden_size, self.num_layers = (
            mode,
            input_size,
            hidden_size,
            num_layers,
        )
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_settings(dropout)
        gates = GATES[mode] * hidden_size
        out = proj_size or hidden_size
        for layer in range(num_layers):
            wide = input_size if layer == 0 else out * len(self._directions)
            for ending in self._directions:
                shapes = {"weight_ih": (gates, wide), "weight_hh": (gates, out)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                for name, shape in shapes.items():
                    weight = Parameter(empty(*shape, device=device, dtype=dtype))
                    self.register_parameter(f"{name}_l{layer}{ending}", weight)
        self.reset_parameters()

    def _check_settings(self, dropout):
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers "
                f"greater than 1, but got dropout={dropout} and num_layers={self.num_layers}",
                stacklevel=4,
            )
        for name in ("bias", "batch_first"):
            if not isinstance(getattr(self, name), bool):
                raise TypeError(f"{name} should be of type bool, got: {type(getattr(self, name)).__name__}")
        for name in ("input_size", "hidden_size", "num_layers"):
            if name != "num_layers" and not isinstance(getattr(self, name), int):
                raise TypeError(f"{name} should be of type int, got: {type(getattr(self, name)).__name__}")
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _directions(self):
        return ("", "_reverse") if self.bidirectional else ("",)

    @property
    def _endings(self):
        return [f"_l{i}{ending}" for i in range(self.num_layers) for ending in self._directions]

    @property
    def _all_weights(self):
        """The names of the parameters of each layer and direction, as lists."""
        return [[name + e for name in _NAMES if name + e in self._parameters] for e in self._endings]

    @property
    def all_weights(self):
        """The parameters of each layer and direction, as lists."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self):
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self):
        """Nothing to do: PyTorch lays the weights out anew for other devices."""

    def reset_parameters(self):
        """Draw new weights: uniform within 1 / sqrt(hidden)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        self._check_input(input)
        batched = input.dim() == 3
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
        state = self._first_state(input, hx, batched)
        if self.batch_first:
            input = input.transpose(0, 1)
        out, last = self._run(input, state, whole_sweep(self.mode))
        if self.batch_first:
            out = (
                out.transpose(0, 1) if self.mode == "LSTM" else out.transpose_(0, 1)
            )  # as in PyTorch's graphs
        last = tuple([stack(s, 0) for s in last])
        if not batched:
            out = out.squeeze(0 if self.batch_first else 1)
            last = tuple([s.squeeze(1) for s in last])
        return out, last if self.mode == "LSTM" else last[0]

    def _forward_packed(self, packed, hx):
        """Sequences of different lengths: at every step only those run that are not over yet."""
        x, sizes = packed.data, packed.batch_sizes.tolist()
        count = self.num_layers * len(self._directions)
        self._check_input(x)
        if hx is None:
            widths = [self.proj_size or self.hidden_size] + [self.hidden_size] * (self.mode == "LSTM")
            state = tuple([zeros(count, sizes[0], width, dtype=x.dtype) for width in widths])
        else:
            state = tuple(hx) if self.mode == "LSTM" else (hx,)
            if packed.sorted_indices is not None:
                state = tuple([s.index_select(1, packed.sorted_indices) for s in state])
        x, last = self._run(x, state, packed_sweep(self.mode, sizes))
        ends = tuple([stack(s, 0) for s in last])
        if packed.unsorted_indices is not None:
            ends = tuple([s.index_select(1, packed.unsorted_indices) for s in ends])
        return packed._replace(data=x), ends if self.mode == "LSTM" else ends[0]

    def _run(self, x, state, sweep):
        dropout = self.dropout if self.training else 0
        layers = [
            Weights(*[getattr(self, name + ending, None) for name in _NAMES]) for ending in self._endings
        ]
        return run_layers(x, state, layers, len(self._directions), sweep, dropout)

    def _check_input(self, input):
        weight = self.weight_ih_l0
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{type(self).__name__}: Expected input to be 2D or 3D, got {input.dim()}D "
                + ("tensor instead" if self.mode.startswith("RNN") else "instead")
            )
        if input.dtype is not weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert input: "
                f"input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _first_state(self, input, hx, batched):
        """The state before the first step: zeros, or what was given, as a tuple of (layers * directions, n, size)."""
        n = input.shape[0 if self.batch_first else 1]
        count = self.num_layers * len(self._directions)
        sizes = [self.proj_size or self.hidden_size]
        if self.mode == "LSTM":
            sizes.append(self.hidden_size)
        if hx is None:
            return tuple([zeros(count, n, size, dtype=input.dtype) for size in sizes])
        given = tuple(hx) if self.mode == "LSTM" else (hx,)
        if self.mode == "LSTM" and (hasattr(hx, "dim") or len(given) != 2):
            raise RuntimeError(
                "LSTM: Expected the state to be a pair of tensors (h, c); give both, or neither for zeros"
            )
        want_dims = 3 if batched else 2
        if any(s.dim() != want_dims for s in given):
            dims = " and ".join(f"{s.dim()}-D" for s in given)
            what = "hx and cx" if self.mode == "LSTM" else "hx"
            kind = "batched 3-D" if batched else "unbatched 2-D"
            got = f"({dims}) tensors" if self.mode == "LSTM" else f"{dims} tensor"
            raise RuntimeError(f"For {kind} input, {what} should also be {want_dims}-D but got {got}")
        if not batched:
            given = tuple([s.unsqueeze(1) for s in given])
        for i, (s, size) in enumerate(zip(given, sizes, strict=True)):
            want = (count, n, size)
            if tuple(s.shape) != want:
                name = f"hidden[{i}]" if self.mode == "LSTM" else "hidden"
                raise RuntimeError(f"Expected {name} size {want}, got {list(s.shape)}")
        return given

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}  # fmt: skip
        return text + "".join(f", {k}={getattr(self, k)}" for k, v in usual.items() if getattr(self, k) != v)


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu, at every step of a sequence."""

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(RNNBase):
    """Gated recurrent units at every step of a sequence."""

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory at every step of a sequence; the state is a pair (h, c)."""

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]
