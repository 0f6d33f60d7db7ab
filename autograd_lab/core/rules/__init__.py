"""The rules of the lesson: each a formula forward and its VJP."""

from . import arithmetic, copies, matrices, pointwise, reductions, views
