"""Derivatives of functions: products with the Jacobian and the Hessian, and both matrices themselves (torch.autograd.functional).

    vjp   v @ J, one backward pass               jvp   J @ v, by the double-backward trick
    vhp   v @ H, one pass through a recorded one hvp   H @ v, by the trick again
    jacobian, hessian   row by row

The trick: the gradient is a linear function of the incoming gradient, so its own backward pass multiplies by J.
"""

import numpy as np

from . import grad as _grad
from .batch import Batch
from .errors import refuse_pytorch
from .modes import enable_grad
from .variable import Registry, Variable, wrap


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v @ Jacobian); `v` has the shape of the result and may be left out if that has one element."""
    with enable_grad():
        several_in, inputs = _tensors(inputs, "inputs", "vjp")
        inputs = _prepare(inputs, create_graph, True)
        outputs = func(*inputs)
        several_out, outputs = _tensors(outputs, "outputs of the user-provided function", "vjp")
        _check_outputs(outputs, strict)
        if v is not None:
            v = _prepare(_tensors(v, "v", "vjp")[1], create_graph, False)
            _check_v(v, outputs, several_out)
        elif len(outputs) != 1 or outputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the user-provided function returns a single Tensor with a single element."
            )
    result = _fill(_grads(outputs, inputs, v, create_graph), inputs, strict, create_graph, "back")
    return _finish(outputs, create_graph, several_out), _finish(result, create_graph, several_in)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), Jacobian @ v); `v` has the shape of the inputs and may be left out if there is one element."""
    with enable_grad():
        several_in, inputs = _tensors(inputs, "inputs", "jvp")
        inputs = _prepare(inputs, create_graph, True)
        v = _direction(v, inputs, several_in, create_graph, "jvp")
        outputs = func(*inputs)
        several_out, outputs = _tensors(outputs, "outputs of the user-provided function", "jvp")
        _check_outputs(outputs, strict)
        # Their values do not matter: the gradient is linear in them.
        dummies = tuple([_zeros_like(y, requires_grad=True) for y in outputs])
        grads = _grads(outputs, inputs, dummies, create_graph=True)
        _check_dependence(grads, "grad_inputs", strict)
    result = _fill(_grads(grads, dummies, v, create_graph), outputs, strict, create_graph, "back_trick")
    return _finish(outputs, create_graph, several_out), _finish(result, create_graph, several_out)


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), v @ Hessian) of a function with one result of one element."""
    with enable_grad():
        several_in, inputs, v, outputs, jac = _first_order(func, inputs, v, create_graph, strict, "vhp")
    result = _fill(_grads(jac, inputs, v, create_graph), inputs, strict, create_graph, "double_back")
    return _finish(outputs, create_graph, False), _finish(result, create_graph, several_in)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """(func(*inputs), Hessian @ v) of a function with one result of one element."""
    with enable_grad():
        several_in, inputs, v, outputs, jac = _first_order(func, inputs, v, create_graph, strict, "hvp")
        dummies = tuple([_zeros_like(x, requires_grad=True) for x in inputs])
        double_back = _grads(jac, inputs, dummies, create_graph=True)
        _check_dependence(jac, "hessian", strict)
    result = _fill(
        _grads(double_back, dummies, v, create_graph), inputs, strict, create_graph, "double_back_trick"
    )
    return _finish(outputs, create_graph, False), _finish(result, create_graph, several_in)


def _first_order(func, inputs, v, create_graph, strict, name):
    """The common part of vhp and hvp: everything up to the recorded gradient."""
    several_in, inputs = _tensors(inputs, "inputs", name)
    inputs = _prepare(inputs, create_graph, True)
    v = _direction(v, inputs, several_in, create_graph, name)
    several_out, outputs = _tensors(func(*inputs), "outputs of the user-provided function", name)
    _check_outputs(outputs, strict)
    if several_out:
        raise RuntimeError(f"The function given to {name} should return a single Tensor")
    if outputs[0].numel() != 1:
        raise RuntimeError(
            f"The Tensor returned by the function given to {name} should contain a single element"
        )
    jac = _grads(outputs, inputs, create_graph=True)
    _check_dependence(jac, "jacobian", strict)
    return several_in, inputs, v, outputs, jac


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """All derivatives of the result (shape first) with respect to the inputs (shape last).

    One Tensor; a tuple over the inputs if these are a tuple, over the results if these are; nested if both.
    vectorize and strategy choose how it is computed: row by row, or (forward-mode, vectorize=True) column by column.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs than '
            'inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                'torch.autograd.functional.jacobian: `create_graph=True` and `strategy="forward-mode"` are not supported '
                'together (yet). Please either set `create_graph=False` or `strategy="reverse-mode"`.'
            )
        return _forward_jacobian(func, inputs, strict, vectorize)
    with enable_grad():
        several_in, inputs = _tensors(inputs, "inputs", "jacobian")
        inputs = _prepare(inputs, create_graph, True)
        several_out, outputs = _tensors(func(*inputs), "outputs of the user-provided function", "jacobian")
        _check_outputs(outputs, strict)
        if vectorize and strict:
            raise RuntimeError(
                "torch.autograd.functional.jacobian: `strict=True` and `vectorized=True` are not supported together. Please "
                "either set `strict=False` or `vectorize=False`."
            )
        rows = tuple(
            [_jacobian_of(y, i, inputs, create_graph, strict, vectorize) for i, y in enumerate(outputs)]
        )
        return _unpack(_detached(rows, create_graph), several_out, several_in)


def _jacobian_of(y, i, inputs, create_graph, strict, vectorize):
    """The Jacobians of the i-th output `y` with respect to each input."""
    columns = tuple([[] for _ in inputs])
    for j in _each(y.numel(), vectorize):
        for k, (g, x) in enumerate(
            zip(_grads((y.reshape(-1)[j],), inputs, None, create_graph, True), inputs, strict=True)
        ):
            if g is None:
                if strict:
                    raise RuntimeError(
                        f"Output {i} of the user-provided function is independent of input {k}. This is not allowed in strict "
                        "mode."
                    )
                g = _zeros_like(x)
            elif strict and create_graph and not g.requires_grad:
                raise RuntimeError(
                    f"The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict "
                    "mode when create_graph=True."
                )
            columns[k].append(g)
    return tuple(
        [_stack(column).view((*y.shape, *x.shape)) for column, x in zip(columns, inputs, strict=True)]
    )


def _each(count, vectorize):
    """0 to count - 1; if `vectorize`, as turns of a batch, which allows only what can be done to all entries at once."""
    if not (vectorize and count):
        yield from range(count)
        return
    with Batch(count, by_hand=True) as batch:
        yield from batch.turns()


def _forward_jacobian(func, inputs, strict, vectorize):
    """The same with dual numbers, for one direction of the inputs after the other."""
    from . import forward_ad

    if strict:
        raise RuntimeError(
            'torch.autograd.functional.jacobian: `strict=True` and `strategy="forward-mode"` are not supported together '
            '(yet). Please either set `strict=False` or `strategy="reverse-mode"`.'
        )
    several_in, inputs = _tensors(inputs, "inputs", "jacobian")
    if not vectorize:
        raise NotImplementedError(
            "Computing Jacobian using forward-AD or forward-over-reverse Hessian isonly implemented for `vectorize=True`."
        )
    columns = [[] for _ in inputs]  # [input][element] -> tangents of the outputs
    places = [(k, j) for k, x in enumerate(inputs) for j in range(x.numel())]
    with Batch(len(places), by_hand=True) as batch:
        for turn in batch.turns():
            tangents = [batch.entry(_zeros_like(x)) for x in inputs]
            if places:  # otherwise one turn shows the structure of the results
                k, j = places[turn]
                tangents[k]._array().reshape(-1)[j] = 1
            with forward_ad.dual_level():
                duals = [forward_ad.make_dual(x, t) for x, t in zip(inputs, tangents, strict=True)]
                results = func(*duals)
                several_out = isinstance(results, tuple)
                pairs = [
                    forward_ad.unpack_dual(y)
                    for y in (results if isinstance(results, (tuple, list)) else (results,))
                ]
            if places:
                columns[k].append([_zeros_like(p) if t is None else t for p, t in pairs])
    rows = []
    for i, (y, _) in enumerate(pairs):
        row = []
        for x, column in zip(inputs, columns, strict=True):
            if not column:
                row.append(wrap(np.zeros((*y.shape, *x.shape), y._data.dtype)))
                continue
            stacked = _stack([tangents[i] for tangents in column])
            row.append(stacked.permute((*range(1, stacked.ndim), 0)).reshape((*y.shape, *x.shape)))
        rows.append(row)
    return _unpack(rows, several_out, several_in)  # lists, where PyTorch's reverse mode has tuples


def hessian(
    func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"
):
    """All second derivatives of a function with one result of one element: the Jacobian of its gradient."""
    several_in, inputs = _tensors(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def single(*xs):
        out = func(*xs)
        several, outs = _tensors(out, "outputs of the user-provided function", "hessian")
        _check_outputs(outs, strict)
        if several:
            raise RuntimeError("The function given to hessian should return a single Tensor")
        if out.numel() != 1:
            raise RuntimeError(
                "The Tensor returned by the function given to hessian should contain a single element"
            )
        return out.squeeze()

    def gradient(*xs):
        if outer_jacobian_strategy == "forward-mode":
            xs = tuple([x.requires_grad_(True) for x in xs])
        jac = jacobian(single, xs, create_graph=True)
        _check_dependence(jac, "jacobian", strict)
        return jac

    rows = jacobian(gradient, inputs, create_graph, strict, vectorize, outer_jacobian_strategy)
    return _unpack(rows, several_in, several_in)


# -- arguments and results ----------------------------------------------------------------------------


def _tensors(value, what, where):
    """(whether `value` was a tuple, `value` as a tuple). Raises TypeError if it holds anything but Tensors."""
    several = isinstance(value, tuple)
    values = value if several else (value,)
    for i, t in enumerate(values):
        if not isinstance(t, Variable):
            refuse_pytorch(t)
            which = f"value at index {i} has type" if several else f"given {what} has type"
            raise TypeError(
                f"The {what} given to {where} must be either a Tensor or a tuple of Tensors but the {which} {type(t)}."
            )
    return several, values


def _prepare(tensors, create_graph, need_graph):
    """New tensors for the function to work on, so that what it captures is not mistaken for its input."""
    return tuple([
        t.view_as(t) if create_graph and t.requires_grad else t.detach().requires_grad_(need_graph) for t in tensors
    ])  # fmt: skip


def _direction(v, inputs, several, create_graph, name):
    """`v`, checked to be shaped like the inputs; it may be None if these have one element."""
    if v is None:
        if len(inputs) != 1 or inputs[0].numel() != 1:
            raise RuntimeError(
                "The vector v can only be None if the input to the user-provided function is a single Tensor with a single "
                "element."
            )
        return None
    v = _prepare(_tensors(v, "v", name)[1], create_graph, False)
    _check_v(v, inputs, several)
    return v


def _check_v(v, other, several):
    if len(other) != len(v):
        if several:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for i, (a, b) in enumerate(zip(v, other, strict=True)):
        if a.shape != b.shape:
            entry = f"Entry {i} in " if several else ""
            raise RuntimeError(f"{entry}v has invalid size: should be {b.shape} but got {a.shape}.")


def _check_outputs(outputs, strict):
    if strict:
        for i, y in enumerate(outputs):
            if not y.requires_grad:
                raise RuntimeError(
                    f"Output {i} of the user-provided function does not require gradients. The outputs must be computed in a "
                    "differentiable manner from the input when running in strict mode."
                )


_INDEPENDENT = {
    "hessian": (
        "The hessian of the user-provided function with respect to input {i} is independent of the input. This is not allowed "
        "in strict mode. You should ensure that your function is thrice differentiable and that the hessian depends on the "
        "inputs."
    ),
    "jacobian": (
        "While computing the hessian, found that the jacobian of the user-provided function with respect to input {i} is "
        "independent of the input. This is not allowed in strict mode. You should ensure that your function is twice "
        "differentiable and that the jacobian depends on the inputs (this would be violated by a linear function for example)."
    ),
    "grad_inputs": (
        "The gradient with respect to input {i} is independent of the inputs of the user-provided function. This is not allowed "
        "in strict mode."
    ),
}


def _check_dependence(grads, what, strict):
    if strict:
        for i, g in enumerate(grads):
            if g is None:
                raise RuntimeError(
                    f"The output of the user-provided function is independent of input {i}. This is not allowed in strict mode."
                )
            if not g.requires_grad:
                raise RuntimeError(_INDEPENDENT[what].format(i=i))


def _grads(outputs, inputs, grad_outputs=None, create_graph=False, retain_graph=None):
    """autograd.grad, with None for outputs that require no gradient and for inputs that get none."""
    if grad_outputs is None:
        grad_outputs = (None,) * len(outputs)
    pairs = [(y, g) for y, g in zip(outputs, grad_outputs, strict=True) if y is not None and y.requires_grad]
    if not pairs:
        return (None,) * len(inputs)
    ys, gs = zip(*pairs, strict=True)
    return _grad(ys, inputs, gs, allow_unused=True, create_graph=create_graph, retain_graph=retain_graph)


_MISSING = {
    "back": "The output of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "back_trick": (
        "The gradient with respect to the input is independent of entry {i} in the grad_outputs when using the double backward "
        "trick to compute forward mode gradients. This is not allowed in strict mode."
    ),
    "double_back": "The jacobian of the user-provided function is independent of input {i}. This is not allowed in strict mode.",
    "double_back_trick": (
        "The hessian of the user-provided function is independent of entry {i} in the grad_jacobian. This is not allowed in "
        "strict mode as it prevents from using the double backward trick to replace forward mode AD."
    ),
}


def _fill(grads, refs, strict, create_graph, stage):
    """`grads` with zeros instead of None; in strict mode, raises an error."""
    filled = []
    for i, (g, ref) in enumerate(zip(grads, refs, strict=True)):
        if g is None:
            if strict:
                raise RuntimeError(_MISSING[stage].format(i=i))
            g = _zeros_like(ref)
        elif strict and create_graph and not g.requires_grad:
            what = "hessian" if "double" in stage else "jacobian"
            raise RuntimeError(
                f"The {what} of the user-provided function is independent of input {i}. This is not allowed in strict mode when "
                "create_graph=True."
            )
        filled.append(g)
    return tuple(filled)


def _detached(tensors, create_graph):
    """The tensors of a (nested) tuple, without history unless it is wanted."""
    if create_graph:
        return tensors
    if isinstance(tensors, Variable):
        return tensors.detach()
    return tuple([_detached(t, create_graph) for t in tensors])


def _finish(tensors, create_graph, several):
    tensors = _detached(tensors, create_graph)
    return tensors if several else tensors[0]


def _unpack(rows, several_out, several_in):
    """A tuple of tuples, reduced to the nesting that the caller used."""
    if not several_in:
        rows = tuple([row[0] for row in rows])
    return rows if several_out else rows[0]


def _zeros_like(t, requires_grad=False):
    zeros = wrap(np.zeros(t._data.shape, t._data.dtype))
    return zeros.requires_grad_() if requires_grad else zeros


def _stack(tensors):
    return Registry.functions["stack"](tensors, 0)


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
