"""Sequences of different lengths in one batch: padded to the longest, or packed step by step (torch.nn.utils.rnn)."""

from collections import namedtuple

import numpy as np

from ...autograd.variable import wrap
from ...ops.rule import FUNCTIONS
from ...tensor import Tensor

cat, stack = FUNCTIONS["cat"], FUNCTIONS["stack"]


class PackedSequence(namedtuple("PackedSequence", "data batch_sizes sorted_indices unsorted_indices")):
    """The steps of all sequences, one after the other: first every sequence's step 0, then every step 1 that is left, ...

    data (all steps, ...); batch_sizes: how many sequences reach each step (int64 tensor); sorted_indices: in which order the
    sequences stand, longest first, and unsorted_indices, the way back (None: the order was right). RNN, GRU and LSTM take it.
    """

    __slots__ = ()

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """The same sequences with `data` converted."""
        data = self.data.to(*args, **kwargs)
        return self if data is self.data else self._replace(data=data)

    def is_pinned(self):
        """False: nothing is pinned."""
        return False

    def cpu(self):
        """Itself: everything is on the CPU."""
        return self

    @property
    def is_cuda(self):
        """False."""
        return False


def _converter(name):
    def fn(self):
        return self.to(getattr(self.data, name)().dtype)

    fn.__name__ = fn.__qualname__ = name
    fn.__doc__ = f"The same sequences with `data` converted, as by Tensor.{name}."
    return fn


for _name in ("byte", "char", "double", "float", "half", "int", "long", "short"):
    setattr(PackedSequence, _name, _converter(_name))


def invert_permutation(permutation):
    """The permutation that undoes this one; None stays None."""
    if permutation is None:
        return None
    return wrap(np.argsort(permutation._data).astype(np.int64))


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A padded batch (steps, n, ...) or (n, steps, ...) without its padding, as a PackedSequence.

    lengths: n whole numbers, in falling order; in any order if enforce_sorted=False.
    """
    lengths = np.array(lengths._data if isinstance(lengths, Tensor) else lengths, dtype=np.int64)
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu Long tensor"
        )
    if batch_first:
        input = input.transpose(0, 1)
    if lengths.size != input.shape[1]:
        raise RuntimeError(
            "Expected `len(lengths)` to be equal to batch_size, but got "
            f"{lengths.size} (batch_size={input.shape[1]})"
        )
    order = None
    if not enforce_sorted:
        order = np.argsort(-lengths, kind="stable")
        lengths, order = lengths[order], wrap(order.astype(np.int64))
        input = input.index_select(1, order)
    if (lengths <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(lengths) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do "
            "not need ONNX exportability."
        )
    if lengths[0] > input.shape[0]:
        raise RuntimeError("Expected all lengths to be at most the number of steps of the padded batch")
    sizes = [int((lengths > t).sum()) for t in range(int(lengths[0]))]
    data = cat([input[t, :n] for t, n in enumerate(sizes)], 0)
    return PackedSequence(data, wrap(np.array(sizes, dtype=np.int64)), order, None)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """The padded batch of a PackedSequence, and the lengths, in the order before packing."""
    sizes = sequence.batch_sizes.tolist()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    rows, start = [], 0
    for n in sizes:
        row = sequence.data[start : start + n]
        start += n
        if n < sizes[0]:
            row = cat([row, row.new_full((sizes[0] - n, *row.shape[1:]), padding_value)], 0)
        rows.append(row)
    if total_length is not None and total_length > len(sizes):
        rows += [rows[0].new_full(rows[0].shape, padding_value)] * (total_length - len(sizes))
    padded = stack(rows, 1 if batch_first else 0)
    lengths = wrap(np.array([sum(n > i for n in sizes) for i in range(sizes[0])], dtype=np.int64))
    back = sequence.unsorted_indices
    if back is not None:
        return padded.index_select(0 if batch_first else 1, back), lengths[back]
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Sequences (steps, ...) of different lengths as one batch, the shorter ones filled up with padding_value."""
    if padding_side not in ("left", "right"):
        raise RuntimeError("padding_side should be either 'right' or 'left'")
    if not isinstance(sequences, (list, tuple)):
        if not isinstance(sequences, Tensor):
            raise RuntimeError(
                f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
            )
        sequences = sequences.unbind(0)
    longest = max(s.shape[0] for s in sequences)
    filled = []
    for s in sequences:
        if s.shape[0] < longest:
            filler = s.new_full((longest - s.shape[0], *s.shape[1:]), padding_value)
            s = cat([s, filler] if padding_side == "right" else [filler, s], 0)
        filled.append(s)
    return stack(filled, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    """The sequences of a padded batch, each with its own length."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [padded_sequences[i, :n] for i, n in enumerate(lengths.tolist())]


def pack_sequence(sequences, enforce_sorted=True):
    """Sequences of different lengths, packed."""
    lengths = [s.shape[0] for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    """The sequences of a PackedSequence, each with its own length."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]
