"""What programs for PyTorch expect around it: devices, saved files, other packages' classes, and the names that are left out."""
