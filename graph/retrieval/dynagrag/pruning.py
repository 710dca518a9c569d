"""Soft mask: the weight of each entity and relation of a chosen subgraph for the question (section 3.3).

Nothing is removed. The paper passes distances through a perceptron and vectors through a graph convolution; it states
no training. There are two masks. The learned one (`learning/`) is the probability that the question is about an item,
by weights that fit pseudo-questions of the live graph; it is comparable across subgraphs. The fixed one is used where
the graph has too few of them, and for comparison:

- MLP with sigmoid: one unit on the distance, standardised over all items scored together, so that it holds for any
  embedder: relevance = sigmoid((mean - distance) / deviation).
- GCN: two layers of the normalised adjacency without weights and activation between (Wu et al. 2019, simple graph
  convolution, for which a trained matrix is the last step only): it lacks a learned choice of directions.
- "Combine structural significance and semantic alignment" (no formula): prominence = relevance * (1 + structure) / 2,
  structure = ln(1 + weight) / ln(1 + greatest weight): structure can double the prominence of a relevant item, and
  cannot make an irrelevant one prominent.

Pure, on arrays. Invariant: masks are in (0, 1], and the greatest entity's fixed mask of a subgraph is 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphtide.graph.retrieval.dynagrag.egographs import EgoGraph
from graphtide.graph.retrieval.dynagrag.embedding import DECIMALS, EgoGraphVectors, Matrix, Scores, cosines, edge_rows
from graphtide.graph.retrieval.dynagrag.learning import MaskWeights
from graphtide.graph.retrieval.dynagrag.learning.features import ego_features
from graphtide.graph.retrieval.scoring.pair_scoring import Positions

LAYERS = 2


@dataclass(frozen=True, slots=True)
class Pruned:
    """A pruned ego-graph: masks of its nodes (n,) and relations (m,), and the refined nodes' cosines (n,)."""

    ego: EgoGraph
    nodes: Scores
    relations: Scores
    similarity: Scores


@dataclass(frozen=True, slots=True)
class Prominence:
    """The prominence of every gathered entity and statement, by row."""

    entities: Scores
    statements: Scores


def prominence(gathered: EgoGraphVectors, rows: tuple[list[int], list[int]], question: Scores) -> Prominence:
    """Return the prominence of the entities and statements in `rows`; others are not scored and have 0."""
    unit = question / np.sqrt(question @ question)
    both = (gathered.entities, gathered.statements)
    distances = [np.sqrt(np.maximum(2 - 2 * cosines(f.vectors[r], unit), 0.0)) for f, r in zip(both, rows, strict=True)]
    together = np.concatenate(distances)
    mean, deviation = np.sort(together).mean(), np.sort(together).std()
    found = []
    for features, chosen, distance in zip(both, rows, distances, strict=True):
        relevance = 1 / (1 + np.exp((distance - mean) / (deviation or 1.0)))
        whole = np.zeros(len(features.row))
        whole[chosen] = relevance * (1 + structure(features.weights[chosen])) / 2
        found.append(whole)
    return Prominence(found[0], found[1])


def structure(weights: Scores) -> Scores:
    """Return weights on a logarithmic scale, 1 for the greatest."""
    scale: Scores = np.log1p(weights) / max(float(np.log1p(weights.max(initial=0.0))), 1e-12)
    return scale


def prune(ego: EgoGraph, gathered: EgoGraphVectors, judged: Prominence, question: Scores) -> Pruned:
    """Pass prominence and vectors along the relations, and scale both to masks. Cost O(n^2 (n + d)), n bounded."""
    places = [gathered.entities.row[node] for node in ego.nodes]
    rows, ends = edge_rows(ego, gathered.statements)
    passing = propagation(len(places), ends, judged.statements[rows])
    refined = passing @ gathered.entities.vectors[places]
    reached = passing @ judged.entities[places]
    nodes = np.round(reached / reached.max(), DECIMALS)
    relations = (judged.statements[rows] + nodes[ends].mean(axis=1)) / 2 if len(rows) else np.zeros(0)
    return Pruned(ego, nodes, relations, cosines(refined, question))


def prune_by(learned: MaskWeights, ego: EgoGraph, gathered: EgoGraphVectors, question: Scores) -> Pruned:
    """Return the subgraph with learned masks. Vectors are passed along the relations by these. Cost as `prune`'s."""
    found = ego_features(ego, gathered, question)
    nodes = learned.entities.probabilities(found.entities).round(DECIMALS)
    relations = learned.relations.probabilities(found.relations)
    _, ends = edge_rows(ego, gathered.statements)
    vectors = gathered.entities.vectors[[gathered.entities.row[node] for node in ego.nodes]]
    refined = propagation(len(ego.nodes), ends, relations) @ vectors
    return Pruned(ego, np.maximum(nodes, 10.0**-DECIMALS), relations, cosines(refined, question))


def untouched(ego: EgoGraph, gathered: EgoGraphVectors, question: Scores) -> Pruned:
    """Return the unpruned subgraph, the baseline of pruning."""
    vectors = gathered.entities.vectors[[gathered.entities.row[node] for node in ego.nodes]]
    return Pruned(ego, np.ones(len(ego.nodes)), np.ones(len(ego.relations)), cosines(vectors, question))


def propagation(count: int, ends: Positions, weights: Scores) -> Matrix:
    """Return LAYERS steps of D^-1/2 (A + I) D^-1/2 (Kipf & Welling 2017, equation 2), (n, n); A sums relations'
    weights.
    """
    adjacency = np.eye(count)
    if len(ends):
        np.add.at(adjacency, (ends[:, 0], ends[:, 1]), weights)
        np.add.at(adjacency, (ends[:, 1], ends[:, 0]), weights)
    degree = 1 / np.sqrt(adjacency.sum(axis=1))
    step = adjacency * degree[:, None] * degree[None, :]
    passed: Matrix = np.linalg.matrix_power(step, LAYERS)
    return passed
