# Backward twice
#
# The product saved both factors for backward. The first pass used them and set them free, so a second
# pass finds nothing to compute with. Run forward again, or say retain_graph=True in the first pass.
#
# step: error
# why: w
# notebook: 06

import torch

w = torch.tensor(3.0, requires_grad=True)
loss = w * w
loss.backward()
print(w.grad)
loss.backward()
