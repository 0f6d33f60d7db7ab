# Clipping a gradient
#
# clip_grad_norm_ looks at the length of all gradients together. If it is larger than allowed, all of
# them are scaled down by the same factor: the direction stays, only the step becomes shorter.
#
# step: grad w
# notebook: 13

import torch

w = torch.tensor([3.0, 4.0], requires_grad=True)
loss = (w ** 2).sum() * 5
loss.backward()
print(w.grad)
norm = torch.nn.utils.clip_grad_norm_([w], max_norm=1.0)
print(norm, w.grad)
