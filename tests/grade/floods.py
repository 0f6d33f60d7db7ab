"""Archives, folders and files that cost a reader far more than they cost their sender.

`floods()` gives {name: function that hands it in}: each writes into a student's folder, in a second or two. They combine containers
(a folder, an archive, archives that say what is not so) with contents (many files, long ones, JSON that becomes a million objects).
"""

from __future__ import annotations

import io
import json
import os
import random
import struct
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from classroom import BOOK

NAME = BOOK + ".ipynb"
MB = 1_000_000
EMPTY = b'{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}'

CONTENTS: dict[str, Callable[[], bytes]] = {
    "lists": lambda: b'{"cells": [' + b"[]," * (16 * MB) + b"[]]}",
    "dicts": lambda: b'{"cells": [' + b'{"a":{}},' * (5 * MB) + b"{}]}",
    "numbers": lambda: b'{"cells": [' + b"1e3," * (12 * MB) + b"1]}",
    "texts": lambda: b'{"cells": [' + b'"a",' * (12 * MB) + b'""]}',
    "cells": lambda: b'{"cells": [' + b'{"cell_type":"code","source":[]},' * (MB + MB // 3) + b"{}]}",
    "one long list of lines": lambda: b'{"cells": [{"cell_type": "code", "source": [' + b'"",' * (16 * MB) + b'""]}]}',
    "keys": lambda: b'{"cells": [], "metadata": {' + b",".join(b'"%d":0' % i for i in range(2 * MB)) + b"}}",
    "depth": lambda: b'{"cells": ' + b"[" * (24 * MB) + b"]" * (24 * MB) + b"}",
    "one number": lambda: b'{"cells": [], "metadata": ' + b"9" * (49 * MB) + b"}",
    "one emoji in a long text": lambda: b'{"cells": [{"source": "' + "\N{SNAKE}".encode() + b"a" * (49 * MB) + b'"}]}',
    "escapes": lambda: b'{"cells": [{"source": "' + b"\\ud83d\\udc0d" * (4 * MB) + b'"}]}',
    "blanks": lambda: b" " * (49 * MB),
    "no JSON": lambda: b"{" + bytes(random.Random(0).randbytes(1000)) * 49_000,
    "UTF-32": lambda: ('{"cells": [' + "[]," * (4 * MB) + "[]]}").encode("utf-32"),
    "UTF-16 without a mark": lambda: ('{"cells": [' + "[]," * (8 * MB) + "[]]}").encode("utf-16-le"),
    "cut off": lambda: b'{"cells": [' + b'{"source": ["' + b'a","' * (12 * MB),
    "a merge conflict": lambda: b'{"cells": [\n' + b"\n<<<<<<<" * (6 * MB),
    "fewer lists": lambda: b'{"cells": [' + b"[]," * (3 * MB + MB // 2) + b"[]]}",
    "quotes": lambda: b'{"cells": "' + b'\\"' * (24 * MB) + b'"}',
}  # fmt: skip


def archive(members: Iterable[tuple[str, bytes]], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """What zipfile writes, but contents that come again are packed once: packing takes nearly all of the time."""
    out, directory, members = io.BytesIO(), io.BytesIO(), list(members)
    packed: dict[int, tuple[bytes, bytes, bytes, bytes]] = {}
    for name, data in members:
        if id(data) not in packed:
            one = io.BytesIO()
            with zipfile.ZipFile(one, "w", method) as made:
                made.writestr("_", data, compresslevel=1)
                (info,) = made.infolist()
                body = one.getvalue()[31:]
            begins = struct.pack("<5H", 46, info.flag_bits, method, 0, 33)
            sizes = struct.pack("<3L", info.CRC, len(body), len(data))
            packed[id(data)] = (
                data,
                begins,
                sizes,
                body,
            )  # with the data: while it is there nothing else has its id
        _, begins, sizes, body = packed[id(data)]
        told = begins + sizes + struct.pack("<2H", len(name), 0)
        end = struct.pack("<3H2L", 0, 0, 0, 0o600 << 16, out.tell())
        directory.write(b"PK\x01\x02" + struct.pack("<H", 46) + told + end + name.encode())
        out.write(b"PK\x03\x04" + told + name.encode() + body)
    last = struct.pack(
        "<4s4H2LH", b"PK\x05\x06", 0, 0, len(members), len(members), directory.tell(), out.tell(), 0
    )
    return out.getvalue() + directory.getvalue() + last


def lying(entries: int, size: int, directory: bytes = b"") -> bytes:
    """An archive whose end says that it has so many entries in a directory of that size, in the form for large ones."""
    end64 = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, size, 4)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, 4 + len(directory), 1)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 46, 4, 0)
    return b"PK\x03\x04" + directory + end64 + locator + end


def entry(name: bytes, extra: bytes = b"", comment: bytes = b"") -> bytes:
    head = struct.pack(
        "<4s4B4HL2L5H2L",
        b"PK\x01\x02",
        20,
        0,
        20,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        len(name),
        len(extra),
        len(comment),
        0,
        0,
        0,
        0,
    )
    return head + name + extra + comment


def floods() -> dict[str, Callable[[Path], None]]:
    made: dict[str, Callable[[Path], None]] = {}

    def notebook(data: Callable[[], bytes], name: str = NAME) -> Callable[[Path], None]:
        return lambda home: (home / name).write_bytes(data()) and None

    for i, (what, content) in enumerate(CONTENTS.items()):
        if i % 3 == 0:  # the container makes no difference to them: each content in one of the three
            made[f"notebook of {what}"] = notebook(content)
        elif i % 3 == 1:
            made[f"archive with a notebook of {what}"] = notebook(
                lambda c=content: archive(iter([(NAME, c())]))
            )
        else:
            made[f"many files of {what}"] = _several(content)
    for what, number, size in (("empty", 30_000, 0), ("small", 1_900, 20_000), ("long", 12, 49 * MB)):
        made[f"archive of {number} {what} notebooks"] = notebook(
            lambda n=number, s=size: archive(_same("{:05}.ipynb", n, EMPTY + b" " * s)), "all.zip"
        )
        made[f"folder of {number} {what} notebooks"] = _folder(number, size)
        made[f"archive of {number} {what} notebooks of one name"] = notebook(
            lambda n=number, s=size: archive(_same("{}/" + NAME, n, EMPTY + b" " * s)), "all.zip"
        )
    for title, method in (("bzip2", zipfile.ZIP_BZIP2), ("LZMA", zipfile.ZIP_LZMA)):
        made[f"archive packed with {title}"] = notebook(
            lambda m=method: archive(_same("{}.ipynb", 3, b"\0" * (49 * MB)), m), "all.zip"
        )
    made["archive of archives"] = notebook(
        lambda: archive(_same("{}.zip", 1_000, archive(_same("{}.ipynb", 50, EMPTY)))), "all.zip"
    )
    made["many archives"] = _archives
    made["many files of short lists"] = lambda home: (
        _linked(  # each is read here, not in a process of its own
            home, b'{"cells": [' + b"[]," * 480_000 + b"[]]}", 20, "{}.ipynb"
        )
    )
    for what, packed in (
        ("cut off", lambda: archive([(NAME, EMPTY)])[:-30]),
        ("behind something else", lambda: b"#!/bin/sh\n" + archive([(NAME, EMPTY)])),
        ("of another kind", lambda: b"\x1f\x8b\x08" + bytes(1000)),
    ):
        made[f"archive {what}"] = notebook(packed, "all.zip")
    made["archive that is a tar"] = notebook(lambda: bytes(20_480), "all.tar")
    short = entry(b"a.ipynb")
    made["archive with long names"] = notebook(lambda: _of_entries(300, 300, _long), "all.zip")
    made["archive with a long directory"] = notebook(
        lambda: _of_entries(500_000, 500_000, lambda _: short), "all.zip"
    )
    made["archive that hides its directory"] = notebook(
        lambda: _of_entries(1, 500_000, lambda _: short), "all.zip"
    )
    made["archive that says a lot"] = notebook(lambda: lying(2**63, 2**62), "all.zip")
    made["folders in folders"] = _deep
    made["folders side by side"] = lambda home: [(home / f"{i:05}").mkdir() for i in range(20_000)] and None
    return made


def _same(name: str, number: int, body: bytes) -> Iterator[tuple[str, bytes]]:
    """Members with the same content."""
    return ((name.format(i), body) for i in range(number))


def _long(i: int) -> bytes:
    return entry(b"%060000d.ipynb" % i, b"x" * 60_000, b"y" * 60_000)


def _of_entries(said: int, number: int, one: Callable[[int], bytes]) -> bytes:
    directory = b"".join(map(one, range(number)))
    return lying(said, len(directory), directory)


def _several(content: Callable[[], bytes]) -> Callable[[Path], None]:
    return lambda home: _linked(home, content(), 5, "{}.ipynb")


def _folder(number: int, size: int) -> Callable[[Path], None]:
    return lambda home: _linked(home, EMPTY + b" " * size, number, "{:05}.ipynb")


def _archives(home: Path) -> None:
    _linked(home, archive(_same("{}.ipynb", 200, EMPTY)), 300, "{}.zip")


def _linked(home: Path, body: bytes, number: int, name: str) -> None:
    """Files with the same content, which is written once."""
    first = home / name.format(0)
    first.write_bytes(body)
    for i in range(1, number):
        os.link(first, home / name.format(i))


def _deep(home: Path) -> None:
    for _ in range(300):
        home /= "d"
        home.mkdir()
    (home / NAME).write_text(json.dumps({"cells": []}))
