"""Checks that make nbval's "passed" on a notebook meaningful, and the course's budgets.

nbval compares what a cell prints with what is stored. If nothing is stored it compares nothing, and
passes: a notebook stripped of its outputs, a cell never run, a cell exempted by a comment. Each function here
closes one such gap, or checks one promise of the course about its notebooks. A problem is one line that
names the cell.

    python -m autograd_lab.course.lint notebooks/*.ipynb
"""

import ast
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autograd_lab.course import spoken
from autograd_lab.course.student import INSTRUCTOR

MAX_CELLS = 30
MAX_LINES = 15
WORDS = (600, 900)
FIRST_CODE_WITHIN = 3
# Characters that a code cell shows at once in JupyterLab, in a window of 1024x768 with its side panel closed, or of 1280x800
# with it open: 819 px at 7.83 px each. A longer line needs horizontal scrolling.
MAX_WIDTH = 104

# A memory address, or a path on the author's machine.
VARIES = re.compile(r"\bat 0x[0-9a-fA-F]{6,}|/(?:tmp|home|Users|root|work)/\S+|[A-Z]:\\Users")

# Keys of the notebook's own metadata block "autograd_lab", and what each must be.
METADATA: dict[str, type] = {
    "id": str,  # "04": the number in the file's name
    "minutes": int,  # how long a student needs
    "needs": list,  # ids of the notebooks that come before
    "goals": list,  # what a student can do afterwards, one sentence each
    "refutes": list,  # misconceptions refuted here, such as "M06"
    "retests": list,  # misconceptions met before and asked again here
    "points": int,  # the points of its graded items
}

# Where a number in Markdown is not a claim: code, options to choose from, links, versions.
NOT_CLAIMS = re.compile(
    r"```.*?```|`[^`]*`|<!--.*?-->|\[(?:Exercises|Next:) \d\d|\]\(.*?\)|PyTorch \d[\d.]*\d", re.DOTALL
)

Cell = dict[str, Any]


def lint_file(path: Path) -> list[str]:
    """All problems of one notebook file."""
    graded = path.resolve().parent.name == "solutions"
    return problems(json.loads(path.read_text(encoding="utf-8")), path.stem, graded)


def problems(notebook: dict[str, Any], name: str, graded: bool = False) -> list[str]:
    """All problems of a notebook. `name` is its file name without suffix; `graded`: a notebook of exercises."""
    cells = list(enumerate(notebook["cells"], start=1))
    code = code_cells(notebook)
    prose = [(number, cell) for number, cell in cells if cell["cell_type"] == "markdown"]
    real = [
        *no_list_by_accident(prose),
        *said_aloud(prose),
        *executed_in_order(code),
        *errors_only_where_announced(code),
        *nothing_excused(code),
        *nothing_that_varies(code),
        *fits_its_cell(code),
    ]
    if graded:
        return [*real, *every_item_is_passed(code)]
    cells, its_code, prose = (
        [x for x in some if INSTRUCTOR not in tags(x[1])] for some in (cells, code, prose)
    )
    return [
        *real,
        *taken_out_without_loss(code),
        *within_budget(cells, its_code, prose),
        *asks_before_it_tells(its_code),
        *numbers_are_asserted(its_code, prose, notebook["metadata"]),
        *metadata_complete(notebook["metadata"], name),
    ]


# --- what a line break does to prose ---------------------------------------------------------------

_STARTS = re.compile(r"\s*(1[.)]|[-+*]|>|#{1,6})\s")
_LISTED = re.compile(r"\s*(\d+[.)]|[-+*]|>|#{1,6})(\s|$)|\s{2,}\S|\|")


def no_list_by_accident(prose: list[tuple[int, Cell]]) -> Iterator[str]:
    """A sentence whose next line happens to begin with "1. " or "- " is shown as a list from there on."""
    for number, cell in prose:
        text = re.sub(r"^```.*?^```", "", source(cell), flags=re.DOTALL | re.MULTILINE)
        lines = text.split("\n")
        for line, after in itertools.pairwise(lines):
            if line.strip() and not _LISTED.match(line) and _STARTS.match(after):
                yield f"cell {number}: Markdown makes a list or heading of the line {after[:40]!r}; break the line elsewhere"


def said_aloud(prose: list[tuple[int, Cell]]) -> Iterator[str]:
    """Prose as one would say it: no inversions, no words of laws (spoken.py)."""
    for number, cell in prose:
        for found in spoken.stiff(source(cell)):
            yield f"cell {number}: nobody says {found}"


# --- nbval's vacuous passes -----------------------------------------------------------------------


def executed_in_order(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """Without an execution count nbval compares nothing; the counts must be those of one run from the top."""
    if not code:
        yield "no code cells: nothing would be run"
    for expected, (number, cell) in enumerate(code, start=1):
        count = cell.get("execution_count")
        if not source(cell).strip():
            yield f"cell {number}: empty code cell (it can never be executed)"
        elif count is None:
            yield f"cell {number}: not executed, so nbval would compare nothing"
        elif count != expected:
            yield f"cell {number}: execution count {count} where {expected} is due: not one run from the top"


def errors_only_where_announced(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """A cell tagged raises-exception must contain an error; no other cell may."""
    for number, cell in code:
        announced = "raises-exception" in tags(cell) or "NBVAL_RAISES_EXCEPTION" in source(cell)
        raised = any(output["output_type"] == "error" for output in cell["outputs"])
        if announced and not raised:
            yield f"cell {number}: tagged raises-exception, but holds no error"
        if raised and not announced:
            yield f"cell {number}: holds an error, but is not tagged raises-exception"


def nothing_excused(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """Comments, tags and shell escapes that make nbval skip a cell, a comparison, or a failure."""
    for number, cell in code:
        marks = {tag.lower().replace("_", "-") for tag in tags(cell)}
        comments = re.findall(r"#\s*((?:NBVAL|PYTEST_VALIDATE)_\w+)", source(cell))
        marks |= {comment.lower().replace("_", "-") for comment in comments}
        for mark in sorted(marks & {"nbval-skip", "nbval-ignore-output", "pytest-validate-ignore-output"}):
            yield f"cell {number}: {mark} excuses it from comparison"
        for line in source(cell).splitlines():
            if re.match(r"\s*(!|%%(bash|sh|script|capture)\b|%(sx|system|xmode)\b)", line):
                yield f"cell {number}: `{line.strip()}` can fail without failing the cell"


def nothing_that_varies(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """Warnings on stderr, memory addresses, paths of the machine that built it, widget models."""
    for number, cell in code:
        for output in cell["outputs"]:
            if output.get("name") == "stderr":
                yield f"cell {number}: writes to stderr: {text_of(output).strip().splitlines()[-1:]}"
            data = output.get("data", {})
            if "application/vnd.jupyter.widget-view+json" in data:
                yield f"cell {number}: stores a widget's model number, which is random"
            if set(data) == {"application/vnd.jupyter.widget-view+json"}:
                yield f"cell {number}: a widget with no text or picture beside it, so nbval compares nothing"
            if match := VARIES.search(text_of(output)):
                yield f"cell {number}: prints `{match[0]}`, which differs from machine to machine"


def every_item_is_passed(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """In the executed solutions every check says that its item is passed."""
    for number, cell in code:
        if not cell["metadata"].get("nbgrader", {}).get("grade"):
            continue
        shown = "\n".join(text_of(output) for output in cell["outputs"])
        if ": passed" not in shown:
            yield f"cell {number}: the check does not say passed: {shown.strip().splitlines()[:1]}"


def taken_out_without_loss(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """A student's copy has no cells tagged instructor, so these may only display something: expressions, no assignments."""
    for number, cell in code:
        if INSTRUCTOR in tags(cell) and not all(
            isinstance(line, ast.Expr) and not any(isinstance(part, ast.NamedExpr) for part in ast.walk(line))
            for line in ast.parse(source(cell)).body
        ):
            yield f"cell {number}: for the instructor, so it may hold expressions only: students' copies lack it"


# --- the course's promises ------------------------------------------------------------------------


def fits_its_cell(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """No line of code is wider than a cell on a small screen, where its end would be invisible."""
    for number, cell in code:
        for line in source(cell).splitlines():
            if len(line) > MAX_WIDTH:
                yield f"cell {number}: a line of {len(line)} characters, {MAX_WIDTH} at most: {line.strip()[:40]}..."


def within_budget(
    cells: list[tuple[int, Cell]], code: list[tuple[int, Cell]], prose: list[tuple[int, Cell]]
) -> Iterator[str]:
    """One sitting: few cells, short cells, something to run at once, prose of a readable length."""
    if len(cells) > MAX_CELLS:
        yield f"{len(cells)} cells, {MAX_CELLS} at most"
    for number, cell in code:
        lines = sum(bool(line.strip()) for line in source(cell).splitlines())
        if lines > MAX_LINES:
            yield f"cell {number}: {lines} lines, {MAX_LINES} at most"
    first = next((place for place, (_, cell) in enumerate(cells, start=1) if cell["cell_type"] == "code"), 0)
    if first > FIRST_CODE_WITHIN:
        yield f"the first code cell is cell {first}; it must come within {FIRST_CODE_WITHIN}"
    words = sum(count_words(source(cell)) for _, cell in prose)
    low, high = WORDS
    if not low <= words <= high:
        yield f"{words} words of prose, {low} to {high} wanted"


def asks_before_it_tells(code: list[tuple[int, Cell]]) -> Iterator[str]:
    """No cell that asks for a prediction states the answer: as the truth written out, or in an assert of the same cell."""
    for number, cell in code:
        tree = ast.parse(re.sub(r"^\s*[%!].*$", "", source(cell), flags=re.MULTILINE))
        asked: dict[str, list[ast.expr]] = {}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Call)
                and ast.unparse(node.func) == "lab.reveal"
                and len(node.args) in (2, 3)
            ):
                asked.setdefault(ast.unparse(node.args[0]), []).append(node.args[1])
        for name, truths in asked.items():
            # a truth that depends on what happens takes several lines: "fine" after the call, "error" in the except
            if len(truths) == 1 and (told := [part for part in _members(truths[0]) if _written_out(part)]):
                answer = ast.unparse(told[0])
                yield f"cell {number}: the answer to `{name}` stands in the cell: {answer}; let the cell find it out"
        if not any(isinstance(node, ast.Constant) and node.value is ... for node in ast.walk(tree)):
            continue  # the prediction is in an earlier cell
        revealed = {ast.dump(part) for truths in asked.values() for truth in truths for part in _parts(truth)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Assert) and revealed & {ast.dump(part) for part in ast.walk(node.test)}:
                yield f"cell {number}: asserts what it asks for; move it to a later cell: {ast.unparse(node)}"


def _members(truth: ast.expr) -> list[ast.expr]:
    return truth.elts if isinstance(truth, ast.List | ast.Tuple) else [truth]


def _written_out(truth: ast.expr) -> bool:
    """Whether a truth can be read off without running anything: it contains no name."""
    return not any(isinstance(node, ast.Name) for node in ast.walk(truth))


def _parts(truth: ast.expr) -> Iterator[ast.expr]:
    """What a revealed truth shows: itself, the members of a list, what an index or a call of one argument is taken of."""
    yield truth
    inner = _members(truth) if isinstance(truth, ast.List | ast.Tuple) else []
    if isinstance(truth, ast.Subscript):
        inner = [truth.value]
    elif isinstance(truth, ast.Call) and len(truth.args) == 1:
        inner = truth.args
    for part in inner:
        if not isinstance(part, ast.Constant):
            yield from _parts(part)


def numbers_are_asserted(
    code: list[tuple[int, Cell]], prose: list[tuple[int, Cell]], metadata: dict[str, Any]
) -> Iterator[str]:
    """A number that the prose states must be asserted: it is in a cell with an `assert`.

    Single digits, ids (M06), notebook numbers (04), code in the text and the stated minutes are left alone.
    """
    texts = [source(cell) for _, cell in code]
    asserted = "\n".join(text for text in texts if re.search(r"^\s*assert\b", text, re.MULTILINE))
    known = {float(n) for n in re.findall(r"\d+(?:\.\d+)?", asserted)}
    block = metadata.get("autograd_lab") or {}
    minutes = block.get("minutes")
    known |= {float(minutes)} if isinstance(minutes, int) else set()
    known |= {float(n) for n in (block.get("id"), *block.get("needs", ())) if re.fullmatch(r"\d\d", str(n))}
    for number, cell in prose:
        text = NOT_CLAIMS.sub(" ", source(cell))
        for stated in re.findall(r"(?<![\w.])\d+(?:[.,]\d+)*(?![\w])", text):
            value = stated.replace(",", "")
            if len(value) == 1 or re.fullmatch(r"0\d", value):
                continue
            # "96 %" and "0.96" are the same statement
            if not known & {float(value), float(value) / 100}:
                yield f"cell {number}: states {stated}, which no asserting cell contains"


def metadata_complete(metadata: dict[str, Any], name: str) -> Iterator[str]:
    """The block from which the table of contents is made."""
    block = metadata.get("autograd_lab")
    if not isinstance(block, dict):
        yield 'no "autograd_lab" block in the notebook\'s metadata'
        return
    for key, kind in METADATA.items():
        if not isinstance(block.get(key), kind):
            yield f"metadata autograd_lab.{key}: it should be of type {kind.__name__}, not {block.get(key)!r}"
    for key in sorted(set(block) - set(METADATA)):
        yield f"metadata autograd_lab.{key}: unknown key"
    if block.get("id") != name.split("_")[0]:
        yield f"metadata autograd_lab.id is {block.get('id')!r}, but the file is called {name}"
    if isinstance(block.get("goals"), list) and not 1 <= len(block["goals"]) <= 4:
        yield f"metadata autograd_lab.goals: {len(block['goals'])} goals, 1 to 4 wanted"
    for key in ("refutes", "retests"):
        for item in block.get(key) or []:
            if not re.fullmatch(r"M\d\d", str(item)):
                yield f"metadata autograd_lab.{key}: {item!r} is not an id such as M06"


# --- reading cells --------------------------------------------------------------------------------


def code_cells(notebook: dict[str, Any]) -> list[tuple[int, Cell]]:
    """The code cells of a notebook, each with its number."""
    return [
        (number, cell)
        for number, cell in enumerate(notebook["cells"], start=1)
        if cell["cell_type"] == "code"
    ]


def source(cell: Cell) -> str:
    """The text of a cell."""
    text = cell["source"]
    return text if isinstance(text, str) else "".join(text)


def tags(cell: Cell) -> list[str]:
    """The tags of a cell."""
    return list(cell["metadata"].get("tags", []))


def text_of(output: dict[str, Any]) -> str:
    """All text of one output."""
    parts = [output.get("text", ""), output.get("evalue", ""), *output.get("traceback", [])]
    shown = [mime for mime in output.get("data", {}) if mime.startswith(("text/", "image/svg"))]
    parts += [output["data"][mime] for mime in shown]
    text = "\n".join(part if isinstance(part, str) else "".join(part) for part in parts)
    return re.sub(r"base64,[\w+/=]+", "", text)  # the bytes of a picture are not words


def count_words(markdown: str) -> int:
    """The words of the prose: no code blocks, no markup, no link targets, no bare numbers or signs, nothing in place of a picture."""
    text = re.sub(r"```.*?```|<[^>]*>|!\[[^\]]*\]\(.*?\)|\]\(.*?\)|\$[^$]*\$", " ", markdown, flags=re.DOTALL)
    return len(re.findall(r"[A-Za-z][\w'-]*", text))


def main(argv: list[str] | None = None) -> int:
    """Print the problems of the given notebooks; 0 if there are none."""
    found = 0
    for path in map(Path, sys.argv[1:] if argv is None else argv):
        for problem in lint_file(path):
            print(f"{path}: {problem}")
            found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
