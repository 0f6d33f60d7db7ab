# max with ties
#
# Two elements share the largest value. max over all elements divides the gradient evenly among them.
# max along a dim picks one of them and gives it everything.
#
# step: accumulate x
# notebook: 11

import torch

x = torch.tensor([2.0, 7.0, 7.0], requires_grad=True)
x.max().backward()
print(x.grad)
x.grad = None
x.max(dim=0).values.backward()
print(x.grad)
