"""Values of the graph database for documents, verdicts and reports."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from graphtide.graph.reports.rows import finding_values, findings_of
from graphtide.graph.resolution import PairKey, Verdict
from graphtide.infra.bolt.codec import digest_key, from_bytes, from_json, key, to_bytes
from graphtide.infra.bolt.database import Row
from graphtide.streams.ports import (
    ReportFinding,
    ReportRow,
    StoredDocument,
)


def standing_rows(graph: str, standings: Mapping[str, StoredDocument]) -> list[Row]:
    """Return the rows of documents by id, with their extractions."""
    return [
        {
            "key": key(graph, doc_id),
            "doc_id": doc_id,
            "live": None if document.extraction is None else graph,
            "revision": document.revision,
            "extraction": None if document.extraction is None else from_bytes(document.extraction),
        }
        for doc_id, document in standings.items()
    ]


def verdict_rows(graph: str, verdicts: Mapping[PairKey, Verdict]) -> list[Row]:
    """Return the rows of a judge's verdicts by pair."""
    return [
        {
            "key": digest_key(graph, *a, *b),
            "a_name": a[0],
            "a_type": a[1],
            "b_name": b[0],
            "b_type": b[1],
            "same": int(verdict),
        }
        for (a, b), verdict in verdicts.items()
    ]


def report_row(graph: str, scope: str, row: ReportRow) -> Row:
    """Return the row of a report in one scope of the graph."""
    return {
        "key": key(graph, row.community),
        "community_key": key(scope, row.community),
        "community": row.community,
        "level": row.level,
        "fingerprint": row.fingerprint,
        "version": row.version,
        "title": row.title,
        "summary": row.summary,
        "sources": list(row.sources),
        "findings": from_json(finding_values(row.findings)),
        "rating": row.rating,
    }


def read_findings(text: str) -> tuple[ReportFinding, ...]:
    """Return the findings of a stored report."""
    return findings_of(json.loads(text))


def bytes_of_value(text: Any) -> bytes | None:
    """Return the bytes of a stored value; None for null."""
    return None if text is None else to_bytes(text)
