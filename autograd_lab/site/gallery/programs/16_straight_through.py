# A step with a borrowed gradient
#
# round has the gradient 0 everywhere. The trick adds the rounding as a constant: forward gives the
# rounded value, backward sees only x. Networks with rounded weights are trained this way.
#
# step: accumulate x 2
# notebook: 07

import torch

x = torch.tensor(2.6, requires_grad=True)
x.round().backward()
print(x.grad)
y = x + (x.round() - x).detach()
y.backward()
print(y, x.grad)
