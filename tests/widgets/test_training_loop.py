"""A recorded training loop: its groups, its leaf table, its curves and its iterations."""

from __future__ import annotations

import math
import re

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.scene import scene
from autograd_lab.widgets.svg import svg


def train(optimizer=torch.optim.SGD, turns=3, **options):
    """(trace, what the loop itself saw: [(loss, {layer: norm of its gradients}), ...])."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(2, 8),
        torch.nn.Tanh(),
        torch.nn.Linear(8, 12),
        torch.nn.ReLU(),
        torch.nn.Linear(12, 1),
    )
    opt = optimizer(model.parameters(), lr=0.1, **options)
    x, y = torch.randn(16, 2), torch.randn(16, 1)
    seen = []
    with lab.record() as trace:
        for _ in range(turns):
            opt.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            sizes = norms(model)
            seen.append((float(loss.detach().numpy()), sizes))
            opt.step()
    return trace, seen


def norms(model):
    sizes: dict[str, float] = {}
    for name, p in model.named_parameters():
        layer = f"model.{name}".rpartition(".")[0]
        sizes[layer] = math.hypot(sizes.get(layer, 0.0), *p.grad.numpy().ravel().tolist())
    return sizes


def chain(film, g):
    """The names of the groups around and including group `g`, outer ones first."""
    return [*chain(film, film["groups"][g]["parent"]), film["groups"][g]["name"]] if g >= 0 else []


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_an_iteration_holds_the_way_forward_and_the_optimizer(optimizer):
    trace, _ = train(optimizer)
    film = lab.step(trace).film
    assert film["open"] == []  # all closed at first
    chains = [chain(film, g) for g in range(len(film["groups"]))]
    iterations = [c[0] for c in chains if len(c) == 1]
    assert iterations == ["iteration 1 of 3", "iteration 2 of 3", "iteration 3 of 3"]
    for iteration in iterations:
        assert [iteration, "forward"] in chains
        assert [iteration, "optimizer"] in chains
        assert [iteration, "forward", "Sequential"] in chains
        assert [iteration, "backward"] in chains
    read = [
        u for u in film["units"] if any(film["tensors"][t]["label"].endswith(".grad") for t, *_ in u["boxes"])
    ]
    assert len(read) == 18
    assert all(chain(film, u["group"])[-1] == "optimizer" for u in read)
    outside = [u for u in film["units"] if u["group"] < 0]
    assert len(outside) <= 8  # the parameters and the data


@pytest.mark.filterwarnings("ignore:Using backward")
def test_the_box_of_a_pass_says_how_far_it_is():
    """Also where several passes add up in one iteration, but not where the pass makes a graph, which stands there itself."""
    for passes, create in ((1, False), (2, False), (1, True)):
        ws = [torch.ones(3, requires_grad=True) for _ in range(4)]
        opt = torch.optim.SGD(ws, lr=0.1)
        with lab.record() as trace:
            for _ in range(2):
                opt.zero_grad()
                for _ in range(passes):
                    sum(w.exp() for w in ws).sum().backward(create_graph=create)
                opt.step()
        film = lab.step(trace).film
        boxes = [g for g, group in enumerate(film["groups"]) if group["name"] == "backward"]
        assert len(boxes) == 2
        assert [("pass" in film["groups"][g]) for g in boxes] == [not create] * 2
        if create:
            continue
        first, last, nodes = film["groups"][boxes[0]]["pass"]
        begun = [k for k, e in enumerate(trace.events, 1) if e["k"] == "backward"]
        done = [k for k, e in enumerate(trace.events, 1) if e["k"] == "done"]
        assert (first, last) == (begun[0], done[passes - 1])
        assert set(nodes) == {e["n"] for e in trace.events[first:last] if e["k"] == "pop"}
        says = {k: svg(film, k, scene(film, {0, film["groups"][boxes[0]]["parent"]})) for k in (first - 1, begun[passes - 1] + 1, done[passes - 1], len(trace))}  # fmt: skip
        of, waiting = len(nodes), len(trace.events[begun[passes - 1]]["deps"])
        said = [re.findall(rf">(\d+(?:/{of} done| of {of} waiting))<", one) for one in says.values()]
        assert said == [[], [f"{waiting} of {of} waiting"], [f"{of}/{of} done"], [f"{of}/{of} done"]]
        lines = [(line["u"], line["v"]) for line in film["forward"]]
        stand = {u for u, unit in enumerate(film["units"]) if unit["group"] == boxes[0]}
        assert sum(v in stand for _, v in lines) == passes  # from the loss
        assert any(
            u in stand and film["groups"][film["units"][v]["group"]]["name"] == "optimizer" for u, v in lines
        )


def test_a_loop_in_a_function_is_watched_as_well():
    """And one over batches, inside one over epochs; the way to the optimizer may be a function, too."""
    ws = [torch.tensor(float(i), requires_grad=True) for i in range(4)]
    opt = torch.optim.Adam(ws, lr=0.1)

    def step():
        opt.step()
        opt.zero_grad()

    def fit():
        for _ in range(2):
            ws[0].detach()
            for _ in range(2):
                loss = sum(w * w for w in ws)
                loss.backward()
                step()

    with lab.record() as trace:
        fit()
    film = lab.step(trace).film
    chains = [chain(film, g) for g in range(len(film["groups"]))]
    inner = [c for c in chains if c[-1] in ("forward", "backward", "optimizer")]
    assert len(inner) == 12
    assert {tuple(c[:-1]) for c in inner} == {
        (f"iteration {i} of 2", f"iteration {j} of 2") for i in (1, 2) for j in (1, 2)
    }
    assert film["open"] == []
    assert len(film["turns"]) == 2


def test_the_box_of_a_pass_is_never_open():
    w = torch.tensor(2.0, requires_grad=True)
    opt = torch.optim.SGD([w], lr=0.1)
    with lab.record() as trace:
        for _ in range(2):
            opt.zero_grad()
            (w * w).backward()
            opt.step()
    film = lab.step(trace).film
    names = [film["groups"][g]["name"] for g in film["open"]]
    assert names == ["iteration 1 of 2", "iteration 2 of 2"]


def test_the_leaf_table_has_each_tensor_once():
    trace, _ = train()
    film = lab.step(trace).film
    names = [film["tensors"][t]["name"] for t in film["leaves"]]
    assert sorted(names) == sorted(set(names))
    assert not [name for name in names if name.endswith(".grad")]


def test_the_curves_are_what_the_loop_saw():
    trace, seen = train()
    curves = lab.step(trace).film["curves"]
    assert curves["loss"] == pytest.approx([loss for loss, _ in seen], rel=1e-3)
    assert list(curves["grads"]) == list(seen[0][1]) == ["model.0", "model.2", "model.4"]
    for layer, sizes in curves["grads"].items():
        assert sizes == pytest.approx([one[layer] for _, one in seen], rel=1e-3)
    for step in curves["steps"]:
        assert trace.events[step - 1]["k"] == "backward"


def test_the_norm_is_exact_for_large_gradients_and_known_only_if_finite():
    """Of more than 64 elements a trace keeps a summary; one of an earlier version has no norm in it."""
    a, b = torch.randn(30, 40, requires_grad=True), torch.ones(2, requires_grad=True)
    with lab.record(names={"net.a": a, "net.b": b}) as trace:
        for scale in (1.0, float("inf"), 3.0):
            a.grad = b.grad = None
            ((a**3).sum() * scale + (b * 2).sum()).backward()
    (grads,) = lab.step(trace).film["curves"]["grads"].values()
    whole = math.hypot(*(9 * a.detach() ** 2).numpy().ravel().tolist(), 2, 2)
    assert grads[1] is None
    assert grads[2] == pytest.approx(whole, rel=1e-3)
    for value in trace.values:
        value.pop("norm", None)
    assert lab.step(trace).film["curves"] is None or not any(lab.step(trace).film["curves"]["grads"]["net"])


def test_the_curves_of_unusual_passes():
    """Variables as layers, more than eight of them, large arrays, nan, several roots, a pass within a pass, one that fails."""
    ws = {f"w{i}": torch.tensor(float(i + 1), requires_grad=True) for i in range(9)}
    big = torch.ones(100, requires_grad=True)
    down = torch.cat([torch.full((1,), -5.0), torch.ones(99)])

    def nested(g):
        with torch.enable_grad():
            (ws["w0"] * 2).backward()
            (ws["w0"] * 2).backward()

    def fail(g):
        raise ValueError("no")

    def begin(*roots):
        torch.autograd.backward(roots)  # one place in the code, as in a loop

    with lab.record(names={**ws, "big": big}) as trace:
        begin((big * down).sum())
        begin(ws["w0"] * 3, ws["w1"] * 4)
        begin(ws["w2"] * float("nan"))
        y = ws["w3"] * 1
        y.register_hook(nested)
        begin(y * 7)
        for w in list(ws.values())[4:]:
            begin(w * 2)
        z = ws["w3"] * 1
        z.register_hook(fail)
        with pytest.raises(ValueError, match="no"):
            begin(z)
        begin(ws["w3"] * 6)
    curves = lab.step(trace).film["curves"]
    assert curves["loss"] == [94, None, None, 28, 10, 12, 14, 16, 18, 4, 24]
    assert sorted(curves["grads"]) == ["big", *list(ws)[:7]]
    assert curves["grads"]["big"][0] == pytest.approx(math.hypot(5, math.sqrt(99)), rel=1e-3)
    assert curves["grads"]["w1"] == [None, 4, *[None] * 9]
    assert curves["grads"]["w2"] == [None] * 11
    assert curves["grads"]["w3"] == [*[None] * 3, 7, *[None] * 6, 13]
    assert curves["grads"]["w0"][3] == 7  # the inner passes, in that of w3


def test_one_pass_is_no_loop():
    trace, _ = train(turns=1)
    film = lab.step(trace).film
    assert film["curves"] is None
    assert film["turns"] == []


def test_stepping_by_iterations():
    trace, _ = train()
    stepper = lab.step(trace)
    begins = stepper.film["turns"]
    assert len(begins) == 3
    assert stepper.goto(begins[0]).next_iteration().position == begins[1]
    assert stepper.next_iteration().position == begins[2]
    assert stepper.next_iteration().position == len(trace)
    assert stepper.previous_iteration().position == begins[2]
    for k, event in zip(begins[1:], (trace.events[k - 1] for k in begins[1:]), strict=True):
        assert event["k"] == "grad", k  # the iteration begins where its first line resets the gradients


def test_a_loop_without_an_optimizer_keeps_its_groups():
    x = torch.tensor([0.5, 1.0], requires_grad=True)
    with lab.record() as trace:
        h = x
        for _ in range(4):
            a = h * x
            b = a.sin()
            c = b + a
            d = c * b
            h = d.tanh()
        h.sum().backward()
    film = lab.step(trace).film
    assert film["open"]
    assert not {"forward", "optimizer", "backward"} & {group["name"] for group in film["groups"]}


def test_in_a_picture_the_lines_of_earlier_iterations_are_faint():
    """Each iteration draws as many lines as the others, and those of the last must be told from them; a loop that trains nothing is one graph."""
    trace, _ = train(turns=10)
    film = lab.step(trace).film
    last = film["turns"][-1]
    drawn = svg(film)
    faint = drawn.count('<g opacity=".25">')
    shown = scene(film)
    old = [line for line in shown["forward"] if min(film["forward"][i]["k"] for i in line["lines"]) < last]
    sent = len(shown["backward"]) // 10
    assert faint == len(old) + 9 * sent
    assert svg(film, film["turns"][0] + 20).count("opacity") == 0
    x = torch.tensor(0.5, requires_grad=True)
    with lab.record() as trace:
        y = x
        for _ in range(4):
            y = y.sin()
        y.backward()
    assert "opacity" not in svg(lab.step(trace).film)


def test_many_iterations_stand_in_rows():
    trace, _ = train(turns=30)
    film = lab.step(trace).film
    (width, height), groups = scene(film)["size"], scene(film)["groups"]
    assert len(groups) == 30
    assert width < 2.5 * height  # the parameters alone are as wide
    rows = [y for _, _, y, *_ in sorted(groups)]
    assert rows == sorted(rows)  # in the order in which they run
    assert max(map(rows.count, rows)) == 6
