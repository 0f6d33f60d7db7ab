"""Corners of operators, layers and the engine: strange sizes, types and orders, and what is refused.

Found by running PyTorch's own tests and the samples of its operators on this library; each line once gave another number,
another error, or none. Recorded and live.

To record: `python -m tests.record corners`.
"""

import pytest
from recorded import check_live, differences, run, stored

START = """
import warnings
warnings.simplefilter("ignore")
torch.manual_seed(0)
T, nan, inf = torch.tensor, float("nan"), float("inf")

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:140]}"

leaf = torch.arange(4.0, requires_grad=True)
square, cube = torch.arange(1.0, 5).view(2, 2), torch.arange(8.0).view(2, 2, 2)
pair, three, wide = T([1.0, 2]), T([1.0, 2, 3]), torch.arange(6.0).view(2, 3)
ints, bytes_ = torch.ones(3, dtype=torch.int32), torch.ones(3, dtype=torch.uint8)
mask, truths = T([True, False, False]), T([True, False])
none = torch.zeros((0, 4), dtype=torch.int64)
block = torch.empty(2, 3, 4, 5)
endless = [0]
endless.append(endless)
image = torch.ones(4, 3, 8, 8).contiguous(memory_format=torch.channels_last)
ones = torch.ones(1, 2, 3, 3)
"""

LINES = """
[leaf._grad, setattr(leaf, "_grad", torch.ones(4)), leaf.grad, leaf._grad is leaf.grad, (leaf * 2)._grad, leaf.detach()._grad]
setattr(leaf, "_grad", torch.ones(3))
torch.arange(0.1, -7.9, -4.0, dtype=torch.int64)
torch.arange(0.5, 5.7, 1.9, dtype=torch.int64)
torch.arange(0.5, 5.7, 0.5, dtype=torch.int64)
torch.arange(0.5, 5.7, 0.5, dtype=torch.int32)
torch.arange(0, float('inf'))
torch.arange(0, float('nan'))
torch.arange(float('-inf'), 1)
torch.arange(float('-inf'), 1, 2, dtype=torch.int64)
torch.arange(5, 0)
torch.arange(0, 5, 0)
torch.linspace(4.3, -3, 6, dtype=torch.int64)
torch.linspace(0, 9.7, 4, dtype=torch.int32)
torch.logspace(0, 1.2, 2, dtype=torch.int64)
torch.logspace(0, 3.9, 4, 2.5, dtype=torch.int64)
torch.linspace(0, 1, 1, dtype=torch.int64)
torch.linspace(torch.tensor([1, 2]), 2, 1)
torch.linspace(torch.tensor([1, 2]), torch.tensor([1, 2]), 1)
torch.linspace(1, torch.tensor([1, 2]), 1)
torch.linspace(1, torch.tensor(5.0), 3)
torch.logspace(1, torch.tensor([5.0]), 3)
(torch.diff(leaf, 0), torch.diff(leaf, 0) is leaf, torch.diff(leaf, 0)._is_view(), torch.diff(leaf, 0, prepend=leaf))
torch.diff(leaf, -1)
torch.diff(torch.tensor(1.0))
torch.diff(leaf, 5)
mask.index_add(0, torch.tensor([1, 1]), torch.tensor([True, True]))
mask.index_add(0, torch.tensor([1, 1]), torch.tensor([True, True]), alpha=False)
mask.scatter_add(0, torch.tensor([1, 1]), torch.tensor([True, True]))
mask.index_put((torch.tensor([1, 1]),), torch.tensor([True, True]), accumulate=True)
mask.prod(dtype=torch.bool)
mask.prod(0, dtype=torch.bool)
torch.prod(torch.ones(2, 2), 1, dtype=torch.bool)
mask.sum(dtype=torch.bool)
mask.cumsum(0, dtype=torch.bool)
torch.eq(2, torch.ones(2))
torch.add(2, torch.ones(2))
torch.sub(2, torch.ones(2))
torch.rsub(2, torch.ones(2))
torch.maximum(2, torch.ones(2))
torch.atan2(2, torch.ones(2))
torch.isclose(torch.ones(2), torch.ones(2), rtol=-0.4)
torch.allclose(torch.ones(2), torch.ones(2), rtol=-0.4)
torch.aminmax(torch.ones(5, 0, 5), dim=0)
torch.amax(torch.ones(5, 0, 5), dim=0)
torch.amax(torch.ones(5, 0, 5), dim=1)
torch.max(torch.ones(5, 0, 5), dim=0)
torch.ones(2, 3).cumsum_(1, dtype=torch.float64)
torch.ones(2, 3, dtype=torch.int64).cumsum_(1, dtype=torch.int64)
torch.ones(2, 3, dtype=torch.int64).cumprod_(1, dtype=torch.int64)
torch.zeros(5).geometric_(0.3)
torch.zeros(5, dtype=torch.float64).geometric_(0.3)
torch.zeros(5, dtype=torch.int64).geometric_(0.3)
torch.zeros(5).geometric_(-1)
torch.rand(1)
torch.roll(torch.tensor(1.0), 0, 0)
torch.roll(torch.tensor(1.0), 1)
torch.narrow(torch.ones(3, 4), 1, torch.tensor([1, 2]), 2)
torch.narrow(torch.ones(3, 4), 1, torch.tensor(True), 2)
torch.narrow(torch.ones(3, 4), 1, torch.tensor(1), 2)
torch.nn.functional.hardtanh(torch.ones(3, 4), 1, 0)
torch.nn.functional.triplet_margin_with_distance_loss(*[torch.ones(3, 4)] * 3, reduction='abc')
torch.nn.functional.triplet_margin_loss(torch.ones(3), torch.ones(3, 4), torch.ones(3, 4))
torch.nn.functional.triplet_margin_with_distance_loss(torch.ones(3), torch.ones(3, 4), torch.ones(3, 4))
torch.nn.functional.pad(torch.arange(16.0).view(1, 1, 4, 4), (-4, 5, 0, 0), 'replicate')
torch.nn.functional.pad(torch.arange(16.0).view(1, 1, 4, 4), (-1, 2, 0, 0), 'replicate')
torch.nn.functional.pad(torch.arange(16.0).view(1, 1, 4, 4), (-1, 1, -2, 1), 'circular')
torch.nn.functional.pad(torch.arange(16.0).view(1, 1, 4, 4), (-1, 1, -2, 1), 'reflect')
torch.cov(torch.ones(5), fweights=torch.ones(5, 5))
torch.unique(torch.tensor(3), return_inverse=True, return_counts=True)
torch.unique_consecutive(torch.tensor(3), return_inverse=True, return_counts=True)
torch.ones(5, 5, 5)[:, 0:0].stride()
torch.ones(5, 5, 5).narrow(1, 0, 0).stride()
torch.ones(1).expand(1, 1).stride()
torch.ones(2, 3, 2, 3).bool(memory_format=torch.channels_last).stride()
torch.ones(2, 3, 2, 3).byte(memory_format=torch.channels_last).stride()
torch.ones(2, 3, 2, 3).double(memory_format=torch.channels_last).stride()
torch.ones(2).to(torch.ones(2).double(), True, True)
torch.ones(2).to(torch.float64, True, True)
torch.ones(2).to('cpu', torch.float64, True, True)
torch.trapz(torch.arange(3), torch.arange(3))
torch.cumulative_trapezoid(torch.arange(3))
torch.ones(2, 2, dtype=torch.int64).div_(torch.ones(3, 2, 2))
torch.ones(2, 2, dtype=torch.int64).div_(2)
torch.nn.functional.avg_pool1d(torch.arange(9).view(1, 1, 9), 3, padding=1)
torch.nn.functional.avg_pool2d(torch.arange(-8, 8).view(1, 1, 4, 4), 3, padding=1)
torch.nn.functional.avg_pool2d(torch.arange(-8, 8).view(1, 1, 4, 4), 2, padding=-1)
torch.nn.functional.max_pool1d(torch.arange(-8, 8.0).view(1, 4, 4), 2, padding=-1)
torch.nn.functional.max_pool2d(torch.arange(-8, 8.0).view(1, 1, 4, 4), 2, padding=-1)
torch.nn.functional.conv1d(torch.ones(1, 1, 4).long(), torch.ones(1, 1, 2).long(), torch.ones(1).double())
torch.nn.functional.conv1d(torch.ones(1, 1, 4), torch.ones(1, 2), torch.ones(1))
torch.nn.functional.conv2d(torch.ones(1, 1, 4, 3), torch.ones(1, 2, 2), torch.ones(1), padding='same')
torch.nn.functional.local_response_norm(torch.ones(1, 3, 4).long(), 2)
torch.nn.functional.margin_ranking_loss(torch.ones(3).long(), torch.ones(3).long(), torch.ones(3).long(), margin=0.5)
torch.nn.functional.pairwise_distance(torch.ones(3).long(), torch.ones(3).long())
torch.nn.functional.cosine_embedding_loss(torch.ones(3, 2).long(), torch.ones(3, 2).long(), torch.ones(3).long(), margin=0.3)
torch.unravel_index(torch.tensor([[1, 2], [3, 4]]), (4, 5))[0]._is_view()
torch.unique(T([2.0, nan, 2, nan]), return_inverse=True, return_counts=True)
torch.unique_consecutive(T([2.0, nan, nan, 2, 2]), return_inverse=True, return_counts=True)
torch.unique(torch.empty(0, 2), dim=1)
torch.unique_consecutive(torch.empty(0, 2), dim=1)
torch.unique(torch.empty(0, 0), dim=1)
torch.unique(torch.empty(0, 2), dim=0, return_inverse=True)
torch.unique(T(2.0), dim=0)
torch.unique_consecutive(T(2.0), dim=0)
torch.nansum(T([1.7, 2.6, nan], dtype=torch.float64), dtype=torch.int32)
T([1.7, 2.6]).sum(dtype=torch.int32)
torch.ones(4, 4, 5, dtype=torch.int8)[:, :, 1:].view(torch.float32)
torch.ones(4, 4, 5, dtype=torch.int8).as_strided((4, 4, 4), (4, 1, 1)).view(torch.float32)
torch.ones(3, dtype=torch.int8).view(torch.float32)
torch.ones(3, 4).t().view(torch.int16)
torch.ones(3, 4).t().view(torch.int32).shape
torch.ones(3, 4).view(torch.int16).shape
torch.ones(3, 4)[:, ::2].view(torch.int16).shape
torch.ones(3, 4)[::2].view(torch.float64).shape
torch.ones(3, 4)[:, :2].view(torch.float64).shape
torch.ones(3, 5)[:, :2].view(torch.float64).shape
torch.adjoint(T([1.0, 2]))
torch.adjoint(T(1.0))
T(1.0).mH
T(1.0).H
torch.searchsorted(three, T([2.0]), right=True, side='left')
torch.searchsorted(three, T([2.0]), side='bad')
torch.searchsorted(T([True]), T([True]))
torch.searchsorted(three, T([2.0]), sorter=T([0, 1]))
torch.searchsorted(three, T([2.0]), sorter=T([0, 1, 5]))
torch.searchsorted(three, T([2.0]), sorter=T([0, 1, 2.0]))
torch.searchsorted(T(1.0), T([2.0]))
torch.searchsorted(torch.ones(2, 3), 2.0)
torch.searchsorted(three, 2.0)
torch.searchsorted(three, T(2.0))
torch.searchsorted(three, T([2]))
torch.bucketize(T([2]), three)
torch.bucketize(T([2.0]), torch.ones(2, 2))
torch.searchsorted(torch.arange(6.0).view(3, 2).t(), torch.ones(2, 1))
torch.bucketize(torch.arange(6.0).view(3, 2).t(), three)
torch.searchsorted(torch.arange(6.0).view(2, 3), torch.ones(3, 1))
torch.quantile(three, torch.ones(1, 1))
torch.quantile(three, T(0.5, dtype=torch.float64))
torch.quantile(three, T(1.5))
torch.quantile(three, 1.5)
torch.quantile(three, T(nan))
torch.bincount(three)
torch.bincount(T([True]))
torch.bincount(T([1, 2]), weights=T([1.0]))
torch.bincount(T([1, 2]), weights=torch.ones(2, 1))
torch.bincount(T([1, 2]), minlength=-1)
torch.bincount(T([-1, 2]))
torch.bincount(torch.ones(2, 2).long())
torch.bincount(T([1, 2]), weights=T([1, 2]))
torch.bincount(torch.empty(0).long(), minlength=3)
torch.kthvalue(torch.ones(2, 0), 1, dim=1)
torch.kthvalue(torch.ones(2, 3), 4, dim=1)
torch.histc(T([1.0, inf]))
torch.histc(three, bins=0)
torch.histc(three, bins=3, min=5, max=2)
torch.histc(T([1, 2]), bins=3)
torch.histc(torch.empty(0), bins=3)
torch.histc(three, bins=3, min=2, max=2)
torch.histc(three, bins=2, min=-5, max=2)
torch.take_along_dim(torch.ones(2), T([0, 1], dtype=torch.int32), 0)
torch.unravel_index(T(5), (2, 2))
torch.linalg.vector_norm(torch.ones(2).double(), dtype=torch.float32)
torch.ones(3)[[slice(0, 1)]]
torch.ones(3)[T([1, 0, 1], dtype=torch.uint8)]
torch.ones(3, 3)[T([1, 0, 1], dtype=torch.uint8), T([1, 0, 1], dtype=torch.uint8)]
torch.ones(3, 0)[:, [0, 1]]
torch.where(T([1, 0], dtype=torch.uint8), 1.0, 0.0)
torch.tensor_split(torch.ones(4, 4), T(1.1))
torch.broadcast_shapes((-1,))
torch.broadcast_shapes(1.1)
torch.broadcast_shapes(1, (2, 1))
torch.addcmul(square, 0.5, square, square)
torch.addcdiv(square, 0.5, square, square)
torch.add(square, 2, square)
torch.sub(square, 2, square)
square.clone().add_(2, square)
square.clone().sub_(2, square)
square.add(2, square)
square.sub(2, square)
square.clone().addcmul_(0.5, square, square)
square.clone().addcdiv_(-0.5, square, square)
square.addcmul(0.5, square, square)
square.addcdiv(0.5, square, square)
torch.addmm(0.5, square, 0.5, square, square)
torch.addmm(0.5, square, square, square)
square.addmm(0.5, 0.5, square, square)
square.addmm(0.5, square, square)
square.clone().addmm_(0.5, square, square)
square.clone().addmm_(0.5, 0.5, square, square)
torch.addmv(0.5, pair, 0.5, square, pair)
pair.addmv(0.5, square, pair)
torch.baddbmm(0.5, cube, 0.5, cube, cube)
torch.addbmm(0.5, square, 0.5, cube, cube)
torch.addr(0.5, square, 0.5, pair, pair)
square.addr(0.5, pair, pair)
torch.add(ints, ints, alpha=1.1)
torch.sub(ints, ints, alpha=1.1)
ints.clone().add_(ints, alpha=1.1)
torch.rsub(ints, ints, alpha=1.1)
torch.add(truths, truths, alpha=1.1)
torch.add(truths, truths, alpha=2)
torch.add(ints, ints, alpha=True)
torch.add(square, square, alpha=True)
torch.add(truths, truths, alpha=True)
torch.add(truths, truths, alpha=False)
torch.add(bytes_, bytes_, alpha=-1)
torch.add(bytes_.to(torch.int8), bytes_.to(torch.int8), alpha=300)
torch.add(ints, 2, alpha=3)
torch.add(ints, square[0, 0], alpha=1.5)
torch.add(ints, 2.5, alpha=1.5)
torch.sub(bytes_, bytes_, alpha=3)
bytes_.index_add(0, T([0]), bytes_[:1], alpha=-1)
torch.add(ints, ints, alpha=-3)
torch.sub(truths, truths)
1 - truths
torch.sub(square, square, alpha=True)
torch.add(1, 2)
torch.mul(2, 3)
torch.sub(3, 2)
torch.true_divide(1, 2)
torch.div(1, 2)
torch.add(True, True)
torch.add(1.5, 2)
torch.remainder(5, ints)
torch.floor_divide(7, 2)
torch.pow(2, 3)
torch.maximum(1, 2)
torch.eq(1, ints)
torch.fmod(5, ints)
torch.bitwise_and(1, ints)
torch.sub(1, ints)
torch.rsub(ints, 1)
torch.mul(2, ints)
torch.div(2, ints)
torch.cdist(T([[1.0, 2], [1, 3]]), T([[1.0, 2], [1, 2]]), p=0.5)
torch.cdist(T([[1, 2]]), T([[1, 2]]))
bytes_ ** (-1)
torch.renorm(torch.ones(2, 2).long(), 2, 0, 1)
torch.round(ints, decimals=1)
torch.arange(0, 2, dtype=torch.bool)
truths.topk(1)
torch.linspace(0, 1, 2.5)
torch.range(1, 0)
torch.range(0, 1, 0)
torch.full((2,), T([3]))
torch.tril_indices(3, -1)
torch.linspace(-2.7, 3.2, 5, dtype=torch.int64)
torch.linspace(-2.7, 3.2, 5, dtype=torch.uint8)
torch.arange(-2.5, 3, dtype=torch.int32)
torch.arange(0, 3, 0.7, dtype=torch.int32)
torch.arange(-2.5, 3, dtype=torch.int64)
torch.nan_to_num(T([inf, -inf, nan, 3.0]).half())
T([inf, -inf, nan, 3.0]).half().nan_to_num_(nan=1 / 3)
torch.nan_to_num(T([inf, -inf, nan, 3.0]).half(), neginf=-7e4)
torch.i0(T([inf, -inf, nan, 10.0]))
torch.i0(T([709.7, -709.74], dtype=torch.float64))
torch.special.i1(T([inf, -inf, nan]))
torch.div(T([-76.4, 90.56, 76.4]).half(), T([1.076, -0.08075, -0.2087]).half(), rounding_mode="trunc")
torch.div(T([94.06, -74.9, 69.8, 3, -3, 0, inf]).half(), T([0.03943, -0.1017, 0.04816, 0, 6e-8, -2, 3]).half(), rounding_mode="floor")
T([94.06, -74.9, -69]).half() // T([0.03943, -0.1017, -0.02495]).half()
T([94.06, -74.9, -69]).half().floor_divide_(T([0.03943, -0.1017, -0.02495]).half())
ints.__rlshift__("a")
ints.__rrshift__(None)
ints.__rlshift__(2)
torch.nonzero(mask, as_tuple=True, out=none)
torch.histogram(T(1.0), T(1.0).double())
torch.nanquantile(T([1, 2]), 0.5)
torch.nanquantile(T([1.0]), 1.5)
torch.nanmean(pair, 0, dtype=torch.int64)
torch.frexp(pair, out=(pair.double(), T([1, 2], dtype=torch.int32)))
torch.frexp(pair, out=(pair.clone(), T([1, 2])))
torch.histogram(pair, 2, out=(pair.double(), pair.clone()))
torch.histogram(pair, pair, out=(pair.clone(), T([1])))
torch.LongTensor((6, 0), 1, 1, 0)
torch.FloatTensor("a")
torch.FloatTensor(2.5)
torch.FloatTensor(2, 2.5)
torch.Tensor(device='cpu')
torch.Tensor([1.,2], device='cpu')
torch.Tensor(2, 3, device='cpu').shape
torch.Tensor([1.,2], device='cuda')
torch.Tensor(T([1.]), device='cpu')
torch.Tensor(T([1])).dtype
torch.FloatTensor(T([1]))
torch.LongTensor(T([1]))
torch.LongTensor(T([1.]))
torch.LongTensor(T([1]), device='cpu')
pair.new(T([1]))
pair.new(2, 2.5)
pair.new(size=(3,), device='cuda')
pair.new(data=[1])
torch.Tensor(size=(2,3)).shape
torch.Tensor(torch.Size([2,3]), device='cpu').shape
torch.Tensor(data=[1.])
torch.FloatTensor(other=T([1.]))
torch.Tensor(T(2.5))
torch.Tensor(T(2)).dtype
torch.Tensor(np.array([1.,2]))
torch.Tensor(np.int64(3)).shape
torch.Tensor(np.float64(3))
torch.Tensor(range(3))
torch.Tensor(True)
torch.Tensor(None)
torch.Tensor(())
torch.Tensor([])
torch.Tensor().shape
torch.Tensor(2, 0, 3).shape
torch.Tensor(-1)
torch.Tensor([[1,2],[3,4]])
torch.Tensor((2,3))
torch.LongTensor(T(2), T(3)).shape
torch.Tensor(T(2), 3).shape
torch.LongTensor(2, T(3)).shape
pair.new(size=(3, 4)).shape
pair.new([3, 4], device='cpu')
torch.Tensor("a")
torch.Tensor(["a"])
torch.Tensor({1:2})
torch.BoolTensor([1,0])
torch.ByteTensor([300])
torch.HalfTensor([1e9])
torch.zeros(1).resize_([0, 4, 2305843009213693952])
torch.empty([0, 4, 2305843009213693952])
torch.empty_strided([8, 8], [2**61, 1], dtype=torch.float64)
torch.zeros([0, 4, 2305843009213693952])
torch.empty(3).random_(2**24+2, 2**25).shape
torch.empty(3).random_(0, 2**25+3).shape
torch.empty(3).half().random_(-3000, 4000).shape
torch.empty(3).random_().shape
torch.randint(0, 2**24+5, (2,), dtype=torch.float32).shape
torch.randint_like(torch.ones(2), 2**24+5).shape
torch.tensor(endless)
torch.as_tensor([[1, 2], endless])
torch.tensor([endless, 1])
torch.set_num_threads(2**31)
torch.set_num_threads("a")
torch.set_num_threads(True)
torch.set_num_interop_threads(-1)
torch.is_deterministic_algorithms_warn_only_enabled()
torch.bernoulli(torch.ones(3), out=torch.zeros(3,dtype=torch.bool))
torch.i0(torch.ones(4,3,8,8).contiguous(memory_format=torch.channels_last)).stride()
torch.empty_permuted((2,3,4),(1,2,0)).stride()
torch.empty_permuted((2,3,4),(1,2,0), dtype=torch.int64).dtype
torch.empty_permuted((2,3,4),(1,2)).stride()
torch.empty_permuted((2,3,4),(1,2,2)).stride()
torch.empty_permuted((2,3,4),(1,2,3)).stride()
torch.empty_permuted((),()).stride()
torch.empty_permuted((2,3),(1,0), requires_grad=True).requires_grad
torch.empty_permuted((2,3),(1,0), device='cpu').shape
torch.empty_permuted((2,3),1).shape
torch.empty_permuted((2.,3),(1,0)).shape
torch.empty_permuted(2,(1,0)).shape
torch.empty_permuted((2,3,4),(1,2,0)).dim_order()
T([[nan,0.,0.],[0,0,1],[0,0,1]]).unique(dim=0)
T([nan,0.,0.,nan,1.]).unique(dim=0, return_inverse=True, return_counts=True)
T([1,nan,0.,-1,nan,0,nan,1.,5,3,2,nan,1,0]).unique(dim=0, return_inverse=True, return_counts=True)
T([[1,nan,0.,-1,nan,0,nan],[1.,5,3,2,nan,1,0]]).unique(dim=1, return_inverse=True, return_counts=True)
T([[2,1,nan,0.],[2,1,0,5],[2,0,nan,1],[2,1,nan,-1],[2,1,0,5]]).unique(dim=0, return_inverse=True, return_counts=True)
torch.FloatTensor(device='cuda')
torch.zeros(1).set_(torch.ones(3))
torch.zeros(1).set_(T([1]))
torch.zeros(1).set_()
torch.zeros(1).set_(torch.arange(6.0).untyped_storage())
torch.zeros(1).set_(torch.arange(6.0).untyped_storage(), 1, (2, 2), (1, 2))
torch.zeros(1).set_(torch.arange(6.0).storage(), 1, (2, 2))
torch.zeros(1).set_(torch.arange(6.0), 1, (2, 2), (2, 1))
torch.zeros(1).set_(torch.arange(6.0).storage(), -1, (2, 2))
torch.zeros(1).set_(torch.arange(6.0).storage(), 0, (2, 2), (1,))
torch.zeros(1, requires_grad=True).set_(torch.arange(6.0))
torch.zeros(1).set_(source=torch.arange(6.0))
torch.zeros(1).set_(torch.arange(6.0).double().storage())
torch.zeros(1).set_(torch.arange(6.0).storage().untyped())
torch.zeros(1).set_(torch.arange(6.0), 1000, (1,))
torch.zeros(1).set_(torch.arange(6.0), 0, (2, 2), (2**61, 2**61))
torch.zeros(1).set_(torch.arange(6.0), 4, (2, 2)).untyped_storage().size()
[(b.set_(block[1:]), b.is_set_to(block[1:]), b._version, block._version)[1:] for b in [torch.zeros(1)]]
torch.tensor([np.float32(5), 1.0]).dtype
torch.tensor([1.0, np.float32(5)]).dtype
torch.tensor([np.float64(5), 1]).dtype
torch.tensor(((7, 5), (9, np.array(5.0)))).dtype
torch.tensor([np.int32(5), 1.0]).dtype
torch.tensor([np.int32(5), 1]).dtype
torch.tensor([np.float32(5), np.float64(1)]).dtype
torch.tensor([1, np.float32(5)]).dtype
torch.repeat_interleave(T([1, 0, 2]))
torch.repeat_interleave(T([1.0, 0, 2]))
torch.repeat_interleave(T([[1, 0, 2]]))
torch.repeat_interleave(pair, T([-1, 2]))
torch.repeat_interleave(pair, -1)
torch.repeat_interleave(pair, 2, output_size=5)
torch.repeat_interleave(pair, 2, output_size=4)
torch.repeat_interleave(pair, T([1.0, 2]))
pair.repeat_interleave(T([1, 2]), output_size=3)
torch.repeat_interleave(T([1, 0, 2]), output_size=3)
torch.randint(0, 300, (2,), dtype=torch.uint8)
torch.empty(2, dtype=torch.uint8).random_(0, 300)
torch.empty(2, dtype=torch.uint8).random_(257)
torch.empty(2, dtype=torch.uint8).random_(-1, 3)
torch.empty(2, dtype=torch.bool).random_(0, 3)
torch.empty(2, dtype=torch.float16).random_(-70000, 3)
torch.randint(0, 2 ** 40, (2,), dtype=torch.int32)
torch.randperm(300, dtype=torch.uint8)
torch.randperm(3, dtype=torch.bool)
torch.empty(2).uniform_(-3e+38, 3e+38)
torch.empty(2).uniform_(-3.5e+38, 3.4e+38)
torch.meshgrid(pair, ints, indexing='ij')
torch.combinations(pair, r=0)
torch.combinations(pair, r=-1)
torch.combinations(square)
torch.as_strided(square, (1, 1), (-1, 1))
torch.as_strided(square, (1, 1), (2, 1), -1)
torch.block_diag().shape
torch.roll(square, 1, dims=None)
square.roll(1, dims=None)
torch.arange(4.0).scatter(0, none, torch.zeros(0, 4))
torch.arange(4.0).scatter_add(0, none, torch.zeros(0, 4))
torch.arange(4.0).gather(0, none)
torch.arange(4.0).scatter_reduce(0, none, torch.zeros(0, 4), 'sum')
torch.index_select(torch.randn(0, 3), 0, T([0]))
torch.index_select(T(1.0), 0, T([0, 0]))
torch.index_add(torch.ones(2, 3), 0, T([0]), torch.ones(1, 4))
torch.ones(2, 3).index_copy(0, T([5]), torch.ones(1, 3))
torch.index_add(torch.tensor(1.0), 0, torch.tensor([0]), torch.ones(1))
torch.Size([T(3)])
torch.Size([True])
torch.Size([1.0])
torch.Size([1]) + [2]
torch.Size([1]) + (2,)
(2,) + torch.Size([1])
torch.randn_like(image, memory_format=torch.contiguous_format).stride()
torch.full_like(image, 1.0, memory_format=torch.contiguous_format).stride()
torch.randint_like(image, 3, memory_format=torch.contiguous_format).stride()
torch.rand_like(image, memory_format=torch.contiguous_format).stride()
torch.roll(image, 1, 1).stride()
torch.zeros_like(image, memory_format=torch.contiguous_format).stride()
torch.ones_like(image.contiguous(), memory_format=torch.channels_last).stride()
torch.zeros(3, 7).t().fill_diagonal_(1.0, wrap=True)
torch.zeros(7, 3).fill_diagonal_(1.0, wrap=True)
torch.zeros(7, 3).fill_diagonal_(1.0)
torch.div(square, 2.0, rounding_mode=None)
torch.arange(4, out=torch.empty(2, 2)).shape
torch.rand(2, out=torch.empty(2, dtype=torch.float64))
torch.randn(20, out=torch.empty(20, dtype=torch.float64))[:3]
torch.zeros(2, dtype=torch.float32, out=torch.empty(2).double())
F.adaptive_avg_pool2d(torch.ones(2, 2, 2), (-1, 2))
F.adaptive_avg_pool2d(torch.ones(2, 2, 2), (1, 2, 3))
F.group_norm(torch.ones(0, 4, 3), 2).shape
F.channel_shuffle(torch.arange(6.0).view(1, 6, 1), 3).flatten()
F.channel_shuffle(torch.arange(6.0).view(1, 6, 1), 4).flatten()
nn.LazyConvTranspose3d(3, 2)
F.rms_norm(torch.ones(2, 3), [])
F.rms_norm(torch.ones(2, 3), [3], torch.ones(2))
F.prelu(torch.tensor(1.0), torch.ones(2))
F.prelu(torch.ones(2, 2), torch.ones(2, 1))
F.rrelu(torch.ones(2), 0.5, 0.1)
torch.all(wide > 0, dim=[])
torch.any(wide > 0, dim=())
torch.all(wide > 0, dim=(), keepdim=True)
torch.all(wide > 0)
torch.multinomial(torch.ones(2), 0)
torch.multinomial(torch.ones(2), -1)
F.cross_entropy(wide, T([0, 1]), label_smoothing=1.2)
F.cross_entropy(wide, T([0, 1]), label_smoothing=-0.2)
F.cross_entropy(torch.rand(5, 0), torch.rand(5, 0))
F.triplet_margin_with_distance_loss(wide, wide, wide, reduction='none').shape
F.triplet_margin_with_distance_loss(wide, wide, wide, reduction='sum')
F.triplet_margin_with_distance_loss(wide, wide, wide, reduction='foo')
F.interpolate(ones, size=0)
F.interpolate(ones, scale_factor=0.1)
F.interpolate(torch.randn(1, 0, 3, 3), size=2)
F.interpolate(torch.randn(2, 2, 0), scale_factor=2.0, mode='linear')
nn.LocalResponseNorm(2)(torch.zeros(0, 6, 2, 2)).shape
nn.LocalResponseNorm(2)(torch.zeros(1, 0, 5, 2)).shape
nn.HuberLoss(delta='a')
nn.RNN(3, 5, bias=0)
nn.LSTM(3.0, 5)
nn.RNN(0, 5)
nn.GRU(3, 5, batch_first=1)
nn.RNNCell(10, 20)(torch.randn(3, 10), torch.randn(1, 20))
nn.GRUCell(10, 20)(torch.randn(3, 11))
nn.LSTMCell(10, 20)(torch.randn(3, 10), (torch.randn(3, 21), torch.randn(3, 20)))
nn.LSTMCell(10, 20)(torch.randn(3, 10), (torch.randn(3, 2, 2, 2), torch.randn(3, 20)))
nn.CircularPad1d(3)(torch.randn(2, 3, 4, 5))
nn.BatchNorm1d(3, eps=0.0)(torch.randn(2, 3))
nn.BatchNorm1d(3, eps=-1.0).eval()(torch.randn(2, 3))
(ones.grad_fn.name(), m.running_mean, m.running_var, m.num_batches_tracked)
(F.cross_entropy(wide, T([1, 1, 1]), ignore_index=1).backward(), wide.grad)
(F.nll_loss(wide, T([1, 1, 1]), ignore_index=1).backward(), wide.grad)
F.multi_margin_loss(torch.randn(5, 10), T([1, 2, 3]))
nn.MultiMarginLoss(reduction='none')(torch.randn(8), T([0])).shape
nn.MultiMarginLoss(reduction='none')(torch.randn(8), T(0)).shape
nn.Unfold((2, 3))(torch.randn(1, 2, 2, 2))
nn.InstanceNorm2d(3, affine=True)(torch.randn(2, 4, 5, 5))
F.grid_sample(torch.ones(1, 1, 3, 3), torch.full((1, 1, 1, 2), float('nan')), mode='nearest', padding_mode='zeros', align_corners=False)
F.grid_sample(torch.ones(1, 1, 3, 3), torch.full((1, 1, 1, 2), float('inf')), mode='nearest', padding_mode='zeros', align_corners=False)
F.grid_sample(torch.ones(1, 1, 3, 3), torch.full((1, 1, 1, 2), float('inf')), mode='bilinear', padding_mode='zeros', align_corners=False)
nn.ReflectionPad1d(2)(torch.randn(3, 0, 10))
nn.ReflectionPad2d(1)(torch.randn(2, 0, 4, 4))
nn.ReplicationPad1d(2)(torch.randn(3, 0, 10))
nn.ReplicationPad3d(1)(torch.randn(1, 0, 3, 4, 4))
nn.ReplicationPad2d(1)(torch.randn(0, 3, 4, 4)).shape
F.pad(torch.randn(1, 1, 3), (-1, -2), mode="replicate")
F.pad(torch.randn(1, 1, 3), (-1, -2), mode="reflect")
F.pad(torch.randn(1, 1, 3), (1, 1), mode="reflect", value=1.0)
F.cosine_embedding_loss(torch.ones(1, 3, 4), torch.ones(1, 3, 4), torch.ones(1))
F.cosine_embedding_loss(torch.ones(3), torch.ones(3), torch.ones(1))
F.cosine_embedding_loss(torch.ones(1, 3), torch.ones(1, 3), torch.ones(1, 1))
F.cosine_embedding_loss(torch.ones(1, 3), torch.ones(1, 3), torch.tensor(1.0))
nn.MultiMarginLoss()(torch.randn(10, 0), torch.ones(10, dtype=torch.long))
nn.MultiLabelMarginLoss()(torch.randn(10, 0), torch.ones(10, 0, dtype=torch.long))
nn.PixelShuffle(2)(torch.ones(3))
nn.PixelShuffle(3)(torch.ones(8, 2, 2))
nn.PixelShuffle(0)(torch.ones(8, 2, 2))
nn.PixelUnshuffle(3)(torch.ones(8, 4, 6))
nn.PixelUnshuffle(3)(torch.ones(8, 6, 4))
nn.PixelUnshuffle(-2)(torch.ones(8, 4, 4))
nn.PixelUnshuffle(2)(torch.ones(4))
F.interpolate(ones, size=(2, 3.5))
F.interpolate(ones, size=(2, 3, 4))
F.interpolate(ones, scale_factor=(1.0, 1.0, 1.0))
F.interpolate(torch.ones(2, 2), size=2)
F.interpolate(ones, scale_factor=1e300)
F.interpolate(ones, scale_factor=float("nan"))
F.interpolate(ones, size=2, mode="cubic")
F.avg_pool2d(torch.randn(12, 0, 6, 6), 2)
F.max_pool1d(torch.randn(8, 0, 16), 2)
F.max_pool2d(torch.randn(1, 0, 5, 4), 2)
F.max_pool3d(torch.randn(8, 0, 4, 4, 4), 2)
F.avg_pool3d(torch.randn(1, 0, 4, 4, 4), 2)
F.adaptive_avg_pool1d(torch.randn(1, 3, 0), 2)
F.adaptive_avg_pool2d(torch.randn(1, 0, 4, 4), 2)
F.adaptive_max_pool2d(torch.randn(1, 0, 4, 4), 2)
F.avg_pool2d(torch.ones(1, 1, 4, 4, dtype=torch.int32), 2)
F.adaptive_avg_pool2d(torch.ones(1, 1, 4, 4, dtype=torch.int16), 2)
F.adaptive_max_pool1d(torch.randn(4), 2)
F.adaptive_avg_pool1d(torch.randn(4), 2)
F.max_pool1d(torch.randn(1, 1, 8), 2, dilation=-1)
F.max_pool1d(torch.randn(1, 1, 8), 2, dilation=0)
F.max_pool1d(torch.randn(1, 1, 8), 2, stride=0)
F.max_pool1d(torch.randn(1, 1, 8), 0)
F.max_pool1d(torch.randn(1, 1, 8), 9)
F.max_pool1d(torch.randn(8), 2)
F.max_pool2d(torch.randn(1, 1, 8, 8), (2, 2, 2))
F.max_pool2d(torch.randn(1, 1, 8, 8), 2, stride=0)
F.max_pool2d(torch.randn(1, 1, 8, 8), 0)
F.max_pool2d(torch.randn(8), 2)
F.avg_pool2d(torch.randn(1, 1, 8, 8), 2, stride=0)
F.avg_pool2d(torch.randn(1, 1, 8, 8), 0)
F.avg_pool2d(torch.randn(1, 1, 8, 8), 9)
F.adaptive_avg_pool1d(torch.randn(1, 1, 8), -1)
F.embedding_bag(T([[0, 1]]), torch.ones(3, 2), per_sample_weights=torch.ones(1, 2, dtype=torch.float64))
F.embedding_bag(T([0, -1]), torch.ones(3, 2), T([0]), mode="max")
F.embedding_bag(T([0, 5]), torch.ones(3, 2), T([0]), mode="mean", padding_idx=0)
F.embedding_bag(T([0, 5]), torch.ones(3, 2), T([0]), mode="sum")
F.conv1d(torch.randn(1, 2, 5), torch.randn(2, 2, 3), groups=0)
F.conv1d(torch.randn(1, 2, 5), torch.randn(2, 2, 3), dilation=0)
F.conv1d(torch.randn(1, 2, 5), torch.randn(3, 1, 3), groups=2)
F.conv1d(torch.randn(1, 2, 5, dtype=torch.float64), torch.randn(2, 2, 3))
F.conv_transpose2d(torch.randn(1, 0, 3, 3), torch.randn(0, 2, 3, 3))
F.conv_transpose1d(torch.randn(1, 2, 3), torch.randn(2, 3, 2), output_padding=2)
torch.nn.utils.rnn.pack_padded_sequence(torch.randn(0, 0), [])
nn.UninitializedParameter().materialize(3)
[f(T([nan, inf, -inf, 1.0]).half(), *a).tolist() for f in (torch.nan_to_num, lambda x, *a: x.nan_to_num_(*a)) for a in ((), (1.0,), (0.1, 5.0, -3.0), (1e6, 7e4))]
[told(lambda: f(three, out=torch.empty(3, dtype=d))) for f in (torch.isposinf, torch.isneginf, torch.signbit) for d in (torch.float32, torch.int64, torch.bool)]
[told(lambda: f(torch.ones((2,) + (5,) * n), k, o).shape) for n, f in ((2, F.fractional_max_pool2d), (3, F.fractional_max_pool3d)) for k in ((1,), [2], (2, 2), (2, 2, 2), 2) for o in (2, (2,), (2, 2), [2, 2, 2])]
[told(lambda: f(torch.ones((1, 3) + (1,) * n), torch.zeros((1, 3) + (1,) * n, dtype=torch.int64), k).shape) for n, f in ((1, F.max_unpool1d), (2, F.max_unpool2d), (3, F.max_unpool3d)) for k in ([], [1], [1, 1], 1) if len([k] * n if k == 1 else k) <= n]
F.pixel_shuffle(image[:, :1].repeat(1, 4, 1, 1).contiguous(memory_format=torch.channels_last), 2).stride(), F.max_unpool2d(image, torch.zeros(image.shape, dtype=torch.int64).contiguous(memory_format=torch.channels_last), 1).stride(), image.i0().stride(), square.t().i0().stride()
[told(lambda: f((leaf * 1 - 2), s, 1.0).sum().backward()) for s in (-5.0, -1.0, -0.5) for f in (F.rrelu_, F.rrelu)]
[f(T([[0.25, 0.75]]).expand(2, 2), 0.5, 0.5) for f in (F.threshold_, lambda *a: F.threshold(*a, inplace=True))]
[torch.bernoulli(T([0.0, 1.0]), out=torch.empty(2, dtype=d)) for d in (torch.int64, torch.uint8, torch.bool, torch.float64)]
torch.ones(1).double().new(size=(2, 3)).dtype, torch.ones(1).new(size=(2, 3)).shape, torch.ones(1).new(size=[]).shape
[told(lambda: torch.set_num_threads(n)) for n in (0, -1, 2**31, 2**40, "a", 1.5, True)]
[told(lambda: f(wide, 0, dtype=d, out=torch.empty(0, dtype=o))) for f in (torch.cumsum, torch.cumprod, torch.sum, torch.prod, torch.mean, torch.nansum, torch.nanmean) for o, d in ((torch.int64, torch.float32), (torch.float32, torch.float64), (torch.float64, torch.float64))]
[told(lambda: f(three, three, out_int32=b, out=torch.empty(0, dtype=d))) for f in (torch.searchsorted, torch.bucketize) for d in (torch.int32, torch.int64, torch.float32) for b in (True, False)]
[told(lambda: f(wide, 0.5, out=torch.empty(0, dtype=d))) for f in (torch.quantile, torch.nanquantile) for d in (torch.int32, torch.float64, torch.float32)]
torch.nonzero(wide, as_tuple=True, out=torch.empty(2, 2, dtype=torch.int64))
torch.histogram(wide, T(1.0).double())
torch.histogram(wide, T([]).double())
[told(lambda: f((0, *s)).shape) for s in ((4, 2**61), (2**62, 4)) for f in (torch.empty, torch.zeros, lambda s: torch.ones(1).resize_(s))]
nn.LazyLinear(2).share_memory()
nn.LazyBatchNorm1d(affine=False).share_memory()
nn.Linear(2, 2).to(torch.device("cpu"), True)
nn.Linear(2, 2).to(None, True)
nn.Linear(2, 2).to([])
nn.Linear(2, 2).to({}, non_blocking=True)
nn.Linear(2, 2).to("cpu", copy=True)
nn.Linear(2, 2).to(torch.float64, True).weight.dtype
nn.Linear(2, 2).to("cpu", torch.float64, True).weight.dtype
torch.ones(2, requires_grad=True).exp().acosh_().sum().backward()
torch.ones(2, requires_grad=True).exp().asinh_().sum().backward()
(torch.ones(2, requires_grad=True) * 0.5).atanh_().sum().backward()
wide.squeeze((0, 0))
wide.resize_((2, -1))
torch.index_select(wide, 1, T([0, 5]))
torch.ones(2, 2)[None, 2]
T(1.0)[(1,)]
T(1.0)[0:1]
T(1.0)[0]
torch.normal(torch.zeros(2, 3), torch.ones(4, 5))
torch.ones(True)
torch.ones(size=2)
torch.manual_seed(2**64)
torch.set_num_threads(0)
torch.device("cuda:")
torch.device("cuda:01")
torch.device("")
torch.cummax(T(1.0), 100)
torch.empty(2**40, 2**40)
torch.rand(2, 2).resize_([2, 4, 2**29, 2**29])
torch.tensor([1, "a"])
torch.asarray(np.float64(2.0), copy=False)
torch.dot(truths, truths)
torch.trace(T([[True]]))
torch.isin(truths, truths)
torch.median(truths)
torch.cov(torch.empty(1, 0))
torch.corrcoef(torch.empty(2, 0))
nn.Linear(2, 2).to("cuda")
nn.Linear(2, 2).to(device="cuda:0")
nn.Linear(2, 2).to(torch.device("cuda"))
nn.Linear(2, 2).to(torch.float64, True, True)
nn.Linear(2, 2).to(torch.ones(1, dtype=torch.float64), True).weight.dtype
nn.Linear(2, 2).to(None, torch.float64).weight.dtype
nn.Linear(2, 2).to(float)
nn.Linear(2, 2).to(dtype=torch.float64, non_blocking=True).weight.dtype
nn.Linear(2, 2).to(3)
nn.Linear(2, 2).to("foo")
nn.Linear(2, 2).to(None).weight.dtype
nn.Linear(2, 2).to().weight.dtype
nn.Linear(2, 2).to(torch.int64)
torch.ones(2).to("cuda")
F.interpolate(ones, size=(np.int64(2), 2)).shape
F.interpolate(ones, size=np.int64(2)).shape
F.interpolate(ones, size=(T(2), 2)).shape
F.interpolate(ones, size=T(2)).shape
F.interpolate(ones, size=torch.Size([2, 2])).shape
F.interpolate(ones, scale_factor=np.float64(2)).shape
F.interpolate(ones, scale_factor=(np.float32(2), 2)).shape
torch.zeros(T(2), 3).shape
nn.AdaptiveAvgPool2d((None, 2))(ones).shape
nn.MaxPool2d([2, 2])(torch.ones(1, 1, 4, 4)).shape
nn.MaxPool2d(torch.Size([2, 2]))(torch.ones(1, 1, 4, 4)).shape
nn.MaxPool2d((2,))(torch.ones(1, 1, 4, 4)).shape
nn.AvgPool2d((2,), (1,))(torch.ones(1, 1, 4, 4)).shape
nn.MaxPool1d((2,), (1,))(torch.ones(1, 1, 4)).shape
nn.MaxPool1d(2, ceil_mode=True)(torch.ones(1, 1, 5)).shape
nn.MaxPool1d(3, padding=1)(torch.ones(1, 1, 1)).shape
nn.MaxPool1d(2, padding=2)(torch.ones(1, 1, 4)).shape
F.max_pool2d(torch.ones(1, 1, 4, 4), 2, stride=[]).shape
F.max_pool2d(torch.ones(1, 1, 4, 4), 2, stride=()).shape
F.avg_pool2d(torch.ones(1, 1, 4, 4), 2, stride=[]).shape
F.max_pool1d(torch.ones(1, 1, 4), 2, stride=[]).shape
F.max_pool2d(torch.ones(1, 1, 4, 4), np.int64(2)).shape
F.avg_pool1d(torch.ones(1, 1, 4), [2]).shape
F.max_pool1d(torch.ones(1, 1, 4), [2]).shape
F.pixel_shuffle(torch.ones(0, 4, 2, 2), 2).shape
F.pixel_shuffle(torch.ones(4, 4, 2, 2), 2, ).shape
F.conv2d(torch.ones(0, 2, 4, 4), torch.ones(3, 2, 2, 2)).shape
F.conv_transpose2d(torch.ones(2, 3, 4, 4), torch.ones(3, 2, 2, 2), groups=3).shape
F.conv_transpose2d(torch.ones(2, 3, 4, 4), torch.ones(3, 2, 2, 2), stride=2, output_padding=1).shape
F.pad(torch.ones(1, 1, 4), (1, 1), mode="replicate", value=0).shape
F.pad(torch.ones(1, 2, 3, 4), (0, 0, 1, 1), mode="reflect").shape
F.pad(torch.ones(0, 2, 4), (1, 1), mode="reflect").shape
torch.manual_seed(T(5)).initial_seed()
torch.manual_seed(5.7).initial_seed()
torch.manual_seed(np.int64(5)).initial_seed()
torch.manual_seed(True).initial_seed()
torch.manual_seed(-1).initial_seed()
torch.asarray([1, 2], copy=True)
torch.asarray(np.ones(2), copy=False)
torch.asarray(torch.ones(2), copy=False)
torch.device("cpu:0")
torch.median(T([1, 2]))
torch.isin(2, T([1, 2]))
torch.isin(T([1.0, 2]), 2.0)
torch.index_select(wide, -1, T([0, 2]))
torch.index_select(wide, 1, T([], dtype=torch.long)).shape
wide.squeeze(()).shape
torch.ones(1, 2, 1).squeeze((0, 2)).shape
torch.cummax(T(1.0), -1)
torch.normal(torch.zeros(2, 1), torch.ones(3)).shape
torch.normal(T(0.0), torch.ones(3)).shape
torch.normal(0.0, torch.ones(3)).shape
T(1.0)[...]
T(1.0)[None].shape
T(1.0)[True].shape
torch.asinh_(torch.ones(2))
torch.ones(2).arcsinh_()
torch.ones(2, dtype=torch.int64).asinh_()
torch.ones(2, requires_grad=True).asinh_()
torch.ones(2, requires_grad=True).exp().acosh_()
F.max_pool1d(torch.ones(1, 1, 8), 3, padding=2, dilation=2).shape
F.max_pool1d(torch.ones(1, 1, 8), 3, padding=1, dilation=2).shape
F.max_pool1d(torch.ones(1, 1, 1), 3, padding=1).shape
F.max_pool2d(torch.ones(1, 1, 8, 8), 3, padding=2, dilation=2).shape
F.avg_pool1d(torch.ones(1, 1, 4), 2, stride=[]).shape
F.avg_pool1d(torch.ones(1, 1, 4), 2, stride=()).shape
F.max_pool2d(torch.ones(1, 1, 8, 8), 2, padding=2)
F.max_pool2d(torch.ones(1, 1, 8, 8), (2, 4), padding=(0, 3))
F.max_pool2d(torch.ones(1, 1, 8, 8), 3, padding=2)
F.max_pool2d(torch.ones(1, 1, 8, 8), 3, padding=3, dilation=2)
F.max_pool3d(torch.ones(1, 1, 8, 8, 8), 3, padding=2)
F.max_pool3d(torch.ones(1, 1, 8, 8, 8), 3, padding=2, dilation=2).shape
F.avg_pool2d(torch.ones(1, 1, 8, 8), 2, padding=2)
F.avg_pool2d(torch.ones(1, 1, 8, 8), 3, padding=2)
F.avg_pool3d(torch.ones(1, 1, 8, 8, 8), 2, padding=2)
F.max_pool1d(torch.ones(1, 1, 8), 3, padding=2, dilation=2, return_indices=True)
F.max_pool2d(torch.ones(1, 1, 8, 8), 3, padding=2, dilation=2, return_indices=True)
F.max_pool2d(torch.ones(1, 1, 8, 8, requires_grad=True), 3, padding=2, dilation=2).shape
torch.index_select(torch.zeros(0), 0, T([0]))
torch.index_select(torch.zeros(4, 0), 0, T([5]))
torch.index_select(torch.ones(3, 3).t(), 1, T([-1]))
[v.hex() for d in (torch.float32, torch.float64, torch.float16) for v in torch.linspace(-1, 1, 28, dtype=d).tolist()]
[v.hex() for d in (torch.float32, torch.float64, torch.float16) for v in torch.linspace(5, -2.3, 45, dtype=d).tolist()]
[v.hex() for d in (torch.float32, torch.float64, torch.float16) for v in torch.arange(-2, 2, 1 / 28, dtype=d).tolist()]
[v.hex() for d in (torch.float32, torch.float64, torch.float16) for v in torch.arange(3, -3.1, -0.1, dtype=d).tolist()]
(torch.rand(20000, dtype=torch.float16) == 1).sum(), (torch.empty(20000).uniform_(1e6, 1e6 + 1) == 1e6 + 1).sum(), torch.rand(1)
nn.Linear(2, 2, device="cuda")
nn.LSTM(2, 2, device="cuda")
nn.BatchNorm1d(2, device="foo")
nn.MultiheadAttention(4, 2, device="cuda")
torch.Generator(device="foo")
[(p, nn.GRU(2, 3, 2)._flat_weights_names[p]) for p in (0, 5)], len(nn.LSTM(2, 3, bidirectional=True)._flat_weights)
nn.LSTM(2, 3, proj_size=2)._all_weights
nn.BatchNorm2d(2)(torch.ones(2, 2, 2, 2, dtype=torch.int64))
nn.BatchNorm2d(2)(torch.ones(2, 2, 2, 2, dtype=torch.float64))
nn.BatchNorm2d(2).double()(torch.ones(2, 2, 2, 2))
nn.BatchNorm2d(2).eval()(torch.ones(2, 2, 2, 2).half()).dtype
F.batch_norm(torch.ones(2, 2), torch.zeros(2).double(), torch.ones(2).double(), torch.ones(2))
nn.InstanceNorm2d(2, track_running_stats=True)(torch.ones(2, 2, 2, 2, dtype=torch.float64)).dtype
nn.LayerNorm(2)(torch.ones(2, 2, dtype=torch.float64))
F.layer_norm(torch.ones(2, 2), (2,), torch.ones(2), torch.ones(2).double())
nn.LayerNorm(2, elementwise_affine=False)(torch.ones(2, 2, dtype=torch.int64))
nn.LayerNorm(4)(torch.arange(8.0).view(2, 4).half()).dtype
nn.GroupNorm(1, 2)(torch.ones(2, 2, 3, dtype=torch.int64))
nn.GroupNorm(1, 2)(torch.ones(2, 2, 3).half()).dtype
nn.RMSNorm(2)(torch.ones(2, 2, dtype=torch.int64))
nn.PReLU()(torch.ones(2, dtype=torch.float64))
nn.Conv2d(3, 2, 3)(torch.zeros(1, 3, 8, 8, dtype=torch.uint8))
nn.Conv2d(3, 2, 3, bias=False)(torch.zeros(1, 3, 8, 8, dtype=torch.float64))
nn.ConvTranspose2d(3, 2, 3)(torch.zeros(1, 3, 8, 8, dtype=torch.uint8))
F.softmax(torch.ones(1, 3, 2, dtype=torch.uint8), 1), F.log_softmax(ints, 0)
F.log_softmax(torch.ones(1, 3, 2, dtype=torch.uint8), 1)
F.binary_cross_entropy_with_logits(wide, wide, weight=torch.ones(2, 3, dtype=torch.int64))
F.binary_cross_entropy_with_logits(wide, wide, pos_weight=torch.ones(3, dtype=torch.float64))
F.binary_cross_entropy(torch.full((2,), 0.3), torch.ones(2), weight=torch.tensor([1, 0]))
[torch.autograd.grad(layer(x).sum(), x)[0].is_contiguous() for x in [torch.ones(1, 2, 5, 5, requires_grad=True)] for layer in (nn.Conv2d(2, 1, 3, padding=1), nn.ConvTranspose2d(2, 1, 3, padding=1))]
[f(x).is_contiguous() for x in [torch.ones(1, 2, 5, 5, requires_grad=True)] for f in [lambda x: torch.autograd.grad(F.grid_sample(x, torch.zeros(1, 2, 2, 2), align_corners=False).sum(), x)[0]]]
nn.Linear(2, 2).cuda()
nn.Linear(2, 2).cuda(0)
nn.Linear(2, 2).to_empty(device="cpu").weight.shape
nn.Linear(2, 2).to_empty(device="cuda")
pair.cuda(0)
(pair.get_device(), pair.is_pinned())
pair.pin_memory()
torch.randn(2, pin_memory=True)
torch.tensor([1.0], pin_memory=True)
torch.histogram(T([1.0, 2, 1, 3]), 4)
torch.histogram(T([1.0, 2, 1, 3]), bins=4, range=(0.0, 3.0), weight=T([1.0, 2, 4, 5]), density=True)
torch.histogram(T([1.0, 2, 1, 3]), T([0.0, 1.5, 3]))
T([1.0, 1]).histogram(2)
torch.histogram(ints, 4)
torch.histogram(pair, 0)
torch.histogram(pair, 2, range=(2.0, 1.0))
torch.histogram(pair).hist.shape
torch.histogram(pair, torch.ones(2, 2))
torch.histogram(pair, torch.ones(0))
torch.histogram(pair, torch.ones(1))
torch.histogram(pair, ints)
torch.histogram(pair, T([0.0, 4]), range=(0.0, 1.0))
torch.histogram(pair, 2, range=(0.0,))
torch.histogram(pair, 2, range=(0.0, float("inf")))
torch.histogram(pair, 2, weight=torch.ones(3))
torch.histogram(pair, 2, weight=pair.double())
torch.histogram(pair.half(), 2)
torch.histogram(ints, ints)
torch.histogram(T([float("nan"), 1.0, 2, 0]), 3, range=(0.0, 2.0))
torch.histogram(T([[1.0, 2], [1, 3]]), T([2.0, 1, 3]), weight=torch.ones(4))
torch.histogram(leaf, 2)
torch.histogram(leaf, 2).hist.sum().backward()
torch.histogram(pair, 2, weight=leaf[:2]).bin_edges.grad_fn.name()
torch.bincount(T([0, 1]), weights=leaf[:2])
torch.bincount(T([0, 1]), weights=leaf[:2]).sum().backward()
torch.bincount(torch.empty(0).long(), weights=torch.empty(0), minlength=2)
[list(t.storage()) for t in (pair, ints)], len(pair.untyped_storage()), pair.untyped_storage().tolist(), repr(pair.storage())
torch.vmap(lambda v: torch.autograd.grad((leaf**2), leaf, v)[0])(torch.eye(4))
"""

BLOCKS = {
    "a write on a view is differentiated twice": """
for name in ("relu_", "sigmoid_", "exp_", "sqrt_"):
    x = T([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    y = getattr((x * 2).view(4), name)()
    (g,) = torch.autograd.grad(y.pow(2).sum(), x, create_graph=True)
    out[name] = torch.autograd.grad(g.pow(2).sum(), x)
    whole = x * 2
    getattr(whole.view(4)[1:], name)()
    (g,) = torch.autograd.grad(whole.pow(2).sum(), x, create_graph=True)
    out["part " + name] = torch.autograd.grad(g.pow(2).sum(), x)
""",
    "what a hook switches holds for its node only": """
x = torch.ones(2, requires_grad=True)
y, seen = x * 2, []
def switch(g):
    torch.set_grad_enabled(False)
y.register_hook(switch)
x.register_hook(lambda g: seen.append(torch.is_grad_enabled()))
y.sum().backward(create_graph=True)
out["mode"] = seen, torch.is_grad_enabled(), x.grad
""",
    "saved-tensor hooks that a hook enters or leaves": """
import torch.autograd.graph as G
packed = []
c = G.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t)
x = torch.ones(2, requires_grad=True)
y = x * 2
y.register_hook(lambda g: c.__enter__())
y.sum().backward()
x.sin()
out["entered"] = packed

def fail(g):
    c.__enter__()
    raise ValueError("no")
y = x * 2
y.register_hook(fail)
out["error"] = told(lambda: y.sum().backward())
x.sin()
out["entered before an error"] = packed

def unpack(t):
    inner.__exit__()
    return t
inner, outer = G.saved_tensors_hooks(lambda t: t, unpack), G.saved_tensors_hooks(lambda t: t, lambda t: t)
with outer:
    inner.__enter__()
    z = torch.ones(2, requires_grad=True)
    z.sin().sum().backward()
inner.__exit__()
out["left"] = z.grad
""",
    "a gradient lies in memory as its leaf does": """
def strides(x, use, **options):
    x.requires_grad_()
    use(x).sum().backward(**options)
    first = x.grad.stride()
    use(x).sum().backward(**options)
    return first, x.grad.stride()
out["transposed"] = strides(torch.ones(3, 2).t(), lambda x: x * 2)
out["channels"] = strides(torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), lambda x: x + 1, create_graph=True)
out["product"] = strides(torch.ones(2, 3).t(), lambda w: torch.ones(4, 3) @ w)
out["gaps"] = strides(torch.ones(4, 4)[:, ::2], lambda x: x * 2)
x = torch.ones(3, requires_grad=True)
x.grad = torch.zeros(1).expand(3)
out["expanded"] = told(lambda: (x * 2).sum().backward())
""",
    "operations that forward mode does not go through": """
import torch.nn.functional as F
from torch.autograd import forward_ad
i, t, grid = T([0, 1]), T([1, 0]), torch.zeros(1, 2, 2, 2)
wide, heads, volume = torch.arange(6.0).view(2, 3), torch.ones(1, 2, 3, 4), torch.ones(1, 1, 2, 2, 2)
def first(fn):  # of what is said; the second line is PyTorch's address for wishes
    said = told(fn)
    return said.partition("\\n")[0] if isinstance(said, str) else said
refused = {
    "cdist": (lambda x: torch.cdist(x, x), wide),
    "multi_margin_loss": (lambda x: F.multi_margin_loss(x, t), wide),
    "multilabel_margin_loss": (lambda x: F.multilabel_margin_loss(x, T([[0, 1, -1]] * 2)), wide),
    "attention": (lambda x: F.scaled_dot_product_attention(x, x, x), heads),
    "attention of three dims": (lambda x: F.scaled_dot_product_attention(x, x, x), heads[0]),
    "index_reduce": (lambda x: x.index_reduce(0, i, wide, "amax"), wide),
    "scatter": (lambda x: x.scatter(0, none[:, :3], wide, reduce="add"), wide),
    "embedding_bag": (lambda x: F.embedding_bag(T([[0, 1]]), x), wide),
    "grid_sample": (lambda x: F.grid_sample(ones, x, align_corners=False), grid),
    "grid_sample of a volume": (lambda x: F.grid_sample(x, torch.zeros(1, 1, 1, 1, 3), align_corners=False), volume),
    "ctc_loss": (lambda x: F.ctc_loss(x, T([[1]]), (2,), (1,)), torch.zeros(2, 1, 3)),
    "unique": (lambda x: x.unique(), wide),
    "unique of rows": (lambda x: x.unique(dim=0), wide),
    "unique_consecutive": (lambda x: x.unique_consecutive(), wide),
    "floor_divide": (lambda x: x // 2, wide),
    "floor_divide_": (lambda x: x.clone().floor_divide_(2), wide),
    "heaviside": (lambda x: torch.heaviside(x, x), wide),
    "a number's remainder": (lambda x: 5 % (x + 1), wide),
    "histogram": (lambda x: torch.histogram(x, 2).hist, wide),
    "bincount": (lambda x: torch.bincount(t, weights=x[:, 0]), wide),
}
for name, (fn, x) in refused.items():
    with forward_ad.dual_level():
        out[name] = first(lambda: forward_ad.unpack_dual(fn(forward_ad.make_dual(x, torch.ones_like(x)))).tangent)
        out[name + ", constant"] = first(lambda: fn(x))
""",
    "an embedding's rows are shortened in one write": """
import torch.nn.functional as F
w = T([[3.0, 4], [0.1, 0.2], [6, 8]], requires_grad=True)
i = T([0, 2, 0])
out["rows"] = F.embedding(i, w, max_norm=1.0), w.detach(), w._version
out["short already"] = F.embedding(T([1]), w, max_norm=1.0), w._version
out["sum"] = F.embedding(i, w, max_norm=0.5, norm_type=1.0), w._version
out["bag"] = F.embedding_bag(i.view(1, 3), w, max_norm=0.25), w._version
out["none"] = F.embedding(torch.empty(0, dtype=torch.int64), w, max_norm=0.5).shape, w._version
out["outside"] = told(lambda: F.embedding(T([5]), w, max_norm=0.5)), w._version
q = w * 3
y = F.embedding(i, q, max_norm=0.1)
y.sum().backward()
out["no leaf"] = y, q._version, w.grad
p = q * q
F.embedding(T([1]), q, max_norm=100.0)
out["saved"] = told(lambda: p.sum().backward())
with torch.autograd.forward_ad.dual_level():
    d = torch.autograd.forward_ad.make_dual(w.detach().clone(), torch.ones(3, 2))
    out["tangent"] = torch.autograd.forward_ad.unpack_dual(F.embedding(i, d, max_norm=0.01)).tangent
""",
    "names that a custom Function keeps on its ctx": """
def run_with(name):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            setattr(ctx, name, 2.0)
            ctx.save_for_backward(x, x > 0)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, g, h):
            x, positive = ctx.saved_tensors
            return (g + h) * getattr(ctx, name) * positive

    x = T([0.2, 0.8], requires_grad=True)
    y, z = Double.apply(x)
    (y + z).sum().backward(create_graph=True)
    return x.grad.detach()

for name in "keep vjp release unpack share_result inputs saves keeps saved args versions text kind op mask shape alpha".split():
    out[name] = told(lambda: run_with(name))
""",
    "gradients of outputs marked as not differentiable": """
class Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, flag):
        a, b = x.clone(), x.clone()
        ctx.mark_non_differentiable(b)
        ctx._materialize_non_diff_grads = flag
        return a, b

    @staticmethod
    def backward(ctx, g, h):
        given.append(h)
        return g, None

given = []
for flag in (True, False):
    Two.apply(T(1.0, requires_grad=True), flag)[0].backward()
out["given"] = given
""",
    "nodes called by hand": """
node = (torch.ones(1, requires_grad=True) ** 2).grad_fn
several = torch.ones(2, 2, requires_grad=True).unbind(0)[0].grad_fn
g = torch.ones(1)
out["one"] = [told(lambda: node(*args)) for args in ((g, g), (), (g,))]
out["two"] = [told(lambda: several(*args)) for args in ((g,), (None, None), (torch.ones(2), None))]
out["leaf"] = told(lambda: several.next_functions[0][0](g, g))
""",
    "attributes that cannot be deleted or set": """
x = torch.ones(2, requires_grad=True)
for name in "data grad_fn requires_grad is_leaf shape grad".split():
    out[name] = told(lambda: delattr(x, name))
for name in "grad_fn is_leaf shape ndim T device".split():
    out["set " + name] = told(lambda: setattr(x, name, 1))
""",
    "numpy() where nothing is recorded": """
x = torch.ones(2, requires_grad=True)
out["recorded"] = told(lambda: x.numpy())
with torch.no_grad():
    out["not"] = x.numpy().tolist(), np.asarray(x).tolist()
""",
    "resize_": """
x = torch.zeros(1)
x.resize_(1, 2)
out["versions"] = x._version, x.resize_(2, 1)._version, x.resize_(2, 1)._version
v = torch.arange(6.0)[2:5]
v.resize_(2)
out["part"] = v, v.storage_offset()
b = torch.zeros(8)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    torch.sin(torch.ones(3), out=b[2:4])
out["written"] = b
with torch.inference_mode():
    out["inference"] = torch.ones(1, 2, 3, requires_grad=True).resize_(1, 2).shape
""",
    "made into the memory of another": """
x = torch.zeros(2, 3)
out["as it is"] = torch.linspace(0, 3, 4, out=x.narrow(1, 1, 2)).shape, x.clone(), torch.arange(4, out=torch.empty(2, 2)).shape
torch.manual_seed(1)
out["drawn"] = torch.rand(2, out=torch.empty(2, dtype=torch.float64)), torch.randn(20, out=torch.empty(20, dtype=torch.float64))[:3]
out["types"] = told(lambda: torch.zeros(2, dtype=torch.float32, out=torch.empty(2).double()))
""",
    "masks that fill": """
def filled(values, mask, value):
    values[mask] = value
    return values
a = lambda: torch.arange(4)
odd = T([1, 0, 1, 0], dtype=torch.uint8)
out["cast"] = filled(a(), a() > 1, T(1.5)), filled(a(), a() > 1, T([True]))
out["many"] = told(lambda: filled(a(), a() > -1, T([1.0, 2, 3]))), told(lambda: filled(a(), a() > 1, T([1.0, 2])))
out["bytes"] = told(lambda: filled(torch.ones(4), odd, 0)), told(lambda: filled(torch.ones(4), odd, T([5.0, 6])))
out["deleted"] = told(lambda: a().__delitem__(0))
""",
    "warnings that come each time": """
def count(fn):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fn()
    return len(found)
odd = T([1, 0, 1], dtype=torch.uint8)
out["bytes"] = [count(lambda: torch.ones(3)[odd]) for _ in range(2)], count(lambda: torch.ones(3, 3)[odd, odd])
out["sequence"] = [count(lambda: torch.ones(3)[[slice(0, 1)]]) for _ in range(2)]
""",
    "a view of a view made without recording": """
x = torch.zeros(2)
with torch.no_grad():
    y = x.view(2)
def write(t):
    t /= 2
out["no_grad"] = told(lambda: write(y.requires_grad_().view(2)))
base = torch.ones(2, requires_grad=True).clone()
with torch.inference_mode():
    v = base.view(2)
out["inference"] = told(lambda: v.view(1, 2).mul_(torch.ones(2, requires_grad=True)))
""",
    "dual numbers": """
import torch.autograd.forward_ad as fwAD
tangent = lambda t: fwAD.unpack_dual(t).tangent
with fwAD.dual_level():
    d = fwAD.make_dual(torch.ones(3), torch.full((3,), 2.0))
    p, _ = fwAD.unpack_dual(d * 3)
    out["primal"] = tangent(p), tangent(p * 2), tangent(p.view(3, 1)), str(p), str(d * 3)
    e = (d * 1).detach_()
    out["detached"] = tangent(e), tangent(e * 2)
    f = fwAD.make_dual(torch.zeros(2), torch.ones(2))
    f.eq_(torch.zeros(2))
    out["compared"] = f, tangent(f)
    out["whole"] = torch.ones(3, dtype=torch.int64).copy_(d)
""",
    "views by custom Functions in forward mode": """
import torch.autograd.forward_ad as fwAD
class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.narrow(0, 0, 2)

    @staticmethod
    def jvp(ctx, t):
        other = t.narrow(0, 0, 2).clone()
        return other.view_as(other)

with fwAD.dual_level():
    d = fwAD.make_dual(torch.ones(4), torch.ones(4))
    out["refused"] = told(lambda: Part.apply(d)), told(lambda: Part.apply(d.view_as(d)))
""",
    "custom Functions under transforms": """
class Old(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2

class Bare(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos()

class Ruled(Bare):
    generate_vmap_rule = True

x, f = torch.ones(3), torch.func
for F_ in (Old, Bare, Ruled):
    out[F_.__name__] = [told(lambda: use()) for use in (lambda: f.grad(F_.apply)(x[0]), lambda: f.jacrev(F_.apply)(x[:2]) if F_ is Ruled else None, lambda: torch.vmap(F_.apply)(x), lambda: f.vjp(F_.apply, x)[0], lambda: F_.apply(x))]
""",
    "anomaly mode where warnings are errors": """
import contextlib, io
a = torch.ones(5, requires_grad=True)
with torch.autograd.detect_anomaly(), contextlib.redirect_stderr(io.StringIO()):
    warnings.simplefilter("error")
    b = a + 1
    c = b**2
    b += 1
    out["r"] = told(lambda: torch.autograd.grad(c.sum(), a))
""",
    "refused by the engine": """
from torch.autograd.graph import GradientEdge
x, y = torch.ones(2, requires_grad=True).clone(), torch.ones(2, requires_grad=True).clone()
out["edge"] = told(lambda: torch.autograd.grad(x.sum(), (x, GradientEdge(y.grad_fn, 0)), allow_unused=True, materialize_grads=True))
a = T(1.0, requires_grad=True)
def give():
    a.data = T(3)
out["data"] = told(give), a
out["mode"] = [told(lambda: torch.set_grad_enabled(m)) for m in (1, None, "a")]
""",
    "places that are named twice": """
def gradients(fn, *shapes):
    inputs = [torch.arange(1.0, 1 + T(s).prod()).view(s).requires_grad_() if s else T(2.0, requires_grad=True) for s in shapes]
    fn(*inputs).sum().backward()
    return [t.grad for t in inputs]
twice = T([0, 0, 1])
out["fill"] = gradients(lambda x, v: x.index_fill(1, twice, v), (2, 3), ())
out["alone"] = gradients(lambda x: torch.gather(x, 0, twice * 0), ())
out["scattered"] = torch.zeros(()).scatter_add(0, twice * 0, torch.ones(3)), torch.zeros(()).scatter(0, twice * 0, three)
x, s = T([1.5], requires_grad=True), T([2.0, 3.0], requires_grad=True)
g = torch.autograd.grad(torch.index_reduce(x, 0, T([0, 0]), s, "prod").sum(), (x, s), create_graph=True)
out["product"] = [t.detach() for t in g], torch.autograd.grad(g[0].sum() + g[1].sum(), (x, s))
m = lambda: T([True, False, False])
out["truths"] = m().index_add(0, T([1, 1]), T([True, True])), torch.zeros(2, 3).bool().index_add(1, T([0, 0, 2]), torch.ones(2, 3).bool())
""",
    "quantiles by their ranks": """
for name in ("quantile", "nanquantile"):
    q = T([0.2, 0.7], requires_grad=True)
    x = T([[3.0, 1.0, 2.0, 7.0], [nan, 1.0, 5.0, 2.0]], requires_grad=True)
    getattr(torch, name)(x, q, 1).nan_to_num().sum().backward()
    out[name] = q.grad, x.grad
""",
    "distances between equal points": """
for p in (0.0, 0.3, 0.5, 1.0, 1.5, 2.0, 3.0, inf):
    x = T([[1.0, 2], [1, 3]], requires_grad=True)
    torch.cdist(x, T([[1.0, 2], [1, 2]]), p=p).sum().backward()
    out[str(p)] = x.grad
""",
    "borders and what they cut": """
x = torch.arange(16.0).view(1, 1, 4, 4)
for mode in ("replicate", "reflect", "circular"):
    out[mode] = [told(lambda: F.pad(x, pad, mode)) for pad in ((-1, 2, 0, 0), (-3, 5, 1, -1), (-1, 1, -2, 1), (2, 2, 1, 0))]
out["more"] = [F.pad(x, pad, "replicate") for pad in ((-4, 5, 0, 0), (5, -4, 0, 0), (0, 0, -4, 4))]
leaf = torch.arange(4.0, requires_grad=True)
F.pad(leaf.view(1, 1, 4), (-4, 5), "replicate").sum().backward()
out["grad"] = leaf.grad
""",
    "pooling and convolution in three dims": """
x = torch.arange(240.0, dtype=torch.float64).view(1, 2, 4, 5, 6).sin().requires_grad_()
def seen(module):
    y = module(x)
    y = y[0] if isinstance(y, tuple) else y
    (g,) = torch.autograd.grad((y * torch.arange(y.numel(), dtype=y.dtype).view(y.shape).cos()).sum(), x, create_graph=True)
    second = torch.autograd.grad((g**2).sum(), x, allow_unused=True)[0] is None if g.requires_grad else None
    return str(module), y.detach(), type(y.grad_fn).__name__, g.detach(), second
for i, module in enumerate((nn.AdaptiveAvgPool3d(2), nn.AdaptiveAvgPool3d((1, None, 3)), nn.AdaptiveAvgPool3d(1), nn.AdaptiveMaxPool3d((2, 3, 4)), nn.ChannelShuffle(2))):
    out[str(i)] = seen(module)
out["places"] = nn.AdaptiveMaxPool3d((2, 3, 2), return_indices=True)(x)[1]
out["transposed"] = seen(fill(nn.ConvTranspose3d(2, 4, (2, 3, 2), stride=2, padding=1, output_padding=1, groups=2)).double())
out["area"] = F.interpolate(x, (2, 3, 3), mode="area").detach(), F.interpolate(x, scale_factor=0.5, mode="area").detach()
out["lazy"] = str(nn.LazyConvTranspose3d(3, 2))
""",
    "drawn numbers": """
for name, args in dict(geometric_=(0.3,), log_normal_=(1, 0.5), cauchy_=(1, 0.5)).items():
    for dtype in (torch.float32, torch.float64):
        torch.manual_seed(0)
        out[f"{name} {dtype}"] = getattr(torch.zeros(20, dtype=dtype), name)(*args), torch.rand(1)
    out[name + " refused"] = told(lambda: getattr(torch.zeros(2), name)(*[-1.0 for _ in args])), told(lambda: getattr(torch.zeros(2).long(), name)(*args) is None)
    out[name + " node"] = getattr(torch.zeros(2, requires_grad=True).clone(), name)(*args).grad_fn.name()
""",
    "numbers that do not fit": """
for dtype in (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool, torch.float16, torch.float32):
    out[str(dtype)] = [told(lambda: torch.tensor(n, dtype=dtype)) for n in (1e30, nan, inf, -1.5, 2**40, 2**63, -200.7, 70000.0, [1.5, 2**70])]
for dtype in (torch.uint8, torch.int32):
    one = torch.ones(1, dtype=dtype)
    uses = [lambda n: one.clamp(max=n), lambda n: one.clamp_min(n), lambda n: torch.where(T([True]), one, n), lambda n: one**n, lambda n: F.pad(one, (1, 1), value=n), lambda n: one.clone().fill_(n)]
    out["use " + str(dtype)] = [told(lambda: use(n)) for use in uses for n in (300, 2**40)]
out["halves"] = torch.ones(1).half().fill_(1e6), torch.full((1,), 1e6, dtype=torch.float16)
""",
    "lists of NumPy's numbers": """
values = [np.float32(5), 1.0], [1.0, np.float64(5)], [np.float64(5), 1], ((7, 5), (9, np.array(5.0))), [np.int32(5), 1.0], [np.int32(5), 1], [1, np.float32(5)], [True, np.int64(2)], [np.array([1]), [2.0]], np.float16(1)
out["r"] = [str(torch.tensor(v).dtype) for v in values]
""",
    "remainders of zero": """
x = T([-4.0, 4.0, -0.0, 0.0, -5.0, 5.0])
out["signs"] = [[str(n) for n in (x % d).tolist()] for d in (2, -2, 2.0)], [str(n) for n in torch.remainder(x, T(-2.0)).tolist()]
""",
    "layers that are given nothing": """
m = nn.BatchNorm1d(3, momentum=0.3)
y = m(torch.zeros(0, 3, requires_grad=True))
out["norm"] = y.grad_fn.name(), m.running_mean, m.running_var, m.num_batches_tracked, nn.BatchNorm1d(3, affine=False)(torch.zeros(0, 3, requires_grad=True)).grad_fn.name()
for shape in ((3, 0, 16), (0, 2, 16)):
    x = torch.zeros(shape)
    out[str(shape)] = [nn.MultiheadAttention(16, 2)(x, x, x, need_weights=w)[0].shape for w in (True, False)], nn.TransformerEncoderLayer(16, 2, 8)(x).shape
out["columns"] = F.unfold(torch.ones(0, 2, 4, 4), 2).shape
""",
    "losses that nothing counts in": """
x = torch.arange(12.0).view(3, 4).requires_grad_()
for name, loss in dict(cross=F.cross_entropy, nll=F.nll_loss).items():
    x.grad = None
    value = loss(x, T([1, 1, 1]), ignore_index=1)
    value.backward()
    out[name] = value.detach(), x.grad
a = T([-1.0, 1.0], requires_grad=True)
out["slopes"] = told(lambda: F.elu_(a.clone(), alpha=-2).sum().backward()), told(lambda: F.celu_(a.clone(), alpha=-2).sum().backward())
q = torch.zeros(3, requires_grad=True)
out["flat"] = torch.optim.LBFGS([q], tolerance_grad=-1).step(lambda: (q * 0).sum()).detach(), q
""",
    "containers": """
from collections import OrderedDict
P = lambda: nn.Parameter(torch.ones(1))
plain, ordered = nn.ParameterDict({"p8": P(), "p7": P()}), nn.ParameterDict(OrderedDict(z=P(), a=P()))
out["order"] = list(plain), list(ordered), list(plain | ordered), list(ordered | plain)
s = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
r = nn.Sequential(nn.ReLU())
r *= 3
out["times"] = str(s * 2), str(2 * s), (s * 2)[0] is s[0], str(r), told(lambda: s * 0)[:40], told(lambda: s * "a")[:40]
""",
    "states of older versions": """
bn = nn.BatchNorm2d(3)
old = {k: v for k, v in bn.state_dict().items() if k != "num_batches_tracked"}
out["norm"] = str(nn.BatchNorm2d(3).load_state_dict(old)), str(nn.Sequential(nn.BatchNorm2d(3)).load_state_dict({"0." + k: v for k, v in old.items()}))
p = nn.Parameter(torch.ones(2))
p.grad = torch.ones(2)
for name in "Adam AdamW SGD Adagrad Adadelta Adamax NAdam RAdam RMSprop Rprop ASGD".split():
    o = getattr(torch.optim, name)([p], lr=0.1)
    state = o.state_dict()
    for key in ("maximize", "foreach", "differentiable", "capturable", "fused"):
        state["param_groups"][0].pop(key, None)
    o.load_state_dict(state)
    o.step()
    out[name] = sorted(o.param_groups[0]), p.detach().clone()
o, log = torch.optim.SGD([p], lr=0.1), []
o.register_state_dict_pre_hook(lambda o: log.append(1))
o.register_state_dict_pre_hook(lambda o: log.append(2), prepend=True)
o.state_dict()
out["first"] = log
""",
    "rates that are tensors": """
p = nn.Parameter(torch.ones(2))
for make in (lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda e: 0.5**e), lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.5), lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 3), lambda o: torch.optim.lr_scheduler.StepLR(o, 2)):
    o = torch.optim.SGD([p], lr=T(0.1))
    s, rates = make(o), []
    for _ in range(5):
        o.step()
        s.step()
        rates.append(float(o.param_groups[0]["lr"]))
    out[type(s).__name__] = rates, [float(r) for r in s.base_lrs]
""",
    "states of another type": """
for name in ("NAdam", "ASGD", "Adam"):
    p = nn.Parameter(torch.ones(3, dtype=torch.float64))
    o, log = getattr(torch.optim, name)([p], lr=0.1), []
    for turn in range(5):
        p.grad = torch.arange(3.0, dtype=torch.float64) - turn
        o.step()
        if turn == 2:
            state = o.state_dict()
            o.load_state_dict(state)
        log.append(p.detach().clone())
    state = o.state_dict()
    state["state"][0]["step"] = 5.0
    o.load_state_dict(state)
    o.step()
    out[name] = log, p.detach()
""",
    "sizes asked of a transposed convolution": """
m = nn.ConvTranspose2d(3, 4, 3, stride=3)
x = torch.ones(2, 3, 6, 6)
out["r"] = [told(lambda: m(x, output_size=size).shape) for size in ((18, 19), (20, 20), (21, 21), (15, 15), (2, 4, 19, 20), (3,))]
""",
    "one parametrization after another": """
import torch.nn.utils.parametrize as P
class Twice(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2

class Sum(nn.Module):
    def forward(self, a, b):
        return a + b

    def right_inverse(self, w):
        return w / 4, w * 3 / 4

class Cut(nn.Module):
    def forward(self, x):
        return x[:1]

for first in (Twice, Sum):
    m = nn.Linear(2, 2, bias=False)
    m.weight.data = torch.ones(2, 2)
    P.register_parametrization(m, "weight", first())
    one = m.weight.detach().clone()
    P.register_parametrization(m, "weight", Twice())
    out[first.__name__] = one, m.weight.detach(), told(lambda: P.register_parametrization(m, "weight", Cut()))
    m.weight = torch.full((2, 2), 8.0)
    out["set " + first.__name__] = m.weight.detach()
""",
    "what a backward hook of the older kind misses": """
import warnings
def caught(forward, *args):
    m = type("Made", (nn.Module,), {"forward": lambda self, *args: forward(*args)})()
    m.register_backward_hook(lambda *a: None)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        m(*args)
    return [str(w.message) for w in seen]

a, b = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
out["inputs"] = caught(lambda m: (m[0].clone(), m[1].clone()), [a, b]), caught(lambda m, n: m * n, a, 2)
out["results"] = caught(lambda m: [m.clone()], a), caught(lambda m: {"y": m.clone()}, a), caught(lambda m: (m.clone(), 1), a)
out["nodes"] = caught(lambda m, n: (m.clone(), n.clone()), a, b), caught(lambda m: m.clone().clone(), a), caught(torch.mul, a, b), caught(torch.mul, a * 1, b * 1)
""",
    "what is refused of a parametrization": """
import copy, pickle
import torch.nn.utils.parametrize as P
def made(forward, inverse=None):
    names = {"forward": lambda self, *args: forward(*args)}
    if inverse is not None:
        names["right_inverse"] = lambda self, x: inverse(x)
    return type("Made", (nn.Module,), names)()

def attempt(*functions, unsafe=False, value=None):
    m = nn.Linear(2, 2, bias=False)
    for f in functions:
        P.register_parametrization(m, "weight", made(*f), unsafe=unsafe)
    if value is not None:
        m.weight = value
    return sorted(n for n, _ in m.named_parameters())

def never(x):
    raise NotImplementedError("never")

same, long = lambda x: x, lambda x: x.double()
first = [(long,), (lambda x: x[:1],), (lambda x: 3,), (same, never), (same, long), (same, lambda x: None), (lambda *x: x[0], lambda x: (x, None)), (same, same), (lambda x, y: x + y, lambda x: [x, x])]
out["first"] = [told(lambda: attempt(f)) for f in first]
out["second"] = [told(lambda: attempt((same, same), f)) for f in first[:6]]
one = torch.ones(2, 2)
out["set"] = [told(lambda: attempt(f, unsafe=True, value=v)) for f in first[6:] + [(same,)] for v in (one, one.double(), one[:1])]
kept = {"n": 0}
def odd(x):
    kept["n"] += 1
    return x if kept["n"] == 1 else [x, x][:kept["n"] - 2] if kept["n"] < 4 else None
out["odd"] = [told(lambda: attempt((same, odd), unsafe=True, value=one)) for kept["n"] in (0, 0, 0)]
m = nn.Linear(2, 2)
weight = m.weight
P.register_parametrization(m, "weight", made(lambda x: 2 * x, lambda x: x / 2))
out["itself"] = m.parametrizations.weight.original is weight, type(m).__name__
out["pickled"] = told(lambda: pickle.dumps(m)), type(copy.deepcopy(m)).__name__, torch.equal(copy.deepcopy(m).weight, m.weight)
P.remove_parametrizations(m, "weight")
out["removed"] = m.weight is weight, type(m).__name__
""",
    "keys that attention is given as they are": """
x, w, b = torch.arange(6.0).view(3, 1, 2).sin(), torch.arange(12.0).view(6, 2).cos(), torch.arange(6.0)
keys, more = torch.arange(8.0).view(2, 4, 1).sin(), torch.ones(1, 1, 2)
def call(k, v, static_k, static_v):
    return F.multi_head_attention_forward(x, x, x, 2, 2, w, b, k, v, True, 0.0, w[:2], b[:2], static_k=static_k, static_v=static_v)

wrong = keys[:1], keys.expand(2, 4, 2)
cases = [(more, None, None, None), (None, more, None, None), (more, more, keys, None), (more, more, None, keys)]
cases += [(None, None, k, None) for k in wrong] + [(None, None, None, k) for k in wrong] + [(None, None, keys, keys), (more, more, None, None)]
out["r"] = [told(lambda: call(*case)) for case in cases]
""",
    "pruning by a mask of another type": """
import torch.nn.utils.prune as prune
for method in (prune.L1Unstructured(2), prune.RandomUnstructured(0), prune.LnStructured(1, 2, 1)):
    method._tensor_name = "w"
    out[type(method).__name__] = [prune.PruningContainer(method).compute_mask(torch.arange(8.0).view(2, 4), T([[1, 1, 1, 0], [1, 1, 0, 1]]).to(kind)) for kind in (torch.int64, torch.bool, torch.float64)]
""",
    "ints that are given as something else": """
import warnings
warnings.simplefilter("ignore")
class Index:
    def __index__(self):
        return 1

class NoIndex:
    def __index__(self):
        raise TypeError("none")

def shape(f, i):
    r = told(lambda: f(i))
    return r[:60] if isinstance(r, str) else [tuple(t.shape) for t in (r if isinstance(r, (tuple, list)) else [r])]

one = torch.ones(1, 1, 3)
calls = dict(
    ones=torch.ones, two=lambda i: torch.ones(i, 2), listed=lambda i: torch.ones((2, i)), view=lambda i: torch.ones(1).view(i), permute=lambda i: wide.permute(i, 0),
    sum=lambda i: wide.sum((i,)), flip=lambda i: wide.flip(i), full=lambda i: torch.full((i,), 2), roll=lambda i: wide.roll((i,), (0,)), repeat=lambda i: wide.repeat(i, 1),
    topk=wide.topk, kthvalue=wide.kthvalue, tril=wide.tril, triu=lambda i: torch.triu(wide, diagonal=i), select=lambda i: wide.select(0, i), narrow=lambda i: wide.narrow(1, 0, i),
    eye=torch.eye, randint=lambda i: torch.randint(0, i, (2,)), randperm=torch.randperm, bincount=lambda i: T([1]).bincount(minlength=i), split=wide.split, unsafe_split=wide.unsafe_split,
    multinomial=lambda i: torch.multinomial(three, i), nll=lambda i: F.nll_loss(wide, T([0, 1]), ignore_index=i), embedding=lambda i: F.embedding(T([0]), wide, i),
    conv=lambda i: F.conv1d(one, one, None, 1, 0, 1, i), norm=lambda i: F.layer_norm(torch.ones(2, 1), (i,)), pool=lambda i: F.avg_pool2d(torch.ones(1, 1, 3, 3), (i, 1)), tile=lambda i: wide.tile((i,)),
    softmax=wide.softmax, cumsum=wide.cumsum, flatten=wide.flatten, cat=lambda i: torch.cat([wide], i), diagonal=wide.diagonal, unfold=lambda i: wide.unfold(1, i, 1),
)
given = dict(array=np.array(1), index=Index(), none=NoIndex(), row=np.array([1]), float=np.array(1.0), numpy=np.int32(1), tensor=T([1]), deep=T([[1]]), flat=T(1), half=T([1.0]))
out["r"] = {f"{n} {k}": shape(f, i) for n, f in calls.items() for k, i in given.items() if (n, k) not in {("split", "numpy"), ("embedding", "index"), ("embedding", "none")}}
""",
    "sizes of images that are no ints": """
sizes = [(T(3.0),), (T(3),), (T([3]),), (3,), (np.int64(3),)]
out["interpolate"] = [str(told(lambda: tuple(F.interpolate(torch.ones(1, 1, 2), size=s).shape)))[:60] for s in sizes], [str(told(lambda: tuple(F.interpolate(torch.ones(1, 1, 2, 2), size=s * 2, mode="bilinear").shape)))[:60] for s in sizes]
pads = [(1.0, 1), (T(1.0), 1), (True, 1), T(1), T([1, 1]), (1, 1.0), ("a", 1), 1, 1.0, "ab", None, (T(1), 1), (T([1]), np.uint8(1)), (np.array(1), 1), [1, 1], (1, None)]
out["pad"] = [[told(lambda: F.pad(torch.ones(1, 1, 3), p, mode=m).shape) for p in pads] for m in ("constant", "reflect", "replicate", "circular")]
out["value"] = [told(lambda: F.pad(torch.ones(1, 1, 3), (1, 1), *v)) for v in (("constant", T(2)), ("constant", "a"), (1,), ("constant", None), ("constant", [1]), ("foo",))]
out["names"] = told(lambda: F.pad(torch.ones(1, 1, 3), pad=(1, T(1)), value=np.float64(2))), told(lambda: F.pad([1], (1, 1))), told(lambda: F.pad(torch.ones(2)))
""",
    "what loading a state leaves for the collector": """
import copy, gc
m = nn.LSTM(2, 2, bidirectional=True)
while gc.collect():  # what other programs left may take several turns: nodes of PyTorch with hooks do
    pass
gc.disable()
m.load_state_dict(copy.deepcopy(m).state_dict())
out["objects"] = gc.collect()
gc.enable()
""",
    "running statistics with tangents": """
fw = torch.autograd.forward_ad
parts = torch.arange(30.0).view(3, 2, 5).sin(), T([0.1, 0.2]), T([1.0, 2.0])
def shape(training, places):
    with fw.dual_level():
        duals = [fw.make_dual(p.clone(), torch.ones_like(p)) if i in places else p.clone() for i, p in enumerate(parts)]
        return F.batch_norm(*duals, training=training).shape
out["r"] = [told(lambda: shape(t, p)) for t in (False, True) for p in ((0,), (1,), (1, 2), (0, 1), (0, 2), (0, 1, 2))]
""",
    "orthogonal matrices": """
orthogonal, weight_norm = torch.nn.utils.parametrizations.orthogonal, torch.nn.utils.parametrizations.weight_norm
def start(n, k, batch=()):
    m = nn.Module()
    m.weight = nn.Parameter(torch.sin(torch.arange(float(n * k) * (2 if batch else 1), dtype=torch.float64) * 1.7 + 0.5).view(*batch, n, k))
    return m

for map in (None, "matrix_exp", "cayley", "householder"):
    for trivial in (True, False):
        for shape in ((3, 3), (4, 2), (2, 4), (3, 2, (2,))):
            torch.manual_seed(0)
            m = orthogonal(start(*shape), orthogonal_map=map, use_trivialization=trivial)
            tall = m.weight if shape[0] >= shape[1] else m.weight.mT
            one = torch.eye(tall.shape[-1], dtype=tall.dtype)
            grad, = torch.autograd.grad((m.weight * torch.arange(m.weight.numel()).view(m.weight.shape)).sum(), m.parametrizations.weight.original)
            known = trivial and shape[0] != shape[1]  # columns that were drawn and made orthogonal to the others: their signs are anyone's
            out[f"{map} {trivial} {shape}"] = m.weight.detach(), torch.allclose(tall.mT @ tall, one), m.parametrizations.weight.original.detach().clone(), None if known else grad
            with torch.no_grad():
                told_ = told(lambda: setattr(m, "weight", m.weight * 1))
                out[f"set {map} {trivial} {shape}"] = told_, torch.allclose(tall, m.weight if shape[0] >= shape[1] else m.weight.mT)
out["refused"] = [told(lambda: type(f()).__name__) for f in (lambda: orthogonal(nn.Linear(2, 2), "foo"), lambda: orthogonal(nn.Linear(2, 2), "bias"), lambda: orthogonal(nn.Linear(2, 2), orthogonal_map="qr"), lambda: orthogonal(nn.Linear(2, 2), "in_features"))]
m = orthogonal(nn.Linear(2, 2))
out["wrong size"] = told(lambda: setattr(m, "weight", torch.ones(3, 2)))
import warnings
warnings.simplefilter("ignore")
old, new = nn.utils.weight_norm(nn.Linear(2, 2)), weight_norm(nn.Linear(2, 2))
out["older state"] = str(new.load_state_dict(old.state_dict())), torch.allclose(old.weight, new.weight)
""",
    "batches": """
import collections
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate, default_convert
class Odd(Dataset[torch.Tensor]):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        if i % 2:
            raise ValueError("odd")
        return i

class Five(IterableDataset[int]):
    def __iter__(self):
        return iter(range(5))

batches, seen = iter(DataLoader(Odd())), []
for _ in range(7):
    seen.append(told(lambda: next(batches)))
out["errors"] = seen
out["iterated"] = list(DataLoader(Five(), batch_size=2)), list(DataLoader(Five(), batch_size=2, drop_last=True)), list(DataLoader(Five(), batch_size=None))
d, o = collections.deque, collections.OrderedDict
kinds = [(1, 2), (1, 2, 3)], [range(3), range(3)], [d([1, 2]), d([3, 4])], [o(a=1), o(a=2)], [collections.defaultdict(int, a=1)] * 2, [np.array(["a"])], ["a", "b"], [[1, 2], [3, 4]]
out["collated"] = [(lambda r: (type(r).__name__, r if isinstance(r, str) else list(r.items()) if isinstance(r, dict) else list(r)))(told(lambda: default_collate(k))) for k in kinds]
out["converted"] = [told(lambda: default_convert(k)) for k in (np.int64(3), range(3), (1, [2, np.float32(3)]), {"a": np.ones(2)})]
""",
    "hooks of a call that fails": """
import warnings
class Fails(nn.Module):
    def forward(self, x):
        raise ValueError("forward failed")
def hook(*args):
    raise KeyError("hook failed")
m = Fails()
m.register_forward_hook(hook, always_call=True)
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    out["both fail"] = told(lambda: m(three)), [str(w.message)[:120] for w in seen]
calls = []
m = Fails()
m.register_forward_hook(lambda *a: calls.append("own"), always_call=True)
m.register_forward_hook(lambda *a: calls.append("usual"))
handle = nn.modules.module.register_module_forward_hook(lambda *a: calls.append("global"), always_call=True)
out["only forward"] = told(lambda: m(three)), calls
handle.remove()
m = nn.Linear(3, 1)
m.register_forward_hook(hook)
m.register_forward_hook(lambda *a: calls.append("after"), always_call=True)
out["only a hook"] = told(lambda: m(three)), calls
""",
    "results with names under backward hooks": """
import collections
Pair = collections.namedtuple("Pair", "left right")
class Two(nn.Module):
    def forward(self, x):
        return Pair(x * 2, x * 3)
for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
    m = Two()
    getattr(m, register)(lambda *a: None)
    r = m(leaf)
    out[register] = type(r).__name__, told(lambda: r.left), told(lambda: r.right)
""",
    "hooks and the life of a module": """
import gc, weakref
gc.collect()
gc.disable()
m = nn.Linear(2, 2)
m.register_load_state_dict_pre_hook(lambda *a: None)
m.register_load_state_dict_post_hook(lambda *a: None)
m.register_state_dict_pre_hook(lambda *a: None)
state = m.state_dict()
m.load_state_dict(state)
alive = weakref.ref(m)
del m, state
out["alive"] = alive() is not None
gc.enable()
""",
    "settings that optimizers refuse": """
P, Q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
O = torch.optim
out["rates"] = [told(lambda: type(k([P], lr=T([0.1, 0.2]))).__name__) for k in (O.SGD, O.Adam, O.RMSprop, O.Adagrad, O.Adadelta, O.AdamW, O.NAdam, O.RAdam, O.ASGD, O.Rprop, O.Adamax, O.LBFGS)]
out["names"] = [told(lambda: type(O.SGD(g, lr=0.1)).__name__) for g in ([("a", P), Q], [Q, ("a", P)], [{"params": [P]}, {"params": [("a", Q)]}], [{"params": [("a", P)]}, {"params": [Q]}])]
o = O.SGD([P], lr=0.1)
out["added"] = told(lambda: o.add_param_group({"params": [("a", Q)]})), len(o.param_groups)
out["kinds"] = [
    told(lambda: type(k([P], **s)).__name__)
    for k in (O.Adam, O.AdamW)
    for s in (
        dict(lr=T(0.1), foreach=True), dict(betas=(0.9, T(0.99))), dict(betas=(T(0.9), T(0.99)), foreach=True), dict(betas=(T(0.9), T(0.99))),
        dict(betas=(T([0.9, 0.9]), T(0.99))), dict(betas=(T(0.9), T([0.99, 0.9]))), dict(lr=T(0.1), fused=True), dict(foreach=True, fused=True),
        dict(lr=-1), dict(betas=(1.0, 0.9)), dict(eps=-1), dict(weight_decay=-1),
    )
]
""",
    "datasets and loaders that are refused": """
from torch.utils.data import ConcatDataset, DataLoader, IterableDataset, StackDataset, TensorDataset, random_split
import warnings
data = TensorDataset(torch.arange(4.0))
loader = DataLoader(data)
out["set"] = [told(lambda: setattr(loader, name, None)) for name in "batch_size batch_sampler sampler drop_last dataset persistent_workers".split()]
loader.collate_fn = len
out["collate_fn"] = list(loader)
out["made"] = [told(lambda: type(DataLoader(data, **s)).__name__) for s in (dict(timeout=-1), dict(multiprocessing_context="fork"), dict(prefetch_factor=2), dict(persistent_workers=True), dict(num_workers=-1), dict(batch_size=0))]
class Endless(IterableDataset):
    def __iter__(self):
        return iter(range(3))
out["joined"] = told(lambda: type(ConcatDataset([Endless()])).__name__), told(lambda: type(ConcatDataset([])).__name__)
both = ConcatDataset([[1, 2], [3]])
out["places"] = [told(lambda: both[i]) for i in (-4, -3, -1, 2, 3)], both.cumulative_sizes
out["stacked"] = told(lambda: StackDataset(data, a=data)), told(lambda: StackDataset()), told(lambda: StackDataset(data, [1]))
with warnings.catch_warnings(record=True) as seen:
    warnings.simplefilter("always")
    parts = random_split(range(2), [0.9, 0.1])
    out["split"] = [len(p) for p in parts], [str(w.message)[:100] for w in seen]
""",
    "padded batches and their kinds": """
from torch.nn.utils.rnn import pack_padded_sequence
p = pack_padded_sequence(torch.arange(6.0).view(3, 2), [3, 2])
out["itself"] = [told(lambda: f(p) is p) for f in (lambda p: p.to(torch.float32), lambda p: p.float(), lambda p: p.cpu(), lambda p: p.to("cpu"))]
out["kinds"] = [str(getattr(p, k)().data.dtype) for k in "double long int short char byte half float".split()]
out["pinned"] = p.is_pinned(), p.is_cuda
""",
    "a step as it was written long ago": """
p = torch.ones(3)
p.add_(-0.5, torch.arange(3.0)).addcdiv_(2, torch.ones(3), torch.full((3,), 4.0))
out["step"] = p
""",
    "forward mode over a backward pass through writes": """
import torch.autograd.forward_ad as fw
x = T([1.0, 2.0])
def moved(g):
    with fw.dual_level():
        d = fw.make_dual(x.clone().requires_grad_(), torch.ones(2))
        found, = torch.autograd.grad(g(d).sum(), d, create_graph=True)
        return fw.unpack_dual(found).tangent.detach()
def part(d):
    z = d * d
    z[0].mul_(d[1])
    return z
def seen(d):
    z = d * d
    z.view(2, 1).exp_()
    return z
def set_item(d):
    z = d * 1
    z[0] = d[1] ** 2
    return z * z
makers = dict(part=part, seen=seen, set_item=set_item, mul=lambda d: d.clone().mul_(d).mul_(d), cumsum=lambda d: d.clone().cumsum_(0).pow_(2), filled=lambda d: d.clone().masked_fill_(T([True, False]), 3.0).mul_(d), atan2=lambda d: d.clone().atan2_(d * 2 + 1), lerp=lambda d: d.clone().lerp_(d * d, 0.3), addcmul=lambda d: d.clone().addcmul_(d, d), pow=lambda d: d.clone().pow_(d), clamp=lambda d: d.clone().clamp_(min=1.5).mul_(d), copy=lambda d: torch.zeros(2).copy_(d * d) * d)
for name, g in makers.items():
    out[name] = told(lambda: moved(g))
for name in "sin_ cos_ tanh_ sigmoid_ square_ reciprocal_ sqrt_ log_ exp_ expm1_ erf_ sinh_ atan_ asin_ neg_ abs_ log1p_ tan_ relu_".split():
    out[name] = told(lambda: moved(lambda d: getattr((d * 0.3).clone(), name)() * d))
out["hessian"] = torch.autograd.functional.hessian(lambda x: x.clone().pow_(3).sum(), x, vectorize=True, outer_jacobian_strategy="forward-mode")
""",
    "a backward pass over forward mode with unrecorded writes": """
import torch.autograd.forward_ad as fw
def slope(f, *start):
    w = T(start, requires_grad=True)
    with fw.dual_level():
        tangent = fw.unpack_dual(f(fw.make_dual(w, torch.ones_like(w)))).tangent
    return tangent.detach(), torch.autograd.grad(tangent.sum(), w)[0]
def whole(d):
    y = d**2
    with torch.no_grad():
        y.clamp_(min=1e-6)
    return y * y
def part(d):
    y = d**2
    with torch.no_grad():
        y[0].mul_(3)
    return y * y
out["whole"], out["part"] = slope(whole, 2.0, 3.0), slope(part, 2.0, 3.0)
out["cosine"] = slope(lambda d: F.cosine_similarity(d[None], T([[1.0, -2.0]])), 1.0, 2.0)
out["nll"] = slope(lambda d: F.gaussian_nll_loss(torch.ones(2), torch.zeros(2), d), 1.0, 2.0)
""",
    "workers of a loader have random numbers of their own": """
import random
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info
class Drawn(Dataset):
    def __len__(self):
        return 7
    def __getitem__(self, i):
        info = get_worker_info()
        return torch.rand(1)[0], random.random(), np.random.rand(), i, info.id if info else -1
class Counted(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        yield from ((i, torch.rand(1)[0]) for i in range(info.id if info else 0, 7, info.num_workers if info else 1))
for count in (0, 1, 2):
    for name, options in dict(plain=dict(batch_size=2), shuffled=dict(batch_size=3, shuffle=True, drop_last=True), single=dict(batch_size=None)).items():
        torch.manual_seed(0), random.seed(0), np.random.seed(0)
        fork = dict(num_workers=count, multiprocessing_context="fork") if count else {}
        loader = DataLoader(Drawn(), **fork, **options)
        out[f"{name} {count}"] = [[list(batch) for batch in loader] for _ in range(2)], torch.rand(1), random.random(), np.random.rand()
    out[f"iterable {count}"] = [list(batch) for batch in DataLoader(Counted(), batch_size=2, **fork)], torch.rand(1)
lasting = DataLoader(Drawn(), batch_size=4, num_workers=2, persistent_workers=True, multiprocessing_context="fork")
out["lasting"] = [[batch[0] for batch in lasting] for _ in range(2)], torch.rand(1)
del lasting  # and its workers, now: left to the garbage collector they end in the middle of another test
turn = iter(DataLoader(list(range(10)), batch_size=3))
out["iterator"] = len(turn), type(turn).__name__, next(turn), turn._num_yielded, told(lambda: turn.next())
out["nobody"] = get_worker_info() is None
""",
    "how random a check of second derivatives is": """
for name, check in dict(one=lambda x: torch.autograd.gradgradcheck(torch.sin, x), two=lambda x: torch.autograd.gradgradcheck(lambda a, b: (a * b, a + b), (x, x)), gaps=lambda x: torch.autograd.gradgradcheck(torch.sin, x, gen_non_contig_grad_outputs=True), fast=lambda x: torch.autograd.gradgradcheck(torch.sin, x, fast_mode=True), first=lambda x: torch.autograd.gradcheck(torch.sin, x)).items():
    torch.manual_seed(0)
    out[name] = check(torch.zeros(3, requires_grad=True, dtype=torch.double)), torch.rand(1)
""",
    "the older names of initializations and of upsampling": """
for name, more in dict(uniform=(), normal=(), constant=(2.0,), eye=(), xavier_uniform=(), xavier_normal=(), kaiming_uniform=(), kaiming_normal=(), orthogonal=(), sparse=(0.5,)).items():
    torch.manual_seed(0)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        out[name] = getattr(nn.init, name)(torch.zeros(3, 3), *more), [f"{w.category.__name__} {w.message}" for w in given]
with warnings.catch_warnings(record=True) as given:
    warnings.simplefilter("always")
    out["upsample"] = F.upsample(torch.ones(1, 1, 2, 2), scale_factor=2).shape, [str(w.message) for w in given]
    next(iter(torch.utils.data.DataLoader([1], pin_memory=True)))
    out["pinned"] = [str(w.message) for w in given][1:]
""",
    "counts of many draws, and all values there are": """
D = torch.distributions
out["drawn"] = D.Multinomial(10, T([0.2, 0.3, 0.5])).sample(), D.multinomial.Multinomial(4, torch.ones(2, 3)).sample((3,))
m = D.Multinomial(3, logits=T([0.1, 0.2, -inf]))
out["about"] = m.probs, m.mean, m.variance, m.log_prob(T([1.0, 2.0, 0.0])), m.batch_shape, m.event_shape, told(lambda: D.Multinomial(T([1, 2]), torch.ones(2)))
out["values"] = D.Categorical(torch.ones(2, 3)).enumerate_support(), D.Categorical(torch.ones(2, 3)).enumerate_support(expand=False), D.Bernoulli(T([0.2, 0.3])).enumerate_support(), D.OneHotCategorical(torch.ones(2, 3)).enumerate_support()
""",
    "what a pool and a convolution have saved is written to": """
image = torch.arange(32.0).reshape(1, 2, 4, 4).requires_grad_()
pools = dict(two=lambda: F.max_pool2d(image, 2, return_indices=True), one=lambda: F.max_pool1d(image[0], 2, return_indices=True),
             three=lambda: F.max_pool3d(image, 2, return_indices=True), adaptive=lambda: F.adaptive_max_pool2d(image, 2, return_indices=True),
             fractional=lambda: F.fractional_max_pool2d(image, 2, 3, return_indices=True))
for name, pool in pools.items():
    torch.manual_seed(0)
    y, places = pool()
    out[name] = y, places
    places.zero_()
    out[name + " written"] = told(lambda: y.sum().backward())
for frozen in (image.detach().clone(), torch.ones(2, 2, 2, 2)):
    other = torch.ones(2, 2, 2, 2, requires_grad=True) if frozen.shape[0] == 1 else image
    y = F.conv2d(frozen, other) if frozen.shape[0] == 1 else F.conv2d(other, frozen)
    frozen.add_(1)
    out[f"conv {frozen.shape[0]}"] = told(lambda: y.sum().backward())
    y = F.conv2d(frozen, other) if frozen.shape[0] == 1 else F.conv2d(other, frozen)
    other.detach().add_(1)
    out[f"conv other {frozen.shape[0]}"] = told(lambda: y.sum().backward())
""",
    "circular borders": """
for shape, pad in (((4,), (1, 1)), ((2, 4), (1, 1)), ((2, 3, 4), (1, 1, 1, 1)), ((2, 3, 4, 4), (1, 1)), ((2, 3, 4), (5, 0)), ((2, 3, 4), (-2, -2)),
                   ((2, 3, 4), (-3, -3)), ((2, 0, 4), (1, 1)), ((2, 3, 4), (4, 4)), ((1, 2, 3, 4, 5), (1, 2, 1, 0, 2, 0)), ((2, 3, 4), (-1, 1))):
    out[f"{shape} {pad}"] = told(lambda: F.pad(torch.arange(float(torch.Size(shape).numel())).reshape(shape), pad, mode="circular"))
out["order"] = F.pad(image, (1, 1, 1, 1), mode="circular").stride()
""",
    "leaves that are views, after their base got a history": """
def after_a_write(kind, hooked):
    x, w = torch.ones(3), torch.ones((), requires_grad=True)
    if kind == "one of several":
        part = x.split(1)[1]
    elif kind == "unrecorded":
        with torch.no_grad():
            part = x[1:2]
    else:
        part = x[1:2]
    part.requires_grad_()
    seen = []
    if hooked:
        part.register_hook(lambda g: seen.append(g.tolist()))
    y = part * 2
    x[0] = w
    return told(y.sum().backward), seen, told(lambda: torch.autograd.grad((part * 2).sum(), part))

for kind in ("one of several", "unrecorded", "a slice"):
    for hooked in (False, True):
        out[f"{kind}, {hooked}"] = after_a_write(kind, hooked)
""",
    "retain_grad twice, with a write between": """
part, other = (leaf * 1).split(2)
part.retain_grad()
with torch.no_grad():
    part._base.mul_(2)
out["again"], out["the other"] = told(part.retain_grad), told(other.retain_grad)
""",
    "a view that reaches beyond what it is a view of": """
w = T([2.0, 3.0], requires_grad=True)
for offset in (0, 1, 4):
    for name, part in dict(data=torch.arange(6.0)[2:5].data, detached=torch.arange(6.0)[2:5].detach(), slice=torch.arange(6.0)[2:5]).items():
        view = part.as_strided((2,), (1,), offset)
        view.mul_(w)
        out[f"{name} {offset}"] = told(lambda: torch.autograd.grad(view.sum(), w, create_graph=True))
out["refused"] = [told(lambda: torch.arange(3.0).as_strided(*how)) for how in (((2,), (1,), -1), ((0,), (1,), -1), ((2,), (3,), 0), ((0,), (1,), 9), ((2,), (1,), 2))]
""",
    "duals that are expanded and written": """
fw = torch.autograd.forward_ad
for name, write in dict(fill=lambda v: v.fill_(3.0), zero=lambda v: v.zero_(), mask=lambda v: v.masked_fill_(v > 1, 0.5), index=lambda v: v.__setitem__(T([0, 1]), 2.0), row=lambda v: v[0].mul_(2), column=lambda v: v[:, 0].mul_(3)).items():
    with fw.dual_level():
        dual = fw.make_dual(T([1.0, 2.0]), T([0.5, 0.25]))
        wide = dual.expand(2, 2)
        out[name] = told(lambda: write(wide) is None), [[part.tolist() for part in fw.unpack_dual(t)] for t in (dual, wide)]
""",
    "duals without elements": """
fw = torch.autograd.forward_ad
with fw.dual_level():
    dual = fw.make_dual(torch.zeros(0, 2), torch.zeros(0, 2))
    for name, fn in dict(unbind=dual.unbind, rows=lambda: list(dual), split=lambda: dual.split(1), chunk=lambda: dual.chunk(2), sum=dual.sum).items():
        out[name] = told(lambda: [tuple(t.shape) for t in fn()])
""",
    "views without elements": """
x = torch.arange(6.0)
for how in (((0, 3), (1, 1), 2), ((2, 0), (5, 1), 1), ((0, 3), (1, 1))):
    part = x.as_strided(*how)
    out[str(how)] = part.stride(), part.storage_offset(), part.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
""",
    "a base whose elements share places": """
w = T([2.0, 3.0], requires_grad=True)
def written(stride, graphs):
    base = torch.empty_strided((2, 2), stride)
    base[0].fill_(1.0)
    base[0].mul_(w)
    return torch.autograd.grad(base.sum(), w, create_graph=graphs)[0]
for graphs in (False, True):
    out[f"{graphs}"] = told(lambda: written((0, 1), graphs)), told(lambda: written((2, 1), graphs))
""",
    "which of two refusals": """
wide = leaf.expand(2, 4)
out["filled"] = told(lambda: wide.diagonal().fill_(T(2.0))), told(lambda: wide[0].fill_(T(2.0)))
""",
    "copied onto itself": """
wide = torch.ones(2, 1).expand(2, 2, 1).expand(2, 2, 2, 1)
wide[0] = wide[0]
wide[0] = wide[1]
wide.copy_(wide.view(wide.shape))
out["versions"] = wide._version
out["onto others"] = told(lambda: wide.copy_(torch.ones(2, 2, 2, 1))), told(lambda: wide.add_(wide.view(wide.shape)))
""",
    "a factor of what needs no gradient is written": """
with torch.no_grad():
    still = leaf[:1]
x = T(0.5, requires_grad=True)
part = (x * 1).view(1)[0]
y = still * part
part.mul_(2)
out["requires grad"] = still.requires_grad, still.is_leaf, y.requires_grad, y.grad_fn.next_functions[0]
out["gradient"] = told(lambda: torch.autograd.grad(y.sum(), x))
""",
    "one saved value is looked at": """
x, y = leaf * 1, T([1.0, 2, 3, 4], requires_grad=True) * 1
z = x * y
y.add_(1)
out["the other was written"] = z.grad_fn._saved_self, told(lambda: z.grad_fn._saved_other)
seen = []
with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: seen.append(t.tolist()) or t):
    z = x * y
out["hooks"] = z.grad_fn._saved_self, list(seen)
z = x * x
x.detach_()
out["after detach_"] = z.grad_fn._saved_self, told(z.sum().backward)
""",
    "handles on saved tensors": """
def packed(t):
    return "packed"

def unpacked(t):
    return torch.full((4,), 7.0)

def seen(handle):
    hook = told(lambda: handle.unpack_hook)
    return told(lambda: handle.data), hook is unpacked or hook, told(handle.unpack)

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, b):
        y = a * b
        ctx.save_for_backward(a, b, y, None)
        return y

    @staticmethod
    def backward(ctx, g):
        return g, g

x, y = leaf * 1, torch.ones(4)
z = x * y
out["a factor"], out["what is not saved"] = seen(z.grad_fn._raw_saved_other), seen(z.grad_fn._raw_saved_self)
y.requires_grad_()
z = x * y
out["itself"] = z.grad_fn._raw_saved_self.unpack() is x
e = z.exp()
out["a result"] = seen(e.grad_fn._raw_saved_result)
with torch.autograd.graph.saved_tensors_hooks(packed, unpacked):
    w = (x * x).exp()
out["with hooks"] = seen(w.grad_fn._raw_saved_result), seen(w.grad_fn.next_functions[0][0]._raw_saved_self)
handle = z.grad_fn._raw_saved_other
handle.register_hooks(packed, unpacked)
out["registered"] = seen(handle)
doubled = x * 2
handle = doubled.grad_fn._raw_saved_self
out["nothing"] = seen(handle), told(lambda: handle.register_hooks(packed, unpacked))
written = x * y
x.add_(1)
out["written"] = seen(written.grad_fn._raw_saved_self)
x = x.detach().requires_grad_()
e = x * y
handle = e.grad_fn._raw_saved_self
e.sum().backward()
out["freed"] = seen(handle)
z = Product.apply(x, y)
handles = z.grad_fn._raw_saved_tensors
out["a custom function's"] = [seen(h) for h in handles]
handles[0].register_hooks(packed, unpacked)
out["hooked"] = seen(handles[0]), z.grad_fn.saved_tensors[0]
""",
    "a checkpoint whose input was detached": """
checkpoint = torch.utils.checkpoint.checkpoint

def after(change, kept=False):
    x = T([1.0, 2], requires_grad=True)
    z = x * 1
    y = checkpoint(lambda a, b: a.exp() * b, x, z, use_reentrant=False)
    change(z)
    told(lambda: y.sum().backward())
    return told(lambda: y.sum().backward()), x.grad

out["detached"] = after(lambda z: z.detach_())
out["and wanted again"] = after(lambda z: z.detach_().requires_grad_())
out["written"] = after(lambda z: z.add_(1))
""",
    "what a joined tensor without a gradient is sent": """
seen = []
a, b = torch.ones(1, 2, requires_grad=True), torch.ones(1, 2)
for join in (torch.cat, torch.stack, torch.vstack):
    y = join([b, a, b])
    y.grad_fn.register_hook(lambda sent, given: seen.append(list(sent)))
    y.cumsum(0).sum().backward(retain_graph=True)
    y.sum().backward(inputs=[y])
out["sent"] = seen
""",
    "data replaced by another shape or type while a graph lives": """
def after(data, use=lambda x, y: y.sum().backward(), of="y", factor=2):
    x = torch.ones(3, requires_grad=True)
    y = x * factor
    {"x": x, "y": y}[of].data = data
    seen = []
    y.register_hook(lambda g: seen.append((list(g.shape), g.dtype)))
    return told(lambda: use(x, y)), x.grad, seen

five, double, wide = torch.ones(5), torch.ones(3, dtype=torch.float64), torch.ones(2, 3)
out["results"] = [after(data) for data in (five, double, wide, torch.ones(1), torch.ones(()), torch.ones(3))]
out["roots"] = [after(data, lambda x, y: y.backward(torch.ones_like(y))) for data in (five, wide)]
out["graphs"] = [after(data, lambda x, y: y.sum().backward(create_graph=True)) for data in (five, wide)]
out["grad"] = [after(data, lambda x, y: torch.autograd.grad(y.exp().sum(), y)) for data in (five, wide, double)]
out["leaves"] = [after(data, of="x") for data in (five, double, torch.ones(1), double.view(3, 1), wide.t().contiguous().t())]
out["saved leaves"] = [after(data, lambda x, y: (x * x).sum().backward(), of="x") for data in (five, double)]

def again(x, y):
    (x * 3).sum().backward(retain_graph=True)
    y.sum().backward()
    return (x * 3).grad_fn.next_functions[0][0] is y.grad_fn.next_functions[0][0]

out["used again"] = [after(data, again, of="x") for data in (five, double)]
out["asked again"] = [after(data, lambda x, y: torch.autograd.grad((x * 3).sum(), x), of="x") for data in (five, double, wide)]

def turned(x, y):
    y.data = torch.ones(3)
    y.sum().backward()

out["and back"] = after(five, turned)
x = torch.ones(3, requires_grad=True)
y = x * x
x.data = five
out["a factor"] = told(lambda: y.sum().backward()), x.grad
x = torch.ones(3, requires_grad=True)
(x * 2).sum().backward()
x.data = five
out["an old gradient"] = told(lambda: (x * 2).sum().backward()), x.grad
x = torch.ones(2, 3, requires_grad=True)
a, b = x.unbind()
a.data = five
out["one of two"] = told(lambda: (a.sum() + b.sum()).backward()), x.grad
v = torch.ones(2, 3, requires_grad=True).view(6)
v.data = five
out["a view"] = told(lambda: v.sum().backward())
layer = nn.Linear(2, 1)
y = layer(torch.ones(1, 2))
layer.double()
y.sum().backward()
out["a layer"] = layer.weight.grad, layer.weight.dtype
""",
    "data of a constant replaced by another shape after it was saved": """
def after(op, shape, data, before=lambda w: w):
    w = torch.ones(shape, requires_grad=True)
    x = torch.ones(2, 3)
    y = op(before(w), x)
    x.data = data
    return told(lambda: torch.autograd.grad(y.sum(), w, retain_graph=True)), told(lambda: y.sum().backward()), w.grad

for name, before in {"leaves": lambda w: w, "results": lambda w: w * 1}.items():
    out[name] = [after(torch.mul, (2, 3), torch.ones(shape), before) for shape in ((1, 3), (4, 2, 3), (1,))]
out["matrices"] = [after(torch.mm, (4, 2), torch.ones(shape)) for shape in ((5, 3), (1, 3))]
""",
    "the type of gradients": """
f16, f32, f64 = torch.float16, torch.float32, torch.float64

class Wide(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.double()

    @staticmethod
    def backward(ctx, g):
        return g

def wants(kind, then=lambda x: (x * 2).sum().backward(), first=None):
    x = torch.ones(3, requires_grad=True)
    before = first and first(x)
    seen = []
    def act():
        x.grad_dtype = kind
        x.register_hook(lambda g: seen.append(g.dtype))
        return then(x) if before is None else then(x, before)
    return told(act), told(lambda: x.grad_dtype), x.grad, seen

out["own"] = leaf.grad_dtype, ints.grad_dtype, three.grad_dtype, three.half().grad_dtype
out["set"] = [wants(kind) for kind in (f64, f32, f16, None, "float32", 5)]
out["again"] = [wants(kind, lambda x: [(x * 2).sum().backward() for _ in "ab"]) for kind in (f64, f16, None)]
out["assigned"] = [wants(kind, lambda x, t=t: setattr(x, "grad", t.clone())) for kind in (f64, None) for t in (three, three.double(), three.half(), three.long())]
out["and added to"] = [wants(kind, lambda x: (setattr(x, "grad", three.to(kind or f16)), (x * 2).sum().backward())) for kind in (f64, f16, None)]
out["functions"] = [wants(kind, lambda x: [(Wide.apply(x).sum() * 2).backward() for _ in "ab"]) for kind in (f64, f32, f16, None)]
out["grad"] = [wants(kind, lambda x: torch.autograd.grad((x * 2).sum(), x)) for kind in (f64, None)]
out["recorded"] = [wants(kind, lambda x: torch.autograd.grad((x * x).sum(), x, create_graph=True)) for kind in (f64, None)]
out["of graphs that are there"] = wants(f64, lambda x, y: (y + x * 3).sum().backward(), lambda x: x * 2)
out["with a gradient"] = [wants(kind, lambda x, y: None, lambda x: [setattr(x, "grad", three.clone())]) for kind in (f64, f32, None)]
out["changed"] = wants(f64, lambda x: [setattr(x, "grad_dtype", k) for k in (f16, None, f32)])
x = torch.ones(3, requires_grad=True)
x.grad_dtype = f64
with torch.no_grad():
    v = torch.ones(4, requires_grad=True).view(2, 2)
out["a view"] = v.grad_dtype, setattr(v, "grad_dtype", f64), v.grad_dtype, torch.autograd.grad((v.requires_grad_() * 2).sum(), v)
out["computed"] = told(lambda: (x * 2).grad_dtype), told(lambda: setattr(x.view(3), "grad_dtype", f32)), told(lambda: setattr(x * 2, "grad_dtype", 5))
out["copies"] = x.detach().grad_dtype, x.data.grad_dtype, x.requires_grad_(False).grad_dtype, nn.Parameter(x).grad_dtype
x.data = three.half()
out["data"] = x.grad_dtype, x.dtype
w = torch.ones(3)
w.data = three.half()
out["data of another type"] = w.grad_dtype
w.grad_dtype = f64
w.requires_grad_()
y = w * 2
w.data = three.clone()
(y.sum() + (w * 3).sum()).backward()
out["both"] = w.grad, w.grad_dtype
x = torch.ones(3, requires_grad=True)
y = x * 2
x.data = torch.ones(5)
x.grad_dtype = f64
out["a shape that was"] = told(lambda: (x * 3).sum().backward()), x.grad
y.sum().backward()
out["and its own graph"] = x.grad
p = nn.Parameter(torch.ones(2))
p.grad_dtype = f16
(p * 2.5).sum().backward()
torch.optim.SGD([p], 0.1).step()
out["stepped"] = p, p.grad
""",
    "forward mode does not go into out": """
forward = torch.autograd.forward_ad

def tried(fn):
    result = told(fn)
    return result.split(".\\n")[0] if isinstance(result, str) else result

with forward.dual_level():
    a, b = forward.make_dual(pair, pair + 1), T([0.5, 2.0])
    empty = torch.zeros(2)
    out["r"] = [tried(fn) for fn in (
        lambda: torch.add(b, b, out=a), lambda: torch.add(a, b, out=empty), lambda: torch.exp(a, out=empty),
        lambda: torch.cat([a, b], out=torch.zeros(4)), lambda: torch.sum(a, 0, out=torch.zeros(())),
        lambda: torch.gt(a, b, out=torch.zeros(2, dtype=torch.bool)), lambda: torch.max(a, 0, out=(torch.zeros(()), T(0))),
        lambda: torch.add(b, b, out=empty), lambda: torch.igamma(a, b), lambda: torch.igamma(b, a), lambda: torch.igammac(b, a),
        lambda: torch.igamma(b, b),
    )]
    out["left"] = empty
""",
    "a function to be differentiated once says what went in": """
from torch.autograd.function import once_differentiable

class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, number, b):
        ctx.save_for_backward(a, b)
        return a * number * b

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        a, b = ctx.saved_tensors
        return g * b, None, g * a

a, b = leaf * 1, leaf.detach().requires_grad_()
ga, gb = torch.autograd.grad(Product.apply(a, 2.0, b), (a, b), torch.ones(4, requires_grad=True), create_graph=True)
out["error"] = [[type(n).__name__ for n, _ in g.grad_fn.next_functions] for g in (ga, gb)], ga.grad_fn is gb.grad_fn
out["told"] = told(lambda: ga.sum().backward())
""",
    "callbacks at the end of a pass": """
queue = torch.autograd.Variable._execution_engine.queue_callback
log = []

def noted(what, then=None):
    def fn():
        log.append((what, torch.is_grad_enabled(), x.grad is not None))
        if then is not None:
            then()
    return fn

def after(hook, run=lambda y: y.sum().backward()):
    global x
    x, log[:] = torch.ones(3, requires_grad=True), []
    y = x * 2
    y.register_hook(hook)
    return told(lambda: run(y)), list(log), x.grad

def inner(g):
    queue(noted("outer"))
    with torch.enable_grad():
        z = T([1.0, 2], requires_grad=True) * 3
        z.register_hook(lambda g: queue(noted("inner")))
        z.sum().backward()
    log.append("back")

def fails(g):
    queue(noted("never"))
    raise ValueError("in a hook")

out["outside"] = told(lambda: queue(lambda: None))
out["one"] = after(lambda g: queue(noted("end")))
out["recorded"] = after(lambda g: queue(noted("end")), lambda y: y.sum().backward(create_graph=True))
out["asked"] = after(lambda g: queue(noted("end")), lambda y: torch.autograd.grad(y.sum(), x))
out["another"] = after(lambda g: queue(noted("first", lambda: queue(noted("second")))))
out["inner"] = after(inner)
out["failing"] = after(fails)
out["failing itself"] = after(lambda g: queue(lambda: 1 / 0))
out["outside again"] = told(lambda: queue(lambda: None))
""",
    "gradcheck of functions that are told of no tangent": """
calls = []

class Sum(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.set_materialize_grads(False)
        return x + y

    @staticmethod
    def jvp(ctx, a, b):
        calls.append(1)
        return b if a is None else a * 2 if b is None else a + b

class Both(Sum):
    @staticmethod
    def forward(ctx, x, y):
        return x.clone(), y.clone()

    @staticmethod
    def jvp(ctx, a, b):
        calls.append(1)
        return a, b

class Broken(Sum):
    @staticmethod
    def jvp(ctx, a, b):
        return a + b

def checked(fn, *args, **how):
    calls.clear()
    try:
        result = torch.autograd.gradcheck(fn.apply, args, check_forward_ad=True, check_backward_ad=False, **how)
    except Exception as error:
        result = type(error).__name__, [str(a)[:120] for a in error.args]
    return result, len(calls)

x, y = T([1.0], dtype=torch.float64, requires_grad=True), T([2.0], dtype=torch.float64, requires_grad=True)
for fn in (Sum, Both, Broken):
    out[fn.__name__] = [checked(fn, *args, **how) for args in ((x, y), (x, y.detach()), (x.detach(), y)) for how in ({}, {"check_undefined_grad": False})]
out["fast"] = [checked(fn, x, y, fast_mode=True) for fn in (Sum, Both)]
out["zero-dim"] = checked(Both, x[0].detach().requires_grad_(), y)
""",
    "a tensor strided in place": """
six = torch.arange(6.0)
out["r"] = [told(lambda: six.clone().as_strided_(*args)) for args in (((2, 2), (1, 2), 1), ((2, 2), (1, 2)), ((2, 2), (1, 2), 9), ((2, 2), (-1, 2)), ((2,), (1, 2)))]
l = six.clone().requires_grad_()
y = l * 2
y.as_strided_((2, 2), (1, 2), 1)
(y * torch.arange(4.0).view(2, 2)).sum().backward()
n = y.grad_fn
out["history"] = y, l.grad, y._version, (n._saved_size, n._saved_stride, n._saved_storage_offset), told(lambda: l.as_strided_((2, 2), (1, 2)))
y = l * 2
v = y[1:]
v.as_strided_((2,), (1,), 2)
v.mul_(3)
out["a view"] = v, y, v._base is y, torch.autograd.grad(y.sum(), l)
y = (l * 2).view(2, 3)
z = y.exp()
y.as_strided_((3, 2), (1, 3))
out["saved before"] = told(lambda: torch.autograd.grad(z.sum(), l))
x = six.clone()
out["the function"] = torch.as_strided_(x, (3,), (2,)) is x, x.stride(), x.add_(1)
forward = torch.autograd.forward_ad
with forward.dual_level():
    d = forward.make_dual(six.clone(), six + 1)
    out["dual"] = [list(forward.unpack_dual(p)) for p in (*d.unsafe_split_with_sizes([2, 4]), d.as_strided_((2, 2), (1, 2), 1))]
""",
    "pieces that are no views": """
l = torch.arange(6.0).view(2, 3).requires_grad_()
a, b = torch.unsafe_split_with_sizes(l * 1, (1, 2), -1)
n = b.grad_fn
out["r"] = a, b, n._saved_split_sizes, n._saved_dim, a._is_view()
a.mul_(2)
out["written"] = a, torch.autograd.grad(a.sum() + b.sum() * 3, l)
out["one"] = torch.autograd.grad((l * 1).unsafe_split_with_sizes([1, 1])[1].sum(), l)
out["dims"] = [p.grad_fn._saved_dim for p in (l.unsafe_split(2, -1)[0], l.unsafe_split(2, 1)[0], torch.unsafe_chunk(l, 2, -1)[0])]
out["refused"] = [told(fn) for fn in (
    lambda: torch.unsafe_split_with_sizes(l, (1, 2)), lambda: torch.unsafe_split_with_sizes(T(1.0), (1,)), lambda: l.unsafe_split_with_sizes((-1, 3)),
    lambda: l.unsafe_split(2, 3), lambda: l.unsafe_split_with_sizes((1, 2), 2),
)]
""",
    "pools and bags of nothing, and what does not fit": """
F, rnn = nn.functional, nn.utils.rnn
bag, i, o = nn.EmbeddingBag(5, 2, mode="sum"), T([3, 1, 1, 1, 4, 0]), T([0, 0, 3, 3, 6])
out["bags"] = [told(lambda: bag(i, o, torch.ones(6, dtype=t))) for t in (torch.float64, torch.float16, torch.int64)]

def unpooled(d, *lead):
    x = torch.ones(*lead, *(4,) * d, requires_grad=True)
    y, places = getattr(F, f"max_pool{d}d")(x, 2, return_indices=True)
    z = getattr(F, f"max_unpool{d}d")(y, places, 2)
    z.sum().backward()
    return z.shape, x.grad.shape

out["unpooled"] = [told(lambda: unpooled(d, *lead)) for d in (1, 2, 3) for lead in ((0, 3), (2, 0), (2, 3))]

def adapted(name, size, *shape):
    x = torch.ones(shape, requires_grad=True)
    y = getattr(F, name)(x, size)
    return y.shape, told(lambda: y.sum().backward()), x.grad is None

for kind in ("avg", "max"):
    out[kind] = [told(lambda: adapted(f"adaptive_{kind}_pool{d}d", size, *lead, *(4,) * d)) for d in (1, 2, 3) for size in (0, (0, 2, 3)[:d], (2, 0, 3)[:d]) for lead in ((2, 3), (3,), (0, 3))]

out["packed"] = [told(fn) for fn in (
    lambda: rnn.pack_padded_sequence(torch.ones(0, 0), []), lambda: rnn.pack_padded_sequence(torch.ones(0, 1, 4), torch.ones(2, 2, dtype=torch.int64), True),
    lambda: rnn.pack_padded_sequence(torch.ones(3, 1, 4), torch.ones(2, 2, dtype=torch.int64), True),
)]
""",
    "hooks after state_dict and norms of lazy layers": """
layer = nn.Linear(1, 1)
def hook(module, state, prefix, metadata):
    return {} if prefix == "gone." else None

handle = layer.register_state_dict_post_hook(hook)
out["public"] = hook._from_public_api, told(lambda: layer._register_state_dict_hook(hook)), told(lambda: layer.state_dict(prefix="gone."))
handle.remove()
out["removed"] = list(layer.state_dict(prefix="gone."))
layer._register_state_dict_hook(lambda *args: {"all": 1})
out["older"] = layer.state_dict()
lazy = nn.LazyLinear(7)
out["lazy"] = told(lambda: nn.utils.spectral_norm(lazy)), told(lambda: nn.utils.weight_norm(lazy)), list(lazy._parameters)
""",
    "storages are written to": """
x = T([4.0, 1.0, 5.0])
s = x.storage()
s[0] = 2.0
out["x"], out["shown"], out["bytes"] = x, str(s), str(T([1.0]).untyped_storage())
with torch.backends.cudnn.flags(enabled=False):
    out["inside"] = torch.backends.cudnn.enabled
from torch.nn.parallel import DistributedDataParallel
from torch.distributed import init_process_group, destroy_process_group
out["alone"] = torch.distributed.is_initialized()
""",
}  # fmt: skip

PROGRAMS = {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES.strip().splitlines()}
PROGRAMS |= {name: START + block for name, block in BLOCKS.items()}

STORED = stored(__file__)
OF_THE_BUILD = """
nn.Linear(2, 2).to("cuda")
nn.Linear(2, 2).to(device="cuda:0")
nn.Linear(2, 2).to(torch.device("cuda"))
nn.Linear(2, 2).to(3)
nn.Linear(2, 2, device="cuda")
nn.Linear(2, 2).cuda()
nn.Linear(2, 2).cuda(0)
nn.Linear(2, 2).to_empty(device="cuda")
nn.LSTM(2, 2, device="cuda")
nn.MultiheadAttention(4, 2, device="cuda")
torch.ones(2).to("cuda")
pair.cuda(0)
pair.pin_memory()
torch.randn(2, pin_memory=True)
torch.tensor([1.0], pin_memory=True)
""".strip().splitlines()
"""Of these a build of PyTorch for CUDA says other things."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    mine, theirs = run(PROGRAMS[name], standing_in), STORED["results"][name]
    assert not differences(mine, theirs)


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS, of_the_build=OF_THE_BUILD)
