"""The reverse pass is core/engine.py."""

from ...core.engine import BackwardPass, count_dependencies, needed_nodes

__all__ = ["BackwardPass", "count_dependencies", "needed_nodes"]
