"""The schema of a graph database when the processes of a new cluster start at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from neo4j import GraphDatabase

from graphtide.infra.bolt.administration import schema
from graphtide.infra.bolt.administration.schema import prepare
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.streams.errors import Retryable
from tests.support.neo4j_server import GraphServer, is_memgraph

PROCESSES = 6


def _forget_schema(server: GraphServer) -> None:
    address = server.address
    with GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver, driver.session() as own:
        own.run("MATCH (s:Schema) DELETE s").consume()
        for kind in ("CONSTRAINT", "INDEX"):
            names = [row["name"] for row in own.run(f"SHOW {kind} YIELD name, type WHERE type <> 'LOOKUP'")]
            for name in names:
                own.run(f"DROP {kind} {name} IF EXISTS").consume()


@pytest.mark.thorough
def test_schema_is_made_when_many_processes_make_it_at_once(graph_server: GraphServer) -> None:
    """On an empty database each process succeeds in the end, and none reports that the database is unusable."""
    if is_memgraph(graph_server.address):
        pytest.skip("dropping a schema is said otherwise on Memgraph, where the statements are the same but for names")
    for _ in range(3):
        _forget_schema(graph_server)
        with ThreadPoolExecutor(PROCESSES) as pool:
            for one in [pool.submit(_prepared, graph_server) for _ in range(PROCESSES)]:
                one.result(timeout=120)


def _prepared(server: GraphServer) -> None:
    """Prepare the schema as a process does: retry on Retryable, since processes may lock each other out."""
    while True:
        try:
            prepare(server.address, Dialect.NEO4J)
        except Retryable:
            continue
        return


def test_preparation_gives_way_to_a_schema_change_that_does_not_end(
    graph_server: GraphServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lookup of the schema's number waits for the change, until the server ends it: the process tries again."""
    if is_memgraph(graph_server.address):
        pytest.skip("Memgraph has no changes of the schema within transactions")
    address = graph_server.address
    prepare(address, Dialect.NEO4J)
    monkeypatch.setattr(schema, "LOOKUP_TIMEOUT_S", 1.0)
    with GraphDatabase.driver(address.uri, auth=(address.user, address.password)) as driver, driver.session() as own:
        change = own.begin_transaction()
        change.run("CREATE INDEX unfinished FOR (s:Schema) ON (s.other)").consume()
        change.run("CALL db.clearQueryCaches()").consume()
        try:
            with pytest.raises(Retryable):
                prepare(address, Dialect.NEO4J)
        finally:
            change.rollback()
    prepare(address, Dialect.NEO4J)
