"""The class report: figures worked out by hand, undefined ones shown as such, nothing of a student's that is more than text."""

import html
import math
import re
from types import SimpleNamespace

import pytest
from classroom import BOOK, course
from classroom import FULL as ALL
from test_feedback_pages import EVIL, Reader, text_of

from autograd_lab.course.items import Item, Probe
from autograd_lab.course.misconceptions import MISCONCEPTIONS
from autograd_lab.grade import report
from autograd_lab.grade.gradebook import NAME, Gradebook
from autograd_lab.grade.model import Answer, Cell, CellRun, Job, Result, Run


@pytest.fixture
def book(tmp_path):
    with Gradebook(tmp_path / NAME, create=True) as opened:
        yield opened


FULL = {item: points for item, points in ALL.items() if item != "04.5"}
"""The items that the class of these tests has done."""


def put(
    book,
    student,
    scores,
    *,
    says=None,
    misconceptions=None,
    states=None,
    status="graded",
    run=None,
    notes=(),
    job=None,
):
    """A submission with these scores in the items of notebook 04."""
    results = []
    for (item, most), score in zip(FULL.items(), scores, strict=True):
        state = (states or {}).get(item) or ("passed" if score == most else "wrong")
        results.append(
            Result(
                student,
                BOOK,
                item,
                score,
                most,
                state,
                (says or {}).get(item, ""),
                (misconceptions or {}).get(item, ""),
            )
        )
    book.record(
        student, BOOK, results, {}, status=status, run=run, job=job or Job(student, BOOK, ()), notes=notes
    )


def test_the_report_says_what_held_the_submissions(book):
    cells = [CellRun("a", "memory")]
    answer = Answer("04.1", "given", lost={"p": "timeout"})
    for student, ran in (
        ("ada", Run("ok", cells=cells)), ("bob", Run("memory", cells=cells)), ("cyd", Run("timeout")), ("dan", Run("ok", {"04.1": answer})),
        ("eve", Run("ok")),
    ):  # fmt: skip
        put(book, student, (4, 3, 2, 5), run=ran)
    assert "What held" not in report.page(book, course())
    book.set("limits", {"memory": 5 << 28, "processes": 7})
    book.set(
        "means",
        {
            "memory of a process": ["rlimit"],
            "memory of all processes": ["cgroup", "watched"],
            "number of processes": ["none"],
        },
    )
    said = text_of(report.page(book, course())).partition("What held the submissions")[2]
    assert re.search(r"memory of a process ?1.25 GiB ?rlimit ?1", said)
    assert re.search(r"memory of all processes ?1.25 GiB ?cgroup, watched ?1", said)
    assert re.search(r"number of processes ?7 ?none ?time", said)
    assert re.search(r"time ?180 s ?watched ?2", said)


def figures(book):
    return {one.item: one for one in report.item_figures(book.entries())}


SCORES = {"a": (4, 3, 2, 5), "b": (4, 0, 2, 3), "c": (2, 3, 2, 0), "d": (0, 0, 2, 1), "e": (4, 3, 2, 4)}


def test_difficulty_and_discrimination_are_those_worked_out_by_hand(book):
    for student, scores in SCORES.items():
        put(book, student, scores)
    found = figures(book)
    assert found["04.1"].share == pytest.approx((1 + 1 + 0.5 + 0 + 1) / 5)
    own = [4, 4, 2, 0, 4]
    rest = [10, 5, 5, 3, 9]
    mean = sum(own) / 5, sum(rest) / 5
    up = sum((x - mean[0]) * (y - mean[1]) for x, y in zip(own, rest, strict=True))
    down = math.sqrt(sum((x - mean[0]) ** 2 for x in own) * sum((y - mean[1]) ** 2 for y in rest))
    assert found["04.1"].discrimination == pytest.approx(up / down)
    assert found["04.3"].discrimination is None
    assert found["04.3"].why == "all have the same points in it"
    assert found["04.2"].states == {"passed": 3, "wrong": 2}


def test_an_item_is_not_compared_with_itself(book):
    for i in range(6):
        put(book, f"s{i}", (4 * (i % 2), 0, 0, 0))
    assert figures(book)["04.1"].discrimination is None
    assert figures(book)["04.1"].why == "all have the same points in the others"


def test_nothing_is_minus_nothing(monkeypatch):
    """-0.003 is written as 0.00."""
    one = report.ItemFigures(BOOK, "04.1", 300, 0.5, -0.003, "", {"passed": 300})
    monkeypatch.setattr(report, "item_figures", lambda _: [one])
    said = report._items([], SimpleNamespace(asked={}))
    assert ">0.00<" in said
    assert "-0.00" not in said


def test_few_submissions_have_no_discrimination(book):
    for student in "abcd":
        put(book, student, SCORES[student])
    assert {one.why for one in figures(book).values()} == {"fewer than 5 submissions"}
    assert "fewer than 5 submissions" in text_of(report.page(book, course()))


def test_missing_ones_do_not_make_an_item_hard_and_a_person_s_word_counts(book):
    put(book, "a", (4, 3, 2, 5))
    put(book, "b", (0, 0, 0, 0))
    put(book, "c", (0, 0, 0, 0), status="missing", states=dict.fromkeys(FULL, "missing"))
    book.override("b", "04.1", 4, "said it aloud", "me")
    found = figures(book)
    assert found["04.1"].count == 2
    assert found["04.1"].share == 1
    assert found["04.2"].share == 0.5


def test_what_the_class_believes_comes_first_with_the_question_to_ask(book):
    for student, belief in zip("abcde", ["M06", "M06", "M07", "M06", ""], strict=True):
        put(book, student, (0, 0, 0, 0), misconceptions={"04.1": belief, "04.2": belief})
    found = report.beliefs(book.entries())
    assert [(b.id, b.students, b.items) for b in found] == [
        ("M06", ("a", "b", "d"), ("04.1", "04.2")), ("M07", ("c",), ("04.1", "04.2")),
    ]  # fmt: skip
    seen = text_of(report.page(book, course()))
    assert "Begin with lab.classroom(&quot;M06&quot;): 3 students" in seen
    assert MISCONCEPTIONS["M06"].believes in seen
    assert seen.index("M06") < seen.index("M07")


def test_other_mistakes_are_counted_when_two_made_them(book):
    item = next(item for item in course().items[BOOK] if item.id == "04.1")
    says = next(wrong.says for wrong in item.wrong if not wrong.id)
    for student in "ab":
        put(book, student, (0, 0, 0, 0), says={"04.1": says, "04.2": "Your cell raised ValueError: x."})
    items = {item.id: item for item in course().items[BOOK]}
    assert report.slips(book.entries(), items) == [("04.1", says, 2)]


def test_an_answer_that_avoids_the_task_is_named_with_the_reason(book):
    lean = Probe("leans", 0, "", expected=[False], hidden=True, look="It leans on the lab.")
    item = Item("04.4", "code", 5, probes=[Probe("sums", 5, "", expected=[1]), lean])

    def handed_in(student, score, leans):
        run = Run("ok", {"04.4": Answer("04.4", "given", outputs={"sums": 1, "leans": leans})})
        put(book, student, (4, 3, 2, score), run=run)

    handed_in("leaning", 5, leans=True)
    handed_in("own", 5, leans=False)
    handed_in("raising", 5, leans={"error": "TypeError", "message": ""})
    handed_in("nothing", 0, leans=True)
    handed_in("settled", 5, leans=True)
    book.override("settled", "04.4", 5, "explained it", "me")
    found = {
        entry.student: report.looks(entry, book.stored_run(entry.student, BOOK)[1], {"04.4": item})
        for entry in book.entries()
    }
    assert {student: [(one.what, one.says) for one in seen] for student, seen in found.items() if seen} == {
        "leaning": [("avoids the task", "04.4: It leans on the lab.")]
    }


def test_who_needs_a_look(book):
    refused = Run("ok", cells=[CellRun("extra-1", "error", "PermissionError: [Errno 13] Permission denied: '/etc/shadow'"),
                               CellRun("04-1-answer", "error", "NameError: name 'x' is not defined")])  # fmt: skip
    put(book, "fine", (4, 3, 2, 5), run=Run("ok"))
    put(book, "loops", (0, 3, 2, 5), states={"04.1": "timeout"}, run=Run("timeout"))
    put(book, "reaches", (0, 0, 0, 0), run=refused)
    put(
        book,
        "torn",
        (0, 0, 0, 0),
        status="unreadable",
        states=dict.fromkeys(FULL, "unreadable"),
        says={"04.1": "It is not JSON."},
    )
    put(book, "elsewhere", (4, 3, 2, 5), run=Run("died"))
    put(book, "loud", (4, 3, 2, 5), run=Run("ok", dropped=12_345))
    put(book, "moved", (4, 3, 2, 5), run=Run("ok"), notes=["The check of 04.1 had been changed."])
    found = {}
    for entry in book.entries():
        stored = book.stored_run(entry.student, BOOK)
        found[entry.student] = [
            (one.what, one.says) for one in report.looks(entry, stored[1] if stored else None, {})
        ]
    assert found == {
        "fine": [],
        "loops": [("ran too long", "04.1")],
        "reaches": [
            (
                "refused by the sandbox",
                "extra-1: PermissionError: [Errno 13] Permission denied: '/etc/shadow'",
            )
        ],
        "torn": [("unreadable", "It is not JSON.")],
        "elsewhere": [("ended its process", "in a cell that no item needs")],
        "loud": [("printed very much", "12,345 characters were not kept")],
        "moved": [("note", "The check of 04.1 had been changed.")],
    }
    seen = text_of(report.page(book, course()))
    assert "fine" not in seen.split("Who needs a look")[1].split("Similar submissions")[0]


def test_an_empty_class_has_a_report(book):
    assert "0 students" in text_of(report.page(book, course()))


def test_a_report_cannot_be_broken_by_what_students_wrote(book):
    names = [EVIL, "../../up", "a/b", "x" * 500, "\u202eback", "'>\"<svg onload=alert(1)>"]
    source = f"def f(x):\n    return '{EVIL}'\n"
    for i, name in enumerate(names):
        job = Job(
            name, BOOK, (Cell("a", source * 30, "answer", "04.4"), Cell("b", f"u = [{i}]\n" * 40, "extra"))
        )
        put(book, name, (0, 0, 0, i), says=dict.fromkeys(FULL, EVIL), misconceptions={"04.1": EVIL, "04.2": "M06"}, job=job,
            notes=[EVIL], run=Run("died", cells=[CellRun(EVIL, "error", f"OSError: {EVIL}")]))  # fmt: skip
    page = report.page(book, course())
    read = Reader(page)
    assert [attrs for tag, attrs in read.tags if tag == "script"] == [{"type": "module"}]
    assert not [
        tag
        for tag, attrs in read.tags
        if any(key.startswith("on") for key in attrs) or tag in ("svg", "img", "iframe")
    ]
    assert not re.search(r"[\x00-\x08\x0b-\x1f]", page)
    for _, attrs in read.tags:
        assert re.fullmatch(r"feedback/[\w.%-]+\.html(#[\w.%-]*)?", attrs.get("href", "feedback/a.html"))


def test_two_identical_engines_and_the_course_s_own_solution_are_listed_in_a_class_of_three(book):
    import corpus

    stem = "13_train_debug_build"
    engine = next(
        one.source for one in corpus.programs(stem)["13.3"] if one.right and "Operation" in one.source
    )
    assert len(engine.splitlines()) > 45
    own = corpus.solutions(stem)["13.3"]
    for student, source in {"ada": engine, "bob": engine, "cem": own.replace("waiting", "left")}.items():
        cells = (Cell("13-3-answer", source, "answer", "13.3"),)
        results = [Result(student, stem, item.id, 1, item.points, "wrong") for item in course().items[stem]]
        book.record(student, stem, results, {}, job=Job(student, stem, cells), run=Run("ok"))
    seen = html.unescape(text_of(report.page(book, course())).split("Similar submissions")[1])
    assert "13.31 handed in the course's own solutioncem" in seen
    assert "13.32 handed in the sameada, bob" in seen


def test_similar_pairs_stand_side_by_side_and_nobody_is_accused(book):
    import personal

    stem = "11_write_your_own_op"
    codes, pairs = personal.classroom(stem, 7)
    for code in codes:
        cells = tuple(Cell(item, source, "answer", item) for item, source in code.parts.items())
        results = [
            Result(code.student, stem, item.id, 1, item.points, "wrong") for item in course().items[stem]
        ]
        book.record(code.student, stem, results, {}, job=Job(code.student, stem, cells), run=Run("ok"))
    page = report.page(book, course())
    named = set(re.findall(r"(s\d\d) and (s\d\d): \d+% alike", text_of(page)))
    assert named
    assert named <= pairs
    assert not re.search("cheat|plagiar|dishonest|copied", page)
    assert page == report.page(book, course())
