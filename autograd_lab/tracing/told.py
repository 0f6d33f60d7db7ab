"""What ran right before each event of a trace was reported: a marked statement of the core, or other code, named in a sentence.

When a `pop` is reported, a statement of the core with the comment `# event: pop` has just run. Some kinds have several causes, and
a mark for each: a view without history is `# event: const view`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from autograd_lab.core.rule import FUNCTIONS, RULES

from .builder import op_name
from .trace import Record, Trace

IN_THE_PASS = (
    "accumulate", "backward", "counts", "deliver", "done", "free", "hook", "pop", "pruned", "push", "retain", "seed", "vjp",
)  # fmt: skip
"""Kinds of events that a backward pass tells of, each at the mark of its name."""

Told = tuple[str, str]  # the mark of a statement, and a sentence; one of them may be empty


class Teller:
    """Goes through a trace, event by event, and says what reported each."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.last: Told = "", ""
        self.passes = 0  # under way, one inside the other
        self.known: set[int] = set()  # tensors that earlier events mentioned
        self.uncounted = {t for t, tensor in enumerate(trace.tensors) if tensor.get("inference")}

    def __iter__(self) -> Iterator[Told]:
        for e in self.trace.events:
            kind = e["k"]
            self.last = (kind, "") if kind in IN_THE_PASS else TELLERS[kind](self, e)
            self.passes += (kind == "backward") - (kind == "done")
            made = e.get("t")
            self.known.update(made if isinstance(made, list) else () if made is None else (made,))
            yield self.last

    def node(self, e: Record) -> Told:
        made = self.trace.nodes[e["n"]]
        if "compiled" in made:
            return outside("a compiled function makes one node for all its steps", "compiler.entry")
        if made["kind"] == "function":
            return outside("a custom Function is its own node", "torchlike.autograd.function")
        return ("edge CopySlices" if "inner" in made else e["k"]), ""

    def const(self, e: Record) -> Told:
        op, made = e["op"], e["t"]
        why = e.get("why")  # traces from elsewhere may lack what the format does not require
        if why == "copy":
            return outside(
                "the numbers of other tensors were copied, without their history", "torchlike.creation"
            )
        if op == "to":
            return outside("numbers were converted, or new ones made in the likeness of others")
        if op in _WITH_FLAGS and len(made) == 1:
            return outside("beside its result, this operation gives numbers that have no derivative")
        if op == "compiledfunction":
            return outside("a compiled function left no node", "compiler.entry")
        if not self.known.isdisjoint(made):
            return outside("a custom Function left no node", "torchlike.autograd.function")
        if op in _underived() or (op == "where" and len(e["in"]) == 1):
            return outside("this operation has no derivative, and makes no node", "torchlike.ops.comparison")
        if op not in _operations():
            return outside("a custom Function left no node", "torchlike.autograd.function")
        if len(made) > 1 or not _operations()[op]:
            return outside("an operation of several results makes and tells of them itself")
        if self.trace.tensors[made[0]]["base"] is not None:
            return "const view", ""
        if why == "inference_mode" or not self.uncounted.isdisjoint(e["in"]):
            self.uncounted.update(made)
            return (
                "",
                "In inference mode, views are told like any other result: which statement made this one is not known.",
            )
        return "const", ""

    def inplace(self, e: Record) -> Told:
        op = e.get("op", "_")
        if e.get("unnoticed") == "numpy":
            return "", "No code of the engine ran: NumPy wrote into this memory."
        if "unnoticed" in e:
            return "", "Nothing ran for this tensor: it lies in the memory that was just written."
        if op == "copy_" and len(e.get("in", ())) == 1:
            return outside("new numbers were put into this memory")
        if op == "data =":
            return outside(
                "`.data` was set: the tensor shows the memory of what was assigned", "torchlike.tensor"
            )
        if op in RESHAPES:
            return outside(
                "the tensor itself got another shape, and keeps its numbers", "torchlike.ops.shapes"
            )
        if not op.endswith("_") and op != "LBFGS":
            return outside("an optimizer writes into its parameters by itself", "torchlike.optim.optimizer")
        return ("inplace" if e.get("n") is None else "inplace recorded"), ""

    def detach(self, e: Record) -> Told:
        how = e.get("how", "detach")
        if how == "detach":
            return "detach", ""
        if how == "data":
            return outside("`.data` is the same memory, without history", "torchlike.tensor")
        if how == "Parameter":
            return outside(
                "a Parameter is a new leaf, in the memory that it was given", "torchlike.nn.parameter"
            )
        return outside("a deep copy is a new leaf")

    def read(self, e: Record) -> Told:
        if e.get("how") == "numpy":
            return outside("NumPy was given the memory itself", "torchlike.tensor")
        return ("read tolist" if e.get("how") == "tolist" else "read"), ""

    def flag(self, e: Record) -> Told:
        if e.get("how") == "detach_":
            return outside("the tensor was cut off from its history", "torchlike.tensor")
        return ("flag retain_grad" if e.get("how") == "retain_grad" else "flag"), ""

    def grad(self, e: Record) -> Told:
        how = e.get("how", "assigned")
        if how == "assigned":
            return outside("`.grad` was assigned", "torchlike.tensor")
        if how.endswith("_") and how != "copy_" and how not in RESHAPES:
            return "inplace", ""
        if how == "NumPy":
            return "", "No code of the engine ran: NumPy wrote into this memory."
        return outside("the program changed `.grad`")

    def error(self, e: Record) -> Told:
        if "of" in e:
            return outside("the call was refused before a pass began", "torchlike.autograd.api")
        if not self.passes:
            return "", "The error came up outside the core. No pass was under way."
        self.passes -= 1
        mark = self.last[0] if self.last[0] in IN_THE_PASS else ""
        return mark, "An error ended the pass after this statement." if mark else "An error ended the pass."

    def mode(self, e: Record) -> Told:
        return "mode", ""

    def leaf(self, e: Record) -> Told:
        return "", "No statement of the engine: a tensor that was made before is used for the first time."

    def idle(self, e: Record) -> Told:
        return outside("the optimizer finds no gradient to work with", "torchlike.optim.optimizer")

    def refused(self, e: Record) -> Told:
        return outside("a call was refused, before or while it computed")

    def unrecorded(self, e: Record) -> Told:
        return "", "The recorder failed here: which code ran is not known."


TELLERS: dict[str, Callable[[Teller, Record], Told]] = {
    "node": Teller.node, "edge": Teller.node, "const": Teller.const, "inplace": Teller.inplace, "detach": Teller.detach,
    "read": Teller.read, "flag": Teller.flag, "grad": Teller.grad, "error": Teller.error, "mode": Teller.mode, "leaf": Teller.leaf,
    "idle": Teller.idle, "refused": Teller.refused, "unrecorded": Teller.unrecorded,
}  # fmt: skip
"""How each of the other kinds of events came about."""

RESHAPES = frozenset(["as_strided_", "squeeze_", "t_", "transpose_", "unsqueeze_"])
"""In-place operations that write no memory."""

_WITH_FLAGS = frozenset(["linalg_cholesky_ex", "linalg_inv_ex", "linalg_lu", "linalg_solve_ex", "lu_unpack"])


def outside(what: str, module: str = "") -> Told:
    """A sentence about code outside the core, with its file if that is certain."""
    return "", f"Ran outside the core: {what}{module and f' ({page_of(module)})'}."


@lru_cache
def page_of(module: str) -> str:
    """The file of a module of this package, relative to the package."""
    file = getattr(find_spec(f"autograd_lab.{module}"), "origin", "")
    return Path(file).relative_to(Path(__file__).parents[1]).as_posix()


@lru_cache(1)
def _operations() -> dict[str, bool]:
    """{name of an operation: whether it has a rule with a single result, which the core records}."""
    found: dict[str, bool] = {}
    for rule in RULES.values():
        op = getattr(rule, "op", "") or op_name(rule)
        found[op] = found.get(op, False) or getattr(rule, "plain", True)
    return found


@lru_cache(1)
def _underived() -> frozenset[str]:
    """Operations that are reported by name and have no recorded rule: comparisons, and functions of whole numbers."""
    own = [rule for rule in RULES.values() if rule.__module__.endswith(".comparison")]
    comparisons = {getattr(rule, "op", "") or op_name(rule) for rule in own}
    return frozenset(comparisons | ({*FUNCTIONS, "one_hot"} - _operations().keys()))


def told(trace: Trace) -> list[Told]:
    """For each event of `trace`: the mark of the statement that had just run when it was reported, and a sentence; one may be empty."""
    return list(Teller(trace))


__all__ = ["IN_THE_PASS", "TELLERS", "told"]
