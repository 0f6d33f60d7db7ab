"""Replay conformance cases: what a torch-like module does, as data.

A *bank* is a JSON file ``{"meta": ..., "cases": [...]}``.  A case is an id
(``topic/name``), the group of semantics it belongs to, a title, a few lines of
code that see ``torch`` and ``np`` and leave a dict ``out``, and under
``golden`` the record of what real PyTorch did.  There are two banks:

    public   public.json beside this file: the project's reference bank, copied as it came
    own      tests/recordings/conformance.json: recorded from ``cases/<topic>.py`` on PyTorch 2.13.0

Recording needs PyTorch, replaying does not:

    python -m tests.record conformance
    python tests/conformance/runner.py replay --module autograd_lab [--bank own] [--only TOPIC] [-v]

What counts in a record: the names in ``out`` and their values, where a tensor
is its values, dtype, shape, requires_grad, is_leaf and the type name of its
grad_fn; an exception is its type and the first 60 characters of its message;
the warnings raised are a set of (category, first 60 characters).  Messages are
cleaned first of what may differ between two runs (addresses, file names, the
module's own name).  Floats agree up to the tolerance of their dtype.
"""

import argparse
import contextlib
import importlib
import io
import json
import math
import re
import signal
import sys
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
BANKS = {"public": HERE / "public.json", "own": HERE.parent / "recordings" / "conformance.json"}
SOURCES = HERE / "cases"

PREFIX = 60  # characters of a message that must agree
SECONDS = 5.0  # limit for one case, in processor time
WARM_UP_SECONDS = 60.0
MAX_DEPTH = 8
TOLERANCE = {  # dtype -> (relative, absolute); None is a Python number
    None: (1e-5, 1e-7),
    "float64": (1e-5, 1e-7),
    "float32": (1e-4, 1e-6),
    "float16": (2e-3, 1e-4),
    "bfloat16": (1e-2, 1e-3),
}
DIGITS = {"float64": 15, "float32": 9, "float16": 6, "bfloat16": 6}
DTYPE_NAMES = {*DIGITS, "bool", "uint8", "int8", "int16", "int32", "int64"}
QUIET_WARNINGS = (DeprecationWarning, PendingDeprecationWarning, ResourceWarning, ImportWarning)
TYPED_TENSORS = "Float|Double|Half|BFloat16|Int|Long|Short|Char|Byte|Bool"


# ---------------------------------------------------------------------------
# Case sources
# ---------------------------------------------------------------------------


def load_sources(folder=SOURCES):
    """Read ``cases/*.py`` into a list of cases without ``golden``.

    A file is a topic.  Two marker lines divide it; what follows a case marker,
    up to the next marker, is that case's code:

        # [group] NAME
        # [case] NAME | TITLE
    """
    cases = []
    for path in sorted(Path(folder).glob("*.py")):
        group = case = None
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# [group] "):
                group, case = line.removeprefix("# [group] ").strip(), None
            elif line.startswith("# [case] "):
                if group is None:
                    raise ValueError(f"{path.name}: a case before the first group")
                name, title = (part.strip() for part in line.removeprefix("# [case] ").split("|", 1))
                case = {"id": f"{path.stem}/{name}", "group": group, "title": title, "code": []}
                cases.append(case)
            elif case is not None:
                case["code"].append(line)
    for case in cases:
        case["code"] = "\n".join(case["code"]).strip("\n") + "\n"
    repeated = [name for name, n in Counter(case["id"] for case in cases).items() if n > 1]
    if repeated:
        raise ValueError(f"repeated case ids: {repeated}")
    return cases


def topic_of(case):
    """The topic a case belongs to: the first half of its id."""
    return case["id"].split("/")[0]


# ---------------------------------------------------------------------------
# Any value -> plain JSON
# ---------------------------------------------------------------------------


def clean_message(text, module):
    """Put a placeholder where a message may differ between runs or modules."""
    text = re.sub(r"\s*\(Triggered internally at .*?\)", "", str(text), flags=re.DOTALL)
    text = re.sub(r"0x[0-9a-fA-F]+", "<addr>", text)
    text = re.sub(r'File "[^"]*", line \d+', "<file>", text)
    text = re.sub(r"[\w./\\<>-]+\.(?:py|cpp|h|cu)(?::\d+)+", "<file>", text)
    names = "|".join(re.escape(name) for name in sorted({module, "torch"}))
    text = re.sub(rf"\b(?:{names})\.(?:\w+\.)*(?:{TYPED_TENSORS})Tensor\b", "<tensortype>", text)
    text = re.sub(rf"\b(?:{names})(?:\.\w+)*\.(\w+)", r"<mod>.\1", text)
    return " ".join(text.split())


def as_number(value, dtype=None):
    """Round a float to the digits its dtype holds; write inf and nan as text."""
    value = float(value)
    if math.isfinite(value):
        return float(f"{value:.{DIGITS.get(dtype, 15)}g}")
    return {"float": repr(value)}


def as_numbers(values, dtype):
    """Apply `as_number` to every float in nested lists."""
    if isinstance(values, list):
        return [as_numbers(v, dtype) for v in values]
    return as_number(values, dtype) if isinstance(values, float) else values


def as_exception(exc, module):
    """The record of an exception: its type's name and its cleaned message."""
    return {"exc": type(exc).__name__, "msg": clean_message(exc, module)}


def is_tensor(value):
    """Whether a value quacks like a tensor; the runner knows no tensor class."""
    methods = all(hasattr(type(value), name) for name in ("backward", "tolist"))
    return methods and hasattr(value, "dtype") and hasattr(value, "shape")


def as_tensor(value, module):
    """The record of a tensor; a property that raises is recorded as its error."""
    dtype = str(value.dtype).rsplit(".", 1)[-1]

    def read(thunk):
        try:
            return thunk()
        except Exception as exc:
            return as_exception(exc, module)

    def node_name():
        node = value.grad_fn
        return None if node is None else type(node).__name__

    return {
        "t": read(lambda: as_numbers(value.tolist(), dtype)),
        "dtype": dtype,
        "shape": [int(n) for n in value.shape],
        "requires_grad": read(lambda: bool(value.requires_grad)),
        "is_leaf": read(lambda: bool(value.is_leaf)),
        "grad_fn": read(node_name),
    }


def as_json(value, module, depth=0):
    """Turn one value of ``out`` into plain JSON."""
    if depth > MAX_DEPTH:
        raise ValueError("out is nested too deeply")

    def inner(v):
        return as_json(v, module, depth + 1)

    builtin = type(value).__module__ == "builtins"
    if value is None or isinstance(value, bool | str) or (builtin and isinstance(value, int)):
        return value
    if builtin and isinstance(value, float):
        return as_number(value)
    if isinstance(value, BaseException):
        return as_exception(value, module)
    if isinstance(value, type):
        return {"class": value.__name__}
    if isinstance(value, np.generic | np.ndarray):
        dtype = str(value.dtype)
        return {"numpy": as_numbers(value.tolist(), dtype), "dtype": dtype}
    if is_tensor(value):
        return as_tensor(value, module)
    if isinstance(value, dict):
        return {"dict": [[inner(k), inner(v)] for k, v in value.items()]}
    if isinstance(value, tuple):
        return {"tuple": [inner(v) for v in value]}
    if isinstance(value, list):
        return {"list": [inner(v) for v in value]}
    if hasattr(value, "next_functions"):
        return {"node": type(value).__name__}
    last_word = str(value).rsplit(".", 1)[-1]
    return {"dtype": last_word} if last_word in DTYPE_NAMES else {"object": type(value).__name__}


# ---------------------------------------------------------------------------
# Running one case
# ---------------------------------------------------------------------------


class OutOfTime(BaseException):
    """Raised by the alarm; no Exception, so that a case cannot swallow it."""


@contextlib.contextmanager
def time_limit(seconds):
    """Raise `OutOfTime` inside the block after so many seconds of processor time (where such timers exist).

    Not of the clock's time: a machine that is busy, or a process that is paused, would end whatever case runs then.
    """
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(signum, frame):
        raise OutOfTime(f"no answer within {seconds:g} s")

    previous = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, previous)


def reset_switches(torch):
    """Put back the global switches that an earlier case may have left behind."""
    switches = (
        lambda: torch.set_grad_enabled(True),
        lambda: torch.autograd.set_detect_anomaly(False),
        lambda: torch.set_default_dtype(torch.float32),
        lambda: torch.set_warn_always(True),  # PyTorch gives some warnings only once
    )
    for switch in switches:
        with contextlib.suppress(Exception):
            switch()


def warm_up(torch):
    """Touch what a module imports late, so that no case pays for it in seconds."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        with contextlib.suppress(Exception, OutOfTime), time_limit(WARM_UP_SECONDS):
            x = torch.tensor([1.0], requires_grad=True)
            y = torch.utils.checkpoint.checkpoint(lambda a: a * 2, x, use_reentrant=False)
            y.sum().backward()


def run_case(case, torch, module):
    """Run a case in a fresh namespace.

    Returns
    -------
    dict
        ``out`` and ``warnings``, and ``raised`` if the code ended in an exception.
    """
    reset_switches(torch)
    space = {"torch": torch, "np": np, "__name__": "case"}
    record = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            code = compile(case["code"], f"<case {case['id']}>", "exec")
            with time_limit(SECONDS), contextlib.redirect_stdout(io.StringIO()):
                exec(code, space)
        except KeyboardInterrupt:
            raise
        except BaseException as exc:
            record["raised"] = as_exception(exc, module)
    issued = {
        (w.category.__name__, clean_message(w.message, module)[:PREFIX])
        for w in caught
        if not issubclass(w.category, QUIET_WARNINGS)
    }
    record["warnings"] = [list(pair) for pair in sorted(issued)]
    record["out"] = read_out(space.get("out"), module)
    return record


def read_out(out, module):
    """Turn the dict a case left behind into plain JSON, value by value."""
    if not isinstance(out, dict):
        return {"out": {"object": "missing"}}
    record = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, value in out.items():
            try:
                with time_limit(SECONDS):
                    record[str(key)] = as_json(value, module)
            except KeyboardInterrupt:
                raise
            except BaseException as exc:
                record[str(key)] = {"unreadable": as_exception(exc, module)}
    return record


# ---------------------------------------------------------------------------
# Comparing two records
# ---------------------------------------------------------------------------


def is_plain_number(value):
    """Whether a value is an int or a float; a bool is neither here."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def brief(value):
    """JSON of a value, cut to fit a line."""
    text = json.dumps(value)
    return text if len(text) <= 160 else text[:157] + "..."


def differences(want, got, where, dtype=None):
    """Yield a line for each way in which `got` differs from `want`."""
    if is_plain_number(want) and is_plain_number(got):
        yield from number_differences(want, got, where, dtype)
    elif isinstance(want, dict) and isinstance(got, dict):
        if "exc" in want and "exc" in got:
            yield from exception_differences(want, got, where)
        elif want.keys() != got.keys():
            yield f"{where}: expected {brief(want)}, got {brief(got)}"
        else:
            inner = want["dtype"] if isinstance(want.get("dtype"), str) else None
            for key in want:
                structural = key in ("t", "tuple", "list", "dict", "numpy", "float")
                place = where if structural else f"{where}.{key}"
                yield from differences(want[key], got[key], place, inner)
    elif isinstance(want, list) and isinstance(got, list):
        if len(want) != len(got):
            yield f"{where}: expected {brief(want)}, got {brief(got)}"
            return
        for i, (a, b) in enumerate(zip(want, got, strict=True)):
            yield from differences(a, b, f"{where}[{i}]", dtype)
    elif type(want) is not type(got) or want != got:
        yield f"{where}: expected {brief(want)}, got {brief(got)}"


def number_differences(want, got, where, dtype):
    """Ints agree exactly, floats up to the dtype's tolerance, and never mix."""
    if isinstance(want, int) != isinstance(got, int):
        yield f"{where}: expected {want!r}, got {got!r} (int against float)"
    elif isinstance(want, int):
        if want != got:
            yield f"{where}: expected {want}, got {got}"
    else:
        relative, absolute = TOLERANCE.get(dtype, TOLERANCE[None])
        if not abs(want - got) <= absolute + relative * abs(want):
            yield f"{where}: expected {want!r}, got {got!r}"


def exception_differences(want, got, where):
    """Exceptions agree in type and in the beginning of the message, case aside."""
    if want["exc"] != got["exc"]:
        yield f"{where}: expected {want['exc']}, got {got['exc']} ({got['msg'][:PREFIX]})"
    if want["msg"][:PREFIX].lower() != got["msg"][:PREFIX].lower():
        yield (f"{where}: expected the message {want['msg'][:PREFIX]!r}, got {got['msg'][:PREFIX]!r}")


def compare(want, got):
    """List the differences between two records; an empty list means a pass."""
    if "raised" in got and "raised" not in want:  # after a stray exception the rest is noise
        return [f"raised {got['raised']['exc']}: {got['raised']['msg'][:160]}"]
    lines = []
    if "raised" in want and "raised" not in got:
        lines.append(f"expected {want['raised']['exc']} to end the case; nothing was raised")
    elif "raised" in want:
        lines += differences(want["raised"], got["raised"], "raised")
        if lines:
            return lines
    for key, value in want["out"].items():
        if key in got["out"]:
            lines += differences(value, got["out"][key], key)
        else:
            lines.append(f"out[{key!r}] is missing")
    lines += [f"out[{key!r}] was not expected" for key in got["out"] if key not in want["out"]]
    wanted = {(category, text.lower()) for category, text in want["warnings"]}
    issued = {(category, text.lower()) for category, text in got["warnings"]}
    lines += [f"expected the warning {c}: {m}" for c, m in sorted(wanted - issued)]
    lines += [f"unexpected warning {c}: {m}" for c, m in sorted(issued - wanted)]
    return lines


# ---------------------------------------------------------------------------
# Banks and the command line
# ---------------------------------------------------------------------------


def read_bank(path):
    """The cases of a bank, in order."""
    return json.loads(Path(path).read_text(encoding="utf-8"))["cases"]


def selected(cases, only):
    """The cases whose topic or id is named in `only` (all, if it is empty)."""
    return [c for c in cases if not only or topic_of(c) in only or c["id"] in only]


def recorded_bank(torch):
    """The own bank, recorded from its sources twice, the second time backwards; refuses unstable cases."""
    module = torch.__name__
    warm_up(torch)
    cases = load_sources()
    for case in cases:
        case["golden"] = run_case(case, torch, module)
    again = {case["id"]: run_case(case, torch, module) for case in reversed(cases)}
    unstable = [
        f"{case['id']}: {line}" for case in cases for line in compare(case["golden"], again[case["id"]])
    ]
    if unstable:
        raise SystemExit("\n".join(["not the same twice:", *unstable]))
    meta = {
        "bank": "own",
        "cases": len(cases),
        "module": module,
        "prefix": PREFIX,
        "version": str(torch.__version__),
    }
    return {"meta": meta, "cases": cases}


def replay(module, path, only=(), verbose=False):
    """Replay a bank, print the passes per topic; return whether all passed."""
    torch = importlib.import_module(module)
    warm_up(torch)
    cases = selected(read_bank(path), only)
    passed, total = Counter(), Counter()
    for case in cases:
        lines = compare(case["golden"], run_case(case, torch, module))
        total[topic_of(case)] += 1
        passed[topic_of(case)] += not lines
        if lines and verbose:
            print(f"FAIL {case['id']}: {case['title']}", *lines[:6], sep="\n     ")
    for topic in sorted(total):
        print(f"{topic:<16} {passed[topic]:>3}/{total[topic]}")
    print(f"conformance: {passed.total()}/{total.total()}")
    return passed == total


def main(argv=None):
    """Command line: ``replay``."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("command", choices=["replay"])
    parser.add_argument("--module", required=True, help="the module to bind to `torch`")
    parser.add_argument("--bank", default="own", help="public, own, or the path of a bank")
    parser.add_argument("--only", action="append", default=[], help="a topic or a case id")
    parser.add_argument("-v", "--verbose", action="store_true", help="say why each case failed")
    args = parser.parse_args(argv)
    path = BANKS.get(args.bank, args.bank)
    return 0 if replay(args.module, path, args.only, args.verbose) else 1


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    sys.exit(main())
