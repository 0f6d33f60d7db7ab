"""A kernel that listens on files of its own.

Jupyter looks for free TCP ports, releases them, and passes their numbers to the kernel. If several kernels
start at once, as in parallel tests, another process may take one of them in between, and the
kernel dies: "Kernel died before replying to kernel_info". No other process takes a file in a new folder.
"""

import os
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

LONGEST_SOCKET = 100  # characters; the limit of macOS is 104, of Linux 108


def manager_of_files(kind: type[KernelManager], **settings: Any) -> KernelManager:
    """A manager of class `kind` whose kernel listens on files, or on TCP ports if the system has no such sockets.

    The folder of the files is removed with the manager, at the latest when Python ends.
    """
    folder = tempfile.mkdtemp(prefix="kernel-")
    address = str(Path(folder, "k"))
    if os.name != "nt" and len(address) + len("-5") < LONGEST_SOCKET:
        settings |= {"transport": "ipc", "ip": address}
    manager = kind(**settings)
    weakref.finalize(manager, shutil.rmtree, folder, ignore_errors=True)
    return manager
