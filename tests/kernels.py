"""Kernels for notebooks under test, forked from one process that has imported what they import: that costs each two seconds.

`launch` stands in for `jupyter_client.launcher.launch_kernel`. The kernel is Jupyter's own, in a process of its own, with its sockets.
"""

import atexit
import gc
import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO, Any

IMPORTED = (
    "ipykernel.kernelapp", "ipywidgets", "anywidget", "matplotlib.pyplot", "networkx", "autograd_lab", "autograd_lab.lab",
)  # fmt: skip


def launch(
    cmd: list[str], *, env: Mapping[str, str], cwd: str | None = None, stderr: IO[Any] | None = None, **_: Any
) -> "Kernel":
    """Fork a kernel: `cmd` is [Python, "-m", "ipykernel_launcher", option, ...], the rest as for subprocess.Popen."""
    options = cmd[cmd.index("ipykernel_launcher") + 1 :]
    job = {"options": options, "environment": dict(env), "folder": str(cwd or Path.cwd())}
    channel = started()
    try:
        socket.send_fds(channel, [json.dumps(job).encode()], [2 if stderr is None else stderr.fileno()])
        return Kernel(int(channel.recv(100)))
    except (OSError, ValueError) as error:
        raise RuntimeError("the process that forks kernels has ended") from error


class Kernel:
    """What jupyter_client uses of a Popen object, for a process that is somebody else's child."""

    stdin = stdout = stderr = None

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        """0 once it has ended: its parent does not keep how."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return 0
        return None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end."""
        began = time.monotonic()
        while self.poll() is None:
            if timeout is not None and time.monotonic() - began > timeout:
                raise subprocess.TimeoutExpired("a kernel", timeout)
            time.sleep(0.01)
        return 0

    def send_signal(self, number: int) -> None:
        """Send it a signal if it is still there."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


@cache
def started() -> socket.socket:
    """The channel to the process, which lives as long as the tests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    inline = {
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",  # as a kernel sets it, before matplotlib is imported
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",  # else the debugger that comes with a kernel warns of frozen modules
    }
    process = subprocess.Popen(
        [sys.executable, __file__, str(theirs.fileno())], env=os.environ | inline, pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


# --- in that process ------------------------------------------------------------------------------------------------


def in_fork(work: Callable[[], None]) -> bool:
    """Do something in a fork of this process, and import here what it has imported there: the next fork has it. Whether it succeeded."""
    known = set(sys.modules)
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        work()
        with os.fdopen(writer, "w") as told:
            json.dump([name for name in sys.modules if name not in known], told)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as told:
        names = json.loads(told.read() or "[]")
    succeeded = os.waitpid(child, 0)[1] == 0
    for name in names:
        with suppress(ImportError):  # a debugger's parts, which come with it, are found only from inside
            importlib.import_module(name)
    gc.freeze()  # forks share this memory with us as long as their garbage collectors do not touch it
    return succeeded


SAMPLE = """
import autograd_lab as torch
from autograd_lab import lab
lab.step(lambda x: torch.rand(2).sum() * x**2, torch.tensor(2.0, requires_grad=True))
"""


def run_sample() -> None:
    """What any notebook does, in Jupyter's kernel for one process."""
    from ipykernel.inprocess.manager import InProcessKernelManager

    manager = InProcessKernelManager()
    manager.start_kernel()
    client = manager.client()
    client.start_channels()
    client.execute(SAMPLE)


def serve(channel: socket.socket) -> None:
    """Fork a kernel for each message, until nobody is left to send one."""
    del sys.path[0]  # the folder of this file
    for name in IMPORTED:
        importlib.import_module(name)
    in_fork(run_sample)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # an ended kernel leaves nothing to wait for
    parent = os.getpid()
    while True:
        data, files, _, _ = socket.recv_fds(channel, 1 << 20, 1)
        if not data:
            return
        if not os.fork():
            break
        os.close(files[0])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.setsid()
    os.dup2(files[0], 2)
    os.close(files[0])
    job = json.loads(data)
    os.environ.clear()
    os.environ.update(job["environment"])
    os.chdir(job["folder"])
    channel.send(str(os.getpid()).encode())
    channel.close()
    del (
        sys.modules["autograd_lab.lab"],
        sys.modules["autograd_lab"].lab,
    )  # its import offers `%%step` to the notebook that runs
    from ipykernel.kernelapp import launch_new_instance

    launch_new_instance(argv=[*job["options"], f"--IPKernelApp.parent_handle={parent}"])


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
