"""The table of sizes: what it counts, and what it compares with."""

import subprocess
from pathlib import PurePosixPath

from tests import sizes


def test_lines_of_code_are_counted_by_wing():
    found = sizes.sizes(
        (PurePosixPath(path), text)
        for path, text in [
            ("core/engine.py", '"""A page."""\n\n# a remark\nx = 1\ny = [\n    2,\n]\n'),
            ("torchlike/ops/linalg.py", "x = 1\n"),
            ("ops/linalg.py", "x = 1\ny = 2\n"),
            ("dtypes.py", "x = 1\n"),
            ("lab.py", "x = 1\n"),
            ("_course/notebooks/00.py", "x = 1\n"),
        ]
    )
    assert {wing: lines for wing, lines in found.items() if lines} == {
        "core": 4,
        "torchlike: rules": 3,
        "torchlike: the rest": 1,
        "lab, command, benchmarks": 1,
    }


def test_the_last_release_is_the_newest_tag_or_the_commit_that_dated_it(tmp_path):
    def git(*arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        run = subprocess.run(
            ["git", *who, *arguments], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return run.stdout.strip()

    def commit(changelog):
        (tmp_path / "CHANGELOG.md").write_text(changelog)
        git("add", ".")
        git("commit", "-m", "x")
        return git("rev-parse", "HEAD")

    dated = "## [0.1.0] - 2026-11-26\n"
    package = tmp_path / "autograd_lab"
    (tmp_path / "CHANGELOG.md").write_text(dated)
    assert sizes.last_release(tmp_path) is None  # no repository
    git("init", "--quiet")
    package.mkdir()
    (package / "lab.py").write_text("x = 1\n")
    commit("## [Unreleased]\n")
    assert sizes.last_release(tmp_path) is None
    first = commit(f"## [Unreleased]\n\n{dated}")
    commit(f"## [Unreleased]\n\n- A line.\n\n{dated}")
    assert sizes.last_release(tmp_path) == first
    for tag in ("v0.9.0", "v0.10.0", "other"):
        git("tag", tag)
    (package / "lab.py").write_text("x = 1\ny = 2\n")
    commit("## [Unreleased]\n")
    assert sizes.last_release(tmp_path) == "v0.10.0"
    assert sizes.sizes(sizes.in_commit("v0.10.0", tmp_path)).total() == 1
    assert sizes.sizes(sizes.in_folder(tmp_path)).total() == 2
