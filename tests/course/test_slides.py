"""Slides of a notebook: what stands together, what is covered, what fits; and what stops the command."""

from pathlib import Path

import nbformat
import pytest

from autograd_lab import cli
from autograd_lab.course import projector, slides

EMBEDDED = '<div class="agl-embed"><iframe sandbox="allow-scripts" srcdoc="the page"></iframe></div>'


def text(source, *tags):
    return nbformat.v4.new_markdown_cell(source, metadata={"tags": list(tags)})


def code(source, *outputs):
    return nbformat.v4.new_code_cell(source, outputs=list(outputs))


def printed(words):
    return nbformat.v4.new_output("stream", name="stdout", text=words)


def shown(**data):
    return nbformat.v4.new_output("display_data", data={k.replace("_", "/"): v for k, v in data.items()})


def arranged(*cells):
    """(slide type, source) of each cell of the deck."""
    return [
        (cell.metadata.slideshow.slide_type, cell.source)
        for cell in slides.arranged([*slides.pieces([*cells])])
    ]


def test_a_heading_begins_a_slide_wherever_it_stands_in_its_cell():
    book = text("# Title\n\nWords.\n\n- one\n- two"), text("More.\n\n## Predict\n\nWhich?")
    assert arranged(*book) == [
        ("slide", "# Title\n\nWords."),
        ("-", "- one\n- two"),
        ("-", "More."),
        ("slide", "## Predict\n\nWhich?"),
    ]


def test_a_block_of_code_in_a_text_is_one_block_and_its_comments_are_no_headings():
    assert [*slides.blocks("Look:\n\n```python\n# no heading\n\nx = 1\n```\n\nDone.")] == [
        "Look:",
        "```python\n# no heading\n\nx = 1\n```",
        "Done.",
    ]


def test_a_refutation_comes_sentence_by_sentence_and_stays_together():
    box = "> **You may think** so.\n>\n> **That is not what happens.** No.\n>\n> **Here it is.**"
    long = ("word " * 220).strip()
    assert arranged(text(f"## Long\n\n{long}"), text(box)) == [
        ("slide", f"## Long\n\n{long}"),
        ("subslide", "> **You may think** so."),
        ("fragment", "> **That is not what happens.** No."),
        ("fragment", "> **Here it is.**"),
    ]


def test_the_instructor_s_cell_is_a_speaker_note_of_the_slide_before():
    book = text("# Title\n\nWords."), text("Ask them.", "instructor"), text("## Next\n\nMore.")
    assert [kind for kind, _ in arranged(*book)] == ["slide", "notes", "slide"]


def test_what_a_cell_prints_is_covered_and_goes_to_the_next_slide_where_it_does_not_fit():
    (small,) = slides.pieces([code("lab.reveal(prediction, 96)", printed("It is 96.\n"))])
    assert small.cell.metadata.covered
    assert small.cell.outputs[0].text == "It is 96.\n"
    first, second = slides.pieces([code("x = 1\n" * 14, printed("line\n" * 12))])
    assert not first.cell.outputs
    assert second.cell.source == ""
    assert first.height + second.height > slides.HEIGHT


@pytest.mark.parametrize("big", [{"text_html": EMBEDDED}, {"image_png": "..."}, {"image_svg+xml": "<svg/>"}])
def test_a_stepper_and_a_picture_have_a_slide_of_their_own(big):
    book = code("look()", printed("seen\n"), shown(**big)), text("After it.")
    assert [kind for kind, _ in arranged(text("Look."), *book)] == ["subslide", "-", "subslide", "subslide"]
    _, alone, _ = slides.pieces([*book])
    assert alone.cell.metadata.transient.remove_source
    assert [output.output_type for output in alone.cell.outputs] == ["display_data"]


def test_a_stepper_waits_for_its_slide_and_gives_the_keys_back():
    (alone,) = slides.pieces([code("lab.step(trace).last()", shown(text_html=EMBEDDED))])
    html = alone.cell.outputs[0].data["text/html"]
    assert ' data-srcdoc="the page"' in html
    assert '<button class="keys"' in html


def test_more_text_than_fits_goes_on_on_the_next_slide():
    paragraphs = [f"{number} " + "word " * 100 for number in range(6)]
    kinds = [kind for kind, _ in arranged(text("\n\n".join(paragraphs)))]
    assert kinds.count("subslide") >= 2
    room = 0.0
    for piece, kind in zip(slides.pieces([text("\n\n".join(paragraphs))]), kinds, strict=True):
        room = (0 if kind == "subslide" else room) + piece.height
        assert room <= slides.HEIGHT


def test_formulas_are_pictures_and_code_is_left_alone():
    html = slides.pictures_of_math(r"the slope of `a$b$` is $\frac{1}{2\sqrt{x}}$")
    assert html.startswith('the slope of `a$b$` is <img class="math" alt="\\frac{1}{2\\sqrt{x}}" src="data:')


def test_the_picture_at_the_end_is_in_the_page():
    """And the words for those who do not see it."""
    notebooks = Path(__file__).parents[2] / "notebooks"
    page = slides.with_pictures("1. One.\n\n![A circle.](pictures/13.svg)\n\n- [Next](14.ipynb)", notebooks)
    assert '<img class="drawn" alt="A circle." src="data:image/svg+xml;base64,' in page
    assert page.endswith("- [Next](14.ipynb)")
    assert slides.text_height(page) > slides.PICTURE


def test_the_truth_is_told_without_a_prediction(capsys):
    projector.tell(..., [1.0, 2.5])
    assert capsys.readouterr().out == "It is [1, 2.5].\n"
    assert projector.tell({"w": ..., "k": ...}, {"w": [True, 1.0], "k": "None"}, "07.i")
    told = capsys.readouterr().out.splitlines()
    assert told[:3] == [
        "w: [True, 1]",
        "k: 'None'",
        "You may think `w = w - lr * w.grad` updates the parameter.",
    ]
    assert max(map(len, told)) <= slides.CODE_WIDTH


def test_what_stops_the_command(tmp_path, capsys):
    assert slides.main(["04", "--reveal", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "is not a copy of reveal.js: it has no dist/reveal.css" in said
    assert "npm pack reveal.js" in said
    assert not (tmp_path / "out").exists()
    assert cli.main(["slides", "99"]) == 2
    assert "no source for 99; there are 00, 01" in capsys.readouterr().err
    assert slides.main(["04", "99", "--out", str(tmp_path)]) == 2  # not left out without a word


def test_a_cell_that_fails_is_named(tmp_path, capsys):
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "notebooks" / "90_broken.py").write_text("# %% [markdown]\n# # Broken\n\n# %%\n1 / 0\n")
    assert slides.main(["90", "--root", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "90_broken.py: a cell did not run" in said
    assert "ZeroDivisionError" in said


def test_a_script_in_a_page_does_not_end_at_its_own_text(tmp_path):
    for name in slides.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text('const page = "<script></script>";')
    assert slides.load(tmp_path)["scripts"].count("</script>") == 2
    assert (
        slides.load(None)["scripts"].count(f'src="https://cdn.jsdelivr.net/npm/reveal.js@{slides.REVEAL}/')
        == 2
    )
