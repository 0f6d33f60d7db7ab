"""Files that are there whole or not at all, and temporary folders that nobody is left with."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from .model import CannotGradeError

PREFIX = "autograd-lab-grade-"
_LOCK = ".in-use"


def put(path: Path, text: str) -> None:
    """Write a file atomically, if it is not there already with this text."""
    put_bytes(path, text.encode())


def put_bytes(path: Path, data: bytes) -> None:
    """Write a file of bytes atomically, if it is not there already with these."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_file() and path.read_bytes() == data:
        return
    with whole(path) as temporary:
        temporary.write_bytes(data)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """A temporary file to write to, which takes the place of `path` at the end; it is removed if that is not reached."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o644)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def refused(error: OSError) -> CannotGradeError:
    """What to say of a file that could not be read or written."""
    about = f" ({error.filename})" if error.filename else ""
    full = error.errno in _FULL
    return CannotGradeError(
        "There is no room left on the disk." if full else "A file could not be read or written.",
        f"the system says: {error.strerror or error}{about}.",
        f"{'free some space' if full else 'look at that place'}; what was graded is kept, and the same command goes on from there",
    )


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """While it lasts, no other grading run can use a folder of results; a killed run leaves no lock behind. Raises CannotGradeError."""
    with (folder / ".grading").open("ab") as file:
        if not _try_lock(file):
            raise CannotGradeError(
                f"{folder} is in use.",
                "another `autograd-lab grade` or `feedback` is writing there.",
                "wait for it, or stop it",
            )
        yield


@contextmanager
def meanwhile(work: Callable[[], None]) -> Iterator[None]:
    """Do some work while the block runs: in a copy of this process, where the system makes copies safely; elsewhere before the block.

    The copy must not need what cannot be shared, such as a database, or threads. What it cannot do is done here after the block, and
    raises what it raises.
    """
    if sys.platform != "linux":
        work()
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads: those of NumPy are idle
        copy = os.fork()
    if not copy:
        failed = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches it too, and it ends soon
            work()
            failed = 0
        finally:
            os._exit(failed)
    try:
        yield
    finally:
        if os.waitpid(copy, 0)[1]:
            work()


# --- temporary folders --------------------------------------------------------------------------------


class Scratch:
    """A temporary folder for a grader; a context manager. What graders that were killed have left is removed on the way.

    While it is used, a file in it is locked; the kernel takes the lock from a process that ends, however it ends.
    """

    def __init__(self) -> None:
        sweep()
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.path.chmod(0o711)  # another user id, under which submissions may run, has a folder inside
        movable = sys.platform != "win32"  # there an open file cannot get another name
        fresh = self.path / (f"{_LOCK}-soon" if movable else _LOCK)
        self._lock: BinaryIO = fresh.open("wb")
        _try_lock(self._lock)
        if movable:
            fresh.rename(self.path / _LOCK)  # locked before anybody can find it

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Remove it."""
        self._lock.close()
        clear(self.path)


def sweep() -> None:
    """Remove the folders of this user's graders that were killed."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # another grader may be faster
            about = path.lstat()
            own = sys.platform == "win32" or about.st_uid == os.geteuid()
            if stat.S_ISDIR(about.st_mode) and own and _is_left(path, about.st_mtime):
                clear(path)


def _is_left(path: Path, changed: float) -> bool:
    """Whether nobody uses a folder: its lock can be had, or it has none and has not changed for a day."""
    try:
        with (path / _LOCK).open("r+b") as file:
            return _try_lock(file)
    except FileNotFoundError:
        return time.time() - changed > 86_400


def _try_lock(file: BinaryIO) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def clear(folder: Path) -> None:
    """Remove a folder, whatever rights a submission has given to those inside; what cannot be removed stays."""

    def try_again(action: Callable[..., Any], path: str, _: object) -> None:
        for place in (Path(path).parent, Path(path)):
            with suppress(OSError):
                if place.is_relative_to(folder) and not place.is_symlink():
                    place.chmod(0o700)
        with suppress(OSError):
            if action in (os.unlink, os.rmdir):
                action(path)
            else:
                shutil.rmtree(path, ignore_errors=True)

    if sys.version_info >= (3, 12):
        shutil.rmtree(folder, onexc=try_again)
    else:
        shutil.rmtree(folder, onerror=try_again)
