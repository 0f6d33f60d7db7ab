"""Groups, open and closed: where everything stands, in Python and in the browser."""

import itertools
import json
import random
import shutil
import subprocess

import pytest
import samples
from test_layout import LISTS

import autograd_lab as torch
from autograd_lab import lab, nn
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.front import ASSETS
from autograd_lab.widgets.groups import LEAVES, folded, opened
from autograd_lab.widgets.layout import layered
from autograd_lab.widgets.scene import scene

NODE = shutil.which("node")


def rnn(turns=6):
    wx, wh = torch.ones(3, 4, requires_grad=True), torch.ones(4, 4, requires_grad=True)
    with lab.record() as trace:
        h = torch.zeros(2, 4)
        for _ in range(turns):
            a = torch.ones(2, 3) @ wx + h @ wh
            h = torch.tanh(a * 0.5)
        (h**2).mean().backward()
    return trace


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return x + self.l2(torch.relu(self.l1(x)))


def blocks(count=5):
    net = nn.Sequential(*[Block() for _ in range(count)])
    with lab.record() as trace:
        net(torch.ones(2, 3)).sum().backward()
    return trace


def neurons():
    ws = [[torch.tensor(0.1 * i * j, requires_grad=True) for i in range(4)] for j in range(5)]

    def neuron(row, xs):
        s = row[0]
        for w, x in zip(row[1:], xs, strict=True):
            s = s + w * x
        return torch.tanh(s)

    def layer(xs):
        return [neuron(row, xs) for row in ws]

    with lab.record() as trace:
        xs = layer(layer([torch.tensor(float(i)) for i in range(3)])[:3])
        (xs[0] + xs[1] * xs[2]).backward()
    return trace


TRACES = {"rnn": rnn, "blocks": blocks, "neurons": neurons, **samples.SMALL}


def states(doc, seed=0):
    """Some ways to have the groups open: all, none, at random, as at first."""
    r = random.Random(seed)
    every = range(len(doc["groups"]))
    return [doc["open"], [], list(every), *([g for g in every if r.random() < 0.6] for _ in range(4))]


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_nothing_overlaps_and_frames_hold_what_is_in_them(make):
    doc = film(make())
    for now in states(doc):
        found = scene(doc, now)
        boxes = {}
        for u, x, y in found["units"]:
            left, right, height = doc["units"][u]["size"]
            boxes[u] = (x - left, y - height / 2, x + right, y + height / 2)
        frames = {}
        for g, x, y, w, h, is_open in found["groups"]:
            (frames if is_open else boxes)[-1 - g] = (x, y, x + w, y + h)
        for a, b in itertools.combinations(boxes.values(), 2):
            assert a[2] <= b[0] + 1 or b[2] <= a[0] + 1 or a[3] <= b[1] + 1 or b[3] <= a[1] + 1
        for thing, box in {**boxes, **frames}.items():
            parent = doc["groups"][-1 - thing]["parent"] if thing < 0 else doc["units"][thing]["group"]
            if parent >= 0:
                outer = frames[-1 - parent]
                assert outer[0] <= box[0]
                assert outer[1] <= box[1]
                assert outer[2] >= box[2]
                assert outer[3] >= box[3]
            w, h = found["size"]
            assert box[0] >= -1
            assert box[1] >= -1
            assert box[2] <= w + 1
            assert box[3] <= h + 1


@pytest.mark.parametrize("make", TRACES.values(), ids=TRACES)
def test_every_line_between_different_things_is_drawn_once(make):
    doc = film(make())
    for now in states(doc):
        found = scene(doc, now)
        seen = {u for u, *_ in found["units"]}
        for kind in ("forward", "backward"):
            drawn = [i for line in found[kind] for i in line["lines"]]
            assert len(drawn) == len(set(drawn))
            inside = set(range(len(doc[kind]))) - set(drawn)
            assert all(doc[kind][i]["u"] not in seen or doc[kind][i]["v"] not in seen for i in inside)
            for line in found[kind]:
                p = line["p"] if kind == "forward" else line["p"][::-1]
                ys = p[1::2] if kind == "forward" else p[0::2]
                assert ys == sorted(ys)  # down, all the way


def test_groups_are_what_folds_something():
    doc = film(blocks(3))
    names = [g["name"] for g in doc["groups"]]
    assert names.count("l1: Linear") == 3
    assert [n for n in names if "Block" in n] == ["0: Block", "1: Block", "2: Block"]
    assert doc["open"] == list(range(len(doc["groups"])))  # small: all of it is seen
    parents = [g["parent"] for g in doc["groups"]]
    assert all(parent < g for g, parent in enumerate(parents))
    large = film(blocks(30))
    now = scene(large)
    assert len(now["units"]) + sum(not g[5] for g in now["groups"]) <= 60


def test_leaves_stand_where_all_their_users_are():
    doc = film(rnn())
    shared = [
        u for u in doc["units"] if u["boxes"] and doc["tensors"][u["boxes"][0][0]]["name"] in ("wx", "wh")
    ]
    assert len(shared) == 2
    assert all(u["group"] == -1 for u in shared)


def test_groups_that_only_wrap_another_pass_their_name_on():
    paths = (
        ["a / b"] * 5 + ["c"] * 5 + ["iteration 2 of 9 / f()"] * 5 + ["iteration 3 of 9 / x: X"] * 5 + ["d"]
    )
    groups, home = folded(paths, [])
    assert [g["name"] for g in groups] == ["c", "a \u203a b", "f() #2", "x: X"]
    assert home == [1] * 5 + [0] * 5 + [2] * 5 + [3] * 5 + [-1]


def test_many_shared_leaves_are_a_group():
    paths = [""] * 20 + ["p"] * 20 + ["q"] * 20 + [""]
    lines = [(i, i + 20) for i in range(20)] + [(i, i + 40) for i in range(20)]
    groups, home = folded(paths, lines)
    assert [g["name"] for g in groups] == ["shared leaves", "p", "q"]
    assert home[:20] == [0] * 20


def test_levels_open_while_there_is_room():
    groups = [{"parent": -1}, {"parent": -1}, {"parent": 0}]
    assert opened(groups, [0] * 5 + [1] * 5 + [2] * 5) == [0, 1, 2]
    assert opened(groups, [0] * 5 + [1] * 5 + [2] * 80) == [0, 1]
    assert opened(groups, [0] * 50 + [1] * 50 + [2] * 80) == []
    assert opened([], [-1] * 500) == []


def test_shared_leaves_are_closed_at_first():
    """Each has a port of its own to all who use it: an open one is as wide as they are many."""
    with lab.record() as trace:
        leaves = [torch.tensor(float(i), requires_grad=True) for i in range(20)]
        loss = sum(x * x for x in leaves) + 0.1 * torch.stack(leaves).sum()
        loss.backward()
    doc = film(trace)
    names = [doc["groups"][g]["name"] for g in range(len(doc["groups"])) if g not in doc["open"]]
    assert names == [LEAVES]
    assert scene(doc)["size"][0] < 1500


def run(tmp_path, script, documents):
    for name in ("layout", "scene"):
        text = (ASSETS / f"{name}.js").read_text(encoding="utf-8").replace("./layout.js", "./layout.mjs")
        (tmp_path / f"{name}.mjs").write_text(text, encoding="utf-8")
    (tmp_path / "docs.json").write_text(json.dumps(documents), encoding="utf-8")
    (tmp_path / "test.mjs").write_text(
        'import { layered } from "./layout.mjs"; import { Scene } from "./scene.mjs";\n'
        'import { readFileSync } from "node:fs";\nconst docs = JSON.parse(readFileSync("docs.json", "utf8"));\n'
        f"console.log(JSON.stringify(docs.map({script})));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, "test.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")
def test_the_browser_makes_the_same_scenes(tmp_path):
    docs = [film(make()) for make in [*TRACES.values(), lambda: samples.big(300)]]
    cases = [(doc, now) for doc in docs for now in states(doc)]
    found = run(tmp_path, "([film, open]) => new Scene(film, new Set(open)).document()", cases)
    for (doc, now), theirs in zip(cases, found, strict=True):
        assert theirs == scene(doc, now)


@pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")
def test_the_browser_lays_out_any_graph_alike(tmp_path):
    cases = []
    for seed in range(40):
        r = random.Random(seed)
        n = r.choice([1, 5, 30, 120])
        top, bottom = r.randrange(3) if n > 5 else 0, r.randrange(3) if n > 5 else 0
        sizes = [[r.uniform(20, 90), r.uniform(20, 150), r.choice([40, 57])] for _ in range(n)]
        edges = [
            [u, v, r.choice([0, 0, r.uniform(-9, 9)]), r.choice([0, 0, 5.5]), r.choice([u, 7])]
            for v in range(n)
            for _ in range(r.choice([0, 1, 1, 2]))
            for u in [r.randrange(n)]
            if (v >= top and u < n - bottom and (u < v or r.random() < 0.1))
        ]
        cases.append([sizes, edges, top, bottom, [i for i in range(n) if r.random() < 0.1]])
    for make in LISTS.values():
        for n in (7, 8, 20, 41):
            sizes, pairs = make(n)
            cases.append([[list(s) for s in sizes], [[u, v, 0, 0, u] for u, v in pairs], 0, 0, []])
    found = run(
        tmp_path,
        "([sizes, edges, top, bottom, firm]) => { const { anchors, rows, width, height, between } = "
        "layered(sizes, edges, top, bottom, new Set(firm)); "
        "return [anchors, rows, width, height, edges.map(([u, v, , , cargo]) => between(u, v, cargo))]; }",
        cases,
    )
    for (sizes, edges, top, bottom, firm), theirs in zip(cases, found, strict=True):
        ours = layered(sizes, [tuple(e) for e in edges], top, bottom, firm)
        ways = [[list(p) for p in ours.between(u, v, cargo)] for u, v, _, _, cargo in edges]
        assert theirs == [[list(a) for a in ours.anchors], ours.rows, ours.width, ours.height, ways]
