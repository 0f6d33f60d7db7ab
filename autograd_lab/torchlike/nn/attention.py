"""Attention and the transformer: layers that let every place of a sequence look at every other."""

import contextlib
import copy
import enum
import math
from collections.abc import Callable

from ..creation import FACTORIES
from ..ops.attention import additive_mask
from ..world.warning import warn
from . import functional as F
from . import init
from .containers import ModuleList
from .module import Module
from .modules import Dropout, LayerNorm, Linear
from .parameter import Parameter

empty = FACTORIES["empty"]


class SDPBackend(enum.IntEnum):
    """The ways in which PyTorch computes attention (torch.nn.attention.SDPBackend); here there is one."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends, set_priority=False):
    """Inside, PyTorch chooses among these ways to compute attention; nothing changes here (torch.nn.attention.sdpa_kernel)."""
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    yield {}


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch gives the last layer of MultiheadAttention."""


class MultiheadAttention(Module):
    """Attention by several heads side by side, each over its own slice of the embedding.

    query (L, n, E), key (S, n, kdim), value (S, n, vdim); with `batch_first` n comes first; n may be left out.
    Returns the result (as the query) and the weights (n, L, S), or None for them if `need_weights` is False.
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = (
            embed_dim,
            num_heads,
            dropout,
            batch_first,
        )
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        together = self._qkv_same_embed_dim
        shapes = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if together else None,
            "q_proj_weight": None if together else (embed_dim, embed_dim),
            "k_proj_weight": None if together else (embed_dim, self.kdim),
            "v_proj_weight": None if together else (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,) if bias else None,
        }
        order = list(shapes) if together else [*list(shapes)[1:4], "in_proj_weight", "in_proj_bias"]
        for name in order:
            shape = shapes[name]
            self.register_parameter(
                name, None if shape is None else Parameter(empty(*shape, device=device, dtype=dtype))
            )
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        for name in ("bias_k", "bias_v"):
            extra = Parameter(empty(1, 1, embed_dim, device=device, dtype=dtype)) if add_bias_kv else None
            if extra is None:
                setattr(self, name, None)
            else:
                self.register_parameter(name, extra)
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        batched = query.dim() == 3
        if self.batch_first and batched:
            # What came in as one tensor stays one: self-attention is then a single product.
            turned = {id(t): t.transpose(1, 0) for t in (query, key, value)}
            query, key, value = (turned[id(t)] for t in (query, key, value))
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if self.batch_first and batched else out), weights


_ACTIVATIONS: dict[str, Callable] = {"relu": F.relu, "gelu": F.gelu}


def _activation(given):
    if callable(given):
        return given
    if given not in _ACTIVATIONS:
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return _ACTIVATIONS[given]


class _TransformerLayer(Module):
    """What the layers of both sides share: feed forward, norms and dropouts around each part."""

    def _build(
        self, parts, d_model, dim_feedforward, dropout, activation, eps, norm_first, bias, device, dtype
    ):
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, device=device, dtype=dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, device=device, dtype=dtype)
        self.norm_first = norm_first
        for i in range(1, parts + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps=eps, bias=bias, device=device, dtype=dtype))
        for i in range(1, parts + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _run(self, x, parts):
        """Each part reads x and adds to it, with a norm before it or after the sum."""
        for i, part in enumerate(parts, 1):
            norm, drop = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
            x = x + drop(part(norm(x))) if self.norm_first else norm(x + drop(part(x)))
        return x

    def _feed_forward(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self-attention and a feed-forward net, each with a residual connection and a layer norm."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
        )
        self._build(
            2, d_model, dim_feedforward, dropout, activation, layer_norm_eps, norm_first, bias, device, dtype
        )

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        src_key_padding_mask, src_mask = _masks(src_key_padding_mask, src_mask, src.dtype)

        def attend(x):
            return self.self_attn(
                x, x, x, src_key_padding_mask, need_weights=False, attn_mask=src_mask, is_causal=is_causal
            )[0]

        return self._run(src, [attend, self._feed_forward])


class TransformerDecoderLayer(_TransformerLayer):
    """Self-attention, attention to an encoder's output, and a feed-forward net."""

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        for name in ("self_attn", "multihead_attn"):
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, dtype=dtype
            )
            setattr(self, name, attention)
        self._build(
            3, d_model, dim_feedforward, dropout, activation, layer_norm_eps, norm_first, bias, device, dtype
        )

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        def attend(x):
            return self.self_attn(
                x, x, x, tgt_key_padding_mask, need_weights=False, attn_mask=tgt_mask, is_causal=tgt_is_causal
            )[0]

        def look_at_memory(x):
            return self.multihead_attn(
                x,
                memory,
                memory,
                memory_key_padding_mask,
                need_weights=False,
                attn_mask=memory_mask,
                is_causal=memory_is_causal,
            )[0]

        return self._run(tgt, [attend, look_at_memory, self._feed_forward])


def _masks(padding, mask, dtype):
    """Both masks as numbers to add."""
    padding = additive_mask(padding, "src_key_padding_mask", dtype, mask, "src_mask")
    return padding, additive_mask(mask, "src_mask", dtype)


def _clones(layer, count):
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _why_not_nested(layer):
    """Why PyTorch could not use nested tensors with this layer, or an empty text."""
    name = "encoder_layer"
    if not isinstance(layer, TransformerEncoderLayer):
        return f"{name} was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = (
        (layer.norm_first, f"{name}.norm_first was True"),
        (
            not attention.batch_first,
            f"{name}.self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (attention.in_proj_bias is None, f"{name}.self_attn was passed bias=False"),
        (layer.activation not in _ACTIVATIONS.values(), f"{name}.activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, f"{name}.norm1.eps was not equal to {name}.norm2.eps"),
        (attention.num_heads % 2 == 1, f"{name}.self_attn.num_heads is odd"),
    )
    return next((text for holds, text in reasons if holds), "")


class TransformerEncoder(Module):
    """A stack of `num_layers` copies of an encoder layer."""

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(encoder_layer, num_layers), num_layers, norm
        # Nested tensors are PyTorch's way to skip padding; here the setting is kept and changes no number.
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        reason = _why_not_nested(encoder_layer)
        if enable_nested_tensor and reason:
            warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {reason}",
            )

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        padding, mask = _masks(src_key_padding_mask, mask, src.dtype)
        causal = _is_causal(mask) if is_causal is None else is_causal
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    """A stack of `num_layers` copies of a decoder layer."""

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers, self.num_layers, self.norm = _clones(decoder_layer, num_layers), num_layers, norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        causal = _is_causal(tgt_mask) if tgt_is_causal is None else tgt_is_causal
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


def _is_causal(mask):
    """Whether a mask is the one that forbids to look ahead."""
    if mask is None or mask.dim() != 2 or mask.shape[0] != mask.shape[1]:
        return False
    return bool((mask == Transformer.generate_square_subsequent_mask(mask.shape[0]).to(mask.dtype)).all())


class Transformer(Module):
    """An encoder and a decoder: (S, n, E) and (T, n, E) -> (T, n, E)."""

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        settings = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        settings += (batch_first, norm_first, bias, device, dtype)

        def norm():
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm()
        )
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        batched = src.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if batched and src.shape[batch_dim] != tgt.shape[batch_dim]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, src_mask, src_key_padding_mask, src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The (sz, sz) mask that forbids to look ahead: -inf above the diagonal, 0 elsewhere."""
        return FACTORIES["full"]((sz, sz), -math.inf, device=device, dtype=dtype).triu(1)


__all__ = [
    "MultiheadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
