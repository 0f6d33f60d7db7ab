"""The way from the loss to the tensor is cut."""

# %% cut-by-detach | detached | lab.why(w) | template: detach-in-the-middle
# says: detach() handed on the numbers of h without their history
w = torch.tensor([1.0, -2.0], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
h = w * 3
y = h.detach() + b
loss = (y * y).sum()
loss.backward()
# %% cure
# grad: w.grad == [21.0, -33.0]
w = torch.tensor([1.0, -2.0], requires_grad=True)
b = torch.tensor(0.5, requires_grad=True)
h = w * 3
y = h + b
loss = (y * y).sum()
loss.backward()
