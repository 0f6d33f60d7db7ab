"""The rule book: an entry for each rule, with what its docstring, its samples and its source say; and the rules of the course."""

import ast
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from each import each

from autograd_lab.ops.rule import RULES
from autograd_lab.site import live, programs, rulebook
from autograd_lab.site.options import Options
from autograd_lab.site.pages import Site
from autograd_lab.site.rule_examples import EXAMPLES
from autograd_lab.tracing.words import NAMES, WORDS

ROOT = Path(__file__).parents[2]
SLOW = {"04", "13", "14"}
"""Notebooks whose cells take seconds: the others tell whether course_rules.txt is out of date."""


@pytest.fixture(scope="module")
def site():
    made = Site({"rules/index.html": "Rules"})
    made.add_frame()
    live.add_front_end(made)
    rulebook.add(made, Options(ROOT))
    return made


class Entry(HTMLParser):
    """The parts of a rule's entry: {heading: text}, and its folds."""

    def __init__(self, site, name):
        super().__init__()
        text = site.files[rulebook.place_of(name).partition("#")[0]].decode()
        self.parts, self.head, self.inside = {}, "", ""
        self.feed(re.search(rf'<section class="rule" aria-labelledby="{name}".*?</section>', text, re.S)[0])

    def handle_starttag(self, tag, attributes):
        self.inside = tag
        if tag == "summary":
            self.head = ""

    def handle_endtag(self, tag):
        if tag == "dl":
            self.head = ""

    def handle_data(self, data):
        if self.inside == "dt":
            self.head = data
            self.inside = ""
        elif self.head:
            self.parts[self.head] = self.parts.get(self.head, "") + data


def test_all_links_lead_somewhere(site):
    assert site.broken_links() == []


def test_every_rule_has_an_entry_and_the_index_leads_there(site):
    index = site.files["rules/index.html"].decode()
    bases = []

    def check(name):
        page, _, fragment = rulebook.place_of(name).partition("#")
        text = site.files[page].decode()
        assert text.count(f' id="{fragment}"') == 1
        entry = re.search(rf'<section class="rule" aria-labelledby="{name}".*?</section>', text, re.S)[0]
        assert "<summary>Source" in entry
        if "it makes no node of its own" in entry:
            bases.append(name)
        else:
            assert f'href="{page.removeprefix("rules/")}#{name}"' in index
            assert "<dt>Forward</dt><dd><div" in entry
            assert "<dt>Backward</dt><dd><div" in entry or name == "AccumulateGrad"

    each([*RULES, "AccumulateGrad", "CopySlices"], check)
    assert len(bases) < 35
    assert {"Rule", "AddBackward0", "MaxBackward0"}.isdisjoint(bases)


def test_every_family_has_a_title_and_no_title_is_left_over(site):
    families = {rulebook.family_of(rule) for rule in RULES.values()} | {"engine"}
    assert set(rulebook.FAMILIES) == families
    assert {path for path in site.files if path.startswith("rules/")} == {
        f"rules/{family}.html" for family in (*families, "index")
    }


def test_an_entry_says_what_the_rule_says(site):
    parts = Entry(site, "MulBackward0").parts
    assert parts["Backward"] == "to a:g⋅bto b:g⋅aThe factors swap."
    assert {"torch.mul", "Tensor.mul", "Tensor.mul_"} <= set(parts["Functions"].split())
    assert parts["PyTorch"] == "torch.mul"
    assert parts["Saves"] == "each factor that the other's gradient needs"
    assert parts["Course"].startswith("notebooks 00, 01, 02")
    assert "torch.nn.functional.nll_loss" in Entry(site, "NllLossBackward0").parts["Functions"].split()


def test_an_entry_explains_the_words_that_nobody_can_look_up(site):
    parts = Entry(site, "MaxPool2DWithIndicesBackward0").parts
    assert f"max_pool_winners: {WORDS['max_pool_winners']}" in parts["Words"]
    assert NAMES["winners"] not in parts["Words"], "it is defined beside the formula"
    assert "Words" not in Entry(site, "MulBackward0").parts


def test_a_heading_that_a_rule_lacks_is_that_of_its_base():
    said = rulebook.told(RULES["ReflectionPad2DBackward0"])
    assert said.parts["VJP"] == rulebook.told(RULES["ReflectionPad1DBackward0"]).parts["VJP"]


def test_the_source_is_the_rules_own(site):
    file, line = re.search(r"Source: (\S+), line (\d+)", site.files["rules/pointwise.html"].decode()).groups()
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    assert lines[int(line) - 1].startswith("@")  # its decorator
    assert lines[int(line)].startswith("class ExpBackward0")
    made = site.files["rules/convolution.html"].decode()
    assert re.search(
        r'id="UpsampleNearest2DBackward0".*?Source of <code>UpsampleNearestBackward0</code>', made, re.S
    )


def test_no_page_is_heavy(site):
    weights = {path: len(data) for path, data in site.files.items() if path.startswith("rules/")}
    assert max(weights.values()) < 600_000, weights


def test_the_rules_of_the_course_are_those_that_its_notebooks_record(tmp_path):
    notebooks = [path for path in (ROOT / "notebooks").glob("*.ipynb") if path.name[:2] not in SLOW]
    assert len(notebooks) == 12
    program = "import sys; from pathlib import Path; from autograd_lab.site.rulebook import recorded_rules; "
    program += "print(dict(recorded_rules([Path(name) for name in sys.argv[1:]])))"
    # in a process of its own: notebooks change settings, and the shell of IPython is the process's
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, notebooks)], env=os.environ | {"MPLBACKEND": "agg"},
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    recorded = ast.literal_eval(done.stdout)
    noted = {
        name: tuple(nr for nr in numbers if nr not in SLOW)
        for name, numbers in rulebook.course_rules().items()
    }
    assert recorded == {name: numbers for name, numbers in noted.items() if numbers}, (
        "course_rules.txt is out of date: python -m autograd_lab.site.rulebook"
    )


def test_each_rule_of_the_course_has_a_program_that_uses_it(site):
    assert set(EXAMPLES) == set(rulebook.course_rules())

    def check(name):
        ran = programs.run(rulebook.program(name))
        assert not ran.error
        assert not ran.warned
        of = [n for n, node in enumerate(ran.trace.nodes) if node["name"].rpartition("::")[2] == name]
        assert of
        assert any(event.get("n") in of for event in ran.trace.events if event["k"] in ("vjp", "accumulate"))
        page = site.files[rulebook.place_of(name).partition("#")[0]].decode()
        assert re.search(rf'id="{name}"(?:(?!</section>).)*class="site-live"', page, re.S)

    each(EXAMPLES, check)
