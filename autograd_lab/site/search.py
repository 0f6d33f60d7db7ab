"""The index of the search: every page in parts, from heading to heading, with the words of each. assets/site.js looks words up in it.

It is small, so that it comes fast: code and what code prints are not in it, and of a stepper nothing. Nor is what nobody sees: what waits for an answer.
"""

from __future__ import annotations

import json
from html.parser import HTMLParser

from .pages import LIVE, Site

PATH = "assets/search.json"
_VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
_SKIPPED = {"script", "style", "nav", "template", "math", "svg", "title", "header", "pre", "noscript"}


def add(site: Site) -> None:
    """Put the index of all pages that the site has so far into it."""
    pages, places = [], []
    for path in sorted(path for path in site.files if path.endswith(".html")):
        read = _Places(site.files[path].decode())
        if not read.indexed:
            continue
        pages.append([path, read.title])
        places += [[len(pages) - 1, anchor, heading, text] for anchor, heading, text in read.places()]
    index = {"pages": pages, "places": places}
    site.add(PATH, json.dumps(index, ensure_ascii=False, separators=(",", ":")))


class _Places(HTMLParser):
    """The parts of a page: the id of the heading, its words, and the words below it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.title = ""
        self.indexed = False
        """Whether it has the frame of all pages."""
        self._found: list[tuple[str, list[str], list[str]]] = [("", [], [])]
        self._open: list[tuple[str, bool]] = []
        self._heading = ""
        self.feed(text)

    def places(self) -> list[tuple[str, str, str]]:
        """(anchor, heading, text) for each part that says something."""
        found = [(anchor, _joined(heading), _words(text)) for anchor, heading, text in self._found]
        return [(anchor, heading, text) for anchor, heading, text in found if heading or text]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        classes = (given.get("class") or "").split()
        if tag == "main":
            self.indexed = True
        if tag in _VOID:
            return
        skipped = tag in _SKIPPED or LIVE in classes or "data-sealed" in given or "hidden" in given
        self._open.append((tag, skipped or (bool(self._open) and self._open[-1][1])))
        if tag in ("h1", "h2", "h3") and not self._skipping and (tag == "h1" or given.get("id")):
            self._heading = tag  # one without an id leads nowhere: its words are text
            if tag != "h1":
                self._found.append((given["id"] or "", [], []))

    def handle_endtag(self, tag: str) -> None:
        while self._open and tag not in _VOID:
            closed, _ = self._open.pop()
            if closed == tag:
                break
        if tag == self._heading:
            self._heading = ""

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1][0] == "title":
            self.title += data
        if self._skipping or not self.indexed:
            return
        anchor, heading, text = self._found[-1]
        if self._heading and anchor and heading and any(tag == "a" for tag, _ in self._open):
            return  # what can be done beside a heading is not its words
        (heading if self._heading and (anchor or self._heading == "h1") else text).append(data)

    @property
    def _skipping(self) -> bool:
        return bool(self._open) and self._open[-1][1]


def _joined(parts: list[str]) -> str:
    return " ".join("".join(parts).split())


def _words(parts: list[str]) -> str:
    return " ".join(" ".join(parts).split())
