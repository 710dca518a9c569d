"""Measures operations that must not cost more as a graph grows: its digest, its statistics, lists of dead letters.

The graph is synthetic: a document states six facts about four names of its own and three that others share. Times are
CPU of the process. It asserts nothing; docs/core.md has its table.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from graphtide.graph.consolidation import Consolidator
from graphtide.graph.digest import digest, sorted_digest
from graphtide.graph.digest.live import DigestTables, LiveDigest
from graphtide.graph.records import DocumentChange, DocumentInfo, Extraction, GraphDelta
from graphtide.infra.sqlite.backend import SqliteBackend
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import discard, page
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter
from graphtide.streams.ports import Record
from tests.support.bench_data import ROOT
from tests.support.extractions import unit
from tests.support.marked_page import write_part
from tests.support.worlds import empty_view

SIZES = (1_000, 10_000)
REPEATED = 20
BATCH = 50
BEGIN, END = "<!-- bench-operations: begin -->\n", "<!-- bench-operations: end -->"
Cells = list[str]


class TimedDigest(LiveDigest):
    """A LiveDigest that sums the CPU seconds of its notes."""

    def __init__(self) -> None:
        super().__init__()
        self.noting_s = 0.0

    def note(self, view: DigestTables, delta: GraphDelta) -> None:
        started = time.thread_time()
        super().note(view, delta)
        self.noting_s += time.thread_time() - started


def document(number: int, revision: int = 1) -> Extraction:
    """Return the document of that number: equal for equal numbers and revisions."""
    rng = random.Random(number)
    own = [hashlib.sha256(f"{number} {at}".encode()).hexdigest()[:12] for at in range(4)]
    shared = [f"shared {int(2_000 * rng.random() ** 3)} name" for _ in range(3)]
    names = list(dict.fromkeys([*own, *shared]))
    facts = [(at % len(names), "relates to", (at + 1) % len(names)) for at in range(6)]
    stated = unit(f"Text {number} of revision {revision}.", [(name, "", "") for name in names], facts)
    return Extraction(f"d{number}", revision, DocumentInfo(), (stated,))


def ms(seconds: float) -> str:
    return f"{1000 * seconds:.3g}"


def cpu(work: Callable[[], object]) -> float:
    """Return the CPU seconds of the work."""
    started = time.process_time()
    work()
    return time.process_time() - started


def digest_cells(size: int) -> Iterator[tuple[str, str]]:
    """Measure the digest of a graph of `size` documents, and its share of a document's cost."""
    writer, view = Consolidator("g"), empty_view()
    view.digests = timed = TimedDigest()
    for first in range(0, size, BATCH):
        changes = [DocumentChange(f"d{number}", None, document(number)) for number in range(first, first + BATCH)]
        view.apply(writer.apply(changes))
    yield "digest, first reading after a start", ms(cpu(lambda: view.digests.read(view)))
    rows = view.rows()
    yield "digest of construction 1, each reading", ms(cpu(lambda: sorted_digest(rows)))
    apply_s = read_s = timed.noting_s = 0.0
    for number in range(REPEATED):
        change = DocumentChange(f"d{number}", document(number), document(number, 2))
        apply_s += cpu(lambda change=change: view.apply(writer.apply([change])))  # type: ignore[misc]
        read_s += cpu(lambda: view.digests.read(view))
    assert view.digests.read(view)[1] == digest(view.rows())
    yield "digest, reading after each edit of a document", ms(read_s / REPEATED)
    yield "what a commit keeps for the digest", ms(timed.noting_s / REPEATED)
    yield "the same, share of the graph's work for the document, %", f"{100 * timed.noting_s / apply_s:.2g}"


async def storage_cells(size: int, folder: Path) -> list[tuple[str, str]]:
    """Measure statistics beside `size` waiting revisions, and the letters of a topic of `size` letters."""
    backend, found = await SqliteBackend.open(folder), list[tuple[str, str]]()

    async def timed(name: str, work: Callable[[], Awaitable[object]]) -> None:
        started = time.process_time()
        for _ in range(REPEATED):
            await work()
        found.append((name, ms((time.process_time() - started) / REPEATED)))

    async def stats() -> None:
        await backend.ledger.counts("g")
        await backend.ledger.oldest_pending("g")

    try:
        for graph in ("h", "g"):
            await backend.ledger.accept([Record(f"{graph}|d{number}", b"{}") for number in range(size)])
        letters = (DeadLetter("g", f"d{number}", number, "extract", "malformed", 1, b"{}") for number in range(size))
        await backend.log.append(DEAD_LETTERS, [Record("k", letter.encode()) for letter in letters])
        await timed("stats: revisions by state, age of the oldest waiting one", stats)
        index = DeadLetterIndex(backend.log)
        started = time.process_time()
        after = (await page(index, "g")).next
        found.append(("dead letters, first page after a start", ms(time.process_time() - started)))
        await timed("dead letters, a further page of 50", lambda: page(index, "g", after))
        numbers = iter(range(size))
        await timed("dead letters, one discarded", lambda: discard(index, "g", f"0-{next(numbers)}"))
    finally:
        await backend.close()
    return found


def measure(sizes: tuple[int, ...]) -> list[Cells]:
    """Return the rows of the table: the operation, then a figure for each size."""
    rows: dict[str, Cells] = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            stored = asyncio.run(storage_cells(size, Path(folder)))
        for name, value in [*digest_cells(size), *stored]:
            rows.setdefault(name, [name]).append(value)
    return list(rows.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=SIZES, help="documents, waiting revisions, dead letters"
    )
    parser.add_argument("--no-page", action="store_true", help="print the table without writing docs/core.md")
    chosen = parser.parse_args()
    head = ["CPU ms, unless it says otherwise", *(f"{size:,}" for size in chosen.sizes)]
    table = [head, ["---", *("---:" for _ in chosen.sizes)], *measure(tuple(chosen.sizes))]
    text = "".join(f"| {' | '.join(cells)} |\n" for cells in table)
    print(text)
    if not chosen.no_page:
        write_part(ROOT / "docs" / "core.md", BEGIN, END, f"\n{text}\n")


if __name__ == "__main__":
    main()
