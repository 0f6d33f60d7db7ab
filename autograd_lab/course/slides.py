"""`autograd-lab slides 04`: a notebook as slides for the projector, one HTML file, made by nbconvert for reveal.js.

    source -> executed for the projector -> pieces -> slides that fit -> one file

    code first          an output is covered until the class has answered; a click shows it
    questions           `lab.reveal` shows the truth without a prediction (projector/)
    steppers            live, each on a slide of its own; pictures too
    refutations         "You may think" is shown alone until the next click
    instructor's cells  speaker notes: press S

reveal.js itself comes from the network, unless --reveal names a folder with a copy; then the file needs no network.
"""

import argparse
import base64
import io
import math
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import jupytext  # noqa: F401  # `read_source` needs it: asked for here, so that the command can say what is missing
import nbformat
from nbconvert.exporters import SlidesExporter

from autograd_lab.course import build
from autograd_lab.course.student import INSTRUCTOR

HERE = Path(__file__).parent / "projector"
REVEAL = "5.2.1"
"""The version of reveal.js that a deck loads from the network; --reveal accepts any 4 or 5."""

CDN = f"https://cdn.jsdelivr.net/npm/reveal.js@{REVEAL}/"
FILES = ("dist/reveal.css", "dist/reveal.js", "plugin/notes/notes.js")
BEGIN = "from autograd_lab import lab\nfrom autograd_lab.course import projector\nprojector.begin(lab)"

# The size of a slide, in its own pixels (deck.css): 768 high, and at least 1024 wide.
HEIGHT = 700
TEXT_LINE, TEXT_WIDTH = 36, 70
CODE_LINE, CODE_WIDTH = 28, 74
GAP = 14
PICTURE = 260  # of the highest one at the end of a notebook

# A cell that does nothing but open a stepper needs no code on a slide.
ONLY_SHOWS = re.compile(r"lab\.(step|compare)\(.*\)(\.\w+\(.*\))?")
MATH = re.compile(r"(`[^`]*`)|\$([^$\n]+)\$")


class CannotShowError(Exception):
    """The command cannot go on; the message says what happened, why, and what to do."""


@dataclass
class Piece:
    """An undivided piece of a slide: some text, some code, an output."""

    cell: dict[str, Any]
    height: float
    begins: bool = False
    """A new section begins here."""
    alone: bool = False
    """It has a slide of its own."""
    follows: bool = False
    """It appears after the piece before it, at a click."""
    needs: float = 0
    """The height of everything that must stay together with it, itself included."""
    notes: list[Any] = field(default_factory=list)


def main(argv: list[str] | None = None) -> int:
    """Write the decks; 0 if all is well, 2 with a reason on stderr if not."""
    options = _parser().parse_args(argv)
    try:
        root = build.find_root(options.root)
        sources = [s for s in build.find_sources(root, options.names) if s.parent.name == "notebooks"]
        loading = load(options.reveal)
        options.out.mkdir(parents=True, exist_ok=True)
        for source in sources:
            target = options.out / f"{source.stem}.html"
            target.write_text(deck(source, root, loading), encoding="utf-8")
            print(f"{target}: {target.stat().st_size / 1e6:.1f} MB", flush=True)
    except (CannotShowError, FileNotFoundError, FileExistsError, PermissionError) as problem:
        print(f"autograd-lab slides: {problem}", file=sys.stderr)
        return 2
    if options.reveal is None:
        print(
            f"These slides load reveal.js {REVEAL} from {CDN}, so the room needs a network. For one without:\n"
            f"  npm pack reveal.js@{REVEAL} && tar xzf reveal.js-{REVEAL}.tgz\n"
            f"  autograd-lab slides {' '.join(options.names)} --reveal package"
        )
    else:
        print("reveal.js is in the file: it needs no network.")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab slides",
        description="Make slides of notebooks, one HTML file each: live steppers, answers after the questions, your notes "
        "as speaker notes (press S). Works in a checkout of the project.",
    )
    parser.add_argument(
        "names", nargs="+", help="notebooks, such as 04 or notebooks/04_backward_node_by_node.py"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("slides"), metavar="DIR", help="where to (default: slides)"
    )
    parser.add_argument(
        "--reveal",
        type=Path,
        metavar="FOLDER",
        help="a copy of reveal.js to put into the file, for halls without a network",
    )
    parser.add_argument("--root", type=Path, help="folder that holds notebooks/ (default: here or above)")
    return parser


def load(folder: Path | None) -> dict[str, str]:
    """How a page loads reveal.js: from the network, or from a copy inside the page."""
    if folder is None:
        css, *scripts = FILES
        return {
            "styles": f'<link rel="stylesheet" href="{CDN}{css}" crossorigin="anonymous">',
            "scripts": "\n".join(
                f'<script src="{CDN}{name}" crossorigin="anonymous"></script>' for name in scripts
            ),
        }
    if missing := [name for name in FILES if not (folder / name).is_file()]:
        raise CannotShowError(
            f"{folder} is not a copy of reveal.js: it has no {' and no '.join(missing)}.\n"
            f"  What to do: npm pack reveal.js@{REVEAL} && tar xzf reveal.js-{REVEAL}.tgz, then --reveal package"
        )
    css, *scripts = ((folder / name).read_text(encoding="utf-8") for name in FILES)
    return {
        "styles": f"<style>{css}</style>",
        # inside a page a script ends at the first "</script", even in a string
        "scripts": "\n".join("<script>" + re.sub(r"</(?=script)", r"<\\/", text, flags=re.I) + "</script>" for text in scripts),
    }  # fmt: skip


def deck(source: Path, root: Path, loading: dict[str, str]) -> str:
    """The page of one source. Raises CannotShowError if a cell does not run."""
    notebook = build.read_source(source)
    notebook["cells"].insert(0, nbformat.v4.new_code_cell(BEGIN, id="projector"))
    try:
        build.execute(notebook, source.parent, root)
    except build.DidNotRunError as error:
        raise CannotShowError(f"{source.name}: {error}") from error
    build.settle(notebook)
    for cell in notebook["cells"]:
        if cell.cell_type == "markdown":
            cell.source = with_pictures(cell.source, source.parent)
    title = re.search(r"^# (.+)$", notebook["cells"][1].source, re.MULTILINE)
    found = [*pieces(notebook["cells"][1:])]
    notebook["cells"] = [*arranged(found)]
    for number, cell in enumerate(notebook["cells"], start=1):
        cell["id"] = f"piece-{number:03d}"  # nbformat's are random
    exporter = SlidesExporter(
        extra_template_basedirs=[str(HERE.parent)], template_name=HERE.name,
        exclude_input_prompt=True, exclude_output_prompt=True,
    )  # fmt: skip
    projector = {
        "title": title[1] if title else source.stem,
        "css": (HERE / "deck.css").read_text(encoding="utf-8"),
        "script": (HERE / "deck.js").read_text(encoding="utf-8"),
        **loading,
    }
    page, _ = exporter.from_notebook_node(notebook, resources={"projector": projector})
    return str(page)


# --- cells -> pieces ------------------------------------------------------------------------------


def pieces(cells: list[Any]) -> Iterator[Piece]:
    """The pieces of a notebook in order. An instructor's cell goes with the piece before it."""
    last: Piece | None = None
    for cell in cells:
        if INSTRUCTOR in cell.metadata.get("tags", []):
            if last is not None:
                last.notes.append(cell)
            continue
        for piece in of_text(cell.source) if cell.cell_type == "markdown" else of_code(cell):
            if last is not None:
                yield last
            last = piece
    if last is not None:
        yield last


def of_text(markdown: str) -> Iterator[Piece]:
    """A Markdown cell in blocks: a heading with what follows it, then paragraph by paragraph."""
    heading = ""
    for block in blocks(markdown):
        if re.match(r"#{1,2} ", block):
            heading = block
            continue
        quoted = block.startswith(">")
        parts = [f"> {part}" for part in re.split(r"\n> ?\n> ", block[2:])] if quoted else [block]
        texts = ["\n\n".join(filter(None, (heading, parts[0]))), *parts[1:]]
        together = sum(map(text_height, texts)) + GAP * len(texts)
        for number, text in enumerate(texts):
            yield Piece(
                nbformat.v4.new_markdown_cell(pictures_of_math(text)), text_height(text),
                begins=bool(heading) and not number, follows=number > 0, needs=0 if number else together,
            )  # fmt: skip
        heading = ""


def blocks(markdown: str) -> Iterator[str]:
    """Blocks separated by blank lines, without splitting code blocks and lists; headings are blocks of their own."""
    gathered: list[str] = []
    fenced = False
    for line in [*markdown.split("\n"), ""]:
        fenced ^= line.startswith("```")
        if line.strip() or fenced:
            gathered.append(line)
            if re.match(r"#{1,2} ", line) and not fenced:
                yield gathered.pop()
        elif gathered:
            yield "\n".join(gathered)
            gathered = []


def of_code(cell: Any) -> Iterator[Piece]:
    """A code cell: the source with its covered output; then each stepper or picture by itself."""
    printed: list[Any] = []
    shown: list[Any] = []
    for output in cell.outputs:
        data = output.get("data", {})
        big = (
            "agl-embed" in joined(data.get("text/html", "")) or "image/png" in data or "image/svg+xml" in data
        )
        (shown if big else printed).append(output)
    code_height = 24 + CODE_LINE * code_lines(cell.source)
    printed_height = 2 * GAP * bool(printed) + CODE_LINE * sum(
        code_lines(text_of(output)) for output in printed
    )
    fits = code_height + printed_height <= HEIGHT
    code = nbformat.v4.new_code_cell(cell.source, outputs=printed if fits else [], metadata={"covered": True})
    if not (shown and ONLY_SHOWS.fullmatch(cell.source)):
        yield Piece(code, code_height + printed_height * fits)
    if printed and not fits:
        yield Piece(only_output(printed), printed_height)
    for output in shown:
        if "text/html" in output["data"]:
            output["data"]["text/html"] = stepper_slide(joined(output["data"]["text/html"]))
        yield Piece(only_output([output]), HEIGHT, alone=True)


def only_output(outputs: list[Any]) -> Any:
    """A cell that shows outputs without the code they come from."""
    return nbformat.v4.new_code_cell("", outputs=outputs, metadata={"transient": {"remove_source": True}})


def stepper_slide(html: str) -> str:
    """A stepper's frame that loads with its slide, with a button that returns the keys to the deck."""
    if "agl-embed" not in html:
        return html
    button = '<button class="keys" type="button">Click into the stepper: the keys are its own. Click here: they are the slides&#39;.</button>'
    return button + html.replace(' srcdoc="', ' data-srcdoc="', 1)


def joined(text: str | list[str]) -> str:
    """Text as a notebook stores it."""
    return build.joined(text)


def text_of(output: Any) -> str:
    """The plain text of an output."""
    return joined(
        output.get("text", "") or output.get("data", {}).get("text/plain", "") or output.get("evalue", "")
    )


# --- how high -------------------------------------------------------------------------------------


def code_lines(text: str) -> int:
    """Lines of code or output on a slide, where long ones are wrapped."""
    return (
        sum(max(1, math.ceil(len(line) / CODE_WIDTH)) for line in text.rstrip("\n").split("\n"))
        if text
        else 0
    )


def text_height(markdown: str) -> float:
    """The approximate height of a text, in pixels."""
    height = float(GAP)
    fenced = False
    paragraph = 0
    for line in [*markdown.split("\n"), ""]:
        if line.startswith("```"):
            fenced = not fenced
            height += GAP / 2
        elif fenced:
            height += CODE_LINE * max(1, math.ceil(len(line) / CODE_WIDTH))
        elif line.startswith("# "):
            height += 130
        elif line.startswith('<img class="drawn"'):
            height += PICTURE
        elif line.startswith("## "):
            height += 62
        elif line.startswith("|"):
            height += 46 * max(1, math.ceil(len(line) / TEXT_WIDTH))
        elif re.match(r"[-*\d]+\.? ", line) or not line.strip():
            height += TEXT_LINE * math.ceil(paragraph / TEXT_WIDTH) + (GAP if paragraph else 0)
            paragraph = len(line)
        else:
            paragraph += len(line) + 1
    return height


# --- pieces -> slides -----------------------------------------------------------------------------


def arranged(found: list[Piece]) -> Iterator[Any]:
    """The cells with nbconvert's metadata: where a slide begins, what follows at a click, what is a note."""
    room = 0.0
    for piece in found:
        if piece.begins:
            kind = "slide"
        elif piece.alone or room < max(piece.height, piece.needs):
            kind = "subslide"
        else:
            kind = "fragment" if piece.follows else "-"
        if kind in ("slide", "subslide"):
            room = float(HEIGHT)
        room = 0.0 if piece.alone else room - piece.height - GAP
        piece.cell["metadata"]["slideshow"] = {"slide_type": kind}
        yield piece.cell
        for note in piece.notes:
            yield nbformat.v4.new_markdown_cell(note.source, metadata={"slideshow": {"slide_type": "notes"}})


# --- formulas -------------------------------------------------------------------------------------


def with_pictures(markdown: str, folder: Path) -> str:
    """A text with its pictures in it, read from `folder`: a page is one file."""

    def embedded(found: re.Match[str]) -> str:
        data = base64.b64encode((folder / found[2]).read_bytes()).decode("ascii")
        return f'<img class="drawn" alt="{escape(found[1])}" src="data:image/svg+xml;base64,{data}">'

    return re.sub(r"!\[([^\]]*)\]\((\S+\.svg)\)", embedded, markdown)


def pictures_of_math(markdown: str) -> str:
    """Formulas as pictures drawn by matplotlib, because MathJax would be loaded from the network."""
    return MATH.sub(lambda found: found[1] or picture_of(found[2]), markdown)


def picture_of(formula: str) -> str:
    """A formula as an image aligned with the baseline of its line."""
    from matplotlib import mathtext
    from matplotlib.font_manager import FontProperties

    style = FontProperties(size=18, math_fontfamily="dejavusans")
    drawn = io.BytesIO()
    depth = mathtext.math_to_image(f"${formula}$", drawn, prop=style, dpi=72, format="svg", color="#1c2127")
    svg = drawn.getvalue().decode()
    high = float(re.search(r'height="([\d.]+)pt"', svg)[1])  # type: ignore[index]
    data = base64.b64encode(svg.encode()).decode("ascii")
    em = 18.0
    return (
        f'<img class="math" alt="{escape(formula, quote=True)}" src="data:image/svg+xml;base64,{data}" '
        f'style="--height:{high / em:.3f}em;--depth:-{float(depth) / em:.3f}em">'
    )


if __name__ == "__main__":
    sys.exit(main())
