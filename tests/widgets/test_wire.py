"""The film's way to the browser: small, and read there as what it was."""

import json
import shutil
import subprocess

import pytest
import samples

from autograd_lab.widgets.frames import film
from autograd_lab.widgets.front import ASSETS
from autograd_lab.widgets.wire import decode, encode, pack, unpack

NODE = shutil.which("node")

SHAPES = {
    "nothing": {},
    "short": {"a": [], "b": [1], "c": [[1], [2]], "d": None},
    "constant": {"a": [7] * 9, "b": [None] * 9, "c": ["x"] * 9, "d": [[]] * 9},
    "growing": {"a": list(range(0, 90, 3)), "b": [x * y for x in range(9) for y in (1, 100)]},
    "jumping": {"a": [5, -3, 900, 2, 2, 0, -71]},
    "texts": {"a": ["x", "y", "x", "x", "y", "x", "y"], "b": ["p", "q", "r", "s", "é"]},
    "rows": {"a": [[i, 2 * i, "n"] for i in range(9)], "b": [[1] * i for i in range(9)]},
    "nested": {"a": [{"p": [i] * (i % 3), "q": {"r": i}} for i in range(9)]},
    "unlike": {"a": [{"p": 1}, {"q": 1}, {"p": 1}, {}], "b": [{}] * 5, "c": [1, "a", None, [2]]},
    "flags": {"a": [True, False, True, True, 1], "b": [True] * 5, "c": [0.5, 1, 2.25, -1, 3]},
}


def films():
    yield from SHAPES.items()
    for name, make in samples.SMALL.items():
        yield name, json.loads(json.dumps(film(make())))
    yield "big", json.loads(json.dumps(film(samples.big(300))))


@pytest.mark.parametrize("document", [pytest.param(doc, id=name) for name, doc in films()])
def test_what_goes_in_comes_out(document):
    def exact(x):  # 1 == True == 1.0 for Python, not for who reads the film
        return json.dumps(x)

    assert exact(decode(encode(document))) == exact(document)
    assert exact(unpack(pack(document))) == exact(document)


@pytest.mark.skipif(NODE is None, reason="no Node.js found: apt-get install nodejs")
def test_the_browser_reads_the_same(tmp_path):
    documents = dict(films())
    (tmp_path / "wire.mjs").write_text((ASSETS / "wire.js").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "films.json").write_text(json.dumps({name: encode(doc) for name, doc in documents.items()}))
    (tmp_path / "test.mjs").write_text(
        'import { decode } from "./wire.mjs"; import { readFileSync } from "node:fs";\n'
        'const films = JSON.parse(readFileSync("films.json", "utf8")), out = {};\n'
        "for (const [name, text] of Object.entries(films)) out[name] = await decode(text);\n"
        "console.log(JSON.stringify(out));",
        encoding="utf-8",
    )
    done = subprocess.run(
        [NODE, "test.mjs"], cwd=tmp_path, capture_output=True, encoding="utf-8", timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == documents


@pytest.mark.parametrize(("make", "budget"), [(samples.big, 250), (samples.chain, 220)])
def test_bytes_per_node(make, budget):
    """Everything about a node, what it sends and what is said about it fits in so many bytes."""
    trace = make(1000)
    assert len(encode(film(trace))) / len(trace.nodes) < budget


def test_what_json_has_no_word_for_is_refused():
    with pytest.raises(ValueError, match="JSON compliant"):
        encode({"x": float("nan")})
