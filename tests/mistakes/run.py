"""Learners' mistakes, and what `lab.why` says about them: `python tests/mistakes/run.py` prints programs tried, right, wrong.

The programs are in programs/*.py, in percent form, as a learner would write them in a cell:

    # %% cut-by-item | item | lab.why(w) | template: mse-by-hand
    # says: the number in w
    w = torch.tensor(2.0, requires_grad=True)
    loss = torch.tensor(w.item() ** 2, requires_grad=True)
    loss.backward()
    # %% cure
    # grad: w.grad == 4.0
    w = torch.tensor(2.0, requires_grad=True)
    (w ** 2).backward()

The heading has an id, the cause that `lab.why` must name, the question, and options: `template: NAME` for programs of one kind (at
most three of each), `ours: REASON` for one that real PyTorch cannot run. Each `says` line must be part of the answer's first
sentence. A cure is the program with the advice applied by hand; each `grad` line in it states a value that it must then have. A `grad`
line in the mistaken program itself is for the program with the answer's own changes of lines (`Why.edits`) made.

Each program runs on autograd_lab under `lab.record()` and on PyTorch, where it is installed, under `lab.record_torch()`. One that
calls `record()` itself chooses what is recorded. The question is asked after the program, also if that ended with an error.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import linecache
import math
import re
import sys
import textwrap
import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from autograd_lab import lab
from autograd_lab.tracing.why import Why

PROGRAMS = Path(__file__).parent / "programs"
ENGINES = ("autograd_lab", "torch") if importlib.util.find_spec("torch") else ("autograd_lab",)
RECORD = {"autograd_lab": lab.record, "torch": lab.record_torch}


@dataclass(frozen=True)
class Mistake:
    """One program, and the answer it must get."""

    name: str
    cause: str
    question: str
    says: tuple[str, ...]
    source: str
    cure: str = ""
    grads: tuple[tuple[str, Any], ...] = ()  # of the cure
    edited: tuple[tuple[str, Any], ...] = ()  # of the program with the answer's own changes
    options: dict[str, str] = field(default_factory=dict)

    @property
    def engines(self) -> tuple[str, ...]:
        """Where it can run."""
        return ("autograd_lab",) if "ours" in self.options else ENGINES


def read() -> list[Mistake]:
    """All programs of the bank."""
    found = []
    for path in sorted(PROGRAMS.glob("*.py")):
        _, *cells = re.split(r"^# %% *", path.read_text("utf-8"), flags=re.MULTILINE)
        for cell in cells:
            heading, _, source = cell.partition("\n")
            if heading.strip() == "cure":
                found[-1] = with_cure(found[-1], source)
            else:
                found.append(mistake(path, heading, source))
    names = [m.name for m in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"two programs of one name: {', '.join(twice)}")
    return found


def mistake(path: Path, heading: str, source: str) -> Mistake:
    """A program from its heading and its text. Raises ValueError if something of it is missing."""
    parts = [part.strip() for part in heading.split("|")]
    says = tuple(re.findall(r"^# says: (.*\S)", source, flags=re.MULTILINE))
    if len(parts) not in (3, 4) or not says:
        raise ValueError(
            f"{path.name}: {heading!r} needs id | cause | question | options, and a `# says:` line"
        )
    options = {}
    for option in parts[3].split(",") if len(parts) == 4 else ():
        key, _, value = option.partition(":")
        options[key.strip()] = value.strip()
    return Mistake(*parts[:3], says, without_notes(source), options=options, edited=expected(source))


def expected(source: str) -> tuple[tuple[str, str], ...]:
    """The (expression, value) of each `grad` line."""
    return tuple(re.findall(r"^# grad: (.*\S) == (.*\S)", source, flags=re.MULTILINE))


def with_cure(broken: Mistake, source: str) -> Mistake:
    """The mistake with its cure and what that must give."""
    grads = expected(source)
    if not grads:
        raise ValueError(f"the cure of {broken.name} has no `# grad: ... == ...` line")
    return replace(broken, cure=without_notes(source), grads=grads)


def without_notes(source: str) -> str:
    return re.sub(r"^# (says|grad): .*\n", "", source, flags=re.MULTILINE).strip("\n") + "\n"


def namespace(engine: str) -> dict[str, Any]:
    """What a program finds imported."""
    torch = importlib.import_module(engine)
    torch.default_generator.manual_seed(0)  # torch.manual_seed also asks for the stack
    return {
        "__name__": "__main__", "torch": torch, "nn": importlib.import_module(engine + ".nn"),
        "F": importlib.import_module(engine + ".nn.functional"), "lab": lab, "np": np, "math": math, "record": RECORD[engine],
    }  # fmt: skip


def execute(name: str, source: str, scope: dict[str, Any]) -> BaseException | None:
    """Run a program as a notebook runs a cell; returns the error it ended with."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, name, "exec"), scope)
        except Exception as error:  # the mistake
            return error
        finally:
            scope["torch"].set_grad_enabled(True)
            scope["torch"].set_default_dtype(scope["torch"].float32)
    return None


def answer(m: Mistake, engine: str) -> Why:
    """What `lab.why` says after the program."""
    return answer_and_scope(m.name, m.question, m.source, engine)[0]


@cache
def answer_and_scope(name: str, question: str, source: str, engine: str) -> tuple[Why, dict[str, Any]]:
    """The same, once for each program, and what it left behind."""
    scope = namespace(engine)
    execute(f"<{name}>", recorded(source), scope)
    return eval(question, scope), scope


def recorded(source: str) -> str:
    """A program as it is run: in the block of a recording."""
    if re.search(r"\brecord\(", source):
        return source
    return "with record() as trace:\n" + textwrap.indent(source, "    ")


def applied(source: str, found: Why) -> str:
    """A program with the answer's changes of lines."""
    lines = source.splitlines()
    for edit in sorted(found.edits, key=lambda edit: -edit.number):
        lines[edit.number - 1 : edit.number] = edit.text.splitlines()
    return "\n".join(lines) + "\n"


def complaint(m: Mistake, engine: str) -> str:
    """What is wrong with the answer, or ''."""
    try:
        found = answer(m, engine)
    except Exception as error:
        return f"lab.why raised {type(error).__name__}: {error}"
    if found.cause != m.cause:
        return f"the cause is {m.cause}, but the answer says {found.cause}: {found.sentences[0]}"
    unsaid = [words for words in m.says if words not in found.sentences[0]]
    return f"the first sentence does not say {unsaid[0]!r}: {found.sentences[0]}" if unsaid else ""


def uncured(m: Mistake, engine: str) -> str:
    """What the program cured by hand has instead of the right gradient, or ''."""
    return misses(f"<{m.name}, cured>", m.cure, m.grads, engine)


def unmended(m: Mistake, engine: str) -> str:
    """What the program has instead of the right gradient once the answer's own changes are made, or ''."""
    found = answer(m, engine)
    if not found.edits:
        return f"the answer [{found.cause}] changes no line: {found.fix}"
    source = applied(recorded(m.source), found)
    wrong = misses(f"<{m.name}, mended>", source, m.edited, engine)
    return wrong and f"{wrong}, in\n{source}"


def broken_edits(m: Mistake, engine: str) -> str:
    """What is wrong with the program once the answer's own changes are made: it stops, or has the same cause as before; or ''."""
    found = answer(m, engine)
    if not found.edits:
        return ""
    source = applied(recorded(m.source), found)
    scope = namespace(engine)
    error = execute(f"<{m.name}, mended>", source, scope)
    if error is not None:
        return f"the changes of [{found.cause}] end with {type(error).__name__}: {error}, in\n{source}"
    if eval(m.question, scope).cause == found.cause:
        return f"the cause is still {found.cause}, in\n{source}"
    return ""


def misses(name: str, source: str, grads: tuple[tuple[str, Any], ...], engine: str) -> str:
    """What a program has instead of the gradients that it must have, or ''."""
    scope = namespace(engine) | {"record": contextlib.nullcontext}
    error = execute(name, source, scope)
    if error is not None:
        return f"the cure raised {type(error).__name__}: {error}"
    for expression, value in grads:
        got = eval(expression, scope)
        if got is None:
            return f"{expression} is None, not {value}"
        wanted = np.asarray(eval(value, scope), dtype=np.float64)
        got = np.asarray(got.tolist() if hasattr(got, "tolist") else got, dtype=np.float64)
        if got.shape != wanted.shape or not np.allclose(got, wanted, rtol=1e-4, atol=1e-6):
            return f"{expression} is {got}, not {wanted}"
    return ""


def main() -> int:
    """Print the table, and each wrong answer; returns how many there are."""
    only = sys.argv[1:]
    bank = [m for m in read() if not only or any(word in m.name or word == m.cause for word in only)]
    wrong = [(engine, m, text) for m in bank for engine in m.engines if (text := complaint(m, engine))]
    wrong += [
        (engine, m, text)
        for m in bank
        for engine in m.engines
        if m.edited and not complaint(m, engine) and (text := unmended(m, engine))
    ]
    for engine, m, text in wrong:
        print(f"{engine}, {m.name}: {text}")
    print(f"\n{len(bank)} programs, {len({m.cause for m in bank})} causes")
    print(f"{'engine':<16}{'tried':>8}{'right':>8}{'wrong':>8}")
    for engine in ENGINES:
        tried = sum(engine in m.engines for m in bank)
        failed = sum(e == engine for e, _, _ in wrong)
        print(f"{engine:<16}{tried:>8}{tried - failed:>8}{failed:>8}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
