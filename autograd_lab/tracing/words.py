"""The words of the rules' formulas that are no functions of PyTorch's, in plain English: shown beside each formula that has them.

tests/trace/test_words_of_rules.py finds a word in any rule's text that is neither here nor a name to be looked up in PyTorch.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

_DRAWN = "random numbers in a tensor of that shape, as Tensor.{}_ draws them"

WORDS = {
    # sums, extremes, losses
    "spread": "the first, repeated along the dims that a reduction has taken away, in the shape of the second (unsqueeze and expand)",
    "product_of_others": "the product of all other elements (along the dim), for each element",
    "omitting_each": "the sum over all k from i on of g[k] times the product of a[0] to a[k] without a[i], for each i",
    "later_shares": "the sum over all k from i on of g[k] * exp(a[i] - y[k]), for each i",
    "is_class": "1 at the place of each sample's target, else 0 (one_hot), and only 0 for a target to be ignored",
    "Phi": "the chance that a standard normal number is smaller (torch.special.ndtr)",
    "phi": "the bell curve exp(-x ** 2 / 2) / sqrt(2 * pi)",
    "slope": "the derivative of the function, element by element",
    # shapes and places
    "inverse_order": "the order of dims that undoes this one",
    "last_dims": "the last dims, as many as that shape has: (-2, -1) for two",
    "all_but": "all dims but this one",
    "product": "these numbers multiplied",
    "before": "how long the operands before the k-th are along the dim, together",
    "slice": "x[start:end:step] along the dim",
    "windows_added": "each window added back to where unfold took it from; overlaps add up",
    "as_strided_added": "each g added where as_strided took its element from",
    "block": "the part of g where the k-th operand stands in block_diag",
    "copies_summed": "the sum over the copies that repeat made",
    "rows": "the index of the row, repeated for each of its elements, as gather needs it",
    "scatter_others": "the product of all others that are scattered to the same place, for each element",
    "masked_take": "the elements where the mask is True, in a row, then zeros, in that shape",
    # layers
    "per_channel": "one number for each channel (dim 1), reshaped so that it broadcasts over the other dims",
    "near": "the sum over the channels near to each channel",
    "near_back": "the sum over the channels that each channel is near to",
    "conv": "conv1d, conv2d or conv3d, by the number of dims",
    "conv_input": "torch.nn.grad.conv2d_input, or that for 1 or 3 dims: each g times the weight, added to the window it comes from",
    "conv_weight": "torch.nn.grad.conv2d_weight, or that for 1 or 3 dims: the sum of all windows, each times its g",
    "im2col": "every window as a column (torch.nn.functional.unfold)",
    "col2im": "every column added back to its window (torch.nn.functional.fold)",
    "resizing": "the matrix that makes a line of the new size from one of the old size: in each row the weights of the old elements",
    "sample_weights": "how much each element of the input counts at each place of the grid; with a 1 or 2 at the end, the derivatives of that",
    "unit_grid": "a row (x, y, 1) for each place of the output, with x and y from -1 to 1",
    "max_pool": "the largest element of each window (max_pool2d, max_pool3d)",
    "max_pool_winners": "the place of the largest element of each window, the first at a tie (return_indices=True)",
    "fractional_max_pool": "the largest element of each window (fractional_max_pool2d, fractional_max_pool3d)",
    "fractional_max_pool_winners": "the place of the largest element of each window, the first at a tie",
    "window_sums": "the sum of each window",
    "window_sizes": "how many elements each window has",
    "add_to_windows": "each number added to all elements of its window",
    "cell_means": "the mean of each cell, where the image is cut into as many cells as the output has elements",
    "add_to_cells": "each g divided by the size of its cell and added to all elements of the cell",
    "cell_maxima": "the largest element of each cell, where the image is cut into as many cells as the output has elements",
    "cell_winners": "the place of the largest element of each cell, the first at a tie",
    "in_all": "places in one image as places in the whole tensor",
    "causal": "-inf where a query would look at a later key, else 0",
    "safe_softmax": "softmax, with zeros instead of nan where all inputs are -inf",
    "bag_of": "the number of the bag of each index",
    "bag_sizes": "how many indices each bag has",
    "bag_winners": "the row of the table with the largest element, for each bag and column",
    # matrices
    "cofactors": "the determinant of the matrix without the row and column of an element, with alternating sign, for each element",
    "triangle": "the upper or lower triangle, zeros elsewhere; with unitriangular ones on the diagonal",
    "symmetric": "the lower triangle, mirrored above the diagonal",
    "skew": "the matrix minus its transpose",
    "gaps": "w[j] - w[i] at row i and column j, and 1 on the diagonal",
    "fit": "the matrix with zeros behind and below it, in the shape of the second",
    "quarters": "one matrix of four: two above, two below",
    "lu_lower": "L of both factors packed in one matrix: the part below the diagonal, with ones on the diagonal",
    "lu_upper": "U of both factors packed in one matrix: the diagonal and the part above it",
    "permutation": "P of A = P L U, the order of the rows as a matrix",
    # random numbers
    "gammadraw": "random numbers of the gamma distribution",
    "gammadraw_slope": "how the draw moves with a if its chance to be smaller stays the same",
    "geometric": _DRAWN.format("geometric"),
    "uniform": _DRAWN.format("uniform"),
    "exponential": _DRAWN.format("exponential"),
    "log_normal": _DRAWN.format("log_normal"),
    "cauchy": _DRAWN.format("cauchy"),
    "random": _DRAWN.format("random"),
}
"""word: what it is, to be read after a colon."""

NAMES = {
    "indices": "the indices that the call is given, or returns",
    "winners": "the places of the elements that the pooling has chosen",
    "local": "the derivative of the loss with respect to each input, as if g were 1",
    "out": "the size of the output",
    "shown": "the arguments of the call, from the size on",
    "vector": "whether the second operand is a vector, or several, and no matrix",
}
"""The same for names of arguments that are not in PyTorch's call."""

_WORD = re.compile(r"(?<![\w.])([A-Za-z]\w*?)(_*)(\(|(?!\w))")


def explained(texts: Iterable[str], taken: Container[str] = ()) -> dict[str, str]:
    """The words of some formulas that need an explanation, as they stand there: "spread(", with a parenthesis if it is a function.

    taken   the names of the program, which mean its variables; a text has "winners_" where the program has `winners`
    """
    found: dict[str, str] = {}
    for text in texts:
        for word, more, call in _WORD.findall(text):
            meaning = WORDS.get(word + more) if call else NAMES.get(word)
            if meaning and (call or word + more not in taken):
                found[word + more + call] = meaning
    return found
