"""Checking gradients against finite differences (torch.autograd.gradcheck).

The numerical Jacobian perturbs one input element by eps in both directions and measures the outputs: a column. The analytical one sends a
one back from one output element and reads the inputs' gradients: a row. Fast mode compares v @ J @ u for random u and v.
"""

import warnings

import numpy as np

from ..random import rng_of
from .api import grad as _grad
from .batch import Batch
from .node import Node
from .record import make_node
from .variable import Registry, Variable, edge_of, wrap


class GradcheckError(RuntimeError):
    """Raised for a gradient that is not the derivative of its function."""


def gradcheck(
    func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
    check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
    check_backward_ad=True, fast_mode=False, masked=None,
):  # fmt: skip
    """Whether the gradients of `func` at `inputs` (double precision) are its derivatives; returns True.

    eps                   how far inputs are perturbed
    atol, rtol            tolerances between numerical and analytical derivatives
    raise_exception       raise GradcheckError (default), or return False
    nondet_tol            tolerance between two runs of the same backward
    check_undefined_grad  whether backward must handle missing gradients
    check_forward_ad      check the tangents of forward_ad as well; check_backward_ad=False: only these
    check_batched_grad    whether backward runs on a batch of gradients (see batch.py), with the same results as for each alone;
                          check_batched_forward_grad: the same for tangents. Both draw their gradients from the default generator
    fast_mode             compare one random combination instead of whole Jacobians
    """
    if not (check_forward_ad or check_backward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = _Check(func, _tuple(inputs), eps, atol, rtol, nondet_tol, check_grad_dtypes, masked)
    try:
        check.run(
            check_forward_ad,
            check_backward_ad,
            check_undefined_grad,
            fast_mode,
            check_batched_grad,
            check_batched_forward_grad,
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
    raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
    check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False,
):  # fmt: skip
    """Whether the second derivatives of `func` are right: gradcheck of its gradient, in the inputs and in `grad_outputs`."""
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    inputs = _tuple(inputs)
    if grad_outputs is None:
        grad_outputs = tuple([_drawn(y, gen_non_contig_grad_outputs) for y in _differentiable(func(*inputs))])
    else:
        grad_outputs = _tuple(grad_outputs)
    count = len(inputs)
    wanted = {
        i for i, x in enumerate((*inputs, *grad_outputs)) if isinstance(x, Variable) and x.requires_grad
    }

    def gradient(*args):
        args = [x.requires_grad_() if i in wanted else x for i, x in enumerate(args)]
        outputs = _differentiable(func(*args[:count]))
        xs = tuple([x for i, x in enumerate(args[:count]) if i in wanted])
        grads = _grad(outputs, xs, tuple(args[count:]), create_graph=True, allow_unused=True)
        return tuple([g for g in grads if g is not None])

    return gradcheck(
        gradient, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


_BATCHED = """gradcheck or gradgradcheck failed while testing batched gradient computation.
A batch of gradients goes through backward as one: there is no number to take out with item(), none to branch on, and nothing
random. If backward cannot do without, call the check with check_batched_grad=False."""

_BATCHED_TANGENTS = """gradcheck failed while testing batched gradient computation with forward-mode AD.
A batch of tangents goes through the function as one: there is no number to take out of a tangent with item(), none to branch on,
and nothing random. If its jvp cannot do without, call the check with check_batched_forward_grad=False."""


class _Check:
    """One run of gradcheck."""

    def __init__(self, func, inputs, eps, atol, rtol, nondet_tol, check_dtypes, masked):
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol = eps, atol, rtol
        self.nondet_tol, self.check_dtypes, self.masked = nondet_tol, check_dtypes, masked
        self.wanted = [i for i, x in enumerate(inputs) if isinstance(x, Variable) and x.requires_grad]
        self.leaves = [inputs[i] for i in self.wanted]

    def run(self, forward, backward, undefined, fast, batched, batched_forward):
        """All the checks. Raises GradcheckError at the first that fails."""
        self.check_inputs()
        all_outputs = _tuple(self.func(*self.inputs))
        outputs = _differentiable(all_outputs)
        compare = self.compare_fast if fast else self.compare
        if backward:
            compare(all_outputs, outputs, False)
        if forward:
            compare(all_outputs, outputs, True)
            if undefined:
                self.check_undefined_forward()
        if batched_forward:
            for k, x in zip(self.wanted, self.leaves, strict=True):
                if x.is_floating_point():
                    self.check_batched_tangents(k, x)
        if backward:
            if batched:
                for i, y in enumerate(outputs):
                    self.check_batched(i, y)
            self.check_scaling(outputs)
            if undefined:
                self.check_undefined(outputs)

    def check_inputs(self):
        """Reject inputs for which the check makes no sense."""
        for i, x in zip(self.wanted, self.leaves, strict=True):
            if x._data.dtype != np.float64:
                warnings.warn(
                    f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
                    "likely fail if all the inputs are not of double precision floating point or complex. ",
                    stacklevel=4,
                )
            array = x._array()
            if array.size and any(
                stride <= 0 and n > 1 for stride, n in zip(array.strides, array.shape, strict=True)
            ):
                raise RuntimeError(
                    f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping "
                    "to be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
                    "passing it to gradcheck."
                )
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True."
            )

    # -- whole Jacobians ------------------------------------------------------------------------------

    def compare(self, all_outputs, outputs, forward):
        """Compare numerical and analytical Jacobians of every output by every input, element by element."""
        numerical = [self.numerical(x, all_outputs) for x in self.leaves]  # [input][output]
        if not outputs:
            if any(np.any(j != 0) for row in numerical for j in row if j.dtype.kind == "f"):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        places = [i for i, y in enumerate(all_outputs) if y.requires_grad]
        if forward:
            analytical = [self.by_tangents(k, all_outputs) for k in range(len(self.leaves))]
        else:
            by_output = {i: self.by_gradients(y) for i, y in zip(places, outputs, strict=True)}
            analytical = [{i: by_output[i][k] for i in places} for k in range(len(self.leaves))]
        for o, i in enumerate(places):
            for k in range(len(self.leaves)):
                a, n = analytical[k][i], numerical[k][i]
                if not np.allclose(a, n, self.rtol, self.atol):
                    raise GradcheckError(_mismatch(a, n, o, k, forward))

    def numerical(self, x, all_outputs):
        """[one array per output]: row i, column j: the derivative of output element j by input element i."""
        array = x._array()
        jacobians = [np.zeros((array.size, y._data.size), y._data.dtype) for y in all_outputs]
        for i, where in enumerate(np.ndindex(array.shape)):
            before = array[where]
            array[where] = before - self.eps
            low = self.values()
            array[where] = before + self.eps
            high = self.values()
            array[where] = before
            for jacobian, a, b in zip(jacobians, low, high, strict=True):
                self.check_same_kind(a, b, where)
                jacobian[i] = (np.subtract(b, a, dtype=_type(a)) / (2 * self.eps)).reshape(-1)
        return jacobians

    def values(self):
        """The numbers of all outputs, copied."""
        return [np.array(y._data) for y in _tuple(self.func(*self.inputs))]

    def check_same_kind(self, a, b, where=None):
        """Raise AssertionError if perturbing the inputs changed the shape or dtype of an output."""
        on = f"on index {where} " if where is not None else ""
        for what, one, other in (("shape", a.shape, b.shape), ("dtype", a.dtype, b.dtype)):
            if one != other:
                raise AssertionError(
                    f"Expected `func` to return outputs with the same {what} when inputs are perturbed {on}by {self.eps}, but "
                    f"got: {what}s {one} and {other}."
                )

    def by_gradients(self, y, rows=None):
        """[one array per input] of the output `y`, from backward passes, run twice to check that they agree."""
        first, sizes_ok, types_ok = self.rows(y, rows)
        second, _, _ = self.rows(y, rows)
        # PyTorch swaps these two: dtypes are always checked, and called sizes.
        if not sizes_ok and self.check_dtypes:
            raise GradcheckError("Gradient has dtype mismatch")
        if not types_ok:
            raise GradcheckError("Analytical gradient has incorrect size")
        if any(a.size and np.abs(a - b).max() > self.nondet_tol for a, b in zip(first, second, strict=True)):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                "different values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism "
                f"was {self.nondet_tol}."
            )
        return first

    def rows(self, y, rows):
        if rows is None:
            rows = np.eye(y._data.size, dtype=y._data.dtype)
        jacobians = [np.zeros((x._data.size, len(rows)), x._data.dtype) for x in self.leaves]
        sizes_ok = types_ok = True
        for j, row in enumerate(rows):
            seed = wrap(row.reshape(y._data.shape).copy())
            grads = _grad(y, self.leaves, seed, retain_graph=True, allow_unused=True)
            for jacobian, x, g in zip(jacobians, self.leaves, grads, strict=True):
                if g is not None:
                    sizes_ok = sizes_ok and g._data.shape == x._data.shape
                    types_ok = types_ok and g._data.dtype == x._data.dtype
                    jacobian[:, j] = g._data.reshape(-1)
        return jacobians, sizes_ok, types_ok

    def by_tangents(self, k, all_outputs, directions=None):
        """[one array per output] by input `k`, from dual numbers."""
        size = self.leaves[k]._data.size
        if directions is None:
            directions = np.eye(size, dtype=self.leaves[k]._data.dtype)
        jacobians = [np.zeros((len(directions), y._data.size), y._data.dtype) for y in all_outputs]
        for i, direction in enumerate(directions):
            for jacobian, t in zip(jacobians, self.tangents(k, direction), strict=True):
                if t is not None:
                    jacobian[i] = t._data.reshape(-1)
        return jacobians

    def tangents(self, k, direction):
        """The tangents of all outputs when only input `k` has a tangent."""
        zeros = [np.zeros(x._data.shape, x._data.dtype) for x in self.leaves]
        zeros[k] = direction.reshape(zeros[k].shape).astype(zeros[k].dtype)
        return self.pushed(zeros)

    def pushed(self, directions):
        """The tangents of all outputs for these tangents of the inputs; None for an output without one."""
        from . import forward_ad

        with forward_ad.dual_level():
            duals = list(self.inputs)
            for place, x, v in zip(self.wanted, self.leaves, directions, strict=True):
                tangent = v if v is None or isinstance(v, Variable) else wrap(v)
                duals[place] = x.detach() if v is None else forward_ad.make_dual(x.detach(), tangent)
            return [
                forward_ad.unpack_dual(y).tangent if isinstance(y, Variable) else None
                for y in _tuple(self.func(*duals))
            ]

    # -- fast mode ------------------------------------------------------------------------------------

    def compare_fast(self, all_outputs, outputs, forward):
        """Compare v @ J @ u (forward: J @ u) both ways, for random u and v."""
        random = np.random.default_rng(0)
        us = [_direction(x, random) for x in self.leaves]
        places = [i for i, y in enumerate(all_outputs) if y.requires_grad]
        moved = [self.numerical_along(x, u) for x, u in zip(self.leaves, us, strict=True)]  # [input][output]
        if not outputs:
            if any(m.size and np.abs(m).max() > self.nondet_tol for row in moved for m in row):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return
        vs = None if forward else [_direction(y, random) for y in outputs]
        if forward:
            pushed = [self.by_tangents(k, all_outputs, [u]) for k, u in enumerate(us)]
        else:
            pulled = [self.by_gradients(y, [v]) for y, v in zip(outputs, vs, strict=True)]
        for k, u in enumerate(us):
            for o, i in enumerate(places):
                if forward:
                    a, n, atol = pushed[k][i][0], moved[k][i], self.atol * u.sum()
                else:
                    a, n = pulled[o][k][:, 0] @ u, moved[k][i] @ vs[o]
                    atol = self.atol * u.sum() * vs[o].sum()
                if not np.allclose(a, n, self.rtol, atol):
                    raise GradcheckError(
                        _mismatch(a, n, o, k, forward) + self.slow_report(all_outputs, i, k, forward)
                    )

    def numerical_along(self, x, u):
        """The numerical derivative of all outputs when `x` is perturbed along `u`."""
        array = x._array()
        before = array.copy()
        step = (u * self.eps).reshape(array.shape)
        array[...] = before - step
        low = self.values()
        array[...] = before + step
        high = self.values()
        array[...] = before
        for a, b in zip(low, high, strict=True):
            self.check_same_kind(a, b)
        return [((b - a) / (2 * self.eps)).reshape(-1) for a, b in zip(low, high, strict=True)]

    def slow_report(self, all_outputs, i, k, forward):
        """The whole Jacobians, for the error message when fast mode fails."""
        n = self.numerical(self.leaves[k], all_outputs)[i]
        if forward:
            a = self.by_tangents(k, all_outputs)[i]
        else:
            a = self.rows(all_outputs[i], None)[0][k]
        text = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed \n"
            "in fast mode. See: https://github.com/pytorch/pytorch/issues/53876 for more background \n"
            "about fast mode. Below, we recompute numerical and analytical jacobians in slow mode:\n\n"
            f"Numerical:\n {wrap(n)}\nAnalytical:\n{wrap(a)}\n\n"
            f"The max per-element difference (slow mode) is: {np.abs(n - a).max()}.\n"
        )
        if np.allclose(a, n, self.rtol, self.atol):
            text += (
                "Fast gradcheck failed but element-wise differences are small. This means that the\n"
                "test might've passed in slow_mode!"
            )
        return text

    # -- what backward does with zero and with nothing ------------------------------------------------

    def check_scaling(self, outputs):
        """Zero gradients in must give zero gradients out, of the right shape and type."""
        zeros = [wrap(np.zeros(y._data.shape, y._data.dtype)) for y in outputs]
        for g, x in zip(_grad(outputs, self.leaves, zeros, allow_unused=True), self.leaves, strict=True):
            if g is None:
                continue
            if not (np.allclose(g._data, 0) if self.masked else np.all(g._data == 0)):
                raise GradcheckError("backward not multiplied by grad_output")
            if g._data.dtype != x._data.dtype:
                raise GradcheckError("grad is incorrect type")
            if g._data.shape != x._data.shape:
                raise GradcheckError("grad is incorrect size")

    def check_undefined(self, outputs):
        """Backward must handle missing gradients: with all missing, and with each one missing."""
        self.check_missing(lambda _: True)
        if len(outputs) > 1:
            for i in range(len(outputs)):
                self.check_missing(lambda k, i=i: k == i)

    def check_undefined_forward(self):
        """For each input in turn: having no tangent must be the same as a tangent of zeros."""
        random = np.random.default_rng(0)
        directions = [_direction(x, random).reshape(x._data.shape) for x in self.leaves]
        for k, x in enumerate(self.leaves):
            zeros, none = (
                self.pushed([*directions[:k], v, *directions[k + 1 :]])
                for v in (np.zeros_like(x._array()), None)
            )
            for i, (a, b) in enumerate(zip(zeros, none, strict=True)):
                if a is not None and b is not None and not np.allclose(a._data, b._data):
                    raise GradcheckError(
                        "Mismatch in tangent values for output with index: ", i, " when input: ", x,
                        " has an undefined tangent value. ", " Got: ", a, " but expected: ", b,
                    )  # fmt: skip

    # -- many at once ---------------------------------------------------------------------------------

    def check_batched(self, i, y):
        """Two gradients of output `i` as a batch must give the same results as one after the other."""
        seeds = _two_like(y)

        def gradients(v, batched=False):
            return _grad(y, self.leaves, v, retain_graph=True, allow_unused=True, is_grads_batched=batched)

        alone = [gradients(v) for v in seeds]
        try:
            together = gradients(Registry.functions["stack"](seeds), batched=True)
        except RuntimeError as error:
            raise GradcheckError(f"While computing batched gradients, got: {error}\n\n{_BATCHED}") from error
        for k, (g, *each) in enumerate(zip(together, *alone, strict=True)):
            _check_batch(g, each, i, k, _BATCHED)

    def check_batched_tangents(self, k, x):
        """Two tangents of argument `k` as a batch must give the same results as one after the other."""
        tangents = _two_like(x)

        def pushed(t):
            return self.pushed([t if place == k else None for place in self.wanted])

        alone = [pushed(t) for t in tangents]
        together = []
        try:
            with Batch(len(tangents), by_hand=True) as batch:
                for i in batch.turns():
                    together.append(pushed(batch.entry(tangents[i])))
        except RuntimeError as error:
            raise GradcheckError(
                f"While computing batched gradients, got: {error}\n\n{_BATCHED_TANGENTS}"
            ) from error
        for i, (got, expected) in enumerate(
            zip(zip(*together, strict=True), zip(*alone, strict=True), strict=True)
        ):
            if got[0] is not None:
                _check_batch(Registry.functions["stack"](got), expected, i, i, _BATCHED_TANGENTS)

    def check_missing(self, missing):
        """Run backward with the gradients of outputs cut off where `missing` is true, and zero for the others."""
        outputs = _differentiable(self.func(*self.inputs))
        outputs = [_cut(y) if missing(i) else y for i, y in enumerate(outputs)]
        zeros = [wrap(np.zeros(y._data.shape, y._data.dtype)) for y in outputs]
        try:
            grads = _grad(outputs, self.leaves, zeros, allow_unused=True)
        except RuntimeError as error:
            _warn_undefined()
            raise GradcheckError(
                'Expected backward function to handle undefined output grads. Please look at "Notes about undefined output '
                'gradients" in "tools/autograd/derivatives.yaml"'
            ) from error
        if any(g is not None and np.any(g._data != 0) for g in grads):
            _warn_undefined()
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. Please look at "
                '"Notes about undefined output gradients" in "tools/autograd/derivatives.yaml"'
            )


class UndefinedGradBackward(Node):
    """Passes no gradient on; gradcheck puts it behind an output to test how backward handles that."""

    __slots__ = ()

    def vjp(self, g):
        return None


def _cut(y):
    return wrap(y._array(), make_node(UndefinedGradBackward, (edge_of(y),)))


def _warn_undefined():
    warnings.warn(
        "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but it may break "
        "existing callers of this function. If this is true for you, you can call this function with "
        '"check_undefined_grad=False" to disable the feature',
        stacklevel=5,
    )


def _mismatch(analytical, numerical, output, place, forward):
    mode = "computed with forward mode " if forward else ""
    return (
        f"Jacobian {mode}mismatch for output {output:d} with respect to input {place:d},\n"
        f"numerical:{wrap(np.asarray(numerical))}\nanalytical:{wrap(np.asarray(analytical))}\n"
    )


def _drawn(y, gaps):
    """A random gradient like `y` from the default generator; with `gaps`, not contiguous in memory."""
    step = 2 if gaps and y._data.size > 1 else 1
    numbers = rng_of().uniform(-1, 1, (*y.shape, step), y._data.dtype)
    return wrap(numbers[..., 0]).requires_grad_()


def _two_like(t):
    """Two random tensors like `t`, from the default generator."""
    return [Registry.functions["randn_like"](t) for _ in range(2)]


def _check_batch(together, alone, output, place, text):
    """Raise GradcheckError if the derivatives of a batch are not those of its entries. None means no dependence."""
    if together is None:
        return
    expected = Registry.functions["stack"](alone)
    if not np.allclose(together._data, expected._data):
        raise GradcheckError(
            f"For output {output} and input {place}:\n\n{text}\n\nGot:\n{together}\n\nExpected:\n{expected}"
        )


def _direction(t, random):
    """A random vector of length 1, with no negative entries, for the elements of `t`."""
    v = random.uniform(0, 1, t._data.size).astype(t._data.dtype)
    return v / np.sqrt((v * v).sum()) if v.size else v


def _tuple(x):
    return x if isinstance(x, tuple) else tuple(x) if isinstance(x, list) else (x,)


def _differentiable(outputs):
    return tuple([y for y in _tuple(outputs) if y.requires_grad])


def _type(a):
    return a.dtype if a.dtype.kind == "f" else np.float64


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
