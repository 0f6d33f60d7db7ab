"""What the grader's pages share: their look, their safety, and the little Markdown they need.

A page is one file. It needs no network, follows the reader's light or dark theme, and can be printed. What students wrote is only ever
text: everything is escaped, each name is isolated so that its writing direction does not leak, and the page's content policy allows no
scripts but its own.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import lru_cache
from html import escape
from typing import Any

MOST_TEXT = 4_000
"""Characters of a student's text that are shown."""
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")

STYLE = """
:root { color-scheme: light dark; --bg: light-dark(#ffffff, #14171b); --card: light-dark(#ffffff, #1b1e23);
  --soft: light-dark(#f5f7f9, #24282e); --fg: light-dark(#1c2127, #e8ebee); --dim: light-dark(#59626c, #a4aeb9);
  --hair: light-dark(#dde2e7, #3b424b); --good: light-dark(#00795a, #3fcf9f); --bad: light-dark(#b3246b, #f08cc0);
  --part: light-dark(#8a6100, #f0c04a); --link: light-dark(#0072b2, #56b4e9); --bar: light-dark(#7db8dc, #2f6f9a);
  --mono: "JetBrains Mono", "SFMono-Regular", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 16px/1.5 Inter, "Segoe UI", Roboto, "Helvetica Neue",
  Arial, "Liberation Sans", sans-serif; overflow-wrap: anywhere; }
main { max-width: 1080px; margin: 0 auto; padding: 20px 20px 60px; }
h1 { font-size: 26px; line-height: 1.25; margin: 8px 0 4px; }
h2 { font-size: 21px; line-height: 1.3; margin: 40px 0 8px; }
h3 { font-size: 17px; line-height: 1.35; margin: 0; }
h4 { font-size: 15px; margin: 14px 0 2px; }
p, ul, ol { margin: 6px 0; max-width: 76ch; }
a { color: var(--link); }
code, pre { font-family: var(--mono); font-size: 0.875em; }
code { background: var(--soft); border-radius: 4px; padding: 1px 4px; }
pre { background: var(--soft); border-radius: 6px; padding: 10px 12px; margin: 6px 0; white-space: pre-wrap; max-height: 60vh;
  overflow: auto; line-height: 1.45; }
pre code { background: none; padding: 0; font-size: 1em; }
.dim { color: var(--dim); }
table { border-collapse: collapse; margin: 8px 0; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: 4px 16px 4px 0; border-bottom: 1px solid var(--hair); }
th { font-weight: 600; color: var(--dim); font-size: 14px; }
td.n, th.n { text-align: right; white-space: nowrap; }
td, th { overflow-wrap: break-word; } td:last-child:not(.n) { min-width: 16ch; } bdi { overflow-wrap: anywhere; } td:has(bdi) { min-width: 14ch; } .line { white-space: nowrap; }
.wide { overflow-x: auto; }
.item { background: var(--card); border: 1px solid var(--hair); border-left: 5px solid var(--dim); border-radius: 8px;
  padding: 12px 16px 14px; margin: 14px 0; }
.item > header { display: flex; gap: 10px; align-items: baseline; }
.item > header h3 { flex: 1; }
.item > header .n { white-space: nowrap; font-weight: 600; }
.good { border-left-color: var(--good); } .bad { border-left-color: var(--bad); } .part { border-left-color: var(--part); }
.mark { font-weight: 700; white-space: nowrap; color: var(--dim); }
.good > .mark, .good > header .mark { color: var(--good); } .bad > .mark, .bad > header .mark { color: var(--bad); }
.part > .mark, .part > header .mark { color: var(--part); }
.changed { background: var(--soft); border: 1px solid var(--hair); border-radius: 8px; padding: 2px 16px 10px; margin: 18px 0; }
.changed h2 { margin: 10px 0 4px; font-size: 18px; }
.says { border-left: 3px solid var(--hair); padding-left: 12px; }
details { margin: 8px 0; }
summary { cursor: pointer; font-weight: 600; padding: 3px 0; width: fit-content; }
summary:focus-visible, a:focus-visible, pre:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; border-radius: 4px; }
.pair { table-layout: fixed; width: 100%; min-width: 700px; } .pair td { width: 50%; }
.still { display: none; }
.still img { max-width: 100%; background: #fff; }
.bar { display: inline-block; width: 120px; height: 11px; background: var(--soft); border: 1px solid var(--hair); vertical-align: -1px; }
.bar i { display: block; height: 100%; background: var(--bar); }
@media (max-width: 700px) { main { padding: 10px 12px 40px; } td, th { padding-right: 10px; } .bar { width: 60px; } }
@media print {
  :root { color-scheme: light; } body { font-size: 11pt; } main { max-width: none; padding: 0; }
  .live, .screen { display: none; } .still { display: block; } .still details { display: none; }
  pre { max-height: none; } h2, h3, h4 { break-after: avoid; } .still, tr { break-inside: avoid; }
}
"""
_PRINT = """
addEventListener("beforeprint", () => { for (const fold of document.querySelectorAll("details.print")) fold.open = true; });
"""
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '{hash}'; style-src 'unsafe-inline'; \
img-src data:">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="basis" content="{basis}">
<title>{title}</title>
<style>
{css}</style>
<noscript><style>.live {{ display: none; }} .still {{ display: block; }}</style></noscript>
</head>
<body>
<main>
{body}
</main>
<script type="module">{script}</script>
</body>
</html>
"""


def page(title: str, body: str, *, live: bool = False, basis: str = "") -> str:
    """The text of a page: `title` as plain text, `body` as HTML.

    live    whether there are steppers in the body
    basis   a digest of what the page was made from; `basis_of` reads it back
    """
    script, css = _PRINT, STYLE
    if live:
        from autograd_lab.widgets import export
        from autograd_lab.widgets.front import style

        script, css = export.script() + _PRINT, style() + STYLE
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return _PAGE.format(
        hash=f"sha256-{digest}", basis=basis, title=plain(title), css=css, body=body, script=script
    )


def basis_of(text: str) -> str:
    """The `basis` of a page; "" if it is not one of ours."""
    found = re.search(r'<meta name="basis" content="([0-9a-f]*)">', text[:2_000])
    return found[1] if found else ""


# --- text ---------------------------------------------------------------------------------------------


def plain(text: Any, most: int = MOST_TEXT) -> str:
    """Any text as HTML: escaped, cut if very long, without invisible characters."""
    text = str(text)
    cut = f" ... ({len(text) - most:,} more characters)" if len(text) > most else ""
    return escape(_UNSEEN.sub("\ufffd", text[:most])) + cut


def foreign(text: Any, most: int = MOST_TEXT) -> str:
    """A student's text within a sentence, with its writing direction isolated."""
    return f"<bdi>{plain(text, most)}</bdi>"


def said(text: Any, most: int = MOST_TEXT) -> str:
    """What was wrong with an answer: a student's text may be in it, and code between backticks is."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", foreign(text, most))


def who(student: str, name: str, most: int = MOST_TEXT) -> str:
    """A student: their name, if it is known, and what the gradebook calls them."""
    called = foreign(student, most)
    return f'{foreign(name, most)} <span class="dim">{called}</span>' if name else called


def block(code: Any, most: int = MOST_TEXT) -> str:
    """Code or other text whose line breaks are kept."""
    return f'<pre dir="ltr" tabindex="0"><code>{plain(code, most)}</code></pre>'


def number(value: float) -> str:
    """A number without needless digits: 3, 2.5, 0.33."""
    return f"{round(value, 2):g}"


def points(value: float) -> str:
    """An amount with its noun: 1 point, 2.5 points."""
    return f"{number(value)} point" + ("" if value == 1 else "s")


def table(head: list[str], rows: list[list[str]], numbers: tuple[int, ...] = ()) -> str:
    """A table of HTML cells; `numbers` are the columns to right-align."""

    def row(cells: list[str], kind: str) -> str:
        marks = [' class="n"' if i in numbers else "" for i in range(len(cells))]
        return (
            "<tr>" + "".join(f"<{kind}{m}>{c}</{kind}>" for c, m in zip(cells, marks, strict=True)) + "</tr>"
        )

    return (
        f'<div class="wide"><table><thead>{row(head, "th")}</thead><tbody>'
        + "".join(row(cells, "td") for cells in rows)
        + "</tbody></table></div>"
    )


# --- Markdown -----------------------------------------------------------------------------------------


@lru_cache(maxsize=1000)  # each class and each run shows the same questions
def markdown(text: str) -> str:
    """Converts the Markdown that the exercises use to HTML: headings, paragraphs, lists, tables, fenced code; code, bold, italics."""
    out: list[str] = []
    lines = text.splitlines()
    while lines:
        line = lines[0]
        if not line.strip():
            lines.pop(0)
        elif line.startswith("```"):
            end = next((i for i, one in enumerate(lines[1:], 1) if one.startswith("```")), len(lines))
            out.append(block("\n".join(lines[1:end])))
            del lines[: end + 1]
        elif line.startswith("|"):
            out.append(_table(_take(lines, lambda one: one.startswith("|"))))
        elif heading := re.match(r"#+ +(.*)", line):
            out.append(f"<h4>{inline(heading[1])}</h4>")
            lines.pop(0)
        elif re.match(r"(?:[-*]|\d+[.)]) +", line):
            ordered = line[0].isdigit()
            out.append(_list(_take(lines, lambda one: bool(one.strip())), ordered))
        else:
            taken = _take(
                lines, lambda one: bool(one.strip()) and not re.match(r"```|\||#+ |[-*] |1[.)] ", one)
            )
            out.append(f"<p>{inline(' '.join(taken or [lines.pop(0)]))}</p>")
    return "\n".join(out)


def _take(lines: list[str], which: Any) -> list[str]:
    """Take the lines at the beginning for which `which` holds."""
    end = next((i for i, one in enumerate(lines) if not which(one)), len(lines))
    taken = lines[:end]
    del lines[:end]
    return taken


def _table(lines: list[str]) -> str:
    rows = [[inline(cell.strip()) for cell in line.strip().strip("|").split("|")] for line in lines]
    body = [row for row in rows[1:] if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]
    return table(rows[0], [(row + [""] * len(rows[0]))[: len(rows[0])] for row in body])


def _list(lines: list[str], ordered: bool) -> str:
    entries: list[str] = []
    first = 1
    for line in lines:
        mark = re.match(r"(?:[-*]|(\d+)[.)]) +", line)
        if mark:
            if not entries and mark[1]:
                first = int(mark[1])
            entries.append(line[mark.end() :])
        elif entries:
            entries[-1] += " " + line.strip()
    inside = "".join(f"<li>{inline(entry)}</li>" for entry in entries)
    return f'<ol start="{first}">{inside}</ol>' if ordered else f"<ul>{inside}</ul>"


def inline(text: str) -> str:
    """Code, bold and italics within a line, as HTML."""
    codes: list[str] = []

    def keep(found: re.Match[str]) -> str:
        codes.append(f"<code>{plain(found[2].strip())}</code>")
        return f"\ue000{len(codes) - 1}\ue001"

    prose = plain(re.sub(r"(`+)(.+?)\1", keep, re.sub("[\ue000\ue001]", "", text)))
    prose = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", prose)
    prose = re.sub(r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", r"<em>\1</em>", prose)
    return re.sub("\ue000(\\d+)\ue001", lambda found: codes[int(found[1])], prose)
