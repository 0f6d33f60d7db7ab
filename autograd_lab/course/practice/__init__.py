"""`lab.practice("04")`: ever new small graphs of a notebook's kind, and what `lab.check` would say to a wrong answer.

    question.py   a question: a program that has run, the right answer, and what each known mistake would say
    engines.py    the wrong engines that the mistakes are computed with
    of_04.py ...  the kinds of questions of a notebook, in KINDS
    session.py    the questions one after the other: level and streak follow the answers
    pack.py       questions for a page without a kernel
    proof.py      over a thousand seeds: right answers are accepted, known mistakes are named

Loaded when somebody practices. The card that a notebook shows is in widgets/practice.py and practice_card.py.
"""

from .session import NOTEBOOKS, Practice, practice

__all__ = ["NOTEBOOKS", "Practice", "practice"]
