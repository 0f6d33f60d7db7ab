"""How a tensor prints: as PyTorch prints it."""


def tensor_str(t):
    """The text of `repr(t)`."""
    text = f"tensor({t._data.tolist()}"
    if t.grad_fn is not None:
        text += f", grad_fn=<{t.grad_fn.name()}>"
    elif t.requires_grad:
        text += ", requires_grad=True"
    return text + ")"
