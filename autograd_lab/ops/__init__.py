"""The rule book: every operation, with its NumPy forward and its VJP side by side.

Importing this package reads every page of it; a new page (a module here) needs no mention anywhere.
"""

import importlib
import pkgutil

for _page in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{_page.name}")
