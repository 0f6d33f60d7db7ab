"""The playground without a browser: addresses in both languages, traces, and what the page says without Python. tests/browser runs it."""

import base64
import json
import re
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

import autograd_lab
from autograd_lab.site import build, lab, play, programs, reading
from autograd_lab.site.pages import Site
from autograd_lab.widgets.wire import decode

ROOT = Path(__file__).parents[2]
SAMPLE = (play._SOURCES / "sample.txt").read_text(encoding="utf-8")
PROGRAMS = [
    "", "x", SAMPLE, "π = 3.14  # π ≈ 3\n", "print('𝜕')\n" * 40, "\n\n\t\n", "a\0b", "'''never closed\n", '"\\', "f'{x!r:>{w}}' # '\"",
    "@torch.no_grad()\ndef f(x: int = 0x1F) -> None: ...\n", "1e-3j + .5 + 1_000", 'r"""raw\\"""' + "x", "\r\n", "</script><!--", "x" * 60_000,
    *(path.read_text(encoding="utf-8") for path in sorted((ROOT / "autograd_lab/core").rglob("*.py"))),
]  # fmt: skip

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")


def without_python():
    """A site with the playground alone."""
    return build.build(build.Options(ROOT), [play.PAGE])


@needs_node
def test_addresses_colors_and_names_of_traces_are_the_same_in_both_languages(tmp_path):
    for name in ("address.js", "editor.js"):
        (tmp_path / name.replace(".js", ".mjs")).write_bytes((play._SOURCES / name).read_bytes())
    (tmp_path / "main.mjs").write_text("""
import fs from "node:fs";
import { digest, fromFragment, toFragment } from "./address.mjs";
import { tokens } from "./editor.mjs";
Object.defineProperty(globalThis, "crypto", { value: undefined }); // as a browser at an address without https
const told = [];
for (const { program, address, step } of JSON.parse(fs.readFileSync(0, "utf-8"))) {
  const back = await fromFragment(address), mine = await toFragment(program, step);
  told.push({ back, mine, again: await fromFragment(mine), hash: await digest(program), text: tokens(program).map(([, text]) => text).join("") });
}
console.log(JSON.stringify({ told, none: [await fromFragment(""), await fromFragment("#s=3"), await fromFragment("#x")] }));
""")
    asked = [
        {"program": text, "address": play.address(text, step), "step": step}
        for step, text in enumerate(PROGRAMS)
    ]
    done = subprocess.run(["node", "main.mjs"], cwd=tmp_path, input=json.dumps(asked), capture_output=True, text=True, timeout=120)  # fmt: skip
    assert done.returncode == 0, done.stderr[-1000:]
    answer = json.loads(done.stdout)
    for one, told in zip(asked, answer["told"], strict=True):
        meant = {"program": one["program"], "step": one["step"]}
        assert told["back"] == told["again"] == meant
        packed = re.fullmatch(r"#p=([\w-]+)(&s=\d+)?", told["mine"])[1]
        assert zlib.decompress(base64.urlsafe_b64decode(packed + "==")).decode() == one["program"]
        assert told["hash"] == play.digest(one["program"])
        assert told["text"] == one["program"]
    assert answer["none"] == [None, None, None]


def test_without_python_the_page_says_what_is_missing():
    site = without_python()
    text = site.files[play.PAGE].decode()
    assert "autograd-lab site DIR --pyodide FOLDER" in text
    kit = json.loads(re.search(r'id="play-kit">(.*?)</script>', text)[1])
    assert kit["python"] is None
    assert kit["sample"] == SAMPLE
    assert site.broken_links() == []
    assert without_python().files == site.files


def test_what_a_site_has_not_is_offered_nowhere():
    """The pages that say what is missing are there, in the menu; nothing else leads to them as if they worked."""
    made = build.build(build.Options(ROOT), ["index.html", play.PAGE, lab.HOME])
    start = made.files["index.html"].decode()
    assert "Read notebook 00" in start
    assert "The whole lab in the browser" not in start
    assert "Type a program" not in start
    assert reading.in_lab(made, "notebooks/04.html", "notebooks/04_backward_node_by_node.ipynb") == ""
    made.lacking.clear()
    assert reading.in_lab(made, "notebooks/04.html", "notebooks/04_backward_node_by_node.ipynb")


def test_the_page_knows_all_traces_that_are_in_the_site():
    """The playground is made after what makes traces of programs."""
    parts = [place for place in build.PARTS if not place.startswith("lab/")]
    assert parts.index(play.PAGE) == max(
        parts.index(place) for place in parts if place in (play.PAGE, "gallery/index.html")
    )
    site, program = Site(), SAMPLE + "# another\n"
    play.add_trace(site, program)
    play.add(site, build.Options(ROOT))
    kit = json.loads(re.search(r'id="play-kit">(.*?)</script>', site.files[play.PAGE].decode())[1])
    for text in (SAMPLE, program):
        path = kit["traces"][play.digest(text)]
        trace = json.loads(site.files[path.replace("../", "")])
        assert decode(trace["traits"]["_film"])["sources"][0]["name"] == programs.NAME
        assert trace["why"][0]["cause"] == "detached"


def test_a_trace_leaves_nothing_behind():
    draw = "import torch\nx = torch.rand(2)\ny = x * 2\n"
    first = play.traced(draw)
    play.traced("import torch\ntorch.manual_seed(1)\ntorch.rand(2) * 2\n")
    autograd_lab.rand(3)
    assert play.traced(draw) == first
    with pytest.raises(ValueError, match="nothing to step through: .*ZeroDivisionError"):
        play.traced("1 / 0")


def test_the_page_runs_its_own_scripts_alone_and_the_frame_reaches_nothing():
    site = without_python()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', site.files[play.PAGE].decode())[1]
    rules = dict(rule.split(" ", 1) for rule in policy.replace("&#x27;", "'").split("; "))
    assert rules["default-src"] == "'none'"
    assert not {"'unsafe-inline'", "'unsafe-eval'", "*", "https:", "data:", "blob:"} & set(
        rules["script-src"].split()
    )
    assert set(rules["connect-src"].split()) == {"'self'"}
    frame = site.files["play/frame.html"].decode()
    rules = re.search(r'Content-Security-Policy" content="([^"]*)"', frame)[1].split("; ")
    assert rules == [
        "default-src 'none'",
        "script-src 'unsafe-inline' 'unsafe-eval' blob:",
        "worker-src blob:",
    ]
    assert 'self.origin === "null"' in frame
    assert '"sandbox", "allow-scripts")' in site.files["play/python.js"].decode()
