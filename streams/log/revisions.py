"""Revision numbers on a partitioned log: one integer that orders all revisions of a document.

    number = time << 12 | partition        at most 53 bits, until 2093

`time` is the broker's append time in milliseconds since 2024, made monotonic within a partition. A number is assigned
once, when the extract stage first reads the record, and is stored with the record's position: neither a later move of
the key to another partition nor a replay changes it. The partition in the low bits makes the numbers of two partitions
differ.

Invariant: within a partition the numbers of a document rise with the offsets, even when a broker's clock moves back.
Numbers assigned by versions that used the offset are smaller than every number of this scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from graphtide.streams.errors import Broken
from graphtide.streams.ports import ConsumedRecord, Position

EPOCH_MS = 1_704_067_200_000
"""2024-01-01T00:00:00Z."""
PARTITION_BITS = 12
MAX_PARTITIONS = 1 << PARTITION_BITS


FIRST_NUMBER = 1 << 40
"""Numbers below this one are offsets: of the embedded log, or assigned by an earlier version."""


@dataclass(frozen=True, slots=True)
class UnnumberedRevision:
    """A record of a batch before it is numbered.

    `accepted` is its append time since EPOCH_MS; `latest` is the greatest one of the batch so far, in its partition.
    Both are at least a millisecond earlier than those of the document's later records in the batch and partition, so
    that the last of many edits keeps its own time. `repeat` counts the earlier ones.
    """

    delivered: ConsumedRecord
    accepted: int
    latest: int
    repeat: int

    def time(self, clock: PartitionClock) -> int:
        """Return the time of its number. A record before the clock's offset keeps its own time."""
        if self.delivered.position.offset < clock.next_offset:
            return self.accepted
        return max(self.latest, clock.time + 1 + self.repeat)


@dataclass(frozen=True, slots=True)
class PartitionClock:
    """The greatest time assigned in a partition, and the offset after the last numbered record."""

    time: int = 0
    next_offset: int = 0


def number(time: int, partition: int) -> int:
    """Return the number of a time in milliseconds since EPOCH_MS. Raises Broken for a partition of 4,096 or more."""
    if not 0 <= partition < MAX_PARTITIONS:
        raise Broken(
            f"documents has a partition {partition}; revision numbers support partitions below {MAX_PARTITIONS}:"
            " use a topic with fewer partitions"
        )
    return max(0, time) << PARTITION_BITS | partition


def estimate(accepted_ms: int, partition: int) -> int:
    """Return the number that a record accepted then will probably get, to sort by until it is assigned."""
    return number(accepted_ms - EPOCH_MS, partition)


def compared_with(other: int, revision: int, accepted_ms: int) -> int:
    """Return the revision number to compare with another one of the document.

    An extraction worker of an earlier version numbers by offset, even while newer workers run: such a revision is
    compared by its acceptance time.
    """
    return estimate(accepted_ms, 0) if revision < FIRST_NUMBER <= other else revision


def unnumbered(delivered: Sequence[ConsumedRecord]) -> Iterator[UnnumberedRevision]:
    """Yield the batch by position, with the values that its numbers depend on beside the partitions' clocks."""
    latest: dict[int, int] = {}
    documents: dict[tuple[int, str], list[UnnumberedRevision]] = {}
    distinct: dict[Position, ConsumedRecord] = {consumed.position: consumed for consumed in delivered}
    for position, consumed in sorted(distinct.items()):
        accepted = max(1, consumed.timestamp_ms - EPOCH_MS)
        latest[position.partition] = max(accepted, latest.get(position.partition, 0))
        revisions = documents.setdefault((position.partition, consumed.record.key), [])
        revisions.append(UnnumberedRevision(consumed, accepted, latest[position.partition], len(revisions)))
    spread = [each for revisions in documents.values() for each in _spread(revisions)]
    yield from sorted(spread, key=lambda each: each.delivered.position)


def _spread(records: Sequence[UnnumberedRevision]) -> Iterator[UnnumberedRevision]:
    """Yield a document's records of one batch and partition with rising times; the last one keeps its own."""
    accepted = _rising([record.accepted for record in records])
    latest = _rising([record.latest for record in records])
    for record, own, reached in zip(records, accepted, latest, strict=True):
        yield replace(record, accepted=own, latest=reached)


def _rising(times: Sequence[int]) -> Sequence[int]:
    """Return times that rise by at least 1, with the greatest of the given ones as the last; all are positive."""
    found = list(accumulate(times, max))
    for at in range(len(found) - 2, -1, -1):
        found[at] = min(found[at], found[at + 1] - 1)
    missing = max(0, 1 - found[0])
    return [time + missing for time in found]
