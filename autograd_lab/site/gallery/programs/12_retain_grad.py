# Keep the gradient of a result
#
# A gradient passes through h on its way and is forgotten. retain_grad asks for a copy of it. This is
# the way to look at gradients in the middle of a network.
#
# step: retain h
# notebook: 05

import torch

x = torch.tensor(2.0, requires_grad=True)
h = x * 3
h.retain_grad()
y = h ** 2
y.backward()
print(h.grad, x.grad)
