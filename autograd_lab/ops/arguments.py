"""What a function says of arguments that do not fit, and the `out` argument: what PyTorch's argument parser does.

Functions here are plain Python and check little before they compute. `publish` gives them their place in a namespace:
a call that fails, however it fails, is held against the forms that PyTorch's function can be called in
(signatures.txt), and if it fits none, that is what the user is told, in PyTorch's words. A call that works is not
looked at.
"""

import functools
import re
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import FunctionType

import numpy as np

from ..autograd.errors import CPP_NAMES, TYPE_NAMES
from ..autograd.memory import check_apart, check_overlap, has_no_gaps
from ..autograd.modes import THREAD
from ..autograd.record import RANK
from ..autograd.variable import Variable
from ..autograd.views import check_writable
from ..dtypes import dtype
from ..random import Generator
from ..warning import warn, warn_once
from .rule import METHODS


def publish(functions, place, module):
    """{name: function} as users get them in the namespace `place` ("", "F.", "linalg.") of the module named `module`."""
    return {
        name: _public(fn, place + name, module)
        if isinstance(fn, FunctionType) and not name.startswith("_")
        else fn
        for name, fn in functions.items()
    }


def publish_methods(methods):
    """The same for methods of Tensor. One that takes nothing is left as it is: Python refuses what does not fit."""
    return {
        name: fn
        if not isinstance(fn, FunctionType) or name.startswith("__") or takes_nothing(fn)
        else _public_method(fn, "Tensor." + name)
        for name, fn in methods.items()
    }


def takes_nothing(fn):
    """Whether a function has one parameter only."""
    code = fn.__code__
    return code.co_argcount + code.co_kwonlyargcount == 1 and not code.co_flags & (
        CO_VARARGS | CO_VARKEYWORDS
    )


def _public(fn, key, module):
    def call(*args, out=None, **kwargs):
        try:
            if out is None:
                return fn(*args, **kwargs)
            if THREAD.state.dual is not None:
                _refuse_dual(key, out, (*args, *kwargs.values()))
            result = fn(*args, **_typed_as(out, key, kwargs))
            return write_out(key, result, out, (*args, *kwargs.values()))
        except Exception as error:
            otherwise = (
                None if isinstance(error, NotImplementedError) else other_form(key, args, kwargs, error)
            )
            if otherwise is None:
                if out is not None:
                    kwargs["out"] = out
                complaint = why(key, fn, args, kwargs, error)
                if complaint is None:
                    raise
        if otherwise is not None:
            args, kwargs = otherwise
            return call(*args, out=out, **kwargs)
        raise TypeError(complaint)

    call.__module__ = module
    return _dressed(call, fn, key)


def _public_method(fn, key):
    def call(self, *args, **kwargs):
        try:
            result = fn(self, *args, **kwargs)
            if result is not NotImplemented:
                return result
            otherwise = None
            complaint = why(key, fn, args, kwargs, None)
        except Exception as error:
            otherwise = other_form(key, args, kwargs, error)
            if otherwise is None:
                complaint = why(key, fn, args, kwargs, error)
                if complaint is None:
                    if key[-1] == "_" and key not in _NO_WRITE:
                        check_writable(self)  # a leaf that may not be written is what PyTorch sees first
                    raise
        if otherwise is not None:
            args, kwargs = otherwise
            return call(self, *args, **kwargs)
        raise TypeError(complaint)

    call.__module__ = fn.__module__
    return _dressed(call, fn, key)


_NO_WRITE = frozenset(
    f"Tensor.{name}"
    for name in ["resize_", "resize_as_", "requires_grad_", "detach_", "set_", "apply_", "map_", "map2_"]
)
"""Names with an underscore of methods that write no numbers, or refuse a leaf in words of their own."""


def _dressed(call, fn, key):
    call.__name__ = call.__qualname__ = key.rpartition(".")[2]
    call.__doc__, call.__wrapped__ = fn.__doc__, fn
    return call


# -- the forms of a call ------------------------------------------------------------------------------


class Form:
    """One way to call a function: its parameters as (kind, name, is required, may be None)."""

    def __init__(self, text):
        self.text = text
        self.params = []
        self.positional = None
        for part in text[1:-1].split(", ") if text != "()" else ():
            if part == "*":
                self.positional = len(self.params)
                continue
            head, _, default = part.partition(" = ")
            kind, name = head.rsplit(" ", 1)
            self.params.append((kind, name, not default, default in ("None", "") and bool(default)))
        if self.positional is None:
            self.positional = len(self.params)
        self.required = sum(p[2] for p in self.params)
        kinds = [p[0] for p in self.params[: self.positional]]
        self.takes_ints = kinds == ["tuple of ints"]  # reshape(2, 3) for reshape((2, 3))

    def shown(self):
        """The form as messages show it."""
        return self.text.replace(" = ...", " = None")

    def complaint(self, name, args, kwargs):
        """What PyTorch says if it tries this form, or None if the call fits."""
        given = len(args)
        several = self.takes_ints and given > 1 and all(_is_int(a) for a in args)
        if given > self.positional and not several:
            return self._too_many(name, given)
        unused = dict(kwargs)
        for i, (kind, param, required, may_be_none) in enumerate(self.params):
            by_place = i < min(given, self.positional)
            if by_place:
                value = args if several else args[i]
                if several:
                    continue
            else:
                alias = next((a for a in (param, *_ALIASES.get(param, ())) if a in unused), None)
                if alias is None:
                    if required:
                        return self._missing(name, i)
                    continue
                value = unused.pop(alias)
            if (value is None and may_be_none) or fits(kind, value):
                continue
            if kind == "Tensor" and _is_number(value) and name.removesuffix("_") in TAKE_NUMBERS:
                continue
            what = f"{name}(): argument '{param}'" + (f" (position {i + 1})" if by_place else "")

            if isinstance(value, (tuple, list)) and kind.startswith("tuple of "):
                inner = next(((j, v) for j, v in enumerate(value) if not fits(_ELEMENTS[kind], v)), None)
                if inner is not None and kind == "tuple of Tensors":
                    return f"expected Tensor as element {inner[0]} in argument {i}, but got {type_name(inner[1])}"
                if inner is not None:
                    return f"{what} must be {kind}, but found element of type {type_name(inner[1])} at pos {inner[0]}"
            return f"{what} must be {kind.removesuffix(' or None')}, not {type_name(value)}"
        for param in unused:
            if any(p[1] == param for p in self.params):
                return f"{name}() got multiple values for argument '{param}'"
            return f"{name}() got an unexpected keyword argument '{param}'"
        return None

    def _too_many(self, name, given):
        low, high = self.required, self.positional
        verb = "was" if given == 1 else "were"
        if low != high:
            return f"{name}() takes from {low} to {high} positional arguments but {given} {verb} given"
        return f"{name}() takes {high} positional argument{'s' * (high != 1)} but {given} {verb} given"

    def _missing(self, name, start):
        names = [f'"{p[1]}"' for p in self.params[start:] if p[2]]
        plural = "s" if len(names) == 1 else ""  # the wrong way round, as PyTorch has it
        return f"{name}() missing {len(names)} required positional argument{plural}: {', '.join(names)}"


TAKE_NUMBERS = {
    "add",
    "sub",
    "subtract",
    "mul",
    "multiply",
    "div",
    "divide",
    "true_divide",
    "floor_divide",
}
"""The operations in which a number may stand for a tensor."""

_ALIASES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
"""NumPy's names for some parameters, which PyTorch takes too."""

_ELEMENTS = {
    "tuple of ints": "int",
    "tuple of Tensors": "Tensor",
    "tuple of floats": "float",
    "tuple of bools": "bool",
}


def other_form(key, args, kwargs, error):
    """(args, kwargs) of a call of `key` that failed, written in the form that functions here expect; None if they are."""
    renamed = own_names(key, kwargs, error)
    if renamed is not None:
        return args, renamed
    return (
        number_first(key, args, kwargs)
        or number_in_the_middle(key, args, kwargs)
        or with_numbers(key, args, kwargs)
    )


def number_first(key, args, kwargs):
    """(args, kwargs) of torch.add(2, x) or torch.add(1, 2), with a tensor for the first number; None if there is none."""
    if key not in TAKE_NUMBERS:
        return None
    if not args or not isinstance(args[0], (bool, int, float)):
        return None
    from .rule import tensor_of

    like = args[1] if len(args) > 1 and isinstance(args[1], Variable) else None
    return (tensor_of(args[0], like), *args[1:]), kwargs


_SCALED = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
_PRODUCTS = ("addmm", "addmv", "addr", "addbmm", "baddbmm")


def number_in_the_middle(key, args, kwargs):
    """(args, kwargs) of a deprecated form such as x.add_(2, y), which means x.add_(y, alpha=2); None if it is none."""
    name = key.rpartition(".")[2].rstrip("_")
    method = key.startswith("Tensor.")
    count = len(args) + method
    if kwargs or not args:
        return None
    if name in _SCALED:
        at = 0 if method else 1
        if count != (3 if _SCALED[name] == "alpha" else 4) or not _is_factor(args[at]):
            return None
        new = (*args[:at], *args[at + 1 :]), {_SCALED[name]: args[at]}
    elif name in _PRODUCTS:
        if count not in (4, 5) or not _is_factor(args[0]):
            return None
        named = {"beta": args[0]}
        rest = args[1:] if method else args[2:]
        if count == 5:
            if not _is_factor(rest[0]):
                return None
            named["alpha"], rest = rest[0], rest[1:]
        new = rest if method else (args[1], *rest), named
    else:
        return None
    if not all(isinstance(t, Variable) for t in new[0]):
        return None
    warn_once(
        f"This overload of {name} is deprecated: a number stands among the tensors. Give it as "
        f"{' and '.join(f'{k}={v}' for k, v in new[1].items())} instead."
    )
    return new


def _is_factor(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def with_numbers(key, args, kwargs):
    """The arguments with Python numbers where tensors of one element stand for a dim, a size, a rate; None if there are none.

    For the first form of the function that the call fits.
    """
    if not any(map(_holds_tensor, (*args, *kwargs.values()))):
        return None
    known = forms_of(key)
    if known is None and key not in _WITH_SIZES:
        return None
    if known is None:
        numbers = (*args[:1], *map(_whole, args[1:]))
        named_numbers = {k: _whole(v) for k, v in kwargs.items()}
        return _if_changed(args, kwargs, numbers, named_numbers)
    form = next((form for form in known[1] if form.complaint(known[0], args, kwargs) is None), None)
    if form is None:
        return None
    if form.takes_ints and len(args) > 1:
        kinds = ["int"] * len(args)
    else:
        kinds = [kind for kind, *_ in form.params]
    named = {name: kind for kind, name, *_ in form.params}
    numbers = [_as_number(kind, value) for kind, value in zip(kinds, args, strict=False)]
    named_numbers = {k: _as_number(named.get(k, ""), v) for k, v in kwargs.items()}
    return _if_changed(args, kwargs, (*numbers, *args[len(numbers) :]), named_numbers)


_WITH_SIZES = {
    f"F.{name}"
    for name in (
        "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "interpolate", "max_pool1d", "max_pool2d", "pad",
    )
}  # fmt: skip
"""Functions that are written in Python in PyTorch, and hand sizes on to one that takes tensors for them."""


def _if_changed(args, kwargs, numbers, named_numbers):
    same = all(a is b for a, b in zip(numbers, args, strict=True))
    return (
        None if same and all(named_numbers[k] is v for k, v in kwargs.items()) else (numbers, named_numbers)
    )


def _holds_tensor(value, depth=2):
    """Whether it is a tensor, or a list with one, or a list of such lists; a list may hold itself."""
    return isinstance(value, Variable) or (
        depth > 0 and isinstance(value, (tuple, list)) and any(_holds_tensor(v, depth - 1) for v in value)
    )


def _whole(value):
    return _as_number("int", value) if _is_int(value) or isinstance(value, (tuple, list)) else value


def _as_number(kind, value):
    if kind in ("int", "float", "Number", "tuple of ints", "tuple of floats"):
        if isinstance(value, Variable):
            return value.item() if value._data.size == 1 and not value.requires_grad else value
        if isinstance(value, (tuple, list)) and _holds_tensor(value):
            return type(value)([_as_number("Number", v) for v in value])
    return value


def own_names(key, kwargs, error):
    """`kwargs` with NumPy's names replaced by PyTorch's, if that is what a call of `key` failed of; else None."""
    known = forms_of(key) if kwargs and isinstance(error, TypeError) else None
    if known is None:
        return None
    names = {p[1] for form in known[1] for p in form.params}
    renamed = {
        alias: name
        for name in names
        for alias in _ALIASES.get(name, ())
        if alias in kwargs and alias not in names
    }
    if not renamed or any(name in kwargs for name in renamed.values()):
        return None
    return {renamed.get(k, k): v for k, v in kwargs.items()}


def _is_int(v):
    if isinstance(v, Variable):
        return v._data.size == 1 and v._data.dtype.kind in "iu"
    return isinstance(v, (int, np.integer)) and not isinstance(v, bool)


def _is_number(v):
    return isinstance(v, (int, float, complex, np.number, np.bool_)) or (
        isinstance(v, Variable) and v._data.ndim == 0 and not v.requires_grad
    )


_KINDS = {
    "Tensor": lambda v: isinstance(v, Variable),
    "Number": _is_number,
    "int": _is_int,
    "float": _is_number,
    "bool": lambda v: isinstance(v, (bool, np.bool_)),
    "str": lambda v: isinstance(v, str),
    "Tensor or None": lambda v: v is None or isinstance(v, Variable),
    "tuple of ints": lambda v: _is_int(v) or (isinstance(v, (tuple, list)) and all(map(_is_int, v))),
    "tuple of Tensors": lambda v: isinstance(v, (tuple, list)) and all(isinstance(t, Variable) for t in v),
    "tuple of floats": lambda v: isinstance(v, (tuple, list)) and all(map(_is_number, v)),
    "torch.dtype": lambda v: isinstance(v, dtype) or (isinstance(v, type) and v in (float, int, bool)),
    "torch.device": lambda v: not isinstance(v, (Variable, float, tuple, list)),
    "torch.Generator": lambda v: isinstance(v, Generator),
}


def fits(kind, value):
    """Whether `value` may be passed where PyTorch's parser wants `kind`; unknown kinds take anything."""
    check = _KINDS.get(kind)
    return check is None or bool(check(value))


def type_name(value):
    """The type of an argument as PyTorch's messages put it."""
    if isinstance(value, Variable):
        return "Parameter" if type(value).__name__ == "Parameter" else "Tensor"
    if isinstance(value, dtype):
        return "torch.dtype"
    kind = type(value)
    if kind.__module__.startswith("autograd_lab.") and kind.__name__ in ("device", "layout", "memory_format"):
        return f"torch.{kind.__name__}"
    return kind.__name__ if kind.__module__ != "numpy" else f"numpy.{kind.__name__}"


@functools.cache
def forms_of(key):
    """(the name in messages, the forms, whether there are older ones) of a function; None if PyTorch's is plain Python."""
    table = known()
    if key in table:
        return table[key]
    if key.startswith("Tensor.") and key[7:] in table:
        name, forms, older = table[key[7:]]
        return name, [Form(_method_form(f.text)) for f in forms], older
    return None


def _method_form(text):
    """The form of the method of a function: without `input` and `out`."""
    return re.sub(
        r"^\(Tensor input(, )?", "(", re.sub(r"(, \*)?, (Tensor|tuple of Tensors) out = None(?=\))", "", text)
    )


@functools.cache
def known():
    """{key: (name, forms, whether there are older ones)} of the file, read when the first call fails."""
    table, found, open_group = {}, [], False
    for line in Path(__file__).with_name("signatures.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("("):
            if not open_group:
                found, open_group = [], True
            found.append(line)
        elif line.startswith(" "):
            open_group = False
            forms = [Form(f) for f in found if f != "(...)"]
            for label in line.split():
                key, _, said = label.partition("=")
                place, _, bare = key.rpartition(".")
                shown = f"{place}_{bare}" if place in ("linalg", "special") else bare
                table[key] = said or shown, forms, "(...)" in found
    return table


def why(key, fn, args, kwargs, error):
    """PyTorch's text for a call of `key` that failed with `error`, or None if its arguments are all right."""
    known = forms_of(key)
    if known is None:
        return _of_plain_python(fn, args, kwargs, error)
    name, forms, older = known
    if forms[0].text == "()" and len(forms) == 1:
        if kwargs:
            return f"Tensor.{name}() takes no keyword arguments"
        return f"Tensor.{name}() takes no arguments ({len(args)} given)" if args else None
    complaints = [form.complaint(name, args, kwargs) for form in forms]
    if None in complaints:
        return None
    if len(forms) == 1 and not older:
        return complaints[0]
    count = len(args) + len(kwargs)
    plausible = [i for i, f in enumerate(forms) if f.required <= count <= len(f.params)]
    if len(plausible) == 1:
        return complaints[plausible[0]]
    got = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in kwargs.items()])
    got += ", " if kwargs and not args else ""
    begin = f"{name}() received an invalid combination of arguments - got "
    if len(forms) == 1:
        last = [p[1] for p in forms[0].params[-len(kwargs) :]]  # where PyTorch looks for keywords
        unknown = [k for k in kwargs if k not in last]
        if unknown:
            return f"{begin}unrecognized keyword arguments: {', '.join(unknown)}"
        return f"{begin}({got}), but expected {forms[0].shown()}"
    return begin + f"({got}), but expected one of:\n" + "".join(f" * {f.shown()}\n" for f in forms)


TENSORS = {"input", "other", "weight", "target", "tensor", "query", "key", "value", "A", "B", "a", "b", "input1", "input2", "x1", "x2", "anchor", "positive", "negative", "logits", "log_probs", "grid", "theta"}  # fmt: skip
"""Parameters of that name hold tensors, in the functions that PyTorch itself has in Python."""


def _of_plain_python(fn, args, kwargs, error):
    """For a function that is Python in PyTorch as well: Python's own errors stand; others may hide a wrong type."""
    if not isinstance(error, (AttributeError, KeyError, StopIteration, TypeError)) or isinstance(
        error, NotImplementedError
    ):
        return None
    code = getattr(fn, "__code__", None)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    for i, (name, value) in enumerate([*zip(names, args, strict=False), *kwargs.items()]):
        if name in TENSORS and value is not None and not isinstance(value, (Variable, int, float)):
            place = f" (position {i + 1})" if i < len(args) else ""
            return f"{fn.__name__}(): argument '{name}'{place} must be Tensor, not {type_name(value)}"
    if isinstance(error, (AttributeError, StopIteration)) or (isinstance(error, KeyError) and kwargs):
        first = next((a for a in (*args, *kwargs.values()) if not isinstance(a, Variable)), None)
        if first is not None or args:
            return f"{fn.__name__}(): an argument of type {type_name(first if first is not None else args[0])} does not fit: {error}"
    return None


# -- out ----------------------------------------------------------------------------------------------


_MADE_IN_ROWS = ("arange", "range", "linspace", "logspace")


def _typed_as(out, key, kwargs):
    """The arguments of a function that only makes numbers, or adds them up, so that it does so in the type of `out`."""
    if key in _IN_TYPE_OF_OUT and kwargs.get("dtype") is None and isinstance(out, Variable):
        return kwargs | {"dtype": out.dtype}
    known = forms_of(key)
    params = [p for f in (known[1] if known else ()) for p in f.params]
    names = {p[1] for p in params}
    makes = not any(
        p[0] in ("Tensor", "tuple of Tensors") and p[1] not in ("out", "start", "end") for p in params
    )
    if not makes or "dtype" not in names or "out" not in names or not isinstance(out, Variable):
        return kwargs
    if kwargs.get("dtype") is not None:
        from ..dtypes import to_dtype

        given = to_dtype(kwargs["dtype"])
        if given.np != out._data.dtype:
            raise RuntimeError(
                f"dtype {given.type_name} does not match dtype of out parameter ({out.dtype.type_name})"
            )
    return kwargs | {"dtype": out.dtype}


def _refuse_dual(key, out, values):
    """Raises NotImplementedError if `out` or an operand has a tangent, which writing to `out` would lose."""
    tensors = [
        t
        for v in (out, *values)
        for t in (v if isinstance(v, (list, tuple)) else (v,))
        if isinstance(t, Variable)
    ]
    if any(THREAD.state.dual.tangent(t) is not None for t in tensors):
        name = key.rpartition(".")[2]
        raise NotImplementedError(
            f"Trying to use forward AD with {name}_out that does not support it because it is an out= function"
        )


def write_out(key, result, out, values):
    """Write what a function returned for `values` into `out` (a tensor, or a tuple of them) and return that.

    Autograd does not follow this. Raises TypeError if the function has no `out`, RuntimeError if a gradient would be
    wanted, the numbers do not fit, or `out` overlaps with what is read; a tensor of another shape is resized, with PyTorch's
    warning unless it is empty.
    """
    known = forms_of(key)
    name = key.rpartition(".")[2] if known is None else known[0]
    params = [p for f in (known[1] if known else ()) for p in f.params]
    in_python = key in _IN_PYTHON
    name = _IN_PYTHON.get(key, name)
    if not in_python and all(p[1] != "out" for p in params):
        raise TypeError(f"{name}() got an unexpected keyword argument 'out'")
    computed = in_python or any(
        kind in ("Tensor", "tuple of Tensors") for kind, param, *_ in params if param != "out"
    )
    several = isinstance(result, tuple)
    results = result if several else (result,)
    outs = tuple(out) if several and isinstance(out, (tuple, list)) else (out,)
    if len(outs) != len(results) or not all(isinstance(t, Variable) for t in outs):
        wanted = f"a tuple of {len(results)} Tensors" if several else "Tensor"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type_name(out)}")
    moving = any(r.requires_grad for r in results)
    if THREAD.state.grad and (moving or any(t.requires_grad for t in outs)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    operands = [v for value in values for v in (value if isinstance(value, (list, tuple)) else (value,))]
    operands = [v for v in operands if isinstance(v, Variable)]
    for nr, (t, r) in enumerate(zip(outs, results, strict=True)):
        _check_type(t, r, name, nr if several else None)
        _check_memory(t, name, operands, several)
        _write_one(t, r, name, computed)
    return type(result)(outs) if several else out


_IN_PYTHON = {
    "F.normalize": "div",
    "chain_matmul": "mm",
    "lu": "lu",
    "norm": "linalg_vector_norm",
    "tensordot": "tensordot",
}
"""Functions whose arguments no message of PyTorch lists, and what computes them there."""

_MEMORY = {
    "apart": (
        "aminmax cat column_stack cross dstack gather ger hstack index_select kthvalue linalg_cross masked_select mode outer "
        "row_stack stack take take_along_dim vstack"
    ),
    "apart but for the first": "addr index_add index_copy index_reduce scatter scatter_add scatter_reduce",
    "only the first is looked at": "addbmm addmm addmv baddbmm",
    "anything": (
        "all amax amin any argmax argmin avg_pool2d bernoulli bmm bucketize chain_matmul cholesky_inverse cholesky_solve cummax "
        "cummin diag dot histc inverse kron linear log_sigmoid log_softmax logsumexp lu_solve matmul mean median mm mv mvlgamma "
        "nanmean nanmedian nanquantile nansum nonzero prod qr quantile searchsorted slice_scatter softmax special_multigammaln "
        "special_ndtr std sum svd tensordot tril triu var"
    ),
}
"""How `out` may lie to the operands. Of all other functions it may be one of them, or lie apart; of those of linalg, anyhow."""

_MEMORY_RULES = {name: rule for rule, names in _MEMORY.items() for name in names.split()}


def _check_memory(out, name, operands, several):
    """Raise RuntimeError if `out` overlaps with the operands of a function that does not allow it."""
    rule = _MEMORY_RULES.get(name, "anything" if name.startswith("linalg_") else "")
    first = operands[:1]
    if rule == "apart" or (several and name in ("max", "min")):
        check_overlap(out, ())
        check_apart(out, operands)
    elif rule == "apart but for the first":
        check_overlap(out, first)
        check_apart(out, operands[1:])
    elif rule != "anything":
        check_overlap(out, first if rule else operands)


_OUT_TYPES = {
    "Found dtype {Out} but expected {Own}": (
        "neg negative floor ceil trunc fix round abs absolute sign sgn frac bitwise_not clamp clip"
    ),
    "Expected out tensor to have dtype {own}, but got {out} instead": (
        "softmax log_softmax tril triu diag gather argmax argmin mm addmm bmm linalg_vector_norm aminmax"
    ),
    "Expected the dtype for input and out to match, but got {Own} for input's dtype and {Out} for out's dtype.": "amax amin",
    "expected scalar_type {Own} but found {Out}": "logcumsumexp",
    "nan_to_num: dtype of out: {Out} should be same as input: {Own}": "nan_to_num",
    "Expected out type to be {Own} but got {Out}": "where",
    "result dtype {Out} does not match input dtype {Own}": "dot",
    "linalg.norm expected out tensor dtype {Own} but got: {Out}": "linalg_norm",
    "linalg.matrix_norm expected out tensor dtype {Own} but got: {Out}": "linalg_matrix_norm",
    "{name}: Expected the output tensor to have dtype {Own}, but got an output tensor with dtype {Out}": "tensordot",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {Own} and out.dtype = {Out}": "take",
    "signbit does not support non-boolean outputs.": "signbit",
    "multinomial expects Long tensor out, got: {Out}": "multinomial",
    "{name} only supports bool tensor for result, got: {Out}": "all any",
    "nonzero: Expected out tensor to have scalar type Long but got scalar type{Out}": "nonzero",
}
"""What PyTorch says where `out` is not of the type of the result, of functions that do not convert."""

_OUT_REFUSES = {name: text for text, names in _OUT_TYPES.items() for name in names.split()}

_EXPECTED_OUT = "Expected out tensor to have dtype {own}, but got {out} instead"
_FOUND_OUT = "expected scalar_type {Own} but found {Out}"
_PLACES = (
    "Expected tensor for 'values' to have the same type as tensor for argument #2 'self'; but type torch.{Out}Tensor does not "
    "equal torch.{Own}Tensor (while checking arguments for median)",
    "Expected tensor for argument #1 'indices' to have scalar type Long; but got torch.{Out}Tensor instead (while checking "
    "arguments for median)",
)
_OF_SEVERAL = {
    "cummax": (_FOUND_OUT, _FOUND_OUT),
    "cummin": (_FOUND_OUT, _FOUND_OUT),
    "kthvalue": ("output values must be of same type as input", "output indices must be of scalar type Long"),
    "max": (_EXPECTED_OUT, _EXPECTED_OUT),
    "median": _PLACES,
    "min": (_EXPECTED_OUT, _EXPECTED_OUT),
    "mode": (
        "expected scalar type '{Own}' but got '{Out}' for values output",
        "expected scalar type '{Own}' but got '{Out}' for indices output",
    ),
    "nanmedian": _PLACES,
    "sort": (_EXPECTED_OUT, _EXPECTED_OUT),
    "topk": (_EXPECTED_OUT, _EXPECTED_OUT),
}
"""The same of functions with two results."""

_TRUTHS = ("all", "any")
"""These write truth values, and bytes where `out` holds bytes."""

_IN_TYPE_OF_OUT = ("sum", "prod", "cumsum", "cumprod")
"""These compute in the type of `out`."""


def _check_type(out, result, name, nr):
    """Raise RuntimeError or TypeError if a function does not write its result (number `nr`, if it has several) as the type of `out`."""
    have, want = result._data, out._data
    converts = name in _TRUTHS and want.dtype.name in ("bool", "uint8")
    text = _OUT_REFUSES.get(name) if nr is None or name not in _OF_SEVERAL else _OF_SEVERAL[name][nr]
    if have.dtype is not want.dtype and text and not converts:
        own, got = have.dtype.name, want.dtype.name
        raise RuntimeError(
            text.format(
                name=name, own=CPP_NAMES[own], out=CPP_NAMES[got], Own=TYPE_NAMES[own], Out=TYPE_NAMES[got]
            )
        )
    if RANK[have.dtype.kind] > RANK[want.dtype.kind] and not converts:
        if name in ("cat", "stack"):
            raise TypeError(
                f"torch.cat(): input types can't be cast to the desired output type {TYPE_NAMES[want.dtype.name]}"
            )
        raise RuntimeError(
            f"result type {TYPE_NAMES[have.dtype.name]} can't be cast to the desired output type {TYPE_NAMES[want.dtype.name]}"
        )


_LIES_IN_ROWS = ("cholesky", "cross", "linalg_cross", "linalg_tensorinv", "lu")
"""What these write into an empty `out` lies in rows, though their results do not."""


def _write_one(out, result, name, computed):
    have, want = result._data, out._data
    if have.shape != want.shape and have.size == want.size and name in _MADE_IN_ROWS:
        result = METHODS["reshape"](result, want.shape)
    elif have.shape != want.shape:
        if want.size and name in ("arange", "range"):
            warn(
                f"The number of elements in the out tensor of shape {list(want.shape)} is {want.size} which does not match "
                f"the computed number of elements {have.size}. Note that this may occur as a result of rounding error. "
                f"The out tensor will be resized to a tensor of shape ({have.size},)."
            )
        elif want.size and computed:  # what only makes numbers resizes without a word
            warn(
                f"An output with one or more elements was resized since it had shape {list(want.shape)}, which does not "
                f"match the required output shape {list(have.shape)}. This behavior is deprecated, and in a future "
                "PyTorch release outputs will not be resized unless they have zero elements. You can explicitly reuse an "
                "out tensor t by resizing it, inplace, to zero elements with t.resize_(0)."
            )
        METHODS["resize_"](out, *have.shape)
        if computed and name not in _LIES_IN_ROWS and not have.flags.c_contiguous and has_no_gaps(have):
            METHODS["as_strided_"](out, have.shape, result.stride())  # as the result would lie
    METHODS["copy_"](out, result.detach())


__all__ = ["publish", "publish_methods"]
