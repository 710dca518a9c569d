"""Cache of entity summaries: of the entities whose descriptions exceed the token limit of a description.

It is filled from a store and lost with its view. A store keeps a summary as a row among its reports (level ENTITY);
`stored` and `split_rows` convert it. Invariant: the cache never returns a summary that cites a removed chunk or whose
entity now has other labels. The delta that removes the chunk also invalidates the summaries that cite it; the cost is
their number. A summary derives from the graph and a model's output: it enters no digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from graphtide.graph.identity import short_digest
from graphtide.graph.reports.rows import ReportFinding, ReportRow
from graphtide.graph.view_state.tables import ViewTables

ENTITY = -1
"""The level of a row that belongs to an entity, not to a community."""


def storage_id(entity: str) -> int:
    """Return the number under which a summary is stored, from the entity's canonical id: negative, so never a
    community's.
    """
    return -1 - (int(entity.removeprefix("e-"), 16) >> 1)


def summary_key(view: ViewTables, node: int) -> str:
    """Return the entity's id and a digest of its labels: other labels give another key. Cost: its labels."""
    entity = view.entities[node]
    labels = sorted((view.labels[number].name, view.labels[number].type) for number in entity.labels)
    return f"{entity.id} {short_digest(*(part for label in labels for part in label))}"


@dataclass(frozen=True, slots=True)
class EntitySummary:
    """A summary of an entity's descriptions, with the chunks that it cites. `fingerprint` identifies the descriptions.

    `key` is the result of `summary_key` at that time; `sources` are all the chunks of the findings.
    """

    key: str
    fingerprint: str
    version: int
    text: str
    sources: tuple[str, ...]
    findings: tuple[ReportFinding, ...] = ()

    @property
    def entity(self) -> str:
        """The entity's canonical id."""
        return self.key.partition(" ")[0]


def stored(summary: EntitySummary) -> ReportRow:
    """Return the form in which a store keeps a summary."""
    number = storage_id(summary.entity)
    written = (summary.fingerprint, summary.version, summary.key, summary.text, summary.sources, summary.findings)
    return ReportRow(number, ENTITY, *written)


def split_rows(rows: Iterable[ReportRow]) -> tuple[list[ReportRow], list[EntitySummary]]:
    """Return the reports of communities, and the summaries of entities, among a store's rows."""
    reports: list[ReportRow] = []
    summaries: list[EntitySummary] = []
    for row in rows:
        if row.level == ENTITY:
            written = (row.title, row.fingerprint, row.version, row.summary, row.sources, row.findings)
            summaries.append(EntitySummary(*written))
        else:
            reports.append(row)
    return reports, summaries


class EntitySummaryCache:
    """The summary cache; see the module. It changes under the view's write lock. `scanned`: every entity was scanned
    since the start.
    """

    def __init__(self) -> None:
        self.scanned = False
        self._rows: dict[str, EntitySummary] = {}
        self._citing: dict[str, set[str]] = {}
        self._withdrawn: set[str] = set()
        self._gone: set[int] = set()

    def __len__(self) -> int:
        return len(self._rows)

    def summary(self, view: ViewTables, node: int) -> EntitySummary | None:
        """Return the summary of an entity, if there is a valid one. Cost: the entity's labels."""
        row = self._rows.get(view.entities[node].id)
        return row if row is not None and row.key == summary_key(view, node) else None

    def has_summary(self, entity: str) -> bool:
        """Return whether the cache has a summary of the entity, valid or not. O(1)."""
        return entity in self._rows

    def put(self, view: ViewTables, rows: Iterable[EntitySummary]) -> None:
        """Add summaries. A summary that cites a removed chunk or is of a removed entity is withdrawn at once."""
        for row in rows:
            entity = row.entity
            self._remove(entity)
            if entity not in view.entity_nodes:
                self._gone.add(storage_id(entity))
            elif any(source not in view.chunk_numbers for source in row.sources):
                self._withdrawn.add(entity)
            else:
                self._rows[entity] = row
                for source in row.sources:
                    self._citing.setdefault(source, set()).add(entity)

    def invalidate_chunk(self, chunk_id: str) -> None:
        """Invalidate the summaries that cite a removed chunk; they wait to be written again. Cost: the summaries that
        cite it.
        """
        for entity in list(self._citing.get(chunk_id, ())):
            self._remove(entity)
            self._withdrawn.add(entity)

    def retire(self, entities: Iterable[str]) -> None:
        """Remove these summaries; they wait to be written again."""
        for entity in entities:
            self._remove(entity)
            self._withdrawn.add(entity)

    def drop(self, entities: Sequence[str]) -> None:
        """Remove the summaries of entities that no longer need one."""
        for entity in entities:
            if self._remove(entity):
                self._gone.add(storage_id(entity))

    def keep(self, entities: Set[str]) -> None:
        """Keep only the summaries of these entities and clear the pending work, because another process writes them."""
        for entity in self._rows.keys() - entities:
            self._remove(entity)
        self._withdrawn.clear()
        self._gone.clear()

    def drain_withdrawn(self) -> set[str]:
        """Return the entities whose summary was withdrawn since the last call."""
        taken, self._withdrawn = self._withdrawn, set()
        return taken

    def drain_removed(self) -> set[int]:
        """Return the numbers of the summaries that a store may delete, since the last call."""
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
