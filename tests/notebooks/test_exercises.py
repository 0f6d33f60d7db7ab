"""The exercises of the course: every gap is handed out open, every answer is right, every wrong answer is caught and named."""

import json
from pathlib import Path

import pytest

from autograd_lab import lab
from autograd_lab.course import author, bank, feedback, items, scores

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "solutions").glob("*.py"))
SHEETS: dict[Path, author.Sheet] = {}
ROWS: list[bank.Row] = []


def sheet(source):
    if source not in SHEETS:
        SHEETS[source] = author.read(source)
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
    handed_out = (items.FOLDER / f"{number}.json").read_text(encoding="utf-8")
    handed_out += (ROOT / "exercises" / f"{source.stem}.ipynb").read_text(encoding="utf-8")
    for item in sheet(source).items:
        shown = "".join(probe.source for probe in item.probes if not probe.hidden)
        for probe in item.probes:
            if probe.hidden:
                assert probe.name not in handed_out
                own = probe.source[probe.source.index(f"def {probe.name}") :].splitlines()[1:]
                for line in own:
                    if len(line.strip()) > 25 and '"""' not in line and line not in shown:
                        assert json.dumps(line.strip())[1:-1] not in handed_out, line


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


@pytest.mark.slow
@each
def test_wrong_answers_are_caught_and_mutants_die(source, record_property):
    rows = bank.report(sheet(source))
    ROWS.extend(rows)
    for row in rows:
        assert row.caught == row.named == row.banked
        assert row.survivors == [], f"{row.item}: add a probe that notices, or list it as equivalent"


def test_the_table_of_the_bank(capsys):
    """Printed, so that a run of the tests shows what the checks are worth."""
    with capsys.disabled():
        if ROWS:
            print("\n" + bank.table(ROWS))


def test_misconceptions_are_known():
    from autograd_lab.course.misconceptions import MISCONCEPTIONS

    for source in SOURCES:
        for item in sheet(source).items:
            for wrong in item.wrong:
                assert wrong.id == "" or wrong.id in MISCONCEPTIONS, (item.id, wrong.id)
