# A view is no copy
#
# row looks at the memory of y. Writing into row changes y as well, and its history: y gets a
# CopySlices node, which says that one slice now comes from somewhere else. So the gradient of x is
# different for each element.
#
# step: vjp CopySlices
# notebook: 10

import torch

x = torch.tensor([1.0, 2.0], requires_grad=True)
y = x * 3
row = y[0]
row.mul_(10)
y.sum().backward()
print(y.grad_fn.name(), x.grad)
