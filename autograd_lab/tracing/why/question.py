"""A question about one tensor of a trace, and how an answer to it is put together."""

from __future__ import annotations

from dataclasses import dataclass

from .answer import Edit, Line, Why, noted, sentence
from .facts import Facts, Pass


@dataclass
class Question:
    """The question why the gradient of tensor `t` (from `loss`, if one is named) is what it is."""

    facts: Facts
    t: int
    loss: int | None = None
    name: str = ""

    def __post_init__(self) -> None:
        if self.name:
            self.facts.rename(self.t, self.name)
        self.name = self.facts.name(self.t)

    @property
    def words(self) -> str:
        """The question in words, with the current `.grad`."""
        v = self.facts.grad_now(self.t)
        owner = self.name if self.facts.named(self.t) else f"({self.name})"
        if v is None:
            return f"Why is {owner}.grad None?"
        if self.facts.wild(v):
            return f"Why is {owner}.grad {'nan' if self.facts.nan(v) else 'inf'}?"
        if self.facts.zero(v):
            return f"Why is {owner}.grad zero?"
        return f"Why is {owner}.grad {self.facts.say(v)}?"

    def answer(
        self,
        cause: str,
        *sentences: str,
        lines: list[Line] | None = None,
        fix: str = "",
        k: int | None = None,
        edits: tuple[Edit, ...] = (),
    ) -> Why:
        """An answer; event k shows it."""
        notes: dict[Line, list[str]] = {}
        for line in lines or ():
            here = notes.setdefault(line._replace(what=""), [])
            if line.what and not any(line.what in note for note in here):
                here.append(line.what)
        found = [line._replace(what=noted(here)) for line, here in notes.items()]
        order = {source: i for i, source in reversed(list(enumerate(line.source for line in found)))}
        found.sort(key=lambda line: (order[line.source], line.number))
        text = tuple(sentence(s) for s in sentences if s)
        return Why(cause, self.words, text, tuple(found), fix, None if k is None else k + 1, edits=edits)

    @property
    def stopped(self) -> int | None:
        """The error event that the program stopped with; None if it did not, or went on and finished another pass."""
        facts = self.facts
        k = next((k for k in reversed(range(len(facts.events))) if facts.events[k]["k"] == "error"), None)
        if k is None or any(run.start > k and not run.failed for run in facts.passes):
            return None
        return k

    def passes(self) -> list[Pass]:
        """The relevant passes: those from the loss, if one was named."""
        runs = self.facts.passes
        if self.loss is None:
            return runs
        asked = [run for run in runs if self.loss in (run.event.get("of") or [self.facts.root_of(run)])]
        return asked

    def reaches(self, run: Pass) -> bool:
        """Whether the graph of a pass contains the tensor."""
        node = self.facts.node_of(self.t)
        return node is not None and node in self.facts.behind(run.event["roots"])
