# The forgotten zero_grad
#
# Nobody clears w.grad between the rounds, so the second update also contains the gradient of the
# first. The steps become too large and overshoot. Put optimizer.zero_grad() into the loop.
#
# step: accumulate w 2
# why: w
# notebook: 13

import torch

w = torch.tensor(1.0, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
for step in range(3):
    loss = (w - 4) ** 2
    loss.backward()
    optimizer.step()
    print(f"w {w:.3f}, gradient {w.grad:.3f}")
