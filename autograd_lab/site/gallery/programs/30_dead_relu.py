# A dead relu unit
#
# The second unit is negative before relu. relu sends nothing where its input is below zero, so the
# weight of that unit gets the gradient 0 and can never recover from this example.
#
# step: vjp ReluBackward0
# why: w
# notebook: 11

import torch

x = torch.tensor(2.0)
w = torch.tensor([1.5, -3.0], requires_grad=True)
hidden = torch.relu(w * x)
loss = (hidden * torch.tensor([1.0, 10.0])).sum()
loss.backward()
print(hidden, w.grad)
