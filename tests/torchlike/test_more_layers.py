"""Layers, losses and helpers that fewer programs use: numbers, graphs, shown forms, draws, and what is refused.

Each line runs in both libraries, each block leaves what it put into `out`. Recorded and live.

To record: `python -m tests.record more_layers`.
"""

import json
import subprocess
import sys

import pytest
from recorded import check_live, differences, run, stored

START = """
import copy, warnings
torch.manual_seed(0)
T, inf, nan = torch.tensor, float("inf"), float("nan")

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:140]}"

def graph(t):
    def below(node):
        if node is None:
            return "-"
        inner = [below(n) for n, _ in node.next_functions]
        return type(node).__name__ + (f"({', '.join(inner)})" if inner else "")
    return below(t.grad_fn)

def drawn(*shape, dtype=torch.float64):
    return torch.randn(*shape, dtype=dtype).requires_grad_()

def derived(fn, *xs):
    y = fn(*xs)
    y = y[0] if isinstance(y, tuple) else y
    g = torch.randn(y.shape, dtype=y.dtype).requires_grad_()
    first = torch.autograd.grad(y, xs, g, create_graph=True, allow_unused=True)
    moved = [d for d in first if d is not None and d.requires_grad]
    second = told(lambda: torch.autograd.grad([d.sum() for d in moved], [g, *xs], allow_unused=True)) if moved else None
    return y, graph(y), first, second

def numbers(value):
    if isinstance(value, (tuple, list)):
        return [numbers(v) for v in value]
    return value.detach() if isinstance(value, torch.Tensor) else value

image, volume = drawn(2, 3, 7, 8), drawn(2, 3, 5, 6, 4)
row = drawn(2, 3, 8)
few, target, signs = drawn(3, 4), torch.rand(3, 4, dtype=torch.float64), torch.ones(3, 4, dtype=torch.float64).tril() * 2 - 1
weight, bias = drawn(3), drawn(3)
pooled, places = F.max_pool2d(image, 2, return_indices=True)
times, taps, shift = drawn(6, 2, 3), drawn(2, 3, 5), drawn(5)
"""

LINES = """
F.max_pool1d_with_indices(row, 2), F.max_pool1d_with_indices(row, 3, 1, 1, 2, True, False)
F.max_pool2d_with_indices(image, 2), F.max_pool2d_with_indices(image, 2, return_indices=False)[1]
F.max_pool3d_with_indices(volume, 2), F.adaptive_max_pool1d_with_indices(row, 3), F.adaptive_max_pool2d_with_indices(image, (3, None))
F.adaptive_max_pool3d_with_indices(volume, 2), graph(F.adaptive_max_pool3d_with_indices(volume, 2)[0])
torch.max_pool1d_with_indices(row, 2), graph(torch.max_pool1d_with_indices(row, 2)[0]), type(torch.max_pool1d_with_indices(row, 2)).__name__
torch.max_pool1d_with_indices(row[0, 0], 2)
torch.max_pool1d_with_indices(row, 9)
torch.max_pool1d_with_indices(row, 2, padding=2)
torch.max_pool1d_with_indices(row, 2, return_indices=True)
torch.adaptive_max_pool1d(row, 2), graph(torch.adaptive_max_pool1d(row, 2)[0])
torch.adaptive_max_pool1d(row, (2, 3))
torch.adaptive_max_pool1d(row)
F.max_pool2d(T([[[1.0, nan], [nan, 3]]]), 2, return_indices=True), F.adaptive_max_pool2d(T([[[1.0, nan], [nan, 3]]]), 1, return_indices=True)
derived(lambda x: F.max_unpool1d(x, F.max_pool1d(row, 2, return_indices=True)[1], 2), drawn(2, 3, 4))
derived(lambda x: F.max_unpool2d(x, places, 2), drawn(2, 3, 3, 4))
derived(lambda x: F.max_unpool2d(x, places, 2, output_size=image.shape), drawn(2, 3, 3, 4))
derived(lambda x: F.max_unpool3d(x, F.max_pool3d(volume, 2, return_indices=True)[1], 2), drawn(2, 3, 2, 3, 2))
[(k, getattr(F.max_unpool2d(pooled, places, 2).grad_fn, k)) for k in dir(F.max_unpool2d(pooled, places, 2).grad_fn) if k.startswith("_saved")]
F.max_unpool2d(pooled, places * 0 + 3, 2)[0, 0]
F.max_unpool2d(pooled, places, 2, output_size=[9, 9])
F.max_unpool2d(pooled, places, 2, output_size=[4, 8])
F.max_unpool2d(pooled, places, 2, output_size=[7, 9]).shape, F.max_unpool2d(pooled, places, 2, output_size=[2, 3, 7, 9]).shape
F.max_unpool2d(pooled, places, 2, output_size=[7, 7, 7])
F.max_unpool2d(pooled, places, 2, output_size=7)
F.max_unpool2d(pooled, places, 2, output_size=(6, 'a'))
F.max_unpool2d(pooled, places.view(-1).index_fill(0, T([0]), 380).view_as(places), 2)
F.max_unpool2d(pooled, places.view(-1).index_fill(0, T([5]), -38).view_as(places), 2)
F.max_unpool2d(pooled, places.int(), 2)
F.max_unpool3d(volume, torch.zeros(2, 3, 5, 6, 4, dtype=torch.int32), 2)
F.max_unpool2d(pooled, places[0], 2)
F.max_unpool2d(pooled[0], places[0], 2).shape
F.max_unpool2d(pooled[0, 0], places[0, 0], 2)
F.max_unpool2d(pooled[0, 0, 0], places[0, 0, 0], 2)
F.max_unpool2d(pooled[:0], places[:0], 2).shape
F.max_unpool2d(pooled[:, :0], places[:, :0], 2)
F.max_unpool2d(pooled.int(), places, 2)
F.max_unpool2d(pooled, places, 2, padding=5)
F.max_unpool2d(pooled, places, 3, -1).shape
F.max_unpool3d(volume, torch.zeros(2, 3, 5, 6, 4, dtype=torch.int64), 2, 0)
F.max_unpool2d(pooled, places, [2, 2], None, [0, 0]).shape
F.max_unpool2d(pooled.half(), places, 2).dtype
nn.MaxUnpool1d(2), nn.MaxUnpool2d(2, 3), nn.MaxUnpool3d((1, 2, 3), padding=1), nn.MaxUnpool2d(2)(pooled, places, output_size=image.size()).shape
nn.MaxUnpool1d(2)(*F.max_pool1d(row, 2, return_indices=True)), nn.MaxUnpool1d(2)(*F.max_pool1d(row, 2, return_indices=True), [2, 3, 9]).shape
nn.MaxUnpool3d(2)(*F.max_pool3d(volume, 2, return_indices=True))
derived(lambda x: F.lp_pool1d(x, 2, 2), row)
derived(lambda x: F.lp_pool2d(x.abs(), 1.5, (2, 3), 1, True), image)
derived(lambda x: F.lp_pool3d(x, 2, 2), volume)
F.lp_pool3d(volume, inf, 2), F.lp_pool2d(image, inf, 2).shape, F.lp_pool1d(row, inf, 2).shape
F.lp_pool2d(image, 0, 2)
F.lp_pool3d(volume, 2, (2, 3))
F.lp_pool2d(image, 2, [2])
F.lp_pool2d(image, 2, 0)
F.lp_pool2d(image, 2, 9)
nn.LPPool1d(2, 3), nn.LPPool2d(2, (3, 2), stride=1), nn.LPPool3d(1.5, 3, ceil_mode=True), nn.LPPool1d(2, 3)(row), nn.LPPool3d(3, 2)(volume.abs())
derived(lambda x: F.fractional_max_pool2d(x, 2, (3, 4)), image)
derived(lambda x: F.fractional_max_pool3d(x, 2, (3, 4, 2)), volume)
F.fractional_max_pool2d(image, 2, output_ratio=(0.5, 0.3), return_indices=True), F.fractional_max_pool2d(image.float(), (2, 3), 3), torch.rand(2)
F.fractional_max_pool2d_with_indices(image[0], 2, (1, 1)), F.fractional_max_pool3d_with_indices(volume.float()[0], 1, (5, 1, 3))
F.fractional_max_pool2d(image, 2, (3, 4), _random_samples=torch.tensor([[[0.3, 0.8]] * 3] * 2).double()), F.fractional_max_pool3d(volume, 2, (3, 4, 2), _random_samples=torch.tensor([[[0.3, 0.8, 0.1]] * 3] * 2).double())
sorted((k, str(getattr(F.fractional_max_pool2d(image, 2, 2).grad_fn, k))[:20]) for k in dir(F.fractional_max_pool2d(image, 2, 2).grad_fn) if k.startswith("_saved"))
F.fractional_max_pool2d(image, 2)
F.fractional_max_pool2d(image, 2, output_ratio=0.5)
F.fractional_max_pool2d(image, 2, output_ratio=(0.5, 0.5, 0.5))
F.fractional_max_pool2d(image, 2, output_ratio=(0.5,))
F.fractional_max_pool2d(image, 2, 7)
F.fractional_max_pool2d(image, 2, (6, 8))
F.fractional_max_pool2d(image, 9, 2)
F.fractional_max_pool2d(image, (2, 3, 4), 2)
F.fractional_max_pool2d(image, 2, (2, 3, 4))
F.fractional_max_pool2d(image[0, 0], 2, 2)
F.fractional_max_pool2d(image[:, :0], 2, 2)
F.fractional_max_pool2d(image[:0], 2, 2).shape
F.fractional_max_pool2d(image, 2, 2, _random_samples=torch.rand(2, 3, 2))
F.fractional_max_pool2d(image, 2, 2, _random_samples=torch.rand(1, 3, 2).double())
F.fractional_max_pool2d(image, 2, 2, _random_samples=torch.rand(2, 3, 1).double())
F.fractional_max_pool2d(image, 2, 2, _random_samples=torch.rand(3, 2).double())
F.fractional_max_pool2d(image, 2, 2, _random_samples=torch.rand(2, 2, 2).double())
F.fractional_max_pool2d(image.int(), 2, 2)
F.fractional_max_pool2d(image, 2, -1)
F.fractional_max_pool2d(image, 2, 0).shape
F.fractional_max_pool3d(volume, 2)
F.fractional_max_pool3d(volume, 2, 7)
F.fractional_max_pool3d(volume, (2, 3), 2)
F.fractional_max_pool3d(volume, 2, (2, 3))
F.fractional_max_pool3d(volume[:, :, :0], 2, 2)
F.fractional_max_pool3d(image[0], 2, 2)
nn.FractionalMaxPool2d(2, 3), nn.FractionalMaxPool3d(2, output_ratio=0.5).output_ratio, nn.FractionalMaxPool2d(2, 3).output_size, nn.FractionalMaxPool2d(2, 3)(image), nn.FractionalMaxPool3d(2, output_ratio=0.5, return_indices=True)(volume)
nn.FractionalMaxPool2d(2)
nn.FractionalMaxPool2d(2, 3, 0.5)
nn.FractionalMaxPool2d(2, output_ratio=1.5)
nn.FractionalMaxPool3d(0, 3)
nn.FractionalMaxPool3d(2, output_ratio=0)
derived(F.pdist, drawn(4, 3)), derived(lambda x: torch.pdist(x, 1), drawn(4, 3)), derived(lambda x: torch.pdist(x, 0), drawn(4, 3))
derived(lambda x: F.pdist(x, 3.5), drawn(5, 2)), derived(lambda x: F.pdist(x, inf), drawn(5, 2)), derived(lambda x: F.pdist(x, 0.5), drawn(5, 2))
[torch.autograd.grad(F.pdist(x, p).sum(), x)[0] for p in (0, 0.5, 1, 2, 3, inf) for x in [torch.zeros(3, 2, requires_grad=True)]]
F.pdist(few[:1]), F.pdist(few[:0]), F.pdist(few[:, :0]), F.pdist(few.float())
F.pdist(few[0])
F.pdist(few.int())
F.pdist(few, -1)
F.pdist(few, nan)
F.pdist(few.half())
F.pdist(few, 'a')
[(torch.manual_seed(1), f(few, 0.4, True), graph(f(few, 0.4, True)))[1:] for f in (torch.dropout, torch.feature_dropout, torch.alpha_dropout, torch.feature_alpha_dropout)]
[(torch.manual_seed(1), f(few * 1, 0.4, True), graph(f(few * 1, 0.4, True)))[1:] for f in (torch.dropout_, torch.feature_dropout_, torch.alpha_dropout_, torch.feature_alpha_dropout_)]
[(f(few, 0.4, False) is few, f(few, 0.0, True) is few, graph(f(few, 1.0, True))) for f in (torch.feature_dropout, torch.alpha_dropout, torch.feature_alpha_dropout)]
[graph(f(few * 1, 1.0, True)) for f in (torch.feature_dropout_, torch.alpha_dropout_, torch.feature_alpha_dropout_)]
F.alpha_dropout(image, 0.3, True), F.feature_alpha_dropout(image, 0.3, True), torch.rand(1)
F.alpha_dropout(image * 1, 0.3, True, True), F.feature_alpha_dropout(image * 1, 0.3, True, True), F.dropout2d(image * 1, 0.3, True, True), torch.rand(1)
graph(F.alpha_dropout(few * 1, 0.5, True, True)), graph(F.feature_alpha_dropout(few * 1, 0.5, True, True)), graph(F.dropout2d(image * 1, 0.5, True, True)), graph(F.dropout1d(few * 1, 0.5, True, True)), graph(F.dropout3d(volume[0], 0.5))
F.feature_alpha_dropout(image, 0.3) is image, F.dropout1d(row, 0.3, False) is row, F.dropout1d(few * 1, 0.5), F.dropout3d(volume[0] * 1, 0.5, True, True).shape
nn.FeatureAlphaDropout(0.3), nn.FeatureAlphaDropout()(image), nn.FeatureAlphaDropout(0.2, True)(image * 1), nn.FeatureAlphaDropout().eval()(few) is few
torch.alpha_dropout(few, -1.0, True)
torch.feature_dropout(few[0], 0.5, True)
torch.feature_alpha_dropout(few[0], 0.5, True)
torch.alpha_dropout(few.int(), 0.5, True)
torch.feature_dropout(few)
torch.alpha_dropout_(few, 0.5, True)
F.feature_alpha_dropout(few, 2)
nn.FeatureAlphaDropout(2)
F.rrelu_(few * 1), F.rrelu_(few * 1, 0.1, 0.2, True), graph(F.rrelu_(few * 1, 0.1, 0.2, True))
F.rrelu_(few)
F.upsample_bilinear(image, scale_factor=2), F.upsample_nearest(image, scale_factor=2), F.upsample_nearest(image[0], 5), graph(F.upsample_bilinear(image, (3, 4)))
F.upsample_bilinear(image[0], 5)
F.upsample_nearest(image)
derived(lambda x: F.interpolate(x, (3, 5), mode="bilinear", antialias=True), image), derived(lambda x: F.interpolate(x, (9, 4), mode="bicubic", antialias=True, align_corners=True), image), derived(lambda x: F.interpolate(x, (2, 9), mode="lanczos", antialias=True), image)
F.interpolate(image, scale_factor=0.4, mode="bilinear", antialias=True), F.interpolate(image.float(), scale_factor=(1.03, 0.5), mode="bicubic", antialias=True), F.interpolate(image, 3, mode="lanczos", antialias=True).shape
F.interpolate(image, scale_factor=0.4, mode="bicubic", antialias=True, recompute_scale_factor=True)
F.interpolate(image, 2, mode="lanczos", antialias=True, align_corners=True)
F.interpolate(image, 2, mode="lanczos")
F.interpolate(image[0], 2, mode="lanczos")
F.interpolate(image[0], 2, mode="linear", antialias=True)
F.interpolate(image, 2, mode="nearest", antialias=True)
F.interpolate(image.int(), 2, mode="bilinear", antialias=True)
nn.Container(a=nn.ReLU(), b=nn.Linear(1, 1)), nn.Container(a=nn.ReLU()).a, told(lambda: nn.Container()(few))
nn.NLLLoss2d(ignore_index=2), nn.NLLLoss2d()(few.log_softmax(1), T([0, 2, 1]))
nn.CrossMapLRN2d(3), nn.CrossMapLRN2d(3)(image), nn.CrossMapLRN2d(5, 0.3, 0.6, 1.5)(image), nn.CrossMapLRN2d(2, 0.3)(image), nn.CrossMapLRN2d(1, 0.3)(image.float())
nn.CrossMapLRN2d(3)(row)
nn.RNNCellBase(2, 3, True, 4), [(k, v) for k, v in nn.RNNCellBase(2, 3, False, 1).named_parameters()], issubclass(nn.LSTMCell, nn.RNNCellBase), nn.GRUCell(2, 3, False)
nn.RNNCellBase(2, 3, True, 4)(few)
numbers([derived(torch.conv_tbc, times, taps, shift), derived(lambda x, w, b: F.conv_tbc(x, w, b, 1), times, taps, shift), derived(lambda x, w, b: F.conv_tbc(x, w, b, 5), times, taps, shift)])
torch.conv_tbc(times[0], taps, shift)
torch.conv_tbc(times, taps[0], shift)
torch.conv_tbc(times, taps, shift[None])
torch.conv_tbc(times, taps, shift[:2])
torch.conv_tbc(times[..., :2], taps, shift)
torch.conv_tbc(times[:1], taps, shift).shape
torch.conv_tbc(times[:1], taps, shift, -1)
torch.conv_tbc(times.float(), taps, shift)
torch.conv_tbc(times, taps)
torch.conv_tbc(times, taps, shift, (1,))
derived(torch.kl_div, few, target)[:2], derived(lambda x, y: torch.kl_div(x, y, 2, log_target=True), few, target.requires_grad_()), torch.kl_div(few, target, 1), torch.kl_div(few, target, 5).shape
torch.kl_div(few, target, 'mean')
derived(lambda a, b: torch.cosine_embedding_loss(a, b, signs[:, 1], 0.1, 2), few, drawn(3, 4)), torch.cosine_embedding_loss(few, few, signs[:, 0]).shape
derived(lambda a: torch.hinge_embedding_loss(a, signs), few), torch.hinge_embedding_loss(few, signs, 0.5, 1)
torch.hinge_embedding_loss(few, signs, 'mean')
derived(lambda a, b: torch.margin_ranking_loss(a, b, signs, 0.2, 1), few, drawn(3, 4)), torch.margin_ranking_loss(few, few, signs[0]).shape
derived(lambda a, b, c: torch.triplet_margin_loss(a, b, c, swap=True, reduction=2), few, drawn(3, 4), drawn(3, 4)), torch.triplet_margin_loss(few, target, target), torch.triplet_margin_loss(few, target, target, -1.0)
derived(lambda a: torch.poisson_nll_loss(a, target * 3, True, True, 1e-8, 1), few), torch.poisson_nll_loss(target, target, False, False, 1e-8, 0)
torch.poisson_nll_loss(few, target, True)
derived(torch.binary_cross_entropy_with_logits, few, target), torch.binary_cross_entropy_with_logits(few, target, target, target, 1), torch.binary_cross_entropy_with_logits(few[0], target).shape
torch.binary_cross_entropy_with_logits(few, target[:1])
torch.binary_cross_entropy_with_logits(few, target.long())
torch.ctc_loss(torch.randn(5, 2, 3).log_softmax(-1), T([[1, 2], [1, 2]]), [5, 5], [2, 2]).shape
torch.affine_grid_generator(drawn(2, 2, 3), (2, 3, 4, 5), False), graph(torch.affine_grid_generator(drawn(2, 2, 3), (2, 3, 4, 5), True))
numbers(derived(lambda x: torch.layer_norm(x, (4,)), few)[:3]), torch.layer_norm(few, (3, 4), None, None, 1e-3, True), torch.layer_norm(few, [4], target[0].detach())
torch.layer_norm(few, (5,))
torch.layer_norm(few, (4,), cudnn=True)
derived(lambda x: torch.rms_norm(x, (4,)), few)[:3], torch.rms_norm(few, (4,), target[0].detach(), 1e-3), graph(torch.rms_norm(few, (4,), target[0].detach()))
torch.rms_norm(few, (3,))
numbers(derived(lambda x, w, b: torch.group_norm(x, 3, w, b), row, weight, bias)[:3]), torch.group_norm(row, 1, None, None, 1e-3, False)
torch.group_norm(row, 2)
numbers(derived(lambda x, w, b: torch.batch_norm(x, w, b, None, None, True, 0.1, 1e-5, True), row, weight, bias)[:3]), torch.batch_norm(row, None, None, torch.zeros(3).double(), torch.ones(3).double(), False, 0.1, 1e-5, True)
torch.batch_norm(row[:1, :, :1], weight, bias, None, None, True, 0.1, 1e-5, True)
torch.batch_norm(row, weight, bias, None, None, False, 0.1, 1e-5, True)
torch.batch_norm(row, weight, bias, None, None, True, 0.1, 1e-5)
torch.batch_norm(row, bias[:2], bias, None, None, True, 0.1, 1e-5, True)
torch.batch_norm(row, weight, bias, bias[:2], None, True, 0.1, 1e-5, True)
numbers(derived(lambda x, w, b: torch.instance_norm(x, w, b, None, None, True, 0.1, 1e-5, True), row, weight, bias)[:3]), torch.instance_norm(row, weight, bias, torch.zeros(3), torch.ones(3), False, 0.1, 1e-5, True)
torch.instance_norm(row, weight, bias, None, None, False, 0.1, 1e-5, True)
torch.gru(row, bias)
torch.lstm(row, row, [weight], True, 1, 0.0, True, False, False)
torch.gru_cell(few, (few, few), few, few)
torch.lstm_cell(few, few, few, few)
torch.lstm_cell(few, [few], few, few)
torch.rnn_tanh_cell(few, few)
torch.rnn_tanh_cell(few[0], few, few, few)
torch.rnn_relu_cell(few[:, :2], few, drawn(4, 4), drawn(4, 4))
torch.rnn_relu_cell(few, few[:1], drawn(4, 4), drawn(4, 4))
torch.rnn_relu_cell(few, few[:, :2], drawn(4, 4), drawn(4, 4))
torch.rnn_relu_cell(few, few, drawn(3, 4), drawn(4, 4))
torch.gru_cell(few, few, drawn(12, 4), drawn(4, 4))
torch.gru_cell(few, few, drawn(12, 4), drawn(12, 4), bias, bias)
derived(lambda x, w: F.linear_cross_entropy(x, w, T([0, 2, 1])), few, drawn(5, 4)), derived(lambda x, w, b: F.linear_cross_entropy(x, w, T([0, 2, 1]), linear_bias=b, weight=torch.ones(5).double() / 3, reduction="sum", label_smoothing=0.1), few, drawn(5, 4), drawn(5))
derived(lambda x, w, b: F.linear_cross_entropy(x, w, torch.ones(3, 2, 6, dtype=torch.int64), linear_bias=b, ignore_index=0), few, drawn(5, 2, 6, 4), drawn(5, 2, 6)), F.linear_cross_entropy(few[0], drawn(5, 4), T(2)), F.linear_cross_entropy(few, drawn(5, 4), torch.ones(3, 5).double() / 5)
F.linear_cross_entropy(few, drawn(5, 4), torch.ones(3, 5).double() / 5, ignore_index=1)
F.linear_cross_entropy(few[0], drawn(5, 2, 4), T([1, 2]))
F.linear_cross_entropy(few, drawn(5, 4), T([0, 2, 1]), reduction='abc')
F.linear_cross_entropy(few, drawn(5, 3), T([0, 2, 1]))
F.linear_cross_entropy(few, drawn(5, 4), T([0, 2, 1]), linear_bias=bias)
F.linear_cross_entropy(few, few[0], T([0, 2, 1]))
F.linear_cross_entropy(row, drawn(5, 8), T([0, 2, 1]))
F.linear_cross_entropy(few, drawn(5, 4), T([0, 2, 1]), None)
nn.LinearCrossEntropyLoss(5, 3, label_smoothing=2)
nn.LinearCrossEntropyLoss(5, 3, out_features=4)
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 5])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [20])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [1.5])
nn.AdaptiveLogSoftmaxWithLoss(8, 20, [0, 4])
"""

BLOCKS = {
    "recurrent layers of flat weights": """
for M, name in ((nn.GRU, "gru"), (nn.RNN, "rnn_tanh"), (nn.LSTM, "lstm"), (nn.RNN, "rnn_relu")):
    for kw in ({}, {"bias": False}, {"bidirectional": True, "num_layers": 2, "dropout": 0.3}, {"batch_first": True}):
        given = dict(kw, nonlinearity="relu") if name == "rnn_relu" else kw
        m = M(3, 4, dtype=torch.float64, **given)
        count = m.num_layers * (1 + m.bidirectional)
        x = torch.randn(5, 2, 3, dtype=torch.float64)
        x = x.transpose(0, 1) if m.batch_first else x
        h = torch.randn(count, 2, 4, dtype=torch.float64)
        hx = (h, h * 2) if M is nn.LSTM else h
        y = getattr(torch, name)(x, hx, list(m.parameters()), m.bias, m.num_layers, m.dropout, True, m.bidirectional, m.batch_first)
        sum(part.sum() for part in y).backward()
        out[f"{name} {sorted(kw)}"] = [part.detach() for part in y], m.weight_ih_l0.grad
    packed = nn.utils.rnn.pack_padded_sequence(torch.randn(5, 2, 3, dtype=torch.float64), [5, 3])
    m = M(3, 4, dtype=torch.float64, bidirectional=True)
    h = torch.randn(2, 2, 4, dtype=torch.float64)
    y = getattr(torch, name)(packed.data, packed.batch_sizes, (h, h) if M is nn.LSTM else h, list(m.parameters()), True, 1, 0.0, False, True)
    out[name + " packed"] = [part.detach() for part in y]
m = nn.LSTM(3, 4, proj_size=2, dtype=torch.float64)
h, c = torch.zeros(1, 2, 2).double(), torch.zeros(1, 2, 4).double()
out["projected"] = torch.lstm(x[:, :2], (h[:, :x.shape[1]], c[:, :x.shape[1]]), list(m.parameters()), True, 1, 0.0, True, False, False)[0].detach()
gru = nn.GRU(3, 4, dtype=torch.float64)
p = list(gru.parameters())
h = torch.zeros(1, 2, 4).double()
for label, args in {
    "too few": (x, h, p[:3], True, 1, 0.0, True, False, False), "no biases": (x, h, p, False, 1, 0.0, True, False, False),
    "layers": (x, h, p, True, 2, 0.0, True, False, False), "size": (x[..., :2], h, p, True, 1, 0.0, True, False, False),
    "none": (x[:0], h, p, True, 1, 0.0, True, False, False), "short": (x, h, p, True, 1, 0.0, True, False),
}.items():
    out[label] = told(lambda: torch.gru(*args))
out["pair"] = told(lambda: torch.lstm(x, (h,), p, True, 1, 0.0, True, False, False))
""",
    "cells of flat weights": """
for name, gates in (("gru_cell", 3), ("lstm_cell", 4), ("rnn_tanh_cell", 1), ("rnn_relu_cell", 1)):
    x, h, wi, wh, b = [torch.randn(*s, dtype=torch.float64).requires_grad_() for s in ((2, 3), (2, 4), (4 * gates, 3), (4 * gates, 4), (4 * gates,))]
    for label, more in (("no bias", ()), ("both", (b, b * 2)), ("one", (b,))):
        y = getattr(torch, name)(x, (h, h * 2) if gates == 4 else h, wi, wh, *more)
        y = y if gates == 4 else (y,)
        out[f"{name} {label}"] = y, [graph(part) for part in y], torch.autograd.grad(y[0].sum(), (x, h, wi))
""",
    "an adaptive softmax": """
m = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], div_value=2.0)
out["m"] = m, [(k, tuple(v.shape)) for k, v in m.named_parameters()], m.cutoffs, m.shortlist_size, m.n_clusters, m.head_size, m.div_value, m.head_bias
x, t = torch.randn(6, 8), T([0, 4, 5, 9, 10, 19])
y = m(x, t)
out["y"] = y, type(y).__name__, y._fields, graph(y.output)
y.loss.backward()
out["grad"] = [p.grad for p in m.parameters()]
out["log_prob"] = m.log_prob(x), graph(m.log_prob(x)), m.predict(x), m.predict(x[:1]), m.predict(x[:0])
out["one"] = m(x[0], t[3])
out["same"] = m(x, t.int()).loss, m(x[:0], t[:0]).output
for label, args in {"few": (x, t[:3]), "row": (x[0], t), "number": (x, t[0]), "high": (x, t + 1), "low": (x, t - 1), "dims": (x, t[None]), "floats": (x, t.float()), "three": (x[:, None], t)}.items():
    out[label] = told(lambda: m(*args))
out["predict"] = told(lambda: m.predict(x[0])), told(lambda: m.log_prob(x[0]))
m.reset_parameters()
out["biased"] = nn.AdaptiveLogSoftmaxWithLoss(8, 20, [5, 10], head_bias=True, dtype=torch.float64), m.head.weight, m.predict(100 * torch.randn(9, 8))
from torch.nn.modules.adaptive import AdaptiveLogSoftmaxWithLoss
""",
    "a linear layer and its loss": """
m = nn.LinearCrossEntropyLoss(5, 3, out_features=(2,), bias=True, reduction="sum", weight=torch.ones(3) / 2, ignore_index=1)
out["m"] = m, [(k, tuple(v.shape)) for k, v in m.state_dict().items()], m.num_classes, m.options
y = m(torch.randn(4, 5), T([[0, 1], [2, 2], [1, 0], [0, 2]]))
y.backward()
out["y"] = y, m.linear.weight.grad
m = nn.LinearCrossEntropyLoss(5, 3)
out["plain"] = m, m(torch.randn(4, 5), T([0, 1, 2, 1]))
""",
    "batch norm of one process": """
m = nn.SyncBatchNorm(3)
x = torch.randn(4, 3, 2)
out["m"] = m, list(m.state_dict()), m(x), graph(m(x)), m.running_mean, m.num_batches_tracked, m.process_group
m.eval()
out["eval"] = m(x), told(lambda: m(x[0, 0])), told(lambda: m(torch.zeros(3, 2))), nn.SyncBatchNorm(3, momentum=None)(x), nn.SyncBatchNorm(3, affine=False, track_running_stats=False)(x)
out["empty"] = nn.SyncBatchNorm(3)(x[:0]).shape
net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3, affine=False), nn.Sequential(nn.BatchNorm2d(4, bias=False)), nn.InstanceNorm1d(3))
net[1].eval()
new = nn.SyncBatchNorm.convert_sync_batchnorm(net)
out["net"] = new, new is net, new[1].training, new[2][0].weight is net[2][0].weight
old = nn.BatchNorm1d(3)
new = nn.SyncBatchNorm.convert_sync_batchnorm(old, process_group="x")
out["one"] = new, new.process_group, new.weight is old.weight, new.running_mean is old.running_mean, new.num_batches_tracked is old.num_batches_tracked
""",
    "pruning": """
from torch.nn.utils import prune
def shown(value):
    return str(value).partition(" at 0x")[0].rpartition(".")[2]
m = nn.Linear(3, 4)
w = m.weight
first = prune.l1_unstructured(m, "weight", amount=2)
out["one"] = first is m, str(m), list(m.state_dict()), m.weight_orig is w, m.weight, m.weight_mask, prune.is_pruned(m), "weight" in m.__dict__
prune.random_unstructured(m, "weight", 0.5)
hook, = m._forward_pre_hooks.values()
out["two"] = shown(hook), len(hook), [shown(h) for h in hook], shown(hook[1]), hook._tensor_name, m.weight_mask
prune.ln_structured(m, "weight", 1, 2, 0)
out["three"] = m.weight_mask, len(list(m._forward_pre_hooks.values())[0])
m(torch.randn(2, 3)).sum().backward()
out["grad"] = m.weight_orig.grad, m.weight.grad_fn.name()
with torch.no_grad():
    m.weight_orig += 1
out["moved"] = m.weight, m(torch.ones(3)), m.weight
again = nn.Linear(3, 4)
prune.identity(again, "weight")
again.load_state_dict(m.state_dict())
out["loaded"] = again(torch.ones(3)), told(lambda: nn.Linear(3, 4).load_state_dict(m.state_dict()))
out["removed"] = prune.remove(m, "weight") is m, m.weight, m.weight is w, list(m.state_dict()), len(m._forward_pre_hooks), prune.is_pruned(m)
for dim in (0, 1, -1):
    torch.manual_seed(3)
    part = nn.Linear(3, 4)
    prune.random_structured(part, "weight", 2, dim)
    out[f"random {dim}"] = part.weight_mask, torch.rand(1)
part = nn.Linear(3, 4)
prune.custom_from_mask(part, "bias", T([1, 0, 1, 0]))
out["custom"] = part.bias, part.bias_mask
conv = nn.Conv2d(2, 5, 2)
prune.ln_structured(conv, "weight", 0.5, float("-inf"), 0)
out["conv"] = conv.weight_mask[:, 0, 0, 0], conv(torch.ones(1, 2, 3, 3)), told(lambda: copy.deepcopy(conv))
prune.ln_structured(conv, "weight", 1, n=1, dim=1, importance_scores=torch.rand(5, 2, 2, 2))
out["conv again"] = conv.weight_mask[:, :, 0, 0]
part = nn.Linear(3, 4)
with torch.no_grad():
    part.weight.copy_(T([[3, 0.1, 0.1], [0.2, 2, 2.1], [1, 1.1, 1.2], [0.5, 0.6, 0.7]]))
prune.custom_from_mask(part, "weight", T([[0, 1, 1], [1, 1, 1], [1, 1, 1], [0, 0, 0]]))
prune.ln_structured(part, "weight", 1, 2, 0)
out["the least that is left"] = part.weight_mask
prune.l1_unstructured(part, "weight", 2)
out["of the rest"] = part.weight_mask
def fresh(): return nn.Linear(3, 4)
for label, fn in {
    "less": lambda m: prune.l1_unstructured(m, "weight", amount=-1), "share": lambda m: prune.l1_unstructured(m, "weight", amount=1.5),
    "more": lambda m: prune.l1_unstructured(m, "weight", amount=100), "text": lambda m: prune.l1_unstructured(m, "weight", amount="a"),
    "name": lambda m: prune.l1_unstructured(m, "nope", amount=1), "bare": lambda m: prune.remove(m, "weight"),
    "dims": lambda m: prune.ln_structured(m, "bias", 1, 2, 0), "dim": lambda m: prune.ln_structured(m, "weight", 1, 2, 5),
    "rows": lambda m: prune.random_structured(m, "weight", 9, 1), "mask": lambda m: prune.custom_from_mask(m, "weight", torch.ones(2)),
    "scores": lambda m: prune.l1_unstructured(m, "weight", 1, torch.ones(2)), "abstract": lambda m: (told(prune.BasePruningMethod).split(" with")[0], sorted(prune.BasePruningMethod.__abstractmethods__)),
    "whole": lambda m: prune.global_unstructured(5, prune.L1Unstructured, amount=1), "structured": lambda m: prune.global_unstructured([(m, "weight")], prune.LnStructured, amount=1, n=2),
    "dict": lambda m: prune.global_unstructured([(m, "weight")], prune.L1Unstructured, importance_scores=5, amount=1),
}.items():
    m = fresh()
    out[label] = str(told(lambda: fn(m)))[:94], sorted(m.state_dict())
a, b = nn.Linear(3, 2), nn.Linear(2, 2)
out["global"] = prune.global_unstructured(((a, "weight"), (b, "weight")), prune.L1Unstructured, amount=0.5), a.weight_mask, b.weight_mask
out["global again"] = prune.global_unstructured([(a, "weight"), (b, "weight")], prune.RandomUnstructured, amount=1), a.weight_mask, b.weight_mask, [shown(h) for h in list(a._forward_pre_hooks.values())[0]]
out["scored"] = prune.global_unstructured([(b, "bias")], prune.L1Unstructured, {(b, "bias"): T([2.0, 1.0])}, amount=1), b.bias_mask
t = torch.arange(6.0) - 2
out["prune"] = prune.L1Unstructured(amount=2).prune(t), prune.L1Unstructured(0.5).prune(t, importance_scores=torch.arange(6.0)), prune.RandomUnstructured(2).prune(torch.ones(2, 3), T([[1, 1, 1], [0, 0, 1]])), prune.LnStructured(1, 1, 0).prune(torch.arange(6.0).view(3, 2))
class EveryOther(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"
    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask
class Strange(EveryOther):
    PRUNING_TYPE = "x"
m = fresh()
EveryOther.apply(m, "bias")
EveryOther.apply(m, "bias")
out["own"] = m.bias_mask, told(lambda: EveryOther.apply(m, "weight", 3)), told(lambda: (Strange.apply(m, "bias"), Strange.apply(m, "bias")))
one, other = prune.L1Unstructured(1), prune.L1Unstructured(1)
one._tensor_name, other._tensor_name = "weight", "bias"
container = prune.PruningContainer(one)
out["container"] = told(lambda: container.add_pruning_method(other))[:80], told(lambda: container.add_pruning_method(3)), prune.PruningContainer()._pruning_methods
""",
    "helpers of modules": """
utils = nn.utils
l = nn.Linear(2, 2)
l(torch.ones(2)).sum().backward()
out["clip"] = utils.clip_grad_norm(l.parameters(), 0.1), l.weight.grad
conv, bn = nn.Conv2d(2, 3, 2, bias=False).eval(), nn.BatchNorm2d(3)
bn(torch.randn(4, 3, 2, 2))
bn.eval()
x = torch.randn(1, 2, 4, 4)
f = utils.fuse_conv_bn_eval(conv, bn)
out["conv"] = str(f), f is conv, type(f.bias).__name__, f.weight.requires_grad, f.bias.requires_grad, f(x).detach(), bn(conv(x)).detach()
back = nn.ConvTranspose2d(2, 3, 2).eval()
out["transposed"] = utils.fuse_conv_bn_eval(back, bn, True)(x).detach()
out["training"] = told(lambda: utils.fuse_conv_bn_eval(nn.Conv2d(2, 3, 2), bn)), told(lambda: utils.fuse_conv_bn_eval(conv, nn.BatchNorm2d(3, track_running_stats=False).eval()))
w = conv.weight.detach()
out["weights"] = utils.fuse_conv_bn_weights(w.half(), None, bn.running_mean, bn.running_var, 1e-5, None, None), utils.fusion.fuse_conv_bn_weights(w, torch.ones(3), bn.running_mean, bn.running_var, 1e-5, bn.weight, bn.bias)
l, bn = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3)
bn(torch.randn(4, 3))
bn.eval()
f = utils.fuse_linear_bn_eval(l, bn)
out["linear"] = str(f), f(torch.ones(2, 2)).detach(), told(lambda: utils.fuse_linear_bn_eval(nn.Linear(2, 2).eval(), bn)), told(lambda: utils.fuse_linear_bn_eval(nn.Linear(2, 3), bn)), utils.fuse_linear_bn_eval(l, nn.BatchNorm1d(1).eval()).weight.shape
torch.manual_seed(0)
out["skip"] = str(utils.skip_init(nn.Linear, 2, 3)), utils.skip_init(nn.Linear, 2, 3, dtype=torch.float64).weight.dtype, torch.rand(1), told(lambda: utils.skip_init(nn.ReLU)), told(lambda: utils.skip_init(int))
net = nn.Sequential(nn.Conv2d(2, 3, 2), nn.Linear(2, 2), nn.ConvTranspose2d(2, 3, 2), nn.Conv3d(2, 3, 2))
out["laid"] = utils.convert_conv2d_weight_memory_format(net, torch.channels_last) is net, [m.weight.stride() for m in net]
out["laid 3d"] = utils.convert_conv3d_weight_memory_format(net, torch.channels_last_3d) is net, [m.weight.stride() for m in net]
out["stateless"] = utils.stateless.functional_call(l, {"weight": torch.zeros(3, 2), "bias": torch.ones(3)}, torch.ones(2))
""",
    "parametrizations handed on": """
import torch.nn.utils.parametrize as P
class Symmetric(nn.Module):
    def forward(self, x): return x.triu() + x.triu(1).T
    def right_inverse(self, x): return x.triu()
class Twice(nn.Module):
    def forward(self, x): return x * 2
a = nn.Linear(3, 3)
P.register_parametrization(a, "weight", Symmetric())
P.register_parametrization(a, "bias", Twice())
b = nn.Linear(3, 3)
out["all"] = P.transfer_parametrizations_and_params(a, b) is b, str(b), [n for n, _ in b.named_parameters()], b.weight, b.parametrizations.weight[0] is a.parametrizations.weight[0], b.parametrizations.weight.original is a.parametrizations.weight.original
b = nn.Linear(3, 3)
P.transfer_parametrizations_and_params(a, b, "bias")
out["one"] = [n for n, _ in b.named_parameters()], b.weight, b.bias
out["none"] = str(P.transfer_parametrizations_and_params(nn.Linear(3, 3), b)), str(P.transfer_parametrizations_and_params(a, nn.Identity())), told(lambda: P.transfer_parametrizations_and_params(a, nn.Linear(3, 3), "nope"))
c = P.transfer_parametrizations_and_params(nn.utils.parametrizations.weight_norm(nn.Linear(3, 3)), nn.Linear(3, 3))
out["norm"] = [n for n, _ in c.named_parameters()], c.weight.detach()
""",
    "hooks of all modules that see what is registered": """
import torch.nn.modules.module as M
log = []
def seen(kind):
    return lambda m, n, v: log.append((kind, type(m).__name__, n, type(v).__name__))
handles = [M.register_module_parameter_registration_hook(seen("p")), M.register_module_buffer_registration_hook(seen("b")), M.register_module_module_registration_hook(seen("m"))]
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.register_module("z", None)
        self.register_buffer("q", torch.ones(2))
        self.q = torch.zeros(3)
        self.w = nn.Parameter(torch.ones(1))
        self.w = nn.Parameter(torch.ones(2))
        self.w = None
        self.q = None
        self.a = nn.Identity()
        self.a = None
        self.e = nn.Buffer(torch.ones(1))
        self.register_parameter("none", None)
        self.register_buffer("n", None)
Net()
out["net"] = list(log)
log.clear()
nn.BatchNorm1d(2), nn.BatchNorm1d(2, affine=False, track_running_stats=False), nn.Sequential(nn.ReLU()), nn.ModuleList([nn.ReLU()]).append(nn.ReLU()), nn.ModuleDict({"a": nn.ReLU()}), nn.ParameterList([torch.ones(1)]), nn.ParameterDict({"a": torch.ones(1)})
out["layers"] = list(log)
for h in handles:
    h.remove()
log.clear()
nn.Linear(2, 2)
handles = [M.register_module_parameter_registration_hook(lambda m, n, p: nn.Parameter(p.detach() * 0)), M.register_module_buffer_registration_hook(lambda m, n, b: b + 5), M.register_module_module_registration_hook(lambda m, n, c: nn.Tanh() if isinstance(c, nn.ReLU) else None)]
class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.ReLU()
        self.w = nn.Parameter(torch.ones(2))
        self.register_buffer("c", torch.ones(1))
        self.c = torch.ones(2)
n = Small()
for h in handles:
    h.remove()
out["changed"] = log, str(n), n.w, n.c, str(nn.Sequential(nn.ReLU()))
""",
    "hooks of all optimizers": """
from torch.optim.optimizer import register_optimizer_step_pre_hook, register_optimizer_step_post_hook
log = []
before = register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append(("before", type(o).__name__, len(args), len(kwargs))))
after = register_optimizer_step_post_hook(lambda o, args, kwargs: log.append(("after", type(o).__name__, len(args), len(kwargs))))
p = nn.Parameter(torch.ones(2))
p.grad = torch.ones(2)
o = torch.optim.SGD([p], 0.1)
o.register_step_pre_hook(lambda *a: log.append("own before"))
o.register_step_post_hook(lambda *a: log.append("own after"))
o.step()
out["log"] = list(log)
before.remove(), after.remove()
o.step()
out["removed"] = list(log)
h = register_optimizer_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: 7.0}))
out["changed"] = o.step(), h.remove(), p
h = register_optimizer_step_pre_hook(lambda o, args, kwargs: 5)
out["wrong"] = told(o.step)[:23], h.remove()
""",
    "Muon": """
def trained(shape, **kw):
    w = nn.Parameter(torch.sin(torch.arange(float(shape[0] * shape[1]))).view(shape))
    o = torch.optim.Muon([w], **kw)
    for i in range(4):
        w.grad = torch.cos(torch.arange(float(shape[0] * shape[1])) * (i + 1.3)).view(shape)
        o.step()
    return w, o.state[w]["momentum_buffer"]
out["w"] = trained((4, 6)), trained((6, 4)), trained((5, 5), nesterov=False, lr=0.02), trained((3, 7), adjust_lr_fn="match_rms_adamw", weight_decay=0.0), trained((1, 3), momentum=0.3, ns_steps=2, lr=T(0.1))
w, v = nn.Parameter(torch.randn(4, 6)), nn.Parameter(torch.ones(2))
o = torch.optim.Muon([w])
out["o"] = str(o), o.state_dict(), o.defaults
w.grad = torch.ones(4, 6)
for label, fn in {
    "vector": lambda: torch.optim.Muon([v]), "lr": lambda: torch.optim.Muon([w], lr=-1), "momentum": lambda: torch.optim.Muon([w], momentum=-1),
    "decay": lambda: torch.optim.Muon([w], weight_decay=-1), "fn": lambda: torch.optim.Muon([w], adjust_lr_fn="x"), "steps": lambda: torch.optim.Muon([w], ns_steps=100).step(),
    "rates": lambda: torch.optim.Muon([w], lr=T([1.0, 2.0])), "coefficients": lambda: torch.optim.Muon([w], ns_coefficients=(1, 2)).step(),
}.items():
    out[label] = told(fn)
""",
    "a share of the samples": """
from torch.utils.data import DistributedSampler, DataLoader
from torch.utils.data.distributed import DistributedSampler
items = range(11)
for label, kw in {"0": dict(rank=0), "2": dict(rank=2), "in order": dict(rank=1, shuffle=False), "drop": dict(rank=1, shuffle=False, drop_last=True), "seed": dict(rank=1, seed=5, drop_last=True)}.items():
    s = DistributedSampler(items, num_replicas=3, **kw)
    first = list(s)
    s.set_epoch(2)
    out[label] = first, list(s), len(s), s.num_samples, s.total_size, s.epoch
out["few"] = list(DistributedSampler(range(2), 7, 6, False)), list(DistributedSampler([], 2, 0))
out["rank"] = told(lambda: DistributedSampler(items, 2, 2)), told(lambda: DistributedSampler(items, 2, -1))
out["loader"] = [b for b in DataLoader(list(items), batch_size=2, sampler=DistributedSampler(items, 2, 1))]
""",
}  # fmt: skip

PROGRAMS = {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES.strip().splitlines()}
PROGRAMS |= {name: START + block for name, block in BLOCKS.items()}

STORED = stored(__file__)


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    mine, theirs = run(PROGRAMS[name], standing_in), STORED["results"][name]
    assert not differences(mine, theirs)


def test_the_record_is_what_live_pytorch_leaves():
    check_live(STORED, PROGRAMS)


LAST_NODE = """
import json, sys
torch = __import__(sys.argv[1])
nn, register = torch.nn, __import__("importlib").import_module(sys.argv[1] + ".nn.modules.module")

def told(fn):
    try:
        return fn()
    except Exception as error:
        return f"{type(error).__name__}: {error}"

log = []
handle = register.register_module_backward_hook(
    lambda m, gi, go: log.append((type(m).__name__, [g if g is None else list(g.shape) for g in gi], [list(g.shape) for g in go]))
)
net = nn.Sequential(nn.Linear(2, 3), nn.Tanh())
net(torch.ones(1, 2)).sum().backward()
refused = told(lambda: register.register_module_full_backward_hook(print))
handle.remove()
print(json.dumps([log, refused, told(lambda: register.register_module_full_backward_hook(print))]))
"""
"""What is left behind says for the whole process which kind of hook may follow: it runs in one of its own."""


def left_behind(library):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", LAST_NODE, library], capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_the_older_hook_of_all_modules_sees_their_last_node():
    log, *refused = left_behind("autograd_lab")
    assert log == [
        ["Tanh", [[1, 3]], [[1, 3]]],
        ["Sequential", [[1, 3]], [[1, 3]]],
        ["Linear", [[3], None, [2, 3]], [[1, 3]]],
    ]
    assert all(
        text.startswith("RuntimeError: Cannot use both regular backward hooks and full") for text in refused
    )


def test_it_does_so_in_live_pytorch():
    pytest.importorskip("torch")
    assert left_behind("autograd_lab") == left_behind("torch")
