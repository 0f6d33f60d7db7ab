"""The ear of the lint: what nobody says, and what it must leave alone."""

import pytest

from autograd_lab.course.spoken import STIFF, stiff

SAID_BY_NOBODY = [
    "Here they are, both.",
    "**Here it is**, twice.",
    "Read on. To b goes the message.",
    "To `W` goes `X.T @ G`.",
    "One more thing: at the node of `b` waits a 12.",
    "In this cell stands an assert.",
    "Then comes the code in quotes.",
    "Nor is it anomaly mode that keeps it.",
    "Some cuts nobody asked for.",
    "Whoever does not want it must clear.",
    "The gradient shall be 0.",
    "It is freed, and thus gone.",
    "From a sine one can not get back.",
    "It can be differentiated, for it was computed from x.",
    "It is something else than None.",
    "The layer is to stay as it is.",
    "The whole Jacobian is wanted.",
    "The cell begins with the error of above.",
    "Nothing need be kept.",
]
FINE = [
    "Here it is, for both.",
    "The message goes to b. At the node of b, a 12 waits.",
    "With two inputs the messages come in pairs.",
    "`w` is too small for it, and for this reason it waits.",
    "It asks: what goes to `x`?",
    "The last one may be smaller.",
    "First come, first served is not the rule here.",
    "What comes in goes out.",
    "```python\nTo b goes = 1  # code is code\n```",
    "Go from step 3 to step 9. From there it goes on.",
]


@pytest.mark.parametrize("text", SAID_BY_NOBODY)
def test_what_nobody_says_is_found(text):
    assert list(stiff(text))


@pytest.mark.parametrize("text", FINE)
def test_what_people_say_is_left_alone(text):
    assert list(stiff(text)) == []


def test_a_line_break_does_not_hide_it():
    assert list(stiff("> Here they\n> are, both."))


def test_every_pattern_is_needed():
    import re

    for pattern, _ in STIFF:
        found = [text for text in SAID_BY_NOBODY if re.search(pattern, text)]
        assert found, pattern
