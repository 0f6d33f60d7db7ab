"""Canvas's and Moodle's downloads, and rosters: everybody's work reaches the right student, whatever they are called, and nothing is lost."""

import csv
import os
import re
import time
import unicodedata
import warnings
import zipfile
from pathlib import Path

import classroom as c
import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from autograd_lab.grade import beside, collect, merge, people, run, tables
from autograd_lab.grade import submissions as s
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import CannotGradeError

NB = c.BOOK + ".ipynb"
NAMES = (
    ("Jane", "Doe"),
    ("Jane", "Doe"),  # there are two
    ("Zoë", "Müller-Lüdenscheidt"),
    ("Sinéad", "O'Brien"),
    ("Anna Maria", "von der Heide, Dr."),
    ("נועה", "כהן"),
    ("محمد", "العلي"),
    ("小明", "王"),
    ("Łukasz", "Ž."),
    ("Prince", ""),
    ("J_2_", "Under_score_7_"),
    ("Ada (1)", "Copy-1"),
    ("con", ""),
    ("../../etc", "passwd"),
    ("=HYPERLINK(1)", "+cmd"),
    ("X" * 120, "字" * 120),
    ("Zoe\u0308", "Decomposed"),
    ("-", "..."),
)


def canvas_name(first, last, user, file, name, late=False):
    """As Canvas's content_zipper.rb makes it."""
    sortable = f"{last}, {first}" if last else first
    sortable = re.sub(r"_(\d+)_", r"\1", sortable).lower()
    parts = [sortable, "LATE" if late else None, str(user)]
    whole = "".join(
        x for x in "_".join(filter(None, parts)) if re.match(r"\w", x) or unicodedata.combining(x)
    )
    return f"{whole}_{file}_" + re.sub(r'[\x00/\\:*?"<>|]+', "_", name)


def moodle_name(first, last, user, name=""):
    """As Moodle's locallib.php makes it."""
    whole = re.sub(r"""[\x00-\x1f&<>"`|':\\/]|\.\.+""", "", f"{first} {last}".strip().replace("_", " "))
    return f"{whole}_{user}_assignsubmission_file_" + (f"/{name}" if name else "")


def pack(place: Path, files: dict[str, bytes], form: str) -> Path:
    """A download as a zip archive, as a folder, or as that archive in a folder."""
    if form == "folder":
        for name, data in files.items():
            path = place / "Course-04" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        return place
    place.mkdir(exist_ok=True, parents=True)
    with zipfile.ZipFile(place / "submissions.zip", "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return place if form == "downloads" else place / "submissions.zip"


def roster_of(names, path, system=""):
    """A class list; `system` adds the column with its numbers."""
    rows = [("student", "name", "email", *([f"{system}_id"] if system else []))]
    for number, (first, last) in enumerate(names):
        more = [f"{1000 + number}"] if system else []
        rows.append(
            (
                f"s{number:02d}",
                f"{last}, {first}" if number % 2 else f"{first} {last}",
                f"s{number}@x.edu",
                *more,
            )
        )
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return people.read_roster(path)


def handed_in(top, out, roster=None, **more):
    """({student: the bytes graded}, what was found)."""
    out.mkdir(exist_ok=True)
    with collect.collected(top, out, roster) as download:
        found = s.find(
            download.folder,
            merge.shelf(c.course().released.values()),
            roster=roster,
            wanted=[c.BOOK],
            download=download,
            **more,
        )
        loaded = {x.student: s.load(x.file) for x in found.submissions if x.file}
    assert not (out / collect.PLACE).exists()
    return loaded, found


@pytest.mark.parametrize("form", ["zip", "folder", "downloads"])
@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_everybodys_work_reaches_them(tmp_path, system, form):
    """By the roster's numbers; only names that a file system takes are tried unpacked."""
    names = [n for n in NAMES if form != "folder" or len("".join(n).encode()) < 60]
    files = {}
    for i, (first, last) in enumerate(names):
        inside = f"exercise_{NB[:-6]}-2.ipynb"
        name = (
            canvas_name(first, last, 1000 + i, 70 + i, inside, i % 3 == 0)
            if system == "canvas"
            else moodle_name(first, last, 1000 + i, inside)
        )
        files[name] = f"work of {i}".encode()
    roster = roster_of(names, tmp_path / "class.csv", system)
    top = pack(tmp_path / "in", files, form)
    before = sorted((tmp_path / "in").rglob("*"))
    loaded, found = handed_in(top, tmp_path / "out", roster)
    assert loaded == {f"s{i:02d}": f"work of {i}".encode() for i in range(len(names))}
    assert found.warnings == []
    assert before == sorted((tmp_path / "in").rglob("*"))
    for one in found.submissions:  # the number is needed to give it back
        assert collect.origin(one.file.name.removeprefix("submissions.zip/"))["user"] == str(
            1000 + int(one.student[1:])
        )


@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_without_numbers_in_the_roster_names_do_and_in_doubt_nobody_gets_anothers_work(tmp_path, system):
    names = [n for n in NAMES if "".join(n).strip(".- ") and n[0] != "Prince"]
    files = {
        canvas_name(*n, 1000 + i, 70 + i, NB)
        if system == "canvas"
        else moodle_name(*n, 1000 + i, NB): f"{i}".encode()
        for i, n in enumerate(names)
    }
    roster = roster_of(names, tmp_path / "class.csv")
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out", roster)
    twins = {i for i, n in enumerate(names) if names.count(n) > 1}
    assert len(twins) == 2
    for i in set(range(len(names))) - twins:
        if len("".join(names[i]).encode()) < 150:  # a longer one is cut
            assert loaded.get(f"s{i:02d}") == f"{i}".encode(), names[i]
    assert sorted(loaded.values()) == sorted(f"{i}".encode() for i in range(len(names)))
    assert not any(loaded.get(f"s{i:02d}") for i in twins)
    said = " ".join(found.warnings)
    assert "may be s00 or s01" in said
    assert f"{system}_id" in said
    assert "1000" in said


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example([("0", ""), ("0", "")], "canvas", False)
@example([("7", "")], "canvas", True)
@given(
    names=st.lists(st.tuples(st.text(min_size=1, max_size=12), st.text(max_size=12)), min_size=1, max_size=5),
    system=st.sampled_from(["canvas", "moodle"]),
    known=st.booleans(),
)
def test_any_names(tmp_path, names, system, known):
    """No work is lost, none is mixed with another's, and with numbers each is the right one's."""
    names = [tuple(part.encode("utf-8", "replace").decode() for part in n) for n in names]
    assume(
        not any(re.search(r"_[\W_]*\d", "".join(n[::-1])) for n in names)
    )  # Canvas takes that for a number itself
    place = tmp_path / os.urandom(6).hex()
    files = {
        canvas_name(*n, 1000 + i, 70 + i, NB)
        if system == "canvas"
        else moodle_name(*n, 1000 + i, NB): f"{i}".encode()
        for i, n in enumerate(names)
    }
    place.mkdir()
    roster = None
    if known:
        rows = [(f"s{i:02d}", 1000 + i) for i in range(len(names))]
        (place / "r.csv").write_text(tables.table(("student", f"{system}_id"), rows), encoding="utf-8")
        roster = people.read_roster(place / "r.csv")
    loaded, _ = handed_in(pack(place / "in", files, "zip"), place / "out", roster)
    assert sorted(loaded.values()) == sorted(files.values())
    if known:
        assert loaded == {f"s{i:02d}": f"{i}".encode() for i in range(len(names))}


def test_a_student_cannot_hand_in_for_another(tmp_path):
    """Neither by the name of a file nor by a folder in an archive."""
    roster = roster_of([("Jane", "Doe"), ("Eve", "Evil")], tmp_path / "class.csv", "canvas")
    trick = {
        canvas_name("Eve", "Evil", 1001, 5, canvas_name("Jane", "Doe", 1000, 6, NB)): b"eve",
        canvas_name("Eve_1000_9_", "Evil", 1001, 7, "x.ipynb"): b"eve too",
        canvas_name("Jane", "Doe", 1000, 8, NB): b"jane",
    }
    loaded, _ = handed_in(pack(tmp_path / "in", trick, "zip"), tmp_path / "out", roster)
    assert loaded.pop("s00") == b"jane"
    assert set(loaded) <= {"s01"}
    moodle = {
        "Eve Evil_1001_assignsubmission_file_Jane Doe_1000_assignsubmission_file_/" + NB: b"eve",
        "Eve Evil_1001_assignsubmission_file_/Jane Doe_1000_assignsubmission_file_/" + NB: b"eve",
    }
    loaded, _ = handed_in(
        pack(tmp_path / "m", moodle, "zip"),
        tmp_path / "out",
        roster_of([("Jane", "Doe"), ("Eve", "Evil")], tmp_path / "m.csv", "moodle"),
    )
    assert loaded == {"s01": b"eve"}
    plain = tmp_path / "plain"
    pack(plain / "x", trick, "zip").rename(plain / "eve.zip")
    c.hand_in(plain, "jane", b"jane")
    loaded, _ = handed_in(plain, tmp_path / "out")
    assert loaded["jane"] == b"jane"
    assert set(loaded) <= {"jane", "eve", "x"}


def test_a_students_archive_is_no_download_among_students_archives(tmp_path):
    pack(tmp_path / "x", {canvas_name("Jane", "Doe", 1000, 8, NB): b"not jane's"}, "zip").rename(
        tmp_path / "eve.zip"
    )
    with zipfile.ZipFile(tmp_path / "jane.zip", "w") as archive:
        archive.writestr(NB, b"jane")
    (tmp_path / "x").rmdir()
    roster = roster_of([("Jane", "Doe")], tmp_path.parent / f"{tmp_path.name}.csv")
    loaded, _ = handed_in(tmp_path, tmp_path.parent / f"{tmp_path.name}-out", roster)
    assert "not jane's" not in str(loaded.get("s00"))


@pytest.mark.parametrize("system", ["canvas", "moodle"])
def test_two_who_are_called_like_one_on_the_roster_keep_their_numbers(tmp_path, system):
    roster = roster_of([("Jane", "Doe")], tmp_path / "class.csv")
    make = canvas_name if system == "canvas" else lambda f, n, user, _, file: moodle_name(f, n, user, file)
    files = {make("Jane", "Doe", user, user, NB): f"{user}".encode() for user in (11, 12)}
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out", roster)
    assert sorted(loaded.values()) == [b"11", b"12"]
    assert "s00" not in loaded
    assert any("11" in line and "12" in line and "s00" in line for line in found.warnings)


def test_moodles_group_in_front_of_a_name(tmp_path):
    roster = roster_of([("Jane", "Doe-Smith")], tmp_path / "class.csv")
    files = {moodle_name("Group 1-A-Jane", "Doe-Smith", 5, NB): b"jane"}
    assert handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out", roster)[0] == {"s00": b"jane"}


def test_folders_of_students_differ_in_more_than_case(tmp_path):
    files = {moodle_name(name, "", 5 + i, NB): name.encode() for i, name in enumerate(("ada", "Ada", "ADA"))}
    top = pack(tmp_path / "in", files, "zip")
    with collect.collected(top, tmp_path) as download:
        assert len({name.casefold() for name in download.names}) == 3
        assert sorted(download.names.values()) == ["ADA", "Ada", "ada"]


def test_of_several_files_the_newest_is_graded_and_helpers_come_along(tmp_path):
    """In Canvas the number of a file grows; all have the time of the download."""
    files = {
        canvas_name("Jane", "Doe", 1, 50, NB): b"second",
        canvas_name("Jane", "Doe", 1, 49, NB.replace(".ipynb", "-2.ipynb")): b"first",
        canvas_name("Jane", "Doe", 1, 40, NB.replace(".ipynb", "-1.ipynb")): b"zeroth",
        canvas_name("Jane", "Doe", 1, 51, "mine.py"): b"x = 1",
        canvas_name("Bob", "B", 2, 52, "mine.py"): b"x = 2",
    }
    (tmp_path / "out").mkdir()
    top = pack(tmp_path / "in", files, "zip")
    with collect.collected(top, tmp_path / "out") as download:
        found = s.find(
            download.folder, merge.shelf(c.course().released.values()), wanted=[c.BOOK], download=download
        )
        by = {x.student: x for x in found.submissions}
        assert s.load(by["doejane_1"].file) == b"second"
        assert by["doejane_1"].handed_in is None
        assert beside.beside(by["doejane_1"].file)[0] == {"mine.py": b"x = 1"}
        assert "doejane_1_40_" in by["doejane_1"].notes[-1]
        assert by["bb_2" if "bb_2" in by else "bbob_2"].file is None


@pytest.mark.parametrize(
    "copy", ["{} (1)", "{}(1)", "{}-1", "{}-Copy1", "{} - Copy", "{} copy 2", "{}-Copy1 (2)"]
)
@pytest.mark.parametrize("newer", [True, False, None])
def test_a_newer_copy_beats_an_older_one(tmp_path, copy, newer):
    """And if both have the same time, the copy is the newer one."""
    old = c.hand_in(tmp_path, "ada", b"named as released")
    new = c.hand_in(tmp_path, "ada", b"a copy", copy.format(c.BOOK) + ".ipynb")
    for path, when in ((old, 1_000), (new, {True: 2_000, False: 500, None: 1_000}[newer])):
        os.utime(path, (when, when))
    (one,) = s.find(tmp_path, merge.shelf(c.course().released.values())).submissions
    assert s.load(one.file) == (b"named as released" if newer is False else b"a copy")
    assert "there is also" in one.notes[0]


def test_a_second_archive_of_a_student_is_no_second_student(tmp_path):
    for name, data, when in (("ada.zip", b"old", 1_000), ("ada (1).zip", b"new", 2_000)):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(NB, data)
        os.utime(tmp_path / name, (when, when))
    loaded, _ = handed_in(tmp_path, tmp_path.parent / (tmp_path.name + "-out"))
    assert loaded == {"ada": b"new"}


def test_what_is_no_download_is_taken_as_it_is(tmp_path):
    c.hand_in(tmp_path / "in", "ada", b"x")
    c.hand_in(tmp_path / "in", "bob/ps1", b"y")
    assert handed_in(tmp_path / "in", tmp_path / "out")[0] == {"ada": b"x", "bob": b"y"}
    with zipfile.ZipFile(tmp_path / "class.zip", "w") as archive:
        archive.writestr(f"class/ada/{NB}", b"x")
        archive.writestr(f"class/bob/ps1/{NB}", b"y")
        archive.writestr("__MACOSX/class/ada/._x.ipynb", b"")
    assert handed_in(tmp_path / "class.zip", tmp_path / "out")[0] == {"ada": b"x", "bob": b"y"}


def test_what_is_beside_the_files_of_a_download_is_not_lost(tmp_path):
    files = {moodle_name("Jane", "Doe", 1, NB): b"jane", f"Late Lucy/{NB}": b"lucy", "readme.txt": b""}
    files["Bob B_7_assignsubmission_onlinetext_/onlinetext.html"] = b"<p>"
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out")
    assert loaded == {"Jane Doe": b"jane", "Late Lucy": b"lucy"}
    said = " ".join(found.warnings)
    assert "Late Lucy has no name of Canvas's or Moodle's" in said
    assert "typed into Moodle" in said


@pytest.mark.parametrize("bad", [b"", b"PK\x03\x04 damaged", b"text"])
def test_a_file_that_is_no_archive(tmp_path, bad):
    (tmp_path / "x.zip").write_bytes(bad)
    (tmp_path / "out").mkdir()
    with (
        pytest.raises(CannotGradeError, match=r"cannot be unpacked.*\n.*Why:.*\n.*What to do:"),
        collect.collected(tmp_path / "x.zip", tmp_path / "out"),
    ):
        pass
    assert not (tmp_path / "out" / collect.PLACE).exists()


def test_an_archive_writes_nowhere_else_and_one_student_cannot_fill_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_OF_ONE", 3_000)
    files = {f"../../../evil_{i}_{i}_{NB}": b"out" for i in range(1, 3)} | {
        f"/abs/{NB}": b"out",
        "..": b"",
        "a/../../b.ipynb": b"o",
    }
    files |= {canvas_name("Eve", "Evil", 9, i, f"{i}.ipynb"): b"\0" * 2_000 for i in range(5)}
    files |= {canvas_name("Jane", "Doe", 1, 7, NB): b"jane"}
    loaded, found = handed_in(
        pack(tmp_path / "in" / "deep" / "deeper", files, "zip"), tmp_path / "in" / "deep" / "out"
    )
    assert loaded["doejane_1"] == b"jane"
    assert not list(tmp_path.glob("*.ipynb"))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in"]
    assert [line for line in found.warnings if "3 files of evileve_9 were not unpacked" in line]


def test_names_that_cannot_be_made_hinder_nobody_else(tmp_path):
    eve = moodle_name("Eve", "Evil", 9)
    files = {
        f"{eve}/x": b"",
        f"{eve}/x/y.ipynb": b"",
        f"{eve}/{'d/' * 3_000}z.ipynb": b"",
        f"{eve}/{'n' * 5_000}.ipynb": b"e",
    }
    files |= {moodle_name("Eve", "Evil", 9).replace("file_", "onlinetext_") + "/x/z.ipynb": b""}
    files |= {moodle_name("Jane", "Doe", 1, NB): b"jane", f"{eve}/{NB}": b"eve"}
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out")
    assert loaded == {"Jane Doe": b"jane", "Eve Evil": b"eve"}
    said = " ".join(found.warnings)
    assert "1 file of Eve Evil_9 was not unpacked" in said
    assert "x/y.ipynb was left out" in said


def test_a_flood_of_files_of_one_student_costs_little(tmp_path):
    """Of one name, or of names that become one."""
    with warnings.catch_warnings(), zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        warnings.simplefilter("ignore")  # zipfile warns of names that are there twice
        for i in range(400):
            archive.writestr(moodle_name("Eve", "Evil", 9, "x.ipynb"), b"")
            archive.writestr(moodle_name("Eve", "Evil", 9, "".join(":*?<>|"[int(d)] for d in f"{i:b}")), b"")
        archive.writestr(moodle_name("Jane", "Doe", 1, NB), b"jane")
    start = time.process_time()
    loaded, _ = handed_in(tmp_path / "x.zip", tmp_path / "out")
    assert loaded == {"Jane Doe": b"jane"}
    assert time.process_time() - start < 2


def test_the_number_of_files_is_bounded_as_well(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_ENTRIES", 3)
    files = {moodle_name("Eve", "Evil", 9, f"{i}/{NB}"): b"x" for i in range(6)} | {
        moodle_name("Jane", "Doe", 1, NB): b"jane"
    }
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out")
    assert loaded["Jane Doe"] == b"jane"
    assert [line for line in found.warnings if "3 files of Eve Evil_9 were not unpacked" in line]
    monkeypatch.setattr(collect, "MOST_FILES", 6)
    with pytest.raises(CannotGradeError, match="a zip archive with 7 files in it"):
        handed_in(tmp_path / "in" / "submissions.zip", tmp_path / "out")


# --- rosters ------------------------------------------------------------------------------------------

CANVAS_EXPORT = """\
Student,ID,SIS User ID,SIS Login ID,Section,Exercise 4 (9001),Current Score
,,,,,Manual Posting,
    Points Possible,,,,,14,(read only)
"Doe, Jane",1000,u1,jdoe,A,,
"Doe, Jane",1001,u2,jdoe2,B,,
"Student, Test",1002,,0a1b,A,,
"""
WORKSHEET = """\
\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,Last modified (submission),Last modified (grade),Feedback comments
Participant 1000,Jane Doe,j@x.edu,Submitted for grading,,100.00,Yes,"Friday, 20 November 2026, 11:59 PM",-,
Participant 1001,Zoë Müller,z@x.edu,No submission,,100.00,Yes,-,-,
"""
GERMAN = """\
ID,Vollständiger Name,E-Mail-Adresse,Status,Bewertung,Bestwertung
Teilnehmer/in1000,Jane Doe,j@x.edu,,,10
Teilnehmer/in1001,Zoë Müller,z@x.edu,,,10
"""


@pytest.mark.parametrize(
    ("text", "students", "ids"),
    [
        (CANVAS_EXPORT, ["jdoe", "jdoe2"], {"1000": "jdoe", "u2": "jdoe2", "jdoe": "jdoe"}),
        (CANVAS_EXPORT.replace(",", ";").replace('"Doe; Jane"', '"Doe, Jane"'), ["jdoe", "jdoe2"], {"1001": "jdoe2"}),
        (WORKSHEET, ["j@x.edu", "z@x.edu"], {"1001": "z@x.edu", "zoe\u0308 müller": "z@x.edu", "Müller, Zoë": "z@x.edu"}),
        (GERMAN, ["1000", "1001"], {"Jane Doe": "1000", "1001": "1001"}),
        ("name,email\nJane Doe,j@x\nJane Doe,k@x\n", ["j@x", "k@x"], {"j": "j@x", "K@X": "k@x"}),
        ("LastName,FirstName,ID,SIS Login ID,Section\nDoe,Jane,7,jd,A\n", ["jd"], {"doejane": "jd", "7": "jd"}),
        ("student;canvas id;moodle id\nada;1;2\n", ["ada"], {"1": "ada", "2": "ada", "ADA": "ada"}),
    ],
)  # fmt: skip
def test_rosters_map_both_ways(tmp_path, text, students, ids):
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    roster = people.read_roster(tmp_path / "r.csv")
    assert roster.students == students
    for text, student in ids.items():
        assert [person.student for person in roster.match(text)] == [student], text
    assert roster.match("nobody") == []


@pytest.mark.parametrize(
    "text",
    [CANVAS_EXPORT, "LastName,FirstName,ID,SIS Login ID,Section\nDoe,Jane,7,jd,A\nStudent,Test,8,0a,A\n"],
)
def test_what_is_no_student_in_canvass_gradebook(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    roster = people.read_roster(tmp_path / "r.csv")
    assert len(roster.notes) == 1
    assert "test student" in roster.notes[0]


def test_a_student_without_any_number_is_named(tmp_path):
    (tmp_path / "r.csv").write_text(CANVAS_EXPORT + '"Roe, Rita",,,,A,,\n"Poe, Paul",,,ppoe,A,,\n')
    roster = people.read_roster(tmp_path / "r.csv")
    assert roster.students == ["jdoe", "jdoe2", "ppoe"]
    assert [note for note in roster.notes if note.startswith("row 7 of r.csv names nobody")]


def test_a_worksheets_times_count(tmp_path):
    (tmp_path / "w.csv").write_text(WORKSHEET, encoding="utf-8")
    roster = people.read_roster(tmp_path / "w.csv")
    assert {k: v.astimezone().strftime("%d %H:%M") for k, v in roster.times.items()} == {"1000": "20 23:59"}
    files = {moodle_name("Jane", "Doe", 1000, NB): b"jane", moodle_name("Zoë", "Müller", 1001, NB): b"zoe"}
    _, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out", roster)
    assert [x.handed_in for x in found.submissions] == [roster.times["1000"], None]


def test_two_lists_of_the_same_people_become_one(tmp_path):
    (tmp_path / "a.csv").write_text("student,name,email\nada,Ada L,ada@x\nbob,Bob B,bob@x\n")
    (tmp_path / "b.csv").write_text(
        WORKSHEET.replace("Jane Doe,j@x.edu", "Ada Lovelace,ADA@x"), encoding="utf-8"
    )
    roster = people.read_rosters([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert roster.students == ["ada", "bob", "z@x.edu"]
    assert [p.student for p in roster.match("1000", "moodle")] == ["ada"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("student,email\nada,a@x\nada,b@x\n", "rows 2 and 3 differ"),
        ("PK\x03\x04", "save it as CSV"),
        ("id\n\n", "names no students"),
        ('student\n"ada\n', None),
    ],
)
def test_rosters_that_make_no_sense(tmp_path, text, says):
    (tmp_path / "r.csv").write_bytes(text.encode())
    if says is None:
        assert people.read_roster(tmp_path / "r.csv").students
        return
    with pytest.raises(CannotGradeError, match=f"(?s){says}.*What to do"):
        people.read_roster(tmp_path / "r.csv")


def test_rows_that_are_left_out_are_named_with_their_numbers(tmp_path):
    (tmp_path / "r.csv").write_text("student,email,note\nada,a@x,\n,b@x,\n,,?\n\nada,a@x,\n")
    roster = people.read_roster(tmp_path / "r.csv")
    assert roster.students == ["ada", "b@x"]
    assert [line[:5] for line in roster.notes] == ["row 4", "row 3"]


@pytest.mark.parametrize(
    "called", ["ada", "1000", "ada@x.edu", "Lovelace, Ada", "Ada Lovelace", "ADA", "lovelaceada"]
)
def test_folders_may_have_any_name_that_the_roster_knows(tmp_path, called):
    (tmp_path / "r.csv").write_text(
        "student,name,email,canvas id\nada,Ada Lovelace,ada@x.edu,1000\nbob,Bob B,,\n"
    )
    c.hand_in(tmp_path / "in", called, b"x")
    loaded, found = handed_in(tmp_path / "in", tmp_path / "out", people.read_roster(tmp_path / "r.csv"))
    assert loaded == {"ada": b"x"}
    assert [x.student for x in found.submissions] == ["ada", "bob"]
    assert not found.warnings
    _, found = handed_in(
        tmp_path / "in", tmp_path / "out", people.read_roster(tmp_path / "r.csv"), students=["1000"]
    )
    assert [x.student for x in found.submissions] == ["ada"]


# --- the command --------------------------------------------------------------------------------------


def test_a_canvas_download_is_graded_and_graded_only_once(tmp_path, monkeypatch, capsys):
    ran = []

    def engine(of, *_):
        ran.append(c.HereRunner(items=of.items))
        return ran[-1]

    c.stand_in(monkeypatch, engine)
    (tmp_path / "export.csv").write_text(CANVAS_EXPORT)
    document = __import__("json").dumps(c.document()).encode()
    files = {canvas_name("Jane", "Doe", 1001, 70, NB, late=True): document}
    top = pack(tmp_path / "in", files, "zip")
    words = [
        str(top),
        "--out",
        str(tmp_path / "out"),
        "--roster",
        str(tmp_path / "export.csv"),
        "--notebooks",
        "04",
        "--no-feedback",
    ]
    assert run.main([*words, "--due", "2026-11-20"]) == 0
    said = capsys.readouterr()
    assert "does not tell when 1 of the submissions" in said.err
    assert "Canvas marks these as late: jdoe2" in said.err
    assert "test student" in said.err
    with Gradebook(tmp_path / "out" / NAME) as book:
        by = {entry.student: entry for entry in book.entries()}
        assert (by["jdoe2"].total, by["jdoe"].status) == (15, "missing")
        assert collect.origin(by["jdoe2"].file)["file"] == "70"
        assert book.setting("people")["jdoe2"]["canvas"] == "1001"
    assert run.main(words) == 0
    assert run.main([word for word in words if word not in ("--roster", str(tmp_path / "export.csv"))]) == 0
    assert [runner.ran for runner in ran] == [[("jdoe2", c.BOOK)]]  # the gradebook remembers who is who
    assert "Not on the roster" not in capsys.readouterr().err
    with Gradebook(tmp_path / "out" / NAME) as book:
        assert [entry.student for entry in book.entries()] == ["jdoe", "jdoe2"]


@pytest.mark.parametrize("numbers", [True, False], ids=["numbers", "names"])
def test_a_number_at_the_end_of_a_name_is_not_canvass(tmp_path, numbers):
    """Canvas writes student_3, user 1234, as student_3_1234_...: the roster says that the 3 is not a user, though Bo is user 3."""
    files = {
        f"student_3_1234_7000_{NB}": b"three",
        f"bergbo_3_7001_{NB}": b"bo",
        f"mayjo_9_7002_2024_{NB}": b"jo",
    }
    rows = ["s3,student_3,1234", "bo,Bo Berg,3", "jo,Jo May,9"]
    rows = [row if numbers else row.rpartition(",")[0] + "," for row in rows]
    (tmp_path / "class.csv").write_text("\n".join(["student,name,canvas id", *rows]))
    roster = people.read_roster(tmp_path / "class.csv")
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out", roster)
    assert loaded == {"s3": b"three", "bo": b"bo", "jo": b"jo"}
    names = {one.student: one.file.name for one in found.submissions}
    read = {student: collect.origin(name, roster) for student, name in names.items()}
    assert {student: (one["user"], one["file"]) for student, one in read.items()} == {
        "s3": ("1234", "7000"), "bo": ("3", "7001"), "jo": ("9", "7002"),
    }  # fmt: skip
    assert not any(one["doubtful"] for one in read.values())


def test_a_number_of_moodles_under_another_name_is_told(tmp_path):
    """It may be a group's; names that are hidden, or cut, are none."""
    (tmp_path / "class.csv").write_text("student,name,moodle id\ndan,Dan Drew,1003\neve,Eve Ely,1004\n")
    roster = people.read_roster(tmp_path / "class.csv")
    files = {moodle_name("Team", "7", 1003, NB): b"team", moodle_name("E.", "Ely", 1004, NB): b"eve"}
    _, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out", roster)
    (said,) = found.warnings
    assert said.startswith("Team 7_1003 has the number of dan on the roster, but another name")
    files = {f"Participant_{n}_assignsubmission_file/{NB}": b"one" for n in (1003, 1004)}
    _, found = handed_in(pack(tmp_path / "hidden", files, "zip"), tmp_path / "out", roster)
    assert found.warnings == []


def test_anonymous_students_do_not_share_what_one_may_hand_in(tmp_path, monkeypatch):
    monkeypatch.setattr(collect, "MOST_OF_ONE", 100)
    files = {f"anon_{code}_{70 + i}_{NB}": code.encode() * 12 for i, code in enumerate(["aB3xY", "q1w2e"])}
    loaded, found = handed_in(pack(tmp_path / "in", files, "zip"), tmp_path / "out")
    assert loaded == {"anon_aB3xY": b"aB3xY" * 12, "anon_q1w2e": b"q1w2e" * 12}
    assert found.warnings == []


def test_a_worksheet_of_moodles_without_names_has_none(tmp_path):
    """Where they are hidden, the state of the submission stands in their place."""
    head = "Identifier,Status,Grade,Maximum Grade,Last modified (grade)\n"
    rows = [f"Participant {n},Submitted for grading - ,,15.00,-\n" for n in (11, 12, 13)]
    (tmp_path / "w.csv").write_text(head + "".join(rows))
    roster = people.read_roster(tmp_path / "w.csv")
    assert [(one.student, one.name) for one in roster.people] == [("11", "11"), ("12", "12"), ("13", "13")]
