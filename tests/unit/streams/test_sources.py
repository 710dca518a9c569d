"""The sources stage: the documents are those of the table's rows, whatever is delivered twice and wherever it fails."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

import pytest

from graphtide.infra.sources.decoder import MappedTopics
from graphtide.infra.sources.mapping import SourceMapping
from graphtide.streams.dead_letters.index import DeadLetterIndex
from graphtide.streams.dead_letters.queue import list_dead_letters, retry
from graphtide.streams.errors import Invalid, Rejected, Retryable
from graphtide.streams.messages import DOCUMENTS, decode_document
from graphtide.streams.ports import ConsumedRecord, Position, Record
from graphtide.streams.sources.duplicates import DuplicateFilter
from graphtide.streams.sources.stage import SourceStage
from graphtide.streams.sources.types import RowVersion, SourceChange, SourceOutcome, SourceRecord
from tests.model.memory.log import MemoryConsumer, MemoryLog
from tests.support.source_records import TOPIC, change, mapping

GROUP = "sources"
STEPS = int(os.environ.get("GRAPHTIDE_TEST_SOURCE_STEPS", "12"))


class Counted:
    """An observer that counts outcomes, and reports each."""

    def __init__(self) -> None:
        self.ends: list[SourceOutcome] = []

    def ended(self, topic: str, outcome: SourceOutcome, count: int = 1) -> None:
        assert topic == TOPIC
        self.ends += [outcome] * count


class Table:
    """A table and its change log: `envelopes` are the records that a connector writes for it, in order."""

    def __init__(self) -> None:
        self.rows: dict[int, str] = {}
        self.envelopes: list[Record] = []
        self._lsn = 0

    def change_at_random(self, rng: random.Random) -> None:
        """Insert, update or delete a row."""
        number = rng.randrange(5)
        if number in self.rows and rng.random() < 0.3:
            del self.rows[number]
            self._log("d", number, None)
            self.envelopes.append(Record(json.dumps({"id": number}), None))
        else:
            operation = "u" if number in self.rows else "c"
            self.rows[number] = f"name {rng.randrange(1000)}"
            self._log(operation, number, {"id": number, "name": self.rows[number], "signer": "Ana"})

    def _log(self, operation: str, number: int, row: dict[str, Any] | None) -> None:
        self._lsn += 1
        before = {"id": number, "name": ""} if row is None else None
        value = change(operation, row, self._lsn, before=before)
        self.envelopes.append(Record(json.dumps({"id": number}), json.dumps(value).encode()))

    def documents(self) -> dict[str, str]:
        return {f"contracts/{number}": f"{name} was signed by Ana." for number, name in self.rows.items()}


class EndOfTopicError(Exception):
    """The stage has read the whole topic."""


class Finite:
    """A consumer that ends the stage at the end of the topic."""

    def __init__(self, log: MemoryLog) -> None:
        self._inner = log.consumer(TOPIC, GROUP)

    def assigned(self) -> frozenset[int]:
        return self._inner.assigned()

    async def poll(
        self, limit: int, timeout_s: float, among: Collection[int] | None = None
    ) -> Sequence[ConsumedRecord]:
        batch = await self._inner.poll(limit, 0, among)
        if not batch:
            raise EndOfTopicError
        return batch

    async def commit(self, position: Position) -> None:
        await self._inner.commit(position)

    async def seek(self, position: Position) -> None:
        await self._inner.seek(position)

    async def close(self) -> None:
        await self._inner.close()


class World:
    """A stage on a log in memory. `accept` may be replaced by one that fails."""

    def __init__(self, **fields: Any) -> None:
        self.log = MemoryLog(1, lambda: 0)
        self.observer = Counted()
        self.decoder = MappedTopics({TOPIC: mapping(**fields)})
        self.accept: Callable[[Sequence[Record]], Any] = lambda records: self.log.append(DOCUMENTS, records)
        self.stage = self.new_stage()

    def new_stage(self) -> SourceStage:
        """Return a stage as a new process has it."""

        async def accept(records: Sequence[Record]) -> None:
            await self.accept(records)

        return SourceStage(TOPIC, lambda: Finite(self.log), accept, self.log, self.decoder, self.observer)

    async def run_to_end(self) -> None:
        """Run the stage until it has read and committed the whole topic; raise what it raises."""
        with suppress(EndOfTopicError):
            await self.stage.run()

    async def documents(self) -> dict[str, str]:
        """Return the live documents that the records of `documents` give, by id."""
        found: dict[str, str] = {}
        for record in await self.published():
            _, _, doc_id = record.key.partition("|")
            found.pop(doc_id, None)
            if record.value is not None:
                found[doc_id] = decode_document(record.key, record.value).text
        return found

    async def published(self) -> list[Record]:
        reader = self.log.reader(DOCUMENTS, {})
        found: list[Record] = []
        while batch := await reader.poll(1000, 0):
            found += [each.record for each in batch]
        return found


@pytest.mark.parametrize("seed", range(5))
async def test_documents_are_the_rows_whatever_fails_and_is_repeated(seed: int) -> None:
    """Random changes; the connector repeats its last ones; appends fail before or after they are durable; the process
    starts anew.
    """
    print(f"seed {seed}")
    rng, world, table = random.Random(seed), World(), Table()
    sent = 0

    async def fail_at_random(records: Sequence[Record]) -> None:
        how = rng.random()
        if how > 0.2:
            await world.log.append(DOCUMENTS, records)
        if how < 0.4:
            raise Retryable("the broker is unreachable")

    world.accept = fail_at_random
    for _ in range(STEPS):
        for _ in range(rng.randrange(6)):
            table.change_at_random(rng)
        sent = max(0, sent - rng.randrange(8)) if rng.random() < 0.4 else sent
        await world.log.append(TOPIC, table.envelopes[sent:])
        sent = len(table.envelopes)
        if rng.random() < 0.3:
            world.stage = world.new_stage()
        finished = False
        while not finished:
            try:
                await world.run_to_end()
                finished = True
            except Retryable:
                continue
        assert await world.documents() == table.documents()


async def test_repeated_changes_are_dropped_when_a_connector_restarts() -> None:
    """All it delivers again is known, so nothing is published; what follows is."""
    world, table, rng = World(), Table(), random.Random(1)
    for _ in range(10):
        table.change_at_random(rng)
    await world.log.append(TOPIC, table.envelopes)
    await world.run_to_end()
    before = await world.published()
    repeated = [each for each in table.envelopes[-6:] if each.value is not None]
    await world.log.append(TOPIC, repeated)
    await world.run_to_end()
    assert await world.published() == before
    assert world.observer.ends.count(SourceOutcome.DUPLICATE) >= len(repeated)


def test_change_is_admitted_in_doubt() -> None:
    """A restored database counts its log from the start again at a later time; a snapshot's rows are valid always."""
    known = DuplicateFilter()

    def admits(lsn: int, time_ms: int, is_snapshot: bool = False) -> bool:
        return known.admits(SourceChange("g", "a", None, RowVersion(lsn, time_ms), is_snapshot))

    assert admits(100, 10)
    known.commit()
    assert [admits(100, 10), admits(99, 10), admits(5, 11), admits(5, 11)] == [False, False, True, False]
    known.discard()
    assert [admits(100, 10), admits(1, 1, is_snapshot=True), admits(2, 2)] == [False, True, True]


def test_deletion_and_insertion_of_one_version_are_both_admitted() -> None:
    """A row that gets another primary key keeps its document, if the mapping does not name it by that key."""
    known, version = DuplicateFilter(), RowVersion(100, 10)
    document = decode_document("g|a", b'{"text":"Ana signed."}')
    move = [SourceChange("g", "a", None, version), SourceChange("g", "a", document, version)]
    assert [known.admits(each) for each in move] == [True, True]
    known.commit()
    assert [known.admits(each) for each in move] == [False, False]


async def test_changes_of_a_batch_that_failed_are_published_when_it_is_delivered_again() -> None:
    """An error that no decoder should raise, after changes of the same batch were decoded."""
    world = World()
    decode, failures = world.decoder.decode, [RuntimeError("no decoder should raise this")]

    async def fail_once(record: SourceRecord) -> Sequence[SourceChange]:
        if record.position.offset == 1 and failures:
            raise failures.pop()
        return await decode(record)

    for number in (1, 2):
        value = change("c", {"id": number, "name": "A", "signer": "X"}, lsn=number)
        await world.log.append(TOPIC, [Record(json.dumps({"id": number}), json.dumps(value).encode())])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(world.decoder, "decode", fail_once)
        with pytest.raises(RuntimeError):
            await world.run_to_end()
        await world.run_to_end()
    assert sorted(await world.documents()) == ["contracts/1", "contracts/2"]


async def test_bad_record_is_a_dead_letter_and_the_next_ones_continue() -> None:
    """The letter has cause, remedy and the original; it is in the mapping's graph; it is written once."""
    world = World()
    bad = b"\xff no json"
    good = json.dumps(change("c", {"id": 1, "name": "A", "signer": "B"})).encode()
    await world.log.append(TOPIC, [Record("", bad), Record('{"id": 1}', good)])
    await world.run_to_end()
    [stored] = await list_dead_letters(world.log, "contracts")
    assert (stored.letter.stage, stored.letter.doc_id) == ("sources", f"{TOPIC}/0/0")
    assert "JsonConverter" in stored.letter.reason
    assert stored.size_bytes == len(bad)
    with pytest.raises(Invalid, match="discard the dead letter"):
        await retry(DeadLetterIndex(world.log), "contracts", stored.id, never)
    assert await world.documents() == {"contracts/1": "A was signed by B."}
    assert sorted(world.observer.ends) == [SourceOutcome.PUBLISHED, SourceOutcome.REJECTED]


async def test_letter_is_written_once_when_the_process_ends_before_the_commit() -> None:
    """The letters of the batch are durable, and the position is not; later letters are appended without a look-up."""
    world = World()
    await world.log.append(TOPIC, [Record("", b"\xff"), Record("", b"\xfe")])
    commit = MemoryConsumer.commit

    async def fail(consumer: MemoryConsumer, position: Position) -> None:
        raise Retryable("the broker is unreachable")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MemoryConsumer, "commit", fail)
        with pytest.raises(Retryable):
            await world.run_to_end()
    assert MemoryConsumer.commit is commit
    world.stage = world.new_stage()
    await world.run_to_end()
    await world.log.append(TOPIC, [Record("", b"\xfd")])
    await world.run_to_end()
    found = await list_dead_letters(world.log, "contracts")
    assert [each.letter.doc_id[-3:] for each in found] == ["0/0", "0/1", "0/2"]


async def never(record: Record) -> Position:
    raise AssertionError(f"published {record.key}")


async def test_too_large_document_is_a_dead_letter_and_the_next_ones_continue() -> None:
    """The log refuses it; the others of the batch are published."""
    world = World()

    async def accept(records: Sequence[Record]) -> None:
        if any(len(record.value or b"") > 1_000 for record in records):
            raise Rejected("a record has too many bytes: split it up")
        await world.log.append(DOCUMENTS, records)

    world.accept = accept
    for number, name in enumerate(("A", "B" * 2_000, "C")):
        value = change("c", {"id": number, "name": name, "signer": "X"}, lsn=number)
        await world.log.append(TOPIC, [Record(json.dumps({"id": number}), json.dumps(value).encode())])
    await world.run_to_end()
    assert sorted(await world.documents()) == ["contracts/0", "contracts/2"]
    [stored] = await list_dead_letters(world.log, "contracts")
    assert stored.letter.doc_id == "contracts/1"


async def test_records_wait_when_the_registry_is_unreachable() -> None:
    """The ones before are published, none is rejected, and the rest follows when it answers again."""

    class Registry:
        is_up = False

        async def decode(self, data: bytes) -> object:
            if not self.is_up:
                raise Retryable("the schema registry is unreachable")
            return change("c", {"id": 2, "name": "B", "signer": "Y"}, lsn=2)

        async def close(self) -> None:
            """Do nothing."""

    world, registry = World(), Registry()
    chosen: SourceMapping = mapping()
    world.decoder = MappedTopics({TOPIC: chosen}, registry)
    world.stage = world.new_stage()
    plain = json.dumps(change("c", {"id": 1, "name": "A", "signer": "X"})).encode()
    await world.log.append(TOPIC, [Record('{"id": 1}', plain), Record('{"id": 2}', b"\0\0\0\0\1x")])
    with pytest.raises(Retryable):
        await world.run_to_end()
    assert list(await world.documents()) == ["contracts/1"]
    assert await world.log.committed(TOPIC, GROUP) == {0: 1}
    registry.is_up = True
    await world.run_to_end()
    assert list(await world.documents()) == ["contracts/1", "contracts/2"]
    assert not await list_dead_letters(world.log, "contracts")
