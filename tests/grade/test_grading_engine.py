"""What the engine makes of notebooks: right ones, and those that end, hang, eat or print without end.

Hostile code runs here, so only where the sandbox holds; elsewhere these tests are skipped and say what is missing.
"""

import ast
import base64
import json
import os
import random
from dataclasses import asdict, replace

import classroom
import pytest
import tiny

from autograd_lab.grade import engine as engines
from autograd_lab.grade import merge
from autograd_lab.grade.engine import Engine, Inbox, ProtocolError, clean, clean_text
from autograd_lab.grade.model import Cell, Limits
from autograd_lab.grade.reading import read
from autograd_lab.grade.sandbox import SandboxError

BOMB = "big = []\nwhile True:\n    big.append(bytearray(1 << 26))"


PATIENT = replace(tiny.BRIEF, cell_cpu=Limits.cell_cpu, probe_cpu=Limits.probe_cpu)
"""With the processor time that students get: what is tried here takes a second on some machines, and is not to be ended for that."""


@pytest.fixture(scope="module")
def engine():
    yield from _engine(PATIENT)


@pytest.fixture(scope="module")
def hasty():
    """With little processor time, for what never ends: a hundred times what the honest cells beside it take."""
    yield from _engine(replace(tiny.BRIEF, cell_cpu=0.4))


IMPATIENT = replace(PATIENT, cell_wall=2.0, probe_wall=2.0)
"""With less time by the clock, for what waits; still hundreds of times what the honest cells beside it take."""


@pytest.fixture(scope="module")
def impatient():
    yield from _engine(IMPATIENT)


@pytest.fixture
def two_impatient():
    """A worker for each of two that wait."""
    yield from _engine(IMPATIENT, workers=2)


def _engine(limits, workers=1):
    try:
        with Engine(tiny.ITEMS, limits, workers=workers) as made:
            yield made
    except SandboxError as error:
        pytest.skip(f"hostile code runs in a sandbox only: {error}")


def run(engine, job):
    """{item: (points, state)} of a job, after which an honest one fares well in the same worker."""
    return graded(engine, job)[0]


def graded(engine, job):
    """The same, and what ran."""
    ran = dict((one.student, made) for one, made in engine.run([job, tiny.job("next")]))
    assert tiny.earned(ran["next"], tiny.job("next")) == tiny.FULL
    assert ran["next"].state == "ok"
    own = ran[job.student]
    return {one.item: (one.score, one.state) for one in tiny.results(own, job)}, own


RIGHT = {"1.1": (2, "passed"), "1.2": (3, "passed"), "1.3": (4, "passed")}


def test_a_stub_of_an_earlier_delivery_is_not_attempted(engine):
    kept = tiny.EARLIER.replace("x * x", "x*x  # as it was")
    assert run(engine, tiny.job(a2=kept))["1.2"] == (0, "not attempted")
    assert run(engine, tiny.job(a2=kept.replace("x*x", "x**2")))["1.2"] == (0, "wrong")


def test_an_engine_in_a_process_that_holds_thousands_of_files():
    """File numbers from 1024 on are beyond select(); a worker that died of that would cost every item of every student."""
    resource = pytest.importorskip("resource", reason="needs POSIX")
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    if before[1] < 1200:
        pytest.skip(f"a process may hold {before[1]} files at most here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], 1200), before[1]))
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range(1024)]
    try:
        with Engine(tiny.ITEMS, PATIENT, workers=1, require_sandbox=False) as engine:
            ((_, ran),) = engine.run([tiny.job("ada")])
    finally:
        for number in held:
            os.close(number)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert (ran.state, ran.careful) == ("ok", False)
    assert tiny.earned(ran, tiny.job("ada")) == tiny.FULL


# --- what costs an item its points -----------------------------------------------------------------------

IN_CELL = {
    "exit": ("import os\nos._exit(0)", "died"),
    "segfault": ("import ctypes\nctypes.string_at(0)", "died"),
    "abort": ("import os\nos.abort()", "died"),
    "endless": ("while True:\n    pass", "timeout"),
    "endless, stubborn": (
        "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
        "timeout",
    ),
    "endless in C": ("sum(iter(int, 1))", "timeout"),
    "memory": (BOMB, "memory"),
    "fork bomb": ("import os\nwhile True:\n    os.fork()", "error"),
    "closes everything": ("import os\nos.closerange(0, 1024)", "died"),
    "closes everything and goes on": ("import os, time\nos.closerange(0, 1024)\ntime.sleep(10**6)", "died"),
    "sys.exit": ("import sys\nsys.exit(0)", "error"),
    "input": ("input('Your name? ')", "error"),
}


@pytest.mark.parametrize("name", IN_CELL)
def test_a_cell_costs_its_own_item(engine, hasty, name):
    source, state = IN_CELL[name]
    assert run(hasty if state == "timeout" else engine, tiny.job(a2=source)) == RIGHT | {"1.2": (0, state)}


def test_recursion_without_end_says_so(engine):
    """Python has no other limit where a cell has raised it: it would fill the memory for half a minute, or run out of time."""
    endless = "import sys\nsys.setrecursionlimit(10**9)\ndef down(n):\n    return down(n + 1) + 1\ndown(0)"
    results, ran = graded(engine, tiny.job(a2=endless))
    assert results == RIGHT | {"1.2": (0, "error")}
    assert "RecursionError: maximum recursion depth exceeded" in [cell.error for cell in ran.cells]


@pytest.mark.parametrize("depth", [5_000, Limits.depth + 1])
def test_the_limit_of_recursion_is_the_one_that_was_given(depth):
    asks = "import sys\nsys.setrecursionlimit(10**9)\nprint(sys.getrecursionlimit())"
    with Engine(tiny.ITEMS, replace(PATIENT, depth=depth), workers=1, require_sandbox=False) as engine:
        ((_, ran),) = engine.run([tiny.job(extra={"1.1": asks})])
    assert ran.printed.strip() == str(depth)


@pytest.mark.parametrize("source", ["os.kill(-1, 9)", "os.killpg(0, 9)", "os.kill(os.getppid(), 9)"])
def test_signals_harm_nobody_else(engine, source):
    """The first process of a pid namespace may not even end itself so; without the namespace it costs the item."""
    got = run(engine, tiny.job(a2=f"import os\n{source}\n1 / 0"))
    assert got.pop("1.2") in [(0, "error"), (0, "died")]
    assert got == {item: RIGHT[item] for item in ("1.1", "1.3")}


IN_PROBE = {
    "exit": ("import os\n    os._exit(0)", "died"),
    "segfault": ("import ctypes\n    ctypes.string_at(0)", "died"),
    "endless": ("while True:\n        pass", "timeout"),
    "endless in C": ("sum(iter(int, 1))", "timeout"),
    "deaf to SIGXCPU": (
        "import signal\n    signal.signal(signal.SIGXCPU, signal.SIG_IGN)\n    while True:\n        pass",
        "timeout",
    ),
}


@pytest.mark.parametrize("name", IN_PROBE)
def test_a_probe_costs_itself_only(engine, hasty, name):
    body, state = IN_PROBE[name]
    hidden = f"def double(x):\n    if x < 100:\n        return 2 * x\n    {body}"
    assert run(hasty if state == "timeout" else engine, tiny.job(a2=hidden)) == RIGHT | {"1.2": (1, state)}


def coda(**answers):
    """The notebook with its program at the end: that one is probed in the process that ran the cells, without a copy."""
    job = tiny.job(**answers)
    return replace(job, cells=tuple(sorted(job.cells, key=lambda cell: cell.item == "1.2")))


@pytest.mark.parametrize("name", IN_PROBE)
def test_a_probe_costs_itself_only_without_a_copy(engine, hasty, name):
    body, state = IN_PROBE[name]
    hidden = f"def double(x):\n    if x < 100:\n        return 2 * x\n    {body}"
    assert run(hasty if state == "timeout" else engine, coda(a2=hidden)) == RIGHT | {"1.2": (1, state)}


def test_which_programs_are_copied(engine):
    """Cells after it, or what goes on beside it: each asks whether the program runs where its cell ran."""
    asks = "import os\nhome = os.getpid()\ndef double(x):\n    return 2 * x if os.getpid() == home else 0"
    assert run(engine, coda(a2=asks)) == RIGHT
    assert run(engine, tiny.job(a2=asks))["1.2"] == (0, "wrong")
    timer = "import signal\nsignal.setitimer(signal.ITIMER_REAL, 3600)\n"
    assert run(engine, coda(a1=f"{timer}seven = 7", a2=asks))["1.2"] == (0, "wrong")
    assert run(engine, coda(a1=f"{timer}seven = 7")) == RIGHT


def test_threads_do_not_reach_a_program(engine):
    thread = (
        "import threading, time\ncalled, factor = threading.Event(), 2\n"
        "def spoil():\n    global factor\n    called.wait()\n    factor = 3\n"
        "threading.Thread(target=spoil, daemon=True).start()\n"
        "def double(x):\n    called.set()\n    time.sleep(0.2)\n    return factor * x"
    )
    assert run(engine, coda(a2=thread)) == RIGHT


def test_a_program_that_always_ends_its_process(engine):
    assert run(engine, tiny.job(a2="def double(x):\n    import os\n    os._exit(0)"))["1.2"] == (0, "died")


def test_memory_in_a_probe_is_an_error_of_the_program(engine):
    assert run(engine, tiny.job(a2="def double(x):\n    return bytearray(1 << 40)")) == RIGHT | {
        "1.2": (0, "wrong")
    }


def test_what_waits_is_stopped_by_the_clock(two_impatient):
    """The two wait side by side; honest ones fare well in the same workers afterwards."""
    stops = "def double(x):\n    import os, signal\n    os.kill(os.getpid(), signal.SIGSTOP)"
    waits = [tiny.job("sleeps", a2="import time\ntime.sleep(10**6)"), tiny.job("stops", a2=stops)]
    ended = list(two_impatient.run(waits))
    assert sorted(job.student for job, _ in ended) == ["sleeps", "stops"]
    for job, ran in ended:
        got = {one.item: (one.score, one.state) for one in tiny.results(ran, job)}
        assert got == RIGHT | {"1.2": (0, "timeout")}, job.student
    for job, ran in two_impatient.run([tiny.job(f"next {number}") for number in range(4)]):
        assert (tiny.earned(ran, job), ran.state) == (tiny.FULL, "ok")


def test_several_disasters_in_one_notebook(hasty):
    job = tiny.job(
        a1="import os\nos._exit(1)", a2="while True:\n    pass", extra={"end": "import os\nos.abort()"}
    )
    assert run(hasty, job) == {"1.1": (0, "died"), "1.2": (0, "timeout"), "1.3": (4, "passed")}


# --- what costs nothing ---------------------------------------------------------------------------------

HARMLESS = {
    "prints 100 MB": "for _ in range(100):\n    print('x' * 10**6)",
    "writes 100 MB": "import os\nfor _ in range(100):\n    os.write(1, b'x' * 10**6)",
    "memory given back": "try:\n    big = bytearray(1 << 40)\nexcept MemoryError:\n    pass",
    "a thread": "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()",
    "at exit": "import atexit, os\natexit.register(os._exit, 7)",
    "children of their own session": "import os, time\nfor _ in range(10):\n    if os.fork() == 0:\n        os.setsid()\n"
    "        time.sleep(3600)",
    "a child that goes on with the notebook": "import os\nos.fork()",
    "commands": "!ls\n!no-such-command\n!echo {1 + 1}; exit 3\n!yes | head -c 1000000\nfiles = !ls\n%time 1 + 1\n%matplotlib inline",
    "standard input": "import sys\nsys.stdin.read()",
    "closed output": "import sys\nsys.stdout.close()",
    "a forgotten alarm": "import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\nsignal.alarm(1)",
    "deep recursion": "import sys\nsys.setrecursionlimit(10**9)\ndef down(n):\n    return n and down(n - 1)\ndown(100_000)",
    "lab is a note": "lab = 'notes'",
    "lab is gone": "del lab",
    "lab checks nothing": "lab.check = lambda *_: None",
    "lab is a class": "class lab:\n    check = print",
    "deaf to its children": "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)",
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_odd_but_right(engine, name):
    assert run(engine, tiny.job(a2=f"{HARMLESS[name]}\n{tiny.RIGHT['1.2']}")) == RIGHT


def test_what_the_student_calls_lab_stays_as_it_was(engine):
    """The checks run with the course's own lab, the student's cells with theirs."""
    kept = "order = [1, 2] if lab == 'notes' else []"
    assert run(engine, tiny.job(extra={"1.1": "lab = 'notes'"}, a3=kept)) == RIGHT


@pytest.mark.parametrize("careful", ["", "import os\nos._exit(1)"])
def test_files_handed_in_beside_the_notebook_lie_beside_it(engine, careful):
    """A module is imported, data is read; one that is called like a module of Python's takes nobody's place."""
    files = {
        "helper.py": b"import zipapp\n\ndef twice(x):\n    return 2 * x if zipapp.create_archive else None\n",
        "data/seven.txt": b"7",
        "zipapp.py": b"raise SystemExit",
        "numpy.py": b"raise SystemExit",
    }
    answers = {
        "a1": "seven = int(open('data/seven.txt').read())",
        "a2": "import helper\n\ndef double(x):\n    return helper.twice(x)",
    }
    job = tiny.job(extra={"end": careful} if careful else None, **answers)
    job = replace(job, files={name: base64.b64encode(data).decode() for name, data in files.items()})
    assert run(engine, job) == RIGHT
    assert run(engine, tiny.job(**answers))["1.1"] == (0, "error"), (
        "of the next student there is nothing left"
    )


def test_what_a_cell_leaves_behind_does_not_end_later_ones(engine):
    """The process dies in 1.3's cell, by a thread that an earlier cell has started: no item is to blame."""
    timer = "import os, threading\nthreading.Timer(0.05, os._exit, [3]).start()"
    assert run(engine, tiny.job(extra={"1.1": timer, "1.3": "import time\ntime.sleep(0.5)"})) == RIGHT


def test_a_busy_thread_costs_nobody_else_the_time(hasty):
    thread = "import threading\nthreading.Thread(target=lambda: sum(iter(int, 1)), daemon=True).start()"
    earned = run(hasty, tiny.job(extra={"1.1": thread}))
    assert [earned["1.2"], earned["1.3"]] == [RIGHT["1.2"], RIGHT["1.3"]]


def test_output_is_kept_up_to_the_limit_and_counted(engine):
    ((_, ran),) = engine.run([tiny.job(extra={"1.1": "print('a' * 10**6)"})])
    assert len(ran.printed) == tiny.BRIEF.printed
    assert ran.dropped == 10**6 + 1 - tiny.BRIEF.printed


# --- the same again ---------------------------------------------------------------------------------------


def plain(ran):
    data = asdict(ran)
    data.pop("seconds")
    return data


def test_what_commands_say_is_printed(engine):
    ((_, ran),) = engine.run([tiny.job(extra={"1.1": "word = 'two'\n!echo one {word}\n!no-such-command"})])
    assert ran.printed.splitlines()[0] == "one two"
    assert "not found" in ran.printed


def test_matplotlib_is_there_in_advance_for_those_who_draw(engine):
    asks = "import sys\nprint('mat' + 'plotlib.py' + 'plot' in sys.modules, '{}')"
    jobs = [
        tiny.job(word, extra={"1.1": asks.format(word)}) for word in ("numpy", "plt", "%matplotlib inline")
    ]
    said = {job.student: ran.printed.split()[0] for job, ran in engine.run(jobs)}
    assert said == {"numpy": "False", "plt": "True", "%matplotlib inline": "True"}
    draws = "import importlib\nplots = importlib.import_module('mat' + 'plotlib.py' + 'plot')\nplots.plot([1, 2])\nprint(2)"
    ((_, ran),) = engine.run([tiny.job(extra={"1.1": draws})])
    assert (ran.state, ran.printed) == ("ok", "2\n")


def test_what_the_course_imports_is_there_in_advance():
    """What a worker lacks, every submission loads anew; and what was done in advance does not show."""
    asks = (
        "import sys\n_there = set(sys.modules)\nimport autograd_lab\nfrom autograd_lab.tracing.recorder import last_recording\n"
        "print((autograd_lab.ones(1, requires_grad=True) * 2).grad_fn._sequence_nr(), last_recording())"
    )
    tells = "print(sorted(set(sys.modules) - _there))"
    course, jobs = classroom.course(), []
    for name, book in course.released.items():
        job = merge.merge(book, read(json.dumps(classroom.document("solutions", name)).encode()))
        jobs.append(
            replace(job, cells=(Cell("asks", asks, "extra"), *job.cells, Cell("tells", tells, "extra")))
        )
    with Engine(course.items, workers=1, require_sandbox=False) as made:
        said = {job.notebook: ran.printed.splitlines() for job, ran in made.run(jobs)}
    assert {name: (lines[0], lines[-1]) for name, lines in said.items()} == dict.fromkeys(
        course.released, ("1 None", "[]")
    )


def test_given_cells_below_the_last_answer_do_not_run(engine):
    job = tiny.job()
    last = Cell("last", "import os\nos._exit(3)", "given")
    ((_, ran),) = engine.run([replace(job, cells=(*job.cells, last))])
    assert (ran.state, tiny.earned(ran, job)) == ("ok", tiny.FULL)
    assert (ran.cells[-1].id, ran.cells[-1].state) == ("last", "skipped")
    mine = Cell("mine", "print('mine')", "extra")
    ((_, ran),) = engine.run([replace(job, cells=(*job.cells, last, mine))])
    assert ran.state == "died"
    assert tiny.earned(ran, job) == tiny.FULL


CELLS = [
    "a = 1\nb = 2", "%time 1 + 1", "1 + 1\n%time 2", "x = !ls\nx", "len?\nlen", "?len\nlen", "  a = 1\n  b = a % 3", "\n\na = 1",
    ">>> 1 + 1\n... 2", "In [1]: a = 1\n   ...: b = 2", "In[1]: a\nb", "# nothing\n...  # your code here\nb = 1", "...\n... # b\n",
    'text = """\n%time\n!ls\nlen?\n"""\ntext', "/abs 3\nb", ",f a\nb", "a = (1\n% 2)\nb", "a = 1 \\\n    % 2\nb", "def f(:\n    pass",
    "if True:\n    %time 2", "%%time\n1\n2", "await f()\nb", "a = 1;\nb", 'f"""{a\n!r}"""\nb', "files = %ls\nb", "\x00\nb", "exit", "",
    "ls", "pwd\n", "pwd\n\n", "exit()", "cd ..", "# where?\nls", "a.b()", "lab.check('1.1', a)\n", "ls = 1", "alias = a.b(1)", "time = a", "a, b = 1, 2",
    "a = 1\n... # b", "...\n...", "...", 'a = """\n... b\n"""', 'a = """\n>>> b\n"""\na', "In [1]: a = 2", "def f():\n    ...\nf", "a = [\n1]", "a\x0cls",
]  # fmt: skip


def test_magics_are_what_ipython_takes_for_magics(engine):
    """The worker does not search everything for magics, and makes the same of every cell."""
    compares = (
        "from IPython.core.interactiveshell import InteractiveShell\nshell = get_ipython()\n"
        "def made(transform, cell):\n    try:\n        return transform(shell, cell).rstrip('\\n')\n"
        "    except Exception as error:\n        return repr(error)\n"
        "ours, theirs = type(shell).transform_cell, InteractiveShell.transform_cell\n"
        f"print([cell for cell in {CELLS!r} if made(ours, cell) != made(theirs, cell)])\n"
        "def never(*_):\n    raise AssertionError\n"
        "InteractiveShell.transform_cell = never\n"
        f"print([cell for cell in {CELLS!r} if made(ours, cell) != 'AssertionError()'])"
    )
    ((_, ran),) = engine.run([tiny.job(extra={"1.1": compares})])
    differs, unsearched, *_ = ran.printed.split("\n")
    assert differs == "[]"
    plainly_python = (
        "a = 1\nb = 2",
        "lab.check('1.1', a)\n",
        "# where?\nls",
        "def f():\n    ...\nf",
        "a = [\n1]",
    )
    assert {*plainly_python} <= {*ast.literal_eval(unsearched)}
    assert not {"ls", "exit", "%time 1 + 1", "In [1]: a = 2"} & {*ast.literal_eval(unsearched)}


@pytest.mark.parametrize(
    "registers",
    [
        "input_transformers_cleanup.insert(0, lines)",
        "input_transformers_post.insert(0, lines)",
        "input_transformer_manager.line_transforms.insert(0, lines)",
        "input_transformer_manager.token_transformers.insert(0, tokens)",
    ],
)
def test_a_cell_may_register_what_transforms_later_ones(engine, registers):
    asks = (
        "def lines(cell):\n    return [*cell, 'print(123)\\n']\n"
        "class tokens:\n    def find(by_line):\n        print(123)\n"
        f"get_ipython().{registers}"
    )
    ((_, ran),) = engine.run([tiny.job(extra={"1.1": asks})])
    assert "123" in ran.printed


def test_two_runs_are_the_same(engine):
    """Random numbers, hashes, addresses, sets, the order of files: nothing varies."""
    varies = (
        "import os, random\nimport numpy as np\nprint(random.random(), np.random.rand(), hash('a'), {'x', 'y', 'z'}, object())\n"
        "print(sorted(os.environ), os.getcwd(), os.getpid())\n"
        "def double(x):\n    return [random.random(), np.random.rand(), repr(object()), str({'x', 'y', 'z'})]"
    )
    jobs = [tiny.job("varies", a2=varies), tiny.job("dies", a2=f"{varies}\nos._exit(1)", a1="seven = random")]
    first, second = ({job.student: plain(ran) for job, ran in engine.run(jobs)} for _ in range(2))
    assert first == second
    assert first["varies"]["answers"]["1.2"]["outputs"]["small(1)"][0] > 0


def test_random_numbers_do_not_depend_on_the_pass(engine):
    """A careful pass draws what the first one drew."""
    draws = "import random\nprint(random.random())"
    ((_, once),) = engine.run([tiny.job(extra={"1.1": draws})])
    ((_, twice),) = engine.run([tiny.job(extra={"1.1": draws}, a3="import os\nos._exit(0)")])
    assert twice.careful
    assert not once.careful
    assert twice.printed == once.printed


def test_an_answer_is_probed_as_it_was_when_it_was_checked(engine):
    spoilt = "def double(x):\n    return 3 * x\nimport builtins\nbuiltins.len = None"
    assert run(engine, tiny.job(extra={"1.3": spoilt})) == RIGHT


def test_jobs_come_back_whatever_their_number(engine):
    jobs = [tiny.job(f"s{i}") for i in range(7)]
    assert sorted(job.student for job, _ in engine.run(iter(jobs))) == sorted(job.student for job in jobs)


def test_a_notebook_without_items_is_refused(engine):
    with pytest.raises(KeyError, match="no items for the notebook '02_other'"):
        list(engine.run([replace(tiny.job(), notebook="02_other")]))
    assert run(engine, tiny.job()) == RIGHT


def test_a_worker_that_is_killed_is_replaced(engine):
    engine._servers[0]._process.kill()
    assert run(engine, tiny.job()) == RIGHT


def test_hidden_probes_are_not_printed(engine):
    says = "def double(x):\n    print('LEAK', x)\n    import os\n    os.write(1, b'LEAK')\n    return 2 * x"
    ((_, ran),) = engine.run([tiny.job(a2=says)])
    assert ran.printed == ""
    assert tiny.earned(ran, tiny.job()) == tiny.FULL


# --- messages that no honest process sends -----------------------------------------------------------------


def framed(data):
    return len(data).to_bytes(4, "big") + data


@pytest.mark.parametrize(
    "data",
    [b"\xff\xff\xff\xff", framed(b"not JSON"), framed(b"[1]"), framed(b"\xff\xfe"), framed(b"[" * 100_000),
     framed(b'{"a": ' * 100_000)],
)  # fmt: skip
def test_malformed_messages_are_noticed(data):
    with pytest.raises(ProtocolError):
        list(Inbox(1 << 20).feed(data))


def test_messages_arrive_in_any_pieces():
    inbox, data = Inbox(100), framed(b'{"a": 1}') + framed(b'{"b": 2}')
    assert [m for i in range(len(data)) for m in inbox.feed(data[i : i + 1])] == [{"a": 1}, {"b": 2}]


def test_answers_are_made_plain():
    deep: list = []
    for _ in range(50):
        deep = [deep]
    for bad in (deep, list(range(10**5)), {1: 2}, object()):
        with pytest.raises(ProtocolError):
            clean(bad)
    assert clean(10**400) == {"float": "inf"}
    assert clean(float("nan")) == {"float": "nan"}
    assert clean("<Mine object at 0x7f12345678>") == "<Mine object at 0x...>"
    assert clean_text("\ud800", 10) == "?"
    assert clean({"a": [1, 2.5, None, True]}) == {"a": [1, 2.5, None, True]}


FORGED = """
import glob, json, os, socket, struct
def forge(message):
    data = json.dumps(message).encode()
    for name in os.listdir('/proc/self/fd') if os.path.isdir('/proc/self/fd') else map(str, range(64)):
        try:
            os.set_blocking(int(name), False)
            os.write(int(name), struct.pack('!I', len(data)) + data)
        except OSError:
            pass
"""
FORGERIES = {
    "an answer": "forge({'cell': 1, 'state': 'ok', 'error': '', 'printed': '', 'dropped': 0, 'answer': {'state': 'given', 'value': 7}})",
    "a check": "[forge({'cell': n, 'state': 'ok', 'error': '', 'printed': '', 'dropped': 0, 'answer': None}) for n in range(1, 9)]",
    "points": "forge({'item': '1.2', 'probe': 'large', 'outputs': {'large(8642097)': 1}, 'score': 100, 'state': 'passed'})",
    "the end": "forge({'done': 'cells'})\nforge({'done': 'visible'})\nforge({'done': 'hidden'})",
    "nonsense": "forge({'cell': -1})",
    "types": "forge({'cell': 1, 'state': ['ok'], 'error': {}, 'printed': 3, 'dropped': 'x', 'answer': 'x'})",
    "other types": "forge({'cell': 1, 'state': 'ok', 'error': 'x' * 10**6, 'printed': None, 'dropped': -5, 'answer': [1]})",
    "unhashable": "forge({'item': ['1.2'], 'probe': {}, 'outputs': [], 'ended': []})",
    "a huge message": "forge('x' * (8 << 20))",
    "half a message": "struct.pack = lambda *a: b'\\0\\0\\1\\0'\nforge({})",
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_forged_messages_earn_nothing(impatient, name):
    """The answers are wrong, the messages say otherwise; what is right in other items may be lost, and nothing is gained.

    A message that breaks off is waited for as long as its cell may take.
    """
    job = tiny.job(
        a1=f"{FORGED}\n{FORGERIES[name]}\nseven = 0", a2="def double(x):\n    return 0", a3="order = 0"
    )
    got = run(impatient, job)
    assert {item: points for item, (points, _) in got.items() if points} in ({}, {"1.1": 2})
    if name != "an answer":  # an answer that is forged is an answer that was given
        assert not any(points for points, _ in got.values())


def test_no_message_gets_further_than_the_protocol():
    """Whatever a process says, it is taken in or refused; nothing else is raised."""
    draw = random.Random(6)
    words = ["cell", "state", "ok", "error", "answer", "given", "item", "1.2", "probe", "small", "outputs", "small(1)", "ended",
             "done", "cells", "visible", "hidden", "printed", "dropped", "value", "timeout"]  # fmt: skip

    def anything(depth):
        kind = draw.randrange(9 if depth < 3 else 6)
        if kind < 3:
            return draw.choice(words)
        if kind < 6:
            return draw.choice([None, True, 0, 1, 2, 5, -1, 0.5, 10**30, "", 10**400])
        if kind == 6:
            return [anything(depth + 1) for _ in range(draw.randrange(3))]
        return {draw.choice(words): anything(depth + 1) for _ in range(draw.randrange(6))}

    refused = 0
    for number in range(3000):
        one = engines._Pass(
            tiny.job(),
            {i.id: i for i in tiny.ITEMS[tiny.BOOK]},
            tiny.BRIEF,
            engines._Lost(),
            bool(number % 2),
            0,
        )
        for _ in range(draw.randrange(1, 5)):
            said = anything(0)
            if not isinstance(said, dict):
                continue
            if draw.random() < 0.5:
                said["cell"] = one.order[0] if one.order else 0
                said["state"] = "ok"
            if draw.random() < 0.2:
                one.order.clear()
                one.unanswered["1.2", "small"] = ""
                one.answers["1.2"] = engines.Answer("1.2", "given")
                said["item"] = "1.2"
            try:
                one._note(said)
            except ProtocolError:
                refused += 1
        one.blame()
        json.dumps(asdict(one.result("ok", 0.0)), allow_nan=False)
    assert refused > 500


def test_limits_reach_the_worker(engine):
    source = "import resource\nprint([resource.getrlimit(k) for k in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE)])"
    ((_, ran),) = engine.run([tiny.job(extra={"1.1": source})])
    limits = tiny.BRIEF
    assert ran.printed.strip() == str([(most, most) for most in (limits.memory, limits.file, limits.files)])


def test_files_are_bounded(engine):
    """One file, all files together, their number; and nothing of it is there for the next submission."""
    fills = (
        "import os\nsizes = []\nfor i in range(100):\n    try:\n        with open(f'f{i}', 'wb') as f:\n            f.write(bytes(6 << 20))\n"
        "    except OSError as error:\n        print(error.errno)\n        break\nprint(i < 50, os.listdir('.') != [])"
    )
    small = replace(PATIENT, folder=32 << 20)
    with Engine(tiny.ITEMS, small, workers=1) as own:
        if "mount namespace" not in own.layers:
            pytest.skip("the folder of a submission is bounded where it has a mount of its own")
        ((_, ran),) = own.run([tiny.job(extra={"1.1": fills})])
        assert ran.printed.split() == ["28", "True", "True"]  # ENOSPC
        ((_, ran),) = own.run([tiny.job(extra={"1.1": "import os\nprint(os.listdir('.'))"})])
        assert ran.printed.strip() == "[]"


def test_default_limits_are_what_the_model_says():
    assert engines.Limits() == Limits()
