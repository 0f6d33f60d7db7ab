"""The library's own attention layers, with padding masks and dropout in training."""

import torch
import torch.nn as nn

torch.manual_seed(2)
layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, dim_feedforward=16, dropout=0.1, batch_first=True)
encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
classifier = nn.Linear(8, 2)
x = torch.randn(3, 5, 8)
padding = torch.tensor([[False] * 5, [False, False, False, True, True], [False, False, False, False, True]])
out = encoder(x, src_key_padding_mask=padding)
keep = (~padding).unsqueeze(-1).float()
pooled = (out * keep).sum(1) / keep.sum(1)
loss = nn.CrossEntropyLoss(label_smoothing=0.1)(classifier(pooled), torch.tensor([0, 1, 0]))
loss.backward()
print(loss)
for name, p in list(encoder.named_parameters())[:6]:
    print(name, f"{p.grad.norm().item():.4f}")
mha = nn.MultiheadAttention(8, 2, batch_first=True)
y, weights = mha(x, x, x, key_padding_mask=padding)
print(y.shape, weights.sum(-1))
causal = nn.Transformer.generate_square_subsequent_mask(5)
y, _ = mha(x, x, x, attn_mask=causal, need_weights=False)
print(causal[1], y[0, 0])
print(nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True)[1, 2])
