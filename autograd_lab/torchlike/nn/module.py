"""Module: a tree of layers that knows its parameters."""

import itertools
import sys
import warnings
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from contextlib import suppress

from ..autograd import no_grad
from ..autograd.hooks import HookDict, add_hook
from ..autograd.modes import THREAD, WATCHERS
from ..autograd.variable import Registry
from ..tensor import Tensor
from .hooks import BackwardHook, warn_partial_hook
from .parameter import Buffer, Parameter, is_lazy

_EXTRA_STATE_KEY_SUFFIX = "_extra_state"

GLOBAL_PRE_HOOKS, GLOBAL_HOOKS, GLOBAL_BACKWARD_PRE_HOOKS, GLOBAL_BACKWARD_HOOKS = (
    HookDict() for _ in range(4)
)
"""Hooks of all modules (torch.nn.modules.module.register_module_forward_hook and similar functions)."""

GLOBAL_WITH_KWARGS, GLOBAL_ALWAYS_CALLED = set(), set()
"""The ids of those GLOBAL_HOOKS that also take keyword arguments, and of those that are called even after an error."""

REGISTRATION_HOOKS = {kind: HookDict() for kind in ("parameter", "buffer", "module")}
"""Hooks that see what is registered in any module, and may replace it."""


class _GlobalKind:
    """The kind of global backward hooks: full ones, or those of the last node (None: none was registered yet)."""

    full = None


def _seen(kind, module, name, part):
    """What to register: `part`, unless a hook returns a replacement."""
    for hook in list(REGISTRATION_HOOKS[kind].values()):
        changed = hook(module, name, part)
        if changed is not None:
            part = changed
    return part


class _Older:
    """A hook with the older signature."""

    def __init__(self, hook):
        self.hook = hook

    def __call__(self, *args):
        return self.hook(*args)


class _Replacing(_Older):
    """A hook after state_dict that may return a replacement."""


class _WithoutModule(_Older):
    """A hook before loading that is not passed the module."""

    def __call__(self, module, *args):
        return self.hook(*args)


def _load(module, own, prefix, metadata, assign, found):
    """Load a state into a module and its descendants. `found` are the lists of missing keys, unexpected keys and errors."""
    local = {} if metadata is None else metadata.get(prefix[:-1], {})
    if assign:
        local["assign_to_params_buffers"] = True
    module._load_from_state_dict(own, prefix, local, True, *found)
    for name, child in module._modules.items():
        if child is not None:
            below = prefix + name + "."
            _load(
                child, {k: v for k, v in own.items() if k.startswith(below)}, below, metadata, assign, found
            )
    keys = _IncompatibleKeys(*found[:2])
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new "
                "values, if incompatible_keys need to be modified, it should be done inplace."
            )


class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


def typename(value):
    """The name of a type in PyTorch's messages (torch.typename)."""
    if isinstance(value, Tensor):
        return value.type()
    cls = value if isinstance(value, type) else type(value)
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def parse_to(*args, **kwargs):
    """(device, dtype, non_blocking, memory_format) from the arguments of `to` (torch._C._nn._parse_to)."""
    from ..dtypes import dtype as dtype_type
    from ..dtypes import to_dtype
    from ..interface.forms import type_name
    from ..world.device import device

    where, dtype, rest = kwargs.get("device"), kwargs.get("dtype"), list(args)
    waits_not = kwargs.get("non_blocking", False)
    if rest and isinstance(rest[0], Tensor):
        where, dtype = device("cpu"), rest.pop(0).dtype
    else:
        named = isinstance(rest[0], (str, int, device)) and not isinstance(rest[0], bool) if rest else False
        if rest and (rest[0] is None or named):
            where = rest.pop(0)
        if rest and (rest[0] is None or isinstance(rest[0], dtype_type) or rest[0] in (float, int, bool)):
            dtype = rest.pop(0)
    copy = kwargs.get("copy", False)
    if dtype is not None:
        dtype = to_dtype(dtype)
        if rest and isinstance(rest[0], bool):
            waits_not = rest.pop(0)
        if rest and isinstance(rest[0], bool):
            copy = rest.pop(0)
    if rest:
        got = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()])
        end = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None)\n"
        raise TypeError(
            f"to() received an invalid combination of arguments - got ({got}), but expected one of:\n"
            f" * (torch.device device = None, torch.dtype dtype = None, {end} * (torch.dtype dtype, {end} * (Tensor tensor, "
            f"{end}"
        )
    if copy:
        raise RuntimeError(".to() does not accept copy argument")
    return None if where is None else device(where), dtype, waits_not, kwargs.get("memory_format")


class Module:
    """A layer, or a network of layers: Parameters, buffers and Modules are registered when assigned to attributes.

    A subclass calls `super().__init__()`, assigns its parts and defines `forward`; calling the module runs
    its hooks and `forward`. (torch.nn.Module)
    """

    _version = 1
    training: bool
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init:
            if kwargs:
                raise TypeError(
                    f"{type(self).__name__}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'"
                )
            if args:
                raise TypeError(
                    f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
                )
        self.__dict__.update(
            training=True,
            _parameters={},
            _buffers={},
            _non_persistent_buffers_set=set(),
            _modules={},
            _backward_pre_hooks=HookDict(),
            _backward_hooks=HookDict(),
            _is_full_backward_hook=None,
            _forward_hooks=HookDict(),
            _forward_hooks_with_kwargs=set(),
            _forward_hooks_always_called=set(),
            _forward_pre_hooks=HookDict(),
            _forward_pre_hooks_with_kwargs=set(),
            _state_dict_hooks=HookDict(),
            _state_dict_pre_hooks=HookDict(),
            _load_state_dict_pre_hooks=HookDict(),
            _load_state_dict_post_hooks=HookDict(),
        )
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- calling --------------------------------------------------------------------------------------

    def forward(self, *input):
        """What the module computes; every subclass defines it."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args, **kwargs):
        if not (
            self._backward_hooks
            or self._backward_pre_hooks
            or self._forward_hooks
            or self._forward_pre_hooks
            or GLOBAL_HOOKS
            or GLOBAL_PRE_HOOKS
            or GLOBAL_BACKWARD_HOOKS
            or GLOBAL_BACKWARD_PRE_HOOKS
            or WATCHERS
        ):
            return self.forward(*args, **kwargs)
        watch = THREAD.state.watch
        if watch is None:
            return self._call_with_hooks(args, kwargs)
        watch.entered(self)
        try:
            return self._call_with_hooks(args, kwargs)
        except Exception as error:
            watch.refused(type(self).__name__, (*args, *kwargs.values()), error, sys._getframe())
            raise
        finally:
            watch.left()

    def compile(self, **options):
        """Compile this module in place: its calls run compiled code from now on; `options` are those of torch.compile.

        (torch.nn.Module.compile) `torch.compile(module)` instead makes a second module and leaves this one unchanged.
        """
        self.__dict__["forward"] = Registry.compile(self.forward, **options)

    def _call_with_hooks(self, args, kwargs):
        called = set()
        result = None
        try:
            args, kwargs = self._run_pre_hooks(args, kwargs)
            full, partial = [], []
            (full if _GlobalKind.full is not False else partial).extend(GLOBAL_BACKWARD_HOOKS.values())
            (full if self._is_full_backward_hook is not False else partial).extend(
                self._backward_hooks.values()
            )
            before = [*GLOBAL_BACKWARD_PRE_HOOKS.values(), *self._backward_pre_hooks.values()]
            watcher = BackwardHook(self, full, before) if full or before else None
            if watcher is not None:
                args = watcher.watch_inputs(args)
            result = self.forward(*args, **kwargs)
            for key, hook in (*GLOBAL_HOOKS.items(), *self._forward_hooks.items()):
                called.add(key)
                changed = self._run_hook(key, hook, args, kwargs, result)
                if changed is not None:
                    result = changed
            if watcher is not None:
                result = watcher.watch_outputs(result)
            if partial:
                warn_partial_hook(self, partial, args, result)
            return result
        except Exception:
            for kind, hooks, always in (
                ("global module", GLOBAL_HOOKS, GLOBAL_ALWAYS_CALLED),
                ("module", self._forward_hooks, self._forward_hooks_always_called),
            ):
                for key, hook in hooks.items():
                    if key in always and key not in called:
                        self._run_after_failure(kind, key, hook, args, kwargs, result)
            raise

    def _run_after_failure(self, kind, key, hook, args, kwargs, result):
        try:
            self._run_hook(key, hook, args, kwargs, result)
        except Exception as error:
            warnings.warn(
                f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced as another error was "
                f"raised in forward: {error}",
                stacklevel=4,
            )

    def _run_pre_hooks(self, args, kwargs):
        for key, hook in (*GLOBAL_PRE_HOOKS.items(), *self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                changed = hook(self, args, kwargs)
                if changed is not None:
                    if not (isinstance(changed, tuple) and len(changed) == 2):
                        raise RuntimeError(
                            "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                            f"got {changed}."
                        )
                    args, kwargs = changed
            else:
                changed = hook(self, args)
                if changed is not None:
                    args = changed if isinstance(changed, tuple) else (changed,)
        return args, kwargs

    def _run_hook(self, key, hook, args, kwargs, result):
        if key in self._forward_hooks_with_kwargs or key in GLOBAL_WITH_KWARGS:
            return hook(self, args, kwargs, result)
        return hook(self, args, result)

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Call hook(module, args) before forward; what it returns, if not None, replaces the arguments."""
        return add_hook(
            self._forward_pre_hooks, hook, prepend, [self._forward_pre_hooks_with_kwargs] * with_kwargs
        )

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Call hook(module, args, output) after forward; what it returns, if not None, replaces the output."""
        flags = [self._forward_hooks_with_kwargs] * with_kwargs + [
            self._forward_hooks_always_called
        ] * always_call
        return add_hook(self._forward_hooks, hook, prepend, flags)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Call hook(module, grad_output) before the gradients of the module are computed."""
        return add_hook(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook, prepend=False):
        """Call hook(module, grad_input, grad_output) when the gradients of the module's inputs are known."""
        self._one_kind(True)
        return add_hook(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook):
        """The deprecated form, which sees only the last node of the module."""
        self._one_kind(False)
        return add_hook(self._backward_hooks, hook)

    def _one_kind(self, full):
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
                "use only one of "
                "them."
            )
        self._is_full_backward_hook = full

    # -- parts ----------------------------------------------------------------------------------------

    def _check_name(self, kind, name, table, dotted='can\'t contain "."'):
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {typename(name)}")
        if kind == "module" and hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")
        if "." in name:
            raise KeyError(f"{kind} name {dotted}")
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_parameter(self, name, param):
        """Add a Parameter (or None) under `name`."""
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or "
                "None required)"
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created "
                "explicitly. To "
                f"express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = param if param is None else _seen("parameter", self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """Add a Tensor (or None) that is part of the state but not trained; `persistent`: and of state_dict."""
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = _seen("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """Add a child module (or None) under `name`."""
        if not isinstance(module, Module) and module is not None:
            raise TypeError(f"{typename(module)} is not a Module subclass")
        self._check_name("module", name, self._modules, f'can\'t contain ".", got: {name}')
        self._modules[name] = _seen("module", self, name, module)

    register_module = add_module

    def __getattr__(self, name):
        parts = self.__dict__
        for table in ("_parameters", "_buffers", "_modules"):
            found = parts.get(table)
            if found is not None and name in found:
                return found[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        parts = self.__dict__
        if isinstance(value, Parameter):
            if "_parameters" not in parts:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_buffers", "_modules")
            self.register_parameter(name, value)
        elif name in parts.get("_parameters", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if "_modules" not in parts:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_parameters", "_buffers")
            self._modules[name] = _seen("module", self, name, value)
        elif name in parts.get("_modules", ()):
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = _seen("module", self, name, value)
        elif isinstance(value, Buffer) or name in parts.get("_buffers", ()):
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor "
                    "or None expected)"
                )
            if isinstance(value, Buffer):
                persistent = value.persistent
            else:
                persistent = name not in self._non_persistent_buffers_set
            self.register_buffer(name, value, persistent)
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name, *tables):
        """Make room for a part: drop the plain attribute and the entries of other kinds that `name` now hides."""
        self.__dict__.pop(name, None)
        for table in tables:
            self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name):
        for table in (self._parameters, self._buffers, self._modules):
            if name in table:
                del table[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self):
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in names if not name[0].isdigit())

    # -- looking around -------------------------------------------------------------------------------

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(path, module) for this module and all below it."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(
                    memo, prefix + ("." if prefix else "") + name, remove_duplicate
                )

    def modules(self, remove_duplicate=True):
        """The module itself and all below it."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self):
        """(name, module) for the direct children."""
        memo = set()
        for name, module in self._modules.items():
            if module is not None and module not in memo:
                memo.add(module)
                yield name, module

    def children(self):
        """The direct children."""
        for _, module in self.named_children():
            yield module

    def _named_members(self, members, prefix="", recurse=True, remove_duplicate=True):
        memo = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in members(module):
                if value is None or value in memo:
                    continue
                if remove_duplicate:
                    memo.add(value)
                yield path + ("." if path else "") + name, value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(path, parameter) for the parameters of this module and (`recurse`) of all below it, each once."""
        yield from self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        """The parameters, for example for an optimizer."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(path, buffer) for the buffers."""
        yield from self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        """The buffers."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def get_submodule(self, target):
        """The module at a dotted path. Raises AttributeError if there is none."""
        module = self
        for item in target.split(".") if target else ():
            if not hasattr(module, item):
                raise AttributeError(f"{module._get_name()} has no attribute `{item}`")
            module = getattr(module, item)
            if not isinstance(module, Module):
                raise AttributeError(f"`{item}` is not an nn.Module")
        return module

    def set_submodule(self, target, module, strict=False):
        """Put `module` at a dotted path; `strict`: only where one is already."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        return module, name, getattr(module, name)

    def get_parameter(self, target):
        """The parameter at a dotted path. Raises AttributeError if there is none."""
        _, name, param = self._get_member(target)
        if not isinstance(param, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return param

    def get_buffer(self, target):
        """The buffer at a dotted path. Raises AttributeError if there is none."""
        module, name, buffer = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return buffer

    # -- changing all of it ---------------------------------------------------------------------------

    def apply(self, fn):
        """Call fn(module) for every module below this one, then for itself; returns itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        """Replace the numbers of every parameter, its gradient and every buffer by fn(tensor)."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for param in self._parameters.values():
            if param is None:
                continue
            with no_grad():
                grad = param.grad
                param.data = fn(param)
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def to(self, *args, **kwargs):
        """Convert parameters and floating buffers to a dtype, or to the dtype of a tensor; the device can
        only be the CPU.
        """
        from ..world.device import on_cpu

        where, dtype, _, order = parse_to(*args, **kwargs)
        on_cpu(where)
        if dtype is not None and not dtype.is_floating_point:
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        done = self if dtype is None else self._convert(dtype)
        if order is not None:
            self._apply(lambda t: t.contiguous(memory_format=order) if t.dim() == order.rank else t)
        return done

    def share_memory(self):
        """The module itself: its memory belongs to one process (torch.nn.Module.share_memory)."""
        for t in (*self.parameters(), *self.buffers()):
            t.share_memory_()
        return self

    def _convert(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        """Convert to float32."""
        from ..dtypes import float32

        return self._convert(float32)

    def double(self):
        """Convert to float64."""
        from ..dtypes import float64

        return self._convert(float64)

    def half(self):
        """Convert to float16."""
        from ..dtypes import float16

        return self._convert(float16)

    def type(self, dst_type):
        """Convert to the given dtype."""
        return self._apply(lambda t: t.to(dst_type))

    def cpu(self):
        """Does nothing: everything is on the CPU."""
        return self

    def cuda(self, device=None):
        """Raises an error, unless the module has no tensors: there is nothing but the CPU."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """Raises AssertionError: there is nothing but the CPU."""
        raise AssertionError("Torch not compiled with XPU enabled")

    def to_empty(self, *, device, recurse=True):
        """Give parameters and buffers new, uninitialized memory."""
        from ..creation import empty_like

        return self._apply(lambda t: empty_like(t, device=device), recurse)

    def train(self, mode=True):
        """Switch this module and all below it to training (or evaluation) behavior."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        """Switch to evaluation behavior: dropout off, batch norm by its running statistics."""
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Set the flag on every parameter: freeze or unfreeze."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """Forget the gradients of all parameters, or fill them with zeros."""
        for param in self.parameters():
            clear_grad(param, set_to_none)

    # -- state ----------------------------------------------------------------------------------------

    def get_extra_state(self):
        """Further state for state_dict; define it together with set_extra_state."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state):
        """Restore what get_extra_state returned."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, param in self._parameters.items():
            if param is not None:
                destination[prefix + name] = param if keep_vars else param.detach()
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = buffer if keep_vars else buffer.detach()
        if type(self).get_extra_state is not Module.get_extra_state:
            destination[prefix + _EXTRA_STATE_KEY_SUFFIX] = self.get_extra_state()

    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """{path: tensor} of all parameters and persistent buffers, sharing memory with the module."""
        if args:
            destination, prefix, keep_vars = (*args, *(destination, prefix, keep_vars)[len(args) :])
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=prefix + name + ".", keep_vars=keep_vars)
        for hook in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, metadata)
            if result is not None and not isinstance(hook, _Replacing):
                raise RuntimeError("state_dict post-hook must return None")
            destination = destination if result is None else result
        return destination

    def register_state_dict_pre_hook(self, hook):
        """Call hook(module, prefix, keep_vars) before state_dict."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Call hook(module, state_dict, prefix, local_metadata) after state_dict."""
        with suppress(AttributeError):  # methods cannot have attributes
            hook._from_public_api = True
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook):
        """The older form: what the hook returns, if not None, takes the place of the state_dict.

        Raises RuntimeError for a function registered with register_state_dict_post_hook.
        """
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was previously registered via "
                "register_state_dict_post_hook"
            )
        return add_hook(self._state_dict_hooks, _Replacing(hook))

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        """The older form: unless `with_module`, the hook does not get the module."""
        return add_hook(self._load_state_dict_pre_hooks, hook if with_module else _WithoutModule(hook))

    def register_load_state_dict_pre_hook(self, hook):
        """Call hook(module, state_dict, prefix, metadata, strict, missing, unexpected, errors) before loading."""
        return add_hook(self._load_state_dict_pre_hooks, hook)

    def register_load_state_dict_post_hook(self, hook):
        """Call hook(module, incompatible_keys) after loading."""
        return add_hook(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Load this module's own entries, collecting missing keys, unexpected keys and errors."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        persistent = ((k, v) for k, v in self._buffers.items() if k not in self._non_persistent_buffers_set)
        local = {k: v for k, v in itertools.chain(self._parameters.items(), persistent) if v is not None}
        for name, param in local.items():
            key = prefix + name
            if key in state_dict:
                error = self._load_one(
                    name, param, key, state_dict[key], local_metadata.get("assign_to_params_buffers")
                )
                if error is not None:
                    error_msgs.append(error)
            elif strict:
                missing_keys.append(key)
        extra = prefix + _EXTRA_STATE_KEY_SUFFIX
        if type(self).set_extra_state is not Module.set_extra_state:
            if extra in state_dict:
                self.set_extra_state(state_dict[extra])
            elif strict:
                missing_keys.append(extra)
        elif strict and extra in state_dict:
            unexpected_keys.append(extra)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else local):
                        unexpected_keys.append(key)

    def _load_one(self, name, param, key, value, assign):
        if not isinstance(value, Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                "checkpoint "
                f"but received {type(value)}"
            )
        if is_lazy(param) and is_lazy(value):
            return None
        if param._data.shape == () and value.shape == (1,):
            value = value[0]
        if value.shape != param.shape:
            return (
                f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, the "
                "shape in current "
                f"model is {param.shape}."
            )
        try:
            with no_grad():
                if not assign:
                    param.copy_(value)
                    return None
                if isinstance(param, Parameter):
                    if isinstance(value, Parameter):
                        value.requires_grad_(param.requires_grad)
                    else:
                        value = Parameter(value, requires_grad=param.requires_grad)
                setattr(self, name, value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {param.shape} and whose '
                f"dimensions in the checkpoint are {value.shape}, an exception occurred : {error.args}."
            )
        return None

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copy the values of a state_dict into this module; `strict`: its keys must be exactly ours.

        Returns (missing_keys, unexpected_keys). Raises RuntimeError listing everything that does not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        missing, unexpected, errors = [], [], []
        metadata = getattr(state_dict, "_metadata", None)
        state_dict = OrderedDict(state_dict)
        if metadata is not None:
            state_dict._metadata = metadata

        _load(self, state_dict, "", metadata, assign, (missing, unexpected, errors))
        if strict:
            for kind, keys in (("Unexpected", unexpected), ("Missing", missing)):
                if keys:
                    errors.insert(
                        0, "{} key(s) in state_dict: {}. ".format(kind, ", ".join(f'"{k}"' for k in keys))
                    )
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(
                    type(self).__name__, "\n\t".join(errors)
                )
            )
        return _IncompatibleKeys(missing, unexpected)

    def __setstate__(self, state):
        Module.__init__(self)
        self.__dict__.update(state)

    # -- printing -------------------------------------------------------------------------------------

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """The settings shown between the parentheses."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + indent(repr(module)) for name, module in self._modules.items()]
        if len(lines) == 1 and not children:
            return f"{self._get_name()}({lines[0]})"
        body = "\n  ".join(lines + children)
        return f"{self._get_name()}(" + (f"\n  {body}\n" if body else "") + ")"


def indent(text, spaces=2):
    """`text` with every line but the first indented."""
    return text.replace("\n", "\n" + " " * spaces)


def clear_grad(param, set_to_none):
    """Set the gradient of `param` to None, or zero it in place and detach it."""
    meta = param._meta
    if meta is None or meta.grad is None:
        return
    state = THREAD.state
    watch, state.watch = state.watch, None  # watchers are told of one event, not of the steps
    try:
        if set_to_none:
            meta.grad = None
        else:
            grad = meta.grad
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()
    finally:
        state.watch = watch
    if watch is not None:
        watch.grad_set(param, "zero_grad")


def begin_anew():
    """Remove the hooks of all modules: another program begins in this process."""
    for hooks in (GLOBAL_PRE_HOOKS, GLOBAL_HOOKS, GLOBAL_BACKWARD_PRE_HOOKS, GLOBAL_BACKWARD_HOOKS):
        hooks.clear()
    for hooks in (*REGISTRATION_HOOKS.values(), GLOBAL_WITH_KWARGS, GLOBAL_ALWAYS_CALLED):
        hooks.clear()


def register_module_forward_pre_hook(hook):
    """Call hook(module, args) before the forward of every module."""
    return add_hook(GLOBAL_PRE_HOOKS, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Call hook(module, args, output) after the forward of every module."""
    flags = [GLOBAL_WITH_KWARGS] * with_kwargs + [GLOBAL_ALWAYS_CALLED] * always_call
    return add_hook(GLOBAL_HOOKS, hook, flags=flags)


def register_module_full_backward_pre_hook(hook):
    """Call hook(module, grad_output) before the gradients of every module."""
    return add_hook(GLOBAL_BACKWARD_PRE_HOOKS, hook)


def register_module_full_backward_hook(hook):
    """Call hook(module, grad_input, grad_output) after the gradients of every module."""
    return _register_global(hook, True)


def register_module_backward_hook(hook):
    """The deprecated form, which sees only the last node of each module."""
    return _register_global(hook, False)


def _register_global(hook, full):
    if _GlobalKind.full is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of "
            "them."
        )
    _GlobalKind.full = full
    return add_hook(GLOBAL_BACKWARD_HOOKS, hook)


def register_module_parameter_registration_hook(hook):
    """Call hook(module, name, parameter) when a parameter is registered; what it returns, if not None, takes its place."""
    return add_hook(REGISTRATION_HOOKS["parameter"], hook)


def register_module_buffer_registration_hook(hook):
    """Call hook(module, name, buffer) when a buffer is registered; what it returns, if not None, takes its place."""
    return add_hook(REGISTRATION_HOOKS["buffer"], hook)


def register_module_module_registration_hook(hook):
    """Call hook(module, name, submodule) when a module is registered in another; what it returns, if not None, takes its place."""
    return add_hook(REGISTRATION_HOOKS["module"], hook)


__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
