"""The real data that ships with the lab, as NumPy arrays. Origin and license: data/README.md."""

from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent / "data"


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits: 1797 images and the digit each one shows.

    Returns
    -------
    images : float64 array, shape (1797, 64)
        One 8 x 8 image a row, read line by line; 0 is white and 1 is black. Double precision, so that the few
        digits a notebook shows do not depend on the order in which some machine's BLAS adds.
    labels : int64 array, shape (1797,)
        The digit written, 0 to 9.

    The file lists its images writer by writer. They are shuffled here, always in the same way, so that the
    first rows and the last ones are samples of the same thing.
    """
    table = np.loadtxt(FOLDER / "digits.csv", delimiter=",", skiprows=1, dtype=np.int64)
    # RandomState, not default_rng: NumPy promises that its stream never changes; notebooks state accuracies.
    order = np.random.RandomState(0).permutation(len(table))
    table = table[order]
    return table[:, :-1] / 16, table[:, -1]
