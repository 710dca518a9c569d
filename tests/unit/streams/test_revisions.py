"""Revision numbers order the revisions of a document by acceptance, whatever partitions they came through."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from graphtide.streams.consolidate.batches import ConsolidationBatch, plan_batch
from graphtide.streams.errors import Broken
from graphtide.streams.log.revisions import EPOCH_MS, MAX_PARTITIONS, estimate, number
from graphtide.streams.messages import DOCUMENTS, ExtractionMessage
from graphtide.streams.ports import ConsumedRecord, Position, Record, StoredDocument
from tests.model.memory import MemoryBackend
from tests.support.backends import Clock

DOUBLE_BITS = 53
IN_2093_MS = EPOCH_MS + (1 << 41) - 1


@dataclass
class Topic:
    """A topic whose partitions several readers number, each from what was numbered before, in batches."""

    rng: random.Random
    clock: Clock = field(default_factory=lambda: Clock(EPOCH_MS + 10_000_000))
    records: dict[int, list[ConsumedRecord]] = field(default_factory=dict)
    numbered: dict[int, int] = field(default_factory=dict)
    numbers: dict[Position, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.backend = MemoryBackend(1, self.clock, by_time=True)

    def append(self, partition: int, key: str, skew_ms: int = 0) -> None:
        records = self.records.setdefault(partition, [])
        records.append(ConsumedRecord(Position(partition, len(records)), self.clock.now_ms + skew_ms, Record(key, b"")))

    async def read(self) -> None:
        """A reader takes a few records of some partitions; sometimes it dies and the next one begins where it did."""
        batch: list[ConsumedRecord] = []
        for partition, records in self.records.items():
            first = self.numbered.get(partition, 0)
            last = min(len(records), first + self.rng.randint(0, 4))
            batch += records[max(0, first - self.rng.choice((0, 0, 2))) : last]
            self.numbered[partition] = last
        self.rng.shuffle(batch)
        for one, found in zip(batch, await self.backend.ledger.register(batch), strict=True):
            assert self.numbers.setdefault(one.position, found) == found, "a position keeps its number"

    async def read_all(self) -> list[ConsumedRecord]:
        while any(self.numbered.get(partition, 0) < len(records) for partition, records in self.records.items()):
            await self.read()
        return [one for records in self.records.values() for one in records]


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(120))
async def test_numbers_follow_acceptance_when_documents_move_between_partitions(seed: int) -> None:
    """Producers that choose partitions at random, partitions that are added, readers that lag, die and read again."""
    print(f"seed {seed}")
    rng, partitions = random.Random(seed), 2
    topic = Topic(rng)
    for _ in range(150):
        topic.clock.now_ms += rng.randint(50, 500)
        topic.append(rng.randrange(partitions), f"g|{rng.choice('abc')}")
        if rng.random() < 0.05:
            partitions += rng.randint(1, 3)
        if rng.random() < 0.3:
            await topic.read()
    every = await topic.read_all()
    for key in ("g|a", "g|b", "g|c"):
        mine = sorted((one for one in every if one.record.key == key), key=lambda one: one.timestamp_ms)
        found = [topic.numbers[one.position] for one in mine]
        assert found == sorted(set(found)) and found[-1].bit_length() <= DOUBLE_BITS


async def test_edits_that_a_backlog_collected_in_one_partition_are_older_than_a_later_edit_in_another() -> None:
    """Sixty edits of a document, five milliseconds apart, are read in one batch with the next one, from elsewhere."""
    topic = Topic(random.Random(0))
    for _ in range(60):
        topic.clock.now_ms += 5
        topic.append(0, "g|a")
    topic.clock.now_ms += 5
    topic.append(1, "g|a")
    numbers = await topic.backend.ledger.register([*topic.records[0], *topic.records[1]])
    assert list(numbers) == sorted(set(numbers))


async def test_edits_of_one_millisecond_do_not_run_ahead_of_a_later_edit_in_another_partition() -> None:
    """Forty edits of a document within two milliseconds are read in one batch: the last one has its own time."""
    topic = Topic(random.Random(0))
    for at in range(40):
        topic.clock.now_ms += at == 20
        topic.append(0, "g|a")
    topic.clock.now_ms += 1
    topic.append(1, "g|a")
    numbers = await topic.backend.ledger.register([*topic.records[0], *topic.records[1]])
    assert list(numbers) == sorted(set(numbers))


@pytest.mark.parametrize("seed", range(60))
async def test_numbers_follow_the_log_within_a_partition_when_clocks_go_back(seed: int) -> None:
    """Brokers' clocks that jump, and records of one millisecond: within a partition the offsets decide."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    topic = Topic(rng)
    for _ in range(150):
        topic.clock.now_ms += rng.choice((0, 0, 1, 30))
        topic.append(rng.randrange(3), f"g|{rng.choice('ab')}", rng.choice((0, 0, -5_000, 5_000)))
        if rng.random() < 0.3:
            await topic.read()
    every = await topic.read_all()
    assert len({topic.numbers[one.position] for one in every if one.record.key == "g|a"}) == sum(
        one.record.key == "g|a" for one in every
    )
    for records in topic.records.values():
        for key in ("g|a", "g|b"):
            found = [topic.numbers[one.position] for one in records if one.record.key == key]
            assert found == sorted(set(found))


async def test_number_of_a_record_that_a_reader_skipped_is_its_own_time() -> None:
    """An operator moved the group's position forward: skipped records that are read later are not newer for that."""
    topic = Topic(random.Random(0))
    for _ in range(3):
        topic.clock.now_ms += 1_000
        topic.append(0, "g|a")
    first, second, third = topic.records[0]
    [newest] = await topic.backend.ledger.register([third])
    numbers = await topic.backend.ledger.register([first, second])
    assert numbers[0] < numbers[1] < newest


async def test_ledger_refuses_a_position_that_it_knows_as_another_document() -> None:
    """The topic was made anew beside an old ledger: nothing is taken for an older revision of something else."""
    topic = Topic(random.Random(0))
    await topic.backend.ledger.register([ConsumedRecord(Position(0, 0), 1, Record("g|a", b""))])
    with pytest.raises(Broken, match="different histories"):
        await topic.backend.ledger.register([ConsumedRecord(Position(0, 0), 1, Record("g|b", b""))])


def test_numbers_are_greater_than_offsets_and_fit_a_double() -> None:
    """Revisions of the scheme before, which were offsets, stay older than all that are numbered now."""
    assert estimate(EPOCH_MS + 24 * 3600 * 1000 * 365, 0) > 1 << 40
    assert estimate(IN_2093_MS, MAX_PARTITIONS - 1).bit_length() == DOUBLE_BITS
    with pytest.raises(Broken, match="4096"):
        number(1, MAX_PARTITIONS)


def test_batch_orders_what_workers_of_both_versions_numbered_by_acceptance() -> None:
    """In a rolling upgrade an old worker numbers an edit by its offset: it is newer than what was accepted before."""
    before, after = EPOCH_MS + 10_000_000_000, EPOCH_MS + 10_000_005_000
    by_number = ExtractionMessage("g", "a", estimate(before, 3), None, before)
    by_offset = ExtractionMessage("g", "a", 7, None, after)
    late = ExtractionMessage("g", "a", 6, None, before - 1)
    for order in ((by_number, by_offset, late), (late, by_offset, by_number)):
        messages = [ConsumedRecord(Position(0, i), 0, Record("g", one.encode())) for i, one in enumerate(order)]
        batch = plan_batch(messages)
        assert batch.newest["g"]["a"] == by_offset
    stored = {"a": StoredDocument(by_number.revision, b"")}
    _, standings, _ = ConsolidationBatch().step("g", {"a": late}, stored)
    assert standings == {}
    _, standings, _ = ConsolidationBatch().step("g", {"a": by_offset}, {"a": StoredDocument(by_number.revision, None)})
    assert standings["a"].revision == estimate(after, 0)


async def test_newest_revision_of_a_document_is_the_one_accepted_last_before_it_has_a_number() -> None:
    """`accept` gives no number where partitions could reorder; the ledger still tells which revision is the newest."""
    clock = Clock(EPOCH_MS + 10_000_000)
    backend = MemoryBackend(3, clock, by_time=True)
    [first] = await backend.ledger.accept([Record("g|a", b"1", partition=2)])
    await backend.ledger.register([ConsumedRecord(first, clock.now_ms, Record("g|a", b"1"))])
    clock.now_ms += 1_000
    [second] = await backend.ledger.accept([Record("g|a", b"2", partition=0)])
    latest = await backend.ledger.latest("g", "a")
    assert latest is not None and (latest.position, latest.revision) == (second, 0)
    assert await backend.log.end(DOCUMENTS) == {0: 1, 1: 0, 2: 1}
