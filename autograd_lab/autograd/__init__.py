"""Reverse-mode automatic differentiation: `backward` and `grad`, and the doors to the rest of the lesson.

Reading order: variable, node, record, engine, then modes, views, hooks, function, anomaly, graph; see README.md here.
"""

import warnings

import numpy as np

from .anomaly import detect_anomaly, set_detect_anomaly
from .engine import BackwardPass
from .function import Function
from .graph import GradientEdge
from .modes import THREAD, enable_grad, inference_mode, no_grad, set_grad_enabled
from .node import AccumulateGrad, Node
from .variable import NO_EDGE, Variable, edge_of, wrap


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Send gradients back from `tensors` and add them to `.grad` of the leaves (torch.autograd.backward).

    tensors       a Tensor (or GradientEdge) or a sequence of them
    grad_tensors  the gradient of each, in its shape; None where the tensor has one element (then 1)
    retain_graph  keep saved values (default: create_graph)
    create_graph  record the pass, so that the gradients can be differentiated
    inputs        only these leaves or computed tensors get a `.grad`

    Raises RuntimeError for a root that does not require grad, a missing or misshapen gradient, a graph already freed, or
    a saved value that was overwritten.
    """
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        grad_tensors = grad_variables if grad_tensors is None else grad_tensors
    if inputs is not None:
        inputs = (inputs,) if isinstance(inputs, (Variable, GradientEdge)) else tuple(inputs)
        if not inputs:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    tensors = (tensors,) if isinstance(tensors, (Variable, GradientEdge)) else tuple(tensors)
    if isinstance(grad_tensors, (Variable, type(None))):
        grad_tensors = (grad_tensors,) if grad_tensors is not None else (None,) * len(tensors)
    else:
        grad_tensors = tuple(grad_tensors)
    if len(tensors) != len(grad_tensors):
        raise RuntimeError(f"got {len(tensors)} tensors and {len(grad_tensors)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    roots = _roots(tensors, grad_tensors, create_graph)
    if create_graph and any(isinstance(t, Variable) for t in tensors):
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
            "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you "
            "have to use this function, make sure to reset the .grad fields of your parameters to None after use to break "
            "the cycle and avoid the leak.",
            stacklevel=3,
        )
    only = None
    if inputs is not None:
        only = []
        for i, t in enumerate(inputs):
            if isinstance(t, Variable):
                if not t.requires_grad:
                    raise RuntimeError("One of the differentiated Tensors does not require grad")
                t.retain_grad()
            only.append(_input_edge(t, i)[0])
    BackwardPass(roots, keep, create_graph, only=only).run()


def grad(
    outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None,
    is_grads_batched=False, materialize_grads=False,
):  # fmt: skip
    """The gradients of `outputs` with respect to `inputs`, as a tuple; no `.grad` is touched (torch.autograd.grad).

    grad_outputs       the gradient of each output, in its shape
    allow_unused       give None for an input that the outputs do not depend on, instead of raising
    materialize_grads  give zeros there
    is_grads_batched   each grad_output has a leading dim; one pass is made per entry and the results are stacked
    """
    if allow_unused is None:
        allow_unused = materialize_grads
    elif materialize_grads and not allow_unused:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            f"allow_unused={allow_unused}."
        )
    outputs = (outputs,) if isinstance(outputs, (Variable, GradientEdge)) else tuple(outputs)
    inputs = (inputs,) if isinstance(inputs, (Variable, GradientEdge)) else tuple(inputs)
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other "
            "parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    if isinstance(grad_outputs, Variable) or grad_outputs is None:
        grad_outputs = (grad_outputs,) * (1 if grad_outputs is not None else len(outputs))
    else:
        grad_outputs = tuple(grad_outputs)
    if len(outputs) != len(grad_outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grad_outputs)} gradients")
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        return _batched(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize_grads)
    roots = _roots(outputs, grad_outputs, create_graph)
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    captures = {}
    for place, t in enumerate(inputs):
        node, nr = _input_edge(t, place)
        captures.setdefault(node, []).append((nr, place))
    run = BackwardPass(roots, keep, create_graph, captures=captures, call="grad")
    run.run()
    results = []
    for place, t in enumerate(inputs):
        g = run.captured.get(place)
        if g is None:
            if materialize_grads:
                g = t.new_zeros(t.shape)
            elif not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {place} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
        elif not isinstance(g, Variable):
            g = wrap(g)
        results.append(g)
    return tuple(results)


def _batched(outputs, inputs, grad_outputs, keep, create_graph, allow_unused, materialize):
    """One ordinary pass for each entry of the leading dim of the gradients, the results stacked."""
    for i, (y, v) in enumerate(zip(outputs, grad_outputs, strict=True)):
        if v is None:
            raise RuntimeError("If `is_grads_batched=True`, grad_outputs must be given for every output")
        if tuple(v.shape[1:]) != tuple(y.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. "
                "The sizes of the remaining dimensions are expected to match the shape of corresponding output, but a "
                f"mismatch was detected: grad_output[{i}] has a shape of {v.shape} and output[{i}] has a shape of {y.shape}. "
                "If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    n = grad_outputs[0].shape[0]
    rows = [
        grad(outputs, inputs, [v[k] for v in grad_outputs], keep or k < n - 1, create_graph, True, allow_unused, False, materialize)
        for k in range(n)
    ]
    from ..ops.rule import FUNCTIONS

    return tuple(None if column[0] is None else FUNCTIONS["stack"](column) for column in zip(*rows, strict=True))


def _input_edge(t, place):
    if isinstance(t, GradientEdge):
        return t.node, t.output_nr
    if not isinstance(t, Variable):
        raise TypeError(f"all inputs have to be Tensors or GradientEdges, but got {type(t).__name__}")
    edge = edge_of(t)
    if edge is NO_EDGE:
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    return edge


def _roots(outputs, gradients, create_graph):
    """[((node, nr), gradient)] for the roots of a pass, with every gradient checked, or made where it is implied."""
    roots = []
    checked = []
    for i, (y, g) in enumerate(zip(outputs, gradients, strict=True)):
        if isinstance(y, GradientEdge):
            if g is None:
                raise RuntimeError("grad can be implicitly created only for scalar outputs but got a GradientEdge without a gradient")
            checked.append(g)
            continue
        data = y._data
        if g is None:
            if edge_of(y) is NO_EDGE:
                checked.append(None)
                continue
            if data.size != 1:
                raise RuntimeError("grad can be implicitly created only for scalar outputs")
            if data.dtype.kind != "f":
                raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {y.dtype}")
            checked.append(np.ones(data.shape, data.dtype) if data.ndim else data.dtype.type(1))
        else:
            if not isinstance(g, Variable):
                raise TypeError(f"gradients can be either Tensors or None, but got {type(g).__name__}")
            if g._data.shape != data.shape:
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {g.shape} and output[{i}] has a shape of {y.shape}."
                )
            if g._data.dtype is not data.dtype:
                g = g.to(y.dtype)
            checked.append(g)
    for i, (y, g) in enumerate(zip(outputs, checked, strict=True)):
        edge = (y.node, y.output_nr) if isinstance(y, GradientEdge) else edge_of(y)
        if edge is NO_EDGE:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
        if create_graph:
            g = g if isinstance(g, Variable) else wrap(g)
        elif isinstance(g, Variable):
            g = g._data
        roots.append((edge, g))
    return roots


__all__ = [
    "THREAD", "AccumulateGrad", "BackwardPass", "Function", "GradientEdge", "Node", "backward", "detect_anomaly", "enable_grad", "grad",
    "inference_mode", "no_grad", "set_detect_anomaly", "set_grad_enabled",
]  # fmt: skip
