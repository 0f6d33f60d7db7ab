"""Runs the examples in the docstrings of the core: `python examples.py FOLDER PACKAGE`, with PACKAGE `core` or `autograd_lab`.

In an example `torch` is the package, `core` the core, and every name of its page is at hand. Run in a process of its own: the core
alone is not the package's core, and an example may register a rule. Prints {page: [examples run, examples failed]} as JSON.
"""

import doctest
import importlib
import json
import sys
from pathlib import Path


def main(folder, package):
    sys.path.insert(0, folder)
    torch = importlib.import_module(package)
    core = importlib.import_module("core" if package == "core" else package + ".core")
    home = Path(core.__file__).parent
    done = {}
    for path in sorted(home.rglob("*.py")):
        page = path.relative_to(home).as_posix()
        parts = [core.__name__, *page.removesuffix(".py").split("/")]
        module = importlib.import_module(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
        found = doctest.testmod(
            module,
            globs={**vars(module), "torch": torch, "core": core},
            optionflags=doctest.ELLIPSIS,
        )
        done[page] = [found.attempted, found.failed]
    print("\n" + json.dumps(done))


if __name__ == "__main__":
    main(*sys.argv[1:])
