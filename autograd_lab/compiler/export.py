"""A captured graph as a JSON file, and back: it computes the same numbers in both directions, without the function it came from.

    compiled.save("f.json")             after the first call
    loaded = compiler.load("f.json")    loaded(x) runs it; loaded.parameters are the tensors the function had at hand

The document is plain data with a version of its own (`FORMAT`, `VERSION`). Arrays stand there bit by bit. Reading is strict:
a version, a field, a rule or a number type that is not known here is an error that names it, never a guess. No text of
the document is ever run: what becomes source is rebuilt from the steps, and names must be plain names.
"""

from __future__ import annotations

import base64
import importlib
import json
import keyword
import math
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from .._version import __version__
from ..torchlike.autograd.modes import THREAD
from ..torchlike.autograd.variable import Variable, wrap
from ..torchlike.ops.rule import FUNCTIONS, RULES
from . import graph as ir
from .emit import Writer
from .entry import Captured, Entry
from .graph import Graph, Step, Value
from .guards import World
from .module import OptimizedModule, code_of

FORMAT = "autograd-lab-graph"
VERSION = 1
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
LIBRARY = __name__.split(".")[0]
PARTS = ("joint", "forward", "backward")

Record = dict[str, Any]


class GraphFormatError(ValueError):
    """The document is no captured graph that this version can read; the message says where and why."""


class GraphExportError(ValueError):
    """The graph cannot be written down; the message names the operation and its line."""


@dataclass
class Argument:
    """One input of a captured graph.

    name           what the function calls it: "x", "0.weight"
    given          whether the caller passes it; the others were at hand (parameters, globals) and are kept in the file
    requires_grad  whether it did at the capture
    """

    name: str
    given: bool
    requires_grad: bool


# --- writing ---------------------------------------------------------------------------------------


def save(compiled: Captured | OptimizedModule, path: Any) -> None:
    """Write the newest graph of a compiled function as JSON, with the tensors it had at hand (parameters, globals).

    Raises RuntimeError if there is no graph yet, GraphExportError for a step that cannot be written down, OSError of the file.
    """
    text = json.dumps(document(compiled), indent=1, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def document(compiled: Captured | OptimizedModule) -> Record:
    """What `save` writes, as Python lists and dicts. Raises as `save` does."""
    compiled = code_of(compiled)
    entry = compiled.entry
    refuse_effects(entry, "saved")
    writer = _Table()
    for value in entry.joint.inputs[: entry.n_inputs]:
        writer.number(value)
    graphs = {
        "joint": writer.graph(entry.joint),
        "forward": writer.graph(entry.forward_graph),
        "backward": None if entry.backward_graph is None else writer.graph(entry.backward_graph),
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "written_by": f"autograd_lab {__version__}",
        "name": str(compiled.__name__),
        "inplace": bool(compiled._passes),
        "arguments": [
            {
                "name": one.name,
                "given": one.given,
                "requires_grad": one.requires_grad,
                "data": None if one.given else array_to_json(np.asarray(tensor._data)),
            }
            for one, (_, tensor) in zip(arguments_of(compiled), entry.world.tensors, strict=True)
        ],
        "returns": _structure(entry),
        "entry": {name: getattr(entry, name) for name in _plain_fields(entry)},
        "values": writer.values,
        **graphs,
    }


def refuse_effects(entry: Entry, done: str) -> None:
    """Raise GraphExportError for a graph that does more than compute its results: a file has no buffers and no generator."""
    if entry.effects.views:
        raise GraphExportError(
            f"a graph whose results share their memory cannot be {done}: return a clone() of one"
        )
    if entry.effects:
        what = "writes buffers" if entry.effects.writes else "draws random numbers"
        if entry.effects.passes:
            raise GraphExportError(
                f"a graph with a backward pass in it cannot be {done}: compile the function of the loss, and call backward() outside"
            )
        raise GraphExportError(
            f"a graph that {what} cannot be {done}: call model.eval(), call the compiled function, and try again"
        )


def arguments_of(compiled: Captured) -> list[Argument]:
    """The inputs of the newest graph, in its order."""
    entry = compiled.entry
    found = []
    for i, (path, tensor) in enumerate(entry.world.tensors):
        name = _called(path, compiled)
        found.append(Argument(name, i < entry.world.explicit, bool(tensor.requires_grad)))
    return found


_STEP_OF_A_PATH = re.compile(
    r"^args\[(?P<arg>\d+)\]|^kwargs\['(?P<kwarg>\w+)'\]|^fn|\.__closure__\[(?P<cell>\d+)\]\.cell_contents|"
    r"\.__globals__\['(?P<name>\w+)'\]|\._(?:modules|parameters|buffers)\['(?P<part>\w+)'\]|"
    r"\.__dict__\['(?P<field>\w+)'\]|\[(?P<item>[^\]]+)\]|\.__\w+__|\.(?P<other>\w+)|(?P<rest>.)"
)


def _called(path: str, compiled: Captured) -> str:
    """What the user calls the thing to which a guard's expression leads."""
    words = []
    while path:
        found = _STEP_OF_A_PATH.match(path)
        assert found is not None  # the last alternative takes any character
        path = path[found.end() :]
        what = {key: text for key, text in found.groupdict().items() if text is not None}
        if "arg" in what:
            i = int(what["arg"])
            words.append(compiled._names[i] if i < len(compiled._names) else f"argument {i + 1}")
        elif "cell" in what and (code := getattr(compiled.fn, "__code__", None)) is not None and not words:
            words.append(code.co_freevars[int(what["cell"])])
        else:
            words.extend(text.strip("'") for text in what.values())
    return ".".join(words) or "fn"


def _plain_fields(entry: Entry) -> list[str]:
    """The fields of an Entry that are numbers and lists of numbers."""

    def plain(x: Any) -> bool:
        return isinstance(x, bool | int | float) or (isinstance(x, list) and all(map(plain, x)))

    return [f.name for f in fields(entry) if f.name != "history" and plain(getattr(entry, f.name))]


@dataclass
class _Place:
    number: int


def _structure(entry: Entry) -> Any:
    """What the function returns: tensors as {"output": i} among constants, tuples, lists and dicts."""

    def told(x: Any) -> Any:
        if isinstance(x, _Place):
            return {"output": x.number}
        if type(x) is dict:
            return {"dict": [[plain_to_json(k), told(y)] for k, y in x.items()]}
        if type(x) in (tuple, list):
            return {type(x).__name__: [told(y) for y in x]}
        return {"constant": plain_to_json(x)}

    return told(entry.rebuild([_Place(i) for i in range(entry.n_outputs)]))


class _Table:
    """Numbers the values of a document, each once."""

    def __init__(self) -> None:
        self.values: list[Record] = []
        self._numbers: dict[Value, int] = {}

    def number(self, value: Value | None) -> int | None:
        if value is None:
            return None
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            record: Record = {
                "name": value.name,
                "shape": [int(n) for n in value.shape],
                "dtype": value.dtype.name,
            }
            if value.constant:
                record |= {
                    "data": array_to_json(np.asarray(value.array))["data"],
                    "kind": _kind(value.array),
                }
            self.values.append(record)
        return known

    def graph(self, graph: Graph) -> Record:
        graph = graph.named()
        return {
            "inputs": [self.number(v) for v in graph.inputs],
            "steps": [self.step(step) for step in graph.steps],
            "outputs": [self.number(v) for v in graph.outputs],
        }

    def step(self, step: Step) -> Record:
        record: Record = {}
        for f in fields(Step):
            content = getattr(step, f.name)
            if f.name in ("inputs", "outs"):
                record[f.name] = [self.number(v) for v in content]
            elif f.name == "body":
                if content:
                    record["body"] = [self.step(part) for part in content]
            elif content != _default(f):
                try:
                    record[f.name] = plain_to_json(content)
                except GraphExportError as problem:
                    place = f" ({step.line})" if step.line else ""
                    raise GraphExportError(f"{step.op}{place} cannot be saved: {problem}") from None
        return record


def _default(f: Any) -> Any:
    return f.default_factory() if f.default_factory is not MISSING else f.default


def _kind(x: Any) -> str:
    """What a constant is: an array, a NumPy number, or a Python number."""
    return (
        "array" if isinstance(x, np.ndarray) else "scalar" if isinstance(x, np.generic) else type(x).__name__
    )


def array_to_json(x: np.ndarray) -> Record:
    """An array, bit by bit: shape, number type, and its bytes in row-major order, least significant first, in base64."""
    if x.dtype.kind not in "biuf" or x.dtype.hasobject:
        raise GraphExportError(f"an array of {x.dtype} has no form in the file")
    little = np.ascontiguousarray(x).astype(x.dtype.newbyteorder("<"), copy=False)
    return {
        "shape": list(x.shape),
        "dtype": x.dtype.name,
        "data": base64.b64encode(little.tobytes()).decode("ascii"),
    }


def plain_to_json(x: Any) -> Any:
    """A plain argument: numbers, texts and None as they are, everything else as {kind: content}. Raises GraphExportError."""
    if x is None or isinstance(x, bool | str) or type(x) is int:
        return x
    if type(x) is float:
        return x if math.isfinite(x) else {"float": repr(x)}
    if isinstance(x, np.generic):
        return {"scalar": array_to_json(np.asarray(x))}
    if isinstance(x, np.ndarray):
        return {"array": array_to_json(x)}
    if isinstance(x, np.dtype):
        return {"dtype": x.name}
    if isinstance(x, type) and issubclass(x, np.generic):
        return {"numpy type": x.__name__}
    if isinstance(x, slice):
        return {"slice": [plain_to_json(y) for y in (x.start, x.stop, x.step)]}
    if x is ...:
        return {"ellipsis": True}
    if isinstance(x, tuple) and hasattr(x, "_fields") and type(x).__module__.startswith(f"{LIBRARY}.ops."):
        name = f"{type(x).__module__.removeprefix(f'{LIBRARY}.ops.')}.{type(x).__name__}"
        return {"record": [name, {key: plain_to_json(y) for key, y in x._asdict().items()}]}
    if type(x) in (tuple, list):
        return {type(x).__name__: [plain_to_json(y) for y in x]}
    raise GraphExportError(f"a {type(x).__name__} has no form in the file")


# --- reading ---------------------------------------------------------------------------------------


class Loaded:
    """A captured graph from a file: called with the tensors that the function was called with, it does what the function did.

    parameters   {name: tensor} of what the function had at hand, as it was when saved; tensors of its own, with a `.grad`
    arguments    the inputs, those the caller passes first
    """

    def __init__(
        self, name: str, entry: Entry, arguments: list[Argument], parameters: dict[str, Any]
    ) -> None:
        self.name, self.entry, self.arguments, self.parameters = name, entry, arguments, parameters
        self._given = [
            (a, v) for a, v in zip(arguments, entry.joint.inputs[: entry.n_inputs], strict=True) if a.given
        ]

    def __call__(self, *tensors: Any) -> Any:
        """Run the graph. Raises TypeError or RuntimeError for tensors unlike those of the capture."""
        if len(tensors) != len(self._given):
            names = ", ".join(a.name for a, _ in self._given)
            raise TypeError(
                f"{self.name} takes {len(self._given)} tensors ({names}), and was given {len(tensors)}"
            )
        for t, (argument, value) in zip(tensors, self._given, strict=True):
            self._check(t, argument, value)
        rest = iter(self.parameters.values())
        given = iter(tensors)
        inputs = tuple(next(given) if a.given else next(rest) for a in self.arguments)
        if THREAD.state.grad:
            return self.entry.rebuild(self.entry.call(inputs))
        arrays = self.entry.forward.function(*[t._data for t in inputs])
        return self.entry.rebuild([wrap(x) for x in arrays[: self.entry.n_outputs]])

    def _check(self, t: Any, argument: Argument, value: Value) -> None:
        if not isinstance(t, Variable):
            raise TypeError(f"{self.name}: {argument.name} must be a tensor, not {type(t).__name__}")
        have = (np.shape(t._data), np.asarray(t._data).dtype)
        if have != (value.shape, value.dtype):
            raise RuntimeError(
                f"{self.name} was captured for {argument.name} of shape {list(value.shape)} and type {value.dtype.name}, "
                f"not {list(have[0])} and {have[1].name}: a saved graph has one shape; capture the function again for another"
            )
        if t.requires_grad and not argument.requires_grad:
            raise RuntimeError(
                f"{self.name} was captured with {argument.name} that needs no gradient, so its graph has no way back to it: "
                "pass detach()ed numbers, or capture it with requires_grad=True"
            )

    @property
    def graph(self) -> Graph:
        """The joint forward and backward graph."""
        return self.entry.joint

    @property
    def forward_source(self) -> str:
        """The NumPy source of the forward."""
        return self.entry.forward.source

    @property
    def backward_source(self) -> str:
        """The NumPy source of the backward, or "" if there is none."""
        return self.entry.backward.source if self.entry.backward is not None else ""

    def __repr__(self) -> str:
        return (
            f"<loaded {self.name}: {len(self.graph.steps)} steps, {len(self.parameters)} tensors of its own>"
        )


def load(path: Any) -> Loaded:
    """Read a graph that `save` wrote. Raises GraphFormatError for what it does not know, OSError of the file."""
    text = Path(path).read_text(encoding="utf-8")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        raise GraphFormatError(f"{path} is no captured graph: the text is not JSON ({error})") from None
    return from_document(found)


def from_document(found: Any) -> Loaded:
    """A graph from what `document` gave. Raises GraphFormatError."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        what = found.get("format") if isinstance(found, dict) else type(found).__name__
        raise GraphFormatError(
            f"no captured graph: expected a document with format {FORMAT!r}, found {what!r}"
        )
    if found.get("version") != VERSION:
        raise GraphFormatError(
            f"this graph has version {found.get('version')!r}, and this autograd_lab reads version {VERSION}: save it "
            "again, or use the release that wrote it"
        )
    known = ("format", "version", "written_by", "name", "inplace", "arguments", "returns", "entry", "values")
    _exactly(found, (*known, *PARTS), "the document")
    try:
        return _Reader(found).loaded()
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, OverflowError) as error:
        if isinstance(error, GraphFormatError):
            raise
        raise GraphFormatError(f"the graph is damaged: {type(error).__name__}: {error}") from error


class _Reader:
    """Builds the graph of one document, checking all it meets."""

    def __init__(self, found: Record) -> None:
        self.found = found
        self.values = [self._value(i, record) for i, record in enumerate(found["values"])]

    def loaded(self) -> Loaded:
        found = self.found
        joint, forward = self.graph("joint"), self.graph("forward")
        backward = None if found["backward"] is None else self.graph("backward")
        inplace = _is(found["inplace"], bool, "inplace")
        plain = found["entry"]
        special = "world check guard_source joint forward_graph backward_graph forward backward rebuild history effects looks"
        names = {f.name for f in fields(Entry)} - set(special.split())
        required = {f.name for f in fields(Entry) if f.default is MISSING and f.default_factory is MISSING}
        _exactly(plain, tuple(names), "entry", optional=tuple(names - required))
        arguments, tensors = self._arguments(plain["n_inputs"])
        entry = Entry(
            world=World(), check=_no_check, guard_source="", joint=joint, forward_graph=forward, backward_graph=backward,
            forward=Writer(forward, "forward", inplace=inplace).emitted(),
            backward=None if backward is None else Writer(backward, "backward", inplace=inplace).emitted(),
            rebuild=self._returns(plain["n_outputs"]), **plain,
        )  # fmt: skip
        self._counts(entry)
        return Loaded(str(found["name"]), entry, arguments, tensors)

    def _value(self, i: int, record: Any) -> Value:
        where = f"value {i}"
        constant = "data" in record
        _exactly(record, ("name", "shape", "dtype", *(("data", "kind") if constant else ())), where)
        name = record["name"]
        if not (isinstance(name, str) and NAME.match(name)) or keyword.iskeyword(name):
            raise GraphFormatError(f"{where} is called {name!r}, which is no plain name")
        array = None
        if constant:
            array = array_from_json({k: record[k] for k in ("shape", "dtype", "data")}, where)
            kind = record["kind"]
            if kind in ("int", "float", "bool"):
                array = {"int": int, "float": float, "bool": bool}[kind](array)
            elif kind == "scalar":
                array = array[()]
            elif kind != "array":
                raise GraphFormatError(f"{where}: unknown kind of constant {kind!r}")
        return Value(_shape(record["shape"], where), _dtype(record["dtype"], where), name, array)

    def _at(self, i: Any, where: str) -> Value:
        if type(i) is not int or not 0 <= i < len(self.values):
            raise GraphFormatError(
                f"{where} speaks of value {i!r}, and there are values 0 to {len(self.values) - 1}"
            )
        return self.values[i]

    def graph(self, part: str) -> Graph:
        record = self.found[part]
        _exactly(record, ("inputs", "steps", "outputs"), part)
        inputs = [self._at(i, f"{part}: inputs") for i in record["inputs"]]
        known = set(inputs)
        if len({v.name for v in inputs}) != len(inputs):
            raise GraphFormatError(f"{part}: two inputs have the same name")
        steps = []
        for n, one in enumerate(record["steps"]):
            steps.append(self._step(one, f"{part}: step {n}", known))
        outputs = [None if i is None else self._at(i, f"{part}: outputs") for i in record["outputs"]]
        for out in outputs:
            if out is not None and out not in known and not out.constant:
                raise GraphFormatError(f"{part} returns {out.name}, which no step makes")
        return Graph(inputs, steps, outputs)

    def _step(self, record: Any, where: str, known: set[Value]) -> Step:
        names = [f.name for f in fields(Step)]
        required = {f.name for f in fields(Step) if f.default is MISSING and f.default_factory is MISSING}
        _exactly(record, tuple(names), where, optional=tuple(set(names) - required - {"outs"}))
        how, rule = record["how"], record["rule"]
        if how not in ir.HOWS:
            raise GraphFormatError(
                f"{where} is carried out by {how!r}; known ways are {', '.join(ir.HOWS)}: it was written by another release"
            )
        book = FUNCTIONS if how == "named" else RULES
        if (rule or how in ("call", "named", "vjp")) and rule not in book:
            raise GraphFormatError(
                f"{where} uses the operation {rule!r}, which this autograd_lab does not have"
            )
        inputs = [None if i is None else self._at(i, where) for i in record["inputs"]]
        for value in inputs:
            if value is not None and value not in known and not value.constant:
                raise GraphFormatError(f"{where} reads {value.name} before it is made")
        content = {
            k: plain_from_json(v, f"{where}: {k}")
            for k, v in record.items()
            if k not in ("inputs", "outs", "body")
        }
        inside = set(v for v in inputs if v is not None)
        body = [
            self._step(part, f"{where}, part {n}", inside) for n, part in enumerate(record.get("body", []))
        ]
        outs = [self._at(i, where) for i in record["outs"]]
        for out in outs:
            if out in known or out.constant:
                raise GraphFormatError(f"{where} makes {out.name}, which is there already")
            if body and out not in inside:
                raise GraphFormatError(f"{where}: none of its parts makes {out.name}")
        known.update(outs)
        step = Step(**content, inputs=inputs, outs=outs, body=body)
        for f in fields(Step):
            default = _default(f) if f.name not in required else record.get(f.name)
            if type(getattr(step, f.name)) is not type(default) and f.name not in ("inputs", "args"):
                raise GraphFormatError(f"{where}: {f.name} is {getattr(step, f.name)!r}")
        if type(step.args) is not tuple:
            raise GraphFormatError(f"{where}: args is {step.args!r}")
        if (how == "fused") != bool(body):
            raise GraphFormatError(f"{where}: a fused step has parts, and no other has")
        for out in outs:
            out.step = step
        return step

    def _arguments(self, n: int) -> tuple[list[Argument], dict[str, Any]]:
        found = self.found["arguments"]
        if len(found) != n:
            raise GraphFormatError(f"{len(found)} arguments are described, and the graph has {n}")
        arguments, tensors = [], {}
        for i, record in enumerate(found):
            where = f"argument {i}"
            _exactly(record, ("name", "given", "requires_grad", "data"), where)
            one = Argument(
                _is(record["name"], str, where),
                _is(record["given"], bool, where),
                _is(record["requires_grad"], bool, where),
            )
            arguments.append(one)
            if one.given:
                continue
            array = array_from_json(record["data"], where)
            value = self._at(self.found["joint"]["inputs"][i], where)
            if (array.shape, array.dtype) != (value.shape, value.dtype):
                raise GraphFormatError(
                    f"{where} is {array.dtype}{list(array.shape)}, and the graph takes {value!r}"
                )
            tensor = wrap(array if array.ndim else array[()])
            tensors[one.name if one.name not in tensors else f"{one.name} ({i})"] = (
                tensor.requires_grad_() if one.requires_grad else tensor
            )
        return arguments, tensors

    def _returns(self, n: int) -> Callable[[list[Any]], Any]:
        def plan(x: Any) -> Callable[[list[Any]], Any]:
            if not isinstance(x, dict) or len(x) != 1:
                raise GraphFormatError(f"returns: {x!r} is no part of a result")
            ((kind, content),) = x.items()
            if kind == "output":
                if type(content) is not int or not 0 <= content < n:
                    raise GraphFormatError(f"returns: there is no output {content!r}")
                return lambda ts: ts[content]
            if kind in ("tuple", "list"):
                parts, make = [plan(y) for y in content], tuple if kind == "tuple" else list
                return lambda ts: make([p(ts) for p in parts])
            if kind == "dict":
                items = [(plain_from_json(k, "returns"), plan(y)) for k, y in content]
                return lambda ts: {k: p(ts) for k, p in items}
            if kind == "constant":
                constant = plain_from_json(content, "returns")
                return lambda ts: constant
            raise GraphFormatError(f"returns: unknown kind {kind!r}")

        return plan(self.found["returns"])

    def _counts(self, entry: Entry) -> None:
        """Whether the parts fit together: forward returns what backward takes, and so on."""
        kept = len(entry.kept_inputs) + len(entry.kept_outputs)
        saved = len(entry.forward_graph.outputs) - entry.n_outputs
        takes = kept + saved + len(entry.differentiable)
        fits = (
            entry.n_inputs == len(entry.forward_graph.inputs)
            and saved >= 0
            and all(0 <= i < entry.n_inputs for i in (*entry.kept_inputs, *entry.gives))
            and all(0 <= i < entry.n_outputs for i in (*entry.kept_outputs, *entry.differentiable))
        )
        if entry.backward_graph is not None:
            fits = (
                fits
                and takes == len(entry.backward_graph.inputs)
                and len(entry.backward_graph.outputs) == entry.n_inputs
                and [i for i, g in enumerate(entry.backward_graph.outputs) if g is not None] == entry.gives
            )
        if not fits:
            raise GraphFormatError(
                "forward and backward do not fit together: what one returns, the other must take"
            )


def _no_check(args: tuple, kwargs: dict, fn: Any) -> None:
    """A loaded graph has no function to guard."""


def _exactly(record: Any, names: tuple[str, ...], where: str, optional: tuple[str, ...] = ()) -> None:
    if not isinstance(record, dict):
        raise GraphFormatError(f"{where} is {type(record).__name__}, not an object")
    unknown = [name for name in record if name not in names]
    missing = [name for name in names if name not in record and name not in optional]
    if unknown:
        raise GraphFormatError(
            f"{where} has the unknown field {unknown[0]!r}: it was written by another release"
        )
    if missing:
        raise GraphFormatError(f"{where} has no {missing[0]!r}")


def _is(x: Any, kind: type, where: str) -> Any:
    if type(x) is not kind:
        raise GraphFormatError(f"{where}: {x!r} is not {kind.__name__}")
    return x


def _shape(x: Any, where: str) -> tuple[int, ...]:
    if not isinstance(x, list) or not all(type(n) is int and n >= 0 for n in x):
        raise GraphFormatError(f"{where}: {x!r} is no shape")
    return tuple(x)


def _dtype(x: Any, where: str) -> np.dtype:
    try:
        found = np.dtype(_is(x, str, where))
    except TypeError:
        found = None
    if found is None or found.kind not in "biuf" or found.name != x:
        raise GraphFormatError(f"{where}: unknown number type {x!r}")
    return found


def array_from_json(record: Any, where: str) -> np.ndarray:
    """What `array_to_json` wrote. Raises GraphFormatError."""
    _exactly(record, ("shape", "dtype", "data"), where)
    shape, dtype = _shape(record["shape"], where), _dtype(record["dtype"], where)
    try:
        data = base64.b64decode(_is(record["data"], str, where), validate=True)
    except ValueError as error:
        raise GraphFormatError(f"{where}: its data are no base64 ({error})") from None
    need = math.prod(shape) * dtype.itemsize
    if len(data) != need:
        raise GraphFormatError(
            f"{where}: {dtype.name}{list(shape)} takes {need} bytes, and there are {len(data)}"
        )
    return np.frombuffer(data, dtype.newbyteorder("<")).astype(dtype).reshape(shape)


def plain_from_json(x: Any, where: str) -> Any:
    """What `plain_to_json` wrote. Raises GraphFormatError."""
    if x is None or isinstance(x, bool | str | int | float):
        return x
    if not isinstance(x, dict) or len(x) != 1:
        raise GraphFormatError(f"{where}: {x!r} is no plain argument")
    ((kind, content),) = x.items()
    if kind == "float" and content in ("nan", "inf", "-inf"):
        return float(content)
    if kind == "scalar":
        return array_from_json(content, where)[()]
    if kind == "array":
        return array_from_json(content, where)
    if kind == "dtype":
        return _dtype(content, where)
    if kind == "numpy type":
        return _dtype(content.removesuffix("_"), where).type
    if kind == "slice" and isinstance(content, list) and len(content) == 3:
        return slice(*(plain_from_json(y, where) for y in content))
    if kind == "ellipsis":
        return ...
    if kind in ("tuple", "list"):
        return {"tuple": tuple, "list": list}[kind](plain_from_json(y, where) for y in content)
    if kind == "record":
        return _record(content, where)
    raise GraphFormatError(f"{where}: unknown kind of argument {kind!r}")


def _record(content: Any, where: str) -> Any:
    name, parts = content
    module, _, word = str(name).rpartition(".")
    try:
        found = (
            getattr(importlib.import_module(f"{LIBRARY}.ops.{module}"), word, None)
            if NAME.match(module)
            else None
        )
    except ImportError:
        found = None
    if not (isinstance(found, type) and issubclass(found, tuple) and hasattr(found, "_fields")):
        raise GraphFormatError(f"{where}: unknown kind of record {name!r}")
    _exactly(parts, found._fields, where)
    return found(**{k: plain_from_json(v, where) for k, v in parts.items()})


__all__ = [
    "FORMAT", "VERSION", "Argument", "GraphExportError", "GraphFormatError", "Loaded", "arguments_of", "array_from_json",
    "array_to_json", "document", "from_document", "load", "plain_from_json", "plain_to_json", "save",
]  # fmt: skip
