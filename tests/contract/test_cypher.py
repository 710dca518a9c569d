"""Every Cypher statement of the project: parametrised, accepted by the real server, and planned with indexes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from neo4j import Driver, GraphDatabase

from graphtide.infra.bolt.administration.schema import prepare
from graphtide.infra.bolt.cypher import schema as cypher
from graphtide.infra.bolt.cypher.listing import FEW_NODES, statements
from graphtide.infra.bolt.cypher.schema import Dialect
from graphtide.infra.bolt.database import driver_options
from tests.support.neo4j_server import GraphServer, clear, is_memgraph

ROOT = Path(__file__).parents[2]
SCANS = ("AllNodesScan", "LabelScan", "TypeScan", "ScanAll", "RelationshipsScan")
NOT_PORTABLE = (
    "apoc.",
    "CALL {",
    "IN TRANSACTIONS",
    "EXISTS {",
    "elementId",
    "datetime(",
    "COLLECT {",
    "COUNT {",
    "id(",
)


CLAUSES = re.compile(r"\b(OPTIONAL MATCH|MATCH|UNWIND|MERGE|CREATE|DELETE|SET|REMOVE|WITH|RETURN)\b")
WRITES = ("MERGE", "CREATE", "DELETE", "SET", "REMOVE")
FUNCTIONS = {
    "count",
    "sum",
    "max",
    "min",
    "collect",
    "size",
    "head",
    "labels",
    "type",
    "coalesce",
    "keys",
    "range",
    "toString",
}
"""Functions that both servers have with the same meaning."""


@pytest.fixture(scope="module")
def driver(graph_server: GraphServer) -> Iterator[Driver]:
    """Yield a driver on an empty database: with other tests' data a scan would be as cheap as an index."""
    clear(graph_server.address)
    dialect = Dialect.MEMGRAPH if is_memgraph(graph_server.address) else Dialect.NEO4J
    prepare(graph_server.address, dialect)
    with GraphDatabase.driver(**driver_options(graph_server.address)) as one:
        if dialect is Dialect.NEO4J:
            one.execute_query("CALL db.prepareForReplanning()")
        yield one


def test_statements_are_all_listed() -> None:
    """The statements are printed for a comparison with a grammar (run with -s); each is listed once."""
    listed = statements()
    for name, text in sorted(listed.items()):
        print(f"// {name}\n{text};\n")
    for dialect in Dialect:
        print(f"// schema of {dialect}", *cypher.schema(dialect), sep="\n")
    assert len(set(listed.values())) == len(listed) > 90


@pytest.mark.parametrize("name", sorted(statements()))
def test_statement_carries_values_in_parameters_only(name: str) -> None:
    """A statement is no template, and contains only the constants 0, 1, 2, true, false, 'SUBJECT' and the states."""
    text = statements()[name]
    constants = set(re.findall(r"'[^']*'|(?<![\w$])\d+(?:\.\d+)?", text))
    assert constants <= {"0", "1", "2", "''", "'SUBJECT'", "'accepted'", "'graphtide'"}, constants
    assert not [word for word in NOT_PORTABLE if word in text]
    assert "{}" not in text and "%s" not in text and ";" not in text
    assert not re.search(r"`|\$\(|\[\$|\.\$|:\$|:row", text), "a name would come from data"


@pytest.mark.parametrize("name", sorted(statements()))
def test_statement_has_its_clauses_in_an_order_that_memgraph_takes(name: str) -> None:
    """A WITH separates a write from the next read, and OPTIONAL MATCH from MATCH; only shared functions are used."""
    text = re.sub(r"\bON (CREATE|MATCH) SET|(STARTS|ENDS) WITH", "", statements()[name])
    assert set(re.findall(r"\b([a-zA-Z.]+)\(", text)) <= FUNCTIONS
    for part in text.split(" UNION ALL "):
        _check_clauses(part)


def _check_clauses(text: str) -> None:
    before: set[str] = set()
    for clause in CLAUSES.findall(text):
        if clause in ("OPTIONAL MATCH", "MATCH", "UNWIND"):
            assert not before.intersection((*WRITES, "RETURN")), text
        if clause == "MATCH":
            assert "OPTIONAL MATCH" not in before, text
        before = set() if clause == "WITH" else before | {clause}


def test_cypher_stands_in_one_package_only() -> None:
    """No other package of the project sends a statement; one writes a file for other databases."""
    pattern = re.compile(r"\b(MATCH \(|MERGE \(|UNWIND \$|DETACH DELETE|CREATE CONSTRAINT |CREATE INDEX [^\"]*FOR \()")
    files = (file for layer in ("graph", "streams", "infra", "services") for file in (ROOT / layer).rglob("*.py"))
    found = {file.relative_to(ROOT) for file in files if pattern.search(file.read_text())}
    package = Path("infra/bolt/cypher")
    assert {path for path in found if path.parent != package} == {Path("infra/export/formats.py")}
    assert found - {Path("infra/export/formats.py")}


@pytest.mark.parametrize("name", sorted(set(statements()) - {"storage_info"}))
def test_statement_begins_at_an_index(name: str, driver: Driver) -> None:
    """The server's plan scans neither all nodes, nor all nodes of a label, nor all relationships of a type."""
    with driver.session() as session:
        operators = set(_plan(session.run(f"EXPLAIN {statements()[name]}", _values(statements()[name]))))
    print(name, sorted(operators))
    scans = {operator for operator in operators if any(scan in operator for scan in SCANS)}
    assert scans <= ({"NodeByLabelScan"} if name in FEW_NODES else set()), sorted(operators)


def test_plan_scan_is_seen_when_a_statement_has_no_index(driver: Driver) -> None:
    """The check above can fail: a property without an index is searched in every node of the label."""
    with driver.session() as session:
        operators = set(_plan(session.run("EXPLAIN MATCH (n:Chunk {ordinal: $rows}) RETURN n", rows=1)))
    assert any(scan in operator for operator in operators for scan in SCANS)


def _values(text: str) -> dict[str, Any]:
    """Return a value for each parameter: Memgraph requires them for planning."""
    lists: dict[str, Any] = {"rows": [], "keys": [], "before": [], "named": {}}
    return {name: lists.get(name, 1) for name in re.findall(r"\$(\w+)", text)}


def _plan(result: Any) -> Iterator[str]:
    rows = [record.values() for record in result]
    if plan := result.consume().plan:
        yield from _operators(plan)
    for row in rows:  # Memgraph returns the plan as rows of text
        yield str(row[0])


def _operators(plan: dict[str, Any]) -> Iterator[str]:
    yield plan["operatorType"].partition("@")[0]
    for child in plan.get("children", ()):
        yield from _operators(child)
