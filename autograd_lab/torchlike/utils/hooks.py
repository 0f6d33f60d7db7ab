"""PyTorch's location of the class of removal handles (torch.utils.hooks)."""

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
