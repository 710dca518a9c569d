"""The sweeper: reprocesses records that were accepted and committed, but never reached a final state.

A consumer may lose a record: its position is committed, but `extractions` has no record of it, and the ledger still has
it as ACCEPTED. Age is no proof, because consolidation may lag. A record is lost only if

1. it is unfinished, and the extract stage has committed a later position: no consumer will read it again
2. everything that was in `extractions` when 1 was observed has been consolidated, and the record is still unfinished

The sweeper reads a lost record from `documents` again, at its position, and passes it through the stage as the same
revision: if it was not lost after all, consolidation recognises the revision. If the record was deleted from
`documents`, it fails. Several processes sweep in parallel, each the partitions assigned to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from graphtide.streams.clock import now_ms
from graphtide.streams.consolidate.stage import STAGE as CONSOLIDATE
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.extract.stage import STAGE, ExtractStage
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.messages import DOCUMENTS, EXTRACTIONS, DeadLetter
from graphtide.streams.ports import ConsumedRecord, Ledger, LedgerEntry, Log, Position, RevisionOutcome, RevisionState

log = logging.getLogger("graphtide.streams")

LOST = "the record is no longer in the topic documents, and its extraction never arrived: publish the document again"


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """`age_s`: minimum age of the revisions to check. `every_s`: interval. `at_once`: maximum number per sweep."""

    age_s: float = 60.0
    every_s: float = 30.0
    at_once: int = 10_000


class Sweeper:
    """The sweeper of one process. `held` returns the partitions of `documents` assigned to it now."""

    def __init__(
        self,
        log: Log,
        ledger: Ledger,
        stage: ExtractStage,
        assigned: Callable[[], frozenset[int]],
        settings: SweepSettings | None = None,
    ) -> None:
        self._log = log
        self._ledger = ledger
        self._stage = stage
        self._assigned = assigned
        self._settings = settings or SweepSettings()
        self._watched: dict[Position, Mapping[int, int]] = {}

    async def run(self) -> None:
        """Sweep at intervals until cancelled."""
        while True:
            await asyncio.sleep(self._settings.every_s)
            await self.sweep()

    async def sweep(self) -> int:
        """Sweep once. Returns the number of reprocessed records. Cost: the unfinished revisions, not all of them."""
        before = now_ms() - int(self._settings.age_s * 1000)
        unfinished = await self._ledger.unfinished(before, self._settings.at_once)
        read = await self._log.committed(DOCUMENTS, STAGE)
        assigned = self._assigned()
        suspects = {
            entry.position: entry
            for entry in unfinished
            if entry.position.partition in assigned and entry.position.offset < read.get(entry.position.partition, 0)
        }
        self._watched = {position: ends for position, ends in self._watched.items() if position in suspects}
        lost = [position for position, ends in self._watched.items() if await self._is_behind(ends)]
        for position in lost:
            del self._watched[position]
            await self._again(suspects[position])
        fresh = suspects.keys() - self._watched.keys() - set(lost)
        if fresh:
            ends = await self._log.end(EXTRACTIONS)
            self._watched.update(dict.fromkeys(fresh, ends))
        return len(lost)

    async def _is_behind(self, ends: Mapping[int, int]) -> bool:
        consolidated = await self._log.committed(EXTRACTIONS, CONSOLIDATE)
        return all(consolidated.get(number, 0) >= end for number, end in ends.items())

    async def _again(self, entry: LedgerEntry) -> None:
        delivered = await self._read(entry.position)
        log.warning(
            "revision %d of document %r of graph %r was lost after it was read: processing it again",
            entry.revision,
            entry.doc_id,
            entry.graph,
        )
        if delivered is not None:
            await self._stage.reprocess(delivered)
            return
        await write_dead_letter(
            self._log, DeadLetter(entry.graph, entry.doc_id, entry.revision, STAGE, LOST, entry.attempts, b"")
        )
        await self._ledger.finish(
            [RevisionOutcome(entry.graph, entry.doc_id, entry.revision, RevisionState.FAILED, LOST)]
        )

    async def _read(self, position: Position) -> ConsumedRecord | None:
        ends = await self._log.end(DOCUMENTS)
        offsets = {**ends, position.partition: position.offset}
        async with aclosing(read_up_to_end(self._log, DOCUMENTS, offsets)) as found:
            async for delivered in found:
                return delivered if delivered.position == position else None
        return None
