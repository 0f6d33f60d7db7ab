# [group] leaves

# [case] constants_are_none | constant operands have an edge (None, 0)
x = torch.tensor([1.0, 2.0], requires_grad=True)
c = torch.tensor([3.0, 4.0])
out = dict(mul=(x * c).grad_fn.next_functions[1], rev=(c * x).grad_fn.next_functions[0], num=(x * 2).grad_fn.next_functions[1], n=len((x + 1).grad_fn.next_functions), dead=[f if f is None else f.name() for f, _ in torch.where(c > 3, x, c).grad_fn.next_functions])

# [case] unary_has_one_edge | how many edges the common nodes have
x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
F = torch.nn.functional
ops = dict(exp=x.exp(), neg=-x, pow=x ** 2, powt=x ** x, sum=x.sum(), view=x.view(4), add=x + 1, sub=x - x, rsub=1 - x, mul=x * 3, div=x / 2, mm=x @ x, clamp=x.clamp(0, 1), where=torch.where(x > 1, x, x), cat=torch.cat([x, x, x]), idx=x[0], softmax=x.softmax(0), lin=F.linear(x, x, x[0]), mse=F.mse_loss(x, x.detach()), addmm=torch.addmm(x, x, x), lerp=torch.lerp(x, x, 0.5), mx=torch.maximum(x, x), mf=x.masked_fill(x > 1, 0.0), clone=x.clone(), ln=F.layer_norm(x, (2,)), emb=F.embedding(torch.tensor([0]), x), bce=F.binary_cross_entropy_with_logits(x, x.detach()))
out = {k: len(v.grad_fn.next_functions) for k, v in ops.items()}

# [case] result_operand | a computed operand's edge is its grad_fn
x = torch.tensor([1.0], requires_grad=True)
h = x.exp()
y = h + x
(f, i), (g, j) = y.grad_fn.next_functions
out = dict(same=f is h.grad_fn, i=i, leaf=g.variable is x, j=j, names=(f.name(), g.name()))

# [case] no_grad_and_frozen | operands made under no_grad or frozen are constants
x = torch.tensor([1.0], requires_grad=True)
with torch.no_grad():
    h = x * 2
w = torch.tensor([1.0], requires_grad=True)
w.requires_grad_(False)
out = dict(a=(x * h).grad_fn.next_functions[1], b=(x * w).grad_fn.next_functions[1], c=(h * w).grad_fn)

# [case] view_of_leaf_edge | a view of a leaf leads to its AccumulateGrad
x = torch.arange(4.0, requires_grad=True)
v = x.view(2, 2).t()[0]
fn, names = v.grad_fn, []
while fn is not None:
    names.append(fn.name())
    fn = fn.next_functions[0][0] if fn.next_functions else None
out = dict(names=names)

# [group] identity

# [case] same_node_each_time | the Python object of a node stays the same
x = torch.tensor([1.0], requires_grad=True)
y = x.exp()
z = y * y
(a, _), (b, _) = z.grad_fn.next_functions
out = dict(same=a is b, isfn=a is y.grad_fn, eq=a == b, hashed=len({a, b, y.grad_fn}), other=z.grad_fn is y.grad_fn)

# [case] attributes_on_nodes | a node carries metadata, and a sequence number
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
y.grad_fn.metadata["note"] = "mine"
z = y.exp()
out = dict(meta=z.grad_fn.next_functions[0][0].metadata, order=z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr(), acc=y.grad_fn.next_functions[0][0]._sequence_nr() == 2 ** 64 - 1)

# [case] node_is_node | nodes are instances of torch.autograd.graph.Node
x = torch.tensor([1.0], requires_grad=True)
y = (x * 2).sum()
N = torch.autograd.graph.Node
out = dict(all=[isinstance(f, N) for f in (y.grad_fn, y.grad_fn.next_functions[0][0])], cls=issubclass(type(y.grad_fn), N), not_=isinstance(y, N), kinds=(type(y.grad_fn).__name__, type(y.grad_fn.next_functions).__name__))

# [case] accumulator_alive_while_used | a leaf's accumulator is made anew once nothing holds it
x = torch.tensor([1.0], requires_grad=True)
y = x * 2
acc = y.grad_fn.next_functions[0][0]
z = x * 3
out = dict(same=z.grad_fn.next_functions[0][0] is acc, var=acc.variable is x)

# [group] output_index

# [case] split_outputs | split, chunk and max: one node, numbered outputs
x = torch.arange(6.0).reshape(3, 2).requires_grad_()
a, b, c = x.split(1)
y = b * c
v, i = x.max(0)
out = dict(idx=[j for _, j in y.grad_fn.next_functions], same=y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[1][0], name=y.grad_fn.next_functions[0][0].name(), mx=(v * 2).grad_fn.next_functions[0][1], fn=(i.grad_fn, v.output_nr))

# [case] var_mean_outputs | var_mean and topk and sort
x = torch.arange(6.0).reshape(3, 2).requires_grad_()
v, m = torch.var_mean(x, 0)
y = m * v
s = x.sort(0).values * 1
out = dict(idx=[j for _, j in y.grad_fn.next_functions], name=y.grad_fn.next_functions[0][0].name(), s=s.grad_fn.next_functions[0][1])

# [case] in_place_on_output | an output written in place gets a node of its own with number 0
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3
    @staticmethod
    def backward(ctx, g, h):
        return 2 * g + 3 * h
x = torch.tensor([1.0], requires_grad=True)
a, b = Two.apply(x)
before = b.output_nr
b.add_(1)
out = dict(before=before, after=b.output_nr, below=b.grad_fn.next_functions[0][1], name=b.grad_fn.next_functions[0][0].name())

# [group] inputs

# [case] stack_and_einsum | stack has one edge per tensor; the same tensor counts each time
x = torch.tensor([1.0], requires_grad=True)
c = torch.tensor([2.0])
y = torch.stack([x, c, x])
out = dict(names=[None if f is None else f.name() for f, _ in y.grad_fn.next_functions], same=y.grad_fn.next_functions[0][0] is y.grad_fn.next_functions[2][0])

# [case] index_edges | indexing with tensors has edges for the value only
x = torch.arange(4.0, requires_grad=True)
i = torch.tensor([0, 1])
y = x[i]
b = x * 1
b[i] = x[:2]
out = dict(n=len(y.grad_fn.next_functions), put=[None if f is None else f.name() for f, _ in b.grad_fn.next_functions], name=b.grad_fn.name())

# [case] setitem_edges | a write through a view: base first, then value
x = torch.arange(4.0, requires_grad=True)
b = x * 1
b[0] = x[3]
c = torch.zeros(4)
c[0] = x[0]
d = x * 1
d[0] = 5.0
out = {k: [None if f is None else f.name() for f, _ in t.grad_fn.next_functions] for k, t in dict(b=b, c=c, d=d).items()}

# [case] custom_with_list_and_none | a custom function's tensor arguments, None and constants
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, n, b, flag):
        return a + b
    @staticmethod
    def backward(ctx, g):
        return g, None, g, None
x = torch.tensor([1.0], requires_grad=True)
nf = F.apply(x, None, torch.ones(1), True).grad_fn.next_functions
mf = F.apply(torch.ones(1), 2, x * 2, "s").grad_fn.next_functions
out = dict(a=[None if f is None else f.name() for f, _ in nf], b=[None if f is None else f.name() for f, _ in mf])

# [case] linear_edges | F.linear: bias, input, transposed weight
F = torch.nn.functional
x = torch.ones(2, 3)
w = torch.ones(4, 3, requires_grad=True)
b = torch.ones(4, requires_grad=True)
y = F.linear(x, w, b)
z = F.linear(x.requires_grad_(), w)
out = dict(y=[None if f is None else f.name() for f, _ in y.grad_fn.next_functions], z=[None if f is None else f.name() for f, _ in z.grad_fn.next_functions])

# [case] cross_entropy_chain | what a loss is made of
F = torch.nn.functional
x = torch.tensor([[1.0, 2.0]], requires_grad=True)
def chain(t):
    fn, names = t.grad_fn, []
    while fn is not None:
        names.append(fn.name())
        fn = next((f for f, _ in fn.next_functions if f is not None), None)
    return names
h = torch.tensor([[0.0, 1.0]])
out = dict(ce=chain(F.cross_entropy(x, torch.tensor([1]))), nll=chain(F.nll_loss(x.log_softmax(1), torch.tensor([1]))), mse=chain(F.mse_loss(x, h)), l1=chain(F.l1_loss(x, h)), norm=chain(F.normalize(x)), ln=chain(F.layer_norm(x, (2,))), var=chain(x.var()), std=chain(x.std(1)), mean=chain((x ** 2).mean(1).sqrt().sum()), outer=chain(torch.outer(x[0], x[0])), lse=chain(x.logsumexp(1)), kl=chain(F.kl_div(x, h, reduction="batchmean")), mv=chain(x @ torch.ones(2)), gelu=chain(F.gelu(x)), selu=chain(F.selu(x)))

# [group] walking

# [case] depth_first_names | names in depth-first order
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = ((x * w).sin() + w.exp()).sum()
def walk(fn):
    return [] if fn is None else [fn.name()] + [n for f, _ in fn.next_functions for n in walk(f)]
out = dict(names=walk(y.grad_fn))

# [case] leaves_of_a_graph | collecting the leaves from the graph
a = torch.tensor([1.0], requires_grad=True)
b = torch.tensor([2.0], requires_grad=True)
c = torch.tensor([3.0], requires_grad=True)
y = (a * b + a.detach() * c.detach() + b)
leaves, todo = [], [y.grad_fn]
while todo:
    fn = todo.pop()
    if hasattr(fn, "variable"):
        if not any(fn.variable is t for t in leaves):
            leaves.append(fn.variable)
    todo += [f for f, _ in fn.next_functions if f is not None]
out = dict(n=len(leaves), vals=sorted(t.item() for t in leaves))

# [case] walk_after_backward | the graph's shape stays after backward, its values do not
x = torch.tensor([1.0], requires_grad=True)
y = (x * x).exp()
y.backward()
out = dict(names=[y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()])
try:
    y.grad_fn._saved_result
except RuntimeError as e:
    out["error"] = e

# [case] calling_a_node | a node can be called with gradients
x = torch.tensor([1.0, 2.0], requires_grad=True)
w = torch.tensor([3.0, 4.0], requires_grad=True)
y = x * w
gx, gw = y.grad_fn(torch.tensor([1.0, 10.0]))
e = (x + 1).grad_fn(torch.ones(2))
s = x.sum().grad_fn(torch.tensor(2.0))
out = dict(gx=gx, gw=gw, e=e, s=s, x=x.grad)

# [group] edges_api

# [case] gradient_edge_in_grad | an edge instead of a tensor, as input and as output
x = torch.tensor([2.0], requires_grad=True)
h = x * x
y = h * 3
E = torch.autograd.graph.get_gradient_edge
out = dict(gi=torch.autograd.grad(y, [E(h), E(x)], retain_graph=True), go=torch.autograd.grad(E(y), x, grad_outputs=torch.ones(1), retain_graph=True))
y.backward(inputs=[E(x)])
out["g"] = x.grad

# [case] gradient_edge_of_constant | a constant has no edge; an edge compares like a tuple
x = torch.tensor([2.0], requires_grad=True)
out = {}
try:
    torch.autograd.graph.get_gradient_edge(torch.ones(1))
except (RuntimeError, ValueError) as e:
    out["error"] = e
e = torch.autograd.graph.get_gradient_edge(x * 2)
out.update(kind=type(e).__name__, fields=list(e._fields)[:2], nr=e[1], name=e[0].name())

# [case] edge_as_root | backward from an edge
x = torch.tensor([2.0, 3.0], requires_grad=True)
y = x * x
e = torch.autograd.graph.get_gradient_edge(y)
del y
torch.autograd.backward(e, torch.tensor([1.0, 10.0]))
out = dict(g=x.grad)

# [case] called_with_what_is_no_gradient | a node that is called takes Tensors and None, one for each output
x = torch.ones(2, requires_grad=True)
node, rows = x.exp().grad_fn, x.unbind()[0].grad_fn
out = {}
for name, call in dict(number=lambda: node(3), text=lambda: node("a"), array=lambda: node(np.ones(2)), rows=lambda: rows(torch.ones(()), 3), leaf=lambda: node.next_functions[0][0](1.0), none=lambda: node(None), few=lambda: rows(torch.ones(()))).items():
    try:
        out[name] = call()
    except Exception as e:
        out[name] = e

# [case] order_of_nodes | composed functions make their nodes in PyTorch's order, which is that of the hooks
F = torch.nn.functional
def order(y):
    found, nodes = [], [y.grad_fn]
    while nodes:
        node = nodes.pop(0)
        if node is not None and node not in found and "Accumulate" not in node.name():
            found.append(node)
            nodes += [n for n, _ in node.next_functions]
    return [(n.name(), found.index(n)) for n in sorted(found, key=lambda n: n._sequence_nr())]
a = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], requires_grad=True)
b = torch.tensor([[1.0, 0.5, -0.5], [0.75, 2.0, 1.0]], requires_grad=True)
out = dict(cosine=order(F.cosine_similarity(a, b)), inner=order(torch.inner(a, b)), dot=order(torch.tensordot(a, b, 2)), power=order(torch.float_power(a, b)), gates=order(torch.lstm_cell(a[:, :1], (b.detach(), b), torch.ones(12, 1), torch.ones(12, 3))[0]), hash=hash(a) == id(a))
