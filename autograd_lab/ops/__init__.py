"""The rule book: every operation, with its NumPy forward and its VJP side by side.

Importing this package reads every page of it; a new page (a module here) needs no mention anywhere.
"""

import importlib
import pkgutil

for _page in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_page.name}")


def __getattr__(name):
    """torch.ops.<namespace>: what torch.library.custom_op made."""
    from ..library import NAMESPACES

    if name in NAMESPACES:
        return NAMESPACES[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
