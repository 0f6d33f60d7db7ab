"""torch.nn: parameters, modules, losses. Reading order: parameter, module, modules, functional."""

from . import functional, init, utils
from .activation import *
from .containers import ModuleDict, ModuleList, ParameterDict, ParameterList, Sequential
from .module import Module
from .modules import *
from .parameter import Buffer, Parameter
