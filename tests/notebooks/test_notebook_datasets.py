"""The data that ships with the lab."""

import numpy as np

from autograd_lab import datasets


def test_digits_are_all_there():
    images, labels = datasets.digits()
    assert images.shape == (1797, 64)
    assert labels.shape == (1797,)
    assert (images.dtype, labels.dtype) == (np.float64, np.int64)
    assert (images.min(), images.max()) == (0, 1)
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_digits_come_in_the_same_order_every_time():
    images, labels = datasets.digits()
    assert labels[:10].tolist() == [2, 8, 2, 6, 6, 7, 1, 9, 8, 5]
    assert float(images[0].sum()) * 16 == 338
    again = datasets.digits()
    assert np.array_equal(images, again[0])
    assert np.array_equal(labels, again[1])


def test_any_slice_is_a_fair_sample():
    """The file is sorted by writer; the loader's order is not."""
    _, labels = datasets.digits()
    first, last = np.bincount(labels[:1400]) / 1400, np.bincount(labels[1400:]) / 397
    assert np.abs(first - last).max() < 0.05


def test_origin_and_license_are_stated():
    text = (datasets.FOLDER / "README.md").read_text(encoding="utf-8")
    assert "CC BY 4.0" in text
    assert "Alpaydin" in text
    assert (datasets.FOLDER / "digits.csv").stat().st_size < 300_000
