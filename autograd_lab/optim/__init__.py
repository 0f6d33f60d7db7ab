"""torch.optim"""
