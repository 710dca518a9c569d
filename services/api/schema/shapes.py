"""JSON forms of the application's answers, which HTTP sends and the command line reads.

`services/application.py` defines the types. The contract fixes names and nesting.
"""

from __future__ import annotations

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
from graphtide.streams.json_parts import dump, dump_in_parts

__all__ = [
    "answer_json",
    "context_json",
    "dump",
    "dump_in_parts",
    "fields_json",
    "graphs_json",
    "reports_json",
]

Json = dict[str, object]


def answer_json(answer: Answer) -> Json:
    """Return the answer; `trace` only when it was requested, `parts` and `chosen` only when the mode sets them."""
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
    """Return the first event of a streamed answer: all fields except the text."""
    body = answer_json(answer)
    del body["answer"]
    return body


Response = (
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


def fields_json(response: Response) -> Json:
    """Return the fields by their names."""
    return {each.name: _plain(getattr(response, each.name)) for each in fields(response)}


def graphs_json(graphs: Mapping[str, int]) -> Json:
    return {"graphs": [{"graph": name, "version": version} for name, version in sorted(graphs.items())]}


def reports_json(reports: Sequence[CommunityReport]) -> Json:
    return {"reports": _plain(list(reports))}


def _is_known(value: object, name: str) -> bool:
    """Return False for an unknown cost, which is omitted."""
    return not (isinstance(value, Usage) and getattr(value, name) is None)


def _plain(value: object) -> object:
    """Return dataclasses and mappings as dicts and sequences as lists, recursively."""
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value) if _is_known(value, each.name)}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value
