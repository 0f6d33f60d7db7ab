"""torch.compile: a function captured once, differentiated as a graph, and run as NumPy source that can be read.

guards.py    what must be as it was for a captured graph to hold
capture.py   one run of the function, watched
graph.py     the graph as data, and the reference that carries it out step by step
joint.py     the backward graph, from the rules' own formulas
inside.py    the same for the backward passes that the function runs itself
passes.py    constants, common subexpressions, dead code, fusing
partition.py forward and backward apart: what is saved is a least cut
emit.py      NumPy source
effects.py   what a call does beside its results: buffers written, random numbers drawn
entry.py     a captured graph, ready to be called, and the node that a call leaves: CompiledFunctionBackward
module.py    what torch.compile makes of a module
opened.py    a compiled call opened: its lines of NumPy one by one, with the numbers they read and make
export.py    a captured graph as a JSON file, and back
onnx.py      its forward as an ONNX model
compiled.py  torch.compile: the captured graphs of one function
"""

from .capture import is_compiling
from .compiled import Compiled, GraphBreakError, compile
from .export import GraphExportError, GraphFormatError, load, save
from .module import OptimizedModule


def allow_in_graph(fn):
    """`fn` itself: whatever it calls is captured anyhow (torch.compiler.allow_in_graph)."""
    return fn


def disable(fn=None, recursive=True, *, reason=None):
    """`fn` as it is, which is not compiled unless the function that calls it is (torch.compiler.disable); also a decorator."""
    return fn if fn is not None else disable


assume_constant_result = allow_in_graph
is_dynamo_compiling = is_compiling


def is_exporting():
    """Whether a function is being exported by torch.export, which is not here: False (torch.compiler.is_exporting)."""
    return False


def reset():
    """Forget nothing: a compiled function holds its own graphs, and goes with them (torch.compiler.reset)."""


__all__ = [
    "Compiled", "GraphBreakError", "GraphExportError", "GraphFormatError", "OptimizedModule", "allow_in_graph",
    "assume_constant_result", "compile", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "load", "reset", "save",
]  # fmt: skip
