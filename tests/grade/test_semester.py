"""What an instructor does in a semester, in any order: after each step everything tells the points that the guide promises."""

import contextlib
import io
import json
import random
import re
import shutil
import sqlite3
import tempfile
import zipfile
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import semester as s
from classroom import stand_in
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from autograd_lab.grade import by_hand, gradebook, hand_back, run
from autograd_lab.grade.gradebook import NAME

CLASS = ("ada", "bob", "cleo", "dora")
"""The last comes later."""
NUMBER = {student: str(1000 + 7 * place) for place, student in enumerate(CLASS)}
TIMES = (-26, -3, 1 / 6, 5, 23, 25, 70, 170, 200)
"""Hours after the due date."""
students, books = st.sampled_from(CLASS[:3]), st.sampled_from(list(s.BOOKS))
items = st.sampled_from(list(s.BOOK_OF))
answers = st.fixed_dictionaries(
    {},
    optional={
        "91.1": st.sampled_from([7, 8, 9]),
        "91.2": st.sampled_from([[1, 2, 3], [1, 3, 2], [0, 0, 0]]),
        "92.1": st.sampled_from([5, 6]),
    },
)
options = st.fixed_dictionaries(
    {},
    optional={
        "--due": st.tuples(st.sampled_from(["", "91", "92"]), st.sampled_from([0, 24, 72])),
        "--late-penalty": st.sampled_from([0, 10, 33.3, 100]),
        "--grace": st.sampled_from(["0", "15m", "1d"]),
        "--late-cap": st.sampled_from([50, 100]),
        "--late-ceiling": st.sampled_from([60, 100]),
        "--closes": st.sampled_from(["never", "2d", "7d"]),
        "--count": st.sampled_from(["latest", "best"]),
        "--extensions": st.dictionaries(
            st.tuples(students, st.sampled_from(["", "91", "92"])),
            st.sampled_from([1, 3, "until"]),
            max_size=2,
        ),
    },
)
LENGTHS = {"0": 0, "15m": 0.25, "1d": 24, "2d": 48, "7d": 168}


def hours(number):
    return timedelta(hours=number)


class Semester(RuleBasedStateMachine):
    """One folder of results, from the first submission to the last page."""

    def __init__(self):
        super().__init__()
        self.place = Path(tempfile.mkdtemp(prefix="semester-"))
        self.top, self.out = self.place / "submissions", self.place / "results"
        self.book, self.key = s.Book(), s.Key()
        self.files: dict[tuple[str, str], dict[str, s.Work]] = {}
        self.roster = list(CLASS[:3])
        self.handles: dict[tuple[str, str], str] = {}
        self.backups: dict[str, s.Book] = {}
        self.tokens: dict[str, str] = {}
        self.ran: list[tuple[str, str]] = []
        self.at = lambda number: None
        self.clock = datetime(2026, 9, 1, tzinfo=UTC)
        self.count = 0
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(run, "meanwhile", lambda work: contextlib.nullcontext(work()))  # copies take long
        stand_in(self.patch, lambda *_: s.Runner(self.ran, lambda number: self.at(number)))
        for module in (run, hand_back):
            self.patch.setattr(module, "load_course", lambda *_: s.course(self.key))
        self.patch.setattr(gradebook, "_now", self._now)
        self.patch.setattr(by_hand, "course_root", lambda: self.place)
        for book in s.BOOKS:
            s.put(self.place / "exercises" / f"{book}.ipynb", s.notebook(book, {}), s.DUE)

    def teardown(self):
        self.patch.undo()
        shutil.rmtree(self.place, ignore_errors=True)

    def _now(self):
        self.clock += timedelta(seconds=1)
        return self.clock.isoformat(timespec="seconds")

    # --- helpers ---

    def command(self, main, *words, status=0):
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            got = main(list(map(str, words)))
        assert got == status, f"{words}: {said.getvalue()}"
        return said.getvalue()

    def by_hand(self, *words, status=0):
        return self.command(by_hand.main, self.out, *words, status=status)

    def contents(self):
        """All that is in the folder of results, and in the gradebook."""
        found = {
            str(path.relative_to(self.out)): path.read_bytes()
            for path in self.out.rglob("*")
            if path.is_file() and not path.name.startswith((NAME, ".grading"))
        }
        with closing(sqlite3.connect(self.out / NAME)) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                found[f"table {table}"] = repr(db.execute(f"SELECT * FROM {table}").fetchall()).encode()
        return found

    def nothing_changes(self, do):
        before = self.contents()
        do()
        after = self.contents()
        assert before.keys() == after.keys()
        for name, old in before.items():
            new = after[name]
            place = next((i for i, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
            assert new == old, (name, old[place - 60 : place + 600], new[place - 60 : place + 600])

    def csv(self, head, lines):
        path = self.place / "table.csv"
        path.write_text(s.table(head, lines), encoding="utf-8")
        return path

    # --- what comes in ---

    @initialize(
        first=st.lists(st.tuples(students, books, answers, st.sampled_from(TIMES)), min_size=1, max_size=4),
        lms=st.sampled_from(["canvas", "moodle"]),
        chosen=st.one_of(
            st.just({}), options.map(lambda some: {"--due": ("", 0), "--late-penalty": 33.3, **some})
        ),
    )
    def begins(self, first, lms, chosen):
        self.lms = lms
        self.write_roster()
        for student, book, given, when in first:
            self.save(student, book, given, when, "exercise_{}.ipynb")
        self.grade(chosen, "folder", True, {}, "", "", None)

    def write_roster(self):
        lines = [
            (one, f"{one.title()} Lovelace", f"{one}@x.edu", NUMBER[one], NUMBER[one]) for one in self.roster
        ]
        (self.place / "class.csv").write_text(s.table("student,name,email,canvas id,moodle id", lines))

    def save(self, student, book, given, when, form):
        if form == "unreadable":
            data, given, form = s.UNREADABLE, None, "exercise_{}.ipynb"
        else:
            given = {item: value for item, value in given.items() if item in s.BOOKS[book]}
            self.count += 1
            data = s.notebook(book, given, f"version {self.count}" if given else "")
        self.count += 1
        at = s.DUE + hours(when) + timedelta(seconds=self.count)
        work = s.Work(form.format(book), data, given, at)
        self.files.setdefault((student, book), {})[work.name] = work
        s.put(self.top / student / work.name, data, at)

    @rule(
        student=students, book=books, given=answers, when=st.sampled_from(TIMES),
        at_once=st.booleans(),
        form=st.sampled_from(
            ["exercise_{}.ipynb", "exercise_{}.ipynb", "exercise_{} (1).ipynb", "exercise_{}-2.ipynb", "ps4/{}.ipynb", "unreadable"]
        ),
    )  # fmt: skip
    def hands_in(self, student, book, given, when, form, at_once):
        self.save(student, book, given, when, form)
        if at_once:
            self.grade({}, "folder", True, {}, "", "", None)

    @precondition(lambda self: any(self.files.values()))
    @rule(data=st.data())
    def takes_a_file_away(self, data):
        who = data.draw(st.sampled_from(sorted(who for who, some in self.files.items() if some)))
        name = data.draw(st.sampled_from(sorted(self.files[who])))
        del self.files[who][name]
        (self.top / who[0] / name).unlink()

    @rule()
    def enrolls(self):
        self.roster = list(CLASS)
        self.write_roster()

    @rule(worth=st.sampled_from([2, 5]), right=st.sampled_from([5, 6]))
    def changes_the_key(self, worth, right):
        self.key = s.Key(worth, right)

    # --- grading ---

    def newest_first(self, who):
        files = self.files.get(who, {}).values()
        return sorted(files, key=lambda work: (not work.blank, work.at), reverse=True)

    def found(self, source, roster, only, wanted, times):
        """{(student, notebook): the files that a run finds there, the newest first}, and where it looks."""
        place = self.top
        there = {who: self.newest_first(who) for who, some in self.files.items() if some}
        if source == "download":
            place = self.place / "download"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            for number, who in enumerate(sorted(there, key=lambda who: max(w.at for w in there[who]))):
                work = max(there[who], key=lambda work: work.at)
                student, name = who[0], work.name.rpartition("/")[2]
                if self.lms == "canvas":
                    path = place / f"lovelace{student}_{NUMBER[student]}_{100_000 + number}_{name}"
                else:
                    path = (
                        place / f"{student.title()} Lovelace_{NUMBER[student]}_assignsubmission_file_" / name
                    )
                s.put(path, work.data, work.at)
                there[who] = [replace(work, at=None)]
        chosen = {only} if only else {student for student, _ in there} | set(self.roster if roster else ())
        there = {who: files for who, files in there.items() if who[0] in chosen}
        if not only and source == "folder":
            chosen |= {path.name for path in self.top.iterdir()}
        names = wanted or sorted({book for _, book in there})
        for who, files in there.items():
            if who[0] in times:
                files[0] = replace(files[0], at=times[who[0]])
                files[1:] = [replace(work, at=min(work.at, times[who[0]])) for work in files[1:]]
        return {
            (student, book): there.get((student, book), []) for student in chosen for book in names
        }, place

    def words_of(self, chosen):
        """The words of a command for options of the policy, and the policy then."""
        rules, words = self.book.rules, []
        if "--extensions" in chosen and not rules.due and "--due" not in chosen:
            chosen = {**chosen, "--due": ("", 0)}
        for name, value in chosen.items():
            if name == "--due":
                number, later = value
                at = s.DUE + hours(later)
                words += [name, f"{number}={at.isoformat()}" if number else at.isoformat()]
                names = [book for book in s.BOOKS if book.startswith(number)] if number else [""]
                rules = replace(rules, due={**(rules.due if number else {}), **dict.fromkeys(names, at)})
            elif name == "--extensions":
                continue
            else:
                words += [name, value]
                changed = {
                    "--late-penalty": lambda v: {"rate": v},
                    "--grace": lambda v: {"grace": hours(LENGTHS[v])},
                    "--late-cap": lambda v: {"cap": v},
                    "--late-ceiling": lambda v: {"ceiling": v},
                    "--closes": lambda v: {"closes": None if v == "never" else hours(LENGTHS[v])},
                    "--count": lambda v: {"count": v},
                }[name](value)
                rules = replace(rules, **changed)
        if "--extensions" in chosen:
            own, lines = {}, []
            for (student, number), more in chosen["--extensions"].items():
                book = next((book for book in s.BOOKS if number and book.startswith(number)), "")
                usual = rules.due.get(book, rules.due.get(""))
                if usual is None and (book or more == "until"):
                    continue
                own[student, book] = usual + 2 * s.DAY if more == "until" else more
                until = own[student, book].isoformat() if more == "until" else ""
                lines.append((student, number, until, "" if more == "until" else more))
            rules = replace(rules, extensions=own)
            path = self.place / "extensions.csv"
            path.write_text(s.table("student,notebook,until,days", lines), encoding="utf-8")
            words += ["--extensions", path]
        return words, rules

    @rule(
        chosen=st.one_of(st.just({}), st.just({}), options), source=st.sampled_from(["folder", "folder", "download"]),
        roster=st.booleans(), times=st.one_of(st.just({}), st.just({}), st.just({}), st.dictionaries(students, st.sampled_from(TIMES), max_size=1)),
        how=st.sampled_from(["", "", "", "", "again", "item", "student", "notebook"]), which=items, whose=students,
        killed=st.sampled_from([None, None, None, 0, 1]),
    )  # fmt: skip
    def grades(self, chosen, source, roster, times, how, which, whose, killed):
        self.grade(
            chosen, source, roster, times, how and f"{how} {which}", whose if how == "student" else "", killed
        )

    def grade(self, chosen, source, roster, times, how, whose, killed):
        how, _, which = how.partition(" ")
        words = ["--quiet"]
        words += ["--roster", self.place / "class.csv"] if roster else []
        words += ["--student", whose] if whose else []
        words += ["--regrade"] if how == "again" else []
        words += ["--item", which] if how == "item" else []
        wanted = [s.BOOK_OF[which]] if how in ("item", "notebook") else []
        words += ["--notebooks", wanted[0][:2]] if how == "notebook" else []
        at = {student: s.DUE + hours(number) for student, number in times.items()}
        if times:
            path = self.place / "times.csv"
            path.write_text(
                s.table("student,timestamp", [(who, when.isoformat()) for who, when in at.items()])
            )
            words += ["--timestamps", path]
        policy, rules = self.words_of(chosen)
        found, place = self.found(source, roster, whose, wanted, at)
        if not found or (not roster and not any(found.values())):
            return
        before = {path.name for path in (self.out / "backups").glob("*")}
        snapshot = s.copy(self.book)

        def grade(*more):
            self.command(run.main, place, "--out", self.out, *words, *more)

        if killed is not None:
            self.kill(killed, lambda: grade(*policy))
        grade(*policy)
        made = {path.name for path in (self.out / "backups").glob("*")} - before
        for name in made:  # the oracle does not know how far a run had come that was killed
            self.backups[name] = snapshot if name == min(made) and snapshot.counts else None
        assert len(list((self.out / "backups").glob("*"))) <= 3
        self.set_rules(rules)
        self.book.grade(found, self.key, which if how == "item" else "", how == "again")
        if source == "download":
            self.handles |= {who: self.lms for who, files in found.items() if files}
        s.compare_tables(self.book, self.out)
        s.compare_pages(self.book, self.out)
        s.compare_report(self.book, self.out)
        if how not in ("again", "item"):
            self.ran.clear()
            self.nothing_changes(grade)
            assert not self.ran

    def kill(self, after, do):
        """The machine goes down when so many have run: what is on the disk then is all there is."""
        aside = self.place / "killed"

        def at(number):
            if number == after:
                shutil.copytree(self.out, aside)
                raise s.KilledError

        self.at = at
        with contextlib.suppress(s.KilledError):
            do()
        self.at = lambda number: None
        if aside.exists():
            shutil.rmtree(self.out)
            aside.rename(self.out)

    def set_rules(self, rules):
        counted = {self.book.rules.count, rules.count}
        self.book.rules = rules
        for who in list(self.book.counts) if "best" in counted else ():
            self.book.settle(who)

    # --- policy ---

    @rule(chosen=options, dry=st.booleans())
    def changes_the_policy(self, chosen, dry):
        words, rules = self.words_of(chosen)
        if dry:
            self.nothing_changes(lambda: self.by_hand("policy", *words, "--dry-run"))
            return
        self.by_hand("policy", *words)
        self.set_rules(rules)
        s.compare_tables(self.book, self.out)
        self.nothing_changes(lambda: self.by_hand("policy"))

    @rule(chosen=options, wrong=st.booleans())
    def only_asks(self, chosen, wrong):
        if wrong:
            self.makes_a_mistake_in_the_extensions(chosen)
        elif any(self.files.values()):
            words, _ = self.words_of(chosen)
            grade = (run.main, self.top, "--out", self.out, *words, "--dry-run")
            self.nothing_changes(lambda: self.command(*grade))

    def makes_a_mistake_in_the_extensions(self, chosen):
        words, _ = self.words_of({name: value for name, value in chosen.items() if name != "--extensions"})
        path = self.csv("student,days", [("ada", "1"), ("nobody", "2")])
        words += ["--due", s.DUE.isoformat(), "--extensions", path]
        self.nothing_changes(lambda: self.by_hand("policy", *words, status=2))
        if any(self.files.values()):
            self.nothing_changes(
                lambda: self.command(run.main, self.top, "--out", self.out, *words, status=2)
            )

    # --- by hand ---

    @precondition(lambda self: self.book.counts)
    @rule(
        data=st.data(),
        points=st.sampled_from([None, 0, 1, 1.25, 2]),
        reason=st.sampled_from(["board", "mail"]),
    )
    def overrides_one(self, data, points, reason):
        known = sorted((student, item) for student, book in self.book.counts for item in s.BOOKS[book])
        again = [one for one in known if one in self.book.overrides]
        student, item = data.draw(st.sampled_from(known + 3 * again))
        if points is None:
            there = self.book.overrides.pop((student, item), None)
            words = ("withdraw", student, item, "--reason", reason)
            if there:
                self.by_hand(*words)
            else:
                self.nothing_changes(lambda: self.by_hand(*words, status=2))
        else:
            self.by_hand("override", student.title(), item, points, "--reason", reason)
            self.book.overrides[student, item] = points, reason
        s.compare_tables(self.book, self.out)

    @precondition(lambda self: self.book.counts)
    @rule(data=st.data(), text=st.sampled_from(["", "Well done.", "See <me>"]))
    def comments(self, data, text):
        who = data.draw(st.sampled_from(sorted(self.book.counts)))
        item = data.draw(st.sampled_from(["", *s.BOOKS[who[1]]]))
        self.by_hand("comment", who[0], item or who[1][:2], text)
        self.comment(who, item, text)
        s.compare_tables(self.book, self.out)

    def comment(self, who, item, text):
        self.book.comments.pop((who[0], item) if item else who, None)
        if text:
            self.book.comments[(who[0], item) if item else who] = text

    @precondition(lambda self: self.book.counts)
    @rule(
        data=st.data(), bad=st.sampled_from(["", "", "refused", "left out"]),
        cells=st.lists(st.tuples(st.sampled_from(["", "-", "0", "1,5", "2"]), st.sampled_from(["", "Come."])), min_size=1, max_size=3),
    )  # fmt: skip
    def overrides_many(self, data, bad, cells):
        known = sorted((student, item) for student, book in self.book.counts for item in s.BOOKS[book])
        rows = data.draw(st.permutations(known))
        lines, after = [], s.copy(self.book)
        for (student, item), (points, text) in zip(rows, cells, strict=False):
            points = "1.5" if points == "-" and (student, item) not in after.overrides else points
            if points == "-":
                del after.overrides[student, item]
            elif points:
                after.overrides[student, item] = float(points.replace(",", ".")), "by file"
            if text:
                after.comments[student, item] = text
            if points or text:
                lines.append((student, item, points, text))
        if bad:
            lines.append(("nobody", "91.1", "1", ""))
        path = self.csv("student,item,points,comment", lines)
        words = ["overrides", path, "--reason", "by file", *(["--good-rows"] if bad == "left out" else [])]
        status = 2 if bad == "refused" else 0
        self.nothing_changes(lambda: self.by_hand(*words, "--dry-run", status=status))
        if bad == "refused":
            self.nothing_changes(lambda: self.by_hand(*words, status=2))
            return
        self.by_hand(*words)
        self.book = after
        s.compare_tables(self.book, self.out)
        if not any(line[2] == "-" for line in lines):
            self.nothing_changes(lambda: self.by_hand(*words))

    @precondition(lambda self: len({book for _, book in self.book.counts}) > 1)
    @rule(book=books)
    def forgets(self, book):
        words = ("forget", book[:2], "--reason", "not yet assigned")
        if any(
            self.book.overrides.get((student, item))
            for student, item in self.book.overrides
            if (student, s.BOOK_OF[item]) in self.book.counts and s.BOOK_OF[item] == book
        ):
            self.nothing_changes(lambda: self.by_hand(*words, status=2))
            return
        self.by_hand(*words)
        for some in (self.book.counts, self.book.others, self.book.newest):
            for who in [who for who in some if who[1] == book]:
                del some[who]
        s.compare_tables(self.book, self.out)

    # --- giving back ---

    @precondition(lambda self: self.book.counts)
    @rule(
        way=st.sampled_from(["folder", "lms"]),
        how=st.sampled_from(["", "", "--draft", "--dry-run", "--changed"]),
    )
    def gives_back(self, way, how):
        to = self.lms if way == "lms" else way
        words = (hand_back.main, self.out, "--to", to, *([how] if how else []))
        everybody = {student for student, _ in self.book.counts}
        if how == "--changed":
            everybody = {
                one for one in everybody if self.book.given.get(one, [None])[-1] != self.book.says(one)
            }
        reached = everybody
        if to == "canvas":
            reached = {
                student for student, book in self.handles if (student, book) in self.book.counts
            } & everybody
        shutil.rmtree(self.out / f"to-{to}", ignore_errors=True)
        if how == "--dry-run":
            self.nothing_changes(lambda: self.command(*words))
            return
        said = self.command(*words)
        s.compare_pages(self.book, self.out)
        if not everybody:
            assert "there is nothing to give back" in said
            return
        assert f"{len(reached)} of {len(everybody)} students get their page" in said
        self.look_at_what_is_given(to, reached, everybody)
        if how != "--draft":
            self.book.give(reached)
        if how != "--changed":  # the others may get their links now
            draft = (hand_back.main, self.out, "--to", to, "--draft", "--out", self.place / "draft")
            self.nothing_changes(lambda: self.command(*draft))

    def look_at_what_is_given(self, to, reached, everybody):
        place = self.out / f"to-{to}"
        pages = {student: (self.out / "feedback" / f"{student}.html").read_bytes() for student in everybody}
        by_number = {number: student for student, number in NUMBER.items()}
        got = set()
        if to == "folder":
            links = {row["student"]: row["link"] for row in s.rows(self.out / "links.csv")}
            for student, link in links.items():
                assert self.tokens.setdefault(student, link) == link
            assert set(links) >= everybody
            assert {place / links[student] for student in everybody} == set(place.glob("*.html")) - {
                place / "index.html"
            }
            got = {
                student for student in everybody if (place / links[student]).read_bytes() == pages[student]
            }
        for path in place.glob("*.zip"):
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    student = by_number[re.search(r"_(\d+)_", name)[1]]
                    assert archive.read(name) == pages[student]
                    got.add(student)
        assert got == reached
        for path in place.glob("*grades.csv"):
            for row in s.rows(path):
                number = row.get("ID") or row.get("Identifier", "").removeprefix("Participant ")
                for name in s.BOOKS if number else ():
                    points = (
                        row.get(name)
                        if to == "canvas"
                        else row["Grade"]
                        if path.name.startswith(name[:2])
                        else None
                    )
                    if points:
                        assert float(points) == s.near(self.book.total((by_number[number], name))), (
                            path,
                            row,
                        )

    # --- accidents ---

    @precondition(lambda self: self.last_backup() is not None)
    @rule(seed=st.integers(0, 99), kind=st.sampled_from(["noise", "end", "head"]))
    def damages_the_gradebook(self, seed, kind):
        path, draw = self.out / NAME, random.Random(seed)
        data = path.read_bytes()
        if kind == "noise":
            data = draw.randbytes(len(data))
        elif kind == "end":
            data = data[: len(data) // 2]
        else:
            data = draw.randbytes(100) + data[100:]
        path.write_bytes(data)
        self.by_hand("show", status=2)
        self.command(run.main, self.top, "--out", self.out, status=2)
        self.by_hand("restore")
        self.back_to(self.last_backup())
        s.compare_tables(self.book, self.out)

    def last_backup(self):
        kept = sorted((self.out / "backups").glob("*.db"))
        return self.backups[kept[-1].name] if kept else s.Book()

    def back_to(self, old):
        self.book = replace(
            self.book, counts=dict(old.counts), newest=dict(old.newest),
            others={who: dict(some) for who, some in old.others.items()},
        )  # fmt: skip
        for who in list(self.book.counts):
            self.book.settle(who)

    @precondition(lambda self: self.last_backup() is not None)
    @rule()
    def loses_the_gradebook(self):
        for path in self.out.glob(f"{NAME}*"):
            path.unlink()
        if any(self.files.values()):
            self.back_to(s.Book())
            self.grade({}, "folder", True, {}, "", "", None)
        else:
            self.by_hand("restore")
            self.back_to(self.last_backup())

    @precondition(lambda self: self.book.counts)
    @rule()
    def exports(self):
        tables = self.place / "tables"
        shutil.rmtree(tables, ignore_errors=True)
        self.nothing_changes(lambda: self.by_hand("export", "--out", tables))
        s.compare_tables(self.book, tables)
        other = self.place / "other"
        shutil.rmtree(other, ignore_errors=True)
        other.mkdir()
        self.command(by_hand.main, other, "import", tables / "by_hand.json")
        assert json.loads((other / "by_hand.json").read_text()) == json.loads(
            (tables / "by_hand.json").read_text()
        )
        assert self.command(by_hand.main, other, "policy") == self.by_hand("policy")


# --- what it has found: each of these paths failed -------------------------------------------------------


def graded(m, chosen=None, source="folder", roster=True, how="", times=None):
    m.grade(chosen or {}, source, roster, times or {}, how, "", None)


def policy(m, **chosen):
    m.changes_the_policy(
        chosen={f"--{name.replace('_', '-')}": value for name, value in chosen.items()}, dry=False
    )


def override(m, student, item, points):
    m.by_hand("override", student, item, points, "--reason", "board")
    m.book.overrides[student, item] = points, "board"


def comment(m, student, item, text):
    who = student, s.BOOK_OF.get(item, "91_alpha")
    m.by_hand("comment", student, item or "91", text)
    m.comment(who, item, text)


def settings_are_stored_once(m):
    policy(m, due=("", 0), grace="15m")
    graded(m)
    graded(m)


def a_comment_on_what_was_not_handed_in(m):
    comment(m, "cleo", "91.2", "Where is it?")
    graded(m)


def a_comment_taken_back(m):
    comment(m, "ada", "", "Well done.")
    m.gives_back(way="folder", how="")
    comment(m, "ada", "", "")
    graded(m)


def lateness_that_costs_nothing(m):
    override(m, "ada", "91.1", 1)
    override(m, "ada", "91.2", 1)
    policy(m, due=("", -48))


def one_item_of_a_new_file(m):
    m.save("ada", "91_alpha", {"91.1": 8}, 70, "exercise_{}.ipynb")
    policy(m, due=("", 0), late_penalty=50)
    m.grade({}, "folder", True, {}, "item 91.1", "", None)
    policy(m, count="best")


def one_item_for_who_comes_later(m):
    m.enrolls()
    m.grade({}, "folder", True, {}, "item 91.1", "", None)


def an_unreadable_file_taken_away(m):
    policy(m, count="best")
    m.save("cleo", "91_alpha", {}, 1, "unreadable")
    graded(m)
    del m.files["cleo", "91_alpha"]
    (m.top / "cleo" / "exercise_91_alpha.ipynb").unlink()
    graded(m)
    graded(m)


def a_new_gradebook_with_the_old_policy(m):
    policy(m, count="best", due=("", 0))
    m.save("ada", "91_alpha", {"91.1": 7}, 200, "exercise_{} (1).ipynb")
    m.loses_the_gradebook()


def the_same_file_twice(m):
    policy(m, count="best", due=("", 0), late_penalty=10)
    work = m.files["ada", "91_alpha"]["exercise_91_alpha.ipynb"]
    again = replace(work, name="exercise_91_alpha (1).ipynb", at=s.DUE + hours(25))
    m.files["ada", "91_alpha"][again.name] = again
    s.put(m.top / "ada" / again.name, again.data, again.at)
    graded(m)
    graded(m)
    assert not m.book.rules.late(("ada", "91_alpha"), m.book.counts["ada", "91_alpha"].at)[0]


def a_policy_that_is_newer_than_the_backup(m):
    policy(m, due=("", 0), late_penalty=10)
    m.save("ada", "91_alpha", {"91.1": 8}, 70, "exercise_{}.ipynb")
    graded(m)
    m.save("ada", "91_alpha", {"91.1": 7}, 70, "exercise_{}.ipynb")
    graded(m)
    policy(m, late_penalty=100)
    m.damages_the_gradebook(seed=1, kind="noise")


def a_link_that_was_sent(m):
    m.gives_back(way="folder", how="")
    m.enrolls()
    graded(m)
    m.gives_back(way="folder", how="")
    m.damages_the_gradebook(seed=1, kind="noise")
    graded(m)
    m.gives_back(way="folder", how="")


def the_latest_without_times(m):
    m.save("ada", "91_alpha", {"91.1": 9}, 70, "exercise_{}.ipynb")
    policy(m, count="best")
    graded(m, source="download")
    policy(m, count="latest")


def the_latest_is_no_blank_copy(m):
    m.save("ada", "91_alpha", {}, 70, "exercise_{} (1).ipynb")
    policy(m, count="best")
    graded(m)
    policy(m, count="latest")


PATHS = [
    settings_are_stored_once,
    a_comment_on_what_was_not_handed_in,
    a_comment_taken_back,
    lateness_that_costs_nothing,
    one_item_of_a_new_file,
    one_item_for_who_comes_later,
    an_unreadable_file_taken_away,
    a_new_gradebook_with_the_old_policy,
    the_same_file_twice,
    a_policy_that_is_newer_than_the_backup,
    a_link_that_was_sent,
    the_latest_without_times,
    the_latest_is_no_blank_copy,
]


@pytest.fixture
def semester():
    made = Semester()
    made.begins(first=[("ada", "91_alpha", {"91.1": 7, "91.2": [1, 3, 2]}, -3)], lms="canvas", chosen={})
    yield made
    made.teardown()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.__name__)
def test_a_path_that_failed(semester, path):
    path(semester)
    graded(semester)


def test_whose_grade_a_new_grading_takes_away_is_said(semester):
    """A folder may hold only the newest work of a class: who takes the whole for the part must notice."""
    (semester.top / "ada" / "exercise_91_alpha.ipynb").unlink()
    s.put(semester.top / "bob" / "exercise_91_alpha.ipynb", s.notebook("91_alpha", {}), s.DUE)
    words = (run.main, semester.top, "--out", semester.out, "--quiet")
    assert "--regrade" not in semester.command(*words)
    assert "count as missing now: ada/91_alpha" in semester.command(*words, "--regrade")


def test_what_was_repaired_is_told_wherever_the_file_lies(semester):
    """A file's time, place or neighbors may change without a new run: the notes tell them, and what was repaired as before."""
    data = json.loads(s.notebook("91_alpha", {"91.1": 7}, "mine"))
    check = next(cell for cell in data["cells"] if cell["id"] == "91-91.1-check")
    check["source"] = 'lab.check("91.1", 7)'
    path = semester.top / "bob" / "exercise_91_alpha.ipynb"
    words = (run.main, semester.top, "--out", semester.out, "--quiet")

    def notes():
        semester.command(*words)
        return next(
            row["notes"] for row in s.rows(semester.out / "submissions.csv") if row["student"] == "bob"
        )

    s.put(path, json.dumps(data).encode(), s.DUE)
    repaired = notes()
    assert repaired.startswith("The check of 91.1 had been changed")
    s.put(path, json.dumps(data).encode(), s.DUE + hours(1))
    assert notes() == repaired
    s.put(path.with_name("91_alpha-1.ipynb"), s.notebook("91_alpha", {"91.1": 9}), s.DUE - hours(1))
    both = notes()
    assert "there is also bob/91_alpha-1.ipynb." in both
    assert repaired in both
    semester.key = s.Key(5)
    assert notes() == both
    semester.nothing_changes(lambda: semester.command(*words))


Semester.TestCase.settings = settings(
    max_examples=32,
    stateful_step_count=20,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    report_multiple_bugs=False,
    phases=[
        Phase.reuse,
        Phase.generate,
    ],  # to look for a shorter path takes minutes, and a path reads well as it is
)
TestSemester = Semester.TestCase
