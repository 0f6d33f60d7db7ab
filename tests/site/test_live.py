"""Live steppers in a page: their data, their still form, and the one front end that opens them. Pages are run in tests/browser."""

import json
import re
import shutil
import subprocess

import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.site import live
from autograd_lab.site.pages import Site
from autograd_lab.widgets import export


def site() -> Site:
    made = Site()
    made.add_frame()
    live.add_front_end(made)
    return made


def test_a_page_holds_the_data_of_its_stepper_and_loads_the_front_end_once():
    made, shown = site(), lab.step(samples.scalar())
    body = live.stepper(made, "a/b.html", shown, label='of "x"')
    made.page("a/b.html", "B", body + live.stepper(made, "a/b.html", lab.step(samples.diamond())))
    made.page("a/c.html", "C", "<p>no stepper</p>")
    text = made.files["a/b.html"].decode()
    (data, _) = map(json.loads, re.findall(r'<script type="application/json">(.*?)</script>', text))
    assert data == export.traits(shown) | {"_still": ""}
    assert data["_film"]
    assert text.count("../assets/stepper.js") == text.count("../assets/stepper.css") == 1
    assert "stepper.js" not in made.files["a/c.html"].decode()
    assert [
        path for path in ("a/b.html", "a/c.html") if "JavaScript is off" in made.files[path].decode()
    ] == ["a/b.html"]
    assert 'aria-label="of &quot;x&quot;"' in body
    assert "what happens" in body  # the steps as a table, for those who have no scripts
    assert made.broken_links() == []


def test_large_data_and_pictures_are_files_of_their_own(monkeypatch):
    monkeypatch.setattr(live, "APART", 1000)
    made = site()
    made.page("a/b.html", "B", live.stepper(made, "a/b.html", lab.step(samples.diamond())))
    (path,) = re.findall(r'data-stepper="\.\./(data/\w+\.json)"', made.files["a/b.html"].decode())
    assert json.loads(made.files[path])["_film"]
    (picture,) = re.findall(r'loading="lazy" src="\.\./(data/\w+\.svg)"', made.files["a/b.html"].decode())
    assert made.files[picture].startswith(b"<svg")
    assert len(made.files["a/b.html"]) < 6000
    assert made.broken_links() == []


def test_the_values_of_a_slider_are_a_file_that_is_loaded_when_it_is_moved():
    made, s = site(), lab.step(lambda x: x * 3, torch.tensor(2.0, requires_grad=True))
    carried = s.carried(None, 100_000)
    made.page("a/b.html", "B", live.placed(made, "a/b.html", export.traits(s) | carried, s.still()))
    text = made.files["a/b.html"].decode()
    (data,) = map(json.loads, re.findall(r'<script type="application/json">(.*?)</script>', text))
    assert "_slides" not in data
    assert made.files[data["_slides_at"].removeprefix("../")].decode() == carried["_slides"]


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_front_end_is_one_module(tmp_path):
    (tmp_path / "stepper.mjs").write_text(live.module(), encoding="utf-8")
    done = subprocess.run(
        ["node", "--check", "stepper.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert set(re.findall(r"^export (?:async )?function (\w+)", live.module(), re.M)) == {"open", "openAll"}


def test_no_widget_is_left_to_be_closed_as_python_ends():
    shown = lab.step(samples.scalar())
    live.stepper(site(), "index.html", shown)
    assert shown.comm is None
    assert shown.layout.comm is None
