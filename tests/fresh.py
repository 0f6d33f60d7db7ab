"""Programs in a Python of their own in which the package was imported and nothing asked for yet, forked from one process that did that.

`printed(code, ...)` gives what a program prints, as JSON. It runs as `python -W ignore -c code ...` does, in a tenth of the time; where the
system cannot fork, it is run so.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from functools import cache
from typing import Any

IMPORTS = "import importlib, json, pickle, pydoc, random, sys, threading\nimport autograd_lab as torch\n"
"""What stands in front of each program."""
COMMAND = [sys.executable, "-W", "ignore"]


def printed(code: str, *arguments: str) -> Any:
    """What the program prints; it sees the arguments in `sys.argv[1:]`."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        if hasattr(os, "fork"):
            channel = started()
            socket.send_fds(
                channel, [json.dumps([IMPORTS + code, *arguments]).encode()], [out.fileno(), err.fileno()]
            )
            status = int(channel.recv(100))
        else:
            status = subprocess.run(
                [*COMMAND, "-c", IMPORTS + code, *arguments], stdout=out, stderr=err
            ).returncode
        out.seek(0)
        err.seek(0)
        assert status == 0, err.read()
        return json.loads(out.read())


@cache
def started() -> socket.socket:
    """The channel to the process, which lives as long as the tests."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    process = subprocess.Popen(
        [*COMMAND, __file__, str(theirs.fileno())], pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


# --- in that process ------------------------------------------------------------------------------------------------


def serve(channel: socket.socket) -> None:
    """Run a program for each message, until nobody is left to send one."""
    del sys.path[0]  # the folder of this file
    sys.path.insert(0, "")  # as with -c
    exec(IMPORTS, {})
    while True:
        data, files, _, _ = socket.recv_fds(channel, 1 << 20, 2)
        if not data:
            return
        child = os.fork()
        if not child:
            channel.close()
            os._exit(run(*json.loads(data), files=files))
        for file in files:
            os.close(file)
        channel.send(str(os.waitpid(child, 0)[1]).encode())


def run(code: str, *arguments: str, files: list[int]) -> int:
    """Run a program as `__main__`, with what it prints in these files; returns its exit status."""
    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
        os.close(file)
    main = sys.modules["__main__"] = type(sys)("__main__")
    sys.argv = ["-c", *arguments]
    try:
        exec(compile(code, "<string>", "exec"), main.__dict__)
        status = 0
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    return status


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
