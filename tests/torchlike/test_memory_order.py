"""How results lie in memory: their strides, and what is drawn into them, are PyTorch's, recorded and live.

To record: `python -m tests.record memory_order`.
"""

import pytest
from recorded import check_live, differences, run, stored

import autograd_lab

START = """
import warnings
warnings.simplefilter("ignore")
torch.manual_seed(0)
t = torch.arange(12.0).view(4, 3).t()
p = torch.arange(24.0).view(2, 3, 4).permute(2, 0, 1)
q = torch.arange(24.0).view(2, 3, 4).transpose(1, 2)
cl = torch.arange(96.0).view(2, 3, 4, 4).permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
cn = torch.arange(150.0).view(2, 5, 5, 3).permute(0, 3, 1, 2)
idx = torch.zeros(3, 4, dtype=torch.int64).t()
b = p > 3
fortran = np.ones((3, 4), order="F")
batch_of_one = torch.arange(24.0).view(4, 6, 1, 1).view(1, 2, 2, 6).permute(0, 3, 1, 2).squeeze(0).unsqueeze(0)
"""

STRIDES = """
F.normalize(p,dim=1)
torch.kron(t,t)
torch.zeros(3,4).t()+torch.zeros(4,3)
cl+torch.zeros(2,3,4,4)
F.local_response_norm(cl,2)
F.normalize(p,dim=0)
torch.ones(2,1,1,1).transpose(0,1)*torch.ones(1,3,2).permute(2,1,0)
torch.cat([cl,torch.ones(2,1,4,4)],1)
torch.cat([torch.ones(2,1,4,4),cl],1)
torch.cat([p,p.contiguous()])
(p-p.mean(1,keepdim=True))/(p.var(1,keepdim=True)+1)
cl-cl.mean(1,keepdim=True)
torch.ones(1,3,1,1)*cl
torch.ones(4)*p.transpose(0,2)
torch.zeros(4,3)+torch.zeros(3,4).t()
torch.maximum(t,torch.zeros(3,4))
torch.addcmul(t,torch.zeros(3,4),torch.zeros(3,4))
torch.lerp(torch.zeros(3,4),t,0.5)
t.pow(torch.zeros(3,4))
torch.arange(4.0).view(1,4)+torch.zeros(4,3).t()
t.softmax(-1)
t.log_softmax(-1)
p.softmax(0)
p.softmax(1)
F.softmin(t,-1)
F.layer_norm(p,[3])
F.group_norm(p,2)
F.batch_norm(q,torch.zeros(4),torch.ones(4))
F.batch_norm(q,None,None,training=True)
F.batch_norm(cl,torch.zeros(3),torch.ones(3))
F.batch_norm(cl,None,None,training=True)
F.batch_norm(cn,None,None,training=True)
F.instance_norm(q)
F.instance_norm(cl)
F.group_norm(cl,3)
p.cumsum(0)
p.cumprod(0)
p.logcumsumexp(0)
p.cummax(0)[0]
p.cummin(1)[0]
p.roll(1,0)
p.roll((1,1),(0,1))
p.roll(1)
p.sum(1)
p.sum(0)
p.sum((0,1))
p.sum(1,keepdim=True)
p.mean(1)
p.mean(0,keepdim=True)
p.std(1)
p.var(0)
p.prod(1)
p.amax(1)
p.amin(0)
p.max(1)[0]
p.max(1)[1]
p.min(0)[0]
p.median(1)[0]
p.argmax(1)
p.norm(dim=1)
p.norm(p=1,dim=0)
p.logsumexp(1)
b.any(1)
b.all(0)
p.nansum(1)
p.nanmean(1)
p.count_nonzero(1)
p.aminmax(dim=1)[0]
t.gather(1,torch.zeros(3,4,dtype=torch.int64))
t.scatter(1,idx[:3],1.)
t.scatter_add(0,idx.t()*0,t)
p.index_select(0,torch.tensor([0,1]))
p.index_select(2,torch.tensor([0,1]))
p[torch.tensor([0,1])]
t[[0,1]]
p.take(torch.tensor([[0,1],[2,3]]).t())
p.masked_fill(b,0.)
p.masked_select(b)
torch.where(b,p,p)
torch.where(b,p,0.)
p.flip(0)
t.sort(0)[0]
t.sort(0)[1]
t.argsort(0)
t.topk(2,0)[0]
t.kthvalue(1,0)[0]
t.tril()
p.triu()
F.one_hot(t.long(),12)
torch.cat([t,t])
torch.cat([cl,cl],1)
torch.stack([t,t])
F.pad(t,(1,1))
F.pad(cl,(1,1))
F.pad(cl,(1,1,1,1),mode='reflect')
F.pad(cl,(1,1,1,1),mode='replicate')
F.conv2d(cl,torch.ones(2,3,1,1))
F.conv2d(cn,torch.ones(2,3,1,1))
F.conv2d(cl,torch.ones(3,1,2,2),groups=3)
F.conv_transpose2d(cl,torch.ones(3,2,1,1))
F.max_pool2d(cl,2)
F.avg_pool2d(cl,2)
F.adaptive_avg_pool2d(cl,2)
F.adaptive_max_pool2d(cl,2)
F.avg_pool1d(q,2)
F.batch_norm(q.unsqueeze(-1),None,None,training=True)
F.max_pool1d(q.detach().repeat(1,1,2),2)
F.conv2d(batch_of_one-batch_of_one.mean(1,keepdim=True),torch.ones(2,6,1,1))
F.conv1d(q,torch.ones(2,4,1))
F.interpolate(cl,scale_factor=2)
F.interpolate(cl,scale_factor=2,mode='bilinear')
F.interpolate(cl,scale_factor=2,mode='bicubic')
F.pixel_shuffle(cl.repeat(1,4,1,1),2)
F.pixel_unshuffle(cl,2)
F.unfold(cl,2)
F.grid_sample(cl,torch.zeros(2,2,2,2))
p+1
p+p
p*p.clone()
p.exp()
p.relu()
F.gelu(p)
F.leaky_relu(p)
F.dropout(p,0.0)
F.dropout(p,0.5)
F.dropout2d(cl,0.5)
F.softplus(p)
F.prelu(p,torch.tensor([.2]))
F.hardtanh(p)
p.clamp(0,3)
p.pow(2)
p.float().double()
p>3
p.bool()
p.clone()
p.contiguous()
p.detach()
torch.ones_like(p)
torch.rand_like(p)
torch.randn_like(p)
torch.randint_like(p,9)
p.new_zeros(p.shape)
torch.empty_like(p)
p.repeat(1,2,1)
p.repeat_interleave(2,0)
p.tile(2,1,1)
p.expand(4,2,3)
p.addcmul(p,p)
p.lerp(p,.5)
torch.lerp(p,p,p)
p@p.transpose(1,2)
t@t.t()
t.t()@t
torch.mm(t.t(),t)
p.matmul(torch.ones(3,2))
t.mv(torch.ones(4))
torch.einsum('abc->cba',p)
torch.einsum('abc->ca',p)
torch.bmm(p,p.transpose(1,2))
torch.baddbmm(torch.zeros(4,2,2),p,p.transpose(1,2))
torch.addmm(torch.zeros(4,4),t.t(),t)
F.linear(t.t(),torch.ones(2,3))
F.linear(p,torch.ones(2,3))
F.linear(p,torch.ones(2,3),torch.ones(2))
torch.outer(t[0],t[1])
torch.cdist(t,t)
F.embedding(idx,torch.ones(2,5))
F.scaled_dot_product_attention(p,p,p)
F.cosine_similarity(p,p,dim=1)
F.mse_loss(p,p*2,reduction='none')
F.cross_entropy(t,torch.zeros(3,dtype=torch.int64),reduction='none')
F.cross_entropy(p,torch.zeros(4,3,dtype=torch.int64),reduction='none')
F.binary_cross_entropy_with_logits(p,p,reduction='none')
F.kl_div(p,p.exp(),reduction='none')
F.smooth_l1_loss(p,p*2,reduction='none')
torch.diff(p,dim=0)
torch.cross(p,p,dim=2)
torch.linalg.vector_norm(p,dim=1)
torch.linalg.norm(t,dim=1)
torch.meshgrid(t[0],t[1],indexing='ij')[0]
torch.broadcast_to(t,(2,3,4))
torch.tensor_split(p,2)[0]
torch.block_diag(t,t)
torch.diag_embed(t)
torch.tril_indices(3,3)
torch.cov(t)
torch.corrcoef(t)
torch.quantile(t,.5,dim=1)
torch.bucketize(t,torch.tensor([1.,3.]))
torch.searchsorted(torch.tensor([1.,3.]),t)
torch.unique(t,dim=0)
torch.addbmm(torch.zeros(2,2),p,p.transpose(1,2))
torch.fmod(p,2)
torch.heaviside(p,p)
torch.atan2(p,p)
torch.special.logit(p/30)
torch.nan_to_num(p)
torch.round(p)
torch.frac(p)
torch.hypot(p,p)
torch.renorm(p,2,0,1.)
torch.index_add(p,0,torch.tensor([0]),p[:1])
torch.index_fill(p,0,torch.tensor([0]),1.)
torch.index_copy(p,0,torch.tensor([0]),p[:1])
torch.select_scatter(p,p[0],0,0)
torch.slice_scatter(p,p[:1],0,0,1)
torch.diagonal_scatter(t,torch.zeros(3))
torch.masked_scatter(p,b,p)
p.index_put((torch.tensor([0]),),torch.tensor(1.))
p.unfold(0,2,1)
torch.zeros(4,3)+torch.zeros(3,4).t()
p+torch.zeros(3)
cl*torch.ones(1,3,1,1)
p.sum(1)+1
p[::2].exp()
p[:,::2].sum(0)
F.threshold(p,1.,0.)
F.celu(p)
nn.LSTM(3,2,batch_first=True)(torch.ones(2,4,3))[0]
nn.LSTM(3,2)(torch.ones(4,2,3))[0]
nn.GRU(3,2,batch_first=True,bidirectional=True)(torch.ones(2,4,3))[0]
nn.MultiheadAttention(4,2)(torch.ones(3,2,4),torch.ones(3,2,4),torch.ones(3,2,4))[0]
nn.MultiheadAttention(4,2,batch_first=True)(torch.ones(2,3,4),torch.ones(2,3,4),torch.ones(2,3,4))[0]
nn.TransformerEncoderLayer(4,2,8)(torch.ones(3,2,4))
nn.Flatten()(cl)
nn.Upsample(scale_factor=2)(cl)
torch.fliplr(t)
torch.movedim(p,0,1)
torch.chunk(p,2)[0]
torch.vstack([t,t])
torch.hstack([t,t])
torch.cartesian_prod(t[0],t[1])
torch.combinations(t[0])
torch.trapezoid(p,dim=0)
torch.msort(t)
torch.mode(p,1)[0]
torch.dist(p,p)
torch.histc(t)
torch.softmax(p,1,dtype=torch.float64)
p.sum(1,dtype=torch.float64)
torch.std_mean(p,0)[1]
F.hardswish(p)
F.rrelu(p,training=True)
F.logsigmoid(p)
F.gumbel_softmax(p,dim=1)
F.fold(torch.ones(1,4,9),(4,4),2)
F.pairwise_distance(p,p)
F.feature_alpha_dropout(cl,.5)
F.alpha_dropout(p,.5)
torch.tensor(fortran)
torch.Tensor(fortran)
torch.as_tensor(fortran)
torch.tensor(np.ones((4, 6))[:, ::2].T)
torch.linalg.inv(torch.eye(3).t()+1)
torch.linalg.cholesky((torch.eye(3)*2).t())
torch.linalg.solve(torch.eye(3),t)
torch.linalg.qr(t)[0]
torch.linalg.eigh(torch.eye(3))[1]
torch.linalg.svd(t)[0]
"""

DIFFERENT = """
p[:,torch.tensor([0,1])]
p[:,:,torch.tensor([0,1])]
p[b[0,0,0]]
torch.stack([cl,cl])
F.adaptive_avg_pool2d(cl,1)
torch.einsum('ij,kj->ki',t,t)
torch.einsum('ij,jk->ki',torch.ones(2,3),torch.ones(3,4))
torch.rot90(t)
p[:,::2]+1
F.rms_norm(p,[3])
F.max_pool1d(q,2)
"""
"""Where the strides are others here, on purpose or not: see the README of autograd/."""

DRAWS = """
F.dropout(torch.ones(3,4)+torch.ones(4,3).t(),.5)
F.dropout(torch.ones(4,3).t()+torch.ones(3,4),.5)
F.dropout(F.normalize(torch.arange(1.0,25.0).view(2,3,4).permute(2,0,1),dim=1),.5)
F.dropout(torch.ones(4,3).t().softmax(-1),.5)
F.dropout(F.conv2d(torch.ones(1,2,2,2).permute(0,2,3,1).contiguous().permute(0,3,1,2),torch.ones(2,2,1,1)),.5)
torch.randn_like(torch.ones(2,3).t())
torch.randn_like(torch.ones(4,5).t())
torch.rand_like(torch.ones(4,5).t())
torch.randint_like(torch.ones(4,5).t(),9)
torch.rand_like(torch.ones(4,6)[:,::2].t())
torch.randn_like(torch.ones(4,6)[:,::2])
torch.multinomial(torch.ones(3,4).t(),2)
torch.multinomial(torch.arange(1.,16.).view(5,3).t(),2)
torch.multinomial(torch.arange(1.,16.).view(5,3).t(),2,replacement=True)
F.dropout(torch.ones(2,3).t(),.5,inplace=True)
F.dropout(torch.ones(4,6)[:,::2].t(),.5)
F.dropout(torch.ones(6,8)[:,::2].t(),.5)
F.dropout(torch.ones(6,8)[:,::2],.5)
F.dropout(torch.ones(3).expand(4,3),.5)
torch.rand_like(torch.ones(3).expand(4,3))
torch.bernoulli(torch.full((2,3),.5).t())
torch.tensor(torch.ones(2,3).t())
torch.nn.Dropout(.5)(torch.ones(2,3,4).permute(2,0,1))
F.alpha_dropout(torch.ones(2,3).t(),.5)
torch.empty(3,4).t().normal_()
F.rrelu(-torch.ones(3,4).t(),training=True)
"""

STRIDES, DIFFERENT, DRAWS = [text.strip().splitlines() for text in (STRIDES, DIFFERENT, DRAWS)]
PROGRAMS = {
    **{line: START + f"out['strides'] = list(({line}).stride())" for line in STRIDES + DIFFERENT},
    **{line: START + f"r = {line}\nout['r'] = r, list(r.stride())" for line in DRAWS},
}
STORED = stored(__file__)


@pytest.mark.parametrize("name", STRIDES + DRAWS)
def test_the_result_lies_in_memory_as_in_pytorch(name):
    assert not differences(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_listed_as_different_is(name):
    """An entry that agrees by now belongs in the other list."""
    assert differences(run(PROGRAMS[name], autograd_lab), STORED["results"][name])


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


@pytest.mark.parametrize(
    "line",
    [
        "t.softmax(-1)", "F.layer_norm(p, [3])", "p.sum(1)", "p.cumsum(0)", "p.roll(1, 0)", "F.conv2d(cl, torch.ones(2, 3, 1, 1))",
        "t.sort(0)[0]", "F.batch_norm(cl, None, None, training=True)",
    ],
)  # fmt: skip
def test_the_layout_changes_no_number_and_no_gradient(line):
    """The same operation on a copy that lies row by row."""
    found = {}
    for copied in (False, True):
        space = {"torch": autograd_lab, "F": autograd_lab.nn.functional, "np": __import__("numpy")}
        exec(START, space)
        leaves = {}
        for name in ("t", "p", "cl"):
            leaf = space[name].clone().requires_grad_()
            leaves[name] = leaf
            space[name] = leaf.contiguous() if copied else leaf * 1
        y = eval(line, space)
        (y * autograd_lab.arange(float(y.numel())).view(y.shape)).sum().backward()
        grads = [leaf.grad.flatten().tolist() for leaf in leaves.values() if leaf.grad is not None]
        found[copied] = y.flatten().tolist(), grads
    assert found[False][0] == pytest.approx(found[True][0], rel=1e-5, abs=1e-6)
    assert len(found[False][1]) == 1
    assert found[False][1][0] == pytest.approx(found[True][1][0], rel=1e-4, abs=1e-4)
