"""The notices of a partition that this process committed and has not relayed yet, so that none is read back.

The adapter keeps them from the claim of the partition on. They are all unsent notices once a read of the stored ones
has found no more than fit into one answer (`complete`); until then, and after an overflow, the store is read.

Invariant: while `complete`, `notices` are exactly the stored notices of the partition above `sent`. The claim fences
every other writer, so only commits of this process add to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphtide.streams.ports import Record

MAX_BYTES = 64 << 20
"""Maximum size of the notices in memory; beyond it they are read from the store."""

Notice = tuple[int, Record]


@dataclass(slots=True)
class UnsentNotices:
    """See the module. Sequences rise with each notice; `deleted` is the last one that the store has deleted."""

    notices: dict[int, Record] = field(default_factory=dict)
    complete: bool = False
    sent: int = 0
    deleted: int = 0
    losses: int = 0
    """How often notices were lost: a read during which that happened is repeated."""
    _bytes: int = 0

    def add(self, committed: Mapping[int, Record]) -> None:
        """Add the notices of a commit."""
        self.notices.update(committed)
        self._bytes += sum(map(_size, committed.values()))
        if self._bytes > MAX_BYTES:
            self.lose()

    def lose(self) -> None:
        """Forget the notices: some are in the store only."""
        self.notices.clear()
        self._bytes, self.complete = 0, False
        self.losses += 1

    def first(self, limit: int) -> list[Notice]:
        """Return the first notices, in the order of their sequences."""
        return sorted(self.notices.items())[:limit]

    def merged(self, stored: Sequence[Notice], limit: int, *, complete: bool) -> list[Notice]:
        """Return the first notices of those that a read of the store returned, and of those committed meanwhile.

        A read that began between two commits may return the second without the first, so those in memory are inserted.
        No notice in memory was lost during the read. `complete`: the store had no more.
        """
        known = {sequence: record for sequence, record in stored if sequence > self.sent}
        if complete:
            ours = dict(self.notices)
            self.lose()
            self.complete = True
            self.add(known | ours)
            return sorted((known | ours).items())[:limit]
        last = max(known, default=self.sent)
        ours = {sequence: record for sequence, record in self.notices.items() if sequence <= last}
        return sorted((known | ours).items())[:limit]

    def mark_sent(self, up_to: int) -> None:
        """Remove the notices up to that sequence."""
        self.sent = max(self.sent, up_to)
        for sequence in [each for each in self.notices if each <= up_to]:
            self._bytes -= _size(self.notices.pop(sequence))


def _size(record: Record) -> int:
    return len(record.value or b"") + sum(len(name) + len(value) for name, value in record.headers)
