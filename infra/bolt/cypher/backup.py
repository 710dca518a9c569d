"""Statements on the whole database: a backup and a restore read and write every node and relationship."""

from __future__ import annotations

from graphtide.infra.bolt.cypher.schema import Dialect


def hold_all() -> tuple[str, str]:
    """Lock every watermark, then every head, for writing: no commit happens until the transaction ends."""
    return (
        "MATCH (w:Watermark) WITH w ORDER BY w.partition SET w.lock = true REMOVE w.lock"
        " RETURN w.partition AS partition, w.next_offset AS next_offset",
        "MATCH (g:Graph) WITH g ORDER BY g.name SET g.lock = true REMOVE g.lock RETURN g.name AS name",
    )


def every_node() -> str:
    """Return all nodes except the schema and memo rows; rows of memo tables whose keys begin with $kept are
    included.
    """
    return (
        "MATCH (n) WHERE NOT n:Schema AND (NOT n:Memo OR n.key STARTS WITH $kept)"
        " RETURN id(n) AS id, labels(n) AS labels, properties(n) AS properties"
    )


def every_relationship() -> str:
    return "MATCH (a)-[r]->(b) RETURN id(a) AS a, id(b) AS b, type(r) AS type, properties(r) AS properties"


def restored_index(dialect: Dialect, drop: bool) -> str:
    """Create or drop the index by which relationships find the nodes that are being restored."""
    if dialect is Dialect.MEMGRAPH:
        return f"{'DROP' if drop else 'CREATE'} INDEX ON :Restored(restored)"
    if drop:
        return "DROP INDEX restored IF EXISTS"
    return "CREATE INDEX restored IF NOT EXISTS FOR (n:Restored) ON (n.restored)"


def restore_nodes(label: str) -> str:
    """Create $rows of {id, properties} as nodes of a known label, marked until the restore is done."""
    return f"UNWIND $rows AS row CREATE (n:{label}:Restored) SET n = row.properties, n.restored = row.id"


def restore_relationships(type_: str) -> str:
    """Create $rows of {a, b, properties}, where `a` and `b` are ids of restored nodes; return the number created."""
    return (
        "UNWIND $rows AS row MATCH (a:Restored {restored: row.a}) MATCH (b:Restored {restored: row.b})"
        f" CREATE (a)-[r:{type_}]->(b) SET r = row.properties RETURN count(*) AS made"
    )


def end_restore() -> str:
    """Remove the marks from at most $limit nodes; return their number."""
    return "MATCH (n:Restored) WITH n LIMIT $limit REMOVE n:Restored, n.restored RETURN count(*) AS found"


def clear_all() -> str:
    """Delete at most $limit nodes, except the schema; return their number."""
    return "MATCH (n) WHERE NOT n:Schema WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS found"


def any_node() -> str:
    return "MATCH (n) WHERE NOT n:Schema WITH n LIMIT 1 RETURN count(*) AS found"
