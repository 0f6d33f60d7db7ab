# Backward from more than one number
#
# backward() starts with 1, the derivative of the loss with respect to itself. Of three numbers it
# does not know how much each one counts. Take their sum or mean, or pass one weight for each.
#
# step: error
# why: x
# notebook: 09

import torch

x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
y = x ** 2
y.backward()
