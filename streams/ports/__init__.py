"""The ports of the stages: the log of records, the ledger of revisions, the store of graphs.

Each port has an in-memory reference in `tests/model/memory` that defines its meaning, and every adapter passes the
contract suite in `tests/contract`. Adapters raise only the errors of `streams/errors.py`.
"""

from graphtide.graph.reports.rows import ReportFinding, ReportRow
from graphtide.streams.ports.graph_store import (
    MAX_OVERWRITTEN,
    Commit,
    ContentSize,
    GraphCommit,
    GraphContent,
    GraphDeletion,
    GraphStore,
    Outbox,
    Overwritten,
    SnapshotUse,
    StoredDocument,
    Watermark,
)
from graphtide.streams.ports.ledger import Ledger, LedgerEntry, RevisionOutcome, RevisionState
from graphtide.streams.ports.log import ConsumedRecord, Consumer, Log, Position, Record

__all__ = [
    "MAX_OVERWRITTEN",
    "Commit",
    "ConsumedRecord",
    "Consumer",
    "ContentSize",
    "GraphCommit",
    "GraphContent",
    "GraphDeletion",
    "GraphStore",
    "Ledger",
    "LedgerEntry",
    "Log",
    "Outbox",
    "Overwritten",
    "Position",
    "Record",
    "ReportFinding",
    "ReportRow",
    "RevisionOutcome",
    "RevisionState",
    "SnapshotUse",
    "StoredDocument",
    "Watermark",
]
