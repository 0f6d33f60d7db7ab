"""The front end of all widgets: the JavaScript and the style sheets of the folder assets, each as one text."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
#: The modules of the front end; each imports only from those before it, and no two export the same name.
MODULES = (
    "core.js", "wire.js", "answers.js", "formula.js", "dom.js", "host.js", "levels.js", "edit.js", "slider.js", "layout.js", "scene.js", "groups.js",
    "finder.js", "minimap.js", "crowd.js", "graph.js", "cost.js", "curves.js", "zoom.js", "opened.js", "engine.js", "picked.js", "panels.js", "table.js", "predict.js", "presenter.js",
    "compare.js", "static.js", "classroom.js", "stepper.js",
)  # fmt: skip
STYLES = ("stepper.css", "views.css", "quiz.css", "graph.css", "classroom.css", "static.css", "everyone.css")


@cache
def front_end(without: tuple[str, ...] = ()) -> str:
    """The JavaScript of all views as one module: the sources one after the other, without what joins them.

    `without` leaves sources out, for widgets that never show their views: what they export is then never reached.
    """
    return joined(tuple(name for name in MODULES if name not in without))


@cache
def packed(without: tuple[str, ...] = ()) -> str:
    """The module that a widget sends: `front_end(without)` in a third of the bytes, which a page unpacks once for all its widgets.

    Every stepper of a notebook sends it anew, and the page would otherwise also compile it anew.
    """
    source = front_end(without).encode()
    data = gzip.compress(source, mtime=0)
    return LOADER % (_in_letters(data), len(data), hashlib.sha256(source).hexdigest()[:16])


def _in_letters(data: bytes) -> str:
    """Bytes as text, five of 85 letters for four bytes: 6 % less than base64, and none of them means anything to HTML or in quotes."""
    text = base64.b85encode(data, pad=True).decode()
    return text.translate(str.maketrans("<>&`", ".,:/"))


LOADER = """
const packed = "%s", size = %d, key = "%s";
const pages = globalThis.autogradLabFrontEnds ??= {};
async function unpack() {
  if (!globalThis.DecompressionStream) throw new Error("This browser is too old for the stepper: it has no DecompressionStream.");
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%%:()*+-;.=,?@^_/{|}~";
  const value = new Map([...letters].map((letter, i) => [letter, i])), view = new DataView(new ArrayBuffer(packed.length / 5 * 4));
  for (let i = 0, n = 0; i < packed.length; i++) {
    n = n * 85 + value.get(packed[i]);
    if (i %% 5 === 4) { view.setUint32((i - 4) / 5 * 4, n); n = 0; }
  }
  const bytes = new Uint8Array(view.buffer, 0, size);
  const source = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  try {
    return (await import(url)).default;
  } finally {
    URL.revokeObjectURL(url);
  }
}
const widget = await (pages[key] ??= unpack().catch((error) => { delete pages[key]; throw error; }));
export default widget;
"""


@cache
def joined(names: tuple[str, ...]) -> str:
    """Some modules of the folder as one."""
    sources = [(ASSETS / name).read_text(encoding="utf-8") for name in names]
    whole = "".join(re.sub(r"^import .*?;\n|^export (?!default)", "", text, flags=re.M) for text in sources)
    # Every stepper of a notebook sends it anew, so comments and indentation stay at home.
    return re.sub(r"^\s*(//.*|/\*\*.*\*/)\n|^\s+|(?<=[;{}),(\[\]]) // [^\"'`\n]*$", "", whole, flags=re.M)


@cache
def style() -> str:
    """The style sheets, one after the other."""
    return "".join((ASSETS / name).read_text(encoding="utf-8") for name in STYLES)
