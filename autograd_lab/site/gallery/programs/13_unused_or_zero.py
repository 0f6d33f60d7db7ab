# None is not zero
#
# unused never met the loss, so no gradient ever came and .grad is None. ignored was multiplied by
# zero: a gradient did come, and it is 0. Optimizers skip the first and handle the second.
#
# step: end
# why: ignored
# notebook: 05

import torch

used = torch.tensor(2.0, requires_grad=True)
ignored = torch.tensor(3.0, requires_grad=True)
unused = torch.tensor(5.0, requires_grad=True)
loss = used * 7 + ignored * 0
loss.backward()
print(used.grad, ignored.grad, unused.grad)
