"""Features of the entities and relations of an ego-graph for a question.

Pure, on arrays. Invariant: they are a function of the ego-graph and the question alone. No subgraph is scaled by its
own greatest value, so that values of different subgraphs and of different questions are comparable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph
from graphtide.graph.retrieval.dynagrag.embedding import DECIMALS, EgoGraphVectors, Matrix, Scores, cosines, edge_rows
from graphtide.graph.retrieval.scoring.pair_scoring import Positions

ENTITY_FEATURES = 6
RELATION_FEATURES = 4


@dataclass(frozen=True, slots=True)
class EgoFeatures:
    """The features of entities (n, ENTITY_FEATURES) and of relations (m, RELATION_FEATURES)."""

    entities: Matrix
    relations: Matrix


def ego_features(ego: EgoGraph, gathered: EgoGraphVectors, question: Scores) -> EgoFeatures:
    """Return the features of an ego-graph for a question (d,), of any length. Cost O(n^2 + (n + m) d).

    Of an entity: its cosine and that of its best relation, each as it is, averaged over the entity and its neighbours,
    and averaged so twice. Two steps are a graph convolution of two layers (Wu et al. 2019), whose weights are those
    that the discriminant gives. Of a relation: its cosine, and the means of its ends: cosine, best relation, and best
    relation averaged twice.
    """
    own = cosines(gathered.entities.vectors[[gathered.entities.row[node] for node in ego.nodes]], question)
    rows, ends = edge_rows(ego, gathered.statements)
    stated = cosines(gathered.statements.vectors[rows], question)
    best = np.zeros(len(own))
    np.maximum.at(best, ends.ravel(), np.repeat(stated, 2))
    step = averaging(len(own), ends)
    near, related = step @ own, step @ best
    far, around = step @ near, step @ related
    entities = np.stack((own, best, near, far, related, around), axis=1).round(DECIMALS)
    relations = np.stack((stated, *(each[ends].mean(axis=1) for each in (own, best, around))), axis=1).round(DECIMALS)
    return EgoFeatures(entities, relations)


def averaging(count: int, ends: Positions) -> Matrix:
    """Return D^-1 (A + I), (n, n): the mean over an entity and its neighbours, however many relations they have."""
    beside: NDArray[np.float64] = np.eye(count)
    beside[ends[:, 0], ends[:, 1]] = 1
    beside[ends[:, 1], ends[:, 0]] = 1
    found: Matrix = beside / beside.sum(axis=1, keepdims=True)
    return found
