"""Two nodes in one, until somebody looks.

A layer of a net is two operations, and so is the loss of a classifier; PyTorch's graph shows a node for each. But where nobody
looks at the graph, the second node has one user, which knows what it does with a gradient: one node can do the work of both.

Whoever looks finds two. Nodes reach the user by way of `pair_of`, which asks for `unfold`: the object becomes the first of the
two, by a change of its class, and makes the second. A pass that is watched, recorded or goes to some leaves only unfolds what
it meets. While anything unusual goes on, such as a recording (see State.special), the core makes the two by itself.
"""

from ..torchlike.autograd.node import Node
from ..torchlike.autograd.saved import FREED


class Fused(Node):
    """A node that stands for two. A subclass computes both VJPs in one; its `unfold` becomes the first and makes the second."""

    def release(self):
        self.saved, self.versions = FREED, None

    def refuse_overwritten(self, i, t, expected):
        self.unfold().check_version(i, self.saved[i])  # it is the nodes that are shown which complain


__all__ = ["Fused"]
