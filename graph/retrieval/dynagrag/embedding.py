"""Vectors and weights of ego-graphs, and the one embedding of each ego-graph.

Pure, on arrays gathered once per question. Invariant: rows are in the order of first use, which is canonical, so that
sums have one order and equal graphs give equal bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.records import Vector
from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph
from graphtide.graph.vector_index import Vectors, unit_rows
from graphtide.graph.view import LiveView

Matrix = NDArray[np.float64]
Scores = NDArray[np.float64]

AVERAGED = 3  # source, target and relation: n of the weighted edge features
DECIMALS = 6  # float32's precision: equal similarities must be equal in every row, so that names decide


@dataclass(frozen=True, slots=True)
class Features:
    """Unit vectors (n, d) and weights (n,) of numbered items; `row` maps each number to its row.

    An item without a vector has a row of zeros and weight 0.
    """

    row: dict[int, int]
    vectors: Vectors
    weights: Scores


@dataclass(frozen=True, slots=True)
class EgoGraphVectors:
    """The entities and the statements of some ego-graphs."""

    entities: Features
    statements: Features


def gather(view: LiveView, egos: Sequence[EgoGraph]) -> EgoGraphVectors:
    """Fetch each vector once. An entity's weight is its mention count, a relation's its statement count."""
    nodes = dict.fromkeys(node for ego in egos for node in ego.nodes)
    numbers = dict.fromkeys(relation.statement for ego in egos for relation in ego.relations)
    entities, statements = (view.entities[node] for node in nodes), (view.statements[number] for number in numbers)
    of_entities = [(entity.vector, entity.mentions) for entity in entities]
    of_statements = [(statement.vector, statement.count) for statement in statements]
    dimensions = view.indexes.entities.dimensions
    return EgoGraphVectors(
        _features(list(nodes), of_entities, dimensions), _features(list(numbers), of_statements, dimensions)
    )


def _features(numbers: list[int], weighted: list[tuple[Vector, int]], dimensions: int) -> Features:
    vectors = np.zeros((len(numbers), dimensions), np.float32)
    weights = np.array([weight if vector.size else 0 for vector, weight in weighted], np.float64)
    there = [vector for vector, _ in weighted if vector.size]
    if there:
        vectors[[bool(vector.size) for vector, _ in weighted]] = unit_rows(np.array(there, np.float32), dimensions)
    return Features({number: place for place, number in enumerate(numbers)}, vectors, weights)


def total_embeddings(egos: Sequence[EgoGraph], gathered: EgoGraphVectors) -> Matrix:
    """Return the total graph embedding of each ego-graph, (egos, d); not of unit length.

    Section 3.2: weighted node features h_i w_i, weighted edge features (h_i + h_k + r_ik) / 3 * w_ik, both summed and
    divided by the total weight. It is linear in the vectors, so each vector is fetched once and has one coefficient, a
    whole number of thirds. Cost O(sum of the ego-graphs' sizes * d).
    """
    found = np.zeros((len(egos), gathered.entities.vectors.shape[1]))
    for at, ego in enumerate(egos):
        places = np.array([gathered.entities.row[node] for node in ego.nodes])
        of_nodes = AVERAGED * gathered.entities.weights[places]
        rows, ends = edge_rows(ego, gathered.statements)
        of_edges = gathered.statements.weights[rows]
        of_nodes += np.bincount(ends.ravel(), np.repeat(of_edges, 2), len(places))
        total = of_nodes.sum() + of_edges.sum()  # three per weight: 3 w_total
        if total:
            summed = of_nodes.astype(np.float32) @ gathered.entities.vectors[places]
            found[at] = (summed + of_edges.astype(np.float32) @ gathered.statements.vectors[rows]) / total
    return found


def edge_rows(ego: EgoGraph, statements: Features) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of an ego-graph's relations (m,), and the positions of their two ends among its nodes (m, 2)."""
    relations = np.array(ego.relations, np.intp).reshape(-1, 3)
    rows = [statements.row[number] for number in relations[:, 0].tolist()]
    return np.array(rows, np.intp), relations[:, 1:]


def cosines(vectors: Matrix | Vectors, question: Scores) -> Scores:
    """Return the cosine of each row (n, d) to a vector (d,), 0 for a row of zeros, rounded so that equals are equal."""
    lengths = np.sqrt(np.einsum("nd,nd->n", vectors, vectors)) * np.sqrt(question @ question)
    products = np.einsum("nd,d->n", vectors, question.astype(vectors.dtype)).astype(np.float64)
    found: Scores = np.round(np.divide(products, lengths, out=np.zeros(len(vectors)), where=lengths > 0), DECIMALS)
    return found
