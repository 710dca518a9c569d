"""Selection of the training pairs of passages.

Passages are placed on a hash ring by a digest of their content, and each makes a pair with the next. All passages that
mention one entity have a ring of their own, for pairs that belong together; and all passages are on one large ring, for
pairs of chance. The large ring replaces a seeded sample, but one passage more or less changes only one place of it.

Invariant: the pairs are a function of the set of passages alone, not of their order of arrival.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from graphtide.graph.records import Vector
from graphtide.graph.vector_store import VectorBytes
from graphtide.graph.vector_sum import vector_of
from graphtide.graph.view_state.overlay import Overlay, Writing

BUCKETS = 1 << 12
SPARSE = 1 << 6
"""Number of buckets with passages below which it is faster to compare them than to walk over the empty ones."""
TOGETHER = 16  # an entity in more passages is weak evidence, and would make each change expensive


@dataclass(frozen=True, slots=True, eq=False)
class PairPassage:
    """A passage as an example: the digest of its content; its document; the bytes of its vector, which are the view's;
    the names that it mentions, and those under which its document's title is mentioned, both sorted.
    """

    key: int
    doc_id: str
    vector_bytes: VectorBytes
    names: tuple[str, ...]
    titles: tuple[str, ...]

    @property
    def vector(self) -> Vector:
        """Return the vector `(d,)`. O(1)."""
        return vector_of(self.vector_bytes)


Names = tuple[str, ...]
Pair = tuple[PairPassage, PairPassage, Names]
"""Two passages, and the sorted names that their features disregard: those of the entity that makes them a pair."""
NO_NAMES: Names = ()


def passage_key(doc_id: str, text: str, vector: Vector, names: Sequence[str]) -> int:
    """Return 64 bits that identify a passage's content, in every process and whatever its time of arrival.

    `names` are the sorted names that it mentions: they are part of its features, and equal texts may mention others.
    """
    digest = blake2b(digest_size=8)
    for part in (doc_id.encode(), text.encode(), vector.astype("<f2").tobytes(), "\0".join(names).encode()):
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return int.from_bytes(digest.digest(), "big")


def circle(passages: Iterable[PairPassage], names: Names = NO_NAMES) -> Iterator[Pair]:
    """Yield each passage and the next on the ring, except for two of one document; `names` are those to disregard."""
    ordered = sorted(passages, key=_key)
    if len(ordered) >= 2:
        pairs = zip(ordered, ordered[1:] + ordered[:1], strict=True)
        yield from cross_document((one, other, names) for one, other in pairs)


def cross_document(pairs: Iterable[Pair]) -> Iterator[Pair]:
    """Yield the pairs of two documents."""
    return (pair for pair in pairs if pair[0].doc_id != pair[1].doc_id)


class HashRing:
    """All passages on a ring by key. Cost of a change: one bucket of BUCKETS, and the empty ones next to it.

    Only buckets with passages occupy memory: most graphs of a process are small.
    """

    def __init__(self) -> None:
        self._buckets: MutableMapping[int, tuple[PairPassage, ...]] = {}
        self._count = 0

    def fork(self, writing: Writing) -> HashRing:
        """Return a ring over this one (view_state/overlay.py)."""
        forked = HashRing()
        forked._buckets, forked._count = Overlay(self._buckets, writing), self._count
        return forked

    def add(self, passage: PairPassage) -> tuple[list[Pair], list[Pair]]:
        """Insert a passage; return the removed pairs and the added pairs."""
        go, come = self._parted(passage)
        number = _bucket(passage.key)
        bucket = self._buckets.get(number, ())
        place = bisect_left(bucket, passage.key, key=_key)
        self._buckets[number] = (*bucket[:place], passage, *bucket[place:])
        self._count += 1
        return go, come

    def remove(self, passage: PairPassage) -> tuple[list[Pair], list[Pair]]:
        """Remove a stored passage; return the removed pairs and the added pairs."""
        number = _bucket(passage.key)
        bucket = tuple(other for other in self._buckets.pop(number) if other is not passage)
        if bucket:
            self._buckets[number] = bucket
        self._count -= 1
        come, go = self._parted(passage)
        return go, come

    def _parted(self, passage: PairPassage) -> tuple[list[Pair], list[Pair]]:
        """Return, for the ring without the passage, the pair that it separates and the two that it makes."""
        if not self._count:
            return [], []
        before, after = self._before(passage.key), self._after(passage.key)
        parted = [(before, after, NO_NAMES)] if before is not after else []
        return list(cross_document(parted)), list(
            cross_document([(before, passage, NO_NAMES), (passage, after, NO_NAMES)])
        )

    def _after(self, key: int) -> PairPassage:
        """Return the first passage from a key on, around the ring."""
        start = _bucket(key)
        bucket = self._buckets.get(start, ())
        place = bisect_left(bucket, key, key=_key)
        return bucket[place] if place < len(bucket) else self._buckets[self._nearest(start, 1)][0]

    def _before(self, key: int) -> PairPassage:
        """Return the last passage before a key, around the ring."""
        start = _bucket(key)
        bucket = self._buckets.get(start, ())
        place = bisect_left(bucket, key, key=_key)
        return bucket[place - 1] if place else self._buckets[self._nearest(start, -1)][-1]

    def _nearest(self, start: int, step: int) -> int:
        """Return the next bucket with passages in a direction, `start` itself as the last one.

        Cost: where n buckets have passages, n steps, or the BUCKETS / n empty ones that lie between if they are fewer.
        """
        if len(self._buckets) < SPARSE:
            return min(self._buckets, key=lambda number: (step * (number - start) - 1) % BUCKETS)
        around = ((start + step * far) % BUCKETS for far in range(1, BUCKETS + 1))
        return next(number for number in around if number in self._buckets)


def _bucket(key: int) -> int:
    return key * BUCKETS >> 64


def _key(passage: PairPassage) -> int:
    return passage.key
