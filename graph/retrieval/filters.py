"""Which passages a question may be answered from.

Not a ranking, and not a permission: what a filter refuses is neither a seed, nor a candidate, nor one of a pair, nor
shown in a trace; but the graph stays whole, so a walk may cross what it also knows from there, and weights count it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from graph.records import DocumentInfo, DocumentRow
from graph.retrieval.request import Filters
from graph.view import LiveView

Admits = Callable[[int], bool]


def admitted_chunks(view: LiveView, filters: Filters) -> Admits | None:
    """A test of a chunk's number, or None when the filters admit everything. Each document is judged once."""
    if filters == Filters():
        return None
    wanted = tuple((key, _canonical(value)) for key, value in filters.metadata)
    judged: dict[str, bool] = {}

    def admits(chunk: int) -> bool:
        doc_id = view.chunks[chunk].doc_id
        verdict = judged.get(doc_id)
        if verdict is None:
            verdict = judged[doc_id] = _fits(view.documents, doc_id, filters, wanted)
        return verdict

    return admits


def _fits(
    documents: Mapping[str, DocumentRow], doc_id: str, filters: Filters, wanted: tuple[tuple[str, str], ...]
) -> bool:
    if filters.doc_ids and doc_id not in filters.doc_ids:
        return False
    row = documents.get(doc_id)
    info = row.info if row else DocumentInfo()
    if filters.sources and info.source not in filters.sources:
        return False
    if not within(info.occurred_at, filters.occurred_from, filters.occurred_to):
        return False
    held = dict(info.metadata)
    return all(key in held and _canonical(json.loads(held[key])) == value for key, value in wanted)


def within(moment: str, earliest: str, latest: str) -> bool:
    """Whether an ISO date lies in a range, both ends inclusive and of any precision; "" is an open end.

    Dates are compared as strings, which orders them within one time zone. Against `latest` only as much of the date
    counts as `latest` says: noon of 31 December is in a range that ends with the year.
    """
    if not earliest and not latest:
        return True
    if not moment:
        return False
    return (not earliest or moment >= earliest) and (not latest or moment[: len(latest)] <= latest)


def _canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)
