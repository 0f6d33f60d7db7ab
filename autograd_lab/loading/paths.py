"""Module names: what is in torchlike/ has PyTorch's, without the folder.

The file torchlike/nn/module.py is imported as `autograd_lab.torchlike.nn.module` by the files around it, and that is its place
for `import`. Programs, pickles and messages know it as `autograd_lab.nn.module`, after PyTorch's torch.nn.module: both names
give one module object, and `__module__` of what it defines is the public name.

A module gets its public name in `sys.modules` when its code is complete, never earlier: until then another thread that asks
for it waits, as for any import.
"""

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder

PACKAGE = "autograd_lab"
FOLDER = f"{PACKAGE}.torchlike"

MOVED = {
    "_functorch": "world._functorch",
    "absent": "world.missing",
    "autograd.halves": "autograd.float16",
    "checks": "world.checks",
    "device": "world.device",
    "machine": "world.devices",
    "ops.arguments": "interface.arguments",
    "ops.both": "ops.array_or_tensor",
    "ops.forms": "interface.forms",
    "ops.joins": "ops.concat",
    "ops.order": "ops.sorting",
    "ops.out": "interface.out",
    "ops.pairs": "ops.broadcasting",
    "ops.parts": "ops.slicing",
    "ops.places": "ops.gather_scatter",
    "ops.publish": "interface.publish",
    "ops.words": "interface.words",
    "overrides": "world.overrides",
    "places": "world.aliases",
    "serialization": "world.serialization",
    "standin": "world.standin",
    "warning": "world.warning",
}
"""{name: path in torchlike/} where the two differ: PyTorch's names of what is in world/, and the older names of pages."""

_PUBLIC = {path: name for name, path in MOVED.items() if "." not in name}
_TOPS = {
    "amp", "autograd", "creation", "distributions", "dtypes", "func", "interface", "layout", "library", "linalg", "nn", "ops",
    "optim", "printing", "random", "return_types", "special", "tensor", "testing", "utils", "world",
}  # fmt: skip
"""What is in torchlike/; tests/test_paths.py compares it with the folder."""


def public(place):
    """The public name of what is imported as `place`: "autograd_lab.nn" of "autograd_lab.torchlike.nn"."""
    if not place.startswith(f"{FOLDER}."):
        return place
    path = place[len(FOLDER) + 1 :]
    return f"{PACKAGE}.{_PUBLIC.get(path, path)}"


def place_of(name):
    """Where the module with this public name is; the name itself if it is not in torchlike/."""
    package, _, path = name.partition(".")
    if package == PACKAGE:
        path = MOVED.get(path, path)
        if path.partition(".")[0] in _TOPS:
            return f"{FOLDER}.{path}"
    return name


class _Named:
    """Loads a file of torchlike/ so that what it defines bears its public name. All else is as its own loader does it."""

    def __init__(self, loader):
        self._loader, self._module = loader, None

    def __getattr__(self, name):
        return getattr(self._loader, name)

    def create_module(self, spec):
        """None: Python makes the module. Once it has run, the module: see exec_module."""
        return self._module

    def exec_module(self, module):
        """Run the code of the module, and enter the module under its public name."""
        if module is self._module:
            return  # Python found the public name, which another thread had just entered, and took its module for a new one
        spec = module.__spec__
        name = public(spec.name)
        space = vars(module)
        is_folder = spec.submodule_search_locations is not None
        if not is_folder:
            space["__name__"] = name
        exec(self._loader.get_code(spec.name), space)
        if is_folder:  # only now: while its code runs, `from . import page` goes by the name
            space["__name__"] = name
            for member in list(space.values()):  # another thread that imports a page of it adds a name
                if getattr(member, "__module__", None) == spec.name:
                    member.__module__ = name
        self._module = module
        sys.modules[name] = module
        holder, _, last = name.rpartition(".")
        if holder != public(spec.name.rpartition(".")[0]):  # there Python puts it
            setattr(sys.modules[holder], last, module)


class _Alias:
    """Gives the module that is in torchlike/ for a public name."""

    def create_module(self, spec):
        """The module, imported from its place."""
        module = import_module(place_of(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        """It has run. Python has put this loader's spec into it."""
        module.__spec__ = self._spec


class _Finder:
    """Finds the modules of torchlike/ by either name."""

    def find_spec(self, name, path=None, target=None):
        """None for all that is not in torchlike/."""
        if name.startswith(f"{FOLDER}."):
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Named(spec.loader)
            return spec
        place = place_of(name)
        if place == name:
            return None
        folder = import_module(place.rpartition(".")[0])
        there = PathFinder.find_spec(place, folder.__path__) if hasattr(folder, "__path__") else None
        return there and ModuleSpec(name, _Alias(), is_package=there.submodule_search_locations is not None)


def announce_names(folder):
    """Let `import` find the modules in `folder` by their public names, and `help` list them as the package's."""
    sys.meta_path.insert(sys.meta_path.index(PathFinder), _Finder())
    sys.modules[PACKAGE].__path__.append(folder)


__all__ = ["MOVED", "announce_names", "place_of", "public"]
