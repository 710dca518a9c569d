"""The summaries of a live graph's entities: of those of whom the documents say more than a description holds.

Not a store: it is loaded from one, where a summary is a row among the reports (level ENTITY), and lost with its view.
Invariants: a summary that rests on a chunk that is no longer in the graph, or whose entity is now made of other labels,
is never given out. The first is put into effect by the delta that takes the chunk away, at a cost of the summaries that
cite it. Derived from the graph and from what a model said: no digest has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TYPE_CHECKING

from graphtide.graph.identity import short_digest
from graphtide.graph.reports.cache import ReportRow

if TYPE_CHECKING:
    from graphtide.graph.view import LiveView

ENTITY = -1
"""The level of a row that is not about a community."""


def storage_id(entity: str) -> int:
    """What a summary is kept under: negative, so that it is no community's. Of an entity's canonical id."""
    return -1 - (int(entity.removeprefix("e-"), 16) >> 1)


def summary_key(view: LiveView, node: int) -> str:
    """The entity's id, and a digest of the labels it is made of: other labels, another entity. Cost: its labels."""
    entity = view.entities[node]
    labels = sorted((view.labels[number].name, view.labels[number].type) for number in entity.labels)
    return f"{entity.id} {short_digest(*(part for label in labels for part in label))}"


class EntitySummaryCache:
    """See the module. Changed under the view's write lock. `looked`: every entity was looked at since the start."""

    def __init__(self) -> None:
        self.looked = False
        self._rows: dict[str, ReportRow] = {}
        self._citing: dict[str, set[str]] = {}
        self._withdrawn: set[str] = set()
        self._gone: set[int] = set()

    def __len__(self) -> int:
        return len(self._rows)

    def summary(self, view: LiveView, node: int) -> ReportRow | None:
        """The summary of an entity, if there is one and it holds. Cost: the entity's labels."""
        row = self._rows.get(view.entities[node].id)
        return row if row is not None and row.title == summary_key(view, node) else None

    def held(self, entity: str) -> bool:
        """Whether there is one, of the entity as it is or was. O(1)."""
        return entity in self._rows

    def put(self, view: LiveView, rows: Iterable[ReportRow]) -> None:
        """Take summaries in. One that cites what is gone meanwhile is withdrawn at once, as is one without entity."""
        for row in rows:
            entity = row.title.partition(" ")[0]
            self._remove(entity)
            if entity not in view.entity_nodes:
                self._gone.add(row.community)
            elif any(source not in view.chunk_numbers for source in row.sources):
                self._withdrawn.add(entity)
            else:
                self._rows[entity] = row
                for source in row.sources:
                    self._citing.setdefault(source, set()).add(entity)

    def withdraw(self, chunk_id: str) -> None:
        """The chunk is gone: what cites it goes, too, and waits to be written again. Cost: what cites it."""
        for entity in list(self._citing.get(chunk_id, ())):
            self._remove(entity)
            self._withdrawn.add(entity)

    def retire(self, entities: Iterable[str]) -> None:
        """Let go of these summaries; they wait to be written again."""
        for entity in entities:
            self._remove(entity)
            self._withdrawn.add(entity)

    def drop(self, entities: Sequence[str]) -> None:
        """These need none any more."""
        for entity in entities:
            if self._remove(entity):
                self._gone.add(storage_id(entity))

    def keep(self, numbers: Set[int]) -> None:
        """Let go of all others, and of what is owed: someone else writes them."""
        for entity in [one for one, row in self._rows.items() if row.community not in numbers]:
            self._remove(entity)
        self._withdrawn.clear()
        self._gone.clear()

    def drain_withdrawn(self) -> set[str]:
        """Entities whose summary was withdrawn since the last call."""
        taken, self._withdrawn = self._withdrawn, set()
        return taken

    def drain_removed(self) -> set[int]:
        """Numbers of summaries that a store may forget, since the last call."""
        taken, self._gone = self._gone, set()
        return taken

    def _remove(self, entity: str) -> bool:
        row = self._rows.pop(entity, None)
        for source in row.sources if row else ():
            citing = self._citing[source]
            citing.discard(entity)
            if not citing:
                del self._citing[source]
        return row is not None
