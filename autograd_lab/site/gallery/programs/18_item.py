# item() leaves the graph
#
# item() gives a Python number. Numbers have no history, so the new loss begins at nothing and w gets
# only what comes through the other term. Keep tensors until the loss is done, and use item() for
# printing.
#
# step: read
# notebook: 07

import torch

w = torch.tensor(3.0, requires_grad=True)
error = w * 2
penalty = w ** 2
loss = error + penalty.item()
loss.backward()
print(w.grad)
