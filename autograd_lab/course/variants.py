"""The same item with other numbers: `variant(seed)` gives its statement, its answer, its hints and each wrong answer.

    of(item, seed)        the item with the numbers of a seed; without a seed, with today's
    copy(notebook, seed)  a notebook as the student with this seed gets it
    claims(cell)          the seed that a cell of such a notebook names

In a solutions source a variant is a function of its numbers, beside the item. Their defaults are today's, and the decorator says what
they may be instead:

    @variant(x=range(2, 7), k=range(3, 12))
    def passes(x=2, k=5):
        return varied(answer=[2 * x, 2 * x + k], hints=[...], wrong=[wrong_answer([2 * x, k], "M10", f"... adds {k} ...")])

    item("05.2", kind="number", points=2, variant=passes)

The question's cell has `{x}` and `{k}` where the numbers go; for a number that is computed from them, `varied(..., shown={"sum": x + k})`. The function
returns None for numbers that do not fit together. Numbers are drawn again until no two answers agree, so a wrong answer is always wrong, and always
known by name, and until no wrong answer has more right parts than with today's. The same seed gives the same numbers everywhere: they come from SHA-256, not from a generator that may change.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

from . import plain
from .items import Item, Wrong, chosen, find, judge

MOST_DRAWS = 200
_CALL = re.compile(r"^lab\.variant\((\d{1,12})\)[ \t]*(?:#.*)?$", re.MULTILINE)
_SHOWS = re.compile(r'\s*lab\.statement\(\s*["\'][\d.]+["\']\s*\)\s*')
_HEADING = re.compile(r"^##\s+(\d\d\.\d+)\b.*$", re.MULTILINE)
_IMPORTS = re.compile(r"^from autograd_lab import (?:.*\b)?lab\b", re.MULTILINE)


@dataclass
class Varied:
    """What an item says with some numbers."""

    answer: Any
    hints: list[str]
    wrong: list[Wrong]
    accept: list[Any] = field(default_factory=list)
    shown: dict[str, Any] = field(default_factory=dict)
    """What the question shows: the numbers, and what the author has computed from them."""


def varied(
    *,
    answer: Any,
    hints: Iterable[str],
    wrong: Iterable[Wrong],
    accept: Iterable[Any] = (),
    shown: dict[str, Any] | None = None,
) -> Varied:
    """What a variant returns."""
    return Varied(
        plain.plain(answer), list(hints), list(wrong), [plain.plain(one) for one in accept], shown or {}
    )


def wrong_answer(answer: Any, misconception: str, says: str, score: float = 0) -> Wrong:
    """A wrong value of the bank: the answer, the misconception behind it (or ""), and what refutes it."""
    return Wrong(says, misconception, score, plain.plain(answer))


def variant(**choices: Iterable[Any]) -> Callable[[Any], Any]:
    """Marks the function of an item's numbers; `choices` are what each of them may be. Raises TypeError if a number lacks today's value."""

    def keep(function: Any) -> Any:
        today = function.__kwdefaults__ or dict(
            zip(function.__code__.co_varnames, function.__defaults__ or (), strict=False)
        )
        if list(today) != list(choices):
            raise TypeError(
                f"{function.__name__}: the choices are for {', '.join(choices)}, and the arguments with today's values are "
                f"{', '.join(today) or 'none'}: name the same, in the same order"
            )
        function.today, function.choices = today, {name: list(some) for name, some in choices.items()}
        return function

    return keep


def number(x: float) -> str:
    """A number as a person writes it: 0.3, not 0.30000000000000004; -2 without the .0."""
    return f"{x:.10g}"


WORDS = {"variant": variant, "varied": varied, "wrong_answer": wrong_answer, "number": number}
"""What a variant's code may use."""


def of(item: Item, seed: int | None) -> Item:
    """`item` with the numbers of a seed; without a seed, with today's. An item that does not vary comes back as it is."""
    if not item.variant:
        return item
    made = drawn(item.id, item.variant, item.rtol, seed)
    return replace(
        item, question=item.question.format(**made.shown), expected=made.answer, hints=made.hints, wrong=made.wrong,
        accept=made.accept, variant="",
    )  # fmt: skip


@lru_cache(1 << 12)
def drawn(item_id: str, source: str, rtol: float, seed: int | None) -> Varied:
    """What the variant in `source` says with the numbers of a seed. Raises ValueError if no numbers fit."""
    function = _loaded(source)
    if seed is None:
        return _said(function, function.today)
    usual = _right_parts(drawn(item_id, source, rtol, None), rtol)
    for turn in range(MOST_DRAWS):
        numbers = {
            name: some[_digest(seed, item_id, turn, name) % len(some)]
            for name, some in function.choices.items()
        }
        made = _said(function, numbers) if numbers != function.today else None
        if made is None or clash(made, rtol):
            continue
        if all(now <= then for now, then in zip(_right_parts(made, rtol), usual, strict=True)):
            return made
    raise ValueError(f"{item_id}: of {MOST_DRAWS} draws none has answers that all differ (seed {seed})")


@lru_cache(64)
def _loaded(source: str) -> Any:
    space: dict[str, Any] = dict(WORDS)
    exec(compile(source, "<variant>", "exec"), space)
    return next(thing for thing in space.values() if hasattr(thing, "choices"))


def _said(function: Any, numbers: dict[str, Any]) -> Any:
    made = function(**numbers)
    return made and replace(made, shown=numbers | made.shown)


def _right_parts(made: Varied, rtol: float) -> list[int]:
    """How many elements of each wrong answer are right: more than with today's numbers would be luck, and worth more points."""
    if not isinstance(made.answer, list):
        return []
    return [
        sum(map(partial(plain.same, rtol=rtol), wrong.answer, made.answer))
        if isinstance(wrong.answer, list)
        else 0
        for wrong in made.wrong
    ]


def _digest(*about: Any) -> int:
    return int.from_bytes(hashlib.sha256(json.dumps(about).encode()).digest()[:8], "big")


def clash(made: Varied, rtol: float) -> str:
    """Two of the answers, right and wrong, that agree; "" if there are none."""
    answers = [made.answer, *made.accept, *(wrong.answer for wrong in made.wrong)]
    for one, other in combinations(answers, 2):
        if plain.same(one, other, rtol):
            return f"{plain.show(one)} and {plain.show(other)}"
    return ""


def doubtful(item: Item, seeds: Iterable[int]) -> Iterator[str]:
    """What is wrong with an item for some seeds: a right answer that is refused, a wrong one that passes or is taken for another."""
    for seed in seeds:
        try:
            one = of(item, seed)
        except ValueError as error:
            yield str(error)
            continue
        for answer in (one.expected, *one.accept):
            if judge(one, answer).state != "passed":
                yield f"seed {seed}: the right answer {plain.show(answer)} is refused"
        for wrong in one.wrong:
            verdict = judge(one, wrong.answer)
            if (verdict.state, verdict.says, verdict.misconception) != ("wrong", wrong.says, wrong.id):
                yield f"seed {seed}: the wrong answer {plain.show(wrong.answer)} is {verdict.state}: {verdict.says}"


# --- a student's copy ---------------------------------------------------------------------------------


class Statement:
    """The question of an item, with this student's numbers; a notebook displays it."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text

    def _repr_markdown_(self) -> str:
        return self.text


def statement(item_id: str) -> Statement:
    """What an item asks, with the numbers that `lab.variant` has chosen, or else today's. Raises ValueError if its question stands in the notebook."""
    item = of(find(item_id), chosen())
    if not item.question:
        raise ValueError(
            f"{item_id} has the same numbers for everybody: its question stands above its answer in the notebook"
        )
    return Statement(item.question)


def copy(notebook: dict[str, Any], seed: int, items: dict[str, Item]) -> bool:
    """Make a released notebook the copy of the student with this seed; False, and no change, if none of its items varies.

    notebook   its JSON, which is changed: the metadata and the cell that imports `lab` name the seed, and a code cell shows each question
    items      the items by id
    """
    cells: list[dict[str, Any]] = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        heading = _HEADING.match(text) if cell["cell_type"] == "markdown" else None
        item = items.get(heading[1]) if heading else None
        if heading is None or item is None or not item.variant:
            cells.append(cell)
            continue
        cells.append(cell | {"source": [heading[0]]})
        cells.append(_showing(of(item, seed)))
    if len(cells) == len(notebook["cells"]):
        return False
    notebook["cells"] = cells
    notebook["metadata"].setdefault("autograd_lab", {})["variant"] = seed
    home = next(
        cell for cell in cells if cell["cell_type"] == "code" and _IMPORTS.search("".join(cell["source"]))
    )
    line = f"lab.variant({seed})  # the numbers of your own copy: leave this line as it is"
    home["source"] = f"{''.join(home['source'])}\n\n{line}".splitlines(keepends=True)
    return True


def _showing(item: Item) -> dict[str, Any]:
    """The cell that shows a question; its output is there already, so it can be read before anything runs."""
    output = {"text/markdown": item.question.splitlines(keepends=True), "text/plain": item.question.splitlines(keepends=True)}  # fmt: skip
    return {
        "cell_type": "code", "execution_count": None, "id": f"{item.id.replace('.', '-')}-question", "metadata": {},
        "outputs": [{"data": output, "metadata": {}, "output_type": "display_data"}],
        "source": [f'lab.statement("{item.id}")'],
    }  # fmt: skip


def claims(source: str) -> int | None:
    """The seed that a cell names in a line `lab.variant(...)`; the last, if there are several."""
    found = _CALL.findall(source)
    return int(found[-1]) if found else None


def without(source: str) -> str:
    """A cell of a copy as it was released: without the line that names the seed, and without the call that shows a question."""
    if _SHOWS.fullmatch(source):
        return ""
    return _CALL.sub("", source).rstrip() if _CALL.search(source) else source
