"""The edges of a graph of documents: which pairs, how strongly, and what attention a document pays to each.

Invariant: a function of the documents, the learned weights and the parameters; equals are taken by document id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.relatedness import Weights, encode
from graphtide.graph.retrieval.nakg.clustering import NOISE, dbscan
from graphtide.graph.retrieval.nakg.documents import Documents
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.scoring.pair_scoring import Scores
from graphtide.graph.vector_index import Vectors

DECIMALS = 6

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """Documents, the cluster of each, edge weights e_ij of equation 1 (0 where no pair was looked at), both ways, and
    the attention each row pays to the others, summing to 1, or to 0 for a document without an edge.
    """

    documents: Documents
    clusters: NDArray[np.intp]
    weights: Scores
    attention: Scores


def connect(documents: Documents, learned: Weights, told: Nakg) -> DocumentGraph:
    """The graph of a question's documents. Cost O(m^2 d), and a hidden layer a pair that is looked at."""
    cosine: Scores = (documents.vectors @ documents.vectors.T).astype(np.float64).round(DECIMALS)
    clusters = dbscan(documents.vectors, told.eps, told.min_samples)
    weights = edge_weights(documents.vectors, candidate_pairs(cosine, clusters, documents.shared, told), learned)
    # A document attends to what is likely related and to what it shares something rare with; see `attention`.
    worth = np.round(weights + np.where(weights > 0, documents.shared, 0.0), DECIMALS)
    return DocumentGraph(documents, clusters, weights, attention(worth, told))


def candidate_pairs(cosine: Scores, clusters: NDArray[np.intp], shared: Scores, told: Nakg) -> Mask:
    """Pairs (m, m) of one cluster, with an entity in common, or of which one is among the other's `least` nearest."""
    together = (clusters[:, None] == clusters) & (clusters[:, None] != NOISE)
    others = cosine.copy()
    np.fill_diagonal(others, -np.inf)
    pairs: Mask = together | (shared > 0) | _best(others, told.least)
    np.fill_diagonal(pairs, False)
    return pairs | pairs.T


def edge_weights(vectors: Vectors, pairs: Mask, learned: Weights) -> Scores:
    """e_ij of the pairs (m, m), symmetric, 0 elsewhere."""
    found = np.zeros(pairs.shape)
    one, other = np.nonzero(np.triu(pairs))
    if len(one):
        rows = encode(vectors)
        found[one, other] = learned.edges(rows[one], rows[other])
    return found + found.T


def attention(worth: Scores, told: Nakg) -> Scores:
    """alpha_ij of equation 2, (m, m): shares of `worth` among the edges a document keeps.

    It keeps the best `told.kept` of at least `threshold`, and at any rate the best `least`; an edge that either end
    keeps is kept. Deviation: in the paper attention is trained end to end on questions; this project trains on none,
    so it is what was learned (e_ij) plus the strength of what two documents share.
    """
    kept = (_best(worth, told.kept(len(worth))) & (worth >= told.threshold)) | _best(worth, told.least)
    edges = np.where((kept | kept.T) & (worth > 0), worth, 0.0)
    total = edges.sum(axis=1, keepdims=True)
    shares: Scores = edges / np.where(total > 0, total, 1.0)
    return shares


def _best(values: Scores, count: int) -> Mask:
    """The `count` greatest of each row, equal ones in the order they stand."""
    chosen = np.zeros(values.shape, dtype=bool)
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen
