"""Graded items: the question, the right answer, and the misconception behind each known wrong answer.

    Item     one question: its kind, points, hints, and either an expected answer or probes
    Probe    a small function that runs in the process of the student's code and returns plain data; the expected
             result is stored, and compared elsewhere
    Wrong    an answer that learners really give, the misconception behind it, and the sentence that refutes it
    judge    (item, answer) -> Verdict: pure, so that the notebook, the tests and the grader agree

Items are written in the solutions' sources (solutions/*.py) and built into `items/<notebook>.json` (visible probes,
shipped, in a wheel packed) and `solutions/keys/<notebook>.json` (hidden probes, never shipped).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from . import packed, plain

FORMAT, VERSION = "autograd-lab-items", 1
KINDS = ("predict", "number", "order", "engine", "code", "debug")
STILL_RUNNING = "StillRunning"
"""The name of the error of a case whose code did not end in time."""
FOLDER = Path(__file__).parent / "items"


@dataclass
class Wrong:
    """A wrong answer of the bank. `answer` for items with a value; `outputs` {probe case: plain data} for code."""

    says: str
    id: str = ""
    """The misconception (misconceptions.py), or "" for a slip without a name."""
    score: float = 0
    answer: Any = None
    outputs: dict[str, Any] = field(default_factory=dict)


@dataclass
class Probe:
    """Inputs only: runs in the process of the student's code. `cases` are argument lists; `expected` has one result for each."""

    name: str
    points: float
    source: str
    says: str = ""
    cases: list[list[Any]] = field(default_factory=lambda: [[]])
    expected: list[Any] = field(default_factory=list)
    hidden: bool = False
    rtol: float = plain.RTOL
    look: str = ""
    """For a probe that is not about points: what an answer does that avoids the task, if the probe gives True."""

    def names(self) -> list[str]:
        """The names of its cases, in order: "chain", or "chain(2, 3)"."""
        return [f"{self.name}({', '.join(map(repr, case))})" if case else self.name for case in self.cases]

    def about(self, i: int) -> str:
        """What case `i` tries: the sentence of the probe, with the case's values for {0}, {1}, ..."""
        words = self.says.rstrip(".")
        for place, value in enumerate(self.cases[i]):
            words = words.replace(f"{{{place}}}", value if isinstance(value, str) else plain.show(value))
        return words or self.names()[i]

    def category(self) -> str:
        """The subject of a hidden probe, without the values of its cases."""
        return re.sub(r"\{\d+\}", "...", self.says.rstrip(".")) or "A case that the notebook does not show"


@dataclass
class Item:
    """One question of the course. `points` counts visible and hidden probes, or the one answer."""

    id: str
    kind: str
    points: float
    title: str = ""
    hints: list[str] = field(default_factory=list)
    expected: Any = None
    accept: list[Any] = field(default_factory=list)
    """Further answers that are right."""
    partial: bool = False
    """For a list answer: each right element earns its share of the points."""
    rtol: float = plain.RTOL
    stub: str = ""
    """Code that students get instead of a gap; handed in unchanged, it is not attempted."""
    earlier: list[str] = field(default_factory=list)
    """Stubs of earlier deliveries, which a student who has changed something else in the notebook still has."""
    probes: list[Probe] = field(default_factory=list)
    wrong: list[Wrong] = field(default_factory=list)
    question: str = ""
    """Of an item that varies: its question, with the numbers in braces."""
    variant: str = ""
    """Of an item that varies: the code of its variant (variants.py)."""

    @property
    def stubs(self) -> list[str]:
        """All code that was ever handed out instead of a gap."""
        return [stub for stub in (self.stub, *self.earlier) if stub]

    @property
    def hidden_points(self) -> float:
        """The points that only the grader's probes decide."""
        return sum(probe.points for probe in self.probes if probe.hidden)


@dataclass
class Verdict:
    """The verdict on one answer: `state` is "passed", "wrong" or "not attempted"."""

    item: Item
    state: str
    score: float = 0
    says: str = ""
    """Why it is wrong: the refutation of a known mistake, or the first case that differs."""
    misconception: str = ""
    case: tuple[str, int] | None = None
    """The smallest counterexample: a probe and the index of its case on which the answer failed."""
    got: Any = None
    want: Any = None

    @property
    def known(self) -> bool:
        """Whether it names a known mistake."""
        return any(self.says == wrong.says for wrong in self.item.wrong)


def judge(item: Item, answer: Any = None, outputs: dict[str, Any] | None = None) -> Verdict:
    """The verdict on a plain `answer`, or on the `outputs` {case: plain data} of an item's probes.

    Probes without outputs (the hidden ones, in a student's notebook) are left out: they neither earn nor cost points.
    """
    return _judge_outputs(item, outputs) if outputs is not None else _judge_answer(item, answer)


def _judge_answer(item: Item, handed_in: Any) -> Verdict:
    accepted = [item.expected, *item.accept]
    answer = _spelled(handed_in, item.expected)
    if any(plain.same(answer, right, item.rtol) for right in accepted):
        return Verdict(item, "passed", item.points)
    for wrong in item.wrong:
        if plain.same(answer, wrong.answer, item.rtol):
            return Verdict(item, "wrong", wrong.score, wrong.says, wrong.id, got=handed_in)
    score, says = 0.0, ""
    if isinstance(item.expected, list):
        score, says = _judge_list(item, answer, accepted)
    elif isinstance(item.expected, dict) and isinstance(answer, dict):
        says = _judge_dict(item.expected, answer, item.rtol)
    elif isinstance(item.expected, dict):
        names = ", ".join(map(plain.show, item.expected))
        says = f"This asks for a dict, with a list for each of {names}; you gave {plain.show(answer)}."
    elif (
        (wanted := _sort(item.expected)) and (given := _sort(answer)) and given not in _foreseen(item, wanted)
    ):
        says = f"This asks for {wanted}; you gave {given}, {plain.show(answer)}."
        if wanted == "a number" and given == "a list" and [type(x) for x in answer] == [int, int]:
            says += f" If you mean {answer[0]}.{answer[1]}, write it with a point."
    return Verdict(item, "wrong", score, says, got=handed_in)


def _spelled(answer: Any, expected: Any) -> Any:
    """Where a list is asked for, the list that says as much: ["B", "D", "A"] for "BDA", the numbers of an array of one dimension."""
    if isinstance(expected, list) and isinstance(answer, dict):
        shape, data = answer.get("shape"), answer.get("data")
        one_dimension = isinstance(shape, list) and len(shape) == 1 and isinstance(data, list)
        return data if one_dimension else answer
    if not isinstance(answer, str) or not isinstance(expected, list):
        return answer
    letters = [letter for letter in answer if letter.isalnum()]
    single = all(isinstance(one, str) and len(one) == 1 for one in expected)
    return letters if single and len(letters) == len(expected) else answer


def _sort(value: Any) -> str:
    """The kind of answer; "" if it need not be mentioned."""
    if isinstance(value, bool):
        return "True or False"
    return {int: "a number", float: "a number", str: "a word in quotes", list: "a list"}.get(type(value), "")


def _foreseen(item: Item, wanted: str) -> set[str]:
    """The kinds of answer that the item's accepted and known wrong answers have where the right one has the kind `wanted`.

    Who gives one of these has understood what the question allows. A number for a tuple is a slip all the same.
    """
    if wanted == "a list":
        return {wanted}
    found = {wanted}
    for known in (*item.accept, *(wrong.answer for wrong in item.wrong)):
        both = isinstance(known, list) and isinstance(item.expected, list)
        pairs = zip(item.expected, known, strict=False) if both else [(item.expected, known)]
        found |= {_sort(given) for right, given in pairs if _sort(right) == wanted}
    return found


def _judge_list(item: Item, answer: Any, accepted: list[Any]) -> tuple[float, str]:
    if not isinstance(answer, list) or len(answer) != len(item.expected):
        given = f"{len(answer)} of them" if isinstance(answer, list) else plain.show(answer)
        return 0.0, f"The question asks for a list of {len(item.expected)}; you gave {given}."
    best = max(
        accepted,
        key=lambda right: sum(plain.same(a, b, item.rtol) for a, b in zip(answer, right, strict=False)),
    )
    right = [plain.same(a, b, item.rtol) for a, b in zip(answer, best, strict=True)]
    first = right.index(False) + 1
    wanted, given = _sort(best[first - 1]), _sort(answer[first - 1])
    says = f"{sum(right)} of {len(right)} are right; look at number {first} first."
    if item.kind == "order":
        says = (
            f"Up to number {first - 1} the order is right; look at number {first}."
            if first > 1
            else "Look at the first one."
        )
    elif wanted and given and given not in _foreseen(item, wanted):
        value = plain.show(answer[first - 1])
        if tuple_wanted := wanted == "a list":  # inside a list the course writes tuples: shapes, pairs
            wanted = "a tuple"
        says = f"{sum(right)} of {len(right)} are right; number {first} asks for {wanted}, and you gave {given}, {value}."
        if tuple_wanted and given == "a number":
            says += f" Python reads ({value}) as the number {value}; a tuple of one number needs the comma: ({value},)."
    share = item.points * sum(right) / len(right) if item.partial else 0.0
    return round(share, 2), says


def _judge_dict(expected: dict[str, Any], answer: dict[str, Any], rtol: float) -> str:
    if missing := [key for key in expected if key not in answer]:
        return f"There is nothing for {plain.show(missing[0])}."
    if extra := [key for key in answer if key not in expected]:
        return f"Nobody asked for {plain.show(extra[0])}."
    wrong = [key for key in expected if not plain.same(answer[key], expected[key], rtol)]
    right = len(expected) - len(wrong)
    return f"{right} of {len(expected)} are right; look at {plain.show(wrong[0])} first." if wrong else ""


def _judge_outputs(item: Item, outputs: dict[str, Any]) -> Verdict:
    score, failed = 0.0, []
    for probe in item.probes:
        if probe.look or not probe.cases or not all(key in outputs for key in probe.names()):
            continue  # the last: a hidden one, in a student's notebook
        bad = [
            (probe, i)
            for i, (key, want) in enumerate(zip(probe.names(), probe.expected, strict=True))
            if not plain.same(outputs[key], want, probe.rtol)
        ]
        failed += bad
        score += 0 if bad else probe.points
    if not failed:
        return Verdict(item, "passed", score)
    stopped = [(p, i) for p, i in failed if is_still_running(outputs[p.names()[i]])]
    probe, i = stopped[0] if stopped else min(failed, key=_burden)
    key, want = probe.names()[i], probe.expected[i]
    found = recognize(item, outputs)
    says = found.says if found else difference(probe.about(i), outputs[key], want)
    return Verdict(item, "wrong", score, says, found.id if found else "", (probe.name, i), outputs[key], want)


def _burden(failure: tuple[Probe, int]) -> tuple[bool, int]:
    """The size of a failed case: the smallest one shows the mistake best. A hidden one cannot be shown at all."""
    probe, i = failure
    return probe.hidden, _leaves(probe.cases[i]) + _leaves(probe.expected[i])


def _leaves(x: Any) -> int:
    if isinstance(x, dict):
        return sum(map(_leaves, x.values()))
    return sum(map(_leaves, x)) if isinstance(x, list) else 1


def recognize(item: Item, outputs: dict[str, Any]) -> Wrong | None:
    """The banked mistake with exactly these outputs; if there is none, the one with these outputs in the probes that a notebook shows.

    The same mistake can be written in many ways that differ in hidden probes: what the notebook names, grading names as well.
    """
    shown = {
        key: want
        for p in item.probes
        if not p.hidden
        for key, want in zip(p.names(), p.expected, strict=True)
    }
    for keys in (outputs.keys(), outputs.keys() & shown.keys()):
        for wrong in item.wrong:
            shared = [key for key in keys if key in wrong.outputs]
            agrees = all(plain.same(outputs[key], wrong.outputs[key]) for key in shared)
            if agrees and any(
                key not in shown or not plain.same(wrong.outputs[key], shown[key]) for key in shared
            ):
                return wrong
    return None


def avoided(item: Item, outputs: dict[str, Any]) -> list[str]:
    """How an answer with these outputs avoids the task: for a person to judge, points do not depend on it."""
    return [
        probe.look
        for probe in item.probes
        if probe.look and any(outputs.get(key) is True for key in probe.names())
    ]


def difference(about: str, got: Any, want: Any) -> str:
    """One sentence on a case that failed; `about` says what was tried."""
    if isinstance(got, dict) and "error" in got:
        if got["error"] == plain.NotPlainError.__name__:
            return f"{about}: {got['message']}."  # the check raised it, not the student's code
        if is_still_running(got):
            return still_running(about, got["message"])
        return f"{about}: your code raised {_first_sentence(plain.show(got))}."
    if isinstance(got, dict) and isinstance(want, dict) and got.get("shape") != want.get("shape"):
        return f"{about}: yours has shape {got.get('shape')}, it should be {want.get('shape')}."
    if isinstance(got, dict) and isinstance(want, dict) and got.keys() == want.keys():
        want = {key: want[key] for key in got}  # the files sort them; here both are in the same order
    return f"{about}: you gave {plain.show(got)}, it should be {plain.show(want)}."


def is_still_running(got: Any) -> bool:
    """Whether the result of a case says that its code was stopped."""
    return isinstance(got, dict) and got.get("error") == STILL_RUNNING


def still_running(about: str, after: str = "") -> str:
    """What a student hears of code that was stopped."""
    return (
        f"{about}: your code was still running{after and ' '}{after}. Is there a loop in it that never ends?"
    )


def _first_sentence(message: str) -> str:
    """The beginning of a long error message, without the final period; probe.run may have truncated it anywhere."""
    if len(message) > 160:
        message = message.split("\n")[0].split(". ")[0]
    return message.rstrip(".") if len(message) < 300 else message.rsplit(" ", 1)[0] + " .."


# --- files ----------------------------------------------------------------------------------------


def to_json(notebook: str, items: Iterable[Item]) -> str:
    """The text of an items file."""
    document = {
        "format": FORMAT,
        "version": VERSION,
        "notebook": notebook,
        "items": [_stored(item) for item in items],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _stored(item: Item) -> dict[str, Any]:
    """An item as it is written; one that does not vary has no word of it."""
    return {
        name: value for name, value in asdict(item).items() if value or name not in ("question", "variant")
    }


def from_json(text: str) -> list[Item]:
    """The items of a file. Raises ValueError if it is not one, or of another version."""
    document = json.loads(text)
    if document.get("format") != FORMAT or document.get("version") != VERSION:
        raise ValueError(
            f"not an items file of version {VERSION}: format {document.get('format')!r}, version {document.get('version')!r}"
        )
    return [
        Item(
            **{
                **item,
                "probes": [Probe(**probe) for probe in item["probes"]],
                "wrong": [Wrong(**wrong) for wrong in item["wrong"]],
            }
        )
        for item in document["items"]
    ]


@cache
def shipped() -> dict[str, Item]:
    """All items that this installation knows, by id."""
    found = [item for _, text in packed.texts(FOLDER, ".json") for item in from_json(text)]
    return {item.id: item for item in found}


_seed: int | None = None  # of lab.variant, in this kernel


def choose(seed: int) -> None:
    """From now on this kernel's items have the numbers of this seed. Raises ValueError if it is not a whole number from 0 on."""
    global _seed
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(
            f"lab.variant takes the number that your copy of the notebook came with, not {seed!r}. It is in the notebook's first "
            "code cell; if you have changed it, ask for a new copy"
        )
    _seed = seed


def chosen() -> int | None:
    """The seed that this kernel has chosen, if any."""
    return _seed


def find(item_id: str) -> Item:
    """The item with this id. Raises UnknownItemError, which names the nearest ones, if there is none."""
    items = shipped()
    if isinstance(item_id, str) and item_id in items:
        return items[item_id]
    if not isinstance(item_id, str):
        raise UnknownItemError(f"An item's id is text, such as '04.2', not a {type(item_id).__name__}.")
    near = [known for known in items if known.split(".")[0] == item_id.split(".")[0]]
    there = f"this notebook has {', '.join(near)}" if near else "ids look like '04.2'"
    raise UnknownItemError(f"There is no item {item_id!r}; {there}.")


class UnknownItemError(LookupError):
    """An unknown id; the message names the existing ones."""
