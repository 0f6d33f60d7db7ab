"""Learners' misconceptions about autograd, by id: the belief, and the notebook that refutes it.

Items name these ids for their wrong answers; each has one home and is asked again later. The truth was verified here and on
PyTorch; the notebooks show it.
"""

from typing import NamedTuple


class Misconception(NamedTuple):
    """A belief, and the notebook that refutes it."""

    believes: str
    home: str


MISCONCEPTIONS = {
    "M01": Misconception(
        "automatic differentiation is algebra on formulas, or the same as finite differences", "01"
    ),
    "M02": Misconception("the graph is built when backward is called", "02"),
    "M03": Misconception("a constant collects a gradient too, only a zero one", "02"),
    "M04": Misconception("every use of a leaf has an accumulator of its own", "02"),
    "M05": Misconception("setting requires_grad later makes earlier operations recorded", "02"),
    "M06": Misconception("walking back from the output in any order gives the gradient", "04"),
    "M07": Misconception("of several gradients that reach a tensor the last one counts", "04"),
    "M08": Misconception("after backward every tensor has a .grad", "05"),
    "M09": Misconception("a leaf is a tensor that requires a gradient", "05"),
    "M10": Misconception("a second backward overwrites .grad", "05"),
    "M11": Misconception("no gradient and a gradient of zero are the same", "05"),
    "M12": Misconception("a second backward always fails, so retain_graph is always needed", "06"),
    "M13": Misconception("retain_graph, retain_grad and create_graph are one thing", "06"),
    "M14": Misconception("retain_graph=True is the cure when a training loop complains", "06"),
    "M15": Misconception("w = w - lr * w.grad updates the parameter", "07"),
    "M16": Misconception("detach, no_grad, eval and requires_grad=False do the same", "07"),
    "M17": Misconception("a gradient passes through item(), tensor([...]) or argmax", "07"),
    "M18": Misconception("a gradient may have the shape of the output, or stay broadcast", "08"),
    "M19": Misconception("mean and sum have the same gradient", "08"),
    "M20": Misconception("backward computes the Jacobian", "09"),
    "M21": Misconception("forward mode is always the slow one", "09"),
    "M22": Misconception("writing in place is always an error", "10"),
    "M23": Misconception(".data is the way to silence the in-place error", "10"),
    "M24": Misconception("a view is a copy", "10"),
    "M25": Misconception("at a kink there is an error instead of a gradient", "11"),
    "M26": Misconception("where() protects the branch that is not taken", "11"),
    "M27": Misconception("integers can require a gradient", "02"),
    "M28": Misconception("a gradient can be differentiated without being asked to be recorded", "12"),
    "M29": Misconception("autograd.grad fills .grad as well", "12"),
    "M30": Misconception("stepping the optimizer between forward and backward does no harm", "10"),
}
