"""The right answers to what a notebook asks, found by running it: `python answers.py NOTEBOOK` prints them as JSON.

Each `...` of the source, in the order of the file, is run as an object with a number; `lab.reveal` tells which number meets which
truth. {"holes": {"0": "96"}, "asked": [[id, [[label, truth] of each part]]]}
"""

import ast
import json
import math
import sys
import warnings
from pathlib import Path
from typing import Any


class Hole:
    """A `...` of the source, by its number."""

    def __init__(self, number: int) -> None:
        self.number = number


class Numbered(ast.NodeTransformer):
    """Replaces each `...` that stands for an answer by `_hole(number)`."""

    def __init__(self, first: int) -> None:
        self.count = first

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if node.value is not ...:
            return node
        call = ast.Call(ast.Name("_hole", ast.Load()), [ast.Constant(self.count)], [])
        self.count += 1
        return ast.copy_location(call, node)


def places(code: str) -> list[tuple[int, int]]:
    """Where each `...` of a cell stands, as line and column."""
    found = [n for n in ast.walk(ast.parse(code)) if isinstance(n, ast.Constant) and n.value is ...]
    return sorted((n.lineno, n.col_offset) for n in found)


def filled(code: str, answers: list[str]) -> str:
    """A cell with its dots replaced by these answers."""
    lines = code.split("\n")
    for (line, column), answer in reversed(list(zip(places(code), answers, strict=True))):
        text = lines[line - 1].encode()
        lines[line - 1] = (text[:column] + answer.encode() + text[column + 3 :]).decode()
    return "\n".join(lines)


def written(value: Any) -> str:
    """A value as it is written in a cell."""
    if isinstance(value, list | tuple):
        inside = ", ".join(map(written, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside},)"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


def run(path: Path) -> dict[str, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    from autograd_lab import lab
    from autograd_lab.course.reveal import _split, plain, question

    holes: dict[int, str] = {}
    asked: list[Any] = []
    found: dict[int, Hole] = {}

    def meet(said: Any, truth: Any) -> None:
        if isinstance(said, Hole):
            holes[said.number] = written(plain(truth))
        elif isinstance(said, dict):
            for key, part in said.items():
                meet(part, truth[key])
        elif isinstance(said, list | tuple):
            for part, one in zip(said, truth, strict=True):
                meet(part, one)

    def reveal(prediction: Any, truth: Any, ask: str = "") -> bool:
        meet(prediction, truth)
        known = question(ask)
        parts = _split(prediction, truth, known.parts) if known else []
        row = []
        for part, _, is_ in parts:
            row.append([part.label, written(plain(is_))])
        asked.append([ask, row])
        return True

    setattr(lab, "reveal", reveal)  # noqa: B010
    names: dict[str, Any] = {"__name__": "__main__", "_hole": lambda n: found.setdefault(n, Hole(n))}
    count = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            numbered = Numbered(count)
            tree = ast.fix_missing_locations(numbered.visit(ast.parse("".join(cell["source"]))))
            count = numbered.count
            exec(compile(tree, "cell", "exec"), names)
    return {"holes": holes, "asked": asked}


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    told, sys.stdout = sys.stdout, sys.stderr
    result = run(Path(sys.argv[1]))
    print(json.dumps(result), file=told)
