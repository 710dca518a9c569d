"""Candidate passages of a question, and the entities that link them.

Invariant: candidates are in the order of their chunk ids, so that a later stable ranking breaks its ties by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.scoring import terms
from graphtide.graph.retrieval.scoring.pair_scoring import (
    DECADES,
    WEIGHTING,
    Candidates,
    Positions,
    Scores,
    Weighting,
    unary_scores,
)
from graphtide.graph.retrieval.seeds import Seeds
from graphtide.graph.retrieval.types import Question
from graphtide.graph.vector_index import Vectors, similarities, unit_rows
from graphtide.graph.view import LiveView, walk_chunk

NEAR = 100
WALKED = 100
HUB = 20  # an entity in more passages is an unspecific link, and would make every question expensive


@dataclass(frozen=True, slots=True)
class CandidatePool:
    """Candidates by position: their numbers in the view, their unary scores, and the words that weigh them.

    `firsts` are the positions of those that open a pair, and `bridges` (firsts, n) holds the strength of the link from
    each of them to each candidate.
    """

    numbers: tuple[int, ...]
    candidates: Candidates
    worth: Scores
    words: tuple[str, ...]
    firsts: Positions
    bridges: Scores


def gather(
    view: LiveView,
    question: Question,
    seeds: Seeds,
    mass: Mapping[int, float],
    admits: ChunkPredicate | None = None,
    weighting: Weighting = WEIGHTING,
) -> CandidatePool | None:
    """Return the nearest passages, the walk's best, and those linked to the best of both. None when there is none at
    all.

    `seeds` and `mass` hold admitted passages only.

    Cost: reads at most NEAR + WALKED + firsts * entities of a passage * HUB passages, whatever the graph's size.
    """
    scale = (seeds.passages[-1].cosine, seeds.passages[0].cosine) if seeds.passages else (0.0, 1.0)
    walked = _walked(view, mass, max(WALKED, question.top_k))
    near = score_passages(view, question, walked.union(hit.number for hit in seeds.passages))
    if not near.numbers:
        return None
    chosen = best_first(unary_scores(near.candidates(mass, scale), weighting), weighting.firsts)
    led_to = {near.numbers[position]: linked_passages(view, near.numbers[position], admits) for position in chosen}
    found = near.joined(view, score_passages(view, question, set().union(*led_to.values()).difference(near.numbers)))
    asked, held = terms.occurrences(question.text, [titled(view, number) for number in found.numbers])
    candidates = replace(found.candidates(mass, scale), held=held, words=terms.weights(held))
    place = {number: position for position, number in enumerate(found.numbers)}
    firsts = np.array(sorted(place[number] for number in led_to), dtype=np.intp)
    strengths = np.zeros((len(firsts), len(place)))
    for row, first in enumerate(firsts.tolist()):
        for number, strength in led_to[found.numbers[first]].items():
            if number in place:
                strengths[row, place[number]] = strength
    return CandidatePool(
        found.numbers, candidates, unary_scores(candidates, weighting), tuple(asked), firsts, strengths
    )


def linked_passages(view: LiveView, number: int, admits: ChunkPredicate | None) -> dict[int, float]:
    """Return the passages that share an entity with this one, and the strength of the link.

    An entity of n passages has strength 1 / (1 + ln n), 0.59 when it is in these two alone, and none with more than
    HUB. Of several entities the strongest counts.
    """
    reached: dict[int, float] = {}
    for node in entities_of(view, number):
        chunks = view.entities[node].chunks
        strength = bridge_strength(view, node)
        for chunk in chunks if strength else ():
            if chunk != number and reached.get(chunk, 0.0) < strength and (admits is None or admits(chunk)):
                reached[chunk] = strength
    return reached


def bridge_strength(view: LiveView, node: int) -> float:
    """Return how strongly an entity links its passages; 0 for an unspecific one."""
    passages = len(view.entities[node].chunks)
    return 1 / (1 + math.log(passages)) if 2 <= passages <= HUB else 0.0


def entities_of(view: LiveView, chunk: int) -> set[int]:
    """Return the entities a passage mentions."""
    return {view.labels[mention.label].node for mention in view.chunks[chunk].mentions}


def best_first(values: Scores, count: int) -> Positions:
    """Return the positions of the `count` highest values, equal ones in their order."""
    return np.argsort(-values, kind="stable")[:count]


def _walked(view: LiveView, mass: Mapping[int, float], count: int) -> set[int]:
    """Return the passages with most of the walk's mass, down to the end of its scale."""
    reached = {node // 2: share for node, share in mass.items() if node % 2}
    least = max(reached.values(), default=0.0) * 10.0**-DECADES
    within = (n for n, share in reached.items() if share > least)
    best = sorted(within, key=lambda n: (-reached[n], view.chunks[n].chunk_id))
    return set(best[:count])


@dataclass(frozen=True, slots=True)
class ScoredPassages:
    """Passages that have a vector, by chunk id, with their vectors and their similarity to the question."""

    numbers: tuple[int, ...]
    vectors: Vectors
    cosine: Scores

    def joined(self, view: LiveView, others: ScoredPassages) -> ScoredPassages:
        """Return both together; fetching a vector costs more than copying it."""
        numbers = self.numbers + others.numbers
        order = sorted(range(len(numbers)), key=lambda place: view.chunks[numbers[place]].chunk_id)
        vectors, cosine = np.concatenate((self.vectors, others.vectors)), np.concatenate((self.cosine, others.cosine))
        return ScoredPassages(tuple(numbers[place] for place in order), vectors[order], cosine[order])

    def candidates(self, mass: Mapping[int, float], scale: tuple[float, float]) -> Candidates:
        """Return candidates with their similarity and the walk's mass, and no words yet."""
        walk = np.array([mass.get(walk_chunk(number), 0.0) for number in self.numbers])
        held = np.zeros((len(self.numbers), 0), dtype=bool)
        return Candidates(self.cosine, walk, self.vectors, held, np.zeros(0), scale)


def score_passages(view: LiveView, question: Question, found: Iterable[int]) -> ScoredPassages:
    """Return the passages that have a vector, with their similarity to the question. Cost: linear in them."""
    numbers = sorted((n for n in found if view.chunks[n].vector.size), key=lambda n: view.chunks[n].chunk_id)
    dimensions = view.indexes.chunks.dimensions
    stored = np.array([view.chunks[number].vector for number in numbers], dtype=np.float32)
    vectors = unit_rows(stored.reshape(-1, dimensions), dimensions)
    unit = question.vector / np.float32(np.linalg.norm(question.vector) or 1)
    return ScoredPassages(tuple(numbers), vectors, similarities(unit.astype(np.float32), vectors).astype(np.float64))


def titled(view: LiveView, number: int) -> str:
    """Return a passage's text under the title of its document, unless it repeats the title."""
    chunk = view.chunks[number]
    document = view.documents.get(chunk.doc_id)
    return f"{document.info.title}\n{chunk.text}" if document else chunk.text
