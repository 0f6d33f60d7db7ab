"""The package as a whole: what importing it loads, who may import whom, what its files say of each other."""

import ast
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import autograd_lab
from autograd_lab._resources import course_root
from autograd_lab._version import __version__

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


# Parts of the package from the bottom up. A part may import those before it (and itself), never those after.
# The parts in one group are peers and may use each other. Modules not named here are the core's small change
# (dtypes, creation): any part of the core may import them, and they any part of the core.
GROUPS = [
    {"autograd"},
    {"ops"},
    {"tensor"},
    {"nn", "optim", "utils", "compiler"},
    {"express"},
    {"tracing"},
    {"widgets"},
    {"course"},
    {"lab", "__init__", "standin", "distributions"},
    {"_resources"},
    {"grade"},
    {"cli", "__main__", "bench", "recording_bench"},
]
RANK = {part: rank for rank, group in enumerate(GROUPS) for part in group}
CORE = {"small", "autograd", "ops", "tensor", "nn", "optim", "utils", "compiler", "distributions", "express"}
WIDGET_PACKAGES = {"anywidget", "ipywidgets", "traitlets"}

# IPython takes its settings as an object of traitlets; the process that runs students' code sets up a shell.
SET_UP = {("grade/worker.py", "traitlets.config")}

# Writes for another program, when it is asked to.
FOR_OTHERS = {("compiler/onnx.py", "onnx")}

# Files of autograd/ that may reach up to the rules and Tensors, inside their functions: they are written for
# users, on top of the engine, and stand there because PyTorch has them there. The engine itself never does.
ON_TOP_OF_THE_ENGINE = {
    "autograd/__init__.py",  # grad(..., is_grads_batched=True) stacks its rows
    "autograd/functional.py",
    "autograd/forward_ad.py",
    "autograd/gradcheck.py",
}

# These are written with the public names, as a user would write them, and may look them up when they are called.
WRITTEN_AS_USERS_DO = {"nn", "optim", "utils", "compiler"}


def part_of(module: str) -> str:
    """`autograd_lab.ops.rule` -> "ops"; `autograd_lab` itself -> "__init__"."""
    names = module.split(".")
    part = names[1] if len(names) > 1 else "__init__"
    return part if part in RANK else "small"


def goes_up(me: str, other: str) -> bool:
    """Whether an import of part `other` by part `me` goes against the order of GROUPS."""
    if "small" in (me, other):
        return me in CORE and other not in CORE
    return RANK[other] > RANK[me]


def imports_of(path: Path, package: Path) -> Iterator[tuple[int, str, bool]]:
    """(line, absolute module, whether it is imported with the file itself) for each import in `path`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    here = ["autograd_lab", *path.relative_to(package).with_suffix("").parts]
    for_types_only = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for statement in node.body
        for inner in ast.walk(statement)
    }
    late = {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if node in for_types_only:
            continue
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, node not in late
        elif isinstance(node, ast.ImportFrom):
            base = here[: -node.level] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from autograd_lab import lab` imports a module, `from autograd_lab.tensor import x` a name
                full = f"{source}.{alias.name}"
                inside = package.joinpath(*full.split(".")[1:])
                is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
                yield node.lineno, full if is_module else source, node not in late


ABOUT_TORCH = re.compile("torch_")  # modules that are only imported when somebody records real PyTorch


def wrong_directions(package: Path) -> list[str]:
    """Every import that goes up, or that loads what only another part may load."""
    found = []
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        if relative.parts[0] == "_course":
            continue
        me = part_of(".".join(["autograd_lab", *relative.with_suffix("").parts]))
        for line, module, at_once in imports_of(path, package):
            top = module.partition(".")[0]
            where = f"{relative}:{line}"
            if top == "autograd_lab":
                other = part_of(module)
                excused = not at_once and (
                    (relative.as_posix() in ON_TOP_OF_THE_ENGINE and other in CORE)
                    or (me in WRITTEN_AS_USERS_DO and other == "__init__")
                )
                if (
                    ABOUT_TORCH.match(module.rpartition(".")[2])
                    and at_once
                    and not ABOUT_TORCH.match(path.stem)
                ):
                    found.append(f"{where}: {module} needs torch and is imported with the module")
                if goes_up(me, other) and not excused:
                    found.append(f"{where}: {me} imports {other}")
            elif top in WIDGET_PACKAGES:
                if me != "widgets" and (relative.as_posix(), module) not in SET_UP:
                    found.append(f"{where}: {me} imports {top}")
            elif not at_once and (relative.as_posix(), module) in FOR_OTHERS:
                continue
            elif me in CORE and top != "numpy" and top not in sys.stdlib_module_names:
                found.append(f"{where}: the core imports {top}")
            elif top == "torch" and at_once and not ABOUT_TORCH.match(path.stem):
                found.append(f"{where}: torch is imported with the module, not when it is needed")
    return found


def test_imports_go_down_only():
    assert wrong_directions(PACKAGE) == []


@pytest.mark.parametrize(
    ("file", "line", "complaint"),
    [
        ("autograd/engine.py", "from ..ops import rule", "autograd imports ops"),
        ("autograd/engine.py", "from autograd_lab.tensor import Tensor", "autograd imports tensor"),
        ("autograd/engine.py", "def f():\n    from autograd_lab import tensor", "autograd imports tensor"),
        ("autograd/engine.py", "import autograd_lab", "autograd imports __init__"),
        ("ops/rule.py", "from ..tracing import recorder", "ops imports tracing"),
        ("autograd/functional.py", "from autograd_lab.tensor import Tensor", "autograd imports tensor"),
        ("autograd/functional.py", "def f():\n    from autograd_lab import lab", "autograd imports lab"),
        ("dtypes.py", "from . import tracing", "small imports tracing"),
        ("dtypes.py", "import scipy", "the core imports scipy"),
        ("compiler/onnx.py", "import onnx", "the core imports onnx"),
        ("tensor.py", "import autograd_lab.nn", "tensor imports nn"),
        ("tensor.py", "import matplotlib.pyplot", "the core imports matplotlib"),
        ("nn/layers.py", "import autograd_lab", "nn imports __init__"),
        ("nn/layers.py", "def f():\n    from autograd_lab import lab", "nn imports lab"),
        ("ops/rule.py", "def f():\n    import autograd_lab", "ops imports __init__"),
        ("tracing/recorder.py", "from autograd_lab.widgets import draw", "tracing imports widgets"),
        ("tracing/recorder.py", "import anywidget", "tracing imports anywidget"),
        ("tracing/trace.py", "import torch", "torch is imported with the module, not when it is needed"),
        (
            "tracing/trace.py",
            "from .torch_adapter import record_torch",
            "autograd_lab.tracing.torch_adapter needs torch and is imported with the module",
        ),
        ("widgets/draw.py", "from autograd_lab.course import items", "widgets imports course"),
        ("course/items.py", "from ..grade import book", "course imports grade"),
        ("grade/book.py", "from .. import cli", "grade imports cli"),
        ("lab.py", "import ipywidgets", "lab imports ipywidgets"),
    ],
)
def test_an_import_in_the_wrong_direction_is_found(tmp_path, file, line, complaint):
    for name in (
        "ops/__init__",
        "nn/__init__",
        "tracing/__init__",
        "tensor",
        "lab",
        "cli",
        file.removesuffix(".py"),
    ):
        path = (tmp_path / name).with_suffix(".py")
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / file).write_text(line)
    assert [found.partition(": ")[2] for found in wrong_directions(tmp_path)] == [complaint]


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("ops/rule.py", "import numpy as np\nfrom ..autograd.node import Node\nfrom . import both"),
        ("tensor.py", "from .autograd import engine\nfrom .ops import arithmetic\nimport math, os.path"),
        ("autograd/functional.py", "def jacobian():\n    from autograd_lab.tensor import Tensor"),
        ("dtypes.py", "from .autograd import modes"),
        ("utils/checkpoint.py", "def state():\n    import autograd_lab"),
        ("autograd/node.py", "if TYPE_CHECKING:\n    from autograd_lab.tensor import Tensor"),
        ("tracing/adapter.py", "def record_torch():\n    import torch"),
        ("widgets/stepper.py", "import anywidget\nfrom autograd_lab.tracing import Trace"),
    ],
)
def test_an_import_in_the_right_direction_is_not(tmp_path, file, line):
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(line)
    assert wrong_directions(tmp_path) == []


# ----------------------------------------------------------------------
# files that say the same thing twice
# ----------------------------------------------------------------------

CONDA_NAMES = {"playwright": "playwright-python"}


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_environment_yml_has_the_requirements_of_pyproject():
    wanted = {f"python{project()['requires-python']}", "pip"}
    for requirement in [*project()["dependencies"], *project()["optional-dependencies"]["test"]]:
        name = re.match(r"[\w-]+", requirement)[0]
        wanted.add(requirement.replace(name, CONDA_NAMES.get(name, name), 1))
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert "channels:\n  - conda-forge\ndependencies:" in text
    listed = re.findall(r"^  - ([^\s#]+)(?:  #.*)?$", text.partition("dependencies:")[2], flags=re.MULTILINE)
    by_pip = re.findall(r"^      - ([^\s#]+)", text.partition("- pip:")[2], flags=re.MULTILINE)
    assert set(listed) - {"pip:"} | set(by_pip) - {"-e"} == wanted
    assert len(listed) == len(set(listed))
    assert text.rstrip().endswith("\n      - -e .")


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


def test_the_wheel_carries_the_course_and_finds_it(tmp_path):
    build = "import sys, hatchling.build as b; b.build_wheel(sys.argv[1])"
    subprocess.run(
        [sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, check=True, capture_output=True, text=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name == f"autograd_lab-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        archive.extractall(tmp_path / "site")
    for folder in ("notebooks", "exercises"):
        for notebook in (ROOT / folder).glob("*.ipynb"):
            assert f"autograd_lab/_course/{folder}/{notebook.name}" in names
    tops = {name.partition("/")[0] for name in names}
    assert tops == {"autograd_lab", f"autograd_lab-{__version__}.dist-info"}
    for module in PACKAGE.rglob("*.py"):
        assert module.relative_to(ROOT).as_posix() in names
    course = [path for path in (tmp_path / "site" / "autograd_lab" / "_course").rglob("*") if path.is_file()]
    assert {path.suffix for path in course if path.parent.name == "notebooks"} == {".ipynb"}
    for path in course:
        assert '"instructor"' not in path.read_text(encoding="utf-8"), f"a note for the instructor in {path}"

    elsewhere = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    code = "from autograd_lab._resources import *; print(r := course_root()); print(*course_files(r))"
    run = subprocess.run(
        [sys.executable, "-P", "-c", code],
        cwd=tmp_path,
        env=elsewhere,
        check=True,
        capture_output=True,
        text=True,
    )
    where, files = run.stdout.splitlines()
    assert Path(where) == tmp_path / "site" / "autograd_lab" / "_course"
    assert len(files.split()) >= len(list((ROOT / "notebooks").glob("*.ipynb")))
