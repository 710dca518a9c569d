"""A generator of growing document streams: each document is a small batch of new edges, about 16 of them.

It imitates these properties of a real corpus: a document has a topic and mostly mentions entities of that topic
(locality); within a topic, and among topics, the early ones are mentioned far more often (skew); a few entities occur
everywhere (hubs, whose degree grows with the stream); every document adds some entities that were never seen before
(growth). Its mentions are linked by a tree and by further random pairs, which close triangles inside and between
documents. It is not a model of any one data set, and it contains no text. Invariant: an edge is yielded once in the
whole stream, no edge is a self-loop, and node ids are dense.
"""

from collections.abc import Iterator
from random import Random

import numpy as np
from numpy.typing import NDArray

DOCUMENTS_PER_TOPIC = 40
HUB_SHARE = 0.1
FRESH_SHARE = 0.4


class _Corpus:
    """State of the stream: entities by topic, and the pairs already linked."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.entities = 0
        self.topics: list[list[int]] = []
        self.linked: set[int] = set()

    def topic(self, documents_so_far: int) -> list[int]:
        """Return a topic's entities, oldest first; early topics are the popular ones."""
        if documents_so_far % DOCUMENTS_PER_TOPIC == 0:
            self.topics.append([])
            return self.topics[-1]
        return self.topics[int(len(self.topics) * self.random.random() ** 2)]

    def mention(self, topic: list[int]) -> int:
        """Draw one entity: a new one, a hub of the whole corpus, or one of the topic."""
        draw = self.random.random()
        if len(topic) < 4 or draw < FRESH_SHARE:
            topic.append(self.entities)
            self.entities += 1
            return topic[-1]
        if draw < FRESH_SHARE + HUB_SHARE:
            return int(self.entities * self.random.random() ** 4)
        return topic[int(len(topic) * self.random.random() ** 2)]

    def link(self, one: int, other: int) -> tuple[int, int] | None:
        """Return the pair if it is new, or None when it is a self-loop or linked already."""
        low, high = min(one, other), max(one, other)
        key = high << 32 | low
        if low == high or key in self.linked:
            return None
        self.linked.add(key)
        return low, high


def documents(seed: int, count: int, *, edges_per_document: int = 16) -> Iterator[NDArray[np.int32]]:
    """Yield `count` documents, each an (n, 2) int32 array of edges (u < v) not yielded before.

    n is between half and one and a half of `edges_per_document`, less where the pairs run out; never 0.
    `edges_per_document` is at least 8. The same seed gives the same stream, and a longer stream begins with the shorter
    one. Cost: about 40 microseconds per document; it holds one int for each edge yielded.
    """
    corpus = _Corpus(seed)
    for number in range(count):
        yield _document(corpus, number, edges_per_document)


def _document(corpus: _Corpus, number: int, edges_per_document: int) -> NDArray[np.int32]:
    wanted = corpus.random.randint(edges_per_document // 2, edges_per_document * 3 // 2)
    topic = corpus.topic(number)
    mentions = [corpus.mention(topic) for _ in range(max(3, wanted * 9 // 16))]
    # At least one new entity, so that no document is empty.
    topic.append(corpus.entities)
    mentions.append(corpus.entities)
    corpus.entities += 1
    pick = corpus.random.choice
    tree = [corpus.link(mention, pick(mentions[:place])) for place, mention in enumerate(mentions) if place]
    further = [corpus.link(pick(mentions), pick(mentions)) for _ in range(2 * wanted)]
    edges = [pair for pair in (*tree, *further) if pair is not None]
    kept, dropped = edges[:wanted], edges[wanted:]
    corpus.linked.difference_update(high << 32 | low for low, high in dropped)
    return np.array(kept, dtype=np.int32)
