"""Reads what was handed in as a notebook: the bytes of a file become cells, or a sentence that says what it is instead.

    read      the cells of a notebook; raises UnreadableError
    decode    text in any of the encodings that editors write

Parsed JSON can take thirty times the memory of its text, and seconds. So what looks expensive is read by this page in a process of its
own, which may use LIMIT_SECONDS and LIMIT_BYTES: it runs as a program, and imports nothing but the standard library.
"""

from __future__ import annotations

import gc
import hashlib
import json
import re
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

MOST_CELLS = 20_000
MOST_TEXT = 10_000_000
"""The most characters of code that a notebook may hold."""
MOST_MARKS = 1_000_000
"""A text with more brackets, commas and colons may become too many objects: it is read apart."""
MOST_HERE = 10_000_000
"""So is one of more bytes with a character beyond ASCII, which can make each take four bytes."""
LIMIT_SECONDS = 0.8
"""Of processor time."""
LIMIT_BYTES = 200_000_000


class UnreadableError(Exception):
    """A file that is not a notebook; the message is a sentence that says what it is instead."""


@dataclass(frozen=True)
class RawCell:
    """A cell as it was handed in."""

    kind: str
    """ "code", "markdown" or "raw"."""
    source: str
    id: str = ""
    grade_id: str = ""
    """nbgrader's name for it."""
    solution: bool = False
    """Whether nbgrader's metadata mark it as an answer cell."""


@dataclass(frozen=True)
class Notebook:
    """The readable contents of a file, without outputs."""

    cells: tuple[RawCell, ...]
    notes: tuple[str, ...] = ()
    """What had to be repaired, in sentences."""
    variant: int | None = None
    """The number of the copy, if its metadata name one."""


BEGINNINGS = (
    (b"%PDF", "a PDF file"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"7z\xbc\xaf", "a 7z archive"),
    (b"Rar!", "a RAR archive"),
    (b"PK\x03\x04", "a zip archive"),
    (b"\x89PNG", "a picture"),
    (b"\xff\xd8\xff", "a picture"),
    (b"SQLite format 3", "a database"),
    (b"\x7fELF", "a program"),
)


def marks_in(data: bytes) -> int:
    """How many objects a text can become at most, as JSON: about one for each of these characters."""
    key = len(data), hash(data)  # the hash is kept in `data`
    if key not in _marks:
        _marks.clear()
        _marks[key] = sum(data.count(mark) for mark in (b"[", b"{", b",", b":"))
    return _marks[key]


_marks: dict[tuple[int, int], int] = {}
"""Those of the last text: whoever asks for them asks again, and counting takes a tenth of a second for a large one."""


def is_costly(data: bytes) -> bool:
    """Whether a file is read in a process of its own."""
    wide = len(data) > MOST_HERE and (not data.isascii() or b"\\u" in data)
    return wide or marks_in(data) > MOST_MARKS


def read(data: bytes) -> Notebook:
    """The cells of a notebook of any origin. Raises UnreadableError with a sentence if it is not a notebook."""
    if not is_costly(data):
        return read_here(data)
    told = _outcomes.get(key := hashlib.sha256(data).digest())
    if told is None:
        while len(_outcomes) >= 8:
            del _outcomes[next(iter(_outcomes))]
        told = _outcomes[key] = _read_apart(data)
    if isinstance(told, str):
        raise UnreadableError(told)
    return told


_outcomes: dict[bytes, Notebook | str] = {}
"""What was in the last costly files: each is read more than once, to recognize it and to grade it."""


def _read_apart(data: bytes) -> Notebook | str:
    """`read_here` in a process with limits; the sentence, if it is not a notebook."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", __file__],
            input=data,
            capture_output=True,
            timeout=20,
            check=False,
        )
        told: dict[str, Any] = json.loads(done.stdout) if done.returncode == 0 else {"error": TOO_COSTLY}
    except subprocess.TimeoutExpired:
        told = {"error": TOO_COSTLY}
    if "error" in told:
        return str(told["error"])
    return Notebook(tuple(RawCell(**cell) for cell in told["cells"]), tuple(told["notes"]), told["variant"])


TOO_COSTLY = f"The file takes more than {LIMIT_SECONDS} s or {LIMIT_BYTES / 1e6:g} MB of memory to read; no notebook needs that much."


def main() -> int:
    """Read a notebook from the standard input and tell what is in it, as JSON."""
    try:
        import resource
    except ModuleNotFoundError:  # on Windows only the time is limited
        pass
    else:
        with suppress(ValueError, OSError):  # macOS may refuse this limit
            resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
        signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)  # its signal ends the process
    told: dict[str, Any]
    try:
        found = read_here(sys.stdin.buffer.read())
        told = {
            "cells": [asdict(cell) for cell in found.cells],
            "notes": found.notes,
            "variant": found.variant,
        }
    except UnreadableError as error:
        told = {"error": str(error)}
    except MemoryError:
        told = {"error": TOO_COSTLY}
    json.dump(told, sys.stdout)
    return 0


_SOMETHING = re.compile(rb"[^\0 \t\r\n]")


def read_here(data: bytes) -> Notebook:
    """`read`, in this process."""
    if not _SOMETHING.search(data):
        raise UnreadableError("The file is empty.")
    for beginning, what in BEGINNINGS:
        if data.startswith(beginning):
            raise UnreadableError(f"The file is {what}, not a notebook.")
    text, notes = decode(data)
    document = _parse(text)
    if not isinstance(document, dict):
        raise UnreadableError("The file is JSON, but not a notebook: it has no cells.")
    return _notebook(document, notes)


def decode(data: bytes) -> tuple[str, list[str]]:
    """Text in any of the encodings that editors write, and remarks on it. Raises UnreadableError."""
    for mark, encoding in (
        (b"\xef\xbb\xbf", "utf-8-sig"),
        (b"\xff\xfe\0\0", "utf-32"),
        (b"\0\0\xfe\xff", "utf-32"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if data.startswith(mark):
            try:
                note = [] if encoding == "utf-8-sig" else [f"The file is in {encoding.upper()}, not UTF-8."]
                return data.decode(encoding), note
            except UnicodeDecodeError as error:
                raise UnreadableError(
                    f"The file is damaged: it is not the {encoding.upper()} it says."
                ) from error
    wide = next((e for e, at in (("utf-16-le", 1), ("utf-16-be", 0)) if set(data[at:200:2]) == {0}), "")
    for encoding in filter(None, (wide, "utf-8", "cp1252")):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        return text, [] if encoding == "utf-8" else [f"The file is in {encoding.upper()}, not UTF-8."]
    return data.decode("latin-1"), ["The file is in LATIN-1, not UTF-8."]


def _parse(text: str) -> Any:
    collecting = gc.isenabled()
    gc.disable()  # what JSON makes has no cycles, and to look for them takes four times as long as to make it
    try:
        return json.loads(text)
    except RecursionError:
        raise UnreadableError("The file is JSON nested too deeply to be a notebook.") from None
    except json.JSONDecodeError as error:
        start = text.lstrip()[:200].lower()
        if start.startswith("<"):
            raise UnreadableError(
                "The file is a web page, not a notebook; perhaps the page was saved, not the file."
            ) from None
        if not start.startswith(("{", "[")):
            raise UnreadableError("The file is text, not a notebook.") from None
        if "<<<<<<<" in text:
            raise UnreadableError(
                f"The file has a merge conflict in it (line {text[: text.index('<<<<<<<')].count(chr(10)) + 1})."
            ) from None
        cut = (
            " The file seems to be cut off."
            if error.pos >= len(text.rstrip()) - 1 or "Unterminated" in error.msg
            else ""
        )
        raise UnreadableError(
            f"The file is not JSON: {error.msg} in line {error.lineno}, column {error.colno}.{cut}"
        ) from None
    except ValueError as error:  # a number of a million digits
        raise UnreadableError(f"The file cannot be read: {error}.") from None
    finally:
        if collecting:
            gc.enable()


def _notebook(document: dict[str, Any], notes: list[str]) -> Notebook:
    form = document.get("nbformat")
    entries = document.get("cells")
    if entries is None and isinstance(document.get("worksheets"), list):
        sheets = [sheet.get("cells") for sheet in document["worksheets"] if isinstance(sheet, dict)]
        entries = [entry for sheet in sheets if isinstance(sheet, list) for entry in sheet]
        notes.append(f"The notebook is in the old format {form}.")
    if not isinstance(entries, list):
        raise UnreadableError("The file is JSON, but not a notebook: it has no cells.")
    if isinstance(form, int) and form > 4:
        notes.append(f"The notebook is in format {form}, which is newer than this grader.")
    if len(entries) > MOST_CELLS:
        raise UnreadableError(f"The notebook has {len(entries):,} cells; at most {MOST_CELLS:,} are read.")
    cells, odd = [], 0
    for entry in entries:
        cell = _cell(entry)
        if cell is None:
            odd += 1
        else:
            cells.append(cell)
    if odd:
        notes.append(
            f"{odd} {'entry' if odd == 1 else 'entries'} in its list of cells {'is' if odd == 1 else 'are'} not what a cell is "
            f"and {'was' if odd == 1 else 'were'} left out."
        )
    size = sum(len(cell.source) for cell in cells)
    if size > MOST_TEXT:
        raise UnreadableError(
            f"The notebook has {size:,} characters of text; at most {MOST_TEXT:,} are read."
        )
    return Notebook(tuple(cells), tuple(notes), _variant(document.get("metadata")))


def _variant(metadata: Any) -> int | None:
    block = metadata.get("autograd_lab") if isinstance(metadata, dict) else None
    named = block.get("variant") if isinstance(block, dict) else None
    return named if type(named) is int and 0 <= named < 10**12 else None


def _cell(entry: Any) -> RawCell | None:
    if not isinstance(entry, dict):
        return None
    source = entry.get("source", entry.get("input"))
    if source is None:
        source = ""
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        ended = len(source) < 2 or any(line.endswith("\n") for line in source[:-1])
        source = ("" if ended else "\n").join(source)
    if not isinstance(source, str):
        return None
    kind = entry.get("cell_type")
    metadata = entry.get("metadata")
    grader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    if not isinstance(grader, dict):
        grader = {}
    return RawCell(
        kind if kind in ("code", "markdown") else "raw" if kind == "raw" else "markdown",
        clean(source.replace("\r\n", "\n").replace("\r", "\n")),
        _word(entry.get("id")),
        _word(grader.get("grade_id")),
        grader.get("solution") is True,
    )


def _word(value: Any) -> str:
    return clean(value) if isinstance(value, str) and len(value) <= 200 else ""


def clean(text: str) -> str:
    """Text that UTF-8 can encode: lone surrogates, which JSON allows, become question marks."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode()
    return text


if __name__ == "__main__":
    sys.exit(main())
