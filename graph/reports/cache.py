"""The reports of a live graph's communities, and which of them hold right now.

Not a store: it is loaded from one, and lost with its view. Invariants: a report whose community is gone, whose content
changed by more than `tolerance`, or that rests on a chunk that is no longer in the graph, is never given out. The last
is put into effect by the delta that takes the chunk away, at a cost of the reports that cite it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphtide.graph.reports.fingerprint import Fingerprint

if TYPE_CHECKING:
    from graphtide.graph.view import LiveView

TOLERANCE = 0.2


@dataclass(frozen=True, slots=True)
class ReportFinding:
    """One thing a report says, with the chunks it rests on and, where it states relations, their ids."""

    text: str
    chunks: tuple[str, ...]
    relations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportRow:
    """A community's report, with the chunks it rests on. `fingerprint` tells what content it was written from.

    At level ENTITY it is an entity's summary (`graph/reports/entity_summaries.py`): `community` is a number of its id,
    below 0, and
    `title` its id and a digest of its labels.

    `rating` is how much the community matters, 0 to 10. `sources` are all the chunks of the findings.
    """

    community: int
    level: int
    fingerprint: str
    version: int
    title: str
    summary: str
    sources: tuple[str, ...]
    findings: tuple[ReportFinding, ...] = ()
    rating: float = 0.0


class ReportCache:
    """See the module. Changed under the view's write lock; `want` alone may be called by readers."""

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

    def report(self, view: LiveView, community: int) -> ReportRow | None:
        """The report of a community, if there is one and it holds. O(1)."""
        row = self._rows.get(community)
        return None if row is None or self.changed(view, community) > self.tolerance else row

    def held(self, community: int) -> bool:
        """Whether there is a report of the community, which may be out of date. O(1)."""
        return community in self._rows

    def changed(self, view: LiveView, community: int) -> float:
        """The share of the community's content that is not what its report was written from; 1 without a report."""
        written, now = self._written.get(community), view.contents.fingerprint(community)
        return 1.0 if written is None or now is None else written.changed(now)

    def reports(self, view: LiveView) -> list[ReportRow]:
        """All that hold, by community. Cost: linear in the reports."""
        return [row for community in sorted(self._rows) if (row := self.report(view, community)) is not None]

    def request(self, communities: Iterable[int]) -> None:
        """A question would read the reports of these."""
        self._wanted.update(communities)

    def has_requests(self) -> bool:
        """Whether a report was asked for since `take_wanted`."""
        return bool(self._wanted)

    def put(self, view: LiveView, rows: Sequence[ReportRow]) -> None:
        """Take reports in. One that cites what is gone meanwhile is withdrawn at once, as is one without community."""
        for row in rows:
            self._remove(row.community)
            if view.contents.fingerprint(row.community) is None:
                self._gone.add(row.community)
            elif any(source not in view.chunk_numbers for source in row.sources):
                self._withdrawn.add(row.community)
            else:
                self._rows[row.community] = row
                self._written[row.community] = Fingerprint.decode(row.fingerprint)
                for source in row.sources:
                    self._citing.setdefault(source, set()).add(row.community)

    def withdraw(self, chunk_id: str) -> None:
        """The chunk is gone: what cites it goes, too, and waits to be written again. Cost: the reports that cite it."""
        for community in list(self._citing.get(chunk_id, ())):
            self._remove(community)
            self._withdrawn.add(community)

    def retire(self, communities: Iterable[int]) -> None:
        """Let go of these reports; they wait to be written again."""
        for community in communities:
            self._remove(community)
            self._withdrawn.add(community)

    def drop(self, communities: Iterable[int]) -> None:
        """The communities are gone."""
        for community in communities:
            if self._remove(community) or community in self._withdrawn:
                self._withdrawn.discard(community)
                self._gone.add(community)

    def keep(self, communities: Set[int]) -> None:
        """Let go of the reports of all others, and of what is owed: someone else writes them, and is told of wishes."""
        for community in self._rows.keys() - communities:
            self._remove(community)
        for owed in (self._withdrawn, self._gone):
            owed.clear()

    def drain_withdrawn(self) -> set[int]:
        """Communities whose report was withdrawn since the last call."""
        taken, self._withdrawn = self._withdrawn, set()
        return taken

    def drain_removed(self) -> set[int]:
        """Communities that ended with a report since the last call: a store may forget it."""
        taken, self._gone = self._gone, set()
        return taken

    def drain_requested(self) -> set[int]:
        """Communities that questions asked for since the last call."""
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
