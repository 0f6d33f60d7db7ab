"""A softmax over very many classes, most of which are rare."""

from collections import namedtuple

from .containers import ModuleList, Sequential
from .functional import log_softmax
from .module import Module
from .modules import Linear

_ASMoutput = namedtuple("_ASMoutput", "output loss")


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log probabilities of classes, of which the rare ones stand in clusters with smaller layers of their own.

    in_features, n_classes  the sizes of the input and of what it is divided into
    cutoffs                 where the clusters begin; the classes below the first one are the frequent ones, in the head
    div_value               by how much each cluster's inner layer is smaller than that of the one before
    head_bias               whether the head has a bias

    Called with (n, in_features) and (n,) classes (or without n), it returns the classes' log probabilities and the loss, which is
    their negative mean. Raises ValueError for cutoffs that do not rise from 1 to below n_classes.
    """

    def __init__(
        self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None
    ):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or min(cutoffs) <= 0
            or max(cutoffs) > n_classes - 1
            or any(int(c) != c for c in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*cutoffs, n_classes]
        self.div_value, self.head_bias = div_value, head_bias
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(cutoffs)
        self.head_size = self.shortlist_size + self.n_clusters
        made = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **made)
        self.tail = ModuleList()
        for i, (start, stop) in enumerate(self._clusters()):
            inner = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, inner, bias=False, **made),
                    Linear(inner, stop - start, bias=False, **made),
                )
            )

    def _clusters(self):
        """Where each cluster begins and ends."""
        return list(zip(self.cutoffs[:-1], self.cutoffs[1:], strict=True))

    def reset_parameters(self):
        """Draw new weights."""
        self.head.reset_parameters()
        for inner, outer in self.tail:
            inner.reset_parameters()
            outer.reset_parameters()

    def _check(self, input, target):
        if target.dim() == 1:
            if input.shape[0] != target.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input.size()}"
                )
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input.size()}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        classes = target._data
        if classes.size and (classes.min() < 0 or classes.max() >= self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{classes.min()}, "
                f"{classes.max()}] were found. "
            )

    def forward(self, input, target_):
        target = target_
        self._check(input, target)
        batched = target.dim() > 0
        if not batched:
            input, target = input.unsqueeze(0), target.unsqueeze(0)
        output = input.new_zeros(target.shape[0])
        first = target.clone()  # the class in the head: its own, or that of its cluster
        for i, (start, stop) in enumerate(self._clusters()):
            rows = ((target >= start) & (target < stop)).nonzero().squeeze()
            if not rows.numel():
                continue
            log_p = log_softmax(self.tail[i](input.index_select(0, rows)), dim=1)
            inside = target.index_select(0, rows) - start
            output = output.index_copy(0, rows, log_p.gather(1, inside.unsqueeze(1)).squeeze(1))
            first.index_fill_(0, rows, self.shortlist_size + i)
        head = log_softmax(self.head(input), dim=1)
        output = output + head.gather(1, first.unsqueeze(1)).squeeze()
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def log_prob(self, input):
        """The log probabilities (n, n_classes) of all classes."""
        return self._full_log_prob(input, self.head(input))

    def _full_log_prob(self, input, head_output):
        head = log_softmax(head_output, dim=1)
        out = input.new_empty((head_output.size(0), self.n_classes))
        out[:, : self.shortlist_size] = head[:, : self.shortlist_size]
        for i, (start, stop) in enumerate(self._clusters()):
            log_p = log_softmax(self.tail[i](input), dim=1)
            out[:, start:stop] = log_p + head[:, self.shortlist_size + i].unsqueeze(1)
        return out

    def predict(self, input):
        """The most probable class of each row."""
        head = self.head(input)
        best = head.argmax(dim=1)
        rare = best >= self.shortlist_size
        if not rare.any():
            return best
        if rare.all():
            return self._full_log_prob(input, head).argmax(dim=1)
        best[rare] = self._full_log_prob(input[rare], head[rare]).argmax(dim=1)
        return best


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
