"""Settings of mode `nakg`."""

from __future__ import annotations

from dataclasses import dataclass

from graphtide.graph.retrieval.options.fields import option


@dataclass(frozen=True, slots=True)
class Nakg:
    """Parameters; those of the paper are eps, min_samples, layers, temperature and the three shares.

    `documents` bounds the graph of a question, `passages` the passages averaged into a document's vector.

    `relevance_layers` pass relevance along structural links, `layers` pass vectors along attention (equation 2): the
    defaults are those of the best recall, since the paper's three layers of vectors lower it (docs/retrieval.md).
    """

    eps: float = option(0.5, "distance of neighbours in DBSCAN, as 1 - cosine", 0.01, 2)
    min_samples: int = option(5, "neighbours of a core document in DBSCAN", 1, 50)
    layers: int = option(0, "layers that pass vectors along attention (equation 2)", 0, 5)
    relevance_layers: int = option(1, "layers that pass relevance along structural links", 0, 5)
    relevance_share: float = option(0.5, "share of its relevance that a passage passes on", 0, 1)
    title_link: float = option(0.6, "strength of a link by a title", 0, 1)
    temperature: float = option(8.0, "factor that separates the scores", 0.1, 100)
    words: float = option(0.4, "weight of the question's words", 0, 1)
    order: float = option(0.3, "weight of the order of the words", 0, 1)
    meaning: float = option(0.3, "weight of similarity", 0, 1)
    decay: float = option(0.98, "factor of a score for each rank", 0.5, 1)
    documents: int = option(128, "documents of the question's graph", 2, 512)
    passages: int = 64
    connections: int = option(10, "links that a document keeps", 1, 50, "degree")
    min_links: int = 2
    share: float = 0.3
    threshold: float = option(0.5, "weight of a link beyond a document's two best", 0, 1)

    def kept(self, count: int) -> int:
        """Return how many connections each of `count` documents keeps: max(2, 0.3 N), at most `connections`."""
        return min(max(self.min_links, int(self.share * count)), self.connections)
