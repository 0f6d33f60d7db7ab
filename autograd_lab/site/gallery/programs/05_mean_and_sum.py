# mean is sum with smaller gradients
#
# The mean divides by the number of elements, and so does its gradient. Two half batches of a mean
# therefore do not give what the full batch gives.
#
# step: vjp MeanBackward0
# notebook: 08

import torch

w = torch.tensor(2.0, requires_grad=True)
x = torch.tensor([1.0, 2.0, 5.0, 8.0])
(w * x).mean().backward()
print(w.grad)
w.grad = None
(w * x[:2]).mean().backward()
(w * x[2:]).mean().backward()
print(w.grad)
