# In place on a saved value
#
# exp keeps its result, because its derivative is the result itself. mul_ overwrites that result, and
# the version counter notices. Backward refuses rather than computing with the wrong number.
#
# step: error
# why: x
# notebook: 10

import torch

x = torch.tensor(1.0, requires_grad=True)
y = x.exp()
y.mul_(2)
y.backward()
