"""The backing of every cluster process: a log, and a store with its ledger, outbox, memos and usage ledger."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from graphtide.infra.models.cache.embeddings import VectorStore
from graphtide.infra.models.limits.shared_rate import RateLimitPeers
from graphtide.infra.models.local.embedders import setting_of
from graphtide.streams.errors import Broken
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.ports import Consumer, GraphStore, Ledger, Log, Outbox
from graphtide.streams.standing.store import SharedQuestionStore
from graphtide.streams.usage import UsageLedger


async def _no_history() -> str:
    return ""


@dataclass(frozen=True, slots=True)
class Backing:
    """The backing of a process. `memo` opens a shared store of bytes by name, `extraction` runs the extract stage on
    the log.

    `source_consumer` opens a member of the group that reads a topic of another system.

    `history` returns the id of the store's history, which a restore from a backup changes; "" for a store without one.

    `peers` are the other processes that call the model endpoints; None: the limits are not shared.
    """

    log: Log
    ledger: Ledger
    store: GraphStore
    outbox: Outbox
    memo: Callable[[str], VectorStore]
    extraction: Callable[[ExtractStage], Awaitable[None]]
    spending: UsageLedger
    questions: SharedQuestionStore
    peers: RateLimitPeers | None = None
    source_consumer: Callable[[str], Consumer] | None = None
    history: Callable[[], Awaitable[str]] = _no_history


MODEL = sha256(b"the embedding model of this cluster").digest()


async def check_model(backing: Backing, name: str) -> None:
    """Raise Broken if the settings name another embedding model than the first one of the cluster.

    Vectors of two models cannot be compared. When processes with two models start at once, only those with one of them
    continue.
    """
    kept = backing.memo("cluster")
    if not await kept.get_many([MODEL]):
        await kept.put_many({MODEL: name.encode()})
    recorded = (await kept.get_many([MODEL])).get(MODEL, name.encode()).decode()
    if recorded != name:
        raise Broken(
            f"the graphs of this cluster were embedded with {recorded}, and the settings name {name}: restore the"
            f" model with GRAPHTIDE_EMBEDDING_MODEL={setting_of(recorded)}, or use another graph database and other"
            " topics"
        )
