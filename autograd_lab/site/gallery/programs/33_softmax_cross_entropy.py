# Cross-entropy sends p - y
#
# Behind softmax and cross-entropy there is a simple gradient: the predicted probabilities minus the
# right answer. The right class is pulled up, each other one pushed down by what it had.
#
# step: vjp LogSoftmaxBackward0
# notebook: 11

import torch

scores = torch.tensor([[1.0, 2.0, 4.0]], requires_grad=True)
right = torch.tensor([1])
loss = torch.nn.functional.cross_entropy(scores, right)
loss.backward()
p = torch.softmax(scores.detach(), dim=1)
print(p)
print(scores.grad)
