"""The grader and nbval say the same of the checks that students see. On the whole class: `python -m autograd_lab.grade.bench --agreement`."""

import pytest
from corpus import Case, answer_id, banked, cell, dump, handed_in, released, solutions, write

from autograd_lab.grade import bench, run, validate

pytest.importorskip("nbval", reason="validate runs notebooks with nbval")
BOOK, PROGRAMS, VIEWS = "04_backward_node_by_node", "11_write_your_own_op", "10_writing_in_place"
PLAYED = """for node, *messages in (("#2", 9, 6), ("Add", 6, 6, 15), ("#1", 30, 36), ("Accumulate", 36)):
    stepper.choose(node)
    stepper.send(*messages)
order = stepper"""


def written(folder):
    """Right, wrong, not attempted, an error in a cell or in a program, a cell that needs another that failed, a run as the engine."""
    wrong = {item: bank[0].source for item, bank in banked(PROGRAMS).items()}
    several = {
        "04.1": solutions(BOOK)["04.1"],
        "04.2": banked(BOOK)["04.2"][0].source,
        "04.3": "1 / 0",
    }
    case = Case("ada", "honest", {f"{PROGRAMS}.ipynb": dump(handed_in(PROGRAMS, wrong))})
    case.files[f"{BOOK}.ipynb"] = dump(handed_in(BOOK, several))
    played = Case("bea", "honest", {f"{BOOK}.ipynb": dump(handed_in(BOOK, {"04.2": PLAYED}))})
    write([case, played], folder)
    return bench.jobs(folder, run.load_course())


def test_item_for_item(tmp_path):
    found = bench.agreement(written(tmp_path), run.load_course(), workers=1)
    assert {(job.student, job.notebook): differ for job, differ in found} == {
        ("ada", BOOK): [],
        ("ada", PROGRAMS): [],
        ("bea", BOOK): [],
    }


def test_a_stepper_played_in_the_cells_earns_its_points(tmp_path):
    played = Case("bea", "honest", {f"{BOOK}.ipynb": dump(handed_in(BOOK, {"04.2": PLAYED}))})
    write([played], tmp_path / "in")
    assert run.main([str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    rows = (tmp_path / "out/grades.csv").read_text(encoding="utf-8").splitlines()
    assert f"bea,{BOOK},04.2,3,3,passed,," in rows


def test_a_stub_kept_from_an_older_delivery_is_not_attempted(tmp_path):
    """For the grader and for nbval: other comments, another docstring, nothing done. A line taken out is an attempt."""
    stub = cell(released(VIEWS), answer_id("10.4"))["source"]
    kept = {
        "10.3": "def softmax(x):\n    raise NotImplementedError",
        "10.4": stub.replace('"""A descent', '"""As it was: a descent').replace("h = w * v", "h = w*v  # hm"),
    }
    cut = {"10.4": stub.replace("    optimizer.zero_grad()", "")}
    made = {"ada": kept, "bea": cut}
    write(
        [Case(name, "honest", {f"{VIEWS}.ipynb": dump(handed_in(VIEWS, made[name]))}) for name in made],
        tmp_path / "in",
    )
    found = bench.agreement(bench.jobs(tmp_path / "in", run.load_course()), run.load_course(), workers=1)
    assert [differ for _, differ in found] == [[], []]
    assert run.main([str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--workers", "1"]) == 0
    rows = (tmp_path / "out/grades.csv").read_text(encoding="utf-8")
    said = {tuple(row.split(",")[:1] + row.split(",")[2:3]): row.split(",")[5] for row in rows.splitlines()}
    assert said["ada", "10.3"] == said["ada", "10.4"] == said["bea", "10.3"] == "not attempted"
    assert said["bea", "10.4"] == "wrong"


def test_a_difference_is_seen(tmp_path, monkeypatch):
    def other(job):
        return validate.Report("", [validate.Row(f"04.{i}", "passed") for i in (1, 2, 3, 4, 5)])

    monkeypatch.setattr(validate, "validate", other)
    ((job, differ),) = bench.agreement(written(tmp_path)[:1], run.load_course(), workers=1)
    assert job.notebook == BOOK
    assert differ == [
        "ada/04.2: wrong, nbval passed",
        "ada/04.3: error, nbval passed",
        "ada/04.4: not attempted, nbval passed",
        "ada/04.5: not attempted, nbval passed",
    ]
