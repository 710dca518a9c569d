"""Settings of mode `nakg`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nakg:
    """Parameters; those of the paper are eps, min_samples, layers, temperature and the three shares.

    `documents` bounds the graph of a question, `passages` the passages averaged into a document's vector.

    `relevance_layers` pass relevance along structural links, `layers` pass vectors along attention (equation 2): the
    defaults are those of the best recall, since the paper's three layers of vectors lower it (docs/retrieval.md).
    """

    eps: float = 0.5
    min_samples: int = 5
    layers: int = 0
    relevance_layers: int = 1
    relevance_share: float = 0.5
    title_link: float = 0.6
    temperature: float = 8.0
    words: float = 0.4
    order: float = 0.3
    meaning: float = 0.3
    decay: float = 0.98
    documents: int = 128
    passages: int = 64
    connections: int = 10
    least: int = 2
    share: float = 0.3
    threshold: float = 0.5

    def kept(self, count: int) -> int:
        """Return how many connections each of `count` documents keeps: max(2, 0.3 N), at most `connections`."""
        return min(max(self.least, int(self.share * count)), self.connections)
