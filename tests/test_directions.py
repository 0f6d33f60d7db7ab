"""Who may import whom: the wings of the package from the bottom up, and the few circles of files that are left.

Read from the sources, wherever an import stands: at the top of a file, inside a function, for types only, or as a name
handed to import_module. What is named in a string that is put together when the program runs is not seen.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from autograd_lab.loading.paths import place_of

PACKAGE = Path(__file__).resolve().parent.parent / "autograd_lab"

WINGS = {
    "ground": "_version",
    "core": "core",
    "torchlike": "torchlike loading",
    "express": "express",
    "compiler": "compiler",
    # `import autograd_lab as torch`, and what a program for PyTorch finds around it
    "namespace": "__init__ torchlike.world.devices torchlike.world.standin",
    "written with it": "torchlike.distributions",  # as a user would: `import autograd_lab as torch`
    "tracing": "tracing",
    "widgets": "widgets",
    "course": "course lab datasets",
    "site": "site",
    "grade": "grade",
    "commands": "cli __main__ bench",
}
"""Every folder and every file of the package's root, by wing; what is in a folder and named itself has a wing of its own."""

ENGINE = ("ground", "core", "torchlike")
LIBRARY = (*ENGINE, "compiler", "namespace")
MAY_IMPORT = {
    "ground": (),
    "core": ("ground",),
    "torchlike": ("ground", "core"),
    "express": ENGINE,
    "compiler": ENGINE,
    "namespace": (*ENGINE, "compiler"),
    "written with it": LIBRARY,
    "tracing": (*ENGINE, "compiler"),
    "widgets": (*ENGINE, "compiler", "tracing"),
    "course": (*LIBRARY, "tracing", "widgets"),
    "site": (*LIBRARY, "tracing", "widgets", "course"),
    "grade": (*LIBRARY, "tracing", "widgets", "course"),
    "commands": (*LIBRARY, "tracing", "widgets", "course", "grade", "site"),
}
"""What the files of a wing may import beside their own. `express` is missing everywhere: see LOADS_EXPRESS."""

LOADS_EXPRESS = "__init__"
"""The one file that imports it, and does without where it was deleted."""

ONLY_NUMPY = ("ground", "core", "torchlike", "express", "compiler", "namespace", "written with it")
"""The wings that need NumPy and the standard library alone."""

WIDGET_PACKAGES = {"anywidget", "ipywidgets", "traitlets"}
WHEN_NEEDED = {
    ("grade.worker", "traitlets.config"),  # IPython takes its settings as an object of traitlets
    ("compiler.onnx", "onnx"),  # writes for another program, when it is asked to
}
"""Packages that a file imports inside of a function, and that its wing does not need."""

STILL_TO_DO: set[tuple[str, str]] = set()
"""Imports against the order that are left: (file, what it imports). One that is gone has to go from here as well."""

CIRCLES = {
    frozenset({"course.feedback", "course.probe", "lab"}): (
        "a probe runs like a program of the student's, in which `lab` has been imported; nothing in course calls it"
    ),
}
"""Files that import each other in a circle, and why."""


class Import(NamedTuple):
    """An import in a file: both as "ops.rule", a package of others by its full name."""

    file: str
    module: str
    line: int
    late: bool
    """Inside a function, or for types only."""
    ours: bool


def wing_of(module: str) -> str:
    """The wing of a file: "core.rule" is of that of "core". Raises KeyError for what has none."""
    place = module
    while place:
        for wing, members in WINGS.items():
            if place in members.split():
                return wing
        place = place.rpartition(".")[0]
    raise KeyError(f"autograd_lab/{module.partition('.')[0]} has no wing: give it one in WINGS")


def files_of(package: Path) -> dict[str, Path]:
    """{"ops.rule": its path}; a folder's own file is called as the folder, that of the package "__init__"."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = [*path.relative_to(package).with_suffix("").parts]
        if parts[0] in ("_course", "data") or parts[-1][0].isdigit():  # the gallery's programs are no modules
            continue
        if parts[-1] == "__init__" and len(parts) > 1:
            parts.pop()
        found[".".join(parts)] = path
    return found


@cache
def imports_in(package: Path) -> list[Import]:
    """All imports of all files."""
    files = files_of(package)
    return [one for file, path in files.items() for one in _imports_of(file, path, files)]


def _imports_of(file: str, path: Path, files: dict[str, Path]) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_folder = path.name == "__init__.py"
    here = ["autograd_lab", *([] if file == "__init__" else file.split("."))]
    here = here if is_folder else here[:-1]
    late = _inside(tree, lambda node: isinstance(node, FUNCTIONS) or _is_for_types(node))
    doors = _inside(tree, _is_door) if file == "__init__" else set()
    for node in ast.walk(tree):
        if node in doors:
            continue
        for named, least in _named(node, tree, here):
            name = place_of(named)  # of torchlike/ if it is a public name
            least += name.count(".") - named.count(".")
            if name.partition(".")[0] != "autograd_lab":
                yield Import(file, name, node.lineno, node in late, False)
                continue
            known = _module(name, least, files)
            if known != file:
                yield Import(file, known, node.lineno, node in late, True)


FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def _inside(tree: ast.AST, wanted: Callable[[ast.AST], bool]) -> set[ast.AST]:
    """All nodes of the source that stand in a wanted one, itself included."""
    found = set()
    for node in ast.iter_child_nodes(tree):
        found.update(ast.walk(node) if wanted(node) else _inside(node, wanted))
    return found


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING"


def _is_door(node: ast.AST) -> bool:
    """The package's `__getattr__` loads what it is asked for by name: that is an import of whoever asks."""
    return isinstance(node, ast.FunctionDef) and node.name == "__getattr__"


def _last_name(node: ast.AST) -> str:
    """The last name of `a.b.c`, or the name itself."""
    return getattr(node, "attr", getattr(node, "id", ""))


def _named(node: ast.AST, tree: ast.Module, here: list[str]) -> Iterator[tuple[str, int]]:
    """(full name, how many of its parts are a module for sure) of what a node of the source imports."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name, alias.name.count(".") + 1
    elif isinstance(node, ast.ImportFrom):
        base = here[: len(here) - node.level + 1] if node.level else []
        base = [*base, *([node.module] if node.module else [])]
        least = len(".".join(base).split("."))
        for alias in node.names:
            yield ".".join([*base, alias.name]), least
    elif isinstance(node, ast.Call) and _last_name(node.func) in ("import_module", "__import__"):
        for text in _texts(node.args[0], tree) if node.args else ():
            dots = len(text) - len(text.lstrip("."))
            base = here[: len(here) - dots + 1] if dots else []
            name = ".".join([*base, text.lstrip(".")])
            yield name, name.count(".") + 1


def _texts(argument: ast.expr, tree: ast.Module) -> list[str]:
    """The names that may be handed to import_module: a constant, or if it is a variable, the file's constants that name modules."""
    if isinstance(argument, ast.Constant):
        return [argument.value]
    if not isinstance(argument, ast.Name):
        return []
    texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return [text for text in texts if re.fullmatch(r"autograd_lab(\.\w+)*", text)]


def _module(name: str, least: int, files: dict[str, Path]) -> str:
    """The file that `name` is, or is a name in."""
    parts = name.split(".")[1:]
    for end in range(len(parts), max(least - 2, 0), -1):
        if ".".join(parts[:end]) in files:
            return ".".join(parts[:end])
    return ".".join(parts[: least - 1]) or "__init__"


def wrong_directions(package: Path) -> set[tuple[str, str]]:
    """(file, what it imports) of every import that no wing above allows."""
    found = set()
    for one in imports_in(package):
        if not (_is_down(one) if one.ours else _may_need(one)):
            found.add((one.file, one.module))
    return found


def _is_down(one: Import) -> bool:
    """Whether a wing allows an import of ours."""
    mine, other = wing_of(one.file), wing_of(one.module)
    if other == "express" and mine != "express":
        return one.file == LOADS_EXPRESS
    if is_about_torch(one.module) and not one.late and not is_about_torch(one.file):
        return False
    return mine == other or other in MAY_IMPORT[mine]


def is_about_torch(file: str) -> bool:
    """Whether it needs PyTorch: it is imported when somebody records real PyTorch, and not before."""
    return file.rpartition(".")[2].startswith("torch_")


def _may_need(one: Import) -> bool:
    """Whether a file may import what is not ours."""
    wing, top = wing_of(one.file), one.module.partition(".")[0]
    if one.late and any(one.file == file and one.module.startswith(name) for file, name in WHEN_NEEDED):
        return True
    if top in sys.stdlib_module_names or top == "numpy":
        return True
    if top in WIDGET_PACKAGES:
        return wing == "widgets"
    if wing in ONLY_NUMPY:
        return False
    return top != "torch" or one.late or is_about_torch(one.file)


def circles_in(package: Path) -> set[frozenset[str]]:
    """The sets of files that reach each other by imports (Tarjan's strongly connected components)."""
    graph: dict[str, set[str]] = {file: set() for file in files_of(package)}
    for one in imports_in(package):
        if one.ours and one.module in graph:
            graph[one.file].add(one.module)
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found = set()

    def visit(file: str) -> None:
        number[file] = lowest[file] = len(number)
        path.append(file)
        for other in sorted(graph[file]):
            if other not in number:
                visit(other)
            if other in path:
                lowest[file] = min(lowest[file], lowest[other])
        if lowest[file] == number[file]:
            circle = frozenset(path[path.index(file) :])
            del path[path.index(file) :]
            if len(circle) > 1:
                found.add(circle)

    for file in graph:
        if file not in number:
            visit(file)
    return found


def test_every_file_of_the_root_has_one_wing():
    members = " ".join(WINGS.values()).split()
    assert len(members) == len(set(members))
    files = files_of(PACKAGE)
    there = {file.partition(".")[0] for file in files}
    assert there - set(members) == set()
    assert set(members) - there - {*files} <= {"core", "express"}, "a wing names what is not there"
    assert set(MAY_IMPORT) == set(WINGS)


def test_imports_go_down_only():
    assert wrong_directions(PACKAGE) - STILL_TO_DO == set()


def test_what_is_still_to_do_is_still_there():
    assert STILL_TO_DO - wrong_directions(PACKAGE) == set()


def test_the_circles_of_files_are_these():
    assert circles_in(PACKAGE) == set(CIRCLES)
    assert len(CIRCLES) <= 3
    assert all(CIRCLES.values())


def test_the_readme_of_traces_lists_its_files_and_marks_those_that_import_the_engine():
    text = (PACKAGE / "tracing" / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\w+)(?:\.py|/)  *(.*)", text, re.MULTILINE)
    files = {file.split(".")[1] for file in files_of(PACKAGE) if file.startswith("tracing.")}
    assert sorted(name for name, _ in listed) == sorted(files)
    engine = {
        one.file.removeprefix("tracing.")
        for one in imports_in(PACKAGE)
        if one.ours and one.file.startswith("tracing.") and wing_of(one.module) in (*ENGINE, "compiler")
    }
    assert {name for name, what in listed if what.endswith("(engine)")} == engine - {"__init__"}


def package_of(folder: Path, files: dict[str, str]) -> Path:
    """A package with these files, and with the folders' own."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        for own in (path.parent / "__init__.py", folder / "__init__.py"):
            own.touch()
        path.write_text(text, encoding="utf-8")
    return folder


THERE = dict.fromkeys(
    [
        "torchlike/ops/rule",
        "torchlike/tensor",
        "torchlike/nn/layers",
        "compiler/graph",
        "express/fused",
        "tracing/torch_adapter",
        "widgets/draw",
        "course/items",
        "lab",
        "cli",
    ],
    "",
)


@pytest.mark.parametrize(
    ("file", "line", "module"),
    [
        ("core/engine", "from ..torchlike.ops import rule", "torchlike.ops.rule"),
        ("core/engine", "from autograd_lab.tensor import Tensor", "torchlike.tensor"),
        ("core/engine", "def f():\n    from autograd_lab import tensor", "torchlike.tensor"),
        ("core/engine", "if TYPE_CHECKING:\n    from ..torchlike.tensor import Tensor", "torchlike.tensor"),
        ("core/engine", "def f():\n    return importlib.import_module('..torchlike.tensor', __package__)", "torchlike.tensor"),
        ("core/engine", "import autograd_lab", "__init__"),
        ("core/engine", "from .. import zeros", "__init__"),
        ("core/engine", "from ..torchlike.dtypes import dtype", "torchlike.dtypes"),
        ("torchlike/ops/rule", "from ...tracing.trace import Trace", "tracing.trace"),
        ("torchlike/ops/rule", "from ...express.fused import Layer", "express.fused"),
        ("torchlike/ops/rule", "lambda: __import__('autograd_lab.compiler.graph')", "compiler.graph"),
        ("torchlike/nn/layers", "def f():\n    from ...compiler import graph", "compiler.graph"),
        ("torchlike/nn/layers", "def f():\n    import autograd_lab as torch", "__init__"),
        ("torchlike/dtypes", "import scipy", "scipy"),
        ("torchlike/dtypes", "def f():\n    import scipy.special", "scipy.special"),
        ("express/layers", "from ..compiler.graph import Graph", "compiler.graph"),
        ("compiler/emit", "from ..tracing import torch_adapter", "tracing.torch_adapter"),
        ("compiler/onnx", "import onnx", "onnx"),
        ("tracing/recorder", "from autograd_lab.widgets import draw", "widgets.draw"),
        ("tracing/recorder", "import anywidget", "anywidget"),
        ("tracing/recorder", "import autograd_lab.express.fused", "express.fused"),
        ("tracing/trace", "import torch", "torch"),
        ("tracing/trace", "from .torch_adapter import record_torch", "tracing.torch_adapter"),
        ("widgets/stepper", "from autograd_lab import lab", "lab"),
        ("course/build", "name = 'autograd_lab.cli'\nimport_module(name)", "cli"),
        ("grade/book", "from .. import cli", "cli"),
        ("grade/book", "import traitlets.config", "traitlets.config"),
        ("lab", "import ipywidgets", "ipywidgets"),
        ("lab", "def f():\n    from . import express", "express"),
        ("__init__", "def f():\n    from . import lab", "lab"),
    ],
)  # fmt: skip
def test_an_import_in_the_wrong_direction_is_found(tmp_path, file, line, module):
    there = package_of(tmp_path, {f"{name}.py": text for name, text in {**THERE, file: line}.items()})
    assert wrong_directions(there) == {(file.removesuffix("/__init__").replace("/", "."), module)}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("torchlike/autograd/node", "from . import engine\nimport numpy as np, math, os.path"),
        ("torchlike/autograd/node", "from ...core.node import Node"),
        ("torchlike/ops/matrix", "import numpy as np\nfrom ..autograd.node import Node\nfrom . import rule"),
        ("torchlike/tensor", "from .autograd import engine\nfrom .ops import rule"),
        ("express/layers", "from ..torchlike.nn import layers\nfrom .fused import Layer"),
        ("compiler/onnx", "def model():\n    import onnx.helper"),
        ("torchlike/distributions/normal", "import autograd_lab as torch"),
        ("tracing/adapter", "def record_torch():\n    import torch\n    from .torch_adapter import record_torch"),
        ("tracing/torch_pass", "import torch\nfrom . import torch_adapter"),
        ("widgets/stepper", "import anywidget\nfrom autograd_lab.tracing import trace"),
        ("lab", "def fast():\n    return sys.modules.get('autograd_lab.express')"),
        ("__init__", "from .express import on"),
        ("__init__", "def __getattr__(name):\n    from . import lab\n    return lab"),
    ],
)  # fmt: skip
def test_an_import_in_the_right_direction_is_not(tmp_path, file, line):
    there = package_of(tmp_path, {f"{name}.py": text for name, text in {**THERE, file: line}.items()})
    assert wrong_directions(there) == set()


def test_a_file_without_a_wing_is_found(tmp_path):
    with pytest.raises(KeyError, match="autograd_lab/leftover has no wing"):
        wrong_directions(package_of(tmp_path, {"leftover.py": "import math"}))


def test_circles_are_found_however_the_import_is_written(tmp_path):
    there = package_of(
        tmp_path,
        {
            "torchlike/ops/a.py": "def f():\n    from .b import g",
            "torchlike/ops/b.py": "import_module('...c', __package__)",
            "torchlike/ops/d.py": "from . import a",
            "c.py": "if TYPE_CHECKING:\n    from autograd_lab.ops.a import f",
            "torchlike/nn/one.py": "from .two import x",
            "torchlike/nn/two.py": "import autograd_lab.nn.one",
        },
    )
    assert circles_in(there) == {
        frozenset({"torchlike.ops.a", "torchlike.ops.b", "c"}),
        frozenset({"torchlike.nn.one", "torchlike.nn.two"}),
    }
