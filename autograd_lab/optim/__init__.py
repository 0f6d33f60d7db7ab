"""torch.optim: what changes parameters by their gradients, and how fast."""

from ..absent import finder
from . import lr_scheduler, swa_utils
from .further import ASGD, Adafactor, NAdam, RAdam, Rprop
from .lbfgs import LBFGS
from .muon import Muon
from .optimizer import Optimizer
from .optimizers import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop

__getattr__ = finder("optim")

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
