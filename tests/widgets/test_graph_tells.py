"""What the drawn graph says of a pass: in the film, which the stepper draws, and in the still picture."""

import itertools
import re
from math import prod

import pytest

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.widgets.frames import LEVELS, at, brief, film, has_strip
from autograd_lab.widgets.scene import scene
from autograd_lab.widgets.svg import palette, svg

SHAPES = [(), (1,), (2,), (4,), (5,), (12,), (100,), (1, 1), (2, 2), (1, 4), (3, 4), (2, 3, 4), (0,), (9, 9)]


def texts(picture):
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def said(shape, number):
    """What stands for a tensor of this shape that is full of this number."""
    count = prod(shape)
    if not 0 < count <= 4:
        return f"{count} numbers" if len(shape) == 1 else "\u00d7".join(map(str, shape))
    text = number
    for size in reversed(shape):
        text = f"[{', '.join([text] * size)}]"
    return text


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_values_stand_in_the_picture_and_no_shape_stands_for_them(shape):
    """In boxes, in .grad and on edges, of a recorded pass; and in the picture that draw() makes."""
    w = torch.full(shape, 7.5, requires_grad=True)
    with lab.record() as trace:
        y = w * 2
        y.retain_grad()
        y.backward(torch.full(shape, 3.0))
    picture = svg(film(trace))
    shown = texts(picture)
    assert shown.count(said(shape, "7.5")) >= (1 if 0 < prod(shape) <= 4 else 3)
    assert said(shape, "15") in shown
    assert f".grad {said(shape, '6')}" in shown
    assert f".grad {said(shape, '3')}" in shown
    assert said(shape, "6") in shown  # on the edge
    assert (f'fill="{palette()["pos"]}"' in picture) == (prod(shape) > 4)  # the strips
    drawn = lab.draw(w * 2, params={"w": w}).svg
    assert said(shape, "7.5") in texts(drawn)
    assert said(shape, "15") in texts(drawn)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        ([1 / 3, -2 / 3], "[-0.3333, 0.6667]"),
        ([1 / 3, -2 / 3, 1e-7, 1234.56], "[-0.333, 0.667, -1e-7, -1230]"),
        ([float("nan"), float("inf")], "[nan, -inf]"),
        ([2.0], "[-2]"),
    ],
)
def test_few_numbers_are_written_out(numbers, text):
    w = torch.tensor(numbers, requires_grad=True)
    with lab.record() as trace:
        y = -w
        assert y.requires_grad
    values = [item for item in film(trace)["values"] if brief(item) == text]
    assert len(values) == 1
    assert not has_strip(values[0])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_no_numbers_have_no_strip(shape):
    """Its room was kept, on messages and in the table, and nothing stood there."""
    w = torch.zeros(shape, requires_grad=True)
    with lab.record() as trace:
        w.sum().backward()
    values = [item for item in film(trace)["values"] if not isinstance(item, str)]
    assert values
    assert not any(map(has_strip, values))


def test_a_truth_is_no_number():
    """True stood as 1 in its box and in the table, and as True in the sentence."""
    w = torch.tensor(2.0, requires_grad=True)
    flag = torch.tensor(True)
    with lab.record() as trace:
        (w * flag).exp()
    assert "True" in film(trace)["values"]
    assert "True" in texts(svg(film(trace)))


def test_a_large_array_has_its_strip_in_a_drawing():
    """draw() looks at the numbers of large arrays and of those with nan."""
    w = torch.linspace(-1, 1, 100, requires_grad=True)
    v = torch.tensor([1.0, float("nan"), 2.0, 3.0, 4.0], requires_grad=True)
    drawn = lab.draw((w.sum() + v.sum()) * 1, params={"w": w, "v": v}).svg
    assert len(set(re.findall(r'z" fill="(#\w+)"', drawn))) > 4
    assert f'fill="{palette()["bad"]}"' in drawn


def row(doc, name):
    return next(tensor for tensor in doc["tensors"] if tensor["label"] == name)


def told(doc, part, k):
    """The labels for the seed or for what lies at a node at step k, by node."""
    found = {}
    for node in doc["nodes"]:
        index = at(node[part], k)
        if index is not None and index >= 0:
            found[node["label"]] = doc["strings"][doc["states"][index][0]]
    return found


def steps(trace, kind):
    return [k for k, e in enumerate(trace.events, 1) if e["k"] == kind]


def labels(doc, k):
    """What stands on the edges at step k."""
    found = []
    for line in doc["backward"]:
        index = at(line["tl"], k)
        if index is not None and doc["states"][index][0] == "sent":
            _, v, after = doc["states"][index]
            found.append(tuple(brief(doc["values"][i]) for i in (v, after) if i >= 0))
    return found


def test_the_seed_arrives_at_the_root_and_leaves_with_the_next_pass():
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    with lab.record() as trace:
        y = w * w
        y.backward(torch.tensor([1.0, 0.5]), retain_graph=True)
        y.backward(torch.tensor([0.0, 3.0]))
    doc = film(trace)
    (first, second), (_, again) = steps(trace, "seed"), steps(trace, "backward")
    assert told(doc, "seed", first - 1) == {}
    assert told(doc, "seed", first) == told(doc, "seed", again - 1) == {"MulBackward0": "[1, 0.5]"}
    assert told(doc, "seed", again) == {}
    assert told(doc, "seed", second) == {"MulBackward0": "[0, 3]"}
    assert {"seed", "[0, 3]"} <= set(texts(svg(doc)))


def test_two_roots_have_a_seed_each():
    w = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y, z = w * 3, w.exp()
        torch.autograd.backward([y, z], [torch.tensor(5.0), torch.tensor(7.0)])
    assert told(film(trace), "seed", len(trace)) == {"MulBackward0": "5", "ExpBackward0": "7"}


def test_the_sum_lies_at_the_node_that_waits_for_several_messages():
    a = torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        c = a * 2
        d = c * c
        d.backward()
    doc = film(trace)
    first, second = steps(trace, "deliver")[:2]
    name = "MulBackward0 #1"
    seen = [told(doc, "heap", k) for k in (first - 1, first, second, len(trace))]
    assert seen == [{}, {name: "6"}, {name: "12"}, {name: "12"}]
    assert "12" in texts(svg(doc, second))


def test_what_a_hook_changed_rides_on_the_edge_the_seed_or_the_sum():
    w = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = w * 3
        y.register_hook(lambda g: g * 10)
        z = y * y
        z.register_hook(lambda g: g * 2)
        w.register_hook(lambda g: g - 1)
        z.backward()
    doc, k = film(trace), len(trace)
    assert told(doc, "seed", k) == {"MulBackward0 #2": "1 \u2192 2"}
    assert told(doc, "heap", k) == {"MulBackward0 #1": "24 \u2192 240"}
    assert ("720", "719") in labels(doc, k)
    assert ("720",) in labels(doc, steps(trace, "hook")[-1] - 1)  # not before the hook ran
    assert {"1 \u2192 2", "24 \u2192 240", "720 \u2192 719"} <= set(texts(svg(doc)))


def test_a_hook_after_the_rule_shows_on_the_edges_it_changed():
    w, b = torch.tensor(2.0, requires_grad=True), torch.tensor(1.0, requires_grad=True)
    with lab.record() as trace:
        y = w + b
        y.grad_fn.register_hook(lambda outputs, g: (outputs[0] * 4, outputs[1]))
        y.backward()
    assert sorted(labels(film(trace), len(trace))) == [("1",), ("1", "4")]


def test_hooks_of_pytorch_are_marked_as_ours_are():
    """On a leaf, on a result, before the recording and in it, removed, of packed values; on a node from the pass on."""
    library = pytest.importorskip("torch")
    before = library.tensor(2.0, requires_grad=True)
    before.register_hook(lambda g: None)
    w = library.tensor(3.0, requires_grad=True)
    with lab.record_torch() as trace:
        y = w * before
        removed = y.register_hook(lambda g: None)
        z = y * 2
        w.register_post_accumulate_grad_hook(lambda leaf: None)
        removed.remove()
        leaving = z.register_hook(lambda g: leaving.remove())
        with library.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: x):
            u = z.exp()
        z.grad_fn.register_hook(lambda outputs, g: None)
        u.backward()
    doc = film(trace)
    made, rest = steps(trace, "node"), steps(trace, "backward")[0]
    boxes = {row["label"]: doc["units"][u]["hooks"][i] for u, one in enumerate(doc["units"]) for i, (t, *_) in enumerate(one["boxes"]) for row in [doc["tensors"][t]]}  # fmt: skip
    assert boxes["before"] == [0, 1]
    assert [at(boxes["y"], k) for k in (made[0], made[1], made[2])] == [None, 1, 0]
    assert at(boxes["w"], made[1] - 1) is None
    assert at(boxes["w"], made[2]) == 1
    assert [at(boxes["z"], k) for k in (rest, len(trace) - 1)] == [1, 0]
    nodes = {node["label"].split()[0]: node["hooks"] for node in doc["nodes"] if node["hooks"]}
    assert nodes.keys() == {"MulBackward0", "ExpBackward0"}
    assert [at(nodes["MulBackward0"], k) for k in (rest - 1, len(trace))] == [None, 1]
    assert [at(nodes["ExpBackward0"], k) for k in (made[2], rest, len(trace))] == [1, 1, 0]


def test_a_leaf_from_before_has_one_box_with_its_value():
    """The pass reaches its accumulator first, and the recording meets it when its gradient is added."""
    w = torch.tensor(3.0, requires_grad=True)
    y = w * w
    with lab.record() as trace:
        y.backward()
    doc = film(trace)
    units = [unit for unit in doc["units"] if unit["boxes"]]
    assert len(units) == 1
    assert [texts(svg(doc, k)).count("3") for k in (0, 1)] == [0, 1]


def test_dead_ends_cuts_and_constants():
    w, u = torch.tensor(2.0, requires_grad=True), torch.tensor(5.0, requires_grad=True)
    with lab.record() as trace:
        y = w * 3
        z = y.detach()
        with torch.no_grad():
            s = w * w
        (z * u + s * u + y).backward()
    doc = film(trace)
    dead = {node["label"]: [i for i, _ in node["dead"]] for node in doc["nodes"] if node["dead"]}
    assert dead == {"MulBackward0 #1": [1], "MulBackward0 #2": [0], "MulBackward0 #3": [0]}
    assert all(doc["states"][at(node["dead"][0][1], len(trace))][0] == "pruned" for node in doc["nodes"] if node["dead"])  # fmt: skip
    assert sum(line["cut"] for line in doc["forward"]) == 1
    ignored = {doc["tensors"][unit["boxes"][i][0]]["label"] for unit in doc["units"] for i in unit["ignored"]}
    assert ignored == {"3", "z", "s"}
    off = {doc["tensors"][unit["boxes"][0][0]]["label"] for unit in doc["units"] if unit["off"]}
    assert off == {"3", "z", "s"}
    picture = svg(doc)
    assert texts(picture).count("ignored") == 3
    assert "ignored" not in texts(svg(doc, steps(trace, "backward")[0] - 1))
    bad = palette()["bad"]
    assert picture.count(f'stroke="{bad}" stroke-width="2.2"') == 1  # the cut
    assert picture.count(f'stroke="{bad}" stroke-width="1.4"') == 3  # the stop signs


def test_what_no_pass_reaches_is_off_but_no_leaf():
    w, v = torch.tensor(2.0, requires_grad=True), torch.tensor(3.0, requires_grad=True)
    with lab.record() as trace:
        y = w * w
        unused = v.exp()
        y.backward()
        assert unused.requires_grad
    doc = film(trace)
    off = {doc["tensors"][unit["boxes"][0][0]]["label"] for unit in doc["units"] if unit["off"]}
    assert off == {"unused"}


def chain(step, times):
    x = torch.tensor(1.0, requires_grad=True, dtype=torch.float64)
    with lab.record() as trace:
        y = x
        for _ in range(times):
            y = step(y)
        y.backward()
    return film(trace)


@pytest.mark.parametrize(
    ("step", "times", "order"),
    [
        (torch.sigmoid, 8, 1),
        (lambda y: y * 3, 30, -1),
        (lambda y: y * 0.25, 12, 1),
        (lambda y: y * 10, 6, -1),
    ],
)
def test_a_fading_chain_fades_and_an_exploding_one_swells(step, times, order):
    """Levels change all along it, from one end of the scale near to the other; lines get thinner and paler with them."""
    doc = chain(step, times)
    sent = [doc["states"][at(line["tl"], doc["steps"])][1] for line in doc["backward"]]
    found = [doc["levels"][v] for v in sent][::order]  # from the smallest to the largest
    assert found == sorted(found)
    assert found[-1] - found[0] >= 6
    widths = [float(width) for width in re.findall(r"stroke-width:([\d.]+)", svg(doc).split("</style>")[1])]
    assert max(widths) >= 3 * min(widths)


def test_magnitudes_of_zero_nan_and_alike():
    doc = chain(lambda y: y * 0, 2)
    assert -1 in [doc["levels"][doc["states"][at(line["tl"], doc["steps"])][1]] for line in doc["backward"]]
    assert ' class="e z"' in svg(doc)
    doc = chain(lambda y: y * float("nan"), 2)
    assert max(doc["levels"]) == LEVELS + 1
    assert palette()["bad"] in svg(doc)
    doc = chain(lambda y: y + 1, 3)  # all 1: the middle of a scale, not one of its ends
    assert {doc["levels"][doc["states"][at(line["tl"], doc["steps"])][1]] for line in doc["backward"]} == {4}


def test_a_picture_without_a_pass_has_no_legend():
    w = torch.tensor(2.0, requires_grad=True)
    with lab.record() as trace:
        y = w * 3
        y.backward()
    assert any(text.startswith("|gradient|") for text in texts(svg(film(trace))))
    assert not any("|gradient|" in text for text in texts(svg(film(trace), steps(trace, "seed")[0])))
    assert not any("|gradient|" in text for text in texts(lab.draw(w * 3).svg))


def test_a_leaf_that_came_with_a_gradient_shows_it():
    x = torch.tensor(3.0, requires_grad=True)
    (x * x).backward()
    with lab.record() as trace:
        y = x * 5
        y.backward()
    doc = film(trace)
    assert ".grad 6" in texts(svg(doc, 1))
    assert ".grad 11" in texts(svg(doc))


@pytest.mark.parametrize(
    "value", [2.0, [0.25, -1.0, 3.0], [[1.0, 2.0, 3.0]] * 2], ids=["number", "vector", "matrix"]
)
def test_labels_beside_nodes_keep_clear(value):
    """What lies at a node, the seed and the words beside them overlap nothing, whatever comes to stand in them."""
    a = torch.tensor(value, requires_grad=True)
    with lab.record() as trace:
        b = a * 3 + 1
        b.register_hook(lambda g: g * 2)
        c = b * b * a
        c.backward(torch.ones_like(c))
    doc = film(trace)
    picture = scene(doc)
    boxes = []
    for u, cx, cy in picture["units"]:
        unit = doc["units"][u]
        boxes += [(cx + x, cy + y, cx + x + w, cy + y + h) for _, x, y, w, h in unit["boxes"]]
        for part, extra in (("heap", 24), ("seed", 0)):
            if unit[part]:
                x, y, w = unit[part]
                boxes.append((cx + x - w / 2, cy + y - 9, cx + x + w / 2 + extra, cy + y + 9))
        if unit["shape"]:
            x, y, rx, ry = unit["shape"]
            boxes.append((cx + x - rx, cy + y - ry, cx + x + rx, cy + y + ry))
    boxes += [
        (x - w / 2, y - 9, x + w / 2, y + 9)
        for line in picture["backward"]
        for x, y, w in [line["pill"]]
        if w
    ]
    for one, other in itertools.combinations(boxes, 2):
        assert (
            one[2] <= other[0] + 1
            or other[2] <= one[0] + 1
            or one[3] <= other[1] + 1
            or other[3] <= one[1] + 1
        )
    width, height = picture["size"]
    assert all(x0 >= -1 and x1 <= width + 1 and y0 >= -1 and y1 <= height + 1 for x0, y0, x1, y1 in boxes)
