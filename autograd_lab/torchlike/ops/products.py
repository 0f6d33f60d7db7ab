"""The rules of the matrix products: dot, mv, mm, bmm, their `add...` forms, and the reduction of everything
else to them.

`matmul` has no rule of its own: like PyTorch, it reshapes its operands until one of these fits, so that the graph of `a @ b` shows the
views and products that its gradient passes through.
"""

import math
import operator

import numpy as np

from ...core.record import record, record_all
from ...core.rules.matrices import MmBackward0, MvBackward0, TwoMatrices, memory_of
from ...core.seams import extend
from ..autograd.errors import CPP_NAMES, not_for, other_type, type_name
from ..autograd.float16 import HALF
from ..autograd.metadata import sum_rows, summed
from ..autograd.modes import THREAD
from ..autograd.record import apply, apply_inplace
from ..autograd.seams import DOORS
from ..autograd.variable import INFERENCE, NO_EDGE, Variable, find_edge, version_of
from ..autograd.views import check_writable
from ..dtypes import ALL
from ..world.warning import warn_once
from .reductions import wrap_dims
from .rule import FUNCTIONS, METHODS, Rule, common_type, function, no_bools, shape_error
from .shapes import UnsafeViewBackward0

_multiply = operator.matmul
_BOOL = np.dtype(bool)


def _t(x):
    """The transpose of a matrix."""
    return x.t() if isinstance(x, Variable) else x.T


def _swap(x):
    """The last two dims swapped."""
    return x.transpose(1, 2) if isinstance(x, Variable) else x.swapaxes(-2, -1)


def _mm(x, y):
    return mm(x, y) if isinstance(x, Variable) else x @ y


def _mv(x, y):
    return mv(x, y) if isinstance(x, Variable) else x @ y


def _bmm(x, y):
    return bmm(x, y) if isinstance(x, Variable) else x @ y


def _outer(x, y):
    return x.reshape((-1, 1)) * y


def _scaled(g, factor):
    return g if factor == 1 else g * factor


# -- two matrices -------------------------------------------------------------------------------------


def _read_saved(node, name):
    """The sizes and strides of the factors, which PyTorch stores with them, and what other nodes have."""
    *shapes, left, right, size = node.args[-5:]
    for i, factor in enumerate(node.factors):
        if name == factor + "_sym_sizes":
            return shapes[i]
        if name == factor + "_sym_strides":  # stored only for the memory layout of that factor's gradient
            wanted = node.needs(i + len(node.inputs) - 2)
            return tuple(step // size for step in (left, right)[i]) if wanted else ()
    return Rule._read_saved(node, name)


extend(TwoMatrices, _read_saved=_read_saved)


@function
def mm(input, mat2):
    """The product of two matrices (torch.mm)."""
    try:
        x, y = input._data, mat2._data
    except AttributeError:
        _tensors("mm", input=input, mat2=mat2)
        raise
    if (
        x.dtype is not y.dtype
        or x.ndim != 2
        or y.ndim != 2
        or x.shape[1] != y.shape[0]
        or x.dtype.kind == "b"
    ):
        _check_mm(x, y)
    state = THREAD.state
    data = state.run(_multiply, x, y) if x.dtype is HALF else state.run(x.dot, y)  # with less overhead
    return record_all(state, MmBackward0, (input, mat2), data, memory_of(x, y))


FUNCTIONS["spmm"] = mm  # PyTorch accepts dense matrices there too


def _check_mm(x, y):
    if x.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if y.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _check_inner(x.shape, y.shape)
    if x.dtype is not y.dtype:
        raise RuntimeError(f"expected m1 and m2 to have the same dtype, but got: {_cpp(x)} != {_cpp(y)}")
    if x.dtype.kind == "b":
        raise not_for(x.dtype, "addmm_impl_cpu_")


def _check_inner(a, b):
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def _cpp(x):
    return CPP_NAMES[x.dtype.name]


def _name(x):
    return ALL[x.dtype].type_name


def _tensors(op, **operands):
    for i, (name, t) in enumerate(operands.items()):
        if not isinstance(t, Variable):
            raise TypeError(
                f"{op}(): argument '{name}' (position {i + 1}) must be Tensor, not {type_name(t)}"
            )


class AddmmBackward0(TwoMatrices):
    """A matrix product added to a tensor: the fully connected layer.

    Math: y = beta * a + alpha * b @ c.   VJP: to a: beta * g; to b: alpha * g @ c.T; to c: alpha * b.T @ g.
    Shapes: c broadcasts to (n, p); its gradient is summed back.   Saves: each factor the other needs. PyTorch:
    torch.addmm
    """

    op = "addmm"
    inputs = ("self", "mat1", "mat2")
    factors = ("mat1", "mat2")
    shows = ("mat1_sym_sizes", "mat1_sym_strides", "mat2_sym_sizes", "mat2_sym_strides")
    saves = ("mat1", "mat2")
    saves_if = {"mat1": (2,), "mat2": (1,)}
    keeps = ("beta", "alpha")

    def forward(c, x, y, beta=1, alpha=1, *layout):
        product = x @ y if x.dtype is HALF else x.dot(y)  # with less around it
        if alpha != 1:
            product *= x.dtype.type(alpha)
        if beta == 0:
            return product
        product += c if beta == 1 else c * x.dtype.type(beta)
        return product

    def vjp(self, g, a, b):
        beta, alpha, shape, _, _, _, right, size = self.args
        if type(g) is np.ndarray and beta == 1 == alpha and g.shape[1:] == shape:
            # The common layer, written out.
            return (
                None if self._next[0] is NO_EDGE else sum_rows(g),
                None if b is None else g.dot(b.T),
                None if a is None else g.T.dot(a).T if right[0] == size else a.T.dot(g),
            )
        to_c = None
        if self.needs(0):
            to_c = g if beta == 1 else g * beta
            if g.shape != shape:
                to_c = summed(to_c, shape)
        to_a = self.to_first(g, b)
        to_b = self.to_second(g, a)
        if alpha != 1:
            to_a, to_b = (None if to is None else to * alpha for to in (to_a, to_b))
        return to_c, to_a, to_b


@function
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """`beta * input + alpha * mat1 @ mat2` (torch.addmm)."""
    c, x, y = input._data, mat1._data, mat2._data
    if x.ndim != 2 or y.ndim != 2 or x.shape[1] != y.shape[0] or not c.dtype is x.dtype is y.dtype:
        check_addmm(c, x, y)
    if x.dtype is _BOOL:
        raise not_for(x.dtype, "addmm_impl_cpu_")
    state = THREAD.state
    try:
        data = state.run(AddmmBackward0.forward, c, x, y, beta, alpha)
    except ValueError:
        raise _expand_error(c.shape, (x.shape[0], y.shape[1])) from None
    args = beta, alpha, c.shape, *memory_of(x, y)
    ec, ea, eb = input._edge or find_edge(input), mat1._edge or find_edge(mat1), mat2._edge or find_edge(mat2)
    needs = state.grad and (ec is not NO_EDGE) | (ea is not NO_EDGE) << 1 | (eb is not NO_EDGE) << 2
    return record(state, AddmmBackward0, (input, mat1, mat2), (ec, ea, eb), needs, data, args)


def check_addmm(c, x, y):
    for name, m in (("mat1", x), ("mat2", y)):
        if m.ndim != 2:
            raise RuntimeError(f"{name} must be a matrix, got {m.ndim}-D tensor")
    if x.dtype is not y.dtype:
        raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {_name(x)} and {_name(y)}")
    _check_inner(x.shape, y.shape)
    if c.dtype is not y.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {_name(c)} and {_name(y)}")


def _expand_error(have, want):
    for i in range(1, len(have) + 1):
        if i > len(want):
            return RuntimeError(
                f"expand(torch.FloatTensor{{{list(have)}}}, size={list(want)}): the number of sizes "
                f"provided ({len(want)}) "
                f"must be greater or equal to the number of dimensions in the tensor ({len(have)})"
            )
        if have[-i] not in (1, want[-i]):
            return RuntimeError(
                f"The expanded size of the tensor ({want[-i]}) must match the existing size ({have[-i]}) at "
                "non-singleton "
                f"dimension {len(want) - i}.  Target sizes: {list(want)}.  Tensor sizes: {list(have)}"
            )
    return RuntimeError(f"shapes {list(have)} and {list(want)} do not fit together")


def linear(input, weight, bias=None):
    """`input @ weight^T + bias` along the last dim (torch.nn.functional.linear).

    A batch of vectors is one AddmmBackward0, fed by the TBackward0 of the weight.
    """
    if DOORS.linear is not None and bias is not None:
        out = DOORS.linear(input, weight, bias)
        if out is not None:
            return out
    if not (isinstance(input, Variable) and isinstance(weight, Variable)):
        _tensors("linear", input=input, weight=weight)
    return _any_linear(input, weight, bias)


def _any_linear(input, weight, bias):
    """A linear layer for vectors, nested batches, constants: built from views, products and sums."""
    x = input._data
    if not x.ndim or not weight._data.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {x.ndim}D and {weight._data.ndim}D"
        )
    if bias is None:
        return matmul(input, weight.t())
    if x.ndim == 2:
        return addmm(bias, input, weight.t())
    c = bias._data
    if c.ndim != 1 or not (x.flags.c_contiguous and c.flags.c_contiguous):
        out = matmul(input, weight.t())
        if c.ndim != 1 or not out._data.ndim or len(c) not in (1, out._data.shape[-1]):
            return out.add_(bias)
        added = out + bias
        if added._box is not INFERENCE:
            added._box = [version_of(out) + 1]  # PyTorch writes into `out`, which nothing else can see
        return added
    flat = input.view(-1, x.shape[-1]) if x.shape[-1] else input.reshape(math.prod(x.shape[:-1]), 0)
    return addmm(bias, flat, weight.t()).view(*x.shape[:-1], weight._data.shape[0])


# -- vectors ------------------------------------------------------------------------------------------


@function
def mv(input, vec):
    """A matrix times a vector (torch.mv)."""
    _tensors("mv", input=input, vec=vec)
    x, y = input._data, vec._data
    if x.ndim != 2 or y.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({x.shape[0]}), mat ({x.shape[0]}x{x.shape[1]}), vec ({y.shape[0]})"
        )
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {_name(y)}, {_name(x)}, and {_name(y)}"
        )
    no_bools(x, "addmv_impl_cpu")
    return apply(MvBackward0, (input, vec))


class DotBackward0(Rule):
    """Inner product of two vectors.

    Math: y = sum(a * b).   VJP: to a: g * b; to b: g * a.
    Shapes: (n,), (n,) -> ().   Saves: each factor the other needs.   PyTorch: torch.dot
    """

    op = "dot"
    inputs = ("self", "tensor")
    saves = ("self", "tensor")
    saves_if = {"self": (1,), "tensor": (0,)}

    def forward(x, y):
        return x.dot(y)

    def vjp(self, g, a, b):
        return None if b is None else g * b, None if a is None else g * a


class VdotBackward0(DotBackward0):
    """The inner product as torch.vdot: for real numbers the same as dot.

    Math: y = sum(a * b).   VJP: to a: g * b; to b: g * a.
    """

    op = "vdot"
    inputs = ("self", "other")
    saves = ("self", "other")
    saves_if = {"self": (1,), "other": (0,)}

    def forward(x, y):
        return x.dot(y)

    def vjp(self, g, a, b):
        to_other = None if a is None else g * a  # before the other one: see MulBackward0
        return None if b is None else g * b, to_other


@function
def dot(input, tensor):
    """The inner product of two vectors (torch.dot)."""
    _check_dot("dot", input, tensor)
    return apply(DotBackward0, (input, tensor))


@function
def vdot(input, other):
    """The inner product of two vectors (torch.vdot)."""
    _check_dot("vdot", input, other)
    return apply(VdotBackward0, (input, other))


def _check_dot(op, a, b):
    _tensors(op, input=a, tensor=b)
    x, y = a._data, b._data
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {x.ndim}D and {y.ndim}D tensors")
    if x.dtype is not y.dtype:
        raise RuntimeError(
            f"dot : expected both vectors to have same dtype, but found {_name(x)} and {_name(y)}"
        )
    if x.dtype.kind == "b":
        raise not_for(x.dtype, "dot")
    if x.shape != y.shape:
        n, m = len(x), len(y)
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of "
            "elements, but got "
            f"{n} and {m} elements respectively"
        )


@function
def outer(input, vec2):
    """All products a_i b_j of two vectors: a column times a row (torch.outer)."""
    for name, t in (("self", input), ("vec2", vec2)):
        if t._data.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {t._data.ndim}-D")
    return input.view(-1, 1) * vec2


FUNCTIONS["ger"], METHODS["ger"] = FUNCTIONS["outer"], METHODS["outer"]


class AddmvBackward0(Rule):
    """Matrix times vector, added to a vector.

    Math: y = beta * a + alpha * b @ c.   VJP: to a: beta * g; to b: alpha * outer(g, c); to c: alpha * b.T @ g.
    Shapes: c broadcasts to (n,).   Saves: each factor the other needs.   PyTorch: torch.addmv
    """

    op = "addmv"
    inputs = ("self", "mat", "vec")
    saves = ("mat", "vec")
    saves_if = {"mat": (2,), "vec": (1,)}
    keeps = ("beta", "alpha")

    def forward(c, x, y, beta, alpha, *shape):
        return _accumulate(c, x @ y, beta, alpha)

    def vjp(self, g, a, v):
        beta, alpha, shape = self.args
        to_c = summed(_scaled(g, beta), shape) if self.needs(0) else None
        return (
            to_c,
            None if v is None else _scaled(_outer(g, v), alpha),
            None if a is None else _scaled(_mv(_t(a), g), alpha),
        )


def _accumulate(c, product, beta, alpha):
    kind = product.dtype.type
    product = product * kind(alpha) if alpha != 1 else product
    if beta != 0:
        product = product + (c * kind(beta) if beta != 1 else c)
    return product


def _check_addmv(c, x, y):
    if x.ndim != 2 or y.ndim != 1 or c.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {c.ndim}, {x.ndim}, {y.ndim}")
    if x.shape[1] != y.shape[0] or (c.ndim and c.shape[0] not in (1, x.shape[0])):
        raise RuntimeError(
            f"size mismatch, got input ({c.shape[0] if c.ndim else 1}), mat ({x.shape[0]}x{x.shape[1]}), "
            f"vec ({y.shape[0]})"
        )


@function
def addmv(input, mat, vec, *, beta=1, alpha=1):
    """`beta * input + alpha * mat @ vec` (torch.addmv)."""
    c, x, y = input._data, mat._data, vec._data
    _check_addmv(c, x, y)
    if not c.dtype is x.dtype is y.dtype:
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {_name(c)}, {_name(x)}, and {_name(y)}"
        )
    no_bools(x, "addmv_impl_cpu")
    return apply(AddmvBackward0, (input, mat, vec), beta, alpha, c.shape)


class AddrBackward0(Rule):
    """An outer product added to a matrix.

    Math: y = beta * a + alpha * outer(b, c).   VJP: to a: beta * g; to b: alpha * g @ c; to c: alpha * g.T @ b.
    Shapes: c broadcasts to (n, m).   Saves: each factor the other needs.   PyTorch: torch.addr
    """

    op = "addr"
    inputs = ("self", "vec1", "vec2")
    saves = ("vec1", "vec2")
    saves_if = {"vec1": (2,), "vec2": (1,)}
    keeps = ("beta", "alpha")

    def forward(c, u, v, beta, alpha, *shape):
        return _accumulate(c, np.multiply.outer(u, v), beta, alpha)

    def vjp(self, g, u, v):
        beta, alpha, shape = self.args
        to_c = summed(_scaled(g, beta), shape) if self.needs(0) else None
        return (
            to_c,
            None if v is None else _scaled(_mv(g, v), alpha),
            None if u is None else _scaled(_mv(_t(g), u), alpha),
        )


@function
def addr(input, vec1, vec2, *, beta=1, alpha=1):
    """`beta * input + alpha * outer(vec1, vec2)` (torch.addr)."""
    u, v, c = vec1._data, vec2._data, input._data
    for i, x in enumerate((u, v)):
        if x.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument vec{i + 1}, but got {x.ndim}-D")
    _check_expands(c.shape, (len(u), len(v)))
    if not c.dtype is u.dtype is v.dtype:
        meeting = ALL[common_type([c, u, v])]
        input, vec1, vec2 = (t.to(meeting) for t in (input, vec1, vec2))
    return apply(AddrBackward0, (input, vec1, vec2), beta, alpha, c.shape)


def _check_expands(have, want):
    if len(have) > len(want) or any(h not in (1, w) for h, w in zip(have[::-1], want[::-1], strict=False)):
        raise _expand_error(have, want)


# -- batches ------------------------------------------------------------------------------------------


class BmmBackward0(Rule):
    """Products of two batches of matrices, one by one.

    Math: y = a @ b.   VJP: to a: g @ b.T; to b: a.T @ g.   Matrix by matrix: .T transposes each.
    Shapes: (k, n, m), (k, m, p) -> (k, n, p).   Saves: each factor the other needs.   PyTorch: torch.bmm
    """

    op = "bmm"
    inputs = ("self", "mat2")
    saves = ("self", "mat2")
    saves_if = {"self": (1,), "mat2": (0,)}
    forward = _multiply

    def vjp(self, g, a, b):
        to_b = None if a is None else _bmm(_swap(a), g)  # the second first: PyTorch goes by their names
        return None if b is None else _bmm(g, _swap(b)), to_b


@function
def bmm(input, mat2):
    """The products of two batches of matrices (torch.bmm)."""
    x, y = input._data, mat2._data
    for i, m in enumerate((x, y)):
        if m.ndim != 3:
            raise RuntimeError(f"batch{i + 1} must be a 3D tensor")
    no_bools(x, "bmm")
    _check_batches(x, y)
    return apply(BmmBackward0, (input, mat2))


def _check_batches(x, y):
    if y.shape[:2] != (x.shape[0], x.shape[2]):
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{x.shape[0]}, {x.shape[2]}] but got: "
            f"[{y.shape[0]}, {y.shape[1]}]."
        )
    if x.dtype is not y.dtype:
        raise other_type(x, y)


class BaddbmmBackward0(Rule):
    """Products of two batches of matrices, added to a tensor.

    Math: y = beta * a + alpha * b @ c.   VJP: to a: beta * g; to b: alpha * g @ c.T; to c: alpha * b.T @ g.
    Shapes: c broadcasts to (k, n, p).   Saves: each factor the other needs.   PyTorch: torch.baddbmm
    """

    op = "baddbmm"
    inputs = ("self", "batch1", "batch2")
    saves = ("batch1", "batch2")
    saves_if = {"batch1": (2,), "batch2": (1,)}
    keeps = ("beta", "alpha")

    def forward(c, x, y, beta, alpha, *shape):
        return _accumulate(c, x @ y, beta, alpha)

    def vjp(self, g, a, b):
        beta, alpha, shape = self.args
        to_c = summed(_scaled(g, beta), shape) if self.needs(0) else None
        return (
            to_c,
            None if b is None else _scaled(_bmm(g, _swap(b)), alpha),
            None if a is None else _scaled(_bmm(_swap(a), g), alpha),
        )


class AddbmmBackward0(BaddbmmBackward0):
    """Products of two batches of matrices, summed over the batch and added to a matrix.

    Math: y = beta * a + alpha * sum(b @ c, dim=0).   VJP: to a: beta * g; to b: alpha * g @ c.T; to c: alpha * b.T @
    g.
    Shapes: c broadcasts to (n, p).   Saves: each factor the other needs.   PyTorch: torch.addbmm
    """

    op = "addbmm"
    inputs = ("self", "batch1", "batch2")
    saves = ("batch1", "batch2")
    saves_if = {"batch1": (2,), "batch2": (1,)}
    keeps = ("beta", "alpha", "batch1_sym_argsize_0", "batch1_sym_argsize_1", "batch2_sym_argsize_2")

    def forward(c, x, y, beta, alpha, *sizes):
        return _accumulate(c, np.tensordot(x, y, ([0, 2], [0, 1])), beta, alpha)

    def vjp(self, g, a, b):
        beta, alpha, k, n, p, shape = self.args
        to_c = summed(_scaled(g, beta), shape) if self.needs(0) else None
        g = g.unsqueeze(0).expand(k, n, p) if isinstance(g, Variable) else np.broadcast_to(g, (k, n, p))
        return (
            to_c,
            None if b is None else _scaled(_bmm(g, _swap(b)), alpha),
            None if a is None else _scaled(_bmm(_swap(a), g), alpha),
        )


def _check_three(x, y):
    """The sizes (k, n, p) of a product of batches."""
    for batch in (y, x):
        n = batch.ndim
        if n < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got 2)"
            )
    _check_batches(x, y)
    return x.shape[0], x.shape[1], y.shape[2]


@function
def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * bmm(batch1, batch2)` (torch.baddbmm)."""
    c, x, y = input._data, batch1._data, batch2._data
    if c.dtype is x.dtype:
        no_bools(x, "baddbmm")
    _check_expands(c.shape, _check_three(x, y))
    if c.dtype is not x.dtype:
        kinds = [CPP_NAMES[a.dtype.name] for a in (c, x, y)]
        raise RuntimeError(
            "Input dtypes must be the same, got: input {}, batch1: {}, batch2: {}".format(*kinds)
        )
    return apply(BaddbmmBackward0, (input, batch1, batch2), beta, alpha, input._data.shape)


@function
def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    """`beta * input + alpha * bmm(batch1, batch2).sum(0)` (torch.addbmm)."""
    c, x, y = input._data, batch1._data, batch2._data
    if c.dtype is not y.dtype:
        raise RuntimeError(f"self and mat2 must have the same dtype, but got {_name(c)} and {_name(y)}")
    k, n, p = _check_three(x, y)
    _check_expands(c.shape, (n, p))
    no_bools(x, "addmm_impl_cpu_")
    return apply(AddbmmBackward0, (input, batch1, batch2), beta, alpha, k, n, p, input._data.shape)


def _in_place(op, rule, size_of, args_of):
    """Register the in-place form of an `add...` product: written into its first operand, which keeps its size."""

    def call(self, a, b, *, beta=1, alpha=1):
        check_writable(self, (a, b))
        c, x, y = self._data, a._data, b._data
        size = size_of(c, x, y)
        if c.shape != size:
            raise RuntimeError(
                f"Bad in-place call: input tensor size {list(c.shape)} and output tensor size {list(size)} should match"
            )
        return apply_inplace(rule, (self, a, b), beta, alpha, *args_of(c, x, y))

    call.__name__ = call.__qualname__ = op
    call.__doc__ = f"The in-place form of `{op[:-1]}`."
    METHODS[op] = call


def _size_of_addmm(c, x, y):
    check_addmm(c, x, y)
    return x.shape[0], y.shape[1]


def _size_of_addmv(c, x, y):
    _check_addmv(c, x, y)
    return x.shape[:1]


def _own_shape(c, x, y):
    return (c.shape,)


_in_place("addmm_", AddmmBackward0, _size_of_addmm, lambda c, x, y: (c.shape, *memory_of(x, y)))
_in_place("addmv_", AddmvBackward0, _size_of_addmv, _own_shape)
_in_place("addr_", AddrBackward0, lambda c, x, y: x.shape + y.shape, _own_shape)
_in_place("baddbmm_", BaddbmmBackward0, lambda c, x, y: _check_three(x, y), _own_shape)
_in_place(
    "addbmm_",
    AddbmmBackward0,
    lambda c, x, y: _check_three(x, y)[1:],
    lambda c, x, y: (x.shape[0], x.shape[1], y.shape[2], c.shape),
)


# -- matmul: any dims ---------------------------------------------------------------------------------


@function
def matmul(input, other):
    """The matrix product of tensors of any dims: vectors, matrices, batches that broadcast (torch.matmul).

    Two matrices are an mm. A batch times one matrix is folded into a tall matrix first; two batches are expanded to a
    common shape and multiplied by bmm.
    """
    try:
        x, y = input._data, other._data
    except AttributeError:
        _tensors("matmul", input=input, other=other)
        raise
    n, m = x.ndim, y.ndim
    if n == 2 and m == 2:
        return mm(input, other)
    if n == 0 or m == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {n}D and {m}D")
    if n == 1 and m == 1:
        return dot(input, other)
    if m == 1 and n == 2:
        return mv(input, other)
    if n == 1 and m == 2:
        return mm(input.unsqueeze(0), other).squeeze_(0)
    if _should_fold(input, other):
        return _folded(input, other)
    if n == 3 and m == 3 and x.shape[0] != y.shape[0]:
        if x.shape[0] == 1 and input.requires_grad:
            return matmul(input.squeeze(0), other)
        if y.shape[0] == 1 and other.requires_grad:
            return matmul(input, other.squeeze(0))
    return _by_batches(input, other)


def _should_fold(a, b):
    """Whether the batch dims of the larger operand can be merged into its rows: then one mm is enough."""
    transposed = b._data.ndim > a._data.ndim
    large, small = (b, a) if transposed else (a, b)
    if large._data.ndim < 3 or small._data.ndim > 2:
        return False
    if small.requires_grad:
        return True  # a copy now is cheaper than summing a batch of gradients later
    if a._data.ndim == 2:
        return False
    x = large._data.swapaxes(-2, -1) if transposed else large._data
    return not x.size or all(x.strides[i] == x.strides[i + 1] * x.shape[i + 1] for i in range(x.ndim - 2))


def _folded(a, b):
    transposed = b._data.ndim > a._data.ndim
    large = b.mT if transposed else a
    small = a.t() if transposed and a._data.ndim == 2 else a if transposed else b
    *batch, inner = large._data.shape
    rows = large.reshape(math.prod(batch), inner)
    if small._data.ndim == 1:
        return _unsafe_view(mv(rows, small), batch)
    out = _unsafe_view(mm(rows, small), (*batch, small._data.shape[1]))
    return out.mT.contiguous() if transposed else out


def _by_batches(a, b):
    x, y = a._data, b._data
    n, inner = x.shape[-2] if x.ndim > 1 else 1, x.shape[-1]
    rows, p = (y.shape[-2], y.shape[-1]) if y.ndim > 1 else (y.shape[0], 1)
    batch = _broadcast(x.shape[:-2], y.shape[:-2])
    k = math.prod(batch)
    left = a.expand(*batch, n, inner).reshape(k, n, inner)
    if y.ndim == 1:
        right = b.expand(*batch, rows).reshape(k, rows).unsqueeze(2)
    else:
        right = b.expand(*batch, rows, p).reshape(k, rows, p)
    out = bmm(left, right)
    if y.ndim == 1:
        return _unsafe_view(out.squeeze(-1), (*batch, n))
    return _unsafe_view(out, (*batch, n, p) if x.ndim > 1 else (*batch, p))


def _broadcast(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        raise shape_error(a, b) from None


def _unsafe_view(x, shape):
    """A product in another shape: its memory is not shared, so the result does not count as a view."""
    return apply(UnsafeViewBackward0, (x,), tuple(shape))


def _rmatmul(self, other):
    if isinstance(other, Variable):
        return matmul(other, self)
    return NotImplemented


def _operator(self, other):
    return matmul(self, other) if isinstance(other, Variable) else NotImplemented


METHODS["__matmul__"] = _operator
METHODS["__rmatmul__"] = _rmatmul


@function
def inner(input, other):
    """Sums of products along the last dim of both (torch.inner)."""
    x, y = input._data, other._data
    if x.ndim == 0 or y.ndim == 0:
        return input * other
    if x.shape[-1] != y.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(x.shape)} "
            f"and {list(y.shape)}"
        )
    return tensordot(input, other, ([-1], [-1]))


@function(method=False)
def chain_matmul(*matrices):
    """The product of several matrices in the cheapest order (torch.chain_matmul)."""
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use "
        "torch.linalg.multi_dot "
        "instead, which accepts a list of two or more tensors rather than multiple parameters."
    )
    if len(matrices) == 1:
        return matrices[0]
    return multi_dot(matrices)


def multi_dot(tensors):
    """The product of several matrices (the first and last may be vectors), multiplied in the cheapest order."""
    tensors = list(tensors)
    n = len(tensors)
    if n < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {n}")
    for which, t in (("first", tensors[0]), ("last", tensors[-1])):
        if t._data.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {t._data.ndim}D")
    shape = ()
    if tensors[0]._data.ndim == 1:
        tensors[0] = tensors[0].unsqueeze(0)
    else:
        shape += tensors[0]._data.shape[:1]
    if tensors[-1]._data.ndim == 1:
        tensors[-1] = tensors[-1].unsqueeze(-1)
    else:
        shape += tensors[-1]._data.shape[1:]
    for i, t in enumerate(tensors):
        if t._data.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t._data.ndim}D")
        if t._data.dtype is not tensors[0]._data.dtype:
            kinds = [CPP_NAMES[a._data.dtype.name] for a in (tensors[0], t)]
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {kinds[0]} and tensor {i} {kinds[1]}"
            )
        if i and tensors[i - 1]._data.shape[1] != t._data.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {list(tensors[i - 1]._data.shape)} and "
                f"{list(t._data.shape)} cannot be multiplied"
            )
    return _in_order(tensors, _cheapest_order([t._data.shape for t in tensors]), 0, n - 1).view(shape)


def _cheapest_order(shapes):
    """split[i, j]: where best to split the product of matrices i..j (dynamic programming).

    Of splits with equal cost the first, or for three matrices the second, as in PyTorch.
    """
    size = [s[0] for s in shapes] + [shapes[-1][1]]
    n = len(shapes)
    cost, split = {(i, i): 0 for i in range(n)}, {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], at = min(
                (cost[i, k] + cost[k + 1, j] + size[i] * size[k + 1] * size[j + 1], k if n > 3 else -k)
                for k in range(i, j)
            )
            split[i, j] = abs(at)
    return split


def _in_order(tensors, split, i, j):
    if i == j:
        return tensors[i]
    k = split[i, j]
    return mm(_in_order(tensors, split, i, k), _in_order(tensors, split, k + 1, j))


@function(method=False)
def tensordot(a, b, dims=2):
    """Sum over pairs of dims of `a` and `b`: a number (the last of a, the first of b) or two lists
    (torch.tensordot).
    """
    if isinstance(dims, Variable):
        dims = dims.tolist()
    if a._data.dtype is not b._data.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a._data.ndim, b._data.ndim):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        over_a, over_b = list(range(-dims, 0)), list(range(dims))
    else:
        over_a, over_b = ([d] if isinstance(d, int) else list(d) for d in dims)
        if len(over_a) == len(over_b):
            for over, t in ((over_a, a), (over_b, b)):
                wrap_dims(over, t._data.ndim)
    if len(over_a) != len(over_b):
        raise RuntimeError("both dimension lists should have same length")
    x, y = a._data, b._data
    for i, j in zip(over_a, over_b, strict=True):
        if y.shape[j] == 1:  # in PyTorch a dim of size one matches any
            a = a.sum(i, True)
            x = a._data
        elif x.shape[i] == 1:
            b = b.sum(j, True)
            y = b._data
        if x.shape[i] != y.shape[j]:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {x.shape[i]} in dim {i} and "
                "second has size "
                f"{y.shape[j]} in dim {j}"
            )
    contracted_a, contracted_b = {i % x.ndim for i in over_a}, {j % y.ndim for j in over_b}
    free_a = [i for i in range(x.ndim) if i not in contracted_a]
    free_b = [j for j in range(y.ndim) if j not in contracted_b]
    n, k, p = (
        math.prod(s)
        for s in ([x.shape[i] for i in free_a], [x.shape[i] for i in over_a], [y.shape[j] for j in free_b])
    )
    left = a.permute([*free_a, *over_a])
    shape = [x.shape[i] for i in free_a] + [y.shape[j] for j in free_b]
    if n == 1 == p:
        right = b.permute([*over_b, *free_b])
        if left._data.flags.c_contiguous and right._data.flags.c_contiguous:
            right = right.flatten()  # the later operand first, as in PyTorch
            return dot(left.flatten(), right).view(shape)
        right = right.squeeze()
        return (left.squeeze() * right).sum().view(shape)
    left = left.reshape(n, k)
    return mm(left, b.permute([*over_b, *free_b]).reshape(k, p)).view(shape)


@function
def kron(input, other):
    """The Kronecker product: every element of `input` times all of `other`, as blocks (torch.kron)."""
    n = max(input._data.ndim, other._data.ndim)
    s = (1,) * (n - input._data.ndim) + input._data.shape
    r = (1,) * (n - other._data.ndim) + other._data.shape
    left = _unsafe_view(input, [k for pair in zip(s, (1,) * n, strict=True) for k in pair])
    right = _unsafe_view(other, [k for pair in zip((1,) * n, r, strict=True) for k in pair])
    return _unsafe_view(left * right, [i * j for i, j in zip(s, r, strict=True)])


__all__ = ["addmm", "bmm", "dot", "linear", "matmul", "mm", "multi_dot", "mv", "outer", "tensordot"]
