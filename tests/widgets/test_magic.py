"""`%%step` in a real kernel: one notebook, run once; each test looks at a cell of it."""

import re
import sys
import types

import nbformat
import pytest

import autograd_lab
from autograd_lab import lab
from autograd_lab.course.kernel import manager_of_files
from autograd_lab.widgets import magic

CELLS = {
    "setup": "import autograd_lab as torch\nfrom autograd_lab import lab\na = torch.tensor(2.0, requires_grad=True)",
    "walk": "%%step walk --by node --title 'my cell'\nb = a * a\nprint('hi')\nd = b * 3\nd.backward()\na.grad",
    "seen": "walk.trace.sources, walk.by, walk.trace.title, [t['name'] for t in walk.trace.tensors], b, _",
    "again": "%%step failed\nc = a * 3\nd.backward()\nprint('never')",
    "after": "failed, failed.trace.events[-1]['k'], failed.trace.events[-1]['src'], c",
    "unparsable": "%%step\nc = 5\nx = 1 +\n",
    "silent": "%%step\n# a comment; with a semicolon\na * 2;  # and another",
    "nothing": "%%step\n1 + 1",
    "fails before": "%%step\n1 / 0\na * 2",
    "inside": "%%step\nwith lab.record():\n    a * a",
    "by": "%%step --by x\nz = 1",
    "at": "%%step --at first\nz = 1",
    "kind": "%%step --predict value,vaule\nz = 1",
    "name": "%%step 3a\nz = 1",
    "none ran": "'z' in globals(), c",
    "end": "%%step --at end\ndef f(x):\n    return x * x\nf(a).backward()",
    "asks": "%%step quiz --predict value\na * a",
    "asked": "quiz.mode, quiz.question",
    "transformed": "%%step\n%time a * 2",
    "real": "%%step real --torch\nimport torch as t\nr = t.tensor(3.0, requires_grad=True)\n(r * r).backward()\nr.grad",
    "load": "%load_ext autograd_lab\n%load_ext autograd_lab",
    "loaded": "%%step\nimport autograd_lab\n(autograd_lab.ones(2, requires_grad=True) * 2).sum().backward()",
}
WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture(scope="module")
def outputs():
    """The outputs of each cell, by its name."""
    from jupyter_client.manager import AsyncKernelManager
    from nbclient import NotebookClient

    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in CELLS.values()])
    book.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    NotebookClient(
        book, km=manager_of_files(AsyncKernelManager), timeout=300, startup_timeout=300, allow_errors=True
    ).execute(cleanup_kc=True)
    return {name: cell.outputs for name, cell in zip(CELLS, book.cells, strict=True)}


def text(output) -> str:
    """What an output says, without colours."""
    if output.output_type == "stream":
        return output.text
    if output.output_type == "error":
        return re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
    return output["data"].get("text/plain", "")


def test_the_cell_shows_what_it_always_shows_and_then_the_stepper(outputs):
    printed, value, still, live = outputs["walk"]
    assert printed.text == "hi\n"
    assert (value.output_type, value.execution_count, text(value)) == ("execute_result", 2, "tensor(12.)")
    assert text(still).startswith(
        "Stepper(forward 0/26)\nmy cell: 26 steps, forward and backward, 3 nodes\n 1  a is a leaf"
    )
    assert WIDGET in live["data"]


def test_it_records_the_cells_own_lines_and_names(outputs):
    shown = text(outputs["seen"][0])
    assert "'name': 'cell 2'" in shown
    for number, line in [(2, "b = a * a"), (4, "d = b * 3"), (5, "d.backward()")]:
        assert re.search(rf"'{number}': '{re.escape(line)}'", shown)
    assert "['a', 'b', '3', 'd']" in shown
    assert "'node'" in shown
    assert "'my cell'" in shown
    assert "tensor(4., grad_fn=<MulBackward0>)" in shown  # the variables are the notebook's
    assert shown.rstrip().endswith("tensor(12.))")  # and so is _


def test_a_failure_is_the_last_step_and_the_traceback_follows(outputs):
    still, live, error = outputs["again"]
    assert re.match(r"Stepper\(backward (\d+)/\1:", text(still))
    assert "a second time" in text(still)
    assert WIDGET in live["data"]
    assert error.ename == "RuntimeError"
    shown = text(error)
    assert "Cell In[4], line 3" in shown
    assert "----> 3 d.backward()" in shown
    assert "run_cell_magic" not in shown
    assert "magic.py" not in shown
    after = text(outputs["after"][0])
    assert "'error', [0, 3], tensor(6., grad_fn=<MulBackward0>)" in re.sub(r"\s+", " ", after)


def test_a_syntax_error_looks_as_usual(outputs):
    (error,) = outputs["unparsable"]
    assert error.ename == "SyntaxError"
    assert re.fullmatch(
        r"\s*Cell In\[6\], line 3\n    x = 1 \+\n +\^\nSyntaxError: invalid syntax\n*", text(error)
    )


def test_a_semicolon_silences_the_value(outputs):
    assert [o.output_type for o in outputs["silent"]] == ["display_data", "display_data"]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("by", "invalid choice: 'x'"),
        ("at", "--at takes the number of a step or `end`, not 'first'"),
        ("kind", "--predict takes kinds out of value,grad,shape,next-node,error, not 'vaule'"),
        ("name", "'3a' cannot be the name of a variable"),
    ],
)
def test_bad_options_are_refused_before_anything_runs(outputs, cell, message):
    (said,) = outputs[cell]
    assert "UsageError" in text(said)
    assert message in text(said)
    assert text(outputs["none ran"][0]).startswith("(False, tensor(6.")


def test_cells_with_nothing_to_show(outputs):
    value, said = outputs["nothing"]
    assert text(value) == "2"
    assert "nothing to step through" in text(said)
    (error,) = outputs["fails before"]
    assert error.ename == "ZeroDivisionError"
    (error,) = outputs["inside"]
    assert "recorded without one" in text(error)


@pytest.mark.parametrize("imported", [types.ModuleType("torch"), autograd_lab, None])
def test_where_pytorch_is_imported_its_recorder_is_named(imported, monkeypatch, capsys):
    if imported is None:
        monkeypatch.delitem(sys.modules, "torch", raising=False)
    else:
        monkeypatch.setitem(sys.modules, "torch", imported)
    with lab.record() as trace:
        pass
    magic._show(None, trace, None, {}, False)
    assert ("To step through what PyTorch does: %%step --torch" in capsys.readouterr().out) is (
        imported not in (autograd_lab, None)
    )


def test_options(outputs):
    assert re.match(r"Stepper\(backward (\d+)/\1\)", text(outputs["end"][0]))
    assert text(outputs["asked"][0]).startswith("('predict', 'Next, mul runs on a = 2 and a = 2.")


def test_magics_inside_the_cell_work(outputs):
    assert any("Wall time" in text(o) or "time" in text(o) for o in outputs["transformed"])
    assert any(WIDGET in o.get("data", {}) for o in outputs["transformed"])


def test_real_pytorch(outputs):
    pytest.importorskip("torch")
    value, still, live = outputs["real"]
    assert text(value) == "tensor(6.)"
    assert "r is a leaf tensor" in text(still)
    assert "r.grad was None and is now 6." in text(still)
    assert WIDGET in live["data"]


def test_load_ext(outputs):
    assert [text(o) for o in outputs["load"]] in (
        [], ["The autograd_lab extension is already loaded. To reload it, use:\n  %reload_ext autograd_lab\n"],
    )  # fmt: skip
    assert "backward" in text(outputs["loaded"][0])


def test_lab_step_refuses_what_makes_no_sense():
    import samples

    from autograd_lab import lab

    with pytest.raises(TypeError, match=r"step\(\) has no option 'predcit'.*position, predict"):
        lab.step(samples.scalar(), predcit=True)
    with lab.record() as trace, pytest.raises(RuntimeError, match="the recording is still running"):
        lab.step(trace)
