"""Isolates a submission with what the machine offers.

On Linux, from Python alone (ctypes), for root and for a plain user:

    mount namespace      its own root: the libraries, read-only, and one small folder in memory to write to; nothing else exists
    pid namespace        it sees no other process, and when it ends, so does everything that it started
    network namespace    no network
    ipc namespace        no shared memory or queues with others
    user namespace       allows a plain user to create the others; root uses a separate user id instead
    Landlock             the kernel refuses files and TCP ports by path and number, signals to the outside, tracing
    seccomp              the kernel refuses sockets, tracing, mounting, new namespaces, keys, bpf, io_uring, and to set the limits and
                         the priority of other processes; without a root of its own also to set the rights, owners and times of
                         files, which Landlock does not know
    resource limits      memory, processor time, files, processes
    cgroup               memory and processes of a submission together, where a folder for it can be made
    watching             memory of a submission's processes together, where there is no cgroup: the engine adds it up

Each is tried; what fails is left out and reported. GUARDS says which of them protect what: there is more than one way to be safe, and
`refusal` names what is not covered. macOS and Windows have resource limits at most.

A worker calls `enter` before it loads anything (namespaces need a process without threads), `close` when everything is loaded, and for each
submission `fork` and, in the child, `confine`. A layer that worked when it was tried must work for every submission, or the submission does
not run.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import math
import os
import platform
import re
import signal
import socket
import struct
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from autograd_lab.grade.files import clear
from autograd_lab.grade.model import Limits

GUARDS: dict[str, tuple[tuple[str, ...], ...]] = {
    "the files of this machine": (("mount namespace",), ("Landlock", "seccomp")),
    "the network": (("network namespace", "mount namespace"), ("seccomp",)),
    "signals to other processes": (("pid namespace",), ("Landlock signals",), ("seccomp",)),
    "processes left running": (("pid namespace",), ("reaping",)),
    "memory and processor time": (("resource limits",),),
    "the memory of all its processes together": (("cgroup memory",), ("watched memory",)),
    "the number of processes": (("process limit",), ("cgroup pids",)),
}
"""What a submission is isolated from, and the layers that do it: any one of the groups, with all of its layers."""

HOLDS: dict[str, tuple[tuple[str, str], ...]] = {
    "memory of a process": (("resource limits", "rlimit"),),
    "memory of all processes": (("cgroup memory", "cgroup"), ("watched memory", "watched")),
    "number of processes": (("cgroup pids", "cgroup"), ("process limit", "rlimit")),
    "size of a file": (("resource limits", "rlimit"),),
    "size of all files": (("mount namespace", "a file system of its own"),),
    "number of open files": (("resource limits", "rlimit"),),
}
"""{limit: the layers that can hold it, the first active one does, and what it is called}. The engine itself holds the limits of time."""


def means(layers: Sequence[str]) -> dict[str, str]:
    """{limit: what holds it with these layers}: "cgroup", "rlimit", "watched", ..., or "none"."""
    return {
        what: next((name for layer, name in ways if layer in layers), "none") for what, ways in HOLDS.items()
    }


ROOM = Path("/autograd-lab-room")
"""The working folder of a submission that has a root of its own.

It hides whatever the machine has under that name, libraries included, so it is a name that no machine uses.
"""


class SandboxError(RuntimeError):
    """A required layer of the sandbox is missing."""


def refusal(layers: Sequence[str], missing: dict[str, str]) -> str:
    """Why submissions must not run with these layers, and what to do; "" if they may."""
    active = {re.sub(r" ABI \d+$", "", layer) for layer in layers}
    open_ = [what for what, ways in GUARDS.items() if not any(set(way) <= active for way in ways)]
    if not open_:
        return ""
    reasons = "".join(f"\n  {layer}: {why}" for layer, why in missing.items())
    return (
        f"submissions would not be kept from {', '.join(open_)}, so they do not run.\n"
        f"What is missing on this machine, and why:{reasons}\n"
        "What to do: allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, on Ubuntu 24.04 and later\n"
        "kernel.apparmor_restrict_unprivileged_userns=0), or use a kernel with Landlock (5.13 or later) outside of a container\n"
        "that forbids both, or grade in a virtual machine that holds nothing else and say --no-require-sandbox."
    )


# --- system calls ---------------------------------------------------------------------------------------------

CLONE_NEWNS, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x04000000, 0x08000000
CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET = 0x10000000, 0x20000000, 0x40000000
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND, MS_REC, MS_PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECCOMP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = (
    4,
    24,
    22,
    36,
    38,
)
# These numbers are the same on every architecture, as all numbers since Linux 5.2 are.
MOUNT_SETATTR, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 442, 444, 445, 446

_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def _call(name: str, *arguments: Any) -> int:
    """A function of the C library. Raises OSError if it fails."""
    result = int(getattr(_libc, name)(*arguments))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def _syscall(number: int, *arguments: Any) -> int:
    return _call("syscall", ctypes.c_long(number), *arguments)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    _call("mount", source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), options.encode())


def _read_only(target: str, recursive: bool) -> None:
    """Make what is mounted at `target`, and in it, read-only, without devices and without set-uid programs."""
    attributes = struct.pack("=QQQQ", 0x1 | 0x2 | 0x4, 0, 0, 0)  # rdonly, nosuid, nodev
    flags = AT_RECURSIVE if recursive else 0
    _syscall(MOUNT_SETATTR, AT_FDCWD, target.encode(), flags, attributes, ctypes.c_size_t(len(attributes)))


# --- seccomp --------------------------------------------------------------------------------------------------

# Names of system calls and their numbers on x86-64 and on 64-bit ARM; None where the call does not exist.
_REFUSED: dict[str, tuple[int, int]] = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_getfd": (438, 438), "process_madvise": (440, 440),
    "keyctl": (250, 219), "add_key": (248, 217), "request_key": (249, 218),
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "io_uring_enter": (426, 426), "io_uring_register": (427, 427),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "setns": (308, 268),
    "unshare": (272, 97), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225),
    "open_by_handle_at": (304, 265), "socket": (41, 198),
    "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    # these take numbers, which can be guessed:
    "shmat": (30, 196), "shmctl": (31, 195), "msgsnd": (69, 189), "msgrcv": (70, 188), "msgctl": (71, 187),
    "semop": (65, 193), "semtimedop": (220, 192), "semctl": (66, 191),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),  # files in memory, which no process seems to use
    "move_pages": (279, 239), "migrate_pages": (256, 238),
}  # fmt: skip
_CHANGES: dict[str, tuple[int, int]] = {
    "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "fchown": (93, 55), "fchownat": (260, 54),
    "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463), "removexattrat": (466, 466),
    "inotify_add_watch": (254, 27), "fanotify_mark": (301, 263),
    # only x86-64 has these; newer calls replace them
    "chmod": (90, 53), "chown": (92, 54), "lchown": (94, 54), "utime": (132, 88), "utimes": (235, 88), "futimesat": (261, 88),
}  # fmt: skip
"""What Landlock does not know: rights, owners, times and attributes of files, and to be told what happens in a folder."""
_SOCKETPAIR = (53, 199)
_KILLS: dict[str, tuple[int, int]] = {"kill": (62, 129), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138)}
_KILLS_OTHER: dict[str, tuple[int, int]] = {
    "tkill": (200, 130),
    "rt_tgsigqueueinfo": (297, 240),
    "pidfd_send_signal": (424, 424),
}
_ON_A_PROCESS: dict[str, tuple[int, int]] = {
    "prlimit64": (302, 261),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122),
}
"""What sets limits, priority or processors of any process of the same user; the first argument says which one, 0 is the caller."""
_ON_SOME: dict[str, tuple[tuple[int, int], int]] = {
    "setpriority": ((141, 140), 0),
    "ioprio_set": ((251, 30), 1),
}
"""The same for a process, a group or all of a user: the first argument says which of these, the number here is a process."""
_NEWEST = 466
"""The newest system call that was looked at, of Linux 6.13. The C library does without later ones, as on an older kernel."""
_CLONE, _CLONE3 = (56, 220), 435
_NAMESPACES = 0x7E020000  # the flags of clone that make namespaces
_MACHINES = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
_AND = 0x54
_ALLOW, _REFUSE, _NO_SUCH_CALL = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38  # EPERM, ENOSYS


def _filter(no_kill: bool, no_change: bool) -> bytes:
    """The program that the kernel runs before each system call. Limits and priority are only set for the process itself.

    With `no_kill`, signals only to the process itself. With `no_change`, what Landlock does not know of files is refused as well.

    Raises OSError for an architecture whose numbers are not known here.
    """
    if platform.machine() not in _MACHINES:
        raise OSError(f"no table of system calls for {platform.machine()}")
    audit, column = _MACHINES[platform.machine()]

    def step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
        return struct.pack("=HBBI", code, yes, no, value)

    load, equal, bits, at_least, leave = 0x20, 0x15, 0x45, 0x35, 0x06
    number, machine, argument = 0, 4, 16  # offsets in what the program sees
    steps = [step(load, machine), step(equal, audit, 1, 0), step(leave, _REFUSE), step(load, number)]
    steps += [step(at_least, 0x40000000, 0, 1), step(leave, _REFUSE)]  # the x32 variants of the same calls
    steps += [step(at_least, _NEWEST + 1, 0, 1), step(leave, _NO_SUCH_CALL)]
    others = [*(_KILLS_OTHER.values() if no_kill else ()), *(_CHANGES.values() if no_change else ())]
    for numbers in [*_REFUSED.values(), *others]:
        steps += [step(equal, numbers[column], 0, 1), step(leave, _REFUSE)]
    steps += [step(equal, _SOCKETPAIR[column], 0, 4), step(load, argument + 8), step(_AND, 0xF)]
    steps += [
        step(equal, socket.SOCK_STREAM, 1, 0),
        step(leave, _REFUSE),
        step(load, number),
    ]  # datagrams can be sent to named addresses
    steps += [
        step(equal, _CLONE3, 0, 1),
        step(leave, _NO_SUCH_CALL),
    ]  # its flags cannot be inspected; libc falls back to clone
    steps += [step(equal, _CLONE[column], 0, 4), step(load, argument), step(bits, _NAMESPACES, 0, 1)]
    steps += [step(leave, _REFUSE), step(leave, _ALLOW)]
    allowed = [
        step(equal, 0, 2, 0),
        step(equal, os.getpid(), 1, 0),
        step(leave, _REFUSE),
        step(leave, _ALLOW),
    ]
    for numbers in _ON_A_PROCESS.values():
        steps += [step(equal, numbers[column], 0, 5), step(load, argument), *allowed]
    for numbers, process in _ON_SOME.values():
        steps += [step(equal, numbers[column], 0, 7), step(load, argument), step(equal, process, 0, 3)]
        steps += [step(load, argument + 8), *allowed]
    if no_kill:
        for numbers in _KILLS.values():
            steps += [
                step(equal, numbers[column], 0, 4),
                step(load, argument),
                step(equal, os.getpid(), 1, 0),
            ]
            steps += [step(leave, _REFUSE), step(leave, _ALLOW)]
    steps.append(step(leave, _ALLOW))
    return b"".join(steps)


def _refuse_calls(no_kill: bool, no_change: bool) -> None:
    program = _filter(no_kill, no_change)
    buffer = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("@HP", len(program) // 8, ctypes.addressof(buffer))
    _call("prctl", PR_SET_SECCOMP, ctypes.c_ulong(2), header, ctypes.c_ulong(0), ctypes.c_ulong(0))


# --- Landlock -------------------------------------------------------------------------------------------------

_READ = 0b1101  # execute, read a file, read a folder
_READ_FOLDER = 0b1000
_READ_WRITE_FILE = 0b0110
_TRUNCATE, _DEVICE = 1 << 14, 1 << 15


def landlock_abi() -> int:
    """The version of Landlock that the kernel offers. Raises OSError if it offers none."""
    return _syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1)


def _landlock(rules: Sequence[tuple[Path, int]], abi: int) -> None:
    """Refuse everything in the file system but `rules`, (path, rights); TCP; and from ABI 6 signals to the outside."""
    files = (
        (1 << 13) - 1
        | (1 << 13 if abi >= 2 else 0)
        | (_TRUNCATE if abi >= 3 else 0)
        | (_DEVICE if abi >= 5 else 0)
    )
    attributes = struct.pack("=QQQ", files, 3, 3)[: 24 if abi >= 6 else 16 if abi >= 4 else 8]
    ruleset = _syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    try:
        for path, rights in rules:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
            try:
                if not os.path.isdir(path):  # noqa: PTH112 (in a hot place)
                    rights &= 0b0111 | _TRUNCATE | _DEVICE
                _syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights & files, handle), 0)
            finally:
                os.close(handle)
        _syscall(LANDLOCK_RESTRICT, ruleset, 0)
    finally:
        os.close(ruleset)


# --- which files a submission may read --------------------------------------------------------------------------


def libraries() -> list[Path]:
    """The folders and files of Python and its libraries, without the rest of the folders around them."""
    import autograd_lab

    found: list[Path] = []
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix, "/usr", "/"}:
        found += [
            Path(prefix) / name for name in ("bin", "lib", "lib32", "lib64", "libexec", "share", "pyvenv.cfg")
        ]
    found += [Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib")]
    found += [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    found += [Path(entry) for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry]
    found += [
        Path("/etc") / name for name in ("ld.so.cache", "fonts", "localtime", "alternatives", "mime.types")
    ]
    found += [Path("/nix/store"), Path(autograd_lab.__file__).parent]
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            mapped = line.partition("/")[2]
            if ".so" in mapped:
                found.append(Path("/" + mapped))
    kept: list[Path] = []
    for path in sorted({path for path in found if path.exists()}, key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(other) for other in kept):
            kept.append(path)
    return kept


def answers() -> list[Path]:
    """Paths among the libraries with answers to the exercises: the files that the notebooks check themselves with."""
    import autograd_lab

    roots = [Path(autograd_lab.__file__).parent, *(Path(entry) / "autograd_lab" for entry in sys.path)]
    return sorted({root / "course" / "items" for root in roots if (root / "course" / "items").is_dir()})


def _around(path: Path, private: Sequence[Path]) -> Iterator[tuple[Path, int]]:
    """Landlock rules to read `path` but not what is private in it: a rule can only be added, never taken back."""
    real = path.resolve()
    if any(real.is_relative_to(secret) for secret in private):
        return
    if not any(secret.is_relative_to(real) for secret in private):
        yield real, _READ
        return
    yield real, _READ_FOLDER
    for child in sorted(real.iterdir()):
        if not child.is_symlink():
            yield from _around(child, private)


# --- cgroups ------------------------------------------------------------------------------------------------------


def _cgroup_folders() -> Iterator[tuple[set[str], Path, bool]]:
    """(controllers, a folder in which groups for them can be made, whether it is version 2), most likely first."""
    mounts: dict[str, Path] = {}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        kind, _, options = right.split(" ", 2)
        if kind == "cgroup":
            mounts.update({option: Path(left.split()[4]) for option in options.split(" ")[-1].split(",")})
        elif kind == "cgroup2":
            mounts[""] = Path(left.split()[4])
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for controller in controllers.split(","):
            if controller not in mounts or (controller and controller not in ("pids", "memory")):
                continue
            own = mounts[controller] / path.lstrip("/")
            if controller:
                yield {controller}, own, False
                continue
            for folder in (own, own.parent):
                with contextlib.suppress(OSError):
                    yield set((folder / "cgroup.subtree_control").read_text().split()), folder, True


def join_cgroups(limits: Limits, kinds: set[str]) -> dict[str, Path]:
    """Put this process into groups of its own for `kinds`: {"pids": folder, "memory": folder}, as far as possible."""
    joined: dict[str, Path] = {}
    for controllers, parent, second in _cgroup_folders():
        wanted = kinds & controllers - joined.keys()
        if not wanted or not os.access(parent, os.W_OK):
            continue
        for old in parent.glob("autograd-lab-*"):  # left by graders that were killed
            # A group in use cannot be removed, but one that another grader has just made is not in use yet.
            if not Path("/proc", old.name.rpartition("-")[2]).exists():
                with contextlib.suppress(OSError):
                    old.rmdir()
        group = parent / f"autograd-lab-{os.getpid()}"
        try:
            group.mkdir()
            if "pids" in wanted:
                (group / "pids.max").write_text(str(limits.processes + 8))
            if "memory" in wanted:
                most = str(limits.memory + (256 << 20))  # the libraries of the worker count as well
                (group / ("memory.max" if second else "memory.limit_in_bytes")).write_text(most)
            (group / "cgroup.procs").write_text(str(os.getpid()))
            joined.update(dict.fromkeys(wanted, group))
        except OSError:
            with contextlib.suppress(OSError):
                group.rmdir()
    return joined


# --- the parts together -------------------------------------------------------------------------------------------


def limit_cpu(seconds: int) -> None:
    """Send this process a signal after this many more seconds of CPU time; the signal ends it unless it is ignored."""
    import resource

    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    most = math.ceil(time.process_time() + seconds)
    resource.setrlimit(
        resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard)
    )


def cpu_of(pid: int) -> float:
    """Seconds of CPU time that a process has used so far. Raises OSError if it does not exist."""
    return time.clock_gettime((~pid << 3) | 2)  # the kernel's id for the CPU clock of another process


_RESIDENT = ("RssAnon", "RssShmem", "VmSwap")
_SHARES = ("Pss_Anon", "Pss_Shmem", "SwapPss")


def memory_of(pid: int, most: int, itself: bool = True) -> int:
    """Bytes of memory that a process (unless not `itself`) and all its descendants use together.

    Pages that they share count once. That takes a while to find out: up to `most` it may be more than they use. Raises OSError
    where the kernel does not tell the children of a process.
    """
    tree = _descendants(pid)[0 if itself else 1 :]
    total = sum(_memory(one, "status", _RESIDENT) for one in tree)
    if total <= most:
        return total
    return sum(_memory(one, "smaps_rollup", _SHARES) for one in tree)


def _memory(pid: int, name: str, fields: Sequence[str]) -> int:
    """The sum of some fields in a file about a process, 0 if it has ended."""
    try:
        text = Path(f"/proc/{pid}/{name}").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    except PermissionError:  # then what it shares with others counts for each of them
        return _memory(pid, "status", _RESIDENT) if fields is _SHARES else 0
    found = dict(re.findall(r"^(\w+):\s+(\d+) kB", text, re.MULTILINE))
    if fields is _SHARES and "Pss_Anon" not in found:  # an older kernel
        fields = ("Pss", "SwapPss")
    return 1024 * sum(int(found.get(field, 0)) for field in fields)


def _descendants(pid: int) -> list[int]:
    """A process and all that it and those have started. Raises OSError where the kernel does not tell the children."""
    with open(f"/proc/{os.getpid()}/task/{os.getpid()}/children"):  # noqa: PTH123 (in a hot place)
        found = [pid]
    for one in found:  # grows while it is read
        with contextlib.suppress(OSError):  # it may end while we look
            for thread in os.listdir(f"/proc/{one}/task"):  # noqa: PTH208
                with open(f"/proc/{one}/task/{thread}/children") as file:  # noqa: PTH123
                    found += map(int, file.read().split())
    return found


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parents have ended."""
    _call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Zone:
    """The environment in which the submissions of one worker run.

    specification   {"limits": ..., "private": paths that no submission may see, "without": layers not to use, for tests}
    """

    def __init__(self, specification: dict[str, Any]) -> None:
        self.limits = Limits(**specification["limits"])
        self.layers: list[str] = []
        """The active layers."""
        self.missing: dict[str, str] = {}
        """The others, and why."""
        self.cgroups: dict[str, Path] = {}
        """Groups to remove at the end: {"pids": folder, "memory": folder}."""
        self._without = specification.get("without", [])
        self._private = [Path(path).resolve() for path in specification.get("private", [])]
        self._trying = True  # until all layers of this machine have been tried
        self._rules: list[tuple[Path, int]] = []  # for Landlock
        self._user: int | None = None  # the user id of submissions, if root can choose one
        self._folder = ""
        self._pids = -1  # this process's own pid namespace, to return to
        self._kills = -1  # the file in which the kernel counts processes killed for using too much memory
        self._killed = 0
        self._proc = -1  # the /proc outside, which the new root may lack

    def _layer(self, name: str, action: Callable[[], object]) -> bool:
        """Apply a layer; returns whether it is on. A layer that worked when it was tried must work for every submission."""
        if not self._trying:
            if name in self.layers:
                action()
            return name in self.layers
        if any(name.startswith(other) for other in self._without):
            self.missing[name] = "left out on request"
            return False
        try:
            action()
        except (OSError, AttributeError) as error:  # an old C library lacks the function
            self.missing[name] = getattr(error, "strerror", None) or str(error)
            return False
        self.layers.append(name)
        return True

    # --- in the worker

    def enter(self) -> None:
        """Apply the layers that need a process without threads. Returns in a new process if there is a pid namespace."""
        self._proc = os.open("/proc", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self._layer("cgroup pids", lambda: self._join("pids"))
        self._layer("cgroup memory", lambda: self._join("memory"))
        own = os.geteuid() == 0 and self._layer("mount namespace", lambda: _call("unshare", CLONE_NEWNS))
        if not own and self._layer("user namespace", self._new_user):
            self.missing.pop("mount namespace", None)
            self._layer("mount namespace", lambda: _call("unshare", CLONE_NEWNS))
        adopt_orphans()
        self._layer("pid namespace", self._new_pids)

    def _join(self, controller: str) -> None:
        if not self.cgroups:
            left_out = {
                kind for kind in ("pids", "memory") if f"cgroup {kind}".startswith(tuple(self._without))
            }
            self.cgroups = join_cgroups(self.limits, {"pids", "memory"} - left_out)
        group = self.cgroups.get(controller)
        if group is None:
            raise OSError("no folder in which a group could be made")
        if controller == "memory":
            name = next(name for name in ("memory.events", "memory.oom_control") if (group / name).exists())
            self._kills = os.open(group / name, os.O_RDONLY | os.O_CLOEXEC)

    def _new_user(self) -> None:
        user, group = os.geteuid(), os.getegid()
        _call("unshare", CLONE_NEWUSER)
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")

    def _new_pids(self) -> None:
        """Continue in a child that is the first process of a pid namespace; submissions get namespaces inside it."""
        _call("unshare", CLONE_NEWPID)
        pid = os.fork()
        if pid:
            os.closerange(3, 1 << 16)
            os.waitpid(pid, 0)
            os._exit(0)
        self._pids = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def close(self) -> None:
        """Build the submissions' root, and try the other layers on an empty submission."""
        private = [*self._private, *answers()]
        if "mount namespace" in self.layers:
            self._try_new_root(private)
        if "mount namespace" not in self.layers:
            self._rules = [rule for path in libraries() for rule in _around(path, private)]
        self._choose_user()
        reader, writer = os.pipe()
        pid = self.fork()
        if pid == 0:
            try:
                self.confine([writer])
                os.write(writer, json.dumps([self.layers, self.missing]).encode())
            except BaseException as error:
                os.write(writer, json.dumps(f"{type(error).__name__}: {error}").encode())
            finally:
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as told:
            outcome = json.load(told)
        os.waitpid(pid, 0)
        self.clean()
        if isinstance(outcome, str):
            raise SandboxError(f"the sandbox could not be put together: {outcome}")
        self.layers, self.missing = outcome
        if "pid namespace" not in self.layers:
            self.layers.append("reaping")
        self._trying = False

    def _choose_user(self) -> None:
        """A user id for submissions, if this is root and others may read the libraries."""
        if os.geteuid() != 0 or "user namespace" in self.layers:
            return
        roots = [Path(os.__file__).parent, Path(sysconfig.get_path("purelib")), Path(__file__).parent]
        readable = all(root.stat().st_mode & 0o005 == 0o005 for root in roots)
        files = (file for root in roots for file in root.glob("*.py"))
        readable &= all(
            file.stat().st_mode & 0o004 for file in files if file.exists()
        )  # Debian links some to /etc
        if "mount namespace" not in self.layers:  # then the folders above must be readable too
            readable &= all(
                parent.stat().st_mode & 0o001 for root in roots for parent in root.resolve().parents
            )
        if readable:
            self._user = (
                60_000 + int(time.time() * 1000) % 5_000
            )  # not another worker's id: processes are counted by user
        else:
            self.missing["own user"] = "only root may read the libraries"

    def _try_new_root(self, private: Sequence[Path]) -> None:
        """Build a root folder; where the kernel gives a mount namespace and yet refuses what goes into it, do without.

        So it is in a chroot, under some security modules, and with kernels before 5.12.
        """
        here = Path.cwd()
        try:
            self._new_root(private)
        except OSError as error:
            os.chdir(here)
            self.layers.remove("mount namespace")
            self.missing["mount namespace"] = str(error.strerror or error)

    def _new_root(self, private: Sequence[Path]) -> None:
        """A root folder with the libraries in it, read-only, under the same paths as outside."""
        _mount("none", "/", "", MS_REC | MS_PRIVATE)
        readable = libraries()
        base = tempfile.mkdtemp(prefix="autograd-lab-root-", dir=Path.cwd())
        _mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755,size=4m")
        for path in readable:
            self._expose(base, path)
        for secret in private:
            inside = base + str(secret)
            if os.path.isdir(inside):  # noqa: PTH112
                _mount("tmpfs", inside, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "mode=755,size=4k")
            elif os.path.exists(inside):  # noqa: PTH110
                _mount("/dev/null", inside, "", MS_BIND)
        device = Path(base, "dev")
        device.mkdir()
        for name in ("null", "zero", "full", "random", "urandom"):
            (device / name).touch()
            _mount(f"/dev/{name}", str(device / name), "", MS_BIND)
        (device / "fd").symlink_to("/proc/self/fd")
        (device / "shm").symlink_to(ROOM)
        for name in ("proc", ROOM.name):
            Path(base, name).mkdir(exist_ok=True)
        if "pid namespace" in self.layers:
            with contextlib.suppress(OSError):  # some containers do not allow it; then there is no /proc
                _mount("proc", str(Path(base, "proc")), "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
        if not Path(base, "tmp").exists():
            Path(base, "tmp").symlink_to(ROOM)
        _read_only(base, recursive=False)
        os.chdir(base)
        old = os.open("/", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        _call("pivot_root", b".", b".")
        os.fchdir(old)
        _call("umount2", b".", MNT_DETACH)
        os.close(old)
        os.chdir("/")

    def _expose(self, base: str, path: Path, depth: int = 0) -> None:
        """Make `path` visible in the new root, with the links on the way to it."""
        here = Path("/")
        for number, part in enumerate(path.parts[1:], start=1):
            here = here / part
            inside = Path(base + str(here))
            if here.is_symlink():
                if not inside.is_symlink() and not inside.exists():
                    inside.symlink_to(here.readlink())
                target = Path(os.path.normpath(here.parent / here.readlink()), *path.parts[number + 1 :])
                if depth < 20:
                    self._expose(base, target, depth + 1)
                return
            if os.path.ismount(inside):
                return  # it, or a folder above it, is already visible
            if here != path:
                inside.mkdir(exist_ok=True)
        if path.is_dir():
            inside.mkdir(exist_ok=True)
        else:
            inside.touch()
        _mount(str(path), str(inside), "", MS_BIND | MS_REC)
        _read_only(str(inside), recursive=True)

    # --- for each submission, in the worker

    def fork(self) -> int:
        """A process for a submission, the first of a pid namespace of its own. Returns 0 in it, as os.fork does."""
        self._killed = self._memory_kills()
        if "mount namespace" not in self.layers:
            self._folder = tempfile.mkdtemp(prefix="autograd-lab-submission-")
            if self._user is not None:
                os.chown(self._folder, self._user, self._user)
        if "pid namespace" not in self.layers:
            return os.fork()
        _call(
            "unshare", CLONE_NEWPID
        )  # of the children, the first of which is its init: all others end with it
        pid = -1
        try:
            pid = os.fork()
        finally:
            if pid:
                _call("setns", self._pids, CLONE_NEWPID)
        return pid

    def clean(self) -> bool:
        """Clean up after a submission. Returns whether it was killed for using too much memory."""
        if "pid namespace" not in self.layers:
            _reap(self._proc)
        if self._folder:
            clear(Path(self._folder))
            self._folder = ""
        return self._memory_kills() > self._killed

    def _memory_kills(self) -> int:
        if self._kills < 0:
            return 0
        found = re.search(rb"oom_kill (\d+)", os.pread(self._kills, 1000, 0))
        return int(found[1]) if found else 0

    # --- in the submission's process

    def confine(self, keep: Sequence[int]) -> None:
        """Give up everything except the open files in `keep`. Raises OSError if a layer fails that worked before."""
        os.setsid()
        _close_files(keep)
        with contextlib.suppress(OSError):  # if memory runs out on the machine, this goes first
            Path("/proc/self/oom_score_adj").write_text("1000")
        self._layer("network namespace", lambda: _call("unshare", CLONE_NEWNET))
        self._layer("ipc namespace", lambda: _call("unshare", CLONE_NEWIPC))
        if self._layer("host name", lambda: _call("unshare", CLONE_NEWUTS)):
            _call("sethostname", b"grading", ctypes.c_size_t(7))
        if "mount namespace" in self.layers:
            self._furnish()
        folder = str(ROOM) if "mount namespace" in self.layers else self._folder
        os.chdir(folder)
        os.environ.update(HOME=folder, TMPDIR=folder)
        tempfile.tempdir = None
        self._layer("resource limits", self._limit)
        if self._user is not None:
            self._layer("own user", self._change_user)
        if os.getuid() != 0:
            self._layer("process limit", self._limit_processes)
        elif self._trying:
            self.missing["process limit"] = "it does not bind root"
        _drop_rights()
        self._lock()
        known = {"pid namespace", "Landlock signals"} & set(self.layers)
        own_root = "mount namespace" in self.layers
        self._layer("seccomp", lambda: _refuse_calls(no_kill=not known, no_change=not own_root))

    def _furnish(self) -> None:
        """A folder to write to, in memory, and a /proc that shows this submission only."""
        _call("unshare", CLONE_NEWNS)
        if os.path.ismount("/proc"):
            _mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY)
        user = os.getuid() if self._user is None else self._user
        options = f"mode=700,size={self.limits.folder},nr_inodes=4096,uid={user}"
        _mount("tmpfs", str(ROOM), "tmpfs", MS_NOSUID | MS_NODEV, options)

    def _limit(self) -> None:
        import resource

        limits = self.limits
        for kind, most in (
            (resource.RLIMIT_AS, limits.memory),
            (resource.RLIMIT_FSIZE, limits.file),
            (resource.RLIMIT_NOFILE, limits.files),
            (resource.RLIMIT_CORE, 0),
            (resource.RLIMIT_CPU, int(limits.job_wall)),
        ):
            hard = resource.getrlimit(kind)[1]
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.setrlimit(kind, (most, most))

    def _limit_processes(self) -> None:
        import resource

        most = self.limits.processes
        if self._user is None and not ("user namespace" in self.layers and _kernel() >= (5, 14)):
            most += _processes_of(os.getuid())  # the kernel counts everything that this user runs
        resource.setrlimit(resource.RLIMIT_NPROC, (most, most))

    def _change_user(self) -> None:
        os.setgroups([])
        os.setresgid(self._user, self._user, self._user)  # type: ignore[arg-type]
        os.setresuid(self._user, self._user, self._user)  # type: ignore[arg-type]
        _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)  # as for every process that has not changed its user

    def _lock(self) -> None:
        """Apply Landlock, which needs no folders of its own: the second barrier with namespaces, the first without."""
        if "mount namespace" in self.layers:
            rules = [(Path("/"), _READ), (ROOM, (1 << 16) - 1), (Path("/dev"), _READ_WRITE_FILE | _DEVICE)]
        else:
            devices = [Path("/dev", name) for name in ("null", "zero", "full", "random", "urandom")]
            rules = [*self._rules, (Path(self._folder), (1 << 16) - 1)]
            rules += [(device, _READ_WRITE_FILE | _DEVICE) for device in devices if device.exists()]
        _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        try:
            abi = min(landlock_abi(), 5 if "Landlock signals" in self._without else 99)
        except OSError as error:
            self.missing["Landlock"] = error.strerror or str(error)
            return
        if self._layer(f"Landlock ABI {abi}", lambda: _landlock(rules, abi)) and self._trying:
            if abi >= 6:
                self.layers.append("Landlock signals")
            else:
                self.missing["Landlock signals"] = f"they need ABI 6 or later, this is {abi}"

    # --- without namespaces

    def weaken(self) -> None:
        """Set the limits of a process that was started for one submission, on any system."""
        self.missing = dict.fromkeys(
            ("namespaces", "Landlock", "seccomp"), "not in a process that is started, not forked"
        )
        if sys.platform == "win32":
            self.missing["resource limits"] = "Windows has none for a process"
        else:
            self._layer("resource limits", self._limit)


def _close_files(keep: Sequence[int]) -> None:
    """Close all open files except some, and replace the standard ones with the null device."""
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    low = 3
    for number in sorted(keep):
        os.closerange(low, number)
        low = number + 1
    os.closerange(low, 1 << 20)


def _drop_rights() -> None:
    """Give up root's privileges permanently; a plain user has none."""
    with contextlib.suppress(OSError):  # the end of the list
        for capability in range(64):
            _call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
    header, nothing = struct.pack("=Ii", 0x20080522, 0), bytes(24)
    _call("capset", header, nothing)


def _kernel() -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", platform.release())[:2])


def _processes_of(user: int) -> int:
    """How many threads a user has, as far as /proc shows."""
    count = 0
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it may end while we look
            if entry.stat().st_uid == user:
                count += sum(1 for _ in (entry / "task").iterdir())
    return count


def _reap(proc: int) -> None:
    """End the processes that a submission has left running: as orphans they are now children of this process.

    `proc` is the open folder /proc.
    """
    end = time.monotonic() + 10
    while time.monotonic() < end:
        for child in _children(proc):
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _children(proc: int) -> list[int]:
    def read(name: str) -> str:
        with os.fdopen(os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=proc)) as file:
            return file.read()

    own = os.getpid()
    with contextlib.suppress(FileNotFoundError):  # not every kernel is built with this list
        return [int(pid) for pid in read(f"self/task/{own}/children").split()]
    found = []
    for name in os.listdir(proc):
        if name.isdigit():
            with contextlib.suppress(OSError):  # it may end while we look
                if int(read(f"{name}/stat").rpartition(")")[2].split()[1]) == own:
                    found.append(int(name))
    return found
