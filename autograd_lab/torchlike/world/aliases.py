"""Where PyTorch keeps its names, if that is elsewhere: `from autograd_lab.nn.modules.loss import _Loss` works.

This library has fewer and larger modules than PyTorch. Programs that import from PyTorch's own paths find them here: each
is a module without content, which looks its names up where they are.
"""

import importlib
import sys
from types import ModuleType


def _below(module, names, holder=None):
    return {f"{module}.{name}": holder or module for name in names.split()}


PLACES = {
    "functional": "",
    **_below("autograd", "grad_mode", "autograd.modes"),
    **_below("autograd", "anomaly_mode", "autograd.anomaly"),
    **_below(
        "nn.modules",
        "activation batchnorm channelshuffle container conv distance dropout flatten fold instancenorm linear "
        "loss normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils",
    ),
    **_below("nn.modules", "lazy", "nn.lazy"),
    "nn.modules.adaptive": "nn.adaptive",
    **_below("nn.modules", "module", "nn.module"),
    **_below("nn.utils", "clip_grad convert_parameters init memory_format"),
    **_below("optim", "adadelta adagrad adam adamax adamw asgd nadam radam rmsprop rprop sgd"),
    **_below("utils.data", "dataloader dataset distributed sampler _utils _utils.collate"),
    **_below(
        "distributions",
        "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet exp_family exponential fishersnedecor "
        "gamma generalized_pareto geometric gumbel half_cauchy half_normal independent inverse_gamma kumaraswamy laplace "
        "log_normal logistic_normal mixture_same_family multinomial negative_binomial normal one_hot_categorical pareto "
        "poisson studentT transformed_distribution uniform von_mises weibull",
    ),
    **_below(
        "distributions",
        "lkj_cholesky lowrank_multivariate_normal multivariate_normal wishart",
        "distributions.multivariate",
    ),
    **_below("distributions", "relaxed_bernoulli relaxed_categorical", "distributions.relaxed"),
}
"""PyTorch's path: the module that holds its names here."""


class Place(ModuleType):
    """A path of PyTorch's: it has the names of the module that holds them here."""

    def __init__(self, path, holder):
        super().__init__(
            path, f"What PyTorch keeps in {path.replace('autograd_lab', 'torch')}; here it is in {holder}."
        )
        self.__dict__["_holder"] = holder

    def __getattr__(self, name):
        found = sys.modules.get(f"{self.__name__}.{name}")
        if found is not None:
            return found
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'")
        return getattr(importlib.import_module(self._holder), name)

    def __dir__(self):
        return dir(importlib.import_module(self._holder))


def find_place(module, name):
    """The module that PyTorch has as `name` in `module`, such as "loss" in "nn.modules"; None if it has none."""
    path = f"{module}.{name}" if module else name
    return sys.modules[f"autograd_lab.{path}"] if path in PLACES else None


for _path, _holder in PLACES.items():
    sys.modules[f"autograd_lab.{_path}"] = Place(
        f"autograd_lab.{_path}", f"autograd_lab.{_holder}".rstrip(".")
    )

__all__ = ["PLACES", "Place", "find_place"]
