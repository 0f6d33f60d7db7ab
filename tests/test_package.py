"""The package as a whole: what importing it loads, what its files say of each other, what an installation finds."""

import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

import autograd_lab
from autograd_lab._version import __version__
from autograd_lab.course.resources import course_root

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "autograd_lab"


# ----------------------------------------------------------------------
# importing
# ----------------------------------------------------------------------


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in memory after `statement` in a new Python."""
    code = f"{statement}\nimport sys; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


def test_importing_the_package_loads_numpy_and_nothing_heavier():
    bare = loaded_by("import numpy, numpy.random")
    ours = loaded_by("import autograd_lab")
    third_party = {name for name in ours - bare if name not in sys.stdlib_module_names}
    assert third_party == {"autograd_lab"}
    heavy = {"matplotlib", "IPython", "ipywidgets", "anywidget", "networkx", "traitlets", "torch", "nbformat"}
    assert ours & heavy == set()


# ----------------------------------------------------------------------
# files that say the same thing twice
# ----------------------------------------------------------------------

CONDA_NAMES = {"playwright": "playwright-python"}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def required(platform: str, *extras: str) -> list[Requirement]:
    """What an installation on that platform requires."""
    texts = [
        *project()["dependencies"],
        *(text for e in extras for text in project()["optional-dependencies"][e]),
    ]
    requirements = map(Requirement, texts)
    return [r for r in requirements if not r.marker or r.marker.evaluate({"sys_platform": platform})]


def test_webassembly_needs_no_jupyterlab():
    """A page in a browser holds the notebooks there, and its matplotlib is that of Pyodide."""
    here, there = ({r.name: str(r.specifier) for r in required(p)} for p in ("linux", "emscripten"))
    assert here.pop("jupyterlab")
    assert (here.pop("matplotlib"), there.pop("matplotlib")) == (">=3.9", ">=3.8")
    assert here == there


def test_environment_yml_has_the_requirements_of_pyproject():
    wanted = {f"python{project()['requires-python']}", "pip"}
    for requirement in required(sys.platform, "test"):
        wanted.add(f"{CONDA_NAMES.get(requirement.name, requirement.name)}{requirement.specifier}")
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert "channels:\n  - conda-forge\ndependencies:" in text
    listed = re.findall(r"^  - ([^\s#]+)(?:  #.*)?$", text.partition("dependencies:")[2], flags=re.MULTILINE)
    by_pip = re.findall(r"^      - ([^\s#]+)", text.partition("- pip:")[2], flags=re.MULTILINE)
    assert set(listed) - {"pip:"} | set(by_pip) - {"-e"} == wanted
    assert len(listed) == len(set(listed))
    assert text.rstrip().endswith("\n      - -e .")


def test_binder_can_use_environment_yml():
    """repo2docker takes it from the top of the repository, unless there is a folder for it alone, and names the environment itself."""
    assert not [name for name in ("binder", ".binder", "Dockerfile") if (ROOT / name).exists()]
    said = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    assert set(said) == {"name", "channels", "dependencies"}
    (pip,) = (part["pip"] for part in said["dependencies"] if isinstance(part, dict))
    assert pip[-1] == "-e ."  # the notebooks are those of the checkout, and so is the package
    names = {re.split("[<>=]", part)[0] for part in said["dependencies"] if isinstance(part, str)}
    assert names >= {"python", "pip", "jupyterlab", "notebook"}, (
        "what Binder starts, and what installs the rest"
    )


def test_changelog_begins_with_this_version():
    """Below what is unreleased; each version has its date and nothing but Keep a Changelog's kinds, in that order."""
    unreleased, *releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)[
        1:
    ]
    assert unreleased.startswith("[Unreleased]\n")
    heads = [re.match(r"\[(\d+\.\d+\.\d+)\] - (\d{4}-\d\d-\d\d)\n", text).groups() for text in releases]
    assert heads[0][0] == __version__ == autograd_lab.__version__
    newest_first = sorted(heads, key=lambda head: [int(n) for n in head[0].split(".")], reverse=True)
    assert heads == newest_first
    assert [date for _, date in heads] == sorted((date for _, date in heads), reverse=True)
    kinds = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for text in [unreleased, *releases]:
        found = re.findall(r"^### (.*)", text, re.MULTILINE)
        assert found == [kind for kind in kinds if kind in found]
        entries = [line for line in text.splitlines()[1:] if line.startswith(("-", " "))]
        assert all(re.match(r"- \S.*[.)]$", line) for line in entries), (
            "an entry is one line that ends with a full stop"
        )


@pytest.mark.parametrize("command", ['pip install -e ".[test]" && pytest'])
def test_ci_runs_the_readme_s_test_command(command):
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a source archive, which has no history")
def test_commits_that_blame_looks_through_are_in_the_history():
    """Each with its subject above it."""
    text = (ROOT / ".git-blame-ignore-revs").read_text(encoding="utf-8")
    listed = re.findall(r"^# (.*)\n([0-9a-f]{40})$", text, re.MULTILINE)
    assert len(listed) == len(re.findall(r"^[^#\n]", text, re.MULTILINE)) > 5
    git = ["git", "-C", str(ROOT)]
    if subprocess.check_output([*git, "rev-parse", "--is-shallow-repository"], text=True).strip() == "true":
        pytest.skip("a shallow clone, which has no history")
    for subject, commit in listed:
        run = subprocess.run(
            [*git, "log", "-1", "--format=%s", commit], capture_output=True, text=True, check=True
        )
        assert run.stdout.strip() == subject
        subprocess.run([*git, "merge-base", "--is-ancestor", commit, "HEAD"], check=True)


def test_pictures_are_there_and_light():
    """Each in both themes, as tests/browser/gallery.py makes them, and nothing that is not shown."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (page.parent / picture).resolve()
        for page in pages
        for picture in re.findall(r'(?:src|srcset)="([^"]+)"', page.read_text(encoding="utf-8"))
    }
    files = set((ROOT / "docs" / "images").iterdir())
    assert shown == files
    assert len(files) == len({path.name.rsplit("-", 1)[0] for path in files}) * 2
    assert min(path.stat().st_size for path in files) > 10_000, "one is cut off"
    assert max(path.stat().st_size for path in files) < 400_000
    assert sum(path.stat().st_size for path in files) < 1_500_000


def test_every_ignored_lint_rule_has_a_reason():
    for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if re.match(r'    "[A-Z]+\d*",', line):
            assert "  # " in line


# ----------------------------------------------------------------------
# the course's files
# ----------------------------------------------------------------------


def test_an_editable_install_finds_the_checkout_s_folders():
    assert course_root() == ROOT


def test_an_editable_installation_enables_the_extension_for_its_checkout(tmp_path):
    build = "import sys, hatchling.build as b; b.build_editable(sys.argv[1])"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        place = f"autograd_lab-{__version__}.data/data/etc/jupyter/jupyter_server_config.d/autograd_lab.json"
        enabled = json.loads(archive.read(place))["ServerApp"]["jpserver_extensions"]
    assert enabled == {"autograd_lab.course.checkout": True}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with the wheel, made from the source archive, and in `site` its installation."""
    folder = tmp_path_factory.mktemp("built")

    def run(*command: str, cwd: Path = ROOT) -> None:
        ran = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr

    build = "import sys, hatchling.build as b; getattr(b, sys.argv[1])(sys.argv[2])"
    run(sys.executable, "-c", build, "build_sdist", str(folder))
    with tarfile.open(next(folder.glob("*.tar.gz"))) as archive:
        safely = (
            {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
        )  # not in Debian 12's Python 3.11.2
        archive.extractall(folder / "source", **safely)
    run(sys.executable, "-c", build, "build_wheel", str(folder), cwd=next((folder / "source").iterdir()))
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--no-compile"]
    run(*pip, "--target", str(folder / "site"), str(wheel))
    return folder


def in_site(folder: Path, code: str) -> str:
    """What some code prints where the wheel is installed."""
    elsewhere = {**os.environ, "PYTHONPATH": str(folder / "site")}
    command = [sys.executable, "-P", "-c", code]
    return subprocess.run(
        command, cwd=folder, env=elsewhere, check=True, capture_output=True, text=True
    ).stdout


def test_the_wheel_carries_the_course_and_finds_it(built):
    (wheel,) = built.glob("*.whl")
    assert wheel.name == f"autograd_lab-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("notebooks", "exercises"):
        for notebook in (ROOT / folder).glob("*.ipynb"):
            assert f"autograd_lab/_course/{folder}/{notebook.name}" in names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"autograd_lab", f"autograd_lab-{__version__}.dist-info"}
    for module in PACKAGE.rglob("*.py"):
        assert module.relative_to(ROOT).as_posix() in names
    course = [path for path in (built / "site" / "autograd_lab" / "_course").rglob("*") if path.is_file()]
    assert {path.suffix for path in course if path.parent.name == "notebooks"} == {".ipynb"}
    for path in course:
        assert '"instructor"' not in path.read_text(encoding="utf-8"), f"a note for the instructor in {path}"

    code = "from autograd_lab.course.resources import *; print(r := course_root()); print(*course_files(r))"
    where, files = in_site(built, code).splitlines()
    assert Path(where) == built / "site" / "autograd_lab" / "_course"
    assert len(files.split()) >= len(list((ROOT / "notebooks").glob("*.ipynb")))


def test_what_is_installed_works_without_the_checkout(built):
    """Engine, stepper and the student's copies; the command is the installed one."""
    assert "works" in in_site(built, (ROOT / "tests" / "installed.py").read_text(encoding="utf-8"))


def answers_of_the_course() -> dict[str, set[str]]:
    """{item or question: texts that tell its answer}: hints, what is said of answers, and values as they are written in JSON and Python."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "solutions" / "keys").glob("*.json"):
        for item in json.loads(path.read_text(encoding="utf-8"))["items"]:
            probes = [want for probe in item["probes"] for want in probe["expected"]]
            texts = found[item["id"]] = {*item["hints"], *(wrong["says"] for wrong in item["wrong"])}
            for value in [item["expected"], *item["accept"], *probes]:
                if isinstance(value, str) and value.isidentifier():
                    continue  # names, such as next_functions, stand where they are defined
                texts |= {
                    repr(value),
                    json.dumps(value),
                    json.dumps(value, indent=1),
                    json.dumps(value, separators=(",", ":")),
                }
    for path in (ROOT / "autograd_lab" / "course" / "predictions").glob("*.txt"):
        lines = path.read_text(encoding="utf-8").splitlines()
        found[f"predictions {path.stem}"] = {line for line in lines if ": " in line}
    return found


def told_by(files: dict[str, str], secrets: dict[str, set[str]], least: int = 12) -> dict[str, list[str]]:
    """{item: files that hold one of its texts}; shorter ones than `least` stand everywhere and tell nothing."""
    spaceless = {name: "".join(text.split()) for name, text in files.items()}
    everything = "\n".join(spaceless.values())
    told: dict[str, list[str]] = {}
    sought: dict[str, list[str]] = {}
    for item, texts in secrets.items():
        spelled = {"".join(text.split()) for text in texts}
        spelled |= {json.dumps(text)[1:-1] for text in spelled}
        sought[item] = [text for text in spelled if len(text) >= least]
    # Few of the thousands of texts even begin anywhere: one walk through the files finds those.
    begin = {text[:least] for one in sought.values() for text in one}
    begin = begin.intersection(everything[i : i + least] for i in range(len(everything)))
    for item, texts in sought.items():
        there = [text for text in texts if text[:least] in begin and text in everything]
        told[item] = [name for name, text in spaceless.items() if any(one in text for one in there)]
    return told


def test_no_answer_stands_in_the_wheel_to_be_read_by_accident(built):
    """A search for a word of an exercise, or a look into a file, shows neither hints nor answers; and yet they are there."""
    site = built / "site"
    files = {
        str(path.relative_to(site)): path.read_bytes().decode("utf-8", "replace")
        for path in site.rglob("*")
        if path.is_file()
    }
    secrets = answers_of_the_course()
    assert {item: where for item, where in told_by(files, secrets).items() if where} == {}
    assert [name for name, text in files.items() if '"expected"' in text and not name.endswith(".py")] == []
    folders = [PACKAGE / "course" / "items", PACKAGE / "course" / "predictions"]
    plain = {str(path): path.read_text(encoding="utf-8") for folder in folders for path in folder.iterdir()}
    assert [item for item, where in told_by(plain, secrets).items() if not where] == [], (
        "the search finds nothing"
    )
    code = (
        "from dataclasses import asdict; from autograd_lab.course import foreseen, items\n"
        "print([asdict(item) for item in items.shipped().values()])\n"
        "print([foreseen.questions(f'{n:02d}') for n in range(15)])"
    )
    here = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    assert in_site(built, code) == here.stdout
