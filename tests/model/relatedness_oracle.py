"""The relatedness model from scratch: every passage and entity of a view, sums over a list of examples.

It shares with the project the digest of a passage, the unit vectors, the names of a title, and the parameters.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.aboutness import title_keys
from graphtide.graph.relatedness import Weights
from graphtide.graph.relatedness.features import SCALE
from graphtide.graph.relatedness.pairs import TOGETHER, passage_key
from graphtide.graph.relatedness.statistics import MIN_VARIANCE, UNTRAINED
from graphtide.graph.vector_index import unit_rows
from graphtide.graph.view import LiveView


@dataclass(frozen=True, slots=True)
class Example:
    """A pair: its cosine in units of 1 / SCALE, and whether one passage mentions the other's title."""

    cosine: int
    titled: bool


def slow_cosine(one: NDArray[np.float16], other: NDArray[np.float16]) -> int:
    """Return the cosine of one pair, in Python's integers but for the unit vectors."""
    rows = (unit_rows(vector[np.newaxis].astype(np.float32), len(vector))[0].tolist() for vector in (one, other))
    a, b = ([round(value * SCALE) for value in row] for row in rows)
    products: list[int] = [x * y for x, y in zip(a, b, strict=True)]
    return round(sum(products) / SCALE)


def slow_examples(view: LiveView) -> tuple[list[Example], list[Example]]:
    """Return all related pairs, and all random pairs."""
    chunks = {n: chunk for n, chunk in view.chunks.items() if chunk.vector.any()}
    names = {n: {view.labels[mention.label].name for mention in chunk.mentions} for n, chunk in chunks.items()}
    key = {n: passage_key(chunk.doc_id, chunk.text, chunk.vector, sorted(names[n])) for n, chunk in chunks.items()}
    titles = {n: title_keys(view.documents[chunk.doc_id].info.title) for n, chunk in chunks.items()}

    def examples(members: list[int], own: set[str]) -> list[Example]:
        pairs = zip(members, [*members[1:], *members[:1]], strict=True) if len(members) > 1 else []
        return [
            Example(
                slow_cosine(chunks[a].vector, chunks[b].vector),
                bool(((titles[a] & names[b]) | (titles[b] & names[a])) - own),
            )
            for a, b in pairs
            if chunks[a].doc_id != chunks[b].doc_id
        ]

    together = []
    for entity in view.entities.values():
        if len(entity.chunks) <= TOGETHER:
            own = {view.labels[label].name for label in entity.labels if view.labels[label].chunks}
            together += examples(sorted((n for n in entity.chunks if n in chunks), key=lambda n: key[n]), own)
    return together, examples(sorted(chunks, key=lambda n: key[n]), set())


def slow_weights(view: LiveView) -> Weights:
    """Fit naive Bayes to the list of examples, both kinds equally frequent."""
    kinds = slow_examples(view)
    if not all(kinds):
        return UNTRAINED
    cosines = [[example.cosine / SCALE for example in kind] for kind in kinds]
    ours, theirs = map(fmean, cosines)
    spread = fmean(fmean((c - fmean(kind)) ** 2 for c in kind) for kind in cosines)
    variance = max(spread, MIN_VARIANCE)
    shares = [(sum(example.titled for example in kind) + 0.5) / (len(kind) + 1) for kind in kinds]
    return Weights(
        (theirs**2 - ours**2) / (2 * variance),
        (ours - theirs) / variance,
        math.log(shares[0]) - math.log(shares[1]),
        math.log(1 - shares[0]) - math.log(1 - shares[1]),
        (len(kinds[0]), len(kinds[1])),
    )
