"""Speed: what is so because it is faster. Without this package all that is computed is the same, to the bit.

    fused.py      two nodes in one, until they are looked at
    layers.py     fully connected layers and the loss of a classifier
    loop.py       the loop of a backward pass without a watcher
    operators.py  + - * / in one function each

One switch for the process: `on()` puts these into the doors of the core (autograd/seams.py), `off()` takes them out. A pass ends as it
began. It is on in scripts. `from autograd_lab import lab` switches it off, so that in a notebook the nodes on the screen are the nodes that
compute; `lab.fast()` switches it on again. The environment variable AUTOGRAD_LAB_EXPRESS=0 or 1 decides for both.
"""

import os

from ..torchlike.autograd.seams import DOORS
from .loop import loop
from .operators import switch

VARIABLE = "AUTOGRAD_LAB_EXPRESS"


def _loaded():
    """layers.py, loaded with the first layer; its functions take the places of those below in the doors."""
    from . import layers

    if DOORS.linear is linear:
        DOORS.linear, DOORS.cross_entropy = layers.linear, layers.cross_entropy
    return layers


def linear(*args):
    """`linear` of layers.py."""
    return _loaded().linear(*args)


def cross_entropy(*args):
    """`cross_entropy` of layers.py."""
    return _loaded().cross_entropy(*args)


def on():
    """Switch it on, unless the environment says otherwise. Returns whether it is on."""
    return _switch(os.environ.get(VARIABLE, "1") != "0")


def off():
    """Switch it off, unless the environment says otherwise. Returns whether it is on."""
    return _switch(os.environ.get(VARIABLE, "0") == "1")


def _switch(wanted):
    DOORS.loop, DOORS.linear, DOORS.cross_entropy = (
        (loop, linear, cross_entropy) if wanted else (None, None, None)
    )
    switch(wanted)
    return wanted


def is_on():
    """Whether it is on."""
    return DOORS.loop is not None


on()

__all__ = ["VARIABLE", "is_on", "off", "on"]
