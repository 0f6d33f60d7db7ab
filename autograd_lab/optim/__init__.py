"""torch.optim: what changes parameters by their gradients, and how fast."""

from . import lr_scheduler
from .optimizer import Optimizer
from .optimizers import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, RMSprop

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Optimizer", "RMSprop", "lr_scheduler"]
