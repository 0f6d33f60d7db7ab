"""The guide to grading: every command in it runs, and what it says of limits, files and figures is so."""

import json
import re
import shlex
import zipfile
from contextlib import contextmanager
from dataclasses import asdict

import pytest
from classroom import BOOK, OTHER, ROOT, HereRunner, document, hand_in, solved, stand_in

from autograd_lab import cli
from autograd_lab.course.ballots import BALLOTS
from autograd_lab.grade import bench, by_hand, hand_back, report, run, submit
from autograd_lab.grade.model import Limits

GUIDE = (ROOT / "autograd_lab" / "course" / "GRADING.md").read_text(encoding="utf-8")
TEACHING = (ROOT / "autograd_lab" / "course" / "TEACHING.md").read_text(encoding="utf-8")
LINES = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]
COMMANDS = [line for line in LINES if line.startswith("autograd-lab")]


def table(title):
    text = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", GUIDE, re.MULTILINE | re.DOTALL)[1]
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder as the guide has it; submissions run in this process, and the cluster is this process too."""
    clusters = []

    @contextmanager
    def engine(of, limits, workers, require_sandbox, private, cluster="", launched=None):
        clusters.append(cluster)
        yield HereRunner(items=of.items)

    stand_in(monkeypatch, engine)
    monkeypatch.chdir(tmp_path)
    top = tmp_path / "submissions"
    adas = solved(a1="answer = [12, 4, 12, 64]", a4="def backward(root):\n    root.grad = 1.0")
    hand_in(top, "ada", adas)
    hand_in(tmp_path, "exercises", adas, f"exercise_{BOOK}.ipynb")  # a student's lab
    with zipfile.ZipFile(tmp_path / "submissions.zip", "w") as archive:
        archive.writestr(f"lovelaceada_1000_70_exercise_{BOOK}.ipynb", json.dumps(adas))
    (top / "ada" / "timestamp.txt").write_text("2026-11-21 09:00:00 UTC")
    hand_in(top, "bob/ps4", document())
    hand_in(top, "bob/ps4", document("exercises", OTHER), OTHER + ".ipynb")
    (tmp_path / "class.csv").write_text("student,canvas id,moodle id\nada,1000,\nbob,,2000\ncleo,,\n")
    for name in ("extensions.csv", "overrides.csv"):  # as they stand in the guide
        head = {"extensions.csv": "student,notebook,until", "overrides.csv": "student,item,points"}[name]
        text = next(
            block for block in re.findall(r"```text\n(.*?)```", GUIDE, re.DOTALL) if block.startswith(head)
        )
        (tmp_path / name).write_text(text)
    (tmp_path / "handed_in.csv").write_text("student,timestamp\nbob,2026-11-30 12:00\n")
    return clusters


def test_every_command_runs_in_the_order_in_which_it_stands(here, tmp_path, capsys):
    assert len(COMMANDS) >= 15
    for line in COMMANDS:
        words = shlex.split(line, comments=True)[1:]
        assert cli.main(words) == 0, f"{line}\n{capsys.readouterr().err}"
    assert here[-1] == "" or here[-1].startswith("tcp://")
    out = tmp_path / "results"
    there = {path.name for path in out.iterdir() if not path.name.startswith(".")}
    assert there == {name for row in table("What comes out") for name in re.findall(r"`(.+?)`", row[0])}
    said = capsys.readouterr().out
    assert "cleo" in said or "cleo" in (out / "submissions.csv").read_text()
    assert "explained it at the blackboard" in said
    assert (tmp_path / "tables" / "grades.csv").is_file()
    assert (out / "feedback" / "ada.html").is_file()
    assert (out / "gradescope" / "ada" / "results.json").is_file()


def test_no_feedback_leaves_the_pages_out(here, tmp_path):
    assert cli.main(["grade", "submissions", "--out", "results", "--no-feedback", "--quiet"]) == 0
    assert not (tmp_path / "results" / "feedback").exists()
    assert 'href="feedback/' not in (tmp_path / "results" / "report.html").read_text(encoding="utf-8")


def test_the_measurements_are_asked_for_in_words_that_the_bench_knows():
    asked = [shlex.split(line)[3:] for line in LINES if line.startswith("python -m autograd_lab.grade.bench")]
    read = [bench._parser().parse_args(words) for words in asked]
    assert len(read) >= 3
    (made,) = [line for line in LINES if line.startswith("python -m") and "autograd_lab" not in line]
    assert made == bench.GET_NBGRADER
    assert {str(one.nbgrader) for one in read if one.nbgrader} == {"nbgrader-env/bin/nbgrader"}


def test_a_cluster_is_asked_for_by_its_address(here):
    (line,) = [line for line in COMMANDS if "--cluster" in line]
    assert cli.main([*shlex.split(line)[1:], "--regrade"]) == 0
    assert set(here) == {re.search(r"--cluster (\S+)", line)[1]}
    addresses = set(re.findall(r"tcp://\S+", "\n".join(LINES)))
    assert len(addresses) == 1


def test_the_other_commands_are_those_of_dask_and_pip():
    others = [line for line in LINES if not line.startswith(("autograd-lab", "python -m"))]
    assert [shlex.split(line)[:2] for line in others] == [
        ["pip", "install"],
        ["dask", "scheduler"],
        ["dask", "worker"],
    ]
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^cluster = \["distributed', project, re.MULTILINE)


def test_limits_are_those_of_the_grader():
    limits = asdict(Limits())
    rows = table("Limits")
    assert len(rows) >= 8
    for name, default, _ in rows:
        assert float(default) == limits[name.strip("`")]


def test_what_it_names_is_there():
    assert set(re.findall(r"\bM\d\d\b", GUIDE)) <= set(BALLOTS)
    assert f"fewer than\n{report.FEWEST} submissions" in GUIDE
    options = set(re.findall(r"(--[a-z][a-z-]+)", GUIDE)) - {"--host"}
    known = "".join(one._parser().format_help() for one in (run, bench, submit, by_hand, hand_back))
    for option in options - {"--reason", "--state"}:
        assert option in known, option
    assert BOOK in GUIDE
    assert "GRADING.md" in TEACHING
