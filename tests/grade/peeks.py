"""Answers that look for the hidden probes and tell what they found: a generator, every way to look with ways to tell.

A hidden probe holds a word, `canary_...`. READERS find it in the process that runs them, GIVERS hand it out. Some only get there
because an earlier cell laid an ear to the process (EARS); a cell of that kind comes before the answers.
"""

from __future__ import annotations

import ast
import itertools
import json
import re
from collections.abc import Iterator

EARS = """
import builtins, json as _json, socket as _socket, sys as _sys, threading as _threading
HEARD = []

def _hear(text):
    if "canary" in (text := str(text)):
        HEARD.append(text)

_compile, _loads, _recv = builtins.compile, _json.loads, _socket.socket.recv
builtins.compile = lambda source, *a, **k: (_hear(source), _compile(source, *a, **k))[1]
_json.loads = lambda text, *a, **k: (_hear(text), _loads(text, *a, **k))[1]
_sys.addaudithook(lambda event, given: event in ("exec", "compile") and _hear(given[:1]))

def _profile(frame, event, argument):
    if event == "call" and frame.f_code.co_name in ("run_probes", "load", "run", "run_probe"):
        _hear(frame.f_locals)

def _listen():
    _sys.setprofile(_profile)
    _threading.setprofile(_profile)
"""
"""Runs before the answers: from then on the process is overheard."""

READERS = {
    "frames": """
frame = sys._getframe()
while frame is not None:
    yield from map(repr, list(frame.f_locals.values()))
    frame = frame.f_back""",
    "globals of frames": """
frame = sys._getframe()
while frame is not None:
    yield from map(repr, [v for v in frame.f_globals.values() if isinstance(v, (str, list, dict, tuple))])
    frame = frame.f_back""",
    "tracebacks": """
try:
    raise KeyError
except KeyError as error:
    trace = error.__traceback__
    frame = trace.tb_frame
    while frame is not None:
        yield from map(repr, list(frame.f_locals.values()))
        frame = frame.f_back""",
    "inspect": """
import inspect
for one in inspect.stack(0):
    yield repr(inspect.getargvalues(one.frame).locals)
    try:
        yield inspect.getsource(one.frame)
    except (OSError, TypeError):
        pass""",
    "code of frames": """
frame = sys._getframe()
while frame is not None:
    yield repr((frame.f_code.co_consts, frame.f_code.co_names, frame.f_code.co_varnames, frame.f_code.co_filename))
    frame = frame.f_back""",
    "garbage collector": """
import gc
for thing in gc.get_objects():
    if type(thing) in (dict, list, tuple) and len(thing) < 500:
        yield repr([part for part in (thing.values() if type(thing) is dict else thing) if type(part) is str])""",
    "referrers": """
import gc, types
for thing in gc.get_objects():
    if type(thing) is types.CodeType or type(thing).__name__ == "Probe":
        yield repr([repr(other)[:5000] for other in gc.get_referrers(thing)[:3] if type(other) is dict])
        yield repr(gc.get_referents(thing))""",
    "line cache": """
import linecache
for entry in list(linecache.cache.values()):
    yield repr(entry)""",
    "modules": """
for module in list(sys.modules.values()):
    for name, value in list(getattr(module, "__dict__", {}).items()):
        if type(value) in (str, list, dict):
            yield repr(value)[:100_000]""",
    "threads": """
for frame in sys._current_frames().values():
    while frame is not None:
        yield from map(repr, list(frame.f_locals.values()))
        frame = frame.f_back""",
    "memory": """
import ctypes
frame = sys._getframe()
while frame is not None:
    for value in list(frame.f_locals.values()):
        yield repr(ctypes.cast(id(value), ctypes.py_object).value)
    frame = frame.f_back""",
    "what was overheard": """
_listen()
yield from HEARD""",
}  # fmt: skip
"""Bodies of generators of texts."""

GIVERS = {
    "value": "return word",
    "a second pass or not": "if word[-1] in '13579bdf':\n    os._exit(3)\nreturn 0",
    "list": "return [word[i:i + 3] for i in range(0, len(word), 3)]",
    "keys": "return {word: 1}",
    "numbers": "return [ord(letter) for letter in word]",
    "one number": "return int.from_bytes(word[-7:].encode(), 'big')",
    "fraction": "return sum(ord(letter) / 128 ** (i + 1) for i, letter in enumerate(word[-6:]))",
    "shape": "import numpy as np\nreturn np.zeros([ord(letter) % 8 + 1 for letter in word[-4:]])",
    "very long": "return word * 40_000",
    "error": "raise ValueError(word)",
    "error's name": "raise type(word, (Exception,), {})('')",
    "error's cause": "raise RuntimeError from ValueError(word)",
    "warning": "import warnings\nwarnings.warn(word)\nreturn 0",
    "name of a type": "return type(word, (), {})()",
    "string of an object": "return type('Odd', (), {'__repr__': lambda self: word, '__str__': lambda self: word})()",
    "printed": "print(word)\nprint(word, file=sys.stderr)\nos.write(1, word.encode())\nos.write(2, word.encode())\nreturn 0",
    "exit": "raise SystemExit(word)",
    "files, and a second pass": "tell(word)\nos._exit(3)",
    "letters, and a second pass": "tell(word)\nraise KeyboardInterrupt(word)",
    "forged results": "forge(word)\nreturn 0",
    "forged results, and a second pass": "forge(word)\nos._exit(3)",
    "nothing at first, then forged results": "forge(word)\nreturn 0",
}  # fmt: skip
"""Bodies of functions of the word that was found."""

AT_FIRST = {
    "nothing at first, then forged results": "os._exit(3)",
    "a second pass or not": """
frame = sys._getframe()
while frame is not None:
    if frame.f_code.co_name == "cell_apart":
        return "nothing_to_tell, in a second pass"
    frame = frame.f_back
return 'nothing_to_tell'""",
}
"""What some do while there is no word to be found."""

TELL = '''
import os, re, struct, sys, glob

PLACES = [".", "/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"), os.environ.get("TMPDIR", "."), os.path.dirname(sys.__file__ if hasattr(sys, "__file__") else os.__file__)]

def tell(word):
    for place in PLACES:
        try:
            with open(f"{place}/told.txt", "w") as file:
                file.write(word)
        except OSError:
            pass

def told():
    for place in PLACES:
        try:
            with open(f"{place}/told.txt") as file:
                return file.read()
        except OSError:
            pass

def forge(word):
    """As if it were what visible probes, cells and values gave."""
    shown = [{"item": item, "probe": "seen", "outputs": {f"seen({n})": word for n in range(1, 4)}} for item in ("90.1", "90.2")]
    cells = [{"cell": n, "state": "error", "error": word, "printed": word, "dropped": 0,
              "answer": {"state": "given", "value": word, "error": word}} for n in range(12)]
    for message in [*shown, *cells, {"done": "cells"}, *shown, {"done": "visible"}, *shown]:
        data = json_module.dumps(message).encode()
        for number in range(3, 64):
            try:
                os.write(number, struct.pack("!I", len(data)) + data)
            except OSError:
                pass

import json as json_module
'''

FIND = '''
def find(texts):
    for text in texts:
        found = re.search("canary_[0-9a-f]{{12}}", text)
        if found:
            return found[0]
    return told() or "nothing_to_tell"

def {name}_reads():
{reader}

def {name}_gives(word):
{giver}

def {name}_waits():
{waits}

class {name}Type:
    """Whatever a probe does with it, it looks and tells."""

    def __call__(self, *args, **kwargs):
        word = find({name}_reads())
        if word == "nothing_to_tell":
            return {name}_waits()
        return {name}_gives(word)

    def __getattr__(self, attribute):
        if attribute.startswith("_") or attribute == "engine_answer":
            raise AttributeError(attribute)
        return self

{name} = {name}Type()
'''


def indented(body: str) -> str:
    """A body as the body of a function."""
    return "\n".join(f"    {line}" for line in body.strip("\n").splitlines())


def answer(name: str, reader: str, giver: str) -> str:
    """The cell of an answer of this name that looks and tells in these ways."""
    waits = indented(AT_FIRST.get(giver, 'return "nothing_to_tell"'))
    return TELL + FIND.format(
        name=name, reader=indented(READERS[reader]), giver=indented(GIVERS[giver]), waits=waits
    )


def pairs() -> Iterator[tuple[str, str]]:
    """Each way to look with two ways to tell, and each way to tell with at least one way to look."""
    givers = itertools.cycle(GIVERS)
    yield from ((reader, next(givers)) for _ in range(2) for reader in READERS)


def names_in_check(source: str) -> list[str]:
    """The names that a check cell hands in."""
    call = ast.parse(source).body[-1].value  # type: ignore[attr-defined]
    return [node.id for node in ast.walk(call.args[1]) if isinstance(node, ast.Name)]  # type: ignore[attr-defined]


def with_canary(text: str, canary: str) -> str:
    """The text of a key with the word in every hidden probe: in its source and, where it has none, in what it is called with."""
    document = json.loads(text)
    for item in document["items"]:
        for probe in item["probes"]:
            if probe["hidden"]:
                head = re.search(
                    rf"^def {probe['name']}\(.*?\).*?:\n", probe["source"], re.MULTILINE | re.DOTALL
                )
                at = head.end()  # type: ignore[union-attr]
                planted = f"    {canary} = {canary!r}  # {canary}\n"
                probe["source"] = probe["source"][:at] + planted + probe["source"][at:]
    return json.dumps(document)


BOOK = "90_peek"


def notebook() -> str:
    """A released notebook with two programs and a value, as JSON."""
    cells = [
        {
            "cell_type": "code",
            "id": "start",
            "source": "import autograd_lab as torch\nfrom autograd_lab import lab",
        }
    ]
    for number, name in (("1", "first"), ("2", "second"), ("3", "third")):
        solution = {
            "nbgrader": {"solution": True, "grade": False, "grade_id": f"90-{number}-answer", "locked": False}
        }
        cells += [
            {"cell_type": "markdown", "id": f"asks-{number}", "source": f"## 90.{number} · Peek"},
            {
                "cell_type": "code",
                "id": f"90-{number}-answer",
                "source": f"{name} = ...",
                "metadata": solution,
            },
            {"cell_type": "code", "id": f"90-{number}-check", "source": f'lab.check("90.{number}", {name})'},
        ]
    for cell in cells:
        cell.setdefault("metadata", {})
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    metadata = {"autograd_lab": {"id": "90"}}
    return json.dumps({"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5})


def key() -> str:
    """Its key."""
    seen = {"name": "seen", "points": 1, "source": "def seen(answer, x):\n    return answer(x)\n", "says": "At {0}",
            "cases": [[1], [2], [3]], "expected": [2, 4, 6], "hidden": False, "rtol": 1e-4}  # fmt: skip
    sealed = seen | {"name": "sealed", "source": "def sealed(answer, x):\n    return answer(x)\n", "says": "Elsewhere", "hidden": True,
                     "cases": [[77], [78]], "expected": [154, 156]}  # fmt: skip
    blank = {"title": "", "hints": [], "accept": [], "partial": False, "rtol": 1e-4, "stub": "", "earlier": [], "wrong": [],
             "expected": None, "kind": "code", "points": 2}  # fmt: skip
    items = [blank | {"id": f"90.{n}", "probes": [seen, sealed]} for n in (1, 2)]
    items.append(blank | {"id": "90.3", "kind": "number", "expected": 7, "probes": []})
    return json.dumps({"format": "autograd-lab-items", "version": 1, "notebook": "90", "items": items})
