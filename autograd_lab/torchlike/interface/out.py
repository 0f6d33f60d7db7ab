"""The `out` argument: what a function returned is written into tensors that are given.

Functions compute without knowing of it. What PyTorch's would do with an `out` of another type, or one that lies over
what is read, stands here in tables, by the name of the function.
"""

from ..autograd.errors import CPP_NAMES, TYPE_NAMES
from ..autograd.memory import check_apart, check_overlap, has_no_gaps
from ..autograd.modes import THREAD
from ..autograd.record import RANK
from ..autograd.variable import Variable
from ..dtypes import to_dtype
from ..ops.rule import METHODS
from ..world.warning import warn
from .forms import forms_of, type_name

_MADE_IN_ROWS = ("arange", "range", "linspace", "logspace")


def typed_as(out, key, args, kwargs):
    """The settings of a function that only makes numbers, or adds them up, so that it does so in the type of `out`."""
    if kwargs.get("dtype") is not None and isinstance(out, Variable):
        _check_wanted(out, key, to_dtype(kwargs["dtype"]))
    elif key in _IN_TYPE_OF_OUT and isinstance(out, Variable):
        between_floats = [t.dtype.is_floating_point for t in (out, *args[:1])] == [True, True]
        return kwargs | {"dtype": out.dtype} if between_floats or key not in _MEANS else kwargs
    if key == "nonzero" and kwargs.get("as_tuple"):
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
    known = forms_of(key)
    params = [p for f in (known[1] if known else ()) for p in f.params]
    names = {p[1] for p in params}
    makes = not any(
        p[0] in ("Tensor", "tuple of Tensors") and p[1] not in ("out", "start", "end") for p in params
    )
    if not makes or "dtype" not in names or "out" not in names or not isinstance(out, Variable):
        return kwargs
    if kwargs.get("dtype") is not None:
        given = to_dtype(kwargs["dtype"])
        if given.np != out._data.dtype:
            raise RuntimeError(
                f"dtype {given.type_name} does not match dtype of out parameter ({out.dtype.type_name})"
            )
    return kwargs | {"dtype": out.dtype}


def _check_wanted(out, key, dtype):
    """Raise RuntimeError if a function that adds up is to do so in another type than that of `out`."""
    if dtype is out.dtype:
        return
    own, got = dtype.np.name, out._data.dtype.name
    if key in ("nansum", "nanmean"):
        raise RuntimeError(
            f"nansum: provided dtype must match dtype of result. Got {TYPE_NAMES[got]} and {TYPE_NAMES[own]}."
        )
    if key in _IN_TYPE_OF_OUT or key == "mean":
        raise RuntimeError(_EXPECTED_OUT.format(own=CPP_NAMES[own], out=CPP_NAMES[got]))


def refuse_dual(key, out, values):
    """Raises NotImplementedError if `out` or an operand has a tangent, which writing to `out` would lose."""
    tensors = [
        t
        for v in (out, *values)
        for t in (v if isinstance(v, (list, tuple)) else (v,))
        if isinstance(t, Variable)
    ]
    if any(THREAD.state.dual.tangents(t) for t in tensors):
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
    if several and name == "nonzero":
        raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
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
    if name == "matmul" and operands[0]._data.ndim == operands[1]._data.ndim == 1:
        name = "dot"
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
        "neg negative floor ceil trunc fix round abs absolute sign sgn frac bitwise_not clamp clip clamp_min clamp_max"
    ),
    "Expected out tensor to have dtype {own}, but got {out} instead": (
        "softmax log_softmax tril triu diag gather argmax argmin mm addmm bmm linalg_vector_norm aminmax addmv baddbmm matmul mv "
        "cross linalg_cross cumprod cumsum index_add index_copy index_reduce isin mean msort prod renorm scatter scatter_add "
        "scatter_reduce sum take_along_dim"
    ),
    "Expected the dtype for input and out to match, but got {Own} for input's dtype and {Out} for out's dtype.": "amax amin",
    "expected scalar_type {Own} but found {Out}": "logcumsumexp",
    "nan_to_num: dtype of out: {Out} should be same as input: {Own}": "nan_to_num",
    "Expected out type to be {Own} but got {Out}": "where",
    "result dtype {Out} does not match input dtype {Own}": "dot vdot",
    "self and mat2 must have the same dtype, but got {Out} and {Own}": "addbmm",
    "nansum: provided dtype must match dtype of result. Got {Out} and {Own}.": "nansum nanmean",
    "quantile() out tensor must be same dtype as the input tensor": "quantile nanquantile",
    "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {own} and hist {out}": "histc",
    "the output given to float_power has dtype {Out} but the operation's result requires dtype {Own}": "float_power",
    "linalg.norm expected out tensor dtype {Own} but got: {Out}": "linalg_norm",
    "linalg.matrix_norm expected out tensor dtype {Own} but got: {Out}": "linalg_matrix_norm",
    "tensordot: Expected the output tensor to have dtype {Own}, but got an output tensor with dtype {Out}": "tensordot inner",
    "{name}(): self and result must have the same scalar type": "index_select masked_select",
    "take(): self and out expected to have the same dtype, but got self.dtype = {Own} and out.dtype = {Out}": "take",
    "{name} does not support non-boolean outputs.": "signbit isposinf isneginf",
    "multinomial expects Long tensor out, got: {Out}": "multinomial",
    "{name} only supports bool tensor for result, got: {Out}": "all any",
    "nonzero: Expected out tensor to have scalar type Long but got scalar type{Out}": "nonzero",
    "torch.searchsorted(): output tensor's dtype is wrong, it can only be Int(int32) or Long(int64) depending on whether out_int32 flag "
    "is True, but we got output tensor's dtype {Out} and out_int32 flag is {short}": "searchsorted bucketize",
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
    "frexp": (
        "torch.frexp() expects mantissa to have dtype {own} but got {out}",
        "torch.frexp() expects exponent to have int dtype but got {out}",
    ),
    "histogram": (
        "torch.histogram: input tensor and hist tensor should have the same dtype, but got input {own} and hist {out}",
        "torch.histogram: input tensor and bin_edges tensor should have the same dtype, but got input {own} and bin_edges {out} "
        "for dimension 0",
    ),
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

_IN_TYPE_OF_OUT = ("sum", "prod", "cumsum", "cumprod", "mean", "nansum", "nanmean")
_MEANS = ("mean", "nansum", "nanmean")
"""These compute in the type of `out`, the last ones if both types are floating."""


def _check_type(out, result, name, nr):
    """Raise RuntimeError or TypeError if a function does not write its result (number `nr`, if it has several) as the type of `out`."""
    have, want = result._data, out._data
    converts = name == "bernoulli" or (name in _TRUTHS and want.dtype.name in ("bool", "uint8"))
    text = _OUT_REFUSES.get(name) if nr is None or name not in _OF_SEVERAL else _OF_SEVERAL[name][nr]
    if have.dtype is not want.dtype and text and not converts:
        own, got = have.dtype.name, want.dtype.name
        raise RuntimeError(
            text.format(
                name=name,
                own=CPP_NAMES[own],
                out=CPP_NAMES[got],
                Own=TYPE_NAMES[own],
                Out=TYPE_NAMES[got],
                short=own == "int32",
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
