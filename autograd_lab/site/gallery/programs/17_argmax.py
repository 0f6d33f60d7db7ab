# argmax breaks the path
#
# argmax gives a position, and a position does not change when the scores change a little. There is no
# derivative, the result is a plain integer, and the loss has no way back to the scores.
#
# step: error
# why: scores
# notebook: 07

import torch

scores = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
chosen = scores.argmax()
loss = (chosen - 2.0) ** 2
loss.backward()
