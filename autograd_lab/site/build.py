"""`autograd-lab site DIR`: write the static site into a folder. It needs no network, and the same checkout gives the same bytes."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from autograd_lab.course import build as course

from . import gallery, lab, live, play, pyodide, reading, rulebook, search, start
from .options import Options
from .pages import CannotBuildError, Site

PARTS: dict[str, tuple[str, Callable[[Site, Options], None]]] = {
    start.PATH: ("Start", start.add),
    reading.INDEX: ("Notebooks", reading.add),
    "rules/index.html": ("Rules", rulebook.add),
    gallery.INDEX: ("Gallery", gallery.add),
    play.PAGE: ("Playground", play.add),  # after the parts that make traces of programs
    lab.HOME: ("Lab", lab.add),
}
"""The parts by their first page, such as "rules/index.html": what links call it, and what adds its pages to the site."""


def main(argv: Sequence[str] | None = None) -> int:
    """Write the site; 0 if all is well, 2 with a reason on stderr if not."""
    asked = _parser().parse_args(argv)
    try:
        _earlier(asked.folder)  # before the long work
        options = Options(course.find_root(asked.root), pyodide.of(asked.pyodide, asked.site))
        site = build(options)
        if broken := site.broken_links():
            raise CannotBuildError("links that lead nowhere:\n  " + "\n  ".join(broken))
        for path in _earlier(asked.folder):
            path.unlink(missing_ok=True)
        site.add(MARK, "".join(f"{path}\n" for path in sorted(site.files)))
        site.write(asked.folder)
    except (CannotBuildError, FileNotFoundError, FileExistsError, PermissionError) as problem:
        print(f"autograd-lab site: {problem}", file=sys.stderr)
        return 2
    size = sum(map(len, site.files.values()))
    print(f"{asked.folder}: {len(site.files)} files, {size / 1e6:.1f} MB")
    print(f"To look at it: python -m http.server --directory {asked.folder}")
    return 0


def build(options: Options, only: Collection[str] = PARTS.keys()) -> Site:
    """The site as a dict of files, with all parts or with some, named by their first page."""
    parts = {place: part for place, part in PARTS.items() if place in only}
    site = Site({place: name for place, (name, _) in parts.items()})
    if options.pyodide is None:
        site.lacking.add(play.PAGE)
    if lab.missing(options.pyodide):
        site.lacking.add(lab.HOME)
    site.add_frame()
    live.add_front_end(site)
    for name, add in parts.values():
        began = time.perf_counter()
        add(site, options)
        print(f"{name}: {time.perf_counter() - began:.1f} s", flush=True)
    search.add(site)
    if options.pyodide is not None:
        options.pyodide.finish(site)
        if options.pyodide.compiled:
            print(f"Without bytecode, so that Python begins later: {options.pyodide.compiled}.")
    return site


MARK = ".autograd-lab-site"
"""A file that says that a folder was written by this command, and may be written anew."""


def _earlier(folder: Path) -> list[Path]:
    """The files of an earlier site in the folder. Raises FileExistsError if there is something else in it."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; name a folder for the site")
    if not folder.exists() or not any(folder.iterdir()):
        return []
    if not (folder / MARK).is_file():
        raise FileExistsError(
            f"{folder} holds something that is no site of this command's, and would be lost: name an empty or a new folder"
        )
    return [folder / path for path in (folder / MARK).read_text(encoding="utf-8").splitlines()]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab site",
        description="Write the lab as a static web site, which any host can serve from any folder. Works in a checkout of the project.",
    )
    parser.add_argument(
        "folder", type=Path, metavar="DIR", help="where to; an earlier site there is replaced"
    )
    parser.add_argument(
        "--pyodide",
        metavar="WHERE",
        help="Python for the pages that run programs: a folder with Pyodide, of which the site gets copies, or an address where it stays",
    )
    parser.add_argument(
        "--site", metavar="URL", help="the address that the site will have, if Pyodide is at an address"
    )
    parser.add_argument("--root", type=Path, help="folder that holds notebooks/ (default: here or above)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
