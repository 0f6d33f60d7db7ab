"""The reading pages: every notebook as a page on which steppers, comparisons and questions are live, without a kernel.

    source -> executed with every question answered (in_kernel.py) -> outputs as HTML -> nbconvert -> sealed -> page

What is shown only to those who have answered is in the page, sealed: nobody reads it by accident, and it opens with the answer. Code is
as in a student's copy, without asserts; cells for the instructor are left out.
"""

from __future__ import annotations

import base64
import json
import multiprocessing
import re
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from html import escape, unescape
from itertools import groupby
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jupytext  # noqa: F401  # `read_source` needs it: asked for here, so that the command can say what is missing
import nbformat
from nbconvert.exporters import HTMLExporter

from autograd_lab.course import build as course
from autograd_lab.course import contents
from autograd_lab.course.resources import students_name
from autograd_lab.course.student import INSTRUCTOR, without_asserts
from autograd_lab.widgets import front

from . import live, rulebook, tex
from .in_kernel import CARD, OPEN, PRACTICE, SEAL, STEPPER
from .options import Options
from .pages import ASSETS, CannotBuildError, Site

HERE = Path(__file__).parent
INDEX = "notebooks/index.html"
STYLES, SCRIPTS = ("assets/reading.css",), ("assets/reading.js",)
BEGIN = "from autograd_lab import lab\nfrom autograd_lab.site import in_kernel\nin_kernel.begin(lab)"
PROCESSES = 2
"""How many notebooks run at a time."""


def add(site: Site, options: Options) -> None:
    """Put the reading pages and their table of contents into the site."""
    sources = sorted((options.root / "notebooks").glob("*.py"))
    begun = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=begun) as pool:
        notebooks = list(pool.map(partial(executed, root=options.root), sources))
    add_pages(site, dict(zip(sources, notebooks, strict=True)))


def add_pages(site: Site, notebooks: dict[Path, str]) -> None:
    """The same from notebooks that have run: {source: what `executed` gave}."""
    add_front_end(site)
    for picture in sorted(
        {path for source in notebooks for path in (source.parent / "pictures").glob("*.svg")}
    ):
        site.add(f"notebooks/pictures/{picture.name}", picture.read_bytes())
    order = [source.stem for source in notebooks]
    for source, text in notebooks.items():
        page(site, source, nbformat.reads(text, as_version=4), order)
    table_of_contents(site, notebooks)


def add_front_end(site: Site) -> None:
    """Put the scripts and styles of these pages into the site: the cards of questions are those of the notebooks."""
    scripts = [
        (front.ASSETS / "guess.js").read_text(encoding="utf-8"),
        front.joined(("host.js", "practice.js")),
    ]
    scripts.append((ASSETS / "reading.js").read_text(encoding="utf-8"))
    styles = [(front.ASSETS / name).read_text(encoding="utf-8") for name in ("guess.css", "practice.css")]
    styles.append((ASSETS / "reading.css").read_text(encoding="utf-8"))
    site.add("assets/reading.js", "\n".join(scripts))
    site.add("assets/reading.css", "".join(styles))


# --- a notebook that has run ------------------------------------------------------------------------------------------------


def executed(source: Path, root: Path) -> str:
    """The notebook of a source, run for its page, as the text of a file. Raises CannotBuildError if a cell does not run."""
    notebook = course.read_source(source)
    notebook["cells"].insert(0, nbformat.v4.new_code_cell(BEGIN, id="begin"))
    try:
        course.execute(notebook, source.parent, root)
    except course.DidNotRunError as error:
        raise CannotBuildError(f"{source.name}: {error}") from error
    del notebook["cells"][0]
    return str(nbformat.writes(notebook))


# --- a page -----------------------------------------------------------------------------------------------------------------


def page(site: Site, source: Path, notebook: Any, order: list[str]) -> None:
    """Put the page of a notebook into the site; `order` are the names of all of them."""
    at = place(source.stem)
    pictures = stored_pictures(source)
    formulas: list[str] = []
    cells = []
    for cell in notebook.cells:
        if INSTRUCTOR in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            cell.source = tex.taken_out(cell.source, formulas)
        else:
            cell.source = without_asserts(cell.source)
            cell.outputs = [*as_html(site, at, cell, pictures.get(cell.id, []))]
            cell.metadata["transient"] = {"remove_source": not cell.source.strip()}
        cells.append(cell)
    notebook.cells = cells
    exporter = HTMLExporter(
        extra_template_basedirs=[str(HERE)], template_name="notebook", exclude_input_prompt=True, exclude_output_prompt=True,
        exclude_anchor_links=True,
    )  # fmt: skip
    body, _ = exporter.from_notebook_node(notebook)
    body = with_anchors(sealed(tex.put_back(linked(site, at, body), formulas)))
    title = re.search(r"<h1[^>]*>(.*?)</h1>", body, re.S)
    if title is None:
        raise CannotBuildError(f"{source.name}: the first cell has no title, a line that begins with #")
    name = plain(title[1])
    site.page(
        at,
        name,
        _framed(site, at, body, name, order),
        description=first_words(body),
        styles=STYLES,
        scripts=SCRIPTS,
    )


def place(stem: str) -> str:
    """The path of a notebook's page in the site."""
    return f"notebooks/{stem}.html"


def stored_pictures(source: Path) -> dict[str, list[str]]:
    """The plots in the stored notebook by cell: a plot of measured times is never the same twice, and fonts differ between machines."""
    stored = source.with_suffix(".ipynb")
    if not stored.exists():
        return {}
    cells = json.loads(stored.read_text(encoding="utf-8"))["cells"]
    return {
        cell["id"]: [course.joined(data["image/png"]) for output in cell.get("outputs", ()) if "image/png" in (data := output.get("data", {}))]
        for cell in cells
    }  # fmt: skip


def as_html(site: Site, at: str, cell: Any, pictures: list[str]) -> Iterator[Any]:
    """The outputs of a cell, those that are not text as HTML, with marks around what waits for an answer."""
    plots = iter(
        pictures if len(pictures) == sum("image/png" in o.get("data", {}) for o in cell.outputs) else []
    )
    asked: list[str] = []
    for output in _with_whole_streams(cell.outputs):
        data = output.get("data", {})
        if SEAL in data:
            if data[SEAL]["ask"] not in asked:
                asked.append(data[SEAL]["ask"])
                yield _html(f"<!--seal {data[SEAL]['ask']}-->")
        elif OPEN in data:
            asked.clear()
            yield _html("<!--sealed-->")
        elif CARD in data:
            ask = data[CARD]["ask"]
            yield _html(
                f'<div class="book-card" id="{card_id(ask)}" data-ask="{ask}">{data[CARD]["html"]}</div>'
            )
        elif PRACTICE in data:
            yield _html(data[PRACTICE]["html"])
        elif STEPPER in data:
            shown = data[STEPPER]
            yield _html(live.placed(site, at, shown["traits"], shown["still"], shown["label"]))
        elif "image/png" in data:
            yield _html(_plot(site, at, next(plots, None) or data["image/png"], data.get("text/plain", "")))
        elif output.output_type == "error":
            yield nbformat.v4.new_output("stream", name="stderr", text=f"{output.ename}: {output.evalue}")
        else:
            yield output
    if asked:
        yield _html("<!--sealed-->")


def _with_whole_streams(outputs: list[Any]) -> Iterator[Any]:
    """What is printed comes in pieces, which are not the same in two runs."""
    for (kind, name), group in groupby(outputs, lambda output: (output.output_type, output.get("name"))):
        if kind == "stream":
            yield nbformat.v4.new_output("stream", name=name, text="".join(output.text for output in group))
        else:
            yield from group


def _html(text: str) -> Any:
    return nbformat.v4.new_output("display_data", {"text/html": text})


def _plot(site: Site, at: str, picture: str, words: str) -> str:
    from hashlib import sha256
    from struct import unpack

    content = base64.b64decode(picture)
    wide, high = unpack(">II", content[16:24])  # where every PNG says it
    path = f"data/{sha256(content).hexdigest()[:16]}.png"
    site.add(path, content)
    return f'<img class="book-plot" alt="A plot, drawn by the code above" width="{wide}" height="{high}" loading="lazy" src="{site.link(at, path)}">'


def card_id(ask: str) -> str:
    """The id of a question's card in its page."""
    return f"question-{ask.replace('.', '-')}"


_SEALED = re.compile(r"<!--seal ([\d.a-z]+)-->((?:(?!<!--sealed-->).)*)<!--sealed-->", re.S)


def sealed(body: str) -> str:
    """A page in which what waits for an answer can be read neither on the page nor in its file; assets/reading.js opens it."""

    def seal(found: re.Match[str]) -> str:
        asks, inside = [found[1]], found[2]
        for more in re.findall(r"<!--seal ([\d.a-z]+)-->", inside):
            asks.append(more)
        inside = re.sub(r"<!--seal [\d.a-z]+-->", "", inside)
        if not inside.strip():
            return ""
        packed = base64.b64encode(inside.encode()).decode("ascii")
        ways = " and ".join(f'<a href="#{card_id(ask)}">the question above</a>' for ask in asks[:1])
        return f'<div class="book-sealed" data-asks="{" ".join(asks)}" data-sealed="{packed}"><p>This opens when you have answered {ways}.</p></div>'

    return _SEALED.sub(seal, body)


# --- links ------------------------------------------------------------------------------------------------------------------


def linked(site: Site, at: str, body: str) -> str:
    """A page whose links to notebooks lead to their pages, and those to exercises into the lab, if the site has one."""

    def exercise(found: re.Match[str]) -> str:
        address = in_lab(site, at, f"exercises/{found[1]}")
        words = "in the lab" if address else "in the lab, when it is installed"
        return f'<a href="{address}">{found[2]}</a>, {words}' if address else f"{found[2]}, {words}"

    if RULES in site.places:
        body = re.sub(r"(?<!>)<code>(\w+)</code>(?!</a>)", partial(_rule, site, at), body)
    body = re.sub(r'<a href="\.\./exercises/(\w+\.ipynb)">(.*?)</a>', exercise, body)
    return re.sub(r'(<a href="\d\d_\w+)\.ipynb"', r'\1.html"', body)


def _rule(site: Site, at: str, code: re.Match[str]) -> str:
    """The name of a rule as a link to its entry in the rule book; other code as it is."""
    try:
        page, _, anchor = rulebook.place_of(code[1]).partition("#")
    except KeyError:
        return code[0]
    return f'<a href="{site.link(at, page)}#{anchor}">{code[0]}</a>'


LAB = "lab/index.html"
RULES = "rules/index.html"


def in_lab(site: Site, at: str, file: str) -> str:
    """The address of a file of the course in the site's lab, such as "notebooks/04_backward_node_by_node.ipynb"; "" if the site has no lab."""
    if LAB not in site.places or LAB in site.lacking:
        return ""
    return f"{site.link(at, LAB)}?path={quote(str(students_name(Path(file)).as_posix()))}"


# --- around the text --------------------------------------------------------------------------------------------------------


def _framed(site: Site, at: str, body: str, title: str, order: list[str]) -> str:
    stem = Path(at).stem
    number = stem.split("_")[0]
    sections = "".join(
        f'<li><a href="#{anchor}">{words}</a></li>' for anchor, words in re.findall(r'<h2 id="([^"]+)">(.*?)</h2>', body, re.S)
    )  # fmt: skip
    k = order.index(stem)
    before, after = order[k - 1 : k], order[k + 1 : k + 2]
    turns = [f'<a rel="prev" href="{other}.html">← {_named(other)}</a>' for other in before]
    turns += [f'<a rel="next" href="{other}.html">{_named(other)} →</a>' for other in after]
    address = in_lab(site, at, f"notebooks/{stem}.ipynb")
    run = (
        f'<a href="{escape(address, quote=True)}">open notebook {number} in the lab</a>'
        if address
        else f"open notebook {number} in the lab, on your machine"
    )
    return (
        f'<div class="book"><nav class="book-sections" aria-label="Sections"><p><a href="index.html">All notebooks</a></p>'
        f'<p><a href="#content">{title}</a></p><ol>{sections}</ol></nav>\n<article class="book-text">'
        f'<p class="book-about">A page to read: nothing is installed, and every cell has run. Step through what it shows, and answer the questions in their cards. To change and run the code, {run}.</p>\n'
        f'{body}\n<nav class="book-turn" aria-label="Notebooks">{"".join(turns)}</nav></article></div>'
    )


def _named(stem: str) -> str:
    number = stem.split("_")[0]
    return f"{number} · {escape(contents.title(number))}"


def with_anchors(body: str) -> str:
    """A page whose sections have an id, made of their words."""
    taken: set[str] = set()

    def anchored(found: re.Match[str]) -> str:
        slug = base = "-".join(re.findall(r"[a-z0-9_]+", plain(found[1]).lower())) or "section"
        for k in range(2, len(taken) + 3):
            if slug not in taken:
                break
            slug = f"{base}-{k}"
        taken.add(slug)
        return f'<h2 id="{slug}">{found[1]}</h2>'

    return re.sub(r"<h2>(.*?)</h2>", anchored, body, flags=re.S)


def plain(html: str) -> str:
    """The words of some HTML."""
    return " ".join(unescape(re.sub(r"<[^>]*>", "", html)).split())


def first_words(body: str) -> str:
    """What a page is about, for those who find it: the question in bold letters, else its first words."""
    paragraphs = [plain(text) for text in re.findall(r"<p>(.*?)</p>", body, re.S)]
    return next((words for words in paragraphs[1:] if words), "")[:200]


def table_of_contents(site: Site, notebooks: dict[Path, str]) -> None:
    """The page of all notebooks."""
    rows = []
    for source, text in notebooks.items():
        block = nbformat.reads(text, as_version=4).metadata.get("autograd_lab", {})
        goals = "".join(f"<li>{escape(goal)}</li>" for goal in block.get("goals", ()))
        rows.append(
            f'<li><h2><a href="{source.stem}.html">{_named(source.stem)}</a> <small>{block.get("minutes", "")} minutes</small></h2><ul>{goals}</ul></li>'
        )
    site.page(
        INDEX, "Notebooks",
        '<h1>Notebooks</h1><p class="book-lead">Read them in order: you predict, you step, you explain. Steppers and questions work on these pages; each notebook is followed by exercises.</p>'
        f'<ol class="book-all">{"".join(rows)}</ol>',
        description="The notebooks of the course, with what you can do after each.", styles=STYLES,
    )  # fmt: skip
