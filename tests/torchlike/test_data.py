"""Datasets and batches."""

import pytest

import autograd_lab as torch
from autograd_lab.utils.data import DataLoader, Dataset, Subset, TensorDataset, default_collate, random_split

ROWS = TensorDataset(torch.arange(10.0), torch.arange(10))


def test_batches_in_order():
    batches = list(DataLoader(ROWS, 4))
    assert [b[0].tolist() for b in batches] == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0]]
    assert batches[0][1].dtype is torch.int64
    assert (
        len(DataLoader(ROWS, 4)),
        len(DataLoader(ROWS, 4, drop_last=True)),
        len(DataLoader(ROWS, None)),
    ) == (3, 2, 10)
    assert len(list(DataLoader(ROWS, 4, drop_last=True))) == 2


def test_shuffling_is_a_new_order_each_time_and_repeatable():
    def orders(seed):
        loader = DataLoader(ROWS, 3, shuffle=True, generator=torch.Generator().manual_seed(seed))
        return [[int(i) for b in loader for i in b[1]] for _ in range(2)]

    first, second = orders(1)
    assert sorted(first) == sorted(second) == list(range(10))
    assert first != second
    assert orders(1) == [first, second]


def test_random_split():
    parts = random_split(ROWS, [0.55, 0.45])
    assert [len(p) for p in parts] == [6, 4]
    assert sorted(parts[0].indices + parts[1].indices) == list(range(10))
    with pytest.raises(
        ValueError, match="Sum of input lengths does not equal the length of the input dataset!"
    ):
        random_split(ROWS, [7, 7])


def test_datasets():
    class Squares(Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, i):
            return i * i, float(i)

    assert [b.tolist() for b in next(iter(DataLoader(Squares(), 3)))] == [[0, 1, 4], [0.0, 1.0, 2.0]]
    both = ROWS + Subset(ROWS, [7])
    assert (len(both), both[10][1].item(), both[-1][1].item()) == (11, 7, 7)
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        TensorDataset(torch.ones(2), torch.ones(3))


def test_collating():
    assert default_collate([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}])["a"].tolist() == [1, 2]
    assert default_collate([(1, "a"), (2, "b")])[1] == ("a", "b")
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors"):
        default_collate([object()])
    with pytest.raises(
        ValueError, match="batch_size should be a positive integer value, but got batch_size=0"
    ):
        DataLoader(ROWS, 0)
