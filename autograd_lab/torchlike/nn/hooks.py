"""Backward hooks of modules: two identity nodes, one around the inputs and one around the outputs, catch the
gradients.
"""

import warnings

from ..autograd.modes import THREAD
from ..tensor import Tensor


class BackwardHook:
    """The hooks of one call of a module: grad_output is caught behind its outputs, grad_input before its inputs."""

    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.grad_outputs = None
        self.n_inputs = self.n_outputs = 0
        self.input_places = self.output_places = None

    def watch_inputs(self, args):
        """The arguments, passed through an identity node whose post-hook calls the user's hooks."""
        args_out, self.input_places = _through(
            args, lambda node: node.register_hook(_named(self._inputs_known))
        )
        self.n_inputs = len(args)
        return args_out

    def watch_outputs(self, result):
        """The results, passed through an identity node whose pre-hook notes their gradients."""
        if not isinstance(result, (Tensor, tuple)):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                "but received "
                f"{type(result)}",
                stacklevel=4,
            )
        outputs = result if isinstance(result, tuple) else (result,)
        outputs, self.output_places = _through(
            outputs, lambda node: node.register_prehook(_named(self._outputs_known))
        )
        self.n_outputs = len(outputs)
        if hasattr(result, "_fields"):  # a namedtuple
            return type(result)(*outputs)
        return outputs if isinstance(result, tuple) else outputs[0]

    def _outputs_known(self, grads):
        self.grad_outputs = _spread(self.output_places, grads, self.n_outputs)
        for hook in self.pre_hooks:
            changed = hook(self.module, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != self.n_outputs:
                raise RuntimeError(
                    f"Backward pre hook returned an invalid number of grad_output, got {len(changed)}, but expected "
                    f"{self.n_outputs}"
                )
            self.grad_outputs = changed
        known = self.grad_outputs
        if self.input_places is None:
            if self.hooks:
                warnings.warn(
                    "Full backward hook is firing when gradients are computed with respect to module "
                    "outputs since no inputs "
                    "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
                    "#torch.nn.Module.register_full_backward_hook for more details.",
                    stacklevel=5,
                )
            for hook in self.hooks:
                changed = hook(self.module, (None,) * self.n_inputs, self.grad_outputs)
                if changed is not None and not (
                    isinstance(changed, tuple) and all(g is None for g in changed)
                ):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return "
                        "None or None for "
                        "all gradients."
                    )
            self.grad_outputs = None
        return tuple(known[i] for i in self.output_places)

    def _inputs_known(self, grads, _):
        if self.grad_outputs is None:
            return None  # a gradient that did not come through the outputs, as in a second backward
        inputs = _spread(self.input_places, grads, self.n_inputs)
        for hook in self.hooks:
            changed = hook(self.module, inputs, self.grad_outputs)
            if changed is None:
                continue
            if len(changed) != len(inputs):
                raise RuntimeError(
                    f"Backward hook returned an invalid number of grad_input, got {len(changed)}, but "
                    f"expected {len(inputs)}"
                )
            inputs = changed
        self.grad_outputs = None
        return tuple(inputs[i] for i in self.input_places)


def _named(fn):
    """`fn` under the name that PyTorch's messages give such a hook."""

    def hook(*grads):
        return fn(*grads)

    return hook


def _spread(places, grads, n):
    out = [None] * n
    for place, g in zip(places, grads, strict=True):
        out[place] = g
    return tuple(out)


def _through(values, register):
    """`values` with the Tensors among them passed through one identity node, and their places; None if
    nothing is recorded.
    """
    places = [i for i, v in enumerate(values) if isinstance(v, Tensor)]
    if not (THREAD.state.grad and any(values[i].requires_grad for i in places)):
        return values, None
    passed = _identity()(*[values[i] for i in places])
    passed = passed if isinstance(passed, tuple) else (passed,)
    register(
        next(
            t.grad_fn
            for t in passed
            if t.grad_fn is not None and t.grad_fn.name() == "BackwardHookFunctionBackward"
        )
    )
    out = list(values)
    for place, t in zip(places, passed, strict=True):
        out[place] = t
    return tuple(out), places


_identity_function = []


def _identity():
    """The identity as an autograd.Function (made on first use: modules load before the engine's outer pages)."""
    if not _identity_function:
        from ..autograd.function import Function

        class BackwardHookFunction(Function):
            """Returns its arguments; the gradients pass unchanged, under the eyes of the hooks."""

            @staticmethod
            def forward(ctx, *args):
                ctx.mark_non_differentiable(*[t for t in args if not t.requires_grad])
                return args

            @staticmethod
            def backward(ctx, *grads):
                return grads

        _identity_function.append(BackwardHookFunction.apply)
    return _identity_function[0]


def warn_partial_hook(module, hooks, args, result):
    """The deprecated register_backward_hook: hooks on the last node of the module only."""
    t = result
    while not isinstance(t, Tensor):
        t = next(v for v in t.values() if isinstance(v, Tensor)) if isinstance(t, dict) else t[0]
    node = t.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grads, outputs, hook=hook: hook(module, grads, outputs))
    missing = _what_it_misses(node, args, result)
    if missing is not None:
        warnings.warn(f"Using {missing}", FutureWarning, stacklevel=4)


def _what_it_misses(node, args, result):
    """Why a hook on `node` does not see all gradients of a module, in PyTorch's words; None if it does."""
    results = (result,) if isinstance(result, Tensor) else result
    for values, what, gradient in (
        (results, "return a", "grad_output"),
        (args, "take as input a", "grad_input"),
    ):
        if not (isinstance(values, tuple) and all(isinstance(v, Tensor) for v in values)):
            return (
                f"non-full backward hooks on a Module that does not {what} single Tensor or a tuple of Tensors is deprecated and "
                f"will be removed in future versions. This hook will be missing some of the {gradient}. {_USE_FULL}"
            )
    nodes = {t.grad_fn for t in results if t.grad_fn is not None}
    if len(nodes) > 1:
        return (
            "a non-full backward hook when outputs are generated by different autograd Nodes is deprecated and will be removed in "
            f"future versions. This hook will be missing some grad_output. {_USE_FULL}"
        )
    if {a.grad_fn for a in args if a.grad_fn is not None} != {fn for fn, _ in node.next_functions}:
        return (
            "a non-full backward hook when the forward contains multiple autograd Nodes is deprecated and will be removed in "
            f"future versions. This hook will be missing some grad_input. {_USE_FULL}"
        )
    return None


_USE_FULL = "Please use register_full_backward_hook to get the documented behavior."


__all__ = ["BackwardHook", "warn_partial_hook"]
