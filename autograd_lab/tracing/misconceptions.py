"""What learners get wrong in a prediction, by name: what is believed, and its number in the course's catalogue.

For one question, `questions.py` computes which wrong number each of these leads to, and refutes it in one sentence with
the numbers of the case.
"""

from __future__ import annotations

#: id -> (what the learner believes, the catalogue's number or "")
MISCONCEPTIONS: dict[str, tuple[str, str]] = {
    # gradients through one node
    "local-only": ("the gradient is the node's own derivative; what comes in does not matter", ""),
    "unchanged": ("a node passes on what it gets", ""),
    "swapped": ("in a product each factor's gradient contains that factor itself", ""),
    "sign": ("the sign does not change, or changes where it does not", ""),
    "added-for-multiplied": ("the chain rule adds", ""),
    "forward-value": ("the value of a tensor is its gradient", ""),
    "both-uses": ("one message already counts every use of a tensor", "M07"),
    "new-value": ("the rule uses the value a name has now, not the one that was saved", "M22"),
    "no-broadcast-sum": ("the gradient keeps the shape that broadcasting made", "M18"),
    "mean-of-broadcast": ("what broadcasting copied is averaged on the way back", "M18"),
    "exponent-kept": ("the derivative of a power keeps its exponent", ""),
    "exponent-forgotten": ("the derivative of a power loses the factor n", ""),
    "input-for-output": ("a rule written with the result is used with the operand", ""),
    "dead-gate": ("relu lets every gradient through", "M25"),
    "mean-is-sum": ("mean and sum have the same gradient", "M19"),
    "transposed": ("rows and columns can be exchanged", "M20"),
    "constant-grad": ("a constant gets a gradient like everything else", "M03"),
    "none-sent": ("nothing is sent to this operand", ""),
    # adding up
    "last-message": ("the last message replaces those before it", "M07"),
    "first-message": ("only the first message counts", "M07"),
    "one-use": ("a tensor used twice gets the gradient of one use", "M07"),
    "multiplied-for-added": ("messages that meet are multiplied", "M07"),
    "averaged": ("messages that meet are averaged", "M07"),
    "overwrote-grad": ("backward() replaces .grad", "M10"),
    "kept-grad": ("backward() leaves a .grad that is there alone", "M10"),
    # None and zero
    "zero-for-none": ("a tensor the loss does not depend on has gradient 0", "M11"),
    "none-for-zero": ("a gradient of 0 is None", "M11"),
    "non-leaf-grad": ("every tensor has .grad after backward()", "M08"),
    # the forward pass
    "wrong-operation": ("another operation was meant", ""),
    "swapped-operands": ("the order of the operands does not matter", ""),
    "too-far": ("a line is computed at once", ""),
    "old-value": ("a name keeps the value it had first", ""),
    "inplace-copies": ("an in-place operation leaves its tensor as it was", "M22"),
    # shapes
    "shape": ("the numbers matter, their arrangement does not", "M18"),
    "output-shape": ("a gradient has the shape of what came in", "M18"),
    "jacobian-shape": ("backward() computes the whole Jacobian", "M20"),
    "operand-shape": ("the result has the shape of one operand", "M18"),
    # the order of the backward pass
    "still-waiting": ("a node may run before all its messages are there", "M06"),
    "not-reached": ("any order will do", "M06"),
    "already-done": ("a node runs once per message", "M06"),
    "ready-not-first": ("the engine takes ready nodes in any order", ""),
    # errors
    "backward-twice-fails": ("a second backward pass always fails", "M12"),
    "backward-twice-works": ("a second backward pass needs nothing", "M12"),
    "inplace-fails": ("an in-place write always breaks the backward pass", "M22"),
    "inplace-works": ("an in-place write never breaks the backward pass", "M22"),
    "always-works": ("every result can be differentiated", "M05"),
}
