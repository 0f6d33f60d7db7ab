"""What the benchmark makes of what it measures beside nbgrader."""

import json
import signal
import sys

import pytest
from corpus import Case, hostile_cases, mixture, the_class

from autograd_lab.grade import bench
from autograd_lab.grade.bench import Measured

bench.corpus()
COST = {"honest": 2.0, "endless": 40.0, "broken": 3.0}
START = 1.5


def kind(case):
    return next((name for name, cases in bench.kinds([case]).items() if cases), "honest")


class Theirs:
    """An nbgrader that takes known times."""

    def __init__(self):
        self.graded, self.may_fail = [], []

    def autograde(self, cases, may_fail=False):
        self.graded.append([case.student for case in cases])
        self.may_fail.append(may_fail)
        assert all(kind(case) != "left out" for case in cases), "only what may run without a sandbox"
        wall = START + sum(COST[kind(case)] for case in cases)
        return Measured(wall, wall / 2, 100.0)


def test_each_kind_is_measured_and_multiplied_by_how_many_there_are():
    cases, theirs = the_class(), Theirs()
    hostile = bench.kinds(cases)
    assert min(map(len, hostile.values())) > 0
    ran = [case.listed for case in cases for _ in case.notebooks]
    told = bench.beside(theirs, cases, ran, 5)
    assert [len(graded) for graded in theirs.graded] == [1, 5, 1 + 2, 1 + 6]
    assert theirs.may_fail == [False, False, True, True]
    assert {name: one["each further, seconds"] for name, one in told["measured"].items()} == COST
    assert {name: one["submissions"] for name, one in told["measured"].items()} == {
        "honest": 5,
        "endless": 2,
        "broken": 6,
    }
    number = told["multiplied by, notebooks"]
    assert number == {
        "endless": len(hostile["endless"]),
        "broken": len(hostile["broken"]),
        "honest": len(ran) - len(hostile["endless"]) - len(hostile["broken"]),
    }
    seconds = START + sum(COST[name] * number[name] for name in COST)
    assert told["the class, seconds"] == pytest.approx(seconds)
    assert told["each further, seconds"] == pytest.approx(
        (seconds - START - COST["honest"]) / (len(ran) - 1), abs=6e-4
    )
    assert told["the class, processor seconds"] == pytest.approx(seconds / 2, abs=0.06)  # rounded
    (left_out,) = [names for title, names in told.items() if title.startswith("left out")]
    assert left_out == [case.listed for case in hostile["left out"]]
    json.dumps(told)


def test_a_class_without_hostile_work_needs_no_more_than_before():
    cases = [mixture(number) for number in range(30)]
    told = bench.beside(Theirs(), cases, [case.listed for case in cases], 4)
    assert told["multiplied by, notebooks"] == {"honest": 30}
    assert told["the class, seconds"] == START + 30 * COST["honest"]


def test_no_attack_and_nothing_without_end_runs_without_a_sandbox():
    named = bench.kinds(hostile_cases())
    assert {case.student for case in named["endless"] if case.kind == "tampered"} == {"t-ignores-signals"}
    assert all(case.kind == "broken" for case in named["broken"])
    taken = {case.student for name in ("endless", "broken") for case in named[name]}
    assert not {name for name in taken if "memory" in name or "fork" in name or "stack" in name}
    for case in (*named["endless"], *named["broken"]):
        (content,) = case.files.values()
        assert isinstance(content, bytes)
        for word in (
            b"fork(",
            b"Popen",
            b"@TRAP@",
            b"@ROOT@",
            b"@CLASS@",
            b"@RESULTS@",
            b"@PORT@",
            b"2**20)]",
        ):
            assert word not in content, case.student
    assert {"h-endless", "h-endless-stubborn", "h-sleeps", "h-endless-program"} <= taken


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the benchmark needs POSIX")
def test_a_command_that_may_fail_is_measured_too(tmp_path):
    command = [sys.executable, "-c", "print('gave up'); raise SystemExit(1)"]
    assert "gave up" in bench.measure(command, may_fail=True).said
    with pytest.raises(bench.CannotGradeError, match="gave up"):
        bench.measure(command)


def test_another_kind_of_student_is_left_out():
    assert bench.kinds([Case("x-new", "tampered")])["left out"][0].student == "x-new"
