"""Ways out of the sandbox, tried from inside it: this file runs as a cell of a submission, and says how each of them ended.

An action that raises OSError is blocked. One that returns a text starting with "harmless" did something that concerns nobody
else; any other text says what came out. Each runs in a process of its own.

None of them does harm where it does get out: files are opened and not changed (but for those in the traps), signals are ones that
do nothing, clocks are set to the time that it is. So they can be tried with layers of the sandbox left out, to see what those keep.

`TRAP` is filled in by what runs this: {"files": {name: path with the word SECRET in it}, "folders": {name: path to write to},
"host" and "port" of a listener, "unix": path of one, "abstract": name of one, "pids": {name: number}, "shm": key,
"numbers": those of a segment, a queue and a semaphore with this key, "places": {folder: its device and inode},
"secret", "bytes": patterns of what no process may hold, which do not match themselves}.
"""

import contextlib
import ctypes
import errno
import fcntl
import gc
import glob
import json
import os
import platform
import re
import resource
import select
import signal
import socket
import struct
import sys
import time

TRAP: dict = {}
ACTIONS: dict = {}
libc = ctypes.CDLL(None, use_errno=True)
INTEL = platform.machine() == "x86_64"


def action(function):
    ACTIONS[function.__name__.replace("_", " ")] = function
    return function


def call(name, *arguments):
    """A function of the C library. Raises OSError if it fails."""
    result = getattr(libc, name)(*arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), name)
    return result


def system_call(intel, arm, *arguments):
    return call("syscall", ctypes.c_long(intel if INTEL else arm), *arguments)


def each(attempts):
    """Try all; what came of the first that worked. Raises the last OSError if none did."""
    last = OSError(errno.ENOENT, "nothing to try")
    for attempt in attempts:
        try:
            if said := attempt():
                return said
        except (OSError, ValueError, OverflowError) as error:
            last = error if isinstance(error, OSError) else OSError(errno.EINVAL, str(error))
    raise last


def read(path, wants=b"SECRET"):
    with open(path, "rb") as file:
        data = file.read(1 << 20)
    if wants not in data:
        raise OSError(errno.ENODATA, "it holds nothing")
    return f"read {path}"


def write(path):
    """Open to write, and write nothing."""
    os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
    return f"could write {path}"


def create(folder):
    """Make a file whose name a test looks for."""
    path = os.path.join(folder, TRAP["mark"])
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return f"made {path}"


# --- files ----------------------------------------------------------------------------------------------------


@action
def read_the_keys():
    return each([lambda p=p: read(p) for name, p in TRAP["files"].items() if name.startswith("key")])


@action
def read_the_course_items():
    import autograd_lab

    folder = os.path.join(os.path.dirname(autograd_lab.__file__), "course", "items")
    return each([lambda p=p: read(p, b"expected") for p in sorted(glob.glob(f"{folder}/*.json"))])


@action
def read_anothers_submission():
    return each([lambda p=p: read(p) for name, p in TRAP["files"].items() if name.startswith("submission")])


@action
def read_the_gradebook():
    return read(TRAP["files"]["gradebook"])


@action
def read_home():
    return each([lambda: read(TRAP["files"]["home"]), lambda: read(os.path.expanduser("~root/.bashrc"), b"")])


@action
def read_accounts():
    return each([lambda: read("/etc/shadow", b":"), lambda: read("/etc/passwd", b":")])


@action
def read_by_way_of_links():
    ways = []
    for number, path in enumerate(TRAP["files"].values()):
        os.symlink(path, f"link{number}")
        ways.append(lambda n=number: read(f"link{n}"))
        for root in ("/proc/self/root", "/proc/1/root", "/proc/self/cwd/../../../..", "../../../.."):
            ways.append(lambda r=root, p=path: read(r + p))
    return each(ways)


@action
def hard_links():
    return each(
        [
            lambda n=n, p=p: os.link(p, f"hard{n}") or read(f"hard{n}")
            for n, p in enumerate(TRAP["files"].values())
        ]
    )


@action
def read_by_handle():
    """A file by its number, past all folders."""
    handle = struct.pack("=Ii", 8, 1) + struct.pack("=II", 2, 0)
    descriptor = system_call(304, 265, -100, handle, os.O_RDONLY)
    return f"opened {descriptor}"


@action
def write_anothers_submission():
    return each([lambda p=p: write(p) for name, p in TRAP["files"].items() if name.startswith("submission")])


@action
def write_the_gradebook():
    return write(TRAP["files"]["gradebook"])


@action
def write_elsewhere():
    own = os.getcwd()  # where nothing else needs it, its own folder is /tmp as well
    return each([lambda p=p: create(p) for p in TRAP["folders"].values() if os.path.realpath(p) != own])


@action
def watch_folders():
    """To be told the names of the files that others make."""
    folders = []
    for folder, place in TRAP["places"].items():
        with contextlib.suppress(OSError):  # in a root of its own a folder may have that name and be another
            folders += [folder.encode()] if [os.stat(folder).st_dev, os.stat(folder).st_ino] == place else []

    def inotify(folder):
        return (
            call("inotify_add_watch", call("inotify_init1", 0), folder, 0xFFF) >= 0 and f"inotify of {folder}"
        )

    def fanotify(folder):
        number = call("fanotify_init", 0x200, 0)
        return (
            call("fanotify_mark", number, 1, ctypes.c_uint64(0x100), -100, folder) == 0
            and f"fanotify of {folder}"
        )

    found = []
    for way in (inotify, fanotify):
        for folder in folders:
            with contextlib.suppress(OSError):
                found.append(way(folder))
    if not found:
        raise OSError(errno.EPERM, "none of them")
    return ", ".join(found)


@action
def delete_and_rename():
    ways = [
        lambda p=p: os.unlink(p) or f"deleted {p}"
        for name, p in TRAP["files"].items()
        if name.endswith("victim")
    ]
    return each([*ways, lambda: os.rename(TRAP["folders"]["trap"], "mine") or "renamed a folder"])


@action
def write_the_library():
    import numpy

    import autograd_lab

    places = [
        autograd_lab.__file__,
        numpy.__file__,
        os.__file__,
        sys.executable,
        *glob.glob("/etc/*"),
        *glob.glob("/usr/bin/py*"),
    ]
    return each([lambda p=p: write(p) for p in places])


@action
def add_to_the_library():
    return each(
        [
            lambda p=p: create(p)
            for p in sys.path
            if p and os.path.isdir(p) and os.path.realpath(p) != os.getcwd()
        ]
    )


@action
def change_rights_and_owners():
    files = list(TRAP["files"].values())
    return each(
        [lambda p=p: os.chmod(p, 0o777) or f"chmod {p}" for p in files]
        + [lambda p=p: os.utime(p) or f"utime {p}" for p in files]
    )


@action
def write_to_the_kernel():
    places = (
        "/proc/sys/kernel/core_pattern",
        "/proc/sysrq-trigger",
        "/sys/power/state",
    )
    return each([lambda p=p: write(p) for p in places])


@action
def leave_the_cgroup():
    folders = [os.path.dirname(p) for p in glob.glob("/sys/fs/cgroup/**/cgroup.procs", recursive=True)[:50]]
    return each(
        [lambda p=p: write(f"{p}/cgroup.procs") for p in folders]
        + [lambda: write("/sys/fs/cgroup/cgroup.procs")]
    )


# --- other processes --------------------------------------------------------------------------------------------


def outside():
    """Numbers of processes that are not this submission's."""
    known = set(TRAP["pids"].values())
    with contextlib.suppress(OSError):
        known |= {int(name) for name in os.listdir("/proc") if name.isdigit()}
    own = set()
    number = os.getpid()
    with contextlib.suppress(OSError):
        while number > 0:  # this process and those above it, up to the first of the submission
            own.add(number)
            with open(f"/proc/{number}/stat") as file:
                number = int(file.read().rpartition(")")[2].split()[1])
            if number in TRAP["pids"].values():
                break
    return sorted(known - own)


@action
def see_processes():
    seen = [
        name
        for name in os.listdir("/proc")
        if name.isdigit() and names_of(name) in ("agl-victim", "agl-grader")
    ]
    return f"saw {seen}" if seen else "harmless: only its own"


def names_of(number):
    with contextlib.suppress(OSError), open(f"/proc/{number}/comm") as file:
        return file.read().strip()
    return ""


@action
def read_their_environment():
    return each([lambda n=n: read(f"/proc/{n}/environ") for n in outside()])


@action
def read_their_memory():
    return each([lambda n=n: write(f"/proc/{n}/mem") for n in outside()])


@action
def take_their_files():
    return each([lambda n=n: f"saw {n}: {os.listdir(f'/proc/{n}/fd')}" for n in outside()])


@action
def trace_them():
    def attempt(number):
        if call("ptrace", 16, number, 0, 0) == 0:
            libc.ptrace(17, number, 0, 0)
        return f"traced {number}"

    return each([lambda n=n: attempt(n) for n in outside()])


@action
def read_across():
    own = ctypes.create_string_buffer(8)
    here = struct.pack("PN", ctypes.addressof(own), 8)
    where = struct.pack("PN", 0x400000, 8)
    attempts = [lambda n=n: system_call(310, 270, n, here, ctypes.c_ulong(1), where, ctypes.c_ulong(1), ctypes.c_ulong(0)) >= 0 and "read"
                for n in [*outside(), os.getppid()]]  # fmt: skip
    return each(attempts)


@action
def signal_the_grader():
    return each(
        [
            lambda n=n: os.kill(n, signal.SIGCONT) or f"signaled {n}"
            for n in TRAP["pids"].values()
            if exists(n)
        ]
    )


def exists(number):
    """Whether a number is that process, and not one of this submission's that has the same number in its namespace."""
    inside = {name for name in TRAP["pids"] if names_of(TRAP["pids"][name]) == f"agl-{name}"}
    return number in [TRAP["pids"][name] for name in inside] or number > 300


@action
def signal_by_handle():
    return each(
        [
            lambda n=n: signal.pidfd_send_signal(os.pidfd_open(n), signal.SIGCONT) or f"signaled {n}"
            for n in TRAP["pids"].values()
        ]
    )


@action
def signal_threads():
    return each(
        [
            lambda n=n: system_call(234, 131, n, n, signal.SIGCONT) == 0 and f"signaled {n}"
            for n in TRAP["pids"].values()
            if exists(n)
        ]
    )


@action
def signal_by_a_file():
    """Have the kernel send the signal, when a pipe can be read."""
    reader, writer = os.pipe()
    fcntl.fcntl(reader, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    numbers = [n for n in TRAP["pids"].values() if exists(n)]
    for number in numbers:
        fcntl.fcntl(reader, 10, signal.SIGURG)  # F_SETSIG
        fcntl.fcntl(reader, fcntl.F_SETOWN, number)
        os.write(writer, b"x")
    return "harmless: asked for, and whether it arrives is seen outside"


@action
def steal_a_descriptor():
    return each(
        [
            lambda n=n: f"took {system_call(438, 438, os.pidfd_open(n), 1, 0)}"
            for n in [*TRAP["pids"].values(), os.getppid()]
        ]
    )


@action
def slow_them_down():
    ways = {
        "priority": lambda n: os.setpriority(os.PRIO_PROCESS, n, os.getpriority(os.PRIO_PROCESS, n) + 1),
        "limits": lambda n: resource.prlimit(n, resource.RLIMIT_CORE, (0, 0)),
        "processors": lambda n: os.sched_setaffinity(n, os.sched_getaffinity(n)),
        "scheduler": lambda n: os.sched_setscheduler(n, os.SCHED_BATCH, os.sched_param(0)),
        "scheduler's parameters": lambda n: os.sched_setparam(n, os.sched_param(0)),
        "scheduler's attributes": lambda n: system_call(314, 274, n, bytes([48, *[0] * 47]), 0),
        "disk": lambda n: system_call(251, 30, 1, n, 2 << 13 | 4),
        "memory": lambda n: system_call(256, 238, n, 64, bytes([1, *[0] * 7]), bytes([1, *[0] * 7])),
    }
    found = []
    for name, way in ways.items():
        with contextlib.suppress(OSError):
            found += [f"{name} of {n}" for n in TRAP["pids"].values() if exists(n) and (way(n), True)]
    if not found:
        raise OSError(errno.EPERM, "none of them")
    return ", ".join(found)


# --- network ------------------------------------------------------------------------------------------------------


def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(2)
        one.connect(address)
        one.send(b"escaped")
    return f"sent to {address}"


@action
def tcp():
    ways = [
        lambda h=h: connect(socket.AF_INET, socket.SOCK_STREAM, (h, TRAP["port"]))
        for h in ("127.0.0.1", "0.0.0.0", TRAP["host"])
    ]
    return each([*ways, lambda: connect(socket.AF_INET6, socket.SOCK_STREAM, ("::1", TRAP["port"]))])


@action
def udp():
    return each(
        [
            lambda h=h: connect(socket.AF_INET, socket.SOCK_DGRAM, (h, TRAP["port"]))
            for h in ("127.0.0.1", TRAP["host"], "192.0.2.1")
        ]
    )


@action
def listen():
    with socket.socket() as one:
        one.bind(("0.0.0.0", 0))
        one.listen()
        return f"listens at {one.getsockname()}"


@action
def unix_socket():
    return connect(socket.AF_UNIX, socket.SOCK_STREAM, TRAP["unix"])


@action
def abstract_socket():
    return connect(socket.AF_UNIX, socket.SOCK_STREAM, "\0" + TRAP["abstract"])


@action
def sockets_of_a_pair():
    """A pair is allowed: it must not reach an address."""
    left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    ways = [
        lambda: left.sendto(b"escaped", TRAP["unix"] + "-d") and "sent by path",
        lambda: left.sendto(b"escaped", "\0" + TRAP["abstract"] + "-d") and "sent",
    ]
    try:
        return each(
            [
                *ways,
                lambda: (
                    left.connect("\0" + TRAP["abstract"] + "-d") or (left.send(b"escaped") and "connected")
                ),
            ]
        )
    finally:
        left.close()
        right.close()


@action
def names_on_the_network():
    try:
        return f"resolved {socket.getaddrinfo('example.org', 80)[0][4]}"
    except socket.gaierror as error:
        raise OSError(errno.ENETUNREACH, str(error)) from error


@action
def raw_sockets():
    kinds = [
        (socket.AF_INET, socket.SOCK_RAW, 1),
        (17, socket.SOCK_RAW, 0),
        (16, socket.SOCK_RAW, 0),
        (40, socket.SOCK_STREAM, 0),
        (38, 5, 0),
    ]
    return each([lambda k=k: socket.socket(*k).close() or f"made {k}" for k in kinds])


@action
def ring_of_requests():
    """io_uring does what system calls do, past a filter of these."""
    return f"made {system_call(425, 425, 4, ctypes.create_string_buffer(120))}"


@action
def newest_system_calls():
    """Those that the sandbox knows nothing of: Linux 6.17 has some that mount and that set what belongs to files."""
    found = []
    for number in range(467, 600):
        try:
            system_call(number, number, -1, -1, -1, -1, -1, -1)
        except OSError as error:
            if error.errno == errno.ENOSYS:
                continue
        found.append(str(number))
    if not found:
        raise OSError(errno.ENOSYS, "none of them")
    return f"there are {', '.join(found)}"


@action
def old_system_calls():
    """The calls of 32-bit programs have other numbers: socketcall(SOCKET) by interrupt 0x80."""
    if not INTEL:
        raise OSError(errno.ENOSYS, "no such calls on this processor")
    code = b"\x53\xb8\x66\x00\x00\x00\xbb\x01\x00\x00\x00\x89\xf9\xcd\x80\x5b\xc3"  # push rbx; eax=102; ebx=1; ecx=edi; int 0x80; pop; ret
    low = libc.mmap
    low.restype, low.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long],
    )
    where = low(None, 4096, 7, 0x22 | 0x40, -1, 0)  # in the first 4 GB
    if where in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "no memory that can be run")
    ctypes.memmove(where, code, len(code))
    ctypes.memmove(where + 64, struct.pack("=III", 2, 1, 0), 12)
    got = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_ulong)(where)(where + 64)
    if got < 0:
        raise OSError(-got, "int 0x80")
    return f"made socket {got}"


# --- powers -------------------------------------------------------------------------------------------------------


@action
def raise_limits():
    names = ("RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NOFILE", "RLIMIT_CPU", "RLIMIT_NPROC")
    ways = []
    for kind in (getattr(resource, name) for name in names):
        hard = resource.getrlimit(kind)[1]
        if hard == resource.RLIM_INFINITY:
            if kind != resource.RLIMIT_NPROC:
                return f"limit {kind} is not set"
            continue
        ways.append(lambda k=kind, h=hard: resource.setrlimit(k, (h, h + 1)) or f"raised {k}")
        ways.append(
            lambda k=kind: (
                resource.prlimit(0, k, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)) and f"raised {k}"
            )
        )
    return each(ways)


@action
def new_namespaces():
    kinds = (0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000)
    return each([lambda k=k: call("unshare", k) == 0 and f"made {k:#x}" for k in kinds])


@action
def new_namespaces_by_clone():
    def attempt():
        pid = system_call(56, 220, 0x10000000 | signal.SIGCHLD, 0, 0, 0, 0)
        if not pid:
            os._exit(0)
        return f"cloned {pid}"

    def attempt_3():
        pid = system_call(
            435, 435, struct.pack("=8Q", 0x10000000, 0, 0, 0, signal.SIGCHLD, 0, 0, 0), ctypes.c_size_t(64)
        )
        if not pid:
            os._exit(0)
        return f"cloned {pid}"

    return each([attempt, attempt_3])


@action
def enter_namespaces():
    kinds = ("mnt", "pid", "net", "user")
    return each(
        [
            lambda n=n, k=k: (
                call("setns", os.open(f"/proc/{n}/ns/{k}", os.O_RDONLY), 0) == 0 and f"entered {k} of {n}"
            )
            for n in outside()
            for k in kinds
        ]
    )


@action
def mount():
    os.makedirs("here", exist_ok=True)
    ways = [
        lambda: call("mount", b"/", b"here", None, 4096, None) == 0 and "bound",
        lambda: call("mount", b"none", b"here", b"tmpfs", 0, b"") == 0 and "mounted",
    ]
    return each(
        [
            *ways,
            lambda: system_call(428, 428, -100, b"/", 1) >= 0 and "open_tree",
            lambda: system_call(430, 430, b"tmpfs", 0) >= 0 and "fsopen",
        ]
    )


@action
def unmount():
    """Take away what hides the answers."""
    import autograd_lab

    hidden = os.path.join(os.path.dirname(autograd_lab.__file__), "course", "items").encode()
    return each(
        [lambda p=p: call("umount2", p, 2) == 0 and f"unmounted {p}" for p in (hidden, b"/proc", b"/")]
    )


@action
def change_the_root():
    os.makedirs("root", exist_ok=True)
    return each(
        [lambda: os.chroot("root") or "chroot", lambda: call("pivot_root", b".", b".") == 0 and "pivot_root"]
    )


@action
def make_devices():
    return each(
        [
            lambda d=d, k=k: os.mknod(f"device{d}", k | 0o600, os.makedev(*d)) or f"made {d}"
            for k in (0o060000, 0o020000)
            for d in ((1, 1), (8, 0), (254, 0), (1, 5))
        ]
    )


@action
def open_devices():
    usual = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom")}
    special = [
        p
        for p in [*glob.glob("/dev/*"), "/dev/mem", "/dev/kvm", "/dev/fuse", "/dev/vda", "/dev/sda"]
        if p not in usual and not os.path.isdir(p)
    ]
    return each([lambda p=p: os.open(p, os.O_RDWR | os.O_NONBLOCK) and f"opened {p}" for p in special])


@action
def type_on_the_terminal():
    """TIOCSTI puts a character into what the instructor types."""
    ways = [lambda n=n: fcntl.ioctl(n, 0x5412, b" ") == 0 and f"typed on {n}" for n in range(32)]
    return each(
        [
            *ways,
            *[
                lambda p=p: os.open(p, os.O_RDWR) and f"opened {p}"
                for p in ("/dev/tty", "/dev/ptmx", "/dev/console", "/dev/pts/0")
            ],
        ]
    )


@action
def become_root():
    if os.getuid() == 0:
        with open("/proc/self/status") as file:
            powers = [line.split()[1] for line in file if line.startswith("Cap")]
        if any(int(word, 16) for word in powers):
            return f"root, with {powers}"
        raise OSError(errno.EPERM, "root without powers")
    return each(
        [
            lambda: os.setuid(0) or "setuid",
            lambda: os.setgid(0) or "setgid",
            lambda: os.setresuid(0, 0, 0) or "setresuid",
        ]
    )


@action
def run_what_is_set_uid():
    ways = []
    for path in (
        "/usr/bin/su",
        "/usr/bin/mount",
        "/usr/bin/newgrp",
        "/usr/bin/passwd",
        "/bin/su",
        "/bin/mount",
        "/usr/bin/sudo",
    ):
        if os.path.exists(path):
            flags = os.statvfs(path).f_flag
            ways.append(
                lambda p=path, f=flags: (
                    f"{p} would be root" if not f & os.ST_NOSUID and not no_new_powers() else None
                )
            )
    return each(ways)


def no_new_powers():
    return libc.prctl(39, 0, 0, 0, 0) == 1


@action
def take_powers():
    header, everything = struct.pack("=Ii", 0x20080522, 0), b"\xff" * 24
    return call("capset", header, everything) == 0 and "took capabilities"


@action
def kernel_keys():
    return each(
        [
            lambda: system_call(250, 219, 0, -3, 1) >= 0 and "keyctl",
            lambda: system_call(248, 217, b"user", b"agl", b"x", 1, -3) >= 0 and "add_key",
        ]
    )


@action
def programs_for_the_kernel():
    attributes = ctypes.create_string_buffer(120)
    return each([
        lambda: system_call(321, 280, 0, struct.pack("=IIII", 2, 4, 4, 1) + bytes(100), 48) >= 0 and "bpf",
        lambda: system_call(298, 241, struct.pack("=IIQ", 1, 112, 0) + bytes(96), 0, -1, -1, 0) >= 0 and "perf_event_open",
        lambda: system_call(323, 282, 1) >= 0 and "userfaultfd",
        lambda: system_call(175, 105, attributes, 0, b"") >= 0 and "init_module",
    ])  # fmt: skip


@action
def machine_settings():
    name = socket.gethostname()
    return each([
        lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()) or "set the clock",
        lambda: call("sethostname", name.encode(), len(name)) == 0 and "named the machine",
        lambda: call("swapon", b"/nothing", 0) == 0 and "swapon",
        lambda: system_call(169, 142, 0, 0, 0, 0) == 0 and "reboot",
    ])  # fmt: skip


# --- shared memory ------------------------------------------------------------------------------------------------------


@action
def system_v_memory():
    number = call("shmget", TRAP["shm"], 0, 0)
    return f"found segment {number}"


@action
def system_v_queues():
    return each(
        [
            lambda: call("msgget", TRAP["shm"], 0o1666) >= 0 and "made a queue",
            lambda: call("semget", TRAP["shm"], 1, 0o1666) >= 0 and "made a semaphore",
        ]
    )


@action
def system_v_by_number():
    """Who knows or guesses a number needs no key."""
    kernel = ctypes.CDLL(None, use_errno=True).syscall
    kernel.restype = ctypes.c_long
    memory, queue, semaphore = TRAP["numbers"]
    room, wait = ctypes.create_string_buffer(512), 0o4000
    post = struct.pack("l", 1) + b"x"
    ways = {
        "segment": (30, 196, memory, None, 0),
        "about the segment": (31, 195, memory, 2, room),
        "message": (70, 188, queue, room, 100, 0, wait),
        "sent": (69, 189, queue, post, 1, wait),
        "about the queue": (71, 187, queue, 2, room),
        "semaphore": (66, 191, semaphore, 0, 12, 0),
        "raised": (65, 193, semaphore, struct.pack("Hhh", 0, 1, wait), 1),
        "raised in time": (220, 192, semaphore, struct.pack("Hhh", 0, 1, wait), 1, None),
    }
    found = [
        name
        for name, (intel, arm, *arguments) in ways.items()
        if kernel(ctypes.c_long(intel if INTEL else arm), *arguments) != -1
    ]
    if not found:
        raise OSError(ctypes.get_errno(), "none of them")
    return ", ".join(found)


@action
def named_memory():
    """A name in /dev/shm: it must not be another's, and others must not see it."""
    with contextlib.suppress(OSError):
        return read("/dev/shm/" + TRAP["abstract"])
    with open("/dev/shm/" + TRAP["mark"], "wb") as file:
        file.write(b"x")
    return "harmless: a folder of its own, seen outside if it is not"


@action
def message_queues():
    return f"made {system_call(240, 180, b'agl-probe', os.O_CREAT | os.O_RDWR, 0o600, None)}"


@action
def run_from_memory():
    """What runs may come from memory; it runs inside."""
    number = os.memfd_create("agl")
    with open("/bin/true", "rb") as source:
        os.write(number, source.read())
    pid = os.fork()
    if not pid:
        try:
            os.execv(f"/proc/self/fd/{number}", ["true"])
        finally:
            os._exit(127)  # back in attempt() it would report as well
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise OSError(errno.ENOEXEC, "nothing ran")
    return "harmless: it is inside as well"


# --- what this process itself holds ----------------------------------------------------------------------------------------


@action
def leaked_descriptors():
    """The null device, the socket to the engine and pipes and sockets of its own: nothing else."""
    odd = []
    for number in range(resource.getrlimit(resource.RLIMIT_NOFILE)[0]):
        try:
            kind = os.fstat(number)
        except OSError:
            continue
        if kind.st_rdev == os.makedev(1, 3) or kind.st_mode & 0o170000 in (0o140000, 0o010000):
            continue
        with contextlib.suppress(OSError):
            where = os.readlink(f"/proc/self/fd/{number}")
            if not where.startswith(("anon_inode:", "/memfd:", os.getcwd())):
                odd.append((number, where))
    return f"open: {odd}" if odd else "harmless: nothing but its own"


@action
def secrets_in_the_environment():
    with contextlib.suppress(OSError):
        return read("/proc/self/environ")
    if any("SECRET" in value for value in os.environ.values()):
        return "SECRET in the environment"
    raise OSError(errno.ENODATA, "nothing there")


@action
def secrets_in_objects():
    """Frames, modules, everything that the garbage collector knows of: no expected value."""
    secret = re.compile(TRAP["secret"])
    frame = sys._getframe()
    spaces = []
    while frame:
        spaces += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    gc.collect()
    for thing in [*gc.get_objects(), *spaces]:
        parts = thing.values() if type(thing) is dict else thing if type(thing) in (list, tuple, set) else ()
        for part in list(parts):
            if type(part) in (int, float, str) and secret.search(str(part)[: 1 << 20]):
                return f"found in a {type(thing).__name__}: {str(thing)[:100]}"
    raise OSError(errno.ENODATA, "nowhere")


@action
def secrets_in_memory():
    """All pages of the process that are not files: as text, as a number of Python's, as one of NumPy's."""
    # one after the other: re skips to a pattern's first bytes, but not to those of one of several
    secrets = [re.compile(one.encode("latin-1")) for one in TRAP["bytes"]]
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", buffering=0) as memory:
        for line in maps.read().splitlines():
            where, rights, *_, name = [*line.split(), "-"][:6]
            if "r" not in rights or name.startswith(("[v", "/")):
                continue
            start, stop = (int(part, 16) for part in where.split("-"))
            while start < stop:
                with contextlib.suppress(OSError, OverflowError):
                    memory.seek(start)
                    data = memory.read(min(stop - start, 1 << 22))
                    for secret in secrets:
                        if found := secret.search(data):
                            return f"found {found[0]!r} at {start + found.start():#x} in {name}"
                start += (1 << 22) - 64
    raise OSError(errno.ENODATA, "nowhere")


@action
def outlive_the_submission():
    """Whether it does is seen outside."""
    if os.fork() == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                libc.prctl(15, TRAP["mark"].encode(), 0, 0, 0)
                for number in range(64):
                    with contextlib.suppress(OSError):
                        os.close(number)
                time.sleep(600)
        finally:
            os._exit(0)
    return "harmless: started"


# --- running them -----------------------------------------------------------------------------------------------------


def attempt(function):
    """What came of one action: (how, what)."""
    try:
        said = function()
    except OSError as error:
        return "blocked", errno.errorcode.get(error.errno or 0, "") + f" {error.strerror or error}"
    except BaseException as error:
        return "blocked", f"{type(error).__name__}: {error}"
    if not said:
        return "blocked", ""
    return ("harmless" if str(said).startswith("harmless") else "ESCAPED"), str(said)


def apart(function):
    """The same in a process of its own."""
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            signal.alarm(120)
            os.write(writer, json.dumps(attempt(function))[:3000].encode())
        finally:
            os._exit(0)
    os.close(writer)
    ready = select.select([reader], [], [], 180)[0]
    data = os.read(reader, 1 << 16) if ready else b""
    os.close(reader)
    with contextlib.suppress(OSError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    return tuple(json.loads(data)) if data else ("blocked", "its process was ended")


def report():
    """Try everything: {action: [how, what]}, as a line of JSON."""
    print("REPORT " + json.dumps({name: apart(function) for name, function in ACTIONS.items()}))
