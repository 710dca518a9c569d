"""Caching Extractor: it passes on only passages without a stored result, so a graph pays for a passage once, in any
document.

Keyed by the graph and SHA-256 of the extractor's name (its model, prompt and schema), the title and the text, so a
change of any of them misses. Invariants: a result read back equals the stored one; concurrent requests for a passage
cost one call; a finished call is stored before any caller sees its result; a failed one leaves nothing behind.
Cancelling a caller does not end the call, which is paid for: only ``close`` does.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import astuple
from hashlib import sha256

from graphtide.infra.models.cache.embeddings import VectorStore
from graphtide.infra.models.cache.keys import scoped
from graphtide.infra.models.replies.json_replies import parsed
from graphtide.infra.models.usage.counters import Tally
from graphtide.streams.model_ports import ExtractedEntity, ExtractedRelation, ExtractionResult, Extractor

_FORMAT = b"found-1"


class MemoisedExtractor:
    """``extractor`` with ``store`` as its cache (see the module)."""

    def __init__(self, extractor: Extractor, store: VectorStore, tally: Tally | None = None) -> None:
        self._extractor = extractor
        self._store = store
        self._tally = tally or Tally()
        self._in_flight: dict[bytes, asyncio.Task[ExtractionResult]] = {}

    @property
    def name(self) -> str:
        return self._extractor.name

    async def extract(self, text: str, *, title: str) -> ExtractionResult:
        """See ``graphtide.streams.model_ports.Extractor``."""
        key = self.key(title, text)
        task = self._in_flight.get(key)
        if task is None:  # nothing was awaited since the check, so no other task can have started it
            task = asyncio.get_running_loop().create_task(self._look_up(key, text, title))
            self._in_flight[key] = task
            task.add_done_callback(lambda done: self._finish(key, done))
        return await asyncio.shield(task)

    async def remembers(self, text: str, *, title: str) -> bool:
        """Return whether `extract` would need no call."""
        key = self.key(title, text)
        return key in await self._store.get_many([key])

    def key(self, title: str, text: str) -> bytes:
        """Return the key of a passage's extraction in the payer's graph."""
        digest = sha256(_FORMAT)
        for part in (self.name, title, text):
            encoded = part.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "big") + encoded)
        return scoped(digest.digest())

    async def _look_up(self, key: bytes, text: str, title: str) -> ExtractionResult:
        cached = (await self._store.get_many([key])).get(key)
        known = None if cached is None else _decoded(cached)
        if known is not None:
            self._tally.remembered()
            return known
        found = await self._extractor.extract(text, title=title)
        await self._store.put_many({key: _encoded(found)})
        return found

    def _finish(self, key: bytes, task: asyncio.Task[ExtractionResult]) -> None:
        self._in_flight.pop(key, None)
        if not task.cancelled():
            task.exception()  # retrieved, or asyncio reports it as unhandled if no caller is left

    async def close(self) -> None:
        """Cancel running calls. Their callers get ``CancelledError``."""
        tasks = set(self._in_flight.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _encoded(found: ExtractionResult) -> bytes:
    rows = [[astuple(entity) for entity in found.entities], [astuple(relation) for relation in found.relations]]
    rows.append([(found.title, found.description)])
    return json.dumps(rows, ensure_ascii=True, separators=(",", ":")).encode()


def _decoded(value: bytes) -> ExtractionResult | None:
    """Return the decoded value; None for bytes that this version did not write."""
    try:
        entities, relations, *headings = parsed(value)
        stated = tuple(ExtractedEntity(*row) for row in entities), tuple(ExtractedRelation(*row) for row in relations)
        return ExtractionResult(*stated, *(headings[0][0] if headings else ()))
    except (ValueError, TypeError, RecursionError):
        return None
