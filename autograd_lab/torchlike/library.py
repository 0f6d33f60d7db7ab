"""Operations of one's own under a name: `custom_op` and what is registered for it (torch.library).

    @torch.library.custom_op("mine::cube", mutates_args=())
    def cube(x: Tensor) -> Tensor:
        return x.clone() ** 3

    cube.register_autograd(lambda ctx, g: 3 * ctx.x**2 * g, setup_context=keep_x)

Autograd does not look into such a function. With a formula it is a custom Function (autograd/function.py), without one its
results refuse to be differentiated. Compilers need more (schemas, results without numbers); that is taken and not looked at.
"""

import inspect

from .autograd.batch import RefusedError, batches_of
from .autograd.function import Function
from .autograd.graph import increment_version
from .autograd.modes import THREAD, no_grad, watcher
from .autograd.variable import Variable
from .creation import follow
from .world.missing import finder

NAMESPACES = {}
"""What torch.ops has beside autograd_lab's own pages: the operations by namespace."""

_ALIAS = (
    "The output of this custom operator (1) must not also be an input to this custom operator and (2) may not alias any inputs to "
    "this custom operator or other returns. Return a copy instead: x.clone()"
)


class CustomOpDef:
    """An operation named `namespace::name`, called like its function (torch.library.custom_op makes them)."""

    def __init__(self, namespace, name, fn, mutates_args):
        self._namespace, self._name, self._init_fn, self._kernel = namespace, name, fn, fn
        self._signature = inspect.signature(fn)
        self._mutates = self._signature.parameters if mutates_args == "unknown" else mutates_args
        self._backward = self._setup_context = self._fake = None
        title = f"GeneratedBackwardFor_{namespace}_{name}_default"
        self._function = type(title, (_Formula,), {"op": self})

    def __repr__(self):
        return f"<CustomOpDef({self._namespace}::{self._name})>"

    @property
    def default(self):
        """The one form of the operation: itself."""
        return self

    def __call__(self, *args, **kwargs):
        """What the function gives for these arguments. Raises RuntimeError if it does not take them, or gives back one of them."""
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise RuntimeError(f"{self._namespace}::{self._name}() {error}") from None
        bound.apply_defaults()
        if self._mutates:
            if batches_of(bound.args):
                raise RefusedError(
                    f"Batching rule not implemented for {self._namespace}::{self._name}; the fallback path doesn't work on out= or "
                    "view ops."
                )
            with no_grad():
                result = self._kernel(*bound.args, **bound.kwargs)
            increment_version([t for t in map(bound.arguments.get, self._mutates) if isinstance(t, Variable)])
            return result
        if THREAD.state.grad and any(isinstance(t, Variable) and t.requires_grad for t in bound.args):
            return self._function.apply(*bound.args, bound.kwargs)
        return self._computed(bound.args, bound.kwargs)

    def _computed(self, args, kwargs):
        batch = watcher().batch
        kernel = self._kernel if batch is None else batch.at_rest(self._kernel)  # as PyTorch: entry by entry
        with no_grad():
            result = kernel(*args, **kwargs)
        given = {id(t._data) for t in args if isinstance(t, Variable)}
        for t in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(t, Variable) and (id(t._data) in given or t._is_view()):
                raise RuntimeError(
                    f"{self._name} (with implementation in {self._init_fn.__module__}): {_ALIAS}"
                )
            follow(t, *args)
        return result

    def register_autograd(self, backward, /, *, setup_context=None):
        """Give it a derivative: backward(ctx, *grads) with one gradient per argument, setup_context(ctx, inputs, output)."""
        self._backward, self._setup_context = backward, setup_context

    def register_kernel(self, device_types, fn=None, /):
        """Compute it by `fn` on the devices named; also a decorator. Devices besides the CPU are not here."""
        if fn is None:
            return lambda fn: self.register_kernel(device_types, fn)
        if device_types is None or "cpu" in (
            [device_types] if isinstance(device_types, str) else device_types
        ):
            self._kernel = fn
        return fn

    def register_fake(self, fn, /):
        """Keep what tells compilers the shapes of results; nothing here asks for it."""
        self._fake = fn
        return fn


class _Formula(Function):
    """The node of an operation: its keyword-only arguments come last, as a dict."""

    op: CustomOpDef

    @classmethod
    def forward(cls, ctx, *args):
        op, *args, kwargs = cls.op, *args
        result = op._computed(args, kwargs)
        if op._setup_context is not None:
            by_name = {"keyword_only_inputs": kwargs} if kwargs else {}
            op._setup_context(ctx=ctx, inputs=tuple(args), output=result, **by_name)
        return tuple(result) if isinstance(result, list) else result

    @classmethod
    def backward(cls, ctx, *grads):
        op = cls.op
        if op._backward is None:
            raise RuntimeError(
                f"Trying to backward through {op._namespace}.{op._name}.default but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        found = op._backward(ctx, *grads)
        return (*found, None) if isinstance(found, (tuple, list)) else (found, None)


class _Namespace:
    """torch.ops.<name>: the operations registered in one namespace."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        raise AttributeError(f"'_OpNamespace' '{self._name}' object has no attribute '{name}'")


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """Make `fn` an operation called "namespace::name"; also a decorator (torch.library.custom_op).

    mutates_args  the names of the tensors that it writes to, or "unknown"; () if it writes to none
    Raises ValueError for a name without namespace, or if a parameter says not what it takes (unless there is a schema).
    """
    if fn is None:
        return lambda fn: custom_op(
            name, fn, mutates_args=mutates_args, device_types=device_types, schema=schema, tags=tags
        )
    for parameter in inspect.signature(fn).parameters.values() if schema is None else ():
        if parameter.annotation is inspect.Parameter.empty:
            raise ValueError(
                f"infer_schema(func): Parameter {parameter.name} must have a type annotation. Got func with signature "
                f"{inspect.signature(fn)})"
            )
    namespace, found, bare = name.partition("::")
    if not found:
        raise ValueError(
            f"Expected {name} to be of the form 'namespace::name': the namespace keeps names of several libraries apart"
        )
    made = CustomOpDef(namespace, bare, fn, mutates_args)
    vars(NAMESPACES.setdefault(namespace, _Namespace(namespace)))[bare] = made
    return made


def _op(op):
    if isinstance(op, CustomOpDef):
        return op
    namespace, _, name = op.partition("::")
    found = vars(NAMESPACES.get(namespace, _Namespace(namespace))).get(name.removesuffix(".default"))
    if found is None:
        raise RuntimeError(f"there is no operation {op} that torch.library.custom_op made")
    return found


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """op.register_autograd(backward, setup_context=setup_context), for an operation or its name (torch.library.register_autograd)."""
    _op(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """op.register_kernel(device_types, func), for an operation or its name (torch.library.register_kernel)."""
    return _op(op).register_kernel(device_types, func)


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """op.register_fake(func), for an operation or its name; also a decorator (torch.library.register_fake)."""
    return _op(op).register_fake if func is None else _op(op).register_fake(func)


__getattr__ = finder("library")

__all__ = ["CustomOpDef", "custom_op", "register_autograd", "register_fake", "register_kernel"]
