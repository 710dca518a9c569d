"""The messages of the topic `extractions`: what a revision contributes to its graph, or its deletion.

Embeddings are one base64 block of float16 rows beside the JSON fields, which refer to the rows by order.
"""

from __future__ import annotations

import base64
import gc
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import repeat
from typing import Any

import numpy as np

from graphtide.graph.algorithms.yield_points import with_yields
from graphtide.graph.records import ChunkContribution, Extraction, Fact, Mention, Vector
from graphtide.graph.text.place import NO_PLACE, decode_place
from graphtide.graph.vector_index import have_directions
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.json_parts import UNCONVERTED, Base64Text, dump, dump_in_parts
from graphtide.streams.messages.fields import (
    MALFORMED,
    SCHEMA,
    describe,
    info_fields,
    load_record,
    media_type_fields,
    parse_info,
    parse_media_type,
    parse_string,
)
from graphtide.streams.messages.keys import document_key, split_document_key
from graphtide.streams.messages.large_units import LARGE_RECORD_BYTES, EncodedVectors, LargeUnit

SMALL_BYTES, KEPT = 32 << 10, 16
"""Size and number of the extractions that are kept decoded."""
FACT_FIELDS = (6, 8)
"""Number of fields of an extraction's fact. The last two are its validity period, which older records lack."""
NO_HEADING = ("", "")
EMPTY: Vector = np.empty(0, np.float16)
FEWER_VECTORS = "there are fewer vectors than texts"
BASE64_SLICE = 4 << 20
"""Characters that are decoded in one call; a multiple of four."""
YIELD_UNITS = 4
"""Units between two yield points while they are decoded: each has some forty rows."""
BLOCK_ROWS = 3_000
"""Vectors that are encoded or checked in one call; a multiple of three."""
COLLECTED_UNITS = 128
"""Units after whose decoding the collector examines new objects. It counts allocations less frees, and decoding frees
as many objects as it makes: the next collection would hold the interpreter lock for 100 ms to examine 265,000."""
SEARCHED_BYTES = 1 << 20
"""Bytes that are searched for the vectors in one call."""
_VECTORS = b'"vectors":"'
_BEFORE_VECTORS = re.compile(rb'"dimensions":[0-9]{1,9},$')


@dataclass(frozen=True, slots=True)
class ExtractionMessage:
    """The outcome of the extract stage for one revision; `extraction` None means that the document was deleted.

    `accepted_ms` is when the revision entered `documents` (milliseconds since the epoch): freshness counts from it.
    """

    graph: str
    doc_id: str
    revision: int
    extraction: Extraction | None
    accepted_ms: int = 0

    def encode(self) -> bytes:
        head = encode_head(self)
        if self.extraction is None:
            return dump(head | {"deleted": True})
        return dump_in_parts(head | _extraction_out(self.extraction))


def encode_head(message: ExtractionMessage) -> dict[str, Any]:
    """Return the members of an encoded message that precede the extraction."""
    head: dict[str, Any] = {"schema": SCHEMA, "graph": message.graph, "doc_id": message.doc_id}
    return head | {"revision": message.revision, "accepted_ms": message.accepted_ms}


def decode_extraction(value: bytes) -> ExtractionMessage:
    """Return the message in an `extractions` record. Raises Rejected with the reason.

    The newest small ones are kept: the consolidation, the status of a document and its next edit read the same bytes.
    """
    return _decode_extraction(value) if len(value) > SMALL_BYTES else _decode_small_extraction(value)


def is_decodable(message: ExtractionMessage) -> bool:
    """Return whether decoding accepts the vectors of a message whose other parts are valid."""
    rows = [row for unit in message.extraction.units for row in unit_rows(unit)] if message.extraction else []
    return not rows or have_directions(np.stack(rows))


def _decode_extraction(value: bytes, *, vectors: bool = True, statements: bool = True) -> ExtractionMessage:
    body = _load_extraction(value, statements)
    try:
        large = vectors and len(value) >= LARGE_RECORD_BYTES
        extraction = None if body.get("deleted") else _extraction_in(body, vectors=vectors, large=large)
        graph, doc_id = split_document_key(document_key(body["graph"], body["doc_id"]))
        return ExtractionMessage(graph, doc_id, int(body["revision"]), extraction, int(body.get("accepted_ms", 0)))
    except MALFORMED as error:
        raise Rejected(f"the extraction record is malformed: {describe(error)}") from error


_decode_small_extraction = lru_cache(maxsize=KEPT)(_decode_extraction)


def decode_stored(
    graph: str, doc_id: str, value: bytes, *, vectors: bool = True, statements: bool = True
) -> Extraction | None:
    """Return the stored extraction of a document; None for a deleted one. Without `vectors`, those of a large one are
    empty: they are most of its bytes. Without `statements`, a large one has no vectors, mentions and facts.

    Raises Broken when it cannot be read: Graphtide wrote it, so the store is damaged.
    """
    try:
        if (vectors and statements) or len(value) <= SMALL_BYTES:
            return decode_extraction(value).extraction
        return _decode_extraction(value, vectors=False, statements=statements).extraction
    except Rejected as error:
        raise Broken(
            f"the stored extraction of document {doc_id!r} of graph {graph!r} is damaged ({error}):"
            " restore the data from a backup"
        ) from error


def extraction_of(value: bytes) -> tuple[str, str, int] | None:
    """Return the (graph, doc_id, revision) that a record of `extractions` names, even if the rest is malformed."""
    try:
        body = json.loads(value)
        return (*split_document_key(document_key(body["graph"], body["doc_id"])), int(body["revision"]))
    except (Rejected, *MALFORMED):
        return None


def unit_key(
    text: str,
    vector: Vector,
    mentions: tuple[Mention, ...],
    facts: tuple[Fact, ...],
    heading: tuple[str, str] = NO_HEADING,
) -> bytes:
    """Return 16 bytes that identify the contribution of a unit; its place in the document is not included.

    `heading` is its title and description.
    """
    digest = blake2b(digest_size=16)
    stated = [text, [_mention_out(m) for m in mentions], [_fact_out(f) for f in facts]]
    digest.update(dump([*stated, heading] if any(heading) else stated))
    for row in (vector, *(m.vector for m in mentions), *(f.vector for f in facts)):
        digest.update(row.tobytes())
    return digest.digest()


def _extraction_out(extraction: Extraction) -> dict[str, Any]:
    rows: list[Vector] = []
    units = []
    for unit in extraction.units:
        rows.extend(unit_rows(unit))
        units.append(encode_unit(unit))
    body = {
        "info": info_fields(extraction.info),
        "units": units,
        "gaps": extraction.gaps,
        "dimensions": len(rows[0]) if rows else 0,
        "vectors": Base64Text(_blocks(rows)),
    }
    # Beside the units, not in them: a reader that does not know headings can still read the rest.
    headings = [(unit.title, unit.description) for unit in extraction.units]
    places = [(n, place) for n, unit in enumerate(extraction.units) if (place := unit.place.encode())]
    sources = [(n, unit.source) for n, unit in enumerate(extraction.units) if unit.source is not None]
    return body | unit_extras(headings, places, sources) | media_type_fields(extraction.media_type)


def unit_rows(unit: ChunkContribution) -> Iterator[Vector]:
    """Yield the vectors of a unit in the order in which they are encoded."""
    yield unit.vector
    yield from (mention.vector for mention in unit.mentions)
    yield from (fact.vector for fact in unit.facts)


def encode_unit(unit: ChunkContribution) -> list[Any]:
    """Return a unit without vectors, and without what `unit_extras` returns."""
    mentions, facts = [_mention_out(m) for m in unit.mentions], [_fact_out(f) for f in unit.facts]
    return [unit.key.hex(), unit.text, unit.start, unit.end, mentions, facts]


def unit_extras(
    headings: Sequence[tuple[str, str]], places: Sequence[tuple[int, str]], sources: Sequence[tuple[int, str]]
) -> dict[str, Any]:
    """Return the members for the headings of all units, and for places and sources by unit; no empty member."""
    extra = {"headings": headings if any(map(any, headings)) else (), "places": places, "sources": sources}
    return {name: rows for name, rows in extra.items() if rows}


def _blocks(rows: Sequence[Vector]) -> Iterator[bytes]:
    for start in range(0, len(rows), BLOCK_ROWS):
        yield np.stack(rows[start : start + BLOCK_ROWS]).tobytes()


def _rows_in(body: dict[str, Any]) -> Iterator[Vector]:
    dimensions = int(body["dimensions"])
    block = np.frombuffer(_vectors_in(body["vectors"]), np.float16)
    table = block.reshape(-1, dimensions) if dimensions else block.reshape(0, 1)
    for start in range(0, len(table), BLOCK_ROWS):
        if not have_directions(table[start : start + BLOCK_ROWS]):
            raise ValueError("a vector is zero or not finite")
    return iter(table)


def _extraction_in(body: dict[str, Any], *, vectors: bool, large: bool) -> Extraction:
    """Return the extraction, without `vectors` with empty ones; those of a `large` one are decoded when read."""
    table = EncodedVectors.of(body["vectors"], int(body["dimensions"])) if large else None
    rows = _rows_in(body) if vectors and table is None else repeat(EMPTY)
    headings = _headings_in(body.get("headings"), len(body["units"]))
    places = {int(at): decode_place(parse_string(place)) for at, place in body.get("places", ())}
    sources = {int(at): parse_string(source) for at, source in body.get("sources", ())}
    units, encoded, shared, first = list[ChunkContribution](), body["units"], dict[str, str](), 0

    def one(text: str) -> str:
        """Return the first equal string: a sentence is the evidence of many mentions and facts."""
        return shared.setdefault(text, text)

    for at, heading in enumerate(with_yields(headings, YIELD_UNITS)):
        if at % COLLECTED_UNITS == COLLECTED_UNITS - 1:
            gc.collect(1)
        key, text, start, end, mentions, facts = encoded[at]
        encoded[at] = None  # its strings are freed where they are repeated
        if any(len(fact) not in FACT_FIELDS for fact in facts):
            raise ValueError(f"a fact does not have {FACT_FIELDS[0]} or {FACT_FIELDS[1]} fields")
        if any(not 0 <= index < len(mentions) for s, _, o, *_ in facts for index in (s, o)):
            raise ValueError("a fact refers to a mention that does not exist")
        named = tuple((one(name), one(type_), one(text_)) for name, type_, text_ in mentions)
        stated = tuple((s, one(p), o, one(text_), one(line), w, *times) for s, p, o, text_, line, w, *times in facts)
        fields = (bytes.fromhex(key), text, start, end)
        layout = (*heading, places.get(at, NO_PLACE), sources.get(at))
        if table is not None:
            units.append(LargeUnit.of(fields, named, stated, layout, (table, first)))
            first += 1 + len(named) + len(stated)
            continue
        vector = _next(rows)
        seen = tuple(Mention(*row, _next(rows)) for row in named)
        facts = tuple(Fact(*row[:6], _next(rows), *row[6:]) for row in stated)  # type: ignore[call-arg]
        units.append(ChunkContribution(*fields, vector, seen, facts, *layout))
    if table is not None and first > table.count:
        raise ValueError(FEWER_VECTORS)
    gaps = tuple(body["gaps"])
    if gaps and len(gaps) != len(units) + 1:
        raise ValueError(f"{len(units)} units need {len(units) + 1} gaps, not {len(gaps)}")
    head = (body["doc_id"], int(body["revision"]), parse_info(body["info"]))
    return Extraction(*head, tuple(units), gaps, parse_media_type(body))


def _vectors_in(encoded: str | memoryview) -> memoryview:
    """Decode base64 in slices: one call holds the interpreter lock. Memory: the result and one slice."""
    decoded = bytearray()
    for start in range(0, len(encoded), BASE64_SLICE):
        decoded += base64.b64decode(encoded[start : start + BASE64_SLICE])
    return memoryview(decoded).toreadonly()


def _next(rows: Iterator[Vector]) -> Vector:
    # StopIteration inside a generator expression would become a RuntimeError.
    row = next(rows, None)
    if row is None:
        raise ValueError(FEWER_VECTORS)
    return row


def _mention_out(mention: Mention) -> list[str]:
    return [mention.name, mention.type, mention.description]


def _fact_out(fact: Fact) -> list[Any]:
    stated = [fact.subject, fact.predicate, fact.object, fact.description, fact.sentence, fact.weight_milli]
    return [*stated, fact.valid_from, fact.valid_to]


def _headings_in(rows: list[Any] | None, count: int) -> list[tuple[str, str]]:
    """Return the heading of each unit. Older records, and records that no model extracted, have none."""
    headings = [(parse_string(title), parse_string(description)) for title, description in rows or [NO_HEADING] * count]
    if len(headings) != count:
        raise ValueError(f"{count} units need {count} headings, not {len(headings)}")
    return headings


def _load_extraction(value: bytes, statements: bool) -> dict[str, Any]:
    """Load the record without its vectors, and add these as bytes: most of the record is vectors.

    Without `statements`, the units have no mentions and facts.
    """
    elements = UNCONVERTED if statements else {"units": _without_statements}
    start, end = vectors_in(len(value), lambda first, stop: value[first:stop])
    if start == end:
        return load_record(value, elements=elements)
    whole = memoryview(value)
    body = load_record(whole[:start], whole[end:], elements=elements)
    body["vectors"] = whole[start:end]
    return body


def vectors_in(size: int, read: Callable[[int, int], bytes]) -> tuple[int, int]:
    """Return the start and the end of the vectors in an encoded extraction; equal numbers where it has none.

    `read` returns the bytes from a first one to before another. No other `"vectors":"` can follow, since a quote inside
    a string is escaped. Cost: the vectors, of which SEARCHED_BYTES are in memory at a time: one search in all of them
    would hold the interpreter lock for long.
    """
    stop = size
    while stop > 0:
        first = max(0, stop - SEARCHED_BYTES)
        at = read(first, min(size, stop + len(_VECTORS) - 1)).rfind(_VECTORS)
        if at >= 0:
            return _enclosed(first + at, size, read)
        stop = first
    return 0, 0


def _enclosed(at: int, size: int, read: Callable[[int, int], bytes]) -> tuple[int, int]:
    if _BEFORE_VECTORS.search(read(max(0, at - 40), at)) is None:
        return 0, 0
    start = at + len(_VECTORS)
    for first in range(start, size, SEARCHED_BYTES):
        if (end := read(first, min(size, first + SEARCHED_BYTES)).find(b'"')) >= 0:
            return start, first + end
    return 0, 0


def _without_statements(unit: Any) -> Any:
    """Return an encoded unit without mentions and facts."""
    return [*unit[:4], (), ()] if isinstance(unit, list) and len(unit) > 4 else unit
