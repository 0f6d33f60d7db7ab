# One weight, used in two places
#
# Both layers use the same w. There is one AccumulateGrad for it, and both messages end there: the
# gradient is the sum over all places where the weight is used.
#
# step: accumulate w
# notebook: 04

import torch

w = torch.tensor(0.5, requires_grad=True)
x = torch.tensor(2.0)
hidden = torch.tanh(w * x)
y = w * hidden
y.backward()
print(w.grad)
