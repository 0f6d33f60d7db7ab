# The gradient of a gradient
#
# With create_graph=True the backward pass is recorded too. The slope of x³ is a tensor with a history
# of its own, and backward through it gives the second derivative, 6 x.
#
# step: backward 2
# notebook: 12

import torch

x = torch.tensor(2.0, requires_grad=True)
y = x ** 3
slope, = torch.autograd.grad(y, x, create_graph=True)
print(slope)
slope.backward()
print(x.grad)
