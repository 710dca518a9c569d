"""New vectors for a stored extraction, without a new extraction: texts, mentions and facts stay as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from graphtide.graph.records import ChunkContribution, Extraction, Vector
from graphtide.streams.extract.contributions.texts import unit_texts
from graphtide.streams.extract.pipeline import embed_texts
from graphtide.streams.messages import unit_key
from graphtide.streams.model_ports import Embedder


async def reembedded(extraction: Extraction, embedder: Embedder) -> Extraction:
    """Return the extraction that the same document has with this embedder, unit keys included.

    Raises as `Embedder.embed` does. Cost: one embedding of each distinct text.
    """
    title = extraction.info.title
    texts = [text for unit in extraction.units for text in unit_texts(title, unit)]
    vectors = await embed_texts(list(dict.fromkeys(texts)), embedder)
    return replace(extraction, units=tuple(_with_vectors(title, unit, vectors) for unit in extraction.units))


def _with_vectors(title: str, unit: ChunkContribution, vectors: Mapping[str, Vector]) -> ChunkContribution:
    passage, *rows = (vectors[text] for text in unit_texts(title, unit))
    count = len(unit.mentions)
    mentions = tuple(replace(each, vector=row) for each, row in zip(unit.mentions, rows[:count], strict=True))
    facts = tuple(replace(each, vector=row) for each, row in zip(unit.facts, rows[count:], strict=True))
    key = unit_key(unit.text, passage, mentions, facts, (unit.title, unit.description))
    return replace(unit, key=key, vector=passage, mentions=mentions, facts=facts)
