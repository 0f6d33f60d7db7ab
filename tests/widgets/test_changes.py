"""What a slider sends: how the film of a run differs from the one that the page has. It gives the page the film that would be sent whole."""

import json
import random
import shutil
import subprocess

import pytest
from each import each
from film_on_page import as_sent, film_on_page, shown
from hypothesis import given, settings
from hypothesis import strategies as st

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import Trace
from autograd_lab.widgets import frames
from autograd_lab.widgets.frames import Film, Numbers
from autograd_lab.widgets.front import ASSETS
from autograd_lab.widgets.runs import written
from autograd_lab.widgets.wire import changed, decode, difference

NODE = shutil.which("node")
VALUES = (0.7, 0.71, 0.0, -0.0, -0.4, -2.0, 1.0, 3.5, 1e-9, 1e30, float("nan"), float("inf"), float("-inf"))


def leaf(x):
    return torch.tensor(x, requires_grad=True, dtype=torch.float64)


def program(seed):
    """A function of one number: its path depends on the number, some gradients end on the way, some come twice."""
    draw = random.Random(seed)
    lines = [draw.choice(list(LINES)) for _ in range(draw.randint(2, 7))]

    def f(x):
        y = x * 1.5
        for line in lines:
            y = LINES[line](x, y)
        return y.sum() if y.ndim else y

    return f


def while_it_is_small(x, y):
    turns = 0
    while abs(y.item()) < 3 and turns < 4:
        y, turns = y * 2 + 0.3, turns + 1
    return y


def with_a_hook(x, y):
    y = y * 1.0
    y.register_hook(lambda g: g.clamp(-1, 1))
    return y


def without_a_graph(x, y):
    with torch.no_grad():
        c = y * 3
    return y + c


LINES = {
    "twice": lambda x, y: y * y,
    "again": lambda x, y: y + x,
    "bend": lambda x, y: torch.tanh(y),
    "root": lambda x, y: torch.sqrt(y),
    "kink": lambda x, y: torch.relu(y),
    "inverse": lambda x, y: 1 / y,
    "grow": lambda x, y: torch.exp(y),
    "if": lambda x, y: y * 3 if x > 0 else -y,
    "while": while_it_is_small,
    "hook": with_a_hook,
    "no_grad": without_a_graph,
    "detach": lambda x, y: y + y.detach(),
    "array": lambda x, y: torch.stack([y, x, y * 0]).mean(),
    "choose": lambda x, y: torch.where(y > 1, y, y * 0.5),
    "item": lambda x, y: y * y.item(),
    "nameless": lambda x, y: y * torch.tensor(2 * x.item()),
    "many": lambda x, y: (y + torch.full((5,), x.item())).mean(),
}


# --- differences


texts = st.lists(st.sampled_from("abcdefgh"), max_size=9)
plain = st.recursive(
    st.none() | st.integers(-9, 9) | st.sampled_from("pqr"),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.sampled_from("xyz"), inner) | texts,
    max_leaves=30,
)


@settings(max_examples=60)
@given(plain, plain, st.data())
def test_a_difference_gives_the_other_document(old, new, data):
    if isinstance(old, list) and data.draw(st.booleans()):
        new = [*old[:3], new, *old[3:]]
    before = as_sent(old)
    assert changed(old, as_sent(difference(old, new))) == new
    assert old == before


def test_what_is_the_same_is_not_sent():
    old = {"say": [f"sentence {i}" for i in range(200)], "rows": [{"a": i, "b": [i] * 9} for i in range(99)]}
    new = as_sent(old)
    new["rows"][7]["b"][4] = -1
    new["say"].insert(5, "another")
    found = difference(old, new)
    assert changed(old, found) == new
    assert found == [
        "&",
        {
            "say": ["<", [0, -5, "another", -196]],
            "rows": ["~", 99, [7], [["&", {"b": ["~", 9, [4], [["=", -1]]]}]]],
        },
    ]


# --- films


def runs(count):
    for seed in range(count):
        draw = random.Random(seed + 1000)
        yield seed, [draw.choice(VALUES) for _ in range(4)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_page_that_follows_has_the_film_of_the_run(tmp_path):
    """Whichever way it went before; and a page in JavaScript has the same."""
    sent, whole, kept = [], 0, 0

    def check(case):
        nonlocal whole, kept
        seed, values = case
        s = lab.step(program(seed), leaf(0.7))
        for value in values:
            film = s._film
            try:
                s.edit("x", value)
            except (RuntimeError, ValueError, OverflowError):  # it ends at this value: the picture stays
                continue
            whole, kept = whole + (s._film != film), kept + (s._film == film)
            assert film_on_page(s) == as_sent(s.film), value
            if s._change:
                sent.append([as_sent(s._film_sent), json.loads(s._change), as_sent(s.film)])
        s.before_keeping()
        assert not s._change
        assert decode(s._film) == as_sent(s.film)

    each(list(runs(18)), check)
    assert min(whole, kept) > 8  # both ways were gone
    if NODE is None:
        pytest.skip("no Node.js found: apt-get install nodejs")
    (tmp_path / "wire.mjs").write_text((ASSETS / "wire.js").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "sent.json").write_text(json.dumps(sent))
    (tmp_path / "test.mjs").write_text(
        'import { changed } from "./wire.mjs"; import { readFileSync } from "node:fs"; import { isDeepStrictEqual } from "node:util";\n'
        'const same = JSON.parse(readFileSync("sent.json", "utf8")).map(([old, how, film]) => {\n'
        "  const before = structuredClone(old), found = changed(old, how);\n"
        "  return isDeepStrictEqual(found, film) && isDeepStrictEqual(old, before);\n"
        "});\nconsole.log(JSON.stringify(same));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, "test.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [True] * len(sent)


def in_place(x, y):
    y = y.clone()
    y.mul_(x)
    return y


def through_a_view(x, y):
    whole = torch.stack([y, x, y])
    whole[:2].mul_(2)
    return whole.sum()


def in_passes(x, y):
    (y * x).backward(retain_graph=True)
    return y * x.grad


def of_a_derivative(x, y):
    (g,) = torch.autograd.grad(y * y, x, create_graph=True)
    return y + g


def retained(x, y):
    y = y * x
    y.retain_grad()
    return y


def with_hooks_that_undo(x, y):
    y = y * 1.0
    y.register_hook(lambda g: g * x.detach())
    y.register_hook(lambda g: g / x.detach())
    y.grad_fn.register_prehook(lambda gs: (gs[0] + 0,))
    return y


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 2 * x


MORE = {
    "Function": lambda x, y: Squared.apply(y) * x,
    "in place": in_place, "view": through_a_view, "passes": in_passes, "derivative": of_a_derivative, "retain": retained,
    "hooks": with_hooks_that_undo, "matrix": lambda x, y: (torch.ones(2, 3, dtype=torch.float64) * y * x).mean(),
    "large": lambda x, y: (torch.linspace(0, 1, 30, dtype=torch.float64) * y).sum(), "max": lambda x, y: torch.maximum(x, y),
    "same": lambda x, y: y * x / x, "count": lambda x, y: y * float(x.item() > 1) + x,
}  # fmt: skip


def of_lines(lines):
    """A function of one number: its lines, one after the other."""

    def f(x):
        y = x * 1.5
        for line in lines:
            y = (LINES | MORE)[line](x, y)
        return y.sum() if y.ndim else y

    return f


PATHS = st.lists(
    st.sampled_from(VALUES) | st.floats(-4, 4) | st.integers(-3, 3).map(float), min_size=1, max_size=6
)


@settings(max_examples=70)
@given(
    st.lists(st.sampled_from(sorted(LINES | MORE)), min_size=1, max_size=7), PATHS, st.sampled_from(VALUES)
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_while_a_slider_moves_each_step_is_that_of_the_run(lines, path, first):
    """The page is given the changes of a film; at every step it shows what the film made anew of this very run shows."""
    try:
        s = lab.step(of_lines(lines), leaf(first))
    except (RuntimeError, ValueError, OverflowError):  # nothing to show
        return
    for i, value in enumerate(path):
        s._edit = {"n": i, "name": "x", "text": repr(value), "k": s.position, "more": True}
        anew = as_sent(Film(s.trace).document())
        for k, (one, other) in enumerate(zip(shown(film_on_page(s)), shown(anew), strict=True)):
            assert one == other, (k, value)
        assert s._inputs[0]["text"] == (
            written(value) if not s._edit_answer["error"] else s._inputs[0]["text"]
        )


def by_its_gradient(p, w, y):
    (g,) = torch.autograd.grad((y * p).sum(), w, create_graph=True)
    return y - p * g


def in_a_view(p, y):
    whole = torch.stack([y, y * 2])
    whole[:1].clamp_(max=p)
    return whole.sum()


OF_A_NUMBER = {
    "times": lambda p, w, y: y * p, "plus": lambda p, w, y: p + y, "minus": lambda p, w, y: p - y, "over": lambda p, w, y: y / p,
    "power": lambda p, w, y: y**p, "twice": lambda p, w, y: y * p * p, "rate": by_its_gradient, "constant": lambda p, w, y: y * 1.5 + 0.5 * w,
    "if": lambda p, w, y: y * p if p > 1 else y + p, "where": lambda p, w, y: torch.where(y > p, y, y * 0.5), "kink": lambda p, w, y: torch.relu(y - p),
    "tensor": lambda p, w, y: y * torch.tensor(p, dtype=torch.float64), "in place": lambda p, w, y: y.clone().mul_(p), "array": lambda p, w, y: torch.stack([y, w]).mean() * p,
    "no_grad": lambda p, w, y: y + without_a_graph(p, y.detach() * p),
} | (OF_A_PARAMETER := {  # where it is no operand: formulas have it all the same
    "from": lambda p, w, y: p - y, "exponent": lambda p, w, y: torch.exp(w) ** p, "base": lambda p, w, y: abs(p) ** y, "clamp": lambda p, w, y: torch.clamp(y, max=p),
    "alpha": lambda p, w, y: torch.add(y, w, alpha=p), "rest": lambda p, w, y: y % p, "slope": lambda p, w, y: torch.nn.functional.leaky_relu(y, p),
    "between": lambda p, w, y: torch.lerp(y, w, p), "value": lambda p, w, y: torch.addcmul(y, w, y, value=p), "in a view": lambda p, w, y: in_a_view(p, y),
})  # fmt: skip


def of_a_number(lines):
    """A function of a plain number, which stands in its names and formulas."""

    def f(p):
        w = torch.tensor(1.5, requires_grad=True, dtype=torch.float64)
        y = torch.tanh(w * p)
        for line in lines:
            y = OF_A_NUMBER[line](p, w, y)
        return y

    return f


@settings(max_examples=70)
@given(st.lists(st.sampled_from(sorted(OF_A_NUMBER)), min_size=1, max_size=6), PATHS, st.sampled_from(VALUES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_number_that_is_no_tensor_is_called_by_its_value_at_every_step(lines, path, first):
    """Operands, formulas and sentences name it; a constant of the program may have the same name, at one value and not at the next."""
    try:
        s = lab.step(of_a_number(lines), first)
    except (RuntimeError, ValueError, OverflowError, ZeroDivisionError):  # nothing to show
        return
    for i, value in enumerate([*path, 1.5, 0.5]):
        s._edit = {"n": i, "name": "p", "text": repr(value), "k": s.position, "more": True}
        anew = as_sent(Film(s.trace).document())
        for k, (one, other) in enumerate(zip(shown(film_on_page(s)), shown(anew), strict=True)):
            assert one == other, (k, value)


def test_a_run_of_the_same_path_is_not_drawn_anew(monkeypatch):
    """As long as nothing but numbers changes, whichever are equal. An `if` that goes the other way takes the whole film, and a hook that
    changes something where it did not.
    """
    whole = []
    monkeypatch.setattr(
        frames.Film, "document", lambda film, was=Film.document: whole.append(film) or was(film)
    )

    def drag(lines, first, *path):
        s = lab.step(of_lines(lines), leaf(first))
        whole.clear()
        for i, value in enumerate(path):
            s._edit = {"n": i, "name": "x", "text": repr(value), "k": 0, "more": True}
            assert s._edit_answer["error"] == ""
        return len(whole)

    smooth = ["bend"] * 14 + [
        "twice",
        "again",
        "array",
        "view",
        "in place",
        "passes",
        "derivative",
        "large",
        "Function",
    ]
    assert drag(smooth, 0.7, 0.71, 3.0, 1.0, 0.0, 1.0, -2.0, 50.0) == 0
    assert drag(["if"], 0.7, 0.8, 0.9, 1.0) == 0
    assert drag(["if"], 0.7, 0.8, -0.9, -1.0, 1.0) == 2
    assert drag(["hook"], 0.1, 0.2, 0.3) == 0
    assert drag(["twice", "hook", "twice"], 0.1, 0.2, 3.0, 4.0, 0.1) == 2
    assert (
        drag(["bend"] * 14 + ["twice", "again", "large"], [0.7], [0.71], [3.0]) == 0
    )  # a vector of one number
    for lines in (
        ["times"] * 14,
        ["plus", "times", "rate", "tensor", "in place", "array", "over", "where"],
        *([line] for line in OF_A_PARAMETER),
        ["from", "times", "clamp", "alpha", "rest", "slope", "from"],
    ):
        s = lab.step(of_a_number(lines), 0.7)
        whole.clear()
        for value in (0.71, 3.0, -2.0, 0.25):
            s.edit("p", value)
        assert not whole, lines


class Ref(int):
    """A number of a table, which knows the table."""

    table: frames.Table


def resolved(x):
    """A film without its tables: each number replaced by what it stands for."""
    if isinstance(x, Ref):
        return ["ref", resolved(x.table.items[x])]
    if isinstance(x, dict):
        return {str(key): resolved(y) for key, y in x.items()}
    return [resolved(y) for y in x] if isinstance(x, list | tuple) else x


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_film_that_follows_another_says_the_same(monkeypatch):
    """It numbers its sentences, values and states otherwise than a film made anew, and is equal to it in what these numbers stand for."""
    made = {}

    def ref(table, number):
        found = made[id(table), number] = made.get((id(table), number)) or Ref(number)
        found.table = table
        return found

    for kind in (frames.Table, frames.Following):
        add = kind.add
        monkeypatch.setattr(kind, "add", lambda self, *args, add=add: ref(self, add(self, *args)))

    def document(film):
        found = film.document()
        tables = {name: found.pop(name) for name in ("strings", "values", "states")}
        assert max(map(len, tables.values())) < 4000
        used = dict(zip(map(str, film.values.items), found.pop("levels"), strict=True))
        return found, used, film

    def check(case):
        read, (seed, values) = case
        numbers = Numbers()
        Film(read(lab.step(program(seed), leaf(0.7)).trace), numbers=numbers).document()
        for value in values:
            try:
                trace = read(lab.step(program(seed), leaf(value)).trace)
            except (RuntimeError, ValueError, OverflowError):
                continue
            (anew, levels, _), (other, follows, film) = (
                document(Film(trace)),
                document(Film(trace, numbers=numbers)),
            )
            assert resolved(anew) == resolved(other), value
            assert levels.items() <= follows.items()
            items = [str(x) for x in film.values.items if x != ""]
            assert len(items) == len(set(film.places.values())), "what is one value has one number"
            if not film.apart:
                assert len(items) == len(set(items)), "what is equal has one number"
            made.clear()

    again = lambda trace: Trace.from_json(trace.to_json())  # noqa: E731 - where nothing tells what is equal by chance
    each([(read, one) for read in (lambda trace: trace, again) for one in runs(10)], check)
