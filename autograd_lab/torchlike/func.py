"""torch.func: composable function transforms for derivatives; and calling a module with other parameters."""

import contextlib
import functools
from collections import Counter

from .autograd import enable_grad, inference_mode, no_grad
from .autograd import grad as gradient_of
from .autograd.batch import Batch
from .autograd.errors import refuse_pytorch
from .autograd.forward_ad import transform_level, without_history
from .autograd.graph import disable_saved_tensors_hooks
from .autograd.modes import THREAD, is_grad_enabled
from .autograd.node import AccumulateGrad
from .autograd.record import make_node
from .autograd.variable import INFERENCE, NO_EDGE, Registry, Variable, edge_of, wrap
from .creation import FACTORIES, follow
from .ops.rule import FUNCTIONS
from .utils._pytree import LEAF, tree_flatten, tree_leaves, tree_map, tree_structure

zeros, zeros_like, stack = FACTORIES["zeros"], FACTORIES["zeros_like"], FUNCTIONS["stack"]

# -- modules with other parameters ----------------------------------------------------------------------


@contextlib.contextmanager
def _exchanged(module, tensors, tie_weights):
    """Temporarily replace the module's parameters and buffers by name."""
    places, own = {}, {}
    for prefix, m in module.named_modules(remove_duplicate=False):
        for table in (m._parameters, m._buffers):
            for name, t in table.items():
                if t is not None:
                    full = f"{prefix}.{name}" if prefix else name
                    places[full] = table, name
                    own.setdefault(id(t), []).append(full)
    for name in tensors:
        inside, _, _ = name.rpartition(".")
        at = module
        for part in inside.split(".") if inside else ():
            if not hasattr(at, part):
                raise AttributeError(f"{type(at).__name__} has no attribute `{part}`")
            at = getattr(at, part)
    tensors = {name: t for name, t in tensors.items() if name in places}
    new = {}
    for name, t in tensors.items():
        table, key = places[name]
        for other in own[id(table[key])] if tie_weights else [name]:
            new.setdefault(other, t)
    new.update(tensors)
    kept = [(places[name], places[name][0][places[name][1]]) for name in new]
    try:
        for name, t in new.items():
            table, key = places[name]
            table[key] = t
        yield
    finally:
        for (table, key), t in kept:
            table[key] = t


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """Call module(*args, **kwargs) with its parameters and buffers replaced by the tensors of a dict (or several).

    Gradients reach the given tensors. tie_weights: tensors that the module shares between names stay shared. Names that the module does not
    have are ignored. With strict=True, raises RuntimeError for such a name and for a missing one; raises ValueError for a name in several
    dicts.
    """
    dicts = parameter_and_buffer_dicts
    if not isinstance(dicts, (dict, list, tuple)):
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got {type(dicts)}"
        )
    dicts = [dicts] if isinstance(dicts, dict) else dicts
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    times = Counter(name for d in dicts for name in d)
    if repeated := [name for name, n in times.items() if n > 1]:
        raise ValueError(
            f"{repeated!r} appeared in multiple dictionaries; behavior of functional call is ambiguous"
        )
    tensors = {name: t for d in dicts for name, t in d.items()}
    if strict:
        owned = {n for n, _ in module.named_parameters()} | {n for n, _ in module.named_buffers()}
        problems = [
            f"\n\t{what} key(s): {', '.join(map(repr, sorted(names)))}."
            for what, names in (("Unexpected", tensors.keys() - owned), ("Missing", owned - tensors.keys()))
            if names
        ]
        if problems:
            raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:{''.join(problems)}")
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    with _exchanged(module, tensors, tie_weights):
        return module(*args, **(kwargs or {}))


# -- derivatives ----------------------------------------------------------------------------------------
#
# A transform passes its own tensors to the function, to differentiate with respect to, and returns results that do not depend on these: any
# remaining history belongs to the surroundings, such as an outer transform or a model's parameters.


@contextlib.contextmanager
def _within(transform):
    """Note that a function is called by a transform: custom Functions check for it."""
    state = THREAD.state
    before, state.transforms = state.transforms, (*state.transforms, transform)
    try:
        yield
    finally:
        state.transforms = before


_NO_HOOKS = "torch.func.{grad, vjp, jacrev, hessian} don't yet support saved tensor hooks. Please open an issue with your use case."


@contextlib.contextmanager
def _normal_mode():
    """Leave inference mode, in which nothing has history, while a transform runs; it then records only for itself."""
    if not THREAD.state.inference:
        yield
        return
    with inference_mode(False), no_grad():
        yield


def _normal(t):
    """An inference tensor as one that can have history; other tensors unchanged."""
    return follow(wrap(t._data), t) if isinstance(t, Variable) and t._box is INFERENCE else t


class _Level:
    """Shared by the inputs of one transform. They refer to this rather than the transform, which refers to them."""

    def __init__(self):
        self.running = False  # whether the function is being called
        dual = THREAD.state.dual
        self.recorded_outside = is_grad_enabled() or (dual is not None and dual.linear)

    def leave(self, t):
        """A result stripped of the history that belongs to this transform alone, and likewise its tangents."""
        _check_tensor(t)
        dual = THREAD.state.dual
        out = t.detach() if t.requires_grad and not self.outlive([t]) else t
        if dual is not None and (out is not t or any(v.requires_grad for v in dual.tangents(t))):
            out = out.view_as(out) if out is t else out
            dual.alike(out, t, self.leave)
        return out

    def outlive(self, tensors):
        """Whether the history of some of these tensors also belongs to the surroundings, which record it."""
        if not self.recorded_outside:
            return False
        seen, waiting = set(), []
        for t in tensors:
            if t.requires_grad and t.grad_fn is None and self._is_outside(t):
                return True
            if t.grad_fn is not None:
                waiting.append(t.grad_fn)
        while waiting:
            for node, _ in waiting.pop().next_functions:
                if node is not None and node not in seen:
                    if isinstance(node, AccumulateGrad) and self._is_outside(node.variable):
                        return True
                    seen.add(node)
                    waiting.append(node)
        return False

    def _is_outside(self, leaf):
        """Whether a leaf belongs to the user or to an enclosing transform."""
        level = leaf.__dict__.get("_level")
        return level is None or (level is not self and level.running)


def _check_tensor(t):
    """Returns the tensor. Raises RuntimeError if a result of a function is anything else."""
    if not isinstance(t, Variable):
        raise RuntimeError(f"Expected tensors, got unsupported type {type(t)}")
    return t


def _with_tangents(tensors):
    """The tensors, and all their tangents in enclosing transforms."""
    dual = THREAD.state.dual
    return tensors if dual is None else [*tensors, *[v for t in tensors for v in dual.tangents(t)]]


class _Inputs:
    """The tensors with respect to which one transform differentiates in reverse mode."""

    def __init__(self, given):
        self.tensors, self._spec = tree_flatten(given)
        _check_given(self.tensors)
        self.level = _Level()
        self.leave, self.outlive = self.level.leave, self.level.outlive
        self.tensors = [self._own(_normal(t)) for t in self.tensors]

    def _own(self, t):
        """The numbers of `t`, in the same memory and with its tangents: a leaf, or the result of an operation on `t` if that has history.

        Not a view, which would regenerate its history after a write under no_grad.
        """
        if t.requires_grad:
            own = wrap(t._array(), make_node(Registry.clone, (edge_of(t),), ("K",)), t._shared_box())
        else:
            own = wrap(t._array(), NO_EDGE, t._shared_box())._require_grad()
            own.__dict__["_level"] = self.level
        if THREAD.state.dual is not None:
            THREAD.state.dual.alike(own, t)
        return follow(own, t)

    def tree(self):
        """The arguments for the function."""
        return self._spec.unflatten(self.tensors)

    def put(self, results):
        """One result for each of the tensors, in their original structure."""
        return self._spec.unflatten(results)

    def gradients(self, outputs, grad_outputs=None, again=True):
        """Gradients of `outputs` by the inputs, zeros where there is no dependence; recorded if they may be differentiated `again`."""
        weights = grad_outputs or [None] * len(outputs)
        pairs = [(y, g) for y, g in zip(outputs, weights, strict=True) if y.requires_grad]
        if not pairs:
            return [zeros_like(t) for t in self.tensors]
        found = gradient_of(
            [y for y, _ in pairs],
            self.tensors,
            None if grad_outputs is None else [g for _, g in pairs],
            retain_graph=True,
            create_graph=again,
            allow_unused=True,
        )
        return [zeros_like(t) if g is None else g for g, t in zip(found, self.tensors, strict=True)]

    def call(self, func, args, kwargs, has_aux, who):
        """(outputs, aux or None) of func(*args) with recording switched on. Raises RuntimeError if a write to an input is recorded."""
        edges = [t._edge for t in self.tensors]
        self.level.running = True
        try:
            with disable_saved_tensors_hooks(_NO_HOOKS), enable_grad(), _within("grad"):
                outputs = func(*args, **kwargs)
        finally:
            self.level.running = False
        if any(t._edge is not edge for t, edge in zip(self.tensors, edges, strict=True)):
            raise RuntimeError("a leaf Variable that requires grad is being used in an in-place operation.")
        return _parted(outputs, has_aux, who)


def _check_given(tensors):
    """Raises ValueError if an argument to differentiate by is not a tensor."""
    for t in tensors:
        if not isinstance(t, Variable):
            refuse_pytorch(t)
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(t)}")


def _parted(outputs, has_aux, who):
    """(outputs, aux or None) from the result of a function. Raises RuntimeError if it should be a pair but is not."""
    if not has_aux:
        return outputs, None
    if not (isinstance(outputs, tuple) and len(outputs) == 2):
        raise RuntimeError(f"{who}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return outputs


def _numbers(argnums, count):
    """`argnums` as a tuple of indices from 0. Raises RuntimeError for invalid ones."""
    if not isinstance(argnums, (int, tuple)):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if argnums == ():
        raise RuntimeError("argnums must be non-empty")
    numbers = argnums if isinstance(argnums, tuple) else (argnums,)
    for n in numbers:
        if not isinstance(n, int):
            raise RuntimeError(f"argnum must be int, got: {type(n)}")
        if not -count <= n < count:
            raise RuntimeError(f"Got argnum={n}, but only {count} positional inputs")
    numbers = tuple([n % count for n in numbers])
    if len(set(numbers)) != len(numbers):
        raise RuntimeError(f"argnums elements must be unique, got {numbers}")
    return numbers


def _chosen(args, argnums):
    """Returns the inputs to differentiate by, and all arguments with these inserted."""
    numbers = _numbers(argnums, len(args))
    inputs = _Inputs(tuple([args[n] for n in numbers]))
    return inputs, _replaced(tree_map(_stand_in, args), numbers, inputs.tree())


def _stand_in(t):
    """For a tensor without history, one that shares its memory: writes to it leave the user's tensor without history."""
    return follow(without_history(t), t) if isinstance(t, Variable) and not t.requires_grad else t


def _replaced(args, numbers, others):
    """The arguments with those at the indices `numbers` replaced."""
    inner = list(args)
    for n, arg in zip(numbers, others, strict=True):
        inner[n] = arg
    return inner


def _per_argument(argnums, results):
    return results if isinstance(argnums, tuple) else results[0]


def grad_and_value(func, argnums=0, has_aux=False):
    """A function that returns (the gradient of func by argument `argnums`, func's value) (torch.func.grad_and_value).

    `func` returns a tensor with one element and no dims; or, with has_aux, a pair of it and other results, which are passed on:
    (gradient, (value, aux)). `argnums` may be a tuple: the gradient is then one of gradients. Raises RuntimeError for other results.
    """

    @functools.wraps(func)
    @_normal_mode()
    def wrapper(*args, **kwargs):
        inputs, inner = _chosen(args, argnums)
        y, aux = inputs.call(func, inner, kwargs, has_aux, "grad_and_value(f)(*args)")
        if not isinstance(y, Variable):
            raise RuntimeError(
                f"grad_and_value(f)(*args): Expected f(*args) to return a Tensor, got {type(y)}"
            )
        if y.dim() != 0:
            raise RuntimeError(
                "grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with "
                f"{y.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
            )
        grads = inputs.put(
            [inputs.leave(g) for g in inputs.gradients([y], again=inputs.outlive(_with_tangents([y])))]
        )
        value = inputs.leave(y)
        return _per_argument(argnums, grads), (value, tree_map(inputs.leave, aux)) if has_aux else value

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """A function that returns the gradient of func by argument `argnums` (torch.func.grad).

    It can be nested: grad(grad(f)) is the second derivative. See `grad_and_value` for the rest.
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


@_normal_mode()
def vjp(func, *primals, has_aux=False):
    """(func(*primals), a function from the gradient of that to those of the primals) (torch.func.vjp).

    With has_aux, func returns (output, aux), and aux comes third. The function may be called any number of times.
    """
    inputs = _Inputs(primals)
    outputs, aux = inputs.call(func, inputs.tree(), {}, has_aux, "vjp(f, *primals)")
    leaves, _ = _tensors(outputs, "vjp(f, *primals)")
    _check_floats(leaves)

    @_normal_mode()
    def backwards(cotangents, retain_graph=True, create_graph=None):
        if tree_structure(cotangents) != tree_structure(outputs):
            raise RuntimeError(
                "Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {_shown(cotangents)}, primal output: {_shown(outputs)}"
            )
        given = [_normal(t) for t in tree_leaves(cotangents)]
        inputs.level.recorded_outside = is_grad_enabled()
        again = inputs.outlive(_with_tangents([*leaves, *given]))
        grads = inputs.gradients(leaves, given, again=again)
        return inputs.put([inputs.leave(g) for g in grads])

    result = tree_map(inputs.leave, outputs), backwards
    return (*result, tree_map(inputs.leave, aux)) if has_aux else result


def _shown(tree):
    """The structure of a nested value as messages show it: (*, {'a': *})."""
    return tree_map(lambda _: LEAF, tree)


def _check_floats(outputs):
    """Raise RuntimeError if one of the tensors `outputs` is an integer tensor, which has no gradient."""
    for y in outputs:
        if not y.is_floating_point():
            raise RuntimeError(
                f"vjp(f, ...): All outputs of f must be floating-point or complex Tensors, got Tensor with dtype {y.dtype}"
            )


def _tensors(outputs, who):
    """The leaves of `outputs`, all of which must be tensors, and their structure."""
    leaves, spec = tree_flatten(outputs)
    if leaves in ([], [None]):
        raise RuntimeError(
            f"{who}: Expected f to be a function that has non-empty output (got output = {leaves})"
        )
    for leaf in leaves:
        if not isinstance(leaf, Variable):
            raise RuntimeError(
                f"{who}: expected f(*primals) to return only tensors, got unsupported type {type(leaf)}"
            )
    return leaves, spec


@_normal_mode()
def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """(func(*primals), its derivative along `tangents`) (torch.func.jvp): two trees of tensors with the same structure.

    func is called with dual numbers (see forward_ad), so computations and writes under no_grad count too. Transforms can be nested.
    strict=True: raises RuntimeError if an output does not depend on the primals.
    """
    who = "jvp(f, primals, tangents)"
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{who}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if tree_structure(primals) != tree_structure(tangents):
        raise RuntimeError(
            f"{who}: Expected primals and tangents to have the same python structure. For example, if primals is a tuple of 3 tensors, "
            f"tangents also must be. Got primals with structure {tree_structure(primals)} and tangents with structure {tree_structure(tangents)}"
        )
    if not tree_leaves(primals):
        raise RuntimeError(f"{who}: Expected primals to contain at least one Tensor.")
    for name, given in (("primals", primals), ("tangents", tangents)):
        for t in tree_leaves(given):
            if not isinstance(t, Variable):
                raise RuntimeError(f"{who}: Expected {name} to only contain Tensors, got {type(t)}")
    _check_moving("primal", tree_leaves(primals))
    _check_moving("tangent", tree_leaves(tangents))
    with transform_level() as level:
        duals = [
            _dual(level, t, {0: tangent})
            for t, tangent in zip(tree_leaves(primals), tree_leaves(tangents), strict=True)
        ]
        args = tree_structure(primals).unflatten(duals)
        outputs, aux, leaves, spec = _forward(func, args, {}, has_aux)
        changes = [level.tangent(y) for y in leaves]
        if strict and any(c is None for c in changes):
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not allowed with "
                "strict=True."
            )
        changes = [zeros_like(y) if c is None else c for c, y in zip(changes, leaves, strict=True)]
    result = outputs, spec.unflatten(changes)
    return (*result, aux) if has_aux else result


def _check_moving(what, tensors):
    """Raises ValueError if one of the tensors to differentiate by is an integer tensor."""
    for t in tensors:
        if not t.is_floating_point():
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {t.dtype}")


def _dual(level, t, tangents):
    """`t` as a dual number; `tangents`: {direction: tangent}."""
    own = _normal(t)
    own = own.view_as(own)
    for k, tangent in tangents.items():
        level.directions[k].give(own, _normal(tangent))
    return own


def _forward(func, args, kwargs, has_aux):
    """(outputs, aux or None, the leaves of the outputs, their structure) of a function of dual numbers."""
    who = "jvp(f, primals, tangents)"
    with _within("jvp"):
        outputs, aux = _parted(func(*args, **kwargs), has_aux, who)
    tree_map(_check_tensor, aux if has_aux else ())
    return outputs, aux, *_tensors(outputs, who)


@_normal_mode()
def linearize(func, *primals):
    """(func(*primals), a function from tangents to the derivative along them) (torch.func.linearize).

    func is called once, with recorded tangents, so the derivative can then be computed for any tangents.
    """
    own = _Level()
    given = tree_leaves(primals)
    _check_moving("primal", given)
    with transform_level(linear=True) as level:
        tangents = [_leaf_of(own, t) for t in given]
        with enable_grad():
            copies = [t.clone() for t in tangents]
        duals = [_dual(level, t, {0: copy}) for t, copy in zip(given, copies, strict=True)]
        own.running = True
        try:
            outputs = func(*tree_structure(primals).unflatten(duals))
        finally:
            own.running = False
        if tree_leaves(outputs) in ([], [None]):
            return outputs, lambda *tangents: outputs
        leaves, spec = _tensors(outputs, "linearize(f, *primals)")
        changes = [level.tangent(y) for y in leaves]
    moves = [change is not None and change.requires_grad for change in changes]
    moving = [change for change, it_does in zip(changes, moves, strict=True) if it_does]
    # A VJP is linear in its incoming gradient, so its own VJP with respect to that is the JVP.
    weights = [_leaf_of(own, change) for change in moving]
    products = [None] * len(given)
    if moving:
        products = gradient_of(moving, tangents, weights, create_graph=True, allow_unused=True)

    @_normal_mode()
    def along(*directions):
        if tree_structure(directions) != tree_structure(primals):
            raise RuntimeError(
                f"linearize: expected tangents with structure {tree_structure(primals)}, but got {tree_structure(directions)}"
            )
        directions = [_normal(t) for t in tree_leaves(directions)]
        for i, (x, t) in enumerate(zip(tangents, directions, strict=True)):
            for what in ("shape", "dtype"):
                if getattr(x, what) != getattr(t, what):
                    raise RuntimeError(
                        f"tangent:{i} with {what} {getattr(t, what)} in flattened pytree doesn't match the {what} "
                        f"{getattr(x, what)} of the corresponding primal."
                    )
        own.recorded_outside = is_grad_enabled()
        again = own.outlive(_with_tangents([*moving, *directions]))
        known = [i for i, product in enumerate(products) if product is not None]
        found = iter([None] * len(moving))
        if known:
            by, along = [products[i] for i in known], [directions[i] for i in known]
            found = iter(
                gradient_of(by, weights, along, retain_graph=True, create_graph=again, allow_unused=True)
            )
        found = [next(found) if it_does else None for it_does in moves]
        return spec.unflatten([
            zeros_like(y) if change is None else own.leave(change)
            for y, change in zip(leaves, found, strict=True)
        ])  # fmt: skip

    return outputs, along


def _leaf_of(level, t):
    """A leaf of a transform, like `t`."""
    leaf = zeros_like(t)._require_grad()
    leaf.__dict__["_level"] = level
    return leaf


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that computes the Jacobian of func, of shape y.shape + x.shape, row by row in reverse mode (torch.func.jacrev)."""
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    @functools.wraps(func)
    @_normal_mode()
    def wrapper(*args, **kwargs):
        inputs, inner = _chosen(args, argnums)
        outputs, aux = inputs.call(func, inner, kwargs, has_aux, "jacobian(f)(*args)")
        leaves, spec = _tensors(outputs, "vjp(f, *primals)")
        _check_floats(leaves)
        again = inputs.outlive(_with_tangents(leaves))
        blocks = []
        for y in leaves:
            with enable_grad():
                entries = y.reshape(-1).unbind()
            rows = []
            with Batch(len(entries)) as batch, _within("vmap"):
                for i in batch.turns() if entries else ():
                    rows.append(inputs.gradients([batch.entry(entries[i])], again=again))
            blocks.append([
                inputs.leave(stack([row[i] for row in rows]).reshape(y.shape + x.shape))
                if rows
                else zeros(y.shape + x.shape, dtype=y.dtype)
                for i, x in enumerate(inputs.tensors)
            ])  # fmt: skip
        jacobian = spec.unflatten([_per_argument(argnums, inputs.put(of_y)) for of_y in blocks])
        return (jacobian, tree_map(inputs.leave, aux)) if has_aux else jacobian

    return wrapper


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that computes the Jacobian of func, of shape y.shape + x.shape, column by column in forward mode (torch.func.jacfwd).

    func is called once, with tangents in all directions at once; with randomness="different", once for each.
    """

    @functools.wraps(func)
    @_normal_mode()
    def wrapper(*args, **kwargs):
        _check_randomness(randomness)
        chosen = tuple(range(len(args))) if argnums is None else argnums
        numbers = _numbers(chosen, len(args))
        given, given_spec = tree_flatten(tuple([args[n] for n in numbers]))
        _check_given(given)
        _check_moving("primal", given)
        basis = [(i, j) for i, x in enumerate(given) for j in range(x.numel())]
        groups = [[place] for place in basis] if randomness == "different" and basis else [basis]
        columns = []
        with Batch(len(groups), randomness) as batch, _within("vmap"):
            for turn in batch.turns():
                with transform_level(len(groups[turn])) as level:
                    tangents = [{} for _ in given]
                    for k, (i, j) in enumerate(groups[turn]):
                        tangents[i][k] = tangent = zeros(given[i].shape, dtype=given[i].dtype)
                        tangent.view(-1)[j] = 1
                    duals = given_spec.unflatten(
                        [_dual(level, t, v) for t, v in zip(given, tangents, strict=True)]
                    )
                    _, aux, leaves, spec = _forward(func, _replaced(args, numbers, duals), kwargs, has_aux)
                    columns += [
                        [zeros_like(y) if (v := way.tangent(y)) is None else v for y in leaves]
                        for way in level.directions
                    ]
        found = []
        for k, y in enumerate(leaves):
            of_all, at, blocks = [column[k] for column in columns], 0, []
            for x in given:
                part, at = of_all[at : at + x.numel()], at + x.numel()
                block = stack(part, -1) if part else zeros((*y.shape, 0), dtype=y.dtype)
                blocks.append(block.reshape(y.shape + x.shape))
            found.append(_per_argument(chosen, given_spec.unflatten(blocks)))
        jacobian = spec.unflatten(found)
        return (jacobian, aux) if has_aux else jacobian

    return wrapper


def hessian(func, argnums=0):
    """A function that computes the second derivatives of func: jacfwd of jacrev (torch.func.hessian)."""
    return jacfwd(jacrev(func, argnums), argnums)


# -- many at once -----------------------------------------------------------------------------------------


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies func to each slice of its arguments and stacks the results (torch.func.vmap).

    in_dims     the dim along which arguments are sliced: an int for all, or a tuple (nested like the arguments); None: not at all
    out_dims    the dim along which results are stacked, in the same form
    randomness  "error": random numbers raise; "different": each call draws its own; "same": all draw the same

    Here it is a loop, so it is no faster than one, and Python side effects (a print, a growing list) happen in each iteration.
    Raises ValueError for dims that do not fit the arguments or results; RuntimeError for anything that cannot be done to all slices at once
    (see autograd/batch.py): .item() and branches on values, results with data-dependent shapes, writing a slice's values into a tensor that
    all slices share.
    """
    _check_randomness(randomness)
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", repr(func))

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        leaves, spec = tree_flatten(args)
        dims = _in_dims(in_dims, args, leaves, name)
        sizes = {t.shape[d] for t, d in zip(leaves, dims, strict=True) if d is not None}
        if len(sizes) > 1:
            found = [t.shape[d] for t, d in zip(leaves, dims, strict=True) if d is not None]
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {found} for the mapped dimension"
            )
        (count,) = sizes
        results = []
        with Batch(count, randomness) as batch, _within("vmap"):
            for i in batch.turns():
                given = [
                    t if d is None else batch.entry(_entry(t, d, i, count), i * t.stride(d))
                    for t, d in zip(leaves, dims, strict=True)
                ]
                results.append(func(*spec.unflatten(given), **kwargs))
        return _stacked(results, out_dims, batch, name)

    return wrapper


def _check_randomness(randomness):
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )


def _in_dims(in_dims, args, leaves, name):
    """The dim (or None) for each leaf of the arguments."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({name}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple "
            f"matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function "
            "with no inputs. The latter is unsupported."
        )
    dims = _spread(in_dims, args)
    where = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if dims is None:
        raise ValueError(
            f"{where}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_structure(in_dims)} but "
            f"inputs has structure {tree_structure(args)}."
        )
    for k, (t, d) in enumerate(zip(leaves, dims, strict=True)):
        if d is None:
            continue
        if not isinstance(d, int):
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(t, Variable):
            refuse_pytorch(t)
            raise ValueError(
                f"{where}: Got in_dim={d} for an input but the input is of type {type(t)}. We cannot vmap over non-Tensor "
                "arguments, please use None as the respective in_dim"
            )
        if not -t.dim() <= d < t.dim():
            raise ValueError(
                f"{where}: Got in_dim={d} for some input, but that input is a Tensor of dimensionality {t.dim()} so expected "
                f"in_dim to satisfy -{t.dim()} <= in_dim < {t.dim()}."
            )
        dims[k] = d % t.dim()
    if all(d is None for d in dims):
        raise ValueError(f"{where}: at least one of the in_dims must be an int: nothing would be mapped over")
    return dims


def _spread(dims, tree):
    """`dims` for each leaf of `tree`; one for a whole subtree is repeated. None if the two do not fit."""
    if dims is None or isinstance(dims, int):
        return [dims] * len(tree_leaves(tree))
    if isinstance(dims, dict) and isinstance(tree, dict) and dims.keys() == tree.keys():
        pairs = [(dims[key], tree[key]) for key in tree]
    elif isinstance(dims, (tuple, list)) and isinstance(tree, (tuple, list)) and len(dims) == len(tree):
        pairs = list(zip(dims, tree, strict=True))
    else:
        return None
    parts = [_spread(d, branch) for d, branch in pairs]
    return None if any(part is None for part in parts) else [d for part in parts for d in part]


def _entry(t, dim, i, count):
    """Entry `i` of `t` along `dim`; for an empty batch zeros, which show the structure of the results."""
    return t.select(dim, i) if count else t.new_zeros([*t.shape[:dim], *t.shape[dim + 1 :]])


def _stacked(results, out_dims, batch, name):
    """The results of all iterations, stacked along `out_dims`."""
    dims = _spread(
        out_dims,
        results[0] if isinstance(results[0], tuple) or not isinstance(out_dims, tuple) else (results[0],),
    )
    if dims is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims "
            f"has structure {tree_structure(out_dims)} but outputs has structure {tree_structure(results[0])}."
        )
    flat = [tree_flatten(result) for result in results]
    stacks = []
    for k, d in enumerate(dims):
        parts = [leaves[k] for leaves, _ in flat]
        if d is None:
            if any(batch.holds(part) if isinstance(part, Variable) else part != parts[0] for part in parts):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None"
                )
            stacks.append(parts[0])
            continue
        for part in parts:
            if not isinstance(part, Variable):
                raise ValueError(
                    f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(part)}. Did you mean to set out_dims= to "
                    "None for output?"
                )
        whole = stack(parts, d)
        stacks.append(whole if batch.size else whole.narrow(d, 0, 0))
    return flat[0][1].unflatten(stacks)


def stack_module_state(models):
    """(parameters, buffers) of several modules of one kind, each stacked along a new dim 0 (torch.func.stack_module_state)."""
    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = {}
    for name, p in models[0].named_parameters():
        of_all = [dict(m.named_parameters())[name] for m in models]
        if len({q.requires_grad for q in of_all}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        parameters[name] = stack([q.detach() for q in of_all])._require_grad(p.requires_grad)
    buffers = {
        name: stack([dict(m.named_buffers())[name] for m in models]) for name, _ in models[0].named_buffers()
    }
    return parameters, buffers


__all__ = [
    "functional_call", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "stack_module_state", "vjp",
    "vmap",
]  # fmt: skip
