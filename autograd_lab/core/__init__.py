"""The core of the lab: how autograd works. README.md says in which order to read its pages.

It runs alone, with NumPy: `import core as torch` provides what the first notebooks use.
"""

from . import rules
from .engine import BackwardPass, grad
from .modes import enable_grad, no_grad
from .rule import FUNCTIONS, METHODS
from .rules.arithmetic import OPERATORS
from .rules.matrices import matmul
from .rules.views import getitem, setitem
from .seams import extend
from .tensor import Tensor, tensor

extend(
    Tensor,
    **METHODS,
    **OPERATORS,
    reshape=METHODS["view"],
    __matmul__=matmul,
    __getitem__=getitem,
    __setitem__=setitem,
)
globals().update(FUNCTIONS)
