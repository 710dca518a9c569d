"""Graphs of Zipf-like sizes in the graph database: a few are published through the cluster, the others are copies.

A copy has every row of its template under a scope of its own, written by the server in one statement for each kind of
row: publishing ten thousand graphs one by one would take hours. Copies have no entries in the ledger.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from neo4j import GraphDatabase

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.codec import SCOPE_MARK, scope
from graphtide.infra.bolt.cypher.tables import NODE_TABLES
from graphtide.infra.bolt.database import driver_options

EXPONENT = 0.8
LARGEST = 256
"""Documents of the largest graph."""
COPIED_ROWS = 20_000
"""Documents' rows of one transaction, about: Neo4j holds them in memory."""
ROWS_PER_DOCUMENT = 50
_ENDS = {
    "MENTIONS": ("Chunk", "Label"),
    "SUPPORTS": ("Chunk", "Statement"),
    "RELATES": ("Entity", "Entity"),
    "SAME_AS": ("Label", "Label"),
    "HAS": ("Document", "Chunk"),
    "NAMES": ("Label", "Entity"),
    "SUBJECT": ("Statement", "Label"),
    "OBJECT": ("Statement", "Label"),
    "PART_OF": ("Community", "Community"),
    "MEMBER_OF": ("Entity", "Community"),
}
_KEYED = ("RELATES", "SAME_AS")
_KEY = "scope + substring({}.key, size($template))"


def sizes(graphs: int) -> dict[str, int]:
    """Return the documents of each graph by name: LARGEST / rank ** EXPONENT, rounded down to a power of two."""
    ranks = range(1, graphs + 1)
    return {f"g{rank}": 1 << max(0, int(LARGEST / rank**EXPONENT).bit_length() - 1) for rank in ranks}


def template(documents: int) -> str:
    """Return the name of the published graph of that size."""
    return f"template-{documents}"


def copy_graphs(address: BoltAddress, wanted: dict[str, int]) -> None:
    """Write the graphs of these sizes as copies of the templates."""
    by_size: defaultdict[int, list[str]] = defaultdict(list)
    for name, documents in wanted.items():
        by_size[documents].append(name)
    with GraphDatabase.driver(**driver_options(address)) as driver:
        for documents, names in by_size.items():
            for portion in _portions(names, max(1, COPIED_ROWS // (documents * ROWS_PER_DOCUMENT))):
                values = {"template": scope(template(documents), 1), "scopes": [scope(name, 1) for name in portion]}
                for statement in _rows():
                    driver.execute_query(statement, values)
                heads = {"from": template(documents), "names": portion, "mark": SCOPE_MARK}
                driver.execute_query(_STANDINGS, heads)
                driver.execute_query(_HEADS, heads)


def _rows() -> Iterator[str]:
    for table in NODE_TABLES:
        label, key = table.label, _KEY.format("n")
        yield (
            f"MATCH (n:{label} {{scope: $template}}) UNWIND $scopes AS scope"
            f" CREATE (m:{label}) SET m = n {{.*, scope: scope, key: {key}}}"
        )
    for kind, (first, second) in _ENDS.items():
        own = f"r {{.*, key: {_KEY.format('r')}}}" if kind in _KEYED else "properties(r)"
        yield (
            f"MATCH (a:{first} {{scope: $template}})-[r:{kind}]->(b:{second}) UNWIND $scopes AS scope"
            f" MATCH (x:{first} {{key: {_KEY.format('a')}}}) MATCH (y:{second} {{key: {_KEY.format('b')}}})"
            f" CREATE (x)-[s:{kind}]->(y) SET s = {own}"
        )


_STANDINGS = (
    "MATCH (n:Standing) WHERE n.key STARTS WITH $from + $mark UNWIND $names AS name CREATE (m:Standing)"
    " SET m = n {.*, key: name + substring(n.key, size($from)), live: name}"
)
_HEADS = (
    "MATCH (g:Graph {name: $from}) UNWIND $names AS name CREATE (h:Graph)"
    " SET h = g {.*, name: name, scope: name + $mark + '1'}"
)


def _portions(names: Sequence[str], count: int) -> Iterator[list[str]]:
    for start in range(0, len(names), count):
        yield list(names[start : start + count])
