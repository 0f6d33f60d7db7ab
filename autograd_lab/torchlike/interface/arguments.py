"""Errors for arguments that do not fit, as from PyTorch's argument parser.

Functions here are plain Python and check little before they compute. If a function has not seen the types of a call's arguments before, the
call is first matched against the signatures of PyTorch's function (forms.py), deprecated ones included, and refused with PyTorch's message
if none fits (`admit`, `number_in_the_middle`, `why`). A call that fails anyway may use the names or numbers of another signature
(`other_form`).
"""

import functools
import operator
from ast import literal_eval
from inspect import signature

import numpy as np

from ..autograd.variable import Variable
from ..world.overrides import is_asked
from ..world.warning import warn_once
from .forms import ALIASES, INSIDE, TAKE_NUMBERS, Form, forms_of, gives_index, is_index, type_name

# -- before a call ------------------------------------------------------------------------------------


_NUMPY_NUMBERS = frozenset(
    np.dtype(code).type for code in ("b", "B", "h", "H", "i", "I", "l", "L", "q", "Q", "e", "f", "d")
)
_TAKE_THEIR_TYPE = frozenset(("tensor", "as_tensor", "asarray", "scalar_tensor", "Tensor.new_tensor"))
"""Functions for which a NumPy number is data with its own type. Everywhere else it is a plain number and promotes nothing."""


class Seen(set):
    """The argument types with which a function was called and that need no further check; for others, see `ints`.

    `ints` is {types: positions of lists of ints}: the type of a list does not tell what it contains.
    """

    def __init__(self):
        super().__init__()
        self.ints = {}


class SeenOfPlain(Seen):
    """The same once there are subclasses of Tensor: a call with one, or with a list that may contain one, is checked each time."""

    def add(self, types):
        if not any(isinstance(kind, type) and (kind in (tuple, list) or is_asked(kind)) for kind in types):
            super().add(types)


def admit(key, fn, args, kwargs, types, seen):
    """(args, kwargs) of a call of `key`, with NumPy numbers, and tensors used as numbers, converted to plain numbers.

    `types` are those of the arguments, with the names of keywords between them. Raises TypeError if PyTorch's function does not accept
    them.
    """
    values = (*args, *kwargs.values()) if kwargs else args
    ints = seen.ints.get(types)
    if ints and not [v for i in ints for v in values[i] if v.__class__ is not int]:
        return args, kwargs
    try:
        bound = _bound_inside(key, fn, args, kwargs) if key in INSIDE else _bound(key, fn, args, kwargs)
    except TypeError:
        older = number_in_the_middle(key, args, kwargs)
        if older is None:
            raise
        return older
    if bound is None:
        return args, kwargs
    places = (*range(len(args)), *kwargs)
    numbers = {place: _as_number(kind, value) for kind, _, value, place in filter(_is_to_convert, bound)}
    if key not in _TAKE_THEIR_TYPE:
        both = zip(places, values, strict=True)
        numbers.update((place, v.item()) for place, v in both if v.__class__ in _NUMPY_NUMBERS)
    if numbers:
        named = {k: numbers.get(k, v) for k, v in kwargs.items()}
        return tuple([numbers.get(i, v) for i, v in enumerate(args)]), named
    lists = [place for kind, _, v, place in bound if kind in _INTS and isinstance(v, (tuple, list))]
    ints = [i for i, place in enumerate(places) if place in lists]
    if ints:
        seen.ints[types] = ints
    else:
        seen.add(types)
    return args, kwargs


def _bound(key, fn, args, kwargs, called=None):
    """[(kind, parameter, value, place)] by the signature that a call fits, preferably one in which no tensor is used as a number.

    Empty if PyTorch's function is plain Python. `called` is its name in messages, if different.
    """
    known = forms_of(key)
    if known is None:
        return ()
    name, forms, _ = known
    fitting = [form.bound(args, kwargs) for form in forms if form.complaint(name, args, kwargs) is None]
    if fitting:
        best = next((b for b in fitting if not any(map(_is_for_number, b))), fitting[0])
        for kind, param, value, _ in best:
            if kind in _INTS and isinstance(value, (tuple, list)):
                _check_ints(name, param, value)
        if best[:1] and best[0][0] == "index":
            _check_ints(name, best[0][1], args)
        return best
    text = why(key, fn, args, kwargs, None)
    raise TypeError(text if called is None else text.replace(name, called, 1))


_SELF = object.__new__(Variable)
"""A placeholder for the tensor of a method, which no check reads."""


def _bound_inside(key, fn, args, kwargs):
    """`_bound` for a function that passes its arguments on to another."""
    inner, *names = INSIDE[key]
    try:
        bound = signature(fn).bind(*[_SELF] * key.startswith("Tensor."), *args, **kwargs)
    except TypeError:
        return None  # the call itself will raise
    bound.apply_defaults()
    given = bound.arguments
    own = list(given)[key.startswith("Tensor.") :][: len(args)]  # the parameters that were given by position
    handed, named, places = [], {}, {}
    for word in names:
        name, _, instead = word.rstrip("=").partition("|")
        if instead and given[name] is None:
            name = instead
        value = given[name] if name in given else literal_eval(name)
        place = own.index(name) if name in own else name
        if word.endswith("="):
            named[name], places[name] = value, place
        else:
            places[len(handed)] = place
            handed.append(value)
    ending = "_" * bool(given.get("inplace")) + "_with_indices" * bool(given.get("return_indices"))
    found = _bound(inner, fn, handed, named, inner.rpartition(".")[2] + ending)
    return found and [(kind, param, value, places[place]) for kind, param, value, place in found]


_INTS = ("tuple of ints", "list of ints")
_WHOLE = ("int", "index", *_INTS)
_NUMBERS = ("int", "index", "float", "Number", "tuple of floats", *_INTS)


def _is_for_number(bound):
    """Whether a tensor is used as a number. Whether that is allowed depends on its dims, its dtype and whether it requires a gradient."""
    kind, _, value, _ = bound
    return kind in _NUMBERS and _holds_tensor(value)


def _is_to_convert(bound):
    """Whether a tensor, or another object with an `__index__`, is used as a number."""
    kind, _, value, _ = bound
    return kind in _NUMBERS and (_holds_tensor(value) or (kind in _WHOLE and _holds_index(value)))


def _holds_index(value, depth=2):
    if isinstance(value, (tuple, list)):
        return depth > 0 and any(_holds_index(v, depth - 1) for v in value)
    return not isinstance(value, (int, Variable)) and gives_index(value)


def _check_ints(name, param, values):
    """Raise TypeError for a non-int after the first of several ints; the first decides on the signature."""
    for i, value in enumerate(values):
        if not (isinstance(value, bool) or gives_index(value)):
            raise TypeError(
                f"{name}(): argument '{param}' failed to unpack the object at pos {i + 1} with error"
                f' "type must be tuple of ints,but got {type_name(value)}"'
            )


def _holds_tensor(value, depth=2):
    """Whether `value` is a tensor, or contains one in nested lists; a list may contain itself."""
    return isinstance(value, Variable) or (
        depth > 0 and isinstance(value, (tuple, list)) and any(_holds_tensor(v, depth - 1) for v in value)
    )


def _whole(value):
    if isinstance(value, (tuple, list)) and _holds_tensor(value):
        whole = [_whole(v) for v in value]
        return value if all(a is b for a, b in zip(whole, value, strict=True)) else type(value)(whole)
    return _as_number("int", value) if is_index(value) else value


def _as_number(kind, value):
    """Converts a tensor, alone or in a list, to the number that `kind` requires."""
    if isinstance(value, (tuple, list)) and (
        _holds_tensor(value) or (kind in _WHOLE and _holds_index(value))
    ):
        return type(value)([_as_number(kind, v) for v in value])
    if kind in _WHOLE and _holds_index(value):
        return operator.index(value)
    if not isinstance(value, Variable) or value._data.size != 1 or value.requires_grad:
        return value
    return int(value.item()) if kind in _WHOLE else value.item()


# -- what the user is told ------------------------------------------------------------------------------


def why(key, fn, args, kwargs, error):
    """PyTorch's message for a call of `key` that failed with `error`, or None if its arguments are valid."""
    if key in INSIDE:
        try:
            _bound_inside(key, fn, args, kwargs)
        except TypeError as complaint:
            return str(complaint)
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
    got = ", ".join([type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in sorted(kwargs.items())])
    got += ", " if kwargs and not args else ""
    begin = f"{name}() received an invalid combination of arguments - got "
    if len(forms) == 1:
        last = [p[1] for p in forms[0].params[-len(kwargs) :]]  # where PyTorch checks keywords
        unknown = [k for k in kwargs if k not in last]
        if unknown:
            return f"{begin}unrecognized keyword arguments: {', '.join(unknown)}"
        return f"{begin}({got}), but expected {forms[0].shown()}"
    return begin + f"({got}), but expected one of:\n" + "".join(f" * {f.shown()}\n" for f in forms)


TENSORS = {"input", "other", "weight", "target", "tensor", "query", "key", "value", "A", "B", "a", "b", "input1", "input2", "x1", "x2", "anchor", "positive", "negative", "logits", "log_probs", "grid", "theta"}  # fmt: skip
"""Names of parameters that are tensors, in functions that are Python in PyTorch too."""


def _of_plain_python(fn, args, kwargs, error):
    """For a function that is Python in PyTorch too: Python's own errors are right; others may hide a wrong type."""
    if not isinstance(error, (AttributeError, KeyError, StopIteration, TypeError)) or isinstance(
        error, NotImplementedError
    ):
        return None
    code = getattr(fn, "__code__", None)
    if code is None:
        return None
    names = code.co_varnames[: code.co_argcount]
    numbers = () if isinstance(error, AttributeError) else (int, float)
    for i, (name, value) in enumerate([*zip(names, args, strict=False), *kwargs.items()]):
        if name == "dim" and isinstance(value, (str, float)):  # passed on to the method
            return f"{fn.__name__}(): argument 'dim' (position 1) must be int, not {type_name(value)}"
        if name in TENSORS and value is not None and not isinstance(value, (Variable, *numbers)):
            place = f" (position {i + 1})" if i < len(args) else ""
            return f"{fn.__name__}(): argument '{name}'{place} must be Tensor, not {type_name(value)}"
    if isinstance(error, (AttributeError, StopIteration)) or (isinstance(error, KeyError) and kwargs):
        first = next((a for a in (*args, *kwargs.values()) if not isinstance(a, Variable)), None)
        if first is not None or args:
            return f"{fn.__name__}(): an argument of type {type_name(first if first is not None else args[0])} does not fit: {error}"
    return None


# -- older forms, and others ----------------------------------------------------------------------------


def other_form(key, args, kwargs, error):
    """(args, kwargs) of a failed call of `key`, rewritten in the form that functions here expect; None if they are already."""
    renamed = own_names(key, kwargs, error)
    if renamed is not None:
        return args, renamed
    return (
        by_place(key, args, kwargs, error)
        or number_first(key, args, kwargs)
        or with_numbers(key, args, kwargs)
    )


def number_first(key, args, kwargs):
    """(args, kwargs) of torch.add(2, x) or torch.add(1, 2), with the first number as a tensor; None if it does not apply."""
    if key not in TAKE_NUMBERS:
        return None
    if not args or not isinstance(args[0], (bool, int, float)):
        return None
    from ..ops.rule import tensor_of

    like = args[1] if len(args) > 1 and isinstance(args[1], Variable) else None
    return (tensor_of(args[0], like), *args[1:]), kwargs


_SCALED = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}
_PRODUCTS = ("addmm", "addmv", "addr", "addbmm", "baddbmm")
_OPERANDS = {
    "add": ("other",), "sub": ("other",), "addcmul": ("tensor1", "tensor2"), "addcdiv": ("tensor1", "tensor2"), "addmm": ("mat1", "mat2"),
    "addmv": ("mat", "vec"), "addr": ("vec1", "vec2"), "addbmm": ("batch1", "batch2"), "baddbmm": ("batch1", "batch2"),
}  # fmt: skip


@functools.cache
def _older_forms(key):
    """The deprecated signatures of a function in which a number comes between its tensors."""
    place, _, name = key.rpartition(".")
    plain = name.rstrip("_")
    operands = _OPERANDS.get(plain, ())
    first = () if place == "Tensor" else ("Tensor input",)
    if plain in _SCALED:
        parts = [[*first, f"Number {_SCALED[plain]}"]]
    else:
        parts = [["Number beta", *first], ["Number beta", *first, "Number alpha"]] if operands else []
    return [Form(f"({', '.join([*begin, *(f'Tensor {t}' for t in operands)])})") for begin in parts]


def number_in_the_middle(key, args, kwargs):
    """(args, kwargs) of a deprecated form such as x.add_(2, y), which means x.add_(y, alpha=2); None if it does not apply."""
    name = key.rpartition(".")[2]
    form = next((f for f in _older_forms(key) if f.complaint(name, args, kwargs) is None), None)
    if form is None:
        return None
    bound = form.bound(args, kwargs)
    if any(kind == "Number" and isinstance(value, complex) for kind, _, value, _ in bound):
        return None
    numbers = {
        param: value.item() if isinstance(value, (Variable, np.generic)) else value
        for kind, param, value, _ in bound
        if kind == "Number"
    }
    old, now = _overloads(name, key.startswith("Tensor."), list(numbers))
    warn_once(
        f"This overload of {name} is deprecated:\n\t{old}\nConsider using one of the following signatures instead:\n\t{now}"
    )
    return tuple([value for kind, _, value, _ in bound if kind == "Tensor"]), numbers


def _overloads(name, method, numbers):
    """The deprecated signature of a function in which `numbers` come between its tensors, and the one to use, as PyTorch prints them."""
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


def with_numbers(key, args, kwargs):
    """The arguments with one-element tensors that are used as sizes converted to numbers; None if there are none."""
    if key not in _WITH_SIZES or not any(map(_holds_tensor, (*args[1:], *kwargs.values()))):
        return None
    numbers = (*args[:1], *map(_whole, args[1:]))
    named_numbers = {k: _whole(v) for k, v in kwargs.items()}
    same = all(a is b for a, b in zip(numbers, args, strict=True))
    return (
        None if same and all(named_numbers[k] is v for k, v in kwargs.items()) else (numbers, named_numbers)
    )


_WITH_SIZES = {
    f"F.{name}"
    for name in (
        "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "interpolate", "max_pool1d", "max_pool2d", "pad",
    )
}  # fmt: skip
"""Functions that are Python in PyTorch, and pass sizes on to a function that accepts tensors for them."""


def own_names(key, kwargs, error):
    """`kwargs` with NumPy's names replaced by PyTorch's, if a call of `key` failed because of them; otherwise None."""
    known = forms_of(key) if kwargs and isinstance(error, TypeError) else None
    if known is None:
        return None
    names = {p[1] for form in known[1] for p in form.params}
    renamed = {
        alias: name
        for name in names
        for alias in ALIASES.get(name, ())
        if alias in kwargs and alias not in names
    }
    if not renamed or any(name in kwargs for name in renamed.values()):
        return None
    return {renamed.get(k, k): v for k, v in kwargs.items()}


def by_place(key, args, kwargs, error):
    """(args, kwargs) with names that only one signature has, as in tensor_split(x, sections=2), made positional; None if it does not
    apply.
    """
    known = forms_of(key) if kwargs and isinstance(error, TypeError) else None
    form = known and next((form for form in known[1] if form.complaint(known[0], args, kwargs) is None), None)
    if not form or form.takes_ints:  # a lone int is a size only by position
        return None
    placed, rest = list(args), dict(kwargs)
    for _, name, *_ in form.params[len(args) : form.positional]:
        if name not in rest:
            break
        placed.append(rest.pop(name))
    return (placed, rest) if len(placed) > len(args) else None
