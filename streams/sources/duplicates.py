"""Filter of changes that a connector delivers again, by the newest version of each row that this process has seen.

A connector that restarts delivers the changes since its last stored offset again, in order. The filter drops those that
it knows; a change that it drops wrongly would be lost, and one that it passes wrongly is applied again and followed by
the newer ones, so in doubt it passes. It is bounded, and empty after a start.
"""

from __future__ import annotations

from collections import OrderedDict

from graphtide.streams.sources.types import RowVersion, SourceChange

MAX_ROWS = 50_000


class DuplicateFilter:
    """The newest versions by document: those that are durable in `documents`, and those of the current batch."""

    def __init__(self, max_rows: int = MAX_ROWS) -> None:
        self._max_rows = max_rows
        self._durable: OrderedDict[str, tuple[RowVersion, bool]] = OrderedDict()
        self._batch: dict[str, tuple[RowVersion, bool] | None] = {}

    def admits(self, change: SourceChange) -> bool:
        """Return False for a change that is known to be old, and note the version of any other."""
        key, is_deletion = change.key, change.document is None
        known = self._batch[key] if key in self._batch else self._durable.get(key)
        version = change.version
        if version is None:
            if is_deletion and known is not None and known[1]:
                return False  # the tombstone that follows a deletion
            self._batch[key] = None
            return True
        # A new key of a row is a deletion and then an insertion of one version, which may mean one document.
        is_moved = known == (version, True) and not is_deletion
        if known is not None and not change.is_snapshot and not is_moved and not version.is_after(known[0]):
            return False
        self._batch[key] = (version, is_deletion)
        return True

    def commit(self) -> None:
        """Keep the versions of the batch: its changes are durable."""
        for key, known in self._batch.items():
            self._durable.pop(key, None)
            if known is not None:
                self._durable[key] = known
        while len(self._durable) > self._max_rows:
            self._durable.popitem(last=False)
        self._batch.clear()

    def discard(self) -> None:
        """Forget the versions of the batch: its changes may not be durable."""
        self._batch.clear()
