# detach cuts one value out
#
# detach gives the same number without its history. In x * x.detach() only the first factor leads back
# to x, so the gradient is 3 and not 6.
#
# step: detach
# notebook: 07

import torch

x = torch.tensor(3.0, requires_grad=True)
y = x * x.detach()
y.backward()
print(x.grad)
