"""The classes of gqlalchemy for users' own queries, on a real graph database: equal to the Cypher of the docs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from gqlalchemy import Neo4j, match
from neo4j.exceptions import ClientError

from graphtide.infra import ogm
from graphtide.infra.bolt import BoltBackend
from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.cypher.documents import PUT_REPORTS
from graphtide.infra.bolt.cypher.tables import MENTIONS, NODE_TABLES, RELATES, SAME_AS, SUPPORTS
from graphtide.infra.ogm import Entity, GraphReader, Relates
from graphtide.streams.clock import now_ms
from tests.model.memory import MemoryLog
from tests.support.commits import GRAPH, sample, write_to
from tests.support.neo4j_server import GraphServer, clear, is_memgraph

DOCS = Path(__file__).parents[2] / "docs" / "cypher.md"
QUERIES = dict(re.findall(r"^## (\d+)\. .*?```cypher\n(.*?)```", DOCS.read_text(), re.S | re.M))
NAME = "Kittiwake Station"
DOCUMENTS = 5


def test_fields_of_nodes_are_the_columns_that_are_written() -> None:
    """No column is missing from the class of a node, and none is invented."""
    for table in NODE_TABLES:
        assert set(getattr(ogm, table.label).__fields__) == {"key", "scope", *table.columns}
    written = set(re.findall(r"SET r\.(\w+)|, r\.(\w+) =", PUT_REPORTS))
    assert set(ogm.Report.__fields__) == {"key"} | {one or other for one, other in written}


def test_fields_of_relationships_are_the_columns_that_are_written() -> None:
    """The same for the types of relationships that have columns."""
    for passage in (MENTIONS, SUPPORTS):
        assert set(_class_of(passage.type).__fields__) == {"place", *passage.columns}
    for pair in (RELATES, SAME_AS):
        assert set(_class_of(pair.type).__fields__) == {"key", *pair.columns}


def _class_of(type_: str) -> Any:
    return next(each for name in ogm.__all__ if (each := getattr(ogm, name)).__dict__.get("type") == type_)


async def test_objects_of_a_stored_graph_equal_what_cypher_returns(graph_server: GraphServer) -> None:
    """On a part of the bundled sample: the queries of the docs by classes, every row's class, and no way to write."""
    clear(graph_server.address)
    backend = await BoltBackend.open(graph_server.address, MemoryLog(1, now_ms))
    await write_to([backend.store], [message for message in sample() if NAME in message.text][:DOCUMENTS])
    await backend.close()
    address = graph_server.address
    with GraphReader(address.uri, address.user, address.password, address.database, address.ca_file) as reader:
        check_queries(reader)
        check_nodes(reader)
        check_relationships(reader)
        check_own_client(reader, address)
        check_that_it_cannot_write(reader, refuses=not is_memgraph(address))


def cypher_rows(reader: GraphReader, number: int) -> list[dict[str, Any]]:
    return list(reader.execute_and_fetch(QUERIES[str(number)], {"graph": GRAPH, "name": NAME}))


def neighbours(reader: GraphReader) -> Iterator[dict[str, Any]]:
    found = (
        match(connection=reader)
        .node(labels="Entity", variable="e", name=NAME, scope=reader.scope(GRAPH))
        .to(relationship_type="RELATES", variable="r", directed=False)
        .node(labels="Entity", variable="other")
        .return_(["r", "other"])
        .execute()
    )
    for row in found:
        relation, other = row["r"], row["other"]
        assert isinstance(relation, Relates)
        assert isinstance(other, Entity)
        yield {"neighbour": other.name, "weight": relation.weight, "trussness": relation.trussness}


def statements(reader: GraphReader) -> Iterator[dict[str, Any]]:
    found = (
        match(connection=reader)
        .node(labels="Entity", variable="e", name=NAME, scope=reader.scope(GRAPH))
        .from_(relationship_type="NAMES")
        .node(labels="Label")
        .from_(relationship_type="SUBJECT")
        .node(labels="Statement", variable="s")
        .to(relationship_type="OBJECT")
        .node(labels="Label")
        .to(relationship_type="NAMES")
        .node(labels="Entity", variable="other")
        .return_(["e", "s", "other"])
        .execute()
    )
    for row in found:
        statement, other = row["s"], row["other"]
        yield {
            "subject": row["e"].name,
            "predicate": statement.predicate,
            "object": other.name,
            "said": statement.count,
        }


def check_queries(reader: GraphReader) -> None:
    """Neighbours and statements of an entity: the same rows as queries 3 and 4, read from typed objects."""
    near = sorted(neighbours(reader), key=lambda row: (-row["trussness"], -row["weight"], row["neighbour"]))
    assert near
    assert near == cypher_rows(reader, 3)
    expected = sorted(statements(reader), key=lambda row: (-row["said"], row["predicate"], row["object"]))
    assert expected
    assert expected == cypher_rows(reader, 4)


def check_nodes(reader: GraphReader) -> None:
    """Each node of the graph is an object of its class, with the properties that the server returns."""
    kinds: set[str] = set()
    found = reader.execute_and_fetch(
        "MATCH (n {scope: $scope}) RETURN n, labels(n)[0] AS label, properties(n) AS held",
        {"scope": reader.scope(GRAPH)},
    )
    for row in found:
        kind = getattr(ogm, row["label"], None)
        if kind is not None:
            kinds.add(row["label"])
            assert type(row["n"]) is kind
            assert properties(row["n"]) == row["held"]
    assert kinds >= {table.label for table in NODE_TABLES}


def properties(found: Any) -> dict[str, Any]:
    """Return what an object has, without gqlalchemy's own fields and absent properties."""
    return {name: value for name, value in dict(found).items() if value is not None and not name.startswith("_")}


def check_relationships(reader: GraphReader) -> None:
    """The same for the relationships between its rows."""
    types: set[str] = set()
    found = reader.execute_and_fetch(
        "MATCH (a {scope: $scope})-[r]->(b) RETURN r, type(r) AS type, properties(r) AS held",
        {"scope": reader.scope(GRAPH)},
    )
    for row in found:
        types.add(row["type"])
        assert type(row["r"]) is _class_of(row["type"])
        assert properties(row["r"]) == row["held"]
    assert types >= {"HAS", "MENTIONS", "NAMES", "SUPPORTS", "SUBJECT", "OBJECT", "RELATES", "MEMBER_OF"}


def check_own_client(reader: GraphReader, address: BoltAddress) -> None:
    """gqlalchemy's own client returns the same entities, as objects of the same class; it uses deprecated ids."""
    host = urlsplit(address.uri)
    query = "MATCH (e:Entity) RETURN e ORDER BY e.key"
    own = Neo4j(host.hostname, host.port or 7687, address.user, address.password, encrypted=False).new_connection()
    with closing(own._connection), pytest.warns(DeprecationWarning, match="element_id"):
        found = [row["e"] for row in own.execute_and_fetch(query)]
    assert {type(each) for each in found} == {Entity}
    assert [properties(each) for each in found] == [properties(row["e"]) for row in reader.execute_and_fetch(query)]


def check_that_it_cannot_write(reader: GraphReader, *, refuses: bool) -> None:
    """The server refuses a statement that writes, and nothing changes; an unknown graph is named in the error."""
    if refuses:
        with pytest.raises(ClientError, match=r"(?i)read"):
            reader.execute("CREATE (:Foreign)")
    assert not list(reader.execute_and_fetch("MATCH (n:Foreign) RETURN n"))
    [row] = match(connection=reader).node(labels="Graph", variable="g", name=GRAPH).return_("g").execute()
    assert row["g"].scope == reader.scope(GRAPH)
    with pytest.raises(KeyError, match="no graph 'other'"):
        reader.scope("other")
