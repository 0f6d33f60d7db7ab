"""Watches a call as a whole, including backward passes inside it, as in a training step.

When such a pass begins, the backward of what was recorded so far is traced as further steps (joint.py), and the gradients that it leaves in
`.grad` are values of the graph like any others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..torchlike.autograd.variable import Variable
from .capture import Break, Watcher, hooks_on
from .graph import Step, Value
from .joint import UnsupportedError, backward_of


class CallWatcher(Watcher):
    """Watches a function at its first call."""

    def __init__(self, inputs: dict[int, Value], *others: Any) -> None:
        super().__init__(inputs, *others)
        self._given = [(t, inputs[id(t)]) for t in self.tape.keep if id(t) in inputs]
        self._root: Any = None  # the tensor from which a backward pass starts
        self._filled: list[tuple[Any, Value]] = []  # (leaf, value) for the gradients of the running pass

    def asked(self, outputs: Any, inputs: Any) -> None:
        """A backward pass was requested inside: from several tensors, or with `inputs`, it cannot be captured."""
        self._root = outputs[0] if len(outputs) == 1 else None
        if inputs is not None or not isinstance(self._root, Variable):
            self.stop("a backward pass from several tensors, or to chosen ones, is run inside")

    def pass_started(self, run: Any, roots: list, call: str) -> None:
        """A backward pass begins: trace the backward of everything recorded so far, while the nodes still have their saved values."""
        root, seed = self.tape.values.get(id(self._root)), roots[0][1]
        if self.tape.breaks or self.tape.drawn_at:
            return None
        if run.keep_graph or run.create_graph or run.tensors or self.state.anomaly:
            return self.stop(
                "a backward pass is run inside that keeps its graph, records itself or looks for nan"
            )
        if root is None or root.step is None or np.any(seed != 1):
            return self.stop(
                "a backward pass inside it starts from something other than a loss that this call computes"
            )
        wanted = [(t, value) for t, value in self._given if t.requires_grad]
        try:
            given, steps, grads = backward_of(self.tape, [root], [value for _, value in wanted])
        except UnsupportedError as error:
            self.tape.breaks.append(Break(str(error), error.line))
            return None
        given[0].array = np.ones(root.shape, root.dtype)[()]
        self.tape.steps += steps
        self.tape.roots.append(self._root)
        self._filled = []
        for (t, _), g in zip(wanted, grads, strict=True):
            if g is not None and not self._fill(t, g):
                return None
        return None

    def _fill(self, leaf: Any, g: Value) -> bool:
        """Note that a pass adds `g` to a leaf; returns whether that can be captured."""
        if not leaf.is_leaf or hooks_on(leaf):
            self.stop("a backward pass inside goes on beyond the call, or meets a hook")
            return False
        before = None if leaf._meta is None else leaf._meta.grad
        if id(leaf) not in self.tape.grads:
            if before is not None:
                self.stop(
                    "a backward pass inside adds to a .grad that was there before the call: set it to None first"
                )
                return False
            self.tape.empty.add(id(leaf))
        elif before is not None:
            held = self.value(before)
            if held is None or self._sharers(before):
                self.stop("a backward pass inside adds to a .grad whose memory another tensor looks at")
                return False
            step = Step("call", "AddBackward0", [held, g], (1,), [Value(g.shape, g.dtype)], part="backward")
            step.outs[0].step, g = step, step.outs[0]
            self.tape.steps.append(step)
        self.tape.grads[id(leaf)] = leaf
        self._filled.append((leaf, g))
        return True

    def pass_done(self, run: Any) -> None:
        """It is over: `.grad` now holds the values traced at its beginning."""
        for leaf, g in self._filled:
            grad = leaf._meta.grad
            self.tape.values[id(grad)] = g
            self.tape.keep.append(grad)
        self._filled = []


__all__ = ["CallWatcher"]
