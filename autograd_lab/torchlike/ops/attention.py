"""Scaled dot-product attention: every query takes a weighted mean of the values, weighted by how well the keys match."""

import math

import numpy as np

from ..autograd.errors import CPP_NAMES
from ..autograd.record import apply
from ..autograd.variable import Variable, wrap
from ..world.warning import warn
from . import array_or_tensor as both
from .convolution import pad_constant
from .embedding import drop
from .general import GeneralRule, call
from .products import linear
from .reductions import SafeSoftmaxBackward0
from .rule import FUNCTIONS
from .scalars import times


class ScaledDotProductFlashAttentionForCpuBackward0(GeneralRule):
    """Attention of a batch of heads in one node.

    Math: y = P @ value; P = softmax(s + (causal(s) if is_causal else 0), dim=-1) if attn_mask is None else safe_softmax(s +
    attn_mask + (causal(s) if is_causal else 0), dim=-1); s = query @ key.T * r; r = 1 / sqrt(size(query, -1)) if scale is None
    else scale.
    VJP: to value: P.T @ g; to query: h @ key * r; to key: h.T @ query * r; h = P * (g @ value.T - sum(g * y, dim=-1,
    keepdim=True)). With `safe_softmax` a query that may look nowhere gets zeros.
    Shapes: q (n, heads, L, d), k and v (n, heads, S, d), mask (L, S) or broadcasting to the scores -> (n, heads, L, d).   Saves:
    q, k, v, the mask, the result, the logsumexp of the scores: P is computed again, not kept.   PyTorch:
    torch.nn.functional.scaled_dot_product_attention
    """

    op = "_scaled_dot_product_flash_attention_for_cpu"
    no_jvp = "_scaled_dot_product_flash_attention_for_cpu"
    inputs = ("query", "key", "value", "attn_mask", "logsumexp")
    operands, extras = 3, 1
    saves = ("query", "key", "value", "attn_mask", "output", "logsumexp")
    results = {"output": 0}
    keeps = ("dropout_p", "is_causal", "scale")

    def forward(q, k, v, mask, _dropout, causal, scale):
        s = _scores(q, k, mask, causal, scale)
        top = np.maximum.reduce(s, axis=-1, keepdims=True)
        top = np.where(np.isinf(top), 0, top).astype(q.dtype)
        e = np.exp(s - top)
        total = np.add.reduce(e, axis=-1, keepdims=True)
        total = np.where(total == 0, 1, total).astype(q.dtype)  # a query that may look nowhere gets zeros
        logsumexp = (top + np.log(total))[..., 0]
        y = np.empty_like(
            q
        )  # laid out in memory as the queries are: heads made by a view of one tensor go back into one
        np.matmul(e / total, v, out=y)
        return y, logsumexp

    def vjp(self, g, q, k, v, mask, y, logsumexp):
        _dropout, causal, scale = self.args
        s = _scores(q, k, mask, causal, scale)
        if isinstance(q, Variable):
            weights = safe_softmax(s, -1)
        else:
            weights = np.exp(s - logsumexp[..., None])
        h = both.transpose(v)
        h = weights * (g @ h - both.sum_over(g * y, (len(g.shape) - 1,), True))
        scale = _scale(q, scale)
        return (
            h @ k * scale if self.needs(0) else None,
            both.transpose(h) @ q * scale if self.needs(1) else None,
            both.transpose(weights) @ g if self.needs(2) else None,
        )


def _scale(q, scale):
    return 1 / math.sqrt(q.shape[-1]) if scale is None else scale


def _scores(q, k, mask, causal, scale):
    """The scores of arrays or Tensors; what a mask forbids is -inf."""
    s = q @ both.transpose(k) * _scale(q, scale)
    dtype = both.array_of(q).dtype
    extra = _bias(None if mask is None else both.array_of(mask).astype(dtype), causal, s.shape, dtype)
    return s if extra is None else s + both.constant(extra, s)


def _bias(mask, causal, shape, dtype):
    """What is added to the scores: 0 where a mask of bools allows, -inf where it does not; or the mask's numbers."""
    bias = mask
    if mask is not None and mask.dtype.kind == "b":
        bias = np.where(mask, dtype.type(0), dtype.type(-np.inf))
    if causal:
        later = np.triu(np.full(shape[-2:], -np.inf, dtype), 1)
        bias = later if bias is None else bias + later
    return bias


def safe_softmax(x, dim):
    """Softmax along `dim` in which a row of nothing but -inf gives zeros instead of nan (torch._safe_softmax)."""
    return apply(SafeSoftmaxBackward0, (x,), dim)


def scaled_dot_product_attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """softmax(scale q k^T + mask) v (torch.nn.functional.scaled_dot_product_attention).

    query       (..., L, d); key (..., S, d); value (..., S, dv); the result is (..., L, dv)
    attn_mask   broadcasts to (..., L, S): True where a query may look, or numbers to add to the scores
    is_causal   query i sees the keys 0 .. i only
    scale       1 / sqrt(d) by default
    enable_gqa  let several heads (dim -3) of the queries share a head of the keys and values

    Four dims without dropout are one node; everything else is built from products and a softmax, as in PyTorch.
    Raises RuntimeError for operands that do not fit together.
    """
    _check(query, key, value, attn_mask)
    if enable_gqa:
        if query.shape[-3] % key.shape[-3] or query.shape[-3] % value.shape[-3]:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    if _is_one_node(query, key, value, attn_mask, dropout_p):
        if attn_mask is not None and attn_mask._data.dtype.kind == "b":
            attn_mask = wrap(_bias(attn_mask._data, False, (), query._data.dtype))
        rule = ScaledDotProductFlashAttentionForCpuBackward0
        return call(rule, (query, key, value, attn_mask), 0.0, is_causal, scale)
    if is_causal and attn_mask is not None:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
    root = math.sqrt(_scale(query, scale))
    scores = times(query, root) @ times(key.transpose(-2, -1), root)
    bias = attn_mask
    if is_causal or (attn_mask is not None and attn_mask._data.dtype.kind == "b"):
        given = None if attn_mask is None else attn_mask._data
        bias = wrap(_bias(given, is_causal, scores.shape, query._data.dtype))
    if bias is not None:
        scores = scores + bias
    weights = safe_softmax(scores, -1)
    if dropout_p > 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
    return drop(weights, dropout_p, True) @ value


def _check(query, key, value, mask):
    dims = [t._data.ndim for t in (query, key, value)]
    if min(dims) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{dims[0]} key.dim: {dims[1]} and value.dim: {dims[2]} instead."
        )
    names = [CPP_NAMES[t._data.dtype.name] for t in (query, key, value)]
    if len(set(names)) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{names[0]} key.dtype: {names[1]} and value.dtype: {names[2]} instead."
        )
    if query._data.dtype.kind != "f":
        raise RuntimeError(f"expected scalar type Float but found {query.dtype.type_name}")
    if (
        mask is not None
        and mask._data.dtype.kind != "b"
        and mask._data.dtype not in (query._data.dtype, np.float32)
    ):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{CPP_NAMES[mask._data.dtype.name]} and  query.dtype: {names[0]} instead."
        )


def _is_one_node(query, key, value, mask, dropout_p):
    q, k, v = query._data, key._data, value._data
    return (
        q.ndim == k.ndim == v.ndim == 4
        and dropout_p == 0
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[3] == k.shape[3] == v.shape[3]
        and k.shape[2] == v.shape[2]
        and 0 not in (q.shape[2], k.shape[2])
        and all(x.strides[-1] == x.itemsize for x in (q, k, v))
        and (mask is None or (mask._data.ndim in (2, 4) and not mask.requires_grad))
    )


# -- several heads ------------------------------------------------------------------------------------


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """Attention by several heads side by side (torch.nn.functional.multi_head_attention_forward).

    query             (L, n, E) or (L, E); key and value (S, n, ...) or (S, ...)
    key_padding_mask  (n, S): True (or -inf) for keys nobody may look at
    attn_mask         (L, S) or (n * heads, L, S): True where a query may *not* look, or numbers to add to the scores
    returns           the result, shaped as the query, and the weights (n, L, S), a mean over heads unless
                      `average_attn_weights` is False; None unless `need_weights`

    With `need_weights` the scores are computed in the open (bmm and softmax); without, by
    scaled_dot_product_attention. Raises AssertionError for shapes that do not fit.
    """
    batched = _batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, n, width = query.shape
    sources = key.shape[0]
    key_padding_mask = additive_mask(
        key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask"
    )
    if key_padding_mask is not None:
        for dim, want in enumerate((n, sources)):
            have = key_padding_mask.shape[dim]
            _expect(have == want, f"Expected key_padded_mask.shape[{dim}] to be {want}, but got {have}")
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None  # a hint that is trusted: it says what the mask says
    else:
        attn_mask = additive_mask(attn_mask, "attn_mask", query.dtype)
        if key_padding_mask is not None:
            is_causal = False
    _expect(
        width == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}",
    )
    head = width // num_heads
    _expect(head * num_heads == width, f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _expect(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
        _expect(
            None not in (q_proj_weight, k_proj_weight, v_proj_weight),
            "use_separate_proj_weight is True but one of q_proj_weight, k_proj_weight, v_proj_weight is None",
        )
        biases = (None, None, None) if in_proj_bias is None else in_proj_bias.chunk(3)
        q = linear(query, q_proj_weight, biases[0])
        k = linear(key, k_proj_weight, biases[1])
        v = linear(value, v_proj_weight, biases[2])
    else:
        _expect(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        q, k, v = _projected(query, key, value, in_proj_weight, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _checked_mask(attn_mask, length, sources, n * num_heads)
    extra = 0
    for name, bias, other in (("k", bias_k, bias_v), ("v", bias_v, bias_k)):
        missing = "v" if name == "k" else "k"
        _expect(bias is None or other is not None, f"bias_{name} is set but bias_{missing} is None")
    for name, static, bias in (("key", static_k, bias_k), ("value", static_v, bias_v)):
        if static is not None:
            _expect(bias is None, f"bias cannot be added to static {name}.")
            for dim, want in (0, n * num_heads), (2, head):
                have = static.shape[dim]
                _expect(have == want, f"expecting static_{name[0]}.size({dim}) of {want}, but got {have}")
    if bias_k is not None:
        k, v = _joined([k, bias_k.repeat(1, n, 1)], 0), _joined([v, bias_v.repeat(1, n, 1)], 0)
        extra += 1
    q = q.view(length, n * num_heads, head).transpose(0, 1)
    k = k.view(k.shape[0], n * num_heads, head).transpose(0, 1) if static_k is None else static_k
    v = v.view(v.shape[0], n * num_heads, head).transpose(0, 1) if static_v is None else static_v
    if add_zero_attn:
        nothing = wrap(np.zeros((n * num_heads, 1, head), k._data.dtype))
        k, v = _joined([k, nothing], 1), _joined([v, nothing], 1)
        extra += 1
    attn_mask, key_padding_mask = _padded(attn_mask, extra), _padded(key_padding_mask, extra)
    sources = k.shape[1]
    if key_padding_mask is not None:
        spread = key_padding_mask.view(n, 1, 1, sources).expand(-1, num_heads, -1, -1)
        spread = spread.reshape(n * num_heads, 1, sources)
        attn_mask = spread if attn_mask is None else attn_mask + spread
    dropout_p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        if is_causal and attn_mask is None:
            raise AssertionError("FIXME: is_causal not implemented for need_weights")
        scaled, turned = q * math.sqrt(1.0 / head), k.transpose(-2, -1)
        if attn_mask is not None:
            scores = FUNCTIONS["baddbmm"](attn_mask, scaled, turned)
        else:
            scores = FUNCTIONS["bmm"](scaled, turned)
        weights = FUNCTIONS["softmax"](scores, -1)
        weights = drop(weights, dropout_p, True)
        out = FUNCTIONS["bmm"](weights, v).transpose(0, 1).reshape(length * n, width)
        weights = weights.view(n, num_heads, length, sources)
        if average_attn_weights:
            weights = weights.mean(1)
    else:
        if attn_mask is not None:
            one_for_all = attn_mask.dim() == 3 and attn_mask.shape[0] == 1
            attn_mask = (
                attn_mask.unsqueeze(0)
                if one_for_all
                else attn_mask.view(n, num_heads, attn_mask.shape[1], sources)
            )
        q, k, v = (t.view(n, num_heads, t.shape[1], head) for t in (q, k, v))
        out = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
        out = out.permute(2, 0, 1, 3).reshape(n * length, width)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.view(length, n, out.shape[1])
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def _expect(holds, text):
    if not holds:
        raise AssertionError(text)


def _batched(query, key, value, key_padding_mask, attn_mask, num_heads):
    dims = query.dim()
    if dims not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor"
        )
    kind, masks = ("batched (3-D)", 2) if dims == 3 else ("unbatched (2-D)", 1)
    _expect(
        key.dim() == value.dim() == dims,
        f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D "
        "tensors respectively",
    )
    _expect(
        key_padding_mask is None or key_padding_mask.dim() == masks,
        f"For {kind} `query`, expected `key_padding_mask` to be `None` or {masks}-D but found "
        f"{key_padding_mask is not None and key_padding_mask.dim()}-D tensor instead",
    )
    if attn_mask is not None:
        _expect(
            attn_mask.dim() in (2, 3),
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor "
            "instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            want = (num_heads, query.shape[0], key.shape[0])
            _expect(
                attn_mask.shape == want,
                f"Expected `attn_mask` shape to be {want} but got {attn_mask.shape}",
            )
    return dims == 3


def additive_mask(mask, name, dtype, other=None, other_name=""):
    """A mask of bools (True: forbidden) as numbers to add to the scores: -inf where it is True."""
    if mask is None:
        return None
    kind = mask._data.dtype.kind
    if kind not in "bf":
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if other is not None and kind != other._data.dtype.kind:
        warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for both instead.",
        )
    if kind == "f":
        return mask
    return wrap(np.where(mask._data, dtype.np.type(-np.inf), dtype.np.type(0)))


def _checked_mask(mask, length, sources, heads):
    if mask.dim() == 2:
        want, mask = (length, sources), mask.unsqueeze(0)
        have = mask.shape[1:]
        dims = "2D"
    else:
        want, have, dims = (heads, length, sources), mask.shape, "3D"
    if tuple(have) != want:
        raise RuntimeError(
            f"The shape of the {dims} attn_mask is {have if dims == '3D' else mask.shape[1:]}, but should be {want}."
        )
    return mask


def _projected(query, key, value, weight, bias):
    """Queries, keys and values from one stacked weight (3 E, E), in as few products as their identity allows."""
    width = query.shape[-1]
    if key is value:
        if query is key:
            return _unstacked(linear(query, weight, bias), 3, width)
        to_q, to_kv = weight.split([width, width * 2])
        bias_q, bias_kv = (None, None) if bias is None else bias.split([width, width * 2])
        return linear(query, to_q, bias_q), *_unstacked(linear(key, to_kv, bias_kv), 2, width)
    weights = weight.chunk(3)
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)]


def _unstacked(x, parts, width):
    x = x.unflatten(-1, (parts, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
    return [x[i] for i in range(parts)]


def _joined(parts, dim):
    return FUNCTIONS["cat"](parts, dim)


def _padded(mask, extra):
    """A mask with columns of zeros for the keys that were added at the end."""
    if mask is None or not extra:
        return mask
    return pad_constant(mask, (0, extra), 0)


__all__ = ["additive_mask", "multi_head_attention_forward", "scaled_dot_product_attention"]
