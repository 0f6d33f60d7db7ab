"""A class in which everyone has other numbers: copies are written from a roster, graded by it, and what does not fit is reported."""

import copy
import csv
import html
import json
import re
from dataclasses import asdict, replace

import classroom as c
import pytest

from autograd_lab import cli
from autograd_lab.course import items, resources, variants
from autograd_lab.grade import cluster, deliver, feedback, hand_back, merge, reading, report, run, validate
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import Job
from autograd_lab.grade.variants import COURSE, Variants, borrowed, note
from tests.each import each

BOOK, WORD = "05_who_keeps_a_gradient", "tulips in winter"
CLASS = ("ada", "bob", "eve", "zoe", "mia", "tim", "gus", "kim")
OF = Variants(WORD, CLASS)
ITEM = next(item for item in c.course().items[BOOK] if item.id == "05.2")


@pytest.fixture
def roster(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text("student,name\n" + "".join(f"{name},{name.title()} Person\n" for name in CLASS), "utf-8")
    return path


@pytest.fixture
def copies(tmp_path, roster):
    folder = tmp_path / "copies"
    assert deliver.main([str(folder), "--roster", str(roster), "--variants", WORD, "--notebooks", "05"]) == 0
    return folder


def own(student):
    return variants.of(ITEM, OF.seed(student))


def answered(path, answer):
    data = json.loads(path.read_text("utf-8"))
    c.cell(data, "05-2-answer")["source"] = f"held = {answer}"
    return data


def of(copies, student):
    return copies / student / f"exercise_{BOOK}.ipynb"


@pytest.fixture
def handed(tmp_path, copies):
    """Ada is right; eve hands in bob's copy; zoe one without numbers; mia and kim make known mistakes; tim has ada's answer; gus changed his cell."""
    top = tmp_path / "in"

    def put(student, data):
        c.hand_in(top, student, data, f"exercise_{BOOK}.ipynb")

    for student in ("ada", "bob"):
        put(student, answered(of(copies, student), own(student).expected))
    put("eve", answered(of(copies, "bob"), own("bob").expected))
    data = answered(of(copies, "zoe"), ITEM.expected)
    del data["metadata"]["autograd_lab"]["variant"]
    data["cells"] = [cell for cell in data["cells"] if "lab.statement" not in "".join(cell["source"])]
    for cell in data["cells"]:
        cell["source"] = "".join(cell["source"]).replace(f"lab.variant({OF.seed('zoe')})", "")
    put("zoe", data)
    put("mia", answered(of(copies, "mia"), own("mia").wrong[0].answer))
    put("tim", answered(of(copies, "tim"), own("ada").expected))
    data = answered(of(copies, "gus"), own("gus").wrong[3].answer)
    home = next(cell for cell in data["cells"] if "lab.variant(" in "".join(cell["source"]))
    home["source"] = "".join(home["source"]).replace(str(OF.seed("gus")), str(OF.seed("kim")))
    put("gus", data)
    put("kim", answered(of(copies, "kim"), own("kim").wrong[3].answer))
    return top


@pytest.fixture
def desk(tmp_path, monkeypatch, roster):
    """Grading in this process; returns what ran."""
    ran = []

    class Runner(c.HereRunner):
        def run(self, jobs):
            for job in jobs:
                ran.append(job.student)
                yield job, c.run_here(job, self.items)

    c.stand_in(monkeypatch, lambda of, *_: Runner(items=of.items))
    for module in (run, hand_back):
        monkeypatch.setattr(module, "load_course", lambda *_: c.course())

    def grade(top, *words):
        ran.clear()
        out = tmp_path / "out"
        assert (
            run.main(
                [str(top), "--out", str(out), "--quiet", "--notebooks", "05", "--roster", str(roster), *words]
            )
            == 0
        )
        with (out / "grades.csv").open(encoding="utf-8") as file:
            rows = {row["student"]: row for row in csv.DictReader(file) if row["item"] == "05.2"}
        return rows, list(ran), out

    return grade


def test_a_class_with_numbers_of_its_own(desk, handed, capsys):
    rows, ran, out = desk(handed, "--variants", WORD)
    assert {name: (float(row["points"]), row["status"], row["misconception"]) for name, row in rows.items()} == {
        "ada": (2, "passed", ""), "bob": (2, "passed", ""), "mia": (1.33, "wrong", "M10"), "eve": (0, "wrong", ""),
        "zoe": (0, "wrong", ""), "tim": (0, "wrong", ""), "gus": (1.33, "wrong", ""), "kim": (1.33, "wrong", ""),
    }  # fmt: skip
    assert sorted(set(ran)) == sorted(CLASS)
    assert "3 submissions are not the copy that the student got" in capsys.readouterr().out

    with (out / "submissions.csv").open(encoding="utf-8") as file:
        notes = {row["student"]: row["notes"] for row in csv.DictReader(file)}
    assert notes == dict.fromkeys(("ada", "bob", "mia", "tim", "kim"), "") | {
        "eve": "Variant: It has the numbers of bob. It was graded with the numbers of eve.",
        "zoe": "Variant: It names no numbers: it is the course's own notebook, or they were taken out. It was graded with the numbers of zoe.",
        "gus": "Variant: Its first cell was changed to the numbers of kim. It was graded with the numbers of gus.",
    }

    text = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html.unescape((out / report.NAME).read_text("utf-8"))))
    looks = text[text.index("Who needs a look") : text.index("Similar submissions")]
    for student, whose in (("eve", "bob"), ("tim", "ada"), ("zoe", COURSE)):
        answer = "[" + ", ".join(map(str, own(whose).expected if whose in CLASS else ITEM.expected)) + "]"
        row = f"another's numbers {student.title()} Person {student} {BOOK} 05.2: {answer} fits the numbers of {whose}, not those of {student}."
        assert row in looks
    assert looks.count("another's numbers") == 3
    said = looks
    assert "another copy" in said
    assert "Variant:" not in said

    rows, ran, _ = desk(handed)  # the word is in the gradebook
    assert ran == []
    assert rows["ada"]["status"] == "passed"


def test_pages_have_the_students_own_numbers_and_nobody_elses(desk, handed):
    _, _, out = desk(handed, "--variants", WORD)

    def check(student):
        text = feedback.page_of(out / feedback.FOLDER, student).read_text("utf-8")
        page = re.sub(r"<[^>]+>", "", text)
        (x, k) = re.findall(r"\(x \* (\d+)\)|`x = (\d+)`", own(student).question)
        assert f"x = {x[1]}" in page
        assert f"(x * {k[0]}).backward()" in page
        mine = {*own(student).hints, *(wrong.says for wrong in own(student).wrong)}
        others = set()
        for other in (*CLASS, None):
            if other != student:
                one = variants.of(ITEM, OF.seed(other) if other else None)
                others |= {*one.hints, *(wrong.says for wrong in one.wrong)} - mine
        assert [text for text in others if text in page] == []
        assert [name for name in CLASS if name != student and re.search(rf"\b{name}\b", page)] == []
        assert "Variant" not in page

    each(CLASS, check)
    page = feedback.page_of(out / feedback.FOLDER, "mia").read_text("utf-8")
    assert own("mia").wrong[0].says.split(":")[0] in page
    results = json.loads((out / "gradescope/eve/results.json").read_text("utf-8"))
    assert "bob" not in json.dumps(results)


def test_one_mistake_is_one_whatever_its_numbers(desk, handed):
    _, _, out = desk(handed, "--variants", WORD)
    with Gradebook(out / NAME) as book:
        known = {item.id: item for item in c.course().items[BOOK]}
        assert report.slips(book.entries(), known, OF) == [("05.2", ITEM.wrong[3].says, 2)]  # gus and kim
        assert report.slips(book.entries(), known) == []


def test_another_word_scores_again_without_running(desk, handed, capsys):
    desk(handed, "--variants", WORD)
    rows, ran, _ = desk(handed, "--variants", "roses")
    assert ran == []
    assert {row["status"] for row in rows.values()} == {"wrong"}
    capsys.readouterr()
    rows, ran, out = desk(handed, "--variants", "")
    said = capsys.readouterr().out
    assert (
        "7 submissions have numbers of their own, and the word for them is not known, so the course's count"
        in said
    )
    assert ran == []
    assert rows["zoe"]["status"] == "passed"
    assert rows["ada"]["status"] == "wrong"
    with (out / "submissions.csv").open(encoding="utf-8") as file:
        notes = {row["student"]: row["notes"] for row in csv.DictReader(file)}
    assert (
        f"a copy with numbers of its own ({OF.seed('ada')}), but without the class's word nobody knows whose"
        in notes["ada"]
    )
    assert notes["zoe"] == ""


def test_a_page_given_back_has_the_own_numbers_too(desk, handed, tmp_path):
    _, _, out = desk(handed, "--variants", WORD)
    page = feedback.page_of(out / feedback.FOLDER, "mia")
    before = page.read_bytes()
    page.unlink()
    assert hand_back.main([str(out), "--to", "folder"]) == 0
    assert page.read_bytes() == before


def test_a_moved_file_keeps_what_was_noted(desk, handed):
    desk(handed, "--variants", WORD)
    old = handed / "eve" / f"exercise_{BOOK}.ipynb"
    old.rename(old.with_name("again.ipynb"))
    _, ran, out = desk(handed)
    assert ran == []
    assert "the numbers of bob" in (out / "submissions.csv").read_text("utf-8")


# --- what a notebook names ----------------------------------------------------------------------------


def test_what_is_said_of_each_copy():
    ada, bob = OF.seed("ada"), OF.seed("bob")
    cases = {
        (ada, ada): "", (None, ada): "Its metadata were lost, but its first cell has the right numbers",
        (ada, None): "The line that chooses its numbers is gone", (ada, bob): "Its first cell was changed to the numbers of bob",
        (bob, bob): "It has the numbers of bob. It", (bob, None): "It has the numbers of bob. It",
        (bob, ada): "It has the numbers of bob, with the line of ada put in", (None, bob): "Its first cell has the numbers of bob, and its metadata name none",
        (None, None): "It names no numbers: it is the course's own notebook", (5, 5): "It has numbers that are nobody's in this class (5)",
    }  # fmt: skip

    def check(case):
        named, cell = case
        told = note(Job("ada", BOOK, (), variant=named, variant_cell=cell), OF)
        assert (told == "") == (cases[case] == "")
        assert cases[case] in told

    each(cases, check)
    assert note(Job("ada", BOOK, ()), None) == ""


@pytest.mark.parametrize(
    ("value", "read"),
    [(12, 12), (0, 0), (-1, None), (True, None), ("12", None), (1.5, None), (10**12, None), ([], None)],
)
def test_metadata_are_read_with_care(value, read, monkeypatch):
    data = c.document("exercises", BOOK)
    data["metadata"]["autograd_lab"]["variant"] = value
    text = json.dumps(data).encode()
    assert reading.read(text).variant == read
    monkeypatch.setattr(reading, "MOST_MARKS", 10)
    assert reading._read_apart(text).variant == read
    for odd in ([], "x", None):
        data["metadata"]["autograd_lab"] = odd
        assert reading.read(json.dumps(data).encode()).variant is None


def test_a_copy_runs_as_its_release_does(copies):
    """Nothing of it is a student's own cell, so it costs no time and is compared with nobody's."""
    release = c.released(BOOK)
    job = merge.merge(release, reading.read(of(copies, "ada").read_bytes()), student="ada")
    plain = merge.merge(release, reading.read(json.dumps(c.document("exercises", BOOK)).encode()))
    assert job.cells == plain.cells
    assert job.notes == plain.notes == ()
    assert (job.variant, job.variant_cell) == (OF.seed("ada"), OF.seed("ada"))
    assert (plain.variant, plain.variant_cell) == (None, None)


def test_validate_checks_with_the_numbers_of_the_copy(copies, monkeypatch):
    monkeypatch.setattr(items, "_seed", None)
    job = validate.job_of(of(copies, "ada"))
    first = validate.notebook_of(job, items.shipped())["cells"][0]
    exec(first["source"], {})
    assert items.chosen() == OF.seed("ada")
    bare = validate.notebook_of(replace(job, variant=None, variant_cell=None), items.shipped())["cells"]
    assert "lab.variant" not in "".join(cell["source"] for cell in bare)


def test_a_machine_that_only_runs_gets_no_answers():
    """What travels is what a run needs: a new part of an item stays here until somebody says that it may go."""
    for item in (item for each_ in c.course().items.values() for item in each_):
        sent = asdict(cluster.without_answers(item))
        kept = {name for name, value in sent.items() if value and name != "probes"}
        assert kept <= {"id", "kind", "points", "stub", "earlier", "rtol"}, item.id


# --- whose answer it is -------------------------------------------------------------------------------


def test_borrowed_answers():
    ada, bob, today = own("ada"), own("bob"), variants.of(ITEM, None)
    answers = {
        "ada": bob.expected, "bob": bob.expected, "eve": ada.wrong[2].answer, "zoe": today.expected,
        "mia": [91, 92, 93], "tim": [91.0, 92, 93], "gus": [0, 0, 0], "kim": own("kim").wrong[1].answer,
    }  # fmt: skip
    found = {one.student: (one.owners, one.same) for one in borrowed(ITEM, answers, OF)}
    assert found == {
        "ada": (("bob",), ()), "eve": (("ada",), ()), "zoe": ((COURSE,), ()), "mia": ((), ("tim",)), "tim": ((), ("mia",)),
    }  # fmt: skip


def test_seeds_are_the_classs_own():
    other = Variants("another word", CLASS)
    assert len({OF.seed(name) for name in CLASS} | {other.seed(name) for name in CLASS}) == 2 * len(CLASS)
    assert OF.seed("ada") == 677747503, "what was delivered must be derived again after an update"
    assert OF.seed("Zoe\u0308") == OF.seed("Zo\u00eb"), "systems differ in how they write a letter"


# --- writing copies -----------------------------------------------------------------------------------


def test_copies_for_a_class(copies, roster, capsys):
    capsys.readouterr()
    rows = list(csv.reader((copies / deliver.LIST).read_text("utf-8").splitlines()))
    assert rows[:2] == [["student", "name", "variant"], ["ada", "Ada Person", str(OF.seed("ada"))]]
    assert len(rows) == len(CLASS) + 1
    shown = "".join(
        json.loads(of(copies, "ada").read_text("utf-8"))["cells"][place_of(copies)]["outputs"][0]["data"][
            "text/markdown"
        ]
    )
    assert shown == own("ada").question

    before = of(copies, "ada").read_bytes()
    of(copies, "bob").write_text("bob's work", "utf-8")
    words = [str(copies), "--roster", str(roster), "--variants", WORD, "--notebooks", "05,14"]
    assert deliver.main(words) == 0
    said = capsys.readouterr().out
    assert "Left alone, because it is there already and differs" in said
    assert "Numbers differ in 05." in said
    assert (of(copies, "ada").read_bytes(), of(copies, "bob").read_text("utf-8")) == (before, "bob's work")
    plain = json.loads((copies / "ada/exercise_14_a_graph_captured_once.ipynb").read_text("utf-8"))
    assert "variant" not in plain["metadata"]["autograd_lab"]


def place_of(copies):
    cells = json.loads(of(copies, "ada").read_text("utf-8"))["cells"]
    return next(n for n, cell in enumerate(cells) if "lab.statement" in "".join(cell["source"]))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--variants", " "], "There is no word."),
        (["--variants", "x", "--notebooks", "77"], "There is no notebook '77'."),
        (["--variants", "x", "--roster", "gone.csv"], "gone.csv"),
    ],
)
def test_what_cannot_be_delivered_is_said(tmp_path, roster, capsys, words, says):
    assert deliver.main([str(tmp_path / "c"), "--roster", str(roster), *words]) == 2
    told = capsys.readouterr().err
    assert says in told
    assert "What to do:" in told


def test_names_that_no_folder_can_have(tmp_path, monkeypatch):
    assert deliver.folder_of("ada") == "ada"
    assert deliver.folder_of("ada@x.edu") == "ada@x.edu"
    assert re.fullmatch(r"a_b-[0-9a-f]{8}", deliver.folder_of("a/b"))
    monkeypatch.setattr(Variants, "seed", lambda self, student: 5)
    with pytest.raises(deliver.CannotGradeError, match="ada and kim would have the same numbers"):
        deliver._apart(Variants(WORD, CLASS))


def test_a_students_own_lab_has_the_numbers_and_keeps_them(tmp_path, monkeypatch, capsys):
    root = tmp_path / "root"
    for name in ("05_who_keeps_a_gradient", "14_a_graph_captured_once"):
        path = root / "exercises" / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((c.ROOT / "exercises" / path.name).read_bytes())
    monkeypatch.setattr(cli, "course_root", lambda: root)
    work = tmp_path / "work"
    book = work / f"exercises/exercise_{BOOK}.ipynb"

    def start(*words):
        status = cli.main(["--copy-only", "--dir", str(work), *words])
        return status, "".join(capsys.readouterr())

    def numbers():
        return json.loads(book.read_text("utf-8"))["metadata"]["autograd_lab"].get("variant")

    assert start()[0] == 0
    assert numbers() is None
    status, said = start("--variant", "4711")  # not edited yet: it is replaced
    assert (status, numbers()) == (0, 4711)
    assert "Your exercises have numbers of their own: variant 4711." in said
    status, said = start()
    assert "Everything in it is up to date." in said
    assert numbers() == 4711
    book.unlink()
    start()
    assert numbers() == 4711
    edited = answered(book, [1, 2, 3])
    book.write_text(json.dumps(edited), "utf-8")
    assert "beside it is the new" in start("--variant", "4712")[1]
    assert numbers() == 4711, "work is never overwritten"
    for odd in ("x", "-1", "1" * 13):
        status, said = start(f"--variant={odd}")
        assert status == 2
        assert "is not a number of exercises" in said


def test_a_copy_that_was_handed_out_stays_in_a_students_folder(tmp_path, copies):
    """Put into the working folder by hand: the lab neither replaces it nor puts the course's notebook beside it."""
    root, work = tmp_path / "root", tmp_path / "work"
    source = root / "exercises" / f"{BOOK}.ipynb"
    source.parent.mkdir(parents=True)
    source.write_bytes((c.ROOT / "exercises" / source.name).read_bytes())
    mine = work / "exercises" / f"exercise_{BOOK}.ipynb"
    mine.parent.mkdir(parents=True)
    mine.write_bytes(of(copies, "ada").read_bytes())
    for _ in range(2):
        resources.deliver(root, work)
        assert [path.name for path in mine.parent.iterdir()] == [mine.name]
        assert json.loads(mine.read_text("utf-8"))["metadata"]["autograd_lab"]["variant"] == OF.seed("ada")


def test_links_and_cells_of_a_copy_are_those_of_an_exercise(copies):
    """But for the question, the line that chooses the numbers, and the metadata, a copy is what every student gets."""
    data = json.loads(of(copies, "ada").read_text("utf-8"))
    usual = json.loads(resources.exercise_copy(c.ROOT / f"exercises/{BOOK}.ipynb", None)[0])
    same = copy.deepcopy(data)
    del same["metadata"]["autograd_lab"]["variant"]
    same["cells"] = [cell for cell in same["cells"] if "lab.statement" not in "".join(cell["source"])]
    differ = [(a["id"], b["id"]) for a, b in zip(same["cells"], usual["cells"], strict=True) if a != b]
    assert len(differ) == 2
    assert same["metadata"] == usual["metadata"]
