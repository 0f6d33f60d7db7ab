# Your own operation
#
# A Function computes forward and says in backward what to send. It receives the gradient of its
# result and multiplies it by its own slope, here 3 x². What backward needs is kept with
# save_for_backward.
#
# step: vjp CubeBackward
# notebook: 11

import torch

class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 3 * x ** 2

x = torch.tensor(2.0, requires_grad=True)
y = Cube.apply(x) * 5
y.backward()
print(x.grad)
