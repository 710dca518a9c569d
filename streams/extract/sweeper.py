"""The sweeper: does again what was accepted, taken as done, and never came to an end.

A consumer may lose sight of a record: its position is committed, and nothing of it is in `extractions`. The ledger has
it as accepted still. It is not enough that it is old, for consolidation may be behind; so a record is lost only if

1. it is unfinished, and its position lies in front of what the extract stage has committed: nobody will read it again
2. everything that was in `extractions` when 1 was seen has been consolidated since, and it is unfinished still

What is lost is read from `documents` again, at its own position, and goes through the stage as the same revision: if
it was not lost after all, consolidation knows the revision. Where the record is gone from `documents`, it has failed.
Several processes sweep side by side, each the partitions that it holds.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from graphtide.streams.consolidate.stage import STAGE as CONSOLIDATE
from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.extract.stage import STAGE, ExtractStage
from graphtide.streams.log_scan import read_up_to_end
from graphtide.streams.memory import now_ms
from graphtide.streams.messages import DOCUMENTS, EXTRACTIONS, DeadLetter
from graphtide.streams.ports import ConsumedRecord, Ledger, LedgerEntry, Log, Position, RevisionOutcome, RevisionState

log = logging.getLogger("graphtide.streams")

LOST = "its record is no longer in the topic documents, and its extraction never arrived: publish it again"


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """`age_s` is how old a revision must be to be looked at; `every_s` how often that is done."""

    age_s: float = 60.0
    every_s: float = 30.0
    at_once: int = 10_000


class Sweeper:
    """See the module. `held` says which partitions of `documents` this process has now."""

    def __init__(
        self,
        log: Log,
        ledger: Ledger,
        stage: ExtractStage,
        held: Callable[[], frozenset[int]],
        settings: SweepSettings | None = None,
    ) -> None:
        self._log = log
        self._ledger = ledger
        self._stage = stage
        self._held = held
        self._settings = settings or SweepSettings()
        self._watched: dict[Position, Mapping[int, int]] = {}

    async def run(self) -> None:
        """Sweep now and then, until cancelled."""
        while True:
            await asyncio.sleep(self._settings.every_s)
            await self.sweep()

    async def sweep(self) -> int:
        """One look; returns how many records were done again. Cost: the unfinished revisions, not all there are."""
        before = now_ms() - int(self._settings.age_s * 1000)
        unfinished = await self._ledger.unfinished(before, self._settings.at_once)
        read = await self._log.committed(DOCUMENTS, STAGE)
        held = self._held()
        suspects = {
            entry.position: entry
            for entry in unfinished
            if entry.position.partition in held and entry.position.offset < read.get(entry.position.partition, 0)
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
            "document %r of graph %r, revision %d, was lost sight of", entry.doc_id, entry.graph, entry.revision
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
            async for one in found:
                return one if one.position == position else None
        return None
