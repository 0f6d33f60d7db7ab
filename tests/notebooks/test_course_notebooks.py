"""The notebooks of the course: built from their sources, linted, and run by nbval in the same command."""

import ast
import copy
import json
import re
import subprocess
import tomllib
from pathlib import Path

import forks
import nbformat
import pytest
from jupyter_client.manager import KernelManager

from autograd_lab.course import build, contents, lint
from autograd_lab.course.misconceptions import MISCONCEPTIONS

ROOT = Path(__file__).parents[2]
SOURCES = build.find_sources(ROOT, [])


def test_there_are_notebooks():
    assert {"00", "02", "04"} <= {source.name[:2] for source in SOURCES}


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_notebook_passes_the_lint(source):
    assert lint.lint_file(source.with_suffix(".ipynb")) == []


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_a_notebook_is_what_its_source_builds(source, capsys, monkeypatch):
    monkeypatch.setattr(build, "execute", lambda book, folder, root: forks.run(book, folder))
    fine = build.check_one(source, ROOT)
    assert fine, capsys.readouterr().out


@pytest.fixture(scope="module")
def run():
    """Runs a cell in one kernel for all notebooks, which costs less than one each; gives the name of its error, or ""."""
    manager, environment = build.kernel_manager(KernelManager, ROOT)
    manager.start_kernel(env=environment, stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)

    def run(cell):
        reply = client.execute_interactive(
            cell,
            allow_stdin=False,
            stop_on_error=False,
            timeout=build.CELL_TIMEOUT,
            output_hook=lambda _: None,
        )
        return reply["content"].get("ename", "")

    yield run
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.mark.slow
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_cell_can_be_run_twice(source, run):
    """Students run a cell again after filling in an answer; that must not end in an error of ours.

    The cells are those that the build has written, which are compared with the source above: to build them anew takes longer.
    """
    notebook = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))
    assert not run("%reset -f") + run(f"import os\nos.chdir({str(source.parent)!r})\ndel os")
    failed = [
        (cell["source"], time, error)
        for cell in notebook["cells"]
        for time in ("first", "second")
        if cell["cell_type"] == "code"
        if (error := run("".join(cell["source"])))
        and "raises-exception" not in cell["metadata"].get("tags", ())
    ]
    assert not failed


def test_a_cell_that_cannot_be_run_twice_is_noticed(run):
    """And nothing of one notebook is left for the next."""
    assert run("once = [1]") == run("once.pop()") == ""
    assert run("once.pop()") == "IndexError"
    assert run("%reset -f") == ""
    assert run("once") == "NameError"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_an_execution_leaves_no_kernel_and_no_open_file():
    """A hundred notebooks are executed in one test run: kernels and sockets left behind would add up to thousands of files."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("print(1)")])
    build.execute(copy.deepcopy(notebook), ROOT, ROOT)
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    build.execute(copy.deepcopy(notebook), ROOT, ROOT)
    assert sum(1 for _ in Path("/proc/self/fd").iterdir()) == before


@pytest.mark.parametrize(
    "source", [s for s in SOURCES if s.parent.name == "notebooks" and s.name < "13"], ids=lambda s: s.stem
)
def test_what_is_said_of_pytorch_is_so(source):
    """*The same in PyTorch*, run there: a line prints, or raises, what its comment says; "..." stands for anything.

    Those of 13 and 14 go on with their notebook's own functions.
    """
    pytest.importorskip("torch")
    text = source.read_text(encoding="utf-8").split("## The same in PyTorch")[1]
    lines = [line[2:] for line in text.split("# ```")[1].splitlines()[1:]]
    printed, compared = [], 0
    names = {"print": lambda *values: printed.append(" ".join(map(str, values)))}
    for statement in ast.parse("\n".join(lines)).body:
        code, comment = ast.unparse(statement), lines[statement.end_lineno - 1].partition("   # ")[2].strip()
        if comment.startswith("RuntimeError"):
            with pytest.raises(RuntimeError):
                exec(code, names)
        else:
            exec(code, names)
            if comment:
                wanted = ".*".join(map(re.escape, comment.split("...")))
                assert re.fullmatch(wanted, printed[-1]), (printed[-1], comment)
        compared += bool(comment)
    assert compared


def test_no_notebook_lacks_its_source():
    assert build.find_strays(ROOT) == []


def test_the_test_command_runs_nbval_strictly_over_the_notebooks():
    """`pytest` alone must execute them and compare every output; a lax run compares nothing."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"][
        "ini_options"
    ]
    assert "--nbval" in settings["addopts"]
    assert not any("lax" in option or "sanitize" in option for option in settings["addopts"])
    assert {"notebooks", "solutions"} <= set(settings["testpaths"])


def test_each_misconception_has_one_home():
    """A misconception is refuted in one notebook, and asked again only in later ones."""
    homes, retests = {}, []
    for source in SOURCES:
        if source.parent.name != "notebooks":
            continue
        block = json.loads(source.with_suffix(".ipynb").read_text(encoding="utf-8"))["metadata"][
            "autograd_lab"
        ]
        for item in block["refutes"]:
            assert MISCONCEPTIONS[item].home == block["id"]
            assert item not in homes, f"{item} is refuted in {homes[item]} and again in {block['id']}"
            homes[item] = block["id"]
        retests += [(item, block["id"]) for item in block["retests"]]
    for item, where in retests:
        assert item not in homes or homes[item] < where, (
            f"{item} is retested in {where} before its home {homes[item]}"
        )


COURSE = [source for source in SOURCES if source.parent.name == "notebooks"]
GENERIC = {
    "Predict",
    "Step",
    "Modify",
    "Make",
    "Exit ticket",
    "Debug",
    "Build",
    "Twice",
    "Switches",
    "The real thing",
}
"""Headings that say nothing of what is below them."""


def texts(source):
    cells = build.read_source(source)["cells"]
    return [
        c["source"]
        for c in cells
        if c["cell_type"] == "markdown" and "instructor" not in c["metadata"].get("tags", [])
    ]


@pytest.mark.parametrize("source", COURSE, ids=lambda s: s.stem)
def test_a_notebook_opens_with_what_it_will_settle(source):
    """A question, and often a program that is wrong, before anything else is said; the goals are in the metadata."""
    opening = texts(source)[0].split("**Warm-up**")[0]
    question = re.sub(r"^# .*|\*\*\d+ minutes.*", "", opening, flags=re.MULTILINE)
    assert re.search(r"\*\*[^*]*\?\*\*", question.replace("`", "")), "no question in bold"
    assert "After this notebook" not in opening


@pytest.mark.parametrize("source", COURSE, ids=lambda s: s.stem)
def test_a_notebook_ends_in_five_lines_a_picture_and_links(source):
    last = texts(source)[-1]
    _, end = last.split("## In five lines\n")
    lines, words, picture, links = re.fullmatch(
        r"\s*((?:\d\. .*\n(?:   .*\n)*)+)\n!\[(.*?)\]\((.*?)\)\n\n(.*)", end + "\n", re.DOTALL
    ).groups()
    assert re.findall(r"^(\d)\. ", lines, re.MULTILINE) == [*"12345"]
    number = source.stem[:2]
    assert picture == f"pictures/{number}.svg"
    assert (source.parent / picture).is_file()
    assert len(words.split()) >= 10, "words for those who do not see the picture"
    wanted = [f"../exercises/{contents.stem(number)}.ipynb"]
    following = f"{int(number) + 1:02d}"
    wanted += [f"{contents.stem(following)}.ipynb"] if following in contents.TITLES else []
    assert re.findall(r"\]\((.*?)\)", links) == wanted
    for link in wanted:
        assert (source.parent / link).is_file(), link


@pytest.mark.parametrize("source", COURSE, ids=lambda s: s.stem)
def test_headings_say_what_is_below_them(source):
    headings = [found for text in texts(source) for found in re.findall(r"^## (.*)", text, re.MULTILINE)]
    assert [heading for heading in headings if heading in GENERIC] == []


@pytest.mark.parametrize("source", COURSE, ids=lambda s: s.stem)
def test_no_cell_lays_out_a_figure(source):
    """Plots go through autograd_lab.course.plots: a cell shows its lesson."""
    cells = build.read_source(source)["cells"]
    assert [c["source"] for c in cells if c["cell_type"] == "code" and "plt." in c["source"]] == []
