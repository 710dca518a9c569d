"""Cache of a live graph's community reports, and the validity of each.

It is filled from a store and lost with its view. Invariants: the cache never returns a report whose community no longer
exists, whose content changed by more than `tolerance`, or that cites a removed chunk. The delta that removes the chunk
also invalidates the reports that cite it; the cost is their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Protocol

from graphtide.graph.int_sets import EMPTY, IntSet, excluding, including
from graphtide.graph.reports.fingerprint import CommunityFingerprints
from graphtide.graph.reports.packed import PackedReport
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
        self._reports: dict[int, PackedReport] = {}
        self._citing: dict[str, IntSet] = {}
        self._withdrawn: set[int] = set()
        self._gone: set[int] = set()
        self._wanted: set[int] = set()

    def __len__(self) -> int:
        return len(self._reports)

    def report(self, view: FingerprintedView, community: int) -> ReportRow | None:
        """Return the report of a community, if there is a valid one. Cost: linear in its text."""
        return self._reports[community].row(community) if self.is_valid(view, community) else None

    def is_valid(self, view: FingerprintedView, community: int) -> bool:
        """Return whether the cache has a report of the community that is valid. O(1) where its content is unchanged,
        else linear in the text of the report.
        """
        return community in self._reports and self.changed(view, community) <= self.tolerance

    def has_report(self, community: int) -> bool:
        """Return whether the cache has a report of the community, which may be out of date. O(1)."""
        return community in self._reports

    def changed(self, view: FingerprintedView, community: int) -> float:
        """Return the share of the community's content that differs from its report's source; 1 without a report."""
        report = self._reports.get(community)
        return 1.0 if report is None else report.changed(view.contents, community)

    def reports(self, view: FingerprintedView) -> list[ReportRow]:
        """Return all valid reports, by community. Cost: linear in the reports."""
        return [row for community in sorted(self._reports) if (row := self.report(view, community)) is not None]

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
                self._reports[row.community] = PackedReport.of(row)
                for source in row.sources:
                    self._citing[source] = including(self._citing.get(source, EMPTY), row.community)

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
        for community in self._reports.keys() - communities:
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
        report = self._reports.pop(community, None)
        for source in report.row(community).sources if report else ():
            citing = excluding(self._citing[source], community)
            if citing:
                self._citing[source] = citing
            else:
                del self._citing[source]
        return report is not None
