# Two paths, one gradient
#
# a reaches d in two ways, through b and through c. Each path brings its own gradient, and they are
# added. That is why the engine waits until both have arrived.
#
# step: deliver a 2
# notebook: 04

import torch

a = torch.tensor(2.0, requires_grad=True)
b = a * 3
c = a * 5
d = b * c
d.backward()
print(a.grad)
