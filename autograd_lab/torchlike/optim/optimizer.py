"""The base of all optimizers: groups of parameters with their settings, a state for each parameter, and `step`."""

import warnings
from collections import defaultdict
from copy import deepcopy
from functools import wraps
from itertools import chain
from operator import le

import numpy as np

from ..autograd.hooks import HookDict, add_hook
from ..autograd.memory import check_overlap
from ..autograd.modes import THREAD, WATCHERS, enable_grad, watcher
from ..autograd.variable import bump_version, wrap
from ..nn.module import clear_grad, typename
from ..ops.arithmetic import AddBackward0
from ..tensor import Tensor


class _RequiredParameter:
    """What older optimizers use as the default of a required setting."""

    def __repr__(self):
        return "<required parameter>"


required = _RequiredParameter()


class Optimizer:
    """Changes parameters by their gradients (torch.optim.Optimizer).

    params    tensors, (name, tensor) pairs, or dicts {"params": ..., "lr": ...} with their own settings
    defaults  the default settings of groups

    A subclass defines `update(group, p, x, g)`: change the array x of parameter p in place by its gradient g. With
    `differentiable` the step is recorded: x is then p itself and g its gradient, as Tensors, and the formula serves both.
    """

    def __init__(self, params, defaults):
        if defaults.get("fused") and defaults.get("differentiable"):
            raise RuntimeError("`fused` does not support `differentiable`")
        if defaults.get("fused") and defaults.get("foreach"):
            raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + typename(params)
            )
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self):
        self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks = HookDict(), HookDict()
        self._optimizer_state_dict_pre_hooks, self._optimizer_state_dict_post_hooks = HookDict(), HookDict()
        self._optimizer_load_state_dict_pre_hooks, self._optimizer_load_state_dict_post_hooks = (
            HookDict(),
            HookDict(),
        )

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])

    def add_param_group(self, param_group):
        """Add parameters, optionally with their own settings; missing settings get the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, Tensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of "
                "tensors in sets will "
                "change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        params = param_group["params"]
        named = [isinstance(p, tuple) for p in params]
        if any(named) and not all(named):
            raise ValueError(
                "all optimizer params should be with/without names. Some param names are missing"
            )
        if any(named):
            param_group["param_names"] = [p[0] for p in params]
            params = param_group["params"] = [p[1] for p in params]
        for p in params:
            if not isinstance(p, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is " + typename(p)
                )
            if not (self.defaults.get("differentiable") or p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter {name}"
                )
            param_group.setdefault(name, default)
        if len(params) != len({id(p) for p in params}):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will "
                "cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        names = "param_names" in param_group
        if self.param_groups and names != ("param_names" in self.param_groups[0]):
            raise ValueError(
                "all optimizer param groups should be with/without names. cannot add param group "
                f"{'with' if names else 'without'} names to the optimizer"
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if not known.isdisjoint({id(p) for p in params}):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none=True):
        """Clear all gradients, or fill them with zeros."""
        if WATCHERS:
            with _in_profiles(self, "zero_grad"):
                self._clear(set_to_none)
        else:
            self._clear(set_to_none)

    def _clear(self, set_to_none):
        for group in self.param_groups:
            for p in group["params"]:
                meta = p._meta
                if meta is not None and meta.grad is not None:
                    if set_to_none:
                        meta.grad = None
                        if WATCHERS:
                            watcher().grad_set(p, "zero_grad")
                    else:
                        clear_grad(p, False)

    def step(self, closure=None):
        """Change every parameter that has a gradient, once. Returns what `closure` (run first, if given) returned."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        state = THREAD.state
        if WATCHERS:
            watcher().stepped(self)
        recorded = bool(self.defaults.get("differentiable"))
        recording, state.grad = state.grad, recorded
        try:
            if recorded:
                self._update_all_recorded()
            else:
                state.run(self._update_all)
        finally:
            state.grad = recording
        return loss

    def _update_all_recorded(self):
        for group in self.param_groups:
            self._check_capturable(group)
            if group.get("foreach"):
                raise AssertionError("_foreach ops don't support autograd")
            for p in group["params"]:
                if p.grad is not None:
                    self.update(group, p, p, -p.grad if group.get("maximize") else p.grad)

    def _update_all(self):
        watch = THREAD.state.watch
        for group in self.param_groups:
            self._check_capturable(group)
            group = numbers_of(group)
            for p in group["params"]:
                meta = p._meta
                grad = None if meta is None else meta.grad
                if grad is None:
                    continue
                x, g = p._data, grad._data
                if not isinstance(x, np.ndarray):
                    x = p._array()
                elif 0 in x.strides:
                    check_overlap(p, ())
                if watch is not None:
                    watch.writing(p)
                self.update(group, p, x, -g if group.get("maximize") else g)
                bump_version(p)
                if watch is not None:
                    watch.written(self.rule, (p, grad), p, None, type(self).__name__)

    def _check_capturable(self, group):
        """Raise PyTorch's AssertionError for such a step on the CPU."""
        if group.get("capturable") and any(p.grad is not None for p in group["params"]):
            raise AssertionError(
                f"If capturable=True, {self.captured} must be on supported devices: "
                "['cuda', 'xpu', 'hpu', 'privateuseone', 'xla']."
            )

    captured = "params and state_steps"  # what a CUDA graph would have to contain
    rule = AddBackward0  # the name of the write to the parameter in recordings

    def update(self, group, p, x, g):
        """One parameter's step: change its array `x` (or itself) in place by the gradient `g`."""
        raise NotImplementedError

    # -- state ----------------------------------------------------------------------------------------

    def state_dict(self):
        """{"state": {number of the parameter: its state}, "param_groups": [settings and numbers]}; shares the
        tensors.
        """
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        number = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                number.setdefault(id(p), len(number))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [number[id(p)] for p in group["params"]]
            groups.append(packed)
        packed_state = {(number[id(k)] if isinstance(k, Tensor) else k): v for k, v in self.state.items()}
        out = {"state": packed_state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, out)
            out = out if changed is None else changed
        return out

    def load_state_dict(self, state_dict):
        """Load the state and settings from another optimizer's state_dict()."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        groups, saved = self.param_groups, deepcopy(state_dict["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(g["params"]) != len(s["params"]) for g, s in zip(groups, saved, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )
        ours = dict(
            zip(
                chain.from_iterable(s["params"] for s in saved),
                chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )
        state = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in ours:
                state[ours[key]] = _cast(ours[key], value)
            else:
                state[key] = value
        for group, settings in zip(groups, saved, strict=True):
            settings["params"] = group["params"]
            for key, off in _NEWER.items():  # settings that older versions did not have
                if key in self.defaults:
                    settings.setdefault(key, off)
            if "param_names" in group:
                settings.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state):
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.__dict__.update(state)

    # -- hooks ----------------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook):
        """Call hook(optimizer, args, kwargs) before each step; a pair it returns replaces the arguments."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook):
        """Call hook(optimizer, args, kwargs) after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook, prepend=False):
        """Call hook(optimizer) before state_dict."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        """Call hook(optimizer, state_dict) after state_dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        """Call hook(optimizer, state_dict) before loading."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        """Call hook(optimizer) after loading."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self):
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            text += "".join(f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params")
        return text + ")"


_NEWER = dict.fromkeys(("amsgrad", "capturable", "differentiable", "maximize", "nesterov"), False) | {
    "foreach": None,
    "fused": None,
}
"""Settings that an older state_dict may lack, with their values."""


GLOBAL_STEP_PRE_HOOKS, GLOBAL_STEP_POST_HOOKS = HookDict(), HookDict()
"""Hooks of all optimizers."""


def register_optimizer_step_pre_hook(hook):
    """Call hook(optimizer, args, kwargs) before each step of every optimizer; a pair it returns replaces the arguments."""
    return add_hook(GLOBAL_STEP_PRE_HOOKS, hook)


def register_optimizer_step_post_hook(hook):
    """Call hook(optimizer, args, kwargs) after each step of every optimizer."""
    return add_hook(GLOBAL_STEP_POST_HOOKS, hook)


def _in_profiles(optimizer, method):
    """A context manager: what profiles list as one event."""
    from ..autograd.profiler import record_function

    name = type(optimizer).__name__
    return record_function(f"Optimizer.{method}#{name}.{method}")


def _with_hooks(step):
    """`step` with the user's hooks around it, as one event of profiles."""

    @wraps(step)
    def call(self, *args, **kwargs):
        if not WATCHERS:
            return hooked(self, *args, **kwargs)
        with _in_profiles(self, "step"):
            return hooked(self, *args, **kwargs)

    def hooked(self, *args, **kwargs):
        before = self.__dict__.get("_optimizer_step_pre_hooks")
        if before is None:  # a wrapper of another optimizer that has not called __init__
            return step(self, *args, **kwargs)
        after = self._optimizer_step_post_hooks
        if not (before or after or GLOBAL_STEP_PRE_HOOKS or GLOBAL_STEP_POST_HOOKS):
            return step(self, *args, **kwargs)
        args = (self, *args)
        for hook in [*GLOBAL_STEP_PRE_HOOKS.values(), *before.values()]:
            changed = hook(self, args, kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{_shown(step, self)} must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                args, kwargs = changed
        out = step(*args, **kwargs)
        for hook in [*after.values(), *GLOBAL_STEP_POST_HOOKS.values()]:
            hook(self, args, kwargs)
        return out

    return call


Optimizer.step = _with_hooks(Optimizer.step)


def _cast(param, value, key=None):
    """A loaded state for `param`: floating tensors converted to its type (except `step`), everything else unchanged."""
    if isinstance(value, Tensor):
        return value if key == "step" or not param.is_floating_point() else value.to(param.dtype)
    if key == "step" and isinstance(value, (int, float)):  # as older versions stored it
        return counter(value)
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(param, v) for v in value)
    return value


def zeros_for(p):
    """A state tensor of zeros in the shape and type of `p`."""
    return wrap(np.zeros_like(p._array()))


def counter(value=0.0):
    """A state tensor that counts steps."""
    return wrap(np.float32(value))


def count(step):
    """Add one to a step counter; returns the new count as a Python number."""
    step._data = step._data + np.float32(1)
    bump_version(step)
    return float(step._data)


def scalar(value):
    """A setting that may be a one-element tensor, or a pair of them, as numbers; anything else unchanged."""
    if isinstance(value, Tensor):
        return value.item() if value.numel() == 1 else value
    return tuple([scalar(v) for v in value]) if type(value) is tuple else value


def numbers_of(group):
    """The settings of a group, with numbers for one-element tensors."""
    return {name: scalar(value) for name, value in group.items()}


def chosen(names, arguments):
    """{name: value} of an optimizer's settings: `names` in PyTorch's order, `arguments` are the locals() of its __init__."""
    return {name: arguments[name] for name in names.split()}


def _shown(step, optimizer):
    """The repr of the method `step`; PyTorch's optimizers have one each, ours share that of Optimizer."""
    if step.__qualname__ != "Optimizer.step":
        return repr(step)
    return f"<function {type(optimizer).__name__}.step at {hex(id(step))}>"


def check_rate(lr):
    """Raise PyTorch's ValueError for an invalid learning rate."""
    if isinstance(lr, Tensor):
        require(lr.numel() == 1, "Tensor lr must be 1-element")
    require(
        le(0.0, lr), f"Invalid learning rate: {lr}"
    )  # in this order, Python's errors for non-numbers are the same as in PyTorch


def require(valid, message):
    """Raise ValueError with `message` unless `valid`."""
    if not valid:
        raise ValueError(message)


__all__ = [
    "Optimizer",
    "check_rate",
    "chosen",
    "count",
    "counter",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "require",
    "scalar",
    "zeros_for",
]
