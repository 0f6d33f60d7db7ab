# Vanishing gradients
#
# The slope of a sigmoid is at most a quarter. Each layer multiplies the gradient by such a slope, and
# after six of them almost nothing is left. Watch the line grow thinner from node to node.
#
# step: accumulate x
# notebook: 13

import torch

x = torch.tensor(1.0, requires_grad=True)
h = x
for layer in range(6):
    h = torch.sigmoid(h)
h.backward()
print(x.grad)
