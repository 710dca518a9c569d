"""Sample of the live passages: those of least digest of their id.

Invariant: the sample is a function of the set of live passages alone, whatever their order of arrival. One passage more
or less changes at most one of its members.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b

from graphtide.graph.view_state.tables import ViewChunk

Key = bytes


class PassageSample:
    """The `size` passages of least digest. Memory: at most four times as many digests, whatever the graph's size."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._keys: dict[int, Key] | None = None
        self._limit: Key | None = None
        """Every live passage of at most this digest is in `_keys`; every one, if it is None."""

    def follow(self, gone: Iterable[int], changed: Iterable[tuple[int, str]]) -> None:
        """Note removed passages, and new or renumbered ones with their ids."""
        if self._keys is None:
            return
        for number in gone:
            self._keys.pop(number, None)
        for number, chunk_id in changed:
            self._keys.pop(number, None)
            key = _key(chunk_id)
            if self._limit is None or key <= self._limit:
                self._keys[number] = key
        if len(self._keys) > 4 * self._size:
            self._keep(self._keys.items())

    def members(self, chunks: Mapping[int, ViewChunk]) -> list[int]:
        """Return the sample, by digest. Cost: its size; all passages at first and once most of them were removed."""
        if self._keys is None or (self._limit is not None and len(self._keys) < self._size):
            self._keep((number, _key(chunk.chunk_id)) for number, chunk in chunks.items())
        return [number for number, _ in self._ordered()][: self._size]

    def _keep(self, keys: Iterable[tuple[int, Key]]) -> None:
        """Keep twice the sample, or all passages where there are no more."""
        self._keys = dict(keys)
        ordered = list(self._ordered())
        self._keys = dict(ordered[: 2 * self._size])
        self._limit = ordered[len(self._keys) - 1][1] if len(ordered) > len(self._keys) else None

    def _ordered(self) -> Iterator[tuple[int, Key]]:
        yield from sorted((self._keys or {}).items(), key=_by_key)


def _key(chunk_id: str) -> Key:
    return blake2b(chunk_id.encode(), digest_size=16).digest()


def _by_key(pair: tuple[int, Key]) -> Key:
    return pair[1]
