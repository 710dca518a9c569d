"""Export rows from Neo4j or Memgraph, streamed by gqlalchemy."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import ExitStack, closing
from typing import Any

from graphtide.graph.communities import Hierarchy
from graphtide.graph.records import GraphDelta
from graphtide.infra.bolt.address import BoltAddress
from graphtide.infra.bolt.administration.schema import Administration
from graphtide.infra.bolt.cypher import graphs as graph_cypher
from graphtide.infra.bolt.cypher import rows as row_cypher
from graphtide.infra.bolt.cypher import tables
from graphtide.infra.bolt.errors import translate_errors
from graphtide.infra.bolt.graph_store import snapshot as bolt_rows
from graphtide.infra.export.sources import COMMUNITIES, batched
from graphtide.streams.errors import NotFound, Retryable


class BoltSource:
    """See ExportSource. Each row type has a statement of its own, so a writer may commit in between: `check` detects
    it.
    """

    def __init__(self, address: BoltAddress, graph: str) -> None:
        self._graph = graph
        with translate_errors(), ExitStack() as undo:
            self._client = undo.enter_context(closing(Administration(address)))
            self._scope, self.version = self._head()
            undo.pop_all()

    def count(self, kinds: Collection[str]) -> int:
        """See ExportSource.count."""
        wanted = [bolt_rows.COUNTS[kind] for kind in kinds if kind != COMMUNITIES]
        with translate_errors():
            return sum(row["rows"] for statement in wanted for row in self._stream(statement))

    def rows(self, kinds: Collection[str]) -> Iterator[GraphDelta]:
        """See ExportSource.rows."""
        with translate_errors():
            for kind in kinds:
                if kind == COMMUNITIES:
                    yield GraphDelta(self._graph, self.version, communities=self._hierarchy())
                    continue
                statement, row_of = bolt_rows.KINDS[kind]
                found = (row_of(list(row.values())) for row in self._stream(statement))
                yield from batched(self._graph, kind, found)

    def check(self) -> None:
        """See ExportSource.check."""
        with translate_errors():
            head = self._head()
        if head != (self._scope, self.version):
            raise Retryable(
                f"graph {self._graph!r} changed from version {self.version} to {head[1]} meanwhile: try again, or "
                "stop the consolidating workers for the time of the export"
            )

    def close(self) -> None:
        self._client.close()

    def _head(self) -> tuple[str, int]:
        found = list(self._client.execute_and_fetch(graph_cypher.READ_HEAD, {"graph": self._graph}))
        if not found or not found[0]["version"]:
            raise NotFound(f"there is no graph {self._graph!r}")
        return found[0]["scope"], found[0]["version"]

    def _stream(self, statement: str) -> Iterator[dict[str, Any]]:
        yield from self._client.execute_and_fetch(statement, {"scope": self._scope})

    def _hierarchy(self) -> Hierarchy:
        members = [list(row.values()) for row in self._stream(row_cypher.READ_MEMBERS)]
        places = [list(row.values()) for row in self._stream(tables.COMMUNITY.read)]
        return Hierarchy.of_rows(members, places, 0)
