"""Layers, losses and helpers that fewer programs use: numbers, graphs, shown forms, draws, and what is refused.

Each line runs in both libraries, each block leaves what it put into `out`. Recorded and live.
"""

import importlib
import sys

import pytest
from recorded import differences, live, run, stored

import autograd_lab

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
F.max_unpool2d(pooled, places * 10, 2)
F.max_unpool2d(pooled, -places, 2)
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
}  # fmt: skip

PROGRAMS = {line: START + f"out['r'] = told(lambda: ({line}))" for line in LINES.strip().splitlines()}
PROGRAMS |= {name: START + block for name, block in BLOCKS.items()}

STORED = stored(__file__)


@pytest.fixture
def standing_in(monkeypatch):
    """The library, which is also what a program finds under the name torch."""
    for name in ("nn.utils.parametrize", "nn.utils.rnn", "utils.data"):
        importlib.import_module(f"autograd_lab.{name}")
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "autograd_lab":
            monkeypatch.setitem(sys.modules, name.replace("autograd_lab", "torch", 1), module)
    return autograd_lab


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_is_as_pytorch_left_it(name, standing_in):
    mine, theirs = run(PROGRAMS[name], standing_in), STORED["results"][name]
    assert not differences(mine, theirs)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_record_is_what_live_pytorch_leaves(name):
    assert not differences(live(STORED, PROGRAMS[name]), STORED["results"][name])
