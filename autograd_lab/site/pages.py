"""The site while it is made: its files, the frame around each page, and the check that every link leads somewhere.

All links are relative, so that the site works in any folder of any host, and the same sources give the same bytes.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ASSETS = Path(__file__).parent / "assets"


class CannotBuildError(Exception):
    """The site cannot be written; the message says what happened, why, and what to do."""


LIVE = "site-live"
"""The class of an element that becomes a stepper; live.py makes them."""

_PAGE = """<!doctype html>
<html lang="en"{name}>
<head>
<meta charset="utf-8">{policy}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="description" content="{description}">
<title>{title}</title>
<link rel="icon" href="{root}assets/site.svg">
<link rel="stylesheet" href="{root}assets/site.css">
<script>{first}</script>
<script type="module" src="{root}assets/site.js"></script>
{head}
</head>
<body>
<header class="site-head">
<a class="site-skip" href="#content">To the text</a>
<div class="site-bar"><nav aria-label="Site">{places}</nav><div class="site-tools"></div></div>
</header>
<main id="content">
{body}
</main>
</body>
</html>
"""


_STILL = "JavaScript is off: the steppers on this page are pictures, and questions cannot be answered."

# Before anything is drawn: the theme that the reader has chosen, and whether the page was opened as a file, where browsers load no modules.
FIRST = """{
const html = document.documentElement;
html.classList.toggle("from-disk", location.protocol === "file:");
try { const theme = localStorage.getItem("autograd-lab-theme"); if (theme) html.dataset.theme = theme; } catch {} // no storage: the system's theme
}"""


@dataclass
class Site:
    """A site that is being made: {path in the site: content}, such as "rules/index.html"."""

    places: dict[str, str] = field(default_factory=dict)
    """What every page links to, such as {"rules/index.html": "Rules"}."""
    lacking: set[str] = field(default_factory=set)
    """Those of these pages that only say what this copy of the site was made without: nothing else offers them."""
    files: dict[str, bytes] = field(default_factory=dict)

    def add(self, path: str, content: str | bytes) -> None:
        """Put a file into the site. Raises ValueError if the path is not one of a site, or is taken by another content."""
        if path.startswith("/") or ".." in path.split("/") or "\\" in path:
            raise ValueError(f"{path!r} is no path inside the site")
        data = content.encode() if isinstance(content, str) else content
        if self.files.setdefault(path, data) != data:
            raise ValueError(f"two parts of the site write {path!r}, and not the same")

    def add_frame(self) -> None:
        """Put the files into the site that all pages load."""
        for asset in sorted(ASSETS.glob("site.*")):
            self.add(f"assets/{asset.name}", asset.read_bytes())

    def page(
        self, path: str, title: str, body: str, *, description: str = "", styles: Sequence[str] = (), scripts: Sequence[str] = (),
        policy: str = "", name: str = "",
    ) -> None:  # fmt: skip
        """Put an HTML page into the site, inside the frame that all pages share.

        `body` is HTML, whose links are relative to the page. `styles` and `scripts` are paths in the site, such as
        "assets/stepper.js"; scripts are loaded as modules. Those of the steppers are added where the body holds one (live.py).
        `policy` is the page's Content-Security-Policy, `name` a class of its root, for a style sheet.
        """
        if f'class="{LIVE}"' in body:
            styles, scripts = ("assets/stepper.css", *styles), ("assets/stepper.js", *scripts)
            body = f"<noscript><p>{_STILL}</p></noscript>\n{body}"
        head = [f'<link rel="stylesheet" href="{self.link(path, style)}">' for style in styles]
        head += [f'<script type="module" src="{self.link(path, script)}"></script>' for script in scripts]
        places = [
            f'<a href="{self.link(path, place)}"{" aria-current=page" if place == path else ""}>{name}</a>'
            for place, name in self.places.items()
        ]
        self.add(
            path,
            _PAGE.format(
                title=escape(title), description=escape(description or title, quote=True), root="../" * path.count("/"), first=FIRST,
                name=f' class="{name}"' if name else "",
                policy=f'\n<meta http-equiv="Content-Security-Policy" content="{escape(policy, quote=True)}">' if policy else "",
                head="\n".join(head), places="\n".join(places), body=body,
            ),
        )  # fmt: skip

    @staticmethod
    def link(at: str, to: str) -> str:
        """The relative address of one path, seen from another."""
        return posixpath.relpath(to, posixpath.dirname(at) or ".")

    def write(self, folder: Path) -> None:
        """Write all files below `folder`, which is made if it is missing."""
        for path, content in sorted(self.files.items()):
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)

    def broken_links(self) -> list[str]:
        """A line for each link of a page to a file, or to a place in a page, which is not there."""
        ids = {
            path: set(_Links(text.decode()).ids)
            for path, text in self.files.items()
            if path.endswith(".html")
        }
        broken = []
        for path in sorted(ids):
            for link in _Links(self.files[path].decode()).links:
                parts = urlsplit(link)
                if parts.scheme or parts.netloc:
                    continue
                to = posixpath.join(posixpath.dirname(path), unquote(parts.path)) if parts.path else path
                to = posixpath.normpath(to + "index.html" if to.endswith("/") else to)
                if to not in self.files:
                    broken.append(f"{path}: {link} leads to {to}, which is not there")
                elif parts.fragment and to in ids and parts.fragment.partition("=")[0] not in ids[to] | {"p"}:
                    broken.append(f"{path}: {link}: there is no {parts.fragment!r} in {to}")
        return broken


class _Links(HTMLParser):
    """The links and the ids of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.ids.append(value)
            elif name in ("href", "src", "poster") and value:
                self.links.append(value)
            elif name == "srcset" and value:
                self.links += [part.split()[0] for part in value.split(",")]
