"""Datasets and batches: the part of torch.utils.data for training loops in one process."""

import bisect
import copy
import itertools
import random
import re
import warnings
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from ..autograd.variable import Registry, Variable, wrap
from ..creation import as_tensor
from ..dtypes import Defaults, as_int64, float64
from ..random import DEFAULT, Generator, rng_of
from ..world.missing import NO_PROCESS_GROUP, finder

T = TypeVar("T", covariant=True)
"""The type of a dataset's items, for annotations such as Dataset[Tensor]."""

_collate_fn_t, _worker_init_fn_t = Callable[[list], Any], Callable[[int], None]
"""The types of functions passed to a loader, for annotations."""


class Dataset(Generic[T]):
    """Something with a length and items by index: subclass it and define both."""

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


def _items(dataset, places):
    """Several items of a dataset, all at once if it supports that."""
    together = getattr(dataset, "__getitems__", None)
    return together(places) if callable(together) else [dataset[i] for i in places]


class Subset(Dataset):
    """Some items of a dataset, by index."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index):
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices):
        return _items(self.dataset, [self.indices[i] for i in indices])

    def __len__(self):
        return len(self.indices)


class ConcatDataset(Dataset):
    """Datasets concatenated."""

    def __init__(self, datasets):
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __getitem__(self, index):
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        i = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[i][index - (self.cumulative_sizes[i - 1] if i else 0)]

    def __len__(self):
        return self.cumulative_sizes[-1]


def random_split(dataset, lengths, generator=None):
    """Split a dataset into disjoint random parts, with the given lengths or fractions (that sum to one)."""
    count = len(dataset)
    if abs(sum(lengths) - 1) < 1e-9 and sum(lengths) <= 1:
        for i, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
        lengths = [int(np.floor(count * fraction)) for fraction in lengths]
        for i in range(count - sum(lengths)):
            lengths[i % len(lengths)] += 1
    for i, n in enumerate(lengths):
        if n == 0:
            warnings.warn(
                f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
            )
    if sum(lengths) != count:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = Registry.functions["randperm"](sum(lengths), generator=generator).tolist()
    ends = np.cumsum(lengths).tolist()
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, lengths, strict=True)]


class StackDataset(Dataset):
    """Datasets side by side: item i is the tuple (or, given by name, the dict) of their i-th items."""

    def __init__(self, *args, **kwargs):
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like input/output, but both types are "
                "given."
            )
        self.datasets = args or kwargs
        if not self.datasets:
            raise ValueError("At least one dataset should be passed")
        self._length = len(args[0] if args else next(iter(kwargs.values())))
        if any(len(d) != self._length for d in (args or kwargs.values())):
            raise ValueError("Size mismatch between datasets")

    def __getitem__(self, index):
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple([dataset[index] for dataset in self.datasets])

    def __getitems__(self, indices):
        """The items at `indices`. Raises ValueError if one of the datasets returns a different number of them."""
        named = isinstance(self.datasets, dict)
        columns = [
            _items(dataset, indices) for dataset in (self.datasets.values() if named else self.datasets)
        ]
        for column in columns:
            if len(column) != len(indices):
                raise ValueError(
                    f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(column)}"
                )
        rows = list(zip(*columns, strict=True))
        return [dict(zip(self.datasets, row, strict=True)) for row in rows] if named else rows

    def __len__(self):
        return self._length


class IterableDataset(Dataset[T]):
    """A stream of items: subclass it and define `__iter__`."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other):
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Iterable datasets chained."""

    def __init__(self, datasets):
        self.datasets = datasets

    def __iter__(self):
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield from dataset

    def __len__(self):
        return sum(len(dataset) for dataset in self.datasets)


# -- in which order -----------------------------------------------------------------------------------


class Sampler(Generic[T]):
    """The order in which items are loaded: subclass it and define `__iter__`, over the items' indices."""

    def __iter__(self):
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler):
    """0, 1, 2, ..."""

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler):
    """A new random order each time, or `num_samples` draws that may repeat (replacement=True).

    The indices come from `generator`; without one, from a new generator seeded by the default one.
    """

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._num_samples = num_samples
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        _positive("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """The number of indices per epoch; by default the number of items."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count = len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = Generator()
            generator.manual_seed(_drawn_seed(None))
        rng = rng_of(generator)
        if self.replacement:
            for start in range(0, self.num_samples, 32):
                yield from rng.integers(0, count, (min(32, self.num_samples - start),)).tolist()
            return
        for _ in range(self.num_samples // count):
            yield from rng.permutation(count).tolist()
        yield from rng.permutation(count).tolist()[: self.num_samples % count]

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """The given indices, in a new random order each time."""

    def __init__(self, indices, generator=None):
        self.indices, self.generator = indices, generator

    def __iter__(self):
        for i in rng_of(self.generator).permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler):
    """`num_samples` draws, where the probability of item i is proportional to weights[i]."""

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _positive("num_samples", num_samples)
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self):
        draw = Registry.functions["multinomial"]
        yield from draw(self.weights, self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self):
        return self.num_samples


class DistributedSampler(Sampler):
    """The share of one process in the items' indices: process `rank` of `num_replicas` takes every num_replicas-th one.

    shuffle    in an order determined by `seed` and the epoch (set_epoch), the same in all processes
    drop_last  whether leftover items are dropped; otherwise some are repeated, so that all shares are equal

    Raises RuntimeError without num_replicas and rank, which PyTorch takes from the process group, and ValueError for an invalid rank.
    """

    def __init__(self, dataset, num_replicas=None, rank=None, shuffle=True, seed=0, drop_last=False):
        if num_replicas is None or rank is None:
            raise RuntimeError(NO_PROCESS_GROUP)
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank, self.epoch = dataset, num_replicas, rank, 0
        self.drop_last, self.shuffle, self.seed = drop_last, shuffle, seed
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self):
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = Generator().manual_seed(self.seed + self.epoch).rng.permutation(count).tolist()
        repeated = itertools.islice(itertools.cycle(order), self.total_size)
        return itertools.islice(repeated, self.rank, None, self.num_replicas)

    def __len__(self):
        return self.num_samples

    def set_epoch(self, epoch):
        """Set the epoch: each has its own order."""
        self.epoch = epoch


class BatchSampler(Sampler):
    """Lists of `batch_size` indices from another sampler; drop_last drops a shorter last list."""

    def __init__(self, sampler, batch_size, drop_last):
        _positive("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self):
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self):
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)


def _positive(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _drawn_seed(generator):
    return int(rng_of(generator).integers(0, 2**63))


# -- batches ------------------------------------------------------------------------------------------


_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")
"""The attributes of a DataLoader that cannot be reassigned."""


class DataLoader(Generic[T]):
    """Iterates over a dataset in batches, in order or (shuffle=True) in a new random order each time.

    batch_size     None: items are not batched
    sampler        the indices to load, in order, instead of shuffle; batch_sampler: lists of them
    collate_fn     makes a batch from a list of items; the default stacks tensors and numbers, also inside tuples and dicts
    drop_last      drop the last batch if it is smaller
    generator      the source of the random order; by default the default generator
    num_workers    how many random streams the items draw from, as if that many processes loaded them; everything is loaded in this process,
                   and the other arguments about processes and devices are ignored
    """

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        if num_workers < 0:
            raise ValueError(
                "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing."
            )
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
                "multiprocessing, otherwise set prefetch_factor to None."
            )
        if num_workers == 0 and persistent_workers:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if num_workers == 0 and multiprocessing_context is not None:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got num_workers=0"
            )
        one_by_one = isinstance(dataset, IterableDataset)
        if one_by_one:
            given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
            for name, value in given.items():
                if value is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last"
            )
        if sampler is None and not one_by_one:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            _positive("batch_size", batch_size)
            batch_sampler = batch_sampler or (
                None if one_by_one else BatchSampler(sampler, batch_size, drop_last)
            )
        self.dataset, self.batch_size, self.drop_last, self.generator = (
            dataset,
            batch_size,
            drop_last,
            generator,
        )
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.num_workers, self.pin_memory, self.timeout = num_workers, pin_memory, timeout
        self.worker_init_fn, self.multiprocessing_context = worker_init_fn, multiprocessing_context
        self.prefetch_factor, self.persistent_workers, self.in_order = (
            prefetch_factor,
            persistent_workers,
            in_order,
        )
        in_batches = batch_size is not None or batch_sampler is not None
        self.collate_fn = collate_fn or (default_collate if in_batches else default_convert)
        self._said_length = None  # the len() of an iterable dataset, once known
        self._ready = True

    def __setattr__(self, name, value):
        if name in _FIXED and self.__dict__.get("_ready"):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __len__(self):
        if isinstance(self.dataset, IterableDataset):
            count = self._said_length = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self):
        if self.pin_memory:
            warnings.warn(
                "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
                stacklevel=2,
            )
        kind = _MultiProcessingDataLoaderIter if self.num_workers else _SingleProcessDataLoaderIter
        return kind(self)


class _BaseDataLoaderIter:
    """The base class of a loader's iterators; programs check for it."""


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """One pass over the data of a loader. It can continue after an item that failed to load."""

    _cause = ""

    def __init__(self, loader):
        self._loader, self._num_yielded, self._said_length = loader, 0, loader._said_length
        self._sampler_iter = iter(())
        if not isinstance(loader.dataset, IterableDataset):
            self._sampler_iter = iter(
                loader.sampler if loader.batch_sampler is None else loader.batch_sampler
            )
        self._start(loader)

    def _start(self, loader):
        _drawn_seed(loader.generator)  # PyTorch draws it even without the workers that it is for
        self._part = _Part(loader)

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._loader)

    def __next__(self):
        batch = self._next_batch()
        self._num_yielded += 1
        if self._said_length is not None and self._num_yielded > self._said_length:
            warnings.warn(
                f"Length of IterableDataset {self._loader.dataset} was reported to be {self._said_length}"
                f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. {self._cause}",
                stacklevel=2,
            )
        return batch

    def _next_batch(self):
        return self._part.load(self._sampler_iter)


class _Part:
    """Loads the requested items, one batch at a time."""

    def __init__(self, loader):
        self.loader = loader
        if isinstance(loader.dataset, IterableDataset):
            self.items = iter(loader.dataset)

    def load(self, wanted):
        """The next batch, of the items whose indices are next in `wanted`. Raises StopIteration if there is none."""
        loader = self.loader
        dataset = loader.dataset
        if not isinstance(dataset, IterableDataset):
            rows = next(wanted)
            if loader.batch_sampler is None:
                return loader.collate_fn(dataset[rows])
            return loader.collate_fn(_items(dataset, rows))
        if loader.batch_size is None:
            return loader.collate_fn(next(self.items))
        batch = list(itertools.islice(self.items, loader.batch_size))
        if not batch or (len(batch) < loader.batch_size and loader.drop_last):
            raise StopIteration
        return loader.collate_fn(batch)


class _MultiProcessingDataLoaderIter(_SingleProcessDataLoaderIter):
    """The same as with several workers, each with its own random numbers: worker k % num_workers makes batch k."""

    _cause = (
        "For multiprocessing data-loading, this could be caused by not properly configuring the IterableDataset replica at each worker: "
        "each of them goes through all of it, unless it heeds get_worker_info()."
    )

    def _start(self, loader):
        workers = loader.__dict__.get("_workers")
        if workers is None:
            base = _drawn_seed(loader.generator)
            workers = [_Worker(loader, i, base) for i in range(loader.num_workers)]
            if loader.persistent_workers:
                loader._workers = workers
        for worker in workers:
            worker.start()
        self._turns = workers

    def _next_batch(self):
        iterable = isinstance(self._loader.dataset, IterableDataset)
        wanted = () if iterable else iter([next(self._sampler_iter)])
        while self._turns:
            worker, *others = self._turns
            self._turns = [*others, worker]
            try:
                return worker.load(wanted)
            except StopIteration:  # this worker's part of an iterable dataset is exhausted
                self._turns = others
        raise StopIteration


class WorkerInfo:
    """Describes a worker: its id, the number of workers, its seed and its dataset."""

    def __init__(self, id, num_workers, seed, dataset):
        self.id, self.num_workers, self.seed, self.dataset = id, num_workers, seed, dataset

    def __repr__(self):
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset!r})"


class _Worker:
    """A worker without a process: while it works, its random numbers replace the main program's."""

    now = None
    """The WorkerInfo of the worker that is running."""

    def __init__(self, loader, number, base):
        self.loader = loader
        self.info = WorkerInfo(number, loader.num_workers, base + number, loader.dataset)
        self.torch = Generator().manual_seed(base + number)
        self.python = random.Random(base + number).getstate()
        words = np.random.SeedSequence([number, base & 0xFFFFFFFF, base >> 32, 0]).generate_state(4)
        self.numpy = np.random.RandomState(words).get_state(legacy=False)
        if loader.worker_init_fn is not None:
            with self:
                loader.worker_init_fn(number)

    def __enter__(self):
        self._exchange()
        self.before, _Worker.now = _Worker.now, self.info

    def __exit__(self, *exc):
        _Worker.now = self.before
        self._exchange()

    def _exchange(self):
        DEFAULT.exchange(self.torch)
        mine, self.python = self.python, random.getstate()
        random.setstate(mine)
        mine, self.numpy = self.numpy, np.random.get_state(legacy=False)  # noqa: NPY002 - what datasets draw from
        np.random.set_state(mine)  # noqa: NPY002 - as above

    def start(self):
        """Start iterating."""
        with self:
            self.part = _Part(self.loader)

    def load(self, wanted):
        """As `_Part.load`."""
        with self:
            return self.part.load(wanted)


def get_worker_info():
    """The WorkerInfo inside a worker of a DataLoader; None elsewhere (torch.utils.data.get_worker_info)."""
    return _Worker.now


def default_convert(item):
    """Convert one unbatched item: arrays and NumPy numbers become tensors, a tuple becomes a list."""
    if isinstance(item, (np.ndarray, np.generic)):
        return item if item.dtype.kind in "SUO" else as_tensor(item)
    if isinstance(item, Mapping):
        return _like_mapping(item, {key: default_convert(value) for key, value in item.items()})
    if isinstance(item, tuple) and hasattr(item, "_fields"):
        return type(item)(*[default_convert(value) for value in item])
    if isinstance(item, tuple):
        return [default_convert(value) for value in item]
    if isinstance(item, Sequence) and not isinstance(item, (str, bytes)):
        return _like_sequence(item, [default_convert(value) for value in item])
    return item


np_str_obj_array_pattern = re.compile(r"[SaUO]")
"""The kinds of arrays that cannot become tensors: bytes, text and objects."""


def default_collate(batch):
    """Batch a list of items: tensors and arrays are stacked, numbers become a tensor, tuples, lists and dicts are batched entry by entry.

    Raises TypeError for other kinds of items, RuntimeError for lists of different lengths.
    """
    first = batch[0]
    if isinstance(first, Variable):
        return Registry.functions["stack"](batch)
    if isinstance(first, np.ndarray) and np_str_obj_array_pattern.search(first.dtype.str):
        raise _not_to_collate(first.dtype)
    if isinstance(first, (np.ndarray, np.generic)):
        return wrap(np.stack(batch))
    if isinstance(first, float):
        return wrap(np.array(batch, dtype=np.float64))
    if isinstance(first, int):
        numbers = np.array(batch)
        return wrap(numbers.astype(Defaults.np) if numbers.dtype.kind == "f" else as_int64(numbers))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _like_mapping(first, {key: default_collate([item[key] for item in batch]) for key in first})
    if isinstance(first, Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [default_collate(column) for column in zip(*batch, strict=True)]
        if isinstance(first, tuple):
            return type(first)(*columns) if hasattr(first, "_fields") else columns
        return _like_sequence(first, columns)
    raise _not_to_collate(type(first))


def _not_to_collate(kind):
    return TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {kind}"
    )


def _like_mapping(kind, values):
    """`values` in a mapping of the same class as `kind`, if possible."""
    try:
        if isinstance(kind, MutableMapping):
            out = copy.copy(kind)
            out.update(values)
            return out
        return type(kind)(values)
    except TypeError:
        return values


def _like_sequence(kind, values):
    try:
        if isinstance(kind, MutableSequence):
            out = copy.copy(kind)
            for i, value in enumerate(values):
                out[i] = value
            return out
        return type(kind)(values)
    except TypeError:
        return values


__getattr__ = finder("utils.data")

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]
