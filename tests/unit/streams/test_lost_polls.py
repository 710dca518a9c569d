"""The consolidate stage when cancelled polls take records and do not return them: nothing is skipped, nothing stops."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Collection, Sequence
from typing import Any, cast

import pytest

from graphtide.streams.consolidate.stage import STAGE, ConsolidateStage
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import ConsumedRecord, Log, Record, Watermark
from tests.model.memory import MemoryBackend
from tests.support.backends import Clock
from tests.support.extractions import random_extraction
from tests.support.stages import Seen, eventually, running


class Losing:
    """A log whose consumer of `extractions` loses what its first polls took, the last of them by a cancellation."""

    def __init__(self, backend: MemoryBackend, records: Sequence[Record]) -> None:
        self._backend = backend
        self._records = list(records)
        self.cancelled = asyncio.Event()
        self.waits = asyncio.Event()
        self._polls = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner if name in ("assigned", "commit", "seek", "close") else self._backend.log, name)

    def consumer(self, topic: str, group: str) -> Losing:
        self._inner = self._backend.log.consumer(topic, group)
        return self

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        found = await self._inner.poll(limit, timeout_s, among)
        if not found or self._polls > 2:
            return found
        self._polls += 1
        await self._backend.log.append(EXTRACTIONS, [self._records.pop(0)])
        if self._polls <= 2:
            return await self._inner.poll(limit, timeout_s, among)  # without what the poll before took
        try:
            self.waits.set()
            return await asyncio.Future()
        finally:
            self.cancelled.set()


async def test_records_that_polls_lost_are_read_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The last loss occurs while an earlier one is sought: another partition, claimed then, cancels that poll."""
    backend, rng = MemoryBackend(2, Clock()), random.Random(1)
    revisions = [one.offset for one in await backend.ledger.accept([Record(f"g|{n}", b"{}") for n in range(4)])]
    messages = [
        ExtractionMessage("g", str(n), at, random_extraction(rng, str(n), at)) for n, at in enumerate(revisions)
    ]
    first, *later = [Record("g", one.encode(), (), 0) for one in messages]
    await backend.log.append(EXTRACTIONS, [first])
    losing, claim = Losing(backend, later), backend.store.claim

    async def late(partition: int) -> Watermark:
        if partition == 1:
            await losing.waits.wait()
        return await claim(partition)

    monkeypatch.setattr(backend.store, "claim", late)
    stage = ConsolidateStage(cast(Log, losing), backend.store, None, Seen())

    async def consumed() -> bool:
        return (await backend.log.committed(EXTRACTIONS, STAGE)).get(0) == len(messages)

    async with running(stage.run):
        await eventually(consumed)
    assert losing.cancelled.is_set() and not [one.getMessage() for one in caplog.records if one.levelname == "ERROR"]
