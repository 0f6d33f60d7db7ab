"""The gallery: its programs do here what they do in PyTorch, and each page stands at the step that its lesson is about.

`python -m tests.record gallery` records what PyTorch 2.13.0 does in them.
"""

import contextlib
import io
import json
import linecache
import re
from pathlib import Path

import pytest
from each import each
from recorded import check_live, differences, plain, stored

from autograd_lab.ops.rule import RULES
from autograd_lab.site import gallery, live, play, programs, rulebook
from autograd_lab.site.options import Options
from autograd_lab.site.pages import Site

ROOT = Path(__file__).parents[2]
EXAMPLES = {example.name: example for example in gallery.examples()}


def facts(ran):
    """What a program printed, the warnings that it heard, its error, and the gradient of each of its leaves."""
    leaves = {
        name: x
        for name, x in ran.variables.items()
        if hasattr(x, "is_leaf") and x.is_leaf and x.requires_grad
    }
    return {
        "printed": ran.printed.splitlines(),
        "warned": [re.split(r"(?<=\.) (?=[A-Z])", one)[0] for one in ran.warned],
        "error": ran.error,
        "gradients": {name: plain(x.grad) for name, x in leaves.items()},
    }


def run_in(library, text):
    """Run a program with the library of this name as `torch`, such as PyTorch itself, and record nothing."""
    linecache.cache[programs.NAME] = len(text), None, text.splitlines(keepends=True), programs.NAME
    with programs.heard(library) as ran, contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            exec(compile(text, programs.NAME, "exec"), ran.variables)
        except Exception as error:
            ran.error = f"{type(error).__name__}: {error}"
    ran.printed = printed.getvalue()
    return ran


# What the recording of PyTorch runs: `torch` is the library in question.
PROGRAMS = {
    name: "\n".join(
        [
            "from test_gallery import facts, run_in",
            f"out.update(facts(run_in(torch.__name__, {example.source!r})))",
        ]
    )
    for name, example in EXAMPLES.items()
}
RECORDED = stored(__file__)


@pytest.fixture(scope="module")
def site():
    made = Site({gallery.INDEX: "Gallery", play.PAGE: "Playground"})
    made.add_frame()
    live.add_front_end(made)
    gallery.add(made, Options(ROOT))
    made.page(play.PAGE, "Playground", "")
    return made


def test_every_program_does_what_it_does_in_pytorch():
    assert list(RECORDED["results"]) == list(EXAMPLES), "python -m tests.record gallery"

    def check(name):
        assert not differences(facts(EXAMPLES[name].ran), RECORDED["results"][name])

    each(EXAMPLES, check)


def test_what_is_recorded_is_what_pytorch_does():
    check_live(RECORDED, PROGRAMS)


def test_every_program_is_short_and_says_what_it_teaches():
    assert len(EXAMPLES) >= 24
    assert [name[:2] for name in EXAMPLES] == [f"{i:02}" for i in range(1, len(EXAMPLES) + 1)]
    assert set(gallery.SECTIONS) <= {name[3:] for name in EXAMPLES}
    assert next(iter(EXAMPLES))[3:] in gallery.SECTIONS

    def check(example):
        lines = [line for line in example.source.splitlines() if line]
        assert lines[0] == "import torch"
        assert 4 <= len(lines) <= 15
        assert 2 <= len(re.findall(r"[.?:] |[.?]$", example.lesson)) <= 5
        assert (ROOT / "notebooks").glob(f"{example.notebook}_*.py")
        assert 0 < example.position <= len(example.trace)

    each(EXAMPLES.values(), check)


def test_a_step_is_found_by_what_happens():
    trace = programs.run(
        "import torch\nw = torch.ones(2, requires_grad=True)\n(w * 2).sum().backward()\n(w * 3).sum().backward()"
    ).trace
    kinds = [event["k"] for event in trace.events]
    assert gallery.step_of(trace, "end") == len(trace)
    assert gallery.step_of(trace, "seed") == kinds.index("seed") + 1
    first, second = (gallery.step_of(trace, f"accumulate w{nth}") for nth in ("", " 2"))
    assert [kinds[k - 1] for k in (first, second)] == ["accumulate"] * 2
    assert first < second
    assert trace.events[gallery.step_of(trace, "vjp MulBackward0") - 1]["k"] == "vjp"
    with pytest.raises(LookupError, match="no step 'accumulate v': the trace has 0 of them"):
        gallery.step_of(trace, "accumulate v")
    with pytest.raises(LookupError, match="has 2 of them"):
        gallery.step_of(trace, "accumulate w 3")


def test_a_first_comment_that_lacks_something_is_refused(tmp_path):
    (tmp_path / "01_x.py").write_text("# Title\n#\n# A lesson.\n#\n# step: end\n\nimport torch\n")
    with pytest.raises(ValueError, match="01_x.py: its first comment needs"):
        gallery.read(tmp_path / "01_x.py")


def test_programs_that_end_in_an_error_are_shown_there(site):
    failing = [example for example in EXAMPLES.values() if example.ran.error]
    assert len(failing) >= 5
    for example in failing:
        assert example.trace.events[example.position - 1]["k"] == "error"
        text = site.files[example.path].decode()
        assert "It ends with an error" in text
        assert example.ran.error.split(":")[0] in text
        lines = re.findall(r'File "(.*?)"', example.ran.traceback)
        assert set(lines) == {programs.NAME}


def test_pages_hold_no_path_of_this_machine(site):
    for path, data in site.files.items():
        if path.startswith(("gallery/", "data/")):
            assert str(ROOT).encode() not in data, path


def test_all_links_lead_somewhere_and_the_index_has_every_program(site):
    # The rule book is not built here: test_rule_book.py has an entry for each rule where `place_of` says.
    rules = {f"../{rulebook.place_of(name)}" for name in (*RULES, "AccumulateGrad", "CopySlices")}
    assert [x for x in site.broken_links() if x.split(": ")[1].split(" leads")[0] not in rules] == []
    assert any("../rules/" in x for x in site.broken_links())
    index = site.files[gallery.INDEX].decode()
    assert [name for name in re.findall(r'<a href="(\w+)\.html"', index) if name != "index"] == list(EXAMPLES)
    assert set(re.findall(r'src="pictures/(\w+)\.svg"', index)) == set(EXAMPLES)
    assert "prefers-color-scheme:dark" in site.files["gallery/pictures/01_one_line.svg"].decode()


def test_each_page_opens_its_program_in_the_playground_at_its_step(site):
    def check(example):
        text = site.files[example.path].decode()
        assert (
            f'href="../play/index.html{play.address(example.source, example.position)}"'.replace("&", "&amp;")
            in text
        )
        stored = json.loads(site.files[f"gallery/traces/{play.digest(example.source)}.json"])
        inside, apart = (
            re.search(what, text, re.S)
            for what in (r'<script type="application/json">(.*?)</script>', r"data/\w+\.json")
        )
        shown = json.loads(inside[1] if inside else site.files[apart[0]])
        assert shown["position"] == example.position
        assert stored["traits"]["_film"] == shown["_film"]

    each(EXAMPLES.values(), check)
    assert len([path for path in site.files if path.startswith("gallery/traces/")]) == len(EXAMPLES)


def test_what_lab_why_says_is_part_of_the_lesson(site):
    asked = [example for example in EXAMPLES.values() if example.why]
    assert len(asked) >= 12
    for example in asked:
        answer = example.trace.why(example.why)
        assert answer.cause not in ("as-computed", "unknown")
        assert f"<code>lab.why({example.why})</code>" in site.files[example.path].decode()
