"""The start page: a stepper that is already stepping, what to open now, the two commands, and what other tools do."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from nbconvert.filters.markdown_mistune import markdown2html_mistune

from autograd_lab import lab

from . import live, programs
from .options import Options
from .pages import ASSETS, CannotBuildError, Site

PATH = "index.html"
PROGRAM = """\
import torch

w = torch.tensor(2.0, requires_grad=True)
s = w * w
y = s * 3 + s
y.backward()
"""
TITLE = "autograd_lab: step through PyTorch's autograd"
LEAD = "Forward builds a graph, and backward sends gradients through it: here you see each node, each message and each sum, with the real numbers."
NOTEBOOK = "notebooks/00_start_here.html"
# The first parts that the site has are offered, in this order.
OPEN = (("play/index.html", "Type a program and step through it"), (NOTEBOOK, "Read notebook 00"), ("lab/index.html", "The whole lab in the browser"), ("gallery/index.html", "Small programs, each with a lesson"), ("rules/index.html", "The rule of every operation"))  # fmt: skip
NEXT = (
    ("You learn", "Read the notebooks in order, ten hours in all; predict before each step. Then do the exercises in JupyterLab: a wrong answer is told what is wrong with it."),
    ("You teach", "Put the stepper on the projector with <code>autograd-lab slides 04</code>, ask the class with <code>lab.classroom</code>, and grade what they hand in with <code>autograd-lab grade</code>."),
    ("You run a CI", "<code>pip install -e \".[test]\" &amp;&amp; pytest</code> tests everything, notebooks included, and <code>.github/workflows</code> has that for GitHub, with grading on push. <code>autograd-lab site DIR</code> writes these pages, without a network."),
)  # fmt: skip


def add(site: Site, options: Options) -> None:
    """Put the start page into the site."""
    add_pages(site, options.root)


def add_pages(site: Site, root: Path) -> None:
    """The same from a checkout's folder: the commands are those of its README, the comparison is docs/comparison.md."""
    site.add("assets/start.css", (ASSETS / "start.css").read_bytes())
    site.add("assets/start.js", (ASSETS / "start.js").read_bytes())
    ran = programs.run(PROGRAM)
    if ran.trace is None or ran.error:
        raise CannotBuildError(f"the program of the start page did not run: {ran.error}")
    shown = live.stepper(
        site, PATH, lab.step(ran.trace, level="simple"), "Five lines of PyTorch, forward and backward"
    )
    offered = "".join(
        f'<li><a href="{place}">{words}</a></li>'
        for place, words in OPEN
        if (place in site.places and place not in site.lacking) or place == NOTEBOOK
    )
    following = "".join(f"<div><h3>{who}</h3><p>{what}</p></div>" for who, what in NEXT)
    body = (
        f'<div class="start"><h1>Step through PyTorch\'s autograd</h1>\n<p class="start-lead">{LEAD}</p>\n{shown}\n'
        f'<h2 id="open">Open it now</h2><ul class="start-now">{offered}</ul><p>Nothing is installed, and nothing leaves your browser.</p>\n'
        f'<h2 id="install">On your machine</h2><p>In a checkout, inside a virtual environment with Python 3.11 or newer:</p>{_commands(root)}\n'
        f'<h2 id="next">And then</h2><div class="start-next">{following}</div>\n'
        f'<section class="start-compared">{_comparison(root)}</section></div>'
    )
    site.page(PATH, TITLE, body, description=LEAD, styles=["assets/start.css"], scripts=["assets/start.js"])


def _commands(root: Path) -> str:
    """The two commands of the README: what starts the lab, and what tests it."""
    commands = re.findall(r"^pip install -e .*$", (root / "README.md").read_text(encoding="utf-8"), re.M)
    if len(commands) != 2:
        raise CannotBuildError(
            "README.md should have two commands that begin with `pip install -e`, for the start page"
        )
    return f"<pre>{escape(chr(10).join(commands))}</pre>"


def _comparison(root: Path) -> str:
    text = (root / "docs/comparison.md").read_text(encoding="utf-8")
    html = str(markdown2html_mistune(text))
    return re.sub(
        r"<h1[^>]*>(.*?)</h1>",
        r'<h2 id="compared">\1</h2>',
        re.sub(r'<a class="anchor-link".*?</a>', "", html),
    )
