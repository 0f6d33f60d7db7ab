"""The site's frame, its links, and what the command says about a folder that it must not write into."""

import pytest

from autograd_lab.site import build
from autograd_lab.site.pages import Site


def site() -> Site:
    made = Site({"index.html": "Start"})
    made.add_frame()
    made.page("index.html", "Start", '<a href="rules/a.html#one">a</a>')
    made.page("rules/a.html", "A", '<p id="one"></p><a href="../">back</a><a href="#content">text</a>')
    return made


def test_links_that_lead_somewhere():
    assert site().broken_links() == []


@pytest.mark.parametrize(
    "link", ["b.html", "../rules/", "#two", "../index.html#two", "/index.html", "../../index.html"]
)
def test_a_link_that_leads_nowhere_is_named(link):
    made = site()
    made.page("rules/c.html", "C", f'<a href="{link}">there</a>')
    assert len(made.broken_links()) == 1
    assert "rules/c.html" in made.broken_links()[0]
    assert link in made.broken_links()[0]


def test_two_parts_may_not_write_the_same_file():
    made = site()
    with pytest.raises(ValueError, match="two parts of the site write 'assets/site.css'"):
        made.add("assets/site.css", "body {}")


def test_a_folder_with_something_else_is_left_alone(tmp_path, capsys):
    (tmp_path / "thesis.tex").write_text("years of work")
    assert build.main([str(tmp_path)]) == 2
    assert "would be lost" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]
