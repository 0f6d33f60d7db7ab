"""Where PyTorch keeps the class of its removal handles (torch.utils.hooks)."""

from ..autograd.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
