"""What a student packs is what the grader reads, and packing loses nothing."""

import errno
import json
import os
import zipfile
from pathlib import Path

import classroom as c
import pytest

from autograd_lab import cli
from autograd_lab.course.contents import exercise_name
from autograd_lab.course.items import shipped
from autograd_lab.grade import beside, collect, merge, submit
from autograd_lab.grade import submissions as s

FILE = exercise_name(c.BOOK) + ".ipynb"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """A student's folder: 04 begun, with a module and data, 05 as handed out."""
    folder = tmp_path / "lab" / "exercises"
    code = "from mine import two\nimport pack.deep\nanswer = [12, 4, 12, 160]\nopen('data/x.csv')\nopen('../outside.txt')"
    c.hand_in(folder, "", c.solved(a1=code), FILE)
    c.hand_in(folder, "", c.document("exercises", c.OTHER), exercise_name(c.OTHER) + ".ipynb")
    for name in (
        "mine.py",
        "pack/__init__.py",
        "pack/deep.py",
        "data/x.csv",
        "secret.txt",
        "pack/__pycache__/x.py",
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(name)
    (tmp_path / "lab" / "outside.txt").write_text("not in the folder")
    monkeypatch.chdir(tmp_path / "lab")
    return folder


def said(capsys):
    return capsys.readouterr().out


def graded(top, out):
    out.mkdir(exist_ok=True)
    with collect.collected(top, out) as download:
        found = s.find(download.folder, merge.shelf(c.course().released.values()), download=download)
        return {
            (x.student, x.notebook): (s.load(x.file), set(beside.beside(x.file)[0]))
            for x in found.submissions
        }


@pytest.mark.parametrize("form", ["zip", "folder"])
@pytest.mark.parametrize("name", ["ada", "Jané Doe, Dr.", "נועה", "x" * 60])
def test_what_is_packed_is_what_is_graded(lab, tmp_path, capsys, form, name):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    to = ["--out", str(inbox / f"{name}.zip")] if form == "zip" else ["--to", str(inbox)]
    assert cli.main(["submit", "--name", name, *to]) == 0
    with_it = {"mine.py", "pack/__init__.py", "pack/deep.py", "data/x.csv"}
    assert graded(inbox, tmp_path / "out") == {(name, c.BOOK): ((lab / FILE).read_bytes(), with_it)}
    text = said(capsys)
    assert f"{FILE}, saved " in text
    assert "1 of 5 items answered" in text
    assert "still as handed out: 04.2, 04.3, 04.4, 04.5 (11 points)" in text
    assert "with mine.py, which it uses" in text
    assert "secret" not in text
    assert "outside" not in text


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_nothing_is_overwritten_and_the_grader_takes_the_newest(lab, tmp_path, form):
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    to = ["--out", str(inbox / "ada.zip")] if form == "zip" else ["--to", str(inbox)]
    kept = {}
    for number, answer in enumerate(("answer = [1]", "answer = [2]", "answer = [3]")):
        c.hand_in(lab, "", c.solved(a1=answer), FILE)
        assert cli.main(["submit", "04", "--name", "ada", *to]) == 0
        for path in inbox.rglob("*.*"):
            os.utime(path, (2_000 + number, 2_000 + number)) if path not in kept else None
        assert all(path.read_bytes() == data for path, data in kept.items())
        kept = {path: path.read_bytes() for path in inbox.rglob("*.*")}
    ((data, _),) = graded(inbox, tmp_path / "out").values()
    assert data == (lab / FILE).read_bytes()
    assert len(kept) == 3


def test_the_same_work_twice_is_there_once(lab, tmp_path):
    (tmp_path / "inbox").mkdir()
    for _ in range(2):
        assert cli.main(["submit", "--name", "ada", "--to", str(tmp_path / "inbox")]) == 0
    assert len(list((tmp_path / "inbox").rglob("*.ipynb"))) == 1


def test_an_earlier_version_handed_in_again_is_the_newest(lab, tmp_path):
    (tmp_path / "inbox").mkdir()
    for number, answer in enumerate(("answer = [1]", "answer = [2]", "answer = [1]")):
        c.hand_in(lab, "", c.solved(a1=answer), FILE)
        assert cli.main(["submit", "04", "--name", "ada", "--to", str(tmp_path / "inbox")]) == 0
        for path in (tmp_path / "inbox").rglob("*.ipynb"):
            os.utime(path, (2_000 + number,) * 2) if path.stat().st_mtime > 3_000 else None
    ((data, _),) = graded(tmp_path / "inbox", tmp_path / "out").values()
    assert data == (lab / FILE).read_bytes()


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("form", ["zip", "folder"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_all_is_handed_in_or_nothing(lab, tmp_path, capsys, monkeypatch, form, error, links):
    """A file cut off by a full disk, or by Ctrl-C, would be the newest, and take the place of what was handed in before."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    to = ["--out", str(inbox / "ada.zip")] if form == "zip" else ["--to", str(inbox)]
    if not links:
        monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(OSError(errno.EPERM, "no links")))
    assert cli.main(["submit", "04", "--name", "ada", *to]) == 0
    kept = {path: path.read_bytes() for path in inbox.rglob("*.*")}
    c.hand_in(lab, "", c.solved(a1="import more\nanswer = [1]"), FILE)
    (lab / "more.py").write_text("more")
    write, left = Path.write_bytes, [1 if form == "folder" else 0]

    def fails(path, data):
        left[0] -= 1
        if left[0] >= 0:
            return write(path, data)
        write(path, data[: len(data) // 2])
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", fails)
        status = cli.main(["submit", "04", "--name", "ada", *to])
    assert status == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert {path: path.read_bytes() for path in inbox.rglob("*.*")} == kept
    if status == 2:
        text = capsys.readouterr().err
        assert "Your work was not handed in" in text
        assert "no space left on device. What was there before is as it was" in text
    assert cli.main(["submit", "04", "--name", "ada", *to]) == 0
    assert len(list(inbox.rglob("*.*"))) == len(kept) + (1 if form == "zip" else 2)


def test_a_folder_for_the_archive(lab, tmp_path):
    (tmp_path / "inbox").mkdir()
    assert cli.main(["submit", "--name", "ada", "--out", str(tmp_path / "inbox")]) == 0
    assert [path.name for path in tmp_path.rglob("*.zip")] == ["ada.zip"]
    assert (tmp_path / "inbox" / "ada.zip").is_file()


def test_one_damaged_notebook_leaves_a_way_for_the_others(lab, capsys):
    (lab / f"{exercise_name(c.OTHER)}.ipynb").write_bytes(b"")
    assert cli.main(["submit", "--name", "a"]) == 2
    assert "name the others: autograd-lab submit 04 05" in capsys.readouterr().err
    assert cli.main(["submit", "04", "--name", "a"]) == 0


def test_a_newer_helper_does_not_replace_the_older_notebooks_helper(lab, tmp_path, capsys):
    (tmp_path / "inbox").mkdir()
    words = ["submit", "--name", "ada", "--to", str(tmp_path / "inbox")]
    assert cli.main(words) == 0
    (lab / "mine.py").write_text("other")
    assert cli.main(words) == 2
    assert "handed in before, and is different now" in capsys.readouterr().err
    assert (tmp_path / "inbox" / "ada" / "mine.py").read_text() == "mine.py"


def test_numbers_files_and_everything_begun(lab, tmp_path, capsys):
    assert cli.main(["submit", "05", "--name", "a"]) == 0  # named, so packed as it is
    assert cli.main(["submit", f"exercises/{FILE}", "--name", "b"]) == 0
    (lab / "my own 04.ipynb").write_bytes((lab / FILE).read_bytes())
    assert cli.main(["submit", "--name", "c"]) == 0
    assert "Not packed: my own 04.ipynb" in said(capsys)
    assert cli.main(["submit", "my own 04.ipynb", "--name", "d"]) == 0
    names = {n: zipfile.ZipFile(f"{n}.zip").namelist() for n in "abcd"}
    assert [names[n][0] for n in "abcd"] == [exercise_name(c.OTHER) + ".ipynb", FILE, FILE, FILE]
    assert f"handed in as {FILE}" in said(capsys)


@pytest.mark.parametrize("form", ["zip", "folder"])
def test_a_file_with_another_name_that_is_handed_in_later_is_the_newest(lab, tmp_path, form):
    """The grader ranks a file with the exercise's name before one with any other."""
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    to = ["--out", str(inbox / "ada.zip")] if form == "zip" else ["--to", str(inbox)]
    assert cli.main(["submit", "04", "--name", "ada", *to]) == 0
    for path in inbox.rglob("*.*"):
        os.utime(path, (2_000, 2_000))
    c.hand_in(lab, "", c.solved(a1="answer = [2]"), "second try of 04.ipynb")
    assert cli.main(["submit", "second try of 04.ipynb", "--name", "ada", *to]) == 0
    ((data, _),) = graded(inbox, tmp_path / "out").values()
    assert data == (lab / "second try of 04.ipynb").read_bytes()


@pytest.mark.parametrize("label", [" (new version)", " (new version 2)", " (1)", "-Copy1"])
@pytest.mark.parametrize("words", [[], ["04"]])
def test_work_in_a_copy_is_not_passed_over(lab, capsys, label, words):
    copy = f"{exercise_name(c.BOOK)}{label}.ipynb"
    c.hand_in(lab, "", c.document("exercises"), copy)
    assert cli.main(["submit", *words, "--name", "a"]) == 0  # nothing is in it
    c.hand_in(lab, "", c.solved(a1="answer = [1]"), copy)
    assert cli.main(["submit", *words, "--name", "b"]) == 2
    assert copy in capsys.readouterr().err
    assert cli.main(["submit", copy, "--name", "c"]) == 0
    c.hand_in(lab, "", c.document("exercises"), FILE)
    assert cli.main(["submit", *words, "--name", "d"]) == 0
    for name in "cd":
        with zipfile.ZipFile(f"{name}.zip") as archive:
            assert archive.read(FILE) == (lab / copy).read_bytes()
    c.hand_in(lab, "", "{", copy)
    c.hand_in(lab, "", c.solved(a1="answer = [1]"), FILE)
    assert cli.main(["submit", "04", "--name", "e"]) == 0
    assert f"Not packed: {copy}, which cannot be read." in said(capsys)
    (lab / FILE).rename(lab / f"{exercise_name(c.BOOK)}-Copy9.ipynb")
    assert cli.main(["submit", "04", "--name", "f"]) == 0


def test_work_in_a_new_version_counts_if_it_is_newer(lab, tmp_path):
    """A whole folder handed in: the lab put the new version beside the work, and the student went on there."""
    old = c.hand_in(tmp_path / "inbox", "ada", c.solved(a1="answer = [1]"), FILE)
    new = c.hand_in(tmp_path / "inbox", "ada", c.solved(a1="answer = [2]"), f"{old.stem} (new version).ipynb")
    os.utime(old, (2_000, 2_000))
    ((data, _),) = graded(tmp_path / "inbox", tmp_path / "out").values()
    assert data == new.read_bytes()


def test_a_notebook_of_the_students_own_with_a_number_is_no_copy_of_an_exercise(lab, capsys):
    c.hand_in(lab, "", {"cells": [c.code("1")]}, "notes-2.ipynb")
    assert cli.main(["submit", "--name", "a"]) == 0
    assert "Not packed: notes-2.ipynb" in said(capsys)


@pytest.mark.parametrize(
    ("code", "more"),
    [
        ("import first", {"first.py": "import second", "second.py": "open('deep.csv')", "deep.csv": "1"}),
        ("%matplotlib inline\nimport first", {"first.py": "1"}),
        ("open('two words.csv')", {"two words.csv": "1"}),
        ("import first\nopen('first.csv')", {"first.py": "1", "first.csv": "1"}),
        ("import kit", {"kit/__init__.py": "import first", "first.py": "from kit import two"}),
    ],
)
def test_what_an_answer_needs_comes_along(lab, tmp_path, code, more):
    c.hand_in(lab, "", c.solved(a1=f"{code}\nanswer = [1]"), FILE)
    for name, text in more.items():
        (lab / name).parent.mkdir(exist_ok=True)
        (lab / name).write_text(text)
    (tmp_path / "inbox").mkdir()
    assert cli.main(["submit", "--name", "ada", "--to", str(tmp_path / "inbox")]) == 0
    ((_, beside_it),) = graded(tmp_path / "inbox", tmp_path / "out").values()
    assert beside_it == set(more)


def test_two_helpers_of_one_name_are_not_mixed_up(lab, tmp_path, capsys):
    other = tmp_path / "lab" / "other"
    for folder, name in ((lab, c.BOOK), (other, c.OTHER)):
        book = c.document("exercises", name)
        book["cells"].append(c.code("import mine"))
        c.hand_in(folder, "", book, f"{name}.ipynb")
    (other / "mine.py").write_text("another")
    files = [str(lab / f"{c.BOOK}.ipynb"), str(other / f"{c.OTHER}.ipynb")]
    assert cli.main(["submit", *files, "--name", "a"]) == 2
    assert "There are two files mine.py" in capsys.readouterr().err
    (other / "mine.py").write_text("mine.py")
    assert cli.main(["submit", *files, "--name", "a"]) == 0


def test_a_stub_with_another_comment_or_of_an_earlier_version_is_still_open(lab, capsys, monkeypatch):
    earlier = "def backward(root):\n    return None  # what stood here before"
    monkeypatch.setattr(shipped()["04.4"], "earlier", [earlier])
    c.hand_in(lab, "", c.solved(a1="answer = [1]", a2="order = ...  # as it was", a4=earlier), FILE)
    assert cli.main(["submit", "--name", "a"]) == 0
    assert "still as handed out: 04.2, 04.3, 04.4, 04.5 (11 points)" in said(capsys)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["17"], "There is no exercise '17'"),
        (["04", "--name", "../up"], "cannot be the name"),
        (["04", "--name", " "], "Whose work is it?\n  Why:        the name given is empty."),
        (["04", "--name", "a", "--to", "nowhere"], "There is no folder nowhere"),
        (["04", "--name", "a", "--to", ".", "--out", "x.zip"], "It cannot go to two places"),
        (["--dir", "nowhere"], "There are no exercises in nowhere"),
        (["broken.ipynb", "--name", "a"], "broken.ipynb cannot be packed"),
        (["other.ipynb", "--name", "a"], "other.ipynb is no exercise"),
        (["04", f"exercises/{FILE}", "--name", "a"], "There are several files"),
    ],
)
def test_what_cannot_be_packed_is_said(lab, tmp_path, capsys, words, says):
    (tmp_path / "lab" / "broken.ipynb").write_text("{")
    (tmp_path / "lab" / "other.ipynb").write_text(json.dumps({"cells": [c.code("1")]}))
    assert cli.main(["submit", *words]) == 2
    text = capsys.readouterr().err
    assert says in text
    assert "What to do" in text
    assert not list((tmp_path / "lab").glob("*.zip"))


def test_nothing_begun(lab, capsys):
    c.hand_in(lab, "", c.document("exercises"), FILE)
    assert cli.main(["submit", "--name", "a"]) == 2
    assert "every exercise in" in capsys.readouterr().err


def test_a_students_folder_is_found_from_inside_it(lab, monkeypatch):
    monkeypatch.chdir(lab / "data")
    assert submit._folder(None) == lab
