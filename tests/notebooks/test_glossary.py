"""A word is explained where it is first used, in bold; before that, nothing that a student reads has it.

The order is that of a student: a notebook from top to bottom, with what its cards say, then its exercises.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from autograd_lab.course import build, items
from autograd_lab.course.foreseen import questions
from autograd_lab.course.student import INSTRUCTOR

ROOT = Path(__file__).parents[2]

# Where a word is explained; a stem stands for all its forms.
GLOSSARY = {
    "gradient": "00", "operation": "00", "tensor": "00", "node": "00", "stepper": "00",
    "derivative": "01", "rule": "01",
    "edge": "02", "leaf": "02", "mailbox": "02", "accumulator": "02", "history": "02",
    "message": "03", "loss": "03", "local derivative": "03", "saves": "03", "convention": "03",
    "dependency count": "04", "ready queue": "04", "parameter": "04", "bias": "04", "seed": "04",
    "hook": "05", "optimizer": "05", "batches": "05",
    "saved values": "06",
    "in place": "07",
    "broadcast": "08",
    "Jacobian": "09", "vector-Jacobian product": "09", "Jacobian-vector product": "09", "forward mode": "09",
    "version": "10", "view": "10",
    "kink": "11",
    "Hessian": "12", "gradient penalty": "12",
    "cross-entropy": "13", "vanishes": "13", "explodes": "13", "clip": "13", "norm": "13",
    "define by run": "14", "captures": "14", "guard": "14", "graph break": "14", "joint graph": "14", "elementwise": "14",
}  # fmt: skip

# (word, notebook): another meaning, or a name that is only mentioned.
ANOTHER = {
    ("rule", "00"): "the chain rule, which is needed",
    ("norm", "07"): "batch norm",
}


def reading(number: str) -> Iterator[str]:
    """What a student reads of a notebook, in order, without code."""
    source = next((ROOT / "notebooks").glob(f"{number}_*.py"))
    known = questions(number)
    for cell in build.read_source(source).cells:
        if INSTRUCTOR in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            yield re.sub(r"\]\(\S+\)", "]", re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL))
        else:
            for ask in re.findall(r'"(\d\d\.[a-z])"', cell.source):
                yield from (answer.why for part in known[ask].parts for answer in part.answers)
                yield from known[ask].after


@cache
def course() -> dict[str, list[str]]:
    """What is read, notebook by notebook; a notebook's exercises follow it."""
    return {number: [*reading(number), *exercises(number)] for number in sorted(set(GLOSSARY.values()))}


def exercises(number: str) -> Iterator[str]:
    """The questions of a notebook's exercises, then their hints and what is said to wrong answers."""
    source = next((ROOT / "solutions").glob(f"{number}_*.py"))
    for cell in build.read_source(source).cells:
        if cell.cell_type == "markdown":
            yield re.sub(r"```.*?```", "", cell.source, flags=re.DOTALL)
    # as kept for the grader, which test_exercises.py compares with the source: to read that runs all of its answers
    for item in items.from_json((ROOT / "solutions/keys" / f"{number}.json").read_text("utf-8")):
        yield from item.hints
        yield from (wrong.says for wrong in item.wrong)


def uses(word: str, text: str) -> list[re.Match[str]]:
    """Where the word stands in a text, in any of its forms, but not in code. "In place of the dots" is no "in place"."""
    ends = r"(?:s|es|d|ed)?" if word[-1].isalpha() else ""
    leaves = "|leaves" if word == "leaf" else ""
    other = r"(?!\s+of\b)" if word == "in place" else ""
    prose = re.sub(r"`[^`\n]*`", lambda code: "_" * len(code[0]), text)
    return [
        *re.finditer(rf"(?<![\w.])(?:{re.escape(word)}{ends}{leaves})(?![\w(]){other}", prose, re.IGNORECASE)
    ]


@pytest.mark.parametrize("word", GLOSSARY)
def test_a_word_is_explained_at_its_first_use(word):
    home = GLOSSARY[word]
    early = [
        (number, text[max(0, found.start() - 40) : found.end() + 20])
        for number, texts in course().items()
        if number < home and (word, number) not in ANOTHER
        for text in texts
        for found in uses(word, re.sub(r"^#.*$", "", text, flags=re.MULTILINE))
    ]
    assert early == []
    # headings may have it before: they say what will be explained
    first = next(
        text for text in course()[home]
        if uses(word, re.sub(r"^#.*$|\*\*\d+ minutes.*|!\[.*\]", "", text, flags=re.MULTILINE))
    )  # fmt: skip
    bold = " ".join(re.findall(r"\*\*(.+?)\*\*", first, re.DOTALL))
    assert uses(word, bold), f"{word} in {home}, first in: {first}"


def test_a_tensor_requires_a_gradient():
    """As the notebooks put it, so does all that the package says or explains; code and PyTorch's own messages say it their way."""
    kinds = {"notebooks": "*.py", "solutions": "*.py", "docs": "*.md", "autograd_lab": "**/*"}
    written = {path for folder, kind in kinds.items() for path in (ROOT / folder).glob(kind)} | {*ROOT.glob("*.md")}  # fmt: skip
    others = {path: path.read_text("utf-8") for path in written if path.suffix in (".py", ".md", ".js", ".txt", ".json", ".html") and path.name != "CHANGELOG.md"}  # fmt: skip
    assert len(others) > 300
    theirs = (
        r"(?:element \w+|element \{i\}) of tensors does not require grad|Variable that requires grad|Tensor that requires grad\b"
        r"|differentiated Tensors does not require grad|variables that require grad|arguments requires grad"
        r"|\"does not require grad(?: and)?\"|leaves that require grad\.(?:\"|\\\")"
    )
    found = {
        str(path.relative_to(ROOT)): re.findall(
            r".{0,40}\brequir(?:es?|ing)\s+grad\b.{0,20}", re.sub(theirs, "", text)
        )
        for path, text in others.items()
        # most have none; with what is around it, it is found ten times slower
        if re.search(r"\brequir(?:es?|ing)\s+grad\b", text)
    }
    assert {name: lines for name, lines in found.items() if lines} == {}
