"""Lateness, extensions, several submissions, and changes from files: what the policy says is what counts, and every bad row is named."""

import json
import os
import time
from datetime import UTC, datetime, timedelta

import classroom as c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograd_lab.grade import by_hand, gradebook, run, tables
from autograd_lab.grade.gradebook import Gradebook
from autograd_lab.grade.model import CannotGradeError, Result
from autograd_lab.grade.people import Person, Roster
from autograd_lab.grade.policy import DAY, Extension, Policy, read_extensions

DUE = datetime(2026, 11, 20, 23, tzinfo=UTC)
BOOKS = ["04_nodes", "05_leaves"]
CLASS = Roster(
    [Person("ada", {"email": "ada@x.edu"}), Person("bob", {"name": "Bob B"}), Person("bo", {"name": "Bob B"})]
)


def result(item, score, points=4.0, student="ada"):
    return Result(student, "04_nodes", item, score, points, "passed" if score == points else "wrong")


@pytest.fixture
def book(tmp_path):
    with Gradebook(tmp_path / gradebook.NAME, create=True) as opened:
        yield opened


def hand_in(book, digest, score, at=DUE, student="ada"):
    results = [result("04.1", score, student=student), result("04.2", 4.0, student=student)]
    book.record(
        student,
        "04_nodes",
        results,
        {"04.1": digest, "04.2": digest},
        digest=digest,
        file=f"{student}/{digest}",
        handed_in=at,
    )


def total(book, student="ada"):
    return next(e.total for e in book.entries() if e.student == student)


# --- lateness -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "seconds", "days", "share", "closed"),
    [
        ({"rate": 0.1}, 0, 0, 0.0, False),
        ({"rate": 0.1}, 1, 1, 0.1, False),
        ({"rate": 0.1}, DAY, 1, 0.1, False),
        ({"rate": 0.1}, DAY + 1, 2, 0.2, False),
        ({"rate": 0.1, "grace": 900.0}, 900, 0, 0.0, False),
        ({"rate": 0.1, "grace": 900.0}, 901, 1, 0.1, False),  # grace is no second due date
        ({"rate": 0.4}, 5 * DAY, 5, 1.0, False),
        ({"rate": 0.4, "cap": 0.5}, 5 * DAY, 5, 0.5, False),
        ({"rate": 0.1, "closes": 2.0 * DAY}, 2 * DAY, 2, 0.2, False),
        ({"rate": 0.1, "closes": 2.0 * DAY, "cap": 0.5}, 2 * DAY + 1, 3, 1.0, True),
        ({"closes": 0.0, "grace": 60.0}, 61, 1, 1.0, True),
        ({"rate": 0.1, "closes": 1.0 * DAY, "grace": 3600.0}, DAY + 3600, 2, 0.2, False),
        ({}, -DAY, 0, 0.0, False),
    ],
)
def test_what_lateness_costs(policy, seconds, days, share, closed):
    assert Policy(**policy).lateness(DUE, DUE + timedelta(seconds=seconds)) == (
        days,
        pytest.approx(share),
        closed,
    )
    assert Policy(**policy).lateness(None, DUE) == Policy(**policy).lateness(DUE, None) == (0, 0.0, False)


@given(
    seconds=st.tuples(st.integers(-DAY, 30 * DAY), st.integers(-DAY, 30 * DAY)),
    rate=st.floats(0, 1), cap=st.floats(0, 1), grace=st.integers(0, DAY), closes=st.none() | st.integers(0, 20 * DAY),
)  # fmt: skip
def test_who_is_later_never_pays_less(seconds, rate, cap, grace, closes):
    policy = Policy(rate=rate, cap=cap, grace=grace, closes=closes)
    (_, less, _), (_, more, _) = (policy.lateness(DUE, DUE + timedelta(seconds=s)) for s in sorted(seconds))
    assert 0 <= less <= more <= 1


@pytest.fixture(
    params=["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"]
)
def zone(request, monkeypatch):
    """The clock on the wall of a place: in most the hours of a day are not always 24."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_days_go_by_the_clock_on_the_wall(zone):
    """For each day of a year: work handed in at the minute of the due date, n days later, is n days late, and an extension ends there."""
    noon = datetime(2026, 1, 1, 12)
    for day in range(365):
        due = (noon + timedelta(days=day)).astimezone(UTC)
        for n in (1, 2, 7):
            there = (noon + timedelta(days=day + n)).astimezone(UTC)
            policy = Policy(
                due={"": due}, rate=0.1, closes=n * DAY, extensions={"ada": {"": Extension(days=n)}}
            )
            assert policy.due_of("ada", "04_nodes") == there
            assert policy.lateness(due, there) == (n, pytest.approx(0.1 * n), False)
            after = there + timedelta(seconds=1)
            assert policy.lateness(due, after) == (n + 1, 1.0, True)
            assert Policy(rate=0.1, grace=n * DAY).lateness(due, there)[0] == 0
            assert Policy(rate=0.1, grace=n * DAY).lateness(due, after)[0] == n + 1


def test_what_late_work_earns_at_most(book):
    book.set_policy({"due": {"": DUE.isoformat()}, "late ceiling": 0.6}, "me")
    hand_in(book, "d", 2.0, DUE + timedelta(hours=1))
    assert total(book) == 2.0 + 0.6 * 4
    book.set_policy({"late penalty": 0.5}, "me")
    assert total(book) == 1.0 + 2.0


def test_an_extension_is_the_students_own_due_date(book):
    own = {"ada": {"": ["", 2, "ill"]}, "bob": {"04_nodes": [(DUE + timedelta(days=5)).isoformat(), 0, ""]}}
    book.set_policy({"due": {"": DUE.isoformat()}, "late penalty": 0.1, "extensions": own}, "me")
    for student, days in (("ada", 3), ("bob", 3), ("cleo", 3)):
        hand_in(book, student, 4.0, DUE + timedelta(days=days), student)
    by = {e.student: e for e in book.entries()}
    assert [(by[s].days_late, by[s].total) for s in ("ada", "bob", "cleo")] == [(1, 7.2), (0, 8.0), (3, 5.6)]
    assert "extended until" in by["ada"].extension
    assert by["cleo"].extension == ""
    assert [(h["student"], h["after"], h["reason"]) for h in book.history() if h["event"] == "extension"] == [
        ("ada", "2 days", "ill"),
        ("bob", own["bob"]["04_nodes"][0], ""),
    ]


# --- several submissions ------------------------------------------------------------------------------


def test_the_latest_counts_unless_the_best_does(book):
    hand_in(book, "first", 3.0)
    hand_in(book, "second", 1.0)
    assert total(book) == 5.0
    (entry,) = book.entries()
    assert [(a.file, a.total) for a in entry.others] == [("ada/first", 7.0)]
    book.set_policy({"counts": "best"}, "me")
    assert total(book) == 7.0
    hand_in(book, "third", 2.0)
    hand_in(book, "fourth", 4.0)
    assert total(book) == 8.0
    assert len(book.entries()[0].others) == 3
    assert book.entries()[0].file == "ada/fourth"


def test_the_best_is_that_after_lateness(book):
    book.set_policy({"due": {"": DUE.isoformat()}, "late penalty": 0.5, "counts": "best"}, "me")
    hand_in(book, "in time", 2.0)
    hand_in(book, "late", 4.0, DUE + timedelta(hours=1))
    assert (total(book), book.entries()[0].file) == (6.0, "ada/in time")
    book.set_policy({"extensions": {"ada": {"": ["", 1, ""]}}}, "me")
    assert (total(book), book.entries()[0].file) == (8.0, "ada/late")
    book.set_policy({"extensions": {}}, "me")
    assert (total(book), book.entries()[0].file) == (6.0, "ada/in time")


def test_a_new_key_may_make_another_submission_the_best(book):
    book.set_policy({"counts": "best"}, "me")
    hand_in(book, "a", 3.0)
    hand_in(book, "b", 2.0)
    hand_in(book, "a", 1.0)  # scored again
    assert (total(book), book.entries()[0].file) == (6.0, "ada/b")
    assert {key[2] for key in book.known_attempts()} == {"a"}


def test_what_can_be_read_beats_what_cannot(book):
    book.set_policy({"counts": "best"}, "me")
    hand_in(book, "read", 0.0)
    book._db.execute("UPDATE results SET score = 0")
    nothing = [Result("ada", "04_nodes", item, 0.0, 4.0, "unreadable") for item in ("04.1", "04.2")]
    book.record(
        "ada", "04_nodes", nothing, {}, status="unreadable", digest="x", handed_in=DUE + timedelta(days=1)
    )
    assert [(e.file, e.status) for e in book.entries()] == [("ada/read", "graded")]
    book.record("ada", "04_nodes", nothing, {}, status="missing")
    assert [(e.file, e.status) for e in book.entries()] == [("ada/read", "graded")]
    assert {key[2] for key in book.known_attempts()} == {"x"}


def test_what_is_taken_back_is_not_read_again(book):
    hand_in(book, "d", 1.0)

    def dry_run():
        with book.together():
            book.comment("ada", "04", "hello", "me")
            assert book.entries()[0].comments
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        dry_run()
    assert not book.entries()[0].comments


def test_overrides_and_comments_stay_whichever_counts(book):
    book.set_policy({"counts": "best"}, "me")
    hand_in(book, "a", 1.0)
    book.override("ada", "04.1", 0.5, "talked", "me")
    book.comment("ada", "04.2", "Well done.", "me")
    hand_in(book, "b", 4.0)
    (entry,) = book.entries()
    assert (entry.file, entry.total, entry.comments["04.2"].text) == ("ada/b", 4.5, "Well done.")


def test_a_forgotten_notebook_leaves_no_attempts(book):
    hand_in(book, "a", 1.0)
    hand_in(book, "b", 4.0)
    book.forget("04", "by mistake", "me")
    assert book.known_attempts() == {}


ANSWERS = {
    n: c.solved(a1="answer = [12, 4, 12, 160]", **({"a3": "answer = 'x'"} if n > 1 else {})) for n in (1, 2)
}


@pytest.fixture
def grading(tmp_path, monkeypatch):
    """Run the command in this process; returns the students and digests that ran."""
    ran = []

    def engine(of, *_):
        ran.append(c.HereRunner(items=of.items))
        return ran[-1]

    c.stand_in(monkeypatch, engine)

    def grade(*words):
        ran.clear()
        assert (
            run.main(
                [str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--no-feedback", "--quiet", *words]
            )
            == 0
        )
        with Gradebook(tmp_path / "out" / gradebook.NAME) as book:
            entries = {e.student: e for e in book.entries()}
        return entries, sum(len(one.ran) for one in ran)

    return grade


def put(tmp_path, name, data, when):
    path = c.hand_in(tmp_path / "in", "ada", data, name)
    os.utime(path, (when, when))
    return path


def test_every_file_is_graded_where_the_best_counts_and_only_once(tmp_path, grading):
    put(tmp_path, c.BOOK + ".ipynb", c.document(), 1_000)
    put(tmp_path, c.BOOK + " (1).ipynb", c.solved(a1="answer = [12, 4, 12, 160]"), 2_000)
    entries, ran = grading()
    assert (entries["ada"].total, ran) == (4.0, 1)
    entries, ran = grading("--count", "best")
    assert (entries["ada"].total, entries["ada"].file, ran) == (15.0, f"ada/{c.BOOK}.ipynb", 1)
    assert [one.total for one in entries["ada"].others] == [4.0]
    entries, ran = grading()
    assert (entries["ada"].total, ran) == (15.0, 0)


def test_the_time_that_is_given_is_that_of_the_newest(tmp_path, grading):
    put(tmp_path, c.BOOK + ".ipynb", c.document(), 1_000)
    put(tmp_path, c.BOOK + " (1).ipynb", c.solved(a1="answer = [12, 4, 12, 160]"), 2_000)
    (tmp_path / "t.csv").write_text("student,timestamp\nada,2026-11-25 12:00\n")
    entries, _ = grading(
        "--count",
        "best",
        "--timestamps",
        str(tmp_path / "t.csv"),
        "--due",
        "2026-11-20",
        "--late-penalty",
        "50",
    )
    assert (entries["ada"].total, entries["ada"].days_late) == (15.0, 0)
    assert [one.handed_in.year for one in entries["ada"].others] == [2026]
    (said,) = [one.says for one in entries["ada"].others]
    assert ", handed in 2026-" in said, "a file that was replaced has the name of the one that counts"


def test_a_better_submission_counts_though_its_file_is_gone(tmp_path, grading, monkeypatch):
    """Each week's download holds the newest files only; a new key scores the earlier ones again from what is stored."""
    path = put(tmp_path, c.BOOK + ".ipynb", c.document(), 1_000)
    grading("--count", "best")
    path.unlink()
    put(tmp_path, c.BOOK + ".ipynb", c.solved(a1="answer = [12, 4, 12, 160]"), 2_000)
    entries, ran = grading()
    assert (entries["ada"].total, ran) == (15.0, 1)
    course = c.course()
    items = {
        n: [__import__("dataclasses").replace(i, points=i.points / 2) if i.id == "04.1" else i for i in each]
        for n, each in course.items.items()
    }
    monkeypatch.setattr(run, "load_course", lambda *_: run.Course(course.released, items))
    entries, ran = grading()
    assert (entries["ada"].total, ran) == (13.0, 0)
    assert grading()[1] == 0


def test_the_number_of_files_that_are_graded_is_bounded(tmp_path, grading, monkeypatch):
    monkeypatch.setattr("autograd_lab.grade.submissions.MOST_ATTEMPTS", 3)
    for number in range(6):
        put(tmp_path, f"{c.BOOK} ({number + 1}).ipynb", c.solved(a1=f"answer = [{number}]"), 1_000 + number)
    entries, ran = grading("--count", "best")
    assert ran == 3
    assert "the 3 oldest were not graded" in " ".join(
        [*entries["ada"].notes, *(a.file for a in entries["ada"].others)]
    )


def test_back_to_the_latest(tmp_path, grading):
    put(tmp_path, c.BOOK + ".ipynb", c.document(), 1_000)
    put(tmp_path, c.BOOK + "-1.ipynb", c.solved(a1="answer = [12, 4, 12, 160]"), 2_000)
    assert grading("--count", "best")[0]["ada"].total == 15.0
    assert grading("--count", "latest")[0]["ada"].total == 4.0


def test_an_unreadable_later_file_does_not_spoil_the_best(tmp_path, grading):
    put(tmp_path, c.BOOK + ".ipynb", c.document(), 1_000)
    put(tmp_path, c.BOOK + " (1).ipynb", b"{", 2_000)
    for _ in range(2):
        entries, _ = grading("--count", "best")
        assert (entries["ada"].total, entries["ada"].status) == (15.0, "graded")


# --- files of changes ---------------------------------------------------------------------------------

EXTENSIONS = """\
student,notebook,until,days,reason
ada,04,2026-11-27 18:00,,ill
ada@x.edu,05,,2.5,
zed,,2026-11-27,,
bob b,,2026-11-27,,
,04,2026-11-27,,
bob,17,2026-11-27,,
bob,04,tomorrow,,
bob,04,,many,
bob,04,,-1,
bob,04,,,
bob,04,2026-11-27,3,
bob,04,2026-11-01,,
ada,4,2026-11-27,,
ada,04_nodes,2026-11-28,,
bob,,,1,a,cell,too,many
"""


def test_every_bad_row_of_the_extensions_is_named(tmp_path):
    (tmp_path / "e.csv").write_text(EXTENSIONS)
    made, bad = read_extensions(tmp_path / "e.csv", BOOKS, CLASS, {"": DUE})
    assert made == {
        "ada": {
            "04_nodes": Extension(datetime(2026, 11, 27, 18).astimezone(UTC), 0.0, "ill"),
            "05_leaves": Extension(None, 2.5, ""),
        }
    }
    assert [line.split(":")[0] for line in bad] == [f"row {n}" for n in range(4, 17)]
    for number, why in {4: "no student 'zed'", 5: "bob or bo", 6: "names no student", 7: "no notebook '17'", 8: "'tomorrow' is no time",
                        9: "'many' is no number", 11: "neither a date", 12: "both a date", 13: "before the due date",
                        15: "Row 2 is about ada", 16: "more cells"}.items():  # fmt: skip
        assert why in bad[number - 4], (number, bad)


def test_days_need_a_due_date(tmp_path):
    (tmp_path / "e.csv").write_text("student,days\nada,2\n")
    assert "no due date" in read_extensions(tmp_path / "e.csv", BOOKS, CLASS, {})[1][0]


OVERRIDES = """\
student,item,points,reason,comment,author
ada,04.1,"1,5",explained it,Good.,tim
bob b,04.2,,,See me.,
ada,04,,,Nice notebook.,
ada,04.9,1,r,,
ada,04.2,9,r,,
ada,04.2,nan,r,,
ada,04.2,x,r,,
ada,04.2,1,,,
ada,04.2,-,r,,
ada,,1,r,,
ada,04.2,,r,,
zed,04.2,1,r,,
ada,04.1,2,again,,
ada,04,1,a notebook has no points,,
"""


def test_every_bad_row_of_the_overrides_is_named_and_nothing_is_changed(book, tmp_path, capsys):
    for student in ("ada", "bob"):
        hand_in(book, "d", 1.0, student=student)
    book.set("people", {"bob": {"name": "Bob B"}})
    (tmp_path / "o.csv").write_text(OVERRIDES)
    before = book.history()
    assert by_hand.main([str(tmp_path), "overrides", str(tmp_path / "o.csv")]) == 2
    said = capsys.readouterr().err
    assert "11 rows" in said
    for number, why in {5: "no result of ada for the item 04.9", 6: "9 points cannot be given", 7: "'nan' is not a number", 8: "'x' is not a number",
                        9: "has no reason", 10: "nothing to withdraw", 11: "names no item", 12: "neither points nor a comment",
                        13: "no student 'zed'", 14: "Row 2 is about ada, 04.1", 15: "no result of ada for the item 04"}.items():  # fmt: skip
        assert any(line.startswith(f"o.csv, row {number}: ") and why in line for line in said.splitlines()), (
            number
        )
    assert book.history() == before

    assert (
        by_hand.main([str(tmp_path), "overrides", str(tmp_path / "o.csv"), "--good-rows", "--dry-run"]) == 0
    )
    said = capsys.readouterr().out
    assert "ada, 04.1: 1 -> 1.5 (explained it)" in said
    assert "Nothing was changed: 4 changes would be made" in said
    assert book.history() == before

    assert by_hand.main([str(tmp_path), "overrides", str(tmp_path / "o.csv"), "--good-rows"]) == 0
    by = {e.student: e for e in book.entries()}
    assert (by["ada"].total, by["bob"].total) == (5.5, 5.0)
    assert by["ada"].overrides["04.1"].author == "tim"
    assert {item: one.text for item, one in by["ada"].comments.items()} == {
        "04.1": "Good.",
        "": "Nice notebook.",
    }
    assert by["bob"].comments["04.2"].text == "See me."
    capsys.readouterr()
    assert by_hand.main([str(tmp_path), "overrides", str(tmp_path / "o.csv"), "--good-rows"]) == 0
    assert "0 changes were made; 4 were made already" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "says"),
    [("student,points\nada,1\n", "the column `item`"), ("item,points\n04.1,1\n", "the column `student`"), ("", "the column `student`"),
     ("PK\x03\x04", "save it as CSV"), ("student,item\nada,04.1\n", "the column `points`")],
)  # fmt: skip
def test_files_that_are_no_list_of_overrides(book, tmp_path, capsys, text, says):
    (tmp_path / "o.csv").write_text(text)
    assert by_hand.main([str(tmp_path), "overrides", str(tmp_path / "o.csv")]) == 2
    assert says in capsys.readouterr().err


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ada", "bob", "x", ""]),
            st.sampled_from(["04.1", "04.2", "04", "?"]),
            st.text(max_size=4) | st.floats().map(str),
            st.text(max_size=5),
            st.text(max_size=5),
        ),
        max_size=6,
    )
)
def test_a_row_is_made_or_named(tmp_path_factory, rows):
    """Whatever is in a file: each row is a change, is so already, or is named with its number; and points stay within the item's."""
    place = tmp_path_factory.mktemp("any")
    clean = [
        tuple(
            cell.encode("utf-8", "replace").decode().replace("\r", " ").replace("\n", " ").replace("\0", " ")
            for cell in row
        )
        for row in rows
    ]
    text = tables.table(("student", "item", "points", "reason", "comment"), clean)
    (place / "o.csv").write_text(text, encoding="utf-8")
    with Gradebook(place / gradebook.NAME, create=True) as book:
        for student in ("ada", "bob"):
            hand_in(book, "d", 1.0, student=student)
        made, same, bad = by_hand.read_overrides(
            place / "o.csv", book, Roster([Person("ada"), Person("bob")])
        )
        full = [n for n, row in enumerate(clean, 2) if any(cell.strip() for cell in row)]
        named = {int(line.split(":")[0].removeprefix("row ")) for line in bad}
        assert same == 0
        assert named <= set(full)
        assert len(full) - len(named) <= len(made) <= 2 * (len(full) - len(named))
        book.change_all(made, "me")
        assert all(0 <= e.points(r) <= r.points for e in book.entries() for r in e.results)


# --- the commands -------------------------------------------------------------------------------------


def test_the_policy_is_shown_tried_and_changed(book, tmp_path, capsys):
    hand_in(book, "d", 4.0, DUE + timedelta(days=9))
    words = [str(tmp_path), "policy"]
    (tmp_path / "e.csv").write_text("student,notebook,days,reason\nada,04,7,ill\n")
    change = [
        "--due",
        "2026-11-20 23:00",
        "--late-penalty",
        "10",
        "--grace",
        "1h 30m",
        "--late-cap",
        "50",
        "--closes",
        "2w",
        "--count",
        "best",
    ]
    assert by_hand.main([*words, *change, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "ada, 04_nodes: 8 -> 4 points" in said
    assert "Nothing was changed" in said
    assert total(book) == 8.0
    assert by_hand.main([*words, *change, "--extensions", str(tmp_path / "e.csv")]) == 0
    said = capsys.readouterr().out
    for line in (
        "costs 10 % a day begun, at most 50 %",
        "90 minutes",
        "14 days after the due date",
        "the best of several",
        "ada, 04_nodes: 7 days more (ill)",
        "8 -> 6.4 points",
    ):
        assert line in said, line
    assert total(book) == 6.4
    assert by_hand.main(words) == 0
    assert "ill" in capsys.readouterr().out
    assert by_hand.main([*words, "--grace", "0", "--closes", "never", "--late-cap", "100"]) == 0
    assert Policy.of(book.setting).cap == 1.0
    assert Policy.of(book.setting).closes is None


def test_a_due_date_for_all_takes_the_place_of_the_earlier_ones(book, tmp_path):
    hand_in(book, "d", 4.0)
    words = [str(tmp_path), "policy", "--due"]
    for due, names in (
        ("04_nodes=2026-11-20", {"04_nodes"}),
        ("05,06=2026-11-27", {"04_nodes", "05_who_keeps_a_gradient", "06_what_the_graph_remembers"}),
        ("2026-12-01", {""}),
    ):
        assert by_hand.main([*words, due]) == 0
        assert set(Policy.of(book.setting).due) == names


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--grace", "15"], "--grace 15 is not a length of time"),
        (["--closes", "soon"], "or never"),
        (["--late-cap", "101"], "--late-cap 101 is not a percentage"),
        (["--late-penalty", "-1"], "--late-penalty -1 is not a percentage"),
        (["--due", "17=2026-11-20"], "There is no notebook '17'"),
        (["--due", "someday"], "--due someday is not a time"),
        (["--extensions", "nowhere.csv"], "cannot be read"),
    ],
)
def test_a_policy_that_makes_no_sense(book, tmp_path, capsys, words, says):
    hand_in(book, "d", 4.0)
    before = Policy.of(book.setting)
    assert by_hand.main([str(tmp_path), "policy", "--late-penalty=5", *words]) == 2
    assert says in capsys.readouterr().err
    assert Policy.of(book.setting) == before


def test_comments_change_no_points(book, tmp_path, capsys):
    hand_in(book, "d", 1.0)
    assert by_hand.main([str(tmp_path), "comment", "ada", "04.1", "Look at the =sign"]) == 0
    assert by_hand.main([str(tmp_path), "comment", "ada", "04", "Nice."]) == 0
    assert total(book) == 5.0
    assert by_hand.main([str(tmp_path), "show", "ada"]) == 0
    said = capsys.readouterr().out
    assert "comment on 04.1: Look at the =sign" in said
    (student,) = json.loads((tmp_path / "grades.json").read_text())["students"]
    assert student["notebooks"][0]["items"][0]["comment"]["text"] == "Look at the =sign"
    assert by_hand.main([str(tmp_path), "comment", "ada", "04.1", ""]) == 0
    assert set(book.entries()[0].comments) == {""}
    with pytest.raises(CannotGradeError, match="no student 'zed'"):
        book.comment("zed", "04.1", "x", "me")


@pytest.mark.parametrize("name", ["ada", "7", "a@x.edu", "Lovelace, Ada", "ADA"])
def test_students_may_be_called_by_any_name_that_the_roster_knows(book, tmp_path, name):
    hand_in(book, "d", 1.0)
    book.set("people", {"ada": {"name": "Ada Lovelace", "canvas": "7", "email": "a@x.edu"}})
    assert by_hand.main([str(tmp_path), "override", name, "04.1", "3", "--reason", "r"]) == 0
    assert total(book) == 7.0
    assert by_hand.main([str(tmp_path), "override", "8", "04.1", "3", "--reason", "r"]) == 2


def test_a_dry_run_grades_nothing(tmp_path, capsys):
    put(tmp_path, c.BOOK + ".ipynb", c.document(), 1_000_000)
    assert run.main([str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert f"ada/{c.BOOK}.ipynb" in said
    assert not (tmp_path / "out" / gradebook.NAME).exists()


def test_a_gradebook_of_before_has_none_of_it_and_opens(tmp_path):
    with Gradebook(tmp_path / gradebook.NAME, create=True) as book:
        hand_in(book, "d", 1.0)
        book._db.execute("DROP TABLE comments")
        book._db.execute("DROP TABLE attempts")
    with Gradebook(tmp_path / gradebook.NAME) as book:
        assert total(book) == 5.0
        book.comment("ada", "04", "hello", "me")
