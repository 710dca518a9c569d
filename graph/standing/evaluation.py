"""Exact evaluation of a standing question, with everything that its result depends on.

Invariant: if a commit changes no row in `Dependencies.rows`, `links`, `statements` or `documents`, and gives no row a
vector that reaches `bounds`, the evaluation after the commit returns the same evidence. `everything` marks evaluations
whose dependencies are not tracked: every commit may change their evidence.

Dependencies by step, for the modes `local` and `passages`: the hits of the three searches, with all ties (1); the ends
of the statements and the entities found, whose number of passages weighs the restart (2); the nodes that the walk gave
mass (3), and a node next to one of them whose degree became smaller, which is found from the commit's side: a greater
degree lifts no residue above the limit that it sets; the candidates' rows and titles (4); the entities of those whose
links are followed (5); the names that aboutness links are looked up by: the question's spans, the labels and the keys
of these passages (6). A filter by the document's own fields is covered by the same rows; one by validity (`as_of`) is
not tracked. While nothing changes the hits of the searches (1), an evaluation is repeated from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.filters import admitted_chunks
from graphtide.graph.retrieval.modes.table import retrieve
from graphtide.graph.retrieval.options.fields import settings_from
from graphtide.graph.retrieval.options.settings import LocalSettings
from graphtide.graph.retrieval.scoring.about_links import mentioned_names
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.scoring.pair_reranking import PairRanking, rank_by_pairs
from graphtide.graph.retrieval.search.ppr import EPSILON
from graphtide.graph.retrieval.seeds import Hit, Seeds, nearest_with_ties
from graphtide.graph.retrieval.time_limits import is_time_limited, with_time_limits
from graphtide.graph.retrieval.types import Question
from graphtide.graph.standing.types import Evidence, EvidencePassage
from graphtide.graph.view import LiveView, walk_chunk, walk_entity

Numbers = NDArray[np.int64]
Places = NDArray[np.int32]

NEVER = math.inf
"""The bound of an index that an evaluation does not read."""
ALWAYS = -math.inf
"""The bound of an index with fewer rows than the evaluation wanted: every new row enters."""


MAX_PUSHES = 1_000_000
"""The limit of `WalkGraph.push`."""
NAME_PLACES = 1 << 22
"""The number of places of a table of names: names that share one are confused, which only costs an evaluation."""


def name_places(names: Iterable[str]) -> Places:
    """Return the places of names in the table, ascending; the same within a process."""
    return np.array(sorted({hash(name) % NAME_PLACES for name in names}), np.int32)


@dataclass(frozen=True, slots=True)
class Bounds:
    """The similarity that a changed row must reach to be among the hits of a search."""

    chunks: float = NEVER
    entities: float = NEVER
    statements: float = NEVER


@dataclass(frozen=True, slots=True)
class Dependencies:
    """The rows and scores of one evaluation: `rows` are numbers of passages, `nodes` of the walk graph (ascending).

    `names` are the places of `name_places`, ascending.
    """

    bounds: Bounds
    rows: frozenset[int] = frozenset()
    nodes: Numbers | None = None
    statements: frozenset[int] = frozenset()
    documents: frozenset[str] = frozenset()
    names: Places | None = None
    everything: bool = False
    wide: bool = False
    """True if each changed degree of a node next to `nodes` can change the walk, not only each lowered one."""
    searched: Seeds | None = None
    """The hits of the searches, where they stay the same as long as no row of them changes or enters."""
    ends: frozenset[int] = frozenset()
    """The nodes of the walk graph that the hits among entities and statements are, or lead between."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evidence of a question at one version, and what it depends on."""

    evidence: Evidence
    dependencies: Dependencies


def evaluate(view: LiveView, question: Question, searched: Seeds | None = None) -> Evaluation:
    """Evaluate a question exactly, as a query with `exact`. Call under `view.lock.read()`.

    `searched` are `Dependencies.searched` of the evaluation before, where they are still valid: it searches nothing.
    """
    asked = replace(question, exact=True, explain=False)
    if is_time_limited(asked) or asked.filters.as_of or asked.mode not in _TRACKED:
        timed = with_time_limits(view, asked)
        return Evaluation(_evidence(view, timed), Dependencies(Bounds(ALWAYS, ALWAYS, ALWAYS), everything=True))
    return _by_similarity(view, asked) if asked.mode == "vector" else _by_pairs(view, asked, searched)


_TRACKED = {"vector", "local", "passages"}


def _evidence(view: LiveView, question: Question) -> Evidence:
    found = retrieve(view, question).passages
    return tuple(EvidencePassage(each.doc_id, each.chunk_id, each.score) for each in found)


def _by_similarity(view: LiveView, question: Question) -> Evaluation:
    hits = _passages(view, question, question.top_k)
    evidence = tuple(EvidencePassage(view.chunks[h.number].doc_id, h.key, h.cosine) for h in hits[: question.top_k])
    rows = frozenset(hit.number for hit in hits)
    return Evaluation(evidence, Dependencies(Bounds(_bound(question, hits, question.top_k)), rows))


def _by_pairs(view: LiveView, question: Question, searched: Seeds | None) -> Evaluation:
    settings = settings_from(LocalSettings, question.options)
    repetition = settings.repetition if question.mode == "local" else 1.0
    found = rank_by_pairs(view, question, repetition, searched=searched)
    searched = found.searched
    depth = max(settings.near, question.top_k)
    bounds = Bounds(
        _bound(question, searched.passages, depth),
        _bound(question, searched.entities, settings.entities),
        _bound(question, searched.statements, settings.statements),
    )
    numbers = found.pool.numbers if found.pool else ()
    ends = {walk_entity(hit.number) for hit in searched.entities}
    ends.update(walk_entity(node) for hit in searched.statements for node in view.ends(hit.number))
    dependencies = Dependencies(
        bounds,
        frozenset(numbers).union(hit.number for hit in searched.passages),
        _nodes(view, found, ends),
        frozenset(hit.number for hit in searched.statements),
        frozenset(view.chunks[number].doc_id for number in numbers),
        name_places(_names(view, found)),
        wide=_may_be_cut(len(found.reached), settings.restart),
        searched=None if admitted_chunks(view, question.filters) is not None else searched,
        ends=frozenset(ends),
    )
    return Evaluation(_ranked(view, found), dependencies)


def _may_be_cut(reached: int, restart: float) -> bool:
    """Return whether a walk with that many pushed nodes may have ended at its limit of pushes.

    A walk that ends by itself pushed each node that it gave mass, and left every other one below the limit of its
    degree, which a greater degree does not lift. In a walk that is cut, nodes wait whose degree counts, too. After the
    seeds a share 1 - `restart` of the mass is left, so at most as large a share of 1 / EPSILON nodes can wait at once;
    a cut needs the remaining pushes before it. Mass decreases by that share each round, so no node is pushed in more
    rounds than it takes to fall below EPSILON.
    """
    rounds = math.ceil(math.log(EPSILON) / math.log(1 - restart)) + 1
    return reached * rounds >= restart * MAX_PUSHES


def _ranked(view: LiveView, found: PairRanking) -> Evidence:
    if found.pool is None:
        return ()
    rows = ((view.chunks[found.pool.numbers[place]], float(found.relevance[place])) for place in found.order)
    return tuple(EvidencePassage(chunk.doc_id, chunk.chunk_id, score) for chunk, score in rows)


def _passages(view: LiveView, question: Question, count: int) -> tuple[Hit, ...]:
    index, admits = view.exact_indexes().chunks, admitted_chunks(view, question.filters)
    return nearest_with_ties(index, question.vector, count, lambda number: view.chunks[number].chunk_id, admits)


def _bound(question: Question, hits: tuple[Hit, ...], count: int) -> float:
    if not count:
        return NEVER
    if len(hits) >= count:
        return hits[count - 1].cosine
    return ALWAYS if np.any(question.vector) else NEVER


def _nodes(view: LiveView, found: PairRanking, ends: set[int]) -> Numbers:
    nodes: set[int] = {*found.reached, *found.restart, *ends}
    nodes.update(walk_chunk(hit.number) for hit in found.searched.passages)
    if found.pool is not None:
        nodes.update(map(walk_chunk, found.pool.numbers))
        followed = _followed(found)
        nodes.update(walk_entity(node) for number in followed for node in entities_of(view, number))
        nodes.update(walk_entity(n) for number in followed for key in view.about.keys(number) for n in view.named(key))
    return np.array(sorted(nodes), np.int64)


def _names(view: LiveView, found: PairRanking) -> Iterator[str]:
    yield from found.pool.names if found.pool is not None else ()
    for number in _followed(found):
        yield from mentioned_names(view, number)
        yield from view.about.keys(number)


def _followed(found: PairRanking) -> set[int]:
    """Return the passages whose links the evaluation read."""
    pool = found.pool
    if pool is None:
        return set()
    return {*pool.expanded, *(pool.numbers[place] for place in (*pool.firsts.tolist(), *found.greedy))}
