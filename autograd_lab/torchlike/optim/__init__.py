"""torch.optim: what changes parameters by their gradients, and how fast."""

from typing import TYPE_CHECKING

from ...loading import late as _late
from ..world.missing import finder

if TYPE_CHECKING:  # loading/table.py has it from here: what is loaded when it is first asked for
    from . import lr_scheduler, swa_utils
    from .further import ASGD, Adafactor, NAdam, RAdam, Rprop
    from .lbfgs import LBFGS
    from .muon import Muon
    from .optimizer import Optimizer
    from .optimizers import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop

__getattr__, __dir__ = _late(__name__, finder("optim"))

del TYPE_CHECKING

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
    "swa_utils",
]
