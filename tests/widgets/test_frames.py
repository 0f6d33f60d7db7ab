import itertools
import json

import pytest
import samples

import autograd_lab as torch
from autograd_lab import lab
from autograd_lab.tracing import narrate, state
from autograd_lab.widgets.frames import at, film, first, text_width
from autograd_lab.widgets.scene import scene
from autograd_lab.widgets.svg import svg


def written():
    """A write into a tensor, and one through a view: y, b and v have two boxes each."""
    a, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(4.0, requires_grad=True)
    with lab.record() as trace:
        y = a * 2.0
        y += 1.0
        b = y.clone()
        v = b[0]
        v *= w
        b.sum().backward()
    return trace


def rewritten():
    """A base that is saved after a write through a view, and then written itself."""
    a, w = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor(4.0, requires_grad=True)
    with lab.record() as trace:
        b = a * 3.0
        b[0].mul_(w)
        assert (b * b).requires_grad
        b.mul_(w)
    return trace


EVERY = samples.SMALL | {"written": written}
ALL = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


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
        assert first(doc["queue"], k) == (now.queue[:8], len(now.queue))
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


def test_a_long_name_stays_in_its_box():
    """Up to 36 letters as they are, of longer ones the beginning and the end; the tables have the whole name."""
    with lab.record() as trace:
        the_first_parameter_of_the_network = torch.tensor(2.0, requires_grad=True)
        the_gradient_of_what_comes_out_of_the_last_layer = the_first_parameter_of_the_network * 3
        the_gradient_of_what_comes_out_of_the_last_layer.backward()
    doc = film(trace)
    picture = svg(doc, len(trace))
    for name, drawn in (
        ("the_first_parameter_of_the_network", "the_first_parameter_of_the_network"),
        ("the_gradient_of_what_comes_out_of_the_last_layer", "the_gradient_of_what\u2026the_last_layer"),
    ):
        (width,) = [
            w for unit in doc["units"] for t, _, _, w, _ in unit["boxes"] if doc["tensors"][t]["name"] == name
        ]
        assert f">{drawn}<" in picture
        assert width >= text_width(drawn, 12, bold=True) + 20


def test_what_is_written_in_place_has_a_box_beside_each_of_its_nodes():
    """The older box stays as it was, the newer one shows what was written; a view's base gets one as well."""
    trace = written()
    doc = film(trace)
    seats = {}
    for unit in doc["units"]:
        for t, *_ in unit["boxes"]:
            name, node = doc["tensors"][t]["name"], doc["nodes"][unit["node"]]["name"]
            index = at(doc["tensors"][t]["tl"], min(len(trace), unit["until"]))
            value, version, *_ = doc["states"][index]
            item = doc["values"][value]
            seats.setdefault(name, []).append(
                (node, item if isinstance(item, str) else item["data"], version)
            )
    assert seats["y"] == [("MulBackward0", [2, 4], 0), ("AddBackward0", [3, 5], 1)]
    assert seats["b"] == [("CloneBackward0", [3, 5], 0), ("CopySlices", [12, 5], 1)]
    assert seats["v"] == [("SelectBackward0", "3", 0), ("AsStridedBackward0", "12", 1)]
    called = [
        " ".join(
            [*(doc["tensors"][t]["name"] for t, *_ in unit["boxes"]), doc["nodes"][unit["node"]]["name"]]
        )
        for unit in doc["units"]
    ]
    lines = {f"{called[line['u']]} > {called[line['v']]}" for line in doc["forward"] if line["free"] == 0}
    assert lines == {
        "a AccumulateGrad > y MulBackward0", "y MulBackward0 > y AddBackward0", "y AddBackward0 > b CloneBackward0",
        "b CloneBackward0 > v SelectBackward0", "v SelectBackward0 > b CopySlices", "b CloneBackward0 > b CopySlices",
        "w AccumulateGrad > b CopySlices", "b CopySlices > v AsStridedBackward0", "b CopySlices >  SumBackward0",
    }  # fmt: skip


def test_a_still_picture_has_the_version_at_the_newer_box_only():
    assert svg(film(written())).count(">version 1<") == 3  # y, b, v


def test_what_was_written_through_a_view_is_known_of_the_base():
    trace = rewritten()
    doc = film(trace)

    def value(v):
        return doc["values"][v]["data"]

    names = [node["name"] for node in doc["nodes"]]
    copied = names.index("CopySlices")
    assert [value(v) for _, v, version in doc["nodes"][names.index("MulBackward0", copied)]["saved"] if version == 1] == [[12, 6]] * 2  # fmt: skip
    at_write = next(k for k, e in enumerate(trace.events, 1) if e["k"] == "inplace")
    assert [n for k, _, _, n, _ in doc["details"]["pins"] if k == at_write] == [copied]
    second = doc["details"]["writes"][1]
    assert (value(second[3]), value(second[4])) == ([12, 6], [48, 24])


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


def test_a_pass_is_about_the_function_whose_backward_has_run():
    """What it computed came in between: its rule is shown, and the picture stays at it."""

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            return a * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with lab.record() as trace:
        Twice.apply(torch.tensor(3.0, requires_grad=True)).backward()
    doc = film(trace)
    for k, e in enumerate(trace.events, 1):
        if e["k"] in ("vjp", "free", "deliver") and trace.nodes[e["n"]]["kind"] == "function":
            assert doc["focus"][k] == e["n"], e["k"]
