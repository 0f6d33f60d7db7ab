# no_grad stops the recording
#
# Inside the block operations compute as usual and leave no node. scale is a constant for everything
# below, so w gets a gradient through the second line alone.
#
# step: const
# notebook: 07

import torch

w = torch.tensor(2.0, requires_grad=True)
with torch.no_grad():
    scale = w * 10
loss = scale * w
loss.backward()
print(scale.requires_grad, w.grad)
