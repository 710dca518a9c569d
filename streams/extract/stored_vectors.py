"""The vectors of a document's live revision: an edit embeds only the texts that this revision does not contain.

The vectors are float16 rows of the stored extraction, the same bits that the embedder gave. They are left out where the
stored revision was embedded with another number of dimensions.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial

from graphtide.graph.records import Extraction, Vector
from graphtide.streams.errors import Rejected
from graphtide.streams.extract.contributions.texts import unit_texts
from graphtide.streams.messages import decode_extraction
from graphtide.streams.ports import GraphStore
from graphtide.streams.scheduling.work_pool import WorkPool

StoredExtraction = Callable[[str, str], Awaitable[bytes | None]]
"""Reader of the encoded extraction of a document (graph, id); None for a document that is not live."""
SMALL_BYTES = 32 << 10
"""Maximum size of an extraction that is decoded on the event loop."""


async def never_stored(graph: str, doc_id: str) -> bytes | None:
    """Return None: every document counts as new."""
    return None


def live_extraction(store: GraphStore, is_live: Callable[[str, str], bool]) -> StoredExtraction:
    """Return the reader of a store. It reads only documents that `is_live`, which may be approximate."""

    async def read(graph: str, doc_id: str) -> bytes | None:
        if not is_live(graph, doc_id):
            return None
        stored = (await store.standings(graph, [doc_id])).get(doc_id)
        return stored.extraction if stored else None

    return read


async def stored_vectors(
    stored: StoredExtraction, graph: str, doc_id: str, dimensions: int, pool: WorkPool
) -> Mapping[str, Vector]:
    """Return the vectors of the document's live revision by text; none where they have not `dimensions` (0: any).

    An extraction that cannot be read counts as none: the consolidation reports the damage. Raises what `stored` raises.
    """
    value = await stored(graph, doc_id)
    if value is None:
        return {}
    return await pool.run(partial(_vectors, value, dimensions), graph, small=len(value) <= SMALL_BYTES)


def _vectors(value: bytes, dimensions: int) -> dict[str, Vector]:
    try:
        extraction = decode_extraction(value).extraction
    except Rejected:
        return {}
    found = _by_text(extraction) if extraction else {}
    return found if not dimensions or all(row.size == dimensions for row in found.values()) else {}


def _by_text(extraction: Extraction) -> dict[str, Vector]:
    title, found = extraction.info.title, dict[str, Vector]()
    for unit in extraction.units:
        rows = (unit.vector, *(mention.vector for mention in unit.mentions), *(fact.vector for fact in unit.facts))
        found.update(zip(unit_texts(title, unit), rows, strict=True))
    return found
