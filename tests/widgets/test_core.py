"""The front end's arithmetic (autograd_lab/widgets/assets/core.js), run in Node.js: it must say what Python says."""

import json
import re
import shutil
import subprocess

import pytest
import samples

from autograd_lab.tracing import narrate, rules
from autograd_lab.widgets import frames
from autograd_lab.widgets.front import ASSETS, MODULES, front_end
from autograd_lab.widgets.stepper import Stepper

NODE = shutil.which("node")
pytestmark = pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")


def run(tmp_path, script, *documents):
    """What a script that has autograd_lab/widgets/assets/core.js as `core` and the documents as `docs` prints, read as JSON."""
    (tmp_path / "core.mjs").write_text((ASSETS / "core.js").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "docs.json").write_text(json.dumps(documents), encoding="utf-8")
    (tmp_path / "test.mjs").write_text(
        'import * as core from "./core.mjs"; import { readFileSync } from "node:fs";\n'
        'const docs = JSON.parse(readFileSync("docs.json", "utf8"));\n'
        f"console.log(JSON.stringify((() => {{ {script} }})()));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, "test.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("make", samples.SMALL.values(), ids=samples.SMALL)
def test_narration_and_timelines(tmp_path, make):
    trace = make()
    doc = frames.film(trace)
    said, found = run(
        tmp_path,
        """const [f] = docs, all = [...Array(f.steps + 1).keys()];
           return [all.map((k) => core.say(f, k)),
                   all.map((k) => f.nodes.map((n) => core.at(n.tl, k) ?? null))];""",
        doc,
    )
    assert said == [narrate(trace, k) for k in range(len(trace) + 1)]
    assert found == [[frames.at(n["tl"], k) for n in doc["nodes"]] for k in range(len(trace) + 1)]


def test_numbers_are_written_alike(tmp_path):
    numbers = [
        0.0,
        1.0,
        -2.0,
        1 / 3,
        -0.5,
        1234.56,
        99999.0,
        1e7,
        -3.21e-5,
        4.156e-5,
        0.04167,
        12.3456,
        999.96,
    ]
    assert run(tmp_path, "return docs[0].map(core.number);", numbers) == [rules.number(x) for x in numbers]


def test_paths_are_the_static_picture_s(tmp_path):
    from autograd_lab.widgets.svg import _path

    for points in ([10, 100, 50, 40], [10, 0, 30, 60, -20, 120]):
        line, tip = run(tmp_path, "return [core.path(docs[0], 7), core.head(docs[0])];", points)
        drawn = _path(points, 7, "e", "#000")
        assert f'd="{line}"' in drawn
        assert f'd="{tip}"' in drawn


def test_moving_about(tmp_path):
    doc = frames.film(samples.diamond())
    assert run(tmp_path, "return [0, 6, 35].map((k) => core.stop(docs[0], k, 1));", doc) == [2, 8, 35]
    assert run(tmp_path, "return [0, 6, 35].map((k) => core.stop(docs[0], k, -1));", doc) == [0, 2, 34]
    kinds = [doc["kinds"][i] for i in doc["kind"]]
    jumps = run(tmp_path, "return [...Array(36).keys()].map((k) => core.sameKind(docs[0], k));", doc)
    assert all(kinds[jump] == kinds[k] for k, jump in enumerate(jumps) if k)
    assert run(tmp_path, "return core.phase(docs[0], 20);", doc) == {
        "name": "backward",
        "pass": 1,
        "from": 11,
        "to": 35,
    }


def test_culling_and_camera(tmp_path):
    boxes = [0, 0, 10, 10, 20, 20, 30, 30, 100, 0, 110, 10]
    assert run(tmp_path, "return core.cull(docs[0], [5, 5, 25, 25]);", boxes) == [0, 1]
    centres = run(
        tmp_path, "return [[5, 100], [5, 1000], [990, 1000]].map(([x, w]) => core.centre(x, w, 400));"
    )
    assert centres == [50, 176, 824]


def test_the_bundle_is_one_module_and_small(tmp_path):
    for bundle in (front_end(), Stepper._esm):
        (tmp_path / "bundle.mjs").write_text(str(bundle), encoding="utf-8")
        done = subprocess.run(
            [NODE, "--check", "bundle.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300
        )
        assert done.returncode == 0, done.stderr
        assert not re.search(r"^import |^export (?!default)", str(bundle), re.M)
    assert {path.name for path in ASSETS.glob("*.js")} == {
        *MODULES,
        "model.js",  # for pages alone
        "shim.js",
        "own.js",  # of lab.step_code, whose bundle is its own
        "opener.js",  # a widget of its own
        "guess.js",  # in the cards of lab.reveal
        "practice.js",  # of lab.practice
    }
    letters = re.search(r'packed = "(.*?)", size', str(Stepper._esm))
    assert letters is not None
    assert not set(letters[1]) & set("<>&`'\\\n")  # wherever it stands, it is plain text
    assert len(str(Stepper._esm).encode()) <= 96 * 1024  # every stepper of a notebook sends it anew


def test_the_part_of_a_line_in_view(tmp_path):
    """It lies on the whole line, reaches across the view, and is nothing where the line passes by."""
    lines = [[0, 0, 9000, 400], [9000, 800, 0, 100], [0, 0, 50, 60, 4000, 120, 4000, 9000], [10, 5000, 10, 0]]
    views = [[1000, 100, 1600, 300], [-50, -50, 40, 700], [3000, 0, 5000, 5000], [6000, 900, 7000, 1000]]
    found = run(
        tmp_path,
        """const [lines, views] = docs, cubic = ([a, b, c, d], t) => { const s = 1 - t;
             return a * s * s * s + 3 * b * s * s * t + 3 * c * s * t * t + d * t * t * t; };
           const sample = (d) => d.split("M").slice(1).map((piece) => {
             const n = piece.split(/[C ]/).map(Number), xs = n.filter((_, i) => i % 2 === 0), ys = n.filter((_, i) => i % 2);
             return [...Array(401).keys()].map((i) => [cubic(xs, i / 400), cubic(ys, i / 400)]); }).flat();
           return lines.map((p) => views.map((v) => [sample(core.path(p, 7)), sample(core.visiblePath(p, v, 7))]));""",
        lines,
        views,
    )
    for line, row in zip(lines, found, strict=True):
        for (x0, y0, x1, y1), (whole, part) in zip(views, row, strict=True):
            inside = [(x, y) for x, y in whole if x0 <= x <= x1 and y0 <= y <= y1]
            assert bool(part) >= bool(inside), line
            for x, y in part:
                assert x0 - 1 <= x <= x1 + 1
                assert y0 - 1 <= y <= y1 + 1
            for x, y in inside[::7]:
                assert min(abs(x - a) + abs(y - b) for a, b in part) < 40
