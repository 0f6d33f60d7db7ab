"""Two nodes in one, until something looks at them.

A layer of a network is two operations, and so is the loss of a classifier; PyTorch's graph has a node for each. But as long as nothing
looks at the graph, the second node has one user, which knows what it does with a gradient: one node can do the work of both.

Anything that looks finds two nodes. Nodes reach the user through `pair_of`, which calls `unfold`: the object becomes the first of the two,
by changing its class, and makes the second. A pass that is watched, recorded or restricted to some leaves unfolds the nodes it meets. While
anything unusual is going on, such as a recording (see State.special), the core makes both nodes itself.
"""

from ..torchlike.autograd.node import Node
from ..torchlike.autograd.saved import FREED


class Fused(Node):
    """A node that represents two. A subclass computes both VJPs at once; its `unfold` turns it into the first node and makes the second."""

    def release(self):
        self.saved, self.versions = FREED, None

    def refuse_overwritten(self, i, t, expected):
        self.unfold().check_version(i, self.saved[i])  # errors come from the nodes that are shown


__all__ = ["Fused"]
