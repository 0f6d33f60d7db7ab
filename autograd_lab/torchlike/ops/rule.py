"""How a rule becomes PyTorch's functions and methods: type promotion, float16, in-place forms, operands that operators decline.

For rules themselves, and the path that most operations take, see core/rule.py.
"""

import functools
from collections.abc import Callable

import numpy as np

from ...core import rule as core
from ...core.record import record_all
from ...core.rule import FUNCTIONS, METHODS, RULES, Rule
from ...core.seams import DOORS, extend
from ..autograd.errors import no_forward_mode, not_for
from ..autograd.float16 import HALF, in_single
from ..autograd.memory import check_overlap
from ..autograd.modes import THREAD
from ..autograd.record import (
    apply,
    apply_inplace,
    check_fits,
    inplace_node,
    overwrite,
)
from ..autograd.saved import name_raw
from ..autograd.variable import INFERENCE, Registry, Variable, wrap
from ..autograd.views import check_writable
from ..dtypes import Defaults, meet, meet_number, promote_np
from ..layout import elementwise

KERNELS: dict[str, Callable] = {}
"""Functions of arrays that an operation calls outside of its rule, by name: no gradient passes through them. Watchers are told of each
call.
"""


def linear(rule, args):
    """Whether forward mode runs the operation itself on the tangents, if that is more than the VJP can tell.

    For example, in a scatter with repeated positions the last value wins; its VJP, like PyTorch's, assumes distinct positions.
    """
    return False


def refuse_jvp(rule, args):
    """Raises NotImplementedError, like PyTorch, if this operation has no forward mode."""
    if rule.no_jvp:
        raise no_forward_mode(rule.no_jvp)


extend(
    Rule,
    linear=classmethod(linear),
    refuse_jvp=classmethod(refuse_jvp),
    elementwise=False,  # whether each element of the result is made of one element of each operand
    floats=False,  # for `binary`: whether integers are computed in the default float (true division)
    integer=False,  # for `unary`: whether the operation is defined on integers; otherwise they are computed in the default float
    layout=None,  # what lays out the result in memory, if otherwise than NumPy does: a function of result and first operand
    makes_bool=False,  # whether the result is boolean, whatever the operands are
    no_jvp="",  # PyTorch's name of the operation, if that has no forward mode
    operands=None,  # how many of the inputs can want a gradient, if not all: the indices and masks after them have no edge
    refuse=None,  # for `binary`: raises an error for meaningless combinations of types
    results={},  # {name: output number} of what is saved of an output other than the first
    saves_rest=False,  # whether the last of `saves` stands for all inputs from there on
    tangent=None,  # from an operand and its tangent, the result's tangent: for a VJP that is not linear in g
    with_number=None,  # for `binary`: the meaning of a number as second operand in a formula
)
_init_subclass, _planned = Rule.__init_subclass__.__func__, Rule.planned.__func__


def init_subclass(cls, name=None):
    """What the class of a rule gets: its `name`, if another rule has that name in PyTorch; a `layout` is no method."""
    if name is not None:
        cls.__name__ = name
    if vars(cls).get("layout") is not None:
        cls.layout = staticmethod(cls.layout)
    name_raw(cls)
    _init_subclass(cls)


def planned(cls, saved):
    """Where a saved value comes from; it may be another output than the first."""
    where, nr, bits = _planned(cls, saved)
    return where, cls.results.get(saved, nr), bits


Rule.__init_subclass__, Rule.planned = classmethod(init_subclass), classmethod(planned)
for _rule in RULES.values():
    name_raw(_rule)
    if hasattr(_rule, "call"):  # made by `unary` or `binary` of the core
        _rule.elementwise = True


def function(fn=None, *, name=None, method=True, namespace=True):
    """Register `fn` as torch.<name> and, unless told otherwise, as Tensor.<name>."""

    def register(fn):
        key = name or fn.__name__.rstrip("_") or fn.__name__
        if namespace:
            FUNCTIONS[key] = fn
        if method:
            METHODS[key] = fn
        return fn

    return register if fn is None else register(fn)


def kernel(fn):
    """Register `fn` in KERNELS."""
    KERNELS[fn.__name__] = fn
    return fn


def method(fn=None, *, name=None):
    """Register `fn` as Tensor.<name> only."""

    def register(fn):
        fn.__qualname__ = f"Tensor.{name or fn.__name__}"  # its name in Python's own errors
        METHODS[name or fn.__name__] = fn
        return fn

    return register if fn is None else register(fn)


def as_float(x):
    """An integer or bool array converted to the default floating type; floating arrays unchanged."""
    return x if x.dtype.kind == "f" else x.astype(Defaults.np)


def tensor_of(value, like=None):
    """`value` as a Tensor: itself, or a constant 0-d one made of a number."""
    if isinstance(value, Variable):
        return value
    if isinstance(value, (bool, int, float, np.generic)):
        number = value.item() if isinstance(value, np.generic) else value
        dtype = meet_number(like._data.dtype, number) if like is not None else None
        if dtype is None:
            dtype = (
                np.dtype(bool)
                if isinstance(number, bool)
                else np.int64
                if isinstance(number, int)
                else Defaults.np
            )
        return wrap(np.asarray(number).astype(dtype)[()])
    raise TypeError(f"expected a Tensor or a number, but got {type(value).__name__}")


def operator_of(fn):
    """`fn` as one of Python's operators: it returns NotImplemented for other types, so that Python tries the other operand.

    With arrays NumPy then computes (see `Tensor.__array_wrap__`).
    """

    @functools.wraps(fn)
    def operator(self, other):
        if isinstance(other, Variable) or isinstance(other, (int, float, np.generic)):  # noqa: SIM101 - the quicker way
            return fn(self, other)
        return NotImplemented

    return operator


def unary(op=None, *, inplace=True, integer=False, namespace=True, method=True):
    """Make the function and methods of a pointwise rule of one operand: `op(x)`, `x.op()` and `x.op_()`.

    Integer tensors are computed in the default float unless `integer` says the operation is defined on them.
    """

    def decorate(rule):
        rule.integer, rule.elementwise = integer, True
        core.unary(op)(rule)
        if not namespace:
            del FUNCTIONS[op]
        if not method:
            del METHODS[op]
        if inplace:
            publish_in_place(op, in_place_of(rule), namespace)
        return rule

    return decorate


def in_place_of(rule):
    """The in-place form of a pointwise rule of one operand."""

    def in_place(input):
        if not rule.integer and input._data.dtype.kind != "f":
            check_fits(input, np.empty(input._data.shape, Defaults.np))
        return apply_inplace(rule, (input,))

    return in_place


IN_PLACE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
"""The NumPy functions that can write the commonest operations straight into their first operand."""


def publish_in_place(op, in_place, namespace=True):
    """Register `in_place` as `op_`."""
    in_place.__name__ = in_place.__qualname__ = op + "_"
    in_place.__doc__ = f"The in-place form of `{op}`: writes into the tensor and returns it."
    METHODS[op + "_"] = in_place
    if namespace:
        FUNCTIONS[op + "_"] = in_place


def binary(op, *, floats=False):
    """Make the function of a pointwise rule of two operands that broadcast, the second of which may be a number.

    `floats`: integers are computed in the default float (true division).
    Returns the rule; the function is `rule.call`, its in-place form `rule.call_`.
    """

    def decorate(rule):
        rule.elementwise = True
        return with_in_place(core.binary(op)(rule), floats)

    return decorate


def with_in_place(rule, floats=False):
    """Give a rule decorated with `core.binary` PyTorch's in-place form, and a function that raises where operators decline."""
    op, default_args, refuse, ufunc = rule.op, rule.default_args, rule.refuse, IN_PLACE.get(rule.op)
    rule.floats = floats
    array = np.ndarray

    def in_place(input, other):
        state = THREAD.state
        if isinstance(other, Variable):
            # The hot path of optimizers: nothing to record, nobody watching, and two arrays of the same kind that own their memory.
            x, y, box = input._data, other._data, input._box
            if (
                not (state.grad or state.special)
                and x.__class__ is array
                and x.dtype is y.dtype
                and x.base is None
                and y.base is None
                and box is not INFERENCE
                and ufunc is not None
            ):
                try:
                    state.run(ufunc, x, y, x)
                except (TypeError, ValueError):
                    pass  # the code below raises the right error
                else:
                    if box is None:
                        input._box = [1]
                    else:
                        box[0] += 1
                    return input
        elif not isinstance(other, (int, float, np.generic)):
            return NotImplemented
        if refuse is not None:
            refuse(input, other)
        return pointwise_inplace(
            rule, (input, tensor_of(other, input)), *default_args, floats=floats, given=other
        )

    rule.call_ = in_place
    publish_in_place(op, in_place, namespace=False)
    FUNCTIONS[op] = checked(rule.call)
    return rule


def mixed(rule, input, *others):
    """An elementwise operation whose operands are not all floats of one type, as in PyTorch."""
    return _mixed_binary(rule, input, *others) if others else _mixed_unary(rule, input)


def _mixed_unary(rule, input):
    x = input._data
    if not rule.integer and x.dtype.kind != "f":
        x = x.astype(Defaults.np)
    forward = in_single(rule.forward) if x.dtype is HALF else rule.forward
    state = THREAD.state
    return record_all(state, rule, (input,), state.run(forward, x))


def _mixed_binary(rule, input, other):
    state, x = THREAD.state, input._data
    broadcast, forward = None, rule.forward
    if isinstance(other, Variable):
        y = other._data
        if rule.refuse is not None and x.dtype is not y.dtype:
            rule.refuse(input, other)
        if x.dtype is not y.dtype or x.shape != y.shape:
            broadcast = (x.shape, x.dtype), (y.shape, y.dtype)
        meeting = meet(x, y) if x.dtype is not y.dtype else x.dtype
        if rule.floats and meeting.kind != "f":
            meeting = Defaults.np
        x, y = x.astype(meeting, copy=False), y.astype(meeting, copy=False)
    else:
        if state.formula and rule.with_number is not None:
            return rule.with_number(input, other)
        if rule.refuse is not None:
            rule.refuse(input, other)
        if isinstance(other, np.generic):
            other = other.item()  # saved values must not promote the gradient
        x, y = number_operand(x, other, rule.floats)
        if y is NotImplemented:
            return NotImplemented
        if input._data.dtype is HALF:  # the number may be out of its range
            forward = in_single(forward, rule.rounds_numbers)
    return record_all(
        state, rule, (input, other), compute(state, forward, x, y), rule.default_args, broadcast
    )


def compute(state, forward, x, y):
    """What `forward` makes of two arrays that broadcast, or of an array and a number, in the order in memory that PyTorch gives it.

    Raises RuntimeError if they do not broadcast.
    """
    try:
        data = state.run(forward, x, y)
    except ValueError:
        raise shape_error(x.shape, y.shape) from None
    return data if data.ndim < 2 or not isinstance(y, np.ndarray) else elementwise(data, x, y)


def shape_error(a, b):
    """The error of two shapes that do not broadcast."""
    for k in range(1, min(len(a), len(b)) + 1):
        if a[-k] != b[-k] and 1 not in (a[-k], b[-k]):
            dim = max(len(a), len(b)) - k
            return RuntimeError(
                f"The size of tensor a ({a[-k]}) must match the size of tensor b ({b[-k]}) at non-singleton dimension {dim}"
            )
    return RuntimeError(f"shapes {list(a)} and {list(b)} do not fit together")


DOORS.mixed, DOORS.compute = mixed, compute


def pointwise(rule, inputs, *args, floats=False):
    """Run an elementwise rule on any number of Tensors with broadcasting and promotion; the general form of `binary`."""
    arrays = [t._data for t in inputs]
    meeting = arrays[0].dtype
    for x in arrays[1:]:
        if x.dtype is not meeting:
            meeting = common_type(arrays)
            break
    if floats and meeting.kind != "f":
        meeting = Defaults.np
    state = THREAD.state
    try:
        forward = in_single(rule.forward) if meeting is HALF and rule.widens else rule.forward
        data = state.run(forward, *[x if x.dtype is meeting else x.astype(meeting) for x in arrays], *args)
    except ValueError:
        raise broadcast_error(arrays) from None
    if data.ndim > 1:
        data = elementwise(data, *arrays)
    broadcast = None
    if any(x.dtype is not data.dtype or x.shape != data.shape for x in arrays):
        broadcast = tuple([(x.shape, x.dtype) for x in arrays])
    return record_all(state, rule, inputs, data, args, broadcast)


def common_type(arrays):
    """The common NumPy dtype of several arrays, where tensors with dims take precedence over 0-d ones."""
    full = [x for x in arrays if x.ndim] or arrays
    zero = [x for x in arrays if not x.ndim] if len(full) != len(arrays) else []
    meeting = functools.reduce(promote_np, [x.dtype for x in full])
    for x in zero:
        meeting = meet(np.empty(1, meeting), x)
    return meeting


def broadcast_error(arrays):
    """The error for the first two shapes that do not broadcast."""
    shape = arrays[0].shape
    for x in arrays[1:]:
        try:
            shape = np.broadcast_shapes(shape, x.shape)
        except ValueError:
            return shape_error(shape, x.shape)
    return RuntimeError("the operands do not fit together")


def no_bools(x, kernel):
    """Returns the array `x`, which must not be boolean."""
    if x.dtype.kind == "b":
        raise not_for(x.dtype, kernel)
    return x


def floats_only(x, kernel):
    """Returns the array `x`, which must have a floating type."""
    if x.dtype.kind != "f":
        raise not_for(x.dtype, kernel)
    return x


def broadcast_shape(arrays):
    """The shape to which some arrays broadcast. Raises RuntimeError if they do not."""
    try:
        return np.broadcast_shapes(*[x.shape for x in arrays])
    except ValueError:
        raise broadcast_error(arrays) from None


def checked(fast):
    """The function form of an operator: raises TypeError where the operator would return NotImplemented."""

    def call(input, other):
        if not isinstance(input, Variable):
            if not isinstance(other, Variable):
                raise TypeError(
                    f"{fast.__name__}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
                )
            input = tensor_of(input, other)
        out = fast(input, other)
        if out is NotImplemented:
            raise TypeError(
                f"{fast.__name__}(): argument 'other' (position 2) must be Tensor, not {type(other).__name__}"
            )
        return out

    call.__name__ = call.__qualname__ = fast.__name__
    call.__doc__ = fast.__doc__
    return call


def number_operand(x, number, floats):
    """The operands `x` (an array) and a Python number, in their common type; NotImplemented for anything else."""
    if isinstance(number, np.generic):
        number = number.item()
    if not isinstance(number, (int, float)):
        return x, NotImplemented
    kind = x.dtype.kind
    if kind == "f":
        return x, number
    meeting = meet_number(x.dtype, number)
    if floats and meeting.kind != "f":
        meeting = Defaults.np
    if meeting is not x.dtype:
        x = x.astype(meeting)
    if meeting.kind in "iu":
        number = np.asarray(number).astype(meeting)[()]  # integers wrap around instead of raising
    elif meeting.kind == "b":
        number = bool(number)
    return x, number


def pointwise_inplace(rule, inputs, *args, floats=False, given=None):
    """Run an elementwise rule and write the result into the first of `inputs`, which is returned; the others may be smaller.

    If the second operand was `given` as a number, the number is saved, not the tensor made from it.
    """
    target = inputs[0]
    check_writable(target, inputs[1:])
    check_overlap(target, inputs[1:])
    arrays = [t._data for t in inputs]
    own = meeting = arrays[0].dtype
    same = True
    for x in arrays[1:]:
        if x.dtype is not own:
            meeting = common_type(arrays)
            same = False
            break
    if floats and meeting.kind != "f":
        meeting = Defaults.np
    if meeting is not own and not rule.makes_bool:
        check_fits(target, np.broadcast_to(np.empty((), meeting), broadcast_shape(arrays)))
    state = THREAD.state
    try:
        forward = in_single(rule.forward) if meeting is HALF and rule.widens else rule.forward
        data = state.run(forward, *[x if x.dtype is meeting else x.astype(meeting) for x in arrays], *args)
    except ValueError:
        raise broadcast_error(arrays) from None
    check_fits(target, data)
    kept = inputs
    if not (given is None or isinstance(given, Variable)):
        kept = target, given.item() if isinstance(given, np.generic) else given
    node = inplace_node(state, rule, kept, args)
    if node is not None and (not same or any(x.shape != data.shape for x in arrays)):
        node.broadcast = tuple([(x.shape, x.dtype) for x in arrays])
    return overwrite(state, rule, inputs, data, node, rule.op + "_", args)


def bind(tensor_class):
    """Called once by tensor.py: from now on operations make instances of `tensor_class`."""
    Registry.tensor = DOORS.tensor = tensor_class


__all__ = [
    "FUNCTIONS",
    "METHODS",
    "RULES",
    "Rule",
    "apply",
    "apply_inplace",
    "binary",
    "function",
    "method",
    "pointwise",
    "tensor_of",
    "unary",
]
