"""A consolidate stage with its views and its input, and what tests wait for."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphtide.graph.digest import canonical_lines
from graphtide.graph.records import Extraction, GraphDelta
from graphtide.streams.consolidate.stage import STAGE, ConsolidateSettings, ConsolidateStage
from graphtide.streams.consolidate.verification import recount
from graphtide.streams.errors import Fenced
from graphtide.streams.follow.view_registry import ViewRegistry
from graphtide.streams.messages import EXTRACTIONS, ExtractionMessage
from graphtide.streams.ports import Commit, Record, RevisionState, Watermark
from tests.model.graph_oracle import GraphOracle
from tests.support.backends import Backend
from tests.support.extractions import random_extraction
from tests.support.stages import ExactKeeper, Seen, eventually, running


@dataclass
class ConsolidateHarness:
    """A stage, its views, and its input."""

    backend: Backend
    views: ViewRegistry = field(default_factory=lambda: ViewRegistry(ExactKeeper()))
    seen: Seen = field(default_factory=Seen)

    def stage(self, batch_size: int = 64) -> ConsolidateStage:
        """A stage as a new process would make it, before the same views."""
        settings = ConsolidateSettings(batch_size)
        return ConsolidateStage(self.backend.log, self.backend.store, self.follow, self.seen, settings)

    async def follow(self, delta: GraphDelta) -> None:
        await self.views.follow(delta)

    async def accept(self, *keys: str) -> list[int]:
        """Enter revisions in the ledger, as if published. Returns their numbers."""
        return [each.offset for each in await self.backend.ledger.accept([Record(key, b"{}") for key in keys])]

    async def emit(self, *messages: ExtractionMessage) -> None:
        await self.backend.log.append(EXTRACTIONS, [Record(each.graph, each.encode()) for each in messages])

    async def consumed(self) -> bool:
        """Return True once everything up to the end of the log is committed and the view shows it."""
        end = (await self.backend.log.end(EXTRACTIONS))[0]
        left = await self.backend.log.consumer(EXTRACTIONS, STAGE).poll(1, 0)
        return end > 0 and not left

    async def work(self, batch_size: int = 64) -> None:
        """Run a fresh stage until everything is consumed."""
        async with running(self.stage(batch_size).run):
            await eventually(self.consumed)

    async def check(self, live: Mapping[str, Extraction], graph: str = "g") -> None:
        """Store, view and a build from nothing are the graph of these extractions."""
        expected = sorted(GraphOracle(live.values()).lines())
        assert sorted(canonical_lines(await self.backend.store.snapshot(graph))) == expected
        view = self.views.get(graph)
        assert view is not None and sorted(canonical_lines(view.rows())) == expected
        assert (await recount(self.backend.store, view, None)).differences == ()


def message(rng: random.Random, doc_id: str, revision: int, graph: str = "g") -> ExtractionMessage:
    return ExtractionMessage(graph, doc_id, revision, random_extraction(rng, doc_id, revision))


def live(messages: Sequence[ExtractionMessage]) -> dict[str, Extraction]:
    """Return the live messages: the newest of each document."""
    newest: dict[str, ExtractionMessage] = {}
    for each in messages:
        if each.doc_id not in newest or newest[each.doc_id].revision < each.revision:
            newest[each.doc_id] = each
    return {doc_id: each.extraction for doc_id, each in newest.items() if each.extraction is not None}


async def true(value: bool) -> bool:
    return value


async def applied(harness: ConsolidateHarness, count: int) -> bool:
    return (await harness.backend.ledger.counts("g"))[RevisionState.APPLIED] == count


async def shows(harness: ConsolidateHarness, version: int) -> bool:
    return harness.views.version("g") == version


async def claimed(harness: ConsolidateHarness, epoch: int) -> bool:
    """Return True once the partition was claimed so often: an empty commit with that epoch is accepted."""
    next_offset = (await harness.backend.log.end(EXTRACTIONS))[0]
    try:
        await harness.backend.store.commit(Commit(0, Watermark(epoch, next_offset), next_offset, (), ()))
    except Fenced:
        return False
    return True
