# [group] inputs

# [case] tuple_of_inputs | the result is a tuple in the order of the inputs
a = torch.tensor(2.0, requires_grad=True)
b = torch.tensor(5.0, requires_grad=True)
gs = torch.autograd.grad(a * a * b, (b, a))
out = dict(gs=gs, a=a.grad, b=b.grad)

# [case] same_input_twice | an input named twice is answered twice
x = torch.tensor([1.0, 2.0], requires_grad=True)
gs = torch.autograd.grad((x * x).sum(), [x, x])
out = dict(gs=gs, alias=gs[0] is gs[1])

# [case] input_is_output | the gradient of a tensor with respect to itself is one
x = torch.tensor(3.0, requires_grad=True)
y = x * 2
out = dict(self=torch.autograd.grad(y, y), leaf=torch.autograd.grad(x, x), again=torch.autograd.grad(y, [y, x]))

# [case] leaves_grad_alone | .grad of the leaves is untouched
x = torch.tensor([1.0, 2.0], requires_grad=True)
x.sum().backward()
(g,) = torch.autograd.grad((x * 7).sum(), x)
out = dict(g=g, kept=x.grad)

# [case] input_without_requires_grad | an input that needs no gradient is an error
x = torch.tensor(2.0, requires_grad=True)
c = torch.tensor(3.0)
out = {}
for name, i in dict(const=[c], both=[x, c], empty=[]).items():
    try:
        torch.autograd.grad(x * c, i)
    except (RuntimeError, ValueError) as e:
        out[name] = e

# [case] rebound_name | a view of the leaf made after the fact was not used
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * 3).sum()
out = {}
try:
    torch.autograd.grad(y, x.view(2))
except RuntimeError as e:
    out["error"] = e

# [case] view_of_input | an input used through its view
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
v = x[1:]
out = dict(gs=torch.autograd.grad((v * v).sum() + x.sum(), [v, x]))

# [group] outputs

# [case] grad_outputs_weight | grad_outputs weighs the elements of one output
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
(g,) = torch.autograd.grad(x ** 2, x, torch.tensor([1.0, 0.0, 2.0]))
out = dict(g=g)

# [case] output_errors | outputs that need no gradient, and counts that differ
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = {}
for name, f in dict(const=lambda: torch.autograd.grad(torch.ones(1), x),
                    count=lambda: torch.autograd.grad([x * 2, x * 3], x, grad_outputs=[torch.ones(2)]),
                    shape=lambda: torch.autograd.grad(x * 2, x, grad_outputs=torch.ones(3)),
                    nonscalar=lambda: torch.autograd.grad(x * 2, x)).items():
    try:
        f()
    except RuntimeError as e:
        out[name] = e

# [case] tuple_outputs | a tuple of outputs with a tuple of weights
x = torch.tensor([1.0, 2.0], requires_grad=True)
a, b = x * 2, x * x
gs = torch.autograd.grad((a, b), (x,), (torch.tensor([1.0, 1.0]), torch.tensor([0.0, 5.0])))
out = dict(gs=gs)

# [case] no_grad_outputs_none | None in grad_outputs stands for one, for scalars only
x = torch.tensor([1.0, 2.0], requires_grad=True)
out = dict(g=torch.autograd.grad([x.sum(), x.prod()], x, [None, None]))
try:
    torch.autograd.grad([x * 1], x, [None])
except RuntimeError as e:
    out["error"] = e

# [case] differentiable_grad_outputs | gradient weights can be differentiated too
x = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.tensor([3.0, 4.0], requires_grad=True)
(g,) = torch.autograd.grad(x * x, x, v, create_graph=True)
out = dict(g=g, dv=torch.autograd.grad(g.sum(), v))

# [group] unused

# [case] allow_unused_none | allow_unused answers None
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([1.0], requires_grad=True)
out = dict(gs=torch.autograd.grad((x * 2).sum(), [w, x], allow_unused=True))

# [case] index_in_message | the message says which input it was
x = torch.tensor([1.0], requires_grad=True)
w = torch.tensor([1.0], requires_grad=True)
v = torch.tensor([1.0], requires_grad=True)
out = {}
for name, i in dict(first=[w, x], third=[x, x, v]).items():
    try:
        torch.autograd.grad((x * 2).sum(), i)
    except RuntimeError as e:
        out[name] = e

# [case] used_behind_detach | an input behind detach was not used
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x.detach() * w).sum()
out = dict(none=torch.autograd.grad(y, [x, w], allow_unused=True, retain_graph=True))
try:
    torch.autograd.grad(y, [x])
except RuntimeError as e:
    out["error"] = e

# [case] materialized_zeros | materialized zeros have the input's shape and dtype and need no gradient
x = torch.tensor([1.0], requires_grad=True)
w = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
gs = torch.autograd.grad((x * x).sum(), [w, x], materialize_grads=True, create_graph=True)
out = dict(gs=gs)

# [case] none_from_custom | a custom backward that returns None makes the input unused
class Drop(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        return a + b
    @staticmethod
    def backward(ctx, g):
        return g, None
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([2.0], requires_grad=True)
out = dict(ok=torch.autograd.grad(Drop.apply(a, b), [a, b], allow_unused=True))
try:
    torch.autograd.grad(Drop.apply(a, b), [a, b])
except RuntimeError as e:
    out["error"] = e

# [group] create_graph

# [case] second_and_third | repeated create_graph gives higher derivatives
x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x ** 4, x, create_graph=True)
(h,) = torch.autograd.grad(g, x, create_graph=True)
(k,) = torch.autograd.grad(h, x)
out = dict(g=g, h=h, k=k)

# [case] without_create_graph | a plain gradient is a constant
x = torch.tensor(2.0, requires_grad=True)
(g,) = torch.autograd.grad(x ** 3, x)
out = dict(g=g)
try:
    torch.autograd.grad(g, x)
except RuntimeError as e:
    out["error"] = e

# [case] no_grad_with_create_graph | create_graph records although grad mode is off
x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
with torch.no_grad():
    (g,) = torch.autograd.grad(y, x, create_graph=True)
out = dict(g=g)

# [case] gradient_penalty | a penalty on the gradient's norm trains the weights
w = torch.tensor([[1.0, -2.0]], requires_grad=True)
x = torch.tensor([3.0, 1.0], requires_grad=True)
y = (w @ x).pow(2).sum()
(g,) = torch.autograd.grad(y, x, create_graph=True)
((g.norm() - 1) ** 2).backward()
out = dict(g=g.detach(), w=w.grad, x=x.grad)

# [case] freed_after_grad | without retain_graph the graph is freed
x = torch.tensor([1.0, 2.0], requires_grad=True)
y = (x * x).sum()
torch.autograd.grad(y, x)
out = {}
try:
    torch.autograd.grad(y, x)
except RuntimeError as e:
    out["error"] = e

# [group] batched

# [case] batched_two_inputs | batched weights for two inputs
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = x * w
v = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
out = dict(gs=torch.autograd.grad(y, (x, w), v, is_grads_batched=True))

# [case] batched_shape_error | the rows must have the output's shape
x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
out = {}
try:
    torch.autograd.grad(x * 2, x, torch.ones(2, 2), is_grads_batched=True)
except RuntimeError as e:
    out["error"] = e

# [case] batched_scalar_output | a scalar output with a vector of weights
x = torch.tensor([1.0, 2.0], requires_grad=True)
(g,) = torch.autograd.grad((x * x).sum(), x, torch.tensor([1.0, 2.0, 3.0]), is_grads_batched=True)
out = dict(g=g)
