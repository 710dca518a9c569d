"""What mode `nakg` can be told."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Nakg:
    """Parameters; those of the paper are eps, min_samples, layers, temperature and the three shares.

    `documents` bounds the graph of a question, `passages` what a document's vector is the mean of.
    """

    eps: float = 0.5
    min_samples: int = 5
    layers: int = 3
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
        """How many connections each of `count` documents keeps: max(2, 0.3 N), but no more than `connections`."""
        return min(max(self.least, int(self.share * count)), self.connections)
