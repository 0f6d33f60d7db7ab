"""The doors through which other code takes over work of the core. A function in a door is used; None means that the core does the work.

    loop           fn(run): run a backward pass to its end; used at the start of an unwatched pass
    linear         fn(input, weight, bias): a layer of a network and its node, or None where it does not apply
    cross_entropy  fn(input, target, reduction, ignore_index): the same for the loss of a classifier

The package `express` registers itself here; without it everything computes the same results, more slowly.
"""


class Doors:
    """One attribute for each door."""

    loop = linear = cross_entropy = None


DOORS = Doors()

__all__ = ["DOORS"]
