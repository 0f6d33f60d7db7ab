"""torch.func, as far as it is here: `functional_call` runs a module with other tensors in place of its own."""

import contextlib


@contextlib.contextmanager
def _exchanged(module, tensors, tie_weights):
    """Put tensors in place of the module's parameters and buffers, by name; afterwards its own are back."""
    places, own = {}, {}
    for prefix, m in module.named_modules(remove_duplicate=False):
        for table in (m._parameters, m._buffers):
            for name, t in table.items():
                if t is not None:
                    full = f"{prefix}.{name}" if prefix else name
                    places[full] = table, name
                    own.setdefault(id(t), []).append(full)
    unknown = [name for name in tensors if name not in places]
    if unknown:
        raise KeyError(f"the module has no parameter or buffer named {unknown[0]!r}")
    new = {}
    for name, t in tensors.items():
        table, key = places[name]
        for other in own[id(table[key])] if tie_weights else [name]:
            new.setdefault(other, t)
    new.update(tensors)
    kept = [(places[name], places[name][0][places[name][1]]) for name in new]
    try:
        for name, t in new.items():
            table, key = places[name]
            table[key] = t
        yield
    finally:
        for (table, key), t in kept:
            table[key] = t


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """module(*args, **kwargs) with the tensors of a dict (or several) in place of its parameters and buffers of these names.

    Gradients reach the tensors that were given. tie_weights: tensors that the module shares between names stay shared.
    Raises KeyError for a name that the module does not have, RuntimeError (strict=True) for one that is missing.
    """
    dicts = parameter_and_buffer_dicts
    tensors = {}
    for d in [dicts] if isinstance(dicts, dict) else dicts:
        for name, t in d.items():
            if name in tensors:
                raise ValueError(f"{name} appears in more than one dictionary")
            tensors[name] = t
    if strict:
        owned = {n for n, _ in module.named_parameters()} | {n for n, _ in module.named_buffers()}
        if missing := sorted(owned - tensors.keys()):
            raise RuntimeError(f"Error(s) in strict functional_call: missing keys {missing}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _exchanged(module, tensors, tie_weights):
        return module(*args, **(kwargs or {}))


def __getattr__(name):
    if name in ("grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"):
        raise AttributeError(
            f"module 'autograd_lab.func' has no attribute '{name}': the transforms are not here; torch.autograd.functional has "
            "vjp, jvp, jacobian and hessian, and a loop does what vmap does"
        )
    raise AttributeError(f"module 'autograd_lab.func' has no attribute '{name}'")


__all__ = ["functional_call"]
