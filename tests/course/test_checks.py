"""lab.check, lab.hint and lab.progress: what a student hears, and what is remembered."""

import contextlib
import gc
import html
import json
import math
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.course import feedback, handed_out, items, plain, probe, scores, timeout
from autograd_lab.course.items import Item, Probe, Verdict, Wrong, judge
from autograd_lab.torchlike.autograd import collector
from autograd_lab.torchlike.autograd.modes import THREAD, WATCHERS, as_now
from autograd_lab.torchlike.autograd.node import countdown
from autograd_lab.tracing.recorder import last_recording

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_file(monkeypatch, tmp_path):
    monkeypatch.setenv(scores.ENVIRONMENT, str(tmp_path / "progress.json"))
    monkeypatch.setattr(scores, "_session", {})
    monkeypatch.setattr(feedback, "_asked", {})


NUMBER = Item(
    "99.1", "number", 2, hints=["look", "think", "nearly"], expected=96,
    wrong=[Wrong("One message is missing.", "M06", 0, 48), Wrong("Half right.", "M07", 1, 144)],
)  # fmt: skip


def product_item():
    source = "def rows(f, n):\n    a = torch.arange(float(n))\n    return f(a).detach()\n"
    hidden = "def secret(f):\n    return f(torch.tensor([5.0, -5.0]))\n"
    right, double = torch.relu, lambda a: a * 2
    visible = Probe("rows", 2, source, "Rows", [[2], [3]])
    sealed = Probe("secret", 3, hidden, hidden=True)
    for one in (visible, sealed):
        one.expected = list(probe.run([one], right).values())
    wrong = Wrong("Twice as much.", "M19", 0, outputs=probe.run([visible, sealed], double))
    return Item("99.2", "code", 5, hints=["a", "b", "c"], probes=[visible, sealed], wrong=[wrong])


@pytest.mark.parametrize(
    ("value", "data"),
    [
        (torch.tensor(3.0), 3.0),
        (np.float32(0.5), 0.5),
        (Fraction(6, 5), 1.2),
        ([Decimal("-0.013"), Decimal("Infinity")], [-0.013, {"float": "inf"}]),
        (torch.tensor([[1, 2]]), {"shape": [1, 2], "dtype": "int64", "data": [[1, 2]]}),
        ((1, " b "), [1, "b"]),
        ({3, 1}, [1, 3]),
        (math.nan, {"float": "nan"}),
        (np.array([1.0, np.inf]), {"shape": [2], "dtype": "float64", "data": [1.0, {"float": "inf"}]}),
        (torch.Size([2, 3]), [2, 3]),
        (True, True),
        (None, None),
    ],
)
def test_answers_become_plain_data(value, data):
    assert plain.plain(value) == data
    assert json.loads(json.dumps(plain.plain(value))) == data


def test_what_is_no_number_may_be_said_in_words():
    """A question that asks for "None" or "nan" is answered by None and float("nan") as well, and the other way round."""
    for value, word in ((None, "None"), (math.nan, "nan"), (-math.inf, "-inf")):
        value = plain.plain([value, 1])
        assert plain.same(value, [word.upper(), 1])
        assert plain.same([word, 1], value)
        assert not plain.same(value, ["error", 1])
    assert not plain.same(None, 0)
    assert not plain.same("", None)


@pytest.mark.parametrize("value", [len, object(), np, np.zeros(20_000), lambda x: x, Fraction(10**400)])
def test_what_is_no_data_is_refused(value):
    with pytest.raises(plain.NotPlainError):
        plain.plain(value)


@pytest.mark.parametrize(
    ("a", "b", "agree"),
    [
        (1 / 3, 0.33333, True),
        (1 / 3, 0.3333, True),
        (0.333, 1 / 3, False),
        (1, True, False),
        (0, None, False),
        (0.0, 1e-9, True),
        ("Backward", "backward", True),
        ([1, 2], {"shape": [2], "dtype": "int64", "data": [1, 2]}, True),
        ([[1, 2]], {"shape": [2], "dtype": "int64", "data": [1, 2]}, False),
        (
            {"shape": [2, 1], "dtype": "f", "data": [[1], [2]]},
            {"shape": [1, 2], "dtype": "f", "data": [[1, 2]]},
            False,
        ),
        ({"float": "nan"}, {"float": "nan"}, True),
        ({"float": "nan"}, 1.0, False),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ({"error": "TypeError", "message": "x"}, {"a": 1}, False),
    ],
)
def test_when_two_answers_are_the_same(a, b, agree):
    assert plain.same(a, b) is agree
    assert plain.same(b, a) is agree


def test_a_number_is_passed_wrong_with_its_misconception_or_not_attempted():
    assert judge(NUMBER, 96.0).state == "passed"
    assert judge(NUMBER, 96.0).score == 2
    wrong = judge(NUMBER, 48)
    assert (wrong.state, wrong.score, wrong.misconception, wrong.says) == (
        "wrong",
        0,
        "M06",
        "One message is missing.",
    )
    assert judge(NUMBER, 144).score == 1
    other = judge(NUMBER, 7)
    assert (other.state, other.misconception, other.says) == ("wrong", "", "")
    for answer in (..., [1, ...], {"a": ...}):
        assert feedback.verdict_on(NUMBER, answer).state == "not attempted"
    assert feedback.verdict_on(NUMBER, None).state == "wrong"
    assert "None is not right." in repr(feedback.Result(feedback.verdict_on(NUMBER, None), None))
    assert "cannot be an answer" in feedback.verdict_on(NUMBER, len).says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("96", "This asks for a number; you gave a word in quotes, '96'."),
        (
            [9, 6],
            "This asks for a number; you gave a list, [9, 6]. If you mean 9.6, write it with a point.",
        ),
        ([96], "This asks for a number; you gave a list, [96]."),
        (True, "This asks for a number; you gave True or False, True."),
        (95, ""),
        (None, ""),
    ],
)
def test_an_answer_of_another_sort_is_told_so(answer, says):
    assert judge(NUMBER, answer).says == says


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ({"p": ["a"], "q": ["p", "a"]}, "1 of 2 are right; look at 'q' first."),
        ({"q": ["a", "p"]}, "There is nothing for 'p'."),
        ({"p": ["a"], "q": ["a", "p"], "a": []}, "Nobody asked for 'a'."),
    ],
)
def test_a_table_says_where_it_goes_wrong_and_not_what_belongs_there(answer, says):
    item = Item("99.4", "engine", 3, expected={"p": ["a"], "q": ["a", "p"]})
    assert judge(item, answer).says == says


def test_a_list_says_where_it_goes_wrong_and_earns_its_share():
    item = Item(
        "99.3", "order", 4, expected=["a", "b", "c", "d"], accept=[["b", "a", "c", "d"]], partial=True
    )
    assert judge(item, ["b", "a", "c", "d"]).state == "passed"
    verdict = judge(item, ["b", "a", "d", "c"])
    assert (verdict.score, verdict.says) == (2, "Up to number 2 the order is right; look at number 3.")
    assert judge(item, ["a"]).says == "The question asks for a list of 4; you gave 1 of them."
    assert judge(item, 3).score == 0
    flags = Item("99.5", "predict", 2, expected=[False, True, False])
    assert (
        judge(flags, [0, 1, 0]).says
        == "0 of 3 are right; number 1 asks for True or False, and you gave a number, 0."
    )
    assert judge(flags, [False, True, True]).says == "2 of 3 are right; look at number 3 first."


def test_letters_may_be_written_as_a_word_and_words_as_an_array():
    letters = Item("99.6", "order", 2, expected=["B", "D", "A"], wrong=[Wrong("No.", answer=["A", "B", "D"])])
    for answer in ("BDA", "b, d, a", np.array(["B", "D", "A"])):
        assert feedback.verdict_on(letters, answer).state == "passed", answer
    assert (judge(letters, "ABD").says, judge(letters, "ABD").got) == ("No.", "ABD")
    assert judge(letters, "BD").says == "The question asks for a list of 3; you gave 'BD'."
    words = Item("99.7", "predict", 2, expected=["no", "yes"])
    assert judge(words, "ny").state == "wrong"


def test_an_array_of_one_dimension_earns_the_share_of_a_list():
    item = Item("99.8", "number", 4, expected=[12, 4, 12, 160], partial=True)
    for answer in ([12, 4, 12, 80], np.array([12, 4, 12, 80]), torch.tensor([12.0, 4, 12, 80])):
        verdict = feedback.verdict_on(item, answer)
        assert (verdict.score, verdict.says) == (3, "3 of 4 are right; look at number 4 first.")
    assert judge(item, {"shape": 4, "data": [12, 4, 12, 160]}).score == 0
    assert (
        feedback.verdict_on(item, torch.tensor([12.0, 4])).says
        == "The question asks for a list of 4; you gave 2 of them."
    )


def test_a_list_in_place_of_a_table_is_told_what_is_asked_for():
    item = Item("99.4", "engine", 3, expected={"p": ["a"], "q": ["a", "p"]})
    assert (
        judge(item, [["a"]]).says
        == "This asks for a dict, with a list for each of 'p', 'q'; you gave [['a']]."
    )


def test_what_a_probe_makes_is_of_the_class_in_the_answers_notebook():
    """An answer may ask with `isinstance` for a class that its question hands out."""
    source = "class Node:\n    pass\n\ndef known(f):\n    return f(Node())\n"
    made = Probe("known", 1, source, "Known")
    cell: dict = {"__name__": "__main__"}
    exec("class Node:\n    pass\n\ndef is_node(x):\n    return isinstance(x, Node)\n", cell)
    assert probe.run([made], cell["is_node"]) == {"known": True}
    assert probe.run([made], lambda x: type(x).__module__) == {"known": "probe"}, (
        "where there is none, its own"
    )
    assert probe.own_class(cell["is_node"], dict) is dict


def test_a_mode_that_an_answer_leaves_switched_ends_with_the_case():
    source = "def one(answer, x):\n    answer(x)\n    return torch.is_grad_enabled()\n"
    cases = Probe("one", 1, source, cases=[[False], [True]])
    assert probe.run([cases], torch.set_grad_enabled) == {"one(False)": False, "one(True)": True}
    assert probe.run([cases], lambda x: x or torch.set_grad_enabled(x)) == {
        "one(False)": False,
        "one(True)": True,
    }
    assert torch.is_grad_enabled()


@pytest.mark.parametrize(
    ("touch", "still"),
    [
        (lambda t: (t * 2, t.clone().zero_(), t.sum().backward()), True),
        (lambda t: t.data.add_(1), False),
        (lambda t: t.data.add_(1).sub_(1), False),  # rounding stays
        (lambda t: t.detach().mul_(1), False),  # no bit has changed, but the write is counted
        (lambda t: t.register_hook(torch.nan_to_num), False),
        (lambda t: t.register_hook(lambda g: None), False),  # changes nothing, and may count
        (lambda t: t.register_post_accumulate_grad_hook(lambda t: None), False),
        (lambda t: t.register_hook(lambda g: torch.where(t > 1, g, 0.0)), False),
        (lambda t: t.requires_grad_(False), False),
        (lambda t: torch.set_grad_enabled(False), False),
        (lambda t: torch.set_default_dtype(torch.float64), False),
    ],
)
def test_untouched_sees_what_is_written_undone_and_left_behind(touch, still):
    for shape in ((), (2, 2)):
        t = torch.full(shape, 0.1, requires_grad=True)
        as_it_was = probe.untouched(t, torch.tensor([1, 2]))
        with torch.enable_grad():
            try:
                touch(t)
                assert as_it_was() is still
            finally:
                torch.set_default_dtype(torch.float32)


def test_untouched_sees_a_gradient_where_none_was_required():
    x, w = torch.ones(2), torch.ones(2, requires_grad=True)
    as_they_were = probe.untouched(x, w)
    (w * 2).sum().backward()
    assert as_they_were()
    (x.requires_grad_() * w).sum().backward()
    x.requires_grad_(False)
    assert not as_they_were()


def test_no_kind_of_answer_is_objected_to_where_the_bank_foresees_it():
    """A question that allows numbers and words hears of neither that the other is wanted; a number for a tuple is a slip."""
    assert (
        feedback.verdict_on(items.find("11.1"), [1, 3.5, 2, 0, "inf"]).says
        == "4 of 5 are right; look at number 3 first."
    )
    objections = []
    for item in (one for one in items.shipped().values() if isinstance(one.expected, list)):
        for wrong in (w.answer for w in item.wrong if isinstance(w.answer, list)):
            for place, (right, given) in enumerate(zip(item.expected, wrong, strict=False)):
                answer = [*item.expected[:place], given, *item.expected[place + 1 :]]
                says = feedback.verdict_on(item, answer).says
                if "asks for" in says and not isinstance(right, list):
                    objections.append((item.id, answer, says))
    assert not objections
    says = feedback.verdict_on(
        items.find("09.3"), [4, 300, 700, 2, 1, "forward"]
    ).says  # no known answer has a number there
    assert says.endswith("number 5 asks for a word in quotes, and you gave a number, 1.")


@pytest.mark.parametrize("item_id", ["08.1", "09.1"])
def test_a_number_in_place_of_a_tuple_is_told_of_tuples(item_id):
    """Whichever of the answers it is, and whatever the others are."""
    item = items.find(item_id)
    for place, shape in enumerate(item.expected):
        if len(shape) == 1:
            answer = [tuple(one) for one in item.expected]
            answer[place] = shape[0]
            says = feedback.verdict_on(item, answer).says
            assert "tuple" in says
            assert "comma" in says
            assert f"({shape[0]},)" in says
            assert "list" not in says
    answer = [*map(tuple, item.expected[:-1]), 7]
    says = feedback.verdict_on(item, answer).says
    assert says.endswith(
        f"number {len(answer)} asks for a tuple, and you gave a number, 7. "
        "Python reads (7) as the number 7; a tuple of one number needs the comma: (7,)."
    )


def test_code_is_judged_by_its_probes():
    item = product_item()
    right = feedback.verdict_on(item, torch.relu)
    assert (right.state, right.score) == ("passed", 2)  # the hidden 3 are decided elsewhere
    full = judge(item, outputs=probe.run(item.probes, torch.relu))
    assert (full.state, full.score) == ("passed", 5)
    double = feedback.verdict_on(item, lambda a: a * 2)
    assert (double.state, double.misconception, double.says) == ("wrong", "M19", "Twice as much.")
    assert double.case == ("rows", 0)
    other = feedback.verdict_on(item, lambda a: a + 1)
    assert "Rows: you gave [1, 2] (shape [2]), it should be [0, 1] (shape [2])" in other.says
    broken = feedback.verdict_on(item, lambda a: a.no_such_thing())
    assert "Rows: your code raised AttributeError" in broken.says

    def endless(_):
        raise RecursionError("maximum recursion depth exceeded while a new Python found other words for it")

    said = feedback.verdict_on(item, endless).says
    assert said == "Rows: your code raised RecursionError: maximum recursion depth exceeded."
    for divide in (
        lambda _: 1 / 0,
        lambda _: 1 // 0,
        lambda _: 1.0 / 0.0,
        lambda _: 1.0 % 0.0,
        lambda _: 0.0**-1,
    ):
        said = feedback.verdict_on(item, divide).says  # newer Pythons have the words of the first for all
        assert said == "Rows: your code raised ZeroDivisionError: division by zero."
    given = probe.run([Probe("given", 1, "def given(f):\n    return f\n")], torch.relu)["given"]
    said = items.difference("Given", given, 1)
    assert said == "Given: a function is not an answer; give a number, a word, a list or a tensor."

    def stopped(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="Rows: your code was still running"):
        feedback.verdict_on(item, stopped)
    wrong_shape = feedback.verdict_on(item, lambda a: a.reshape(-1, 1))
    assert "yours has shape [2, 1], it should be [2]" in wrong_shape.says
    assert feedback.verdict_on(item, 3).says == "The question asks for a function; you gave 3."


def test_a_mistake_keeps_its_name_when_hidden_probes_give_other_numbers():
    """Two ways to write it: the same where the notebook looks, and not elsewhere."""
    item = Item(
        "99.1", "code", 3,
        probes=[Probe("shown", 1, "", cases=[[1], [2]], expected=[10, 20]), Probe("deep", 2, "", expected=[70], hidden=True)],
        wrong=[Wrong("Not for us.", "M01", outputs={"shown(1)": 10, "shown(2)": 20, "deep": 0}),
               Wrong("In any order.", "M06", outputs={"shown(1)": 10, "shown(2)": 24, "deep": 71})],
    )  # fmt: skip

    def said(**outputs):
        return judge(
            item, outputs={f"shown({key[1:]})" if key != "deep" else key: v for key, v in outputs.items()}
        ).says

    assert said(s1=10, s2=24) == said(s1=10, s2=24, deep=71) == said(s1=10, s2=24, deep=99) == "In any order."
    assert said(s1=10, s2=20, deep=0) == "Not for us."
    assert (
        said(s1=10, s2=20, deep=1) == "deep: you gave 1, it should be 70."
    )  # what is right where the notebook looks is no mistake there
    assert said(s1=10, s2=25, deep=71) == "shown(2): you gave 25, it should be 20."


def test_the_smallest_case_that_differs_is_shown_and_never_a_hidden_one_before_a_visible_one():
    def made(name, cases, *, hidden=False):
        return Probe(
            name,
            1,
            f"def {name}(f, x):\n    return f(x)",
            cases=cases,
            expected=[c[0] for c in cases],
            hidden=hidden,
        )

    item = Item(
        "99.6",
        "code",
        3,
        probes=[
            made("ladder", [[[1, 2, 3, 4]], [[1, 2]], [[0, 0]]]),
            made("tiny", [[7]], hidden=True),
            made("long", [[[1] * 9]]),
        ],
    )
    double = judge(
        item, outputs=probe.run(item.probes, lambda x: [2 * a for a in x] if isinstance(x, list) else 2 * x)
    )
    assert (double.case, double.want, double.got, double.score) == (("ladder", 1), [1, 2], [2, 4], 0)
    only_hidden = judge(item, outputs=probe.run(item.probes, lambda x: x if isinstance(x, list) else -x))
    assert (only_hidden.case, only_hidden.score) == (("tiny", 0), 2)


def test_what_was_given_and_what_it_should_be_stand_in_one_order():
    said = items.difference("Here", {"y": 8, "a.grad": 12}, {"a.grad": 8, "y": 8})
    assert said == "Here: you gave {y: 8, a.grad: 12}, it should be {y: 8, a.grad: 8}."


def test_an_open_gap_is_not_attempted(tmp_path):
    import linecache

    def made(text):
        name = f"<gap {len(text)}>"
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        space = {}
        exec(compile(text, name, "exec"), space)
        return space["f"]

    item = product_item()
    assert (
        feedback.verdict_on(item, made("def f(a):\n    return ...  # your code here\n")).state
        == "not attempted"
    )
    assert (
        feedback.verdict_on(item, made("class f:\n    def g(self):\n        ...  # your code here\n")).state
        == "not attempted"
    )
    kept = made("def f(a):\n    # your code here\n    b = a[..., None]\n    return torch_relu(a)\n")
    assert feedback.verdict_on(item, kept).state == "wrong"


def doubled(times):
    """The nodes of y = y + y, so many times: each is a list of the two before it."""
    node = []
    for _ in range(times):
        node = [node, node]
    return node


def test_who_follows_every_path_is_stopped_after_so_many_lines():
    def each_once(root):
        known, todo = {id(root)}, [root]
        for node in todo:
            new = [one for one in node[:1] if id(one) not in known]
            known.update(map(id, new))
            todo += new
        return len(todo)

    def every_path(root):
        return 1 + sum(every_path(one) for one in root)

    def paths(node):
        yield node
        for one in node:
            yield from paths(one)

    trace = sys.gettrace()
    assert probe.soon(each_once, doubled(24)) == 25
    assert probe.soon(every_path, doubled(4)) == 31
    for work in (every_path, lambda root: len(list(paths(root))), lambda root: sum(1 for _ in paths(root))):
        with pytest.raises(RuntimeError, match="lines of Python"):
            probe.soon(work, doubled(24))
    assert sys.gettrace() is trace


def test_what_runs_is_noted_with_its_module():
    profile = sys.getprofile()
    g = torch.ones(2, 3)
    assert ("sum_to_size", True) in [
        (name, module.startswith("autograd_lab")) for module, name in probe.called(lambda: g.sum_to_size(3))
    ]
    assert "sum_to_size" not in [name for _, name in probe.called(lambda: g.sum(0))]
    assert sys.getprofile() is profile


GAP = "...  # your code here"


@pytest.mark.parametrize(
    ("text", "open_"),
    [
        (f"def f(a):\n    return {GAP}", True),
        (f"def f(a):\n    {GAP}", True),
        (f"def f(a):\n    'What it is.'\n    {GAP}\n    raise NotImplementedError", True),
        (f"def f(a):\n    b = {GAP}\n    return b", True),
        (f"def f(a):\n    if a:\n        return a\n    return {GAP}", True),
        (f"class F:\n    def g(self): {GAP}\n    def h(self):\n        return 1", True),
        (f"    def g(self):\n        {GAP}", True),
        (f"g(lambda a: {GAP}", True),
        (f"def f(a):\n    # return {GAP}\n    return a", False),
        (f"def f(a):\n    'return {GAP}'\n    return a", False),
        (f"def f(a):\n    return a\n    return {GAP}", False),
        (f"def f(a):\n    a.step()\n    {GAP}", False),
        (f"def f(a):\n    {GAP}\n    a.step()", False),
        (f"def f(a):\n    if a:\n        return a\n        {GAP}\n    raise ValueError\n    {GAP}", False),
        ("def f(a):\n    # your code here\n    return a[..., None]", False),
    ],
)
def test_a_gap_is_open_while_its_dots_may_run(text, open_):
    """A line that is now a comment, or stands below a return, is no gap: the answer beside it counts."""
    assert handed_out.has_gap(text) is open_


STUB = '''def f(a, b):
    """Their product."""
    total = a + b
    print(total)
    return total
'''


@pytest.mark.parametrize(
    ("text", "attempted"),
    [
        (STUB, False),
        (STUB.replace("Their product", "Of an older delivery"), False),
        (STUB.replace("total = a + b", "total = a+b  # hm").replace('    """Their product."""\n', ""), False),
        (STUB.replace("    return total\n", ""), True),
        (STUB.replace("a + b", "b + a"), True),
        (STUB.replace("    return", "        return").replace("print(total)", "if a:"), True),
        ("def f(a, b):\n    pass\n", False),
        ('def f(a, b):\n    """Soon."""\n    raise NotImplementedError("soon")\n', False),
        ("def f(a, b):\n    raise ValueError\n", True),
        ("def f(a, b):\n    return None\n", True),
        ("f = lambda a, b: a + b\n", True),
        ("class f:\n    def g(self):\n        pass\n", True),
    ],
)
def test_code_is_compared_with_its_stub_as_python_reads_it(text, attempted):
    import linecache

    name, space = "<kept from an older delivery>", {}
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    exec(compile(text, name, "exec"), space)
    item = product_item()
    item.stub = STUB
    assert (feedback.verdict_on(item, space["f"]).state != "not attempted") is attempted
    item.stub, item.earlier = "def f(a, b):\n    return a - b\n", [STUB]
    assert (feedback.verdict_on(item, space["f"]).state != "not attempted") is attempted


def test_the_failed_case_opens_in_the_stepper():
    result = feedback.Result(feedback.verdict_on(product_item(), lambda a: a * 2), lambda a: a * 2)
    stepper = result.step()
    assert stepper.trace.title == "99.2: Rows"
    assert any(e["k"] == "const" and e["op"] == "mul" for e in stepper.trace.events)
    with pytest.raises(ValueError, match="no failed case"):
        feedback.Result(judge(NUMBER, 96)).step()


def test_the_stepper_of_a_case_shows_the_probe_with_the_values_of_that_case():
    source = 'def one(f, n):\n    "At n = {0}"\n    return f(torch.tensor(n)).item()\n'
    item = Item("99.3", "code", 1, probes=[Probe("one", 1, source, "At n = {0}", [[2.0]], [4.0])])
    stepper = feedback.Result(feedback.verdict_on(item, lambda a: a * 3), lambda a: a * 3).step()
    assert stepper.trace.title == "99.3: At n = 2"
    assert '"At n = 2' in stepper.trace.to_json().replace("\\", "")
    assert "{0}" not in stepper.trace.to_json()


def test_the_call_that_opens_the_stepper_names_what_the_student_wrote(monkeypatch):
    monkeypatch.setattr(items, "shipped", lambda: {"99.2": product_item()})

    def rows(a):
        return a * 2

    result = lab.check("99.2", rows)
    assert 'This case in the stepper: lab.check("99.2", rows).step()' in repr(result)
    assert '<code>lab.check("99.2", rows).step()</code>' in result._repr_html_()
    assert feedback._named([rows, lambda a: a]) == "[rows, ...]"


def test_a_check_leaves_the_student_s_recording_the_last_one(monkeypatch):
    """`lab.why` is asked about that one, not about the case of the check or what a probe recorded."""
    item = product_item()
    rows = item.probes[0]
    rows.source = "def rows(f, n):\n    with lab.record():\n        pass\n    return f(torch.ones(n))\n"
    monkeypatch.setattr(items, "shipped", lambda: {item.id: item})
    with lab.record():
        mine = torch.tensor(2.0, requires_grad=True)
        mine.detach().exp()
    before = last_recording()
    assert isinstance(lab.check(item.id, lambda a: a * 3), feedback.Failed)
    assert last_recording() is before
    monkeypatch.setattr(items, "shipped", lambda: {item.id: product_item()})
    assert lab.check(item.id, lambda a: a * 3).steppable
    assert last_recording() is before


def test_code_in_a_verdict_and_in_a_hint_looks_like_code(monkeypatch):
    item = replace(product_item(), hints=["Look at `a < b`."])
    monkeypatch.setattr(items, "shipped", lambda: {item.id: item})
    page = lab.hint(item.id)._repr_html_()
    assert "Look at <code>a &lt; b</code>." in page
    assert "hint 1 of 1" in page
    assert "Look at `a < b`." in repr(lab.hint(item.id))
    monkeypatch.setattr(feedback, "_asked", {})
    assert '<code>lab.hint("99.2")</code>' in lab.check("99.2", lambda a: a * 2)._repr_html_()


def test_only_a_verdict_with_a_case_to_step_through_gets_a_button(monkeypatch):
    monkeypatch.setattr(items, "shipped", lambda: {"99.1": NUMBER, "99.2": product_item()})
    assert isinstance(lab.check("99.2", lambda a: a * 2), feedback.Failed)
    for other in (lab.check("99.1", 48), lab.check("99.2", torch.relu), lab.check("99.2")):
        assert not isinstance(other, feedback.Failed)


def test_a_case_without_tensors_is_not_offered_to_the_stepper(monkeypatch):
    three = Probe("three", 2, "def three(f):\n    return f(3)\n", "Three", expected=[9])
    item = Item("99.3", "code", 2, probes=[three])
    monkeypatch.setattr(items, "shipped", lambda: {item.id: item, "99.2": product_item()})
    plain = lab.check(item.id, lambda a: a * 2)
    assert "stepper" not in repr(plain)
    with pytest.raises(ValueError, match="runs without tensors"):
        plain.step()
    stops = lab.check("99.2", lambda a: (a * 2).nonsense)
    assert "stepper" in repr(stops), "the product is recorded"
    late = "def late(f):\n    a = torch.tensor(3.0)\n    return f(a, a)\n"
    item = Item("99.4", "code", 1, probes=[Probe("late", 1, late, "Late", expected=[9.0])])
    monkeypatch.setattr(items, "shipped", lambda: {item.id: item, "99.2": product_item()})
    stops = lab.check(item.id, lambda a: a)
    assert "TypeError" in repr(stops)
    assert "in the stepper" not in repr(stops), "nothing is recorded before it stops"
    with pytest.raises(ValueError, match="nothing that the stepper could show"):
        stops.step()
    assert 'This case in the stepper: lab.check("99.2", ...).step()' in repr(
        lab.check("99.2", lambda a: a * 2)
    )


def test_a_long_error_message_ends_with_its_first_sentence():
    second = (
        "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
        "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify"
    )
    says = items.difference("Twice", {"error": "RuntimeError", "message": second}, 1)
    assert says.endswith("after they have already been freed).")
    assert says.startswith("Twice: your code raised RuntimeError: Trying to backward")
    assert (
        items.difference("x", {"error": "E", "message": "One. Two."}, 1) == "x: your code raised E: One. Two."
    )
    assert items.difference("x", {"error": "E", "message": "word " * 60}, 1).endswith("word ...")


def test_what_is_shown_is_the_same_in_text_and_html(monkeypatch):
    monkeypatch.setattr(items, "shipped", lambda: {"99.1": NUMBER, "99.2": product_item()})
    assert repr(lab.check("99.1", 96)) == "99.1: passed, 2 of 2 points"
    assert repr(lab.check("99.1")) == "99.1: not attempted (2 points)"
    wrong = lab.check("99.1", 48)
    assert (
        repr(wrong)
        == '99.1: not right yet, 0 of 2 points\n  One message is missing.\n  A hint: lab.hint("99.1")'
    )
    assert "One message is missing." in wrong._repr_html_()
    assert repr(lab.check("99.2", torch.relu)) == "99.2: passed, 2 of 2 points; 3 more points at grading"
    shown = repr(lab.check("99.2", lambda a: a * 2))
    assert "Twice as much." in shown
    assert "Rows: you gave" in shown
    assert "&lt;b&gt;" in lab.check("99.1", "<b>")._repr_html_()


def test_hints_come_one_at_a_time(monkeypatch):
    monkeypatch.setattr(items, "shipped", lambda: {"99.1": NUMBER})
    said = [repr(lab.hint("99.1")) for _ in range(4)]
    assert said[0] == "99.1, hint 1 of 3: look"
    assert said[2] == said[3] == "99.1, hint 3 of 3: nearly"
    assert "A hint" not in repr(lab.check("99.1", 1))
    with pytest.raises(ValueError, match="hints 1 to 3, not 7"):
        lab.hint("99.1", 7)


@pytest.mark.parametrize("ask", [lambda id_: lab.check(id_, 1), lab.check, lab.hint])
@pytest.mark.parametrize(
    ("id_", "says"),
    [
        ("99.7", "There is no item '99.7'; this notebook has 99.1."),
        ("98.1", "There is no item '98.1'; ids look like '04.2'."),
        (99.7, "An item's id is text, such as '04.2', not a float."),
        ([1], "An item's id is text, such as '04.2', not a list."),
    ],
)
def test_an_unknown_id_is_answered_with_those_there_are(monkeypatch, ask, id_, says):
    """A slip in the id is no reason for a traceback."""
    monkeypatch.setattr(items, "shipped", lambda: {"99.1": NUMBER})
    answer = ask(id_)
    assert repr(answer) == says
    assert html.escape(says) in answer._repr_html_()
    assert not answer.passed


def test_progress_is_kept_in_a_file_and_never_falls(monkeypatch, tmp_path):
    monkeypatch.setattr(items, "shipped", lambda: {"99.1": NUMBER, "99.2": product_item()})
    monkeypatch.setattr(scores, "shipped", items.shipped)
    lab.check("99.1", 144)
    assert lab.progress().points == (1, 4)
    lab.check("99.1", 96)
    lab.check("99.1", 7)
    lab.check("99.2")
    monkeypatch.setattr(scores, "_session", {})  # another kernel
    assert lab.progress().rows == [("99", 2, 4, 1, 2)]
    assert repr(lab.progress()).splitlines() == [
        "99  99  1 of 2 items     2 of 4 points, 3 more at grading",
        "all 2 of 4 points, 3 more at grading: 7 in all",
        "Next: 99.2",
    ]
    assert json.loads((tmp_path / "progress.json").read_text())["items"]["99.1"]["tries"] == 3


def test_progress_has_titles_and_says_what_is_next(monkeypatch):
    shown = repr(lab.progress()).splitlines()
    assert shown[4] == f"04  Backward, node by node    0 of {count('04')} items     0 {worth('04')}"
    assert shown[-1] == "Next: 00.1 Count the operations, in exercises/exercise_00_start_here.ipynb"
    page = lab.progress()._repr_html_()
    link = re.search(r'<a href="\.\./([^"]+)">', page)[1]
    assert link == "exercises/exercise_00_start_here.ipynb"
    for item in items.shipped().values():
        scores.note(judge(item, item.expected) if not item.probes else Verdict(item, "passed", item.points))
    assert repr(lab.progress()).splitlines()[-1] == "Every item is passed."
    assert "<a" not in lab.progress()._repr_html_()


def count(number):
    return sum(key.startswith(number) for key in items.shipped())


def worth(number):
    mine = [item for key, item in items.shipped().items() if key.startswith(number)]
    later = sum(item.hidden_points for item in mine)
    return f"of {sum(item.points for item in mine) - later:g} points, {later:g} more at grading"


def never(body):
    """A program that never ends, in one of several ways."""

    def program(a):
        while True:
            try:
                body()
            except Exception:
                continue

    return program


# What students write around an endless loop, and why it catches what is meant to end it.
STUBBORN = {
    "around a call": "while True:\n try: int('x')\n except: pass",
    "around an inner loop": "while True:\n try:\n  while True: pass\n except: pass",
    "that goes on": "while True:\n try:\n  while True: pass\n except BaseException: continue",
    "in another": "while True:\n try:\n  while True:\n   try:\n    while True: pass\n   except: pass\n except: pass",
    "in a finally": "while True:\n try:\n  while True: pass\n finally:\n  continue",
    "that prints": "while True:\n try:\n  while True: pass\n except: str(1)",
    "in a with": "import contextlib\nwhile True:\n with contextlib.suppress(BaseException):\n  while True: pass",
    "in each call of a recursion": (
        "def f(n):\n try:\n  if n: f(n - 1)\n  while True: pass\n except: f(n)\nf(50)"
    ),
    "a sleep": "import time\ntime.sleep(600)",
    "around a sleep": "import time\nwhile True:\n try: time.sleep(600)\n except: pass",
    "a lock": "import threading\none = threading.Lock()\none.acquire()\none.acquire()",
}


def written(source):
    """The program of a student's lines."""
    return lambda a: exec(compile(source, "answer", "exec"), {})


ENDLESS = {
    "a loop": never(lambda: None),
    "that sleeps": never(lambda: time.sleep(0.01)),
    "that catches errors": never(lambda: 1 / 0),
    **{how: written(source) for how, source in STUBBORN.items()},
    "of the engine": never(lambda: torch.tensor(1.0, requires_grad=True).exp().backward()),
}


@pytest.mark.parametrize("how", ENDLESS)
def test_a_loop_that_never_ends_is_stopped_and_told_so_first(monkeypatch, how):
    monkeypatch.setattr(feedback, "SECONDS", 0.3)
    monkeypatch.setattr(items, "shipped", lambda: {"99.2": product_item()})
    start = time.monotonic()
    result = lab.check("99.2", ENDLESS[how])
    assert time.monotonic() - start < 20  # a busy machine is slow, but not endless
    assert repr(result).splitlines()[:2] == [
        "99.2: not right yet, 0 of 2 points; 3 more points at grading",
        "  Rows: your code was still running after 0.3 seconds. Is there a loop in it that never ends?",
    ]
    assert not result.steppable
    with pytest.raises(ValueError, match="never ends"):
        result.step()
    assert torch.is_grad_enabled()
    time.sleep(0.1)  # nothing is raised any more


def engine_state():
    """All that a stopped program may leave changed: the switches, who watches, NumPy's errors, and the garbage collector."""
    state = THREAD.state
    held = {name: getattr(state, name) for kind in type(state).__mro__[:2] for name in kind.__slots__}
    switches = {name: list(value) if type(value) is list else value for name, value in held.items()}
    collects = gc.isenabled(), gc.get_threshold(), collector._Waiting.held
    return switches, list(WATCHERS), np.geterr(), collects


def everything(w):
    """A program that enters and leaves what a student may be stopped in."""
    with lab.record(), torch.no_grad(), torch.autograd.set_detect_anomaly(True, check_nan=False):
        w.data.mul_(1)
    with lab.record(), torch.autograd.graph.save_on_cpu():
        (w.exp() * w).sum().backward()


def test_the_numbers_of_nodes_go_on_after_an_interruption():
    """Stopped where the collector is told of many nodes, no node could be made any more: StopIteration, until Python was restarted."""
    calls = []

    def grow(k):
        calls.append(k)
        if k in (0, 2):
            raise KeyboardInterrupt

    numbers, found = countdown(grow, many=3), []
    while len(found) < 10:
        with contextlib.suppress(KeyboardInterrupt):
            found.append(next(numbers))
    assert found == [-n for n in range(1, 11)]
    assert calls == [0, 1, 2, 3]


def test_the_engine_is_as_before_wherever_it_was_stopped(monkeypatch):
    """Its own `finally` and `with` blocks are code that is stopped, too."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)

    def answer(a):
        while True:
            try:
                everything(w)
            except Exception:
                continue

    monkeypatch.setattr(feedback, "SECONDS", 0.1)
    before = engine_state()
    for _ in range(20):
        feedback.verdict_on(product_item(), answer)
        assert engine_state() == before
    w.grad = None
    w.prod().backward()
    assert w.grad.tolist() == [2.0, 1.0]


def test_the_engine_is_as_before_at_whichever_instruction_it_was_stopped():
    """The test above meets an instruction by luck; this one tries each of those that switch, and some of the others."""
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    package = str(Path(torch.__file__).parent)
    switching = ("collector.py", "modes.py", "anomaly.py", "graph.py")

    class StoppedError(Exception):
        """Raised between two instructions."""

    def traced(at_instruction):
        def within(frame, event, _):
            if event == "opcode":
                at_instruction(frame)
            return within

        def called(frame, event, _):
            if frame.f_code.co_filename.startswith(package):
                frame.f_trace_opcodes = True
                return within
            return None

        put_back = as_now()
        tracer = sys.gettrace()
        sys.settrace(called)
        try:
            everything(w)
        except (StoppedError, IndexError):  # a `finally` may find a list emptied by what was stopped
            pass
        finally:
            sys.settrace(tracer)
            put_back()

    def stop_at(key):
        waiting = [key]  # emptied at the first arrival

        def at_instruction(frame):
            if waiting and (frame.f_code, frame.f_lasti) == key:
                waiting.clear()
                raise StoppedError

        return at_instruction

    met = {}
    traced(lambda frame: met.setdefault((frame.f_code, frame.f_lasti), len(met)))
    chosen = {key for key, n in met.items() if Path(key[0].co_filename).name in switching or n % 20 == 0}
    assert len(chosen) > 300  # 3.13 has fewer instructions than 3.11
    before = engine_state()
    for key in chosen:
        traced(stop_at(key))
        assert engine_state() == before, (key[0].co_qualname, key[1])
        w.grad = None
        w.prod().backward()
        assert w.grad.tolist() == [2.0, 1.0]


def test_a_loop_is_told_of_before_a_case_that_only_differs(monkeypatch):
    """The smaller case is wrong, and the larger one never ends."""
    monkeypatch.setattr(feedback, "SECONDS", 0.3)
    program = never(lambda: None)
    verdict = feedback.verdict_on(product_item(), lambda a: a if len(a) == 2 else program(a))
    assert verdict.case == ("rows", 1)
    assert "still running after 0.3 seconds" in verdict.says


def test_code_that_ends_in_time_is_not_touched():
    found = [timeout.within(5, lambda: sum(range(1000))) for _ in range(200)]
    assert found == [499500] * 200
    with pytest.raises(ZeroDivisionError):
        timeout.within(5, lambda: 1 / 0)


def test_nothing_is_raised_after_a_check(capsys):
    """However often code is stopped: no late exception, no thread that goes on, and the signal is as it was."""
    before = signal.getsignal(signal.SIGURG) if hasattr(signal, "SIGURG") else None
    programs = [
        written(STUBBORN[how]) for how in ("around a call", "around an inner loop", "in another", "in a with")
    ]
    for n in range(40):
        with pytest.raises(timeout.StillRunning):
            timeout.within(0.002, lambda program=programs[n % 4]: program(None))
    time.sleep(2 * timeout.AGAIN)
    assert not [t for t in threading.enumerate() if isinstance(t, timeout._Alarm)]
    assert before is None or signal.getsignal(signal.SIGURG) == before
    assert capsys.readouterr().out == ""


def test_what_cannot_be_stopped_is_said(monkeypatch, capsys):
    """A call of C in another thread than the main one, where no signal reaches it."""
    monkeypatch.setattr(timeout, "PATIENCE", 0.1)
    ended = []

    def student():
        with pytest.raises(timeout.StillRunning):
            timeout.within(0.1, lambda: time.sleep(0.6))
        ended.append(True)

    thread = threading.Thread(target=student)
    thread.start()
    thread.join()
    assert ended
    said = capsys.readouterr().out
    assert said.startswith("Your code has been running for more than 0.1 seconds, in one long call")
    assert said.count("\n") == 1
    for what in ("Interrupt", "Restart"):
        assert what in said
        assert what in (ROOT / "exercises/README.md").read_text(encoding="utf-8")


def test_the_time_that_is_stated_is_the_time_that_is_given():
    assert feedback.SECONDS == 10
    assert "more than ten seconds" in (ROOT / "exercises/README.md").read_text(encoding="utf-8")


def test_a_progress_file_that_cannot_be_read_is_set_aside(tmp_path):
    (tmp_path / "progress.json").write_text("{not json")
    assert scores.load() == {}
    assert (tmp_path / "progress-unreadable.json").read_text() == "{not json"


def test_nothing_is_written_into_a_checkout_and_the_students_folder_is_found(monkeypatch, tmp_path):
    monkeypatch.delenv(scores.ENVIRONMENT)
    assert scores.place() is None  # the tests run in the checkout
    (tmp_path / ".autograd_lab").mkdir()
    (tmp_path / "exercises").mkdir()
    monkeypatch.chdir(tmp_path / "exercises")
    assert scores.place() == tmp_path / ".autograd_lab" / "progress.json"


def test_a_folder_that_cannot_be_written_costs_only_the_memory(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(scores.ENVIRONMENT, str(tmp_path / "file" / "progress.json"))
    scores.note(judge(NUMBER, 96))
    assert scores.load()["99.1"]["state"] == "passed"


def test_a_check_answers_at_once():
    item = product_item()
    start = time.process_time()  # of the processor, not of the clock: a busy machine is no failure
    for _ in range(20):
        feedback.verdict_on(item, torch.relu)
    assert (time.process_time() - start) / 20 < 0.5  # asked is 0.05


def engine_of_04_2():
    a = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        b = a * 2
        c = b + a
        loss = b * c
        loss.backward()
    return lab.step(trace, mode="engine")


def test_a_stepper_in_which_the_student_was_the_engine_is_an_answer():
    s = engine_of_04_2()
    assert repr(lab.check("04.2", s)) == (
        "04.2: not attempted (3 points)\n  The stepper goes on asking: Which node does the engine take next?"
    )
    for node, *messages in (("#2", 9, 6), ("Add", 6, 6, 15), ("#1", 30, 36), ("Acc", 36)):
        s.choose(node)
        s.send(*messages)
    for answer in (s, s.engine_answer):
        assert repr(lab.check("04.2", answer)) == "04.2: passed, 3 of 3 points"
    clicked = engine_of_04_2()
    clicked.engine_log = s.engine_log  # as it comes from the browser
    for answer in (clicked, clicked.engine_answer):
        assert repr(lab.check("04.2", answer)) == (
            "04.2: passed, 3 of 3 points\n  Grading runs your cells, and cannot click. "
            "Write this as your answer: [('loss', 1), ('c', 6), ('b', 15), ('a', 36)]"
        )


def test_a_stepper_with_slips_is_a_wrong_answer_with_its_diagnosis():
    s = engine_of_04_2()
    for node, *messages in (("#2", 9, 6), ("#1",), ("Add", 6, 6, 15), ("#1", 30, 36), ("Acc", 36)):
        s.choose(node)
        if messages:
            s.send(*messages)
    result = lab.check("04.2", s)
    assert (result.state, result.misconception) == ("wrong", "M06")
    assert repr(result).splitlines()[1:4] == [
        "  You took b when only 9 had arrived. c uses b as well, and its message was still to come: b must wait for it, and run once.",
        "  What the stepper said to your first slip: MulBackward0 #1 still waits: 1 of 2 messages have arrived, so its gradient is "
        "not complete yet.",
        "  Your first tries count. For a new round press Once more in the stepper.",
    ]


@pytest.mark.parametrize(
    "code",
    ["1 + 1", "while True:\n    pass", STUBBORN["in another"]],
)
def test_after_a_check_functions_can_be_traced(code):
    """Python 3.11 hung for ever in the next traced function if the alarm took back an exception."""
    program = f"""
import subprocess
import sys
from autograd_lab.course import timeout
for _ in range(20):
    try:
        timeout.within(0.05, lambda: exec({code!r}))
    except timeout.StillRunning:
        pass
def f():
    return 1
for install in sys.settrace, sys.setprofile:
    install(lambda *about: None)
    f()
    install(None)
print("went on")
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, encoding="utf-8", timeout=60, check=False
    )
    assert done.stdout == "went on\n", done.stderr
