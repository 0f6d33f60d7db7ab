"""Nothing that was computed where a hidden probe is known reaches a student: peeks.py looks for them, and this looks at the pages.

The same class is graded twice, with other words in the hidden probes: whatever students get must be the same, byte for byte.
"""

import contextlib
import json
import re
import shutil
from collections import Counter
from dataclasses import asdict

import peeks
import pytest
from classroom import ROOT, cell, document

from autograd_lab.grade import feedback, merge, run, tables
from autograd_lab.grade.course import load_course
from autograd_lab.grade.engine import Engine
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import Limits
from autograd_lab.grade.sandbox import SandboxError
from autograd_lab.grade.submissions import find

WORDS = ("canary_0123456789ab", "canary_fedcba987654")
"""One odd, one even."""
LIMITS = Limits(cell_cpu=20.0, probe_cpu=10, job_wall=600.0)


def course_with(folder, word):
    """The course with a notebook more, and the word in all hidden probes."""
    for name in ("exercises", "keys"):
        (folder / name).mkdir(parents=True)
    for path in (ROOT / "exercises").glob("*.ipynb"):
        shutil.copy(path, folder / "exercises")
    (folder / "exercises" / f"{peeks.BOOK}.ipynb").write_text(peeks.notebook())
    (folder / "keys" / "90.json").write_text(peeks.with_canary(peeks.key(), word))
    for path in (ROOT / "solutions" / "keys").glob("*.json"):
        (folder / "keys" / path.name).write_text(peeks.with_canary(path.read_text("utf-8"), word))
    return load_course(folder / "exercises", folder / "keys")


def put(folder, student, book, data):
    path = folder / student / f"{book}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data))


def hand_in(folder, course):
    """A class that peeks: each pair of ways in the small notebook, and all programs of the real ones."""
    pairs = list(peeks.pairs())
    for number, (one, other) in enumerate(zip(pairs[::2], pairs[1::2], strict=True)):
        data = json.loads(peeks.notebook())
        cell(data, "start")["source"] += peeks.EARS
        for item, name, (reader, giver) in (("1", "first", one), ("2", "second", other)):
            cell(data, f"90-{item}-answer")["source"] = peeks.answer(name, reader, giver)
        told = "third = told() or 'nothing_to_tell'" if number % 2 else "third = 7"
        cell(data, "90-3-answer")["source"] = told
        if number % 3 == 0:  # the last program is probed in the process that ran the cells
            data["cells"] = [c for c in data["cells"] if not c["id"].startswith("90-3")]
        put(folder, f"peeks-{number:02d}", peeks.BOOK, data)
    for book in course.items:
        if book == peeks.BOOK or not any(
            probe.hidden for item in course.items[book] for probe in item.probes
        ):
            continue
        data = document("exercises", book)
        for item in course.items[book]:
            if item.probes:
                check = next(
                    c for c in course.released[book].cells if c.role == "check" and c.item == item.id
                )
                names = peeks.names_in_check(check.source)
                source = "\n".join(peeks.answer(name, "frames", "error") for name in names)
                cell(data, f"{item.id.replace('.', '-')}-answer")["source"] = source
        put(folder, "course", book, data)


class Shared:
    """One engine for several courses: what differs between them never enters its processes."""

    def __init__(self, engine):
        self.engine = engine

    def __call__(self, course):
        self.engine._items.update({s: {i.id: i for i in each} for s, each in course.items.items()})
        return contextlib.nullcontext(self.engine)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """[(folder of results, its gradebook's runs)] for each word."""
    place = tmp_path_factory.mktemp("peeks")
    courses = [course_with(place / word, word) for word in WORDS]
    top = place / "handed in"
    hand_in(top, courses[0])
    made = []
    try:
        with Engine(courses[0].items, LIMITS, workers=2) as engine:
            runner = Shared(engine)
            for word, course in zip(WORDS, courses, strict=True):
                out = place / word / "results"
                out.mkdir()
                with Gradebook(out / NAME, create=True) as book:
                    found = find(top, merge.shelf(course.released.values()))
                    run.grade(run.plan(found, book.known(), course), book, course, lambda c=course: runner(c))
                    feedback.write(book, course, out / feedback.FOLDER, runner)
                    tables.write(book, out)
                    there = [(e.student, e.notebook) for e in book.entries() if e.status == "graded"]
                    runs = {key: book.stored_run(*key)[1] for key in there}
                made.append((out, runs, course))
    except SandboxError as error:
        pytest.skip(f"hostile code runs in a sandbox only: {error}")
    return made


def shown(out):
    """{name: text} of all that students get; without the digest of what a page was made from."""
    files = [*(out / feedback.FOLDER).rglob("*"), *(out / "gradescope").rglob("*")]
    return {
        str(path.relative_to(out)): re.sub(r'name="basis" content="\w*"', "", path.read_text("utf-8"))
        for path in files
        if path.is_file()
    }


def test_the_ways_to_look_find_the_hidden_probes(graded):
    """Else the tests below would see nothing: each has found the word, which stayed with the results of hidden probes."""
    _, runs, course = graded[0]
    pairs = list(peeks.pairs())
    found = Counter()
    for (student, book), ran in runs.items():
        hidden = {case for item in course.items[book] for p in item.probes if p.hidden for case in p.names()}
        for item, answer in ran.answers.items():
            if book == peeks.BOOK and item != "90.3":
                told = json.dumps([output for case, output in answer.outputs.items() if case in hidden])
                lost = any(case in hidden for case in answer.lost)
                for way in pairs[2 * int(student[-2:]) + int(item[-1]) - 1]:
                    found[way] += lost or "nothing_to_tell" not in told
    assert [way for way in (*peeks.READERS, *peeks.GIVERS) if not found[way]] == []
    assert sum(WORDS[0] in json.dumps(asdict(runs[who, book])) for who, book in runs if who == "course") > 12


def test_no_page_of_a_student_depends_on_what_is_hidden(graded):
    first, second = (shown(out) for out, _, _ in graded)
    assert first.keys() == second.keys()
    assert len([name for name in first if name.startswith(feedback.FOLDER)]) > 10
    assert [name for name in first if first[name] != second[name]] == []
    assert [name for name, text in first.items() if WORDS[0] in text] == []


def test_what_students_see_was_computed_before(graded):
    """Values, visible cases, cells and prints are the same, and told nothing, in the runs themselves."""

    def seen(ran, course, book):
        hidden = {case for item in course.items[book] for p in item.probes if p.hidden for case in p.names()}
        data = asdict(ran)
        for key in ("seconds", "careful", "state"):
            data.pop(key)
        for answer in data["answers"].values():
            answer.pop("lost")
            answer["outputs"] = {case: out for case, out in answer["outputs"].items() if case not in hidden}
        return data

    (_, first, course), (_, second, _) = graded
    for key in first:
        one, other = seen(first[key], course, key[1]), seen(second[key], course, key[1])
        assert one == other
        assert WORDS[0] not in json.dumps(one)
