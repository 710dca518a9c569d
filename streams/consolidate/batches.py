"""Planning of a batch of `extractions`: the newest revision of each document, and the outcomes of all the others.

This module decides which documents change; the write model computes what that changes in the graph.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from graphtide.graph.consolidation import KernelWork
from graphtide.graph.records import DocumentChange
from graphtide.streams.content import size_change
from graphtide.streams.errors import Rejected
from graphtide.streams.json_parts import escape_surrogates
from graphtide.streams.log.document_position import position_in
from graphtide.streams.log.revisions import compared_with
from graphtide.streams.messages import DeadLetter, ExtractionMessage, decode_extraction, decode_stored, extraction_of
from graphtide.streams.ports import (
    ConsumedRecord,
    ContentSize,
    GraphCommit,
    GraphDeletion,
    Record,
    RevisionOutcome,
    RevisionState,
    StoredDocument,
)
from graphtide.streams.tracing import Headers

log = logging.getLogger("graphtide.streams")

STAGE = "consolidate"
_IN_THE_GRAPH = frozenset({RevisionState.APPLIED, RevisionState.DELETED})


@dataclass(slots=True)
class ConsolidationBatch:
    """The newest message of each document by graph, the outcomes of all the others, and the commit of each graph.

    `record_headers` holds the record headers of each revision, `kernel_work` that of the kernels for each graph.
    """

    newest: dict[str, dict[str, ExtractionMessage]] = field(default_factory=lambda: defaultdict(dict))
    values: dict[tuple[str, str], bytes] = field(default_factory=dict)
    outcomes: list[RevisionOutcome] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    parts: list[GraphCommit] = field(default_factory=list)
    record_headers: dict[tuple[str, str, int], Headers] = field(default_factory=dict)
    kernel_work: dict[str, KernelWork] = field(default_factory=dict)
    records: dict[str, list[ConsumedRecord]] = field(default_factory=dict)
    """The records that could be decoded, by graph."""

    def release(self) -> None:
        """Drop the encoded extractions: nothing after the commit reads them, and a large one occupies memory."""
        self.values.clear()
        self.records.clear()
        self.parts = [replace(part, standings={}) for part in self.parts]

    def changed_rows(self) -> int:
        """Return the number of rows of all deltas."""
        return sum(part.delta.changed_rows for part in self.parts)

    def take_rows(self) -> list[list[object]]:
        """Return the rows of the large tables of the deltas, to be freed, and drop the deltas."""
        tables: list[list[object]] = []
        for delta in (part.delta for part in self.parts):
            tables += map(list, (delta.chunks, delta.labels, delta.mentions, delta.statements, delta.evidence))
            tables += map(list, (delta.entities, delta.edges))
        self.parts = []
        return tables

    def remove_graph(self, graph: str) -> list[ConsumedRecord]:
        """Remove the records of a graph from the batch and return them: another partition's writer finishes them."""
        self.newest.pop(graph, None)
        self.values = {key: value for key, value in self.values.items() if key[0] != graph}
        self.outcomes = [
            outcome for outcome in self.outcomes if outcome.graph != graph or outcome.state is RevisionState.FAILED
        ]
        return self.records.pop(graph, [])

    def leave_out(self, deletion: GraphDeletion) -> None:
        """Remove the revisions of a graph that its deletion covers: they have no entry in the ledger any more."""
        graph = deletion.graph
        for doc_id, message in list(self.newest[graph].items()):
            headers = self.record_headers.get((graph, doc_id, message.revision), ())
            position = position_in(headers, message.revision)
            if position is not None and deletion.covers(position):
                del self.newest[graph][doc_id]
        if not self.newest[graph]:
            del self.newest[graph]

    def fail(self, delivered: ConsumedRecord, error: Exception) -> None:
        """Add a dead letter for the record, and the outcome FAILED for the revision that it names, if it names one."""
        value = delivered.record.value or b""
        graph, doc_id, revision = extraction_of(value) or (delivered.record.key, "?", delivered.position.offset)
        attributes = {"graph": graph, "doc_id": doc_id, "revision": revision}
        log.error("extraction at %s cannot be applied", delivered.position, exc_info=error, extra=attributes)
        message = str(error) if isinstance(error, Rejected) else f"{type(error).__name__}: {error}"
        reason = escape_surrogates(message[:1000])
        self.letters.append(DeadLetter(graph, doc_id, revision, STAGE, reason, 1, value))
        self.outcomes.append(RevisionOutcome(graph, doc_id, revision, RevisionState.FAILED, reason))

    def accepted_ms(self) -> dict[str, list[int]]:
        """Return, by graph, the known acceptance times of the revisions that this batch applies or deletes."""
        found: dict[str, list[int]] = {}
        for outcome in self.outcomes:
            message = self.newest.get(outcome.graph, {}).get(outcome.doc_id)
            if message is not None and message.revision == outcome.revision and outcome.state in _IN_THE_GRAPH:
                found.setdefault(outcome.graph, []).append(message.accepted_ms)
        return {graph: list(filter(None, times)) for graph, times in found.items()}

    def step(
        self, graph: str, messages: Mapping[str, ExtractionMessage], stored_documents: Mapping[str, StoredDocument]
    ) -> tuple[list[DocumentChange], dict[str, StoredDocument], ContentSize]:
        """Return the changes, the new stored documents and the added content of one graph, compared with `held`.

        Adds every outcome.
        """
        changes: list[DocumentChange] = []
        documents: dict[str, StoredDocument] = {}
        for doc_id, message in sorted(messages.items()):
            stored = stored_documents.get(doc_id)
            revision = message.revision
            if stored is not None:
                revision = compared_with(stored.revision, message.revision, message.accepted_ms)
            if stored is not None and revision <= stored.revision:
                if revision < stored.revision:
                    self.outcomes.append(_outcome(message, RevisionState.SUPERSEDED))
                continue
            old = decode_stored(graph, doc_id, stored.extraction) if stored and stored.extraction else None
            deleted = message.extraction is None
            documents[doc_id] = StoredDocument(revision, None if deleted else self.values[graph, doc_id])
            self.outcomes.append(_outcome(message, RevisionState.DELETED if deleted else RevisionState.APPLIED))
            if old is not None or not deleted:
                changes.append(DocumentChange(doc_id, old, message.extraction))
        return changes, documents, size_change(changes)


def plan_batch(delivered: Sequence[ConsumedRecord]) -> ConsolidationBatch:
    """Return the batch of these records. Malformed records become dead letters of the batch."""
    batch = ConsolidationBatch()
    for consumed in delivered:
        value = consumed.record.value or b""
        try:
            message = _message(consumed.record)
        except Rejected as error:
            batch.fail(consumed, error)
            continue
        batch.record_headers[message.graph, message.doc_id, message.revision] = consumed.record.headers
        batch.records.setdefault(message.graph, []).append(consumed)
        newest = batch.newest[message.graph]
        other = newest.get(message.doc_id)
        if other is not None and other.revision != message.revision:
            batch.outcomes.append(_outcome(other if _is_newer(message, other) else message, RevisionState.SUPERSEDED))
        if other is None or _is_newer(message, other):
            newest[message.doc_id] = message
            batch.values[message.graph, message.doc_id] = value
    return batch


def _message(record: Record) -> ExtractionMessage:
    """Return the message of a record, decoded unless the same process encoded it. Raises Rejected with the reason."""
    return record.message if isinstance(record.message, ExtractionMessage) else decode_extraction(record.value or b"")


def _is_newer(message: ExtractionMessage, other: ExtractionMessage) -> bool:
    ours = compared_with(other.revision, message.revision, message.accepted_ms)
    return ours > compared_with(message.revision, other.revision, other.accepted_ms)


def _outcome(message: ExtractionMessage, state: RevisionState) -> RevisionOutcome:
    return RevisionOutcome(message.graph, message.doc_id, message.revision, state)
