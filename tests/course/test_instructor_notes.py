"""The instructor's notes in the notebooks: their questions, steps and minutes are those of the notebook they stand in."""

import json
import re
from pathlib import Path

import pytest

from autograd_lab.course.ballots import BALLOTS
from autograd_lab.course.items import shipped
from autograd_lab.course.lint import count_words
from autograd_lab.course.misconceptions import MISCONCEPTIONS
from autograd_lab.course.student import INSTRUCTOR, student_copy

ROOT = Path(__file__).resolve().parents[2]
BOOKS = {path.name[:2]: path for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb"))}
MOST_WORDS = 130  # of one note: it is read while a class waits


def cells(number):
    return json.loads(BOOKS[number].read_text(encoding="utf-8"))["cells"]


def joined(text):
    return text if isinstance(text, str) else "".join(text)


def is_note(cell):
    return INSTRUCTOR in cell["metadata"].get("tags", [])


def notes(number):
    return [joined(cell["source"]) for cell in cells(number) if is_note(cell)]


def steppers(number):
    """(number of the cell, how many steps) of each stepper in a notebook."""
    for place, cell in enumerate(cells(number)):
        for output in cell.get("outputs", []):
            text = joined(output.get("data", {}).get("text/plain", ""))
            if found := re.search(r"^(\d+) steps, ", text, re.MULTILINE):
                yield place, int(found[1])


WITH_NOTES = [number for number in BOOKS if notes(number)]


def test_every_notebook_has_notes():
    assert list(BOOKS) == WITH_NOTES


@pytest.mark.parametrize("number", WITH_NOTES)
def test_notes_are_short_and_look_alike(number):
    found = notes(number)
    assert 1 <= len(found) <= 3
    for note in found:
        assert note.startswith("**For the instructor.** ")
        assert count_words(note) <= MOST_WORDS, note
    text = "\n".join(found)
    for label in ("*Time*: ", "*Ask*", "*Expect*", "*Short of time*: ", "*Stop at*"):
        assert label in text, f"no {label}"


@pytest.mark.parametrize("number", WITH_NOTES)
def test_the_parts_take_the_minutes_of_the_notebook(number):
    minutes = json.loads(BOOKS[number].read_text(encoding="utf-8"))["metadata"]["autograd_lab"]["minutes"]
    parts = re.match(r"\*\*For the instructor.\*\* \*Time\*: (.*?)\.(\s|$)", notes(number)[0], re.DOTALL)[1]
    assert sum(map(int, re.findall(r"(?<!\S)\d+\b", parts))) == minutes


@pytest.mark.parametrize("number", WITH_NOTES)
def test_each_question_of_the_notebook_has_its_place(number):
    asked = re.findall(r'lab\.classroom\("(\w+)"\)', "\n".join(notes(number)))
    assert {*asked} <= {*BALLOTS}
    assert {key for key, about in MISCONCEPTIONS.items() if about.home == number} <= {*asked}
    for key in asked:
        assert MISCONCEPTIONS[key].home <= number, f"{key} belongs to a later notebook"


@pytest.mark.parametrize("number", WITH_NOTES)
def test_steps_to_stop_at_are_steps_of_the_stepper_above(number):
    shown = list(steppers(number))
    for place, cell in enumerate(cells(number)):
        if is_note(cell):
            for step, of in re.findall(r"step\s+(\d+)\s+of\s+(\d+)", joined(cell["source"])):
                *_, (_, steps) = (one for one in shown if one[0] < place)
                assert int(of) == steps, f"the stepper above has {steps} steps, not {of}"
                assert 1 <= int(step) <= steps


@pytest.mark.parametrize("number", WITH_NOTES)
def test_exercises_and_headings_that_notes_name_are_there(number):
    book = "\n".join(joined(cell["source"]) for cell in cells(number) if not is_note(cell))
    for note in notes(number):
        for item in re.findall(r"exercise (\d\d\.\d+)", note):
            assert item in shipped()
        for name in re.findall(r"(?:leave\s+out|after|before|of|for)\s+\*([A-Z][^*]+)\*", note):
            assert " ".join(name.split()) in " ".join(book.split()), f"there is no {name} in the notebook"


@pytest.mark.parametrize("number", WITH_NOTES)
def test_students_do_not_get_them(number):
    copy = student_copy(BOOKS[number].read_text(encoding="utf-8"))
    assert "For the instructor" not in copy
    assert INSTRUCTOR not in copy
