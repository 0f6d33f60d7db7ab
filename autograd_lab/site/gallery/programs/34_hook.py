# A hook changes what passes
#
# A hook is a function that sees a gradient on its way and may return another one. This hook doubles
# the gradient of h, so everything behind h gets twice as much.
#
# step: hook
# why: x
# notebook: 11

import torch

x = torch.tensor(3.0, requires_grad=True)
h = x * 2
h.register_hook(lambda g: g * 2)
y = h * 5
y.backward()
print(x.grad)
