"""What a machine offers to keep a submission to itself."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from autograd_lab.grade.model import Limits


def limit_cpu(seconds: int) -> None:
    """End this process when it has used so many seconds of processor time."""
    import resource

    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))


class Zone:
    """Where submissions run."""

    def __init__(self, specification: dict[str, Any]) -> None:
        self.limits = Limits(**specification["limits"])
        self.layers: list[str] = []
        self.missing: dict[str, str] = {}
        self._folder = ""

    def enter(self) -> None:
        """Before anything is loaded."""

    def close(self) -> None:
        """When everything is loaded."""
        self.layers.append("resource limits")

    def fork(self) -> int:
        """A process for a submission."""
        self._folder = tempfile.mkdtemp(prefix="autograd-lab-grade-")
        return os.fork()

    def confine(self, keep: Sequence[int]) -> None:
        """In that process: give everything up but the descriptors in `keep`."""
        low = 0
        for descriptor in [*sorted(keep), 1 << 16]:
            os.closerange(low, descriptor)
            low = descriptor + 1
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        self.weaken()
        os.chdir(self._folder)

    def weaken(self) -> None:
        """Limits on what this process can use."""
        if sys.platform == "win32":
            return
        import resource

        limits = self.limits
        for name, most in (
            ("AS", limits.memory),
            ("FSIZE", limits.file),
            ("NOFILE", limits.files),
            ("CORE", 0),
            ("CPU", int(limits.job_wall)),
        ):
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (most, most))

    def clean(self) -> None:
        """After a submission has ended."""
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = ""
