"""Sample calls of every rule in the rule book: what the tests of recordings and of the rules' texts run.

A call is a short text that means the same in this library and in PyTorch, with small inputs:

    Call("AmaxBackward0", "torch.amax(a, dim=1, keepdim=True)", {"a": TIES})

Arrays of floats with a small letter want a gradient, those with a capital do not. The text may be several statements; the last
one is the result. `F` is `torch.nn.functional`. There are calls with ties, zeros and negative numbers, with operands that
broadcast, without dims and without elements, and with each option that changes what a rule sends.
"""

import ast
import functools
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np


@functools.lru_cache(maxsize=8)
def compiled(text, name):
    """(the code of all statements but the last, the code of the last expression) of a call, which is run several times in a row."""
    *steps, last = ast.parse(text).body
    return compile(ast.Module(steps, []), name, "exec"), compile(ast.Expression(last.value), name, "eval")


@dataclass(frozen=True)
class Call:
    """One call, and the name of the node it is there for.

    name  unlike that of any other call: the rule, the text, and a number where both occur twice
    """

    rule: str
    text: str
    inputs: dict
    name: str

    def tensors(self, torch):
        """The inputs as new tensors of `torch`: floats are float64, and leaves if their letter is a small one."""
        made = {}
        for name, value in self.inputs.items():
            array = np.asarray(value)
            own = not isinstance(value, np.ndarray) and array.dtype == np.intp  # in WebAssembly int32
            dtype = torch.int64 if own else getattr(torch, str(array.dtype))
            made[name] = torch.tensor(array.tolist(), dtype=dtype).reshape(array.shape)
            if array.dtype.kind == "f" and name.islower():
                made[name].requires_grad_()
        return made

    def run(self, torch, tensors):
        """What the call gives: a tensor, or a tuple or list of them. Random numbers start from seed 0, warnings are not shown."""
        steps, last = compiled(self.text, self.name)
        names = {"torch": torch, "F": torch.nn.functional, **tensors}
        torch.default_generator.manual_seed(0)  # torch.manual_seed also asks for the stack
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(steps, names)
            return eval(last, names)

    def __str__(self):
        return self.name


CALLS: list[Call] = []
"""Every sample call, page by page of the rule book."""

_seen: Counter = Counter()


def add(rule, *texts, **inputs):
    """Add a call of each text, all with the same inputs."""
    for text in texts:
        name = f"{rule}: {text}"
        _seen[name] += 1
        again = f" ({_seen[name]})" if _seen[name] > 1 else ""
        CALLS.append(Call(rule, text, inputs, name + again))


def add_second(rule, text, of, **inputs):
    """Add a call of the gradient of `text` for the tensors named in `of`, as an operation; `g` is the gradient of the result."""
    tail = f"torch.autograd.grad({text}, [{of}], g, create_graph=True)"
    add(rule, tail if "," in of else tail + "[0]", **inputs)


def spread(*shape, step=0.25, seed=1):
    """An array of numbers around zero, in no order, all different (up to 101 of them)."""
    n = int(np.prod(shape, dtype=int))
    return ((np.arange(n) * 37 + 13 * seed) % 101 - 50).reshape(shape) * (step / 10)


def inside(*shape, low=0.1, high=0.9, seed=1):
    """The same between two limits."""
    return low + (high - low) * (spread(*shape, step=0.1, seed=seed) + 0.5)


INF, NAN = float("inf"), float("nan")
M = [[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]]
N = [[2.0, 0.5, -1.0], [-3.0, 4.0, 1.5]]
NONZERO = [[2.0, 0.5, -1.0], [-3.0, 0.25, 1.5]]
POSITIVE = [[0.5, 1.0, 2.5], [3.0, 0.25, 4.0]]
UNIT = [[0.1, 0.5, 0.9], [0.25, 0.6, 0.4]]
INNER = [[-0.9, -0.3, 0.0], [0.2, 0.5, 0.8]]
V = [2.0, -0.5, 1.5]
ROW = [1.0, -2.0, 0.5]
COLUMN = [[2.0], [-3.0]]
ONE = 1.5
NONE = np.zeros((0, 3))
TIES = [[1.0, 3.0, 3.0], [2.0, 2.0, 0.0]]
EQUAL = [[2.0, 2.0], [2.0, 2.0]]
ZEROS = [[0.0, 2.0, -3.0], [0.0, 4.0, 0.0]]
GAPS = [[1.0, NAN, -2.0], [NAN, 0.5, 3.0]]
CUBE = spread(2, 3, 4)
SCORES = [[1.0, 2.0, 4.0], [-1.0, 0.0, 0.5]]
DIMS = ("0", "1", "-1")

# fmt: off
# -- arithmetic ---------------------------------------------------------------------------------------

for _rule, _op in {"AddBackward0": "add", "SubBackward0": "sub", "MulBackward0": "mul"}.items():
    for _a, _b in ((M, N), (M, V), (COLUMN, [ROW]), (ONE, M), (ONE, -2.0), (NONE, ONE)):
        add(_rule, f"torch.{_op}(a, b)", a=_a, b=_b)
    add(_rule, f"a.clone().{_op}_(b)", a=M, b=V)
    add(_rule, f"torch.{_op}(a, a)", a=M)
    add(_rule, f"torch.{_op}(a, B)", f"torch.{_op}(B, a)", a=M, B=V)
add("AddBackward0", "a + b", "torch.add(a, b, alpha=2.5)", "a.clone().add_(b, alpha=-2)", a=M, b=V)
add("SubBackward0", "a - b", "torch.sub(a, b, alpha=2.5)", a=M, b=V)
add("MulBackward0", "a * b", "torch.mul(a, a * b)", a=M, b=V)
add("DivBackward0", "a / b", "a.clone().div_(b)", "torch.div(a, B)", a=M, b=NONZERO, B=V)
add("DivBackward0", "a / b", a=M, b=ONE)
add("DivBackward0", "a / b", a=ONE, b=V)
add("DivBackward0", "a / b", a=ROW, b=COLUMN)
add("DivBackward0", "a / b", a=[1.0, 0.0, -2.0], b=[0.0, 0.0, 4.0])
add("AddBackward0", "torch.add(a, 2.5)", "torch.add(a, 2, alpha=3)", a=M)
add("AddBackward0", "a + 2.5", "2.5 + a", a=M)
add("SubBackward0", "torch.sub(a, 2)", a=M)
add("SubBackward0", "a - 2.5", a=ONE)
add("MulBackward0", "torch.mul(a, 2.5)", a=M)
add("MulBackward0", "a * 2.5", "-3 * a", "a * 0", a=M)
add("DivBackward0", "torch.div(a, 2)", a=M)
add("DivBackward0", "a / 2.5", "a.clone().div_(-4)", a=M)
add("RsubBackward1", "3 - a", "torch.rsub(a, 2.5)", "torch.rsub(a, 2.5, alpha=2)", a=M)
add("RsubBackward0", "torch.rsub(a, b)", "torch.rsub(a, b, alpha=2)", a=M, b=V)
for _a in (M, ONE, NONE):
    add("NegBackward0", "-a", "a.clone().neg_()", a=_a)
for _a in (NONZERO, ONE, [0.0, 2.0]):
    add("ReciprocalBackward0", "torch.reciprocal(a)", "a.clone().reciprocal_()", a=_a)
add("ReciprocalBackward0", "1 / a", "3 / a", a=NONZERO)
add("PowBackward0", "a ** 2", "a ** 3", "a ** 1", "a ** 0", "torch.square(a)", "a.clone().pow_(2)", a=M)
add("PowBackward0", "a ** 0.5", "a ** -1.5", "a ** -1", a=POSITIVE)
add("PowBackward0", "a ** 3", a=ONE)
add("PowBackward1", "a ** b", "a.clone().pow_(b)", a=POSITIVE, b=V)
add("PowBackward1", "a ** b", a=ONE, b=M)
add("PowBackward1", "a ** b", a=[0.0, 0.0, 2.0, 0.0], b=[2.0, 0.0, 0.0, 1.0])
add("PowBackward1", "a ** B", "B ** a", a=POSITIVE, B=[2.0, 1.0, 3.0])
add("PowBackward2", "2.5 ** a", "torch.pow(0, a)", a=POSITIVE)
add("PowBackward2", "2 ** a", "0.5 ** a", a=M)

# What PyTorch's own code multiplies by a plain number: the formulas of gradients, and losses with label smoothing.
add_second("AddBackward1", "torch.expm1(a)", "a", a=M, g=N)
add_second("AddBackward1", "torch.log1p(a)", "a", a=POSITIVE, g=N)
add_second("SubBackward1", "a ** b", "a, b", a=POSITIVE, b=V, g=N)
add_second("SubBackward1", "torch.acosh(a)", "a", a=[1.5, 2.0, 4.0], g=V)
add_second("MulBackward1", "a ** 3", "a", a=M, g=N)
add_second("MulBackward1", "torch.add(a, b, alpha=2.5)", "b", a=M, b=V, g=N)
add_second("DivBackward1", "torch.maximum(a, b)", "a, b", a=M, b=[1.0, 0.0, 0.5], g=N)
add("MulBackward1", "F.cross_entropy(a, T, label_smoothing=0.2)", a=SCORES, T=[2, 0])
add_second("DivBackward1", "torch.minimum(a, b)", "a", a=M, b=[1.0, 0.0, 0.5], g=N)

# -- functions of one tensor, element by element ------------------------------------------------------

SMOOTH = {
    "Exp": ("exp", M), "Exp2": ("exp2", M), "Expm1": ("expm1", M), "Log": ("log", POSITIVE), "Log2": ("log2", POSITIVE),
    "Log10": ("log10", POSITIVE), "Log1P": ("log1p", INNER), "Sqrt": ("sqrt", POSITIVE), "Rsqrt": ("rsqrt", POSITIVE),
    "Sin": ("sin", M), "Cos": ("cos", M), "Tan": ("tan", INNER), "Asin": ("asin", INNER), "Acos": ("acos", INNER), "Atan": ("atan", M),
    "Sinh": ("sinh", M), "Cosh": ("cosh", M), "Tanh": ("tanh", M), "Sigmoid": ("sigmoid", M), "Sinc": ("sinc", M),
    "Deg2Rad": ("deg2rad", M), "Rad2Deg": ("rad2deg", M), "Erf": ("erf", M), "Erfc": ("erfc", M), "Erfinv": ("erfinv", INNER),
    "Lgamma": ("lgamma", POSITIVE), "Digamma": ("digamma", POSITIVE), "I0": ("i0", M), "Abs": ("abs", M), "Sign": ("sign", M),
    "Sgn": ("sgn", M), "Floor": ("floor", N), "Ceil": ("ceil", N), "Trunc": ("trunc", N), "Round": ("round", N), "Frac": ("frac", N),
    "Logit": ("logit", UNIT), "NanToNum": ("nan_to_num", M),
}  # fmt: skip
for _name, (_op, _a) in SMOOTH.items():
    add(f"{_name}Backward0", f"torch.{_op}(a)", f"a.clone().{_op}_()", a=_a)
    add(f"{_name}Backward0", f"torch.{_op}(a)", a=0.5)
    add(f"{_name}Backward0", f"torch.{_op}(a)", a=NONE)
for _name, _op, _a in (
    ("Asinh", "asinh", M), ("Acosh", "acosh", [[1.5, 2.0, 4.0], [3.0, 1.25, 8.0]]), ("Atanh", "atanh", INNER),
):  # fmt: skip
    add(f"{_name}Backward0", f"torch.{_op}(a)", a=_a)
    add(f"{_name}Backward0", f"torch.{_op}(a)", a=NONE)
    add(f"{_name}Backward1", f"a.clone().{_op}_()", a=_a)
for _name, _op in {
    "Log": "log", "Log2": "log2", "Log10": "log10", "Log1P": "log1p", "Sqrt": "sqrt", "Rsqrt": "rsqrt", "Abs": "abs", "Sign": "sign",
    "Sinc": "sinc", "Logit": "logit", "Asin": "asin", "Acos": "acos", "Atanh": "atanh", "Acosh": "acosh", "Erfinv": "erfinv",
}.items():  # fmt: skip
    add(f"{_name}Backward0", f"torch.{_op}(a)", a=[0.0, 1.0, -1.0, 2.0])
add("NanToNumBackward0", "torch.nan_to_num(a)", "torch.nan_to_num(a, nan=1.0, posinf=2.0, neginf=-2.0)", a=[1.0, NAN, INF, -INF])
add("LogitBackward0", "torch.logit(a, 0.3)", "torch.special.logit(a, eps=0.25)", a=UNIT)
add("RoundBackward1", "torch.round(a, decimals=1)", "torch.round(a, decimals=-1)", "a.clone().round_(decimals=2)", a=[[0.321, -1.25], [14.06, 0.0]])
add("PolygammaBackward0", "torch.polygamma(0, a)", "torch.polygamma(1, a)", "torch.polygamma(2, a)", a=POSITIVE)
add("PolygammaBackward1", "a.clone().polygamma_(2)", a=POSITIVE)
add("SpecialI1Backward0", "torch.special.i1(a)", a=M)
add("SpecialI1Backward0", "torch.special.i1(a)", a=ONE)
add("SpecialEntrBackward0", "torch.special.entr(a)", a=POSITIVE)
add("SpecialEntrBackward0", "torch.special.entr(a)", a=[0.0, 1.0, -1.0])
add("SpecialLogNdtrBackward0", "torch.special.log_ndtr(a)", a=M)
add("SpecialLogNdtrBackward0", "torch.special.log_ndtr(a)", a=[-8.0, 0.0, 5.0])
add("MvlgammaBackward0", "torch.mvlgamma(a, 2)", "torch.mvlgamma(a, 1)", "a.clone().mvlgamma_(3)", a=[[2.5, 4.0, 1.5], [3.0, 6.0, 2.0]])
add("FrexpBackward0", "torch.frexp(a)", a=[[1.0, -2.5], [0.0, 12.0]])
add("FrexpBackward0", "torch.frexp(a)[0]", a=ONE)
for _g, _a in ((N, M), (V, M[0]), (ONE, ONE)):
    add_second("TanhBackwardBackward0", "torch.tanh(a)", "a", a=_a, g=_g)
    add_second("SigmoidBackwardBackward0", "torch.sigmoid(a)", "a", a=_a, g=_g)
add("IgammaBackward0", "torch.igamma(A, b)", A=POSITIVE, b=[0.5, 1.0, 3.0])
add("IgammaBackward0", "torch.igamma(A, b)", A=ONE, b=POSITIVE)
add("IgammacBackward0", "torch.igammac(A, b)", A=POSITIVE, b=[0.5, 1.0, 3.0])
add("IgammacBackward0", "torch.special.gammaincc(A, b)", A=ONE, b=POSITIVE)

# -- activations --------------------------------------------------------------------------------------

EDGES = [[-4.0, -3.0, -1.0, -0.5], [0.0, 0.5, 1.0, 6.0]]
ACTIVATIONS = {
    "ReluBackward0": ["torch.relu(a)", "F.relu(a)", "a.clone().relu_()"],
    "ThresholdBackward0": ["F.threshold(a, 0.5, 2.0)", "torch.threshold(a, -1, -7)"],
    "ThresholdBackward1": ["torch.threshold_(a.clone(), 0.5, 2.0)"],
    "LeakyReluBackward0": ["F.leaky_relu(a)", "F.leaky_relu(a, 0.2)"],
    "LeakyReluBackward1": ["F.leaky_relu_(a.clone(), 0.2)"],
    "HardtanhBackward0": ["F.hardtanh(a)", "F.hardtanh(a, -0.5, 0.75)", "F.relu6(a)"],
    "HardsigmoidBackward0": ["F.hardsigmoid(a)"],
    "HardswishBackward0": ["F.hardswish(a)"],
    "HardshrinkBackward0": ["F.hardshrink(a)", "torch.hardshrink(a, 1.0)"],
    "SoftshrinkBackward0": ["F.softshrink(a)", "F.softshrink(a, 1.0)", "F.softshrink(a, 0.0)"],
    "RreluWithNoiseBackward0": ["F.rrelu(a, 0.2, 0.4, training=True)", "F.rrelu(a, 0.2, 0.4)"],
    "RreluWithNoiseBackward1": ["torch.rrelu_(a.clone(), 0.2, 0.4, training=True)", "torch.rrelu_(a.clone(), 0.2, 0.4)"],
    "EluBackward0": ["F.elu(a)", "F.elu(a, 1.5)", "F.selu(a)"],
    "EluBackward1": ["F.elu_(a.clone(), 1.5)", "torch.selu_(a.clone())"],
    "CeluBackward0": ["F.celu(a)", "F.celu(a, 2.0)"],
    "CeluBackward1": ["torch.celu_(a.clone(), 2.0)"],
    "GeluBackward0": ["F.gelu(a)", "F.gelu(a, approximate='tanh')"],
    "SiluBackward0": ["F.silu(a)", "F.silu(a.clone(), inplace=True)"],
    "MishBackward0": ["F.mish(a)"],
    "SoftplusBackward0": ["F.softplus(a)", "F.softplus(a, 2.0, 1.5)"],
    "LogSigmoidBackward0": ["F.logsigmoid(a)"],
}  # fmt: skip
for _rule, _texts in ACTIVATIONS.items():
    for _a in (EDGES, M, 0.5, NONE):
        add(_rule, *_texts, a=_a)
for _a in (M, ONE, 0.0, spread(2, 3, 2)):
    add("PreluKernelBackward0", "F.prelu(a, w)", a=_a, w=[0.25])
for _a in (M, spread(2, 3, 2)):
    add("PreluKernelBackward0", "F.prelu(a, w)", a=_a, w=[0.25, -0.5, 0.0])
add("GluBackward0", "F.glu(a)", "F.glu(a, 0)", "F.glu(a, dim=-2)", a=spread(2, 4))
add("GluBackward0", "F.glu(a, 1)", a=spread(2, 4, 3))
for _rule, _text in {
    "ThresholdBackwardBackward0": "torch.relu(a)", "LeakyReluBackwardBackward0": "F.leaky_relu(a, 0.2)",
    "HardtanhBackwardBackward0": "F.hardtanh(a, -0.5, 0.75)", "HardsigmoidBackwardBackward0": "F.hardsigmoid(a)",
    "HardswishBackwardBackward0": "F.hardswish(a)", "HardshrinkBackwardBackward0": "F.hardshrink(a, 0.5)",
    "SoftshrinkBackwardBackward0": "F.softshrink(a, 0.5)", "RreluWithNoiseBackwardBackward0": "F.rrelu(a, 0.2, 0.4)",
    "EluBackwardBackward0": "F.elu(a, 1.5)", "GeluBackwardBackward0": "F.gelu(a)", "SoftplusBackwardBackward0": "F.softplus(a, 2.0, 1.5)",
    "LogSigmoidBackwardBackward0": "F.logsigmoid(a)",
}.items():  # fmt: skip
    add_second(_rule, _text, "a", a=EDGES, g=spread(2, 4))
    add_second(_rule, _text, "a", a=0.5, g=-2.0)
add_second("ThresholdBackwardBackward0", "F.threshold(a, 0.5, 2.0)", "a", a=EDGES, g=spread(2, 4))
add_second("HardtanhBackwardBackward0", "F.relu6(a)", "a", a=EDGES, g=spread(2, 4))
add_second("RreluWithNoiseBackwardBackward0", "F.rrelu(a, 0.2, 0.4, training=True)", "a", a=EDGES, g=spread(2, 4))
add_second("EluBackwardBackward0", "F.selu(a)", "a", a=EDGES, g=spread(2, 4))
add_second("EluBackwardBackward0", "F.celu(a, 2.0)", "a", a=EDGES, g=spread(2, 4))
add_second("EluBackwardBackward0", "F.elu_(a.clone(), 1.5)", "a", a=EDGES, g=spread(2, 4))
add_second("GeluBackwardBackward0", "F.gelu(a, approximate='tanh')", "a", a=EDGES, g=spread(2, 4))
add_second("PreluKernelBackwardBackward0", "F.prelu(a, w)", "a, w", a=M, w=[0.25, -0.5, 0.0], g=N)
add_second("PreluKernelBackwardBackward0", "F.prelu(a, w)", "a, w", a=M, w=[0.25], g=N)
add_second("GluBackwardBackward0", "F.glu(a)", "a", a=spread(2, 4), g=[[1.0, -2.0], [0.5, 3.0]])
add_second("GluBackwardBackward0", "F.glu(a, 0)", "a", a=spread(2, 3), g=[[1.0, -2.0, 0.5]])

# -- functions of two tensors -------------------------------------------------------------------------

SIDES = [[0.0, 1.0, -2.0], [3.0, 3.0, -1.0]]
LEVEL = [0.0, 3.0, -2.0]
PAIRS = {
    "MaximumBackward0": ["torch.maximum(a, b)", "torch.max(a, b)"], "MinimumBackward0": ["torch.minimum(a, b)", "torch.min(a, b)"],
    "FmaxBackward0": ["torch.fmax(a, b)"], "FminBackward0": ["torch.fmin(a, b)"],
    "ClampMinBackward1": ["torch.clamp_min(a, b)", "a.clone().clamp_min_(b)"], "ClampMaxBackward1": ["torch.clamp_max(a, b)"],
    "Atan2Backward0": ["torch.atan2(a, b)", "a.clone().atan2_(b)"], "HypotBackward0": ["torch.hypot(a, b)", "a.clone().hypot_(b)"],
    "LogaddexpBackward0": ["torch.logaddexp(a, b)"], "Logaddexp2Backward0": ["torch.logaddexp2(a, b)"],
    "LdexpBackward0": ["torch.ldexp(a, b)"], "CopysignBackward0": ["torch.copysign(a, b)", "a.clone().copysign_(b)"],
    "NextafterBackward0": ["torch.nextafter(a, b)"], "LerpBackward0": ["torch.lerp(a, b, 0.3)", "torch.lerp(a, b, 2)", "a.clone().lerp_(b, 0.3)"],
}  # fmt: skip
for _rule, _texts in PAIRS.items():
    for _a, _b in ((SIDES, LEVEL), (SIDES, N), (COLUMN, [LEVEL]), (ONE, ONE), (NONE, LEVEL)):
        add(_rule, *[t for t in _texts if "_(" not in t or np.shape(_a) == (2, 3)], a=_a, b=_b)
    if _rule != "LdexpBackward0":
        add(_rule, _texts[0].replace("b", "B"), a=SIDES, B=LEVEL) if "lerp" not in _texts[0] else None
for _rule, _op in {"FmaxBackward0": "fmax", "FminBackward0": "fmin", "MaximumBackward0": "maximum", "MinimumBackward0": "minimum"}.items():
    add(_rule, f"torch.{_op}(a, b)", a=[1.0, NAN, NAN, 2.0], b=[NAN, 1.0, NAN, 2.0])
for _op in ("clamp", "clip"):
    add("ClampBackward1", f"torch.{_op}(a, -1.0, 1.0)", f"torch.{_op}(a, min=0.5)", f"torch.{_op}(a, max=0.5)", f"torch.{_op}(a, 2, 1)", a=SIDES)
add("ClampBackward1", "a.clone().clamp_(-1, 3)", "torch.clamp(a, 0, 3)", a=SIDES)
add("ClampBackward1", "torch.clamp(a, 0, 1)", a=ONE)
add("ClampMinBackward0", "torch.clamp_min(a, 0)", "torch.clamp_min(a, 3.0)", "a.clone().clamp_min_(-1)", a=SIDES)
add("ClampMaxBackward0", "torch.clamp_max(a, 0)", "torch.clamp_max(a, 3.0)", "a.clone().clamp_max_(-1)", a=SIDES)
for _low, _high in (([-1.0, 0.0, -2.0], COLUMN), ([0.0, 3.0, 0.0], [[3.0], [-1.0]]), (-1.0, 1.0)):
    add("ClampBackward0", "torch.clamp(a, low, high)", "a.clone().clamp_(low, high)", a=SIDES, low=_low, high=_high)
add("ClampBackward0", "torch.clamp(a, LOW, high)", a=SIDES, LOW=[-1.0, 0.0, -2.0], high=COLUMN)
add("WhereBackward0", "torch.where(C, a, b)", "a.where(C, b)", "torch.where(C, a, 2.0)", "torch.where(C, 0.5, b)", "torch.where(C, a, a * 2)",
    a=M, b=V, C=[[True, False, True], [False, False, True]])  # fmt: skip
add("WhereBackward0", "torch.where(C, a, b)", a=ONE, b=M, C=[True, False, True])
add("WhereBackward0", "torch.where(a > b, a, b)", a=SIDES, b=LEVEL)
for _rule, _op in {"Remainder": "remainder", "Fmod": "fmod"}.items():
    add(f"{_rule}Backward0", f"torch.{_op}(a, 0.7)", f"torch.{_op}(a, -2)", f"a.clone().{_op}_(1.5)", a=N)
    add(f"{_rule}Backward1", f"torch.{_op}(a, b)", f"a.clone().{_op}_(b)", a=N, b=[0.7, -1.5, 4.0])
    add(f"{_rule}Backward1", f"torch.{_op}(a, b)", a=ONE, b=NONZERO)
add("RemainderBackward0", "a % 0.7", a=N)
add("DivBackward2", "torch.div(a, b, rounding_mode='floor')", "torch.div(a, b, rounding_mode='trunc')", a=N, b=[0.7, -1.5, 4.0])
add("DivBackward2", "torch.div(a, 2.0, rounding_mode='floor')", "a.clone().div_(2.0, rounding_mode='trunc')", a=N)
for _name, _op in {"Xlogy": "xlogy", "SpecialXlog1Py": "special.xlog1py"}.items():
    add(f"{_name}Backward0", f"torch.{_op}(a, b)", a=M, b=[0.5, 2.0, 3.0])
    add(f"{_name}Backward0", f"torch.{_op}(a, b)", a=[0.0, 0.0, 2.0, -1.0], b=[0.0, -2.0, 0.5, 1.0])
    add(f"{_name}Backward0", f"torch.{_op}(a, b)", a=ONE, b=POSITIVE)
    add(f"{_name}Backward1", f"torch.{_op}(2.5, a)", f"torch.{_op}(0.0, a)", a=POSITIVE)
    add(f"{_name}Backward2", f"torch.{_op}(a, 2.5)", f"torch.{_op}(a, -3.0)", a=ZEROS)
add("LdexpBackward0", "torch.ldexp(a, K)", a=M, K=[1, 0, -2])
add("CopysignBackward1", "torch.copysign(a, -2.0)", "a.clone().copysign_(3)", a=M)
add("LerpBackward0", "a.lerp(a, 0.5)", a=M)
add("LerpBackward1", "torch.lerp(a, b, w)", "a.clone().lerp_(b, w)", a=M, b=V, w=[[0.25], [0.75]])
add("LerpBackward1", "torch.lerp(a, b, w)", a=ONE, b=V, w=0.0)
add("LerpBackward1", "torch.lerp(a, B, W)", a=M, B=V, W=[[0.25], [0.75]])
add("AddcmulBackward0", "torch.addcmul(a, b, c)", "torch.addcmul(a, b, c, value=2.5)", "a.clone().addcmul_(b, c, value=-1)", a=M, b=V, c=COLUMN)
add("AddcmulBackward0", "torch.addcmul(a, b, c, value=2.5)", a=ONE, b=V, c=N)
add("AddcdivBackward0", "torch.addcdiv(a, b, c)", "torch.addcdiv(a, b, c, value=2.5)", "a.clone().addcdiv_(b, c, value=-1)", a=M, b=V, c=COLUMN)
add("AddcdivBackward0", "torch.addcdiv(a, b, c, value=2.5)", a=ONE, b=V, c=NONZERO)

# -- comparisons, where they are written over an operand -----------------------------------------------

for _op in ("eq", "ne", "lt", "le", "gt", "ge"):
    _name = _op.capitalize()
    add(f"{_name}Backward0", f"a.clone().{_op}_(1)", f"a.clone().{_op}_(0.5)", a=M)
    add(f"{_name}Backward1", f"a.clone().{_op}_(b)", a=SIDES, b=LEVEL)
    add(f"{_name}Backward1", f"a.clone().{_op}_(b)", a=SIDES, b=ONE)
add("NotImplemented", "a // 2", "a // b", "torch.floor_divide(a, b)", "torch.heaviside(a, b)", "torch.remainder(3.5, b)", a=N, b=NONZERO)

# -- reductions ---------------------------------------------------------------------------------------

WHOLE = {
    "SumBackward0": "sum", "MeanBackward0": "mean", "ProdBackward0": "prod", "MaxBackward1": "max", "MinBackward1": "min",
    "MedianBackward0": "median", "NanmedianBackward0": "nanmedian",
}  # fmt: skip
for _rule, _op in WHOLE.items():
    for _a in (M, ONE, TIES, EQUAL, CUBE, [2.0, 2.0, -1.0]):
        add(_rule, f"torch.{_op}(a)", a=_a)
for _op in ("sum", "prod"):
    add(f"{_op.capitalize()}Backward0", f"a.{_op}()", a=NONE)
for _a in (ZEROS, [0.0, 2.0], [[1.0, 2.0], [0.0, 3.0]], [0.0, 0.0, 3.0]):
    add("ProdBackward0", "torch.prod(a)", a=_a)
add("NanmedianBackward0", "torch.nanmedian(a)", a=GAPS)
add("MedianBackward0", "torch.median(a)", a=GAPS)

ALONG = {
    "SumBackward1": "sum", "MeanBackward1": "mean", "NansumBackward0": "nansum", "ProdBackward1": "prod", "VarBackward0": "var",
    "StdBackward0": "std", "VarMeanBackward0": "var_mean", "StdMeanBackward0": "std_mean", "MaxBackward0": "max", "MinBackward0": "min",
    "AmaxBackward0": "amax", "AminBackward0": "amin", "LogsumexpBackward0": "logsumexp", "MedianBackward1": "median",
    "NanmedianBackward1": "nanmedian", "ModeBackward0": "mode",
}  # fmt: skip
for _rule, _op in ALONG.items():
    for _a in (M, TIES):
        for _dim in DIMS:
            add(_rule, f"torch.{_op}(a, dim={_dim})", f"torch.{_op}(a, dim={_dim}, keepdim=True)", a=_a)
    add(_rule, f"torch.{_op}(a, dim=1)", a=CUBE)
    if _op not in ("var", "std", "var_mean", "std_mean"):
        add(_rule, f"torch.{_op}(a, dim=0)", a=ONE)
for _rule in ("SumBackward1", "MeanBackward1", "NansumBackward0", "VarBackward0", "StdBackward0", "VarMeanBackward0", "StdMeanBackward0",
              "AmaxBackward0", "AminBackward0", "LogsumexpBackward0"):  # fmt: skip
    add(_rule, f"torch.{ALONG[_rule]}(a, dim=(0, -1))", f"torch.{ALONG[_rule]}(a, dim=(0, 2), keepdim=True)", a=CUBE)
for _op in ("var", "std", "var_mean", "std_mean"):
    _rule = "".join(part.capitalize() for part in _op.split("_")) + "Backward0"
    add(_rule, f"torch.{_op}(a)", f"torch.{_op}(a, unbiased=False)", f"torch.{_op}(a, dim=1, correction=0)", f"torch.{_op}(a, dim=0, correction=0, keepdim=True)", a=M)
    add(_rule, f"torch.{_op}(a)", f"torch.{_op}(a, dim=0)", a=EQUAL)
    if "mean" in _op:
        add(_rule, f"torch.{_op}(a, dim=1)[0]", f"torch.{_op}(a, dim=1)[1]", a=M)
add("SumBackward1", "a.sum(())", "a.sum_to_size(1, 3)", a=M)
add("NansumBackward0", "torch.nansum(a)", "torch.nansum(a, dim=1)", "torch.nansum(a, 0, True)", a=GAPS)
for _a in (ZEROS, [[0.0, 2.0], [3.0, 4.0]]):
    add("ProdBackward1", "torch.prod(a, 0)", "torch.prod(a, 1)", "torch.prod(a, -1, keepdim=True)", a=_a)
add("AmaxBackward0", "torch.amax(a)", "a.amax(dim=(0, 1))", a=TIES)
add("AminBackward0", "torch.amin(a)", "a.amin(dim=(0, 1))", a=TIES)
add("AmaxBackward0", "torch.amax(a, 1)", a=EQUAL)
for _a in (M, TIES, EQUAL):
    add("AminmaxBackward0", "torch.aminmax(a)", "torch.aminmax(a, dim=0)", "torch.aminmax(a, dim=-1, keepdim=True)", "torch.aminmax(a, dim=1)[1]", a=_a)
for _ord in ("2", "1", "3", "0.5", "0", "1.5", "float('inf')", "float('-inf')", "-1"):
    _norm = f"torch.linalg.vector_norm(a, {_ord}"
    for _a in (NONZERO, TIES):
        add("LinalgVectorNormBackward0", f"{_norm})", f"{_norm}, dim=1)", f"{_norm}, dim=0, keepdim=True)", a=_a)
add("LinalgVectorNormBackward0", "torch.linalg.vector_norm(a, 2, dim=1)", "torch.norm(a)", "a.norm(p=1)", "torch.norm(a, dim=0)", a=[[0.0, 0.0, 0.0], [3.0, 4.0, 0.0]])
add("LinalgVectorNormBackward0", "torch.linalg.vector_norm(a, dim=(0, 2))", "torch.linalg.norm(a)", a=CUBE)
for _p in ("2.0", "1.0", "3.0", "float('inf')"):
    add("NormBackward1", f"F.pairwise_distance(a, b, p={_p})", f"F.pairwise_distance(a, b, p={_p}, keepdim=True)", a=M, b=N)
add("NormBackward1", "F.pairwise_distance(a, b, eps=0.0)", a=M, b=M)
for _p in ("2", "1", "3", "0", "0.5", "float('inf')"):
    add("DistBackward0", f"torch.dist(a, b, {_p})", a=M, b=N)
    add("DistBackward0", f"torch.dist(a, b, {_p})", a=M, b=V)
add("DistBackward0", "torch.dist(a, b)", a=M, b=M)
add("LogsumexpBackward0", "torch.logsumexp(a, 0)", a=[-INF, -INF])
RUNNING = {
    "CumsumBackward0": "cumsum", "CumprodBackward0": "cumprod", "LogcumsumexpBackward0": "logcumsumexp", "CummaxBackward0": "cummax",
    "CumminBackward0": "cummin", "SoftmaxBackward0": "softmax", "LogSoftmaxBackward0": "log_softmax",
}  # fmt: skip
for _rule, _op in RUNNING.items():
    for _a in (M, TIES, SCORES):
        add(_rule, *[f"torch.{_op}(a, dim={_dim})" for _dim in DIMS], a=_a)
    add(_rule, f"torch.{_op}(a, dim=1)", a=CUBE)
    add(_rule, f"torch.{_op}(a, dim=0)", a=ONE)
for _a in (ZEROS, [[0.0, 2.0], [3.0, 4.0]], [2.0, 0.0, 3.0, 0.0, 4.0]):
    add("CumprodBackward0", "torch.cumprod(a, 0)", "torch.cumprod(a, -1)", "a.clone().cumprod_(0)", a=_a)
add("CumsumBackward0", "a.clone().cumsum_(1)", a=M)
add("SoftmaxBackward0", "torch.softmax(a, 1)", a=[[-INF, 0.0, 1.0], [-INF, -INF, 2.0]])
for _op, _rule in {"softmax": "SoftmaxBackwardDataBackward0", "log_softmax": "LogSoftmaxBackwardDataBackward0"}.items():
    for _dim in DIMS:
        add_second(_rule, f"torch.{_op}(a, {_dim})", "a", a=SCORES, g=N)

# -- order --------------------------------------------------------------------------------------------

for _a in (M, TIES, CUBE):
    for _dim in DIMS:
        add("SortBackward0", f"torch.sort(a, dim={_dim})", f"torch.sort(a, dim={_dim}, descending=True)", a=_a)
        add("SortBackward1", f"torch.sort(a, dim={_dim}, stable=True)", a=_a)
        add("TopkBackward0", f"torch.topk(a, 2, dim={_dim})", f"torch.topk(a, 1, dim={_dim}, largest=False)", a=_a)
        add("KthvalueBackward0", f"torch.kthvalue(a, 2, dim={_dim})", f"torch.kthvalue(a, 1, dim={_dim}, keepdim=True)", a=_a)
add("SortBackward0", "torch.sort(a)[0]", "torch.msort(a)", a=[3.0, -1.0, 2.0])
add("SortBackward0", "torch.sort(a)", a=ONE)
add("NanmedianBackward1", "torch.nanmedian(a, 1)", "torch.nanmedian(a, 0, keepdim=True)", a=GAPS)
add("ModeBackward0", "torch.mode(a, 1)", a=EQUAL)
add("Unique2Backward0", "torch.unique(a)", "torch.unique(a, return_counts=True)", a=TIES)
add("UniqueDimBackward0", "torch.unique(a, dim=0)", "torch.unique(a, dim=1)", a=TIES)
add("UniqueConsecutiveBackward0", "torch.unique_consecutive(a)", a=[1.0, 1.0, 2.0, 2.0, 1.0])
add("UniqueConsecutiveBackward0", "torch.unique_consecutive(a, dim=0)", "torch.unique_consecutive(a, dim=1)", a=EQUAL)
add("UniqueDimBackward0", "torch.unique(a, dim=0)", "torch.unique(a, dim=-1)", a=EQUAL)

# -- products -----------------------------------------------------------------------------------------

A34, A43 = spread(3, 4), spread(4, 3, seed=5)
B234, B245 = spread(2, 3, 4), spread(2, 4, 5, seed=4)
add("MmBackward0", "a @ b", "torch.mm(a, b)", "torch.matmul(a, b)", "b.T.mm(a.T)", a=spread(2, 3), b=A34)
add("MmBackward0", "a @ B", "B.T @ a.T", a=spread(2, 3), B=A34)
add("MmBackward0", "a @ a", "a @ a.T", a=[[1.0, 2.0], [0.0, -3.0]])
add("MmBackward0", "a @ b", a=np.zeros((2, 0)), b=np.zeros((0, 3)))
add("MmBackward0", "F.linear(a, w)", a=spread(2, 3), w=A43)
add("AddmmBackward0", "F.linear(a, w, b)", a=spread(2, 3), w=A43, b=[1.0, -1.0, 0.5, 0.0])
for _c in ([1.0, -1.0, 0.5, 0.0], spread(2, 4), [[1.0], [2.0]], ONE):
    add("AddmmBackward0", "torch.addmm(c, a, b)", "torch.addmm(c, a, b, beta=2.0, alpha=0.5)", "torch.addmm(c, a, b, beta=0)", a=spread(2, 3), b=A34, c=_c)
add("AddmmBackward0", "c.clone().addmm_(a, b, alpha=2)", a=spread(2, 3), b=A34, c=spread(2, 4))
add("MvBackward0", "a @ v", "torch.mv(a, v)", "a.matmul(v)", a=M, v=V)
add("MvBackward0", "a.T @ u", "A @ v", "a @ V", a=M, u=[1.0, -2.0], v=V, A=M, V=V)
add("DotBackward0", "a @ b", "torch.dot(a, b)", "torch.inner(a, b)", a=ROW, b=V)
add("DotBackward0", "torch.dot(a, a)", "torch.dot(a, B)", a=ROW, B=V)
add("DotBackward0", "torch.dot(a, b)", a=np.zeros(0), b=np.zeros(0))
add("VdotBackward0", "torch.vdot(a, b)", a=ROW, b=V)
for _c in ([1.0, -1.0], ONE):
    add("AddmvBackward0", "torch.addmv(c, a, v)", "torch.addmv(c, a, v, beta=2.0, alpha=3.0)", a=M, v=V, c=_c)
add("AddmvBackward0", "c.clone().addmv_(a, v)", a=M, v=V, c=[1.0, -1.0])
for _c in (N, V, COLUMN, ONE):
    add("AddrBackward0", "torch.addr(c, u, v)", "torch.addr(c, u, v, beta=2.0, alpha=3.0)", u=[2.0, -1.0], v=V, c=_c)
add("BmmBackward0", "torch.bmm(a, b)", "a @ b", a=B234, b=B245)
add("BmmBackward0", "a @ b", a=spread(2, 1, 3, 2), b=spread(3, 2, 4))
add("BmmBackward0", "a @ B", a=B234, B=B245)
for _c in (spread(2, 3, 5), spread(5), spread(3, 1)):
    add("BaddbmmBackward0", "torch.baddbmm(c, a, b)", "torch.baddbmm(c, a, b, beta=2.0, alpha=0.5)", a=B234, b=B245, c=_c)
for _c in (spread(3, 5), spread(5)):
    add("AddbmmBackward0", "torch.addbmm(c, a, b)", "torch.addbmm(c, a, b, beta=2.0, alpha=0.5)", a=B234, b=B245, c=_c)
add("TrilinearBackward0", "F.bilinear(a, b, w)", a=spread(2, 3), b=spread(2, 4, seed=3), w=spread(5, 3, 4))
add("TrilinearBackward0", "F.bilinear(a, b, w, c)", a=spread(3), b=spread(4, seed=3), w=spread(5, 3, 4), c=spread(5))

# -- shapes -------------------------------------------------------------------------------------------

add("ViewBackward0", "a.view(3, 2)", "a.view(-1)", "a.reshape(6)", "torch.flatten(a)", "a.view(1, 2, 3)", a=M)
add("ViewBackward0", "a.view(1)", a=ONE)
add("ViewBackward0", "a.unflatten(1, (2, 2))", a=spread(3, 4))
add("ReshapeAliasBackward0", "a[:, ::2].reshape(2, 1, 2)", "a.t()[:, None].reshape(3, 2)", a=M)
add("ReshapeAliasBackward0", "a[:, :, ::2].reshape(6, 2)", "a[:, ::2].transpose(1, 2).reshape(2, 4, 2, 1)", a=CUBE)
add("UnsafeViewBackward0", "a.t().reshape(-1)", "a.T.reshape(2, 3)", a=M)
for _shape, _texts in {(2, 1, 3): ["a.squeeze()"], (1, 2, 1): ["torch.squeeze(a)"], (): ["a.squeeze()"]}.items():
    add("SqueezeBackward0", *_texts, a=spread(*_shape))
add("SqueezeBackward1", "a.squeeze(1)", "a.squeeze(-2)", "a.squeeze(0)", a=spread(2, 1, 3))
add("SqueezeBackward2", "a.squeeze((0, 2))", "torch.squeeze(a, (0, 1))", a=spread(1, 2, 1))
add("SqueezeBackward3", "a.clone().squeeze_()", a=spread(1, 2, 1))
add("SqueezeBackward4", "a.clone().squeeze_(1)", a=spread(2, 1, 3))
add("SqueezeBackward5", "a.clone().squeeze_((0, 2))", a=spread(1, 2, 1))
add("UnsqueezeBackward0", "a.unsqueeze(0)", "a.unsqueeze(-1)", "a[:, None]", a=M)
add("UnsqueezeBackward0", "a.unsqueeze(0)", a=ONE)
add("UnsqueezeBackward1", "a.clone().unsqueeze_(1)", a=M)
add("TransposeBackward0", "a.transpose(0, 2)", "a.transpose(-1, -2)", "a.mT", "a.swapaxes(0, 1)", a=CUBE)
add("TransposeBackward1", "a.clone().transpose_(0, 2)", a=CUBE)
add("TBackward0", "a.t()", "torch.t(a)", a=M)
add("TBackward0", "a.t()", a=ROW)
add("TBackward1", "a.clone().t_()", a=M)
add("PermuteBackward0", "a.permute(2, 0, 1)", "torch.permute(a, (-1, 0, 1))", "a.movedim(0, 2)", a=CUBE)
add("PermuteBackward0", "a.T", a=M)
add("ExpandBackward0", "a.expand(2, 3)", "a.expand(4, 2, 3)", "a.expand(-1, 3)", "torch.broadcast_to(a, (2, 3))", a=COLUMN)
add("ExpandBackward0", "a.expand(2, 3)", "a.expand(3)", a=ONE)
add("ExpandBackward0", "a.expand(2, 3)", "a.expand(0, 3)", a=V)

# -- parts --------------------------------------------------------------------------------------------

add("SelectBackward0", "a[0]", "a[-1]", "a.select(1, 2)", "a[:, 1]", a=M)
add("SelectBackward0", "a.select(-1, 0)", "a[..., -2]", a=CUBE)
add("SliceBackward0", "a[1:]", "a[:, 1:3]", "a[:, ::2]", "a[:, -2:]", "a.narrow(1, 0, 2)", "a[:0]", a=M)
add("SliceBackward0", "a[:, 1:3, ::3]", a=CUBE)
add("AliasBackward0", "a[...]", "a[...] * 1", a=M)
add("UnbindBackward0", "torch.unbind(a)", "a.unbind(1)", "a.unbind(-1)[1]", "list(a)[0]", a=M)
add("SplitBackward0", "a.split(2, 1)", "torch.split(a, 1)", "a.split(2, -1)[1]", "a.chunk(3, 1)[2]", a=M)
add("UnsafeSplitBackward0", "torch.unsafe_split(a, 2, 1)", "a.unsafe_chunk(2)[0]", a=M)
add("SplitWithSizesBackward0", "torch.split(a, [1, 2], 1)", "a.split([1, 2], -1)[1]", "a.split_with_sizes([2, 0])", a=M)
add("UnsafeSplitWithSizesBackward0", "torch.unsafe_split_with_sizes(a, [1, 2], 1)", "a.unsafe_split_with_sizes([1, 2], -1)[1]", a=M)
add("DiagonalBackward0", "a.diagonal()", "torch.diagonal(a, 1)", "a.diagonal(-1)", "a.diagonal(7)", a=A34)
add("DiagonalBackward0", "a.diagonal(0, 2, 0)", "a.diagonal(1, -2, -1)", "torch.linalg.diagonal(a)", a=CUBE)
add("DiagonalBackward0_copy", "torch.diag(a)", "torch.diag(a, 1)", "a.diag(-1)", a=A34)
add("DiagEmbedBackward0", "torch.diag_embed(a)", "torch.diag_embed(a, 1)", "torch.diag_embed(a, -1, 0, 2)", a=M)
add("DiagEmbedBackward0", "torch.diag(a)", "a.diag(1)", a=V)
add("UnfoldBackward0", "a.unfold(0, 2, 1)", "a.unfold(0, 3, 2)", "a.unfold(-1, 2, 2)", a=[1.0, -2.0, 0.5, 3.0, 4.0])
add("UnfoldBackward0", "a.unfold(1, 2, 1)", a=M)
add("AsStridedBackward0", "a.as_strided((2, 2), (1, 2), 1)", "torch.as_strided(a, (3, 2), (1, 1))", "a.as_strided((2,), (0,))", a=M)
add("AsStridedBackward1", "a.clone().as_strided_((2, 2), (1, 2), 1)", a=M)
add("AsStridedScatterBackward0", "torch.as_strided_scatter(a, b, (2, 2), (1, 2))", "torch.as_strided_scatter(a, b, (2, 2), (2, 1), 1)", a=M, b=[[5.0, 6.0], [-7.0, 8.0]])
add_second("SelectBackwardBackward0", "a[0]", "a", a=M, g=V)
add_second("SelectBackwardBackward0", "a.select(-1, 1)", "a", a=M, g=[1.0, -2.0])
add_second("SliceBackwardBackward0", "a[:, 1:]", "a", a=M, g=[[1.0, 2.0], [3.0, -4.0]])
add_second("SliceBackwardBackward0", "a[:, ::2]", "a", a=M, g=[[1.0, 2.0], [3.0, -4.0]])
add_second("DiagonalBackwardBackward0", "a.diagonal(1)", "a", a=M, g=[1.0, -2.0])
add_second("DiagonalBackwardBackward0", "a.diagonal(0, 0, 2)", "a", a=CUBE, g=spread(3, 2))
add_second("UnfoldBackwardBackward0", "a.unfold(0, 2, 1)", "a", a=V, g=[[1.0, 2.0], [3.0, -4.0]])
add_second("UnfoldBackwardBackward0", "a.unfold(1, 2, 1)", "a", a=M, g=spread(2, 2, 2))

# -- indexing and places ------------------------------------------------------------------------------

TWO = [2, 0]
MASK = [[True, False, True], [False, False, True]]
PLACES = [[0, 2, 0], [1, 1, 2]]
add("IndexBackward0", "a[I]", "a[:, I]", "a[[0, 0, 1]]", "a[MASK]", "a[I[:1] - 1, [1, 2]]", "a[:, [True, False, True]]", "a[[-1]]",
    a=[[1.0, -2.0, 0.5], [3.0, 0.0, -1.0], [2.0, 4.0, 6.0]], I=TWO, MASK=[[True, False, True], [False, False, True], [False] * 3])  # fmt: skip
add("IndexBackward0", "a[:, [2, 0, 2]]", "a[[0, 1], :, [3, 0]]", "a[[[0], [1]], [2, 0]]", "a[None, [1, 0], ..., [0, 2]]", a=CUBE)
for _acc in ("False", "True"):
    add("IndexPutBackward0", f"a.index_put((I,), b, accumulate={_acc})", f"a.clone().index_put_((I, J), c, accumulate={_acc})", a=spread(3, 2), b=[[5.0, 6.0], [-7.0, 8.0]], c=2.5, I=TWO, J=[0, 1])
add("IndexPutBackward0", "a.index_put((I,), b, accumulate=True)", a=spread(3, 2), b=[5.0, 6.0], I=[2, 2])
add("IndexPutBackward0", "x = a.clone(); x[I] = b; x", "x = a.clone(); x[a > 0] = 2.0; x", a=spread(3, 2), b=[5.0, 6.0], I=TWO)
add("IndexPutBackward0", "a.index_put((MASK,), b)", a=M, b=[7.0, 8.0, 9.0], MASK=MASK)
add_second("IndexPutImplBackward0", "a[I]", "a", a=spread(3, 2), g=[[1.0, 2.0], [3.0, -4.0]], I=TWO)
add_second("IndexPutImplBackward0", "a[I]", "a", a=spread(3, 2), g=[[1.0, 2.0], [3.0, -4.0]], I=[1, 1])
add("IndexSelectBackward0", "torch.index_select(a, 1, I)", "a.index_select(-1, I)", a=M, I=[2, 0, 2])
add("IndexSelectBackward0", "a.index_select(0, I)", a=ONE, I=0)
add("IndexAddBackward0", "a.index_add(0, I, b)", "a.index_add(0, I, b, alpha=2)", "a.clone().index_add_(0, I, b)", a=spread(3, 2), b=[[5.0, 6.0], [-7.0, 8.0]], I=[1, 1])
add("IndexAddBackward0", "a.index_add(1, I, b, alpha=-1)", a=M, b=[[5.0, 6.0], [-7.0, 8.0]], I=[2, 0])
add("IndexFillBackward0", "a.index_fill(1, I, 3.0)", "a.clone().index_fill_(-1, I, 3)", a=M, I=[0, 2])
add("IndexFillBackward1", "a.index_fill(1, I, c)", "a.clone().index_fill_(0, J, c)", a=M, I=[0, 2], J=[1], c=5.0)
add("IndexFillBackward1", "a.index_fill(1, I, c)", a=M, I=[2, 2], c=5.0)
add("IndexCopyBackward0", "a.index_copy(1, I, b)", "a.clone().index_copy_(-1, I, b)", a=M, b=[[5.0, 6.0], [-7.0, 8.0]], I=[2, 0])
add("GatherBackward0", "a.gather(1, I)", "torch.gather(a, -1, I)", "a.gather(1, I[:1])", "torch.take_along_dim(a, I, 1)", a=M, I=[[0, 2, 0], [1, 1, 1]])
add("GatherBackward0", "a.gather(0, I)", a=M, I=[[1, 0, 1]])
add("GatherBackward0", "a.gather(0, I)", a=ONE, I=0)
add("ScatterBackward0", "a.scatter(1, I, b)", "a.clone().scatter_(-1, I, b)", a=M, b=[[5.0, 6.0], [-7.0, 8.0]], I=[[0, 2], [1, 0]])
add("ScatterBackward0", "a.scatter(0, I, b)", a=M, b=N, I=[[1, 0, 1]])
add("ScatterBackward1", "a.scatter(1, I, 2.0)", "a.clone().scatter_(0, I.T[:1], 2)", a=M, I=[[0, 1], [1, 0]])
add("ScatterAddBackward0", "a.scatter_add(1, I, b)", "a.clone().scatter_add_(1, I, b)", a=M, b=N, I=PLACES)
add("ScatterAddBackward0", "a.scatter_add(0, I, b)", a=M, b=N, I=[[1, 0, 1], [1, 1, 1]])
for _how in ("sum", "prod", "mean", "amax", "amin"):
    for _keep in ("True", "False"):
        add("ScatterReduceBackward0", f"a.scatter_reduce(1, I, b, '{_how}', include_self={_keep})", a=M, b=N, I=PLACES)
        add("ScatterReduceBackward0", f"a.scatter_reduce(0, I, b, '{_how}', include_self={_keep})", a=TIES, b=[[3.0, 3.0, 3.0], [2.0, 0.0, 3.0]], I=[[0, 0, 0], [1, 0, 1]])
        if _how != "sum":
            add("IndexReduceBackward0", f"a.index_reduce(0, I, b, '{_how}', include_self={_keep})", a=M, b=[[5.0, 6.0, 3.0], [-7.0, 8.0, -1.0], [2.0, 0.0, 0.5]], I=[1, 1, 0])
            add("IndexReduceBackward0", f"a.index_reduce(1, I, b, '{_how}', include_self={_keep})", a=TIES, b=[[3.0, 3.0], [2.0, 0.0]], I=[2, 2])
add("TakeBackward0", "torch.take(a, I)", "a.take(I.T)", a=M, I=[[0, 5], [5, -1]])
for _acc in ("False", "True"):
    add("PutBackward0", f"a.put(I, b, accumulate={_acc})", f"a.clone().put_(I, b, {_acc})", a=M, b=[7.0, 8.0], I=[0, -1])
add("PutBackward0", "a.put(I, b, accumulate=True)", a=M, b=[7.0, 8.0], I=[4, 4])
add("MaskedFillBackward0", "a.masked_fill(C, 2.0)", "a.clone().masked_fill_(C, -1)", "a.masked_fill(C, float('-inf'))", a=M, C=MASK)
add("MaskedFillBackward0", "a.masked_fill(C, 2.0)", a=V, C=MASK)
add("MaskedFillBackward0", "a.masked_fill(C, 2.0)", a=M, C=[True, False, False])
add("MaskedFillBackward1", "a.masked_fill(C, c)", "a.clone().masked_fill_(C, c)", a=M, C=MASK, c=5.0)
add("MaskedFillBackward1", "a.masked_fill(C, c)", a=V, C=MASK, c=5.0)
add("MaskedSelectBackward0", "a.masked_select(C)", "torch.masked_select(a, ~C)", a=M, C=MASK)
add("MaskedSelectBackward0", "a.masked_select(C)", a=V, C=MASK)
add("MaskedScatterBackward0", "a.masked_scatter(C, b)", "a.clone().masked_scatter_(C, b)", a=M, b=spread(6), C=MASK)
add("MaskedScatterBackward0", "a.masked_scatter(C, b)", a=M, b=spread(5), C=[True, False, True])
add_second("MaskedScatterBackwardBackward0", "a.masked_scatter(C, b)", "a, b", a=M, b=spread(6), C=MASK, g=N)
add_second("MaskedScatterBackwardBackward0", "a.masked_scatter(C, b)", "b", a=M, b=spread(3), C=MASK, g=N)
add("SelectScatterBackward0", "torch.select_scatter(a, b, 1, -1)", "a.select_scatter(b, -1, 0)", a=M, b=[7.0, 8.0])
add("SliceScatterBackward0", "torch.slice_scatter(a, b, 1, 0, 3, 2)", "a.slice_scatter(b, 1, start=1)", a=M, b=[[5.0, 6.0], [-7.0, 8.0]])
add("DiagonalScatterBackward0", "a.diagonal_scatter(b, 1)", "torch.diagonal_scatter(a, b)", a=M, b=[7.0, 8.0])

# -- joins --------------------------------------------------------------------------------------------

add("CatBackward0", "torch.cat([a, b])", "torch.cat([a, b], 0)", "torch.cat([a, b, a * 2])", "torch.vstack([a, b])", a=M, b=[V])
add("CatBackward0", "torch.cat([a, b], 1)", "torch.cat([a, b], dim=-1)", "torch.hstack([a, b])", "torch.cat([a, C, b], 1)", a=M, b=COLUMN, C=N)
add("StackBackward0", "torch.stack([a, b])", "torch.stack([a, b], 1)", "torch.stack([a, b, a], -1)", a=M, b=N)
add("StackBackward0", "torch.stack([a, b])", a=ONE, b=-2.0)
add("BlockDiagBackward0", "torch.block_diag(a, b, c)", "torch.block_diag(a, a)", a=M, b=V, c=ONE)
add("RepeatBackward0", "a.repeat(2, 1)", "a.repeat(2, 1, 3)", "torch.tile(a, (2,))", "a.repeat(1, 1)", "a.repeat(0, 2)", a=M)
add("RepeatBackward0", "a.repeat(3)", a=ONE)
add("FlipBackward0", "a.flip(0)", "a.flip(0, -1)", "torch.fliplr(a)", a=M)
add("FlipBackward0", "torch.flip(a, (1, 2))", a=CUBE)
add("RollBackward0", "a.roll(1)", "a.roll(1, 0)", "torch.roll(a, (1, -2), (0, 1))", "a.roll(-4, 1)", a=M)
add("Rot90Backward0", "torch.rot90(a)", "a.rot90(2)", "a.rot90(-1)", "a.rot90(4)", "a.rot90(1, (1, 0))", a=M)
add("TrilBackward0", "torch.tril(a)", "torch.tril(a, 1)", "a.tril(-1)", "a.clone().tril_()", a=A34)
add("TriuBackward0", "torch.triu(a)", "torch.triu(a, 1)", "a.triu(-1)", "a.clone().triu_()", a=A34)
add("TrilBackward0", "torch.tril(a)", a=CUBE)
add("TriuBackward0", "torch.triu(a)", a=CUBE)

# -- copies -------------------------------------------------------------------------------------------

for _a in (M, ONE, NONE):
    add("CloneBackward0", "a.clone()", "torch.clone(a)", a=_a)
add("CloneBackward0", "a.t().contiguous()", a=M)
add("ToCopyBackward0", "a.float()", "a.to(torch.float32)", "a.half()", "a.to(torch.float64, copy=True)", a=M)
add("CopyBackwards", "a.clone().copy_(b)", "a.clone().copy_(B)", a=M, b=V, B=N)
add("CopyBackwards", "a.clone().copy_(b)", a=M, b=ONE)
add("CopyBackwards", "a.clone().copy_(b.float())", a=M, b=N)
add("FillBackward0", "torch.fill(a, 2.0)", a=M)
add("FillBackward1", "torch.fill(a, c)", a=M, c=3.0)
add("FillBackward2", "a.clone().fill_(2.0)", a=M)
add("FillBackward3", "a.clone().fill_(c)", a=M, c=3.0)
add("ZeroBackward0", "a.clone().zero_()", a=M)
add("ZeroBackward0", "a.clone().zero_()", a=ONE)
add("CopySlices", "x = a.clone(); x[0] = b; x", "x = a.clone(); x[0].mul_(b); x", "x = a.clone(); x.t()[0].add_(c); x", "x = a.clone(); x[:, 1:].zero_(); x",
    "x = a.clone(); x[1].exp_(); x", "x = a.clone(); x[0, 1] = 7.0; x", "x = a.clone(); x.view(-1)[2:4].mul_(c); x",
    "x = a.clone(); x[:, [0, 2]] = 1.0; y = x[0]; y.mul_(2); x", a=M, b=V, c=ONE)  # fmt: skip
add("AccumulateGrad", "a * b", "a + a", a=M, b=V)

# -- draws --------------------------------------------------------------------------------------------

add("NormalBackward1", "torch.normal(a, 0.5)", a=M)
add("NormalBackward2", "torch.normal(1.0, a)", a=POSITIVE)
add("NormalBackward3", "torch.normal(a, b)", a=M, b=[0.5, 1.0, 2.0])
for _name, _text in {
    "Uniform": "uniform_(-1, 2)", "Normal": "normal_(1, 2)", "Exponential": "exponential_(0.5)", "LogNormal": "log_normal_(1, 0.5)",
    "Cauchy": "cauchy_(0.5, 2)", "Geometric": "geometric_(0.25)",
}.items():  # fmt: skip
    add(f"{_name}Backward0", f"a.clone().{_text}", a=M)
add("RandomBackward0", "a.clone().random_(2, 9)", a=M)
add("RandomBackward1", "a.clone().random_(9)", a=M)
add("RandomBackward2", "a.clone().random_()", a=M)
add("BernoulliBackward0", "torch.bernoulli(a)", a=UNIT)
add("NotImplemented", "torch.bernoulli(a, 0.25)", a=M)
add("BernoulliBackward1", "a.clone().bernoulli_(b)", "a.clone().bernoulli_(B)", a=M, b=UNIT, B=UNIT)
add("BernoulliBackward2", "a.clone().bernoulli_(0.25)", a=M)
add("PoissonBackward0", "torch.poisson(a)", a=POSITIVE)
add("StandardGammaBackward0", "torch._standard_gamma(a)", a=POSITIVE)
add("StandardGammaBackward0", "torch._standard_gamma(a)", a=[0.25, 8.0])
add("StandardGammaGradBackward0", "torch._standard_gamma_grad(a, b)", a=POSITIVE, b=POSITIVE)
add_second("StandardGammaGradBackward0", "torch._standard_gamma(a)", "a", a=[0.5, 2.0], g=[1.0, -1.0])
add("MulBackward0", "F.dropout(a, 0.5, training=True)", "F.dropout(a, 0.5, training=True, inplace=False) * a", a=M)

# -- losses -------------------------------------------------------------------------------------------

REDUCTIONS = ("mean", "sum", "none")
SIGNS = [[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]]
for _how in REDUCTIONS:
    _r = f"reduction='{_how}'"
    for _a, _b in ((M, N), (M, M), (ONE, 0.5), (M, [[1.25, -2.0, 2.0], [0.0, 0.5, -1.25]])):
        add("MseLossBackward0", f"F.mse_loss(a, b, {_r})", a=_a, b=_b)
        add("SmoothL1LossBackward0", f"F.smooth_l1_loss(a, b, {_r})", f"F.smooth_l1_loss(a, b, {_r}, beta=0.5)", a=_a, b=_b)
        add("HuberLossBackward0", f"F.huber_loss(a, b, {_r})", f"F.huber_loss(a, b, {_r}, delta=0.5)", a=_a, b=_b)
    add("MseLossBackward0", f"F.mse_loss(a, B, {_r})", a=M, B=N)
    add("SmoothL1LossBackward0", f"F.smooth_l1_loss(a, b, {_r}, beta=0.25)", a=M, b=N)
    for _t in (UNIT, [[1.0, 0.0, 1.0], [0.0, 0.5, 1.0]]):
        add("BinaryCrossEntropyBackward0", f"F.binary_cross_entropy(p, t, {_r})", f"F.binary_cross_entropy(p, t, W, {_r})", f"F.binary_cross_entropy(p, T, {_r})",
            p=UNIT, t=_t, T=_t, W=[0.5, 1.0, 2.0])  # fmt: skip
        add("BinaryCrossEntropyWithLogitsBackward0", f"F.binary_cross_entropy_with_logits(x, t, {_r})", f"F.binary_cross_entropy_with_logits(x, T, W, {_r})",
            f"F.binary_cross_entropy_with_logits(x, t, {_r}, pos_weight=Q)", x=M, t=_t, T=_t, W=[0.5, 1.0, 2.0], Q=[2.0, 0.5, 1.0])  # fmt: skip
    add("BinaryCrossEntropyBackward0", f"F.binary_cross_entropy(p, T, {_r})", p=[0.0, 1.0, 0.5], T=[0.0, 0.0, 1.0])
    for _t in ([2, 0, 2, 1], [0, 0, 0, 0]):
        _x = spread(4, 3)
        add("NllLossBackward0", f"F.nll_loss(x, T, {_r})", f"F.nll_loss(x, T, W, {_r})", f"F.nll_loss(x, T, {_r}, ignore_index=0)", f"F.nll_loss(x, T, W, {_r}, ignore_index=2)",
            f"F.cross_entropy(x, T, {_r})", x=_x, T=_t, W=[0.5, 1.0, 2.0])  # fmt: skip
        add("MultiMarginLossBackward0", f"F.multi_margin_loss(x, T, {_r})", f"F.multi_margin_loss(x, T, p=2, margin=0.5, weight=W, {_r})", x=_x, T=_t, W=[0.5, 1.0, 2.0])
    add("NllLossBackward0", f"F.nll_loss(x, T, {_r})", x=V, T=2)
    add("MultiMarginLossBackward0", f"F.multi_margin_loss(x, T, {_r})", x=V, T=[1])
    add("NllLoss2DBackward0", f"F.nll_loss(x, T, {_r})", f"F.nll_loss(x, T, W, {_r})", f"F.nll_loss(x, T, {_r}, ignore_index=1)", x=spread(2, 3, 2, 1), T=[[[0], [1]], [[2], [1]]], W=[0.5, 1.0, 2.0])
    add("SoftMarginLossBackward0", f"F.soft_margin_loss(x, T, {_r})", x=M, T=SIGNS)
    add("MultilabelMarginLossBackward0", f"F.multilabel_margin_loss(x, T, {_r})", x=spread(3, 4), T=[[0, 2, -1, 1], [3, -1, 0, 0], [1, 1, 2, -1]])
    add("MultilabelMarginLossBackward0", f"F.multilabel_margin_loss(x, T, {_r})", x=[1.0, -0.5, 2.0], T=[2, -1, 0])
    add("CtcLossBackward0", f"F.ctc_loss(x.log_softmax(-1), T, (5, 4), (2, 1), {_r})", f"F.ctc_loss(x.log_softmax(-1), T, (5, 5), (2, 2), blank=2, {_r})", x=spread(5, 2, 3), T=[[1, 1], [1, 0]])
    add("CtcLossBackward0", f"F.ctc_loss(x, T, (4,), (2,), {_r})", x=spread(4, 1, 3), T=[[1, 2]])
    add("CtcLossBackward0", f"F.ctc_loss(x.log_softmax(-1), T, (2,), (2,), {_r}, zero_infinity=True)", x=spread(4, 1, 3), T=[[1, 1]])
    _g = N if _how == "none" else 1.5
    for _t in (N, M):
        add_second("MseLossBackwardBackward0", f"F.mse_loss(a, b, {_r})", "a", a=M, b=_t, g=_g)
        add_second("SmoothL1LossBackwardBackward0", f"F.smooth_l1_loss(a, b, {_r}, beta=2.0)", "a", a=M, b=_t, g=_g)
        add_second("HuberLossBackwardBackward0", f"F.huber_loss(a, b, {_r}, delta=2.0)", "a", a=M, b=_t, g=_g)
    add_second("MseLossBackwardBackward0", f"F.mse_loss(a, b, {_r})", "a, b", a=M, b=N, g=_g)
    add_second("BinaryCrossEntropyBackwardBackward0", f"F.binary_cross_entropy(p, t, {_r})", "p", p=UNIT, t=[[1.0, 0.0, 1.0], [0.0, 0.5, 1.0]], g=_g)
    add_second("BinaryCrossEntropyBackwardBackward0", f"F.binary_cross_entropy(p, T, W, {_r})", "p", p=UNIT, T=UNIT, W=[0.5, 1.0, 2.0], g=_g)
    add_second("SoftMarginLossBackwardBackward0", f"F.soft_margin_loss(x, T, {_r})", "x", x=M, T=SIGNS, g=_g)
    _g = [1.0, -2.0, 0.5, 3.0] if _how == "none" else 1.5
    add_second("NllLossBackwardBackward0", f"F.nll_loss(x, T, {_r})", "x", x=spread(4, 3), T=[2, 0, 2, 1], g=_g)
    add_second("NllLossBackwardBackward0", f"F.nll_loss(x, T, W, {_r}, ignore_index=1)", "x", x=spread(4, 3), T=[2, 0, 2, 1], W=[0.5, 1.0, 2.0], g=_g)
    _g = [[[1.0], [-2.0]], [[0.5], [3.0]]] if _how == "none" else 1.5
    add_second("NllLoss2DBackwardBackward0", f"F.nll_loss(x, T, W, {_r})", "x", x=spread(2, 3, 2, 1), T=[[[0], [1]], [[2], [1]]], W=[0.5, 1.0, 2.0], g=_g)

# -- normalization ------------------------------------------------------------------------------------

W3, C3 = [1.5, -0.5, 2.0], [0.25, 0.0, -1.0]
for _a in (M, spread(2, 4, 3), [[1.0, 2.0, 4.0]]):
    add("NativeLayerNormBackward0", "F.layer_norm(x, (3,))", "F.layer_norm(x, (3,), w)", "F.layer_norm(x, (3,), w, b)", "F.layer_norm(x, (3,), w, b, eps=0.5)", x=_a, w=W3, b=C3)
add("NativeLayerNormBackward0", "F.layer_norm(x, (3, 4), w, b)", x=CUBE, w=A34, b=spread(3, 4, seed=6))
add("NativeLayerNormBackward0", "F.layer_norm(x, (3,), W, B)", "F.layer_norm(x, (3,), W, b)", x=M, W=W3, B=C3, b=C3)
add("NativeLayerNormBackward0", "F.layer_norm(x, (3,))", x=[[2.0, 2.0, 2.0]])
for _a in (spread(4, 3), spread(2, 3, 2, 2), spread(2, 3, 5)):
    for _mode in ("None, None", "U, V"):
        for _args in ("training=True", "w, b, True", "w, b, True, eps=0.5", "w, training=True"):
            if _mode == "U, V" and _args not in ("w, b, True", "training=True"):
                continue
            add("NativeBatchNormBackward0", f"F.batch_norm(x, {_mode}, {_args})", x=_a, w=W3, b=C3, U=[0.5, 0.0, -1.0], V=[1.0, 2.0, 0.5])
    add("NativeBatchNormBackward0", "F.batch_norm(x, U, V)", "F.batch_norm(x, U, V, w, b)", x=_a, w=W3, b=C3, U=[0.5, 0.0, -1.0], V=[1.0, 2.0, 0.5])
for _a, _k in ((spread(2, 6, 4), 3), (spread(2, 6, 2, 2), 2), (spread(2, 6), 1)):
    add("NativeGroupNormBackward0", f"F.group_norm(x, {_k})", f"F.group_norm(x, {_k}, w, b)", f"F.group_norm(x, {_k}, w, b, 0.5)", f"F.group_norm(x, {_k}, w)", x=_a, w=spread(6), b=spread(6, seed=5))
add_second("NativeLayerNormBackwardBackward0", "F.layer_norm(x, (3,), w, b)", "x, w, b", x=M, w=W3, b=C3, g=N)
add_second("NativeLayerNormBackwardBackward0", "F.layer_norm(x, (3,))", "x", x=M, g=N)
add_second("NativeBatchNormBackwardBackward0", "F.batch_norm(x, None, None, w, b, True, eps=0.1)", "x, w, b", x=spread(4, 3), w=W3, b=C3, g=spread(4, 3, seed=7))
add_second("NativeBatchNormBackwardBackward0", "F.batch_norm(x, U, V, w, b)", "x, w, b", x=spread(4, 3), w=W3, b=C3, g=spread(4, 3, seed=7), U=[0.5, 0.0, -1.0], V=[1.0, 2.0, 0.5])
add_second("NativeBatchNormBackwardBackward0", "F.batch_norm(x, None, None, training=True)", "x", x=spread(4, 3), g=spread(4, 3, seed=7))
for _dim in ("0", "1", "2"):
    _n = [1, 1, 1]
    _n[int(_dim)] = (2, 3, 4)[int(_dim)]
    if _dim != "1":
        add("WeightNormInterfaceBackward0", f"torch._weight_norm(v, g, {_dim})", v=CUBE, g=inside(*_n, low=0.5, high=2.0))
for _v in (CUBE, M, ZEROS):
    add("NormBackward0", *[f"torch.norm_except_dim(v, {p}, -1)" for p in (2, 1, 3)], v=_v)
for _size in (3, 2, 5):
    add("CrossMapLRN2dBackward", f"torch.nn.CrossMapLRN2d({_size}, 0.4, 0.6, 1.3)(x)", f"torch.nn.CrossMapLRN2d({_size})(x)", x=spread(2, 5, 2, 1))
for _p in ("2", "1", "3"):
    add("RenormBackward0", f"torch.renorm(a, {_p}, 0, 2.0)", f"torch.renorm(a, {_p}, 1, 1.0)", f"torch.renorm(a, {_p}, -1, 50.0)", a=M)
add("RenormBackward0", "torch.renorm(a, 2, 0, 1.0)", "a.clone().renorm_(2, 1, 1.0)", a=CUBE)
add("RenormBackward0", "torch.renorm(a, 2, 0, 1.0)", a=[[0.0, 0.0], [3.0, 4.0]])

# -- embeddings, attention ----------------------------------------------------------------------------

BOOK = [[0, 2, 0], [3, 2, 2]]
for _text in ("F.embedding(I, w)", "F.embedding(I, w, padding_idx=2)", "F.embedding(I, w, scale_grad_by_freq=True)", "F.embedding(I, w, padding_idx=0, scale_grad_by_freq=True)"):
    add("EmbeddingBackward0", _text, w=A43, I=BOOK)
add("EmbeddingBackward0", "F.embedding(I, w)", w=A43, I=1)
add_second("EmbeddingDenseBackwardBackward0", "F.embedding(I, w)", "w", w=A43, I=BOOK, g=spread(2, 3, 3))
add_second("EmbeddingDenseBackwardBackward0", "F.embedding(I, w, padding_idx=2)", "w", w=A43, I=BOOK, g=spread(2, 3, 3))
for _mode in ("sum", "mean", "max"):
    add("EmbeddingBagBackward0", f"F.embedding_bag(I, w, O, mode='{_mode}')", f"F.embedding_bag(I, w, O, mode='{_mode}', padding_idx=2)", w=A43, I=[0, 2, 0, 3, 2], O=[0, 3, 3])
    add("EmbeddingBagBackward0", f"F.embedding_bag(I, w, mode='{_mode}')", w=A43, I=BOOK)
add("EmbeddingBagBackward0", "F.embedding_bag(I, w, O, mode='sum', per_sample_weights=p)", "F.embedding_bag(I, w, O, mode='sum', per_sample_weights=p, padding_idx=2)",
    w=A43, I=[0, 2, 0, 3, 2], O=[0, 3, 3], p=[1.0, -2.0, 0.5, 3.0, 0.25])  # fmt: skip
add("EmbeddingBagBackward0", "F.embedding_bag(I, w, O, mode='sum', include_last_offset=True)", w=A43, I=[0, 2, 0, 3, 2], O=[0, 3, 5])
add("EmbeddingBagBackward0", "F.embedding_bag(I, w, O, scale_grad_by_freq=True)", w=A43, I=[0, 2, 0, 3, 2], O=[0, 3])
HEADS = {"q": spread(1, 2, 3, 2), "k": spread(1, 2, 4, 2, seed=3), "v": spread(1, 2, 4, 2, seed=5)}
_attend = "F.scaled_dot_product_attention(q, k, v"
add("ScaledDotProductFlashAttentionForCpuBackward0", f"{_attend})", f"{_attend}, is_causal=True)", f"{_attend}, scale=0.25)", f"{_attend}, attn_mask=C)", f"{_attend}, attn_mask=D)",
    **HEADS, C=[[False] * 4, [True, False, False, True], [True] * 4], D=spread(3, 4, seed=9))  # fmt: skip
add("ScaledDotProductFlashAttentionForCpuBackward0", f"{_attend})", q=spread(2, 1, 3, 3), k=spread(2, 1, 3, 3, seed=3), v=spread(2, 1, 3, 3, seed=5))

_whole = {"q": spread(2, 3, 2), "k": spread(2, 4, 2, seed=3), "v": spread(2, 4, 2, seed=5)}
add("SafeSoftmaxBackward0", f"{_attend})", f"{_attend}, is_causal=True)", f"{_attend}, attn_mask=C)", f"{_attend}, attn_mask=D)",
    **_whole, C=[[False] * 4, [True, False, False, True], [True] * 4], D=spread(3, 4, seed=9))  # fmt: skip

# -- convolution --------------------------------------------------------------------------------------

add("ConvolutionBackward0", "F.conv1d(x, w)", "F.conv1d(x, w, b)", "F.conv1d(x, w, b, stride=2, padding=1)", "F.conv1d(x, w, padding=2, dilation=2)", "F.conv1d(x, w, padding='same')",
    "F.conv1d(x, W, b)", "F.conv1d(X, w)", x=spread(2, 3, 5), w=spread(4, 3, 3, seed=3), b=spread(4), W=spread(4, 3, 3, seed=3), X=spread(2, 3, 5))  # fmt: skip
add("ConvolutionBackward0", "F.conv1d(x, w, b, groups=2)", x=spread(1, 4, 5), w=spread(6, 2, 2, seed=3), b=spread(6))
add("ConvolutionBackward0", "F.conv2d(x, w, b)", "F.conv2d(x, w, stride=(2, 1), padding=(1, 2))", "F.conv2d(x, w, b, dilation=(1, 2))", x=spread(2, 2, 4, 5), w=spread(3, 2, 2, 3, seed=3), b=spread(3))
add("ConvolutionBackward0", "F.conv2d(x, w)", x=spread(2, 4, 5), w=spread(3, 2, 2, 3, seed=3)[:, :2])
add("ConvolutionBackward0", "F.conv2d(x, w, groups=4)", x=spread(1, 4, 3, 3), w=spread(4, 1, 2, 2))
add("ConvolutionBackward0", "F.conv3d(x, w, b)", x=spread(1, 2, 3, 2, 2), w=spread(2, 2, 2, 2, 2), b=[1.0, -1.0])
add("ConvolutionBackward0", "F.conv_transpose1d(x, w)", "F.conv_transpose1d(x, w, b, stride=2, padding=1, output_padding=1)", x=spread(2, 3, 4), w=spread(3, 2, 3, seed=3), b=[1.0, -1.0])
add("ConvolutionBackward0", "F.conv_transpose2d(x, w, b)", "F.conv_transpose2d(x, w, stride=2)", x=spread(1, 2, 3, 2), w=spread(2, 3, 2, 2, seed=3), b=V)
add("ConvolutionBackward0", "F.conv_transpose2d(x, w, groups=2)", x=spread(1, 4, 2, 2), w=spread(4, 3, 2, 1, seed=3))
add_second("ConvolutionBackwardBackward0", "F.conv1d(x, w, b)", "x, w, b", x=spread(2, 3, 5), w=spread(4, 3, 3, seed=3), b=spread(4), g=spread(2, 4, 3, seed=7))
add_second("ConvolutionBackwardBackward0", "F.conv2d(x, w, stride=2, padding=1)", "x, w", x=spread(1, 2, 3, 4), w=spread(3, 2, 2, 2, seed=3), g=spread(1, 3, 2, 3, seed=7))
add_second("ConvolutionBackwardBackward0", "F.conv_transpose1d(x, w, b, stride=2)", "x, w, b", x=spread(1, 2, 3), w=spread(2, 3, 2, seed=3), b=V, g=spread(1, 3, 6, seed=7))
add("ConvTbcBackward0", "torch.conv_tbc(x, w, b)", "torch.conv_tbc(x, w, b, 1)", x=spread(5, 2, 3), w=spread(2, 3, 4, seed=3), b=spread(4))
add("Im2ColBackward0", "F.unfold(x, 2)", "F.unfold(x, (3, 2), dilation=(1, 2), padding=1, stride=2)", x=spread(2, 3, 4, 5))
add("Im2ColBackward0", "F.unfold(x, 2)", x=spread(2, 3, 3))
add("Col2ImBackward0", "F.fold(x, (3, 4), 2)", x=spread(2, 12, 6))
add("Col2ImBackward0", "F.fold(x, (4, 4), 2, padding=1, stride=2)", x=spread(1, 4, 9))
add("PixelShuffleBackward0", "F.pixel_shuffle(x, 2)", x=spread(1, 8, 2, 3))
add("PixelUnshuffleBackward0", "F.pixel_unshuffle(x, 2)", x=spread(1, 2, 4, 6))
add("ChannelShuffleBackward0", "F.channel_shuffle(x, 2)", "F.channel_shuffle(x, 3)", x=spread(1, 6, 2, 2))
add("ConstantPadNdBackward0", "F.pad(x, (1, 2))", "F.pad(x, (1, 2, 0, 3), value=5.0)", "F.pad(x, (-1, 2))", "F.pad(x, (-1, -1, 1, -1))", x=M)
for _mode, _name in {"reflect": "Reflection", "replicate": "Replication"}.items():
    for _nd, _shape, _pad in ((1, (2, 3, 4), (1, 2)), (2, (2, 1, 3, 4), (1, 2, 2, 1)), (3, (1, 1, 2, 3, 2), (1, 0, 1, 1, 1, 0))):
        add(f"{_name}Pad{_nd}DBackward0", f"F.pad(x, {_pad}, mode='{_mode}')", x=spread(*_shape))
        add(f"{_name}Pad{_nd}DBackward0", f"F.pad(x, {_pad}, mode='{_mode}')", x=spread(*_shape[1:]))
        _padded = np.pad(np.zeros(_shape), [(0, 0), (0, 0), *reversed(list(zip(_pad[::2], _pad[1::2], strict=True)))])
        add_second(f"{_name}Pad{_nd}DBackwardBackward0", f"F.pad(x, {_pad}, mode='{_mode}')", "x", x=spread(*_shape), g=spread(*_padded.shape))

IMAGES = {1: (2, 2, 3), 2: (1, 2, 3, 2), 3: (1, 1, 2, 3, 2)}
SIZES = {1: (5,), 2: (4, 5), 3: (3, 4, 3)}


def resized(rule, second, nd, settings):
    """Calls of F.interpolate for images of `nd` dims: to a larger size, a smaller one, by a factor, and its second derivative."""
    shape, size = IMAGES[nd], SIZES[nd]
    add(rule, f"F.interpolate(x, {size}, {settings})", f"F.interpolate(x, {(2,) * nd}, {settings})", f"F.interpolate(x, scale_factor=2.0, {settings})", x=spread(*shape))
    if "antialias" not in settings and "nearest" not in settings:
        add(rule, f"F.interpolate(x, {size}, {settings}, align_corners=True)", x=spread(*shape))
    add_second(second, f"F.interpolate(x, {size}, {settings})", "x", x=spread(*shape), g=spread(*shape[:2], *size, seed=4))


for _nd in (1, 2, 3):
    resized(f"UpsampleNearest{_nd}DBackward0", f"UpsampleNearest{_nd}DBackwardBackward0", _nd, "mode='nearest'")
    resized(f"UpsampleNearestExact{_nd}DBackward0", f"UpsampleNearestExact{_nd}DBackwardBackward0", _nd, "mode='nearest-exact'")
resized("UpsampleLinear1DBackward0", "UpsampleLinear1DBackwardBackward0", 1, "mode='linear'")
resized("UpsampleBilinear2DBackward0", "UpsampleBilinear2DBackwardBackward0", 2, "mode='bilinear'")
resized("UpsampleTrilinear3DBackward0", "UpsampleTrilinear3DBackwardBackward0", 3, "mode='trilinear'")
resized("UpsampleBicubic2DBackward0", "UpsampleBicubic2DBackwardBackward0", 2, "mode='bicubic'")
for _mode in ("bilinear", "bicubic", "lanczos"):
    _name = f"Upsample{_mode.capitalize()}2DAa"
    resized(f"{_name}Backward0", f"{_name}BackwardBackward0", 2, f"mode='{_mode}', antialias=True")
for _mode in ("bilinear", "nearest", "bicubic"):
    for _padding in ("zeros", "border", "reflection"):
        for _align in ("False", "True"):
            _text = f"F.grid_sample(x, p, mode='{_mode}', padding_mode='{_padding}', align_corners={_align})"
            add("GridSampler2DBackward0", _text, x=spread(1, 2, 3, 4), p=spread(1, 2, 2, 2, step=0.3))
            if _mode != "bicubic":
                add("GridSampler3DBackward0", _text, x=spread(1, 2, 2, 3, 2), p=spread(1, 1, 2, 1, 3, step=0.25))
    _text = f"F.grid_sample(x, p, mode='{_mode}', align_corners=False)"
    add_second("GridSampler2DBackwardBackward0", _text, "x, p", x=spread(1, 2, 3, 4), p=spread(1, 2, 2, 2, step=0.3), g=spread(1, 2, 2, 2, seed=6))
    if _mode != "bicubic":
        add_second("GridSampler3DBackwardBackward0", _text, "x, p", x=spread(1, 2, 2, 3, 2), p=spread(1, 1, 2, 1, 3, step=0.25), g=spread(1, 2, 1, 2, 1, seed=6))
add("AffineGridGeneratorBackward0", "F.affine_grid(t, (2, 1, 3, 2), align_corners=False)", "F.affine_grid(t, (2, 1, 3, 2), align_corners=True)", t=spread(2, 2, 3))
add("AffineGridGeneratorBackward0", "F.affine_grid(t, (1, 1, 2, 3, 2), align_corners=False)", t=spread(1, 3, 4))

# -- pooling ------------------------------------------------------------------------------------------

PICTURE, LEVELS = spread(1, 2, 4, 5), np.array([[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 0.0, 2.0], [3.0, 0.0, 3.0, 3.0]]]])
BLOCK = spread(1, 1, 4, 3, 4)
LARGE = spread(1, 1, 4, 4, 3)
for _x in (PICTURE, LEVELS):
    add("MaxPool2DWithIndicesBackward0", "F.max_pool2d(x, 2)", "F.max_pool2d(x, 2, stride=1)", "F.max_pool2d(x, (3, 2), stride=1, padding=1)", "F.max_pool2d(x, 2, ceil_mode=True)", "F.max_pool2d(x, 2, stride=1, dilation=2)", x=_x)
    add("AdaptiveMaxPool2DBackward0", "F.adaptive_max_pool2d(x, (2, 3))", "F.adaptive_max_pool2d(x, 1)", x=_x)
    add("AvgPool2DBackward0", "F.avg_pool2d(x, 2)", "F.avg_pool2d(x, (3, 2), stride=2, padding=1)", "F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)", "F.avg_pool2d(x, 2, ceil_mode=True)",
        "F.avg_pool2d(x, 2, divisor_override=3)", x=_x)  # fmt: skip
    add("AdaptiveAvgPool2DBackward0", "F.adaptive_avg_pool2d(x, (2, 3))", "F.adaptive_avg_pool2d(x, (3, None))", x=_x)
add("MaxPool2DWithIndicesBackward0", "F.max_pool2d(x, 2, return_indices=True)", "F.max_pool2d(x, 2)", x=PICTURE[0])
add("MaxPool2DWithIndicesBackward0", "F.max_pool1d(x, 2)", x=spread(2, 3, 5))
add("MaxPool3DWithIndicesBackward0", "F.max_pool3d(x, 2)", "F.max_pool3d(x, 2, stride=1, padding=1)", x=BLOCK)
add("AvgPool2DBackward0", "F.avg_pool2d(x, 2)", x=PICTURE[0])
add("AvgPool2DBackward0", "F.avg_pool1d(x, 2)", x=spread(2, 3, 5))
add("AvgPool3DBackward0", "F.avg_pool3d(x, 2)", "F.avg_pool3d(x, 2, stride=1, padding=1, count_include_pad=False)", "F.avg_pool3d(x, 2, divisor_override=3)", x=BLOCK)
add("AdaptiveAvgPool3DBackward0", "F.adaptive_avg_pool3d(x, (2, 1, 3))", x=BLOCK)
add("AdaptiveMaxPool3DBackward0", "F.adaptive_max_pool3d(x, (2, 1, 3))", x=BLOCK)
add("AdaptiveMaxPool2DBackward0", "F.adaptive_max_pool1d(x, 3)", x=spread(2, 3, 5))
add("FractionalMaxPool2DBackward0", "F.fractional_max_pool2d(x, 2, 3, _random_samples=S)", "F.fractional_max_pool2d(x, 2, output_ratio=(0.6, 0.7), _random_samples=S)", x=PICTURE, S=inside(1, 2, 2))
add("FractionalMaxPool3DBackward0", "F.fractional_max_pool3d(x, 2, (2, 2, 1), _random_samples=S)", x=LARGE, S=inside(1, 1, 3))
add("MaxUnpool2DBackward0", "F.max_unpool2d(x, I, 2)", x=spread(1, 1, 2, 2), I=[[[[0, 3], [9, 14]]]])
add("MaxUnpool2DBackward0", "F.max_unpool1d(x, I, 2)", x=spread(1, 2, 2), I=[[[0, 3], [1, 2]]])
add("MaxUnpool3DBackward0", "F.max_unpool3d(x, I, 2)", x=spread(1, 1, 1, 2, 1), I=[[[[[0], [7]]]]])
for _name, _text, _shape in (
    ("MaxPool2DWithIndices", "F.max_pool2d(x, 2, stride=1)", (1, 2, 3, 4)), ("AvgPool2D", "F.avg_pool2d(x, 2, stride=1)", (1, 2, 3, 4)),
    ("AvgPool2D", "F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)", (1, 2, 2, 3)),
    ("AdaptiveAvgPool2D", "F.adaptive_avg_pool2d(x, (2, 3))", (1, 2, 2, 3)), ("AdaptiveMaxPool2D", "F.adaptive_max_pool2d(x, (2, 3))", (1, 2, 2, 3)),
):  # fmt: skip
    add_second(f"{_name}BackwardBackward0", _text, "x", x=PICTURE, g=spread(*_shape, seed=4))
for _name, _text, _shape in (
    ("MaxPool3DWithIndices", "F.max_pool3d(x, 2, stride=1)", (1, 1, 3, 2, 3)), ("AvgPool3D", "F.avg_pool3d(x, 2, stride=1)", (1, 1, 3, 2, 3)),
    ("AdaptiveAvgPool3D", "F.adaptive_avg_pool3d(x, (2, 1, 3))", (1, 1, 2, 1, 3)), ("AdaptiveMaxPool3D", "F.adaptive_max_pool3d(x, (2, 1, 3))", (1, 1, 2, 1, 3)),
):  # fmt: skip
    add_second(f"{_name}BackwardBackward0", _text, "x", x=BLOCK, g=spread(*_shape, seed=4))
add_second("FractionalMaxPool2DBackwardBackward0", "F.fractional_max_pool2d(x, 2, 3, _random_samples=S)", "x", x=PICTURE, S=inside(1, 2, 2), g=spread(1, 2, 3, 3, seed=4))
add_second("FractionalMaxPool3DBackwardBackward0", "F.fractional_max_pool3d(x, 2, (2, 2, 1), _random_samples=S)", "x", x=LARGE, S=inside(1, 1, 3), g=spread(1, 1, 2, 2, 1, seed=4))

# -- linear algebra -----------------------------------------------------------------------------------

REGULAR = [[4.0, 1.0, -2.0], [0.5, 3.0, 1.0], [-1.0, 2.0, 5.0]]
PAIR = [[[2.0, 1.0], [0.5, 3.0]], [[-1.0, 4.0], [2.0, 0.5]]]
SINGULAR = [[1.0, 2.0], [2.0, 4.0]]
DEFINITE = [[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]]
DEFINITES = [[[4.0, 1.0], [1.0, 3.0]], [[2.0, -0.5], [-0.5, 1.0]]]
LOWER = [[2.0, 0.0, 0.0], [0.5, 1.5, 0.0], [-1.0, 0.25, 3.0]]
TALL, WIDE = spread(4, 3, step=0.5), spread(2, 3, step=0.5)
for _a in (REGULAR, PAIR, SINGULAR, [[0.0, 0.0], [0.0, 3.0]]):
    add("LinalgDetBackward0", "torch.linalg.det(a)", "torch.det(a)", a=_a)
for _a in (REGULAR, PAIR):
    add("LinalgSlogdetBackward0", "torch.linalg.slogdet(a)", "torch.logdet(a @ a.mT)", "torch.slogdet(a)[1]", a=_a)
    add("LinalgInvExBackward0", "torch.linalg.inv(a)", "torch.inverse(a)", "torch.linalg.inv_ex(a)[0]", a=_a)
    add("LinalgMatrixExpBackward0", "torch.linalg.matrix_exp(a)", a=np.array(_a) / 4)
    add("LinalgLuFactorExBackward0", "torch.linalg.lu_factor(a)[0]", "torch.linalg.lu_factor_ex(a)[0]", a=_a)
    add("LinalgLuBackward0", "torch.linalg.lu(a)", "torch.linalg.lu(a)[2]", "torch.linalg.lu(a)[1]", a=_a)
    add("LinalgSvdBackward0", "torch.linalg.svdvals(a)", "torch.linalg.svd(a)[1]", a=_a)
    add("LinalgQrBackward0", "torch.linalg.qr(a)", a=_a)
add("LinalgSolveExBackward0", "torch.linalg.solve(a, b)", "torch.linalg.solve(a, B)", a=REGULAR, b=spread(3, 2), B=V)
add("LinalgSolveExBackward0", "torch.linalg.solve(a, b)", "torch.linalg.solve(A, b)", a=REGULAR, A=REGULAR, b=V)
add("LinalgSolveExBackward0", "torch.linalg.solve(a, b)", a=PAIR, b=[[1.0, -2.0, 0.5], [3.0, 0.0, -1.0]])
add("LinalgSolveExBackward0", "torch.linalg.solve(a, b, left=False)", a=REGULAR, b=spread(2, 3))
for _upper in ("True", "False"):
    _tri = f"torch.linalg.solve_triangular(a, b, upper={_upper}"
    add("LinalgSolveTriangularBackward0", f"{_tri})", f"{_tri}, unitriangular=True)", a=REGULAR, b=spread(3, 2))
    add("LinalgSolveTriangularBackward0", f"{_tri}, left=False)", f"{_tri}, left=False, unitriangular=True)", a=REGULAR, b=spread(2, 3))
    for _more in ("", ", transpose=True", ", unitriangular=True"):
        add("TriangularSolveBackward0", f"torch.triangular_solve(b, a, upper={_upper}{_more})", f"torch.triangular_solve(b, a, upper={_upper}{_more})[0]", a=REGULAR, b=spread(3, 2))
    add("CholeskyBackward0", f"torch.cholesky(a, upper={_upper})", a=DEFINITE)
    add("LinalgCholeskyExBackward0", f"torch.linalg.cholesky(a, upper={_upper})", a=DEFINITE)
    add("LinalgCholeskyExBackward0", f"torch.linalg.cholesky(a, upper={_upper})", a=DEFINITES)
    for _tensor in (LOWER, REGULAR):
        add("CholeskySolveBackward0", f"torch.cholesky_solve(b, l, upper={_upper})", l=_tensor, b=spread(3, 2))
        add("CholeskyInverseBackward0", f"torch.cholesky_inverse(l, upper={_upper})", l=_tensor)
for _a in (TALL, WIDE, REGULAR):
    add("LinalgPinvBackward0", "torch.linalg.pinv(a)", "torch.pinverse(a)", a=_a)
    add("LinalgSvdBackward0", "torch.linalg.svdvals(a)", "U, S, V = torch.linalg.svd(a, full_matrices=False); U @ torch.diag(S * S) @ V", "torch.linalg.matrix_norm(a, 'nuc')", a=_a)
for _b in (spread(4, 2), spread(4, 1)):
    add("LinalgLstsqBackward0", "torch.linalg.lstsq(a, b)[0]", "torch.linalg.lstsq(a, b, driver='gels')[1]", "torch.linalg.lstsq(a, b, driver='gelsd')[:2]", a=TALL, b=_b)
add("LinalgLstsqBackward0", "torch.linalg.lstsq(a, b)[0]", a=WIDE, b=COLUMN)
add("LinalgLstsqBackward0", "torch.linalg.lstsq(a, b)[0]", a=[TALL, TALL + np.eye(4, 3)], b=spread(2, 4))
add("LinalgSolveExBackward0", "torch.linalg.solve(a, b)", a=PAIR, b=M[0][:2])
add("LinalgSolveExBackward0", "torch.linalg.solve(a, b)", a=PAIR, b=[[1.0, 2.0], [0.5, -1.0]])
add("LinalgQrBackward0", "torch.linalg.qr(a)", "torch.linalg.qr(a)[1]", "torch.linalg.qr(a)[0]", a=TALL)
add("LinalgQrBackward0", "torch.linalg.qr(a)", a=WIDE)
add("LinalgQrBackward0", "torch.linalg.qr(a, mode='complete')", a=REGULAR)
add("GeqrfBackward0", "torch.geqrf(a)", a=TALL)
add("LinalgHouseholderProductBackward0", "torch.linalg.householder_product(a, t)", a=TALL, t=[0.5, -0.25, 1.0])
add("LinalgHouseholderProductBackward0", "torch.orgqr(a, t)", a=REGULAR, t=[0.5, 0.0])
for _a in (DEFINITE, DEFINITES):
    add("LinalgEighBackward0", "torch.linalg.eigvalsh(a)", "torch.linalg.eigh(a)[0]", "w, V = torch.linalg.eigh(a); V @ torch.diag_embed(w * w) @ V.mT", "w, V = torch.linalg.eigh(a, UPLO='U'); V * V", a=_a)
for _a in (REGULAR, TALL, WIDE):
    add("TraceBackward0", "torch.trace(a)", a=_a)
add("LinalgCrossBackward0", "torch.linalg.cross(a, b)", "torch.cross(a, b, dim=1)", a=M, b=N)
add("LinalgCrossBackward0", "torch.linalg.cross(a, b, dim=0)", a=spread(3, 2), b=spread(3, 2, seed=3))
add("LinalgCrossBackward0", "torch.linalg.cross(a, b)", a=M, b=[V])
for _p in ("2.0", "1.0", "3.0", "float('inf')", "0.5", "0.0"):
    add("CdistBackward0", f"torch.cdist(a, b, p={_p})", a=M, b=spread(4, 3))
    add("CdistBackward0", f"torch.cdist(a, b, p={_p})", a=M, b=TIES)
    add("PdistBackward0", f"F.pdist(a, p={_p})", a=spread(4, 3))
add("CdistBackward0", "torch.cdist(a, b)", a=M, b=M)
add("CdistBackward0", "torch.cdist(a, b)", a=spread(2, 3, 2), b=spread(4, 2))
add("PdistBackward0", "F.pdist(a)", a=[[1.0, 2.0], [1.0, 2.0], [3.0, -1.0]])
add("EuclideanDistBackward0", "torch.cdist(a, b, compute_mode='use_mm_for_euclid_dist')", a=M, b=spread(4, 3))
add_second("CdistBackwardBackward0", "torch.cdist(a, b)", "a", a=M, b=spread(4, 3), g=spread(2, 4))
add_second("PdistBackwardBackward0", "F.pdist(a)", "a", a=spread(3, 2), g=V)
for _a in (REGULAR, WIDE, TALL):
    add("LuUnpackBackward0", "P, L, U = torch.lu_unpack(a, I); (L, U)", "torch.lu_unpack(a, I)[2]", a=_a, I=np.arange(1, min(np.shape(_a)) + 1, dtype=np.int32))
for _adjoint in ("", ", adjoint=True"):
    add("LinalgLuSolveBackward0", f"torch.linalg.lu_solve(a, I, b{_adjoint})", "torch.lu_solve(b, a, I)", a=REGULAR, I=np.array([2, 3, 3], np.int32), b=spread(3, 2))
    add("LinalgLuSolveBackward0", f"torch.linalg.lu_solve(a, I, b, left=False{_adjoint})", a=REGULAR, I=np.array([2, 3, 3], np.int32), b=spread(2, 3))

# -- once more, with other shapes: what has one form only --------------------------------------------

for _a in (ONE, [2.0, 0.5]):
    add("AsinhBackward1", "a.clone().asinh_()", a=_a)
    add("AcoshBackward1", "(a + 1).acosh_()", a=_a)
    add("AtanhBackward1", "(a / 4).atanh_()", a=_a)
    add("PolygammaBackward1", "a.clone().polygamma_(1)", a=_a)
    add("FillBackward0", "torch.fill(a, -1)", a=_a)
    add("FillBackward1", "torch.fill(a, c)", "torch.fill(A, c)", a=_a, A=_a, c=0.0)
    add("FillBackward2", "a.clone().fill_(0.5)", a=_a)
    add("FillBackward3", "a.clone().fill_(c)", a=_a, c=-2.0)
    add("NormalBackward1", "torch.normal(a, 0.0)", a=_a)
    add("NormalBackward2", "torch.normal(-2.0, a)", a=_a)
    add("NormalBackward3", "torch.normal(a, b)", a=_a, b=0.5)
    add("UniformBackward0", "a.clone().uniform_()", a=_a)
    add("NormalBackward0", "a.clone().normal_()", a=_a)
    add("ExponentialBackward0", "a.clone().exponential_()", a=_a)
    add("LogNormalBackward0", "a.clone().log_normal_()", a=_a)
    add("CauchyBackward0", "a.clone().cauchy_()", a=_a)
    add("GeometricBackward0", "a.clone().geometric_(0.75)", a=_a)
    add("RandomBackward0", "a.clone().random_(-3, 3)", a=_a)
    add("RandomBackward1", "a.clone().random_(1)", a=_a)
    add("RandomBackward2", "a.clone().random_()", a=_a)
    add("BernoulliBackward0", "torch.bernoulli(a / 2)", a=_a)
    add("BernoulliBackward2", "a.clone().bernoulli_()", "a.clone().bernoulli_(1)", a=_a)
    add("PoissonBackward0", "torch.poisson(a)", a=_a)
add("VdotBackward0", "torch.vdot(a, a)", "torch.vdot(a, B)", a=ROW, B=V)
add("SqueezeBackward3", "a.clone().squeeze_()", a=M)
add("SqueezeBackward4", "a.clone().squeeze_(-1)", "a.clone().squeeze_(0)", a=COLUMN)
add("SqueezeBackward5", "a.clone().squeeze_((0, 1))", a=COLUMN)
add("UnsqueezeBackward1", "a.clone().unsqueeze_(-1)", a=ONE)
add("TransposeBackward1", "a.clone().transpose_(-1, 0)", a=M)
add("TBackward1", "a.clone().t_()", a=V)
add("AsStridedBackward1", "a.clone().as_strided_((3,), (2,))", a=M)
add("PixelShuffleBackward0", "F.pixel_shuffle(x, 3)", x=spread(9, 1, 2))
add("PixelUnshuffleBackward0", "F.pixel_unshuffle(x, 3)", x=spread(1, 3, 6))
add("AdaptiveAvgPool3DBackward0", "F.adaptive_avg_pool3d(x, (3, 2, 4))", x=BLOCK)
add("AdaptiveMaxPool3DBackward0", "F.adaptive_max_pool3d(x, (3, 2, 4))", x=BLOCK)
add("FractionalMaxPool3DBackward0", "F.fractional_max_pool3d(x, 2, (2, 2, 1), _random_samples=S)", x=LARGE, S=inside(1, 1, 3, seed=4))
add("MaxUnpool3DBackward0", "F.max_unpool3d(x, I, 2)", x=spread(1, 2, 1, 1, 1), I=[[[[[3]]], [[[0]]]]])
add("GeqrfBackward0", "torch.geqrf(a)", a=REGULAR)
add("EuclideanDistBackward0", "torch.cdist(a, b, compute_mode='use_mm_for_euclid_dist')", a=M, b=M)
add_second("CdistBackwardBackward0", "torch.cdist(a, b, p=1.0)", "b", a=M, b=spread(4, 3), g=spread(2, 4))
add_second("PdistBackwardBackward0", "F.pdist(a, p=3.0)", "a", a=spread(3, 2), g=V)
