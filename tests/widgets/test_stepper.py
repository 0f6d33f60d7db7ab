import base64
import json
import os
import re
import subprocess
import sys
import xml.dom.minidom
from pathlib import Path

import nbformat
import pytest
import samples

import autograd_lab
from autograd_lab.course.kernel import manager_of_files
from autograd_lab.grade.validate import PYTEST
from autograd_lab.tracing import narrate, state
from autograd_lab.widgets import draw, step
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.svg import svg
from autograd_lab.widgets.wire import decode


def test_twins_of_the_buttons():
    s = step(samples.diamond())
    assert repr(s) == "Stepper(forward 0/35)"
    assert repr(s.step()) == "Stepper(forward 1/35)"
    assert repr(s.step(15)) == "Stepper(backward 16/35: MulBackward0 #3)"
    assert s.narration == narrate(s.trace, 16)
    assert s.state == state(s.trace, 16)
    assert repr(s.back(2)) == "Stepper(backward 14/35: MulBackward0 #3)"
    assert s.last().position == 35
    assert s.step().position == 35
    assert s.first().position == 0
    assert s.back(3).position == 0
    assert s.goto(7).position == 7
    s.position = 99
    assert s.position == 35


def test_node_by_node():
    s = step(samples.diamond())
    visited = []
    while s.position < len(s.trace):
        visited.append(s.next_node().trace.events[s.position - 1]["k"])
    assert visited == ["node"] * 3 + ["backward"] + ["vjp"] * 3 + ["accumulate", "done"]
    back = 0
    while s.position > 0:
        s.previous_node()
        back += 1
    assert back == len(visited)


def test_what_is_shipped_is_the_film():
    s = step(samples.mlp())
    assert decode(s._film) == json.loads(json.dumps(film(s.trace)))


def test_the_output_is_the_same_every_time_and_holds_no_address():
    first, second = (step(samples.mlp())._repr_mimebundle_()[0] for _ in range(2))
    for mime in ("text/plain", "text/html"):
        assert first[mime] == second[mime]
        assert " at 0x" not in first[mime]
    assert first["application/vnd.jupyter.widget-view+json"]["model_id"]


def test_the_text_lists_the_steps():
    text = step(samples.scalar())._repr_mimebundle_()[0]["text/plain"].splitlines()
    assert text[0] == "Stepper(forward 0/32)"
    assert text[1] == "y = (2x + 1)**2: 32 steps, forward and backward, 4 nodes"
    assert text[-2] == "31  x.grad was None and is now 28."
    assert len(text) == 34


def test_long_traces_are_cut():
    s = step(samples.chain(100))
    assert s.to_text().splitlines()[-1] == f"... and {len(s.trace) - 200} more steps"
    assert s.to_html().count("<tr>") == 201


def test_the_html_survives_a_sanitizer():
    html = step(samples.diamond()).to_html()
    html = re.sub("^<style>.*?</style>", "", html)  # a sanitizer drops it
    assert set(re.findall(r"<(\w+)", html)) == {"div", "img", "details", "summary", "table", "tr", "th", "td"}
    data = re.search(r'src="data:image/svg\+xml;base64,([^"]+)"', html)[1]
    picture = base64.b64decode(data).decode()
    xml.dom.minidom.parseString(picture)
    assert ">96<" not in picture.split(".grad")[0]
    assert ".grad 96" in picture
    assert "MulBackward0 #3" in picture


def test_static_switch(monkeypatch):
    monkeypatch.setenv("AUTOGRAD_LAB_STATIC", "1")
    assert set(step(samples.scalar())._repr_mimebundle_()[0]) == {"text/plain", "text/html"}


def test_the_picture_can_show_any_step():
    doc = film(samples.diamond())
    start, half, end = (svg(doc, k) for k in (0, 8, 35))
    assert "MulBackward0" not in start
    assert "MulBackward0 #3" in half
    assert ".grad None" in half
    assert ".grad 96" in end
    for picture in (start, half, end):
        xml.dom.minidom.parseString(picture)


def test_a_huge_graph_gets_a_note_instead_of_a_picture():
    assert "too many for a still picture" in svg(film(samples.chain(400)))


def test_step_refuses_what_it_cannot_show():
    with pytest.raises(TypeError, match=r"takes a trace or a function, not int: run the code inside"):
        step(3)
    with pytest.raises(TypeError, match="takes no inputs"):
        step(samples.scalar(), 1)


def test_draw_a_trace(tmp_path):
    drawing = draw(samples.diamond())
    assert repr(drawing) == "Drawing(3 nodes, 1 leaf: MulBackward0 <- MulBackward0 <- MulBackward0)"
    drawing.save(tmp_path / "g.svg")
    assert (tmp_path / "g.svg").read_text(encoding="utf-8") == drawing._repr_svg_()
    assert set(drawing._repr_mimebundle_()) == {"text/plain", "text/html", "image/svg+xml"}


def test_draw_the_graph_behind_a_loss():
    import autograd_lab as torch

    w, b = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(0.5, requires_grad=True)
    x = torch.tensor([3.0, 4.0])
    drawing = draw(((w * x).sum() + b) ** 2, params={"w": w, "b": b})
    assert (
        repr(drawing)
        == "Drawing(4 nodes, 2 leaves: PowBackward0 <- AddBackward0 <- SumBackward0 <- MulBackward0)"
    )
    for text in (">w<", ">b<", "MulBackward0", "SumBackward0", "AccumulateGrad", ">132.2<"):
        assert text in drawing.svg
    with pytest.raises(ValueError, match="grad_fn None"):
        draw(x)


@pytest.mark.parametrize("made", ["Sequential", "ParameterList", "ModuleList", "ParameterDict"])
def test_draw_knows_parameters_that_are_called_by_numbers(made):
    """Names such as "0.weight" and "0" are those of a module's parameters, not numbers the user wrote."""
    import autograd_lab as torch

    w = torch.nn.Parameter(torch.tensor(2.0))
    module = {
        "Sequential": lambda: torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)),
        "ParameterList": lambda: torch.nn.ParameterList([w, torch.ones(2)]),
        "ModuleList": lambda: torch.nn.ModuleList([torch.nn.Linear(1, 1)]),
        "ParameterDict": lambda: torch.nn.ParameterDict(
            {"1e5": w, "-1": torch.ones(3), "inf": torch.ones(())}
        ),
    }[made]()
    names = dict(module.named_parameters())
    drawing = draw(sum((p * p).sum() for p in names.values()), params=names)
    assert [name for name in names if f">{name}<" not in drawing.svg] == []


def test_draw_refuses_what_has_no_graph():
    import autograd_lab as torch

    leaf = torch.tensor(2.0, requires_grad=True)
    for what, error, says in (
        (3, TypeError, "not int"),
        (leaf, ValueError, "it is a leaf"),
        (leaf.detach(), ValueError, "nothing that led to it requires a gradient"),
    ):
        with pytest.raises(error, match=says):
            draw(what)


def test_draw_real_pytorch():
    torch = pytest.importorskip("torch")
    w = torch.tensor(2.0, requires_grad=True)
    assert repr(draw(w * w, params={"w": w})) == "Drawing(1 node, 1 leaf: MulBackward0)"


def test_step_a_function():
    import autograd_lab as torch

    x = torch.tensor(3.0, requires_grad=True)
    s = step(lambda t: (2 * t + 1) ** 2, x)
    assert x.grad.item() == 28
    assert (
        s.last().narration == "The queue is empty: the backward pass is complete, and 1 leaf has its .grad."
    )


def test_anywidget_is_loaded_when_a_stepper_is_made():
    code = (
        "import sys, autograd_lab.widgets as w\n"
        "heavy = {'anywidget', 'ipywidgets', 'IPython', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "w.Stepper\n"
        "assert 'anywidget' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)


@pytest.mark.slow
def test_nbval_accepts_a_notebook_that_shows_a_stepper(tmp_path):
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    code = [
        "import autograd_lab as torch\nfrom autograd_lab import lab\na = torch.tensor(2.0, requires_grad=True)",
        "with lab.record() as trace:\n    b = a * a\n    d = b * (b * 3)\n    d.backward()\nlab.step(trace)",
        "lab.draw(d, params={'a': a})",
        "s = lab.step(lambda a: a * a, torch.tensor(3.0, requires_grad=True), predict=True)\nprint(s.predict(9), s.predict(3))\ns",
        "s = lab.step(lambda a: a * a, a, mode='engine')\nprint(s.choose('Mul'), s.send(2, 1), s.score)\ns.edit('a', 5)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in code])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    NotebookClient(book, km=manager_of_files(AsyncKernelManager), timeout=300, startup_timeout=300).execute(
        cleanup_kc=True
    )
    still, live = book.cells[1].outputs
    assert set(still["data"]) == {"text/plain", "text/html"}
    assert live["data"].pop("application/vnd.jupyter.widget-view+json")
    assert live["data"] == {"text/html": "", "text/plain": ""}
    path = tmp_path / "book.ipynb"
    nbformat.write(book, path)
    done = subprocess.run(
        [sys.executable, "-c", PYTEST, "--nbval", "--nbval-current-env", "-q", "-p", "no:cacheprovider",
         "--rootdir", str(tmp_path), "-c", "/dev/null", str(path)],
        capture_output=True, text=True, timeout=600, cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(autograd_lab.__file__).parents[1])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
