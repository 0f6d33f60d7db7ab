"""The course: the functions of its notebooks, and how they are built and checked.

    expect.py    `with lab.expect(RuntimeError, "second time"):` a cell that must raise
    reveal.py    `lab.reveal(prediction, truth, "04.b")`: a prediction first, then the answer, and what the prediction tells
    foreseen.py  the answers that are foreseen, and what is said to them, from predictions/
    practice/    `lab.practice("04")`: small questions without end
    feedback.py  `lab.check("04.2", answer)`: passed, wrong and why, or not attempted; `lab.hint`
    scores.py    `lab.progress()`: the points so far, and what is next
    contents.py  numbers, titles and files of the notebooks
    timeout.py   a limit of time for a student's code
    items.py     graded items as data, and the one function that judges
    probe.py     what runs in the process of the student's code
    handed_out.py  is code still as it was handed out?
    plain.py     answers as plain data, and when two of them are equal
    misconceptions.py  what learners believe, by id
    student.py   a notebook as a student receives it, with no outputs in it
    author.py    a solutions source: exercises, answers, checks, wrong answers
    bank.py      are all wrong answers caught, and mutants of the right ones?
    build.py     `autograd-lab build [--check]`: from text sources to executed notebooks and exercises
    spoken.py    turns of phrase that nobody says aloud, for author.py and lint.py
    plots.py     the plots of the notebooks
    pictures.py  the pictures at their ends
    lint.py      what a notebook must satisfy for a run of nbval to be meaningful

Of these only author.py, build.py and lint.py know Jupyter's file format; importing this package loads none of them.
"""

from autograd_lab.course.expect import expect
from autograd_lab.course.feedback import check, hint
from autograd_lab.course.reveal import reveal
from autograd_lab.course.scores import progress

__all__ = ["check", "expect", "hint", "progress", "reveal"]
