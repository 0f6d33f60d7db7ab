"""The playground: type or paste a program for PyTorch, run it in the page, step through it, and ask why a gradient is what it is.

Python runs in a worker, inside of a frame without an origin: a program that comes with a link reaches no storage of the site, and
sends nothing (assets/play/frame.html). Program and step are in the address, behind #; `address` makes one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from html import escape
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import autograd_lab
from autograd_lab.widgets import export, program

from . import in_browser, programs
from .pages import ASSETS, FIRST, Site

if TYPE_CHECKING:
    from .options import Options

PAGE = "play/index.html"
TRACES = "gallery/traces/"
"""The folder of the site with traces of programs, by `digest`; a link to one of them opens with its stepper, before Python is there."""
_SOURCES = ASSETS / "play"
_NOTEBOOK = "This function shows something in a notebook. Here the whole program is recorded, and its stepper is below: leave the call out."
SENTENCES = (
    (r"No module named '(anywidget|ipywidgets|IPython)|autograd_lab/widgets/assets", _NOTEBOOK),
    ("a recording is already running", "Here the whole program is recorded: leave lab.record() out, and the lines in its block one level further left."),
    (r"No module named '(?!torch\b)", "The playground has Python's own modules, NumPy and torch. Where autograd_lab is installed, you can add other packages."),
    *((pattern, said) for kind, pattern, said in in_browser.SENTENCES if kind is not ModuleNotFoundError),
)  # fmt: skip
"""(what an error contains, as a regular expression of JavaScript, the sentence that is shown with it)."""


def add(site: Site, options: Options) -> None:
    """Add the playground. Traces of programs that are in the site already open at once."""
    sample = (_SOURCES / "sample.txt").read_text(encoding="utf-8")
    add_trace(site, sample)
    python = None
    policy = f"default-src 'none'; script-src 'self' '{_hash(FIRST)}'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-src 'self'; form-action 'none'; base-uri 'none'; connect-src 'self'"
    if options.pyodide is not None:
        options.pyodide.engine(site)
        python = options.pyodide.bundle(site, PAGE, "autograd_lab") | {"frame": "frame.html"}
        if options.pyodide.url:
            parts = urlsplit(options.pyodide.url)
            policy += f" {parts.scheme}://{parts.netloc}"
    traces = {
        PurePosixPath(path).stem: site.link(PAGE, path)
        for path in sorted(site.files)
        if path.startswith(TRACES)
    }
    kit = {
        "python": python,
        "traces": traces,
        "sample": sample,
        "file": programs.NAME,
        "sentences": SENTENCES,
    }
    for name in ("address.js", "editor.js", "python.js", "play.js", "play.css"):
        site.add(f"play/{name}", (_SOURCES / name).read_bytes())
    worker = (_SOURCES / "worker.js").read_text(encoding="utf-8")
    frame = (_SOURCES / "frame.html").read_text(encoding="utf-8")
    site.add("play/frame.html", frame.replace("@WORKER@", _script(worker)))
    missing = "" if python else _MISSING
    site.page(
        PAGE, "Playground", _BODY.format(kit=_script(kit), missing=missing), policy=policy, name="play-page",
        description="Type or paste a PyTorch program, run it in the browser, step through its backward pass, and ask why a gradient is None.",
        styles=["assets/stepper.css", "play/play.css"], scripts=["play/play.js"],
    )  # fmt: skip


def address(source: str, step: int = 0) -> str:
    """What stands behind the playground's path in a link to a program, at a step: `f"play/index.html{address(source)}"`."""
    packed = base64.urlsafe_b64encode(zlib.compress(source.encode(), 9)).decode().rstrip("=")
    return f"#p={packed}" + (f"&s={step}" if step else "")


def digest(source: str) -> str:
    """The name of a program's trace: what the playground knows the program by, to the byte."""
    return hashlib.sha256(source.encode()).hexdigest()[:16]


def add_trace(site: Site, source: str) -> None:
    """Put the trace of a program into the site: links to it open in the playground with its stepper, before Python is there."""
    site.add(f"{TRACES}{digest(source)}.json", export.as_json(traced(source)))


def traced(source: str) -> dict[str, Any]:
    """{"traits": what its stepper asks for, "why": what `lab.why` says about each variable} of a program, which runs here and now.

    Raises ValueError if it fails before it has done anything with a tensor.
    """
    state = autograd_lab.get_rng_state()
    autograd_lab.set_rng_state(autograd_lab.Generator().get_state())  # as in a program that runs alone
    try:
        ran = programs.run(source)
    finally:
        autograd_lab.set_rng_state(state)
    if ran.trace is None:
        raise ValueError(
            f"this program has nothing to step through: {ran.error or 'it has no tensors'}\n{source}"
        )
    return {"traits": program.traits(ran.trace, source=source), "why": program.answers(ran.trace)}


def _script(data: Any) -> str:
    """Data for a script element of a page."""
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _hash(script: str) -> str:
    """How a page's policy names an inline script."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


_MISSING = f"""<p class="play-missing">This copy of the site was made without Python, so programs do not run here: steppers of programs
in the gallery work all the same. To add it, make the site with <code>{escape("autograd-lab site DIR --pyodide FOLDER")}</code>.</p>"""

_BODY = """<h1>Playground</h1>
<p class="play-lead">Type or paste a PyTorch program and run it: step through its forward and backward passes, and ask why a gradient is
what it is. It runs in your browser, and nothing is sent anywhere.</p>
{missing}
<div class="play-top">
<section aria-label="Program">
<div class="play-bar">
<button type="button" id="play-run" title="Run the program (Ctrl+Enter)">Run</button>
<button type="button" id="play-stop" hidden>Stop</button>
<button type="button" id="play-edit" aria-expanded="false" aria-controls="play-editor">Edit</button>
<span class="play-grow"></span>
<button type="button" id="play-link">Copy link</button>
<button type="button" id="play-iframe" class="play-wide" title="For a page of your own">Copy iframe</button>
<button type="button" id="play-open" class="play-wide" title="A file with a program; you can also drop one on the editor">Open file</button>
<button type="button" id="play-save" class="play-wide">Download</button>
<a class="play-out" id="play-out" href="index.html" target="_blank" rel="noopener">Open in the playground</a>
<input type="file" id="play-file" accept=".py,.txt,text/x-python,text/plain" hidden>
</div>
<div id="play-editor"><textarea id="play-program" aria-label="The program" aria-describedby="play-keys" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="off"></textarea></div>
<p id="play-keys" hidden>Ctrl and Enter run the program. Tab indents; Escape, then Tab, leaves the editor.</p>
<p id="play-state" role="status"></p>
<p id="play-long" hidden><span></span><button type="button">Download</button></p>
<p id="play-stale" hidden>The stepper below shows the program as it was before you changed it. Press Run.</p>
<input id="play-copied" aria-label="To copy" readonly hidden>
</section>
<div class="play-side">
<section id="play-error" role="alert" hidden></section>
<section id="play-why" aria-labelledby="play-why-title" hidden>
<h2 id="play-why-title">Why is my gradient what it is?</h2>
<div id="play-names" role="group" aria-label="Variables"></div>
<div id="play-answer" aria-live="polite"></div>
</section>
<section id="play-output" aria-labelledby="play-output-title" hidden><h2 id="play-output-title">It printed</h2><pre id="play-printed" tabindex="0" role="log" aria-labelledby="play-output-title"></pre></section>
</div>
</div>
<h3 class="play-unseen">Step by step</h3>
<div id="play-stepper"></div>
<noscript><p>The playground needs JavaScript.</p></noscript>
<script type="application/json" id="play-kit">{kit}</script>"""
