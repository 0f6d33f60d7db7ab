"""`backward` and `grad`: what they accept, and what they refuse before a pass begins (torch.autograd)."""

import warnings
from collections.abc import Mapping
from math import prod
from operator import index

import numpy as np

from . import seams
from .batch import Batch
from .errors import refuse_pytorch, type_name
from .full_pass import FullPass
from .graph import GradientEdge, meaning_of
from .metadata import cast, fitted_to
from .modes import THREAD, WATCHERS, watcher
from .variable import NO_EDGE, Registry, Variable, edge_of, pair_of, wrap


def backward(
    tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None
):
    """Send gradients back from `tensors` and add them to `.grad` of the leaves (torch.autograd.backward).

    tensors       a Tensor (or GradientEdge) or a sequence of them
    grad_tensors  the gradient of each, in its shape; None where the tensor has one element (then 1)
    retain_graph  keep saved values (default: create_graph)
    create_graph  record the pass, so that the gradients can be differentiated
    inputs        accumulate `.grad` only for these tensors

    Raises RuntimeError for a root that does not require a gradient, a missing or misshapen gradient, a graph already freed, or
    a saved value that was overwritten; and inside of a function that torch.func transforms.
    """
    state = THREAD.state
    if isinstance(tensors, Variable) and grad_tensors is inputs is retain_graph is grad_variables is None:
        root, ordinary = tensors._edge, create_graph is False and not state.transforms
        if ordinary and root is not None and type(root) is not tuple and not tensors._data.shape:
            if WATCHERS:
                watcher().asked((tensors,), None)
            seed = tensors._data.dtype.type(1)  # the loss of every training loop
            keep = state.again
            if root.whole_pass is not None and root.whole_pass(seed, keep):
                return
            at_once = seams.DOORS.backward
            if at_once is None or not at_once(root, seed, keep):
                FullPass([((root, 0), seed)], keep, False).run()
            return
    _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def _backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs):
    """`backward` with everything that one may ask for."""
    state = THREAD.state
    if state.transforms:
        raise RuntimeError(
            "backward() called inside a functorch transform. This is not supported, please use functorch.grad or functorch.vjp "
            "instead or call backward() outside of functorch transforms."
        )
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=3
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        inputs = _tuple_of(inputs, "backward")
    tensors = _tensors_of(tensors)
    if WATCHERS:
        watcher().asked(tensors, inputs)
    roots = _checked(tensors, _gradients(grad_tensors, len(tensors)), create_graph)
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
            "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
            "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
            "the cycle and avoid the leak.",
            stacklevel=4,
        )
    only = None
    if inputs is not None:
        only = []
        for t in inputs:
            if isinstance(t, Variable):
                t.grad_fn  # noqa: B018 - renews the history of a view
                t.retain_grad()
            node, _ = _input_edge(t)
            if node is not None:
                only.append(node)
    keep = state.again or (create_graph if retain_graph is None else retain_graph)
    if keep is not False or create_graph is not False:
        index(keep), index(create_graph)  # PyTorch's engine accepts numbers for them, and nothing else
    if len(roots) == 1 and only is None and not create_graph:
        (root, _), seed = roots[0]
        if root.whole_pass and root.whole_pass(seed, keep):
            return
    FullPass(roots, keep, create_graph, only=only).run()


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
    is_grads_batched=False, materialize_grads=False,
):  # fmt: skip
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched (torch.autograd.grad).

    grad_outputs       the gradient of each output, in its shape
    allow_unused       return None for an input that the outputs do not depend on, instead of raising
    materialize_grads  return zeros instead of None
    is_grads_batched   each grad_output has a leading dim; one pass is made per entry and the results are stacked
    """
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    outputs = _tensors_of(outputs)
    names = list(inputs) if type(inputs) is dict else None
    inputs = _tuple_of(inputs, "grad")
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if WATCHERS:
        watcher().asked(outputs, inputs)
    grad_outputs = _gradients(grad_outputs, len(outputs))
    if WATCHERS:
        watcher().sent(grad_outputs)
    keep = THREAD.state.again or (create_graph if retain_graph is None else retain_graph)
    index(keep), index(create_graph)
    if is_grads_batched:
        results = _batched(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    else:
        results = _gradients_of(
            outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads
        )
    if WATCHERS:
        watcher().granted(inputs, results)
    return results if names is None else dict(zip(names, results, strict=True))


def _gradients_of(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize):
    """Run one pass; returns the gradient that arrived at each of `inputs`."""
    roots = _checked(outputs, grad_outputs, create_graph)
    captures = {}
    for place, t in enumerate(inputs):
        node, nr = _input_edge(t)
        if node is not None:
            captures.setdefault(node, []).append((nr, place))
    run = FullPass(roots, keep, create_graph, captures=captures, call="grad")
    run.run()
    found = {}
    results = []
    for place, t in enumerate(inputs):
        g = run.captured.get(place)
        if g is None:
            if materialize:
                g = _zeros_for(t, create_graph)
            elif not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
        else:
            if isinstance(t, Variable) and g.shape != t._data.shape:
                g = fitted_to(t, _input_edge(t), g, run)
            if not isinstance(g, Variable):
                if id(g) not in found:
                    found[id(g)] = wrap(g)
                g = found[id(g)]
        results.append(g)
    return tuple(results)


def _zeros_for(t, requires_grad):
    """The gradient of an input that was not used. Raises RuntimeError for a GradientEdge, which has no shape."""
    if isinstance(t, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    zeros = wrap(np.zeros(t._data.shape, t._data.dtype)[()])
    return zeros._require_grad() if requires_grad else zeros


def _batched(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize):
    """Run one ordinary pass for each entry of the leading dim of the gradients, and stack the results."""
    for i, (y, v) in enumerate(zip(outputs, grad_outputs, strict=True)):
        if v is None:
            if not isinstance(y, Variable) or y._data.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            raise ValueError(
                "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for some input, but that input is a Tensor of "
                "dimensionality 0 so expected in_dim to satisfy 0 <= in_dim < 0."
            )
        if not isinstance(v, Variable):
            refuse_pytorch(v)
            raise TypeError("gradients can be either Tensors or None, but got " + type(v).__name__)
        shape = y._data.shape if isinstance(y, Variable) else v[0]._data.shape
        if v[0]._data.shape != shape:
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                f"mismatch was detected: grad_output[{i}] has a shape of {v[0].shape[1:]} and output[{i}] has a shape of "
                f"{y.shape}. If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    n = grad_outputs[0].shape[0]
    rows = []
    with Batch(n, by_hand=True) as batch:
        for k in batch.turns():
            gradients = [batch.entry(v[k]) for v in grad_outputs]
            again = keep or k < n - 1
            rows.append(_gradients_of(outputs, inputs, gradients, again, create_graph, allow_unused, False))
    stack = Registry.functions["stack"]
    return tuple([
        stack(column) if column[0] is not None else _zeros_for(t, create_graph) if materialize else None
        for t, column in zip(inputs, zip(*rows, strict=True), strict=True)
    ])  # fmt: skip


def _tensors_of(tensors):
    """One tensor or edge, or several, as a tuple. Raises RuntimeError for those of PyTorch."""
    if isinstance(tensors, (Variable, GradientEdge)):
        return (tensors,)
    refuse_pytorch(tensors)
    tensors = tuple(tensors)
    refuse_pytorch(*tensors)
    return tensors


def _tuple_of(inputs, where):
    """The `inputs` argument as a tuple. Raises RuntimeError if it is empty."""
    if isinstance(inputs, Mapping) and type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `{where}()` must be a dict, not {type(inputs).__name__}. Other Mapping types are not "
            "supported."
        )
    inputs = _tensors_of(inputs.values() if type(inputs) is dict else inputs)
    if not inputs:
        raise RuntimeError(f"`inputs` argument to `{where}()` cannot be empty.")
    return inputs


def _gradients(gradients, count):
    """The gradients given for `count` roots, as a tuple."""
    if gradients is None:
        return (None,) * count
    if isinstance(gradients, Variable):
        return (gradients,)
    return tuple(gradients)


def _input_edge(t):
    if isinstance(t, GradientEdge):
        return t.node, t.output_nr
    if not isinstance(t, Variable):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type_name(t)}")
    edge = edge_of(t)
    if edge is NO_EDGE:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return pair_of(edge)


def _checked(outputs, gradients, create_graph):
    """The roots of a pass; tells a recorder if they are invalid."""
    try:
        return _roots(outputs, gradients, create_graph)
    except (RuntimeError, TypeError) as error:
        if WATCHERS:
            watcher().failed(None, error)
        raise


def _roots(outputs, gradients, create_graph):
    """[((node, nr), gradient)] for the roots of a pass, with every gradient checked, or created where it is implicit."""
    checked = []
    for i, (y, g) in enumerate(zip(outputs, gradients, strict=False)):
        if isinstance(y, Variable):
            shape, dtype = y._data.shape, y._data.dtype
        elif isinstance(y, GradientEdge):
            shape, dtype = meaning_of(y)
        else:
            raise AssertionError("Expected output to be a torch.Tensor")
        if isinstance(g, Variable):
            if shape is not None and g._data.shape != shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of "
                    f"{type(g.shape)(shape)}."
                )
            checked.append(g if dtype is None else cast(g, dtype))
        elif g is not None:
            refuse_pytorch(g)
            raise TypeError("gradients can be either Tensors or None, but got " + type(g).__name__)
        elif isinstance(y, Variable) and edge_of(y) is NO_EDGE:
            checked.append(None)
        else:
            if shape is None or prod(shape) != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            checked.append(np.ones(shape, dtype) if shape else dtype.type(1))
    if len(outputs) != len(gradients) and len(outputs) > len(checked):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    roots = []
    for i, (y, g) in enumerate(zip(outputs, checked, strict=True)):
        node, nr = pair_of(edge_of(y)) if isinstance(y, Variable) else (y.node, y.output_nr)
        if node is None:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if create_graph:
            g = g if isinstance(g, Variable) else wrap(g)
        elif isinstance(g, Variable):
            # As an array, even if it is one number: then a hook that writes into it writes into the user's own tensor too.
            g = g._array() if THREAD.state.dual is None else _moving(g)
        roots.append(((node, nr), g))
    return roots


def _moving(g):
    """A gradient with a tangent, for a pass that is not recorded."""
    from .forward_ad import without_history

    return without_history(g)


for _function in (backward, grad):
    _function.__module__ = __name__.removesuffix(".api")  # as PyTorch's

__all__ = ["backward", "grad"]
