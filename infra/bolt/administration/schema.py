"""Preparation of the database, by gqlalchemy: checks, constraints, indexes. Blocking, so it runs in a thread.

gqlalchemy supplies the clients. The connection below them is Graphtide's, because gqlalchemy's closes a session before
it has read the server's answer (so that a refused statement seems to succeed), and supports neither a database's name
nor a certificate. The same connection reaches Memgraph: pymgclient, which gqlalchemy would use, holds Python's global
lock while it waits.

Invariant: a database has a schema that this code reads, or is refused, unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from gqlalchemy import Neo4j
from gqlalchemy.connection import Connection
from neo4j import WRITE_ACCESS, Driver, GraphDatabase, Query
from neo4j.exceptions import Neo4jError

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.codec import in_order
from graphtide.infra.bolt.cypher import revisions as revision_cypher
from graphtide.infra.bolt.cypher import schema as schema_cypher
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.infra.bolt.database import check_storage_mode, driver_options
from graphtide.infra.bolt.errors import DRIVER_ERRORS, translate_errors
from graphtide.streams.errors import Broken

SCHEMA_VERSION = 4
"""2: usage ledger. 3: revisions are identified by position, graphs are bound to partitions.
4: standing questions.

An upgrade adds what an older schema lacks; its data stays as it is.
"""
PLACE_BATCH_SIZE = 5_000
LOOKUP_TIMEOUT_S = 10.0
"""The longest time of the statements that read and write the number of the schema, after which they are Retryable.
Neo4j 5.26 does not notice when the planning of such a statement and the creation of a constraint wait for each other,
which may occur when the processes of a new cluster start together: they would wait for ever.
"""
_THERE_ALREADY = "already exists"
_EQUAL_ALREADY = "EquivalentSchemaRuleAlreadyExists"


class Session(Connection):  # type: ignore[misc]
    """gqlalchemy's connection over the Bolt driver. Statements are autocommitted, as DDL must be."""

    def __init__(self, address: BoltAddress, access_mode: str = WRITE_ACCESS) -> None:
        super().__init__("", 0, address.user, "", bool(address.ca_file))
        self._driver: Driver = GraphDatabase.driver(**driver_options(address))
        self._database = address.database or None
        self._access_mode = access_mode
        self.timeout_s: float | None = None
        """The time after which the server ends a statement; None for any time."""

    def execute(self, query: str, parameters: dict[str, Any] | None = None) -> None:
        """Run the statement to its end, so that a failure is raised."""
        for _ in self.execute_and_fetch(query, parameters):
            continue

    def execute_and_fetch(self, query: str, parameters: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
        """Yield the rows as they arrive. Without iteration, nothing runs."""
        with self._driver.session(database=self._database, default_access_mode=self._access_mode) as session:
            for record in session.run(Query(query, timeout=self.timeout_s), parameters or {}):
                yield dict(zip(record.keys(), map(self.mapped, record.values()), strict=True))

    def mapped(self, value: Any) -> Any:
        """Return a value of a row as callers receive it."""
        return value

    def is_active(self) -> bool:
        return True

    def close(self) -> None:
        self._driver.close()


class Administration(Neo4j):  # type: ignore[misc]
    """A gqlalchemy client of either server. The caller closes it."""

    def __init__(self, address: BoltAddress) -> None:
        super().__init__()
        self._session = Session(address)

    def new_connection(self) -> Session:
        return self._session

    @contextmanager
    def bounded(self, timeout_s: float | None) -> Iterator[None]:
        """Let the server end each statement in the block after a time."""
        self._session.timeout_s = timeout_s
        try:
            yield
        finally:
            self._session.timeout_s = None

    def close(self) -> None:
        self._session.close()


def prepare(address: BoltAddress, dialect: Dialect) -> None:
    """Refuse an unusable database; create missing constraints and indexes.

    Raises Broken for a Memgraph without transactions, for a schema of a newer version and for missing rights, Retryable
    when other processes make the schema meanwhile.
    """
    with translate_errors(), closing(Administration(address)) as client:
        if dialect is Dialect.MEMGRAPH:
            check_storage_mode(list(client.execute_and_fetch(schema_cypher.STORAGE_INFO)))
        timeout_s = LOOKUP_TIMEOUT_S if dialect is Dialect.NEO4J else None
        with client.bounded(timeout_s):
            found = list(client.execute_and_fetch(schema_cypher.READ_SCHEMA))
        if _is_made(found):
            return
        for statement in schema_cypher.schema(dialect):
            _define(client, statement, dialect)
        _place_revisions(client)
        with client.bounded(timeout_s):
            client.execute(schema_cypher.PUT_SCHEMA, {"version": SCHEMA_VERSION})


def execute(address: BoltAddress, statement: str) -> None:
    """Run one statement of DDL, outside any transaction."""
    with translate_errors(), closing(Administration(address)) as client:
        client.execute(statement)


def stored_schema(address: BoltAddress) -> int:
    """Return the number of the database's schema; 0 for a database without one. Raises Broken for a newer one."""
    with translate_errors(), closing(Administration(address)) as client:
        found = list(client.execute_and_fetch(schema_cypher.READ_SCHEMA))
        _is_made(found)
        return int(found[0]["version"] or 0) if found else 0


def _place_revisions(client: Administration) -> None:
    """Set the position of revisions of an older schema as their identity; a repeated run after a crash continues."""
    while found := list(client.execute_and_fetch(revision_cypher.UNPLACED_REVISIONS, {"limit": PLACE_BATCH_SIZE})):
        rows = [{"key": row["key"], "place": in_order(row["partition"], row["position"])} for row in found]
        client.execute(revision_cypher.PLACE_REVISIONS, {"rows": rows})


def _define(client: Administration, statement: str, dialect: Dialect) -> None:
    try:
        client.execute(statement)
    except DRIVER_ERRORS as error:
        if not _is_there(error, dialect):
            raise


def _is_there(error: Exception, dialect: Dialect) -> bool:
    """Return whether it existed, or another process has just created it (which IF NOT EXISTS does not see)."""
    if dialect is Dialect.MEMGRAPH:
        return _THERE_ALREADY in str(error)
    return isinstance(error, Neo4jError) and (error.code or "").endswith(_EQUAL_ALREADY)


def _is_made(found: list[dict[str, Any]]) -> bool:
    """Return whether the schema is complete: its version is written last."""
    if found and found[0].get("restoring"):
        raise Broken("a restore into the graph database was not finished: run graphtide restore again, with --force")
    if found and found[0]["version"] is None:
        return False
    if found and found[0]["version"] > SCHEMA_VERSION:
        raise Broken(
            f"the graph database has schema {found[0]['version']}, which a newer version of Graphtide wrote; "
            f"this version reads schema {SCHEMA_VERSION}: upgrade Graphtide, or restore a backup from before the "
            "upgrade (graphtide restore) into another database"
        )
    return bool(found) and found[0]["version"] == SCHEMA_VERSION
