"""The summary of one commit for readers: the entities, relations, merges and splits that it changed, by public ids.

It is computed from the delta and the rows that the delta overwrote, so it needs no view of the graph. An entity is its
labels: one that keeps its smallest label keeps its id. A merge or split moves the relations of its entities with it;
they are not listed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from graphtide.graph.identity import entity_id, relation_id
from graphtide.graph.records import EntityRow, GraphDelta, LabelRow, SameAsRow, TripleRow

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChangedEntity:
    """An entity after the commit; for a removed one, before it."""

    id: str
    name: str
    type: str
    mentions: int


@dataclass(frozen=True, slots=True)
class ChangedRelation:
    """A relation between two entities, with the names of both. `count` is the number of passages' statements of it."""

    id: str
    subject: str
    predicate: str
    object: str
    subject_name: str
    object_name: str
    count: int


@dataclass(frozen=True, slots=True)
class LinkEvidence:
    """A link between two spellings that a rule matched."""

    a: str
    b: str
    rule: str
    score: float


@dataclass(frozen=True, slots=True)
class EntityMerge:
    """Entities that became one, and the links that join them."""

    into: str
    name: str
    sources: tuple[str, ...]
    evidence: tuple[LinkEvidence, ...]


@dataclass(frozen=True, slots=True)
class EntitySplit:
    """An entity that became several, and the links that no longer hold."""

    source: str
    name: str
    into: tuple[str, ...]
    evidence: tuple[LinkEvidence, ...]


@dataclass(frozen=True, slots=True)
class Changed(Generic[T]):
    """Items of one kind by how the commit changed them."""

    added: tuple[T, ...] = ()
    changed: tuple[T, ...] = ()
    removed: tuple[T, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.removed)

    def all(self) -> Iterable[T]:
        """Yield all items."""
        yield from self.added
        yield from self.changed
        yield from self.removed


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """The effect of one commit on entities and relations. It is false when nothing that readers see changed."""

    entities: Changed[ChangedEntity] = field(default_factory=Changed)
    relations: Changed[ChangedRelation] = field(default_factory=Changed)
    merges: tuple[EntityMerge, ...] = ()
    splits: tuple[EntitySplit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.entities or self.relations or self.merges or self.splits)


def summarise(delta: GraphDelta, old: GraphDelta, context: Sequence[EntityRow] = ()) -> ChangeSummary:
    """Return the summary of a delta; `old` holds the rows that it overwrote, with those of the labels that it names.

    `context` are the unchanged entities of these labels.
    """
    touched = {row.node for row in delta.entities} | set(delta.gone.entities)
    before = _State(old.labels, (*context, *old.entities))
    after = _State((*old.labels, *delta.labels), (*context, *old.entities, *delta.entities))
    was = {row.node: row for row in old.entities if row.node in touched}
    now = {row.node: row for row in delta.entities}
    merges, splits = _moves(was, now, before, after, delta, old)
    return ChangeSummary(_entities(was, now, before, after), _relations(delta, old, before, after), merges, splits)


class _State:
    """Names and ids before or after the commit."""

    def __init__(self, labels: Iterable[LabelRow], entities: Iterable[EntityRow]) -> None:
        self.labels = {row.label: row for row in labels}
        self.entities = {row.node: row for row in entities}

    def id_of(self, row: EntityRow) -> str:
        """Return the public id: that of the smallest label, which is the first."""
        first = self.labels[row.labels[0]]
        return entity_id([(first.name, first.type)])

    def end(self, label: int) -> tuple[str, str]:
        """Return the id and the name of the entity of a label."""
        row = self.labels[label]
        entity = self.entities.get(row.node)
        return (entity_id([(row.name, row.type)]), row.name) if entity is None else (self.id_of(entity), entity.name)

    def entity(self, row: EntityRow) -> ChangedEntity:
        return ChangedEntity(self.id_of(row), row.name, row.type, row.mentions)

    def relation(self, row: TripleRow) -> ChangedRelation:
        subject, subject_name = self.end(row.subject)
        object_, object_name = self.end(row.object)
        ident = relation_id(subject, row.predicate, object_)
        return ChangedRelation(ident, subject, row.predicate, object_, subject_name, object_name, row.count)

    def evidence(self, rows: Iterable[SameAsRow]) -> tuple[LinkEvidence, ...]:
        return tuple(
            LinkEvidence(self.labels[row.a].name, self.labels[row.b].name, row.rule, row.score_milli / 1000)
            for row in rows
        )


def _entities(
    was: Mapping[int, EntityRow], now: Mapping[int, EntityRow], before: _State, after: _State
) -> Changed[ChangedEntity]:
    old = {before.id_of(row): row for row in was.values()}
    new = {after.id_of(row): row for row in now.values()}
    return Changed(
        tuple(after.entity(row) for ident, row in sorted(new.items()) if ident not in old),
        tuple(after.entity(row) for ident, row in sorted(new.items()) if ident in old and _differs(old[ident], row)),
        tuple(before.entity(row) for ident, row in sorted(old.items()) if ident not in new),
    )


def _differs(old: EntityRow, new: EntityRow) -> bool:
    return (old.name, old.type, old.mentions, sorted(old.labels)) != (
        new.name,
        new.type,
        new.mentions,
        sorted(new.labels),
    )


def _relations(delta: GraphDelta, old: GraphDelta, before: _State, after: _State) -> Changed[ChangedRelation]:
    old_rows = {row.statement: row for row in old.statements}
    new = {row.statement for row in delta.statements}
    added, changed = [], []
    for row in delta.statements:
        was = old_rows.get(row.statement)
        if was is None:
            added.append(after.relation(row))
        elif (was.count, was.weight_milli) != (row.count, row.weight_milli):
            changed.append(after.relation(row))
    gone = [before.relation(old_rows[n]) for n in delta.gone.statements if n in old_rows and n not in new]
    return Changed(_distinct(added), _distinct(changed), _distinct(gone))


def _distinct(relations: Sequence[ChangedRelation]) -> tuple[ChangedRelation, ...]:
    found = {relation.id: relation for relation in reversed(relations)}
    return tuple(found[ident] for ident in sorted(found))


def _moves(
    was: Mapping[int, EntityRow],
    now: Mapping[int, EntityRow],
    before: _State,
    after: _State,
    delta: GraphDelta,
    old: GraphDelta,
) -> tuple[tuple[EntityMerge, ...], tuple[EntitySplit, ...]]:
    """Return the merges and splits, from the labels that lived before and after the commit."""
    left = {label: node for node, row in was.items() for label in row.labels}
    joined = {label: node for node, row in now.items() for label in row.labels}
    sources: dict[int, set[int]] = {}
    targets: dict[int, set[int]] = {}
    for label in left.keys() & joined.keys():
        sources.setdefault(joined[label], set()).add(left[label])
        targets.setdefault(left[label], set()).add(joined[label])
    links = {(row.a, row.b): row for row in (*old.same_as, *delta.same_as)}
    kept = {(row.a, row.b) for row in delta.same_as}
    gone = [row for row in old.same_as if (row.a, row.b) in set(delta.gone.same_as) - kept]
    merges = []
    for node, froms in sorted(sources.items()):
        if len(froms) > 1:
            joins = [row for (a, b), row in sorted(links.items()) if _joins(left, joined, a, b, node)]
            ids = tuple(sorted(before.id_of(was[source]) for source in froms))
            merges.append(EntityMerge(after.id_of(now[node]), now[node].name, ids, after.evidence(joins)))
    splits = []
    for node, ends in sorted(targets.items()):
        if len(ends) > 1:
            ids = tuple(sorted(after.id_of(now[end]) for end in ends))
            broken = [row for row in gone if left.get(row.a) == left.get(row.b) == node]
            splits.append(EntitySplit(before.id_of(was[node]), was[node].name, ids, before.evidence(broken)))
    return tuple(merges), tuple(splits)


def _joins(left: Mapping[int, int], joined: Mapping[int, int], a: int, b: int, node: int) -> bool:
    """Return True for a link within the entity `node` that connects labels of different entities before."""
    return joined.get(a) == joined.get(b) == node and left.get(a) != left.get(b)
