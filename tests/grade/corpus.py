"""The test class: 200 students, made by code, each with the score that their work deserves.

    solver, absent-minded   every notebook with the course's own answers; every notebook as it was handed out
    bank-..                 every wrong answer of the banks, one of each item at a time
    mix-.., odd names       right, wrong and untouched items side by side, other right programs among them
    h-.., t-..              honest but broken, and tampered: every fifth one of hostile.py and attacks.py

    the_class() -> [Case]       hostile_cases() -> [Case]       write(cases, folder)       python tests/grade/corpus.py FOLDER

Nothing varies between two runs.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from autograd_lab.course import items
from autograd_lab.course.items import Item

ROOT = Path(__file__).parents[2]
SIZE = 300
Notebook = dict[str, Any]


@dataclass
class Case:
    """One student of the test class."""

    student: str
    """The name of the folder."""
    kind: str
    """"honest", "broken" (means well, goes wrong) or "tampered"."""
    files: dict[str, bytes | Callable[[Path], None]] = field(default_factory=dict)
    """What is handed in: {path in the student's folder: its bytes, or what makes it there}."""
    fair: dict[str, tuple[float, float]] = field(default_factory=dict)
    """{item: (least, most) that the work deserves}; the two differ only where a fair grader might do either."""
    why: str = ""

    @property
    def listed(self) -> str:
        """The student's name as the grader writes it: bytes that are no UTF-8 are spelled out."""
        return os.fsencode(self.student).decode("utf-8", "backslashreplace")

    @property
    def notebooks(self) -> list[str]:
        """The stems of the notebooks that the fair scores are about."""
        return sorted({stem_of(item) for item in self.fair})


# --- what the course hands out --------------------------------------------------------------------


def stems() -> list[str]:
    """The names of all exercises, in order."""
    return sorted(path.stem for path in (ROOT / "exercises").glob("*.ipynb"))


def stem_of(item_id: str) -> str:
    """The notebook of an item."""
    return next(stem for stem in stems() if stem.startswith(item_id.split(".")[0] + "_"))


@cache
def _read(folder: str, stem: str) -> str:
    return (ROOT / folder / f"{stem}.ipynb").read_text(encoding="utf-8")


def released(stem: str, folder: str = "exercises") -> Notebook:
    """A notebook as it is handed out, each source one string."""
    notebook = json.loads(_read(folder, stem))
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"])
    return notebook


@cache
def keys(stem: str) -> dict[str, Item]:
    """The items of a notebook with all that is hidden."""
    text = (ROOT / "solutions/keys" / f"{stem[:2]}.json").read_text(encoding="utf-8")
    return {item.id: item for item in items.from_json(text)}


def cell(notebook: Notebook, cell_id: str) -> dict[str, Any]:
    """The cell with this id."""
    return next(one for one in notebook["cells"] if one.get("id") == cell_id)


def answer_id(item_id: str) -> str:
    """The id of an item's answer cell."""
    return item_id.replace(".", "-") + "-answer"


def check_id(item_id: str) -> str:
    """The id of an item's check cell."""
    return item_id.replace(".", "-") + "-check"


def solutions(stem: str) -> dict[str, str]:
    """{item: the reference answer's cell}."""
    notebook = released(stem, "solutions")
    return {item_id: cell(notebook, answer_id(item_id))["source"] for item_id in keys(stem)}


def handed_in(stem: str, answers: dict[str, str]) -> Notebook:
    """The released notebook with these answers in it, {item: source}."""
    notebook = released(stem)
    for item_id, source in answers.items():
        cell(notebook, answer_id(item_id))["source"] = source
    return notebook


def dump(notebook: Any) -> bytes:
    """A notebook's bytes."""
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True).encode()


def full(stem: str) -> dict[str, tuple[float, float]]:
    """Full marks in every item of a notebook."""
    return {item_id: (item.points, item.points) for item_id, item in keys(stem).items()}


def nothing(stem: str) -> dict[str, tuple[float, float]]:
    """No marks in any item of a notebook."""
    return dict.fromkeys(keys(stem), (0.0, 0.0))


# --- answers as code ------------------------------------------------------------------------------


def asked(stem: str, item_id: str) -> ast.expr:
    """What an item's check hands over: `answer` in lab.check("04.1", answer)."""
    tree = ast.parse(cell(released(stem), check_id(item_id))["source"], mode="eval")
    assert isinstance(tree.body, ast.Call)
    return tree.body.args[1]


def assign(stem: str, item_id: str, expression: str) -> str:
    """A line that makes an expression the answer to an item."""
    target = asked(stem, item_id)
    if isinstance(target, ast.Name):
        return f"{target.id} = {expression}"
    assert isinstance(target, ast.List)
    names = [ast.unparse(part.value if isinstance(part, ast.Starred) else part) for part in target.elts]
    if not isinstance(target.elts[0], ast.Starred):
        return f"{', '.join(names)} = {expression}"
    first, second = names  # two lists of one length, handed over as one: [*first, *second]
    half = "len(both) // 2"
    return f"both = [*({expression})]\n{first}, {second} = both[: {half}], both[{half} :]"


def literal(value: Any) -> str:
    """A plain answer as Python."""
    if isinstance(value, dict) and "data" in value:
        return f"torch.tensor({literal(value['data'])})"
    if isinstance(value, dict) and set(value) == {"float"}:
        return f'float("{value["float"]}")'
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {literal(part)}" for key, part in value.items()) + "}"
    return repr(value)


@dataclass(frozen=True)
class Program:
    """A program of the bank: a cell that makes it the answer, and what it earns."""

    source: str
    score: float
    right: bool


@cache
def programs(stem: str) -> dict[str, list[Program]]:
    """{item: the right and wrong programs in its source}."""
    import jupytext

    found: dict[str, list[Program]] = {}
    for part in jupytext.read(ROOT / "solutions" / f"{stem}.py", fmt="py:percent").cells:
        if "item" in part.metadata.get("tags", []):
            tree = ast.parse(part.source)
            item_id = next(
                node.args[0].value
                for node in ast.walk(tree)
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "item"
                if node.args and isinstance(node.args[0], ast.Constant)
            )
            found[item_id] = list(_programs(stem, keys(stem)[item_id], part.source, tree))
    return found


def _programs(stem: str, item: Item, text: str, tree: ast.Module) -> Iterator[Program]:
    helpers: dict[str, ast.stmt] = {}
    for node in tree.body:
        name, expression = _banked(node)
        if name in ("wrong", "right"):
            own = _without_decorators(node) if expression is None else None
            code = ast.unparse(own if own is not None else expression)  # type: ignore[arg-type]
            lead = "\n\n\n".join(_needed(code, helpers, stem, item.id))
            body = code if own is not None else assign(stem, item.id, f"({code})")
            if own is not None and own.name != ast.unparse(asked(stem, item.id)):  # type: ignore[attr-defined]
                body += "\n\n\n" + assign(stem, item.id, own.name)  # type: ignore[attr-defined]
            call = _call(node)
            score = next((k.value.value for k in call.keywords if k.arg == "score"), 0.0) if call else 0.0  # type: ignore[attr-defined]
            yield Program(
                f"{lead}\n\n\n{body}".strip(), item.points if name == "right" else score, name == "right"
            )
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            helpers[node.name] = _without_decorators(node)
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            helpers[node.targets[0].id] = node


def _banked(node: ast.stmt) -> tuple[str, ast.expr | None]:
    """("wrong" | "right" | "avoiding" | "probe" | "look" | "", the expression in wrong(...)(expression) or right(expression))."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        for decorator in node.decorator_list:
            inner = decorator.func if isinstance(decorator, ast.Call) else decorator
            if isinstance(inner, ast.Name) and inner.id in ("wrong", "right", "avoiding", "probe", "look"):
                return inner.id, None
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        inner = node.value.func.func if isinstance(node.value.func, ast.Call) else node.value.func
        if isinstance(inner, ast.Name) and inner.id in ("wrong", "right"):
            return inner.id, node.value.args[0]
    return "", None


def _call(node: ast.stmt) -> ast.Call | None:
    """The call wrong(...) of an entry."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return next((d for d in node.decorator_list if isinstance(d, ast.Call)), None)
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    return node.value.func if isinstance(node.value.func, ast.Call) else None


def _without_decorators(node: Any) -> Any:
    own = copy.deepcopy(node)
    own.decorator_list = [
        d for d in own.decorator_list
        if ast.unparse(d).split("(")[0] not in ("wrong", "right", "avoiding", "shared", "probe", "look")
    ]  # fmt: skip
    return own


def _needed(code: str, helpers: dict[str, ast.stmt], stem: str, item_id: str) -> list[str]:
    """Imports and helpers of the item's cell that a program uses and the notebook does not have."""
    there: set[str] = {"torch", "lab"}
    for one in released(stem)["cells"]:
        if one["cell_type"] == "code" and one.get("id") != answer_id(item_id):
            for node in ast.parse(one["source"]).body:
                if isinstance(node, ast.FunctionDef | ast.ClassDef):
                    there.add(node.name)
    uses, todo = [], [code]
    while todo:
        names = sorted({n.id for n in ast.walk(ast.parse(todo.pop())) if isinstance(n, ast.Name)})
        for name in names:
            if name not in there and name in helpers:
                there.add(name)
                uses.insert(0, ast.unparse(helpers[name]))
                todo.append(uses[0])
            elif name in ("np", "math") and name not in there:
                there.add(name)
                uses.insert(0, "import numpy as np" if name == "np" else "import math")
    return uses


@cache
def banked(stem: str) -> dict[str, list[Program]]:
    """{item: every wrong answer of its bank, as a cell}, values and programs."""
    found = {}
    for item_id, item in keys(stem).items():
        if item.probes:
            found[item_id] = [one for one in programs(stem)[item_id] if not one.right]
        else:
            found[item_id] = [
                Program(assign(stem, item_id, literal(wrong.answer)), wrong.score, False)
                for wrong in item.wrong
            ]
        assert len(found[item_id]) == len(item.wrong), item_id
    return found


@cache
def alternatives(stem: str) -> dict[str, list[Program]]:
    """{item: other right answers}: further accepted values, the right programs of the sources."""
    found = {}
    for item_id, item in keys(stem).items():
        found[item_id] = [
            Program(assign(stem, item_id, literal(answer)), item.points, True) for answer in item.accept
        ] + [one for one in programs(stem).get(item_id, []) if one.right]
    return found


# --- the honest part of the class -----------------------------------------------------------------


def solver() -> Case:
    """The course's own answers."""
    case = Case("solver", "honest", why="the reference answers")
    for stem in stems():
        case.files[f"{stem}.ipynb"] = dump(handed_in(stem, solutions(stem)))
        case.fair |= full(stem)
    return case


def untouched() -> Case:
    """Everything as it was handed out."""
    case = Case("absent-minded", "honest", why="nothing was answered")
    for stem in stems():
        case.files[f"{stem}.ipynb"] = dump(released(stem))
        case.fair |= nothing(stem)
    return case


def from_the_bank() -> Iterator[Case]:
    """Each wrong answer of each bank, once at least; two notebooks to a student."""
    pairs = [stems()[i : i + 2] for i in range(0, len(stems()), 2)]
    for pair in pairs:
        waves = max(len(bank) for stem in pair for bank in banked(stem).values())
        for wave in range(waves):
            case = Case(f"bank-{pair[0][:2]}-{wave + 1}", "honest", why="wrong answers that learners give")
            for stem in pair:
                chosen = {item_id: bank[wave % len(bank)] for item_id, bank in banked(stem).items()}
                _take(case, stem, chosen)
            yield case


def _take(case: Case, stem: str, chosen: dict[str, Program]) -> None:
    case.files[f"{stem}.ipynb"] = dump(
        handed_in(stem, {item_id: one.source for item_id, one in chosen.items()})
    )
    for item_id in keys(stem):
        score = chosen[item_id].score if item_id in chosen else 0.0
        case.fair[item_id] = score, score


def mixture(number: int, name: str = "") -> Case:
    """A student who has some right, some wrong, and some not tried, in one notebook."""
    draw = random.Random(number)
    stem = stems()[number % len(stems())]
    case = Case(name or f"mix-{number + 1:03d}", "honest", why="right, wrong and untouched side by side")
    chosen = {}
    for item_id, item in keys(stem).items():
        right = [Program(solutions(stem)[item_id], item.points, True), *alternatives(stem)[item_id]]
        pool = draw.choice([right, banked(stem)[item_id], []])
        if pool:
            chosen[item_id] = draw.choice(pool)
    _take(case, stem, chosen)
    return case


# --- the class ------------------------------------------------------------------------------------


def hostile_cases() -> list[Case]:
    """All that is broken or tampered with."""
    from attacks import patched
    from hostile import broken, tampered

    return [*broken(), *tampered(), *patched()]


def the_class(size: int = SIZE) -> list[Case]:
    """All students of the test class, in the order of their names: a fifth of what is hostile among them, and every odd name."""
    from hostile import NAMES

    cases = [solver(), untouched(), *from_the_bank(), *hostile_cases()[::5]]
    cases += [mixture(i, name) for i, name in enumerate(NAMES)]
    if len(cases) >= size:
        raise ValueError(
            f"a class of {size} is too small for all that is in it; {len(cases) + 1} is the least"
        )
    cases += [mixture(i) for i in range(len(NAMES), len(NAMES) + size - len(cases))]
    names = [case.student for case in cases]
    assert len(set(names)) == size, sorted(name for name in names if names.count(name) > 1)
    return sorted(cases, key=lambda case: case.student)


def write(
    cases: list[Case], folder: Path, trap: Path | None = None, results: Path | None = None, port: int = 9
) -> list[Case]:
    """Write what the students hand in: `folder`/<student>/<notebook>.ipynb; hostile.py says what the other arguments are."""
    beside = folder.absolute().parent
    places = {
        "@TRAP@": trap or beside / "trap", "@RESULTS@": results or beside / "results", "@CLASS@": folder.absolute(),
        "@ROOT@": ROOT, "@PORT@": port,
    }  # fmt: skip
    for case in cases:
        home = folder / case.student
        home.mkdir(parents=True, exist_ok=True)
        for name, content in case.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(path)
                continue
            for mark, place in places.items():
                content = content.replace(mark.encode(), str(place).encode())
            path.write_bytes(content)
    return cases


def safe(text: str) -> str:
    """A name for a test."""
    return re.sub(r"\W+", "-", text)


if __name__ == "__main__":
    made = write(the_class(), Path(sys.argv[1]))
    print(f"{len(made)} students, {sum(len(case.files) for case in made)} files in {sys.argv[1]}")
