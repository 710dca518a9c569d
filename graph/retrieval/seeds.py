"""Seeds of a question: the nearest statements, entities and passages, and the restart vector made of them.

Invariant: seeds are in canonical order, by similarity and then by name, whatever the internal numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from graphtide.graph.identity import relation_id
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.types import Question
from graphtide.graph.vector_index import PADDING, ExactIndex, VectorIndex
from graphtide.graph.view import LiveView, VectorIndexes, walk_chunk, walk_entity

TIES = 16  # fetched beyond k: an index returns equal vectors by number, and the cut is by name

STATEMENTS = 5
ENTITIES = 5
PASSAGES = 20
ENTITY_SHARE = 0.2
PASSAGE_SHARE = 0.2


class Hit(NamedTuple):
    """One neighbour of the question: its number in the view, its canonical name, its cosine."""

    number: int
    key: str
    cosine: float


@dataclass(frozen=True, slots=True)
class SeedCounts:
    """The number of nearest statements, and of nearest entities."""

    statements: int = STATEMENTS
    entities: int = ENTITIES


@dataclass(frozen=True, slots=True)
class Seeds:
    """The question's neighbours of each kind, best first. `passages` may be more than those that restart the walk."""

    statements: tuple[Hit, ...]
    entities: tuple[Hit, ...]
    passages: tuple[Hit, ...]

    def cut(self, depth: int, counts: SeedCounts) -> Seeds:
        """Return the first `depth` passages, and of the others as many as `counts` says."""
        return Seeds(self.statements[: counts.statements], self.entities[: counts.entities], self.passages[:depth])


def searched_indexes(view: LiveView, question: Question) -> VectorIndexes:
    """Return the indexes to search for a question: those of the view, or, for an exact question, all vectors."""
    return view.exact_indexes() if question.exact else view.indexes


def find_seeds(
    view: LiveView,
    vector: QuestionVector,
    admits: ChunkPredicate | None,
    depth: int,
    indexes: VectorIndexes | None = None,
    counts: SeedCounts = SeedCounts(),
) -> Seeds:
    """Return the seeds of a question, `depth` passages among them. Under a filter each has an admitted passage.

    `indexes` replace those of the view. Cost: three searches.
    """
    return search_seeds(view, vector, admits, depth, indexes, counts).cut(depth, counts)


def search_seeds(
    view: LiveView,
    vector: QuestionVector,
    admits: ChunkPredicate | None,
    depth: int,
    indexes: VectorIndexes | None = None,
    counts: SeedCounts = SeedCounts(),
) -> Seeds:
    """Return the seeds of a question, each kind followed by those that are as similar as its last one."""
    indexes = indexes or view.indexes
    admits_statement = None if admits is None else lambda number: any(map(admits, view.statements[number].chunks))
    named = None if admits is None else lambda node: any(map(admits, view.entities[node].chunks))
    return Seeds(
        nearest_with_ties(
            indexes.statements, vector, counts.statements, lambda n: statement_key(view, n), admits_statement
        ),
        nearest_with_ties(indexes.entities, vector, counts.entities, view.entity_id, named),
        nearest_with_ties(indexes.chunks, vector, depth, lambda n: view.chunks[n].chunk_id, admits),
    )


def nearest_passages(
    view: LiveView,
    vector: QuestionVector,
    admits: ChunkPredicate | None,
    count: int,
    indexes: VectorIndexes | None = None,
) -> tuple[Hit, ...]:
    """Return the `count` admitted passages most similar to the question, equal ones by chunk id."""
    index = (indexes or view.indexes).chunks
    return nearest(index, vector, count, lambda n: view.chunks[n].chunk_id, admits)


def nearest(
    index: VectorIndex, vector: QuestionVector, count: int, name: Callable[[int], str], allowed: ChunkPredicate | None
) -> tuple[Hit, ...]:
    """Return the `count` most similar of an index, equal ones by canonical name. None for a zero question vector.

    The result of an ExactIndex is a function of the names and vectors: all that are as similar as the last one are
    compared. Of an approximate index at most TIES more than `count` are.
    """
    return nearest_with_ties(index, vector, count, name, allowed)[:count]


def nearest_with_ties(
    index: VectorIndex, vector: QuestionVector, count: int, name: Callable[[int], str], allowed: ChunkPredicate | None
) -> tuple[Hit, ...]:
    """Return the hits of `nearest`, followed by those that are as similar as the last one and have a later name."""
    if not count or not len(index) or not np.any(vector):
        return ()
    query, fetched = vector[np.newaxis].astype(np.float32), count + TIES
    found = index.search(query, fetched, allowed=allowed)
    last = float(
        found.similarities[0][:count][-1]
    )  # a name costs more than a search: only hits that may stay are named
    while isinstance(index, ExactIndex) and float(found.similarities[0][-1]) == last > -np.inf:
        fetched *= 4
        found = index.search(query, fetched, allowed=allowed)
    rows = zip(found.ids[0].tolist(), found.similarities[0].tolist(), strict=True)
    return by_name(
        [Hit(number, name(number), cosine) for number, cosine in rows if number != PADDING and cosine >= last]
    )


def by_name(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return hits that an index found, most similar first and equal ones by number, with equal ones by name."""
    if any(hit.cosine == following.cosine for hit, following in pairwise(hits)):
        return tuple(sorted(hits, key=lambda hit: (-hit.cosine, hit.key)))
    return tuple(hits)


def restart(view: LiveView, seeds: Seeds) -> dict[int, float]:
    """Return the restart distribution over the walk graph's nodes, summing to 1; empty without any seed.

    Statements give their mass to the entities they connect, passages keep theirs, and an entity that many passages
    mention gets less of it (node specificity). After Gutiérrez et al. 2024, section 2.3 (specificity) and 2025, section
    3.4 (restart over phrases and passages), with two deviations: entities seed directly too, and the three kinds have
    fixed shares; the share of a kind without a hit goes to the others.
    """
    by_statement: dict[int, float] = {}
    for hit in seeds.statements:
        for node in view.ends(hit.number):
            _add(by_statement, walk_entity(node), hit.cosine * specificity(view, node))
    by_entity: dict[int, float] = {}
    for hit in seeds.entities:
        _add(by_entity, walk_entity(hit.number), hit.cosine * specificity(view, hit.number))
    by_passage: dict[int, float] = {}
    near = seeds.passages[:PASSAGES]
    floor = seeds.passages[-1].cosine if len(seeds.passages) > len(near) else 0.0
    for hit in near:
        _add(by_passage, walk_chunk(hit.number), hit.cosine - floor)
    shares = (1 - ENTITY_SHARE - PASSAGE_SHARE, by_statement), (ENTITY_SHARE, by_entity), (PASSAGE_SHARE, by_passage)
    return _mixed(shares)


def specificity(view: LiveView, node: int) -> float:
    """Return an entity's specificity: one over the number of passages that mention it."""
    return 1.0 / max(len(view.entities[node].chunks), 1)


def statement_key(view: LiveView, number: int) -> str:
    """Return the canonical name of a statement's relation, and its labels, since several statements may share it."""
    statement = view.statements[number]
    subject, object_ = view.labels[statement.subject], view.labels[statement.object]
    ends = (view.entity_id(label.node) for label in (subject, object_))
    relation = relation_id(next(ends), statement.predicate, next(ends))
    return "\0".join((relation, subject.name, subject.type, object_.name, object_.type))


def _add(mass: dict[int, float], node: int, more: float) -> None:
    if more > 0:
        mass[node] = mass.get(node, 0.0) + more


def _mixed(shares: tuple[tuple[float, dict[int, float]], ...]) -> dict[int, float]:
    used = sum(share for share, mass in shares if mass)
    mixed: dict[int, float] = {}
    for share, mass in shares:
        total = sum(mass.values())
        for node, part in mass.items():
            _add(mixed, node, share / used * part / total)
    return mixed
