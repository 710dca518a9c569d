"""Between protobuf messages and the application's types.

Requests become the JSON values that the validation of HTTP reads, so both are judged alike; a field that proto3 cannot
tell from "not sent" counts as left out. Answers are copied field by field.
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
    """The document as HTTP would have sent it in a batch."""
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
    """The question as HTTP would have sent it."""
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
    """The question as a process that forwards it sends it; how long to wait is the call's own deadline."""
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
    """The JSON value. A Struct knows doubles only: whole numbers become integers, as over HTTP."""
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _struct_value(value.struct_value)
    if kind == "list_value":
        return [_plain(inner) for inner in value.list_value.values]
    if kind == "number_value":
        return int(value.number_value) if value.number_value.is_integer() else value.number_value
    return None if kind in (None, "null_value") else getattr(value, kind)


def _struct(value: Mapping[str, object]) -> Struct:
    """The value as a Struct, by way of JSON: nested tuples become lists."""
    parsed: Struct = ParseDict(json.loads(json.dumps(value, default=dict)), Struct())
    return parsed


def rejections(rejected: Iterable[Rejection]) -> list[pb.Rejection]:
    return [pb.Rejection(index=r.index, id=r.id, field=r.field, message=r.message) for r in rejected]


def status_message(status: DocumentStatus) -> pb.DocumentStatus:
    """Where a document stands."""
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
    """The answer with its context."""
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
    """An entity; the message's fields have the names of the JSON ones."""
    message: pb.EntityStatus = ParseDict(fields_json(status), pb.EntityStatus())
    return message


def digest_message(said: Digest) -> pb.GraphDigest:
    return pb.GraphDigest(version=said.version, digest=said.digest)


def verification_message(said: Verification) -> pb.Verification:
    """What a recount found."""
    return pb.Verification(
        graph=said.graph,
        version=said.version,
        digest=said.digest,
        recounted=said.recounted,
        differences=said.differences,
        checked=dict(said.checked),
    )


def rebuilt_message(said: Rebuilt) -> pb.Rebuilt:
    """What a rebuild came to."""
    return pb.Rebuilt(
        graph=said.graph, version=said.version, before=said.before, after=said.after, switched=said.switched
    )


def purged_message(said: Purged) -> pb.Purged:
    """What a purge deleted."""
    sizes = {"size_before_bytes": said.size_before_bytes, "size_after_bytes": said.size_after_bytes}
    return pb.Purged(removed=dict(said.removed), **sizes, remaining=said.remaining)


def related_message(found: RelatedDocuments) -> pb.RelatedList:
    """The documents that go with one, likewise."""
    message: pb.RelatedList = ParseDict(fields_json(found), pb.RelatedList())
    return message


def reports_message(reports: Sequence[CommunityReport]) -> pb.ReportList:
    """The reports, likewise."""
    message: pb.ReportList = ParseDict(reports_json(reports), pb.ReportList())
    return message


def letter_message(letter: LetterStatus) -> pb.DeadLetter:
    """A dead letter, likewise."""
    message: pb.DeadLetter = ParseDict(fields_json(letter), pb.DeadLetter())
    return message


def letters_message(listed: LetterList) -> pb.DeadLetterList:
    """A page of them."""
    return pb.DeadLetterList(letters=[letter_message(one) for one in listed.letters], next=listed.next)


def letter_query(request: pb.DeadLetterQuery) -> LetterQuery:
    """Which page is asked for."""
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
    """The counts of a graph."""
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
