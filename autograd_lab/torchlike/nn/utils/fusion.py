"""A layer and the batch norm behind it made one layer, which computes the same in evaluation (torch.nn.utils.fusion)."""

import copy

from ..parameter import Parameter


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of `conv` (transpose: a transposed one) whose weights do what `bn` did after it.

    Raises AssertionError for layers in training, or without running statistics.
    """
    fused = _copied(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, *_settings(bn), transpose=transpose
    )
    return fused


def _copied(layer, bn):
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    return copy.deepcopy(layer)


def _settings(bn):
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """Weight and bias of a convolution with a batch norm of these statistics and weights behind it, as Parameters."""
    kind = conv_w.dtype if conv_b is None else conv_b.dtype
    conv_b = bn_rm.new_zeros(bn_rm.shape) if conv_b is None else conv_b
    bn_w = bn_rm.new_ones(bn_rm.shape) if bn_w is None else bn_w
    bn_b = bn_rm.new_zeros(bn_rm.shape) if bn_b is None else bn_b
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape, kind)


def _fused(weight, bias, mean, var, eps, bn_w, bn_b, shape, kind):
    scale = bn_w * (var + eps).rsqrt()
    new = (weight * scale.reshape(shape)).to(weight.dtype), ((bias - mean) * scale + bn_b).to(kind)
    return tuple(
        [Parameter(t.detach(), old.requires_grad) for t, old in zip(new, (weight, bias), strict=True)]
    )


def fuse_linear_bn_eval(linear, bn):
    """A copy of `linear` whose weights do what `bn` did after it.

    Raises AssertionError for layers in training, without running statistics, or of sizes that do not fit.
    """
    fused = _copied(linear, bn)
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(fused.weight, fused.bias, *_settings(bn))
    return fused


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """Weight and bias of a linear layer with a batch norm of these statistics and weights behind it, as Parameters."""
    kind = linear_w.dtype if linear_b is None else linear_b.dtype
    linear_b = bn_rm.new_zeros(bn_rm.shape) if linear_b is None else linear_b
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, (-1, 1), kind)


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]
