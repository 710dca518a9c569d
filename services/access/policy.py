"""The authorization policy: one pure function for HTTP and gRPC decides which caller may do what to which graph.

Authentication precedes it: the caller is known or None. The invariants: nothing is allowed unless it was granted by
name, no action implies another, and a refusal does not depend on whether the graph exists.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from graphtide.services.api.schema.errors import Forbidden, Unauthenticated
from graphtide.streams.errors import QueryError

EVERY_GRAPH = "*"


class Action(StrEnum):
    """The actions that a credential can grant. `metrics`: read /metrics and the details of /readyz, which name graphs
    and documents.
    """

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"
    METRICS = "metrics"


@dataclass(frozen=True, slots=True)
class Quota:
    """Upper bounds on the total content of the graphs that one caller may write, by any writer. 0: no limit."""

    documents: int = 0
    size_bytes: int = 0
    """UTF-8 bytes of the documents' text."""
    graphs: int = 0
    """Graphs that hold a document."""

    def __bool__(self) -> bool:
        return bool(self.documents or self.size_bytes or self.graphs)


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one caller. 0: no limit of its own."""

    requests_per_second: float = 0.0
    burst: int = 0
    """Requests that may come at once; 0: one second's worth, at least one."""
    max_body_bytes: int = 0
    quota: Quota = Quota()


@dataclass(frozen=True, slots=True)
class Principal:
    """A known caller: its name in the log, and its grants."""

    name: str
    graphs: tuple[str, ...]
    """Names, or patterns with * and ?."""
    actions: frozenset[Action]
    allowance: Allowance = field(default_factory=Allowance)

    def reaches(self, graph: str) -> bool:
        """Return True when the graph was granted. EVERY_GRAPH is not a graph's name: only `*` matches it."""
        if graph == EVERY_GRAPH:
            return EVERY_GRAPH in self.graphs
        return any(fnmatchcase(graph, pattern) for pattern in self.graphs)


UNRESTRICTED = Principal("", (EVERY_GRAPH,), frozenset(Action))
"""The caller of a service without credentials."""

ANONYMOUS = Principal("", (), frozenset())
"""The caller of an open page of a service with credentials."""


def refusal(who: Principal | None, action: Action, graph: str | None) -> QueryError | None:
    """Return None when `who` may perform `action` on `graph`, else the error. `graph` None: the action concerns no
    graph.

    Pure; O(patterns of the principal). `visible` filters the listings.
    """
    if who is None:
        return Unauthenticated("the request has no credentials; send Authorization: Bearer …, or X-API-Key")
    if action not in who.actions:
        return Forbidden(f"{who.name} was not granted the action {action.value}")
    if graph is not None and not who.reaches(graph):
        return Forbidden(f"{who.name} was not granted the graph {graph[:80]!r}")
    return None


def visible(who: Principal, graphs: Iterable[str]) -> list[str]:
    """Return the graphs that `who` may read, in their order."""
    return [graph for graph in graphs if refusal(who, Action.READ, graph) is None]
