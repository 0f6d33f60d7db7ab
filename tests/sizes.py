"""How large is it? `python -m tests.sizes [REVISION]`: lines of code by wing, and the change since then.

Lines without docstrings, comments and empty lines count. Without REVISION (a commit, a tag, or the folder of another checkout)
the change is that since the last release: the newest tag `v*` in the history, or, before the first one is tagged, the commit that
dated the newest version in CHANGELOG.md. No wing but the course grows without a reason in its commit.
"""

import io
import re
import subprocess
import sys
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from tests.core.test_lesson import code_lines

ROOT = Path(__file__).parents[1]
WINGS = {  # each with its folders, and files of the package's root, today's and those of earlier releases
    "core": ("core",),
    "torchlike: autograd": ("autograd",),
    "torchlike: rules": ("ops", "interface"),
    "torchlike: nn, optim, ...": ("nn", "optim", "utils", "distributions"),
    "torchlike: the rest": (),  # all that is named nowhere else
    "express": ("express",),
    "compiler": ("compiler",),
    "tracing": ("tracing",),
    "widgets": ("widgets",),
    "course": ("course", "datasets.py", "_resources.py"),
    "site": ("site",),
    "grade": ("grade",),
    "lab, command, benchmarks": (
        "lab.py",
        "cli.py",
        "__main__.py",
        "bench",
        "bench.py",
        "recording_bench.py",
    ),
}
WING_OF = {name: wing for wing, names in WINGS.items() for name in names}
Sources = Iterable[tuple[PurePosixPath, str]]


def sizes(sources: Sources) -> Counter[str]:
    """{wing: lines of code} of (path within the package, text) pairs."""
    found = Counter(dict.fromkeys(WINGS, 0))
    for path, text in sources:
        parts = path.parts[1:] if path.parts[0] == "torchlike" else path.parts
        if parts[0] != "_course":  # a copy of the notebooks, made when a wheel is built
            found[WING_OF.get(parts[0], "torchlike: the rest")] += len(code_lines(text))
    return found


def in_folder(root: Path) -> Iterator[tuple[PurePosixPath, str]]:
    """The package's sources in a checkout."""
    package = root / "autograd_lab"
    for path in package.rglob("*.py"):
        yield PurePosixPath(path.relative_to(package).as_posix()), path.read_text(encoding="utf-8")


def in_commit(revision: str, root: Path = ROOT) -> Iterator[tuple[PurePosixPath, str]]:
    """The package's sources in a commit."""
    archive = subprocess.run(
        ["git", "archive", revision, "autograd_lab"], cwd=root, capture_output=True, check=True
    ).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for member in files:
            if member.name.endswith(".py"):
                yield (
                    PurePosixPath(*PurePosixPath(member.name).parts[1:]),
                    files.extractfile(member).read().decode(),
                )


def last_release(root: Path = ROOT) -> str | None:
    """The revision to compare with; None where there is no history, as in a source archive."""

    def git(*arguments: str) -> list[str]:
        run = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
        return run.stdout.split() if run.returncode == 0 else []

    tags = git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-version:refname")
    if tags:
        return tags[0]
    dated = re.search(
        r"^## \[.+\] - \d{4}-\d\d-\d\d$", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE
    )
    commits = git("log", "--format=%H", f"-S{dated[0]}", "--", "CHANGELOG.md") if dated else []
    return commits[-1] if commits else None


def main() -> None:
    now = sizes(in_folder(ROOT))
    other = sys.argv[1] if len(sys.argv) > 1 else last_release()
    before = None
    if other is not None:
        before = sizes(in_folder(Path(other)) if Path(other).is_dir() else in_commit(other))
        print(f"{'':<26}{'lines':>8}  since {other[:12]}")
    for wing, lines in [*now.items(), ("all", now.total())]:
        then = lines if before is None else before.total() if wing == "all" else before[wing]
        print(f"{wing:<26}{lines:>8,}{f'{lines - then:>+8,}' if before is not None else ''}")


if __name__ == "__main__":
    main()
