"""Ways out of the sandbox (escapes.py) are tried from inside a submission: none may lead anywhere, as root or as a plain user.

That the tries would find a way out is tested as well, with layers of the sandbox left out.
"""

import contextlib
import ctypes
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import tiny

from autograd_lab.grade import sandbox
from autograd_lab.grade.engine import Engine
from autograd_lab.grade.model import Limits
from autograd_lab.grade.sandbox import ROOM, SandboxError, libraries, means, refusal

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the layers of the sandbox are Linux's")
HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SHM = 0x61676C00


def hidden_pattern(data):
    """A regular expression for these bytes that does not hold them in a row."""
    return "".join(f"[\\x{part:02x}]" for part in data)


class Surroundings:
    """What a submission might reach: secrets in files, listeners, processes, memory; and what they notice."""

    def __init__(self, folder):
        self.noticed = []
        self.folder = folder
        self.files = {}
        for name in (
            "keys/01.json",
            "submissions/bob/01_tiny.ipynb",
            "results/gradebook.sqlite",
            "home/.secret",
            "trap/victim",
        ):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("SECRET")
            path.chmod(0o666)
            path.parent.chmod(0o777)
        self.files = {
            "key": f"{folder}/keys/01.json", "key of the course": str(next((ROOT / "solutions" / "keys").glob("*.json"), "")),
            "submission": f"{folder}/submissions/bob/01_tiny.ipynb", "gradebook": f"{folder}/results/gradebook.sqlite",
            "home": f"{folder}/home/.secret", "a victim": f"{folder}/trap/victim",
        }  # fmt: skip

    def __enter__(self):
        self._open = contextlib.ExitStack()
        name = f"agl-{os.getpid()}-{time.monotonic_ns()}"
        self._tcp = self._open.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = self._tcp.getsockname()[1]
        udp = self._open.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", port))
        unix = str(Path("/tmp") / name)
        listeners = [self._tcp, udp]
        for address, kind in (
            (unix, socket.SOCK_STREAM), (f"{unix}-d", socket.SOCK_DGRAM), ("\0" + name, socket.SOCK_STREAM), (f"\0{name}-d", socket.SOCK_DGRAM)
        ):  # fmt: skip
            one = self._open.enter_context(socket.socket(socket.AF_UNIX, kind))
            one.bind(address)
            if kind == socket.SOCK_STREAM:
                one.listen()
            listeners.append(one)
        for path in (unix, f"{unix}-d"):
            Path(path).chmod(0o777)
            self._open.callback(os.unlink, path)
        self._listeners = listeners
        code = "import ctypes, signal; ctypes.CDLL(None).prctl(15, b'agl-victim', 0, 0, 0)\nprint(flush=True)\nsignal.pause()"
        environment = {"AGL_WORD": "SECRET"}
        self._victim = self._open.enter_context(
            subprocess.Popen([sys.executable, "-S", "-c", code], stdout=subprocess.PIPE, env=environment)
        )
        self._open.callback(self._victim.kill)
        self._victim.stdout.read(1)
        libc = ctypes.CDLL(None)
        segment = libc.shmget(SHM, 4096, 0o1666)
        self._open.callback(libc.shmctl, segment, 0, None)
        queue, semaphore = libc.msgget(SHM, 0o1666), libc.semget(SHM, 1, 0o1666)
        self._open.callback(libc.msgctl, queue, 0, None)
        self._open.callback(libc.semctl, semaphore, 0, 0)
        libc.msgsnd(queue, struct.pack("l", 1) + b"SECRET", 6, 0)
        os.environ["AGL_WORD"] = "SECRET"
        self._open.callback(os.environ.pop, "AGL_WORD")
        secret = str(tiny.SECRET).encode()
        number = struct.pack("<q", tiny.SECRET)
        self.trap = {
            "files": self.files,
            "folders": {"trap": f"{self.folder}/trap", "submissions": f"{self.folder}/submissions", "results": f"{self.folder}/results",
                        "tmp": "/tmp", "var": "/var/tmp", "memory": "/run/shm", "start": str(Path.cwd()), "home": str(Path.home())},
            "host": self._address(), "port": port, "unix": unix, "abstract": name,
            "pids": {"victim": self._victim.pid, "grader": os.getpid()},
            "mark": f"agl-{os.getpid()}",
            "shm": SHM,
            "numbers": [segment, queue, semaphore],
            "secret": hidden_pattern(secret),
            "bytes": [hidden_pattern(secret), hidden_pattern(number),
                      *(hidden_pattern(bytes([size, *[0] * 7]) + number[:4]) for size in (1, 8))],  # Python's numbers, 3.11 and 3.12
        }  # fmt: skip
        there = [Path(folder) for folder in self.trap["folders"].values() if Path(folder).is_dir()]
        self.trap["places"] = {str(one): [one.stat().st_dev, one.stat().st_ino] for one in there}
        self._before = self._tree()
        return self

    @staticmethod
    def _address():
        with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect(("192.0.2.1", 9))  # sends nothing
            return one.getsockname()[0]
        return "127.0.0.1"

    def _tree(self):
        return {str(p): (p.read_bytes() if p.is_file() else b"", p.stat().st_mode, p.stat().st_mtime_ns if p.is_file() else 0)
                for p in sorted(self.folder.rglob("*"))}  # fmt: skip

    def look(self):
        """What came of it outside: texts."""
        came = []
        for one in self._listeners:
            one.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                if one.type == socket.SOCK_STREAM:
                    one.accept()[0].close()
                else:
                    one.recv(100)
                came.append(f"something arrived at {one.getsockname()}")
        if self._victim.poll() is not None:
            came.append("the victim was ended")
        if self._tree() != self._before:
            came.append("files were changed")
        for folder in [*self.trap["folders"].values(), "/dev/shm", *sys.path]:
            path = Path(folder, self.trap["mark"])
            if path.exists():
                came.append(f"{path} was made")
                path.unlink()
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if (entry / "comm").read_text().strip() == self.trap["mark"]:
                    came.append("a process is left")
                    os.kill(int(entry.name), signal.SIGKILL)
        return came

    def __exit__(self, *_):
        self._open.close()


def tried(folder, without=(), require=True):
    """Try to escape. {action: (how, what)}, and what was noticed outside."""
    source = (HERE / "escapes.py").read_text()
    folder = folder / "around"
    with Surroundings(folder) as around:
        cell = f"{source}\nTRAP.update({around.trap!r})\nreport()"
        own = [folder / "keys", folder / "submissions", folder / "results"]
        patient = Limits(cell_cpu=600, cell_wall=1800, job_wall=2400)
        with Engine(
            tiny.ITEMS, patient, workers=1, require_sandbox=require, private=own, without=without
        ) as engine:
            job = tiny.job(extra={"1.1": cell})
            ((_, ran),) = engine.run([job])
            (line,) = [line for line in ran.printed.splitlines() if line.startswith("REPORT ")] or [
                str(ran)[:3000]
            ]
            assert line.startswith("REPORT "), line
            assert tiny.earned(ran, job) == tiny.FULL
            layers = engine.layers
        return json.loads(line.removeprefix("REPORT ")), around.look(), layers


def escaped(report):
    return {name: what for name, (how, what) in report.items() if how == "ESCAPED"}


@pytest.fixture(scope="module")
def held():
    """Skips where a sandbox cannot be had."""
    try:
        with Engine(tiny.ITEMS, workers=1):
            pass
    except SandboxError as error:
        pytest.skip(str(error))


def test_nothing_escapes(tmp_path, held):
    report, noticed, _ = tried(tmp_path)
    assert len(report) > 50
    assert escaped(report) == {}
    assert noticed == []
    assert sum(how == "blocked" for how, _ in report.values()) > 50


@pytest.mark.parametrize(
    ("without", "leads"),
    [
        (["mount namespace", "Landlock"], {"read the keys", "read the course items", "write anothers submission", "read home"}),
        (["pid namespace", "Landlock signals", "seccomp", "own user"], {"signal the grader"}),
        (["resource limits"], {"raise limits"}),
    ],
)  # fmt: skip
def test_the_tries_find_what_a_missing_layer_leaves_open(tmp_path, held, without, leads):
    report, _, layers = tried(tmp_path, without, require=False)
    if any(layer in layers for layer in without):
        pytest.skip(f"{without} cannot be left out here")
    assert leads <= escaped(report).keys()


@pytest.mark.slow
@pytest.mark.parametrize(
    "without",
    [
        "mount namespace",
        "Landlock",
        "network namespace",
        "pid namespace",
        "ipc namespace",
        "own user",
        "seccomp",
    ],
)
def test_no_layer_stands_alone(tmp_path, held, without):
    """With any one left out the others still keep the files, the network and the other processes."""
    report, noticed, _ = tried(tmp_path, [without], require=False)
    inside = INSIDE | ({"enter namespaces"} if without == "seccomp" else set())  # those it made itself
    assert {k: v for k, v in escaped(report).items() if k not in inside} == {}
    assert noticed == []


INSIDE = {"new namespaces", "new namespaces by clone", "mount", "unmount", "change the root", "kernel keys", "programs for the kernel",
          "ring of requests", "listen", "raw sockets", "system v queues", "message queues", "old system calls", "trace them",
          "read across", "steal a descriptor", "system v memory", "newest system calls"}  # fmt: skip
"""What only seccomp refuses where the kernel allows it: it makes the kernel's surface smaller, and reaches nobody else."""


def plain_user(folder):
    """The beginning of a command that runs as a plain user, for whom Python's own folders are shown if root keeps them closed."""
    if os.geteuid() != 0:
        return []
    drop = "setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all"
    closed = [p for p in reversed(Path(sys.base_prefix).resolve().parents) if not p.stat().st_mode & 0o001]
    show = ""
    if closed:
        top, inside = closed[0], Path(sys.base_prefix).resolve()
        show = (
            f"mount --bind {inside} {folder}/python && mount -t tmpfs -o mode=755 none {top} && mkdir -p {inside} && "
            f"mount --bind {folder}/python {inside} && "
        )
        (folder / "python").mkdir()
    return ["unshare", "-m", "sh", "-ec", f'{show}cd {folder}; exec {drop} "$@"', "sh"]


IN_A_CHROOT = """
mount --make-rprivate /
for place in /*; do
    if [ -L "$place" ]; then cp -P "$place" "$1$place"
    elif [ -d "$place" ]; then mkdir "$1$place" && mount --rbind "$place" "$1$place"
    fi
done
echo built
exec chroot "$1" "$2" "$3" --earn
"""
"""A root folder that is no mount point: nothing that is mounted there can be made private, and no other root can take its place."""


def test_without_a_root_of_its_own_the_other_layers_hold(tmp_path, held):
    """In a chroot the kernel gives a mount namespace, and refuses what goes into it."""
    if os.geteuid() != 0:
        pytest.skip("only root can build a chroot")
    words = ["sh", "-ec", IN_A_CHROOT, "sh", str(tmp_path), sys.executable, str(Path(__file__).resolve())]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": "/tmp"}
    ended = subprocess.run(
        ["unshare", "-m", *words], capture_output=True, text=True, timeout=300, env=environment
    )
    if not ended.stdout.startswith("built"):
        pytest.skip(f"nothing can be mounted here: {ended.stderr[-500:]}")
    assert ended.returncode == 0, ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    assert told["missing"]["mount namespace"] == "mount: Invalid argument"
    assert "mount namespace" not in told["layers"]
    assert told["earned"]


def earned_in_full():
    with Engine(tiny.ITEMS, workers=1) as engine:
        job = tiny.job()
        ((_, ran),) = engine.run([job])
        full = tiny.earned(ran, job) == tiny.FULL
        return {"layers": engine.layers, "missing": engine.missing, "earned": full}


def test_the_room_hides_nothing_of_the_machine():
    """A checkout below a folder of that name would be gone: what answers import late would be missing, and count as wrong."""
    assert not ROOM.exists()
    assert not any(path.is_relative_to(ROOM) for path in libraries())


def as_plain_user(*words):
    """What this file prints last when it is called with these words and a folder by a plain user. Skips where there is none."""
    shown = Path(sys.base_prefix).resolve()
    for needed in (Path(sys.prefix).resolve(), HERE.resolve()):
        for place in () if needed.is_relative_to(shown) else (needed, *needed.parents):
            if place.stat().st_mode & 0o005 != 0o005:
                pytest.skip(f"a plain user cannot read {place}, which this needs: chmod a+rx {place}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        folder, own = Path(place), Path(place, "own")
        folder.chmod(0o755)
        own.mkdir()
        own.chmod(0o777)
        command = [*plain_user(folder), sys.executable, str(Path(__file__).resolve()), *words, str(own)]
        environment = {**os.environ, "HOME": str(own), "TMPDIR": str(own)}
        ended = subprocess.run(command, capture_output=True, text=True, timeout=2700, env=environment)
    if "unshare" in ended.stderr or "so they do not run" in ended.stderr:
        pytest.skip(f"no plain user, or no sandbox for one, to be had here: {ended.stderr[-500:]}")
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.parametrize("without", [[], ["user namespace"]], ids=str)
def test_nothing_escapes_a_plain_user(without):
    """The same in a process that is not root's, also where plain users may have no namespaces, as in Ubuntu since 24.04."""
    if os.geteuid() != 0:
        pytest.skip("this is a plain user's already")
    told = as_plain_user("--in", *without)
    assert told["user"] == 65534
    assert escaped(told["report"]) == {}
    assert told["noticed"] == []


# --- memory of all processes together ----------------------------------------------------------------------

TIGHT = replace(tiny.BRIEF, cell_cpu=20.0, cell_wall=20.0, probe_cpu=20, probe_wall=20.0, memory=400 << 20)
FILL = (
    "import mmap, os, subprocess, sys, time\ndef fill(size=95):\n    return bytearray(b'x') * (size << 20)\n"
)
TOGETHER = {
    "children": "for _ in range(5):\n    if os.fork() == 0:\n        held = fill()\n        time.sleep(60)\ntime.sleep(60)",
    "orphans of their own sessions": "for _ in range(5):\n    if os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n"
    "            held = fill()\n            time.sleep(60)\n        os._exit(0)\ntime.sleep(60)",
    "programs": "code = \"import time; held = bytearray(b'x') * (95 << 20); time.sleep(60)\"\n"
    "made = [subprocess.Popen([sys.executable, '-S', '-c', code]) for _ in range(5)]\ntime.sleep(60)",
    "shared memory": "for _ in range(5):\n    held = mmap.mmap(-1, 95 << 20)\n    if os.fork() == 0:\n        held.write(b'x' * (95 << 20))\n"
    "        time.sleep(60)\n    held.close()\ntime.sleep(60)",
    "copies on write": "held = fill(85)\nfor _ in range(5):\n    if os.fork() == 0:\n        held[::4096] = b'y' * len(held[::4096])\n"
    "        time.sleep(60)\ntime.sleep(60)",
    "a chain": "for _ in range(5):\n    if os.fork():\n        time.sleep(60)\n    held = fill()\ntime.sleep(60)",
    "children that stand still": "import signal\nfor _ in range(5):\n    if os.fork() == 0:\n        held = fill()\n"
    "        os.kill(os.getpid(), signal.SIGSTOP)\ntime.sleep(60)",
}  # fmt: skip
"""Each process takes less than one may, all together more than a submission may."""
ALLOWED = {
    "one large list": "held = fill(200)",
    "children that read what they share": "held = fill(150)\nmade = []\nfor _ in range(6):\n    pid = os.fork()\n    if pid == 0:\n"
    "        time.sleep(0.4)\n        os._exit(held[-1] != ord('x'))\n    made.append(pid)\nassert [os.waitpid(p, 0)[1] for p in made] == [0] * 6",
    "children one after the other": "for _ in range(6):\n    pid = os.fork()\n    if pid == 0:\n        held = fill()\n        os._exit(0)\n"
    "    os.waitpid(pid, 0)",
}  # fmt: skip
UNSEEN = "import os\nheld = os.memfd_create('held')\nos.write(held, bytes(1 << 20))"
"""Memory that belongs to no process; it is refused."""


def filled(cells, programs, without=()):
    """{name: the state of its cell, or its program}, and the layers, with the kernel's own count left out."""
    left_out = ["cgroup memory", *without]
    with Engine(tiny.ITEMS, TIGHT, workers=1, require_sandbox=not without, without=left_out) as engine:
        jobs = [tiny.job(name, extra={"1.1": FILL + cell}) for name, cell in cells.items()]
        jobs += [tiny.job(name, a2=FILL + program) for name, program in programs.items()]
        states = {}
        for job, ran in engine.run(jobs):
            probed = next(one for one in tiny.results(ran, job) if one.item == "1.2")
            own = {cell.id: cell.state for cell in ran.cells}.get("own-1", probed.state)
            lost = {"1.2": 0.0} if job.student in programs else {}
            assert tiny.earned(ran, job) == tiny.FULL | lost
            states[job.student] = own
    return states, list(engine.layers)


def all_filled():
    body = "".join(f"    {line}\n" for line in TOGETHER["children"].splitlines())
    return filled(TOGETHER | ALLOWED | {"unseen": UNSEEN}, {"in a probe": f"def double(x):\n{body}"})


def test_memory_is_added_up_for_a_plain_user():
    """Who has no cgroups: what each process may use, all of them together may."""
    if os.geteuid() == 0:
        told = as_plain_user("--fill")
        assert told["user"] == 65534
        states, layers = told["states"], told["layers"]
    else:
        states, layers = all_filled()
    assert means(layers)["memory of all processes"] == "watched"
    expected = dict.fromkeys(TOGETHER, "memory") | dict.fromkeys(ALLOWED, "ok")
    assert states == expected | {"in a probe": "memory", "unseen": "error"}


def test_nothing_else_adds_it_up(held):
    """Without the watch they would have it all."""
    soon = TOGETHER["children"].replace("sleep(60)", "sleep(2)")
    assert filled({"children": soon}, {}, ["watched memory"])[0] == {"children": "ok"}


# --- what is missing is said --------------------------------------------------------------------------------


def test_what_is_not_kept_is_refused():
    whole = [
        "mount namespace",
        "pid namespace",
        "network namespace",
        "resource limits",
        "process limit",
        "watched memory",
    ]
    assert refusal(whole, {}) == ""
    assert (
        refusal(
            [
                "Landlock ABI 7",
                "Landlock signals",
                "seccomp",
                "reaping",
                "resource limits",
                "cgroup pids",
                "cgroup memory",
            ],
            {},
        )
        == ""
    )
    for layer in whole:
        why = refusal([other for other in whole if other != layer], {layer: "Operation not permitted"})
        assert f"{layer}: Operation not permitted" in why
        assert "What to do:" in why
    assert "the network" in refusal(
        ["mount namespace", "pid namespace", "resource limits", "process limit", "cgroup memory"], {}
    )
    assert means(whole) == {
        "memory of a process": "rlimit", "memory of all processes": "watched", "number of processes": "rlimit", "size of a file": "rlimit",
        "size of all files": "a file system of its own", "number of open files": "rlimit",
    }  # fmt: skip
    assert means(["cgroup memory", "cgroup pids", *whole])["memory of all processes"] == "cgroup"
    assert set(means(["reaping"]).values()) == {"none"}


@pytest.mark.parametrize(
    "without",
    [
        ["mount namespace", "Landlock"],
        ["resource limits"],
        ["pid namespace", "Landlock signals", "seccomp"],
        ["cgroup", "watched memory"],
    ],
)
def test_a_sandbox_with_a_hole_is_refused(held, without):
    with (
        pytest.raises(SandboxError, match="so they do not run") as caught,
        Engine(tiny.ITEMS, workers=1, without=without),
    ):
        pytest.fail("it started")
    assert "left out on request" in str(caught.value)


def test_an_older_landlock_is_enough(tmp_path, held):
    """Without its signals, which came with ABI 6: the pid namespace or seccomp keep them."""
    report, noticed, layers = tried(tmp_path, ["Landlock signals"])
    assert "Landlock signals" not in layers
    assert escaped(report) == {}
    assert noticed == []


# --- the weaker mode: a process started for each submission, as on macOS and Windows ------------------------------


@pytest.fixture(scope="module")
def spawned():
    with Engine(tiny.ITEMS, tiny.BRIEF, workers=1, require_sandbox=False, fork=False) as engine:
        yield engine


def points(engine, job):
    ((_, ran),) = engine.run([job])
    return {result.item: (result.score, result.state) for result in tiny.results(ran, job)}


RIGHT = {"1.1": (2, "passed"), "1.2": (3, "passed"), "1.3": (4, "passed")}


def test_without_fork_the_same_is_earned(spawned):
    assert points(spawned, tiny.job()) == RIGHT
    assert points(spawned, tiny.job(a1="seven = 8"))["1.1"] == (0.5, "wrong")


def test_without_fork_what_is_missing_is_said(spawned):
    assert {"namespaces", "Landlock", "seccomp"} <= spawned.missing.keys()
    assert "resource limits" in spawned.layers
    with (
        pytest.raises(SandboxError, match="files of this machine"),
        Engine(tiny.ITEMS, workers=1, fork=False),
    ):
        pytest.fail("it started")


@pytest.mark.parametrize(
    ("source", "state"), [("import os\nos._exit(0)", "died"), ("while True:\n    pass", "timeout")]
)
def test_without_fork_a_cell_costs_its_own_item(spawned, source, state):
    assert points(spawned, tiny.job(a2=source)) == RIGHT | {"1.2": (0, state)}


def test_without_fork_a_probe_costs_itself(spawned):
    source = "def double(x):\n    if x > 100:\n        import os\n        os._exit(0)\n    return 2 * x"
    assert points(spawned, tiny.job(a2=source)) == RIGHT | {"1.2": (1, "died")}
    assert points(spawned, tiny.job()) == RIGHT


# --- by hand: python tests/grade/test_sandbox.py [LAYER ...]    what each try came to, with these layers left out -----


def main(words):
    if words[:1] == ["--in"]:
        report, noticed, layers = tried(Path(words[-1]), words[1:-1])
        print(json.dumps({"user": os.getuid(), "layers": layers, "report": report, "noticed": noticed}))
        return
    if words[:1] == ["--fill"]:
        states, layers = all_filled()
        print(json.dumps({"user": os.getuid(), "layers": layers, "states": states}))
        return
    if words[:1] == ["--earn"]:
        print(json.dumps(earned_in_full()))
        return
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o777)
        report, noticed, layers = tried(Path(place), words, require=not words)
    print("layers:", ", ".join(layers))
    for name, (how, what) in report.items():
        print(f"{how:9} {name:32} {what[:110]}")
    print("outside:", noticed)


if __name__ == "__main__":
    main(sys.argv[1:])


def test_a_library_that_links_to_what_is_outside_is_readable(tmp_path, monkeypatch):
    """Debian's Python has its `sitecustomize` in /etc, which the sandbox does not show."""
    zone = sandbox.Zone.__new__(sandbox.Zone)
    zone.layers, zone.missing, zone._user = ["mount namespace"], {}, None
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(sandbox.sysconfig, "get_path", lambda name: str(tmp_path))
    tmp_path.chmod(0o755)
    (tmp_path / "sitecustomize.py").symlink_to("/nowhere/sitecustomize.py")
    zone._choose_user()
    assert zone._user is not None
    assert not zone.missing
    zone._user = None
    (tmp_path / "secret.py").touch(mode=0o600)
    zone._choose_user()
    assert zone._user is None
    assert "own user" in zone.missing


def test_a_group_that_another_grader_has_just_made_stays(tmp_path, monkeypatch):
    """Two that start at once: each clears what killed ones have left, and a new group is as empty as those."""
    monkeypatch.setattr(sandbox, "_cgroup_folders", lambda: [({"pids"}, tmp_path, False)])
    theirs, dead = tmp_path / f"autograd-lab-{os.getppid()}", tmp_path / "autograd-lab-99999999"
    theirs.mkdir()
    dead.mkdir()
    own = sandbox.join_cgroups(Limits(), {"pids"})["pids"]
    assert {path.name for path in tmp_path.iterdir()} == {theirs.name, own.name}
