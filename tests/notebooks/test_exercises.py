"""The exercises of the course: every gap is handed out open, every answer is right, every wrong answer is caught and named."""

import json
import re
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path

import pytest

from autograd_lab import lab
from autograd_lab.course import author, bank, feedback, items, scores

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.py"))
SHEETS: dict[Path, author.Sheet] = {}


def sheet(source):
    if source not in SHEETS:
        SHEETS[source] = author.read(source)
        key = ROOT / "solutions/keys" / f"{source.stem.split('_')[0]}.json"
        author.remember(SHEETS[source], items.from_json(key.read_text(encoding="utf-8")))
    return SHEETS[source]


each = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


@each
def test_nothing_is_owed(source):
    assert author.problems(sheet(source)) == []


@each
def test_what_is_shipped_and_kept_is_what_the_source_says(source):
    number = source.stem.split("_")[0]
    shipped = (items.FOLDER / f"{number}.json").read_text(encoding="utf-8")
    assert shipped == items.to_json(number, sheet(source).public()), "run `autograd-lab build`"
    key = (ROOT / "solutions/keys" / f"{number}.json").read_text(encoding="utf-8")
    assert key == items.to_json(number, sheet(source).items), "run `autograd-lab build`"


@each
def test_no_hidden_probe_reaches_a_student(source):
    number = source.stem.split("_")[0]
    shipped = (items.FOLDER / f"{number}.json").read_text(encoding="utf-8")
    exercise = (ROOT / "exercises" / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    assert leaks(sheet(source).items, shipped, exercise) == []


def leaks(known, shipped, exercise):
    """What the two files that students get tell of the hidden probes of the `known` items: a seal that is open, a name, a line."""
    found = []
    for item, public in zip(known, items.from_json(shipped), strict=True):
        visible = {key for probe in public.probes if not probe.hidden for key in probe.names()}
        for probe in public.probes:
            if probe.hidden and (probe.source, probe.says, probe.cases, probe.expected) != ("", "", [], []):
                found.append(f"{item.id}: {probe.name} is not sealed")
        for wrong in public.wrong:
            found += [f"{item.id}: {key} in the bank" for key in wrong.outputs if key not in visible]
        shown = "".join(probe.source for probe in item.probes if not probe.hidden)
        for probe in item.probes:
            if probe.hidden:
                # a whole word: a probe named "square" is not given away by "squares"
                if re.search(rf"\b{re.escape(probe.name)}\b", shipped + exercise):
                    found.append(f"{item.id}: the name {probe.name}")
                own = probe.source[probe.source.index(f"def {probe.name}") :].splitlines()[1:]
                for line in (line.strip() for line in own):
                    inside = json.dumps(line, ensure_ascii=False)[
                        1:-1
                    ]  # as it stands in a string of the files
                    if len(line) > 25 and line not in shown and inside in shipped + exercise:
                        found.append(f"{item.id}: {line}")
    return found


def test_leaks_are_seen():
    """Each way in which a hidden probe could get out, and a word that only begins like its name."""
    source = "def square(answer, n):\n    return answer(torch.ones(n, n) * 4321)\n"
    hidden = items.Probe("square", 1, source, "Square ones", [[3]], [81], hidden=True)
    seen = items.Probe("one", 1, "def one(answer):\n    return answer(1)\n", "One", [[]], [1])
    wrong = items.Wrong("No.", outputs={"one": 2, "square(3)": 80})
    item = items.Item("04.1", "code", 2, probes=[seen, hidden], wrong=[wrong])
    sealed, line = author.public(item), json.dumps("    return answer(torch.ones(n, n) * 4321)")

    def told(public, exercise=""):
        return leaks([item], items.to_json("04", [public]), exercise)

    assert told(sealed, "squares, the squared, square_root") == []
    assert told(sealed, '"square"') == ["04.1: the name square"]
    assert told(sealed, line) == ["04.1: return answer(torch.ones(n, n) * 4321)"]
    for part in ({"says": "Square ones"}, {"cases": [[3]]}, {"expected": [81]}, {"source": "..."}):
        opened = [sealed.probes[0], replace(sealed.probes[1], **part)]
        assert told(replace(sealed, probes=opened)) == ["04.1: hidden 1 is not sealed"], part
    assert "04.1: square(3) in the bank" in told(replace(sealed, wrong=[wrong]))


def test_the_random_graphs_of_the_last_item_agree_with_the_lab():
    """The probe returns both, and compares nothing: that would run beside the student's code."""
    source = next(source for source in SOURCES if source.stem.startswith("13_"))
    (probe,) = (p for item in sheet(source).items for p in item.probes if p.name == "random_graphs")
    for engine, lab_says in probe.expected:
        assert engine == pytest.approx(lab_says, rel=1e-9)
        assert any(engine)


@each
def test_every_gap_is_open_and_says_not_attempted(source, monkeypatch, tmp_path):
    """The exercises run from top to bottom as they are handed out."""
    monkeypatch.setenv(scores.ENVIRONMENT, "off")
    wanted = [item.id for item in sheet(source).items]  # read first: reading runs the checks of the source
    found = {}
    monkeypatch.setattr(
        lab, "check", lambda item_id, answer=...: found.update({item_id: feedback.check(item_id, answer)})
    )
    notebook = json.loads((ROOT / "exercises" / f"{source.stem}.ipynb").read_text(encoding="utf-8"))
    space = {"__name__": "__main__"}
    for number, cell in enumerate(notebook["cells"]):
        text = "".join(cell["source"])
        assert author.BEGIN not in text
        if cell["cell_type"] == "code":
            author.execute(text, space, f"{source.stem} exercise {number}")
    assert list(found) == wanted
    assert {name: result.state for name, result in found.items()} == dict.fromkeys(found, "not attempted")


@cache
def report(source):
    return bank.report(sheet(source))


@pytest.mark.slow
@each
def test_wrong_answers_are_caught_and_mutants_die(source, record_property):
    rows = report(source)
    record_property("bank", [asdict(row) for row in rows])  # conftest.py prints the table
    for row in rows:
        assert row.caught == row.named == row.banked
        assert row.survivors == [], f"{row.item}: add a probe that notices, or say why it does the same"
        assert row.differing == [], f"{row.item}: what the notebook names, the grader names"
        assert row.outdated == [], f"{row.item}: listed as equivalent, and not among those that pass"


DIAGNOSED = Path(__file__).with_name("diagnosed_mutants.txt")


@pytest.mark.slow  # it runs every mutant of every item
@each
def test_a_diagnosis_is_true_of_every_program_that_gets_it(source):
    """Other mistakes give the same numbers as a known one; what a student then hears must be true of them, too.

    Nobody but a person can say whether it is. Each line of diagnosed_mutants.txt is a mutant, and what is said of it, that somebody
    has read: where a line is missing here, read it against the mutant, reword the diagnosis or let a visible probe tell the
    two apart, and only then run `python tests/notebooks/test_exercises.py`, which writes the file anew.
    """
    number = source.stem.split("_")[0]
    known = [line for line in DIAGNOSED.read_text(encoding="utf-8").splitlines() if line.startswith(number)]
    assert [line for row in report(source) for line in row.diagnosed] == known


@each
def test_doing_nothing_earns_nothing(source):
    """Neither the code as it was handed out nor a program that only returns something passes a single probe."""
    tried = {
        draft.item.id: dict(bank.run_idle(sheet(source), draft))
        for draft in sheet(source).drafts
        if draft.item.probes
    }
    assert all("as handed out" in scores and "return argument 1" in scores for scores in tried.values())
    earned = [
        (item, name, score) for item, scores in tried.items() for name, score in scores.items() if score
    ]
    assert earned == [], "a probe must see something that only the work brings about"


def test_misconceptions_are_known():
    from autograd_lab.course.misconceptions import MISCONCEPTIONS

    for source in SOURCES:
        for item in sheet(source).items:
            for wrong in item.wrong:
                assert wrong.id == "" or wrong.id in MISCONCEPTIONS, (item.id, wrong.id)


def test_every_misconception_is_graded_where_it_is_at_home():
    """In the exercises of the notebook that refutes it, some item recognizes it in an answer."""
    from autograd_lab.course.misconceptions import MISCONCEPTIONS

    asked = {
        (wrong.id, item.id.split(".")[0])
        for source in SOURCES
        for item in sheet(source).items
        for wrong in item.wrong
    }
    assert [name for name, known in MISCONCEPTIONS.items() if (name, known.home) not in asked] == []


def test_times_are_taken_of_every_answer(capsys):
    assert bank.main(["--times", str(SOURCES[0])]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["item", "answers", "slowest"]
    counted = {row.split()[0]: int(row.split()[1]) for row in rows}
    assert counted == {d.item.id: 1 + len(d.right) + len(d.wrong) for d in sheet(SOURCES[0]).drafts}


if __name__ == "__main__":
    lines = [line for source in SOURCES for row in report(source) for line in row.diagnosed]
    DIAGNOSED.write_text("\n".join(lines) + "\n", encoding="utf-8")
