"""The reverse pass is core/engine.py, and what is around it full_pass.py."""

from ...core.engine import BackwardPass, needed_nodes
from .full_pass import count_dependencies

__all__ = ["BackwardPass", "count_dependencies", "needed_nodes"]
