"""Caching Summarizer: it passes on only descriptions without a stored summary, so the same descriptions are paid for
once.

Keyed by the graph and SHA-256 of the summarizer's name (its model and prompt) and all that it would be shown; not by
the chunks, so that an entity whose descriptions reappear in another document costs nothing. Invariants: a summary read
back equals the stored one; a failed call leaves nothing behind.
"""

from __future__ import annotations

import json
from dataclasses import astuple
from hashlib import sha256

from graphtide.graph.entity_descriptions import DescribedSentence, EntityProfile
from graphtide.infra.models.cache.embeddings import VectorStore
from graphtide.infra.models.cache.keys import scoped
from graphtide.infra.models.replies.json_replies import parsed
from graphtide.streams.summarize.summary_writer import Summarizer

_FORMAT = "summary-1"


class MemoisedSummarizer:
    """`summarizer` with `store` as its cache (see the module)."""

    def __init__(self, summarizer: Summarizer, store: VectorStore) -> None:
        self._summarizer = summarizer
        self._store = store

    @property
    def name(self) -> str:
        return self._summarizer.name

    async def summarize(self, profile: EntityProfile) -> tuple[DescribedSentence, ...]:
        """See `graphtide.streams.summarize.summary_writer.Summarizer`."""
        shown = [_FORMAT, self.name, profile.name, profile.type, [item.text for item in profile.descriptions]]
        key = scoped(sha256(json.dumps(shown).encode()).digest())
        cached = (await self._store.get_many([key])).get(key)
        known = None if cached is None else _decoded(cached, len(profile.descriptions))
        if known:
            return known
        sentences = await self._summarizer.summarize(profile)
        await self._store.put_many({key: json.dumps([astuple(item) for item in sentences]).encode()})
        return sentences


def _decoded(value: bytes, count: int) -> tuple[DescribedSentence, ...] | None:
    """Return the decoded value; None for bytes that this version did not write."""
    try:
        found = tuple(DescribedSentence(str(text), tuple(map(int, of))) for text, of in parsed(value))
    except (ValueError, TypeError, RecursionError):
        return None
    return found if all(0 <= at < count for sentence in found for at in sentence.of) else None
