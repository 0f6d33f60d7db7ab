"""Files with answers, packed in a wheel so that nobody reads them by accident.

A checkout has them as they are. The build hook (wheel.py) packs them, since a search for a word of the course, or a click on a file, would otherwise
show a student the answer to the exercise that is open. It is no secret, and meant to be none: whoever looks for the answers
finds them with the function below. Grades rest on the hidden cases, which no wheel has.
"""

from __future__ import annotations

import base64
import textwrap
import zlib
from collections.abc import Iterator
from pathlib import Path

SUFFIX = ".packed"
FOLDERS = {"items": ".json", "predictions": ".txt"}
"""The folders beside this file that hold answers, and the suffix of the files in them."""
_HEAD = "Answers to the course, packed: base 64 of zlib of UTF-8.\n"


def pack(text: str) -> str:
    """The text of a packed file."""
    packed = base64.b64encode(zlib.compress(text.encode(), 9)).decode()
    return _HEAD + textwrap.fill(packed, 120) + "\n"


def unpack(text: str) -> str:
    """What was packed. Raises ValueError if it is damaged."""
    try:
        return zlib.decompress(base64.b64decode(text.removeprefix(_HEAD))).decode()
    except zlib.error as error:
        raise ValueError(f"damaged: {error}; install autograd_lab again") from error


def texts(folder: Path, suffix: str) -> Iterator[tuple[str, str]]:
    """(stem, text) of all files of a folder, in the order of their names, packed or not."""
    for path in sorted(folder.iterdir() if folder.is_dir() else ()):
        if path.suffix == suffix:
            yield path.stem, path.read_text(encoding="utf-8")
        elif path.name.endswith(suffix + SUFFIX):
            yield path.name.removesuffix(suffix + SUFFIX), unpack(path.read_text(encoding="utf-8"))


def text_of(folder: Path, stem: str, suffix: str) -> str:
    """The text of one file, packed or not; "" if there is none."""
    path = folder / f"{stem}{suffix}"
    if path.is_file():
        return path.read_text(encoding="utf-8")
    packed = folder / f"{stem}{suffix}{SUFFIX}"
    return unpack(packed.read_text(encoding="utf-8")) if packed.is_file() else ""
