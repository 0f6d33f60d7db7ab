"""What a function says of arguments that do not fit: what PyTorch's argument parser does.

Functions here are plain Python and check little before they compute. A call that fails, however it fails, is held against the
forms that PyTorch's function can be called in (signatures.txt): it may be an older form or one with numbers for tensors
(`other_form`), and if it fits none, that is what the user is told, in PyTorch's words (`why`). A call that works is not looked at.
"""

import functools
import re
from pathlib import Path

import numpy as np

from ..autograd.variable import Variable
from ..dtypes import dtype
from ..random import Generator
from ..warning import warn_once

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
        by_place(key, args, kwargs, error)
        or number_first(key, args, kwargs)
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
_OPERANDS = {
    "add": ("other",), "sub": ("other",), "addcmul": ("tensor1", "tensor2"), "addcdiv": ("tensor1", "tensor2"), "addmm": ("mat1", "mat2"),
    "addmv": ("mat", "vec"), "addr": ("vec1", "vec2"), "addbmm": ("batch1", "batch2"), "baddbmm": ("batch1", "batch2"),
}  # fmt: skip


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
    if name in ("add", "sub") and _is_factor(new[0][-1]):  # x.add(1, 2): both are numbers
        from .rule import tensor_of

        new = (*new[0][:-1], tensor_of(new[0][-1], new[0][0] if not method else None)), new[1]
    if not all(isinstance(t, Variable) for t in new[0]):
        return None
    shown = key.rpartition(".")[2]
    old, now = _overloads(shown, method, list(new[1]))
    warn_once(
        f"This overload of {shown} is deprecated:\n\t{old}\nConsider using one of the following signatures instead:\n\t{now}"
    )
    return new


def _overloads(name, method, numbers):
    """The deprecated form of a function in which `numbers` stand among its tensors, and the one to use, as PyTorch shows them."""
    plain = name.rstrip("_")
    tensors = [f"Tensor {t}" for t in _OPERANDS[plain]]
    first = [] if method else ["Tensor input"]
    out = "" if method else ", *, Tensor out = None"
    if plain in _SCALED:
        old = [*first, f"Number {numbers[0]}", *tensors]
        settings = f"*, Number {_SCALED[plain]} = 1"
    else:
        old = ["Number beta", *first, *["Number alpha"] * (len(numbers) - 1), *tensors]
        settings = "*, Number beta = 1, Number alpha = 1"
    now = ", ".join([*first, *tensors, settings]) + out.replace(", *", "")
    return f"{name}({', '.join(old)}{out})", f"{name}({now})"


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
    found = []
    for form in known[1]:
        if form.complaint(known[0], args, kwargs) is not None:
            continue
        if form.takes_ints and len(args) > 1:
            kinds = ["int"] * len(args)
        else:
            kinds = [kind for kind, *_ in form.params]
        named = {name: kind for kind, name, *_ in form.params}
        numbers = [_as_number(kind, value) for kind, value in zip(kinds, args, strict=False)]
        named_numbers = {k: _as_number(named.get(k, ""), v) for k, v in kwargs.items()}
        found.append(_if_changed(args, kwargs, (*numbers, *args[len(numbers) :]), named_numbers))
    return (
        found[0] if found and None not in found else None
    )  # where one form takes the tensors, they are meant


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


def by_place(key, args, kwargs, error):
    """(args, kwargs) of a call by names that only one of the forms has, tensor_split(x, sections=2), by places; None if it is none."""
    known = forms_of(key) if kwargs and isinstance(error, TypeError) else None
    form = known and next((form for form in known[1] if form.complaint(known[0], args, kwargs) is None), None)
    if not form or form.takes_ints:  # a lone int is a size by place only
        return None
    placed, rest = list(args), dict(kwargs)
    for _, name, *_ in form.params[len(args) : form.positional]:
        if name not in rest:
            break
        placed.append(rest.pop(name))
    return (placed, rest) if len(placed) > len(args) else None


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
    "bool": lambda v: isinstance(v, bool),
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
