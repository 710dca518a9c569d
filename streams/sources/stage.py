"""The sources stage: reads a topic of another system, and writes the documents that it means to `documents`.

For each batch of a partition's records, in the order of the partition:
1. decode each record by its topic's mapping; write a dead letter for a record that cannot be mapped
2. drop changes that a connector delivered again (`duplicates.py`)
3. append the documents and deletions to `documents`, in order; the document's key keeps its revisions in one partition
4. commit the position

A crash between 3 and 4 repeats 2 to 4: the same changes are appended again in the same order, so the last revision of
each document is the same. A record that needs an unreachable registry stops its topic, not the others: what precedes it
is appended, and the stage waits.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from graphtide.streams.dead_letters.writer import write_dead_letter
from graphtide.streams.errors import Rejected, Retryable
from graphtide.streams.log.revisions import number
from graphtide.streams.messages import DEAD_LETTERS, DeadLetter, document_key, split_document_key
from graphtide.streams.ports import ConsumedRecord, Consumer, Log, Position, Record
from graphtide.streams.sources.duplicates import DuplicateFilter
from graphtide.streams.sources.types import (
    STAGE,
    SourceChange,
    SourceDecoder,
    SourceObserver,
    SourceOutcome,
    SourceRecord,
)

log = logging.getLogger("graphtide.streams")

BATCH_SIZE = 200
POLL_S = 5.0
MAX_ID_CHARS = 200

Accept = Callable[[Sequence[Record]], Awaitable[object]]
"""The signature of Ledger.accept: appends records to `documents`, in order."""


class SourceStage:
    """The stage of one topic. `open_consumer` returns a member of the topic's group; keys are text with
    surrogateescape, "" for a record without a key. `log` takes the dead letters.
    """

    def __init__(
        self,
        topic: str,
        open_consumer: Callable[[], Consumer],
        accept: Accept,
        log: Log,
        decoder: SourceDecoder,
        observer: SourceObserver,
    ) -> None:
        self._topic = topic
        self._open_consumer = open_consumer
        self._accept = accept
        self._log = log
        self._decoder = decoder
        self._observer = observer
        self._duplicates = DuplicateFilter()
        self._continued: set[int] = set()
        self._assigned: frozenset[int] = frozenset()

    async def run(self) -> None:
        """Convert records until cancelled. Raises Retryable while the broker or the registry is unreachable."""
        consumer = self._open_consumer()
        self._continued.clear()
        try:
            while True:
                batch = await consumer.poll(BATCH_SIZE, POLL_S)
                if consumer.assigned() != self._assigned:
                    self._assigned = consumer.assigned()
                    self._continued.clear()
                if batch:
                    await self._process(consumer, batch)
        finally:
            await consumer.close()

    async def _process(self, consumer: Consumer, batch: Sequence[ConsumedRecord]) -> None:
        changes: list[tuple[SourceChange, ConsumedRecord]] = []
        letters: list[tuple[int, DeadLetter]] = []
        ends: dict[int, Position] = {}
        failure: Retryable | None = None
        self._duplicates.discard()  # a batch that failed is delivered again
        for consumed in batch:
            partition = consumed.position.partition
            try:
                changes += [(change, consumed) for change in await self._decoded(consumed)]
            except Rejected as error:
                letters.append((partition, self._letter(consumed, str(error))))
            except Retryable as error:
                failure = error
                break
            ends[partition] = consumed.position
        letters += await self._publish(changes)
        await self._write_letters(letters)
        for position in ends.values():
            await consumer.commit(position)
            self._continued.add(position.partition)
        if failure is not None:
            raise failure

    async def _decoded(self, consumed: ConsumedRecord) -> Sequence[SourceChange]:
        """Return the changes that are to be published. Raises Rejected, and Retryable."""
        changes = await self._decoder.decode(_source_record(self._topic, consumed))
        if not changes:
            self._observer.ended(self._topic, SourceOutcome.IGNORED)
        admitted = [change for change in changes if self._duplicates.admits(change)]
        if changes and not admitted:
            self._observer.ended(self._topic, SourceOutcome.DUPLICATE)
        return admitted

    async def _publish(self, changes: Sequence[tuple[SourceChange, ConsumedRecord]]) -> list[tuple[int, DeadLetter]]:
        """Append the changes. Returns the dead letters of those that the log refuses, because they are too large."""
        letters: list[tuple[int, DeadLetter]] = []
        if changes:
            try:
                await self._accept([_record(change) for change, _ in changes])
            except Rejected:
                letters = await self._publish_singly(changes)
        self._duplicates.commit()
        deleted = sum(change.document is None for change, _ in changes)
        self._observer.ended(self._topic, SourceOutcome.DELETED, deleted)
        self._observer.ended(self._topic, SourceOutcome.PUBLISHED, len(changes) - deleted - len(letters))
        return letters

    async def _publish_singly(
        self, changes: Sequence[tuple[SourceChange, ConsumedRecord]]
    ) -> list[tuple[int, DeadLetter]]:
        letters = []
        for change, consumed in changes:
            try:
                await self._accept([_record(change)])
            except Rejected as error:
                letters.append((consumed.position.partition, self._letter(consumed, str(error), change)))
        return letters

    async def _write_letters(self, letters: Sequence[tuple[int, DeadLetter]]) -> None:
        """Write dead letters, before the positions are committed.

        A letter may have been written already only if the process before ended between both steps: until the first
        commit of its partition. Later letters need no look-up, so that a flood of them costs one append a batch.
        """
        fresh = [letter for partition, letter in letters if partition in self._continued]
        for partition, letter in letters:
            if partition not in self._continued:
                await write_dead_letter(self._log, letter)
        if fresh:
            records = [Record(document_key(letter.graph, letter.doc_id), letter.encode()) for letter in fresh]
            await self._log.append(DEAD_LETTERS, records)
        if letters:
            places = (self._topic, len(letters), letters[0][1].doc_id)
            log.warning("%s: %d records were rejected, first %s; their dead letters give the reasons", *places)
        self._observer.ended(self._topic, SourceOutcome.REJECTED, len(letters))

    def _letter(self, consumed: ConsumedRecord, reason: str, change: SourceChange | None = None) -> DeadLetter:
        position = consumed.position
        place = f"{self._topic}/{position.partition}/{position.offset}"[-MAX_ID_CHARS:]
        graph, doc_id = _named(self._decoder.graph_of(self._topic), place)
        if change is not None:
            graph, doc_id = change.graph, change.doc_id
        revision = number(position.offset, position.partition)
        return DeadLetter(graph, doc_id, revision, STAGE, reason, 1, consumed.record.value or b"")


def _named(graph: str, doc_id: str) -> tuple[str, str]:
    try:
        return split_document_key(document_key(graph, doc_id))
    except Rejected:
        return "", doc_id


def _record(change: SourceChange) -> Record:
    return Record(change.key, None if change.document is None else change.document.encode())


def _source_record(topic: str, consumed: ConsumedRecord) -> SourceRecord:
    record = consumed.record
    key = record.key.encode(errors="surrogateescape") or None
    return SourceRecord(topic, consumed.position, key, record.value, record.headers)
