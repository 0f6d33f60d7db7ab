# Gradients pile up
#
# backward() adds to .grad and never replaces what is there. After two passes w.grad holds the sum of
# both. Training loops call zero_grad() for this reason.
#
# step: accumulate w 2
# why: w
# notebook: 05

import torch

w = torch.tensor(3.0, requires_grad=True)
first = w * 2
first.backward()
print(w.grad)
second = w * 5
second.backward()
print(w.grad)
