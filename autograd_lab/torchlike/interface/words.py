"""NumPy's words for dim and keepdim, which PyTorch's functions take as well."""

import functools
from inspect import unwrap

from ..ops.rule import FUNCTIONS, METHODS


def numpy_words(fn):
    """`fn`, which takes `axis` for `dim` and `keepdims` for `keepdim` as well."""

    @functools.wraps(fn)
    def call(*args, **kwargs):
        if kwargs:
            for word, name in (("axis", "dim"), ("keepdims", "keepdim")):
                if word in kwargs:
                    kwargs[name] = kwargs.pop(word)
        return fn(*args, **kwargs)

    return call


def take_numpy_words(page):
    """Let all functions and methods that the page named `page` has defined, and that have a `dim`, take NumPy's words."""
    for table in (FUNCTIONS, METHODS):
        for name, fn in [*table.entered.items()]:
            if getattr(fn, "__module__", None) == page and "dim" in _parameters(fn):
                table[name] = numpy_words(fn)


def _parameters(fn):
    code = unwrap(fn).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
