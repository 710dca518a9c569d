"""The tables of a graph's rows as nodes and relationships, and the statements that each table derives from its columns.

Mentions, support, edges and same-as are relationship rows. Their nodes outlive their own row while such a row needs
them (then only `key`, `scope` and `number` remain).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NodeTable:
    """A table whose rows are nodes. `columns[0]` is the row's own key; `columns[1]` is set in every row; `ties` are the
    columns from which relationships are derived.
    """

    label: str
    columns: tuple[str, ...]
    ties: tuple[str, ...] = ()

    @property
    def upsert(self) -> str:
        """Upsert $rows of {key, columns…} in $scope.

        A table with `ties` returns, by `key`, only the rows in which one of these columns changed or that are new;
        `was` tells whether the row existed. The derived relationships of the other rows exist already.
        """
        values = ", ".join(f"n.{column} = row.{column}" for column in self.columns)
        found = f"UNWIND $rows AS row MERGE (n:{self.label} {{key: row.key}})"
        if not self.ties:
            return f"{found} SET n.scope = $scope, {values}"
        moved = " OR ".join(f"n.{column} <> row.{column}" for column in self.ties)
        return (
            f"{found} WITH n, row, n.{self.ties[0]} IS NOT NULL AS was, coalesce({moved}, true) AS moved"
            f" SET n.scope = $scope, {values} WITH row, was, moved WHERE moved RETURN row.key AS key, was"
        )

    @property
    def read(self) -> str:
        """Return all rows of $scope."""
        values = ", ".join(f"n.{column} AS {column}" for column in self.columns)
        return f"MATCH (n:{self.label} {{scope: $scope}}) WHERE n.{self.columns[1]} IS NOT NULL RETURN {values}"

    @property
    def count(self) -> str:
        return f"MATCH (n:{self.label} {{scope: $scope}}) WHERE n.{self.columns[1]} IS NOT NULL RETURN count(*) AS rows"

    def read_keys(self, keys: str) -> str:
        """Return the rows of the keys in that entry of $named, each as its label and the list of its columns."""
        values = ", ".join(f"n.{column}" for column in self.columns)
        found = f"UNWIND $named.{keys} AS key MATCH (n:{self.label} {{key: key}}) WHERE n.{self.columns[1]} IS NOT NULL"
        return f"{found} RETURN labels(n)[0] AS kind, [{values}] AS row"

    def read_columns(self, *columns: str) -> str:
        """Return these columns of the rows of $keys."""
        values = ", ".join(f"n.{column} AS {column}" for column in columns)
        found = f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) WHERE n.{self.columns[1]} IS NOT NULL"
        return f"{found} RETURN {values}"

    @property
    def ensure(self) -> str:
        """Create missing nodes for $rows of {key, number}: relationships end at them, whether they have a row
        or not.
        """
        made = "ON CREATE SET n.scope = $scope, n.number = row.number"
        return f"UNWIND $rows AS row MERGE (n:{self.label} {{key: row.key}}) {made}"

    @property
    def delete(self) -> str:
        """Delete the nodes of $keys."""
        return f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) DETACH DELETE n"

    def delete_free(self, relation: str) -> str:
        """Delete those nodes of $keys that have no relationship of the types `relation`."""
        return (
            f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) OPTIONAL MATCH (n)-[r:{relation}]-()"
            " WITH n, count(r) AS held WHERE held = 0 DETACH DELETE n"
        )

    def vacate(self, derived: str) -> str:
        """Remove the row from the nodes of $keys, and the relationships `derived` from it; keep the nodes."""
        gone = ", ".join(f"n.{column}" for column in self.columns[1:])
        return (
            f"UNWIND $keys AS key MATCH (n:{self.label} {{key: key}}) REMOVE {gone} WITH n"
            f" MATCH (n)-[r:{derived}]-() DELETE r"
        )

    @property
    def sweep(self) -> str:
        """Delete at most $limit nodes of $scope; return their number."""
        return f"MATCH (n:{self.label} {{scope: $scope}}) WITH n LIMIT $limit DETACH DELETE n RETURN count(*) AS gone"


DOCUMENT = NodeTable(
    "Document", ("doc_id", "revision", "title", "source", "occurred_at", "metadata", "chunks"), ("chunks",)
)
CHUNK = NodeTable(
    "Chunk",
    ("number", "chunk_id", "doc_id", "ordinal", "text", "version", "vector", "title", "description", "place"),
    ("number",),
)
LABEL = NodeTable("Label", ("number", "name", "type", "node", "mentions", "vector_sum"), ("node",))
STATEMENT = NodeTable(
    "Statement",
    ("number", "predicate", "subject", "object", "count", "weight_milli", "weight", "version", "vector_sum", "vector"),
    ("subject", "object"),
)
ENTITY = NodeTable("Entity", ("number", "name", "type", "labels", "mentions", "version", "vector"))
COMMUNITY = NodeTable("Community", ("number", "level", "parent"), ("parent",))
NODE_TABLES = (DOCUMENT, CHUNK, LABEL, STATEMENT, ENTITY, COMMUNITY)


@dataclass(frozen=True, slots=True)
class PassageTable:
    """A table whose rows are relationships of a chunk, ordered by `place`; all rows of a chunk are replaced
    together.
    """

    type: str
    end: NodeTable
    end_column: str
    columns: tuple[str, ...]

    @property
    def create(self) -> str:
        """Create $rows of {chunk, passages: [{end, place, columns…}]}; return the number of rows whose nodes both
        exist.
        """
        values = ", ".join(f"{column}: row.{column}" for column in ("place", *self.columns))
        return (
            "UNWIND $rows AS one MATCH (c:Chunk {key: one.chunk})"
            f" UNWIND one.passages AS row MATCH (e:{self.end.label} {{key: row.end}})"
            f" CREATE (c)-[:{self.type} {{{values}}}]->(e) RETURN count(*) AS made"
        )

    @property
    def clear(self) -> str:
        """Delete all rows of the chunks of $keys."""
        return f"UNWIND $keys AS key MATCH (c:Chunk {{key: key}})-[r:{self.type}]->() DELETE r"

    @property
    def read(self) -> str:
        values = ", ".join(f"r.{column} AS {column}" for column in ("place", *self.columns))
        return (
            f"MATCH (c:Chunk {{scope: $scope}})-[r:{self.type}]->(e:{self.end.label})"
            f" RETURN c.number AS chunk, e.number AS {self.end_column}, {values}"
        )

    def read_keys(self, keys: str) -> str:
        """Return all rows of the chunks of the keys in that entry of $named, each as its type and its values."""
        values = ", ".join(f"r.{column}" for column in ("place", *self.columns))
        return (
            f"UNWIND $named.{keys} AS key MATCH (c:Chunk {{key: key}})-[r:{self.type}]->(e)"
            f" RETURN type(r) AS kind, [c.number, e.number, {values}] AS row"
        )

    @property
    def count(self) -> str:
        return f"MATCH (:Chunk {{scope: $scope}})-[r:{self.type}]->() RETURN count(*) AS rows"


MENTIONS = PassageTable("MENTIONS", LABEL, "label", ("name", "description", "count"))
SUPPORTS = PassageTable(
    "SUPPORTS",
    STATEMENT,
    "statement",
    ("description", "sentence", "weight_milli", "count", "valid_from", "valid_to"),
)


@dataclass(frozen=True, slots=True)
class PairTable:
    """A table whose rows are relationships between two nodes of one label, with a key of their own."""

    type: str
    end: NodeTable
    columns: tuple[str, ...]

    @property
    def update(self) -> str:
        """Update $rows of {key, columns…}; return the keys of the rows that exist."""
        values = ", ".join(f"r.{column} = row.{column}" for column in self.columns)
        return f"UNWIND $rows AS row MATCH ()-[r:{self.type} {{key: row.key}}]->() SET {values} RETURN row.key AS key"

    @property
    def create(self) -> str:
        """Create $rows of {key, a, b, columns…}, where `a` and `b` are keys; return the number of rows whose nodes both
        exist.
        """
        values = ", ".join(f"{column}: row.{column}" for column in ("key", *self.columns))
        label = self.end.label
        return (
            f"UNWIND $rows AS row MATCH (a:{label} {{key: row.a}}) MATCH (b:{label} {{key: row.b}})"
            f" CREATE (a)-[:{self.type} {{{values}}}]->(b) RETURN count(*) AS made"
        )

    @property
    def delete(self) -> str:
        """Delete the relationships of $keys."""
        return f"UNWIND $keys AS key MATCH ()-[r:{self.type} {{key: key}}]->() DELETE r"

    @property
    def read(self) -> str:
        values = ", ".join(f"r.{column} AS {column}" for column in self.columns)
        label = self.end.label
        return (
            f"MATCH (a:{label} {{scope: $scope}})-[r:{self.type}]->(b:{label})"
            f" RETURN a.number AS a, b.number AS b, {values}"
        )

    def read_keys(self, keys: str) -> str:
        """Return the rows of the keys in that entry of $named, each as its type and its values."""
        values = ", ".join(f"r.{column}" for column in self.columns)
        return (
            f"UNWIND $named.{keys} AS key MATCH (a)-[r:{self.type} {{key: key}}]->(b)"
            f" RETURN type(r) AS kind, [a.number, b.number, {values}] AS row"
        )

    @property
    def count(self) -> str:
        return f"MATCH (:{self.end.label} {{scope: $scope}})-[r:{self.type}]->() RETURN count(*) AS rows"


RELATES = PairTable("RELATES", ENTITY, ("weight", "trussness"))
SAME_AS = PairTable("SAME_AS", LABEL, ("rule", "score_milli"))
