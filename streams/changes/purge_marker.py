"""Markers of a purge in `deltas`: one record in each partition, appended by `graphtide purge` in a cluster.

The commits before a marker may hold content of documents that are deleted now. Followers forget their copies of them
once they have read the markers of all partitions; readers of the history do not go back beyond a marker, also those
that start later. Followers of earlier releases ignore markers, because the notice in them has no version.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass

from graphtide.streams.messages import DELTAS, DeltaNotice
from graphtide.streams.ports import ConsumedRecord, Log, Record

PURGE = "purge"
"""The header: an id of the purge, and the number of partitions that have a marker of it."""
KEPT = 64
"""The number of unfinished purges that a follower remembers."""
_LABEL = re.compile(rb"([0-9a-f]{32}):([0-9]{1,6})")


@dataclass(frozen=True, slots=True)
class PurgeMarker:
    """A marker of the purge `id` in one of `partitions`."""

    id: str
    partitions: int


def is_purge_marker(consumed: ConsumedRecord) -> bool:
    """Return True if the headers mark the record as a marker of a purge."""
    return PURGE in dict(consumed.record.headers)


def purge_marker(consumed: ConsumedRecord) -> PurgeMarker | None:
    """Return the marker in a record, None for other records and for a malformed marker."""
    found = _LABEL.fullmatch(dict(consumed.record.headers).get(PURGE, b""))
    return PurgeMarker(found[1].decode(), int(found[2])) if found else None


async def mark_purge(log: Log) -> None:
    """Append the markers of a purge, after everything that the topic holds now."""
    partitions, label = sorted(await log.end(DELTAS)), uuid.uuid4().hex
    header = PURGE, f"{label}:{len(partitions)}".encode()
    value = DeltaNotice("", 0).encode()
    await log.append(DELTAS, [Record("", value, (header,), number) for number in partitions])


class PurgeMarkers:
    """The markers that a follower has read. Partitions are read in any order, so those of several purges may alternate.

    Memory: the partitions of the last KEPT purges.
    """

    def __init__(self) -> None:
        self._seen: dict[str, set[int]] = {}

    def complete(self, consumed: ConsumedRecord) -> bool:
        """Note a marker; return True if it is the last one of its purge. Malformed ones complete nothing."""
        marker = purge_marker(consumed)
        if marker is None:
            return False
        seen = self._seen.setdefault(marker.id, set())
        seen.add(consumed.position.partition)
        if len(seen) == marker.partitions:
            del self._seen[marker.id]
            return True
        while len(self._seen) > KEPT:
            del self._seen[next(iter(self._seen))]
        return False
