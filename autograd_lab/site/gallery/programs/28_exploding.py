# Exploding gradients
#
# The same weight is multiplied in eight times. Backward multiplies by it as often, so the gradient
# grows with every step, and all eight uses of w add up. A little less than 1 would make it vanish
# instead.
#
# step: accumulate w
# notebook: 13

import torch

w = torch.tensor(3.0, requires_grad=True)
h = torch.tensor(1.0)
for step in range(8):
    h = h * w
h.backward()
print(h.item(), w.grad)
