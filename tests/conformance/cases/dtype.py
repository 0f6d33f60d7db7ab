# [group] defaults

# [case] inferred_types | what torch.tensor infers from Python and NumPy values
out = dict(i=torch.tensor(1), f=torch.tensor(1.5), b=torch.tensor(True), mix=torch.tensor([1, 2.5]), bi=torch.tensor([True, 2]),
           n64=torch.tensor(np.array([1.0])), n32=torch.tensor(np.float32(2.0)), ni=torch.tensor(np.array([1], dtype=np.int32)),
           empty=torch.tensor([]), nested=torch.tensor([[1, 2], [3, 4]]), np64=torch.tensor(np.float64(1.0)))

# [case] factory_types | what the factories make by default
out = dict(ones=torch.ones(1), zeros=torch.zeros(()), ai=torch.arange(3), af=torch.arange(0, 1, 0.5), full=torch.full((2,), 3), fullf=torch.full((1,), 2.5),
           fb=torch.full((1,), True), eye=torch.eye(2), lin=torch.linspace(0, 1, 3), empty=torch.empty(0), log=torch.logspace(0, 2, 3))

# [case] default_is_refused | only floating types can be the default
out = {}
try:
    torch.set_default_dtype(torch.int64)
except TypeError as e:
    out["error"] = e
out["now"] = torch.get_default_dtype()

# [case] default_double_everywhere | the default reaches int division, arange and full
torch.set_default_dtype(torch.float64)
out = dict(a=torch.arange(0.0, 1.0, 0.5), f=torch.full((1,), 1.5), d=torch.tensor([1, 2]) / 2, m=torch.tensor([1, 2]) * 0.5, s=torch.tensor([1, 4]).sqrt(), r=repr(torch.tensor([1.5])), r32=repr(torch.tensor([1.5], dtype=torch.float32)))
torch.set_default_dtype(torch.float32)

# [group] requires_grad

# [case] flag_by_attribute | setting the attribute on integers
x = torch.tensor([1, 2])
out = {}
try:
    x.requires_grad = True
except RuntimeError as e:
    out["error"] = e
x.requires_grad = False
out["x"] = x
for name, f in dict(ones=lambda: torch.ones(2, dtype=torch.int32, requires_grad=True), zeros=lambda: torch.zeros(1, dtype=torch.bool, requires_grad=True),
                    arange=lambda: torch.arange(3, requires_grad=True), param=lambda: torch.nn.Parameter(torch.tensor([1]))).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] cast_and_back | gradients come back in the leaf's dtype
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x.double() * 3
z = x.half().float() * x.to(torch.float64)
(y.sum() + z.sum()).backward()
out = dict(y=y, z=z, g=x.grad)

# [case] long_cuts_the_graph | a conversion to integers has no gradient
x = torch.tensor([1.7, -1.7], requires_grad=True)
out = dict(long=x.long(), int=x.int(), bool=x.bool(), byte=x.abs().to(torch.uint8), short=x.short(), back=x.long().float())

# [case] int_tensor_operand | an integer tensor takes part as a constant
x = torch.tensor([1.0, 2.0], requires_grad=True)
i = torch.tensor([3, 4])
y = x * i + i - i / x + x ** i
y.sum().backward()
out = dict(y=y, g=x.grad)

# [group] promotion

# [case] promotion_table | the result type of pairs of types
d = dict(b=torch.bool, u8=torch.uint8, i8=torch.int8, i16=torch.int16, i32=torch.int32, i64=torch.int64, f16=torch.float16, f32=torch.float32, f64=torch.float64)
out = {a: [str((torch.ones(1, dtype=d[a]) + torch.ones(1, dtype=d[b])).dtype) for b in d] for a in d}

# [case] result_type_and_can_cast | the helpers that tell
out = dict(a=torch.result_type(torch.ones(1, dtype=torch.int32), 1.5), b=torch.result_type(torch.ones(1), torch.tensor(1.0, dtype=torch.float64)),
           c=torch.promote_types(torch.int8, torch.uint8), d=torch.promote_types(torch.float16, torch.int64), e=torch.can_cast(torch.float32, torch.int32), f=torch.can_cast(torch.int32, torch.float16))

# [case] integer_functions_give_floats | exp, mean, sqrt, sigmoid and / of integers
i = torch.tensor([1, 4])
out = dict(exp=i.exp(), sqrt=i.sqrt(), sig=torch.sigmoid(i), div=i / i, rec=i.reciprocal(), log=torch.tensor([True]).log(), sin=i.to(torch.int8).sin(), at=torch.atan2(i, i))
try:
    i.float().mean() + i.mean()
except RuntimeError as e:
    out["mean"] = e

# [case] sums_of_small_types | sums and products widen to int64
i = torch.tensor([200, 100], dtype=torch.uint8)
b = torch.tensor([True, True, False])
out = dict(s=i.sum(), p=i.prod(), c=i.cumsum(0), b=b.sum(), bm=b.float().mean(), typed=i.sum(dtype=torch.float32), m=i.mean(dtype=torch.float64), mx=i.max(), add=i + i, h=torch.ones(3, dtype=torch.float16).sum())

# [case] in_place_keeps_type | an in-place op keeps its target's type or refuses
f = torch.ones(2)
f += torch.ones(2, dtype=torch.float64)
f *= torch.tensor([2, 3])
i = torch.tensor([5, 6])
i += 2
i //= 2
out = dict(f=f, i=i)
for name, g in dict(add=lambda: i.add_(1.5), div=lambda: i.div_(2), mul=lambda: i.mul_(torch.ones(2)), bool=lambda: torch.tensor([True]).add_(1)).items():
    try:
        g()
    except RuntimeError as e:
        out[name] = e

# [case] bool_arithmetic | what booleans may and may not do
b = torch.tensor([True, False])
c = torch.tensor([True, True])
out = dict(add=b + c, mul=b * c, div=b / c, inv=~b, xor=b ^ c, and_=b & c, one=b + 1, half=b * 0.5, gt=b > c)
for name, f in dict(sub=lambda: b - c, neg=lambda: -b, rsub=lambda: 1 - b).items():
    try:
        out[name] = f()
    except RuntimeError as e:
        out[name] = e

# [case] floor_division_and_mod | // and % of floats and negatives, div with rounding_mode
x = torch.tensor([7.0, -7.0, 7.5, -0.5], requires_grad=True)
y = torch.tensor([2.0, 2.0, -2.0, 2.0], requires_grad=True)
out = dict(fd=x.detach() // y.detach(), mod=x % y, rem=torch.remainder(x, 3), fmod=torch.fmod(x, y), trunc=torch.div(x, y, rounding_mode="trunc"), floor=torch.div(x, y, rounding_mode="floor"), i=torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc"))
(x % y).sum().backward()
out.update(x=x.grad, y=y.grad)

# [case] integer_zero_division | // and % by zero are errors, / is not
i = torch.tensor([1, 0, -1])
z = torch.tensor([0, 0, 0])
out = dict(true=i / z, fl=i.float() // z)
for name, f in dict(floor=lambda: i // z, mod=lambda: i % z).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] matmul_needs_equal_types | products of matrices do not promote
a, b = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.float64)
i = torch.ones(2, 2, dtype=torch.int64)
out = dict(ints=i @ i)
for name, f in dict(mm=lambda: a @ b, mixed=lambda: a @ i, mv=lambda: a @ b[0], dot=lambda: a[0] @ b[0], lin=lambda: torch.nn.functional.linear(a, b), bmm=lambda: torch.bmm(a[None], b[None])).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] cat_stack_where_promote | joins promote
out = dict(cat=torch.cat([torch.tensor([1]), torch.tensor([1.5])]), stack=torch.stack([torch.tensor(True), torch.tensor(2)]), where=torch.where(torch.tensor([True, False]), torch.tensor([1, 2]), torch.tensor([0.5, 0.5])),
           wnum=torch.where(torch.tensor([True, False]), 1, 0), wmix=torch.where(torch.tensor([True]), torch.tensor([1]), 0.5), mx=torch.maximum(torch.tensor([1]), torch.tensor([0.5])))

# [case] dtype_attributes | facts a dtype knows
out = dict(f=torch.float32.is_floating_point, i=torch.int8.is_floating_point, size=torch.float64.itemsize, names=[str(d) for d in (torch.float, torch.double, torch.half, torch.long, torch.int, torch.short, torch.bool)], same=torch.float is torch.float32,
           eps=torch.finfo(torch.float32).eps, tiny=torch.finfo(torch.float32).tiny, bits=torch.finfo(torch.float16).bits, imax=torch.iinfo(torch.int32).max, signed=torch.uint8.is_signed, el=torch.ones(1, dtype=torch.int16).element_size(), fp=torch.ones(1).is_floating_point(), tn=torch.ones(1).type())

# [group] to_python

# [case] item_and_tolist | Python values of the right kind
out = dict(i=torch.tensor(3).item(), f=torch.tensor([2.5]).item(), b=torch.tensor(True).item(), l=torch.tensor([[1, 2], [3, 4]]).tolist(), s=torch.tensor(1.5).tolist(), e=torch.zeros(2, 0).tolist(), h=torch.tensor(0.1).item(), d=torch.tensor(0.1, dtype=torch.float64).item())
try:
    torch.tensor([1.0, 2.0]).item()
except RuntimeError as e:
    out["error"] = e

# [case] truth_values | bool() of one element, of several and of none
out = dict(t=bool(torch.tensor([[2.0]])), f=bool(torch.tensor(0)), n=bool(torch.tensor(float("nan"))))
for name, v in dict(many=torch.tensor([True, False]), none=torch.tensor([])).items():
    try:
        out[name] = bool(v)
    except RuntimeError as e:
        out[name] = e

# [case] python_conversions | int(), float(), index use and formatting
t = torch.tensor(3)
out = dict(i=int(torch.tensor(2.9)), f=float(torch.tensor(7)), idx=[10, 20, 30, 40][t], rng=list(range(torch.tensor(2))), fmt=f"{torch.tensor(2.5):.3f}", fmt2="{}".format(torch.tensor([1.0])), neg=int(torch.tensor(-2.9)), rnd=round(torch.tensor(2.6).item()))
try:
    [1, 2, 3][torch.tensor(1.0)]
except TypeError as e:
    out["index"] = e
try:
    float(torch.tensor([1.0, 2.0]))
except (RuntimeError, ValueError) as e:
    out["float"] = e

# [case] numpy_both_ways | dtypes survive the way to NumPy and back
out = dict(a=torch.tensor([1, 2]).numpy(), b=torch.tensor([True]).numpy(), h=torch.tensor([1.5], dtype=torch.float16).numpy(), back=torch.from_numpy(np.array([1, 2], dtype=np.int16)), arr=np.array(torch.tensor([1.5, 2.5])), nps=np.sum(torch.ones(3).numpy()), forced=torch.ones(1, requires_grad=True).numpy(force=True))

# [case] tensor_of_tensors | a list of tensors is converted element by element, without history
x = torch.tensor(2.0, requires_grad=True)
out = dict(a=torch.tensor([x.detach() * 2, torch.tensor(3.0)]), b=torch.tensor([torch.tensor(1), torch.tensor(2)]))
try:
    torch.tensor([torch.ones(2), torch.ones(2)])
except (ValueError, TypeError) as e:
    out["rows"] = e
try:
    torch.tensor([[1, 2], [3]])
except ValueError as e:
    out["ragged"] = e

# [case] tensor_of_tensor_warns | torch.tensor(t) advises clone().detach()
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = torch.tensor(x)
out = dict(y=y)

# [case] conversion_warns_in_math | math functions convert and warn
import math
x = torch.tensor(4.0, requires_grad=True)
out = dict(r=math.sqrt(x))

# [case] contains_and_len | in, len, iteration and unsupported containment
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
out = dict(n=len(x), has=3.0 in x, no=7 in x, t=torch.tensor(2.0) in x, rows=[r.tolist() for r in x], list=[v.item() for v in torch.tensor([1, 2])])
try:
    "a" in x
except RuntimeError as e:
    out["error"] = e

# [group] printing

# [case] repr_graph_suffix | requires_grad and grad_fn at the end
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(mul=repr(x * 2), sum=repr(x.sum()), view=repr(x.view(2, 1)), det=repr(x.detach()), param=repr(torch.nn.Parameter(torch.tensor([1.0]))), sel=str(x[0]), add=repr((x + 1) * 0))

# [case] repr_dtypes | other types carry their dtype
out = dict(f64=repr(torch.tensor([1.5], dtype=torch.float64)), f16=repr(torch.tensor([1.5, 2.0], dtype=torch.float16)), i32=repr(torch.tensor([1, 2], dtype=torch.int32)), u8=repr(torch.tensor(7, dtype=torch.uint8)), b=repr(torch.tensor(True)), i64=repr(torch.tensor(-3)),
           grad=repr(torch.tensor([1.5], dtype=torch.float64, requires_grad=True)), bf=repr(torch.tensor([0.5], dtype=torch.bfloat16)))

# [case] repr_floats | four digits, whole numbers, scientific form
out = dict(whole=repr(torch.tensor([1.0, 20.0, -3.0])), frac=repr(torch.tensor([1.0, 0.3333333])), small=repr(torch.tensor([1e-5, 1.0])), big=repr(torch.tensor([1e9, 1.0])), tiny=repr(torch.tensor(1e-10)), large=repr(torch.tensor([123456.0, 0.5])), one=repr(torch.tensor(123456789.0)),
           mid=repr(torch.tensor([1000.5, 2.25])), third=repr(torch.tensor(1 / 3)), neg=repr(torch.tensor([-0.0, 0.0])), bigint=repr(torch.tensor([1e7, 2e7])), big8=repr(torch.tensor([1e8, 2e8])))

# [case] repr_ratio_switches | when the range of magnitudes asks for scientific notation
out = dict(r1=repr(torch.tensor([0.0001, 1.0])), r2=repr(torch.tensor([0.00001, 0.5])), r3=repr(torch.tensor([1000.0, 0.1])), r4=repr(torch.tensor([10000.0, 0.1])), r5=repr(torch.tensor([99999.0, 0.5])), r6=repr(torch.tensor([100000.0, 1.5])), r7=repr(torch.tensor([0.0, 1e-5])), r8=repr(torch.tensor(0.0001)), r9=repr(torch.tensor(0.00009)))

# [case] repr_nonfinite | nan and inf beside numbers
out = dict(mix=repr(torch.tensor([1.0, float("nan"), float("inf"), -float("inf")])), frac=repr(torch.tensor([0.5, float("nan")])), only=repr(torch.tensor(float("nan"))), ninf=repr(torch.tensor([-float("inf")])), big=repr(torch.tensor([1e10, float("inf")])))

# [case] repr_integers | widths, signs and matrices of integers
out = dict(w=repr(torch.tensor([1, 100, -5])), m=repr(torch.tensor([[1, -2], [30, 4]])), big=repr(torch.tensor([10 ** 12, 1])), b=repr(torch.tensor([[True, False], [False, True]])), cube=repr(torch.arange(8).reshape(2, 2, 2)))

# [case] repr_empty | empty tensors show their size where it does not show itself
out = dict(e=repr(torch.tensor([])), z=repr(torch.zeros(0, 3)), z2=repr(torch.zeros(2, 0)), i=repr(torch.tensor([], dtype=torch.int64)), rg=repr(torch.zeros(0, requires_grad=True)), one=repr(torch.zeros(1, 0, 2, dtype=torch.bool)))

# [case] repr_long_rows | lines break at eighty characters
out = dict(r=repr(torch.arange(30.0)), i=repr(torch.arange(40)), f=repr(torch.arange(12) / 7), m=repr(torch.arange(24.0).reshape(2, 12) / 10))

# [case] repr_summarized | more than a thousand elements are summarized
out = dict(v=repr(torch.arange(1001)), f=repr(torch.arange(2000.0)), m=repr(torch.zeros(40, 40)), t=repr(torch.ones(2, 3, 200)), ok=len(repr(torch.arange(1000))) > 1000, g=repr(torch.zeros(1001, requires_grad=True)))

# [case] repr_matrices | alignment over all elements
out = dict(a=repr(torch.tensor([[1.0, 10.25], [-100.5, 0.0]])), b=repr(torch.tensor([[1.0], [2.0]])), c=repr(torch.tensor([[[1.5]]])), d=repr(torch.arange(12.0).reshape(2, 3, 2) * -1), s=str(torch.eye(3)))

# [case] repr_long_grad_fn | a long suffix moves to a line of its own
x = torch.arange(8.0, requires_grad=True)
out = dict(a=repr(x * 1.5), b=repr(x.double() / 3), c=repr((x + 0.123)[:6]), d=repr(torch.arange(6, dtype=torch.float64) / 7), e=repr(x.reshape(2, 4) * 2))

# [case] repr_other_objects | sizes, dtypes and devices
x = torch.ones(2, 3, requires_grad=True)
out = dict(size=repr(x.shape), s0=str(torch.tensor(1.0).shape), dt=repr(x.dtype), dev=str(x.device), devr=repr(torch.device("cpu")), lay=str(x.layout), numel=x.shape.numel(), lst=str([torch.tensor(1.0)]), tup=str((torch.tensor([1]), 2)), st=x.size() == (2, 3), f=f"{torch.tensor([1.5])}")

# [case] print_options | set_printoptions changes precision and notation
torch.set_printoptions(precision=2)
a = repr(torch.tensor([1.23456, 2.0]))
torch.set_printoptions(sci_mode=True)
b = repr(torch.tensor([1.23456, 2.0]))
torch.set_printoptions(threshold=5, edgeitems=1, profile="default")
c = repr(torch.arange(10.0))
torch.set_printoptions(profile="default")
out = dict(a=a, b=b, c=c, d=repr(torch.tensor([1.23456, 2.0])))

# [case] repr_node | nodes print their class
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
out = dict(node=repr(y.grad_fn).split(' at ')[0], acc=str(y.grad_fn.next_functions[0][0]).split(' at ')[0], t=type(y.grad_fn).__name__)

# [case] gradients_of_mixed_types | each operand's gradient has its own type, whatever the operation computed in
a = torch.tensor([1.0, 2.0], dtype=torch.float16, requires_grad=True)
b = torch.tensor([3.0, 4.0], requires_grad=True)
c = torch.tensor([5.0, 6.0], dtype=torch.float64, requires_grad=True)
out = {}
for name, f in dict(product=lambda: a * b, sum=lambda: a * c + b, joined=lambda: torch.cat([a, b, c]), where=lambda: torch.where(torch.tensor([True, False]), a, b), maximum=lambda: torch.maximum(a, b), loss=lambda: torch.nn.functional.mse_loss(a, b), mean=lambda: b.mean(dtype=torch.float64), softmax=lambda: b.softmax(0, dtype=torch.float64), power=lambda: b.float_power(2), whole=lambda: torch.tensor([2, 4]) / b).items():
    y = f()
    out[name] = (y.dtype, torch.autograd.grad(y, [a, b, c], torch.ones_like(y), allow_unused=True))
