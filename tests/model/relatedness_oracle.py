"""The relatedness model from scratch: every passage and entity of a view, sums over a list of examples.

It shares with the project the hidden layer, the digest of a passage, and the parameters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphtide.graph.relatedness import encode
from graphtide.graph.relatedness.features import FEATURES, SCALE
from graphtide.graph.relatedness.pairs import TOGETHER, passage_key
from graphtide.graph.relatedness.statistics import RIDGE
from graphtide.graph.view import LiveView

Row = list[int]


def slow_features(one: NDArray[np.float32], other: NDArray[np.float32]) -> Row:
    """Return the features of one pair, in Python's integers but for the encoding."""
    a, b = encode(one[np.newaxis]), encode(other[np.newaxis])
    cosine = round(sum(int(x) * int(y) for x, y in zip(a.vectors[0], b.vectors[0], strict=True)) / SCALE)
    units = zip(a.first[0].tolist(), a.second[0].tolist(), b.first[0].tolist(), b.second[0].tolist(), strict=True)
    hidden = [max(a1 + b2, 0) + max(b1 + a2, 0) for a1, a2, b1, b2 in units]
    return [SCALE, cosine, round(cosine * cosine / SCALE), *hidden]


def slow_examples(view: LiveView) -> tuple[list[Row], list[Row]]:
    """Return the features of all related pairs, and of all random pairs."""
    held = {n: chunk for n, chunk in view.chunks.items() if chunk.vector.any()}
    key = {n: passage_key(chunk.doc_id, chunk.text, chunk.vector) for n, chunk in held.items()}
    mentioned = [entity.chunks for entity in view.entities.values() if len(entity.chunks) <= TOGETHER]
    circles = [sorted((n for n in numbers if n in held), key=lambda n: key[n]) for numbers in (set(held), *mentioned)]
    rows = []
    for members in circles:
        pairs = zip(members, [*members[1:], *members[:1]], strict=True) if len(members) > 1 else []
        apart = [(a, b) for a, b in pairs if held[a].doc_id != held[b].doc_id]
        rows.append(
            [slow_features(held[a].vector.astype(np.float32), held[b].vector.astype(np.float32)) for a, b in apart]
        )
    return [row for more in rows[1:] for row in more], rows[0]


def slow_weights(view: LiveView) -> NDArray[np.float64]:
    """Fit the last layer by least squares over the examples, each kind weighing 1, the ridge as further examples."""
    together, chance = (np.array(rows, float).reshape(-1, FEATURES) / SCALE for rows in slow_examples(view))
    if not len(together) or not len(chance):
        only_cosine: NDArray[np.float64] = np.eye(FEATURES)[1]
        return only_cosine
    rows = np.concatenate((together / len(together) ** 0.5, chance / len(chance) ** 0.5, np.eye(FEATURES) * RIDGE**0.5))
    wanted = np.concatenate((np.full(len(together), len(together) ** -0.5), np.zeros(len(chance) + FEATURES)))
    found: NDArray[np.float64] = np.linalg.lstsq(rows, wanted)[0]
    return found
