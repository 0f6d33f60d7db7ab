"""How PyTorch's functions are called: the forms of each, its `out` argument, and what they say of arguments that do not fit."""
