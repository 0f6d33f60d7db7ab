"""Speed: code that exists because it is faster. Without this package everything computes the same, to the bit.

    fused.py      two nodes in one, until something looks at them
    layers.py     fully connected layers, relu and the loss of a classifier
    loop.py       the backward pass without a watcher, and its loop
    operators.py  + - * / in one function each

One switch for the process: `on()` puts these into the doors of torchlike/autograd/seams.py and in the place of operators, `off()` takes
them out. A pass ends as it began. It is on in scripts. `from autograd_lab import lab` switches it off, so that in a notebook the nodes on
the screen are the nodes that compute; `lab.fast()` switches it on again. The environment variable AUTOGRAD_LAB_EXPRESS=0 or 1 overrides
both.
"""

import os

from ..torchlike.autograd.seams import DOORS
from .loop import backward, loop
from .operators import switch

VARIABLE = "AUTOGRAD_LAB_EXPRESS"


def _loaded():
    """layers.py, loaded with the first layer; its functions replace those below in the doors."""
    from . import layers

    if DOORS.linear is linear:
        DOORS.linear, DOORS.relu, DOORS.cross_entropy = layers.linear, layers.relu, layers.cross_entropy
    return layers


def linear(*args):
    """`linear` of layers.py."""
    return _loaded().linear(*args)


def cross_entropy(*args):
    """`cross_entropy` of layers.py."""
    return _loaded().cross_entropy(*args)


def on():
    """Switch it on, unless the environment variable forbids it. Returns whether it is on."""
    return _switch(os.environ.get(VARIABLE, "1") != "0")


def off():
    """Switch it off, unless the environment variable forbids it. Returns whether it is on."""
    return _switch(os.environ.get(VARIABLE, "0") == "1")


def _switch(wanted):
    DOORS.loop, DOORS.backward = (loop, backward) if wanted else (None, None)
    DOORS.linear, DOORS.cross_entropy = (linear, cross_entropy) if wanted else (None, None)
    DOORS.relu = None  # until there is a layer
    switch(wanted)
    return wanted


def is_on():
    """Whether it is on."""
    return DOORS.loop is not None


on()

__all__ = ["VARIABLE", "is_on", "off", "on"]
