"""What every process of a cluster stands on: a log, and a store with its ledger, outbox, memos and books."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from hashlib import sha256

from graphtide.infra.models.cache.embeddings import VectorStore
from graphtide.infra.models.limits.shared_rate import RateLimitPeers
from graphtide.streams.errors import Broken
from graphtide.streams.extract.stage import ExtractStage
from graphtide.streams.ports import GraphStore, Ledger, Log, Outbox
from graphtide.streams.usage import UsageLedger


@dataclass(frozen=True, slots=True)
class Backing:
    """`memo` opens a shared store of bytes by its name, `extraction` runs the extract stage as the log is best read.

    `fellows` are the other processes that ask the models' endpoints; None: there is nobody to share limits with.
    """

    log: Log
    ledger: Ledger
    store: GraphStore
    outbox: Outbox
    memo: Callable[[str], VectorStore]
    extraction: Callable[[ExtractStage], Awaitable[None]]
    spending: UsageLedger
    fellows: RateLimitPeers | None = None


MODEL = sha256(b"the embedding model of this cluster").digest()


async def check_model(backing: Backing, name: str) -> None:
    """Vectors of two models cannot be compared: a cluster keeps to the one it was begun with.

    Raises Broken in a process whose settings name another. Of processes that start at once with two models, all but
    those of one are refused.
    """
    kept = backing.memo("cluster")
    if not await kept.get_many([MODEL]):
        await kept.put_many({MODEL: name.encode()})
    held = (await kept.get_many([MODEL])).get(MODEL, name.encode()).decode()
    if held != name:
        raise Broken(
            f"the graphs of this cluster were embedded with {held}, and the settings say {name}: set the model back,"
            " or use another graph database and other topics"
        )
