"""The course: what its notebooks say to a student, and how they are built and checked.

    expect.py    `with lab.expect(RuntimeError, "second time"):` a cell that must raise
    reveal.py    `lab.reveal(prediction, truth)`: a prediction first, then the answer
    student.py   a notebook as a student receives it, with no outputs in it
    build.py     `autograd-lab build [--check]`: from notebooks/*.py to executed notebooks/*.ipynb
    lint.py      what a notebook must satisfy before a run of nbval over it means anything

Only the last two know Jupyter's file format; importing this package loads neither.
"""

from autograd_lab.course.expect import expect
from autograd_lab.course.reveal import reveal

__all__ = ["expect", "reveal"]
