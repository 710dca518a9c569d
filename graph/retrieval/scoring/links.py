"""Links between passages by an entity that they share, and how specific a link is.

Invariant: strengths are functions of counts alone, so they do not depend on the order in which the graph was built.
"""

from __future__ import annotations

import math

from graphtide.graph.retrieval.filters import ChunkPredicate
from graphtide.graph.view import LiveView

HUB = 20  # a thing in more passages is an unspecific link, and would make every question expensive

SPECIFICITY = (0.0, *(1 / (1 + math.log(passages)) for passages in range(1, HUB + 1)))


def specificity(passages: int) -> float:
    """Return 1 / (1 + ln n) for a thing in n passages: 1 for a single one, and 0 for more than HUB."""
    return SPECIFICITY[passages] if passages <= HUB else 0.0


def linked_passages(view: LiveView, number: int, admits: ChunkPredicate | None) -> dict[int, float]:
    """Return the passages that share an entity with this one, and the strength of the link.

    An entity of n passages has strength 1 / (1 + ln n), 0.59 when it is in these two alone, and none with more than
    HUB. Of several entities the strongest counts.
    """
    reached: dict[int, float] = {}
    for node in entities_of(view, number):
        chunks = view.entities[node].chunks
        strength = specificity(len(chunks))  # an entity of this passage alone leads nowhere
        for chunk in chunks if strength else ():
            if chunk != number and reached.get(chunk, 0.0) < strength and (admits is None or admits(chunk)):
                reached[chunk] = strength
    return reached


def bridge_strength(view: LiveView, node: int) -> float:
    """Return how strongly an entity links its passages; 0 for an unspecific one."""
    passages = len(view.entities[node].chunks)
    return specificity(passages) if passages >= 2 else 0.0


def entities_of(view: LiveView, chunk: int) -> set[int]:
    """Return the entities a passage mentions."""
    return {view.labels[label].node for label in view.chunks[chunk].mentions.labels}
