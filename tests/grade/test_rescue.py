"""Gradebooks that are damaged, foreign, or on a full disk: a sentence each time, never a traceback, and what was done by hand comes back.

And what graders leave behind that are killed: the next one removes it.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import classroom as c
import pytest

from autograd_lab.grade import by_hand, files, rescue, run
from autograd_lab.grade.engine import Engine
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import Result

HERE = Path(__file__).parent
REASON = "explained it at the blackboard, as nobody else did"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    top = tmp_path_factory.mktemp("handed in")
    c.hand_in(top, "ada", c.document())
    c.hand_in(top, "bob", c.solved(a1="answer = [12, 4, 12, 160]"))
    c.hand_in(top, "eve", b"no notebook")
    return top


@pytest.fixture
def here(monkeypatch):
    """The command without a process of its own, and with the course that is read already."""
    c.stand_in(monkeypatch, lambda *_: c.HereRunner())
    known = c.course()
    monkeypatch.setattr(run, "load_course", lambda *_: known)


@pytest.fixture(scope="module")
def results(tmp_path_factory, handed_in):
    """Results with an override, a penalty and a backup."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        c.stand_in(patch, lambda *_: c.HereRunner())
        words = [str(handed_in), "--out", str(folder), "--quiet", "--no-feedback"]
        assert run.main([*words, "--due", "2026-11-20", "--late-penalty", "10"]) == 0
        assert (
            by_hand.main([str(folder), "override", "bob", "04.4", "3", "--reason", REASON, "--author", "me"])
            == 0
        )
        assert run.main([*words, "--student", "ada", "--regrade"]) == 0
    return folder


def says(capsys, main, *words):
    """(exit status, what was said); a failure says what to do, and is no traceback."""
    status = main(list(map(str, words)))
    said = capsys.readouterr()
    assert status in (0, 2)
    if status:
        assert all(word in said.err for word in ("Why:", "What to do:"))
    assert "Traceback" not in said.err
    return status, said.err + said.out


def given(folder):
    """What was given by hand: {(student, item): (points, reason)}."""
    with Gradebook(folder / NAME) as book:
        rows = rescue.by_hand(book._db.connection)["overrides"]
    return {(row["student"], row["item"]): (row["points"], row["reason"]) for row in rows}


ALL = {("bob", "04.4"): (3.0, REASON)}


# --- damage -------------------------------------------------------------------------------------------


def at(data, place, piece):
    return data[:place] + piece + data[place + len(piece) :]


DAMAGE = {
    "some bits": lambda data, draw: bytes(b ^ (1 << draw.randrange(8)) if draw.random() < 2e-4 else b for b in data),
    "a page of nothing": lambda data, draw: at(data, draw.randrange(len(data) // 4096) * 4096, bytes(4096)),
    "a page of noise": lambda data, draw: at(data, draw.randrange(len(data) // 4096) * 4096, draw.randbytes(4096)),
    "a piece of a page": lambda data, draw: at(data, draw.randrange(len(data) - 100), draw.randbytes(100)),
    "pages that changed places": lambda data, draw: at(data, 4096, data[-4096:]),
    "a short end": lambda data, draw: data[: draw.randrange(1, len(data))],
    "a long end": lambda data, draw: data + draw.randbytes(5000),
    "its head": lambda data, draw: at(data, draw.randrange(100), draw.randbytes(8)),
    "all of it": lambda data, draw: b"",
    "another file": lambda data, draw: b"student,points\nbob,3\n" * 400,
}  # fmt: skip
IN_TABLES = {
    "words for points": "UPDATE results SET score = 'three'",
    "bytes for words": "UPDATE results SET says = x'ff00fe'",
    "no JSON": "UPDATE results SET got = '[1, '",
    "no notes": "UPDATE submissions SET notes = 'none'",
    "a time beyond all": "UPDATE submissions SET handed_in = 1 << 62",
    "a run that is none": "UPDATE submissions SET run = x'00', job = 7",
    "settings of another kind": "UPDATE settings SET value = '3'",
    "settings that are none": "UPDATE settings SET value = '{'",
    "results of nobody": "DELETE FROM submissions",
    "a table less": "DROP TABLE results",
    "no overrides": "DROP TABLE overrides",
    "a column less": "ALTER TABLE results DROP COLUMN misconception",
    "nobody's numbers": "UPDATE results SET \"case\" = 'x', hidden = 'y', place = 'z'",
}  # fmt: skip


def damaged(results, folder, name, seed=0):
    shutil.copytree(results, folder)
    book = folder / NAME
    if name in DAMAGE:
        book.write_bytes(DAMAGE[name](book.read_bytes(), random.Random(seed)))
    else:
        with closing(sqlite3.connect(book)) as db, db:
            db.execute(IN_TABLES[name])
    return folder


@pytest.mark.parametrize("name", [*DAMAGE, *IN_TABLES])
def test_a_damaged_gradebook_is_said_and_comes_back(results, handed_in, here, tmp_path, capsys, name):
    for seed in range(
        3 if name in DAMAGE and name not in ("all of it", "another file", "pages that changed places") else 1
    ):
        folder = damaged(results, tmp_path / str(seed), name, seed)
        book = folder / NAME
        before = book.read_bytes()
        words = ["show"], ["show", "bob"], ["history"], ["export"]
        told = [says(capsys, by_hand.main, folder, *word) for word in words]
        told.append(says(capsys, run.main, handed_in, "--out", folder, "--quiet"))
        told.append(says(capsys, by_hand.main, folder, "override", "ada", "04.1", "1", "--reason", "r"))
        if all(status for status, _ in told):
            assert book.read_bytes() == before, "what is damaged was written to"
            assert all("restore" in text for _, text in told)
        status, text = says(capsys, by_hand.main, folder, "restore")
        assert status == 0 or "is whole" in text
        assert says(capsys, run.main, handed_in, "--out", folder, "--quiet")[0] == 0
        assert given(folder).items() >= ALL.items()
        assert "bob" in says(capsys, by_hand.main, folder, "show")[1]
        if status == 0:
            (aside,) = folder.glob("gradebook-damaged-1.db")
            assert aside.read_bytes()[:100] == before[:100]


VALUES = ["'x'", "-1e300", "'{'", "'[]'", "'{\"a\": 1}'", "'null'", "9223372036854775807"]


def test_no_value_of_any_column_ends_in_a_traceback(results, handed_in, here, tmp_path, capsys):
    """SQLite takes any value in any column, whatever the column is declared to hold."""
    folder = tmp_path / "out"
    shutil.copytree(results, folder)
    book = folder / NAME
    with closing(sqlite3.connect(book)) as db:
        with db:
            db.execute(
                "INSERT INTO comments VALUES (1, 'bob', ?, '04.4', 'good', 'me', '2026-11-28')", (c.BOOK,)
            )
            db.execute("INSERT INTO returned VALUES (1, 'bob', '2026-11-28', 'folder', '{}')")
            names = "student, notebook, status, file, digest, handed_in, notes, asked, job, run, seconds"
            db.execute(f"INSERT INTO attempts SELECT {names}, '[]' FROM submissions")
        tables = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = [(table, row[1]) for table in tables for row in db.execute(f"PRAGMA table_info({table})")]
    whole, refused = book.read_bytes(), 0
    for number, (table, column) in enumerate(columns):
        for value in (VALUES[number % len(VALUES)], *(["x'ff00'"] if number % 3 == 0 else [])):
            book.write_bytes(whole)
            with closing(sqlite3.connect(book)) as db, contextlib.suppress(sqlite3.Error), db:
                db.execute(f'UPDATE {table} SET "{column}" = {value}')
            for main, *words in (
                (by_hand.main, folder, "show", "bob"), (run.main, handed_in, "--out", folder, "--quiet", "--no-feedback"),
                (by_hand.main, folder, "override", "ada", "04.1", "1", "--reason", "r"),
            ):  # fmt: skip
                refused += says(capsys, main, *words)[0] == 2
    assert len(columns) > 50
    assert refused > 60


def test_without_a_backup_all_that_was_done_by_hand_comes_back(results, handed_in, here, tmp_path, capsys):
    """From its copy; and without that, too, as far as SQLite can read what is damaged."""
    for number, lost in enumerate(("backups", "by_hand.json")):
        folder = damaged(results, tmp_path / str(number), "a table less")
        shutil.rmtree(folder / "backups")
        if lost == "by_hand.json":
            (folder / lost).unlink()
        status, text = says(capsys, by_hand.main, folder, "restore")
        assert status == 0
        assert "no backup" in text
        assert says(capsys, run.main, handed_in, "--out", folder, "--quiet")[0] == 0
        with Gradebook(folder / NAME) as book:
            entry = next(entry for entry in book.entries() if entry.student == "bob")
            assert (entry.overrides["04.4"].reason, entry.penalty > 0) == (REASON, True)
        assert given(folder) == ALL


def test_a_gradebook_that_was_moved_away_gives_its_overrides_to_the_next(
    results, handed_in, here, tmp_path, capsys
):
    folder = damaged(results, tmp_path / "out", "all of it")
    (folder / NAME).unlink()
    assert "entries of by_hand.json" in "".join(says(capsys, run.main, handed_in, "--out", folder)[1])
    assert given(folder) == ALL


@pytest.mark.parametrize("words", [["restore"], ["import", "@"], ["show"], ["export"]])
def test_where_there_is_no_gradebook_none_is_made(results, tmp_path, capsys, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    words = [str(results / "by_hand.json") if word == "@" else word for word in words]
    assert says(capsys, by_hand.main, "nowhere", *words)[0] == 2
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_killed_before_its_first_table_left_an_empty_gradebook(tmp_path, capsys):
    """An empty file is damage only where there was more."""
    (tmp_path / NAME).touch()
    assert "nothing was graded yet" in says(capsys, by_hand.main, tmp_path, "show")[1]
    (tmp_path / NAME).write_bytes(b"")
    (tmp_path / "by_hand.json").write_text("{}")
    assert "restore" in says(capsys, by_hand.main, tmp_path, "show")[1]


FOREIGN = {
    "of something else": ("CREATE TABLE photos (name TEXT)", 0),
    "of something else with our number": ("CREATE TABLE submissions (name TEXT)", 1),
    "of something else with a high number": ("CREATE TABLE results (name TEXT)", 99),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_database_of_something_else_is_not_touched(handed_in, here, tmp_path, capsys, name):
    statement, version = FOREIGN[name]
    path = tmp_path / NAME
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    for main, words in ((run.main, (handed_in, "--out", tmp_path, "--quiet")), (by_hand.main, (tmp_path, "show")),
                        (by_hand.main, (path,)), (by_hand.main, (tmp_path, "import", path))):  # fmt: skip
        status, text = says(capsys, main, *words)
        assert status == 2
        assert "of something else" in text
    assert path.read_bytes() == before
    assert {one.name for one in tmp_path.iterdir()} <= {NAME, ".grading"}


# --- from one gradebook to another ------------------------------------------------------------------------


def test_export_and_import(results, tmp_path, capsys):
    """What was done by hand goes to another gradebook, once, and the later decision counts, whichever came first."""
    assert says(capsys, by_hand.main, results, "export", "--out", tmp_path / "tables")[0] == 0
    exported = tmp_path / "tables" / "by_hand.json"
    other = tmp_path / "other"
    other.mkdir()
    for source, new in (
        (exported, True),
        (exported, False),
        (results / NAME, False),
        (next((results / "backups").iterdir()), False),
    ):
        status, text = says(capsys, by_hand.main, other, "import", source)
        assert status == 0
        assert (", 0 of them new" in text) != new
    assert given(other) == ALL
    shutil.copytree(results, tmp_path / "copy")
    told = json.loads(exported.read_text())
    told["overrides"] = [
        told["overrides"][0] | {"at": when, "points": points}
        for when, points in (("2027-01-01", 1.0), ("2026-01-01", 2.0))
    ]
    exported.write_text(json.dumps(told))
    assert says(capsys, by_hand.main, tmp_path / "copy", "import", exported)[0] == 0
    with Gradebook(tmp_path / "copy" / NAME) as book:
        entry = next(entry for entry in book.entries() if entry.student == "bob")
        assert entry.overrides["04.4"].points == 1.0


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{", "null", '{"format": "autograd-lab-by-hand", "version": 2}', '{"format": "autograd-lab-by-hand", "version": 1, "overrides": 3}',
     '{"format": "autograd-lab-by-hand", "version": 1, "overrides": [{"student": "bob"}]}',
     '{"format": "autograd-lab-by-hand", "version": 1, "settings": [{"name": [], "value": {}}]}',
     '{"format": "autograd-lab-by-hand", "version": 1, "overrides": [[1, 2]]}', "student,points", "[" * 100_000, "SQLite format 3\0" + "x" * 5000],
)  # fmt: skip
def test_what_is_no_list_of_what_was_done_is_refused(results, tmp_path, capsys, text):
    (tmp_path / "by_hand.json").write_text(text)
    shutil.copytree(results, tmp_path / "out")
    status, said = says(capsys, by_hand.main, tmp_path / "out", "import", tmp_path / "by_hand.json")
    assert status == 2 or "0 entries" in said or "1 of them do not fit" in said
    assert given(tmp_path / "out") == ALL
    assert says(capsys, by_hand.main, tmp_path / "out", "import", tmp_path / "none")[0] == 2


def test_only_the_last_backups_are_kept_and_none_twice(results, tmp_path):
    folder = tmp_path / "out"
    shutil.copytree(results, folder)
    with Gradebook(folder / NAME) as book:
        made = []
        for number in range(5):
            book.set("late penalty", number / 10)
            made.append(book.back_up())
            assert book.back_up() is None
    assert sorted((folder / "backups").iterdir()) == made[-rescue.KEEP :]


# --- a full disk --------------------------------------------------------------------------------------------

FULL = """
import ctypes, json, os, shutil, sys
sys.path.insert(0, {here!r})
libc = ctypes.CDLL(None, use_errno=True)
user, group = os.getuid(), os.getgid()
if libc.unshare(0x00020000 | (0x10000000 if user else 0)):
    sys.exit(77)
if user:
    open("/proc/self/setgroups", "w").write("deny")
    open("/proc/self/uid_map", "w").write(f"0 {{user}} 1")
    open("/proc/self/gid_map", "w").write(f"0 {{group}} 1")
top, place = sys.argv[1:]

def mount(size, flags=0):
    if libc.mount(b"none", place.encode(), b"tmpfs", flags, f"size={{size}}k".encode()):
        sys.exit(77)

libc.mount(b"none", b"/", None, 16384 | (1 << 18), None)
import classroom as c
from autograd_lab.grade import by_hand, run
run._engine = lambda *_: c.HereRunner()
told = []
override = [place + "/out", "override", "bob", "04.4", "3", "--reason", "r", "--author", "me"]
words = [top, "--out", place + "/out", "--quiet", "--no-feedback"]
for size in (16, 60, 120, 200, 280):
    mount(size)
    first = run.main(words)
    second = by_hand.main(override)
    libc.mount(b"none", place.encode(), b"tmpfs", 32, b"size=20000k")  # remounted: there is room now
    last = run.main(words), by_hand.main(override), by_hand.main([place + "/out", "show"])
    left = [name for _, _, names in os.walk(place) for name in names if name.startswith(".writing")]
    rows = [item for one in json.load(open(place + "/out/grades.json"))["students"] for book in one["notebooks"] for item in book["items"]]
    told.append([size, first, second, last, left, [[row["item"], row["points"], row["status"]] for row in rows]])
    libc.umount2(place.encode(), 2)
print("TOLD " + json.dumps(told))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a small disk is a mount")
def test_a_full_disk_is_said_and_with_room_all_goes_on(handed_in, tmp_path):
    place = tmp_path / "disk"
    place.mkdir()
    command = [sys.executable, "-c", FULL.format(here=str(HERE)), str(handed_in), str(place)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if ended.returncode == 77:
        pytest.skip("nothing can be mounted here")
    assert "Traceback" not in ended.stderr
    line = next(line for line in ended.stdout.splitlines() if line.startswith("TOLD "))
    told = json.loads(line.removeprefix("TOLD "))
    assert {first for _, first, *_ in told} == {0, 2}, "some disks are too small, and some are not"
    assert ended.stderr.count("What to do: free some space") >= sum(first == 2 for _, first, *_ in told)
    for _, _, _, last, left, rows in told:
        assert last == [0, 0, 0]
        assert left == []
        assert rows == told[-1][-1]


# --- what killed graders leave ----------------------------------------------------------------------------------

LEAVES = """
import os, sys
from autograd_lab.grade.files import Scratch
made = Scratch()
(made.path / "deep").mkdir()
(made.path / "deep" / "closed").mkdir(mode=0)
(made.path / "deep" / "file").write_text("x")
(made.path / "deep" / "out").symlink_to(sys.argv[1])
(made.path / "deep").chmod(0o500)
print(made.path, flush=True)
sys.stdin.read()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL there")
def test_the_next_grader_removes_what_killed_ones_left(tmp_path, monkeypatch):
    """And nothing else: neither what another one uses, nor what a link leads to, nor folders of other names."""
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    place = tmp_path / "tmp"
    place.mkdir()
    (place / "autograd-lab-other").mkdir()
    (place / "autograd-lab-grade-link").symlink_to(kept)
    environment = {**os.environ, "TMPDIR": str(place)}
    started = [
        subprocess.Popen(
            [sys.executable, "-c", LEAVES, str(kept)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        for _ in range(2)
    ]
    left, used = (Path(one.stdout.readline().strip()) for one in started)
    started[0].kill()
    started[0].communicate()
    monkeypatch.setattr(files.tempfile, "tempdir", str(place))
    assert left.exists()
    with files.Scratch() as own:
        assert {one.name for one in place.iterdir()} == {
            own.name,
            used.name,
            "autograd-lab-other",
            "autograd-lab-grade-link",
        }
    assert (kept / "file").exists()
    started[1].communicate()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL there")
def test_terminated_it_cleans_up_and_killed_the_next_run_does(tmp_path):
    """The command itself: while it draws the pages, which takes a second folder, and as soon as it has made its first."""
    place = tmp_path / "tmp"
    place.mkdir()
    c.hand_in(tmp_path / "in", "ada", c.solved(a4="def backward(root):\n    raise ValueError"))
    words = [
        "grade",
        str(tmp_path / "in"),
        "--out",
        str(tmp_path / "out"),
        "--workers",
        "1",
        "--no-require-sandbox",
    ]
    command = [sys.executable, "-m", "autograd_lab", *words, "--regrade"]
    environment = {**os.environ, "TMPDIR": str(place)}
    for number, folders, left in ((signal.SIGTERM, 2, 0), (signal.SIGKILL, 1, 1), (None, 0, 0)):
        before, seen = set(place.iterdir()), set()
        with subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            while len(seen) < folders:
                assert process.poll() is None
                seen |= {path.parent for path in place.glob("*/.in-use")} - before
                time.sleep(0.01)
            if number:
                process.send_signal(number)
            said = process.communicate(timeout=120)[1].decode()
        assert "Traceback" not in said
        assert len(list(place.iterdir())) == left, said
        assert process.returncode == {signal.SIGTERM: 130, signal.SIGKILL: -signal.SIGKILL, None: 0}[number]


def test_an_engine_leaves_nothing_and_makes_all_in_one_folder(tmp_path, monkeypatch):
    import tiny

    monkeypatch.setattr(files.tempfile, "tempdir", str(tmp_path))
    seen = set()
    with Engine(tiny.ITEMS, workers=1, require_sandbox=False, without=["mount namespace"]) as engine:
        job = tiny.job(
            extra={
                "1.1": "import tempfile\nopen('mine', 'w').write('x')\ntempfile.mkdtemp()\nimport os\nos.mkdir('closed', 0)"
            }
        )
        for _ in engine.run([job]):
            seen |= {path.name for path in tmp_path.iterdir()}
    assert [name.startswith(files.PREFIX) for name in seen] == [True]
    assert list(tmp_path.iterdir()) == []


# --- all that is done by hand --------------------------------------------------------------------------------


def test_policy_comments_and_what_students_have_come_back_as_well(tmp_path):
    with Gradebook(tmp_path / NAME, create=True) as book:
        book.record("ada", "04_nodes", [Result("ada", "04_nodes", "04.1", 1.0, 4.0, "wrong")], {}, digest="d")
        book.comment("ada", "04.1", "Well begun.", "me")
        book.set_policy({"grace": 60.0, "extensions": {"ada": {"": ["", 2, "ill"]}}}, "me")
        book.set("tokens", {"ada": "0123"})
        book.give_back({"ada": {"04_nodes": {}}}, "folder")
        path = book.save_by_hand(tmp_path)
    (tmp_path / "other").mkdir()
    with Gradebook(tmp_path / "other" / NAME, create=True) as other:
        other.take_by_hand(rescue.read(path))
        other.record(
            "ada", "04_nodes", [Result("ada", "04_nodes", "04.1", 1.0, 4.0, "wrong")], {}, digest="d"
        )
        (entry,) = other.entries()
        assert entry.comments["04.1"].text == "Well begun."
        assert other.setting("extensions") == {"ada": {"": ["", 2, "ill"]}}
        assert other.setting("tokens") == {"ada": "0123"}
        assert [version for _, version in other.returned()["ada"]] == [{"04_nodes": {}}]
