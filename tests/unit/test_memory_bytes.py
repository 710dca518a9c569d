"""Resident memory by kind, as the benchmark of memory reports it: anonymous memory and mapped files apart."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from tests.bench.cluster_table import memory_bytes

STATUS = "Name:\tpython\nVmRSS:\t  60 kB\nRssAnon:\t  30 kB\nRssFile:\t  20 kB\nRssShmem:\t  10 kB\nThreads:\t1\n"


def test_kinds_are_read_in_bytes() -> None:
    """Each kind comes from its own field, in units of 1,024 bytes."""
    kib = {"resident": 60, "anonymous": 30, "file": 20, "shared": 10}
    assert memory_bytes(STATUS) == {kind: size * 1024 for kind, size in kib.items()}


def test_missing_kind_is_refused_by_name() -> None:
    """An older kernel reports the total only; a zero would look like a measurement."""
    with pytest.raises(ValueError, match="has no RssFile"):
        memory_bytes(STATUS.replace("RssFile", "Other"))


def test_pages_of_a_mapped_file_are_no_anonymous_memory(tmp_path: Path) -> None:
    """A mapping of 32 MiB that is touched grows one kind, in the status of this process."""
    size = 32 << 20
    path = tmp_path / "mapped"
    path.write_bytes(bytes(size))

    def now() -> dict[str, int]:
        return memory_bytes(Path("/proc/self/status").read_text())

    before = now()
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
        assert sum(mapped[:: mmap.PAGESIZE]) == 0
        after = now()
    assert after["file"] + after["shared"] - before["file"] - before["shared"] > size * 3 // 4
    assert after["anonymous"] - before["anonymous"] < size // 4
