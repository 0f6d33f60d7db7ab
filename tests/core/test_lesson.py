"""The lesson is as long as its README says, and short enough for an evening."""

import ast
import io
import re
import tokenize
from pathlib import Path

import autograd_lab

PACKAGE = Path(autograd_lab.__file__).parent
LESSON = PACKAGE / "autograd"
ENTRY = re.compile(r"`(\S+)` \((\d+)\)")  # `autograd_lab/autograd/engine.py` (305)
BLANK = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_lines(source):
    """The numbers of the lines of `source` that hold code: no docstrings, comments and empty lines."""
    prose = set()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, node.end_lineno + 1))
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in BLANK:
            code.update(range(token.start[0], token.end[0] + 1))
    return code - prose


def length(name):
    """How many lines of code a page has; of tensor.py, only those of the graph part, between two of its headings."""
    source = (LESSON / name).read_text(encoding="utf-8")
    lines = code_lines(source)
    if name.endswith("tensor.py"):
        heads = {
            text.strip("# -"): i
            for i, text in enumerate(source.splitlines(), 1)
            if text.startswith("    # -- ")
        }
        lines = {i for i in lines if heads["leaves and flags"] < i < heads["numbers"]}
    return len(lines)


def pages():
    """(the pages of the evening, those for afterwards), each {name: lines of code that the README gives it}."""
    before, after = (LESSON / "README.md").read_text(encoding="utf-8").split("## Afterwards")
    return [{name: int(n) for name, n in ENTRY.findall(part)} for part in (before, after)]


def test_the_readme_tells_how_long_each_page_is():
    """To within a tenth, or five lines of a short page; `python tests/core/test_lesson.py` prints the lengths."""
    told = pages()[0] | pages()[1]
    wrong = {name: (n, length(name)) for name, n in told.items() if abs(n - length(name)) > max(5, n / 10)}
    assert wrong == {}


def test_the_readme_names_every_page():
    told = pages()[0] | pages()[1]
    assert {p.name for p in LESSON.glob("*.py")} - set(told) == set()


def test_the_lesson_is_an_evening_long():
    """About 1,500 lines of code."""
    assert sum(map(length, pages()[0])) <= 1550


MOST_BRANCHES = 12
TO_BE_SPLIT = {("node.py", "unpack"), ("node.py", "vjp")}
"""What has more branches still."""
COUNTED_ONCE = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)


def branches(function):
    """How many ways a function parts: each condition, loop and case, and each operand of and/or but the first."""
    found, waiting = 0, list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
        elif isinstance(node, COUNTED_ONCE):
            found += 1
        waiting += ast.iter_child_nodes(node)
    return found


def test_no_function_of_the_lesson_has_many_branches():
    """A page that a beginner reads holds one thought at a time."""
    many = set()
    for name in [*pages()[0], "seams.py", "watch.py"]:
        for node in ast.walk(ast.parse((LESSON / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.Lambda) and branches(node) > MOST_BRANCHES:
                many.add((name, getattr(node, "name", "lambda")))
    assert many == TO_BE_SPLIT


def test_branches_are_counted():
    text = """
def f(x):
    if x and x > 1 or x == 2:
        return [y for y in x if y] if x else None
    while x:
        assert x
"""
    assert branches(ast.parse(text).body[0]) == 1 + 1 + 1 + 2 + 1 + 1 + 1


if __name__ == "__main__":
    for part in pages():
        for name in part:
            print(f"{length(name):5} {name}")
        print(f"{sum(map(length, part)):5} in all\n")
