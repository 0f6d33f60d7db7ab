"""Random tensors: rand, randn, normal, bernoulli, ... and the in-place forms. The numbers come from random.py."""

import numpy as np

from ..autograd.errors import CPP_NAMES, TYPE_NAMES, not_for
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace
from ..autograd.variable import Variable, wrap
from ..creation import array_like, float_type, leaf, size_of
from ..dtypes import number_as, to_dtype
from ..layout import preserve_format
from ..random import laid_out, rng_of
from ..world.device import on_cpu
from ..world.warning import warn
from . import array_or_tensor as both
from .comparison import NoDerivative, constant_result
from .rule import FUNCTIONS, broadcast_shape, floats_only, function, method, no_bools
from .shapes import ShapeRule, expand

# -- new tensors --------------------------------------------------------------------------------------


def _float_only(dtype, kernel):
    if dtype.kind != "f":
        raise not_for(dtype, kernel)
    return dtype


def continuous(dtype, name):
    """Raise RuntimeError if `dtype`, for draws from a continuous distribution, is not a floating type."""
    if dtype.kind != "f":
        raise RuntimeError(
            f"{name} distribution is a continuous probability distribution. dtype must be a floating point but you specified "
            + TYPE_NAMES[dtype.name]
        )


def _factory(name, kernel, draw, text):
    def fn(
        *size,
        generator=None,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        pin_memory=False,
        **named,
    ):
        on_cpu(device, pin_memory)
        dtype = _float_only(float_type(dtype), kernel)
        shape = size_of(size or (named["size"],), name)
        return leaf(draw(rng_of(generator), shape, dtype).astype(dtype, copy=False), requires_grad)

    def like(
        input,
        *,
        generator=None,
        dtype=None,
        layout=None,
        device=None,
        requires_grad=False,
        memory_format=None,
    ):
        x = array_like(input, name)
        dtype = _float_only(x.dtype if dtype is None else to_dtype(dtype).np, kernel)
        numbers = draw(rng_of(generator), (x.size,), dtype, x.flags.c_contiguous)
        return leaf(laid_out(numbers.astype(dtype, copy=False), _order(x, memory_format)), requires_grad)

    fn.__name__ = fn.__qualname__ = name
    like.__name__ = like.__qualname__ = name + "_like"
    fn.__doc__ = f"{text} of the given size (torch.{name})."
    like.__doc__ = f"{text} in the size and type of `input` (torch.{name}_like)."
    FUNCTIONS[name], FUNCTIONS[name + "_like"] = fn, like
    return fn


rand = _factory(
    "rand",
    "check_uniform_bounds",
    lambda rng, shape, dtype, in_a_row=True: rng.uniform(0, 1, shape, dtype),
    "Uniform numbers from [0, 1)",
)
randn = _factory(
    "randn",
    "normal_kernel_cpu",
    lambda rng, shape, dtype, in_a_row=True: rng.normal(0.0, 1.0, shape, dtype, in_a_row),
    "Normal numbers",
)


@function(method=False)
def randint(
    *args,
    low=0,
    high=None,
    size=None,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """Random integers from low (included) to high (excluded) (torch.randint)."""
    args = list(args)
    if args and isinstance(args[-1], (tuple, list)):
        size = args.pop()
    if size is None:
        if len(args) == 2 and isinstance(args[-1], int):
            raise TypeError("randint(): argument 'size' (position 2) must be tuple of ints, not int")
        raise TypeError(
            "randint() received an invalid combination of arguments: a high end and a size are needed"
        )
    if len(args) == 2:
        low, high = args
    elif args:
        high = args[0]
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    on_cpu(device)
    _check_bounds(low, high, np.dtype(np.int64) if dtype is None else to_dtype(dtype).np)
    numbers = np.asarray(rng_of(generator).integers(low, high, size_of((size,), "randint")))
    return leaf(numbers.astype(np.int64 if dtype is None else to_dtype(dtype).np), requires_grad)


def _order(x, memory_format):
    """An array in the memory order of the result: `x` itself, unless another order is requested."""
    return x if memory_format in (None, preserve_format) else memory_format.lay(np.empty(x.shape, x.dtype))


def _check_bounds(low, high, dtype):
    """Raise RuntimeError if the type cannot hold the numbers from `low` to `high - 1`; warn if it cannot hold each of them exactly."""
    if dtype.kind == "f":
        least, most = -float(np.finfo(dtype).max), float(np.finfo(dtype).max)
    else:
        least, most = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    for name, n in (("from", low), ("to - 1", high - 1)):
        if not least <= n <= most:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[dtype.name]}")
    if dtype.kind == "f":
        digits = np.finfo(dtype).nmant + 1
        for name, n in (("from", low), ("to - 1", high - 1)):
            if not -(2**digits) <= n <= 2**digits:
                warn(
                    f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {CPP_NAMES[dtype.name]} can "
                    "support discrete uniform distribution only within this range. This warning will become an error in version 1.7 "
                    "release, please fix the code in advance"
                )


@function(method=False)
def randint_like(
    input, low, high=None, *, generator=None, dtype=None, device=None, requires_grad=False, memory_format=None
):
    """Random integers from low to high in the size and type of `input` (torch.randint_like)."""
    low, high = (0, low) if high is None else (low, high)
    x = input._data
    numbers = randint(low, high, (x.size,), generator=generator, dtype=dtype or input.dtype)._data
    return leaf(laid_out(numbers, _order(x, memory_format)), requires_grad)


@function(method=False)
def randperm(
    n, *, generator=None, dtype=None, device=None, requires_grad=False, layout=None, pin_memory=False
):
    """The numbers from 0 to n - 1 in random order (torch.randperm)."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    kind = np.dtype(np.int64) if dtype is None else to_dtype(dtype).np
    if kind.kind == "b":
        raise not_for(kind, "randperm")
    if n > 0:
        number_as(n - 1, kind)  # raises if the type cannot hold it
    order = rng_of(generator).permutation(n).astype(kind)
    return leaf(order, requires_grad)


def _normal(mean, std, generator):
    shape = np.broadcast_shapes(np.shape(mean), np.shape(std))
    dtype = (mean if isinstance(mean, (np.ndarray, np.generic)) else std).dtype
    return (rng_of(generator).normal(0.0, 1.0, shape, dtype).astype(dtype) * std + mean).astype(dtype)


class NormalBackward1(ShapeRule):
    """Normal numbers about the elements of a tensor: a draw, which no gradient passes through.

    Math: y = mean + std * randn(shape(y)).   VJP: 0.   Shapes: that of the mean.   Saves: nothing.   PyTorch: torch.normal
    """

    inputs = ("mean",)
    keeps = ("generator", "std", "mean_sym_sizes")
    hides = ("generator", "std")

    def forward(mean, generator, std):
        return _normal(mean, std, generator)

    def vjp(self, g):
        return both.zeros(self.args[-1], g)


class NormalBackward2(NormalBackward1):
    """The same about a number, the elements of a tensor being the deviations.

    Math: y = mean + std * randn(shape(y)).   VJP: 0.   Shapes: that of std.   Saves: nothing.   PyTorch: torch.normal
    """

    inputs = ("std",)
    keeps = ("generator", "mean", "std_sym_sizes")
    hides = ("generator", "mean")

    def forward(std, generator, mean):
        return _normal(mean, std, generator)


class NormalBackward3(ShapeRule):
    """The same with a tensor of means and one of deviations.

    Math: y = mean + std * randn(shape(y)).   VJP: to mean: 0; to std: 0.
    Shapes: mean and std broadcast.   Saves: nothing.   PyTorch: torch.normal
    """

    inputs = ("mean", "std")
    keeps = ("generator", "mean_sym_sizes", "std_sym_sizes")
    hides = ("generator",)

    def forward(mean, std, generator):
        return _normal(mean, std, generator)

    def vjp(self, g):
        return tuple([both.zeros(shape, g) for shape in self.args[1:]])


@function(method=False)
def normal(
    mean=0.0,
    std=1.0,
    size=None,
    *,
    generator=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    out=None,
):
    """Normal numbers with mean and standard deviation given as numbers (then with a size) or tensors (torch.normal)."""
    if not isinstance(std, Variable) and std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if isinstance(std, Variable) and (std._data < 0).any():
        raise RuntimeError("normal expects all elements of std >= 0.0")
    if isinstance(mean, Variable):
        floats_only(mean._data, "normal_kernel_cpu")
        if not isinstance(std, Variable):
            return apply(NormalBackward1, (mean,), generator, std)
        broadcast_shape([mean._data, std._data])
        return apply(NormalBackward3, (mean, std), generator)
    if isinstance(std, Variable):
        floats_only(std._data, "normal_kernel_cpu")
        return apply(NormalBackward2, (std,), generator, mean)
    kind = float_type(dtype)
    numbers = rng_of(generator).normal(mean, std, size_of((size,), "normal"), kind)
    return leaf(np.asarray(numbers).astype(kind), requires_grad)


@function(method=True)
def multinomial(input, num_samples, replacement=False, *, generator=None):
    """Positions drawn with the weights in the last dim (torch.multinomial)."""
    weights = input._data
    if weights.dtype.kind != "f":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: " + input.dtype.type_name
        )
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if weights.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    in_turn = replacement and num_samples > 1
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        if not in_turn:
            raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
        wrong = "= infinity or NaN" if (weights >= 0).all() else "< 0"
        raise RuntimeError(f"invalid multinomial distribution (encountering probability entry {wrong})")
    rows = weights.reshape(-1, weights.shape[-1]).astype(np.float64)
    if (rows.sum(1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    rng = rng_of(generator)
    if in_turn:
        sums = rows.cumsum(1)
        with rng.drawing:
            drawn = [np.searchsorted(s, rng.random((num_samples,)) * s[-1]) for s in sums]
    else:  # in the order of exponential waiting times: the heavier, the sooner
        waiting = laid_out(rng.exponential(1.0, (weights.size,)), weights).astype(weights.dtype)
        speed = (weights / waiting).reshape(rows.shape)
        drawn = np.argsort(-speed, axis=1, kind="stable")[:, :num_samples]
    places = np.array(drawn, dtype=np.int64).reshape(*weights.shape[:-1], num_samples)
    return constant_result((input,), places, "multinomial")


# -- in place, and draws about the elements of a tensor -----------------------------------------------


class DrawRule(ShapeRule):
    """A tensor overwritten with random numbers, or replaced by them: no gradient passes through.

    settings  of the distribution, by the names they have in the rule's text
    """

    def forward(x, draw, *_settings):
        return np.asarray(draw(x)).astype(x.dtype)

    def vjp(self, g):
        return both.zeros_like(g)


def _draw_rule(name, op, math, *settings):
    text = f"""{DrawRule.__doc__.partition(chr(10))[0]}

    Math: y = {math}.   VJP: 0.   Shapes: the same.   Saves: nothing.   PyTorch: torch.Tensor.{op}_
    """
    names = ("draw", *settings)
    body = {
        "__doc__": text,
        "op": op,
        "keeps": names,
        "hides": names,
        "__module__": __name__,
        "__slots__": (),
    }
    return type(DrawRule)(name, (DrawRule,), body)


UniformBackward0 = _draw_rule("UniformBackward0", "uniform", "uniform(shape(a), low, high)", "low", "high")
NormalBackward0 = _draw_rule("NormalBackward0", "normal", "normal(shape(a), mean, std)", "mean", "std")
ExponentialBackward0 = _draw_rule(
    "ExponentialBackward0", "exponential", "exponential(shape(a), rate)", "rate"
)
LogNormalBackward0 = _draw_rule(
    "LogNormalBackward0", "log_normal", "log_normal(shape(a), mean, std)", "mean", "std"
)
CauchyBackward0 = _draw_rule(
    "CauchyBackward0", "cauchy", "cauchy(shape(a), median, sigma)", "median", "sigma"
)
GeometricBackward0 = _draw_rule("GeometricBackward0", "geometric", "geometric(shape(a), p)", "p")
RandomBackward0 = _draw_rule("RandomBackward0", "random", "random(shape(a), low, high)", "low", "high")
RandomBackward1 = _draw_rule("RandomBackward1", "random", "random(shape(a), high)", "low", "high")
RandomBackward2 = _draw_rule("RandomBackward2", "random", "random(shape(a))", "low", "high")
BernoulliBackward0 = _draw_rule("BernoulliBackward0", "bernoulli", "bernoulli(shape(a), a)")
BernoulliBackward2 = _draw_rule("BernoulliBackward2", "bernoulli", "bernoulli(shape(a), p)", "p")


class BernoulliBackward1(ShapeRule):
    """A tensor overwritten with ones, whose probabilities another tensor holds, and zeros.

    Math: y = bernoulli(shape(a), b).   VJP: to a: 0; to b: 0.   Shapes: p broadcasts to the tensor.   Saves: nothing.
    PyTorch: torch.Tensor.bernoulli_
    """

    op = "bernoulli"
    inputs = ("self", "p")
    keeps = ("draw", "p_sym_sizes")
    hides = ("draw", "p_sym_sizes")

    def forward(x, p, draw):
        return draw(x).astype(x.dtype)

    def vjp(self, g):
        return both.zeros_like(g), both.zeros(self.args[1], g)


class BernoulliWithProbability(NoDerivative, name="NotImplemented"):
    """Ones with one probability, and zeros, in the shape of a tensor.

    Math: y = bernoulli(shape(a), p).   VJP: nothing.
    """

    op = "bernoulli"

    def forward(x, _, draw, p):
        return draw(x).astype(x.dtype)


@method
def uniform_(self, from_=0, to=1, *, generator=None, **named):
    """Overwrite with uniform numbers from [from, to)."""
    from_ = named.get("from", from_)
    _float_only(self._data.dtype, "check_uniform_bounds")
    if from_ > to:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={from_} > to={to}")
    most = float(np.finfo(self._data.dtype).max)
    for name, n in (("from", from_), ("to", to)):
        if not -most <= n <= most:
            raise RuntimeError(f"{name} is out of bounds for {CPP_NAMES[self._data.dtype.name]}")
    if to - from_ > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{self.dtype.type_name}>::max(), but found to={to:g} and "
            f"from={from_:g} which result in to-from to exceed the limit"
        )
    return apply_inplace(
        UniformBackward0,
        (self,),
        lambda x: laid_out(rng_of(generator).uniform(from_, to, (x.size,), x.dtype), x),
        from_,
        to,
    )


@method
def normal_(self, mean=0, std=1, *, generator=None):
    """Overwrite with normal numbers."""
    _float_only(self._data.dtype, "normal_kernel_cpu")
    if std < 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return apply_inplace(
        NormalBackward0,
        (self,),
        lambda x: laid_out(rng_of(generator).normal(mean, std, (x.size,), x.dtype, x.flags.c_contiguous), x),
        mean,
        std,
    )


@method
def exponential_(self, lambd=1, *, generator=None):
    """Overwrite with exponential numbers."""
    if lambd <= 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd}")
    continuous(self._data.dtype, "Exponential")
    return apply_inplace(
        ExponentialBackward0,
        (self,),
        lambda x: laid_out(rng_of(generator).exponential(lambd, (x.size,)), x),
        lambd,
    )


@method
def log_normal_(self, mean=1, std=2, *, generator=None):
    """Overwrite with numbers whose logarithms are normal with that mean and deviation."""
    if std <= 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    _float_only(self._data.dtype, "log_normal_cpu")
    return apply_inplace(
        LogNormalBackward0,
        (self,),
        lambda x: laid_out(np.exp(rng_of(generator).normal(mean, std, (x.size,), in_a_row=False)), x),
        mean,
        std,
    )


@method
def cauchy_(self, median=0, sigma=1, *, generator=None):
    """Overwrite with numbers of a Cauchy distribution of that median and half width at half height."""
    if sigma <= 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    if self._data.dtype.kind != "f":
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you specified "
            + CPP_NAMES[self._data.dtype.name]
        )
    return apply_inplace(
        CauchyBackward0,
        (self,),
        lambda x: laid_out(median + sigma * np.tan(np.pi * (rng_of(generator).random((x.size,)) - 0.5)), x),
        median,
        sigma,
    )


@method
def geometric_(self, p, *, generator=None):
    """Overwrite with the number of trials up to the first success, each with success probability `p`."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    no_bools(self._data, "geometric_cpu")
    return apply_inplace(
        GeometricBackward0,
        (self,),
        lambda x: laid_out(
            np.ceil(np.log(rng_of(generator).random((x.size,))) / np.log1p(-p)).astype(x.dtype), x
        ),
        p,
    )


_NOT_GIVEN = object()


@method
def random_(self, from_=_NOT_GIVEN, to=_NOT_GIVEN, *, generator=None, **named):
    """Overwrite with random integers from [from, to); with one number, from [0, that); with to=None, from `from` on."""
    from_ = named.get("from", from_)
    kind = self._data.dtype
    if to is _NOT_GIVEN:
        rule, low, high = RandomBackward1, 0, from_
        if from_ is _NOT_GIVEN:
            rule, high = RandomBackward2, None
    else:
        rule, low, high = RandomBackward0, from_, to
    long = kind.itemsize > 4 if rule is RandomBackward2 else None
    if high is None:  # all integers that the type holds exactly
        high = (
            2 ** (np.finfo(kind).nmant + 1) + 1
            if kind.kind == "f"
            else 2
            if kind.kind == "b"
            else int(np.iinfo(kind).max) + 1
        )
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    _check_bounds(low, high, kind)
    return apply_inplace(
        rule,
        (self,),
        lambda x: laid_out(rng_of(generator).integers(low, high, (x.size,), long), x),
        low,
        high,
    )


def _coin(p, generator):
    if isinstance(p, np.ndarray):  # as many bits as the probabilities have
        return lambda x: rng_of(generator).random(x.shape, p.dtype) < p
    return lambda x: laid_out(rng_of(generator).random((x.size,)) < p, x)


@method
def bernoulli_(self, p=0.5, *, generator=None):
    """Overwrite with ones and zeros: ones with probability p (a number or a tensor)."""
    if isinstance(p, Variable):
        chances = _probabilities(expand(wrap(p._data), self._data.shape))  # raises if p is invalid
        return apply_inplace(BernoulliBackward1, (self, p), _coin(chances, generator))
    _check_probability(p)
    return apply_inplace(BernoulliBackward2, (self,), _coin(p, generator), p)


@function
def bernoulli(input, p=None, *, generator=None):
    """Ones and zeros: ones with the probabilities in `input` (or with probability p) (torch.bernoulli)."""
    if p is not None:
        _check_probability(p)
        return apply(BernoulliWithProbability, (input,), "bernoulli", _coin(p, generator), p)
    floats_only(input._data, "bernoulli_tensor_cpu_p_")
    return apply(BernoulliBackward0, (input,), _coin(_probabilities(input), generator))


def _check_probability(p):
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")


def _probabilities(t):
    p = t._data
    if p.size and not (p.min() >= 0 and p.max() <= 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return p


__all__ = ["THREAD", "rand", "randint", "randn"]
