"""Vectors of this process in memory-mapped files: the choice of their folder, and the periodic move into files.

Anonymous memory of vectors is then what was written since the last move, and one chunk that is not full. Their pages
become resident again where they are read. While vectors arrive, and for some rounds after, they are dropped: an
addition reads few vectors, since HNSW graphs compare codes of their own. They stay in the page cache. Not later:
questions read the same vectors again, and the kernel drops pages by itself when memory is short. Free memory of
malloc's heaps is returned in the same rounds.
"""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from graphtide.graph.vector_store import bound_reads, check_folder, keep_in_chunks, release, spill, vector_memory
from graphtide.infra.settings import Settings
from graphtide.services.process.background_tasks import start, stop
from graphtide.streams.free_memory import return_free_memory

SPILL_EVERY_S = 2.0
RELEASING_ROUNDS = 9
"""Rounds from a move on that drop pages of files: for 16 seconds after it, until its indexes are built."""
RELEASES = 40
"""Times in such a round: what is read meanwhile maps 64 KiB around it."""
MAX_READ_BYTES = 2 << 20
"""Pages of files that reads map in such a round before they are dropped."""
MANY_BYTES = 1 << 20
"""Change of all vectors that counts as a move: a chunk of a large process takes 16 MiB."""
MAX_RELEASED_BYTES = 256 << 20
"""Files whose pages one call drops: some 65,000 pages at most, with the interpreter lock held."""
MIN_FREE_BYTES = 256 << 20
"""Free space that files of vectors leave to the database in the same folder, which stops at 64 MiB."""
RETRY_AFTER_S = 60.0
"""Seconds until the next attempt after one that failed."""

log = logging.getLogger("graphtide")
_open = 0
"""Blocks of `vectors_in_files` that are open in this process."""


@asynccontextmanager
async def vectors_in_files(settings: Settings, every_s: float = SPILL_EVERY_S) -> AsyncIterator[Path | None]:
    """Keep vectors in files during the block, if the settings say so and a folder is suitable; yield the folder.

    The files have no names, and end with their vectors or with the process. The last block that ends turns it off; its
    vectors remain valid.
    """
    global _open  # noqa: PLW0603 - the memory of a process is one for all its applications
    folder = await asyncio.to_thread(chosen_folder, settings) if settings.vectors_in_files else None
    if folder is None:
        yield None
        return
    _open += 1
    keep_in_chunks(True)
    task = start("vector-files", lambda: spill_now_and_then(folder, every_s), {})
    try:
        yield folder
    finally:
        await stop([task])
        _open -= 1
        keep_in_chunks(_open > 0)
        bound_reads(0)  # a block that is still open sets its own in its next round


def chosen_folder(settings: Settings) -> Path | None:
    """Return the data folder, else the one for temporary files; None, which is logged, if neither is suitable."""
    reasons = []
    for folder in (settings.data, Path(tempfile.gettempdir())):
        try:
            check_folder(folder)
        except OSError as error:
            reasons.append(str(error))
        else:
            return folder
    log.info(
        "vectors stay in anonymous memory, because no folder is suitable for files of them (%s): give the process a"
        " data folder on a disk, or set vectors_in_files to false",
        "; ".join(reasons),
    )
    return None


async def spill_now_and_then(folder: Path, every_s: float = SPILL_EVERY_S, retry_s: float = RETRY_AFTER_S) -> None:
    """Move vectors into files periodically, and drop the pages of files from a move on.

    The first of several failures is logged; vectors then stay in memory.
    """
    failed, quiet_rounds, bytes_known = False, RELEASING_ROUNDS, 0
    while True:
        if failed:
            await asyncio.sleep(retry_s)
        else:
            await _pause(every_s, releasing=quiet_rounds < RELEASING_ROUNDS)
        try:
            moved = await asyncio.to_thread(spill, folder, MIN_FREE_BYTES)
        except OSError as error:
            if not failed:
                log.warning(
                    "vectors stay in anonymous memory until a file for them can be written (%s): free space in %s, of"
                    " which %d MiB must remain, or give the process more memory",
                    error,
                    folder,
                    MIN_FREE_BYTES >> 20,
                )
            failed = True
            continue
        failed, live_bytes = False, vector_memory().live_bytes
        many = moved or abs(live_bytes - bytes_known) >= MANY_BYTES
        quiet_rounds, bytes_known = (0, live_bytes) if many else (quiet_rounds + 1, bytes_known)


async def _pause(seconds: float, *, releasing: bool) -> None:
    bound_reads(MAX_READ_BYTES if releasing else 0)
    if releasing:
        await asyncio.to_thread(return_free_memory)
    for _ in range(RELEASES if releasing else 1):
        if releasing:
            await asyncio.to_thread(release, MAX_RELEASED_BYTES)
        await asyncio.sleep(seconds / (RELEASES if releasing else 1))
