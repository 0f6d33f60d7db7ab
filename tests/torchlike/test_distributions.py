"""torch.distributions: every family, transform, constraint and divergence against what PyTorch left. Recorded and live.

To record: `python -m tests.record distributions`.
"""

import pytest
from recorded import check_live, differences, run, stored

START = """
import re, warnings
warnings.simplefilter("ignore")
import torch.distributions as D
from torch.distributions import constraints as C, transforms as X, Normal
torch.manual_seed(0)
T, nan, inf = torch.tensor, float("nan"), float("inf")

def told(fn, length=400):
    try:
        return fn()
    except Exception as error:
        return type(error).__name__ + ": " + re.sub(r"<class '[\\w.]*\\.(\\w+)'>", r"<\\1>", " ".join(str(error).split()))[:length]  # the modules are not PyTorch's

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
    "InverseGamma": ("dict(concentration=[0.5, 1.5, 3.0], rate=[1.0, 3.0, 0.2])", "dict(concentration=3.0, rate=1.5)"),
    "Kumaraswamy": ("dict(concentration1=[0.5, 2.0, 9.0], concentration0=[1.5, 3.0, 1.3])",),
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
        if KIND is not D.Gamma or dtype == torch.float32:  # PyTorch's gammainc is right to ten places only, near x = a
            r["cdf"] = told(lambda: seen(d.cdf(drawn)))
        r["icdf"] = told(lambda: seen(d.icdf(torch.full((), 0.3, dtype=dtype))))
        wanted = [v for v in given.values() if isinstance(v, torch.Tensor) and v.requires_grad]
        slopes = lambda y: torch.autograd.grad((y * torch.linspace(0.5, 1.5, y.numel(), dtype=y.dtype).view(y.shape)).sum(), wanted, allow_unused=True)
        if wanted:
            r["slopes of log_prob"] = slopes(d.log_prob(drawn))
            if dtype == torch.float32:  # PyTorch's trigamma is right to ten places only
                r["slopes of entropy"] = told(lambda: slopes(d.entropy()))
            r["slopes of draws"] = told(lambda: (lambda y: (seen(y), y.grad_fn.name(), slopes(y)))(d.rsample((2,))), 90)
        wide = d.expand((2,) + d.batch_shape)
        r["wide"] = repr(wide), type(wide) is type(d), wide.batch_shape, wide.event_shape, wide.sample().shape
        r["wide log_prob"] = seen(wide.log_prob(drawn[:2]))
        with torch.no_grad():
            r["constant"] = d.log_prob(drawn).requires_grad
        r["by value"] = told(lambda: d.log_prob(1.0)), told(lambda: seen(d.log_prob(drawn * nan))), told(lambda: d.log_prob(torch.ones(5, 7, dtype=dtype)))
        r["shown after"] = repr(d)
"""

TRANSFORMS = """
X.AbsTransform()
X.AffineTransform(1.0, -2.0)
X.AffineTransform(T([1.0, 2.0, 3.0]), T([0.5, -1.0, 2.0]), event_dim=1)
X.CatTransform([X.ExpTransform(), X.AffineTransform(0.0, 2.0)], dim=-1, lengths=[1, 2])
X.CatTransform([X.ExpTransform(), X.AffineTransform(0.0, 2.0)], dim=0)
X.ComposeTransform([X.ExpTransform(), X.AffineTransform(1.0, 2.0), X.PowerTransform(2.0)])
X.ComposeTransform([X.AffineTransform(1.0, 2.0), X.StickBreakingTransform()])
X.ComposeTransform([])
X.CorrCholeskyTransform()
X.CumulativeDistributionTransform(Normal(0.0, 2.0))
X.ExpTransform()
X.ExpTransform().inv
X.IndependentTransform(X.TanhTransform(), 1)
X.LowerCholeskyTransform()
X.PositiveDefiniteTransform()
X.PowerTransform(T([1.0, 2.0, -1.0]))
X.ReshapeTransform((3,), (3, 1))
X.SigmoidTransform()
X.SoftmaxTransform()
X.SoftplusTransform()
X.StackTransform([X.ExpTransform(), X.TanhTransform(), X.AffineTransform(1.0, 2.0)], dim=-1)
X.StickBreakingTransform()
X.TanhTransform()
"""

TRANSFORM = """
for dtype in (torch.float32, torch.float64)[: 1 if "T(" in TEXT else 2]:
    x = T([[0.3, 0.8, 1.7], [0.1, 2.5, 0.6]], dtype=dtype, requires_grad=True)
    if t.domain.event_dim == 2:
        x = T([[0.3, 0.8], [1.7, 0.1]], dtype=dtype, requires_grad=True)
    y = t(x)
    out[str(dtype)] = r = {"y": y, "x again": told(lambda: t.inv(y)), "log": told(lambda: t.log_abs_det_jacobian(x, y))}
    r["slopes"] = torch.autograd.grad((y * y).sum(), x, retain_graph=True), told(lambda: torch.autograd.grad(t.log_abs_det_jacobian(x, y).sum(), x, retain_graph=True, allow_unused=True))
    r["of the inverse"] = told(lambda: t.inv.log_abs_det_jacobian(y, x))
    r["shapes"] = told(lambda: (t.forward_shape(x.shape), t.inverse_shape(y.shape), t.inv.forward_shape(y.shape)))
    r["fits"] = told(lambda: (t.domain.check(x), t.codomain.check(y), t.inv.domain.check(y)))
    kept = told(lambda: t.with_cache(1))
    r["kept"] = told(lambda: (kept(x) is kept(x), kept.inv(kept(x)) is x, kept._cache_size, kept.with_cache() is kept, t.with_cache(0) is t))
for name in ("domain", "codomain", "bijective", "sign", "event_dim"):
    out[name] = told(lambda: (lambda v: v if isinstance(v, (bool, int, torch.Tensor)) else repr(v))(getattr(t, name)))
out["shown"] = repr(t), repr(t.inv), t.inv.inv is t, t == t, t == X.ExpTransform(), t != X.TanhTransform(), t.inv == t
"""

LINES = """
[type(c).__name__ for c in (C.real, C.positive, C.simplex, C.boolean)]
[repr(getattr(C, n)) for n in "boolean corr_cholesky dependent lower_cholesky lower_triangular nonnegative nonnegative_integer one_hot positive positive_definite positive_integer positive_semidefinite real real_vector simplex square symmetric unit_interval".split()]
[repr(c) for c in (C.greater_than(0), C.greater_than_eq(T(1.0)), C.less_than(2.0), C.interval(0, 1), C.half_open_interval(0, 1), C.integer_interval(0, 3), C.multinomial(3), C.independent(C.positive, 2), C.cat([C.real]), C.stack([C.real]), C.MixtureSameFamilyConstraint(C.real))]
[(c.is_discrete, c.event_dim) for c in (C.real, C.boolean, C.simplex, C.one_hot, C.positive_definite, C.independent(C.simplex, 1), C.cat([C.real, C.boolean]), C.MixtureSameFamilyConstraint(C.simplex), C.dependent(is_discrete=True, event_dim=3))]
C.dependent.is_discrete
C.dependent(is_discrete=True).event_dim
C.dependent.check(T(1.0))
(C.is_dependent(C.dependent), C.is_dependent(C.real), C.is_dependent(D.Uniform.support), C.is_dependent(D.Categorical.support), D.Uniform.support.event_dim)
C.Constraint().check(T(1.0))
[c.check(T([-1.0, 0.0, 0.5, 1.0, 2.0, nan, inf])) for c in (C.real, C.positive, C.nonnegative, C.unit_interval, C.half_open_interval(0, 1), C.less_than(1), C.greater_than(0.5), C.greater_than_eq(0.5), C.boolean, C.nonnegative_integer, C.positive_integer, C.integer_interval(0, 1))]
[c.check(T([[0.2, 0.8], [1.0, 0.0], [0.5, 0.6], [-0.5, 1.5]])) for c in (C.simplex, C.one_hot, C.real_vector, C.multinomial(1), C.independent(C.positive, 1))]
[c.check(T([[[2.0, 0.0], [1.0, 3.0]], [[1.0, 0.5], [0.5, 1.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 0.0], [0.6, 0.8]]])) for c in (C.lower_triangular, C.lower_cholesky, C.corr_cholesky, C.square, C.symmetric, C.independent(C.real, 2))]
[c.check(T([[[2.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [2.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]])) for c in (C.symmetric, C.positive_definite, C.positive_semidefinite)]
[c.check(torch.ones(2, 3, 2)) for c in (C.square, C.symmetric, C.positive_definite, C.positive_semidefinite)]
C.independent(C.real, 2).check(T([1.0]))
C.independent(C.real, -1)
C.independent(1, 1)
(C.cat([C.positive, C.real], -1, [1, 2]).check(T([[-1.0, -1.0, nan]])), C.stack([C.positive, C.real], 0).check(T([[-1.0, 2.0], [nan, 1.0]])))
C.cat([C.positive, C.real], 0, [1])
C.MixtureSameFamilyConstraint(C.real).check(T([1.0, nan]))
X.ExpTransform(cache_size=2)
X.ReshapeTransform((2,), (3,))
X.ReshapeTransform((2,), (2, 1)).forward_shape((3,))
X.ReshapeTransform((2,), (2, 1)).inverse_shape((3,))
X.CorrCholeskyTransform().forward_shape((4,))
X.CorrCholeskyTransform().inverse_shape((2, 3))
X.StickBreakingTransform().forward_shape(())
X.IndependentTransform(X.ExpTransform(), 2)(T([1.0]))
X.CatTransform([X.ExpTransform()], lengths=[1, 2])
X.CatTransform([1])
X.CatTransform([X.ExpTransform()], 0)(torch.ones(3))
X.StackTransform([X.ExpTransform()], 0)(torch.ones(3))
X.StackTransform([X.ExpTransform()], 2)(torch.ones(3))
X.Transform().with_cache(1)
hash(X.ExpTransform())
X.AbsTransform().log_abs_det_jacobian(T(1.0), T(1.0))
(X.AffineTransform(1, 2) == X.AffineTransform(1.0, 2), X.AffineTransform(T(1.0), 2) == X.AffineTransform(1, 2), X.PowerTransform(2.0) == X.PowerTransform(T(2.0)), X.AffineTransform(1, 2) == X.AffineTransform(2, 2), X.ComposeTransform([X.ExpTransform()]) == X.ComposeTransform([X.ExpTransform()]))
[repr(to(c)) for to in (D.biject_to, D.transform_to) for c in (C.real, C.positive, C.nonnegative, C.less_than(1.0), C.unit_interval, C.interval(1, 3), C.half_open_interval(0, 2), C.simplex, C.corr_cholesky, C.independent(C.positive, 1), C.cat([C.real, C.positive]), C.stack([C.real]))]
[to(c)(T([[0.3, -2.0, 1.0]])) for to in (D.biject_to, D.transform_to) for c in (C.positive, C.greater_than(2.0), C.less_than(1.0), C.interval(1.0, 3.0), C.simplex, C.real_vector, C.corr_cholesky)]
[D.transform_to(c)(T([[0.3, -2.0], [1.0, 0.4]])) for c in (C.lower_cholesky, C.positive_definite, C.positive_semidefinite)]
D.biject_to(C.positive_definite)
D.transform_to(C.boolean)
D.biject_to.register(int, lambda c: None)
Normal(0.0, -1.0)
Normal(T([0.0, nan]), 1.0)
Normal(T([0.0, 1.0]), T([1.0, 0.0]))
Normal("a", 1.0)
Normal(torch.zeros(2), torch.ones(3))
Normal(torch.nn.Parameter(T([nan])), 1.0)
Normal(0.0, -1.0, validate_args=False).scale
Normal(0.0, 1.0).log_prob(1.0)
Normal(0.0, 1.0).log_prob(T([nan, 1.0]))
Normal(torch.zeros(3), 1.0).log_prob(torch.zeros(2))
Normal(0.0, 1.0, validate_args=False).log_prob(T(nan))
Normal(0.0, 1.0).cdf(T(nan))
(D.Normal.has_rsample, D.Normal(0, 1).stddev, Normal(1, 2).loc.dtype, Normal(T(1.0).double(), 2).scale.dtype)
D.Bernoulli()
D.Bernoulli(0.5, 0.5)
D.Bernoulli(1.5)
D.Bernoulli(0.5).log_prob(T(0.5))
(D.Bernoulli(0.5).batch_shape, D.Bernoulli(0.5), D.Bernoulli(logits=T([0.5])).param_shape)
D.Categorical(T(1.0))
D.Categorical(logits=T(1.0))
D.Categorical(T([-1.0, 2.0]))
D.Categorical(T([1.0, 2.0])).log_prob(T(2))
D.Categorical(T([1.0, 2.0])).log_prob(T([0, 1, 1]))
D.OneHotCategorical(T([1.0, 2.0])).log_prob(T([1.0, 1.0]))
D.OneHotCategorical(T([1.0, 2.0])).log_prob(T([1.0, 0.0, 0.0]))
D.Multinomial(2, T([1.0, 2.0])).log_prob(T([3.0, 0.0]))
D.Multinomial(T(2), T([1.0, 2.0]))
(D.Multinomial(3, T([1.0, 2.0])).support.upper_bound, D.Multinomial(3, T([1.0, 2.0])), D.Multinomial(3, T([1.0, 2.0])).entropy())
D.Binomial(T([2.0, 3.0]), 0.5).entropy()
D.Binomial(T([2.0, 3.0]), 0.5).enumerate_support()
D.Binomial(-1, 0.5)
D.Binomial(3, 0.5).log_prob(T(4.0))
D.Geometric(0.0)
D.Geometric(T([0.0, 0.5]))
D.Poisson(-1.0)
D.Poisson(T([0.0, 1.0])).log_prob(T([0.0, 1.5]))
D.Poisson(T([0.0, 1.0])).log_prob(T([0.0, 1.0]))
D.Uniform(1.0, 0.0)
D.Uniform(0.0, 1.0).log_prob(T(2.0))
D.Uniform(0.0, 1.0, validate_args=False).log_prob(T([2.0, 0.5]))
D.Exponential(1.0).log_prob(T(-1.0))
D.Gamma(T([1.0]), -1.0)
D.Dirichlet(T(1.0))
D.Dirichlet(T([1.0, 0.0]))
D.Dirichlet(T([1.0, 1.0])).log_prob(T([0.5, 0.6]))
D.Beta(0.0, 1.0)
D.HalfNormal(1.0).log_prob(T(-1.0))
D.HalfNormal(1.0, validate_args=False).log_prob(T(-1.0))
D.HalfCauchy(1.0, validate_args=False).log_prob(T([-1.0, 1.0]))
D.ContinuousBernoulli(1.5)
D.ContinuousBernoulli(1.5, validate_args=True)
D.ContinuousBernoulli(0.3).cdf(T([0.0, 0.5, 1.0]))
D.Pareto(1.0, 2.0).log_prob(T(0.5))
D.LKJCholesky(1)
D.LKJCholesky(3).log_prob(torch.eye(3))
D.LKJCholesky(3).log_prob(torch.ones(3, 3))
D.MultivariateNormal(T(0.0), torch.eye(1))
D.MultivariateNormal(torch.zeros(2))
D.MultivariateNormal(torch.zeros(2), torch.eye(2), torch.eye(2))
D.MultivariateNormal(torch.zeros(2), torch.ones(2))
D.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2))
D.MultivariateNormal(torch.zeros(2), -torch.eye(2))
D.MultivariateNormal(torch.zeros(2), scale_tril=torch.ones(2, 2))
D.MultivariateNormal(torch.zeros(3), torch.eye(2))
(D.MultivariateNormal(torch.zeros(2), torch.eye(2)).precision_matrix, D.MultivariateNormal(torch.zeros(2), precision_matrix=2 * torch.eye(2)).covariance_matrix, D.MultivariateNormal(torch.zeros(2), precision_matrix=T([[2.0, 0.5], [0.5, 1.0]])).scale_tril)
D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(3, 1), torch.ones(2))
D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(3))
D.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2), torch.ones(2))
D.LowRankMultivariateNormal(torch.zeros(3, 2), torch.ones(2, 2, 1), torch.ones(2))
(lambda d: (d.covariance_matrix, d.precision_matrix, d.scale_tril, d.variance))(D.LowRankMultivariateNormal(torch.zeros(2), T([[1.0], [0.5]]), T([1.0, 2.0])))
D.Wishart(T(1.0), torch.eye(3))
D.Wishart(T(4.0), torch.ones(3))
D.Wishart(T(4.0))
D.Wishart(4.0, torch.eye(2)).log_prob(torch.ones(2, 2))
(D.Wishart(T(4.0), torch.eye(2)).mode, D.Wishart(T(4.0), torch.eye(2)).precision_matrix, D.Wishart(T(4.0), torch.eye(2)).arg_constraints["df"])
D.Independent(Normal(0.0, 1.0), 1)
(lambda d: (repr(d), d.batch_shape, d.event_shape, repr(d.support), d.mean, d.mode, d.variance, d.entropy(), d.expand((4,)).batch_shape, d.has_enumerate_support, d.log_prob(torch.ones(2, 3))))(D.Independent(Normal(torch.zeros(2, 3), 1.0), 1))
D.Independent(D.Bernoulli(torch.ones(2) / 2), 1).enumerate_support()
D.Independent(D.Bernoulli(torch.ones(2) / 2), 0).enumerate_support()
D.TransformedDistribution(Normal(0.0, 1.0), 1)
D.TransformedDistribution(Normal(0.0, 1.0), [1])
D.TransformedDistribution(Normal(0.0, 1.0), X.StickBreakingTransform())
D.TransformedDistribution(Normal(0.0, 1.0), X.ExpTransform()).log_prob(T(-1.0))
D.TransformedDistribution(Normal(0.0, 1.0), X.ExpTransform()).mean
(D.TransformedDistribution(Normal(0.0, 1.0), X.ExpTransform(), validate_args=False).cdf(T(-1.0)), told(lambda: D.TransformedDistribution(Normal(0.0, 1.0), X.ExpTransform()).cdf(T(-1.0))))
(lambda d: (repr(d), d.batch_shape, d.event_shape, repr(d.support), d.has_rsample, d.rsample((2,)), d.log_prob(T([[0.2, 0.3, 0.5]])), d.expand((3,)).batch_shape, repr(d.base_dist)))(D.TransformedDistribution(Normal(torch.zeros(2), 1.0), [X.AffineTransform(1.0, 2.0), X.StickBreakingTransform()]))
(lambda d: (d.cdf(T(0.3)), d.icdf(T(0.3)), d.log_prob(T(0.3)), d.sample(), repr(d.support)))(D.TransformedDistribution(Normal(0.0, 1.0), [X.SigmoidTransform(), X.AffineTransform(1.0, -2.0)]))
(lambda d: (d.batch_shape, d.event_shape, d.sample().shape))(D.TransformedDistribution(Normal(0.0, 1.0), X.AffineTransform(torch.zeros(3), 1.0)))
(lambda d: (d.batch_shape, d.event_shape, repr(d.support), d.sample().shape))(D.TransformedDistribution(Normal(torch.zeros(2, 3), 1.0), X.ReshapeTransform((2, 3), (6,))))
D.MixtureSameFamily(1, Normal(torch.zeros(2), 1.0))
D.MixtureSameFamily(D.Categorical(torch.ones(2)), 1)
D.MixtureSameFamily(D.Categorical(torch.ones(2)), Normal(torch.zeros(3), 1.0))
D.MixtureSameFamily(D.Categorical(torch.ones(3, 2)), Normal(torch.zeros(2, 2), 1.0))
(lambda d: (repr(d), d.batch_shape, d.event_shape, repr(d.support), d.mean, d.variance, d.stddev, d.sample((3,)), d.log_prob(T([0.5, 1.0])[:, None]), d.cdf(T(0.3)), d.expand((2,)).sample().shape, d.has_rsample))(D.MixtureSameFamily(D.Categorical(T([0.3, 0.7])), Normal(T([0.0, 5.0]), T([1.0, 0.5]))))
(lambda d: (repr(d), d.batch_shape, d.event_shape, repr(d.support), d.mean, d.variance, d.sample((3,)), d.log_prob(torch.ones(4, 2)), d.expand((3, 4)).sample().shape))(D.MixtureSameFamily(D.Categorical(T([[0.3, 0.7]]).expand(4, 2)), D.Independent(Normal(torch.arange(16.0).view(4, 2, 2), 1.0), 1)))
D.MixtureSameFamily(D.Categorical(T([0.3, 0.7])), D.Poisson(T([1.0, 5.0]))).log_prob(T([1.0, 0.5]))
D.kl_divergence(Normal(0.0, 1.0), D.Poisson(1.0))
D.kl_divergence(D.Bernoulli(0.3), D.Normal(0.0, 1.0))
D.kl_divergence(D.Independent(Normal(torch.zeros(2, 3), 1.0), 1), D.Independent(Normal(torch.zeros(2, 3), 1.0), 2))
D.kl_divergence(D.Independent(Normal(torch.zeros(2, 3), 1.0), 2), D.Independent(Normal(torch.ones(2, 3), 2.0), 2))
D.kl_divergence(D.LogNormal(0.0, 1.0), D.LogNormal(1.0, 2.0))
D.kl_divergence(D.LogNormal(0.0, 1.0), D.LogisticNormal(1.0, 2.0))
D.kl_divergence(D.Binomial(3, 0.5), D.Binomial(4, 0.5))
D.kl_divergence(D.Binomial(4, 0.5), D.Binomial(T([4.0, 3.0]), 0.3))
D.kl_divergence(D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.MultivariateNormal(torch.zeros(3), torch.eye(3)))
D.kl_divergence(D.Chi2(3.0), D.Chi2(4.0))
D.kl_divergence(D.Chi2(3.0), D.Gamma(4.0, 1.0))
D.kl_divergence(D.Wishart(T(4.0), torch.eye(2)), D.Wishart(T(5.0), 2 * torch.eye(2)))
D.kl_divergence(D.NegativeBinomial(3.0, 0.5), D.NegativeBinomial(4.0, 0.5))
D.kl_divergence(D.Uniform(0.0, 1.0), D.Uniform(T([0.0, 0.5]), T([2.0, 2.0])))
D.kl_divergence(D.Categorical(T([0.5, 0.5, 0.0])), D.Categorical(T([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]])))
D.kl_divergence(D.Bernoulli(T([0.0, 1.0, 0.5])), D.Bernoulli(T([0.5, 0.0, 1.0])))
D.Distribution().sample()
D.Distribution(validate_args=False).mean
[told(lambda: getattr(D.Distribution(validate_args=False), n)) for n in ("mean", "mode", "variance", "stddev", "support", "arg_constraints")]
[told(lambda: f(T(1.0))) for d in [D.Distribution(validate_args=False)] for f in (d.log_prob, d.cdf, d.icdf, d.expand, d.enumerate_support)]
D.Distribution.set_default_validate_args(3)
torch.poisson(T([-1.0]))
torch.poisson(T([1, 2]))
torch.poisson(T([1.0, 2.0], requires_grad=True))
torch.poisson(T([0.0, 2.0, 30.0, 1e4]), generator=torch.Generator().manual_seed(3))
torch.poisson(3.0)
torch.binomial(T([1.0, 50.0]), T([0.5]))
torch.binomial(T([10.0, 200.0, 5.0, -1.0, 3.0, 3.0]), T([0.5, 0.4, 1.0, 0.5, 0.0, nan]))
torch.binomial(T([1, 2]), T([0.5, 0.5]))
torch.binomial(T([1.0]), T([0.5]).double())
torch.binomial(torch.ones(3), T([0.5, 0.5]))
torch.binomial(T([1.0]), T([0.5], requires_grad=True))
torch.binomial(T([1.0]), T([0.5], requires_grad=True)).backward()
torch._standard_gamma(T([0.01, 1.0, 300.0, 0.0]))
torch._standard_gamma(T([1, 2]))
torch._sample_dirichlet(torch.ones(2, 3))
torch._sample_dirichlet(T([1, 2]))
torch._sample_dirichlet(torch.ones(0, 3)).shape
torch._sample_dirichlet(T([1.0, 2.0], requires_grad=True))
torch._standard_gamma_grad(T([1.0]), T([1.0]).double())
[f(T([0.0, 0.0, 1.0, -1.0, inf, 1.0, nan, inf, 1.0]), T([0.0, 1.0, 0.0, 1.0, 1.0, inf, 1.0, inf, -1.0])) for f in (torch.igamma, torch.igammac)]
[f(torch.logspace(-3, 4, 15, dtype=torch.float64)[:, None], 2 * torch.logspace(-3, 4, 15, dtype=torch.float64)) for f in (torch.special.gammainc, torch.special.gammaincc)]
[f(torch.logspace(-2, 3, 11)[:, None], torch.logspace(-2, 3, 11)) for f in (torch.special.gammainc, torch.special.gammaincc)]
[torch.autograd.grad(f(T([0.5, 3.0]), x).sum(), x, create_graph=True) for x in [T([0.5, 2.0], requires_grad=True)] for f in (torch.igamma, torch.igammac)]
[torch.autograd.grad(torch.autograd.grad(f(T([0.5, 3.0]), x).sum(), x, create_graph=True)[0].sum(), x) for x in [T([0.5, 2.0], requires_grad=True)] for f in (torch.igamma, torch.igammac)]
torch.igamma(T([0.5, 3.0], requires_grad=True), T([0.5, 3.0])).sum().backward()
torch.igamma(T([1, 2]), T([1, 2]))
torch.igamma(T(1.0), 1.0)
T([1.0, 2.0]).igammac_(T(2.0))
""".strip().splitlines()

BLOCKS = {
    "what is here": """
out["names"] = sorted(D.__all__), sorted(C.__all__), sorted(X.__all__)
out["made of"] = [[b.__name__ for b in (D.Distribution, D.ExponentialFamily, D.TransformedDistribution) if issubclass(getattr(D, n), b)] for n in sorted(D.__all__) if isinstance(getattr(D, n), type)]
from torch.distributions.transforms import TanhTransform
import torch.distributions.constraints as constraints
from torch.distributions.utils import probs_to_logits, logits_to_probs, lazy_property, broadcast_all, clamp_probs, euler_constant, tril_matrix_to_vec, vec_to_tril_matrix, _standard_normal, _sum_rightmost
from torch.distributions.studentT import StudentT
from torch.distributions.relaxed_bernoulli import LogitRelaxedBernoulli, RelaxedBernoulli
from torch.distributions.relaxed_categorical import ExpRelaxedCategorical
from torch.distributions.multivariate_normal import MultivariateNormal
from torch.distributions.kl import register_kl, kl_divergence
from torch.distributions.constraint_registry import biject_to, ConstraintRegistry
from torch.distributions.transformed_distribution import TransformedDistribution
from torch.distributions.exp_family import ExponentialFamily
from torch.distributions.distribution import Distribution
out["same"] = TanhTransform is X.TanhTransform, constraints is C, StudentT is D.StudentT, biject_to is D.biject_to, Distribution is D.Distribution
p = T([0.0, 0.3, 1.0])
out["logits"] = probs_to_logits(p), probs_to_logits(p, is_binary=True), logits_to_probs(p), logits_to_probs(p, is_binary=True), clamp_probs(p)
out["broadcast"] = broadcast_all(1, T([1.0, 2.0]).double()), broadcast_all(1, 2.0), told(lambda: broadcast_all("a"))
out["triangles"] = tril_matrix_to_vec(torch.arange(9.0).view(3, 3)), tril_matrix_to_vec(torch.arange(9.0).view(3, 3), -1), vec_to_tril_matrix(torch.arange(12.0).view(2, 6)), vec_to_tril_matrix(torch.arange(3.0), -1), told(lambda: tril_matrix_to_vec(torch.ones(2, 2), 2)), told(lambda: vec_to_tril_matrix(torch.ones(4)))
out["sums"] = _sum_rightmost(torch.ones(2, 3, 4), 2), _sum_rightmost(torch.ones(2), 0)
class Lazy:
    count = 0
    @lazy_property
    def value(self):
        self.count += 1
        return self.count
z = Lazy()
out["lazy"] = z.value, z.value, z.__dict__
l = LogitRelaxedBernoulli(T(0.5), T([0.3]))
out["relaxed"] = repr(l), l.sample((2,)), l.log_prob(T([0.3])), repr(l.expand((2,))), ExpRelaxedCategorical(T(0.5), T([0.3, 0.7])).log_prob(T([-0.3, -1.4]))
""",
    "a family of one's own": """
class Triangle(D.Distribution):
    arg_constraints = {"width": C.positive}
    has_rsample = True
    def __init__(self, width, validate_args=None):
        self.width, = D.utils.broadcast_all(width)
        super().__init__(self.width.shape, validate_args=validate_args)
    def rsample(self, sample_shape=torch.Size()):
        return self.width * torch.rand(self._extended_shape(sample_shape)).sqrt()
    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return (2 * value / self.width**2).log()
t = Triangle(T([1.0, 2.0]))
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    out["without support"] = t.log_prob(T([0.5, 1.0])), [re.sub(r"'[\\w.]+'", "", str(w.message)) for w in given]
    t.sample_n(2)
    D.Distribution()
    out["warned"] = [(w.category.__name__, re.sub(r"'[\\w.]+'", "", str(w.message))) for w in given[1:]]
out["shown"], out["bad"], out["wide"] = repr(t), told(lambda: Triangle(-1.0)), told(lambda: t.expand((3, 2)))
class Narrow(Normal):
    def __init__(self, loc):
        super().__init__(loc, 0.1)
class Plain(Normal):
    pass
out["narrow"] = repr(Narrow(0.0)), told(lambda: Narrow(0.0).expand((2,))), repr(Plain(0.0, 1.0).expand((2,)))
class Stretch(X.Transform, torch.nn.Module):
    domain, codomain, bijective, __hash__ = C.real, C.real, True, torch.nn.Module.__hash__
    def __init__(self, by):
        super().__init__(cache_size=1)
        self.by = torch.nn.Parameter(T(by))
    def _call(self, x): return x * self.by
    def _inverse(self, y): return y / self.by
    def log_abs_det_jacobian(self, x, y): return self.by.abs().log().expand(x.shape)
flow = Stretch([2.0, -3.0])
D.TransformedDistribution(Normal(T([0.0, 1.0]), 1.0), [flow]).log_prob(T([0.5, 1.5])).sum().backward()
out["a transform that is a module"] = [name for name, _ in flow.named_parameters()], flow.by.grad
from torch.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv, _precision_to_scale_tril
out["of others"] = _batch_mv(T([[1.0, 2.0], [3.0, 5.0]]), T([1.0, -1.0])), _precision_to_scale_tril(T([[4.0, 1.0], [1.0, 3.0]])), _batch_mahalanobis(T([[2.0, 0.0], [1.0, 3.0]]), T([1.0, -1.0]))
D.register_kl(int, Triangle)(lambda p, q: None), told(lambda: D.register_kl(Triangle, 1))
out["nearest"] = D.kl_divergence(Narrow(0.0), Plain(1.0, 2.0)), told(lambda: D.kl_divergence(t, t))
@D.register_kl(Triangle, Triangle)
def kl(p, q):
    return p.width / q.width
out["registered"] = D.kl_divergence(t, Triangle(4.0)), D.kl_divergence(type("Sub", (Triangle,), {})(1.0), t)
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    @D.register_kl(Narrow, Normal)
    def a(p, q): return T(1.0)
    @D.register_kl(Normal, Plain)
    def b(p, q): return T(2.0)
    out["torn"] = D.kl_divergence(Narrow(0.0), Plain(1.0, 2.0)), [str(w.message) for w in given]
class Counts(D.ExponentialFamily):
    arg_constraints, support, _mean_carrier_measure = {"rate": C.positive}, C.positive, 0
    def __init__(self, rate):
        self.rate = rate
        super().__init__(rate.shape)
    _natural_params = property(lambda self: (-self.rate,))
    def _log_normalizer(self, x):
        return -torch.log(-x)
r = T([1.0, 2.0], requires_grad=True)
out["by Bregman"] = D.Distribution.entropy is not D.ExponentialFamily.entropy, Counts(r).entropy(), D.kl_divergence(Counts(r), Counts(2 * r)), told(lambda: D.kl_divergence(Counts(r), D.Beta(1.0, 2.0)))
out["of the exponential families"] = [D.ExponentialFamily.entropy(d) for d in (Normal(0.0, 2.0), D.Exponential(2.0), D.Gamma(2.0, 3.0), D.Bernoulli(0.3))]
""",
    "checks are switched off and on": """
out["on"] = told(lambda: Normal(0.0, -1.0))
D.Distribution.set_default_validate_args(False)
out["off"] = Normal(0.0, -1.0).scale, D.Exponential(1.0).log_prob(T(-1.0)), told(lambda: Normal(0.0, -1.0, validate_args=True))
D.Distribution.set_default_validate_args(True)
out["again"] = told(lambda: Normal(0.0, -1.0)), Normal(0.0, 1.0)._validate_args, Normal(0.0, 1.0, validate_args=False).expand((2,))._validate_args
""",
    "how draws move with their parameters": """
for dtype, name in ((torch.float32, "single"), (torch.float64, "double")):
    a = torch.logspace(-2, 3, 60, dtype=dtype, requires_grad=True)
    x = torch._standard_gamma(a)
    out["gamma " + name] = x, torch.autograd.grad(x.sum(), a)
    a = (torch.logspace(-1.5, 2.5, 80, dtype=dtype).view(40, 2) * T([1.0, 0.7], dtype=dtype)).requires_grad_()
    x = D.Dirichlet(a).rsample()
    (g,) = torch.autograd.grad((x * T([1.0, -2.0], dtype=dtype)).sum(), a)
    out["dirichlet " + name] = x, g if dtype == torch.float64 else None
    b = torch.linspace(7.0, 40.0, 30, dtype=dtype)
    out["beta " + name] = torch._dirichlet_grad(torch.linspace(0.1, 0.9, 30, dtype=dtype), b, b + b.flip(0)), torch._dirichlet_grad(b / (b + b.flip(0)), b, b + b.flip(0))
a = T([1.0, 2.0], requires_grad=True)
for draw in (torch._standard_gamma, lambda a: D.Dirichlet(a).rsample(), lambda a: D.Gamma(a, a).rsample(), lambda a: D.Beta(a, a).rsample()):
    y = draw(a)
    (g,) = torch.autograd.grad((y**2).sum(), a, create_graph=True)
    out[f"twice {len(out)}"] = y.grad_fn.name(), [n and n.name() for n, _ in y.grad_fn.next_functions], g, told(lambda: g.sum().backward())
""",
    "every divergence": """
kinds = {
    "Bernoulli": lambda s: D.Bernoulli(T([0.3, 0.6]) * s), "Beta": lambda s: D.Beta(T([0.7, 3.0]) * s, T([2.0, 0.5])),
    "Binomial": lambda s: D.Binomial(5, T([0.3, 0.6]) * s), "Categorical": lambda s: D.Categorical(T([[0.3, 0.7 * s], [s, 0.2]])),
    "Cauchy": lambda s: D.Cauchy(T([0.3, -1.0]) * s, T([1.0, 2.0])), "ContinuousBernoulli": lambda s: D.ContinuousBernoulli(T([0.2, 0.9]) * s),
    "Dirichlet": lambda s: D.Dirichlet(T([[0.7, 3.0 * s], [s, 2.0]])), "Exponential": lambda s: D.Exponential(T([0.7, 3.0]) * s),
    "Gamma": lambda s: D.Gamma(T([0.7, 3.0]) * s, T([2.0, 0.5])), "Geometric": lambda s: D.Geometric(T([0.3, 0.6]) * s),
    "Gumbel": lambda s: D.Gumbel(T([0.3, -1.0]) * s, T([1.0, 2.0])), "HalfNormal": lambda s: D.HalfNormal(T([0.7, 3.0]) * s),
    "Laplace": lambda s: D.Laplace(T([0.3, -1.0]) * s, T([1.0, 2.0])), "Normal": lambda s: D.Normal(T([0.3, -1.0]) * s, T([1.0, 2.0])),
    "LowRankMultivariateNormal": lambda s: D.LowRankMultivariateNormal(T([0.3, -1.0]) * s, T([[0.4], [0.9]]) * s, T([1.0, 2.0])),
    "MultivariateNormal": lambda s: D.MultivariateNormal(T([0.3, -1.0]) * s, T([[2.0, 0.3], [0.3, 1.0]]) * s),
    "OneHotCategorical": lambda s: D.OneHotCategorical(T([[0.3, 0.7 * s], [s, 0.2]])), "Pareto": lambda s: D.Pareto(T([0.7, 3.0]) * s, T([2.5, 0.5])),
    "Poisson": lambda s: D.Poisson(T([0.3, 4.0]) * s), "Uniform": lambda s: D.Uniform(T([0.1, 0.3]) * s, T([0.8, 0.9])),
}
for p in kinds:
    for q in kinds:
        a, b = T(1.0, requires_grad=True), T(0.9, requires_grad=True)
        def between():
            kl = D.kl_divergence(kinds[p](a) if p not in ("Categorical", "Dirichlet", "OneHotCategorical") else kinds[p](1.0), kinds[q](b) if q not in ("Categorical", "Dirichlet", "OneHotCategorical") else kinds[q](0.9))
            slopes = torch.autograd.grad(kl[kl.isfinite()].sum(), (a, b), allow_unused=True) if kl.requires_grad else None
            return seen(kl), slopes
        out[f"{p} {q}"] = told(between)
""",
}  # fmt: skip

PROGRAMS = {
    name: START + f"KIND = D.{name}\nPARAMETERS = [{', '.join(given)}]\n" + FAMILY
    for name, given in FAMILIES.items()
}
PROGRAMS |= {
    line: f"{START}TEXT = {line!r}\nt = {line}\n{TRANSFORM}" for line in TRANSFORMS.strip().splitlines()
}
PROGRAMS |= {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES}
PROGRAMS |= {name: START + block for name, block in BLOCKS.items()}

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    mine, theirs = run(PROGRAMS[name], standing_in), STORED["results"][name]
    assert not differences(mine, theirs)


CHECKED = "import torch.distributions\ntorch.distributions.Distribution.set_default_validate_args(True)\n"
"""The default, which PyTorch's compiler changes for the whole process once another test has loaded it."""


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, {name: CHECKED + code for name, code in PROGRAMS.items()})
