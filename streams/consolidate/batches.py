"""A batch of `extractions`, sorted out: of each document the newest revision, and the ends of all the others.

It decides what a batch means for the documents in it; what that does to a graph is the write model's business.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphtide.graph.consolidation import KernelWork
from graphtide.graph.records import DocumentChange
from graphtide.streams.errors import Rejected
from graphtide.streams.messages import DeadLetter, ExtractionMessage, decode_extraction, decode_stored, extraction_of
from graphtide.streams.ports import ConsumedRecord, GraphCommit, RevisionOutcome, RevisionState, StoredDocument
from graphtide.streams.revisions import compared_with
from graphtide.streams.tracing import Headers

log = logging.getLogger("graphtide.streams")

STAGE = "consolidate"
_IN_THE_GRAPH = frozenset({RevisionState.APPLIED, RevisionState.DELETED})


@dataclass(slots=True)
class ConsolidationBatch:
    """The newest message of each document by graph, the ends of all the others, and what it does to each graph.

    `carried` is what the record of each revision brought along, `efforts` what each graph's part took.
    """

    newest: dict[str, dict[str, ExtractionMessage]] = field(default_factory=lambda: defaultdict(dict))
    values: dict[tuple[str, str], bytes] = field(default_factory=dict)
    outcomes: list[RevisionOutcome] = field(default_factory=list)
    letters: list[DeadLetter] = field(default_factory=list)
    parts: list[GraphCommit] = field(default_factory=list)
    carried: dict[tuple[str, str, int], Headers] = field(default_factory=dict)
    efforts: dict[str, KernelWork] = field(default_factory=dict)
    records: dict[str, list[ConsumedRecord]] = field(default_factory=dict)
    """By graph, the records that could be read."""

    def withdraw(self, graph: str) -> list[ConsumedRecord]:
        """Take a graph's records out of the batch: their ends are for the writer of another partition to say."""
        self.newest.pop(graph, None)
        self.values = {place: value for place, value in self.values.items() if place[0] != graph}
        self.outcomes = [one for one in self.outcomes if one.graph != graph or one.state is RevisionState.FAILED]
        return self.records.pop(graph, [])

    def fail(self, one: ConsumedRecord, error: Exception) -> None:
        """Bury a record, and end the revision it is of, if it says so much."""
        value = one.record.value or b""
        graph, doc_id, revision = extraction_of(value) or (one.record.key, "?", one.position.offset)
        about = {"graph": graph, "doc_id": doc_id, "revision": revision}
        log.error("extraction at %s cannot be applied", one.position, exc_info=error, extra=about)
        reason = str(error) if isinstance(error, Rejected) else f"{type(error).__name__}: {error}"
        said = reason[:1000].encode(errors="backslashreplace").decode()
        self.letters.append(DeadLetter(graph, doc_id, revision, STAGE, said, 1, value))
        self.outcomes.append(RevisionOutcome(graph, doc_id, revision, RevisionState.FAILED, said))

    def accepted_ms(self) -> dict[str, list[int]]:
        """By graph, when the revisions were accepted that this batch applies or deletes, as far as they say."""
        found: dict[str, list[int]] = {}
        for one in self.outcomes:
            message = self.newest.get(one.graph, {}).get(one.doc_id)
            if message is not None and message.revision == one.revision and one.state in _IN_THE_GRAPH:
                found.setdefault(one.graph, []).append(message.accepted_ms)
        return {graph: list(filter(None, times)) for graph, times in found.items()}

    def step(
        self, graph: str, messages: Mapping[str, ExtractionMessage], held: Mapping[str, StoredDocument]
    ) -> tuple[list[DocumentChange], dict[str, StoredDocument]]:
        """What is new of one graph's messages against its standings: changes, and standings. Notes every end."""
        changes: list[DocumentChange] = []
        standings: dict[str, StoredDocument] = {}
        for doc_id, message in sorted(messages.items()):
            standing = held.get(doc_id)
            revision = message.revision
            if standing is not None:
                revision = compared_with(standing.revision, message.revision, message.accepted_ms)
            if standing is not None and revision <= standing.revision:
                if revision < standing.revision:
                    self.outcomes.append(_outcome(message, RevisionState.SUPERSEDED))
                continue
            old = decode_stored(graph, doc_id, standing.extraction) if standing and standing.extraction else None
            deleted = message.extraction is None
            standings[doc_id] = StoredDocument(revision, None if deleted else self.values[graph, doc_id])
            self.outcomes.append(_outcome(message, RevisionState.DELETED if deleted else RevisionState.APPLIED))
            if old is not None or not deleted:
                changes.append(DocumentChange(doc_id, old, message.extraction))
        return changes, standings


def plan_batch(delivered: Sequence[ConsumedRecord]) -> ConsolidationBatch:
    """The batch of these records. What cannot be read is buried with it."""
    batch = ConsolidationBatch()
    for one in delivered:
        value = one.record.value or b""
        try:
            message = decode_extraction(value)
        except Rejected as error:
            batch.fail(one, error)
            continue
        batch.carried[message.graph, message.doc_id, message.revision] = one.record.headers
        batch.records.setdefault(message.graph, []).append(one)
        newest = batch.newest[message.graph]
        other = newest.get(message.doc_id)
        if other is not None and other.revision != message.revision:
            batch.outcomes.append(_outcome(other if _is_newer(message, other) else message, RevisionState.SUPERSEDED))
        if other is None or _is_newer(message, other):
            newest[message.doc_id] = message
            batch.values[message.graph, message.doc_id] = value
    return batch


def _is_newer(message: ExtractionMessage, other: ExtractionMessage) -> bool:
    ours = compared_with(other.revision, message.revision, message.accepted_ms)
    return ours > compared_with(message.revision, other.revision, other.accepted_ms)


def _outcome(message: ExtractionMessage, state: RevisionState) -> RevisionOutcome:
    return RevisionOutcome(message.graph, message.doc_id, message.revision, state)
