"""What the application answers, as JSON: the shapes that HTTP sends and the command line reads.

Not the application's types themselves: `services/application.py`. Names and nesting are fixed by the contract.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass

from graphtide.services.application import (
    Answer,
    CommunityReport,
    Digest,
    DocumentStatus,
    EntityStatus,
    GraphStats,
    Health,
    LetterList,
    LetterStatus,
    Purged,
    Rebuilt,
    RelatedDocuments,
    Usage,
    Verification,
)

Json = dict[str, object]

LONG_LIST = 16


def dump(body: object) -> bytes:
    """Compact JSON in UTF-8."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()


def dump_in_parts(body: object) -> bytes:
    """The same as `dump`, with a call for each element of a long list, so that no call holds the interpreter long."""
    if isinstance(body, dict):
        return b"{%s}" % b",".join(dump(str(key)) + b":" + dump_in_parts(value) for key, value in body.items())
    if isinstance(body, list) and len(body) > LONG_LIST:
        return b"[%s]" % b",".join(map(dump, body))
    return dump(body)


def answer_json(answer: Answer) -> Json:
    """The answer; `trace` is there only when it was asked for, `parts` and `chosen` only where the mode has them."""
    body: Json = {
        "answer": answer.answer,
        "citations": _plain(answer.citations),
        "passages": _plain(answer.passages),
        "subgraph": {"nodes": _plain(answer.nodes), "edges": _plain(answer.edges)},
        "version": answer.version,
        "mode": answer.mode,
        "usage": _plain(answer.usage),
    }
    if answer.parts:
        body["parts"] = _plain(answer.parts)
    if answer.chosen:
        body["chosen"] = answer.chosen
    if answer.trace is not None:
        body["trace"] = _plain(answer.trace)
    return body


def context_json(answer: Answer) -> Json:
    """The first event of a streamed answer: all but the text."""
    body = answer_json(answer)
    del body["answer"]
    return body


Said = (
    DocumentStatus
    | RelatedDocuments
    | EntityStatus
    | GraphStats
    | Digest
    | Verification
    | Purged
    | Rebuilt
    | Health
    | LetterStatus
    | LetterList
)


def fields_json(said: Said) -> Json:
    """The fields by their names."""
    return {each.name: _plain(getattr(said, each.name)) for each in fields(said)}


def graphs_json(graphs: Mapping[str, int]) -> Json:
    return {"graphs": [{"graph": name, "version": version} for name, version in sorted(graphs.items())]}


def reports_json(reports: Sequence[CommunityReport]) -> Json:
    return {"reports": _plain(list(reports))}


def _is_said(value: object, name: str) -> bool:
    """A cost that nobody knows is left out."""
    return not (isinstance(value, Usage) and getattr(value, name) is None)


def _plain(value: object) -> object:
    """Dataclasses and mappings as dicts, sequences as lists, all the way down."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if _is_said(value, each.name)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
