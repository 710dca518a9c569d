"""Documents for the stage of extraction, and their states."""

from __future__ import annotations

from collections.abc import Sequence

from graphtide.streams.extract.settings import ExtractSettings
from graphtide.streams.extract.stage import STAGE
from graphtide.streams.messages import (
    DOCUMENTS,
    DocumentMessage,
)
from graphtide.streams.ports import Position, Record, RevisionState
from tests.support.backends import Backend
from tests.support.stages import (
    committed,
    records,
)

QUICK = ExtractSettings(concurrency=2, poll_s=60.0, crashes_allowed=2)


def record(doc_id: str, text: str = "Ada Lovelace knew Charles Babbage.") -> Record:
    message = DocumentMessage("g", doc_id, text)
    return Record(message.key, message.encode())


async def publish(backend: Backend, *doc_ids: str) -> Sequence[Position]:
    return await backend.ledger.accept([record(doc_id, f"Ada Lovelace wrote {doc_id}.") for doc_id in doc_ids])


async def all_committed(backend: Backend) -> bool:
    return await committed(backend, DOCUMENTS, STAGE) == -1


async def state_of(backend: Backend, doc_id: str) -> RevisionState:
    entry = await backend.ledger.latest("g", doc_id)
    assert entry is not None
    return entry.state


async def _is(value: bool) -> bool:
    return value


async def _holds(backend: Backend, topic: str, count: int) -> bool:
    return len(await records(backend, topic)) == count


async def _failed(backend: Backend, doc_id: str) -> bool:
    return await state_of(backend, doc_id) is RevisionState.FAILED
