"""How much is there to read for `y = w * x + b; y.backward()`: `python -m tests.reading` prints what runs, function by function.

Three engines: the core alone (a copy of its folder, which nothing else has touched), the package without its wing of speed, and
with it. Of each function counts what stands below its head: no docstrings, comments and empty lines. Comprehensions and lambdas
are part of the function around them.
"""

import ast
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.core.test_lesson import code_lines

PACKAGE = Path(__file__).parents[1] / "autograd_lab"
SHORT = 3
"""Functions of so many lines or fewer are counted apart: a name for a step, understood where it is called."""


def ran(torch):
    """The code of the package's functions that run, in the order in which they are first called."""
    w, x, b = (torch.tensor(v, requires_grad=True) for v in (2.0, 3.0, 1.0))

    def program():
        y = w * x + b
        y.backward()

    program()  # what is loaded or made once is there then
    w.grad = x.grad = b.grad = None
    found = {}

    def called(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(str(Path(torch.__file__).parent)):
            found[frame.f_code] = None

    sys.setprofile(called)
    program()
    sys.setprofile(None)
    return list(found)


def body(code):
    """(name, file, lines of code below its head) of a function, None for what is part of another."""
    path = Path(code.co_filename)
    source = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            first = node.decorator_list[0].lineno if node.decorator_list else node.lineno
            if first == code.co_firstlineno and node.name == code.co_name.rpartition(".")[2]:
                below = range(node.body[0].lineno, node.end_lineno + 1)
                return code.co_qualname, path, len(code_lines(source).intersection(below))
    return None


def read(torch):
    """What is read: (name, file, lines) of each function."""
    return [found for found in map(body, ran(torch)) if found is not None]


def sums(functions):
    """(functions, files, lines) of what `read` gives."""
    return len(functions), len({path for _, path, _ in functions}), sum(lines for _, _, lines in functions)


def told(torch):
    """The same as text, and the sums."""
    functions = read(torch)
    root = Path(torch.__file__).parent
    for name, path, lines in functions:
        yield f"{lines:5} {name:45} {path.relative_to(root).as_posix()}"
    for which, some in (
        ("all", functions),
        (f"of more than {SHORT} lines", [one for one in functions if one[2] > SHORT]),
    ):
        yield "{}: {} functions in {} files, {} lines".format(which, *sums(some))


def engines(empty):
    """(title, folder, package, whether express is on) of each; the core is copied into the folder `empty`."""
    shutil.copytree(PACKAGE / "core", Path(empty) / "core", ignore=shutil.ignore_patterns("__pycache__"))
    found = [
        ("the core alone", str(empty), "core", "0"),
        ("the package without express", str(PACKAGE.parent), "autograd_lab", "0"),
    ]
    if (PACKAGE / "express").is_dir():
        found.append(("the package with express", str(PACKAGE.parent), "autograd_lab", "1"))
    return found


def read_apart(folder, package, express):
    """What `told` says in a process of its own."""
    environment = {**os.environ, "AUTOGRAD_LAB_EXPRESS": express}
    words = [sys.executable, "-m", "tests.reading", folder, package]
    run = subprocess.run(
        words, cwd=PACKAGE.parent, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return run.stdout


def main():
    if sys.argv[1:]:
        folder, package = sys.argv[1:]
        sys.path.insert(0, folder)
        print(*told(importlib.import_module(package)), sep="\n")
        return
    with tempfile.TemporaryDirectory() as empty:
        for title, *engine in engines(empty):
            print(f"{title}\n{read_apart(*engine)}")


if __name__ == "__main__":
    main()
