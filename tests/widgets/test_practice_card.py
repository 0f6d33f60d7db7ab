"""The card of `lab.practice`: what the page gets, what it may not show too early, and who decides which question is next."""

import base64
import json
import re
import shutil
import subprocess
import zlib

import pytest

from autograd_lab import lab
from autograd_lab.course.practice import NOTEBOOKS, pack, session
from autograd_lab.widgets import practice as cards
from autograd_lab.widgets.front import ASSETS, joined
from autograd_lab.widgets.practice_card import Card
from autograd_lab.widgets.svg import palette

NODE = shutil.which("node")


def opened(card):
    return json.loads(base64.b64decode(card.question))


def test_its_colors_are_the_steppers():
    pairs = set(re.findall(r"light-dark\((#\w+), (#\w+)\)", (ASSETS / "practice.css").read_text("utf-8")))
    known = {(palette()[name], palette(dark=True)[name]) for name in palette()}
    assert pairs
    assert pairs <= known


def test_python_sends_the_next_question_once():
    """Two views of one card hear of the same answer, and say so both."""
    p = lab.practice("04", seed=7)
    card = Card(p)
    first = opened(card)
    assert (first["n"], first["level"], first["right"]) == (0, 1, 0)
    card._answered(None, {"n": 0, "right": True}, [])
    card._answered(None, {"n": 0, "right": True}, [])
    second = opened(card)
    assert (second["n"], second["level"], second["right"], second["streak"]) == (1, 1, 1, 1)
    assert p.n == 1
    assert second["code"] == p.question.program.code
    card._answered(None, {"n": 1, "right": True}, [])
    assert opened(card)["level"] == 2


def test_a_message_of_another_kind_changes_nothing():
    card = Card(lab.practice("04", seed=7))
    before = card.question
    card._answered(None, {}, [])
    assert card.question == before


def test_a_page_does_not_tell_the_answer():
    """Neither the still form nor what a page holds for its script."""
    p = lab.practice("06", seed=3)
    while p.question.kind != "shared":
        p.note(True)
    why = p.question.parts[0].why
    words = re.sub(r"`", "", why)
    for page in (cards.still(p), cards.on_page(p, pack.packed(p)), Card(p).question, repr(p)):
        assert words not in re.sub(r"</?code>", "", page)
        assert why not in page
    levels = json.loads(zlib.decompress(base64.b64decode(cards.pack([[p.question]]))))
    assert words in re.sub(r"</?code>", "", levels[0][0]["parts"][0]["why"])


def test_a_pack_is_light():
    """All pages of the site hold their packs, and a page has little room."""
    sizes = {
        number: len(cards.pack(pack.packed(lab.practice(number, seed=int(number)))))
        for number in ("02", "04", "07", "12")
    }
    assert max(sizes.values()) < 48_000, sizes


def test_what_is_stored_is_the_same_every_time():
    for number in NOTEBOOKS:
        one, two = (cards.still(lab.practice(number, seed=int(number))) for _ in range(2))
        assert one == two
        assert "<script" not in one


def test_its_graph_is_told_in_words():
    p = lab.practice("04", seed=7)
    data = cards.plain(p.question)
    assert data["graph"].startswith("<svg")
    assert data["alt"].startswith("The graph: b from a and 5; c from b and 4")
    assert f'alt="{data["alt"]}"' in cards.still(p)
    p = lab.practice("01", seed=7)
    assert cards.plain(p.question)["graph"] == ""


@pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")
def test_the_page_goes_from_level_to_level_as_python_does(tmp_path):
    """The rule, and what a pack gives for it: each question once, at the level or the nearest one that has any left."""
    cases = [(level, run, right) for level in range(1, 6) for run in range(3) for right in (True, False)]
    levels = [[{"code": f"{level} {i}"} for i in range(2)] for level in range(1, 6)]
    answers = [True] * 8 + [False] * 3
    (tmp_path / "test.mjs").write_text(
        f"""{joined(("practice.js",))}
        const source = fromPack({json.dumps(levels)}), seen = [source.first];
        for (const right of {json.dumps(answers)}) seen.push(await source.after(right));
        console.log(JSON.stringify([{json.dumps(cases)}.map((one) => following(...one)), seen]));""",
        encoding="utf-8",
    )
    done = subprocess.run([NODE, "test.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rule, seen = json.loads(done.stdout)
    assert rule == [list(session.following(*case)) for case in cases]
    assert [one["level"] for one in seen] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 4, 3, 2]
    codes = [one["code"] for one in seen]
    assert codes[:9] == ["1 0", "1 1", "2 0", "2 1", "3 0", "3 1", "4 0", "4 1", "5 0"]
    assert codes[9] == "5 1"  # level 4 has none left
    assert [one["again"] for one in seen] == [False] * 10 + [True] * 2
    assert codes[10] == "3 0"
    assert [one["streak"] for one in seen] == [*range(9), 0, 0, 0]
