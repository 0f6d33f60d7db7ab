"""The rule book: every operation, with its NumPy forward and its VJP side by side.

A page (a module here) is loaded when something of it is first asked for: loading/table.py has what each defines, and
`python -m autograd_lab.loading` writes that table. A new page needs no other mention.
"""

from importlib import import_module

from ...core import rule as _core
from ...loading import Book as _Book
from ...loading import whole as _whole
from . import rule

for _kind in ("FUNCTIONS", "KERNELS", "METHODS", "RULES"):
    _book = _Book(_kind, getattr(rule, _kind))
    for _module in (_core, rule):
        setattr(_module, _kind, _book)

for _page in (
    "activations",
    "arithmetic",
    "convert",
    "parity",
    "products",
):  # what adds to the rules of the core
    import_module(f"{__name__}.{_page}")


def __getattr__(name):
    """A page; or torch.ops.<namespace>: what torch.library.custom_op made."""
    page = f"{__name__}.{name}"
    if not name.startswith("__"):
        try:
            return import_module(page)
        except ModuleNotFoundError as error:
            if error.name != page:
                raise
    from ..library import NAMESPACES

    if name in NAMESPACES:
        return NAMESPACES[name]
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__():
    import pkgutil

    return [*{**globals(), **{page.name: None for page in pkgutil.iter_modules(__path__)}}]


_whole(__name__)
