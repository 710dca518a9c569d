"""The database's schema: constraints and indexes in each server's dialect, and the stored schema number."""

from __future__ import annotations

from enum import StrEnum

from graphtide.infra.bolt.cypher.tables import NODE_TABLES


class Dialect(StrEnum):
    """The server's DDL dialect; all other statements are the same."""

    NEO4J = "neo4j"
    MEMGRAPH = "memgraph"


READ_SCHEMA = "MATCH (s:Schema {name: 'graphtide'}) RETURN s.version AS version, s.restoring AS restoring"
BEGIN_RESTORE = "MERGE (s:Schema {name: 'graphtide'}) SET s.restoring = true"
END_RESTORE = "MATCH (s:Schema {name: 'graphtide'}) SET s.version = $version, s.history = $history REMOVE s.restoring"
HISTORY = "MERGE (s:Schema {name: 'graphtide'}) SET s.history = coalesce(s.history, $fresh) RETURN s.history AS history"
PUT_SCHEMA = "MERGE (s:Schema {name: 'graphtide'}) SET s.version = $version"
STORAGE_INFO = "SHOW STORAGE INFO"


UNIQUE = (
    *((table.label, "key") for table in NODE_TABLES),
    ("Watermark", "partition"),
    ("Notice", "key"),
    ("Graph", "name"),
    ("Build", "scope"),
    ("Standing", "key"),
    ("Verdict", "key"),
    ("Report", "key"),
    ("Revision", "key"),
    ("Revision", "place"),
    ("RevisionClock", "partition"),
    ("Total", "key"),
    ("Memo", "key"),
    ("MemoTable", "name"),
    ("Counter", "name"),
    ("BooksWorker", "epoch"),
    ("Account", "key"),
    ("Spending", "key"),
    ("OpenCall", "key"),
    ("DocumentSpending", "key"),
    ("Schema", "name"),
    ("Question", "key"),
    ("QuestionEvent", "key"),
)
"""Labels with one node per value of the property. Memgraph's constraint creates no index."""

INDEXED = (
    *((table.label, "scope") for table in NODE_TABLES),
    ("Entity", "name"),
    ("Document", "doc_id"),
    ("Chunk", "chunk_id"),
    ("Standing", "live"),
    ("Verdict", "graph"),
    ("Report", "graph"),
    ("Revision", "document"),
    ("Revision", "pending"),
    ("Revision", "waiting_since"),
    ("Total", "graph"),
    ("Memo", "slot"),
    ("BooksWorker", "touched_ms"),
    ("OpenCall", "worker"),
    ("OpenCall", "account"),
    ("Spending", "account"),
    ("Spending", "graph"),
    ("Question", "graph"),
    ("QuestionEvent", "answer_due"),
    ("QuestionEvent", "unsent"),
)
"""Entity(name), Document(doc_id) and Chunk(chunk_id) are for human readers."""

INDEXED_RELATIONSHIPS = (("RELATES", "key"), ("SAME_AS", "key"))


def schema(dialect: Dialect) -> tuple[str, ...]:
    """Return the DDL. Neo4j ignores what exists; Memgraph does so for indexes, and reports an error for constraints."""
    if dialect is Dialect.NEO4J:
        return (
            *(
                f"CREATE CONSTRAINT {label.lower()}_{name} IF NOT EXISTS FOR (x:{label}) REQUIRE x.{name} IS UNIQUE"
                for label, name in UNIQUE
            ),
            *(
                f"CREATE INDEX {label.lower()}_{name} IF NOT EXISTS FOR (x:{label}) ON (x.{name})"
                for label, name in INDEXED
            ),
            *(
                f"CREATE CONSTRAINT {type_.lower()}_{name} IF NOT EXISTS"
                f" FOR ()-[x:{type_}]-() REQUIRE x.{name} IS UNIQUE"
                for type_, name in INDEXED_RELATIONSHIPS
            ),
            "CALL db.awaitIndexes(300)",
        )
    return (
        *(f"CREATE CONSTRAINT ON (x:{label}) ASSERT x.{name} IS UNIQUE" for label, name in UNIQUE),
        *(f"CREATE INDEX ON :{label}({name})" for label, name in (*UNIQUE, *INDEXED)),
        *(f"CREATE EDGE INDEX ON :{type_}({name})" for type_, name in INDEXED_RELATIONSHIPS),
    )
