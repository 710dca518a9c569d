"""The backing of a cluster's roles in memory, for tests of several roles in one process."""

from __future__ import annotations

from graphtide.infra.models.cache.embeddings import MemoryVectorStore
from graphtide.infra.models.usage.memory_ledger import MemoryUsageLedger
from graphtide.services.cluster.backing import Backing
from tests.model.memory import MemoryBackend, MemoryOutbox
from tests.model.memory.questions import MemoryQuestionStore


def memory_backing(partitions: int = 3) -> Backing:
    """Return a backing with topics of that many partitions."""
    outbox = MemoryOutbox()
    backend = MemoryBackend(partitions, outbox=outbox)
    memos: dict[str, MemoryVectorStore] = {}
    return Backing(
        backend.log,
        backend.ledger,
        backend.store,
        outbox,
        lambda name: memos.setdefault(name, MemoryVectorStore()),
        lambda stage: stage.run(),
        MemoryUsageLedger(),
        MemoryQuestionStore(),
    )
