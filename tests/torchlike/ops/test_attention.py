"""Attention and embedding bags: values, graphs, gradients and second derivatives.

PyTorch has no second derivative of either of these two rules; ours are held against central differences.
"""

import numpy as np
import pytest
from helpers import Op, check_differences, check_like_pytorch

import autograd_lab
from tests.each import each

HEADS = [(2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 5)]
INDEX, OFFSETS = [0, 2, 2, 4, 1], [0, 3, 3]


def attend(name, shapes, mask=None, **settings):
    """One call of scaled_dot_product_attention; `mask` is an array."""

    def fn(torch, q, k, v):
        given = None if mask is None else torch.tensor(mask)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=given, **settings)

    return Op(f"attention {name}", fn, shapes)


def bag(name, shapes=((5, 3),), index=INDEX, offsets=OFFSETS, **settings):
    """One call of embedding_bag, with weights for the samples if two shapes are given."""

    def fn(torch, w, *weights):
        given = {"per_sample_weights": weights[0]} if weights else {}
        starts = None if offsets is None else torch.tensor(offsets)
        return torch.nn.functional.embedding_bag(
            torch.tensor(index, dtype=torch.int64), w, starts, **given, **settings
        )

    return Op(f"embedding bag {name}", fn, list(shapes))


BELOW = np.tril(np.ones((4, 6), bool), -1)  # the first query may look nowhere
ADDED = np.linspace(-1, 1, 24).reshape(4, 6)
ONE_NODE = [
    attend("plain", HEADS), attend("causal", HEADS, is_causal=True), attend("scaled", HEADS, scale=0.3),
    attend("allowed", HEADS, BELOW), attend("added", HEADS, ADDED), attend("both", HEADS, ADDED, is_causal=True),
    attend("mask of the batch", HEADS, np.stack([ADDED, -ADDED])[:, None]),
    bag("mean"), bag("padding", padding_idx=2), bag("sum", mode="sum"), bag("max", mode="max"), bag("max padding", mode="max", padding_idx=2),
    bag("rows", index=[[0, 1, 1], [2, 3, 3]], offsets=None), bag("no bags", index=[], offsets=[0]),
    bag("last", offsets=[0, 3, 5], include_last_offset=True, mode="sum"),
    bag("weights", ((5, 3), (5,)), mode="sum"), bag("weights padding", ((5, 3), (5,)), mode="sum", padding_idx=2),
    bag("weights rows", ((5, 3), (2, 3)), index=[[0, 1, 1], [2, 3, 3]], offsets=None, mode="sum"),
]  # fmt: skip
OPEN = [
    attend("three dims", [(3, 4, 5), (3, 6, 5), (3, 6, 5)]), attend("two dims", [(4, 5), (6, 5), (6, 5)]),
    attend("three dims causal", [(3, 4, 5)] * 3, is_causal=True), attend("three dims allowed", [(3, 4, 5), (3, 6, 5), (3, 6, 5)], BELOW),
    attend("other values", [(2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 2)]),
    attend("one batch for all", [(2, 3, 4, 5), (1, 3, 6, 5), (1, 3, 6, 5)]),
]  # fmt: skip


def test_derivatives_agree_with_central_differences():
    each(ONE_NODE + OPEN, check_differences)


def test_live_pytorch_does_the_same():
    each(ONE_NODE + OPEN, agrees, pytest.importorskip("torch"))


def agrees(op, torch):
    if op in ONE_NODE:  # PyTorch raises "derivative is not implemented"
        op = Op(op.name, op.fn, op.shapes, second=False, skip=op.skip)
    if op.name in ("embedding bag no bags", "embedding bag weights padding"):
        op.skip = ("saved",)  # sizes of bags, which PyTorch leaves unset where it does not need them
    check_like_pytorch(op, torch)


def test_a_query_that_may_look_nowhere_gets_zeros_and_sends_none():
    torch = autograd_lab
    q, k, v = (torch.ones(1, 1, 2, 3, requires_grad=True) for _ in range(3))
    mask = torch.tensor([[False, False], [True, True]])
    out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    out.sum().backward()
    assert out[0, 0].tolist() == [[0.0] * 3, [1.0] * 3]
    assert torch.allclose(v.grad, torch.full((1, 1, 2, 3), 0.5))
    assert not q.grad.isnan().any()


def test_heads_may_share_keys_and_values():
    torch = autograd_lab
    q, k = torch.randn(2, 4, 3, 5), torch.randn(2, 2, 3, 5)
    attention = torch.nn.functional.scaled_dot_product_attention
    shared = attention(q, k, k, enable_gqa=True)
    each = torch.stack(
        [attention(q[:, h : h + 1], *[k[:, h // 2 : h // 2 + 1]] * 2)[:, 0] for h in range(4)], 1
    )
    assert torch.allclose(shared, each)


def test_frequent_rows_count_less():
    """PyTorch 2.13 divides by the count of another row when an index repeats; here it is the row's own."""
    torch = autograd_lab
    w = torch.zeros(5, 2, requires_grad=True)
    out = torch.nn.functional.embedding_bag(
        torch.tensor(INDEX), w, torch.tensor(OFFSETS), mode="sum", scale_grad_by_freq=True
    )
    out.sum().backward()
    assert w.grad[:, 0].tolist() == [1.0, 1.0, 1.0, 0.0, 1.0]


MESSAGES = {
    "F.embedding_bag(i, w)": (ValueError, "offsets has to be a 1D Tensor but got None"),
    "F.embedding_bag(i, w, t([[0]]))": (ValueError, "offsets has to be a 1D Tensor"),
    "F.embedding_bag(t([[0]]), w, i)": (ValueError, "if input is 2D, then offsets has to be None"),
    "F.embedding_bag(t([[[0]]]), w)": (ValueError, "input has to be 1D or 2D Tensor, but got Tensor of dimension 3"),
    "F.embedding_bag(i, w[0], i)": (ValueError, "weight has to be a 2D Tensor, but got Tensor of dimension 1"),
    "F.embedding_bag(i, w, t([1]))": (RuntimeError, "offsets[0] has to be 0, i.e., the first sequence in the mini-batch"),
    "F.embedding_bag(i, w, t([0, 7]))": (RuntimeError, "offsets[-1] can not be greater than input's length 2 but got offsets[-1] of 7"),
    "F.embedding_bag(t([9]), w, t([0]))": (RuntimeError, "Index 0 of input takes value 9 which is not in the valid range [0, 5)"),
    "F.embedding_bag(t([9]), w.double(), t([0]))": (RuntimeError, "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be 9"),
    "F.embedding_bag(w[0], w, t([0]))": (RuntimeError, "Expected tensor for argument #1 'indices' to have one of the follow"),
    "F.embedding_bag(i, w, t([0]), padding_idx=9)": (RuntimeError, "padding_idx must be within the number of embeddings, -5 through 4"),
    "F.embedding_bag(i, w, t([0]), mode='x')": (ValueError, "mode has to be one of sum, mean or max"),
    "F.embedding_bag(i, w, t([0]), mode='max', scale_grad_by_freq=True)": (ValueError, "max mode does not support scaling the gradient by the frequency"),
    "F.embedding_bag(i, w, t([0]), per_sample_weights=w[0, :2])": (NotImplementedError, "embedding_bag: per_sample_weights was not None."),
    "F.embedding_bag(i, w, t([0]), per_sample_weights=w[0])": (ValueError, "embedding_bag: If per_sample_weights (torch.Size([3])) is not None"),
    "F.scaled_dot_product_attention(w[0], w[0], w[0])": (RuntimeError, "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: 1"),
    "F.scaled_dot_product_attention(w, w.double(), w)": (RuntimeError, "Expected query, key, and value to have the same dtype, but got query.dtype: float key.dtype: double"),
    "F.scaled_dot_product_attention(w, w, w, w @ w.T, is_causal=True)": (RuntimeError, "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"),
    "F.scaled_dot_product_attention(w, w, w, (w @ w.T).double())": (RuntimeError, "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: double"),
    "nn.MultiheadAttention(6, 4)": (AssertionError, "embed_dim must be divisible by num_heads"),
    "nn.MultiheadAttention(0, 4)": (ValueError, "embed_dim and num_heads must be greater than 0, got embed_dim=0"),
    "nn.MultiheadAttention(6, 2)(w, w, w)": (AssertionError, "was expecting embedding dimension of 6, but got 3"),
    "nn.MultiheadAttention(3, 1)(w, w, w, attn_mask=w)": (RuntimeError, "The shape of the 2D attn_mask is torch.Size([5, 3]), but should be (5, 5)."),
    "nn.MultiheadAttention(3, 1)(w, w, w, is_causal=True)": (RuntimeError, "Need attn_mask if specifying the is_causal hint."),
    "nn.MultiheadAttention(3, 1)(w, w, w, key_padding_mask=w)": (AssertionError, "For unbatched (2-D) `query`, expected `key_padding_mask` to be `None` or 1-D"),
    "nn.MultiheadAttention(3, 1)(w, w[None], w)": (AssertionError, "For unbatched (2-D) `query`, expected `key` and `value` to be 2-D but found 3-D and 2-D tensors"),
    "nn.TransformerEncoderLayer(4, 2, activation='x')": (RuntimeError, "activation should be relu/gelu, not x"),
}  # fmt: skip


@pytest.mark.parametrize("code", MESSAGES)
@pytest.mark.parametrize("which", ["autograd_lab", "torch"])
def test_misuse_says_what_pytorch_says(code, which):
    torch = pytest.importorskip(which)
    names = {
        "F": torch.nn.functional,
        "nn": torch.nn,
        "t": torch.tensor,
        "i": torch.tensor([0, 1]),
        "w": torch.ones(5, 3),
    }
    kind, text = MESSAGES[code]
    with pytest.raises(kind) as raised:
        eval(code, names)
    assert str(raised.value).startswith(text)
