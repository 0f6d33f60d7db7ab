"""The card of `lab.reveal`: colors from the stepper's list, and nothing of a page that could be read too early."""

import re
from html import unescape
from pathlib import Path

from autograd_lab.course.foreseen import FOLDER, questions
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


def every_open_card():
    """The card of each question of the course, open."""
    for path in sorted(FOLDER.iterdir()):
        for ask, asked in questions(path.stem).items():
            truth = [next(a.value for a in part.answers if a.right) for part in asked.parts]
            yield ask, judged(..., truth if len(truth) > 1 else truth[0], ask)


def test_a_card_carries_no_more_than_it_needs():
    """One card of a notebook carries the script and the style sheet for all."""
    sizes = {ask: len(guess.html(card, text(card), front=False).encode()) for ask, card in every_open_card()}
    assert max(sizes.values()) < 4_200
    assert sum(sizes.values()) < 1_600 * len(sizes)
    card = judged(..., 96, "04.c")
    assert len(guess.html(card, text(card)).encode()) < 11_000
    answered = judged(48, 96, "04.c")
    assert "<script>" not in guess.html(answered, text(answered), front=False)


def test_the_first_card_carries_the_front_end_whenever_it_is_shown():
    """Answered or open, and again when its cell runs again: what is stored is the same whatever ran in between."""
    names = {}  # of the session; a reset of the kernel empties it
    first, second = judged(..., 96, "04.c"), judged(..., [8, 12], "04.d")
    answered = judged(96, 96, "04.c")
    shown = [
        guess.shown(card, text(card), ask, names)
        for card, ask in ((first, "04.c"), (second, "04.d"), (answered, "04.c"), (second, "04.d"))
    ]
    assert [("window.aglGuess = " in page, "<style" in page) for page in shown] == [
        (True, True), (False, False), (True, True), (False, False)
    ]  # fmt: skip
    assert "window.aglGuess?.()" in shown[1]


def test_what_is_said_afterwards_comes_with_the_answer():
    card = judged(..., 96, "04.c")
    assert "waits for two messages" in card["after"][0]
    assert "waits for two messages" not in guess.html(card, text(card))
    for said in (96, 48):
        answered = judged(said, 96, "04.c")
        assert "The node of <code>b</code> has two users" in guess.html(answered, text(answered))
        assert "The node of `b` has two users" in text(answered)


def test_marks_of_markdown_are_read():
    assert guess.marked("**Two** of `a * b * c`, *not* <one>") == (
        "<b>Two</b> of <code>a * b * c</code>, <i>not</i> &lt;one&gt;"
    )
    for _, card in every_open_card():
        for words in card["after"]:
            assert "*" not in re.sub(r"<code>.*?</code>", "", guess.marked(words))


def test_the_stars_of_python_stay_stars():
    """In what a card asks, which is code more often than prose."""
    for words in ("(2 * x + 1) ** 2", "x**3 and y**2", "a*b*c", "f(*xs, **options)"):
        assert guess.marked(words) == words
    for number in sorted(path.stem for path in FOLDER.glob("*.txt")):
        for question in questions(number).values():
            for part in question.parts:
                shown = unescape(re.sub("<[^>]+>", "", guess.marked(part.label)))
                assert shown == part.label.replace("`", ""), question.id
