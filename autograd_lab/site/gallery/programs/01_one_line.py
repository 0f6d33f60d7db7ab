# One line of a network
#
# Forward computes y and makes a node for each operation. Backward walks these nodes from the end to
# the beginning. At the product the factors swap: w is sent x, and x would be sent w.
#
# step: vjp MulBackward0
# notebook: 03

import torch

w = torch.tensor(3.0, requires_grad=True)
b = torch.tensor(1.0, requires_grad=True)
x = torch.tensor(2.0)
y = w * x + b
y.backward()
print(w.grad, b.grad)
