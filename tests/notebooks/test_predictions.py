"""Every question of the notebooks says something to every answer that is offered or foreseen, and gives nothing away before."""

import ast
import json
import re
from functools import cache
from pathlib import Path

import answers
import forks
import nbformat
import pytest
from test_told_too_early import forms

from autograd_lab.course import build, lint
from autograd_lab.course.foreseen import FOLDER, Part, parse, questions
from autograd_lab.course.misconceptions import MISCONCEPTIONS
from autograd_lab.course.reveal import OPEN, bare, judge, plain, reveal, same
from autograd_lab.course.spoken import stiff
from autograd_lab.course.student import student_copy, without_asserts

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "notebooks").glob("*.py"))
every_notebook = pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)


def cells(source, kind):
    book = build.read_source(source)
    return [
        c.source for c in book.cells if c.cell_type == kind and "instructor" not in c.metadata.get("tags", [])
    ]


def calls(source):
    """The ids of all calls of lab.reveal in a notebook, "" for one without."""
    for text in cells(source, "code"):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "lab.reveal":
                yield node.args[2].value if len(node.args) == 3 else ""


def gaps(part: Part) -> list[str]:
    """What a part of a question lacks."""
    found = []
    rights, wrongs = ([a for a in part.answers if a.right is right] for right in (True, False))
    if len(rights) != 1:
        found.append(f"{len(rights)} right answers")
    if len(wrongs) < (1 if part.offered else 2):
        found.append(f"{len(wrongs)} wrong answers")
    if len({a.why for a in part.answers}) < len(part.answers):
        found.append("two answers are told the same")
    for a in part.answers:
        if any(same(plain(a.value), plain(b.value)) for b in part.answers if b is not a):
            found.append(f"{a.value} twice")
        if a.misconception and a.misconception not in MISCONCEPTIONS:
            found.append(f"no misconception {a.misconception}")
        if not a.why.endswith((".", "`")):
            found.append(f"no sentence: {a.why}")
    return found


@every_notebook
def test_no_answer_is_without_a_diagnosis(source):
    number = source.stem[:2]
    known, asked = questions(number), [*calls(source)]
    assert asked
    assert "" not in asked, "a call of lab.reveal has no id"
    assert set(asked) == set(known)
    assert {
        f"{ask} {part.label}: {gap}" for ask, q in known.items() for part in q.parts for gap in gaps(part)
    } == set()
    assert all(q.parts for q in known.values())


@every_notebook
def test_what_is_said_to_an_answer_is_spoken_and_true(source):
    """The lint's rules for prose: nothing that nobody says, each number is asserted in the notebook, and it is short."""
    book = build.read_source(source)
    code = [(n, c) for n, c in enumerate(book.cells) if c.cell_type == "code"]
    for ask, asked in questions(source.stem[:2]).items():
        for words in (*asked.after, *(answer.why for part in asked.parts for answer in part.answers)):
            assert [*stiff(words)] == [], (ask, words)
        after = nbformat.v4.new_markdown_cell("\n\n".join(asked.after))
        assert [*lint.numbers_are_asserted(code, [(0, after)], book.metadata)] == [], ask
        assert lint.count_words(after.source) <= 130, ask


def test_every_notebook_has_its_file():
    assert [path.stem for path in sorted(FOLDER.iterdir())] == [source.stem[:2] for source in SOURCES]
    assert sum(len([*calls(source)]) for source in SOURCES) > 150


@every_notebook
def test_the_choices_are_those_of_the_prose(source):
    """A list such as `0` · `48` · `96` in the text is a part with these answers, in this order; no button offers anything else."""
    prose, code = "\n".join(cells(source, "markdown")), "\n".join(cells(source, "code"))
    offered = [
        [bare(plain(a.value)) for a in p.answers]
        for q in questions(source.stem[:2]).values()
        for p in q.parts
        if p.offered
    ]
    for listed in re.findall(r"`[^`\n]+`(?: · `[^`\n]+`)+", prose):
        choices = [bare(plain(literal(one))) for one in re.findall(r"`([^`]+)`", listed)]
        assert choices in offered
    written = {
        bare(plain(literal(one)))
        for one in re.findall(r"`([^`\n]+)`", prose) + re.findall(r'("[^"\n]*")', prose + code)
    }
    for choices in offered:
        assert set(choices) <= written | {
            "True",
            "False",
            "[True, True]",
            "[True, False]",
            "[False, True]",
            "[False, False]",
        }


def literal(text):
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@pytest.mark.parametrize(
    ("broken", "gap"),
    [
        ("? a\n0: x.\n1: y.", "0 right answers"),
        ("- a\n= 1: x.\n2: y.", "1 wrong answers"),
        ("? a\n= 1: x.\n2: x.", "two answers are told the same"),
        ("? a\n= 1: x.\n1.0: y.", "1 twice"),
        ("? a\n= 1: x.\n2 M99: y.", "no misconception M99"),
    ],
)
def test_a_gap_is_found(broken, gap):
    (part,) = parse("04.a\n" + broken)["04.a"].parts
    assert gap in gaps(part)


# What cells print beside an open question, each looked at: it does not tell the answer. Anything else waits for it,
# below `if lab.reveal(...):`, warnings and errors included.
HARMLESS = (
    "the same as backward(): True\n",  # 04: of the number of paths
    "RuntimeError: Trying to backward through the graph a second time",  # 06: of edges, and of the node where it stops
    "w = 3.2, v = 3.2, u = 3.2\n",  # 07: of leaves
    "y: [0.0, 2.0]\n",  # 11: of the gradient; these are the values
)


# What a later cell prints, where the answer stands for something else.
OF_ANOTHER = {("02.c", "['MulBackward0', 'AccumulateGrad']\n")}  # the edges of another tensor


# --- the copies that students get -----------------------------------------------------------------------------------


def copy_of(source):
    return nbformat.reads(student_copy(json.dumps(build.read_source(source))), as_version=4)


@cache
def truths(source):
    """What the notebook's cells give as truth: see answers.py."""
    return forks.truths(copy_of(source), source.parent)


def run(book, source):
    forks.run(book, source.parent)
    return [cell for cell in book.cells if cell.cell_type == "code"]


def shown(cell, mime="text/plain"):
    return [output["data"][mime] for output in cell.outputs if mime in output.get("data", {})]


def printed(cell):
    return "".join(output["text"] for output in cell.outputs if output["output_type"] == "stream")


@pytest.mark.slow
@every_notebook
def test_the_right_answer_is_right_and_each_wrong_one_is_wrong(source):
    """On the truth that the cells compute."""
    for ask, row in truths(source)["asked"]:
        parts = questions(source.stem[:2])[ask].parts
        assert [label for label, _ in row] == [part.label for part in parts], ask
        for part, (_, truth) in zip(parts, row, strict=True):
            is_ = eval(truth)
            for answer in part.answers:
                assert judge(part, plain(answer.value), is_) == (answer.right, answer.why), (ask, answer)


@pytest.mark.slow
@every_notebook
def test_a_copy_runs_as_it_is_handed_out_and_tells_no_answer(source):
    open_still: dict[str, list[str]] = {}
    for cell in run(copy_of(source), source):
        asked = re.findall(r'"(\d\d\.[a-z])"', cell.source)
        for ask, written in open_still.items():
            for form in written:
                tells = re.search(rf"(?<![\w.\-]){re.escape(form)}(?!\w|\.\d|%)", printed(cell))
                assert not tells or (ask, printed(cell)) in OF_ANOTHER, (ask, form, printed(cell))
        for ask in asked:
            for part in questions(source.stem[:2])[ask].parts:
                written, long = forms(next(answer.value for answer in part.answers if answer.right))
                open_still.setdefault(ask, []).extend(written if long else [])
        assert without_asserts(cell.source) == cell.source
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(cell.source)))
        cards = [text for text in shown(cell) if text.startswith(OPEN)]
        assert len(cards) == len(set(re.findall(r'"(\d\d\.[a-z])"', cell.source))), cell.source
        if cards:
            assert not shown(cell, "image/png"), f"a plot beside an open question:\n{cell.source}"
            assert printed(cell).startswith(HARMLESS) or not printed(cell), f"does it tell?\n{printed(cell)}"
            for ask in re.findall(r'"(\d\d\.[a-z])"', cell.source):
                for truth in (truth for a, row in truths(source)["asked"] if a == ask for _, truth in row):
                    told = re.escape(str(literal(truth)))
                    assert len(told) < 2 or not re.search(rf"(?<!\w){told}(?!\w)", printed(cell)), (
                        ask,
                        printed(cell),
                    )


@pytest.mark.slow
@every_notebook
def test_a_copy_runs_with_the_answers_filled_in(source):
    book, right = copy_of(source), truths(source)["holes"]
    count = 0  # a `...` that meets no truth is no prediction: a rule that the student is to write
    for cell in book.cells:
        if cell.cell_type == "code":
            holes = len(answers.places(cell.source))
            cell.source = answers.filled(
                cell.source, [right.get(str(n), "...") for n in range(count, count + holes)]
            )
            count += holes
    cards = [text for cell in run(book, source) for text in shown(cell) if re.match("[\u2713\u2717]", text)]
    assert len(cards) == len(questions(source.stem[:2]))
    assert [card for card in cards if "\u2717" in card] == []


def test_what_a_click_could_show_is_not_to_be_read_before(capsys):
    """Neither the text nor the HTML of an open card has the truth or a diagnosis in it."""
    from autograd_lab.course.reveal import judged, text
    from autograd_lab.widgets.guess import html

    for number in (source.stem[:2] for source in SOURCES):
        for ask, question in questions(number).items():
            truth = [next(a.value for a in part.answers if a.right) for part in question.parts]
            card = judged(..., truth if len(truth) > 1 else truth[0], ask)
            page = html(card, text(card), front=False)
            for words in question.after:
                assert words not in page
            for part in question.parts:
                for answer in part.answers:
                    assert answer.why not in page
                    assert part.offered or f">{bare(plain(answer.value))}<" not in page
    reveal(..., 96, "04.c")
    assert "96" not in capsys.readouterr().out
