"""Cache of a live graph's community reports, and the validity of each.

It is filled from a store and lost with its view. Invariants: the cache never returns a report whose community no longer
exists, whose content changed by more than `tolerance`, or that cites a removed chunk. The delta that removes the chunk
also invalidates the reports that cite it; the cost is their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Protocol

from graphtide.graph.reports.fingerprint import CommunityFingerprints, Fingerprint
from graphtide.graph.reports.rows import ReportRow
from graphtide.graph.view_state.tables import ViewTables

TOLERANCE = 0.2


class FingerprintedView(ViewTables, Protocol):
    """The tables of a live view with the fingerprints of its communities."""

    @property
    def contents(self) -> CommunityFingerprints: ...


class ReportCache:
    """The report cache; see the module. It changes under the view's write lock; readers may call `request` only."""

    def __init__(self) -> None:
        self.tolerance = TOLERANCE
        self.loaded = False
        self._rows: dict[int, ReportRow] = {}
        self._written: dict[int, Fingerprint | None] = {}
        self._citing: dict[str, set[int]] = {}
        self._withdrawn: set[int] = set()
        self._gone: set[int] = set()
        self._wanted: set[int] = set()

    def __len__(self) -> int:
        return len(self._rows)

    def report(self, view: FingerprintedView, community: int) -> ReportRow | None:
        """Return the report of a community, if there is a valid one. O(1)."""
        row = self._rows.get(community)
        return None if row is None or self.changed(view, community) > self.tolerance else row

    def has_report(self, community: int) -> bool:
        """Return whether the cache has a report of the community, which may be out of date. O(1)."""
        return community in self._rows

    def changed(self, view: FingerprintedView, community: int) -> float:
        """Return the share of the community's content that differs from its report's source; 1 without a report."""
        written = self._written.get(community)
        return 1.0 if written is None else view.contents.changed(community, written)

    def reports(self, view: FingerprintedView) -> list[ReportRow]:
        """Return all valid reports, by community. Cost: linear in the reports."""
        return [row for community in sorted(self._rows) if (row := self.report(view, community)) is not None]

    def request(self, communities: Iterable[int]) -> None:
        """Record that a query would read the reports of these communities."""
        self._wanted.update(communities)

    def has_requests(self) -> bool:
        """Return whether a report was requested since `drain_requested`."""
        return bool(self._wanted)

    def put(self, view: FingerprintedView, rows: Sequence[ReportRow]) -> None:
        """Add reports. A report that cites a removed chunk or is of a removed community is withdrawn at once."""
        for row in rows:
            self._remove(row.community)
            if row.community not in view.contents:
                self._gone.add(row.community)
            elif any(source not in view.chunk_numbers for source in row.sources):
                self._withdrawn.add(row.community)
            else:
                self._rows[row.community] = row
                self._written[row.community] = Fingerprint.decode(row.fingerprint)
                for source in row.sources:
                    self._citing.setdefault(source, set()).add(row.community)

    def invalidate_chunk(self, chunk_id: str) -> None:
        """Invalidate the reports that cite a removed chunk; they wait to be written again. Cost: the reports that cite
        it.
        """
        for community in list(self._citing.get(chunk_id, ())):
            self._remove(community)
            self._withdrawn.add(community)

    def retire(self, communities: Iterable[int]) -> None:
        """Remove these reports; they wait to be written again."""
        for community in communities:
            self._remove(community)
            self._withdrawn.add(community)

    def drop(self, communities: Iterable[int]) -> None:
        """Remove the reports of communities that no longer exist."""
        for community in communities:
            if self._remove(community) or community in self._withdrawn:
                self._withdrawn.discard(community)
                self._gone.add(community)

    def keep(self, communities: Set[int]) -> None:
        """Keep only these reports and clear the pending work, because another process writes reports and receives the
        requests.
        """
        for community in self._rows.keys() - communities:
            self._remove(community)
        for owed in (self._withdrawn, self._gone):
            owed.clear()

    def drain_withdrawn(self) -> set[int]:
        """Return the communities whose report was withdrawn since the last call."""
        taken, self._withdrawn = self._withdrawn, set()
        return taken

    def drain_removed(self) -> set[int]:
        """Return the removed communities that had a report, since the last call: a store may delete their reports."""
        taken, self._gone = self._gone, set()
        return taken

    def drain_requested(self) -> set[int]:
        """Return the communities whose reports were requested since the last call."""
        taken, self._wanted = self._wanted, set()
        return taken

    def _remove(self, community: int) -> bool:
        row = self._rows.pop(community, None)
        self._written.pop(community, None)
        for source in row.sources if row else ():
            citing = self._citing[source]
            citing.discard(community)
            if not citing:
                del self._citing[source]
        return row is not None
