"""Write table.py: `python -m autograd_lab.loading`. With `--check` it only says whether the table is out of date.

Where the library cannot be imported because the table is broken: `python autograd_lab/loading/__main__.py`.
A new Python loads the whole library with an empty table, and notes after the code of each module what it has entered in the books.
"""

import argparse
import ast
import json
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

PACKAGE = "autograd_lab"
HERE = Path(__file__).resolve().parent
public = runpy.run_path(str(HERE / "paths.py"))["public"]  # not imported: the package may not be importable
TABLE = HERE / "table.py"
PACKAGES = ("", "nn", "optim")  # that have their names from modules inside them

NOTE = '''
import ast, importlib, json, pkgutil, sys
from pathlib import Path
from types import ModuleType

PACKAGE, BOOKS = "autograd_lab", ("FUNCTIONS", "KERNELS", "METHODS", "RULES")

empty = ModuleType(f"{PACKAGE}.loading.table")
empty.PAGES, empty.NAMES, empty.LISTED, empty.MODULES = {}, json.loads(sys.argv[1]), {}, ""
sys.modules[empty.__name__] = empty

running, seen, owner = [], {kind: {} for kind in BOOKS}, {kind: {} for kind in BOOKS}


def note():
    """Credit the module that is running with what is new since the last time."""
    rule = sys.modules.get(f"{PACKAGE}.torchlike.ops.rule")
    for kind in BOOKS:
        book = getattr(rule, kind, {})
        for name, value in getattr(book, "entered", book).items():
            if seen[kind].get(name) is not value:
                seen[kind][name], owner[kind][name] = value, running[-1]


class Watching:
    """Finds the package's modules, and notes when the code of one starts and ends."""

    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] != PACKAGE:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next(filter(None, (finder.find_spec(name, path, target) for finder in others)), None)
        if spec is not None and isinstance(spec.cached, str):  # a file, not another name of a module
            execute = spec.loader.exec_module

            def watched(module):
                if running:
                    note()
                running.append(name)
                execute(module)
                note()
                running.pop()

            spec.loader.exec_module = watched
        return spec


sys.meta_path.insert(0, Watching())
ops = importlib.import_module(f"{PACKAGE}.torchlike.ops")
for page in pkgutil.iter_modules(ops.__path__):
    importlib.import_module(f"{ops.__name__}.{page.name}")

pages = {}
for kind in BOOKS:
    for name, page in owner[kind].items():
        pages.setdefault(page, {}).setdefault(kind, []).append(name)
        if isinstance(seen[kind][name], property):
            pages[page].setdefault("PROPERTIES", []).append(name)
listed = {page: [*importlib.import_module(f"{PACKAGE}.{page}").NAMES] for page in ("checks", "machine")}
made = [
    name.partition(".")[2]
    for name, module in sys.modules.items()
    if name.startswith(f"{PACKAGE}.") and type(module) is ModuleType and module.__spec__ is None and module is not empty
]
print(json.dumps([pages, listed, made]))
'''


def declared(package):
    """{module: names} of what a package's `if TYPE_CHECKING:` imports from its own modules."""
    path = HERE.parent / (f"torchlike/{package}" if package else "") / "__init__.py"
    found = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for statement in node.body:
                for alias in statement.names:
                    place = ".".join(filter(None, (statement.module, alias.name)))
                    if _is_module(path.parent / place.replace(".", "/")):
                        found.setdefault(_public(place), [])
                    else:
                        found.setdefault(_public(statement.module), []).append(alias.name)
    return found


def _is_module(path):
    return path.is_dir() or path.with_suffix(".py").is_file()


def _public(place):
    return public(f"{PACKAGE}.{place}").partition(".")[2]


def table():
    """The text of table.py as it should be."""
    names = {package: declared(package) for package in PACKAGES}
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        NOTE,
        json.dumps({p: {m: " ".join(n) for m, n in found.items()} for p, found in names.items()}),
    ]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=HERE.parent.parent)
    pages, listed, made = json.loads(told.stdout)
    return f'''"""Which module has which name. Made by `python -m autograd_lab.loading`; do not edit."""

PAGES = {laid_out(pages)}
"""{{a module: {{a book: what the module enters in it}}}}; of those in METHODS, which are properties."""

NAMES = {laid_out(names)}
"""{{a package: {{a module inside it: the names that the package has from it}}}}"""

LISTED = {laid_out(listed)}
"""{{a module: what it has in NAMES for the torch-like namespace}}"""

MODULES = {laid_out(made)}
"""The modules that world/devices.py makes."""
'''


def laid_out(value, indent=""):
    """Python's text of a dict, in which names stand sorted in one string."""
    inner = indent + "    "
    if isinstance(value, dict):
        lines = [f'{inner}"{key}": {laid_out(part, inner)},\n' for key, part in sorted(value.items())]
        return "{\n" + "".join(lines) + indent + "}"
    text = textwrap.fill(
        " ".join(sorted(value)), 110, initial_indent=inner, subsequent_indent=inner, break_on_hyphens=False
    )
    return f'"""\n{text}\n{indent}"""' if value else '""'


def main(argv=None):
    """Write the table, or say whether it would change. Returns 1 if it would."""
    parser = argparse.ArgumentParser(prog="python -m autograd_lab.loading", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    wanted, now = table(), TABLE.read_text(encoding="utf-8")
    if parser.parse_args(argv).check:
        print(
            "the table is up to date"
            if wanted == now
            else f"{TABLE} is out of date: python -m {PACKAGE}.loading"
        )
        return int(wanted != now)
    TABLE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
