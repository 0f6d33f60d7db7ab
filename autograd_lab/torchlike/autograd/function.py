"""Function: an operation whose forward and backward the user writes (torch.autograd.Function).

The `ctx` that forward fills and backward reads *is* the node of the operation: what forward puts into `ctx.k` can be read as `y.grad_fn.k`.
`apply` runs forward with recording off, makes this node the history of the outputs, and only then saves what save_for_backward was given:
only then is it known which of these tensors are outputs.

The user's code sees Tensors. In an ordinary pass the engine computes with arrays: they are wrapped before the call and unwrapped after it,
and recording is off; under create_graph the pass holds Tensors and backward is recorded.
"""

import functools
import warnings

import numpy as np

from .errors import DETACHED_TEXT, FREED_TEXT, INFERENCE_SAVED, overwritten_text, refuse_pytorch, type_name
from .handed import as_tensors, put_back
from .hooks import NodeHooks
from .metadata import EXPECTED, fitted
from .modes import THREAD, no_grad, watcher
from .node import Node, count_down, created, new
from .saved import Packed, SavedTensor
from .variable import INFERENCE, NO_EDGE, Variable, accumulator_of, alias, bump_version, find_edge, wrap
from .views import IN_CUSTOM, MULTI_OUTPUT, check_writable, make_view, move_retention, rebase_history


class FunctionCtx:
    """What forward may say about its tensors; mixed into the node."""

    def save_for_backward(self, *tensors):
        """Keep inputs or outputs (or None) for backward, which finds them in `ctx.saved_tensors`, checked for later writes."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Keep tensors (or None) for `jvp`, which finds them in `ctx.saved_tensors`."""
        for t in tensors:
            if not (isinstance(t, Variable) or t is None):
                raise AssertionError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        """Declare inputs that forward wrote to; they must be returned."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs):
        """Deprecated; does nothing."""
        warnings.warn(
            "`mark_shared_storage` is deprecated. Tensors with shared storages are automatically tracked. Note that calls "
            "to `set_()` are not tracked",
            FutureWarning,
            stacklevel=2,
        )

    def mark_non_differentiable(self, *args):
        """Declare outputs that are constants; backward still gets a (zero) gradient for each."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether a missing gradient reaches backward as zeros (the default) or as None."""
        if not isinstance(value, bool):
            raise TypeError(
                "set_materialize_grads received an invalid combination of arguments - got (), but expected (bool)"
            )
        self._materialize = value


class BackwardCFunction(Node, FunctionCtx):
    """The node of a custom Function, and the ctx of its static methods.

    `to_save`, `dirty_tensors` and `non_differentiable` hold what forward declared until `apply` has processed it.
    """

    # The attributes `saved`, `args` and `versions` of Node are left to the user, who may write ctx.args = ...
    __slots__ = ("__dict__", "_given", "_infos", "_kept", "_operands", "n_outputs")

    kind = "function"
    _compiled = False  # whether it is the node of a compiled graph
    plain_numbers = False
    plain = False
    widens = False
    skips_undefined = False
    to_save = dirty_tensors = non_differentiable = saved_for_forward = None
    materialize_grads = property(fset=FunctionCtx.set_materialize_grads)
    _forward_cls = None
    _accessed = False  # whether `saved_tensors` was, and may be only once
    _materialize = _materialize_non_diff_grads = True

    def __setattr__(self, name, value):
        if name in _ENGINE_NAMES:
            raise AttributeError(
                f"ctx.{name} is used by the engine itself; please keep your value under another name"
            )
        object.__setattr__(self, name, value)

    def __repr__(self):
        return f"<torch.autograd.function.{type(self).__name__} object at {hex(id(self))}>"

    def __call__(self, *grads):
        raise TypeError(f"'{type(self).__name__}' object is not callable")

    # -- saved values ---------------------------------------------------------------------------------

    @property
    def saved_tensors(self):
        """What was given to save_for_backward. Raises RuntimeError if it was freed, or overwritten since."""
        if self.saved_for_forward is not None:
            return self.saved_for_forward
        if self._accessed:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        if self._kept is None:
            raise RuntimeError(FREED_TEXT)
        values = tuple([None if kept is None else kept.unpack(self) for kept in self._kept])
        if self._forward_cls.clear_saved_tensors_on_access:
            self._kept, self._accessed = (), True
        return values

    @property
    def saved_variables(self):
        """The old name of `saved_tensors`."""
        warnings.warn(
            "'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning, stacklevel=2
        )
        return self.saved_tensors

    @property
    def _raw_saved_tensors(self):
        if self._kept is None:
            raise RuntimeError(FREED_TEXT)
        return tuple([_SavedTensor(self, kept) for kept in self._kept])

    @property
    def requires_grad(self):
        """Whether some input wants a gradient."""
        return any(self.needs_input_grad)

    def _hooks(self):
        if self.hooks is None:
            object.__setattr__(self, "hooks", NodeHooks())
        return self.hooks

    def keep(self, tensors, outputs):
        """Save `tensors` for backward, knowing which of them are `outputs` of this node; a constant among these is like any other."""
        if not isinstance(tensors, tuple):
            raise RuntimeError(
                f"autograd internal error: to_save attribute is expected to be a tuple but is {type_name(tensors)}"
            )
        kept = []
        for i, t in enumerate(tensors):
            if t is None:
                kept.append(None)
                continue
            if not isinstance(t, Variable):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {i} is of type {type_name(t)}"
                )
            nr = next((nr for nr, out in enumerate(outputs) if out is t), None)
            constant = not t.requires_grad or _among(t, self.non_differentiable or ())
            kept.append(Kept(self, t, None if constant else nr))
        object.__setattr__(self, "_kept", tuple(kept))

    def unpack(self, tensors):
        """Nothing: backward reads its saved tensors itself."""
        return ()

    def release(self):
        """Free the saved tensors. Attributes stay, which is why tensors belong in save_for_backward."""
        object.__setattr__(self, "_kept", None)

    def share_result(self, output, data):
        """Nothing: a saved output was given its address when it was saved."""

    # -- backward -------------------------------------------------------------------------------------

    def _get_user_fn(self):
        cls = self._forward_cls
        if cls.backward is not Function.backward and cls.vjp is not Function.vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement one "
                "of them."
            )
        return cls.vjp if cls.vjp is not Function.vjp else cls.backward

    def apply(self, *grads):
        """Call the user's backward."""
        fn = self._get_user_fn()
        return fn(self, list(grads)) if self._forward_cls.boxed_grads_call else fn(self, *grads)

    def apply_jvp(self, *tangents):
        """Call the user's jvp."""
        return self._forward_cls.jvp(self, *tangents)

    def vjp(self, slots):
        """Run the user's backward on the gradients of all outputs; returns one per tensor argument of forward."""
        run = THREAD.state.running
        in_tensors = run is not None and run.tensors
        arrived = as_tensors(slots)
        given = [
            wrap(np.zeros(*info)[()]) if t is None and info is not None and self._materialize else t
            for t, info in zip(arrived, self._infos, strict=True)
        ]
        result = self.apply(*given)
        if run is not None:
            run.settle()
            put_back(run, slots, arrived)
        if not isinstance(result, tuple):
            result = (result,)
        name, count = type(self).__name__, len(self._operands)
        if len(result) > count and all(g is None for g in result[count:]):
            result = result[:count]
        if len(result) != count:
            raise RuntimeError(
                f"function {name} returned an incorrect number of gradients (expected {count}, got {len(result)})"
            )
        for i, (g, operand) in enumerate(zip(result, self._operands, strict=True)):
            if operand is None and g is not None:
                raise RuntimeError(
                    f"function {name} returned a gradient different than None at position {i + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            if g is not None and not isinstance(g, Variable):
                refuse_pytorch(g)
                raise RuntimeError(f"expected Variable or None (got {type_name(g)})")
        grads = []
        for g, operand in zip(result, self._operands, strict=True):
            if operand is None:
                continue
            if g is not None:
                g = g if in_tensors else g._data
                fn, _ = self.next_functions[len(grads)]
                if fn is not None:
                    shape, dtype = operand
                    g = fitted(g, shape, None if EXPECTED and fn in EXPECTED else dtype, len(grads), name)
            grads.append(g)
        return tuple(grads)


_ENGINE_NAMES = frozenset((
    "_edges", "_next", "broadcast", "hooks", "n_outputs", "next_functions", "plain", "priority", "saved_tensors",
    "skips_undefined",
))  # fmt: skip


class Kept:
    """One tensor given to save_for_backward: an input itself, an output without its history (otherwise a cycle)."""

    __slots__ = ("had_history", "packed", "result", "tensor", "version")

    def __init__(self, node, t, result):
        if t._box is INFERENCE:
            raise RuntimeError(INFERENCE_SAVED)
        self.result = result
        self.packed = None
        self.had_history = t._last_edge() is not NO_EDGE
        self.version = t._box[0] if t._box is not None else 0
        hooks = THREAD.state.saved_hooks
        if hooks:
            self.packed, self.tensor = Packed(t, *hooks[-1], result, node), None
        else:
            self.tensor = t if result is None else alias(t)

    def unpack(self, node):
        """The tensor, checked against later writes; an output with its history. `node` is None if it was saved without one."""
        if self.packed is not None:
            return self.packed.unpack(node, 0)
        t = self.tensor
        if t._box is not None and t._box[0] != self.version:
            raise RuntimeError(
                overwritten_text(t, node if self.result is not None else None, self.result, self.version)
            )
        if node is None and self.had_history and t.is_leaf:
            raise RuntimeError(DETACHED_TEXT)
        if self.result is None:
            return t
        out = wrap(t._data, (node, self.result), t._box)
        dual = THREAD.state.dual
        if dual is not None:
            dual.restored(out, node, self.result)
        return out


class _SavedTensor(SavedTensor):
    """A handle to one saved tensor of a custom Function's node: `node._raw_saved_tensors[i]`."""

    def __init__(self, node, kept):
        self._node, self._kept = node, kept

    def _stored(self):
        kept = self._kept
        return None if kept is None or self._freed() else kept.packed or kept.tensor

    def _freed(self):
        return self._node._kept is None

    def _result_number(self):
        return self._kept.result

    def _unpacked(self, one):
        return self._kept.unpack(self._node)

    def _replace(self, packed):
        self._kept.packed, self._kept.tensor = packed, None


class FunctionMeta(type):
    """Gives each Function its class of nodes: Mul gets MulBackward."""

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)
        cls._backward_cls = type(name + "Backward", (BackwardCFunction,), {"_forward_cls": cls})


class Function(FunctionCtx, metaclass=FunctionMeta):
    """The base class of custom operations: subclass it, write `forward` and `backward`, and call `apply`.

    class Cube(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x ** 3

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return g * 3 * x ** 2

    y = Cube.apply(x)
    """

    clear_saved_tensors_on_access = False
    boxed_grads_call = False
    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{self.__class__} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function "
            "with static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """The operation: forward(ctx, *args), or forward(*args) if there is a `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Fill ctx from the arguments and the result of a `forward` that takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """From the gradient of each output to that of each argument (None for arguments that are not tensors)."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward "
            "mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """From the tangent of each argument to that of each output; used by forward_ad."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """In PyTorch, the operation on a whole batch at once. Here it only declares that there is one: forward is called for each entry."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Run forward on `args` and record it if one of the tensors among them requires a gradient."""
        split = cls.setup_context is not Function.setup_context
        forward = cls.forward
        if THREAD.state.transforms:
            forward = _within_transforms(cls, split, THREAD.state)
        if split:
            args, kwargs = _with_defaults(cls.forward, args, kwargs)
        if kwargs:
            args = _positional(cls.forward, args, kwargs, 0 if split else 1)
        state = THREAD.state
        ctx = new(cls._backward_cls)
        operands, edges = [], []
        needs = [False] * len(args)
        for i, t in enumerate(args):
            if isinstance(t, Variable):
                edge = t._edge or find_edge(t)
                needs[i] = edge is not NO_EDGE
                edges.append(edge)
                operands.append((t._data.shape, t._data.dtype))
            else:
                operands.append(None)
        recorded = state.grad and any(needs)
        put = object.__setattr__
        put(ctx, "_next", tuple(edges) if recorded else ())
        put(ctx, "priority", count_down())
        put(ctx, "hooks", None)
        put(ctx, "broadcast", None)
        ctx.saved = ctx.args = ctx._kept = ()
        ctx.versions = None
        ctx._operands = operands
        ctx.needs_input_grad = tuple(needs)
        grad, state.grad = state.grad, False
        dual, state.dual = state.dual, None
        try:
            if split:
                result = forward(*args)
                cls.setup_context(ctx, args, result)
            else:
                result = cls.forward(ctx, *args)
        finally:
            state.grad, state.dual = grad, dual
        raw = result if isinstance(result, tuple) else (result,)
        outputs = _outputs(ctx, args, raw, recorded, split)
        if dual is not None:
            dual.function(ctx, args, raw, outputs, ctx.dirty_tensors or (), ctx.non_differentiable or ())
        if recorded:
            put(ctx, "n_outputs", len(raw))
            if ctx.to_save is not None:
                type(ctx).keep(ctx, ctx.to_save, outputs)
        if state.special:
            _finish(state, cls, ctx, args, outputs, recorded)
        ctx.to_save = ctx.dirty_tensors = ctx.non_differentiable = ctx.saved_for_forward = None
        return tuple(outputs) if isinstance(result, tuple) else outputs[0]


def _within_transforms(cls, split, state):
    """The forward to call inside torch.func. Raises RuntimeError for a Function that PyTorch could not handle there.

    A Function with its own `vmap` may read the numbers of each entry, as its `vmap` could read those of all of them.
    """
    more = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
    if not split:
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override "
            f"the setup_context staticmethod. {more}"
        )
    if "vmap" in state.transforms and not cls.generate_vmap_rule and cls.vmap is Function.vmap:
        raise RuntimeError(
            f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the "
            f"vmap staticmethod or set generate_vmap_rule=True. {more}"
        )
    batch = watcher().batch
    return cls.forward if batch is None or cls.vmap is Function.vmap else batch.at_rest(cls.forward)


def _outputs(ctx, args, raw, recorded, split):
    """What `apply` returns for the results `raw` of forward: the same tensors, now with history."""
    dirty = _declared(ctx, "dirty_tensors")
    constant = _declared(ctx, "non_differentiable")
    for t in dirty:
        bump_version(t)
    saved_late = ctx.to_save if split and isinstance(ctx.to_save, tuple) else ()
    infos, outputs = [], []
    left_out = (
        () if ctx._materialize_non_diff_grads else constant
    )  # these get None for their gradient, not zeros
    differentiable = 0
    for nr, out in enumerate(raw):
        if not isinstance(out, Variable):
            infos.append(None)
            outputs.append(out)
            continue
        infos.append(None if _among(out, left_out) else (out._data.shape, out._data.dtype))
        is_input = _among(out, args)
        is_dirty = _among(out, dirty)
        tracked = recorded and out._data.dtype.kind == "f" and not _among(out, constant)
        if is_input and not is_dirty and (tracked or not out.requires_grad) and _among(out, saved_late):
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
                "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or "
                "setup ctx inside the forward function itself."
            )
        if not tracked:
            if not out.requires_grad:
                out = _view_as_self(out) if is_input and not is_dirty else out
            elif is_input:
                out = out.detach()  # the input itself stays unchanged
            elif not out._is_view():
                out.detach_()
        elif is_dirty:
            _check_dirty(out, is_input, len(raw), [a for a in args if isinstance(a, Variable)])
            _rewrite(out, ctx, nr)
        else:
            if is_input:
                out = _view_as_self(out)
            _give_history(out, ctx, nr)
        differentiable += tracked
        if out._is_view() and not (is_input and is_dirty):
            out._meta.creation = IN_CUSTOM
        outputs.append(out)
    if any(not _among(t, raw) for t in dirty):
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
            "inplace must all be outputs of the Function."
        )
    if differentiable > 1:
        for out in outputs:
            if isinstance(out, Variable) and out._is_view():
                out._meta.creation = MULTI_OUTPUT
    ctx._infos = infos
    return outputs


def _declared(ctx, what):
    """The tuple of tensors that forward put in ctx.<what>."""
    tensors = getattr(ctx, what)
    if tensors is None:
        return ()
    if not isinstance(tensors, tuple):
        raise RuntimeError(
            f"autograd internal error: {what} attribute is expected to be a tuple but is {type_name(tensors)}"
        )
    for i, t in enumerate(tensors):
        if not isinstance(t, Variable):
            if what == "dirty_tensors":
                raise RuntimeError(
                    f"mark_dirty can only accept variables, but argument {i} is of type {type_name(t)}"
                )
            raise RuntimeError(
                f"mark_non_differentiable only accepts variable arguments, but got {type_name(t)}"
            )
    return tensors


def _check_dirty(out, is_input, count, operands):
    if out.requires_grad and out._last_edge() is NO_EDGE:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if not is_input:
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be "
            "passed to ctx.mark_dirty().",
            stacklevel=4,
        )
    if out._is_view() and count > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
            "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input is "
            "not a view (using .clone() for example) or make your Function only return one Tensor (potentially splitting it "
            "into two Functions: one doing the inplace that returns a single Tensor and a second one that does the other "
            "operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do this change."
        )
    if out._is_view():
        check_writable(out, operands)


def _view_as_self(t):
    grad, THREAD.state.grad = THREAD.state.grad, False
    try:
        return make_view(t, t._array())
    finally:
        THREAD.state.grad = grad


def _give_history(t, node, nr):
    """Make `t` output `nr` of `node`."""
    if t._is_view():
        t._meta.set_edge(t, (node, nr))
        t._edge = None
    else:
        t._edge = (node, nr)


def _rewrite(t, node, nr):
    """Give `t`, which the forward of `node` wrote to, its new history; for a view, its base."""
    if t._meta is not None:
        t._meta.grad = t._meta.hooks = None
    if t._is_view():
        rebase_history(t, node)
        return
    old, t._edge = t._edge, (node, nr)
    if t._meta is not None and t._meta.retains_grad:
        move_retention(t, old, t._edge)


def _among(t, tensors):
    return any(t is other for other in tensors)


def _with_defaults(forward, args, kwargs):
    """The arguments bound to the parameters of `forward`, defaults included."""
    import inspect

    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args, bound.kwargs


def _positional(forward, args, kwargs, skip):
    """`args` followed by the keyword arguments in the order of the parameters of `forward`; without gaps."""
    code = forward.__code__
    names = code.co_varnames[skip : code.co_argcount]
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument '{name}'")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument '{name}'")
    args = list(args)
    for i in range(len(args), len(args) + len(kwargs)):
        if names[i] not in kwargs:
            raise TypeError(f"forward() missing required argument: '{names[i]}' (position {i})")
        args.append(kwargs[names[i]])
    return tuple(args)


def _finish(state, cls, ctx, args, outputs, recorded):
    """The end of `apply` if something unusual is going on (see record.finish)."""
    from .record import announce

    node = ctx if recorded else None
    tensors = tuple([t for t in outputs if isinstance(t, Variable)])
    if node is not None:
        announce(state, node)
    if state.watch is not None:
        state.watch.operation(
            cls.__name__, tuple([t for t in args if isinstance(t, Variable)]), tensors, node, ()
        )


def once_differentiable(fn):
    """Decorates a `backward` that cannot be differentiated: trying to do so raises RuntimeError."""

    @functools.wraps(fn)
    def wrapper(ctx, *args, **kwargs):
        with no_grad():
            outputs = fn(ctx, *args, **kwargs)
        if not THREAD.state.grad or not any(isinstance(a, Variable) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        leaves = [NO_EDGE if t is None else accumulator_of(wrap(t._data)._require_grad()) for t in several]
        results = undifferentiable(message, several, leaves)
        return results if isinstance(outputs, tuple) else results[0]

    return wrapper


def undifferentiable(message, outputs, edges):
    """Gives `outputs` (tensors or None) a history that raises RuntimeError(message) when a gradient arrives.

    `edges` are where the gradient would have gone on to: a pass that does not lead there skips the node.
    """
    node = DelayedError(message, len(outputs), edges)
    return tuple(
        [None if t is None else wrap(t._array(), (node, nr), t._box) for nr, t in enumerate(outputs)]
    )


class DelayedError(Node):
    """The history of something that cannot be differentiated: it raises when a gradient arrives.

    Math: none.   PyTorch: torch::autograd::Error
    """

    __slots__ = ("message", "n_outputs")
    plain = False
    skips_undefined = False

    def __init__(self, message, n_outputs, edges):
        self.message = message
        self.n_outputs = n_outputs
        self._next = tuple(edges)
        self.priority = count_down()
        self.saved = self.args = ()
        self.versions = self.broadcast = self.hooks = None
        created(self)

    def name(self):
        return "torch::autograd::Error"

    def vjp(self, slots):
        raise RuntimeError(self.message)


DelayedError.__name__ = DelayedError.__qualname__ = "Error"


class InplaceFunction(Function):
    """The old base class of functions that can work in place; `Function` can too."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace
