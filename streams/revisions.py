"""Revision numbers on a partitioned log: one integer that orders all revisions of a document.

    number = time << 12 | partition        at most 53 bits, until 2093

`time` is the broker's append time in milliseconds since 2024, made monotonic within a partition. A number is assigned
once, when the extract stage first reads the record, and is kept with the record's position: so neither a later move of
the key nor a replay changes it. The partition in the low bits makes numbers of two partitions differ.

Invariant: within a partition the numbers of a document rise with the offsets, also when a broker's clock goes back.
Numbers assigned by versions that used the offset are smaller than every number of this scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphtide.streams.errors import Broken
from graphtide.streams.ports import ConsumedRecord, Position

EPOCH_MS = 1_704_067_200_000
"""2024-01-01T00:00:00Z."""
PARTITION_BITS = 12
MAX_PARTITIONS = 1 << PARTITION_BITS


FIRST_NUMBER = 1 << 40
"""Numbers below this one are offsets: of the embedded log, or of a version that numbered so."""


@dataclass(frozen=True, slots=True)
class UnnumberedRevision:
    """A record of a batch before its number is known.

    `accepted` is its append time since EPOCH_MS; `latest` the greatest one of the batch so far, in its partition;
    `repeat` how often its document occurred before it in the batch, in its partition.
    """

    delivered: ConsumedRecord
    accepted: int
    latest: int
    repeat: int

    def time(self, clock: PartitionClock) -> int:
        """The time of its number. A record that the clock has passed unnumbered keeps its own."""
        if self.delivered.position.offset < clock.next_offset:
            return self.accepted + self.repeat
        return max(self.latest, clock.time + 1) + self.repeat


@dataclass(frozen=True, slots=True)
class PartitionClock:
    """The greatest time assigned in a partition, and the offset after the last numbered record."""

    time: int = 0
    next_offset: int = 0


def number(time: int, partition: int) -> int:
    """The number of that time, in milliseconds since EPOCH_MS. Raises Broken for a partition beyond the 4,096th."""
    if not 0 <= partition < MAX_PARTITIONS:
        raise Broken(
            f"documents has a partition {partition}; revision numbers hold partitions below {MAX_PARTITIONS}:"
            " use a topic with fewer partitions"
        )
    return max(0, time) << PARTITION_BITS | partition


def estimate(accepted_ms: int, partition: int) -> int:
    """The number that a record accepted then will probably get; for sorting until it is assigned."""
    return number(accepted_ms - EPOCH_MS, partition)


def compared_with(other: int, revision: int, accepted_ms: int) -> int:
    """The revision as it compares with another one of the document.

    An extraction worker of an earlier version numbers by offset, also while newer workers run: what it took counts by
    its acceptance then.
    """
    return estimate(accepted_ms, 0) if revision < FIRST_NUMBER <= other else revision


def unnumbered(delivered: Sequence[ConsumedRecord]) -> Iterator[UnnumberedRevision]:
    """The batch by position, with what the numbers depend on beside the partitions' clocks."""
    latest: dict[int, int] = {}
    seen: dict[tuple[int, str], int] = {}
    distinct: dict[Position, ConsumedRecord] = {one.position: one for one in delivered}
    for position, one in sorted(distinct.items()):
        accepted = max(1, one.timestamp_ms - EPOCH_MS)
        latest[position.partition] = max(accepted, latest.get(position.partition, 0))
        place = position.partition, one.record.key
        repeat = seen.get(place, 0)
        seen[place] = repeat + 1
        yield UnnumberedRevision(one, accepted, latest[position.partition], repeat)
