"""What the workflows of .github/workflows run exists: commands, extras, files, markers; and their versions are the project's."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from each import each
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from autograd_lab.cli import COMMANDS

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".github" / "workflows"
WORKFLOWS = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.yml")}
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MADE = {"dist", "_site", "results", "installed.py"}
"""Files and folders that a step makes for a later one."""


def steps(workflow: str) -> Iterator[dict[str, Any]]:
    for job in WORKFLOWS[workflow]["jobs"].values():
        yield from job.get("steps", ())


def scripts() -> list[str]:
    return [step["run"] for name in WORKFLOWS for step in steps(name) if "run" in step]


def commands() -> list[list[str]]:
    """The words of each command in them."""
    joined = (re.sub(r"\$\(command -v ([\w-]+)\)", r"\1", script) for script in scripts())
    found = [
        shlex.split(part) for script in joined for line in script.splitlines() for part in line.split(" && ")
    ]
    return [[word for word in words if word != "sudo"] for words in found if words]


def test_the_workflows_are_there():
    assert set(WORKFLOWS) == {"grade", "site", "tests"}
    assert len(commands()) > 20


def check_command(words: list[str]) -> None:
    program = Path(words[0]).name
    if program == "autograd-lab":
        assert words[1] in COMMANDS
        say = subprocess.run(
            [sys.executable, "-m", "autograd_lab", words[1], "--help"], capture_output=True, text=True, check=True, cwd=ROOT
        )  # fmt: skip
        for option in (word for word in words if word.startswith("--")):
            assert option in say.stdout, option
    if program == "pip" and "-e" in words:
        extras = set(re.findall(r"\w+", words[-1].partition("[")[2]))
        assert extras <= set(PYPROJECT["project"]["optional-dependencies"])
    if program == "pytest":
        assert "-m" not in words or set(re.findall(r"\w+", words[words.index("-m") + 1])) <= {
            "not", *(marker.partition(":")[0] for marker in PYPROJECT["tool"]["pytest"]["ini_options"]["markers"])
        }  # fmt: skip
        for path in (word for word in words[1:] if re.match(r"tests|notebooks|solutions|exercises", word)):
            assert (ROOT / path).exists(), path
    for word in words[1:]:
        if re.fullmatch(r"[\w./-]+\.(py|sh)|\.ci/\w+", word) and word not in MADE:
            assert (ROOT / word).is_file(), word


def test_every_command_exists():
    each(commands(), check_command)


def test_every_option_of_grade_is_one():
    """Those that stand in a list of the shell."""
    known = subprocess.run(
        [sys.executable, "-m", "autograd_lab", "grade", "--help"], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout  # fmt: skip
    options = {option for script in scripts() for option in re.findall(r"options\+=\((--\w+)", script)}
    assert len(options) == 4
    assert all(option in known for option in options)


def test_actions_are_pinned_by_their_major_version():
    used = [step["uses"] for name in WORKFLOWS for step in steps(name) if "uses" in step]
    assert used
    assert [one for one in used if not re.fullmatch(r"actions/[\w-]+@v\d+", one)] == []


def test_scripts_get_what_a_caller_says_by_the_environment():
    """An input or a matrix put into a script's text would be run."""
    assert [script for script in scripts() if "${{" in script] == []


def test_versions_are_those_of_the_project():
    matrix = WORKFLOWS["tests"]["jobs"]["linux"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PYPROJECT["project"]["classifiers"]))
    assert matrix["python"] == named
    supported = SpecifierSet(PYPROJECT["project"]["requires-python"])
    assert named[0] in supported
    assert f"3.{int(named[0][2:]) - 1}" not in supported
    (numpy,) = (r for r in map(Requirement, PYPROJECT["project"]["dependencies"]) if r.name == "numpy")
    (oldest,) = matrix["include"]
    assert oldest == {"python": named[0], "numpy": "2.0"}
    assert str(numpy.specifier) == f">={oldest['numpy'].removesuffix('.0')}"
    for name in WORKFLOWS:
        for job in WORKFLOWS[name]["jobs"].values():
            asked = job.get("strategy", {}).get("matrix", {}).get("python", [])
            asked += [
                s["with"]["python-version"] for s in job["steps"] if "python-version" in s.get("with", {})
            ]
            assert {one for one in asked if "$" not in one} <= set(named)


def test_the_site_is_made_with_the_python_of_its_pyodide():
    """Another one leaves the bytecode out, where Pyodide stays elsewhere."""
    pythons = {"0.27": "3.12", "0.28": "3.13", "0.29": "3.13"}
    (pyodide,) = re.findall(r"/pyodide/v(\d+\.\d+)\.\d+/", step_of("site", "Build"))
    (python,) = (
        step["with"]["python-version"] for step in steps("site") if "python-version" in step.get("with", {})
    )
    assert python == pythons[pyodide]


def step_of(workflow: str, name: str) -> str:
    return next(step["run"] for step in steps(workflow) if step.get("name", "").startswith(name))


def test_a_submission_has_the_time_of_its_commit(tmp_path):
    (tmp_path / "work" / "ada").mkdir(parents=True)
    file = tmp_path / "work" / "ada" / "a name.ipynb"
    file.write_text("{}")
    when = "2026-11-20T18:00:00+01:00"
    env = os.environ | {"SUBMISSIONS": "work", "GIT_COMMITTER_DATE": when}
    user = ["-c", "user.name=ada", "-c", "user.email=ada@example.org"]
    for words in (["init", "-q"], ["add", "."], [*user, "commit", "-q", "-m", "hand in"]):
        subprocess.run(["git", *words], cwd=tmp_path, env=env, check=True)
    subprocess.run(["bash", "-e", "-c", step_of("grade", "Give each")], cwd=tmp_path, env=env, check=True)
    assert file.stat().st_mtime == 1795194000


def test_what_a_caller_says_reaches_the_command(tmp_path):
    """With spaces, and with nothing; the command is a stand-in that prints its words."""
    for name, text in (("sudo", 'exec "$@"'), ("autograd-lab", "printf '%s|' \"$@\"; mkdir results")):
        (tmp_path / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / name).chmod(0o755)
    said = {
        ("", ""): "grade|the work|--out|results|",
        ("2026-11-20 18:00+01:00\n05=2026-11-27\n", "two words"):
            "grade|the work|--out|results|--variants|two words|--due|2026-11-20 18:00+01:00|--due|05=2026-11-27|",
    }  # fmt: skip
    for (due, word), words in said.items():
        env = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SUBMISSIONS": "the work", "ROSTER": "", "NOTEBOOKS": "", "DUE": due, "VARIANTS": word}  # fmt: skip
        command = ["bash", "-e", "-c", step_of("grade", "Grade")]
        ran = subprocess.run(command, cwd=tmp_path, env=env, check=True, capture_output=True, text=True)
        assert ran.stdout == words
        (tmp_path / "results").rmdir()


def test_the_guide_calls_the_workflow_with_inputs_that_it_has():
    guide = (ROOT / "autograd_lab" / "course" / "GRADING.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```yaml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
    (job,) = yaml.safe_load(example)["jobs"].values()
    assert job["uses"] == "./.github/workflows/grade.yml"
    on = WORKFLOWS["grade"][True]  # YAML's "on" is a truth value
    assert set(job["with"]) <= set(on["workflow_call"]["inputs"])
