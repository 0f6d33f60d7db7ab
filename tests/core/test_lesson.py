"""The core is as long as its README says, short enough for an evening, and read in one order."""

import ast
import importlib
import inspect
import io
import re
import tokenize
from pathlib import Path

import pytest

import autograd_lab
from autograd_lab import core
from autograd_lab.autograd.full_pass import FullPass
from autograd_lab.core import seams
from autograd_lab.core.engine import BackwardPass
from autograd_lab.core.rule import RULES

PACKAGE = Path(autograd_lab.__file__).parent
CORE, AROUND = PACKAGE / "core", PACKAGE / "torchlike/autograd"
PAGES = sorted(path.relative_to(CORE).as_posix() for path in CORE.rglob("*.py"))
ENTRY = re.compile(r"`(\S+\.py)` \((\d+)\)")  # a page in backticks, and its length in brackets
BLANK = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
}  # fmt: skip


def code_tokens(source):
    """The tokens of `source` that are code: no docstrings, comments and line ends."""
    prose = set()
    for node in ast.walk(ast.parse(source)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            prose.update(range(node.lineno, node.end_lineno + 1))
    tokens, depth = [], 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        name = tokenize.tok_name[token.type]
        # From Python 3.12 on an f-string has tokens inside; here it is one, as any string.
        depth += (name == "FSTRING_START") - (name == "FSTRING_END")
        if not depth and token.type not in BLANK and token.start[0] not in prose:
            tokens.append(token)
    return tokens


def code_lines(source):
    """The numbers of the lines of `source` that hold code: no docstrings, comments and empty lines."""
    return {n for token in code_tokens(source) for n in range(token.start[0], token.end[0] + 1)}


def text(folder, name):
    return (folder / name).read_text(encoding="utf-8")


def told(folder):
    """{page: lines of code that the folder's README gives it}, in the README's order."""
    return {name: int(n) for name, n in ENTRY.findall(text(folder, "README.md"))}


@pytest.mark.parametrize("folder", [CORE, AROUND], ids=["core", "around"])
def test_the_readme_tells_how_long_each_page_is(folder):
    """To within a tenth, or five lines of a short page; `python tests/core/test_lesson.py` prints the lengths."""
    lengths = {name: len(code_lines(text(folder, name))) for name in told(folder)}
    wrong = {
        name: (n, lengths[name])
        for name, n in told(folder).items()
        if abs(n - lengths[name]) > max(5, n / 10)
    }
    assert wrong == {}


def test_the_readmes_name_every_page():
    assert set(PAGES) - set(told(CORE)) == {"__init__.py", "rules/__init__.py"}
    assert {path.name for path in AROUND.glob("*.py")} == set(told(AROUND))


MOST_LINES, MOST_TOKENS = 1_384, 12_360
"""Asked are 1,500 and 13,000. These numbers only go down."""


def test_the_core_is_an_evening_long():
    assert sum(len(code_lines(text(CORE, name))) for name in PAGES) <= MOST_LINES
    assert sum(len(code_tokens(text(CORE, name))) for name in PAGES) <= MOST_TOKENS


def test_a_page_imports_only_pages_above_it():
    order = list(told(CORE))
    for name in order:
        folder = CORE / name
        for node in ast.walk(ast.parse(text(CORE, name))):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = folder.parents[node.level - 1]
                pages = (
                    [base / f"{node.module.replace('.', '/')}.py"]
                    if node.module
                    else [base / f"{alias.name}.py" for alias in node.names]
                )
                for page in pages:
                    above = page.relative_to(CORE).as_posix()
                    assert order.index(above) < order.index(name), f"{name} imports {above}"


# -- one thought at a time --------------------------------------------------------------------------------

MOST_BRANCHES = 12
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


@pytest.mark.parametrize("name", PAGES)
def test_no_function_of_the_core_has_many_branches(name):
    for node in ast.walk(ast.parse(text(CORE, name))):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            assert branches(node) <= MOST_BRANCHES, getattr(node, "name", "lambda")
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in ("exec", "eval", "compile")
        if isinstance(node, ast.Dict | ast.List):
            assert not any(isinstance(value, ast.Lambda) for value in ast.iter_child_nodes(node))


def test_branches_are_counted():
    source = """
def f(x):
    if x and x > 1 or x == 2:
        return [y for y in x if y] if x else None
    while x:
        assert x
"""
    assert branches(ast.parse(source).body[0]) == 1 + 1 + 1 + 2 + 1 + 1 + 1


def classes():
    """Every class of the core."""
    for name in PAGES:
        module = importlib.import_module(
            "autograd_lab.core." + name.removesuffix(".py").replace("/", ".").replace(".__init__", "")
            if name != "__init__.py"
            else "autograd_lab.core"
        )
        yield from (
            cls for cls in vars(module).values() if inspect.isclass(cls) and cls.__module__ == module.__name__
        )


def test_every_slot_is_explained():
    inherent = {"__dict__", "__weakref__"}
    for cls in set(classes()):
        slots = cls.__dict__.get("__slots__", ())
        page = text(CORE, cls.__module__.removeprefix("autograd_lab.core.").replace(".", "/") + ".py")
        said = (inspect.getdoc(cls) or "") + (ast.get_docstring(ast.parse(page)) or "")
        for slot in {slots} if isinstance(slots, str) else set(slots) - inherent:
            assert re.search(rf"\b{slot}\b", said) or slot in ("variable", "inner"), f"{cls.__name__}.{slot}"


def test_there_are_few_doors_and_each_is_explained():
    doors = seams.Doors.__slots__
    assert len(doors) <= 10
    for door in doors:
        assert re.search(rf"^ *{door}  ", inspect.getdoc(seams.Doors), re.MULTILINE), door


# -- the package runs this engine ---------------------------------------------------------------------------

LISTED = [
    "AddBackward0",
    "SubBackward0",
    "RsubBackward1",
    "MulBackward0",
    "DivBackward0",
    "NegBackward0",
    "PowBackward0",
    "ReciprocalBackward0",
    "ExpBackward0",
    "LogBackward0",
    "TanhBackward0",
    "SigmoidBackward0",
    "ReluBackward0",
    "MaximumBackward0",
    "SumBackward0",
    "SumBackward1",
    "MeanBackward0",
    "MmBackward0",
    "MvBackward0",
    "TBackward0",
    "ViewBackward0",
    "ExpandBackward0",
    "SelectBackward0",
    "SliceBackward0",
    "CloneBackward0",
    "CopyBackwards",
    "FillBackward0",
    "ZeroBackward0",
    "ToCopyBackward0",
]


@pytest.mark.parametrize("name", LISTED)
def test_the_rule_of_the_package_is_that_of_the_core(name):
    assert RULES[name].__module__.startswith("autograd_lab.core.rules.")
    assert RULES[name].vjp.__module__.startswith("autograd_lab.core.rules.")


def test_the_loop_and_the_delivery_are_those_of_the_core():
    for name in ("_loop", "_apply", "_deliver_all", "_deliver", "_capture"):
        assert getattr(FullPass, name) is getattr(BackwardPass, name), name


def test_the_nodes_of_the_package_are_made_in_the_core():
    """Nowhere else is a node of a rule made bare, but in express, and by custom Functions and compiled ones."""
    elsewhere = set()
    for path in PACKAGE.rglob("*.py"):
        if any(
            isinstance(n, ast.Attribute) and n.attr == "priority" and isinstance(n.ctx, ast.Store)
            for n in ast.walk(ast.parse(path.read_text("utf-8")))
        ):
            elsewhere.add(path.relative_to(PACKAGE).as_posix())
    assert {name for name in elsewhere if not name.startswith("express/")} == MAKERS


def in_place(page, module, found):
    """Notes in `found` each function that `page` of the core defines or imports, and that something else has taken the place of."""
    tree = ast.parse(text(CORE, page))
    classes = [(getattr(module, node.name), node) for node in tree.body if isinstance(node, ast.ClassDef)]
    for holder, node in [(module, tree), *classes]:
        for function in node.body:
            if isinstance(function, ast.FunctionDef):
                now = vars(holder)[function.name]
                now = inspect.unwrap(getattr(now, "__func__", getattr(now, "fget", now)))
                if Path(inspect.getsourcefile(now)) != CORE / page:
                    found.add(f"{page}: {'' if holder is module else holder.__name__ + '.'}{function.name}")
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            source = importlib.import_module("." * node.level + node.module, module.__package__)
            found.update(
                f"{page}: {one.name}"
                for one in node.names
                if callable(vars(module)[one.name])
                and vars(module)[one.name] is not getattr(source, one.name)
            )


def test_few_functions_of_the_core_are_replaced():
    """What torchlike assigns over: a reader of the core who looks in vain for a door in core/seams.py finds them here."""
    found = set()
    for page in PAGES:
        place = "autograd_lab.core." + page.removesuffix(".py").replace("/", ".")
        in_place(page, importlib.import_module(place.removesuffix(".__init__")), found)
    assert found - FROM_THE_FIRST_DETACH_ON == REPLACED


REPLACED = {
    "array_or_tensor.py: sum_to",  # under create_graph, PyTorch's steps
    "node.py: Node.__call__",  # several gradients
    "node.py: Node._read_saved",  # numbers are read as tensors
    "node.py: Node.refuse_overwritten",  # only if a gradient that is wanted needs the value
    "node.py: Node.restore",  # with its tangents
    "node.py: Node.result_number",  # a rule may save more than it has names for
    "record.py: make_view",  # remembers how the view was made
    "rule.py: Rule.__init_subclass__",
    "rule.py: Rule.planned",  # a result may be another than the first
    # The other number types, and PyTorch's errors:
    "rules/arithmetic.py: PowBackward0.forward",
    "rules/arithmetic.py: RsubBackward1.forward",
    "rules/arithmetic.py: SubBackward0.forward",
    "rules/copies.py: CloneBackward0.forward",
    "rules/copies.py: CopyBackwards.forward",
    "rules/copies.py: FillBackward0.forward",
    "rules/copies.py: ToCopyBackward0.forward",
    "rules/pointwise.py: ReluBackward0.forward",
    "rules/reductions.py: SumBackward1.forward",
}
"""Functions of the core that are other functions in the package."""

FROM_THE_FIRST_DETACH_ON = {"node.py: Node.unpack"}
"""`detach_()`, called somewhere in this process, makes nodes ask whether a saved tensor was cut off since."""


MAKERS = {
    "core/node.py",
    "torchlike/autograd/forward_ad.py",  # a dead end, made while loading: it may not use up a creation number
    "torchlike/autograd/function.py",
    "torchlike/autograd/record.py",  # exchanges two numbers
    "compiler/entry.py",
    "compiler/graph.py",  # stands in for a node when a formula is taken apart
}


def test_the_core_has_a_name_for_what_it_gives():
    assert core.grad.__module__ == "autograd_lab.core.engine"


if __name__ == "__main__":
    for folder in (CORE, AROUND):
        for name in told(folder):
            print(f"{len(code_lines(text(folder, name))):5} {name}")
        print()
