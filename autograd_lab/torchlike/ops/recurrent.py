"""Recurrent layers without their modules: one cell used at every step of a sequence, its state handed on, layers on top of each other.

The graph is that of the loop: every step's nodes are there to be stepped through.
"""

from ..autograd.variable import Variable
from .embedding import drop
from .products import linear
from .rule import FUNCTIONS, function

stack, cat, chunk = FUNCTIONS["stack"], FUNCTIONS["cat"], FUNCTIONS["unsafe_chunk"]


class Weights:
    """The weights of one layer in one direction.

    input, hidden  (weight, bias) for what comes in and for the state; a bias may be None
    projection     what the state of an LSTM is multiplied by at last, or None
    """

    def __init__(self, by_input, by_hidden, input_bias=None, hidden_bias=None, projection=None):
        self.input, self.hidden, self.projection = (
            (by_input, input_bias),
            (by_hidden, hidden_bias),
            projection,
        )


def tanh_step(by_input, state, layer):
    """H' = tanh(W x + W h)."""
    return ((linear(state[0], *layer.hidden) + by_input).tanh(),)


def relu_step(by_input, state, layer):
    """H' = relu(W x + W h)."""
    return ((linear(state[0], *layer.hidden) + by_input).relu(),)


def gru_step(by_input, state, layer):
    """Reset, update and new gates: h' = n + z (h - n)."""
    (h,) = state
    ir, iz, new = chunk(by_input, 3, 1)
    hr, hz, hn = chunk(linear(h, *layer.hidden), 3, 1)
    r, z = (hr + ir).sigmoid(), (hz + iz).sigmoid()
    n = (new + hn * r).tanh()
    return ((h - n) * z + n,)


def lstm_step(by_input, state, layer):
    """Input, forget, cell and output gates: c' = f c + i g, h' = o tanh(c'), projected if the layer does so."""
    h, c = state
    i, f, g, o = chunk(linear(h, *layer.hidden) + by_input, 4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    c = f * c + i * g
    h = o * c.tanh()
    return (h if layer.projection is None else linear(h, layer.projection)), c


_STEPS = {
    "RNN_TANH": tanh_step,
    "RNN_RELU": relu_step,
    "GRU": gru_step,
    "LSTM": lstm_step,
}

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}
"""How many gates the weights of each mode hold."""


# -- sequences ----------------------------------------------------------------------------------------


def run_layers(x, state, layers, directions, sweep, dropout=0):
    """All layers, one after the other; returns the output and the last states, each a list over layers.

    state       tensors (layers * directions, n, size)
    layers      the Weights of each layer and direction
    directions  1, or 2: forward and backward, joined
    sweep       sweep(layer, x, state, backwards) runs one layer in one direction over all steps: (outputs, last state)
    dropout     the probability with which the elements between two layers are zeroed
    """
    state = [part.unbind(0) for part in state]
    last = []
    for i in range(0, len(layers), directions):
        both_ways = []
        for k in range(i, i + directions):
            outputs, end = sweep(layers[k], x, tuple([part[k] for part in state]), k > i)
            both_ways.append(outputs)
            last.append(end)
        x = both_ways[0] if directions == 1 else cat(both_ways, x.dim() - 1)
        if dropout and i + directions < len(layers):
            x = drop(x, dropout, True)
    return x, list(zip(*last, strict=True))


def whole_sweep(mode):
    """The sweep over sequences of one length: (steps, n, size)."""
    step = _STEPS[mode]

    def sweep(layer, x, state, backwards):
        if not x.shape[0]:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        at_once = list(linear(x, *layer.input).unbind(0))
        outputs = []
        for by_input in reversed(at_once) if backwards else at_once:
            state = step(by_input, state, layer)
            outputs.append(state[0])
        return stack(outputs[::-1] if backwards else outputs, 0), state

    return sweep


def packed_sweep(mode, sizes):
    """The sweep over packed sequences, of which `sizes` run at each step: only those that are not over yet."""
    step = _STEPS[mode]

    def sweep(layer, x, state, backwards):
        rows = linear(x, *layer.input).split(sizes)
        run = _packed_backward if backwards else _packed_forward
        outputs, end = run(step, layer, rows, sizes, state)
        return cat(outputs, 0), end

    return sweep


def _packed_forward(step, layer, rows, sizes, now):
    """Step by step; the states of sequences that are over are laid aside. Returns the outputs and the last states."""
    outputs, over = [], []
    for by_input, n in zip(rows, sizes, strict=True):
        if n < now[0].shape[0]:
            over.append(tuple([s[n:] for s in now]))
            now = tuple([s[:n] for s in now])
        now = step(by_input, now, layer)
        outputs.append(now[0])
    over.append(now)
    return outputs, tuple([cat(parts[::-1], 0) for parts in zip(*over, strict=True)])


def _packed_backward(step, layer, rows, sizes, first):
    """From the last step to the first; sequences join as soon as their last step comes."""
    outputs, now = [], tuple([s[: sizes[-1]] for s in first])
    for by_input, n in zip(rows[::-1], sizes[::-1], strict=True):
        here = now[0].shape[0]
        if n > here:
            now = tuple([cat([s, f[here:n]], 0) for s, f in zip(now, first, strict=True)])
        now = step(by_input, now, layer)
        outputs.append(now[0])
    return outputs[::-1], now


def _layers(params, has_biases, num_layers, projected):
    """The Weights in a flat list of parameters."""
    if not has_biases:
        each = [(0, 1, None, None, 2), (0, 1)][not projected]
    else:
        each = range(4 + projected)
    count = 2 + 2 * has_biases + projected
    if len(params) % count:
        raise RuntimeError("got an incorrect number of RNN parameters")
    groups = [params[i : i + count] for i in range(0, len(params), count)]
    if len(groups) < num_layers:
        raise RuntimeError("Expected more hidden states in stacked_rnn")
    if len(groups) > num_layers:
        raise RuntimeError("Expected more weights in stacked_rnn")
    return [Weights(*[None if k is None else group[k] for k in each]) for group in groups]


def _over_sequences(name, mode, text):
    lstm = mode == "LSTM"

    def of_batch(
        input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, sweep=None
    ):
        if lstm and len(hx) != 2:
            raise RuntimeError("lstm expects two hidden states")
        state = tuple(hx) if lstm else (hx,)
        directions = 1 + bidirectional
        projected = lstm and hx[0].shape[-1] != hx[1].shape[-1]
        layers = _layers(params, has_biases, num_layers * directions, projected)
        x = input.transpose(0, 1) if batch_first else input
        out, last = run_layers(
            x, state, layers, directions, sweep or whole_sweep(mode), dropout if train else 0
        )
        if batch_first:
            out = out.transpose(0, 1) if lstm else out.transpose_(0, 1)  # as PyTorch's graphs have it
        return out, *[stack(s, 0) for s in last]

    def of_packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        sweep = packed_sweep(mode, batch_sizes.tolist())
        return of_batch(data, hx, params, has_biases, num_layers, dropout, train, bidirectional, False, sweep)

    def fn(*args, **kwargs):
        packed = "batch_sizes" in kwargs or (
            len(args) > 2 and isinstance(args[1], Variable) and (lstm or isinstance(args[2], Variable))
        )
        return (of_packed if packed else of_batch)(*args, **kwargs)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"""{text} at every step of a sequence (torch.{name}).

    {name}(input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    {name}(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)

    params  the parameters of all layers and directions in one list, as a module's `parameters()` gives them
    hx      (layers * directions, n, hidden){", and the same of the cells" if lstm else ""}
    returns the last layer's state at every step, and the last state of every layer{" and cell" if lstm else ""}

    The second form takes a packed sequence. Raises RuntimeError if parameters or states are too few or too many.
    """
    FUNCTIONS[name] = fn


_over_sequences("rnn_tanh", "RNN_TANH", "h' = tanh(W_ih x + b_ih + W_hh h + b_hh)")
_over_sequences("rnn_relu", "RNN_RELU", "h' = relu(W_ih x + b_ih + W_hh h + b_hh)")
_over_sequences("gru", "GRU", "Gated recurrent units")
_over_sequences("lstm", "LSTM", "Long short-term memory")


# -- one step -----------------------------------------------------------------------------------------


def _check_cell(input, states, w_ih, w_hh, gates):
    """Raise RuntimeError if states or weights do not fit the input (n, size)."""
    hidden = w_hh.size(1)
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight.size(0) != gates * hidden:
            raise RuntimeError(
                f"{name} first dim must be {gates} * hidden_size = {gates * hidden}, but got {weight.size(0)}"
            )
    n = input.size(0)
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")
    for i, s in enumerate(states):
        if s.size(0) != n:
            raise RuntimeError(f"Input batch size {n} doesn't match hidden{i} batch size {s.size(0)}")
        if s.size(1) != hidden:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {s.size(1)}, expected {hidden}")


def _cell(mode, input, states, *weights):
    layer = Weights(*weights)
    _check_cell(input, states, weights[0], weights[1], GATES[mode])
    return _STEPS[mode](linear(input, *layer.input), states, layer)


@function(method=False)
def rnn_tanh_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """H' = tanh(W x + W h) for a batch (n, size) and its states (n, hidden) (torch.rnn_tanh_cell)."""
    return _cell("RNN_TANH", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@function(method=False)
def rnn_relu_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """H' = relu(W x + W h) (torch.rnn_relu_cell)."""
    return _cell("RNN_RELU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@function(method=False)
def gru_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of gated recurrent units (torch.gru_cell)."""
    return _cell("GRU", input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@function(method=False)
def lstm_cell(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
    """One step of long short-term memory: hx is (h, c), and so is the result (torch.lstm_cell)."""
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    return _cell("LSTM", input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


__all__ = ["GATES", "Weights", "packed_sweep", "run_layers", "whole_sweep"]
