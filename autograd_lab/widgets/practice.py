"""The card of `lab.practice` as HTML that stands still, and what a page's script needs of its questions.

A question travels with what is said to each answer, sealed as the cards of `lab.reveal` are (guess.py). A page without a kernel has a
pack of them; where there is one, the widget asks Python for the next (practice_card.py).
"""

from __future__ import annotations

import base64
import json
import zlib
from html import escape
from typing import Any

from . import still as stills
from .guess import marked, sealed_part


def state(practice: Any) -> dict[str, Any]:
    """What the page needs of the question that waits, and of how the answers went."""
    standing = {key: getattr(practice, key) for key in ("level", "n", "right", "streak")}
    return plain(practice.question) | standing


def plain(question: Any) -> dict[str, Any]:
    """A question as plain data for the page."""
    program, drawn = question.program, question.graph != "never"
    parts = [sealed_part(part) | {"label": marked(part["label"]), "offered": part["offered"]} for part in question.card()]  # fmt: skip
    return {
        "code": program.code, "ask": marked(question.ask), "parts": parts, "chips": [*question.chips], "early": question.graph == "before",
        "graph": program.picture() if drawn else "", "alt": program.told() if drawn else "",
    }  # fmt: skip


def sealed(data: dict[str, Any]) -> str:
    """Plain data that nobody reads by accident."""
    return base64.b64encode(json.dumps(data, separators=(",", ":"), ensure_ascii=False).encode()).decode()


def note(practice: Any) -> str:
    """How to get these questions again, and others."""
    return (
        f"The same questions again: <code>{escape(practice.call)}</code>. Without the seed they are new ones."
    )


def still(practice: Any, beside_widget: bool = False) -> str:
    """The question that waits, for viewers without widgets and scripts."""
    question = practice.question
    parts = []
    for part in question.card():
        offered = " \u00b7 ".join(f"<code>{escape(answer)}</code>" for answer, _ in part["answers"])
        parts.append(f"<p><b>{marked(part['label'])}</b> {offered if part['offered'] else ''}</p>")
    if question.chips:
        names = " \u00b7 ".join(f"<code>{escape(name)}</code>" for name in question.chips)
        parts.append(f"<p>{names}</p>")
    picture = ""
    if question.graph == "before" and (svg := question.program.picture()):
        data = base64.b64encode(svg.encode()).decode("ascii")
        picture = f'<p><img alt="{escape(question.program.told(), quote=True)}" style="max-width:260px" src="data:image/svg+xml;base64,{data}"></p>'
    inside = (
        f"<p><b>Practice {practice.number}</b>, level {practice.level} of 5</p><pre>{escape(question.program.code)}</pre>{picture}"
        f"<p>{marked(question.ask)}</p>{''.join(parts)}<p>Run the cell to answer. {note(practice)}</p>"
    )
    return stills.framed(inside, stills.key(repr(practice)), beside_widget)


def pack(levels: list[list[Any]]) -> str:
    """Questions for a page without a kernel, by level: base 64 of zlib, so that they are small, and nobody reads them by accident."""
    data = [[plain(question) for question in level] for level in levels]
    return base64.b64encode(zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 9)).decode()


def on_page(practice: Any, levels: list[list[Any]]) -> str:
    """The card for a page without a kernel: the first question still, until the page's script opens the pack."""
    count = sum(map(len, levels))
    there = f"This page has {count} questions. In the lab there is no end to them: <code>lab.practice(&quot;{practice.number}&quot;)</code>."
    return (
        f'<div class="book-practice" data-name="{practice.number}" data-note="{escape(there, quote=True)}" data-pack="{pack(levels)}">'
        f"{still(practice)}</div>"
    )
