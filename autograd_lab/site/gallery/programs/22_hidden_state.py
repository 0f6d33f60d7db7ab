# The state that is carried over
#
# h of the first round is part of the graph of the second round. Its saved values are gone by then.
# retain_graph would only hide that and keep every round in memory: the cure is h = h.detach().
#
# step: error
# why: w
# notebook: 06

import torch

w = torch.tensor(0.5, requires_grad=True)
h = torch.tensor(1.0)
for x in (2.0, 3.0):
    h = torch.tanh(w * h + x)
    loss = h ** 2
    loss.backward()
    print(w.grad)
