"""The slider of an input, and the nudge beside it: what the kernel answers, and the arithmetic of the front end."""

import json
import math
import random
import re
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from each import each
from film_on_page import film_on_page
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.front import front_end
from autograd_lab.widgets.nudge import SIZES, quotients
from autograd_lab.widgets.runs import stops
from autograd_lab.widgets.wire import decode

NODE = shutil.which("node")


def leaf(x, dtype=torch.float64):
    return torch.tensor(x, requires_grad=True, dtype=dtype)


def cube(x):
    return x**3


def in_node(tmp_path, script):
    """What a script prints that has all of the front end, read as JSON."""
    if NODE is None:
        pytest.skip("no Node.js found: apt-get install nodejs")
    (tmp_path / "run.mjs").write_text(f"{front_end()}\n{{{script}}}", encoding="utf-8")
    done = subprocess.run([NODE, "run.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- where it stops


@given(st.floats(-1e12, 1e12))
def test_the_value_is_the_middle_of_41_stops(value):
    found = stops(value)
    low, high = found["low"], found["low"] + 40 * found["by"]
    assert found["count"] == 41
    assert math.isclose((low + high) / 2, value, rel_tol=1e-8, abs_tol=1e-9)  # ten digits
    assert max(1, 2 * abs(value)) * (1 - 1e-8) <= high - value <= 2 * max(1, 2 * abs(value))


@given(st.integers(-(10**9), 10**9))
def test_a_whole_number_stops_at_whole_numbers(value):
    found = stops(value)
    assert float(found["by"]).is_integer()
    assert float(found["low"]).is_integer()


def test_the_range_stays_until_a_value_leaves_it():
    s = lab.step(cube, leaf(2.0))
    first = s._inputs[0]["stops"]
    assert s.edit("x", 5.9)._inputs[0]["stops"] == first
    wider = s.edit("x", 50)._inputs[0]["stops"]
    assert (wider["low"], wider["by"]) == (-50, 5)
    assert s.edit("x", float("nan"))._inputs[0]["stops"]["count"] == 0  # no slider


def test_only_single_numbers_have_a_slider():
    """In whatever form they are given; first what wants a gradient."""
    given = {
        "n": 3, "f": 2.0, "a": leaf(1.0), "v": leaf([1.0, 2.0]), "one": leaf([[4.0]]), "whole": torch.tensor(3), "flag": torch.tensor(True),
        "yes": True, "text": "3", "none": None, "z": 1j, "scalar": np.float32(0.1), "zero": np.array(5), "vector": np.array([6.0]),
        "more": np.array([1.0, 2.0]), "frozen": np.datetime64("2020-01-01"),
    }  # fmt: skip

    def f(n, f, a, v, one, whole, flag, yes, text, none, z, scalar, zero, vector, more, frozen):
        return (a * v * one * whole * flag).sum() * f * n * float(scalar) + float(vector[0])

    s = lab.step(f, *given.values())
    found = {one["name"]: (one["text"], one["stops"]["by"]) for one in s._inputs if "stops" in one}
    assert found == {
        "a": ("1", 0.1), "one": ("[[4]]", 0.4), "n": ("3", 1), "f": ("2", 0.2), "whole": ("3", 1), "scalar": ("0.1", 0.05), "zero": ("5", 1),
        "vector": ("[6]", 0.6),
    }  # fmt: skip
    assert list(found)[:2] == ["a", "one"]
    for name, text, now in (
        ("n", "4", 4), ("f", "3", 3.0), ("one", "5", [[5.0]]), ("one", "[[6]]", [[6.0]]), ("scalar", "0.5", 0.5), ("zero", "7", 7), ("vector", "2", [2.0]),
    ):  # fmt: skip
        s._edit = {"n": 1, "name": name, "text": text, "k": 3, "more": True}
        assert s._edit_answer["error"] == ""
        new, old = s.inputs[name], given[name]
        assert type(new) is type(old)
        assert getattr(new, "dtype", None) == getattr(old, "dtype", None)
        assert (new.tolist() if hasattr(new, "tolist") else new) == now
        s._edit = {}
    assert (given["n"], given["vector"].tolist(), given["one"].tolist()) == (3, [6.0], [[4.0]])
    with pytest.raises(ValueError, match=r"v has shape \[2\]"):
        s.edit("v", "3")


def test_a_plain_number_has_a_quotient_and_no_gradient():
    s = lab.step(lambda x, w: w * x**3, 2.0, leaf(5.0))
    found = quotients(s.run, "x", 1e-3)
    assert (found["plain"], found["gradient"], found["why"], found["dtype"]) == (True, None, "", "float64")
    assert abs(found["q"][0] - 60) < 0.1
    assert quotients(s.run, "w")["plain"] is False
    for whole in (3, torch.tensor(3), np.int64(3)):
        s = lab.step(lambda n, w: w * n, whole, leaf(5.0))
        with pytest.raises(
            ValueError, match="n holds whole numbers: a small nudge needs others between them"
        ):
            s.nudge("n")


# --- what the kernel answers


def test_while_it_is_dragged_questions_wait(tmp_path):
    s = lab.step(cube, leaf(2.0)).goto(3)
    asked, run = s._quiz, s._run
    s._edit = {"n": 1, "name": "x", "text": "2.2", "k": 7, "more": True}
    assert (s._edit_answer, s.position, s._quiz, s._run) == ({"n": 1, "error": ""}, 7, "", run)
    s._edit = {"n": 2, "name": "x", "text": "2", "k": 7, "more": False}
    assert (s._quiz, s._run) == (asked, run + 1)


def test_a_value_at_which_the_function_fails_keeps_the_last_picture():
    def inverse(x):
        if x.item() == 5:
            raise ValueError("not five")
        return 1 / x if x.item() else 1 // 0

    s = lab.step(inverse, leaf(1.0))
    s._edit = {"n": 0, "name": "x", "text": "5", "k": 4, "more": True}
    assert s._edit_answer["error"] == "With this value the function raises ValueError: not five"
    film, inputs = film_on_page(s), s._inputs
    s._edit = {"n": 1, "name": "x", "text": "0", "k": 4, "more": True, "h": 1e-3}
    assert s._edit_answer["error"].startswith("With this value the function raises ZeroDivisionError: ")
    assert (film_on_page(s), s._inputs) == (film, inputs)


def test_the_quotient_beside_the_gradient():
    s = lab.step(cube, leaf(2.0))
    found = s.nudge("x", 0.01)
    assert found["gradient"] == 12
    assert found["quotient"] == ((2.01) ** 3 - 8) / 0.01
    assert found["difference"] == found["quotient"] - 12
    s._edit = {"n": 1, "name": "x", "text": "3", "k": 0, "h": 1e-5}
    nudged = s._edit_answer["nudge"]
    assert nudged["gradient"] == 27
    assert nudged["h"][0] == 1e-5  # the one that is looked at comes first
    assert sorted(nudged["h"]) == sorted(SIZES)
    apart = {h: abs(q - 27) for h, q in zip(nudged["h"], nudged["q"], strict=True)}
    assert apart[1e-1] > apart[1e-4] > apart[1e-8] < apart[1e-12] < apart[1e-15]  # bending, then rounding


@settings(max_examples=25)  # each is two recordings
@given(st.floats(-3, 3), st.sampled_from([1e-3, 1e-5]))
def test_the_quotient_is_near_the_gradient(x, h):
    s = lab.step(lambda x: torch.sin(x) * x + x**2, leaf(x))
    assert abs(s.nudge("x", h)["difference"]) < 10 * h


def test_rounding_wins_sooner_with_fewer_digits():
    double = lab.step(cube, leaf(2.0)).nudge("x", 1e-8)
    single = lab.step(cube, leaf(2.0, torch.float32)).nudge("x", 1e-8)
    assert abs(double["difference"]) < 1e-6
    assert single["quotient"] == 0  # x + h is x


def test_a_gradient_that_was_there_before_is_not_counted():
    x = leaf(2.0)
    (x * 5).backward()
    s = lab.step(cube, x)
    assert s.nudge("x", 1e-3)["gradient"] == 12
    s.edit("x", 1)
    assert s.nudge("x", 1e-3)["gradient"] == 3


@pytest.mark.filterwarnings("ignore:there is no backward pass to step through")  # see test_misuse.py
def test_what_has_no_quotient_says_why():
    def check(case):
        fn, told = case
        found = quotients(lab.step(fn, leaf(2.0)).run, "x")
        assert found["q"] == []
        assert found["why"] == told
        with pytest.raises(ValueError, match="needs|one number|real"):
            lab.step(fn, leaf(2.0)).nudge("x")

    each([
        (lambda x: (x, x), "The function returns a tuple: the quotient needs one number."),
        (lambda x: None, "The function returns None: the quotient needs one number."),
        (lambda x: torch.stack([x, x]).detach(), "The result has shape [2]: the quotient needs one number."),
    ], check)  # fmt: skip
    s = lab.step(lambda x, v: (x * v).sum(), leaf(2.0), leaf([1.0, 2.0]))
    for arguments, told in ((("v",), "v is not one number"), (("x", 0), "not 0"), (("y",), "no input 'y'")):
        with pytest.raises(ValueError, match=told):
            s.nudge(*arguments)
    with pytest.raises(RuntimeError, match="only a recording"):
        lab.step(s.trace).nudge("x")


def test_a_nudge_out_of_the_domain_is_missing():
    def until_two(x):
        if x.item() > 2:
            raise ValueError("too far")
        return torch.sqrt(2 - x)

    found = quotients(lab.step(until_two, leaf(1.995)).run, "x")
    known = dict(zip(found["h"], found["q"], strict=True))
    assert (known[1e-1], known[1e-2]) == (None, None)
    assert known[1e-5] is not None
    assert found["why"] == ""


def test_measuring_leaves_no_trace(capsys):
    """The other leaves, the random numbers and what is printed stay as they are; each run draws the same numbers."""
    w, calls = leaf(10.0), []

    def noisy(x):
        calls.append(x.requires_grad)
        print("running")
        return x * w * torch.rand((), dtype=torch.float64)

    torch.manual_seed(0)
    s = lab.step(noisy, leaf(2.0))
    torch.rand(3)  # what the program draws meanwhile
    before = w.grad.item(), torch.get_rng_state().tolist(), film_on_page(s)
    capsys.readouterr()
    assert abs(s.nudge("x", 1e-3)["difference"]) < 1e-9
    assert capsys.readouterr().out == ""
    assert calls == [True] * 3
    assert (w.grad.item(), torch.get_rng_state().tolist(), film_on_page(s)) == before
    s.edit("x", 2.0)
    assert film_on_page(s) == before[2]  # with other numbers it would be another
    assert torch.get_rng_state().tolist() == before[1]


def test_what_a_function_does_besides_harms_nothing(tmp_path, capsys):
    """A page is written from 41 runs, each as the first one was: nothing is printed, no generator moves, no input and no weight changes."""
    w, log, array, runs = leaf(10.0), [], np.array([1.0, 1.0]), []

    def noisy(x, log, array):
        runs.append((len(log), array[0], w.item()))
        print("running")
        print("running", file=sys.stderr)
        warnings.warn("running", UserWarning, stacklevel=1)
        log.append(x)
        array[0] += 1
        with torch.no_grad():
            w.mul_(2)
        y = x * w * torch.rand(()) * np.random.rand() * random.random()  # noqa: NPY002 - what programs use
        if len(runs) > 1 and 2.2 < x.item() < 2.5:
            sys.exit("stop")
        return 1 // 0 if x.item() == 3 else y

    with pytest.warns(UserWarning, match="running"):
        s = lab.step(noisy, leaf(2.0), log, array)
    torch.rand(3), np.random.rand(3), random.random()  # noqa: NPY002
    state = torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state())  # noqa: NPY002
    before, grad = film_on_page(s), w.grad.item()
    capsys.readouterr()
    s.save_html(tmp_path / "s.html")
    assert capsys.readouterr() == ("", "")
    assert state == (torch.get_rng_state().tolist(), random.getstate(), str(np.random.get_state()))  # noqa: NPY002
    assert (w.item(), w.grad.item(), len(log), array.tolist()) == (20, grad, 1, [2, 1])
    assert set(runs[1:]) == {(0, 1, 20)}  # each began as the one before
    assert film_on_page(s) == before
    held = decode(re.search('"_slides":"([^"]+)"', (tmp_path / "s.html").read_text(encoding="utf-8"))[1])
    assert held["runs"].count(-1) == 2, held["errors"]
    told = sorted(set(held["errors"].values()))
    assert told[0].startswith("With this value the function raises SystemExit: stop")
    assert told[1].startswith("With this value the function raises ZeroDivisionError")


def test_a_slow_function_is_measured_with_one_size_while_it_is_dragged():
    found = quotients(lab.step(cube, leaf(2.0)).run, "x", 1e-4, seconds=0)
    assert found["h"] == [1e-4]


# --- the front end


def test_the_newest_value_wins(tmp_path):
    asked, left = in_node(tmp_path, """
        const asked = [], queue = new Newest((x) => { asked.push(x); setTimeout(() => queue.answered(), 40); });
        for (let i = 1; i <= 50; i++) { queue.want(i); await new Promise((done) => setTimeout(done, 2)); }
        while (queue.asked) await new Promise((done) => setTimeout(done, 5));
        console.log(JSON.stringify([asked, queue.next]));
    """)  # fmt: skip
    assert asked[0] == 1
    assert asked[-1] == 50
    assert len(asked) <= 10
    assert asked == sorted(asked)
    assert left is None


def test_a_kernel_has_the_next_question_when_it_has_answered_one(tmp_path):
    """Two at a time, no more; of what is wanted meanwhile the newest comes next, and no answer is lost."""
    log = in_node(tmp_path, """
        const log = [], queue = new Newest((x) => log.push(`ask ${x}`));
        const answered = () => { log.push("answered"); queue.answered(100); };
        queue.most = 2;
        for (const x of [1, 2, 3, 4]) queue.want(x);
        answered(); answered(); answered();
        queue.want(5); queue.want(6);
        log.push(queue.asked);
        console.log(JSON.stringify(log));
    """)  # fmt: skip
    assert log == ["ask 1", "ask 2", "answered", "ask 4", "answered", "answered", "ask 5", "ask 6", 2]


def test_one_of_two_questions_may_take_twice_as_long(tmp_path):
    """It waits for the other: as long as each by itself is answered quickly there are two. A page without a kernel asks one at a time."""
    most = in_node(tmp_path, """
        const after = (...times) => {
          const queue = new Newest(() => {});
          return times.map((took, i) => { queue.want(i); queue.want(i); queue.answered(took); return queue.most; });
        };
        console.log(JSON.stringify([after(100, 100, 230, 230, 250), after(130, 130), after(NaN, undefined)]));
    """)  # fmt: skip
    assert most == [[2, 2, 2, 2, 1], [1, 1], [1, 1]]


def test_a_slider_asks_by_a_message_of_its_own():
    """It is answered as what is saved as a state is, which would wait until the kernel is idle."""
    s = lab.step(cube, leaf(2.0))
    s._handle_custom_msg({"edit": {"n": 7, "name": "x", "text": "3", "k": 4, "more": True}}, [])
    assert (s._edit_answer, s.position, s.inputs["x"].item()) == ({"n": 7, "error": ""}, 4, 3)
    for other in (None, {}, {"edit": None}, {"other": 1}, "edit"):
        s._handle_custom_msg(other, [])
    assert s._edit_answer["n"] == 7


def test_stops_are_the_same_in_the_page(tmp_path):
    values = [2.0, 0.7, -5.0, 1e-3, 123.4, 3, 1e6]
    shown = in_node(tmp_path, f"""
        const all = {json.dumps([stops(v) for v in values])}, values = {values};
        console.log(JSON.stringify(all.map((one, i) => [valueAt(one, 20), stopAt(one, values[i]), stopAt(one, valueAt(one, 7)), stopAt(one, 1e9), stopAt(one, -1e9), valueAt(one, 3)])));
    """)  # fmt: skip
    assert [row[:5] for row in shown] == [[v, 20, 7, 40, 0] for v in values]
    assert shown[0][5] == -1.4  # not -1.4000000000000001


def test_another_film_of_the_same_graph(tmp_path):
    """Only numbers differ: it is the same graph. Another branch, or one step more, is another graph."""

    def branch(x):
        return x * 3 if x.item() > 0 else -x

    s = lab.step(branch, leaf(2.0))
    first, second = s.film, s.edit("x", 123456.7).film
    other, more = s.edit("x", -1).film, lab.step(lambda x: x * 3 + 1, leaf(2.0)).film
    alike, same = in_node(tmp_path, f"""
        const [first, second, other, more] = {json.dumps([first, second, other, more])};
        console.log(JSON.stringify([[alike(first, second), alike(first, other), alike(first, more)],
          first.units.map((unit, u) => [fits(unit, second.units[u]), fits(second.units[u], unit)])]));
    """)  # fmt: skip
    assert alike == [True, False, False]
    assert [True, False] in same  # the longer number needs a wider box


def test_the_curve_of_errors(tmp_path):
    found = in_node(tmp_path, """
        const one = { h: [1e-3, 1e-1, 1e-2], q: [12.01, 12.6, null], gradient: 12 };
        console.log(JSON.stringify([errors(one).map(([h, x]) => [h, Number(x.toFixed(3))]), errors({ ...one, gradient: null })]));
    """)  # fmt: skip
    assert found == [[[0.001, 0.01], [0.1, 0.6]], []]
