"""What a rule is, and how one becomes a function, a method and an in-place method.

A rule is the class of the nodes it makes: `forward` computes with NumPy, `vjp` sends a gradient back. The decorators below turn a
rule into the functions a user calls, so that a new operation is one class and nothing else needs editing.
"""

import functools
from collections.abc import Callable

import numpy as np

from ..autograd.errors import no_forward_mode, not_for
from ..autograd.halves import HALF, in_single
from ..autograd.memory import check_overlap
from ..autograd.modes import THREAD
from ..autograd.node import Node, count_down, new, save
from ..autograd.record import (
    apply,
    apply_inplace,
    check_fits,
    edges_of,
    finish,
    finish_inplace,
    inplace_node,
    node_for,
    overwrite,
    wanted,
)
from ..autograd.variable import INFERENCE, NO_EDGE, Registry, Variable, find_edge, wrap
from ..autograd.views import check_writable
from ..dtypes import Defaults, meet, meet_number, promote_np
from ..layout import elementwise

FUNCTIONS: dict[str, Callable] = {}
"""Every function of the torch-like namespace that an operation defines, by name."""

METHODS: dict[str, Callable] = {}
"""Every method of Tensor that an operation defines, by name."""

KERNELS: dict[str, Callable] = {}
"""Functions of arrays that an operation calls beside its rule, by name: no gradient passes through them. Watchers are told of each call."""

RULES: dict[str, type] = {}
"""Every rule by its node name: the rule book."""


class Rule(Node):
    """An operation: how to compute it, and how a gradient passes back through it.

    inputs    names of the tensor operands, as PyTorch's saved attributes call them
    saves     which of them (and of the results) the VJP needs
    saves_if  {name: operand numbers}: save it only if one of these operands wants a gradient
    keeps     names of the plain values given to `forward` after the arrays; one that ends in _sym_sizes is filled in with
              the shape of that operand
    operands  how many of the inputs can want a gradient, if not all: the indices and masks after them have no edge
    layout    a function of layout.py, where the result must lie in memory otherwise than NumPy makes it
    no_jvp    what PyTorch calls the operation, if it has no forward mode for it
    """

    op = ""
    inputs: tuple = ("self",)
    operands: int | None = None
    saves_rest = False  # whether the last of `saves` stands for all inputs from there on
    saves_if: dict = {}
    forward: Callable
    refuse: Callable | None = (
        None  # for `binary`: raises an error for operands of mixed types that have no meaning
    )
    no_jvp = ""
    elementwise = False  # whether each element of the result is made of one element of each operand: `unary` and `binary` say so
    makes_bool = False  # whether the result is boolean, whatever the operands are
    with_number: Callable | None = None  # for `binary`: what a number as second operand means in a formula
    shape_names: tuple = ()
    result_names: tuple = ()
    default_args: tuple = ()
    fast_forward = None  # for `binary`: what computes the result with the default args, if that is quicker

    def __init_subclass__(cls, name=None, **kwargs):
        super().__init_subclass__(**kwargs)
        if name is not None:
            cls.__name__ = name
        RULES.setdefault(cls.__name__, cls)
        forward = cls.__dict__.get("forward")
        if forward is not None and not isinstance(forward, staticmethod):
            cls.forward = staticmethod(forward)
        if "layout" in cls.__dict__ and cls.layout is not None:
            cls.layout = staticmethod(cls.layout)
        for name in ("refuse", "with_number", "tangent"):
            if name in cls.__dict__:
                setattr(cls, name, staticmethod(cls.__dict__[name]))
        plan = []
        results = []
        for saved in cls.saves:
            if saved in cls.inputs:
                plan.append((saved, cls.inputs.index(saved), None, cls.saves_if.get(saved)))
            else:
                nr = cls.results[saved] if isinstance(cls.results, dict) else 0
                plan.append((saved, None, nr, cls.saves_if.get(saved)))
                results.append(saved)
        cls.save_plan = tuple(plan)
        cls.result_names = tuple(results)
        if not isinstance(cls.results, dict):
            cls.results = tuple(results)
        cls.shape_names = tuple(
            cls.inputs.index(k.removesuffix("_sym_sizes")) for k in cls.keeps if k.endswith("_sym_sizes")
        )

    @classmethod
    def linear(cls, args):
        """Whether forward mode runs the operation itself on the tangents, where that is more than what the VJP says.

        Of a scatter whose places repeat, say, the last value stays; its VJP, as PyTorch's, is that of distinct places.
        """
        return False

    tangent: Callable | None = (
        None  # of an operand and its tangent, that of the result: where the VJP, not linear in g, does not tell
    )

    @classmethod
    def refuse_jvp(cls, args):
        """Raises NotImplementedError, as PyTorch does, if forward mode does not go through this operation."""
        if cls.no_jvp:
            raise no_forward_mode(cls.no_jvp)

    @classmethod
    def saves_first(cls, edges):
        """Whether the first operand would be saved, given the edges of all."""
        for name, where, _nr, users in cls.save_plan:
            if where == 0 and name is not None:
                return users is None or any(edges[i] is not NO_EDGE for i in users)
        return False

    def needs(self, i):
        """Whether operand `i` wants a gradient."""
        return self._edges[i] is not NO_EDGE


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
    """Enter `fn` in KERNELS."""
    KERNELS[fn.__name__] = fn
    return fn


def method(fn=None, *, name=None):
    """Register `fn` as Tensor.<name> only."""

    def register(fn):
        fn.__qualname__ = f"Tensor.{name or fn.__name__}"  # how Python's own errors name it
        METHODS[name or fn.__name__] = fn
        return fn

    return register if fn is None else register(fn)


def as_float(x):
    """An integer or bool array in the default floating type; floating arrays as they are."""
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
    """`fn` as one of Python's operators: it declines what is no tensor and no number, so that Python asks the other operand.

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
        rule.op = op
        rule.elementwise = True
        forward = rule.forward
        saves = rule.saves

        def fast(input):
            x = input._data
            if not integer and x.dtype.kind != "f":
                x = x.astype(Defaults.np)
            state = THREAD.state
            out = new(Tensor)
            out._data = state.run(in_single(forward) if x.dtype is HALF else forward, x)
            out._box = out._meta = None
            edge = input._edge or find_edge(input)
            if edge is NO_EDGE or not state.grad:
                out._edge = NO_EDGE
                node = None
            else:
                node = new(rule)
                node._next = edge if type(edge) is not tuple else (edge,)
                node.priority = count_down()
                node.fold = node.hooks = None
                node.args = ()
                if not saves:
                    node.saved = ()
                    node.versions = None
                elif saves[0] == "result":
                    out._box = box = [0]
                    result = wrap(out._data, NO_EDGE, box)
                    if state.special:
                        save(node, (result,))
                    else:
                        node.saved = (result,)
                        node.versions = None
                else:
                    save(node, (input,))
                out._edge = node
            if state.special:
                finish(state, rule, (input,), (out,), node, ())
            return out

        _publish(rule, op, fast, in_place_of(rule, integer) if inplace else None, namespace, method)
        return rule

    return decorate


def in_place_of(rule, integer=False):
    """The in-place form of a pointwise rule of one operand."""

    def in_place(input):
        if not integer and input._data.dtype.kind != "f":
            check_fits(input, np.empty(input._data.shape, Defaults.np))
        return apply_inplace(rule, (input,))

    return in_place


IN_PLACE = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}
"""The NumPy functions that can write the commonest operations straight into their first operand."""


def _publish(rule, op, fast, in_place, namespace, method):
    fast.__name__ = fast.__qualname__ = op
    fast.__doc__ = rule.__doc__
    if namespace:
        FUNCTIONS[op] = fast
    if method:
        METHODS[op] = fast
    if in_place is not None:
        publish_in_place(op, in_place, namespace)


def publish_in_place(op, in_place, namespace=True):
    """Make `in_place` known as `op_`."""
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
        rule.op = op
        rule.elementwise = True
        forward = rule.fast_forward or rule.forward
        saves = rule.saves
        # Bit i of a mask: operand i wants a gradient. What is saved depends on who needs it.
        masks = [(where, _mask(users)) for _name, where, _nr, users in rule.save_plan]
        keep_a = next((m for where, m in masks if where == 0), 0)
        keep_b = next((m for where, m in masks if where == 1), 0)
        saves_result = bool(rule.result_names)
        default_args = rule.default_args
        refuse = rule.refuse
        array = np.ndarray

        def fast(input, other):
            x = input._data
            fold, compute = None, forward
            written = input._box
            state = THREAD.state
            if isinstance(other, Variable):
                y = other._data
                written = written or other._box
                if x.dtype is y.dtype:
                    if floats and x.dtype.kind != "f":
                        x, y = x.astype(Defaults.np), y.astype(Defaults.np)
                    if x.shape != y.shape:
                        fold = (x.shape, x.dtype), (y.shape, y.dtype)
                else:
                    if refuse is not None:
                        refuse(input, other)
                    fold = (x.shape, x.dtype), (y.shape, y.dtype)
                    meeting = meet(x, y)
                    if floats and meeting.kind != "f":
                        meeting = Defaults.np
                    x, y = x.astype(meeting), y.astype(meeting)
                eb = other._edge or find_edge(other)
            else:
                if state.formula and rule.with_number is not None:
                    return rule.with_number(input, other)
                if refuse is not None:
                    refuse(input, other)
                eb = NO_EDGE
                kind = x.dtype
                known = SINGLES if kind is SINGLE else DOUBLES if kind is DOUBLE else None
                if known is not None and other.__class__ is float:
                    y = other
                    if x.__class__ is array:
                        y = known.get(other)
                        if y is None:
                            y = _learn(other, kind, known)
                else:
                    if isinstance(other, np.generic):
                        other = other.item()  # what is saved must not widen the gradient
                    x, y = number_operand(x, other, floats)
                    if y is NotImplemented:
                        return NotImplemented
                    if kind is HALF:  # the number may be beyond its range
                        compute = in_single(forward, rule.rounds_numbers)
            out = new(Tensor)
            try:
                out._data = data = state.run(compute, x, y)
            except ValueError:
                raise shape_error(x.shape, y.shape) from None
            if data.ndim > 1 and other.__class__ is not float and y.__class__ is array:
                out._data = elementwise(data, x, y)
            out._box = out._meta = None
            if not state.grad or ((ea := input._edge or find_edge(input)) is NO_EDGE and eb is NO_EDGE):
                out._edge = NO_EDGE
                node = None
            else:
                node = new(rule)
                node._next = (ea, eb) if eb is not NO_EDGE or type(ea) is tuple else ea
                node.priority = count_down()
                node.args = default_args
                node.fold = fold
                node.hooks = None
                if not saves:
                    node.saved = ()
                    node.versions = None
                else:
                    need = (ea is not NO_EDGE) | (eb is not NO_EDGE) << 1
                    a = input if need & keep_a else None
                    b = other if need & keep_b else None
                    if saves_result:
                        save(node, _saved_with_result(rule, a, b, out))
                    elif written is None and not state.special:
                        node.saved = (a, b)
                        node.versions = None
                    else:
                        save(node, (a, b))
                out._edge = node
            if state.special:
                finish(state, rule, (input, other), (out,), node, default_args)
            return out

        ufunc = IN_PLACE.get(op)

        def in_place(input, other):
            state = THREAD.state
            if isinstance(other, Variable):
                # What an optimizer does all day: nothing to record, and two arrays of one kind that own their memory.
                x, y, box = input._data, other._data, input._box
                if (
                    not state.grad
                    and x.__class__ is array
                    and x.dtype is y.dtype
                    and x.base is None
                    and y.base is None
                    and box is not INFERENCE
                    and not (state.dual or state.mutation)
                    and ufunc is not None
                ):
                    if state.watch is not None:
                        state.watch.writing(input)
                    try:
                        state.run(ufunc, x, y, x)
                    except (TypeError, ValueError):
                        pass  # below it is said what does not fit
                    else:
                        if box is None:
                            input._box = [1]
                        else:
                            box[0] += 1
                        if state.special:
                            finish_inplace(state, rule, (input, other), input, None, op + "_", default_args)
                        return input
            elif not isinstance(other, (int, float, np.generic)):
                return NotImplemented
            if refuse is not None:
                refuse(input, other)
            return pointwise_inplace(
                rule, (input, tensor_of(other, input)), *default_args, floats=floats, given=other
            )

        rule.call, rule.call_ = fast, in_place
        fast.__name__ = fast.__qualname__ = op
        in_place.__name__ = in_place.__qualname__ = op + "_"
        fast.__doc__ = rule.__doc__
        in_place.__doc__ = f"The in-place form of `{op}`: writes into the tensor and returns it."
        METHODS[op], METHODS[op + "_"] = fast, in_place
        FUNCTIONS[op] = checked(fast)
        return rule

    return decorate


SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
SINGLES: dict[float, np.ndarray] = {}
DOUBLES: dict[float, np.ndarray] = {}
"""Numbers that met floats, as 0-d arrays of that type: NumPy takes as long to understand a Python number as to multiply by it."""


def _learn(number, kind, known):
    """`number` as a 0-d array of the type `kind`, and from now on one of those `known`."""
    y = THREAD.state.run(np.array, number, kind)  # 1e300 is inf as a single float, without a warning
    if number:  # 0.0 and -0.0 would be one entry
        if len(known) > 1000:
            known.clear()
        known[number] = y
    return y


def pointwise(rule, inputs, *args, floats=False):
    """Run an elementwise rule on any number of Tensors that broadcast and promote; the general form of `binary`."""
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
    out = wrap(data)
    node = None
    if state.grad:
        edges = edges_of(inputs)
        if wanted(edges):
            node = node_for(rule, edges, inputs, (out,), args)
            if any(x.dtype is not data.dtype or x.shape != data.shape for x in arrays):
                node.fold = tuple([(x.shape, x.dtype) for x in arrays])
            out._edge = node
    if state.special:
        finish(state, rule, inputs, (out,), node, args)
    return out


def common_type(arrays):
    """The NumPy dtype in which several arrays meet, full tensors counting before 0-d ones."""
    full = [x for x in arrays if x.ndim] or arrays
    zero = [x for x in arrays if not x.ndim] if len(full) != len(arrays) else []
    meeting = functools.reduce(promote_np, [x.dtype for x in full])
    for x in zero:
        meeting = meet(np.empty(1, meeting), x)
    return meeting


def broadcast_error(arrays):
    """The error of the first two of some shapes that do not broadcast."""
    shape = arrays[0].shape
    for x in arrays[1:]:
        try:
            shape = np.broadcast_shapes(shape, x.shape)
        except ValueError:
            return shape_error(shape, x.shape)
    return RuntimeError("the operands do not fit together")


def no_bools(x, kernel):
    """The array `x`, which must not be of booleans."""
    if x.dtype.kind == "b":
        raise not_for(x.dtype, kernel)
    return x


def floats_only(x, kernel):
    """The array `x`, which must be of floats."""
    if x.dtype.kind != "f":
        raise not_for(x.dtype, kernel)
    return x


def broadcast_shape(arrays):
    """The shape that those of some arrays broadcast to. Raises RuntimeError if they do not."""
    try:
        return np.broadcast_shapes(*[x.shape for x in arrays])
    except ValueError:
        raise broadcast_error(arrays) from None


def _mask(users):
    return 3 if users is None else sum(1 << i for i in users)


def _saved_with_result(rule, a, b, out):
    values = {"self": a, "other": b, "exponent": b, "result": wrap(out._data, NO_EDGE, out._shared_box())}
    return tuple(values[name] for name in rule.saves)


def checked(fast):
    """The function form of an operator: what the operator would decline becomes a TypeError."""

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
    """The operands `x` (an array) and a Python number, in the type they meet in; NotImplemented for anything else."""
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

    A number `given` as the second is what is saved, not the tensor made of it.
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
    node = None
    if state.grad:
        edges = edges_of(inputs[: rule.operands])
        if wanted(edges):
            if not (given is None or isinstance(given, Variable)):
                number = given.item() if isinstance(given, np.generic) else given
                node = inplace_node(rule, (target, number), edges, args)
            else:
                node = inplace_node(rule, inputs, edges, args)
            if not same or any(x.shape != data.shape for x in arrays):
                node.fold = tuple([(x.shape, x.dtype) for x in arrays])
    return overwrite(state, rule, inputs, data, node, rule.op + "_", args)


def shape_error(a, b):
    """The error of two shapes that do not broadcast."""
    for k in range(1, min(len(a), len(b)) + 1):
        if a[-k] != b[-k] and a[-k] != 1 and b[-k] != 1:
            dim = max(len(a), len(b)) - k
            return RuntimeError(
                f"The size of tensor a ({a[-k]}) must match the size of tensor b ({b[-k]}) at non-singleton dimension {dim}"
            )
    return RuntimeError(f"shapes {list(a)} and {list(b)} do not fit together")


class _TensorClass:
    """Stands for the class Tensor until tensor.py has made it."""


Tensor = _TensorClass


def bind(tensor_class):
    """Called once by tensor.py: from now on operations make instances of `tensor_class`."""
    global Tensor
    Tensor = tensor_class
    Registry.tensor = tensor_class


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
