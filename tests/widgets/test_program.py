"""A program as a text: what a page with an editor gets of it, without the packages of widgets."""

import json
import subprocess
import sys
import time

import pytest
import samples
from each import each

import autograd_lab as torch
from autograd_lab.tracing import builder
from autograd_lab.tracing.recorder import AtMost, record
from autograd_lab.tracing.sources import keep_source
from autograd_lab.widgets import export, program
from autograd_lab.widgets.stepper import Stepper
from autograd_lab.widgets.wire import decode

DETACHED = """import autograd_lab as torch

w = torch.tensor([1.0, 2.0], requires_grad=True)
v = torch.ones(2, requires_grad=True)
loss = (w.detach() * v).sum()
loss.backward()
print("w.grad is", w.grad)
"""


def ran(source, **limits):
    printed = []
    return program.run(source, printed.append, **limits), "".join(printed)


def test_a_program_is_recorded_and_its_gradients_are_explained():
    result, printed = ran(DETACHED)
    shown = json.loads(json.dumps(result.shown(), allow_nan=False))
    assert printed == "w.grad is None\n"
    assert shown["error"] is None
    assert shown["traits"]["position"] == 0
    assert [s["name"] for s in decode(shown["traits"]["_film"])["sources"]] == ["program.py"]
    answers = {answer["name"]: answer for answer in shown["why"]}
    assert [*answers][:3] == ["w", "v", "loss"]
    assert answers["w"]["cause"] == "detached"
    assert answers["w"]["lines"][0]["number"] == 5
    assert answers["v"]["cause"] == "as-computed"


def test_an_error_is_shown_at_its_line_and_at_its_step():
    result, _ = ran(DETACHED + "loss.backward()\n")
    shown = result.shown()
    assert (shown["error"]["type"], shown["error"]["line"]) == ("RuntimeError", 8)
    assert shown["error"]["text"].startswith(
        'Traceback (most recent call last):\n  File "program.py", line 8, in <module>\n'
    )
    assert shown["traits"]["position"] == shown["events"] == len(result.trace)
    assert shown["why"][0]["cause"] == "freed-graph"


@pytest.mark.parametrize(
    ("source", "kind", "line"),
    [
        ("x = (", "SyntaxError", 1),
        ("x = 1\n\n  y = 2\n", "IndentationError", 3),
        ("a\0b", "SyntaxError|ValueError", 0),
        ("import no_such_module", "ModuleNotFoundError", 1),
        ("def f():\n    return g()\n\nf()\n", "NameError", 2),
        ("import json\njson.loads('{')", "JSONDecodeError", 2),
        ("raise KeyboardInterrupt", "KeyboardInterrupt", 1),
    ],
)
def test_a_program_that_fails_without_a_tensor(source, kind, line):
    result, _ = ran(source)
    assert result.trace is None
    assert result.error["type"] in kind.split("|")
    assert result.error["line"] == line
    assert result.shown()["traits"] is None


@pytest.mark.parametrize("source", ["", "print(1)", "import sys; sys.exit(1)"])
def test_a_program_without_a_tensor_is_no_error(source):
    result, _ = ran(source)
    assert (result.trace, result.error, result.cut) == (None, None, "")


LOOP = "import autograd_lab as torch\nw = torch.ones(3, requires_grad=True)\nwhile True:\n    (w * 2).sum().backward()\n"


@pytest.mark.parametrize("start", [LOOP, LOOP.replace("    (", "    with torch.no_grad(): x = w * 2\n    (")])
def test_a_recording_ends_at_its_events(start):
    result, _ = ran(start, most=500)
    assert (len(result.trace), result.cut, result.error) == (500, "events", None)
    assert result.shown()["why"][0]["name"] == "w"


def test_a_recording_ends_when_its_time_is_over():
    begin = time.monotonic()
    result, _ = ran(LOOP, seconds=0.02)
    assert time.monotonic() - begin < 20
    assert result.cut == "time"
    assert 0 < len(result.trace) < program.MOST_EVENTS


@pytest.mark.parametrize("source", [LOOP, DETACHED, "1 / 0", "import sys; sys.exit()"])
def test_the_end_of_a_program_is_told_before_its_recording_is_worked_out(monkeypatch, source):
    """The limit of the program must not end that."""
    order = []
    build = builder.Builder.build
    monkeypatch.setattr(builder.Builder, "build", lambda *given: order.append("built") or build(*given))
    result, _ = ran(source, most=300, ended=lambda: order.append("ended"))
    assert order[0] == "ended"
    assert order.count("ended") == 1
    assert result.shown()["events"] == 0 or "built" in order


def test_the_limit_is_no_exception_that_programs_catch():
    caught = LOOP.replace("while True:\n", "while True:\n  try:\n").rstrip() + "\n  except Exception: pass\n"
    assert ran(caught, most=200)[0].cut == "events"


def test_a_program_that_ends_just_below_the_limit_is_whole():
    whole, _ = ran(DETACHED)
    for most in range(len(whole.trace) - 12, len(whole.trace) + 1):
        result, _ = ran(DETACHED, most=most)
        assert len(result.trace) == most, most
        assert result.cut == ("events" if most < len(whole.trace) else ""), most


def test_a_limit_holds_in_a_block_too():
    with record(limit=AtMost(10)) as trace:
        exec(LOOP)
    assert 10 <= len(trace) < 60


def test_output_has_an_end_and_includes_that_for_errors():
    _, printed = ran("for i in range(100_000): print('0123456789')\n")
    assert len(printed) < program.MOST_PRINTED + 100
    assert printed.endswith("characters are enough.\n")
    assert ran("import sys\nprint('a', file=sys.stderr)\nprint('b')")[1] == "a\nb\n"


@pytest.mark.parametrize("name", ["scalar", "diamond"])
def test_the_traits_are_those_of_an_exported_stepper(name):
    trace = getattr(samples, name)()
    for position in (0, 3, 10_000):
        assert program.traits(trace, position) == export.traits(Stepper(trace, position))


def test_long_traces_carry_no_questions():
    result, _ = ran(LOOP, most=program.CARRIED + 1)
    assert program.traits(result.trace)["_quiz"] == ""
    assert export.traits(Stepper(result.trace)) | {"_quiz": ""} == program.traits(result.trace)


def test_no_package_of_widgets_is_needed():
    code = (
        "import sys\nsys.modules |= dict.fromkeys(['traitlets', 'anywidget', 'ipywidgets', 'IPython', 'networkx', 'matplotlib'])\n"
        "from autograd_lab.torchlike.world.standin import stand_in\nfrom autograd_lab.widgets import program\nstand_in()\n"
        f"print(program.run({DETACHED.replace('autograd_lab as torch', 'torch')!r}, print).shown()['why'][0]['cause'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines()[-1:] == ["detached"], done.stderr


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("import pickle\nclass A: pass\nprint(type(pickle.loads(pickle.dumps(A()))).__name__)", "A"),
        ("import inspect\nclass A:\n    x = 1\nprint(inspect.getsource(A))", "class A:\n    x = 1\n"),
        ("import typing\nclass A: pass\nclass B:\n    a: 'A'\nprint(typing.get_type_hints(B)['a'].__name__)", "A"),
        ("print(__name__, __file__)", "__main__ program.py"),
        ("import sys; print(sys.modules['__main__'].__dict__ is globals())", "True"),
        ("import sys; sys.exit('the data are missing')", "the data are missing"),
    ],
)  # fmt: skip
def test_a_program_is_the_main_module(source, says):
    mine = sys.modules["__main__"]
    result, printed = ran(source)
    assert (result.error, printed) == (None, says + "\n")
    assert sys.modules["__main__"] is mine


@pytest.mark.parametrize("call", ["input('How many? ')", "import sys; sys.stdin.readline()", "import sys; sys.stdin.read()"])  # fmt: skip
def test_nobody_types_into_a_program(call):
    result, _ = ran(call)
    assert result.error["type"] == "OSError"
    assert result.error["message"].startswith("nobody can type into this program")
    assert not isinstance(sys.stdin, program._Nobody)


def test_an_error_says_itself_once():
    result, _ = ran("import torch\nx = (1\n")
    assert result.error["message"] == "'(' was never closed"
    result, _ = ran(DETACHED + "class E(Exception):\n    def __str__(self): return 1 / 0\nraise E\n")
    assert result.error["message"] == "its text cannot be shown: ZeroDivisionError: division by zero"
    assert len(result.trace) > 5


ODD = ["\x0c", "\x0b", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029"]


@pytest.mark.parametrize("character", ODD)
def test_lines_are_those_of_python(character):
    """`str.splitlines` ends a line at more characters than Python does."""
    result, _ = ran(DETACHED.replace("\nw =", f"# a{character}b\nw =", 1) + "loss.backward()\n")
    shown = result.shown()
    assert shown["error"]["line"] == 8
    (line,) = [line for line in shown["why"][0]["lines"] if line["number"] == 8]
    assert line["text"] == "loss.backward()"
    rows = decode(shown["traits"]["_film"])["sources"][0]["lines"]
    assert [8, "loss.backward()"] in rows


def test_a_changed_program_is_read_anew():
    """It has the same name and as many lines as before, as after each small change in an editor."""
    names = []
    for name in ("first", "other", "first"):
        source = f"import autograd_lab as torch\ndef f(x):\n    {name} = x * 2\n    return {name}.sum()\nw = torch.ones(2, requires_grad=True)\nf(w).backward()\n"
        names.append([tensor["name"] for tensor in ran(source)[0].trace.tensors if tensor["name"]][-1])
    assert names == ["first", "other", "first"]


@pytest.mark.parametrize("lines", [300, 1500])
def test_a_long_program_shows_its_code(lines):
    result, _ = ran(DETACHED + "y = (v * 2).sum()\n" * lines + "y.backward()\n")
    last = result.trace.sources[0]["lines"]
    assert last[str(lines + 8)] == "y.backward()"
    assert last["5"] == "loss = (w.detach() * v).sum()"
    answer = next(answer for answer in result.shown()["why"] if answer["name"] == "y")
    assert answer["lines"][0]["text"] == "y = (v * 2).sum()"


MANY = [
    "for i in range(300): (w * 2).sum().backward()",
    "ys = [w * i for i in range(300)]\ntotal = 0\nfor y in ys: total = total + y\ntotal.sum().backward()",
    "for i in range(300): y = w.detach() * 2\ny.sum().requires_grad_().backward()",
    "for i in range(300):\n    y = w * 2\n    w.data.add_(1)\ny.sum().backward()\n(w * w).sum().backward()",
    "w.register_hook(lambda g: g * 2)\nfor i in range(300): (w * 2).sum().backward()",
    "y = w.exp()\nfor i in range(300): y.mul_(1)\ny.sum().backward()",
    "for i in range(300):\n    with torch.no_grad(): y = w * 2\n(y + w * 0).sum().backward()",
    "optimizer = torch.optim.SGD([w], 0.1)\nfor i in range(300):\n    optimizer.zero_grad\n    (w * 2).sum().backward()\n    optimizer.step()",
    "y = w * 1\nfor i in range(300): y = y * 0.5\ny.sum().backward()",
    "for i in range(300): print((w * 2).sum().item())\nv = w.sum() * 0\nv.backward()",
]


def test_what_happens_often_is_not_told_each_time():
    def check(lines):
        result, _ = ran(f"import autograd_lab as torch\nw = torch.ones(2, requires_grad=True)\n{lines}\n")
        assert result.trace is not None
        for answer in result.shown()["why"]:
            told = [*answer["sentences"], answer["fix"], *(line["what"] for line in answer["lines"])]
            assert max(map(len, told)) < 400, answer

    each(MANY, check)


def test_the_lines_that_a_program_did_not_come_to_are_listed():
    """%%step compiles the last line apart: it was missing where the program stopped before."""
    text = "x = torch.ones(2, requires_grad=True) * 2\n1 / 0\nx.sum().backward()\n"
    keep_source("<stopped>", text)
    lines = text.splitlines(keepends=True)
    parts = [
        compile("".join(lines[:2]), "<stopped>", "exec"),
        compile("\n\n" + lines[2], "<stopped>", "exec"),
    ]
    trace, error = program.recorded(parts, {"torch": torch}, record())
    assert isinstance(error, ZeroDivisionError)
    assert list(trace.sources[0]["lines"].values()) == text.splitlines()
