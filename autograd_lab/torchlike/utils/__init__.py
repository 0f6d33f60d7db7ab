"""What goes around training: `checkpoint` trades time for memory, `data` deals out batches (torch.utils)."""

import importlib


def __getattr__(name):
    if name in ("_pytree", "checkpoint", "data", "hooks"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    return [*globals(), "checkpoint", "data", "hooks"]
