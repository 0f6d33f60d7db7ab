"""The command `autograd-lab`: what it does to a student's folder, what it refuses, and a real start."""

import json
import os
import platform
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from autograd_lab import cli
from autograd_lab._version import __version__
from autograd_lab.course import resources, student
from autograd_lab.course.resources import deliver


def notebook(*sources: str, outputs: bool = True, language_version: str = "3.11") -> bytes:
    """A notebook file with these code cells."""
    shown = [{"output_type": "stream", "name": "stdout", "text": ["seen\n"]}]
    cells = [
        {
            "cell_type": "code",
            "id": f"c{number}",
            "metadata": {},
            "source": source.splitlines(keepends=True),
            "outputs": shown if outputs else [],
            "execution_count": number if outputs else None,
        }
        for number, source in enumerate(sources, start=1)
    ]
    metadata = {"language_info": {"name": "python", "version": language_version}}
    content = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content).encode()


@pytest.fixture
def course(tmp_path):
    """A small course to deliver."""
    root = tmp_path / "course"
    for name, content in {
        "notebooks/00_start_here.ipynb": notebook("print('start')"),
        "notebooks/04_backward.ipynb": notebook("x = 1", "x + 1"),
        "notebooks/04_backward.py": b"# %% the authors' source of the notebook\n",
        "notebooks/helper.py": b"answer = 42\n",
        "notebooks/img/graph.svg": b"<svg/>",
        "notebooks/.ipynb_checkpoints/00-checkpoint.ipynb": notebook("old"),
        "exercises/04_backward.ipynb": notebook("..."),
        "solutions/04_backward.ipynb": notebook("the answer"),
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


@pytest.fixture
def work(tmp_path):
    """An empty working folder."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and student.PRIVATE not in path.parts
    }


BACKWARD = Path("notebooks/04_backward.ipynb")


class TestDelivery:
    def test_first_run_copies_notebooks_exercises_and_what_they_need(self, course, work):
        report = deliver(course, work)
        expected = {
            "notebooks/00_start_here.ipynb",
            "notebooks/04_backward.ipynb",
            "notebooks/helper.py",
            "notebooks/img/graph.svg",
            "exercises/exercise_04_backward.ipynb",  # in a tab it must not look like the notebook
        }
        assert set(files_in(work)) == expected
        assert {path.as_posix() for path in report.new} == expected
        assert (work / "notebooks/helper.py").read_bytes() == b"answer = 42\n"

    def test_a_students_notebook_has_no_outputs(self, course, work):
        deliver(course, work)
        assert b"seen" in (course / BACKWARD).read_bytes()
        assert b"seen" not in (work / BACKWARD).read_bytes()

    def test_links_to_exercises_lead_to_the_names_that_students_have(self, course, work):
        text = "# [Exercises](../exercises/04_backward.ipynb), [next](05_who.ipynb)"
        (course / BACKWARD).write_bytes(notebook(text))
        deliver(course, work)
        assert (
            b"(../exercises/exercise_04_backward.ipynb), [next](05_who.ipynb)"
            in (work / BACKWARD).read_bytes()
        )

    def test_work_under_an_earlier_name_is_kept_and_gets_the_new_one(self, course, work, monkeypatch):
        old, new = Path("exercises/04_backward.ipynb"), Path("exercises/exercise_04_backward.ipynb")
        monkeypatch.setattr(resources, "students_name", lambda file: file)
        deliver(course, work)
        monkeypatch.undo()
        (work / old).write_bytes(notebook("my answer"))
        assert deliver(course, work) == resources.Delivery(kept=[new])
        assert (work / new).read_bytes() == notebook("my answer")
        assert not (work / old).exists()
        assert deliver(course, work) == resources.Delivery(kept=[new])

    def test_a_notebook_is_delivered_as_jupyterlab_would_save_it(self, course, work):
        """Otherwise its tab is marked unsaved as soon as it is opened (tests/browser/test_lifecycle.py sees it)."""
        book = json.loads(notebook("x"))
        book["metadata"] = {
            "language_info": {"name": "python"},
            "kernelspec": {"name": "python3", "display_name": "P"},
        }
        (course / BACKWARD).write_text(json.dumps(book))
        deliver(course, work)
        noted = json.loads((work / BACKWARD).read_text())["metadata"]
        assert noted["language_info"]["version"] == platform.python_version()
        assert noted["kernelspec"]["display_name"] == "Python 3 (ipykernel)"

    def test_second_run_changes_nothing(self, course, work):
        deliver(course, work)
        before = files_in(work)
        assert deliver(course, work) == resources.Delivery()
        assert files_in(work) == before

    def test_an_edited_file_is_kept(self, course, work):
        deliver(course, work)
        mine = notebook("x = 1", "x + 2  # mine")
        (work / BACKWARD).write_bytes(mine)
        report = deliver(course, work)
        assert report == resources.Delivery(kept=[BACKWARD])
        assert (work / BACKWARD).read_bytes() == mine

    def test_an_untouched_file_is_updated(self, course, work):
        deliver(course, work)
        (course / BACKWARD).write_bytes(notebook("x = 1", "x + 3"))
        report = deliver(course, work)
        assert report == resources.Delivery(updated=[BACKWARD])
        assert b"x + 3" in (work / BACKWARD).read_bytes()

    def test_an_untouched_file_gets_a_new_version_s_metadata(self, course, work):
        deliver(course, work)
        (course / BACKWARD).write_bytes(notebook("x = 1", "x + 1", language_version="3.14"))
        assert deliver(course, work).updated == [BACKWARD]
        assert b"3.14" in (work / BACKWARD).read_bytes()

    def test_a_notebook_only_opened_and_run_counts_as_untouched(self, course, work):
        deliver(course, work)
        run = notebook("x = 1", "x + 1", language_version="3.14")
        (work / BACKWARD).write_bytes(run)
        assert deliver(course, work) == resources.Delivery()
        assert (work / BACKWARD).read_bytes() == run
        (course / BACKWARD).write_bytes(notebook("x = 1", "x + 3"))
        assert deliver(course, work).updated == [BACKWARD]
        assert b"x + 3" in (work / BACKWARD).read_bytes()

    def test_a_new_version_of_an_edited_file_goes_beside_it_once(self, course, work):
        deliver(course, work)
        mine = notebook("mine")
        (work / BACKWARD).write_bytes(mine)
        (course / BACKWARD).write_bytes(notebook("version two"))
        aside = Path("notebooks/04_backward (new version).ipynb")
        assert deliver(course, work) == resources.Delivery(beside=[(BACKWARD, aside)])
        assert (work / BACKWARD).read_bytes() == mine
        assert b"version two" in (work / aside).read_bytes()
        (work / aside).unlink()
        assert deliver(course, work) == resources.Delivery(kept=[BACKWARD])
        assert not (work / aside).exists()

    def test_an_edited_new_version_is_kept_too(self, course, work):
        deliver(course, work)
        (work / BACKWARD).write_bytes(notebook("mine"))
        first, second = (
            Path(f"notebooks/04_backward ({label}).ipynb") for label in ("new version", "new version 2")
        )
        (course / BACKWARD).write_bytes(notebook("version two"))
        deliver(course, work)
        (course / BACKWARD).write_bytes(notebook("version three"))  # two was not touched: replaced
        assert deliver(course, work).beside == [(BACKWARD, first)]
        assert b"version three" in (work / first).read_bytes()
        (work / first).write_bytes(notebook("mine as well"))
        (course / BACKWARD).write_bytes(notebook("version four"))
        assert deliver(course, work).beside == [(BACKWARD, second)]
        assert (work / first).read_bytes() == notebook("mine as well")
        assert b"version four" in (work / second).read_bytes()

    def test_a_deleted_file_comes_back(self, course, work):
        deliver(course, work)
        (work / BACKWARD).rename(work / "notebooks/my try.ipynb")
        assert deliver(course, work) == resources.Delivery(restored=[BACKWARD])
        assert {"notebooks/04_backward.ipynb", "notebooks/my try.ipynb"} <= set(files_in(work))

    def test_a_file_that_was_there_before_us_is_kept(self, course, work):
        (work / "notebooks").mkdir()
        (work / BACKWARD).write_bytes(b"not even a notebook")
        report = deliver(course, work)
        assert report.beside == [(BACKWARD, Path("notebooks/04_backward (new version).ipynb"))]
        assert (work / BACKWARD).read_bytes() == b"not even a notebook"

    def test_a_folder_in_the_way_is_kept(self, course, work):
        (work / BACKWARD).mkdir(parents=True)
        assert deliver(course, work).kept == [BACKWARD]
        assert (work / BACKWARD).is_dir()

    @pytest.mark.parametrize(
        "damage", [b"{", b"\xff\xfe", b'{"files": [1]}', b'{"files": {"a": 1}}', b"null"]
    )
    def test_a_damaged_list_loses_nothing(self, course, work, damage):
        deliver(course, work)
        (work / BACKWARD).write_bytes(notebook("mine"))
        (work / student.PRIVATE / "delivered.json").write_bytes(damage)
        report = deliver(course, work)
        assert report.lost_list
        assert (work / BACKWARD).read_bytes() == notebook("mine")
        assert report.new == report.updated == []
        assert not deliver(course, work).lost_list

    def test_a_write_that_fails_leaves_the_old_file_whole(self, course, work, monkeypatch):
        deliver(course, work)
        before = files_in(work)
        (course / BACKWARD).write_bytes(notebook("version two"))

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(Path, "replace", full)
        with pytest.raises(OSError, match="No space left"):
            deliver(course, work)
        assert files_in(work) == before

    def test_another_number_s_copy_beside_the_work_keeps_its_number(self, course, work):
        name = "05_who_keeps_a_gradient.ipynb"
        mine, aside = (
            Path("exercises", f"exercise_{name}".replace(".ipynb", f"{label}.ipynb"))
            for label in ("", " (new version)")
        )
        source = (resources.course_root() / "exercises" / name).read_text(encoding="utf-8")
        (course / "exercises" / name).write_text(source, encoding="utf-8")
        deliver(course, work, 1)
        book = json.loads((work / mine).read_bytes())
        book["cells"].append(json.loads(notebook("mine"))["cells"][0])
        (work / mine).write_text(json.dumps(book))
        assert deliver(course, work, 2).beside == [(mine, aside)]
        second = (work / aside).read_bytes()
        assert b'"variant": 2' in second
        for number in (None, 2, None):
            report = deliver(course, work, number)
            assert (report.kept, report.beside) == ([mine], [])
            assert (work / aside).read_bytes() == second
        (course / "exercises" / name).write_text(source.replace("# 05", "# New 05", 1), encoding="utf-8")
        assert deliver(course, work).beside == [(mine, aside)]
        assert b'"variant": 2' in (work / aside).read_bytes()
        assert b"# New 05" in (work / aside).read_bytes()
        assert deliver(course, work).beside == []
        assert json.loads((work / mine).read_bytes()) == book

    @pytest.mark.skipif(os.name == "nt", reason="links need a right there")
    def test_a_link_that_the_student_made_stays(self, course, work, tmp_path):
        deliver(course, work)
        away = tmp_path / "disk.ipynb"
        (work / BACKWARD).rename(away)
        (work / BACKWARD).symlink_to(away)
        assert deliver(course, work) == resources.Delivery()
        (course / BACKWARD).write_bytes(notebook("version two"))
        aside = Path("notebooks/04_backward (new version).ipynb")
        assert deliver(course, work).beside == [(BACKWARD, aside)]
        assert (work / BACKWARD).is_symlink()
        away.rename(tmp_path / "gone")
        assert deliver(course, work).kept == [BACKWARD]
        assert (work / BACKWARD).is_symlink()

    def test_a_new_version_that_was_run_keeps_its_outputs_though_the_list_is_lost(self, course, work):
        deliver(course, work)
        (work / BACKWARD).write_bytes(notebook("mine"))
        (course / BACKWARD).write_bytes(notebook("version two"))
        deliver(course, work)
        aside = work / "notebooks/04_backward (new version).ipynb"
        aside.write_bytes(notebook("version two"))
        (work / student.PRIVATE / "delivered.json").write_bytes(b"{")
        deliver(course, work)
        assert aside.read_bytes() == notebook("version two")

    def test_the_report_names_every_kind_of_file(self, work):
        report = resources.Delivery(
            new=[Path("a"), Path("b")],
            updated=[Path("c")],
            restored=[Path(name) for name in "defg"],
            kept=[Path("h")],
            beside=[(Path("i"), Path("i (new version)"))],
        )
        assert cli.describe(report, Path("/w")).splitlines() == [
            "Your working folder is /w.",
            "Copied 2 files.",
            "Updated 1 file that you had not changed: c.",
            "Brought back 4 files that you had deleted or renamed: d, e, f and 1 more.",
            "You have changed i: it stays as it is, and beside it is the new i (new version).",
            "Left 1 file of yours as you saved it.",
            "To start a notebook over, delete or rename it and run autograd-lab again.",
        ]
        assert "Everything in it is up to date." in cli.describe(resources.Delivery(), work)


# ----------------------------------------------------------------------
# what stops it
# ----------------------------------------------------------------------


@pytest.fixture
def no_jupyter(monkeypatch, course):
    """The command up to the point where JupyterLab would start; the list gets its command line."""
    started = []

    def run(work, port, **options):
        started.append((work, port, options))
        return 0

    monkeypatch.setattr(cli, "_run_jupyter", run)
    monkeypatch.setattr(cli, "course_root", lambda: course)
    return started


def refused(capsys, *arguments: object) -> str:
    """The message with which the command refuses `arguments`, as one line."""
    assert cli.main([str(argument) for argument in arguments]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert message.startswith("autograd-lab: ")
    assert " Why: " in message
    assert " What to do: " in message
    return message


@pytest.mark.parametrize(
    ("port", "why"),
    [
        ("abc", "a port is a whole number"),
        ("88.5", "a port is a whole number"),
        ("0", "ports go from 1 to 65535"),
        ("-1", "ports go from 1 to 65535"),
        ("65536", "ports go from 1 to 65535"),
        ("80", "reserved for the system"),
    ],
)
def test_a_port_that_cannot_be_is_refused(capsys, no_jupyter, work, port, why):
    assert why in refused(capsys, f"--port={port}", "--dir", work)
    assert no_jupyter == []
    assert list(work.iterdir()) == []  # found out before anything was copied


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_a_port_in_use_is_refused_when_named_and_passed_over_when_not(
    capsys, no_jupyter, work, monkeypatch, family, address
):
    with socket.socket(family) as listener:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no {address}")
        listener.listen()
        port = listener.getsockname()[1]
        message = refused(capsys, "--port", port, "--dir", work)
        assert f"Port {port} is in use." in message
        assert "leave out --port" in message
        monkeypatch.setattr(cli, "FIRST_PORT", port)
        assert cli.main(["--dir", str(work)]) == 0
        assert no_jupyter[0][1] > port


def test_no_free_port_is_said(capsys, no_jupyter, work, monkeypatch):
    monkeypatch.setattr(cli, "_port_problem", lambda port: OSError(98, "in use"))
    assert "all in use" in refused(capsys, "--dir", work)


def test_a_file_is_no_working_folder(capsys, no_jupyter, tmp_path):
    (tmp_path / "taken").write_text("x")
    assert "it is a file, not a folder" in refused(capsys, "--dir", tmp_path / "taken")
    assert "cannot be made" in refused(capsys, "--dir", tmp_path / "taken" / "below")


@pytest.mark.skipif(
    not Path("/proc/self").exists(), reason="/proc refuses writes even to root; only Linux has it"
)
def test_a_folder_that_cannot_be_made_or_written_is_refused(capsys, no_jupyter):
    assert "The folder /proc/autograd-lab cannot be made." in refused(capsys, "--dir", "/proc/autograd-lab")
    assert "cannot be written to" in refused(capsys, "--dir", "/proc/self/fdinfo/..")


def test_a_disk_that_fills_up_is_said(capsys, no_jupyter, work, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resources, "_write", full)
    message = refused(capsys, "--dir", work)
    assert "could not be copied" in message
    assert "no space left on device" in message


def test_the_source_checkout_is_no_working_folder(capsys, no_jupyter):
    checkout = Path(cli.__file__).parent.parent
    assert "its own source" in refused(capsys, "--dir", checkout).replace("autograd_lab's own", "its own")
    assert "own source" in refused(capsys, "--dir", checkout / "notebooks")


def test_no_jupyterlab_is_said(capsys, no_jupyter, work, monkeypatch):
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None)
    said = refused(capsys, "--dir", work)
    assert f"{sys.executable} -m pip install jupyterlab" in said
    assert "autograd-lab --copy-only" in said


def test_the_notebooks_are_copied_without_jupyterlab(capsys, course, work, monkeypatch):
    monkeypatch.setattr(cli, "course_root", lambda: course)
    monkeypatch.setattr(cli.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(cli, "_run_jupyter", lambda *_, **__: pytest.fail("it was opened"))
    assert cli.main(["--dir", str(work), "--copy-only"]) == 0
    assert (work / "notebooks/00_start_here.ipynb").is_file()
    assert "Copied" in capsys.readouterr().out


def test_the_folder_is_made_in_the_home_folder_by_default(capsys, no_jupyter, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert cli.main([]) == 0
    assert no_jupyter[0][0] == tmp_path / "autograd-lab-work"
    assert (tmp_path / "autograd-lab-work/notebooks/00_start_here.ipynb").is_file()
    assert "Copied 5 files." in capsys.readouterr().out


# ----------------------------------------------------------------------
# commands
# ----------------------------------------------------------------------


def test_a_command_is_passed_its_arguments_and_gives_its_status(monkeypatch):
    calls = []

    class Module:
        @staticmethod
        def main(argv):
            calls.append(argv)
            return 3

    monkeypatch.setattr(cli.importlib, "import_module", lambda name: calls.append(name) or Module)
    assert cli.main(["build", "--check", "04"]) == 3
    assert calls == ["autograd_lab.course.build", ["--check", "04"]]


@pytest.mark.parametrize(
    ("module", "said"),
    [("autograd_lab.no_such_part", "not part of this version"), ("os.absent", "needs the package")],
)
def test_a_command_that_is_not_there_is_said(capsys, monkeypatch, module, said):
    monkeypatch.setitem(cli.COMMANDS, "absent", (module, ""))
    assert said in refused(capsys, "absent")


UNHEARD = """
import sys
from autograd_lab import cli
class Worker:
    def main(argv):
        for number in range(10_000):
            print("a line of some length", number)
            print("note", file=sys.stderr)
        open(argv[0], "w").write("done")
        return 3
cli.importlib.import_module = lambda name: Worker
sys.exit(cli.main(["gradebook", sys.argv[1]]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows says it otherwise when nobody reads")
@pytest.mark.parametrize("both", [True, False])
def test_a_command_that_nobody_reads_to_the_end_does_its_work(tmp_path, both):
    """`autograd-lab grade ... | head`: it neither stops half way nor complains."""
    with subprocess.Popen(
        [sys.executable, "-c", UNHEARD, str(tmp_path / "file")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if both else subprocess.PIPE,
    ) as process:
        process.stdout.readline()
        process.stdout.close()
        said = b"" if both else process.stderr.read()
        assert process.wait(60) == 3
    assert (tmp_path / "file").read_text() == "done"
    assert set(said.split()) <= {b"note"}


def test_a_command_that_is_interrupted_says_so(capsys, monkeypatch):
    def stopped(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(
        cli.importlib, "import_module", lambda _: type("", (), {"main": staticmethod(stopped)})
    )
    assert cli.main(["feedback"]) == 130
    assert capsys.readouterr().err == "\nautograd-lab feedback: stopped.\n"


def test_a_mistyped_command_hears_which_there_are(capsys):
    assert cli.main(["grades", "submissions"]) == 2
    said = capsys.readouterr().err
    assert "There is no command `grades`." in said
    assert "site, validate, submit, deliver, grade, feedback, gradebook" in said


INSTALLED = str(Path(sys.executable).with_name("autograd-lab"))


@pytest.mark.parametrize("start", [[INSTALLED], [sys.executable, "-m", "autograd_lab"]], ids=["script", "-m"])
def test_version_and_help_from_the_shell(start, tmp_path):
    shown = subprocess.run([*start, "--version"], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout == f"autograd_lab {__version__}\n"
    shown = subprocess.run([*start, "--help"], capture_output=True, text=True, check=True, cwd=tmp_path)
    for word in ("--dir", "--port", "--no-browser", "build", "never overwritten"):
        assert word in shown.stdout


# ----------------------------------------------------------------------
# a real start
# ----------------------------------------------------------------------


def test_jupyterlab_is_this_pythons_and_gets_root_only_from_root(course, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000, raising=False)
    command = cli.jupyter_command(course, 8888, may_move=False, browser=True)
    assert command[:4] == [sys.executable, "-P", "-m", "jupyterlab"]
    assert "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb" in command
    assert not {"--allow-root", "--no-browser"} & set(command)
    monkeypatch.setattr(os, "geteuid", lambda: 0, raising=False)
    assert "--allow-root" in cli.jupyter_command(course, 8888, may_move=False, browser=True)


@pytest.fixture
def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.mark.skipif(os.name == "nt", reason="sends POSIX signals")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_real_start_serves_the_notebooks_with_this_python_and_stops_cleanly(tmp_path, free_port, ending):
    """A stale kernel "python3" in the user's Jupyter folder, preferred by Jupyter, does not win."""
    stale = tmp_path / "jupyter" / "kernels" / "python3" / "kernel.json"
    stale.parent.mkdir(parents=True)
    stale.write_text(
        '{"argv": ["/nonexistent", "{connection_file}"], "display_name": "x", "language": "python"}'
    )
    environment = {
        **os.environ,
        "JUPYTER_DATA_DIR": str(tmp_path / "jupyter"),
        "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime"),
        "JUPYTER_CONFIG_DIR": str(tmp_path / "config"),
        "JUPYTER_PREFER_ENV_PATH": "0",
        "TMPDIR": str(tmp_path),
    }
    command = [
        sys.executable,
        "-m",
        "autograd_lab",
        "--no-browser",
        "--port",
        str(free_port),
        "--dir",
        str(tmp_path / "w"),
    ]
    log = tmp_path / "log"
    with log.open("w") as output:
        lab = subprocess.Popen(
            command,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=tmp_path,
            start_new_session=True,
        )
    try:
        token = wait_for(lambda: re.search(r"token=(\w+)", log.read_text()), lab, log)[1]

        def answer(path):
            try:
                url = f"http://127.0.0.1:{free_port}{path}?token={token}"
                with urllib.request.urlopen(url, timeout=120) as reply:
                    return json.load(reply)
            except urllib.error.HTTPError:
                raise
            except urllib.error.URLError:
                return None  # a busy machine: it has said where it will listen, and does not yet

        def get(path):
            return wait_for(lambda: answer(path), lab, log)

        assert get("/api/status")["kernels"] == 0
        served = {file["name"] for file in get("/api/contents/notebooks")["content"]}
        assert {path.name for path in (tmp_path / "w/notebooks").iterdir()} == served
        assert get("/api/kernelspecs")["kernelspecs"]["python3"]["spec"]["argv"][0] == sys.executable
        lab.send_signal(ending)
        assert lab.wait(timeout=180) == 0
    finally:
        if lab.poll() is None:
            os.killpg(lab.pid, signal.SIGKILL)
            lab.wait()
    assert "JupyterLab has stopped. Your work is in" in log.read_text()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", free_port)) != 0
    assert list(tmp_path.glob("autograd-lab-*")) == []  # its temporary settings are gone


def test_a_jupyterlab_that_fails_is_said(capfd, work, course, monkeypatch):
    monkeypatch.setattr(cli, "course_root", lambda: course)
    monkeypatch.setattr(
        cli, "jupyter_command", lambda *_, **__: [sys.executable, "-c", "raise SystemExit(5)"]
    )
    assert cli.main(["--dir", str(work)]) == 2
    assert "its exit status was 5" in capfd.readouterr().err


def wait_for(condition, process, log, seconds=300):
    """The first true value of `condition()`; fails when the process ends or the time is up."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        if process.poll() is not None or time.monotonic() > end:
            pytest.fail(f"no answer (exit status {process.poll()}):\n{log.read_text()}")
        time.sleep(0.05)
    return value
