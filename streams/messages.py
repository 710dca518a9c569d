"""What travels on the topics. Every value is versioned JSON; a schema this code does not know is Rejected.

- `documents` (key `graph|doc_id`): a `DocumentMessage`; a null value is a deletion.
- `extractions` (key `graph`): an `ExtractionMessage`: what one revision contributes, or that it was deleted.
- `deltas` (key `graph`): which version a graph reached, and which entities changed; in a cluster the delta behind it
  (`streams/follow/delta_records.py`).
- `documents.dlq`: a `DeadLetter`.

Embeddings travel as one base64 block of float16 rows beside the JSON fields that refer to them by order.

Anybody may write to `documents`, so what is read is not trusted: whatever decodes can be stored, indexed and read
back unchanged, and what cannot is Rejected with a reason that quotes no more than a few words of it.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np

from graphtide.graph.dates import date_span
from graphtide.graph.records import ChunkContribution, DocumentInfo, Extraction, Fact, Mention, Vector
from graphtide.streams.errors import Broken, Rejected

DOCUMENTS = "documents"
EXTRACTIONS = "extractions"
DELTAS = "deltas"
DEAD_LETTERS = "documents.dlq"

SCHEMA = 1

MAX_ID_CHARS = 512
MAX_WEIGHT = 1_000_000.0
MAX_METADATA_DEPTH = 32
log = logging.getLogger("graphtide.streams")
_GRAPH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}")  # it names a folder, too: no separator, no dot in front
FACT_FIELDS = (6, 8)
"""Of an extraction's fact. The last two are when it held; records from before there were times have none."""
NO_HEADING = ("", "")
_VECTORS = b'"vectors":"'
_BEFORE_VECTORS = re.compile(rb'"dimensions":[0-9]{1,9},$')
_MALFORMED = (KeyError, TypeError, ValueError, IndexError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True)
class GivenEntity:
    """An entity that a publisher brings along."""

    name: str
    type: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class GivenFact:
    """A relation that a publisher brings along. `valid_from` and `valid_to` are ISO dates or empty."""

    subject: str
    predicate: str
    object: str
    description: str = ""
    weight: float = 1.0
    valid_from: str = ""
    valid_to: str = ""


@dataclass(frozen=True, slots=True)
class DocumentMessage:
    """A published document. `entities` or `facts` other than None replace extraction, even when they are empty."""

    graph: str
    doc_id: str
    text: str
    info: DocumentInfo = field(default_factory=DocumentInfo)
    entities: tuple[GivenEntity, ...] | None = None
    facts: tuple[GivenFact, ...] | None = None

    @property
    def key(self) -> str:
        return document_key(self.graph, self.doc_id)

    def encode(self) -> bytes:
        """The same shape as the body of `PUT /v1/graphs/{graph}/documents/{id}`, and its schema."""
        body: dict[str, Any] = {"schema": SCHEMA, "text": self.text, **_info_out(self.info)}
        if self.entities is not None:
            body["entities"] = [asdict(entity) for entity in self.entities]
        if self.facts is not None:
            body["facts"] = [_filled(asdict(fact)) for fact in self.facts]
        return _dump(body)


@dataclass(frozen=True, slots=True)
class ExtractionMessage:
    """The outcome of the extract stage for one revision; `extraction` None says the document was deleted.

    `accepted_ms` is when the revision entered `documents` (milliseconds since the epoch): freshness is counted from it.
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
            return _dump(head | {"deleted": True})
        return _dump(head | _extraction_out(self.extraction))


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """A revision that could not be processed: why, after how many attempts, and the bytes as they came."""

    graph: str
    doc_id: str
    revision: int
    stage: str
    reason: str
    attempts: int
    original: bytes

    def encode(self) -> bytes:
        return _dump(
            {
                "schema": SCHEMA,
                "graph": self.graph,
                "doc_id": self.doc_id,
                "revision": self.revision,
                "stage": self.stage,
                "reason": self.reason.encode(errors="backslashreplace").decode(),
                "attempts": self.attempts,
                "original": base64.b64encode(self.original).decode(),
            }
        )


@dataclass(frozen=True, slots=True)
class DeltaNotice:
    """That a graph reached a version, and which entities (by node) changed on the way, themselves or in an edge.

    The delta itself comes in `parts` records behind the notice; 0: it is not sent, look at the store. `replaced` says
    that the graph was rebuilt: nodes mean something else now, and all of them changed.

    One without a version (0) tells of no change: `wanted` are communities whose report a question would have read.
    """

    graph: str
    version: int
    nodes: tuple[int, ...] = ()
    parts: int = 0
    replaced: bool = False
    wanted: tuple[int, ...] = ()

    def encode(self) -> bytes:
        body: dict[str, Any] = {"schema": SCHEMA, "graph": self.graph, "version": self.version}
        body["nodes"] = list(self.nodes)
        if self.parts:
            body["parts"] = self.parts
        if self.replaced:
            body["replaced"] = True
        if self.wanted:
            body["wanted"] = list(self.wanted)
        return _dump(body)


def document_key(graph: str, doc_id: str) -> str:
    return f"{graph}|{doc_id}"


def split_document_key(key: str) -> tuple[str, str]:
    """(graph, doc_id). A graph's name holds no `|`, a document's id may. Raises Rejected for what names neither."""
    graph, bar, doc_id = key.partition("|")
    if not bar or not graph or not doc_id.strip():
        raise Rejected(f"the record's key {key[:80]!r} is not of the form graph|doc_id")
    if _GRAPH.fullmatch(graph) is None:
        raise Rejected(f"{graph[:80]!r} is not a graph's name: 1 to 64 of A-Z a-z 0-9 _ . - and no dot in front")
    if len(doc_id) > MAX_ID_CHARS:
        raise Rejected(f"the document's id has {len(doc_id)} characters; the limit is {MAX_ID_CHARS}")
    if not doc_id.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in doc_id):
        raise Rejected(f"the document's id {doc_id[:80]!r} holds a control character or half a surrogate pair")
    return graph, doc_id


def decode_document(key: str, value: bytes) -> DocumentMessage:
    """The document in a `documents` record. Raises Rejected, naming what is wrong with it."""
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
        )
    except _MALFORMED as error:
        raise Rejected(f"the document record is malformed: {_said(error)}") from error


def decode_extraction(value: bytes) -> ExtractionMessage:
    """The message in an `extractions` record. Raises Rejected, naming what is wrong with it."""
    body = _load_extraction(value)
    try:
        extraction = None if body.get("deleted") else _extraction_in(body)
        graph, doc_id = split_document_key(document_key(body["graph"], body["doc_id"]))
        return ExtractionMessage(graph, doc_id, int(body["revision"]), extraction, int(body.get("accepted_ms", 0)))
    except _MALFORMED as error:
        raise Rejected(f"the extraction record is malformed: {_said(error)}") from error


def decode_stored(graph: str, doc_id: str, value: bytes) -> Extraction | None:
    """The extraction of a document as the store holds it; None for a deleted one.

    Raises Broken when it cannot be read: it was written by this program, so the store is damaged.
    """
    try:
        return decode_extraction(value).extraction
    except Rejected as error:
        raise Broken(
            f"the stored extraction of document {doc_id!r} of graph {graph!r} is damaged ({error}):"
            " restore the data from a backup"
        ) from error


def extraction_of(value: bytes) -> tuple[str, str, int] | None:
    """(graph, doc_id, revision) that a record of `extractions` names, however little else of it can be read."""
    try:
        body = json.loads(value)
        return (*split_document_key(document_key(body["graph"], body["doc_id"])), int(body["revision"]))
    except (Rejected, *_MALFORMED):
        return None


def decode_dead_letter(value: bytes) -> DeadLetter:
    body = _load(value)
    try:
        fields = (body["graph"], body["doc_id"], int(body["revision"]), body["stage"], body["reason"])
        return DeadLetter(*fields, int(body["attempts"]), base64.b64decode(body["original"]))
    except _MALFORMED as error:
        raise Rejected(f"the dead letter is malformed: {_said(error)}") from error


def decode_notice(value: bytes) -> DeltaNotice:
    body = _load(value)
    try:
        nodes = tuple(map(int, body["nodes"]))
        wanted = tuple(map(int, body.get("wanted", ())))
        said = (int(body.get("parts", 0)), bool(body.get("replaced", False)), wanted)
        return DeltaNotice(_string(body["graph"]), int(body["version"]), nodes, *said)
    except _MALFORMED as error:
        raise Rejected(f"the delta notice is malformed: {_said(error)}") from error


def unit_key(
    text: str,
    vector: Vector,
    mentions: tuple[Mention, ...],
    facts: tuple[Fact, ...],
    heading: tuple[str, str] = NO_HEADING,
) -> bytes:
    """16 bytes that identify everything a unit contributes; where it stands in the document is not part of it.

    `heading` is its title and description.
    """
    digest = blake2b(digest_size=16)
    stated = [text, [_mention_out(m) for m in mentions], [_fact_out(f) for f in facts]]
    digest.update(_dump([*stated, heading] if any(heading) else stated))
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
    # Beside the units, not in them: who does not know of headings reads all the rest.
    headings = [(unit.title, unit.description) for unit in extraction.units]
    return body | ({"headings": headings} if any(map(any, headings)) else {})


def _extraction_in(body: dict[str, Any]) -> Extraction:
    dimensions = int(body["dimensions"])
    block = np.frombuffer(base64.b64decode(body["vectors"]), np.float16)
    table = block.reshape(-1, dimensions) if dimensions else block.reshape(0, 1)
    if not (np.isfinite(table).all() and table.any(axis=1).all()):
        raise ValueError("a vector is zero or not finite")
    rows = iter(table)
    headings = _headings_in(body.get("headings"), len(body["units"]))
    units = []
    for (key, text, start, end, mentions, facts), heading in zip(body["units"], headings, strict=True):
        vector = _next(rows)
        seen = tuple(Mention(name, type_, said, _next(rows)) for name, type_, said in mentions)
        if any(len(fact) not in FACT_FIELDS for fact in facts):
            raise ValueError("a fact has another number of fields")
        held = tuple(Fact(s, p, o, said, line, w, _next(rows), *times) for s, p, o, said, line, w, *times in facts)
        if any(not 0 <= place < len(seen) for fact in held for place in (fact.subject, fact.object)):
            raise ValueError("a fact is about a mention that is not there")
        units.append(ChunkContribution(bytes.fromhex(key), text, start, end, vector, seen, held, *heading))
    gaps = tuple(body["gaps"])
    if gaps and len(gaps) != len(units) + 1:
        raise ValueError(f"{len(gaps)} gaps do not fit around {len(units)} units")
    return Extraction(body["doc_id"], int(body["revision"]), _info_in(body["info"]), tuple(units), gaps)


def _next(rows: Iterator[Vector]) -> Vector:
    # StopIteration inside a generator expression would come out as a RuntimeError.
    row = next(rows, None)
    if row is None:
        raise ValueError("there are fewer vectors than texts")
    return row


def _filled(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value != ""}


def _entity_in(body: dict[str, Any]) -> GivenEntity:
    return GivenEntity(_text(body["name"], "name"), _string(body.get("type", "")), _string(body.get("description", "")))


def _fact_in(body: dict[str, Any]) -> GivenFact:
    subject, predicate, object_ = (_text(body[name], name) for name in ("subject", "predicate", "object"))
    weight = float(body.get("weight", 1.0))
    if not (math.isfinite(weight) and 0 < weight <= MAX_WEIGHT):
        raise ValueError(f"a weight of {weight:g} is not above 0 and at most {MAX_WEIGHT:g}")
    times = [_string(body.get(name) or "") for name in ("valid_from", "valid_to")]
    if any(time and date_span(time) is None for time in times):
        raise ValueError("valid_from and valid_to are ISO dates")
    return GivenFact(subject, predicate, object_, _string(body.get("description", "")), weight, *times)


def _mention_out(mention: Mention) -> list[str]:
    return [mention.name, mention.type, mention.description]


def _fact_out(fact: Fact) -> list[Any]:
    said = [fact.subject, fact.predicate, fact.object, fact.description, fact.sentence, fact.weight_milli]
    return [*said, fact.valid_from, fact.valid_to]


def _headings_in(rows: list[Any] | None, count: int) -> list[tuple[str, str]]:
    """Of each unit. Records from before there were headings, or of what no model read, have none."""
    held = [(_string(title), _string(said)) for title, said in rows or [NO_HEADING] * count]
    if len(held) != count:
        raise ValueError(f"{len(held)} headings do not fit {count} units")
    return held


def _info_out(info: DocumentInfo) -> dict[str, Any]:
    metadata = {key: json.loads(value) for key, value in info.metadata}
    said = {"title": info.title, "source": info.source, "occurred_at": info.occurred_at, "metadata": metadata}
    return {name: value for name, value in said.items() if value}


def _info_in(body: dict[str, Any]) -> DocumentInfo:
    metadata = body.get("metadata") or {}
    return DocumentInfo(
        _string(body.get("title") or ""),
        _string(body.get("source") or ""),
        _date(_string(body.get("occurred_at") or "")),
        metadata_pairs(metadata),
    )


def _date(value: str) -> str:
    """Keep a date as it is stored, so that rebuilt equals incremental; one that cannot be read counts as no date."""
    if value and date_span(value) is None:
        log.warning(
            "occurred_at %.40r is not an ISO date: it counts as no date; publish the document with another", value
        )
    return value


def metadata_pairs(metadata: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Metadata as it is kept: sorted pairs of key and JSON value. Raises ValueError for what JSON cannot hold."""
    _check_json(metadata, 0)
    return tuple(sorted((_string(key), _dump(value).decode()) for key, value in metadata.items()))


def _text(value: object, field: str) -> str:
    text = _string(value)
    if not text.strip():
        raise ValueError(f"{field} is empty")
    return text


def _string(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__}")
    if "\0" in value:
        raise ValueError("a text holds a NUL character")
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
        raise ValueError("metadata holds a number that is not finite, which JSON does not know")


def _said(error: Exception) -> str:
    """An error in a few words. (The repr of a UnicodeEncodeError would be the whole text.)"""
    return f"{type(error).__name__}: {str(error)[:200]}"


def _dump(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def _load_extraction(value: bytes) -> dict[str, Any]:
    """Load the record without its vectors, and put them in as bytes: most of it is not parsed as JSON, which holds the
    interpreter lock. No other `"vectors":"` can follow theirs, since a quote inside of a string is escaped.
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
        body = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise Rejected(f"the record is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise Rejected(f"the record is a JSON {type(body).__name__}, not an object")
    schema = body.get("schema", SCHEMA)
    if schema != SCHEMA:
        named = repr(schema)[:40] if isinstance(schema, int | str) else type(schema).__name__
        raise Rejected(f"the record has schema {named}; this version reads schema {SCHEMA}")
    return body
