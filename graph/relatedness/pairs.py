"""Which pairs of passages are examples.

Passages stand in a circle by a digest of what they are, and each makes a pair with the next: all that mention one
entity in a circle of their own, for pairs that belong together; and all there are in one large circle, for pairs of
chance, which is what a sample with a seed would be, but that one passage more or less changes one place of it.

Invariant: the pairs are a function of the set of passages, and of nothing that depends on their arrival.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b

from graphtide.graph.records import Vector
from graphtide.graph.relatedness.features import Encoded

BUCKETS = 1 << 12
TOGETHER = 16  # an entity of more passages says little of what belongs together, and would make each change dear


@dataclass(frozen=True, slots=True, eq=False)
class PairPassage:
    """A passage as an example: the digest of its document, text and vector; its document; its encoded vector."""

    key: int
    doc_id: str
    row: Encoded


Pair = tuple[PairPassage, PairPassage]


def passage_key(doc_id: str, text: str, vector: Vector) -> int:
    """64 bits that identify what a passage is, in every process and whenever it came."""
    digest = blake2b(digest_size=8)
    for part in (doc_id.encode(), text.encode(), vector.astype("<f2").tobytes()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return int.from_bytes(digest.digest(), "big")


def circle(passages: Iterable[PairPassage]) -> Iterator[Pair]:
    """Each passage and the next in the circle, but for two of one document."""
    ordered = sorted(passages, key=_key)
    if len(ordered) >= 2:
        yield from cross_document(zip(ordered, ordered[1:] + ordered[:1], strict=True))


def cross_document(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Those of two documents."""
    return (pair for pair in pairs if pair[0].doc_id != pair[1].doc_id)


class HashRing:
    """All passages in a circle by key. Cost of a change: a bucket of one in BUCKETS, and the empty ones beside it."""

    def __init__(self) -> None:
        self._buckets: list[list[PairPassage]] = [[] for _ in range(BUCKETS)]
        self._count = 0

    def add(self, passage: PairPassage) -> tuple[list[Pair], list[Pair]]:
        """Put a passage in; returns the pairs that go by it, and those that come."""
        go, come = self._parted(passage)
        bucket = self._buckets[_bucket(passage.key)]
        bucket.insert(bisect_left(bucket, passage.key, key=_key), passage)
        self._count += 1
        return go, come

    def remove(self, passage: PairPassage) -> tuple[list[Pair], list[Pair]]:
        """Take a passage out that is in; returns the pairs that go with it, and those that come."""
        bucket = self._buckets[_bucket(passage.key)]
        place = bisect_left(bucket, passage.key, key=_key)
        while bucket[place] is not passage:
            place += 1
        del bucket[place]
        self._count -= 1
        come, go = self._parted(passage)
        return go, come

    def _parted(self, passage: PairPassage) -> tuple[list[Pair], list[Pair]]:
        """Of the circle without the passage: the pair that it parts, and the two that it makes."""
        if not self._count:
            return [], []
        before, after = self._before(passage.key), self._after(passage.key)
        parted = [(before, after)] if before is not after else []
        return list(cross_document(parted)), list(cross_document([(before, passage), (passage, after)]))

    def _after(self, key: int) -> PairPassage:
        """The first from a key on, round the circle."""
        start = _bucket(key)
        place = bisect_left(self._buckets[start], key, key=_key)
        if place < len(self._buckets[start]):
            return self._buckets[start][place]
        return next(bucket for bucket in self._round(start, 1) if bucket)[0]

    def _before(self, key: int) -> PairPassage:
        """The last before a key, round the circle."""
        start = _bucket(key)
        place = bisect_left(self._buckets[start], key, key=_key)
        if place:
            return self._buckets[start][place - 1]
        return next(bucket for bucket in self._round(start, -1) if bucket)[-1]

    def _round(self, start: int, step: int) -> Iterator[list[PairPassage]]:
        """The other buckets, and at last the first again."""
        return (self._buckets[(start + step * far) % BUCKETS] for far in range(1, BUCKETS + 1))


def _bucket(key: int) -> int:
    return key * BUCKETS >> 64


def _key(passage: PairPassage) -> int:
    return passage.key
