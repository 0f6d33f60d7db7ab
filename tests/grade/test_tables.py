"""Tables that spreadsheets and other systems can be trusted with."""

import csv
import io
import json

import pytest

from autograd_lab.grade import tables
from autograd_lab.grade.gradebook import Gradebook
from autograd_lab.grade.model import Result

NAMES = [
    "=1+1",
    "+a",
    "-a",
    "@a",
    "\t=a",
    "  =a",
    'quo"te',
    "com,ma",
    "line\nend",
    "Zoë",
    "李",
    "con",
    "../up",
    ".",
    "a/b",
    "A",
    "a",
]


@pytest.fixture
def folder(tmp_path):
    with Gradebook(tmp_path / "gradebook.db", create=True) as book:
        for name in NAMES:
            results = [
                Result(name, "04", "04.1", 1.5, 4.0, "wrong", "because", "M06"),
                Result(name, "04", "04.10", 5, 5, "passed"),
            ]
            book.record(name, "04", results, {}, notes=["=note"])
        book.override("A", "04.1", 4.0, "asked", "prof")
        tables.write(book, tmp_path)
    return tmp_path


def rows(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"), newline="")))


def test_grades_csv(folder):
    got = rows(folder / "grades.csv")
    assert list(got[0]) == ["student", "notebook", "item", "points", "max", "status", "misconception", "name"]
    assert len(got) == 2 * len(NAMES)
    mine = [row for row in got if row["student"] == "Zoë"]
    assert [
        (row["item"], row["points"], row["max"], row["status"], row["misconception"]) for row in mine
    ] == [
        ("04.1", "1.5", "4", "wrong", "M06"),
        ("04.10", "5", "5", "passed", ""),
    ]
    assert ("4", "overridden") in [(row["points"], row["status"]) for row in got if row["student"] == "A"]


@pytest.mark.parametrize("name", ["grades.csv", "submissions.csv", "nbgrader.csv"])
def test_nothing_a_spreadsheet_would_run(folder, name):
    for row in rows(folder / name):
        for cell in row.values():
            assert cell.lstrip(" ")[:1] not in ("=", "+", "-", "@", "\t", "\r"), cell
    students = {row.get("student") or row["student_id"] for row in rows(folder / name)}
    assert {s.removeprefix("'") for s in students} == set(NAMES)


def test_nbgrader_csv(folder):
    got = rows(folder / "nbgrader.csv")
    assert tuple(got[0]) == tables.NBGRADER_COLUMNS
    assert {(row["raw_score"], row["score"], row["max_score"]) for row in got} == {
        ("6.5", "6.5", "9"),
        ("9", "9", "9"),
    }


def test_grades_json(folder):
    text = (folder / "grades.json").read_text(encoding="utf-8")
    data = json.loads(text)
    assert [s["student"] for s in data["students"]] == sorted(NAMES)
    assert [i["item"] for i in data["students"][0]["notebooks"][0]["items"]] == ["04.1", "04.10"]
    assert tables.dump(data) == text


def test_gradescope(folder):
    made = sorted((folder / "gradescope").iterdir())
    assert len(made) == len({path.name.casefold() for path in made}) == len(NAMES)
    assert all(path.name.replace("-", "").replace("_", "").isalnum() for path in made)
    data = json.loads((folder / "gradescope" / "a" / "results.json").read_text(encoding="utf-8"))
    assert data["score"] == 6.5
    assert [(t["score"], t["max_score"], t["status"], t["output"]) for t in data["tests"]] == [
        (1.5, 4.0, "failed", "because"),
        (5.0, 5.0, "passed", "passed"),
    ]
