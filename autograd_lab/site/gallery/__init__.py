"""The gallery: small programs with one lesson each, on pages of their own, with a stepper that stands where the lesson shows.

A program is a file programs/NN_name.py. Its first comment is the title, a lesson of two or three sentences, and what the page needs to know:

    # Gradients pile up
    #
    # backward() adds to .grad and never replaces what is there. ...
    #
    # step: accumulate w 2      the step that shows it: the second event `accumulate` of w (see `step_of`)
    # why: w                    what `lab.why` says about w belongs to the lesson
    # notebook: 05              where the course treats it

What follows is an ordinary program for PyTorch, which gives the same there: tests/site/test_gallery.py compares.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from autograd_lab.tracing import Trace
from autograd_lab.tracing.why.answer import caption
from autograd_lab.widgets import step
from autograd_lab.widgets.frames import film
from autograd_lab.widgets.opening import cut
from autograd_lab.widgets.themed import themed

from .. import live, play, programs, rulebook
from ..highlight import colors, python
from ..options import Options
from ..pages import ASSETS, Site

FOLDER = Path(__file__).parent / "programs"
INDEX = "gallery/index.html"

SECTIONS = {
    "one_line": "How gradients flow",
    "accumulates": "Training step by step",
    "why_is_grad_none": "Who keeps a gradient",
    "detach": "Switching it off",
    "argmax": "Ways out of the graph",
    "backward_twice": "What the graph remembers",
    "in_place_on_a_saved_value": "Writing in place",
    "vanishing": "Small and large gradients",
    "dead_relu": "Kinks and corners",
    "softmax_cross_entropy": "Looking inside, and beyond",
}
"""The headings of the index: {the first program below it, without its number: heading}."""


@dataclass(frozen=True)
class Example:
    """A program of the gallery."""

    name: str
    """Its file, without the ending: "03_accumulates"."""
    title: str
    lesson: str
    source: str
    """The program, without its first comment: what is shown, run, and opened in the playground."""
    step: str
    why: str
    notebook: str

    @property
    def path(self) -> str:
        """Its page in the site."""
        return f"gallery/{self.name}.html"

    @cached_property
    def ran(self) -> programs.Ran:
        """What it did."""
        return programs.run(self.source)

    @property
    def trace(self) -> Trace:
        """Its recording. Raises ValueError if it did nothing with a tensor."""
        if self.ran.trace is None:
            raise ValueError(f"{self.name}: there is nothing to step through")
        return self.ran.trace

    @property
    def position(self) -> int:
        """The step that shows the lesson."""
        return step_of(self.trace, self.step)


def read(path: Path) -> Example:
    """A program from its file. Raises ValueError if its first comment has not the form that is described above."""
    head, _, source = path.read_text(encoding="utf-8").partition("\n\n")
    lines = [line.removeprefix("#").strip() for line in head.splitlines()]
    told = dict(re.findall(r"^(step|why|notebook): (.+)$", "\n".join(lines), re.M))
    lesson = " ".join(line for line in lines[1:] if line and not re.match(r"(step|why|notebook): ", line))
    if not (lines[0] and lesson and source and {"step", "notebook"} <= told.keys()):
        raise ValueError(f"{path.name}: its first comment needs a title, a lesson, `step:` and `notebook:`")
    return Example(path.stem, lines[0], lesson, source, told["step"], told.get("why", ""), told["notebook"])


def examples() -> list[Example]:
    """All programs, in their order."""
    return [read(path) for path in sorted(FOLDER.glob("[0-9][0-9]_*.py"))]


def step_of(trace: Trace, condition: str) -> int:
    """The step of a trace after which a condition holds.

    condition  "end", or a kind of event, if need be with the name of a tensor or node in it, and which one of these events it is:
               "error", "detach", "vjp MulBackward0", "accumulate w 2" (tracing/README.md lists the kinds)

    Raises LookupError if there is no such step.
    """
    if condition == "end":
        return len(trace)
    kind, *rest = condition.split()
    nth = int(rest.pop()) if rest and rest[-1].isdecimal() else 1
    found = [
        k
        for k, event in enumerate(trace.events, 1)
        if event["k"] == kind and all(name in _names(trace, event) for name in rest)
    ]
    if len(found) < nth:
        raise LookupError(f"no step {condition!r}: the trace has {len(found)} of them")
    return found[nth - 1]


def _names(trace: Trace, event: dict[str, Any]) -> set[str]:
    """The names of an event's tensors and nodes; an accumulator goes by the name of its leaf as well."""
    names = set()
    for field in ("t", "of", "from"):
        ids = event.get(field)
        for t in ids if isinstance(ids, list) else [ids]:
            if isinstance(t, int):
                names.add(trace.tensors[t]["name"])
    for field in ("n", "to"):
        n = event.get(field)
        n = n[0] if isinstance(n, list) else n
        if isinstance(n, int):
            node = trace.nodes[n]
            names |= {node["name"], node["name"].rpartition("::")[2]}
            if node.get("tensor") is not None:
                names.add(trace.tensors[node["tensor"]]["name"])
    return names


# -- pages ---------------------------------------------------------------------------------------------


def add(site: Site, options: Options) -> None:
    """Add the pages of the gallery, their pictures, and the traces with which the playground opens their programs."""
    listed = examples()
    site.add("assets/gallery.css", (ASSETS / "gallery.css").read_text(encoding="utf-8") + colors())
    site.add("assets/rules.js", (ASSETS / "rules.js").read_bytes())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # wherever they would be errors, the programs would end by them
        for example in listed:
            play.add_trace(site, example.source)
    for i, example in enumerate(listed):
        around = [listed[k] if 0 <= k < len(listed) else None for k in (i - 1, i + 1)]
        _add(site, example.path, example.title, _page(site, example, around), example.lesson)
    _add(
        site,
        INDEX,
        "Gallery",
        _index(site, listed),
        "Small PyTorch programs with one lesson each, to step through.",
    )


def _add(site: Site, path: str, title: str, body: str, description: str) -> None:
    site.page(
        path, f"{title} · gallery" if path != INDEX else title, body, description=description,
        styles=["assets/gallery.css"], scripts=["assets/rules.js"],
    )  # fmt: skip


def _index(site: Site, listed: list[Example]) -> str:
    parts: list[str] = []
    for example in listed:
        if heading := SECTIONS.get(example.name[3:]):
            parts.append(f"{'</ul>' if parts else ''}<h2>{heading}</h2><ul class=cards>")
        parts.append(_card(site, example))
    return (
        "<h1>Gallery</h1><p class=lead>Small programs with one lesson each. Open one, and the stepper stands where the lesson shows. Go "
        f"back and forth from there.</p>{''.join(parts)}</ul>"
    )


def _card(site: Site, example: Example) -> str:
    picture = f"gallery/pictures/{example.name}.svg"
    site.add(
        picture, themed(film(cut(example.trace, example.position)))
    )  # what is to come would only make it smaller
    return (
        f'<li class="card"><img src="{site.link(INDEX, picture)}" alt="" loading="lazy">'
        f'<h3><a href="{site.link(INDEX, example.path)}">{escape(example.title)}</a></h3><p>{_code(example.lesson)}</p></li>'
    )


# A stepper's own headings are of the fourth level.
_UNSEEN = '<h2 class="unseen">Step by step</h2><h3 class="unseen">The stepper</h3>'


def _page(site: Site, example: Example, around: list[Example | None]) -> str:
    shown = live.stepper(
        site, example.path, step(example.trace, position=example.position), f"{example.title}, step by step"
    )
    links = [
        f'<a class="{side}" href="{site.link(example.path, other.path)}">{escape(other.title)}</a>'
        if other
        else "<span></span>"
        for side, other in zip(("before", "after"), around, strict=True)
    ]
    return (
        f'<p class="up"><a href="index.html">Gallery</a></p><h1>{escape(example.title)}</h1>'
        f'<p class="lead">{_code(example.lesson)}</p>{_playground(site, example)}{_UNSEEN}{shown}'
        f'<div class="beside"><section><h2>The program</h2><pre class="code">{python(example.source)}</pre></section>'
        f"{_printed(example)}</div>{_why(example)}{_more(site, example)}"
        f'<nav class="turn" aria-label="Programs">{"".join(links)}</nav>'
    )


def _playground(site: Site, example: Example) -> str:
    if play.PAGE not in site.places:
        return ""
    address = site.link(example.path, play.PAGE) + play.address(example.source, example.position)
    return f'<p><a class="open" href="{escape(address)}">Open in the playground</a></p>'


def _printed(example: Example) -> str:
    """What the program printed, and the error it ended with."""
    ran = example.ran
    parts = []
    if text := ran.printed + "".join(f"{_first_sentence(one)}\n" for one in ran.warned):
        parts.append(f'<h2>It prints</h2><pre class="out">{escape(text.rstrip())}</pre>')
    if ran.traceback:
        parts.append(
            f'<h2>It ends with an error</h2><pre class="out error">{escape(ran.traceback.rstrip())}</pre>'
        )
    return f"<section>{''.join(parts)}</section>" if parts else ""


def _first_sentence(warning: str) -> str:
    return re.split(r"(?<=\.) (?=[A-Z])", warning)[0]


def _why(example: Example) -> str:
    """What `lab.why` says, where that belongs to the lesson."""
    if not example.why:
        return ""
    answer = example.trace.why(example.why)
    told = "".join(f"<p>{_code(sentence)}</p>" for sentence in answer.sentences)
    lines = "".join(
        f"<li><code>{escape(line.text.strip())}</code> (line {line.number}){f': {_code(line.what)}' if line.what else ''}</li>"
        for line in answer.lines
    )
    fix = f"<p><strong>What to do:</strong> {_code(answer.fix)}</p>" if answer.fix else ""
    return (
        f'<section class="why"><h2>{escape(answer.question)}</h2><p><strong>{_code(caption(answer.cause))}.</strong></p>{told}'
        + (f"<ul>{lines}</ul>" if lines else "")
        + f'{fix}<p class="quiet">This is what <code>lab.why({escape(example.why)})</code> answers in a notebook.</p></section>'
    )


def _more(site: Site, example: Example) -> str:
    """Links to the notebook and to the rules whose nodes the program makes."""
    names = dict.fromkeys(node["name"].rpartition("::")[2] for node in example.trace.nodes)
    links = []
    for name in names:
        try:
            place = rulebook.place_of(name)
        except KeyError:  # the node of a Function that the program defines
            continue
        links.append(f'<a href="{site.link(example.path, place)}">{escape(name)}</a>')
    notebook = rulebook.notebook_link(site, example.path, example.notebook)
    return f'<p class="quiet">In the course: notebook {notebook}. Its rules: {", ".join(links)}.</p>'


def _code(text: str) -> str:
    """Text as HTML: what stands in backquotes is code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
