# [group] elementary

# [case] exp_and_logs | the exponentials and logarithms, values and slopes
out = {}
for name in ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "logit", "sigmoid"]:
    x = torch.tensor([0.25, 0.75], requires_grad=True)
    y = getattr(x, name)()
    y.sum().backward()
    out[name] = (y, x.grad)

# [case] trigonometric | sine and company, and their inverses
out = {}
for name in ["sin", "cos", "tan", "asin", "acos", "atan", "asinh", "atanh", "sinc", "deg2rad", "rad2deg"]:
    x = torch.tensor([0.5, -0.25], requires_grad=True)
    y = getattr(x, name)()
    y.sum().backward()
    out[name] = (y, x.grad)
a = torch.tensor([2.0], requires_grad=True)
a.acosh().backward()
out["acosh"] = a.grad

# [case] edges_of_domains | values and slopes outside or at the edge of the domain
inf = float("inf")
out = {}
for name, v in dict(log=[0.0, -1.0, inf], sqrt=[0.0, -1.0, inf], rsqrt=[0.0, -1.0, inf], asin=[1.0, 2.0, -1.0], acosh=[1.0, 0.5, inf], atanh=[1.0, -1.0, 2.0], reciprocal=[0.0, -0.0, inf], log1p=[-1.0, -2.0, inf], exp=[inf, -inf, 1000.0], tanh=[inf, -inf, 30.0], log2=[0.0, -1.0, 1.0], square=[inf, -inf, 0.0], erf=[inf, -inf, 0.0]).items():
    x = torch.tensor(v, requires_grad=True)
    y = getattr(x, name)()
    y.sum().backward()
    out[name] = (y, x.grad)

# [case] special_functions | erf, gamma and friends by their torch.special names
S = torch.special
out = {}
for name, f in dict(erf=S.erf, erfc=S.erfc, erfinv=S.erfinv, gammaln=S.gammaln, digamma=S.digamma, expit=S.expit, logit=S.logit, log1p=S.log1p, exp2=S.exp2, expm1=S.expm1, xlogy=lambda t: S.xlogy(t, 2.0), entr=S.entr, sinc=S.sinc, ls=lambda t: S.logsumexp(t, 0), sm=lambda t: S.softmax(t, 0)).items():
    x = torch.tensor([0.25, 0.5], requires_grad=True)
    y = f(x)
    y.sum().backward()
    out[name] = (y.detach(), x.grad)

# [case] two_argument_functions | hypot, logaddexp, xlogy, copysign, atan2 at the origin
out = {}
for name in ["hypot", "logaddexp", "xlogy", "copysign", "atan2", "fmod", "remainder"]:
    a = torch.tensor([3.0, 0.0, -2.0], requires_grad=True)
    b = torch.tensor([4.0, 1.0, 3.0], requires_grad=True)
    y = getattr(torch, name)(a, b)
    out[name] = (y.detach(), torch.autograd.grad(y.sum(), (a, b), allow_unused=True))
a = torch.tensor([0.0], requires_grad=True)
b = torch.tensor([0.0], requires_grad=True)
out["origin"] = torch.autograd.grad(torch.atan2(a, b), (a, b)) + torch.autograd.grad(torch.hypot(a, b), (a, b))

# [case] rounding_kinds | round half to even, decimals, trunc, frac, ceil
x = torch.tensor([0.5, 1.5, -2.5, 2.7], requires_grad=True)
y = x.round() + x.trunc() + x.frac() * 2 + x.ceil()
y.sum().backward()
out = dict(round=x.round().detach(), dec=torch.round(torch.tensor([1.234, 5.678]), decimals=1), trunc=x.trunc().detach(), frac=x.frac().detach(), ceil=x.ceil().detach(), fix=torch.fix(x).detach(), g=x.grad)

# [case] nan_handling | nan_to_num, isnan, isinf, isfinite, nan in comparisons
x = torch.tensor([float("nan"), float("inf"), -float("inf"), 1.0], requires_grad=True)
y = x.nan_to_num(nan=5.0, posinf=7.0)
y.sum().backward()
out = dict(y=y, g=x.grad, isnan=x.isnan(), isinf=x.isinf(), fin=x.isfinite(), eq=x == x, d=torch.nan_to_num(x.detach()), mx=torch.maximum(x, torch.tensor(0.0)).detach(), fmx=torch.fmax(x, torch.tensor(0.0)).detach(), neginf=torch.isneginf(x), posinf=torch.isposinf(x))

# [group] kinks

# [case] clamp_at_bounds | clamp at its bounds, and with one bound
x = torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(both=lambda: x.clamp(0, 1), lo=lambda: x.clamp(min=0), hi=lambda: x.clamp_max(1), swap=lambda: x.clamp(1, 0), t=lambda: torch.clamp(x, torch.zeros(5), torch.ones(5)), clip=lambda: x.clip(max=0.5)).items():
    y = f()
    out[name] = (y.detach(), torch.autograd.grad(y.sum(), x)[0])
try:
    x.clamp()
except (ValueError, RuntimeError) as e:
    out["none"] = e

# [case] relu_family_at_zero | relu, threshold, hardshrink and company at their joints
F = torch.nn.functional
out = {}
for name, f in dict(relu=F.relu, thr=lambda t: F.threshold(t, 1.0, 5.0), hshr=F.hardshrink, sshr=F.softshrink, hsig=F.hardsigmoid, hsw=F.hardswish, selu=F.selu, celu=F.celu, prelu=lambda t: F.prelu(t, torch.tensor([0.25])), rrelu=lambda t: F.rrelu(t, training=False), max0=lambda t: torch.maximum(t, torch.zeros(5)), leaky=lambda t: F.leaky_relu(t, 0.2)).items():
    x = torch.tensor([-3.0, -0.5, 0.0, 0.5, 3.0], requires_grad=True)
    y = f(x)
    y.sum().backward()
    out[name] = (y.detach(), x.grad)

# [case] fmax_fmin_nan | fmax and fmin with ties and nan
a = torch.tensor([1.0, float("nan"), 2.0, 3.0], requires_grad=True)
b = torch.tensor([1.0, 5.0, float("nan"), 1.0], requires_grad=True)
out = {}
for name in ["fmax", "fmin", "maximum", "minimum"]:
    y = getattr(torch, name)(a, b)
    out[name] = (y.detach(), torch.autograd.grad(y.sum(), (a, b)))

# [case] abs_and_norm_kinks | abs, sign, sgn, heaviside-like steps
x = torch.tensor([-2.0, 0.0, 3.0], requires_grad=True)
(x.abs() * x.sign() + torch.sgn(x)).sum().backward()
out = dict(g=x.grad, sgn=torch.sgn(x).detach(), sb=torch.signbit(torch.tensor([-0.0, 0.0, -1.0])), hv=torch.heaviside(torch.tensor([-1.0, 0.0, 1.0]), torch.tensor(0.5)), tri=torch.tensor([3.0, -1.0]).abs_())

# [case] integer_functions | abs, sign, neg, clamp, maximum on integers
i = torch.tensor([-3, 0, 5])
out = dict(abs=i.abs(), sign=i.sign(), neg=-i, cl=i.clamp(-1, 2), mx=torch.maximum(i, torch.tensor(1)), sq=i.square(), relu=i.relu(), clf=i.clamp(0.5, 2.5), fl=i.float().floor(), rnd=i.round())

# [group] powers

# [case] number_exponents | exponents 0, 1, 2, 0.5, -1, and of zero
out = {}
for p in [0, 1, 2, 3, 0.5, -1, -0.5, 2.5]:
    x = torch.tensor([0.0, 2.0, 4.0], requires_grad=True)
    y = x ** p
    y.sum().backward()
    out[p] = (y, x.grad)

# [case] number_bases | numbers to the power of tensors
out = {}
for b in [0, 1, 2, 0.5, -1.0]:
    x = torch.tensor([0.0, 1.0, 2.0], requires_grad=True)
    y = b ** x
    y.sum().backward()
    out[b] = (y, x.grad)

# [case] float_power_and_sqrt | float_power gives doubles; integer powers
i = torch.tensor([2, 3])
out = dict(fp=torch.float_power(i, 2), ip=i ** 3, ipf=i ** 0.5, it=i ** torch.tensor([2, 0]), pw=torch.pow(2, i), fpr=torch.float_power(torch.tensor([4.0], requires_grad=True), 0.5), neg=torch.tensor([-8.0]) ** (1 / 3), zz=torch.tensor([0.0]) ** 0, ni=torch.tensor([2.0]) ** -2)

# [case] in_place_powers | pow_ with a number and with a tensor
x = torch.tensor([2.0, 3.0], requires_grad=True)
p = torch.tensor([3.0, 2.0], requires_grad=True)
y = (x * 1).pow_(3)
z = (x * 1).pow_(p)
(y + z).sum().backward()
out = dict(y=y, z=z, x=x.grad, p=p.grad)

# [group] activations

# [case] softplus_beta | softplus with beta and threshold, large inputs
F = torch.nn.functional
out = {}
for name, f in dict(plain=F.softplus, beta=lambda t: F.softplus(t, beta=2.0), thr=lambda t: F.softplus(t, threshold=1.0)).items():
    x = torch.tensor([-100.0, 0.0, 2.0, 50.0], requires_grad=True)
    y = f(x)
    y.sum().backward()
    out[name] = (y.detach(), x.grad)

# [case] elu_alphas | elu, celu, selu with other alphas; mish and softsign
F = torch.nn.functional
out = {}
for name, f in dict(elu=lambda t: F.elu(t, 0.5), celu=lambda t: F.celu(t, 2.0), selu=F.selu, mish=F.mish, ss=F.softsign, ts=F.tanhshrink, hs=F.hardswish, glu=lambda t: F.glu(t, 0), ht=lambda t: F.hardtanh(t, -0.5, 0.5), hsig=torch.nn.Hardsigmoid()).items():
    x = torch.tensor([-2.0, -0.25, 0.25, 3.0], requires_grad=True)
    y = f(x)
    y.sum().backward()
    out[name] = (y.detach(), x.grad)

# [case] function_and_method_forms | torch.relu, F.relu, Tensor.relu, nn.ReLU agree
F = torch.nn.functional
x = torch.tensor([-1.0, 2.0])
out = dict(relu=[f(x) for f in (torch.relu, F.relu, torch.Tensor.relu, torch.nn.ReLU())], tanh=[f(x) for f in (torch.tanh, F.tanh, torch.Tensor.tanh)], sig=[f(x) for f in (torch.sigmoid, F.sigmoid, torch.special.expit)], sm=[torch.softmax(x, 0), F.softmax(x, 0), x.softmax(dim=0)], abs=[abs(x), torch.abs(x)], inpl=F.relu(x.clone(), inplace=True), lr=F.leaky_relu_(x.clone()))

# [case] gelu_errors_and_values | gelu at large arguments, unknown kinds
F = torch.nn.functional
x = torch.tensor([-10.0, -1.0, 1.0, 10.0], requires_grad=True)
y = F.gelu(x)
y.sum().backward()
out = dict(y=y, g=x.grad)
try:
    F.gelu(x, approximate="fast")
except RuntimeError as e:
    out["error"] = e

# [group] arithmetic

# [case] fused_arithmetic | add with alpha, addcmul, addcdiv, lerp, their gradients
a = torch.tensor([1.0, 2.0], requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.tensor([0.5, 2.0], requires_grad=True)
out = {}
for name, f in dict(add=lambda: torch.add(a, b, alpha=3), sub=lambda: torch.sub(a, b, alpha=2), rsub=lambda: torch.rsub(a, b), addcmul=lambda: torch.addcmul(a, b, c, value=2.0), addcdiv=lambda: torch.addcdiv(a, b, c, value=-1.0), lerp=lambda: torch.lerp(a, b, c), lerpn=lambda: torch.lerp(a, b, 0.25)).items():
    y = f()
    out[name] = (y.detach(), torch.autograd.grad(y.sum(), (a, b, c), allow_unused=True))

# [case] division_kinds | true, floor and truncated division with gradients
a = torch.tensor([7.0, -7.0], requires_grad=True)
b = torch.tensor([2.0, 2.0], requires_grad=True)
out = {}
for mode in (None, "floor", "trunc"):
    y = torch.div(a, b, rounding_mode=mode)
    out[str(mode)] = (y.detach(), torch.autograd.grad(y.sum(), (a, b), allow_unused=True))
out["fd"] = torch.floor_divide(a, b).detach()
try:
    torch.div(a, b, rounding_mode="up")
except RuntimeError as e:
    out["error"] = e

# [case] remainder_signs | % follows the divisor, fmod the dividend
a = torch.tensor([5.0, -5.0, 5.5], requires_grad=True)
b = torch.tensor([3.0, 3.0, -2.0], requires_grad=True)
y, z = a % b, torch.fmod(a, b)
(y + z * 10).sum().backward()
out = dict(y=y, z=z, a=a.grad, b=b.grad, r=(7 % torch.tensor([4.0])), i=torch.tensor([5, -5]) % 3)

# [case] inf_arithmetic | infinities and nan in sums, products and their gradients
inf = float("inf")
x = torch.tensor([inf, -inf, 0.0, 1.0], requires_grad=True)
y = x * 0 + x / inf - x
y.sum().backward()
out = dict(y=y, g=x.grad, diff=torch.tensor(inf) - torch.tensor(inf), mul=torch.tensor([0.0]) * inf)

# [case] bitwise_and_shifts | bit operations of integers, logical operations of anything
i = torch.tensor([6, 3])
f = torch.tensor([0.0, 2.0])
out = dict(and_=i & 5, or_=i | 8, xor=i ^ 1, inv=~i, shl=i << 2, shr=i >> 1, land=torch.logical_and(f, i), lor=torch.logical_or(f, torch.zeros(2)), lnot=torch.logical_not(f), lxor=torch.logical_xor(f, f))
try:
    f & f
except (RuntimeError, TypeError, NotImplementedError) as e:
    out["float"] = e

# [case] unsupported_operands | strings and None as operands
x = torch.tensor([1.0, 2.0])
out = {}
for name, f in dict(add=lambda: x + "a", mul=lambda: x * None, lt=lambda: x < "a", radd=lambda: "a" + x, pow=lambda: x ** "2", eq=lambda: x == "a", none=lambda: x == None, lst=lambda: x + [1.0, 2.0]).items():
    try:
        out[name] = f()
    except Exception as e:
        out[name] = e

# [case] fused_constants | addcdiv and addcmul whose factors are constants
out = {}
for name in ["addcdiv", "addcmul", "addcdiv_", "addcmul_"]:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = getattr(x * 1, name)(torch.tensor([3.0, 4.0]), torch.tensor([0.5, 2.0]), value=2)
    y.sum().backward()
    out[name] = (y, x.grad, y.grad_fn._saved_value)

# [case] numpy_numbers | a NumPy number is a plain number: it widens neither the result nor the gradient
F = torch.nn.functional
out = {}
for kind in [np.float64, np.int64, np.uint8]:
    v = kind(2)
    for name, f in dict(mul=lambda x: x * v, div=lambda x: x / v, rpow=lambda x: v ** x, alpha=lambda x: x.add(x, alpha=v), lerp=lambda x: torch.lerp(x, x * 3, v), leaky=lambda x: F.leaky_relu(x, v), elu=lambda x: F.elu(x, v), softplus=lambda x: F.softplus(x, v), addcmul=lambda x: torch.addcmul(x, x, x, value=v), huber=lambda x: F.huber_loss(x, x * 0, delta=v), copysign=lambda x: x.copysign(v), shrink=lambda x: F.hardshrink(x, v), in_place=lambda x: (x * 1).mul_(v)).items():
        x = torch.tensor([1.0, -3.0], requires_grad=True)
        y = f(x).sum()
        out[f"{kind.__name__} {name}"] = (y, torch.autograd.grad(y, x))
out["full"] = (torch.full((2,), np.int64(3)), torch.full((2,), np.float64(3)))

# [case] logical_takes_its_operands | a logical operation is given as many tensors as it has operands
x = torch.ones(2)
out = {}
for name, call in dict(both=lambda: x.logical_and_(x, x), other=lambda: x.logical_xor(x, x), none=lambda: torch.logical_not(x, x), one=lambda: x.logical_or(x)).items():
    try:
        out[name] = call()
    except TypeError as e:
        out[name] = type(e).__name__
