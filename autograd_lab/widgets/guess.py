"""The card of `lab.reveal` (course/reveal.py) as HTML.

It needs no widget and no kernel. Without an answer it holds the truth sealed: unreadable in the notebook's file and on the page,
until assets/guess.js opens what belongs to the answer that was clicked or typed. With one it is plain HTML. Where no script
may run, as in a notebook that is not trusted, the choices are text and the answer goes into the cell.

A page needs the script and the style sheet once: the first card of a session (a kernel, until it is reset) carries them for all, and
carries them again when its cell runs again. Until that card is on the page the others are text.
"""

from __future__ import annotations

import base64
import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parent / "assets"

CARRIER = "_autograd_lab_carrier"
"""The name, among those of a session, of the id of the question whose card carries the front end."""


def shown(card: dict[str, Any], words: str, ask: str, names: dict[str, Any]) -> str:
    """The card of the question `ask` for a notebook, where another card may carry the front end; `names` are those of its session."""
    return html(card, words, front=names.setdefault(CARRIER, ask) == ask)


def html(card: dict[str, Any], words: str, front: bool = True) -> str:
    """The card; `words` is its text, `front` says whether it carries script and style sheet, for itself and for others."""
    style = f'<style class="agl-guess-style">{asset("guess.css")}</style>' if front else ""
    script = asset("guess.js") if front else "" if card["answered"] else "window.aglGuess?.()"
    script = f"<script>{script}</script>" if script else ""
    if card["answered"]:
        parts = "".join(_answered(part, len(card["parts"]) > 1) for part in card["parts"])
        return f'{style}<div class="agl-guess">{parts}<div class="agl-guess-after">{_after(card)}</div></div>{script}'
    parts = "".join(_open(part) for part in card["parts"])
    return (
        f'{style}<div class="agl-guess" data-sealed="{_sealed(card)}">{parts}'
        f'<div class="agl-guess-after"></div><p class="agl-guess-how">{escape(words)}</p></div>{script}'
    )


def _after(card: dict[str, Any]) -> str:
    return "".join(f"<p>{marked(words)}</p>" for words in card["after"])


def _open(part: dict[str, Any]) -> str:
    offered = " \u00b7 ".join(f"<code>{escape(answer)}</code>" for answer, _ in part["answers"])
    return f'<div class="agl-guess-part" data-v="open"><b>{marked(part["label"])}</b> {offered if part["offered"] else ""}</div>'


def _answered(part: dict[str, Any], labelled: bool) -> str:
    verdict = "right" if part["right"] else "wrong"
    said, truth = part["said"].strip("'"), part["truth"].strip("'")
    mark, told = ("\u2713", ", and it is") if part["right"] else ("\u2717", ". It is")
    you = f"{marked(part['label'])}: you" if labelled else "You"
    others = [
        f"<dt><code>{escape(answer)}</code></dt><dd>{marked(why)}</dd>"
        for answer, why in part["answers"]
        if part["offered"] and answer not in (said, truth)
    ]
    more = (
        f"<details><summary>The other answers</summary><dl>{''.join(others)}</dl></details>" if others else ""
    )
    return (
        f'<div class="agl-guess-part" data-v="{verdict}"><p><b class="agl-guess-mark">{mark}</b> {you} said <b>{escape(said)}</b>'
        f"{told} <b>{escape(truth)}</b>.</p><p>{marked(part['why'])}</p>{more}</div>"
    )


def marked(words: str) -> str:
    """HTML of a sentence: `code`, **bold** and *italic* as in Markdown."""
    pieces = re.split(r"`([^`]+)`", escape(words, quote=False))
    pieces[1::2] = [f"<code>{code}</code>" for code in pieces[1::2]]
    for mark, tag in (
        (r"\*\*", "b"),
        (r"\*", "i"),
    ):  # a star with a space beside it, or another star, is one of Python's
        span = rf"(?<![\w*]){mark}(?![\s*])(.+?)(?<![\s*]){mark}(?![\w*])"
        pieces[::2] = [re.sub(span, rf"<{tag}>\1</{tag}>", text) for text in pieces[::2]]
    return "".join(pieces)


def _sealed(card: dict[str, Any]) -> str:
    """What the script needs, so that nobody reads it by accident."""
    sealed = {"parts": [*map(sealed_part, card["parts"])], "after": _after(card)}
    return base64.b64encode(json.dumps(sealed, separators=(",", ":"), ensure_ascii=False).encode()).decode(
        "ascii"
    )


def sealed_part(part: dict[str, Any]) -> dict[str, Any]:
    """What the script needs to judge an answer to a part."""
    said = [[answer, marked(why)] for answer, why in part["answers"]]
    return {"said": said, "truth": part["key"], "within": part["within"], "why": marked(part["default"])}


@cache
def asset(name: str) -> str:
    """A file of the front end, without comments and indentation: every notebook carries it."""
    text = (ASSETS / name).read_text(encoding="utf-8")
    return re.sub(r"^\s*(//.*|/\*.*\*/)\n|^\s+|(?<=[;{}),]) // [^\"'`\n]*$", "", text, flags=re.M).rstrip()
