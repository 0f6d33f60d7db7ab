"""The gradebook: whole submissions or nothing, overrides that stay, everything said."""

import sqlite3
from datetime import UTC, datetime
from functools import partial

import pytest

from autograd_lab.grade import by_hand, gradebook, tables
from autograd_lab.grade.gradebook import Gradebook
from autograd_lab.grade.model import Answer, CannotGradeError, Cell, CellRun, Job, Result, Run


def result(item="04.1", score=2.0, state="wrong", student="ada", **more):
    return Result(student, "04", item, score, 4.0, state, **more)


@pytest.fixture
def book(tmp_path):
    with Gradebook(tmp_path / gradebook.NAME, create=True) as opened:
        yield opened


def fill(book, *results, **more):
    book.record("ada", "04", results or [result(), result("04.2")], {"04.1": "b1", "04.2": "b2"}, **more)


def test_what_is_recorded_comes_back(book):
    one = result(
        says="so", misconception="M06", probe="p", case=2, hidden=True, got=[1.5, {"float": "nan"}], want=None
    )
    fill(book, one, notes=["a note"], file="ada/04.ipynb", digest="d")
    (entry,) = book.entries()
    assert entry.results == [one]
    assert (entry.notes, entry.file, entry.digest, entry.total, entry.most) == (
        ["a note"],
        "ada/04.ipynb",
        "d",
        2.0,
        4.0,
    )
    assert book.known()["ada", "04"].results == {"04.1": "b1"}


def test_entries_are_read_again_once_somebody_has_written(book):
    fill(book)
    (before,) = book.entries()
    assert book.entries()[0] is before
    with Gradebook(book.path) as other:
        fill(other, result(score=3.0))
        assert other.entries()[0].results[0].score == 3.0
    assert book.entries()[0].results[0].score == 3.0
    book.set("late penalty", 0.5)
    assert book.entries()[0] is not before
    fill(book, result(score=1.0))
    assert book.entries()[0].results[0].score == 1.0


def test_a_second_record_takes_the_place_of_the_first(book):
    fill(book)
    fill(book, result("04.2", 4.0, "passed"))
    (entry,) = book.entries()
    assert [(r.item, r.score) for r in entry.results] == [("04.2", 4.0)]
    assert [row["event"] for row in book.history()] == ["graded", "regraded"]
    assert book.history()[1]["before"] == "2 wrong"


def test_one_item_alone(book):
    fill(book)
    fill(book, result(score=4.0), result("04.2", 4.0), only="04.2")
    assert [r.score for r in book.entries()[0].results] == [2.0, 4.0]


def test_what_fails_halfway_leaves_nothing(book):
    fill(book)
    with pytest.raises(sqlite3.Error):
        fill(book, result(score=4.0), result("04.2", score=None))
    assert [r.score for r in book.entries()[0].results] == [2.0, 2.0]
    assert len(book.history()) == 1


def test_the_run_is_kept(book):
    job = Job("ada", "04", (Cell("c", "x = 1\u2028", "answer", "04.1"),), ("n",), "d")
    run = Run(
        "ok", {"04.1": Answer("04.1", "given", [1, None])}, [CellRun("c", "ok")], printed="p", seconds=0.5
    )
    fill(book, job=job, run=run)
    assert book.stored_run("ada", "04") == (job, run)
    assert book.stored_run("bob", "04") is None


def test_an_override_counts_and_outlives_regrades(book):
    fill(book)
    book.override("ada", "04.1", 3.5, "spoke to her", "prof")
    fill(book, result(score=0.0), result("04.2"))
    (entry,) = book.entries()
    assert [entry.points(r) for r in entry.results] == [3.5, 2.0]
    assert tables.status(entry, entry.results[0]) == "overridden"
    book.override("ada", "04.1", None, "a mistake of mine", "prof")
    assert book.entries()[0].total == 2.0
    events = [(row["event"], row["reason"], row["author"]) for row in book.history("ada", "04.1")]
    assert events == [
        ("overridden", "spoke to her", "prof"),
        ("regraded", "", ""),
        ("withdrawn", "a mistake of mine", "prof"),
    ]


@pytest.mark.parametrize(
    ("student", "item", "points", "reason", "says"),
    [
        ("eve", "04.1", 1, "r", "no student 'eve'"),
        ("ada", "04.9", 1, "r", "ada has 04.1, 04.2"),
        ("ada", "04.1", 5, "r", "worth 4"),
        ("ada", "04.1", float("nan"), "r", "worth 4"),
        ("ada", "04.1", 1, " ", "no reason"),
        ("ada", "04.1", None, "r", "nothing to withdraw"),
    ],
)
def test_overrides_that_are_refused(book, student, item, points, reason, says):
    fill(book)
    with pytest.raises(CannotGradeError, match=says):
        book.override(student, item, points, reason, "prof")
    assert book.entries()[0].total == 4.0


def test_lateness_takes_its_part_but_not_of_overrides(book):
    from datetime import UTC, datetime

    fill(book, handed_in=datetime(2026, 11, 21, 1, tzinfo=UTC))
    book.set("due", {"": "2026-11-20T00:00:00+00:00"})
    assert (book.entries()[0].days_late, book.entries()[0].total) == (2, 4.0)  # only marked
    book.set("late penalty", 0.25)
    assert book.entries()[0].total == 2.0
    book.override("ada", "04.1", 4.0, "was ill", "prof")
    assert book.entries()[0].total == 5.0


def test_a_notebook_is_forgotten_and_can_be_graded_again(tmp_path, capsys):
    def command(*words):
        return by_hand.main([str(tmp_path), *words])

    with Gradebook(tmp_path / gradebook.NAME, create=True) as book:
        fill(book)
        book.record(
            "ada", "05_more", [Result("ada", "05_more", "05.1", 0.0, 4.0, "missing")], {}, status="missing"
        )
        book.record("eve", "05_more", [Result("eve", "05_more", "05.1", 3.0, 4.0, "wrong")], {})
        book.override("eve", "05.1", 4.0, "spoke to her", "prof")
    assert command("export") == 0
    page = tmp_path / "feedback" / "eve.html"
    page.parent.mkdir()
    page.touch()
    assert command("forget", "05", "--reason", "not assigned") == 2  # a person gave points in it
    assert "eve 05.1" in capsys.readouterr().err
    assert command("withdraw", "eve", "05.1", "--reason", "before I forget the notebook") == 0
    for words, says in (
        (["06", "--reason", "x"], "it has 04, 05_more"),
        (["05", "--reason", " "], "no reason"),
    ):
        assert command("forget", *words) == 2
        assert says in capsys.readouterr().err
    assert command("forget", "05", "--reason", "not assigned", "--author", "prof") == 0
    assert "05_more: forgotten for 2 students, 1 of whom had handed it in" in capsys.readouterr().out
    assert "05_more" not in (tmp_path / "grades.csv").read_text() + (tmp_path / "submissions.csv").read_text()
    assert {path.parent.name for path in (tmp_path / "gradescope").rglob("results.json")} == {"ada"}
    assert not page.exists()
    with Gradebook(tmp_path / gradebook.NAME) as book:
        assert [(e.student, e.notebook) for e in book.entries()] == [("ada", "04")]
        assert book.known().keys() == {("ada", "04")}
        gone = [(row["student"], row["before"], row["reason"], row["author"]) for row in book.history() if row["event"] == "forgotten"]  # fmt: skip
        assert gone == [("ada", "0 of 4", "not assigned", "prof"), ("eve", "3 of 4", "not assigned", "prof")]
        book.record("eve", "05_more", [Result("eve", "05_more", "05.1", 3.0, 4.0, "wrong")], {})
        assert book.entries()[1].total == 3.0


@pytest.fixture
def closed(monkeypatch):
    """Which of the connections that are opened from now on have been closed."""
    seen = []

    class Watched(sqlite3.Connection):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            self.number = len(seen)
            seen.append(False)

        def close(self):
            seen[self.number] = True
            super().close()

    monkeypatch.setattr(gradebook.sqlite3, "connect", partial(sqlite3.connect, factory=Watched))
    return seen


def test_files_that_are_no_gradebook(tmp_path, closed):
    with pytest.raises(CannotGradeError, match="There is no gradebook"):
        Gradebook(tmp_path / gradebook.NAME)
    (tmp_path / gradebook.NAME).write_text("hello, this is text " * 100)
    with pytest.raises(CannotGradeError, match="SQLite says"):
        Gradebook(tmp_path / gradebook.NAME)
    assert closed == [True]


def test_a_gradebook_of_a_newer_version(tmp_path, closed):
    with Gradebook(tmp_path / gradebook.NAME, create=True) as book:
        book._db.execute("PRAGMA user_version = 99")
    with pytest.raises(CannotGradeError, match="of version 99"):
        Gradebook(tmp_path / gradebook.NAME)
    assert closed == [True, True]


def test_the_command(tmp_path, capsys):
    with Gradebook(tmp_path / gradebook.NAME, create=True) as book:
        fill(book, result(says="why"), result("04.2"))
        book.record("eve\x1b[2J\nx", "04", [result(student="eve\x1b[2J\nx")], {})
    for words in (["show"], ["show", "ada"], ["show", "--item", "04.1"], ["history"], ["export"],
                  ["override", "ada", "04.1", "4", "--reason", "=good", "--author", "me"], ["show", "ada"],
                  ["withdraw", "ada", "04.1", "--reason", "no"], []):  # fmt: skip
        assert by_hand.main([str(tmp_path), *words]) == 0
    said = capsys.readouterr().out
    assert "by me: =good (the grader gave 2)" in said
    assert "\x1b" not in said
    assert by_hand.main([str(tmp_path), "show", "nobody"]) == 2
    assert "What to do" in capsys.readouterr().err
    assert by_hand.main([str(tmp_path / "elsewhere")]) == 2


def shown(tmp_path, capsys, *words):
    assert by_hand.main([str(tmp_path), "show", *words]) == 0
    return [line.split()[:3] for line in capsys.readouterr().out.splitlines()[1:]]


def test_questions_to_the_gradebook(tmp_path, capsys):
    with Gradebook(tmp_path / gradebook.NAME, create=True) as book:
        book.set("due", {"04_nodes": "2026-11-20T00:00:00+00:00"})
        when = datetime(2026, 11, 21, 12, tzinfo=UTC)
        sums = result("04.1", misconception="Adds up once too often.")
        book.record("ada", "04_nodes", [sums, result("04.2", 4.0, "passed")], {}, handed_in=when)
        book.record("bob", "04_nodes", [result("04.1", student="bob", says="Adds nothing.")], {})
        book.record("bob", "05_leaves", [result("05.1", 0.0, "timeout", student="bob")], {})
        book.override("ada", "04.2", 3.0, "copied", "me")
    assert shown(tmp_path, capsys, "--notebook", "05") == [["bob", "05_leaves", "0"]]
    assert shown(tmp_path, capsys, "--state", "timeout") == [["bob", "05.1", "0"]]
    assert shown(tmp_path, capsys, "--state", "late") == [["ada", "04_nodes", "5"]]
    assert shown(tmp_path, capsys, "--state", "overridden") == [["ada", "04.2", "3"]]
    assert shown(tmp_path, capsys, "--mistake", "adds up") == [["ada", "04.1", "2"]]
    assert shown(tmp_path, capsys, "bob", "--state", "wrong") == [["bob", "04.1", "2"]]
    assert by_hand.main([str(tmp_path), "show", "--state", "died"]) == 0
    assert capsys.readouterr().out == "Nothing in the gradebook is like that.\n"
    assert by_hand.main([str(tmp_path), "show", "--state", "lost"]) == 2
    assert "choose one of: passed, wrong" in capsys.readouterr().err
