"""Return of free memory to the system after work with large values.

An allocator keeps the pages that it has freed, also between smaller blocks in use, for later requests. After the
application of a large document that is a sixth of the memory of the process. Nothing here changes a result.
"""

from __future__ import annotations

import ctypes
import sys

MANY_ROWS = 20_000
"""Labels and statements of a graph from which its restoration leaves enough free memory to return: some 40 MB."""


def return_free_memory() -> None:
    """Return the free pages of malloc's heaps. Cost: some 50 ms for 500 MB, without the interpreter lock.

    Allocators other than glibc's are left alone.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)
