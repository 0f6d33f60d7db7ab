"""The lab of the site without a browser: a student's work in an archive and back, what is said of what cannot work there, and the pages.

tests/browser/test_lab_without_install.py has it whole, in Chromium.
"""

import base64
import io
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from each import each

from autograd_lab.course.contents import exercise_name, stem
from autograd_lab.grade.run import main as grade
from autograd_lab.site import in_browser, lab
from autograd_lab.site.options import Options
from autograd_lab.site.pages import ASSETS, Site

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NODE = shutil.which("node")
FIRST, PROGRESS = "notebooks/00_start_here.ipynb", ".autograd_lab/progress.json"


def book(*sources: str, noted: str = "3.8", output: str = "") -> bytes:
    cells = [nbformat.v4.new_code_cell(source, id=f"c{n}") for n, source in enumerate(sources)]
    if output:
        cells[0]["outputs"] = [nbformat.v4.new_output("stream", text=output)]
    return nbformat.writes(nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python", "version": noted}})).encode()  # fmt: skip


def points(**items: tuple[str, float, int]) -> bytes:
    known = {name: dict(zip(("state", "score", "tries"), record, strict=True)) for name, record in items.items()}  # fmt: skip
    return json.dumps({"format": "autograd-lab-progress", "version": 1, "items": known}).encode()


def zipped(files: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", kind) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def unzipped(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def coded(files: dict[str, bytes]) -> dict[str, str]:
    return {path: base64.b64encode(data).decode() for path, data in files.items()}


DELIVERED = {
    FIRST: book("x = ..."),
    "exercises/exercise_04_backward_node_by_node.ipynb": book("answer = ..."),
}


@pytest.mark.skipif(NODE is None, reason="needs Node.js")
class TestWork:
    def ask(self, mine: dict[str, bytes], archive: bytes | None = None, keep: bool | None = None):
        """(what is said, the files afterwards, what a download holds)."""
        asked = {"mine": coded(mine), "delivered": coded(DELIVERED), "keep": keep, "archive": None if archive is None else base64.b64encode(archive).decode()}  # fmt: skip
        done = subprocess.run([NODE, HERE / "work.mjs", ASSETS / "lab/work.js"], input=json.dumps(asked), capture_output=True, text=True)  # fmt: skip
        assert done.returncode == 0, done.stderr
        said = json.loads(done.stdout)
        files = {path: base64.b64decode(data) for path, data in said.pop("files").items()}
        return said, files, unzipped(base64.b64decode(said.pop("packed")))

    def test_a_download_has_what_was_changed_and_nothing_else(self):
        mine = {
            **DELIVERED,
            FIRST: book("x = 3", output="3"),
            "exercises/exercise_04_backward_node_by_node.ipynb": book("answer = ...", noted="3.12"),
            "notebooks/tables/größe.csv": "ä,1\n".encode(),
            "Makefile": bytes(range(256)),
            PROGRESS: points(),
            "notebooks/.ipynb_checkpoints/old.ipynb": b"{}",
        }
        _, _, packed = self.ask(mine)
        assert packed == {path: mine[path] for path in (FIRST, "notebooks/tables/größe.csv", "Makefile", PROGRESS)}  # fmt: skip

    def test_nothing_is_overwritten_unasked(self):
        mine = DELIVERED | {FIRST: book("x = 3"), "mine.txt": b"here", "only.txt": b"here", PROGRESS: points(a=("passed", 1, 2), b=("failed", 2.5, 5))}  # fmt: skip
        theirs = {
            FIRST: book("x = 4"),
            "exercises/exercise_04_backward_node_by_node.ipynb": book("answer = 1"),
            "mine.txt": b"there",
            "new/folder/Makefile": bytes(range(256)),
            PROGRESS: points(a=("failed", 0, 3), b=("passed", 2, 1), c=("failed", 0.5, 1)),
        }
        for kind in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
            said, files, _ = self.ask(mine, zipped(theirs, kind))
            assert said["both"] == [FIRST, "mine.txt"]
            assert files[FIRST] == mine[FIRST]
            assert files["mine.txt"] == b"here"
            assert files["new/folder/Makefile"] == bytes(range(256))
            assert json.loads(files["exercises/exercise_04_backward_node_by_node.ipynb"]) == json.loads(theirs["exercises/exercise_04_backward_node_by_node.ipynb"])  # fmt: skip
            assert json.loads(files[PROGRESS]) == json.loads(points(a=("passed", 1, 3), b=("passed", 2, 5), c=("failed", 0.5, 1)))  # fmt: skip

        said, files, _ = self.ask(mine | {"mine (uploaded).txt": b"third"}, zipped(theirs), keep=True)
        assert {"notebooks/00_start_here (uploaded).ipynb", "mine (uploaded 2).txt"} < set(said["written"])
        assert files["mine (uploaded 2).txt"] == b"there"
        assert (files["mine.txt"], files["mine (uploaded).txt"]) == (b"here", b"third")
        _, files, _ = self.ask(mine, zipped(theirs), keep=False)
        assert files["mine.txt"] == b"there"
        assert files["only.txt"] == b"here"

    def test_a_download_goes_up_again(self):
        mine = DELIVERED | {FIRST: book("x = 3"), "Makefile": b"all:", PROGRESS: points(a=("passed", 1, 2))}
        _, _, packed = self.ask(mine)
        said, files, again = self.ask(DELIVERED, zipped(packed))
        assert sorted(said["written"]) == sorted(packed)
        assert {path: files[path] for path in ("Makefile", PROGRESS)} == {path: mine[path] for path in ("Makefile", PROGRESS)}  # fmt: skip
        assert again.keys() == packed.keys()
        assert self.ask(files, zipped(packed))[0] == {"same": 3, "both": [], "written": []}
        assert self.ask(mine, zipped(DELIVERED))[0]["both"] == [], (
            "what was never changed there is no newer work"
        )

    def test_other_layouts_of_an_archive(self):
        changed = book("answer = 2")
        one = "exercises/exercise_04_backward_node_by_node.ipynb"
        for name in (one, "my work/" + one, "exercise_04_backward_node_by_node.ipynb"):
            said, files, _ = self.ask(DELIVERED, zipped({name: changed, **({"__MACOSX/x": b""} if name == one else {})}))  # fmt: skip
            assert said["written"] == [one], name
            assert json.loads(files[one]) == json.loads(changed)

    def test_what_is_no_archive_changes_nothing(self):
        good = zipped({FIRST: book("x = 4")})
        stored = zipped({FIRST: book("x = 4")}, zipfile.ZIP_STORED)
        for bad, why in (
            (b"", "no zip archive"),
            (b"{}" * 50, "no zip archive"),
            (good[:60] + bytes([good[60] ^ 255]) + good[61:], "cannot be read"),
            (stored.replace(b"x = 4", b"x = 5"), f"{FIRST} is not whole"),
            (zipped({"../../etc/passwd": b""}), "the path ../../etc/passwd"),
            (zipped({"/etc/passwd": b""}), "the path /etc/passwd"),
            (good[: len(good) // 3] + good[-22:], "cannot be read"),
        ):
            said, files, _ = self.ask(DELIVERED, bad)
            assert why in said["error"], bad
            assert files == DELIVERED

    def test_the_grader_reads_it(self, tmp_path, capsys):
        name = stem("04")
        answered = nbformat.read(ROOT / "exercises" / f"{name}.ipynb", 4)
        cell = next(cell for cell in answered.cells if cell.source == "parts = [..., ..., ..., ..., ..., ...]  # letters in quotes")  # fmt: skip
        cell.source = "parts = [*'DBAECF']"
        mine = {f"exercises/{exercise_name(name)}.ipynb": nbformat.writes(answered).encode(), f"notebooks/{name}.ipynb": book("x = 3")}  # fmt: skip
        _, _, packed = self.ask(mine)
        (tmp_path / "in/jane").mkdir(parents=True)
        (tmp_path / "in/jane/autograd-lab-work.zip").write_bytes(zipped(packed))
        assert grade([str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--dry-run"]) == 0
        said = capsys.readouterr().out
        handed = "jane/autograd-lab-work.zip/exercises/exercise_04_backward_node_by_node.ipynb"
        assert re.findall(r"\S+\.zip\S*", said) == [handed], "the lesson of the same number is no submission"


def test_errors_that_do_not_speak_for_themselves():
    """The messages are those of Pyodide 0.27.7, as they came from the lab."""

    def check(case):
        error, part = case
        assert part in in_browser.sentence(error)

    each(
        [
            (ModuleNotFoundError("No module named 'torch'"), "import autograd_lab as torch"),
            (ModuleNotFoundError("No module named 'torchvision'"), "import autograd_lab as torch"),
            (ModuleNotFoundError("No module named '_multiprocessing'"), "one process"),
            (OSError(138, "emscripten does not support processes."), "no other programs"),
            (RuntimeError("can't start new thread"), "no threads"),
            (Exception("foo could not be installed: PyPI fallback is disabled"), "installs nothing"),
            (OSError("<urlopen error [Errno 26] Operation in progress>"), "opens no address"),
            (OSError("<urlopen error unknown url type: https>"), "opens no address"),
        ],
        check,
    )
    for other in (
        ModuleNotFoundError("No module named 'torches'"),
        RuntimeError("thread"),
        FileNotFoundError("x"),
    ):
        assert in_browser.sentence(other) == ""


def test_a_shell_says_them(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    in_browser.begin(shell)
    for _ in range(2):  # said once, though the same error is shown twice
        shell.run_cell(
            "error = globals().get('error') or RuntimeError(\"can't start new thread\")\nraise error"
        )
        assert capsys.readouterr().out.count("Python has no threads in a browser.") == 1
    shell.run_cell("!ls")
    assert "`!ls` is a command of the system, and a browser has none." in capsys.readouterr().out
    shell.run_cell("x = !ls")
    assert "a browser has none" in capsys.readouterr().out


def test_without_pyodide_or_jupyterlite_its_page_says_so(monkeypatch):
    site = Site({lab.HOME: "Lab"})
    lab.add(site, Options(ROOT))
    assert "autograd-lab site --pyodide" in site.files[lab.HOME].decode()
    monkeypatch.setattr(lab, "NEEDED", ("jupyterlite_of_tomorrow",))
    site = Site({lab.HOME: "Lab"})
    lab.add(site, Options(ROOT, SimpleNamespace()))
    assert [*site.files] == [lab.HOME]
    assert "jupyterlite_of_tomorrow was not installed" in site.files[lab.HOME].decode()
    assert "autograd_lab[site]" in site.files[lab.HOME].decode()


def test_no_sentence_sends_to_a_registry():
    """The package is in none: a name there would be somebody else's."""
    said = [sentence for _, _, sentence in in_browser.SENTENCES]
    assert [sentence for sentence in said if "pip install" in sentence] == []
