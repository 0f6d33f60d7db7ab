"""Questions for a page without a kernel: some of each level, each another one."""

from __future__ import annotations

from .question import LEVELS, Question
from .session import Practice, ask

EACH = 6
"""Questions of each level."""


def packed(practice: Practice) -> list[list[Question]]:
    """The questions for the page of a call of `lab.practice`, by level."""
    seen: set[str] = set()
    return [[ask(practice.number, practice.seed, n, level, seen) for n in range(EACH)] for level in LEVELS]
