"""The inputs of a program that are one number, such as `x = torch.tensor(3.0, requires_grad=True)`: found in its text, and changed there.

A page with an editor runs the changed text; the text in the editor stays as it is.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

from autograd_lab.tracing.trace import Record, Trace


def literals(source: str) -> dict[str, ast.expr]:
    """{name: its number} of statements `name = torch.tensor(number, ...)` outside of loops, branches and functions.

    A name that is assigned more than once at that place is none: it would not say which is meant.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return {}
    found: dict[str, ast.expr | None] = {}
    for one in body:
        if isinstance(one, ast.Assign):
            for target in one.targets:
                if isinstance(target, ast.Name):
                    alone = len(one.targets) == 1 and target.id not in found
                    found[target.id] = _number_of(one.value) if alone else None
    return {name: number for name, number in found.items() if number is not None}


def _number_of(value: ast.expr) -> ast.expr | None:
    if not (isinstance(value, ast.Call) and value.args):
        return None
    called = value.func.attr if isinstance(value.func, ast.Attribute) else getattr(value.func, "id", "")
    number = value.args[0]
    inside = number.operand if isinstance(number, ast.UnaryOp) and isinstance(number.op, ast.USub) else number
    plain = isinstance(inside, ast.Constant) and type(inside.value) in (int, float)
    return number if called == "tensor" and plain else None


def changed(source: str, values: dict[str, str]) -> str:
    """The program with other numbers for some of its `literals`. Raises ValueError if there is no such input or no number."""
    places = literals(source)
    lines = source.encode().splitlines(keepends=True)  # ast counts bytes
    missing = [name for name in values if name not in places]
    if missing:
        raise ValueError(f"there is no input {missing[0]!r} that is one number in this program")
    for name in sorted(values, key=lambda name: (places[name].lineno, places[name].col_offset), reverse=True):
        at, text = places[name], repr(_read(name, values[name], places[name]))
        line, last = at.lineno - 1, (at.end_lineno or at.lineno) - 1
        whole = b"".join(lines[line : last + 1])
        end = len(whole) - len(lines[last]) + (at.end_col_offset or 0)
        lines[line : last + 1] = [whole[: at.col_offset] + text.encode() + whole[end:]]
    return b"".join(lines).decode()


def _read(name: str, text: str, number: ast.expr) -> float | int:
    from autograd_lab.tracing.answers import AnswerError, Number, read_one

    try:
        value: Any = read_one(text)
    except AnswerError as error:
        raise ValueError(f"{error} {name} stays as it is.") from None
    x = value.x if isinstance(value, Number) else value
    if x is None:
        raise ValueError(f"{name} needs a number. It stays as it is.")
    if isinstance(_value(number), int):
        if x != int(x):
            raise ValueError(f"{name} holds whole numbers. It stays as it is.")
        return int(x)
    return float(x)


def _value(number: ast.expr) -> float | int:
    found: float | int = ast.literal_eval(number)
    return found


def inputs(trace: Trace, source: str, values: dict[str, str] | None = None) -> list[Record]:
    """What the front end offers for editing, as Rerun has it: the literals that are leaves of the trace, now with these values."""
    from .runs import stops, written

    found = []
    for name, number in literals(source).items():
        t = next((e["t"] for e in trace if e["k"] == "leaf" and trace.tensors[e["t"]]["name"] == name and not trace.tensors[e["t"]]["shape"]), None)  # fmt: skip
        if t is not None:
            first = _value(number)
            now = first if name not in (values or {}) else _read(name, (values or {})[name], number)
            here = {"t": t, "name": name, "text": written(now), "changed": now != first}
            found.append(here | {"stops": stops(now, stops(first))})
    return found


def slid(source: str, asked: Record, begin: Callable[[], object], run: Callable[..., Any]) -> Record:
    """Run a program with other numbers: {"error"} if that fails, else {"error": "", "film", "inputs"}, and "nudge" if it is asked for.

    asked   "values": {name: text} of the inputs that are not as they are written; "name": the one that moves; "more": whether it goes on;
            "h": the size of a nudge
    begin   called before each run: sets what a program that runs alone finds
    run     `program.run` with its limits and file
    """  # fmt: skip
    from .frames import film
    from .wire import encode

    values = asked["values"]
    try:
        text = changed(source, values)
    except ValueError as error:
        return {"error": str(error)}
    begin()
    ran = run(text, lambda printed: None)
    if ran.error is not None or ran.trace is None or ran.cut:
        said = "takes too long, or too many steps"
        if ran.error is not None:
            said = f"raises {ran.error['type']}: {ran.error['message']}"
        return {"error": f"With this value the program {said}"}
    answer: Record = {
        "error": "",
        "film": encode(film(ran.trace)),
        "inputs": inputs(ran.trace, source, values),
    }
    if "h" in asked and asked.get("name"):
        answer["nudge"] = _nudged(source, asked, ran.variables, ran.trace, begin)
    return answer


def _nudged(
    source: str, asked: Record, namespace: dict[str, Any], trace: Trace, begin: Callable[[], object]
) -> Record:
    """What nudge.py measures, for the result from which the program's last pass starts: it needs a name."""
    from .nudge import measured

    name, values = asked["name"], asked["values"]
    roots = [e["of"] for e in trace if e["k"] == "backward" and e.get("of")]
    result = trace.tensors[roots[-1][0]]["name"] if roots else ""
    x = namespace.get(name)
    found: Record = {"name": name, "gradient": None, "dtype": str(getattr(x, "dtype", "")).split(".")[-1]}
    if not result.isidentifier() or result not in namespace or x is None:
        why = "The quotient needs the result in a variable: write y = ..., then y.backward()."
        return found | {"h": [], "q": [], "why": why}

    def after(value: float | None) -> Any:
        if value is None:
            return namespace[result]
        again: dict[str, Any] = {"__name__": "__main__", "__builtins__": __builtins__}
        begin()
        with redirect_stdout(io.StringIO()):
            exec(compile(changed(source, values | {name: repr(value)}), "program.py", "exec"), again)
        return again[result]

    gradient = None if x.grad is None else x.grad.item()
    here = float(_read(name, values[name], literals(source)[name])) if name in values else x.item()
    return measured(found | {"gradient": gradient}, here, after, asked["h"], 0.02 if asked["more"] else 1)
