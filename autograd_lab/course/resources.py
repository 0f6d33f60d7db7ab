"""The course's files: where they are, and how a student gets a copy that is never overwritten.

An installed wheel carries the notebooks and exercises inside the package (`autograd_lab/_course/`); an
editable install uses the checkout's own folders. `deliver` copies them into a working folder and keeps a list
there (`.autograd_lab/delivered.json`) of what it delivered, as hashes. On the next run that list tells three
cases apart:

    file in the folder      meaning                       what happens
    the cells as delivered  opened or run, not edited     replaced when a newer version is shipped
    other cells             the student's work            never touched; a newer version goes beside it
    gone                    deleted or renamed            delivered again, so deleting is how to start over
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from autograd_lab.course.contents import exercise_name
from autograd_lab.course.student import FOLDERS, PRIVATE, student_copy

_PACKAGE = Path(__file__).resolve().parents[1]
_NOT_FOR_STUDENTS = {"conftest.py", "__pycache__"}


def course_root() -> Path:
    """The folder that holds `notebooks/` and `exercises/`: the checkout's top, or the package's own copy."""
    checkout = _PACKAGE.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "notebooks").is_dir():
        return checkout
    return _PACKAGE / "_course"


def course_files(root: Path) -> Iterator[Path]:
    """The files a student gets, as paths relative to `root`, in a fixed order.

    A notebook's text source (`NN_name.py` beside `NN_name.ipynb`) stays behind: it is for authors.
    """
    for name in FOLDERS:
        for path in sorted((root / name).rglob("*")):
            relative = path.relative_to(root)
            hidden = any(part.startswith(".") or part in _NOT_FOR_STUDENTS for part in relative.parts)
            source = path.suffix == ".py" and path.with_suffix(".ipynb").exists()
            if path.is_file() and not hidden and not source:
                yield relative


def students_name(file: Path) -> Path:
    """The path that a course file has in a student's folder: an exercise is told apart from its notebook by its name."""
    if file.parts[0] != "exercises" or file.suffix != ".ipynb":
        return file
    return file.with_name(exercise_name(file.stem) + file.suffix)


def _with_students_names(text: str) -> str:
    """A notebook whose links to exercises lead to the files in a student's folder."""
    return re.sub(
        r"(\.\./exercises/|\(exercises/)(\d\d_\w+)(?=\.ipynb)", lambda m: m[1] + exercise_name(m[2]), text
    )


def _at_home(notebook: str) -> str:
    """A notebook with what JupyterLab would note in it when its kernel starts: a file that only was opened is not marked unsaved.

    That is the name of the kernel and the version of this Python, which runs it. The built notebooks have neither.
    """
    content = json.loads(notebook)
    if not note_kernel(content["metadata"]):
        return notebook
    return json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def note_kernel(noted: dict[str, Any]) -> bool:
    """Put into a notebook's metadata what JupyterLab would; False if a version is there, or no kernel is installed."""
    try:
        from ipykernel.ipkernel import IPythonKernel
        from ipykernel.kernelspec import get_kernel_dict
    except ImportError:
        return False
    if "version" in noted.get("language_info", {"version": ""}):
        return False
    noted["language_info"] = dict(IPythonKernel.language_info)
    noted["kernelspec"] = {
        "name": "python3",
        **{key: get_kernel_dict()[key] for key in ("display_name", "language")},
    }
    return True


def _rename(work: Path, old: Path, new: Path, delivered: dict[str, Fingerprint]) -> None:
    """Give a file of an earlier delivery, and what the list says of it, the name that it has now."""
    if old.as_posix() not in delivered or os.path.lexists(work / new) or not (work / old).is_file():
        return
    (work / old).rename(work / new)
    delivered[new.as_posix()] = delivered.pop(old.as_posix())


class Fingerprint(NamedTuple):
    """A file's state, in hashes."""

    exact: str
    work: str
    """Of a notebook's cells alone: opening and running it changes its file, but not this."""


@dataclass
class Delivery:
    """What `deliver` did, file by file, as paths relative to the working folder."""

    new: list[Path] = field(default_factory=list)
    updated: list[Path] = field(default_factory=list)
    restored: list[Path] = field(default_factory=list)
    kept: list[Path] = field(default_factory=list)
    """The student's own, left as they are."""
    beside: list[tuple[Path, Path]] = field(default_factory=list)
    """(the student's file, the newer version that was placed next to it)"""
    lost_list: bool = False
    """The list of deliveries could not be read, so every file that differs was treated as the student's."""
    variant: int | None = None
    """The number of the student's copies (variants.py), if they have one."""


def exercise_copy(path: Path, seed: int | None, *, home: bool = False) -> tuple[bytes, bool]:
    """(an exercise or notebook as a student gets it, whether it has numbers of its own): those of `seed`, if an item in it varies.

    home    for use on this machine: with what JupyterLab would note about its kernel
    """
    text = _with_students_names(student_copy(path.read_text(encoding="utf-8")))
    varies = False
    if seed is not None:
        from autograd_lab.course import items, variants

        book = json.loads(text)
        varies = variants.copy(book, seed, items.shipped())
        text = json.dumps(book, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    return (_at_home(text) if home else text).encode(), varies


def deliver(root: Path, work: Path, variant: int | None = None) -> Delivery:
    """Copy the course from `root` into the folder `work`, never over anything the student wrote.

    variant   the number of the student's own copies; it is kept, and an exercise that is there already keeps its own

    Raises OSError when a file cannot be written; what was delivered until then stays, and is recognized the
    next time.
    """
    list_path = work / PRIVATE / "delivered.json"
    report = Delivery(variant=_variant_in(list_path) if variant is None else variant)
    delivered = _read_list(list_path)
    if delivered is None:
        delivered, report.lost_list = {}, True

    for file in course_files(root):
        relative = students_name(file)
        if file.suffix == ".ipynb":
            seed = report.variant if variant is not None else _variant_in(work / relative, report.variant)
            content, _ = exercise_copy(root / file, seed, home=True)
            newest = content
            if seed != report.variant is not None:
                newest, _ = exercise_copy(root / file, report.variant, home=True)
        else:
            content = newest = (root / file).read_bytes()
        if relative != file:
            _rename(work, file, relative, delivered)
        shipped = fingerprint(relative, content)
        target = work / relative
        key = relative.as_posix()
        last = delivered.get(key)  # None: never delivered here
        linked = target.is_symlink()  # the student's own doing, even if what it leads to is as delivered

        if linked and not target.exists():
            report.kept.append(relative)  # it leads to a disk that is not there now
            continue
        if not target.exists():
            _write(target, content)
            (report.restored if last else report.new).append(relative)
        elif not target.is_file():
            report.kept.append(relative)  # the student has a folder with this name
        else:
            present = fingerprint(relative, target.read_bytes())
            if present.exact == shipped.exact:
                pass
            elif last and present.exact == last.exact and not linked:
                _write(target, content)
                report.updated.append(relative)
            elif present.work == shipped.work:
                pass  # opened or run; there is nothing new for it
            elif last and present.work == last.work and not linked:
                _write(target, content)
                report.updated.append(relative)
            elif last and shipped.work == last.work:
                report.kept.append(relative)
            else:
                shipped = fingerprint(
                    relative, newest
                )  # of the student's number now, whatever that of the older file
                if last and shipped.work == last.work:
                    report.kept.append(relative)
                else:
                    report.beside.append((relative, _put_beside(work, relative, newest, delivered)))
        delivered[key] = shipped

    files = {key: [print_.exact, print_.work] for key, print_ in delivered.items()}
    own = {} if report.variant is None else {"variant": report.variant}
    text = json.dumps({"format": 1, "files": files, **own}, indent=1, sort_keys=True) + "\n"
    _write(list_path, text.encode())
    return report


def fingerprint(path: Path, data: bytes) -> Fingerprint:
    """Two hashes of a file: of its bytes, and of what a student may have written in it."""
    exact = hashlib.sha256(data).hexdigest()
    if path.suffix != ".ipynb":
        return Fingerprint(exact, exact)
    try:
        cells = [
            [cell["cell_type"], "".join(cell["source"]), cell.get("attachments")]
            for cell in json.loads(data)["cells"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):  # not a notebook; then every byte counts
        return Fingerprint(exact, exact)
    return Fingerprint(exact, hashlib.sha256(json.dumps(cells, sort_keys=True).encode()).hexdigest())


def _put_beside(work: Path, relative: Path, content: bytes, delivered: dict[str, Fingerprint]) -> Path:
    """Write "name (new version).ipynb", or "(new version 2)" where the student has edited that one."""
    shipped = fingerprint(relative, content)
    for number in itertools.count(1):
        label = "new version" if number == 1 else f"new version {number}"
        aside = relative.with_name(f"{relative.stem} ({label}){relative.suffix}")
        target = work / aside
        last = delivered.get(aside.as_posix())
        unchanged = {shipped.work, last.work if last else None}
        if target.is_symlink():
            continue
        present = fingerprint(relative, target.read_bytes()).work if target.is_file() else None
        if not target.exists() or present in unchanged:
            if present != shipped.work:  # otherwise it was opened or run
                _write(target, content)
            delivered[aside.as_posix()] = shipped
            break
    return aside


def _read_list(path: Path) -> dict[str, Fingerprint] | None:
    """What was delivered so far; empty on the first run, None where the list is damaged."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    try:
        files = json.loads(data)["files"]
        return {str(key): Fingerprint(str(exact), str(work)) for key, (exact, work) in files.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _variant_in(path: Path, otherwise: int | None = None) -> int | None:
    """The number of the copies that the list of deliveries, or a notebook, names; `otherwise` if none."""
    try:
        data = path.read_bytes()
        named = json.loads(data) if b'"variant"' in data else {}
        named = named.get("metadata", {}).get("autograd_lab", named).get("variant")
    except (OSError, ValueError, AttributeError):
        return otherwise
    return named if type(named) is int and named >= 0 else otherwise


def _write(target: Path, data: bytes) -> None:
    """Write all of `data` or nothing: a full disk or a crash must not leave half a notebook."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=".writing-")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        temporary.chmod(0o644)  # mkstemp makes private files; a notebook gets the usual permissions
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
