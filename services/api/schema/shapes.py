"""JSON forms of the application's answers, which HTTP sends and the command line reads.

`services/application.py` defines the types. The contract fixes names and nesting.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, cast

from graphtide.graph.text.place import Place
from graphtide.services.api.schema.renamed_fields import RENAMED_FIELDS
from graphtide.services.application import (
    Answer,
    Change,
    CommunityReport,
    Usage,
)
from graphtide.services.component_state import ComponentState
from graphtide.streams.json_parts import dump, dump_in_parts

__all__ = [
    "answer_json",
    "change_json",
    "context_json",
    "dump",
    "dump_in_parts",
    "fields_json",
    "page_json",
    "reports_json",
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


def _is_known(value: object, name: str) -> bool:
    """Return False for an unknown cost, which is omitted."""
    return not (isinstance(value, Usage) and getattr(value, name) is None)


def _plain(value: object, old_names: bool = False) -> object:
    """Return dataclasses and mappings as dicts and sequences as lists, recursively."""
    if isinstance(value, Place):
        return value.known()
    if isinstance(value, ComponentState):
        return value.text
    if is_dataclass(value) and not isinstance(value, type):
        known = (each.name for each in fields(value) if _is_known(value, each.name))
        body = {name: _plain(getattr(value, name), old_names) for name in known}
        renamed = RENAMED_FIELDS.get(type(value), {}) if old_names else {}
        return body | {old: body[new] for new, old in renamed.items()}
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, old_names) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, old_names) for inner in value]
    return value
