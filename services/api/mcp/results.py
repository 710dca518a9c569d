"""Results of the tools as JSON, bounded in size, each with the version of the graph and links to its sources.

The invariant: a result has at most MAX_RESULT_CHARS characters; what was left out is stated in `truncated`. Texts of
documents are values of JSON strings, never instructions to the agent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from graphtide.graph.changes.summary import ChangedRelation
from graphtide.services.application import Answer, Citation, DocumentStatus, EntityStatus, RankedPassage
from graphtide.services.changes.types import Change

MAX_RESULT_CHARS = 40_000
PASSAGE_CHARS = 2_500
QUOTE_CHARS = 500
TEXT_CHARS = 20_000
MAX_FACTS = 50
MAX_RELATIONS = 40

Json = dict[str, Any]


def document_uri(graph: str, doc_id: str) -> str:
    return f"graphtide://{graph}/documents/{quote(doc_id, safe='')}"


def entity_uri(graph: str, entity_id: str) -> str:
    return f"graphtide://{graph}/entities/{quote(entity_id, safe='')}"


def report_uri(graph: str, community: int) -> str:
    return f"graphtide://{graph}/reports/{community}"


def answer_json(graph: str, answer: Answer) -> Json:
    """Return an answer with its citations; `[n]` in the text is the citation with that number."""
    body: Json = {"answer": clipped(answer.answer, TEXT_CHARS), "mode": answer.mode, "version": answer.version}
    return fitted({**body, "citations": [_citation(graph, each) for each in answer.citations]}, "citations")


def passages_json(graph: str, answer: Answer) -> Json:
    """Return the passages of an answer without its text."""
    body: Json = {"mode": answer.mode, "version": answer.version}
    return fitted({**body, "passages": [_passage(graph, each) for each in answer.passages]}, "passages")


def document_json(graph: str, status: DocumentStatus, start: int) -> Json:
    """Return a document with a part of its text from character `start`; `next_start` continues it."""
    end = start + TEXT_CHARS
    facts = [
        {"subject": each.subject, "predicate": each.predicate, "object": each.object, "ended_by": each.ended_by}
        for each in status.facts[:MAX_FACTS]
    ]
    body: Json = {
        "doc_id": status.doc_id,
        "uri": document_uri(graph, status.doc_id),
        "title": status.title,
        "source": status.source,
        "occurred_at": status.occurred_at,
        "state": status.state,
        "reason": status.reason,
        "revision": status.revision,
        "metadata": dict(status.metadata),
        "text": status.text[start:end],
        "chars": len(status.text),
        "facts": [{name: clipped(value, QUOTE_CHARS) for name, value in fact.items() if value} for fact in facts],
    }
    if end < len(status.text):
        body["next_start"] = end
    if len(json.dumps(body["metadata"], ensure_ascii=False)) > QUOTE_CHARS * 4:
        body["metadata"] = {"truncated": "the metadata is too long to be shown"}
    return fitted(body, "facts")


def entity_json(graph: str, entity: EntityStatus) -> Json:
    """Return an entity with its strongest relations and some passages that mention it."""
    relations = [
        {"id": each.id, "source": each.source, "predicate": each.predicate, "target": each.target}
        | ({"ended_by": each.ended_by} if each.ended_by else {})
        for each in entity.relations[:MAX_RELATIONS]
    ]
    body: Json = {
        "id": entity.id,
        "uri": entity_uri(graph, entity.id),
        "name": entity.name,
        "type": entity.type,
        "description": clipped(entity.description, PASSAGE_CHARS),
        "mentions": entity.mentions,
        "labels": [{"name": each.name, "mentions": each.mentions} for each in entity.labels[:MAX_FACTS]],
        "reports": [report_uri(graph, community) for community in entity.communities],
        "relations": relations,
        "relation_count": entity.relation_count,
        "version": entity.version,
    }
    return fitted(body, "relations")


def change_json(change: Change) -> Json:
    """Return a commit: its documents, and the names of what it added, changed and removed."""
    body: Json = {"version": change.version, "token": change.token, "committed_at": change.committed_at}
    body["documents"] = rows(change.documents[:MAX_FACTS], "id", "revision", "state")
    if change.rebuilt:
        body["rebuilt"] = True
    entities, relations = change.entities, change.relations
    found = {
        "entities_added": [each.name for each in entities.added],
        "entities_changed": [each.name for each in entities.changed],
        "entities_removed": [each.name for each in entities.removed],
        "relations_added": [_stated(each) for each in relations.added],
        "relations_changed": [_stated(each) for each in relations.changed],
        "relations_removed": [_stated(each) for each in relations.removed],
        "merged_into": [each.name for each in change.merges],
        "split": [each.name for each in change.splits],
    }
    for name, texts in found.items():
        if texts:
            body[name] = [clipped(text, QUOTE_CHARS) for text in texts[:MAX_RELATIONS]]
        if len(texts) > MAX_RELATIONS:
            body[f"{name}_left_out"] = len(texts) - MAX_RELATIONS
    return body


def _stated(relation: ChangedRelation) -> str:
    return f"{relation.subject_name} {relation.predicate} {relation.object_name}"


def fitted(body: Json, name: str) -> Json:
    """Return the body with as many items of its list `name` as fit, and `truncated` if some do not."""
    items: list[Any] = body[name]
    spare = MAX_RESULT_CHARS - len(_text({**body, name: []})) - 100
    kept = 0
    for item in items:
        spare -= len(_text(item)) + 2
        if spare < 0:
            break
        kept += 1
    if kept == len(items):
        return body
    return {**body, name: items[:kept], "truncated": f"{len(items) - kept} of {len(items)} {name} are left out"}


def clipped(text: str, chars: int) -> str:
    return text if len(text) <= chars else f"{text[: chars - 1]}…"


def as_text(body: Json) -> str:
    """Return the JSON text of a result, for hosts that read no structured content."""
    return _text(body)


def _citation(graph: str, citation: Citation) -> Json:
    return {
        "number": citation.number,
        "doc_id": citation.doc_id,
        "chunk_id": citation.chunk_id,
        "title": clipped(citation.title, QUOTE_CHARS),
        "quote": clipped(citation.quote, QUOTE_CHARS),
        "start": citation.start,
        "end": citation.end,
        "uri": document_uri(graph, citation.doc_id),
    }


def _passage(graph: str, passage: RankedPassage) -> Json:
    body = {"doc_id": passage.doc_id, "chunk_id": passage.chunk_id, "title": clipped(passage.title, QUOTE_CHARS)}
    text = clipped(passage.text, PASSAGE_CHARS)
    return {**body, "place": passage.place.path, "text": text, "uri": document_uri(graph, passage.doc_id)}


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def rows(items: Sequence[object], *names: str) -> list[Json]:
    """Return these attributes of each item."""
    return [{name: getattr(item, name) for name in names} for item in items]
