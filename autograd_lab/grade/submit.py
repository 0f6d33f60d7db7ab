"""The command `autograd-lab submit`, for students: packs exercises into the layout that the grader reads. It changes and overwrites nothing.

    autograd-lab submit 04 05                   jane.zip, to upload
    autograd-lab submit 04 --to /class/inbox    /class/inbox/jane/exercise_04_....ipynb

It says what it packed, when that was saved, and which items are still as they were handed out.
"""

from __future__ import annotations

import argparse
import ast
import getpass
import io
import os
import re
import secrets
import sys
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path

from autograd_lab.course.contents import PREFIX, exercise_name
from autograd_lab.course.items import shipped
from autograd_lab.course.resources import course_root

from . import merge
from .archives import MOST_ENTRIES
from .beside import MOST_BYTES as MOST_BESIDE
from .model import CannotGradeError, Cell, Job
from .reading import UnreadableError, read
from .submissions import MOST_BYTES, File, Shelf, copied, load, show, skipped

DEFAULT_DIR = "~/autograd-lab-work"


@dataclass
class Packed:
    """A notebook to hand in."""

    path: Path
    book: merge.Released
    job: Job
    beside: list[Path] = field(default_factory=list)
    """The modules and data that it names, relative to its folder."""

    @property
    def untouched(self) -> list[str]:
        """The items whose answers are as they were handed out."""
        touched = {
            cell.item
            for cell in self.job.cells
            if cell.role == "answer" and not cell.untouched and not _is_stub(cell)
        }
        return [item for item in self.book.items if item not in touched]


def _is_stub(cell: Cell) -> bool:
    """Whether an answer does what was handed out, now or with an earlier version, whatever its comments say."""
    item = shipped().get(cell.item)
    tree = merge.parsed(cell.source)
    stubs = map(merge.parsed, item.stubs) if item else ()
    return tree is not None and any(one is not None and ast.dump(one) == ast.dump(tree) for one in stubs)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; the exit status: 0 packed, 2 not possible."""
    options = _parser().parse_args(argv)
    try:
        return _submit(options)
    except CannotGradeError as problem:
        print(f"autograd-lab submit: {problem}", file=sys.stderr)
        return 2


@cache
def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="autograd-lab submit",
        description="Pack your exercises to hand them in: a zip archive to upload, or files in your instructor's folder.\n"
        "Save your notebooks first. Nothing is changed or overwritten.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "notebooks", nargs="*", metavar="04", help="numbers or files (default: all that you have begun)"
    )
    parser.add_argument(
        "--dir", type=Path, metavar="FOLDER", help=f"your working folder (default: here, or {DEFAULT_DIR})"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="your name, as your class knows you (default: your login name)"
    )
    parser.add_argument(
        "--to", type=Path, metavar="FOLDER", help="copy into this folder instead of a zip archive"
    )
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FILE",
        help="the zip archive to write, or its folder (default: NAME.zip here)",
    )
    return parser


def _submit(options: argparse.Namespace) -> int:
    name = _name(options.name)
    if options.to and options.out:
        raise CannotGradeError(
            "It cannot go to two places.", "both --to and --out are given.", "leave one out"
        )
    folder = _folder(options.dir)
    groups = list(_choose(folder, options.notebooks))
    chosen = [one for paths in groups for one in _begun(paths, several=len(groups) > 1)]
    if not options.notebooks:
        chosen = [one for one in chosen if len(one.untouched) < len(one.book.items)]
    if not chosen:
        raise CannotGradeError(
            "There is nothing to hand in.",
            f"every exercise in {folder} is as it was handed out.",
            "save your notebooks in JupyterLab first; or name the exercise to hand in as it is: autograd-lab submit 04",
        )
    twice = {one.book.name for one in chosen if [other.book for other in chosen].count(one.book) > 1}
    if twice:
        files = ", ".join(one.path.name for one in chosen if one.book.name in twice)
        raise CannotGradeError(
            f"There are several files for {', '.join(sorted(twice))}.",
            f"they are {files}.",
            "name the one to hand in",
        )
    try:
        target = (
            _copy_to(options.to, name, chosen) if options.to else _pack(_archive(options.out, name), chosen)
        )
    except OSError as error:
        about = f" ({error.filename2 or error.filename})" if error.filename else ""
        raise CannotGradeError(
            "Your work was not handed in: it could not be written.",
            f"the system says: {(error.strerror or str(error)).lower()}{about}. What was there before is as it was.",
            "choose another place: --to FOLDER or --out FILE.zip",
        ) from error
    _say(chosen, target, name, bool(options.name))
    return 0


def _name(given: str | None) -> str:
    own = given
    if own is None:
        with suppress(OSError, KeyError, ImportError):
            own = getpass.getuser()
    name = (own or "").strip()
    if (
        not name
        or re.search(r'[/\\:*?"<>|\x00-\x1f]', name)
        or name.startswith(".")
        or len(os.fsencode(name)) > 200
    ):
        raise CannotGradeError(
            f"{own!r} cannot be the name of your submission." if name else "Whose work is it?",
            "it becomes the name of a file."
            if name
            else "the name given is empty."
            if given is not None
            else "this system does not tell your login name.",
            "give the name or the number under which your class knows you: --name NAME",
        )
    return name


def _folder(given: Path | None) -> Path:
    """The folder with the exercises: of the working folder that was given, of the one we are in, or of the usual one."""
    here = Path.cwd()
    tried = [given.expanduser()] if given else [here, *here.parents, Path(DEFAULT_DIR).expanduser()]
    for place in tried:
        for folder in (place / "exercises", place):
            if any(folder.glob(f"{PREFIX}*.ipynb")):
                return folder
    raise CannotGradeError(
        f"There are no exercises in {given or here}.",
        f"no file there is called {PREFIX}04_... .ipynb.",
        "run this in your working folder, or name it: --dir FOLDER",
    )


@cache
def _books() -> dict[str, merge.Released]:
    found = map(merge.released, sorted((course_root() / "exercises").glob("*.ipynb")))
    return {book.name: book for book in found if book.items}


@cache
def _shelf() -> Shelf:
    return merge.shelf(_books().values())


def _choose(folder: Path, words: Sequence[str]) -> Iterator[list[Path]]:
    """The files meant by "04", its copies behind it, or by a path."""
    named = [(path, _shelf().by_name(File(path, path.name))) for path in sorted(folder.glob("*.ipynb"))]
    if not words:
        for path, book in named:
            if book:
                yield [path]
            elif not skipped(path.name):
                print(f"Not packed: {show(path.name)}, whose name is no exercise's. To hand it in, name it.")
        return
    for word in words:
        path = Path(word).expanduser()
        if path.suffix == ".ipynb":
            found = [one for one in (path, folder / path) if one.is_file()][:1]
        else:
            names = [
                book.name
                for book in _books().values()
                if word in (book.number, book.name, exercise_name(book.name))
            ]
            found = [path for path, book in named if book in names and path.is_file()]
            found.sort(key=lambda one: one.stem != exercise_name(names[0]))
        if not found:
            there = ", ".join(sorted({book.number for book in _books().values()}))
            raise CannotGradeError(
                f"There is no exercise {word!r} in {folder}.",
                "neither a file nor an exercise there has this name or number.",
                f"the course has {there}; or name the file",
            )
        yield found


def _begun(paths: Sequence[Path], several: bool) -> list[Packed]:
    """Of an exercise and its copies those that were begun, or the exercise if none was; a copy that cannot be read is none."""
    found: list[Packed] = []
    for number, path in enumerate(paths, start=1):
        try:
            found.append(_load(path, several))
        except CannotGradeError:
            if not copied(path.stem)[1] or (number == len(paths) and not found):
                raise
            print(f"Not packed: {show(path.name)}, which cannot be read.")
    begun = [one for one in found if len(one.untouched) < len(one.book.items)]
    return begun or found[:1]


def _load(path: Path, several: bool) -> Packed:
    try:
        handed = read(load(File(path, path.name)))
    except UnreadableError as error:
        others = "; or name the others: autograd-lab submit 04 05" if several else ""
        raise CannotGradeError(
            f"{path.name} cannot be packed, so nothing was.",
            f"{error}",
            f"open it in JupyterLab, save it, and try again{others}",
        ) from error
    name = _shelf().by_content(handed) or _shelf().by_name(File(path, path.name))
    if not name:
        raise CannotGradeError(
            f"{path.name} is no exercise of the course.",
            "none of the questions is in it.",
            "name an exercise: autograd-lab submit 04",
        )
    book = _books()[name]
    made = Packed(path, book, merge.merge(book, handed))
    made.beside = sorted(_beside(made))
    return made


def _beside(one: Packed) -> Iterator[Path]:
    """The files of the notebook's folder that its own cells import or name, and those that these import or name in turn."""
    home = one.path.parent
    waiting = [(cell.source, cell.role in ("answer", "extra")) for cell in one.job.cells]
    seen: set[Path] = set()
    for source, own in waiting:  # it grows
        names = _named_in(source) if own else set()
        for path in sorted({*_modules(home, source), *(Path(name) for name in names)}):
            if path in seen or not _is_there(home, path):
                continue
            seen.add(path)
            yield path
            if path.suffix == ".py":
                with suppress(OSError, ValueError):
                    waiting.append(((home / path).read_text(encoding="utf-8"), True))


def _is_there(home: Path, path: Path) -> bool:
    """Whether it is a file in the folder that the grader would read beside a notebook."""
    inside = not path.is_absolute() and ".." not in path.parts and not any(map(skipped, path.parts))
    with suppress(OSError, ValueError):  # any text of a program may be asked for
        return inside and path.suffix != ".ipynb" and (home / path).is_file()
    return False


def _named_in(source: str) -> set[str]:
    """What may be the name of a file in a program: its texts, and words such as those behind a magic."""
    words = set(re.findall(r"[^\s'\"()\[\],=]+\.\w{1,8}\b", source))
    tree = merge.parsed(source)
    texts = (
        node.value
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return words | {text for text in texts if text and "." in text and len(text) < 200}


def _modules(home: Path, source: str) -> Iterator[Path]:
    """The files of the modules and packages that a program imports, if they are in the folder."""
    tree = merge.parsed(source)
    modules = set()
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
    for name in modules:
        if (home / f"{name}.py").is_file():
            yield Path(f"{name}.py")
        elif (home / name).is_dir():
            yield from (path.relative_to(home) for path in sorted((home / name).rglob("*.py"))[:MOST_ENTRIES])


def _files(chosen: Sequence[Packed]) -> dict[str, Path]:
    """{name in the submission: the file}."""
    files: dict[str, Path] = {}
    for one in chosen:
        files[_name_of(one)] = one.path
        for path in one.beside:
            name, source = path.as_posix(), one.path.parent / path
            other = files.setdefault(name, source)
            if other.resolve() != source.resolve() and other.read_bytes() != source.read_bytes():
                raise CannotGradeError(
                    f"There are two files {name}.",
                    f"they are {other} and {source}, and your notebooks need both.",
                    "hand in one notebook at a time, or give one of the files a new name, also in the notebook",
                )
    return files


def _name_of(one: Packed) -> str:
    """The exercise's own name: under another the grader would take it for less than an older file with this one."""
    return f"{exercise_name(one.book.name)}.ipynb"


def _archive(given: Path | None, name: str) -> Path:
    """The archive to write: in the folder that was given, if it is one."""
    target = (given or Path(f"{name}.zip")).expanduser()
    if target.is_dir():
        return target / f"{name}.zip"
    return target if target.suffix.lower() == ".zip" else target.with_name(target.name + ".zip")


def _pack(target: Path, chosen: Sequence[Packed]) -> Path:
    """Write the archive, under another name if there is one already."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in _files(chosen).items():
            info = zipfile.ZipInfo(name, max(time.localtime(path.stat().st_mtime)[:6], (1980, 1, 1, 0, 0, 0)))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, path.read_bytes())
    (target,) = _put({target: made.getvalue()})
    return target


def _copy_to(folder: Path, name: str, chosen: Sequence[Packed]) -> Path:
    """Copy into the student's folder there, under another name if there is such a file already. The grader takes the newest."""
    folder = folder.expanduser()
    if not folder.is_dir():
        raise CannotGradeError(
            f"There is no folder {folder}.",
            "it has to be there before you hand in.",
            "check its name: --to FOLDER",
        )
    home = folder / name
    new: dict[Path, bytes] = {}
    for inside, path in _files(chosen).items():
        wanted, data = home / inside, path.read_bytes()
        last = _last(wanted)
        if last.is_file() and last.read_bytes() == data:
            continue
        if path.suffix != ".ipynb" and wanted.exists():
            raise CannotGradeError(
                f"{wanted} was handed in before, and is different now.",
                "your notebook reads it, and a copy under another name would not be found.",
                "give the file a new name, also in the notebook",
            )
        new[wanted] = data
    _put(new)
    return home


def _put(new: Mapping[Path, bytes]) -> list[Path]:
    """Write all of these files or none, each under another name if there is such a file already; returns where they are.

    What is half written, on a full disk or by a command that is ended, would count as the newest submission.
    """
    written: list[Path] = []
    with ExitStack() as stack:
        for wanted, data in new.items():
            wanted.parent.mkdir(parents=True, exist_ok=True)
            temporary = wanted.with_name(f".{secrets.token_hex(8)}")  # the grader passes over such names
            stack.callback(temporary.unlink, missing_ok=True)
            temporary.write_bytes(data)
            written.append(temporary)
        return [_named(one, wanted) for one, wanted in zip(written, new, strict=True)]


def _last(wanted: Path) -> Path:
    """Of a file and its copies the last."""
    last = wanted
    for target in _names(wanted):
        if not target.exists():
            return last
        last = target
    return last


def _names(wanted: Path) -> Iterator[Path]:
    """A file's name, then those of its copies."""
    yield wanted
    yield from (wanted.with_name(f"{wanted.stem} ({number}){wanted.suffix}") for number in count(1))


def _named(temporary: Path, wanted: Path) -> Path:
    """Give a file its name, or that of a copy if there is such a file already."""
    for target in _names(wanted):
        try:
            try:
                os.link(temporary, target)
            except FileExistsError:
                raise
            except OSError:  # a file system without hard links
                target.open("xb").close()
                temporary.replace(target)
        except FileExistsError:
            continue
        return target
    raise AssertionError("there is no end of names")


def _say(chosen: Sequence[Packed], target: Path, name: str, named: bool) -> None:
    titles = {item.id: item for item in shipped().values()}
    for one in chosen:
        saved = time.strftime("%Y-%m-%d %H:%M", time.localtime(one.path.stat().st_mtime))
        of = len(one.book.items)
        done = of - len(one.untouched)
        print(f"{show(one.path.name)}, saved {saved}: {done} of {of} items answered.")
        if one.path.name != _name_of(one):
            print(f"  handed in as {_name_of(one)}")
        if one.untouched:
            worth = sum(titles[item].points for item in one.untouched if item in titles)
            print(f"  still as handed out: {', '.join(one.untouched)} ({worth:g} points)")
        for path in one.beside:
            print(f"  with {path.as_posix()}, which it uses")
        for note in one.job.notes:
            print(f"  note: {note}")
        size = one.path.stat().st_size + sum((one.path.parent / path).stat().st_size for path in one.beside)
        if size > MOST_BYTES or size - one.path.stat().st_size > MOST_BESIDE:
            print(
                f"  note: {size / 1e6:.0f} MB is more than the grader reads. Clear the outputs, and save it again."
            )
    print(f"Packed as {target}." if target.suffix == ".zip" else f"Handed in: {target}.")
    if target.suffix == ".zip" and not named:
        print(f"It is called after your login name, {name}; --name NAME gives it another.")
