"""What is loaded when it is first asked for: most of the library, which most programs do not use.

    table.py      which module has which name; `python -m autograd_lab.loading` writes it, and a test fails if it is out of date
    Book          FUNCTIONS, METHODS, KERNELS and RULES: reading an entry imports the page of rules that makes it
    Later         a method of Tensor whose page is not loaded; the real method takes its place when it is first read
    late          `__getattr__` and `__dir__` of a package whose names are in its modules
    whole         makes `vars(module)` and `from module import *` show the names that are not loaded yet

Loading is Python's import and nothing more: it runs no operation, so nothing is recorded, and its locks are Python's own, so
threads may ask for the same name at once. That is why no two modules may import each other while they load.
"""

import sys
import threading
from importlib import import_module
from types import ModuleType

from . import table
from .paths import place_of, public

PACKAGE = __name__.partition(".")[0]
LISTED = {
    name: place_of(f"{PACKAGE}.{page}") for page, names in table.LISTED.items() for name in names.split()
}
"""{a name of the torch-like namespace: the module that has it in its NAMES}"""


class Book(dict):
    """A table of what operations define, by name: `kind` is its name in table.py.

    Entries of pages that are not loaded count as there: reading one imports its page, and so does going through all of them.
    What pages enter stands in `entered`. Into the dict itself, where it is read as fast as in any dict, an entry comes when its page
    is complete: until then another thread would find what is not finished, or what that page is about to replace.
    """

    def __init__(self, kind, entries):
        super().__init__()
        self.entered = {**entries}
        self._page_of = {
            name: page for page, books in table.PAGES.items() for name in books.get(kind, "").split()
        }

    def __missing__(self, name):
        page = self._page_of.get(name)
        if page is not None:
            import_module(page)  # waits for another thread that has begun to
        value = self.entered[name]
        if page is None or not _is_loading(page):
            super().__setitem__(name, value)
        return value

    def __setitem__(self, name, value):
        self.entered[name] = value
        self.pop(name, None)

    def __delitem__(self, name):
        del self.entered[name]
        self.pop(name, None)

    def setdefault(self, name, value):
        """The entry; `value` from now on if there is none yet. Loads nothing."""
        return self.entered.setdefault(name, value)

    def update(self, *entries, **more):
        """Enter several."""
        for name, value in dict(*entries, **more).items():
            self[name] = value

    def get(self, name, default=None):
        """The entry, or `default` if there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    def __contains__(self, name):
        return name in self._page_of or name in self.entered

    def names(self):
        """All names, loading nothing."""
        return {**self._page_of, **self.entered}.keys()

    def _whole(self):
        """All entries, once all pages are loaded."""
        for page in dict.fromkeys(self._page_of.values()):
            import_module(page)
        return self.entered

    def __len__(self):
        return len(self.names())

    def __iter__(self):
        return iter(self._whole())

    def keys(self):
        """The names, once all pages are loaded."""
        return self._whole().keys()

    def values(self):
        """The entries, once all pages are loaded."""
        return self._whole().values()

    def items(self):
        """The names with their entries, once all pages are loaded."""
        return self._whole().items()

    def __or__(self, other):
        return self._whole() | other

    def __repr__(self):
        return repr(self._whole())


def _is_loading(module):
    """Whether the code of a module has not run to its end."""
    return getattr(sys.modules[module].__spec__, "_initializing", False)


_PUTTING = threading.Lock()


class Later:
    """Stands in Tensor for a method that is not loaded. `read` gives the real one, which then takes this one's place."""

    __slots__ = ("_holder", "_member", "_name", "_read")

    def __init__(self, holder, name, read):
        self._holder, self._name, self._read, self._member = holder, name, read, None

    def real(self):
        """The method, the same one each time and for all threads. It is put into the class unless something else has come there."""
        if self._member is None:
            member = self._read(self._name)
            with _PUTTING:
                if self._member is None:
                    self._member = member
        with _PUTTING:
            if vars(self._holder).get(self._name) is self:
                setattr(self._holder, self._name, self._member)
        return self._member

    def __get__(self, instance, owner=None):
        return self.real().__get__(instance, owner)


class LaterProperty(Later):
    """The same for a property, which decides what may be assigned."""

    __slots__ = ()

    def __set__(self, instance, value):
        self.real().__set__(instance, value)

    def __delete__(self, instance):
        self.real().__delete__(instance)


def later(holder, name, read):
    """What stands in the class `holder` for the method, or property, `name` until it is first asked for."""
    return (LaterProperty if name in _PROPERTIES else Later)(holder, name, read)


_PROPERTIES = {name for books in table.PAGES.values() for name in books.get("PROPERTIES", "").split()}


def late(package, otherwise):
    """`__getattr__` and `__dir__` of a package: its names are in its modules, as NAMES has it; `otherwise(name)` finds others."""
    place = public(package).partition(".")[2]
    module_of = {
        name: module for module, names in table.NAMES.get(place, {}).items() for name in names.split()
    }
    modules = [module for module in table.NAMES.get(place, ()) if "." not in module]
    space = vars(sys.modules[package])

    def find(name):
        if name in module_of:
            value = getattr(import_module(place_of(f"{package}.{module_of[name]}")), name)
            return space.setdefault(name, value)  # of several threads' the first: they are the same
        if name in modules:
            return import_module(place_of(f"{package}.{name}"))
        return otherwise(name)

    def names():
        return [*{**space, **module_of, **dict.fromkeys(modules)}]

    whole(package)
    return find, names


class _Whole(ModuleType):
    """A module some of whose names are loaded late; who looks into its dict finds them all."""

    @property
    def __dict__(self):
        for name in dir(self):
            getattr(self, name)
        self.__class__ = ModuleType  # whole now; guards of compiled functions look in here at every call
        return _DICT.__get__(self)

    def __dir__(self):
        return _DICT.__get__(self)["__dir__"]()  # ModuleType's own would ask for `__dict__`


_DICT = vars(ModuleType)["__dict__"]


def whole(name):
    """Let `vars` of a module load the names that its `__dir__` lists."""
    sys.modules[name].__class__ = _Whole


class _Unfilled(ModuleType):
    """A module that world/devices.py makes, until something is asked of it."""

    def __getattribute__(self, name):
        import_module(devices := place_of(f"{PACKAGE}.machine"))
        if not _is_loading(devices):
            self.__class__ = ModuleType
        return ModuleType.__getattribute__(self, name)


def announce():
    """Put the modules that have no file of their own where `import` looks for them."""
    for path in table.MODULES.split():
        name = f"{PACKAGE}.{path}"
        sys.modules[name] = _Unfilled(name)


def load_everything():
    """Load all that the library has, in a process of which copies will be made: then no copy has to."""
    package = sys.modules[PACKAGE]
    for space in (package, package.nn, package.optim):
        vars(space)
    for name in dir(package.Tensor):
        getattr(package.Tensor, name)


__all__ = ["LISTED", "Book", "announce", "late", "later", "load_everything", "whole"]
