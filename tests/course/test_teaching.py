"""The teaching guide, the README and docs/ say what the course has: questions, notebooks, minutes, points, commands, keys."""

import importlib
import re
import shlex
from pathlib import Path

import pytest

from autograd_lab import cli, lab
from autograd_lab.course import contents
from autograd_lab.course.ballots import BALLOTS
from autograd_lab.course.items import shipped
from autograd_lab.course.misconceptions import MISCONCEPTIONS

ROOT = Path(cli.__file__).parents[1]
GUIDE = (ROOT / "autograd_lab" / "course" / "TEACHING.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = {
    path: path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
}
COURSE = DOCS[ROOT / "docs" / "course.md"]
ASSETS = ROOT / "autograd_lab" / "widgets" / "assets"
QUESTION = int(re.search(r"A question, (\d+) minutes", GUIDE)[1])


def header(path):
    """A source's metadata block: minutes, points, needs."""
    text = path.read_text(encoding="utf-8")
    return {
        "title": re.search(r"^# # \d\d · (.+)$", text, re.MULTILINE)[1],
        "minutes": int(re.search(r"^#     minutes: (\d+)$", text, re.MULTILINE)[1]),
        "points": int(re.search(r"^#     points: (\d+)$", text, re.MULTILINE)[1]),
        "needs": re.findall(r"\d\d", (re.search(r"^#     needs: (.*)$", text, re.MULTILINE) or [""])[0]),
        "stem": path.stem,
    }


STUDENTS = (ROOT / "exercises/README.md").read_text(encoding="utf-8")
NOTEBOOKS = {path.name[:2]: header(path) for path in sorted((ROOT / "notebooks").glob("[0-9]*.py"))}
EXERCISES = {path.name[:2]: header(path) for path in sorted((ROOT / "solutions").glob("[0-9]*.py"))}


def section(title, text=GUIDE):
    return re.search(rf"^## {re.escape(title)}.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]


def table(text):
    """The rows of the first table, without its head."""
    rows = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def blocks(language):
    found = re.findall(rf"^ *```{language}\n(.*?)^ *```", GUIDE, re.MULTILINE | re.DOTALL)
    assert found
    return found


# --- what is named exists -------------------------------------------------------------------------


def test_every_question_is_one_that_can_be_asked():
    named = set(re.findall(r"\bM\d\d\b", GUIDE))
    assert named == set(BALLOTS) == set(MISCONCEPTIONS)
    assert f"all {len(BALLOTS)} questions" in GUIDE
    assert set(re.findall(r"\bM\d\d\b", "".join(DOCS.values()))) <= set(BALLOTS)
    assert f"one of {len(BALLOTS)} questions" in COURSE


def test_every_item_and_notebook_is_there():
    items = set(re.findall(r"\b(\d\d\.\d)\b", GUIDE))
    assert items
    assert items <= set(shipped())
    stems = set(re.findall(r"\b(\d\d_\w+)", GUIDE))
    assert stems
    assert stems <= {notebook["stem"] for notebook in NOTEBOOKS.values()}
    named = set(re.findall(r"(?:[Nn]otebook|exercises) (\d\d)\b", GUIDE))
    assert named
    assert named <= set(NOTEBOOKS)


def test_sections_named_are_sections_of_notebook_04():
    text = (ROOT / "notebooks" / f"{NOTEBOOKS['04']['stem']}.py").read_text(encoding="utf-8")
    named = re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", section("90 minutes"))
    assert len(named) >= 4
    for title in named:
        assert re.search(rf"^# ## {re.escape(title)}(: .*)?$", text, re.MULTILINE), title


COMMANDS = [
    line for block in blocks("sh") for line in map(str.strip, block.splitlines()) if "autograd-lab" in line
]


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_is_understood(line):
    program, name, *arguments = shlex.split(line)
    assert program == "autograd-lab"
    module = importlib.import_module(cli.COMMANDS[name][0])
    module._parser().parse_args(arguments)  # leaves with an error where it does not understand


def test_every_command_named_in_the_text_is_one(capsys):
    text = "".join([GUIDE, *DOCS.values()])
    named = set(re.findall(r"`autograd-lab (\w+)", text)) | {shlex.split(c)[1] for c in COMMANDS}
    assert {"grade", "gradebook", "validate"} <= named <= set(cli.COMMANDS)
    for name in named:
        with pytest.raises(SystemExit, match="0"):
            cli.main([name, "--help"])
        assert f"autograd-lab {name}" in capsys.readouterr().out


def test_the_program_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    space = {}
    for block in blocks("python"):
        exec(block, space)
    assert space["a"].grad == 36
    space["lab"].step(space["trace"]).save_html("demo.html")
    assert (tmp_path / "demo.html").stat().st_size > 0
    for name in re.findall(r"\blab\.(\w+)", GUIDE):
        assert callable(getattr(lab, name))


def test_keys_are_those_of_the_front_end():
    rows = table(section("The tools in class"))
    keys = (ASSETS / "presenter.js").read_text(encoding="utf-8")
    listed = re.findall(r'\["([^"]+)", "[^"]+"\]', keys.split("const KEYS")[1].split("];")[0])
    offered = " ".join(listed).replace("\\u2192", "→").replace("\\u2190", "←").split()
    room = (ASSETS / "classroom.js").read_text(encoding="utf-8")
    for stepper, _, question, _ in rows:
        for key in re.findall(r"`([^`]+)`", stepper):
            assert key in {k.strip(",") for k in offered}, key
        for key in re.findall(r"`([^`]+)`", question):
            assert key in "ABCD" or f"{key}: () =>" in room, key


# --- minutes and points ---------------------------------------------------------------------------


def test_a_question_s_minutes_add_up():
    steps = re.search(
        r"(\d) minute to read alone, (\d) to vote, (\d) to convince a neighbor, (\d) to vote again, (\d) for",
        GUIDE,
    )
    assert sum(map(int, steps.groups())) == QUESTION


def test_the_plan_of_90_minutes():
    text = section("90 minutes")
    rows = table(text)
    assert sum(int(minutes) for minutes, *_ in rows) == 90
    for minutes, what, _ in rows:
        if what.startswith("Question"):
            assert int(minutes) == QUESTION
        if what.startswith("Notebook"):
            assert int(minutes) == NOTEBOOKS[what.split()[1]]["minutes"]
    for number, minutes in re.findall(r"notebook (\d\d) \((\d+) minutes\)", text):
        assert int(minutes) == NOTEBOOKS[number]["minutes"]
    at_home = re.findall(r"exercises (\d\d) \((\d+) minutes\)", text)
    assert at_home
    for number, minutes in at_home:
        assert int(minutes) == EXERCISES[number]["minutes"]


def test_the_plan_of_10_weeks():
    rows = table(section("10 weeks"))
    assert [row[0] for row in rows] == [str(week) for week in range(1, 11)]
    known, solved, asked, before = [], [], [], []
    for week, in_class, questions, minutes, at_home, exercises, home_minutes in rows:
        in_class, at_home, exercises = (re.findall(r"\d\d", text) for text in (in_class, at_home, exercises))
        questions = questions.split()
        for number in (*in_class, *at_home):
            assert set(NOTEBOOKS[number]["needs"]) <= {*known}, f"week {week}: {number} comes too early"
            known.append(number)
        spent = sum(NOTEBOOKS[number]["minutes"] for number in in_class) + QUESTION * len(questions)
        assert int(minutes) == spent <= 90, f"week {week}"
        home = [NOTEBOOKS[number] for number in at_home] + [EXERCISES[number] for number in exercises]
        assert int(home_minutes) == sum(one["minutes"] for one in home), f"week {week}"
        assert {*exercises} <= {*known}
        solved += exercises
        for key in questions:  # before its notebook, in the same session; or on one of an earlier week
            assert MISCONCEPTIONS[key].home in {*before, *in_class}, f"week {week}: {key}"
        asked += questions
        before = [*known]
    assert sorted(known) == sorted(solved) == list(NOTEBOOKS)
    assert sorted(asked) == sorted(BALLOTS)


def test_points_that_progress_can_show():
    seen, of, hidden = map(
        int, re.search(r"check, (\d+) of the (\d+) points;\nthe other (\d+) come", GUIDE).groups()
    )
    assert (seen, of) == (lab.progress().points[1], sum(item.points for item in shipped().values()))
    assert hidden == of - seen


def test_the_students_readme_and_progress_agree_about_points():
    all_, seen, hidden = map(
        int, re.search(r"worth (\d+) points\. You see (\d+) of .* other (\d+) are", STUDENTS).groups()
    )
    shown = lab.progress()
    assert (shown.points[1], shown.total) == (seen, all_)
    assert hidden == all_ - seen
    assert f"of {seen} points, {hidden} more at grading: {all_} in all" in repr(shown)
    assert table(COURSE)[-1][-1] == str(all_)


def test_titles_and_files_of_the_notebooks_have_one_source():
    assert {number: notebook["title"] for number, notebook in NOTEBOOKS.items()} == contents.TITLES
    for number, exercises in EXERCISES.items():
        title = contents.TITLES[number]
        assert exercises["title"] == f"Exercises: {title[0].lower()}{title[1:]}"
        assert exercises["stem"] == NOTEBOOKS[number]["stem"] == contents.stem(number)


# --- the README and docs/ -------------------------------------------------------------------------


def test_the_table_of_notebooks():
    *rows, total = table(COURSE)
    assert rows == [
        [number, f"[{notebook['title']}](../notebooks/{notebook['stem']}.ipynb)", str(notebook["minutes"]),
         str(EXERCISES[number]["minutes"]), str(EXERCISES[number]["points"])]
        for number, notebook in NOTEBOOKS.items()
    ]  # fmt: skip
    assert len(rows) == 15
    both = (NOTEBOOKS, "minutes"), (EXERCISES, "minutes"), (EXERCISES, "points")
    assert total[2:] == [str(sum(one[key] for one in these.values())) for these, key in both]
    assert "**15 notebooks**, ten hours" in README
    assert total[2] == "600"


def test_points_of_a_notebook_are_those_of_its_items():
    for number, exercises in EXERCISES.items():
        assert exercises["points"] == sum(
            i.points for i in shipped().values() if i.id.startswith(f"{number}.")
        )


def test_what_a_curious_student_can_find_is_counted():
    """The points of values, of cases that are shown, and of hidden ones; all of them."""
    items = shipped().values()
    values = sum(item.points for item in items if not item.probes)
    hidden = sum(item.hidden_points for item in items)
    every = sum(item.points for item in items)
    for words in (
        f"({values:g} of the {every:g} points)", f"({every - values - hidden:g} points) with their results", f"the {every - hidden:g} points that",
        f"the hidden cases ({hidden:g} points)",
    ):  # fmt: skip
        assert words in re.sub(r"\s+", " ", COURSE)


def anchors(text):
    """What GitHub makes of headings."""
    titles = re.findall(r"^#+ (.*)", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)]+)\)", DOCS[page]):
        if "://" not in link:
            file, _, heading = link.partition("#")
            assert (page.parent / file).exists(), link
            assert not heading or heading in anchors((page.parent / file).read_text("utf-8")), link


def test_the_readme_leads_to_every_page():
    links = set(re.findall(r"\]\(([^)#]+)", README))
    pages = {path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md")}
    assert pages | {"autograd_lab/course/TEACHING.md", "autograd_lab/course/GRADING.md"} <= links


def test_the_readme_is_short():
    """Two screens of 45 lines at 100 columns, the picture not counted."""
    lines = [line for line in README.splitlines() if not line.startswith("<picture>")]
    assert sum(-(-len(line) // 100) or 1 for line in lines) <= 90


def test_notes_for_the_instructor_are_told_of():
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.py"))
    without = '"instructor"' not in sources
    assert ("notes for the instructor" in COURSE) != without, (
        "docs/course.md and the notebooks' cells disagree"
    )
    assert ("begin with *For the instructor*" in GUIDE) != without, (
        "the guide's last section, and the notebooks' cells, disagree"
    )
