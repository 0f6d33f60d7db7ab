"""The engine that grows in exercises 02 to 06: its pieces go on from exercise to exercise, and stand beside the lab's own."""

import ast
import inspect
import json
import linecache
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course import beside, feedback, growing, items, own_engine, scores
from autograd_lab.widgets.engine_source import rows

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A student's folder, and a session in which nothing has passed."""
    monkeypatch.setattr(growing, "_session", {})
    monkeypatch.setattr(scores, "_session", {})
    monkeypatch.setenv(scores.ENVIRONMENT, str(tmp_path / ".autograd_lab" / "progress.json"))
    return tmp_path


def new_session(monkeypatch):
    monkeypatch.setattr(growing, "_session", {})


def cell(text, name, file="<cell>"):
    """A function that was defined in a cell of this text."""
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space = {"Node": own_engine.Node, "Value": own_engine.Value}
    exec(compile(text, file, "exec"), space)
    return space[name]


POP = """import operator
LAST = -1


def by_age(nodes):
    return sorted(nodes, key=lambda node: (node.variable is not None, node.number))


def pop(ready):
    chosen = operator.itemgetter(LAST)(by_age(ready))  # mine
    ready.remove(chosen)
    return chosen


print("the cell runs once, not again when its piece is handed on")
"""


# -- the course's pieces --------------------------------------------------------------------------------------


def play(make, add, mul):
    """A random graph on two leaves and a constant."""
    rng = np.random.default_rng(3)
    leaves = [make(float(v), True) for v in rng.uniform(0.5, 1.5, 2)]
    nodes = [*leaves, make(3.0, False)]
    for _ in range(25):
        i, j = len(nodes) - 1 - rng.integers(min(len(nodes), 4), size=2)
        nodes.append((add if rng.random() < 0.6 else mul)(nodes[i], nodes[j]))
    return leaves, mul(add(nodes[-1], leaves[0]), add(nodes[-2], leaves[1]))


def test_the_courses_engine_gives_the_labs_gradients():
    leaves, y = play(
        lambda v, wants: own_engine.Value(v, requires_grad=wants), own_engine.add, own_engine.mul
    )
    own_engine.backward(y.grad_fn)
    theirs, z = play(
        lambda v, wants: torch.tensor(v, dtype=torch.float64, requires_grad=wants),
        lambda a, b: a + b,
        lambda a, b: a * b,
    )
    z.backward()
    assert [a.grad for a in leaves] == pytest.approx([a.grad.item() for a in theirs], rel=1e-12)
    before = [a.grad for a in leaves]
    own_engine.backward(y.grad_fn)
    assert [a.grad for a in leaves] == pytest.approx([2 * g for g in before], rel=1e-12)


def test_exercise_02_shows_the_classes_that_the_engine_has():
    text = (ROOT / "solutions/02_forward_builds_the_graph.py").read_text(encoding="utf-8")
    shown = {part.name: ast.dump(part) for part in ast.parse(text).body if isinstance(part, ast.ClassDef)}
    for name in ("Node", "Value"):
        assert shown[name] == ast.dump(ast.parse(inspect.getsource(getattr(own_engine, name))).body[0])


def test_the_courses_pieces_pass_their_checks_and_are_the_items_that_they_name():
    titles = {}
    for step, item_id in growing.ITEMS.items():
        item = items.find(item_id)
        titles[step] = item.title
        assert feedback.verdict_on(item, getattr(own_engine, growing.FUNCTIONS[step])).state == "passed"
    assert titles == {step: f"An engine that grows: {step}" for step in growing.ITEMS}


# -- from exercise to exercise --------------------------------------------------------------------------------


def test_who_skipped_a_step_gets_the_courses_piece(folder):
    engine = lab.engine_so_far("accumulate")
    assert repr(engine).count("the course's, ") == 4
    for step in ("record", "count", "pop", "deliver"):
        assert f"# {step}: the course's, {growing.ITEMS[step]} is still open" in repr(engine)
        assert inspect.getsource(getattr(own_engine, step)).strip() in repr(engine)
    a = engine.Value(2.0, requires_grad=True)
    node = engine.record("MulBackward0", [a, engine.Value(3.0)], 6.0).grad_fn
    assert engine.count(node) == {node: 1, a.accumulator: 1}
    assert not hasattr(engine, "backward"), "a step gets what comes before it"
    assert not hasattr(lab.engine_so_far("count"), "count")
    assert hasattr(lab.engine_so_far(), "backward")
    assert "02.7" in repr(lab.engine_so_far("record"))


def test_a_piece_that_has_passed_goes_on_to_the_next_exercise(folder, monkeypatch, capsys):
    lab.check("04.5", cell(POP, "pop"))
    new_session(monkeypatch)  # another notebook has another kernel
    capsys.readouterr()
    engine = lab.engine_so_far("deliver")
    assert capsys.readouterr().out == ""
    assert "# pop: yours, from 04.5" in repr(engine)
    assert "# mine" in repr(engine)
    assert "print" not in repr(engine)
    assert "# count: the course's, 03.4 is still open" in repr(engine)
    ready = [engine.Node("old", []), engine.Node("new", []), engine.Node("a", [], engine.Value(1.0))]
    assert [engine.pop(ready).name for _ in range(3)] == ["a", "new", "old"]
    assert (engine.Node, engine.Value) == (own_engine.Node, own_engine.Value), (
        "isinstance is true of what checks make"
    )


DELIVER_TOO_MUCH = """def deliver(node, g, deps, buffers, ready):
    if node is not None:
        buffers[node] = buffers.get(node, 0) + g
        if node.variable is not None:
            node.variable.grad = buffers[node]  # already here
        deps[node] -= 1
        if deps[node] == 0:
            ready.append(node)
"""
BACKWARD = """def backward(root):
    deps, buffers, ready = {0}count(root), {{}}, []
    {0}deliver(root, 1.0, deps, buffers, ready)
    while ready:
        node = {0}pop(ready)
        g, leaf = buffers.pop(node), node.variable
        if leaf is not None:
            leaf.grad = g if leaf.grad is None else leaf.grad {1} g
        else:
            for edge, message in zip(node.edges, node.rule(g)):
                {0}deliver(edge, message, deps, buffers, ready)
"""


def backward_with(engine, prefix="", sign="+"):
    """The last piece, which calls the others by their names or as attributes of the engine."""
    function = cell(BACKWARD.format(prefix, sign), "backward")
    names = (
        {"engine": engine}
        if prefix
        else {name: getattr(engine, name) for name in ("count", "pop", "deliver")}
    )
    function.__globals__.update(names)
    return function


@pytest.mark.parametrize("prefix", ["", "engine."])
def test_a_piece_that_has_passed_and_fails_the_next_is_named(folder, prefix):
    """A check sees a part of what a piece does; the rest comes out where it is used. The right answer to the next exercise stays wrong here."""
    assert lab.check("05.4", cell(DELIVER_TOO_MUCH, "deliver")).passed
    assert lab.check("04.5", cell(POP, "pop")).passed
    engine = lab.engine_so_far("accumulate")
    assert "# deliver: yours" in repr(engine)
    function = backward_with(engine, prefix)
    found = lab.check("06.5", function)
    assert found.state == "wrong"
    assert repr(found).splitlines()[1].strip().startswith("With the course's `deliver` it passes")
    assert "from 05.4" in repr(found)
    held = engine.deliver if prefix else function.__globals__["deliver"]
    assert held.__code__.co_filename == "<your deliver>", "it is put back"
    assert "With the course's" not in repr(lab.check("06.5", backward_with(engine, prefix, "-")))


COMPLETED = """import math


class Value:
    def __init__(self, data, grad_fn=None):
        self.data, self.grad, self.grad_fn = data, 0.0, grad_fn
        self.accumulator = engine.Node("AccumulateGrad", [], self) if grad_fn is None else None

    def _made(self, name, operands, data, *slopes):
        node = engine.Node(name, [x.grad_fn or x.accumulator for x in operands])
        node.rule = lambda g: [g * slope for slope in slopes]
        return Value(data, node)

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self._made("add", [self, other], self.data + other.data, 1.0, 1.0)

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        return self._made("mul", [self, other], self.data * other.data, other.data, self.data)

    def __pow__(self, k):
        return self._made("pow", [self], self.data**k, k * self.data ** (k - 1))

    def tanh(self):
        t = math.tanh(self.data)
        return self._made("tanh", [self], t, 1 - t * t)

    def __sub__(self, other):
        return self + other * -1

    def __rsub__(self, other):
        return self * -1 + other

    __radd__, __rmul__ = __add__, __mul__

    def backward(self):
        engine.backward(self.grad_fn or self.accumulator)
"""


def test_a_piece_that_fails_where_the_engine_is_completed_is_named(folder):
    def judged():
        function = cell(COMPLETED, "Value")
        function.backward.__globals__["engine"] = lab.engine_so_far()
        return lab.check("13.3", function)

    assert judged().passed
    assert lab.check("05.4", cell(DELIVER_TOO_MUCH, "deliver")).passed
    assert repr(judged()).splitlines()[1].strip().startswith("With the course's `deliver` it passes")


def test_what_has_not_passed_is_not_kept(folder, monkeypatch):
    lab.check("04.5", cell("def pop(ready):\n    return ready.pop()\n", "pop"))
    lab.check("04.4", cell("def backward(root):\n    root.grad = 1.0\n", "backward"))
    assert growing.kept() == {}
    lab.check("04.5", cell(POP, "pop"))
    lab.check("04.5", cell("def pop(ready):\n    return ready.pop()\n", "pop"))  # later, and wrong
    assert list(growing.kept()) == ["pop"]
    assert "# mine" in growing.kept()["pop"]


def test_a_piece_under_another_name_or_below_a_magic(folder):
    lab.check("04.5", cell(POP.replace("def pop", "def take"), "take"))
    ready = [own_engine.Node("n", [])]
    assert lab.engine_so_far().pop(ready).name == "n"
    text = "%%time\n\ndef pop(ready):\n    node = max(ready, key=lambda n: (n.variable is not None, n.number))\n    ready.remove(node)\n    return node\n"
    linecache.cache["<magic>"] = len(text), None, text.splitlines(keepends=True), "<magic>"
    space = {}
    exec(compile(text.replace("%%time", ""), "<magic>", "exec"), space)
    lab.check("04.5", space["pop"])
    assert "# pop: yours" in repr(lab.engine_so_far())


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def pop(ready):\n    return helper(ready)\n", "yours needs helper, which is not in its cell"),
        ("import no_such_module\ndef pop(ready):\n    return 1\n", "yours does not run, ModuleNotFoundError"),
        ("def other(ready):\n    return 1\n", "there is no function pop in your cell"),
        ("def pop(ready:\n", "yours does not run, SyntaxError"),
    ],
)
def test_a_piece_that_cannot_stand_alone_is_replaced_and_it_says_why(folder, monkeypatch, code, why):
    monkeypatch.setattr(growing, "_session", {"pop": code})
    engine = lab.engine_so_far()
    assert f"# pop: the course's: {why}" in repr(engine)
    ready = [engine.Node("n", [])]
    assert engine.pop(ready).name == "n"


def test_helpers_of_a_piece_do_not_replace_other_pieces(folder, monkeypatch):
    code = "def count(x):\n    return len(x)\n\n\ndef pop(ready):\n    return ready.pop(count(ready) - 1)\n"
    monkeypatch.setattr(growing, "_session", {"pop": code})
    engine = lab.engine_so_far()
    node = engine.Node("n", [])
    assert engine.count(node) == {node: 1}
    assert engine.pop([node]) is node


def test_the_grader_and_a_checkout_have_the_courses_pieces_alone(folder, monkeypatch):
    lab.check("04.5", cell(POP, "pop"))
    new_session(monkeypatch)
    assert "yours" in repr(lab.engine_so_far())
    monkeypatch.setenv(scores.ENVIRONMENT, "off")
    assert "yours" not in repr(lab.engine_so_far())
    lab.check("04.5", cell(POP, "pop"))
    assert "yours" not in repr(lab.engine_so_far())


def test_a_damaged_file_and_a_folder_that_is_not_writable(folder, monkeypatch):
    place = folder / ".autograd_lab" / "engine.json"
    place.parent.mkdir()
    for text in ("{", "[]", '{"pieces": 3}', "{}"):
        place.write_text(text, encoding="utf-8")
        assert growing.kept() == {}
    monkeypatch.setenv(scores.ENVIRONMENT, str(place / "progress.json"))  # below a file
    lab.check("04.5", cell(POP, "pop"))
    assert "# pop: yours" in repr(lab.engine_so_far())


def test_a_step_that_does_not_exist():
    with pytest.raises(ValueError, match=r"knows no step 'push'. The steps are 'record', 'count'"):
        lab.engine_so_far("push")
    with pytest.raises(ValueError, match="no step 'push'"):
        lab.step_code(own_engine.pop, beside="push")
    with pytest.raises(ValueError, match="no step 'push'"):
        lab.step(own_engine.pop, beside="push")
    with pytest.raises(
        TypeError, match=r"lab.step_code\(..., beside='pop'\) takes your function, but this is a list"
    ):
        lab.step_code([], beside="pop")
    with pytest.raises(
        TypeError, match=r"lab.step\(..., beside='pop'\) takes your function, but this is a list"
    ):
        lab.step([], beside="pop")


# -- beside the lab's own -------------------------------------------------------------------------------------

LINES = {
    "record": [("node MulBackward0; result with a node", "node = make_node("), ("node AddBackward0; result with a node", "node = make_node("),
               ("result without a node", "out._edge = NO_EDGE")],
    "pop": [(f"pop {name}", "_, node = heappop(ready)") for name in "ydcba"],
}  # fmt: skip
"""What the lines of the course's pieces do, and the text of the lab's line that is lit then."""


def told(stepper):
    """[(what a line did, the lab's line that is lit)] of the lines that did something."""
    document = json.loads(stepper._own)
    theirs = rows(document["beside"]["parts"])
    return [
        (did, theirs[document["beside"]["steps"][at][0]][1].strip())
        for _, _, _, at, did in document["steps"]
        if did
    ]


@pytest.mark.parametrize("step", list(LINES))
def test_a_line_is_lit_with_the_labs_that_does_the_same(step):
    found = told(lab.step_code(getattr(own_engine, step), beside=step))
    assert [did for did, _ in found] == [did for did, _ in LINES[step]]
    for (_, line), (_, wanted) in zip(found, LINES[step], strict=True):
        assert wanted in line


def test_every_step_does_what_the_lab_does_and_nothing_else():
    counted = told(lab.step_code(own_engine.count, beside="count"))
    assert sorted(did for did, _ in counted) == sorted(f"count {name}" for name in "ycdbbaa")
    assert all(line.startswith("deps[") for _, line in counted)
    delivered = told(lab.step_code(own_engine.deliver, beside="deliver"))
    kinds = {"add to": "self.buffers[fn] = ", "count down": "self.deps[fn] = ", "push": "heappush("}
    assert len(delivered) == 7 + 7 + 5
    for did, line in delivered:
        assert next(text for kind, text in kinds.items() if did.startswith(kind)) in line
    whole = [did for did, _ in told(lab.step_code(own_engine.backward, beside="accumulate"))]
    assert whole == [
        "count from y", "deliver to y", "pop y", "deliver to d", "deliver to c", "pop d", "deliver to b", "pop c", "deliver to b", "deliver to a",
        "pop b", "deliver to a", "pop a", "accumulate a",
    ]  # fmt: skip
    for step in growing.ITEMS:  # what one of the two does alone is said; here there is nothing
        assert "in the lab" not in repr(
            told(lab.step_code(getattr(own_engine, growing.FUNCTIONS[step]), beside=step))
        )


def test_the_style_does_not_matter():
    def pop(ready):
        ready.sort(key=lambda node: (node.variable is not None, node.number))
        return ready.pop()

    def count(root):
        from collections import Counter

        numbers, nodes = Counter([root]), [root]
        for one in nodes:
            for node in filter(None, one.edges):
                nodes += [node] * (node not in numbers)
                numbers[node] += 1
        return numbers

    assert [did for did, _ in told(lab.step_code(pop, beside="pop"))] == [did for did, _ in LINES["pop"]]
    assert sorted(did for did, _ in told(lab.step_code(count, beside="count"))) == sorted(
        f"count {n}" for n in "ycdbbaa"
    )


def test_where_the_two_part_it_says_so():
    def pop(ready):
        return ready.pop()

    assert [did for did, _ in told(lab.step_code(pop, beside="pop"))][:3] == [
        "pop y", "pop c here, pop d in the lab", "pop d here, pop c in the lab",
    ]  # fmt: skip

    def deliver(node, g, deps, buffers, ready):
        if node is not None:
            buffers[node] = buffers.get(node, 0.0) + g
            deps[node] -= 1
            ready.append(node)

    said = [did for did, _ in told(lab.step_code(deliver, beside="deliver"))]
    assert any(re.fullmatch(r"push [ab] here, nothing more in the lab", did) for did in said)


class EnoughError(Exception):
    """Raised to stop a loop."""


def each_round(endless):
    """Whether this Python tells a tracer of a line each time that a loop within it comes round: since 3.14 it does."""
    told = []

    def trace(frame, event, _):
        if frame.f_code is not endless.__code__:
            return None
        frame.f_trace_opcodes = True
        told.append(event)
        if len(told) > 100:
            raise EnoughError
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        endless([])
    except EnoughError:
        pass
    finally:
        sys.settrace(before)
    return told.count("line") > 2


def stopped_by(endless):
    """What is too much of a loop without an end that stands on one line."""
    return "2,000 lines" if each_round(endless) else "1,000,000 instructions in one line"


def test_pieces_that_never_end_fail_or_are_still_open():
    def open_one(ready):
        """Nothing yet."""
        ...

    def fails(ready):
        return ready.pop(7)

    def keeps(ready):
        return ready[0]

    def endless(ready):
        while ready:
            pass

    assert told(lab.step_code(open_one, beside="pop")) == []
    assert "IndexError" in lab.step_code(fails, beside="pop").end
    assert len(lab.step_code(keeps, beside="pop").lines) == 2
    assert lab.step_code(endless, beside="pop").end.startswith("Stopped after 2,000 lines")

    def on_one_line(ready):
        while True: pass  # fmt: skip  # noqa: E701

    stuck = lab.step_code(on_one_line, beside="pop")
    assert stuck.end.startswith(f"Stopped after {stopped_by(on_one_line)}")
    assert len(stuck.lines) == (2_000 if each_round(on_one_line) else 1)


def test_the_labs_own_side_is_its_source_and_holds_nodes_by_name():
    document = json.loads(lab.step_code(own_engine.backward, beside="accumulate")._own)
    theirs, texts = rows(document["beside"]["parts"]), document["texts"]
    assert any(text == "# core/engine.py, class BackwardPass" for _, text in theirs)
    assert not any("# event:" in text for _, text in theirs)
    held = [{name: texts[i] for name, i in variables} for _, variables in document["beside"]["steps"]]
    assert {one["node"] for one in held if "node" in one} == set("ydcba")
    assert {one["self"] for one in held if "self" in one} == {"a"}
    last = [one["self.buffers"] for one in held if "self.buffers" in one]
    assert last[-1] == "{}"
    assert beside.SHOWN.keys() == beside.TOLD.keys() == growing.ITEMS.keys()


# -- in the stepper -------------------------------------------------------------------------------------------


def beside_each(stepper):
    """[(kind of the event, the student's line, the sentence, whether it runs at this event)] at each step."""
    film = stepper.film
    lines = rows(film["yours"]["pages"][3])
    return [
        (film["kinds"][film["kind"][k]], "" if row is None else lines[row][1].strip(), sentence, bool(now))
        for k, (_, row, sentence, _, now) in enumerate(film["yours"]["steps"])
    ]


EACH = {
    "node": ("record", "return Value(data, grad_fn=Node(name, edges))"), "counts": ("count", "return deps"), "pop": ("pop", "ready.remove(best)"),
    "seed": ("deliver", "buffers[node] = g"), "deliver": ("deliver", "buffers[node] = g"), "push": ("deliver", "ready.append(node)"),
    "vjp": ("accumulate", "for edge, message in zip(node.edges, node.rule(g), strict=True):"), "accumulate": ("accumulate", "leaf.grad = g"),
    "done": ("accumulate", "while ready:"),
}  # fmt: skip
"""{kind of event: (the step that does the same, the line of the course's piece that does it)}; an accumulator has no rule."""


@pytest.mark.parametrize("step", list(growing.ITEMS))
def test_each_event_of_the_lab_has_the_line_of_ones_own_engine_that_does_it(folder, step):
    so_far = list(growing.ITEMS)[: 1 + list(growing.ITEMS).index(step)]
    engine = lab.engine_so_far()
    stepper = lab.step(getattr(engine, growing.FUNCTIONS[step]), beside=step)
    text = "\n".join(line for _, line in rows(stepper.film["yours"]["pages"][3]))
    for one in growing.ITEMS:
        assert (f"def {growing.FUNCTIONS[one]}(" in text) == (one in so_far)
    assert text.count("# your code\n") == 1
    leaf = [n for n, node in enumerate(stepper.trace.nodes) if node["kind"] == "accumulate"]
    steps = beside_each(stepper)
    for k, (kind, line, sentence, now) in enumerate(steps[1:], 1):
        does, wanted = EACH.get(kind, ("", ""))
        if does not in so_far:
            assert not now
            assert (
                does == ""
                or f"The course's {growing.FUNCTIONS[does]} does this" in sentence
                or k == len(steps) - 1
            )
        elif kind != "vjp" or stepper.trace.events[k - 1]["n"] not in leaf:
            assert (line, now) == (wanted, True), kind
    assert steps[-1][2] == "a.grad is 144 in your engine, too."
    assert lab.level("simple") is None
    try:
        assert lab.step(own_engine.pop, beside="pop").level == "queue", "below it the tab is hidden"
    finally:
        lab.level("all")


def test_the_variables_have_the_names_of_the_graph(folder):
    stepper = lab.step(own_engine.pop, beside="pop")
    labels = {node["label"] for node in stepper.film["nodes"]}
    held = [dict(held) for *_, held, now in stepper.film["yours"]["steps"] if now]
    assert {one["best"] for one in held if "best" in one} == labels
    assert held[1]["edges"] == "[MulBackward0 #1, AccumulateGrad of a]"


def test_a_piece_that_has_passed_is_in_the_stepper_of_the_next(folder):
    lab.check("04.5", cell(POP, "pop"))
    stepper = lab.step(own_engine.deliver, beside="deliver")
    assert "# your code, from 04.5" in [line for _, line in rows(stepper.film["yours"]["pages"][3])]
    popped = {line for kind, line, _, now in beside_each(stepper) if kind == "pop" and now}
    assert popped == {"ready.remove(chosen)"}


def test_a_wrong_piece_in_the_stepper(folder):
    def pop(ready):
        return ready.pop()

    found = [
        sentence
        for kind, _, sentence, now in beside_each(lab.step(pop, beside="pop"))
        if kind == "pop" and now
    ]
    assert found[:3] == [
        "",
        "Your engine takes AddBackward0 here, the lab MulBackward0 #2.",
        "Your engine takes MulBackward0 #2 here, the lab AddBackward0.",
    ]

    def deliver(node, g, deps, buffers, ready):
        if node is not None:
            buffers[node] = g
            deps[node] -= 1
            if deps[node] == 0:
                ready.append(node)

    assert (
        beside_each(lab.step(deliver, beside="deliver"))[-1][2]
        == "a.grad is 54 in your engine, and 144 in the lab."
    )


def counting(root, begin=1, seen_again=1, dead_ends=False):
    deps, stack = {root: begin}, [root]
    while stack:
        for node in stack.pop().edges:
            if node in deps:
                deps[node] += seen_again
            elif node is not None:
                deps[node] = 1
                stack.append(node)
            elif dead_ends:
                deps[node] = 1
    return deps


def test_a_wrong_count_in_the_stepper_says_where_it_differs(folder):
    def told(count):
        (said,) = (
            sentence
            for kind, _, sentence, now in beside_each(lab.step(count, beside="count"))
            if kind == "counts" and now
        )
        return said

    def right(root):
        return counting(root)

    def once(root):
        return counting(root, seen_again=0)

    def root_of_none(root):
        return counting(root, begin=0)

    def ends(root):
        return counting(root, dead_ends=True)

    def root_alone(root):
        return {root: 1}

    def names(root):
        return {node.name: number for node, number in counting(root).items()}

    def nothing(root):
        counting(root)

    assert [told(one) for one in (right, once, root_of_none, ends, root_alone, names, nothing)] == [
        "",
        "Your engine waits for 1 at AccumulateGrad of a, the lab for 2.",
        "Your engine waits for 0 at MulBackward0 #3, the lab for 1.",
        "Your engine counts something that is not a node.",
        "Your engine waits for none at AccumulateGrad of a, the lab for 2.",
        "Your engine counts something that is not a node.",
        "Your engine waits for none at AccumulateGrad of a, the lab for 2.",
    ]


def test_what_lies_at_a_node_and_where_its_edges_lead_is_compared(folder):
    """The same node, and something else in it: said at the step at which it happens."""

    def told(function, step, kind):
        return [
            sentence
            for one, _, sentence, now in beside_each(lab.step(function, beside=step))
            if one == kind and now and sentence
        ]

    def replacing(node, g, deps, buffers, ready):
        if node is not None:
            buffers[node] = g
            deps[node] -= 1
            if deps[node] == 0:
                ready.append(node)

    def leaving_out(name, operands, data):
        edges = [x.grad_fn or x.accumulator for x in operands]
        return own_engine.Value(data, grad_fn=own_engine.Node(name, [one for one in edges if one]))

    def swapping(name, operands, data):
        edges = [x.grad_fn or x.accumulator for x in reversed(operands)]
        return own_engine.Value(data, grad_fn=own_engine.Node(name, edges))

    assert told(replacing, "deliver", "deliver") == [
        "18 lies at MulBackward0 #1 in your engine, and 42 in the lab.",
        "54 lies at AccumulateGrad of a in your engine, and 144 in the lab.",
    ]
    assert told(leaving_out, "record", "node") == [
        "The edges of your node are [AccumulateGrad of a], the lab's [AccumulateGrad of a, None].",
        "The edges of your node are [MulBackward0 #1], the lab's [MulBackward0 #1, None].",
    ]
    assert told(swapping, "record", "node")[0] == (
        "The edges of your node are [None, AccumulateGrad of a], the lab's [AccumulateGrad of a, None]."
    )
    for step, function in growing.FUNCTIONS.items():
        for kind in ("node", "counts", "deliver", "push", "pop"):
            assert told(getattr(own_engine, function), step, kind) == [], (step, kind)


def test_a_piece_in_the_stepper_that_fails_never_ends_or_is_still_open(folder):
    def still_open(name, operands, data):
        """Nothing yet."""
        ...

    def fails(ready):
        return ready.pop(7)

    def endless(root):
        while True: pass  # fmt: skip  # noqa: E701

    def nowhere(root):
        return {}

    for function, step, kind, line, end in (
        (still_open, "record", "node", "...", "Your engine ended with AttributeError"),
        (
            fails,
            "pop",
            "pop",
            "return ready.pop(7)",
            "Your engine ended with IndexError: pop index out of range",
        ),
        (
            endless,
            "count",
            "counts",
            "while True: pass  # fmt: skip  # noqa: E701",
            f"Stopped after {stopped_by(endless)}",
        ),
        (nowhere, "count", "seed", "return {}", "Your engine ended with KeyError"),
    ):
        steps = beside_each(lab.step(function, beside=step))
        first = next(k for k, (_, _, sentence, _) in enumerate(steps) if sentence.startswith(end))
        assert (steps[first][0], steps[first][1]) == (kind, line) or step == "count"
        assert all(
            at == line and sentence.startswith(end) and not now for _, at, sentence, now in steps[first:]
        )


def test_the_hidden_pass_leaves_the_students_recording_alone():
    with lab.record() as trace:
        x = torch.tensor(2.0, requires_grad=True)
        (x * x).backward()
    steps = len(trace)
    lab.step_code(own_engine.backward, beside="accumulate")
    lab.step(own_engine.backward, beside="accumulate")
    assert len(trace) == steps
    assert "4" in str(lab.why(x))
