"""The engine's source beside the program: the statement that is lit had run when the event was told, and its variables are the real ones."""

import inspect
import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import samples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import core, lab
from autograd_lab.core.watch import Watch
from autograd_lab.tracing import messages, recorder
from autograd_lab.tracing.builder import Builder
from autograd_lab.tracing.narrate import Narrator
from autograd_lab.tracing.state import State
from autograd_lab.tracing.told import told as told_of
from autograd_lab.tracing.trace import Trace
from autograd_lab.widgets import engine_source
from autograd_lab.widgets.engine_source import BY_MARK, VALUES, listing, ran, rows, variables
from autograd_lab.widgets.frames import Film, film
from autograd_lab.widgets.front import ASSETS

NODE = shutil.which("node")
FOLDER = Path(core.__file__).parent


def statements():
    """{mark: (file, line number)}."""
    found = {}
    for number, page in enumerate(listing()["pages"]):
        file = None
        for row, (line, text) in enumerate(rows(page)):
            if not line and text.startswith("# "):
                file = text.removeprefix("# ").partition(",")[0]
            found |= {
                mark: (str(FOLDER.parent / file), line)
                for mark, at in listing()["at"].items()
                if at == [number, row]
            }
    return found


AT = statements()
FILES = {file for file, _ in AT.values()}
BACKWARD = str(FOLDER / "engine.py")


def test_what_is_shown_is_the_page():
    for page in listing()["pages"]:
        source = []
        for line, text in rows(page):
            if line:
                shown = source[line - 1].partition("  # event: ")[0]
                assert text in (shown, shown.removeprefix("    "))
                assert "# event" not in text
            elif text.startswith("# "):
                file = FOLDER.parent / text.removeprefix("# ").partition(",")[0]
                source = file.read_text(encoding="utf-8").splitlines()
    for kind, statement in {
        "pop": "heappop(ready)",
        "push": "heappush",
        "vjp": "._vjp(",
        "node": "new(rule)",
        "edge": "_next = edges",
        "edge CopySlices": "make_node(CopySlices, edges",
        "inplace": "bump_version(target)",
        "inplace recorded": "rebase_history(target, node)",
        "const view": "make_view(",
        "mode": "self.grad = on",
    }.items():
        page, row = listing()["at"][kind]
        assert statement in rows(listing()["pages"][page])[row][1]


def test_a_row_stands_for_examples_left_out():
    for page in listing()["pages"]:
        shown = rows(page)
        assert not any(text.lstrip().startswith(">>>") for _, text in shown)
        for (before, _), (number, text), (after, line) in zip(shown, shown[1:], shown[2:], strict=False):
            if before and after and not number:
                assert (text == engine_source.CUT) == (not line.startswith("def "))


def test_it_is_small():
    assert len(json.dumps(listing())) <= 12_000


# -- programs -----------------------------------------------------------------------------------------------


class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def written(a, b):
    c = a.clone()
    c.mul_(b)
    return c + a


def written_through_a_view(a, b):
    c = a * 1.0
    c[0].mul_(b[1])
    return c


def unrecorded(a, b):
    with torch.no_grad():
        c = a * b
        c += c[0] + c.max(0).values
    return a + c


def beside(a, b):
    c = a.detach()[0] * b.sum().item()
    c.requires_grad_()
    with torch.no_grad():
        c -= b.tolist()[0]
        a.detach().clone().t_()
    return a * c.unsqueeze(0)


def with_a_node_hook(a, b):
    c = a * b
    c.register_hook(lambda g: g * 2)
    c.retain_grad()
    c.grad_fn.register_hook(lambda given, sent: None)
    return c


def with_a_pass_in_a_hook(a, b):
    c, inner = a * b, torch.tensor(2.0, requires_grad=True)

    def hook(g):
        with torch.enable_grad():
            (inner * inner * g.sum().detach()).backward()

    c.register_hook(hook)
    return c * a + c


OPERATIONS = [
    lambda a, b: a * b, lambda a, b: a + b, lambda a, b: a.tanh(), lambda a, b: a - b.detach(), lambda a, b: (a * 2).sum() * b,
    lambda a, b: torch.stack([a, b]).unbind()[1] + a, lambda a, b: a[0] * b, written, written_through_a_view, unrecorded,
    lambda a, b: Double.apply(a) + b, lambda a, b: a.sort().values * b.softmax(0), lambda a, b: torch.outer(a, b).sum(0), with_a_node_hook,
    with_a_pass_in_a_hook, beside,
]  # fmt: skip
PROGRAMS = st.lists(
    st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 9), st.integers(0, 9)),
    min_size=1,
    max_size=8,
)
WAYS = ["backward", "twice", "create_graph", "grad", "inputs"]
CALLS = st.sampled_from(WAYS)
EACH = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def run(steps, call):
    """A random program and its passes."""
    leaves = [torch.tensor([0.5, -1.0], requires_grad=True), torch.tensor([0.25, 1.5], requires_grad=True)]
    made = list(leaves)
    for operation, i, j in steps:
        made.append(OPERATIONS[operation](made[i % len(made)], made[j % len(made)]))
    made[0].register_post_accumulate_grad_hook(lambda t: None)
    loss = (made[-1] * made[0]).sum()
    if call == "twice":
        loss.backward(retain_graph=True)
        loss.backward()
    elif call == "create_graph":
        (g,) = torch.autograd.grad(loss, leaves[0], create_graph=True)
        (g * leaves[1]).sum().backward()
    elif call == "grad":
        torch.autograd.grad(loss, [leaves[0], made[-1]])
    elif call == "inputs":
        loss.backward(inputs=[leaves[0]])
    else:
        loss.backward()


def everything(call):
    """The trace of a program with all the operations."""
    with lab.record() as trace:
        run([(i, i, i + 1) for i in range(len(OPERATIONS))], call)
    return trace


# -- the engine, seen from outside --------------------------------------------------------------------------

VERBS = {
    inspect.unwrap(vars(watcher)[verb]).__code__
    for watcher in (recorder.Recorder, messages.OpenPass)
    for verb in vars(Watch)
    if inspect.isfunction(vars(watcher).get(verb))
}


class Telling:
    """One call of the watcher: which notes it took, which marked statements had run since the one before, and the real variables."""

    def __init__(self, ran_since, last, first):
        self.ran, self.last, self.first = ran_since, last, first
        self.after = first
        self.run = self.node = self.loop = None
        self.real, self.once = {}, {}


class Eye:
    """A line tracer that notes the marked statements, and what the engine holds whenever its watcher has been told."""

    def __init__(self, notes):
        self.notes = notes  # a function: the recorder's list
        self.ran, self.last, self.depth = [], None, 0
        self.tellings = []

    def trace(self, frame, event, _):
        code = frame.f_code
        if code in VERBS:
            return self.telling(frame)
        if code.co_filename in FILES:
            self.line(frame, event)
            return self.line
        return None

    def line(self, frame, event, _=None):
        place = frame.f_code.co_filename, frame.f_lineno
        if event == "line" and place in MARKED:
            self.ran.append(place)
            if place[0] == BACKWARD:
                self.last = place
        return self.line

    def telling(self, frame):
        """From the call of a watcher's method to its return."""
        if self.depth:
            return None
        told = Telling(self.ran, self.last, len(self.notes()))
        loop = frame
        while loop is not None and loop.f_code is not core.engine.BackwardPass._loop.__code__:
            loop = loop.f_back
        told.loop = loop and loop.f_lineno
        self.depth += 1

        def wait(frame, event, _):
            if event == "return":
                self.depth -= 1
                told.after = len(self.notes())
                if told.after == told.first:  # nothing comes of it: the next event is the first since
                    self.ran = told.ran + self.ran
                else:
                    self.look(told, frame.f_locals)
            return wait

        self.ran = []
        self.tellings.append(told)
        frame.f_trace_lines = False
        return wait

    def look(self, told, names):
        if "run" in names and hasattr(names["run"], "buffers"):
            told.run = one = names["run"]
            reached = [n for n in one.deps if one.needed is None or n in one.needed]
            told.real = {
                "ready": [node for _, node in sorted(one.ready, key=lambda pair: pair[0])],
                "deps": {n: one.deps[n] for n in reached if one.deps[n]},
                "buffers": {n: copied([g] if n.plain else g) for n, g in one.buffers.items()},
            }
            told.node = names.get("sender", names.get("node"))
        elif names.get("node") is not None and "inputs" in names:
            node = names["node"]
            told.real = {
                "rule": type(node).__name__,
                "inputs": copied(names["inputs"]),
                "edges": [fn for fn, _ in node.next_functions],
                "saved": copied(t for t in node.saved if isinstance(t, torch.Tensor | float | int))
                if node.kind == "op"
                else None,
                "out": copied(names["outputs"]) if "outputs" in names else copied([names["target"]]),
            }
        told.once = told.real | seen_once(names)


def seen_once(names):
    """What the statements hold that tell of something but of nodes, from the arguments of the watcher's method."""
    if "rule" in names:
        inputs = copied(names["inputs"])
        held = {"inputs": inputs, "x": inputs[0] if inputs else None}
        if "outputs" in names:
            return held | {"out": copied(names["outputs"])}
        (data,) = copied([names["target"]])
        held |= {"name": names["name"], "target": data, "data": data}
        base = names["target"]._base
        if base is not None and isinstance(base._edge, core.views.CopySlices):
            edges = [fn for fn, _ in base._edge.next_functions]
            held["slices"] = {
                "inner": type(names["node"]).__name__,
                "view": data,
                "base": copied([base])[0],
                "edges": edges,
            }
        return held
    if "t" in names and "how" in names:
        t = names["t"]
        (data,) = copied([t])
        return {"self": data, "number": data, "numbers": data, "value": t.requires_grad, "fn": t.grad_fn}
    if "source" in names:
        return {"self": copied([names["source"]])[0], "out": copied([names["out"]])}
    return {"on": names.get("on")}


MARKED = set(AT.values())


def copied(arrays):
    """Tensors and arrays as they are now."""
    return [None if a is None else np.array(a._data if isinstance(a, torch.Tensor) else a) for a in arrays]


class Counted(Builder):
    """A builder that knows which note each event comes from."""

    def replay(self, notes):
        type(self).one, self.note_of = self, []

        def counted():
            for self.note, note in enumerate(notes):
                yield note

        return super().replay(counted())

    def _event(self, kind, src, **fields):
        super()._event(kind, src, **fields)
        self.note_of.append(self.note)


def watched(steps, call):
    """(the trace, [(event, the telling it came from, whether it is the last one from that)], {id of a node: its number})."""
    with lab.record() as trace:
        own = trace._recorder
        own.builder = Counted
        eye, before = Eye(lambda: own.notes), sys.gettrace()
        sys.settrace(eye.trace)
        try:
            run(steps, call)
        finally:
            sys.settrace(before)
    events = trace.events
    builder, pairs = Counted.one, []
    tellings = iter([told for told in eye.tellings if told.after > told.first])
    told, used = next(tellings), False
    for e, note in zip(events, builder.note_of, strict=True):
        while note >= told.after:
            before = [] if used else told.ran  # its notes left no event: the next event is the first since
            told, used = next(tellings), False
            told.ran = before + told.ran
        used = used or note >= told.first
        pairs.append((e, told if note >= told.first else None))
    lasts = [a[1] is not b[1] for a, b in zip(pairs, [*pairs[1:], (None, None)], strict=True)]
    return trace, [(*pair, last) for pair, last in zip(pairs, lasts, strict=True)], builder.node_ids


OF_THE_LOOP = tuple(kind for kind, (file, _) in AT.items() if file == BACKWARD)


@settings(EACH, max_examples=60)
@given(PROGRAMS, CALLS)
@example([(8, 0, 0)], "create_graph")  # a write into a tensor that no event has told of
def test_a_marked_statement_runs_right_before_its_event(steps, call):
    trace, events, _ = watched(steps, call)
    since, last = [], None  # what has run since the loop told of something; a rule may be code that does more
    for (e, told, _), (mark, sentence) in zip(events, told_of(trace), strict=True):
        kind = e["k"]
        assert mark or sentence, e
        if told is not last:
            since += [] if told is None else told.ran
        if kind in (
            "hook",
            "retain",
        ):  # the user's code, and what it leads to, runs within the marked statement
            assert told.loop == AT[kind][1]
            since = []
        elif kind in OF_THE_LOOP:
            assert told.last == AT[kind], f"{kind} was told after line {told.last}"
            assert AT[kind] in since or told is last
            since = []
        elif mark and kind != "error":
            assert AT[mark] in told.ran, e
        elif kind == "const":
            assert AT[kind] not in told.ran, e
        last = told
    assert {"backward", "seed", "push", "pop", "vjp", "done", "node", "edge"} <= {
        e["k"] for e in trace.events
    }


@settings(EACH, max_examples=300)
@given(PROGRAMS, CALLS)
def test_the_variables_are_the_real_ones(steps, call):
    assert {"forward", "saved", "backward"} <= compared(steps, call)


def test_the_variables_of_each_statement_are_the_real_ones():
    assert set(BY_MARK) <= compared([(i, i, i + 1) for i in range(len(OPERATIONS))], "backward")


def compared(steps, call):
    """Compare what the page says the engine holds with what the eye saw, event by event; returns what could be compared."""
    trace, events, numbers = watched(steps, call)
    state, narrator, found = State(trace), Narrator(trace), set()
    value = lambda v: None if v is None else np.array(trace.values[v]["data"])  # noqa: E731
    through_views = {
        id(told) for e, told, _ in events if e["k"] == "inplace" and trace.rewritten(e) is not None
    }

    def shown(name, x):
        """What a variable of `BY_MARK` holds, as the eye saw it."""
        if name in VALUES:
            return value(x)
        if name in ("self", "target", "base", "view", "x"):
            return value(state.tensors[x].value)
        return [value(state.tensors[t].value) for t in x] if name in ("inputs", "out") else x

    for (e, told, last), (mark, _) in zip(events, told_of(trace), strict=True):
        state.advance()
        now = variables(state, mark)
        if mark in BY_MARK and e["k"] != "grad":
            real = told.once.get("slices") if mark == "edge CopySlices" else told.once
            for name, x in now.items():
                if x is not None:
                    seen = real[name]
                    if name in ("edges", "fn"):
                        seen = [
                            numbers[id(n)] if n is not None else None
                            for n in (seen if name == "edges" else [seen])
                        ]
                        assert seen == (x if name == "edges" else [x])
                    elif isinstance(seen, list | np.ndarray):
                        same(*[a if isinstance(a, list) else [a] for a in (shown(name, x), seen)])
                    else:
                        assert x == seen, name
            found.add(mark)
        if told is None or not told.real or not last:
            continue
        if e["k"] == "done" and state.running:  # of a pass in a hook: shown is the one around it
            continue
        real = {name: number(what, numbers) for name, what in told.real.items()}
        if "ready" in now and told.run is not None:
            assert {n: left for n, left in now["deps"].items() if n in real["deps"]} == real["deps"]
            assert now["ready"] == real["ready"]
            assert list(now["buffers"]) == list(real["buffers"])
            for n, lies in now["buffers"].items():
                same([value(v) for v in lies], real["buffers"][n])
            if told.node is not None:
                assert now["node"] == numbers[id(told.node)]
            found.add("backward")
        elif mark in ("node", "edge") and id(told) not in through_views:
            assert (now["rule"], now["edges"]) == (real["rule"], real["edges"])
            if "saved" in now:
                then = [value(narrator.value_at(t, version, e["n"])) for t, version in now["saved"]]
                same(then, real["saved"])
                found.add("saved")
            for name in ("inputs", "out"):
                same([value(state.tensors[t].value) for t in now[name]], real[name])
            found.add("forward")
    return found


def number(what, numbers):
    """Nodes by their numbers in the trace."""
    if isinstance(what, dict):
        return {numbers[id(n)]: x for n, x in what.items()}
    return [numbers.get(id(x), x) for x in what] if isinstance(what, list) else what


def same(told, real):
    assert len(told) == len(real)
    for a, b in zip(told, real, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


# -- in the browser --------------------------------------------------------------------------------------------


@pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")
@pytest.mark.parametrize("make", [*samples.SMALL.values(), *[partial(everything, call) for call in WAYS]])
def test_the_page_derives_the_same(tmp_path, make):
    trace = make()
    if not ran(trace):
        pytest.skip("another engine's")
    shown = Film(trace)
    doc = shown.document()
    for name in ("core.js", "engine.js"):
        (tmp_path / name).write_text((ASSETS / name).read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "film.json").write_text(json.dumps(doc))
    (tmp_path / "test.js").write_text(
        'import { readFileSync } from "node:fs"; import { phase } from "./core.js"; import { engineRows, functionAt, place, variables, written } from "./engine.js";\n'
        'const f = JSON.parse(readFileSync("film.json", "utf8")), all = [...Array(f.steps + 1).keys()];\n'
        "const at = (k) => [place(f, k, phase(f, k).name), variables(f, k, phase(f, k).name), written(f, k, phase(f, k).name)];\n"
        "console.log(JSON.stringify({ derived: all.map(at), pages: f.engine.pages.map(engineRows),\n"
        "  where: Object.entries(f.engine.at).map(([mark, [page, row]]) => [mark, functionAt(engineRows(f.engine.pages[page]), row)]) }));"
    )
    done = subprocess.run([NODE, "test.js"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    told, state, at = json.loads(done.stdout), State(trace), listing()["at"]
    assert [[tuple(row) for row in page] for page in told["pages"]] == [
        rows(page) for page in listing()["pages"]
    ]
    assert dict(told["where"]) == {mark: function_at(*AT[mark]) for mark in at}
    by = [("", ""), *told_of(trace)]
    for k, ((page, *row), held, texts) in enumerate(told["derived"]):
        if k:
            state.advance()
        mark, sentence = by[k]
        if mark:
            assert [page, row[0]] == at[mark]
        assert [bool(x) for x in (*row, None, None)][:2] == [bool(mark), bool(sentence)]
        assert (row[1:] or [None])[0] == (sentence or None)
        if "saved" in held:
            held["saved"] = [[v, version] for _name, v, version in held["saved"]]
        assert held == as_drawn(shown, variables(state, mark), trace.events[k - 1].get("n")), k
        assert not any("undefined" in text or "NaN" in text for _, text in texts), texts


def function_at(file, number):
    """The function that line lies in, and its file, from the functions themselves."""
    for function in (*engine_source.FORWARD, *engine_source.BACKWARD, *engine_source.BESIDE):
        lines, first = inspect.getsourcelines(function)
        if inspect.getfile(function) == file and first <= number < first + len(lines):
            return f"{function.__name__} in {Path(file).relative_to(FOLDER.parent).as_posix()}"
    raise AssertionError(f"no function of the pages is at line {number} of {file}")


def as_drawn(shown, now, n):
    """The variables with the film's numbers in place of the trace's, and of the long ones the beginning."""
    if "ready" in now:
        buffers = [[n, [shown.value(v) for v in lies]] for n, lies in now["buffers"].items()]
        deps = [list(pair) for pair in now["deps"].items()]
        return {
            "node": -1 if now["node"] is None else now["node"], "ready": now["ready"][:8], "queued": len(now["ready"]),
            "deps": deps[:4], "waiting": len(deps), "buffers": buffers[:4], "many": len(buffers),
        }  # fmt: skip
    now = {
        name: shown.value(x) if name in VALUES else str(x) if isinstance(x, bool) else x
        for name, x in now.items()
    }
    if "out" in now and "edges" in now:  # of a node, whose edges stand in the film
        now["edges"] = [-1 if n is None else n for n in now["edges"]]
    if "saved" in now:
        now["saved"] = [
            [shown.value(shown.narrator.value_at(t, version, n)), version] for t, version in now["saved"]
        ]
    return now


# -- which films have it ------------------------------------------------------------------------------------


def test_films_of_other_engines_have_none():
    x = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        (x * x).backward()
    assert ran(trace)
    assert film(trace)["engine"] == listing()
    with lab.record() as forward_only:
        x * 2
    assert "engine" not in film(forward_only)
    wrong = lab.wrong_order(lambda x: (x * x) * x, torch.tensor(2.0, requires_grad=True), order="visit-once")
    for trace in wrong if isinstance(wrong, tuple) else (wrong,):
        assert ran(trace) is not any(e.get("engine") for e in trace.events)


def test_pytorchs_loop_is_not_ours():
    real = pytest.importorskip("torch", reason="records real PyTorch", exc_type=ImportError)
    with lab.record_torch() as trace:
        x = real.tensor(2.0, requires_grad=True)
        (x * x).backward()
    assert not ran(trace)
    assert "engine" not in film(trace)


def test_a_trace_from_a_file_has_it_too():
    trace = samples.diamond()
    assert film(Trace.from_json(trace.to_json())) == film(trace)


def test_a_trace_with_no_more_than_it_must_have():
    """Of another hand: `Trace.from_json` takes it, so the film must."""
    trace = samples.scalar()
    made = next(e for e in trace.events if e["k"] == "node")
    bare = [
        {"k": "const", "op": "mul", "in": [], "t": made["t"]}, {"k": "inplace", "t": 0, "version": 1}, {"k": "detach", "t": 0, "from": 0},
        {"k": "inplace", "t": made["t"][0], "version": 1, "n": made["n"]}, {"k": "read", "t": 0}, {"k": "flag", "t": 0, "requires_grad": True},
        {"k": "grad", "t": 0, "v": None}, {"k": "mode", "grad": True}, {"k": "idle", "op": "SGD"},
    ]  # fmt: skip
    trace.events[-1:-1] = bare
    again = Trace.from_json(trace.to_json())
    shown = film(again)
    assert len(shown["kind"]) == len(again) + 1
    for k, (mark, sentence) in enumerate(told_of(again)):
        assert mark in listing()["at"] or sentence, again.events[k]
