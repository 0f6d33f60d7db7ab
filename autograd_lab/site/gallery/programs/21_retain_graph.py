# retain_graph keeps what was saved
#
# With retain_graph=True the first pass leaves the saved values in place, and a second one works. The
# gradients still add up: 6 and 6 are 12.
#
# step: accumulate w 2
# why: w
# notebook: 06

import torch

w = torch.tensor(3.0, requires_grad=True)
loss = w * w
loss.backward(retain_graph=True)
print(w.grad)
loss.backward()
print(w.grad)
