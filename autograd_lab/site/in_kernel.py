"""Changes to lab's functions while a notebook's cells run for a reading page; reading.py calls `begin` in their kernel.

A page runs no code, so it holds what comes after an answer too: the cells run as if every question were answered, and what they
show from there on is marked. The page seals it until the reader has answered.
"""

from __future__ import annotations

import ast
import re
from typing import Any

from autograd_lab.course.reveal import Revealed, judged
from autograd_lab.widgets import export, guess

STEPPER = "application/vnd.autograd-lab.stepper+json"
"""What a page makes a stepper of: {"traits", "still", "label"}."""
CARD = "application/vnd.autograd-lab.card+json"
"""An open question: {"ask", "html"}."""
PRACTICE = "application/vnd.autograd-lab.practice+json"
"""Practice with its questions packed: {"html"}."""
SEAL = "application/vnd.autograd-lab.seal+json"
"""From here on the outputs of a cell are for those who have answered the question {"ask"} ..."""
OPEN = "application/vnd.autograd-lab.open+json"
"""... and from here on for all again."""

SLIDES = 300_000
"""So many bytes the values of a slider may have: they are loaded when it is first moved."""

HOW = "Answer to see what happened, and why."
MORE = "Answer to see what happened, and why. What comes after it opens then."


def begin(lab: Any) -> None:
    """From now on questions stay open, what follows their answers is marked, and a stepper is its data. `lab` is autograd_lab.lab.

    The next cell is the first: steppers and sentences name cells by their numbers.
    """
    from IPython.core.getipython import get_ipython
    from IPython.display import display

    from autograd_lab.widgets.rerun import Rerun
    from autograd_lab.widgets.shown import Shown

    def show_data(shown: Shown, **_: Any) -> None:
        carried = shown.carried(None, SLIDES) if isinstance(shown, Rerun) else {}
        data = {"traits": export.traits(shown) | carried, "still": shown.still(), "label": shown.summary()}
        display({STEPPER: data, "text/plain": shown.summary()}, raw=True)

    shell: Any = get_ipython()

    def count_anew(_: Any) -> None:
        shell.events.unregister("post_run_cell", count_anew)
        shell.execution_count = 1

    shell.events.register("post_run_cell", count_anew)
    if not any(isinstance(one, _Ends) for one in shell.ast_transformers):
        shell.events.register("pre_run_cell", lambda _: _sealed.clear())
        shell.ast_transformers.append(_Ends())
    lab.reveal = ask
    lab.practice = practice
    setattr(Shown, "_ipython_display_", show_data)  # noqa: B010  # mypy refuses to assign to a method


class Answered(Revealed):
    """What `reveal` returns here: true, and a mark in the output of the cell that asks for it."""

    def __init__(self, ask: str) -> None:
        super().__init__(True)
        self.ask = ask

    def __bool__(self) -> bool:
        from IPython.display import display

        _sealed.add(self.ask)
        display({SEAL: {"ask": self.ask}, "text/plain": ""}, raw=True)
        return True


_sealed: set[str] = set()
"""The questions whose answer the outputs of the cell wait for now."""


def ended() -> None:
    """A statement has ended: what follows waits for no answer."""
    from IPython.display import display

    if _sealed:
        _sealed.clear()
        display({OPEN: {}, "text/plain": ""}, raw=True)


class _Ends(ast.NodeTransformer):
    """Calls `ended` after the statements of a cell, except the last, whose value is shown, and after an `if answered` inside them.

    No line moves, and functions stay as they are.
    """

    def visit_Module(self, tree: ast.Module) -> ast.Module:
        self.generic_visit(tree)
        tree.body = [
            each
            for one in tree.body
            for each in ((one, self._end(one)) if one is not tree.body[-1] else (one,))
        ]
        return tree

    def visit_If(self, node: ast.If) -> list[ast.stmt]:
        self.generic_visit(node)
        asks = re.search(r"\banswered\b|\breveal\b", ast.unparse(node.test))
        return [node, self._end(node)] if asks else [node]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node

    @staticmethod
    def _end(after: ast.stmt) -> ast.stmt:
        (call,) = ast.parse(f"__import__({__name__!r}, fromlist=['ended']).ended()").body
        for part in ast.walk(call):
            ast.copy_location(part, after)
        return call


def ask(prediction: Any, truth: Any, ask: str = "") -> Revealed:
    """Show the card of a question as it is before the answer; where the notebook itself gives one, as after it."""
    from IPython.display import display

    card = judged(prediction, truth, ask)
    html = guess.html(card, MORE if card["more"] else HOW, front=False)
    display({CARD: {"ask": ask, "html": html.split("<script>")[0]}, "text/plain": ""}, raw=True)
    return Revealed(True) if card["answered"] else Answered(ask)


class Practiced:
    """What `practice` returns here. A page shows nothing for it: the card is there."""

    def _ipython_display_(self) -> None:
        pass


def practice(notebook: str, seed: int | None = None) -> Practiced:
    """Show the card of `lab.practice` with a pack of questions. Raises TypeError without a seed: a page is the same bytes every time."""
    from IPython.display import display

    from autograd_lab.course.practice import practice as begin
    from autograd_lab.course.practice.pack import packed
    from autograd_lab.widgets.practice import on_page

    if seed is None:
        raise TypeError(f"a page needs the same questions every time: lab.practice({notebook!r}, seed=...)")
    begun = begin(notebook, seed)
    display({PRACTICE: {"html": on_page(begun, packed(begun))}, "text/plain": ""}, raw=True)
    return Practiced()
