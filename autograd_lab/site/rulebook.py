"""The rule book: every rule of the engine with its formulas, shapes, saved values and source, and a live example where the course uses it.

    rules/index.html             all rules in a table, to be filtered by rule, function or words; how to read the formulas
    rules/FAMILY.html#RULE       an entry, such as rules/arithmetic.html#MulBackward0: see `place_of`

What an entry says is what the docstring of the rule says; nothing is written twice. Its calls are the samples of tests/operations.py,
and the rules of the course are those that its notebooks record: `python -m autograd_lab.site.rulebook` runs them and writes course_rules.txt.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import io
import itertools
import json
import re
import sys
import types
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import autograd_lab as torch
from autograd_lab.core import rule as core_rule
from autograd_lab.course import build
from autograd_lab.torchlike.autograd.node import AccumulateGrad
from autograd_lab.torchlike.autograd.views import CopySlices
from autograd_lab.torchlike.ops.rule import FUNCTIONS, METHODS, RULES
from autograd_lab.tracing import formulas
from autograd_lab.tracing.recorder import Recording, record
from autograd_lab.tracing.words import explained
from autograd_lab.widgets import step

from . import live, programs
from .highlight import colors, python
from .mathml import typeset
from .options import Options
from .pages import ASSETS, Site
from .rule_examples import EXAMPLES

PACKAGE = Path(torch.__file__).parent
USED = Path(__file__).with_name("course_rules.txt")

FAMILIES = {
    "arithmetic": "Arithmetic",
    "pointwise": "Functions of each element",
    "activations": "Activation functions",
    "reductions": "Sums, means, extremes, softmax",
    "matrices": "Matrix products",
    "products": "More products of matrices and vectors",
    "views": "Views: another shape on the same memory",
    "shapes": "Shapes and the order of dims",
    "slicing": "Parts of a tensor",
    "indexing": "Indexing",
    "gather_scatter": "Gather and scatter",
    "concat": "Joining and rearranging",
    "copies": "Copies",
    "convert": "More copies and conversions",
    "broadcasting": "Several tensors that broadcast",
    "scalars": "A tensor and a number",
    "losses": "Losses",
    "normalization": "Normalization",
    "convolution": "Convolution, padding, resizing",
    "pooling": "Pooling",
    "embedding": "Embeddings and dropout",
    "bags": "Embedding bags",
    "attention": "Attention",
    "sorting": "Sorting and ranks",
    "einsum": "Einsum",
    "linalg": "Linear algebra",
    "lu": "LU factorization",
    "statistics": "Renorm",
    "incomplete": "Incomplete gamma functions",
    "draws": "Random tensors",
    "samplers": "Samplers with derivatives",
    "comparison": "Comparisons and logic",
    "engine": "The engine's own nodes",
    "general": "Bases of other rules",
}
"""The families of rules, by their pages, in the order of the index."""


@dataclass(frozen=True)
class Entry:
    """A rule as the book shows it."""

    name: str
    rule: type
    functions: tuple[str, ...]
    """What makes its nodes, such as "torch.mul" and "Tensor.mul_"."""
    calls: tuple[Any, ...]
    """Sample calls (tests/operations.py)."""
    notebooks: tuple[str, ...]
    """The numbers of the notebooks that use it, such as "02"."""

    @property
    def family(self) -> str:
        """Its page, such as "arithmetic"."""
        return family_of(self.rule)

    @property
    def is_base(self) -> bool:
        """Whether other rules are made from it, and it makes no nodes."""
        return not self.calls and self.family != "engine"


def place_of(name: str) -> str:
    """Where the entry of a rule is, as a path in the site: "rules/arithmetic.html#MulBackward0". Raises KeyError if there is none."""
    rule = _own_nodes().get(name) or RULES[name]
    return f"rules/{family_of(rule)}.html#{name}"


def family_of(rule: type) -> str:
    """The page of a rule: the name of the module that defines it, or the class it was made from."""
    if rule in _own_nodes().values():
        return "engine"
    module = next(cls.__module__ for cls in rule.__mro__ if cls.__module__ != "autograd_lab.core.node")
    return module.rpartition(".")[2]


def _own_nodes() -> dict[str, type]:
    return {"AccumulateGrad": AccumulateGrad, "CopySlices": CopySlices}


def add(site: Site, options: Options) -> None:
    """Add the pages of the rule book, and what they need."""
    found = entries(options.root)
    site.add("assets/rules.css", (ASSETS / "rules.css").read_text(encoding="utf-8") + colors())
    site.add("assets/rules.js", (ASSETS / "rules.js").read_bytes())
    pages: dict[str, list[Entry]] = {family: [] for family in FAMILIES}
    for entry in found:
        pages[entry.family].append(entry)
    for listed in pages.values():  # what nobody calls by hand comes later
        listed.sort(key=lambda entry: (entry.is_base, "BackwardBackward" in entry.name))
    order = [family for family in pages if pages[family]]
    _add(site, "rules/index.html", "The rule book", _index(site, {family: pages[family] for family in order}))
    for i, family in enumerate(order):
        path = f"rules/{family}.html"
        around = [order[k] if 0 <= k < len(order) else "" for k in (i - 1, i + 1)]
        _add(site, path, FAMILIES[family], _family(site, path, FAMILIES[family], pages[family], around))


def _add(site: Site, path: str, title: str, body: str) -> None:
    site.page(path, f"{title} · rules", body, styles=["assets/rules.css"], scripts=["assets/rules.js"])


def entries(root: Path) -> list[Entry]:
    """All entries, in the order in which the engine defines the rules. `root` is the checkout."""
    calls: dict[str, list[Any]] = defaultdict(list)
    for call in _samples(root).CALLS:
        calls[call.rule].append(call)
    served = _served()
    used = course_rules()
    found = []
    for name, rule in {**RULES, **_own_nodes()}.items():
        names = sorted({*served[name], *filter(None, map(_function_of, calls[name]))}, key=_plain_first)
        found.append(Entry(name, rule, tuple(names), tuple(calls[name]), used.get(name, ())))
    return found


@cache
def _samples(root: Path) -> Any:
    """The module tests/operations.py of the checkout."""
    spec = importlib.util.spec_from_file_location("operations", root / "tests" / "operations.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)  # its dataclasses ask for it
    spec.loader.exec_module(module)
    return module


# -- who makes a rule's nodes --------------------------------------------------------------------------


def _functions() -> Iterator[tuple[str, Any]]:
    """Every public function of operations, by its full name."""
    for name, fn in FUNCTIONS.items():
        yield f"torch.{name}", fn
    for name, fn in METHODS.items():
        yield f"Tensor.{name}", fn
    for prefix in ("nn.functional", "linalg", "special"):
        module = torch
        for part in prefix.split("."):
            module = getattr(module, part)
        for name in dir(module):
            if not name.startswith("_") and isinstance(getattr(module, name), types.FunctionType):
                yield f"torch.{prefix}.{name}", getattr(module, name)


def _served() -> dict[str, list[str]]:
    """{rule: the functions whose code names it, directly or in a helper that is not public itself}."""
    public = dict(_functions())
    ids = {id(fn) for fn in public.values()}
    found = defaultdict(list)
    for name, fn in public.items():
        for rule in sorted(_named_in(fn, ids, set())):
            found[rule].append(name)
    return found


def _named_in(fn: Any, public: set[int], seen: set[int]) -> set[str]:
    found: set[str] = set()
    if id(fn) in seen or not isinstance(fn, types.FunctionType):
        return found
    seen.add(id(fn))
    parts = [
        fn.__globals__[name]
        for code in _codes(fn.__code__)
        for name in code.co_names
        if name in fn.__globals__
    ]
    parts += [cell.cell_contents for cell in fn.__closure__ or ()]
    for part in parts:
        if isinstance(part, type) and issubclass(part, core_rule.Rule):
            found.add(part.__name__)
        elif str(getattr(part, "__module__", "")).startswith("autograd_lab.ops.") and id(part) not in public:
            found |= _named_in(part, public, seen)
    return found & set(RULES)


def _plain_first(name: str) -> tuple[int, bool, str]:
    """torch.mul before Tensor.mul before torch.nn.functional.mul; what writes in place comes after what does not."""
    return name.count("."), name.endswith("_"), name.swapcase()


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


def _function_of(call: Any) -> str:
    """The function that a sample call ends with, "" where that is a gradient taken of another one."""
    last = ast.parse(call.text).body[-1]
    node = last.value if isinstance(last, ast.Expr) else None
    while isinstance(node, ast.Subscript | ast.Attribute):
        node = node.value
    if not isinstance(node, ast.Call) or "autograd.grad" in call.text:
        return ""
    name = ast.unparse(node.func)
    if re.fullmatch(r"torch(\.\w+)+", name):
        return name
    if re.fullmatch(r"F\.\w+", name):
        return f"torch.nn.functional{name[1:]}"
    return f"Tensor.{node.func.attr}" if isinstance(node.func, ast.Attribute) else ""


# -- what a docstring says -----------------------------------------------------------------------------

_HEADS = ("Math", "VJP", "Shapes", "Saves", "PyTorch")
_SECTION = re.compile(
    rf"\b({'|'.join(_HEADS)}):\s+(.*?)(?=\b(?:{'|'.join(_HEADS)}):\s|\n\s*\n|\Z)", re.DOTALL
)
_SENTENCES = re.compile(r"(.*?)\.\s+(?=[A-Z])(.*)", re.DOTALL)


@dataclass(frozen=True)
class Told:
    """A docstring's parts as plain text; Math and VJP without the remarks in words, which follow them."""

    summary: str
    parts: dict[str, str]
    remarks: dict[str, str]
    more: str
    """Paragraphs below the headings."""


def told(rule: type) -> Told:
    """What the docstring of a rule says; a heading that it lacks is that of the class it is derived from."""
    doc = inspect.cleandoc(rule.__doc__ or "")
    parts: dict[str, str] = {}
    for cls in rule.__mro__:
        for found in _SECTION.finditer(cls.__dict__.get("__doc__") or ""):
            parts.setdefault(found[1], " ".join(found[2].split()))
    remarks = {}
    for head in ("Math", "VJP"):
        split = _SENTENCES.fullmatch(parts.get(head, ""))
        if split:
            parts[head], remarks[head] = split[1], split[2]
    paragraphs = re.split(r"\n\s*\n", doc)
    after = [
        p
        for p in paragraphs[1:]
        if not _SECTION.search(p) and ">>>" not in p and not re.match(r"\w+ {2,}", p)
    ]
    return Told(" ".join(paragraphs[0].split()), parts, remarks, " ".join(" ".join(after).split()))


# -- pages ---------------------------------------------------------------------------------------------


def _family(site: Site, path: str, title: str, listed: list[Entry], around: list[str]) -> str:
    jump = " ".join(f'<a href="#{entry.name}">{escape(entry.name)}</a>' for entry in listed)
    links = [
        f'<a class="{side}" href="{family}.html">{FAMILIES[family]}</a>' if family else "<span></span>"
        for side, family in zip(("before", "after"), around, strict=True)
    ]
    turn = f'<nav class="turn" aria-label="Families">{"".join(links)}</nav>'
    return (
        f'<p class="up"><a href="index.html">All rules</a></p><h1>{title}</h1>'
        f'<nav class="jump" aria-label="Rules on this page">{jump}</nav>'
        + "".join(_entry(site, path, entry) for entry in listed)
        + turn
    )


def _entry(site: Site, path: str, entry: Entry) -> str:
    said = told(entry.rule)
    rows = []
    definitions = {
        **formulas.read(said.parts.get("Math", "")).definitions,
        **formulas.read(said.parts.get("VJP", "")).definitions,
    }
    if math := said.parts.get("Math"):
        shown = [
            typeset(right, "" if isinstance(right, str) and " " in right else left)
            for left, right in formulas.read(math).claims
        ]
        rows.append(("Forward", _formulas(shown, math, definitions) + _remark(said.remarks.get("Math"))))
    if vjp := said.parts.get("VJP"):
        claims = formulas.read(vjp).claims
        named = re.match(r"\s*to ", vjp) or len(claims) > 1
        shown = [
            (f'<span class="to">to {escape(operand)}:</span>' if named else "") + typeset(right)
            for operand, right in claims
        ]
        rows.append(("Backward", _formulas(shown, vjp, definitions) + _remark(said.remarks.get("VJP"))))
    if words := explained([math or "", vjp or ""], definitions):
        rows.append(("Words", "".join(itertools.starmap(_word, words.items()))))
    for head in ("Shapes", "Saves", "PyTorch"):
        if text := said.parts.get(head):
            rows.append((head, _prose(text if ". " in text else text.removesuffix("."))))
    if entry.functions:
        rows.append(("Functions", " ".join(f"<code>{escape(name)}</code>" for name in entry.functions)))
    if entry.calls:
        texts = dict.fromkeys(call.text for call in sorted(entry.calls, key=_size))
        rows.append(("For example", "<br>".join(f"<code>{escape(text)}</code>" for text in list(texts)[:2])))
    if entry.notebooks:
        rows.append(
            ("Course", "notebooks " + ", ".join(notebook_link(site, path, nr) for nr in entry.notebooks))
        )
    listed = "".join(f"<dt>{head}</dt><dd>{body}</dd>" for head, body in rows)
    summary = f"<p>{_prose(said.summary)}</p>" + (f"<p>{_prose(said.more)}</p>" if said.more else "")
    kind = (
        '<p class="quiet">Other rules are made from it; it makes no node of its own.</p>'
        if entry.is_base
        else ""
    )
    return (
        f'<section class="rule" aria-labelledby="{entry.name}">'
        f'<h2 id="{entry.name}"><a href="#{entry.name}">{escape(entry.name)}</a></h2>{summary}{kind}<dl>{listed}</dl>'
        f"{_live(site, path, entry)}{_source(entry.rule)}</section>"
    )


def _formulas(shown: list[str], text: str, definitions: dict[str, ast.expr]) -> str:
    """Formulas, and below them the definitions that they need."""
    read = formulas.read(text)
    needed: dict[str, ast.expr] = {}
    open_names = [name for _, right in read.claims for name in sorted(formulas.names_in(right))]
    while open_names:
        name = open_names.pop(0)
        if name in definitions and name not in needed:
            needed[name] = definitions[name]
            open_names += sorted(formulas.names_in(definitions[name]))
    rows = [f'<div class="formula">{row}</div>' for row in shown]
    rows += [f'<div class="formula with">{typeset(right, name)}</div>' for name, right in needed.items()]
    return "".join(rows)


def _word(word: str, meaning: str) -> str:
    """A word of the formulas and what it is."""
    shown = typeset(ast.Name(word.removesuffix("("))).replace(' display="block"', "")
    return f"<div>{shown}: {escape(meaning)}</div>"


def _remark(text: str | None) -> str:
    return f'<p class="remark">{_prose(text)}</p>' if text else ""


def _prose(text: str) -> str:
    """Text of a docstring as HTML: what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))


def notebook_link(site: Site, path: str, nr: str) -> str:
    """The number of a notebook, with a link if the site has its page."""
    page = next(
        (
            place
            for place in sorted(site.files)
            if place.startswith(f"notebooks/{nr}_") and place.endswith(".html")
        ),
        "",
    )
    return f'<a href="{site.link(path, page)}">{nr}</a>' if page else nr


def _source(rule: type) -> str:
    """The rule's class as a fold with its file and line; of a rule made in a loop, the class that it is made from."""
    for cls in rule.__mro__:
        path = getattr(sys.modules[cls.__module__], "__file__", None) or ""
        lines, classes = _classes(path)
        if cls.__qualname__ in classes:
            first, last = classes[cls.__qualname__]
            file = Path(path).relative_to(PACKAGE.parent).as_posix()
            of = "" if cls is rule else f" of <code>{escape(cls.__name__)}</code>, from which it is made"
            return (
                f'<details class="source"><summary>Source{of}: {file}, line {first}</summary>'
                f'<pre class="code">{python("".join(lines[first - 1 : last]))}</pre></details>'
            )
    raise LookupError(f"there is no source of {rule.__name__}")


@cache
def _classes(file: str) -> tuple[list[str], dict[str, tuple[int, int]]]:
    """The lines of a file, and where each class begins, with its decorators, and ends."""
    text = Path(file).read_text(encoding="utf-8") if file else ""
    found = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.ClassDef):
            found[node.name] = (
                min([node.lineno, *[d.lineno for d in node.decorator_list]]),
                node.end_lineno or node.lineno,
            )
    return text.splitlines(keepends=True), found


# -- examples ------------------------------------------------------------------------------------------


def _size(call: Any) -> tuple[Any, ...]:
    """By this, small and plain calls come first: none of a gradient, none on a copy, few numbers, short to write."""
    numbers = [len(list(_flat(value))) for value in call.inputs.values()]
    return (
        "autograd.grad" in call.text,
        0 in numbers,
        "clone()" in call.text or ";" in call.text,
        -len(numbers),
        len(call.text),
        sum(numbers),
    )


def _flat(value: Any) -> Iterator[Any]:
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        for part in value:
            yield from _flat(part)
    else:
        yield value


def program(name: str) -> str:
    """The program that shows a rule of the course."""
    return "import torch" + EXAMPLES[name]


def _live(site: Site, path: str, entry: Entry) -> str:
    """A stepper for a rule of the course."""
    if not entry.notebooks:
        return ""
    trace = programs.run(program(entry.name)).trace
    assert trace is not None
    shown = live.stepper(site, path, step(trace), f"{entry.name}, step by step")
    return f'<details class="try"><summary><h3>Step through it</h3></summary>{shown}</details>'


# -- the index -----------------------------------------------------------------------------------------

_HOW_TO_READ = {
    "a, b, c": "the operands, in the order of the call; some have names, such as <code>input</code> and <code>weight</code>",
    "y": "the result; y<sub>0</sub>, y<sub>1</sub> where there are several",
    "g": "the gradient of the loss with respect to the result: it arrives, and the rule sends something on to each operand",
    "a ⋅ b": "element by element",
    "A @ B": "the matrix product; A<sup>T</sup> is the transpose",
    "∑<sub>dim</sub>": "a sum along a dim; without a dim, over all elements",
    "f(a)": "a PyTorch function, or one that is explained below the formula",
    "0": "the operand gets a gradient, and it is zero; <em>nothing</em> means that it gets none",
}


def _index(site: Site, pages: dict[str, list[Entry]]) -> str:
    shown = sum(not entry.is_base for listed in pages.values() for entry in listed)
    read = "".join(f"<dt>{sign}</dt><dd>{words}</dd>" for sign, words in _HOW_TO_READ.items())
    groups = []
    for family, listed in pages.items():
        items = "".join(_line(entry) for entry in listed if not entry.is_base)
        if items:
            groups.append(
                f'<section class="list"><h2><a href="{family}.html">{FAMILIES[family]}</a></h2><ul>{items}</ul></section>'
            )
    return (
        "<h1>The rule book</h1>"
        "<p>Backward is made of small rules. Each operation has one: it takes the gradient of its result and says what to send to each "
        "of its operands. Here are all of them, with formulas, examples and their source. The rules of the course can be stepped through.</p>"
        f"<details><summary>How to read the formulas</summary><dl class=read>{read}</dl></details>"
        '<label class="filter">Find a rule by its name, its function or a word<input id="filter" type="search" '
        'placeholder="mul, softmax, Tensor.sum, matrix …" autocomplete="off" spellcheck="false"></label>'
        f'<p class="count" id="count" role="status">{shown} rules</p>' + "".join(groups)
    )


def _line(entry: Entry) -> str:
    names = " ".join(f"<code>{escape(name)}</code>" for name in entry.functions)
    place = place_of(entry.name).removeprefix("rules/")
    return f'<li><a href="{place}">{escape(entry.name)}</a><span>{_prose(told(entry.rule).summary)} {names}</span></li>'


# -- the rules of the course ---------------------------------------------------------------------------


@cache
def course_rules() -> dict[str, tuple[str, ...]]:
    """{rule: the notebooks that use it, such as ("02", "04")}, as course_rules.txt has it."""
    lines = USED.read_text(encoding="utf-8").splitlines()
    return {name: tuple(numbers) for name, *numbers in map(str.split, lines)}


def recorded_rules(notebooks: list[Path]) -> dict[str, tuple[str, ...]]:
    """The same from the notebooks themselves: their cells are run here, and what their recorders note is looked at."""
    from IPython.core.interactiveshell import InteractiveShell

    found: dict[str, set[str]] = defaultdict(set)
    for path in sorted(notebooks):
        traces: list[Any] = []
        InteractiveShell.clear_instance()
        shell = InteractiveShell.instance()
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            _kept(traces),
        ):
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                if cell["cell_type"] == "code":
                    shell.run_cell("".join(cell["source"]))
        InteractiveShell.clear_instance()
        for trace in traces:
            for node in trace.nodes:
                name = node["name"].rpartition("::")[2]
                if name in RULES or name in _own_nodes():
                    found[name].add(path.name[:2])
    return {name: tuple(sorted(numbers)) for name, numbers in sorted(found.items())}


@contextlib.contextmanager
def _kept(traces: list[Any]) -> Iterator[None]:
    """Inside, each recording that ends is put into the list."""
    ended = record.__exit__

    def note(self: record, *error: Any) -> None:
        ended(self, *error)
        traces.append(Recording(self.recorder))

    record.__exit__ = note  # type: ignore[method-assign]
    try:
        yield
    finally:
        record.__exit__ = ended  # type: ignore[method-assign]


if __name__ == "__main__":
    notebooks = sorted((build.find_root(None) / "notebooks").glob("*.ipynb"))
    rules = recorded_rules(notebooks)
    USED.write_text(
        "".join(f"{name} {' '.join(numbers)}\n" for name, numbers in rules.items()), encoding="utf-8"
    )
