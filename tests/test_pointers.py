"""Every file, and every name in a file, that prose points a reader at is there.

Prose is what people read: the Markdown files, the notebooks' sources, and the docstrings and comments of the package. A pointer
to a file is a word with one of our endings; a pointer to a name is a word in backticks before "in" and a file.
"""

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "autograd_lab"
FILE = re.compile(
    r"(?<![\w./*<>~{-])((?:\.\./)*[\w./-]*\w\.(?:py|ipynb|js|css|md|toml|yml|txt))(?![\w/(-]|\.\w)"
)
NAMED = re.compile(r"((?:`[A-Za-z_][\w.]*`(?:,? and |, )?)+) in `([\w./-]+\.py)`")
SAMPLES = {
    "train.py", "demo.py", "file.py", "helper.py", "exercises.yml", "class.yml",  # a user's own files
    "NN_name.py", "NN_name.ipynb",  # stand for any notebook
    "timestamp.txt",  # an instructor's
    "name.ipynb", "name-1.ipynb",  # what browsers make of a name
    "Node.js", "reveal.js",  # no files: names of projects
}  # fmt: skip


@cache
def prose():
    """[(place, text)] of all that is read as prose."""
    found = []
    for path in sorted(ROOT.rglob("*.md")):
        if (
            not {".git", ".venv", "node_modules"} & set(path.relative_to(ROOT).parts)
            and path.name != "CHANGELOG.md"
        ):
            found.append((path, path.read_text("utf-8")))
    for folder in ("notebooks", "solutions"):
        for path in sorted((ROOT / folder).glob("*.py")):
            lines = path.read_text("utf-8").splitlines()
            found.append((path, "\n".join(line for line in lines if line.startswith("#"))))
    for path in sorted([*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), ROOT / "conftest.py"]):
        if "programs" not in path.parts:
            found.append((path, "\n".join(words_of(path))))
    return found


def words_of(path):
    """The docstrings of a module if anything in it names a file, and its comments if one of them does: to read them takes long."""
    source = path.read_text("utf-8")
    if not FILE.search(source):
        return
    waiting = [ast.parse(source)]
    for node in waiting:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            yield ast.get_docstring(node, clean=False) or ""
        waiting += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr)]
    if any("#" in line and FILE.search(line) for line in source.splitlines()):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield token.string


@cache
def all_files():
    return {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*")
        if path.is_file() and ".git" not in path.parts
    }


def is_sample(pointer):
    """Whether a pointer is to a file that somebody else has or makes."""
    by_canvas = re.fullmatch(r"\w+_\d{5,}_(name.*)", pointer)
    name = by_canvas[1] if by_canvas else Path(pointer).name
    return name in SAMPLES or pointer.startswith("submissions/")


def resolve(place, pointer):
    """The file that a pointer means: from the root, from the reader's folder, or by its name within the same part."""
    part = place.relative_to(ROOT).parts[:2]
    pointer = re.sub(r"(?<!\w)exercise_(?=\d\d_)", "", pointer)  # the name in a student's folder
    for start in (ROOT, place.parent, PACKAGE, ROOT / "tests"):
        path = (start / pointer).resolve()
        if path.is_file():
            return path
    found = [
        name for name in all_files() if name.endswith("/" + pointer) and name.startswith("/".join(part[:1]))
    ]
    return ROOT / found[0] if found else None


def test_every_file_that_is_named_is_there():
    missing = [
        f"{place.relative_to(ROOT)}: {pointer}"
        for place, text in prose()
        for pointer in FILE.findall(text)
        if not is_sample(pointer) and resolve(place, pointer) is None
    ]
    assert missing == []


def names_in(path):
    """The names that a module defines, its classes' methods and attributes included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            found.add(node.id if isinstance(node, ast.Name) else node.attr)
    return found


def test_every_name_that_is_said_to_be_in_a_file_is_there():
    pointers = [
        (place, name, file)
        for place, text in prose()
        for names, file in NAMED.findall(re.sub(r"\n#? ?", " ", text))
        for name in re.findall(r"`([\w.]+)`", names)
    ]
    assert len(pointers) >= 6
    missing = [
        f"{place.relative_to(ROOT)}: `{name}` in {file}"
        for place, name, file in pointers
        if (path := resolve(place, file)) is None or name.split(".")[-1] not in names_in(path)
    ]
    assert missing == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see `engine.py`, and ops/rule.py.", ["engine.py", "ops/rule.py"]),
        ("`../func.py` (12)", ["../func.py"]),
        ("x.pyc, *.py, <name>.py, NN.pyi", []),
        ("python tests/browser/gallery.py --all", ["tests/browser/gallery.py"]),
    ],
)
def test_pointers_are_found(text, found):
    assert FILE.findall(text) == found
