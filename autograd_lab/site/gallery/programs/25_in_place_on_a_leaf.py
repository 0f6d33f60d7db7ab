# In place on a leaf
#
# A leaf that requires a gradient must not be written in place while operations are recorded: its
# history would begin before itself. Updates are written under no_grad.
#
# step: error
# why: w
# notebook: 10

import torch

w = torch.tensor(3.0, requires_grad=True)
loss = w * w
loss.backward()
print(w.grad)
w -= 0.1 * w.grad
