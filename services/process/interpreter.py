"""Settings of the interpreter and of the memory allocator for a process with CPU-bound threads.

Nothing here changes a result. The invariant: the event loop waits for a thread that computes for a tenth of the
interpreter's default time, and memory that large requests occupied is returned to the system.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys

SWITCH_INTERVAL_S = 0.0005
"""The time after which a thread that computes yields the interpreter lock. By default 5 ms, which the event loop would
wait for each of its callbacks, several times for one probe."""
THRESHOLDS = 5_000, 4, 5_000
"""New objects before a collection of the newest ones, and collections of a generation before one of the next. A
collection holds the interpreter lock: one of 20,000 objects took up to 20 ms, one of 100,000 up to 45 ms. Each
object is examined as often as with fewer and larger ones."""
ARENAS = 2
"""Heaps of malloc. By default eight for each core, each of which keeps its own free memory: a database in a process of
its own user takes 101 MiB for half a megabyte of prose, and 46 with two heaps."""
MMAP_BYTES = 1 << 20
"""Size from which malloc maps a block of its own, which is unmapped when it is freed. By default the threshold grows
to 32 MB."""
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # malloc.h of glibc


def tune_interpreter() -> None:
    """Set the switch interval and the limits of collector and allocator; call before other threads start."""
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.set_threshold(*THRESHOLDS)
    limit_heaps()


def limit_heaps() -> None:
    """Have malloc make no more than two heaps, and map large blocks by themselves; existing heaps remain.

    Allocators other than glibc's are left alone, and so is one whose heaps the environment limits.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None and not _limited_by_environment():
        mallopt(_M_ARENA_MAX, ARENAS)
        mallopt(_M_MMAP_THRESHOLD, MMAP_BYTES)


def _limited_by_environment() -> bool:
    return "MALLOC_ARENA_MAX" in os.environ or "malloc.arena_max" in os.environ.get("GLIBC_TUNABLES", "")


def spare_the_collector() -> None:
    """Exclude the graph from garbage collection: its tables are long-lived and contain no cycles.

    With its default thresholds the collector scans them more and more often as they grow, without effect.
    """
    gc.collect()
    gc.freeze()
