# [group] pass

# [case] elementwise_and_matrix | a handful of right gradients
G = torch.autograd.gradcheck
x = torch.tensor([[0.5, 1.5], [2.5, -0.7]], dtype=torch.float64, requires_grad=True)
fs = dict(exp=torch.exp, mm=lambda t: t @ t, sm=lambda t: t.softmax(1), lse=lambda t: t.logsumexp(0), prod=lambda t: t.prod(0), inv=torch.inverse, det=torch.det, view=lambda t: t.t().reshape(4), idx=lambda t: t[:, [0, 0, 1]], cum=lambda t: t.cumsum(0), norm=lambda t: t.norm(dim=1), tanh=torch.tanh)
out = {k: G(f, (x,)) for k, f in fs.items()}

# [case] single_tensor_input | a lone tensor stands for a tuple; the inputs' .grad is untouched
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
out = dict(ok=torch.autograd.gradcheck(torch.sin, x), grad=x.grad, lst=torch.autograd.gradcheck(torch.mul, [x, x.detach().clone()]))

# [case] non_tensor_arguments | numbers and None among the inputs; fast mode
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
out = dict(ok=torch.autograd.gradcheck(lambda a, k, n: a ** k, (x, 3, None)), fast=torch.autograd.gradcheck(lambda a: a.exp() * a, (x,), fast_mode=True), fwd=torch.autograd.gradcheck(torch.exp, (x,), check_forward_ad=True))

# [case] zero_dim_and_empty | scalars and inputs without elements
s = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
e = torch.zeros(0, dtype=torch.float64, requires_grad=True)
out = dict(s=torch.autograd.gradcheck(lambda t: t ** 3, (s,)), e=torch.autograd.gradcheck(lambda t: t * 2, (e,)))

# [case] custom_function | a right custom function passes
class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3
    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 3 * g * x ** 2
x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
out = dict(first=torch.autograd.gradcheck(Cube.apply, (x,)), second=torch.autograd.gradgradcheck(Cube.apply, (x,)))

# [group] fail

# [case] jacobian_mismatch | the error for a wrong gradient
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        return g * 3
x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
out = {}
try:
    torch.autograd.gradcheck(Wrong.apply, (x,))
except Exception as e:
    out["error"] = e
    out["runtime"] = isinstance(e, RuntimeError)
    out["rest"] = str(e).splitlines()[1:]

# [case] second_input_wrong | the message tells which input of which output
class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * 2, b * 3
    @staticmethod
    def backward(ctx, g, h):
        return g * 2, h
a = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
b = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
out = {}
try:
    torch.autograd.gradcheck(Wrong.apply, (a, b))
except Exception as e:
    out["error"] = e

# [case] kink_fails | numerical differences across a kink
x = torch.tensor([0.0, 1.0], dtype=torch.float64, requires_grad=True)
out = dict(abs=torch.autograd.gradcheck(torch.abs, (x,), raise_exception=False), relu=torch.autograd.gradcheck(torch.relu, (x,), raise_exception=False), sq=torch.autograd.gradcheck(torch.square, (x,), raise_exception=False))

# [case] nondeterministic_backward | a backward that differs from run to run
class Flaky(torch.autograd.Function):
    n = 0
    @staticmethod
    def forward(ctx, x):
        return x * 1
    @staticmethod
    def backward(ctx, g):
        Flaky.n += 1
        return g * (1 + 1e-4 * Flaky.n)
x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
out = {}
try:
    torch.autograd.gradcheck(Flaky.apply, (x,), atol=1.0)
except Exception as e:
    out["error"] = e
out["tolerated"] = torch.autograd.gradcheck(Flaky.apply, (x,), atol=1.0, nondet_tol=1.0)

# [group] inputs

# [case] nothing_to_check | no input that requires grad
out = {}
try:
    torch.autograd.gradcheck(lambda t: t * 2, (torch.ones(2, dtype=torch.float64),))
except ValueError as e:
    out["error"] = e
out["quiet"] = None
try:
    out["quiet"] = torch.autograd.gradcheck(lambda t: t * 2, (torch.ones(2, dtype=torch.float64),), raise_exception=False)
except ValueError as e:
    out["quiet"] = e

# [case] single_precision_fails | single precision with the default tolerances
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(ok=torch.autograd.gradcheck(lambda t: t.exp(), (x,), raise_exception=False))

# [case] overlapping_memory | an expanded input is refused
x = torch.ones(1, dtype=torch.float64).expand(3).requires_grad_()
out = {}
try:
    torch.autograd.gradcheck(lambda t: t * 2, (x,))
except Exception as e:
    out["error"] = e

# [case] output_without_grad | a function whose output does not depend on the input
x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
out = {}
for name, f in dict(const=lambda t: torch.ones(2, dtype=torch.float64), detach=lambda t: t.detach() * 2).items():
    try:
        out[name] = torch.autograd.gradcheck(f, (x,))
    except Exception as e:
        out[name] = e

# [group] second_order

# [case] gradgrad_passes | second derivatives of smooth functions
x = torch.tensor([[0.5, 1.5], [2.5, 0.7]], dtype=torch.float64, requires_grad=True)
GG = torch.autograd.gradgradcheck
fs = dict(exp=torch.exp, mm=lambda t: t @ t, pow=lambda t: t ** 3, div=lambda t: 1 / t, sm=lambda t: t.softmax(0), lsm=lambda t: t.log_softmax(1), sig=torch.sigmoid, prod=lambda t: t.prod(), mse=lambda t: torch.nn.functional.mse_loss(t, torch.zeros(2, 2, dtype=torch.float64)), var=lambda t: t.var(0), lse=lambda t: t.logsumexp(1))
out = {k: GG(f, (x,), grad_outputs=None) for k, f in fs.items()}

# [case] gradgrad_with_outputs | grad_outputs may be given
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
go = torch.tensor([1.0, 0.5], dtype=torch.float64, requires_grad=True)
out = dict(ok=torch.autograd.gradgradcheck(torch.sin, (x,), (go,)))

# [case] gradgrad_once_differentiable | a once-differentiable function fails gradgradcheck
class Sq(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        return 2 * g * ctx.saved_tensors[0]
x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
out = dict(first=torch.autograd.gradcheck(Sq.apply, (x,)))
try:
    out["second"] = torch.autograd.gradgradcheck(Sq.apply, (x,))
except RuntimeError as e:
    out["second"] = type(e).__name__

# [case] whole_number_outputs | outputs that are no floats are not looked at
G = torch.autograd.gradcheck
x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
out = dict(long=G(lambda t: t.long(), x), both=G(lambda t: (t * 2, t.long()), x))
try:
    G(lambda t: t.detach() * 2, x)
except RuntimeError as e:
    out["detached"] = e
