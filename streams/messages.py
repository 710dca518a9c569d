"""Message types of the topics and their encoding. Every value is versioned JSON; an unknown schema is Rejected.

- `documents` (key `graph|doc_id`): a `DocumentMessage`; a null value is a deletion.
- `extractions` (key `graph`): an `ExtractionMessage`: the contribution of one revision, or its deletion.
- `deltas` (key `graph`): the version that a graph reached, and the entities that changed; in a cluster, the delta
  itself follows (`streams/follow/delta_records.py`).
- `documents.dlq`: a `DeadLetter`.

Embeddings are one base64 block of float16 rows beside the JSON fields, which refer to the rows by order.

Any producer may write to `documents`, so records are untrusted: every value that decodes can be stored, indexed and
read back unchanged; every other value is Rejected with a reason that quotes at most a few words of it.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np

from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Fact, Mention, Vector
from graphtide.graph.text.dates import date_span
from graphtide.graph.text.place import NO_PLACE, decode_place
from graphtide.streams.errors import Broken, Rejected
from graphtide.streams.json_parts import dump, dump_in_parts, escape_surrogates, load_in_parts
from graphtide.streams.model_ports import MEDIA_TYPES

DOCUMENTS = "documents"
EXTRACTIONS = "extractions"
DELTAS = "deltas"
DEAD_LETTERS = "documents.dlq"
ANSWERS = "answers"
GRAPH_CHANGES = "graph-changes"

SCHEMA = 1
SMALL_BYTES, KEPT = 32 << 10, 64
"""Size and number of the extractions that are kept decoded."""

MAX_ID_CHARS = 512
MAX_WEIGHT = 1_000_000.0
MAX_METADATA_DEPTH = 32
log = logging.getLogger("graphtide.streams")
_GRAPH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")  # also the name of a folder: no separator, no leading dot
FACT_FIELDS = (6, 8)
"""Number of fields of an extraction's fact. The last two are its validity period, which older records lack."""
NO_HEADING = ("", "")
BASE64_SLICE = 4 << 20
"""Characters that are decoded in one call; a multiple of four."""
_VECTORS = b'"vectors":"'
_BEFORE_VECTORS = re.compile(rb'"dimensions":[0-9]{1,9},$')
_MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class GivenEntity:
    """An entity that a publisher supplies."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class GivenFact:
    """A relation that a publisher supplies. `valid_from` and `valid_to` are ISO dates or empty."""

    subject: str
    predicate: str
    object: str
    description: str = ""
    weight: float = 1.0
    valid_from: str = ""
    valid_to: str = ""


@dataclass(frozen=True, slots=True)
class DocumentMessage:
    """A published document. `entities` or `facts` other than None replace extraction, even when empty.

    `media_type` is the format of the text, such as text/markdown; "" leaves it to the chunker to recognise it.
    """

    graph: str
    doc_id: str
    text: str
    info: DocumentInfo = field(default_factory=DocumentInfo)
    entities: tuple[GivenEntity, ...] | None = None
    facts: tuple[GivenFact, ...] | None = None
    media_type: str = ""

    @property
    def key(self) -> str:
        return document_key(self.graph, self.doc_id)

    def encode(self) -> bytes:
        """Return the body of `PUT /v1/graphs/{graph}/documents/{id}` with the schema number added."""
        body: dict[str, Any] = {"schema": SCHEMA, "text": self.text, **_info_out(self.info)}
        body |= _media_type_out(self.media_type)
        if self.entities is not None:
            body["entities"] = [_members(entity) for entity in self.entities]
        if self.facts is not None:
            body["facts"] = [_filled(_members(fact)) for fact in self.facts]
        return dump(body)


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
        head: dict[str, Any] = {"schema": SCHEMA, "graph": self.graph, "doc_id": self.doc_id}
        head |= {"revision": self.revision, "accepted_ms": self.accepted_ms}
        if self.extraction is None:
            return dump(head | {"deleted": True})
        return dump_in_parts(head | _extraction_out(self.extraction))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A revision that could not be processed: the reason, the number of attempts, and the original bytes."""

    graph: str
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    original: bytes

    def encode(self) -> bytes:
        return dump(
            {
                "schema": SCHEMA,
                "graph": escape_surrogates(self.graph),
                "doc_id": escape_surrogates(self.doc_id),
                "revision": self.revision,
                "stage": escape_surrogates(self.stage),
                "reason": escape_surrogates(self.reason),
                "attempts": self.attempts,
                "original": base64.b64encode(self.original).decode(),
            }
        )


@dataclass(frozen=True, slots=True)
class DeltaNotice:
    """Notice that a graph reached a version, with the entities (by node) that changed, themselves or in an edge.

    The delta follows the notice in `parts` records; with 0 it is not sent, and followers read the store. `replaced`
    means that the graph was rebuilt: the node numbers are new, and every entity changed. `deleted` means that the graph
    was deleted.
    """

    graph: str
    version: int
    nodes: tuple[int, ...] = ()
    parts: int = 0
    replaced: bool = False
    deleted: bool = False

    def encode(self) -> bytes:
        body: dict[str, Any] = {"schema": SCHEMA, "graph": self.graph, "version": self.version}
        body["nodes"] = list(self.nodes)
        if self.parts:
            body["parts"] = self.parts
        if self.replaced:
            body["replaced"] = True
        if self.deleted:
            body["deleted"] = True
        return dump(body)


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """Request of a query process for the reports of communities. It announces no change.

    It is encoded as a notice with version 0, which followers of every release pass over.
    """

    graph: str
    communities: tuple[int, ...]

    def encode(self) -> bytes:
        """Return the record's value."""
        return dump(
            {"schema": SCHEMA, "graph": self.graph, "version": 0, "nodes": [], "wanted": list(self.communities)}
        )


def document_key(graph: str, doc_id: str) -> str:
    return f"{graph}|{doc_id}"


def split_document_key(key: str) -> tuple[str, str]:
    """Return (graph, doc_id). The name of a graph holds no `|`; a document id may. Raises Rejected for other keys."""
    graph, bar, doc_id = key.partition("|")
    if not bar or not graph or not doc_id.strip():
        raise Rejected(f"the record key {key[:80]!r} is not of the form graph|doc_id")
    if _GRAPH.fullmatch(graph) is None:
        raise Rejected(f"{graph[:80]!r} is not a valid graph name: use 1 to 64 of A-Z a-z 0-9 _ . - and no leading dot")
    if len(doc_id) > MAX_ID_CHARS:
        raise Rejected(f"the document id has {len(doc_id)} characters; the limit is {MAX_ID_CHARS}")
    if not doc_id.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in doc_id):
        raise Rejected(f"the document id {doc_id[:80]!r} contains a control character or a lone surrogate: remove it")
    return graph, doc_id


def decode_document(key: str, value: bytes) -> DocumentMessage:
    """Return the document in a `documents` record. Raises Rejected with the reason."""
    graph, doc_id = split_document_key(key)
    body = _load(value)
    try:
        entities, facts = body.get("entities"), body.get("facts")
        return DocumentMessage(
            graph,
            doc_id,
            _text(body["text"], "text"),
            _info_in(body),
            None if entities is None else tuple(_entity_in(entity) for entity in entities),
            None if facts is None else tuple(_fact_in(fact) for fact in facts),
            _media_type_in(body),
        )
    except _MALFORMED as error:
        raise Rejected(f"the document record is malformed: {_describe(error)}") from error


def decode_extraction(value: bytes) -> ExtractionMessage:
    """Return the message in an `extractions` record. Raises Rejected with the reason.

    The newest small ones are kept: the consolidation, the status of a document and its next edit read the same bytes.
    """
    return _decode_extraction(value) if len(value) > SMALL_BYTES else _decode_small_extraction(value)


def _decode_extraction(value: bytes) -> ExtractionMessage:
    body = _load_extraction(value)
    try:
        extraction = None if body.get("deleted") else _extraction_in(body)
        graph, doc_id = split_document_key(document_key(body["graph"], body["doc_id"]))
        return ExtractionMessage(graph, doc_id, int(body["revision"]), extraction, int(body.get("accepted_ms", 0)))
    except _MALFORMED as error:
        raise Rejected(f"the extraction record is malformed: {_describe(error)}") from error


_decode_small_extraction = lru_cache(maxsize=KEPT)(_decode_extraction)


def decode_stored(graph: str, doc_id: str, value: bytes) -> Extraction | None:
    """Return the stored extraction of a document; None for a deleted one.

    Raises Broken when it cannot be read: Graphtide wrote it, so the store is damaged.
    """
    try:
        return decode_extraction(value).extraction
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
    except (Rejected, *_MALFORMED):
        return None


def decode_dead_letter(value: bytes) -> DeadLetter:
    """Return the letter in a `documents.dlq` record, lone surrogates in its texts as escapes: no letter may be lost.

    Raises Rejected with the reason.
    """
    body = _load(value)
    try:
        graph, doc_id, stage, reason = (
            escape_surrogates(body[name]) for name in ("graph", "doc_id", "stage", "reason")
        )
        original = base64.b64decode(body["original"])
        return DeadLetter(graph, doc_id, int(body["revision"]), stage, reason, int(body["attempts"]), original)
    except _MALFORMED as error:
        raise Rejected(f"the dead letter is malformed: {_describe(error)}") from error


def decode_notice(value: bytes) -> DeltaNotice | ReportRequest:
    """Return the notice or the report request in a record of `deltas`. Raises Rejected for a malformed one."""
    body = _load(value)
    try:
        nodes = tuple(map(int, body["nodes"]))
        graph, version = _string(body["graph"]), int(body["version"])
        if "wanted" in body and not version:
            return ReportRequest(graph, tuple(map(int, body["wanted"])))
        ends = bool(body.get("replaced", False)), bool(body.get("deleted", False))
        return DeltaNotice(graph, version, nodes, int(body.get("parts", 0)), *ends)
    except _MALFORMED as error:
        raise Rejected(f"the delta notice is malformed: {_describe(error)}") from error


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
        rows.append(unit.vector)
        rows.extend(mention.vector for mention in unit.mentions)
        rows.extend(fact.vector for fact in unit.facts)
        mentions, facts = [_mention_out(m) for m in unit.mentions], [_fact_out(f) for f in unit.facts]
        units.append([unit.key.hex(), unit.text, unit.start, unit.end, mentions, facts])
    block = np.stack(rows).tobytes() if rows else b""
    body = {
        "info": _info_out(extraction.info),
        "units": units,
        "gaps": extraction.gaps,
        "dimensions": len(rows[0]) if rows else 0,
        "vectors": base64.b64encode(block).decode(),
    }
    # Beside the units, not in them: a reader that does not know headings can still read the rest.
    headings = [(unit.title, unit.description) for unit in extraction.units]
    places = [(n, place) for n, unit in enumerate(extraction.units) if (place := unit.place.encode())]
    sources = [(n, unit.source) for n, unit in enumerate(extraction.units) if unit.source is not None]
    extra = {"headings": headings if any(map(any, headings)) else [], "places": places, "sources": sources}
    return body | {name: rows for name, rows in extra.items() if rows} | _media_type_out(extraction.media_type)


def _media_type_in(body: dict[str, Any]) -> str:
    media_type = _string(body.get("media_type") or "")
    if media_type and media_type not in MEDIA_TYPES:
        raise ValueError(f"media_type {media_type[:80]!r} is not readable: convert to {', '.join(MEDIA_TYPES)}")
    return media_type


def _media_type_out(media_type: str) -> dict[str, str]:
    return {"media_type": media_type} if media_type else {}


def _extraction_in(body: dict[str, Any]) -> Extraction:
    dimensions = int(body["dimensions"])
    block = np.frombuffer(_vectors_in(body["vectors"]), np.float16)
    table = block.reshape(-1, dimensions) if dimensions else block.reshape(0, 1)
    if not (np.isfinite(table).all() and table.any(axis=1).all()):
        raise ValueError("a vector is zero or not finite")
    rows = iter(table)
    headings = _headings_in(body.get("headings"), len(body["units"]))
    places = {int(at): decode_place(_string(place)) for at, place in body.get("places", ())}
    sources = {int(at): _string(source) for at, source in body.get("sources", ())}
    units = []
    for at, ((key, text, start, end, mentions, facts), heading) in enumerate(zip(body["units"], headings, strict=True)):
        vector = _next(rows)
        named = tuple(Mention(name, type_, text_, _next(rows)) for name, type_, text_ in mentions)
        if any(len(fact) not in FACT_FIELDS for fact in facts):
            raise ValueError(f"a fact does not have {FACT_FIELDS[0]} or {FACT_FIELDS[1]} fields")
        stated = tuple(Fact(s, p, o, text_, line, w, _next(rows), *times) for s, p, o, text_, line, w, *times in facts)
        if any(not 0 <= index < len(named) for fact in stated for index in (fact.subject, fact.object)):
            raise ValueError("a fact refers to a mention that does not exist")
        layout = (*heading, places.get(at, NO_PLACE), sources.get(at))
        units.append(ChunkContribution(bytes.fromhex(key), text, start, end, vector, named, stated, *layout))
    gaps = tuple(body["gaps"])
    if gaps and len(gaps) != len(units) + 1:
        raise ValueError(f"{len(units)} units need {len(units) + 1} gaps, not {len(gaps)}")
    head = (body["doc_id"], int(body["revision"]), _info_in(body["info"]))
    return Extraction(*head, tuple(units), gaps, _media_type_in(body))


def _vectors_in(encoded: str | bytes) -> bytes:
    """Decode base64 in slices: one call holds the interpreter lock."""
    slices = range(0, len(encoded), BASE64_SLICE)
    return b"".join([base64.b64decode(encoded[start : start + BASE64_SLICE]) for start in slices])


def _next(rows: Iterator[Vector]) -> Vector:
    # StopIteration inside a generator expression would become a RuntimeError.
    row = next(rows, None)
    if row is None:
        raise ValueError("there are fewer vectors than texts")
    return row


def _members(given: GivenEntity | GivenFact) -> dict[str, Any]:
    """Return the fields by name: `dataclasses.asdict` copies each value, which takes three times as long."""
    return {each.name: getattr(given, each.name) for each in fields(given)}


def _filled(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value != ""}


def _entity_in(body: dict[str, Any]) -> GivenEntity:
    return GivenEntity(_text(body["name"], "name"), _string(body.get("type", "")), _string(body.get("description", "")))


def _fact_in(body: dict[str, Any]) -> GivenFact:
    subject, predicate, object_ = (_text(body[name], name) for name in ("subject", "predicate", "object"))
    weight = float(body.get("weight", 1.0))
    if not (math.isfinite(weight) and 0 < weight <= MAX_WEIGHT):
        raise ValueError(f"weight {weight:g} is not above 0 and at most {MAX_WEIGHT:g}")
    times = [_string(body.get(name) or "") for name in ("valid_from", "valid_to")]
    if any(time and date_span(time) is None for time in times):
        raise ValueError("valid_from and valid_to must be ISO dates")
    return GivenFact(subject, predicate, object_, _string(body.get("description", "")), weight, *times)


def _mention_out(mention: Mention) -> list[str]:
    return [mention.name, mention.type, mention.description]


def _fact_out(fact: Fact) -> list[Any]:
    stated = [fact.subject, fact.predicate, fact.object, fact.description, fact.sentence, fact.weight_milli]
    return [*stated, fact.valid_from, fact.valid_to]


def _headings_in(rows: list[Any] | None, count: int) -> list[tuple[str, str]]:
    """Return the heading of each unit. Older records, and records that no model extracted, have none."""
    headings = [(_string(title), _string(description)) for title, description in rows or [NO_HEADING] * count]
    if len(headings) != count:
        raise ValueError(f"{count} units need {count} headings, not {len(headings)}")
    return headings


def _info_out(info: DocumentInfo) -> dict[str, Any]:
    metadata = {key: json.loads(value) for key, value in info.metadata}
    fields = {"title": info.title, "source": info.source, "occurred_at": info.occurred_at, "metadata": metadata}
    return {name: value for name, value in fields.items() if value}


def _info_in(body: dict[str, Any]) -> DocumentInfo:
    metadata = body.get("metadata") or {}
    return DocumentInfo(
        _string(body.get("title") or ""),
        _string(body.get("source") or ""),
        _date(_string(body.get("occurred_at") or "")),
        metadata_pairs(metadata),
    )


def _date(value: str) -> str:
    """Return the date as it is stored, so that rebuilt equals incremental; a malformed one counts as no date."""
    if value and date_span(value) is None:
        log.warning(
            "occurred_at %.40r is not an ISO date and counts as no date; publish the document with an ISO date", value
        )
    return value


def metadata_pairs(metadata: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Return metadata as it is stored: sorted pairs of key and JSON value. Raises ValueError for non-JSON values."""
    _check_json(metadata, 0)
    return tuple(sorted((_string(key), dump(value).decode()) for key, value in metadata.items()))


def _text(value: object, field: str) -> str:
    text = _string(value)
    if not text.strip():
        raise ValueError(f"{field} is empty")
    return text


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    if "\0" in value:
        raise ValueError("a text contains a NUL character")
    value.encode()  # a lone surrogate has no UTF-8 form: UnicodeEncodeError is a ValueError
    return value


def _check_json(value: object, depth: int) -> None:
    if depth > MAX_METADATA_DEPTH:
        raise ValueError(f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels")
    if isinstance(value, dict):
        for key, inner in value.items():
            _string(key)
            _check_json(inner, depth + 1)
    elif isinstance(value, list):
        for inner in value:
            _check_json(inner, depth + 1)
    elif isinstance(value, str):
        _string(value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError("metadata contains a number that is not finite, which JSON does not allow")


def _describe(error: Exception) -> str:
    """Return an error in a few words. (The repr of a UnicodeEncodeError would hold the whole text.)"""
    return f"{type(error).__name__}: {str(error)[:200]}"


def _load_extraction(value: bytes) -> dict[str, Any]:
    """Load the record without its vectors, and add these as bytes: most of the record is vectors. No other
    `"vectors":"` can follow, since a quote inside a string is escaped.
    """
    at = value.rfind(_VECTORS)
    if _BEFORE_VECTORS.search(value[max(0, at - 40) : max(0, at)]) is None:
        return _load(value)
    start = at + len(_VECTORS)
    end = value.find(b'"', start)
    body = _load(value[:start] + value[end:] if end >= 0 else value)
    body["vectors"] = value[start:end]
    return body


def _load(value: bytes) -> dict[str, Any]:
    try:
        body = load_in_parts(value)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the record is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise Rejected(f"the record is a JSON {type(body).__name__}, not an object")
    schema = body.get("schema", SCHEMA)
    if schema != SCHEMA:
        named = repr(schema)[:40] if isinstance(schema, int | str) else type(schema).__name__
        raise Rejected(f"the record has schema {named}; this version reads schema {SCHEMA}")
    return body
