"""Live steppers in the pages of the site: one front end for all pages, and each stepper as data that the page opens when it comes near.

    site.page(path, title, live.stepper(site, path, lab.step(trace)))

Any widget that can be saved as a page will do (`widgets.export.OnPage`): a stepper, a comparison, a captured graph. A page that
holds one gets script and style sheet by itself (`Site.page`). Without scripts, and on paper, the still picture is there.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from typing import Any

from autograd_lab.widgets import export, front

from .pages import ASSETS, LIVE, Site

APART = 24_000
"""Bytes of data above which a stepper is a file of its own, fetched when it comes near: the page comes first."""


def stepper(site: Site, at: str, shown: export.OnPage, label: str = "") -> str:
    """The HTML of a stepper for the page at the path `at`. `label` says what it shows, for those who do not see it.

    The stepper is closed: JupyterLite imports ipykernel, and what is closed after that asks for a kernel.
    """
    traits, still = export.traits(shown), shown.still()
    export.close(shown)
    return placed(site, at, traits, still, label)


def placed(site: Site, at: str, traits: dict[str, Any], still: str, label: str = "") -> str:
    """The same from what a widget sends (`export.traits`), and from its still picture."""
    # It would look on the page for the picture that it replaces; here the style sheet hides that, and shows it on paper.
    traits = traits | {"_still": ""}
    if slides := traits.pop("_slides", ""):
        traits["_slides_at"] = site.link(at, path := f"data/{_name(slides.encode())}.txt")
        site.add(path, slides)
    data = export.as_json(traits)
    if len(data) > APART:
        path = f"data/{_name(data.encode())}.json"
        site.add(path, data)
        source, inside = f' data-stepper="{site.link(at, path)}"', ""
    else:
        source, inside = "", f'<script type="application/json">{data}</script>'
    still = _PICTURE.sub(lambda found: _apart(site, at, found[1]), still)
    name = f' role="group" aria-label="{escape(label, quote=True)}"' if label else ""
    return f'<div class="{LIVE}"{source}{name}>{inside}<div class="site-live-still">{still}</div></div>'


_PICTURE = re.compile(r'src="data:image/svg\+xml;base64,([^"]+)"')


def _apart(site: Site, at: str, picture: str) -> str:
    """A still picture as a file of its own: who steps does not load it, who prints does."""
    drawn = base64.b64decode(picture)
    path = f"data/{_name(drawn)}.svg"
    site.add(path, drawn)
    return f'loading="lazy" src="{site.link(at, path)}"'


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def add_front_end(site: Site) -> None:
    """Put the front end into the site, as assets/stepper.js (which exports `open` and `openAll`) and assets/stepper.css."""
    site.add("assets/stepper.js", module())
    site.add("assets/stepper.css", front.style() + (ASSETS / "live.css").read_text(encoding="utf-8"))


@cache
def module() -> str:
    """The front end as one ES module."""
    own = (ASSETS / "stepper.js").read_text(encoding="utf-8")
    return export.widget() + re.sub(r"^\s*(//.*|/\*\*.*\*/)\n", "", own, flags=re.M)
