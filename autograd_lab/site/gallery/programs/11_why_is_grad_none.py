# Why is .grad None?
#
# w is the result of a product, because the 0.1 came after the tensor was made. Only leaves keep their
# gradient, and w is not a leaf. Multiply first and ask for the gradient afterwards.
#
# step: end
# why: w
# notebook: 05

import torch

w = torch.tensor(5.0, requires_grad=True) * 0.1
loss = (w * 3) ** 2
loss.backward()
print(w.is_leaf, w.grad)
