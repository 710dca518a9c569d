"""Selection of ego-graphs: the most similar ones with different key entities.

Invariant: centres are in the order of canonical names, ranks by similarity and then by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph, EgoGraphs
from graphtide.graph.retrieval.dynagrag.embedding import EgoGraphVectors, Scores, cosines, gather, total_embeddings
from graphtide.graph.retrieval.dynagrag.settings import Dynagrag
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.scoring.links import entities_of
from graphtide.graph.retrieval.seeds import Seeds, nearest, statement_key
from graphtide.graph.view import LiveView, VectorIndexes

ENTITIES = 16
STATEMENTS = 16
PASSAGES = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """An ego-graph, its similarity to the question, and its key entity, by node."""

    ego: EgoGraph
    similarity: float
    top: int


@dataclass(frozen=True, slots=True)
class EgoGraphSelection:
    """The ego-graphs chosen, best first, the number of candidates, and every vector they need."""

    chosen: tuple[Candidate, ...]
    considered: int
    gathered: EgoGraphVectors


def select(
    view: LiveView,
    question: QuestionVector,
    seeds: Seeds,
    admits: ChunkPredicate | None,
    settings: Dynagrag,
    indexes: VectorIndexes | None = None,
) -> EgoGraphSelection:
    """Return the `subgraphs` most similar ego-graphs, by cosine of the total graph embedding (section 3.2).

    Deviation: only the ego-graphs of the question's `centres` are compared, not all. An ego-graph near the question is
    missed if its centre is neither near the question nor in a near statement or passage. Cost: some seventy ego-graphs
    of at most `caps.nodes` entities, whatever the graph's size.
    """
    around = EgoGraphs(view, admits, settings.caps)
    egos = [around.around(centre) for centre in centres(view, question, seeds, admits, indexes)]
    gathered = gather(view, egos)
    asked = question.astype(np.float64)
    similarity = cosines(total_embeddings(egos, gathered), asked).tolist()
    worth = gathered.entities.weights * np.maximum(cosines(gathered.entities.vectors, asked), 0.0)
    rows = zip(egos, similarity, strict=True)
    candidates = [Candidate(ego, value, top_node(view, ego, gathered, worth)) for ego, value in rows]
    candidates.sort(key=lambda candidate: (-candidate.similarity, view.entity_id(candidate.ego.centre)))
    return EgoGraphSelection(tuple(distinct(candidates, settings)), len(egos), gathered)


def widened(
    view: LiveView, admits: ChunkPredicate | None, choice: EgoGraphSelection, settings: Dynagrag
) -> EgoGraphSelection:
    """Return the chosen ego-graphs with up to `explored` entities each, from which the traversal selects.

    An ego-graph of the selection's size would be shown whole, in whatever order it is traversed. Cost: `subgraphs`
    ego-graphs of at most `explored` entities, and their vectors.
    """
    around = EgoGraphs(view, admits, replace(settings.caps, nodes=max(settings.explored, settings.caps.nodes)))
    chosen = tuple(replace(candidate, ego=around.around(candidate.ego.centre)) for candidate in choice.chosen)
    return EgoGraphSelection(chosen, choice.considered, gather(view, [candidate.ego for candidate in chosen]))


def centres(
    view: LiveView,
    question: QuestionVector,
    seeds: Seeds,
    admits: ChunkPredicate | None,
    indexes: VectorIndexes | None = None,
) -> list[int]:
    """Return the nearest entities, the ends of the nearest statements, and the mentions of the nearest passages, by
    name.
    """
    admits_statement = None if admits is None else lambda number: any(map(admits, view.statements[number].chunks))
    named = None if admits is None else lambda node: any(map(admits, view.entities[node].chunks))
    indexes = indexes or view.indexes
    entities = nearest(indexes.entities, question, ENTITIES, view.entity_id, named)
    statements = nearest(indexes.statements, question, STATEMENTS, lambda n: statement_key(view, n), admits_statement)
    found = {hit.number for hit in entities}
    found.update(node for hit in statements for node in view.ends(hit.number))
    found.update(node for hit in seeds.passages[:PASSAGES] for node in entities_of(view, hit.number))
    return sorted(found, key=view.entity_id)


def top_node(view: LiveView, ego: EgoGraph, gathered: EgoGraphVectors, worth: Scores) -> int:
    """Return the key entity of an ego-graph: the greatest weight times similarity to the question, equal ones by name.

    Section 3.2 says "top nodes" without a criterion; by weight alone the same hub would be the top of most.
    """
    values = worth[[gathered.entities.row[node] for node in ego.nodes]]
    best = np.flatnonzero(values == values.max()).tolist()
    return min((ego.nodes[place] for place in best), key=view.entity_id)


def distinct(ranked: list[Candidate], settings: Dynagrag) -> list[Candidate]:
    """Return, in rank order, each ego-graph whose key entity is not that of an earlier one (section 3.2)."""
    if not settings.diversity:
        return ranked[: settings.subgraphs]
    taken: dict[int, Candidate] = {}
    for candidate in ranked:
        if len(taken) == settings.subgraphs:
            break
        taken.setdefault(candidate.top, candidate)
    return list(taken.values())
