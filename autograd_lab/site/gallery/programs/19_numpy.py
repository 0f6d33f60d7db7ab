# NumPy takes no tensor with a history
#
# NumPy cannot record anything. PyTorch therefore refuses to hand it a tensor that requires a
# gradient, instead of losing the history quietly. Say detach() first if that is what you want.
#
# step: error
# why: w
# notebook: 07

import torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
y = w * 3
print(y.detach().numpy())
print(y.numpy())
