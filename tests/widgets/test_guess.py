"""The card of `lab.reveal`: colors from the stepper's list, and nothing of a page that could be read too early."""

import re
from pathlib import Path

from autograd_lab.course.reveal import judged, text
from autograd_lab.widgets import guess
from autograd_lab.widgets.svg import palette

CSS = (Path(guess.__file__).parent / "assets" / "guess.css").read_text(encoding="utf-8")


def test_its_colors_are_the_steppers():
    """Whose contrast test_contrast.py checks: text, outlines and the background are pairs of that list."""
    pairs = set(re.findall(r"light-dark\((#\w+), (#\w+)\)", CSS))
    names = {pair: name for name in palette() if (pair := (palette()[name], palette(dark=True)[name]))}
    assert pairs <= set(names)
    assert {names[pair] for pair in pairs} >= {"fg", "bg", "dim", "green", "bad", "amber", "outline"}


def test_a_word_of_the_students_is_text():
    page = guess.html(card := judged("<b>x</b>", "y"), text(card))
    assert "&lt;b&gt;x&lt;/b&gt;" in page


def test_a_card_carries_no_more_than_it_needs():
    """Every open question of a notebook carries the script and the style sheet."""
    card = judged(..., 96, "04.c")
    assert len(guess.html(card, text(card)).encode()) < 11_000
    answered = judged(48, 96, "04.c")
    assert "<script>" not in guess.html(answered, text(answered))
