"""A student's folder through a semester: random walks over what students do, and what the documents promise after each step."""

import json
import os
import random
import re
import shutil
import zipfile

import classroom as c
import pytest

from autograd_lab import cli
from autograd_lab.course import feedback, resources, scores
from autograd_lab.course.items import shipped
from autograd_lab.grade import beside, collect, merge, reading, submit
from autograd_lab.grade import submissions as s

BOOKS = (c.BOOK, c.OTHER)
RIGHT = {"04.1": [12, 4, 12, 160]}
COPY = re.compile(r" ?\(\d+\)$|-Copy\d+$| \(new version( \d+)?\)$")


def forget():
    submit._books.cache_clear()
    getattr(submit, "_shelf", submit._books).cache_clear()


class Course:
    """A stand-in for the installed release."""

    def __init__(self, root):
        self.root, self.number = root, 1
        for name in BOOKS:
            for folder in ("notebooks", "exercises"):
                (root / folder).mkdir(parents=True, exist_ok=True)
                shutil.copy(c.ROOT / folder / f"{name}.ipynb", root / folder)

    def release(self):
        self.number += 1
        for path in self.root.rglob("*.ipynb"):
            book = json.loads(path.read_text(encoding="utf-8"))
            text = "".join(book["cells"][0]["source"])
            book["cells"][0]["source"] = f"{text.split(' (release')[0]} (release {self.number})"
            for cell in book["cells"]:
                if cell["id"] == "04-2-answer":  # what is to be filled in is the same
                    cell["source"] = f"order = ...  # release {self.number}"
            path.write_text(json.dumps(book), encoding="utf-8")


class Student:
    """One folder, what the walk knows to be the student's in it, and what was handed in."""

    def __init__(self, top, seed, patch, capsys):
        self.top, self.random, self.capsys = top, random.Random(seed), capsys
        self.course, self.work = Course(top / "course"), top / "work"
        patch.setattr(cli, "course_root", lambda: self.course.root)
        patch.setattr(submit, "course_root", lambda: self.course.root)
        patch.setattr(scores, "_session", {})
        patch.delenv(scores.ENVIRONMENT, raising=False)
        self.patch = patch
        self.mine: dict[str, bytes] = {}
        """Files with the student's work, by their paths in the working folder."""
        self.links: dict[str, str] = {}
        self.said: dict[str, set[str]] = {}
        """{file: the items answered in it}"""
        self.clock, self.count, self.variant, self.passed = 1_000_000_000, 0, None, False
        self.open()

    # --- the lab ---

    def run(self, *words):
        self.capsys.readouterr()
        status = cli.main(list(map(str, words)))
        out, err = self.capsys.readouterr()
        assert "Traceback" not in err
        return status, out + err

    def open(self, *words):
        status, text = self.run("--copy-only", "--dir", self.work, *words)
        assert status == 0, text
        self.kept()
        for file in resources.course_files(self.course.root):
            path = self.work / resources.students_name(file)
            key = path.relative_to(self.work).as_posix()
            now = self.shipped(file)
            if key not in self.mine:
                assert path.read_bytes() == now, f"{key} does not follow the release"
            elif f"beside it is the new {path.stem} (" in text:
                near = [one for one in path.parent.iterdir() if one.stem.startswith(path.stem + " (new")]
                assert any(one.read_bytes() == now for one in near), f"no new version beside {key}"
        again = {path: path.read_bytes() for path in self.work.rglob("*.ipynb")}
        status, text = self.run("--copy-only", "--dir", self.work)  # nothing has changed since
        now = {path: path.read_bytes() for path in self.work.rglob("*.ipynb")}
        assert now == again, "opening it once more changed a notebook"
        assert "beside it is the new" not in text

    def shipped(self, file):
        return resources.exercise_copy(self.course.root / file, self.variant, home=True)[0]

    def kept(self):
        for key, data in self.mine.items():
            path = self.work / key
            assert path.is_file(), f"{key} is gone"
            assert path.read_bytes() == data, f"{key} was changed"
        for key, target in self.links.items():
            path = self.work / key
            assert path.is_symlink(), f"the link {key} is gone"
            assert str(path.readlink()) == target

    # --- what a student does ---

    def books(self):
        """The notebooks in exercises/ that can be opened."""
        found = []
        for path in sorted((self.work / "exercises").glob("*.ipynb")):
            try:
                json.loads(path.read_text(encoding="utf-8"))["cells"]
            except (ValueError, OSError):
                continue
            found.append(path)
        return found

    def key(self, path):
        return path.relative_to(self.work).as_posix()

    def tick(self, path):
        self.clock += 60
        os.utime(path, (self.clock, self.clock))

    def save(self, path, book, *items):
        path.write_text(json.dumps(book), encoding="utf-8")
        self.tick(path)
        self.mine[self.key(path)] = path.read_bytes()
        self.said[self.key(path)] = self.said.get(self.key(path), set()) | set(items)

    def act_open(self):
        self.open()

    def act_variant(self):
        self.variant = self.random.choice([7, 8])
        self.open("--variant", self.variant)

    def act_release(self):
        self.course.release()
        forget()
        self.open()

    def act_answer(self):
        path = self.random.choice(self.books())
        book = json.loads(path.read_text(encoding="utf-8"))
        cells = [one for one in book["cells"] if one["id"].endswith("-answer")]
        if not cells:
            return
        cell = cells[0] if self.random.random() < 0.4 else self.random.choice(cells)
        item = cell["id"].removesuffix("-answer").replace("-", ".")
        self.count += 1
        right = item == "04.1"
        cell["source"] = f"answer = [12, 4, 12, 160]  # {self.count}" if right else f"mine = {self.count}"
        self.save(path, book, item)
        if right:  # as the kernel does
            self.patch.chdir(path.parent)
            feedback.check("04.1", RIGHT["04.1"])
            self.passed = True

    def act_own_cell(self):
        path = self.random.choice(self.books())
        book = json.loads(path.read_text(encoding="utf-8"))
        self.count += 1
        uses = self.random.choice(["import one", "%time 1\nimport one", "open('my data.csv')", "1"])
        (path.parent / "one.py").write_text("import two\n")
        (path.parent / "two.py").write_text("n = 1\n")
        (path.parent / "my data.csv").write_text("1,2\n")
        book["cells"].append(c.code(f"{uses}\n# {self.count}", f"own{self.count}"))
        self.save(path, book)

    def act_scratch(self):
        path = self.work / "exercises" / self.random.choice(["notes-2.ipynb", "Untitled.ipynb"])
        self.save(path, {"cells": [c.code("1 + 1")], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})

    def move(self, old, new):
        if new.exists() or new.is_symlink():
            return
        for known in (self.mine, self.said, self.links):
            if self.key(old) in known:
                known[self.key(new)] = known.pop(self.key(old))
        old.rename(new)
        self.mine[self.key(new)] = new.read_bytes()
        self.said.setdefault(self.key(new), set())

    def other_name(self, path):
        return path.with_name(self.random.choice([f"{path.stem} (1)", f"{path.stem}-Copy1"]) + ".ipynb")

    def act_rename(self):
        path = self.random.choice(self.books())
        self.move(path, self.other_name(path))

    def act_copy(self):
        path = self.random.choice(self.books())
        new = self.other_name(path)
        if not new.exists():
            self.save(new, json.loads(path.read_text(encoding="utf-8")), *self.said.get(self.key(path), ()))

    def act_delete(self):
        path = self.random.choice(self.books())
        for known in (self.mine, self.said, self.links):
            known.pop(self.key(path), None)
        path.unlink()

    def act_damage(self):
        path = self.random.choice(self.books())
        path.write_bytes(path.read_bytes()[:500])
        self.mine[self.key(path)] = path.read_bytes()

    def act_link(self):
        """The notebook goes to another disk, which may be gone later."""
        path = self.random.choice(self.books())
        if path.is_symlink():
            return
        away = self.top / f"disk-{self.count}-{self.random.random()}.ipynb"
        path.rename(away)
        path.symlink_to(away)
        self.mine[self.key(path)], self.links[self.key(path)] = away.read_bytes(), str(away)
        self.said.setdefault(self.key(path), set())
        if self.random.random() < 0.5:
            gone = away.with_suffix(".gone")
            away.rename(gone)
            data = self.mine.pop(self.key(path))
            self.kept()
            status, text = self.run("--copy-only", "--dir", self.work)
            assert status == 0, text
            assert path.is_symlink(), f"the link {self.key(path)} is gone"
            gone.rename(away)
            self.mine[self.key(path)] = data

    def act_read_only(self):
        self.random.choice(self.books()).chmod(0o444)

    def act_move_folder(self):
        new = self.top / f"work {self.clock}"
        self.patch.chdir(self.top)
        self.work.rename(new)
        self.work = new

    # --- handing in ---

    def act_submit(self):
        begun: dict[str, list[str]] = {}
        broken = False
        for path in (self.work / "exercises").glob("*.ipynb"):
            stem, last = path.stem.removeprefix("exercise_"), ""
            while stem != last:
                stem, last = COPY.sub("", stem), stem
            if stem in BOOKS:
                broken |= path not in self.books()
                if self.said.get(self.key(path)):
                    begun.setdefault(stem, []).append(self.key(path))
        inbox = self.top / "inbox"
        inbox.mkdir(exist_ok=True)
        before = {path: path.read_bytes() for path in inbox.rglob("*") if path.is_file()}
        words = self.random.choice([["--out", inbox / "Jané D.zip"], ["--to", inbox]])
        which = self.random.choice(["", "", "04"])
        if which:
            plain = f"exercises/exercise_{c.BOOK}.ipynb"
            broken = (self.work / plain).exists() and self.work / plain not in self.books()
            files = [key for key in begun.get(c.BOOK, ()) if broken or self.work / key in self.books()]
            begun = {c.BOOK: files} if files else {}
            if not begun:
                return
        status, text = self.run("submit", *which.split(), "--dir", self.work, "--name", "Jané D", *words)
        for path, data in before.items():
            assert path.read_bytes() == data
        new = [path for path in inbox.rglob("*") if path.is_file() and path not in before]
        if broken or not begun or any(len(files) > 1 for files in begun.values()):
            assert status == 2, text
            assert not new
            return
        assert status == 0, text
        self.clock += 60
        for path in new:
            os.utime(path, (self.clock, self.clock))
        out = self.top / "out"
        out.mkdir(exist_ok=True)
        released = submit._books()
        with collect.collected(inbox, out) as download:
            found = s.find(download.folder, merge.shelf(released.values()), download=download)
            read = {one.notebook: (s.load(one.file), beside.beside(one.file)[0]) for one in found.submissions}
        for book, (key,) in begun.items():
            data, helpers = read[book]
            assert data == self.mine[key], f"the grader does not read the {key} that was handed in last"
            job = merge.merge(released[book], reading.read(data))
            answered = {
                cell.item for cell in job.cells if "mine =" in cell.source or "answer = [12" in cell.source
            }
            assert answered == self.said[key]
            still = [item for item in released[book].items if item not in self.said[key]]
            assert not still or f"still as handed out: {', '.join(still)} (" in text
            code = "\n".join(cell.source for cell in job.cells)
            assert "import one" not in code or {"one.py", "two.py"} <= set(helpers)
            assert "my data" not in code or "my data.csv" in helpers
        for path in new:
            if path.suffix == ".zip":
                names = {name for name in zipfile.ZipFile(path).namelist() if name.endswith(".ipynb")}
                assert len(names) == len(begun)

    def look(self):
        self.kept()
        self.patch.chdir(self.work / "exercises")
        self.patch.setattr(scores, "_session", {})
        earned = scores.load().get("04.1", {}).get("state") == "passed"
        assert earned == self.passed


@pytest.mark.parametrize("seed", range(int(os.environ.get("SEMESTERS", "10"))))
def test_a_semester_loses_nothing_and_hands_in_what_is_there(tmp_path, monkeypatch, capsys, seed):
    assert shipped()["04.1"]
    forget()
    try:
        student = Student(tmp_path, seed, monkeypatch, capsys)
        acts = sorted(name for name in dir(Student) if name.startswith("act_"))
        often = {"act_answer": 4, "act_submit": 6, "act_own_cell": 3, "act_damage": 0.3, "act_copy": 0.5}
        weights = [often.get(name, 1) for name in acts]
        for _ in range(25):
            name = student.random.choices(acts, weights)[0]
            print(name)
            if student.books():
                getattr(student, name)()
            student.look()
    finally:
        forget()
