# where does not protect from nan
#
# where hides the branch with log(0) in the forward pass. Backward still goes through it: 0 times
# infinity is nan. Make the input of log safe instead of hiding its result.
#
# step: vjp LogBackward0
# why: x
# notebook: 11

import torch

x = torch.tensor([0.0, 2.0], requires_grad=True)
y = torch.where(x > 0, x * torch.log(x), 0)
print(y)
y.sum().backward()
print(x.grad)
