"""Candidate passages of a question, their documents, and the entities these share.

Invariant: passages are in the order of chunk ids, documents in the order of document ids, so that computations over
them have one order whatever the order of arrival.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.question_vector import QuestionVector
from graphtide.graph.retrieval.scoring.links import HUB, entities_of, linked_passages
from graphtide.graph.retrieval.scoring.pair_scoring import Scores
from graphtide.graph.retrieval.seeds import Seeds
from graphtide.graph.vector_index import Vectors, similarities, unit_rows
from graphtide.graph.view import LiveView

Mask = NDArray[np.bool_]

FIRSTS = 20  # the nearest passages, whose entities link to further ones
LED = 400  # maximum of linked passages: more than all of them on the benchmark's graph, which has some 180


@dataclass(frozen=True, slots=True)
class Passages:
    """Candidate passages: n numbers, with unit vectors (n, d) and cosines to the question (n,)."""

    numbers: tuple[int, ...]
    vectors: Vectors
    cosine: Scores


@dataclass(frozen=True, slots=True)
class Documents:
    """Candidate documents: m ids, unit vectors (m, d); of every two the strength of the rarest entity that they share,
    and whether one mentions the other's title, (m, m).
    """

    ids: tuple[str, ...]
    vectors: Vectors
    shared: Scores
    titled: Mask


def candidate_passages(
    view: LiveView, question: QuestionVector, seeds: Seeds, admits: ChunkPredicate | None
) -> Passages:
    """Return the nearest passages, those that state the nearest relations, and those linked to the nearest by an
    entity.

    If more than LED are linked, those that state a near relation or share the rarest entity are kept, equal ones by
    chunk id. Cost: NEAR and LED passages are read; FIRSTS times the entities of a passage times HUB are scanned.
    """
    led: dict[int, float] = {}
    for hit in seeds.passages[:FIRSTS]:
        for chunk, strength in linked_passages(view, hit.number, admits).items():
            led[chunk] = max(strength, led.get(chunk, 0.0))
    for hit in seeds.statements:
        chunks = view.statements[hit.number].chunks
        led.update((chunk, 1.0) for chunk in chunks if len(chunks) <= HUB and (admits is None or admits(chunk)))
    near = {hit.number for hit in seeds.passages}
    rarest = sorted(led.keys() - near, key=lambda n: (-led[n], view.chunks[n].chunk_id))[:LED]
    found = (n for n in near.union(rarest) if view.chunks[n].vector.any())
    numbers = sorted(found, key=lambda n: view.chunks[n].chunk_id)
    vectors = stacked(view, numbers)
    if not numbers:  # a question with a zero vector has no neighbours
        return Passages((), vectors, np.zeros(0))
    asked = unit_rows(question[np.newaxis].astype(np.float32), len(question))[0]
    return Passages(tuple(numbers), vectors, similarities(asked, vectors).astype(np.float64))


def best_documents(view: LiveView, passages: Passages, settings: Nakg) -> Documents:
    """Return the documents of the best passages, at most `settings.documents`, by the best passage of each."""
    best: dict[str, float] = {}
    for number, cosine in zip(passages.numbers, passages.cosine.tolist(), strict=True):
        doc_id = view.chunks[number].doc_id
        best[doc_id] = max(best.get(doc_id, -1.0), cosine)
    kept = sorted(best, key=lambda doc_id: (-best[doc_id], doc_id))[: settings.documents]
    return documents(view, sorted(kept), settings)


def documents(view: LiveView, ids: Sequence[str], settings: Nakg) -> Documents:
    """Return documents with their vectors and shared entities. Cost: at most `settings.passages` passages of each."""
    chunks = [_chunks(view, doc_id)[: settings.passages] for doc_id in ids]
    vectors = stacked(view, [number for numbers in chunks for number in numbers])
    ends = np.cumsum([len(numbers) for numbers in chunks]).tolist()
    means = [vectors[end - len(numbers) : end] for numbers, end in zip(chunks, ends, strict=True)]
    whole = [rows[0] if len(rows) == 1 else rows.sum(axis=0) for rows in means]
    units = np.array([row / (np.linalg.norm(row) or 1.0) for row in whole], np.float32)
    units = units.reshape(len(ids), vectors.shape[1])
    return Documents(tuple(ids), units, shared_strength(view, chunks), mentioned_titles(view, chunks))


def stacked(view: LiveView, numbers: Iterable[int]) -> Vectors:
    """Return unit vectors of passages, (n, d)."""
    dimensions = view.indexes.chunks.dimensions
    rows = np.array([view.chunks[number].vector for number in numbers], np.float32)
    return unit_rows(rows.reshape(-1, dimensions), dimensions)


def _chunks(view: LiveView, doc_id: str) -> list[int]:
    """Return a document's passages that have a vector, in their order."""
    numbers = (number for number in view.documents[doc_id].chunks if view.chunks[number].vector.any())
    return sorted(numbers, key=lambda number: view.chunks[number].ordinal)


def shared_strength(view: LiveView, chunks: Sequence[Sequence[int]]) -> Scores:
    """Return 1 / (1 + ln n) of the rarest entity, of n passages, that two groups of passages mention, (m, m).

    It is 0 without any of at most HUB passages, and for a group and itself. Cost: the mentions, and HUB^2 per entity.
    """
    holders: dict[int, list[int]] = defaultdict(list)
    for place, numbers in enumerate(chunks):
        for node in set().union(*(entities_of(view, number) for number in numbers)):
            holders[node].append(place)
    by_count: dict[int, list[list[int]]] = defaultdict(list)
    for node, places in holders.items():
        if len(places) > 1 and (count := len(view.entities[node].chunks)) <= HUB:
            by_count[count].append(places)
    found = np.zeros((len(chunks), len(chunks)))
    for count in sorted(by_count, reverse=True):
        found[_together(by_count[count], len(chunks))] = 1 / (1 + math.log(count))
    np.fill_diagonal(found, 0.0)
    return found


def _together(groups: Sequence[Sequence[int]], size: int) -> Mask:
    """Return which two of `size` places are in one of the groups, (size, size)."""
    membership = np.zeros((size, len(groups)), np.float32)
    for column, places in enumerate(groups):
        membership[places, column] = 1.0
    found: Mask = membership @ membership.T > 0
    return found


def mentioned_titles(view: LiveView, chunks: Sequence[Sequence[int]]) -> Mask:
    """Return whether one of two groups of passages mentions the title of the other's document, (m, m), symmetric.

    Cost: the mentions, and the pairs found.
    """
    names = [set().union(*(view.relatedness.names(number) for number in numbers)) for numbers in chunks]
    titled: dict[str, list[int]] = defaultdict(list)
    for place, numbers in enumerate(chunks):
        for title in view.relatedness.titles(numbers[0]) if numbers else ():
            titled[title].append(place)
    found = np.zeros((len(chunks), len(chunks)), bool)
    for place, mentioned in enumerate(names):
        for title in mentioned & titled.keys():
            found[place, titled[title]] = True
    found |= found.T
    np.fill_diagonal(found, False)
    return found


def links(view: LiveView, numbers: Sequence[int], title: float) -> Scores:
    """Return the strength of the structural link of every two passages, (n, n), 0 for two of one document.

    The strength is that of their rarest shared entity, or `title` if one mentions the title of the other's document.
    """
    chunks = [(number,) for number in numbers]
    ids = [view.chunks[number].doc_id for number in numbers]
    place = {doc_id: number for number, doc_id in enumerate(dict.fromkeys(ids))}
    groups = np.array([place[doc_id] for doc_id in ids])
    found = np.maximum(shared_strength(view, chunks), np.where(mentioned_titles(view, chunks), title, 0.0))
    apart: Scores = np.where(groups[:, None] == groups, 0.0, found)
    return apart
