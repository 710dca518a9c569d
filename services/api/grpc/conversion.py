"""Conversion between protobuf messages and the application's types.

Requests become the JSON values that the validation of HTTP reads, so both follow the same rules; a field that proto3
cannot distinguish from an unset one counts as omitted. Answers are copied field by field.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from google.protobuf.json_format import ParseDict
from google.protobuf.struct_pb2 import Struct, Value

from graphtide.services.api.schema import graphtide_pb2 as pb
from graphtide.services.api.schema.errors import Rejection
from graphtide.services.api.schema.shapes import Json, fields_json, reports_json
from graphtide.services.application import (
    Answer,
    CommunityReport,
    Digest,
    DocumentStatus,
    EntityStatus,
    Filters,
    GraphStats,
    LetterList,
    LetterQuery,
    LetterStatus,
    Purged,
    QueryRequest,
    Rebuilt,
    RelatedDocuments,
    Usage,
    Verification,
)


def document_value(request: pb.PublishRequest) -> Json:
    """Return the document as the JSON value of a batch over HTTP."""
    body: Json = {"id": request.id, "text": request.text}
    body |= _filled(request, "title", "source", "occurred_at")
    if request.HasField("metadata"):
        body["metadata"] = _struct_value(request.metadata)
    if request.HasField("entities"):
        body["entities"] = [_entity_value(entity) for entity in request.entities.items]
    if request.HasField("facts"):
        body["facts"] = [_fact_value(fact) for fact in request.facts.items]
    return body


def _entity_value(entity: pb.Entity) -> Json:
    return {"name": entity.name, **_filled(entity, "type", "description")}


def _fact_value(fact: pb.Fact) -> Json:
    body: Json = {"subject": fact.subject, "predicate": fact.predicate, "object": fact.object}
    if fact.HasField("weight"):
        body["weight"] = fact.weight
    return body | _filled(fact, "description", "valid_from", "valid_to")


def question_value(request: pb.QueryRequest) -> Json:
    """Return the question as the JSON value of a request over HTTP."""
    body: Json = {"question": request.question, "explain": request.explain, **_filled(request, "mode", "after")}
    body |= {name: getattr(request, name) for name in ("top_k", "generate", "level") if request.HasField(name)}
    if request.HasField("filters"):
        filters = request.filters
        chosen: Json = _filled(filters, "occurred_from", "occurred_to", "as_of")
        chosen |= {name: list(getattr(filters, name)) for name in ("doc_ids", "sources") if getattr(filters, name)}
        if filters.HasField("metadata"):
            chosen["metadata"] = _struct_value(filters.metadata)
        body["filters"] = chosen
    return body


def question_message(graph: str, ask: QueryRequest) -> pb.QueryRequest:
    """Return the question as a forwarding process sends it; the deadline of the call carries the timeout."""
    request = pb.QueryRequest(
        graph=graph,
        question=ask.question,
        mode=ask.mode,
        top_k=ask.top_k,
        after=ask.after,
        generate=ask.generate,
        explain=ask.explain,
        level=ask.level,
    )
    filters = ask.filters
    if filters != Filters():
        chosen = pb.Filters(
            doc_ids=filters.doc_ids,
            sources=filters.sources,
            metadata=_struct(dict(filters.metadata)),
            occurred_from=filters.occurred_from,
            occurred_to=filters.occurred_to,
            as_of=filters.as_of,
        )
        request.filters.CopyFrom(chosen)
    return request


def _filled(message: object, *names: str) -> Json:
    return {name: getattr(message, name) for name in names if getattr(message, name)}


def _struct_value(struct: Struct) -> Json:
    return {name: _plain(value) for name, value in struct.fields.items()}


def _plain(value: Value) -> object:
    """Return the JSON value. A Struct holds doubles only: whole numbers become integers, as over HTTP."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _struct_value(value.struct_value)
    if kind == "list_value":
        return [_plain(inner) for inner in value.list_value.values]
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return None if kind in (None, "null_value") else getattr(value, kind)


def _struct(value: Mapping[str, object]) -> Struct:
    """Return the value as a Struct, converted through JSON: nested tuples become lists."""
    parsed: Struct = ParseDict(json.loads(json.dumps(value, default=dict)), Struct())
    return parsed


def rejections(rejected: Iterable[Rejection]) -> list[pb.Rejection]:
    return [pb.Rejection(index=r.index, id=r.id, field=r.field, message=r.message) for r in rejected]


def status_message(status: DocumentStatus) -> pb.DocumentStatus:
    """Return the status of a document as a message."""
    facts = [
        pb.StatedFact(
            subject=f.subject,
            predicate=f.predicate,
            object=f.object,
            description=f.description,
            weight=f.weight,
            evidence=f.evidence,
            chunk_id=f.chunk_id,
            valid_from=f.valid_from,
            valid_to=f.valid_to,
            ended_by=f.ended_by,
            instead=f.instead,
        )
        for f in status.facts
    ]
    return pb.DocumentStatus(
        graph=status.graph,
        doc_id=status.doc_id,
        state=str(status.state),
        revision=status.revision,
        reason=status.reason,
        token=status.token,
        live_revision=status.live_revision,
        title=status.title,
        source=status.source,
        occurred_at=status.occurred_at,
        metadata=_struct(status.metadata),
        text=status.text,
        facts=facts,
        usage=_usage(status.usage),
    )


def answer_message(answer: Answer) -> pb.Answer:
    """Return the answer with its context as a message."""
    return pb.Answer(
        answer=answer.answer,
        citations=[pb.Citation(doc_id=c.doc_id, chunk_id=c.chunk_id, text=c.text) for c in answer.citations],
        passages=[
            pb.Passage(doc_id=p.doc_id, chunk_id=p.chunk_id, score=p.score, text=p.text) for p in answer.passages
        ],
        subgraph=_subgraph(answer),
        version=answer.version,
        mode=answer.mode,
        usage=_usage(answer.usage),
        trace=[_struct(step) for step in answer.trace or ()],
        parts=[pb.Part(title=p.title, text=p.text, sources=p.sources, score=p.score) for p in answer.parts],
        chosen=answer.chosen,
    )


def _usage(usage: Usage) -> pb.Usage:
    tokens = {"prompt_tokens": usage.prompt_tokens, "completion_tokens": usage.completion_tokens}
    return pb.Usage(llm_calls=usage.llm_calls, **tokens, cost=usage.cost)


def entity_message(status: EntityStatus) -> pb.EntityStatus:
    """Return an entity as a message; its fields have the names of the JSON fields."""
    message: pb.EntityStatus = ParseDict(fields_json(status), pb.EntityStatus())
    return message


def digest_message(digest: Digest) -> pb.GraphDigest:
    return pb.GraphDigest(version=digest.version, digest=digest.digest)


def verification_message(found: Verification) -> pb.Verification:
    """Return the result of a verification as a message."""
    return pb.Verification(
        graph=found.graph,
        version=found.version,
        digest=found.digest,
        recounted=found.recounted,
        differences=found.differences,
        checked=dict(found.checked),
    )


def rebuilt_message(built: Rebuilt) -> pb.Rebuilt:
    """Return the result of a rebuild as a message."""
    return pb.Rebuilt(
        graph=built.graph, version=built.version, before=built.before, after=built.after, switched=built.switched
    )


def purged_message(purged: Purged) -> pb.Purged:
    """Return the result of a purge as a message."""
    sizes = {"size_before_bytes": purged.size_before_bytes, "size_after_bytes": purged.size_after_bytes}
    return pb.Purged(removed=dict(purged.removed), **sizes, remaining=purged.remaining)


def related_message(found: RelatedDocuments) -> pb.RelatedList:
    """Return the related documents of a document as a message."""
    message: pb.RelatedList = ParseDict(fields_json(found), pb.RelatedList())
    return message


def reports_message(reports: Sequence[CommunityReport]) -> pb.ReportList:
    """Return the reports as a message."""
    message: pb.ReportList = ParseDict(reports_json(reports), pb.ReportList())
    return message


def letter_message(letter: LetterStatus) -> pb.DeadLetter:
    """Return a dead letter as a message."""
    message: pb.DeadLetter = ParseDict(fields_json(letter), pb.DeadLetter())
    return message


def letters_message(listed: LetterList) -> pb.DeadLetterList:
    """Return a page of dead letters as a message."""
    return pb.DeadLetterList(letters=[letter_message(letter) for letter in listed.letters], next=listed.next)


def letter_query(request: pb.DeadLetterQuery) -> LetterQuery:
    """Return the requested page of dead letters."""
    limit = {"limit": request.limit} if request.HasField("limit") else {}
    return LetterQuery(after=request.after, settled=request.settled, **limit)


def _subgraph(answer: Answer) -> pb.Subgraph:
    return pb.Subgraph(
        nodes=[pb.Node(id=n.id, name=n.name, type=n.type, score=n.score) for n in answer.nodes],
        edges=[
            pb.Edge(
                id=e.id,
                source=e.source,
                predicate=e.predicate,
                target=e.target,
                weight=e.weight,
                valid_from=e.valid_from,
                valid_to=e.valid_to,
                ended_by=e.ended_by,
                instead=e.instead,
            )
            for e in answer.edges
        ],
    )


def stats_message(stats: GraphStats) -> pb.GraphStats:
    """Return the counts of a graph as a message."""
    return pb.GraphStats(
        graph=stats.graph,
        version=stats.version,
        counts=dict(stats.counts),
        revisions=dict(stats.revisions),
        lag=stats.lag,
        freshness_s=stats.freshness_s,
        event_to_queryable_ms=dict(stats.event_to_queryable_ms),
        kernels=dict(stats.kernels),
        models=dict(stats.models),
        indexes={name: _struct(index) for name, index in stats.indexes.items()},
        spending={name: _struct(spent) for name, spent in stats.spending.items()},
    )
