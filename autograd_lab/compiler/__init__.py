"""torch.compile: captures a function once, differentiates it as a graph, and runs it as readable NumPy source.

guards.py    the conditions under which a captured graph is valid
capture.py   traces one run of the function
graph.py     the graph as data, and the reference interpreter
joint.py     the backward graph, from the rules' own formulas
inside.py    the same for backward passes that the function itself runs
passes.py    constant folding, common subexpressions, dead code, fusion
partition.py splits forward and backward; a minimum cut decides what is saved
emit.py      NumPy source
effects.py   side effects of a call: buffers written, random numbers drawn
entry.py     a captured graph, ready to be called, and the node it records: CompiledFunctionBackward
module.py    what torch.compile returns for a module
opened.py    runs a compiled call line by line, with the numbers that each line reads and makes
export.py    a captured graph as a JSON file, and back
onnx.py      its forward as an ONNX model
compiled.py  torch.compile: the captured graphs of one function
"""

from .capture import is_compiling
from .compiled import Compiled, GraphBreakError, compile
from .export import GraphExportError, GraphFormatError, load, save
from .module import OptimizedModule


def allow_in_graph(fn):
    """Returns `fn` unchanged: whatever it calls is captured anyway (torch.compiler.allow_in_graph)."""
    return fn


def disable(fn=None, recursive=True, *, reason=None):
    """Returns `fn` unchanged; it is compiled only as part of a compiled caller (torch.compiler.disable). Also a decorator."""
    return fn if fn is not None else disable


assume_constant_result = allow_in_graph
is_dynamo_compiling = is_compiling


def is_exporting():
    """False: torch.export does not exist here (torch.compiler.is_exporting)."""
    return False


def reset():
    """Does nothing: a compiled function owns its graphs, and they are freed together (torch.compiler.reset)."""


__all__ = [
    "Compiled", "GraphBreakError", "GraphExportError", "GraphFormatError", "OptimizedModule", "allow_in_graph",
    "assume_constant_result", "compile", "disable", "is_compiling", "is_dynamo_compiling", "is_exporting", "load", "reset", "save",
]  # fmt: skip
