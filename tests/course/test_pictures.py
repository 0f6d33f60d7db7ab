"""The pictures at the end of the notebooks: as they are drawn, in both themes, and nothing is outside the frame."""

import re
from pathlib import Path

import pytest

from autograd_lab.course import contents, pictures

FOLDER = Path(__file__).parents[2] / "notebooks" / "pictures"
every_picture = pytest.mark.parametrize("number", contents.TITLES)


def test_every_notebook_has_one():
    assert [*pictures.PICTURES] == [*contents.TITLES]
    assert sorted(path.name for path in FOLDER.iterdir()) == [f"{number}.svg" for number in contents.TITLES]


@every_picture
def test_the_file_is_what_is_drawn(number):
    stored = (FOLDER / f"{number}.svg").read_text(encoding="utf-8")
    assert stored == pictures.PICTURES[number]().svg(), "run python -m autograd_lab.course.pictures"
    assert len(stored) < 8_000


@every_picture
def test_its_words_are_inside(number):
    drawing = pictures.PICTURES[number]()
    for x, y, look, words in re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)"(?: class="([\w ]+)")?>(.*?)</text>', drawing.svg()
    ):
        wide = 8.5 * len(words)  # at most, of the fonts that are asked for
        left = float(x) - (0 if "left" in look else wide / 2)
        assert left >= 0, words
        assert left + wide <= drawing.width, words
        assert 10 < float(y) < drawing.height - 4, words


@every_picture
def test_every_look_has_a_color_in_both_themes(number):
    svg = pictures.PICTURES[number]().svg()
    light, dark = re.search(r"<style>(.*)@media \(prefers-color-scheme:dark\){(.*)}</style>", svg).groups()
    used = {look for looks in re.findall(r'class="([\w\- ]+)"', svg) for look in looks.split()}
    for sheet in (light, dark):
        assert {look for look in used if f".{look}" not in sheet} == set()
    assert set(re.findall(r"#\w{6}", light)) & set(re.findall(r"#\w{6}", dark)) == set()
