"""Ranking of the passages of the chosen subgraphs.

It is not in the paper, which answers from prompts alone; here passages are cited, and recall is measured on them.
Invariant: the order is by score, and then by chunk id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval.dynagrag.embedding import DECIMALS, Scores
from graphtide.graph.retrieval.dynagrag.pruning import Pruned
from graphtide.graph.retrieval.dynagrag.selection import Candidate
from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.scoring.pair_scoring import MIN_SPAN
from graphtide.graph.retrieval.seeds import Seeds
from graphtide.graph.vector_index import similarities, unit_rows
from graphtide.graph.view import LiveView

SPREAD = 64  # a relation that more passages state does not distinguish them


@dataclass(frozen=True, slots=True)
class Ranked:
    """A passage by number, its score, and the terms of the score."""

    number: int
    score: float
    nearness: float
    support: float


def rank(
    view: LiveView, question: QuestionVector, seeds: Seeds, support: Mapping[int, float], count: int
) -> list[Ranked]:
    """Return the `count` best of the nearest passages and of those that support the subgraphs.

    Nearness is the cosine scaled from 0 for the last of the nearest passages to 1 for the first. Cost: NEAR passages
    and those that support the subgraphs.
    """
    cosine = {hit.number: hit.cosine for hit in seeds.passages}
    cosine |= measured(view, question, [number for number in support if number not in cosine])
    if not cosine:
        return []
    low = seeds.passages[-1].cosine if seeds.passages else 0.0
    span = max((seeds.passages[0].cosine if seeds.passages else 1.0) - low, MIN_SPAN)
    found = []
    for number, value in cosine.items():
        near, backed = (value - low) / span, support.get(number, 0.0)
        found.append(Ranked(number, round(near + backed, DECIMALS), near, backed))
    return sorted(found, key=lambda passage: (-passage.score, view.chunks[passage.number].chunk_id))[:count]


def supported(
    view: LiveView, admits: ChunkPredicate | None, chosen: Sequence[Candidate], pruned: Sequence[Pruned]
) -> dict[int, float]:
    """Return each passage's support of the chosen subgraphs, from 0 to 1.

    It is the greatest similarity of the subgraph times mask among the relations that the passage states. The greatest
    and not the sum, so that a long passage has no advantage.
    """
    found: dict[int, float] = {}
    for candidate, kept in zip(chosen, pruned, strict=True):
        for relation, mask in zip(kept.ego.relations, kept.relations.tolist(), strict=True):
            chunks = view.statements[relation.statement].chunks
            if len(chunks) <= SPREAD:
                for chunk in chunks if admits is None else filter(admits, chunks):
                    found[chunk] = max(found.get(chunk, 0.0), candidate.similarity * mask)
    return {chunk: value for chunk, value in found.items() if view.chunks[chunk].vector.size}


def measured(view: LiveView, question: QuestionVector, numbers: Sequence[int]) -> dict[int, float]:
    """Return the cosine of passages to the question, as an index computes it."""
    if not numbers:
        return {}
    dimensions = view.indexes.chunks.dimensions
    rows = unit_rows(np.array([view.chunks[number].vector for number in numbers], np.float32), dimensions)
    asked = unit_rows(question[np.newaxis].astype(np.float32), dimensions)[0]
    found: Scores = similarities(asked, rows).astype(np.float64)
    return dict(zip(numbers, found.tolist(), strict=True))
