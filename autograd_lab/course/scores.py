"""`lab.progress()`: the student's points, stored in `.autograd_lab/progress.json` in the student's folder."""

from __future__ import annotations

import json
import os
from html import escape
from pathlib import Path
from typing import Any

from .contents import TITLES, exercise_file, title
from .items import Item, Verdict, shipped
from .student import PRIVATE, is_source_checkout

ENVIRONMENT = "AUTOGRAD_LAB_PROGRESS"
_session: dict[str, dict[str, Any]] = {}


def place() -> Path | None:
    """The path of the progress file, None if there is none.

    The environment variable AUTOGRAD_LAB_PROGRESS sets it ("off" for none); otherwise it is in the `.autograd_lab` folder here or
    above. A checkout of the project has none, because students' files do not belong there.
    """
    wanted = os.environ.get(ENVIRONMENT)
    if wanted:
        return None if wanted == "off" else Path(wanted)
    here = Path.cwd()
    if is_source_checkout(here):
        return None
    for folder in (here, *here.parents):
        if (folder / PRIVATE).is_dir():
            return folder / PRIVATE / "progress.json"
    return here / PRIVATE / "progress.json"


def load() -> dict[str, dict[str, Any]]:
    """{item id: {"state", "score", "tries"}}; a file that cannot be read is set aside, not overwritten."""
    path = place()
    if path is None or not path.is_file():
        return dict(_session)
    try:
        items = json.loads(path.read_text(encoding="utf-8"))["items"]
        return dict(items) | {key: best(items.get(key), record) for key, record in _session.items()}
    except (ValueError, KeyError, TypeError, AttributeError):
        path.replace(path.with_name("progress-unreadable.json"))
        return dict(_session)


def note(verdict: Verdict) -> None:
    """Store a verdict; points once earned are kept. If the folder is not writable, they are kept for the session only."""
    if verdict.state == "not attempted":
        return
    known = load()
    before = known.get(verdict.item.id)
    record = best(before, {"state": verdict.state, "score": verdict.score, "tries": 0})
    record["tries"] = (before or {}).get("tries", 0) + 1
    known[verdict.item.id] = _session[verdict.item.id] = record
    path = place()
    if path is None:
        return
    import tempfile  # and with it shutil, random, bz2, lzma: not before there are points to store

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False, encoding="utf-8") as file:
            json.dump(
                {"format": "autograd-lab-progress", "version": 1, "items": known},
                file,
                indent=1,
                sort_keys=True,
            )
        Path(file.name).replace(path)
    except OSError:
        return  # _session still knows


def best(a: dict[str, Any] | None, b: dict[str, Any]) -> dict[str, Any]:
    """The better of two records of one item."""
    if a is None or (b["state"] == "passed") > (a["state"] == "passed"):
        return dict(b)
    return dict(a) if a["state"] == "passed" or a["score"] >= b["score"] else dict(b)


class Progress:
    """A table: points and items per notebook, and which item comes next."""

    def __init__(self, known: dict[str, dict[str, Any]]) -> None:
        self.rows: list[tuple[str, float, float, int, int]] = []
        """(notebook, points earned, points that can be earned here, items passed, items)."""
        self.later: dict[str, float] = {}
        """{notebook: the points that hidden cases decide, at grading}."""
        self.next: Item | None = None
        """The first item that is not passed."""
        notebooks: dict[str, list[Item]] = {}
        for item in shipped().values():
            notebooks.setdefault(item.id.split(".")[0], []).append(item)
        for name, items in sorted(notebooks.items()):
            records = [known.get(item.id) for item in items]
            earned = sum(record["score"] for record in records if record)
            passed = sum(record["state"] == "passed" for record in records if record)
            self.later[name] = sum(item.hidden_points for item in items)
            most = sum(item.points for item in items) - self.later[name]
            self.rows.append((name, earned, most, passed, len(items)))
            open_ = (
                i
                for i, record in zip(items, records, strict=True)
                if not record or record["state"] != "passed"
            )
            self.next = self.next or next(open_, None)

    @property
    def points(self) -> tuple[float, float]:
        """(earned, of), without the points that are decided at grading."""
        return sum(row[1] for row in self.rows), sum(row[2] for row in self.rows)

    @property
    def total(self) -> float:
        """The points of all items, those that are decided at grading included: the number in the course's table."""
        return self.points[1] + sum(self.later.values())

    def _worth(self, most: float, later: float) -> str:
        return f"of {most:g} points" + (f", {later:g} more at grading" if later else "")

    def _all(self) -> str:
        earned, most = self.points
        later = sum(self.later.values())
        return f"{earned:g} {self._worth(most, later)}" + (f": {self.total:g} in all" if later else "")

    def _next(self) -> tuple[str, str]:
        """(what comes next, the file that it is in)."""
        if self.next is None:
            return "Every item is passed.", ""
        name = self.next.id.split(".")[0]
        return f"Next: {self.next.id} {self.next.title}".rstrip(), exercise_file(
            name
        ) if name in TITLES else ""

    def __repr__(self) -> str:
        width = max((len(title(row[0])) for row in self.rows), default=0)
        lines = [
            f"{name}  {title(name):{width}}  {passed} of {of} items  {earned:>4g} {self._worth(most, self.later[name])}"
            for name, earned, most, passed, of in self.rows
        ]
        says, file = self._next()
        return "\n".join([*lines, f"all {self._all()}", says + (f", in {file}" if file else "")])

    def _repr_html_(self) -> str:
        def bar(earned: float, most: float) -> str:
            return f'<progress value="{earned:g}" max="{most:g}">{earned:g} of {most:g}</progress>'

        rows = "".join(
            f"<tr><th scope='row' style='text-align:left'>{name} {escape(title(name))}</th><td>{passed} of {of}</td>"
            f"<td>{bar(earned, most)}</td><td style='text-align:left'>{earned:g} {self._worth(most, self.later[name])}</td></tr>"
            for name, earned, most, passed, of in self.rows
        )
        head = "<tr><th style='text-align:left'>notebook</th><th>items</th><th></th><th style='text-align:left'>points</th></tr>"
        earned, most = self.points
        says, file = self._next()
        link = f', in <a href="../{file}">{file}</a>' if file else ""
        return (
            f"<table>{head}{rows}<tr><th style='text-align:left'>all</th><td></td><td>{bar(earned, most)}</td>"
            f"<td style='text-align:left'>{self._all()}</td></tr></table><p>{escape(says)}{link}</p>"
        )


def progress() -> Progress:
    """The points so far, per notebook, and what comes next; hidden cases are decided at grading, and their points named apart."""
    return Progress(load())
