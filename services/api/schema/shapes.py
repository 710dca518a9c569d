"""JSON forms of the application's answers, which HTTP sends and the command line reads.

`services/application` defines the types. The contract fixes names and nesting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from graphtide.graph.text.place import Place
from graphtide.services.api.schema.renamed_fields import RENAMED_FIELDS
from graphtide.services.application import (
    Answer,
    Change,
    CommunityReport,
    DocumentStatus,
    Usage,
)
from graphtide.services.component_state import ComponentState
from graphtide.streams.json_parts import Elements, dump, dump_in_parts

__all__ = [
    "answer_json",
    "change_json",
    "context_json",
    "dump",
    "dump_in_parts",
    "fields_json",
    "page_json",
    "reports_json",
    "status_json",
]

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Json = dict[str, object]


def answer_json(answer: Answer, old_names: bool = False) -> Json:
    """Return the answer; `trace` only when it was requested, `context_parts` and `mode_reason` only when set."""
    body: Json = {
        "answer": answer.answer,
        "citations": _plain(answer.citations),
        "passages": _plain(answer.passages),
        "subgraph": {"nodes": _plain(answer.nodes), "edges": _plain(answer.edges, old_names)},
        "version": answer.version,
        "mode": answer.mode,
        "usage": _plain(answer.usage),
    }
    if answer.context_parts:
        body["context_parts"] = _plain(answer.context_parts)
    if answer.mode_reason:
        body["mode_reason"] = answer.mode_reason
    if old_names:
        body |= {old: body[new] for new, old in RENAMED_FIELDS[Answer].items() if new in body}
    if answer.trace is not None:
        body["trace"] = _plain(answer.trace)
    return body


def context_json(answer: Answer, old_names: bool = False) -> Json:
    """Return the first event of a streamed answer: all fields except the text."""
    body = answer_json(answer, old_names)
    del body["answer"]
    return body


def fields_json(response: DataclassInstance, old_names: bool = False) -> Json:
    """Return the fields by their names; with `old_names` renamed ones under both names, as HTTP sends them."""
    return cast(Json, _plain(response, old_names))


def status_json(status: DocumentStatus) -> Json:
    """Return the fields of a document's status as HTTP sends them, for `dump_in_parts`: facts are made one by one."""
    body = fields_json(replace(status, facts=()), old_names=True)
    return body | {"facts": Elements(fields_json(fact, old_names=True) for fact in status.facts)}


def page_json(page: DataclassInstance) -> Json:
    """Return the fields of a page, without `next` on the last."""
    body = fields_json(page)
    if not body["next"]:
        del body["next"]
    return body


def change_json(change: Change) -> Json:
    """Return a change; `rebuilt` only when it is true, `rows` only when they were requested."""
    body = fields_json(change)
    if not change.rebuilt:
        del body["rebuilt"]
    if change.rows is None:
        del body["rows"]
    return body


def reports_json(reports: Sequence[CommunityReport]) -> Json:
    return {"reports": _plain(list(reports))}


_SCALARS = frozenset((str, int, float, bool, type(None)))


@lru_cache(maxsize=256)
def _names(kind: type[DataclassInstance]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Return the fields of a dataclass, and the pairs of an old name and the present one."""
    renamed = RENAMED_FIELDS.get(kind, {})
    return tuple(each.name for each in fields(kind)), tuple((old, new) for new, old in renamed.items())


def _plain(value: object, old_names: bool = False) -> object:
    """Return dataclasses and mappings as dicts and sequences as lists, recursively."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, list | tuple):
        return [_plain(inner, old_names) for inner in value]
    if isinstance(value, Place | ComponentState):
        return value.known() if isinstance(value, Place) else value.text
    if is_dataclass(value) and not isinstance(value, type):
        return _dataclass(value, old_names)
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, old_names) for key, inner in value.items()}
    return value


def _dataclass(value: DataclassInstance, old_names: bool) -> Json:
    names, renamed = _names(type(value))
    body: Json = {}
    for name in names:
        inner = getattr(value, name)
        body[name] = inner if type(inner) in _SCALARS else _plain(inner, old_names)  # most fields: a call costs more
    if isinstance(value, Usage):  # an unknown cost is omitted
        return {name: inner for name, inner in body.items() if inner is not None}
    if old_names:
        for old, new in renamed:
            body[old] = body[new]
    return body
