"""What is kept of a stepper: pages, pictures, moving pictures. Pages are run by a browser in tests/browser."""

import html
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import samples
from PIL import Image

from autograd_lab import lab
from autograd_lab.tracing import narrate
from autograd_lab.widgets import export, shown, step
from autograd_lab.widgets.raster import Raster
from autograd_lab.widgets.scene import scene
from autograd_lab.widgets.svg import moved, palette, svg
from autograd_lab.widgets.themed import themed


def films(page: str) -> list[dict]:
    """The data of each stepper in a page."""
    return [json.loads(text) for text in re.findall(r'<script type="application/json">(.*?)</script>', page)]


def test_a_page_holds_all_it_needs(tmp_path):
    s = step(samples.diamond()).goto(16)
    s.save_html(tmp_path / "demo.html")
    page = (tmp_path / "demo.html").read_text(encoding="utf-8")
    assert not re.search(r"""(?:src|href)=["'](?!data:)|\burl\(|@import|https?://(?!www\.w3\.org/)""", page)
    (data,) = films(page)
    assert data["_film"] == s._film
    assert (data["position"], data["by"]) == (16, "event")
    assert "Content-Security-Policy" in page


def test_save_html_is_found_where_it_was():
    assert (export.save_html, export.Embedded) == (shown.save_html, shown.Embedded)
    with pytest.raises(AttributeError, match="no attribute 'save_png'"):
        _ = export.save_png


def test_several_steppers_in_a_page(tmp_path):
    first, second = step(samples.diamond()), step(samples.mlp())
    lab.save_html(tmp_path / "both.htm", first, second)
    assert [data["_film"] for data in films((tmp_path / "both.htm").read_text(encoding="utf-8"))] == [
        first._film,
        second._film,
    ]


def test_nothing_in_a_trace_can_leave_its_place_in_the_page(tmp_path):
    trace = replace(samples.scalar(), title="</title></script><script>alert(1)</script>\"'>")
    trace.tensors[0]["name"] = "</script><b>"
    s = step(trace)
    s.save_html(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<b>" not in page.split("<noscript>")[1].split("</noscript>")[0]
    assert films(page)[0]["_film"] == s._film
    inside = re.search(r'srcdoc="([^"]*)"', s.embed()._repr_html_())[1]
    assert films(html.unescape(inside))[0]["_film"] == s._film


def test_a_comparison_is_kept_the_same_ways(tmp_path):
    two = lab.compare(samples.diamond(), samples.scalar(), labels=("one", "<other>"))
    two.save_html(tmp_path / "two.html")
    page = (tmp_path / "two.html").read_text(encoding="utf-8")
    assert "<h1>one and &lt;other&gt;</h1>" in page
    assert films(page)[0]["_films"] == two._films
    lab.save_html(tmp_path / "both.html", step(samples.scalar()), two)
    assert len(films((tmp_path / "both.html").read_text(encoding="utf-8"))) == 2
    beside = re.sub(r"<iframe.*?</iframe>", "", two.embed()._repr_html_(), flags=re.S)
    assert beside.count("data:image/svg+xml") == 2


def test_a_page_is_replaced_when_saved_again(tmp_path):
    path = tmp_path / "demo.html"
    step(samples.mlp()).save_html(path)
    step(samples.scalar()).save_html(str(path))
    assert films(path.read_text(encoding="utf-8"))[0]["_film"] == step(samples.scalar())._film


def test_an_embedded_stepper_stands_beside_its_picture():
    s = step(samples.diamond())
    out = s.embed(height=500)
    text = out._repr_html_()
    assert repr(out) == "Embedded(b*c with c = 3b, b = a*a: 35 steps, forward and backward, 4 nodes)"
    assert text == s.embed(height=500)._repr_html_()
    assert 'sandbox="allow-scripts"' in text
    assert 'height="500"' in text
    without_frame = re.sub(r"<iframe.*?</iframe>", "", text, flags=re.S)
    assert "<img alt=" in without_frame
    assert without_frame.count("<tr>") == 36


@pytest.mark.parametrize(
    ("method", "path", "error", "message"),
    [
        (
            "save_html",
            "a.svg",
            ValueError,
            "writes .html or .htm files, and 'a.svg' does not end so: use 'a.html'",
        ),
        ("save_svg", "a", ValueError, "use 'a.svg'"),
        ("save_png", "a.jpg", ValueError, "use 'a.png'"),
        ("save_gif", "a.png", ValueError, "use 'a.gif'"),
        ("save_html", "nowhere/a.html", FileNotFoundError, "no folder 'nowhere' to write 'a.html' into"),
        ("save_png", ".", IsADirectoryError, "'.' is a folder"),
        ("save_gif", 3, TypeError, "writes to a path, such as 'graph.gif', not int"),
    ],
)
def test_bad_paths(tmp_path, monkeypatch, method, path, error, message):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=re.escape(message)):
        getattr(step(samples.scalar()), method)(path)
    assert not list(tmp_path.iterdir())


def test_bad_steps(tmp_path):
    s = step(samples.scalar())
    with pytest.raises(ValueError, match=r"no step 33: this trace has steps 0 .* to 32"):
        s.save_png(tmp_path / "a.png", 33)
    with pytest.raises(TypeError, match="whole number of events, not str"):
        s.save_svg(tmp_path / "a.svg", "last")
    with pytest.raises(ValueError, match='"node", "event" or the numbers'):
        s.save_gif(tmp_path / "a.gif", steps="nodes")
    with pytest.raises(ValueError, match="steps is empty"):
        s.save_gif(tmp_path / "a.gif", steps=[])
    with pytest.raises(ValueError, match="more than 0, not 0"):
        s.save_gif(tmp_path / "a.gif", seconds=0)
    with pytest.raises(ValueError, match="a GIF of 1402 pictures, 1000 at most"):
        step(samples.chain(200)).save_gif(tmp_path / "a.gif", steps="event")
    with pytest.raises(TypeError, match="not Trace: make one with"):
        lab.save_html(tmp_path / "a.html", samples.scalar())
    with pytest.raises(ValueError, match="needs a stepper"):
        lab.save_html(tmp_path / "a.html")
    assert not list(tmp_path.iterdir())


def test_pictures_show_the_step_on_screen(tmp_path):
    s = step(samples.diamond())
    s.save_svg(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == themed(s.film)
    s.goto(16).save_svg(tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == themed(s.film, 16)
    s.save_svg(tmp_path / "a.svg", step=0)
    assert (tmp_path / "a.svg").read_text(encoding="utf-8") == themed(s.film, 0)


def test_the_node_at_work_stands_out():
    s = step(samples.diamond())
    color = palette()
    for k, name in [(s.film["stops"][0], "blue"), (16, "verm")]:
        marked = re.findall(r'<ellipse [^>]*fill="(#\w+)" stroke="(#\w+)" stroke-width="2.8"', svg(s.film, k))
        assert marked == [(color[f"{name}-tint"], color[name])]
    assert "2.8" not in svg(s.film)


@pytest.mark.parametrize("name", list(samples.SMALL))
def test_every_picture_can_be_drawn_without_a_browser(tmp_path, name):
    s = step(samples.SMALL[name]())
    s.save_png(tmp_path / "a.png", caption=False, scale=1)
    with Image.open(tmp_path / "a.png") as image:
        width, height = (n + 32 for n in scene(s.film)["size"])
        assert image.size == (round(width), round(height))
        assert image.mode == "RGB"


def test_the_pixels_are_where_the_drawing_says(tmp_path):
    """Outline, fill and gradient colours at places known from the film."""
    s = step(samples.diamond())
    s.save_png(tmp_path / "a.png", caption=False, scale=4)
    with Image.open(tmp_path / "a.png") as image:
        pixels = np.asarray(image)
    color = palette()

    def at(x, y):
        return "#{:02x}{:02x}{:02x}".format(*pixels[round((y + 16) * 4), round((x + 16) * 4)])

    where = scene(s.film)
    u, ux, uy = next(place for place in where["units"] if s.film["units"][place[0]]["node"] >= 0)
    unit = s.film["units"][u]
    _, x, y, w, h = moved(unit, ux, uy)[0]
    assert at(x + 6, y + 6) == color["soft"]
    assert at(x + w / 2, y) == color["outline"]
    assert at(x + w / 2, y + h) == color["outline"]
    cx, cy, ry = ux + unit["shape"][0], uy + unit["shape"][1], unit["shape"][3]
    assert at(cx, cy - ry + 3) == color["bg"]
    pill = where["backward"][0]["pill"]
    assert at(pill[0] - pill[2] / 2 + 5, pill[1]) == color["verm-tint"]
    assert at(2 - 16, 2 - 16) == color["bg"]


def test_what_the_renderer_does_not_know_it_refuses():
    for part in ("<polygon/>", '<path d="M0 0A1 1 0 0 0 2 2"/>'):
        with pytest.raises(ValueError, match="teach it"):
            Raster().picture(f'<svg viewBox="0 0 9 9">{part}</svg>')
    with pytest.raises(ValueError, match="scale is pixels per point"):
        Raster(0)


def frames(path: Path) -> list[tuple[int, np.ndarray]]:
    with Image.open(path) as image:
        found = []
        for i in range(image.n_frames):
            image.seek(i)
            found.append((image.info["duration"], np.asarray(image.convert("RGB"))))
        return found


def test_a_run_as_a_moving_picture(tmp_path):
    s = step(samples.scalar())
    s.save_gif(tmp_path / "run.gif", seconds=0.5, scale=1)
    shown = frames(tmp_path / "run.gif")
    assert len(shown) == len({0, *s.film["stops"], 32})
    assert [time for time, _ in shown] == [500] * (len(shown) - 1) + [1500]
    assert len({pixels.shape for _, pixels in shown}) == 1
    assert all((a != b).any() for (_, a), (_, b) in pairwise(shown))
    s.save_gif(tmp_path / "some.gif", steps=[3, 32], scale=1)
    assert len(frames(tmp_path / "some.gif")) == 2


def test_a_drawing_is_saved_as_svg_or_png(tmp_path):
    drawing = lab.draw(samples.diamond())
    drawing.save(tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text(encoding="utf-8") == drawing.svg
    drawing.save(tmp_path / "g.png")
    with Image.open(tmp_path / "g.png") as image:
        assert image.width > 700
    with pytest.raises(
        ValueError, match=r"writes .svg or .png files, and 'g.pdf' does not end so: use 'g.svg'"
    ):
        drawing.save("g.pdf")


def test_captions_are_broken_into_lines_that_fit():
    raster = Raster(1)
    words = narrate(samples.diamond(), 20)
    lines = raster.lines(0, words * 3, "20 / 35")
    assert " ".join(lines) == words * 3
    assert len(lines) > 2
    room = 460 - 3 * 16 - raster._width("20 / 35", 14)
    assert all(raster._width(line, 14) <= room for line in lines)
