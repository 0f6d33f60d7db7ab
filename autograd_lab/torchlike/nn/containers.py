"""Modules that hold other modules, or parameters."""

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice

from ..tensor import Tensor
from ..world.warning import warn
from .module import Module, indent, typename
from .parameter import Parameter


def _absolute(index, n):
    """A possibly negative position, checked. Raises IndexError."""
    index = operator.index(index)
    if not -n <= index < n:
        raise IndexError(f"index {index} is out of range")
    return index % n


class Container(Module):
    """Modules by name: what every Module does now (torch.nn.Container, deprecated)."""

    def __init__(self, **kwargs):
        super().__init__()
        warn(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. Subclass that instead.",
            FutureWarning,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Modules in a row: the output of each is the input of the next (torch.nn.Sequential)."""

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], OrderedDict) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return next(islice(self._modules.values(), _absolute(index, len(self)), None))

    def __setitem__(self, index, module):
        setattr(self, list(self._modules)[_absolute(index, len(self))], module)

    def __delitem__(self, index):
        keys = list(self._modules)
        for key in keys[index] if isinstance(index, slice) else [keys[_absolute(index, len(self))]]:
            delattr(self, key)
        modules = list(self._modules.values())
        self._modules = OrderedDict(zip(map(str, range(len(modules))), modules, strict=True))

    def __mul__(self, times):
        return Sequential(*list(self._modules.values()) * self._factor(times))

    __rmul__ = __mul__

    def __imul__(self, times):
        own = list(self._modules.values())
        for i, module in enumerate(own * (self._factor(times) - 1), len(own)):
            self.add_module(str(i), module)
        return self

    def _factor(self, times):
        if not isinstance(times, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(times)}")
        if times <= 0:
            raise ValueError(f"Non-positive multiplication factor {times} for {type(self)}")
        return times

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(
                f"add operator supports only objects of Sequential class, but {type(other)} is given."
            )
        return Sequential(*self, *other)

    def __iadd__(self, other):
        return self.extend(list(other))

    def append(self, module):
        """Add a module at the end; returns itself."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Add a module before position `index`; returns itself."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        n = len(self)
        if not -n <= index <= n:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._modules = OrderedDict(zip(map(str, range(n + 1)), modules, strict=True))
        return self

    def extend(self, modules):
        """Add several modules at the end; returns itself."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key):
        """Take out and return the module at a position."""
        module = self[key]
        del self[key]
        return module


class ModuleList(Module):
    """A list whose modules are registered (torch.nn.ModuleList)."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(_absolute(index, len(self)))]

    def __setitem__(self, index, module):
        setattr(self, str(_absolute(index, len(self))), module)

    def __delitem__(self, index):
        modules = list(self._modules.values())
        del modules[index]
        self._modules = OrderedDict(zip(map(str, range(len(modules))), modules, strict=True))

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def append(self, module):
        """Add a module at the end; returns itself."""
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        """Add several modules at the end; returns itself."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}"
            )
        for module in modules:
            self.append(module)
        return self

    def insert(self, index, module):
        """Add a module before position `index`."""
        modules = list(self)
        modules.insert(index, module)
        self._modules = OrderedDict()
        self.extend(modules)

    def pop(self, key):
        """Take out and return the module at a position."""
        module = self[key]
        del self[key]
        return module

    def __repr__(self):
        """Like every module, but equal neighbors are shown as one line with a count."""
        shown = [repr(module) for module in self]
        if not shown:
            return self._get_name() + "()"
        runs = []
        for i, text in enumerate(shown):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = []
        for first, last, text in runs:
            line = f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            lines.append(indent(line))
        return self._get_name() + "(\n  " + "\n  ".join(lines) + "\n)"


class ModuleDict(Module):
    """A dict whose modules are registered (torch.nn.ModuleDict)."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        """Take out everything."""
        self._modules.clear()

    def pop(self, key):
        """Take out and return the module under `key`."""
        return self._modules.pop(key)

    def keys(self):
        """The keys."""
        return self._modules.keys()

    def items(self):
        """(key, module) pairs."""
        return self._modules.items()

    def values(self):
        """The modules."""
        return self._modules.values()

    def update(self, modules):
        """Add modules from a mapping or from pairs."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        if isinstance(modules, (Mapping, ModuleDict)):
            for key, module in modules.items():
                self[key] = module
            return
        for j, pair in enumerate(modules):
            if not isinstance(pair, Iterable):
                raise TypeError(
                    f"ModuleDict update sequence element #{j} should be Iterable; is{type(pair).__name__}"
                )
            if len(pair) != 2:
                raise ValueError(
                    f"ModuleDict update sequence element #{j} has length {len(pair)}; 2 is required"
                )
            self[pair[0]] = pair[1]


def _as_parameter(value):
    return Parameter(value) if isinstance(value, Tensor) and not isinstance(value, Parameter) else value


class ParameterList(Module):
    """A list whose tensors become registered Parameters (torch.nn.ParameterList)."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([self[i] for i in range(*index.indices(len(self)))])
        return getattr(self, str(_absolute(index, len(self))))

    def __setitem__(self, index, value):
        setattr(self, str(_absolute(index, len(self))), _as_parameter(value))

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Add a value at the end; returns itself."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Add several values at the end; returns itself."""
        if not isinstance(values, Iterable) or isinstance(values, Tensor):
            raise TypeError(
                f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}"
            )
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(
            f"  ({i}): Parameter containing: [{p.dtype} of size {_by_x(p)}]"
            if isinstance(p, Tensor)
            else f"  ({i}): Object of type: {type(p).__name__}"
            for i, p in enumerate(self)
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


def _by_x(p):
    return "x".join(map(str, p.shape))


class ParameterDict(Module):
    """A dict whose tensors become registered Parameters (torch.nn.ParameterDict)."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        return getattr(self, str(key))

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError("ParameterDict keys need to be strings, got " + type(key).__name__)
        self._keys[key] = None
        setattr(self, key, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def clear(self):
        """Take out all values."""
        for key in list(self._keys):
            del self[key]

    def keys(self):
        """The keys."""
        return self._keys.keys()

    def values(self):
        """The values."""
        return (self[k] for k in self._keys)

    def items(self):
        """(key, value) pairs."""
        return ((k, self[k]) for k in self._keys)

    def get(self, key, default=None):
        """The value under `key`, or `default`."""
        return self[key] if key in self._keys else default

    def pop(self, key):
        """Take out and return the value under `key`."""
        value = self[key]
        del self[key]
        return value

    def update(self, parameters):
        """Add values from a mapping or from pairs."""
        pairs = parameters.items() if isinstance(parameters, (Mapping, ParameterDict)) else parameters
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs = sorted(pairs)  # PyTorch does not rely on the order of a dict
        for key, value in pairs:
            self[key] = value

    def __or__(self, other):
        return ParameterDict(OrderedDict([*self.items(), *other.items()]))

    def __ror__(self, other):
        return ParameterDict(OrderedDict([*other.items(), *self.items()]))

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(
            f"  ({k}): {'Parameter' if isinstance(p, Parameter) else 'Tensor'} containing: [{typename(p)} "
            f"of size {_by_x(p)}]"
            if isinstance(p, Tensor)
            else f"  ({k}): Object of type: {type(p).__name__}"
            for k, p in self.items()
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterDict should not be called.")


__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]
