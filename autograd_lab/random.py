"""Random numbers: the generator behind rand, randn, dropout and the like.

The numbers come from NumPy's generator, so a seed gives the same numbers every time, but other ones than in PyTorch.
"""

import pickle
import secrets

import numpy as np

from .autograd.modes import WATCHERS, tell
from .autograd.variable import wrap


class Generator:
    """A source of random numbers with a state of its own (torch.Generator). `rng` is NumPy's generator."""

    def __init__(self, device="cpu"):
        self.manual_seed(67280421310721)  # PyTorch's default seed

    def manual_seed(self, seed):
        """Start again from `seed`; returns the generator."""
        if WATCHERS:
            tell("seeded", self)
        self._seed = int(seed)
        self.rng = np.random.Generator(np.random.PCG64(self._seed % 2**64))
        return self

    def seed(self):
        """Start again from a seed nobody knows; returns it."""
        self.manual_seed(secrets.randbits(63))
        return self._seed

    def initial_seed(self):
        """The seed the generator last started from."""
        if WATCHERS:
            tell("seeded", self)
        return self._seed

    def get_state(self):
        """The state as a uint8 tensor, for set_state."""
        if WATCHERS:
            tell("seeded", self)
        return wrap(np.frombuffer(pickle.dumps((self._seed, self.rng.bit_generator.state)), np.uint8).copy())

    def set_state(self, state):
        """Go back to a state that get_state gave."""
        if WATCHERS:
            tell("seeded", self)
        self._seed, self.rng.bit_generator.state = pickle.loads(state._data.tobytes())

    def clone_state(self):
        """A second generator in the same state."""
        other = Generator()
        other.set_state(self.get_state())
        return other

    @property
    def device(self):
        """Always the CPU."""
        from .creation import CPU

        return CPU


DEFAULT = Generator()
"""The generator used where none is given (torch.default_generator)."""


def rng_of(generator=None):
    """NumPy's generator behind `generator`, or behind the default one. Watchers are told that it is about to be used."""
    if WATCHERS:
        tell("drawing", generator)
    return (generator or DEFAULT).rng


def manual_seed(seed):
    """Start the default generator again from `seed` (torch.manual_seed)."""
    return DEFAULT.manual_seed(seed)


def seed():
    """Start the default generator from a seed nobody knows; returns it (torch.seed)."""
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
    """A context that puts the default generator's state back on leaving (torch.random.fork_rng)."""

    def __init__(self, devices=None, enabled=True):
        self._enabled = enabled

    def __enter__(self):
        self._state = get_rng_state()

    def __exit__(self, *exc):
        if self._enabled:
            set_rng_state(self._state)
