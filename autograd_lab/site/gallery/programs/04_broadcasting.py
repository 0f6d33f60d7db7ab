# What is broadcast is summed
#
# b has three numbers and is used in both rows. Each number takes part twice, so its gradient is the
# sum over the rows. A gradient always has the shape of its tensor.
#
# step: accumulate b
# notebook: 08

import torch

x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
b = torch.tensor([0.1, 0.2, 0.3], requires_grad=True)
y = x * b
y.sum().backward()
print(b.grad)
