"""The list of all statements by name, for tests and for checks against another server's grammar."""

from __future__ import annotations

from graphtide.infra.bolt.cypher import documents, graphs, models, partitions, questions, revisions, rows, schema
from graphtide.infra.bolt.cypher.tables import (
    MENTIONS,
    NODE_TABLES,
    RELATES,
    SAME_AS,
    SUPPORTS,
    NodeTable,
    PairTable,
    PassageTable,
)

MODULES = (rows, partitions, graphs, documents, revisions, models, schema, questions)


def statements() -> dict[str, str]:
    """Return every statement by name, except the DDL: for tests, and for checks against another server's grammar."""
    constants = {
        name: text
        for module in MODULES
        for name, text in vars(module).items()
        if name.isupper() and isinstance(text, str)
    }
    found = {name.lower(): text for name, text in constants.items() if not name.startswith("_")}
    tables: tuple[NodeTable | PassageTable | PairTable, ...] = (*NODE_TABLES, MENTIONS, SUPPORTS, RELATES, SAME_AS)
    for table in tables:
        named = table.label if isinstance(table, NodeTable) else table.type
        for action in ("upsert", "ensure", "update", "create", "clear", "delete", "read", "count", "sweep"):
            if (text := getattr(table, action, None)) is not None:
                found[f"{action} {named}"] = text
    return found


FEW_NODES = frozenset({"graphs", "contents", "deleted_graphs", "leftovers", "read_calls", "unplaced_revisions"})
"""Statements that read every node of a label with at most one node per graph or process.

`unplaced_revisions` reads all revisions, and is sent only when a schema is upgraded.
"""
