"""Calls of many functions of the library, each a line of a program: what is said of them must be true of the line."""

from __future__ import annotations

import contextlib
import itertools
import linecache
import warnings

BEFORE = """
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3))
w = torch.rand(3, 3, requires_grad=True)
x = torch.rand(5, 3)
y = torch.tensor([0, 1, 2, 1, 0])
loss = F.cross_entropy(net(x @ w), y)
loss.backward()
params = list(net.parameters())
square = lambda t: (t * t).sum()
class Doubled(Function):
    @staticmethod
    def forward(ctx, t):
        return t.detach() * 2
    @staticmethod
    def backward(ctx, g):
        return 2 * g
def closure():
    adam.zero_grad()
    error = net(x).pow(2).mean()
    error.backward()
    return error
adam = torch.optim.Adam(params, lr=0.1)
lbfgs = torch.optim.LBFGS(params, lr=0.1, max_iter=2)
"""

CALLS = """
nn.utils.clip_grad_norm_(params, 0.1)
nn.utils.clip_grad_norm_(params, 0.1, norm_type=float('inf'))
nn.utils.clip_grad_value_(params, 0.1)
nn.utils.get_total_norm([p.grad for p in params])
nn.utils.parameters_to_vector(params)
nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(params), params)
nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))
nn.utils.fusion.fuse_linear_bn_eval(net[0].eval(), net[1].eval())
nn.Linear(3, 4)
nn.Embedding(5, 3, padding_idx=0)
nn.Embedding.from_pretrained(w)
nn.LSTM(3, 4)
nn.Conv2d(1, 2, 3)
nn.BatchNorm1d(3)
nn.TransformerEncoderLayer(4, 2)
nn.MultiheadAttention(4, 2)
nn.Parameter(w)
nn.ParameterList([w, w.detach()])
nn.init.xavier_uniform_(w)
nn.init.orthogonal_(w)
nn.init.kaiming_normal_(w)
nn.Linear(3, 4)(x)
nn.LayerNorm(3)(x @ w)
nn.BatchNorm1d(3)(x @ w)
nn.Dropout(0.5)(x @ w)
nn.Dropout(0.5).eval()(x @ w)
nn.LSTM(3, 4)(x)
nn.GRU(3, 4)(x)
nn.MultiheadAttention(3, 1)(x, x, x)
nn.TransformerEncoderLayer(3, 1)(x)
nn.Identity()(w)
nn.Flatten()(w)
nn.MSELoss()(x @ w, x)
net(x)
net.state_dict()
net.load_state_dict(net.state_dict())
net.train()
net.zero_grad()
net.requires_grad_(False)
net.double()
copy.deepcopy(net)
copy.deepcopy(w)
copy.copy(w)
list(net.parameters())
adam.step()
adam.step(closure)
adam.zero_grad()
adam.state_dict()
lbfgs.step(closure)
torch.optim.SGD(params, lr=0.1, momentum=0.9)
torch.optim.SGD(params, lr=0.1, momentum=0.9).step()
torch.optim.RMSprop(params).step()
torch.optim.AdamW(params).step()
torch.optim.swa_utils.AveragedModel(net)
torch.optim.swa_utils.AveragedModel(net).update_parameters(net)
torch.optim.lr_scheduler.StepLR(adam, 1)
torch.autograd.grad(square(w), w)
torch.autograd.grad(square(w), w)[0]
torch.autograd.grad(square(w), w, create_graph=True)[0]
torch.autograd.backward(square(w))
square(w).backward()
torch.autograd.functional.jacobian(square, w)
torch.autograd.functional.hessian(square, w)
torch.autograd.functional.vjp(square, w)
torch.autograd.functional.jvp(square, w, torch.ones_like(w))
torch.autograd.functional.hvp(square, w, torch.ones_like(w))
torch.autograd.functional.vhp(square, w, torch.ones_like(w))
torch.autograd.gradcheck(square, w.double().detach().requires_grad_(), raise_exception=False)
torch.func.grad(square)(w)
torch.func.vmap(square)(w)
torch.func.functional_call(net, dict(net.named_parameters()), x)
torch.utils.checkpoint.checkpoint(square, w, use_reentrant=False)
torch.utils.checkpoint.checkpoint(square, w, use_reentrant=True)
torch.utils.checkpoint.checkpoint_sequential(net, 2, x, use_reentrant=False)
torch.utils.data.TensorDataset(x, y)
next(iter(torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2)))
torch.allclose(w, w)
torch.equal(w, w)
torch.isclose(w, w)
torch.is_tensor(w)
torch.sum(w)
torch.split(w, 3)
torch.chunk(w, 1)
torch.unbind(w[:1])
torch.tensor_split(w, 1)
torch.meshgrid(w[0], indexing='ij')
torch.atleast_1d(w)
torch.atleast_1d([w, w])
torch.broadcast_tensors(w)
torch.broadcast_tensors(w, x[:3])
torch.max(w, 0)
torch.max(w, 0).values
torch.sort(w)
torch.topk(w, 2)
torch.var_mean(w)
torch.std(w)
torch.einsum('ij,jk->ik', w, w)
torch.where(w > 0)
torch.where(w > 0, w, 0)
torch.nonzero(w, as_tuple=True)
torch.unique(w)
torch.linalg.svd(w)
torch.linalg.solve(w, w)
torch.linalg.norm(w)
torch.linalg.lu_factor(w)
torch.linspace(0, 1, 3)
torch.zeros_like(w)
torch.tensor([w[0, 0], w[0, 1]])
torch.as_tensor(w)
torch.from_numpy(x.numpy())
torch.save(net.state_dict(), io.BytesIO())
torch.manual_seed(0)
torch.set_grad_enabled(True)
torch.no_grad()
torch.result_type(w, x)
torch.distributions.Normal(w, 1.0)
torch.distributions.Normal(w, w.exp()).log_prob(x[:3])
torch.distributions.Normal(w, w.exp()).rsample()
torch.distributions.Categorical(logits=w).sample()
F.gelu(w)
F.relu(w)
F.softmax(w, dim=0)
F.normalize(w)
F.cosine_similarity(w, w)
F.cross_entropy(x @ w, y)
F.binary_cross_entropy_with_logits(w, w.detach())
F.layer_norm(w, (3,))
F.batch_norm(w, None, None, training=True)
F.dropout(w, training=False)
F.dropout(w, 0.5)
F.one_hot(y)
F.embedding(y, w)
F.pad(w, (1, 1))
F.linear(x, w)
F.mse_loss(x @ w, x)
F.gumbel_softmax(w)
F.scaled_dot_product_attention(w, w, w)
F.multi_head_attention_forward
w.detach()
w.data
w.detach().clone()
w.clone().detach()
w.grad
w.T
w.item
w.sum().item()
w.tolist()
w.detach().numpy()
w.view(9).unbind(0)
w.requires_grad_()
w.clone().requires_grad_()
w.register_hook(print)
w.to(torch.float64)
w.float()
w.long()
w.contiguous()
w.expand(2, 3, 3)
w.norm()
w.new_zeros(3)
w.new_tensor(w)
w.max(0)
w.type_as(x)
w.backward
w.is_leaf
w.__repr__()
f'{w}'
str(w.grad)
len(w)
bool((w > 0).any())
sum(w)
max(w[0])
sorted(w[0])
[F.relu(w)]
(F.relu(w), 1)
{'a': F.relu(w)}
w is w
w * 2
w[0]
w[0] + w[1]
-w
w ** 2 + 1
w if x.sum() > 0 else x
(lambda t: t.detach() * 2)(w)
Doubled.apply(w)
""".strip().splitlines()

NUMBERS = itertools.count()


def recorded(torch, record, program):
    """The trace of a program, and its variables; it may end with an error."""
    file = f"<names {next(NUMBERS)}>"
    source = (
        f"import copy, io\nF = nn.functional\n{BEFORE}\nwith record() as trace:\n    "
        + program.replace("\n", "\n    ")
        + "pass\n"
    )
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    space = {"torch": torch, "nn": torch.nn, "record": record, "Function": torch.autograd.Function}
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        exec(compile(source, file, "exec"), space)
    return space["trace"], space
