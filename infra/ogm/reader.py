"""Read-only gqlalchemy client of a stored graph, whose rows are objects of the classes of this package.

Invariant: its sessions are for reading, so the server refuses a statement that writes: Graphtide would not notice a
change of its rows.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from gqlalchemy import Neo4j
from gqlalchemy.models import Node, Path, Relationship
from neo4j import READ_ACCESS
from neo4j import graph as bolt

from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.administration.schema import Session
from graphtide.infra.bolt.cypher import graphs as cypher


class _ReadSession(Session):
    """gqlalchemy's connection over the Bolt driver, for reading."""

    def __init__(self, address: BoltAddress) -> None:
        super().__init__(address, READ_ACCESS)

    def mapped(self, value: Any) -> Any:
        """Return nodes, relationships and paths as gqlalchemy's."""
        return mapped(value)


class GraphReader(Neo4j):  # type: ignore[misc]
    """A client of Neo4j or Memgraph at `uri`, for `gqlalchemy.match(connection=reader)`; close it, or use `with`."""

    def __init__(self, uri: str, user: str = "", password: str = "", database: str = "", ca_file: str = "") -> None:
        super().__init__()
        self._session = _ReadSession(BoltAddress(uri, user, password, database, ca_file))

    def new_connection(self) -> _ReadSession:
        return self._session

    def scope(self, graph: str) -> str:
        """Return the scope that the present rows of a graph carry. Raises KeyError for an unknown graph."""
        rows = self.execute_and_fetch(cypher.READ_HEAD, {"graph": graph})
        for row in rows:
            return str(row["scope"])
        raise KeyError(f"no graph {graph!r} in this database: `graphtide graphs` lists the graphs")

    def close(self) -> None:
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def mapped(value: Any) -> Any:
    """Return a value of the driver with its nodes, relationships and paths as objects of gqlalchemy."""
    if isinstance(value, bolt.Node):
        return Node.parse_obj({**value, "_id": value.element_id, "_labels": set(value.labels)})
    if isinstance(value, bolt.Relationship):
        ends = [end.element_id if end is not None else None for end in value.nodes]
        identity = {"_id": value.element_id, "_type": value.type, "_start_node_id": ends[0], "_end_node_id": ends[1]}
        return Relationship.parse_obj({**value, **identity})
    if isinstance(value, bolt.Path):
        return Path.parse_obj({"_nodes": list(map(mapped, value.nodes)), "_relationships": list(map(mapped, value))})
    return [mapped(each) for each in value] if isinstance(value, list) else value
