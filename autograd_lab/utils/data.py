"""Datasets and batches: as much of torch.utils.data as a training loop in one process needs."""

import numpy as np

from ..autograd.variable import Registry, Variable, wrap


class Dataset:
    """Something with a length, whose items can be asked for by number: subclass it and write both."""

    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other):
        return ConcatDataset([self, other])


class TensorDataset(Dataset):
    """Rows of tensors: item i is the tuple of their i-th rows."""

    def __init__(self, *tensors):
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index):
        return tuple([t[index] for t in self.tensors])

    def __len__(self):
        return self.tensors[0].shape[0]


class Subset(Dataset):
    """Some items of a dataset, by number."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets one after the other."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")

    def __getitem__(self, index):
        if index < 0:
            index += len(self)
        for dataset in self.datasets:
            if 0 <= index < len(dataset):
                return dataset[index]
            index -= len(dataset)
        raise IndexError("index out of range")

    def __len__(self):
        return sum(len(d) for d in self.datasets)


def random_split(dataset, lengths, generator=None):
    """Cut a dataset into disjoint random parts, of the given lengths or fractions (that sum to one)."""
    count = len(dataset)
    if abs(sum(lengths) - 1) < 1e-9 and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths = [int(np.floor(count * fraction)) for fraction in lengths]
        for i in range(count - sum(lengths)):
            lengths[i % len(lengths)] += 1
    if sum(lengths) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = Registry.functions["randperm"](sum(lengths), generator=generator).tolist()
    ends = np.cumsum(lengths).tolist()
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, lengths, strict=True)]


class DataLoader:
    """Goes through a dataset in batches, in order or (shuffle=True) in a new random order each time.

    collate_fn  makes a batch of a list of items; the default stacks tensors and numbers, inside tuples and dicts too
    drop_last   leave out the last batch if it is smaller
    generator   where the random order comes from; the default generator if not given
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=False,
        *,
        drop_last=False,
        collate_fn=None,
        generator=None,
        num_workers=0,
    ):
        if num_workers:
            raise ValueError("there are no worker processes here: num_workers must be 0")
        if batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if batch_size is not None and (not isinstance(batch_size, int) or batch_size <= 0):
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        self.dataset, self.batch_size, self.drop_last, self.generator = (
            dataset,
            batch_size,
            drop_last,
            generator,
        )
        self.shuffle = bool(shuffle)
        self.collate_fn = collate_fn or (default_collate if batch_size is not None else _converted)

    def __len__(self):
        count = len(self.dataset)
        if self.batch_size is None:
            return count
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self):
        order = range(len(self.dataset))
        if self.shuffle:
            order = Registry.functions["randperm"](len(self.dataset), generator=self.generator).tolist()
        if self.batch_size is None:
            for i in order:
                yield self.collate_fn(self.dataset[i])
            return
        for k in range(len(self)):
            rows = order[k * self.batch_size : (k + 1) * self.batch_size]
            yield self.collate_fn([self.dataset[i] for i in rows])


def _converted(item):
    """One item, not batched: its arrays become tensors, its tuple a list."""
    if isinstance(item, np.ndarray):
        return wrap(item)
    if isinstance(item, dict):
        return {key: _converted(value) for key, value in item.items()}
    if isinstance(item, (tuple, list)):
        return [_converted(value) for value in item]
    return item


def default_collate(batch):
    """A list of items as one: tensors and arrays stacked, numbers as a tensor, tuples, lists and dicts entry by entry."""
    first = batch[0]
    if isinstance(first, Variable):
        return Registry.functions["stack"](batch)
    if isinstance(first, (np.ndarray, np.generic)):
        return wrap(np.stack(batch))
    if isinstance(first, float):
        return wrap(np.array(batch, dtype=np.float64))
    if isinstance(first, int):
        return wrap(np.array(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, dict):
        return {key: default_collate([item[key] for item in batch]) for key in first}
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*[default_collate(column) for column in zip(*batch, strict=True)])
    if isinstance(first, (tuple, list)):
        return [default_collate(column) for column in zip(*batch, strict=True)]
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )


__all__ = [
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "Subset",
    "TensorDataset",
    "default_collate",
    "random_split",
]
