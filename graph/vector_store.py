"""Memory of vectors and texts: their bytes in chunks that move from anonymous memory into memory-mapped files.

The kernel can drop the pages of a mapped file, and reads them again when they are accessed; anonymous memory remains
until the process frees it. A file has no name, so it ends with the process or earlier, with the last of its vectors.

Invariant: stored bytes equal the bytes that they were made from, have the same hash, and never change, wherever their
pages are; a process that forks and its child do not see each other's later vectors. By default nothing is stored here:
`stored` returns the bytes that it is given. A service turns it on (`services/process/vector_memory.py`).
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from graphtide.graph import _vectors
from graphtide.graph._vectors import StoredBytes

VectorBytes = bytes | StoredBytes
"""The bytes of a vector; both types are equal, and hash alike, where their contents are equal."""

VECTOR_BYTES = (bytes, StoredBytes)
"""The types of VectorBytes, for `isinstance`."""

stored = _vectors.store
"""Return bytes with the same contents in a chunk, if vectors are kept in chunks, else the object given. O(size)."""


stored_varied = _vectors.store_varied
"""Return bytes of one of many sizes, as `stored`. They occupy a tenth more than their size on average. Those of less
than 32 bytes, whose object takes as much, or of more than 65,532 remain the object given.
"""


def stored_text(text: str) -> VectorBytes:
    """Return a text in UTF-8 as `stored_varied`, surrogates included. O(its size)."""
    return stored_varied(text.encode("utf-8", "surrogatepass"))


text_of = _vectors.text
"""Return the text that `stored_text` was given. Cost: for 1 KB 0.1 us, or 1 us with many other letters than ASCII."""


@dataclass(frozen=True, slots=True)
class VectorMemory:
    """Bytes of live vectors, of chunks in anonymous memory (at most) and in mapped files, and the number of chunks.

    Those of varied sizes count with their slots.
    """

    live_bytes: int
    anonymous_bytes: int
    mapped_bytes: int
    chunks: int


def keep_in_chunks(on: bool) -> None:
    """Keep vectors that are stored from now on in chunks, or no longer. Vectors stored before stay where they are."""
    _vectors.keep_in_arena(on)


def check_folder(folder: Path) -> None:
    """Raise OSError if files of vectors cannot be made in the folder, or would be memory there, as on a tmpfs."""
    _vectors.probe(folder)


def spill(folder: Path, min_free_bytes: int = 0) -> int:
    """Move chunks that are full, or nearly full and not written to since the last call, into files; return their bytes.

    The interpreter lock is free while a file is written and flushed. Raises OSError when one cannot be written, or less
    than `min_free_bytes` of the file system would remain free; its vectors then remain in anonymous memory until a
    later call.
    """
    return _vectors.spill(folder, min_free_bytes)


def release(max_bytes: int = sys.maxsize) -> int:
    """Remove the pages of mapped files from resident memory, and return the bytes of these files.

    They stay in the page cache while memory is free: the next access to 64 KiB costs a minor page fault. A call ends
    with the file that reaches `max_bytes`; the next one continues after it. It holds the interpreter lock, some 2 ms
    for a GiB.
    """
    return _vectors.release(max_bytes)


def bound_reads(max_bytes: int) -> None:
    """Bound the resident pages of mapped files that reads of vectors leave, to some `max_bytes`; 0 is no bound.

    Each read of a vector in a file counts 64 KiB, what the kernel maps around it; when the reads since the last time
    reach the bound, the pages of the files that they read are removed, in the thread of the last read.
    """
    _vectors.bound_reads(max_bytes)


def vector_memory() -> VectorMemory:
    """Return what vectors occupy at present. Cost: the number of chunks."""
    return VectorMemory(*_vectors.statistics())
