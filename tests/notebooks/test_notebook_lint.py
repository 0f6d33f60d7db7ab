"""The lint passes a good notebook and names the one thing that is wrong with each broken one."""

import json

import pytest
from notebook_fixtures import WIDGET, code, error, good, markdown, shown, stream

from autograd_lab.course import lint

BREAKS = {}


def breaks(expected):
    """Register a function that breaks the good notebook, and the words the lint must use for it."""

    def register(function):
        BREAKS[function.__name__] = (function, expected)
        return function

    return register


def test_a_good_notebook_has_no_problems():
    assert lint.problems(good(), "07_good") == []


@breaks("cell 2: not executed")
def a_cell_was_not_executed(book):
    book["cells"][1]["execution_count"] = None


@breaks("cell 2: execution count 3 where 1 is due")
def cells_were_run_out_of_order(book):
    book["cells"][1]["execution_count"] = 3


@breaks("cell 5: empty code cell")
def an_empty_cell_is_left(book):
    book["cells"].append(code("", None))


@breaks("cell 5: for the instructor, so it may hold expressions only")
def an_instructors_cell_leaves_a_name(book):
    book["cells"].append(code("room = 1", 3, tags=("instructor",)))


@breaks("cell 1: Markdown makes a list or heading of the line '1. With which h is it")
def a_number_stands_first_in_its_line(book):
    book["cells"][0]["source"] += "\n\nThe slope of exp at\n1. With which h is it most accurate?"


@breaks("Markdown makes a list or heading of the line '- b, not a + b.'")
def a_minus_stands_first_in_its_line(book):
    book["cells"][0]["source"] += "\n\nThis is a\n- b, not a + b."


def test_a_list_that_is_meant_is_left_alone():
    book = good()
    book["cells"][0]["source"] += (
        "\n\n1. one\n2. two\n   more\n1. three\n\n- a\n- b\n\n| a |\n|---|\n\n```text\nsee\n- this\n```\n"
    )
    assert lint.problems(book, "07_good") == []


def test_the_instructors_cells_do_not_count():
    book = good()
    notes = {
        **markdown("Stop here: about 77 % say 48. " + "word " * 900),
        "metadata": {"tags": ["instructor"]},
    }
    book["cells"][1:1] = [dict(notes, id=f"t{n}") for n in range(40)]
    lines = "\n".join(["print(1)"] * 20)
    book["cells"].append(code(lines, 3, stream("1\n" * 20), tags=("instructor",)))
    assert lint.problems(book, "07_good") == []


@breaks("no code cells")
def there_is_nothing_to_run(book):
    book["cells"] = [book["cells"][0]]


@breaks("cell 4: tagged raises-exception, but holds no error")
def an_announced_error_did_not_happen(book):
    book["cells"][3]["outputs"] = []


@breaks("cell 5: tagged raises-exception, but holds no error")
def an_error_announced_by_comment_did_not_happen(book):
    book["cells"].append(code("# NBVAL_RAISES_EXCEPTION\n1 / 1", 3))


@breaks("cell 4: holds an error, but is not tagged")
def an_error_was_not_announced(book):
    book["cells"][3]["metadata"] = {}


@breaks("cell 5: nbval-skip excuses it")
def a_comment_skips_a_cell(book):
    book["cells"].append(code("# NBVAL_SKIP\nprint(1)", 3, stream("1\n")))


@breaks("cell 5: nbval-ignore-output excuses it")
def a_tag_skips_the_comparison(book):
    book["cells"].append(code("print(1)", 3, stream("1\n"), tags=("nbval-ignore-output",)))


@breaks("cell 5: `!false` can fail without failing the cell")
def a_shell_command_can_fail_unseen(book):
    book["cells"].append(code("!false", 3))


@breaks("cell 5: writes to stderr")
def a_warning_was_printed(book):
    book["cells"].append(code("import warnings", 3, stream("UserWarning: careful\n", "stderr")))


@breaks("cell 5: prints `at 0x7f42e244bd60`")
def an_address_is_in_the_output(book):
    book["cells"].append(code("f", 3, shown(**{"text/plain": "<function f at 0x7f42e244bd60>"})))


@breaks("cell 5: prints `/home/kim/x.py`")
def a_path_of_this_machine_is_in_the_output(book):
    book["cells"].append(code("f", 3, stream("see /home/kim/x.py\n")))


@breaks("cell 5: a widget with no text or picture beside it")
def a_widget_has_nothing_to_compare(book):
    book["cells"].append(code("w", 3, shown(**{WIDGET: "id"})))


@breaks("cell 5: stores a widget's model number")
def a_widget_stores_its_random_model(book):
    book["cells"].append(code("w", 3, shown(**{WIDGET: "id", "text/plain": "Stepper"})))


@breaks("cell 5: a line of 105 characters, 104 at most")
def a_line_runs_out_of_its_cell(book):
    book["cells"].append(code("x = 1  # " + "x" * 96, 3))


def test_a_line_that_just_fits_is_left_alone():
    book = good()
    book["cells"].append(code("x = 1  # " + "x" * 95, 3))
    assert lint.problems(book, "07_good") == []


@breaks("31 cells, 30 at most")
def there_are_too_many_cells(book):
    book["cells"] += [markdown("more")] * 27


@breaks("cell 5: 16 lines, 15 at most")
def a_cell_is_too_long(book):
    book["cells"].append(code("\n".join(["x = 1"] * 16), 3))


@breaks("the first code cell is cell 4")
def the_student_waits_too_long_for_something_to_run(book):
    book["cells"][:0] = [markdown("one"), markdown("two")]


@breaks("words of prose, 600 to 900 wanted")
def there_is_too_much_to_read(book):
    book["cells"].append(markdown("word " * 300))


@breaks("words of prose, 600 to 900 wanted")
def there_is_too_little_to_read(book):
    book["cells"][0] = markdown("word")


ASKS = "guess = ...\nx = 6 * 16\n"


@breaks("cell 5: the answer to `guess` stands in the cell: 'detach'")
def the_answer_is_written_under_the_question(book):
    book["cells"].append(code(ASKS + "lab.reveal(guess, 'detach')", 3))


@breaks("cell 5: the answer to `guess` stands in the cell: 'error'")
def a_part_of_the_answer_is_written_under_the_question(book):
    book["cells"].append(code(ASKS + "lab.reveal(guess, [x, 'error'])", 3))


@breaks("cell 5: asserts what it asks for; move it to a later cell: assert x == 96")
def an_assert_gives_the_answer_away(book):
    book["cells"].append(code(ASKS + "lab.reveal(guess, x)\nassert x == 96", 3))


@breaks("cell 5: asserts what it asks for; move it to a later cell: assert (x, 1) == (96, 1)")
def an_assert_gives_a_part_of_the_answer_away(book):
    book["cells"].append(code(ASKS + "lab.reveal(guess, [str(x[0]), 1])\nassert (x, 1) == (96, 1)", 3))


def test_answers_that_the_cell_finds_out_are_left_alone():
    book = good()
    tries = "try:\n    lab.reveal(guess, 'fine')\nexcept RuntimeError:\n    lab.reveal(guess, 'error')\n"
    book["cells"].append(code(ASKS + tries + "assert 6 * 16 == 96", 3))
    book["cells"].append(code(ASKS + "lab.reveal(guess, 'a' if x > 90 else 'b')", 4))
    book["cells"].append(code("lab.reveal(guess, x)\nassert x == 96", 5))
    assert lint.problems(book, "07_good") == []


@breaks("cell 3: states 144, which no asserting cell contains")
def a_number_is_stated_but_not_asserted(book):
    book["cells"][2] = markdown("The sum is 144.")


@breaks("cell 3: nobody says 'At the node waits': the subject comes last")
def a_sentence_begins_at_its_end(book):
    book["cells"][2] = markdown("Read this. At the node waits the second message.")


@breaks('no "autograd_lab" block')
def there_is_no_metadata_block(book):
    del book["metadata"]["autograd_lab"]


@breaks("autograd_lab.minutes: it should be of type int")
def a_metadata_value_has_the_wrong_type(book):
    book["metadata"]["autograd_lab"]["minutes"] = "half an hour"


@breaks("autograd_lab.goals: it should be of type list")
def a_metadata_key_is_missing(book):
    del book["metadata"]["autograd_lab"]["goals"]


@breaks("autograd_lab.refute: unknown key")
def a_metadata_key_is_misspelled(book):
    book["metadata"]["autograd_lab"]["refute"] = []


@breaks("'six' is not an id")
def a_misconception_has_no_id(book):
    book["metadata"]["autograd_lab"]["retests"] = ["six"]


@breaks("autograd_lab.id is '08'")
def the_id_is_not_the_files(book):
    book["metadata"]["autograd_lab"]["id"] = "08"


@pytest.mark.parametrize("name", BREAKS)
def test_each_break_is_found_and_named(name):
    break_it, expected = BREAKS[name]
    book = good()
    break_it(book)
    found = lint.problems(book, "07_good")
    assert any(expected in problem for problem in found), found


def test_every_rule_is_broken_by_some_fixture(monkeypatch):
    """Take a rule out of the lint, and some fixture above must go unnoticed."""
    rules = [
        "said_aloud",
        "executed_in_order",
        "errors_only_where_announced",
        "nothing_excused",
        "nothing_that_varies",
        "fits_its_cell",
        "within_budget",
        "asks_before_it_tells",
        "numbers_are_asserted",
        "metadata_complete",
    ]
    for rule in rules:
        with monkeypatch.context() as patch:
            patch.setattr(lint, rule, lambda *_: [])
            missed = []
            for name, (break_it, expected) in BREAKS.items():
                book = good()
                break_it(book)
                if not any(expected in problem for problem in lint.problems(book, "07_good")):
                    missed.append(name)
            assert missed, f"no fixture needs the rule {rule}"


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("It prints 96.", True),
        ("It sends 24 to both and 48 on.", True),
        ("About 95 % are right.", True),
        ("Choose: `96` or `144`.", False),
        ("In notebook 04, in 30 minutes, take 2 of 3.", False),
        ("See M06 and PyTorch 2.13.", False),
        ("```\nprint(96)\n```", False),
        ("[here](page-2024.html)", False),
    ],
)
def test_what_counts_as_a_stated_number(text, claims):
    book = good()
    book["cells"][1] = code("print(1)", 1, stream("1\n"))
    book["cells"][2] = markdown(text)
    assert any("states" in problem for problem in lint.problems(book, "07_good")) is claims


def test_the_bytes_of_a_picture_are_not_taken_for_a_path():
    book = good()
    html = '<img src="data:image/svg+xml;base64,AAAA/tmp/AAAA==">'
    book["cells"].append(code("s", 3, shown(**{"text/html": html, "text/plain": "Stepper"})))
    assert lint.problems(book, "07_good") == []


def test_a_percentage_and_its_fraction_are_one_number():
    book = good()
    book["cells"][1]["source"] = "assert right >= 0.95"
    book["cells"][2] = markdown("At least 95 % are right.")
    assert lint.problems(book, "07_good") == []


def test_the_command_prints_problems_and_fails(tmp_path, capsys):
    fine, broken = tmp_path / "07_fine.ipynb", tmp_path / "07_broken.ipynb"
    fine.write_text(json.dumps(good()), encoding="utf-8")
    book = good()
    book["cells"][1]["outputs"] = [error()]
    broken.write_text(json.dumps(book), encoding="utf-8")
    assert lint.main([str(fine)]) == 0
    assert lint.main([str(fine), str(broken)]) == 1
    assert "07_broken.ipynb: cell 2: holds an error" in capsys.readouterr().out
