"""Opens zip archives of students, of which nothing is believed before it was looked at.

`zipfile` reads the whole directory of an archive when it opens it, and keeps a kilobyte for each entry, so the size of the
directory is looked up first. Members are read by those two methods alone that every system's own tool uses; others unpack too slowly.
"""

from __future__ import annotations

import struct
import zipfile
from typing import IO

from .reading import UnreadableError

MOST_ENTRIES = 2_000
MOST_DIRECTORY = 1_000_000
"""The largest directory that is read, in bytes: that of MOST_ENTRIES files whose names are long."""
_END, _LOCATOR = b"PK\x05\x06", b"PK\x06\x07"
_METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}


def open_archive(opened: IO[bytes], most: int = MOST_ENTRIES) -> zipfile.ZipFile:
    """The archive in an open file. Raises UnreadableError if it holds more than `most` files, zipfile.BadZipFile if it is damaged."""
    entries, size = _directory(opened)
    if entries > most or size > MOST_DIRECTORY // MOST_ENTRIES * most:
        count = f"{entries:,} files" if entries > most else f"a list of files of {size / 1e6:.1f} MB"
        raise UnreadableError(
            f"is a zip archive with {count} in it; at most {most:,} files with names of usual length are looked at"
        )
    opened.seek(0)
    return zipfile.ZipFile(opened)


def read_member(archive: zipfile.ZipFile, member: str | zipfile.ZipInfo, most: int) -> bytes:
    """At most `most` bytes of a member. Raises zipfile.BadZipFile if it is locked, or packed by another method than stored or deflated."""
    info = member if isinstance(member, zipfile.ZipInfo) else archive.getinfo(member)
    if info.flag_bits & 1:
        raise zipfile.BadZipFile("it is locked with a password")
    if info.compress_type not in _METHODS:
        raise zipfile.BadZipFile("it is not packed by the usual method (deflate)")
    with archive.open(info) as opened:
        return opened.read(most)


def _directory(opened: IO[bytes]) -> tuple[int, int]:
    """(number of entries, size in bytes) of an archive's directory, as the end of the file says; the larger one, where it says two."""
    opened.seek(0, 2)
    length = opened.tell()
    tail_at = max(0, length - 66_000)  # a comment of 65,535 bytes may follow
    opened.seek(tail_at)
    tail = opened.read()
    at = len(tail) - 22
    if tail[at : at + 4] != _END or tail[-2:] != b"\0\0":
        at = tail.rfind(_END)
    if at < 0 or len(tail) < at + 22:
        raise zipfile.BadZipFile("File is not a zip file")
    entries, size = struct.unpack("<HL", tail[at + 10 : at + 16])
    locator = tail[at - 20 : at] if at >= 20 else b""
    if locator.startswith(_LOCATOR):
        (place,) = struct.unpack("<Q", locator[8:16])
        for where in (place, tail_at + at - 76):  # what is written there, and where zipfile looks
            if 0 <= where <= length - 56:
                opened.seek(where)
                record = opened.read(56)
                more, larger = struct.unpack("<QQ", record[32:48])
                if record.startswith(b"PK\x06\x06"):
                    entries, size = max(entries, more), max(size, larger)
    return entries, size
