"""Caching Embedder: it passes on only texts without a stored vector, so each text is embedded once for all callers.

Only vectors are stored, keyed by the graph and SHA-256 of model name and text, so a change of graph, model or text
misses. Invariants: a vector read back has the same bits as when it was computed; concurrent requests for a text, in one
call or in several, cost one; a failed call leaves nothing behind.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from hashlib import sha256
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphtide.infra.models.cache.keys import KEY_BYTES, scoped
from graphtide.streams.model_ports import Embedder


class VectorStore(Protocol):
    """Storage of bytes by key. It may drop entries; it must not alter them. Both calls may be made concurrently."""

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        """Return the values of known ``keys`` (distinct, 48 bytes each, see ``memo_keys``); unknown keys are
        left out.
        """
        ...

    async def put_many(self, items: Mapping[bytes, bytes]) -> None:
        """Store ``items``; storing the same again changes nothing."""
        ...

    async def purge(self, scope: bytes, keep: Collection[bytes] = ()) -> int:
        """Delete the entries whose key begins with ``scope``, except ``keep``; return how many were deleted.

        Entries whose key names no graph (other than 48 bytes: written before keys named one) are deleted, too.
        """
        ...


class MemoryVectorStore:
    """The reference VectorStore: the ``capacity`` most recently used vectors, in this process."""

    def __init__(self, capacity: int = 100_000) -> None:
        self._capacity = capacity
        self._vectors: OrderedDict[bytes, bytes] = OrderedDict()

    def keys(self) -> tuple[bytes, ...]:
        """Return the keys, least recently used first."""
        return tuple(self._vectors)

    async def get_many(self, keys: Sequence[bytes]) -> Mapping[bytes, bytes]:
        found = {key: self._vectors[key] for key in keys if key in self._vectors}
        for key in found:
            self._vectors.move_to_end(key)
        return found

    async def put_many(self, items: Mapping[bytes, bytes]) -> None:
        for key, value in items.items():
            self._vectors[key] = value
            self._vectors.move_to_end(key)
        while len(self._vectors) > self._capacity:
            self._vectors.popitem(last=False)

    async def purge(self, scope: bytes, keep: Collection[bytes] = ()) -> int:
        kept = frozenset(keep)
        doomed = [key for key in self._vectors if len(key) != KEY_BYTES or (key.startswith(scope) and key not in kept)]
        for key in doomed:
            del self._vectors[key]
        return len(doomed)


class MemoisedEmbedder:
    """``embedder`` with ``store`` as its cache (see the module)."""

    def __init__(self, embedder: Embedder, store: VectorStore) -> None:
        self._embedder = embedder
        self._store = store
        self._in_flight: dict[bytes, asyncio.Task[Mapping[bytes, bytes]]] = {}

    @property
    def name(self) -> str:
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    async def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder.embed`. A cancelled caller does not cancel the vectors that other callers wait for."""
        keys = [self.key(text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        if not wanted:
            return np.empty((0, self.dimensions), np.float32)
        tasks = {self._in_flight[key] for key in wanted if key in self._in_flight}
        alone = {key: text for key, text in wanted.items() if key not in self._in_flight}
        if alone:  # nothing was awaited since the check for calls in flight, so no other task can have started these
            tasks.add(self._start(alone))
        vectors: dict[bytes, bytes] = {}
        for part in await asyncio.gather(*map(asyncio.shield, tasks)):
            vectors.update(part)
        return np.stack([np.frombuffer(vectors[key], "<f4") for key in keys]).astype(np.float32, copy=False)

    def key(self, text: str) -> bytes:
        """Return the key of a text's vector in the payer's graph."""
        name = self.name.encode()
        return scoped(sha256(len(name).to_bytes(4, "big") + name + text.encode("utf-8", "surrogatepass")).digest())

    async def _known(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the store's values, without those that cannot be a vector of this model."""
        found = await self._store.get_many(keys)
        size = 4 * self.dimensions or len(next(iter(found.values()), b""))
        return {key: value for key, value in found.items() if value and len(value) == size and size % 4 == 0}

    def _start(self, texts: dict[bytes, str]) -> asyncio.Task[Mapping[bytes, bytes]]:
        task = asyncio.get_running_loop().create_task(self._look_up(texts))
        for key in texts:
            self._in_flight[key] = task
        task.add_done_callback(lambda done: self._finish(done, list(texts)))
        return task

    async def _look_up(self, texts: dict[bytes, str]) -> Mapping[bytes, bytes]:
        """Return stored vectors, and get the rest from the model and store them."""
        cached = await self._known(list(texts))
        missing = {key: text for key, text in texts.items() if key not in cached}
        if not missing:
            return cached
        vectors = await self._embedder.embed(list(missing.values()))
        computed = {key: row.astype("<f4").tobytes() for key, row in zip(missing, vectors, strict=True)}
        await self._store.put_many(computed)
        size = 4 * vectors.shape[1]
        if any(len(value) != size for value in cached.values()):  # another model once had this name: request all again
            return await self._replace(texts)
        return cached | computed

    async def _replace(self, texts: dict[bytes, str]) -> Mapping[bytes, bytes]:
        vectors = await self._embedder.embed(list(texts.values()))
        computed = {key: row.astype("<f4").tobytes() for key, row in zip(texts, vectors, strict=True)}
        await self._store.put_many(computed)
        return computed

    def _finish(self, task: asyncio.Task[Mapping[bytes, bytes]], keys: list[bytes]) -> None:
        for key in keys:
            if self._in_flight.get(key) is task:
                del self._in_flight[key]
        if not task.cancelled():
            task.exception()  # retrieved, or asyncio reports it as unhandled if no caller is left

    async def close(self) -> None:
        """Cancel running lookups. Their callers get ``CancelledError``."""
        tasks = set(self._in_flight.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
