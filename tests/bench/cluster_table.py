"""Figures as text: rates, quantiles, the CPU of a process, and a table between two markers of a page."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.marked_page import write_part

CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    figure: str
    value: str
    note: str = ""

    def line(self) -> str:
        return f"| {self.figure} | {self.value} | {self.note} |"


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process, in user and kernel mode, all threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES


def memory_bytes(status: str) -> dict[str, int]:
    """Return resident memory in bytes by kind, from the text of /proc/PID/status (Linux 4.5 or newer).

    "anonymous" occupies memory until the process frees it; "file" is mapped files, which the kernel can drop or write
    back; "shared" is tmpfs and shared anonymous memory. Their sum is "resident". Raises ValueError for a missing field.
    """
    found = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    fields = {"resident": "VmRSS", "anonymous": "RssAnon", "file": "RssFile", "shared": "RssShmem"}
    absent = [field for field in fields.values() if field not in found]
    if absent:
        raise ValueError(f"/proc/PID/status has no {', '.join(absent)}: this needs Linux 4.5 or newer")
    return {kind: int(found[field].split()[0]) * 1024 for kind, field in fields.items()}


def in_ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def per_second(count: int, seconds: float, what: str = "documents") -> str:
    return f"{count / seconds:.0f} {what}/s"


def quantiles(seconds: Sequence[float]) -> str:
    """Return the median and the tail quantiles."""
    ordered = sorted(seconds)
    at = {q: ordered[min(len(ordered) - 1, len(ordered) * q // 100)] * 1000 for q in (50, 95, 99)}
    return ", ".join(f"p{q} {value:.0f} ms" for q, value in at.items())


def machine() -> str:
    """Describe the machine of the measurement."""
    return f"{os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}"


def write(page: Path, marker: str, rows: Iterable[Row], note: str, head: str = "CPU a document, or note") -> None:
    """Replace the text between the markers by the table and the note. Raises ValueError without the markers."""
    table = "\n".join([f"| | | {head} |", "| --- | --- | --- |", *(row.line() for row in rows)])
    part = f"\n{table}\n\n{note}; on {machine()}.\n"
    write_part(page, f"<!-- {marker}:begin -->", f"<!-- {marker}:end -->", part)
