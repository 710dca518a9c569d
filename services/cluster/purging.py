"""Erasure in a cluster: the remains of deleted documents in the graph database, and their records in the topics.

The commit that applies a deletion deletes the rows of the document. Memos, verdicts, reports, and reasons in the ledger
remain; they are deleted here. Kafka deletes by retention, and from the start of a partition: dead letters are deleted
as far as that goes, all other records are counted, with the time of their expiry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime

from graphtide.graph.resolution.predicates.pairs import PREDICATE_TYPE
from graphtide.graph.vector_index import ExactIndex
from graphtide.graph.view import LiveView, VectorIndexes
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.models.cache.keys import scope_of
from graphtide.services.administration.purge import purge_reports
from graphtide.streams.checkpoints.saved_views import dimensions
from graphtide.streams.dead_letters.queue import letter_places
from graphtide.streams.errors import Rejected
from graphtide.streams.log.log_scan import read_up_to_end
from graphtide.streams.log.topics import BY_NAME, FOR_EVER
from graphtide.streams.messages import (
    DEAD_LETTERS,
    DELTAS,
    DOCUMENTS,
    EXTRACTIONS,
    decode_dead_letter,
    extraction_of,
    split_document_key,
)
from graphtide.streams.ports import ConsumedRecord, GraphStore, Log

MEMO_TABLES = ("embeddings", "extractions", "reports")
PAGE = 500
NEVER = "never"

DeleteBefore = Callable[[str, Mapping[int, int]], Awaitable[None]]
"""Deletes the records of a topic before offsets, by partition."""


@dataclass(frozen=True, slots=True)
class TopicTraces:
    """The records of deleted documents in a topic. `gone_by` is when retention deletes them (UTC), or "never"."""

    records: int
    gone_by: str


async def purge_graphs(backend: BoltBackend) -> dict[str, int]:
    """Delete data that no live document needs; return the counts by kind. Cost: every graph once."""
    removed = {"memo_entries": 0, "verdicts": 0, "reports": 0}
    for graph in await backend.store.graphs():
        for table in MEMO_TABLES:
            removed["memo_entries"] += await backend.vectors(table).purge(scope_of(graph))
        rows = await backend.store.snapshot(graph)
        live = {(row.name, row.type) for row in rows.labels}
        live.update((row.predicate, PREDICATE_TYPE) for row in rows.statements)
        verdicts = await backend.store.verdicts(graph)
        dead = [pair for pair in verdicts if not {pair[0], pair[1]} <= live]
        await backend.store.forget_verdicts(graph, dead)
        removed["verdicts"] += len(dead)
        size = dimensions(rows)
        view = LiveView(graph, VectorIndexes(ExactIndex(size), ExactIndex(size), ExactIndex(size)))
        view.apply(rows)
        removed["reports"] += await purge_reports(backend.store, view)
    for graph in await backend.store.deleted_graphs():  # a document in progress may have left entries
        for table in MEMO_TABLES:
            removed["memo_entries"] += await backend.vectors(table).purge(scope_of(graph))
    return removed


async def purge_reasons(backend: BoltBackend, log: Log) -> int:
    """Delete the reasons, which may quote the text, of deleted documents' failed revisions; return their number."""
    found: dict[str, set[str]] = defaultdict(set)
    async with aclosing(read_up_to_end(log, DEAD_LETTERS, {})) as records:
        async for record in records:
            if (named := _document_of(DEAD_LETTERS, record)) is not None:
                found[named[0]].add(named[1])
    deleted = [
        (graph, doc_id) for graph, some in found.items() for doc_id in await _deleted(backend.store, graph, some)
    ]
    await backend.ledger.forget_reasons(deleted)
    return len(deleted)


async def purge_letters(store: GraphStore, log: Log, delete_before: DeleteBefore) -> int:
    """Delete the dead letters of deleted documents from the log; return the number of letters deleted.

    Kafka deletes only from the start of a partition: the oldest unresolved letter of a document that is not deleted
    stays, and so do the letters after it. Resolved letters before it are deleted, too. Cost: the whole topic.
    """
    letters = await letter_places(log)
    named: dict[str, set[str]] = defaultdict(set)
    for letter in letters:
        named[letter.graph].add(letter.doc_id)
    dead = {(graph, doc_id) for graph, ids in named.items() for doc_id in await _deleted(store, graph, ids)}
    before: dict[int, int] = {}
    stopped: set[int] = set()
    for letter in letters:
        number, offset = letter.position.partition, letter.position.offset
        if (letter.erased or (letter.graph, letter.doc_id) in dead) and number not in stopped:
            before[number] = offset + 1
        elif not letter.resolved:
            stopped.add(number)
    await delete_before(DEAD_LETTERS, before)
    return sum(letter.position.offset < before.get(letter.position.partition, 0) for letter in letters)


async def topic_traces(store: GraphStore, log: Log) -> Mapping[str, TopicTraces]:
    """Count the records that hold text of deleted documents; of `deltas`, all records of their graphs.

    Cost: time, every topic; memory, the ids of documents.
    """
    graphs: set[str] = set()
    found = {}
    for topic in (DOCUMENTS, EXTRACTIONS, DEAD_LETTERS):
        newest: dict[tuple[str, str], tuple[int, int]] = {}
        async with aclosing(read_up_to_end(log, topic, {})) as records:
            async for record in records:
                if (named := _document_of(topic, record)) is not None:
                    count, _ = newest.get(named, (0, 0))
                    newest[named] = count + 1, record.timestamp_ms
        dead = set()
        for graph in {graph for graph, _ in newest}:
            ids = {doc_id for name, doc_id in newest if name == graph}
            dead |= {(graph, doc_id) for doc_id in await _deleted(store, graph, ids)}
        graphs |= {graph for graph, _ in dead}
        found[topic] = _traces(topic, [newest[each] for each in dead])
    async with aclosing(read_up_to_end(log, DELTAS, {})) as records:
        deltas = [(1, record.timestamp_ms) async for record in records if record.record.key in graphs]
    found[DELTAS] = _traces(DELTAS, deltas)
    return found


def _traces(topic: str, records: list[tuple[int, int]]) -> TopicTraces:
    count = sum(number for number, _ in records)
    retention_ms = BY_NAME[topic].retention_ms
    if not count:
        return TopicTraces(0, "")
    if retention_ms == FOR_EVER:
        return TopicTraces(count, NEVER)
    last_ms = max(at for _, at in records) + retention_ms
    return TopicTraces(count, datetime.fromtimestamp(last_ms / 1000, UTC).isoformat(timespec="seconds"))


def _document_of(topic: str, stored: ConsumedRecord) -> tuple[str, str] | None:
    """Return (graph, doc_id) of a record with content; None for a tombstone or a record without a document."""
    value = stored.record.value
    if value is None:
        return None
    try:
        if topic == DEAD_LETTERS:
            letter = decode_dead_letter(value)
            return (letter.graph, letter.doc_id) if letter.graph and letter.original else None
        if topic == EXTRACTIONS:
            named = extraction_of(value)
            return None if named is None or b'"deleted":true' in value[:2000] else named[:2]
        return split_document_key(stored.record.key)
    except Rejected:
        return None


async def _deleted(store: GraphStore, graph: str, doc_ids: set[str]) -> list[str]:
    ids = sorted(doc_ids)
    dead: list[str] = []
    for at in range(0, len(ids), PAGE):
        standings = await store.standings(graph, ids[at : at + PAGE])
        dead += [doc_id for doc_id, stored in standings.items() if stored.extraction is None]
    return dead
