"""The forms in which PyTorch's functions can be called (signatures.txt), and which values fit the kinds of parameters they have."""

import functools
import operator
import re

import numpy as np

from ..autograd import errors
from ..autograd.variable import Variable
from ..dtypes import dtype
from ..layout import layout, memory_format
from ..random import Generator
from ..world.device import device


class Form:
    """One way to call a function: its parameters as (kind, name, is required, may be None).

    `dim?` in its text may be None though PyTorch's messages do not say so, and `dims[]` takes ints in a list only.
    """

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
            if name.endswith("[]"):
                kind, name = "list of ints", name[:-2]
            bare = name.rstrip("?")
            self.params.append((kind, bare, not default, default == "None" or bare != name))
        if self.positional is None:
            self.positional = len(self.params)
        self.required = sum(p[2] for p in self.params)
        kinds = [p[0] for p in self.params[: self.positional]]
        self.takes_ints = kinds in (["tuple of ints"], ["list of ints"])  # reshape(2, 3) for reshape((2, 3))

    def shown(self):
        """The form as messages show it."""
        return re.sub(r"\?|\[\]", "", self.text).replace(" = ...", " = None")

    def complaint(self, name, args, kwargs):
        """What PyTorch says if it tries this form, or None if the call fits."""
        given = len(args)
        several = self.takes_ints and given > 1 and gives_index(args[0])
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
                alias = next((a for a in (param, *ALIASES.get(param, ())) if a in unused), None)
                if alias is None:
                    if required:
                        return self._missing(name, i)
                    continue
                value = unused.pop(alias)
            if (value is None and may_be_none) or fits(kind, value):
                continue
            if self.takes_ints and by_place and gives_index(value):
                continue
            if kind == "int" and param in INDICES.get(name.removesuffix("_"), ()) and _is_one_int(value):
                continue
            if kind == "Tensor" and _is_number(value) and name.removesuffix("_") in TAKE_NUMBERS:
                continue
            what = f"{name}(): argument '{param}'" + (f" (position {i + 1})" if by_place else "")
            wanted = kind.removesuffix(" or None").replace("list of", "tuple of")
            if isinstance(value, (tuple, list)) and wanted.startswith("tuple of "):
                inner = next(((j, v) for j, v in enumerate(value) if not fits(_ELEMENTS[kind], v)), None)
                if inner is not None and kind == "tuple of Tensors":
                    return f"expected Tensor as element {inner[0]} in argument {i}, but got {type_name(inner[1])}"
                if inner is not None and by_place:
                    return f"{what} must be {wanted}, but found element of type {type_name(inner[1])} at pos {inner[0]}"
            return f"{what} must be {wanted}, not {type_name(value)}"
        for param in unused:
            if any(p[1] == param for p in self.params):
                return f"{name}() got multiple values for argument '{param}'"
            return f"{name}() got an unexpected keyword argument '{param}'"
        return None

    def bound(self, args, kwargs):
        """[(kind, parameter, value, place)] of a call that fits; a place is a number, or the name of a keyword."""
        ints = self.takes_ints and len(args) > 1
        params = [("index", self.params[0][1])] * len(args) if ints else self.params
        by_name = [
            (kind, name, kwargs[alias], alias)
            for kind, name, *_ in self.params[1 if ints else len(args) :]
            for alias in (name, *ALIASES.get(name, ()))
            if alias in kwargs
        ]
        return [(*param[:2], args[i], i) for i, param in enumerate(params[: len(args)])] + by_name

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
    "copy",
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

INDICES = {
    line.split()[0]: frozenset(line.split()[1:])
    for line in """
        as_strided storage_offset
        as_strided_scatter storage_offset
        bincount minlength
        channel_shuffle groups
        conv1d groups
        conv2d groups
        conv3d groups
        conv_transpose1d groups
        conv_transpose2d groups
        conv_transpose3d groups
        cross_entropy_loss ignore_index
        embedding padding_idx
        eye n m
        kthvalue k
        multinomial num_samples
        narrow start length
        nll_loss_nd ignore_index
        randint low high
        randint_like low high
        randperm n
        repeat_interleave repeats output_size
        select index
        select_scatter index
        slice_scatter start end step
        split split_size
        tensor_split sections
        topk k
        tril diagonal
        triu diagonal
        unsafe_split split_size
    """.strip().splitlines()
}
"""Ints that may be what one of several ints may be (PyTorch's SymInt). For other ints a tensor needs to be 0-d."""

INSIDE = {
    line.split()[0]: line.split()[1:]
    for line in """
        F.celu celu input alpha
        F.elu nn.elu input alpha
        F.glu nn.glu input dim
        F.hardsigmoid nn.hardsigmoid input
        F.hardswish nn.hardswish input
        F.hardtanh nn.hardtanh input min_val max_val
        F.leaky_relu nn.leaky_relu input negative_slope
        F.mish nn.mish input
        F.relu6 nn.relu6 input
        F.rrelu rrelu input lower upper training
        F.selu selu input
        F.silu nn.silu input
        F.threshold threshold input threshold value
        F.batch_norm batch_norm input weight bias running_mean running_var training momentum eps True
        F.instance_norm instance_norm input weight bias running_mean running_var use_input_stats momentum eps True
        F.group_norm group_norm input num_groups weight bias eps True
        F.layer_norm layer_norm input normalized_shape weight bias eps True
        F.rms_norm rms_norm input normalized_shape weight eps
        F.embedding embedding weight input padding_idx|-1 scale_grad_by_freq sparse
        F.embedding_bag embedding_bag weight input offsets|input scale_grad_by_freq 0 sparse per_sample_weights False padding_idx
        F.hinge_embedding_loss hinge_embedding_loss input target margin 0
        F.margin_ranking_loss margin_ranking_loss input1 input2 target margin 0
        F.cosine_embedding_loss cosine_embedding_loss input1 input2 target margin 0
        F.triplet_margin_loss triplet_margin_loss anchor positive negative margin p eps swap 0
        F.poisson_nll_loss poisson_nll_loss input target log_input full eps 0
        F.nll_loss nn.nll_loss_nd input target weight 0 ignore_index
        F.cross_entropy nn.cross_entropy_loss input target weight 0 ignore_index label_smoothing
        F.multi_margin_loss nn.multi_margin_loss input target p margin weight 0
        F.multilabel_margin_loss nn.multilabel_margin_loss input target 0
        F.soft_margin_loss nn.soft_margin_loss input target 0
        F.max_pool1d max_pool1d input kernel_size stride|() padding dilation ceil_mode
        F.max_pool2d max_pool2d input kernel_size stride|() padding dilation ceil_mode
        F.max_pool3d max_pool3d input kernel_size stride|() padding dilation ceil_mode
        F.pad nn.pad input pad mode value
        F.softmax Tensor.softmax dim|0 dtype
        F.log_softmax Tensor.log_softmax dim|0 dtype
        F.softmin Tensor.softmax dim|0 dtype
        unique nn._unique2 input sorted= return_inverse= return_counts=
        Tensor.unique nn._unique2 input sorted= return_inverse= return_counts=
        unique_consecutive nn.unique_consecutive input return_inverse= return_counts= dim=
        Tensor.unique_consecutive nn.unique_consecutive input return_inverse= return_counts= dim=
    """.strip().splitlines()
}
"""Functions that PyTorch has in Python, what each calls with which of its arguments, and what it puts for None there."""

ALIASES = {"dim": ("axis",), "keepdim": ("keepdims",), "input": ("x", "a", "x1"), "other": ("x2",)}
"""NumPy's names for some parameters, which PyTorch takes too."""

_ELEMENTS = {
    "tuple of ints": "index",
    "list of ints": "index",
    "tuple of Tensors": "Tensor",
    "tuple of floats": "float",
    "tuple of bools": "bool",
}


# -- what fits -----------------------------------------------------------------------------------------


def _is_int(v):
    if isinstance(v, Variable):
        return v._data.ndim == 0 and v._data.dtype.kind in "iu"
    return isinstance(v, (int, np.integer)) and not isinstance(v, bool)


def is_index(v):
    """Whether it may be the one int, or the first of the ints, of a size or of dims: there a tensor has one element of any shape."""
    return (
        v._data.size == 1 and v._data.dtype.kind in "iub"
        if isinstance(v, Variable)
        else isinstance(v, (int, np.integer)) and not isinstance(v, bool)
    )


def gives_index(v):
    """Whether it may be one of several ints: of those any type will do that has an `__index__`, as NumPy's arrays of no dims."""
    if isinstance(v, (int, np.integer, Variable)):
        return is_index(v)
    if isinstance(v, np.bool_) or not hasattr(v, "__index__"):
        return False
    try:
        operator.index(v)
    except Exception:
        return False
    return True


def _is_one_int(v):
    return v._data.size == 1 and v._data.dtype.kind in "iu" if isinstance(v, Variable) else gives_index(v)


def _are_indices(v):
    """PyTorch looks at the first: what the others are shows when they are read (`_check_all`)."""
    return isinstance(v, (tuple, list)) and (not v or gives_index(v[0]))


def _is_number(v):
    return isinstance(v, (int, float, complex, np.number, np.bool_)) or (
        isinstance(v, Variable) and v._data.ndim == 0 and not v.requires_grad
    )


_KINDS = {
    "Tensor": lambda v: isinstance(v, Variable),
    "Number": _is_number,
    "int": _is_int,
    "float": lambda v: _is_number(v) and not isinstance(v, (complex, np.complexfloating)),
    "bool": lambda v: isinstance(v, bool),
    "str": lambda v: isinstance(v, str),
    "Tensor or None": lambda v: v is None or isinstance(v, Variable),
    "index": gives_index,
    "tuple of ints": lambda v: is_index(v) or _are_indices(v),
    "list of ints": _are_indices,
    "tuple of Tensors": lambda v: isinstance(v, (tuple, list)) and all(isinstance(t, Variable) for t in v),
    "tuple of floats": lambda v: isinstance(v, (tuple, list)) and all(map(_is_number, v)),
    "torch.dtype": lambda v: (
        isinstance(v, dtype) or (isinstance(v, type) and v in (float, int, bool, complex))
    ),
    "torch.layout": lambda v: isinstance(v, layout) and not isinstance(v, memory_format),
    "torch.memory_format": lambda v: isinstance(v, memory_format),
    "torch.device": lambda v: isinstance(v, (device, str)) or (_is_int(v) and not isinstance(v, Variable)),
    "torch.Storage": lambda v: hasattr(v, "_memory"),
    "torch.Generator": lambda v: isinstance(v, Generator),
}


def fits(kind, value):
    """Whether `value` may be passed where PyTorch's parser wants `kind`; unknown kinds take anything."""
    check = _KINDS.get(kind)
    return check is None or bool(check(value))


def type_name(value):
    """The type of an argument as PyTorch's messages about arguments put it."""
    if isinstance(value, Variable):
        return "Parameter" if type(value).__name__ == "Parameter" else "Tensor"
    if isinstance(value, dtype):
        return "torch.dtype"
    kind = type(value)
    if kind.__module__.startswith("autograd_lab.") and kind.__name__ in ("device", "layout", "memory_format"):
        return f"torch.{kind.__name__}"
    return errors.type_name(value)


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
    from pathlib import Path  # which loads much, and nothing else here needs it

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
