"""The reverse pass is core/engine.py. Here is what it counts when the graph is to be seen."""

from ...core.engine import BackwardPass, needed_nodes
from ...core.engine import count_dependencies as count
from ...core.node import Node


def count_dependencies(roots):
    """{node: number of messages it will get}, after nodes that stand for two, for speed, have become these."""
    deps = count(roots)
    fused = [node for node in deps if type(node).unfold is not Node.unfold]
    for node in fused:
        node.unfold()
    return count(roots) if fused else deps


__all__ = ["BackwardPass", "count", "count_dependencies", "needed_nodes"]
