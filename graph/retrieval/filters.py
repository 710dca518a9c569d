"""Filters: the passages that a question may be answered from.

An excluded passage is neither a seed, nor a candidate, nor one of a pair, nor shown in a trace. A filter is not an
access control: the graph stays whole, so a walk may cross relations of excluded passages, and weights count them.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from graphtide.graph.records import DocumentInfo
from graphtide.graph.retrieval.types import Filters
from graphtide.graph.text.dates import DateRange
from graphtide.graph.validity.intervals import ValidityReader
from graphtide.graph.view import LiveView

ChunkPredicate = Callable[[int], bool]


def admitted_chunks(view: LiveView, filters: Filters) -> ChunkPredicate | None:
    """Return a test of a chunk's number, or None when the filters admit everything. Each document is tested once.

    Under `as_of` a passage is excluded when it states something, and nothing of it held at that moment. Raises
    ValueError for a date bound, or an `as_of`, that is not an ISO date.
    """
    if filters == Filters():
        return None
    dates = DateRange.between(filters.occurred_from, filters.occurred_to)
    judged: dict[str, bool] = {}
    validity = ValidityReader(view, filters.as_of)

    def admits(chunk: int) -> bool:
        doc_id = view.chunks[chunk].doc_id
        verdict = judged.get(doc_id)
        if verdict is None:
            row = view.documents.get(doc_id)
            verdict = judged[doc_id] = _fits(doc_id, row.info if row else DocumentInfo(), filters, dates)
        return verdict and validity.passage_in_force(chunk)

    return admits


def _fits(doc_id: str, info: DocumentInfo, filters: Filters, dates: DateRange) -> bool:
    if filters.doc_ids and doc_id not in filters.doc_ids:
        return False
    if filters.sources and info.source not in filters.sources:
        return False
    if not dates.holds(info.occurred_at):
        return False
    metadata = dict(info.metadata)
    return all(key in metadata and same_json(json.loads(metadata[key]), value) for key, value in filters.metadata)


def same_json(one: object, other: object) -> bool:
    """Return whether two JSON values are equal: numbers by value (1 is 1.0), objects whatever the order of their keys.

    Python's own comparison would also treat true as equal to 1.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_json(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same_json, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other
