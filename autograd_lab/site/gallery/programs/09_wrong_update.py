# The update that loses its parameter
#
# w = w - 0.1 * w.grad makes a new tensor and gives it the old name. The new w is computed, it
# is no leaf any more, and the next backward leaves its .grad empty. Change w in place under no_grad.
#
# step: end
# why: w
# notebook: 07

import torch

w = torch.tensor(1.0, requires_grad=True)
for step in range(2):
    loss = (w - 4) ** 2
    loss.backward()
    print(w.is_leaf, w.grad)
    if w.grad is not None:
        w = w - 0.1 * w.grad
