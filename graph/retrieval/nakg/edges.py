"""Edges of a graph of documents: the pairs, their weights, and a document's attention to each.

Invariant: a function of the documents, the learned weights and the parameters; ties are broken by document id.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.relatedness import Weights
from graphtide.graph.retrieval.nakg.clustering import NOISE, dbscan
from graphtide.graph.retrieval.nakg.documents import Documents, Mask
from graphtide.graph.retrieval.nakg.settings import Nakg
from graphtide.graph.retrieval.scoring.pair_scoring import Scores

DECIMALS = 6


@dataclass(frozen=True, slots=True)
class DocumentGraph:
    """The graph of a question's documents: documents, clusters, edge weights and attention.

    `weights` holds e_ij of equation 1 (0 for a pair that was not scored), in both directions; `attention` holds the
    attention each row pays to the others, summing to 1, or to 0 for a document without an edge.
    """

    documents: Documents
    clusters: NDArray[np.intp]
    weights: Scores
    attention: Scores


def connect(documents: Documents, learned: Weights, settings: Nakg) -> DocumentGraph:
    """Return the graph of a question's documents. Cost O(m^2 d)."""
    cosine: Scores = (documents.vectors @ documents.vectors.T).astype(np.float64).round(DECIMALS)
    clusters = dbscan(documents.vectors, settings.eps, settings.min_samples)
    pairs = candidate_pairs(cosine, clusters, documents, settings)
    weights = np.where(pairs, edge_weights(cosine, documents.titled, learned), 0.0)
    # A document attends to those likely related and to those that share a rare entity; see `attention`.
    worth = np.round(weights + np.where(weights > 0, documents.shared, 0.0), DECIMALS)
    return DocumentGraph(documents, clusters, weights, attention(worth, settings))


def candidate_pairs(cosine: Scores, clusters: NDArray[np.intp], documents: Documents, settings: Nakg) -> Mask:
    """Return pairs (m, m) of one cluster, with a shared entity or a mentioned title, or with one among the other's
    `min_links` nearest.
    """
    together = (clusters[:, None] == clusters) & (clusters[:, None] != NOISE)
    others = cosine.copy()
    np.fill_diagonal(others, -np.inf)
    pairs: Mask = together | (documents.shared > 0) | documents.titled | _best(others, settings.min_links)
    np.fill_diagonal(pairs, False)
    return pairs | pairs.T


def edge_weights(cosine: Scores, titled: Mask, learned: Weights) -> Scores:
    """Return e_ij of pairs by their cosine and whether one mentions the other's title; the same shape."""
    return np.round(learned.edges(cosine, titled), DECIMALS)


def attention(worth: Scores, settings: Nakg) -> Scores:
    """Return alpha_ij of equation 2, (m, m): shares of `worth` among the edges a document keeps.

    It keeps the best `settings.kept` of at least `threshold`, and always the best `min_links`; an edge that either end
    keeps is kept. Deviation: in the paper attention is trained end to end on questions; this project trains on none, so
    attention is the learned weight (e_ij) plus the strength of the shared entities.
    """
    kept = (_best(worth, settings.kept(len(worth))) & (worth >= settings.threshold)) | _best(worth, settings.min_links)
    edges = np.where((kept | kept.T) & (worth > 0), worth, 0.0)
    total = edges.sum(axis=1, keepdims=True)
    shares: Scores = edges / np.where(total > 0, total, 1.0)
    return shares


def _best(values: Scores, count: int) -> Mask:
    """Return the `count` greatest of each row, equal ones in column order."""
    chosen = np.zeros(values.shape, dtype=bool)
    order = np.argsort(-values, axis=1, kind="stable")[:, :count]
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen
