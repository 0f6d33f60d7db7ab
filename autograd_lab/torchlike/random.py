"""Random numbers: the generator behind rand, randn, dropout and the like.

The generator is the Mersenne Twister, and its words become numbers as in PyTorch's CPU generator: the same seed gives the same numbers as
in PyTorch (normal ones up to the last digit or two, since the logarithm and the cosine are NumPy's).
"""

import math
import struct
import threading

import numpy as np

from .autograd.modes import WATCHERS, watcher
from .autograd.variable import wrap
from .layout import order_of
from .world.device import CPU, on_cpu

WORDS = 624
"""The number of 32-bit words in the state of the Mersenne Twister."""

LAYOUT = struct.Struct(f"<QiiQ{WORDS}Q3di4xfB3x")
"""PyTorch's layout of a generator's state: seed, words left, seeded, next word, words, normal x, y, rho, whether y is kept
for the next draw; the kept number in single precision, which is not used here."""


class Stream:
    """The words of one Mersenne Twister, converted to numbers. Arrays are filled in the order of their elements.

    `bit_generator.state` is the whole state, a value that can be compared, kept and set again.
    """

    drawing = threading.RLock()
    """Held while numbers are drawn: those of one call follow each other, whatever other threads draw. One for all streams, which are copied."""

    def __init__(self, seed, state=None):
        self._seed = seed % 2**32  # as in PyTorch: one word
        self._started = None
        # The state of another stream, to begin with: set when it is needed, for that takes as long as a small program.
        self._first = state
        self.second = state and state[2]  # the second of the last pair of normal numbers, if not used yet

    @property
    def _twister(self):
        """Created when first needed: that loads NumPy's generators, and many programs draw no random numbers."""
        if self._started is None:
            with self.drawing:
                if self._started is None:
                    twister = np.random.MT19937(0)
                    if self._first is None:
                        np.random.RandomState(twister).seed(self._seed)
                    else:
                        self._set(twister, self._first)
                    self._started = twister
        return self._started

    @property
    def bit_generator(self):
        """NumPy's generators keep `state` here; in this class it is the stream itself."""
        return self

    @property
    def state(self):
        """The words, the position of the next one, and the leftover normal number, if any."""
        with self.drawing:
            inner = self._twister.state["state"]
            return inner["key"].tobytes(), int(inner["pos"]), self.second

    @state.setter
    def state(self, state):
        with self.drawing:
            self.second = state[2]
            self._set(self._twister, state)

    @staticmethod
    def _set(twister, state):
        key, pos, _ = state
        inner = {"key": np.frombuffer(key, np.uint32), "pos": pos}
        twister.state = {"bit_generator": "MT19937", "state": inner}

    def words(self, count):
        """`count` 32-bit words, as uint64."""
        with self.drawing:
            return self._twister.random_raw(count)

    def long_words(self, count):
        """`count` 64-bit words; the first of two 32-bit words is the high half."""
        pairs = self.words(2 * count)
        return (pairs[::2] << np.uint64(32)) | pairs[1::2]

    def random(self, shape=(), dtype=np.float64):
        """Uniform numbers from [0, 1): 53 bits for float64, 24 for the others (computed in float32)."""
        count = math.prod(shape)
        if np.dtype(dtype) == np.float64:
            return np.asarray((self.long_words(count) & np.uint64(2**53 - 1)).reshape(shape) * 2.0**-53)
        bits = (self.words(count) & np.uint64(2**24 - 1)).astype(np.float32)
        return np.asarray(
            bits.reshape(shape) * np.float32(2**-24)
        )  # reshaped first: the result owns its memory

    def uniform(self, low, high, shape=(), dtype=np.float64):
        """Uniform numbers from [low, high); numbers rounded up to `high` become `low`, as in PyTorch."""
        numbers = self.random(shape, dtype)
        kind, own = numbers.dtype.type, np.dtype(dtype).type
        if (low, high) != (0, 1):
            wide = np.float64 if kind is np.float32 else np.longdouble
            # PyTorch rounds once, after both operations, so this is computed in higher precision.
            numbers = (numbers * wide(kind(high) - kind(low)) + wide(kind(low))).astype(kind)
        numbers = numbers.astype(own, copy=False)
        numbers[numbers == own(high)] = own(low)
        return numbers

    def normal(self, mean, std, shape=(), dtype=np.float64, in_a_row=True):
        """Normal numbers (Box-Muller: two uniform numbers make two normal ones).

        From 16 numbers on (if they are contiguous in memory) they are made in blocks of 16 from uniform numbers of their own precision;
        fewer are made pair by pair in double precision, and the second of a pair is kept for later.
        """
        with self.drawing:
            return self._normal(mean, std, shape, dtype, in_a_row)

    def _normal(self, mean, std, shape, dtype, in_a_row):
        count = math.prod(shape)
        if count < 16 or not in_a_row:
            numbers = np.array([self._one_normal() for _ in range(count)])
            return np.asarray(numbers.reshape(shape) * std + mean)
        last = count - count % 16
        numbers = self.random((last if np.dtype(dtype) == np.float16 else count,), dtype)
        if last < count:  # the numbers of the last, overlapping block are drawn once more
            blocks = _normal_blocks(numbers[:last])
            tail = _normal_blocks(self.random((16,), dtype))
            numbers = np.concatenate([blocks[: count - 16], tail])
        else:
            numbers = _normal_blocks(numbers)
        kind = numbers.dtype.type
        return numbers.reshape(shape) * kind(std) + kind(mean)

    def _one_normal(self):
        if self.second is not None:
            number, self.second = self.second, None
            return number
        turn, length = self.random((2,))
        radius, angle = np.sqrt(-2 * np.log1p(-length)), 2 * np.pi * turn
        self.second = float(radius * np.sin(angle))
        return float(radius * np.cos(angle))

    def standard_normal(self, shape=()):
        """Normal numbers in double precision."""
        return self.normal(0.0, 1.0, shape)

    def exponential(self, rate, shape=()):
        """Exponential numbers with that rate, in double precision."""
        return -np.log1p(-self.random(shape)) / rate

    def integers(self, low, high, shape=(), long=None):
        """Integers from low (included) to high (excluded), from 64-bit words (by default for ranges from 2**28 on) or 32-bit words."""
        count, span = math.prod(shape), int(high) - int(low)
        long = span >= 2**28 if long is None else long
        words = self.long_words(count) if long else self.words(count)
        if span == 2**64:  # the full range: the words themselves
            return words.astype(np.int64).reshape(shape)
        # In uint64, which wraps around, because a range may be wider than int64.
        return (words % np.uint64(span) + np.uint64(int(low) % 2**64)).astype(np.int64).reshape(shape)

    def permutation(self, n):
        """0 to n - 1 in random order: each position in turn swaps its number with a later one, or keeps it."""
        order = list(range(n))
        if n > 1:
            places = (self.words(n - 1) % np.arange(n, 1, -1, dtype=np.uint64)).tolist()
            for i, step in enumerate(places):
                order[i], order[i + step] = order[i + step], order[i]
        return np.array(order, dtype=np.int64)


def _normal_blocks(uniform):
    """Normal numbers from uniform ones, in blocks of 16: the first eight give the radii, the other eight the angles."""
    blocks = uniform.reshape(-1, 2, 8)
    kind = uniform.dtype.type
    radius = np.sqrt(kind(-2) * np.log(kind(1) - blocks[:, 0]))
    angle = kind(2 * np.pi) * blocks[:, 1]
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)


def memory_order(array):
    """The dims of an array from the largest stride to the smallest, if that is not their natural order.

    None if it is, or if elements share memory: then similar tensors are row-major.
    """
    if array.flags.c_contiguous or 0 in array.strides:
        return None
    order = order_of(array)
    return order if order != tuple(range(array.ndim)) else None


def laid_out(flat, like):
    """Draws, in order, as an array in the memory order of `like`."""
    order = memory_order(like)
    if order is None:
        return flat.reshape(like.shape)
    return flat.reshape([like.shape[d] for d in order]).transpose(np.argsort(order))


class Generator:
    """A source of random numbers with its own state (torch.Generator). `rng` is its stream of numbers."""

    def __init__(self, device="cpu"):
        if device != "cpu":
            on_cpu(device)
        self.manual_seed(67280421310721)  # PyTorch's default seed

    def manual_seed(self, seed):
        """Start again from `seed`; returns the generator."""
        if WATCHERS:
            watcher().seeded(self)
        seed = int(seed)
        if not -(2**63) <= seed < 2**64:
            raise ValueError("Overflow when unpacking long long")
        self._seed = seed % 2**64
        self.rng = Stream(self._seed)
        return self

    def seed(self):
        """Restart from a random seed; returns the seed."""
        import secrets

        self.manual_seed(secrets.randbits(63))
        return self._seed

    def initial_seed(self):
        """The seed the generator last started from."""
        if WATCHERS:
            watcher().seeded(self)
        return self._seed

    def get_state(self):
        """The state as a uint8 tensor in PyTorch's layout, for set_state."""
        if WATCHERS:
            watcher().seeded(self)
        key, pos, second = self.rng.state
        words = np.frombuffer(key, np.uint32).tolist()
        kept = (0.0, 0.0, 0.0, 0) if second is None else (0.0, second, 0.0, 1)
        packed = LAYOUT.pack(self._seed, WORDS + 1 - pos, 1, pos % WORDS, *words, *kept, 0.0, 0)
        return wrap(np.frombuffer(packed, np.uint8).copy())

    def set_state(self, state):
        """Restore a state from get_state."""
        if WATCHERS:
            watcher().seeded(self)
        data = state._data
        if data.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        if data.size != LAYOUT.size:
            raise RuntimeError(
                f"Expected a CPUGeneratorImplState of size {LAYOUT.size} but found the input RNG state size to be {data.size}"
            )
        self._seed, left, _, place, *rest = LAYOUT.unpack(data.tobytes())
        words, (_, second, _, kept) = rest[:WORDS], rest[WORDS : WORDS + 4]
        place = WORDS if left == 1 else place
        self.rng.state = np.array(words, np.uint32).tobytes(), place, second if kept else None

    def clone_state(self):
        """A second generator in the same state."""
        other = Generator()
        other.set_state(self.get_state())
        return other

    def exchange(self, other):
        """Swap states with another generator."""
        if WATCHERS:
            watcher().seeded(self)
        self._seed, other._seed = other._seed, self._seed
        self.rng, other.rng = other.rng, self.rng

    @property
    def device(self):
        """Always the CPU."""
        return CPU


DEFAULT = Generator()
"""The generator used by default (torch.default_generator)."""


def rng_of(generator=None):
    """The stream of numbers behind `generator`, or behind the default one. Tells watchers that it is about to be used."""
    if WATCHERS:
        watcher().drawing(generator)
    return (generator or DEFAULT).rng


def manual_seed(seed):
    """Start the default generator again from `seed` (torch.manual_seed)."""
    return DEFAULT.manual_seed(seed)


def seed():
    """Restart the default generator from a random seed; returns the seed (torch.seed)."""
    return DEFAULT.seed()


def initial_seed():
    """The seed the default generator last started from (torch.initial_seed)."""
    return DEFAULT.initial_seed()


def get_rng_state():
    """The state of the default generator as a tensor (torch.get_rng_state)."""
    return DEFAULT.get_state()


def set_rng_state(new_state):
    """Set the state of the default generator (torch.set_rng_state)."""
    DEFAULT.set_state(new_state)


class fork_rng:  # noqa: N801 - PyTorch's name
    """A context manager that restores the default generator's state on exit (torch.random.fork_rng)."""

    def __init__(self, devices=None, enabled=True):
        self._enabled = enabled

    def __enter__(self):
        self._state = get_rng_state()

    def __exit__(self, *exc):
        if self._enabled:
            set_rng_state(self._state)
