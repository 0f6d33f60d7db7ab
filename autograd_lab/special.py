"""torch.special."""
