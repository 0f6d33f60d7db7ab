"""Wrong claims about autograd that learners meet elsewhere, each with the notebook and the line that correct it.

The line is in a cell that runs, so it is true; a test finds it there. The recorded cases in tests/ check that PyTorch does
the same.
"""

from typing import NamedTuple


class Claim(NamedTuple):
    """A claim, the truth, and where it is shown."""

    claims: str
    instead: str
    home: str
    shows: str
    """A piece of the cell that shows it: an assertion, an expected error, or a revealed truth."""


CLAIMS = {
    "C01": Claim(
        "history is kept because anomaly mode tracks the operations",
        "every operation on a tensor that requires a gradient records itself; anomaly mode is off, and only adds checks",
        "02", "assert not torch.is_anomaly_enabled()",
    ),
    "C02": Claim(
        "what is computed from a detached result has a grad_fn, and backward leaves a zero",
        "it has none, backward refuses, and .grad stays None",
        "07", 'assert (z.grad_fn, call, x.grad) == (None, "error", None)',
    ),
    "C03": Claim(
        "an operation is an edge between tensors",
        "it is a node; edges are pairs of a node and the number of its output",
        "02", 'assert edges(d) == ["MulBackward0", "AccumulateGrad"]',
    ),
    "C04": Claim(
        "to see the gradient in the middle, call backward from there with retain_graph first",
        "that keeps no gradient there, and adds to the leaves; retain_grad is for it",
        "06", "assert (h.grad, a.grad, extra) == (12, 24, 26)",
    ),
    "C05": Claim(
        "at x @ w the engine computes the gradients of both",
        "for the one that needs none nothing is computed: there is no edge",
        "04", "assert (x @ W1).grad_fn.next_functions[0] == (None, 0)",
    ),
    "C06": Claim(
        "the constant in y + 3 has an AccumulateGrad",
        "it has the dead end (None, 0)",
        "02", "assert (b + 3).grad_fn.next_functions[1] == (None, 0)",
    ),
    "C07": Claim(
        "to print the graph, go from tensor to tensor by .grad_fn and next_functions",
        "next_functions leads to nodes, and a node has no .grad_fn",
        "02", 'with lab.expect(AttributeError, "grad_fn"):',
    ),
    "C08": Claim(
        "writing in place into a tensor that backward comes through is an error",
        "only if a saved value was overwritten",
        "10", 'assert truth == ["fine", "error", "fine", "error", "fine"]',
    ),
    "C09": Claim(
        "a leaf is a tensor that the user made",
        "a leaf is what no recorded operation made: results of constants, and of anything under no_grad, too",
        "05", "assert ((k * 1).is_leaf, (w * 1).is_leaf) == (True, False)",
    ),
    "C10": Claim(
        "only leaves have a .grad",
        "so has every other tensor that retain_grad was called on",
        "05", "assert h.grad == 12",
    ),
    "C11": Claim(
        "the engine calls .backward() on each grad_fn",
        "it calls the node itself, with the gradients that came in; .backward() is a method of tensors",
        "03", 'assert not hasattr(node, "backward")',
    ),
    "C12": Claim(
        "the node of e * 3 keeps e and the 3",
        "it keeps the 3, which e's gradient needs, and not e",
        "06", "m = e * 3",
    ),
}  # fmt: skip
