"""Folder for the temporary data of tests: in memory where there is room, else the system's.

A killed process loses no written byte on either; only a machine that stops would, and no test stops the machine. But on
a disk each commit of SQLite and of the graph database waits for the device, which other tests keep busy.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

IN_MEMORY = Path("/dev/shm")  # noqa: S108 -- pytest and tempfile make private folders below it
MIN_BYTES = 4 << 30


def prefer_memory() -> None:
    """Have `tempfile`, pytest's `tmp_path` and every child process use the file system in memory.

    TMPDIR takes precedence where it is set, and the system's folder is used where less than MIN_BYTES are free.
    """
    if "TMPDIR" not in os.environ and _free_bytes() >= MIN_BYTES:
        os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)


def _free_bytes() -> int:
    """Return the smaller of the free space of the file system and of memory; 0 where there is no such file system."""
    if not os.access(IN_MEMORY, os.W_OK):
        return 0
    lines = (line.split() for line in Path("/proc/meminfo").read_text().splitlines())
    memory = next(int(line[1]) << 10 for line in lines if line[0] == "MemAvailable:")
    return min(shutil.disk_usage(IN_MEMORY).free, memory)
