"""torch.distributions: every family, transform, constraint and divergence against what PyTorch left. Recorded and live."""

import importlib
import sys

import pytest
from recorded import differences, live, run, stored

import autograd_lab

START = """
import warnings
warnings.simplefilter("ignore")
import torch.distributions as D
from torch.distributions import constraints as C, transforms as X, Normal
torch.manual_seed(0)
T, nan, inf = torch.tensor, float("nan"), float("inf")

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:400]}"

def leaves(dtype, parameters):
    return {k: T(v, dtype=dtype, requires_grad=True) if isinstance(v, (list, float)) else v for k, v in parameters.items()}

def seen(t):
    return t.detach() if isinstance(t, torch.Tensor) else t
"""

PAIR = "dict(loc=[0.5, -1.0], scale=[0.7, 2.0])"
MATRIX = "[[2.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.5]]"
FACTOR = "[[1.2, 0.0, 0.0], [0.5, 0.8, 0.0], [-0.3, 0.4, 1.1]]"
FAMILIES = {
    "Bernoulli": ("dict(probs=[0.3, 0.5, 0.9])", "dict(logits=[0.3, -2.0])", "dict(probs=[0.0, 1.0])"),
    "Beta": ("dict(concentration1=[0.5, 2.0, 9.0], concentration0=[1.5, 0.3, 12.0])",),
    "Binomial": (
        "dict(total_count=12, probs=[0.3, 0.5, 0.9])",
        "dict(total_count=T([3.0, 40.0]), logits=[0.3, -0.7])",
    ),
    "Categorical": ("dict(probs=[[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])", "dict(logits=[0.3, -2.0, 1.0])"),
    "Cauchy": (PAIR,),
    "Chi2": ("dict(df=[0.5, 3.0, 20.0])",),
    "ContinuousBernoulli": ("dict(probs=[0.2, 0.5, 0.9])", "dict(logits=[0.3, -2.0])"),
    "Dirichlet": ("dict(concentration=[[0.5, 2.0, 9.0], [0.1, 0.2, 0.1]])", "dict(concentration=[3.0, 4.0])"),
    "Exponential": ("dict(rate=[0.5, 2.0])",),
    "FisherSnedecor": ("dict(df1=[1.5, 6.0], df2=[3.0, 9.0])",),
    "Gamma": ("dict(concentration=[0.5, 2.0, 30.0], rate=[1.0, 3.0, 0.2])",),
    "GeneralizedPareto": ("dict(loc=[0.5, -1.0, 0.0], scale=[0.7, 2.0, 1.0], concentration=[0.3, -0.5, 0.0])",),
    "Geometric": ("dict(probs=[0.3, 0.5, 1.0])", "dict(logits=[0.3, -2.0])"),
    "Gumbel": (PAIR,),
    "HalfCauchy": ("dict(scale=[0.7, 2.0])",),
    "HalfNormal": ("dict(scale=[0.7, 2.0])",),
    "InverseGamma": ("dict(concentration=[0.5, 1.5, 3.0], rate=[1.0, 3.0, 0.2])",),
    "Kumaraswamy": ("dict(concentration1=[0.5, 2.0, 9.0], concentration0=[1.5, 3.0, 0.3])",),
    "LKJCholesky": ("dict(dim=3, concentration=[0.5, 2.0])", "dict(dim=2)"),
    "Laplace": (PAIR,),
    "LogNormal": (PAIR,),
    "LogisticNormal": (PAIR, "dict(loc=0.5, scale=1.5)"),
    "LowRankMultivariateNormal": (
        "dict(loc=[0.5, -1.0, 0.0], cov_factor=[[1.0, 0.5], [0.2, -0.3], [0.0, 1.0]], cov_diag=[0.5, 1.0, 2.0])",
        "dict(loc=[[0.5, -1.0], [0.0, 1.0]], cov_factor=[[1.0], [0.2]], cov_diag=[0.5, 1.0])",
    ),
    "Multinomial": ("dict(total_count=7, probs=[[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])", "dict(total_count=2, logits=[0.3, -2.0])"),
    "MultivariateNormal": (
        f"dict(loc=[0.5, -1.0, 0.0], covariance_matrix={MATRIX})",
        f"dict(loc=[[0.5, -1.0, 0.0], [1.0, 2.0, 3.0]], precision_matrix={MATRIX})",
        f"dict(loc=[0.5, -1.0, 0.0], scale_tril=[{FACTOR}, {FACTOR}])",
    ),
    "NegativeBinomial": (
        "dict(total_count=[2.0, 8.5], probs=[0.3, 0.6])",
        "dict(total_count=[0.0, 8.5], logits=[0.3, -0.6])",
    ),
    "Normal": (PAIR, "dict(loc=0, scale=1.5)"),
    "OneHotCategorical": ("dict(probs=[[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])", "dict(logits=[0.3, -2.0, 1.0])"),
    "OneHotCategoricalStraightThrough": ("dict(probs=[[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])",),
    "Pareto": ("dict(scale=[0.7, 2.0, 1.0], alpha=[0.5, 1.5, 3.0])",),
    "Poisson": ("dict(rate=[0.5, 7.0, 30.0])",),
    "RelaxedBernoulli": ("dict(temperature=T(0.5), probs=[0.3, 0.9])", "dict(temperature=T(2.0), logits=[0.3, -2.0])"),
    "RelaxedOneHotCategorical": (
        "dict(temperature=T(0.5), probs=[[0.2, 0.3, 0.5], [1.0, 1.0, 2.0]])",
        "dict(temperature=T(2.0), logits=[0.3, -2.0, 1.0])",
    ),
    "StudentT": ("dict(df=[0.5, 1.5, 9.0], loc=[0.5, -1.0, 0.0], scale=[0.7, 2.0, 1.0])", "dict(df=3.0)"),
    "Uniform": ("dict(low=[-1.0, 0.0], high=[3.0, 0.5])",),
    "VonMises": ("dict(loc=[0.5, -1.0, 3.0], concentration=[0.7, 20.0, 1e-6])",),
    "Weibull": ("dict(scale=[0.7, 2.0], concentration=[0.5, 3.0])",),
    "Wishart": (
        f"dict(df=5.0, covariance_matrix={MATRIX})",
        f"dict(df=[4.0, 9.0], scale_tril={FACTOR})",
        f"dict(df=4.5, precision_matrix={MATRIX})",
    ),
}  # fmt: skip
"""Parameters of each family."""

FAMILY = """
for k, parameters in enumerate(PARAMETERS):
    for dtype in (torch.float32, torch.float64)[: 1 if KIND is D.GeneralizedPareto else 2]:  # which fails for float64 in PyTorch
        given = leaves(dtype, parameters)
        d = KIND(**given)
        key = f"{k} {dtype}"
        out[key] = r = {}
        r["shown"], r["shapes"], r["rsample"], r["enumerates"] = repr(d), (d.batch_shape, d.event_shape), d.has_rsample, d.has_enumerate_support
        r["support"] = told(lambda: (repr(d.support), d.support.is_discrete, d.support.event_dim))
        r["drawn"] = drawn = d.sample((3,))
        r["few"] = d.sample()
        r["no draws"] = told(lambda: d.sample((0, 2)).shape)
        r["rest of the stream"] = torch.rand(1)
        for name in ("mean", "mode", "variance", "stddev"):
            r[name] = told(lambda: seen(getattr(d, name)))
        for name in ("entropy", "perplexity", "enumerate_support"):
            r[name] = told(lambda: seen(getattr(d, name)()))
        r["log_prob"] = d.log_prob(drawn)
        r["cdf"] = told(lambda: seen(d.cdf(drawn))) if KIND is not D.Gamma and KIND is not D.Chi2 else None
        r["icdf"] = told(lambda: seen(d.icdf(torch.full((), 0.3, dtype=dtype))))
        wanted = [v for v in given.values() if isinstance(v, torch.Tensor) and v.requires_grad]
        slopes = lambda y: torch.autograd.grad((y * torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view(y.shape)).sum(), wanted, allow_unused=True)
        if wanted:
            r["slopes of log_prob"] = slopes(d.log_prob(drawn))
            r["slopes of entropy"] = told(lambda: slopes(d.entropy()))
            r["slopes of draws"] = told(lambda: (lambda y: (seen(y), y.grad_fn.name(), slopes(y)))(d.rsample((2,))))
        wide = d.expand((2,) + d.batch_shape)
        r["wide"] = repr(wide), type(wide) is type(d), wide.batch_shape, wide.event_shape, wide.sample().shape
        r["wide log_prob"] = seen(wide.log_prob(drawn[:2]))
        with torch.no_grad():
            r["constant"] = d.log_prob(drawn).requires_grad
        r["by value"] = told(lambda: d.log_prob(1.0)), told(lambda: seen(d.log_prob(drawn * nan))), told(lambda: d.log_prob(torch.ones(5, 7, dtype=dtype)))
        r["shown after"] = repr(d)
"""

PROGRAMS = {
    name: START + f"KIND = D.{name}\nPARAMETERS = [{', '.join(given)}]\n" + FAMILY
    for name, given in FAMILIES.items()
}

STORED = stored(__file__)


@pytest.fixture
def standing_in(monkeypatch):
    """The library, which is also what a program finds under the name torch."""
    importlib.import_module("autograd_lab.distributions")
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "autograd_lab":
            monkeypatch.setitem(sys.modules, name.replace("autograd_lab", "torch", 1), module)
    return autograd_lab


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    mine, theirs = run(PROGRAMS[name], standing_in), STORED["results"][name]
    assert not differences(mine, theirs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_is_what_live_pytorch_leaves(name):
    assert not differences(live(STORED, PROGRAMS[name]), STORED["results"][name])
