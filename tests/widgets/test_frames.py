import itertools
import json

import pytest
import samples

from autograd_lab.tracing import narrate, state
from autograd_lab.widgets.frames import at, film
from autograd_lab.widgets.scene import scene

ALL = pytest.mark.parametrize("make", samples.SMALL.values(), ids=samples.SMALL)


@ALL
def test_timelines_say_what_state_says(make):
    """At every step, each node, edge and tensor of the film is as `state(trace, k)` has it."""
    trace = make()
    doc = film(trace)

    def shown(timeline, k):
        index = at(timeline, k)
        return None if index is None else doc["states"][index]

    def text(v):
        return None if v < 0 else doc["values"][v]

    for k in range(len(trace) + 1):
        now = state(trace, k)
        for n, row in enumerate(doc["nodes"]):
            node = now.nodes.get(n)
            assert shown(row["tl"], k) == (None if node is None else [node.status, node.arrived, node.of])
        for t, row in enumerate(doc["tensors"]):
            tensor = now.tensors.get(t)
            if tensor is None:
                assert shown(row["tl"], k) is None
                continue
            value, version, grad, retains = shown(row["tl"], k)
            assert (version, retains) == (tensor.version, int(tensor.retains))
            assert (grad < 0) == (tensor.grad is None)
            if not trace.tensors[t]["shape"]:
                assert float(text(value)) == pytest.approx(trace.values[tensor.value]["data"], rel=1e-3)
                if tensor.grad is not None:
                    assert float(text(grad)) == pytest.approx(trace.values[tensor.grad]["data"], rel=1e-3)
        for line in doc["backward"]:
            edge = now.edges.get((line["n"], line["i"]))
            found = shown(line["tl"], k)
            assert (found and found[0]) == (edge and edge.status)
            assert (found is None or found[1] < 0) == (edge is None or edge.value is None)
        assert (at(doc["queue"], k) or [[], 0])[0] == now.queue[:8]
        assert doc["focus"][k] == (-1 if now.node is None else now.node)
        assert at(doc["line"], k) == now.line


@ALL
def test_the_narration_is_narrate(make):
    trace = make()
    doc = film(trace)
    for k in range(len(trace) + 1):
        template, *parts = (doc["strings"][i] for i in doc["say"][k])
        assert template.format(*parts) == narrate(trace, k)


@ALL
def test_the_film_is_plain_and_the_same_every_time(make):
    doc = film(make())
    text = json.dumps(doc, allow_nan=False)
    assert text == json.dumps(film(make()))
    assert (doc["format"], doc["version"]) == ("autograd-lab-film", 2)


@ALL
def test_nothing_drawn_overlaps(make):
    """Boxes, nodes and the gradients' labels keep clear of each other, whatever numbers come to stand in them."""
    doc = film(make())
    picture = scene(doc)
    boxes = []
    for u, cx, cy in picture["units"]:
        boxes += [(cx + x, cy + y, cx + x + w, cy + y + h) for _, x, y, w, h in doc["units"][u]["boxes"]]
        if doc["units"][u]["shape"]:
            x, y, rx, ry = doc["units"][u]["shape"]
            boxes.append((cx + x - rx, cy + y - ry, cx + x + rx, cy + y + ry))
    pills = [
        (x - w / 2, y - 9, x + w / 2, y + 9)
        for line in picture["backward"]
        for x, y, w in [line["pill"]]
        if w
    ]
    for a, b in itertools.combinations([*boxes, *pills], 2):
        assert a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
    width, height = picture["size"]
    assert all(x0 >= -1 and x1 <= width + 1 and y0 >= -1 and y1 <= height + 1 for x0, y0, x1, y1 in boxes)


def test_forward_values_are_unknown_before_their_event():
    trace = samples.diamond()
    doc = film(trace)
    made = next(
        k
        for k, e in enumerate(trace.events, 1)
        if e["k"] == "node" and trace.tensors[e["t"][0]]["name"] == "c"
    )
    c = next(row for row in doc["tensors"] if row["name"] == "c")
    assert at(c["tl"], made - 1) is None
    assert at(c["tl"], made) is not None


def test_the_panel_has_the_rule_with_numbers():
    trace = samples.diamond()
    doc = film(trace)
    k = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "vjp")
    node = doc["nodes"][doc["focus"][k]]
    entry = doc["states"][at(node["panel"], k)]
    rows = [[doc["strings"][i] for i in row[1:4]] + [doc["values"][row[4]]] for row in entry["out"]]
    assert rows == [["b", "g * c", "1 * 12", "12"], ["c", "g * b", "1 * 4", "4"]]
    assert entry["saved"] == 1
    assert doc["states"][at(node["panel"], k + 1)]["saved"] == 0  # freed in the next step


def test_sums_show_what_lay_there():
    trace = samples.diamond()
    doc = film(trace)
    assert [[doc["values"][v] for v in entry[1:]] for entry in doc["sums"].values()] == [
        ["12", "12", "24"],
        ["48", "48", "96"],
    ]


@pytest.mark.parametrize("make", [samples.big, samples.chain])
def test_size_grows_with_the_trace_not_faster(make):
    size = []
    for nodes in (250, 1000):
        trace = make(nodes)
        size.append(len(json.dumps(film(trace), separators=(",", ":"))) / len(trace))
    assert size[1] < 1.3 * size[0]
