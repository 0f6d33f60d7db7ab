"""A student's answers come back into the released notebook, whatever happened to its cells."""

import json

import classroom as c
import pytest

from autograd_lab.grade import merge as m
from autograd_lab.grade import submissions as s
from autograd_lab.grade.scoring import score


def merged(data, name=c.BOOK):
    return m.merge(c.released(name), s.read(json.dumps(data).encode()), student="ada")


def ids(job):
    return [cell.id for cell in job.cells]


def points(data):
    job = merged(data)
    return {one.item: one.score for one in score(job, c.run_here(job), c.course().items) if one.score}


def states(data):
    job = merged(data)
    return {one.item: one.state for one in score(job, c.run_here(job), c.course().items)}


RELEASED = ["04-02", "04-1-answer", "04-1-check", "04-07", "04-2-answer", "04-2-check",
            "04-3-answer", "04-3-check", "04-14", "04-4-answer", "04-4-check",
            "04-18", "04-5-answer", "04-5-check", "04-22"]  # fmt: skip


@pytest.mark.parametrize("name", sorted(c.course().released))
def test_every_notebook_of_the_course_merges_into_itself(name):
    blank, full = merged(c.document("exercises", name), name), merged(c.document("solutions", name), name)
    assert ids(blank) == ids(full) == [cell.id for cell in c.released(name).cells]
    assert blank.notes == full.notes == ()
    assert all(cell.untouched == (cell.role == "answer") for cell in blank.cells)
    assert not any(cell.untouched for cell in full.cells)
    asked = {cell.item for cell in full.cells if cell.role == "check"}
    assert (
        asked
        == {cell.item for cell in full.cells if cell.role == "answer"}
        == {i.id for i in c.course().items[name]}
    )


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("lab = 'notes'", "another meaning to lab,"),
        ("torch = 3\nfor lab in range(3):\n    pass", "other meanings to lab and torch,"),
        ("def torch():\n    pass", "another meaning to torch,"),
        ("from autograd_lab import lab\nimport autograd_lab as torch", ""),
        ("def f():\n    lab = 3", ""),
        ("lab.note = 3\nmy_lab = lab", ""),
    ],
)
def test_names_of_the_notebook_that_get_another_meaning_are_told(source, said):
    data = c.document()
    data["cells"].insert(2, c.code(source))
    notes = merged(data).notes
    if said:
        assert [note.startswith(f"Cell 3 gives {said}") for note in notes] == [True], notes
    else:
        assert notes == ()


def test_the_roles_of_cells():
    job = merged(c.document())
    assert ids(job) == RELEASED
    assert [cell.role for cell in job.cells if cell.id in ("04-02", "04-07", "04-14")] == ["given"] * 3
    assert points(c.document()) == c.FULL


def test_checks_edited_are_the_released_ones():
    data = c.document("exercises")
    for cell in data["cells"]:
        if cell["id"].endswith("-check"):
            cell["source"] = 'lab.check("04.1", [12, 4, 12, 160])'
    job = merged(data)
    assert [x.source for x in job.cells if x.role == "check"] == [
        x.source for x in c.released().cells if x.role == "check"
    ]
    assert set(states(data).values()) == {"not attempted"}
    assert "The check of 04.2 had been changed" in " ".join(job.notes)


def test_checks_deleted_come_back_after_their_answer():
    data = c.document()
    data["cells"] = [x for x in data["cells"] if not x["id"].endswith("-check")]
    assert ids(merged(data)) == RELEASED
    assert points(data) == c.FULL


def test_a_check_deleted_from_an_answer_split_in_two_comes_after_both_parts():
    data = c.solved(a1="answer = [12, 4]")
    at = c.place(data, "04-1-check")
    data["cells"][at] = c.code("answer = answer + [12, 160]")
    assert points(data) == {"04.1": 4}


def test_a_check_moved_above_its_answer_runs_below_it():
    data = c.document()
    check = data["cells"].pop(c.place(data, "04-1-check"))
    data["cells"].insert(0, check)
    assert points(data) == c.FULL


def test_copies_of_checks_do_nothing():
    data = c.document()
    at = c.place(data, "04-1-answer")
    data["cells"].insert(at, {**c.cell(data, "04-1-check"), "id": "copy"})
    assert ids(merged(data)) == RELEASED


@pytest.mark.parametrize("turn", [lambda cells: cells[::-1], lambda cells: cells[5:] + cells[:5]])
def test_reordered_cells(turn):
    data = c.document()
    data["cells"] = turn(data["cells"])
    assert points(data) == c.FULL


def test_deleted_answers_are_not_attempted_and_cost_only_themselves():
    data = c.document()
    data["cells"] = [x for x in data["cells"] if x["id"] != "04-2-answer"]
    job = merged(data)
    assert ids(job) == RELEASED
    assert [x.id for x in job.cells if x.untouched] == ["04-2-answer"]
    assert points(data) == {k: v for k, v in c.FULL.items() if k != "04.2"}
    assert "answer cell of 04.2 is gone" in " ".join(job.notes)


def test_an_emptied_answer_is_not_attempted():
    data = c.document()
    c.cell(data, "04-2-answer")["source"] = "# later\n\n"
    assert states(data)["04.2"] == "not attempted"


def test_deleted_given_cells_come_back_before_what_needs_them():
    data = c.document()
    data["cells"] = [x for x in data["cells"] if x["id"] not in ("04-02", "04-07", "04-14")]
    data["cells"].insert(0, c.code("x = torch.tensor(1.0)"))
    job = merged(data)
    assert ids(job)[:2] == ["04-02", "extra-1"]
    assert points(data) == c.FULL
    assert all(run.state == "ok" for run in c.run_here(job).cells)


def test_a_given_cell_that_was_changed_runs_as_released_and_then_as_changed():
    data = c.document()
    c.cell(data, "04-02")["source"] += "\nimport math\nhelp_me = math.pi"
    job = merged(data)
    assert ids(job)[:2] == ["04-02", "extra-2"]
    assert points(data) == c.FULL


def test_own_cells_stand_where_they_stood():
    data = c.document()
    data["cells"].insert(c.place(data, "04-2-answer"), c.code("one = 1"))
    data["cells"].append(c.code("%matplotlib inline\ntwo = 2"))
    last = len(data["cells"])
    job = merged(data)
    assert ids(job)[4] == f"extra-{c.place(data, 'mine') + 1}"
    assert ids(job)[-1] == f"extra-{last}"
    assert job.cells[-1].source == "%matplotlib inline\ntwo = 2"


def test_blank_cells_and_prose_are_left_out():
    data = c.document()
    data["cells"].append(c.code("  \n"))
    data["cells"].append({"cell_type": "markdown", "id": "z", "metadata": {}, "source": "answer = 1"})
    assert ids(merged(data)) == RELEASED


@pytest.mark.parametrize("kind", ["markdown", "raw"])
def test_an_answer_turned_into_prose_is_code_again(kind):
    data = c.document()
    c.cell(data, "04-4-answer")["cell_type"] = kind
    assert points(data) == c.FULL
    assert "not a code cell any more" in " ".join(merged(data).notes)


# --- copies -----------------------------------------------------------------------------------------


def test_of_several_copies_the_last_filled_in_above_the_check_counts():
    data = c.solved(a1="answer = [0, 0, 0, 0]")
    at = c.place(data, "04-1-answer")
    copy = {**data["cells"][at], "id": "copy", "source": "answer = [12, 4, 12, 160]"}
    data["cells"].insert(at + 1, copy)
    assert points(data) == {"04.1": 4}
    assert f"cell {at + 2} counts" in " ".join(merged(data).notes)


def test_a_copy_below_the_check_does_not_count():
    data = c.solved(a1="answer = [12, 4, 12, 160]")
    at = c.place(data, "04-1-answer")
    data["cells"].insert(at + 2, {**data["cells"][at], "id": "copy", "source": "answer = [0, 0, 0, 0]"})
    assert points(data) == {"04.1": 4}


@pytest.mark.parametrize("stub_first", [True, False])
def test_a_copy_left_empty_never_overwrites_the_answer(stub_first):
    data = c.solved(a1="answer = [12, 4, 12, 160]")
    at = c.place(data, "04-1-answer")
    stub = {**data["cells"][at], "id": "copy", "source": "answer = [..., ..., ..., ...]"}
    data["cells"].insert(at if stub_first else at + 1, stub)
    assert points(data) == {"04.1": 4}


def test_the_same_id_twice():
    data = c.document()
    data["cells"] = [x for x in data["cells"] for _ in range(2)]
    assert points(data) == c.FULL
    job = merged(data)
    assert len({x.id for x in job.cells}) == len(job.cells)


# --- without ids --------------------------------------------------------------------------------------


def without_ids(data, grade_ids=False):
    for x in data["cells"]:
        x.pop("id")
        if not grade_ids:
            x["metadata"] = {}
    return data


@pytest.mark.parametrize("grade_ids", [True, False])
@pytest.mark.parametrize("name", sorted(c.course().released))
def test_cells_are_recognized_without_their_ids(name, grade_ids):
    job = merged(without_ids(c.document("solutions", name), grade_ids), name)
    assert [x.source for x in job.cells] == [
        x.source for x in merged(c.document("solutions", name), name).cells
    ]
    assert [x.id for x in job.cells] == [x.id for x in c.released(name).cells]


def test_without_ids_and_without_checks_answers_are_found_by_their_names():
    data = without_ids(c.document())
    data["cells"] = [x for x in data["cells"] if "lab.check" not in "".join(x["source"])]
    assert points(data) == c.FULL


def test_an_answer_and_its_check_in_one_cell():
    data = c.document("exercises")
    at = c.place(data, "04-1-answer")
    data["cells"][at : at + 2] = [c.code('answer = [12, 4, 12, 160]\nlab.check("04.1", answer)')]
    assert points(data) == {"04.1": 4}


def test_an_answer_written_in_a_cell_of_its_own_beside_the_stub():
    data = c.document("exercises")
    data["cells"].insert(c.place(data, "04-1-answer"), c.code("answer = [12, 4, 12, 160]"))
    assert points(data) == {"04.1": 4}


def test_all_answers_in_one_cell():
    data = c.document("exercises")
    sources = [x["source"] for x in c.document()["cells"] if x["id"].endswith("-answer")]
    text = "\n\n".join("".join(x) for x in sources)
    data["cells"] = [x for x in data["cells"] if not x["id"].endswith("-answer")]
    data["cells"].append(c.code(text))
    assert points(data) == c.FULL
    assert len(ids(merged(data))) == len(set(ids(merged(data))))


def test_another_notebook_altogether():
    data = c.document("solutions", "00_start_here")
    job = merged(data)
    assert set(states(data).values()) == {"not attempted"}
    assert "None of the released questions" in " ".join(job.notes)


# --- hostile text ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "source",
    [
        "answer = " + "(" * 5_000 + ")" * 5_000,
        "answer = " + "-" * 50_000 + "1",
        "answer = " + "1+" * 50_000 + "1",
        "answer = [1\n%%magic\n!ls\n?",
        "lab.check('" * 30_000,
        ('lab.check("04.1", answer)' + "\n" * 30) * 300 + "x",
        "answer = 1\x00\n",
        "\\d = '\\d'",
        "answer" + " " * 60_000 + ":",
    ],
    ids=range(9),
)
def test_text_that_no_parser_likes(source):
    data = c.solved(a2="order = 1")
    data["cells"].insert(3, c.code(source))
    c.cell(data, "04-1-answer")["source"] = source
    job = merged(without_ids(data))
    assert "04-1-check" in ids(job)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("a = b = 1; c: int = 2; d += 1", {"a", "b", "c", "d"}),
        ("def f(x):\n    y = 1\nclass G:\n    z = 1", {"f", "G"}),
        ("import numpy as np, os.path\nfrom math import pi", {"np", "os", "pi"}),
        ("for i in x:\n    a, (b, *c) = i\nelse:\n    d = 1", {"i", "a", "b", "c", "d"}),
        (
            "with f() as g:\n    h = 1\ntry:\n    k = 1\nexcept E:\n    m = 1\nfinally:\n    n = 1",
            {"g", "h", "k", "m", "n"},
        ),
        ("match a:\n    case 1:\n        b = 2", {"b"}),
        ("[q for q in r]; lambda: (s := 1); (t := 2)", {"t"}),
        ("%%time\na = 1\n!ls\nb.c = 2\nd[0] = 3", {"a"}),
        ("a = (\ndef f():\n  x = 1\nb == 3\nc: int = 4\nclass D", {"a", "f", "c", "D"}),
    ],
)
def test_names_that_a_cell_gives(source, names):
    assert m.bound(source) == names
