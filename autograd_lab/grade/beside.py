"""Files handed in beside a notebook: modules that it imports, data that it reads. They are put into its folder when it runs.

They are as untrusted as the notebook: links are not followed, and their number and size are bounded.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from .archives import MOST_ENTRIES, open_archive, read_member
from .reading import UnreadableError
from .submissions import DEEPEST, TIMESTAMP, File, load, open_file, show, skipped

MOST_FILES = 100
MOST_BYTES = 8_000_000
"""Their maximum total size."""


def beside(file: File) -> tuple[dict[str, bytes], str]:
    """The files handed in beside a notebook, by their paths from its folder; and a sentence about those that were left out, or "".

    A notebook directly among the students' folders has none: the files beside it belong to others.
    """
    taken: dict[str, bytes] = {}
    left_out: list[str] = []
    room = MOST_BYTES
    with ExitStack() as archives:
        for name, read_at_most in sorted(_neighbors(file, archives), key=lambda pair: pair[0]):
            data = read_at_most(room + 1) if len(taken) < MOST_FILES else None
            if data is None or len(data) > room:
                left_out.append(name)
            else:
                taken[name] = data
                room -= len(data)
    if not left_out:
        return taken, ""
    names = ", ".join(left_out[:3]) + (" ..." if len(left_out) > 3 else "")
    return taken, (
        f"Of the files beside {file.name} {len(left_out)} could not be taken ({names}): at most {MOST_FILES} that can be read are, "
        f"of {MOST_BYTES / 1e6:g} MB together."
    )


def _neighbors(file: File, archives: ExitStack) -> Iterator[tuple[str, Callable[[int], bytes | None]]]:
    """Each file beside a notebook: its relative path, and a function that reads at most n of its bytes (None if it cannot be read)."""
    if file.member:
        folder = file.member[: file.member.rfind("/") + 1]
        try:
            archive = open_archive(archives.enter_context(open_file(file.path)))
        except (OSError, UnreadableError, zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError):
            return  # problems with the archive are reported for the notebook in it
        for info in archive.infolist():
            name = info.filename.removeprefix(folder)
            if info.filename.startswith(folder) and not info.is_dir() and _is_helper(name):
                yield show(name), partial(_read_member, archive, info)
    elif not file.alone:
        left = MOST_ENTRIES
        places = [(file.path.parent, 0)]
        while places:
            place, depth = places.pop()
            for entry in os.scandir(place):
                left -= 1
                if left < 0:
                    return
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    if depth < DEEPEST and not skipped(entry.name):
                        places.append((path, depth + 1))
                elif entry.is_file(follow_symlinks=False):
                    name = path.relative_to(file.path.parent).as_posix()
                    if _is_helper(name):
                        yield show(name), partial(_read_file, path)


def _is_helper(name: str) -> bool:
    parts = name.split("/")
    inside = not any(skipped(part) or part in ("", "..") for part in parts) and "\\" not in name
    return inside and parts[-1] != TIMESTAMP and not parts[-1].lower().endswith((".ipynb", ".zip"))


def _read_file(path: Path, most: int) -> bytes | None:
    try:
        return load(File(path, path.name), most)
    except UnreadableError:
        return None


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes | None:
    try:
        return read_member(archive, info, most)
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError, ValueError):
        return None
