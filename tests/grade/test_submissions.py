"""Whatever is handed in is found, read, or said in a sentence to be what it is."""

import contextlib
import io
import json
import os
import sys
import zipfile
from datetime import UTC, datetime

import classroom as c
import pytest

from autograd_lab.grade import beside as b
from autograd_lab.grade import merge
from autograd_lab.grade import reading as r
from autograd_lab.grade import submissions as s
from autograd_lab.grade.model import CannotGradeError
from autograd_lab.grade.people import read_roster

NB = c.BOOK + ".ipynb"


@pytest.fixture
def top(tmp_path):
    (tmp_path / "sub").mkdir()
    return tmp_path / "sub"


def find(top, **options):
    return s.find(top, merge.shelf(c.course().released.values()), **options)


def table(found):
    return {(x.student, x.notebook): x.file.name if x.file else None for x in found.submissions}


def zipped(**files):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


# --- finding ------------------------------------------------------------------------------------------


def test_both_layouts_and_missing_ones(top):
    c.hand_in(top, "ada", c.document())
    c.hand_in(top, "bob", c.document(name=c.OTHER), f"ps1/{c.OTHER}.ipynb")
    assert table(find(top)) == {
        ("ada", c.BOOK): f"ada/{NB}",
        ("ada", c.OTHER): None,
        ("bob", c.BOOK): None,
        ("bob", c.OTHER): f"bob/ps1/{c.OTHER}.ipynb",
    }


@pytest.mark.parametrize("touched", [True, False])
def test_a_newer_copy_counts_if_there_is_work_in_it(top, touched):
    """Jupyter's "Duplicate", or a second download of the exercise, is newer than what was handed in."""
    solved = c.hand_in(top, "ada", c.document())
    copy = c.hand_in(
        top, "ada", c.document() if touched else c.document("exercises"), f"{c.BOOK}-Copy1.ipynb"
    )
    os.utime(solved, (1_000, 1_000))
    os.utime(copy, (2_000, 2_000))
    (one,) = [one for one in find(top).submissions if one.notebook == c.BOOK]
    assert one.file.path == (copy if touched else solved)
    assert "there is also" in one.notes[0]


def test_an_nbgrader_course(top):
    c.hand_in(top, "submitted/ada/ps1", c.document())
    c.hand_in(top, "source/ps1", c.document())
    assert list(table(find(top))) == [("ada", c.BOOK)]


def test_one_assignment_only(top):
    c.hand_in(top, "ada/ps1", c.document())
    c.hand_in(top, "ada/ps2", c.document(name=c.OTHER), c.OTHER + ".ipynb")
    assert list(table(find(top, assignment="ps2"))) == [("ada", c.OTHER)]


def test_a_roster_brings_the_missing_and_says_who_is_not_on_it(top):
    c.hand_in(top, "ALICE", c.document())
    c.hand_in(top, "eve", c.document())
    found = find(top, roster=["Alice", "bob"])
    assert table(found) == {
        ("Alice", c.BOOK): f"ALICE/{NB}",
        ("bob", c.BOOK): None,
        ("eve", c.BOOK): f"eve/{NB}",
    }
    assert "Not on the roster, and graded all the same: eve." in found.warnings


@pytest.mark.parametrize(
    "name",
    [
        "04 (1).ipynb",
        "04_solved.ipynb",
        "homework.ipynb",
        "04.ipynb.txt",
        "NOTEBOOK",
        "05_who_keeps_a_gradient.ipynb",
    ],
)
def test_renamed_files_are_known_by_their_cells(top, name):
    c.hand_in(top, "ada", c.document(), name)
    (one,) = find(top).submissions
    assert (one.notebook, one.file.name) == (c.BOOK, f"ada/{name}")
    assert one.notes


@pytest.mark.parametrize("name", ["04-Backward Node by node.ipynb", "04_BACKWARD_NODE_BY_NODE.ipynb"])
def test_names_spelled_otherwise(top, name):
    c.hand_in(top, "ada", b"not a notebook", name)
    assert find(top).submissions[0].notebook == c.BOOK


def test_the_name_in_a_students_folder_is_the_released_one(top):
    c.hand_in(top, "ada", c.document(), f"exercise_{NB}")
    (one,) = find(top).submissions
    assert (one.notebook, one.notes) == (c.BOOK, ())


def test_of_two_files_the_released_name_counts(top):
    c.hand_in(top, "ada", c.document("exercises"), "04 (1).ipynb")
    old = c.hand_in(top, "ada", c.document())
    os.utime(old, (1, 1))
    (one,) = find(top).submissions
    assert one.file.name == f"ada/{NB}"
    assert "there is also ada/04 (1).ipynb" in one.notes[0]


def test_another_notebook_under_this_ones_name_is_said(top):
    """05 handed in as 04: nothing is there for 04, and the instructor hears why."""
    c.hand_in(top, "ada", c.document(name=c.OTHER), NB)
    c.hand_in(top, "bob", c.document())
    found = {(x.student, x.notebook): x for x in find(top, wanted=[c.BOOK]).submissions}
    assert found["ada", c.BOOK].file is None
    assert found["ada", c.BOOK].notes == (
        f"ada/{NB} has the name of {c.BOOK}, but holds the cells of {c.OTHER}.",
    )
    assert found["bob", c.BOOK].notes == ()


def beside(top, student, **options):
    (one,) = find(top, students=[student], wanted=[c.BOOK], **options).submissions
    files, said = b.beside(one.file)
    return {name: data.decode() for name, data in files.items()}, said


def test_what_lies_beside_a_notebook(top, tmp_path):
    c.hand_in(top, "ada", c.document())
    for name in (
        "helper.py",
        "data/numbers.csv",
        "a/b/deep.txt",
        "timestamp.txt",
        ".hidden",
        "__pycache__/x.pyc",
        "more.ipynb",
    ):
        c.hand_in(top, "ada", f"2026-11-20 of {name}", name)
    c.hand_in(top, "bob", c.document(), f"ps1/{NB}")
    c.hand_in(top, "bob", "another assignment's", "ps2/helper.py")
    outside = tmp_path / "outside.txt"
    outside.write_text("not the student's")
    (top / "ada" / "link.txt").symlink_to(outside)
    files, said = beside(top, "ada")
    assert files == {n: f"2026-11-20 of {n}" for n in ("helper.py", "data/numbers.csv", "a/b/deep.txt")}
    assert said == ""
    assert beside(top, "bob") == ({}, "")


def test_what_lies_beside_a_notebook_in_an_archive(top):
    members = {
        f"hw/{NB}": json.dumps(c.document()),
        "hw/helper.py": "x = 1",
        "hw/d/a.csv": "1,2",
        "else.py": "",
        "hw/../up.py": "",
    }
    (top / "cleo.zip").write_bytes(zipped(**members))
    assert beside(top, "cleo") == ({"helper.py": "x = 1", "d/a.csv": "1,2"}, "")


def test_a_loose_notebook_takes_nothing_of_the_others(top):
    (top / "dan.ipynb").write_text(json.dumps(c.document()))
    (top / "notes.txt").write_text("of the instructor's")
    assert beside(top, "dan") == ({}, "")


@pytest.mark.parametrize("where", ["folder", "archive"])
def test_what_lies_beside_a_notebook_is_bounded_and_the_rest_is_said(top, where, monkeypatch):
    monkeypatch.setattr(b, "MOST_FILES", 3)
    monkeypatch.setattr(b, "MOST_BYTES", 1000)
    small = {"a.txt": "x" * 10, "b.txt": "x" * 2000, "c.txt": "x" * 10, "d.txt": "x" * 900, "e.txt": "x"}
    if where == "archive":
        (top / "ada.zip").write_bytes(zipped(**{NB: json.dumps(c.document())}, **small))
    else:
        c.hand_in(top, "ada", c.document())
        for name, text in small.items():
            c.hand_in(top, "ada", text, name)
    files, said = beside(top, "ada")
    assert list(files) == ["a.txt", "c.txt", "d.txt"]
    assert "2 could not be taken (b.txt, e.txt)" in said


def test_what_is_left_out_is_said(top):
    c.hand_in(top, "ada", c.document())
    (top / NB).write_bytes(b"{}")
    (top / "scan.pdf").write_bytes(b"%PDF")
    c.hand_in(top, "ada", {"cells": [c.code("1")]}, "scratch.ipynb")
    said = " ".join(find(top).warnings)
    assert f"{NB} was left out" in said
    assert "scan.pdf was left out" in said
    assert "ada/scratch.ipynb" in said


@pytest.mark.parametrize(
    "name", ["notes.pdf", "onlinetext.html", "work.rar", "mine.ipynb", "deep/a.docx", "main.py", "work.zip"]
)
def test_who_handed_in_something_else_is_not_told_that_nothing_came(top, name):
    """It is named: to the instructor, and in the student's own row and page."""
    data = zipped(**{"photo.jpg": "x"}) if name == "work.zip" else json.dumps({"cells": [c.code("1")]})
    c.hand_in(top, "ada", c.document())
    c.hand_in(top, "bob", data, name)
    (top / "cleo").mkdir()
    found = find(top)
    notes = {one.student: " ".join(one.notes) for one in found.submissions}
    assert name in notes["bob"]
    assert notes["bob"] in " ".join(found.warnings)
    assert not notes["ada"]
    assert not notes["cleo"]


def test_a_students_zip_and_a_loose_file(top):
    (top / "bob.zip").write_bytes(
        zipped(**{f"hw/{NB}": json.dumps(c.document()), "__MACOSX/._x.ipynb": b"x"})
    )
    (top / "carol_04.ipynb").write_text(json.dumps(c.document()))
    assert [x.student for x in find(top).submissions] == ["bob", "carol_04"]
    assert all(r.read(s.load(x.file)).cells for x in find(top).submissions)


def test_a_zip_in_place_of_the_notebook(top):
    c.hand_in(top, "ada", zipped(**{"whatever.ipynb": json.dumps(c.document())}))
    (one,) = find(top).submissions
    assert len(r.read(s.load(one.file)).cells) == len(c.document()["cells"])


@pytest.mark.parametrize(
    "name", [f"./{NB}", f"./hw/./{NB}", f"hw/../{NB}", f"../{NB}", f"/{NB}", f"hw//{NB}", f"hw\\{NB}"]
)
def test_a_zip_whose_names_take_a_detour(top, name):
    c.hand_in(top, "ada", zipped(**{name: json.dumps(c.document())}), "work.zip")
    (one,) = find(top).submissions
    assert one.notebook == NB.removesuffix(".ipynb")
    assert len(r.read(s.load(one.file)).cells) == len(c.document()["cells"])


def test_what_lies_beside_a_notebook_in_an_archive_made_of_a_folder(top):
    c.hand_in(top, "ada", zipped(**{f"./{NB}": json.dumps(c.document()), "./own.py": "x = 1"}), "work.zip")
    assert beside(top, "ada") == ({"own.py": "x = 1"}, "")


def test_an_empty_archive_is_one(top):
    c.hand_in(top, "ada", zipped(), "work.zip")
    c.hand_in(top, "bob", c.document())
    ada = next(one for one in find(top).submissions if one.student == "ada")
    assert ada.notes == ("ada/work.zip is a zip archive without a notebook in it.",)


def test_checkpoints_are_not_submissions(top):
    c.hand_in(top, "ada", c.document())
    c.hand_in(top, "ada", c.document("exercises"), f".ipynb_checkpoints/{NB}")
    assert [x.file.name for x in find(top).submissions] == [f"ada/{NB}"]


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_links_are_not_followed_out_of_the_folder(top, tmp_path):
    c.hand_in(top, "ada", c.document())
    (tmp_path / NB).write_text(json.dumps(c.document()))
    for student, target in (("bob", tmp_path / NB), ("eve", top / "ada" / NB), ("dan", tmp_path / "nowhere")):
        (top / student).mkdir()
        (top / student / NB).symlink_to(target)
    (top / "fay").symlink_to(top / "ada")
    c.hand_in(top, "guy", c.document(), "real.ipynb")
    (top / "guy" / NB).symlink_to("real.ipynb")
    (top / "loop").mkdir()
    (top / "loop" / "again").symlink_to(top / "loop")
    by = {x.student: x for x in find(top).submissions}
    for student in ("bob", "eve", "dan"):
        with pytest.raises(r.UnreadableError, match="not followed"):
            s.load(by[student].file)
    assert by["fay"].file is None
    assert s.load(by["guy"].file)
    assert by["loop"].file is None


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names there")
def test_folders_and_pipes_with_a_notebooks_name(top):
    (top / "ada" / NB).mkdir(parents=True)
    (top / "bob").mkdir()
    os.mkfifo(top / "bob" / NB)
    for one, says in zip(find(top).submissions, ("is a folder", "neither a file nor a folder"), strict=True):
        with pytest.raises(r.UnreadableError, match=says):
            s.load(one.file)


def test_students_whose_names_unicode_spells_in_two_ways(top):
    c.hand_in(top, "Zoe\u0308", c.document())
    assert [x.student for x in find(top, roster=["Zo\u00eb"]).submissions] == ["Zo\u00eb"]
    c.hand_in(top, "Zo\u00eb", c.document("exercises"))
    found = find(top)
    if len(list(top.iterdir())) == 2:  # some file systems take them for one
        assert sorted(x.student for x in found.submissions) == ["Zoe\u0308", "Zo\u00eb"]


@pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode there")
def test_names_that_are_no_text(top):
    home = os.fsencode(top) + b"/caf\xe9"
    os.mkdir(home)  # noqa: PTH102 (a Path is text)
    with open(home + b"/" + NB.encode(), "w") as file:  # noqa: PTH123
        json.dump(c.document(), file)
    (one,) = find(top).submissions
    assert one.student == "caf\\xe9"
    assert s.load(one.file)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda top: None, "holds no submissions"),
        (lambda top: (top / NB).write_text("{}"), "belong to no student"),
        (lambda top: c.hand_in(top, "ada", b"x", "essay.doc"), "belongs to a notebook of the course"),
        (lambda top: top.rmdir(), "cannot be read"),
    ],
)
def test_folders_that_cannot_be_graded(top, make, says):
    make(top)
    with pytest.raises(CannotGradeError, match=says):
        find(top)


def test_an_unknown_student(top):
    c.hand_in(top, "ada", c.document())
    with pytest.raises(CannotGradeError, match="no student 'bob'"):
        find(top, students=["bob"])


# --- times --------------------------------------------------------------------------------------------


def test_when_it_was_handed_in(top, tmp_path):
    path = c.hand_in(top, "ada", c.document())
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert find(top).submissions[0].handed_in == datetime(2001, 9, 9, 1, 46, 40, tzinfo=UTC)
    (path.parent / "timestamp.txt").write_text("2026-11-20 23:30:00.123456 America/New_York\n")
    (one,) = find(top, trust_timestamps=True).submissions
    assert one.handed_in.isoformat() == "2026-11-21T04:30:00.123456+00:00"
    (path.parent / "timestamp.txt").write_text("yesterday")
    assert find(top, trust_timestamps=True).submissions[0].handed_in.year == 2001
    times = tmp_path / "times.csv"
    times.write_text("student,timestamp\nada,2026-11-20T12:00+02:00\n")
    assert find(top, times=s.read_times(times)).submissions[0].handed_in.hour == 10


def test_a_students_own_timestamp_does_not_beat_the_deadline(top, tmp_path):
    for student, where in (("ada", "ada"), ("bob", "submitted/bob"), ("cleo", "submitted/cleo/ps1/more")):
        path = c.hand_in(top, where, c.document())
        os.utime(path, (2_000_000_000, 2_000_000_000))
        (path.parent / "timestamp.txt").write_text("2001-01-01 00:00:00 UTC")
        found = find(top / where.rpartition(student)[0], students=[student])
        assert found.submissions[0].handed_in.year == 2033
        assert [line for line in found.warnings if student in line and "--trust-timestamps" in line]
    times = tmp_path / "times.csv"
    times.write_text("student,timestamp\nada,2026-11-20T12:00+02:00\n")
    known = find(top, students=["ada"], times=s.read_times(times))
    assert known.submissions[0].handed_in.year == 2026
    assert not known.warnings  # what the file says does not matter then


def test_nbgraders_timestamp_counts(top):
    path = c.hand_in(top, "submitted/ada/ps1", c.document())
    (path.parent / "timestamp.txt").write_text("2026-11-20 23:30:00 UTC")
    for folder in (top, top / "submitted"):
        found = find(folder)
        assert found.submissions[0].handed_in.year == 2026
        assert not found.warnings


def test_a_date_means_its_end():
    assert s.moment("2026-11-20", UTC) == datetime(2026, 11, 21, tzinfo=UTC)
    assert s.moment("2026-11-20 18:00", UTC).hour == 18
    for text in ("soon", "", "2026-13-01", "2026-11-20 12:00 Mars/Olympus"):
        with pytest.raises(ValueError, match=r".+"):
            s.moment(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ada\nbob\n\nbob\n", ["ada", "bob"]),
        ("id,first_name,last_name,email\nada,A,L,a@x\n", ["ada"]),
        ("Name;Student ID\nAda L;a1\n", ["a1"]),
        ('\ufeffstudent\n"L, Ada"\n', ["L, Ada"]),
    ],
)
def test_rosters(tmp_path, text, names):
    (tmp_path / "r.csv").write_text(text, encoding="utf-8")
    assert read_roster(tmp_path / "r.csv").students == names
    (tmp_path / "r.csv").write_bytes(text.lstrip("\ufeff").encode("utf-16"))
    assert read_roster(tmp_path / "r.csv").students == names


def test_rosters_of_nobody(tmp_path):
    (tmp_path / "r.csv").write_text("id\n\n")
    for path in (tmp_path / "r.csv", tmp_path / "none.csv"):
        with pytest.raises(CannotGradeError):
            read_roster(path)


# --- reading ------------------------------------------------------------------------------------------

TEXT = json.dumps({**c.document(), "cells": [c.code("s = 'é'", "04-1-answer")]}, ensure_ascii=False)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1", "cp1252"]
)
def test_encodings(encoding):
    made = r.read(TEXT.encode(encoding))
    assert made.cells[0].source == "s = 'é'"
    assert bool(made.notes) == (not encoding.startswith("utf-8"))


@pytest.mark.parametrize("source", ["a\nb", ["a\n", "b"], ["a", "b"], "a\r\nb", ["a\r\n", "b"]])
def test_sources(source):
    assert r.read(json.dumps({"cells": [c.code(source)]}).encode()).cells[0].source == "a\nb"


def test_nbformat_3():
    old = {
        "nbformat": 3,
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "code", "input": ["x = 1\n"], "language": "python"},
                    {"cell_type": "heading", "source": "h"},
                ]
            }
        ],
    }
    made = r.read(json.dumps(old).encode())
    assert [(x.kind, x.source) for x in made.cells] == [("code", "x = 1\n"), ("markdown", "h")]
    assert "old format 3" in made.notes[0]


def test_odd_cells_are_left_out():
    data = {
        "cells": [
            None,
            3,
            {"cell_type": "code", "source": 5},
            {"cell_type": "code", "source": [1]},
            {},
            {"metadata": 1, "id": 4},
            c.code("\ud800x"),
        ]
    }
    made = r.read(json.dumps(data).encode())
    assert [x.source for x in made.cells] == ["", "", "?x"]
    assert made.notes[0].startswith("4 entries in its list of cells are not what a cell is")


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "is empty"),
        (b" \n\0\0", "is empty"),
        (b'{"cells": [', "cut off"),
        (TEXT.encode()[: len(TEXT) // 2], "not JSON"),
        (b'{"cells": [1,]}', "line 1, column"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b'{"cells": ' + b"1" * 10_000 + b"}", "cannot be read|no cells"),
        (b"[]", "has no cells"),
        (b'{"cells": 5}', "has no cells"),
        (b'{"worksheets": 5}', "has no cells"),
        (b"<!DOCTYPE html><p>", "web page"),
        (b"%PDF-1.7", "a PDF file"),
        (b"\x1f\x8b\x08", "gzip archive"),
        (b"import torch\n", "is text"),
        (b'{"cells": [\n<<<<<<< HEAD\n', "merge conflict"),
        (b"\xff\xfea", "damaged"),
        (json.dumps({"cells": [c.code("x")] * (r.MOST_CELLS + 1)}).encode(), "at most 20,000"),
        (json.dumps({"cells": [c.code("x" * (r.MOST_TEXT + 1))]}).encode(), "characters of text"),
    ],
    ids=range(19),
)
def test_what_is_no_notebook(data, says):
    with pytest.raises(r.UnreadableError, match=says):
        r.read(data)


def test_no_bytes_break_the_reader():
    import random

    rng = random.Random(0)
    whole = TEXT.encode()
    for _ in range(2_000):
        data = bytearray(whole)
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(9)] = rng.randbytes(rng.randrange(9))
        with contextlib.suppress(r.UnreadableError):
            r.read(bytes(data))


def test_sizes_are_bounded(top):
    c.hand_in(top, "ada", zipped(**{NB: b" " * 3_000_000}))
    c.hand_in(top, "bob", b" " * 3_000_000)
    for one in find(top, most_bytes=2_000_000).submissions:
        with pytest.raises(r.UnreadableError, match="larger than 2 MB"):
            s.load(one.file, 2_000_000)


@pytest.mark.parametrize(
    "spoil", [lambda z: z[:-30], lambda z: z[:40] + b"\xff" * 60 + z[100:], lambda z: zipped(a=b"x")]
)
def test_damaged_archives(top, spoil):
    c.hand_in(top, "ada", spoil(zipped(**{NB: json.dumps(c.document())})))
    (one,) = find(top).submissions
    with pytest.raises(r.UnreadableError, match="zip archive"):
        r.read(s.load(one.file))
