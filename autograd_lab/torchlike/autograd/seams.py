"""The doors through which other code takes over work of the core. A function in a door is used; None means that the core does the work.

    backward       fn(root, seed, keep_graph): the pass of `loss.backward()` as a whole; False if it is not simple enough
    loop           fn(run): run a backward pass to its end; used at the start of an unwatched pass
    linear         fn(input, weight, bias): a layer of a network and its node, or None where it does not apply
    relu           fn(input): the same for the activation between layers
    cross_entropy  fn(input, target, reduction, ignore_index): the same for the loss of a classifier

The package `express` registers itself here; without it everything computes the same results, more slowly.
"""


class Doors:
    """One attribute for each door."""

    backward = loop = linear = relu = cross_entropy = None


DOORS = Doors()

__all__ = ["DOORS"]
