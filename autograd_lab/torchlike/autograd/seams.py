"""The doors through which other code takes over work of the core. What stands in one is used; None means: the core does it.

    loop           fn(run): run a backward pass to its end; asked at the start of a pass that nobody watches
    linear         fn(input, weight, bias): a layer of a net and its node, or None where it does not apply
    cross_entropy  fn(input, target, reduction, ignore_index): the same for the loss of a classifier

The package `express` puts itself in here; without it all that is computed is the same, more slowly.
"""


class Doors:
    """One attribute for each door."""

    loop = linear = cross_entropy = None


DOORS = Doors()

__all__ = ["DOORS"]
